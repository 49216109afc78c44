//! L-BFGS with a preconditioner, and its orthant-wise form for an l1 penalty (Andrew and Gao 2007).
//!
//! The two-loop recursion starts from γ M⁻¹ instead of γ I, where M is the approximate Hessian in
//! [`super::preconditioner`]; on correlated columns that saves nine iterations of ten. Steps satisfy the Wolfe
//! conditions. With l1, direction and step stay in the orthant of the current point, so that weights become exactly 0.

use std::collections::VecDeque;

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;

use super::kernels::Wide;
use super::objective::{Limits, Objective, Outcome, dot, largest, overflow};
use super::preconditioner::Preconditioner;
use crate::{LearnError, Result};

const HISTORY: usize = 10;
const SEARCH: usize = 30;
const DECREASE: f64 = 1e-4;
const CURVATURE: f64 = 0.9;
/// Number of consecutive iterations without a decrease beyond rounding after which the minimum is reached within
/// rounding.
const PLATEAU: usize = 3;
/// The predicted relative decrease above which a plateau is not the minimum.
const MIN_PREDICTED_DECREASE: f64 = 1e-4;

struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    inverse: f64,
}

struct Point {
    w: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

/// Minimizes from the parameters `start`, optionally with a preconditioner better than the column moments.
pub(super) fn minimize<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    limits: Limits,
    (start, model): (Vec<f64>, Option<Preconditioner>),
) -> Result<Outcome> {
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(HISTORY);
    let mut gradient = vec![0.0; start.len()];
    let value = objective.smooth(&start, &mut gradient) + objective.rough(&start);
    let mut point = Point { w: start, gradient, value };
    let mut slope = objective.subgradient(&point.w, &point.gradient);
    let (mut iterations, mut level, mut curve) = (0, 0, vec![value]);
    let end = |point: Point, slope: &[f64], iterations, converged, curve| Outcome {
        residual: largest(slope),
        value: point.value,
        parameters: point.w,
        iterations,
        converged,
        curve,
    };
    if !largest(&slope).is_finite() {
        return Err(overflow());
    }
    if largest(&slope) <= limits.tol || limits.max_iter == 0 {
        let converged = largest(&slope) <= limits.tol;
        return Ok(end(point, &slope, 0, converged, curve));
    }
    let model = match model {
        Some(model) => model,
        None => Preconditioner::new(objective.problem, objective.strength.l2, objective.strength.l1 > 0.0)?,
    };
    let noise = 4.0 * T::EPSILON.wide() / (objective.problem.n as f64).sqrt();
    loop {
        let mut direction = direction(&memory, &model, &slope)?;
        if objective.strength.l1 > 0.0 {
            direction.iter_mut().zip(&slope).for_each(|(d, g)| *d = if *d * g < 0.0 { *d } else { 0.0 });
        }
        let next =
            if dot(&direction, &slope) < 0.0 { search(objective, &point, &slope, &direction, noise) } else { None };
        let Some(next) = next else {
            if memory.is_empty() {
                return Ok(end(point, &slope, iterations, false, curve));
            }
            memory.clear(); // the history may be misleading: retry along the gradient
            continue;
        };
        iterations += 1;
        remember(&mut memory, &point, &next);
        let fall = point.value - next.value;
        level = if fall > noise * next.value.abs() { 0 } else { level + 1 };
        point = next;
        curve.push(point.value);
        slope = objective.subgradient(&point.w, &point.gradient);
        let small = largest(&slope) <= limits.tol;
        if small || level >= PLATEAU || iterations >= limits.max_iter || tove_optim::interrupted() {
            // A plateau with a small predicted decrease: the minimum within rounding.
            let predicted = || Ok::<f64, LearnError>(-dot(&self::direction(&memory, &model, &slope)?, &slope));
            let converged = small || (level >= PLATEAU && predicted()? <= MIN_PREDICTED_DECREASE * point.value.abs());
            return Ok(end(point, &slope, iterations, converged, curve));
        }
    }
}

