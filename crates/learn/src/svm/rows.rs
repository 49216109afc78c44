//! Rows of a kernel matrix for SMO: the full matrix if it fits in the memory limit, otherwise a cache of rows.
//!
//! The matrix of two classes is stored in blocks, from which a row is assembled on request: only samples near the
//! boundary are requested, and the diagonal blocks are shared by many pairs.
//!
//! A missing row is computed together with others that are likely to be requested soon, because a product of a block of
//! rows costs little more than that of one row: both have to read all features.

use crate::kernel::{Expansion, Features, require_single, symmetric_f32};
use crate::{Real, Result, with_real};

/// Rows computed at once.
const ROWS_AT_ONCE: usize = 16;
/// Columns per block product.
const COLUMNS: usize = 512;

/// The rows of the kernel matrix of a subset of the features, restricted to the active columns.
pub(crate) struct KernelRows<'k> {
    features: &'k Features,
    indices: &'k [usize],
    diagonal: Vec<f32>,
    source: Source<'k>,
    /// Active columns; `None` means all.
    columns: Option<Vec<usize>>,
    /// The cache slot of each row, or `ABSENT`.
    slot: Vec<usize>,
    slots: Vec<Slot>,
    limit: usize,
    clock: u64,
}

/// The source of the rows.
enum Source<'k> {
    /// The full matrix K, row-major.
    Full(Vec<f32>),
    /// The blocks of the first rows, of the other rows, and between the two.
    Parts { own: [&'k [f32]; 2], between: Vec<f32> },
    /// Products, computed on request.
    Products,
}

struct Slot {
    owner: usize,
    used: u64,
    values: Vec<f32>,
}

const ABSENT: usize = usize::MAX;

impl<'k> KernelRows<'k> {
    /// Creates the kernel matrix of the rows at `indices`, using at most about `bytes` of memory.
    pub(crate) fn new(features: &'k Features, indices: &'k [usize], bytes: usize) -> Result<KernelRows<'k>> {
        let n = indices.len();
        if n.saturating_mul(n).saturating_mul(4) <= bytes / 2 {
            return Ok(KernelRows::from_full(features, indices, symmetric_f32(features, indices)?, bytes));
        }
        let mut diagonal = Vec::with_capacity(n);
        for index in indices {
            let own = features.part(std::iter::once(*index))?;
            diagonal.push(features.block(&own, &own)?.to_f64_vec()[0] as f32);
        }
        require_single(diagonal.iter().copied())?;
        Ok(KernelRows::bare(features, indices, diagonal, Source::Products, bytes))
    }

    /// Creates the rows from a known matrix, row-major.
    fn from_full(features: &'k Features, indices: &'k [usize], full: Vec<f32>, bytes: usize) -> Self {
        let diagonal = diagonal(&full).collect();
        KernelRows::bare(features, indices, diagonal, Source::Full(full), bytes)
    }

    /// Creates the rows from the blocks of two classes and the block between them, all row-major.
    pub(crate) fn from_parts(
        features: &'k Features,
        indices: &'k [usize],
        own: [&'k [f32]; 2],
        between: Vec<f32>,
        bytes: usize,
    ) -> Self {
        let diagonal = diagonal(own[0]).chain(diagonal(own[1])).collect();
        KernelRows::bare(features, indices, diagonal, Source::Parts { own, between }, bytes)
    }

    fn bare(
        features: &'k Features,
        indices: &'k [usize],
        diagonal: Vec<f32>,
        source: Source<'k>,
        bytes: usize,
    ) -> KernelRows<'k> {
        let n = indices.len();
        let limit = (bytes / (4 * n.max(1))).max(2 * ROWS_AT_ONCE);
        let slot = vec![ABSENT; n];
        KernelRows { features, indices, diagonal, source, columns: None, slot, slots: Vec::new(), limit, clock: 0 }
    }

    /// K of a row with itself.
    pub(crate) fn diagonal(&self, row: usize) -> f32 {
        self.diagonal[row]
    }

    /// Restricts the rows to these columns, or to all.
    pub(crate) fn restrict(&mut self, columns: Option<Vec<usize>>) {
        self.columns = columns;
        self.slots.clear();
        self.slot.fill(ABSENT);
    }

    /// Ensures that [`KernelRows::row`] has this row; the previously fetched row stays valid.
    pub(crate) fn fetch(&mut self, row: usize, wanted: impl FnOnce() -> Vec<usize>) -> Result<()> {
        self.clock += 1;
        if self.slot[row] != ABSENT {
            self.slots[self.slot[row]].used = self.clock;
            return Ok(());
        }
        let n = self.indices.len();
        match (&self.source, &self.columns) {
            (Source::Full(_), None) => Ok(()),
            (Source::Full(full), Some(columns)) => {
                let all = &full[row * n..(row + 1) * n];
                let values = columns.iter().map(|&column| all[column]).collect();
                self.keep(row, values);
                Ok(())
            }
            (Source::Parts { own, between }, columns) => {
                let values = joined(own, between, n, row, columns.as_deref());
                self.keep(row, values);
                Ok(())
            }
            (Source::Products, _) => {
                let mut rows = vec![row];
                let absent = wanted().into_iter().filter(|&other| other != row && self.slot[other] == ABSENT);
                rows.extend(absent.take(ROWS_AT_ONCE - 1));
                let blocks = self.compute(&rows)?;
                for (row, values) in rows.into_iter().zip(blocks).rev() {
                    self.keep(row, values);
                }
                Ok(())
            }
        }
    }

    /// The row at the active columns; it must have been fetched.
    pub(crate) fn row(&self, row: usize) -> &[f32] {
        let n = self.indices.len();
        match (self.slot[row], &self.source) {
            (ABSENT, Source::Full(full)) => &full[row * n..(row + 1) * n],
            (slot, _) => &self.slots[slot].values,
        }
    }

    /// Caches a row; evicts the least recently used one if the cache is full.
    fn keep(&mut self, row: usize, values: Vec<f32>) {
        self.clock += 1;
        let fresh = Slot { owner: row, used: self.clock, values };
        if self.slots.len() < self.limit {
            self.slot[row] = self.slots.len();
            self.slots.push(fresh);
            return;
        }
        let oldest = (0..self.slots.len()).min_by_key(|&slot| self.slots[slot].used).unwrap_or(0);
        self.slot[self.slots[oldest].owner] = ABSENT;
        self.slot[row] = oldest;
        self.slots[oldest] = fresh;
    }

    /// Computes these rows at the active columns.
    fn compute(&self, rows: &[usize]) -> Result<Vec<Vec<f32>>> {
        let all: Vec<usize> = match &self.columns {
            None => self.indices.to_vec(),
            Some(columns) => columns.iter().map(|&column| self.indices[column]).collect(),
        };
        let left = self.features.part(rows.iter().map(|&row| self.indices[row]))?;
        let mut out = vec![Vec::with_capacity(all.len()); rows.len()];
        let blocks = super::parallel(all.len().div_ceil(COLUMNS), |block| {
            let end = all.len().min((block + 1) * COLUMNS);
            let right = self.features.part(all[block * COLUMNS..end].iter().copied())?;
            self.features.block(&left, &right)
        })?;
        for block in blocks {
            let width = block.dims()[1];
            with_real!(block.dtype(), T => {
                for (out, values) in out.iter_mut().zip(block.as_slice::<T>()?.chunks_exact(width)) {
                    out.extend(values.iter().map(|value| value.f64() as f32));
                }
            });
        }
        Ok(out)
    }

    /// (Kβ) at these rows.
    pub(crate) fn sums(&self, rows: &[usize], beta: &[f64]) -> Result<Vec<f64>> {
        let n = self.indices.len();
        let support: Vec<usize> = (0..n).filter(|&i| beta[i] != 0.0).collect();
        let add = |sums: &mut [f64], beta: f64, row: &[f32]| {
            sums.iter_mut().zip(row).for_each(|(sum, &k)| *sum += beta * f64::from(k));
        };
        let mut sums = vec![0.0; n];
        match &self.source {
            Source::Full(full) => {
                support.iter().for_each(|&i| add(&mut sums, beta[i], &full[i * n..(i + 1) * n]));
                return Ok(rows.iter().map(|&row| sums[row]).collect());
            }
            Source::Parts { own, between } => {
                support.iter().for_each(|&i| add(&mut sums, beta[i], &joined(own, between, n, i, None)));
                return Ok(rows.iter().map(|&row| sums[row]).collect());
            }
            Source::Products => {}
        }
        if support.is_empty() {
            return Ok(vec![0.0; rows.len()]);
        }
        let coefficients: Vec<f64> = support.iter().map(|&i| beta[i]).collect();
        let points: Vec<usize> = support.iter().map(|&i| self.indices[i]).collect();
        let requested: Vec<usize> = rows.iter().map(|&row| self.indices[row]).collect();
        let requested = self.features.rows().take(&requested)?;
        let coefficients = tove_tensor::Tensor::try_from_vec(coefficients, [support.len(), 1])?;
        let expansion = Expansion::of(self.features, &points, &coefficients)?;
        Ok(expansion.at(&requested)?.to_f64_vec())
    }
}

