//! The smallest spanning tree of samples by mutual reachability: the larger of the distance of two samples and their core distances.
//!
//! In few dimensions by Borůvka's rounds (1926) over a k-d tree, as March, Ram and Gray (2010): every component takes the shortest edge
//! that leaves it. What a search finds for a sample stays right as long as the other end is in another component, and bounds later
//! searches from below, so that most samples are asked once or twice. Searches leave out boxes within the own component and those
//! whose core distances are all too large. Tasks are cut by the order of the tree and combined in order, so that the tree does not
//! depend on the number of threads. In more dimensions, and for few samples, by Prim's algorithm (1957).

use std::collections::HashMap;

use super::linkage::Joined;
use crate::distance::squared;
use crate::neighbors::{Collect, Found, Index, KdTree, LOW, Metric, NeighborSettings};
use crate::selection::in_parallel;
use crate::{LearnError, Result, Samples};

/// Samples of one task.
const BLOCK: usize = 256;
/// Nearest samples that are kept as first ends of edges.
const NEAR: usize = 16;
/// Samples up to which all pairs are looked at, so that ties fall as in scikit-learn.
const SMALL: usize = 2048;
/// A node with samples of several components.
const MIXED: u32 = u32::MAX;

/// An edge between two samples, with its length.
pub(super) type Edge = (usize, usize, f64);

/// The edges of the tree; the `least`-th nearest sample, itself counted, gives the core distance.
pub(super) fn spanning_tree(who: &'static str, samples: &Samples, least: usize) -> Result<Vec<Edge>> {
    let (rows, d) = (samples.x().dense(who)?.to_f64_vec(), samples.width());
    if d <= LOW && samples.len() > SMALL {
        return rounds(who, &rows, d, least);
    }
    let found = Index::new(who, &NeighborSettings::default(), samples)?.nearest_in_fit(samples.x(), least)?;
    let core: Vec<f64> = found.chunks_exact(least).map(|row| row[least - 1].0).collect();
    prim(who, &rows, d, &core)
}

/// Borůvka's rounds; edges by length, of equally long ones by their samples.
fn rounds(who: &'static str, rows: &[f64], d: usize, least: usize) -> Result<Vec<Edge>> {
    let mut tree = KdTree::new(rows.to_vec(), d, Metric::Euclidean);
    let order = tree.renumber();
    let row = |&i: &u32| &rows[i as usize * d..(i as usize + 1) * d];
    let mut forest = Forest::new(tree, order.iter().flat_map(row).copied().collect(), d, least);
    let mut edges = Vec::with_capacity(order.len());
    while forest.count > 1 {
        if tove_optim::interrupted() {
            return Err(LearnError::Interrupted { who });
        }
        forest.round(&mut edges);
    }
    let ends = |a: u32, b: u32| (order[a as usize] as usize, order[b as usize] as usize);
    let named = edges.into_iter().map(|(a, b, key)| (ends(a, b), f64::sqrt(key)));
    let mut edges: Vec<Edge> = named.map(|((a, b), length)| (a.min(b), a.max(b), length)).collect();
    edges.sort_unstable_by(|a, b| a.2.total_cmp(&b.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    Ok(edges)
}

/// The smallest keys, without the samples that are as near as the last.
struct Smallest {
    count: usize,
    found: Vec<(f64, u32)>,
}

impl Smallest {
    fn last(&self) -> f64 {
        if self.found.len() == self.count { self.found[self.count - 1].0 } else { f64::INFINITY }
    }
}

impl Collect for Smallest {
    #[inline(always)]
    fn limit(&self) -> f64 {
        let last = self.last();
        // Nothing is nearer than a copy.
        if last == 0.0 { -1.0 } else { last }
    }

    #[inline]
    fn take(&mut self, Found { key, sample }: Found) {
        if key < self.last() {
            if self.found.len() == self.count {
                self.found.pop();
            }
            let place = self.found.partition_point(|own| own.0 <= key);
            self.found.insert(place, (key, sample));
        }
    }
}

/// The shortest edge of a sample to another component.
struct Leave<'a> {
    forest: &'a Forest,
    own: u32,
    core: f64,
    /// Only shorter edges are of interest.
    limit: f64,
    other: Option<u32>,
}

impl Collect for Leave<'_> {
    #[inline(always)]
    fn limit(&self) -> f64 {
        // No edge of a sample is shorter than its core distance.
        if self.limit <= self.core { -1.0 } else { self.limit }
    }

    #[inline]
    fn take(&mut self, Found { key, sample }: Found) {
        let place = sample as usize;
        let length = key.max(self.forest.core[place]).max(self.core);
        if length < self.limit && self.forest.component[place] != self.own {
            (self.limit, self.other) = (length, Some(sample));
        }
    }

    #[inline(always)]
    fn skips(&self, node: usize) -> bool {
        self.forest.inside[node] == self.own || self.forest.least_core[node] >= self.limit
    }
}

