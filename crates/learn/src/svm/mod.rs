//! Support vector machines, linear and with kernels.
//!
//! A linear SVM minimizes ½‖w‖² + C Σ wᵢ max(0, 1 − yᵢ(xᵢᵀw + b)). With a kernel, xᵀw becomes Σⱼ k(x, xⱼ) yⱼαⱼ, and
//! only the support vectors, those with αⱼ ≠ 0, are stored.
//!
//! | estimator | problem | method |
//! |---|---|---|
//! | [`Svc`] | classification, any kernel | SMO for each pair of classes |
//! | [`Svr`] | regression, any kernel | SMO |
//! | [`NuSvc`], [`NuSvr`] | the same, parametrized by the fraction of errors | SMO within two groups |
//! | [`OneClassSvm`] | outlier detection, any kernel | SMO |
//! | [`LinearSvc`] | linear classification, also sparse | dual coordinate descent, or Newton's method |
//! | [`LinearSvr`] | linear regression, also sparse | the same |
//!
//! ```
//! use tove_learn::{Fit, Predict, svm::Svc};
//! use tove_tensor::Tensor;
//! // Exclusive or: no line separates the classes, a kernel does.
//! let x = Tensor::from([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]);
//! let y = Tensor::from([0i64, 0, 1, 1]);
//! let model = Svc::default().c(10.0).fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 1, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod classifier;
mod coordinate;
mod coordinate_l1;
mod design;
mod linear_svc;
mod linear_svr;
mod newton;
mod nu;
mod one_class;
mod pairs;
mod platt;
mod regressor;
mod rows;
mod settings;
mod smo;
mod smo_nu;
mod smo_scan;
mod svc;
mod svr;
mod weights;

pub use classifier::FittedSupportClassifier;
pub use linear_svc::{Dual, FittedLinearSvc, HingeLoss, LinearSvc, MarginPenalty};
pub use linear_svr::{FittedLinearSvr, LinearSvr, TubeLoss};
pub use nu::{FittedNuSvc, FittedNuSvr, NuSvc, NuSvr};
pub use one_class::{FittedOneClassSvm, OneClassSvm};
pub use regressor::FittedSupportRegressor;
pub use settings::{ClassifierSettings, KernelSettings, SolverSettings};
pub use svc::{DecisionShape, FittedSvc, Svc};
pub use svr::{FittedSvr, Svr};

use std::sync::{Mutex, PoisonError};

use crate::Result;
use crate::kernel::over_tasks;

/// Runs tasks on all cores and returns the results in the order of the tasks.
fn parallel<R: Send>(tasks: usize, body: impl Fn(usize) -> Result<R> + Sync) -> Result<Vec<R>> {
    let results: Vec<Mutex<Option<R>>> = (0..tasks).map(|_| Mutex::new(None)).collect();
    over_tasks(tasks, |task| {
        let result = body(task)?;
        *results[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        Ok(())
    })?;
    Ok(results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}
