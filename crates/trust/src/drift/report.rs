//! The comparison of new rows with a profile, column by column.

use std::collections::HashMap;

use super::effects::{detectable, equal_mass_counts, stability_index, wasserstein};
use super::kolmogorov::two_sample_kolmogorov;
use super::profile::{ColumnProfile, DataColumn, DataValues, ProfiledValues, TrainingProfile, check, count};
use super::shares::{benjamini_hochberg, fisher_exact, holm, pooled_chi_square};
use super::verdict::DriftVerdict;
use crate::input::fraction;
use crate::{Result, TrustError};

const WHAT: &str = "DriftReport";

const KOLMOGOROV: &str = "Kolmogorov-Smirnov";

/// Bins of the population stability index of a numeric column.
const BINS: usize = 10;

/// The correction for many tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Correction {
    /// Holm's: the probability of any false alarm is at most the level.
    #[default]
    Holm,
    /// Benjamini and Hochberg's: the expected share of false alarms among the alarms is at most the level.
    BenjaminiHochberg,
}

impl Correction {
    /// The adjusted p-values.
    pub fn adjust(self, p: &[f64]) -> Vec<f64> {
        match self {
            Correction::Holm => holm(p),
            Correction::BenjaminiHochberg => benjamini_hochberg(p),
        }
    }
}

/// How drift is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftOptions {
    /// The level of the tests after the correction.
    pub alpha: f64,
    /// The correction.
    pub correction: Correction,
}

impl Default for DriftOptions {
    fn default() -> DriftOptions {
        DriftOptions { alpha: 0.05, correction: Correction::Holm }
    }
}

/// One column of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDrift {
    /// The column.
    pub name: String,
    /// The test of its values: `Kolmogorov-Smirnov` or `χ²`; `None` if all values are missing in one of the sets.
    pub test: Option<&'static str>,
    /// The statistic of that test.
    pub statistic: f64,
    /// Its p-value, before the correction; 1 without a test.
    pub p: f64,
    /// Its p-value after the correction over all columns.
    pub adjusted: f64,
    /// Population stability index.
    pub psi: f64,
    /// Wasserstein distance of a numeric column, in its unit; `None` if it overflows.
    pub wasserstein: Option<f64>,
    /// Wasserstein distance divided by the standard deviation of the training sample; `None` for a constant column.
    pub relative: Option<f64>,
    /// Share of missing values in the training rows.
    pub missing_before: f64,
    /// Share of missing values in the new rows.
    pub missing_now: f64,
    /// p-value of Fisher's exact test of the missing shares, before the correction; `None` if nothing is missing.
    pub missing_p: Option<f64>,
    /// That p-value after the correction.
    pub missing_adjusted: Option<f64>,
    /// Categories that no training row has, with their counts, the most frequent first. Empty if the profile does not store
    /// all categories.
    pub unseen: Vec<(String, usize)>,
    /// The difference of distribution functions from which on the test of a numeric column finds drift, approximately.
    pub detectable: Option<f64>,
    /// Whether the distribution of the values has changed, at the level.
    pub values_drifted: bool,
    /// Whether the share of missing values has changed, at the level.
    pub missing_drifted: bool,
}

/// The comparison of new rows with the training rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftReport {
    /// Number of training rows.
    pub rows_before: usize,
    /// Number of training rows in the stored sample, with which numeric columns are compared.
    pub sampled: usize,
    /// Number of new rows.
    pub rows_now: usize,
    /// The level of the tests after the correction.
    pub alpha: f64,
    /// The correction.
    pub correction: Correction,
    /// Number of tests.
    pub tests: usize,
    /// The columns, those with the smallest adjusted p-value first.
    pub columns: Vec<ColumnDrift>,
    /// Columns of the training rows that the new rows do not have.
    pub absent: Vec<String>,
    /// Columns of the new rows that the training rows do not have.
    pub ignored: Vec<String>,
    /// What follows.
    pub verdict: DriftVerdict,
}

impl DriftReport {
    /// Compares new rows with the profile of the training rows.
    ///
    /// # Errors
    /// Columns that cannot be read as for [`TrainingProfile::new`]; a column of another kind than at fit time; no column of
    /// the profile; a level that is not between 0 and 1.
    pub fn new(profile: &TrainingProfile, columns: &[DataColumn], options: &DriftOptions) -> Result<DriftReport> {
        let alpha = fraction(WHAT, "alpha", options.alpha)?;
        let rows_now = check(WHAT, columns)?;
        let mut given: HashMap<&str, &DataColumn> =
            columns.iter().map(|column| (column.name.as_str(), column)).collect();
        let (mut compared, mut absent) = (Vec::new(), Vec::new());
        for known in &profile.columns {
            match given.remove(known.name.as_str()) {
                Some(column) => compared.push(compare(known, profile.rows, column)?),
                None => absent.push(known.name.clone()),
            }
        }
        if compared.is_empty() {
            let problem = "the new rows have none of the columns of the training rows";
            return Err(TrustError::data(WHAT, problem, "give a table with the columns the model was fitted on"));
        }
        let unknown = |column: &&DataColumn| given.contains_key(column.name.as_str());
        let ignored = columns.iter().filter(unknown).map(|column| column.name.clone()).collect();
        let tests = correct(&mut compared, options);
        let mut compared: Vec<ColumnDrift> = compared.into_iter().map(|(column, _)| column).collect();
        compared.sort_by(|a, b| least(a).total_cmp(&least(b)));
        let verdict = DriftVerdict::of(&compared, &absent);
        Ok(DriftReport {
            rows_before: profile.rows,
            sampled: profile.sampled,
            rows_now,
            alpha,
            correction: options.correction,
            tests,
            columns: compared,
            absent,
            ignored,
            verdict,
        })
    }

