//! First centers: k-means++ (Arthur, Vassilvitskii 2007) with several candidates per center, or samples at random.

use tove_optim::settings::Choice;
use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use super::assign::Points;
use crate::{LearnError, Real, Result, Samples, with_real};

/// Where the first centers lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Init {
    /// Samples drawn by their squared distance to the centers so far, the best of several draws each time.
    #[default]
    #[choice(name = "k-means++")]
    PlusPlus,
    /// Samples drawn at random, none twice.
    Random,
}

/// Draws with chances that are proportional to given numbers.
struct Wheel {
    sums: Vec<f64>,
}

impl Wheel {
    fn new(chances: impl Iterator<Item = f64>) -> Wheel {
        let mut sum = 0.0;
        let add = |chance: f64| {
            sum += chance;
            sum
        };
        Wheel { sums: chances.map(add).collect() }
    }

    /// The place where this share, from 0 to 1, of all chances is passed; never one whose chance is 0, unless all are.
    fn place(&self, share: f64) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let aim = share * total;
        let place = self.sums.partition_point(|&sum| sum <= aim);
        if place < self.sums.len() { place } else { self.sums.partition_point(|&sum| sum < total) }
    }
}

fn share(key: Key) -> f64 {
    let mut one = [0.0f64];
    fill_uniform(key, &mut one);
    one[0]
}

/// The numbers of the samples that k centers begin with. `tries` candidates are drawn for each center after the first.
pub(super) fn first<T: Real>(
    points: &Points<'_, T>,
    weights: &[f64],
    k: usize,
    init: Init,
    tries: usize,
    key: Key,
) -> Result<Vec<usize>> {
    let n = points.len();
    let mut chosen = vec![Wheel::new(weights.iter().copied()).place(share(key.fold(0)))];
    if init == Init::Random {
        let mut chances = weights.to_vec();
        for number in 1..k {
            chances[chosen[number - 1]] = 0.0;
            let drawn = Wheel::new(chances.iter().copied()).place(share(key.fold(number as u64)));
            // Fewer samples with weight than centers: the others begin on samples without.
            let rest = || (0..n).find(|i| !chosen.contains(i)).unwrap_or(0);
            chosen.push(if chances[drawn] > 0.0 { drawn } else { rest() });
        }
        return Ok(chosen);
    }
    let mut squares = points.squares_to(&chosen)?;
    for number in 1..k {
        if tove_optim::interrupted() {
            return Err(LearnError::Interrupted { who: "KMeans" });
        }
        let wheel = Wheel::new(squares.iter().zip(weights).map(|(square, weight)| square * weight));
        let drawn: Vec<usize> =
            (0..tries).map(|attempt| wheel.place(share(key.fold((number * tries + attempt + 1) as u64)))).collect();
        let mut closer = points.squares_to(&drawn)?;
        let mut potentials = vec![0.0; tries];
        for ((row, &square), &weight) in closer.chunks_exact_mut(tries).zip(&squares).zip(weights) {
            for (potential, other) in potentials.iter_mut().zip(row) {
                *other = other.min(square);
                *potential += weight * *other;
            }
        }
        let best = (1..tries).fold(0, |best, other| if potentials[other] < potentials[best] { other } else { best });
        chosen.push(drawn[best]);
        squares.iter_mut().zip(closer.chunks_exact(tries)).for_each(|(square, row)| *square = row[best]);
    }
    Ok(chosen)
}

/// Candidates per center, unless a number is given.
pub(super) fn usual_tries(k: usize) -> usize {
    2 + (k as f64).ln() as usize
}

/// The samples that k-means++ chooses as first centers, as scikit-learn's `kmeans_plusplus`: their rows (k, d) and numbers. With one
/// local trial, each center after the first is drawn with a probability proportional to its squared distance from those before;
/// with more, the candidate that brings all samples closest is kept. `None` stands for 2 + ln k trials.
///
/// ```
/// use tove_learn::cluster::kmeans_plusplus;
/// use tove_tensor::Tensor;
/// let (centers, numbers) = kmeans_plusplus(&Tensor::from([[0.0], [0.0], [7.0]]), 2, None, 0)?;
/// assert!(numbers.contains(&2) && centers.dims() == [2, 1]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// NaN, more centers than samples, no trials.
pub fn kmeans_plusplus(x: &Tensor, k: usize, n_local_trials: Option<usize>, seed: u64) -> Result<(Tensor, Vec<usize>)> {
    const WHO: &str = "kmeans_plusplus";
    let samples = Samples::unlabeled(x)?;
    samples.require_moderate(WHO, true)?;
    let (n, d, tries) = (samples.len(), samples.width(), n_local_trials.unwrap_or_else(|| usual_tries(k)));
    if k == 0 || k > n || tries == 0 || d == 0 {
        let problem = format!(
            "{k} centers with {tries} trials from {n} samples with {d} features; give from 1 to {n} centers and at least one trial"
        );
        return Err(LearnError::parameter(WHO, problem));
    }
    let rows = samples.x().dense(WHO)?;
    let chosen = with_real!(rows.dtype(), T => {
        first(&Points::new(rows.as_slice::<T>()?, d)?, &vec![1.0; n], k, Init::PlusPlus, tries, Key::new(seed))?
    });
    Ok((crate::rows::take(rows, &chosen)?, chosen))
}