/// The diagonal of a square matrix.
fn diagonal(matrix: &[f32]) -> impl Iterator<Item = f32> + '_ {
    matrix.iter().copied().step_by(matrix.len().isqrt() + 1)
}

/// A row of the matrix of two classes, at these columns or at all.
fn joined(own: &[&[f32]; 2], between: &[f32], n: usize, row: usize, columns: Option<&[usize]>) -> Vec<f32> {
    let m = own[0].len().isqrt();
    let k = n - m;
    let mut values = Vec::with_capacity(columns.map_or(n, <[usize]>::len));
    // The row of the off-diagonal block starts at `start` with stride `step`: along a row for the first class, down a
    // column for the second.
    let (own, start, step) = match row.checked_sub(m) {
        None => (&own[0][row * m..(row + 1) * m], row * k, 1),
        Some(below) => (&own[1][below * k..(below + 1) * k], below, k),
    };
    let across = |index: usize| between[start + index * step];
    match (columns, row < m) {
        (None, true) => {
            values.extend_from_slice(own);
            values.extend_from_slice(&between[start..start + k]);
        }
        (None, false) => {
            values.extend((0..m).map(across));
            values.extend_from_slice(own);
        }
        (Some(columns), first) => {
            let (left, right) = columns.split_at(columns.partition_point(|&column| column < m));
            if first {
                values.extend(left.iter().map(|&column| own[column]));
                values.extend(right.iter().map(|&column| across(column - m)));
            } else {
                values.extend(left.iter().map(|&column| across(column)));
                values.extend(right.iter().map(|&column| own[column - m]));
            }
        }
    }
    values
}
