//! Columns that tell the target by themselves, which are often made from it.
//!
//! The rows are halved. A row of the second half is answered by the value of the first half nearest to its own: with the class
//! that is most frequent there, or, for a regression, with the mean target, interpolated between the two values around it.

use std::collections::HashMap;

use tove_data::table::{Column, Role, Schema, Table, Target};
use tove_tensor::DType;

use super::DataWarning;

/// Rows that are looked at, at most.
const LOOKED_AT: usize = 10_000;
/// Mistakes that a constant must make, so that none of them says something.
const MISTAKES: usize = 20;
/// The part of a constant's wrong classes that may be left.
const CLASSES_LEFT: f64 = 0.02;
/// The part of a constant's squared error that may be left.
const SQUARES_LEFT: f64 = 0.01;

/// The part of a constant's error that may be left by a column that does nearly all there is to do, and what every other column
/// must leave then.
const MOST_LEFT: f64 = 0.35;
const OTHERS_LEAVE: f64 = 0.85;

/// What a column leaves of a constant's error; none if too little can be told.
type Rule = Box<dyn Fn(&Column) -> Option<f64>>;
/// A value with what is known of its rows.
type Place<T> = (f64, T);

/// The features that tell the target, by the training rows.
pub fn leakage(table: &Table, schema: &Schema, target: &Target, train: &[usize]) -> Vec<DataWarning> {
    let step = train.len().div_ceil(LOOKED_AT).max(1);
    let rows: Vec<usize> = train.iter().step_by(step).copied().collect();
    let (known, asked): (Vec<usize>, Vec<usize>) =
        rows.chunks(2).filter(|pair| pair.len() == 2).map(|pair| (pair[0], pair[1])).unzip();
    let y = target.y();
    let classifies = target.task().is_classification();
    let left: Rule = match classifies {
        false => {
            let y = y.to_f64_vec();
            Box::new(move |column| squares_left(column, &y, &known, &asked))
        }
        true => {
            let y = y.to_dtype(DType::I64).to_vec::<i64>();
            Box::new(move |column| classes_left(column, &y, &known, &asked))
        }
    };
    let enough = if classifies { CLASSES_LEFT } else { SQUARES_LEFT };
    let mut all: Vec<(&str, f64)> =
        schema.with(Role::Feature).filter_map(|name| Some((name, left(table.column(name).ok()?)?))).collect();
    let found: Vec<DataWarning> = all
        .iter()
        .filter(|(_, left)| *left <= enough)
        .map(|(name, left)| DataWarning::TellsTarget { column: (*name).to_owned(), left: *left })
        .collect();
    if !found.is_empty() {
        return found;
    }
    // A column made with the target, or after it, need not tell it exactly; but no other comes near it.
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    match all[..] {
        [(name, left), (_, next), _, ..] if left <= MOST_LEFT && next >= OTHERS_LEAVE => {
            vec![DataWarning::Dominates { column: name.to_owned(), left, next: next.min(1.0) }]
        }
        _ => Vec::new(),
    }
}

/// Values in their order, each with what is known of its rows.
enum Places<T> {
    Numbers(Vec<Place<T>>),
    Strings(HashMap<String, T>),
}

/// The rows' values, gathered; missing ones are a value of their own.
fn places<T: Clone>(column: &Column, rows: &[usize], gather: impl Fn(&[usize]) -> T) -> (Places<T>, Option<T>) {
    let missing: Vec<usize> = rows.iter().copied().filter(|&row| column.is_missing(row)).collect();
    let missing = (!missing.is_empty()).then(|| gather(&missing));
    if matches!(column, Column::Text(_) | Column::Categorical(_)) {
        let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
        for &row in rows {
            if let Some(text) = column.text(row) {
                groups.entry(text.into_owned()).or_default().push(row);
            }
        }
        return (Places::Strings(groups.into_iter().map(|(text, rows)| (text, gather(&rows))).collect()), missing);
    }
    let mut numbers: Vec<(f64, usize)> =
        rows.iter().filter_map(|&row| column.number(row).map(|value| (value, row))).collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups = numbers.chunk_by(|a, b| a.0 == b.0).map(|group| {
        let rows: Vec<usize> = group.iter().map(|&(_, row)| row).collect();
        (group[0].0, gather(&rows))
    });
    (Places::Numbers(groups.collect()), missing)
}

/// The two entries around a number; twice the same at the ends.
fn around<T>(list: &[Place<T>], value: f64) -> Option<(&Place<T>, &Place<T>)> {
    let after = list.partition_point(|(place, _)| *place < value);
    let (low, high) = (list.get(after.saturating_sub(1))?, list.get(after.min(list.len() - 1))?);
    Some(if high.0 == value { (high, high) } else { (low, high) })
}

/// The part of a constant's mistakes that the column leaves.
fn classes_left(column: &Column, y: &[i64], known: &[usize], asked: &[usize]) -> Option<f64> {
    let majority = |rows: &[usize]| {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        rows.iter().for_each(|&row| *counts.entry(y[row]).or_default() += 1);
        counts.into_iter().max_by_key(|&(class, count)| (count, -class)).map_or(0, |(class, _)| class)
    };
    let constant = majority(known);
    let missed = asked.iter().filter(|&&row| y[row] != constant).count();
    if missed < MISTAKES {
        return None;
    }
    let (places, missing) = places(column, known, majority);
    let answer = |row: usize| -> Option<i64> {
        match &places {
            _ if column.is_missing(row) => missing,
            Places::Strings(map) => map.get(column.text(row)?.as_ref()).copied(),
            Places::Numbers(list) => {
                let value = column.number(row)?;
                let (low, high) = around(list, value)?;
                Some(if value - low.0 <= high.0 - value { low.1 } else { high.1 })
            }
        }
    };
    let wrong = asked.iter().filter(|&&row| answer(row).unwrap_or(constant) != y[row]).count();
    Some(wrong as f64 / missed as f64)
}

/// The part of a constant's squared error that the column leaves.
fn squares_left(column: &Column, y: &[f64], known: &[usize], asked: &[usize]) -> Option<f64> {
    if asked.len() < MISTAKES {
        return None;
    }
    let mean = |rows: &[usize]| rows.iter().map(|&row| y[row]).sum::<f64>() / rows.len() as f64;
    let constant = mean(known);
    let (places, missing) = places(column, known, mean);
    let answer = |row: usize| -> Option<f64> {
        match &places {
            _ if column.is_missing(row) => missing,
            Places::Strings(map) => map.get(column.text(row)?.as_ref()).copied(),
            Places::Numbers(list) => {
                let value = column.number(row)?;
                let (low, high) = around(list, value)?;
                let share = if high.0 > low.0 { ((value - low.0) / (high.0 - low.0)).clamp(0.0, 1.0) } else { 0.0 };
                Some(low.1 + share * (high.1 - low.1))
            }
        }
    };
    let error = |answer: &dyn Fn(usize) -> f64| asked.iter().map(|&row| (answer(row) - y[row]).powi(2)).sum::<f64>();
    let left = error(&|row| answer(row).unwrap_or(constant)) / error(&|_| constant);
    left.is_finite().then_some(left)
}
