//! The supervised data set S = {(xᵢ, yᵢ)}: features, targets and weights that stay together.
//!
//! ```
//! use tove_learn::Samples;
//! use tove_tensor::{Key, Tensor};
//! let s = Samples::new(&Tensor::from([[1.0], [2.0], [3.0]]), &Tensor::from([10.0, 20.0, 30.0]))?;
//! let part = s.take(&[2, 0])?;
//! assert_eq!(part.y().to_vec::<f64>(), [30.0, 10.0]);
//! let error = Samples::new(&Tensor::from([[1.0], [f64::NAN]]), &Tensor::from([1.0, 2.0])).unwrap_err();
//! assert!(error.to_string().starts_with("the feature in row 1, column 0, is NaN"));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{Key, Tensor};

use crate::rows::{first_not_finite, take, vector};
use crate::{LearnError, Result, Rows, with_real};

/// Features with targets and perhaps weights, checked once: a matrix of finite numbers, everything of equal length, weights
/// that are not negative. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Samples {
    x: Rows,
    y: Tensor,
    weights: Option<Tensor>,
    missing: bool, // whether NaN among the features was let in
}

impl Samples {
    /// Pairs features (n, d) with targets (n) or, for several outputs, (n, m).
    pub fn new(x: impl Into<Rows>, y: &Tensor) -> Result<Samples> {
        Samples::pair(x.into().checked()?, y, false)
    }

    /// As [`Samples::new`], with NaN among the features for what is missing: for pipelines that fill the gaps. Other
    /// estimators refuse such samples when there are gaps.
    pub fn with_missing(x: impl Into<Rows>, y: &Tensor) -> Result<Samples> {
        Samples::pair(x.into().tabular()?, y, true)
    }

    /// Whether there may be NaN among the features.
    pub fn may_miss(&self) -> bool {
        self.missing
    }

    fn pair(x: Rows, y: &Tensor, missing: bool) -> Result<Samples> {
        let (rows, found) = (x.len(), y.dims().first().copied().unwrap_or(1));
        if y.rank() == 0 || y.rank() > 2 {
            let problem = format!("targets of shape {}; give a vector, one number per row of features", y.shape());
            return Err(LearnError::parameter("Samples", problem));
        }
        if rows != found {
            return Err(LearnError::Lengths { rows, what: "targets", found });
        }
        if rows == 0 {
            let fix = "give rows to learn from".to_owned();
            return Err(LearnError::TooFew { who: "Samples", found: 0, needed: 1, fix });
        }
        let y = y.detach().try_contiguous()?;
        finite("the target", &y, "remove the sample; a target cannot be filled in")?;
        Ok(Samples { x, y, weights: None, missing })
    }

    /// The same samples, each counting as often as its weight says.
    pub fn weighted(self, weights: &Tensor) -> Result<Samples> {
        let values = vector("weights", weights)?;
        if values.len() != self.len() {
            return Err(LearnError::Lengths { rows: self.len(), what: "weights", found: values.len() });
        }
        finite("the weight", weights, "give a number from 0 on")?;
        if let Some(row) = values.iter().position(|&weight| weight < 0.0) {
            let problem = format!("the weight of row {row} is {}; weights are numbers from 0 on", values[row]);
            return Err(LearnError::parameter("Samples", problem));
        }
        if values.iter().all(|&weight| weight == 0.0) {
            return Err(LearnError::parameter("Samples", "all weights are 0; give at least one sample a weight"));
        }
        let length = values.len();
        Ok(Samples { weights: Some(Tensor::try_from_vec(values, [length])?), ..self })
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are none; never so for a set that was made by [`Samples::new`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.x.width()
    }

    /// The features.
    pub fn x(&self) -> &Rows {
        &self.x
    }

    /// The targets, row-major.
    pub fn y(&self) -> &Tensor {
        &self.y
    }

    /// The weights (n) as doubles, if there are any.
    pub fn weights(&self) -> Option<&Tensor> {
        self.weights.as_ref()
    }

    /// The samples at these places, in this order.
    pub fn take(&self, rows: &[usize]) -> Result<Samples> {
        let weights = self.weights.as_ref().map(|weights| take(weights, rows)).transpose()?;
        Ok(Samples { x: self.x.take(rows)?, y: take(&self.y, rows)?, weights, missing: self.missing })
    }

    /// The samples in an order drawn with `key`.
    pub fn shuffled(&self, key: Key) -> Result<Samples> {
        let order: Vec<usize> = key.permutation(self.len()).to_vec::<i64>().iter().map(|&i| i as usize).collect();
        self.take(&order)
    }

    /// The same samples with other features, as a transformation of the features makes them.
    pub fn with_x(&self, x: impl Into<Rows>) -> Result<Samples> {
        let x = x.into().checked()?;
        if x.len() != self.len() {
            return Err(LearnError::Lengths { rows: x.len(), what: "targets", found: self.len() });
        }
        Ok(Samples { x, missing: false, ..self.clone() })
    }

    /// The same samples with other targets, one per row.
    pub fn with_y(&self, y: &Tensor) -> Result<Samples> {
        let samples = Samples::pair(self.x.clone(), y, self.missing)?;
        Ok(Samples { weights: self.weights.clone(), ..samples })
    }

    /// The targets as one number per sample, for regression.
    pub fn targets(&self, who: &'static str) -> Result<Vec<f64>> {
        match self.y.dims() {
            [_] | [_, 1] => Ok(self.y.to_f64_vec()),
            _ => Err(LearnError::Target {
                who,
                found: format!("of shape {}", self.y.shape()),
                expected: "this estimator learns one output; fit one model per column",
            }),
        }
    }
}

/// That a tensor of numbers has no NaN and no infinity.
fn finite(what: &'static str, x: &Tensor, fix: &'static str) -> Result<()> {
    if !x.dtype().is_float() {
        return Ok(());
    }
    let x = x.try_contiguous()?;
    let found = with_real!(x.dtype(), T => first_not_finite(x.as_slice::<T>()?));
    match found {
        None => Ok(()),
        Some((place, value)) => {
            let width = x.dims().get(1).copied().unwrap_or(1).max(1);
            let column = (x.rank() > 1).then_some(place % width);
            Err(LearnError::NotFinite { what, row: place / width, column, value, fix })
        }
    }
}
