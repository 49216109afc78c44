//! One column per category: code k of a column becomes a 1 in the k-th of its new columns and 0 in the others.
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
//! assert!(error.to_string().contains("the value 5 in row 1, column 0, was not there when fitting"));
//! let lenient = OneHotEncoder::default().handle_unknown(Unknown::Ignore).fit(&x, None)?;
//! assert_eq!(lenient.transform(&Tensor::from([[5.0]]))?.to_vec::<f64>(), [0.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::columns::{read_about, sorted};
use crate::{
    About, Algorithm, Capabilities, Csr, LearnError, Model, Real, Record, Restore, Result, Rows, Samples, with_real,
};

/// What happens to a category that was not there when fitting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Unknown {
    /// An error names the value, the row and the column.
    #[default]
    Error,
    /// All columns of the feature are 0.
    Ignore,
}

/// Which category of a column gets no column of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Drop {
    /// Every category has its column.
    #[default]
    None,
    /// The smallest category is left out: for models without a penalty, where all columns together are collinear.
    First,
    /// The smaller one of two categories is left out.
    IfBinary,
}

/// Turns codes into columns of 0 and 1, as scikit-learn's `OneHotEncoder`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct OneHotEncoder {
    /// Which category is left out: none, first or if_binary.
    #[hyper(default = Drop::None)]
    pub drop: Drop,
    /// Whether a category that was not there when fitting is an error or ignored.
    #[hyper(default = Unknown::Error)]
    pub handle_unknown: Unknown,
    /// Whether the rows given are sparse.
    #[hyper(default = true)]
    pub sparse_output: bool,
}

/// A fitted [`OneHotEncoder`].
#[derive(Clone, Debug)]
pub struct FittedOneHotEncoder {
    about: About,
    settings: OneHotEncoder,
    categories: Vec<Vec<f64>>,
    starts: Vec<usize>, // where the columns of each feature begin, and their number
}

impl FittedOneHotEncoder {
    fn new(about: About, settings: OneHotEncoder, categories: Vec<Vec<f64>>) -> FittedOneHotEncoder {
        let mut fitted = FittedOneHotEncoder { about, settings, categories, starts: vec![0] };
        for column in 0..fitted.categories.len() {
            let end = fitted.starts[column] + fitted.categories[column].len() - fitted.skipped(column);
            fitted.starts.push(end);
        }
        fitted.about.outputs = fitted.starts.last().copied().unwrap_or(0);
        fitted
    }

    /// The categories of each column in ascending order.
    pub fn categories(&self) -> &[Vec<f64>] {
        &self.categories
    }

    /// How many of the first categories of a column have no column of their own.
    fn skipped(&self, column: usize) -> usize {
        match self.settings.drop {
            Drop::None => 0,
            Drop::First => 1.min(self.categories[column].len()),
            Drop::IfBinary => usize::from(self.categories[column].len() == 2),
        }
    }

    /// The new column of a value: none for the category that is left out and for unknown ones.
    fn place(&self, row: usize, column: usize, value: f64) -> Result<Option<usize>> {
        match self.categories[column].binary_search_by(|known| known.total_cmp(&(value + 0.0))) {
            Ok(code) => Ok(code.checked_sub(self.skipped(column)).map(|code| self.starts[column] + code)),
            Err(_) if self.settings.handle_unknown == Unknown::Ignore => Ok(None),
            Err(_) => {
                let known: Vec<String> = self.categories[column].iter().take(10).map(f64::to_string).collect();
                let more = if self.categories[column].len() > 10 { ", …" } else { "" };
                let problem = format!(
                    "the value {value} in row {row}, column {column}, was not there when fitting (known: {}{more})",
                    known.join(", ")
                );
                Err(LearnError::data(OneHotEncoder::NAME, problem, "set `handle_unknown` to ignore, or fit with it"))
            }
        }
    }
}

impl Algorithm for OneHotEncoder {
    type Fitted = FittedOneHotEncoder;
    const CAPABILITIES: Capabilities =
        Capabilities { sparse: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedOneHotEncoder> {
        let x = samples.x();
        let mut categories = vec![Vec::new(); x.width()];
        sorted(x, |column, values| {
            let mut list: Vec<f64> = values.iter().map(|value| value + 0.0).collect(); // −0 is 0
            list.sort_unstable_by(f64::total_cmp);
            list.dedup();
            categories[column] = list;
        })?;
        Ok(FittedOneHotEncoder::new(About::of(self, samples), self.clone(), categories))
    }
}

impl Model for FittedOneHotEncoder {
    fn about(&self) -> &About {
        &self.about
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let mut names = Vec::with_capacity(self.outputs());
        for (column, categories) in self.categories.iter().enumerate() {
            let name = inputs.get(column).cloned().unwrap_or_else(|| format!("x{column}"));
            names.extend(categories[self.skipped(column)..].iter().map(|category| format!("{name}_{category}")));
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
                    indices.extend(self.place(row, column, value.f64())?.map(|place| place as u32));
                }
                indptr.push(indices.len());
            }
        });
        let values = Tensor::try_full([indices.len()], 1.0, dense.dtype())?;
        let sparse = Csr::new(indptr, indices, values, self.outputs())?;
        Ok(if self.settings.sparse_output { Rows::Sparse(sparse) } else { Rows::Dense(sparse.to_dense()?) })
    }

    /// The codes again; a row of zeros is the category that is left out, or an error when there is none.
    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let dense = x.to_dense()?;
        with_real!(dense.dtype(), T => {
            let mut out = Vec::with_capacity(x.len() * self.width());
            for (row, values) in dense.as_slice::<T>()?.chunks(self.outputs().max(1)).enumerate() {
                for (column, categories) in self.categories.iter().enumerate() {
                    let part = &values[self.starts[column]..self.starts[column + 1]];
                    let (best, most) = part.iter().enumerate().fold((0, <T as Real>::ZERO), |best, (i, &v)| {
                        if v > best.1 { (i, v) } else { best }
                    });
                    let skipped = self.skipped(column);
                    if most == <T as Real>::ZERO && skipped == 0 {
                        let problem = format!("row {row} names no category of column {column}");
                        return Err(LearnError::data(OneHotEncoder::NAME, problem, "give rows with a 1 per feature"));
                    }
                    let code = if most == <T as Real>::ZERO { 0 } else { best + skipped };
                    out.push(T::of(categories[code]));
                }
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [x.len(), self.width()])?))
        })
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings.to_json());
        record.put("width", self.width());
        record.put("single", self.dtype() == DType::F32);
        for (column, categories) in self.categories.iter().enumerate() {
            record.put_tensor(&format!("categories.{column}"), &Tensor::from_slice(categories));
        }
        record
    }
}

impl Restore for FittedOneHotEncoder {
    fn restore(record: &Record) -> Result<FittedOneHotEncoder> {
        let settings: OneHotEncoder = record.settings(OneHotEncoder::NAME, 1)?;
        let about = read_about(&settings, record)?;
        let mut categories = Vec::new();
        for column in 0..about.width {
            let name = format!("categories.{column}"); // an absent one ends the loop, however large the count
            let list = record.vector(&name)?;
            if list.is_empty() || !list.is_sorted_by(|a, b| a < b) {
                return Err(record.wrong(&name, "ascending"));
            }
            categories.push(list);
        }
        Ok(FittedOneHotEncoder::new(about, settings, categories))
    }
}
