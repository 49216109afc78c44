//! Layer normalisation of rows: ŷ = (x − mean) / √(var + ε), then times weight plus bias.
//!
//! The mean is kept in two parts, a first estimate m₀ from some of the row and the correction that a pass over all of it
//! finds, so that rows far from zero lose nothing: d = x − m₀ is exact where it matters, mean = m₀ + Σd/n and
//! var = Σd²/n − (Σd/n)².
//!
//! Both directions find numbers of each row first and write it then, several rows side by side: what one row waits for, the
//! others fill.

mod backward;
mod forward;

use super::rows::TASK;

pub(crate) use backward::{Gradients, backward};
pub(crate) use forward::forward;

/// Numbers kept for each row: m₀, the shift c and the factor r of ŷ = (x − m₀) r + c.
pub(crate) const STATISTICS: usize = 3;

/// Most runs that rows are cut into; each has its own sums of the gradients by weight and bias.
const RUNS: usize = 64;

fn rows_per_run(rows: usize, length: usize) -> usize {
    (TASK / 2).div_ceil(length.max(1)).max(rows.div_ceil(RUNS))
}

/// The rows and what belongs to them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<T> {
    pub(crate) x: *const T,
    pub(crate) weight: *const T,
    pub(crate) bias: *const T,
    pub(crate) rows: usize,
    pub(crate) length: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_rows_far_from_zero() {
        for length in (1..70).chain([255, 256, 1000, 5000]) {
            const ROWS: usize = 6;
            // Steps of 1/64 are exact next to 10000 in single precision.
            let x: Vec<f32> = (0..ROWS * length).map(|i| 1e4 + (i * 37 % 101) as f32 / 64.0).collect();
            let (weight, bias) = (vec![1.0; length], vec![0.0; length]);
            let (mut out, mut kept) = (vec![0.0f32; x.len()], vec![0.0f32; ROWS * STATISTICS]);
            let rows = Rows { x: x.as_ptr(), weight: weight.as_ptr(), bias: bias.as_ptr(), rows: ROWS, length };
            // SAFETY: everything has the size that the rows say.
            unsafe { forward(rows, 1e-5, out.as_mut_ptr(), kept.as_mut_ptr()) };
            for (row, kept) in x.chunks(length).zip(kept.chunks(STATISTICS)) {
                let n = length as f64;
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
                let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
                let [estimate, c, r] = [0, 1, 2].map(|i| f64::from(kept[i]));
                assert!((estimate - c / r - mean).abs() < 1e-6, "length {length}: mean");
                let found = 1.0 / (r * r) - 1e-5;
                assert!(
                    (found - variance).abs() <= 4e-6 * (variance + 1e-5),
                    "length {length}: {found} is not {variance}"
                );
            }
        }
    }
}
