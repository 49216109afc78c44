//! Trees of merges: the nearest-neighbor chain for agglomerative clustering, and merges from edges in order.

use std::sync::{Mutex, PoisonError};

use tove_optim::settings::Choice;
use tove_tensor::pool::parallel_for;

use crate::distance::squared;
use crate::{LearnError, Result, memory};

/// Samples whose distances one task finds.
const BLOCK: usize = 64;

/// How the distance of two clusters follows from those of their samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Linkage {
    /// Growth of the sum of squares within clusters when they are joined (Ward 1963).
    #[default]
    Ward,
    /// The largest distance of two samples.
    Complete,
    /// The mean distance of two samples.
    Average,
    /// The smallest distance of two samples.
    Single,
}

/// Two clusters that are joined: samples are 0 … n − 1, what step i makes is n + i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Merge {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) distance: f64,
    pub(super) size: usize,
}

/// Which cluster a sample is in at present.
pub(super) struct Joined {
    parent: Vec<usize>,
    size: Vec<usize>,
    next: usize,
}

impl Joined {
    pub(super) fn new(n: usize) -> Joined {
        Joined { parent: (0..2 * n).collect(), size: (0..2 * n).map(|i| usize::from(i < n)).collect(), next: n }
    }

    pub(super) fn find(&mut self, sample: usize) -> usize {
        let mut root = sample;
        while self.parent[root] != root {
            root = self.parent[root];
        }
        let mut at = sample;
        while self.parent[at] != root {
            at = std::mem::replace(&mut self.parent[at], root);
        }
        root
    }

    /// Joins the clusters of two samples.
    pub(super) fn join(&mut self, a: usize, b: usize, distance: f64) -> Merge {
        let (a, b) = (self.find(a), self.find(b));
        let (a, b) = (a.min(b), a.max(b));
        let (new, size) = (self.next, self.size[a] + self.size[b]);
        (self.parent[a], self.parent[b], self.size[new]) = (new, new, size);
        self.next += 1;
        Merge { a, b, distance, size }
    }
}

/// Merges of pairs of samples with distances, nearest first; of equally near ones the one that was given first.
pub(super) fn in_order(n: usize, mut edges: Vec<(usize, usize, f64)>) -> Vec<Merge> {
    edges.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut joined = Joined::new(n);
    edges.into_iter().map(|(a, b, distance)| joined.join(a, b, distance)).collect()
}

/// The distances of all pairs of rows (n, d): those of i to all before it stand at i (i − 1) / 2. They are written where they stay, since
/// there may be no room for a second copy.
fn pairs(who: &'static str, rows: &[f64], d: usize) -> Result<Vec<f64>> {
    let n = rows.len() / d;
    let row = |i: usize| &rows[i * d..(i + 1) * d];
    let mut table = vec![0.0; n * (n - 1) / 2];
    let (mut rest, mut blocks) = (&mut table[..], Vec::new());
    for first in (0..n).step_by(BLOCK) {
        let own = first..(first + BLOCK).min(n);
        let (part, after) = rest.split_at_mut(own.clone().sum());
        blocks.push(Mutex::new((own, part)));
        rest = after;
    }
    parallel_for(blocks.len(), &|block| {
        if tove_optim::interrupted() {
            return;
        }
        let mut block = blocks[block].lock().unwrap_or_else(PoisonError::into_inner);
        let (own, part) = &mut *block;
        let distances = own.clone().flat_map(|i| (0..i).map(move |j| squared(row(i), row(j)).sqrt()));
        part.iter_mut().zip(distances).for_each(|(to, distance)| *to = distance);
    });
    drop(blocks);
    if tove_optim::interrupted() { Err(LearnError::Interrupted { who }) } else { Ok(table) }
}

/// The whole tree of merges of rows (n, d), n at least 2.
pub(super) fn tree(who: &'static str, rows: &[f64], d: usize, linkage: Linkage) -> Result<Vec<Merge>> {
    let n = rows.len() / d;
    let what = || format!("the distances of {n} samples to each other");
    let fix = "take fewer samples, or use KMeans or DBSCAN";
    memory::require_with(who, what, memory::matrix(n, n, 4), fix)?;
    let place = |i: usize, j: usize| if i > j { i * (i - 1) / 2 + j } else { j * (j - 1) / 2 + i };
    let mut table = pairs(who, rows, d)?;
    let mut sizes = vec![1usize; n];
    let (mut chain, mut edges): (Vec<usize>, Vec<(usize, usize, f64)>) = (Vec::new(), Vec::with_capacity(n - 1));
    while edges.len() + 1 < n {
        if edges.len() % 64 == 0 && tove_optim::interrupted() {
            return Err(LearnError::Interrupted { who });
        }
        if chain.is_empty() {
            chain.extend(sizes.iter().position(|&size| size > 0));
        }
        let (a, b, distance) = loop {
            let Some(&last) = chain.last() else { break (0, 0, 0.0) };
            let before = chain.len().checked_sub(2).map(|place| chain[place]);
            // The one before in the chain wins ties, so that the chain ends.
            let (mut nearest, mut least) =
                before.map_or((last, f64::INFINITY), |other| (other, table[place(last, other)]));
            for (other, _) in sizes.iter().enumerate().filter(|&(other, &size)| size > 0 && other != last) {
                let distance = table[place(last, other)];
                if distance < least {
                    (nearest, least) = (other, distance);
                }
            }
            if before == Some(nearest) {
                chain.truncate(chain.len() - 2);
                break (nearest, last, least);
            }
            chain.push(nearest);
        };
        // Cluster b now stands for both.
        let (n_a, n_b) = (sizes[a] as f64, sizes[b] as f64);
        sizes[a] = 0;
        for (other, &size) in sizes.iter().enumerate().filter(|&(other, &size)| size > 0 && other != b) {
            let (to_a, to_b, n_c) = (table[place(a, other)], table[place(b, other)], size as f64);
            table[place(b, other)] = match linkage {
                Linkage::Single => to_a.min(to_b),
                Linkage::Complete => to_a.max(to_b),
                Linkage::Average => (n_a * to_a + n_b * to_b) / (n_a + n_b),
                Linkage::Ward => {
                    let total = n_a + n_b + n_c;
                    let square = (n_a + n_c) / total * to_a * to_a + (n_b + n_c) / total * to_b * to_b;
                    (square - n_c / total * distance * distance).max(0.0).sqrt()
                }
            };
        }
        sizes[b] = (n_a + n_b) as usize;
        edges.push((a, b, distance));
    }
    Ok(in_order(n, edges))
}

/// Labels after the first so many merges, numbered by their first sample.
pub(super) fn cut(n: usize, merges: &[Merge]) -> Vec<i64> {
    let mut joined = Joined::new(n);
    for merge in merges {
        joined.join(merge.a, merge.b, merge.distance);
    }
    let mut names = std::collections::HashMap::new();
    let mut label = |i: usize| {
        let next = names.len() as i64;
        *names.entry(joined.find(i)).or_insert(next)
    };
    (0..n).map(&mut label).collect()
}
