//! How the next token is chosen from its logits z: the likeliest one, or a draw from softmax(z / temperature), possibly
//! among the k likeliest (Fan et al. 2018) or the fewest whose probabilities reach p (Holtzman et al. 2020).

use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use crate::{Error, Result};

/// The rule by which the next token is chosen.
///
/// ```
/// use tove_nn::Sampling;
/// use tove_tensor::Key;
/// let rule = Sampling::random(Key::new(1)).temperature(0.5).top_k(2);
/// let p = rule.probabilities(&[0.0, 1.0, 2.0])?;
/// assert_eq!(p[0], 0.0);
/// assert!((p[2] - 1.0 / (1.0 + (-2f64).exp())).abs() < 1e-12); // logits 2 and 4
/// assert_eq!(Sampling::greedy().probabilities(&[0.0, 1.0, 2.0])?, [0.0, 0.0, 1.0]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Where random numbers come from; without a key the likeliest token is taken, the first among equals.
    pub key: Option<Key>,
    /// Logits are divided by this: below 1 the likely become likelier, above 1 less so.
    pub temperature: f64,
    /// Only this many of the likeliest tokens stay, and those equal to the last of them.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens stay, as many as are needed for their probabilities to reach this.
    pub top_p: Option<f64>,
}

impl Sampling {
    /// Always the likeliest token.
    pub fn greedy() -> Sampling {
        Sampling { key: None, temperature: 1.0, top_k: None, top_p: None }
    }

    /// A draw from the softmax; the key decides.
    pub fn random(key: Key) -> Sampling {
        Sampling { key: Some(key), ..Sampling::greedy() }
    }

    /// The same rule with another temperature.
    pub fn temperature(self, temperature: f64) -> Sampling {
        Sampling { temperature, ..self }
    }

    /// The same rule among the `k` likeliest tokens.
    pub fn top_k(self, k: usize) -> Sampling {
        Sampling { top_k: Some(k), ..self }
    }

    /// The same rule among the fewest tokens whose probabilities reach `p`.
    pub fn top_p(self, p: f64) -> Sampling {
        Sampling { top_p: Some(p), ..self }
    }

    /// Whether all settings are in their ranges.
    pub(crate) fn check(&self) -> Result<()> {
        if !(self.temperature > 0.0 && self.temperature.is_finite()) {
            let problem =
                format!("is {}; it must be positive. For the likeliest token use Sampling::greedy()", self.temperature);
            return Err(Error::setting("Sampling", "temperature", problem));
        }
        if self.top_k == Some(0) {
            return Err(Error::setting("Sampling", "top_k", "is 0; at least one token must stay"));
        }
        if let Some(p) = self.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(Error::setting("Sampling", "top_p", format!("is {p}; it must lie in (0, 1]")));
        }
        Ok(())
    }

    /// The distribution the next token is drawn from.
    pub fn probabilities(&self, logits: &[f64]) -> Result<Vec<f64>> {
        self.check()?;
        numbers(logits.iter().all(|z| !z.is_nan()))?;
        let mut scores: Vec<f64> = match self.key {
            Some(_) => logits.iter().map(|z| z / self.temperature).collect(),
            None => {
                let best = likeliest(logits);
                logits.iter().enumerate().map(|(i, _)| if i == best { 0.0 } else { f64::NEG_INFINITY }).collect()
            }
        };
        if let Some(k) = self.top_k.filter(|&k| k < scores.len()) {
            let mut order = scores.clone();
            let (_, &mut least, _) = order.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
            scores.iter_mut().filter(|z| **z < least).for_each(|z| *z = f64::NEG_INFINITY);
        }
        let mut p = softmax(scores);
        if let Some(mass) = self.top_p {
            keep_nucleus(&mut p, mass);
        }
        Ok(p)
    }

    /// The next token for each row of logits (rows, vocabulary). Row r's draw depends on the key, r and `step` alone.
    pub(crate) fn choose(&self, logits: &Tensor, step: u64, chosen: &mut Vec<i64>) -> Result<()> {
        let vocabulary = logits.dims()[logits.rank() - 1].max(1);
        chosen.clear();
        if let (None, Ok(values)) = (self.key, logits.as_slice::<f32>()) {
            numbers(values.iter().all(|z| !z.is_nan()))?;
            chosen.extend(values.chunks_exact(vocabulary).map(|row| likeliest(row) as i64));
            return Ok(());
        }
        let values = logits.to_f64_vec();
        for (row, logits) in values.chunks_exact(vocabulary).enumerate() {
            let token = match self.key {
                Some(key) => draw(&self.probabilities(logits)?, key.fold(row as u64).fold(step)),
                None => {
                    numbers(logits.iter().all(|z| !z.is_nan()))?;
                    likeliest(logits)
                }
            };
            chosen.push(token as i64);
        }
        Ok(())
    }
}

/// An error unless all logits are numbers: among NaN there is no likeliest token, and the first one would be written for ever.
fn numbers(all: bool) -> Result<()> {
    let problem = "are NaN; the net's weights are damaged, or its training diverged";
    if all { Ok(()) } else { Err(Error::setting("Sampling", "logits", problem)) }
}

/// Position of the largest value, the first among equals.
fn likeliest<T: PartialOrd + Copy>(values: &[T]) -> usize {
    let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
    (0..values.len()).fold(0, better)
}

fn softmax(mut scores: Vec<f64>) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|z| *z = (*z - largest).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|p| *p /= sum);
    scores
}

/// Zeroes all but the fewest largest probabilities that reach `mass`, and makes the rest sum to 1.
fn keep_nucleus(p: &mut [f64], mass: f64) {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut sum = 0.0;
    for index in order {
        if sum >= mass {
            p[index] = 0.0;
        }
        sum += p[index];
    }
    let kept: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= kept);
}

/// The first position where the running sum of probabilities passes a uniform number.
fn draw(p: &[f64], key: Key) -> usize {
    let mut u = [0.0f64];
    fill_uniform(key, &mut u);
    let mut sum = 0.0;
    let passed = p.iter().position(|p| {
        sum += p;
        u[0] < sum
    });
    // Rounding may leave the sum a little below 1.
    passed.unwrap_or_else(|| p.iter().rposition(|&p| p > 0.0).unwrap_or(0))
}
