//! Iterative descent: x_t = x_{t-1} + η_t p_t from a seeded random start.
//!
//! The direction p_t and the step size η_t come from callbacks, or from the ready-made schemes: [`gradient_descent`]
//! (p = −∇f, constant η), [`steepest_descent`] (p = −∇f/‖∇f‖, the unit direction in which f falls fastest) and
//! [`backtracking_descent`] (p = −∇f, η by [`Armijo`]). [`Rules`] say when to stop; the [`Run`] that comes back names the
//! rule that fired, and explains a divergence instead of returning NaN.
//!
//! The derivative of f along a unit vector p is ∇f·p = ‖∇f‖ cos α, so f falls along p for small steps exactly when this is
//! negative ([`is_descent_direction`], strict: at equality f may rise).
//!
//! What a run promises: on a smooth function bounded below, with steps small enough, the gradient tends to zero. The
//! limit may be a saddle (which [`Run::minimiser`] refuses where it finds a lower value nearby), and nothing is said about
//! other minima; see [`Claim`](crate::Claim).
//!
//! ```
//! use tove_optim::{Rules, Stop, gradient_descent};
//! use tove_tensor::Tensor;
//! let f = |x: &Tensor| (x - 3.0).square().sum();
//! let run = gradient_descent(&f, &Tensor::from([0.0]), 0.1, &Rules::default())?;
//! assert_eq!(run.stop, Stop::SmallGradient);
//! assert!((run.minimiser()?.item::<f64>() - 3.0).abs() < 1e-6);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::fmt;

use tove_tensor::{DType, Key, Result, Shape, Tensor};

use crate::escape::Escape;
use crate::fault;
use crate::line_search::Armijo;
use crate::objective::Objective;

/// When to stop. A tolerance of 0 switches its rule off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Stop after this many steps.
    pub max_iterations: usize,
    /// Stop when ‖∇f(x)‖ is at most this.
    pub gradient_tolerance: f64,
    /// Stop when ‖x_{t+1} − x_t‖² is below this.
    pub step_tolerance: f64,
    /// Stop when |f(x_{t+1}) − f(x_t)| is below this.
    pub value_tolerance: f64,
    /// Keep all points, the start included.
    pub keep_path: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            max_iterations: 10_000,
            gradient_tolerance: 1e-8,
            step_tolerance: 0.0,
            value_tolerance: 0.0,
            keep_path: false,
        }
    }
}

impl Rules {
    /// So many steps, whatever happens short of divergence.
    pub fn fixed(iterations: usize) -> Rules {
        Rules { max_iterations: iterations, gradient_tolerance: 0.0, ..Rules::default() }
    }

    fn check(&self) -> Result<()> {
        fault::not_negative("rules", "gradient_tolerance", self.gradient_tolerance)?;
        fault::not_negative("rules", "step_tolerance", self.step_tolerance)?;
        fault::not_negative("rules", "value_tolerance", self.value_tolerance)
    }
}

/// The rule that ended a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// ‖∇f‖ reached the tolerance.
    SmallGradient,
    /// ‖x_{t+1} − x_t‖² fell below the tolerance.
    SmallStep,
    /// |f(x_{t+1}) − f(x_t)| fell below the tolerance.
    SmallChange,
    /// The limit of iterations.
    IterationLimit,
    /// No step along the direction lowers f any more: f cannot be resolved any finer.
    NoDecrease,
    /// The values left every bound; the text says how and what to do.
    Diverged(Box<str>),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::SmallGradient => "the gradient is small enough",
            Stop::SmallStep => "the last step was small enough",
            Stop::SmallChange => "the value changed little enough",
            Stop::IterationLimit => "the limit of iterations was reached",
            Stop::NoDecrease => "no step lowers the value any more",
            Stop::Diverged(text) => text,
        })
    }
}

/// A way along which f keeps falling, so that no minimiser is in sight.
#[derive(Clone, Debug)]
pub struct Receding {
    /// The unit direction.
    pub direction: Tensor,
    /// How far f was followed.
    pub distance: f64,
    /// f there.
    pub value: f64,
}

/// What a run found.
#[derive(Clone, Debug)]
pub struct Run {
    /// The last point.
    pub x: Tensor,
    /// f there.
    pub value: f64,
    /// ‖∇f‖ there.
    pub gradient_norm: f64,
    /// Steps taken.
    pub iterations: usize,
    /// The rule that fired.
    pub stop: Stop,
    /// f at every point, the start included.
    pub values: Vec<f64>,
    /// All points, if [`Rules::keep_path`] asked for them.
    pub path: Vec<Tensor>,
    /// A way along which f still falls far away from x, if there is one.
    pub receding: Option<Receding>,
    /// A lower value next to x, if there is one: x is a saddle or a maximum.
    pub escape: Option<Escape>,
}

