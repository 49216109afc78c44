//! Which changes of a row are allowed, and what they cost.

use crate::{Result, TrustError};

pub(super) const WHAT: &str = "ChangeSpace";

/// How a feature may change.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRule {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) cost: f64,
    pub(super) integer: bool,
    pub(super) fixed: bool,
}

impl ChangeRule {
    /// A number from `low` to `high`; a change over the whole range costs 1.
    pub fn number(low: f64, high: f64) -> ChangeRule {
        let cost = if high > low { 1.0 / (high - low) } else { 1.0 };
        ChangeRule { low, high, cost, integer: false, fixed: false }
    }

    /// A whole number from `low` to `high`.
    pub fn integer(low: f64, high: f64) -> ChangeRule {
        ChangeRule { integer: true, ..ChangeRule::number(low.ceil(), high.floor()) }
    }

    /// A feature that stays as it is.
    pub fn fixed() -> ChangeRule {
        ChangeRule { fixed: true, ..ChangeRule::number(f64::NEG_INFINITY, f64::INFINITY) }
    }

    /// The same with another cost of a change by 1.
    #[must_use]
    pub fn cost(self, cost: f64) -> ChangeRule {
        ChangeRule { cost, ..self }
    }

    /// The same feature, which cannot fall below what it is.
    #[must_use]
    pub fn only_up(self, value: f64) -> ChangeRule {
        ChangeRule { low: self.low.max(value), ..self }
    }

    /// The same feature, which cannot rise above what it is.
    #[must_use]
    pub fn only_down(self, value: f64) -> ChangeRule {
        ChangeRule { high: self.high.min(value), ..self }
    }
}

/// The features of a row with their rules, and its one-hot blocks.
///
/// ```
/// use tove_trust::explanations::{ChangeRule, ChangeSpace};
/// // Income may change, age may not, the plan is one of three.
/// let rules = vec![ChangeRule::number(0.0, 100.0), ChangeRule::fixed()];
/// let space = ChangeSpace::new(rules)?.categories(3, 0.5)?;
/// assert_eq!(space.width(), 5);
/// let found = space.search(
///     &[20.0, 44.0, 1.0, 0.0, 0.0],
///     |rows| Ok(rows.iter().map(|row| if row[0] + 40.0 * row[4] >= 50.0 { 0.9 } else { 0.1 }).collect()),
///     &Default::default(),
/// )?.expect("there is one");
/// // 30 more income (cost 0.3) is cheaper than another plan (cost 0.5).
/// assert_eq!((found.changes.len(), found.changes[0].feature), (1, 0));
/// assert!((found.cost - 0.3).abs() < 1e-3);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeSpace {
    pub(super) rules: Vec<ChangeRule>,
    pub(super) blocks: Vec<Block>,
    pub(super) width: usize,
}

/// A one-hot block: its first column, its number of columns, and the cost of another choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Block {
    pub start: usize,
    pub len: usize,
    pub cost: f64,
    pub fixed: bool,
}

impl ChangeSpace {
    /// A rule per feature; one-hot blocks follow behind them.
    ///
    /// # Errors
    /// Ranges that are empty or not finite, costs that are not positive.
    pub fn new(rules: Vec<ChangeRule>) -> Result<ChangeSpace> {
        for (feature, rule) in rules.iter().enumerate() {
            let finite = rule.low.is_finite() && rule.high.is_finite() && rule.low <= rule.high;
            let costs = rule.cost > 0.0 && rule.cost.is_finite();
            let usable = finite && costs;
            if !(rule.fixed || usable) {
                let problem =
                    format!("feature {feature} from {} to {} at a cost of {}", rule.low, rule.high, rule.cost);
                return Err(TrustError::data(
                    WHAT,
                    problem,
                    "give a finite range that holds the row, and a positive cost",
                ));
            }
        }
        let width = rules.len();
        Ok(ChangeSpace { rules, blocks: Vec::new(), width })
    }

    /// The same space with a one-hot block of so many columns behind it, whose change costs `cost`.
    ///
    /// # Errors
    /// A block without columns, a cost that is not positive.
    pub fn categories(mut self, columns: usize, cost: f64) -> Result<ChangeSpace> {
        if columns == 0 || !(cost > 0.0 && cost.is_finite()) {
            let problem = format!("a block of {columns} columns at a cost of {cost}; give both as positive numbers");
            return Err(TrustError::argument(WHAT, problem));
        }
        self.blocks.push(Block { start: self.width, len: columns, cost, fixed: false });
        self.width += columns;
        Ok(self)
    }

    /// The same space with a one-hot block that stays as it is behind it.
    ///
    /// # Errors
    /// A block without columns.
    pub fn fixed_categories(self, columns: usize) -> Result<ChangeSpace> {
        let mut space = self.categories(columns, 1.0)?;
        space.blocks.iter_mut().rev().take(1).for_each(|block| block.fixed = true);
        Ok(space)
    }

    /// Number of features, with those of the blocks.
    pub fn width(&self) -> usize {
        self.width
    }

    /// That a row lies in the space.
    pub(super) fn check(&self, row: &[f64]) -> Result<()> {
        if row.len() != self.width || self.width == 0 || row.iter().any(|x| !x.is_finite()) {
            let problem = format!("a row of {} numbers for {} features, which must be finite", row.len(), self.width);
            return Err(TrustError::data(WHAT, problem, "give a number per feature"));
        }
        for (feature, (rule, x)) in self.rules.iter().zip(row).enumerate() {
            if !rule.fixed && !(rule.low <= *x && *x <= rule.high && (!rule.integer || x.fract() == 0.0)) {
                let problem = format!("feature {feature} is {x}, which its rule does not allow");
                return Err(TrustError::data(WHAT, problem, "widen the range, or leave the feature fixed"));
            }
        }
        let one = |block: &Block| {
            let marks = &row[block.start..block.start + block.len];
            marks.iter().filter(|x| **x == 1.0).count() == 1 && marks.iter().all(|x| *x == 0.0 || *x == 1.0)
        };
        match self.blocks.iter().find(|block| !block.fixed && !one(block)) {
            None => Ok(()),
            Some(block) => {
                let problem = format!("the block from column {} does not have exactly one 1", block.start);
                Err(TrustError::data(WHAT, problem, "give a one-hot row, or leave the block fixed"))
            }
        }
    }

    /// The cost of a change.
    pub(super) fn cost(&self, from: &[f64], to: &[f64]) -> f64 {
        let numbers = self.rules.iter().zip(from.iter().zip(to));
        let numbers: f64 = numbers.filter(|(_, (a, b))| a != b).map(|(rule, (a, b))| rule.cost * (a - b).abs()).sum();
        let changed = |block: &&Block| from[block.start..][..block.len] != to[block.start..][..block.len];
        numbers + self.blocks.iter().filter(changed).map(|block| block.cost).sum::<f64>()
    }

    /// The value of a number that its rule allows next to this one.
    pub(super) fn allowed(&self, feature: usize, value: f64) -> f64 {
        let rule = &self.rules[feature];
        let value = value.clamp(rule.low, rule.high);
        if rule.integer { value.round().clamp(rule.low, rule.high) } else { value }
    }
}
