//! Dense columns in double precision, centered where an intercept is fitted: what methods that look at single features start from.

use tove_tensor::linalg::Triangle;
use tove_tensor::{Tensor, TryLinalg};

use crate::{Result, Samples, memory};

/// Share of a column's square below which nothing new is left of it.
const DEPENDENT: f64 = 1e-14;

/// Features column by column, and targets.
pub(super) struct Centred {
    /// The columns (d, n).
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) y: Vec<f64>,
    mean_x: Vec<f64>,
    mean_y: f64,
}

impl Centred {
    pub(super) fn of(who: &'static str, samples: &Samples, centre: bool) -> Result<Centred> {
        let (n, d) = (samples.len(), samples.width());
        let what = format!("a copy of {n} x {d} features");
        memory::require(who, what, memory::matrix(n, 2 * d, 8), "choose features or rows first")?;
        let (values, mut y) = (samples.x().dense(who)?.to_f64_vec(), samples.single_target(who)?);
        let take = |column: usize| values.iter().skip(column).step_by(d).copied().collect::<Vec<f64>>();
        let mut columns: Vec<Vec<f64>> = (0..d).map(take).collect();
        let shift = |list: &mut Vec<f64>| {
            let mean = if centre { list.iter().sum::<f64>() / n as f64 } else { 0.0 };
            list.iter_mut().for_each(|value| *value -= mean);
            mean
        };
        let mean_x = columns.iter_mut().map(shift).collect();
        let mean_y = shift(&mut y);
        Ok(Centred { columns, y, mean_x, mean_y })
    }

    /// The intercept that belongs to coefficients of the centered columns.
    pub(super) fn intercept(&self, coefficients: &[f64]) -> f64 {
        self.mean_y - coefficients.iter().zip(&self.mean_x).map(|(w, mean)| w * mean).sum::<f64>()
    }

    /// y − X w.
    pub(super) fn residual(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut residual = self.y.clone();
        for (column, &w) in self.columns.iter().zip(coefficients).filter(|(_, w)| **w != 0.0) {
            residual.iter_mut().zip(column).for_each(|(rest, x)| *rest -= w * x);
        }
        residual
    }

    /// XᵀX of these columns.
    pub(super) fn gram(&self, places: &[usize]) -> Result<Tensor> {
        let m = places.len();
        let mut gram = vec![0.0; m * m];
        for (i, &a) in places.iter().enumerate() {
            for (j, &b) in places[..=i].iter().enumerate() {
                let product = dot(&self.columns[a], &self.columns[b]);
                (gram[i * m + j], gram[j * m + i]) = (product, product);
            }
        }
        Ok(Tensor::try_from_vec(gram, [m, m])?)
    }
}

impl Centred {
    /// u with XᵀX u = r for these columns; none if they depend on one another.
    pub(super) fn solve(&self, places: &[usize], right: Vec<f64>) -> Result<Option<Vec<f64>>> {
        let (m, gram) = (places.len(), self.gram(places)?);
        let Ok(factor) = gram.try_cholesky() else { return Ok(None) };
        let (full, own) = (gram.to_f64_vec(), factor.to_f64_vec());
        // What is left of a column beside those before it.
        if m == 0 || (0..m).any(|i| own[i * m + i].powi(2) <= DEPENDENT * full[i * m + i]) {
            return Ok(None);
        }
        let right = Tensor::try_from_vec(right, [m, 1])?;
        let half = factor.try_triangular_solve(&right, Triangle::LOWER)?;
        Ok(Some(factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.to_f64_vec()))
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
