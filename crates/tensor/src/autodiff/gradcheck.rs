//! The gradient checker: automatic derivatives, in both modes and to second order, against central differences.
//!
//! ```
//! use tove_tensor::{GradCheck, Tensor};
//! let f = |x: &[Tensor]| (&x[0] * &x[1]).sin();
//! let inputs = [Tensor::from([0.3, 1.2]), Tensor::from([2.0, -0.4])];
//! GradCheck::default().check(f, &inputs).unwrap();
//! ```

use std::fmt;

use super::functional::{jacfwd, jacrev};
use super::numeric::{Scheme, try_numerical_jacobian};
use super::{grad, jvp};
use crate::{DType, Error, Tensor};

/// How to check. The defaults suit f64 functions away from kinks.
#[derive(Clone, Copy, Debug)]
pub struct GradCheck {
    /// Step of the central difference; at least 1e-2 for f32 inputs.
    pub step: f64,
    /// Largest accepted norm-wise error, relative to the derivative, beyond what the difference itself is unsure of.
    pub tolerance: f64,
    /// 1 checks first derivatives, 2 also second ones, as derivatives of the gradient and of the directional derivative.
    pub order: u32,
}

/// Multiples of the step that are tried where the first one does not confirm a derivative: a larger step has a larger truncation
/// error, but less rounding.
const STEPS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// The part of a derivative that a difference quotient may be unsure of and still confirm it.
const UNSURE: f64 = 0.5;
/// Rounding errors allowed in one value of a function that is checked, in units of the last place.
const ROUNDINGS: f64 = 64.0;

impl Default for GradCheck {
    fn default() -> GradCheck {
        GradCheck { step: 1e-5, tolerance: 1e-6, order: 2 }
    }
}

/// Where automatic and numerical derivative disagree most.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// What was compared, such as `reverse mode, order 1`.
    pub what: String,
    /// Which input was varied.
    pub input: usize,
    /// Output position and input position of the worst entry.
    pub entry: (Vec<usize>, Vec<usize>),
    /// The automatic value there.
    pub automatic: f64,
    /// The numerical value there.
    pub numerical: f64,
    /// The norm-wise relative error.
    pub error: f64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (output, input) = &self.entry;
        write!(
            f,
            "{}: derivative of output {output:?} by entry {input:?} of input {}: automatic {}, numerical {} (error {:.1e})",
            self.what,
            self.input,
            short(self.automatic),
            short(self.numerical),
            self.error
        )
    }
}

impl std::error::Error for Mismatch {}

/// A number without hundreds of zeros.
fn short(x: f64) -> String {
    let plain = x == 0.0 || !x.is_finite() || (1e-4..1e16).contains(&x.abs());
    if plain { x.to_string() } else { format!("{x:e}") }
}

/// Why a check did not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckError {
    /// A derivative is wrong.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// No difference quotient is exact enough to confirm or refute the derivative: it is too small beside the function's values.
    #[error(
        "{0}; difference quotients are too inexact here to decide: subtract a constant from the function, or rescale it"
    )]
    Undecided(Box<Mismatch>),
    /// The check could not be carried out.
    #[error(transparent)]
    Error(#[from] Error),
}