    /// The columns whose values or missing shares have changed.
    pub fn drifted(&self) -> impl Iterator<Item = &ColumnDrift> {
        self.columns.iter().filter(|column| column.values_drifted || column.missing_drifted)
    }
}

fn least(column: &ColumnDrift) -> f64 {
    column.adjusted.min(column.missing_adjusted.unwrap_or(1.0))
}

/// A column with the numbers of values of both sets that were compared.
type Compared = (ColumnDrift, [usize; 2]);

/// Corrects the p-values of all tests together; the number of tests.
fn correct(columns: &mut [Compared], options: &DriftOptions) -> usize {
    let values = columns.iter().filter(|(column, _)| column.test.is_some()).map(|(column, _)| column.p);
    let mut p: Vec<f64> = values.collect();
    p.extend(columns.iter().filter_map(|(column, _)| column.missing_p));
    let tests = p.len();
    let mut adjusted = options.correction.adjust(&p).into_iter();
    for (column, [m, n]) in columns.iter_mut().filter(|(column, _)| column.test.is_some()) {
        column.adjusted = adjusted.next().unwrap_or(1.0);
        column.values_drifted = column.adjusted < options.alpha;
        if column.test == Some(KOLMOGOROV) {
            column.detectable = Some(detectable(options.alpha / tests as f64, *m, *n));
        }
    }
    for (column, _) in columns.iter_mut().filter(|(column, _)| column.missing_p.is_some()) {
        column.missing_adjusted = adjusted.next();
        column.missing_drifted = column.missing_adjusted.is_some_and(|p| p < options.alpha);
    }
    tests
}

fn compare(known: &ColumnProfile, rows: usize, column: &DataColumn) -> Result<Compared> {
    let (missing, n) = (column.missing(), column.len());
    let any = known.missing + missing > 0;
    let mut drift = ColumnDrift {
        name: known.name.clone(),
        test: None,
        statistic: 0.0,
        p: 1.0,
        adjusted: 1.0,
        psi: 0.0,
        wasserstein: None,
        relative: None,
        missing_before: known.missing as f64 / rows as f64,
        missing_now: missing as f64 / n as f64,
        missing_p: any.then(|| fisher_exact((known.missing, rows), (missing, n))),
        missing_adjusted: None,
        unseen: Vec::new(),
        detectable: None,
        values_drifted: false,
        missing_drifted: false,
    };
    let sizes = match (&known.values, &column.values) {
        (ProfiledValues::Numbers(before), DataValues::Numbers(now)) => compare_numbers(&mut drift, before, now),
        (ProfiledValues::Categories { counts, other, .. }, DataValues::Categories(now)) => {
            compare_categories(&mut drift, counts, *other, now)
        }
        (ProfiledValues::Numbers(_), _) => return Err(kind(&known.name, "numbers", "categories")),
        (ProfiledValues::Categories { .. }, _) => return Err(kind(&known.name, "categories", "numbers")),
    };
    Ok((drift, sizes))
}

fn compare_numbers(drift: &mut ColumnDrift, before: &[f64], now: &[f64]) -> [usize; 2] {
    let known = |values: &[f64]| values.iter().copied().filter(|value| !value.is_nan()).collect::<Vec<f64>>();
    let (mut before, now) = (known(before), known(now));
    let sizes = [before.len(), now.len()];
    if before.is_empty() || now.is_empty() {
        return sizes;
    }
    drift.test = Some(KOLMOGOROV);
    (drift.statistic, drift.p) = two_sample_kolmogorov(&before, &now);
    before.sort_unstable_by(f64::total_cmp);
    let (first, second) = equal_mass_counts(&before, &now, BINS);
    drift.psi = stability_index(&first, &second);
    let distance = wasserstein(&before, &now);
    drift.wasserstein = Some(distance).filter(|distance| distance.is_finite());
    let mean = before.iter().sum::<f64>() / before.len() as f64;
    let spread = (before.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / before.len() as f64).sqrt();
    let varies = before[0] < before[before.len() - 1] && spread.is_finite() && spread > 0.0;
    drift.relative = drift.wasserstein.map(|distance| distance / spread).filter(|share| varies && share.is_finite());
    sizes
}

fn compare_categories(
    drift: &mut ColumnDrift,
    known: &[(String, usize)],
    other: usize,
    now: &[Option<String>],
) -> [usize; 2] {
    let places: HashMap<&str, usize> = known.iter().enumerate().map(|(place, (name, _))| (&**name, place)).collect();
    // One cell per stored category, one for those that are not stored, one per new category.
    let mut before: Vec<f64> = known.iter().map(|(_, count)| *count as f64).chain([other as f64]).collect();
    let mut after = vec![0.0; known.len() + 1];
    for (name, count) in count(now) {
        match places.get(name.as_str()) {
            Some(&place) => after[place] += count as f64,
            None if other > 0 => after[known.len()] += count as f64,
            None => {
                before.push(0.0);
                after.push(count as f64);
                drift.unseen.push((name, count));
            }
        }
    }
    let sizes = [before.iter().sum::<f64>() as usize, after.iter().sum::<f64>() as usize];
    if sizes.contains(&0) {
        return sizes;
    }
    drift.test = Some("χ²");
    let test = pooled_chi_square(&before, &after);
    (drift.statistic, drift.p) = (test.statistic, test.p);
    drift.psi = stability_index(&before, &after);
    sizes
}

#[cold]
fn kind(name: &str, before: &str, now: &str) -> TrustError {
    let problem = format!("column `{name}` held {before} at fit time and holds {now} now");
    TrustError::data(WHAT, problem, "read the new table with the schema of the model")
}
