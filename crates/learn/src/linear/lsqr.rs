//! LSQR (Paige and Saunders 1982): min ‖A w − y‖² + α ‖w‖² by Golub-Kahan bidiagonalization. It only needs products
//! with A and Aᵀ. In exact arithmetic the iterates equal those of conjugate gradients on the normal equations, but
//! rounding errors do not depend on the squared condition number. Starting from zero it converges to the minimum-norm
//! solution.

use super::moments::Data;
use super::operator::Operator;
use super::solve::Solution;
use crate::{Result, warn};

/// Stop at this relative norm of Aᵀr.
const TOLERANCE: f64 = 1e-12;

/// Solves for each output. Features are centered implicitly.
pub(super) fn lsqr(data: &Data, alpha: f64, centered: bool) -> Result<Solution> {
    data.check_finite()?;
    let (n, d, m) = (data.len(), data.width(), data.outputs);
    let operator = Operator::weighted(data, centered)?;
    let weights = data.weights_or_ones();
    let total = data.total_weight();
    let mut coefficients = vec![0.0; d * m];
    let mut intercepts = vec![0.0; m];
    for output in 0..m {
        let column: Vec<f64> = (0..n).map(|row| data.y[row * m + output]).collect();
        let mean = column.iter().zip(weights.iter()).map(|(y, w)| y * w).sum::<f64>() / total;
        let mean = if centered { mean } else { 0.0 };
        let right: Vec<f64> = column.iter().zip(weights.iter()).map(|(y, w)| (y - mean) * w.sqrt()).collect();
        let w = solve(&operator, right, alpha, d)?;
        intercepts[output] = mean - operator.mean().iter().zip(&w).map(|(mean, w)| mean * w).sum::<f64>();
        (0..d).for_each(|j| coefficients[j * m + output] = w[j]);
    }
    // The iterations do not compute the smallest singular value, so the condition number is unknown.
    Ok(Solution { coefficients, intercepts, rank: d.min(n), condition: f64::NAN, covariance: None })
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn scale(v: &mut [f64], factor: f64) {
    v.iter_mut().for_each(|v| *v *= factor);
}

/// v ← new − factor · v.
fn renew(v: &mut [f64], new: &[f64], factor: f64) {
    v.iter_mut().zip(new).for_each(|(v, new)| *v = new - factor * *v);
}

fn solve(operator: &Operator, right: Vec<f64>, alpha: f64, d: usize) -> Result<Vec<f64>> {
    let damp = alpha.sqrt();
    let mut w = vec![0.0; d];
    let mut u = right;
    let mut beta = norm(&u);
    if beta == 0.0 {
        return Ok(w);
    }
    scale(&mut u, beta.recip());
    let mut v = operator.transposed(&u)?;
    let mut length = norm(&v);
    if length == 0.0 {
        return Ok(w);
    }
    scale(&mut v, length.recip());
    let mut direction = v.clone();
    let (mut phi, mut rho) = (beta, length);
    let (mut frobenius, limit) = (0.0, 4 * d.max(500));
    for _ in 0..limit {
        let product = operator.times(&v)?;
        renew(&mut u, &product, length);
        beta = norm(&u);
        if beta > 0.0 {
            scale(&mut u, beta.recip());
        }
        frobenius += length * length + beta * beta + alpha;
        let product = operator.transposed(&u)?;
        renew(&mut v, &product, beta);
        length = norm(&v);
        if length > 0.0 {
            scale(&mut v, length.recip());
        }
        // Rotate away the damping first, then the lower diagonal.
        let damped = rho.hypot(damp);
        let (cosine, sine) = (rho / damped, damp / damped);
        let kept = cosine * phi;
        let lost = sine * phi;
        let rotated = damped.hypot(beta);
        let (c, s) = (damped / rotated, beta / rotated);
        let theta = s * length;
        rho = -c * length;
        let step = c * kept;
        phi = s * kept;
        w.iter_mut().zip(&direction).for_each(|(w, direction)| *w += step / rotated * direction);
        renew(&mut direction, &v, theta / rotated);
        let residual = phi.hypot(lost);
        if (phi * length * c).abs() <= TOLERANCE * frobenius.sqrt() * residual || beta == 0.0 || length == 0.0 {
            return Ok(w);
        }
    }
    warn(&format!("least squares by LSQR: not converged after {limit} iterations; scale the features, or raise alpha"));
    Ok(w)
}
