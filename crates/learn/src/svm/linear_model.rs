//! What fitted linear machines have in common: weights, intercepts, and how they are stored.

use tove_tensor::{DType, Tensor, TryOps};

use crate::{Record, Result, Rows};

/// f(x) = Wx + b.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) coef: Tensor,      // (k, d)
    pub(super) intercept: Tensor, // (k)
}

impl Linear {
    /// From the weights of each output, of which the last belongs to a constant feature of this value.
    pub(super) fn new(outputs: &[Vec<f64>], constant: f64, dtype: DType) -> Result<Linear> {
        let d = outputs.first().map_or(0, |w| w.len() - 1);
        let coef: Vec<f64> = outputs.iter().flat_map(|w| w[..d].iter().copied()).collect();
        let intercept: Vec<f64> = outputs.iter().map(|w| w[d] * constant).collect();
        let coef = Tensor::try_from_vec(coef, [outputs.len(), d])?.to_dtype(dtype);
        Ok(Linear { coef, intercept: Tensor::from_slice(&intercept).to_dtype(dtype) })
    }

    /// f at rows (n, d): (n, k).
    pub(super) fn at(&self, x: &Rows) -> Result<Tensor> {
        let transposed = self.coef.try_swap_axes(0, 1)?;
        let products = match x {
            Rows::Dense(x) => x.try_matmul(&transposed)?,
            Rows::Sparse(x) => x.dot(&transposed.try_contiguous()?)?,
        };
        Ok(products.try_add(&self.intercept)?)
    }

    pub(super) fn write(&self, record: &mut Record) {
        record.put_tensor("coef", &self.coef);
        record.put_tensor("intercept", &self.intercept);
    }

    /// Reads what [`Linear::write`] wrote, with this number of outputs.
    pub(super) fn read(record: &Record, outputs: usize) -> Result<Linear> {
        let coef = record.tensor("coef")?.clone();
        let intercept = record.shaped("intercept", &[outputs])?.clone();
        let fits = coef.rank() == 2 && coef.dims()[0] == outputs && coef.dtype().is_float();
        if !fits || intercept.dtype() != coef.dtype() {
            return Err(record.wrong("coef", "a matrix with a row per output"));
        }
        Ok(Linear { coef, intercept })
    }
}
