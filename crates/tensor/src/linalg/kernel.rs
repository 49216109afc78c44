//! The loop over a batch of matrices that every routine here runs in.
//!
//! Each matrix is read as a row-major slice and its result written to its own slice. A task takes as many matrices as
//! make it worth starting; that number depends on sizes only.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use faer::{Mat, MatRef};
use smallvec::SmallVec;

use crate::pool::parallel_for;
use crate::tensor::Fresh;
use crate::{Element, Error, Result, Shape, Tensor};

/// The element types faer and tensors share.
pub(crate) trait Scalar: Element + faer::traits::RealField {}
impl Scalar for f32 {}
impl Scalar for f64 {}

/// Multiplications that make a task worth starting.
const TASK_WORK: usize = 1 << 15;

/// A routine applied to matrices that lie at the same place of each input's batch; batches broadcast.
pub(crate) struct Job<'a> {
    pub(crate) op: &'static str,
    pub(crate) inputs: &'a [&'a Tensor],
    /// Shape of one result.
    pub(crate) item: &'a [usize],
    /// Rough number of multiplications for one matrix.
    pub(crate) work: usize,
}

/// One input: its data, and the step between matrices along each axis of the batch.
struct Source<'a> {
    data: Cow<'a, Tensor>,
    size: usize,
    steps: SmallVec<[usize; 4]>,
}

impl<'a> Source<'a> {
    fn new(x: &'a Tensor, batch: &Shape) -> Result<Source<'a>> {
        let leading = Shape::new(&x.dims()[..x.rank() - 2]);
        let own = leading.row_major();
        let missing = batch.rank() - leading.rank();
        let step = |axis: usize| match axis.checked_sub(missing) {
            Some(axis) if leading[axis] != 1 => own[axis] as usize,
            _ => 0,
        };
        let size = x.dims()[x.rank() - 2..].iter().product();
        Ok(Source { data: x.contiguous_data()?, size, steps: (0..batch.rank()).map(step).collect() })
    }

    /// The matrix that belongs to a position of the batch.
    fn matrix<T: Scalar>(&self, batch: &Shape, mut index: usize) -> &[T] {
        let mut place = 0;
        for axis in (0..batch.rank()).rev() {
            place += index % batch[axis] * self.steps[axis];
            index /= batch[axis];
        }
        &self.data.contiguous_slice()[place * self.size..(place + 1) * self.size]
    }
}

impl Job<'_> {
    /// The shape that the inputs' leading axes broadcast to.
    fn batch(&self) -> Result<Shape> {
        let mut batch = Shape::from(());
        for x in self.inputs {
            let first = self.inputs[0];
            if x.dtype() != first.dtype() {
                return Err(Error::DTypePair { op: self.op, left: first.dtype(), right: x.dtype() });
            }
            batch = batch
                .broadcast(&Shape::new(&x.dims()[..x.rank() - 2]))
                .ok_or_else(|| Error::shapes(self.op, first.shape(), x.shape(), "leading axes do not broadcast"))?;
        }
        Ok(batch)
    }

    /// Runs the routine on every matrix. Of several failures the first in the batch's order is returned.
    pub(crate) fn run<T: Scalar>(&self, routine: impl Fn(&[&[T]], &mut [T]) -> Result<()> + Sync) -> Result<Tensor> {
        let batch = self.batch()?;
        let mut out = Fresh::new(batch.joined(self.item), T::DTYPE)?;
        let size: usize = self.item.iter().product();
        if size == 0 || batch.numel() == 0 {
            return Ok(out.finish());
        }
        let sources: SmallVec<[Source<'_>; 2]> =
            self.inputs.iter().map(|x| Source::new(x, &batch)).collect::<Result<_>>()?;
        let group = (TASK_WORK / self.work.max(1)).max(1);
        let pieces: Vec<Mutex<&mut [T]>> = out.slice::<T>().chunks_mut(size * group).map(Mutex::new).collect();
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        parallel_for(pieces.len(), &|task| {
            let mut piece = pieces[task].lock().unwrap_or_else(PoisonError::into_inner);
            for (position, result) in piece.chunks_mut(size).enumerate() {
                let index = task * group + position;
                let inputs: SmallVec<[&[T]; 2]> = sources.iter().map(|source| source.matrix(&batch, index)).collect();
                if let Err(error) = routine(&inputs, result) {
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                        *first = Some((index, error));
                    }
                    return;
                }
            }
        });
        drop(pieces);
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(out.finish()),
            Some((_, error)) if batch.rank() == 0 => Err(error),
            Some((index, error)) => Err(in_batch(error, index)),
        }
    }
}

