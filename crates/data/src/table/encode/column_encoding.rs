//! The fitted encoding of one column.

use std::collections::{BTreeMap, HashMap};

use super::Combined;
use super::words::{self, hash, normalised, words};
use crate::table::{Categorical, Column, DateParts};
use crate::{DataError, Result};

/// What a column becomes. The numbers that were fitted are in `numbers`, which goes to a file as a tensor.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct ColumnEncoding {
    pub column: String,
    pub form: Form,
    #[serde(skip)]
    pub numbers: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// Numbers: fill, mean, scale.
    Number { indicator: bool },
    /// Numbers: none. With `missing`, the last feature is for missing values.
    OneHot { categories: Vec<String>, missing: bool },
    /// Numbers: none.
    HashedCategory { buckets: usize },
    /// Numbers: the overall means, then those of each category, `outputs` each.
    TargetMean { categories: Vec<String>, outputs: usize },
    /// Numbers: fill, mean, scale.
    Ordinal { categories: Vec<String> },
    /// Numbers: fill, mean and scale of each feature.
    Date { time: bool },
    /// Numbers: none.
    HashedText { buckets: usize },
    /// Numbers: the inverse document frequencies.
    TfIdf { words: Vec<String> },
}

/// Different words of a text, about.
const WORDS: usize = 16;

/// Features of a date.
pub(super) const DATE_FEATURES: usize = 5;
/// Year, month, weekday, seconds; then the hour.
const DATE_PARTS: [&str; DATE_FEATURES] = ["year", "month", "weekday", "seconds", "hour"];

impl Form {
    pub fn width(&self) -> usize {
        match self {
            Form::Number { indicator } => 1 + usize::from(*indicator),
            Form::OneHot { categories, missing } => categories.len() + usize::from(*missing),
            Form::HashedCategory { buckets } | Form::HashedText { buckets } => *buckets,
            Form::TargetMean { outputs, .. } => *outputs,
            Form::Ordinal { .. } => 1,
            Form::Date { time } => 4 + usize::from(*time),
            Form::TfIdf { words } => words.len(),
        }
    }

    /// How many fitted numbers belong to it.
    pub fn count(&self) -> usize {
        match self {
            Form::Number { .. } | Form::Ordinal { .. } => 3,
            Form::OneHot { .. } | Form::HashedCategory { .. } | Form::HashedText { .. } => 0,
            Form::TargetMean { categories, outputs } => (1 + categories.len()) * outputs,
            Form::Date { .. } => 3 * self.width(),
            Form::TfIdf { words } => words.len(),
        }
    }

    /// `count` of a form out of a file, which may hold anything: `None` if its sizes make no sense.
    pub fn checked_count(&self) -> Option<usize> {
        const MOST: usize = 1 << 24;
        let (buckets, outputs) = match self {
            Form::HashedCategory { buckets } | Form::HashedText { buckets } => (*buckets, 1),
            Form::TargetMean { outputs, .. } => (1, *outputs),
            _ => (1, 1),
        };
        ((1..=MOST).contains(&buckets) && (1..=MOST).contains(&outputs)).then(|| self.count())
    }

    /// Numbers other than zero in a row, about; of texts, different words.
    pub fn entries(&self) -> usize {
        match self {
            Form::OneHot { .. } | Form::HashedCategory { .. } | Form::Number { .. } | Form::Ordinal { .. } => 1,
            Form::HashedText { buckets } => WORDS.min(*buckets),
            Form::TfIdf { words } => WORDS.min(words.len()),
            Form::TargetMean { .. } | Form::Date { .. } => self.width(),
        }
    }
}

