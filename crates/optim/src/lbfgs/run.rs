//! The iterations of L-BFGS, on plain vectors in double precision. All memory is set aside at the start.

use tove_tensor::{Error, Result};

use super::memory::Memory;
use super::vectors::{add_scaled, dot, largest};
use super::wolfe::{Conditions, Next, Point, Search};
use super::{LbfgsSettings, StopReason};

/// Value and gradient of the function to be minimised; the gradient is written.
pub(super) type Function<'a> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64> + 'a;

/// Steps in a row that may leave the value as it was, next to a minimum.
const LEVEL_STEPS: usize = 10;

/// A run under way, at the point `x`.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) x: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    pub(super) value: f64,
    pub(super) memory: Memory,
    direction: Vec<f64>,
    x_trial: Vec<f64>,
    gradient_trial: Vec<f64>,
    value_trial: f64,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    /// Relative rounding of the function's values.
    pub(super) rounding: f64,
}

impl Run {
    pub(super) fn new(x: Vec<f64>, history: usize, rounding: f64) -> Run {
        let zeros = || vec![0.0; x.len()];
        Run {
            gradient: zeros(),
            value: f64::NAN,
            memory: Memory::new(x.len(), history),
            direction: zeros(),
            x_trial: zeros(),
            gradient_trial: zeros(),
            value_trial: f64::NAN,
            iterations: 0,
            evaluations: 0,
            rounding,
            x,
        }
    }

    /// Evaluates at `x` and iterates until one of the settings' conditions says stop.
    pub(super) fn minimize(&mut self, settings: &LbfgsSettings, f: &mut Function<'_>) -> Result<StopReason> {
        (self.iterations, self.evaluations) = (0, 1);
        self.value = f(&self.x, &mut self.gradient)?;
        if !self.value.is_finite() || !largest(&self.gradient).is_finite() {
            let problem = format!("value {} or its gradient is not finite at the start; begin elsewhere", self.value);
            return Err(Error::Data { op: "Lbfgs", problem: problem.into() });
        }
        let mut level = 0;
        loop {
            if largest(&self.gradient) <= settings.gradient_tolerance {
                return Ok(StopReason::GradientSmall);
            }
            if self.iterations >= settings.max_iterations || crate::interrupted() {
                return Ok(StopReason::IterationLimit);
            }
            let before = self.value;
            if let Some(reason) = self.iterate(settings, f)? {
                return Ok(reason);
            }
            let fall = before - self.value;
            let scale = before.abs().max(self.value.abs()).max(1.0);
            if settings.value_tolerance > 0.0 && fall <= settings.value_tolerance * scale {
                return Ok(StopReason::ValueStalled);
            }
            level = if fall > 0.0 { 0 } else { level + 1 };
            if level > LEVEL_STEPS {
                return Ok(StopReason::NoProgress);
            }
        }
    }

    /// One iteration: direction, line search, memory. A reason if it is the last.
    fn iterate(&mut self, settings: &LbfgsSettings, f: &mut Function<'_>) -> Result<Option<StopReason>> {
        loop {
            self.memory.direction(&self.gradient, &mut self.direction);
            let slope = dot(&self.gradient, &self.direction);
            let outcome = if slope < 0.0 { self.search(slope, settings, f)? } else { Outcome::Failed };
            match outcome {
                Outcome::Found => break,
                Outcome::OutOfEvaluations => return Ok(Some(StopReason::EvaluationLimit)),
                // What was remembered may be what leads astray: once more along the gradient.
                Outcome::Failed if !self.memory.is_empty() => self.memory.clear(),
                Outcome::Failed => return Ok(Some(StopReason::NoProgress)),
            }
        }
        self.iterations += 1;
        self.memory.push((&self.x, &self.gradient), (&self.x_trial, &self.gradient_trial));
        std::mem::swap(&mut self.x, &mut self.x_trial);
        std::mem::swap(&mut self.gradient, &mut self.gradient_trial);
        self.value = self.value_trial;
        Ok(None)
    }

    /// A step along the direction that fulfils the strong Wolfe conditions, left in the trial point.
    fn search(&mut self, slope: f64, settings: &LbfgsSettings, f: &mut Function<'_>) -> Result<Outcome> {
        let conditions = Conditions {
            decrease: settings.decrease,
            curvature: settings.curvature,
            noise: 4.0 * self.rounding * self.value.abs(),
        };
        // Without memory the direction has the gradient's length, which says nothing of the right one.
        let length = if self.memory.is_empty() { 1.0 / dot(&self.direction, &self.direction).sqrt() } else { 1.0 };
        let mut step = settings.initial_step * length.min(1.0);
        let mut search = Search::new(self.value, slope, step, conditions);
        for _ in 0..settings.search_evaluations {
            if self.evaluations >= settings.max_evaluations {
                return self.take_best(&search, f, Outcome::OutOfEvaluations);
            }
            let slope = self.evaluate(step, f)?;
            match search.next(Point { step, value: self.value_trial, slope }) {
                Next::Accept => return Ok(Outcome::Found),
                Next::GiveUp => break,
                Next::Try(next) => step = next,
            }
        }
        self.take_best(&search, f, Outcome::Failed)
    }

    /// After a search without success: the best point that it met, if that is lower than the start.
    fn take_best(&mut self, search: &Search, f: &mut Function<'_>, otherwise: Outcome) -> Result<Outcome> {
        let best = search.best();
        if best.step == 0.0 || best.value >= self.value || otherwise == Outcome::OutOfEvaluations {
            return Ok(otherwise);
        }
        self.evaluate(best.step, f)?;
        Ok(Outcome::Found)
    }

    /// Evaluates at `step` along the direction and returns the slope there.
    fn evaluate(&mut self, step: f64, f: &mut Function<'_>) -> Result<f64> {
        self.x_trial.copy_from_slice(&self.x);
        add_scaled(&mut self.x_trial, step, &self.direction);
        self.evaluations += 1;
        self.value_trial = f(&self.x_trial, &mut self.gradient_trial)?;
        Ok(dot(&self.gradient_trial, &self.direction))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Found,
    Failed,
    OutOfEvaluations,
}
