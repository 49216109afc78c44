//! Lloyd's iterations: assign every sample to its nearest center, move every center to the mean of its samples.
//!
//! Bounds leave out what cannot have changed: one lower bound for each sample (Hamerly 2010), or one for each sample and center (Elkan
//! 2003, see `elkan`); they move with the centers. Bounds are rounded outwards, and labels are exact (see `assign`), so that results
//! are those of plain iterations, bit for bit.

use std::sync::{Mutex, PoisonError};

use super::assign::{Assigned, IN, OUT, Points, Which};
use super::elkan::Bounds;
use super::kmeans::KMeansAlgorithm;
use crate::distance::{add_scaled, squared};
use crate::selection::in_parallel;
use crate::{Real, Result, Stop};

/// One run of the iterations.
pub(super) struct Run {
    pub(super) centers: Vec<f64>, // (k, d)
    pub(super) labels: Vec<u32>,
    pub(super) inertia: f64,
    pub(super) iterations: usize,
    /// Squared movement of the centers in the last iteration.
    pub(super) shift: f64,
    pub(super) stop: Stop,
    /// The objective after each iteration.
    pub(super) curve: Vec<f64>,
}

/// When iterations end, and whether bounds are used.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) max_iter: usize,
    /// Squared movement of all centers together that is small enough.
    pub(super) shift: f64,
    pub(super) algorithm: KMeansAlgorithm,
}

/// How labels are brought up to date.
enum Update {
    Plain,
    Hamerly(Tighten),
    Elkan(Bounds),
}

/// Iterates from these centers.
pub(super) fn iterate<T: Real>(
    points: &Points<'_, T>,
    weights: &[f64],
    mut centers: Vec<f64>,
    rules: Rules,
) -> Result<Run> {
    let (mut update, mut assigned) = match rules.algorithm.resolve(centers.len() / points.d, points.d) {
        KMeansAlgorithm::Elkan => {
            let (bounds, assigned) = Bounds::new(points, &centers)?;
            (Update::Elkan(bounds), assigned)
        }
        KMeansAlgorithm::Hamerly => (Update::Hamerly(Tighten::default()), points.nearest(&centers, Which::All)?),
        _ => (Update::Plain, points.nearest(&centers, Which::All)?),
    };
    let (spread, origin) = points.spread(weights);
    let mut sums = Sums::new(points.len(), points.d, centers.len() / points.d, weights);
    let (mut iterations, mut shift, mut stop, mut curve) = (0, f64::INFINITY, Stop::MaxIter, Vec::new());
    while iterations < rules.max_iter {
        if tove_optim::interrupted() {
            stop = Stop::Interrupted;
            break;
        }
        iterations += 1;
        sums.update(points, weights, &assigned);
        let Means { centers: moved, totals, relocated } = means(points, weights, &assigned, &centers, &sums);
        let objective = objective(spread, &moved, &totals, origin);
        let idle = is_idle(relocated, curve.last(), objective, spread);
        curve.push(objective);
        let moves: Vec<f64> =
            moved.chunks_exact(points.d).zip(centers.chunks_exact(points.d)).map(|(a, b)| squared(a, b)).collect();
        shift = moves.iter().sum();
        centers = moved;
        let changed = match &mut update {
            Update::Elkan(bounds) => bounds.reassign(points, &centers, &moves, &mut assigned)?,
            Update::Hamerly(tighten) => reassign(points, &centers, &moves, &mut assigned, tighten)?,
            Update::Plain => {
                let next = points.nearest(&centers, Which::All)?;
                let changed = next.iter().zip(&assigned).any(|(a, b)| a.label != b.label);
                assigned = next;
                changed
            }
        };
        if !changed || idle {
            stop = Stop::Unchanged;
            break;
        }
        if shift <= rules.shift {
            stop = Stop::Tolerance;
            break;
        }
    }
    let labels: Vec<u32> = assigned.iter().map(|own| own.label).collect();
    let inertia = inertia(points, weights, &labels, &centers);
    Ok(Run { centers, labels, inertia, iterations, shift, stop, curve })
}

