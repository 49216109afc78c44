//! The line search of Moré and Thuente (1994) for the strong Wolfe conditions
//! φ(t) ≤ φ(0) + c₁ t φ'(0) and |φ'(t)| ≤ c₂ |φ'(0)|, where φ(t) = f(x + t d) and φ'(0) < 0.
//!
//! It keeps an interval that holds acceptable steps, and the best end of it; trial steps are minimisers of cubics and
//! parabolas through the ends. The search does not call the function: it is told value and slope at a step, and answers
//! with the next step to try.

/// A step with its value and slope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) step: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
}

/// What to do after a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Evaluate at this step.
    Try(f64),
    /// The last step fulfils the conditions.
    Accept,
    /// There is no more to be gained: the interval has shrunk to rounding, or a bound of the step is reached.
    GiveUp,
}

/// How good a step must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// c₁.
    pub(super) decrease: f64,
    /// c₂.
    pub(super) curvature: f64,
    /// Differences of values below this are rounding.
    pub(super) noise: f64,
}

const LARGEST: f64 = 1e20;

/// A search under way.
#[derive(Debug)]
pub(super) struct Search {
    start: Point,
    conditions: Conditions,
    /// The best end of the interval and the other one.
    best: Point,
    other: Point,
    bracketed: bool,
    /// Whether the search still works on φ(t) − φ(0) − c₁ t φ'(0), to find a step that lowers φ enough.
    first_stage: bool,
    /// Widths of the interval now and one step before.
    widths: (f64, f64),
    bounds: (f64, f64),
    /// The largest step that may be tried: less than one where the function was not finite.
    limit: f64,
}

impl Search {
    /// A search along a direction with slope φ'(0) < 0.
    pub(super) fn new(value: f64, slope: f64, trial: f64, conditions: Conditions) -> Search {
        let start = Point { step: 0.0, value, slope };
        Search {
            start,
            conditions,
            best: start,
            other: start,
            bracketed: false,
            first_stage: true,
            widths: (LARGEST, 2.0 * LARGEST),
            bounds: (0.0, 5.0 * trial),
            limit: LARGEST,
        }
    }

    /// The best point so far: the start, if none was lower.
    pub(super) fn best(&self) -> Point {
        self.best
    }

    /// Takes in value and slope at the last step tried.
    pub(super) fn next(&mut self, point: Point) -> Next {
        if !(point.value.is_finite() && point.slope.is_finite()) {
            return self.retreat(point.step);
        }
        let sloped = self.conditions.decrease * self.start.slope;
        let enough = self.start.value + point.step * sloped;
        let low = point.value <= enough;
        let flat = point.slope.abs() <= -self.conditions.curvature * self.start.slope;
        // Next to a minimum values differ by rounding alone; then the slope decides.
        let level = (point.value - self.start.value).abs() <= self.conditions.noise;
        if flat && (low || level) {
            return Next::Accept;
        }
        if self.first_stage && low && point.slope >= 0.0 {
            self.first_stage = false;
        }
        let step = if self.first_stage && point.value <= self.best.value && !low {
            self.update_tilted(point, sloped)
        } else {
            let step = self.trial(point);
            self.narrow(point);
            step
        };
        self.settle(step, low && point.slope <= sloped, point.step)
    }

    /// Updates the interval for φ(t) − c₁ t φ'(0) in place of φ.
    fn update_tilted(&mut self, point: Point, tilt: f64) -> f64 {
        let tilted = |p: Point| Point { value: p.value - p.step * tilt, slope: p.slope - tilt, ..p };
        let upright = |p: Point| Point { value: p.value + p.step * tilt, slope: p.slope + tilt, ..p };
        (self.best, self.other) = (tilted(self.best), tilted(self.other));
        let step = self.trial(tilted(point));
        self.narrow(tilted(point));
        (self.best, self.other) = (upright(self.best), upright(self.other));
        step
    }

    /// The next trial step within the bounds of the new interval.
    fn settle(&mut self, step: f64, still_falling: bool, last: f64) -> Next {
        let mut step = step;
        let (best, other) = (self.best.step, self.other.step);
        if self.bracketed {
            let width = (other - best).abs();
            if width >= 0.66 * self.widths.1 {
                step = best + 0.5 * (other - best);
            }
            self.widths = (width, self.widths.0);
            self.bounds = (best.min(other), best.max(other));
        } else {
            self.bounds = (step + 1.1 * (step - best), step + 4.0 * (step - best));
        }
        step = step.clamp(0.0, self.limit);
        let (low, high) = self.bounds;
        if self.bracketed && (step <= low || step >= high || high - low <= 4.0 * f64::EPSILON * high) {
            return Next::GiveUp;
        }
        if step == last && (step == self.limit && still_falling || step == 0.0) {
            return Next::GiveUp;
        }
        Next::Try(step)
    }

