//! Gram matrices of sparse rows: every row adds the products of its own entries.
//!
//! A row with k entries costs k²/2 products, a dense one d²/2, so one-hot columns cost no more than the columns they
//! encode. Centering every column would make the rows dense. Columns that are mostly zero are therefore summed without
//! a shift, and their mean is subtracted at the end, which loses no accuracy: n x̄² is at most half of Σ x². Columns
//! that are mostly non-zero are shifted by a provisional center and contribute to every row.

use std::sync::{Mutex, PoisonError};

use tove_tensor::pool::parallel_for;

use super::blocks::{mirror, padded, pairwise};
use super::moments::Data;
use crate::{Csr, Real, Result, memory};

/// Number of products of a blocked dense kernel that take the time of one scattered product.
const SCATTERED: usize = 24;
/// Maximum number of parts of the rows; each has its own sums.
const MAX_PARTS: usize = 16;
const PART_ROWS: usize = 16_384; // minimum rows per part

/// Whether the products of the entries cost less than those of dense rows, with this many shifted columns.
pub(super) fn is_cheaper(x: &Csr, shifted: usize, outputs: usize) -> bool {
    let entries = x.indices().len().div_ceil(x.rows().max(1)) + shifted + outputs + 1;
    let width = x.columns() + outputs + 1;
    entries.saturating_mul(entries).saturating_mul(SCATTERED) < width.saturating_mul(width)
}

/// Columns with an entry in more than half of the rows.
pub(super) fn filled(x: &Csr) -> Vec<bool> {
    let mut counts = vec![0usize; x.columns()];
    x.indices().iter().for_each(|&column| counts[column as usize] += 1);
    counts.into_iter().map(|count| 2 * count > x.rows()).collect()
}

/// The full Gram matrix of the augmented rows √w (x − c, y − c', 1), with rows of length [`padded`].
pub(super) fn sums<T: Real>(data: &Data, x: &Csr, shift_x: &[f64], shift_y: &[f64]) -> Result<Vec<f64>> {
    let (n, d, m) = (data.len(), data.width(), data.outputs);
    let stride = padded(d + m + 1);
    // The sums of all parts together are smaller than the entries.
    let parts = (x.indices().len() / (2 * stride * stride).max(1)).clamp(1, MAX_PARTS);
    let bytes = memory::matrix(stride, stride.saturating_mul(parts + 2), 8);
    memory::require("linear model", format!("a Gram matrix of {stride} columns"), bytes, "choose features first")?;
    let order = Order::new(shift_x);
    let values = x.values().as_slice::<T>()?;
    let rows = n.div_ceil(parts).max(PART_ROWS.min(n)).max(1);
    let parts: Vec<Mutex<Vec<f64>>> = (0..n.div_ceil(rows)).map(|_| Mutex::new(Vec::new())).collect();
    parallel_for(parts.len(), &|part| {
        let mut sums = vec![0.0; stride * stride];
        let mut entries: Vec<(u32, f64)> = Vec::new();
        for row in part * rows..((part + 1) * rows).min(n) {
            entries.clear();
            entries.extend(order.shifted.iter().enumerate().map(|(index, &column)| (index as u32, -shift_x[column])));
            let range = x.indptr()[row]..x.indptr()[row + 1];
            for (&column, stored) in x.indices()[range.clone()].iter().zip(&values[range]) {
                let at = order.indices[column as usize];
                match entries.get_mut(at as usize).filter(|_| (at as usize) < order.shifted.len()) {
                    Some((_, value)) => *value += stored.f64(),
                    None => entries.push((at, stored.f64())),
                }
            }
            let targets = data.y[row * m..(row + 1) * m].iter().zip(shift_y).enumerate();
            entries.extend(targets.map(|(output, (y, shift))| ((d + output) as u32, y - shift)));
            entries.push(((d + m) as u32, 1.0));
            add_row(&entries, data.weights.as_ref().map_or(1.0, |weights| weights[row]), stride, &mut sums);
        }
        *parts[part].lock().unwrap_or_else(PoisonError::into_inner) = sums;
    });
    let parts = parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(order.restore_order(&pairwise(parts.collect()), d + m + 1, stride))
}

