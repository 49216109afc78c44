//! A k-d tree: samples in boxes that are halved along their widest side (Bentley 1975; Friedman, Bentley, Finkel 1977).
//!
//! The tree is balanced and stored without pointers: the children of node i are 2 i + 1 and 2 i + 2, and all leaves are on one level.
//! A query goes down to its own leaf and then visits the boxes that could still hold a nearer sample, by a lower bound of the distance
//! that is rounded down.

use std::sync::{Mutex, PoisonError};

use super::metric::Metric;
use super::result::Found;
use crate::distance::{LANES, absolute, squared};
use crate::selection::in_parallel;

/// Samples in a leaf at most.
const LEAF: usize = 24;
/// Levels that are split before the rest is split in parallel.
const TOP: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct KdTree {
    d: usize,
    manhattan: bool,
    /// Numbers of the samples, leaf after leaf.
    samples: Vec<u32>,
    /// The samples in that order; below [`LANES`] dimensions the first coordinates of a leaf stand together, then the second ones.
    coordinates: Vec<f64>,
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
}

impl KdTree {
    /// A tree over rows (n, d) for a metric with differences of coordinates: Euclidean, Mahalanobis (of whitened rows) or Manhattan.
    pub(crate) fn new(rows: &[f64], d: usize, metric: Metric) -> KdTree {
        let n = rows.len() / d;
        let mut depth = 0;
        while n.div_ceil(1 << depth) > LEAF {
            depth += 1;
        }
        let mut samples: Vec<u32> = (0..n as u32).collect();
        let mut splits = vec![(0, 0.0); (1 << depth) - 1];
        let mut found = Vec::with_capacity(splits.len());
        let top = depth.min(TOP);
        split(rows, d, &mut samples, &mut found, 0, top);
        // What is below the first levels is split side by side.
        let mut rest: &mut [u32] = &mut samples;
        let mut parts = Vec::with_capacity(1 << top);
        for part in 0..1 << top {
            let (own, others) = rest.split_at_mut(range(n, top, part).len());
            parts.push(Mutex::new(own));
            rest = others;
        }
        let below = in_parallel(parts.len(), |part| {
            let (mut own, mut found) = (parts[part].lock().unwrap_or_else(PoisonError::into_inner), Vec::new());
            split(rows, d, &mut own, &mut found, (1 << top) - 1 + part, depth - top);
            found
        });
        drop(parts);
        for (node, split) in found.into_iter().chain(below.into_iter().flatten()) {
            splits[node] = split;
        }
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        for row in rows.chunks_exact(d) {
            for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(row) {
                *low = low.min(x);
                *high = high.max(x);
            }
        }
        let mut coordinates = Vec::with_capacity(rows.len());
        for leaf in 0..1 << depth {
            let own = &samples[range(n, depth, leaf)];
            let row = |sample: u32| &rows[sample as usize * d..(sample as usize + 1) * d];
            match d < LANES {
                true => (0..d).for_each(|j| coordinates.extend(own.iter().map(|&sample| row(sample)[j]))),
                false => own.iter().for_each(|&sample| coordinates.extend_from_slice(row(sample))),
            }
        }
        KdTree { d, manhattan: metric == Metric::Manhattan, samples, coordinates, splits, depth, low, high }
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
        let range = range(self.samples.len(), self.depth, leaf);
        let (samples, d) = (&self.samples[range.clone()], self.d);
        let block = &self.coordinates[range.start * d..range.end * d];
        let mut keys = [0.0; LEAF];
        let keys = &mut keys[..samples.len()];
        if d < LANES {
            // In the order of `squared` and `absolute` for so few numbers.
            for (column, &q) in block.chunks_exact(samples.len().max(1)).zip(query) {
                match self.manhattan {
                    true => keys.iter_mut().zip(column).for_each(|(key, x)| *key += (q - x).abs()),
                    false => keys.iter_mut().zip(column).for_each(|(key, x)| *key += (q - x) * (q - x)),
                }
            }
        } else {
            for (key, row) in keys.iter_mut().zip(block.chunks_exact(d)) {
                *key = if self.manhattan { absolute(query, row) } else { squared(query, row) };
            }
        }
        for (&key, &sample) in keys.iter().zip(samples) {
            if key <= collect.limit() {
                collect.take(Found { key, sample });
            }
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

/// Splits so many levels of the tree below a node.
fn split(rows: &[f64], d: usize, samples: &mut [u32], splits: &mut Vec<(usize, Split)>, node: usize, levels: usize) {
    if levels == 0 {
        return;
    }
    let at = |sample: u32, j: usize| rows[sample as usize * d + j];
    let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
    for &sample in samples.iter() {
        for j in 0..d {
            low[j] = low[j].min(at(sample, j));
            high[j] = high[j].max(at(sample, j));
        }
    }
    let widest = (1..d).fold(0, |best, j| if high[j] - low[j] > high[best] - low[best] { j } else { best });
    let middle = samples.len().div_ceil(2);
    // Of equal coordinates the smaller number goes left, so that the tree does not depend on how the selection goes about it.
    let order = |a: &u32, b: &u32| at(*a, widest).total_cmp(&at(*b, widest)).then(a.cmp(b));
    samples.select_nth_unstable_by(middle - 1, order);
    splits.push((node, (widest as u32, at(samples[middle - 1], widest))));
    let (left, right) = samples.split_at_mut(middle);
    split(rows, d, left, splits, 2 * node + 1, levels - 1);
    split(rows, d, right, splits, 2 * node + 2, levels - 1);
}

#[cfg(test)]
mod tests {
    use tove_tensor::{DType, Key};

    use super::*;

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
        for (n, d) in [(1, 1), (24, 2), (25, 2), (1000, 3), (777, 9)] {
            // A grid, so that many samples lie on the border.
            let rows: Vec<f64> =
                Key::new(n as u64).uniform([n, d], DType::F64).to_f64_vec().iter().map(|x| (x * 6.0).floor()).collect();
            for metric in [Metric::Euclidean, Metric::Manhattan] {
                let tree = KdTree::new(&rows, d, metric);
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
