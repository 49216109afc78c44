//! The lower or upper triangle of matrices (the last two axes), zero elsewhere. Its own transpose.

use crate::kernels::elementwise::GRAIN;
use crate::kernels::index::{Bits, bits, bits_mut, for_pieces, match_bits};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

#[derive(Clone, Copy)]
struct Triangle {
    lower: bool,
    /// The outermost diagonal kept; positive ones lie above the main diagonal.
    diagonal: isize,
}

impl Triangle {
    /// Columns kept in a row.
    fn kept(&self, row: usize, columns: usize) -> std::ops::Range<usize> {
        let edge = (row as isize).saturating_add(self.diagonal);
        let clamped = |column: isize| column.clamp(0, columns as isize) as usize;
        if self.lower { 0..clamped(edge.saturating_add(1)) } else { clamped(edge)..columns }
    }

    fn fill<U: Bits + Default>(&self, x: &[U], rows: usize, columns: usize, out: &mut [U]) {
        if out.is_empty() {
            return;
        }
        let per_task = GRAIN.div_ceil(columns);
        for_pieces(out, per_task * columns, |task, piece| {
            for (i, line) in piece.chunks_exact_mut(columns).enumerate() {
                let row = task * per_task + i;
                let kept = self.kept(row % rows, columns);
                line.fill(U::default());
                line[kept.clone()].copy_from_slice(&x[row * columns..][kept]);
            }
        });
    }
}

impl LinearMap for Triangle {
    const NAME: &'static str = "triangle";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = x.contiguous_data()?;
        let (rows, columns) = (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1]);
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        match_bits!(x.dtype(), U => self.fill::<U>(bits(&x), rows, columns, bits_mut(&mut out)));
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(*self, grad)
    }

    fn attributes(&self) -> String {
        format!("lower={}, diagonal={}", self.lower, self.diagonal)
    }
}

fn triangle(op: &'static str, x: &Tensor, lower: bool, diagonal: isize) -> Result<Tensor> {
    if x.rank() < 2 {
        return Err(Error::shape(op, x.shape(), "needs at least two axes"));
    }
    linear_map(Triangle { lower, diagonal }, x)
}

/// The elements on and below a diagonal.
pub(crate) fn tril(x: &Tensor, diagonal: isize) -> Result<Tensor> {
    triangle("tril", x, true, diagonal)
}

/// The elements on and above a diagonal.
pub(crate) fn triu(x: &Tensor, diagonal: isize) -> Result<Tensor> {
    triangle("triu", x, false, diagonal)
}
