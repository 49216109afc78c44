//! Triangular systems: `T X = B` or `Tᵀ X = B`, reading one triangle of T only.
//!
//! `X' = T⁻¹ (B' - T' X)`; the adjoint of B is `T⁻ᵀ G`, that of T minus the same triangle of `(T⁻ᵀ G) Xᵀ`.

use faer::linalg::triangular_solve as faer_solve;
use faer::{Mat, MatRef, Par};
use smallvec::smallvec;

use super::kernel::{Job, Scalar, columns, finite, matrices, rows, square, store};
use super::tools::{lower_mask, mm, t, upper_mask};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::ops::{Op, align_batched, binary, shape, sum_terms, unary};
use crate::{Error, Result, Tensor};

/// Which triangle a system uses, and how.
///
/// ```
/// use tove_tensor::{Tensor, linalg::Triangle};
/// let t = Tensor::from([[2.0, 9.0], [1.0, 4.0]]); // the 9 is not read
/// let x = t.triangular_solve(&Tensor::from([2.0, 9.0]), Triangle::LOWER);
/// assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    upper: bool,
    transposed: bool,
    unit: bool,
}

impl Triangle {
    /// `L X = B` with the lower triangle and its diagonal.
    pub const LOWER: Triangle = Triangle { upper: false, transposed: false, unit: false };
    /// `U X = B` with the upper triangle and its diagonal.
    pub const UPPER: Triangle = Triangle { upper: true, transposed: false, unit: false };

    /// The same triangle, transposed in the system.
    pub const fn transposed(self) -> Triangle {
        Triangle { transposed: !self.transposed, ..self }
    }

    /// The same with ones on the diagonal, whatever is stored there.
    pub const fn unit(self) -> Triangle {
        Triangle { unit: true, ..self }
    }

    /// The part of a matrix that the system reads.
    fn part(self, x: &Tensor) -> Result<Tensor> {
        let on = f64::from(u8::from(!self.unit));
        let n = x.dims()[x.rank() - 1];
        let mask = if self.upper { upper_mask(n, x.dtype(), on) } else { lower_mask(n, x.dtype(), on) };
        binary::mul(x, &mask?)
    }

    /// `a`, transposed if the system is.
    fn turned(self, a: &Tensor) -> Result<Tensor> {
        if self.transposed { t(a) } else { Ok(a.clone()) }
    }
}

#[derive(Clone, Copy)]
struct TriangularSolve(Triangle);

/// Solves in place; reads one triangle of `a`.
pub(super) fn solve_in_place<T: Scalar>(a: MatRef<'_, T>, x: &mut Mat<T>, kind: Triangle) {
    let (a, upper) = if kind.transposed { (a.transpose(), !kind.upper) } else { (a, kind.upper) };
    match (upper, kind.unit) {
        (false, false) => faer_solve::solve_lower_triangular_in_place(a, x.as_mut(), Par::Seq),
        (false, true) => faer_solve::solve_unit_lower_triangular_in_place(a, x.as_mut(), Par::Seq),
        (true, false) => faer_solve::solve_upper_triangular_in_place(a, x.as_mut(), Par::Seq),
        (true, true) => faer_solve::solve_unit_upper_triangular_in_place(a, x.as_mut(), Par::Seq),
    }
}

impl TriangularSolve {
    fn one<T: Scalar>(&self, a: &[T], b: &[T], n: usize, k: usize, out: &mut [T]) -> Result<()> {
        finite("triangular_solve", a)?;
        let zero = (0..n).find(|&i| a[i * n + i].to_f64() == 0.0);
        if let (Some(i), false) = (zero, self.0.unit) {
            let problem = format!("the matrix is singular: element {i} of its diagonal is zero");
            return Err(Error::data("triangular_solve", problem));
        }
        let mut x = columns(b, n, k);
        solve_in_place(rows(a, n, n), &mut x, self.0);
        store(x.as_ref(), out);
        Ok(())
    }
}

impl Op for TriangularSolve {
    fn name(&self) -> &'static str {
        "triangular_solve"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (n, k) = right_sizes("triangular_solve", inputs[0], inputs[1])?;
        let job = Job { op: "triangular_solve", inputs, item: &[n, k], work: n * n * k };
        match_float!("triangular_solve", inputs[0].dtype(), T => {
            job.run::<T>(|m, out| self.one(m[0], m[1], n, k, out))
        })
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        let saves = Saves::nothing().input(0);
        if needs[0] { saves.and_output() } else { saves }
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let a_term = |da: &Tensor| unary::neg(&mm(&self.0.turned(&self.0.part(da)?)?, at.output())?);
        let right = sum_terms([Ok(tangents[1].cloned()), tangents[0].map(a_term).transpose()])?;
        right.map(|right| triangular_solve_matrix(at.input(0), &right, self.0)).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let gb = triangular_solve_matrix(at.input(0), grad, self.0.transposed())?;
        let mut grads: Grads = smallvec![None, None];
        if needs[0] {
            let outer = self.0.turned(&mm(&gb, &t(at.output())?)?)?;
            grads[0] = Some(unary::neg(&self.0.part(&outer)?)?);
        }
        if needs[1] {
            grads[1] = Some(gb);
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        apply(*self, &[&aligned[0], &aligned[1]]).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        output.numel() as u64 * inputs[0].dims()[inputs[0].rank() - 1] as u64
    }

    fn attributes(&self) -> String {
        format!("upper={}, transposed={}, unit={}", self.0.upper, self.0.transposed, self.0.unit)
    }
}

/// Size of a system and number of its right-hand sides.
pub(super) fn right_sizes(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(usize, usize)> {
    let (_, n) = square(op, a)?;
    let (_, rows, k) = matrices(op, b)?;
    if rows != n {
        let problem = format!("the right-hand side has {rows} rows, the system {n}");
        return Err(Error::shapes(op, a.shape(), b.shape(), problem));
    }
    Ok((n, k))
}

fn triangular_solve_matrix(a: &Tensor, b: &Tensor, kind: Triangle) -> Result<Tensor> {
    apply(TriangularSolve(kind), &[a, b])
}

/// Applies a solver of matrix right-hand sides to a vector, which is one column.
pub(super) fn as_matrix(b: &Tensor, solver: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if b.rank() != 1 {
        return solver(b);
    }
    shape::squeeze(&solver(&shape::unsqueeze(b, 1)?)?, -1)
}

/// The solution of a triangular system; a `b` of rank 1 is one column.
pub(crate) fn triangular_solve(a: &Tensor, b: &Tensor, kind: Triangle) -> Result<Tensor> {
    square("triangular_solve", a)?;
    as_matrix(b, |b| triangular_solve_matrix(a, b, kind))
}