/// Adds the products of a row's entries, whose indices are ascending, to the upper triangle.
#[inline]
fn add_row(entries: &[(u32, f64)], weight: f64, stride: usize, sums: &mut [f64]) {
    for (first, &(at, value)) in entries.iter().enumerate() {
        let line = &mut sums[at as usize * stride..(at as usize + 1) * stride];
        let value = value * weight;
        for &(other, factor) in &entries[first..] {
            line[other as usize] += value * factor;
        }
    }
}

/// The order of the columns in the sums: shifted columns come first, so that the entries of any row have ascending
/// indices.
struct Order {
    shifted: Vec<usize>,
    indices: Vec<u32>,
}

impl Order {
    fn new(shift: &[f64]) -> Order {
        let (shifted, others): (Vec<usize>, Vec<usize>) = (0..shift.len()).partition(|&column| shift[column] != 0.0);
        let mut indices = vec![0; shift.len()];
        for (index, &column) in shifted.iter().chain(&others).enumerate() {
            indices[column] = index as u32;
        }
        Order { shifted, indices }
    }

    /// Restores the original column order of the symmetric matrix.
    fn restore_order(&self, sums: &[f64], width: usize, stride: usize) -> Vec<f64> {
        let index = |column: usize| self.indices.get(column).map_or(column, |&index| index as usize);
        let mut full = vec![0.0; stride * stride];
        for i in 0..width {
            for j in i..width {
                let (a, b) = (index(i).min(index(j)), index(i).max(index(j)));
                full[i * stride + j] = sums[a * stride + b];
            }
        }
        mirror(&mut full, stride);
        full
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::moments::Moments;
    use super::*;
    use crate::Samples;
    use tove_tensor::{Key, Tensor};

    /// Rows of two one-hot blocks and two dense columns, one with a large mean, as sparse and as dense samples.
    fn samples(n: usize, categories: usize) -> (Samples, Samples) {
        let numbers = Key::new(3).uniform([n, 4], tove_tensor::DType::F64).to_vec::<f64>();
        let d = 2 * categories + 2;
        let mut dense = vec![0.0; n * d];
        for (row, out) in dense.chunks_exact_mut(d).enumerate() {
            let four = &numbers[row * 4..row * 4 + 4];
            (out[0], out[categories + 1]) = (four[0], 1e6 + four[1]);
            out[1 + (four[2] * categories as f64) as usize % categories] = 1.0;
            out[categories + 2 + (four[3] * categories as f64) as usize % categories] = 1.0;
        }
        let y: Vec<f64> = dense.chunks_exact(d).map(|row| 3.0 * row[0] + row[1] - row[d - 1]).collect();
        let weights: Vec<f64> = (0..n).map(|row| 0.5 + (row % 3) as f64).collect();
        let (x, y, weights) = (Tensor::try_from_vec(dense, [n, d]).unwrap(), Tensor::from(y), Tensor::from(weights));
        let sparse = Samples::new(Csr::from_dense(&x).unwrap(), &y).unwrap().weighted(&weights).unwrap();
        (sparse, Samples::new(x, &y).unwrap().weighted(&weights).unwrap())
    }

    #[test]
    fn moments_are_those_of_dense_rows() {
        let (sparse, dense) = samples(3000, 40);
        let (sparse, dense) = (Data::several(&sparse).unwrap(), Data::several(&dense).unwrap());
        let crate::Rows::Sparse(x) = sparse.x else { panic!("sparse rows") };
        assert!(is_cheaper(x, 2, 1));
        let (a, b) = (Moments::of(&sparse, true).unwrap(), Moments::of(&dense, true).unwrap());
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + b.abs()));
        assert!(close(&a.gram, &b.gram) && close(&a.cross, &b.cross) && close(&a.squares, &b.squares));
        assert!(close(&a.mean_x, &b.mean_x) && close(&a.mean_y, &b.mean_y) && (a.weight - b.weight).abs() < 1e-9);
        let (a, b) = (Moments::of(&sparse, false).unwrap(), Moments::of(&dense, false).unwrap());
        assert!(a.gram.iter().zip(&b.gram).all(|(a, b)| (a - b).abs() <= 1e-12 * (1.0 + b.abs())));
    }
}
