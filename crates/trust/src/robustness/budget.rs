//! A model behind a counter of queries, which refuses more than allowed.

use std::cell::Cell;

use tove_tensor::Tensor;

use super::model::{AttackLoss, QueryModel, class_scores};
use super::rows::Batch;
use crate::{Result, TrustError};

/// Counts the rows that a model is asked about, and refuses to go beyond a limit.
///
/// Black-box attacks wrap their models in one, so that no attack sees more answers than its budget. It also shows what any
/// other code asks for.
///
/// ```
/// use tove_tensor::{Tensor, TryUnary};
/// use tove_trust::robustness::{QueryCounter, QueryModel};
/// let model = |x: &Tensor| Ok(x.try_sin()?);
/// let counter = QueryCounter::new(&model, 3);
/// let x = Tensor::from([[0.1], [0.2]]);
/// assert!(counter.query_labels(&x).is_ok());
/// assert_eq!((counter.used(), counter.left()), (2, 1));
/// assert!(counter.query_labels(&x).is_err()); // nothing was asked
/// assert_eq!(counter.used(), 2);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
pub struct QueryCounter<'a> {
    model: &'a dyn QueryModel,
    limit: u64,
    used: Cell<u64>,
}

impl<'a> QueryCounter<'a> {
    /// A counter with a limit of rows.
    pub fn new(model: &'a dyn QueryModel, limit: u64) -> QueryCounter<'a> {
        QueryCounter { model, limit, used: Cell::new(0) }
    }

    /// Rows asked about so far.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    /// Rows that may still be asked about.
    pub fn left(&self) -> u64 {
        self.limit - self.used.get()
    }

    fn spend(&self, x: &Tensor) -> Result<()> {
        let rows = x.dims().first().copied().unwrap_or(1) as u64;
        if rows > self.left() {
            let problem = format!("{rows} queries were asked for, but {} of {} are left", self.left(), self.limit);
            return Err(TrustError::argument("QueryCounter", format!("{problem}; allow more queries")));
        }
        self.used.set(self.used.get() + rows);
        Ok(())
    }
}

impl QueryModel for QueryCounter<'_> {
    fn query_scores(&self, x: &Tensor) -> Result<Tensor> {
        self.spend(x)?;
        self.model.query_scores(x)
    }

    fn query_labels(&self, x: &Tensor) -> Result<Vec<usize>> {
        self.spend(x)?;
        self.model.query_labels(x)
    }
}

/// What scores say about rows: losses, and whether the largest score belongs to another class than the label.
pub(super) struct Answers {
    pub(super) losses: Vec<f64>,
    pub(super) wrong: Vec<bool>,
}

/// Rows that go through the model together.
const CHUNK: usize = 4096;

/// Asks for the scores of points, row after row, and computes the losses for the labels.
pub(super) fn ask_all(
    what: &'static str,
    model: &dyn QueryModel,
    batch: &Batch,
    points: Vec<f64>,
    labels: &[usize],
    loss: AttackLoss,
) -> Result<Answers> {
    let mut all = Answers { losses: Vec::with_capacity(labels.len()), wrong: Vec::with_capacity(labels.len()) };
    for (points, labels) in points.chunks(CHUNK * batch.width()).zip(labels.chunks(CHUNK)) {
        let x = batch.tensor_of_rows(points.to_vec(), labels.len())?;
        let scores = class_scores(what, model.query_scores(&x)?)?;
        let losses = loss.of(&scores, &super::gradient::mask(what, &scores, labels)?)?.to_f64_vec();
        if let Some(row) = losses.iter().position(|loss| loss.is_nan()) {
            let problem = format!("the scores of query {row} are not finite");
            return Err(TrustError::data(what, problem, "scale the inputs, or restrict them with `InputRules::range`"));
        }
        all.wrong.extend(super::model::decisions(&scores).iter().zip(labels).map(|(a, b)| a != b));
        all.losses.extend(losses);
    }
    Ok(all)
}
