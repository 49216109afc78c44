//! Closed convex sets and Euclidean projection: P_C(w) = argmin over v in C of ‖v − w‖, which is unique.
//!
//! | set | points | projection |
//! |---|---|---|
//! | [`BoxSet`] | low ≤ x ≤ high | clamp |
//! | [`L2Ball`] | ‖x − c‖₂ ≤ r | shorten the way from the centre |
//! | [`LInfBall`] | max ∣x − c∣ ≤ r | clamp |
//! | [`L1Ball`] | Σ ∣x − c∣ ≤ r | soft-threshold by the θ that meets the radius |
//! | [`Simplex`] | x ≥ 0, Σ x = s | max(x − θ, 0) with the θ that meets the sum (Held, Wolfe and Crowder 1974) |
//! | [`HalfSpace`] | aᵀx ≤ b | x − max(aᵀx − b, 0) a/‖a‖² |
//! | [`Affine`] | Ax = b | x − A⁺(Ax − b) |
//! | [`Intersection`] | in all of them | alternate with corrections (Dykstra 1983) |
//!
//! Intersections of convex sets are convex, and projections never increase distances. [`projected_gradient`] repeats
//! w ← P_C(w − γ ∇f(w)), so that every point is feasible.
//!
//! ```
//! use tove_optim::{ConvexSet, Simplex};
//! use tove_tensor::Tensor;
//! let p = Simplex::default().project(&Tensor::from([0.5, 1.5, -3.0]))?;
//! assert_eq!(p.to_vec::<f64>(), [0.0, 1.0, 0.0]);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryLinalg, TryOps};

use crate::descent::{Move, Rules, Run, iterate_with};
use crate::fault;
use crate::objective::Objective;

/// A closed convex set of tensors of one shape.
pub trait ConvexSet {
    /// The point of the set nearest to `x`, in its shape and type.
    fn project(&self, x: &Tensor) -> Result<Tensor>;

    /// How far `x` violates the conditions of the set, in the units of the condition; 0 inside.
    fn violation(&self, x: &Tensor) -> Result<f64>;

    /// Whether `x` meets the conditions up to a tolerance.
    fn contains(&self, x: &Tensor, tolerance: f64) -> Result<bool> {
        Ok(self.violation(x)? <= tolerance)
    }
}

/// The same shape with other numbers, rounded to the type of `like`.
fn with_numbers(like: &Tensor, numbers: Vec<f64>) -> Result<Tensor> {
    Tensor::try_from_vec(numbers, like.shape().clone())?.try_to_dtype(like.dtype())
}

fn numbers(op: &'static str, x: &Tensor) -> Result<Vec<f64>> {
    fault::float(op, x)?;
    if !fault::all_finite(x) {
        return Err(fault::data(op, "the point is not finite, so nothing is nearest to it; take smaller steps"));
    }
    Ok(x.detach().to_f64_vec())
}

