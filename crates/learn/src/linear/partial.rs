//! Least squares and ridge regression over data that come in pieces: exact, in one pass.
//!
//! All that the normal equations need of the samples are Σw, the means and the centred sums of products, d² + d m numbers
//! whatever the number of rows. Those of two pieces a and b join by
//!
//! G = G_a + G_b + (n_a n_b / n) δ δᵀ, with δ = x̄_b − x̄_a and n = n_a + n_b (Chan, Golub and LeVeque 1983),
//!
//! so that a file of any length is one pass in the memory of a piece. Solved by Cholesky's factor where its condition allows,
//! otherwise by the eigenvectors of the scaled Gram matrix: the second pass that fits in memory make for ill-conditioned
//! columns is not to be had, so directions below 10⁻⁶ of the largest count as absent (without a penalty).
//!
//! ```
//! use tove_learn::{Fit, Learner, PartialFit, Samples, linear::Ridge};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0], [2.0], [4.0], [7.0]]), Tensor::from([1.0, 3.0, 2.0, 6.0]));
//! let mut learner = Ridge::default().learner(&[])?;
//! learner.learn(&Samples::new(&Tensor::from([[1.0], [2.0]]), &Tensor::from([1.0, 3.0]))?)?;
//! learner.learn(&Samples::new(&Tensor::from([[4.0], [7.0]]), &Tensor::from([2.0, 6.0]))?)?;
//! let (pieces, whole) = (learner.model()?, Ridge::default().fit(&x, &y)?);
//! assert!((pieces.coef().at::<f64>(&[0]) - whole.coef().at::<f64>(&[0])).abs() < 1e-14);
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

/// Features beyond which the sums of products would take more than two gigabytes.
const MOST_FEATURES: usize = 16_384;

/// A linear regression under way: the sums of what it has seen.
#[derive(Clone, Debug)]
pub struct PartialLinear<E> {
    settings: E,
    centred: bool,
    seen: Option<(Moments, Shape)>,
}

/// What the model must look like.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    several: bool,
    dtype: DType,
    rows: usize,
}

impl<E: Algorithm> PartialLinear<E> {
    fn new(settings: &E, centred: bool) -> Result<PartialLinear<E>> {
        settings.validate()?;
        Ok(PartialLinear { settings: settings.clone(), centred, seen: None })
    }

    fn add(&mut self, samples: &Samples) -> Result<()> {
        let width = samples.width();
        if width > MOST_FEATURES {
            let problem = format!("{width} features; sums of their products do not fit in memory");
            return Err(LearnError::parameter(E::NAME, format!("{problem}; use the SGD estimators")));
        }
        samples.require_rows(E::NAME)?;
        if samples.weighs_nothing() {
            return Ok(()); // the piece adds nothing to the sums
        }
        let piece = Moments::of(&Data::several(samples)?, self.centred)?;
        match &mut self.seen {
            Some((moments, shape)) => {
                samples.x().check_width(E::NAME, moments.width)?;
                if piece.outputs != moments.outputs {
                    let problem = format!("{} outputs after pieces with {}", piece.outputs, moments.outputs);
                    return Err(LearnError::parameter(E::NAME, problem));
                }
                shape.rows += samples.len();
                moments.merge(&piece, self.centred);
            }
            None => {
                let (several, dtype) = (samples.y()?.rank() == 2, samples.x().dtype());
                self.seen = Some((piece, Shape { several, dtype, rows: samples.len() }));
            }
        }
        Ok(())
    }

    fn solve(&self, alpha: f64, tol: Option<f64>) -> Result<(Solution, Shape)> {
        let Some((moments, shape)) = &self.seen else {
            let fix = "give at least one piece of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        };
        let problem = Problem { alpha, centred: self.centred, tol, covariance: false };
        Ok((problem.solve_moments(moments)?, *shape))
    }
}

impl Moments {
    /// Takes the moments of further samples into account.
    fn merge(&mut self, other: &Moments, centred: bool) {
        let (d, m) = (self.width, self.outputs);
        let total = self.weight + other.weight;
        // Sums that are not centred simply add up: their means are kept at zero.
        let factor = if centred { self.weight * other.weight / total } else { 0.0 };
        let gap = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<f64>>();
        let (gap_x, gap_y) = (gap(&self.mean_x, &other.mean_x), gap(&self.mean_y, &other.mean_y));
        for i in 0..d {
            let scaled = factor * gap_x[i];
            let row = self.gram[i * d..(i + 1) * d].iter_mut().zip(&other.gram[i * d..(i + 1) * d]);
            row.zip(&gap_x).for_each(|((sum, more), gap)| *sum += more + scaled * gap);
            let row = self.cross[i * m..(i + 1) * m].iter_mut().zip(&other.cross[i * m..(i + 1) * m]);
            row.zip(&gap_y).for_each(|((sum, more), gap)| *sum += more + scaled * gap);
        }
        for ((sum, more), gap) in self.squares.iter_mut().zip(&other.squares).zip(&gap_y) {
            *sum += more + factor * gap * gap;
        }
        let share = other.weight / total;
        self.mean_x.iter_mut().zip(&gap_x).for_each(|(mean, gap)| *mean += share * gap);
        self.mean_y.iter_mut().zip(&gap_y).for_each(|(mean, gap)| *mean += share * gap);
        self.weight = total;
    }
}

impl PartialFit for Ridge {
    type Learner = PartialLinear<Ridge>;

    fn learner(&self, _classes: &[i64]) -> Result<PartialLinear<Ridge>> {
        if matches!(self.solver, RidgeSolver::Svd | RidgeSolver::Lsqr) {
            let fix = "leave `solver` at auto, or fit to all samples at once";
            return Err(LearnError::unsupported(Self::NAME, "cannot use this solver on data in pieces", fix));
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
            return Err(LearnError::unsupported(Self::NAME, "cannot keep signs on data in pieces", fix));
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