impl Run {
    /// The last point if the run came to rest there and no lower value was found next to it; otherwise an error that says
    /// why it is not a minimum.
    pub fn minimiser(&self) -> Result<&Tensor> {
        if let Stop::Diverged(text) = &self.stop {
            return Err(fault::data("minimiser", text.to_string()));
        }
        if let Some(Receding { distance, value, .. }) = &self.receding {
            let problem = format!(
                "no minimiser in sight: f is {:e} here and still falls along the negative gradient, to {value:e} at \
                 distance {distance:e}; its infimum may not be attained (add a penalty or a constraint)",
                self.value
            );
            return Err(fault::data("minimiser", problem));
        }
        if let Some(Escape { distance, value, curvature, .. }) = &self.escape {
            let problem = format!(
                "the run came to rest at a saddle or a maximum: f is {:e} here and {value:e} at distance {distance:e}, along a \
                 direction of curvature {curvature:e}; start elsewhere, for instance at a random point",
                self.value
            );
            return Err(fault::data("minimiser", problem));
        }
        if self.stop == Stop::IterationLimit {
            let (iterations, gradient) = (self.iterations, self.gradient_norm);
            let problem =
                format!("not at rest after {iterations} iterations (gradient norm {gradient:e}); allow more, or scale");
            return Err(fault::data("minimiser", problem));
        }
        Ok(&self.x)
    }

    /// Whether the run left every bound.
    pub fn diverged(&self) -> bool {
        matches!(self.stop, Stop::Diverged(_))
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} iterations, f = {}, ‖∇f‖ = {:e}: {}", self.iterations, self.value, self.gradient_norm, self.stop)
    }
}

/// Where a run stands, for callbacks.
pub struct State<'a> {
    /// Steps taken so far.
    pub iteration: usize,
    /// The point.
    pub x: &'a Tensor,
    /// f(x).
    pub value: f64,
    /// ∇f(x).
    pub gradient: &'a Tensor,
    /// f.
    pub objective: &'a dyn Objective,
}

/// A standard normal start of this shape, the same for the same seed.
pub fn random_start(shape: impl Into<Shape>, dtype: DType, seed: u64) -> Result<Tensor> {
    Key::new(seed).try_normal(shape, dtype)
}

/// The derivative of f along `p`, taken to unit length: ‖∇f‖ cos α.
pub fn directional_derivative(objective: &dyn Objective, x: &Tensor, p: &Tensor) -> Result<f64> {
    let length = fault::norm(p);
    fault::positive("directional_derivative", "length of the direction", length)?;
    Ok(fault::dot(&objective.gradient(x)?, p)? / length)
}

/// Whether f falls along `p` for steps small enough: ∇f·p < 0, strictly.
pub fn is_descent_direction(gradient: &Tensor, p: &Tensor) -> Result<bool> {
    Ok(fault::dot(gradient, p)? < 0.0)
}

/// The direction of steepest descent.
#[derive(Clone, Debug)]
pub enum Steepest {
    /// −∇f/‖∇f‖.
    Direction(Tensor),
    /// The gradient is zero; there is none.
    Stationary,
}

/// The unit direction that minimises uᵀ∇f: u = −∇f/‖∇f‖, or the word that the point is stationary.
///
/// ```
/// use tove_optim::{Steepest, steepest_direction};
/// use tove_tensor::Tensor;
/// let Steepest::Direction(u) = steepest_direction(&Tensor::from([3.0, 4.0]))? else { panic!() };
/// assert_eq!(u.to_vec::<f64>(), [-0.6, -0.8]);
/// assert!(matches!(steepest_direction(&Tensor::from([0.0, 0.0]))?, Steepest::Stationary));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn steepest_direction(gradient: &Tensor) -> Result<Steepest> {
    fault::float("steepest_direction", gradient)?;
    // Divided by the largest entry first, so that squares neither overflow nor vanish.
    let largest = gradient.to_f64_vec().iter().fold(0.0f64, |most, g| most.max(g.abs()));
    if largest == 0.0 {
        return Ok(Steepest::Stationary);
    }
    let even = gradient.detach() / largest;
    let length = fault::norm(&even);
    Ok(Steepest::Direction(-(even / length)))
}

/// The outcome of one move inside the loop.
pub(crate) enum Move {
    /// The next point.
    To(Tensor),
    /// There is none.
    Stuck,
    /// The method's own measure says that the run is at rest, with this value in place of the gradient's norm.
    AtRest(f64),
}

