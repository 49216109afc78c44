//! Formulas as some lecture notes print them, with mistakes, so that the tests can show what goes wrong. The library has the right
//! forms.
//!
//! | here | the mistake | the right form |
//! |---|---|---|
//! | [`smoothed_targets`] | adds α/(C − 1) to every class, so that targets sum to more than 1 | `tove_optim::losses::smooth_targets` |
//! | [`binary_slope`] | the derivative of binary cross-entropy with the opposite sign | −y/p + (1 − y)/(1 − p) |
//! | [`least_squares_step`] | starts w at shape (c, 1) with y of shape (n), which stretches to (n, n) | w of shape (c) |
//! | [`mse_slope`] | pairs the loss (1/N) Σ e² with the gradient −(1/N) Xᵀe | −(2/N) Xᵀe |
//! | [`epochs`] | takes the number of epochs to be n/b for b batches, which is the batch size | epochs are free |
//! | [`is_minimum`] | accepts a semidefinite Hessian | definite |
//! | [`bowl`] | says that the gradient points at the minimum | its negative, and only in a round bowl |

use std::fmt::Write;

use tove_optim::landscape::Range;
use tove_optim::{Objective, vector_field};
use tove_tensor::{DType, Result, Tensor, TryIndex, TryLinalg, TryOps};

/// Targets of label smoothing with α/(C − 1) added to every class.
///
/// ```
/// use tove_lessons::printed_forms::smoothed_targets;
/// use tove_tensor::Tensor;
/// let sum = smoothed_targets(&Tensor::from([0i64]), 4, 0.1)?.sum().item::<f64>();
/// assert!((sum - 1.0333).abs() < 1e-4);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn smoothed_targets(target: &Tensor, classes: usize, alpha: f64) -> Result<Tensor> {
    Ok(target.try_one_hot(classes, DType::F64)? * (1.0 - alpha) + alpha / (classes as f64 - 1.0))
}

/// y/p − (1 − y)/(1 − p), the derivative of binary cross-entropy with the opposite sign.
pub fn binary_slope(p: &Tensor, y: &Tensor) -> Result<Tensor> {
    y.try_div(p)?.try_sub(&(1.0 - y).try_div(&(1.0 - p))?)
}

/// w + η Xᵀ(y − Xw), with whatever shapes come in.
pub fn least_squares_step(x: &Tensor, y: &Tensor, w: &Tensor, rate: f64) -> Result<Tensor> {
    let errors = y.try_sub(&x.try_matmul(w)?)?;
    w.try_add(&(x.try_t()?.try_matmul(&errors)? * rate))
}

/// −(1/N) Xᵀ(y − Xw), said to be the gradient of (1/N) Σ (y − Xw)².
pub fn mse_slope(x: &Tensor, y: &Tensor, w: &Tensor) -> Result<Tensor> {
    Ok(-(x.try_t()?.try_matmul(&y.try_sub(&x.try_matmul(w)?)?)? / y.numel() as f64))
}

/// n/b for n samples in b batches, said to be the number of epochs.
pub fn epochs(samples: usize, batches: usize) -> usize {
    samples / batches.max(1)
}

/// Whether the gradient is zero and the Hessian positive semidefinite, said to suffice for a minimum.
pub fn is_minimum(objective: &dyn Objective, x: &Tensor) -> Result<bool> {
    let flat = objective.gradient(x)?.to_f64_vec().iter().all(|g| *g == 0.0);
    let eigenvalues = objective.hessian(x)?.try_eigvalsh()?.to_f64_vec();
    Ok(flat && eigenvalues.iter().all(|e| *e >= 0.0))
}

/// The picture of the bowl x² + k y² as lines `x,y,dx,dy,cosine`: the gradient at points of a grid, and the cosine between it and the
/// way to the minimum, which is −1 everywhere only for k = 1.
///
/// ```
/// let text = tove_lessons::printed_forms::bowl(1.0, 5)?;
/// assert!(text.lines().skip(1).all(|line| line.ends_with(",-1.000000")));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn bowl(k: f64, points: usize) -> Result<String> {
    let f = |p: &Tensor| p.get(0).square() + p.get(1).square() * k;
    let mut text = String::from("x,y,dx,dy,cosine\n");
    for arrow in vector_field(&f, Range::new(-2.0, 2.0, points), Range::new(-2.0, 2.0, points))? {
        let ((x, y), (dx, dy)) = (arrow.at, arrow.gradient);
        if (x, y) != (0.0, 0.0) {
            let cosine = -(x * dx + y * dy) / (x.hypot(y) * dx.hypot(dy));
            let _ = writeln!(text, "{x},{y},{dx},{dy},{cosine:.6}");
        }
    }
    Ok(text)
}
