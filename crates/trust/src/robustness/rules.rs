//! What inputs are allowed: the range of the data, and the types of the columns of a table.

use std::ops::Range;

use super::AttackNorm;
use super::rows::Batch;
use crate::{Result, TrustError};

/// What an attack may do to a column of a table, or to a block of columns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnRule {
    /// Any number of a range. The norm measures changes divided by `scale`, such as the standard deviation of the column.
    Real {
        /// Smallest value; −∞ for none.
        low: f64,
        /// Largest value; +∞ for none.
        high: f64,
        /// Unit of changes.
        scale: f64,
    },
    /// Whole numbers of a range; changes are measured as above.
    Integer {
        /// Smallest value; −∞ for none.
        low: f64,
        /// Largest value; +∞ for none.
        high: f64,
        /// Unit of changes.
        scale: f64,
    },
    /// The column keeps its values.
    Fixed,
    /// So many columns that are 0 but for a 1 in the column of the category. Another category counts as a change of `cost` in
    /// the norm.
    Category {
        /// Number of categories.
        width: usize,
        /// What a change counts.
        cost: f64,
    },
}

impl ColumnRule {
    /// Any number from `low` to `high`; changes count as they are.
    pub fn real(low: f64, high: f64) -> ColumnRule {
        ColumnRule::Real { low, high, scale: 1.0 }
    }

    /// Whole numbers from `low` to `high`; changes count as they are.
    pub fn integer(low: f64, high: f64) -> ColumnRule {
        ColumnRule::Integer { low, high, scale: 1.0 }
    }

    /// A category in `width` columns; a change counts 1.
    pub fn category(width: usize) -> ColumnRule {
        ColumnRule::Category { width, cost: 1.0 }
    }

    /// Rules for the columns of a table as far as its rows tell: the range and the standard deviation as the unit of changes;
    /// whole numbers where all are whole, and fixed where all are equal. One-hot blocks and columns that must not change are for
    /// the caller to declare.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::robustness::ColumnRule;
    /// let rules = ColumnRule::observed(&Tensor::from([[18.0, 0.5, 1.0], [22.0, 0.1, 1.0]]))?;
    /// assert_eq!(rules[0], ColumnRule::integer(18.0, 22.0).scaled(2.0));
    /// assert_eq!(rules[2], ColumnRule::Fixed);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// No rows, or numbers that are not finite.
    pub fn observed(x: &tove_tensor::Tensor) -> Result<Vec<ColumnRule>> {
        let batch = Batch::read("ColumnRule::observed", x)?;
        let rule = |column: usize| {
            let values = || batch.rows().map(|row| row[column]);
            let (low, high) =
                values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (v.min(low), v.max(high)));
            let n = batch.len() as f64;
            let mean = values().map(|v| v / n).sum::<f64>();
            let scale = values().map(|v| (v - mean) * (v - mean) / n).sum::<f64>().sqrt();
            match scale > 0.0 && scale.is_finite() {
                true if values().all(|v| v.fract() == 0.0) => ColumnRule::Integer { low, high, scale },
                true => ColumnRule::Real { low, high, scale },
                false => ColumnRule::Fixed,
            }
        };
        Ok((0..batch.width()).map(rule).collect())
    }

    /// The same rule with another unit of changes (the cost of a category).
    #[must_use]
    pub fn scaled(self, by: f64) -> ColumnRule {
        match self {
            ColumnRule::Real { low, high, .. } => ColumnRule::Real { low, high, scale: by },
            ColumnRule::Integer { low, high, .. } => ColumnRule::Integer { low, high, scale: by },
            ColumnRule::Fixed => ColumnRule::Fixed,
            ColumnRule::Category { width, .. } => ColumnRule::Category { width, cost: by },
        }
    }

    fn width(&self) -> usize {
        if let ColumnRule::Category { width, .. } = self { *width } else { 1 }
    }
}

/// The inputs that an attack may give.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::{AttackNorm, ColumnRule, InputRules};
/// let images = InputRules::range(0.0, 1.0);
/// let table = InputRules::columns(vec![
///     ColumnRule::integer(18.0, 99.0).scaled(10.0), // age, in units of ten years
///     ColumnRule::Fixed,                            // sex
///     ColumnRule::category(3),                      // one of three, in three columns
/// ]);
/// let (x, other) = (Tensor::from([[30.0, 1.0, 0.0, 1.0, 0.0]]), Tensor::from([[35.0, 1.0, 1.0, 0.0, 0.0]]));
/// assert_eq!(table.distances(AttackNorm::L1, &x, &other)?, [1.5]);
/// assert!(images.distances(AttackNorm::L1, &x, &other).is_err()); // outside of the range
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InputRules(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Range(f64, f64),
    Columns(Vec<ColumnRule>),
}

