//! Platt's sigmoid (1999): p = 1 / (1 + exp(a s + b)), where a and b minimize the log loss of the targets (n₊ + 1)/(n₊ + 2) and
//! 1/(n₋ + 2), which keep a and b finite for classes that the score separates.

use tove_tensor::Tensor;

use super::logistic;
use super::part::{BinaryScores, Curve, Stored};
use crate::{LearnError, Record, Result};

/// A fitted sigmoid 1 / (1 + exp(a s + b)); a is negative if larger scores are more likely to be of the class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlattSigmoid {
    /// The slope, with Platt's sign.
    pub a: f64,
    /// The intercept, with Platt's sign.
    pub b: f64,
}

impl Stored for PlattSigmoid {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(name).is_ok_and(|tensor| tensor.numel() == 2)
    }

    fn write(&self, record: &mut Record, name: &str) {
        record.put_tensor(name, &Tensor::from([self.a, self.b]));
    }

    fn read(record: &Record, name: &str) -> Result<PlattSigmoid> {
        match record.vector(name)?[..] {
            [a, b] if a.is_finite() && b.is_finite() => Ok(PlattSigmoid { a, b }),
            _ => Err(record.wrong(name, "a slope and an intercept")),
        }
    }
}

impl Curve for PlattSigmoid {
    /// By Newton's method.
    fn fit(samples: &BinaryScores<'_>) -> Result<PlattSigmoid> {
        let who = samples.who;
        let mut samples = samples.counted()?;
        // The solution scales with the scores; Newton steps are most stable at scale 1.
        let largest = samples.iter().fold(0.0f64, |max, sample| max.max(sample.0.abs()));
        let unit = if largest > 0.0 { largest } else { 1.0 };
        samples.iter_mut().for_each(|sample| sample.0 /= unit);
        let weight_of = |wanted: bool| -> f64 { samples.iter().filter(|s| s.1 == wanted).map(|s| s.2).sum() };
        let (negative, positive) = (weight_of(false), weight_of(true));
        let (high, low) = ((positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0));
        let samples: Vec<[f64; 3]> =
            samples.iter().map(|&(f, positive, weight)| [f, if positive { high } else { low }, weight]).collect();
        let (a, b) = newton(&samples, ((negative + 1.0) / (positive + 1.0)).ln());
        let a = a / unit;
        match a.is_finite() && b.is_finite() {
            true => Ok(PlattSigmoid { a, b }),
            false => {
                let problem = "the sigmoid of the scores is not finite";
                Err(LearnError::data(who, problem, "scale the features, or set `method` to isotonic"))
            }
        }
    }

    fn at(&self, score: f64) -> f64 {
        logistic(-(self.a * score + self.b))
    }
}

/// a and b that minimize Σ w (t s + ln(1 + exp(−s))) with s = a f + b over samples [f, t, w], from a = 0.
fn newton(samples: &[[f64; 3]], start: f64) -> (f64, f64) {
    let loss = |a: f64, b: f64| -> f64 {
        let one = |[f, t, w]: &[f64; 3]| {
            let s = f * a + b;
            w * if s >= 0.0 { t * s + (-s).exp().ln_1p() } else { (t - 1.0) * s + s.exp().ln_1p() }
        };
        samples.iter().map(one).sum()
    };
    let total: f64 = samples.iter().map(|sample| sample[2]).sum();
    let (mut a, mut b) = (0.0, start);
    let mut value = loss(a, b);
    for _ in 0..200 {
        let (mut haa, mut hbb, mut hab, mut ga, mut gb) = (1e-12 * total, 1e-12 * total, 0.0, 0.0, 0.0);
        for &[f, t, w] in samples {
            let p = logistic(-(f * a + b));
            let (first, second) = (w * (t - p), w * p * (1.0 - p));
            (ga, gb) = (ga + f * first, gb + first);
            (haa, hab, hbb) = (haa + f * f * second, hab + f * second, hbb + second);
        }
        if ga.abs().max(gb.abs()) <= 1e-13 * total {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = ((hab * gb - hbb * ga) / determinant, (hab * ga - haa * gb) / determinant);
        let slope = ga * da + gb * db;
        let steps = std::iter::successors(Some(1.0), |step| Some(step / 2.0)).take(40);
        let taken = steps.map(|step| (step, loss(a + step * da, b + step * db)));
        let Some((step, lower)) = taken.into_iter().find(|(step, new)| *new < value + 1e-4 * step * slope) else {
            break;
        };
        (a, b, value) = (a + step * da, b + step * db, lower);
    }
    (a, b)
}
