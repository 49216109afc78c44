//! Transformers in parallel: each on its own columns, or all on all columns.
//!
//! ```
//! use tove_learn::{ColumnTransformer, Fit, OneHotEncoder, Remainder, StandardScaler, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 0.0, 9.0], [3.0, 1.0, 8.0]]);
//! let both = ColumnTransformer::default()
//!     .on("codes", &[1], OneHotEncoder::default().sparse_output(false))
//!     .on("numbers", &[0], StandardScaler::default())
//!     .remainder(Remainder::Passthrough);
//! assert_eq!(both.fit(&x, None)?.transform(&x)?.to_vec::<f64>(), [1.0, 0.0, -1.0, 9.0, 0.0, 1.0, 1.0, 8.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::{DType, Tensor};

use super::parts;
use crate::features::take_columns;
use crate::{
    About, Algorithm, Capabilities, Csr, Estimator, Fit, LearnError, Model, Record, Restore, Result, Rows, Samples,
    Steps, Targets, Transform,
};

/// Handling of columns that no transformer uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Remainder {
    /// They are dropped.
    #[default]
    Drop,
    /// They are appended unchanged.
    Passthrough,
}

/// Applies transformers to groups of columns and concatenates the outputs in the order in which they were added, like
/// scikit-learn's `ColumnTransformer`. The output is sparse if one of the parts is.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_columns)]
pub struct ColumnTransformer {
    /// The transformers with their names.
    pub transformers: Steps,
    /// The columns of each transformer.
    pub columns: Vec<Vec<usize>>,
    /// Handling of the other columns.
    #[hyper(default = Remainder::Drop)]
    pub remainder: Remainder,
}

/// Concatenates the outputs of several transformers on the same columns, like scikit-learn's `FeatureUnion`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_union)]
pub struct FeatureUnion {
    /// The transformers with their names.
    pub transformers: Steps,
}

impl ColumnTransformer {
    /// Adds a transformer for these columns.
    #[must_use]
    pub fn on(mut self, name: &str, columns: &[usize], part: impl Estimator + 'static) -> ColumnTransformer {
        self.transformers.push(name, part.duplicate());
        self.columns.push(columns.to_vec());
        self
    }
}

impl FeatureUnion {
    /// Adds a transformer.
    #[must_use]
    pub fn with(mut self, name: &str, part: impl Estimator + 'static) -> FeatureUnion {
        self.transformers.push(name, part.duplicate());
        self
    }
}

fn check_columns(settings: &ColumnTransformer) -> Result<(), SettingError> {
    let (count, lists) = (settings.transformers.len(), settings.columns.len());
    if count != lists {
        let problem = format!("{count} transformers and {lists} lists of columns");
        let fix = "add transformers with `on`, each with its columns";
        return Err(SettingError::conflict(ColumnTransformer::NAME, "columns", problem, fix));
    }
    check_parts(ColumnTransformer::NAME, &settings.transformers)
}

fn check_union(settings: &FeatureUnion) -> Result<(), SettingError> {
    check_parts(FeatureUnion::NAME, &settings.transformers)
}

fn check_parts(who: &'static str, parts: &Steps) -> Result<(), SettingError> {
    parts.check_names(who)?;
    if parts.is_empty() {
        return Err(SettingError::conflict(who, "transformers", "there are none", "add at least one"));
    }
    match parts.iter().find(|(_, part)| !part.capabilities().transform) {
        Some((name, part)) => {
            let problem = format!("`{name}` is a {}, which does not transform", part.name());
            Err(SettingError::conflict(who, "transformers", problem, "give transformers"))
        }
        None => Ok(()),
    }
}

/// Capabilities of parallel transformers, on separate columns or all on the same; `passed` if other columns are passed
/// through.
fn joined(parts: &[Capabilities], shared: bool, passed: bool) -> Capabilities {
    let all = |has: fn(&Capabilities) -> bool| parts.iter().all(has);
    Capabilities {
        targets: parts
            .iter()
            .map(|part| part.targets)
            .find(|&targets| targets != Targets::Ignored)
            .unwrap_or(Targets::Ignored),
        weights: parts.iter().any(|part| part.weights),
        sparse: all(|part| part.sparse),
        // Missing values are allowed if one part supports them; each part checks its own columns.
        missing: if shared { all(|part| part.missing) } else { parts.iter().any(|part| part.missing) },
        fills: all(|part| part.fills || !part.missing) && !passed,
        order_free: all(|part| part.order_free),
        accuracy: parts.iter().fold(0.0, |max, part| part.accuracy.max(max)),
        ..Capabilities::TRANSFORMER
    }
}

