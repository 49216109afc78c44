//! Estimators: hyperparameters that can be fitted to samples.
//!
//! An estimator is a plain struct with `#[derive(Hyperparameters)]` and an [`Algorithm`] implementation, which declares
//! its capabilities and trains it. [`Fit`] provides the methods that users call, the same for all estimators:
//! `Ridge::default().alpha(0.1).fit(&x, &y)?`, `KMeans::default().fit(&x, None)?`, `pipeline.fit_samples(&samples)?`.
//! Pipelines, searches, the registry and the command line store the object-safe [`Estimator`].

use std::fmt;

use tove_optim::settings::{Hyperparameter, Hyperparameters, Named, Value};
use tove_tensor::Tensor;

use crate::linear::LinearMoments;
use crate::{AnyLearner, Capabilities, LearnError, Model, Restore, Result, Rows, Samples};

/// Implemented by authors of estimators: capabilities and training. Users call the methods of [`Fit`].
pub trait Algorithm: Hyperparameters + Named + Default + Clone + Send + Sync + 'static {
    /// The fitted model.
    type Fitted: Restore;
    /// Capabilities with default hyperparameters.
    const CAPABILITIES: Capabilities;

    /// Capabilities with these hyperparameters.
    fn capabilities_of(_settings: &Self) -> Capabilities {
        Self::CAPABILITIES
    }

    /// Fits to checked samples with validated hyperparameters.
    fn train(&self, samples: &Samples) -> Result<Self::Fitted>;

    /// Fits as [`Algorithm::train`], starting from a fitted model with the same number of features, if the capabilities include
    /// `warm_start`.
    fn train_from(&self, _start: &Self::Fitted, _samples: &Samples) -> Result<Self::Fitted> {
        Err(no_warm_start(Self::NAME))
    }

    /// Fits to moments instead of samples, if the capabilities include `moments`; `None` if a pass over the samples is needed for
    /// accuracy.
    fn train_moments(&self, _moments: &LinearMoments) -> Result<Option<Self::Fitted>> {
        Ok(None)
    }

    /// Returns a learner for fitting on batches, if the capabilities include `partial_fit` or `passes`. Classes as in
    /// [`PartialFit::learner`](crate::PartialFit::learner).
    fn boxed_learner(&self, _classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        Err(no_partial_fit(Self::NAME))
    }
}

#[cold]
fn no_partial_fit(who: &'static str) -> LearnError {
    LearnError::unsupported(
        who,
        "does not support incremental fitting on batches",
        "fit it to all samples at once, or use SGD",
    )
}

#[cold]
fn no_warm_start(who: &'static str) -> LearnError {
    LearnError::unsupported(who, "cannot continue from a fitted model", "fit it from the start")
}

/// An estimator of any kind: a method, a pipeline, a search, an ensemble. Implemented for every [`Algorithm`].
pub trait Estimator: Hyperparameters + Send + Sync {
    /// Name used in messages and files.
    fn name(&self) -> &'static str {
        self.schema().name
    }
    /// Capabilities with the current hyperparameters.
    fn capabilities(&self) -> Capabilities;
    /// Checks the samples and fits to them. Users call [`Fit::fit_samples`].
    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>>;
    /// Checks the samples and fits to them, starting from a fitted model. Users call [`Fit::fit_from`].
    fn fit_boxed_from(&self, _start: &dyn Model, _samples: &Samples) -> Result<Box<dyn Model>> {
        Err(no_warm_start(self.name()))
    }
    /// Returns a learner for incremental fitting, or an error if the estimator does not support it.
    fn any_learner(&self, _classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        Err(no_partial_fit(self.name()))
    }
    /// Fits to moments instead of samples; `None` if the estimator needs the samples (see
    /// [`Capabilities::moments`](crate::Capabilities::moments)).
    fn fit_moments(&self, _moments: &LinearMoments) -> Result<Option<Box<dyn Model>>> {
        Ok(None)
    }
    /// Returns a copy.
    fn duplicate(&self) -> Box<dyn Estimator>;
}

