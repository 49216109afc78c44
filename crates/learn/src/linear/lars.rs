//! Least angle regression (Efron, Hastie, Johnstone, Tibshirani 2004), and the lasso along its path.
//!
//! All active features have the same absolute correlation C with the residual. The weights move so that C falls, until another
//! feature reaches it; on the lasso's path a feature whose weight reaches 0 leaves. The path is piecewise linear in C, so that it is
//! exact up to rounding.
//!
//! ```
//! use tove_learn::{Fit, linear::{Lars, LassoLars}};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[-1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), Tensor::from([-1.0, 0.0, -1.0]));
//! assert_eq!(Lars::default().n_nonzero_coefs(1).fit(&x, &y)?.active(), [1]);
//! assert!((LassoLars::default().alpha(0.01).fit(&x, &y)?.coef().at::<f64>(&[1]) + 0.955).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};

use super::centered::{Centred, dot};
use super::model::{Extras, FittedLinear};
use crate::{Algorithm, Capabilities, Fitted, LearnError, Result, Samples, Summary};

/// Least angle regression, as scikit-learn's `Lars`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Lars {
    /// Features that become active, at most.
    #[hyper(default = 500, range = "[1, inf)")]
    pub n_nonzero_coefs: usize,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// The lasso by least angle regression, as scikit-learn's `LassoLars`: minimizes ‖y − Xw‖²/(2n) + α‖w‖₁.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LassoLars {
    /// Strength of the penalty.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Steps of the path at most.
    #[hyper(default = 500, range = "[1, inf)")]
    pub max_iter: usize,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// The path that was followed.
#[derive(Clone, Debug, Fitted)]
pub struct LarsPath {
    #[fitted(shape = "knots")]
    alphas: Vec<f64>,
    #[fitted(shape = "active", empty)]
    active: Vec<i64>,
}

impl Extras for LarsPath {}

/// A fitted [`Lars`].
pub type FittedLars = FittedLinear<Lars, LarsPath>;
/// A fitted [`LassoLars`].
pub type FittedLassoLars = FittedLinear<LassoLars, LarsPath>;

impl<E: Algorithm<Fitted = FittedLinear<E, LarsPath>>> FittedLinear<E, LarsPath> {
    /// The penalties C/n where the path bends, descending.
    pub fn alphas(&self) -> &[f64] {
        &self.extras().alphas
    }

    /// The active features in the order in which they came.
    pub fn active(&self) -> &[i64] {
        &self.extras().active
    }
}

const CAPABILITIES: Capabilities = Capabilities { accuracy: 1e-6, ..Capabilities::REGRESSOR };

impl Algorithm for Lars {
    type Fitted = FittedLars;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLars> {
        let most = self.n_nonzero_coefs.min(samples.width());
        let walk = Walk { who: Self::NAME, lasso: false, alpha: 0.0, most, steps: usize::MAX };
        fit(self, &walk, self.fit_intercept, samples)
    }
}

impl Algorithm for LassoLars {
    type Fitted = FittedLassoLars;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLassoLars> {
        let (alpha, most) = (self.alpha, samples.width());
        let walk = Walk { who: Self::NAME, lasso: true, alpha, most, steps: self.max_iter };
        fit(self, &walk, self.fit_intercept, samples)
    }
}

fn fit<E: Algorithm<Fitted = FittedLinear<E, LarsPath>>>(
    estimator: &E,
    walk: &Walk,
    centre: bool,
    samples: &Samples,
) -> Result<FittedLinear<E, LarsPath>> {
    let data = Centred::of(walk.who, samples, centre)?;
    let (w, path, summary) = walk.go(&data)?;
    let intercept = data.intercept(&w);
    FittedLinear::single(estimator, samples, (w, intercept), summary, path)
}

/// How far the path is followed.
struct Walk {
    who: &'static str,
    /// Whether features whose weight reaches 0 leave.
    lasso: bool,
    alpha: f64,
    most: usize,
    steps: usize,
}

/// What ends a step.
enum Event {
    Joins(usize),
    Leaves(usize),
    End,
}

