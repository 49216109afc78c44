//! All estimators by name, for model files, searches, pipelines and the command line.
//!
//! Everything that can be fitted has an entry: estimators, transformers, pipelines, ensembles, searches. To add one,
//! write its file and add its line to [`OWN`]; other crates call [`register`].

use std::sync::{PoisonError, RwLock};

use tove_optim::settings::{HyperparameterSchema, Hyperparameters, ValueKind};

use crate::{Algorithm, Capabilities, Estimator, LearnError, Model, Record, Restore, Result};

/// An entry of the registry.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One-sentence description.
    pub doc: &'static str,
    /// Capabilities with default hyperparameters.
    pub capabilities: Capabilities,
    /// Creates an estimator with default hyperparameters.
    pub new: fn() -> Box<dyn Estimator>,
    /// Reads a fitted model.
    pub restore: fn(&Record) -> Result<Box<dyn Model>>,
    /// Its hyperparameters with their documentation.
    pub schema: fn() -> &'static HyperparameterSchema,
    /// Whether it is composed of other estimators, which must be set before it can be fitted.
    pub composite: bool,
}

/// Creates the entry of an estimator.
pub const fn entry<A: Algorithm>() -> Entry {
    Entry {
        name: A::NAME,
        doc: A::DOC,
        capabilities: A::CAPABILITIES,
        new: || Box::new(A::default()),
        restore: |record| Ok(Box::new(A::Fitted::restore(record)?)),
        schema: || tove_optim::settings::Hyperparameters::schema(&A::default()),
        composite: false,
    }
}

/// Creates the entry of an estimator composed of others.
pub const fn composite<A: Algorithm>() -> Entry {
    Entry { composite: true, ..entry::<A>() }
}

/// The estimators of this crate, by family.
pub const OWN: &[Entry] = &[
    // -- baselines --
    entry::<crate::DummyRegressor>(),
    entry::<crate::DummyClassifier>(),
    // -- linear models --
    entry::<crate::linear::LinearRegression>(),
    entry::<crate::linear::Ridge>(),
    entry::<crate::linear::RidgeCv>(),
    entry::<crate::linear::Lasso>(),
    entry::<crate::linear::ElasticNet>(),
    entry::<crate::linear::LassoCv>(),
    entry::<crate::linear::ElasticNetCv>(),
    entry::<crate::linear::HuberRegressor>(),
    entry::<crate::linear::QuantileRegressor>(),
    entry::<crate::linear::BayesianRidge>(),
    entry::<crate::linear::ArdRegression>(),
    entry::<crate::linear::Lars>(),
    entry::<crate::linear::LassoLars>(),
    entry::<crate::linear::OrthogonalMatchingPursuit>(),
    entry::<crate::linear::PoissonRegressor>(),
    entry::<crate::linear::GammaRegressor>(),
    entry::<crate::linear::TweedieRegressor>(),
    entry::<crate::linear::RidgeClassifier>(),
    entry::<crate::LogisticRegression>(),
    entry::<crate::LogisticRegressionCv>(),
    entry::<crate::Perceptron>(),
    entry::<crate::SgdClassifier>(),
    entry::<crate::SgdRegressor>(),
    // -- support vector machines and kernels --
    entry::<crate::KernelRidge>(),
    entry::<crate::Svc>(),
    entry::<crate::Svr>(),
    entry::<crate::NuSvc>(),
    entry::<crate::NuSvr>(),
    entry::<crate::LinearSvc>(),
    entry::<crate::LinearSvr>(),
    entry::<crate::OneClassSvm>(),
    // -- naive Bayes --
    entry::<crate::GaussianNb>(),
    entry::<crate::MultinomialNb>(),
    entry::<crate::BernoulliNb>(),
    entry::<crate::ComplementNb>(),
    // -- discriminant analysis --
    entry::<crate::LinearDiscriminantAnalysis>(),
    entry::<crate::QuadraticDiscriminantAnalysis>(),
    // -- neighbors --
    entry::<crate::NearestNeighbors>(),
    entry::<crate::KNeighborsClassifier>(),
    entry::<crate::KNeighborsRegressor>(),
    // -- clustering --
    entry::<crate::KMeans>(),
    entry::<crate::MiniBatchKMeans>(),
    entry::<crate::Dbscan>(),
    entry::<crate::Hdbscan>(),
    entry::<crate::AgglomerativeClustering>(),
    // -- mixtures --
    entry::<crate::GaussianMixture>(),
    // -- decomposition --
    entry::<crate::Pca>(),
    entry::<crate::IncrementalPca>(),
    entry::<crate::TruncatedSvd>(),
    entry::<crate::Nmf>(),
    // -- manifold learning --
    entry::<crate::Umap>(),
    // -- features --
    entry::<crate::features::StandardScaler>(),
    entry::<crate::features::MinMaxScaler>(),
    entry::<crate::features::RobustScaler>(),
    entry::<crate::features::MaxAbsScaler>(),
    entry::<crate::features::Imputer>(),
    entry::<crate::features::OneHotEncoder>(),
    entry::<crate::features::SelectKBest>(),
    entry::<crate::features::PolynomialFeatures>(),
    entry::<crate::features::OrdinalEncoder>(),
    entry::<crate::features::Normalizer>(),
    entry::<crate::features::Binarizer>(),
    entry::<crate::features::VarianceThreshold>(),
    entry::<crate::features::KBinsDiscretizer>(),
    entry::<crate::features::QuantileTransformer>(),
    entry::<crate::features::PowerTransformer>(),
    entry::<crate::features::SplineTransformer>(),
    entry::<crate::factorization::MatrixFactorization>(),
    entry::<crate::factorization::ImplicitFactorization>(),
    // -- semi-supervised --
    entry::<crate::semi_supervised::LabelPropagation>(),
    entry::<crate::semi_supervised::LabelSpreading>(),
    composite::<crate::semi_supervised::SelfTrainingClassifier>(),
    // -- meta-estimators --
    composite::<crate::Pipeline>(),
    composite::<crate::ColumnTransformer>(),
    composite::<crate::FeatureUnion>(),
    composite::<crate::OneVsRest>(),
    composite::<crate::ensemble::BaggingRegressor>(),
    composite::<crate::ensemble::BaggingClassifier>(),
    composite::<crate::ensemble::VotingRegressor>(),
    composite::<crate::ensemble::VotingClassifier>(),
    composite::<crate::ensemble::StackingRegressor>(),
    composite::<crate::ensemble::StackingClassifier>(),
    composite::<crate::ensemble::CalibratedClassifier>(),
    composite::<crate::calibration::HoldoutCalibration>(),
    composite::<crate::selection::GridSearch>(),
    composite::<crate::selection::RandomSearch>(),
];

