//! Intervals of numbers.

use std::fmt;

/// An interval; a closed end belongs to it. NaN lies in none.
///
/// ```
/// use tove_optim::settings::Range;
/// let range = Range { low: 0.0, high: 1.0, low_closed: true, high_closed: false };
/// assert!(range.contains(0.0) && !range.contains(1.0) && !range.contains(f64::NAN));
/// assert_eq!(range.to_string(), "[0, 1)");
/// assert_eq!(range.sentence(false), "give a number of at least 0 and less than 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the lower end belongs to the range.
    pub low_closed: bool,
    /// Whether the upper end belongs to the range.
    pub high_closed: bool,
}

impl Range {
    /// Whether the number lies in the range.
    #[inline]
    pub fn contains(&self, x: f64) -> bool {
        let above = if self.low_closed { x >= self.low } else { x > self.low };
        let below = if self.high_closed { x <= self.high } else { x < self.high };
        above && below
    }

    /// What to do, for messages: "give a number greater than 0 and at most 1".
    pub fn sentence(&self, whole: bool) -> String {
        let mut parts = Vec::new();
        let mut noun = if whole { "a whole number" } else { "a number" };
        if self.low.is_finite() {
            parts.push(format!("{} {}", if self.low_closed { "of at least" } else { "greater than" }, self.low));
        }
        if self.high.is_finite() {
            let and = if parts.is_empty() { "of " } else { "" };
            let bound = if self.high_closed { format!("{and}at most") } else { "less than".into() };
            parts.push(format!("{bound} {}", self.high));
        }
        let open_infinity =
            (self.high == f64::INFINITY && !self.high_closed) || (self.low == f64::NEG_INFINITY && !self.low_closed);
        if open_infinity && !whole {
            noun = "a finite number";
        }
        match parts.is_empty() {
            true => format!("give {noun}"),
            false => format!("give {noun} {}", parts.join(" and ")),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.low_closed { '[' } else { '(' };
        let close = if self.high_closed { ']' } else { ')' };
        write!(f, "{open}{}, {}{close}", self.low, self.high)
    }
}
