//! Training profiles as JSON, and reports as JSON for other programs.

use serde_json::{Value, json};

use super::domain::DomainClassifier;
use super::profile::{ColumnProfile, ProfiledValues, TrainingProfile, WHAT};
use super::report::{ColumnDrift, Correction, DriftReport};
use crate::{Result, TrustError};

const VERSION: u64 = 1;

impl TrainingProfile {
    /// As JSON, with the version of the format. Missing numbers are `null`.
    ///
    /// ```
    /// use tove_trust::drift::{DataColumn, ProfileOptions, TrainingProfile};
    /// let column = DataColumn::numbers("x", vec![0.5, f64::NAN]);
    /// let profile = TrainingProfile::new(&[column], &ProfileOptions::default())?;
    /// let text = profile.to_json().to_string();
    /// let again = TrainingProfile::from_json(&serde_json::from_str(&text).unwrap())?;
    /// assert_eq!(again.to_json(), profile.to_json());
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    pub fn to_json(&self) -> Value {
        let column = |column: &ColumnProfile| match &column.values {
            ProfiledValues::Numbers(values) => {
                json!({"name": column.name, "missing": column.missing, "kind": "numbers", "sample": values})
            }
            ProfiledValues::Categories { counts, other, sample } => {
                let (names, counts): (Vec<&str>, Vec<usize>) =
                    counts.iter().map(|(name, count)| (name.as_str(), *count)).unzip();
                json!({
                    "name": column.name, "missing": column.missing, "kind": "categories", "categories": names,
                    "counts": counts, "other": other, "sample": sample,
                })
            }
        };
        json!({
            "version": VERSION, "rows": self.rows, "sampled": self.sampled, "joint": self.joint,
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
        })
    }

    /// Reads what [`TrainingProfile::to_json`] wrote.
    ///
    /// # Errors
    /// A newer version of the format; a value that is absent, of the wrong kind, or contradicts the others.
    pub fn from_json(value: &Value) -> Result<TrainingProfile> {
        let version = count(value, "version")? as u64;
        if version != VERSION {
            let problem = format!("a profile of version {version}, this program reads version {VERSION}");
            return Err(TrustError::data(WHAT, problem, "update the program, or fit the model again"));
        }
        let (rows, sampled) = (count(value, "rows")?, count(value, "sampled")?);
        let joint = value.get("joint").and_then(Value::as_bool).ok_or_else(|| damaged("joint"))?;
        if rows == 0 || sampled == 0 || sampled > rows {
            return Err(damaged("sampled"));
        }
        let columns = list(value, "columns")?.iter().map(|column| read_column(column, rows, sampled));
        let columns: Vec<ColumnProfile> = columns.collect::<Result<_>>()?;
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        names.sort_unstable();
        if columns.is_empty() || names.windows(2).any(|two| two[0] == two[1]) {
            return Err(damaged("columns"));
        }
        Ok(TrainingProfile { rows, sampled, joint, columns })
    }
}

fn read_column(value: &Value, rows: usize, sampled: usize) -> Result<ColumnProfile> {
    let name = value.get("name").and_then(Value::as_str).ok_or_else(|| damaged("name"))?.to_owned();
    let (missing, sample) = (count(value, "missing")?, list(value, "sample")?);
    if missing > rows || sample.len() != sampled {
        return Err(damaged("sample"));
    }
    let values = match value.get("kind").and_then(Value::as_str) {
        Some("numbers") => {
            let number = |value: &Value| match value {
                Value::Null => Some(f64::NAN),
                other => other.as_f64().filter(|number| number.is_finite()),
            };
            let sample: Option<Vec<f64>> = sample.iter().map(number).collect();
            ProfiledValues::Numbers(sample.ok_or_else(|| damaged("sample"))?)
        }
        Some("categories") => read_categories(value, sample, rows - missing)?,
        _ => return Err(damaged("kind")),
    };
    let absent = match &values {
        ProfiledValues::Numbers(sample) => sample.iter().filter(|value| value.is_nan()).count(),
        ProfiledValues::Categories { sample, .. } => sample.iter().filter(|value| value.is_none()).count(),
    };
    if absent > missing || sampled - absent > rows - missing || (sampled == rows && absent != missing) {
        return Err(damaged("missing"));
    }
    Ok(ColumnProfile { name, missing, values })
}