fn capabilities(parts: &Steps, shared: bool, passed: bool) -> Capabilities {
    joined(&parts.iter().map(|part| part.1.capabilities()).collect::<Vec<_>>(), shared, passed)
}

/// Fits each part to its columns.
fn train(
    estimator: &dyn Estimator,
    parts: &Steps,
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
    samples: &Samples,
) -> Result<FittedColumnTransformer> {
    let mut fitted = Vec::with_capacity(parts.len());
    for ((name, part), columns) in parts.iter().zip(&groups) {
        let own = samples.with_columns(take_columns(samples.x(), columns)?);
        let own = if part.capabilities().weights { own } else { own.without_weights() };
        fitted.push((name.clone(), part.fit_samples(&own)?));
    }
    let about = About::new(estimator, samples.width(), samples.x().dtype());
    Ok(FittedColumnTransformer::new(about, fitted, groups, rest))
}

impl Algorithm for ColumnTransformer {
    type Fitted = FittedColumnTransformer;
    const CAPABILITIES: Capabilities = Capabilities::TRANSFORMER;

    fn capabilities_of(settings: &ColumnTransformer) -> Capabilities {
        capabilities(&settings.transformers, false, settings.remainder == Remainder::Passthrough)
    }

    fn train(&self, samples: &Samples) -> Result<FittedColumnTransformer> {
        let taken = |column: &usize| self.columns.iter().any(|group| group.contains(column));
        let rest = match self.remainder {
            Remainder::Drop => Vec::new(),
            Remainder::Passthrough => (0..samples.width()).filter(|column| !taken(column)).collect(),
        };
        train(self, &self.transformers, self.columns.clone(), rest, samples)
    }
}

impl Algorithm for FeatureUnion {
    type Fitted = FittedColumnTransformer;
    const CAPABILITIES: Capabilities = Capabilities::TRANSFORMER;

    fn capabilities_of(settings: &FeatureUnion) -> Capabilities {
        capabilities(&settings.transformers, true, false)
    }

    fn train(&self, samples: &Samples) -> Result<FittedColumnTransformer> {
        let all = vec![(0..samples.width()).collect(); self.transformers.len()];
        train(self, &self.transformers, all, Vec::new(), samples)
    }
}

// Not derived: files of version 1 have neither settings nor precision.
/// A fitted [`ColumnTransformer`] or [`FeatureUnion`].
pub struct FittedColumnTransformer {
    about: About,
    parts: Vec<(String, Box<dyn Model>)>,
    groups: Vec<Vec<usize>>,
    rest: Vec<usize>,
}

impl FittedColumnTransformer {
    fn new(
        about: About,
        parts: Vec<(String, Box<dyn Model>)>,
        groups: Vec<Vec<usize>>,
        rest: Vec<usize>,
    ) -> FittedColumnTransformer {
        let outputs = parts.iter().map(|part| part.1.outputs()).sum::<usize>() + rest.len();
        FittedColumnTransformer { about: about.outputs(outputs), parts, groups, rest }
    }
}

/// Concatenates matrices of equal length horizontally; sparse if one of them is.
pub(crate) fn concatenate_columns(parts: &[Rows], rows: usize) -> Result<Rows> {
    if parts.is_empty() {
        return Err(LearnError::parameter(
            ColumnTransformer::NAME,
            "the output has no columns; add a transformer, or set `remainder` to passthrough",
        ));
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

impl Model for FittedColumnTransformer {
    fn about(&self) -> &About {
        &self.about
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
            parts.push(part.apply(&take_columns(x, columns)?)?);
        }
        if !self.rest.is_empty() {
            parts.push(take_columns(x, &self.rest)?);
        }
        concatenate_columns(&parts, x.len())
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 2);
        record.put("settings", self.settings());
        self.about.write_shape(&mut record);
        record.put("groups", self.groups.clone());
        record.put("rest", self.rest.clone());
        parts::write(&mut record, &self.parts);
        record
    }
}

impl Restore for FittedColumnTransformer {
    fn restore(record: &Record) -> Result<FittedColumnTransformer> {
        let name = if record.kind() == FeatureUnion::NAME { FeatureUnion::NAME } else { ColumnTransformer::NAME };
        record.expect(name, 2)?;
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
        let each: Vec<Capabilities> = parts.iter().map(|part| part.1.capabilities()).collect();
        let capabilities = joined(&each, name == FeatureUnion::NAME, !rest.is_empty());
        // Files of version 1 have neither settings nor precision.
        let first = record.version() == 1;
        let settings = if first { serde_json::json!({}) } else { record.get("settings")?.clone() };
        let dtype = if first { DType::F64 } else { record.precision()? };
        let about = About::with(name, capabilities, width, dtype, settings);
        Ok(FittedColumnTransformer::new(about, parts, groups, rest))
    }
}
