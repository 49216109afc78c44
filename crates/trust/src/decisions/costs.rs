//! Decisions under unequal costs: predict the class whose expected cost is lowest.
//!
//! With C\[i\]\[j\] the cost of *predicting i when j is true* and p_j the probability of class j, predicting i costs Σⱼ Cᵢⱼ pⱼ on
//! average (Elkan 2001). The decision is optimal if the probabilities are calibrated; calibrate them first.
//!
//! Costs that do not depend on the prediction change nothing, so the largest cost of each column is subtracted before decisions
//! are compared: equal errors then give exactly the most probable class, ties included, without rounding.

use serde_json::{Value, json};
use tove_tensor::Tensor;

use crate::conformal::json::Reader;
use crate::input::reals;
use crate::{Probabilities, Result, TrustError};

const WHAT: &str = "CostMatrix";

/// The cost C\[i\]\[j\] of predicting class i when class j is true.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::decisions::CostMatrix;
/// // Missing class 1 costs 10, a false alarm costs 1.
/// let costs = CostMatrix::new(&Tensor::from([[0.0, 10.0], [1.0, 0.0]]))?;
/// let p = Tensor::from([[0.95, 0.05], [0.9, 0.1], [0.4, 0.6]]);
/// assert_eq!(costs.decide(&p)?.to_vec::<i64>(), [0, 1, 1]); // 1 if its probability is above 1/11
/// assert_eq!(costs.threshold()?, 1.0 / 11.0);
/// assert!(CostMatrix::new(&Tensor::from([[0.0, -1.0], [1.0, 0.0]])).is_err());
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CostMatrix {
    costs: Vec<f64>,
    classes: usize,
}

impl CostMatrix {
    /// From a square matrix with a row per predicted class and a column per true class.
    ///
    /// # Errors
    /// Not square; fewer than two classes; a cost that is negative or not finite.
    pub fn new(costs: &Tensor) -> Result<CostMatrix> {
        let classes = match *costs.dims() {
            [rows, columns] if rows == columns && rows >= 2 => rows,
            [rows, columns] if rows != columns => return Err(not_square(rows, columns)),
            _ => {
                let problem = format!("costs of shape {}", costs.shape());
                return Err(TrustError::data(WHAT, problem, "give a square matrix of at least two classes"));
            }
        };
        let values = reals(WHAT, "costs", costs)?;
        if let Some(place) = values.iter().position(|&cost| cost < 0.0) {
            let (predicted, truth) = (place / classes, place % classes);
            let problem = format!("the cost of predicting {predicted} when {truth} is true is {}", values[place]);
            let fix = "costs must not be negative; add a constant to the column of that true class, which changes no decision";
            return Err(TrustError::data(WHAT, problem, fix));
        }
        Ok(CostMatrix { costs: values, classes })
    }

