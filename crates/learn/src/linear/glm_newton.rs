//! Newton's method for generalized linear models.
//!
//! Each step solves (XᵀDX/Σs + αI) δ = −g with the second derivatives D of the samples: by Cholesky factorization up to
//! a few hundred columns, otherwise by conjugate gradients without forming the matrix. With non-canonical links the
//! exact Hessian may not be positive definite away from the optimum; then the expected Hessian is used (Fisher
//! scoring). Steps are halved until the objective decreases enough (Armijo) and every mean lies in the domain of the
//! distribution.

use tove_tensor::linalg::Triangle;
use tove_tensor::{DType, Tensor, TryLinalg, TryOps};

use super::glm::{Family, GlmSettings};
use crate::{LearnError, Result, Rows, Summary};

/// Largest number of columns for which the Hessian is formed as a matrix.
const MAX_DENSE_COLUMNS: usize = 500;

/// Inputs of a fit.
pub(super) struct Start<'a> {
    pub(super) who: &'static str,
    pub(super) family: Family,
    pub(super) settings: &'a GlmSettings,
    pub(super) y: &'a [f64],
    pub(super) weights: &'a [f64],
}

/// The objective at a point, with first and second derivatives of the samples, times their normalized weights.
struct Point {
    parameters: Vec<f64>, // d, plus the intercept if there is one
    value: f64,
    gradient: Vec<f64>,
    curvatures: Vec<f64>,
    /// Expected second derivatives.
    expected: Vec<f64>,
}

struct Problem<'a> {
    start: &'a Start<'a>,
    x: Rows,
    total: f64,
}

/// Returns coefficients, intercept, and convergence information.
pub(super) fn solve(start: &Start<'_>, x: &Rows) -> Result<(Vec<f64>, f64, Summary)> {
    let problem = Problem { start, x: x.to_dtype(DType::F64), total: start.weights.iter().sum() };
    let (d, settings) = (x.width(), start.settings);
    let mut parameters = vec![0.0; d];
    if settings.fit_intercept {
        let mean = start.y.iter().zip(start.weights).map(|(y, weight)| y * weight).sum::<f64>() / problem.total;
        parameters.push(start.family.link(mean));
    }
    let Some(mut point) = problem.at(parameters)? else {
        let fix = "give the targets in another unit";
        return Err(LearnError::data(start.who, "the objective is not finite at the mean of the targets", fix));
    };
    let (mut iterations, mut converged) = (0, size(&point.gradient) <= settings.tol);
    while !converged && iterations < settings.max_iter && !tove_optim::interrupted() {
        let direction = problem.direction(&point)?;
        iterations += 1;
        let Some(next) = problem.search(&point, &direction)? else {
            // No further progress is possible within rounding; the remaining gradient decides whether this is the
            // optimum.
            let scale = 1e-9 * (1.0 + point.value.abs());
            converged = size(&point.gradient) <= settings.tol.max(scale);
            break;
        };
        point = next;
        converged = size(&point.gradient) <= settings.tol;
    }
    let summary = Summary::iterative(start.who, iterations, converged, size(&point.gradient), point.value);
    let intercept = point.parameters.get(d).copied().unwrap_or(0.0);
    point.parameters.truncate(d);
    Ok((point.parameters, intercept, summary))
}

/// The largest absolute entry of a gradient.
fn size(gradient: &[f64]) -> f64 {
    gradient.iter().fold(0.0, |largest, slope| largest.max(slope.abs()))
}

