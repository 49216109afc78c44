//! Images that stay in their file until a batch asks for them.

use std::path::Path;

use tove_tensor::io::{FaultKind, Place};
use tove_tensor::{DType, Key, Tensor, TryIndex};

use super::idx::{IdxType, decode, read_header};
use super::records::Records;
use super::{cifar, read_idx};
use crate::source::{Source, fault};
use crate::{Batch, DataError, Dataset, Result};

/// A set of images read record by record from an IDX or CIFAR-10 file.
///
/// A plain file is never loaded whole: a batch reads its own records. A packed file (`.gz`) cannot be entered in the
/// middle, so it is unpacked into memory once, in its own element type; unpack it on disk to stream it. Batches have the
/// file's element type (u8 for the usual sets): convert and augment with [`Dataset::augmented`].
///
/// ```no_run
/// use tove_data::{Dataset, Key, augment::Augment, images::StreamedImages};
/// let data = StreamedImages::cifar10("data_batch_1.bin")?.augmented(Augment::new().reflect_horizontal(0.5));
/// let batch = data.batch(&[0, 1], Key::new(0))?; // f32 in [0, 1]
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct StreamedImages {
    records: Records,
    kind: IdxType,
    /// Shape of one sample.
    shape: Vec<usize>,
    /// Labels apart from the images; otherwise the first byte of a record is its label.
    labels: Option<Tensor>,
}

impl StreamedImages {
    /// Images of an IDX file and labels of another. Images of rank 3, (N, H, W), are given a channel axis: batches are
    /// (batch, 1, H, W); other ranks stay as they are. Labels are read at once, as i64 when they are whole numbers.
    ///
    /// # Errors
    /// If a file cannot be read or contradicts itself, or the numbers of images and labels differ.
    pub fn idx(images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Result<Self> {
        let mut source = Source::open(images.as_ref())?;
        let header = read_header(&mut source)?;
        let Some((&count, sizes)) = header.shape.split_first() else {
            return Err(source.malformed("the array has no axis that counts images".to_owned()));
        };
        let mut labels = read_idx(labels)?;
        if labels.dims().first() != Some(&count) {
            return Err(DataError::Lengths { x: count, y: labels.dims().first().copied().unwrap_or(0) });
        }
        if labels.dtype() == DType::U8 {
            labels = labels.to_dtype(DType::I64);
        }
        let size = sizes.iter().product::<usize>() * header.kind.size();
        let channel = (sizes.len() == 2).then_some(1);
        let shape = channel.into_iter().chain(sizes.iter().copied()).collect();
        let records = Records::new(images.as_ref(), source, size, count)?;
        Ok(Self { records, kind: header.kind, shape, labels: Some(labels) })
    }

    /// Images (batch, 3, 32, 32) and labels of a CIFAR-10 binary file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a whole number of records.
    pub fn cifar10(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut source = Source::open(path)?;
        let unpacked = if source.is_packed() { Some(source.rest()?) } else { None };
        let len = unpacked.as_ref().map_or(source.len().unwrap_or(0), |bytes| bytes.len() as u64);
        if len == 0 || !len.is_multiple_of(cifar::RECORD as u64) {
            return Err(source.malformed(format!(
                "{len} bytes is not a multiple of the record length, {}; the file is truncated",
                cifar::RECORD
            )));
        }
        let records = match unpacked {
            Some(bytes) => Records::in_memory(path, bytes, cifar::RECORD),
            None => Records::new(path, source, cifar::RECORD, (len / cifar::RECORD as u64) as usize)?,
        };
        Ok(Self { records, kind: IdxType::U8, shape: cifar::SHAPE.to_vec(), labels: None })
    }
}

impl Dataset for StreamedImages {
    fn len(&self) -> usize {
        self.records.count()
    }

    fn batch(&self, indices: &[usize], _: Key) -> Result<Batch> {
        let bytes = self.records.gather(indices)?;
        let shape: Vec<usize> = std::iter::once(indices.len()).chain(self.shape.iter().copied()).collect();
        if let Some(labels) = &self.labels {
            let rows = Tensor::from(indices.iter().map(|&index| index as i64).collect::<Vec<_>>());
            return Ok(Batch { x: decode(self.kind, bytes, shape)?, y: labels.try_index_select(0, &rows)? });
        }
        let mut images = Vec::with_capacity(indices.len() * cifar::IMAGE);
        let mut labels = Vec::with_capacity(indices.len());
        for (record, &index) in bytes.chunks_exact(cifar::RECORD).zip(indices) {
            if record[0] >= cifar::CLASSES {
                let problem = format!("record {index} has label {}, classes are 0 to 9", record[0]);
                let (path, offset) = self.records.place(index);
                let place = Place { item: None, offset: Some(offset) };
                return Err(fault(path, place, FaultKind::Malformed, problem, cifar::NOT_CIFAR));
            }
            labels.push(i64::from(record[0]));
            images.extend_from_slice(&record[1..]);
        }
        Ok(Batch { x: Tensor::try_from_vec(images, shape)?, y: Tensor::from(labels) })
    }
}
