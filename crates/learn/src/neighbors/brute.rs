//! All pairs of queries and samples, by blocks of a matrix product.
//!
//! s = ‖x‖² − 2 q·x orders the samples as the distance does, up to rounding. While blocks of s stream by, each query keeps the samples
//! that could be among its nearest by a bound of that rounding; those are compared again from differences. So answers are exact, and
//! neither the sizes of the blocks nor the number of threads have an influence on them.

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::{Tensor, TryOps};

use super::kd_tree::Collect;
use super::metric::Metric;
use super::result::Found;
use crate::distance::product_error;
use crate::{Real, Result};

/// Samples in a block of the product.
const TILE: usize = 1024;
/// Numbers that are looked at together.
const GROUP: usize = 16;

/// Samples as the product takes them: in the precision of the model, centered or of length 1.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    x: Tensor, // (n, d)
    /// ‖x‖² of each sample; 1 throughout for the cosine distance, where rows of zeros are as far from others as from themselves.
    squares: Vec<f64>,
    /// The largest norm in each tile.
    largest: Vec<f64>,
}

impl Shadow {
    pub(crate) fn new(x: Tensor, squares: Vec<f64>) -> Shadow {
        let norm = |tile: &[f64]| tile.iter().fold(0.0f64, |most, square| most.max(*square)).sqrt();
        let largest = squares.chunks(TILE).map(norm).collect();
        Shadow { x, squares, largest }
    }

    /// The largest norm.
    pub(crate) fn largest(&self) -> f64 {
        self.largest.iter().fold(0.0, |most, norm| most.max(*norm))
    }

    /// Goes through all samples for a block of queries (m, d) with their ‖q‖². The collector of each
    /// query is offered the samples that it may want, with bounds of their keys.
    pub(crate) fn scan<T: Real>(&self, queries: &Tensor, squares: &[f64], collectors: &mut [impl Offer]) -> Result<()> {
        let (n, d) = (self.x.dims()[0], self.x.dims()[1]);
        let norms: Vec<T> = self.squares.iter().map(|&square| T::of(square)).collect();
        for (tile, &largest) in self.largest.iter().enumerate() {
            let first = tile * TILE;
            let count = TILE.min(n - first);
            let samples = self.x.try_narrow(0, first, count)?;
            let products = queries.try_matmul(&samples.try_t()?)?.try_contiguous()?;
            let norms = &norms[first..first + count];
            for ((row, &square), own) in
                products.as_slice::<T>()?.chunks_exact(count).zip(squares).zip(&mut *collectors)
            {
                let error = product_error::<T>(d, largest, square.sqrt());
                dispatch(Scan { row, norms, first, square, error, own });
            }
        }
        Ok(())
    }
}

/// What takes samples with bounds of their keys.
pub(crate) trait Offer {
    /// Samples whose keys are surely larger are of no use any more.
    fn limit(&self) -> f64;
    /// Takes a sample whose key lies between `low` and `high`.
    fn offer(&mut self, low: f64, high: f64, sample: u32);
}

struct Scan<'a, T, O> {
    row: &'a [T],
    norms: &'a [T],
    first: usize,
    square: f64,
    error: f64,
    own: &'a mut O,
}

impl<T: Real, O: Offer> Kernel for Scan<'_, T, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Scan { row, norms, first, square, error, own } = self;
        // s above this means a key above the limit.
        let most = |limit: f64| T::of((limit - square + error) + (limit.abs() + square) * 4.0 * T::EPSILON);
        let mut threshold = most(own.limit());
        for (group, (products, norms)) in row.chunks(GROUP).zip(norms.chunks(GROUP)).enumerate() {
            let mut least = [T::of(T::MAX); GROUP];
            for ((least, &product), &norm) in least.iter_mut().zip(products).zip(norms) {
                *least = norm - (product + product);
            }
            let mut lowest = least[0];
            for &value in &least[1..] {
                lowest = if value < lowest { value } else { lowest };
            }
            if lowest > threshold {
                continue;
            }
            for (place, &value) in least[..products.len()].iter().enumerate() {
                if value <= threshold {
                    let key = value.f64() + square;
                    own.offer(key - error, key + error, (first + group * GROUP + place) as u32);
                    threshold = most(own.limit());
                }
            }
        }
    }
}

/// What is asked of each query.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    /// So many nearest samples.
    Nearest(usize),
    /// All samples at this distance at most, in this metric, nearest first.
    Within(f64, Metric),
    /// The same samples in any order.
    Around(f64, Metric),
}

