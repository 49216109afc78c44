//! Coordinates that minimize the cross entropy of the fuzzy graph and the similarities in the layout, by stochastic gradient descent.
//!
//! An edge of weight w is drawn in a share w / largest of the sweeps, at equal intervals from a random first one, and pulls the sample
//! it begins at; a few random samples push that sample away. All samples move at once, from where the others were before the sweep, so
//! nothing depends on which thread moves which of them. Sixteen samples with about the same number of edges go side by side, one per
//! lane of the vector registers.

use std::sync::{Mutex, PoisonError};

use tove_tensor::Key;
use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::random::fill_uniform;

use super::fuzzy::Graph;
use crate::selection::in_parallel;

/// Samples that go side by side, and samples of one task.
const LANES: usize = 16;
const BLOCK: usize = 256;
/// The rate of an edge that is drawn in every sweep.
const ALWAYS: u32 = 1 << 31;
/// Largest step along a coordinate, before it is multiplied by the learning rate.
const CLIP: f32 = 4.0;

type Lanes = [f32; LANES];

/// The shape of the forces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forces {
    pub a: f32,
    pub b: f32,
    /// `repulsion_strength`.
    pub repulsion: f32,
    /// Random samples per drawn edge.
    pub negatives: usize,
    pub learning_rate: f32,
}

impl Forces {
    /// By which the difference from another sample is multiplied to be pulled to it, and to be pushed away.
    #[inline(always)]
    fn pull(&self, square: f32) -> f32 {
        let square = square.max(1e-20);
        let power = <f32 as Float>::exp(self.b * <f32 as Float>::ln(square));
        -2.0 * self.a * self.b / (square * (1.0 / power + self.a))
    }

    #[inline(always)]
    fn push(&self, square: f32) -> f32 {
        let power = <f32 as Float>::exp(self.b * <f32 as Float>::ln(square.max(1e-20)));
        2.0 * self.repulsion * self.b / ((0.001 + square) * (1.0 + self.a * power))
    }
}

/// Edges by the sample they begin at.
#[derive(Default)]
pub(super) struct Edges {
    starts: Vec<usize>,
    tails: Vec<u32>,
    /// Share of the sweeps in which an edge is drawn, in units of 2^−31, and its first phase.
    rates: Vec<u32>,
    phases: Vec<u32>,
}

impl Edges {
    /// The edges of a graph that are drawn at least once in so many epochs.
    pub fn new(graph: &Graph, epochs: usize, key: Key) -> Edges {
        let (n, largest) = (graph.len(), graph.largest());
        let mut edges = Edges { starts: vec![0], ..Edges::default() };
        for i in 0..n {
            for (j, weight) in graph.row(i).filter(|own| own.1 * epochs as f64 >= largest) {
                edges.tails.push(j as u32);
                edges.rates.push((weight / largest * f64::from(ALWAYS)) as u32);
            }
            edges.starts.push(edges.tails.len());
        }
        let mut phases = vec![0f32; edges.tails.len()];
        fill_uniform(key, &mut phases);
        edges.phases = phases.into_iter().map(|phase| (phase * ALWAYS as f32) as u32).collect();
        edges
    }
}

/// Edges drawn in a sweep by the samples of a task.
struct Drawn {
    tails: Vec<u32>,
    starts: Vec<usize>,
    /// The samples, those with most edges first.
    order: Vec<usize>,
}

impl Drawn {
    fn new(edges: &Edges, heads: std::ops::Range<usize>, sweep: usize) -> Drawn {
        let own = &edges.starts[heads.start..=heads.end];
        let (first, last) = (own[0], own[own.len() - 1]);
        let (mut tails, mut count) = (vec![0; last - first + 1], 0);
        let mut starts = Vec::with_capacity(own.len());
        starts.push(0);
        for pair in own.windows(2) {
            let edge = pair[0]..pair[1];
            let all = edges.tails[edge.clone()].iter().zip(&edges.rates[edge.clone()]).zip(&edges.phases[edge]);
            for ((&tail, &rate), &phase) in all {
                let place = (sweep as u32).wrapping_mul(rate).wrapping_add(phase) & (ALWAYS - 1);
                tails[count] = tail;
                count += usize::from(place < rate);
            }
            starts.push(count);
        }
        let mut order: Vec<usize> = (0..heads.len()).collect();
        order.sort_by_key(|&head| starts[head] as isize - starts[head + 1] as isize);
        Drawn { tails, starts, order }
    }

