//! One-hot encoding: category k of a feature becomes a 1 in the k-th of its new columns and 0 in the others. NaN is a
//! category; infrequent categories can share a column.
//!
//! ```
//! use tove_learn::features::{OneHotEncoder, Unknown};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::{DType, Tensor};
//! let x = Tensor::from([[3.0], [7.0], [3.0]]);
//! let encoder = OneHotEncoder::default().fit(&x, None)?;
//! assert_eq!(encoder.categories(), [[3.0, 7.0]]);
//! assert_eq!(encoder.transform(&x)?.to_vec::<f64>(), [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
//! let error = encoder.transform(&Tensor::from([[3.0], [5.0]])).unwrap_err();
//! assert!(error.to_string().contains("the value 5 in row 1, column 0, was not seen during fit"));
//! let lenient = OneHotEncoder::default().handle_unknown(Unknown::Ignore).fit(&x, None)?;
//! assert_eq!(lenient.transform(&Tensor::from([[5.0]]))?.to_vec::<f64>(), [0.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::Tensor;

use super::categories::{self, Categories, Frequencies, frequencies_setters};
use crate::{
    About, Algorithm, Capabilities, Csr, Fitted, LearnError, Model, Real, Record, Result, Rows, Samples, with_real,
};

/// Handling of categories not seen during fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Unknown {
    /// Returns an error that names the value, the row and the column.
    #[default]
    Error,
    /// All columns of the feature are 0.
    Ignore,
    /// Treated as infrequent; if there is no infrequent category, all columns of the feature are 0.
    InfrequentIfExist,
    /// Like infrequent_if_exist, with a warning.
    Warn,
}

/// The category to drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Drop {
    /// No category is dropped.
    #[default]
    None,
    /// The smallest category is dropped: for models without a penalty, where all columns together are collinear.
    First,
    /// The smaller of two categories is dropped.
    IfBinary,
}

/// Encodes categories as one-hot columns, like scikit-learn's `OneHotEncoder`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct OneHotEncoder {
    /// The category to drop: none, first or if_binary.
    #[hyper(default = Drop::None)]
    pub drop: Drop,
    /// Handling of categories not seen during fit: error, ignore, infrequent_if_exist or warn.
    #[hyper(default = Unknown::Error)]
    pub handle_unknown: Unknown,
    /// Whether the transformed rows are sparse.
    #[hyper(default = true)]
    pub sparse_output: bool,
    /// Grouping of infrequent categories.
    #[hyper(flatten)]
    pub frequencies: Frequencies,
}

/// A fitted [`OneHotEncoder`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = OneHotEncoder, complete = FittedOneHotEncoder::placed)]
pub struct FittedOneHotEncoder {
    about: About,
    settings: OneHotEncoder,
    #[fitted(shape = "features", hidden)]
    categories: Vec<Categories>,
    #[fitted(skip)]
    starts: Vec<usize>, // where the columns of each feature begin, and their number
}

impl FittedOneHotEncoder {
    fn new(about: About, settings: OneHotEncoder, categories: Vec<Categories>) -> FittedOneHotEncoder {
        let mut fitted = FittedOneHotEncoder { about, settings, categories, starts: vec![0] };
        for column in 0..fitted.categories.len() {
            let end = fitted.starts[column] + fitted.categories[column].width - fitted.skipped(column);
            fitted.starts.push(end);
        }
        fitted.about.outputs = fitted.starts.last().copied().unwrap_or(0);
        fitted
    }

    fn placed(self, _record: &Record) -> Result<FittedOneHotEncoder> {
        Ok(FittedOneHotEncoder::new(self.about, self.settings, self.categories))
    }

    /// The categories of each column in ascending order, NaN last.
    pub fn categories(&self) -> Vec<Vec<f64>> {
        self.categories.iter().map(|own| own.values.clone()).collect()
    }

    /// The infrequent categories of each column, which share an output column.
    pub fn infrequent_categories(&self) -> Vec<Vec<f64>> {
        let rare = |own: &Categories| {
            let marked = own.values.iter().zip(&own.infrequent).filter(|(_, rare)| **rare);
            marked.map(|(value, _)| *value).collect()
        };
        self.categories.iter().map(rare).collect()
    }

