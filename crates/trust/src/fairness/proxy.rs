//! Proxies of a sensitive attribute: dropping the attribute does not help if other features tell it.

use std::fmt;

use serde_json::{Value, json};
use tove_learn::selection::{Splitter, StratifiedKFold};
use tove_learn::{Estimator, Fit, Labels, LogisticRegression, Model, Pipeline, Predict, Rows, Samples, StandardScaler};
use tove_tensor::{DType, Tensor};

use super::gap_measure::GapMeasure;
use super::gaps::{Gap, fairness_gaps};
use super::outcomes::{Outcomes, binary};
use super::report::{GroupOptions, Rate};
use crate::intervals::{clopper_pearson, normal_critical};
use crate::{Result, TrustError, input};

/// Settings of [`proxy_audit`] and [`unawareness_audit`].
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyOptions {
    /// Number of cross-validation folds; 5 by default.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Confidence of the intervals; 0.95 by default.
    pub confidence: f64,
}

impl Default for ProxyOptions {
    fn default() -> ProxyOptions {
        ProxyOptions { folds: 5, seed: 0, confidence: 0.95 }
    }
}

/// How well one feature alone tells the sensitive attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyFeature {
    /// The column.
    pub column: usize,
    /// Area under the ROC curve of the feature itself, at least 0.5 (the direction does not matter). Of more than two groups, the
    /// largest area of one group against the rest.
    pub auc: f64,
}

/// How well a sensitive attribute can be predicted from the other features.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyAudit {
    /// Cross-validated area under the ROC curve; of more than two groups, the mean over groups of one against the rest. 0.5 means that
    /// this model cannot tell the attribute, which does not rule out that another could.
    pub auc: Rate,
    /// The area of every group against the rest; for two groups that of the second.
    pub by_group: Vec<(i64, Rate)>,
    /// All features, the strongest first.
    pub features: Vec<ProxyFeature>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl ProxyAudit {
    /// As JSON.
    pub fn to_json(&self) -> Value {
        let groups = self.by_group.iter().map(|(group, rate)| json!({"group": group, "auc": rate.json()}));
        let features = self.features.iter().map(|one| json!({"column": one.column, "auc": one.auc}));
        json!({
            "confidence": self.confidence, "auc": self.auc.json(),
            "groups": groups.collect::<Vec<Value>>(), "features": features.collect::<Vec<Value>>(),
        })
    }
}

impl fmt::Display for ProxyAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.auc {
            auc if auc.low > 0.9 => "the other features tell the sensitive attribute almost surely",
            auc if auc.low > 0.7 => "the other features tell much of the sensitive attribute",
            auc if auc.low > 0.5 => "the other features tell something of the sensitive attribute",
            _ => "this model finds no proxies of the sensitive attribute",
        };
        writeln!(f, "{verdict}: cross-validated AUC {}", self.auc)?;
        let first: Vec<String> =
            self.features.iter().take(5).map(|one| format!("column {} ({:.3})", one.column, one.auc)).collect();
        write!(f, "strongest single features: {}", first.join(", "))
    }
}

/// Logistic regression on standardized features.
fn default_estimator() -> Box<dyn Estimator> {
    Box::new(Pipeline::of(StandardScaler::default()).then(LogisticRegression::default()))
}

/// Measures how well the sensitive attribute can be predicted from features (n, d), which must not contain it. The estimator is a
/// classifier with probabilities or decision scores; logistic regression on standardized features if `None`. Every row is predicted by a
/// model that was fitted without it.
///
/// The interval (DeLong et al. 1988) assumes independent rows and takes the models of the folds as given.
///
/// ```
/// use tove_tensor::{DType, Key, Tensor};
/// use tove_trust::fairness::{ProxyOptions, proxy_audit};
/// let group = Tensor::from_slice(&(0..200).map(|i| i % 2).collect::<Vec<i64>>());
/// let noise = Key::new(1).normal([200, 3], DType::F64);
/// let shifted = &noise + group.to_dtype(DType::F64).reshape([200, 1]) * Tensor::from([0.0, 3.0, 0.0]);
/// let audit = proxy_audit(&shifted, &group, None, &ProxyOptions::default())?;
/// assert!(audit.auc.low > 0.9 && audit.features[0].column == 1);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Different lengths; fewer than two groups; a group with fewer rows than folds; an estimator that is not a classifier, or fails.
pub fn proxy_audit(
    x: &Tensor,
    sensitive: &Tensor,
    estimator: Option<&dyn Estimator>,
    options: &ProxyOptions,
) -> Result<ProxyAudit> {
    const NAME: &str = "proxy_audit";
    let (n, d) = sizes(NAME, x)?;
    input::fraction(NAME, "confidence", options.confidence)?;
    let groups = checked_groups(NAME, sensitive, n, options.folds)?;
    let values = input::reals(NAME, "features", x)?;
    let samples = Samples::new(x.detach().contiguous(), sensitive)?;
    let default = default_estimator();
    let estimator = estimator.unwrap_or(&*default);
    let scores = out_of_fold(NAME, estimator, &samples, &groups, options)?;
    let m = groups.classes().len();
    let column = |code: usize| -> Vec<f64> { scores.iter().map(|row| row[code]).collect() };
    let first = usize::from(m == 2); // the first of two groups has the same area as the second
    let area = |code: usize| area(&column(code), groups.codes(), code, options.confidence);
    let by_group: Vec<(i64, Rate)> = (first..m).map(|code| (groups.classes()[code], area(code))).collect();
    let mean =
        |part: fn(&Rate) -> f64| by_group.iter().map(|(_, rate)| part(rate)).sum::<f64>() / by_group.len() as f64;
    // The standard deviation of a mean is at most the mean of the standard deviations.
    let auc = Rate { value: mean(|r| r.value), low: mean(|r| r.low), high: mean(|r| r.high), n: n as f64 };
    let single = |index: usize| {
        let feature: Vec<f64> = values.iter().skip(index).step_by(d).copied().collect();
        let one = |code: usize| {
            let value = mann_whitney(&feature, groups.codes(), code).0;
            value.max(1.0 - value)
        };
        ProxyFeature { column: index, auc: (first..m).map(one).fold(0.5, f64::max) }
    };
    let mut features: Vec<ProxyFeature> = (0..d).map(single).collect();
    features.sort_by(|a, b| b.auc.total_cmp(&a.auc).then(a.column.cmp(&b.column)));
    Ok(ProxyAudit { auc, by_group, features, confidence: options.confidence })
}