/// The error with the matrix's place in the batch.
fn in_batch(error: Error, index: usize) -> Error {
    match error {
        Error::Data { op, problem } => Error::data(op, format!("matrix {index} of the batch: {problem}")),
        other => other,
    }
}

/// An error for NaN or infinite entries.
pub(crate) fn finite<T: Scalar>(op: &'static str, data: &[T]) -> Result<()> {
    match data.iter().position(|x| !x.to_f64().is_finite()) {
        None => Ok(()),
        Some(index) => {
            let problem =
                format!("the input holds NaN or infinite values (first at element {index}); remove them first");
            Err(Error::data(op, problem))
        }
    }
}

/// A row-major slice as a matrix.
pub(crate) fn rows<T: Scalar>(data: &[T], m: usize, n: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(data, m, n)
}

/// A copy in the column-major order that faer's routines prefer.
pub(crate) fn columns<T: Scalar>(data: &[T], m: usize, n: usize) -> Mat<T> {
    Mat::from_fn(m, n, |i, j| data[i * n + j])
}

/// Writes a matrix to a row-major slice.
pub(crate) fn store<T: Scalar>(matrix: MatRef<'_, T>, out: &mut [T]) {
    let n = matrix.ncols();
    if n == 0 {
        return;
    }
    for (i, row) in out.chunks_mut(n).enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = matrix[(i, j)];
        }
    }
}

/// Whether a column of singular or eigenvectors is to change its sign. Either sign is right, and which one an iteration
/// ends with is chance; taking the largest entry as positive (the first of those within a thousandth of it) makes vectors
/// reproducible and lets them follow small changes of the matrix.
pub(crate) fn points_backwards<T: Scalar>(vectors: MatRef<'_, T>, j: usize) -> bool {
    let entries = || (0..vectors.nrows()).map(|i| vectors[(i, j)].to_f64());
    let largest = entries().fold(0.0, |most: f64, x| most.max(x.abs()));
    entries().find(|x| x.abs() >= 0.999 * largest).is_some_and(|x| x < 0.0)
}

/// Changes the sign of a column.
pub(crate) fn negate<T: Scalar>(matrix: &mut Mat<T>, j: usize) {
    for i in 0..matrix.nrows() {
        matrix[(i, j)] = T::default() - matrix[(i, j)];
    }
}

/// Leading axes, rows and columns.
pub(crate) fn matrices(op: &'static str, x: &Tensor) -> Result<(Shape, usize, usize)> {
    if !x.dtype().is_float() {
        return Err(Error::DType { op, dtype: x.dtype(), expected: "f32 or f64 is needed" });
    }
    match x.dims() {
        [leading @ .., m, n] => Ok((Shape::new(leading), *m, *n)),
        _ => Err(Error::shape(op, x.shape(), "is not a matrix; at least two axes are needed")),
    }
}

/// Leading axes and size of square matrices.
pub(crate) fn square(op: &'static str, x: &Tensor) -> Result<(Shape, usize)> {
    let (leading, m, n) = matrices(op, x)?;
    if m != n {
        return Err(Error::shape(op, x.shape(), "is not square"));
    }
    Ok((leading, n))
}
