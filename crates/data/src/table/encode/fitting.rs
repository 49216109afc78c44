//! Fitting an encoder to rows: all at once, in chunks in constant memory, or fold by fold and merged.
//!
//! Of numbers and dates the moments are kept, of categories and words how often each occurs. Both are merged, so the statistics of
//! each fold are computed once and those of a training set are merged from the folds it has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tove_tensor::pool::parallel_for;

use super::column_encoding::{ColumnEncoding, DATE_FEATURES, Form, date_features};
use super::options::{Choices, Encoding, Impute, ManyCategories, TextFeatures};
use super::words::Vocabulary;
use super::{Chosen, Combined, Role, Schema, Table, TableEncoder};
use crate::table::{Categorical, Column, Kind, Unit};
use crate::{ColumnMoments, DataError, Problem, Remedy, Result};

/// Different categories or words of a column that are counted, at most.
const MOST_NAMES: usize = 1_000_000;

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

/// What is known of a column.
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
    Number(Feature),
    Categories(Counts),
    Date { time: bool, features: Box<[Feature; DATE_FEATURES]> },
    Text(Vocabulary),
    Ignored,
}

/// The known values of a feature.
#[derive(Clone, Debug, Default)]
struct Feature {
    moments: ColumnMoments,
    /// The values themselves, where their median is needed.
    values: Option<Vec<f64>>,
}

impl Feature {
    fn new(keep: bool) -> Feature {
        Feature { moments: ColumnMoments::default(), values: keep.then(Vec::new) }
    }

    fn see(&mut self, known: &[f64]) {
        self.moments.merge(&ColumnMoments::of(known));
        self.values.iter_mut().for_each(|values| values.extend_from_slice(known));
    }

    fn merge(&mut self, other: &Feature) {
        self.moments.merge(&other.moments);
        if let (Some(values), Some(more)) = (&mut self.values, &other.values) {
            values.extend_from_slice(more);
        }
    }

