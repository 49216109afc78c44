//! Training of skip-gram and CBOW with negative sampling, for whole words and for subwords.

use tove_optim::settings::{Choice, Hyperparameters};

use super::blocks::{Block, Table, Tables, Watch, Worker, train};
use super::random::{Alias, Draws};
use super::step::add;
use super::vocabulary::{Corpus, Vocabulary};
use crate::{LearnError, Result, Stop, Summary, memory};

/// Words of a block.
const BLOCK: usize = 256;
/// Negative words that a block draws; those of a step are drawn from these. Each has the right distribution, and a block uses fewer
/// rows.
const DRAWN: usize = 128;
/// Output vectors of words are drawn as negatives in proportion to their counts to this power.
const POWER: f64 = 0.75;

/// What is predicted from what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Architecture {
    /// Each word of a context predicts the word in its middle.
    #[default]
    SkipGram,
    /// The mean of a context predicts the word in its middle.
    Cbow,
}

/// Hyperparameters shared by [`Word2Vec`](super::Word2Vec) and [`FastText`](super::FastText).
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct SkipGramSettings {
    /// What is predicted from what.
    #[hyper(default = Architecture::SkipGram)]
    pub architecture: Architecture,
    /// Length of a vector.
    #[hyper(default = 100, range = "[1, inf)")]
    pub dimension: usize,
    /// Largest distance between a word and a word of its context; for each word a smaller one is drawn at random.
    #[hyper(default = 5, range = "[1, inf)")]
    pub window: usize,
    /// Number of random words per word to predict.
    #[hyper(default = 5, range = "[1, 1000]")]
    pub negatives: usize,
    /// Words with a larger share of the text are subsampled; 0 keeps all.
    #[hyper(default = 1e-3, range = "[0, 1]")]
    pub subsample: f64,
    /// Step size at the start, which decreases linearly.
    #[hyper(default = 0.025, range = "(0, inf)")]
    pub learning_rate: f64,
    /// Step size at the end.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub min_learning_rate: f64,
    /// Passes over the texts.
    #[hyper(default = 5, range = "[1, inf)")]
    pub epochs: usize,
    /// Seed of the initial vectors and of all draws.
    #[hyper(default = 0)]
    pub seed: u64,
}

/// Rows of the input table that belong to each word: the word itself and its n-grams.
pub(super) struct RowLists {
    pub starts: Vec<usize>,
    pub rows: Vec<u32>,
}

impl RowLists {
    #[inline(always)]
    pub fn of(&self, word: u32) -> &[u32] {
        &self.rows[self.starts[word as usize]..self.starts[word as usize + 1]]
    }
}

struct Texts<'a> {
    corpus: &'a Corpus,
    keep: Vec<f32>,
    noise: Alias,
    lists: Option<&'a RowLists>,
    /// 0, 1, 2 … for as many hidden vectors as a step may have.
    numbers: Vec<u32>,
    settings: &'a SkipGramSettings,
}