/// x − c, where no centre means 0.
fn from_centre(op: &'static str, x: &Tensor, centre: Option<&Tensor>) -> Result<(Vec<f64>, Vec<f64>)> {
    let x = (numbers(op, x)?, x);
    let centre = match centre {
        None => vec![0.0; x.0.len()],
        Some(c) if c.shape() == x.1.shape() => c.to_f64_vec(),
        Some(c) => return Err(fault::shapes(op, c, x.1, "centre and point need one shape")),
    };
    Ok((x.0.iter().zip(&centre).map(|(x, c)| x - c).collect(), centre))
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// low ≤ x ≤ high, with the same bounds for every number or bounds of the point's shape. Infinite bounds are allowed.
#[derive(Clone, Debug)]
pub struct BoxSet {
    /// The lower bounds.
    pub low: Tensor,
    /// The upper bounds.
    pub high: Tensor,
}

impl BoxSet {
    /// Equal bounds for every number.
    pub fn new(low: f64, high: f64) -> BoxSet {
        BoxSet { low: Tensor::scalar(low), high: Tensor::scalar(high) }
    }

    /// x ≥ 0.
    pub fn not_negative() -> BoxSet {
        BoxSet::new(0.0, f64::INFINITY)
    }

    fn bounds(&self, x: &Tensor) -> Result<(Vec<f64>, Vec<f64>)> {
        let stretch =
            |bound: &Tensor| Ok::<_, tove_tensor::Error>(bound.try_broadcast_to(x.shape().clone())?.to_f64_vec());
        let (low, high) = (stretch(&self.low)?, stretch(&self.high)?);
        // Written so that a NaN among the bounds is refused too.
        if !low.iter().zip(&high).all(|(low, high)| low <= high) {
            return Err(fault::parameter("box", "low", "must nowhere exceed `high`; the set is empty"));
        }
        Ok((low, high))
    }
}

impl ConvexSet for BoxSet {
    fn project(&self, x: &Tensor) -> Result<Tensor> {
        let (low, high) = self.bounds(x)?;
        let inside =
            numbers("box", x)?.iter().zip(low.iter().zip(&high)).map(|(x, (l, h))| x.max(*l).min(*h)).collect();
        with_numbers(x, inside)
    }

    fn violation(&self, x: &Tensor) -> Result<f64> {
        let (low, high) = self.bounds(x)?;
        let beyond = |(x, (l, h)): (&f64, (&f64, &f64))| (l - x).max(x - h).max(0.0);
        Ok(numbers("box", x)?.iter().zip(low.iter().zip(&high)).map(beyond).fold(0.0, f64::max))
    }
}

/// Declares a ball: a radius, and a centre of the point's shape or the origin.
macro_rules! ball {
    ($(#[$doc:meta])* $Ball:ident, $op:literal, |$d:ident, $radius:ident| $project:expr, |$v:ident| $length:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $Ball {
            /// The radius, not negative.
            pub radius: f64,
            /// The centre; the origin if there is none.
            pub centre: Option<Tensor>,
        }

        impl $Ball {
            /// The ball about the origin.
            pub fn new(radius: f64) -> $Ball {
                $Ball { radius, centre: None }
            }
        }

        impl ConvexSet for $Ball {
            fn project(&self, x: &Tensor) -> Result<Tensor> {
                fault::not_negative($op, "radius", self.radius)?;
                let ($d, centre) = from_centre($op, x, self.centre.as_ref())?;
                let $radius = self.radius;
                let length = { let $v = &$d; $length };
                if length <= $radius {
                    return Ok(x.detach());
                }
                let near: Vec<f64> = $project;
                with_numbers(x, sum(&near, &centre))
            }

            fn violation(&self, x: &Tensor) -> Result<f64> {
                let $v = &from_centre($op, x, self.centre.as_ref())?.0;
                Ok(($length - self.radius).max(0.0))
            }
        }
    };
}

ball! {
    /// ‖x − c‖₂ ≤ r.
    L2Ball, "l2_ball",
    |d, radius| { let length = d.iter().map(|d| d * d).sum::<f64>().sqrt(); d.iter().map(|d| d * (radius / length)).collect() },
    |v| v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

ball! {
    /// max ∣x − c∣ ≤ r.
    LInfBall, "linf_ball",
    |d, radius| d.iter().map(|d| d.clamp(-radius, radius)).collect(),
    |v| v.iter().fold(0.0f64, |most, v| most.max(v.abs()))
}

ball! {
    /// Σ ∣x − c∣ ≤ r.
    L1Ball, "l1_ball",
    |d, radius| {
        let sizes: Vec<f64> = d.iter().map(|d| d.abs()).collect();
        let near = onto_simplex(&sizes, radius);
        near.iter().zip(&d).map(|(near, d)| near.copysign(*d)).collect()
    },
    |v| v.iter().map(|v| v.abs()).sum::<f64>()
}

/// max(x − θ, 0) with the θ that makes the sum `total`.
fn onto_simplex(x: &[f64], total: f64) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut running, mut theta) = (0.0, f64::NEG_INFINITY);
    for (i, &value) in sorted.iter().enumerate() {
        running += value;
        let candidate = (running - total) / (i + 1) as f64;
        if value > candidate || i == 0 {
            theta = candidate;
        }
    }
    x.iter().map(|x| (x - theta).max(0.0)).collect()
}

/// x ≥ 0 with Σ x = `total`; the probability simplex by default.
#[derive(Clone, Copy, Debug)]
pub struct Simplex {
    /// The sum of all numbers.
    pub total: f64,
}

impl Default for Simplex {
    fn default() -> Simplex {
        Simplex { total: 1.0 }
    }
}

impl ConvexSet for Simplex {
    fn project(&self, x: &Tensor) -> Result<Tensor> {
        fault::positive("simplex", "total", self.total)?;
        if x.numel() == 0 {
            return Err(fault::shape("simplex", x.shape(), "no numbers cannot have a positive sum"));
        }
        with_numbers(x, onto_simplex(&numbers("simplex", x)?, self.total))
    }

    fn violation(&self, x: &Tensor) -> Result<f64> {
        let x = numbers("simplex", x)?;
        let negative = x.iter().fold(0.0f64, |most, x| most.max(-x));
        Ok(negative.max((x.iter().sum::<f64>() - self.total).abs()))
    }
}

/// aᵀx ≤ b.
#[derive(Clone, Debug)]
pub struct HalfSpace {
    /// The outward normal a, in the shape of the points; not zero.
    pub normal: Tensor,
    /// b.
    pub offset: f64,
}

impl ConvexSet for HalfSpace {
    fn project(&self, x: &Tensor) -> Result<Tensor> {
        numbers("half_space", x)?;
        let square = fault::square_norm(&self.normal);
        fault::positive("half_space", "length of the normal", square)?;
        let beyond = fault::dot(&self.normal, x)? - self.offset;
        if beyond <= 0.0 {
            return Ok(x.detach());
        }
        fault::add_scaled(&x.detach(), -beyond / square, &self.normal)
    }

    fn violation(&self, x: &Tensor) -> Result<f64> {
        Ok((fault::dot(&self.normal, x)? - self.offset).max(0.0))
    }
}

