//! Encoding tables as matrices of numbers, fitted on the training rows.
//!
//! | column | features |
//! |---|---|
//! | float, integer, boolean | the number, imputed and standardized if asked; an indicator of missing values |
//! | categorical | one per category (one-hot), one for missing; or feature-hashed, target-encoded or ordinal |
//! | date | year, month, weekday, seconds since 1970, and the hour of instants |
//! | text | hashed word counts, or tf-idf |
//!
//! Rows that are encoded later change nothing: a category that is not in the training rows is encoded as zeros and
//! counted. Text and wide categorical columns are mostly zeros: [`TableEncoder::encode_sparse`] keeps only the rest.

mod column_encoding;
mod decoding;
mod feature_names;
mod fitting;
mod means;
mod options;
mod sparse;
mod words;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor};

use super::{Column, Role, Schema, Table, Target};
use crate::{DataError, Result};
use column_encoding::{Bound, ColumnEncoding, Form, Oddities};

pub use fitting::EncoderFit;
pub use options::{Choices, Encoding, Impute, ManyCategories, TextFeatures};
pub use sparse::SparseRows;

/// Features below which rows are dense.
const NARROW: usize = 64;
/// Rows that one task encodes.
const BLOCK: usize = 8192;

/// What `work` makes of each block of rows, in their order, computed in parallel.
fn by_blocks<T: Send>(blocks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..blocks).map(|_| Mutex::new(None)).collect();
    parallel_for(blocks, &|block| {
        let made = work(block);
        *slots[block].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// Factors of features by their number, and a shift.
pub type Combined = (Vec<(usize, f64)>, f64);

/// Rows of a table: all of them, or some.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    all: usize,
    some: Option<&'a [usize]>,
}

impl<'a> Chosen<'a> {
    fn all(table: &Table) -> Chosen<'a> {
        Chosen { all: table.n_rows(), some: None }
    }

    fn rows(table: &Table, rows: &'a [usize]) -> Result<Chosen<'a>> {
        let len = table.n_rows();
        match rows.iter().find(|&&row| row >= len) {
            Some(&index) => Err(DataError::Index { index, len }),
            None => Ok(Chosen { all: len, some: Some(rows) }),
        }
    }

    fn len(&self) -> usize {
        self.some.map_or(self.all, <[usize]>::len)
    }

    #[inline]
    fn row(&self, place: usize) -> usize {
        self.some.map_or(place, |rows| rows[place])
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(move |place| self.row(place))
    }
}

/// A matrix of features and what could not be encoded as it stood.
#[derive(Clone, Debug)]
pub struct Encoded<X = Tensor> {
    /// One row per row of the table, one column per feature.
    pub x: X,
    /// Columns with categories that the training rows did not have, and in how many rows.
    pub unseen: Vec<(String, usize)>,
    /// Columns with missing values, and in how many rows they were filled or left at zero. A missing category that
    /// has a feature of its own does not count.
    pub imputed: Vec<(String, usize)>,
}

/// How to make numbers of a table's columns, fitted on training rows.
///
/// ```
/// use tove_data::table::{Column, Encoding, Schema, Table, TableEncoder};
/// let train = Table::new([
///     ("age", Column::floats(vec![20.0, f64::NAN, 40.0])),
///     ("port", Column::categories(["S", "C", "S"])),
/// ])?;
/// let encoder = TableEncoder::fit(&train, &Schema::of(&train), &Encoding::default())?;
/// assert_eq!(encoder.feature_names(), ["age", "age is missing", "port=C", "port=S"]);
/// assert_eq!(encoder.encode(&train)?.x.to_vec::<f64>()[4..8], [30.0, 1.0, 1.0, 0.0]);
///
/// let later = Table::new([("age", Column::integers(vec![50])), ("port", Column::categories(["Q"]))])?;
/// let encoded = encoder.encode(&later)?;
/// assert_eq!(encoded.x.to_vec::<f64>(), [50.0, 0.0, 0.0, 0.0]);
/// assert_eq!(encoded.unseen, [("port".to_owned(), 1)]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TableEncoder {
    parts: Vec<ColumnEncoding>,
    names: Vec<String>,
}

