//! A classifier that distinguishes training rows from new rows: a test of all columns jointly.
//!
//! If old and new rows have the same distribution, a classifier cannot do better than chance on rows it was not fitted on:
//! the area under its ROC curve (AUC) is near 1/2. An area clearly above 1/2 shows a difference, also one that no column
//! shows alone, such as a changed correlation (Lopez-Paz and Oquab, "Revisiting classifier two-sample tests", 2017).

use tove_learn::selection::{Splitter, StratifiedKFold};
use tove_learn::{Estimator, Fit, LogisticRegression, Pipeline, PolynomialFeatures, Predict, Samples, StandardScaler};
use tove_tensor::{Key, Tensor};

use super::encode::encode;
use super::profile::{DataColumn, TrainingProfile, check};
use crate::input::{fraction, reals};
use crate::{Result, TrustError};

const WHAT: &str = "domain_classifier";

/// Up to this many columns, products of columns are added, so that changed correlations are seen.
const PRODUCTS: usize = 15;

/// How the classifier is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DomainOptions {
    /// Number of folds of the cross-validation.
    pub folds: usize,
    /// Number of permutations of the labels for the p-value; 0 for the p-value of the Mann-Whitney test, which neglects that
    /// the folds share training rows.
    pub permutations: usize,
    /// Largest number of rows taken of each set; more are sampled.
    pub rows: usize,
    /// 1 − the confidence of the interval.
    pub alpha: f64,
    /// Seed of folds, samples and permutations.
    pub seed: u64,
}

impl Default for DomainOptions {
    fn default() -> DomainOptions {
        DomainOptions { folds: 5, permutations: 0, rows: 2000, alpha: 0.05, seed: 0 }
    }
}

/// How well a classifier distinguishes training rows from new rows it was not fitted on.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainClassifier {
    /// The area under the ROC curve of the cross-validated scores: 1/2 for equal distributions, 1 for separate ones.
    pub auc: f64,
    /// Lower bound of its interval (DeLong et al. 1988).
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// 1 − the confidence of the interval.
    pub alpha: f64,
    /// The one-sided p-value for an area above 1/2.
    pub p: f64,
    /// Number of permutations behind the p-value; 0 for the Mann-Whitney test.
    pub permutations: usize,
    /// Number of training rows compared.
    pub rows_before: usize,
    /// Number of new rows compared.
    pub rows_now: usize,
    /// The cross-validated probability of each new row (of those compared) to be new: the most unusual rows have the
    /// largest.
    pub scores: Vec<f64>,
}

/// Compares new rows with the stored sample of the training rows by a logistic regression; of up to 15 encoded columns on
/// products of columns, too.
///
/// # Errors
/// A profile whose stored values of a row do not belong together; fewer rows in a set than folds; columns that cannot be
/// read; options out of range.
pub fn domain_classifier(
    profile: &TrainingProfile,
    columns: &[DataColumn],
    options: &DomainOptions,
) -> Result<DomainClassifier> {
    check(WHAT, columns)?;
    if !profile.is_joint() {
        let problem = "the values of a row do not belong together in this profile";
        return Err(TrustError::unsupported(WHAT, problem, "make the profile with `joint`, or compare columns"));
    }
    let (mut before, mut now) = (Vec::new(), Vec::new());
    for known in profile.columns() {
        let Some(column) = columns.iter().find(|column| column.name == known.name) else { continue };
        let Some(encoded) = encode(known, column) else {
            let problem = format!("column `{}` is of another kind than at fit time", known.name);
            return Err(TrustError::data(WHAT, problem, "read the new table with the schema of the model"));
        };
        before.extend(encoded.old);
        now.extend(encoded.new);
    }
    let (m, n) = (profile.sampled(), columns[0].len());
    if before.is_empty() {
        // Nothing varies: the sets are equal as far as can be seen.
        (before, now) = (vec![vec![0.0; m]], vec![vec![0.0; n]]);
    }
    let width = before.len();
    let classifier = LogisticRegression::default();
    let scaled = Pipeline::of(StandardScaler::default());
    let estimator = if width <= PRODUCTS {
        let products = PolynomialFeatures::default().include_bias(false);
        scaled.then(products).step("again", StandardScaler::default()).then(classifier)
    } else {
        scaled.then(classifier)
    };
    compare_domains(&matrix(&before, m), &matrix(&now, n), &estimator, options)
}

