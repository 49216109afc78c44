//! L-BFGS (Liu and Nocedal 1989): d = −H g with an inverse Hessian approximated from the last `history` steps by the
//! two-loop recursion, then a step along d that fulfils the strong Wolfe conditions (Moré and Thuente 1994).
//!
//! For smooth functions of up to millions of variables whose value and gradient are exact, not sampled.
//!
//! [`LbfgsSettings::minimize`] is for any function on slices, [`LbfgsSettings::minimize_tensor`] differentiates a
//! function of a tensor, and [`Lbfgs`] is the optimiser for the parameters of a net. Work is in double precision; after
//! the start no memory is set aside.
//!
//! ```
//! use tove_optim::LbfgsSettings;
//! // Rosenbrock's valley: (1 - x)² + 100 (y - x²)².
//! let valley = |x: &[f64], gradient: &mut [f64]| {
//!     let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
//!     gradient[0] = -2.0 * a - 400.0 * x[0] * b;
//!     gradient[1] = 200.0 * b;
//!     a * a + 100.0 * b * b
//! };
//! let minimum = LbfgsSettings::default().minimize(valley, &[-1.2, 1.0])?;
//! assert!(minimum.converged() && (minimum.x[0] - 1.0).abs() < 1e-4);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

mod memory;
mod optimizer;
mod run;
mod vectors;
mod wolfe;

pub use optimizer::Lbfgs;

use tove_tensor::{DType, Error, Result, Tensor, value_and_grad};

use crate::settings::Hyperparameters;
use run::Run;

/// Settings of L-BFGS. Tolerances and history are SciPy's.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Lbfgs")]
pub struct LbfgsSettings {
    /// Number of steps that the approximate Hessian remembers.
    #[hyper(default = 10, range = "[1, inf)", alias = "history_size")]
    pub history: usize,
    /// Iterations at most.
    #[hyper(default = 15_000, alias = "max_iter")]
    pub max_iterations: usize,
    /// Evaluations of value and gradient at most.
    #[hyper(default = 15_000, range = "[1, inf)", alias = "max_eval")]
    pub max_evaluations: usize,
    /// Stop when no entry of the gradient is larger.
    #[hyper(default = 1e-5, range = "[0, inf)", alias = "tolerance_grad")]
    pub gradient_tolerance: f64,
    /// Stop when an iteration lowers the value by no more than this share of max(|f|, 1); 0 turns the rule off.
    #[hyper(default = 2.220446049250313e-9, range = "[0, inf)", alias = "tolerance_change")]
    pub value_tolerance: f64,
    /// c₁ of the Wolfe conditions: share of the slope's promise that a step must keep.
    #[hyper(default = 1e-3, range = "(0, 0.5)")]
    pub decrease: f64,
    /// c₂ of the Wolfe conditions: share of the slope that may be left.
    #[hyper(default = 0.9, range = "(0, 1)")]
    pub curvature: f64,
    /// The first step that a line search tries, in units of the direction.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "learning_rate", alias = "lr")]
    pub initial_step: f64,
    /// Evaluations at most in one line search.
    #[hyper(default = 20, range = "[1, inf)")]
    pub search_evaluations: usize,
}

/// Why a run of L-BFGS ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The gradient is as small as was asked for.
    GradientSmall,
    /// An iteration lowered the value by less than the tolerance.
    ValueStalled,
    /// The limit of iterations is reached.
    IterationLimit,
    /// The limit of evaluations is reached.
    EvaluationLimit,
    /// No step along the negative gradient lowers the value: the minimum to rounding, or a gradient that is wrong.
    NoProgress,
}

/// The result of a run of L-BFGS.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The best point.
    pub x: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// The gradient there.
    pub gradient: Vec<f64>,
    /// Largest entry of the gradient there.
    pub gradient_size: f64,
    /// Iterations made.
    pub iterations: usize,
    /// Evaluations of value and gradient made.
    pub evaluations: usize,
    /// Why the run ended.
    pub reason: StopReason,
}

impl Minimum {
    /// Whether a tolerance was met, rather than a limit.
    pub fn converged(&self) -> bool {
        matches!(self.reason, StopReason::GradientSmall | StopReason::ValueStalled)
    }
}

impl LbfgsSettings {
    /// Minimises a function that returns its value and writes its gradient.
    pub fn minimize(&self, f: impl FnMut(&[f64], &mut [f64]) -> f64, start: &[f64]) -> Result<Minimum> {
        let mut f = f;
        self.try_minimize(|x, gradient| Ok(f(x, gradient)), start)
    }

    /// As [`LbfgsSettings::minimize`], for a function that may fail; its first error ends the run.
    pub fn try_minimize(&self, f: impl FnMut(&[f64], &mut [f64]) -> Result<f64>, start: &[f64]) -> Result<Minimum> {
        self.validate()?;
        let mut f = f;
        let mut run = Run::new(start.to_vec(), self.history, f64::EPSILON);
        let reason = run.minimize(self, &mut f)?;
        let gradient_size = vectors::largest(&run.gradient);
        let Run { x, gradient, value, iterations, evaluations, .. } = run;
        Ok(Minimum { x, value, gradient, gradient_size, iterations, evaluations, reason })
    }

    /// Minimises a differentiable function of a tensor in double precision; its value has one element.
    ///
    /// ```
    /// use tove_optim::LbfgsSettings;
    /// use tove_tensor::Tensor;
    /// let target = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let distance = |x: &Tensor| (x - &target).square().sum();
    /// let (x, minimum) = LbfgsSettings::default().minimize_tensor(distance, &target.zeros_like())?;
    /// assert!(minimum.converged() && (x.at::<f64>(&[1, 0]) - 3.0).abs() < 1e-6);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    pub fn minimize_tensor(&self, f: impl Fn(&Tensor) -> Tensor, start: &Tensor) -> Result<(Tensor, Minimum)> {
        if start.dtype() != DType::F64 {
            return Err(Error::DType { op: "minimize_tensor", dtype: start.dtype(), expected: "f64 is needed" });
        }
        let shape = start.shape().clone();
        // Without this check a function with several outputs would fail inside the differentiation, where nothing can be returned.
        let first = f(&start.detach());
        if first.numel() != 1 {
            let problem = "the function to be minimised has not exactly one element; reduce it (`sum`, `mean`)";
            return Err(Error::Shape {
                op: "minimize_tensor",
                shape: Box::new(first.shape().clone()),
                problem: problem.into(),
            });
        }
        let both = value_and_grad(f);
        let evaluate = |x: &[f64], gradient: &mut [f64]| -> Result<f64> {
            let x = Tensor::from_slice(x).reshape(shape.clone());
            let (value, slope) = both(&x);
            gradient.copy_from_slice(slope.contiguous().as_slice::<f64>()?);
            value.try_item::<f64>()
        };
        let minimum = self.try_minimize(evaluate, &start.detach().try_to_vec::<f64>()?)?;
        Ok((Tensor::try_from_vec(minimum.x.clone(), start.shape().clone())?, minimum))
    }
}
