//! Small changes of a table's cells that change a prediction.

use tove_data::table::{Column, Kind, Role, Table};
use tove_learn::Predict;
use tove_tensor::DType;

use super::{Result, TabularError, TabularModel};

/// A search for small changes of numeric cells that make a classifier wrong. Each number may move by at most `eps` standard deviations of
/// its training column, within the range of the table; whole numbers stay whole, missing cells stay missing, and categories, dates and
/// texts are not touched. Columns are tried one after the other, both ends of their range, and what helps is kept. For a linear model of
/// two classes this finds the worst change there is, if no number is whole; otherwise it is a lower bound on what an attack can do.
///
/// ```
/// # use tove::tabular::{Candidate, CellAttack, Plan};
/// let rows: String = (0..80).map(|i| format!("{},{}\n", i % 40, if i % 40 < 20 { "a" } else { "b" })).collect();
/// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(format!("x,kind\n{rows}").as_bytes())?;
/// let model = Plan::new("kind").folds(0).fit(&table, &[Candidate::named("LogisticRegression")?], &mut |_| {})?.model;
/// let small = CellAttack::new(0.1).run(&model, &table)?;
/// let large = CellAttack::new(1.0).run(&model, &table)?;
/// assert!(small.robust_accuracy() > large.robust_accuracy());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CellAttack {
    eps: f64,
    fixed: Vec<String>,
}

/// What an attack on cells found.
#[derive(Clone, Debug)]
pub struct AttackedTable {
    /// The rows with the changes that make the model wrong; rows without success as they were.
    pub table: Table,
    /// Whether each row was right before.
    pub right: Vec<bool>,
    /// Whether each row is wrong now: it was wrong before, or the attack succeeded.
    pub wrong: Vec<bool>,
    /// How many rows the model was asked for.
    pub queries: usize,
}

impl AttackedTable {
    /// The share of rows that stay right.
    pub fn robust_accuracy(&self) -> f64 {
        share(self.wrong.iter().map(|wrong| !wrong))
    }

    /// The share of rows that were right before.
    pub fn accuracy(&self) -> f64 {
        share(self.right.iter().copied())
    }
}

fn share(flags: impl ExactSizeIterator<Item = bool>) -> f64 {
    let n = flags.len().max(1) as f64;
    flags.filter(|flag| *flag).count() as f64 / n
}

/// A numeric column that may be changed.
pub(super) struct Dial {
    pub name: String,
    whole: bool,
    /// The standard deviation of the training rows.
    unit: f64,
    low: f64,
    high: f64,
}

impl Dial {
    /// Where a value may move to, downwards and upwards.
    fn ends(&self, value: f64, eps: f64) -> [f64; 2] {
        let reach = eps * self.unit;
        let (low, high) = ((value - reach).max(self.low.min(value)), (value + reach).min(self.high.max(value)));
        if self.whole { [low.ceil().min(value), high.floor().max(value)] } else { [low, high] }
    }
}

impl CellAttack {
    /// Changes of up to `eps` standard deviations.
    pub fn new(eps: f64) -> CellAttack {
        CellAttack { eps, fixed: Vec::new() }
    }

    /// A column that must not be changed.
    #[must_use]
    pub fn fixed(mut self, column: impl Into<String>) -> CellAttack {
        self.fixed.push(column.into());
        self
    }

    /// Attacks the rows of a table with the target.
    ///
    /// # Errors
    /// A model other than a classifier with probabilities or decision scores; no rows with a target; an eps that is negative or not
    /// finite.
    pub fn run(&self, model: &TabularModel, table: &Table) -> Result<AttackedTable> {
        if !(self.eps >= 0.0 && self.eps.is_finite()) {
            return Err(TabularError::plan(format!("eps is {}; give a finite number of at least 0", self.eps)));
        }
        let (table, _) = table.drop_missing(&[model.target()])?;
        if table.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {}", model.target())));
        }
        let truth: Vec<usize> =
            model.labels().encode(table.column(model.target())?)?.to_f64_vec().iter().map(|y| *y as usize).collect();
        let dials = if self.eps > 0.0 { model.dials(&table, &self.fixed)? } else { Vec::new() };
        self.search(model, table, &truth, &dials)
    }

    /// Attacks rows of these classes by moving these columns.
    pub(super) fn search(
        &self,
        model: &TabularModel,
        table: Table,
        truth: &[usize],
        dials: &[Dial],
    ) -> Result<AttackedTable> {
        let mut found = Search { model, truth, queries: 0 };
        let mut margins = found.margins(&table)?;
        let right: Vec<bool> = margins.iter().map(|margin| *margin > 0.0).collect();
        let original = table.clone();
        let mut current = table;
        for dial in dials {
            let column = original.column(&dial.name)?;
            for end in 0..2 {
                // Rows that are wrong already keep what they have.
                let rows: Vec<usize> = (0..margins.len()).filter(|&row| margins[row] > 0.0).collect();
                if rows.is_empty() {
                    break;
                }
                let moved = |row: &usize| column.number(*row).map(|value| dial.ends(value, self.eps)[end]);
                let part = current.take(&rows)?;
                let cells: Vec<Option<f64>> = rows.iter().map(moved).collect();
                let tried = part.with_column(dial.name.as_str(), dial.column(&cells))?;
                let after = Search { truth: &rows.iter().map(|&row| truth[row]).collect::<Vec<_>>(), ..found }
                    .margins(&tried)?;
                found.queries += rows.len();
                let mut numbers: Vec<Option<f64>> = numbers(current.column(&dial.name)?);
                for (place, &row) in rows.iter().enumerate() {
                    if after[place] < margins[row] {
                        (margins[row], numbers[row]) = (after[place], cells[place]);
                    }
                }
                current = current.with_column(dial.name.as_str(), dial.column(&numbers))?;
            }
        }
        let wrong: Vec<bool> = margins.iter().map(|margin| *margin <= 0.0).collect();
        // Changes that did not lead to an error are undone.
        for dial in dials {
            let (before, after) = (numbers(original.column(&dial.name)?), numbers(current.column(&dial.name)?));
            let kept: Vec<Option<f64>> =
                (0..wrong.len()).map(|row| if wrong[row] { after[row] } else { before[row] }).collect();
            current = current.with_column(dial.name.as_str(), dial.column(&kept))?;
        }
        Ok(AttackedTable { table: current, right, wrong, queries: found.queries })
    }
}

