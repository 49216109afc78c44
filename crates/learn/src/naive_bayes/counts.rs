//! Sums of features by class, for the methods that count, and products of rows with tables of logarithms.

use tove_tensor::{DType, Tensor, TryOps};

use crate::{Algorithm, Result, Rows};

/// What the fit counts: sums in double precision.
#[derive(Clone, Debug)]
pub struct Counts {
    /// Sum of each feature in each class, (m, d).
    pub(super) features: Tensor,
    /// Sum of the weights of each class.
    pub(super) classes: Vec<f64>,
}

impl Counts {
    /// The (weighted) sums of the rows `x`, which have these class indices, for each of m classes.
    pub(super) fn of(x: &Rows, codes: &[usize], m: usize, weights: Option<&Tensor>) -> Result<Counts> {
        let weights = weights.map(Tensor::to_f64_vec);
        let mut shares = vec![0.0; codes.len() * m];
        for (row, &code) in codes.iter().enumerate() {
            shares[row * m + code] = weights.as_ref().map_or(1.0, |weights| weights[row]);
        }
        let shares = Tensor::try_from_vec(shares, [codes.len(), m])?; // (n, m)
        let classes = shares.try_sum_axes(&[0], false)?.to_f64_vec();
        let features = match x.to_dtype(DType::F64) {
            Rows::Dense(x) => shares.t().try_matmul(&x)?,
            Rows::Sparse(x) => x.transposed_dot(&shares)?.t().try_contiguous()?,
        };
        Ok(Counts { features, classes })
    }

    /// That every class has a sample.
    pub(super) fn require_all<A: Algorithm>(&self, classes: &[i64]) -> Result<()> {
        super::require_weight(A::NAME, classes, &self.classes)
    }

    /// Adds the sums of a batch.
    pub(super) fn add(&mut self, batch: &Counts) -> Result<()> {
        self.features = self.features.try_add(&batch.features)?;
        self.classes.iter_mut().zip(&batch.classes).for_each(|(sum, own)| *sum += own);
        Ok(())
    }

    /// Logarithms of the shares of the classes, or of equal shares.
    pub(super) fn log_prior(&self, fit_prior: bool) -> Vec<f64> {
        let total: f64 = self.classes.iter().sum();
        let equal = 1.0 / self.classes.len() as f64;
        self.classes.iter().map(|count| if fit_prior { (count / total).ln() } else { equal.ln() }).collect()
    }
}

/// x wᵀ + b for a table w (m, d) and a number b per class, in double precision: (n, m).
pub(super) fn scores(x: &Rows, w: &Tensor, b: &[f64]) -> Result<Tensor> {
    let w = w.to_dtype(DType::F64).t().try_contiguous()?;
    let products = match x.to_dtype(DType::F64) {
        Rows::Dense(x) => x.try_matmul(&w)?,
        Rows::Sparse(x) => x.dot(&w)?,
    };
    Ok(products.try_add(&Tensor::from_slice(b))?)
}
