//! How text is generated.

use tove_nn::Sampling;
use tove_tensor::Key;

use crate::net_files::{ModelError, Result};

/// Settings of a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Tokens to generate.
    pub length: usize,
    /// Sampling temperature; 0 always takes the most likely token.
    pub temperature: f64,
    /// Sample from so many most likely tokens only.
    pub top_k: Option<usize>,
    /// Nucleus sampling: sample from the fewest tokens whose probabilities reach this sum.
    pub top_p: Option<f64>,
    /// Seed of the sampling.
    pub seed: u64,
}

impl Default for Generation {
    fn default() -> Generation {
        Generation { length: 200, temperature: 0.8, top_k: None, top_p: None, seed: 0 }
    }
}

impl Generation {
    /// How tokens are chosen.
    ///
    /// # Errors
    /// If a setting is outside its range.
    pub fn sampling(&self) -> Result<Sampling> {
        let temperature = self.temperature;
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return Err(ModelError::setting("temperature", temperature, "give a number from 0 on"));
        }
        if self.top_k == Some(0) {
            return Err(ModelError::setting("top_k", 0, "at least one token must stay"));
        }
        if let Some(p) = self.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(ModelError::setting("top_p", p, "give a probability above 0, up to 1"));
        }
        if temperature == 0.0 {
            return Ok(Sampling::greedy());
        }
        let rule = Sampling::random(Key::new(self.seed)).temperature(temperature);
        Ok(Sampling { top_k: self.top_k, top_p: self.top_p, ..rule })
    }
}
