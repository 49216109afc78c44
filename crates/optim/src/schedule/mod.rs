//! Step sizes that change with time: a [`Schedule`] is a plain value that maps the number of steps taken so far to a
//! factor of the base step size.
//!
//! Gradient descent on samples settles at a noise floor while the steps stay constant; with Σ ηₜ = ∞ and Σ ηₜ² < ∞
//! (Robbins and Monro 1951), as for ηₜ = η₀ / (1 + t / d), it converges.
//!
//! ```
//! use tove_optim::settings::SettingError;
//! use tove_optim::{Adam, Optimizer, Schedule};
//! let schedule = Schedule::cosine(90).after_warm_up(10);
//! let mut adam = Adam::new(0.0);
//! let rates: Vec<f64> = [0, 5, 10, 55, 100].iter().map(|&step| {
//!     schedule.apply(&mut adam, 0.1, step)?;
//!     Ok(adam.learning_rate())
//! }).collect::<Result<_, SettingError>>()?;
//! let expected = [0.0, 0.05, 0.1, 0.05, 0.0];
//! assert!(rates.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-12));
//! # Ok::<(), SettingError>(())
//! ```

mod check;
mod plateau;

pub use plateau::{ReduceOnPlateau, ReduceOnPlateauSettings};

use std::f64::consts::PI;

use crate::optimizer::Optimizer;
use crate::settings::SettingError;

/// A factor of the base step size for every step, counted from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// 1 always.
    Constant,
    /// `factor` to the number of times that `every` steps have passed.
    Step {
        /// Steps between two changes, at least 1.
        every: u64,
        /// What each change multiplies by, in (0, 1\].
        factor: f64,
    },
    /// `factor` to the number of steps.
    Exponential {
        /// What each step multiplies by: below 1 to settle down, above 1 to search for the largest step size that works.
        factor: f64,
    },
    /// 1 / (1 + t / delay).
    Reciprocal {
        /// Steps until the factor is 1/2, more than 0.
        delay: f64,
    },
    /// floor + (1 − floor) (1 + cos(π t / steps)) / 2, then the floor (Loshchilov and Hutter 2017).
    Cosine {
        /// Steps until the floor, at least 1.
        steps: u64,
        /// The last factor, in \[0, 1\].
        floor: f64,
    },
    /// In a straight line from `start` to 1, then another schedule that counts from there.
    WarmUp {
        /// Steps until 1; 0 means that there is no rise.
        steps: u64,
        /// The first factor, in \[0, 1\].
        start: f64,
        /// What follows.
        then: Box<Schedule>,
    },
    /// Along half cosines from `start` up to 1 and down to `end` (Smith and Topin 2018).
    OneCycle {
        /// Steps in all, at least 1.
        steps: u64,
        /// Share of the steps that rise, in \[0, 1\].
        rise: f64,
        /// The first factor, in (0, 1\].
        start: f64,
        /// The last factor, in \[0, 1\] and not above the first.
        end: f64,
    },
}

impl Schedule {
    /// A cosine from 1 to 0 in this number of steps.
    pub fn cosine(steps: u64) -> Schedule {
        Schedule::Cosine { steps, floor: 0.0 }
    }

    /// One cycle with PyTorch's defaults: up from 1/25 in three tenths of the steps, down to a ten-thousandth of the start.
    pub fn one_cycle(steps: u64) -> Schedule {
        Schedule::OneCycle { steps, rise: 0.3, start: 1.0 / 25.0, end: 1.0 / 25.0 / 1e4 }
    }

    /// This schedule after a rise in a straight line from 0 to 1.
    #[must_use]
    pub fn after_warm_up(self, steps: u64) -> Schedule {
        Schedule::WarmUp { steps, start: 0.0, then: Box::new(self) }
    }

    /// The factor at this step, counted from 0. Of a schedule that [`Schedule::validate`] refuses it may be anything.
    ///
    /// ```
    /// use tove_optim::Schedule;
    /// let schedule = Schedule::Step { every: 10, factor: 0.5 };
    /// assert_eq!((schedule.factor(9), schedule.factor(10), schedule.factor(25)), (1.0, 0.5, 0.25));
    /// assert_eq!(Schedule::Reciprocal { delay: 4.0 }.factor(4), 0.5);
    /// ```
    pub fn factor(&self, step: u64) -> f64 {
        let t = step as f64;
        match *self {
            Schedule::Constant => 1.0,
            Schedule::Step { every, factor } => factor.powf((step / every.max(1)) as f64),
            Schedule::Exponential { factor } => factor.powf(t),
            Schedule::Reciprocal { delay } => 1.0 / (1.0 + t / delay),
            Schedule::Cosine { steps, floor } => half_cosine(1.0, floor, ratio(t, steps as f64)),
            Schedule::WarmUp { steps, ref then, .. } if step >= steps => then.factor(step - steps),
            Schedule::WarmUp { steps, start, .. } => start + (1.0 - start) * ratio(t, steps as f64),
            Schedule::OneCycle { steps, rise, start, end } => {
                let (top, last) = (rise * steps as f64 - 1.0, steps as f64 - 1.0);
                if t <= top {
                    half_cosine(start, 1.0, ratio(t, top))
                } else {
                    half_cosine(1.0, end, ratio(t - top, last - top))
                }
            }
        }
    }

    /// Gives the optimiser the base step size times the factor at this step; call it before the step.
    ///
    /// # Errors
    /// If [`Schedule::validate`] refuses the schedule; the optimiser keeps its step size.
    pub fn apply(&self, optimizer: &mut dyn Optimizer, base: f64, step: u64) -> Result<(), SettingError> {
        self.validate()?;
        optimizer.set_learning_rate(base * self.factor(step));
        Ok(())
    }
}

/// t / steps between 0 and 1; 1 when there are no steps.
fn ratio(t: f64, steps: f64) -> f64 {
    if steps > 0.0 { (t / steps).clamp(0.0, 1.0) } else { 1.0 }
}

fn half_cosine(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) * (1.0 + (PI * share).cos()) / 2.0
}
