//! Scores z = W x + b of a linear classifier, and the labels and probabilities derived from them.
//!
//! Two classes have one score; class 1 is predicted if it is positive, so a tie goes to class 0. More classes have one
//! score each; the largest wins, and ties go to the first.

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Element, Tensor, TryOps};

use super::kernels::{Block, Layout, Wide};
use crate::{Fitted, LearnError, Real, Record, Result, Rows, with_real};

/// Rows per task.
const ROWS: usize = 512;

/// Weights and intercepts of a linear classifier.
#[derive(Clone, Debug, Fitted)]
pub(crate) struct Linear {
    /// k = 1 for two classes.
    #[fitted(shape = "scores, features")]
    pub(crate) coef: Tensor,
    #[fitted(shape = "scores")]
    pub(crate) intercept: Tensor,
}

impl Linear {
    /// Creates weights and intercepts from parameters (k, p) in double precision; the intercept is last if p = d + 1.
    pub(crate) fn from_parameters(parameters: &[f64], d: usize, classes: usize, dtype: DType) -> Result<Linear> {
        let k = outputs(classes);
        let p = parameters.len() / k;
        let coef: Vec<f64> = parameters.chunks(p).flat_map(|row| row[..d].iter().copied()).collect();
        let intercept: Vec<f64> = parameters.chunks(p).map(|row| row.get(d).copied().unwrap_or(0.0)).collect();
        Ok(Linear {
            coef: Tensor::try_from_vec(coef, [k, d])?.to_dtype(dtype),
            intercept: Tensor::try_from_vec(intercept, [k])?.to_dtype(dtype),
        })
    }

    /// Creates weights and intercepts from the weights of each output; the last weight belongs to a constant feature of
    /// this value.
    pub(crate) fn with_constant(outputs: &[Vec<f64>], constant: f64, dtype: DType) -> Result<Linear> {
        let d = outputs.first().map_or(0, |w| w.len() - 1);
        let coef: Vec<f64> = outputs.iter().flat_map(|w| w[..d].iter().copied()).collect();
        let intercept: Vec<f64> = outputs.iter().map(|w| w[d] * constant).collect();
        let coef = Tensor::try_from_vec(coef, [outputs.len(), d])?.to_dtype(dtype);
        Ok(Linear { coef, intercept: Tensor::from_slice(&intercept).to_dtype(dtype) })
    }

    /// Computes W x + b (n, k) for rows (n, d) by a matrix product.
    pub(crate) fn at(&self, x: &Rows) -> Result<Tensor> {
        let transposed = self.coef.try_swap_axes(0, 1)?;
        let products = match x {
            Rows::Dense(x) => x.try_matmul(&transposed)?,
            Rows::Sparse(x) => x.dot(&transposed.try_contiguous()?)?,
        };
        Ok(products.try_add(&self.intercept)?)
    }

    pub(crate) fn width(&self) -> usize {
        self.coef.dims()[1]
    }

    pub(crate) fn dtype(&self) -> DType {
        self.coef.dtype()
    }

    pub(crate) fn outputs(&self) -> usize {
        self.coef.dims()[0]
    }

    /// Scores (n, k), row-major.
    fn scores<T: Float + Element>(&self, rows: &Rows) -> Result<Vec<T>> {
        let (k, d) = (self.outputs(), self.width());
        let (w, bias) = (self.coef.as_slice::<T>()?, self.intercept.as_slice::<T>()?);
        match rows {
            Rows::Dense(x) => {
                let x = x.as_slice::<T>()?;
                let mut z = vec![T::ZERO; rows.len() * k];
                if rows.len() <= ROWS {
                    dispatch(Scores { block: Block { x, d, w, bias }, z: &mut z });
                    return Ok(z);
                }
                let parts: Vec<Mutex<&mut [T]>> = z.chunks_mut(ROWS * k).map(Mutex::new).collect();
                parallel_for(parts.len(), &|task| {
                    let mut z = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                    let x = &x[task * ROWS * d..][..z.len() / k * d];
                    dispatch(Scores { block: Block { x, d, w, bias }, z: &mut z });
                });
                drop(parts);
                Ok(z)
            }
            Rows::Sparse(x) => {
                let mut z = x.dot(&self.coef.t())?.into_vec::<T>()?;
                z.chunks_mut(k).for_each(|z| z.iter_mut().zip(bias).for_each(|(z, &bias)| *z += bias));
                Ok(z)
            }
        }
    }

    /// Predicts the labels of the rows.
    pub(crate) fn predict(&self, rows: &Rows, classes: &[i64]) -> Result<Tensor> {
        with_real!(self.dtype(), T => {
            decided(&self.scores::<T>(rows)?, self.outputs(), classes)
        })
    }

    /// That there is a score for each class.
    pub(crate) fn require_classes(&self, record: &Record, classes: &[i64]) -> Result<()> {
        if classes.len() > 1 && self.outputs() == outputs(classes.len()) {
            return Ok(());
        }
        Err(record.wrong("classes", "a list of at least two classes with a score for each"))
    }

    /// Scores (n), or (n, m) for more than two classes.
    pub(crate) fn decision(&self, rows: &Rows) -> Result<Tensor> {
        with_real!(self.dtype(), T => {
            shaped(self.scores::<T>(rows)?, self.outputs())
        })
    }

