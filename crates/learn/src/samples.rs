//! Training data: features with optional targets, weights and groups.
//!
//! ```
//! use tove_learn::Samples;
//! use tove_tensor::{Key, Tensor};
//! let s = Samples::new(&Tensor::from([[1.0], [2.0], [3.0]]), &Tensor::from([10.0, 20.0, 30.0]))?;
//! let part = s.take(&[2, 0])?;
//! assert_eq!(part.y()?.to_vec::<f64>(), [30.0, 10.0]);
//! let error = Samples::new(&Tensor::from([[1.0], [f64::NAN]]), &Tensor::from([1.0, 2.0])).unwrap_err();
//! assert!(error.to_string().starts_with("the feature in row 1, column 0, is NaN"));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{DType, Key, Tensor};

use crate::rows::{first_not_finite, survey, take, vector};
use crate::{LearnError, Result, Rows, with_real};

/// Features with optional targets, weights and groups. Checked once: a matrix of finite numbers, equal lengths,
/// non-negative weights. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Samples {
    x: Rows,
    y: Option<Tensor>,
    weights: Option<Tensor>,
    groups: Option<Vec<i64>>,
    missing: bool, // whether NaN is allowed in the features
    /// Upper bound on the largest magnitude of the features; `None` if unknown.
    size: Option<f64>,
}

impl Samples {
    /// Creates samples from features (n, d) and targets (n) or, for multiple outputs, (n, m).
    pub fn new(x: impl Into<Rows>, y: &Tensor) -> Result<Samples> {
        Samples::from_parts(x.into(), Some(y), false)
    }

    /// Creates samples from features (n, d) only, for estimators that need no targets.
    ///
    /// ```
    /// use tove_learn::Samples;
    /// let samples = Samples::unlabeled(&tove_tensor::Tensor::from([[1.0], [2.0]]))?;
    /// assert!(samples.targets().is_none());
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    pub fn unlabeled(x: impl Into<Rows>) -> Result<Samples> {
        Samples::from_parts(x.into(), None, false)
    }

    /// Creates samples from features and optional targets; `missing` allows NaN in the features.
    pub fn from_parts(x: Rows, y: Option<&Tensor>, missing: bool) -> Result<Samples> {
        let (x, size) = if missing { (x.tabular()?, None) } else { x.measured().map(|(x, size)| (x, Some(size)))? };
        if x.is_empty() {
            let fix = "give at least one training row".to_owned();
            return Err(LearnError::TooFew { who: "Samples", found: 0, needed: 1, fix });
        }
        let y = y.map(|y| paired(x.len(), y)).transpose()?;
        Ok(Samples { x, y, weights: None, groups: None, missing, size })
    }

    /// Like [`Samples::new`], but NaN in the features marks missing values, for pipelines with imputation. Other
    /// estimators reject samples with missing values.
    pub fn with_missing(x: impl Into<Rows>, y: &Tensor) -> Result<Samples> {
        Samples::from_parts(x.into(), Some(y), true)
    }

    /// Whether the features may contain NaN.
    pub fn may_miss(&self) -> bool {
        self.missing
    }

    /// Sets sample weights.
    pub fn weighted(self, weights: &Tensor) -> Result<Samples> {
        let weights = checked_weights("Samples", self.len(), weights)?;
        Ok(Samples { weights: Some(weights), ..self })
    }

    /// Sets the group of each sample (n, integers), so that folds keep groups together.
    pub fn grouped(self, groups: &Tensor) -> Result<Samples> {
        let found = groups.numel();
        if groups.rank() != 1 || found != self.len() {
            return Err(LearnError::Lengths { rows: self.len(), what: "groups", found });
        }
        if groups.dtype() != DType::I64 {
            let problem = format!("groups of type {}; give integers of type i64", groups.dtype());
            return Err(LearnError::parameter("Samples", problem));
        }
        Ok(Samples { groups: Some(groups.try_to_vec::<i64>()?), ..self })
    }

    /// Checks that there is at least one sample and one with non-zero weight. A subset of other samples may lack both.
    pub fn require_some(&self, who: &'static str) -> Result<()> {
        self.require_rows(who)?;
        if self.has_zero_weight() {
            let fix = "give at least one sample a positive weight";
            return Err(LearnError::data(who, "all samples have weight 0", fix));
        }
        Ok(())
    }

