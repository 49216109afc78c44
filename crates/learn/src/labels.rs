//! Class labels: arbitrary integers outside, codes 0 … m − 1 inside.
//!
//! ```
//! use tove_learn::Labels;
//! use tove_tensor::Tensor;
//! let labels = Labels::of("Example", &Tensor::from([7i64, -1, 7]))?;
//! assert_eq!((labels.classes(), labels.codes()), (&[-1, 7][..], &[1, 0, 1][..]));
//! assert_eq!(labels.one_hot(tove_tensor::DType::F64).to_vec::<f64>(), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
//! assert_eq!(Labels::of("Example", &Tensor::from([1.0, 0.0]))?.classes(), [0, 1]);
//! assert!(Labels::of("Example", &Tensor::from([1.5, 0.0])).is_err());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{DType, Tensor};

use crate::{LearnError, Result};

/// The classes of a target vector in ascending order, and the class index of each sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<i64>,
    codes: Vec<usize>,
}

impl Labels {
    /// Reads class labels from a vector of i64, u8 or bool, or of integers stored as f32 or f64 (1.0 is class 1).
    pub fn of(who: &'static str, y: &Tensor) -> Result<Labels> {
        let refuse = |found: String, expected| Err(LearnError::Target { who, found, expected });
        if y.dtype().is_float() {
            let whole = |value: &f64| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
            if let Some(value) = y.to_f64_vec().iter().find(|value| !whole(value)) {
                let expected = "class labels must be integers; for continuous targets choose a regressor";
                return refuse(format!("continuous ({value} is among the labels)"), expected);
            }
        }
        if !matches!(y.dims(), [_] | [_, 1]) {
            return refuse(format!("of shape {}", y.shape()), "a classifier takes one label per sample");
        }
        let values = y.to_dtype(DType::I64).try_to_vec::<i64>()?;
        let mut classes = values.clone();
        classes.sort_unstable();
        classes.dedup();
        let codes = values.iter().map(|value| classes.partition_point(|class| class < value)).collect();
        Ok(Labels { classes, codes })
    }

    /// Like [`Labels::of`], but returns an error if there are fewer than two classes.
    pub fn several(who: &'static str, y: &Tensor) -> Result<Labels> {
        let labels = Labels::of(who, y)?;
        match labels.classes[..] {
            [class] => Err(LearnError::OneClass { who, class, samples: labels.codes.len() }),
            _ => Ok(labels),
        }
    }

    /// The classes of an incremental fit, which are listed in advance, in ascending order.
    pub(crate) fn listed(classes: &[i64]) -> Result<Vec<i64>> {
        let mut sorted = classes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < 2 {
            let problem = format!("{} classes; list all classes in advance, at least two", sorted.len());
            return Err(LearnError::parameter("learner", problem));
        }
        Ok(sorted)
    }

    /// The index of each sample's class among listed classes.
    pub(crate) fn codes_among(&self, who: &'static str, listed: &[i64]) -> Result<Vec<usize>> {
        let index = |class: &i64| {
            listed.binary_search(class).map_err(|_| {
                let problem = format!("class {class} is not in the list of classes given at the start");
                LearnError::data(who, problem, "list all classes when creating the learner")
            })
        };
        let indices = self.classes.iter().map(index).collect::<Result<Vec<usize>>>()?;
        Ok(self.codes.iter().map(|&code| indices[code]).collect())
    }

    /// The classes in ascending order.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The class index of each sample.
    pub fn codes(&self) -> &[usize] {
        &self.codes
    }

    /// One-hot encoding (n, m).
    pub fn one_hot(&self, dtype: DType) -> Tensor {
        let m = self.classes.len();
        let mut rows = vec![0.0f64; self.codes.len() * m];
        for (row, &code) in self.codes.iter().enumerate() {
            rows[row * m + code] = 1.0;
        }
        Tensor::from_vec(rows, [self.codes.len(), m]).to_dtype(dtype)
    }

    /// Converts class indices to labels, as the output of a classifier.
    pub fn decode(classes: &[i64], codes: impl IntoIterator<Item = usize>) -> Tensor {
        Tensor::from_slice(&codes.into_iter().map(|code| classes[code]).collect::<Vec<_>>())
    }
}
