//! Ready nets.

mod cnn;
mod encoder;
mod gan;
mod generate;
mod gpt;
mod mlp;
mod pretrained;
mod sampling;
mod vit;

pub use cnn::{Cnn, CnnConfig};
pub use encoder::{EncoderConfig, Readout, SequenceEncoder};
pub use gan::{Gan, GeneratorLoss, game_value, optimal_discriminator};
pub use generate::Decoder;
pub use gpt::{Gpt, GptConfig};
pub use mlp::Mlp;
pub use sampling::Sampling;
pub use vit::{VisionTransformer, VitConfig, patches};
