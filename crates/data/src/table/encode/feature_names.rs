//! Names of features for people: a hashed feature is shown with the values behind it.

use std::collections::{BTreeMap, HashMap};

use super::column_encoding::{ColumnEncoding, Form};
use super::words::{hash, words};
use super::{Table, TableEncoder};
use crate::table::Column;

/// Values that a hashed feature is shown with.
const SHOWN: usize = 3;
/// Rows of text that are looked through for words.
const ROWS: usize = 20_000;

impl TableEncoder {
    /// Names of the features as [`TableEncoder::feature_names`] gives them, but those of hashed columns with their most frequent
    /// values in the table: `dest#35 (LAX, BOS, +4)` instead of `dest#35`.
    ///
    /// ```
    /// use tove_data::table::encode::ManyCategories;
    /// use tove_data::table::{Column, Encoding, Schema, Table, TableEncoder};
    /// let table = Table::new([("city", Column::categories(["Oslo", "Rome", "Oslo", "Lima"]))])?;
    /// let hashed = Encoding { max_one_hot: 1, many: ManyCategories::Hash { buckets: 1 }, ..Encoding::default() };
    /// let encoder = TableEncoder::fit(&table, &Schema::of(&table), &hashed)?;
    /// assert_eq!(encoder.feature_names(), ["city#0"]);
    /// assert_eq!(encoder.readable_names(&table), ["city#0 (Oslo, Lima, Rome)"]);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    pub fn readable_names(&self, table: &Table) -> Vec<String> {
        self.parts.iter().flat_map(|part| named(part, table)).collect()
    }
}

fn named(part: &ColumnEncoding, table: &Table) -> Vec<String> {
    let names = part.names();
    let counts = match (&part.form, table.column(&part.column)) {
        (Form::HashedCategory { buckets }, Ok(Column::Categorical(values))) => {
            let counted = values.categories().iter().map(String::as_str).zip(values.counts());
            by_bucket(counted.filter(|(_, count)| *count > 0), *buckets)
        }
        (Form::HashedText { buckets }, Ok(Column::Text(text))) => {
            let mut counts: HashMap<String, usize> = HashMap::new();
            for row in text.iter().flatten().take(ROWS) {
                words(row, |word| match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(word.to_owned(), 1)),
                });
            }
            by_bucket(counts.iter().map(|(word, count)| (word.as_str(), *count)), *buckets)
        }
        _ => return names,
    };
    let shown = |(bucket, name): (usize, String)| match counts.get(&bucket) {
        Some(values) => {
            let more = values.len().saturating_sub(SHOWN);
            let first = values[..values.len().min(SHOWN)].join(", ");
            if more > 0 { format!("{name} ({first}, +{more})") } else { format!("{name} ({first})") }
        }
        None => name,
    };
    names.into_iter().enumerate().map(shown).collect()
}

/// Values by the bucket that they are hashed to, the most frequent first.
fn by_bucket<'a>(counted: impl Iterator<Item = (&'a str, usize)>, buckets: usize) -> BTreeMap<usize, Vec<String>> {
    let mut counted: Vec<(&str, usize)> = counted.collect();
    counted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (value, _) in counted {
        found.entry((hash(value) % buckets.max(1) as u64) as usize).or_default().push(value.to_owned());
    }
    found
}
