//! Σⱼ cⱼ k(x, zⱼ) + b, differentiable by x.

use std::any::Any;

use tove_learn::kernel::{FittedKernelRidge, KernelFunction};
use tove_learn::svm::{FittedNuSvc, FittedNuSvr, FittedSvc, FittedSvr};
use tove_learn::{Model, Rows};
use tove_tensor::{Tensor, TryOps, TryUnary};

use super::{WHAT, cast};
use crate::{Result, TrustError};

/// One or several sums over the same points.
pub(super) struct KernelScores {
    kernel: KernelFunction,
    /// Zⱼ, moved by `center` for RBF kernels.
    points: Tensor,
    /// Their mean, which loses no digits of distances.
    center: Option<Tensor>,
    /// (points, sums).
    coefficients: Tensor,
    /// (sums).
    intercept: Tensor,
    /// Classes that vote by pairs; none for a single sum.
    voters: Option<usize>,
}

/// What is read from a model.
struct Parts<'a> {
    kernel: &'a KernelFunction,
    points: Tensor,
    coefficients: Tensor,
    intercept: Vec<f64>,
    voters: Option<usize>,
}

impl KernelScores {
    /// Reads a kernel machine; `None` for other models.
    pub(super) fn of(model: &dyn Model) -> Result<Option<KernelScores>> {
        let any: &dyn Any = model;
        let parts = if let Some(svc) = any.downcast_ref::<FittedSvc>() {
            let dual = svc.dual_coef()?;
            by_pairs(model, svc.kernel(), svc.support_vectors(), &dual, svc.intercept())?
        } else if let Some(svc) = any.downcast_ref::<FittedNuSvc>() {
            let dual = svc.dual_coef()?;
            by_pairs(model, svc.kernel(), svc.support_vectors(), &dual, svc.intercept())?
        } else if let Some(svr) = any.downcast_ref::<FittedSvr>() {
            single(svr.kernel(), svr.support_vectors(), svr.dual_coef(), svr.intercept())?
        } else if let Some(svr) = any.downcast_ref::<FittedNuSvr>() {
            single(svr.kernel(), svr.support_vectors(), svr.dual_coef(), svr.intercept())?
        } else if let Some(ridge) = any.downcast_ref::<FittedKernelRidge>() {
            let points = ridge.attributes().into_iter().find(|(name, _)| *name == "X_fit").map(|(_, points)| points);
            let Some(points) = points else { return Err(refused(ridge.kernel())) };
            single(ridge.kernel(), &Rows::Dense(points), &ridge.dual_coef()?, 0.0)?
        } else {
            return Ok(None);
        };
        KernelScores::new(parts).map(Some)
    }

    fn new(parts: Parts<'_>) -> Result<KernelScores> {
        let Parts { kernel, points, coefficients, intercept, voters } = parts;
        if matches!(kernel, KernelFunction::Precomputed { .. } | KernelFunction::Custom(_)) {
            return Err(refused(kernel));
        }
        let dtype = points.dtype();
        let center = match kernel {
            KernelFunction::Rbf { .. } if points.dims()[0] > 0 => Some(points.try_mean_axes(&[0], true)?),
            _ => None,
        };
        let points = match &center {
            Some(center) => points.try_sub(center)?,
            None => points,
        };
        let intercept = Tensor::from_slice(&intercept).to_dtype(dtype);
        let coefficients = coefficients.to_dtype(dtype);
        Ok(KernelScores { kernel: kernel.clone(), points, center, coefficients, intercept, voters })
    }

    /// Whether pairs of classes vote, so that the largest score does not decide exactly.
    pub(super) fn votes(&self) -> bool {
        self.voters.is_some()
    }

    /// The sums (n, sums).
    fn sums(&self, x: &Tensor) -> Result<Tensor> {
        let x = cast(x, self.points.dtype())?;
        let kernel = match self.kernel {
            KernelFunction::Rbf { gamma } => {
                let x = match &self.center {
                    Some(center) => x.try_sub(center)?,
                    None => x,
                };
                let own = x.try_square()?.try_sum_axes(&[1], true)?; // (n, 1)
                let other = self.points.try_square()?.try_sum_axes(&[1], false)?; // (points)
                let products = x.try_matmul(&self.points.try_t()?)? * 2.0;
                (own.try_add(&other)?.try_sub(&products)?.try_relu()? * -gamma).try_exp()?
            }
            KernelFunction::Poly { gamma, coef0, degree } => {
                (self.products(&x)? * gamma + coef0).try_powf(degree as f64)?
            }
            KernelFunction::Sigmoid { gamma, coef0 } => (self.products(&x)? * gamma + coef0).try_tanh()?,
            _ => self.products(&x)?,
        };
        Ok(kernel.try_matmul(&self.coefficients)?.try_add(&self.intercept)?)
    }

