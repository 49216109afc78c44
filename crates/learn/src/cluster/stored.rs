//! Samples with their clusters: a row belongs to the cluster of the nearest one.

use tove_tensor::Tensor;

use crate::neighbors::{Index, NeighborSettings};
use crate::{Record, Result, Rows, Samples};

/// Samples and the cluster of each.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    index: Index,
    labels: Vec<i64>,
}

impl Stored {
    /// Samples with a label each.
    pub(super) fn new(who: &'static str, samples: &Samples, labels: Vec<i64>) -> Result<Stored> {
        Ok(Stored { index: Index::new(who, &NeighborSettings::default(), samples)?, labels })
    }

    pub(super) fn labels(&self) -> &[i64] {
        &self.labels
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// The cluster of the nearest sample of each row; −1 where that is farther than `reach`.
    pub(super) fn nearest(&self, x: &Rows, reach: f64) -> Result<Tensor> {
        let found = self.index.nearest(x, 1)?;
        let label =
            |&(distance, sample): &(f64, u32)| if distance <= reach { self.labels[sample as usize] } else { -1 };
        Ok(Tensor::from_slice(&found.iter().map(label).collect::<Vec<i64>>()))
    }

    pub(super) fn write(&self, record: &mut Record) {
        self.index.write(record);
        record.put_tensor("labels", &Tensor::from_slice(&self.labels));
    }

    pub(super) fn read(who: &'static str, record: &Record) -> Result<Stored> {
        let index = Index::read(who, &NeighborSettings::default(), record)?;
        let labels = record.integers("labels")?;
        if labels.len() != index.len() || labels.iter().any(|&label| label < -1) {
            return Err(record.wrong("labels", "the cluster of each sample"));
        }
        Ok(Stored { index, labels })
    }
}
