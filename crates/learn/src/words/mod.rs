//! Vectors of words and texts.
//!
//! Texts are not rows of numbers, so these types have a `fit` of their own, which takes texts. Hyperparameters are set as those of
//! estimators are, results are saved in files of the same format, and training gives the same bits for any number of threads.
//!
//! | type | method | result |
//! |---|---|---|
//! | [`Word2Vec`] | skip-gram and CBOW with negative sampling | [`WordVectors`] |
//! | [`GloVe`] | weighted least squares on co-occurrence counts, AdaGrad or alternating least squares | [`WordVectors`] |
//! | [`FastText`] | skip-gram and CBOW with character n-grams | [`FittedFastText`], which has vectors for unseen words too |
//! | [`FastTextClassifier`] | linear classifier on the mean of vectors | [`FittedFastTextClassifier`] |
//!
//! [`Phrases`] joins pairs of words such as "new york" beforehand.
//! [`WordVectors`] finds neighbors and analogies, and reads and writes the files of the word2vec program.

mod blocks;
mod classifier;
mod cooccurrence;
mod evaluation;
mod fasttext;
mod format;
mod glove;
mod phrases;
mod random;
mod skip_gram;
mod step;
mod subwords;
mod vectors;
mod vocabulary;
mod word2vec;

pub use blocks::Watch;
pub use classifier::{FastTextClassifier, FittedFastTextClassifier};
pub use cooccurrence::Cooccurrence;
pub use evaluation::{AnalogyQuestions, AnalogyScores, AnalogySection};
pub use fasttext::{FastText, FittedFastText};
pub use format::WordFormat;
pub use glove::{GloVe, GloVeSolver};
pub use phrases::{FittedPhrases, Phrases};
pub use skip_gram::{Architecture, SkipGramSettings};
pub use step::negative_sampling;
pub use subwords::{char_ngrams, ngram_rows};
pub use vectors::{Neighbor, WordVectors};
pub use vocabulary::{Tokens, Vocabulary, VocabularySettings};
pub use word2vec::Word2Vec;
