//! A linear classifier of texts on the mean of the vectors of words and n-grams (Joulin, Grave, Bojanowski and Mikolov, "Bag of tricks
//! for efficient text classification", 2017).

use std::path::Path;

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;
use tove_tensor::kernels::math::Float;

use super::blocks::{Block, Table, Tables, Watch, Worker, train};
use super::fasttext::mean;
use super::random::Draws;
use super::skip_gram::summary;
use super::step::add;
use super::subwords::Grams;
use super::vocabulary::{Tokens, Vocabulary, VocabularySettings, vocabulary_settings_setters};
use crate::{LearnError, Record, Result, Summary, memory};

/// Texts of a block.
const BLOCK: usize = 32;

/// Classifies texts by their words, the n-grams of their words, and pairs of words.
///
/// ```
/// use tove_learn::words::FastTextClassifier;
/// let texts = ["good fine great", "bad awful poor", "great good", "poor bad"].repeat(10);
/// let labels: Vec<i64> = (0..40).map(|i| i % 2).collect();
/// let model = FastTextClassifier::default().buckets(1000).dimension(8).fit(&texts, &labels)?;
/// // Misspelled words share n-grams with those of the training.
/// assert_eq!(model.predict(&["greaat", "awfull"]), [0, 1]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = lengths)]
pub struct FastTextClassifier {
    /// Hyperparameters of the vocabulary.
    #[hyper(flatten, default = VocabularySettings::default().min_count(1))]
    pub vocabulary: VocabularySettings,
    /// Length of a vector.
    #[hyper(default = 50, range = "[1, inf)")]
    pub dimension: usize,
    /// Whether the n-grams of words are used.
    #[hyper(default = true)]
    pub subwords: bool,
    /// Length of the shortest n-grams.
    #[hyper(default = 3, range = "[1, 256]")]
    pub min_n: usize,
    /// Length of the longest n-grams.
    #[hyper(default = 5, range = "[1, 256]")]
    pub max_n: usize,
    /// Whether pairs of adjacent words are used.
    #[hyper(default = false)]
    pub word_pairs: bool,
    /// Number of vectors of n-grams and pairs; those with the same hash share one.
    #[hyper(default = 200_000, range = "[1, 1000000000]")]
    pub buckets: usize,
    /// Step size at the start, which decreases linearly to 0.
    #[hyper(default = 0.5, range = "(0, inf)")]
    pub learning_rate: f64,
    /// Passes over the texts.
    #[hyper(default = 25, range = "[1, inf)")]
    pub epochs: usize,
    /// Seed of the initial vectors and of the order of texts.
    #[hyper(default = 0)]
    pub seed: u64,
}

fn lengths(settings: &FastTextClassifier) -> Result<(), SettingError> {
    ordered(FastTextClassifier::NAME, settings.min_n, settings.max_n)
}

/// An error if the shortest n-grams are longer than the longest.
pub(super) fn ordered(who: &'static str, min_n: usize, max_n: usize) -> Result<(), SettingError> {
    if min_n <= max_n {
        return Ok(());
    }
    Err(SettingError::conflict(who, "min_n", format!("{min_n} is more than `max_n`, {max_n}"), "swap them"))
}

/// The rows of a text.
#[derive(Clone, Debug)]
struct Features {
    vocabulary: Vocabulary,
    grams: Grams,
    tokens: Tokens,
    subwords: bool,
    word_pairs: bool,
}

impl Features {
    fn rows(&self, text: &str) -> Vec<u32> {
        let (words, mut rows) = (self.vocabulary.len() as u32, Vec::new());
        let mut last: Option<u32> = None;
        for word in self.tokens.split(text) {
            rows.extend(self.vocabulary.id(&word));
            if self.subwords {
                rows.extend(self.grams.rows(&word).map(|row| words + row));
            }
            if self.word_pairs {
                let hash = word.bytes().fold(17u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
                if let Some(last) = last {
                    let pair = u64::from(last).wrapping_mul(116_049_371).wrapping_add(u64::from(hash));
                    rows.push(words + (pair % self.grams.buckets as u64) as u32);
                }
                last = Some(hash);
            }
        }
        rows
    }
}

/// A fitted [`FastTextClassifier`].
#[derive(Clone, Debug)]
pub struct FittedFastTextClassifier {
    features: Features,
    dimension: usize,
    /// Vectors of words and buckets.
    input: Vec<f32>,
    /// Vectors of classes.
    output: Vec<f32>,
    classes: Vec<i64>,
    settings: serde_json::Value,
    summary: Summary,
}

struct Examples<'a> {
    rows: &'a [Vec<u32>],
    classes: &'a [u32],
    orders: Vec<Vec<u32>>,
    settings: &'a FastTextClassifier,
    count: usize,
}

/// Scores to probabilities, in place.
#[inline(always)]
fn softmax(scores: &mut [f32]) {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = <f32 as Float>::exp(*score - most));
    let total: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= total);
}