impl ColumnEncoding {
    /// Names of the features.
    pub fn names(&self) -> Vec<String> {
        let column = &self.column;
        let numbered = |count: usize| (0..count).map(|i| format!("{column}#{i}")).collect();
        match &self.form {
            Form::Number { indicator } => {
                let mut names = vec![column.clone()];
                names.extend(indicator.then(|| format!("{column} is missing")));
                names
            }
            Form::OneHot { categories, missing } => {
                let mut names: Vec<String> = categories.iter().map(|value| format!("{column}={value}")).collect();
                names.extend(missing.then(|| format!("{column} is missing")));
                names
            }
            Form::HashedCategory { buckets } | Form::HashedText { buckets } => numbered(*buckets),
            Form::Ordinal { .. } => vec![format!("{column} (place)")],
            Form::TargetMean { outputs: 1, .. } => vec![format!("{column} mean target")],
            Form::TargetMean { outputs, .. } => (0..*outputs).map(|i| format!("{column} share of class {i}")).collect(),
            Form::Date { .. } => {
                DATE_PARTS[..self.form.width()].iter().map(|part| format!("{column} {part}")).collect()
            }
            Form::TfIdf { words } => words.iter().map(|word| format!("{column}:{word}")).collect(),
        }
    }

    /// This part's features as combinations of those of a part of the same column, which begin at `offset`; `missing` says whether
    /// the column has missing values at all.
    pub fn combinations(&self, other: &ColumnEncoding, offset: usize, missing: bool) -> Option<Vec<Combined>> {
        let copied = |feature: usize| (vec![(offset + feature, 1.0)], 0.0);
        // (filled - mean) / scale of both, where only missing values are filled differently.
        let scaled = |feature: usize, own: &[f64], others: &[f64], indicator: Option<usize>| {
            let mut terms = vec![(offset + feature, others[2] / own[2])];
            if missing && own[0] != others[0] {
                terms.push((offset + indicator?, (own[0] - others[0]) / own[2]));
            }
            Some((terms, (others[1] - own[1]) / own[2]))
        };
        match (&self.form, &other.form) {
            (Form::Number { indicator }, Form::Number { indicator: known }) if known >= indicator => {
                let number = scaled(0, &self.numbers, &other.numbers, known.then_some(1))?;
                Some(std::iter::once(number).chain(indicator.then(|| copied(1))).collect())
            }
            (Form::Date { .. }, Form::Date { .. }) if self.form == other.form => {
                let triples = self.numbers.chunks_exact(3).zip(other.numbers.chunks_exact(3)).enumerate();
                triples.map(|(feature, (own, others))| scaled(feature, own, others, None)).collect()
            }
            (Form::OneHot { categories, missing }, Form::OneHot { categories: known, missing: last }) => {
                let places: HashMap<&str, usize> =
                    known.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
                let mut all = Vec::with_capacity(categories.len() + 1);
                for name in categories {
                    all.push(copied(*places.get(name.as_str())?));
                }
                if *missing {
                    all.push(last.then(|| copied(known.len()))?);
                }
                Some(all)
            }
            (Form::HashedCategory { .. } | Form::HashedText { .. }, form) if self.form == *form => {
                Some((0..form.width()).map(copied).collect())
            }
            _ => None,
        }
    }

    /// Connects the part with a column of a table.
    pub fn bind<'a>(&'a self, column: &'a Column) -> Result<Bound<'a>> {
        let place = |names: &'a [String], values: &Categorical| -> Vec<Option<usize>> {
            let places: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
            values.categories().iter().map(|name| places.get(name.as_str()).copied()).collect()
        };
        let places = match (&self.form, column) {
            (
                Form::OneHot { categories, .. } | Form::TargetMean { categories, .. } | Form::Ordinal { categories },
                Column::Categorical(values),
            ) => place(categories, values),
            (Form::HashedCategory { buckets }, Column::Categorical(values)) => {
                let bucket = |name: &String| Some((hash(name) % *buckets as u64) as usize);
                values.categories().iter().map(bucket).collect()
            }
            (Form::Number { .. }, Column::Float(_) | Column::Integer(_) | Column::Boolean(_))
            | (Form::Date { .. }, Column::Date(_))
            | (Form::HashedText { .. } | Form::TfIdf { .. }, Column::Text(_)) => Vec::new(),
            (_, other) => {
                let problem = format!("is {} but was fitted as something else; conform the table first", other.kind());
                return Err(DataError::Schema { column: self.column.clone(), problem: problem.into() });
            }
        };
        let known = match &self.form {
            Form::TfIdf { words } => words.iter().enumerate().map(|(i, word)| (word.as_str(), i)).collect(),
            _ => HashMap::new(),
        };
        Ok(Bound { part: self, column, places, words: known })
    }
}

