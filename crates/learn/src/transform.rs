//! Transformers: fitted changes of the features.
//!
//! As with estimators there is a typed face, [`FitTransform`], and an object-safe one, [`Transformer`], which pipelines use.

use std::path::Path;

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use crate::{LearnError, Record, Result, Rows, Tunable};

/// Hyperparameters of a change of features that is learnt from rows.
pub trait FitTransform: Hyperparameters + Default + Clone + Send + Sync + 'static {
    /// The fitted transformation.
    type Fitted: RestoreTransform;
    /// Name in messages, tables and files.
    const NAME: &'static str;
    /// Whether NaN is understood as a missing value; otherwise rows are checked to be finite.
    const MISSING: bool = false;

    /// Learns from rows that were checked; users call [`FitTransform::fit`].
    fn fit_rows(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Self::Fitted>;

    /// Learns from features (n, d).
    fn fit(&self, x: impl Into<Rows>) -> Result<Self::Fitted> {
        self.fit_checked(&x.into(), None)
    }

    /// Learns from rows with their targets. Only transformers that look at targets (selection of features) do more here
    /// than [`FitTransform::fit_checked`].
    fn fit_supervised(&self, x: &Rows, _y: Option<&Tensor>, weights: Option<&Tensor>) -> Result<Self::Fitted> {
        self.fit_checked(x, weights)
    }

    /// Learns from rows of which each counts as often as its weight says.
    fn fit_checked(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Self::Fitted> {
        self.validate()?;
        let x = if Self::MISSING { x.tabular()? } else { x.checked()? };
        self.fit_rows(&x, weights)
    }
}

/// A fitted transformation. The method here takes rows that were checked; users call [`Apply::transform`].
pub trait Transform: Send + Sync + 'static {
    /// The name of its transformer.
    fn name(&self) -> &'static str;
    /// Number of features it takes.
    fn width(&self) -> usize;
    /// Number of features it gives.
    fn outputs(&self) -> usize;
    /// Whether NaN is understood as a missing value.
    fn takes_missing(&self) -> bool {
        false
    }
    /// Names of the features it gives, from names of those it takes.
    fn output_names(&self, inputs: &[String]) -> Vec<String>;
    /// The changed rows.
    fn transform_rows(&self, x: &Rows) -> Result<Rows>;
    /// The rows before the change, where it can be undone.
    fn inverse_rows(&self, _x: &Rows) -> Result<Rows> {
        Err(LearnError::unsupported(self.name(), "cannot be undone", "keep the rows from before the change"))
    }
    /// Everything needed to make the same bits again.
    fn record(&self) -> Record;
}

/// A transformation that can be read back from its record.
pub trait RestoreTransform: Transform + Sized {
    /// Reads what [`Transform::record`] wrote.
    fn restore(record: &Record) -> Result<Self>;

    /// Reads a file with such a record.
    fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::restore(&Record::load(path)?)
    }
}

/// What users ask of a transformation; for every [`Transform`].
pub trait Apply {
    /// The changed rows, after checking their width and that they are finite where that is needed.
    fn transform_any(&self, x: impl Into<Rows>) -> Result<Rows>;

    /// The changed rows as a dense matrix.
    fn transform(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.transform_any(x)?.to_dense()
    }

    /// The rows before the change, as a dense matrix.
    fn inverse_transform(&self, x: impl Into<Rows>) -> Result<Tensor>;
}

impl<T: Transform + ?Sized> Apply for T {
    fn transform_any(&self, x: impl Into<Rows>) -> Result<Rows> {
        let x = if self.takes_missing() { x.into().tabular()? } else { x.into().checked()? };
        x.check_width(self.name(), self.width())?;
        self.transform_rows(&x)
    }

    fn inverse_transform(&self, x: impl Into<Rows>) -> Result<Tensor> {
        let x = x.into().tabular()?;
        x.check_width(self.name(), self.outputs())?;
        self.inverse_rows(&x)?.to_dense()
    }
}

/// A transformer of any kind; every [`FitTransform`] is one.
pub trait Transformer: Tunable + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;
    /// Whether NaN is understood as a missing value.
    fn takes_missing(&self) -> bool;
    /// Learns from rows.
    fn fit_any(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Box<dyn Transform>>;
    /// Learns from rows with their targets.
    fn fit_supervised_any(&self, x: &Rows, y: Option<&Tensor>, weights: Option<&Tensor>) -> Result<Box<dyn Transform>>;
    /// A copy.
    fn duplicate(&self) -> Box<dyn Transformer>;
}

impl<F: FitTransform> Transformer for F {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn takes_missing(&self) -> bool {
        F::MISSING
    }

    fn fit_any(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        Ok(Box::new(self.fit_checked(x, weights)?))
    }

    fn fit_supervised_any(&self, x: &Rows, y: Option<&Tensor>, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        Ok(Box::new(FitTransform::fit_supervised(self, x, y, weights)?))
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

crate::estimator::tunable_box!(dyn Transformer);

impl Transformer for Box<dyn Transformer> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn takes_missing(&self) -> bool {
        (**self).takes_missing()
    }

    fn fit_any(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        (**self).fit_any(x, weights)
    }

    fn fit_supervised_any(&self, x: &Rows, y: Option<&Tensor>, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        (**self).fit_supervised_any(x, y, weights)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        (**self).duplicate()
    }
}