impl Block for Texts<'_> {
    fn rate(&self, epoch: usize, index: usize) -> f32 {
        let position = (index * BLOCK) as f64 / self.corpus.ids.len() as f64;
        let done = (epoch as f64 + position) / self.settings.epochs as f64;
        let (first, last) = (self.settings.learning_rate, self.settings.min_learning_rate);
        (first + (last.min(first) - first) * done) as f32
    }

    #[inline(always)]
    fn train<const FUSED: bool>(&self, epoch: usize, index: usize, tables: &Tables, worker: &mut Worker) {
        let (start, end) = (index * BLOCK, ((index + 1) * BLOCK).min(self.corpus.ids.len()));
        let mut draws = Draws::new(self.settings.seed, epoch as u64, index as u64);
        let rate = self.rate(epoch, index);
        let width = tables.input.width;
        let Worker { input, output, step, loss, pairs } = worker;
        let drawn: Vec<(u32, u32)> = (0..DRAWN)
            .map(|_| self.noise.draw(&mut draws))
            .map(|word| (word, output.slot(&tables.output, word)))
            .collect();
        let (mut kept, mut targets, mut slots, mut bounds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in self.corpus.parts(start, end) {
            kept.clear();
            kept.extend(part.iter().copied().filter(|&word| draws.unit() < self.keep[word as usize]));
            for (at, &word) in kept.iter().enumerate() {
                let reach = 1 + draws.below(self.settings.window);
                let (from, to) = (at.saturating_sub(reach), at.saturating_add(reach + 1).min(kept.len()));
                if to - from < 2 {
                    continue;
                }
                // The rows of each hidden vector: those of a word, or of all words of the context.
                slots.clear();
                bounds.clear();
                bounds.push(0);
                for (near, context) in kept[from..to].iter().enumerate() {
                    if from + near == at {
                        continue;
                    }
                    match self.lists {
                        None => slots.push(input.slot(&tables.input, *context)),
                        Some(lists) => {
                            lists.of(*context).iter().for_each(|&row| slots.push(input.slot(&tables.input, row)))
                        }
                    }
                    if self.settings.architecture == Architecture::SkipGram {
                        bounds.push(slots.len());
                    }
                }
                if self.settings.architecture == Architecture::Cbow {
                    bounds.push(slots.len());
                }
                targets.clear();
                targets.push(output.slot(&tables.output, word));
                for _ in 0..self.settings.negatives {
                    let (other, slot) = drawn[draws.below(DRAWN)];
                    if other != word {
                        targets.push(slot);
                    }
                }
                let (hidden, count) = (bounds.len() - 1, targets.len());
                // A hidden vector is a row itself, or the mean of several.
                let single = slots.len() == hidden;
                step.hidden.clear();
                if single {
                    for &slot in &slots {
                        step.hidden.extend_from_slice(input.get(slot));
                    }
                } else {
                    for bound in bounds.windows(2) {
                        let (rows, at) = (&slots[bound[0]..bound[1]], step.hidden.len());
                        step.hidden.extend_from_slice(input.get(rows[0]));
                        let sum = &mut step.hidden[at..];
                        for &slot in &rows[1..] {
                            add(sum, input.get(slot));
                        }
                        let share = 1.0 / rows.len() as f32;
                        for x in sum {
                            *x *= share;
                        }
                    }
                }
                step.outputs.clear();
                for &slot in &targets {
                    step.outputs.extend_from_slice(output.get(slot));
                }
                *loss += f64::from(step.weigh::<FUSED>(width, rate));
                *pairs += hidden as u64;
                if single {
                    step.change_hidden::<FUSED>(input.rows_mut(), &slots, width);
                    input.count(&slots, count as u32);
                } else {
                    step.changes::<FUSED>(&self.numbers[..hidden], width);
                    for (change, bound) in step.change.chunks_exact(width).zip(bounds.windows(2)) {
                        for &slot in &slots[bound[0]..bound[1]] {
                            input.add(slot, change, count as u32);
                        }
                    }
                }
                step.change_outputs::<FUSED>(output.rows_mut(), &targets, width);
                output.count(&targets, hidden as u32);
            }
        }
        *loss += f64::from(step.rest());
    }
}

/// Trains the input vectors of `rows` rows.
pub(super) fn fit(
    who: &'static str,
    settings: &SkipGramSettings,
    vocabulary: &Vocabulary,
    corpus: &Corpus,
    rows: usize,
    lists: Option<&RowLists>,
    watch: Watch<'_>,
) -> Result<(Table, Summary)> {
    corpus.require_pairs(who)?;
    let (words, d) = (vocabulary.len(), settings.dimension);
    let bytes = Table::bytes(rows, d).saturating_add(Table::bytes(words, d));
    let buffers = (d as u64).saturating_mul(8 * (2 * BLOCK + settings.negatives) as u64);
    memory::require(
        who,
        format!("vectors of length {d} for {rows} rows and {words} words"),
        bytes.saturating_add(buffers),
        "lower `dimension`, or keep fewer words with `min_count` or `max_words`",
    )?;
    let mut tables = Tables { input: Table::new(rows, d), output: Table::new(words, d) };
    for row in 0..rows {
        let mut draws = Draws::new(settings.seed, u64::MAX, row as u64);
        tables.input.row_mut(row)[..d].iter_mut().for_each(|x| *x = (draws.unit() - 0.5) / d as f32);
    }
    let noise: Vec<f64> = vocabulary.counts().iter().map(|&count| (count.max(1) as f64).powf(POWER)).collect();
    let keep = vocabulary.keep_probabilities(settings.subsample);
    let texts =
        Texts { corpus, keep, noise: Alias::new(&noise), lists, numbers: (0..2 * BLOCK as u32).collect(), settings };
    let blocks = corpus.ids.len().div_ceil(BLOCK);
    let (curve, finished) = train(&mut tables, blocks, settings.epochs, &texts, watch);
    let summary = summary(who, curve, finished);
    if (0..rows).any(|row| tables.input.row(row).iter().any(|x| !x.is_finite())) {
        let problem = format!("the vectors overflowed with a learning rate of {}", settings.learning_rate);
        return Err(LearnError::data(who, problem, "lower `learning_rate`"));
    }
    Ok((tables.input, summary))
}

/// The summary of a training with a fixed number of epochs: converged means that all were run.
pub(super) fn summary(who: &'static str, curve: Vec<f64>, finished: bool) -> Summary {
    let mut summary = Summary { iterations: curve.len(), converged: finished, ..Summary::default() };
    summary.objective = curve.last().copied();
    if !finished {
        summary.warn(format!("{who}: interrupted in epoch {}; the vectors so far are kept", curve.len().max(1)));
    }
    summary.ended(Stop::of(false, !finished), curve)
}
