//! Where inputs may lie: bounds per feature, a ball around a row, one-hot blocks.

use crate::robustness::AttackNorm;
use crate::{Result, TrustError};

const WHAT: &str = "InputRegion";

/// The dual norm: max a·δ over ‖δ‖ ≤ 1.
pub(super) fn dual(norm: AttackNorm, values: impl Iterator<Item = f64>) -> f64 {
    norm.dual().of(&values.collect::<Vec<f64>>())
}

/// A set of inputs: a box, within it optionally a ball ‖(x − center)/budgets‖ ≤ 1, and one-hot blocks of which exactly one
/// column is 1. Budgets are per feature, in the units of the feature.
///
/// ```
/// use tove_trust::certificates::InputRegion;
/// use tove_trust::robustness::AttackNorm;
/// // An amount that may change by 10, a share in [0, 1] that may change by 0.2, a choice of three.
/// let region = InputRegion::around(&[100.0, 0.9, 1.0, 0.0, 0.0], &[10.0, 0.2, 0.0, 0.0, 0.0], AttackNorm::LInf)?
///     .within(&[0.0, 0.0, 0.0, 0.0, 0.0], &[1e6, 1.0, 1.0, 1.0, 1.0])?
///     .one_hot(&[2, 3, 4], &[0, 2])?;
/// assert_eq!((region.lower()[1], region.upper()[1]), (0.7, 1.0));
/// // The smallest value of x₀ + 3 [first] + 2 [third].
/// assert!((region.minimum(&[1.0, 0.0, 3.0, 0.0, 2.0]) - 92.0).abs() < 1e-9);
/// assert!(region.contains(&[95.0, 1.0, 0.0, 0.0, 1.0]) && !region.contains(&[95.0, 1.0, 0.0, 1.0, 0.0]));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InputRegion {
    lower: Vec<f64>,
    upper: Vec<f64>,
    ball: Option<Ball>,
    blocks: Vec<OneHotBlock>,
}

#[derive(Clone, Debug, PartialEq)]
struct Ball {
    center: Vec<f64>,
    budgets: Vec<f64>,
    norm: AttackNorm,
}

/// Columns of which exactly one is 1 and the others are 0, and which of them may be the 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneHotBlock {
    /// The columns.
    pub columns: Vec<usize>,
    /// Places in `columns` that may be 1.
    pub allowed: Vec<usize>,
}

impl InputRegion {
    /// All inputs between two rows.
    ///
    /// # Errors
    /// No features, different lengths, numbers that are not finite, a lower bound above the upper one.
    pub fn between(lower: &[f64], upper: &[f64]) -> Result<InputRegion> {
        if lower.is_empty() || lower.len() != upper.len() {
            let problem = format!("{} lower and {} upper bounds", lower.len(), upper.len());
            return Err(TrustError::data(WHAT, problem, "give both for each feature"));
        }
        let bad = |(low, high): (&f64, &f64)| !(low.is_finite() && high.is_finite() && low <= high);
        if let Some(feature) = lower.iter().zip(upper).position(bad) {
            let problem = format!("feature {feature} from {} to {}", lower[feature], upper[feature]);
            return Err(TrustError::data(WHAT, problem, "give finite bounds, the lower one first"));
        }
        Ok(InputRegion { lower: lower.to_vec(), upper: upper.to_vec(), ball: None, blocks: Vec::new() })
    }

    /// All inputs x with ‖(x − row)/budgets‖ ≤ 1; a budget of 0 fixes its feature.
    ///
    /// # Errors
    /// As [`InputRegion::between`]; a negative budget.
    pub fn around(row: &[f64], budgets: &[f64], norm: AttackNorm) -> Result<InputRegion> {
        if row.len() != budgets.len() {
            let problem = format!("{} features and {} budgets", row.len(), budgets.len());
            return Err(TrustError::data(WHAT, problem, "give a budget for each feature"));
        }
        if let Some(feature) = budgets.iter().position(|budget| !(*budget >= 0.0 && budget.is_finite())) {
            let problem = format!("the budget of feature {feature} is {}", budgets[feature]);
            return Err(TrustError::data(WHAT, problem, "give a finite number, 0 for a feature that stays"));
        }
        let moved = |sign: f64| row.iter().zip(budgets).map(|(x, b)| x + sign * b).collect::<Vec<f64>>();
        let region = InputRegion::between(&moved(-1.0), &moved(1.0))?;
        let ball = (norm != AttackNorm::LInf).then(|| Ball { center: row.to_vec(), budgets: budgets.to_vec(), norm });
        Ok(InputRegion { ball, ..region })
    }

