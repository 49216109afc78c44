//! Polynomial features of sparse rows: products of stored values.

use super::polynomial::Run;
use crate::{Csr, LearnError, Real, Result, memory, with_real};
use tove_tensor::Tensor;

/// The products to compute: up to this degree, optionally after a column of ones.
pub(super) struct Products<'a> {
    pub who: &'static str,
    pub degree: usize,
    pub interaction_only: bool,
    pub bias: usize,
    pub outputs: usize,
    /// Runs of the degrees from 2 on, feature by feature.
    pub runs: &'a [Run],
}

impl Products<'_> {
    /// Start of the products of each run, without the column of ones.
    fn starts(&self, width: usize) -> Vec<usize> {
        let begin = self.runs.iter().scan(width, |next, run| {
            let start = *next;
            *next += run.count;
            Some(start)
        });
        begin.collect()
    }

    /// Approximate upper bound on the number of products for rows with these numbers of entries.
    fn estimate(&self, x: &Csr) -> u64 {
        let of = |entries: usize| {
            let (mut all, mut level) = (1.0f64, 1.0f64);
            for degree in 1..=self.degree {
                let grow = if self.interaction_only { 0.0 } else { (degree - 1) as f64 };
                level *= (entries as f64 + grow).max(0.0) / degree as f64;
                all += level;
            }
            all
        };
        x.indptr().windows(2).map(|two| of(two[1] - two[0])).sum::<f64>().min(1e18) as u64
    }

    /// Computes the rows of products, in sparse format.
    pub(super) fn of(&self, x: &Csr) -> Result<Csr> {
        let (width, entries) = (x.columns(), self.estimate(x));
        let what = format!("sparse rows of {entries} products");
        memory::require(self.who, what, entries.saturating_mul(16), "lower the degree, or select features first")?;
        let starts = self.starts(width);
        with_real!(x.dtype(), T => {
            let old = x.values().as_slice::<T>()?;
            let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for two in x.indptr().windows(2) {
                let row: Vec<(usize, T)> =
                    (two[0]..two[1]).map(|entry| (x.indices()[entry] as usize, old[entry])).collect();
                if self.bias > 0 {
                    indices.push(0);
                    values.push(<T as Real>::ONE);
                }
                // The products of one degree with their indices, from those of one degree less.
                let mut level = if self.degree > 0 { row.clone() } else { Vec::new() };
                for degree in 1..=self.degree {
                    indices.extend(level.iter().map(|entry| (entry.0 + self.bias) as u32));
                    values.extend(level.iter().map(|entry| entry.1));
                    if degree == self.degree {
                        break;
                    }
                    let mut next = Vec::new();
                    for &(feature, value) in &row {
                        let index = (degree - 1) * width + feature;
                        let run = &self.runs[index];
                        let others = &level[level.partition_point(|entry| entry.0 < run.from)..];
                        next.extend(others.iter().map(|&(at, other)| (starts[index] + at - run.from, value * other)));
                    }
                    level = next;
                }
                indptr.push(indices.len());
            }
            if values.iter().any(|value| !value.f64().is_finite()) {
                let fix = "scale the features, or lower the degree";
                return Err(LearnError::data(self.who, "products of the features overflow", fix));
            }
            let entries = values.len();
            Csr::new(indptr, indices, Tensor::try_from_vec(values, [entries])?, self.outputs)
        })
    }
}
