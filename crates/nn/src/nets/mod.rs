//! Ready nets.

mod encoder;
mod generate;
mod gpt;
mod mlp;
mod pretrained;
mod sampling;
mod vit;

pub use encoder::{EncoderConfig, Readout, SequenceEncoder};
pub use generate::Decoder;
pub use gpt::{Gpt, GptConfig};
pub use mlp::Mlp;
pub use sampling::Sampling;
pub use vit::{VisionTransformer, VitConfig, patches};