    fn products(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.try_matmul(&self.points.try_t()?)?)
    }

    /// The sums themselves, or the soft votes of pairs.
    pub(super) fn scores(&self, x: &Tensor) -> Result<Tensor> {
        let sums = self.sums(x)?;
        let Some(classes) = self.voters else { return Ok(sums) };
        let soft = sums.try_tanh()?;
        let mut sides = vec![0.0; soft.dims()[1] * classes];
        for (pair, (first, second)) in pairs(classes).into_iter().enumerate() {
            sides[pair * classes + first] = 1.0;
            sides[pair * classes + second] = -1.0;
        }
        let sides = Tensor::try_from_vec(sides, [soft.dims()[1], classes])?.to_dtype(soft.dtype());
        Ok(soft.try_matmul(&sides)?)
    }

    /// The class with the most votes, the first of several: what the model predicts.
    pub(super) fn decisions(&self, x: &Tensor) -> Result<Vec<usize>> {
        let sums = tove_tensor::no_grad(|| self.sums(&x.detach()))?.to_f64_vec();
        let Some(classes) = self.voters else { return Ok(sums.iter().map(|&z| usize::from(z > 0.0)).collect()) };
        let pairs = pairs(classes);
        let winner = |row: &[f64]| {
            let mut votes = vec![0; classes];
            row.iter().zip(&pairs).for_each(|(&z, &(a, b))| votes[if z >= 0.0 { a } else { b }] += 1);
            (1..classes).fold(0, |best, class| if votes[class] > votes[best] { class } else { best })
        };
        Ok(sums.chunks_exact(pairs.len()).map(winner).collect())
    }
}

/// All pairs of classes, in the order of scikit-learn.
fn pairs(classes: usize) -> Vec<(usize, usize)> {
    (0..classes).flat_map(|first| (first + 1..classes).map(move |second| (first, second))).collect()
}

/// A single sum.
fn single<'a>(kernel: &'a KernelFunction, points: &Rows, dual: &Tensor, intercept: f64) -> Result<Parts<'a>> {
    let points = points.to_dense()?;
    let sums = dual.numel() / points.dims()[0].max(1);
    let coefficients = dual.try_reshape([points.dims()[0], sums])?;
    Ok(Parts { kernel, points, coefficients, intercept: vec![intercept; sums], voters: None })
}

/// A sum for two classes, positive for the second; a sum per pair of more, positive for the first of the pair. `dual` has the
/// coefficients of each support vector against the other classes in ascending order.
fn by_pairs<'a>(
    model: &dyn Model,
    kernel: &'a KernelFunction,
    points: &Rows,
    dual: &Tensor,
    intercept: Vec<f64>,
) -> Result<Parts<'a>> {
    let classes = model.classes().len();
    if matches!(kernel, KernelFunction::Precomputed { .. } | KernelFunction::Custom(_)) {
        return Err(refused(kernel));
    }
    let points = points.to_dense()?;
    let vectors = points.dims()[0];
    if classes == 2 {
        let coefficients = dual.try_reshape([vectors, 1])?;
        return Ok(Parts { kernel, points, coefficients, intercept, voters: None });
    }
    let counts = model.attributes().into_iter().find(|(name, _)| *name == "n_support").map(|(_, counts)| counts);
    let counts = counts.map(|counts| counts.to_f64_vec()).unwrap_or_default();
    let own: Vec<usize> = counts.iter().enumerate().flat_map(|(class, &n)| vec![class; n as usize]).collect();
    let (dual, pairs) = (dual.to_f64_vec(), pairs(classes));
    let mut coefficients = vec![0.0; vectors * pairs.len()];
    for (vector, &class) in own.iter().enumerate() {
        for (pair, &(a, b)) in pairs.iter().enumerate().filter(|(_, (a, b))| class == *a || class == *b) {
            let line = if class == a { b - 1 } else { a };
            coefficients[vector * pairs.len() + pair] = dual[line * vectors + vector];
        }
    }
    let coefficients = Tensor::try_from_vec(coefficients, [vectors, pairs.len()])?;
    Ok(Parts { kernel, points, coefficients, intercept, voters: Some(classes) })
}

#[cold]
fn refused(kernel: &KernelFunction) -> TrustError {
    let fix = "fit with the kernel linear, poly, rbf or sigmoid, or use an attack that needs queries only";
    TrustError::unsupported(WHAT, format!("the kernel {kernel:?} has no derivative by the input"), fix)
}
