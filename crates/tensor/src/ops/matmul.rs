//! Matrix product, batched and broadcast over leading axes. ∂A = G Bᵀ, ∂B = Aᵀ G.

use smallvec::smallvec;

use super::{Op, align_batched, shape, sum_terms};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::kernels::gemm::{Epilogue, MatMut, MatRef, gemm, gemm_batched, guarded};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Product of (…, m, k) and (…, k, n).
#[derive(Clone, Copy)]
struct MatMul;

/// The last two axes as a matrix.
pub(crate) fn matrix<T>(x: &Tensor) -> MatRef<T> {
    let rank = x.rank();
    MatRef {
        ptr: x.pointer(),
        rows: x.dims()[rank - 2],
        cols: x.dims()[rank - 1],
        row_stride: x.strides()[rank - 2],
        col_stride: x.strides()[rank - 1],
    }
}

/// Result shape and shape of the leading axes.
fn check(a: &Tensor, b: &Tensor) -> Result<(Shape, Shape)> {
    let (ra, rb) = (a.rank(), b.rank());
    if a.dtype() != b.dtype() {
        return Err(Error::DTypePair { op: "matmul", left: a.dtype(), right: b.dtype() });
    }
    if a.dims()[ra - 1] != b.dims()[rb - 2] {
        let problem = format!("inner sizes {} and {} differ", a.dims()[ra - 1], b.dims()[rb - 2]);
        return Err(Error::shapes("matmul", a.shape(), b.shape(), problem));
    }
    let (left, right) = (Shape::new(&a.dims()[..ra - 2]), Shape::new(&b.dims()[..rb - 2]));
    let batch = left
        .broadcast(&right)
        .ok_or_else(|| Error::shapes("matmul", a.shape(), b.shape(), "leading axes do not broadcast"))?;
    Ok((batch.joined(&[a.dims()[ra - 2], b.dims()[rb - 1]]), batch))
}

impl Op for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (a, b) = (inputs[0], inputs[1]);
        let (shape, batch) = check(a, b)?;
        if a.numel() == 0 || b.numel() == 0 || shape.contains(&0) {
            // Sums of nothing, or nothing at all; there may be any number of matrices without elements.
            return match_float!("matmul", a.dtype(), _T => Tensor::try_zeros(shape, a.dtype()));
        }
        let mut out = Fresh::new(shape, a.dtype())?;
        match_float!("matmul", a.dtype(), T => {
            let c = out.pointer::<T>();
            if batch.rank() == 0 {
                let (a, b) = (matrix(a), matrix(b));
                let c = MatMut::row_major(c, a.rows, b.cols);
                // SAFETY: the sizes fit, as checked, and `out` is new.
                guarded("matmul", || unsafe { gemm::<T>(1.0, a, b, 0.0, c, Epilogue::None) })?;
            } else {
                // SAFETY: as above, with the results of the whole batch in `out`.
                guarded("matmul", || unsafe { products::<T>(a, b, &batch, c) })?;
            }
        });
        Ok(out.finish())
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        Saves::nothing().input_if(1, needs[0]).input_if(0, needs[1])
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let left = tangents[0].map(|t| matmul(t, at.input(1))).transpose();
        let right = tangents[1].map(|t| matmul(at.input(0), t)).transpose();
        sum_terms([left, right])
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let mut grads: Grads = smallvec![None, None];
        if needs[0] {
            grads[0] = Some(matmul(grad, &shape::transpose(at.input(1))?)?);
        }
        if needs[1] {
            grads[1] = Some(right_gradient(at.input(0), grad, at.shape(1))?);
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        matmul(&aligned[0], &aligned[1]).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        let inner = inputs[0].dims()[inputs[0].rank() - 1];
        2 * output.numel() as u64 * inner as u64
    }
}

/// Aᵀ G; when one matrix B served a whole batch, the sum over the batch is part of the product.
fn right_gradient(a: &Tensor, grad: &Tensor, b: &Shape) -> Result<Tensor> {
    if b.rank() == 2 && a.rank() > 2 && a.dims()[..a.rank() - 1] == grad.dims()[..grad.rank() - 1] {
        let rows: usize = a.dims()[..a.rank() - 1].iter().product();
        let a = shape::reshape(a, Shape::from([rows, b[0]]))?;
        let grad = shape::reshape(grad, Shape::from([rows, b[1]]))?;
        return matmul(&shape::transpose(&a)?, &grad);
    }
    matmul(&shape::transpose(a)?, grad)
}

