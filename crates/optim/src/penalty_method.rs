//! Constraints as penalties: instead of min f(w) over C, minimise f(w) + P(w) over everything.
//!
//! The [`Indicator`] is 0 inside C and +∞ outside, a brick wall: exact, but without a slope that leads back. The quadratic
//! penalty μ‖c(w)‖² of equations c(w) = 0 (such as Aw = b) is smooth and lets them be violated a little; as μ grows, its
//! minimisers tend to the constrained one, with a violation that falls about as 1/μ. [`QuadraticPenalty`] grows μ step by
//! step and starts each round where the last one ended, since a large μ at once makes a badly conditioned problem.
//!
//! ```
//! use tove_optim::QuadraticPenalty;
//! use tove_tensor::Tensor;
//! // The nearest point to the origin on x + y = 2.
//! let found = QuadraticPenalty::default()
//!     .minimise(&|w: &Tensor| w.square().sum(), &|w: &Tensor| (w.sum() - 2.0).reshape([1]), &Tensor::from([0.0, 0.0]))?;
//! assert!(found.x.to_vec::<f64>().iter().all(|w| (w - 1.0).abs() < 1e-6));
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryOps, TryReduce, TryUnary};

use crate::fault;
use crate::newton::Newton;
use crate::objective::Objective;
use crate::projection::ConvexSet;

/// f inside a set, +∞ outside.
///
/// ```
/// use tove_optim::{Indicator, L2Ball, Objective};
/// use tove_tensor::Tensor;
/// let f = |w: &Tensor| w.sum();
/// let walled = Indicator { objective: &f, set: &L2Ball::new(1.0), tolerance: 0.0 };
/// assert_eq!(walled.value(&Tensor::from([0.5]))?, 0.5);
/// assert_eq!(walled.value(&Tensor::from([2.0]))?, f64::INFINITY);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub struct Indicator<'a> {
    /// f.
    pub objective: &'a dyn Objective,
    /// The set.
    pub set: &'a dyn ConvexSet,
    /// Violations up to this count as inside.
    pub tolerance: f64,
}

impl Objective for Indicator<'_> {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        if self.set.contains(&x.detach(), self.tolerance)? {
            return self.objective.evaluate(x);
        }
        Ok(Tensor::full((), f64::INFINITY, x.dtype()))
    }
}

/// f(w) + μ‖c(w)‖² for one μ.
pub struct Penalised<'a> {
    /// f.
    pub objective: &'a dyn Objective,
    /// c, whose zeros are allowed.
    pub constraint: &'a dyn Fn(&Tensor) -> Tensor,
    /// μ ≥ 0.
    pub mu: f64,
}

impl Objective for Penalised<'_> {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        let square = (self.constraint)(x).try_square()?.try_sum()?;
        let value = self.objective.evaluate(x)?.try_reshape(())?;
        value.try_add(&fault::scaled(&square, self.mu)?)
    }
}

/// How μ grows, and how each problem is solved.
#[derive(Clone, Copy, Debug)]
pub struct QuadraticPenalty {
    /// The first μ.
    pub mu: f64,
    /// Its factor from round to round, above 1.
    pub growth: f64,
    /// Number of rounds.
    pub rounds: usize,
    /// A violation ‖c(w)‖ up to this ends the search.
    pub tolerance: f64,
    /// The method for each round.
    pub newton: Newton,
}

impl Default for QuadraticPenalty {
    fn default() -> QuadraticPenalty {
        QuadraticPenalty { mu: 1.0, growth: 10.0, rounds: 10, tolerance: 1e-8, newton: Newton::default() }
    }
}

/// One round.
#[derive(Clone, Debug)]
pub struct Round {
    /// μ.
    pub mu: f64,
    /// The minimiser of f + μ‖c‖².
    pub x: Tensor,
    /// f there, without the penalty.
    pub value: f64,
    /// ‖c(x)‖.
    pub violation: f64,
}

/// What the method found.
#[derive(Clone, Debug)]
pub struct PenaltyRun {
    /// The last minimiser.
    pub x: Tensor,
    /// All rounds.
    pub rounds: Vec<Round>,
}

impl QuadraticPenalty {
    /// Minimises `objective` subject to `constraint(w)` = 0 from `start`.
    pub fn minimise(
        &self,
        objective: &dyn Objective,
        constraint: &dyn Fn(&Tensor) -> Tensor,
        start: &Tensor,
    ) -> Result<PenaltyRun> {
        fault::positive("quadratic_penalty", "mu", self.mu)?;
        if self.growth.is_nan() || self.growth <= 1.0 {
            let problem = format!("is {}; it must be above 1, or the violation does not fall", self.growth);
            return Err(fault::parameter("quadratic_penalty", "growth", problem));
        }
        let (mut x, mut mu, mut rounds) = (start.detach(), self.mu, Vec::new());
        for _ in 0..self.rounds {
            let run = self.newton.minimise(&Penalised { objective, constraint, mu }, &x)?;
            // A saddle of the penalized function may be the minimum on the constraint, which a larger mu decides.
            if run.diverged() || run.receding.is_some() {
                run.minimiser()?;
            }
            x = run.x;
            let violation = constraint(&x).try_norm(2.0)?;
            let violation = fault::number("quadratic_penalty", &violation)?;
            rounds.push(Round { mu, x: x.clone(), value: objective.value(&x)?, violation });
            if violation <= self.tolerance {
                break;
            }
            mu *= self.growth;
        }
        Ok(PenaltyRun { x, rounds })
    }
}
