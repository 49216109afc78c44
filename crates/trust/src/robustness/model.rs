//! What is attacked: a model whose scores can be differentiated by its input, or one that only answers queries.
//!
//! Scores have a column per class, (n, m), and the largest one decides; ties go to the first class. A model with one score
//! per row, (n) or (n, 1), decides between two classes: class 1 if the score is positive. It is read as the two scores
//! (0, z), whose cross-entropy is the logistic loss of z. Labels are the columns of the classes, from 0 on.

use tove_tensor::{Tensor, TryIndex, TryOps, TryReduce};

use crate::{Result, TrustError};

/// A model whose scores are a differentiable function of its input.
///
/// A closure `|x: &Tensor| -> Result<Tensor>` is one, too: it may be any computation with tensors, such as a transformer on
/// embeddings. The scores of a row must depend on this row only: batch norm has to be in evaluation.
///
/// ```
/// use tove_tensor::{Tensor, TryOps};
/// use tove_trust::robustness::{AttackLoss, input_gradient};
/// let w = Tensor::from([[1.0, -1.0], [0.0, 2.0]]); // (features, classes)
/// let linear = |x: &Tensor| Ok(x.try_matmul(&w)?);
/// let (x, label) = (Tensor::from([[3.0, 1.0]]), Tensor::from([0i64]));
/// // The margin loss is z₁ − z₀, and its gradient the difference of the columns.
/// assert_eq!(input_gradient(&linear, &x, &label, AttackLoss::Margin)?.to_vec::<f64>(), [-2.0, 2.0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
pub trait DifferentiableModel {
    /// Scores of a batch: (n, m), or (n) or (n, 1) for two classes.
    ///
    /// # Errors
    /// As the model refuses the batch.
    fn scores(&self, x: &Tensor) -> Result<Tensor>;

    /// The predicted class of each row, given its scores (n, m); by default the column of the largest.
    ///
    /// # Errors
    /// As the model refuses the batch.
    fn predicted(&self, x: &Tensor, scores: &Tensor) -> Result<Vec<usize>> {
        let _ = x;
        Ok(decisions(&class_scores("predicted", scores.clone())?))
    }
}

impl<F: Fn(&Tensor) -> Result<Tensor>> DifferentiableModel for F {
    fn scores(&self, x: &Tensor) -> Result<Tensor> {
        self(x)
    }
}

/// A model that answers queries: all that a black-box attack sees.
///
/// Every [`DifferentiableModel`] is one. [`ModelQueries`](super::ModelQueries) makes one of a fitted estimator, and
/// [`LabelsOnly`] hides the scores.
pub trait QueryModel {
    /// Scores or probabilities of a batch: (n, m), or (n) or (n, 1) for two classes.
    ///
    /// # Errors
    /// If the model shows labels only, or refuses the batch.
    fn query_scores(&self, x: &Tensor) -> Result<Tensor>;

    /// The predicted class of each row, as the column of its score.
    ///
    /// # Errors
    /// As the model refuses the batch.
    fn query_labels(&self, x: &Tensor) -> Result<Vec<usize>> {
        let scores = class_scores("query", self.query_scores(x)?)?;
        Ok(decisions(&scores))
    }
}

impl<M: DifferentiableModel + ?Sized> QueryModel for M {
    fn query_scores(&self, x: &Tensor) -> Result<Tensor> {
        tove_tensor::no_grad(|| Ok(self.scores(x)?.detach()))
    }

    fn query_labels(&self, x: &Tensor) -> Result<Vec<usize>> {
        let scores = class_scores("query", self.query_scores(x)?)?;
        self.predicted(x, &scores)
    }
}

/// A model of which only the predicted class is visible.
///
/// ```
/// use tove_tensor::{Tensor, TryUnary};
/// use tove_trust::robustness::{LabelsOnly, QueryModel};
/// let model = |x: &Tensor| Ok(x.try_sin()?);
/// let (hidden, x) = (LabelsOnly(&model), Tensor::from([[0.5, 1.0]]));
/// assert_eq!(hidden.query_labels(&x)?, [1]);
/// assert!(hidden.query_scores(&x).is_err());
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
pub struct LabelsOnly<'a>(pub &'a dyn QueryModel);

impl QueryModel for LabelsOnly<'_> {
    fn query_scores(&self, _: &Tensor) -> Result<Tensor> {
        let fix = "use an attack on labels, such as `BoundaryAttack`";
        Err(TrustError::unsupported("LabelsOnly", "only the predicted class is visible", fix))
    }

    fn query_labels(&self, x: &Tensor) -> Result<Vec<usize>> {
        self.0.query_labels(x)
    }
}

/// Scores (n, m) with m ≥ 2: one score z per row becomes (0, z).
pub(super) fn class_scores(what: &'static str, scores: Tensor) -> Result<Tensor> {
    match *scores.dims() {
        [_, classes] if classes >= 2 => Ok(scores),
        [_] | [_, 1] => {
            let z = scores.try_reshape([scores.numel(), 1])?;
            Ok(Tensor::try_concat(&[&z.detach().zeros_like(), &z], 1)?)
        }
        _ => {
            let problem = format!("the model gives scores of shape {}", scores.shape());
            Err(TrustError::data(what, problem, "give a row per sample with a score per class"))
        }
    }
}

/// The column of the largest score of each row; ties go to the first.
pub(super) fn decisions(scores: &Tensor) -> Vec<usize> {
    let classes = scores.dims()[1];
    let values = scores.to_f64_vec();
    let best = |row: &[f64]| (1..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
    values.chunks_exact(classes).map(best).collect()
}

/// The loss that an attack raises, as a function of the scores z and the class y. A positive margin loss, and only that, is
/// a wrong prediction (up to ties).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttackLoss {
    /// ln Σ exp(z) − z_y, the loss of training. Its gradient vanishes in the precision of the numbers where the model is very
    /// confident.
    #[default]
    CrossEntropy,
    /// max over k ≠ y of z_k, minus z_y: piecewise linear, never saturated.
    Margin,
    /// ln(1 + exp(margin)): smooth, and the logistic loss l(y g(x)) of two classes.
    Logistic,
}

impl AttackLoss {
    /// The name as written in reports.
    pub fn name(self) -> &'static str {
        match self {
            AttackLoss::CrossEntropy => "cross-entropy",
            AttackLoss::Margin => "margin loss",
            AttackLoss::Logistic => "logistic loss",
        }
    }

    /// The loss (n) of each row of scores (n, m) for the classes, given as a mask (n, m).
    pub(super) fn of(self, scores: &Tensor, classes: &Tensor) -> Result<Tensor> {
        let own = scores.try_masked_fill(&classes.try_logical_not()?, 0.0)?.try_sum_axes(&[1], false)?;
        match self {
            AttackLoss::CrossEntropy => Ok(scores.try_logsumexp(&[1], false)?.try_sub(&own)?),
            AttackLoss::Margin | AttackLoss::Logistic => {
                let others = scores.try_masked_fill(classes, f64::NEG_INFINITY)?.try_max_axes(&[1], false)?;
                let margin = others.try_sub(&own)?;
                Ok(if self == AttackLoss::Margin { margin } else { margin.softplus() })
            }
        }
    }
}
