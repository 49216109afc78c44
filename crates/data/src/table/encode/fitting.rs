//! Fitting an encoder to rows in chunks, in constant memory.
//!
//! Of numbers and dates, count, mean and sum of squared deviations are kept; those of a chunk are merged by
//! M = M_a + M_b + δ² n_a n_b / (n_a + n_b). Of categories and words, how often each occurs.

use std::collections::HashMap;

use super::column_encoding::{ColumnEncoding, Form, date_feature, positive, unit};
use super::options::{Choices, Encoding, Impute, ManyCategories, TextFeatures};
use super::words::Vocabulary;
use super::{Role, Schema, Table, TableEncoder};
use crate::table::{Categorical, Column, Kind, Unit};
use crate::{DataError, Problem, Remedy, Result};

/// Different categories or words of a column that are counted, at most.
const MOST_NAMES: usize = 1_000_000;
/// Features of a date.
const DATE_FEATURES: usize = 5;

/// A [`TableEncoder`] under way.
///
/// ```
/// use tove_data::table::encode::{EncoderFit, Encoding};
/// use tove_data::table::{Column, Schema, Table, TableEncoder};
/// let table = Table::new([("age", Column::floats(vec![20.0, f64::NAN, 40.0, 70.0]))])?;
/// let options = Encoding { scale: true, ..Encoding::default() };
/// let mut fit = EncoderFit::new(&Schema::of(&table), &options.into())?;
/// fit.see(&table.slice(0..1))?;
/// fit.see(&table.slice(1..4))?;
/// let whole = TableEncoder::fit(&table, &Schema::of(&table), &options)?;
/// assert_eq!(fit.finish()?.feature_names(), whole.feature_names());
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncoderFit {
    columns: Vec<Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    name: String,
    options: Encoding,
    rows: usize,
    missing: usize,
    facts: Facts,
}

#[derive(Clone, Debug)]
enum Facts {
    Number(Moments),
    Categories(HashMap<String, usize>),
    Date { time: bool, features: [Moments; DATE_FEATURES] },
    Text(Vocabulary),
    Ignored,
}

/// Count, mean and sum of squared deviations, the latter two in units of a power of two.
#[derive(Clone, Copy, Debug)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
    unit: f64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { count: 0.0, mean: 0.0, squares: 0.0, unit: 1.0 }
    }
}

impl Moments {
    fn see(&mut self, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        let unit = match unit(values) {
            own if self.count == 0.0 => own,
            own => own.max(self.unit),
        };
        let change = self.unit / unit;
        (self.mean, self.squares, self.unit) = (self.mean * change, self.squares * change * change, unit);
        let count = values.len() as f64;
        let mean = values.iter().map(|x| x / unit).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x / unit - mean) * (x / unit - mean)).sum();
        let (gap, total) = (mean - self.mean, self.count + count);
        self.squares += squares + gap * gap * self.count * count / total;
        self.mean += gap * count / total;
        self.count = total;
    }

    /// Fill, mean and scale of the feature over `rows` rows.
    fn fitted(&self, rows: usize, options: &Encoding) -> [f64; 3] {
        let unit = self.unit;
        let fill = if let Impute::Constant(value) = options.impute { value } else { unit * self.mean };
        if !options.scale || rows == 0 {
            return [fill, 0.0, 1.0];
        }
        let (rows, missing) = (rows as f64, rows as f64 - self.count);
        let mean = if missing == 0.0 { self.mean } else { (self.mean * self.count + missing * (fill / unit)) / rows };
        let around = |value: f64| (value - mean) * (value - mean);
        let squares = self.squares + self.count * around(self.mean) + missing * around(fill / unit);
        let scale = unit * (squares / rows).sqrt();
        [fill, unit * mean, if scale > 0.0 && scale.is_finite() { scale } else { 1.0 }]
    }
}

impl EncoderFit {
    /// Nothing seen yet of the feature columns of this schema.
    ///
    /// # Errors
    /// If the options ask for medians or mean targets, which need all rows at once.
    pub fn new(schema: &Schema, options: &Choices) -> Result<Self> {
        let mut columns = Vec::new();
        for field in schema.fields().iter().filter(|field| field.role == Role::Feature) {
            let chosen = *options.of(&field.name);
            let refuse = |problem: &str| {
                let remedy = Remedy::Encode { column: field.name.clone() };
                let problem = Problem::new(problem).advice("read the table whole").remedy(remedy);
                Err(DataError::Schema { column: field.name.clone(), problem })
            };
            let facts = match field.kind {
                Kind::Float | Kind::Integer | Kind::Boolean if chosen.impute == Impute::Median => {
                    return refuse("needs median imputation, which needs all rows in memory");
                }
                Kind::Categorical if matches!(chosen.many, ManyCategories::Target { .. }) => {
                    return refuse("needs target encoding, which needs all rows in memory");
                }
                Kind::Float | Kind::Integer | Kind::Boolean => Facts::Number(Moments::default()),
                Kind::Categorical => Facts::Categories(HashMap::new()),
                Kind::Date if !chosen.dates => Facts::Ignored,
                Kind::Date => {
                    let time = field.unit.is_some_and(|unit| unit != Unit::Days);
                    Facts::Date { time, features: [Moments::default(); DATE_FEATURES] }
                }
                Kind::Text if chosen.text == TextFeatures::Drop => Facts::Ignored,
                Kind::Text => Facts::Text(Vocabulary::default()),
            };
            columns.push(Seen { name: field.name.clone(), options: chosen, rows: 0, missing: 0, facts });
        }
        Ok(Self { columns })
    }

