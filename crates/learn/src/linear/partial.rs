//! Exact least squares and ridge regression on batches, in one pass.
//!
//! The normal equations only need Σw, the means and the centered sums of products: d² + d m numbers for any number of
//! rows. Those of two batches a and b are merged by
//!
//! G = G_a + G_b + (n_a n_b / n) δ δᵀ, with δ = x̄_b − x̄_a and n = n_a + n_b (Chan, Golub and LeVeque 1983),
//!
//! so a file of any length takes one pass and the memory of one batch. Solved by Cholesky factorization if the
//! condition number allows, otherwise by the eigenvectors of the scaled Gram matrix. The second pass that in-memory
//! fits make for ill-conditioned columns is not possible here, so directions below 10⁻⁶ of the largest are treated as
//! zero (without a penalty).
//!
//! ```
//! use tove_learn::{Fit, Learner, PartialFit, Samples, linear::Ridge};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0], [2.0], [4.0], [7.0]]), Tensor::from([1.0, 3.0, 2.0, 6.0]));
//! let mut learner = Ridge::default().learner(&[])?;
//! learner.learn(&Samples::new(&Tensor::from([[1.0], [2.0]]), &Tensor::from([1.0, 3.0]))?)?;
//! learner.learn(&Samples::new(&Tensor::from([[4.0], [7.0]]), &Tensor::from([2.0, 6.0]))?)?;
//! let (incremental, full) = (learner.model()?, Ridge::default().fit(&x, &y)?);
//! assert!((incremental.coef().at::<f64>(&[0]) - full.coef().at::<f64>(&[0])).abs() < 1e-14);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::Named;
use tove_tensor::DType;

use super::least_squares::{FittedLinearRegression, LinearRegression};
use super::model::FittedLinear;
use super::moments::{Data, Moments};
use super::ridge::{FittedRidge, Ridge, RidgeSolver};
use super::solve::{Problem, Solution};
use crate::{Algorithm, LearnError, Learner, PartialFit, Result, Samples, Summary};

/// Above this number of features the sums of products would take more than two gigabytes.
const MAX_FEATURES: usize = 16_384;

/// The state of an incremental linear regression: sums over the samples seen so far.
#[derive(Clone, Debug)]
pub struct PartialLinear<E> {
    settings: E,
    centered: bool,
    seen: Option<(Moments, Shape)>,
}

/// Shape and type of the resulting model.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    several: bool,
    dtype: DType,
    rows: usize,
}

impl<E: Algorithm> PartialLinear<E> {
    fn new(settings: &E, centered: bool) -> Result<PartialLinear<E>> {
        settings.validate()?;
        Ok(PartialLinear { settings: settings.clone(), centered, seen: None })
    }

    fn add(&mut self, samples: &Samples) -> Result<()> {
        let width = samples.width();
        if width > MAX_FEATURES {
            let problem = format!("{width} features; sums of their products do not fit in memory");
            return Err(LearnError::parameter(E::NAME, format!("{problem}; use the SGD estimators")));
        }
        samples.require_rows(E::NAME)?;
        if samples.has_zero_weight() {
            return Ok(()); // the batch adds nothing to the sums
        }
        let batch = Moments::of(&Data::several(samples)?, self.centered)?;
        match &mut self.seen {
            Some((moments, shape)) => {
                samples.x().check_width(E::NAME, moments.width)?;
                if batch.outputs != moments.outputs {
                    let problem = format!("{} outputs after batches with {}", batch.outputs, moments.outputs);
                    return Err(LearnError::parameter(E::NAME, problem));
                }
                shape.rows += samples.len();
                moments.merge(&batch, self.centered);
            }
            None => {
                let (several, dtype) = (samples.y()?.rank() == 2, samples.x().dtype());
                self.seen = Some((batch, Shape { several, dtype, rows: samples.len() }));
            }
        }
        Ok(())
    }

    fn solve(&self, alpha: f64, tol: Option<f64>) -> Result<(Solution, Shape)> {
        let Some((moments, shape)) = &self.seen else {
            let fix = "give at least one batch of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        };
        let problem = Problem { alpha, centered: self.centered, tol, covariance: false };
        Ok((problem.solve_moments(moments)?, *shape))
    }
}

impl Moments {
    /// Merges the moments of further samples.
    pub(super) fn merge(&mut self, other: &Moments, centered: bool) {
        let (d, m) = (self.width, self.outputs);
        let total = self.weight + other.weight;
        // Sums that are not centered simply add up; their means stay zero.
        let factor = if centered { self.weight * other.weight / total } else { 0.0 };
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<f64>>();
        let (delta_x, delta_y) = (difference(&self.mean_x, &other.mean_x), difference(&self.mean_y, &other.mean_y));
        for i in 0..d {
            let scaled = factor * delta_x[i];
            let row = self.gram[i * d..(i + 1) * d].iter_mut().zip(&other.gram[i * d..(i + 1) * d]);
            row.zip(&delta_x).for_each(|((sum, more), delta)| *sum += more + scaled * delta);
            let row = self.cross[i * m..(i + 1) * m].iter_mut().zip(&other.cross[i * m..(i + 1) * m]);
            row.zip(&delta_y).for_each(|((sum, more), delta)| *sum += more + scaled * delta);
        }
        for ((sum, more), delta) in self.squares.iter_mut().zip(&other.squares).zip(&delta_y) {
            *sum += more + factor * delta * delta;
        }
        let fraction = other.weight / total;
        self.mean_x.iter_mut().zip(&delta_x).for_each(|(mean, delta)| *mean += fraction * delta);
        self.mean_y.iter_mut().zip(&delta_y).for_each(|(mean, delta)| *mean += fraction * delta);
        self.weight = total;
    }
}

impl PartialFit for Ridge {
    type Learner = PartialLinear<Ridge>;

    fn learner(&self, _classes: &[i64]) -> Result<PartialLinear<Ridge>> {
        if matches!(self.solver, RidgeSolver::Svd | RidgeSolver::Lsqr) {
            let fix = "leave `solver` at auto, or fit to all samples at once";
            return Err(LearnError::unsupported(Self::NAME, "does not support this solver with `partial_fit`", fix));
        }
        PartialLinear::new(self, self.fit_intercept)
    }
}

impl Learner for PartialLinear<Ridge> {
    type Fitted = FittedRidge;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        self.add(samples)
    }

    fn model(&self) -> Result<FittedRidge> {
        let (solution, shape) = self.solve(self.settings.alpha, None)?;
        FittedLinear::of_shape(&self.settings, &solution, (shape.several, shape.dtype), Summary::exact(), ())
    }
}

impl PartialFit for LinearRegression {
    type Learner = PartialLinear<LinearRegression>;

    fn learner(&self, _classes: &[i64]) -> Result<PartialLinear<LinearRegression>> {
        if self.positive {
            let fix = "turn `positive` off, or fit to all samples at once";
            return Err(LearnError::unsupported(Self::NAME, "does not support `positive` with `partial_fit`", fix));
        }
        PartialLinear::new(self, self.fit_intercept)
    }
}

impl Learner for PartialLinear<LinearRegression> {
    type Fitted = FittedLinearRegression;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        self.add(samples)
    }

    fn model(&self) -> Result<FittedLinearRegression> {
        let (solution, shape) = self.solve(0.0, self.settings.tol)?;
        self.settings.fitted(&solution, (shape.several, shape.dtype), shape.rows, Summary::exact())
    }
}