fn numbers(column: &Column) -> Vec<Option<f64>> {
    (0..column.len()).map(|row| column.number(row)).collect()
}

impl Dial {
    fn column(&self, numbers: &[Option<f64>]) -> Column {
        match self.whole {
            true => Column::Integer(numbers.iter().map(|number| number.map(|number| number as i64)).collect()),
            false => Column::Float(numbers.iter().copied().collect()),
        }
    }
}

#[derive(Clone, Copy)]
struct Search<'a> {
    model: &'a TabularModel,
    truth: &'a [usize],
    queries: usize,
}

impl Search<'_> {
    /// Score of the true class minus the largest other one; above 0 where the model is right, −∞ for a class that it does not know.
    fn margins(&self, table: &Table) -> Result<Vec<f64>> {
        let (rows, _) = self.model.rows(table)?;
        let inner = self.model.model();
        let scores = match inner.capabilities().decision_function {
            true => inner.decision_function(&rows)?,
            false => inner.predict_proba(&rows)?,
        };
        let (n, m) = (self.truth.len(), inner.classes().len());
        let values = scores.to_f64_vec();
        let one = values.len() == n;
        let predicted = inner.predict(&rows)?.to_dtype(DType::I64).to_vec::<i64>();
        let margin = |row: usize| {
            let truth = self.truth[row] as i64;
            let Some(place) = inner.classes().iter().position(|class| *class == truth) else {
                return f64::NEG_INFINITY;
            };
            let margin = if one {
                if place == 1 { values[row] } else { -values[row] }
            } else {
                let scores = &values[row * m..(row + 1) * m];
                let others = scores.iter().enumerate().filter(|(class, _)| *class != place);
                scores[place] - others.map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max)
            };
            // The prediction decides what is right; scores only guide the search.
            if predicted[row] == truth { margin.max(f64::MIN_POSITIVE) } else { margin.min(0.0) }
        };
        Ok((0..n).map(margin).collect())
    }
}

impl TabularModel {
    /// The numeric columns that an attack may change, with the unit of their changes: the standard deviation by which the encoder divides.
    pub(super) fn dials(&self, table: &Table, fixed: &[String]) -> Result<Vec<Dial>> {
        let mut dials = Vec::new();
        for field in self.schema.fields() {
            let numeric = matches!(field.kind, Kind::Float | Kind::Integer);
            if field.role != Role::Feature || !numeric || fixed.contains(&field.name) || !table.has(&field.name) {
                continue;
            }
            let values: Vec<f64> = numbers(table.column(&field.name)?).into_iter().flatten().collect();
            let Some(slope) = self.slopes(table, &field.name)? else { continue };
            let (low, high) = values
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
            let whole = matches!(table.column(&field.name)?, Column::Integer(_));
            dials.push(Dial { name: field.name.clone(), whole, unit: 1.0 / slope.1.abs(), low, high });
        }
        Ok(dials)
    }

    /// The encoded feature of a numeric column that is proportional to it, with the factor; none if it is not encoded like that.
    pub(crate) fn slopes(&self, table: &Table, column: &str) -> Result<Option<(usize, f64)>> {
        // A truth value is not proportional to anything.
        if !matches!(self.schema.field(column)?.kind, Kind::Float | Kind::Integer) {
            return Ok(None);
        }
        let row = table.head(1);
        let Some(start) = (0..table.n_rows()).find_map(|row| table.column(column).ok()?.number(row)) else {
            return Ok(None);
        };
        let whole = matches!(table.column(column)?, Column::Integer(_));
        let encoded = |value: f64| -> Result<Vec<f64>> {
            let cell = if whole { Column::integers(vec![value as i64]) } else { Column::floats(vec![value]) };
            let (rows, _) = self.rows(&row.with_column(column, cell)?)?;
            Ok(rows.to_dense()?.to_f64_vec())
        };
        let step = if whole { 1.0 } else { start.abs().max(1.0) };
        let (a, b, c) = (encoded(start)?, encoded(start + step)?, encoded(start + 2.0 * step)?);
        let changed: Vec<usize> = (0..a.len()).filter(|&place| a[place] != b[place] || b[place] != c[place]).collect();
        let [place] = changed[..] else { return Ok(None) };
        let (first, second) = (b[place] - a[place], c[place] - b[place]);
        let linear = (first - second).abs() <= 1e-6 * (first.abs() + second.abs()) && first != 0.0;
        Ok(linear.then_some((place, first / step)))
    }
}
