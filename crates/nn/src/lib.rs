//! Modules, nets and the training loop.
//!
//! A net is a plain struct with `#[derive(Module)]`; its forward pass is ordinary Rust.
//!
//! ```
//! use tove_nn::{Layer, Linear, Module, ModuleExt, Pass, Result, Rng};
//! use tove_tensor::{DType, Key, Tensor};
//!
//! #[derive(Module)]
//! struct Net {
//!     hidden: Linear,
//!     output: Linear,
//! }
//!
//! impl Layer for Net {
//!     fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
//!         let hidden = self.hidden.forward(x, pass)?.tanh();
//!         self.output.forward(&hidden, pass)
//!     }
//! }
//!
//! let mut rng = Rng::new(1);
//! let net = Net { hidden: Linear::new(2, 16, &mut rng), output: Linear::new(16, 1, &mut rng) };
//! let x = Key::new(2).normal([5, 2], DType::F32);
//! assert_eq!(net.forward(&x, &Pass::eval())?.shape(), &[5, 1]);
//! assert_eq!(net.count_parameters(), 3 * 16 + 17);
//! # Ok::<(), tove_nn::Error>(())
//! ```

// The derive names its traits by this path.
extern crate self as tove_nn;

mod error;
mod few_shot;
mod init;
mod layers;
mod lora;
mod masking;
pub mod module;
mod nets;
mod pass;
mod record;
mod state;
mod summary;
pub mod train;
mod walks;

pub use error::{Error, Result};
pub use few_shot::{class_prototypes, nearest_class};
pub use init::{Init, fans};
pub use layers::*;
pub use lora::{Adapters, LowRankLinear, train_biases_only, train_part_only};
pub use masking::{Hidden, IGNORED, Masking, masked_token_loss};
pub use module::{Buffer, Identity, Module, Name, Part, Walk, WalkMut};
pub use nets::*;
pub use pass::{Pass, Rng};
pub use record::{LayerCall, LayerReport, Moments, PassRecord, Window, gradient_norms};
pub use state::ModuleExt;
pub use summary::{NetSummary, SummaryRow, summary};
pub use tove_macros::Module;
pub use train::*;
