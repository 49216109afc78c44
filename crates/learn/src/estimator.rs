//! Estimators: hyperparameters that can be fitted to samples.
//!
//! An estimator is a plain struct with `#[derive(Hyperparameters)]` and an [`Algorithm`]: what it can do, and how it is trained.
//! The rest follows. [`Fit`] is what users call, the same for all of them:
//! `Ridge::default().alpha(0.1).fit(&x, &y)?`, `KMeans::default().fit(&x, None)?`, `pipeline.fit_samples(&samples)?`. The
//! object-safe [`Estimator`] is what pipelines, searches, the registry and the program hold.

use std::fmt;

use tove_optim::settings::{Hyperparameter, Hyperparameters, Named, Value};
use tove_tensor::Tensor;

use crate::{AnyLearner, Capabilities, LearnError, Model, Restore, Result, Rows, Samples};

/// What the author of an estimator writes: its capabilities and its training. Users call the methods of [`Fit`].
pub trait Algorithm: Hyperparameters + Named + Default + Clone + Send + Sync + 'static {
    /// The fitted model.
    type Fitted: Restore;
    /// What can be taken and given with default hyperparameters.
    const CAPABILITIES: Capabilities;

    /// What can be taken and given with these hyperparameters.
    fn capabilities_of(_settings: &Self) -> Capabilities {
        Self::CAPABILITIES
    }

    /// Fits to samples that were checked, with hyperparameters that were validated.
    fn train(&self, samples: &Samples) -> Result<Self::Fitted>;

    /// A learner for data that come in pieces, where the capabilities say `partial_fit`; classes as for
    /// [`PartialFit::learner`](crate::PartialFit::learner).
    fn boxed_learner(&self, _classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        Err(no_pieces(Self::NAME))
    }
}

#[cold]
fn no_pieces(who: &'static str) -> LearnError {
    LearnError::unsupported(who, "cannot learn from data in pieces", "fit it to all samples at once, or use SGD")
}

/// An estimator of any kind: of a method, a pipeline, a search, an ensemble. Every [`Algorithm`] is one.
pub trait Estimator: Hyperparameters + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str {
        self.schema().name
    }
    /// What can be taken and given.
    fn capabilities(&self) -> Capabilities;
    /// Fits to samples, after checking what can be checked. Users call [`Fit::fit_samples`].
    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>>;
    /// A learner for data that come in pieces; an error for estimators that cannot learn so.
    fn any_learner(&self, _classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        Err(no_pieces(self.name()))
    }
    /// A copy.
    fn duplicate(&self) -> Box<dyn Estimator>;
}

impl<A: Algorithm> Estimator for A {
    fn capabilities(&self) -> Capabilities {
        A::capabilities_of(self)
    }

    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        let model = self.fit_samples(samples)?;
        // Iterations that were asked to end have left a model that is not the one asked for; a time limit may allow for that.
        let allowed = self.capabilities().anytime && tove_optim::out_of_time() && model.summary().iterations > 0;
        if tove_optim::interrupted() && !model.summary().converged && !allowed {
            return Err(LearnError::Interrupted { who: A::NAME });
        }
        Ok(Box::new(model))
    }

    fn any_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        self.boxed_learner(classes)
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

/// What users call: the same for methods, pipelines, searches, ensembles, and estimators behind a box.
pub trait Fit: Estimator {
    /// The fitted model.
    type Fitted;

    /// Fits to samples, perhaps with weights and groups.
    ///
    /// # Errors
    /// Besides those of the estimator itself: hyperparameters out of their range; no samples, or none with a positive weight; no
    /// targets where they are needed; weights, sparse rows or NaN that the estimator does not take; features or targets outside
    /// 1e-150 to 1e150 (features of type f32: 1e-18 to 1e18), whose squares would overflow or vanish; a model whose numbers are not
    /// finite.
    fn fit_samples(&self, samples: &Samples) -> Result<Self::Fitted>;

    /// Fits to features (n, d) and targets (n), or (n, m) for several outputs; `None` for estimators that need no targets.
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
        // Features are looked through once: here, or by the fit on its way.
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
}

impl Fit for dyn Estimator + '_ {
    type Fitted = Box<dyn Model>;

    fn fit_samples(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        self.fit_boxed(samples)
    }
}

/// Samples that the estimator can take; those without targets that it would not look at.
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
        return Err(LearnError::unsupported(who, "takes no sample weights", "leave them out, or repeat samples"));
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
    // Scalers and encoders are what numbers of any size are brought to: they look at sizes themselves.
    if capabilities.predicts() && !capabilities.missing && !capabilities.delegates {
        samples.require_moderate(who, !capabilities.checks_finite)?;
    }
    Ok(samples.clone())
}

/// A switch that would let sparse rows in is the first thing to suggest.
#[cold]
fn dense_only(estimator: &dyn Estimator) -> LearnError {
    let turned = |(name, entry): (String, Hyperparameter)| {
        let Value::Switch(on) = entry.default else { return None };
        let mut other = estimator.duplicate();
        other.set(&name, (!on).into()).ok()?;
        other.capabilities().sparse.then(|| format!("set `{name}` to {}", !on))
    };
    let fix = estimator.describe_all().into_iter().find_map(turned);
    let fix =
        fix.unwrap_or_else(|| "turn the rows into a dense matrix with `to_dense`, or choose a linear model".into());
    LearnError::unsupported(estimator.name(), "takes dense features only", fix)
}

/// That a fitted model answers the first samples with finite numbers. Fits check their own iterations; this is the net below them.
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
    let fix = "scale the features and targets, for instance with `StandardScaler`, or choose a stronger penalty";
    Err(LearnError::data(model.name(), "the fit led to numbers that are not finite", fix))
}

// An estimator behind a box is one, so that what holds an estimator takes boxed ones too.

impl Hyperparameters for Box<dyn Estimator> {
    fn schema(&self) -> &'static tove_optim::settings::Schema {
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

    fn any_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        (**self).any_learner(classes)
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

/// What `#[derive(PartialEq)]` calls for a field of this type (rust-lang/rust#31740).
impl PartialEq<&Box<dyn Estimator>> for Box<dyn Estimator> {
    fn eq(&self, other: &&Box<dyn Estimator>) -> bool {
        **self == ***other
    }
}
