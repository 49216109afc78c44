//! Pairs of words that occur together more often than by chance, such as "new york".

use std::collections::{HashMap, HashSet};

use tove_optim::settings::{Hyperparameters, Named};

use super::vocabulary::{Tokens, Vocabulary, VocabularySettings, vocabulary_settings_setters};
use crate::Result;

/// Finds phrases of two words: those with (n_ab − min_count) N / (n_a n_b) above a threshold, for N words of the vocabulary in all (Mikolov,
/// Sutskever, Chen, Corrado and Dean 2013).
///
/// ```
/// use tove_learn::words::Phrases;
/// let texts = ["new york", "new york", "new day", "old day", "old night", "old night", "big day", "big night"].repeat(10);
/// let phrases = Phrases::default().threshold(3.0).fit(&texts)?;
/// assert_eq!(phrases.apply("A new day in New York"), "a new day in new_york");
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Phrases {
    /// Hyperparameters of the vocabulary; pairs that occur `min_count` times or less are not phrases.
    #[hyper(flatten)]
    pub vocabulary: VocabularySettings,
    /// Pairs with a larger score are phrases.
    #[hyper(default = 10.0, range = "[0, inf)")]
    pub threshold: f64,
}

/// Phrases that were found.
#[derive(Clone, Debug)]
pub struct FittedPhrases {
    tokens: Tokens,
    pairs: HashSet<(String, String)>,
}

impl Phrases {
    /// Finds the phrases of texts.
    ///
    /// # Errors
    /// Hyperparameters out of their range, texts without enough words.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync]) -> Result<FittedPhrases> {
        self.validate()?;
        let vocabulary = Vocabulary::of(Self::NAME, texts, &self.vocabulary)?;
        let tokens = self.vocabulary.tokens;
        let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
        for text in texts {
            let mut last = None;
            for word in tokens.split(text.as_ref()) {
                let id = vocabulary.id(&word);
                if let (Some(a), Some(b)) = (last, id) {
                    *counts.entry((a, b)).or_insert(0) += 1;
                }
                last = id;
            }
        }
        let total: f64 = vocabulary.counts().iter().map(|&count| count as f64).sum();
        let of = |id: u32| vocabulary.counts()[id as usize] as f64;
        let least = self.vocabulary.min_count as f64;
        let word = |id: u32| vocabulary.words()[id as usize].clone();
        let high = |a, b, count: u64| (count as f64 - least) * total / (of(a) * of(b)) > self.threshold;
        let pairs = counts.into_iter().filter(|&((a, b), count)| high(a, b, count));
        Ok(FittedPhrases { tokens, pairs: pairs.map(|((a, b), _)| (word(a), word(b))).collect() })
    }
}

impl FittedPhrases {
    /// The phrases in alphabetical order.
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs: Vec<(&str, &str)> = self.pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        pairs.sort_unstable();
        pairs
    }

    /// The words of a text with a space between, and `_` within phrases. Split the result with [`Tokens::Whitespace`].
    pub fn apply(&self, text: &str) -> String {
        let (mut out, mut last) = (String::with_capacity(text.len()), String::new());
        for word in self.tokens.split(text) {
            let word = word.into_owned();
            let pair = (last, word);
            let joined = self.pairs.contains(&pair);
            if !out.is_empty() {
                out.push(if joined { '_' } else { ' ' });
            }
            out.push_str(&pair.1);
            // A word belongs to one phrase at most.
            last = if joined { String::new() } else { pair.1 };
        }
        out
    }
}
