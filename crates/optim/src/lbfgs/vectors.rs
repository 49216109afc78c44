//! Sums and combinations of long vectors, in the widest instructions there are; the order of additions is fixed.

use tove_tensor::kernels::simd::{Kernel, dispatch};

const LANES: usize = 16;

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (a, a_tail) = self.0.as_chunks::<LANES>();
        let (b, b_tail) = self.1.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                lanes[lane] += a[lane] * b[lane];
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        a_tail.iter().zip(b_tail).fold(lanes[0], |sum, (a, b)| sum + a * b)
    }
}

/// Σ aᵢ bᵢ.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dispatch(Dot(a, b))
}

struct AddScaled<'a>(&'a mut [f64], f64, &'a [f64]);

impl Kernel for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (y, x) in self.0.iter_mut().zip(self.2) {
            *y += self.1 * x;
        }
    }
}

/// y ← y + c x.
pub(super) fn add_scaled(y: &mut [f64], c: f64, x: &[f64]) {
    dispatch(AddScaled(y, c, x));
}

/// The largest magnitude; NaN if there is one.
pub(super) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |best: f64, x| if x.is_nan() || x.abs() > best { x.abs() } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_every_length() {
        for n in 0..70 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let mut b: Vec<f64> = (0..n).map(|i| f64::from(i % 7)).collect();
            assert_eq!(dot(&a, &b), a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>());
            add_scaled(&mut b, 2.0, &a);
            assert!((0..n as usize).all(|i| b[i] == (i % 7) as f64 + 2.0 * i as f64));
        }
        assert!(largest(&[1.0, f64::NAN]).is_nan() && largest(&[1.0, -3.0]) == 3.0);
    }
}
