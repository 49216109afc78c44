//! Tests for drift and dependence: are the samples independent and identically distributed?
//!
//! Rows are taken in their original order. **Drift:** the first half of every column is compared with the second by the
//! Kolmogorov-Smirnov test, labels by a χ² test of their proportions. **Dependence:** the Ljung-Box test of every
//! column and of the target. Each family of tests gets half of α with Bonferroni's correction, so that on i.i.d.
//! samples anything is flagged with probability at most α (up to the tests' approximations for few samples). Dependence
//! inflates the false-alarm rate of the drift test, so interpret drift only if no dependence is found.
//!
//! **Sampling bias** is a different issue: samples may be i.i.d. and still come from the wrong population, such as
//! prices from one dealer for the prices of a country. That cannot be detected from the samples alone;
//! [`sampling_bias`] compares them with a reference.
//!
//! ```
//! use tove_learn::Samples;
//! use tove_learn::diagnostics::check_iid;
//! use tove_tensor::{DType, Key, Tensor};
//! let noise = Key::new(1).normal([400, 2], DType::F64);
//! let trend = Tensor::from_vec((0..400).map(|i| f64::from(i) / 200.0).collect(), [400, 1]);
//! let y = Key::new(2).normal([400], DType::F64);
//! assert!(check_iid(&Samples::new(&noise, &y)?, 0.05)?.is_quiet());
//! let report = check_iid(&Samples::new(&(noise + trend), &y)?, 0.05)?;
//! assert_eq!(report.drift.len(), 2);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;

use super::hypotheses::{chi_square_shares, kolmogorov_smirnov, ljung_box};
use crate::{Labels, LearnError, Result, Rows, Samples};

/// A significant test result.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The column; `None` for the target.
    pub column: Option<usize>,
    /// The test.
    pub test: &'static str,
    /// Its statistic.
    pub statistic: f64,
    /// p-value, before the correction for multiple tests.
    pub p: f64,
    /// The significance level of this test: its part of α.
    pub limit: f64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let where_ = self.column.map_or("the target".to_owned(), |column| format!("column {column}"));
        write!(f, "{where_}: {} {:.4}, p = {:.2e} (limit {:.2e})", self.test, self.statistic, self.p, self.limit)
    }
}

/// The result of [`check_iid`].
#[derive(Clone, Debug)]
pub struct IidReport {
    /// Columns (and target) whose distribution changed over time.
    pub drift: Vec<Finding>,
    /// Columns (and target) with autocorrelation.
    pub dependence: Vec<Finding>,
    /// Upper bound on the false-alarm rate on i.i.d. samples.
    pub false_alarm_rate: f64,
    /// Number of tests.
    pub tests: usize,
}

impl IidReport {
    /// Whether nothing was flagged.
    pub fn is_quiet(&self) -> bool {
        self.drift.is_empty() && self.dependence.is_empty()
    }
}

impl fmt::Display for IidReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = 100.0 * self.false_alarm_rate;
        writeln!(f, "{} tests, false-alarm rate of all together at most {rate} %", self.tests)?;
        for (what, findings) in [("drift over time", &self.drift), ("dependence between samples", &self.dependence)] {
            match findings.is_empty() {
                true => writeln!(f, "no {what}")?,
                false => writeln!(f, "{what}:")?,
            }
            findings.iter().try_for_each(|finding| writeln!(f, "  {finding}"))?;
        }
        Ok(())
    }
}

/// The columns of a matrix as f64.
fn columns(x: &Rows) -> Result<Vec<Vec<f64>>> {
    let x = x.tabular()?.to_dense()?;
    let (width, numbers) = (x.dims()[1], x.to_f64_vec());
    Ok((0..width).map(|column| numbers.iter().skip(column).step_by(width).copied().collect()).collect())
}