/// Rows of a sum; fixed, so that rounding does not depend on the number of threads.
pub(super) const PART: usize = 2048;

/// Σ w ‖x − μ‖² from differences.
pub(super) fn inertia<T: Real>(points: &Points<'_, T>, weights: &[f64], labels: &[u32], centers: &[f64]) -> f64 {
    let n = points.len();
    let parts = in_parallel(n.div_ceil(PART), |part| {
        let rows = part * PART..((part + 1) * PART).min(n);
        rows.map(|i| weights[i] * points.exact(i, labels[i] as usize, centers)).sum::<f64>()
    });
    parts.into_iter().sum()
}

/// Whether bounds that do not decide are made exact before all centers are compared. That costs as much as some thirty centers: it is
/// left out while it saves little, and tried again from time to time. Labels are the same either way.
#[derive(Default)]
struct Tighten {
    /// Iterations until the next trial.
    wait: usize,
}

impl Tighten {
    fn next(&mut self) -> bool {
        let now = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
        now
    }

    /// After `tried` bounds were made exact, `saved` of which then decided.
    fn learn(&mut self, exact: bool, tried: usize, saved: usize) {
        if exact && 4 * saved < tried {
            self.wait = 8;
        }
    }
}

/// Brings labels and bounds up to date after centers have moved by these squared distances; whether a label has changed.
fn reassign<T: Real>(
    points: &Points<'_, T>,
    centers: &[f64],
    moves: &[f64],
    assigned: &mut [Assigned],
    tighten: &mut Tighten,
) -> Result<bool> {
    let d = points.d;
    let moves: Vec<f64> = moves.iter().map(|square| square.sqrt() * OUT).collect();
    let (mut largest, mut second) = (0, 0.0f64);
    for j in 1..moves.len() {
        if moves[j] > moves[largest] {
            (second, largest) = (moves[largest], j);
        } else {
            second = second.max(moves[j]);
        }
    }
    // Half of the distance to the next center: whoever is nearer than that to its own center stays there.
    let half = in_parallel(moves.len(), |j| {
        let own = &centers[j * d..(j + 1) * d];
        let others = centers.chunks_exact(d).enumerate().filter(|(other, _)| *other != j);
        0.5 * others.fold(f64::INFINITY, |least, (_, other)| least.min(squared(own, other))).sqrt() * IN
    });
    let n = points.len();
    let parts: Vec<Mutex<&mut [Assigned]>> = assigned.chunks_mut(PART).map(Mutex::new).collect();
    let exact = tighten.next();
    let open: Vec<(Vec<u32>, usize)> = in_parallel(parts.len(), |part| {
        let mut own = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
        let (mut open, mut tried) = (Vec::new(), 0);
        for (offset, state) in own.iter_mut().enumerate() {
            let (row, label) = (part * PART + offset, state.label as usize);
            let away = if label == largest { second } else { moves[largest] };
            state.upper = (state.upper + moves[label]) * OUT;
            state.lower = (state.lower - away).max(0.0) * IN;
            let safe = state.lower.max(half[label]);
            if state.upper < safe {
                continue;
            }
            if exact {
                tried += 1;
                state.upper = points.exact(row, label, centers).sqrt() * OUT;
            }
            if state.upper >= safe {
                open.push(row as u32);
            }
        }
        (open, tried)
    });
    drop(parts);
    let tried: usize = open.iter().map(|part| part.1).sum();
    let open: Vec<u32> = open.into_iter().flat_map(|part| part.0).collect();
    tighten.learn(exact, tried, tried.saturating_sub(open.len()));
    // All rows at once need not be gathered.
    let next = points.nearest(centers, if open.len() == n { Which::All } else { Which::These(&open) })?;
    let mut changed = false;
    for (&row, next) in open.iter().zip(next) {
        changed |= assigned[row as usize].label != next.label;
        assigned[row as usize] = next;
    }
    Ok(changed)
}

