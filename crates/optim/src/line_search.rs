//! Backtracking line search (Armijo 1966).
//!
//! From a point x and a descent direction p, the step η starts at `initial` and is multiplied by `shrink` until
//! f(x + η p) ≤ f(x) + c η ∇f(x)ᵀp, with c = `slope` in (0, 1). As ∇f(x)ᵀp < 0, an accepted step never raises f.
//!
//! ```
//! use tove_optim::{Armijo, Objective};
//! use tove_tensor::Tensor;
//! let f = |x: &Tensor| x.square().sum() * 100.0;
//! let x = Tensor::from([1.0]);
//! let (value, gradient) = f.value_and_gradient(&x)?;
//! let step = Armijo::default().search(&f, &x, value, &gradient, &-&gradient)?.unwrap();
//! assert!(step.value < value);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor};

use crate::fault;
use crate::objective::Objective;

/// Settings of the search. The defaults are those of Nocedal and Wright, algorithm 3.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Armijo {
    /// The first step tried.
    pub initial: f64,
    /// Factor by which a refused step is shortened, in (0, 1).
    pub shrink: f64,
    /// The share c of the decrease promised by the slope that must be reached, in (0, 1).
    pub slope: f64,
    /// How many steps are tried before giving up.
    pub trials: usize,
}

impl Default for Armijo {
    fn default() -> Armijo {
        Armijo { initial: 1.0, shrink: 0.5, slope: 1e-4, trials: 60 }
    }
}

/// An accepted step.
#[derive(Clone, Debug)]
pub struct Step {
    /// η.
    pub size: f64,
    /// x + η p.
    pub x: Tensor,
    /// f(x + η p).
    pub value: f64,
    /// How many values of f were computed.
    pub evaluations: usize,
}

impl Armijo {
    /// Whether all settings are in their ranges.
    pub fn check(&self) -> Result<()> {
        fault::positive("armijo", "initial", self.initial)?;
        for (name, value) in [("shrink", self.shrink), ("slope", self.slope)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(fault::parameter("armijo", name, format!("is {value}; it must lie between 0 and 1")));
            }
        }
        Ok(())
    }

    /// The first acceptable step from `x`, where f has this value and gradient, along `direction`; `None` if all trials
    /// fail, which near a minimum means that f cannot be resolved any finer. A direction that does not descend is an
    /// error.
    pub fn search(
        &self,
        objective: &dyn Objective,
        x: &Tensor,
        value: f64,
        gradient: &Tensor,
        direction: &Tensor,
    ) -> Result<Option<Step>> {
        self.check()?;
        let slope = fault::dot(gradient, direction)?;
        if slope >= 0.0 || slope.is_nan() {
            let problem =
                format!("has slope {slope:e}, so f does not fall along it; turn it round or use the gradient");
            return Err(fault::parameter("armijo", "direction", problem));
        }
        let mut size = self.initial;
        for trial in 1..=self.trials {
            let next = fault::add_scaled(x, size, direction)?;
            let found = objective.value(&next)?;
            // A comparison with NaN is false, so undefined points are backed away from.
            if found <= value + self.slope * size * slope {
                return Ok(Some(Step { size, x: next, value: found, evaluations: trial }));
            }
            size *= self.shrink;
        }
        Ok(None)
    }
}