impl TableEncoder {
    /// Fits the columns of `rows` that are features in the schema. Give training rows only.
    ///
    /// # Errors
    /// If a feature column does not exist or holds infinite numbers; if the options ask for target encoding, which
    /// [`TableEncoder::fit_encode`] does.
    pub fn fit(rows: &Table, schema: &Schema, options: &Encoding) -> Result<Self> {
        Self::fit_chosen(rows, schema, &Choices::from(*options))
    }

    /// As [`TableEncoder::fit`], with encodings that columns may have of their own.
    ///
    /// # Errors
    /// As [`TableEncoder::fit`].
    pub fn fit_chosen(rows: &Table, schema: &Schema, options: &Choices) -> Result<Self> {
        let mut fit = EncoderFit::of(rows, schema, options)?;
        fit.see(rows)?;
        fit.finish()
    }

    /// Fits as [`TableEncoder::fit`] and encodes the same rows, with the target at hand. For columns under target
    /// encoding the training rows get out-of-fold values, which are not those that [`TableEncoder::encode`] would give:
    /// train on what this returns.
    ///
    /// # Errors
    /// As [`TableEncoder::fit`]; or if there are not as many targets as rows.
    pub fn fit_encode(rows: &Table, schema: &Schema, options: &Encoding, target: &Target) -> Result<(Self, Encoded)> {
        Self::fit_encode_chosen(rows, schema, &Choices::from(*options), target)
    }

    /// As [`TableEncoder::fit_encode`], with encodings that columns may have of their own.
    ///
    /// # Errors
    /// As [`TableEncoder::fit_encode`].
    pub fn fit_encode_chosen(
        rows: &Table,
        schema: &Schema,
        options: &Choices,
        target: &Target,
    ) -> Result<(Self, Encoded)> {
        if target.y().numel() != rows.n_rows() {
            return Err(DataError::Lengths { x: rows.n_rows(), y: target.y().numel() });
        }
        let mut fit = EncoderFit::of(rows, schema, options)?;
        fit.see(rows)?;
        let mut encoder = fit.with_targets_open()?;
        let outputs = means::Outputs::of(target);
        let mut out_of_fold = HashMap::new();
        for part in &mut encoder.parts {
            let (Form::TargetMean { outputs: count, .. }, ManyCategories::Target { smoothing, folds, seed }) =
                (&mut part.form, options.of(&part.column).many)
            else {
                continue;
            };
            let Column::Categorical(values) = rows.column(&part.column)? else { continue };
            *count = outputs.count;
            let (numbers, training) = means::fit(values, &outputs, (smoothing, folds, seed))?;
            part.numbers = numbers;
            out_of_fold.insert(part.column.clone(), training);
        }
        encoder.names = encoder.parts.iter().flat_map(ColumnEncoding::names).collect();
        let mut encoded = encoder.dense(rows, Chosen::all(rows))?;
        let width = encoder.names.len();
        let mut offset = 0;
        for part in &encoder.parts {
            let count = part.form.width();
            for (row, values) in
                out_of_fold.get(&part.column).into_iter().flat_map(|v| v.chunks_exact(count).enumerate())
            {
                encoded.x[row * width + offset..row * width + offset + count].copy_from_slice(values);
            }
            offset += count;
        }
        let x = sparse::tensor(encoded.x, [rows.n_rows(), width], DType::F64)?;
        Ok((encoder, Encoded { x, unseen: encoded.unseen, imputed: encoded.imputed }))
    }

    /// Names of the features, in the order of the matrix's columns.
    pub fn feature_names(&self) -> &[String] {
        &self.names
    }

