//! Vectors of words from their co-occurrence (Pennington, Socher and Manning, "GloVe: global vectors for word representation", 2014).
//!
//! min ½ Σ f_dn (w_dᵀz_n + b_d + c_n − log n_dn)² over the pairs that occur, with f_dn = min(1, (n_dn / n_max)^0.75). The vector of a word
//! is w + z.
//!
//! AdaGrad takes a step per pair. Words are dealt into groups, and a pair of groups of rows and columns is trained by one thread while
//! others train pairs that share no group (Gemulla, Nijkamp, Haas and Sismanis 2011): the result is that of a sequence of steps, for any
//! number of threads. Alternating least squares solves for all w and b, then for all z and c; the cost never increases.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::pool::parallel_for;

use super::blocks::Watch;
use super::cooccurrence::Cooccurrence;
use super::random::Draws;
use super::skip_gram::summary;
use super::vectors::WordVectors;
use super::vocabulary::{Corpus, Tokens, Vocabulary, VocabularySettings, vocabulary_settings_setters};
use crate::factorization::solve::{dot, each_row, ridge};
use crate::{LearnError, Result, memory};

/// Groups of words.
const GROUPS: usize = 8;

/// How the vectors are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum GloVeSolver {
    /// A step per pair, with AdaGrad's step sizes.
    #[default]
    AdaGrad,
    /// Alternating least squares.
    Als,
}

/// Learns vectors of words whose products are the logarithms of co-occurrence counts.
///
/// ```
/// use tove_learn::words::GloVe;
/// let texts = ["the cat purrs", "the dog barks", "a cat purrs", "a dog barks"].repeat(20);
/// let vectors = GloVe::default().dimension(4).min_count(1).fit(&texts)?;
/// let curve = &vectors.summary().curve;
/// assert!(curve[curve.len() - 1] < curve[0]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct GloVe {
    /// Hyperparameters of the vocabulary.
    #[hyper(flatten)]
    pub vocabulary: VocabularySettings,
    /// Length of a vector.
    #[hyper(default = 100, range = "[1, inf)")]
    pub dimension: usize,
    /// Largest distance between a word and a word of its context.
    #[hyper(default = 10, range = "[1, inf)")]
    pub window: usize,
    /// Whether a pair at distance d counts 1/d.
    #[hyper(default = true)]
    pub weighted: bool,
    /// The count from which on pairs have full weight.
    #[hyper(default = 100.0, range = "(0, inf)")]
    pub n_max: f64,
    /// The power of the weight.
    #[hyper(default = 0.75, range = "[0, inf)")]
    pub power: f64,
    /// Whether words have biases.
    #[hyper(default = true)]
    pub biases: bool,
    /// AdaGrad or alternating least squares.
    #[hyper(default = GloVeSolver::AdaGrad)]
    pub solver: GloVeSolver,
    /// Step size of AdaGrad.
    #[hyper(default = 0.05, range = "(0, inf)")]
    pub learning_rate: f64,
    /// Regularization strength of alternating least squares.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub alpha: f64,
    /// Passes over the pairs.
    #[hyper(default = 25, range = "[1, inf)")]
    pub epochs: usize,
    /// Seed of the initial vectors and of the order of pairs.
    #[hyper(default = 0)]
    pub seed: u64,
}

/// Vectors of a group of words with their biases at the end, and AdaGrad's sums of squares.
struct Group {
    values: Vec<f64>,
    squares: Vec<f64>,
}

