//! Temperature scaling (Guo et al. 2017): softmax of the logits times one number β = 1/T, which minimizes the log loss. The order of
//! the classes stays, so that every prediction does.

use tove_tensor::Tensor;

use super::part::{Joint, JointScores, Stored};
use crate::{Record, Result};

/// ln β between which the temperature is looked for, as in scikit-learn.
const COLDEST: f64 = 10.0;

/// A fitted temperature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemperatureScale {
    /// What the logits are multiplied by: the inverse of the temperature.
    pub beta: f64,
}

impl Stored for TemperatureScale {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(name).is_ok_and(|tensor| tensor.numel() == 1)
    }

    fn write(&self, record: &mut Record, name: &str) {
        record.put_tensor(name, &Tensor::from([self.beta]));
    }

    fn read(record: &Record, name: &str) -> Result<TemperatureScale> {
        match record.vector(name)?[..] {
            [beta] if beta > 0.0 && beta.is_finite() => Ok(TemperatureScale { beta }),
            _ => Err(record.wrong(name, "the inverse of a temperature")),
        }
    }
}

impl Joint for TemperatureScale {
    /// The loss is convex in β, so that its slope has one zero, found by bisection of ln β.
    fn fit(samples: &JointScores<'_>) -> Result<TemperatureScale> {
        let slope = |beta: f64| -> f64 {
            let rows = samples.logits.chunks(samples.classes).zip(samples.codes).zip(samples.weights);
            rows.map(|((z, &code), weight)| {
                let most = z.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
                let parts = z.iter().map(|z| ((beta * (z - most)).exp(), z));
                let (sum, mean) = parts.fold((0.0, 0.0), |(sum, mean), (p, z)| (sum + p, mean + p * z));
                weight * (mean / sum - z[code])
            })
            .sum()
        };
        let (mut low, mut high) = (-COLDEST, COLDEST);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if slope(middle.exp()) > 0.0 { high = middle } else { low = middle }
        }
        Ok(TemperatureScale { beta: (0.5 * (low + high)).exp() })
    }

    fn apply(&self, logits: &mut [f64]) {
        // The largest stays the largest of all roundings if it is subtracted first.
        let most = logits.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
        logits.iter_mut().for_each(|z| *z = self.beta * (*z - most));
    }
}
