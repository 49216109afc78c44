//! Categories of features: the distinct values of a column, with NaN last and infrequent ones grouped.

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use super::columns::{each, sorted, without_infinite};
use crate::{Attribute, Field, LearnError, Reading, Record, Result, Rows};

/// Grouping of infrequent categories, with scikit-learn's names.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Frequencies", shared)]
pub struct Frequencies {
    /// Less frequent categories are grouped: a count if at least 1, otherwise a fraction of the samples.
    #[hyper(range = "(0, inf)")]
    pub min_frequency: Option<f64>,
    /// Maximum number of categories of a feature, including the group of infrequent ones.
    #[hyper(range = "[1, inf)")]
    pub max_categories: Option<usize>,
}

impl Frequencies {
    /// Whether no categories are grouped.
    pub(super) fn keep_all(&self) -> bool {
        self.min_frequency.is_none() && self.max_categories.is_none()
    }

    /// Checks that outputs can be converted back to categories.
    pub(super) fn require_all(&self, who: &'static str) -> Result<()> {
        if self.keep_all() {
            return Ok(());
        }
        let fix = "fit without `min_frequency` and `max_categories`";
        Err(LearnError::unsupported(who, "cannot be inverted, since infrequent categories share an output", fix))
    }
}

/// The categories of one feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Categories {
    /// In ascending order; NaN is the last.
    pub values: Vec<f64>,
    pub infrequent: Vec<bool>,
    /// The output of each category: frequent ones in order, followed by the group of infrequent ones.
    pub codes: Vec<usize>,
    /// Number of outputs.
    pub width: usize,
    /// Whether infrequent ones share the last output.
    grouped: bool,
}

impl Categories {
    /// With `apart`, a missing value has no output of its own, and its code differs from all others.
    fn new(values: Vec<f64>, infrequent: Vec<bool>, apart: bool) -> Categories {
        let counted = values.len() - usize::from(apart && values.last().is_some_and(|last| last.is_nan()));
        let frequent = infrequent[..counted].iter().filter(|rare| !**rare).count();
        let width = frequent + usize::from(frequent < counted);
        let mut next = 0;
        let code = |rare: &bool| {
            next += usize::from(!rare);
            if *rare { frequent } else { next - 1 }
        };
        let mut codes: Vec<usize> = infrequent[..counted].iter().map(code).collect();
        codes.resize(values.len(), width);
        Categories { grouped: frequent < counted, values, infrequent, codes, width }
    }

    /// With the missing value counted apart.
    pub(super) fn apart(self) -> Categories {
        Categories::new(self.values, self.infrequent, true)
    }

    /// Whether NaN is a category.
    pub(super) fn has_missing(&self) -> bool {
        self.values.last().is_some_and(|last| last.is_nan())
    }

    /// The output shared by infrequent categories, if there are any.
    pub(super) fn group(&self) -> Option<usize> {
        self.grouped.then(|| self.width - 1)
    }

    /// The index of a value among the categories.
    pub(super) fn index_of(&self, value: f64) -> Option<usize> {
        if value.is_nan() {
            return self.has_missing().then(|| self.values.len() - 1);
        }
        let known = &self.values[..self.values.len() - usize::from(self.has_missing())];
        known.binary_search_by(|known| known.total_cmp(&(value + 0.0))).ok()
    }

    /// The category of an output; `None` for the group of infrequent ones.
    pub(super) fn category(&self, output: usize) -> Option<f64> {
        if !self.grouped {
            return self.values.get(output).copied();
        }
        let index = (0..self.values.len()).find(|&index| self.codes[index] == output && !self.infrequent[index]);
        index.map(|index| self.values[index])
    }

    /// Creates an error for a value that is not a category.
    #[cold]
    pub(super) fn unknown(&self, who: &'static str, value: f64, row: usize, column: usize, fix: &str) -> LearnError {
        let known: Vec<String> = self.values.iter().take(10).map(f64::to_string).collect();
        let more = if self.values.len() > 10 { ", …" } else { "" };
        let known = known.join(", ");
        let problem =
            format!("the value {value} in row {row}, column {column}, was not seen during fit (known: {known}{more})");
        LearnError::data(who, problem, fix)
    }
}

