//! All estimators and transformers by name: for files, grids, and the command line.

use std::sync::{Mutex, PoisonError};

use tove_optim::settings::{Schema, edits};

use crate::{
    Abilities, Estimator, Fit, FitTransform, LearnError, Model, Record, Restore, RestoreTransform, Result, Task,
    Transform, Transformer,
};

/// What is known of an estimator.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it predicts.
    pub task: Task,
    /// What it can take and give.
    pub abilities: Abilities,
    /// One with default hyperparameters.
    pub estimator: fn() -> Box<dyn Estimator>,
    /// Reads a fitted model.
    pub restore: fn(&Record) -> Result<Box<dyn Model>>,
    /// Its hyperparameters with their documentation.
    pub schema: fn() -> &'static Schema,
}

/// What is known of a transformer.
#[derive(Clone, Copy)]
pub struct TransformEntry {
    /// Its name.
    pub name: &'static str,
    /// One with default hyperparameters.
    pub transformer: fn() -> Box<dyn Transformer>,
    /// Reads a fitted transformation.
    pub restore: fn(&Record) -> Result<Box<dyn Transform>>,
    /// Its hyperparameters with their documentation.
    pub schema: fn() -> &'static Schema,
}

const fn entry<E: Fit>() -> Entry {
    Entry {
        name: E::NAME,
        task: E::TASK,
        abilities: E::ABILITIES,
        estimator: || Box::new(E::default()),
        restore: |record| Ok(Box::new(E::Fitted::restore(record)?)),
        schema: || E::default().schema(),
    }
}

const fn transform<F: FitTransform>() -> TransformEntry {
    TransformEntry {
        name: F::NAME,
        transformer: || Box::new(F::default()),
        restore: |record| Ok(Box::new(F::Fitted::restore(record)?)),
        schema: || F::default().schema(),
    }
}

/// All estimators of this crate, by room.
pub fn estimators() -> &'static [Entry] {
    const ALL: &[Entry] = &[
        // -- baselines --
        entry::<crate::DummyRegressor>(),
        entry::<crate::DummyClassifier>(),
        // -- linear models --
        entry::<crate::linear::LinearRegression>(),
        entry::<crate::linear::Ridge>(),
        entry::<crate::linear::RidgeCv>(),
        entry::<crate::linear::Lasso>(),
        entry::<crate::linear::ElasticNet>(),
        entry::<crate::linear::HuberRegressor>(),
        entry::<crate::linear::QuantileRegressor>(),
        entry::<crate::linear::BayesianRidge>(),
        entry::<crate::linear::RegressAndRound>(),
        // -- logistic --
        entry::<crate::LogisticRegression>(),
        entry::<crate::Perceptron>(),
        entry::<crate::SgdClassifier>(),
        entry::<crate::SgdRegressor>(),
        // -- margins and kernels --
        entry::<crate::KernelRidge>(),
        entry::<crate::Svc>(),
        entry::<crate::Svr>(),
        entry::<crate::NuSvc>(),
        entry::<crate::NuSvr>(),
        entry::<crate::LinearSvc>(),
        entry::<crate::LinearSvr>(),
    ];
    ALL
}

/// All transformers.
pub fn transformers() -> &'static [TransformEntry] {
    const ALL: &[TransformEntry] = &[
        // -- features --
        transform::<crate::features::StandardScaler>(),
        transform::<crate::features::MinMaxScaler>(),
        transform::<crate::features::RobustScaler>(),
        transform::<crate::features::MaxAbsScaler>(),
        transform::<crate::features::Imputer>(),
        transform::<crate::features::OneHotEncoder>(),
        transform::<crate::features::SelectKBest>(),
        transform::<crate::features::PolynomialFeatures>(),
    ];
    ALL
}

/// Estimators that other crates have added.
static ADDED: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Adds an estimator of another crate, so that it is found by name and its files can be read. Adding it twice changes
/// nothing.
pub fn register<E: Fit>() {
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    if !added.iter().any(|entry| entry.name == E::NAME) {
        added.push(entry::<E>());
    }
}

/// The estimators of this crate and those that were added.
pub fn all() -> Vec<Entry> {
    let added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    estimators().iter().chain(added.iter()).copied().collect()
}

/// Reads a fitted model.
pub type Restorer = fn(&Record) -> Result<Box<dyn Model>>;
/// Reads a fitted transformation.
pub type TransformRestorer = fn(&Record) -> Result<Box<dyn Transform>>;

/// Models made of other models: they have no hyperparameters until their parts are chosen, so they are no entries.
const COMPOSED: &[(&str, Restorer)] = &[
    ("OneVsRest", |record| Ok(Box::new(crate::FittedOneVsRest::restore(record)?))),
    // -- pipelines --
    ("Pipeline", |record| Ok(Box::new(crate::pipeline::FittedPipeline::restore(record)?))),
    // -- ensembles --
    ("BaggingRegressor", |record| Ok(Box::new(crate::ensemble::FittedEnsemble::restore(record)?))),
    ("BaggingClassifier", |record| Ok(Box::new(crate::ensemble::FittedEnsemble::restore(record)?))),
    ("VotingRegressor", |record| Ok(Box::new(crate::ensemble::FittedEnsemble::restore(record)?))),
    ("VotingClassifier", |record| Ok(Box::new(crate::ensemble::FittedEnsemble::restore(record)?))),
];

/// Transformations made of others.
const COMPOSED_TRANSFORMS: &[(&str, TransformRestorer)] = &[
    ("Chain", |record| Ok(Box::new(crate::pipeline::FittedChain::restore(record)?))),
    ("ColumnTransformer", |record| Ok(Box::new(crate::pipeline::FittedColumnTransformer::restore(record)?))),
];

/// What reads models of this kind: of all estimators, and of models made of models.
pub fn restorer(kind: &str) -> Result<Restorer> {
    match COMPOSED.iter().find(|(name, _)| *name == kind) {
        Some(&(_, restore)) => Ok(restore),
        None => Ok(find(kind)?.restore),
    }
}

/// What reads transformations of this kind.
pub fn transform_restorer(kind: &str) -> Result<TransformRestorer> {
    match COMPOSED_TRANSFORMS.iter().find(|(name, _)| *name == kind) {
        Some(&(_, restore)) => Ok(restore),
        None => Ok(find_transformer(kind)?.restore),
    }
}

/// The estimator of this name; the error suggests the nearest one.
///
/// ```
/// use tove_learn::registry;
/// assert_eq!(registry::find("DummyRegressor")?.name, "DummyRegressor");
/// assert!(registry::find("DumyRegressor").err().unwrap().to_string().contains("did you mean DummyRegressor?"));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn find(name: &str) -> Result<Entry> {
    let all = all();
    let found = all.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| unknown("estimator", name, all.iter().map(|entry| entry.name)))
}

/// The transformer of this name; the error suggests the nearest one.
pub fn find_transformer(name: &str) -> Result<&'static TransformEntry> {
    let found = transformers().iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| unknown("transformer", name, transformers().iter().map(|entry| entry.name)))
}

#[cold]
fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> LearnError {
    let names: Vec<&str> = known.collect();
    let lower = name.to_ascii_lowercase();
    let nearest = names.iter().map(|known| (edits(&known.to_ascii_lowercase(), &lower), known)).min();
    let fix = match nearest {
        Some((distance, known)) if distance <= 3 => format!("did you mean {known}?"),
        _ => format!("there are {}", names.join(", ")),
    };
    LearnError::model(format!("there is no {what} {name}"), fix)
}
