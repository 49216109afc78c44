//! Expectation and maximization (Dempster, Laird, Rubin 1977), in blocks of rows.
//!
//! Densities are computed from differences to the means, in logarithms, and are summed by log-sum-exp. Blocks are cut by shape and
//! summed in order, so that results do not depend on the number of threads.

use tove_tensor::{Tensor, TryOps};

use super::covariance::{CovarianceType, Factors, Parameters};
use crate::Result;
use crate::distance::squared;
use crate::selection::in_parallel;

/// Rows of a block.
const BLOCK: usize = 1024;
/// Shares below this part of the mean share do not count for covariance matrices. What they would add is below rounding, since variances
/// below 1e-28 times the squared size of the rows are refused.
pub(super) const NEGLIGIBLE: f64 = 1e-60;

/// Rows in double precision.
pub(super) struct Rows<'a> {
    pub(super) x: &'a [f64], // (n, d)
    pub(super) d: usize,
}

/// Log-likelihoods of rows, and the share of each component in them.
pub(super) struct Expectation {
    /// ln p(x), (n).
    pub(super) log_likelihood: Vec<f64>,
    /// (n, k); logarithms if they were asked for.
    pub(super) shares: Vec<f64>,
}

impl Rows<'_> {
    pub(super) fn len(&self) -> usize {
        self.x.len() / self.d
    }

    fn block(&self, part: usize) -> &[f64] {
        let end = ((part + 1) * BLOCK * self.d).min(self.x.len());
        &self.x[part * BLOCK * self.d..end]
    }

    /// ln π + ln N(x | μ, Σ) of each row and component, for a block.
    fn joint(&self, block: &[f64], parameters: &Parameters, factors: &Factors) -> Result<Vec<f64>> {
        let (d, k) = (self.d, parameters.count());
        let rows = block.len() / d;
        let mut joint = vec![0.0; rows * k];
        let constant = d as f64 * std::f64::consts::TAU.ln();
        for (j, mean) in parameters.means.chunks_exact(d).enumerate() {
            let offset = parameters.weights[j].ln() + factors.log_roots[j] - 0.5 * constant;
            match parameters.kind {
                CovarianceType::Full | CovarianceType::Tied => {
                    let gaps: Vec<f64> =
                        block.chunks_exact(d).flat_map(|row| row.iter().zip(mean).map(|(x, mean)| x - mean)).collect();
                    let root = factors.roots.get(j).unwrap_or(&factors.roots[0]);
                    let turned = Tensor::try_from_vec(gaps, [rows, d])?.try_matmul(root)?.try_contiguous()?;
                    for (row, turned) in turned.as_slice::<f64>()?.chunks_exact(d).enumerate() {
                        joint[row * k + j] = offset - 0.5 * crate::distance::square_norm(turned);
                    }
                }
                CovarianceType::Diag => {
                    let inverses = &factors.inverses[j * d..(j + 1) * d];
                    for (row, x) in block.chunks_exact(d).enumerate() {
                        let terms = x.iter().zip(mean).zip(inverses).map(|((x, mean), inverse)| (x - mean) * inverse);
                        joint[row * k + j] = offset - 0.5 * terms.map(|term| term * term).sum::<f64>();
                    }
                }
                CovarianceType::Spherical => {
                    let inverse = factors.inverses[j];
                    for (row, x) in block.chunks_exact(d).enumerate() {
                        joint[row * k + j] = offset - 0.5 * squared(x, mean) * inverse * inverse;
                    }
                }
            }
        }
        Ok(joint)
    }

    /// Log-likelihoods and shares; the latter as logarithms where `logarithms` says so.
    pub(super) fn expect(&self, parameters: &Parameters, factors: &Factors, logarithms: bool) -> Result<Expectation> {
        let k = parameters.count();
        let blocks = in_parallel(self.len().div_ceil(BLOCK), |part| -> Result<(Vec<f64>, Vec<f64>)> {
            let mut shares = self.joint(self.block(part), parameters, factors)?;
            let mut sums = Vec::with_capacity(shares.len() / k);
            for row in shares.chunks_exact_mut(k) {
                let most = row.iter().fold(f64::NEG_INFINITY, |most, log| most.max(*log));
                let sum = if most == f64::NEG_INFINITY {
                    most
                } else {
                    most + row.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
                };
                for log in row.iter_mut() {
                    *log = if logarithms { *log - sum } else { (*log - sum).exp() };
                }
                sums.push(sum);
            }
            Ok((sums, shares))
        });
        let (mut log_likelihood, mut shares) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len() * k));
        for block in blocks {
            let (own_sums, own_shares) = block?;
            log_likelihood.extend(own_sums);
            shares.extend(own_shares);
        }
        Ok(Expectation { log_likelihood, shares })
    }

    /// Sums over blocks, added in order.
    fn sum(&self, size: usize, add: impl Fn(usize, &[f64], &mut [f64]) -> Result<()> + Sync) -> Result<Vec<f64>> {
        let blocks = self.len().div_ceil(BLOCK);
        // A few sums only, since each may be large.
        let parts = blocks.clamp(1, 16);
        let per = blocks.div_ceil(parts);
        let sums = in_parallel(parts, |part| -> Result<Vec<f64>> {
            let mut sum = vec![0.0; size];
            for block in part * per..((part + 1) * per).min(blocks) {
                add(block * BLOCK, self.block(block), &mut sum)?;
            }
            Ok(sum)
        });
        let mut total = vec![0.0; size];
        for sum in sums {
            total.iter_mut().zip(sum?).for_each(|(total, own)| *total += own);
        }
        Ok(total)
    }

    /// Weights, means and covariances from shares (n, k); `floor` is added to variances.
    pub(super) fn maximize(&self, shares: &[f64], kind: CovarianceType, floor: f64) -> Result<Parameters> {
        let d = self.d;
        let sums = self.share_sums(shares)?;
        let k = sums.len() / (d + 1);
        // As scikit-learn: a component without samples stays where division leads to.
        let counts: Vec<f64> = sums[..k].iter().map(|count| count + 10.0 * f64::EPSILON).collect();
        let means: Vec<f64> = sums[k..].iter().enumerate().map(|(place, sum)| sum / counts[place / d]).collect();
        let least: Vec<f64> = counts.iter().map(|count| NEGLIGIBLE * count / self.len() as f64).collect();
        let scatter = self.scatter(shares, &means, &least, kind)?;
        Ok(Parameters::from_sums(&counts, means, scatter, (kind, d), floor))
    }

    /// Σ share of each component (k), then Σ share x (k, d).
    pub(super) fn share_sums(&self, shares: &[f64]) -> Result<Vec<f64>> {
        let (n, d) = (self.len(), self.d);
        let k = shares.len() / n;
        self.sum(k * (d + 1), |first, block, sum| {
            let rows = block.len() / d;
            let own = &shares[first * k..(first + rows) * k];
            let (counts, means) = sum.split_at_mut(k);
            for row in own.chunks_exact(k) {
                counts.iter_mut().zip(row).for_each(|(count, share)| *count += share);
            }
            let turned = Tensor::from_slice(own).try_reshape([rows, k])?.try_t()?;
            let products = turned.try_matmul(&Tensor::from_slice(block).try_reshape([rows, d])?)?.try_contiguous()?;
            means.iter_mut().zip(products.as_slice::<f64>()?).for_each(|(sum, own)| *sum += own);
            Ok(())
        })
    }

    /// Σ share (x − μ)(x − μ)ᵀ, or what the kind keeps of it. Matrices leave out rows whose share is not above `least`.
    pub(super) fn scatter(
        &self,
        shares: &[f64],
        means: &[f64],
        least: &[f64],
        kind: CovarianceType,
    ) -> Result<Vec<f64>> {
        let (d, k) = (self.d, means.len() / self.d);
        let size = kind.shape(k, d).iter().product();
        self.sum(size, |first, block, sum| {
            for (j, mean) in means.chunks_exact(d).enumerate() {
                let share = |row: usize| shares[(first + row) * k + j];
                match kind {
                    CovarianceType::Full | CovarianceType::Tied => {
                        let mut gaps = Vec::with_capacity(block.len() / k);
                        for (row, x) in block.chunks_exact(d).enumerate().filter(|(row, _)| share(*row) > least[j]) {
                            let root = share(row).sqrt();
                            gaps.extend(x.iter().zip(mean).map(|(x, mean)| (x - mean) * root));
                        }
                        if gaps.is_empty() {
                            continue;
                        }
                        let own = gaps.len() / d;
                        let gaps = Tensor::try_from_vec(gaps, [own, d])?;
                        let products = gaps.try_t()?.try_matmul(&gaps)?.try_contiguous()?;
                        let place = if kind == CovarianceType::Full { j * d * d } else { 0 };
                        let own = &mut sum[place..place + d * d];
                        own.iter_mut().zip(products.as_slice::<f64>()?).for_each(|(sum, own)| *sum += own);
                    }
                    CovarianceType::Diag => {
                        let own = &mut sum[j * d..(j + 1) * d];
                        for (row, x) in block.chunks_exact(d).enumerate() {
                            let share = share(row);
                            for ((sum, x), mean) in own.iter_mut().zip(x).zip(mean) {
                                *sum += share * (x - mean) * (x - mean);
                            }
                        }
                    }
                    CovarianceType::Spherical => {
                        let rows = block.chunks_exact(d).enumerate();
                        sum[j] += rows.map(|(row, x)| share(row) * squared(x, mean)).sum::<f64>();
                    }
                }
            }
            Ok(())
        })
    }
}

