//! Moore-Penrose pseudoinverse `P = A⁺`, from the SVD; it exists for every matrix.
//!
//! While the rank stays the same (Golub and Pereyra),
//! `P' = -P A' P + P Pᵀ A'ᵀ (I - A P) + (I - P A) A'ᵀ Pᵀ P`, and the adjoint is
//! `-Pᵀ G Pᵀ + (I - A P) Gᵀ P Pᵀ + Pᵀ P Gᵀ (I - P A)`. For full rank this is the derivative in every direction.

use super::kernel::{Job, Scalar, matrices};
use super::svd::{Factors, Vectors, decompose};
use super::tools::{identity_minus, mm, t};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, binary, one};
use crate::{Error, Result, Tensor};

/// Singular values up to `cutoff` times the largest count as zero.
#[derive(Clone, Copy)]
struct Pinv {
    cutoff: f64,
}

/// The reciprocals of the singular values that count, and their number.
pub(super) fn reciprocals<T: Scalar>(s: &[T], cutoff: f64) -> Vec<T> {
    let least = s.first().map_or(0.0, |s| s.to_f64()) * cutoff;
    let counted = s.iter().take_while(|s| s.to_f64() > least);
    counted.map(|s| T::from_f64(1.0 / s.to_f64())).collect()
}

impl Pinv {
    fn one<T: Scalar>(self, a: &[T], m: usize, n: usize, out: &mut [T]) -> Result<()> {
        let Factors { u, s, v } = decompose("pinv", a, (m, n), Vectors::Thin)?;
        let inverse = reciprocals(&s, self.cutoff);
        let (u, mut v) = (u.as_ref().subcols(0, inverse.len()), v);
        for (k, &factor) in inverse.iter().enumerate() {
            (0..n).for_each(|i| v[(i, k)] *= factor);
        }
        let target = faer::MatMut::from_row_major_slice_mut(out, n, m);
        let v = v.as_ref().subcols(0, inverse.len());
        faer::linalg::matmul::matmul(target, faer::Accum::Replace, v, u.transpose(), T::from_i64(1), faer::Par::Seq);
        Ok(())
    }
}

impl Op for Pinv {
    fn name(&self) -> &'static str {
        "pinv"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, m, n) = matrices("pinv", inputs[0])?;
        let job = Job { op: "pinv", inputs, item: &[n, m], work: 12 * m * n * m.min(n) };
        match_float!("pinv", inputs[0].dtype(), T => job.run::<T>(|a, out| self.one(a[0], m, n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(0).and_output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(da) = tangents[0] else { return Ok(None) };
        let (a, p) = (at.input(0), at.output());
        let (dat, pt) = (t(da)?, t(p)?);
        let inside = mm(&mm(p, da)?, p)?;
        let rows = mm(&mm(p, &mm(&pt, &dat)?)?, &identity_minus(&mm(a, p)?)?)?;
        let columns = mm(&identity_minus(&mm(p, a)?)?, &mm(&mm(&dat, &pt)?, p)?)?;
        binary::sub(&binary::add(&rows, &columns)?, &inside).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let (a, p) = (at.input(0), at.output());
        let (gt, pt) = (t(grad)?, t(p)?);
        let inside = mm(&mm(&pt, grad)?, &pt)?;
        let rows = mm(&identity_minus(&mm(a, p)?)?, &mm(&mm(&gt, p)?, &pt)?)?;
        let columns = mm(&mm(&pt, &mm(p, &gt)?)?, &identity_minus(&mm(p, a)?)?)?;
        one(binary::sub(&binary::add(&rows, &columns)?, &inside)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn attributes(&self) -> String {
        format!("rcond={}", self.cutoff)
    }
}

/// The relative cutoff below which singular values count as zero: the larger size times the element type's epsilon, as
/// numpy's `matrix_rank` and `lstsq` and PyTorch's `pinv` have it.
pub(super) fn cutoff(op: &'static str, a: &Tensor, rcond: Option<f64>) -> Result<f64> {
    let (_, m, n) = matrices(op, a)?;
    match rcond {
        None => Ok(m.max(n) as f64 * a.dtype().epsilon()),
        Some(rcond) if rcond >= 0.0 => Ok(rcond),
        Some(rcond) => Err(Error::parameter(op, "rcond", format!("is {rcond}; it must not be negative"))),
    }
}

/// The pseudoinverse, with singular values up to `rcond` times the largest taken as zero.
pub(crate) fn pinv(a: &Tensor, rcond: Option<f64>) -> Result<Tensor> {
    apply(Pinv { cutoff: cutoff("pinv", a, rcond)? }, &[a])
}