/// Tests samples, in their original order, for drift and for dependence. `alpha` is the false-alarm rate of all tests
/// together.
pub fn check_iid(samples: &Samples, alpha: f64) -> Result<IidReport> {
    check(alpha, samples.len(), "check_iid")?;
    let (columns, half) = (columns(samples.x())?, samples.len() / 2);
    let labels = (!samples.y()?.dtype().is_float()).then(|| Labels::of("check_iid", samples.y()?)).transpose()?;
    let target = match &labels {
        Some(labels) => labels.codes().iter().map(|&code| code as f64).collect(),
        None => samples.y()?.to_f64_vec(),
    };
    let single = target.len() == samples.len(); // multiple outputs are not tested
    let series = columns.len() + usize::from(single);
    let limit = alpha / 2.0 / series as f64;
    let mut report =
        IidReport { drift: Vec::new(), dependence: Vec::new(), false_alarm_rate: alpha, tests: 2 * series };
    let lags = 10.min(samples.len() / 5);
    let all = columns.iter().enumerate().map(|(index, column)| (Some(index), column));
    for (column, series) in all.chain(single.then_some((None, &target))) {
        let (name, (statistic, p)) = match (&labels, column) {
            (Some(labels), None) => ("χ² of shares", shares(labels.codes(), half)),
            _ => ("Kolmogorov-Smirnov", kolmogorov_smirnov(&series[..half], &series[half..])),
        };
        if p < limit {
            report.drift.push(Finding { column, test: name, statistic, p, limit });
        }
        let (statistic, p) = ljung_box(series, lags);
        if p < limit {
            report.dependence.push(Finding { column, test: "Ljung-Box", statistic, p, limit });
        }
    }
    Ok(report)
}

/// χ² test of the proportions of codes before and after an index.
fn shares(codes: &[usize], half: usize) -> (f64, f64) {
    let count = |part: &[usize]| {
        let mut counts = vec![0.0; codes.iter().max().map_or(0, |largest| largest + 1)];
        part.iter().for_each(|&code| counts[code] += 1.0);
        counts
    };
    chi_square_shares(&count(&codes[..half]), &count(&codes[half..]))
}

fn check(alpha: f64, n: usize, who: &'static str) -> Result<()> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(LearnError::parameter(who, format!("α = {alpha}; give a rate between 0 and 1, such as 0.05")));
    }
    if n < 20 {
        let fix = "the tests have no power with so few samples".to_owned();
        return Err(LearnError::TooFew { who, found: n, needed: 20, fix });
    }
    Ok(())
}

/// The result of [`sampling_bias`].
#[derive(Clone, Debug)]
pub struct BiasReport {
    /// Columns whose distribution differs from that of the reference.
    pub columns: Vec<Finding>,
    /// Upper bound on the false-alarm rate if samples and reference have the same distribution.
    pub false_alarm_rate: f64,
}

impl fmt::Display for BiasReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = 100.0 * self.false_alarm_rate;
        match self.columns.is_empty() {
            true => writeln!(f, "no sampling bias found (false-alarm rate {rate} %)")?,
            false => writeln!(f, "sampling bias (false-alarm rate {rate} %):")?,
        }
        self.columns.iter().try_for_each(|finding| writeln!(f, "  {finding}"))
    }
}

/// Compares rows with a reference sample of the population, column by column; `alpha` is the false-alarm rate of all
/// tests together.
pub fn sampling_bias(x: impl Into<Rows>, reference: impl Into<Rows>, alpha: f64) -> Result<BiasReport> {
    let (x, reference) = (x.into(), reference.into());
    check(alpha, x.len().min(reference.len()), "sampling_bias")?;
    reference.check_width("sampling_bias", x.width())?;
    let (ours, theirs) = (columns(&x)?, columns(&reference)?);
    let limit = alpha / ours.len().max(1) as f64;
    let mut found = Vec::new();
    for (column, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let (statistic, p) = kolmogorov_smirnov(ours, theirs);
        if p < limit {
            found.push(Finding { column: Some(column), test: "Kolmogorov-Smirnov", statistic, p, limit });
        }
    }
    Ok(BiasReport { columns: found, false_alarm_rate: alpha })
}
