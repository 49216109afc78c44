//! One stable distribution, independent draws?
//!
//! Rows are taken in the order in which they came. **Drift:** the first half of every column is compared with the second by
//! the Kolmogorov-Smirnov test, labels by χ² of their shares. **Dependence:** the Ljung-Box test of every column and of the
//! target. Each family of tests shares half of α by Bonferroni's correction, so that on independent samples of one
//! distribution anything at all is flagged with probability at most α (up to the tests' approximations for few samples).
//! Dependence makes the test of drift too eager, so drift is to be read only where no dependence is found.
//!
//! **Sampling bias** is another matter: samples may be independent and stable and still come from the wrong place, such as
//! prices from one dealer for the prices of a country. That cannot be seen in the samples alone; [`sampling_bias`] compares
//! them with a reference.
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

/// A test that spoke.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The column; none for the target.
    pub column: Option<usize>,
    /// The test.
    pub test: &'static str,
    /// Its statistic.
    pub statistic: f64,
    /// Probability of such a statistic if nothing were wrong, before the correction for several tests.
    pub p: f64,
    /// The limit below which it is flagged: its share of α.
    pub limit: f64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let where_ = self.column.map_or("the target".to_owned(), |column| format!("column {column}"));
        write!(f, "{where_}: {} {:.4}, p = {:.2e} (limit {:.2e})", self.test, self.statistic, self.p, self.limit)
    }
}

/// What was found about samples in their order.
#[derive(Clone, Debug)]
pub struct IidReport {
    /// Columns (and target) whose distribution changed over time.
    pub drift: Vec<Finding>,
    /// Columns (and target) that depend on what came before.
    pub dependence: Vec<Finding>,
    /// The rate of false alarms, at most, on independent samples of one distribution.
    pub false_alarm_rate: f64,
    /// Number of tests made.
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

/// The columns of a table as numbers.
fn columns(x: &Rows) -> Result<Vec<Vec<f64>>> {
    let x = x.tabular()?.to_dense()?;
    let (width, numbers) = (x.dims()[1], x.to_f64_vec());
    Ok((0..width).map(|column| numbers.iter().skip(column).step_by(width).copied().collect()).collect())
}

/// Tests samples, in the order in which they came, for drift and for dependence. `alpha` is the rate of false alarms, of all
/// tests together.
pub fn check_iid(samples: &Samples, alpha: f64) -> Result<IidReport> {
    check(alpha, samples.len(), "check_iid")?;
    let (columns, half) = (columns(samples.x())?, samples.len() / 2);
    let labels = (!samples.y()?.dtype().is_float()).then(|| Labels::of("check_iid", samples.y()?)).transpose()?;
    let target = match &labels {
        Some(labels) => labels.codes().iter().map(|&code| code as f64).collect(),
        None => samples.y()?.to_f64_vec(),
    };
    let single = target.len() == samples.len(); // several outputs are not tested
    let series = columns.len() + usize::from(single);
    let limit = alpha / 2.0 / series as f64;
    let mut report =
        IidReport { drift: Vec::new(), dependence: Vec::new(), false_alarm_rate: alpha, tests: 2 * series };
    let lags = 10.min(samples.len() / 5);
    let all = columns.iter().enumerate().map(|(place, column)| (Some(place), column));
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

/// χ² of the shares of codes before and after a place.
fn shares(codes: &[usize], half: usize) -> (f64, f64) {
    let count = |part: &[usize]| {
        let mut counts = vec![0.0; codes.iter().max().map_or(0, |most| most + 1)];
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
        let fix = "the tests say nothing about so few".to_owned();
        return Err(LearnError::TooFew { who, found: n, needed: 20, fix });
    }
    Ok(())
}

/// Where samples differ from the population they are meant to stand for.
#[derive(Clone, Debug)]
pub struct BiasReport {
    /// Columns whose distribution differs from the reference's.
    pub columns: Vec<Finding>,
    /// The rate of false alarms, at most, if samples and reference are of one distribution.
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

/// Compares rows with a reference of the population, column by column; `alpha` is the rate of false alarms of all tests
/// together.
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