    /// Fill, mean and scale: `(x - mean) / scale` is what the model sees. The moments are those of all rows with missing values filled.
    fn fitted(&self, missing: usize, options: &Encoding) -> [f64; 3] {
        let fill = match (options.impute, &self.values) {
            (Impute::Constant(value), _) => value,
            (Impute::Median, Some(values)) => median(values.clone()),
            _ => self.moments.mean(),
        };
        let mut filled = self.moments;
        filled.merge(&ColumnMoments::at(fill, missing as f64));
        if !options.scale || filled.weight() == 0.0 {
            return [fill, 0.0, 1.0];
        }
        let scale = filled.deviation();
        // A constant column stays at zero instead of being blown up.
        [fill, filled.mean(), if filled.is_constant() || !scale.is_finite() { 1.0 } else { scale }]
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    if count == 0 { 0.0 } else { (values[(count - 1) / 2] + values[count / 2]) / 2.0 }
}

/// How often each category occurs.
#[derive(Clone, Debug, Default)]
struct Counts {
    names: Arc<Vec<String>>,
    rows: Vec<usize>,
    /// Where names are, once there was more than one dictionary; the names are then in no order.
    places: HashMap<String, usize>,
}

impl Counts {
    fn add(&mut self, names: &Arc<Vec<String>>, rows: &[usize]) {
        if self.names.is_empty() {
            (self.names, self.rows) = (Arc::clone(names), rows.to_vec());
        } else if Arc::ptr_eq(&self.names, names) || self.names == *names {
            self.rows.iter_mut().zip(rows).for_each(|(sum, rows)| *sum += rows);
        } else {
            if self.places.is_empty() {
                self.places = self.names.iter().cloned().enumerate().map(|(place, name)| (name, place)).collect();
            }
            for (name, rows) in names.iter().zip(rows).filter(|(_, rows)| **rows > 0) {
                match self.places.get(name) {
                    Some(&place) => self.rows[place] += rows,
                    None => {
                        self.places.insert(name.clone(), self.rows.len());
                        Arc::make_mut(&mut self.names).push(name.clone());
                        self.rows.push(*rows);
                    }
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.rows.iter().filter(|rows| **rows > 0).count()
    }

    /// The categories that occur, in their order, which is that of the numbers if all of them are numbers.
    fn sorted(&self) -> Vec<(String, usize)> {
        let found = self.names.iter().zip(&self.rows).filter(|(_, rows)| **rows > 0);
        if self.places.is_empty() {
            return found.map(|(name, rows)| (name.clone(), *rows)).collect();
        }
        let order: Categorical = found.map(|(name, _)| Some(name)).collect();
        order.categories().iter().map(|name| (name.clone(), self.rows[self.places[name]])).collect()
    }
}

impl EncoderFit {
    /// Nothing seen yet of the feature columns of this schema; rows may come in chunks.
    ///
    /// # Errors
    /// If the options ask for medians or mean targets, which need all rows at once.
    pub fn new(schema: &Schema, options: &Choices) -> Result<Self> {
        let mut columns = Vec::new();
        for field in schema.fields().iter().filter(|field| field.role == Role::Feature) {
            let chosen = *options.of(&field.name);
            let what = match field.kind {
                Kind::Float | Kind::Integer | Kind::Boolean if chosen.impute == Impute::Median => "median imputation",
                Kind::Categorical if matches!(chosen.many, ManyCategories::Target { .. }) => "target encoding",
                kind => {
                    let time = field.unit.is_some_and(|unit| unit != Unit::Days);
                    columns.push(Seen::new(&field.name, kind, time, chosen, false));
                    continue;
                }
            };
            let remedy = Remedy::Encode { column: field.name.clone() };
            let problem = Problem::new(format!("needs {what}, which needs all rows in memory"));
            let problem = problem.advice("read the table whole").remedy(remedy);
            return Err(DataError::Schema { column: field.name.clone(), problem });
        }
        Ok(Self { columns })
    }

    /// Nothing seen yet of the feature columns of a table, which is in memory, so that medians are possible.
    ///
    /// # Errors
    /// If a feature column of the schema does not exist.
    pub fn of(table: &Table, schema: &Schema, options: &Choices) -> Result<Self> {
        let mut columns = Vec::new();
        for name in schema.with(Role::Feature) {
            let column = table.column(name)?;
            let time = matches!(column, Column::Date(dates) if dates.unit() != Unit::Days);
            columns.push(Seen::new(name, column.kind(), time, *options.of(name), true));
        }
        Ok(Self { columns })
    }

    /// Takes rows into account. Give training rows only.
    ///
    /// # Errors
    /// If a column is missing or of another kind, holds infinite numbers, or more different names than can be counted.
    pub fn see(&mut self, rows: &Table) -> Result<()> {
        self.see_chosen(rows, Chosen::all(rows))
    }

    /// Takes these rows of a table into account, all of which must exist.
    ///
    /// # Errors
    /// As [`EncoderFit::see`].
    pub fn see_rows(&mut self, table: &Table, rows: &[usize]) -> Result<()> {
        self.see_chosen(table, Chosen::rows(table, rows)?)
    }

    fn see_chosen(&mut self, table: &Table, chosen: Chosen<'_>) -> Result<()> {
        let tasks: Vec<Mutex<(&mut Seen, Result<()>)>> =
            self.columns.iter_mut().map(|seen| Mutex::new((seen, Ok(())))).collect();
        parallel_for(tasks.len(), &|task| {
            let (seen, result) = &mut *tasks[task].lock().unwrap_or_else(PoisonError::into_inner);
            *result = table.column(&seen.name).and_then(|column| seen.see(column, chosen));
        });
        tasks.into_iter().try_for_each(|task| task.into_inner().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Takes what another fit of the same columns saw into account.
    ///
    /// # Errors
    /// If it is one of other columns, or there are more different names than can be counted.
    pub fn merge(&mut self, other: &EncoderFit) -> Result<()> {
        if !self.columns.iter().map(|seen| &seen.name).eq(other.columns.iter().map(|seen| &seen.name)) {
            return Err(DataError::parameter("EncoderFit", "merged with a fit of other columns".to_owned()));
        }
        self.columns.iter_mut().zip(&other.columns).try_for_each(|(seen, other)| seen.merge(other))
    }

    /// Whether values of this column were missing.
    fn misses(&self, column: &str) -> bool {
        self.columns.iter().any(|seen| seen.name == column && seen.missing > 0)
    }

    /// How the features of `encoder`, which was fitted to some of the rows seen here, are made of those of `reference`, the encoder of
    /// all of them: for each feature factors of reference features, and a shift. `None` if one is not a linear combination. So sums
    /// over rows that were encoded once serve every encoder of a part of them.
    pub fn combinations(&self, encoder: &TableEncoder, reference: &TableEncoder) -> Option<Vec<Combined>> {
        let mut all = Vec::with_capacity(encoder.names.len());
        for own in &encoder.parts {
            let (mut offset, mut parts) = (0, reference.parts.iter());
            let other = loop {
                let part = parts.next()?;
                if part.column == own.column {
                    break part;
                }
                offset += part.form.width();
            };
            all.extend(own.combinations(other, offset, self.misses(&own.column))?);
        }
        Some(all)
    }

    /// The categories seen in each categorical column, in their order.
    pub fn categories(&self) -> Vec<(String, Vec<String>)> {
        let named = self.columns.iter().filter_map(|seen| match &seen.facts {
            Facts::Categories(counts) => {
                Some((seen.name.clone(), counts.sorted().into_iter().map(|(name, _)| name).collect()))
            }
            _ => None,
        });
        named.collect()
    }

    /// The encoder.
    ///
    /// # Errors
    /// If a text column is to be hashed to no buckets, or a column needs target encoding, which
    /// [`TableEncoder::fit_encode`] does.
    pub fn finish(self) -> Result<TableEncoder> {
        let encoder = self.with_targets_open()?;
        if let Some(part) = encoder.parts.iter().find(|part| matches!(part.form, Form::TargetMean { .. })) {
            let problem = "needs target encoding; fit with the target (fit_encode)".to_owned();
            return Err(DataError::Schema { column: part.column.clone(), problem: problem.into() });
        }
        Ok(encoder)
    }

    /// The encoder; numbers of columns under target encoding are still to come.
    pub(super) fn with_targets_open(self) -> Result<TableEncoder> {
        let mut parts = Vec::new();
        for seen in self.columns {
            parts.extend(seen.part()?);
        }
        let names = parts.iter().flat_map(ColumnEncoding::names).collect();
        Ok(TableEncoder { parts, names })
    }
}

impl Seen {
    fn new(name: &str, kind: Kind, time: bool, options: Encoding, in_memory: bool) -> Seen {
        let feature = Feature::new(in_memory && options.impute == Impute::Median);
        let facts = match kind {
            Kind::Float | Kind::Integer | Kind::Boolean => Facts::Number(feature),
            Kind::Categorical => Facts::Categories(Counts::default()),
            Kind::Date if options.dates => {
                Facts::Date { time, features: Box::new(std::array::from_fn(|_| feature.clone())) }
            }
            Kind::Text if options.text != TextFeatures::Drop => Facts::Text(Vocabulary::default()),
            Kind::Date | Kind::Text => Facts::Ignored,
        };
        Seen { name: name.to_owned(), options, rows: 0, missing: 0, facts }
    }

    fn see(&mut self, column: &Column, rows: Chosen<'_>) -> Result<()> {
        let known = match (&mut self.facts, column) {
            (Facts::Ignored, _) => rows.len(),
            (Facts::Number(feature), Column::Float(_) | Column::Integer(_) | Column::Boolean(_)) => {
                let known: Vec<f64> = rows.iter().filter_map(|row| column.number(row)).collect();
                if let Some(infinite) = known.iter().find(|value| value.is_infinite()) {
                    let problem = Problem::new(format!("has the value {infinite}, and values must be finite"));
                    let remedy = Remedy::DropColumn { column: self.name.clone() };
                    return Err(self.refused(problem.advice("make it missing").remedy(remedy)));
                }
                feature.see(&known);
                known.len()
            }
            (Facts::Categories(counts), Column::Categorical(values)) => {
                let mut here = vec![0; values.categories().len()];
                rows.iter().filter_map(|row| values.code(row)).for_each(|code| here[code as usize] += 1);
                counts.add(values.dictionary(), &here);
                here.iter().sum()
            }
            (Facts::Date { features, .. }, Column::Date(dates)) => {
                let known: Vec<_> = rows.iter().filter_map(|row| dates.parts(row).map(date_features)).collect();
                for (place, feature) in features.iter_mut().enumerate() {
                    feature.see(&known.iter().map(|known| known[place]).collect::<Vec<f64>>());
                }
                known.len()
            }
            (Facts::Text(vocabulary), Column::Text(text)) => {
                if matches!(self.options.text, TextFeatures::TfIdf { .. }) {
                    vocabulary.see(rows.iter().map(|row| text.get(row)));
                }
                rows.len()
            }
            (_, other) => {
                let problem = format!("is {} in some rows only; give it one kind", other.kind());
                return Err(self.refused(problem.into()));
            }
        };
        self.rows += rows.len();
        self.missing += rows.len() - known;
        self.limited()
    }

    fn merge(&mut self, other: &Seen) -> Result<()> {
        self.rows += other.rows;
        self.missing += other.missing;
        match (&mut self.facts, &other.facts) {
            (Facts::Number(feature), Facts::Number(more)) => feature.merge(more),
            (Facts::Categories(counts), Facts::Categories(more)) => counts.add(&more.names, &more.rows),
            (Facts::Date { features, .. }, Facts::Date { features: more, .. }) => {
                features.iter_mut().zip(more.iter()).for_each(|(feature, more)| feature.merge(more));
            }
            (Facts::Text(vocabulary), Facts::Text(more)) => vocabulary.merge(more),
            (Facts::Ignored, Facts::Ignored) => {}
            _ => return Err(self.refused("has another kind in the fit to be merged".into())),
        }
        self.limited()
    }

    fn refused(&self, problem: Problem) -> DataError {
        DataError::Schema { column: self.name.clone(), problem }
    }

    /// That there are not too many different names.
    fn limited(&self) -> Result<()> {
        let names = match &self.facts {
            Facts::Categories(counts) => counts.len(),
            Facts::Text(vocabulary) => vocabulary.len(),
            _ => 0,
        };
        if names <= MOST_NAMES {
            return Ok(());
        }
        let problem = Problem::new(format!("has more than {MOST_NAMES} different values"));
        let problem = problem.remedy(Remedy::DropColumn { column: self.name.clone() });
        Err(self.refused(problem.remedy(Remedy::Encode { column: self.name.clone() })))
    }

    /// The encoding of the column; `None` if it is left out.
    fn part(self) -> Result<Option<ColumnEncoding>> {
        let Seen { name, options, rows, missing, facts } = self;
        let (form, numbers) = match facts {
            Facts::Ignored => return Ok(None),
            Facts::Number(feature) => {
                let indicator = options.indicators && missing > 0 && missing < rows;
                (Form::Number { indicator }, feature.fitted(missing, &options).to_vec())
            }
            Facts::Categories(counts) => {
                let Some(found) = of_categories(&counts.sorted(), missing, &options) else { return Ok(None) };
                found
            }
            Facts::Date { time, features } => {
                let form = Form::Date { time };
                let numbers = features[..form.width()].iter().flat_map(|feature| feature.fitted(missing, &options));
                let numbers = numbers.collect();
                (form, numbers)
            }
            Facts::Text(vocabulary) => match options.text {
                TextFeatures::TfIdf { max_words, min_rows } => {
                    let (words, weights) = vocabulary.finish(max_words, min_rows);
                    (Form::TfIdf { words }, weights)
                }
                TextFeatures::Hash { buckets: 0 } => {
                    return Err(DataError::Schema { column: name, problem: "cannot be hashed to 0 buckets".into() });
                }
                TextFeatures::Hash { buckets } => (Form::HashedText { buckets }, Vec::new()),
                TextFeatures::Drop => return Ok(None),
            },
        };
        Ok(Some(ColumnEncoding { column: name, form, numbers }))
    }
}

/// The encoding of a categorical column with so many rows of each category, and so many without one.
fn of_categories(counted: &[(String, usize)], missing: usize, options: &Encoding) -> Option<(Form, Vec<f64>)> {
    let categories: Vec<String> = counted.iter().map(|(name, _)| name.clone()).collect();
    let form = match options.many {
        _ if categories.len() <= options.max_one_hot => Form::OneHot { categories, missing: missing > 0 },
        ManyCategories::OneHot => Form::OneHot { categories, missing: missing > 0 },
        ManyCategories::Hash { buckets } => Form::HashedCategory { buckets: buckets.max(1) },
        ManyCategories::Target { .. } => Form::TargetMean { categories, outputs: 1 },
        ManyCategories::Ordinal => {
            let mut places = Feature::new(options.impute == Impute::Median);
            for (place, &(_, rows)) in counted.iter().enumerate() {
                places.moments.merge(&ColumnMoments::at(place as f64, rows as f64));
                let copies = std::iter::repeat_n(place as f64, rows);
                places.values.iter_mut().for_each(|values| values.extend(copies.clone()));
            }
            return Some((Form::Ordinal { categories }, places.fitted(missing, options).to_vec()));
        }
        ManyCategories::Drop => return None,
    };
    let numbers = vec![0.0; form.count()];
    Some((form, numbers))
}
