//! Duplicate rows within and across data sets: a test row that is also in the training set is leakage.
//!
//! ```
//! use tove_learn::diagnostics::{Sets, duplicates};
//! use tove_tensor::Tensor;
//! let (train, test) = (Tensor::from([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]), Tensor::from([[3.0, 4.0], [5.0, 6.0]]));
//! let report = duplicates(&Sets::new().with("train", &train).with("test", &test))?;
//! assert_eq!((report.within("train"), report.across("train", "test")), (1, 1));
//! assert_eq!(report.to_string(), "1 row of train is duplicated; 1 row of test is also in train");
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::HashMap;
use std::fmt;

use crate::{Real, Result, Rows, with_real};

/// Named sets of rows.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    sets: Vec<(String, Rows)>,
}

impl Sets {
    /// Creates an empty list of sets.
    pub fn new() -> Sets {
        Sets::default()
    }

    /// Adds a set.
    #[must_use]
    pub fn with(mut self, name: &str, x: impl Into<Rows>) -> Sets {
        self.sets.push((name.to_owned(), x.into()));
        self
    }
}

/// Duplicate rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateReport {
    names: Vec<String>,
    within: Vec<usize>,
    across: Vec<(usize, usize, Vec<usize>)>,
}

impl DuplicateReport {
    fn index_of(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }

    /// Number of rows of a set that repeat an earlier row of it.
    pub fn within(&self, name: &str) -> usize {
        self.index_of(name).map_or(0, |index| self.within[index])
    }

    /// Number of rows of the later set that are also in the earlier one.
    pub fn across(&self, earlier: &str, later: &str) -> usize {
        self.rows_across(earlier, later).len()
    }

    /// The indices of those rows in the later set.
    pub fn rows_across(&self, earlier: &str, later: &str) -> &[usize] {
        let (a, b) = (self.index_of(earlier), self.index_of(later));
        let found = self.across.iter().find(|(i, j, _)| (Some(*i), Some(*j)) == (a, b));
        found.map_or(&[], |(_, _, rows)| rows)
    }

    /// Whether there are no duplicates.
    pub fn is_empty(&self) -> bool {
        self.within.iter().all(|&count| count == 0) && self.across.iter().all(|(_, _, rows)| rows.is_empty())
    }
}

impl fmt::Display for DuplicateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = |count: usize| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        for (name, &count) in self.names.iter().zip(&self.within).filter(|(_, count)| **count > 0) {
            parts.push(format!("{} of {name} {} duplicated", rows(count), is(count)));
        }
        for (a, b, indices) in self.across.iter().filter(|(_, _, indices)| !indices.is_empty()) {
            let count = indices.len();
            parts.push(format!("{} of {} {} also in {}", rows(count), self.names[*b], is(count), self.names[*a]));
        }
        f.write_str(&if parts.is_empty() { "no duplicate rows".to_owned() } else { parts.join("; ") })
    }
}

/// Finds duplicate rows. Values are compared numerically; −0 equals 0, and NaN equals NaN.
pub fn duplicates(sets: &Sets) -> Result<DuplicateReport> {
    let keyed: Vec<Vec<Vec<u64>>> = sets.sets.iter().map(|(_, x)| keys(x)).collect::<Result<_>>()?;
    let known: Vec<HashMap<&[u64], usize>> = keyed
        .iter()
        .map(|rows| {
            let mut counts = HashMap::with_capacity(rows.len());
            rows.iter().for_each(|row| *counts.entry(&row[..]).or_default() += 1);
            counts
        })
        .collect();
    let within = keyed.iter().zip(&known).map(|(rows, known)| rows.len() - known.len()).collect();
    let mut across = Vec::new();
    for (later, rows) in keyed.iter().enumerate() {
        for (earlier, known) in known[..later].iter().enumerate() {
            let there = rows.iter().enumerate().filter(|(_, row)| known.contains_key(&row[..]));
            across.push((earlier, later, there.map(|(index, _)| index).collect()));
        }
    }
    Ok(DuplicateReport { names: sets.sets.iter().map(|(name, _)| name.clone()).collect(), within, across })
}

/// The bits of each row's values as f64; for sparse rows, of the columns and values that are not zero.
fn keys(x: &Rows) -> Result<Vec<Vec<u64>>> {
    let bits = |value: f64| if value.is_nan() { u64::MAX } else { (value + 0.0).to_bits() };
    let x = match x.tabular()? {
        Rows::Dense(x) => x,
        Rows::Sparse(x) => x.to_dense()?,
    };
    let width = x.dims()[1].max(1);
    Ok(with_real!(x.dtype(), T => {
        x.as_slice::<T>()?.chunks(width).map(|row| row.iter().map(|v| bits(v.f64())).collect()).collect()
    }))
}
