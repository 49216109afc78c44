//! Rows that come in batches of any size, cut into blocks of a fixed size: sums over blocks are then the same for any batch size.

use tove_tensor::{DType, Tensor, TryOps};

use crate::selection::in_parallel;
use crate::{Result, Rows};

/// Rows of a block.
const BLOCK: usize = 1024;
/// Blocks that are worked on at once.
const GROUP: usize = 16;

/// Rows in double precision that do not make up a group of blocks yet.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    width: usize,
    rows: Vec<f64>,
    seen: usize,
}

impl Blocks {
    pub(crate) fn new(width: usize) -> Blocks {
        Blocks { width, rows: Vec::new(), seen: 0 }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Rows so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Adds rows, and gives what `work` makes of each block that is complete to `then`, in the order of the rows.
    pub(crate) fn add<T: Send>(
        &mut self,
        who: &'static str,
        x: &Rows,
        work: impl Fn(Tensor) -> Result<T> + Sync,
        mut then: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let x = x.dense(who)?.to_dtype(DType::F64).try_contiguous()?;
        let (mut given, group) = (x.as_slice::<f64>()?, GROUP * BLOCK * self.width);
        self.seen += x.dims()[0];
        while !given.is_empty() {
            let (own, rest) = given.split_at(given.len().min(group - self.rows.len()));
            self.rows.extend_from_slice(own);
            given = rest;
            if self.rows.len() == group {
                self.rest(&work, &mut then)?;
                self.rows.clear();
            }
        }
        Ok(())
    }

    /// Works on what is left, without taking it away.
    pub(crate) fn rest<T: Send>(
        &self,
        work: impl Fn(Tensor) -> Result<T> + Sync,
        mut then: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let size = BLOCK * self.width;
        let made = in_parallel(self.rows.len().div_ceil(size.max(1)), |block| {
            let own = &self.rows[block * size..((block + 1) * size).min(self.rows.len())];
            work(Tensor::from_slice(own).try_reshape([own.len() / self.width, self.width])?)
        });
        made.into_iter().try_for_each(|one| then(one?))
    }
}