    /// A step where the function is not finite: go back towards the best one.
    fn retreat(&mut self, step: f64) -> Next {
        self.limit = self.best.step + 0.5 * (step - self.best.step);
        let next = self.best.step + 0.1 * (step - self.best.step);
        if (next - self.best.step).abs() <= 1e-20 { Next::GiveUp } else { Next::Try(next) }
    }

    /// The trial step of the four cases of the paper's section 4.
    fn trial(&mut self, point: Point) -> f64 {
        let (best, other) = (self.best, self.other);
        let cubic = cubic_minimiser(best, point);
        let secant = point.step + point.slope / (point.slope - best.slope) * (best.step - point.step);
        if point.value > best.value {
            // The value rose: a minimum lies between.
            self.bracketed = true;
            let chord = (best.value - point.value) / (point.step - best.step);
            let parabola = best.step + best.slope / (chord + best.slope) / 2.0 * (point.step - best.step);
            if (cubic - best.step).abs() < (parabola - best.step).abs() { cubic } else { 0.5 * (cubic + parabola) }
        } else if point.slope * best.slope < 0.0 {
            // The slope changed its sign: again a minimum lies between.
            self.bracketed = true;
            if (cubic - point.step).abs() > (secant - point.step).abs() { cubic } else { secant }
        } else if point.slope.abs() < best.slope.abs() {
            // Falling more gently: go on, at most as far as the models say.
            let beyond = (cubic - point.step) * (point.step - best.step) > 0.0;
            let far = if point.step > best.step { self.bounds.1 } else { self.bounds.0 };
            let cubic = if beyond && cubic.is_finite() { cubic } else { far };
            let (near_cubic, near_secant) = ((cubic - point.step).abs(), (secant - point.step).abs());
            if self.bracketed {
                let step = if near_cubic < near_secant { cubic } else { secant };
                let most = point.step + 0.66 * (other.step - point.step);
                if point.step > best.step { step.min(most) } else { step.max(most) }
            } else {
                let step = if near_cubic > near_secant { cubic } else { secant };
                step.clamp(self.bounds.0.min(self.bounds.1), self.bounds.0.max(self.bounds.1))
            }
        } else if self.bracketed {
            cubic_minimiser(other, point)
        } else if point.step > best.step {
            self.bounds.1
        } else {
            self.bounds.0
        }
    }

    /// Keeps the part of the interval that holds a minimum; the better end is the best.
    fn narrow(&mut self, point: Point) {
        if point.value > self.best.value {
            self.other = point;
        } else {
            if point.slope * self.best.slope < 0.0 {
                self.other = self.best;
            }
            self.best = point;
        }
    }
}

/// The minimiser of the cubic with the values and slopes of two points; not finite when there is none.
fn cubic_minimiser(a: Point, b: Point) -> f64 {
    let theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
    let scale = theta.abs().max(a.slope.abs()).max(b.slope.abs());
    let root = scale * ((theta / scale).powi(2) - (a.slope / scale) * (b.slope / scale)).max(0.0).sqrt();
    let root = if b.step > a.step { root } else { -root };
    b.step - (b.step - a.step) * (b.slope + root - theta) / (b.slope - a.slope + 2.0 * root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(f: impl Fn(f64) -> (f64, f64), trial: f64, curvature: f64) -> (Next, Point, usize) {
        let (value, slope) = f(0.0);
        let conditions = Conditions { decrease: 1e-3, curvature, noise: 0.0 };
        let mut search = Search::new(value, slope, trial, conditions);
        let mut step = trial;
        for count in 1..100 {
            let (value, slope) = f(step);
            let point = Point { step, value, slope };
            match search.next(point) {
                Next::Try(next) => step = next,
                other => return (other, point, count),
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn the_paper_s_functions_are_searched_from_near_and_far() {
        // Functions 1 and 2 of Moré and Thuente, with their constants.
        let first = |t: f64| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2));
        let second = |t: f64| {
            let u = t + 0.004;
            (u.powi(5) - 2.0 * u.powi(4), 5.0 * u.powi(4) - 8.0 * u.powi(3))
        };
        for trial in [1e-3, 1e-1, 1e1, 1e3] {
            for f in [&first as &dyn Fn(f64) -> (f64, f64), &second] {
                let (next, point, count) = search(f, trial, 0.1);
                assert_eq!(next, Next::Accept);
                assert!(point.slope.abs() <= 0.1 * f(0.0).1.abs() && point.value <= f(0.0).0);
                assert!(count <= 15, "{count} evaluations from {trial}");
            }
        }
    }

    #[test]
    fn steps_out_of_the_function_s_domain_are_taken_back() {
        let barrier = |t: f64| ((-(1.0 - t).ln() - 3.0 * t), 1.0 / (1.0 - t) - 3.0);
        let (next, point, _) = search(barrier, 5.0, 0.1);
        assert_eq!(next, Next::Accept);
        assert!((point.step - 2.0 / 3.0).abs() < 0.1);
    }

    #[test]
    fn a_function_without_a_floor_is_given_up() {
        let (next, ..) = search(|t| (-t, -1.0), 1.0, 0.1);
        assert_eq!(next, Next::GiveUp);
    }
}