impl Block for Examples<'_> {
    fn rate(&self, epoch: usize, index: usize) -> f32 {
        let done = (epoch as f64 + (index * BLOCK) as f64 / self.rows.len() as f64) / self.settings.epochs as f64;
        (self.settings.learning_rate * (1.0 - done)) as f32
    }

    #[inline(always)]
    fn train<const FUSED: bool>(&self, epoch: usize, index: usize, tables: &Tables, worker: &mut Worker) {
        let rate = self.rate(epoch, index);
        let order = &self.orders[epoch % self.orders.len()];
        let Worker { input, output, loss, pairs, .. } = worker;
        let mut hidden = vec![0.0f32; tables.input.width];
        let mut change = hidden.clone();
        let (mut scores, mut slots) = (vec![0.0f32; self.count], Vec::new());
        for &text in &order[index * BLOCK..((index + 1) * BLOCK).min(order.len())] {
            let rows = &self.rows[text as usize];
            if rows.is_empty() {
                continue;
            }
            slots.clear();
            rows.iter().for_each(|&row| slots.push(input.slot(&tables.input, row)));
            hidden.fill(0.0);
            slots.iter().for_each(|&slot| add(&mut hidden, input.get(slot)));
            let share = 1.0 / slots.len() as f32;
            hidden.iter_mut().for_each(|x| *x *= share);
            for (class, score) in scores.iter_mut().enumerate() {
                let slot = output.slot(&tables.output, class as u32);
                *score = output.get(slot).iter().zip(&hidden).map(|(a, b)| a * b).sum();
            }
            softmax(&mut scores);
            let own = self.classes[text as usize] as usize;
            *loss -= f64::from(scores[own].max(f32::MIN_POSITIVE)).ln();
            *pairs += 1;
            change.fill(0.0);
            for (class, &score) in scores.iter().enumerate() {
                let slope = rate * (f32::from(u8::from(class == own)) - score);
                let slot = output.slot(&tables.output, class as u32);
                change.iter_mut().zip(output.get(slot)).for_each(|(change, x)| *change += slope * x);
                let step: Vec<f32> = hidden.iter().map(|x| slope * x).collect();
                output.add(slot, &step, 1);
            }
            change.iter_mut().for_each(|x| *x *= share);
            slots.iter().for_each(|&slot| input.add(slot, &change, 1));
        }
    }
}

impl FastTextClassifier {
    /// Learns to predict the label of each text.
    ///
    /// # Errors
    /// Hyperparameters out of their range, labels that are not one per text or all equal, texts without words, vectors that do not fit in
    /// memory.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync], labels: &[i64]) -> Result<FittedFastTextClassifier> {
        self.fit_watched(texts, labels, &mut |_| {})
    }

    /// As [`FastTextClassifier::fit`]; `watch` is told how far it is.
    ///
    /// # Errors
    /// As [`FastTextClassifier::fit`].
    pub fn fit_watched(
        &self,
        texts: &[impl AsRef<str> + Sync],
        labels: &[i64],
        watch: Watch<'_>,
    ) -> Result<FittedFastTextClassifier> {
        self.validate()?;
        if texts.len() != labels.len() {
            return Err(LearnError::Lengths { rows: texts.len(), what: "labels", found: labels.len() });
        }
        let vocabulary = Vocabulary::of(Self::NAME, texts, &self.vocabulary)?;
        let mut classes = labels.to_vec();
        classes.sort_unstable();
        classes.dedup();
        if classes.len() == 1 {
            return Err(LearnError::OneClass { who: Self::NAME, class: classes[0], samples: texts.len() });
        }
        let (rows, d) = (vocabulary.len() + self.buckets, self.dimension);
        let bytes = Table::bytes(rows, d).saturating_add(Table::bytes(classes.len(), d));
        memory::require(
            Self::NAME,
            format!("vectors of length {d} for {rows} rows"),
            bytes,
            "lower `dimension` or `buckets`",
        )?;
        let grams = Grams { min_n: self.min_n, max_n: self.max_n, buckets: self.buckets };
        let (tokens, subwords, word_pairs) = (self.vocabulary.tokens, self.subwords, self.word_pairs);
        let features = Features { vocabulary, grams, tokens, subwords, word_pairs };
        let mut tables = Tables { input: Table::new(rows, d), output: Table::new(classes.len(), d) };
        for row in 0..rows {
            let mut draws = Draws::new(self.seed, u64::MAX, row as u64);
            tables.input.row_mut(row)[..d].iter_mut().for_each(|x| *x = (draws.unit() - 0.5) * 2.0 / d as f32);
        }
        let of = |label: &i64| classes.binary_search(label).unwrap_or_default() as u32;
        // A few orders, used in turn.
        let orders = (0..self.epochs.min(16)).map(|epoch| {
            let mut order: Vec<u32> = (0..texts.len() as u32).collect();
            Draws::new(self.seed, epoch as u64, u64::MAX).shuffle(&mut order);
            order
        });
        let examples = Examples {
            rows: &texts.iter().map(|text| features.rows(text.as_ref())).collect::<Vec<_>>(),
            classes: &labels.iter().map(of).collect::<Vec<_>>(),
            orders: orders.collect(),
            settings: self,
            count: classes.len(),
        };
        let (curve, finished) = train(&mut tables, texts.len().div_ceil(BLOCK), self.epochs, &examples, watch);
        let (input, output) = (tables.input.to_vec(0..rows), tables.output.to_vec(0..classes.len()));
        if input.iter().chain(&output).any(|x| !x.is_finite()) {
            let problem = format!("the vectors overflowed with a learning rate of {}", self.learning_rate);
            return Err(LearnError::data(Self::NAME, problem, "lower `learning_rate`"));
        }
        let summary = summary(Self::NAME, curve, finished);
        Ok(FittedFastTextClassifier {
            features,
            dimension: d,
            input,
            output,
            classes,
            settings: self.to_json(),
            summary,
        })
    }
}

