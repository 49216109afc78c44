//! Rows of a kernel matrix for SMO: the whole matrix where it fits the memory allowed, else a cache of rows.
//!
//! The matrix of two classes comes in parts, of which a row is put together when it is asked for: only samples near the border
//! are, and the parts of a class with itself serve many pairs.
//!
//! A row that is missing is computed together with others that will probably be asked for soon, because a product of a block
//! of rows costs little more than that of one row: both have to read all features.

use crate::kernel::{Expansion, Features, require_single, symmetric_f32};
use crate::{Real, Result, with_real};

/// Rows computed at once.
const TOGETHER: usize = 16;
/// Columns of a block product.
const COLUMNS: usize = 512;

/// The rows of the kernel matrix of some of the features, restricted to the columns in use.
pub(crate) struct KernelRows<'k> {
    features: &'k Features,
    places: &'k [usize],
    diagonal: Vec<f32>,
    source: Source<'k>,
    /// Columns in use; none means all.
    columns: Option<Vec<usize>>,
    /// The slot of each row, or `ABSENT`.
    slot: Vec<usize>,
    slots: Vec<Slot>,
    limit: usize,
    clock: u64,
}

/// Where rows come from.
enum Source<'k> {
    /// All of K, row-major.
    Whole(Vec<f32>),
    /// K of the first rows with themselves, of the others with themselves, and between the two.
    Parts { own: [&'k [f32]; 2], between: Vec<f32> },
    /// Products, when a row is asked for.
    Products,
}

struct Slot {
    owner: usize,
    used: u64,
    values: Vec<f32>,
}

const ABSENT: usize = usize::MAX;

impl<'k> KernelRows<'k> {
    /// The kernel matrix of the rows at `places`, in at most about `bytes` of memory.
    pub(crate) fn new(features: &'k Features, places: &'k [usize], bytes: usize) -> Result<KernelRows<'k>> {
        let n = places.len();
        if n.saturating_mul(n).saturating_mul(4) <= bytes / 2 {
            return Ok(KernelRows::from_whole(features, places, symmetric_f32(features, places)?, bytes));
        }
        let mut diagonal = Vec::with_capacity(n);
        for place in places {
            let own = features.part(std::iter::once(*place))?;
            diagonal.push(features.block(&own, &own)?.to_f64_vec()[0] as f32);
        }
        require_single(diagonal.iter().copied())?;
        Ok(KernelRows::bare(features, places, diagonal, Source::Products, bytes))
    }

    /// With a matrix that is known already, row-major.
    fn from_whole(features: &'k Features, places: &'k [usize], whole: Vec<f32>, bytes: usize) -> Self {
        let diagonal = diagonal(&whole).collect();
        KernelRows::bare(features, places, diagonal, Source::Whole(whole), bytes)
    }

    /// With the matrices of two classes, and the rectangle between them, all row-major.
    pub(crate) fn from_parts(
        features: &'k Features,
        places: &'k [usize],
        own: [&'k [f32]; 2],
        between: Vec<f32>,
        bytes: usize,
    ) -> Self {
        let diagonal = diagonal(own[0]).chain(diagonal(own[1])).collect();
        KernelRows::bare(features, places, diagonal, Source::Parts { own, between }, bytes)
    }

    fn bare(
        features: &'k Features,
        places: &'k [usize],
        diagonal: Vec<f32>,
        source: Source<'k>,
        bytes: usize,
    ) -> KernelRows<'k> {
        let n = places.len();
        let limit = (bytes / (4 * n.max(1))).max(2 * TOGETHER);
        let slot = vec![ABSENT; n];
        KernelRows { features, places, diagonal, source, columns: None, slot, slots: Vec::new(), limit, clock: 0 }
    }

    /// K of a row with itself.
    pub(crate) fn diagonal(&self, row: usize) -> f32 {
        self.diagonal[row]
    }

    /// Goes on with these columns only, or with all.
    pub(crate) fn restrict(&mut self, columns: Option<Vec<usize>>) {
        self.columns = columns;
        self.slots.clear();
        self.slot.fill(ABSENT);
    }

    /// Makes sure that [`KernelRows::row`] has this row; the row fetched before stays.
    pub(crate) fn fetch(&mut self, row: usize, wanted: impl FnOnce() -> Vec<usize>) -> Result<()> {
        self.clock += 1;
        if self.slot[row] != ABSENT {
            self.slots[self.slot[row]].used = self.clock;
            return Ok(());
        }
        let n = self.places.len();
        match (&self.source, &self.columns) {
            (Source::Whole(_), None) => Ok(()),
            (Source::Whole(whole), Some(columns)) => {
                let all = &whole[row * n..(row + 1) * n];
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
                rows.extend(absent.take(TOGETHER - 1));
                let blocks = self.compute(&rows)?;
                for (row, values) in rows.into_iter().zip(blocks).rev() {
                    self.keep(row, values);
                }
                Ok(())
            }
        }
    }

    /// The row at the columns in use; it must have been fetched.
    pub(crate) fn row(&self, row: usize) -> &[f32] {
        let n = self.places.len();
        match (self.slot[row], &self.source) {
            (ABSENT, Source::Whole(whole)) => &whole[row * n..(row + 1) * n],
            (slot, _) => &self.slots[slot].values,
        }
    }

    /// Stores a row, in place of the one that was not used for longest if there is no room.
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

    /// These rows at the columns in use.
    fn compute(&self, rows: &[usize]) -> Result<Vec<Vec<f32>>> {
        let all: Vec<usize> = match &self.columns {
            None => self.places.to_vec(),
            Some(columns) => columns.iter().map(|&column| self.places[column]).collect(),
        };
        let left = self.features.part(rows.iter().map(|&row| self.places[row]))?;
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
        let n = self.places.len();
        let support: Vec<usize> = (0..n).filter(|&i| beta[i] != 0.0).collect();
        let add = |sums: &mut [f64], beta: f64, row: &[f32]| {
            sums.iter_mut().zip(row).for_each(|(sum, &k)| *sum += beta * f64::from(k));
        };
        let mut sums = vec![0.0; n];
        match &self.source {
            Source::Whole(whole) => {
                support.iter().for_each(|&i| add(&mut sums, beta[i], &whole[i * n..(i + 1) * n]));
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
        let points: Vec<usize> = support.iter().map(|&i| self.places[i]).collect();
        let asked: Vec<usize> = rows.iter().map(|&row| self.places[row]).collect();
        let asked = self.features.rows().take(&asked)?;
        let coefficients = tove_tensor::Tensor::try_from_vec(coefficients, [support.len(), 1])?;
        let expansion = Expansion::of(self.features, &points, &coefficients)?;
        Ok(expansion.at(&asked)?.to_f64_vec())
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
    // The row of the rectangle starts at `start` and goes on by `step`: along it for the first class, down for the second.
    let (own, start, step) = match row.checked_sub(m) {
        None => (&own[0][row * m..(row + 1) * m], row * k, 1),
        Some(below) => (&own[1][below * k..(below + 1) * k], below, k),
    };
    let across = |place: usize| between[start + place * step];
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
