//! The fitted type of all linear classifiers with scores z = W x + b.

use tove_tensor::Tensor;

use super::linear::{Linear, Soft};
use crate::{About, Algorithm, Fitted, LearnError, Model, Record, Result, Rows, Summary};

/// An estimator whose fitted model is a linear classifier.
pub trait LinearClassifier: Algorithm {
    /// The map from scores to probabilities, if there is one.
    fn soft(&self) -> Option<Soft>;
}

/// A fitted linear classifier of the estimator `E`.
///
/// ```
/// use tove_learn::{Fit, LogisticRegression, Model};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), Tensor::from([3i64, 4, 5]));
/// let model = LogisticRegression::default().fit(&x, &y)?;
/// assert_eq!((model.coef().dims(), model.intercept().dims(), model.classes()), (&[3, 2][..], &[3][..], &[3, 4, 5][..]));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = E, bound = "E: LinearClassifier", complete = FittedLinearClassifier::matched)]
pub struct FittedLinearClassifier<E> {
    about: About,
    settings: E,
    #[fitted(flatten)]
    linear: Linear,
}

impl<E: Algorithm> FittedLinearClassifier<E> {
    /// The weights of each score, with its intercept behind them if there is one.
    pub(crate) fn parameters(&self, intercept: bool) -> Vec<f64> {
        let (coef, intercepts) = (self.linear.coef.to_f64_vec(), self.linear.intercept.to_f64_vec());
        let rows = coef.chunks_exact(self.linear.width()).zip(intercepts);
        rows.flat_map(|(row, own)| row.iter().copied().chain(intercept.then_some(own))).collect()
    }

    pub(crate) fn new(settings: &E, classes: &[i64], linear: Linear, summary: Summary) -> FittedLinearClassifier<E> {
        let about = About::new(settings, linear.width(), linear.dtype());
        FittedLinearClassifier { about: about.classes(classes).summary(summary), settings: settings.clone(), linear }
    }

    fn matched(self, record: &Record) -> Result<FittedLinearClassifier<E>> {
        self.linear.require_classes(record, &self.about.classes)?;
        Ok(self)
    }

    /// The weights: (1, d) for two classes, (m, d) for more.
    pub fn coef(&self) -> &Tensor {
        &self.linear.coef
    }

    /// The intercepts: one, or one per class.
    pub fn intercept(&self) -> &Tensor {
        &self.linear.intercept
    }
}

impl<E: LinearClassifier> Model for FittedLinearClassifier<E> {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.predict(x, self.classes())
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.decision(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        match self.settings.soft() {
            Some(rule) => self.linear.probabilities(x, rule),
            None => {
                let fix = "choose the loss log_loss or modified_huber, or use `decision_function`";
                Err(LearnError::unsupported(
                    E::NAME,
                    "does not provide probabilities: its loss is not a likelihood",
                    fix,
                ))
            }
        }
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.linear.coef)
    }
}
