//! Why a model predicts what it predicts for one row: Shapley values of the columns.
//!
//! A column's Shapley value is the change of the prediction when the column takes the row's value instead of that of a background
//! row, averaged over background rows and over the orders in which the columns change (Štrumbelj and Kononenko, "Explaining
//! prediction models and individual predictions with feature contributions", 2014). The values of all columns add up to the
//! difference between the row's prediction and the mean prediction of the background. They are estimated from random orders, each
//! taken forwards and backwards, which is exact for additive models and halves the variance of most others.
//!
//! ```
//! # use tove::tabular::{Candidate, Plan};
//! let text: String = (0..60).map(|i| format!("{},{},{}\n", i % 10, i % 7, 3 * (i % 10) + 1)).collect();
//! let (table, _) = tove::data::table::CsvOptions::new().read_bytes(format!("a,b,y\n{text}").as_bytes())?;
//! let model = Plan::new("y").folds(0).fit(&table, &[Candidate::named("LinearRegression")?], &mut |_| {})?.model;
//! let explained = model.explain_row(&table, 9, &table, 120, 0)?;
//! // y = 3 a + 1, a is 9 and 4.5 on average.
//! assert_eq!(explained.contributions[0].column, "a");
//! assert!((explained.contributions[0].mean - 13.5).abs() < 1e-9 && (explained.prediction - 28.0).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use tove_data::DataError;
use tove_data::table::{Role, Table};
use tove_learn::{Predict, Rows};
use tove_tensor::{DType, Key};

use super::model::encoded;
use super::{Result, TabularError, TabularModel};

/// Cells of the tables that are predicted at once.
const CELLS: usize = 1 << 22;

/// The prediction for one row, split into contributions of its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct RowExplanation {
    /// What is explained: `P(yes)` for the predicted class, or `predicted price`.
    pub label: String,
    /// The prediction for the row.
    pub prediction: f64,
    /// The mean prediction for the background rows: what the contributions start from.
    pub base: f64,
    /// The columns, the largest contribution first. They add up to `prediction - base`.
    pub contributions: Vec<Contribution>,
}

/// The Shapley value of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    /// The column.
    pub column: String,
    /// Its value in the row as text; `None` if it is missing.
    pub value: Option<String>,
    /// The estimated Shapley value.
    pub mean: f64,
    /// The standard error of the estimate.
    pub error: f64,
}

/// What a prediction is as one number.
enum Output {
    Number,
    Probability(usize),
    Class(i64),
}

impl TabularModel {
    /// Splits the prediction for a row of `table` into contributions of its columns, relative to the rows of `background`.
    /// `orders` column orders are drawn, rounded up to an even number.
    ///
    /// # Errors
    /// If there is no such row, the background is empty, or a column is missing or does not fit.
    pub fn explain_row(
        &self,
        table: &Table,
        row: usize,
        background: &Table,
        orders: usize,
        seed: u64,
    ) -> Result<RowExplanation> {
        if row >= table.n_rows() {
            return Err(DataError::Index { index: row, len: table.n_rows() }.into());
        }
        if background.n_rows() == 0 {
            return Err(TabularError::Plan("the background has no rows; contributions are relative to them".into()));
        }
        let names: Vec<&str> = self.encoder().columns().collect();
        // The explained row is row 0, background rows follow.
        let features: Vec<&str> = self.schema().with(Role::Feature).collect();
        let parts = vec![table.take(&[row])?.select(&features)?, background.select(&features)?];
        let all = self.schema().conform(&Table::concat(parts)?.unwrap_or_default())?.0.select(&names)?;
        let (output, label) = self.output(&all.slice(0..1))?;
        let prediction = self.values(&all.slice(0..1), &output)?[0];
        let (d, pairs) = (names.len(), orders.div_ceil(2).max(1));
        let drawn = Key::new(seed).permutation(background.n_rows()).to_vec::<i64>();
        let (mut sums, mut squares) = (vec![0.0; d], vec![0.0; d]);
        let mut base = 0.0;
        let at_once = (CELLS / (2 * d * d).max(1)).clamp(1, pairs);
        for first in (0..pairs).step_by(at_once) {
            let paths: Vec<(Vec<usize>, usize)> = (first..pairs.min(first + at_once))
                .flat_map(|pair| {
                    let order = Key::new(seed).fold(1 + pair as u64).permutation(d).to_vec::<i64>();
                    let order: Vec<usize> = order.into_iter().map(|column| column as usize).collect();
                    let other = 1 + drawn[pair % drawn.len()] as usize;
                    let reversed = order.iter().rev().copied().collect();
                    [(order, other), (reversed, other)]
                })
                .collect();
            let values = self.values(&hybrids(&all, &names, &paths)?, &output)?;
            for (pair, values) in paths.chunks(2).zip(values.chunks(2 * d)) {
                let mut changes = vec![0.0; d];
                for ((order, _), values) in pair.iter().zip(values.chunks(d)) {
                    for (step, &column) in order.iter().enumerate() {
                        let after = values.get(step + 1).copied().unwrap_or(prediction);
                        changes[column] += 0.5 * (after - values[step]);
                    }
                    base += 0.5 * values[0] / pairs as f64;
                }
                for ((sum, square), change) in sums.iter_mut().zip(&mut squares).zip(changes) {
                    *sum += change;
                    *square += change * change;
                }
            }
        }
        let n = pairs as f64;
        let mut contributions: Vec<Contribution> = names
            .iter()
            .zip(sums.iter().zip(&squares))
            .map(|(&column, (sum, square))| {
                let mean = sum / n;
                let variance = (square / n - mean * mean).max(0.0);
                let value = all.column(column).ok().and_then(|values| values.text(0)).map(|text| text.into_owned());
                Contribution { column: column.to_owned(), value, mean, error: (variance / (n - 1.0).max(1.0)).sqrt() }
            })
            .collect();
        contributions.sort_by(|a, b| b.mean.abs().total_cmp(&a.mean.abs()));
        if d == 0 {
            base = prediction;
        }
        Ok(RowExplanation { label, prediction, base, contributions })
    }

