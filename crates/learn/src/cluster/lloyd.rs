//! Lloyd's iterations: assign every sample to its nearest center, move every center to the mean of its samples.
//!
//! Hamerly's bounds (2010) leave out samples whose nearest center cannot have changed: an upper bound of the distance to the own
//! center and a lower bound of the distance to all others move with the centers. Bounds are rounded outwards, and labels are exact
//! (see `assign`), so that results are those of plain iterations, bit for bit.

use super::assign::{Assigned, IN, OUT, Points, Which};
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
    pub(super) bounds: bool,
}

/// Iterates from these centers.
pub(super) fn iterate<T: Real>(
    points: &Points<'_, T>,
    weights: &[f64],
    mut centers: Vec<f64>,
    rules: Rules,
) -> Result<Run> {
    let mut assigned = points.nearest(&centers, Which::All)?;
    let (spread, origin) = points.spread(weights);
    let mut tighten = Tighten::default();
    let (mut iterations, mut shift, mut stop, mut curve) = (0, f64::INFINITY, Stop::MaxIter, Vec::new());
    while iterations < rules.max_iter {
        if tove_optim::interrupted() {
            stop = Stop::Interrupted;
            break;
        }
        iterations += 1;
        let Means { centers: moved, totals } = means(points, weights, &assigned, &centers);
        // Σ w ‖x − μ‖² = Σ w ‖x − o‖² − Σ W ‖μ − o‖² for means μ and any o.
        let explained: f64 =
            moved.chunks_exact(points.d).zip(&totals).map(|(center, total)| total * squared(center, origin)).sum();
        curve.push((spread - explained).max(0.0));
        let moves: Vec<f64> =
            moved.chunks_exact(points.d).zip(centers.chunks_exact(points.d)).map(|(a, b)| squared(a, b)).collect();
        shift = moves.iter().sum();
        centers = moved;
        let changed = match rules.bounds {
            true => reassign(points, &centers, &moves, &mut assigned, &mut tighten)?,
            false => {
                let next = points.nearest(&centers, Which::All)?;
                let changed = next.iter().zip(&assigned).any(|(a, b)| a.label != b.label);
                assigned = next;
                changed
            }
        };
        if !changed {
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
    let parts: Vec<std::sync::Mutex<&mut [Assigned]>> = assigned.chunks_mut(PART).map(std::sync::Mutex::new).collect();
    let exact = tighten.next();
    let open: Vec<(Vec<u32>, usize)> = in_parallel(parts.len(), |part| {
        let mut own = parts[part].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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

struct Means {
    centers: Vec<f64>,
    /// Weight of each cluster.
    totals: Vec<f64>,
}

/// The weighted means of the clusters. A cluster without weight is put on the sample that is farthest from its own center, the next
/// such cluster on the next sample, as long as clusters keep one sample each.
fn means<T: Real>(points: &Points<'_, T>, weights: &[f64], assigned: &[Assigned], centers: &[f64]) -> Means {
    let (n, d, k) = (points.len(), points.d, centers.len() / points.d);
    let size = rows_of_a_sum(n, k);
    let parts = n.div_ceil(size);
    let sums = in_parallel(parts, |part| {
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
    let (mut sums, mut totals) = both.next().unwrap_or_default();
    for (more, own) in both {
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        totals.iter_mut().zip(own).for_each(|(total, own)| *total += own);
    }
    if totals.iter().any(|total| *total <= 0.0) {
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
    Means { centers: sums, totals }
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
