//! Generative adversarial nets (Goodfellow et al. 2014): min over G, max over D of
//! V(D, G) = E_{x ~ data} ln D(x) + E_{z ~ noise} ln(1 − D(G(z))).
//!
//! For a fixed generator the best discriminator is D* = p_data / (p_data + p_g); where p_g = p_data it is 1/2
//! everywhere, and V = −ln 4, the least a generator can reach. The discriminator gives logits s with D = σ(s), so
//! ln D = −softplus(−s) and ln(1 − D) = −softplus(s), which never overflow.
//!
//! The zero-sum generator minimises E ln(1 − D(G(z))), whose gradient vanishes when the discriminator is sure; the
//! non-saturating one maximises E ln D(G(z)) instead.

use tove_optim::Optimizer;
use tove_tensor::{Tensor, TryOps, TryUnary, no_grad};

use crate::layers::Layer;
use crate::{Module, ModuleExt, Pass, Result};

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

    /// L_D = −V for a batch of real samples and one of noise; the generator gets no gradient.
    pub fn discriminator_loss(&self, real: &Tensor, noise: &Tensor, pass: &Pass) -> Result<Tensor> {
        let fake = no_grad(|| self.generator.forward(noise, pass))?;
        let real = (-self.discriminator.forward(real, pass)?).try_softplus()?.try_mean()?;
        let fake = self.discriminator.forward(&fake, pass)?.try_softplus()?.try_mean()?;
        Ok(real.try_add(&fake)?)
    }

    /// What the generator minimises for a batch of noise. The gradient runs through the discriminator.
    pub fn loss_of_generator(&self, noise: &Tensor, pass: &Pass) -> Result<Tensor> {
        let logits = self.discriminator.forward(&self.generator.forward(noise, pass)?, pass)?;
        Ok(match self.loss {
            GeneratorLoss::NonSaturating => (-logits).try_softplus()?.try_mean()?,
            GeneratorLoss::ZeroSum => -logits.try_softplus()?.try_mean()?,
        })
    }

    /// One step of the discriminator; the generator stays as it is. Returns L_D.
    pub fn step_discriminator(
        &mut self,
        real: &Tensor,
        noise: &Tensor,
        optimizer: &mut dyn Optimizer,
        pass: &Pass,
    ) -> Result<f64> {
        let loss = self.discriminator_loss(real, noise, pass)?;
        loss.try_backward()?;
        optimizer.step(&mut self.discriminator.parameters_mut())?;
        Ok(loss.to_f64_vec()[0])
    }

    /// One step of the generator; the discriminator stays as it is. Returns the generator's loss.
    pub fn step_generator(&mut self, noise: &Tensor, optimizer: &mut dyn Optimizer, pass: &Pass) -> Result<f64> {
        let loss = self.loss_of_generator(noise, pass)?;
        loss.try_backward()?;
        self.discriminator.zero_grad();
        optimizer.step(&mut self.generator.parameters_mut())?;
        Ok(loss.to_f64_vec()[0])
    }
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