    /// Takes rows into account. Give training rows only.
    ///
    /// # Errors
    /// If a column is missing or of another kind, holds infinite numbers, or more different names than can be counted.
    pub fn see(&mut self, rows: &Table) -> Result<()> {
        self.columns.iter_mut().try_for_each(|seen| seen.see(rows.column(&seen.name)?))
    }

    /// The categories seen in each categorical column, in their order.
    pub fn categories(&self) -> Vec<(String, Vec<String>)> {
        let named = self.columns.iter().filter_map(|seen| match &seen.facts {
            Facts::Categories(counts) => Some((seen.name.clone(), sorted(counts))),
            _ => None,
        });
        named.collect()
    }

    /// The encoder.
    ///
    /// # Errors
    /// If a text column is to be hashed to no buckets.
    pub fn finish(self) -> Result<TableEncoder> {
        let mut parts = Vec::new();
        for seen in self.columns {
            parts.extend(seen.part()?);
        }
        let names = parts.iter().flat_map(ColumnEncoding::names).collect();
        Ok(TableEncoder { parts, names })
    }
}

impl Seen {
    fn see(&mut self, column: &Column) -> Result<()> {
        self.rows += column.len();
        self.missing += column.missing();
        let refuse = |problem: Problem| Err(DataError::Schema { column: self.name.clone(), problem });
        let mut names = 0;
        match (&mut self.facts, column) {
            (Facts::Ignored, _) => {}
            (Facts::Number(moments), Column::Float(_) | Column::Integer(_) | Column::Boolean(_)) => {
                let known: Vec<f64> = (0..column.len()).filter_map(|row| column.number(row)).collect();
                if let Some(infinite) = known.iter().find(|value| value.is_infinite()) {
                    return refuse(super::column_encoding::infinite(&self.name, *infinite));
                }
                moments.see(&known);
            }
            (Facts::Categories(counts), Column::Categorical(values)) => {
                for (name, rows) in values.categories().iter().zip(values.counts()).filter(|(_, rows)| *rows > 0) {
                    match counts.get_mut(name) {
                        Some(count) => *count += rows,
                        None => drop(counts.insert(name.clone(), rows)),
                    }
                }
                names = counts.len();
            }
            (Facts::Date { features, .. }, Column::Date(dates)) => {
                for (feature, moments) in features.iter_mut().enumerate() {
                    let known = (0..column.len()).filter_map(|row| date_feature(dates, row, feature));
                    moments.see(&known.collect::<Vec<f64>>());
                }
            }
            (Facts::Text(vocabulary), Column::Text(text)) => {
                if matches!(self.options.text, TextFeatures::TfIdf { .. }) {
                    vocabulary.see(text);
                    names = vocabulary.len();
                }
            }
            (_, other) => return refuse(format!("is {} in some rows only; give it one kind", other.kind()).into()),
        }
        if names > MOST_NAMES {
            let problem = Problem::new(format!("has more than {MOST_NAMES} different values"));
            let problem = problem.remedy(Remedy::DropColumn { column: self.name.clone() });
            return refuse(problem.remedy(Remedy::Encode { column: self.name.clone() }));
        }
        Ok(())
    }

    fn part(self) -> Result<Option<ColumnEncoding>> {
        let Seen { name, options, rows, missing, facts } = self;
        let part = |form: Form, numbers: Vec<f64>| Some(ColumnEncoding { column: name.clone(), form, numbers });
        Ok(match facts {
            Facts::Ignored => None,
            Facts::Number(moments) => {
                let indicator = options.indicators && missing > 0 && moments.count > 0.0;
                part(Form::Number { indicator }, moments.fitted(rows, &options).to_vec())
            }
            Facts::Categories(counts) => {
                let names = sorted(&counts);
                let counted: Vec<(String, usize)> = names.iter().map(|name| (name.clone(), counts[name])).collect();
                ColumnEncoding::fit_categories(&name, &counted, missing, &options)
            }
            Facts::Date { time, features } => {
                let form = Form::Date { time };
                let fitted = features[..form.width()].iter().flat_map(|moments| moments.fitted(rows, &options));
                let numbers = fitted.collect();
                part(form, numbers)
            }
            Facts::Text(vocabulary) => match options.text {
                TextFeatures::TfIdf { max_words, min_rows } => {
                    let (words, weights) = vocabulary.finish(max_words, min_rows);
                    part(Form::TfIdf { words }, weights)
                }
                TextFeatures::Hash { buckets } => {
                    part(Form::HashedText { buckets: positive(&name, buckets)? }, Vec::new())
                }
                TextFeatures::Drop => None,
            },
        })
    }
}

/// The names in the order of categories, which is that of the numbers if all of them are numbers.
fn sorted(counts: &HashMap<String, usize>) -> Vec<String> {
    let order: Categorical = counts.keys().map(Some).collect();
    order.categories().to_vec()
}
