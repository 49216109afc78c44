//! Words and their vectors: similarity, neighbors, analogies, files.

use std::path::Path;

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::io::WriteOptions;
use tove_tensor::{Tensor, TryOps};

use super::vocabulary::Vocabulary;
use crate::{LearnError, Record, Result, Summary};

const WHO: &str = "WordVectors";

/// A word and its cosine similarity to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// The word.
    pub word: String,
    /// Cosine of the angle between the vectors.
    pub similarity: f64,
}

/// Words with a vector each, learned by [`Word2Vec`](super::Word2Vec), [`GloVe`](super::GloVe) or
/// [`FastText`](super::FastText), or read from a file.
///
/// ```
/// use tove_learn::words::WordVectors;
/// let words = ["king", "queen", "man", "woman"].map(String::from).to_vec();
/// let vectors = WordVectors::new(words, vec![1.0, 1.0, 1.0, -1.0, 0.1, 1.0, 0.1, -1.0], 2)?;
/// assert_eq!(vectors.analogy("man", "woman", "king", 1)?[0].word, "queen");
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug)]
pub struct WordVectors {
    vocabulary: Vocabulary,
    vectors: Vec<f32>,
    /// The vectors divided by their length; a vector of zeros stays so.
    unit: Vec<f32>,
    dimension: usize,
    settings: serde_json::Value,
    summary: Summary,
}