/// What dropping the sensitive attribute changes.
#[derive(Clone, Debug, PartialEq)]
pub struct UnawarenessAudit {
    /// How well the attribute can be predicted from the other features.
    pub proxies: ProxyAudit,
    /// Demographic parity difference of a model that sees the attribute.
    pub aware: Gap,
    /// The same of a model that does not.
    pub unaware: Gap,
}

impl UnawarenessAudit {
    /// Whether a gap remains without the attribute: its interval excludes 0 and the permutation test rejects at `alpha`.
    pub fn gap_persists(&self, alpha: f64) -> bool {
        self.unaware.low > 0.0 && self.unaware.p_value < alpha
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"proxies": self.proxies.to_json(), "aware": self.aware.to_json(), "unaware": self.unaware.to_json()})
    }
}

impl fmt::Display for UnawarenessAudit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.proxies)?;
        writeln!(f, "with the sensitive attribute:    {}", self.aware)?;
        writeln!(f, "without the sensitive attribute: {}", self.unaware)?;
        match self.gap_persists(0.05) {
            true => write!(f, "dropping the attribute does not remove the gap"),
            false => write!(f, "without the attribute no gap is found"),
        }
    }
}

/// Compares cross-validated decisions of a classifier fitted with the sensitive attribute (as one column per group) and without it, for
/// labels 0 and 1, and audits the proxies.
///
/// # Errors
/// As [`proxy_audit`]; labels other than 0 and 1.
pub fn unawareness_audit(
    x: &Tensor,
    labels: &Tensor,
    sensitive: &Tensor,
    estimator: Option<&dyn Estimator>,
    options: &ProxyOptions,
) -> Result<UnawarenessAudit> {
    const NAME: &str = "unawareness_audit";
    let (n, d) = sizes(NAME, x)?;
    binary(NAME, "labels", labels, n)?;
    let proxies = proxy_audit(x, sensitive, estimator, options)?;
    let groups = checked_groups(NAME, sensitive, n, options.folds)?;
    let targets = checked_groups(NAME, labels, n, options.folds)?;
    let values = input::reals(NAME, "features", x)?;
    let m = groups.classes().len();
    let mut wide = Vec::with_capacity(n * (d + m));
    for (row, &code) in values.chunks_exact(d).zip(groups.codes()) {
        wide.extend_from_slice(row);
        wide.extend((0..m).map(|group| f64::from(u8::from(group == code))));
    }
    let default = default_estimator();
    let estimator = estimator.unwrap_or(&*default);
    let gap = |x: &Tensor| -> Result<Gap> {
        let scores = out_of_fold(NAME, estimator, &Samples::new(x, labels)?, &targets, options)?;
        let decisions: Vec<i64> = scores.iter().map(|row| i64::from(row[1] > row[0])).collect();
        let outcomes = Outcomes::new(labels)?.decisions(&Tensor::from_slice(&decisions))?;
        let outcomes = outcomes.sensitive("sensitive", sensitive)?;
        let report =
            GroupOptions { confidence: options.confidence, seed: options.seed, min_size: 1, ..Default::default() };
        let gaps = fairness_gaps(&outcomes, &report)?;
        gaps.get(GapMeasure::DemographicParityDifference).cloned().ok_or_else(|| {
            TrustError::data(NAME, "the demographic parity difference is undefined", "give rows of at least two groups")
        })
    };
    let aware = gap(&Tensor::from_vec(wide, [n, d + m]))?;
    let unaware = gap(&x.detach().contiguous().to_dtype(DType::F64))?;
    Ok(UnawarenessAudit { proxies, aware, unaware })
}

