//! How well a layout in few dimensions keeps the neighbors of the original space.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor};

use crate::read::check_finite;
use crate::separation::square;
use crate::{MetricError, Result, Score};

/// Rows whose distances are computed together, and rows of a tile that stays in the cache.
const BLOCK: usize = 8;
const TILE: usize = 32;

/// Squared distances of some rows to all.
struct Distances<'a> {
    rows: &'a [f64],
    d: usize,
    first: usize,
    count: usize,
}

impl Kernel for Distances<'_> {
    /// (count, n)
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let n = self.rows.len() / self.d;
        let row = |i: usize| &self.rows[i * self.d..(i + 1) * self.d];
        let mut all = vec![0.0; self.count * n];
        for tile in (0..n).step_by(TILE) {
            for i in 0..self.count {
                for j in tile..n.min(tile + TILE) {
                    all[i * n + j] = square(row(self.first + i), row(j));
                }
            }
        }
        all
    }
}

/// Rows in double precision.
fn rows(what: &'static str, argument: &'static str, x: &Tensor) -> Result<(Vec<f64>, usize)> {
    if x.rank() != 2 || x.dims()[1] == 0 {
        let problem = format!("{argument}s of shape {}; give a row of numbers per sample", x.shape());
        return Err(MetricError::parameter(what, problem));
    }
    let x = x.detach().to_dtype(DType::F64).contiguous();
    check_finite(what, argument, &x)?;
    let values = x.to_f64_vec();
    if let Some(index) = values.iter().position(|value| value.abs() > 1e150) {
        let expected = "squares of it leave the range of numbers; scale the samples";
        return Err(MetricError::Value { what, argument, index, value: values[index], expected });
    }
    Ok((values, x.dims()[1]))
}

/// From 0 to 1: whether the `n_neighbors` nearest samples in an embedding (n, c) are near in the original space (n, d), too;
/// scikit-learn's `trustworthiness`, 1 − 2/(n k (2 n − 3 k − 1)) Σᵢ Σⱼ max(0, r(i, j) − k), where j goes over the k nearest samples to i in the
/// embedding and r(i, j) is the rank of j by its Euclidean distance to i in the original space. Of equally near samples the one given first
/// is nearer.
///
/// ```
/// use tove_metrics::trustworthiness;
/// use tove_tensor::Tensor;
/// let x = Tensor::from([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [8.0, 0.0], [9.0, 0.0]]);
/// let kept = x.narrow(1, 0, 1);
/// assert_eq!(trustworthiness(&x, &kept, 1)?.value, 1.0);
/// let torn = Tensor::from([[0.0], [9.0], [1.0], [8.0], [2.0]]);
/// assert!(trustworthiness(&x, &torn, 1)?.value < 0.7);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If shapes do not fit, numbers are not finite, or `n_neighbors` is 0 or not below half of the number of samples.
pub fn trustworthiness(x: &Tensor, embedded: &Tensor, n_neighbors: usize) -> Result<Score> {
    let what = "trustworthiness";
    let ((x, d), (y, c)) = (rows(what, "sample", x)?, rows(what, "coordinate", embedded)?);
    let (n, k) = (x.len() / d, n_neighbors);
    if y.len() / c != n {
        let problem = format!("{n} samples, but {} rows of coordinates; give one per sample", y.len() / c);
        return Err(MetricError::parameter(what, problem));
    }
    if k == 0 || 2 * k >= n {
        let problem = format!("{k} neighbors of {n} samples; give at least 1 and fewer than half of the samples");
        return Err(MetricError::parameter(what, problem));
    }
    let blocks = n.div_ceil(BLOCK);
    let sums: Vec<Mutex<f64>> = (0..blocks).map(|_| Mutex::new(0.0)).collect();
    parallel_for(blocks, &|block| {
        let (first, count) = (block * BLOCK, BLOCK.min(n - block * BLOCK));
        let (far, near) =
            (dispatch(Distances { rows: &x, d, first, count }), dispatch(Distances { rows: &y, d: c, first, count }));
        let mut sum = 0.0;
        for (own, (far, near)) in far.chunks_exact(n).zip(near.chunks_exact(n)).enumerate() {
            let by = |distances: &[f64], a: usize, b: usize| distances[a].total_cmp(&distances[b]).then(a.cmp(&b));
            let mut others: Vec<usize> = (0..n).filter(|&other| other != first + own).collect();
            others.select_nth_unstable_by(k - 1, |&a, &b| by(near, a, b));
            for &j in &others[..k] {
                let nearer = |&other: &usize| by(far, other, j) == Ordering::Less;
                let rank = 1 + (0..n).filter(|&other| other != first + own).filter(nearer).count();
                sum += rank.saturating_sub(k) as f64;
            }
        }
        *sums[block].lock().unwrap_or_else(PoisonError::into_inner) = sum;
    });
    let whole: f64 = sums.into_iter().map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner)).sum();
    let (n, k) = (n as f64, k as f64);
    Ok(Score::plain(1.0 - whole * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)), n as usize))
}
