//! ŷ = X w + b, the fitted type of all linear regressions.

use tove_metrics::{Score, r2_score};
use tove_tensor::{DType, Tensor, TryOps};

use super::solve::Solution;
use crate::{About, Algorithm, AttributeGroup, Fitted, Model, Record, Result, Rows, Samples, Summary};

/// What a linear estimator knows beyond coefficients.
pub trait Extras: AttributeGroup + Clone + std::fmt::Debug + Send + Sync + 'static {
    /// How good predictions are: R² unless the model has a score of its own.
    fn score(&self, y: &Tensor, predicted: &Tensor) -> Result<Score> {
        Ok(r2_score(y, predicted, None)?)
    }
    /// Maps X w + b to the prediction: the identity, or an inverse link.
    fn respond(&self, linear: Tensor) -> Result<Tensor> {
        Ok(linear)
    }
}

impl Extras for () {}

/// A fitted linear regression: ŷ = X w + b, or X Wᵀ + b for multiple outputs.
///
/// ```
/// use tove_learn::{Fit, Predict, linear::LinearRegression};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([1.0, 3.0, 5.0]));
/// let line = LinearRegression::default().fit(&x, &y)?;
/// assert!((line.coef().at::<f64>(&[0]) - 2.0).abs() < 1e-12 && (line.intercept().item::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = E, bound = "E: Algorithm<Fitted = FittedLinear<E, X>>, X: Extras", complete = FittedLinear::matched)]
pub struct FittedLinear<E, X = ()> {
    about: About,
    settings: E,
    /// Coefficients (d), or (m, d) for several outputs.
    #[fitted(shape = "features | targets, features")]
    coef: Tensor,
    /// Intercept, or intercepts (m) for several outputs; zeros if none was fitted.
    #[fitted(shape = " | targets")]
    intercept: Tensor,
    #[fitted(flatten)]
    extras: X,
}

impl<E: Algorithm, X: Extras> FittedLinear<E, X> {
    /// Creates a model from coefficients (d, m) in double precision; it has multiple outputs if the targets are a
    /// matrix.
    pub(super) fn new(
        settings: &E,
        samples: &Samples,
        solution: &Solution,
        summary: Summary,
        extras: X,
    ) -> Result<FittedLinear<E, X>> {
        let shape = (samples.y()?.rank() == 2, samples.x().dtype());
        FittedLinear::of_shape(settings, solution, shape, summary, extras)
    }

    /// Creates a model of this precision, with one or multiple outputs.
    pub(super) fn of_shape(
        settings: &E,
        solution: &Solution,
        (several, dtype): (bool, DType),
        summary: Summary,
        extras: X,
    ) -> Result<FittedLinear<E, X>> {
        let m = solution.intercepts.len();
        let d = solution.coefficients.len() / m.max(1);
        let coef = Tensor::try_from_vec(solution.coefficients.clone(), [d, m])?;
        let intercept = Tensor::from_slice(&solution.intercepts);
        let (coef, intercept) = if several && E::CAPABILITIES.multi_output {
            (coef.try_t()?.try_contiguous()?, intercept)
        } else {
            (coef.try_reshape([d])?, intercept.try_reshape([])?)
        };
        let about = About::new(settings, d, dtype).summary(summary);
        let (coef, intercept) = (coef.to_dtype(dtype), intercept.to_dtype(dtype));
        Ok(FittedLinear { about, settings: settings.clone(), coef, intercept, extras })
    }

    /// Creates a model with one output.
    pub(super) fn single(
        settings: &E,
        samples: &Samples,
        (coefficients, intercept): (Vec<f64>, f64),
        summary: Summary,
        extras: X,
    ) -> Result<FittedLinear<E, X>> {
        let rank = coefficients.len();
        let solution = Solution { coefficients, intercepts: vec![intercept], rank, condition: 1.0, covariance: None };
        FittedLinear::new(settings, samples, &solution, summary, extras)
    }

    /// That there is an intercept per output.
    fn matched(self, record: &Record) -> Result<FittedLinear<E, X>> {
        let matched = self.coef.rank() == self.intercept.rank() + 1;
        if matched { Ok(self) } else { Err(record.wrong("intercept", "a number for each output")) }
    }

    /// The hyperparameters it was fitted with.
    pub fn estimator(&self) -> &E {
        &self.settings
    }

    pub(super) fn extras(&self) -> &X {
        &self.extras
    }

    /// Computes X w + b for checked rows.
    pub(super) fn linear(&self, x: &Rows) -> Result<Tensor> {
        let coef = if self.coef.rank() == 2 { self.coef.try_t()? } else { self.coef.clone() };
        let product = match x {
            Rows::Dense(x) => x.try_matmul(&coef)?,
            Rows::Sparse(x) => x.dot(&coef)?,
        };
        Ok(product.try_add(&self.intercept)?)
    }
}

impl<E: Algorithm<Fitted = FittedLinear<E, X>>, X: Extras> Model for FittedLinear<E, X> {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.extras.respond(self.linear(x)?)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.coef)
    }

    fn score_predictions(&self, y: &Tensor, predicted: &Tensor) -> Result<Score> {
        self.extras.score(y, predicted)
    }
}
