//! Membership strengths of neighbors, and the graph they make.

use crate::selection::in_parallel;

/// Steps of the bisection, and how near to its target it must come.
const STEPS: usize = 64;
const TOLERANCE: f64 = 1e-5;
/// The smallest scale, relative to the mean distance.
const LEAST_SCALE: f64 = 1e-3;
/// Samples of one task.
const BLOCK: usize = 256;

/// Neighbors with their membership strengths, row by row; indices ascend within a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Graph {
    /// Where each row begins, and the end.
    pub starts: Vec<usize>,
    pub neighbors: Vec<u32>,
    pub weights: Vec<f64>,
}

impl Graph {
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let own = self.starts[i]..self.starts[i + 1];
        self.neighbors[own.clone()].iter().zip(&self.weights[own]).map(|(&j, &weight)| (j as usize, weight))
    }

    /// The largest weight.
    pub fn largest(&self) -> f64 {
        self.weights.iter().fold(0.0, |most, weight| most.max(*weight))
    }

    fn of_rows(rows: impl Iterator<Item = Vec<(u32, f64)>>) -> Graph {
        let mut graph = Graph { starts: vec![0], ..Graph::default() };
        for row in rows {
            graph.neighbors.extend(row.iter().map(|(j, _)| *j));
            graph.weights.extend(row.iter().map(|(_, weight)| *weight));
            graph.starts.push(graph.neighbors.len());
        }
        graph
    }

    fn transposed(&self) -> Graph {
        let n = self.len();
        let mut starts = vec![0; n + 1];
        self.neighbors.iter().for_each(|&j| starts[j as usize + 1] += 1);
        (0..n).for_each(|j| starts[j + 1] += starts[j]);
        let (mut next, mut neighbors) = (starts.clone(), vec![0; self.neighbors.len()]);
        let mut weights = vec![0.0; self.weights.len()];
        for i in 0..n {
            for (j, weight) in self.row(i) {
                (neighbors[next[j]], weights[next[j]]) = (i as u32, weight);
                next[j] += 1;
            }
        }
        Graph { starts, neighbors, weights }
    }
}

/// The distance up to which memberships are 1, and the scale by which they fall from there, such that they sum to `target`; distances
/// ascend, and the first is that of the sample to itself. `mean` is the mean distance of all samples.
pub(super) fn smooth(distances: &[f64], target: f64, local_connectivity: f64, mean: f64) -> (f64, f64) {
    let beyond = &distances[distances.partition_point(|&distance| distance <= 0.0)..];
    let (whole, part) = (local_connectivity.floor(), local_connectivity.fract());
    let near = if beyond.len() as f64 >= local_connectivity && !beyond.is_empty() {
        let index = whole as usize; // at most the length
        let before = if index > 0 { beyond[index - 1] } else { 0.0 };
        if part > TOLERANCE { before + part * (beyond[index] - before) } else { before }
    } else {
        beyond.last().copied().unwrap_or(0.0)
    };
    let sum = |scale: f64| -> f64 {
        let strength = |distance: &f64| if *distance > near { (-(distance - near) / scale).exp() } else { 1.0 };
        distances[1..].iter().map(strength).sum()
    };
    let own = distances.iter().sum::<f64>() / distances.len() as f64;
    let (mut low, mut high, mut scale) = (0.0, f64::INFINITY, if own > 0.0 { own } else { 1.0 });
    for _ in 0..STEPS {
        let found = sum(scale);
        if (found - target).abs() < TOLERANCE {
            break;
        }
        if found > target {
            high = scale;
        } else {
            low = scale;
        }
        scale = if high == f64::INFINITY { 2.0 * scale } else { 0.5 * (low + high) };
    }
    let least = LEAST_SCALE * if near > 0.0 { own } else { mean };
    (near, scale.max(least))
}

/// The membership strength of a neighbor.
pub(super) fn membership(distance: f64, near: f64, scale: f64) -> f64 {
    if distance <= near || scale <= 0.0 { 1.0 } else { (-(distance - near) / scale).exp() }
}

/// The graph of n samples with k neighbors each, themselves first: the strengths w and w' of both directions are combined to
/// r (w + w' − w w') + (1 − r) w w'.
pub(super) fn graph(found: &[(f64, u32)], k: usize, local_connectivity: f64, ratio: f64) -> Graph {
    let n = found.len() / k;
    let mean = found.iter().map(|(distance, _)| distance).sum::<f64>() / found.len() as f64;
    let target = (k as f64).log2();
    let strengths = |i: usize| -> Vec<(u32, f64)> {
        let own = &found[i * k..(i + 1) * k];
        let distances: Vec<f64> = own.iter().map(|(distance, _)| *distance).collect();
        let (near, scale) = smooth(&distances, target, local_connectivity, mean);
        let mut row: Vec<(u32, f64)> =
            own[1..].iter().map(|&(distance, j)| (j, membership(distance, near, scale))).collect();
        row.sort_unstable_by_key(|(j, _)| *j);
        row
    };
    let blocks = in_parallel(n.div_ceil(BLOCK), |block| {
        (block * BLOCK..n.min((block + 1) * BLOCK)).map(strengths).collect::<Vec<_>>()
    });
    let forward = Graph::of_rows(blocks.into_iter().flatten());
    let backward = forward.transposed();
    let combined = |i: usize| -> Vec<(u32, f64)> {
        let (mut ours, mut theirs) = (forward.row(i).peekable(), backward.row(i).peekable());
        let mut row = Vec::new();
        loop {
            let j = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.0.min(b.0),
                (Some(one), None) | (None, Some(one)) => one.0,
                (None, None) => return row,
            };
            let a = ours.next_if(|own| own.0 == j).map_or(0.0, |own| own.1);
            let b = theirs.next_if(|own| own.0 == j).map_or(0.0, |own| own.1);
            let weight = ratio * (a + b - a * b) + (1.0 - ratio) * (a * b);
            if weight > 0.0 {
                row.push((j as u32, weight));
            }
        }
    };
    let blocks = in_parallel(n.div_ceil(BLOCK), |block| {
        (block * BLOCK..n.min((block + 1) * BLOCK)).map(combined).collect::<Vec<_>>()
    });
    Graph::of_rows(blocks.into_iter().flatten())
}

/// The part of the graph that belongs to some samples, given in ascending order, which makes a graph of its own.
pub(super) fn part(graph: &Graph, samples: &[usize]) -> Graph {
    let mut places = vec![u32::MAX; graph.len()];
    samples.iter().enumerate().for_each(|(place, &sample)| places[sample] = place as u32);
    let inside = |&sample: &usize| {
        graph.row(sample).map(|(j, weight)| (places[j], weight)).filter(|own| own.0 != u32::MAX).collect()
    };
    Graph::of_rows(samples.iter().map(inside))
}

/// The connected parts, each in ascending order, by their first samples.
pub(super) fn components(graph: &Graph) -> Vec<Vec<usize>> {
    let mut seen = vec![false; graph.len()];
    let mut all = Vec::new();
    for first in 0..graph.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let (mut own, mut next) = (vec![first], 0);
        while let Some(&sample) = own.get(next) {
            next += 1;
            for (j, _) in graph.row(sample) {
                if !seen[j] {
                    seen[j] = true;
                    own.push(j);
                }
            }
        }
        own.sort_unstable();
        all.push(own);
    }
    all
}
