//! The nearest of k centers for every row.
//!
//! Centers are compared by ‖μ‖² − 2 x·μ from blocks of a matrix product in the precision of the rows, with the smallest and the second
//! smallest found per block. Where these are closer than rounding can tell, the centers are compared again from differences in double
//! precision. So the label of a row does not depend on the rows beside it, on blocks, or on the number of threads.

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Tensor, TryOps};

use crate::distance::{product_error, square_norm, squared};
use crate::selection::in_parallel;
use crate::{Real, Result};

/// Rows of a matrix product.
pub(super) const BLOCK: usize = 1024;
/// Numbers that are looked at together.
const GROUP: usize = 16;

/// Rows, and what is prepared once for comparisons with any centers.
pub(super) struct Points<'a, T> {
    pub(super) rows: &'a [T], // (n, d)
    pub(super) d: usize,
    /// Taken off rows and centers before the product, against cancellation.
    origin: Vec<f64>,
    shadow: Tensor, // (n, d)
    /// Norms of the rows without the origin.
    norms: Vec<f64>,
}

/// The nearest center of a row, with bounds of distances.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Assigned {
    pub(super) label: u32,
    /// At least the distance to that center.
    pub(super) upper: f64,
    /// At most the distance to any other.
    pub(super) lower: f64,
}

/// Which of the rows a product takes.
#[derive(Clone, Copy)]
pub(super) enum Which<'a> {
    All,
    These(&'a [u32]),
}