impl<A: Algorithm> Estimator for A {
    fn capabilities(&self) -> Capabilities {
        A::capabilities_of(self)
    }

    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        finished(self, self.fit_samples(samples)?)
    }

    fn fit_boxed_from(&self, start: &dyn Model, samples: &Samples) -> Result<Box<dyn Model>> {
        let any: &dyn std::any::Any = start;
        let Some(start) = any.downcast_ref::<A::Fitted>() else {
            let fix = format!("give a model that {} has fitted", A::NAME);
            let problem = format!("cannot continue from a model of {}", start.name());
            return Err(LearnError::unsupported(A::NAME, problem, fix));
        };
        finished(self, self.fit_from(start, samples)?)
    }

    fn any_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        self.boxed_learner(classes)
    }

    fn fit_moments(&self, moments: &LinearMoments) -> Result<Option<Box<dyn Model>>> {
        self.validate()?;
        if !self.capabilities().moments {
            return Ok(None);
        }
        let finite = |model: &A::Fitted| {
            model.coefficients().is_none_or(|coef| coef.to_f64_vec().iter().all(|value| value.is_finite()))
        };
        Ok(self.train_moments(moments)?.filter(finite).map(|model| Box::new(model) as Box<dyn Model>))
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

/// A fitted model in a box, unless the fit was interrupted: such iterations leave an incomplete model, which is accepted only under a
/// time limit.
fn finished<A: Algorithm>(estimator: &A, model: A::Fitted) -> Result<Box<dyn Model>> {
    let allowed = estimator.capabilities().anytime && tove_optim::out_of_time() && model.summary().iterations > 0;
    if tove_optim::interrupted() && !model.summary().converged && !allowed {
        return Err(LearnError::Interrupted { who: A::NAME });
    }
    Ok(Box::new(model))
}

/// The methods that users call: the same for methods, pipelines, searches, ensembles and boxed estimators.
pub trait Fit: Estimator {
    /// The fitted model.
    type Fitted;

    /// Fits to samples with optional weights and groups.
    ///
    /// # Errors
    /// In addition to the estimator's own errors: hyperparameters out of range; no samples, or none with positive
    /// weight; missing targets; weights, sparse rows or NaN that the estimator does not accept; features or targets
    /// outside 1e-150 to 1e150 (features of type f32: 1e-18 to 1e18), whose squares would overflow or underflow; a
    /// fitted model with non-finite values.
    fn fit_samples(&self, samples: &Samples) -> Result<Self::Fitted>;

    /// Fits to samples, starting from a model that this kind of estimator has fitted, to the same or to other samples: iterations begin
    /// where those of the model ended. Continuing a fit that converged changes nothing within its tolerance.
    ///
    /// ```
    /// use tove_learn::{Fit, KMeans, Samples};
    /// use tove_tensor::Tensor;
    /// let samples = Samples::unlabeled(Tensor::from([[0.0], [0.2], [5.0], [5.2]]))?;
    /// let first = KMeans::default().n_clusters(2).fit_samples(&samples)?;
    /// let again = KMeans::default().n_clusters(2).fit_from(&first, &samples)?;
    /// assert_eq!(first.cluster_centers().to_vec::<f64>(), again.cluster_centers().to_vec::<f64>());
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Fit::fit_samples`]; an estimator whose capabilities lack `warm_start`; a model of another estimator, for other features or
    /// classes, or of another size.
    fn fit_from(&self, start: &Self::Fitted, samples: &Samples) -> Result<Self::Fitted>;

    /// Fits to features (n, d) and targets (n), or (n, m) for multiple outputs; `None` for estimators that need no
    /// targets.
    ///
    /// ```
    /// use tove_learn::{Fit, Predict, Ridge, StandardScaler, Transform};
    /// use tove_tensor::Tensor;
    /// let (x, y) = (Tensor::from([[1.0], [2.0], [3.0]]), Tensor::from([1.0, 2.0, 3.0]));
    /// let line = Ridge::default().alpha(0.0).fit(&x, &y)?;
    /// assert!((line.predict(&x)?.at::<f64>(&[2]) - 3.0).abs() < 1e-9);
    /// assert_eq!(StandardScaler::default().fit(&x, None)?.mean(), [2.0]);
    /// assert!(Ridge::default().fit(&x, None).unwrap_err().to_string().contains("needs targets"));
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    fn fit<'a>(&self, x: impl Into<Rows>, y: impl Into<Option<&'a Tensor>>) -> Result<Self::Fitted> {
        let capabilities = self.capabilities();
        // Features are scanned once for non-finite values: here, or during the fit.
        let lenient = capabilities.checks_finite || capabilities.missing;
        self.fit_samples(&Samples::from_parts(x.into(), y.into(), lenient)?)
    }
}

impl<A: Algorithm> Fit for A {
    type Fitted = A::Fitted;

    fn fit_samples(&self, samples: &Samples) -> Result<A::Fitted> {
        self.validate()?;
        let samples = admit(self, samples)?;
        let model = self.train(&samples).map_err(|error| error.of_fit(A::NAME))?;
        require_finite(&model, &samples)?;
        Ok(model)
    }

    fn fit_from(&self, start: &A::Fitted, samples: &Samples) -> Result<A::Fitted> {
        self.validate()?;
        if !self.capabilities().warm_start {
            return Err(no_warm_start(A::NAME));
        }
        let samples = admit(self, samples)?;
        samples.x().check_width(A::NAME, start.width())?;
        let model = self.train_from(start, &samples).map_err(|error| error.of_fit(A::NAME))?;
        require_finite(&model, &samples)?;
        Ok(model)
    }
}

impl Fit for dyn Estimator + '_ {
    type Fitted = Box<dyn Model>;

    fn fit_samples(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        self.fit_boxed(samples)
    }

    fn fit_from(&self, start: &Box<dyn Model>, samples: &Samples) -> Result<Box<dyn Model>> {
        self.fit_boxed_from(&**start, samples)
    }
}