    /// Checks that there is at least one sample.
    pub(crate) fn require_rows(&self, who: &'static str) -> Result<()> {
        if !self.is_empty() {
            return Ok(());
        }
        let fix = "give at least one training row; a fold or a group may be empty".to_owned();
        Err(LearnError::TooFew { who, found: 0, needed: 1, fix })
    }

    /// Whether all samples have weight 0.
    pub(crate) fn has_zero_weight(&self) -> bool {
        self.weights.as_ref().is_some_and(|weights| weights.to_f64_vec().iter().all(|&weight| weight == 0.0))
    }

    /// Checks that squares and sums of squares of features and targets neither overflow nor underflow, if their
    /// magnitude is known.
    pub(crate) fn require_moderate(&self, who: &'static str, single: bool) -> Result<()> {
        let (low, high) = if single && self.x.dtype() == DType::F32 { (1e-18, 1e18) } else { (1e-150, 1e150) };
        let check = |what: &str, size: f64, (low, high): (f64, f64), fix: &str| {
            if size <= high && (size >= low || size == 0.0) {
                return Ok(());
            }
            let problem = format!("the largest {what} has magnitude {size:e}, so its square overflows or underflows");
            Err(LearnError::data(who, problem, fix))
        };
        if let Some(size) = self.size {
            check("feature", size, (low, high), "scale the features, for example with `StandardScaler`")?;
        }
        if let Some(y) = self.y.as_ref().filter(|y| y.dtype().is_float()) {
            let size = with_real!(y.dtype(), T => survey(y.as_slice::<T>()?).largest);
            check("target", size, (1e-150, 1e150), "give the targets in another unit")?;
        }
        Ok(())
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are no samples; always false for samples created by [`Samples::new`].
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
    ///
    /// # Errors
    /// If there are none; see [`Samples::targets`].
    pub fn y(&self) -> Result<&Tensor> {
        self.targets_for("Samples")
    }

    /// The targets, if there are any.
    pub fn targets(&self) -> Option<&Tensor> {
        self.y.as_ref()
    }

    /// The targets, or an error for an estimator that needs them.
    pub(crate) fn targets_for(&self, who: &'static str) -> Result<&Tensor> {
        let fix = "give them with `fit(&x, &y)` or `Samples::new(&x, &y)`";
        self.y.as_ref().ok_or_else(|| LearnError::unsupported(who, "needs targets, but none were given", fix))
    }

    /// The groups (n), if there are any.
    pub fn groups(&self) -> Option<&[i64]> {
        self.groups.as_deref()
    }

    /// The weights (n) as f64, if there are any.
    pub fn weights(&self) -> Option<&Tensor> {
        self.weights.as_ref()
    }

    /// Returns the samples at these indices, in this order.
    pub fn take(&self, rows: &[usize]) -> Result<Samples> {
        let weights = self.weights.as_ref().map(|weights| take(weights, rows)).transpose()?;
        let y = self.y.as_ref().map(|y| take(y, rows)).transpose()?;
        let groups = self.groups.as_ref().map(|groups| rows.iter().map(|&row| groups[row]).collect());
        Ok(Samples { x: self.x.take(rows)?, y, weights, groups, missing: self.missing, size: self.size })
    }

    /// Returns the samples in a random order drawn with `key`.
    pub fn shuffled(&self, key: Key) -> Result<Samples> {
        let order: Vec<usize> = key.permutation(self.len()).to_vec::<i64>().iter().map(|&i| i as usize).collect();
        self.take(&order)
    }

    /// Replaces the features, for example by transformed ones.
    pub fn with_x(&self, x: impl Into<Rows>) -> Result<Samples> {
        let (x, size) = x.into().measured()?;
        self.replaced(x, false, Some(size))
    }

    /// Like [`Samples::with_x`], for features that may still contain missing values.
    pub(crate) fn with_x_and_missing(&self, x: Rows) -> Result<Samples> {
        match x.measured() {
            Ok((x, size)) => self.replaced(x, false, Some(size)),
            Err(LearnError::NotFinite { value, .. }) if value.is_nan() => self.replaced(x.tabular()?, true, None),
            Err(error) => Err(error),
        }
    }

    fn replaced(&self, x: Rows, missing: bool, size: Option<f64>) -> Result<Samples> {
        if x.len() != self.len() {
            return Err(LearnError::Lengths { rows: x.len(), what: "targets", found: self.len() });
        }
        Ok(Samples { x, missing, size, ..self.clone() })
    }

    /// Replaces the features by some of their columns, which were already checked.
    pub(crate) fn with_columns(&self, x: Rows) -> Samples {
        Samples { x, ..self.clone() }
    }

    /// Replaces the targets, one per row.
    pub fn with_y(&self, y: &Tensor) -> Result<Samples> {
        Ok(Samples { y: Some(paired(self.len(), y)?), ..self.clone() })
    }

    /// Removes the targets.
    pub fn without_targets(&self) -> Samples {
        Samples { y: None, ..self.clone() }
    }

    /// Removes the weights.
    pub fn without_weights(&self) -> Samples {
        Samples { weights: None, ..self.clone() }
    }

    /// The targets as one number per sample, for regression.
    pub fn single_target(&self, who: &'static str) -> Result<Vec<f64>> {
        let y = self.targets_for(who)?;
        match y.dims() {
            [_] | [_, 1] => Ok(y.to_f64_vec()),
            _ => Err(LearnError::Target {
                who,
                found: format!("of shape {}", y.shape()),
                expected: "this estimator supports one output; fit one model per column",
            }),
        }
    }
}

/// Returns weights (n) as f64 after checking them: one per row, finite, non-negative, not all 0.
pub(crate) fn checked_weights(who: &'static str, rows: usize, weights: &Tensor) -> Result<Tensor> {
    let values = vector("weights", weights)?;
    if values.len() != rows {
        return Err(LearnError::Lengths { rows, what: "weights", found: values.len() });
    }
    finite("the weight", weights, "give a finite number of at least 0")?;
    if let Some(row) = values.iter().position(|&weight| weight < 0.0) {
        let problem = format!("the weight of row {row} is {}; weights must be at least 0", values[row]);
        return Err(LearnError::parameter(who, problem));
    }
    if values.iter().all(|&weight| weight == 0.0) {
        return Err(LearnError::parameter(who, "all weights are 0; give at least one sample a positive weight"));
    }
    if !values.iter().sum::<f64>().is_finite() {
        return Err(LearnError::parameter(who, "the sum of the weights overflows; divide them by a common factor"));
    }
    Ok(Tensor::try_from_vec(values, [rows])?)
}

/// Checks that targets are a vector or matrix of finite numbers with one entry per row.
fn paired(rows: usize, y: &Tensor) -> Result<Tensor> {
    if y.rank() == 0 || y.rank() > 2 {
        let problem = format!("targets of shape {}; give a vector, one number per row of features", y.shape());
        return Err(LearnError::parameter("Samples", problem));
    }
    if y.dims()[0] != rows {
        return Err(LearnError::Lengths { rows, what: "targets", found: y.dims()[0] });
    }
    if y.dims().get(1) == Some(&0) {
        let problem = "targets with no columns; give at least one number per row of features";
        return Err(LearnError::parameter("Samples", problem));
    }
    let y = y.detach().try_contiguous()?;
    finite("the target", &y, "remove the sample; targets cannot be imputed")?;
    Ok(y)
}

/// Checks that a tensor has no NaN or infinity.
fn finite(what: &'static str, x: &Tensor, fix: &'static str) -> Result<()> {
    if !x.dtype().is_float() {
        return Ok(());
    }
    let x = x.try_contiguous()?;
    let found = with_real!(x.dtype(), T => first_not_finite(x.as_slice::<T>()?));
    match found {
        None => Ok(()),
        Some((index, value)) => {
            let width = x.dims().get(1).copied().unwrap_or(1).max(1);
            let column = (x.rank() > 1).then_some(index % width);
            Err(LearnError::NotFinite { what, row: index / width, column, value, fix })
        }
    }
}
