//! Quantile regression: min (1/n) Σ ρ_q(yᵢ − xᵢᵀw − b) + α‖w‖₁ with ρ_q(r) = q r for r ≥ 0 and (q − 1) r for r < 0. q =
//! ½ and α = 0 give least absolute deviations (the median instead of the mean).
//!
//! This is a linear program. Its dual, max yᵀa subject to Zᵀa = (1 − q)Zᵀ1, 0 ≤ a ≤ 1, with Z = (X, 1), is solved by a
//! primal-dual interior-point method with Mehrotra's corrector (Portnoy and Koenker 1997): about twenty weighted
//! least-squares problems, each one pass over X, down to a relative duality gap of 10⁻¹². A final step moves to a
//! vertex of the optimal face, where unused coefficients are exactly 0. The penalty is represented by d extra rows with
//! target 0 and quantile ½; weights multiply rows.
//!
//! ```
//! use tove_learn::{Fit, linear::QuantileRegressor};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [4.0]]);
//! let model = QuantileRegressor::least_absolute_deviations().fit(&x, &Tensor::from([1.0, 3.0, 5.0, 7.0, 100.0]))?;
//! assert!((model.coef().at::<f64>(&[0]) - 2.0).abs() < 1e-6 && (model.intercept().item::<f64>() - 1.0).abs() < 1e-6);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};

use super::interior_point::LinearProgram;
use super::model::FittedLinear;
use super::moments::{Data, Moments};
use crate::{Algorithm, Capabilities, LearnError, Result, Samples, Summary};

/// Linear regression of a quantile.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct QuantileRegressor {
    /// The quantile to predict.
    #[hyper(default = 0.5, range = "(0, 1)")]
    pub quantile: f64,
    /// Regularization strength of the penalty α‖w‖₁, relative to the mean loss.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of interior-point iterations.
    #[hyper(default = 200, range = "[1, inf)")]
    pub max_iter: usize,
    /// Relative duality gap at which to stop.
    #[hyper(default = 1e-12, range = "(0, inf)")]
    pub tol: f64,
}

impl QuantileRegressor {
    /// Median regression without a penalty: min Σ |yᵢ − xᵢᵀw − b|.
    pub fn least_absolute_deviations() -> QuantileRegressor {
        QuantileRegressor::default().alpha(0.0)
    }
}

/// A fitted [`QuantileRegressor`].
pub type FittedQuantileRegressor = FittedLinear<QuantileRegressor>;

impl Algorithm for QuantileRegressor {
    type Fitted = FittedQuantileRegressor;
    // If the solution is not unique (a median between two values), the result depends on how rows are counted.
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 1e-2, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedQuantileRegressor> {
        let data = Data::single(Self::NAME, samples)?;
        let moments = Moments::of(&data, self.fit_intercept)?;
        let programme = LinearProgram::new(self, &data, &moments)?;
        let end = programme.solve(self.max_iter, self.tol).map_err(|error| match error {
            // The data are finite, so the non-finite value was computed.
            LearnError::Tensor(error) if error.is_data() => {
                let fix = "scale the features (StandardScaler), and the weights to a mean of 1";
                LearnError::data(
                    Self::NAME,
                    "features or weights of very different magnitudes overflow in the solver",
                    fix,
                )
            }
            other => other,
        })?;
        let summary = Summary::iterative(Self::NAME, end.iterations, end.converged, end.gap, end.objective);
        FittedLinear::single(self, samples, (end.coefficients, end.intercept), summary, ())
    }
}