impl FittedFastTextClassifier {
    /// The labels in ascending order.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The loss after each epoch, and whether all epochs were run.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The vector of a text: the mean of those of its words and n-grams.
    pub fn sentence_vector(&self, text: &str) -> Vec<f32> {
        let (d, mut vector) = (self.dimension, vec![0.0; self.dimension]);
        let rows = self.features.rows(text);
        mean(rows.iter().map(|&row| &self.input[row as usize * d..(row as usize + 1) * d]), &mut vector);
        vector
    }

    fn probabilities(&self, text: &str) -> Vec<f32> {
        let vector = self.sentence_vector(text);
        let rows = self.output.chunks_exact(self.dimension);
        let mut scores: Vec<f32> = rows.map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect();
        softmax(&mut scores);
        scores
    }

    /// The most probable label of each text; ties go to the smallest.
    pub fn predict(&self, texts: &[impl AsRef<str>]) -> Vec<i64> {
        let best = |text: &str| {
            let scores = self.probabilities(text);
            let best = scores.iter().enumerate().fold((0, 0.0), |best, (i, &p)| if p > best.1 { (i, p) } else { best });
            self.classes[best.0]
        };
        texts.iter().map(|text| best(text.as_ref())).collect()
    }

    /// Probabilities (n, m) of the classes, in the order of [`FittedFastTextClassifier::classes`].
    pub fn predict_proba(&self, texts: &[impl AsRef<str>]) -> Result<Tensor> {
        let all: Vec<f32> = texts.iter().flat_map(|text| self.probabilities(text.as_ref())).collect();
        Ok(Tensor::try_from_vec(all, [texts.len(), self.classes.len()])?)
    }

    /// The state as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new(FastTextClassifier::NAME, 1);
        self.features.vocabulary.write(&mut record);
        record.put("settings", self.settings.clone());
        record.put("classes", self.classes.clone());
        self.summary.write(&mut record);
        for (name, values) in [("input", &self.input), ("output", &self.output)] {
            if let Ok(tensor) = Tensor::try_from_vec(values.clone(), [values.len() / self.dimension, self.dimension]) {
                record.put_tensor(name, &tensor);
            }
        }
        record
    }

    /// Restores what [`FittedFastTextClassifier::record`] wrote.
    ///
    /// # Errors
    /// A record of another kind, or a damaged one.
    pub fn restore(record: &Record) -> Result<FittedFastTextClassifier> {
        let settings: FastTextClassifier = record.settings(FastTextClassifier::NAME, 1)?;
        settings.validate()?;
        let (vocabulary, d) = (Vocabulary::read(record)?, settings.dimension);
        let classes = record.get("classes")?.as_array().ok_or_else(|| record.wrong("classes", "a list of labels"))?;
        let classes: Option<Vec<i64>> = classes.iter().map(serde_json::Value::as_i64).collect();
        let classes = classes.filter(|classes| classes.len() > 1 && classes.is_sorted_by(|a, b| a < b));
        let classes = classes.ok_or_else(|| record.wrong("classes", "a list of labels in ascending order"))?;
        let read = |name: &str, rows: usize| -> Result<Vec<f32>> {
            let values = record.shaped(name, &[rows, d])?.try_to_vec::<f32>()?;
            if values.iter().all(|x| x.is_finite()) { Ok(values) } else { Err(record.wrong(name, "finite")) }
        };
        let (input, output) = (read("input", vocabulary.len() + settings.buckets)?, read("output", classes.len())?);
        let grams = Grams { min_n: settings.min_n, max_n: settings.max_n, buckets: settings.buckets };
        let (tokens, subwords, word_pairs) = (settings.vocabulary.tokens, settings.subwords, settings.word_pairs);
        let features = Features { vocabulary, grams, tokens, subwords, word_pairs };
        let (settings, summary) = (settings.to_json(), Summary::read(record)?);
        Ok(FittedFastTextClassifier { features, dimension: d, input, output, classes, settings, summary })
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }

    /// Reads a file written by [`FittedFastTextClassifier::save`].
    pub fn load(path: impl AsRef<Path>) -> Result<FittedFastTextClassifier> {
        FittedFastTextClassifier::restore(&Record::load(path)?)
    }
}
