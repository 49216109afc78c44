//! Generative adversarial nets (Goodfellow et al. 2014): min over G, max over D of
//! V(D, G) = E_{x ~ data} ln D(x) + E_{z ~ noise} ln(1 − D(G(z))).
//!
//! For a fixed generator the best discriminator is D* = p_data / (p_data + p_g); where p_g = p_data it is 1/2
//! everywhere, and V = −ln 4, the least a generator can reach. The discriminator gives logits s with D = σ(s), so
//! ln D = −softplus(−s) and ln(1 − D) = −softplus(s), which never overflow.
//!
//! The zero-sum generator minimises E ln(1 − D(G(z))), whose gradient vanishes when the discriminator is sure; the
//! non-saturating one maximises E ln D(G(z)) instead.

use tove_optim::{Optimizer, non_finite_gradient};
use tove_tensor::{Tensor, TryOps, TryUnary, no_grad};

use crate::layers::Layer;
use crate::walks::Buffers;
use crate::{Error, Module, ModuleExt, Pass, Result};

/// What the generator minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeneratorLoss {
    /// −E ln D(G(z)): strong gradients when the discriminator is ahead.
    #[default]
    NonSaturating,
    /// E ln(1 − D(G(z))): the zero-sum game.
    ZeroSum,
}

/// A generator and a discriminator that learn from each other.
#[derive(Clone, Debug, Module)]
pub struct Gan<G, D> {
    /// From noise to samples.
    pub generator: G,
    /// From samples to logits of being real.
    pub discriminator: D,
    #[module(skip)]
    loss: GeneratorLoss,
}

impl<G: Layer, D: Layer> Gan<G, D> {
    /// A pair with the non-saturating loss.
    pub fn new(generator: G, discriminator: D) -> Gan<G, D> {
        Gan { generator, discriminator, loss: GeneratorLoss::default() }
    }

    /// The same pair with another loss of the generator.
    pub fn generator_loss(self, loss: GeneratorLoss) -> Gan<G, D> {
        Gan { loss, ..self }
    }

    /// L_D = −V for a batch of real samples and one of noise. The generator gets no gradient, and its running statistics stay as
    /// they are.
    pub fn discriminator_loss(&self, real: &Tensor, noise: &Tensor, pass: &Pass) -> Result<Tensor> {
        let fake = no_grad(|| pass.keeping_buffers(|pass| self.generator.forward(noise, pass)))?;
        let real = (-self.discriminator.forward(real, pass)?).try_softplus()?.try_mean()?;
        let fake = self.discriminator.forward(&fake, pass)?.try_softplus()?.try_mean()?;
        Ok(real.try_add(&fake)?)
    }

    /// What the generator minimises for a batch of noise. The gradient runs through the discriminator, whose running statistics
    /// stay as they are.
    pub fn loss_of_generator(&self, noise: &Tensor, pass: &Pass) -> Result<Tensor> {
        let fake = self.generator.forward(noise, pass)?;
        let logits = pass.keeping_buffers(|pass| self.discriminator.forward(&fake, pass))?;
        Ok(match self.loss {
            GeneratorLoss::NonSaturating => (-logits).try_softplus()?.try_mean()?,
            GeneratorLoss::ZeroSum => -logits.try_softplus()?.try_mean()?,
        })
    }

    /// One step of the discriminator; the generator stays as it is, its running statistics too. Returns L_D.
    ///
    /// # Errors
    /// If the loss or a gradient is not finite; then both nets keep what they had.
    pub fn step_discriminator(
        &mut self,
        real: &Tensor,
        noise: &Tensor,
        optimizer: &mut dyn Optimizer,
        pass: &Pass,
    ) -> Result<f64> {
        let buffers = Buffers::of(&self.discriminator);
        let loss = self.discriminator_loss(real, noise, pass);
        let stepped = loss.and_then(|loss| step(&mut self.discriminator, &loss, optimizer));
        stepped.inspect_err(|_| Buffers::put(&self.discriminator, &buffers))
    }

    /// One step of the generator; the discriminator stays as it is, its running statistics too. Returns the generator's loss.
    ///
    /// # Errors
    /// As [`Gan::step_discriminator`].
    pub fn step_generator(&mut self, noise: &Tensor, optimizer: &mut dyn Optimizer, pass: &Pass) -> Result<f64> {
        let buffers = Buffers::of(&self.generator);
        let loss = self.loss_of_generator(noise, pass);
        let stepped = loss.and_then(|loss| step(&mut self.generator, &loss, optimizer));
        self.discriminator.zero_grad();
        stepped.inspect_err(|_| Buffers::put(&self.generator, &buffers))
    }
}

/// Steps along the gradient of a loss. If loss and gradients are not finite, nothing is changed.
fn step(net: &mut impl Module, loss: &Tensor, optimizer: &mut dyn Optimizer) -> Result<f64> {
    let value = loss.to_f64_vec()[0];
    if !value.is_finite() {
        let problem = format!("is {value}; use a smaller learning rate or scale the samples");
        return Err(Error::setting("Gan", "loss", problem));
    }
    loss.try_backward()?;
    if let Some(position) = non_finite_gradient(&net.parameters())? {
        net.zero_grad();
        let name = net.named_parameters().swap_remove(position).0;
        let problem =
            format!("of {name:?} has NaN or infinite entries while the loss is {value}; the step is not taken");
        return Err(Error::setting("Gan", "gradient", problem));
    }
    optimizer.step(&mut net.parameters_mut())?;
    Ok(value)
}

/// D* = p / (p + q) for probabilities p of the data and q of the generator; 1/2 where both are 0.
///
/// ```
/// assert_eq!(tove_nn::optimal_discriminator(&[0.75, 0.25], &[0.25, 0.25]), [0.75, 0.5]);
/// ```
pub fn optimal_discriminator(data: &[f64], generator: &[f64]) -> Vec<f64> {
    data.iter().zip(generator).map(|(p, q)| if p + q > 0.0 { p / (p + q) } else { 0.5 }).collect()
}

/// V = Σ p ln D + q ln(1 − D) on finitely many outcomes, with 0 ln 0 = 0.
///
/// ```
/// let p = [0.3, 0.7];
/// assert!((tove_nn::game_value(&p, &p, &[0.5, 0.5]) + 4f64.ln()).abs() < 1e-15);
/// ```
pub fn game_value(data: &[f64], generator: &[f64], discriminator: &[f64]) -> f64 {
    let term = |weight: f64, x: f64| if weight == 0.0 { 0.0 } else { weight * x.ln() };
    let each = data.iter().zip(generator).zip(discriminator);
    each.map(|((&p, &q), &d)| term(p, d) + term(q, 1.0 - d)).sum()
}
