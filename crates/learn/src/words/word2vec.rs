//! Vectors of words that predict their contexts: skip-gram and CBOW with negative sampling (Mikolov, Sutskever, Chen, Corrado and Dean,
//! "Distributed representations of words and phrases and their compositionality", 2013).
//!
//! Training is parallel, and its result is the same for any number of threads.

use tove_optim::settings::{Hyperparameters, Named};

use super::blocks::Watch;
use super::skip_gram::{Architecture, SkipGramSettings, fit, skip_gram_settings_setters};
use super::vectors::WordVectors;
use super::vocabulary::{Corpus, Tokens, Vocabulary, VocabularySettings, vocabulary_settings_setters};
use crate::Result;

/// Learns vectors of words from texts.
///
/// A text is a sentence, a paragraph or a document: contexts do not cross its ends.
///
/// ```
/// use tove_learn::words::Word2Vec;
/// let texts = ["the cat purrs", "the dog barks", "a cat purrs", "a dog barks"].repeat(50);
/// let vectors = Word2Vec::default().dimension(8).min_count(1).fit(&texts)?;
/// assert_eq!((vectors.words().len(), vectors.vector("cat")?.len()), (6, 8));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Word2Vec {
    /// Hyperparameters of the vocabulary.
    #[hyper(flatten)]
    pub vocabulary: VocabularySettings,
    /// Hyperparameters of the training.
    #[hyper(flatten)]
    pub training: SkipGramSettings,
}

impl Word2Vec {
    /// Learns a vector for each word.
    ///
    /// # Errors
    /// Hyperparameters out of their range, texts without enough words, vectors that do not fit in memory.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync]) -> Result<WordVectors> {
        self.fit_watched(texts, &mut |_| {})
    }

    /// As [`Word2Vec::fit`]; `watch` is told how far it is.
    ///
    /// # Errors
    /// As [`Word2Vec::fit`].
    pub fn fit_watched(&self, texts: &[impl AsRef<str> + Sync], watch: Watch<'_>) -> Result<WordVectors> {
        self.validate()?;
        let vocabulary = Vocabulary::of(Self::NAME, texts, &self.vocabulary)?;
        let corpus = Corpus::of(texts, self.vocabulary.tokens, &vocabulary);
        let words = vocabulary.len();
        let (table, summary) = fit(Self::NAME, &self.training, &vocabulary, &corpus, words, None, watch)?;
        let vectors = table.to_vec(0..words);
        WordVectors::trained(self, vocabulary, vectors, self.training.dimension, summary)
    }
}
