//! What is known about a point: stationary, minimum, maximum, saddle, and by what evidence.
//!
//! x⁺ is a local minimum if f(x⁺) ≤ f(x) for all x near it, global if for all x, stationary if ∇f(x⁺) = 0.
//!
//! - **Second order** ([`classify`], [`second_order`]): ∇f = 0 and ∇²f positive *definite* is sufficient for a strict local
//!   minimum. Semidefinite is only necessary: x³ and −x⁴ at 0 have it and are no minima. With a zero eigenvalue, and none of
//!   both signs, the spectrum decides nothing; the sampled ball around the point then shows what it can.
//! - **First order** ([`first_order`]): for convex differentiable f, ∇f(w) = 0 exactly at global minima. Near one, the gap is
//!   bounded: f(w) − f* ≤ ‖∇f(w)‖²/(2m) if ∇²f ⪰ mI, and f(w) − f* ≤ ‖∇f(w)‖ R if some minimiser lies within R of w.
//!
//! ```
//! use tove_optim::{PointKind, classify};
//! use tove_tensor::Tensor;
//! let saddle = |x: &Tensor| x.get(0).square() - x.get(1).square();
//! assert_eq!(classify(&saddle, &Tensor::from([0.0, 0.0]), 0.1)?.kind, PointKind::Saddle);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::fmt;

use tove_tensor::linalg::{Eigh, eigh};
use tove_tensor::{Result, Tensor, TryLinalg, TryOps};

use crate::convexity::Convex;
use crate::descent::{Run, Stop};
use crate::fault;
use crate::objective::Objective;
use crate::sampling::Region;

/// What the gradient and the spectrum of the Hessian say about a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// The gradient is not zero: it is large beside the curvature.
    NotStationary,
    /// All eigenvalues are positive: a strict local minimum.
    Minimum,
    /// All eigenvalues are negative: a strict local maximum.
    Maximum,
    /// Eigenvalues of both signs.
    Saddle,
    /// Second derivatives do not decide: some eigenvalue is zero and there are not both signs, or the gradient is not exactly
    /// zero and the curvature changes too much on the way to where it would be.
    Undecided,
}

/// How values in a ball around a point compare with the value there.
#[derive(Clone, Debug, PartialEq)]
pub struct BallSample {
    /// How many points are lower, beyond rounding.
    pub lower: usize,
    /// How many points are higher, beyond rounding.
    pub higher: usize,
    /// How many points were drawn.
    pub points: usize,
}

impl BallSample {
    /// Whether what was seen fits a local minimum: no point is lower.
    pub fn looks_like_minimum(&self) -> bool {
        self.lower == 0
    }

    /// Whether what was seen fits a local maximum: no point is higher.
    pub fn looks_like_maximum(&self) -> bool {
        self.higher == 0
    }

    /// Whether it fits neither.
    pub fn looks_like_saddle(&self) -> bool {
        self.lower > 0 && self.higher > 0
    }
}

/// The label of a point with its evidence.
#[derive(Clone, Debug)]
pub struct Classification {
    /// The label by first and second derivatives.
    pub kind: PointKind,
    /// ‖∇f‖.
    pub gradient_norm: f64,
    /// Eigenvalues of the Hessian, ascending.
    pub eigenvalues: Vec<f64>,
    /// What a ball around the point shows.
    pub ball: BallSample,
}

/// How near a stationary point must lie to count as reached, relative to 1 + ‖x‖: 10⁻⁶ in f64, 2·10⁻² in f32. A minimizer is
/// known only to the square root of the precision of f.
fn tolerance(x: &Tensor) -> f64 {
    64.0 * x.dtype().epsilon().sqrt()
}

