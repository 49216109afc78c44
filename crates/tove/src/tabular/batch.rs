//! Rows of several tables as one, and the answers to them apart again.

use tove_learn::{Csr, LearnError, Rows};
use tove_tensor::{Tensor, TryOps};

use super::Result;

/// What a model says of rows: numbers, or codes of classes, and probabilities where it gives them.
#[derive(Clone, Debug)]
pub struct Answers {
    /// A number or the code of a class per row.
    pub values: Tensor,
    /// Probabilities (rows, classes).
    pub probabilities: Option<Tensor>,
}

impl Answers {
    /// The answers to the parts, which have so many rows each.
    pub(super) fn parted(&self, counts: impl Iterator<Item = usize>) -> Result<Vec<Answers>> {
        let mut start = 0;
        let part = |count: usize| {
            let take = |x: &Tensor| x.try_narrow(0, start, count)?.try_contiguous();
            let probabilities = self.probabilities.as_ref().map(take).transpose()?;
            let part = Answers { values: take(&self.values)?, probabilities };
            start += count;
            Ok(part)
        };
        counts.map(part).collect()
    }
}

/// All rows, one below the other.
pub(super) fn joined(parts: &[&Rows]) -> Result<Rows> {
    if let [only] = parts {
        return Ok((*only).clone());
    }
    let mixed = || LearnError::parameter("rows", "some are sparse and some are dense; give all in one form");
    if let Some(Rows::Sparse(first)) = parts.first() {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for rows in parts {
            let Rows::Sparse(rows) = rows else { return Err(mixed().into()) };
            let before = indices.len();
            indptr.extend(rows.indptr()[1..].iter().map(|end| before + end));
            indices.extend_from_slice(rows.indices());
            values.push(rows.values());
        }
        return Ok(Csr::new(indptr, indices, Tensor::try_concat(&values, 0)?, first.columns())?.into());
    }
    let dense: Option<Vec<&Tensor>> =
        parts.iter().map(|rows| if let Rows::Dense(x) = rows { Some(x) } else { None }).collect();
    Ok(Rows::Dense(Tensor::try_concat(&dense.ok_or_else(mixed)?, 0)?))
}