impl<'a, T: Real> Points<'a, T> {
    pub(super) fn new(rows: &'a [T], d: usize) -> Result<Points<'a, T>> {
        let n = rows.len() / d;
        let parts = in_parallel(n.div_ceil(4 * BLOCK), |part| {
            let mut sums = vec![0.0; d];
            let end = ((part + 1) * 4 * BLOCK).min(n);
            for row in rows[part * 4 * BLOCK * d..end * d].chunks_exact(d) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.f64());
            }
            sums
        });
        let mut origin = vec![0.0; d];
        for sums in parts {
            origin.iter_mut().zip(sums).for_each(|(origin, sum)| *origin += sum);
        }
        let origin: Vec<f64> = origin.into_iter().map(|sum| T::of(sum / n.max(1) as f64).f64()).collect();
        Points::around(rows, d, origin)
    }

    /// Rows with a given origin.
    pub(super) fn around(rows: &'a [T], d: usize, origin: Vec<f64>) -> Result<Points<'a, T>> {
        let n = rows.len() / d;
        let parts = in_parallel(n.div_ceil(BLOCK), |part| {
            let rows = &rows[part * BLOCK * d..((part + 1) * BLOCK).min(n) * d];
            let mut shadow: Vec<T> = Vec::with_capacity(rows.len());
            for row in rows.chunks_exact(d) {
                shadow.extend(row.iter().zip(&origin).map(|(x, o)| T::of(x.f64() - o)));
            }
            let norms: Vec<f64> = shadow.chunks_exact(d).map(|row| square_norm(row).sqrt()).collect();
            (shadow, norms)
        });
        let (mut shadow, mut norms) = (Vec::with_capacity(rows.len()), Vec::with_capacity(n));
        for (part, own) in parts {
            shadow.extend_from_slice(&part);
            norms.extend(own);
        }
        let shadow = Tensor::try_from_vec(shadow, [n, d])?;
        Ok(Points { rows, d, origin, shadow, norms })
    }

    pub(super) fn len(&self) -> usize {
        self.norms.len()
    }

    pub(super) fn row(&self, i: usize) -> &[T] {
        &self.rows[i * self.d..(i + 1) * self.d]
    }

    /// Σ w ‖x − origin‖², and the origin.
    pub(super) fn spread(&self, weights: &[f64]) -> (f64, &[f64]) {
        (self.norms.iter().zip(weights).map(|(norm, weight)| weight * norm * norm).sum(), &self.origin)
    }

    /// Norm of a row without the origin.
    pub(super) fn norm(&self, i: usize) -> f64 {
        self.norms[i]
    }

    /// The rows without the origin.
    pub(super) fn shadow(&self) -> &Tensor {
        &self.shadow
    }

    /// The numbers of [`Points::shadow`].
    pub(super) fn shadow_slice(&self) -> Result<&[T]> {
        Ok(self.shadow.as_slice::<T>()?)
    }

    /// Some of the rows without the origin.
    pub(super) fn gather(&self, rows: &[usize]) -> Result<Tensor> {
        let (d, shadow, mut gathered) = (self.d, self.shadow_slice()?, Vec::with_capacity(rows.len() * self.d));
        rows.iter().for_each(|&row| gathered.extend_from_slice(&shadow[row * d..(row + 1) * d]));
        Ok(Tensor::try_from_vec(gathered, [rows.len(), d])?)
    }

    /// Centers (k, d), ready for products.
    pub(super) fn prepare<'c>(&self, exact: &'c [f64]) -> Centers<'c, T> {
        let d = self.d;
        let shadow: Vec<T> = exact
            .chunks_exact(d)
            .flat_map(|center| center.iter().zip(&self.origin).map(|(x, origin)| T::of(x - origin)))
            .collect();
        let squares: Vec<f64> = shadow.chunks_exact(d).map(square_norm).collect();
        let largest = squares.iter().fold(0.0f64, |most, square| most.max(*square)).sqrt();
        Centers { exact, d, shadow, squares: squares.into_iter().map(T::of).collect(), largest }
    }

    /// The nearest of centers (k, d) for these rows, of equally near ones the first.
    pub(super) fn nearest(&self, centers: &[f64], which: Which<'_>) -> Result<Vec<Assigned>> {
        let (centers, k) = (self.prepare(centers), centers.len() / self.d);
        let turned = centers.turned()?;
        let count = match which {
            Which::All => self.len(),
            Which::These(rows) => rows.len(),
        };
        let blocks = in_parallel(count.div_ceil(BLOCK), |block| -> Result<Vec<Assigned>> {
            let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(count));
            let rows: Vec<usize> = match which {
                Which::All => (first..end).collect(),
                Which::These(rows) => rows[first..end].iter().map(|&row| row as usize).collect(),
            };
            let block = match which {
                Which::All => self.shadow.try_narrow(0, first, end - first)?,
                Which::These(_) => self.gather(&rows)?,
            };
            let products = block.try_matmul(&turned)?.try_contiguous()?;
            let all = products.as_slice::<T>()?.chunks_exact(k).zip(rows);
            Ok(all.map(|(products, row)| self.decide(row, products, &centers)).collect())
        });
        let mut all = Vec::with_capacity(count);
        for block in blocks {
            all.extend(block?);
        }
        Ok(all)
    }

    /// The nearest center of a row, from its products with all of them.
    pub(super) fn decide(&self, row: usize, products: &[T], centers: &Centers<'_, T>) -> Assigned {
        let (norm, squares) = (self.norms[row], &centers.squares);
        let (error, sound) = (centers.error(norm), centers.sound(norm));
        let (best, second) = dispatch(TwoSmallest { products, squares });
        let (low, high) = (best.f64(), second.f64());
        let root = |square: f64| (square + norm * norm).max(0.0).sqrt();
        if sound && high - low > 2.0 * error {
            let label = products.iter().zip(squares).position(|(&product, &square)| score(product, square) == best);
            let (upper, lower) = (root(low + error) * OUT, root(high - error) * IN);
            return Assigned { label: label.unwrap_or(0) as u32, upper, lower };
        }
        let limit = low + 2.0 * error;
        let (mut label, mut least, mut next) = (0, f64::INFINITY, f64::INFINITY);
        for (j, (&product, &square)) in products.iter().zip(squares).enumerate() {
            let score = score(product, square).f64();
            if sound && score > limit {
                next = next.min((score - error + norm * norm).max(0.0));
                continue;
            }
            let exact = self.exact(row, j, centers.exact);
            if exact < least {
                next = next.min(least);
                (label, least) = (j, exact);
            } else {
                next = next.min(exact);
            }
        }
        Assigned { label: label as u32, upper: least.sqrt() * OUT, lower: next.sqrt() * IN }
    }

    /// ‖x − μ‖² from differences.
    pub(super) fn exact(&self, row: usize, center: usize, centers: &[f64]) -> f64 {
        squared(self.row(row), &centers[center * self.d..(center + 1) * self.d])
    }
}

