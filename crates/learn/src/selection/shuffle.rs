//! Random splits, and splits of time series.
//!
//! ```
//! use tove_learn::selection::{Splitter, TimeSeriesSplit};
//! use tove_tensor::{DType, Tensor};
//! let folds = TimeSeriesSplit::new(3).split(&Tensor::zeros([8], DType::F64))?;
//! assert_eq!((&folds[0].train[..], &folds[0].test[..]), (&[0, 1][..], &[2, 3][..]));
//! assert_eq!((&folds[2].train[..], &folds[2].test[..]), (&[0, 1, 2, 3, 4, 5][..], &[6, 7][..]));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{Key, Tensor};

use super::folds::{Fold, Splitter, length};
use super::split::{Size, Split};
use crate::{LearnError, Result};

/// Each split trains on the past and tests on the samples that follow it.
#[derive(Clone, Debug)]
pub struct TimeSeriesSplit {
    splits: usize,
    gap: usize,
    max_train_size: Option<usize>,
    test_size: Option<usize>,
}

impl TimeSeriesSplit {
    /// Creates a splitter with this many splits.
    pub fn new(splits: usize) -> TimeSeriesSplit {
        TimeSeriesSplit { splits, gap: 0, max_train_size: None, test_size: None }
    }

    /// Excludes `gap` samples between the training and the test part.
    #[must_use]
    pub fn gap(self, gap: usize) -> TimeSeriesSplit {
        TimeSeriesSplit { gap, ..self }
    }

    /// Limits the training part to its latest samples.
    #[must_use]
    pub fn max_train_size(self, size: usize) -> TimeSeriesSplit {
        TimeSeriesSplit { max_train_size: Some(size), ..self }
    }

    /// Size of the test parts; n/(splits + 1) by default.
    #[must_use]
    pub fn test_size(self, size: usize) -> TimeSeriesSplit {
        TimeSeriesSplit { test_size: Some(size), ..self }
    }
}

impl Splitter for TimeSeriesSplit {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        const WHO: &str = "TimeSeriesSplit";
        let (n, k) = (length(y), self.splits);
        if k < 2 {
            return Err(LearnError::parameter(WHO, format!("{k} splits; give at least 2")));
        }
        let size = self.test_size.unwrap_or(n / (k + 1));
        if self.max_train_size == Some(0) {
            return Err(LearnError::parameter(WHO, "max_train_size is 0; give at least 1"));
        }
        let needed = k.saturating_mul(size).saturating_add(self.gap).saturating_add(1);
        if size == 0 || n < needed {
            let fix = "ask for fewer splits, a smaller test size or a smaller gap".to_owned();
            return Err(LearnError::TooFew { who: WHO, found: n, needed: needed.max(k + 1), fix });
        }
        let fold = |start: usize| {
            let end = start - self.gap;
            let first = self.max_train_size.map_or(0, |max| end.saturating_sub(max));
            Fold { train: (first..end).collect(), test: (start..start + size).collect() }
        };
        Ok((0..k).map(|i| fold(n - (k - i) * size)).collect())
    }
}

/// Independent random splits: samples may be tested several times or never.
#[derive(Clone, Debug)]
pub struct ShuffleSplit {
    splits: usize,
    test: Size,
    seed: u64,
    stratified: bool,
}

impl ShuffleSplit {
    /// Creates a splitter with this many splits and a test part of this size, drawn from the seed.
    pub fn new(splits: usize, test: impl Into<Size>, seed: u64) -> ShuffleSplit {
        ShuffleSplit { splits, test: test.into(), seed, stratified: false }
    }

    /// Keeps the class proportions.
    #[must_use]
    pub fn stratified(self) -> ShuffleSplit {
        ShuffleSplit { stratified: true, ..self }
    }
}

impl Splitter for ShuffleSplit {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        if self.splits == 0 {
            return Err(LearnError::parameter("ShuffleSplit", "0 splits; give at least 1"));
        }
        let one = |key: Key| {
            let mut split = Split::test(self.test).keyed(key);
            if self.stratified {
                split = split.stratified();
            }
            let mut parts = split.indices(y)?;
            parts.train.sort_unstable();
            Ok(Fold { train: parts.train, test: parts.test })
        };
        Key::new(self.seed).split(self.splits).into_iter().map(one).collect()
    }
}
