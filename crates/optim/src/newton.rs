//! Newton's method: w ← w − γ H⁻¹ ∇f, the minimiser of the local quadratic model f(w) + ∇fᵀd + ½ dᵀH d for γ = 1.
//!
//! It uses second derivatives, unlike gradient descent: one step solves a quadratic, and near a minimum with positive
//! definite Hessian the number of right digits doubles in each step. The model has a minimiser only if H is positive
//! definite. Where it is not, [`Damping`] decides: `Refuse` returns an error with the smallest eigenvalue,
//! `Levenberg` solves (H + τI) d = −∇f with τ grown until the matrix is safely positive definite, which turns the step
//! towards steepest descent. γ comes from backtracking by default, so that f never rises.
//!
//! ```
//! use tove_optim::Newton;
//! use tove_tensor::Tensor;
//! let f = |w: &Tensor| w.exp().sum() - w.sum() * 2.0; // minimum at ln 2
//! let run = Newton::default().minimise(&f, &Tensor::from([0.0, 3.0]))?;
//! assert!(run.iterations < 10);
//! assert!(run.minimiser()?.to_vec::<f64>().iter().all(|w| (w - 2f64.ln()).abs() < 1e-12));
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::linalg::Triangle;
use tove_tensor::{Result, Tensor, TryIndex, TryLinalg, TryOps};

use crate::descent::{Move, Rules, Run, unconstrained};
use crate::fault;
use crate::line_search::Armijo;
use crate::objective::Objective;

/// What to do where the Hessian is not positive definite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Damping {
    /// Return an error.
    Refuse,
    /// Add τI, beginning at this share of the largest entry on the diagonal and growing tenfold.
    Levenberg(f64),
}

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newton {
    /// What to do where the Hessian is not positive definite.
    pub damping: Damping,
    /// How γ is found; `None` takes γ = 1 always.
    pub line_search: Option<Armijo>,
    /// When to stop.
    pub rules: Rules,
}

impl Default for Newton {
    fn default() -> Newton {
        let rules = Rules { max_iterations: 100, gradient_tolerance: 1e-10, ..Rules::default() };
        Newton { damping: Damping::Levenberg(1e-8), line_search: Some(Armijo::default()), rules }
    }
}

/// A step of Newton's method.
#[derive(Clone, Debug)]
pub struct NewtonStep {
    /// d with (H + τI) d = −∇f, in the shape of the gradient.
    pub direction: Tensor,
    /// τ; 0 where none was needed.
    pub damping: f64,
    /// −∇fᵀd, the square of the Newton decrement; half of it is the decrease the model promises.
    pub decrement: f64,
}

impl Newton {
    /// Minimises f from `start`.
    pub fn minimise(&self, objective: &dyn Objective, start: &Tensor) -> Result<Run> {
        unconstrained(objective, start, &self.rules, &mut |state| {
            let hessian = state.objective.hessian(state.x)?;
            let NewtonStep { direction, decrement, .. } = newton_step(&hessian, state.gradient, self.damping)?;
            let full = || Ok(Move::To(fault::add_scaled(state.x, 1.0, &direction)?));
            let Some(search) = self.line_search else { return full() };
            // Below the resolution of f a search sees noise only; there the model itself is trusted.
            let resolution = 4.0 * state.x.dtype().epsilon() * state.value.abs().max(f64::MIN_POSITIVE);
            if decrement <= resolution {
                return if decrement > 0.0 { full() } else { Ok(Move::Stuck) };
            }
            let found = search.search(state.objective, state.x, state.value, state.gradient, &direction)?;
            Ok(found.map_or(Move::Stuck, |step| Move::To(step.x)))
        })
    }
}

/// Solves (H + τI) d = −∇f with τ = 0 if H (n, n) is positive definite, as `damping` says otherwise. This is also the step
/// of iteratively reweighted least squares, with H = XᵀSX.
///
/// ```
/// use tove_optim::{Damping, newton_step};
/// use tove_tensor::Tensor;
/// let (h, g) = (Tensor::from([[2.0, 0.0], [0.0, 0.0]]), Tensor::from([4.0, 0.0]));
/// let error = newton_step(&h, &g, Damping::Refuse).unwrap_err();
/// assert!(error.is_data() && error.to_string().contains("eigenvalue"));
/// assert!(newton_step(&h, &g, Damping::Levenberg(1e-8))?.damping > 0.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn newton_step(hessian: &Tensor, gradient: &Tensor, damping: Damping) -> Result<NewtonStep> {
    let n = gradient.numel();
    if hessian.dims() != [n, n] {
        return Err(fault::shapes(
            "newton",
            hessian,
            gradient,
            "the Hessian needs a row and a column per number of the gradient",
        ));
    }
    if !fault::all_finite(hessian) || !fault::all_finite(gradient) {
        return Err(fault::data("newton", "gradient or Hessian are not finite; start elsewhere or take smaller steps"));
    }
    let right = (-&gradient.detach()).try_reshape([n])?;
    let mut tau = 0.0;
    let factor = loop {
        if let Some(factor) = safe_cholesky(&damped(hessian, tau)?) {
            break factor;
        }
        tau = match damping {
            Damping::Refuse => return Err(refused(hessian)?),
            Damping::Levenberg(share) if tau == 0.0 => {
                fault::positive("newton", "damping", share)?;
                share * diagonal(hessian)?.iter().fold(0.0f64, |most, h| most.max(h.abs())).max(1e-8)
            }
            Damping::Levenberg(_) => tau * 10.0,
        };
        if !tau.is_finite() {
            return Err(refused(hessian)?);
        }
    };
    let half = factor.try_triangular_solve(&right, Triangle::LOWER)?;
    let direction = factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?;
    let decrement = fault::dot(&right, &direction)?;
    Ok(NewtonStep { direction: direction.try_reshape(gradient.shape().clone())?, damping: tau, decrement })
}

/// H + τI.
fn damped(hessian: &Tensor, tau: f64) -> Result<Tensor> {
    if tau == 0.0 {
        return Ok(hessian.detach());
    }
    fault::add_scaled(&hessian.detach(), tau, &Tensor::eye(hessian.dims()[0], hessian.dtype()))
}

/// The factor of a matrix that is positive definite beyond rounding.
fn safe_cholesky(matrix: &Tensor) -> Option<Tensor> {
    let factor = matrix.try_cholesky().ok()?;
    let pivots: Vec<f64> = diagonal(&factor).ok()?.iter().map(|l| l * l).collect();
    let most = pivots.iter().fold(0.0f64, |most, &p| most.max(p));
    let least = most * matrix.dtype().epsilon() * matrix.dims()[0] as f64;
    pivots.iter().all(|&p| p > least).then_some(factor)
}

fn refused(hessian: &Tensor) -> Result<tove_tensor::Error> {
    let least = hessian.try_eigvalsh()?.to_f64_vec().first().copied().unwrap_or(0.0);
    let problem = format!(
        "the Hessian is not positive definite (smallest eigenvalue {least:e}), so the quadratic model has no minimiser; \
         use Damping::Levenberg, add an l2 penalty, or remove dependent columns"
    );
    Ok(fault::data("newton", problem))
}

/// The numbers on the diagonal.
fn diagonal(matrix: &Tensor) -> Result<Vec<f64>> {
    Ok(matrix.try_diagonal(0)?.to_f64_vec())
}
