//! Words of a text, and hashes that never change.

use std::collections::{BTreeMap, HashMap, HashSet};

/// FNV-1a, 64 bits: h ← (h xor byte) · 0x100000001b3, from 0xcbf29ce484222325.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Calls `each` with every word: runs of letters and digits, two at least, in small letters.
pub(super) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if word.chars().nth(1).is_some() {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            each(&lower);
        }
    }
}

/// How often words occur, and in how many rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    counts: HashMap<String, (usize, usize)>,
    rows: usize,
}

impl Vocabulary {
    /// Counts the words of more rows.
    pub fn see<'a>(&mut self, texts: impl Iterator<Item = Option<&'a str>>) {
        for text in texts {
            self.rows += 1;
            let mut seen = HashSet::new();
            words(text.unwrap_or_default(), |word| self.add(word, (1, usize::from(seen.insert(hash(word))))));
        }
    }

    fn add(&mut self, word: &str, (times, rows): (usize, usize)) {
        let count = match self.counts.get_mut(word) {
            Some(count) => count,
            None => self.counts.entry(word.to_owned()).or_default(),
        };
        *count = (count.0 + times, count.1 + rows);
    }

    /// Takes the counts of further rows into account.
    pub fn merge(&mut self, other: &Vocabulary) {
        self.rows += other.rows;
        other.counts.iter().for_each(|(word, &counts)| self.add(word, counts));
    }

    /// Different words seen.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// The most common words, sorted, with the inverse document frequency ln((1 + n) / (1 + rows with the word)) + 1.
    pub fn finish(self, max_words: usize, min_rows: usize) -> (Vec<String>, Vec<f64>) {
        let all = self.rows as f64;
        let mut common: Vec<(String, (usize, usize))> =
            self.counts.into_iter().filter(|(_, (_, rows))| *rows >= min_rows).collect();
        // The most common first; of equals, by their letters.
        common.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
        common.truncate(max_words);
        common.sort();
        let weight = |rows: usize| ((1.0 + all) / (1.0 + rows as f64)).ln() + 1.0;
        common.into_iter().map(|(word, (_, rows))| (word, weight(rows))).unzip()
    }
}

/// Entries of a row by their feature, scaled to length 1.
pub(super) fn normalised(entries: &mut BTreeMap<usize, f64>) {
    entries.retain(|_, value| *value != 0.0);
    let length = entries.values().map(|value| value * value).sum::<f64>().sqrt();
    if length > 0.0 {
        entries.values_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_hashes() {
        let mut found = Vec::new();
        words("Ein Ärger, a 42-er!", |word| found.push(word.to_owned()));
        assert_eq!(found, ["ein", "ärger", "42", "er"]);
        // The test values of the algorithm's authors.
        assert_eq!((hash(""), hash("a"), hash("foobar")), (0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x85944171f73967e8));
    }
}
