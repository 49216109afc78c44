//! Expected and empirical risk, and the generalization gap.
//!
//! The expected risk of f is R(f) = E l(y, f(x)); its estimate is the mean over samples. The mean is unbiased for an f
//! that was not fitted on those samples; on the training set it is optimistic. The generalization gap is |R(f) −
//! R_train(f)|.
//!
//! For losses in \[0, 1\] the confidence interval is Hoeffding's, otherwise the normal approximation mean ± z·s/√n.
//!
//! ```
//! use tove_learn::diagnostics::{RiskLoss, risk};
//! use tove_learn::{DummyRegressor, Fit, Samples};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::from([[0.0], [1.0]]), &Tensor::from([1.0, 3.0]))?;
//! let model = DummyRegressor::default().fit_samples(&samples)?;
//! assert_eq!(risk(&model, &samples, RiskLoss::Squared, 0.05)?.mean, 1.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;

use tove_metrics::hoeffding;
use tove_tensor::DType;

use crate::{LearnError, Model, Predict, Predictions, Result, Samples};

/// The loss of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskLoss {
    /// 1 for a wrong class, 0 for the right one.
    ZeroOne,
    /// (y − ŷ)².
    Squared,
    /// |y − ŷ|.
    Absolute,
}

/// A mean loss with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Risk {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub epsilon: f64,
    /// Number of samples.
    pub n: usize,
    /// Probability that the interval does not contain the expectation.
    pub delta: f64,
}

impl Risk {
    /// Lower bound of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.epsilon
    }

    /// Upper bound of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.epsilon
    }
}

/// The loss of each sample.
pub fn losses(model: &dyn Model, samples: &Samples, loss: RiskLoss) -> Result<Vec<f64>> {
    let predicted = model.predict(samples.x())?;
    match (loss, model.capabilities().predictions) {
        (RiskLoss::ZeroOne, Predictions::Classes) => {
            let (truth, guess) = (samples.y()?.to_dtype(DType::I64).to_vec::<i64>(), predicted.to_vec::<i64>());
            Ok(truth.iter().zip(&guess).map(|(a, b)| f64::from(a != b)).collect())
        }
        (RiskLoss::Squared | RiskLoss::Absolute, Predictions::Numbers) => {
            let (truth, guess) = (samples.y()?.to_f64_vec(), predicted.to_f64_vec());
            let power = |error: f64| if loss == RiskLoss::Squared { error * error } else { error.abs() };
            Ok(truth.iter().zip(&guess).map(|(a, b)| power(a - b)).collect())
        }
        _ => Err(LearnError::parameter("losses", "use ZeroOne for a classifier, Squared or Absolute for a regressor")),
    }
}

/// The mean loss of a model on samples, with an interval that contains its expectation with probability 1 − δ if the
/// model was not fitted on them.
pub fn risk(model: &dyn Model, samples: &Samples, loss: RiskLoss, delta: f64) -> Result<Risk> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(LearnError::parameter("risk", format!("δ = {delta}; give a number between 0 and 1")));
    }
    let values = losses(model, samples, loss)?;
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let epsilon = match loss {
        RiskLoss::ZeroOne => hoeffding(n as f64, 1.0, delta),
        _ => {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0);
            normal_quantile(1.0 - delta / 2.0) * (variance / n as f64).sqrt()
        }
    };
    Ok(Risk { mean, epsilon, n, delta })
}

/// The z with Φ(z) = p, for p ≥ 1/2: bisection of Φ(z) = 1 − erfc(z/√2)/2.
fn normal_quantile(p: f64) -> f64 {
    let phi = |z: f64| 1.0 - super::hypotheses::chi_square_tail(z * z, 1.0) / 2.0;
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if phi(middle) < p { low = middle } else { high = middle }
    }
    low
}

/// The generalization gap: training risk versus risk on held-out samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapReport {
    /// Mean loss on the training samples; optimistic.
    pub train: f64,
    /// Mean loss on held-out samples, with its interval.
    pub fresh: Risk,
    /// |expected − training risk|, estimated on held-out samples.
    pub gap: f64,
    /// Lower bound of the interval of the gap.
    pub low: f64,
    /// Upper bound of the interval of the gap.
    pub high: f64,
}

impl fmt::Display for GapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * (1.0 - self.fresh.delta);
        write!(
            f,
            "training risk {:.4}, held-out risk {:.4} ± {:.4}, ",
            self.train, self.fresh.mean, self.fresh.epsilon
        )?;
        write!(f, "gap {:.4} [{:.4}, {:.4}] ({percent} %, n = {})", self.gap, self.low, self.high, self.fresh.n)
    }
}

/// The generalization gap of a model: its training risk is known, its expected risk is estimated on held-out samples,
/// so the interval of the gap is as wide as that of the risk.
pub fn generalisation_gap(
    model: &dyn Model,
    train: &Samples,
    fresh: &Samples,
    loss: RiskLoss,
    delta: f64,
) -> Result<GapReport> {
    let (train, fresh) = (risk(model, train, loss, delta)?.mean, risk(model, fresh, loss, delta)?);
    let off = fresh.mean - train;
    let (low, high) = (off - fresh.epsilon, off + fresh.epsilon);
    // |x| over an interval that contains 0 starts at 0.
    let least = if low > 0.0 { low } else { (-high).max(0.0) };
    Ok(GapReport { train, fresh, gap: off.abs(), low: least, high: low.abs().max(high.abs()) })
}