/// Σ w ‖x − μ‖² = Σ w ‖x − o‖² − Σ W ‖μ − o‖² for means μ and any o.
pub(super) fn objective(spread: f64, means: &[f64], totals: &[f64], origin: &[f64]) -> f64 {
    let each = means.chunks_exact(origin.len()).zip(totals);
    (spread - each.map(|(center, total)| total * squared(center, origin)).sum::<f64>()).max(0.0)
}

/// Weighted sums of the samples of each cluster, brought up to date.
struct Sums {
    d: usize,
    sums: Vec<f64>, // (k, d)
    /// Weight of each cluster.
    totals: Vec<f64>,
    /// The clusters that the sums are for; none before the first.
    labels: Vec<u32>,
    /// Whether all weights are 1, so that totals are exact whatever is added and taken away.
    plain: bool,
    /// Updates since the sums were last taken over all samples.
    age: usize,
}

/// Updates after which sums are taken over all samples, so that rounding does not pile up.
pub(super) const AGE: usize = 16;

/// Whether so many samples have changed their clusters that sums are taken over all samples.
pub(super) fn many(moved: usize, n: usize) -> bool {
    4 * moved > n
}

/// Whether samples that were put into empty clusters are copies of others, since that lowers the objective by nothing: there are fewer
/// clusters to find.
pub(super) fn is_idle(relocated: bool, last: Option<&f64>, objective: f64, spread: f64) -> bool {
    relocated && last.is_some_and(|last| objective >= last - 1e-12 * spread)
}

impl Sums {
    fn new(n: usize, d: usize, k: usize, weights: &[f64]) -> Sums {
        let plain = weights.iter().all(|weight| *weight == 1.0);
        Sums { d, sums: vec![0.0; k * d], totals: vec![0.0; k], labels: vec![u32::MAX; n], plain, age: AGE }
    }

    fn update<T: Real>(&mut self, points: &Points<'_, T>, weights: &[f64], assigned: &[Assigned]) {
        let moved = self.labels.iter().zip(assigned).filter(|(label, own)| **label != own.label).count();
        // A sample that changes its cluster is read twice.
        if !self.plain || self.age >= AGE || many(moved, assigned.len()) {
            self.whole(points, weights, assigned);
        } else {
            self.change(points, assigned);
        }
        self.labels.clear();
        self.labels.extend(assigned.iter().map(|own| own.label));
    }

    /// Sums over all samples.
    fn whole<T: Real>(&mut self, points: &Points<'_, T>, weights: &[f64], assigned: &[Assigned]) {
        let (n, d, k) = (points.len(), self.d, self.totals.len());
        let size = rows_of_a_sum(n, k);
        let sums = in_parallel(n.div_ceil(size), |part| {
            let (mut sums, mut totals) = (vec![0.0; k * d], vec![0.0; k]);
            for i in part * size..((part + 1) * size).min(n) {
                let (label, weight) = (assigned[i].label as usize, weights[i]);
                totals[label] += weight;
                let own = &mut sums[label * d..(label + 1) * d];
                add_scaled(own, points.row(i), weight);
            }
            (sums, totals)
        });
        let mut both = sums.into_iter();
        (self.sums, self.totals) = both.next().unwrap_or_default();
        for (more, own) in both {
            self.sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            self.totals.iter_mut().zip(own).for_each(|(total, own)| *total += own);
        }
        self.age = 0;
    }

