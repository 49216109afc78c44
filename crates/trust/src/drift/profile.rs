//! What is kept of the training rows.

use std::collections::HashMap;

use tove_tensor::Key;

use crate::{Result, TrustError};

pub(super) const WHAT: &str = "TrainingProfile";

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum DataValues {
    /// Numbers; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Categories; `None` is a missing value.
    Categories(Vec<Option<String>>),
}

/// A column of a table, for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct DataColumn {
    /// The name.
    pub name: String,
    /// The values, one per row.
    pub values: DataValues,
}

impl DataColumn {
    /// A numeric column; NaN is a missing value.
    pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> DataColumn {
        DataColumn { name: name.into(), values: DataValues::Numbers(values) }
    }

    /// A categorical column; `None` is a missing value.
    pub fn categories<S: Into<String>>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = Option<S>>,
    ) -> DataColumn {
        let values = values.into_iter().map(|value| value.map(Into::into)).collect();
        DataColumn { name: name.into(), values: DataValues::Categories(values) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            DataValues::Numbers(values) => values.len(),
            DataValues::Categories(values) => values.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of missing values.
    pub fn missing(&self) -> usize {
        match &self.values {
            DataValues::Numbers(values) => values.iter().filter(|value| value.is_nan()).count(),
            DataValues::Categories(values) => values.iter().filter(|value| value.is_none()).count(),
        }
    }
}

/// What a profile keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileOptions {
    /// Number of rows of the stored sample.
    pub sample: usize,
    /// Number of categories stored per column, the most frequent first; the others are counted together.
    pub categories: usize,
    /// Whether the values of a row stay together, which [`domain_classifier`](super::domain_classifier) needs. Otherwise the
    /// values of every column are sorted on their own, so that rows cannot be put together again.
    pub joint: bool,
    /// Seed of the sample.
    pub seed: u64,
}

impl Default for ProfileOptions {
    fn default() -> ProfileOptions {
        ProfileOptions { sample: 2000, categories: 1000, joint: true, seed: 0 }
    }
}

/// What is kept of the values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfiledValues {
    /// Numbers of the sampled rows; NaN is a missing value.
    Numbers(Vec<f64>),
    /// A categorical column.
    Categories {
        /// The stored categories with their counts over all rows, the most frequent first.
        counts: Vec<(String, usize)>,
        /// Number of rows with a category that is not stored.
        other: usize,
        /// Per sampled row the category's place in `counts`, the length of `counts` for one that is not stored; `None` is a
        /// missing value.
        sample: Vec<Option<usize>>,
    },
}

/// What is kept of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnProfile {
    /// The name.
    pub name: String,
    /// Number of missing values over all rows.
    pub missing: usize,
    /// The values.
    pub values: ProfiledValues,
}

/// What is kept of the training rows for the comparison with new ones: a random sample of the rows, category counts and
/// missing values over all of them. It holds values of training rows as they are; treat the file like the data.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingProfile {
    pub(super) rows: usize,
    pub(super) sampled: usize,
    pub(super) joint: bool,
    pub(super) columns: Vec<ColumnProfile>,
}

impl TrainingProfile {
    /// Profiles columns of equal length.
    ///
    /// # Errors
    /// No columns, no rows, columns of different lengths or of the same name, infinite numbers, a sample of 0 rows.
    pub fn new(columns: &[DataColumn], options: &ProfileOptions) -> Result<TrainingProfile> {
        let rows = check(WHAT, columns)?;
        if options.sample == 0 || options.categories == 0 {
            let problem = "`sample` or `categories` is 0; give at least 1, such as the default";
            return Err(TrustError::argument(WHAT, problem));
        }
        let sample = sampled(rows, options)?;
        let profile = |column: &DataColumn| ColumnProfile {
            name: column.name.clone(),
            missing: column.missing(),
            values: match &column.values {
                DataValues::Numbers(values) => {
                    let mut kept: Vec<f64> = sample.iter().map(|&row| values[row] + 0.0).collect();
                    if !options.joint {
                        kept.sort_unstable_by(f64::total_cmp);
                    }
                    ProfiledValues::Numbers(kept)
                }
                DataValues::Categories(values) => categories(values, &sample, options),
            },
        };
        let columns = columns.iter().map(profile).collect();
        Ok(TrainingProfile { rows, sampled: sample.len(), joint: options.joint, columns })
    }

    /// Number of training rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows of the stored sample.
    pub fn sampled(&self) -> usize {
        self.sampled
    }

    /// Whether the sample is all training rows.
    pub fn is_complete(&self) -> bool {
        self.sampled == self.rows
    }

    /// Whether the stored values of a row belong together.
    pub fn is_joint(&self) -> bool {
        self.joint
    }

    /// The columns.
    pub fn columns(&self) -> &[ColumnProfile] {
        &self.columns
    }
}

/// The rows of the sample, ascending.
fn sampled(rows: usize, options: &ProfileOptions) -> Result<Vec<usize>> {
    if rows <= options.sample {
        return Ok((0..rows).collect());
    }
    let order = Key::new(options.seed).try_permutation(rows)?.to_vec::<i64>();
    let mut sample: Vec<usize> = order[..options.sample].iter().map(|&row| row as usize).collect();
    sample.sort_unstable();
    Ok(sample)
}

fn categories(values: &[Option<String>], sample: &[usize], options: &ProfileOptions) -> ProfiledValues {
    let mut counts = count(values);
    let other = counts.split_off(counts.len().min(options.categories)).iter().map(|(_, count)| count).sum();
    let place: HashMap<&str, usize> = counts.iter().enumerate().map(|(place, (name, _))| (&**name, place)).collect();
    let code = |&row: &usize| values[row].as_deref().map(|name| place.get(name).copied().unwrap_or(counts.len()));
    let mut sample: Vec<Option<usize>> = sample.iter().map(code).collect();
    if !options.joint {
        sample.sort_unstable();
    }
    ProfiledValues::Categories { counts, other, sample }
}

/// The categories with their counts, the most frequent first, then by name.
pub(super) fn count(values: &[Option<String>]) -> Vec<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    values.iter().flatten().for_each(|name| *counts.entry(name).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    counts.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    counts
}

/// The number of rows of columns that can be compared.
pub(super) fn check(what: &'static str, columns: &[DataColumn]) -> Result<usize> {
    let Some(first) = columns.first() else {
        return Err(TrustError::data(what, "the table has no columns", "give at least one"));
    };
    let rows = first.len();
    if rows == 0 {
        return Err(TrustError::data(what, "the table has no rows", "give at least one"));
    }
    let mut names = std::collections::HashSet::new();
    for column in columns {
        let name = &column.name;
        if column.len() != rows {
            let problem = format!("column `{name}` has {} rows, `{}` has {rows}", column.len(), first.name);
            return Err(TrustError::data(what, problem, "give columns of the same table"));
        }
        if !names.insert(name) {
            let problem = format!("two columns are called `{name}`");
            return Err(TrustError::data(what, problem, "give each its own name"));
        }
        let infinite = |values: &Vec<f64>| values.iter().position(|value| value.is_infinite());
        if let DataValues::Numbers(values) = &column.values
            && let Some(row) = infinite(values)
        {
            let problem = format!("column `{name}` is {} in row {row}", values[row]);
            return Err(TrustError::data(what, problem, "remove the row, or mark the value as missing (NaN)"));
        }
    }
    Ok(rows)
}
