//! Noticing that a run diverges: gradient descent on a quadratic with largest curvature L falls for η < 2 / L and grows
//! without bound for η > 2 / L.
//!
//! ```
//! use tove_optim::DivergenceWatch;
//! let mut watch = DivergenceWatch::default();
//! let (mut x, rate) = (1.0f64, 2.1); // x² has L = 2, so that 2 / L is 1
//! let report = (0..100).find_map(|_| {
//!     let report = watch.observe(x * x).err();
//!     x -= rate * 2.0 * x;
//!     report
//! });
//! assert!(report.unwrap().to_string().contains("lower the learning rate"));
//! ```

use tove_tensor::{Error, Result};

/// Looks at the loss of every step and reports when the run has diverged: a loss that is not finite, or above the first
/// one by more than `growth` times its size. A first loss of exactly 0 has no size; then that of the first other loss counts.
#[derive(Clone, Debug)]
pub struct DivergenceWatch {
    growth: f64,
    steps: u64,
    first: Option<f64>,
    /// The absolute value of the first loss that is not zero.
    size: Option<f64>,
}

impl Default for DivergenceWatch {
    /// Allows a hundredfold growth, which noise hardly reaches.
    fn default() -> DivergenceWatch {
        DivergenceWatch::new(100.0)
    }
}

impl DivergenceWatch {
    /// Allows the loss to grow by this multiple of the first one's size.
    pub fn new(growth: f64) -> DivergenceWatch {
        DivergenceWatch { growth, steps: 0, first: None, size: None }
    }

    /// Takes in the loss of one step; an error of the data's kind once the run has diverged.
    pub fn observe(&mut self, loss: f64) -> Result<()> {
        let steps = self.steps;
        self.steps += 1;
        let first = *self.first.get_or_insert(loss);
        if self.size.is_none() && loss != 0.0 {
            self.size = Some(loss.abs());
        }
        let limit = first + self.growth * self.size.unwrap_or(0.0);
        if loss.is_finite() && loss <= limit {
            return Ok(());
        }
        let problem = format!(
            "the loss is {loss:e} after {steps} steps, {first:e} at the first; the run diverges: lower the learning rate, \
             or clip the gradients"
        );
        Err(Error::Data { op: "DivergenceWatch", problem: problem.into() })
    }
}
