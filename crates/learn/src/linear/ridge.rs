//! Ridge regression: w* = (XᵀX + αI)⁻¹ Xᵀy minimizes ½‖y − Xw‖² + (α/2)‖w‖². It exists for any rank of X.
//!
//! `alpha` is relative to the sum of squares, not the mean; [`Scaling::alpha`](super::Scaling::alpha) converts. The
//! intercept is not penalized. Solved by Cholesky factorization of the Gram matrix (with a second pass if that would
//! lose accuracy; for a few hundred columns and more, with a single-precision factor and refinement in double
//! precision, `mixed_precision.rs`), by singular values for more features than samples, or by LSQR for wide sparse
//! rows. [`Ridge::path`] solves for many penalties with one eigendecomposition.
//!
//! ```
//! use tove_learn::{Fit, linear::Ridge};
//! use tove_tensor::Tensor;
//! // Two equal columns: least squares has no unique solution, ridge shares the weight.
//! let (x, y) = (Tensor::from([[1.0, 1.0], [2.0, 2.0]]), Tensor::from([1.0, 2.0]));
//! let model = Ridge::default().alpha(1.0).fit_intercept(false).fit(&x, &y)?;
//! assert!(model.coef().to_vec::<f64>().iter().all(|w| (w - 5.0 / 11.0).abs() < 1e-12));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};

use super::alphas::Alphas;
use super::fold_moments::LinearMoments;
use super::lsqr::lsqr;
use super::mixed_precision;
use super::model::FittedLinear;
use super::moments::{Data, Moments};
use super::positive::positive;
use super::solve::{Problem, Solution, prefers_iterations};
use crate::{Algorithm, Capabilities, LearnError, Result, Samples, Summary};

/// The solver of a [`Ridge`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum RidgeSolver {
    /// The normal equations, or LSQR for sparse rows with many columns.
    #[default]
    Auto,
    /// The normal equations (XᵀX + αI) w = Xᵀy.
    Cholesky,
    /// Singular value decomposition of a centered copy of X.
    Svd,
    /// Iterative solver that only needs products with X.
    Lsqr,
}

/// Linear regression with an l2 penalty α‖w‖², for one or multiple outputs.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Ridge {
    /// Regularization strength, relative to the sum of squared errors.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// The solver.
    #[hyper(default = RidgeSolver::Auto)]
    pub solver: RidgeSolver,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
    /// One regularization strength per target, instead of `alpha`.
    #[hyper(default = None, range = "[0, inf)")]
    pub alpha_per_target: Option<Alphas>,
}

/// A fitted [`Ridge`].
pub type FittedRidge = FittedLinear<Ridge>;

impl Algorithm for Ridge {
    type Fitted = FittedRidge;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        multi_output: true,
        checks_finite: true,
        partial_fit: true,
        moments: true,
        ..Capabilities::REGRESSOR
    };

    fn capabilities_of(settings: &Ridge) -> Capabilities {
        // Merged moments require the normal equations.
        let merges = matches!(settings.solver, RidgeSolver::Auto | RidgeSolver::Cholesky);
        let plain = !settings.positive && settings.alpha_per_target.is_none();
        Capabilities { partial_fit: merges && plain, moments: merges && plain, ..Self::CAPABILITIES }
    }

    fn train_moments(&self, moments: &LinearMoments) -> Result<Option<FittedRidge>> {
        let problem = Problem { alpha: self.alpha, centered: self.fit_intercept, tol: None, covariance: false };
        let Some(solution) = problem.solve_clear(&moments.centered(self.fit_intercept))? else { return Ok(None) };
        FittedLinear::of_shape(self, &solution, moments.shape, Summary::exact(), ()).map(Some)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedRidge> {
        let data = Data::several(samples)?;
        let (solution, summary) = match &self.alpha_per_target {
            None => self.solve(&data, self.alpha)?,
            Some(alphas) => self.solve_each(&data, alphas)?,
        };
        FittedLinear::new(self, samples, &solution, summary, ())
    }
}

impl Ridge {
    pub(super) fn solve(&self, data: &Data, alpha: f64) -> Result<(Solution, Summary)> {
        if self.positive {
            return self.solve_positive(data, alpha);
        }
        let problem = Problem { alpha, centered: self.fit_intercept, tol: None, covariance: false };
        let solution = match self.solver {
            RidgeSolver::Svd => problem.by_singular_values(data)?,
            RidgeSolver::Lsqr => lsqr(data, alpha, self.fit_intercept)?,
            RidgeSolver::Auto if prefers_iterations(data.x) => lsqr(data, alpha, self.fit_intercept)?,
            RidgeSolver::Auto => match mixed_precision::solve(data, alpha, self.fit_intercept)? {
                Some(solution) => solution,
                None => problem.solve(data)?,
            },
            RidgeSolver::Cholesky => problem.solve(data)?,
        };
        Ok((solution, Summary::exact()))
    }

    /// Fits each target with its own penalty.
    fn solve_each(&self, data: &Data, alphas: &[f64]) -> Result<(Solution, Summary)> {
        let (d, m) = (data.width(), data.outputs);
        if alphas.len() != m {
            let problem = format!("{} values of alpha_per_target for {m} targets; give one for each", alphas.len());
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        let (mut coefficients, mut intercepts, mut summary) = (vec![0.0; d * m], Vec::new(), Summary::exact());
        for (output, &alpha) in alphas.iter().enumerate() {
            let y = data.y.iter().skip(output).step_by(m).copied().collect();
            let own = Data { x: data.x, y, outputs: 1, weights: data.weights.clone(), unchecked: data.unchecked };
            let (solution, own) = self.solve(&own, alpha)?;
            solution.coefficients.iter().enumerate().for_each(|(j, w)| coefficients[j * m + output] = *w);
            intercepts.extend(solution.intercepts);
            summary.iterations = summary.iterations.max(own.iterations);
            summary.warnings.extend(own.warnings);
        }
        Ok((Solution { coefficients, intercepts, rank: d, condition: 1.0, covariance: None }, summary))
    }

    /// Non-negative coefficients, by Lawson and Hanson's method on XᵀX + αI.
    fn solve_positive(&self, data: &Data, alpha: f64) -> Result<(Solution, Summary)> {
        let mut moments = Moments::of(data, self.fit_intercept)?;
        let (d, m) = (data.width(), data.outputs);
        (0..d).for_each(|j| moments.gram[j * d + j] += alpha);
        let (mut coefficients, mut intercepts) = (vec![0.0; d * m], Vec::new());
        let (mut iterations, mut converged, mut residual) = (0, true, 0.0f64);
        for output in 0..m {
            let found = positive(&moments, output)?;
            let shift: f64 = found.coefficients.iter().zip(&moments.mean_x).map(|(w, mean)| w * mean).sum();
            intercepts.push(moments.mean_y[output] - shift);
            found.coefficients.iter().enumerate().for_each(|(j, w)| coefficients[j * m + output] = *w);
            iterations += found.iterations;
            converged &= found.converged;
            residual = residual.max(found.residual);
        }
        let summary = match converged {
            true => Summary { iterations, ..Summary::exact() },
            false => Summary::iterative(Self::NAME, iterations, false, residual, f64::NAN),
        };
        Ok((Solution { coefficients, intercepts, rank: d, condition: 1.0, covariance: None }, summary))
    }
}
