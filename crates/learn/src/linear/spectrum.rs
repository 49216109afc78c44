//! The centered matrix √W X = U S Vᵀ by one symmetric eigendecomposition, which gives the solution for every ridge
//! penalty: w(α) = V diag(1/(λ + α)) VᵀXᵀy with λ = s².
//!
//! Computed from XᵀX for more samples than features, otherwise from XXᵀ.

use tove_tensor::linalg::eigh;
use tove_tensor::{Tensor, TryOps};

use super::moments::{Data, Moments};
use super::solve::Centered;
use crate::{LearnError, Result};

/// Eigenvalues and eigenvectors.
pub(super) struct Spectrum {
    /// Eigenvalues λ > 0 above the rounding level (k).
    pub(super) values: Vec<f64>,
    /// Right singular vectors V (d, k).
    pub(super) vectors: Tensor,
    /// Vᵀ Xᵀ Y (k, m).
    pub(super) cross: Tensor,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: Vec<f64>,
    pub(super) weight: f64,
    /// Σ w y² of the centered targets (m).
    pub(super) squares: Vec<f64>,
}

impl Spectrum {
    pub(super) fn of(data: &Data, centered: bool) -> Result<Spectrum> {
        if data.len() > data.width() { Spectrum::tall(data, centered) } else { Spectrum::wide(data, centered) }
    }

    fn tall(data: &Data, centered: bool) -> Result<Spectrum> {
        let moments = Moments::of(data, centered)?;
        let (d, m) = (moments.width, moments.outputs);
        let parts = eigh(&moments.gram_tensor()?)?;
        let values = parts.values.to_f64_vec();
        let skip = negligible(&values, d);
        let vectors = parts.vectors.try_narrow(1, skip, d - skip)?.try_contiguous()?;
        let cross = vectors.try_t()?.try_matmul(&Tensor::try_from_vec(moments.cross, [d, m])?)?;
        Ok(Spectrum {
            values: values[skip..].to_vec(),
            vectors,
            cross,
            mean_x: moments.mean_x,
            mean_y: moments.mean_y,
            weight: moments.weight,
            squares: moments.squares,
        })
    }

    fn wide(data: &Data, centered: bool) -> Result<Spectrum> {
        let (n, m) = (data.len(), data.outputs);
        let Centered { x, y, mean_x, mean_y } = Centered::of(data, centered)?;
        let parts = eigh(&x.try_matmul(&x.try_t()?)?)?;
        let values = parts.values.to_f64_vec();
        let skip = negligible(&values, n);
        let values = values[skip..].to_vec();
        let left = parts.vectors.try_narrow(1, skip, n - skip)?.try_contiguous()?; // (n, k)
        let roots: Vec<f64> = values.iter().map(|value| value.sqrt()).collect();
        let inverse: Vec<f64> = roots.iter().map(|root| root.recip()).collect();
        let vectors = x.try_t()?.try_matmul(&left)?.try_mul(&Tensor::from_slice(&inverse))?;
        let cross = left.try_t()?.try_matmul(&y)?.try_mul(&Tensor::try_from_vec(roots, [values.len(), 1])?)?;
        let mut squares = vec![0.0; m];
        y.to_f64_vec().iter().enumerate().for_each(|(index, y)| squares[index % m] += y * y);
        Ok(Spectrum { values, vectors, cross, mean_x, mean_y, weight: data.total_weight(), squares })
    }

    /// Whether the smallest eigenvalue is accurate to ten digits.
    pub(super) fn is_sharp(&self, data: &Data) -> bool {
        let (smallest, largest) = (self.values.first().copied(), self.values.last().copied());
        data.len() <= data.width()
            || (self.values.len() == data.width() && smallest > largest.map(|largest| 1e-6 * largest))
    }

    pub(super) fn outputs(&self) -> usize {
        self.squares.len()
    }

    /// Coefficients (d, m) for the penalty α. Directions above the rounding level are divided by λ + α, all others are
    /// zero.
    pub(super) fn coefficients(&self, alpha: f64) -> Result<Vec<f64>> {
        let filter: Vec<f64> = self.values.iter().map(|value| 1.0 / (value + alpha)).collect();
        let k = filter.len();
        let inner = self.cross.try_mul(&Tensor::try_from_vec(filter, [k, 1])?)?;
        Ok(self.vectors.try_matmul(&inner)?.to_f64_vec())
    }

    /// ȳ − x̄ᵀ w of each output.
    pub(super) fn intercepts(&self, coefficients: &[f64]) -> Vec<f64> {
        let m = self.outputs();
        let mut intercepts = self.mean_y.clone();
        for (j, mean) in self.mean_x.iter().enumerate() {
            intercepts.iter_mut().enumerate().for_each(|(k, b)| *b -= mean * coefficients[j * m + k]);
        }
        intercepts
    }
}

/// Number of ascending eigenvalues that are rounding errors of a matrix of this size.
fn negligible(values: &[f64], size: usize) -> usize {
    let limit = values.last().copied().unwrap_or(0.0).max(0.0) * f64::EPSILON * size as f64;
    values.iter().take_while(|&&value| value <= limit).count()
}

/// Checks that penalties are non-negative and finite.
pub(super) fn check_alphas(who: &'static str, alphas: &[f64]) -> Result<()> {
    match alphas.iter().find(|&&alpha| !alpha.is_finite() || alpha < 0.0) {
        Some(alpha) => Err(LearnError::parameter(who, format!("alpha {alpha}; give finite non-negative numbers"))),
        None if alphas.is_empty() => Err(LearnError::parameter(who, "no alphas; give at least one")),
        None => Ok(()),
    }
}
