//! Fitted estimators that only answer queries.

use tove_learn::{Model, Predict};
use tove_tensor::{DType, Tensor};

use super::super::model::QueryModel;
use crate::{Result, TrustError};

const WHAT: &str = "ModelQueries";

/// Any fitted estimator as a [`QueryModel`]: its decision scores, or else its probabilities. A regression gives its
/// prediction, whose sign decides between two classes.
///
/// ```
/// use tove_learn::{Fit, KNeighborsClassifier};
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::{ModelQueries, QueryModel};
/// let (x, y) = (Tensor::from([[0.0], [1.0], [8.0], [9.0]]), Tensor::from([5i64, 5, 7, 7]));
/// let model = KNeighborsClassifier::default().n_neighbors(1).fit(&x, &y)?;
/// let queries = ModelQueries::new(&model);
/// assert_eq!(queries.query_labels(&x)?, [0, 0, 1, 1]); // positions among the classes 5 and 7
/// assert_eq!(queries.codes(&y)?.to_vec::<i64>(), [0, 0, 1, 1]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
pub struct ModelQueries<'a>(&'a dyn Model);

impl<'a> ModelQueries<'a> {
    /// Queries of a fitted model.
    pub fn new(model: &'a dyn Model) -> ModelQueries<'a> {
        ModelQueries(model)
    }

    /// The classes of labels as positions among the classes of the model, which attacks take.
    ///
    /// # Errors
    /// A label that the model does not know.
    pub fn codes(&self, labels: &Tensor) -> Result<Tensor> {
        codes(WHAT, self.0.classes(), labels)
    }
}

impl QueryModel for ModelQueries<'_> {
    fn query_scores(&self, x: &Tensor) -> Result<Tensor> {
        let (capabilities, classes) = (self.0.capabilities(), self.0.classes().len());
        if classes == 0 && capabilities.regresses() {
            return Ok(self.0.predict(x)?);
        }
        if capabilities.decision_function {
            let scores = self.0.decision_function(x)?;
            if scores.rank() == 1 || scores.dims()[1] == classes {
                return Ok(scores);
            }
        }
        if capabilities.probabilities {
            return Ok(self.0.predict_proba(x)?);
        }
        let fix = "use an attack on labels, such as `BoundaryAttack`";
        Err(TrustError::unsupported(WHAT, format!("{} has no score per class", self.0.name()), fix))
    }

    fn query_labels(&self, x: &Tensor) -> Result<Vec<usize>> {
        let predicted = self.0.predict(x)?;
        let classes = self.0.classes();
        if classes.is_empty() {
            return Ok(predicted.to_f64_vec().into_iter().map(|value| usize::from(value > 0.0)).collect());
        }
        let labels = predicted.to_dtype(DType::I64).try_to_vec::<i64>()?;
        Ok(labels.iter().map(|label| classes.partition_point(|class| class < label)).collect())
    }
}

/// Labels as positions among the classes, which ascend.
pub(super) fn codes(what: &'static str, classes: &[i64], labels: &Tensor) -> Result<Tensor> {
    let given = labels.to_dtype(DType::I64).try_to_vec::<i64>()?;
    let code = |(row, label): (usize, &i64)| {
        classes.binary_search(label).map(|code| code as i64).map_err(|_| {
            let problem = format!("label {label} in row {row} is not among the classes {classes:?} of the model");
            TrustError::data(what, problem, "give labels that the model was fitted with")
        })
    };
    let codes: Result<Vec<i64>> = given.iter().enumerate().map(code).collect();
    Ok(Tensor::from_slice(&codes?))
}
