//! Character n-grams of words.

use super::skip_gram::RowLists;

/// Longer words are cut before their n-grams are taken.
const LONGEST: usize = 256;

/// The character n-grams of a word between the marks `<` and `>`, from the left to the right, shorter ones first.
///
/// ```
/// use tove_learn::words::char_ngrams;
/// assert_eq!(char_ngrams("where", 3, 3), ["<wh", "whe", "her", "ere", "re>"]);
/// ```
pub fn char_ngrams(word: &str, min_n: usize, max_n: usize) -> Vec<String> {
    let marked: Vec<char> =
        std::iter::once('<').chain(word.chars().take(LONGEST)).chain(std::iter::once('>')).collect();
    let lengths = min_n.max(1)..=max_n.min(marked.len());
    // A mark alone says nothing.
    let whole = |gram: &&[char]| gram.len() > 1 || !matches!(gram, ['<'] | ['>']);
    lengths.flat_map(|n| marked.windows(n)).filter(whole).map(|gram| gram.iter().collect()).collect()
}

/// The hash of an n-gram: 32-bit FNV-1a with sign-extended bytes, as in the fastText program.
fn hash(gram: &str) -> u32 {
    gram.bytes().fold(2_166_136_261, |hash: u32, byte| (hash ^ byte as i8 as u32).wrapping_mul(16_777_619))
}

/// The rows that the n-grams of a word share among `buckets`, as the fastText program numbers them.
///
/// ```
/// use tove_learn::words::{char_ngrams, ngram_rows};
/// let rows = ngram_rows("where", 3, 3, 1000);
/// assert!(rows.len() == char_ngrams("where", 3, 3).len() && rows.iter().all(|&row| row < 1000));
/// ```
pub fn ngram_rows(word: &str, min_n: usize, max_n: usize, buckets: u32) -> Vec<u32> {
    Grams { min_n, max_n, buckets: buckets as usize }.rows(word).collect()
}

/// Rows of a table for the n-grams of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grams {
    pub min_n: usize,
    pub max_n: usize,
    pub buckets: usize,
}

impl Grams {
    /// Rows of the n-grams of a word, from 0. n-grams with the same hash share a row.
    pub fn rows<'a>(&self, word: &'a str) -> impl Iterator<Item = u32> + use<'a> {
        let buckets = self.buckets as u32;
        let grams = if buckets == 0 { Vec::new() } else { char_ngrams(word, self.min_n, self.max_n) };
        grams.into_iter().map(move |gram| hash(&gram) % buckets)
    }

    /// For each word its own row and, behind those of all words, the rows of its n-grams.
    pub fn lists(&self, words: &[String]) -> RowLists {
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for (id, word) in words.iter().enumerate() {
            rows.push(id as u32);
            rows.extend(self.rows(word).map(|row| words.len() as u32 + row));
            starts.push(rows.len());
        }
        RowLists { starts, rows }
    }
}