/// Estimators registered by other crates.
static ADDED: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// Registers an estimator of another crate, so that it is found by name and its files can be read. An estimator with
/// estimators among its hyperparameters is registered as a [`composite`]. Registering it twice has no effect.
pub fn register<A: Algorithm>() {
    let composite = is_composite(&A::default());
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if !added.iter().any(|known| known.name == A::NAME) {
        added.push(Entry { composite, ..entry::<A>() });
    }
}

/// Whether any hyperparameter is an estimator.
pub(crate) fn is_composite(estimator: &dyn Hyperparameters) -> bool {
    fn holds_estimators(kind: &ValueKind) -> bool {
        match kind {
            ValueKind::Object(what) => *what == "estimator",
            ValueKind::Optional(inner) | ValueKind::List(inner) | ValueKind::Map(inner) => holds_estimators(inner),
            _ => false,
        }
    }
    estimator.schema().hyperparameters.iter().any(|own| holds_estimators(&own.kind))
}

/// The estimators of this crate and the registered ones.
pub fn all() -> Vec<Entry> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    OWN.iter().chain(added.iter()).copied().collect()
}

/// Finds an estimator by name; the error suggests the nearest name.
///
/// ```
/// use tove_learn::registry;
/// assert_eq!(registry::find("DummyRegressor")?.name, "DummyRegressor");
/// assert!(registry::find("DumyRegressor").err().unwrap().to_string().contains("did you mean DummyRegressor?"));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn find(name: &str) -> Result<Entry> {
    let own = OWN.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)).copied();
    let added = || {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        added.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)).copied()
    };
    own.or_else(added).ok_or_else(|| unknown(name))
}

/// Capabilities of an estimator with these settings; `None` for settings of earlier versions.
pub(crate) fn capabilities(name: &str, settings: &serde_json::Value) -> Option<Capabilities> {
    let mut estimator = (find(name).ok()?.new)();
    estimator.load_json(settings).ok()?;
    estimator.validate().ok()?;
    Some(estimator.capabilities())
}

/// Restores the model of a record of any registered kind.
pub fn restore(record: &Record) -> Result<Box<dyn Model>> {
    (find(record.kind())?.restore)(record)
}

#[cold]
fn unknown(name: &str) -> LearnError {
    let names: Vec<&str> = all().iter().map(|entry| entry.name).collect();
    let lower = name.to_ascii_lowercase();
    let nearest = names.iter().map(|known| (strsim::levenshtein(&known.to_ascii_lowercase(), &lower), known)).min();
    let fix = match nearest {
        Some((distance, known)) if distance <= 3.min(name.len() / 2) => format!("did you mean {known}?"),
        _ => format!("there are {}", names.join(", ")),
    };
    LearnError::model(format!("there is no estimator {name}"), fix)
}
