//! Directions and singular values of a matrix: all of them, or the largest.

use tove_optim::settings::Choice;
use tove_tensor::{DType, Key, Tensor, TryOps, linalg};

use crate::selection::in_parallel;
use crate::{Real, Result, Rows, with_real};

/// How the principal directions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum SvdSolver {
    /// By the shape: the covariance matrix for many more samples than features, all singular values of small matrices, else
    /// randomized where less than 80 % of the directions are asked for.
    #[default]
    Auto,
    /// All singular values and vectors.
    Full,
    /// Eigenvectors of the covariance matrix; small singular values have rounding errors of the size of squares.
    CovarianceEigh,
    /// A random subspace that products with the matrix turn towards the largest directions (Halko, Martinsson, Tropp 2011).
    Randomized,
}

/// Samples per feature from which on the covariance matrix is taken.
const TALL: usize = 10;
/// Features up to which it is.
const NARROW: usize = 1000;
/// Sides up to which all singular values are computed.
const SMALL: usize = 500;
/// Directions beyond those asked for that a random subspace has.
pub(super) const OVERSAMPLES: usize = 10;

impl SvdSolver {
    /// What is done for a matrix of this shape, if so many directions are wanted; none for an unknown number.
    pub(super) fn resolve(self, n: usize, d: usize, wanted: Option<usize>) -> SvdSolver {
        match self {
            SvdSolver::Auto if d <= NARROW && n >= TALL * d => SvdSolver::CovarianceEigh,
            SvdSolver::Auto if n.max(d) <= SMALL => SvdSolver::Full,
            SvdSolver::Auto if wanted.is_some_and(|k| 5 * k < 4 * n.min(d)) => SvdSolver::Randomized,
            SvdSolver::Auto => SvdSolver::Full,
            other => other,
        }
    }
}

/// Variances, descending, their directions as rows, and the sum of all variances.
pub(super) struct Spectrum {
    pub(super) variances: Vec<f64>,
    pub(super) directions: Tensor,
    pub(super) whole: f64,
}

/// The mean of each column, in double precision.
pub(super) fn column_means(x: &Tensor) -> Result<Vec<f64>> {
    const PART: usize = 4096;
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let x = x.try_contiguous()?;
    let parts = with_real!(x.dtype(), T => {
        let rows = x.as_slice::<T>()?;
        in_parallel(n.div_ceil(PART), |part| {
            let mut sums = vec![0.0; d];
            for row in rows[part * PART * d..((part + 1) * PART).min(n) * d].chunks_exact(d) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.f64());
            }
            sums
        })
    });
    let mut means = vec![0.0; d];
    for sums in parts {
        means.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum);
    }
    means.iter_mut().for_each(|mean| *mean /= n as f64);
    Ok(means)
}

/// Σ (x − μ)(x − μ)ᵀ (d, d) in double precision; products in the precision of the rows, block by block, only on and above the diagonal.
pub(super) fn scatter(x: &Tensor, mean: &[f64]) -> Result<Vec<f64>> {
    const ROWS: usize = 1024;
    const COLUMNS: usize = 112;
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let x = x.try_contiguous()?;
    let blocks = n.div_ceil(ROWS);
    let parts = blocks.clamp(1, 8);
    let per = blocks.div_ceil(parts);
    let sums = with_real!(x.dtype(), T => {
        let rows = x.as_slice::<T>()?;
        in_parallel(parts, |part| -> Result<Vec<f64>> {
            let mut sum = vec![0.0; d * d];
            for block in part * per..((part + 1) * per).min(blocks) {
                let own = &rows[block * ROWS * d..((block + 1) * ROWS).min(n) * d];
                let centered: Vec<T> = own
                    .chunks_exact(d)
                    .flat_map(|row| row.iter().zip(mean).map(|(x, mean)| <T as Real>::of(x.f64() - mean)))
                    .collect();
                let centered = Tensor::try_from_vec(centered, [own.len() / d, d])?;
                for i in (0..d).step_by(COLUMNS) {
                    let left = centered.try_narrow(1, i, COLUMNS.min(d - i))?.try_t()?;
                    let right = centered.try_narrow(1, i, d - i)?;
                    let product = left.try_matmul(&right)?.try_contiguous()?;
                    for (offset, row) in product.as_slice::<T>()?.chunks_exact(d - i).enumerate() {
                        let place = (i + offset) * d + i;
                        sum[place..place + d - i].iter_mut().zip(row).for_each(|(sum, x)| *sum += x.f64());
                    }
                }
            }
            Ok(sum)
        })
    });
    let mut total = vec![0.0; d * d];
    for sum in sums {
        total.iter_mut().zip(sum?).for_each(|(total, own)| *total += own);
    }
    for i in 0..d {
        for j in 0..i {
            total[i * d + j] = total[j * d + i];
        }
    }
    Ok(total)
}