/// Components of samples; samples are numbered in the order of the tree, distances squared.
struct Forest {
    tree: KdTree,
    rows: Vec<f64>,
    d: usize,
    core: Vec<f64>,
    /// The smallest core distance in each node.
    least_core: Vec<f64>,
    component: Vec<u32>,
    /// The component that all samples of a node are in, or [`MIXED`].
    inside: Vec<u32>,
    /// The other end of the shortest edge that leaves the component of each sample, if that was asked for.
    other: Vec<Option<u32>>,
    /// The length of that edge; no edge is shorter that leaves a larger component.
    length: Vec<f64>,
    joined: Joined,
    /// Number of components.
    count: usize,
}

/// What a search found for a sample: a length that no edge falls below, and the other end of the edge that has it.
type Answer = (u32, f64, Option<u32>);

impl Forest {
    fn new(tree: KdTree, rows: Vec<f64>, d: usize, least: usize) -> Forest {
        let n = rows.len() / d;
        let blocks = in_parallel(n.div_ceil(BLOCK), |block| {
            let own = rows[block * BLOCK * d..((block + 1) * BLOCK).min(n) * d].chunks_exact(d);
            own.map(|row| {
                let mut nearest = Smallest { count: least, found: Vec::with_capacity(least + 1) };
                tree.search(row, &mut nearest);
                let core = nearest.found.last().map_or(f64::INFINITY, |last| last.0);
                nearest.found.truncate(NEAR);
                (core, nearest.found)
            })
            .collect::<Vec<_>>()
        });
        let (core, near): (Vec<f64>, Vec<Vec<(f64, u32)>>) = blocks.into_iter().flatten().unzip();
        let mut forest = Forest {
            least_core: Vec::new(),
            inside: Vec::new(),
            component: (0..n as u32).collect(),
            other: vec![None; n],
            length: vec![0.0; n],
            joined: Joined::new(n),
            count: n,
            tree,
            rows,
            d,
            core,
        };
        forest.least_core =
            forest.by_node(|samples| samples.map(|p| forest.core[p]).fold(f64::INFINITY, f64::min), f64::min);
        forest.enclose();
        // At first every sample is alone: the samples near it give short edges.
        let answers = in_parallel(n.div_ceil(BLOCK), |block| {
            let samples = block * BLOCK..((block + 1) * BLOCK).min(n);
            samples
                .map(|p| {
                    let core = forest.core[p];
                    let ends = near[p].iter().filter(|end| end.1 as usize != p);
                    let first = ends.fold((f64::INFINITY, None), |best, &(key, other)| {
                        let length = key.max(core).max(forest.core[other as usize]);
                        if length < best.0 { (length, Some(other)) } else { best }
                    });
                    forest.ask(p, first.0, first.1)
                })
                .collect::<Vec<Answer>>()
        });
        forest.note(answers.into_iter().flatten());
        forest
    }