/// Columns as a matrix with a row per row.
fn matrix(columns: &[Vec<f64>], rows: usize) -> Tensor {
    let values: Vec<f64> = (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
    Tensor::from_vec(values, [rows, columns.len()])
}

/// Compares two sets of rows by any classifier with probabilities.
///
/// ```
/// use tove_learn::LogisticRegression;
/// use tove_tensor::{DType, Key};
/// use tove_trust::drift::{DomainOptions, compare_domains};
/// let (before, now) = (Key::new(1).normal([200, 3], DType::F64), Key::new(2).normal([200, 3], DType::F64));
/// let options = DomainOptions::default();
/// assert!(compare_domains(&before, &now, &LogisticRegression::default(), &options)?.p > 0.05);
/// assert!(compare_domains(&before, &(now + 1.0), &LogisticRegression::default(), &options)?.low > 0.8);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Sets of different widths, with NaN, or with fewer rows than folds; a classifier without probabilities; options out of
/// range.
pub fn compare_domains(
    before: &Tensor,
    now: &Tensor,
    estimator: &dyn Estimator,
    options: &DomainOptions,
) -> Result<DomainClassifier> {
    let alpha = fraction(WHAT, "alpha", options.alpha)?;
    let (&[m, width], &[n, also]) = (before.dims(), now.dims()) else {
        return Err(TrustError::data(WHAT, "the rows are not matrices", "give a row per sample"));
    };
    if width != also || width == 0 {
        let problem = format!("{width} columns before, {also} now");
        return Err(TrustError::data(WHAT, problem, "give the same columns of both sets"));
    }
    if options.folds < 2 || options.rows < options.folds {
        let problem = format!("{} folds of at most {} rows; give at least 2 folds", options.folds, options.rows);
        return Err(TrustError::argument(WHAT, problem));
    }
    if m.min(n) < options.folds {
        let problem = format!("{m} training and {n} new rows for {} folds", options.folds);
        return Err(TrustError::data(WHAT, problem, "give more rows, or compare columns only"));
    }
    let key = Key::new(options.seed);
    let mut values = some_rows(&reals(WHAT, "training rows", before)?, m, width, options.rows, key.fold(1))?;
    let m = values.len() / width;
    values.extend(some_rows(&reals(WHAT, "new rows", now)?, n, width, options.rows, key.fold(2))?);
    let x = Tensor::from_vec(values, [m + n.min(options.rows), width]);
    let n = n.min(options.rows);
    let mut labels = vec![0i64; m];
    labels.resize(m + n, 1);
    let run = |labels: &[i64]| out_of_fold(&x, labels, estimator, options);
    let scores = run(&labels)?;
    let own = |scores: &[f64]| (scores[..m].to_vec(), scores[m..].to_vec());
    let (old, new) = own(&scores);
    let area = Area::new(&old, &new);
    let mut p = area.mann_whitney();
    if options.permutations > 0 {
        let mut larger = 0;
        for permutation in 0..options.permutations {
            let order = key.fold(3).fold(permutation as u64).try_permutation(m + n)?.to_vec::<i64>();
            let shuffled: Vec<i64> = order.iter().map(|&row| labels[row as usize]).collect();
            let scores = run(&shuffled)?;
            let of = |label| scores.iter().zip(&shuffled).filter(move |(_, l)| **l == label).map(|(score, _)| *score);
            let permuted = Area::new(&of(0).collect::<Vec<_>>(), &of(1).collect::<Vec<_>>());
            larger += usize::from(permuted.auc >= area.auc);
        }
        p = (larger + 1) as f64 / (options.permutations + 1) as f64;
    }
    let (low, high) = area.interval(alpha);
    let (rows_before, rows_now, permutations) = (m, n, options.permutations);
    Ok(DomainClassifier { auc: area.auc, low, high, alpha, p, permutations, rows_before, rows_now, scores: new })
}

/// At most `most` of the rows, sampled.
fn some_rows(values: &[f64], rows: usize, width: usize, most: usize, key: Key) -> Result<Vec<f64>> {
    if rows <= most {
        return Ok(values.to_vec());
    }
    let order = key.try_permutation(rows)?.to_vec::<i64>();
    let row = |&row: &i64| values[row as usize * width..][..width].iter().copied();
    Ok(order[..most].iter().flat_map(row).collect())
}

/// The probability of label 1 of every row by a model that was not fitted on it.
fn out_of_fold(x: &Tensor, labels: &[i64], estimator: &dyn Estimator, options: &DomainOptions) -> Result<Vec<f64>> {
    let samples = Samples::new(x, &Tensor::from_slice(labels))?;
    let folds = StratifiedKFold::new(options.folds).shuffled(options.seed).split_samples(&samples)?;
    let mut scores = vec![0.0; labels.len()];
    for fold in &folds {
        let model = estimator.fit_samples(&samples.take(&fold.train)?)?;
        let probabilities = model.predict_proba(samples.x().take(&fold.test)?)?.to_f64_vec();
        fold.test.iter().zip(probabilities.chunks_exact(2)).for_each(|(&row, both)| scores[row] = both[1]);
    }
    Ok(scores)
}

/// The area under the ROC curve with its variance.
pub(super) struct Area {
    pub auc: f64,
    variance: f64,
    sizes: [f64; 2],
    ties: f64,
}

impl Area {
    /// Of scores of the two classes, by the mid-ranks of the placements (Sun and Xu 2014).
    pub fn new(negatives: &[f64], positives: &[f64]) -> Area {
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (low, high) = (sorted(negatives), sorted(positives));
        // The share of `others` below a score, ties counting one half.
        let placement = |score: f64, others: &[f64]| {
            let below = others.partition_point(|other| *other < score);
            let until = others.partition_point(|other| *other <= score);
            0.5 * (below + until) as f64 / others.len() as f64
        };
        let of_positives: Vec<f64> = high.iter().map(|&score| placement(score, &low)).collect();
        let of_negatives: Vec<f64> = low.iter().map(|&score| 1.0 - placement(score, &high)).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let spread = |values: &[f64]| {
            let center = mean(values);
            values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0)
        };
        let auc = mean(&of_positives);
        let variance = spread(&of_positives) / high.len() as f64 + spread(&of_negatives) / low.len() as f64;
        let mut all = [low.as_slice(), &high].concat();
        all.sort_unstable_by(f64::total_cmp);
        let ties = all.chunk_by(|a, b| a == b).map(|run| (run.len() as f64).powi(3) - run.len() as f64).sum();
        Area { auc, variance, sizes: [low.len() as f64, high.len() as f64], ties }
    }

    /// auc ± z √variance within [0, 1].
    fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = normal_quantile(alpha) * self.variance.sqrt();
        ((self.auc - half).max(0.0), (self.auc + half).min(1.0))
    }

    /// The one-sided p-value of the Mann-Whitney test with ties and continuity correction.
    fn mann_whitney(&self) -> f64 {
        let [m, n] = self.sizes;
        let total = m + n;
        let variance = m * n / 12.0 * (total + 1.0 - self.ties / (total * (total - 1.0)));
        if variance <= 0.0 {
            return 1.0;
        }
        let z = (self.auc * m * n - m * n / 2.0 - 0.5) / variance.sqrt();
        let two_sided = tove_learn::diagnostics::hypotheses::chi_square_tail(z * z, 1.0);
        if z > 0.0 { 0.5 * two_sided } else { 1.0 - 0.5 * two_sided }
    }
}

/// The z with P(|Z| ≥ z) = tail for a standard normal Z.
fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        let beyond = tove_learn::diagnostics::hypotheses::chi_square_tail(middle * middle, 1.0);
        if beyond > tail { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_intervals_and_p_values_equal_scipy_and_the_definition() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/fixtures/drift.json")).expect("valid");
        let list = |value: &serde_json::Value| -> Vec<f64> {
            value.as_array().expect("a list").iter().filter_map(serde_json::Value::as_f64).collect()
        };
        for case in fixture["areas"].as_array().expect("a list") {
            let area = Area::new(&list(&case["negatives"]), &list(&case["positives"]));
            let (low, high) = area.interval(0.05);
            for (name, found) in [("auc", area.auc), ("p", area.mann_whitney()), ("low", low), ("high", high)] {
                assert!((found - case[name].as_f64().expect("a number")).abs() < 1e-9, "{name}: {found} {case}");
            }
        }
    }
}