/// Finds the categories of each feature. With `apart`, missing values are excluded from the grouping of infrequent
/// ones.
pub(super) fn find(x: &Rows, frequencies: &Frequencies, apart: bool) -> Result<Vec<Categories>> {
    without_infinite(x)?;
    let mut missing = vec![0usize; x.width()];
    each(x, |_, column, value| missing[column] += usize::from(value.is_nan()))?;
    let mut all = Vec::with_capacity(x.width());
    sorted(x, |column, values| {
        let mut list: Vec<f64> = values.iter().map(|value| value + 0.0).collect(); // −0 is 0
        list.sort_unstable_by(f64::total_cmp);
        let (mut values, mut counts): (Vec<f64>, Vec<usize>) =
            list.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).unzip();
        if missing[column] > 0 && !apart {
            values.push(f64::NAN);
            counts.push(missing[column]);
        }
        let mut infrequent = infrequent(&counts, x.len(), frequencies);
        if missing[column] > 0 && apart {
            values.push(f64::NAN);
            infrequent.push(false);
        }
        all.push(Categories::new(values, infrequent, apart));
    })?;
    Ok(all)
}

fn infrequent(counts: &[usize], samples: usize, frequencies: &Frequencies) -> Vec<bool> {
    let least = match frequencies.min_frequency {
        Some(share) if share < 1.0 => share * samples as f64,
        other => other.unwrap_or(0.0),
    };
    let mut rare: Vec<bool> = counts.iter().map(|&count| (count as f64) < least).collect();
    let frequent = rare.iter().filter(|rare| !**rare).count();
    if let Some(max) = frequencies.max_categories
        && max < frequent + 1
    {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|&index| counts[index]); // ties are grouped in order
        order[..counts.len().saturating_sub(max - 1)].iter().for_each(|&index| rare[index] = true);
    }
    rare
}

/// The categories of each feature, and which are infrequent where some are; files call them `categories`.
impl Attribute for Vec<Categories> {
    fn write(&self, _name: &str, record: &mut Record) {
        let all = self;
        for (column, own) in all.iter().enumerate() {
            record.put_tensor(&format!("categories.{column}"), &Tensor::from_slice(&own.values));
        }
        let grouped = all.iter().filter(|own| own.group().is_some()).count();
        if grouped > 0 {
            record.put("grouped", grouped);
        }
        for (column, own) in all.iter().enumerate().filter(|(_, own)| own.group().is_some()) {
            let marks: Vec<i64> = own.infrequent.iter().map(|&rare| i64::from(rare)).collect();
            record.put_tensor(&format!("infrequent.{column}"), &Tensor::from_slice(&marks));
        }
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<Categories>> {
        read(reading.record(), reading.count(field)?)
    }
}

fn read(record: &Record, width: usize) -> Result<Vec<Categories>> {
    let (mut all, mut grouped) = (Vec::new(), 0);
    for column in 0..width {
        let name = format!("categories.{column}"); // a missing one ends the loop, however large the count
        let values = record.vector(&name)?;
        let numbers = &values[..values.len() - usize::from(values.last().is_some_and(|last| last.is_nan()))];
        if values.is_empty() || numbers.iter().any(|x| x.is_nan()) || !numbers.is_sorted_by(|a, b| a < b) {
            return Err(record.wrong(&name, "ascending"));
        }
        let name = format!("infrequent.{column}");
        let infrequent = match record.tensor(&name) {
            Err(_) => vec![false; values.len()],
            Ok(_) => {
                grouped += 1;
                record.integers(&name)?.into_iter().map(|mark| mark == 1).collect()
            }
        };
        if infrequent.len() != values.len() {
            return Err(record.wrong(&name, "a mark per category"));
        }
        all.push(Categories::new(values, infrequent, false));
    }
    let said = if record.get("grouped").is_ok() { record.count("grouped")? } else { 0 };
    if said == grouped {
        Ok(all)
    } else {
        Err(record.wrong("grouped", "the number of features with infrequent categories"))
    }
}