impl Walk {
    fn go(&self, data: &Centred) -> Result<(Vec<f64>, LarsPath, Summary)> {
        let (n, d) = (data.y.len() as f64, data.columns.len());
        let (mut w, mut active, mut barred): (Vec<f64>, Vec<usize>, Vec<usize>) = (vec![0.0; d], vec![], vec![]);
        let correlations = |w: &[f64]| -> Vec<f64> {
            let residual = data.residual(w);
            data.columns.iter().map(|column| dot(column, &residual)).collect()
        };
        let mut summary = Summary::exact();
        let mut c = correlations(&w);
        let first = (0..d).fold(0, |best, j| if c[j].abs() > c[best].abs() { j } else { best });
        let (mut level, goal) = (c[first].abs(), n * self.alpha);
        let (start, mut alphas) = (level, vec![level.max(goal) / n]);
        let mut event = if level > goal { Event::Joins(first) } else { Event::End };
        let mut left;
        while summary.iterations < self.steps && level > goal && level > 1e-13 * start {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: self.who });
            }
            match event {
                Event::End => break,
                Event::Leaves(j) => {
                    active.retain(|&other| other != j);
                    (w[j], left) = (0.0, Some(j));
                }
                Event::Joins(_) if active.len() >= self.most => break,
                Event::Joins(j) => {
                    active.push(j);
                    left = None;
                }
            }
            let signs: Vec<f64> = active.iter().map(|&j| c[j].signum()).collect();
            let Some(direction) = data.solve(&active, signs)? else {
                let Some(last) = active.pop() else { break };
                barred.push(last);
                summary.warn(format!("{}: feature {last} depends on those before it and is left out", self.who));
                event = self.next(data, &c, level, &active, &barred, &[], None).0;
                continue;
            };
            summary.iterations += 1;
            let found = self.bend(data, &c, (level, goal), (&active, &direction, &w), &barred, left);
            let step = found.1;
            active.iter().zip(&direction).for_each(|(&j, u)| w[j] += step * u);
            event = found.0;
            level -= step;
            if let Event::Leaves(j) = event {
                w[j] = 0.0;
            }
            c = correlations(&w);
            alphas.push(level.max(0.0) / n);
        }
        if self.lasso && level > goal.max(1e-13 * start) && summary.iterations >= self.steps {
            summary.converged = false;
            summary.warn(format!(
                "{}: ended at alpha {:.3e} after {} steps; raise `max_iter`",
                self.who,
                level / n,
                self.steps
            ));
        }
        let active = active.iter().map(|&j| j as i64).collect();
        Ok((w, LarsPath { alphas, active }, summary))
    }

    /// How far C falls until the path bends, and why it does.
    fn bend(
        &self,
        data: &Centred,
        c: &[f64],
        (level, goal): (f64, f64),
        (active, direction, w): (&[usize], &[f64], &[f64]),
        barred: &[usize],
        left: Option<usize>,
    ) -> (Event, f64) {
        let (mut event, mut step) = (Event::End, level - goal);
        let (next, joined) = self.next(data, c, level, active, barred, direction, left);
        if joined < step {
            (event, step) = (next, joined);
        }
        for (&j, u) in active.iter().zip(direction).filter(|_| self.lasso) {
            let zero = -w[j] / u;
            if zero > 0.0 && zero < step {
                (event, step) = (Event::Leaves(j), zero);
            }
        }
        (event, step)
    }

    /// The feature that reaches the correlation of the active ones first, and when.
    #[allow(clippy::too_many_arguments)] // the state of the path
    fn next(
        &self,
        data: &Centred,
        c: &[f64],
        level: f64,
        active: &[usize],
        barred: &[usize],
        direction: &[f64],
        left: Option<usize>,
    ) -> (Event, f64) {
        let mut moved = vec![0.0; data.y.len()];
        for (&j, u) in active.iter().zip(direction) {
            moved.iter_mut().zip(&data.columns[j]).for_each(|(sum, x)| *sum += u * x);
        }
        let (mut event, mut step) = (Event::End, f64::INFINITY);
        let free = |j: &usize| !active.contains(j) && !barred.contains(j);
        for j in (0..c.len()).filter(free) {
            let a = dot(&data.columns[j], &moved);
            let reached = [(level - c[j]) / (1.0 - a), (level + c[j]) / (1.0 + a)];
            // A feature that has just left is still where the active ones are; it may come back with the other sign.
            let stays = |side: usize| left == Some(j) && (c[j] > 0.0) == (side == 0);
            let reached =
                reached.into_iter().enumerate().filter(|&(side, reached)| reached.is_finite() && !stays(side));
            for (_, reached) in reached {
                let reached = if direction.is_empty() { level - c[j].abs() } else { reached };
                // Rounding may have carried a feature a little beyond the others.
                let reached = if reached < 0.0 && reached > -1e-12 * level { 0.0 } else { reached };
                if reached >= 0.0 && reached < step {
                    (event, step) = (Event::Joins(j), reached);
                }
            }
        }
        (event, step)
    }
}
