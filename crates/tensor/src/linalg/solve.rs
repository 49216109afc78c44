//! Square systems `A X = B`, by LU with partial pivoting.
//!
//! `X' = A⁻¹ (B' - A' X)`; the adjoint of B is `A⁻ᵀ G`, that of A is `-(A⁻ᵀ G) Xᵀ`.

use smallvec::smallvec;

use super::kernel::{Job, Scalar, columns, finite, square, store};
use super::lu::Lu;
use super::tools::{mm, t};
use super::triangular::{as_matrix, right_sizes};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, align_batched, sum_terms, unary};
use crate::{Result, Tensor};

#[derive(Clone, Copy)]
struct Solve;

fn system<T: Scalar>(a: &[T], b: &[T], n: usize, k: usize, out: &mut [T]) -> Result<()> {
    finite("solve", a)?;
    let lu = Lu::new(columns(a, n, n)).regular("solve")?;
    store(lu.solve(k, |i, j| b[i * k + j]).as_ref(), out);
    Ok(())
}

impl Op for Solve {
    fn name(&self) -> &'static str {
        "solve"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (n, k) = right_sizes("solve", inputs[0], inputs[1])?;
        let job = Job { op: "solve", inputs, item: &[n, k], work: n * n * (n + k) };
        match_float!("solve", inputs[0].dtype(), T => job.run::<T>(|m, out| system(m[0], m[1], n, k, out)))
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        let saves = Saves::nothing().input(0);
        if needs[0] { saves.and_output() } else { saves }
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let a_term = |da: &Tensor| unary::neg(&mm(da, at.output())?);
        let right = sum_terms([Ok(tangents[1].cloned()), tangents[0].map(a_term).transpose()])?;
        right.map(|right| apply(Solve, &[at.input(0), &right])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let gb = apply(Solve, &[&t(at.input(0))?, grad])?;
        let mut grads: Grads = smallvec![None, None];
        if needs[0] {
            grads[0] = Some(unary::neg(&mm(&gb, &t(at.output())?)?)?);
        }
        if needs[1] {
            grads[1] = Some(gb);
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        apply(Solve, &[&aligned[0], &aligned[1]]).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        let n = inputs[0].dims()[inputs[0].rank() - 1] as u64;
        2 * inputs[0].numel() as u64 * n / 3 + 2 * output.numel() as u64 * n
    }
}

/// The solution of `a x = b`; a `b` of rank 1 is one column.
pub(crate) fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    square("solve", a)?;
    as_matrix(b, |b| apply(Solve, &[a, b]))
}
