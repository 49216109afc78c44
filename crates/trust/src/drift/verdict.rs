//! What a comparison means, in plain language.

use std::fmt;

use super::domain::DomainClassifier;
use super::report::{ColumnDrift, Correction, DriftReport};

/// A population stability index from which on a change is called large, by convention.
const LARGE: f64 = 0.25;

/// A population stability index below which a change is called small, by convention.
const SMALL: f64 = 0.1;

/// What the comparison says about the rows as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriftVerdict {
    /// No test found a difference.
    NotFound,
    /// Differences were found; all of them are small.
    Small,
    /// Differences were found, none of them large.
    Moderate,
    /// A large difference was found, or a column is absent.
    Large,
}

impl DriftVerdict {
    pub(super) fn of(columns: &[ColumnDrift], absent: &[String]) -> DriftVerdict {
        let of = |column: &ColumnDrift| {
            let missing = (column.missing_now - column.missing_before).abs();
            let by_values =
                if column.values_drifted { grade(column.psi, SMALL, LARGE) } else { DriftVerdict::NotFound };
            let by_missing = if column.missing_drifted { grade(missing, 0.05, 0.2) } else { DriftVerdict::NotFound };
            by_values.max(by_missing)
        };
        let found = columns.iter().map(of).max().unwrap_or(DriftVerdict::NotFound);
        if absent.is_empty() { found } else { DriftVerdict::Large }
    }

    /// What calibrated probabilities, prediction sets and scores are worth on the new rows.
    pub fn guarantees(self) -> &'static str {
        match self {
            DriftVerdict::NotFound => {
                "Calibration and the coverage of prediction sets hold on average for rows from the distribution of the \
                 training rows. Nothing here contradicts that for the new rows. This is not a proof: a change that is too \
                 small for so many rows, or a change of the answers for the same rows, stays unseen."
            }
            DriftVerdict::Small => {
                "The new rows differ from the training rows, but little. Calibration and the coverage of prediction sets are \
                 guaranteed only without a difference; expect them to be near their nominal values, and check them on some \
                 new rows with known answers."
            }
            DriftVerdict::Moderate | DriftVerdict::Large => {
                "The new rows come from another distribution, so the guarantees do not apply to them: probabilities may be \
                 miscalibrated, prediction sets may cover less than they promise, and scores of the test set are not those \
                 of the new rows. Calibrate again on recent rows with known answers, weight the calibration rows if only \
                 the features have changed, or fit the model again."
            }
        }
    }
}

fn grade(effect: f64, small: f64, large: f64) -> DriftVerdict {
    match effect {
        effect if effect < small => DriftVerdict::Small,
        effect if effect < large => DriftVerdict::Moderate,
        _ => DriftVerdict::Large,
    }
}

impl fmt::Display for DriftVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DriftVerdict::NotFound => "no drift found",
            DriftVerdict::Small => "small drift",
            DriftVerdict::Moderate => "drift",
            DriftVerdict::Large => "large drift",
        })
    }
}

impl fmt::Display for DriftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.drifted().count();
        let percent = 100.0 * self.alpha;
        let rate = match self.correction {
            Correction::Holm => format!("the chance of any false alarm is at most {percent} %"),
            Correction::BenjaminiHochberg => {
                format!("at most {percent} % of the columns named are expected to be false alarms")
            }
        };
        writeln!(
            f,
            "{}: {found} of {} columns differ between {} new and {} training rows ({} tests; {rate}).",
            self.verdict,
            self.columns.len(),
            self.rows_now,
            self.rows_before,
            self.tests
        )?;
        if !self.absent.is_empty() {
            writeln!(f, "Absent columns: {}.", self.absent.join(", "))?;
        }
        if !self.ignored.is_empty() {
            writeln!(f, "Columns the training rows do not have, not compared: {}.", self.ignored.join(", "))?;
        }
        self.drifted().try_for_each(|column| writeln!(f, "  {column}"))?;
        let unseen = self.columns.iter().filter(|column| !column.unseen.is_empty());
        for column in unseen {
            let names: Vec<String> =
                column.unseen.iter().take(5).map(|(name, count)| format!("{name} ({count} rows)")).collect();
            let more = if column.unseen.len() > 5 { ", …" } else { "" };
            writeln!(f, "  {}: categories that no training row has: {}{more}", column.name, names.join(", "))?;
        }
        let least = self.columns.iter().filter_map(|column| column.detectable).fold(0.0f64, f64::max);
        if least > 0.0 {
            writeln!(
                f,
                "With so many rows, differences of numeric distribution functions below {least:.2} stay unseen."
            )?;
        }
        write!(f, "{}", self.verdict.guarantees())
    }
}

impl fmt::Display for DomainClassifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = if self.p < self.alpha && self.auc > 0.5 {
            "old and new rows can be distinguished"
        } else {
            "old and new rows were not distinguished"
        };
        let confidence = 100.0 * (1.0 - self.alpha);
        let by = match self.permutations {
            0 => "Mann-Whitney test, approximate since folds share training rows".to_owned(),
            permutations => format!("{permutations} permutations"),
        };
        write!(
            f,
            "{found}: area under the ROC curve {:.3} [{:.3}, {:.3}] ({confidence} %), p = {:.2e} ({by}; {} old, {} new rows)",
            self.auc, self.low, self.high, self.p, self.rows_before, self.rows_now
        )
    }
}

impl fmt::Display for ColumnDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        let mut parts = Vec::new();
        if self.values_drifted {
            let test = self.test.unwrap_or_default();
            let mut text = format!(
                " {test} {:.4}, adjusted p = {:.2e}, stability index {:.3}",
                self.statistic, self.adjusted, self.psi
            );
            if let Some(distance) = self.wasserstein {
                text += &format!(", moved by {distance:.4} on average");
            }
            parts.push(text);
        }
        if let Some(adjusted) = self.missing_adjusted.filter(|_| self.missing_drifted) {
            parts.push(format!(
                " missing {:.1} % (before {:.1} %), adjusted p = {adjusted:.2e}",
                100.0 * self.missing_now,
                100.0 * self.missing_before
            ));
        }
        if parts.is_empty() {
            parts.push(format!(" no difference found (adjusted p = {:.3})", self.adjusted));
        }
        write!(f, "{}", parts.join(";"))
    }
}
