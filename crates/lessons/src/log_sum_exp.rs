//! Why log-sum-exp is computed with the maximum taken out.
//!
//! LSE(p) = ln Σ e^p. Written down as it stands ([`naive`]) it overflows for p = 1000 and gives ln 0 = −∞ for p = −1000. As
//! LSE(p) = LSE(p − c) + c for every c, the choice c = max p makes the largest exponent 0 ([`shifted`]): nothing overflows, and at
//! least one term is 1. The library's [`Tensor::logsumexp`](tove_tensor::Tensor::logsumexp) does this.
//!
//! It also bounds the maximum: max x ≤ LSE(x) ≤ max x + ln n, and max x ≤ LSE(tx)/t ≤ max x + (ln n)/t for t > 0. Without the logarithm, or with
//! max|x| in place of max x, the lower bound fails for negative numbers.
//!
//! ```
//! use tove_lessons::log_sum_exp::{naive, stable};
//! use tove_tensor::Tensor;
//! let p = Tensor::from([1000.0, 1000.0]);
//! assert_eq!(naive(&p)?.item::<f64>(), f64::INFINITY);
//! assert!((stable(&p)?.item::<f64>() - 1000.693147).abs() < 1e-6);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryOps, TryUnary};

/// ln Σ e^p of a vector, as written.
pub fn naive(p: &Tensor) -> Result<Tensor> {
    p.try_exp()?.try_sum()?.try_ln()
}

/// LSE(p − c) + c of a vector, for any c.
pub fn shifted(p: &Tensor, c: &Tensor) -> Result<Tensor> {
    naive(&p.try_sub(c)?)?.try_add(c)
}

/// LSE(p − c) + c with c = max p.
pub fn stable(p: &Tensor) -> Result<Tensor> {
    shifted(p, &p.try_max()?.detach())
}

/// −log softmax_i(p) = −p_i + LSE(p), by the naive or by the stable sum.
pub fn negative_log_softmax(p: &Tensor, i: usize, sum: fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    sum(p)?.try_sub(&p.try_get(i)?)
}

/// (1/t) LSE(t x), which tends to max x as t grows.
pub fn soft_maximum(x: &Tensor, t: f64) -> Result<Tensor> {
    let scale = Tensor::full((), t, x.dtype());
    stable(&x.try_mul(&scale)?)?.try_div(&scale)
}

/// The bound as one of the seeds prints it: whether max|x| ≤ Σ e^x, without the logarithm and with absolute values.
pub fn printed_bound(x: &Tensor) -> Result<bool> {
    Ok(x.try_abs()?.try_max()?.to_f64_vec() <= x.try_exp()?.try_sum()?.to_f64_vec())
}