impl Parameters {
    /// Weights, means and covariances from Σ share (k), means, and Σ share (x − μ)(x − μ)ᵀ; `floor` is added to variances.
    pub(super) fn from_sums(
        counts: &[f64],
        means: Vec<f64>,
        scatter: Vec<f64>,
        (kind, d): (CovarianceType, usize),
        floor: f64,
    ) -> Parameters {
        let (mut covariances, total) = (scatter, counts.iter().sum::<f64>());
        let per_component = covariances.len() / counts.len().max(1);
        for (place, sum) in covariances.iter_mut().enumerate() {
            *sum /= match kind {
                CovarianceType::Full | CovarianceType::Diag => counts[place / per_component],
                CovarianceType::Tied => total,
                CovarianceType::Spherical => counts[place] * d as f64,
            };
        }
        match kind {
            CovarianceType::Full | CovarianceType::Tied => {
                for matrix in covariances.chunks_exact_mut(d * d) {
                    (0..d).for_each(|i| matrix[i * d + i] += floor);
                }
            }
            _ => covariances.iter_mut().for_each(|variance| *variance += floor),
        }
        let weights = counts.iter().map(|count| count / total).collect();
        Parameters { kind, d, weights, means, covariances }
    }

    /// Moves all means by the same vector, times `sign`.
    pub(super) fn shift(&mut self, by: &[f64], sign: f64) {
        for center in self.means.chunks_exact_mut(self.d) {
            center.iter_mut().zip(by).for_each(|(x, by)| *x += sign * by);
        }
    }
}
