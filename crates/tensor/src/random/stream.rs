//! Draws that need a varying number of words per element: integers without bias, permutations, gamma and beta.
//!
//! Element i reads blocks i, i + 2^48, i + 2·2^48, … of the key's stream until it is served, so no other element is touched.
use super::fill::for_chunks;
use super::philox::block_of;
use super::{Key, RandomError};
use crate::kernels::math::Float;
use crate::kernels::simd::{Kernel, dispatch};

/// Elements per task.
const CHUNK: usize = 1 << 13;

/// The words of one element.
struct Stream {
    key: Key,
    next: u64,
    words: [u64; 2],
    left: usize,
}

impl Stream {
    #[inline(always)]
    fn new(key: Key, element: usize) -> Self {
        Self { key, next: element as u64, words: [0; 2], left: 0 }
    }

    #[inline(always)]
    fn bits(&mut self) -> u64 {
        if self.left == 0 {
            let [a, b, c, d] = block_of(self.key, self.next);
            self.words = [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32];
            self.next = self.next.wrapping_add(1 << 48);
            self.left = 2;
        }
        self.left -= 1;
        self.words[1 - self.left]
    }

    /// An odd multiple of 2^−53 in (0, 1).
    #[inline(always)]
    fn open(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / 4503599627370496.0)
    }

    #[inline(always)]
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * <f64 as Float>::ln(self.open())).sqrt();
        radius * <f64 as Float>::cos(2.0 * std::f64::consts::PI * self.open())
    }

    /// An integer in [0, range), or any integer for a range of zero (meaning 2^64). Lemire (2019): the upper half of
    /// range × word, redrawn for the few words that would favour some values.
    #[inline(always)]
    fn below(&mut self, range: u64) -> u64 {
        if range == 0 {
            return self.bits();
        }
        let mut product = u128::from(self.bits()) * u128::from(range);
        if (product as u64) < range {
            let threshold = range.wrapping_neg() % range;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(range);
            }
        }
        (product >> 64) as u64
    }

    /// A gamma variate as value and ln factor: value · e^factor. Marsaglia and Tsang (2000) for shapes from one on; below,
    /// G(a) = G(a + 1) U^(1/a), whose second part may be far below the smallest number.
    #[inline(always)]
    fn gamma(&mut self, shape: f64) -> (f64, f64) {
        let boosted = shape < 1.0;
        let factor = if boosted { <f64 as Float>::ln(self.open()) / shape } else { 0.0 };
        let d = if boosted { shape + 1.0 } else { shape } - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let u = self.open();
            let root = f64::mul_add(c, x, 1.0);
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let bound = 0.5 * x * x + d * (1.0 - v + <f64 as Float>::ln(v));
            if <f64 as Float>::ln(u) < bound {
                return (d * v, factor);
            }
        }
    }
}

/// Fills with integers from [low, high), each equally likely.
///
/// ```
/// # use tove_tensor::random::{Key, fill_integers};
/// let mut dice = [0; 100];
/// fill_integers(Key::new(1), 1, 7, &mut dice)?;
/// assert!(dice.iter().all(|n| (1..7).contains(n)));
/// # Ok::<(), tove_tensor::random::RandomError>(())
/// ```
///
/// # Errors
/// If the range is empty.
pub fn fill_integers(key: Key, low: i64, high: i64, out: &mut [i64]) -> Result<(), RandomError> {
    if low >= high {
        return Err(RandomError::EmptyRange { low, high });
    }
    let range = high.wrapping_sub(low) as u64;
    for_chunks(out, CHUNK, |start, out| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = low.wrapping_add(Stream::new(key, start + i).below(range) as i64);
        }
    });
    Ok(())
}

/// A random order of 0 … n − 1, every one equally likely (Fisher and Yates).
///
/// ```
/// # use tove_tensor::random::{Key, permutation};
/// let mut order = permutation(Key::new(1), 5);
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn permutation(key: Key, n: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..n as i64).collect();
    for i in (1..n).rev() {
        order.swap(i, Stream::new(key, i).below(i as u64 + 1) as usize);
    }
    order
}

fn check_positive<T: Float>(values: &[T], draws: usize) -> Result<(), RandomError> {
    if values.len() != 1 && values.len() != draws {
        return Err(RandomError::Length { given: values.len(), wanted: draws });
    }
    match values.iter().position(|&a| !(a > T::ZERO && a < T::INFINITY)) {
        Some(index) => Err(RandomError::NotPositive { index, value: values[index].to_f64() }),
        None => Ok(()),
    }
}

/// One parameter for all, or one for each.
#[inline(always)]
fn at<T: Float>(values: &[T], i: usize) -> f64 {
    values[if values.len() == 1 { 0 } else { i }].to_f64()
}

struct Gamma<'a, T> {
    key: Key,
    start: usize,
    shape: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Gamma<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (i, out) in (self.start..).zip(self.out) {
            let (value, factor) = Stream::new(self.key, i).gamma(at(self.shape, i));
            *out = T::from_f64(value * <f64 as Float>::exp(factor));
        }
    }
}

struct Beta<'a, T> {
    key: Key,
    start: usize,
    shapes: [&'a [T]; 2],
    out: &'a mut [T],
}

impl<T: Float> Kernel for Beta<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (i, out) in (self.start..).zip(self.out) {
            let mut stream = Stream::new(self.key, i);
            let (x, x_factor) = stream.gamma(at(self.shapes[0], i));
            let (y, y_factor) = stream.gamma(at(self.shapes[1], i));
            let odds = <f64 as Float>::ln(x) - <f64 as Float>::ln(y) + (x_factor - y_factor);
            *out = T::from_f64(<f64 as Float>::sigmoid(odds));
        }
    }
}

/// Fills with gamma variates of scale one; `shape` holds one shape, or one for each element.
///
/// ```
/// # use tove_tensor::random::{Key, fill_gamma};
/// let mut g = [0f64; 1000];
/// fill_gamma(Key::new(1), &[3.0], &mut g)?;
/// assert!((g.iter().sum::<f64>() / 1000.0 - 3.0).abs() < 0.3);
/// # Ok::<(), tove_tensor::random::RandomError>(())
/// ```
///
/// # Errors
/// If a shape is not positive and finite, or the lengths do not fit.
pub fn fill_gamma<T: Float>(key: Key, shape: &[T], out: &mut [T]) -> Result<(), RandomError> {
    check_positive(shape, out.len())?;
    for_chunks(out, CHUNK, |start, out| dispatch(Gamma { key, start, shape, out }));
    Ok(())
}

/// Fills with beta variates X/(X + Y), X and Y gamma with shapes `a` and `b`, each one number or one for each element.
/// The quotient is taken of logarithms, so that tiny shapes give 0 or 1 rather than 0/0.
///
/// # Errors
/// If a shape is not positive and finite, or the lengths do not fit.
pub fn fill_beta<T: Float>(key: Key, a: &[T], b: &[T], out: &mut [T]) -> Result<(), RandomError> {
    check_positive(a, out.len())?;
    check_positive(b, out.len())?;
    for_chunks(out, CHUNK, |start, out| dispatch(Beta { key, start, shapes: [a, b], out }));
    Ok(())
}
