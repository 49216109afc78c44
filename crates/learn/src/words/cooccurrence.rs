//! How often words occur near each other.

use std::collections::HashMap;

use super::vocabulary::{Corpus, Tokens, Vocabulary};
use crate::{LearnError, Result, memory};

/// Words that are counted in one go before equal pairs are merged.
const MERGE: usize = 1 << 22;

/// Counts of pairs of words within a symmetric window: a symmetric matrix, of which the entries other than zero are stored.
///
/// ```
/// use tove_learn::words::{Cooccurrence, Tokens, Vocabulary, VocabularySettings};
/// let texts = ["a b a c"];
/// let vocabulary = Vocabulary::of("example", &texts, &VocabularySettings::default().min_count(1))?;
/// let counts = Cooccurrence::of(&texts, Tokens::Words, &vocabulary, 2, false)?;
/// let id = |word| vocabulary.id(word).unwrap_or_default() as usize;
/// // "a" twice within two words of "b", and within two words of itself.
/// assert_eq!((counts.get(id("a"), id("b")), counts.get(id("a"), id("a"))), (2.0, 2.0));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cooccurrence {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Cooccurrence {
    /// Counts pairs at a distance of at most `window` words of the vocabulary within a text, in both directions. With `weighted`, a pair at
    /// distance d counts 1/d.
    ///
    /// # Errors
    /// A window of 0, no pairs at all, or more pairs than fit in memory.
    pub fn of(
        texts: &[impl AsRef<str> + Sync],
        tokens: Tokens,
        vocabulary: &Vocabulary,
        window: usize,
        weighted: bool,
    ) -> Result<Cooccurrence> {
        if window == 0 {
            return Err(LearnError::parameter("Cooccurrence", "a window of 0 has no context; give at least 1"));
        }
        Cooccurrence::count(&Corpus::of(texts, tokens, vocabulary), vocabulary.len(), window, weighted)
    }

    pub(super) fn count(corpus: &Corpus, words: usize, window: usize, weighted: bool) -> Result<Cooccurrence> {
        corpus.require_pairs("Cooccurrence")?;
        // Pairs with the smaller index first; the rest follows from the symmetry.
        let mut counts: HashMap<(u32, u32), f64> = HashMap::new();
        let mut next = MERGE;
        for text in corpus.texts() {
            for (at, &word) in text.iter().enumerate() {
                for (distance, &other) in text[at + 1..].iter().take(window).enumerate() {
                    let weight = if weighted { 1.0 / (distance + 1) as f64 } else { 1.0 };
                    *counts.entry((word.min(other), word.max(other))).or_insert(0.0) += weight;
                }
                if counts.len() > next {
                    let bytes = counts.len() as u64 * 100;
                    memory::require(
                        "Cooccurrence",
                        "counts of pairs of words",
                        bytes,
                        "lower `window` or `max_words`",
                    )?;
                    next += MERGE;
                }
            }
        }
        let mut pairs: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * counts.len());
        for ((a, b), count) in counts {
            // Each pair of equal words is seen from both of its ends.
            if a == b {
                pairs.push((a, b, 2.0 * count));
            } else {
                pairs.extend([(a, b, count), (b, a, count)]);
            }
        }
        pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        let mut starts = vec![0; words + 1];
        pairs.iter().for_each(|&(a, _, _)| starts[a as usize + 1] += 1);
        (0..words).for_each(|word| starts[word + 1] += starts[word]);
        let columns = pairs.iter().map(|pair| pair.1).collect();
        Ok(Cooccurrence { starts, columns, values: pairs.iter().map(|pair| pair.2).collect() })
    }

    /// Number of words.
    pub fn words(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of entries other than zero.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Words near a word, in ascending order, and their counts.
    pub fn row(&self, word: usize) -> (&[u32], &[f64]) {
        let range = self.starts[word]..self.starts[word + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The count of a pair; 0 if it was never seen.
    pub fn get(&self, a: usize, b: usize) -> f64 {
        if a >= self.words() {
            return 0.0;
        }
        let (columns, values) = self.row(a);
        columns.binary_search(&(b as u32)).map_or(0.0, |at| values[at])
    }
}
