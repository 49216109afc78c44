//! tove trains, checks and ships models with one native engine.
//!
//! This is the crate to depend on; `use tove::prelude::*` imports what most programs need. The crates behind it are
//! [`tensor`] (arrays, operations, derivatives, linear algebra, files), [`optim`] (losses, step rules, tools for any
//! differentiable function), [`data`] (data sets), [`metrics`] (scores), [`learn`] (estimators,
//! pipelines, model selection), [`nn`] (nets and their training) and [`trust`] (calibration, conformal prediction, robustness,
//! fairness).
//!
//! ```
//! use tove::prelude::*;
//! let slope = grad(|x: &Tensor| x.sin().sum())(&Tensor::from([0.0]));
//! assert_eq!(slope.to_vec::<f64>(), [1.0]);
//! ```

pub mod audit;
pub mod estimators;
pub mod language;
mod net_files;
pub mod tabular;
#[cfg(feature = "images")]
pub mod vision;
pub mod words;

pub use tove_data as data;
pub use tove_learn as learn;
pub use tove_metrics as metrics;
pub use tove_nn as nn;
pub use tove_optim as optim;
pub use tove_plot as plot;
pub use tove_tensor as tensor;
pub use tove_trust as trust;

/// What most programs need: `use tove::prelude::*`.
pub mod prelude {
    pub use crate::{data, learn, metrics, nn, optim, plot};
    pub use tove_data::{Batch, Dataset, TensorDataset};
    pub use tove_nn::{
        BatchNorm, Classification, Conv2d, Dropout, Embedding, Flatten, Init, Layer, LayerNorm, Linear, MaxPool2d, Mlp,
        Module, ModuleExt, Nonlinearity, Pass, Progress, Regression, Residual, Rng, Sequential, Trainer, evaluate,
        summary,
    };
    pub use tove_optim::{Adagrad, Adam, AdamW, Lbfgs, Optimizer, RmsProp, Schedule, Sgd, clip_norm};
    pub use tove_tensor::{
        Activation, ConvOptions, CrossEntropy, DType, Error, GradCheck, Key, PoolOptions, Reduction, Result, Shape,
        Tensor, TryOps, TryUnary, checkpoint, grad, grad_of, gradcheck, hessian, hvp, jacobian, jvp, linearize,
        no_grad, per_sample_grad, value_and_grad, vjp, vmap,
    };
    // Derives name their crates by these paths.
    #[doc(hidden)]
    pub use {tove_nn, tove_optim};
}

/// The README's code runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