/// Returns samples that the estimator accepts, without targets that it would ignore.
pub(crate) fn admit(estimator: &dyn Estimator, samples: &Samples) -> Result<Samples> {
    let (who, capabilities) = (estimator.name(), estimator.capabilities());
    samples.require_some(who)?;
    if !capabilities.needs_targets() && samples.targets().is_some() {
        return admit(estimator, &samples.without_targets());
    }
    if capabilities.needs_targets() {
        samples.targets_for(who)?;
    }
    if samples.weights().is_some() && !capabilities.weights {
        return Err(LearnError::unsupported(
            who,
            "does not support sample weights",
            "leave them out, or repeat samples",
        ));
    }
    let lenient = capabilities.checks_finite || capabilities.missing;
    if samples.may_miss() && !lenient {
        samples.x().checked()?;
    }
    if let (Rows::Sparse(_), false) = (samples.x(), capabilities.sparse) {
        return Err(dense_only(estimator));
    }
    if samples.width() == 0 {
        return Err(LearnError::data(who, "the samples have no features", "give at least one column"));
    }
    // Scalers and encoders accept values of any magnitude and check them themselves.
    if capabilities.predicts() && !capabilities.missing && !capabilities.delegates {
        samples.require_moderate(who, !capabilities.checks_finite)?;
    }
    Ok(samples.clone())
}

/// Suggests a boolean hyperparameter that would allow sparse rows, if there is one.
#[cold]
fn dense_only(estimator: &dyn Estimator) -> LearnError {
    let toggled = |(name, entry): (String, Hyperparameter)| {
        let Value::Switch(on) = entry.default else { return None };
        let mut other = estimator.duplicate();
        other.set(&name, (!on).into()).ok()?;
        other.capabilities().sparse.then(|| format!("set `{name}` to {}", !on))
    };
    let fix = estimator.describe_all().into_iter().find_map(toggled);
    let fix =
        fix.unwrap_or_else(|| "convert the rows to a dense matrix with `to_dense`, or choose a linear model".into());
    LearnError::unsupported(estimator.name(), "only supports dense features", fix)
}

/// Checks that the predictions for the first samples are finite. Fits check their own iterations; this is a safety net.
fn require_finite(model: &impl Model, samples: &Samples) -> Result<()> {
    if !model.capabilities().predicts() {
        return Ok(());
    }
    let finite = |tensor: &Tensor| !tensor.dtype().is_float() || tensor.to_f64_vec().iter().all(|x| x.is_finite());
    let first: Vec<usize> = (0..samples.len().min(2)).collect();
    let rows = samples.x().take(&first)?;
    if model.coefficients().is_none_or(finite) && finite(&model.predict_rows(&rows)?) {
        return Ok(());
    }
    let fix =
        "scale the features and targets, for example with `StandardScaler`, or increase the regularization strength";
    Err(LearnError::data(model.name(), "the fit produced non-finite values", fix))
}

// A boxed estimator is an estimator, so generic code accepts boxed ones too.

impl Hyperparameters for Box<dyn Estimator> {
    fn schema(&self) -> &'static tove_optim::settings::HyperparameterSchema {
        (**self).schema()
    }

    fn value(&self, name: &str) -> Option<tove_optim::settings::Value> {
        (**self).value(name)
    }

    fn assign(
        &mut self,
        name: &str,
        input: tove_optim::settings::Input<'_>,
    ) -> Result<(), tove_optim::settings::SettingError> {
        (**self).assign(name, input)
    }

    fn describe_all(&self) -> Vec<(String, tove_optim::settings::Hyperparameter)> {
        (**self).describe_all()
    }

    fn validate(&self) -> Result<(), tove_optim::settings::SettingError> {
        (**self).validate()
    }
}

impl Estimator for Box<dyn Estimator> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        (**self).fit_boxed(samples)
    }

    fn fit_boxed_from(&self, start: &dyn Model, samples: &Samples) -> Result<Box<dyn Model>> {
        (**self).fit_boxed_from(start, samples)
    }

    fn any_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        (**self).any_learner(classes)
    }

    fn fit_moments(&self, moments: &LinearMoments) -> Result<Option<Box<dyn Model>>> {
        (**self).fit_moments(moments)
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        (**self).duplicate()
    }
}

impl Fit for Box<dyn Estimator> {
    type Fitted = Box<dyn Model>;

    fn fit_samples(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        (**self).fit_boxed(samples)
    }

    fn fit_from(&self, start: &Box<dyn Model>, samples: &Samples) -> Result<Box<dyn Model>> {
        self.fit_boxed_from(&**start, samples)
    }
}

impl Clone for Box<dyn Estimator> {
    fn clone(&self) -> Box<dyn Estimator> {
        (**self).duplicate()
    }
}

impl fmt::Debug for dyn Estimator + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::component::object(self))
    }
}

impl PartialEq for dyn Estimator {
    fn eq(&self, other: &dyn Estimator) -> bool {
        self.name() == other.name() && self.values() == other.values()
    }
}

/// `#[derive(PartialEq)]` needs this for a field of this type (rust-lang/rust#31740).
impl PartialEq<&Box<dyn Estimator>> for Box<dyn Estimator> {
    fn eq(&self, other: &&Box<dyn Estimator>) -> bool {
        **self == ***other
    }
}