/// Products over leading axes: the innermost of them in one call, the others in a loop.
///
/// # Safety
/// The operands hold elements of type `T`, their matrices fit, their leading axes broadcast to `batch`, and `c` has room
/// for the product of each.
#[allow(unsafe_code)]
unsafe fn products<T: crate::kernels::gemm::GemmScalar>(a: &Tensor, b: &Tensor, batch: &Shape, c: *mut T) {
    let strides = |x: &Tensor| {
        let shape = batch.joined(&x.dims()[x.rank() - 2..]);
        x.broadcast_strides(&shape)
    };
    let (sa, sb) = (strides(a), strides(b));
    let (ma, mb) = (matrix::<T>(a), matrix::<T>(b));
    let size = ma.rows * mb.cols;
    let mut inner = 1;
    // Leading axes that both operands walk evenly are one.
    let mut outer_rank = batch.rank();
    let (step_a, step_b) = (sa[outer_rank - 1], sb[outer_rank - 1]);
    while outer_rank > 0 {
        let axis = outer_rank - 1;
        if sa[axis] != step_a * inner as isize || sb[axis] != step_b * inner as isize {
            break;
        }
        inner *= batch[axis];
        outer_rank -= 1;
    }
    let outer: usize = batch[..outer_rank].iter().product();
    // One right-hand matrix for a whole batch whose rows follow each other: one product with all the rows.
    let (mut rows, mut count) = (ma.rows, inner);
    if step_b == 0 && (ma.rows == 1 || step_a == ma.rows as isize * ma.row_stride) {
        (rows, count) = (ma.rows * inner, 1);
    }
    let row_stride = if count == 1 && ma.rows == 1 { step_a } else { ma.row_stride };
    for index in 0..outer {
        let (mut rest, mut shift_a, mut shift_b) = (index, 0, 0);
        for axis in (0..outer_rank).rev() {
            let position = (rest % batch[axis]) as isize;
            rest /= batch[axis];
            shift_a += position * sa[axis];
            shift_b += position * sb[axis];
        }
        // SAFETY: the shifts address matrices of the operands, and `c` has room for all results in order.
        unsafe {
            let a = MatRef { ptr: ma.ptr.offset(shift_a), rows, row_stride, ..ma };
            let b = MatRef { ptr: mb.ptr.offset(shift_b), ..mb };
            let c = MatMut::row_major(c.add(index * inner * size), a.rows, b.cols);
            gemm_batched(count, T::from(1), a, step_a, b, step_b, T::from(0), c, size as isize);
        }
    }
}

/// Matrix product as numpy has it: vectors are rows on the left and columns on the right, and disappear from the result;
/// leading axes broadcast.
pub(crate) fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match (a.rank(), b.rank()) {
        (0, _) | (_, 0) => {
            Err(Error::shapes("matmul", a.shape(), b.shape(), "scalars have no matrix product; use `*`"))
        }
        (1, 1) => {
            let product = product(&shape::unsqueeze(a, 0)?, &shape::unsqueeze(b, 1)?, (a, b))?;
            shape::reshape(&product, Shape::from(()))
        }
        (1, _) => {
            let product = product(&shape::unsqueeze(a, 0)?, b, (a, b))?;
            shape::squeeze(&product, -2)
        }
        (_, 1) => {
            let product = product(a, &shape::unsqueeze(b, 1)?, (a, b))?;
            shape::squeeze(&product, -1)
        }
        _ => apply(MatMul, &[a, b]),
    }
}

/// The product of operands raised to matrices; an error names the shapes the caller gave.
fn product(a: &Tensor, b: &Tensor, given: (&Tensor, &Tensor)) -> Result<Tensor> {
    apply(MatMul, &[a, b]).map_err(|error| match error {
        Error::ShapePair { op, problem, .. } => Error::shapes(op, given.0.shape(), given.1.shape(), problem),
        other => other,
    })
}
