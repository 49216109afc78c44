//! Cholesky factor: `A = L Lᵀ` with `L` lower triangular and a positive diagonal.
//!
//! With Φ(X) the lower triangle of X, its diagonal halved: `L' = L Φ(L⁻¹ A' L⁻ᵀ)`, and the adjoint is
//! `L⁻ᵀ Φ(Lᵀ G) L⁻¹`. Both take A as symmetric; the public function sees to it by taking the symmetric part.

use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};

use super::kernel::{Job, Scalar, columns, finite, square, store};
use super::tools::{lower_mask, mm, symmetric_part, t};
use super::triangular::{Triangle, triangular_solve};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, binary, one};
use crate::{Error, Result, Tensor};

#[derive(Clone, Copy)]
struct Cholesky;

fn factor<T: Scalar>(a: &[T], n: usize, out: &mut [T]) -> Result<()> {
    finite("cholesky", a)?;
    let mut l = columns(a, n, n);
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<T>(n, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    cholesky_in_place(l.as_mut(), Default::default(), Par::Seq, stack, Default::default()).map_err(
        |LltError::NonPositivePivot { index }| {
            let problem = format!(
                "the matrix is not positive definite: pivot {index} is not positive; add a multiple of the identity, or use `eigh`"
            );
            Error::data("cholesky", problem)
        },
    )?;
    store(l.as_ref(), out);
    for i in 0..n {
        out[i * n + i + 1..(i + 1) * n].fill(T::default());
    }
    Ok(())
}

impl Op for Cholesky {
    fn name(&self) -> &'static str {
        "cholesky"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (_, n) = square("cholesky", inputs[0])?;
        let job = Job { op: "cholesky", inputs, item: &[n, n], work: n * n * n / 3 };
        match_float!("cholesky", inputs[0].dtype(), T => job.run::<T>(|a, out| factor(a[0], n, out)))
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output()
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let (Some(da), l) = (tangents[0], at.output()) else { return Ok(None) };
        let left = triangular_solve(l, da, Triangle::LOWER)?; // L⁻¹ A'
        let both = triangular_solve(l, &t(&left)?, Triangle::LOWER)?; // its transpose, times L⁻ᵀ
        mm(l, &phi(&t(&both)?)?).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let l = at.output();
        let p = phi(&mm(&t(l)?, grad)?)?;
        let left = triangular_solve(l, &p, Triangle::LOWER.transposed())?; // L⁻ᵀ P
        let both = triangular_solve(l, &t(&left)?, Triangle::LOWER.transposed())?;
        one(t(&both)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(*self, inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        output.numel() as u64 * output.dims()[output.rank() - 1] as u64 / 3
    }
}

/// The lower triangle with half the diagonal.
fn phi(x: &Tensor) -> Result<Tensor> {
    binary::mul(x, &lower_mask(x.dims()[x.rank() - 1], x.dtype(), 0.5)?)
}

/// The factor of the symmetric part of `a`.
pub(crate) fn cholesky(a: &Tensor) -> Result<Tensor> {
    square("cholesky", a)?;
    apply(Cholesky, &[&symmetric_part(a)?])
}