impl Default for InputRules {
    fn default() -> InputRules {
        InputRules::unbounded()
    }
}

impl InputRules {
    /// Any numbers.
    pub fn unbounded() -> InputRules {
        InputRules::range(f64::NEG_INFINITY, f64::INFINITY)
    }

    /// All features range from `low` to `high`, as the pixels of an image do.
    pub fn range(low: f64, high: f64) -> InputRules {
        InputRules(Kind::Range(low, high))
    }

    /// A rule per column of a table, in order. A category takes as many columns as it is wide.
    pub fn columns(columns: Vec<ColumnRule>) -> InputRules {
        InputRules(Kind::Columns(columns))
    }

    /// The size of the change from each row of `x` to the same row of `other`, with units and costs of the columns.
    ///
    /// # Errors
    /// Inputs outside of their ranges, of another width, or not of the types of the columns.
    pub fn distances(
        &self,
        norm: AttackNorm,
        x: &tove_tensor::Tensor,
        other: &tove_tensor::Tensor,
    ) -> Result<Vec<f64>> {
        const WHAT: &str = "InputRules::distances";
        let (x, other) = (Batch::read(WHAT, x)?, Batch::read(WHAT, other)?);
        let space = self.space(WHAT, &x)?;
        space.admit(WHAT, &x)?;
        if (x.len(), x.width()) != (other.len(), other.width()) {
            return Err(TrustError::data(
                WHAT,
                "the two batches have different shapes",
                "give two versions of one batch",
            ));
        }
        space.admit(WHAT, &other)?;
        Ok(x.rows().zip(other.rows()).map(|(x, other)| space.distance(norm, x, other)).collect())
    }

    /// The rules of each column of a batch, checked.
    pub(super) fn space(&self, what: &'static str, batch: &Batch) -> Result<Space> {
        let d = batch.width();
        let mut space = Space::unbounded(d, batch.single());
        match &self.0 {
            Kind::Range(low, high) => (0..d).try_for_each(|column| space.set(what, column, (*low, *high), 1.0))?,
            Kind::Columns(rules) => {
                let width = rules.iter().map(ColumnRule::width).fold(0, usize::saturating_add);
                if width != d {
                    let problem = format!("the rules are for {width} columns, and the input has {d}");
                    return Err(TrustError::data(
                        what,
                        problem,
                        "give a rule per column; a category counts its columns",
                    ));
                }
                let mut column = 0;
                for rule in rules {
                    space.apply(what, column, rule)?;
                    column += rule.width();
                }
            }
        }
        Ok(space)
    }
}

/// A category: its columns, and what a change counts.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) columns: Range<usize>,
    pub(super) cost: f64,
}

/// The rules column by column.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) integer: Vec<bool>,
    /// Columns whose numbers may move.
    pub(super) free: Vec<bool>,
    pub(super) blocks: Vec<Block>,
    /// Whether numbers are stored in single precision.
    pub(super) single: bool,
}

impl Space {
    fn unbounded(d: usize, single: bool) -> Space {
        Space {
            low: vec![f64::NEG_INFINITY; d],
            high: vec![f64::INFINITY; d],
            scale: vec![1.0; d],
            integer: vec![false; d],
            free: vec![true; d],
            blocks: Vec::new(),
            single,
        }
    }

    fn set(&mut self, what: &'static str, column: usize, (low, high): (f64, f64), scale: f64) -> Result<()> {
        if low.is_nan() || high.is_nan() || low > high {
            let problem = format!("the range of column {column} is [{low}, {high}]; give a lower and an upper bound");
            return Err(TrustError::argument(what, problem));
        }
        positive(what, column, "scale", scale)?;
        // Bounds in the precision of the inputs: 0.1 is one number there.
        let stored = |bound: f64| if self.single { f64::from(bound as f32) } else { bound };
        let (low, high) = (stored(low), stored(high));
        (self.low[column], self.high[column], self.scale[column]) = (low, high, scale);
        Ok(())
    }