/// The spectrum of features (n, d) around their means.
pub(super) fn spectrum(x: &Tensor, mean: &[f64], solver: SvdSolver, wanted: usize, seed: u64) -> Result<Spectrum> {
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let freedom = n as f64 - 1.0;
    if solver == SvdSolver::CovarianceEigh {
        return of_scatter(scatter(x, mean)?, n, d);
    }
    let centered = x.to_dtype(DType::F64).try_sub(&Tensor::from_slice(mean))?;
    let (s, vt, whole) = if solver == SvdSolver::Randomized {
        let whole = centered.try_mul(&centered)?.try_sum()?.item::<f64>() / freedom;
        let (s, vt) = randomized(&Rows::Dense(centered), wanted, None, seed)?;
        (s, vt, Some(whole))
    } else {
        let linalg::Svd { s, vt, .. } = linalg::svd(&centered)?;
        (s.to_f64_vec(), vt, None)
    };
    let variances: Vec<f64> = s.into_iter().map(|s| s * s / freedom).collect();
    let whole = whole.unwrap_or_else(|| variances.iter().sum());
    Ok(Spectrum { variances, directions: upright(vt.try_contiguous()?.to_f64_vec(), d)?, whole })
}

/// The spectrum from Σ (x − μ)(x − μ)ᵀ (d, d) of n rows.
pub(super) fn of_scatter(scatter: Vec<f64>, n: usize, d: usize) -> Result<Spectrum> {
    let covariance = Tensor::try_from_vec(scatter, [d, d])? * (1.0 / (n as f64 - 1.0));
    let linalg::Eigh { values, vectors } = linalg::eigh(&covariance)?;
    let count = d.min(n);
    let variances: Vec<f64> = values.to_f64_vec().into_iter().rev().take(count).map(|v| v.max(0.0)).collect();
    let vectors = vectors.to_f64_vec(); // (d, d), one vector per column, ascending
    let places = (0..d).rev().take(count).flat_map(|j| (0..d).map(move |i| i * d + j));
    let rows: Vec<f64> = places.map(|place| vectors[place]).collect();
    let whole = variances.iter().sum();
    Ok(Spectrum { variances, directions: upright(rows, d)?, whole })
}

/// Directions as rows of length d, turned so that the largest entry of each is positive.
pub(super) fn upright(mut rows: Vec<f64>, d: usize) -> Result<Tensor> {
    for row in rows.chunks_mut(d) {
        let largest = row.iter().fold(0.0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
        if largest < 0.0 {
            row.iter_mut().for_each(|x| *x = -*x);
        }
    }
    let k = rows.len() / d;
    Ok(Tensor::try_from_vec(rows, [k, d])?)
}

/// A x and Aᵀ x, for dense or sparse A in double precision.
fn product(a: &Rows, x: &Tensor) -> Result<Tensor> {
    match a {
        Rows::Dense(a) => Ok(a.try_matmul(x)?),
        Rows::Sparse(a) => a.dot(x),
    }
}

fn transposed_product(a: &Rows, x: &Tensor) -> Result<Tensor> {
    match a {
        Rows::Dense(a) => Ok(a.try_t()?.try_matmul(x)?),
        Rows::Sparse(a) => a.transposed_dot(x),
    }
}

/// The k largest singular values, descending, and their right vectors as rows, of a matrix in double precision, found in a random
/// subspace after so many rounds of products with A and Aᵀ (7 for few directions, else 4, if none are given).
pub(super) fn randomized(a: &Rows, k: usize, rounds: Option<usize>, seed: u64) -> Result<(Vec<f64>, Tensor)> {
    let (n, d) = (a.len(), a.width());
    let size = (k + OVERSAMPLES).min(n.min(d));
    let rounds = rounds.unwrap_or(if 10 * k < n.min(d) { 7 } else { 4 });
    let mut basis = product(a, &Key::new(seed).try_normal([d, size], DType::F64)?)?;
    for _ in 0..rounds {
        let across = linalg::qr(&transposed_product(a, &linalg::qr(&basis)?.q)?)?.q;
        basis = product(a, &across)?;
    }
    let basis = linalg::qr(&basis)?.q;
    let small = transposed_product(a, &basis)?.try_t()?.try_contiguous()?; // (size, d)
    let linalg::Svd { s, vt, .. } = linalg::svd(&small)?;
    let kept = k.min(size);
    Ok((s.to_f64_vec()[..kept].to_vec(), vt.try_narrow(0, 0, kept)?.try_contiguous()?))
}