    /// The number that is explained for a row, with its name.
    fn output(&self, row: &Table) -> Result<(Output, String)> {
        let model = self.model();
        if model.classes().is_empty() {
            return Ok((Output::Number, format!("predicted {}", self.target())));
        }
        let predicted = model.predict(&self.encoded_rows(row)?)?.to_dtype(DType::I64).to_vec::<i64>()[0];
        let class = self.classes().get(predicted as usize).cloned().unwrap_or_default();
        let place = model.classes().iter().position(|&class| class == predicted);
        Ok(match place.filter(|_| model.capabilities().probabilities) {
            Some(place) => (Output::Probability(place), format!("P({class})")),
            None => (Output::Class(predicted), format!("fraction predicted {class}")),
        })
    }

    /// The rows of a table that has the encoder's columns in the kinds of the schema.
    fn encoded_rows(&self, table: &Table) -> Result<Rows> {
        Ok(encoded(self.encoder(), table, None, self.model().capabilities().sparse)?.x)
    }

    fn values(&self, table: &Table, output: &Output) -> Result<Vec<f64>> {
        let (rows, model) = (self.encoded_rows(table)?, self.model());
        Ok(match output {
            Output::Number => model.predict(&rows)?.to_f64_vec(),
            Output::Probability(place) => {
                let probabilities = model.predict_proba(&rows)?.to_f64_vec();
                probabilities.chunks(model.classes().len()).map(|row| row[*place]).collect()
            }
            Output::Class(class) => {
                let predicted = model.predict(&rows)?.to_dtype(DType::I64).to_vec::<i64>();
                predicted.iter().map(|predicted| f64::from(predicted == class)).collect()
            }
        })
    }
}

/// For each order of the columns: the background row, then the row with the first column changed, the first two, and so on, up to
/// all but the last.
fn hybrids(all: &Table, names: &[&str], paths: &[(Vec<usize>, usize)]) -> Result<Table> {
    let d = names.len();
    let mut sources = vec![Vec::with_capacity(paths.len() * d); d];
    for (order, other) in paths {
        for (step, &column) in order.iter().enumerate() {
            // The column has the background's value up to its own step.
            sources[column].extend((0..d).map(|row| if row > step { 0 } else { *other }));
        }
    }
    let mut columns = Vec::with_capacity(d);
    for (name, rows) in names.iter().zip(sources) {
        let taken = all.select(&[name])?.take(&rows)?;
        columns.push(((*name).to_owned(), taken.column(name)?.clone()));
    }
    Ok(Table::new(columns)?)
}
