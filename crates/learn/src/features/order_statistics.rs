//! Order statistics of the columns of dense rows, by radix selection.
//!
//! Floating-point values are mapped to integers of the same order. A histogram of their upper sixteen bits shows which
//! of the 65,536 buckets contains a rank; only the values of those buckets are processed again, by their next sixteen
//! bits, until few enough are left to sort. Two passes over the values are enough for most columns; a sort would make
//! twenty.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tove_tensor::pool::parallel_for;

use crate::Real;

/// Columns gathered from the rows at once: a cache line of f64.
const COLUMNS_AT_ONCE: usize = 8;
/// Memory limit for the columns of one task, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Largest number of values that are sorted directly.
const MAX_SORTED: usize = 2048;
const BUCKETS: usize = 1 << 16;

/// The values at the ranks of a column, and its number of values.
type Column = (Vec<f64>, usize);

/// Calls `ranks` with the number of values of a column (without NaN) to get the requested ranks. Returns the values at
/// those ranks of each column, in the requested order, with the number of its values. `None` if a value is infinite.
pub(super) fn order_statistics<T: Real>(
    x: &[T],
    width: usize,
    ranks: &(dyn Fn(usize) -> Vec<usize> + Sync),
) -> Option<Vec<Column>> {
    let n = x.len() / width;
    let columns_at_once = (MAX_BYTES / (8 * n.max(1))).clamp(1, COLUMNS_AT_ONCE);
    let found: Vec<Mutex<Vec<Column>>> = (0..width.div_ceil(columns_at_once)).map(|_| Mutex::default()).collect();
    let infinite = AtomicBool::new(false);
    parallel_for(found.len(), &|task| {
        let first = task * columns_at_once;
        let count = columns_at_once.min(width - first);
        let mut keys = vec![0u64; count * n];
        let lengths = gather(x, width, first, &mut keys, count, &infinite);
        let mut selection = Selection::default();
        let columns = keys.chunks(n.max(1)).zip(&lengths);
        let answers = columns.map(|(keys, &length)| (selection.at(&keys[..length], &ranks(length)), length)).collect();
        *found[task].lock().unwrap_or_else(PoisonError::into_inner) = answers;
    });
    if infinite.into_inner() {
        return None;
    }
    Some(found.into_iter().flat_map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// Copies columns as ordered integers without NaN; returns the number of values of each.
fn gather<T: Real>(
    x: &[T],
    width: usize,
    first: usize,
    keys: &mut [u64],
    count: usize,
    infinite: &AtomicBool,
) -> Vec<usize> {
    let n = x.len() / width;
    let mut lengths = vec![0; count];
    let mut columns: Vec<&mut [u64]> = keys.chunks_mut(n.max(1)).collect();
    let mut beyond = false;
    for row in x.chunks_exact(width) {
        for ((value, column), length) in row[first..first + count].iter().zip(&mut columns).zip(&mut lengths) {
            let value = value.f64();
            column[*length] = key(value);
            *length += usize::from(!value.is_nan());
            beyond |= value.is_infinite();
        }
    }
    if beyond {
        infinite.store(true, Ordering::Relaxed);
    }
    lengths
}

/// Maps to an integer in the order of [`f64::total_cmp`].
#[inline(always)]
fn key(x: f64) -> u64 {
    let bits = x.to_bits();
    bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
}

fn number(key: u64) -> f64 {
    let flip = if key >> 63 == 1 { 1 << 63 } else { u64::MAX };
    f64::from_bits(key ^ flip)
}

/// Scratch space of a selection.
#[derive(Default)]
struct Selection {
    counts: Vec<u32>,
    slots: Vec<u8>,
}

impl Selection {
    /// The values at these ranks; NaN for a rank out of range.
    fn at(&mut self, keys: &[u64], ranks: &[usize]) -> Vec<f64> {
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_unstable_by_key(|&index| ranks[index]);
        let mut found = vec![f64::NAN; ranks.len()];
        let wanted: Vec<(usize, usize)> =
            order.iter().map(|&index| (ranks[index], index)).filter(|(rank, _)| *rank < keys.len()).collect();
        self.select(keys, 48, &wanted, &mut found);
        found
    }

    /// `wanted` holds ascending ranks among these keys, which agree above `shift + 16` bits, with their indices in
    /// `found`.
    fn select(&mut self, keys: &[u64], shift: u32, wanted: &[(usize, usize)], found: &mut [f64]) {
        if wanted.is_empty() {
            return;
        }
        if keys.len() <= MAX_SORTED {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            wanted.iter().for_each(|&(rank, index)| found[index] = number(keys[rank]));
            return;
        }
        let parts = self.parts(keys, shift, wanted);
        for (part, wanted) in parts {
            if shift == 0 {
                // All bits agree.
                wanted.iter().for_each(|&(_, index)| found[index] = number(part[0]));
            } else {
                self.select(&part, shift - 16, &wanted, found);
            }
        }
    }

    /// The keys of each bucket that contains a requested rank, with the ranks relative to the bucket.
    #[allow(clippy::type_complexity)] // one pair per bucket
    fn parts(&mut self, keys: &[u64], shift: u32, wanted: &[(usize, usize)]) -> Vec<(Vec<u64>, Vec<(usize, usize)>)> {
        let range = |key: u64| (key >> shift) as usize & (BUCKETS - 1);
        self.counts.clear();
        self.counts.resize(BUCKETS, 0);
        for &key in keys {
            self.counts[range(key)] += 1;
        }
        self.slots.clear();
        self.slots.resize(BUCKETS, 0);
        let mut parts: Vec<(Vec<u64>, Vec<(usize, usize)>)> = Vec::new();
        let (mut below, mut next) = (0, 0);
        for (range, &count) in self.counts.iter().enumerate() {
            let count = count as usize;
            let first = next;
            while next < wanted.len() && wanted[next].0 < below + count {
                next += 1;
            }
            if next > first {
                let ranks = wanted[first..next].iter().map(|&(rank, index)| (rank - below, index)).collect();
                parts.push((Vec::with_capacity(count), ranks));
                self.slots[range] = parts.len() as u8;
            }
            below += count;
        }
        for &key in keys {
            let slot = self.slots[range(key)];
            if slot > 0 {
                parts[usize::from(slot) - 1].0.push(key);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_a_sort() {
        let noise = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) as u32 as f64 / f64::from(u32::MAX) - 0.5;
        let spread = [1.0, 1e-300, 1e300, 1e-9];
        let columns: Vec<Vec<f64>> = vec![
            (0..9000).map(noise).collect(),
            (0..9000).map(|i| 1e6 + noise(i)).collect(), // one bucket of the upper bits
            (0..9000).map(|i| f64::from(u8::from(i % 3 == 0)) * -2.5).collect(), // ties, and 0 next to −0
            (0..9000).map(|i| noise(i) * spread[i % 4]).collect(),
            (0..9000).map(|i| if i % 5 == 0 { f64::NAN } else { noise(i) }).collect(),
            vec![f64::NAN; 9000],
            vec![0.1; 9000],
        ];
        let width = columns.len();
        let x: Vec<f64> = (0..9000 * width).map(|index| columns[index % width][index / width]).collect();
        let ranks = |length: usize| vec![length / 2, 0, length.saturating_sub(1), length / 4, length / 4 + 1, 8999];
        let found = order_statistics(&x, width, &ranks).expect("all are finite or NaN");
        for (column, (found, length)) in columns.iter().zip(&found) {
            let mut sorted: Vec<f64> = column.iter().copied().filter(|x| !x.is_nan()).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            assert_eq!(sorted.len(), *length);
            for (rank, found) in ranks(sorted.len()).into_iter().zip(found) {
                let wanted = sorted.get(rank).copied().unwrap_or(f64::NAN);
                assert_eq!(wanted.to_bits(), found.to_bits(), "rank {rank}: {found} for {wanted}");
            }
        }
        assert!(order_statistics(&[0.0, f64::INFINITY], 1, &|_| vec![0]).is_none());
    }
}
