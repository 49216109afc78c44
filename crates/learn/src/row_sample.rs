//! A random sample of rows that come in batches, in bounded memory. Which rows are in it depends on their numbers and the seed alone,
//! so any batch size gives the same sample.

use std::collections::BinaryHeap;

use tove_tensor::{DType, Tensor};

use crate::Result;

/// A number that depends on the seed and the row alone (splitmix64).
fn draw(seed: u64, row: usize) -> u64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(row as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The rows with the smallest draws.
#[derive(Clone, Debug)]
pub(crate) struct RowSample {
    most: usize,
    seed: u64,
    width: usize,
    seen: usize,
    /// (draw, number of the row, place in `rows`), the largest draw on top.
    kept: BinaryHeap<(u64, usize, usize)>,
    rows: Vec<f64>,
    weights: Vec<f64>,
}

impl RowSample {
    pub(crate) fn new(most: usize, seed: u64, width: usize) -> RowSample {
        let (kept, rows, weights) = (BinaryHeap::new(), Vec::new(), Vec::new());
        RowSample { most, seed, width, seen: 0, kept, rows, weights }
    }

    /// Rows seen so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    pub(crate) fn add(&mut self, row: &[f64], weight: f64) {
        let (lot, number) = (draw(self.seed, self.seen), self.seen);
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push((lot, number, self.weights.len()));
            self.rows.extend_from_slice(row);
            self.weights.push(weight);
        } else if let Some(mut top) = self.kept.peek_mut()
            && (lot, number) < (top.0, top.1)
        {
            let place = top.2;
            *top = (lot, number, place);
            self.rows[place * self.width..(place + 1) * self.width].copy_from_slice(row);
            self.weights[place] = weight;
        }
    }

    /// The rows in their order, with their weights.
    pub(crate) fn finish(&self, dtype: DType) -> Result<(Tensor, Vec<f64>)> {
        let mut places: Vec<(usize, usize)> = self.kept.iter().map(|&(_, number, place)| (number, place)).collect();
        places.sort_unstable();
        let mut rows = Vec::with_capacity(self.rows.len());
        for &(_, place) in &places {
            rows.extend_from_slice(&self.rows[place * self.width..(place + 1) * self.width]);
        }
        let weights = places.iter().map(|&(_, place)| self.weights[place]).collect();
        Ok((Tensor::try_from_vec(rows, [places.len(), self.width])?.to_dtype(dtype), weights))
    }
}
