//! The time that a plan may take.

use std::time::{Duration, Instant};

/// The time left of a budget.
#[derive(Clone, Copy, Debug)]
pub(in crate::tabular) struct Clock {
    end: Option<Instant>,
}

impl Clock {
    /// A budget that begins now; none never ends.
    pub fn new(budget: Option<Duration>) -> Clock {
        Clock { end: budget.and_then(|budget| Instant::now().checked_add(budget)) }
    }

    /// Whether there is a budget.
    pub fn is_limited(self) -> bool {
        self.end.is_some()
    }

    /// Seconds left, 0 when it is over; infinite without a budget.
    pub fn left(self) -> f64 {
        self.end.map_or(f64::INFINITY, |end| end.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// The moment in so many seconds; none without a budget.
    pub fn within(self, seconds: f64) -> Option<Instant> {
        let wait = Duration::try_from_secs_f64(seconds.max(0.0)).ok()?;
        self.end.and_then(|_| Instant::now().checked_add(wait))
    }
}

/// Seconds that fits to so many rows took, and what that says of other numbers of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    seen: Vec<(usize, f64)>,
}

impl Pace {
    /// How the cost grows until it has been seen: a little faster than the rows.
    const USUAL: f64 = 1.1;

    /// Takes a fit into account; a later one to as many rows replaces the earlier one.
    pub fn note(&mut self, rows: usize, seconds: f64) {
        self.seen.retain(|(known, _)| *known != rows);
        self.seen.push((rows, seconds));
        self.seen.sort_by_key(|(rows, _)| *rows);
    }

    /// The exponent of the rows in the cost, from the two largest fits.
    fn exponent(&self) -> f64 {
        let [.., (few, short), (many, long)] = self.seen[..] else { return Pace::USUAL };
        if short < 1e-3 {
            return Pace::USUAL;
        }
        ((long / short).ln() / (many as f64 / few as f64).ln()).clamp(1.0, 2.5)
    }

    /// Seconds that a fit to so many rows may take; 0 if nothing is known.
    pub fn seconds(&self, rows: usize) -> f64 {
        let Some((known, seconds)) = self.seen.last() else { return 0.0 };
        seconds * (rows as f64 / (*known).max(1) as f64).powf(self.exponent())
    }

    /// Rows that can be fitted in so many seconds.
    pub fn rows(&self, seconds: f64) -> usize {
        match self.seen.last() {
            Some((known, took)) if *took > 0.0 => {
                (*known as f64 * (seconds.max(0.0) / took).powf(1.0 / self.exponent())) as usize
            }
            _ => usize::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_foreseen_from_the_two_largest_fits() {
        let mut pace = Pace::default();
        assert_eq!(pace.seconds(1000), 0.0);
        pace.note(1000, 0.1);
        pace.note(2000, 0.4);
        assert!((pace.seconds(4000) - 1.6).abs() < 1e-9);
        assert_eq!(pace.rows(1.6), 4000);
        pace.note(2000, 0.1); // no dearer than half as many: taken for linear
        assert!((pace.seconds(4000) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn without_a_budget_time_never_ends() {
        let clock = Clock::new(None);
        assert!(!clock.is_limited() && clock.left() == f64::INFINITY && clock.within(1.0).is_none());
        let over = Clock::new(Some(Duration::ZERO));
        assert!(over.is_limited() && over.left() == 0.0);
    }
}
