//! Step rules for any differentiable function.
//!
//! ```
//! use tove_optim::Adam;
//! use tove_tensor::Tensor;
//!
//! let mut w = Tensor::from([4.0, -3.0]).requires_grad();
//! let mut adam = Adam::new(0.1);
//! for _ in 0..300 {
//!     (&w * &w).sum().backward();
//!     adam.step(&mut [&mut w]).unwrap();
//! }
//! assert!(w.to_vec::<f64>().iter().all(|w| w.abs() < 1e-2));
//! ```

// Derived code names this crate by its path from outside.
extern crate self as tove_optim;

mod clip;
mod divergence;
mod groups;
pub mod lbfgs;
mod optimizer;
pub mod rules;
pub mod schedule;
pub mod settings;

pub use clip::{clip_norm, clip_value, gradient_norm};
pub use divergence::DivergenceWatch;
pub use groups::{Group, bias_or_norm};
pub use lbfgs::{Lbfgs, LbfgsSettings};
pub use optimizer::{Loss, Optimizer, OptimizerState, StateError};
pub use rules::{
    Adagrad, AdagradSettings, Adam, AdamSettings, AdamW, AdamWSettings, NesterovLookAhead, NesterovLookAheadSettings,
    RmsProp, RmsPropSettings, Sgd, SgdSettings,
};
pub use schedule::{ReduceOnPlateau, ReduceOnPlateauSettings, Schedule};
