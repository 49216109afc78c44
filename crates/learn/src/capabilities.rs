//! What estimators take and what their fitted models give, declared once.
//!
//! Generic code (the contract, pipelines, searches, tables, the program, the server) reads the declaration; nothing is found out by
//! trying. An estimator starts from one of the constants and names what differs.
//!
//! ```
//! use tove_learn::{Capabilities, Estimator, LogisticRegression, StandardScaler};
//! let capabilities = LogisticRegression::default().capabilities();
//! assert!(capabilities.classifies() && capabilities.probabilities && !capabilities.transform);
//! assert!(StandardScaler::default().capabilities().transform);
//! const MINE: Capabilities = Capabilities { weights: true, ..Capabilities::REGRESSOR };
//! assert!(MINE.regresses() && MINE.needs_targets());
//! ```

/// The targets that a fit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// None: they are not looked at when they are there.
    Ignored,
    /// Real numbers.
    Numbers,
    /// Labels of classes.
    Classes,
    /// Numbers or labels.
    Any,
}

/// What `predict` answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictions {
    /// Nothing: the model does not predict.
    None,
    /// Real numbers.
    Numbers,
    /// Labels of classes.
    Classes,
    /// Numbers of clusters, from 0; −1 for outliers.
    Clusters,
}

/// What an estimator takes and what its fitted model gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capabilities {
    /// The targets that the fit takes.
    pub targets: Targets,
    /// Whether targets must be positive numbers.
    pub positive_targets: bool,
    /// Several target columns at once.
    pub multi_output: bool,
    /// More than two classes.
    pub multiclass: bool,
    /// Sample weights.
    pub weights: bool,
    /// Sparse rows, without making them dense.
    pub sparse: bool,
    /// NaN as a missing value.
    pub missing: bool,
    /// Whether a transformation puts numbers in place of all missing values, so that what follows sees none.
    pub fills: bool,
    /// Data in pieces.
    pub partial_fit: bool,
    /// Whether features must not be negative.
    pub nonnegative: bool,

    /// What `predict` answers with.
    pub predictions: Predictions,
    /// Probabilities of classes, or of clusters (`predict_proba`).
    pub probabilities: bool,
    /// Scores behind the decisions (`decision_function`).
    pub decision_function: bool,
    /// Changed features (`transform`).
    pub transform: bool,
    /// Features as they were before the change (`inverse_transform`).
    pub inverse_transform: bool,
    /// The log-likelihood of each sample (`score_samples`).
    pub score_samples: bool,
    /// The nearest of the stored samples (`kneighbors`, `radius_neighbors`).
    pub neighbors: bool,

    /// Whether the order of the samples has no influence beyond `accuracy`.
    pub order_free: bool,
    /// How far answers of two fits to the same problem may lie apart, relative to their size: stopping rules and rounding.
    pub accuracy: f64,
    /// Whether the fit itself notices features that are not finite, so that they need not be looked through beforehand.
    pub checks_finite: bool,
    /// Whether the fit passes the samples on to other estimators, which check sizes of numbers themselves.
    pub delegates: bool,
    /// Whether a fit that is cut short by a time limit ([`until`](tove_optim::until)) leaves a model that is worth using: every
    /// iterate is a sensible model, and later ones tend to be better.
    pub anytime: bool,
}

impl Capabilities {
    /// Dense features, no targets, nothing given, an exact solution.
    const NOTHING: Capabilities = Capabilities {
        targets: Targets::Ignored,
        positive_targets: false,
        multi_output: false,
        multiclass: false,
        weights: false,
        sparse: false,
        missing: false,
        fills: false,
        partial_fit: false,
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

    /// Changes features, without looking at targets.
    pub const TRANSFORMER: Capabilities = Capabilities { transform: true, ..Capabilities::NOTHING };

    /// Stores samples and answers neighbor queries, without predicting.
    pub const INDEX: Capabilities = Capabilities { neighbors: true, ..Capabilities::NOTHING };

    /// Finds groups of samples.
    pub const CLUSTERER: Capabilities = Capabilities { predictions: Predictions::Clusters, ..Capabilities::NOTHING };

    /// Whether it predicts at all.
    pub const fn predicts(&self) -> bool {
        !matches!(self.predictions, Predictions::None)
    }

    /// Whether it predicts classes.
    pub const fn classifies(&self) -> bool {
        matches!(self.predictions, Predictions::Classes)
    }

    /// Whether it predicts numbers.
    pub const fn regresses(&self) -> bool {
        matches!(self.predictions, Predictions::Numbers)
    }

    /// Whether it predicts clusters.
    pub const fn clusters(&self) -> bool {
        matches!(self.predictions, Predictions::Clusters)
    }

    /// Whether a fit needs targets.
    pub const fn needs_targets(&self) -> bool {
        !matches!(self.targets, Targets::Ignored)
    }

    /// Whether both predict the same kind of answer.
    pub fn predicts_like(&self, other: &Capabilities) -> bool {
        self.predictions == other.predictions
    }

    /// In a word: regressor, classifier, clusterer, transformer, index.
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
