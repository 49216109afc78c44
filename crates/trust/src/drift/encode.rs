//! Rows of a profile and new rows as numbers, for a classifier.

use std::collections::HashMap;

use super::profile::{ColumnProfile, DataColumn, DataValues, ProfiledValues};

/// Categories with a column of their own.
const CATEGORIES: usize = 20;

/// The encoded values of a column: training sample and new rows, one list per new column.
pub(super) struct Encoded {
    pub old: Vec<Vec<f64>>,
    pub new: Vec<Vec<f64>>,
}

/// A numeric column becomes itself, with the median of the sample for missing values, and a mark of missing ones; a
/// categorical column a mark per frequent category, one for the others of the profile, one for new categories and one for
/// missing values. Constant columns are left out.
pub(super) fn encode(profile: &ColumnProfile, column: &DataColumn) -> Option<Encoded> {
    let (old, new) = match (&profile.values, &column.values) {
        (ProfiledValues::Numbers(old), DataValues::Numbers(new)) => numbers(old, new),
        (ProfiledValues::Categories { counts, sample, .. }, DataValues::Categories(new)) => {
            let places: HashMap<&str, usize> =
                counts.iter().enumerate().map(|(place, (name, _))| (&**name, place)).collect();
            let mark = |code: Option<usize>| match code {
                None => CATEGORIES + 2,
                Some(place) if place < CATEGORIES && place < counts.len() => place,
                Some(place) if place <= counts.len() => CATEGORIES,
                Some(_) => CATEGORIES + 1,
            };
            // Where rare categories were not stored, a category that is unknown may be one of them.
            let unknown = if sample.contains(&Some(counts.len())) { counts.len() } else { usize::MAX };
            let code = |name: &String| places.get(name.as_str()).copied().unwrap_or(unknown);
            let old: Vec<usize> = sample.iter().map(|code| mark(*code)).collect();
            let new: Vec<usize> = new.iter().map(|name| mark(name.as_ref().map(code))).collect();
            let marks = |codes: &[usize]| {
                let marks = |place| codes.iter().map(|&code| f64::from(u8::from(code == place))).collect();
                (0..CATEGORIES + 3).map(marks).collect::<Vec<Vec<f64>>>()
            };
            (marks(&old), marks(&new))
        }
        _ => return None,
    };
    let (old, new) = old.into_iter().zip(new).filter(|(old, new)| varies(old, new)).unzip();
    Some(Encoded { old, new })
}

fn varies(old: &[f64], new: &[f64]) -> bool {
    old.first().is_some_and(|first| old.iter().chain(new).any(|value| value != first))
}

fn numbers(old: &[f64], new: &[f64]) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut known: Vec<f64> = old.iter().copied().filter(|value| !value.is_nan()).collect();
    known.sort_unstable_by(f64::total_cmp);
    let median = known.get(known.len() / 2).copied().unwrap_or(0.0);
    let split = |values: &[f64]| {
        let filled = values.iter().map(|value| if value.is_nan() { median } else { *value }).collect();
        let marks = values.iter().map(|value| f64::from(u8::from(value.is_nan()))).collect();
        vec![filled, marks]
    };
    (split(old), split(new))
}
