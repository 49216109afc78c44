//! Declares which inputs an estimator accepts and which outputs its fitted model provides.
//!
//! Generic code (the contract checks, pipelines, searches, tables, the command line, the server) reads the declaration
//! instead of probing. An estimator starts from one of the constants and overrides what differs.
//!
//! ```
//! use tove_learn::{Capabilities, Estimator, LogisticRegression, StandardScaler};
//! let capabilities = LogisticRegression::default().capabilities();
//! assert!(capabilities.classifies() && capabilities.probabilities && !capabilities.transform);
//! assert!(StandardScaler::default().capabilities().transform);
//! const MINE: Capabilities = Capabilities { weights: true, ..Capabilities::REGRESSOR };
//! assert!(MINE.regresses() && MINE.needs_targets());
//! ```

/// The targets that `fit` accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// None: targets are ignored if given.
    Ignored,
    /// Real numbers.
    Numbers,
    /// Class labels.
    Classes,
    /// Numbers or class labels.
    Any,
}

/// The output of `predict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictions {
    /// None: the model does not predict.
    None,
    /// Real numbers.
    Numbers,
    /// Class labels.
    Classes,
    /// Cluster indices from 0; −1 for outliers.
    Clusters,
}

/// The inputs that an estimator accepts and the outputs that its fitted model provides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capabilities {
    /// The targets that `fit` accepts.
    pub targets: Targets,
    /// Whether all targets must be positive.
    pub positive_targets: bool,
    /// Multiple outputs (several target columns).
    pub multi_output: bool,
    /// More than two classes.
    pub multiclass: bool,
    /// Sample weights.
    pub weights: bool,
    /// Sparse rows, without conversion to dense.
    pub sparse: bool,
    /// NaN as a missing value.
    pub missing: bool,
    /// Whether `transform` replaces all missing values, so that later steps see none.
    pub fills: bool,
    /// Whether a zero says that nothing was observed, as in counts of implicit feedback.
    pub zeros_missing: bool,
    /// Incremental fitting on batches (`partial_fit`).
    pub partial_fit: bool,
    /// Fitting on batches that come again in several passes, as long as [`Learner::end_pass`](crate::Learner::end_pass) asks for another.
    pub passes: bool,
    /// Continuing from a fitted model of the same kind ([`Fit::fit_from`](crate::Fit::fit_from)).
    pub warm_start: bool,
    /// Whether a fit needs means and Gram matrix alone ([`LinearMoments`](crate::linear::LinearMoments)), which are computed once for
    /// each fold and shared by all penalties.
    pub moments: bool,
    /// Whether features must not be negative.
    pub nonnegative: bool,

    /// The output of `predict`.
    pub predictions: Predictions,
    /// Class probabilities, or cluster probabilities (`predict_proba`).
    pub probabilities: bool,
    /// Decision scores (`decision_function`).
    pub decision_function: bool,
    /// Transformed features (`transform`).
    pub transform: bool,
    /// The inverse transformation (`inverse_transform`).
    pub inverse_transform: bool,
    /// The log-likelihood of each sample (`score_samples`).
    pub score_samples: bool,
    /// The nearest of the stored samples (`kneighbors`, `radius_neighbors`).
    pub neighbors: bool,

    /// Whether the result is independent of the sample order, up to `accuracy`.
    pub order_free: bool,
    /// Largest relative difference between the predictions of two fits of the same problem, due to stopping rules and rounding.
    pub accuracy: f64,
    /// Whether `fit` itself detects non-finite features, so that they need not be checked beforehand.
    pub checks_finite: bool,
    /// Whether `fit` delegates to other estimators, which check the magnitude of the values themselves.
    pub delegates: bool,
    /// Whether a fit that is stopped by a time limit ([`until`](tove_optim::until)) returns a usable model: every
    /// iterate is a valid model, and later ones tend to be better.
    pub anytime: bool,
}

impl Capabilities {
    /// Dense features, no targets, no outputs, an exact solution.
    const NOTHING: Capabilities = Capabilities {
        targets: Targets::Ignored,
        positive_targets: false,
        multi_output: false,
        multiclass: false,
        weights: false,
        sparse: false,
        missing: false,
        fills: false,
        zeros_missing: false,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        nonnegative: false,
        predictions: Predictions::None,
        probabilities: false,
        decision_function: false,
        transform: false,
        inverse_transform: false,
        score_samples: false,
        neighbors: false,
        order_free: true,
        accuracy: 1e-8,
        checks_finite: false,
        delegates: false,
        anytime: false,
    };

    /// Predicts one number per sample.
    pub const REGRESSOR: Capabilities =
        Capabilities { targets: Targets::Numbers, predictions: Predictions::Numbers, ..Capabilities::NOTHING };

    /// Predicts one of two or more classes.
    pub const CLASSIFIER: Capabilities = Capabilities {
        targets: Targets::Classes,
        predictions: Predictions::Classes,
        multiclass: true,
        ..Capabilities::NOTHING
    };

    /// Transforms features and ignores targets.
    pub const TRANSFORMER: Capabilities = Capabilities { transform: true, ..Capabilities::NOTHING };

    /// Stores samples and answers neighbor queries, without predicting.
    pub const INDEX: Capabilities = Capabilities { neighbors: true, ..Capabilities::NOTHING };

    /// Clusters samples.
    pub const CLUSTERER: Capabilities = Capabilities { predictions: Predictions::Clusters, ..Capabilities::NOTHING };

    /// Whether the model predicts at all.
    pub const fn predicts(&self) -> bool {
        !matches!(self.predictions, Predictions::None)
    }

    /// Whether the model predicts classes.
    pub const fn classifies(&self) -> bool {
        matches!(self.predictions, Predictions::Classes)
    }

    /// Whether the model predicts numbers.
    pub const fn regresses(&self) -> bool {
        matches!(self.predictions, Predictions::Numbers)
    }

    /// Whether the model predicts clusters.
    pub const fn clusters(&self) -> bool {
        matches!(self.predictions, Predictions::Clusters)
    }

    /// Whether `fit` needs targets.
    pub const fn needs_targets(&self) -> bool {
        !matches!(self.targets, Targets::Ignored)
    }

    /// Whether both predict the same kind of output.
    pub fn predicts_like(&self, other: &Capabilities) -> bool {
        self.predictions == other.predictions
    }

    /// Name of the kind: regressor, classifier, clusterer, transformer, index.
    pub const fn kind(&self) -> &'static str {
        match self.predictions {
            Predictions::Numbers => "regressor",
            Predictions::Classes => "classifier",
            Predictions::Clusters => "clusterer",
            Predictions::None if self.neighbors && !self.transform => "index",
            Predictions::None => "transformer",
        }
    }
}
