//! Formulas of linear classification as differentiable functions of tensors.
//!
//! σ, softmax and log-sum-exp are methods of [`Tensor`], cross-entropies are in `tove_optim::losses`; this module has
//! the rest. X is (n, d), w is (d) and y (n) holds 0 and 1 as floating-point numbers. An intercept is a column of ones.

use tove_tensor::{Error, Tensor, TryNorm, TryOps, TryUnary};

use tove_learn::{LearnError, Result};

/// logit(p) = ln(p / (1 − p)), the inverse of σ.
///
/// ```
/// use tove_lessons::classification::logit;
/// use tove_tensor::Tensor;
/// let s = logit(&Tensor::from([0.5, 0.880797077977882]))?;
/// assert!(s.allclose(&Tensor::from([0.0, 2.0]), 1e-12, 1e-12));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn logit(p: &Tensor) -> Result<Tensor> {
    Ok(p.try_ln()?.try_sub(&(-p).try_log1p()?)?)
}

/// softmax(x / τ) along the last axis. A high temperature τ approaches the uniform distribution, a low one the one-hot
/// encoding of the largest entry, shared equally among ties.
///
/// ```
/// use tove_lessons::classification::softmax_temperature;
/// use tove_tensor::Tensor;
/// let p = softmax_temperature(&Tensor::from([1.0, 2.0, 3.0]), 10.0)?;
/// assert!(p.allclose(&Tensor::from([0.3006, 0.3322, 0.3672]), 0.0, 5e-5));
/// assert!(softmax_temperature(&p, 0.0).is_err());
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn softmax_temperature(x: &Tensor, temperature: f64) -> Result<Tensor> {
    if !(temperature > 0.0 && temperature.is_finite()) {
        let problem = format!("a temperature of {temperature}; give a finite number above 0");
        return Err(LearnError::parameter("softmax_temperature", problem));
    }
    // Subtract the maximum before dividing, so that a tiny temperature does not give ∞ − ∞.
    let max = x.try_max_axes(&[-1], true)?;
    Ok((x.try_sub(&max)? / temperature).try_softmax(-1)?)
}

/// Whether every row along the last axis is on the simplex: no entry below −`tolerance`, and a sum within `tolerance`
/// of 1.
///
/// ```
/// use tove_lessons::classification::on_simplex;
/// use tove_tensor::Tensor;
/// assert!(on_simplex(&Tensor::from([0.25, 0.75]), 1e-12)?);
/// assert!(!on_simplex(&Tensor::from([0.2, 0.3, 0.4]), 1e-12)?); // sums to 0.9
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn on_simplex(p: &Tensor, tolerance: f64) -> Result<bool> {
    let Some(&m) = p.dims().last() else { return Err(no_axis(p)) };
    let rows = p.to_f64_vec();
    Ok(m > 0
        && rows
            .chunks(m)
            .all(|row| row.iter().all(|&p| p >= -tolerance) && (row.iter().sum::<f64>() - 1.0).abs() <= tolerance))
}

#[cold]
fn no_axis(p: &Tensor) -> LearnError {
    Error::shape("on_simplex", p.shape(), "give a vector or rows of vectors").into()
}

/// The predicted class of each row along the last axis: the index of its largest entry; ties go to the first.
///
/// ```
/// use tove_lessons::classification::class_of;
/// use tove_tensor::Tensor;
/// assert_eq!(class_of(&Tensor::from([0.2, 0.3, 0.4]))?.item::<i64>(), 2);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn class_of(p: &Tensor) -> Result<Tensor> {
    Ok(p.try_argmax(-1)?)
}

