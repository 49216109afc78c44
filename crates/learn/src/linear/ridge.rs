//! Ridge regression: w* = (XᵀX + αI)⁻¹ Xᵀy minimises ½‖y − Xw‖² + (α/2)‖w‖². It exists whatever the rank of X.
//!
//! `alpha` belongs to the plain sum of squares; [`Scaling::alpha`](super::Scaling::alpha) converts from means. The intercept is
//! not penalised. Solved by Cholesky's factor of the Gram matrix (with a second pass where that would lose digits; for some
//! hundred columns and more, with the factor in single precision and corrections in double precision, `mixed.rs`), by singular
//! values for more features than samples, by LSQR for wide sparse rows. [`Ridge::path`] solves for many penalties from one
//! eigendecomposition.
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

use tove_optim::settings::{Choice, Hyperparameters};

use super::lsqr::lsqr;
use super::mixed;
use super::model::FittedLinear;
use super::moments::Data;
use super::solve::{Problem, prefers_iterations};
use crate::{Algorithm, Capabilities, Result, Samples, Summary};

/// How a [`Ridge`] is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum RidgeSolver {
    /// The normal equations, or LSQR for sparse rows with many columns.
    #[default]
    Auto,
    /// The normal equations (XᵀX + αI) w = Xᵀy.
    Cholesky,
    /// Singular values of a centred copy of X.
    Svd,
    /// Iterations with products only.
    Lsqr,
}

/// Linear regression with a penalty α‖w‖², for one output or several.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Ridge {
    /// Strength of the penalty, for the plain sum of squared errors.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalised.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// How the equations are solved.
    #[hyper(default = RidgeSolver::Auto)]
    pub solver: RidgeSolver,
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
        ..Capabilities::REGRESSOR
    };

    fn capabilities_of(settings: &Ridge) -> Capabilities {
        // Moments that are merged lead to the normal equations.
        let merges = matches!(settings.solver, RidgeSolver::Auto | RidgeSolver::Cholesky);
        Capabilities { partial_fit: merges, ..Self::CAPABILITIES }
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedRidge> {
        let data = Data::several(samples)?;
        let problem = Problem { alpha: self.alpha, centred: self.fit_intercept, tol: None, covariance: false };
        let solution = match self.solver {
            RidgeSolver::Svd => problem.by_singular_values(&data)?,
            RidgeSolver::Lsqr => lsqr(&data, self.alpha, self.fit_intercept)?,
            RidgeSolver::Auto if prefers_iterations(data.x) => lsqr(&data, self.alpha, self.fit_intercept)?,
            RidgeSolver::Auto => match mixed::solve(&data, self.alpha, self.fit_intercept)? {
                Some(solution) => solution,
                None => problem.solve(&data)?,
            },
            RidgeSolver::Cholesky => problem.solve(&data)?,
        };
        FittedLinear::new(self, samples, &solution, Summary::exact(), ())
    }
}
