//! Ready nets.

mod cnn;
mod gan;
mod mlp;

pub use cnn::{Cnn, CnnConfig};
pub use gan::{Gan, GeneratorLoss, game_value, optimal_discriminator};
pub use mlp::Mlp;