/// The negative log-likelihood Σₙ [−yₙ xₙ·w + ln(1 + exp(xₙ·w))], which is the summed binary cross-entropy. Targets
/// must lie in [0, 1].
///
/// ```
/// use tove_lessons::classification::logistic_nll;
/// use tove_tensor::Tensor;
/// let nll = logistic_nll(&Tensor::from([2.0]), &Tensor::from([[1.0]]), &Tensor::from([1.0]))?;
/// assert!((nll.item::<f64>() - 0.126928).abs() < 1e-6);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn logistic_nll(w: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let z = scores(w, x, y)?;
    // softplus(z) − y z = (1 − y) softplus(z) + y softplus(−z), which avoids cancellation.
    let (rise, fall) = (z.try_softplus()?, (-&z).try_softplus()?);
    let losses = rise.try_mul(&(-y + 1.0))?.try_add(&fall.try_mul(y)?)?;
    Ok(losses.try_sum_axes(&[0], false)?)
}

/// The gradient of the mean negative log-likelihood, (1/N) Xᵀ(σ(Xw) − y).
///
/// ```
/// use tove_lessons::classification::logistic_gradient;
/// use tove_tensor::Tensor;
/// let g = logistic_gradient(&Tensor::from([0.0]), &Tensor::from([[1.0], [3.0]]), &Tensor::from([1.0, 0.0]))?;
/// assert_eq!(g.to_vec::<f64>(), [0.5]); // (−0.5 · 1 + 0.5 · 3) / 2
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn logistic_gradient(w: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let residual = scores(w, x, y)?.try_sigmoid()?.try_sub(y)?;
    Ok(x.try_t()?.try_matmul(&residual)? / x.dims()[0] as f64)
}

/// The Hessian of the mean negative log-likelihood, (1/N) Xᵀ S X with S = diag(σ(1 − σ)). It is positive semidefinite
/// everywhere, so the loss is convex.
///
/// ```
/// use tove_lessons::classification::logistic_hessian;
/// use tove_tensor::Tensor;
/// let h = logistic_hessian(&Tensor::from([0.0]), &Tensor::from([[2.0], [4.0]]))?;
/// assert_eq!(h.to_vec::<f64>(), [2.5]); // (4 + 16) / 4 / 2
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn logistic_hessian(w: &Tensor, x: &Tensor) -> Result<Tensor> {
    let p = x.try_matmul(w)?.try_sigmoid()?;
    let s = p.try_mul(&(-&p + 1.0))?;
    let scaled = x.try_mul(&s.try_unsqueeze(1)?)?;
    Ok(x.try_t()?.try_matmul(&scaled)? / x.dims()[0] as f64)
}

/// The distance |w·x + b| / ‖w‖ of each row of X from the hyperplane w·x + b = 0.
///
/// ```
/// use tove_lessons::classification::hyperplane_distance;
/// use tove_tensor::Tensor;
/// let distance = hyperplane_distance(&Tensor::from([3.0, 4.0]), 5.0, &Tensor::from([[0.0, 0.0], [1.0, 3.0]]))?;
/// assert_eq!(distance.to_vec::<f64>(), [1.0, 4.0]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn hyperplane_distance(w: &Tensor, b: f64, x: &Tensor) -> Result<Tensor> {
    let length = w.try_square()?.try_sum_axes(&[0], false)?.try_sqrt()?;
    if length.to_f64_vec() == [0.0] {
        return Err(LearnError::parameter("hyperplane_distance", "w is 0, which does not define a hyperplane"));
    }
    Ok((x.try_matmul(w)? + b).try_abs()?.try_div(&length)?)
}

/// X w, after checking that y has one value per row.
fn scores(w: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if y.dims() != &x.dims()[..x.rank().min(1)] || x.rank() != 2 {
        let problem = "the features need a row per target, the targets one number each";
        return Err(Error::shapes("logistic_nll", x.shape(), y.shape(), problem).into());
    }
    if let Some(target) = y.to_f64_vec().into_iter().find(|target| !(0.0..=1.0).contains(target)) {
        let problem = format!("a target is {target}; targets must lie in [0, 1]");
        return Err(LearnError::parameter("logistic_nll", problem));
    }
    Ok(x.try_matmul(w)?)
}
