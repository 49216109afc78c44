//! A k-d tree: samples in boxes that are halved along their widest side (Bentley 1975; Friedman, Bentley, Finkel 1977).
//!
//! The tree is balanced and stored without pointers: the children of node i are 2 i + 1 and 2 i + 2, and all leaves are on one level.
//! A query goes down to its own leaf and then visits the boxes that could still hold a nearer sample, by a lower bound of the distance
//! that is rounded down.

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};

use super::metric::Metric;
use super::result::Found;
use crate::distance::LANES;
use crate::selection::in_parallel;

/// Samples in a leaf at most.
const LEAF: usize = 24;
/// Samples of a leaf that are compared together.
const GROUP: usize = 8;
/// Levels whose nodes are split one level at a time, side by side.
const TOP: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct KdTree {
    d: usize,
    manhattan: bool,
    /// Numbers of the samples, leaf after leaf.
    samples: Vec<u32>,
    /// The samples in that order: the first coordinates of a leaf stand together, then the second ones. Leaves are filled up to
    /// `stride` samples with NaN.
    coordinates: Vec<f64>,
    /// Places for samples in a leaf.
    stride: usize,
    /// Where each node splits: dimension and value.
    splits: Vec<Split>,
    /// Levels above the leaves.
    depth: usize,
    /// The box around all samples.
    low: Vec<f64>,
    high: Vec<f64>,
}

/// What a search collects: a key that is still of interest, and a place for what was found.
pub(crate) trait Collect {
    /// Samples with larger keys are of no use any more.
    fn limit(&self) -> f64;
    /// Takes a sample whose key is at most the limit.
    fn take(&mut self, found: Found);
    /// Whether nothing below this node is of use.
    #[inline(always)]
    fn skips(&self, _node: usize) -> bool {
        false
    }
}

impl KdTree {
    /// A tree over rows (n, d) for a metric with differences of coordinates: Euclidean, Mahalanobis (of whitened rows) or Manhattan.
    pub(crate) fn new(mut rows: Vec<f64>, d: usize, metric: Metric) -> KdTree {
        let n = rows.len() / d;
        let mut depth = 0;
        while n.div_ceil(1 << depth) > LEAF {
            depth += 1;
        }
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        widen(&rows, &mut low, &mut high);
        let mut samples: Vec<u32> = (0..n as u32).collect();
        let mut splits = vec![(0, 0.0); (1 << depth) - 1];
        let top = depth.min(TOP);
        for level in 0..=top {
            // The nodes of the last of these levels split all that is below them.
            let levels = if level == top { depth - top } else { 1 };
            let (mut rest, mut rest_rows) = (&mut samples[..], &mut rows[..]);
            let mut parts = Vec::with_capacity(1 << level);
            for part in 0..1 << level {
                let count = range(n, level, part).len();
                let (own, others) = rest.split_at_mut(count);
                let (own_rows, other_rows) = rest_rows.split_at_mut(count * d);
                parts.push(Mutex::new((own, own_rows)));
                (rest, rest_rows) = (others, other_rows);
            }
            let found = in_parallel(parts.len(), |part| {
                let mut own = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
                let (samples, rows) = &mut *own;
                let mut splitter = Splitter { d, keys: Vec::new(), rows: Vec::new(), splits: Vec::new() };
                splitter.split(samples, rows, (1 << level) - 1 + part, levels);
                splitter.splits
            });
            for (node, split) in found.into_iter().flatten() {
                splits[node] = split;
            }
        }
        let stride = n.div_ceil(1 << depth).next_multiple_of(GROUP);
        let mut coordinates = vec![f64::NAN; (stride * d) << depth];
        for (leaf, block) in coordinates.chunks_exact_mut(stride * d).enumerate() {
            let own = range(n, depth, leaf);
            for (place, row) in rows[own.start * d..own.end * d].chunks_exact(d).enumerate() {
                row.iter().enumerate().for_each(|(j, &x)| block[j * stride + place] = x);
            }
        }
        KdTree { d, manhattan: metric == Metric::Manhattan, samples, coordinates, stride, splits, depth, low, high }
    }

    /// Renumbers the samples in the order of the leaves, and returns the former number of each.
    pub(crate) fn renumber(&mut self) -> Vec<u32> {
        let order = (0..self.samples.len() as u32).collect();
        std::mem::replace(&mut self.samples, order)
    }