/// Categories that occur.
pub(super) fn used(values: &Categorical) -> Vec<String> {
    let counted = values.categories().iter().zip(values.counts());
    counted.filter(|(_, rows)| *rows > 0).map(|(name, _)| name.clone()).collect()
}

/// The features of a date, in the order of [`DATE_PARTS`].
pub(super) fn date_features(parts: DateParts) -> [f64; DATE_FEATURES] {
    let seconds = parts.seconds as f64 + f64::from(parts.nanoseconds) * 1e-9;
    [parts.year as f64, f64::from(parts.month), f64::from(parts.weekday), seconds, f64::from(parts.hour)]
}

/// A part and the column it encodes.
pub(super) struct Bound<'a> {
    pub part: &'a ColumnEncoding,
    column: &'a Column,
    /// For each category of the column, its feature.
    places: Vec<Option<usize>>,
    words: HashMap<&'a str, usize>,
}

/// What could not be encoded as it stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oddities {
    pub unseen: usize,
    pub imputed: usize,
}

impl Bound<'_> {
    /// Gives the row's numbers other than zero, by rising feature.
    #[inline]
    pub fn emit(&self, row: usize, odd: &mut Oddities, mut put: impl FnMut(usize, f64)) {
        let numbers = &self.part.numbers;
        match (&self.part.form, self.column) {
            (Form::Number { indicator }, column) => {
                let value = column.number(row);
                odd.imputed += usize::from(value.is_none());
                put(0, (value.unwrap_or(numbers[0]) - numbers[1]) / numbers[2]);
                if *indicator && value.is_none() {
                    put(1, 1.0);
                }
            }
            (Form::OneHot { categories, missing }, Column::Categorical(values)) => match values.code(row) {
                Some(code) => match self.places[code as usize] {
                    Some(feature) => put(feature, 1.0),
                    None => odd.unseen += 1,
                },
                None if *missing => put(categories.len(), 1.0),
                None => odd.imputed += 1,
            },
            (Form::HashedCategory { .. }, Column::Categorical(values)) => match values.code(row) {
                Some(code) => self.places[code as usize].into_iter().for_each(|feature| put(feature, 1.0)),
                None => odd.imputed += 1,
            },
            (Form::TargetMean { outputs, .. }, Column::Categorical(values)) => {
                let place = values.code(row).map(|code| self.places[code as usize]);
                odd.imputed += usize::from(place.is_none());
                odd.unseen += usize::from(place == Some(None));
                let start = place.flatten().map_or(0, |place| (1 + place) * outputs);
                (0..*outputs).for_each(|output| put(output, numbers[start + output]));
            }
            (Form::Ordinal { .. }, Column::Categorical(values)) => {
                let place = values.code(row).map(|code| self.places[code as usize]);
                odd.imputed += usize::from(place.is_none());
                odd.unseen += usize::from(place == Some(None));
                let value = place.flatten().map_or(numbers[0], |place| place as f64);
                put(0, (value - numbers[1]) / numbers[2]);
            }
            (Form::Date { .. }, Column::Date(dates)) => {
                odd.imputed += usize::from(dates.values().get(row).is_none());
                let known = dates.parts(row).map(date_features);
                for (feature, fitted) in numbers.chunks_exact(3).enumerate() {
                    let value = known.map_or(fitted[0], |known| known[feature]);
                    put(feature, (value - fitted[1]) / fitted[2]);
                }
            }
            (_, Column::Text(text)) => match text.get(row) {
                Some(text) => self.text_entries(text).into_iter().for_each(|(feature, value)| put(feature, value)),
                None => odd.imputed += 1,
            },
            // `bind` lets no other pair through.
            _ => {}
        }
    }

    fn text_entries(&self, text: &str) -> BTreeMap<usize, f64> {
        let mut entries = BTreeMap::new();
        match &self.part.form {
            Form::HashedText { buckets } => words(text, |word| {
                let hash = words::hash(word);
                let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
                *entries.entry((hash % *buckets as u64) as usize).or_insert(0.0) += sign;
            }),
            _ => words(text, |word| {
                if let Some(&feature) = self.words.get(word) {
                    *entries.entry(feature).or_insert(0.0) += self.part.numbers[feature];
                }
            }),
        }
        normalised(&mut entries);
        entries
    }
}