impl Want {
    /// Up to which key samples are of interest at first.
    pub(crate) fn reach(self) -> f64 {
        match self {
            Want::Nearest(_) => f64::INFINITY,
            Want::Within(radius, metric) | Want::Around(radius, metric) => metric.reach(radius),
        }
    }

    /// Whether a sample with this key is wanted at all.
    pub(crate) fn admits(self, key: f64) -> bool {
        match self {
            Want::Nearest(_) => true,
            Want::Within(radius, metric) | Want::Around(radius, metric) => metric.distance(key) <= radius,
        }
    }
}

/// The samples that one query wants, as far as they are known.
pub(crate) struct Gather<F> {
    want: Want,
    /// The key of a sample, from differences.
    exact: F,
    limit: f64,
    /// Bounds of keys of samples that are still to be compared.
    pending: Vec<(f64, f64, u32)>,
    best: Vec<Found>,
}

impl<F: Fn(u32) -> f64> Gather<F> {
    pub(crate) fn new(want: Want, exact: F) -> Gather<F> {
        Gather { want, exact, limit: want.reach(), pending: Vec::new(), best: Vec::new() }
    }

    /// Compares what is pending; of k nearest samples first drops those that cannot be among them.
    #[inline(never)]
    fn prune(&mut self) {
        if let Want::Nearest(k) = self.want {
            let mut highs: Vec<f64> = self.pending.iter().map(|entry| entry.1).collect();
            highs.extend(self.best.iter().map(|found| found.key));
            if highs.len() >= k {
                let (_, kth, _) = highs.select_nth_unstable_by(k - 1, f64::total_cmp);
                self.limit = self.limit.min(*kth);
            }
            let limit = self.limit;
            self.pending.retain(|entry| entry.0 <= limit);
            if 2 * self.pending.len() <= self.capacity() {
                return;
            }
        }
        self.settle();
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        match self.want {
            Want::Nearest(k) => 4 * k + 64,
            Want::Within(..) | Want::Around(..) => 256,
        }
    }

    /// Compares all that is pending.
    fn settle(&mut self) {
        let (limit, want, exact) = (self.limit, self.want, &self.exact);
        let keys = self.pending.drain(..).filter(|entry| entry.0 <= limit);
        let found = keys.map(|entry| Found { key: exact(entry.2), sample: entry.2 });
        self.best.extend(found.filter(|found| want.admits(found.key)));
        if let Want::Nearest(k) = want {
            self.best.sort_unstable_by(Found::order);
            self.best.truncate(k);
            if let (true, Some(last)) = (self.best.len() == k, self.best.last()) {
                self.limit = self.limit.min(last.key);
            }
        }
    }

    /// What was wanted, nearest first.
    pub(crate) fn finish(mut self) -> Vec<Found> {
        self.prune();
        self.settle();
        self.best.sort_unstable_by(Found::order);
        self.best
    }
}

impl<F: Fn(u32) -> f64> Offer for Gather<F> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.limit
    }

    #[inline(always)]
    fn offer(&mut self, low: f64, high: f64, sample: u32) {
        self.pending.push((low, high, sample));
        if self.pending.len() >= self.capacity() {
            self.prune();
        }
    }
}

/// The samples that one query wants, of those whose keys are known.
pub(crate) struct Known {
    want: Want,
    limit: f64,
    found: Vec<Found>,
}

impl Known {
    pub(crate) fn new(want: Want) -> Known {
        Known { want, limit: want.reach(), found: Vec::new() }
    }

    /// What was wanted, nearest first.
    pub(crate) fn finish(mut self) -> Vec<Found> {
        if let Want::Within(..) = self.want {
            self.found.sort_unstable_by(Found::order);
        }
        self.found
    }
}

impl Collect for Known {
    #[inline(always)]
    fn limit(&self) -> f64 {
        self.limit
    }

    #[inline]
    fn take(&mut self, found: Found) {
        let Want::Nearest(k) = self.want else {
            if self.want.admits(found.key) {
                self.found.push(found);
            }
            return;
        };
        if self.found.len() == k {
            if self.found[k - 1].order(&found).is_lt() {
                return;
            }
            self.found.pop();
        }
        let place = match k {
            0..=32 => self.found.iter().rposition(|own| own.order(&found).is_lt()).map_or(0, |place| place + 1),
            _ => self.found.partition_point(|own| own.order(&found).is_lt()),
        };
        self.found.insert(place, found);
        if self.found.len() == k {
            self.limit = self.found[k - 1].key;
        }
    }
}