    /// Number of dropped outputs of a feature.
    fn skipped(&self, column: usize) -> usize {
        match self.settings.drop {
            Drop::None => 0,
            Drop::First => 1.min(self.categories[column].width),
            Drop::IfBinary => usize::from(self.categories[column].width == 2),
        }
    }

    /// The output column of a value; `None` for dropped and unknown categories.
    fn output_column(&self, row: usize, column: usize, value: f64) -> Result<Option<usize>> {
        let own = &self.categories[column];
        let output = match (own.index_of(value), self.settings.handle_unknown) {
            (Some(index), _) => Some(own.codes[index]),
            (None, Unknown::Ignore) => None,
            (None, Unknown::InfrequentIfExist) => own.group(),
            (None, Unknown::Warn) => {
                let text =
                    format!("OneHotEncoder: the value {value} in row {row}, column {column}, was not seen during fit");
                crate::warn(&text);
                own.group()
            }
            (None, Unknown::Error) => {
                let fix = "set `handle_unknown` to ignore, or fit with it";
                return Err(own.unknown(OneHotEncoder::NAME, value, row, column, fix));
            }
        };
        let kept = output.and_then(|output| output.checked_sub(self.skipped(column)));
        Ok(kept.map(|output| self.starts[column] + output))
    }
}

impl Algorithm for OneHotEncoder {
    type Fitted = FittedOneHotEncoder;
    const CAPABILITIES: Capabilities =
        Capabilities { sparse: true, missing: true, fills: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &OneHotEncoder) -> Capabilities {
        Capabilities { inverse_transform: settings.frequencies.keep_all(), ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedOneHotEncoder> {
        let categories = categories::find(samples.x(), &self.frequencies, false)?;
        Ok(FittedOneHotEncoder::new(About::of(self, samples), self.clone(), categories))
    }
}

impl Model for FittedOneHotEncoder {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let mut names = Vec::with_capacity(self.outputs());
        for (column, own) in self.categories.iter().enumerate() {
            let name = inputs.get(column).cloned().unwrap_or_else(|| format!("x{column}"));
            let text = |output: usize| match own.category(output) {
                Some(value) if value.is_nan() => format!("{name}_nan"),
                Some(value) => format!("{name}_{value}"),
                None => format!("{name}_infrequent"),
            };
            names.extend((self.skipped(column)..own.width).map(text));
        }
        names
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let dense = x.to_dense()?;
        let (rows, width) = (x.len(), self.width().max(1));
        let (mut indptr, mut indices) = (vec![0], Vec::with_capacity(rows * width));
        with_real!(dense.dtype(), T => {
            for (row, values) in dense.as_slice::<T>()?.chunks(width).enumerate() {
                for (column, &value) in values.iter().enumerate() {
                    indices.extend(self.output_column(row, column, value.f64())?.map(|index| index as u32));
                }
                indptr.push(indices.len());
            }
        });
        let values = Tensor::try_full([indices.len()], 1.0, dense.dtype())?;
        let sparse = Csr::new(indptr, indices, values, self.outputs())?;
        Ok(if self.settings.sparse_output { Rows::Sparse(sparse) } else { Rows::Dense(sparse.to_dense()?) })
    }

    /// Returns the categories; a row of zeros is the dropped category, or an error if there is none.
    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.settings.frequencies.require_all(OneHotEncoder::NAME)?;
        let dense = x.to_dense()?;
        let refuse = |problem: String, fix: &str| Err(LearnError::data(OneHotEncoder::NAME, problem, fix));
        with_real!(dense.dtype(), T => {
            let mut out = Vec::with_capacity(x.len() * self.width());
            for (row, values) in dense.as_slice::<T>()?.chunks(self.outputs().max(1)).enumerate() {
                for (column, own) in self.categories.iter().enumerate() {
                    let part = &values[self.starts[column]..self.starts[column + 1]];
                    let (best, max) = part.iter().enumerate().fold((0, <T as Real>::ZERO), |best, (i, &v)| {
                        if v > best.1 { (i, v) } else { best }
                    });
                    let skipped = self.skipped(column);
                    if max == <T as Real>::ZERO && skipped == 0 {
                        let problem = format!("row {row} has no category for column {column}");
                        return refuse(problem, "give rows with a 1 per feature");
                    }
                    let output = if max == <T as Real>::ZERO { 0 } else { best + skipped };
                    out.push(T::of(own.category(output).unwrap_or(f64::NAN)));
                }
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [x.len(), self.width()])?))
        })
    }
}
