//! One audit of any model: how far its answers can be trusted.
//!
//! An [`Audit`] takes the answers of a [`TabularModel`], or those of any other system, to rows
//! that were not used for fitting, and checks calibration, coverage of prediction sets, decisions under costs, robustness
//! and fairness. Every section begins with a verdict in plain language and ends with its assumptions.
//!
//! ```
//! use tove::audit::{Audit, AuditSubject, PredictionColumns};
//! use tove::data::table::CsvOptions;
//! let mut csv = String::from("y,P(no),P(yes)\n");
//! for i in 0..200 {
//!     let p = f64::from(i % 10) / 10.0 + 0.05;
//!     csv += &format!("{},{},{}\n", if i / 10 % 20 < (i % 10) * 2 + 1 { "yes" } else { "no" }, 1.0 - p, p);
//! }
//! let (table, _) = CsvOptions::new().read_bytes(csv.as_bytes())?;
//! let subject = AuditSubject::of_predictions(&table, "y", &PredictionColumns::default(), &[])?;
//! let report = Audit::new().run(&subject, &mut |_| {})?;
//! assert!(report.sections().iter().any(|section| section.name == "calibration"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod report;
mod section;
mod sections;
mod sensitive;
mod subject;

use tove_data::table::Table;
use tove_trust::decisions::CostMatrix;

pub use report::AuditReport;
pub use section::{AuditSection, AuditTable, AuditVerdict};
pub use sections::usual_method as usual_calibration;
pub use sensitive::SensitiveColumn;
pub use subject::{AuditSubject, PredictionColumns};

use crate::tabular::{Result, TabularError, TabularModel};

/// What to check, and how strictly.
#[derive(Clone, Debug)]
pub struct Audit {
    pub(crate) alpha: f64,
    pub(crate) costs: Option<CostMatrix>,
    pub(crate) eps: Option<Vec<f64>>,
    pub(crate) seed: u64,
}

impl Default for Audit {
    fn default() -> Audit {
        Audit { alpha: 0.1, costs: None, eps: None, seed: 0 }
    }
}

impl Audit {
    /// Coverage of 90 %, no costs, seed 0.
    pub fn new() -> Audit {
        Audit::default()
    }

    /// The share of prediction sets that may miss the truth.
    #[must_use]
    pub fn alpha(self, alpha: f64) -> Audit {
        Audit { alpha, ..self }
    }

    /// What wrong decisions cost.
    #[must_use]
    pub fn costs(self, costs: CostMatrix) -> Audit {
        Audit { costs: Some(costs), ..self }
    }

    /// Sizes of attacks: in standard deviations of the columns of a table, or of pixels between 0 and 1. By default 0.05 to 0.5 and 0.01 to
    /// 0.1.
    #[must_use]
    pub fn eps(self, eps: Vec<f64>) -> Audit {
        Audit { eps: Some(eps), ..self }
    }

    /// The sizes of attacks in ascending order.
    pub(crate) fn sizes(&self, usual: &[f64]) -> Vec<f64> {
        let mut sizes = self.eps.clone().unwrap_or_else(|| usual.to_vec());
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(self, seed: u64) -> Audit {
        Audit { seed, ..self }
    }

    /// Makes all checks; `watch` is told the name of each as it begins.
    ///
    /// # Errors
    /// A setting out of its range; otherwise a check that cannot be made is a section that says so.
    pub fn run(&self, subject: &AuditSubject, watch: &mut dyn FnMut(&str)) -> Result<AuditReport> {
        self.check(subject)?;
        let sections = sections::ALL
            .iter()
            .filter_map(|(name, section)| {
                watch(name);
                section(self, subject).unwrap_or_else(|error| Some(AuditSection::not_checked(name, error.to_string())))
            })
            .collect();
        Ok(AuditReport::new(self, subject, sections))
    }

    /// Compares rows without a target with the training rows of a model.
    ///
    /// # Errors
    /// If the columns are not those of the model, or its file keeps no profile of its training rows.
    pub fn drift(&self, model: &TabularModel, table: &Table) -> Result<AuditReport> {
        let section = sections::drift::of_rows(model, table)?;
        Ok(AuditReport::of_drift(self, model, table.n_rows(), section))
    }

    fn check(&self, subject: &AuditSubject) -> Result<()> {
        let refuse = |problem: String| Err(TabularError::plan(problem));
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return refuse(format!("alpha is {}; give a number between 0 and 1, such as 0.1", self.alpha));
        }
        if self.eps.as_ref().is_some_and(Vec::is_empty) {
            return refuse("eps is an empty list; give at least one size of an attack".into());
        }
        if let Some(eps) = self.eps.iter().flatten().find(|eps| !(**eps > 0.0 && eps.is_finite())) {
            return refuse(format!("eps is {eps}; give a positive number, such as 0.1"));
        }
        let (classes, target) = (subject.classes().len(), &subject.target);
        match &self.costs {
            Some(_) if classes == 0 => refuse(format!("costs are those of classes, but {target} is a number")),
            Some(costs) if costs.classes() != classes => {
                refuse(format!("the cost matrix is for {} classes, but {target} has {classes}", costs.classes()))
            }
            _ => Ok(()),
        }
    }
}
