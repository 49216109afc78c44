//! Random numbers from a counter: element i of a draw is a function of the [`Key`] and of i alone.
//!
//! There is no hidden state. A key is a value; a draw with a key always gives the same numbers, whatever the number of
//! threads and however the work is cut. For independent draws, derive keys: [`Key::fold`] for a step, a layer or a name,
//! [`Key::split`] for several at once. Use each key for one draw only; the same key gives the same underlying words to every
//! distribution. The generator is Philox4x32-10 (Salmon et al. 2011).
//!
//! ```
//! use tove_tensor::random::{Key, fill_normal, fill_uniform};
//! let key = Key::new(42);
//! let mut weights = [0f32; 8];
//! fill_normal(key.fold(0), &mut weights);
//! let mut again = [0f32; 8];
//! fill_normal(key.fold(0), &mut again);
//! assert_eq!(weights, again);
//! let mut noise = [0f64; 3];
//! fill_uniform(key.fold(1), &mut noise);
//! assert!(noise.iter().all(|&u| (0.0..1.0).contains(&u)));
//! ```

mod categorical;
mod fill;
mod philox;
mod stream;

#[cfg(test)]
mod tests;

pub use categorical::{fill_categorical, fill_categorical_logits};
pub use fill::{RandomFloat, fill_bernoulli, fill_exponential, fill_normal, fill_uniform, fill_uniform_open};
pub use stream::{fill_beta, fill_gamma, fill_integers, permutation};

use philox::{block, halves};

/// Names a stream of random numbers: 128 bits, cheap to copy and to derive from.
///
/// ```
/// use tove_tensor::random::Key;
/// let key = Key::new(7);
/// assert_eq!(key, Key::new(7));
/// assert_ne!(key.fold(1), key.fold(2));
/// assert_eq!(key.split(3)[2], key.fold(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The generator's key.
    key: u64,
    /// The upper half of the generator's counter; the lower half counts blocks.
    stream: u64,
}

impl Key {
    /// The key of a seed.
    pub const fn new(seed: u64) -> Self {
        Self { key: seed, stream: 0 }
    }

    /// The key derived from this one and a number, such as a step or the index of a layer.
    ///
    /// It is the generator's own output for that number, under another generator key than the one that draws use, so that
    /// the draws of a key tell nothing about the keys derived from it. All 128 bits of the result are random: among a
    /// billion derived keys, two are equal with probability 10⁻²¹.
    #[must_use]
    pub fn fold(self, data: u64) -> Self {
        const DERIVE: u64 = 0x5bf0_3635_d1a2_76f1;
        let ([d0, d1], [s0, s1]) = (halves(data), halves(self.stream));
        let [a, b, c, d] = block([d0, d1, s0, s1], halves(self.key ^ DERIVE));
        Self { key: u64::from(a) | u64::from(b) << 32, stream: u64::from(c) | u64::from(d) << 32 }
    }

    /// `count` derived keys: `fold(0)`, `fold(1)`, …
    pub fn split(self, count: usize) -> Vec<Self> {
        (0..count as u64).map(|i| self.fold(i)).collect()
    }
}

/// A parameter outside its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RandomError {
    /// No integer lies in the range.
    #[error("no integer lies in [{low}, {high}): make high larger than low")]
    EmptyRange {
        /// The smallest integer wanted.
        low: i64,
        /// One above the largest.
        high: i64,
    },
    /// Not a probability.
    #[error("{0} is not a probability: give a number from 0 to 1")]
    Probability(f64),
    /// A shape or rate that is not positive and finite.
    #[error("parameter {index} is {value}: it must be positive and finite")]
    NotPositive {
        /// Which element of the parameter.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A row of weights that describes no distribution.
    #[error("row {0} gives no distribution: weights must be finite, not negative and not all zero")]
    Weights(usize),
    /// Lengths that do not fit together.
    #[error("{given} parameters do not fit {wanted} draws: give one, or as many as draws (whole rows for categories)")]
    Length {
        /// Length of the parameter.
        given: usize,
        /// Number of draws.
        wanted: usize,
    },
}
