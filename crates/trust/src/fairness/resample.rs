//! Bootstrap intervals and permutation tests of statistics of a [`Tally`]. Replicate r draws with `key.fold(r)`, so results do not depend
//! on the number of threads.

use std::sync::{Mutex, PoisonError};

use tove_tensor::Key;
use tove_tensor::pool::parallel_for;
use tove_tensor::random::fill_uniform;

use super::tally::{Rows, Tally};

/// Rows per block of neighboring scores, within which groups are exchanged.
const BLOCK: usize = 25;

/// The distribution under which a test draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    /// Groups are exchangeable among all rows.
    Anything,
    /// Groups are exchangeable among rows of the same label.
    SameLabel,
    /// Groups are exchangeable among rows of the same decision.
    SameDecision,
    /// Groups are exchangeable among rows of neighboring scores.
    SameScore,
    /// Labels are drawn with the score as their probability.
    Calibrated,
}

/// A statistic's value in each replicate, computed in parallel.
fn replicates<T: Clone + Default + Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut values = vec![T::default(); count];
    let slots: Vec<Mutex<&mut T>> = values.iter_mut().map(Mutex::new).collect();
    parallel_for(count, &|replicate| {
        let value = one(replicate);
        **slots[replicate].lock().unwrap_or_else(PoisonError::into_inner) = value;
    });
    drop(slots);
    values
}

/// Statistics of bootstrap samples: rows are drawn with replacement within each group.
pub(super) fn bootstrap<T: Clone + Default + Send>(
    rows: &Rows,
    count: usize,
    key: Key,
    statistic: impl Fn(&Tally) -> T + Sync,
) -> Vec<T> {
    let members = strata(rows.len(), rows.groups, |row| rows.group[row]);
    replicates(count, |replicate| {
        let mut tally = Tally::new(rows.groups, rows.bins);
        let mut uniform = vec![0.0f64; rows.len()];
        fill_uniform(key.fold(replicate as u64), &mut uniform);
        let mut next = uniform.iter();
        for (group, members) in members.iter().enumerate() {
            for &u in next.by_ref().take(members.len()) {
                let row = members[(u * members.len() as f64) as usize];
                tally.add(rows, row, group, rows.label[row]);
            }
        }
        statistic(&tally)
    })
}

/// Statistics of samples drawn under a null hypothesis.
pub(super) fn permuted<T: Clone + Default + Send>(
    rows: &Rows,
    null: Null,
    count: usize,
    key: Key,
    statistic: impl Fn(&Tally) -> T + Sync,
) -> Vec<T> {
    let strata = exchangeable(rows, null);
    replicates(count, |replicate| {
        let mut tally = Tally::new(rows.groups, rows.bins);
        let mut uniform = vec![0.0f64; rows.len()];
        fill_uniform(key.fold(replicate as u64), &mut uniform);
        if let (Null::Calibrated, Some(score)) = (null, &rows.score) {
            let label = |row: usize| usize::from(uniform[row] < score[row]);
            (0..rows.len()).for_each(|row| tally.add(rows, row, rows.group[row], label(row)));
            return statistic(&tally);
        }
        let mut next = uniform.iter();
        for stratum in &strata {
            let mut groups: Vec<u32> = stratum.iter().map(|&row| rows.group[row] as u32).collect();
            for (last, &u) in (0..groups.len()).rev().zip(next.by_ref().take(stratum.len())) {
                groups.swap(last, (u * (last + 1) as f64) as usize);
            }
            stratum
                .iter()
                .zip(&groups)
                .for_each(|(&row, &group)| tally.add(rows, row, group as usize, rows.label[row]));
        }
        statistic(&tally)
    })
}

/// Sets of rows whose groups may be exchanged.
fn exchangeable(rows: &Rows, null: Null) -> Vec<Vec<usize>> {
    let n = rows.len();
    match null {
        Null::Anything | Null::Calibrated => vec![(0..n).collect()],
        Null::SameLabel => strata(n, 2, |row| rows.label[row]),
        Null::SameDecision => strata(n, 2, |row| rows.decision[row]),
        Null::SameScore => match &rows.score {
            Some(score) => neighbors(score),
            None => vec![(0..n).collect()],
        },
    }
}

fn strata(n: usize, count: usize, of: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut strata = vec![Vec::new(); count];
    (0..n).for_each(|row| strata[of(row)].push(row));
    strata
}

/// Blocks of rows with neighboring scores; equal scores stay together.
fn neighbors(score: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..score.len()).collect();
    order.sort_by(|&a, &b| score[a].total_cmp(&score[b]).then(a.cmp(&b)));
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut last = f64::NAN;
    for row in order {
        match blocks.last_mut() {
            Some(block) if block.len() < BLOCK || score[row] == last => block.push(row),
            _ => blocks.push(vec![row]),
        }
        last = score[row];
    }
    blocks
}

/// The percentile interval of replicates, `None` if fewer than 20 are defined.
pub(super) fn percentiles(values: impl Iterator<Item = Option<f64>>, confidence: f64) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = values.flatten().collect();
    if values.len() < 20 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (values.len() - 1) as f64;
        let (below, part) = (place.floor() as usize, place.fract());
        let above = (below + 1).min(values.len() - 1);
        values[below] + part * (values[above] - values[below])
    };
    let tail = 0.5 * (1.0 - confidence);
    Some((at(tail), at(1.0 - tail)))
}

/// The p-value of a permutation test, in which the observed sample counts as one of the draws. An undefined replicate counts as extreme.
pub(super) fn p_value(observed: f64, values: impl Iterator<Item = Option<f64>>) -> f64 {
    let (mut extreme, mut count) = (1.0, 1.0);
    let rounding = 1e-12 * observed.abs();
    for value in values {
        count += 1.0;
        extreme += f64::from(value.is_none_or(|value| value >= observed - rounding));
    }
    extreme / count
}