    /// The part of it within the range of the data.
    ///
    /// # Errors
    /// As [`InputRegion::between`], except that the range may be infinite; nothing is left.
    pub fn within(mut self, least: &[f64], most: &[f64]) -> Result<InputRegion> {
        if least.len() != self.width() || most.len() != self.width() {
            let problem = format!("a range of {} and {} bounds for {} features", least.len(), most.len(), self.width());
            return Err(TrustError::data(WHAT, problem, "give both for each feature"));
        }
        for feature in 0..self.width() {
            self.lower[feature] = self.lower[feature].max(least[feature]);
            self.upper[feature] = self.upper[feature].min(most[feature]);
            let empty = self.lower[feature] > self.upper[feature] || least[feature].is_nan() || most[feature].is_nan();
            if empty {
                let problem = format!("nothing of feature {feature} lies within the range of the data");
                return Err(TrustError::data(WHAT, problem, "check the row and the range"));
            }
        }
        Ok(self)
    }

    /// The part of it where these features are whole numbers, as bounds: the smallest and the largest whole number.
    ///
    /// # Errors
    /// If a feature does not exist, or no whole number lies between its bounds.
    pub fn integers(mut self, features: &[usize]) -> Result<InputRegion> {
        for &feature in features {
            self.check_feature(feature)?;
            let (low, high) = (self.lower[feature].ceil(), self.upper[feature].floor());
            if low > high {
                let problem = format!("no whole number between the bounds of feature {feature}");
                return Err(TrustError::data(WHAT, problem, "check the row, or leave the feature continuous"));
            }
            (self.lower[feature], self.upper[feature]) = (low, high);
        }
        Ok(self)
    }

    /// A finite choice: exactly one of these columns is 1, one of the places `allowed` among them, the others are 0.
    ///
    /// # Errors
    /// If a column does not exist or is in another block, nothing is allowed, or the region is an l1 or l2 ball.
    pub fn one_hot(mut self, columns: &[usize], allowed: &[usize]) -> Result<InputRegion> {
        columns.iter().try_for_each(|&column| self.check_feature(column))?;
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        let twice = sorted.windows(2).any(|two| two[0] == two[1])
            || self.blocks.iter().any(|block| block.columns.iter().any(|column| columns.contains(column)));
        if twice || allowed.is_empty() || allowed.iter().any(|&place| place >= columns.len()) {
            let problem = format!("a block of columns {columns:?} with the choices {allowed:?}");
            return Err(TrustError::data(
                WHAT,
                problem,
                "give columns of their own, and at least one place among them",
            ));
        }
        if self.ball.is_some() {
            let fix = "use the norm LInf, and one region per choice otherwise";
            return Err(TrustError::unsupported(WHAT, "one-hot blocks do not fit an l1 or l2 ball", fix));
        }
        for (place, &column) in columns.iter().enumerate() {
            self.lower[column] = if allowed == [place] { 1.0 } else { 0.0 };
            self.upper[column] = if allowed.contains(&place) { 1.0 } else { 0.0 };
        }
        self.blocks.push(OneHotBlock { columns: columns.to_vec(), allowed: allowed.to_vec() });
        Ok(self)
    }

    fn check_feature(&self, feature: usize) -> Result<()> {
        if feature < self.width() {
            return Ok(());
        }
        Err(TrustError::argument(WHAT, format!("feature {feature} of {}; count from 0", self.width())))
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.lower.len()
    }

    /// Lower bounds of the features.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Upper bounds of the features.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The one-hot blocks.
    pub fn blocks(&self) -> &[OneHotBlock] {
        &self.blocks
    }

    /// The largest |x| of a feature.
    pub(super) fn size(&self, feature: usize) -> f64 {
        self.lower[feature].abs().max(self.upper[feature].abs())
    }

