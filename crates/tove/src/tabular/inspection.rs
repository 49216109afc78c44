//! What a model of a table depends on: permutation importance and partial dependence of its columns.
//!
//! The importance of a column is how much a score falls when its values are permuted among the rows (Breiman, "Random Forests",
//! 2001). The partial dependence on a column is the mean prediction when the column is set to one value in all rows (Friedman,
//! "Greedy function approximation", 2001). Both are computed on columns of the table, not on encoded features: a category is one
//! column however many features it has.
//!
//! ```
//! # use tove::tabular::{Candidate, Plan};
//! # use tove::learn::selection::Scorer;
//! let text: String = (0..60).map(|i| format!("{},{},{}\n", i % 10, i % 7, 3 * (i % 10) + 1)).collect();
//! let (table, _) = tove::data::table::CsvOptions::new().read_bytes(format!("a,b,y\n{text}").as_bytes())?;
//! let model = Plan::new("y").folds(0).fit(&table, &[Candidate::named("LinearRegression")?], &mut |_| {})?.model;
//! let importances = model.permutation_importance(&table, Scorer::R2, 3, 0)?;
//! assert!(importances.columns[0].column == "a" && importances.columns[0].mean > 0.5);
//! let dependence = model.partial_dependence(&table, "a", 5)?.expect("the column varies");
//! assert!(dependence.means.windows(2).all(|two| two[0] < two[1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use tove_data::table::{Column, Kind, Role, Table};
use tove_learn::selection::Scorer;
use tove_learn::{Predict, Samples};
use tove_tensor::{DType, Key};

use super::prepared::row_weights;
use super::{Result, TabularError, TabularModel};

/// Permutation importance of the columns of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutationImportance {
    /// The score on the table as it is; the greater the better.
    pub score: f64,
    /// The feature columns, the most important first.
    pub columns: Vec<Importance>,
}

/// How much a score falls when a column is permuted.
#[derive(Clone, Debug, PartialEq)]
pub struct Importance {
    /// The column.
    pub column: String,
    /// Mean over the repeats.
    pub mean: f64,
    /// Standard deviation over the repeats.
    pub std: f64,
}

/// The values that a column was set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Grid {
    /// Numbers, in ascending order.
    Numbers(Vec<f64>),
    /// Categories with the number of rows that have them.
    Categories(Vec<(String, usize)>),
}

/// The mean prediction by the value of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDependence {
    /// The column.
    pub column: String,
    /// The values it was set to.
    pub grid: Grid,
    /// The mean prediction at each value: of a regression the predicted number, of a classifier the probability of its last class,
    /// or how often that class is predicted where the model has no probabilities.
    pub means: Vec<f64>,
    /// What `means` are: `mean P(yes)`.
    pub label: String,
}

/// Rows that predictions are averaged over, at most.
const AVERAGED: usize = 500;
/// Categories in a grid, at most.
const CATEGORIES: usize = 20;
/// Known values that a column of numbers must have.
const FEW: usize = 10;