    fn apply(&mut self, what: &'static str, column: usize, rule: &ColumnRule) -> Result<()> {
        match *rule {
            ColumnRule::Real { low, high, scale } => self.set(what, column, (low, high), scale),
            ColumnRule::Integer { low, high, scale } => {
                self.integer[column] = true;
                self.set(what, column, (low, high), scale)
            }
            ColumnRule::Fixed => {
                self.free[column] = false;
                Ok(())
            }
            ColumnRule::Category { width, cost } => {
                if width == 0 {
                    let problem = format!("the category at column {column} has no columns; give at least one");
                    return Err(TrustError::argument(what, problem));
                }
                positive(what, column, "cost", cost)?;
                let columns = column..column + width;
                self.free[columns.clone()].fill(false);
                self.blocks.push(Block { columns, cost });
                Ok(())
            }
        }
    }

    /// Checks that rows follow the rules: attacks start from valid inputs.
    pub(super) fn admit(&self, what: &'static str, batch: &Batch) -> Result<()> {
        for (row, values) in batch.rows().enumerate() {
            for (column, &value) in values.iter().enumerate().filter(|&(column, _)| self.free[column]) {
                if value < self.low[column] || value > self.high[column] {
                    let range = format!("[{}, {}]", self.low[column], self.high[column]);
                    let problem = format!("column {column} of row {row} is {value}, outside of its range {range}");
                    return Err(TrustError::data(what, problem, "correct the range or the data"));
                }
                if self.integer[column] && value.fract() != 0.0 {
                    let problem = format!("column {column} of row {row} is {value}, not a whole number");
                    return Err(TrustError::data(what, problem, "declare the column as `ColumnRule::Real`"));
                }
            }
            for block in &self.blocks {
                let values = &values[block.columns.clone()];
                if values.iter().filter(|&&v| v == 1.0).count() != 1 || values.iter().any(|&v| v != 0.0 && v != 1.0) {
                    let (first, end) = (block.columns.start, block.columns.end);
                    let problem = format!("columns {first} to {} of row {row} are not a single 1 among zeros", end - 1);
                    return Err(TrustError::data(
                        what,
                        problem,
                        "encode the category one-hot, or use `ColumnRule::Fixed`",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The size of a change, in the units and costs of the columns.
    pub(super) fn distance(&self, norm: AttackNorm, x: &[f64], other: &[f64]) -> f64 {
        let change = |i: usize| if self.free[i] { (other[i] - x[i]) / self.scale[i] } else { 0.0 };
        let changed = |block: &&Block| x[block.columns.clone()] != other[block.columns.clone()];
        let costs = self.blocks.iter().filter(changed).map(|block| block.cost);
        norm.of(&(0..x.len()).map(change).chain(costs).collect::<Vec<f64>>())
    }

    /// The largest distance between two allowed inputs; infinite without ranges.
    fn diameter(&self, norm: AttackNorm) -> f64 {
        let width = |i: usize| if self.free[i] { (self.high[i] - self.low[i]) / self.scale[i] } else { 0.0 };
        let costs = self.blocks.iter().filter(|block| block.columns.len() > 1).map(|block| block.cost);
        let widths: Vec<f64> = (0..self.low.len()).map(width).chain(costs).collect();
        if widths.contains(&f64::INFINITY) { f64::INFINITY } else { norm.of(&widths) }
    }

    /// Checks a budget: positive, finite, and within what the ranges allow at all.
    pub(super) fn budget(&self, what: &'static str, norm: AttackNorm, eps: f64) -> Result<()> {
        if !(eps > 0.0 && eps.is_finite()) {
            let problem = format!("the budget `eps` is {eps}; give a positive number, in units of the inputs");
            return Err(TrustError::argument(what, problem));
        }
        let diameter = self.diameter(norm);
        if diameter == 0.0 {
            return Err(TrustError::argument(
                what,
                "the rules keep every column fixed; allow a change of at least one",
            ));
        }
        if eps > diameter * (1.0 + 1e-6) {
            let name = norm.name();
            let problem = format!(
                "the budget {eps} is beyond the data range: no two allowed inputs are farther apart than {diameter} in \
                 the {name} norm; give `eps` in the units of the inputs"
            );
            return Err(TrustError::argument(what, problem));
        }
        Ok(())
    }
}

fn positive(what: &'static str, column: usize, name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let problem =
        format!("the {name} of column {column} is {value}; give a positive number, or use `ColumnRule::Fixed`");
    Err(TrustError::argument(what, problem))
}
