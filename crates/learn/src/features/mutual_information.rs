//! Mutual information of a feature and the target, by nearest-neighbor distances.
//!
//! For classification (Ross 2014): I = ψ(n) + ⟨ψ(k)⟩ − ⟨ψ(n_c)⟩ − ⟨ψ(m)⟩, where m counts the samples within the
//! distance to the k-th neighbor of the same class. For regression (Kraskov, Stögbauer, Grassberger 2004): I = ψ(n) +
//! ψ(k) − ⟨ψ(n_x + 1) + ψ(n_y + 1)⟩, where n_x and n_y count the neighbors in one coordinate within the distance to the
//! k-th neighbor in both. Features and targets are divided by their standard deviation, and noise of 1e-10 breaks ties.
//! Negative estimates are set to 0.

use tove_tensor::kernels::math::Float;
use tove_tensor::{DType, Key};

use crate::{Labels, LearnError, Result};

/// Number of neighbors.
const K: usize = 3;

fn psi(x: usize) -> f64 {
    Float::digamma(x as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The values divided by their standard deviation, with noise that breaks ties.
pub(super) fn scaled(values: &[f64], key: Key) -> Result<Vec<f64>> {
    let largest = values.iter().fold(0.0f64, |max, x| max.max(x.abs()));
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let center = mean(values.iter().map(|x| x / unit));
    let deviation = mean(values.iter().map(|x| (x / unit - center).powi(2))).sqrt();
    let scale = if deviation > 10.0 * f64::EPSILON { deviation } else { 1.0 };
    let mut scaled: Vec<f64> = values.iter().map(|x| x / unit / scale).collect();
    let size = mean(scaled.iter().map(|x| x.abs())).max(1.0);
    let noise = key.try_normal([values.len()], DType::F64)?.to_f64_vec();
    scaled.iter_mut().zip(noise).for_each(|(x, noise)| *x += 1e-10 * size * noise);
    Ok(scaled)
}

/// Counts the values of a sorted list closer than a radius to x.
fn within(sorted: &[f64], x: f64, radius: f64) -> usize {
    let radius = radius.next_down().max(0.0);
    let first = sorted.partition_point(|other| x - *other > radius);
    let last = sorted.partition_point(|other| *other - x <= radius);
    last.saturating_sub(first).max(1)
}

/// The distance from the value at an index of a sorted list to its k-th neighbor.
fn kth_distance(sorted: &[f64], index: usize, k: usize) -> f64 {
    let (mut below, mut above, mut distance) = (index, index, 0.0);
    for _ in 0..k {
        let down = if below > 0 { sorted[index] - sorted[below - 1] } else { f64::INFINITY };
        let up = if above + 1 < sorted.len() { sorted[above + 1] - sorted[index] } else { f64::INFINITY };
        if down <= up {
            (below, distance) = (below - 1, down);
        } else {
            (above, distance) = (above + 1, up);
        }
    }
    distance
}

/// Mutual information of a feature and classes.
pub(super) fn with_classes(x: &[f64], labels: &Labels) -> f64 {
    let mut members: Vec<Vec<f64>> = vec![Vec::new(); labels.classes().len()];
    x.iter().zip(labels.codes()).for_each(|(&x, &code)| members[code].push(x));
    members.retain(|own| own.len() > 1); // a class with one sample has no neighbors
    members.iter_mut().for_each(|own| own.sort_unstable_by(f64::total_cmp));
    let mut all = members.concat();
    all.sort_unstable_by(f64::total_cmp);
    if all.is_empty() {
        return 0.0;
    }
    let (mut neighbors, mut sizes, mut counts) = (0.0, 0.0, 0.0);
    for own in &members {
        let k = K.min(own.len() - 1);
        for (index, &x) in own.iter().enumerate() {
            neighbors += psi(k);
            sizes += psi(own.len());
            counts += psi(within(&all, x, kth_distance(own, index, k)));
        }
    }
    (psi(all.len()) + (neighbors - sizes - counts) / all.len() as f64).max(0.0)
}

/// Mutual information of two numeric vectors.
pub(super) fn with_numbers(who: &'static str, x: &[f64], y: &[f64]) -> Result<f64> {
    let n = x.len();
    if n <= K {
        let fix = "give more samples".to_owned();
        return Err(LearnError::TooFew { who, found: n, needed: K + 1, fix });
    }
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let (sorted_x, sorted_y) = (sorted(x), sorted(y));
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| x[a].total_cmp(&x[b]));
    let mut counts = 0.0;
    for index in 0..n {
        let radius = nearest(&order, index, x, y);
        let own = order[index];
        counts += psi(within(&sorted_x, x[own], radius)) + psi(within(&sorted_y, y[own], radius));
    }
    Ok((psi(n) + psi(K) - counts / n as f64).max(0.0))
}

/// The Chebyshev distance to the k-th neighbor: scans outward in x until x alone is farther.
fn nearest(order: &[usize], index: usize, x: &[f64], y: &[f64]) -> f64 {
    let own = order[index];
    let mut best = [f64::INFINITY; K];
    let (mut below, mut above) = (index, index + 1);
    loop {
        let down = if below > 0 { x[own] - x[order[below - 1]] } else { f64::INFINITY };
        let up = if above < order.len() { x[order[above]] - x[own] } else { f64::INFINITY };
        if down.min(up) >= best[K - 1] {
            return best[K - 1];
        }
        let other = if down <= up {
            below -= 1;
            order[below]
        } else {
            above += 1;
            order[above - 1]
        };
        let distance = (x[own] - x[other]).abs().max((y[own] - y[other]).abs());
        let rank = best.partition_point(|known| *known <= distance);
        if rank < K {
            best[rank..].rotate_right(1);
            best[rank] = distance;
        }
    }
}
