//! Vector scaling (Guo et al. 2017): softmax(w ∘ z + b), a factor and an intercept per class.
//!
//! They minimize the mean log loss plus 10⁻⁶/2 (‖w − 1‖² + ‖b‖²), by L-BFGS. The penalty makes the solution unique (a number added to
//! all of b changes nothing) and keeps it finite for samples that the logits separate.

use tove_optim::LbfgsSettings;
use tove_tensor::Tensor;

use super::part::{Joint, JointScores, Stored};
use super::softmax;
use crate::{LearnError, Record, Result};

/// The factor of the penalty.
const RIDGE: f64 = 1e-6;

/// Fitted factors and intercepts.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorScale {
    /// The factor of each class's logit.
    pub w: Vec<f64>,
    /// The intercept of each class.
    pub b: Vec<f64>,
}

impl Stored for VectorScale {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(&format!("{name}.w")).is_ok()
    }

    fn write(&self, record: &mut Record, name: &str) {
        record.put_tensor(&format!("{name}.w"), &Tensor::from_slice(&self.w));
        record.put_tensor(&format!("{name}.b"), &Tensor::from_slice(&self.b));
    }

    fn read(record: &Record, name: &str) -> Result<VectorScale> {
        let (w, b) = (record.vector(&format!("{name}.w"))?, record.vector(&format!("{name}.b"))?);
        let finite = w.iter().chain(&b).all(|value| value.is_finite());
        if w.len() == b.len() && w.len() >= 2 && finite {
            return Ok(VectorScale { w, b });
        }
        Err(record.wrong(name, "a factor and an intercept per class"))
    }
}

impl Joint for VectorScale {
    fn fit(samples: &JointScores<'_>) -> Result<VectorScale> {
        let (m, total) = (samples.classes, samples.weights.iter().sum::<f64>());
        if total <= 0.0 {
            let fix = "give the samples positive weights, or choose fewer folds";
            return Err(LearnError::data(samples.who, "all samples of a fold have weight 0", fix));
        }
        // In units of the largest logit, so that the first steps are neither tiny nor huge.
        let unit = samples.logits.iter().fold(1.0f64, |most, z| most.max(z.abs()));
        let mut row = vec![0.0; m];
        let objective = |point: &[f64], gradient: &mut [f64]| {
            gradient.fill(0.0);
            let mut loss = 0.0;
            for ((z, &code), weight) in samples.logits.chunks(m).zip(samples.codes).zip(samples.weights) {
                (0..m).for_each(|k| row[k] = point[k] * (z[k] / unit) + point[m + k]);
                let own = row[code];
                let most = row.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
                loss += weight * (most - own + row.iter().map(|z| (z - most).exp()).sum::<f64>().ln());
                softmax(&mut row);
                row[code] -= 1.0;
                for k in 0..m {
                    gradient[k] += weight * row[k] * (z[k] / unit);
                    gradient[m + k] += weight * row[k];
                }
            }
            gradient.iter_mut().for_each(|slope| *slope /= total);
            let mut penalty = 0.0;
            for k in 0..m {
                let (off, b) = (point[k] / unit - 1.0, point[m + k]);
                penalty += 0.5 * RIDGE * (off * off + b * b);
                gradient[k] += RIDGE * off / unit;
                gradient[m + k] += RIDGE * b;
            }
            loss / total + penalty
        };
        let start: Vec<f64> = (0..2 * m).map(|i| if i < m { unit } else { 0.0 }).collect();
        let lbfgs = LbfgsSettings::default().max_iterations(2000).gradient_tolerance(1e-9).value_tolerance(0.0);
        let point = lbfgs.minimize(objective, &start)?.x;
        if point.iter().any(|value| !value.is_finite()) {
            let problem = "the factors of the logits are not finite";
            return Err(LearnError::data(samples.who, problem, "scale the logits, or set `method` to temperature"));
        }
        Ok(VectorScale { w: point[..m].iter().map(|w| w / unit).collect(), b: point[m..].to_vec() })
    }

    fn apply(&self, logits: &mut [f64]) {
        for (k, z) in logits.iter_mut().enumerate() {
            *z = self.w[k] * *z + self.b[k];
        }
    }

    fn classes(&self) -> Option<usize> {
        Some(self.w.len())
    }
}
