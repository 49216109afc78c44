//! Word vectors with character n-grams (Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with subword information", 2017).
//!
//! The vector of a word is the mean of a vector of its own and those of its n-grams, so that a word that was never seen has a vector too:
//! the mean of the vectors of its n-grams.

use std::path::Path;

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use super::blocks::Watch;
use super::skip_gram::{Architecture, SkipGramSettings, fit, skip_gram_settings_setters};
use super::subwords::Grams;
use super::vectors::{Neighbor, WordVectors, dot, normalized};
use super::vocabulary::{Corpus, Tokens, Vocabulary, VocabularySettings, vocabulary_settings_setters};
use crate::{Record, Result, Summary};

/// Learns vectors of words and of their n-grams from texts.
///
/// ```
/// use tove_learn::words::FastText;
/// let texts = ["reading writes", "writing reads", "reads reading"].repeat(30);
/// let model = FastText::default().dimension(8).min_count(1).buckets(1000).fit(&texts)?;
/// assert!(!model.vectors().contains("readings") && model.vector("readings").iter().any(|x| *x != 0.0));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = lengths)]
pub struct FastText {
    /// Hyperparameters of the vocabulary.
    #[hyper(flatten)]
    pub vocabulary: VocabularySettings,
    /// Hyperparameters of the training.
    #[hyper(flatten)]
    pub training: SkipGramSettings,
    /// Length of the shortest n-grams.
    #[hyper(default = 3, range = "[1, 256]")]
    pub min_n: usize,
    /// Length of the longest n-grams.
    #[hyper(default = 6, range = "[1, 256]")]
    pub max_n: usize,
    /// Number of vectors of n-grams; n-grams with the same hash share one.
    #[hyper(default = 200_000, range = "[1, 1000000000]")]
    pub buckets: usize,
}

fn lengths(settings: &FastText) -> Result<(), SettingError> {
    super::classifier::ordered(FastText::NAME, settings.min_n, settings.max_n)
}

/// Vectors of words and of n-grams.
#[derive(Clone, Debug)]
pub struct FittedFastText {
    vectors: WordVectors,
    /// Vectors of n-grams, one after another.
    buckets: Vec<f32>,
    grams: Grams,
}

impl FastText {
    /// Learns a vector for each word and each n-gram.
    ///
    /// # Errors
    /// Hyperparameters out of their range, texts without enough words, vectors that do not fit in memory.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync]) -> Result<FittedFastText> {
        self.fit_watched(texts, &mut |_| {})
    }

    /// As [`FastText::fit`]; `watch` is told how far it is.
    ///
    /// # Errors
    /// As [`FastText::fit`].
    pub fn fit_watched(&self, texts: &[impl AsRef<str> + Sync], watch: Watch<'_>) -> Result<FittedFastText> {
        self.validate()?;
        let vocabulary = Vocabulary::of(Self::NAME, texts, &self.vocabulary)?;
        let corpus = Corpus::of(texts, self.vocabulary.tokens, &vocabulary);
        let grams = Grams { min_n: self.min_n, max_n: self.max_n, buckets: self.buckets };
        let (words, lists) = (vocabulary.len(), grams.lists(vocabulary.words()));
        let rows = words + self.buckets;
        let (table, summary) = fit(Self::NAME, &self.training, &vocabulary, &corpus, rows, Some(&lists), watch)?;
        let d = self.training.dimension;
        let mut vectors = vec![0.0; words * d];
        for (id, vector) in vectors.chunks_exact_mut(d).enumerate() {
            mean(lists.of(id as u32).iter().map(|&row| &table.row(row as usize)[..d]), vector);
        }
        let buckets = table.to_vec(words..rows);
        Ok(FittedFastText { vectors: WordVectors::trained(self, vocabulary, vectors, d, summary)?, buckets, grams })
    }
}

/// The mean of vectors; zeros if there are none.
pub(super) fn mean<'a>(vectors: impl Iterator<Item = &'a [f32]>, out: &mut [f32]) {
    out.fill(0.0);
    let mut count = 0u32;
    for vector in vectors {
        out.iter_mut().zip(vector).for_each(|(out, x)| *out += x);
        count += 1;
    }
    out.iter_mut().for_each(|x| *x /= count.max(1) as f32);
}

impl FittedFastText {
    /// The words of the vocabulary and their vectors, which include those of their n-grams.
    pub fn vectors(&self) -> &WordVectors {
        &self.vectors
    }