impl GradCheck {
    /// Checks the derivatives of `f` with respect to every floating-point input. A derivative that is infinite or NaN is a
    /// mismatch, and so is a difference that is: nothing confirms them. Where rounding hides a derivative of a function with large
    /// values, larger steps are tried; if none is exact enough, the check is undecided, which is an error too. Derivatives that
    /// are zero to the rounding of the values over the largest step are accepted.
    pub fn check(&self, f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor]) -> std::result::Result<(), CheckError> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            let problem = format!("must be a number from 0 on, not {}", self.tolerance);
            return Err(Error::parameter("gradcheck", "tolerance", problem).into());
        }
        for (index, x) in inputs.iter().enumerate().filter(|(_, x)| x.dtype().is_float()) {
            let at = |moved: &Tensor| f(&with(inputs, index, moved));
            self.compare("reverse mode, order 1", index, x, &at, jacrev(at, x))?;
            self.compare("forward mode, order 1", index, x, &at, jacfwd(at, x))?;
            if self.order >= 2 {
                self.second(index, x, &at)?;
            }
        }
        Ok(())
    }

    /// Second derivatives along fixed directions, so that the cost stays that of a few Jacobians.
    fn second(&self, index: usize, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> std::result::Result<(), CheckError> {
        let y = f(&x.detach());
        let weights = direction(&y, 0.7);
        let along = direction(x, 1.3);
        let gradient = |x: &Tensor| grad(|x: &Tensor| (f(x) * &weights).sum())(x);
        let slope = |x: &Tensor| jvp(f, x, &along).1;
        self.compare("reverse over reverse", index, x, &gradient, jacrev(gradient, x))?;
        self.compare("forward over reverse", index, x, &gradient, jacfwd(gradient, x))?;
        self.compare("reverse over forward", index, x, &slope, jacrev(slope, x))?;
        self.compare("forward over forward", index, x, &slope, jacfwd(slope, x))
    }

    /// The step, no smaller than f32 can resolve.
    fn step_for(&self, x: &Tensor) -> f64 {
        if x.dtype() == DType::F32 { self.step.max(1e-2) } else { self.step }
    }

    /// How far the central difference itself may be off, in units of `unit`: its change when the step is doubled (which has
    /// four times the truncation error and other rounding), and the rounding of the function's values over the step.
    fn noise(
        &self,
        x: &Tensor,
        f: &dyn Fn(&Tensor) -> Tensor,
        step: f64,
        numerical: &[f64],
        unit: f64,
    ) -> crate::Result<f64> {
        let wider = try_numerical_jacobian(f, x, Scheme::Central, 2.0 * step)?.jacobian.to_f64_vec();
        let change = norm(wider.iter().zip(numerical).map(|(w, n)| bounded(*w, unit) - n / unit));
        Ok(2.0 * change + bounded(rounding(x, f), unit) / step * (numerical.len() as f64).sqrt())
    }

    /// The most exact of several difference quotients, with what it is unsure of in units of `unit`, and the size of the quotient
    /// over the largest step.
    fn best_quotient(
        &self,
        x: &Tensor,
        f: &dyn Fn(&Tensor) -> Tensor,
        first: &[f64],
        unit: f64,
    ) -> crate::Result<(Vec<f64>, f64, f64)> {
        let mut best = (first.to_vec(), f64::INFINITY);
        let mut coarse = 0.0;
        for step in STEPS.map(|multiple| multiple * self.step_for(x)).into_iter().filter(|&step| step <= LARGEST_STEP) {
            let numerical = try_numerical_jacobian(f, x, Scheme::Central, step)?.jacobian.to_f64_vec();
            if numerical.iter().all(|value| value.is_finite()) {
                let slack = self.noise(x, f, step, &numerical, unit)?;
                coarse = norm(numerical.iter().map(|v| v / unit));
                if slack < best.1 {
                    best = (numerical, slack);
                }
            }
        }
        Ok((best.0, best.1, coarse))
    }

    fn compare(
        &self,
        what: &str,
        index: usize,
        x: &Tensor,
        f: &dyn Fn(&Tensor) -> Tensor,
        automatic: Tensor,
    ) -> std::result::Result<(), CheckError> {
        let numerical = try_numerical_jacobian(f, x, Scheme::Central, self.step_for(x))?.jacobian;
        let outputs = numerical.rank() - x.rank();
        let (a, n) = (automatic.to_f64_vec(), numerical.to_f64_vec());
        if a.len() != n.len() {
            let problem = "automatic and numerical Jacobian differ in size";
            return Err(Error::shapes("gradcheck", automatic.shape(), numerical.shape(), problem).into());
        }
        // Everything is measured in units of the largest entry, so that no square overflows or vanishes.
        let unit = a.iter().chain(&n).fold(0.0, |largest: f64, v| largest.max(v.abs()));
        let finite = a.iter().chain(&n).all(|v| v.is_finite());
        let distance = norm(a.iter().zip(&n).map(|(a, n)| a / unit - n / unit));
        let scale = norm(n.iter().map(|v| v / unit)).max(norm(a.iter().map(|v| v / unit)));
        // Exact zeros agree. A derivative that is not finite agrees with nothing.
        if finite && (unit == 0.0 || distance <= self.tolerance * scale) {
            return Ok(());
        }
        // What a quotient itself is unsure of is looked up only where it matters.
        let (mut n, mut undecided) = (n, false);
        if finite {
            let (best, slack, coarse) = self.best_quotient(x, f, &n, unit)?;
            let distance = norm(a.iter().zip(&best).map(|(a, n)| a / unit - n / unit));
            let scale = norm(best.iter().map(|v| v / unit)).max(norm(a.iter().map(|v| v / unit)));
            let agrees = slack.is_finite() && distance <= self.tolerance * scale + slack;
            // A slope that vanishes at a point has a size near it.
            let certain = slack <= UNSURE * scale.max(coarse);
            let hidden = unit * scale * LARGEST_STEP <= HIDDEN * rounding(x, f) * (n.len() as f64).sqrt();
            if agrees && (certain || hidden) {
                return Ok(());
            }
            (n, undecided) = (best, agrees);
        }
        let gap = |i: usize| if a[i].is_finite() && n[i].is_finite() { (a[i] - n[i]).abs() } else { f64::INFINITY };
        let worst = (0..a.len()).rev().max_by(|&i, &j| gap(i).total_cmp(&gap(j))).unwrap_or(0);
        let position = unravel(worst, numerical.dims());
        let found = Box::new(Mismatch {
            what: what.to_string(),
            input: index,
            entry: (position[..outputs].to_vec(), position[outputs..].to_vec()),
            automatic: a[worst],
            numerical: n[worst],
            error: if finite { distance / scale } else { f64::INFINITY },
        });
        Err(if undecided { CheckError::Undecided(found) } else { CheckError::Mismatch(found) })
    }
}