/// Labels `x` by gradient and Hessian, and compares f with its values at 700 points of the ball of this radius, at distances
/// over seven powers of ten.
///
/// The label does not change when f is multiplied by a positive number. A gradient counts as zero if it is small beside the
/// largest curvature; then the Newton step −H⁻¹∇f leads to the stationary point that the label speaks of. The point must be
/// near, and the Hessian there must be the same up to a quarter of its smallest absolute eigenvalue, or the label is
/// [`PointKind::Undecided`]: x³ next to 0 has a small gradient and a positive second derivative, and no minimum anywhere.
pub fn classify(objective: &dyn Objective, x: &Tensor, radius: f64) -> Result<Classification> {
    let (value, gradient) = objective.value_and_gradient(x)?;
    let gradient_norm = fault::norm(&gradient);
    let hessian = objective.hessian(x)?;
    let eigenvalues = hessian.try_eigvalsh()?.to_f64_vec();
    let most = eigenvalues.iter().fold(0.0f64, |most, e| most.max(e.abs()));
    let near = tolerance(x) * (1.0 + fault::norm(x));
    let zero = (x.dtype().epsilon() * 64.0 * eigenvalues.len() as f64 * most).max(f64::MIN_POSITIVE);
    let positive = eigenvalues.iter().filter(|&&e| e > zero).count();
    let negative = eigenvalues.iter().filter(|&&e| e < -zero).count();
    let kind = if gradient_norm.is_nan() || gradient_norm > near * most {
        PointKind::NotStationary
    } else if gradient_norm > 0.0 && !confirmed(objective, x, &gradient, &hessian, zero, near)? {
        PointKind::Undecided
    } else if positive > 0 && negative > 0 {
        PointKind::Saddle
    } else if positive == eigenvalues.len() {
        PointKind::Minimum
    } else if negative == eigenvalues.len() {
        PointKind::Maximum
    } else {
        PointKind::Undecided
    };
    Ok(Classification { kind, gradient_norm, eigenvalues, ball: sample_ball(objective, x, value, radius, 700, 0)? })
}

/// Whether the Newton step from `x` is no longer than `near` and the Hessian hardly changes along it. Directions of curvature
/// up to `zero` are left out.
fn confirmed(
    objective: &dyn Objective,
    x: &Tensor,
    gradient: &Tensor,
    hessian: &Tensor,
    zero: f64,
    near: f64,
) -> Result<bool> {
    let n = x.numel();
    let Eigh { values, vectors } = eigh(hessian)?;
    let values = values.to_f64_vec();
    let along = vectors.try_t()?.try_matmul(&gradient.detach().try_reshape([n])?)?.to_f64_vec();
    let step = |(&along, &value): (&f64, &f64)| if value.abs() > zero { -along / value } else { 0.0 };
    let steps: Vec<f64> = along.iter().zip(&values).map(step).collect();
    let step = vectors.try_matmul(&Tensor::try_from_vec(steps, [n])?.try_to_dtype(x.dtype())?)?;
    let step = step.try_reshape(x.shape().clone())?;
    if fault::norm(&step) > near {
        return Ok(false);
    }
    let least = values.iter().map(|value| value.abs()).filter(|value| *value > zero).fold(f64::INFINITY, f64::min);
    let there = objective.hessian(&fault::add_scaled(x, 1.0, &step)?)?;
    // The Frobenius norm is at least the largest change of an eigenvalue.
    Ok(fault::norm(&there.try_sub(hessian)?) <= 0.25 * least)
}

/// Compares f(x) with its values at random points of the ball around x.
pub fn sample_ball(
    objective: &dyn Objective,
    x: &Tensor,
    value: f64,
    radius: f64,
    points: usize,
    seed: u64,
) -> Result<BallSample> {
    let mut sample = BallSample { lower: 0, higher: 0, points };
    for u in Region::around(x, radius).ball(points, seed)? {
        let found = objective.value(&u)?;
        let rounding = 8.0 * x.dtype().epsilon() * value.abs();
        sample.lower += usize::from(found < value - rounding);
        sample.higher += usize::from(found > value + rounding);
    }
    Ok(sample)
}

/// The first-order certificate of a convex function.
#[derive(Clone, Debug)]
pub struct FirstOrder {
    /// ‖∇f(w)‖.
    pub gradient_norm: f64,
    /// A bound on f(w) − min f; `None` if neither strong convexity nor a radius is known.
    pub gap_bound: Option<f64>,
    /// What the bound rests on.
    pub because: String,
}

