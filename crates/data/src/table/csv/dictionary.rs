//! Numbers for strings, in the order in which they first occur.

/// A hash table of strings with linear probing, made for fields of a few bytes.
#[derive(Clone, Debug)]
pub(in crate::table) struct Dictionary {
    /// Codes plus one; zero is free. The length is a power of two.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    buffer: String,
    ends: Vec<usize>,
}

impl Dictionary {
    pub fn new() -> Self {
        Self { slots: vec![0; 64], hashes: Vec::new(), buffer: String::new(), ends: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn name(&self, code: usize) -> &str {
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        &self.buffer[start..self.ends[code]]
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|code| self.name(code))
    }

    /// The string's number; a new string gets the next one.
    #[inline]
    pub fn code(&mut self, name: &str) -> u32 {
        let hash = hash(name.as_bytes());
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return self.insert(name, hash, slot),
                taken => {
                    let code = taken as usize - 1;
                    if self.hashes[code] == hash && self.name(code) == name {
                        return code as u32;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, name: &str, hash: u64, slot: usize) -> u32 {
        self.buffer.push_str(name);
        self.ends.push(self.buffer.len());
        self.hashes.push(hash);
        self.slots[slot] = self.ends.len() as u32;
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        self.ends.len() as u32 - 1
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        self.slots = vec![0; mask + 1];
        for (code, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & mask;
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = code as u32 + 1;
        }
    }
}

/// Eight bytes at a time: rotate, mix in, multiply by an odd constant; the high half folded down at the end.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut mix = |word: u64| hash = (hash.rotate_left(23) ^ word).wrapping_mul(ODD);
    words.iter().for_each(|&word| mix(u64::from_le_bytes(word)));
    if !rest.is_empty() {
        mix(rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
    }
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_given_in_order_and_found_again() {
        let mut dictionary = Dictionary::new();
        let names: Vec<String> = (0..5000).map(|i| "x".repeat(i % 13) + &i.to_string()).collect();
        for _ in 0..2 {
            for (code, name) in names.iter().enumerate() {
                assert_eq!(dictionary.code(name), code as u32);
            }
        }
        assert!(dictionary.names().eq(names.iter().map(String::as_str)));
        assert_eq!(dictionary.code(""), 5000);
    }
}