    /// Cost 1 for every error, 0 otherwise: decisions are the most probable classes, expected cost is the error rate.
    ///
    /// # Errors
    /// Fewer than two classes.
    pub fn zero_one(classes: usize) -> Result<CostMatrix> {
        let cost = |place: usize| f64::from(u8::from(place / classes != place % classes));
        if classes < 2 {
            return Err(TrustError::argument(WHAT, format!("{classes} classes; give at least 2")));
        }
        Ok(CostMatrix { costs: (0..classes * classes).map(cost).collect(), classes })
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The cost of predicting one class when another is true.
    ///
    /// # Errors
    /// A class outside of 0 … m − 1.
    pub fn cost(&self, predicted: usize, truth: usize) -> Result<f64> {
        match predicted.max(truth) < self.classes {
            true => Ok(self.at(predicted, truth)),
            false => {
                let problem = format!("classes {predicted} and {truth} of {}; they are numbered from 0", self.classes);
                Err(TrustError::argument(WHAT, problem))
            }
        }
    }

    pub(super) fn at(&self, predicted: usize, truth: usize) -> f64 {
        self.costs[predicted * self.classes + truth]
    }

    /// The smallest and the largest cost.
    pub fn range(&self) -> (f64, f64) {
        self.costs
            .iter()
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), &cost| (least.min(cost), most.max(cost)))
    }

    /// Costs minus the largest of their column.
    fn relative(&self) -> Vec<f64> {
        let m = self.classes;
        let most = |truth: usize| (0..m).map(|predicted| self.at(predicted, truth)).fold(0.0, f64::max);
        let most: Vec<f64> = (0..m).map(most).collect();
        self.costs.iter().enumerate().map(|(place, cost)| cost - most[place % m]).collect()
    }

    pub(super) fn read(&self, what: &'static str, probabilities: &Tensor) -> Result<Probabilities> {
        let p = Probabilities::new(what, probabilities)?;
        if p.classes() == self.classes {
            return Ok(p);
        }
        let problem = format!("probabilities of {} classes and costs of {}", p.classes(), self.classes);
        Err(TrustError::data(what, problem, "give one row and one column of costs per class"))
    }

    /// The class of lowest expected cost for each row of probabilities (n, m), or (n) of the second of two classes; ties go to the
    /// first class. A tensor of i64.
    ///
    /// # Errors
    /// Invalid probabilities, or for another number of classes.
    pub fn decide(&self, probabilities: &Tensor) -> Result<Tensor> {
        let p = self.read("CostMatrix::decide", probabilities)?;
        let decisions: Vec<i64> = self.decisions(&p).into_iter().map(|class| class as i64).collect();
        Ok(Tensor::from_slice(&decisions))
    }

    pub(super) fn decisions(&self, p: &Probabilities) -> Vec<usize> {
        let relative = self.relative();
        let best = |row: &[f64]| {
            let cost = |costs: &[f64]| costs.iter().zip(row).map(|(cost, p)| cost * p).sum::<f64>();
            let mut costs = relative.chunks_exact(self.classes).map(cost).enumerate();
            let first = costs.next().unwrap_or((0, 0.0));
            costs.fold(first, |best, next| if next.1 < best.1 { next } else { best }).0
        };
        p.rows().map(best).collect()
    }

    /// The expected cost Σⱼ Cᵢⱼ pⱼ of predicting each class i, for each row: (n, m).
    ///
    /// # Errors
    /// As [`CostMatrix::decide`].
    pub fn expected_costs(&self, probabilities: &Tensor) -> Result<Tensor> {
        let p = self.read("CostMatrix::expected_costs", probabilities)?;
        let row = |p: &[f64]| -> Vec<f64> {
            self.costs
                .chunks_exact(self.classes)
                .map(|costs| costs.iter().zip(p).map(|(cost, p)| cost * p).sum())
                .collect()
        };
        Ok(Tensor::from_vec(p.rows().flat_map(row).collect::<Vec<f64>>(), [p.len(), self.classes]))
    }

    /// For two classes, the probability of class 1 above which it is predicted: (C₁₀ − C₀₀)/(C₁₀ − C₀₀ + C₀₁ − C₁₁).
    ///
    /// # Errors
    /// More than two classes; costs for which one class is cheaper whatever is true, or for which a wrong prediction is cheaper than
    /// the right one, so that there is no such threshold between 0 and 1.
    pub fn threshold(&self) -> Result<f64> {
        const WHAT: &str = "CostMatrix::threshold";
        if self.classes != 2 {
            let problem = format!("costs of {} classes", self.classes);
            return Err(TrustError::unsupported(
                WHAT,
                problem,
                "use `decide`; a threshold exists for two classes only",
            ));
        }
        let (false_alarm, miss) = (self.at(1, 0) - self.at(0, 0), self.at(0, 1) - self.at(1, 1));
        if false_alarm >= 0.0 && miss >= 0.0 && false_alarm + miss > 0.0 {
            return Ok(false_alarm / (false_alarm + miss));
        }
        let problem = format!(
            "predicting 1 instead of 0 costs {false_alarm} more if 0 is true, and {miss} less if 1 is true; there is not a threshold \
             above which 1 is cheaper"
        );
        Err(TrustError::data(WHAT, problem, "check the matrix: its rows are predictions, its columns the truth"))
    }

    /// As a tensor (m, m).
    pub fn tensor(&self) -> Tensor {
        Tensor::from_vec(self.costs.clone(), [self.classes, self.classes])
    }

    /// As JSON: a list of rows.
    pub fn to_json(&self) -> Value {
        json!({"costs": self.costs.chunks_exact(self.classes).collect::<Vec<_>>()})
    }

    /// Reads a list of rows, or an object with such a list as `costs`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tove_trust::decisions::CostMatrix;
    /// let costs = CostMatrix::from_json(&json!([[0, 5], [1, 0]]))?;
    /// assert_eq!(CostMatrix::from_json(&costs.to_json())?, costs);
    /// let error = CostMatrix::from_json(&json!([[0, 5], [1, 0], [2, 2]])).unwrap_err();
    /// assert!(error.to_string().contains("3 rows and 2 columns"));
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// Not a list of rows of numbers; otherwise as [`CostMatrix::new`].
    pub fn from_json(value: &Value) -> Result<CostMatrix> {
        let wrapped;
        let value = match value {
            Value::Array(_) => {
                wrapped = json!({"costs": value});
                &wrapped
            }
            other => other,
        };
        let reader = Reader::plain(WHAT, value)?;
        let rows = reader.list("costs")?;
        let row = |(number, row): (usize, &Value)| {
            let wrong = || reader.invalid(format!("row {number} of the costs is not a list of finite numbers"));
            let cells = row.as_array().ok_or_else(wrong)?;
            cells.iter().map(|cell| cell.as_f64().filter(|cost| cost.is_finite()).ok_or_else(wrong)).collect()
        };
        let rows = rows.iter().enumerate().map(row).collect::<Result<Vec<Vec<f64>>>>()?;
        if let Some(odd) = rows.iter().find(|row| row.len() != rows.len()) {
            return Err(not_square(rows.len(), odd.len()));
        }
        CostMatrix::new(&Tensor::from_vec(rows.concat(), [rows.len(), rows.len()]))
    }
}

#[cold]
fn not_square(rows: usize, columns: usize) -> TrustError {
    let problem = format!("{rows} rows and {columns} columns");
    TrustError::data(WHAT, problem, "give a row per predicted class and a column per true class")
}