    /// A number for each node from those of its samples or children.
    fn by_node<V: Copy>(&self, of: impl Fn(std::ops::Range<usize>) -> V, both: impl Fn(V, V) -> V) -> Vec<V> {
        let leaves = 1usize << self.tree.depth();
        let mut values: Vec<V> = (0..leaves).rev().map(|leaf| of(self.tree.leaf_range(leaf))).collect();
        // From the last node to the first.
        for node in (0..leaves - 1).rev() {
            let place = |node: usize| 2 * leaves - 2 - node;
            values.push(both(values[place(2 * node + 1)], values[place(2 * node + 2)]));
        }
        values.reverse();
        values
    }

    fn enclose(&mut self) {
        let of = |mut samples: std::ops::Range<usize>| {
            let first = samples.next().map_or(MIXED, |p| self.component[p]);
            if samples.all(|p| self.component[p] == first) { first } else { MIXED }
        };
        self.inside = self.by_node(of, |a, b| if a == b { a } else { MIXED });
    }

    /// The shortest edge of a sample that leaves its component, if it is shorter than `limit`, else the one that is given.
    fn ask(&self, p: usize, limit: f64, other: Option<u32>) -> Answer {
        let mut leave = Leave { forest: self, own: self.component[p], core: self.core[p], limit, other };
        if limit > leave.core {
            self.tree.search(&self.rows[p * self.d..(p + 1) * self.d], &mut leave);
        }
        (p as u32, leave.limit, leave.other)
    }

    fn note(&mut self, answers: impl Iterator<Item = Answer>) {
        for (p, length, other) in answers {
            (self.length[p as usize], self.other[p as usize]) = (length, other);
        }
    }

    /// Whether the edge of a sample still leaves its component.
    fn leaves(&self, p: usize) -> Option<u32> {
        self.other[p].filter(|&other| self.component[other as usize] != self.component[p])
    }

    /// The shortest known edge of each component, by the number of one of its samples.
    fn shortest(&self) -> Vec<(f64, u32)> {
        let mut best = vec![(f64::INFINITY, 0); self.component.len()];
        for p in 0..self.component.len() {
            let own = &mut best[self.component[p] as usize];
            if self.length[p] < own.0 && self.leaves(p).is_some() {
                *own = (self.length[p], p as u32);
            }
        }
        best
    }

    /// Joins every component with the one nearest to it.
    fn round(&mut self, edges: &mut Vec<(u32, u32, f64)>) {
        let n = self.component.len();
        let mut best = self.shortest();
        // Components without a known edge begin with the sample whose edges may be shortest.
        let mut first = vec![(f64::INFINITY, u32::MAX); n];
        for p in 0..n {
            let component = self.component[p] as usize;
            if best[component].0 == f64::INFINITY
                && (self.length[p] < first[component].0 || first[component].1 == u32::MAX)
            {
                first[component] = (self.length[p], p as u32);
            }
        }
        let starts: Vec<usize> = first.into_iter().filter(|own| own.1 != u32::MAX).map(|own| own.1 as usize).collect();
        let answers = in_parallel(starts.len(), |start| self.ask(starts[start], f64::INFINITY, None));
        self.note(answers.into_iter());
        best = if starts.is_empty() { best } else { self.shortest() };
        let answers = in_parallel(n.div_ceil(BLOCK), |block| {
            let (mut limits, mut answers) = (HashMap::new(), Vec::new());
            for p in block * BLOCK..((block + 1) * BLOCK).min(n) {
                let component = self.component[p];
                let limit = *limits.entry(component).or_insert(best[component as usize].0);
                if self.length[p] < limit && self.leaves(p).is_none() {
                    let answer = self.ask(p, limit, None);
                    limits.insert(component, answer.1);
                    answers.push(answer);
                }
            }
            answers
        });
        self.note(answers.into_iter().flatten());
        for (component, (length, p)) in self.shortest().into_iter().enumerate() {
            let Some(other) = self.other[p as usize].filter(|_| length < f64::INFINITY) else { continue };
            debug_assert_eq!(self.component[p as usize] as usize, component);
            // Another component may have chosen the same edge, or one as short.
            if self.joined.find(p as usize) != self.joined.find(other as usize) {
                self.joined.join(p as usize, other as usize, length);
                self.count -= 1;
                edges.push((p, other, length));
            }
        }
        // Components are named by their first samples.
        let mut names = vec![u32::MAX; 2 * n];
        for p in 0..n {
            let root = self.joined.find(p);
            if names[root] == u32::MAX {
                names[root] = p as u32;
            }
            self.component[p] = names[root];
        }
        self.enclose();
    }
}

