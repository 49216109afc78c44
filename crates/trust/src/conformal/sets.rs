//! Sets of classes, and what is claimed of their coverage.

use std::fmt;

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::json::Reader;
use crate::input::{codes, reals};
use crate::{Result, TrustError};

/// What is claimed of the coverage of sets or intervals; its text names the assumption.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CoverageClaim {
    /// Nothing.
    None,
    /// Holds for a random row, averaged over all rows and calibration sets.
    Marginal {
        /// The least probability that the truth is covered.
        level: f64,
    },
    /// Holds for the rows of each class.
    ByClass {
        /// The least probability that the truth is covered.
        level: f64,
    },
    /// Holds for the rows of each group.
    ByGroup {
        /// The least probability that the truth is covered.
        level: f64,
    },
    /// Holds for rows from a shifted distribution of features.
    Shifted {
        /// The least probability that the truth is covered.
        level: f64,
    },
}

impl CoverageClaim {
    /// The least probability that the truth is covered, if any is claimed.
    pub fn level(self) -> Option<f64> {
        match self {
            CoverageClaim::None => None,
            CoverageClaim::Marginal { level }
            | CoverageClaim::ByClass { level }
            | CoverageClaim::ByGroup { level }
            | CoverageClaim::Shifted { level } => Some(level),
        }
    }

    fn name(self) -> &'static str {
        match self {
            CoverageClaim::None => "none",
            CoverageClaim::Marginal { .. } => "marginal",
            CoverageClaim::ByClass { .. } => "class",
            CoverageClaim::ByGroup { .. } => "group",
            CoverageClaim::Shifted { .. } => "shifted",
        }
    }

    /// As JSON: `{"by": …, "level": …}`.
    pub fn to_json(self) -> Value {
        json!({"by": self.name(), "level": self.level()})
    }

    /// Reads what [`CoverageClaim::to_json`] wrote.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn from_json(value: &Value) -> Result<CoverageClaim> {
        let reader = Reader::plain("CoverageClaim", value)?;
        let name = reader.text("by")?;
        if name == "none" {
            return Ok(CoverageClaim::None);
        }
        let level = reader.fraction("level")?;
        match name {
            "marginal" => Ok(CoverageClaim::Marginal { level }),
            "class" => Ok(CoverageClaim::ByClass { level }),
            "group" => Ok(CoverageClaim::ByGroup { level }),
            "shifted" => Ok(CoverageClaim::Shifted { level }),
            _ => Err(reader.invalid(format!("the claim \"{name}\" is unknown"))),
        }
    }
}

impl fmt::Display for CoverageClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(level) = self.level() else { return write!(f, "nothing is claimed of the coverage") };
        let percent = (level * 1e8).round() / 1e6;
        write!(f, "the truth is covered with probability at least {percent} %")?;
        match self {
            CoverageClaim::ByClass { .. } => {
                write!(
                    f,
                    " in each class, provided that new rows of a class are exchangeable with its calibration rows"
                )
            }
            CoverageClaim::ByGroup { .. } => {
                write!(
                    f,
                    " in each group, provided that new rows of a group are exchangeable with its calibration rows"
                )
            }
            CoverageClaim::Shifted { .. } => write!(
                f,
                ", provided that only the distribution of the features has changed and that the weights are its true likelihood ratio"
            ),
            _ => write!(
                f,
                " on average over rows, provided that new rows are exchangeable with the calibration rows (not for every kind of row)"
            ),
        }
    }
}

/// A set of classes for each row.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::ThresholdSets;
/// let sets = ThresholdSets::new(0.3)?.sets(&Tensor::from([[0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]))?;
/// assert_eq!((sets.classes_of(0), sets.classes_of(1)), (vec![0, 1], vec![2]));
/// assert_eq!(sets.sizes(), [2, 1]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionSets {
    members: Vec<bool>,
    classes: usize,
    claim: CoverageClaim,
}

impl PredictionSets {
    pub(super) fn of(members: Vec<bool>, classes: usize, claim: CoverageClaim) -> PredictionSets {
        PredictionSets { members, classes, claim }
    }

    /// Sets made by any system, as a matrix of 0 and 1 (n, m); nothing is claimed of their coverage.
    ///
    /// # Errors
    /// If it is not a matrix of zeros and ones with at least one row and two columns.
    pub fn new(members: &Tensor) -> Result<PredictionSets> {
        const WHAT: &str = "PredictionSets";
        let (true, &[_, classes]) = (members.dims().get(1).is_some_and(|&m| m >= 2), members.dims()) else {
            let problem = format!("members of shape {}", members.shape());
            return Err(TrustError::data(WHAT, problem, "give a matrix with a row per sample and a column per class"));
        };
        let values = reals(WHAT, "members", members)?;
        if let Some(place) = values.iter().position(|&value| value != 0.0 && value != 1.0) {
            let problem = format!("row {} holds {}", place / classes, values[place]);
            return Err(TrustError::data(WHAT, problem, "give 1 for a class in the set, 0 for a class outside of it"));
        }
        let members = values.into_iter().map(|value| value == 1.0).collect();
        Ok(PredictionSets { members, classes, claim: CoverageClaim::None })
    }

    /// The same sets with a claim, for those that were made with one and read back from a table.
    #[must_use]
    pub fn claimed(self, claim: CoverageClaim) -> PredictionSets {
        PredictionSets { claim, ..self }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.members.len() / self.classes
    }

    /// Whether there are no rows; never true.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// For each class, whether it is in the set of this row.
    pub fn row(&self, row: usize) -> &[bool] {
        &self.members[row * self.classes..(row + 1) * self.classes]
    }

    /// The sets of all rows, one after the other.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, bool> {
        self.members.chunks_exact(self.classes)
    }

    /// The classes in the set of this row, in rising order.
    pub fn classes_of(&self, row: usize) -> Vec<usize> {
        self.row(row).iter().enumerate().filter(|member| *member.1).map(|member| member.0).collect()
    }

    /// The number of classes in each set.
    pub fn sizes(&self) -> Vec<usize> {
        self.rows().map(|row| row.iter().filter(|&&member| member).count()).collect()
    }

    /// For each row, whether the true class is in the set.
    ///
    /// # Errors
    /// If the labels are not class indices, one per row.
    pub fn covers(&self, labels: &Tensor) -> Result<Vec<bool>> {
        let labels = codes("PredictionSets", "labels", labels, self.len(), self.classes)?;
        Ok(self.rows().zip(labels).map(|(row, label)| row[label]).collect())
    }

    /// What is claimed of the coverage.
    pub fn claim(&self) -> CoverageClaim {
        self.claim
    }

    /// As a tensor of bool (n, m).
    pub fn tensor(&self) -> Tensor {
        Tensor::from_vec(self.members.clone(), [self.len(), self.classes])
    }
}

impl fmt::Display for PredictionSets {
    /// The mean size, and the claim if there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.members.iter().filter(|&&member| member).count() as f64 / self.len() as f64;
        write!(f, "{} sets of {size:.2} of {} classes on average", self.len(), self.classes)?;
        match self.claim {
            CoverageClaim::None => Ok(()),
            claim => write!(f, "; {claim}"),
        }
    }
}
