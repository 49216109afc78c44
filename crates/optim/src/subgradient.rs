//! Subgradients: g is one of f at w if f(u) ≥ f(w) + gᵀ(u − w) for all u. No derivative need exist.
//!
//! Where a convex f is differentiable the gradient is the only one; at a kink there are several (for |x| at 0, all of
//! [−1, 1]). [`check_subgradient`] looks for a point that refutes the inequality. [`subgradient_descent`] steps
//! w ← w − γ_t g_t. A step need not lower f, so the best point is kept. With steps such as 1/√t the best value tends to
//! the minimum; constant steps end up swinging around it.
//!
//! The gradients of this library's operations at kinks (0 for |x| at 0, shared evenly among ties of max) are subgradients
//! of those convex functions.
//!
//! ```
//! use tove_optim::subgradient_descent;
//! use tove_tensor::Tensor;
//! let f = |x: &Tensor| (x - 3.0).abs().sum();
//! let run = subgradient_descent(&f, &Tensor::from([0.0]), |t| 1.0 / (t as f64).sqrt(), 2000)?;
//! assert!(run.best_value < 1e-2);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryOps};

use crate::fault;
use crate::objective::Objective;
use crate::sampling::Region;

/// A point that refutes a supposed subgradient.
#[derive(Clone, Debug)]
pub struct NotSubgradient {
    /// u.
    pub at: Tensor,
    /// f(u).
    pub value: f64,
    /// f(w) + gᵀ(u − w), which is larger.
    pub bound: f64,
}

/// Looks for a point u within `radius` of w, at all scales, where f(u) < f(w) + gᵀ(u − w); `None` if `samples` of them do
/// not refute g. Rounding is allowed for.
///
/// ```
/// use tove_optim::check_subgradient;
/// use tove_tensor::Tensor;
/// let f = |x: &Tensor| x.abs().sum();
/// let zero = Tensor::from([0.0]);
/// assert!(check_subgradient(&f, &zero, &Tensor::from([-1.0]), 10.0, 200, 0)?.is_none());
/// assert!(check_subgradient(&f, &zero, &Tensor::from([1.001]), 10.0, 200, 0)?.is_some());
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn check_subgradient(
    objective: &dyn Objective,
    w: &Tensor,
    g: &Tensor,
    radius: f64,
    samples: usize,
    seed: u64,
) -> Result<Option<NotSubgradient>> {
    fault::alike("check_subgradient", w, g, "a subgradient has the shape of its point")?;
    let here = objective.value(w)?;
    for u in Region::around(w, radius).ball(samples, seed)? {
        let value = objective.value(&u)?;
        let rise = fault::dot(g, &u.try_sub(&w.detach())?)?;
        let rounding = 16.0 * w.dtype().epsilon() * (value.abs() + here.abs() + rise.abs());
        if value < here + rise - rounding {
            return Ok(Some(NotSubgradient { at: u, value, bound: here + rise }));
        }
    }
    Ok(None)
}

/// What subgradient descent found.
#[derive(Clone, Debug)]
pub struct SubgradientRun {
    /// The best point.
    pub best: Tensor,
    /// f there.
    pub best_value: f64,
    /// The last point.
    pub x: Tensor,
    /// f at every point, the start included.
    pub values: Vec<f64>,
}

/// w ← w − γ_t g_t for t = 1, 2, …, with γ_t = `step(t)` and g_t the engine's derivative. Stops early at a zero subgradient,
/// which proves a minimum if f is convex.
pub fn subgradient_descent(
    objective: &dyn Objective,
    start: &Tensor,
    step: impl Fn(usize) -> f64,
    iterations: usize,
) -> Result<SubgradientRun> {
    subgradient_descent_with(objective, start, |w| objective.gradient(w), step, iterations)
}

/// As [`subgradient_descent`], with subgradients of the caller's own.
pub fn subgradient_descent_with(
    objective: &dyn Objective,
    start: &Tensor,
    subgradient: impl Fn(&Tensor) -> Result<Tensor>,
    step: impl Fn(usize) -> f64,
    iterations: usize,
) -> Result<SubgradientRun> {
    let mut x = start.detach();
    let value = objective.value(&x)?;
    let mut run = SubgradientRun { best: x.clone(), best_value: value, x: x.clone(), values: vec![value] };
    for t in 1..=iterations {
        let g = subgradient(&x)?;
        if fault::square_norm(&g) == 0.0 {
            break;
        }
        let size = step(t);
        fault::positive("subgradient_descent", "step", size)?;
        x = fault::add_scaled(&x, -size, &g)?;
        let value = objective.value(&x)?;
        if value.is_nan() {
            let problem = format!("the value is not a number after {t} steps; take smaller ones");
            return Err(fault::data("subgradient_descent", problem));
        }
        run.values.push(value);
        if value < run.best_value {
            (run.best, run.best_value) = (x.clone(), value);
        }
    }
    run.x = x;
    Ok(run)
}