/// Ax = b for vectors x.
#[derive(Clone, Debug)]
pub struct Affine {
    matrix: Tensor,
    right: Tensor,
    pseudoinverse: Tensor,
}

impl Affine {
    /// The set for A (m, n) and b (m). Contradictory equations, which no x meets, are an error.
    pub fn new(matrix: &Tensor, right: &Tensor) -> Result<Affine> {
        let pseudoinverse = matrix.detach().try_pinv(None)?;
        let set = Affine { matrix: matrix.detach(), right: right.detach(), pseudoinverse };
        let nearest = set.pseudoinverse.try_matmul(&set.right)?;
        let left = fault::norm(&set.residual(&nearest)?);
        if left > matrix.dtype().epsilon().sqrt() * fault::norm(right).max(1.0) {
            let problem = format!("no x meets all equations: the best leaves ‖Ax − b‖ = {left:e}; remove some");
            return Err(fault::data("affine", problem));
        }
        Ok(set)
    }

    fn residual(&self, x: &Tensor) -> Result<Tensor> {
        self.matrix.try_matmul(&x.detach())?.try_sub(&self.right)
    }
}

impl ConvexSet for Affine {
    fn project(&self, x: &Tensor) -> Result<Tensor> {
        numbers("affine", x)?;
        x.detach().try_sub(&self.pseudoinverse.try_matmul(&self.residual(x)?)?)
    }

    fn violation(&self, x: &Tensor) -> Result<f64> {
        Ok(fault::norm(&self.residual(x)?))
    }
}

/// The points that lie in all sets. The projection alternates between them with Dykstra's corrections; without these it
/// would find some common point, not the nearest.
pub struct Intersection {
    /// The sets.
    pub sets: Vec<Box<dyn ConvexSet>>,
    /// Largest number of rounds.
    pub rounds: usize,
    /// A round that moves less than this ends the search.
    pub tolerance: f64,
}

impl Intersection {
    /// The intersection of some sets, with 10,000 rounds to 10⁻¹⁰.
    pub fn new(sets: Vec<Box<dyn ConvexSet>>) -> Intersection {
        Intersection { sets, rounds: 10_000, tolerance: 1e-10 }
    }
}

impl ConvexSet for Intersection {
    fn project(&self, x: &Tensor) -> Result<Tensor> {
        numbers("intersection", x)?;
        let mut point = x.detach();
        let mut corrections = vec![point.zeros_like(); self.sets.len()];
        // Rounding of the type bounds what can be asked for.
        let tolerance = self.tolerance.max(8.0 * x.dtype().epsilon() * (1.0 + fault::norm(x)));
        for _ in 0..self.rounds {
            let mut change = 0.0;
            for (set, correction) in self.sets.iter().zip(&mut corrections) {
                let shifted = point.try_add(correction)?;
                let next = set.project(&shifted)?;
                let kept = shifted.try_sub(&next)?;
                change += fault::norm(&kept.try_sub(correction)?);
                (*correction, point) = (kept, next);
            }
            if change <= tolerance && self.violation(&point)? <= tolerance {
                return Ok(point);
            }
        }
        let left = self.violation(&point)?;
        let problem =
            format!("no common point near after {} rounds (violation {left:e}); the sets may not meet", self.rounds);
        Err(fault::data("intersection", problem))
    }

    fn violation(&self, x: &Tensor) -> Result<f64> {
        self.sets.iter().try_fold(0.0f64, |most, set| Ok(most.max(set.violation(x)?)))
    }
}

/// w ← P_C(w − γ ∇f(w)) from the projection of `start`. [`Rules::gradient_tolerance`] is held against
/// ‖w − P_C(w − γ∇f(w))‖/γ, which is ‖∇f‖ inside the set and 0 exactly at a solution of a convex problem.
///
/// ```
/// use tove_optim::{L2Ball, Rules, projected_gradient};
/// use tove_tensor::Tensor;
/// let f = |x: &Tensor| (x - 3.0).square().sum();
/// let run = projected_gradient(&f, &L2Ball::new(1.0), &Tensor::from([0.0]), 0.1, &Rules::default())?;
/// assert_eq!(run.x.item::<f64>(), 1.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn projected_gradient(
    objective: &dyn Objective,
    set: &dyn ConvexSet,
    start: &Tensor,
    step: f64,
    rules: &Rules,
) -> Result<Run> {
    fault::positive("projected_gradient", "step", step)?;
    // The gradient itself need not vanish at a solution on the boundary, so the loop's own rule is switched off.
    let inner = Rules { gradient_tolerance: 0.0, ..*rules };
    let run = iterate_with(objective, &set.project(start)?, &inner, &mut |state| {
        let next = set.project(&fault::add_scaled(state.x, -step, state.gradient)?)?;
        let measure = fault::norm(&next.try_sub(state.x)?) / step;
        Ok(if measure <= rules.gradient_tolerance { Move::AtRest(measure) } else { Move::To(next) })
    })?;
    Ok(run.0)
}