    /// A lower bound of a·x over the region, exact up to rounding for a box with blocks and for a ball within the range, and
    /// rounded down.
    pub fn minimum(&self, a: &[f64]) -> f64 {
        let mut in_box = 0.0;
        let mut size = 0.0;
        let mut in_block = vec![false; if self.blocks.is_empty() { 0 } else { self.width() }];
        for block in &self.blocks {
            let least = block.allowed.iter().fold(f64::INFINITY, |least, &place| least.min(a[block.columns[place]]));
            block.columns.iter().for_each(|&column| in_block[column] = true);
            in_box += least;
            size += least.abs();
        }
        for (feature, &a) in a.iter().enumerate() {
            if a != 0.0 && !in_block.get(feature).copied().unwrap_or(false) {
                in_box += (a * self.lower[feature]).min(a * self.upper[feature]);
                size += a.abs() * self.size(feature);
            }
        }
        let slack = gamma(self.width(), f64::EPSILON);
        let in_box = in_box - slack * size;
        let Some(ball) = &self.ball else { return in_box };
        let center: f64 = a.iter().zip(&ball.center).map(|(a, x)| a * x).sum();
        let reach = dual(ball.norm, a.iter().zip(&ball.budgets).map(|(a, b)| a * b));
        in_box.max(center - reach - slack * (size + reach))
    }

    /// The point of the box (not of the ball) where a·x is smallest; where a is 0, the middle.
    pub(super) fn minimizer(&self, a: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = (0..self.width())
            .map(|i| match a[i] {
                a if a > 0.0 => self.lower[i],
                a if a < 0.0 => self.upper[i],
                _ => 0.5 * (self.lower[i] + self.upper[i]),
            })
            .collect();
        self.project(&mut x, Some(a));
        x
    }

    /// Moves a point into the region: to the bounds, each block to its best choice (by the smallest slope, or the largest
    /// value), into the ball along the way to its center.
    pub(super) fn project(&self, x: &mut [f64], slopes: Option<&[f64]>) {
        x.iter_mut().enumerate().for_each(|(i, x)| *x = x.clamp(self.lower[i], self.upper[i]));
        for block in &self.blocks {
            let cost = |place: &usize| slopes.map_or(-x[block.columns[*place]], |slopes| slopes[block.columns[*place]]);
            let best = block.allowed.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)));
            block
                .columns
                .iter()
                .enumerate()
                .for_each(|(place, &column)| x[column] = f64::from(u8::from(Some(place) == best)));
        }
        if let Some(ball) = &self.ball {
            let reach = ball.distance(x);
            if reach > 1.0 {
                let shrink = (1.0 - 1e-12) / reach;
                let clamped = |i: usize, value: f64| value.clamp(self.lower[i], self.upper[i]);
                x.iter_mut().enumerate().for_each(|(i, x)| {
                    *x = clamped(i, ball.center[i] + (*x - ball.center[i]) * shrink);
                });
            }
        }
    }

    /// Whether a point lies in the region, up to rounding of the ball.
    pub fn contains(&self, x: &[f64]) -> bool {
        let inside = |(i, x): (usize, &f64)| self.lower[i] <= *x && *x <= self.upper[i];
        let chosen = |block: &OneHotBlock| {
            let one = |place: &usize| x[block.columns[*place]] == 1.0;
            let zeros = block.columns.iter().filter(|column| x[**column] == 0.0).count();
            block.allowed.iter().any(one) && zeros == block.columns.len() - 1
        };
        x.len() == self.width()
            && x.iter().enumerate().all(inside)
            && self.blocks.iter().all(chosen)
            && self.ball.as_ref().is_none_or(|ball| ball.distance(x) <= 1.0 + 1e-9)
    }
}

impl Ball {
    /// ‖(x − center)/budgets‖, infinite where a feature without budget moves.
    fn distance(&self, x: &[f64]) -> f64 {
        let part = |((x, c), b): ((&f64, &f64), &f64)| if x == c { 0.0 } else { (x - c) / b };
        let parts = x.iter().zip(&self.center).zip(&self.budgets).map(part);
        match self.norm {
            AttackNorm::L1 => parts.map(f64::abs).sum(),
            AttackNorm::L2 => dual(AttackNorm::L2, parts),
            AttackNorm::LInf => parts.fold(0.0, |most, part| most.max(part.abs())),
        }
    }
}

/// A bound of the relative error of a sum of `terms` products, with room for a few further steps: (terms + 8) ε.
pub(super) fn gamma(terms: usize, epsilon: f64) -> f64 {
    (terms + 8) as f64 * epsilon
}