    /// Levels above the leaves: there are 2^depth of these, the last nodes of all.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Which samples, in the order of the leaves, a leaf has.
    pub(crate) fn leaf_range(&self, leaf: usize) -> std::ops::Range<usize> {
        range(self.samples.len(), self.depth, leaf)
    }

    /// Hands all samples over that the collector may want.
    pub(crate) fn search(&self, query: &[f64], collect: &mut impl Collect) {
        let term = |gap: f64| if self.manhattan { gap } else { gap * gap };
        let mut gaps = vec![0.0; self.d];
        let mut bound = 0.0;
        for (((gap, &q), &low), &high) in gaps.iter_mut().zip(query).zip(&self.low).zip(&self.high) {
            *gap = (low - q).max(q - high).max(0.0);
            bound += term(*gap);
        }
        self.visit(0, 0, bound, &mut gaps, query, collect);
    }

    fn visit(
        &self,
        node: usize,
        level: usize,
        bound: f64,
        gaps: &mut [f64],
        query: &[f64],
        collect: &mut impl Collect,
    ) {
        if collect.skips(node) {
            return;
        }
        if level == self.depth {
            self.leaf(node + 1 - (1 << self.depth), query, collect);
            return;
        }
        let (dimension, value) = self.splits[node];
        let dimension = dimension as usize;
        let offset = query[dimension] - value;
        let (near, far) = if offset <= 0.0 { (2 * node + 1, 2 * node + 2) } else { (2 * node + 2, 2 * node + 1) };
        self.visit(near, level + 1, bound, gaps, query, collect);
        let (gap, before) = (offset.abs(), gaps[dimension]);
        let farther = if self.manhattan { bound - before + gap } else { bound - before * before + gap * gap };
        // Rounding of the bound must not hide a sample.
        let slack = 1.0 - 4.0 * (self.depth + self.d + 4) as f64 * f64::EPSILON;
        if farther * slack <= collect.limit() {
            gaps[dimension] = gap;
            self.visit(far, level + 1, farther.max(bound), gaps, query, collect);
            gaps[dimension] = before;
        }
    }

    fn leaf(&self, leaf: usize, query: &[f64], collect: &mut impl Collect) {
        let samples = &self.samples[range(self.samples.len(), self.depth, leaf)];
        let size = self.stride * self.d;
        let block = &self.coordinates[leaf * size..(leaf + 1) * size];
        let mut keys = [0.0; LEAF];
        let keys = &mut keys[..self.stride];
        dispatch(LeafKeys { block, stride: self.stride, query, manhattan: self.manhattan, keys });
        for (&key, &sample) in keys.iter().zip(samples) {
            if key <= collect.limit() {
                collect.take(Found { key, sample });
            }
        }
    }
}

/// The keys of all places of a leaf.
struct LeafKeys<'a> {
    block: &'a [f64],
    stride: usize,
    query: &'a [f64],
    manhattan: bool,
    keys: &'a mut [f64],
}

impl LeafKeys<'_> {
    /// Sums in the order of `squared` and `absolute`: coordinates go round in lanes, those that fill no round follow.
    #[inline(always)]
    fn sum(self, term: impl Fn(f64) -> f64) {
        let (rounds, rest) = self.query.as_chunks::<LANES>();
        for (group, keys) in self.keys.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            let column = |j: usize| {
                let start = j * self.stride + group * GROUP;
                self.block[start..start + GROUP].iter()
            };
            let mut sum = [0.0; GROUP];
            if !rounds.is_empty() {
                let mut lanes = [[0.0; GROUP]; LANES];
                for (round, query) in rounds.iter().enumerate() {
                    for (lane, (own, &q)) in lanes.iter_mut().zip(query).enumerate() {
                        own.iter_mut().zip(column(round * LANES + lane)).for_each(|(own, &x)| *own += term(q - x));
                    }
                }
                for (i, sum) in sum.iter_mut().enumerate() {
                    let of = |lane: usize| lanes[lane][i];
                    *sum = ((of(0) + of(4)) + (of(2) + of(6))) + ((of(1) + of(5)) + (of(3) + of(7)));
                }
            }
            let mut others = [0.0; GROUP];
            for (j, &q) in rest.iter().enumerate() {
                let columns = column(rounds.len() * LANES + j);
                others.iter_mut().zip(columns).for_each(|(own, &x)| *own += term(q - x));
            }
            keys.iter_mut().zip(sum).zip(others).for_each(|((key, sum), others)| *key = sum + others);
        }
    }
}