fn read_categories(value: &Value, sample: &[Value], present: usize) -> Result<ProfiledValues> {
    let names = list(value, "categories")?.iter().map(|name| name.as_str().map(str::to_owned));
    let names: Vec<String> = names.collect::<Option<_>>().ok_or_else(|| damaged("categories"))?;
    let whole = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
    let counts: Option<Vec<usize>> = list(value, "counts")?.iter().map(whole).collect();
    let (counts, other) = (counts.ok_or_else(|| damaged("counts"))?, count(value, "other")?);
    let total = counts.iter().try_fold(other, |sum, count| sum.checked_add(*count));
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    let twice = sorted.windows(2).any(|two| two[0] == two[1]);
    if counts.len() != names.len() || total != Some(present) || counts.contains(&0) || twice {
        return Err(damaged("counts"));
    }
    let most = if other > 0 { names.len() } else { names.len().saturating_sub(1) };
    let code = |value: &Value| match value {
        Value::Null => Some(None),
        other => {
            whole(other).filter(|&code| code <= most && !(names.is_empty() && counts.is_empty() && code > 0)).map(Some)
        }
    };
    let sample: Vec<Option<usize>> = sample.iter().map(code).collect::<Option<_>>().ok_or_else(|| damaged("sample"))?;
    if present == 0 && sample.iter().any(Option::is_some) {
        return Err(damaged("sample"));
    }
    Ok(ProfiledValues::Categories { counts: names.into_iter().zip(counts).collect(), other, sample })
}

fn count(value: &Value, name: &'static str) -> Result<usize> {
    let number = value.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    number.ok_or_else(|| damaged(name))
}

fn list<'v>(value: &'v Value, name: &'static str) -> Result<&'v Vec<Value>> {
    value.get(name).and_then(Value::as_array).ok_or_else(|| damaged(name))
}

#[cold]
fn damaged(name: &str) -> TrustError {
    let problem = format!("`{name}` is absent, of the wrong kind, or contradicts the rest of the profile");
    TrustError::data(WHAT, problem, "the profile is damaged; fit the model again")
}

impl DriftReport {
    /// As JSON, with the verdict in words.
    pub fn to_json(&self) -> Value {
        json!({
            "verdict": self.verdict.to_string(),
            "guarantees": self.verdict.guarantees(),
            "rows_before": self.rows_before, "sampled": self.sampled, "rows_now": self.rows_now,
            "alpha": self.alpha, "tests": self.tests,
            "correction": match self.correction {
                Correction::Holm => "holm",
                Correction::BenjaminiHochberg => "benjamini_hochberg",
            },
            "columns": self.columns.iter().map(report_column).collect::<Vec<_>>(),
            "absent": self.absent, "ignored": self.ignored,
        })
    }
}

fn report_column(column: &ColumnDrift) -> Value {
    let unseen = |(name, count): &(String, usize)| json!({"category": name, "rows": count});
    json!({
        "name": column.name, "test": column.test, "statistic": column.statistic, "p": column.p,
        "adjusted": column.adjusted, "drifted": column.values_drifted, "psi": column.psi,
        "wasserstein": column.wasserstein, "relative": column.relative, "detectable": column.detectable,
        "missing_before": column.missing_before, "missing_now": column.missing_now, "missing_p": column.missing_p,
        "missing_adjusted": column.missing_adjusted, "missing_drifted": column.missing_drifted,
        "unseen": column.unseen.iter().map(unseen).collect::<Vec<_>>(),
    })
}

impl DomainClassifier {
    /// As JSON, without the scores of the rows.
    pub fn to_json(&self) -> Value {
        json!({
            "auc": self.auc, "low": self.low, "high": self.high, "alpha": self.alpha, "p": self.p,
            "permutations": self.permutations, "rows_before": self.rows_before, "rows_now": self.rows_now,
        })
    }
}
