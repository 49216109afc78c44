//! Transformers side by side: each on its own columns, or all on all columns.
//!
//! ```
//! use tove_learn::{Apply, ColumnTransformer, OneHotEncoder, Remainder, Rows, StandardScaler, Transformer};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 0.0, 9.0], [3.0, 1.0, 8.0]]);
//! let both = ColumnTransformer::new()
//!     .on("codes", &[1], OneHotEncoder::default().sparse_output(false))
//!     .on("numbers", &[0], StandardScaler::default())
//!     .remainder(Remainder::Passthrough);
//! let fitted = both.fit_any(&Rows::from(&x), None)?;
//! assert_eq!(fitted.transform(&x)?.to_vec::<f64>(), [1.0, 0.0, -1.0, 9.0, 0.0, 1.0, 1.0, 8.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameter, Value};
use tove_tensor::Tensor;

use super::parts::{self, Named};
use crate::features::take_columns;
use crate::{Apply, Csr, LearnError, Record, RestoreTransform, Result, Rows, Transform, Transformer, Tunable};

const NAME: &str = "ColumnTransformer";
const UNION: &str = "FeatureUnion";

/// What happens to columns that no transformer takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remainder {
    /// They are left out.
    #[default]
    Drop,
    /// They follow the others as they are.
    Passthrough,
}

/// Transformers for groups of columns; what they give stands side by side in the order in which they were added. As
/// scikit-learn's `ColumnTransformer`; the rows given are sparse if one of the parts is.
#[derive(Clone, Default)]
pub struct ColumnTransformer {
    parts: Vec<Named>,
    groups: Vec<Vec<usize>>,
    remainder: Remainder,
}

/// Several transformers on the same columns, as scikit-learn's `FeatureUnion`.
#[derive(Clone, Default)]
pub struct FeatureUnion {
    parts: Vec<Named>,
}

/// A fitted [`ColumnTransformer`] or [`FeatureUnion`].
pub struct FittedColumnTransformer {
    parts: Vec<(String, Box<dyn Transform>)>,
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
    width: usize,
    missing: bool,
}

impl ColumnTransformer {
    /// No groups yet.
    pub fn new() -> ColumnTransformer {
        ColumnTransformer::default()
    }

    /// Adds a transformer for these columns.
    #[must_use]
    pub fn on(mut self, name: &str, columns: &[usize], part: impl Transformer + 'static) -> ColumnTransformer {
        self.parts.push((name.to_owned(), part.duplicate()));
        self.groups.push(columns.to_vec());
        self
    }

    /// Says what happens to the other columns.
    #[must_use]
    pub fn remainder(mut self, remainder: Remainder) -> ColumnTransformer {
        self.remainder = remainder;
        self
    }
}

impl FeatureUnion {
    /// No parts yet.
    pub fn new() -> FeatureUnion {
        FeatureUnion::default()
    }

    /// Adds a transformer.
    #[must_use]
    pub fn with(mut self, name: &str, part: impl Transformer + 'static) -> FeatureUnion {
        self.parts.push((name.to_owned(), part.duplicate()));
        self
    }
}

/// Fits each part to its columns.
fn fit(
    parts: &[Named],
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
    (x, y, weights): (&Rows, Option<&Tensor>, Option<&Tensor>),
) -> Result<Box<dyn Transform>> {
    let x = x.tabular()?;
    let mut fitted = Vec::with_capacity(parts.len());
    for ((name, part), columns) in parts.iter().zip(&groups) {
        let own = take_columns(&x, columns)?;
        fitted.push((name.clone(), part.fit_supervised_any(&own, y, weights)?));
    }
    let missing = takes_missing(parts);
    Ok(Box::new(FittedColumnTransformer { parts: fitted, groups, rest, width: x.width(), missing }))
}

/// Whether a gap may come: then each part checks its own columns.
fn takes_missing(parts: &[Named]) -> bool {
    parts.iter().any(|part| part.1.takes_missing())
}

macro_rules! side_by_side {
    ($type:ty, $name:ident, |$this:ident, $x:ident| $groups:expr) => {
        impl Tunable for $type {
            fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
                parts::set_named($name, &mut self.parts, name, text)
            }

            fn values_any(&self) -> Vec<(String, Value)> {
                parts::values(&self.parts)
            }

            fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
                parts::describe(&self.parts)
            }

            fn validate_any(&self) -> Result<()> {
                parts::validate($name, &self.parts, None)
            }
        }

        impl Transformer for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn takes_missing(&self) -> bool {
                takes_missing(&self.parts)
            }

            fn fit_any(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
                self.fit_supervised_any(x, None, weights)
            }

            fn fit_supervised_any(
                &self,
                x: &Rows,
                y: Option<&Tensor>,
                weights: Option<&Tensor>,
            ) -> Result<Box<dyn Transform>> {
                self.validate_any()?;
                let ($this, $x) = (self, x);
                let (groups, rest) = $groups;
                fit(&self.parts, groups, rest, (x, y, weights))
            }

            fn duplicate(&self) -> Box<dyn Transformer> {
                Box::new(self.clone())
            }
        }
    };
}