    /// Computes probabilities (n, m); those of several scores are divided by their sum.
    pub(crate) fn probabilities(&self, rows: &Rows, rule: Soft) -> Result<Tensor> {
        with_real!(self.dtype(), T => {
            rule.of(&self.scores::<T>(rows)?, self.outputs())
        })
    }
}

/// The labels that belong to k scores per row.
pub(crate) fn decided<T: Real>(z: &[T], k: usize, classes: &[i64]) -> Result<Tensor> {
    let label = |(row, z): (usize, &[T])| decide(z).map(|code| classes[code]).ok_or_else(|| undecided("predict", row));
    let labels: Result<Vec<i64>> = z.chunks(k).enumerate().map(label).collect();
    Ok(Tensor::from_slice(&labels?))
}

/// Scores (n) of two classes, (n, k) of more.
pub(crate) fn shaped<T: Element>(z: Vec<T>, k: usize) -> Result<Tensor> {
    let n = z.len() / k;
    Ok(if k == 1 { Tensor::try_from_vec(z, [n])? } else { Tensor::try_from_vec(z, [n, k])? })
}

/// Number of scores for this many classes.
pub(crate) fn outputs(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// The map from scores to probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soft {
    /// softmax, or σ for two classes.
    Softmax,
    /// σ(z) of each class.
    Sigmoid,
    /// (clip(z, −1, 1) + 1) / 2 of each class.
    Clipped,
}

impl Soft {
    /// Probabilities (n, m) from k scores per row.
    pub(crate) fn of<T: Float + Element>(self, z: &[T], k: usize) -> Result<Tensor> {
        let m = k.max(2);
        let mut p = vec![T::ZERO; z.len() / k * m];
        z.chunks(k).zip(p.chunks_mut(m)).for_each(|(z, p)| self.fill(z, p));
        Ok(Tensor::try_from_vec(p, [z.len() / k, m])?)
    }

    fn fill<T: Float>(self, z: &[T], p: &mut [T]) {
        let single = |z: T| match self {
            Soft::Clipped => (z.maximum(-T::ONE).minimum(T::ONE) + T::ONE) * T::HALF,
            _ => z.sigmoid(),
        };
        if let [z] = z {
            // σ is evaluated for both classes, so that the smaller probability keeps its accuracy.
            (p[1], p[0]) = match self {
                Soft::Clipped => (single(*z), T::ONE - single(*z)),
                _ => (single(*z), single(-*z)),
            };
            settle(p, usize::from(*z > T::ZERO));
            return;
        }
        match self {
            Soft::Softmax => {
                let max = z.iter().fold(T::NEG_INFINITY, |max, &z| if z > max { z } else { max });
                p.iter_mut().zip(z).for_each(|(p, &z)| *p = (z - max).exp());
            }
            _ => p.iter_mut().zip(z).for_each(|(p, &z)| *p = single(z)),
        }
        let sum: T = p.iter().copied().sum();
        // No class has a positive probability: use equal probabilities.
        let even = T::narrow(1.0 / p.len() as f64);
        p.iter_mut().for_each(|p| *p = if sum > T::ZERO { *p / sum } else { even });
        settle(p, first_largest(z));
    }
}

/// The index of the largest value; ties go to the first.
pub(crate) fn first_largest<T: PartialOrd>(values: &[T]) -> usize {
    (1..values.len()).fold(0, |best, index| if values[index] > values[best] { index } else { best })
}

/// The class decided by the scores. For two classes, which have one score, the second if it is positive; otherwise the
/// class of the largest score, with ties going to the first. `None` if a score is not finite.
pub(crate) fn decide<T: Real>(scores: &[T]) -> Option<usize> {
    let finite = scores.iter().all(|score| score.is_finite());
    finite.then(|| match scores {
        [score] => usize::from(*score > T::ZERO),
        scores => first_largest(scores),
    })
}

/// Makes the probability of the decided class the (first) largest one. Scores that differ by less than rounding, or
/// that are both saturated, have equal probabilities; that of the decided class is raised by one unit in the last
/// place.
pub(crate) fn settle<T: Float>(p: &mut [T], decided: usize) {
    let largest = first_largest(p);
    if largest != decided {
        let epsilon = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        p[decided] = p[largest] * T::narrow(1.0 + epsilon);
    }
}

/// Like [`settle`], but only for probabilities that contradict the decision within rounding. If each class has its own
/// calibration, the order of the probabilities may really differ from that of the scores.
pub(crate) fn settle_ties<T: Float>(p: &mut [T], decided: usize) {
    let largest = first_largest(p);
    if p[largest].wide() - p[decided].wide() <= 1e-6 * p[largest].wide() {
        settle(p, decided);
    }
}

/// Creates an error for a row with non-finite scores.
#[cold]
pub(crate) fn undecided(who: &'static str, row: usize) -> LearnError {
    crate::model::overflow(who, &format!("a score of row {row} is not finite"))
}

struct Scores<'a, T> {
    block: Block<'a, T>,
    z: &'a mut [T],
}

impl<T: Float> Kernel for Scores<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let at = Layout { row: self.block.bias.len(), output: 1 };
        if size_of::<T>() == 4 { self.block.scores::<8>(self.z, at) } else { self.block.scores::<4>(self.z, at) }
    }
}
