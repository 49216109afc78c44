//! Inverse `Y = A⁻¹`: `Y' = -Y A' Y`, and the adjoint is `-Yᵀ G Yᵀ`.

use super::kernel::{Job, Scalar, columns, finite, square, store};
use super::lu::Lu;
use super::tools::{mm, t};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, one, unary};
use crate::{Result, Tensor};

#[derive(Clone, Copy)]
struct Inverse;

/// The inverse of one matrix.
pub(super) fn invert<T: Scalar>(op: &'static str, a: &[T], n: usize, out: &mut [T]) -> Result<()> {
    finite(op, a)?;
    let lu = Lu::new(columns(a, n, n)).regular(op)?;
    let entry = |i, j| T::from_i64(i64::from(i == j));
    store(lu.solve(n, entry).as_ref(), out);
    Ok(())
}

impl Op for Inverse {
    fn name(&self) -> &'static str {
        "inverse"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("inverse", inputs[0])?;
        let job = Job { op: "inverse", inputs, item: &[n, n], work: 2 * n * n * n };
        match_float!("inverse", inputs[0].dtype(), T => job.run::<T>(|a, out| invert("inverse", a[0], n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let (Some(da), y) = (tangents[0], at.output()) else { return Ok(None) };
        unary::neg(&mm(&mm(y, da)?, y)?).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let yt = t(at.output())?;
        one(unary::neg(&mm(&mm(&yt, grad)?, &yt)?)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        2 * output.numel() as u64 * output.dims()[output.rank() - 1] as u64
    }
}

/// The inverse of square matrices.
pub(crate) fn inverse(a: &Tensor) -> Result<Tensor> {
    square("inverse", a)?;
    apply(Inverse, &[a])
}