/// Centers, and what products with rows take.
pub(super) struct Centers<'a, T> {
    pub(super) exact: &'a [f64], // (k, d)
    d: usize,
    /// Without the origin of the rows.
    pub(super) shadow: Vec<T>, // (k, d)
    pub(super) squares: Vec<T>,
    largest: f64,
}

impl<T: Real> Centers<'_, T> {
    pub(super) fn count(&self) -> usize {
        self.squares.len()
    }

    /// The centers as columns.
    pub(super) fn turned(&self) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.shadow).try_reshape([self.count(), self.d])?.try_t()?)
    }

    /// Bound of the error of scores of a row with this norm.
    pub(super) fn error(&self, norm: f64) -> f64 {
        product_error::<T>(self.d, self.largest, norm)
    }

    /// Whether squares stay in the range of the precision; beyond it scores say nothing.
    pub(super) fn sound(&self, norm: f64) -> bool {
        let size = self.largest + norm;
        size * size * 16.0 < T::MAX
    }
}

/// What bounds are multiplied by, so that rounding of the sums behind them (of up to a million numbers) is covered.
pub(super) const OUT: f64 = 1.0 + 1e-9;
pub(super) const IN: f64 = 1.0 - 1e-9;

#[inline(always)]
pub(super) fn score<T: Real>(product: T, square: T) -> T {
    square - (product + product)
}

struct TwoSmallest<'a, T> {
    products: &'a [T],
    squares: &'a [T],
}

impl<T: Real> Kernel for TwoSmallest<'_, T> {
    type Output = (T, T);

    #[inline(always)]
    fn run(self) -> (T, T) {
        let most = T::of(T::MAX);
        let (mut best, mut second) = ([most; GROUP], [most; GROUP]);
        let ((products, p_rest), (squares, s_rest)) =
            (self.products.as_chunks::<GROUP>(), self.squares.as_chunks::<GROUP>());
        let take = |best: &mut T, second: &mut T, value: T| {
            let larger = if value < *best { *best } else { value };
            *second = if larger < *second { larger } else { *second };
            *best = if value < *best { value } else { *best };
        };
        for (products, squares) in products.iter().zip(squares) {
            for i in 0..GROUP {
                take(&mut best[i], &mut second[i], score(products[i], squares[i]));
            }
        }
        let (mut first, mut next) = (most, most);
        for i in 0..GROUP {
            take(&mut first, &mut next, best[i]);
            take(&mut first, &mut next, second[i]);
        }
        for (&product, &square) in p_rest.iter().zip(s_rest) {
            take(&mut first, &mut next, score(product, square));
        }
        (first, next)
    }
}

impl<T: Real> Points<'_, T> {
    /// ‖x − z‖² of every row to each of some rows z, (n, t): from products, and from differences where rows are so close that rounding
    /// would be a large part of it.
    pub(super) fn squares_to(&self, others: &[usize]) -> Result<Vec<f64>> {
        let (n, d, t) = (self.len(), self.d, others.len());
        let shadow = self.shadow_slice()?;
        let columns: Vec<T> =
            others.iter().flat_map(|&other| shadow[other * d..(other + 1) * d].iter().copied()).collect();
        let columns = Tensor::try_from_vec(columns, [t, d])?.try_t()?;
        let blocks = in_parallel(n.div_ceil(BLOCK), |block| -> Result<Vec<f64>> {
            let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(n));
            let products = self.shadow.try_narrow(0, first, end - first)?.try_matmul(&columns)?.try_contiguous()?;
            let mut squares = Vec::with_capacity((end - first) * t);
            for (offset, products) in products.as_slice::<T>()?.chunks_exact(t).enumerate() {
                let own = self.norms[first + offset];
                for (product, &other) in products.iter().zip(others) {
                    let size = own * own + self.norms[other] * self.norms[other];
                    let square = size - 2.0 * product.f64();
                    let apart = square > 256.0 * T::EPSILON * size;
                    squares.push(if apart { square } else { squared(self.row(first + offset), self.row(other)) });
                }
            }
            Ok(squares)
        });
        let mut all = Vec::with_capacity(n * t);
        for block in blocks {
            all.extend(block?);
        }
        Ok(all)
    }
}