impl TabularModel {
    /// The importance of every feature column for a score on a table that has the target, the largest first. Sample weights are used
    /// if the model was fitted with them.
    ///
    /// # Errors
    /// If a column is missing or does not fit, no row has a target, or the model has no such score.
    pub fn permutation_importance(
        &self,
        table: &Table,
        scorer: Scorer,
        repeats: usize,
        seed: u64,
    ) -> Result<PermutationImportance> {
        let (table, _) = table.drop_missing(&[self.target()])?;
        if table.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {}", self.target())));
        }
        let y = self.labels().encode(table.column(self.target())?)?;
        let weights = row_weights(&self.schema().conform(&table)?.0, self.schema())?;
        let score = |table: &Table| -> Result<f64> {
            let samples = Samples::new(self.rows(table)?.0, &y)?;
            let samples = match &weights {
                Some(weights) => samples.weighted(weights)?,
                None => samples,
            };
            Ok(scorer.score(self.model(), &samples)?.value)
        };
        let full = score(&table)?;
        let mut list = Vec::new();
        for (place, name) in self.schema().with(Role::Feature).enumerate() {
            if !self.encoder().columns().any(|column| column == name) {
                continue;
            }
            let mut drops = Vec::new();
            for repeat in 0..repeats.max(1) {
                let key = Key::new(seed).fold(place as u64).fold(repeat as u64);
                let order = key.permutation(table.n_rows()).to_vec::<i64>();
                let order: Vec<usize> = order.into_iter().map(|row| row as usize).collect();
                let permuted = table.select(&[name])?.take(&order)?.column(name)?.clone();
                drops.push(full - score(&table.with_column(name, permuted)?)?);
            }
            let n = drops.len() as f64;
            let mean = drops.iter().sum::<f64>() / n;
            let std = (drops.iter().map(|drop| (drop - mean).powi(2)).sum::<f64>() / n).sqrt();
            list.push(Importance { column: name.to_owned(), mean, std });
        }
        list.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        Ok(PermutationImportance { score: full, columns: list })
    }

    /// The partial dependence on a column: at `points` values between its 5th and 95th percentile, or at its most frequent
    /// categories. `None` for text and dates, and for a column that does not vary.
    ///
    /// # Errors
    /// If a column is missing or does not fit.
    pub fn partial_dependence(&self, table: &Table, column: &str, points: usize) -> Result<Option<PartialDependence>> {
        let values = table.column(column)?;
        // Rows from all over the table: files are often sorted.
        let step = table.n_rows().div_ceil(AVERAGED).max(1);
        let sample = table.filter(|row| row % step == 0);
        let n = sample.n_rows();
        let Some(grid) = grid(values, points) else { return Ok(None) };
        let kind = values.kind();
        let set_to: Vec<Column> = match &grid {
            Grid::Categories(names) => {
                names.iter().map(|(name, _)| Column::categories(vec![name.as_str(); n])).collect()
            }
            Grid::Numbers(numbers) => {
                let column = |&value: &f64| match kind {
                    Kind::Boolean => Column::booleans(vec![value != 0.0; n]),
                    Kind::Integer => Column::integers(vec![value as i64; n]),
                    _ => Column::floats(vec![value; n]),
                };
                numbers.iter().map(column).collect()
            }
        };
        let (mut means, mut label) = (Vec::new(), String::new());
        for same in set_to {
            let (mean, of) = self.mean_prediction(&sample.with_column(column, same)?)?;
            means.push(mean);
            label = of;
        }
        Ok(Some(PartialDependence { column: column.to_owned(), grid, means, label }))
    }

    /// The mean prediction for a table, with what it is.
    fn mean_prediction(&self, table: &Table) -> Result<(f64, String)> {
        let (rows, _) = self.rows(table)?;
        let model = self.model();
        let (values, label) = match model.classes().last() {
            None => (model.predict(&rows)?.to_f64_vec(), format!("mean predicted {}", self.target())),
            Some(&last) => {
                let class = self.classes().get(last as usize).cloned().unwrap_or_default();
                if model.capabilities().probabilities {
                    let m = model.classes().len();
                    let probabilities = model.predict_proba(&rows)?.to_f64_vec();
                    (probabilities.chunks(m).map(|row| row[m - 1]).collect(), format!("mean P({class})"))
                } else {
                    let predicted = model.predict(&rows)?.to_dtype(DType::I64).to_vec::<i64>();
                    let is = predicted.iter().map(|&class| f64::from(class == last)).collect::<Vec<f64>>();
                    (is, format!("fraction predicted {class}"))
                }
            }
        };
        Ok((values.iter().sum::<f64>() / values.len().max(1) as f64, label))
    }
}

/// The values that a column is set to; none if it cannot be set, or does not vary.
fn grid(column: &Column, points: usize) -> Option<Grid> {
    if let Column::Categorical(values) = column {
        let mut known: Vec<(String, usize)> =
            values.categories().iter().cloned().zip(values.counts()).filter(|(_, count)| *count > 0).collect();
        known.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        known.truncate(CATEGORIES);
        return (known.len() > 1).then_some(Grid::Categories(known));
    }
    if !column.kind().is_numeric() {
        return None;
    }
    let mut known: Vec<f64> = (0..column.len()).filter_map(|row| column.number(row)).collect();
    known.sort_by(f64::total_cmp);
    if known.len() < FEW {
        return None;
    }
    let quantile = |share: f64| known[((known.len() - 1) as f64 * share) as usize];
    let (low, high) = (quantile(0.05), quantile(0.95));
    if low == high {
        return None;
    }
    let steps = points.max(2) - 1;
    let mut grid: Vec<f64> = (0..=steps).map(|i| low + (high - low) * (i as f64 / steps as f64)).collect();
    if column.kind() != Kind::Float {
        // Integers stay integers.
        grid.iter_mut().for_each(|value| *value = value.round());
        grid.dedup();
    }
    Some(Grid::Numbers(grid))
}
