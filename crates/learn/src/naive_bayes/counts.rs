//! Sums of features by class, for the methods that count, and products of rows with tables of logarithms.

use tove_tensor::{DType, Tensor, TryOps};

use crate::{Labels, LearnError, Result, Rows, Samples};

/// What the fit counts: sums in double precision.
pub(super) struct Counts {
    /// Sum of each feature in each class, (m, d).
    pub features: Tensor,
    /// Sum of the weights of each class.
    pub classes: Vec<f64>,
}

impl Counts {
    /// The (weighted) sums of the rows `x` of each class.
    pub fn of(who: &'static str, x: &Rows, labels: &Labels, samples: &Samples) -> Result<Counts> {
        let mut shares = labels.one_hot(DType::F64); // (n, m)
        if let Some(weights) = samples.weights() {
            shares = shares.try_mul(&weights.to_dtype(DType::F64).try_reshape([samples.len(), 1])?)?;
        }
        let classes = shares.try_sum_axes(&[0], false)?.to_f64_vec();
        if let Some(class) = classes.iter().position(|&total| total <= 0.0) {
            let problem = format!("all samples of class {} have weight 0", labels.classes()[class]);
            return Err(LearnError::data(who, problem, "give one of them a weight, or leave the class out"));
        }
        let features = match x.to_dtype(DType::F64) {
            Rows::Dense(x) => shares.t().try_matmul(&x)?,
            Rows::Sparse(x) => x.transposed_dot(&shares)?.t().try_contiguous()?,
        };
        Ok(Counts { features, classes })
    }

    /// Logarithms of the shares of the classes, or of equal shares.
    pub fn log_prior(&self, fit_prior: bool) -> Vec<f64> {
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