/// How far f(w) can lie above the minimum of a convex f. `radius` is a known bound on the distance from w to some minimiser.
///
/// ```
/// use tove_optim::{Convex, first_order};
/// use tove_tensor::Tensor;
/// let certificate = first_order(&Convex::half_square(), &Tensor::from([0.1]), None)?;
/// assert!((certificate.gap_bound.unwrap() - 0.005).abs() < 1e-15); // and f(0.1) − f(0) = 0.005
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn first_order(convex: &Convex<'_>, w: &Tensor, radius: Option<f64>) -> Result<FirstOrder> {
    let gradient_norm = fault::norm(&convex.gradient(w)?);
    let mut bounds = Vec::new();
    let m = convex.strong_convexity();
    if m > 0.0 {
        bounds.push((gradient_norm * gradient_norm / (2.0 * m), format!("‖∇f‖²/(2m) with m = {m:e}")));
    }
    if let Some(radius) = radius {
        fault::not_negative("first_order", "radius", radius)?;
        bounds.push((gradient_norm * radius, format!("‖∇f‖ R with R = {radius:e}")));
    }
    if gradient_norm == 0.0 {
        bounds.push((0.0, "the gradient is zero".to_string()));
    }
    let best = bounds.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let (gap_bound, by) = match best {
        Some((bound, by)) => (Some(bound), by),
        None => (None, "no modulus and no radius are known, so the gap is not bounded".to_string()),
    };
    Ok(FirstOrder { gradient_norm, gap_bound, because: format!("convex: {}; {by}", convex.proof()) })
}

/// The second-order certificate of a point.
#[derive(Clone, Debug)]
pub struct SecondOrder {
    /// Whether the point is certified as a strict local minimum.
    pub accepted: bool,
    /// The smallest eigenvalue of the Hessian.
    pub least_eigenvalue: f64,
    /// ‖∇f‖.
    pub gradient_norm: f64,
    /// Why, or why not.
    pub because: &'static str,
}

/// Certifies a strict local minimum: gradient zero (to rounding) and Hessian positive definite. Semidefinite is not enough.
pub fn second_order(objective: &dyn Objective, x: &Tensor) -> Result<SecondOrder> {
    let found = classify(objective, x, 1e-3)?;
    let because = match found.kind {
        PointKind::NotStationary => "the gradient is not zero",
        PointKind::Minimum => "the gradient is zero and the Hessian positive definite",
        PointKind::Maximum => "the Hessian is negative definite: a maximum",
        PointKind::Saddle => "the Hessian has eigenvalues of both signs: a saddle",
        PointKind::Undecided if found.gradient_norm > 0.0 => {
            "the gradient is not exactly zero and the Hessian does not confirm a stationary point nearby"
        }
        PointKind::Undecided => "the Hessian is singular; semidefinite is necessary for a minimum, not sufficient",
    };
    Ok(SecondOrder {
        accepted: found.kind == PointKind::Minimum,
        least_eigenvalue: found.eigenvalues.first().copied().unwrap_or(0.0),
        gradient_norm: found.gradient_norm,
        because,
    })
}

/// What may be claimed of a result. A run of descent alone never claims more than [`Claim::Stationary`], several runs never
/// more than [`Claim::BestOfRuns`]; a global minimum needs convexity.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Nothing: the run diverged or did not come to rest.
    Nothing,
    /// The gradient is zero to the tolerance. The point may be a saddle.
    Stationary,
    /// The lowest of several runs; lower values may exist.
    BestOfRuns(usize),
    /// A global minimum up to this gap, by convexity.
    Global {
        /// The bound on f(w) − min f.
        gap: f64,
    },
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Claim::Nothing => f.write_str("nothing is claimed"),
            Claim::Stationary => f.write_str("a stationary point; it may be a minimum, a saddle or neither"),
            Claim::BestOfRuns(runs) => write!(f, "the best of {runs} runs; lower values may exist"),
            Claim::Global { gap } => write!(f, "a global minimum up to {gap:e}, by convexity"),
        }
    }
}

impl Run {
    /// What this run may claim about an arbitrary function.
    pub fn claim(&self) -> Claim {
        match self.stop {
            Stop::SmallGradient => Claim::Stationary,
            _ => Claim::Nothing,
        }
    }

    /// What this run may claim about a function that is convex by construction.
    pub fn claim_convex(&self, convex: &Convex<'_>) -> Result<Claim> {
        let certificate = first_order(convex, &self.x, None)?;
        Ok(certificate.gap_bound.map_or_else(|| self.claim(), |gap| Claim::Global { gap }))
    }
}
