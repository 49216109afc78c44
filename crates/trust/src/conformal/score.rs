//! Scores of classes: how badly a class fits the probabilities of a row. A class is in the set if its score is at most the
//! quantile of the calibration scores.
//!
//! One function computes the score when calibrating and when predicting, and the comparison is exact (≤, without tolerance).
//! This is all that the guarantee needs. MAPIE differs at the edges: it compares with a tolerance of 2.2e-16, calibrates APS with
//! random numbers even where its sets are not randomized, and ranks equal probabilities from the last class to the first.

use serde_json::{Value, json};
use tove_tensor::Key;
use tove_tensor::random::fill_uniform;

use super::json::Reader;
use crate::{Result, TrustError};

/// How badly a class fits the probabilities p of a row. Classes are ranked by falling probability; ties go to the first class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetScore {
    /// 1 − p of the class (LAC, Sadinle et al. 2019): the smallest sets on average, which may be empty.
    Lac,
    /// The sum of the probabilities from the most probable class to this one, minus u times its own (APS, Romano et al. 2020): sets
    /// adapt to how hard a row is. u is 0, or uniform on \[0, 1\] if randomized, which gives smaller sets.
    Aps {
        /// Whether u is random.
        randomized: bool,
    },
    /// APS with `lambda` added for each rank beyond `k_reg` (RAPS, Angelopoulos et al. 2021): avoids long tails of improbable
    /// classes.
    Raps {
        /// Penalty per rank; 0 gives APS.
        lambda: f64,
        /// Number of ranks without penalty.
        k_reg: usize,
        /// Whether u is random.
        randomized: bool,
    },
}

impl SetScore {
    pub(super) fn check(self, what: &'static str) -> Result<SetScore> {
        match self {
            SetScore::Raps { lambda, .. } if !(lambda >= 0.0 && lambda.is_finite()) => {
                let problem = format!("`lambda` is {lambda}; give a finite penalty of at least 0, such as 0.01");
                Err(TrustError::argument(what, problem))
            }
            score => Ok(score),
        }
    }

    /// Whether the score takes a random number per row.
    pub fn is_randomized(self) -> bool {
        match self {
            SetScore::Lac => false,
            SetScore::Aps { randomized } | SetScore::Raps { randomized, .. } => randomized,
        }
    }

    /// The scores of all classes of a row, written to `out`; `order` is room for the ranking.
    pub(super) fn write(self, p: &[f64], u: f64, order: &mut Vec<usize>, out: &mut [f64]) {
        let (lambda, k_reg) = match self {
            SetScore::Lac => {
                out.iter_mut().zip(p).for_each(|(out, p)| *out = 1.0 - p);
                return;
            }
            SetScore::Aps { .. } => (0.0, 0),
            SetScore::Raps { lambda, k_reg, .. } => (lambda, k_reg),
        };
        order.clear();
        order.extend(0..p.len());
        order.sort_by(|&a, &b| p[b].total_cmp(&p[a])); // stable: ties go to the first class
        let mut sum = 0.0;
        for (rank, &class) in order.iter().enumerate() {
            sum += p[class];
            out[class] = sum - u * p[class] + lambda * (rank + 1).saturating_sub(k_reg) as f64;
        }
    }

    pub(super) fn to_json(self) -> Value {
        match self {
            SetScore::Lac => json!({"name": "lac"}),
            SetScore::Aps { randomized } => json!({"name": "aps", "randomized": randomized}),
            SetScore::Raps { lambda, k_reg, randomized } => {
                json!({"name": "raps", "lambda": lambda, "k_reg": k_reg, "randomized": randomized})
            }
        }
    }

    pub(super) fn from_json(reader: &Reader<'_>) -> Result<SetScore> {
        let score = match reader.text("name")? {
            "lac" => SetScore::Lac,
            "aps" => SetScore::Aps { randomized: reader.switch("randomized")? },
            "raps" => SetScore::Raps {
                lambda: reader.real("lambda")?,
                k_reg: reader.count("k_reg")?,
                randomized: reader.switch("randomized")?,
            },
            other => return Err(reader.invalid(format!("the score \"{other}\" is unknown"))),
        };
        score.check(reader.what)
    }
}

/// A number on [0, 1) drawn from the seed and the row's probabilities, so that it depends neither on the place of the row nor on the
/// rows beside it. Being a function of the row, it leaves rows exchangeable. Probabilities are rounded to 2⁻²⁴ first: results of
/// the same model for other batch sizes differ in the last digits.
pub(super) fn row_uniform(key: Key, p: &[f64]) -> f64 {
    // FNV-1a over the rounded values.
    let hash = p.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, p| {
        (hash ^ (p * 16_777_216.0).round() as u64).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut u = [0.0f64];
    fill_uniform(key.fold(hash), &mut u);
    u[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let scores = |score: SetScore, u: f64| {
            let mut out = [0.0; 4];
            score.write(&[0.125, 0.5, 0.25, 0.125], u, &mut Vec::new(), &mut out);
            out
        };
        assert_eq!(scores(SetScore::Lac, 0.0), [0.875, 0.5, 0.75, 0.875]);
        assert_eq!(scores(SetScore::Aps { randomized: false }, 0.0), [0.875, 0.5, 0.75, 1.0]);
        assert_eq!(scores(SetScore::Aps { randomized: true }, 0.5), [0.8125, 0.25, 0.625, 0.9375]);
        let raps = SetScore::Raps { lambda: 0.5, k_reg: 1, randomized: false };
        assert_eq!(scores(raps, 0.0), [1.875, 0.5, 1.25, 2.5]);
    }

    #[test]
    fn drawn_numbers_are_uniform_and_belong_to_the_row() {
        let key = Key::new(3);
        let draws: Vec<f64> =
            (0..2000).map(|i| row_uniform(key, &[f64::from(i) / 2000.0, 1.0 - f64::from(i) / 2000.0])).collect();
        let mean = draws.iter().sum::<f64>() / 2000.0;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
        assert_eq!(row_uniform(key, &[0.25, 0.75]), row_uniform(key, &[0.25 + 1e-15, 0.75]));
        assert_ne!(row_uniform(key, &[0.25, 0.75]), row_uniform(Key::new(4), &[0.25, 0.75]));
    }
}