    /// Samples that changed their clusters are taken from one sum and added to the other, in their order.
    fn change<T: Real>(&mut self, points: &Points<'_, T>, assigned: &[Assigned]) {
        let mut changes: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.totals.len()];
        for (i, (&from, own)) in
            self.labels.iter().zip(assigned).enumerate().filter(|(_, (from, own))| **from != own.label)
        {
            changes[from as usize].push((i as u32, -1.0));
            changes[own.label as usize].push((i as u32, 1.0));
        }
        let parts: Vec<_> = self.sums.chunks_mut(self.d).zip(&mut self.totals).map(Mutex::new).collect();
        in_parallel(parts.len(), |j| {
            let mut own = parts[j].lock().unwrap_or_else(PoisonError::into_inner);
            let (sum, total) = &mut *own;
            for &(i, factor) in &changes[j] {
                add_scaled(sum, points.row(i as usize), factor);
                **total += factor;
            }
            if **total == 0.0 {
                sum.fill(0.0);
            }
        });
        self.age += 1;
    }
}

struct Means {
    centers: Vec<f64>,
    /// Weight of each cluster.
    totals: Vec<f64>,
    /// Whether samples were put into empty clusters.
    relocated: bool,
}

/// The weighted means of the clusters. A cluster without weight is put on the sample that is farthest from its own center, the next
/// such cluster on the next sample, as long as clusters keep one sample each.
fn means<T: Real>(
    points: &Points<'_, T>,
    weights: &[f64],
    assigned: &[Assigned],
    centers: &[f64],
    sums: &Sums,
) -> Means {
    let (n, k) = (points.len(), centers.len() / points.d);
    let (mut sums, mut totals) = (sums.sums.clone(), sums.totals.clone());
    let relocated = totals.iter().any(|total| *total <= 0.0);
    if relocated {
        let label = |i: usize| assigned[i].label as usize;
        let mut far: Vec<(f64, usize)> =
            (0..n).filter(|&i| weights[i] > 0.0).map(|i| (points.exact(i, label(i), centers), i)).collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut members = vec![0; k];
        far.iter().for_each(|&(_, i)| members[label(i)] += 1);
        let far = far.iter().map(|&(_, i)| (label(i), weights[i], points.row(i)));
        refill(&mut sums, &mut totals, &mut members, far);
    }
    divide(&mut sums, &totals, centers);
    Means { centers: sums, totals, relocated }
}

/// Rows that are added up in order before sums are combined.
pub(super) fn rows_of_a_sum(n: usize, k: usize) -> usize {
    n.div_ceil((n / PART.max(4 * k)).clamp(1, 16)).max(1)
}

/// Gives each cluster without weight one of these samples (label, weight, row), the farthest ones first. Clusters keep their last
/// sample: what is left of a sum without it would be rounding. `members` are the numbers of samples that have a weight.
pub(super) fn refill<'a, T: Real>(
    sums: &mut [f64],
    totals: &mut [f64],
    members: &mut [usize],
    far: impl Iterator<Item = (usize, f64, &'a [T])>,
) {
    let (k, d) = (totals.len(), sums.len() / totals.len());
    let empty: Vec<usize> = (0..k).filter(|&j| totals[j] <= 0.0).collect();
    let mut spare = far.filter(|&(label, _, _)| {
        let shares = members[label] > 1;
        members[label] -= usize::from(shares);
        shares
    });
    for j in empty {
        let Some((from, weight, row)) = spare.next() else { break };
        totals[from] -= weight;
        totals[j] = weight;
        for (column, x) in row.iter().enumerate() {
            sums[from * d + column] -= weight * x.f64();
            sums[j * d + column] = weight * x.f64();
        }
    }
}

/// Sums as means; the former center where there is no weight.
pub(super) fn divide(sums: &mut [f64], totals: &[f64], former: &[f64]) {
    let d = sums.len() / totals.len();
    for (j, own) in sums.chunks_exact_mut(d).enumerate() {
        match totals[j] > 0.0 {
            true => own.iter_mut().for_each(|sum| *sum /= totals[j]),
            false => own.copy_from_slice(&former[j * d..(j + 1) * d]),
        }
    }
}
