//! Every registered estimator fulfils the contract.
#![allow(clippy::unwrap_used)]

use tove_learn::calibration::HoldoutCalibration;
use tove_learn::ensemble::{
    BaggingClassifier, BaggingRegressor, CalibratedClassifier, CalibrationMethod, StackMethod, StackingClassifier,
    StackingRegressor, VotingClassifier, VotingRegressor,
};
use tove_learn::selection::{Grid, GridSearch, ParamDistribution, RandomSearch, Space};
use tove_learn::{
    AnyLearner, Capabilities, ColumnTransformer, DummyClassifier, DummyRegressor, Estimator, FeatureUnion, GaussianNb,
    Imputer, KernelRidge, LinearSvc, LogisticRegression, MaxAbsScaler, MinMaxScaler, Model, OneVsRest, Perceptron,
    Pipeline, PolynomialFeatures, Remainder, Result, Ridge, Samples, SelectKBest, SgdRegressor, StandardScaler,
    contract, registry,
};
use tove_optim::settings::{Choice, Hyperparameter, HyperparameterSchema, Hyperparameters, Input, SettingError, Value};

/// Runs the contract over estimators and tells all failures at once.
fn check<'a>(estimators: impl IntoIterator<Item = &'a dyn Estimator>) {
    let mut failed = String::new();
    for estimator in estimators {
        let report = contract::check(estimator);
        if !report.passed() {
            failed.push_str(&format!("{estimator:?}\n{report}"));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

/// What is registered and needs no parts, with default hyperparameters.
fn plain(which: fn(&Capabilities) -> bool) -> Vec<Box<dyn Estimator>> {
    let entries = registry::OWN.iter().filter(|entry| !entry.composite && which(&entry.capabilities));
    entries.map(|entry| (entry.new)()).collect()
}

#[test]
fn every_estimator_fulfils_the_contract() {
    let estimators = plain(|capabilities| capabilities.predicts());
    assert!(estimators.len() >= 22);
    check(estimators.iter().map(|estimator| &**estimator));
}

#[test]
fn every_transformer_fulfils_the_contract() {
    let transformers = plain(|capabilities| !capabilities.predicts());
    assert!(transformers.len() >= 8);
    check(transformers.iter().map(|transformer| &**transformer));
}

#[test]
fn entries_say_what_their_estimators_do() {
    for entry in registry::all() {
        let estimator = (entry.new)();
        assert_eq!(estimator.name(), entry.name);
        assert_eq!((entry.schema)().name, entry.name);
        assert!(!entry.doc.is_empty(), "{}", entry.name);
        if !entry.composite {
            assert_eq!(estimator.capabilities(), entry.capabilities, "{}", entry.name);
        }
    }
}

#[test]
fn pipelines_fulfil_the_contract() {
    let scaled = Pipeline::of(StandardScaler::default());
    check([
        &scaled.clone().then(LogisticRegression::default()) as &dyn Estimator,
        &scaled.clone().then(Ridge::default()),
        &Pipeline::of(Imputer::default()).then(Ridge::default()),
        &Pipeline::of(Imputer::default()).then(StandardScaler::default()).then(LogisticRegression::default()),
        // A last step that learns in pieces, and one whose fit looks through the features itself.
        &scaled.clone().then(SgdRegressor::default()),
        &scaled.clone().then(Perceptron::default()),
        &scaled.clone().then(PolynomialFeatures::default()).then(Ridge::default()),
        // A step that looks at the targets.
        &Pipeline::of(SelectKBest::default().k(Some(2))).then(LogisticRegression::default()),
        // Pipelines inside pipelines.
        &Pipeline::of(scaled.clone()).then(Pipeline::of(StandardScaler::default()).then(Ridge::default())),
        // One step.
        &Pipeline::of(Ridge::default()),
    ]);
}

#[test]
fn pipelines_of_transformers_fulfil_the_contract() {
    check([
        &Pipeline::of(MaxAbsScaler::default()).then(MinMaxScaler::default()) as &dyn Estimator,
        &Pipeline::of(Imputer::default()).then(StandardScaler::default()),
        &Pipeline::of(StandardScaler::default()).then(Imputer::default()),
        &Pipeline::of(MaxAbsScaler::default()),
        &Pipeline::of(StandardScaler::default()).then(PolynomialFeatures::default()),
        &Pipeline::of(SelectKBest::default().k(Some(2))).then(PolynomialFeatures::default()),
    ]);
}

#[test]
fn transformers_side_by_side_fulfil_the_contract() {
    let columns = ColumnTransformer::default().on("scaled", &[0, 1], StandardScaler::default()).on(
        "filled",
        &[2],
        Imputer::default(),
    );
    let union = FeatureUnion::default().with("a", MinMaxScaler::default()).with("b", MaxAbsScaler::default());
    check([
        &columns.clone() as &dyn Estimator,
        &columns.clone().remainder(Remainder::Passthrough),
        &columns.clone().on("again", &[0], Imputer::default()),
        &ColumnTransformer::default().on("flat", &[0, 2], MaxAbsScaler::default()).remainder(Remainder::Passthrough),
        &ColumnTransformer::default().on("ranged", &[1], MinMaxScaler::default()).on(
            "flat",
            &[2, 0],
            MaxAbsScaler::default(),
        ),
        &union,
        &FeatureUnion::default().with("a", StandardScaler::default()).with("b", Imputer::default()),
        &FeatureUnion::default().with("a", PolynomialFeatures::default()).with("b", SelectKBest::default().k(Some(2))),
        // Steps on columns inside a pipeline that ends in a model.
        &Pipeline::of(columns).then(Ridge::default()),
        &Pipeline::of(union.clone()).then(DummyClassifier::default()),
    ]);
}

#[test]
fn ensembles_fulfil_the_contract() {
    let soft = VotingClassifier::soft()
        .with("a", LogisticRegression::default())
        .with("b", DummyClassifier::default())
        .weights(Some(vec![2.0, 1.0]));
    let hard = VotingClassifier::hard()
        .with("a", LogisticRegression::default())
        .with("b", LinearSvc::default())
        .with("c", Perceptron::default());
    let mean = VotingRegressor::default().with("a", Ridge::default()).with("b", DummyRegressor::default());
    check([
        &BaggingClassifier::new(LogisticRegression::default()) as &dyn Estimator,
        &BaggingClassifier::new(LinearSvc::default()).max_features(0.5),
        &BaggingRegressor::new(Ridge::default()),
        &BaggingRegressor::new(KernelRidge::default()),
        &BaggingRegressor::new(Pipeline::of(Imputer::default()).then(Ridge::default())),
        &soft,
        &hard,
        &mean,
        &mean.clone().with("c", KernelRidge::default()),
    ]);
}

#[test]
fn stacks_fulfil_the_contract() {
    let filled = Pipeline::of(Imputer::default()).then(Ridge::default());
    let classes = StackingClassifier::default()
        .with("nb", GaussianNb::default())
        .with("logistic", LogisticRegression::default())
        .with("svc", LinearSvc::default());
    check([
        &StackingRegressor::default().with("a", Ridge::default()).with("b", DummyRegressor::default())
            as &dyn Estimator,
        &StackingRegressor::default().with("a", Ridge::default()).passthrough(true),
        &StackingRegressor::default().with("a", filled.clone()),
        &StackingRegressor::default().with("a", filled.clone()).passthrough(true).final_estimator(Box::new(filled)),
        &classes,
        &classes.clone().stack_method(StackMethod::Predict).passthrough(true),
        &classes.clone().final_estimator(Box::new(LinearSvc::default())),
    ]);
}

#[test]
fn calibrated_classifiers_fulfil_the_contract() {
    check([
        &CalibratedClassifier::default() as &dyn Estimator,
        &CalibratedClassifier::new(GaussianNb::default()).method(CalibrationMethod::Isotonic),
        &CalibratedClassifier::new(LogisticRegression::default()).ensemble(false),
        &CalibratedClassifier::new(Perceptron::default()).method(CalibrationMethod::Isotonic).ensemble(false),
    ]);
}

#[test]
fn classifiers_calibrated_on_held_out_samples_fulfil_the_contract() {
    let all = CalibrationMethod::ALL.iter().flat_map(|&method| {
        [
            HoldoutCalibration::new(LogisticRegression::default()).method(method),
            HoldoutCalibration::new(GaussianNb::default()).method(method),
            HoldoutCalibration::new(LinearSvc::default()).method(method),
        ]
    });
    let all: Vec<HoldoutCalibration> = all.collect();
    check(all.iter().map(|estimator| estimator as &dyn Estimator));
    check([
        &CalibratedClassifier::default().method(CalibrationMethod::Vector) as &dyn Estimator,
        &CalibratedClassifier::new(GaussianNb::default()).method(CalibrationMethod::Beta),
        &CalibratedClassifier::new(GaussianNb::default()).method(CalibrationMethod::VennAbers).ensemble(false),
    ]);
}

#[test]
fn one_against_the_rest_fulfils_the_contract() {
    check([
        &OneVsRest::default() as &dyn Estimator,
        &OneVsRest::new(LinearSvc::default()),
        &OneVsRest::new(DummyClassifier::default()),
        &OneVsRest::new(Pipeline::of(StandardScaler::default()).then(LogisticRegression::default())),
    ]);
}

#[test]
fn searches_fulfil_the_contract() {
    let grid = || Grid::new().over("alpha", [0.1, 1.0]);
    let space = Space::new().draw("alpha", ParamDistribution::LogUniform { low: 1e-3, high: 10.0 });
    let pipeline = Pipeline::of(StandardScaler::default()).then(LogisticRegression::default());
    check([
        &GridSearch::new(Ridge::default(), grid()).silent() as &dyn Estimator,
        &GridSearch::new(pipeline, Grid::new().over("logisticregression.c", [0.1, 1.0])).silent(),
        &GridSearch::new(Pipeline::of(Imputer::default()).then(Ridge::default()), {
            Grid::new().over("imputer.strategy", ["mean", "median"])
        })
        .silent(),
        &RandomSearch::new(Ridge::default(), space.clone()).iterations(3).silent(),
        &RandomSearch::new(SgdRegressor::default(), space).iterations(2).silent(),
    ]);
}

/// An estimator that promises more than its default settings do.
#[derive(Clone)]
struct Precise {
    inner: Box<dyn Estimator>,
    accuracy: f64,
}

impl Hyperparameters for Precise {
    fn schema(&self) -> &'static HyperparameterSchema {
        self.inner.schema()
    }
    fn value(&self, name: &str) -> Option<Value> {
        self.inner.value(name)
    }
    fn assign(&mut self, name: &str, input: Input<'_>) -> Result<(), SettingError> {
        self.inner.assign(name, input)
    }
    fn describe_all(&self) -> Vec<(String, Hyperparameter)> {
        self.inner.describe_all()
    }
    fn validate(&self) -> Result<(), SettingError> {
        self.inner.validate()
    }
}

impl Estimator for Precise {
    fn capabilities(&self) -> Capabilities {
        Capabilities { accuracy: self.accuracy, ..self.inner.capabilities() }
    }
    fn fit_boxed(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        self.inner.fit_boxed(samples)
    }
    fn fit_boxed_from(&self, start: &dyn Model, samples: &Samples) -> Result<Box<dyn Model>> {
        self.inner.fit_boxed_from(start, samples)
    }
    fn any_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        self.inner.any_learner(classes)
    }
    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

/// A name, settings as text, and what may then be promised.
type Tightened = (&'static str, &'static [(&'static str, &'static str)], f64);

/// Iterative methods stop where their default tolerance says, which is what their promise at default settings allows for.
/// Asked for a tight tolerance, order, weights, storage and precision leave them where they were to many more digits.
#[test]
fn a_tight_tolerance_tightens_the_contract() {
    let cases: [Tightened; 11] = [
        ("Lasso", &[("tol", "1e-13"), ("max_iter", "100000")], 1e-6),
        ("ElasticNet", &[("tol", "1e-13"), ("max_iter", "100000")], 1e-6),
        ("HuberRegressor", &[("tol", "1e-9"), ("max_iter", "10000")], 1e-6),
        // At 0.5 an even number of targets leaves the quantile open between two of them.
        ("QuantileRegressor", &[("tol", "1e-12"), ("quantile", "0.37"), ("alpha", "0.01")], 1e-5),
        // One penalty: with several, two copies are left out one by one and a sample of weight 2 at once.
        ("RidgeCV", &[("alphas", "1")], 1e-8),
        // Kernel values are kept in single precision, 6e-8, which decision values inherit some times over.
        ("SVC", &[("tol", "1e-9")], 1e-5),
        ("SVR", &[("tol", "1e-9")], 1e-5),
        ("NuSVC", &[("tol", "1e-9")], 1e-5),
        ("NuSVR", &[("tol", "1e-9")], 1e-5),
        ("LinearSVC", &[("tol", "1e-11"), ("max_iter", "100000")], 1e-6),
        ("LinearSVR", &[("tol", "1e-11"), ("max_iter", "1000000")], 1e-5),
    ];
    let mut failed = String::new();
    for (name, settings, accuracy) in cases {
        let mut inner = (registry::find(name).unwrap().new)();
        settings.iter().for_each(|(name, text)| inner.parse(name, text).unwrap());
        let report = contract::check(&Precise { inner, accuracy });
        if !report.passed() {
            failed.push_str(&report.to_string());
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn neighbors_clusters_and_components_fulfil_the_contract_with_other_settings() {
    use tove_learn::cluster::{AgglomerativeClustering, Dbscan, Hdbscan, Init, KMeans, KMeansAlgorithm, Linkage};
    use tove_learn::decomposition::{Pca, SvdSolver};
    use tove_learn::mixture::{CovarianceType, GaussianMixture, MixtureInit};
    use tove_learn::neighbors::{
        KNeighborsClassifier, KNeighborsRegressor, Metric, NearestNeighbors, NeighborAlgorithm, NeighborWeights,
    };
    let mixture = GaussianMixture::default().n_components(2).max_iter(500);
    check([
        &NearestNeighbors::default().algorithm(NeighborAlgorithm::KdTree) as &dyn Estimator,
        &NearestNeighbors::default().metric(Metric::Manhattan),
        &NearestNeighbors::default().metric(Metric::Cosine),
        &KNeighborsClassifier::default().weights(NeighborWeights::Distance).metric(Metric::Manhattan),
        &KNeighborsClassifier::default().n_neighbors(1).algorithm(NeighborAlgorithm::KdTree),
        &KNeighborsClassifier::default().metric(Metric::Cosine),
        &KNeighborsRegressor::default().weights(NeighborWeights::Distance).algorithm(NeighborAlgorithm::KdTree),
        &KMeans::default().n_clusters(2).init(Init::Random).n_init(30).algorithm(KMeansAlgorithm::Lloyd),
        &Dbscan::default().eps(1.5),
        &Hdbscan::default().min_cluster_size(4).min_samples(Some(2)).allow_single_cluster(true),
        &AgglomerativeClustering::default().linkage(Linkage::Single).distance_threshold(Some(1.0)),
        &mixture.clone().covariance_type(CovarianceType::Diag),
        &mixture.clone().covariance_type(CovarianceType::Tied).init_params(MixtureInit::RandomFromData),
        &mixture.covariance_type(CovarianceType::Spherical),
        &Pca::default().n_components(2.into()).svd_solver(SvdSolver::Full).whiten(true),
        &Pca::default().n_components(2.into()).svd_solver(SvdSolver::Randomized),
        &Pipeline::of(StandardScaler::default()).then(KNeighborsClassifier::default()),
        &Pipeline::of(StandardScaler::default()).then(NearestNeighbors::default()),
    ]);
}
