//! ŷ = X w + b, the fitted type of all linear regressions.

use tove_tensor::{DType, Tensor, TryOps};

use super::solve::Solution;
use crate::{About, Algorithm, Model, Record, Restore, Result, Rows, Samples, Summary};

/// Fitted attributes of a linear estimator beyond its coefficients.
pub trait Extras: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Writes the attributes to a record.
    fn write(&self, record: &mut Record);
    /// Reads the attributes from a record; `width` is the number of features.
    fn read(record: &Record, width: usize) -> Result<Self>;
    /// Fitted attributes beyond the coefficients, by scikit-learn's names.
    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        Vec::new()
    }
    /// Maps X w + b to the prediction: the identity, or an inverse link.
    fn respond(&self, linear: Tensor) -> Result<Tensor> {
        Ok(linear)
    }
}

impl Extras for () {
    fn write(&self, _record: &mut Record) {}

    fn read(_record: &Record, _width: usize) -> Result<()> {
        Ok(())
    }
}

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
#[derive(Clone, Debug)]
pub struct FittedLinear<E, X = ()> {
    about: About,
    settings: E,
    coef: Tensor,      // (d) or (m, d)
    intercept: Tensor, // () or (m)
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

    /// Coefficients (d), or (m, d) for multiple outputs.
    pub fn coef(&self) -> &Tensor {
        &self.coef
    }

    /// Intercept, or intercepts (m) for multiple outputs; zero if none was fitted.
    pub fn intercept(&self) -> &Tensor {
        &self.intercept
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
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.extras.respond(self.linear(x)?)
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.extend([("coef", self.coef.clone()), ("intercept", self.intercept.clone())]);
        all.extend(self.extras.attributes());
        all
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.coef)
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        record.put_tensor("coef", &self.coef);
        record.put_tensor("intercept", &self.intercept);
        self.extras.write(&mut record);
        record
    }
}

impl<E: Algorithm<Fitted = FittedLinear<E, X>>, X: Extras> Restore for FittedLinear<E, X> {
    fn restore(record: &Record) -> Result<FittedLinear<E, X>> {
        let settings: E = record.settings(E::NAME, 1)?;
        let (coef, intercept) = (record.tensor("coef")?.clone(), record.tensor("intercept")?.clone());
        let fits = match *coef.dims() {
            [d] => d > 0 && intercept.dims().is_empty(),
            [m, d] => m > 0 && d > 0 && intercept.dims() == [m],
            _ => false,
        };
        if !fits || !coef.dtype().is_float() || intercept.dtype() != coef.dtype() {
            return Err(record.wrong("coef", "a vector with an intercept, or a row and an intercept for each output"));
        }
        let width = coef.dims().last().copied().unwrap_or(0);
        let about = About::read(&settings, record, width, coef.dtype())?;
        Ok(FittedLinear { about, settings, coef, intercept, extras: X::read(record, width)? })
    }
}
