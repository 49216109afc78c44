//! Notices runs that leave every bound and functions that fall for ever, and says so in words.

use tove_tensor::{Result, Tensor};

use crate::descent::{Receding, Run, Steepest, Stop, steepest_direction};
use crate::fault;
use crate::objective::Objective;

/// Values must rise this often in a row, and by this factor over the first, before a run counts as diverging.
const RISES: usize = 10;
const GROWTH: f64 = 1e6;

/// Watches the values of a run.
pub(crate) struct Watch {
    first: f64,
    last: f64,
    rises: usize,
}

impl Watch {
    pub(crate) fn new(first: f64) -> Watch {
        Watch { first, last: first, rises: 0 }
    }

    pub(crate) fn see(&mut self, value: f64) {
        self.rises = if value > self.last { self.rises + 1 } else { 0 };
        self.last = value;
    }

    pub(crate) fn left_every_bound(&self) -> bool {
        self.rises >= RISES && self.last - self.first > GROWTH * self.first.abs().max(1.0)
    }

    /// The sentence for the user; for a smooth function with the step that the curvature at the start allows.
    pub(crate) fn explain(&self, objective: &dyn Objective, start: &Tensor, run: &Run, x: &Tensor) -> Stop {
        let (first, last, iterations) = (self.first, self.last, run.iterations);
        if iterations == 0 {
            let text = format!(
                "the value at the start is {first} and its gradient norm {}; start elsewhere",
                run.gradient_norm
            );
            return Stop::Diverged(text.into());
        }
        let text = format!("diverged: the value went from {first:e} to {last:e} in {iterations} iterations");
        let remedy = match curvature(objective, start, x) {
            Some(c) => format!(
                "; the curvature along the way is {c:.3e}, so steps of gradient descent must stay below {:.3e}",
                2.0 / c
            ),
            None => "; take smaller steps, or let `Armijo` choose them".to_string(),
        };
        Stop::Diverged((text + &remedy).into())
    }
}

/// vᵀ∇²f v / ‖v‖² at the start, along the way that was taken.
fn curvature(objective: &dyn Objective, start: &Tensor, x: &Tensor) -> Option<f64> {
    let way = x - &start.detach();
    let largest = way.to_f64_vec().iter().fold(0.0f64, |most, v| most.max(v.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let way = way / largest;
    let product = objective.hessian_vector(&start.detach(), &way).ok()?;
    let curvature = fault::dot(&way, &product).ok()? / fault::square_norm(&way);
    (curvature > 0.0 && curvature.is_finite()).then_some(curvature)
}

/// Follows f along the negative gradient to a distance of a million times the size of x. If it never rises on the way and
/// ends lower, f has no minimiser in sight.
pub(crate) fn follow(objective: &dyn Objective, x: &Tensor, value: f64, gradient: &Tensor) -> Result<Option<Receding>> {
    let Steepest::Direction(direction) = steepest_direction(gradient)? else { return Ok(None) };
    let unit = 1.0 + fault::norm(x);
    let (mut distance, mut lowest) = (0.0, value);
    for power in 0..=6 {
        distance = unit * 10f64.powi(power);
        let found = objective.value(&fault::add_scaled(x, distance, &direction)?)?;
        if found > lowest || found.is_nan() {
            return Ok(None);
        }
        lowest = found;
    }
    Ok((lowest < value).then_some(Receding { direction, distance, value: lowest }))
}