fn sizes(what: &'static str, x: &Tensor) -> Result<(usize, usize)> {
    match *x.dims() {
        [n, d] if n > 0 && d > 0 => Ok((n, d)),
        _ => {
            let problem = format!("features of shape {}", x.shape());
            Err(TrustError::data(what, problem, "give a matrix with a row per sample and at least one column"))
        }
    }
}

fn checked_groups(what: &'static str, values: &Tensor, n: usize, folds: usize) -> Result<Labels> {
    let groups = input::groups(what, values, n)?;
    if folds < 2 {
        return Err(TrustError::argument(what, format!("`folds` is {folds}; give at least 2")));
    }
    let counted = |code: usize| groups.codes().iter().filter(|&&other| other == code).count();
    if groups.classes().len() < 2 {
        let problem = format!("all rows have the value {}", groups.classes()[0]);
        return Err(TrustError::data(what, problem, "give rows of at least two groups and two labels"));
    }
    match (0..groups.classes().len()).find(|&code| counted(code) < folds) {
        None => Ok(groups),
        Some(code) => {
            let problem =
                format!("{} rows have the value {}, for {folds} folds", counted(code), groups.classes()[code]);
            Err(TrustError::data(what, problem, "give more such rows, leave them out, or choose fewer folds"))
        }
    }
}

/// Scores of every row for every class by models that were fitted without it.
fn out_of_fold(
    what: &'static str,
    estimator: &dyn Estimator,
    samples: &Samples,
    labels: &Labels,
    options: &ProxyOptions,
) -> Result<Vec<Vec<f64>>> {
    let folds = StratifiedKFold::new(options.folds).shuffled(options.seed).split_samples(samples)?;
    let m = labels.classes().len();
    let mut scores = vec![Vec::new(); samples.len()];
    for fold in folds {
        let model = estimator.fit_samples(&samples.take(&fold.train)?)?;
        let part = class_scores(what, &*model, &samples.x().take(&fold.test)?, m)?;
        part.chunks_exact(m).zip(&fold.test).for_each(|(row, &index)| scores[index] = row.to_vec());
    }
    Ok(scores)
}

/// Probabilities, or decision scores where there are none.
fn class_scores(what: &'static str, model: &dyn Model, x: &Rows, m: usize) -> Result<Vec<f64>> {
    let capabilities = model.capabilities();
    if !capabilities.classifies() || !(capabilities.probabilities || capabilities.decision_function) {
        let problem = format!("{} gives neither probabilities nor decision scores", model.name());
        return Err(TrustError::unsupported(what, problem, "choose a classifier, such as `LogisticRegression`"));
    }
    let scores = if capabilities.probabilities { model.predict_proba(x)? } else { model.decision_function(x)? };
    let values = scores.contiguous().to_f64_vec();
    match scores.rank() {
        1 => Ok(values.into_iter().flat_map(|score| [-score, score]).collect()),
        _ if values.len() == x.len() * m => Ok(values),
        _ => {
            let problem = format!("{} was fitted to a fold without some of the groups", model.name());
            Err(TrustError::data(what, problem, "give more rows of every group, or choose fewer folds"))
        }
    }
}

/// The area under the ROC curve of rows of a group against the rest, with DeLong's interval.
fn area(scores: &[f64], codes: &[usize], group: usize, confidence: f64) -> Rate {
    let (value, error) = mann_whitney(scores, codes, group);
    let n = scores.len() as f64;
    if error == 0.0 && (value == 0.0 || value == 1.0) {
        // Complete separation has no spread: as many pairs of different rows as there are agree, which bounds the area exactly.
        let inside = codes.iter().filter(|&&code| code == group).count() as f64;
        let pairs = inside.min(n - inside);
        let (low, high) = clopper_pearson(value * pairs, pairs, confidence);
        return Rate { value, low, high, n };
    }
    let half = normal_critical(1.0 - confidence) * error;
    Rate { value, low: (value - half).max(0.0), high: (value + half).min(1.0), n }
}

/// P(score of the group > score of the rest) + P(equal)/2, with its standard error (DeLong et al. 1988).
fn mann_whitney(scores: &[f64], codes: &[usize], group: usize) -> (f64, f64) {
    let part = |inside: bool| {
        let rows = scores.iter().zip(codes).filter(|&(_, &code)| (code == group) == inside);
        let mut part: Vec<f64> = rows.map(|(&score, _)| score).collect();
        part.sort_by(f64::total_cmp);
        part
    };
    let (above, below) = (part(true), part(false));
    // The share of `others` below a value, ties counted half.
    let share = |others: &[f64], value: f64| {
        let (low, high) = (others.partition_point(|&x| x < value), others.partition_point(|&x| x <= value));
        0.5 * (low + high) as f64 / others.len() as f64
    };
    let first: Vec<f64> = above.iter().map(|&value| share(&below, value)).collect();
    let second: Vec<f64> = below.iter().map(|&value| 1.0 - share(&above, value)).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = |values: &[f64]| {
        let (center, n) = (mean(values), values.len() as f64);
        if n > 1.0 { values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (n - 1.0) / n } else { 0.25 }
    };
    (mean(&first), (variance(&first) + variance(&second)).sqrt())
}