impl Kernel for LeafKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.manhattan {
            true => self.sum(f64::abs),
            false => self.sum(|gap| gap * gap),
        }
    }
}

/// The samples of a leaf.
fn range(n: usize, depth: usize, leaf: usize) -> std::ops::Range<usize> {
    // Halves of halves: the same cuts as those of `split`.
    let (mut start, mut end) = (0, n);
    for level in (0..depth).rev() {
        let middle = start + (end - start).div_ceil(2);
        if leaf >> level & 1 == 0 { end = middle } else { start = middle }
    }
    start..end
}

/// Where a node splits: dimension and value.
type Split = (u32, f64);

/// Widens a box so that these rows are inside.
fn widen(rows: &[f64], low: &mut [f64], high: &mut [f64]) {
    for row in rows.chunks_exact(low.len()) {
        for ((low, high), &x) in low.iter_mut().zip(&mut *high).zip(row) {
            *low = low.min(x);
            *high = high.max(x);
        }
    }
}

/// Splits nodes; samples and their rows are put in the order of the leaves.
struct Splitter {
    d: usize,
    /// Coordinate, number and place of the samples of a node.
    keys: Vec<(f64, u32, u32)>,
    rows: Vec<f64>,
    splits: Vec<(usize, Split)>,
}

impl Splitter {
    /// Splits so many levels of the tree below a node.
    fn split(&mut self, samples: &mut [u32], rows: &mut [f64], node: usize, levels: usize) {
        if levels == 0 {
            return;
        }
        let d = self.d;
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        widen(rows, &mut low, &mut high);
        let widest = (1..d).fold(0, |best, j| if high[j] - low[j] > high[best] - low[best] { j } else { best });
        let middle = samples.len().div_ceil(2);
        let keys = rows.chunks_exact(d).zip(&*samples).zip(0u32..);
        self.keys.clear();
        self.keys.extend(keys.map(|((row, &sample), place)| (row[widest], sample, place)));
        // Of equal coordinates the smaller number goes left, so that the tree does not depend on how the selection goes about it.
        self.keys.select_nth_unstable_by(middle - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.splits.push((node, (widest as u32, self.keys[middle - 1].0)));
        self.rows.clear();
        for (sample, &(_, number, place)) in samples.iter_mut().zip(&self.keys) {
            *sample = number;
            self.rows.extend_from_slice(&rows[place as usize * d..(place as usize + 1) * d]);
        }
        rows.copy_from_slice(&self.rows);
        let ((left, right), (left_rows, right_rows)) = (samples.split_at_mut(middle), rows.split_at_mut(middle * d));
        self.split(left, left_rows, 2 * node + 1, levels - 1);
        self.split(right, right_rows, 2 * node + 2, levels - 1);
    }
}

#[cfg(test)]
mod tests {
    use tove_tensor::{DType, Key};

    use super::*;
    use crate::distance::{absolute, squared};

    struct All(f64, Vec<Found>);

    impl Collect for All {
        fn limit(&self) -> f64 {
            self.0
        }
        fn take(&mut self, found: Found) {
            self.1.push(found);
        }
    }

    #[test]
    fn a_search_finds_exactly_what_lies_within_the_limit() {
        for (n, d) in [(1, 1), (24, 2), (25, 2), (1000, 3), (777, 9), (300, 16), (90, 19)] {
            // A grid, so that many samples lie on the border.
            let rows: Vec<f64> =
                Key::new(n as u64).uniform([n, d], DType::F64).to_f64_vec().iter().map(|x| (x * 6.0).floor()).collect();
            for metric in [Metric::Euclidean, Metric::Manhattan] {
                let tree = KdTree::new(rows.clone(), d, metric);
                for query in rows.chunks_exact(d).take(20) {
                    let mut found = All(3.0, Vec::new());
                    tree.search(query, &mut found);
                    let mut own: Vec<u32> = found.1.iter().map(|found| found.sample).collect();
                    own.sort_unstable();
                    let key =
                        |row| if metric == Metric::Manhattan { absolute(query, row) } else { squared(query, row) };
                    let all = rows.chunks_exact(d).enumerate().filter(|(_, row)| key(row) <= 3.0);
                    assert_eq!(own, all.map(|(i, _)| i as u32).collect::<Vec<_>>());
                }
            }
        }
    }
}
