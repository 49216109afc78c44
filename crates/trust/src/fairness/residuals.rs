//! Errors of a regression by group.

use std::fmt;

use serde_json::{Value, json};
use tove_learn::diagnostics::student_critical;
use tove_tensor::Tensor;

use super::outcomes::SensitiveGroups;
use super::report::Rate;
use crate::{Result, TrustError, input};

const NAME: &str = "ResidualReport";

/// Errors of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupResiduals {
    /// The group.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Mean of truth minus prediction with Student's interval; positive where predictions are too low. `None` with fewer than two rows.
    pub mean_residual: Option<Rate>,
    /// Mean prediction.
    pub mean_prediction: f64,
    /// Mean absolute error.
    pub mean_absolute_error: f64,
    /// Root of the mean squared error.
    pub root_mean_squared_error: f64,
}

/// Errors of a regression by group: who is predicted too high, and for whom predictions are worse.
///
/// Intervals assume independent rows and a mean that is nearly normal, as with a few dozen rows or more.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::{ResidualReport, SensitiveGroups};
/// let groups = SensitiveGroups::from_column("sex", &Tensor::from([0i64, 0, 1, 1]))?;
/// let (truth, prediction) = (Tensor::from([1.0, 2.0, 3.0, 4.0]), Tensor::from([1.0, 2.0, 2.0, 2.0]));
/// let report = ResidualReport::new(&truth, &prediction, &groups, 0.95)?;
/// assert_eq!(report.groups[1].mean_residual.map(|mean| mean.value), Some(1.5));
/// assert_eq!(report.difference, Some(1.5));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualReport {
    /// The groups.
    pub groups: Vec<GroupResiduals>,
    /// All rows together.
    pub overall: GroupResiduals,
    /// Largest minus smallest mean residual; `None` with fewer than two groups of at least two rows.
    pub difference: Option<f64>,
    /// Largest divided by smallest mean absolute error; `None` if the smallest is 0.
    pub error_ratio: Option<f64>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl ResidualReport {
    /// Computes the report.
    ///
    /// # Errors
    /// No rows; different lengths; values that are not finite; a confidence outside of (0, 1).
    pub fn new(
        truth: &Tensor,
        prediction: &Tensor,
        groups: &SensitiveGroups,
        confidence: f64,
    ) -> Result<ResidualReport> {
        input::fraction(NAME, "confidence", confidence)?;
        let n = groups.codes().len();
        let truth = input::numbers(NAME, "truth", truth, n)?;
        let prediction = input::numbers(NAME, "predictions", prediction, n)?;
        let one = |name: &str, rows: &[usize]| group(name, rows, &truth, &prediction, confidence);
        let all: Vec<usize> = (0..n).collect();
        let overall = one("all rows", &all);
        let by_group = groups.names().iter().enumerate();
        let groups: Vec<GroupResiduals> = by_group.map(|(index, name)| one(name, &groups.rows(index))).collect();
        if let Some(group) = groups.iter().find(|group| !group.root_mean_squared_error.is_finite()) {
            let problem = format!("the squared errors of {} overflow", group.name);
            return Err(TrustError::data(NAME, problem, "give truth and predictions in another unit"));
        }
        let means: Vec<f64> = groups.iter().filter_map(|group| group.mean_residual).map(|mean| mean.value).collect();
        let spread = |values: &[f64]| {
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            values.iter().fold(ends, |(low, high), &value| (low.min(value), high.max(value)))
        };
        let (low, high) = spread(&means);
        let errors: Vec<f64> = groups.iter().map(|group| group.mean_absolute_error).collect();
        let (least, most) = spread(&errors);
        Ok(ResidualReport {
            groups,
            overall,
            difference: (means.len() > 1).then_some(high - low),
            error_ratio: (least > 0.0).then(|| most / least),
            confidence,
        })
    }
}

impl ResidualReport {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let one = |group: &GroupResiduals| {
            json!({
                "name": group.name, "rows": group.rows, "mean_prediction": group.mean_prediction,
                "mean_residual": group.mean_residual.map_or(Value::Null, |mean| mean.json()),
                "mean_absolute_error": group.mean_absolute_error,
                "root_mean_squared_error": group.root_mean_squared_error,
            })
        };
        json!({
            "confidence": self.confidence, "difference": self.difference, "error_ratio": self.error_ratio,
            "overall": one(&self.overall), "groups": self.groups.iter().map(one).collect::<Vec<Value>>(),
        })
    }
}

fn group(name: &str, rows: &[usize], truth: &[f64], prediction: &[f64], confidence: f64) -> GroupResiduals {
    let n = rows.len() as f64;
    let mean = |value: &dyn Fn(usize) -> f64| rows.iter().map(|&row| value(row)).sum::<f64>() / n;
    let residual = |row: usize| truth[row] - prediction[row];
    let center = mean(&residual);
    let mean_residual = (rows.len() > 1).then(|| {
        let variance = mean(&|row| (residual(row) - center).powi(2)) * n / (n - 1.0);
        let half = student_critical(1.0 - confidence, n - 1.0) * (variance / n).sqrt();
        Rate { value: center, low: center - half, high: center + half, n }
    });
    GroupResiduals {
        name: name.to_owned(),
        rows: rows.len(),
        mean_residual,
        mean_prediction: mean(&|row| prediction[row]),
        mean_absolute_error: mean(&|row| residual(row).abs()),
        root_mean_squared_error: mean(&|row| residual(row).powi(2)).sqrt(),
    }
}

impl fmt::Display for ResidualReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for group in self.groups.iter().chain([&self.overall]) {
            let mean = group.mean_residual.map_or("-".to_owned(), |mean| mean.to_string());
            let (mae, rmse) = (group.mean_absolute_error, group.root_mean_squared_error);
            writeln!(f, "{}: {} rows, mean residual {mean}, MAE {mae:.4}, RMSE {rmse:.4}", group.name, group.rows)?;
        }
        write!(f, "intervals: {} % each", 100.0 * self.confidence)
    }
}