    fn edges(&self, head: usize) -> &[u32] {
        &self.tails[self.starts[head]..self.starts[head + 1]]
    }

    /// The largest number of edges in each group of lanes.
    fn steps(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.chunks(LANES).map(|group| self.edges(group[0]).len())
    }
}

/// What moves samples in a sweep.
struct Sweep<'a> {
    forces: Forces,
    /// Learning rate.
    rate: f32,
    dim: usize,
    /// Coordinates of the samples that pull and push.
    table: &'a [f32],
    /// The number of the first sample that moves, where they are in the table.
    first: Option<usize>,
    drawn: Drawn,
    /// Random samples per edge.
    negatives: usize,
    /// Random numbers: for every lane, or the same for all if the samples are not in the table.
    random: &'a [f32],
}

impl Sweep<'_> {
    /// Moves samples with these coordinates once.
    fn apply(&self, own: &mut [f32]) {
        match self.dim {
            1 => dispatch(Move { sweep: self, zero: [[0.0; LANES]; 1], own }),
            2 => dispatch(Move { sweep: self, zero: [[0.0; LANES]; 2], own }),
            3 => dispatch(Move { sweep: self, zero: [[0.0; LANES]; 3], own }),
            _ => dispatch(Move { sweep: self, zero: vec![[0.0; LANES]; self.dim], own }),
        }
    }
}

struct Move<'a, C> {
    sweep: &'a Sweep<'a>,
    /// The place of sixteen samples, coordinate by coordinate, all zero.
    zero: C,
    own: &'a mut [f32],
}

impl<C: AsRef<[Lanes]> + AsMut<[Lanes]> + Clone> Move<'_, C> {
    /// Adds the forces of one other sample per lane.
    #[inline(always)]
    fn add<const PULL: bool>(&self, at: &C, others: &[u32; LANES], on: &Lanes, sum: &mut C) {
        let (dim, forces) = (at.as_ref().len(), &self.sweep.forces);
        let (mut gaps, mut squares) = (self.zero.clone(), [0.0; LANES]);
        for (d, (gap, at)) in gaps.as_mut().iter_mut().zip(at.as_ref()).enumerate() {
            for lane in 0..LANES {
                gap[lane] = at[lane] - self.sweep.table[others[lane] as usize * dim + d];
            }
            for lane in 0..LANES {
                squares[lane] = f32::mul_add(gap[lane], gap[lane], squares[lane]);
            }
        }
        let mut factors = [0.0; LANES];
        for lane in 0..LANES {
            factors[lane] = if PULL { forces.pull(squares[lane]) } else { forces.push(squares[lane]) };
        }
        for (gap, sum) in gaps.as_ref().iter().zip(sum.as_mut()) {
            for lane in 0..LANES {
                sum[lane] += on[lane] * (factors[lane] * gap[lane]).clamp(-CLIP, CLIP);
            }
        }
    }
}

impl<C: AsRef<[Lanes]> + AsMut<[Lanes]> + Clone> Kernel for Move<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let &Sweep { ref drawn, negatives, random, first, rate, table, .. } = self.sweep;
        let dim = self.zero.as_ref().len();
        let count = table.len() / dim;
        let mut used = 0;
        for group in drawn.order.chunks(LANES) {
            let mut at = self.zero.clone();
            for (d, at) in at.as_mut().iter_mut().enumerate() {
                for (lane, &head) in group.iter().enumerate() {
                    at[lane] = self.own[head * dim + d];
                }
            }
            let mut edges: [&[u32]; LANES] = [&[]; LANES];
            let mut heads = [u32::MAX; LANES];
            for (lane, &head) in group.iter().enumerate() {
                edges[lane] = drawn.edges(head);
                heads[lane] = first.map_or(u32::MAX, |first| (first + head) as u32);
            }
            // The first one has most edges.
            let steps = edges[0].len();
            for step in 0..steps {
                let (mut tails, mut on) = ([0; LANES], [0.0; LANES]);
                for lane in 0..LANES {
                    if let Some(&tail) = edges[lane].get(step) {
                        (tails[lane], on[lane]) = (tail, rate);
                    }
                }
                let mut sum = self.zero.clone();
                self.add::<true>(&at, &tails, &on, &mut sum);
                for negative in 0..negatives {
                    let place = step * negatives + negative;
                    let mut draws = [0.0; LANES];
                    match first {
                        Some(_) => draws.copy_from_slice(&random[used + place * LANES..used + (place + 1) * LANES]),
                        None => draws = [random[place]; LANES],
                    }
                    let (mut others, mut active) = ([0; LANES], on);
                    for lane in 0..LANES {
                        // Rounding may lead to the end.
                        others[lane] = ((draws[lane] * count as f32) as u32).min(count as u32 - 1);
                        active[lane] = if others[lane] == heads[lane] { 0.0 } else { active[lane] };
                    }
                    self.add::<false>(&at, &others, &active, &mut sum);
                }
                for (at, sum) in at.as_mut().iter_mut().zip(sum.as_ref()) {
                    for lane in 0..LANES {
                        at[lane] += sum[lane];
                    }
                }
            }
            used += steps * negatives * LANES;
            for (d, at) in at.as_ref().iter().enumerate() {
                for (lane, &head) in group.iter().enumerate() {
                    self.own[head * dim + d] = at[lane];
                }
            }
        }
    }
}

