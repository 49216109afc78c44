//! Proper scoring rules of predicted probabilities: both are minimized in expectation by the true ones.
//!
//! Probabilities are (n, C), rows summing to 1, or (n), the probability of class 1 of two.

use tove_tensor::{DType, Tensor};

use crate::classification::check_range;
use crate::read::{View, Weights, check_scores, dense};
use crate::{MetricError, Result, Score};

/// −mean ln p(true class). Probabilities below ε or above 1 − ε (ε the precision of their type) count as that, so that
/// one sure mistake does not make the score infinite; as in scikit-learn. The score is in nats and has no upper bound.
///
/// ```
/// use tove_metrics::log_loss;
/// use tove_tensor::Tensor;
/// let loss = log_loss(&Tensor::from([0i64, 1]), &Tensor::from([[0.5, 0.5], [0.25, 0.75]]), None)?;
/// assert!((loss.value + (0.5f64.ln() + 0.75f64.ln()) / 2.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, shapes do not fit, a class is out of range, or rows do not sum to 1.
pub fn log_loss(truth: &Tensor, probabilities: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "log_loss";
    let epsilon = probabilities.dtype().epsilon();
    let judged = Judged::new(WHAT, truth, probabilities, weights)?;
    let value = judged.mean(|row, class| -row(class).clamp(epsilon, 1.0 - epsilon).ln())?;
    Ok(Score::plain(value, judged.n))
}

/// The mean squared distance of the probabilities from the truth: for two classes mean (p − y)², from 0 to 1; for more
/// mean Σₖ (pₖ − 1{k true})², from 0 to 2, with Hoeffding's interval. As scikit-learn's `brier_score_loss`.
///
/// ```
/// use tove_metrics::brier_score;
/// use tove_tensor::Tensor;
/// let score = brier_score(&Tensor::from([1i64, 0]), &Tensor::from([0.8, 0.4]), None)?;
/// assert!((score.value - 0.1).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`log_loss`].
pub fn brier_score(truth: &Tensor, probabilities: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let judged = Judged::new("brier_score", truth, probabilities, weights)?;
    let classes = judged.classes.max(2);
    let distance = |row: &dyn Fn(usize) -> f64, class: usize| -> f64 {
        (0..classes).map(|k| row(k) - f64::from(u8::from(k == class))).map(|d| d * d).sum()
    };
    // Two classes err by the same amount: half of the sum is the error of one.
    let most = if classes == 2 { 1.0 } else { 2.0 };
    let value = judged.mean(distance)? * most / 2.0;
    Ok(Score::bounded(value, judged.n, judged.weights.effective, (0.0, most)))
}

/// Arguments in order.
pub(crate) struct Judged {
    truth: Tensor,
    probabilities: Tensor,
    pub(crate) weights: Weights,
    pub(crate) n: usize,
    /// 1 when only the probability of class 1 is given.
    pub(crate) classes: usize,
}

impl Judged {
    pub(crate) fn new(
        what: &'static str,
        truth: &Tensor,
        probabilities: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<Self> {
        let (n, classes) = check_scores(what, truth, probabilities, true)?;
        let weights = Weights::new(what, weights, n)?;
        let (truth, probabilities) = (dense(truth), dense(probabilities));
        check_range(what, &View::of(&truth)?, n, classes.max(2))?;
        check_distributions(what, &View::of(&probabilities)?, n, classes, probabilities.dtype())?;
        Ok(Self { truth, probabilities, weights, n, classes })
    }

    /// Calls `visit` with the probabilities of all classes, the true class and the weight of each sample.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[f64], usize, f64)) -> Result<()> {
        let (truth, probabilities) = (View::of(&self.truth)?, View::of(&self.probabilities)?);
        let weight = self.weights.get()?;
        let mut row = vec![0.0; self.classes.max(2)];
        for i in 0..self.n {
            if self.classes == 1 {
                row.copy_from_slice(&[1.0 - probabilities.real(i), probabilities.real(i)]);
            } else {
                (0..self.classes).for_each(|class| row[class] = probabilities.real(i * self.classes + class));
            }
            visit(&row, truth.whole(i) as usize, weight(i));
        }
        Ok(())
    }

    /// The weighted mean of a function of (probability by class, true class).
    fn mean(&self, value: impl Fn(&dyn Fn(usize) -> f64, usize) -> f64) -> Result<f64> {
        let (truth, probabilities) = (View::of(&self.truth)?, View::of(&self.probabilities)?);
        self.weights.mean(self.n, |i| {
            let row = |class: usize| match (self.classes, class) {
                (1, 0) => 1.0 - probabilities.real(i),
                (1, _) => probabilities.real(i),
                _ => probabilities.real(i * self.classes + class),
            };
            value(&row, truth.whole(i) as usize)
        })
    }
}

fn check_distributions(what: &'static str, view: &View<'_>, n: usize, classes: usize, dtype: DType) -> Result<()> {
    if let Some(index) = (0..n * classes).find(|&i| !(0.0..=1.0).contains(&view.real(i))) {
        let expected = "probabilities lie between 0 and 1; apply softmax or sigmoid to logits first";
        return Err(MetricError::Value { what, argument: "probability", index, value: view.real(index), expected });
    }
    if classes == 1 {
        return Ok(());
    }
    let sum = |row: usize| (0..classes).map(|class| view.real(row * classes + class)).sum::<f64>();
    let tolerance = dtype.epsilon().sqrt();
    match (0..n).find(|&row| (sum(row) - 1.0).abs() > tolerance) {
        Some(index) => {
            let expected = "the probabilities of a sample sum to 1";
            Err(MetricError::Value { what, argument: "the sum of row", index, value: sum(index), expected })
        }
        None => Ok(()),
    }
}