/// −H g.
fn direction(memory: &VecDeque<Pair>, model: &Preconditioner, gradient: &[f64]) -> Result<Vec<f64>> {
    let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut alphas = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let alpha = pair.inverse * dot(&pair.s, &d);
        d.iter_mut().zip(&pair.y).for_each(|(d, y)| *d -= alpha * y);
        alphas.push(alpha);
    }
    d = model.apply(&d)?;
    if let Some(pair) = memory.back() {
        let scale = 1.0 / (pair.inverse * dot(&pair.y, &model.apply(&pair.y)?));
        d.iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, alpha) in memory.iter().zip(alphas.iter().rev()) {
        let rest = alpha - pair.inverse * dot(&pair.y, &d);
        d.iter_mut().zip(&pair.s).for_each(|(d, s)| *d += rest * s);
    }
    Ok(d)
}

fn remember(memory: &mut VecDeque<Pair>, old: &Point, new: &Point) {
    let s: Vec<f64> = new.w.iter().zip(&old.w).map(|(a, b)| a - b).collect();
    let y: Vec<f64> = new.gradient.iter().zip(&old.gradient).map(|(a, b)| a - b).collect();
    let curvature = dot(&s, &y);
    if curvature > f64::EPSILON * dot(&y, &y) * 1e-4 && curvature.is_finite() {
        if memory.len() == HISTORY {
            memory.pop_front();
        }
        memory.push_back(Pair { s, y, inverse: 1.0 / curvature });
    }
}

/// A step that decreases the objective enough and, without l1, satisfies the curvature condition.
fn search<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    point: &Point,
    slope: &[f64],
    direction: &[f64],
    noise: f64,
) -> Option<Point> {
    let smooth = objective.strength.l1 == 0.0;
    let (mut low, mut high, mut t) = (0.0, f64::INFINITY, 1.0);
    let start = dot(slope, direction);
    let slack = noise * point.value.abs();
    let mut best: Option<Point> = None;
    for _ in 0..SEARCH {
        let w = step(objective, point, slope, direction, t);
        let mut gradient = vec![0.0; w.len()];
        let value = objective.smooth(&w, &mut gradient) + objective.rough(&w);
        let predicted =
            if smooth { t * start } else { w.iter().zip(&point.w).zip(slope).map(|((a, b), g)| (a - b) * g).sum() };
        let now = dot(&gradient, direction);
        let trial = Point { w, gradient, value };
        let lower = value <= point.value + DECREASE * predicted + slack; // also false for NaN
        if !lower {
            high = t;
            // The minimum of the parabola through value and slope at 0 and the value at t, kept away from the ends.
            let parabola = -0.5 * start * t * t / (value - point.value - start * t);
            let inside = if parabola.is_finite() { parabola } else { 0.5 * t };
            t = inside.clamp(low + 0.1 * (t - low), low + 0.5 * (t - low));
        } else if smooth && now < CURVATURE * start && (value < point.value - slack || best.is_none()) {
            low = t;
            t = if high.is_finite() { 0.5 * (low + high) } else { 4.0 * t };
            best = Some(trial);
        } else {
            return Some(trial);
        }
        if high - low <= 1e-12 * high {
            break;
        }
    }
    best
}

/// w + t d; with l1, entries that would leave their orthant become 0.
fn step<T: Float + Element>(
    objective: &Objective<'_, '_, T>,
    point: &Point,
    slope: &[f64],
    direction: &[f64],
    t: f64,
) -> Vec<f64> {
    let rough = objective.strength.l1 > 0.0;
    let entries = point.w.iter().zip(direction).zip(slope).enumerate();
    entries
        .map(|(index, ((&w, d), g))| {
            let next = w + t * d;
            let orthant = if w != 0.0 { w } else { -g };
            if rough && objective.is_weight(index) && next * orthant < 0.0 { 0.0 } else { next }
        })
        .collect()
}