/// The scheme x_t = x_{t-1} + η_t p_t with any direction and any step size.
///
/// ```
/// use tove_optim::{Rules, iterate};
/// use tove_tensor::Tensor;
/// let f = |x: &Tensor| x.square().sum();
/// let run = iterate(&f, &Tensor::from([4.0]), |s| Ok(-s.gradient), |s, _| Ok(0.5 / (1 + s.iteration) as f64), &Rules::default())?;
/// assert_eq!(run.x.item::<f64>(), 0.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn iterate(
    objective: &dyn Objective,
    start: &Tensor,
    mut direction: impl FnMut(&State<'_>) -> Result<Tensor>,
    mut step: impl FnMut(&State<'_>, &Tensor) -> Result<f64>,
    rules: &Rules,
) -> Result<Run> {
    unconstrained(objective, start, rules, &mut |state| {
        let p = direction(state)?;
        fault::alike("iterate", state.x, &p, "a direction has the shape of the point")?;
        let size = step(state, &p)?;
        Ok(Move::To(fault::add_scaled(state.x, size, &p)?))
    })
}

/// x ← x − η ∇f(x).
pub fn gradient_descent(objective: &dyn Objective, start: &Tensor, step: f64, rules: &Rules) -> Result<Run> {
    fault::positive("gradient_descent", "step", step)?;
    iterate(objective, start, |state| Ok(-state.gradient), |_, _| Ok(step), rules)
}

/// x ← x − η ∇f(x)/‖∇f(x)‖: steps of fixed length, which end up circling a minimum at that distance.
pub fn steepest_descent(objective: &dyn Objective, start: &Tensor, length: f64, rules: &Rules) -> Result<Run> {
    fault::positive("steepest_descent", "length", length)?;
    unconstrained(objective, start, rules, &mut |state| match steepest_direction(state.gradient)? {
        Steepest::Stationary => Ok(Move::Stuck),
        Steepest::Direction(u) => Ok(Move::To(fault::add_scaled(state.x, length, &u)?)),
    })
}

/// x ← x − η ∇f(x) with η by backtracking. Each search begins at twice the step accepted before, so that a poor first guess
/// costs little.
pub fn backtracking_descent(objective: &dyn Objective, start: &Tensor, search: Armijo, rules: &Rules) -> Result<Run> {
    let mut search = search;
    unconstrained(objective, start, rules, &mut |state| {
        if fault::square_norm(state.gradient) == 0.0 {
            return Ok(Move::Stuck);
        }
        let found = search.search(state.objective, state.x, state.value, state.gradient, &-state.gradient)?;
        Ok(match found {
            None => Move::Stuck,
            Some(step) => {
                search.initial = step.size * 2.0;
                Move::To(step.x)
            }
        })
    })
}

/// The loop, and at its end a look whether f falls for ever from there, or has a lower value right beside it.
pub(crate) fn unconstrained(
    objective: &dyn Objective,
    start: &Tensor,
    rules: &Rules,
    advance: &mut dyn FnMut(&State<'_>) -> Result<Move>,
) -> Result<Run> {
    let (mut run, gradient) = iterate_with(objective, start, rules, advance)?;
    if !run.diverged() {
        run.receding = crate::divergence::follow(objective, &run.x, run.value, &gradient)?;
        if run.receding.is_none() && run.stop != Stop::IterationLimit {
            run.escape = crate::escape::find(objective, &run.x, run.value, &gradient)?;
        }
    }
    Ok(run)
}

/// The loop behind every deterministic method of this crate; also gives the gradient at the last point.
pub(crate) fn iterate_with(
    objective: &dyn Objective,
    start: &Tensor,
    rules: &Rules,
    advance: &mut dyn FnMut(&State<'_>) -> Result<Move>,
) -> Result<(Run, Tensor)> {
    rules.check()?;
    let mut x = start.detach();
    let (mut value, mut gradient) = objective.value_and_gradient(&x)?;
    let mut run = Run {
        x: x.clone(),
        value,
        gradient_norm: fault::norm(&gradient),
        iterations: 0,
        stop: Stop::IterationLimit,
        values: vec![value],
        path: if rules.keep_path { vec![x.clone()] } else { Vec::new() },
        receding: None,
        escape: None,
    };
    let mut watch = crate::divergence::Watch::new(value);
    run.stop = loop {
        let finite = value.is_finite() && run.gradient_norm.is_finite();
        if !finite || watch.left_every_bound() {
            break watch.explain(objective, start, &run, &x);
        }
        if run.gradient_norm <= rules.gradient_tolerance {
            break Stop::SmallGradient;
        }
        if run.iterations == rules.max_iterations {
            break Stop::IterationLimit;
        }
        let state = State { iteration: run.iterations, x: &x, value, gradient: &gradient, objective };
        let next = match advance(&state)? {
            Move::To(next) => next,
            Move::Stuck => break Stop::NoDecrease,
            Move::AtRest(measure) => {
                run.gradient_norm = measure;
                break Stop::SmallGradient;
            }
        };
        let next = next.detach();
        let moved = if rules.step_tolerance > 0.0 { fault::square_norm(&(&next - &x)) } else { f64::INFINITY };
        let before = value;
        (value, gradient) = objective.value_and_gradient(&next)?;
        x = next;
        run.iterations += 1;
        run.gradient_norm = fault::norm(&gradient);
        run.values.push(value);
        watch.see(value);
        if rules.keep_path {
            run.path.push(x.clone());
        }
        if value.is_finite() && moved < rules.step_tolerance {
            break Stop::SmallStep;
        }
        if (value - before).abs() < rules.value_tolerance {
            break Stop::SmallChange;
        }
    };
    (run.x, run.value) = (x, value);
    Ok((run, gradient))
}