/// The vector divided by its length. Of a vector of zeros it is that vector.
pub(super) fn normalized(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    vector.iter().map(|&x| (f64::from(x) * scale) as f32).collect()
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

impl WordVectors {
    /// Words and their vectors, one after another.
    ///
    /// # Errors
    /// A number of values other than `dimension` per word, a word that occurs twice, a number that is not finite.
    pub fn new(words: Vec<String>, vectors: Vec<f32>, dimension: usize) -> Result<WordVectors> {
        let counts = vec![0; words.len()];
        WordVectors::of(Vocabulary::new(words, counts)?, vectors, dimension, serde_json::json!({}), Summary::exact())
    }

    pub(super) fn of(
        vocabulary: Vocabulary,
        vectors: Vec<f32>,
        dimension: usize,
        settings: serde_json::Value,
        summary: Summary,
    ) -> Result<WordVectors> {
        if dimension == 0 || vocabulary.is_empty() {
            let problem = format!("{} words with vectors of length {dimension}", vocabulary.len());
            return Err(LearnError::parameter(WHO, format!("{problem}; give at least one word and one number")));
        }
        if vocabulary.len().checked_mul(dimension) != Some(vectors.len()) {
            let (words, numbers) = (vocabulary.len(), vectors.len());
            let problem = format!("{numbers} numbers for {words} words; give {dimension} numbers per word");
            return Err(LearnError::parameter(WHO, problem));
        }
        if let Some(at) = vectors.iter().position(|x| !x.is_finite()) {
            let word = super::vocabulary::shown(&vocabulary.words()[at / dimension]);
            let problem = format!("number {} of \"{word}\" is {}", at % dimension, vectors[at]);
            return Err(LearnError::data(WHO, problem, "leave the word out, or give finite numbers"));
        }
        let unit = vectors.chunks_exact(dimension).flat_map(normalized).collect();
        Ok(WordVectors { vocabulary, vectors, unit, dimension, settings, summary })
    }

    /// The result of a training.
    pub(super) fn trained<H: Hyperparameters + Named>(
        settings: &H,
        vocabulary: Vocabulary,
        vectors: Vec<f32>,
        dimension: usize,
        summary: Summary,
    ) -> Result<WordVectors> {
        let settings = serde_json::json!({"name": H::NAME, "settings": settings.to_json()});
        WordVectors::of(vocabulary, vectors, dimension, settings, summary)
    }

    /// The words, the most frequent first.
    pub fn words(&self) -> &[String] {
        self.vocabulary.words()
    }

    /// The words with their counts. Files of word2vec have no counts; they are 0 then.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Length of a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Name and hyperparameters of what learned the vectors; empty if they were read from a file of another program.
    pub fn settings(&self) -> &serde_json::Value {
        &self.settings
    }

    /// The loss after each epoch, and whether all epochs were run.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// All vectors as a matrix with a row per word.
    pub fn matrix(&self) -> Result<Tensor> {
        Ok(Tensor::try_from_vec(self.vectors.clone(), [self.vocabulary.len(), self.dimension])?)
    }

    /// Whether a word has a vector.
    pub fn contains(&self, word: &str) -> bool {
        self.vocabulary.id(word).is_some()
    }

    fn id(&self, word: &str) -> Result<usize> {
        self.vocabulary.id(word).map(|id| id as usize).ok_or_else(|| self.vocabulary.unknown(WHO, word))
    }

    /// The vector of a word by its index.
    pub(super) fn row(&self, id: usize) -> &[f32] {
        &self.vectors[id * self.dimension..(id + 1) * self.dimension]
    }

    fn unit_row(&self, id: usize) -> &[f32] {
        &self.unit[id * self.dimension..(id + 1) * self.dimension]
    }

    /// The vector of a word.
    ///
    /// # Errors
    /// A word that is not in the vocabulary.
    pub fn vector(&self, word: &str) -> Result<&[f32]> {
        Ok(self.row(self.id(word)?))
    }

    /// Cosine similarity of two words.
    ///
    /// # Errors
    /// A word that is not in the vocabulary.
    pub fn similarity(&self, a: &str, b: &str) -> Result<f64> {
        Ok(dot(self.unit_row(self.id(a)?), self.unit_row(self.id(b)?)))
    }

    /// The `count` words most similar to a word, without the word itself.
    ///
    /// # Errors
    /// A word that is not in the vocabulary.
    pub fn nearest(&self, word: &str, count: usize) -> Result<Vec<Neighbor>> {
        let id = self.id(word)?;
        Ok(self.search(self.unit_row(id), count, &[id]))
    }

    /// The `count` words most similar to a vector.
    ///
    /// # Errors
    /// A vector of another length, or with a number that is not finite.
    pub fn nearest_to(&self, vector: &[f32], count: usize) -> Result<Vec<Neighbor>> {
        if vector.len() != self.dimension || vector.iter().any(|x| !x.is_finite()) {
            let problem = format!("the query has {} numbers; give {} finite numbers", vector.len(), self.dimension);
            return Err(LearnError::parameter(WHO, problem));
        }
        Ok(self.search(&normalized(vector), count, &[]))
    }

    /// As [`WordVectors::nearest_to`], without some words.
    pub(super) fn nearest_without(&self, vector: &[f32], count: usize, without: &[&str]) -> Vec<Neighbor> {
        let ids: Vec<usize> =
            without.iter().filter_map(|word| self.vocabulary.id(word)).map(|id| id as usize).collect();
        self.search(&normalized(vector), count, &ids)
    }

    /// The `count` words that are to `c` what `b` is to `a`: those most similar to b − a + c, without the three words
    /// (3CosAdd; Mikolov, Yih and Zweig 2013).
    ///
    /// # Errors
    /// A word that is not in the vocabulary.
    pub fn analogy(&self, a: &str, b: &str, c: &str, count: usize) -> Result<Vec<Neighbor>> {
        let ids = [self.id(a)?, self.id(b)?, self.id(c)?];
        Ok(self.search(&normalized(&self.target(ids)), count, &ids))
    }

    /// b − a + c of unit vectors.
    fn target(&self, [a, b, c]: [usize; 3]) -> Vec<f32> {
        let (a, b, c) = (self.unit_row(a), self.unit_row(b), self.unit_row(c));
        a.iter().zip(b).zip(c).map(|((a, b), c)| b - a + c).collect()
    }

    fn search(&self, query: &[f32], count: usize, without: &[usize]) -> Vec<Neighbor> {
        let scores = self.unit.chunks_exact(self.dimension).enumerate();
        let mut all: Vec<(usize, f64)> =
            scores.filter(|(id, _)| !without.contains(id)).map(|(id, row)| (id, dot(row, query))).collect();
        let order = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if count > 0 && count < all.len() {
            all.select_nth_unstable_by(count - 1, order);
        }
        all.truncate(count);
        all.sort_unstable_by(order);
        all.iter().map(|&(id, similarity)| Neighbor { word: self.words()[id].clone(), similarity }).collect()
    }

    /// For each question (indices of a, b, c), the index of the best answer.
    pub(super) fn answers(&self, questions: &[[usize; 3]]) -> Result<Vec<usize>> {
        let unit = Tensor::try_from_vec(self.unit.clone(), [self.vocabulary.len(), self.dimension])?.try_t()?;
        let mut answers = Vec::with_capacity(questions.len());
        for batch in questions.chunks(256) {
            let targets: Vec<f32> = batch.iter().flat_map(|&ids| self.target(ids)).collect();
            let scores = Tensor::try_from_vec(targets, [batch.len(), self.dimension])?.try_matmul(&unit)?;
            let scores = scores.try_contiguous()?;
            for (ids, row) in batch.iter().zip(scores.as_slice::<f32>()?.chunks_exact(self.vocabulary.len())) {
                let best = row.iter().enumerate().filter(|(id, _)| !ids.contains(id));
                let best = best
                    .fold((0, f32::NEG_INFINITY), |best, (id, &score)| if score > best.1 { (id, score) } else { best });
                answers.push(best.0);
            }
        }
        Ok(answers)
    }

    /// The state as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(WHO, 1);
        self.vocabulary.write(&mut record);
        record.put("dimension", self.dimension);
        record.put("trained", self.settings.clone());
        self.summary.write(&mut record);
        if let Ok(matrix) = self.matrix() {
            record.put_tensor("vectors", &matrix);
        }
        record
    }

    /// Restores what [`WordVectors::record`] wrote.
    ///
    /// # Errors
    /// A record of another kind, or a damaged one.
    pub fn restore(record: &Record) -> Result<WordVectors> {
        record.expect(WHO, 1)?;
        let (vocabulary, dimension) = (Vocabulary::read(record)?, record.count("dimension")?);
        let vectors = record.shaped("vectors", &[vocabulary.len(), dimension])?.try_to_vec::<f32>()?;
        let bad = |_| record.wrong("vectors", "a finite vector per word");
        WordVectors::of(vocabulary, vectors, dimension, record.get("trained")?.clone(), Summary::read(record)?)
            .map_err(bad)
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }

    /// Reads a file written by [`WordVectors::save`].
    pub fn load(path: impl AsRef<Path>) -> Result<WordVectors> {
        WordVectors::restore(&Record::load(path)?)
    }
}
