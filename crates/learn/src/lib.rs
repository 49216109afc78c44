//! Estimators, transformers, pipelines and model selection. Names, defaults and results follow scikit-learn.
//!
//! An estimator is a struct of hyperparameters. `fit` returns a separate type, so an unfitted model cannot predict.
//!
//! ```
//! use tove_learn::{DummyRegressor, Fit, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0], [2.0], [4.0]]), Tensor::from([1.0, 2.0, 6.0]));
//! let model = DummyRegressor::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<f64>(), [3.0, 3.0, 3.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`baseline`] | constant predictions |
//! | [`calibration`] | maps from scores to probabilities that match frequencies, recorded checks |
//! | [`cluster`] | clustering |
//! | [`decomposition`] | principal components, truncated singular value decomposition, nonnegative factors |
//! | [`discriminant`] | linear and quadratic discriminant analysis |
//! | [`factorization`] | matrices with missing entries, recommendations |
//! | [`naive_bayes`] | naive Bayes classifiers |
//! | [`neighbors`] | nearest neighbors: queries, classification, regression |
//! | [`logistic`] | logistic and softmax regression |
//! | [`sgd`] | linear models by stochastic gradient descent, the perceptron |
//! | [`contract`] | checks that every estimator must pass, including user-defined ones |
//! | [`diagnostics`] | drift, dependence, duplicates, over- and underfitting, risk, bias and variance |
//! | [`ensemble`] | bagging, voting, stacking, calibrated classifiers |
//! | [`features`] | scaling, imputation, encoding, discretization, power and quantile transforms, splines, feature selection |
//! | [`pipeline`] | pipelines and column transformers |
//! | [`linear`] | linear regression: ordinary, regularized, robust and Bayesian |
//! | [`kernel`] | kernels, kernel ridge regression |
//! | [`semi_supervised`] | few labels, many unlabeled samples |
//! | [`mixture`] | Gaussian mixtures |
//! | [`manifold`] | coordinates for pictures of data with many features (UMAP) |
//! | [`memory`] | memory estimates before large allocations |
//! | [`registry`] | all estimators by name |
//! | [`selection`] | splits, cross-validation, scorers, hyperparameter search, learning curves, generalization bounds |
//! | [`svm`] | support vector machines |
//! | [`words`] | word vectors, text classification |

// The derive macros refer to this crate by its external path.
extern crate self as tove_learn;

mod about;
mod attribute;
pub mod baseline;
mod blocks;
pub mod calibration;
mod capabilities;
mod class_weight;
pub mod cluster;
mod component;
pub mod contract;
mod csr;
pub mod decomposition;
pub mod diagnostics;
pub mod discriminant;
mod distance;
pub mod ensemble;
mod error;
mod estimator;
pub mod factorization;
pub mod features;
pub mod kernel;
mod labels;
pub mod linear;
pub mod logistic;
pub mod manifold;
pub mod memory;
pub mod mixture;
mod model;
pub mod naive_bayes;
pub mod neighbors;
mod partial;
pub mod pipeline;
mod reading;
mod real;
mod record;
pub mod registry;
mod row_sample;
mod rows;
mod samples;
pub mod selection;
pub mod semi_supervised;
pub mod sgd;
pub mod svm;
mod warning;
pub mod words;

pub use about::About;
pub use attribute::{Attribute, AttributeGroup, Attributes};
pub use baseline::{Centre, Constant, DummyClassifier, DummyRegressor, FittedDummyClassifier, FittedDummyRegressor};
pub use capabilities::{Capabilities, Predictions, Targets};
pub use class_weight::{ClassWeight, balanced};
pub use cluster::{AgglomerativeClustering, Dbscan, FittedKMeans, Hdbscan, KMeans, MiniBatchKMeans};
pub use component::Steps;
pub use csr::Csr;
pub use decomposition::{Components, FittedPca, IncrementalPca, Nmf, Pca, TruncatedSvd};
pub use discriminant::{
    FittedLinearDiscriminantAnalysis, FittedQuadraticDiscriminantAnalysis, LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
};
pub use error::{LearnError, Result};
pub use estimator::{Algorithm, Estimator, Fit};
pub use features::{
    Binarizer, Imputer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder,
    PolynomialFeatures, PowerTransformer, QuantileTransformer, RobustScaler, SelectKBest, SplineTransformer,
    StandardScaler, VarianceThreshold,
};
pub use kernel::{FittedKernelRidge, Gamma, KernelFunction, KernelKind, KernelRidge};
pub use labels::Labels;
pub use linear::{
    Alphas, ArdRegression, BayesianRidge, ElasticNet, ElasticNetCv, GammaRegressor, HuberRegressor, Lars, Lasso,
    LassoCv, LassoLars, LinearRegression, OrthogonalMatchingPursuit, PoissonRegressor, QuantileRegressor, Ridge,
    RidgeClassifier, RidgeCv, TweedieRegressor,
};
pub use logistic::{
    Cs, FittedLogisticRegression, FittedLogisticRegressionCv, FittedOneVsRest, LogisticRegression,
    LogisticRegressionCv, OneVsRest, Penalty, SoftmaxRegression, Solver,
};
pub use manifold::{FittedUmap, Umap};
pub use mixture::GaussianMixture;
pub use model::{Model, Predict, Restore, Stop, Summary, Transform, load, restore};
pub use naive_bayes::{
    BernoulliNb, ComplementNb, FittedBernoulliNb, FittedGaussianNb, FittedMultinomialNb, GaussianNb, MultinomialNb,
};
pub use neighbors::{KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors};
pub use partial::{AnyLearner, Learner, PartialFit, fit_passes};
pub use pipeline::{ColumnTransformer, FeatureUnion, FittedPipeline, Pipeline, Remainder};
pub use reading::{Field, Reading};
pub use real::Real;
pub use record::Record;
pub use rows::Rows;
pub use samples::Samples;
pub use sgd::{FittedPerceptron, FittedSgdClassifier, FittedSgdRegressor, Perceptron, SgdClassifier, SgdRegressor};
pub use svm::{
    FittedLinearSvc, FittedLinearSvr, FittedNuSvc, FittedNuSvr, FittedOneClassSvm, FittedSvc, FittedSvr, LinearSvc,
    LinearSvr, NuSvc, NuSvr, OneClassSvm, Svc, Svr,
};
pub use tove_macros::Fitted;
pub use warning::{on_warning, quietly, warn};
