//! Adam (Kingma and Ba 2015): running means of the gradient and of its square, corrected for their start at zero.
//!
//! m ← β₁ m + (1 - β₁) g, v ← β₂ v + (1 - β₂) g², θ ← θ - η m̂ / (√v̂ + ε) with m̂ = m / (1 - β₁ᵗ), v̂ = v / (1 - β₂ᵗ).

use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{DType, Element, Error, Result, Tensor};

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
        Adam { learning_rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, steps: 0, moments: Vec::new() }
    }
}

impl Adam {
    /// One step for all parameters from the gradients their leaves hold, which are taken out. A parameter without a
    /// gradient stays as it is. Parameters must come in the same order every time.
    pub fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        if self.moments.is_empty() {
            self.moments = parameters.iter().map(|p| (p.zeros_like(), p.zeros_like())).collect();
        }
        if self.moments.len() != parameters.len() {
            let problem = format!("were {} at the first step and are {} now", self.moments.len(), parameters.len());
            return Err(Error::Parameter { op: "Adam", name: "parameters", problem: problem.into() });
        }
        self.steps += 1;
        let rates = Rates::new(self);
        for (parameter, (mean, square)) in parameters.iter_mut().zip(&mut self.moments) {
            let Some(gradient) = parameter.take_grad() else { continue };
            parameter.update(|values| match values.dtype() {
                DType::F64 => update::<f64>(&rates, values, &gradient, mean, square),
                _ => update::<f32>(&rates, values, &gradient, mean, square),
            })?;
        }
        Ok(())
    }
}

/// The numbers of one step, with the corrections folded in.
struct Rates {
    beta1: f64,
    beta2: f64,
    /// η / (1 - β₁ᵗ).
    step: f64,
    /// 1 / √(1 - β₂ᵗ).
    root: f64,
    epsilon: f64,
}

impl Rates {
    fn new(adam: &Adam) -> Rates {
        let t = adam.steps as i32;
        Rates {
            beta1: adam.beta1,
            beta2: adam.beta2,
            step: adam.learning_rate / (1.0 - adam.beta1.powi(t)),
            root: 1.0 / (1.0 - adam.beta2.powi(t)).sqrt(),
            epsilon: adam.epsilon,
        }
    }
}

struct Update<'a, T> {
    rates: &'a Rates,
    values: &'a mut [T],
    gradient: &'a [T],
    mean: &'a mut [T],
    square: &'a mut [T],
}

impl<T: Float> Kernel for Update<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let number = T::from_f64;
        let (b1, b2) = (number(self.rates.beta1), number(self.rates.beta2));
        let (c1, c2) = (number(1.0 - self.rates.beta1), number(1.0 - self.rates.beta2));
        let (step, root, epsilon) = (number(self.rates.step), number(self.rates.root), number(self.rates.epsilon));
        let rest = self.gradient.iter().zip(self.mean).zip(self.square);
        for (value, ((&g, mean), square)) in self.values.iter_mut().zip(rest) {
            *mean = b1 * *mean + c1 * g;
            *square = b2 * *square + c2 * g * g;
            *value = *value - step * *mean / (square.sqrt() * root + epsilon);
        }
    }
}

fn update<T: Float + Element>(
    rates: &Rates,
    values: &mut Tensor,
    gradient: &Tensor,
    mean: &mut Tensor,
    square: &mut Tensor,
) -> Result<()> {
    let gradient = gradient.contiguous();
    dispatch(Update {
        rates,
        values: values.as_mut_slice::<T>()?,
        gradient: gradient.as_slice::<T>()?,
        mean: mean.as_mut_slice::<T>()?,
        square: square.as_mut_slice::<T>()?,
    });
    Ok(())
}
