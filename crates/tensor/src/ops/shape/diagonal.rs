//! The diagonal of matrices (the last two axes), a view; and its transpose, vectors put on the diagonal of zero matrices.

use crate::dtype::match_any;
use crate::kernels::elementwise;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::shape::Strides;
use crate::{Error, Result, Shape, Tensor};

/// The diagonal `offset` places above the main one.
#[derive(Clone, Copy)]
struct Diagonal {
    offset: isize,
}

/// Vectors on the diagonal of matrices of this size.
#[derive(Clone, Copy)]
struct Embed {
    offset: isize,
    rows: usize,
    columns: usize,
}

impl Diagonal {
    fn view(&self, x: &Tensor) -> Tensor {
        let rank = x.rank();
        let (rows, columns) = (x.dims()[rank - 2] as isize, x.dims()[rank - 1] as isize);
        let (row, column) = (x.strides()[rank - 2], x.strides()[rank - 1]);
        let (down, right) = (self.offset.saturating_neg().max(0), self.offset.max(0));
        let len = (rows - down).min(columns - right).max(0) as usize;
        let shape = x.shape().without(rank - 1).with(rank - 2, len);
        let strides: Strides = x.strides()[..rank - 2].iter().copied().chain([row + column]).collect();
        // An empty diagonal keeps the offset, which could otherwise leave the buffer.
        let first = if shape.contains(&0) { 0 } else { down * row + right * column };
        x.view(shape, strides, (x.offset() as isize + first) as usize)
    }
}

impl LinearMap for Diagonal {
    const NAME: &'static str = "diagonal";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.view(x))
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        let (rows, columns) = (shape.size_from_end(1), shape.size_from_end(0));
        linear_map(Embed { offset: self.offset, rows, columns }, grad)
    }

    fn attributes(&self) -> String {
        format!("offset={}", self.offset)
    }
}

impl LinearMap for Embed {
    const NAME: &'static str = "diag_embed";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let shape = x.shape().with(x.rank() - 1, self.rows).joined(&[self.columns]);
        let mut out = Tensor::try_zeros(shape, x.dtype())?;
        let target = Diagonal { offset: self.offset }.view(&out);
        let (strides, shift) = (target.strides().to_vec(), target.offset());
        drop(target);
        match_any!(x.dtype(), T => {
            let start = out.pointer_mut::<T>();
            // SAFETY: `out` is new, and the view just taken of it addresses distinct elements inside it.
            unsafe { elementwise::copy_into::<T>(x, start.add(shift), &strides) }
        });
        Ok(out)
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(Diagonal { offset: self.offset }, grad)
    }

    fn attributes(&self) -> String {
        format!("offset={}, rows={}, columns={}", self.offset, self.rows, self.columns)
    }
}

/// The diagonal of the last two axes, which become one.
pub(crate) fn diagonal(x: &Tensor, offset: isize) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::shape("diagonal", x.shape(), "needs at least two axes"));
    }
    linear_map(Diagonal { offset }, x)
}

/// Square matrices with the last axis on a diagonal.
pub(crate) fn diag_embed(x: &Tensor, offset: isize) -> Result<Tensor> {
    let Some(&len) = x.dims().last() else {
        return Err(Error::shape("diag_embed", x.shape(), "needs at least one axis"));
    };
    let size = len.saturating_add(offset.unsigned_abs());
    linear_map(Embed { offset, rows: size, columns: size }, x)
}

/// The matrix with a vector on its diagonal, or the diagonal of a matrix.
pub(crate) fn diag(x: &Tensor, offset: isize) -> Result<Tensor> {
    match x.rank() {
        1 => diag_embed(x, offset),
        2 => diagonal(x, offset),
        _ => Err(Error::shape("diag", x.shape(), "takes a vector or a matrix; use `diagonal` or `diag_embed`")),
    }
}
