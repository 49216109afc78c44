//! Adam (Kingma and Ba 2015): running means of the gradient and of its square, corrected for their start at zero.
//!
//! m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g², θ ← θ - η m̂ / (√v̂ + ε) with m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ).

use tove_tensor::optimizer_kernels::{AdamStep, adam_step};
use tove_tensor::{Error, Result, Tensor};

/// The Adam optimiser. Defaults are PyTorch's and the paper's.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Step size η.
    pub learning_rate: f64,
    /// Decay β₁ of the mean of gradients.
    pub beta1: f64,
    /// Decay β₂ of the mean of squared gradients.
    pub beta2: f64,
    /// ε, added to the denominator.
    pub epsilon: f64,
    /// Steps taken so far.
    pub steps: u64,
    /// Mean and mean square per parameter, in the order of the first step.
    moments: Vec<(Tensor, Tensor)>,
}

impl Default for Adam {
    fn default() -> Adam {
        let AdamStep { learning_rate, beta1, beta2, eps: epsilon, .. } = AdamStep::default();
        Adam { learning_rate, beta1, beta2, epsilon, steps: 0, moments: Vec::new() }
    }
}

impl Adam {
    /// Adam with the given step size and the other settings at their defaults.
    pub fn new(learning_rate: f64) -> Adam {
        Adam { learning_rate, ..Adam::default() }
    }

    /// One step for all parameters from the gradients their leaves hold, which are taken out. A parameter without a
    /// gradient stays as it is. Parameters must come in the same order every time.
    ///
    /// ```
    /// use tove_optim::Adam;
    /// use tove_tensor::Tensor;
    /// let mut w = Tensor::from([1.0]).requires_grad();
    /// w.square().sum().backward();
    /// Adam::new(0.1).step(&mut [&mut w]).unwrap();
    /// assert!((w.item::<f64>() - 0.9).abs() < 1e-6);
    /// ```
    pub fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        if self.moments.is_empty() {
            self.moments = parameters.iter().map(|p| (p.zeros_like(), p.zeros_like())).collect();
        }
        if self.moments.len() != parameters.len() {
            let problem = format!("were {} at the first step and are {} now", self.moments.len(), parameters.len());
            return Err(Error::Parameter { op: "Adam", name: "parameters", problem: problem.into() });
        }
        self.steps += 1;
        let (learning_rate, beta1, beta2, eps) = (self.learning_rate, self.beta1, self.beta2, self.epsilon);
        let step = AdamStep { learning_rate, beta1, beta2, eps, step: self.steps, ..AdamStep::default() };
        for (parameter, (mean, square)) in parameters.iter_mut().zip(&mut self.moments) {
            if let Some(gradient) = parameter.take_grad() {
                adam_step(parameter, &gradient, mean, square, &step)?;
            }
        }
        Ok(())
    }
}