    /// Names of the table's columns that are looked at.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.column.as_str())
    }

    /// For each feature, the column it comes from.
    pub fn feature_columns(&self) -> Vec<&str> {
        self.parts.iter().flat_map(|part| std::iter::repeat_n(part.column.as_str(), part.form.width())).collect()
    }

    /// Whether [`TableEncoder::encode_sparse`] is the better way: at most an eighth of the numbers will differ from zero.
    pub fn prefers_sparse(&self) -> bool {
        let entries: usize = self.parts.iter().map(|part| part.form.entries()).sum();
        self.names.len() >= NARROW && self.names.len() > 8 * entries
    }

    /// The table as a matrix (rows, features) of f64.
    ///
    /// # Errors
    /// If a column is missing or of another kind than at fitting (see [`Schema::conform`]); or if the matrix does not
    /// fit in memory.
    pub fn encode(&self, table: &Table) -> Result<Encoded> {
        self.encode_as(table, DType::F64)
    }

    /// The table as a matrix (rows, features) of f32 or f64.
    ///
    /// # Errors
    /// As [`TableEncoder::encode`]; or if the type is another one.
    pub fn encode_as(&self, table: &Table, dtype: DType) -> Result<Encoded> {
        self.matrix(table, Chosen::all(table), dtype)
    }

    /// These rows of the table as a matrix of f64.
    ///
    /// # Errors
    /// As [`TableEncoder::encode`]; or if a row does not exist.
    pub fn encode_rows(&self, table: &Table, rows: &[usize]) -> Result<Encoded> {
        self.matrix(table, Chosen::rows(table, rows)?, DType::F64)
    }

    fn matrix(&self, table: &Table, rows: Chosen<'_>, dtype: DType) -> Result<Encoded> {
        let Encoded { x, unseen, imputed } = self.dense(table, rows)?;
        Ok(Encoded { x: sparse::tensor(x, [rows.len(), self.names.len()], dtype)?, unseen, imputed })
    }

    fn dense(&self, table: &Table, rows: Chosen<'_>) -> Result<Encoded<Vec<f64>>> {
        let width = self.names.len();
        let mut x = sparse::zeros(rows.len(), width)?;
        let bound = self.bind(table)?;
        let blocks: Vec<Mutex<&mut [f64]>> = x.chunks_mut(BLOCK * width.max(1)).map(Mutex::new).collect();
        let odd = by_blocks(blocks.len(), |block| {
            let mut x = blocks[block].lock().unwrap_or_else(PoisonError::into_inner);
            let mut odd = vec![Oddities::default(); bound.len()];
            let mut offset = 0;
            for (part, odd) in bound.iter().zip(&mut odd) {
                for (place, x) in x.chunks_exact_mut(width).enumerate() {
                    part.emit(rows.row(block * BLOCK + place), odd, |feature, value| x[offset + feature] = value);
                }
                offset += part.part.form.width();
            }
            odd
        });
        drop(blocks);
        Ok(self.with_oddities(x, odd))
    }

    /// The table as sparse rows.
    ///
    /// # Errors
    /// As [`TableEncoder::encode`].
    pub fn encode_sparse(&self, table: &Table) -> Result<Encoded<SparseRows>> {
        self.sparse(table, Chosen::all(table))
    }

    /// These rows of the table as sparse rows.
    ///
    /// # Errors
    /// As [`TableEncoder::encode_rows`].
    pub fn encode_sparse_rows(&self, table: &Table, rows: &[usize]) -> Result<Encoded<SparseRows>> {
        self.sparse(table, Chosen::rows(table, rows)?)
    }

    fn sparse(&self, table: &Table, rows: Chosen<'_>) -> Result<Encoded<SparseRows>> {
        let bound = self.bind(table)?;
        let blocks = by_blocks(rows.len().div_ceil(BLOCK), |block| {
            let mut odd = vec![Oddities::default(); bound.len()];
            let mut x = SparseRows { n_cols: self.names.len(), ..SparseRows::default() };
            for place in block * BLOCK..rows.len().min((block + 1) * BLOCK) {
                let (row, mut offset) = (rows.row(place), 0);
                for (part, odd) in bound.iter().zip(&mut odd) {
                    part.emit(row, odd, |feature, value| {
                        if value != 0.0 {
                            x.indices.push((offset + feature) as u32);
                            x.values.push(value);
                        }
                    });
                    offset += part.part.form.width();
                }
                x.indptr.push(x.values.len());
            }
            (x, odd)
        });
        let (blocks, odd): (Vec<SparseRows>, Vec<Vec<Oddities>>) = blocks.into_iter().unzip();
        Ok(self.with_oddities(SparseRows::joined(blocks, self.names.len()), odd))
    }

    fn bind<'a>(&'a self, table: &'a Table) -> Result<Vec<Bound<'a>>> {
        self.parts.iter().map(|part| part.bind(table.column(&part.column)?)).collect()
    }

    fn with_oddities<X>(&self, x: X, blocks: Vec<Vec<Oddities>>) -> Encoded<X> {
        let mut odd = vec![Oddities::default(); self.parts.len()];
        for block in blocks {
            for (sum, odd) in odd.iter_mut().zip(block) {
                sum.unseen += odd.unseen;
                sum.imputed += odd.imputed;
            }
        }
        let list = |count: fn(&Oddities) -> usize| {
            let counted = self.parts.iter().zip(&odd).filter(|(_, odd)| count(odd) > 0);
            counted.map(|(part, odd)| (part.column.clone(), count(odd))).collect()
        };
        Encoded { x, unseen: list(|odd| odd.unseen), imputed: list(|odd| odd.imputed) }
    }

    /// The encoder for a file: JSON with columns and categories, and one f64 tensor with all fitted numbers. What
    /// [`TableEncoder::from_state`] makes of them encodes to the same bits.
    ///
    /// ```
    /// use tove_data::table::{Column, Encoding, Schema, Table, TableEncoder};
    /// let table = Table::new([("age", Column::floats(vec![20.0, 0.1]))])?;
    /// let encoder = TableEncoder::fit(&table, &Schema::of(&table), &Encoding { scale: true, ..Encoding::default() })?;
    /// let (json, numbers) = encoder.to_state()?;
    /// assert_eq!(TableEncoder::from_state(&json, &numbers)?, encoder);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// Never for a fitted encoder.
    pub fn to_state(&self) -> Result<(String, Tensor)> {
        let json = serde_json::to_string(&self.parts);
        let json = json.map_err(|error| DataError::parameter("TableEncoder", error.to_string()))?;
        Ok((json, Tensor::from(self.parts.iter().flat_map(|part| part.numbers.iter().copied()).collect::<Vec<f64>>())))
    }

    /// The encoder from what [`TableEncoder::to_state`] gave.
    ///
    /// # Errors
    /// If the JSON is not that of an encoder, or the numbers are not as many as it needs.
    pub fn from_state(json: &str, numbers: &Tensor) -> Result<Self> {
        let wrong = |problem: String| DataError::parameter("TableEncoder", problem);
        let mut parts: Vec<ColumnEncoding> =
            serde_json::from_str(json).map_err(|error| wrong(format!("not the JSON of an encoder: {error}")))?;
        let numbers = numbers.try_to_vec::<f64>()?;
        let count = |part: &ColumnEncoding| part.form.checked_count();
        let needed = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(count(part)?));
        if needed != Some(numbers.len()) {
            return Err(wrong(format!("{} fitted numbers do not fit the JSON; the file is damaged", numbers.len())));
        }
        let mut rest = numbers.as_slice();
        for part in &mut parts {
            let (own, others) = rest.split_at(part.form.count());
            (part.numbers, rest) = (own.to_vec(), others);
        }
        let names = parts.iter().flat_map(ColumnEncoding::names).collect();
        Ok(Self { parts, names })
    }
}