    /// The loss after each epoch, and whether all epochs were run.
    pub fn summary(&self) -> &Summary {
        self.vectors.summary()
    }

    /// The vector of any word: of a word outside the vocabulary the mean of those of its n-grams, zeros if it has none.
    pub fn vector(&self, word: &str) -> Vec<f32> {
        if let Some(id) = self.vectors.vocabulary().id(word) {
            return self.vectors.row(id as usize).to_vec();
        }
        let d = self.vectors.dimension();
        let mut vector = vec![0.0; d];
        mean(self.grams.rows(word).map(|row| &self.buckets[row as usize * d..(row as usize + 1) * d]), &mut vector);
        vector
    }

    /// The direction of any word.
    ///
    /// # Errors
    /// A word outside the vocabulary without n-grams that were seen.
    fn direction(&self, word: &str) -> Result<Vec<f32>> {
        let direction = normalized(&self.vector(word));
        match direction.iter().any(|x| *x != 0.0) {
            true => Ok(direction),
            false => Err(self.vectors.vocabulary().unknown(FastText::NAME, word)),
        }
    }

    /// The `count` words of the vocabulary most similar to any word, without the word itself.
    ///
    /// # Errors
    /// A word that is not in the vocabulary and has no n-grams.
    pub fn nearest(&self, word: &str, count: usize) -> Result<Vec<Neighbor>> {
        Ok(self.vectors.nearest_without(&self.direction(word)?, count, &[word]))
    }

    /// The `count` words of the vocabulary that are to `c` what `b` is to `a`, as [`WordVectors::analogy`] finds them.
    ///
    /// # Errors
    /// A word that is not in the vocabulary and has no n-grams.
    pub fn analogy(&self, a: &str, b: &str, c: &str, count: usize) -> Result<Vec<Neighbor>> {
        let [from, to, start] = [self.direction(a)?, self.direction(b)?, self.direction(c)?];
        let target: Vec<f32> = from.iter().zip(&to).zip(&start).map(|((a, b), c)| b - a + c).collect();
        Ok(self.vectors.nearest_without(&target, count, &[a, b, c]))
    }

    /// Cosine similarity of any two words.
    pub fn similarity(&self, a: &str, b: &str) -> f64 {
        dot(&normalized(&self.vector(a)), &normalized(&self.vector(b)))
    }

    /// The vector of a text: the mean of the vectors of its words, each divided by its length.
    pub fn sentence_vector(&self, text: &str) -> Vec<f32> {
        let tokens = &self.vectors.settings()["settings"]["tokens"];
        let tokens = if tokens == "whitespace" { Tokens::Whitespace } else { Tokens::Words };
        let words: Vec<Vec<f32>> = tokens.split(text).map(|word| normalized(&self.vector(&word))).collect();
        let mut vector = vec![0.0; self.vectors.dimension()];
        mean(words.iter().map(Vec::as_slice), &mut vector);
        vector
    }

    /// The state as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(FastText::NAME, 1);
        record.put_part("vectors", self.vectors.record());
        record.put("min_n", self.grams.min_n);
        record.put("max_n", self.grams.max_n);
        record.put("buckets", self.grams.buckets);
        if let Ok(buckets) = Tensor::try_from_vec(self.buckets.clone(), [self.grams.buckets, self.vectors.dimension()])
        {
            record.put_tensor("ngrams", &buckets);
        }
        record
    }

    /// Restores what [`FittedFastText::record`] wrote.
    ///
    /// # Errors
    /// A record of another kind, or a damaged one.
    pub fn restore(record: &Record) -> Result<FittedFastText> {
        record.expect(FastText::NAME, 1)?;
        let vectors = WordVectors::restore(&record.part("vectors")?)?;
        let grams =
            Grams { min_n: record.count("min_n")?, max_n: record.count("max_n")?, buckets: record.count("buckets")? };
        let buckets = record.shaped("ngrams", &[grams.buckets, vectors.dimension()])?.try_to_vec::<f32>()?;
        if grams.buckets == 0 || grams.buckets > u32::MAX as usize || buckets.iter().any(|x| !x.is_finite()) {
            return Err(record.wrong("ngrams", "a finite vector per bucket"));
        }
        Ok(FittedFastText { vectors, buckets, grams })
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }

    /// Reads a file written by [`FittedFastText::save`].
    pub fn load(path: impl AsRef<Path>) -> Result<FittedFastText> {
        FittedFastText::restore(&Record::load(path)?)
    }
}
