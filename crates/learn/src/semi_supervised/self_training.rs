//! Self-training: a classifier labels the samples it is most confident of, and is fitted again with them (Yarowsky 1995).
//!
//! As scikit-learn's `SelfTrainingClassifier`: in each round the classifier is fitted to the labeled samples, predicts the others,
//! and those whose largest probability is above the threshold, or the k most confident ones, keep their prediction as a label.
//!
//! ```
//! use tove_learn::semi_supervised::SelfTrainingClassifier;
//! use tove_learn::{Fit, LogisticRegression, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]]);
//! let model = SelfTrainingClassifier::new(LogisticRegression::default()).fit(&x, &Tensor::from([0i64, -1, -1, -1, -1, 1]))?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 0, 1, 1, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;

use super::known;
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Fitted, LogisticRegression, Model, Predict, Result, Rows, Samples,
    Stop, Summary,
};

/// Which predictions become labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum SelectionCriterion {
    /// Those with a probability above the threshold.
    #[default]
    Threshold,
    /// The k most confident ones.
    KBest,
}

/// Adds confident predictions of a classifier to its training labels.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct SelfTrainingClassifier {
    /// The classifier; it must provide probabilities.
    #[hyper(default = Box::new(LogisticRegression::default()))]
    pub estimator: Box<dyn Estimator>,
    /// Which predictions become labels.
    #[hyper(default = SelectionCriterion::Threshold)]
    pub criterion: SelectionCriterion,
    /// Probability from which a prediction becomes a label.
    #[hyper(default = 0.75, range = "[0, 1)")]
    pub threshold: f64,
    /// Predictions per round that become labels, for `k_best`.
    #[hyper(default = 10, range = "[1, inf)")]
    pub k_best: usize,
    /// Maximum number of rounds.
    #[hyper(default = 10, range = "[1, inf)")]
    pub max_iter: usize,
}

fn check(settings: &SelfTrainingClassifier) -> Result<(), SettingError> {
    let own = settings.estimator.capabilities();
    if own.classifies() && own.probabilities {
        return Ok(());
    }
    let problem = match own.classifies() {
        true => format!("{} provides no probabilities", settings.estimator.name()),
        false => format!("{} is a {}", settings.estimator.name(), own.kind()),
    };
    let fix = "give a classifier with probabilities, such as LogisticRegression";
    Err(SettingError::conflict(SelfTrainingClassifier::NAME, "estimator", problem, fix))
}

impl SelfTrainingClassifier {
    /// Self-training of this classifier.
    pub fn new(estimator: impl Estimator + 'static) -> SelfTrainingClassifier {
        SelfTrainingClassifier { estimator: estimator.duplicate(), ..SelfTrainingClassifier::default() }
    }
}

/// A fitted [`SelfTrainingClassifier`].
#[derive(Fitted)]
#[fitted(estimator = SelfTrainingClassifier)]
pub struct FittedSelfTraining {
    about: About,
    #[fitted(hidden)]
    model: Box<dyn Model>,
    /// The label of each sample of the fit; −1 for those that stayed unlabeled.
    #[fitted(shape = "samples")]
    transduction: Vec<i64>,
    /// The round in which each sample was labeled: 0 for given labels, −1 for those that stayed unlabeled.
    #[fitted(shape = "samples")]
    labeled_iter: Vec<i64>,
}

impl FittedSelfTraining {
    /// The classifier of the last round.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }
}

impl Algorithm for SelfTrainingClassifier {
    type Fitted = FittedSelfTraining;
    const CAPABILITIES: Capabilities = capabilities(LogisticRegression::CAPABILITIES);

    fn capabilities_of(settings: &SelfTrainingClassifier) -> Capabilities {
        capabilities(settings.estimator.capabilities())
    }

    fn train(&self, samples: &Samples) -> Result<FittedSelfTraining> {
        let (classes, codes) = known(Self::NAME, samples.y()?)?;
        let mut labels: Vec<Option<i64>> = codes.iter().map(|code| code.map(|code| classes[code])).collect();
        let mut round_of: Vec<i64> = labels.iter().map(|label| if label.is_some() { 0 } else { -1 }).collect();
        let fit = |labels: &[Option<i64>]| -> Result<Box<dyn Model>> {
            let rows: Vec<usize> = (0..labels.len()).filter(|&row| labels[row].is_some()).collect();
            let y: Vec<i64> = rows.iter().filter_map(|&row| labels[row]).collect();
            self.estimator.fit_samples(&samples.take(&rows)?.with_y(&Tensor::from(y))?)
        };
        let mut model = fit(&labels)?;
        let mut rounds = 0;
        while rounds < self.max_iter && !tove_optim::interrupted() {
            let rest: Vec<usize> = (0..labels.len()).filter(|&row| labels[row].is_none()).collect();
            if rest.is_empty() {
                break;
            }
            let chosen = self.confident(&*model, &samples.take(&rest)?, &rest)?;
            if chosen.is_empty() {
                break;
            }
            rounds += 1;
            for (row, label) in chosen {
                (labels[row], round_of[row]) = (Some(label), rounds as i64);
            }
            model = fit(&labels)?;
        }
        // No further sample is confident, or all are labeled.
        let converged = rounds < self.max_iter && !tove_optim::interrupted() || labels.iter().all(Option::is_some);
        let stop = match (converged, rounds < self.max_iter) {
            (true, _) => Stop::Unchanged,
            (false, early) => Stop::of(false, early),
        };
        let mut summary = Summary { iterations: rounds, converged, stop: Some(stop), ..Summary::default() };
        summary.warnings.clone_from(&model.summary().warnings);
        Ok(FittedSelfTraining {
            about: About::of(self, samples).classes(model.classes()).summary(summary),
            transduction: labels.iter().map(|label| label.unwrap_or(super::UNLABELED)).collect(),
            labeled_iter: round_of,
            model,
        })
    }
}

const fn capabilities(inner: Capabilities) -> Capabilities {
    // What becomes a label may turn on a rounding error; copies of a sample are several of the k best.
    Capabilities {
        order_free: false,
        weights: inner.weights,
        delegates: true,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        decision_function: inner.decision_function,
        transform: false,
        inverse_transform: false,
        ..inner
    }
}

impl SelfTrainingClassifier {
    /// Rows whose predictions become labels, with those.
    fn confident(&self, model: &dyn Model, rest: &Samples, rows: &[usize]) -> Result<Vec<(usize, i64)>> {
        let probabilities = model.predict_proba(rest.x())?.to_f64_vec();
        let best = |row: &[f64]| {
            let code = (0..row.len()).fold(0, |best, code| if row[code] > row[best] { code } else { best });
            (row[code], code)
        };
        let found: Vec<(f64, usize)> = probabilities.chunks(model.classes().len()).map(best).collect();
        let mut order: Vec<usize> = match self.criterion {
            SelectionCriterion::Threshold => (0..found.len()).filter(|&at| found[at].0 > self.threshold).collect(),
            SelectionCriterion::KBest => (0..found.len()).collect(),
        };
        if self.criterion == SelectionCriterion::KBest {
            order.sort_by(|&a, &b| found[b].0.total_cmp(&found[a].0).then(a.cmp(&b)));
            order.truncate(self.k_best);
        }
        Ok(order.into_iter().map(|at| (rows[at], model.classes()[found[at].1])).collect())
    }
}

impl Model for FittedSelfTraining {
    crate::fitted_methods!();

    fn longest_sum(&self) -> usize {
        self.model.longest_sum()
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.predict_rows(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.proba_rows(x)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.decision_rows(x)
    }
}