/// The part of the rounding allowed in a value below which its change over the largest step counts as none.
const HIDDEN: f64 = 4.0 / ROUNDINGS;

/// The largest step of a difference quotient.
const LARGEST_STEP: f64 = 1e-2;

/// How far rounding may move a value of the function.
fn rounding(x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> f64 {
    let value = f(&x.detach());
    let last_place = if value.dtype() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    ROUNDINGS * last_place * value.to_f64_vec().into_iter().map(f64::abs).fold(0.0, f64::max)
}

/// `value` in units of `unit`, but no more than can be squared and summed: a finite value is a finite number of units, however
/// small they are.
fn bounded(value: f64, unit: f64) -> f64 {
    if value.is_finite() { (value / unit).clamp(-1e150, 1e150) } else { value }
}

/// The Euclidean norm.
fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

/// `inputs` with one of them exchanged.
fn with(inputs: &[Tensor], index: usize, x: &Tensor) -> Vec<Tensor> {
    let mut inputs = inputs.to_vec();
    inputs[index] = x.clone();
    inputs
}

/// A fixed direction without symmetry: irrational multiples, wrapped.
fn direction(like: &Tensor, phase: f64) -> Tensor {
    let values: Vec<f64> = (0..like.numel()).map(|i| (phase + i as f64 * 1.618_033_988).sin() + 0.1).collect();
    Tensor::from_vec(values, like.shape()).to_dtype(if like.dtype().is_float() { like.dtype() } else { DType::F64 })
}

/// The position of a row-major index.
fn unravel(mut index: usize, sizes: &[usize]) -> Vec<usize> {
    let mut position = vec![0; sizes.len()];
    for (slot, &size) in position.iter_mut().zip(sizes).rev() {
        *slot = index % size.max(1);
        index /= size.max(1);
    }
    position
}

/// Checks `f` at `inputs` with the default settings.
///
/// ```
/// use tove_tensor::{CustomOp, Tensor, gradcheck};
/// let wrong = CustomOp::new("sine", |x| x[0].sin()).with_backward(|x, _, g| vec![g * x[0].sin()]);
/// let report = gradcheck(|x: &[Tensor]| wrong.apply(&[&x[0]]), &[Tensor::from([0.3])]).unwrap_err();
/// assert!(report.to_string().contains("entry [0] of input 0"));
/// ```
pub fn gradcheck(f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor]) -> std::result::Result<(), CheckError> {
    GradCheck::default().check(f, inputs)
}
