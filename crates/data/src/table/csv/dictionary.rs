//! Numbers for strings, in the order in which they first occur.

/// A hash table of strings with linear probing, made for fields of a few bytes: a string of up to eight is compared as one word.
#[derive(Clone, Debug)]
pub(in crate::table) struct Dictionary {
    /// Codes plus one; zero is free. The length is a power of two.
    slots: Vec<u32>,
    keys: Vec<Key>,
    buffer: String,
    ends: Vec<usize>,
}

/// The string itself if it has at most eight bytes, otherwise its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    word: u64,
    length: usize,
}

/// Slots per key while they all stay in the cache: a second probe is a branch that cannot be predicted.
const SPARSE: usize = 8;
/// Keys beyond which memory counts more.
const MANY: usize = 2048;
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key {
    #[inline]
    fn slot(self, mask: usize) -> usize {
        let hash = (self.word ^ (self.length as u64) << 59).wrapping_mul(ODD);
        (hash >> 32) as usize & mask
    }
}

impl Dictionary {
    pub fn new() -> Self {
        Self { slots: vec![0; SPARSE * 64], keys: Vec::new(), buffer: String::new(), ends: Vec::new() }
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
    #[cfg(any(test, feature = "parquet"))]
    pub fn code(&mut self, name: &str) -> u32 {
        self.code_at(name, 0, name.len())
    }

    /// The number of the string `text[start..end]`, which must begin and end between characters.
    #[inline]
    pub fn code_at(&mut self, text: &str, start: usize, end: usize) -> u32 {
        let key = key(text.as_bytes(), start, end);
        let mask = self.slots.len() - 1;
        let mut slot = key.slot(mask);
        loop {
            match self.slots[slot] {
                0 => return self.insert(text.get(start..end).unwrap_or_default(), key, slot),
                taken => {
                    let code = taken as usize - 1;
                    let same = self.keys[code] == key;
                    if same && (key.length <= 8 || self.name(code).as_bytes() == &text.as_bytes()[start..end]) {
                        return code as u32;
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, name: &str, key: Key, slot: usize) -> u32 {
        self.buffer.push_str(name);
        self.ends.push(self.buffer.len());
        self.keys.push(key);
        self.slots[slot] = self.ends.len() as u32;
        let slots_per_key = if self.ends.len() > MANY { 2 } else { SPARSE };
        if self.ends.len() * slots_per_key > self.slots.len() {
            self.grow();
        }
        self.ends.len() as u32 - 1
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        self.slots = vec![0; mask + 1];
        for (code, key) in self.keys.iter().enumerate() {
            let mut slot = key.slot(mask);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = code as u32 + 1;
        }
    }
}

#[inline]
fn key(text: &[u8], start: usize, end: usize) -> Key {
    let length = end - start;
    if length > 8 {
        return Key { word: hash(&text[start..end]), length };
    }
    if length == 0 {
        return Key { word: 0, length };
    }
    // The word that ends with the string; what stands before the string is shifted out.
    let before: Option<[u8; 8]> = text.get(end.wrapping_sub(8)..end).and_then(|bytes| bytes.try_into().ok());
    let word = match before {
        Some(bytes) => u64::from_le_bytes(bytes) >> (64 - 8 * length),
        None => text[start..end].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    Key { word, length }
}

/// Eight bytes at a time: rotate, mix in, multiply by an odd constant. The last eight may have been seen in part.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut mix = |word: u64| hash = (hash.rotate_left(23) ^ word).wrapping_mul(ODD);
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().for_each(|&word| mix(u64::from_le_bytes(word)));
    let (_, last) = bytes.as_rchunks::<8>();
    last.last().into_iter().for_each(|&word| mix(u64::from_le_bytes(word)));
    hash
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
        // The same string is the same wherever it stands.
        let text = "0,17,xxxxxxxxxxxxxxxx2222,é";
        assert_eq!((dictionary.code_at(text, 0, 1), dictionary.code_at(text, 2, 4)), (0, 5001));
        assert_eq!((dictionary.code_at(text, 5, 25), dictionary.code_at(text, 26, 28)), (5002, 5003));
        assert_eq!(
            [dictionary.code("17"), dictionary.code("xxxxxxxxxxxxxxxx2222"), dictionary.code("é")],
            [5001, 5002, 5003]
        );
    }
}