/// A pair of words within their groups, the weight and the logarithm of its count.
type Pair = (u32, u32, f64, f64);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GloVe {
    /// Learns a vector for each word.
    ///
    /// # Errors
    /// Hyperparameters out of their range, texts without enough words, counts or vectors that do not fit in memory.
    pub fn fit(&self, texts: &[impl AsRef<str> + Sync]) -> Result<WordVectors> {
        self.fit_watched(texts, &mut |_| {})
    }

    /// As [`GloVe::fit`]; `watch` is told how far it is.
    ///
    /// # Errors
    /// As [`GloVe::fit`].
    pub fn fit_watched(&self, texts: &[impl AsRef<str> + Sync], watch: Watch<'_>) -> Result<WordVectors> {
        self.validate()?;
        let vocabulary = Vocabulary::of(Self::NAME, texts, &self.vocabulary)?;
        let (words, d) = (vocabulary.len(), self.dimension);
        let bytes = memory::matrix(words, d.saturating_add(1), 40);
        let bytes = bytes.saturating_add(if self.solver == GloVeSolver::Als { memory::matrix(d, d, 32) } else { 0 });
        let fix = "lower `dimension`, or keep fewer words with `min_count` or `max_words`";
        memory::require(Self::NAME, format!("vectors of length {d} for {words} words"), bytes, fix)?;
        let corpus = Corpus::of(texts, self.vocabulary.tokens, &vocabulary);
        let counts = Cooccurrence::count(&corpus, words, self.window, self.weighted)?;
        let (vectors, curve, finished) = match self.solver {
            GloVeSolver::AdaGrad => self.adagrad(&counts, watch),
            GloVeSolver::Als => self.alternate(&counts, watch),
        };
        if let Some(last) = curve.last().filter(|last| !last.is_finite()) {
            let problem = format!("the cost became {last} with a learning rate of {}", self.learning_rate);
            return Err(LearnError::data(Self::NAME, problem, "lower `learning_rate`"));
        }
        WordVectors::trained(self, vocabulary, vectors, d, summary(Self::NAME, curve, finished))
    }

    fn weight(&self, count: f64) -> f64 {
        (count / self.n_max).powf(self.power).min(1.0)
    }

    /// Initial vectors and biases (words, d + 1).
    fn start(&self, words: usize, side: u64) -> Vec<f64> {
        let width = self.dimension + 1;
        let mut draws = Draws::new(self.seed, side, u64::MAX);
        let scale = 1.0 / width as f64;
        let number =
            |at: usize, draw: f64| if at % width + 1 == width && !self.biases { 0.0 } else { (draw - 0.5) * scale };
        (0..words * width).map(|at| number(at, f64::from(draws.unit()))).collect()
    }

    /// w + z without biases.
    fn sum(&self, rows: &[f64], columns: &[f64]) -> Vec<f32> {
        let (d, width) = (self.dimension, self.dimension + 1);
        let pairs = rows.chunks_exact(width).zip(columns.chunks_exact(width));
        pairs.flat_map(|(w, z)| w[..d].iter().zip(&z[..d]).map(|(w, z)| (w + z) as f32)).collect()
    }

    fn adagrad(&self, counts: &Cooccurrence, watch: Watch<'_>) -> (Vec<f32>, Vec<f64>, bool) {
        let (words, d, width) = (counts.words(), self.dimension, self.dimension + 1);
        let mut pairs: Vec<Vec<Pair>> = vec![Vec::new(); GROUPS * GROUPS];
        for word in 0..words {
            let (columns, values) = counts.row(word);
            for (&other, &count) in columns.iter().zip(values) {
                let group = word % GROUPS * GROUPS + other as usize % GROUPS;
                let place = ((word / GROUPS) as u32, other / GROUPS as u32);
                pairs[group].push((place.0, place.1, self.weight(count), count.ln()));
            }
        }
        let groups = |side: u64| -> Vec<Mutex<Group>> {
            let all = self.start(words, side);
            let of = |group: usize| all.chunks_exact(width).skip(group).step_by(GROUPS).flatten().copied().collect();
            let groups = (0..GROUPS).map(of).map(|values: Vec<f64>| Group { squares: vec![1.0; values.len()], values });
            groups.map(Mutex::new).collect()
        };
        let (rows, columns) = (groups(0), groups(1));
        let pairs: Vec<Mutex<(Vec<Pair>, f64)>> = pairs.into_iter().map(|pairs| Mutex::new((pairs, 0.0))).collect();
        let (mut curve, mut finished) = (Vec::new(), true);
        'epochs: for epoch in 0..self.epochs {
            watch(epoch as f64 / self.epochs as f64);
            for shift in 0..GROUPS {
                if tove_optim::interrupted() {
                    finished = false;
                    break 'epochs;
                }
                parallel_for(GROUPS, &|row| {
                    let column = (row + shift) % GROUPS;
                    let mut block = lock(&pairs[row * GROUPS + column]);
                    let (mut w, mut z) = (lock(&rows[row]), lock(&columns[column]));
                    Draws::new(self.seed, epoch as u64, (row * GROUPS + column) as u64).shuffle(&mut block.0);
                    let cost = block.0.iter().map(|&pair| self.step(pair, d, &mut w, &mut z)).sum();
                    block.1 = cost;
                });
            }
            curve.push(pairs.iter().map(|block| lock(block).1).sum());
        }
        let join = |groups: &[Mutex<Group>]| -> Vec<f64> {
            let groups: Vec<MutexGuard<'_, Group>> = groups.iter().map(lock).collect();
            let row = |word: usize| word / GROUPS * width..(word / GROUPS + 1) * width;
            (0..words).flat_map(|word| groups[word % GROUPS].values[row(word)].to_vec()).collect()
        };
        (self.sum(&join(&rows), &join(&columns)), curve, finished)
    }

    /// A step for one pair; returns its cost before.
    fn step(&self, (row, column, weight, log): Pair, d: usize, rows: &mut Group, columns: &mut Group) -> f64 {
        let (i, j) = (row as usize * (d + 1), column as usize * (d + 1));
        let (w, z) = (&mut rows.values[i..i + d + 1], &mut columns.values[j..j + d + 1]);
        let (ws, zs) = (&mut rows.squares[i..i + d + 1], &mut columns.squares[j..j + d + 1]);
        let error = dot(&w[..d], &z[..d]) + w[d] + z[d] - log;
        let slope = weight * error;
        let rate = self.learning_rate;
        for at in 0..d {
            let (dw, dz) = (slope * z[at], slope * w[at]);
            w[at] -= rate * dw / ws[at].sqrt();
            z[at] -= rate * dz / zs[at].sqrt();
            ws[at] += dw * dw;
            zs[at] += dz * dz;
        }
        if self.biases {
            w[d] -= rate * slope / ws[d].sqrt();
            z[d] -= rate * slope / zs[d].sqrt();
            ws[d] += slope * slope;
            zs[d] += slope * slope;
        }
        0.5 * slope * error
    }

    /// Alternating least squares. The counts are symmetric, so rows serve as columns.
    fn alternate(&self, counts: &Cooccurrence, watch: Watch<'_>) -> (Vec<f32>, Vec<f64>, bool) {
        let (words, d, width) = (counts.words(), self.dimension, self.dimension + 1);
        let unknowns = if self.biases { width } else { d };
        let (mut rows, mut columns) = (self.start(words, 0), self.start(words, 1));
        let solve = |fixed: &[f64], out: &mut [f64]| {
            each_row(out, width, &|word, out, scratch| {
                let (others, values) = counts.row(word);
                scratch.vectors.clear();
                scratch.right.clear();
                for (&other, &count) in others.iter().zip(values) {
                    let root = self.weight(count).sqrt();
                    let vector = &fixed[other as usize * width..(other as usize + 1) * width];
                    scratch.vectors.extend(vector[..d].iter().map(|x| root * x));
                    if self.biases {
                        scratch.vectors.push(root);
                    }
                    scratch.right.push(root * (count.ln() - vector[d]));
                }
                let penalty = (unknowns, [self.alpha; 2]);
                ridge(&mut scratch.system, &scratch.vectors, &mut scratch.right, penalty, &mut out[..unknowns]);
            });
        };
        let (mut curve, mut finished) = (Vec::new(), true);
        for epoch in 0..self.epochs {
            watch(epoch as f64 / self.epochs as f64);
            if tove_optim::interrupted() {
                finished = false;
                break;
            }
            solve(&columns, &mut rows);
            solve(&rows, &mut columns);
            curve.push(self.cost(counts, &rows, &columns));
        }
        (self.sum(&rows, &columns), curve, finished)
    }

    /// ½ Σ f (wᵀz + b + c − log n)², and of alternating least squares ½ α (‖W‖² + ‖Z‖² + ‖b‖² + ‖c‖²).
    fn cost(&self, counts: &Cooccurrence, rows: &[f64], columns: &[f64]) -> f64 {
        let (d, width) = (self.dimension, self.dimension + 1);
        let mut costs = vec![0.0; counts.words()];
        each_row(&mut costs, 1, &|word, out, _| {
            let w = &rows[word * width..(word + 1) * width];
            let (others, values) = counts.row(word);
            out[0] = others.iter().zip(values).fold(0.0, |sum, (&other, &count)| {
                let z = &columns[other as usize * width..(other as usize + 1) * width];
                sum + 0.5 * self.weight(count) * (dot(&w[..d], &z[..d]) + w[d] + z[d] - count.ln()).powi(2)
            });
        });
        costs.iter().sum::<f64>() + 0.5 * self.alpha * (dot(rows, rows) + dot(columns, columns))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The cost is ½ Σ f (wᵀz + b + c − log n)² with f = min(1, (n/n_max)^0.75) over the pairs that occur, and a step follows its gradient.
    #[test]
    fn cost_and_steps_are_those_of_the_definition() {
        let texts = ["a b c a d", "b b a e", "c d e a b"];
        let vocabulary = Vocabulary::of("test", &texts, &VocabularySettings::default().min_count(1)).unwrap();
        let counts = Cooccurrence::of(&texts, Tokens::Words, &vocabulary, 2, false).unwrap();
        let glove = GloVe { dimension: 3, n_max: 3.0, alpha: 0.7, learning_rate: 1e-6, ..GloVe::default() };
        let (words, d, width) = (vocabulary.len(), 3, 4);
        let (rows, columns) = (glove.start(words, 0), glove.start(words, 1));
        let pair = |w: &[f64], z: &[f64], count: f64| {
            let product: f64 = (0..d).map(|i| w[i] * z[i]).sum();
            0.5 * (count / 3.0).powf(0.75).min(1.0) * (product + w[d] + z[d] - count.ln()).powi(2)
        };
        let row = |all: &[f64], word: usize| all[word * width..(word + 1) * width].to_vec();
        let mut expected = 0.0;
        for (i, j) in (0..words * words).map(|at| (at / words, at % words)).filter(|&(i, j)| counts.get(i, j) > 0.0) {
            expected += pair(&row(&rows, i), &row(&columns, j), counts.get(i, j));
        }
        expected += 0.35 * rows.iter().chain(&columns).map(|x| x * x).sum::<f64>();
        assert!((glove.cost(&counts, &rows, &columns) - expected).abs() < 1e-12 * expected);

        // One pair: the step is −γ times the gradient by differences, as long as the sums of squares are 1.
        let count = counts.get(0, 1);
        let group = |values: Vec<f64>| Group { squares: vec![1.0; values.len()], values };
        let (w, z) = (row(&rows, 0), row(&columns, 1));
        let (mut moved_w, mut moved_z) = (group(w.clone()), group(z.clone()));
        let cost = glove.step((0, 0, glove.weight(count), count.ln()), d, &mut moved_w, &mut moved_z);
        assert!((cost - pair(&w, &z, count)).abs() < 1e-14);
        for at in 0..width {
            let nudged = |x: &[f64], by: f64| {
                x.iter().enumerate().map(|(i, x)| if i == at { x + by } else { *x }).collect::<Vec<f64>>()
            };
            let by_w = (pair(&nudged(&w, 1e-5), &z, count) - pair(&nudged(&w, -1e-5), &z, count)) / 2e-5;
            let by_z = (pair(&w, &nudged(&z, 1e-5), count) - pair(&w, &nudged(&z, -1e-5), count)) / 2e-5;
            assert!((moved_w.values[at] - w[at] + 1e-6 * by_w).abs() < 1e-13, "{at}");
            assert!((moved_z.values[at] - z[at] + 1e-6 * by_z).abs() < 1e-13, "{at}");
        }
    }
}