/// Prim's algorithm: the sample nearest to the tree joins it.
fn prim(who: &'static str, rows: &[f64], d: usize, core: &[f64]) -> Result<Vec<Edge>> {
    let n = core.len();
    let row = |i: usize| &rows[i * d..(i + 1) * d];
    let (mut least, mut from, mut inside) = (vec![f64::INFINITY; n], vec![0usize; n], vec![false; n]);
    let (mut edges, mut at) = (Vec::with_capacity(n - 1), 0);
    for step in 1..n {
        if step % 64 == 0 && tove_optim::interrupted() {
            return Err(LearnError::Interrupted { who });
        }
        inside[at] = true;
        let (mut next, mut shortest) = (usize::MAX, f64::INFINITY);
        for other in (0..n).filter(|&other| !inside[other]) {
            let reach = core[at].max(core[other]);
            // Distances below the core distance need not be known.
            if reach < least[other] {
                let length = squared(row(at), row(other)).sqrt().max(reach);
                if length < least[other] {
                    (least[other], from[other]) = (length, at);
                }
            }
            if next == usize::MAX || least[other] < shortest {
                (next, shortest) = (other, least[other]);
            }
        }
        edges.push((from[next], next, shortest));
        at = next;
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use tove_tensor::{DType, Key};

    use super::*;

    /// The same lengths as those of Prim's tree, with copies and ties, and the same edges for any number of threads.
    #[test]
    fn rounds_find_the_smallest_tree() {
        for (n, d, steps) in [(2, 1, 0.0), (30, 2, 3.0), (700, 1, 50.0), (1000, 2, 8.0), (900, 3, 0.0), (400, 15, 2.0)]
        {
            let noise = Key::new(n as u64).uniform([n, d], DType::F64).to_f64_vec();
            let place = |x: &f64| if steps > 0.0 { (x * steps).floor() } else { *x };
            let rows: Vec<f64> = noise.iter().map(place).collect();
            for least in [1, 2, 7.min(n)] {
                let core: Vec<f64> = rows
                    .chunks(d)
                    .map(|own| {
                        let mut all: Vec<f64> = rows.chunks(d).map(|row| squared(own, row).sqrt()).collect();
                        all.sort_by(f64::total_cmp);
                        all[least - 1]
                    })
                    .collect();
                let mut expected: Vec<f64> = prim("test", &rows, d, &core).unwrap().iter().map(|edge| edge.2).collect();
                expected.sort_by(f64::total_cmp);
                let edges = rounds("test", &rows, d, least).unwrap();
                assert_eq!(edges.iter().map(|edge| edge.2).collect::<Vec<_>>(), expected, "{n} {d} {least}");
                let mut joined = Joined::new(n);
                for &(a, b, _) in &edges {
                    assert_ne!(joined.find(a), joined.find(b));
                    joined.join(a, b, 0.0);
                }
                for threads in [1, 2, 3, 8] {
                    tove_tensor::set_num_threads(threads);
                    assert_eq!(rounds("test", &rows, d, least).unwrap(), edges);
                }
                tove_tensor::set_num_threads(0);
            }
        }
    }
}
