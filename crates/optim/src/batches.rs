//! Shuffle, batch, epoch: in each epoch the n samples are shuffled and cut into consecutive batches of r; the next epoch
//! shuffles anew.
//!
//! With n = b r there are b = n/r steps per epoch. The number of epochs is a free choice; it does not follow from the batch
//! size. The order of epoch e depends on the seed and on e alone, so that a run can be resumed anywhere.
//!
//! ```
//! use tove_optim::Batches;
//! let batches = Batches::new(5, 2, 7)?;
//! assert_eq!(batches.steps_per_epoch(), 3);
//! let sizes: Vec<usize> = batches.epoch(0).iter().map(|batch| batch.numel()).collect();
//! assert_eq!(sizes, [2, 2, 1]); // the last one is ragged
//! assert_eq!(batches.drop_last(true).steps_per_epoch(), 2);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use std::fmt::Write;

use tove_tensor::{Key, Result, Tensor};

use crate::fault;

/// Cuts samples into batches, epoch by epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batches {
    samples: usize,
    size: usize,
    seed: u64,
    shuffle: bool,
    drop_last: bool,
}

impl Batches {
    /// Batches of `size` out of `samples`, shuffled by `seed`; a ragged last batch is kept.
    pub fn new(samples: usize, size: usize, seed: u64) -> Result<Batches> {
        if size == 0 {
            return Err(fault::parameter("batches", "size", "is 0; a batch needs at least one sample"));
        }
        Ok(Batches { samples, size, seed, shuffle: true, drop_last: false })
    }

    /// Whether the order changes from epoch to epoch (it does by default) or is 0, 1, 2, … always.
    pub fn shuffle(mut self, shuffle: bool) -> Batches {
        self.shuffle = shuffle;
        self
    }

    /// Whether a last batch with fewer samples than the others is left out (by default it is kept).
    pub fn drop_last(mut self, drop_last: bool) -> Batches {
        self.drop_last = drop_last;
        self
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Samples per batch.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Batches per epoch.
    pub fn steps_per_epoch(&self) -> usize {
        if self.drop_last { self.samples / self.size } else { self.samples.div_ceil(self.size) }
    }

    /// The order of all samples in an epoch.
    pub fn order(&self, epoch: usize) -> Vec<i64> {
        if self.shuffle {
            tove_tensor::random::permutation(Key::new(self.seed).fold(epoch as u64), self.samples)
        } else {
            (0..self.samples as i64).collect()
        }
    }

    /// The batches of an epoch, each a vector of sample numbers (i64) for `index_select`.
    pub fn epoch(&self, epoch: usize) -> Vec<Tensor> {
        self.order(epoch).chunks(self.size).take(self.steps_per_epoch()).map(Tensor::from_slice).collect()
    }

    /// The sequence of batches in words, one line per epoch.
    ///
    /// ```
    /// use tove_optim::Batches;
    /// let batches = Batches::new(4, 2, 0)?.shuffle(false);
    /// assert_eq!(batches.describe(2), "epoch 1: [0 1] [2 3]\nepoch 2: [0 1] [2 3]\n");
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    pub fn describe(&self, epochs: usize) -> String {
        let mut text = String::new();
        for epoch in 0..epochs {
            let _ = write!(text, "epoch {}:", epoch + 1);
            for batch in self.order(epoch).chunks(self.size).take(self.steps_per_epoch()) {
                let samples: Vec<String> = batch.iter().map(i64::to_string).collect();
                let _ = write!(text, " [{}]", samples.join(" "));
            }
            text.push('\n');
        }
        text
    }
}