impl Problem<'_> {
    fn width(&self) -> usize {
        self.x.width()
    }

    /// X v + v_b for parameters v.
    fn scores(&self, v: &[f64]) -> Result<Vec<f64>> {
        let d = self.width();
        let w = Tensor::from_slice(&v[..d]);
        let mut scores = match &self.x {
            Rows::Dense(x) => x.try_matmul(&w)?,
            Rows::Sparse(x) => x.dot(&w)?,
        }
        .to_f64_vec();
        if let Some(b) = v.get(d) {
            scores.iter_mut().for_each(|score| *score += b);
        }
        Ok(scores)
    }

    /// (Xᵀ r, Σ r) for one value r per sample; without the sum if there is no intercept.
    fn back(&self, r: &[f64]) -> Result<Vec<f64>> {
        let r_tensor = Tensor::from_slice(r);
        let mut sums = match &self.x {
            Rows::Dense(x) => r_tensor.try_matmul(x)?,
            Rows::Sparse(x) => x.transposed_dot(&r_tensor)?,
        }
        .to_f64_vec();
        if self.start.settings.fit_intercept {
            sums.push(r.iter().sum());
        }
        Ok(sums)
    }

    /// Evaluates the objective; `None` if a mean is outside the domain or a value overflows.
    fn at(&self, parameters: Vec<f64>) -> Result<Option<Point>> {
        let (d, alpha) = (self.width(), self.start.settings.alpha);
        let scores = self.scores(&parameters)?;
        let (mut value, mut slopes, mut curvatures, mut expected) = (0.0, Vec::new(), Vec::new(), Vec::new());
        for ((&y, &weight), &score) in self.start.y.iter().zip(self.start.weights).zip(&scores) {
            let normalized_weight = weight / self.total;
            let Some(terms) = self.start.family.terms(y, score) else { return Ok(None) };
            value += normalized_weight * terms.value;
            slopes.push(normalized_weight * terms.slope);
            curvatures.push(normalized_weight * terms.curvature);
            expected.push(normalized_weight * terms.expected);
        }
        let mut gradient = self.back(&slopes)?;
        gradient.iter_mut().zip(&parameters[..d]).for_each(|(slope, w)| *slope += alpha * w);
        value += 0.5 * alpha * parameters[..d].iter().map(|w| w * w).sum::<f64>();
        let finite = value.is_finite() && gradient.iter().all(|slope| slope.is_finite());
        Ok(finite.then_some(Point { parameters, value, gradient, curvatures, expected }))
    }

    /// The Newton step.
    fn direction(&self, point: &Point) -> Result<Vec<f64>> {
        if point.gradient.len() <= MAX_DENSE_COLUMNS {
            for curvatures in [&point.curvatures, &point.expected] {
                if let Some(direction) = self.by_cholesky(point, curvatures)? {
                    return Ok(direction);
                }
            }
        }
        self.by_conjugate_gradients(point)
    }

    /// Returns `None` if the matrix is not positive definite within rounding, as with dependent columns and no penalty.
    fn by_cholesky(&self, point: &Point, curvatures: &[f64]) -> Result<Option<Vec<f64>>> {
        let (d, p) = (self.width(), point.gradient.len());
        let mut matrix = self.gram(curvatures, p)?;
        (0..d).for_each(|j| matrix[j * p + j] += self.start.settings.alpha);
        let right = Tensor::try_from_vec(point.gradient.iter().map(|slope| -slope).collect(), [p, 1])?;
        // Scale columns to equal size, so that their units do not matter.
        let scales: Vec<f64> = (0..p).map(|j| matrix[j * p + j].max(f64::MIN_POSITIVE).sqrt()).collect();
        (0..p * p).for_each(|at| matrix[at] /= scales[at / p] * scales[at % p]);
        let scale = Tensor::try_from_vec(scales, [p, 1])?;
        let factor = match Tensor::try_from_vec(matrix, [p, p])?.try_cholesky() {
            Ok(factor) => factor,
            Err(error) if error.is_data() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let half = factor.try_triangular_solve(&right.try_div(&scale)?, Triangle::LOWER)?;
        let solution = factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.try_div(&scale)?.to_f64_vec();
        Ok(solution.iter().all(|step| step.is_finite()).then_some(solution))
    }

    /// XᵀDX (p, p), with a column of ones if there is an intercept.
    fn gram(&self, curvatures: &[f64], p: usize) -> Result<Vec<f64>> {
        let d = self.width();
        let mut matrix = vec![0.0; p * p];
        match &self.x {
            Rows::Dense(x) => {
                let scaled = x.try_mul(&Tensor::try_from_vec(curvatures.to_vec(), [curvatures.len(), 1])?)?;
                let gram = x.try_t()?.try_matmul(&scaled)?.to_f64_vec();
                (0..d).for_each(|j| matrix[j * p..j * p + d].copy_from_slice(&gram[j * d..(j + 1) * d]));
            }
            Rows::Sparse(x) => {
                let values = x.values().to_f64_vec();
                for (row, curvature) in curvatures.iter().enumerate() {
                    let range = x.indptr()[row]..x.indptr()[row + 1];
                    for a in range.clone() {
                        for b in range.clone() {
                            let index = x.indices()[a] as usize * p + x.indices()[b] as usize;
                            matrix[index] += curvature * values[a] * values[b];
                        }
                    }
                }
            }
        }
        if p > d {
            for (j, sum) in self.back(curvatures)?.into_iter().enumerate() {
                (matrix[j * p + d], matrix[d * p + j]) = (sum, sum);
            }
        }
        Ok(matrix)
    }

    /// Conjugate gradients on Hessian-vector products, until the residual is a small fraction of the gradient.
    fn by_conjugate_gradients(&self, point: &Point) -> Result<Vec<f64>> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut step = vec![0.0; point.gradient.len()];
        let mut residual: Vec<f64> = point.gradient.iter().map(|slope| -slope).collect();
        let mut along = residual.clone();
        let mut square = dot(&residual, &residual);
        let goal = square * 1e-12;
        for _ in 0..(2 * step.len()).max(50) {
            if square <= goal || tove_optim::interrupted() {
                break;
            }
            let image = self.hessian(point, &along)?;
            let bend = dot(&along, &image);
            if bend <= 0.0 || !bend.is_finite() {
                break;
            }
            let length = square / bend;
            step.iter_mut().zip(&along).for_each(|(step, along)| *step += length * along);
            residual.iter_mut().zip(&image).for_each(|(residual, image)| *residual -= length * image);
            let next = dot(&residual, &residual);
            along.iter_mut().zip(&residual).for_each(|(along, residual)| *along = residual + next / square * *along);
            square = next;
        }
        Ok(step)
    }

    fn hessian(&self, point: &Point, v: &[f64]) -> Result<Vec<f64>> {
        let mut scores = self.scores(v)?;
        scores.iter_mut().zip(&point.expected).for_each(|(score, curvature)| *score *= curvature);
        let mut image = self.back(&scores)?;
        let (d, alpha) = (self.width(), self.start.settings.alpha);
        image.iter_mut().zip(&v[..d]).for_each(|(image, v)| *image += alpha * v);
        Ok(image)
    }

    /// Backtracking line search; `None` if no step decreases the objective within rounding.
    fn search(&self, point: &Point, direction: &[f64]) -> Result<Option<Point>> {
        // Near the optimum rounding hides the decrease of the value, so the gradient decides.
        let rounding = 1e-13 * (1.0 + point.value.abs());
        let fall: f64 = point.gradient.iter().zip(direction).map(|(slope, step)| slope * step).sum();
        let mut length = 1.0;
        for _ in 0..60 {
            let parameters = point.parameters.iter().zip(direction).map(|(w, step)| w + length * step).collect();
            if let Some(next) = self.at(parameters)? {
                let lower = next.value < point.value && next.value <= point.value + 1e-4 * length * fall;
                let flatter =
                    (next.value - point.value).abs() <= rounding && size(&next.gradient) < size(&point.gradient);
                if lower || flatter {
                    return Ok(Some(next));
                }
            }
            length *= 0.5;
        }
        Ok(None)
    }
}