side_by_side!(ColumnTransformer, NAME, |this, x| {
    let rest = match this.remainder {
        Remainder::Drop => Vec::new(),
        Remainder::Passthrough => {
            (0..x.width()).filter(|column| !this.groups.iter().any(|group| group.contains(column))).collect()
        }
    };
    (this.groups.clone(), rest)
});
side_by_side!(FeatureUnion, UNION, |this, x| (vec![(0..x.width()).collect(); this.parts.len()], Vec::new()));

/// Matrices of equal length side by side; sparse if one of them is.
fn beside(parts: &[Rows], rows: usize) -> Result<Rows> {
    if parts.is_empty() {
        return Err(LearnError::parameter(NAME, "no column is left; add a transformer, or pass the remainder"));
    }
    if parts.iter().all(|part| matches!(part, Rows::Dense(_))) {
        let dense: Vec<Tensor> = parts.iter().map(Rows::to_dense).collect::<Result<_>>()?;
        return Ok(Rows::Dense(Tensor::try_concat(&dense.iter().collect::<Vec<_>>(), 1)?.try_contiguous()?));
    }
    let sparse: Vec<Csr> = parts
        .iter()
        .map(|part| match part {
            Rows::Dense(x) => Csr::from_dense(x),
            Rows::Sparse(x) => Ok(x.clone()),
        })
        .collect::<Result<_>>()?;
    let numbers: Vec<Vec<f64>> = sparse.iter().map(|part| part.values().to_f64_vec()).collect();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        let mut offset = 0;
        for (part, numbers) in sparse.iter().zip(&numbers) {
            let range = part.indptr()[row]..part.indptr()[row + 1];
            indices.extend(part.indices()[range.clone()].iter().map(|&column| column + offset as u32));
            values.extend_from_slice(&numbers[range]);
            offset += part.columns();
        }
        indptr.push(indices.len());
    }
    let width = sparse.iter().map(Csr::columns).sum();
    let (entries, dtype) = (values.len(), sparse[0].dtype());
    Ok(Rows::Sparse(Csr::new(indptr, indices, Tensor::try_from_vec(values, [entries])?.to_dtype(dtype), width)?))
}

impl Transform for FittedColumnTransformer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn width(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.parts.iter().map(|part| part.1.outputs()).sum::<usize>() + self.rest.len()
    }

    fn takes_missing(&self) -> bool {
        self.missing
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let name = |&column: &usize| inputs.get(column).cloned().unwrap_or_else(|| format!("x{column}"));
        let of = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>();
        let mut names = Vec::new();
        for ((part, transform), columns) in self.parts.iter().zip(&self.groups) {
            names.extend(transform.output_names(&of(columns)).into_iter().map(|name| format!("{part}__{name}")));
        }
        names.extend(of(&self.rest).into_iter().map(|name| format!("remainder__{name}")));
        names
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let mut parts = Vec::with_capacity(self.parts.len() + 1);
        for ((_, part), columns) in self.parts.iter().zip(&self.groups) {
            parts.push(part.transform_any(&take_columns(x, columns)?)?);
        }
        if !self.rest.is_empty() {
            parts.push(take_columns(x, &self.rest)?);
        }
        beside(&parts, x.len())
    }

    fn record(&self) -> Record {
        let mut record = Record::new(NAME, 1);
        record.put("width", self.width);
        record.put("missing", self.missing);
        record.put("groups", self.groups.clone());
        record.put("rest", self.rest.clone());
        parts::write(&mut record, &self.parts);
        record
    }
}

impl RestoreTransform for FittedColumnTransformer {
    fn restore(record: &Record) -> Result<FittedColumnTransformer> {
        record.expect(NAME, 1)?;
        let (parts, width) = (parts::read(record)?, record.count("width")?);
        let list = |value: &serde_json::Value| -> Option<Vec<usize>> {
            let inside = |entry: &serde_json::Value| usize::try_from(entry.as_u64()?).ok().filter(|&c| c < width);
            value.as_array()?.iter().map(inside).collect()
        };
        let groups: Option<Vec<Vec<usize>>> =
            record.get("groups")?.as_array().into_iter().flatten().map(list).collect();
        let groups = groups.ok_or_else(|| record.wrong("groups", "lists of columns"))?;
        let rest = list(record.get("rest")?).ok_or_else(|| record.wrong("rest", "a list of columns"))?;
        let fits = parts.len() == groups.len() && parts.iter().zip(&groups).all(|(p, g)| p.1.width() == g.len());
        if !fits {
            return Err(record.wrong("groups", "what the parts take"));
        }
        Ok(FittedColumnTransformer { parts, groups, rest, width, missing: record.switch("missing")? })
    }
}
