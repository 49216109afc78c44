//! Draws that need a fixed number of words per element: uniform, normal, exponential, Bernoulli.
//!
//! A tile of 16 blocks, 64 words, serves 64 elements in single and 32 in double precision. Word w of block b of tile t
//! belongs to element 64 t + 16 w + b: whole lanes are stored side by side.
use super::philox::{LANES, Tile, tile};
use super::{Key, RandomError};
use crate::kernels::math::Float;
use crate::kernels::simd::{Kernel, dispatch};
use crate::pool::parallel_for;
use std::sync::{Mutex, PoisonError};

/// Elements per task; a multiple of every tile, so that the cut never shows.
const CHUNK: usize = 1 << 15;

/// Turns the words of a tile into values.
trait Draw: Copy + Sync {
    type Value: Copy + Default + Send;
    /// Values per tile: 64 or 32.
    const PER_TILE: usize;
    fn draw(self, words: &Tile, out: &mut [Self::Value]);
}

struct Fill<'a, D: Draw> {
    key: Key,
    first_tile: u64,
    draw: D,
    out: &'a mut [D::Value],
}

impl<D: Draw> Kernel for Fill<'_, D> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let mut index = self.first_tile;
        let mut tiles = self.out.chunks_exact_mut(D::PER_TILE);
        for out in &mut tiles {
            self.draw.draw(&tile(self.key, index), out);
            index += 1;
        }
        let rest = tiles.into_remainder();
        if !rest.is_empty() {
            let mut last = [D::Value::default(); 4 * LANES];
            self.draw.draw(&tile(self.key, index), &mut last[..D::PER_TILE]);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

fn fill<D: Draw>(key: Key, draw: D, out: &mut [D::Value]) {
    for_chunks(out, CHUNK, |start, out| {
        dispatch(Fill { key, first_tile: (start / D::PER_TILE) as u64, draw, out });
    });
}

/// Calls `body(start, chunk)` for every chunk, in parallel; the chunks depend on the length only.
pub(super) fn for_chunks<T: Send>(out: &mut [T], chunk: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    if out.len() <= chunk {
        body(0, out);
        return;
    }
    // A lock per chunk, never contended, hands each task its own part without unsafe code.
    let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(chunk).map(Mutex::new).collect();
    parallel_for(parts.len(), &|task| {
        let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
        body(task * chunk, &mut part);
    });
}

/// How words become numbers of this precision.
pub trait RandomFloat: Float + Send {
    /// 64 for single, 32 for double precision.
    #[doc(hidden)]
    const PER_TILE: usize;
    /// Multiples of 2^−24 or 2^−53 in [0, 1).
    #[doc(hidden)]
    fn closed(words: &Tile, i: usize) -> Self;
    /// Odd multiples of 2^−24 or 2^−53 in (0, 1).
    #[doc(hidden)]
    fn open(words: &Tile, i: usize) -> Self;
    /// (0, 1] from all the bits, so that the logarithm has a long tail.
    #[doc(hidden)]
    fn long(words: &Tile, i: usize) -> Self;
}

impl RandomFloat for f32 {
    const PER_TILE: usize = 4 * LANES;

    #[inline(always)]
    fn closed(words: &Tile, i: usize) -> f32 {
        (words[i / LANES][i % LANES] >> 8) as i32 as f32 * (1.0 / 16777216.0)
    }

    #[inline(always)]
    fn open(words: &Tile, i: usize) -> f32 {
        ((words[i / LANES][i % LANES] >> 9) as i32 as f32 + 0.5) * (1.0 / 8388608.0)
    }

    #[inline(always)]
    fn long(words: &Tile, i: usize) -> f32 {
        (words[i / LANES][i % LANES] as f32 + 0.5) * (1.0 / 4294967296.0)
    }
}

impl RandomFloat for f64 {
    const PER_TILE: usize = 2 * LANES;

    #[inline(always)]
    fn closed(words: &Tile, i: usize) -> f64 {
        let (a, b) = (words[2 * (i / LANES)][i % LANES] >> 5, words[2 * (i / LANES) + 1][i % LANES] >> 6);
        f64::mul_add(f64::from(a as i32), 67108864.0, f64::from(b as i32)) * (1.0 / 9007199254740992.0)
    }

    #[inline(always)]
    fn open(words: &Tile, i: usize) -> f64 {
        let (a, b) = (words[2 * (i / LANES)][i % LANES] >> 6, words[2 * (i / LANES) + 1][i % LANES] >> 6);
        f64::mul_add(f64::from(a as i32), 67108864.0, f64::from(b as i32) + 0.5) * (1.0 / 4503599627370496.0)
    }

    #[inline(always)]
    fn long(words: &Tile, i: usize) -> f64 {
        Self::open(words, i)
    }
}

macro_rules! draw {
    ($(#[$doc:meta])* $name:ident, $words:ident, $i:ident => $value:expr) => {
        #[derive(Clone, Copy)]
        struct $name<T>(std::marker::PhantomData<T>);
        impl<T: RandomFloat> Draw for $name<T> {
            type Value = T;
            const PER_TILE: usize = T::PER_TILE;
            #[inline(always)]
            fn draw(self, $words: &Tile, out: &mut [T]) {
                let out = &mut out[..T::PER_TILE];
                for $i in 0..T::PER_TILE {
                    out[$i] = $value;
                }
            }
        }
    };
}

draw!(Closed, words, i => T::closed(words, i));
draw!(Open, words, i => T::open(words, i));
draw!(Exponential, words, i => T::ZERO - T::long(words, i).ln());

/// Box and Muller's pair: √(−2 ln u) (cos 2πv, sin 2πv), u from the first half of the tile and v from the second.
#[derive(Clone, Copy)]
struct Normal<T>(std::marker::PhantomData<T>);

impl<T: RandomFloat> Draw for Normal<T> {
    type Value = T;
    const PER_TILE: usize = T::PER_TILE;
    #[inline(always)]
    fn draw(self, words: &Tile, out: &mut [T]) {
        let half = T::PER_TILE / 2;
        let (cosines, sines) = out.split_at_mut(half);
        let (cosines, sines) = (&mut cosines[..half], &mut sines[..half]);
        for i in 0..half {
            let radius = (-T::TWO * T::long(words, i).ln()).sqrt();
            let angle = T::TWO * T::PI * T::closed(words, half + i);
            cosines[i] = radius * angle.cos();
            sines[i] = radius * angle.sin();
        }
    }
}

#[derive(Clone, Copy)]
struct Bernoulli {
    /// Words below this mean true; 2^32 for a probability of one.
    threshold: u64,
}

impl Draw for Bernoulli {
    type Value = bool;
    const PER_TILE: usize = 4 * LANES;
    #[inline(always)]
    fn draw(self, words: &Tile, out: &mut [bool]) {
        for (row, out) in words.iter().zip(out.chunks_exact_mut(LANES)) {
            for (&word, out) in row.iter().zip(out) {
                *out = u64::from(word) < self.threshold;
            }
        }
    }
}

/// Fills with numbers uniform on [0, 1): the multiples of 2^−24 (single) or 2^−53 (double precision).
///
/// ```
/// # use tove_tensor::random::{Key, fill_uniform};
/// let mut u = [0f32; 100];
/// fill_uniform(Key::new(1), &mut u);
/// assert!(u.iter().all(|&u| (0.0..1.0).contains(&u)));
/// ```
pub fn fill_uniform<T: RandomFloat>(key: Key, out: &mut [T]) {
    fill(key, Closed(std::marker::PhantomData), out);
}

/// Fills with numbers uniform on (0, 1), neither end included, for use under a logarithm or a quantile function.
pub fn fill_uniform_open<T: RandomFloat>(key: Key, out: &mut [T]) {
    fill(key, Open(std::marker::PhantomData), out);
}

/// Fills with standard normal numbers, in pairs by the method of Box and Muller (1958).
///
/// ```
/// # use tove_tensor::random::{Key, fill_normal};
/// let mut z = [0f64; 1000];
/// fill_normal(Key::new(1), &mut z);
/// assert!((z.iter().sum::<f64>() / 1000.0).abs() < 0.1);
/// ```
pub fn fill_normal<T: RandomFloat>(key: Key, out: &mut [T]) {
    fill(key, Normal(std::marker::PhantomData), out);
}

/// Fills with exponential numbers of rate one, −ln u; divide by the rate wanted.
pub fn fill_exponential<T: RandomFloat>(key: Key, out: &mut [T]) {
    fill(key, Exponential(std::marker::PhantomData), out);
}

/// Fills with `true` with the given probability, rounded to a multiple of 2^−32.
///
/// # Errors
/// If `probability` is not within [0, 1].
pub fn fill_bernoulli(key: Key, probability: f64, out: &mut [bool]) -> Result<(), RandomError> {
    if !(0.0..=1.0).contains(&probability) {
        return Err(RandomError::Probability(probability));
    }
    let threshold = (probability * 4294967296.0).round() as u64;
    fill(key, Bernoulli { threshold }, out);
    Ok(())
}