/// Lays out samples, from their first coordinates (n, dim) on. `after` is told of each epoch and says whether to go on.
pub(super) fn lay_out(
    edges: &Edges,
    mut at: Vec<f32>,
    dim: usize,
    forces: Forces,
    epochs: usize,
    key: Key,
    mut after: impl FnMut(usize) -> bool,
) -> (Vec<f32>, usize) {
    let n = at.len() / dim;
    let mut next = at.clone();
    for epoch in 0..epochs {
        let rate = forces.learning_rate * (1.0 - epoch as f32 / epochs as f32);
        // In each of two sweeps one end of an edge is pulled, by about half of the random samples.
        for half in 0..2 {
            let sweep = 2 * epoch + half;
            let (negatives, key) = ((forces.negatives + 1 - half) / 2, key.fold(sweep as u64));
            let parts: Vec<Mutex<&mut [f32]>> = next.chunks_mut(BLOCK * dim).map(Mutex::new).collect();
            parallel_for(parts.len(), &|task| {
                let mut own = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                let heads = task * BLOCK..n.min((task + 1) * BLOCK);
                own.copy_from_slice(&at[heads.start * dim..heads.end * dim]);
                let (first, drawn) = (Some(heads.start), Drawn::new(edges, heads, sweep));
                let mut random = vec![0.0; drawn.steps().sum::<usize>() * negatives * LANES];
                fill_uniform(key.fold(task as u64), &mut random);
                Sweep { forces, rate, dim, table: &at, first, drawn, negatives, random: &random }.apply(&mut own);
            });
            drop(parts);
            std::mem::swap(&mut at, &mut next);
        }
        if !after(epoch + 1) {
            return (at, epoch + 1);
        }
    }
    (at, epochs)
}

/// Places new rows among the samples of a table (n, dim): moves `start` (m, dim) by the memberships of each row's neighbors. Every row
/// by itself: the others have no influence on it, not even through the random numbers.
pub(super) fn place(
    neighbors: &[Vec<(u32, f64)>],
    start: &[f32],
    table: &[f32],
    dim: usize,
    forces: Forces,
    epochs: usize,
    key: Key,
) -> Vec<f32> {
    let m = start.len() / dim;
    let k = neighbors.iter().map(Vec::len).max().unwrap_or(0);
    let mut phases = vec![0f32; k];
    fill_uniform(key, &mut phases);
    let blocks = in_parallel(m.div_ceil(BLOCK), |block| {
        let rows = block * BLOCK..m.min((block + 1) * BLOCK);
        let mut own = start[rows.start * dim..rows.end * dim].to_vec();
        let mut edges = Edges { starts: vec![0], ..Edges::default() };
        for row in &neighbors[rows.clone()] {
            let largest = row.iter().fold(0.0f64, |most, (_, weight)| most.max(*weight));
            for (&(j, weight), phase) in row.iter().zip(&phases) {
                if weight > 0.0 && weight * epochs as f64 >= largest {
                    edges.tails.push(j);
                    edges.rates.push((weight / largest * f64::from(ALWAYS)) as u32);
                    edges.phases.push((phase * ALWAYS as f32) as u32);
                }
            }
            edges.starts.push(edges.tails.len());
        }
        let mut random = vec![0.0; k * forces.negatives];
        for epoch in 0..epochs {
            let rate = forces.learning_rate * (1.0 - epoch as f32 / epochs as f32);
            let drawn = Drawn::new(&edges, 0..rows.len(), epoch);
            fill_uniform(key.fold(epoch as u64), &mut random);
            let negatives = forces.negatives;
            Sweep { forces, rate, dim, table, first: None, drawn, negatives, random: &random }.apply(&mut own);
        }
        own
    });
    blocks.concat()
}
