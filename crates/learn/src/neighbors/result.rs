//! Answers to neighbor queries.

use tove_tensor::{DType, Tensor};

use crate::{Real, Result, with_real};

/// The k nearest samples of each query, nearest first.
#[derive(Clone, Debug)]
pub struct Neighbors {
    /// Distances (queries, k).
    pub distances: Tensor,
    /// Numbers of the samples (queries, k), of type i64.
    pub indices: Tensor,
}

/// A sample and the number by which it is compared: smaller is nearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) key: f64,
    pub(crate) sample: u32,
}

impl Found {
    /// Nearer first, of equally near ones the one with the smaller number.
    pub(crate) fn order(&self, other: &Found) -> std::cmp::Ordering {
        self.key.total_cmp(&other.key).then(self.sample.cmp(&other.sample))
    }
}

impl Neighbors {
    /// From k pairs per query, of distances and numbers.
    pub(crate) fn of(pairs: &[(f64, u32)], k: usize, dtype: DType) -> Result<Neighbors> {
        let n = pairs.len() / k.max(1);
        let distances = with_real!(dtype, T => {
            Tensor::try_from_vec(pairs.iter().map(|pair| <T as Real>::of(pair.0)).collect::<Vec<T>>(), [n, k])?
        });
        let indices = Tensor::try_from_vec(pairs.iter().map(|pair| i64::from(pair.1)).collect(), [n, k])?;
        Ok(Neighbors { distances, indices })
    }
}

/// All samples within a radius of each query, nearest first.
#[derive(Clone, Debug)]
pub struct RadiusNeighbors {
    pub(crate) rows: Vec<Vec<(f64, u32)>>,
}

impl RadiusNeighbors {
    /// Number of queries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there were no queries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Numbers of the samples around a query, nearest first; none for a query that does not exist.
    pub fn indices(&self, query: usize) -> Vec<usize> {
        self.rows.get(query).into_iter().flatten().map(|pair| pair.1 as usize).collect()
    }

    /// Distances of the samples around a query, ascending.
    pub fn distances(&self, query: usize) -> Vec<f64> {
        self.rows.get(query).into_iter().flatten().map(|pair| pair.0).collect()
    }
}
