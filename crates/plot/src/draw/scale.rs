//! From data to the unit interval, and where the ticks stand.
//!
//! A linear scale maps v to (v − low) / (high − low), a logarithmic one does the same with log₁₀ v. Ticks are multiples
//! of 1, 2 or 5 times a power of ten, at most as many as asked for.

use super::number::{fixed, short_number, superscript};

/// Largest magnitude that is drawn: beyond it differences of values overflow.
const LARGEST: f64 = 1e250;

/// Whether a value has a place on an axis.
pub(crate) fn drawable(value: f64, log: bool) -> bool {
    if log { value > 1.0 / LARGEST && value < LARGEST } else { value.abs() < LARGEST }
}

/// An axis' mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    whole: bool,
}

/// Marks of an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    /// Values and their labels.
    pub marks: Vec<(f64, String)>,
    /// A power of ten that all labels leave out.
    pub exponent: Option<i32>,
}

impl Scale {
    /// Exactly from `low` to `high` (in the data's units); a range without extent is widened.
    pub fn exact(low: f64, high: f64, log: bool) -> Scale {
        let (mut low, mut high) = if log { (low.log10(), high.log10()) } else { (low, high) };
        if low > high {
            (low, high) = (high, low);
        }
        let size = low.abs().max(high.abs());
        if high - low <= 1e-9 * size || high - low < 1.0 / LARGEST {
            let extent = if log {
                0.5
            } else if size < 1.0 / LARGEST {
                1.0
            } else {
                0.1 * size
            };
            (low, high) = (low - extent, high + extent);
        }
        Scale { low, high, log, whole: false }
    }

    /// Over all drawable values, with some room at both ends. None if there are none.
    pub fn over(values: impl Iterator<Item = f64>, log: bool) -> Option<Scale> {
        let (low, high) = range(values.filter(|&v| drawable(v, log)))?;
        let mut scale = Scale::exact(low, high, log);
        let room = 0.04 * (scale.high - scale.low);
        (scale.low, scale.high) = (scale.low - room, scale.high + room);
        Some(scale)
    }

    /// Ticks on whole numbers only, for counts and epochs.
    pub fn whole(self, whole: bool) -> Scale {
        Scale { whole, ..self }
    }

    /// The same scale with another beginning or end, in the data's units.
    pub fn starting_at(self, low: f64) -> Scale {
        Scale { low, ..self }
    }

    /// The ends in the data's units.
    pub fn ends(&self) -> (f64, f64) {
        if self.log { (10f64.powf(self.low), 10f64.powf(self.high)) } else { (self.low, self.high) }
    }

    /// The place of a value: 0 at the low end, 1 at the high end.
    pub fn fraction(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// At most `most` ticks (two at least are tried for).
    pub fn ticks(&self, most: usize) -> Ticks {
        let most = most.max(1);
        if !self.log {
            return self.linear_ticks(self.low, self.high, most);
        }
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        if last - first >= 1 {
            let stride = (last - first + most as i32) / most as i32;
            let exponents = (first..=last).filter(|e| e.rem_euclid(stride) == 0);
            let plain = first >= -3 && last <= 5;
            let marks = exponents.map(|e| (10f64.powi(e), power_label(1, e, plain))).collect();
            return Ticks { marks, exponent: None };
        }
        let mut marks = Vec::new();
        for e in first - 1..=last + 1 {
            for m in [1, 2, 5] {
                let place = f64::from(m).log10() + f64::from(e);
                if (self.low..=self.high).contains(&place) {
                    marks.push((f64::from(m) * 10f64.powi(e), power_label(m, e, (-3..5).contains(&e))));
                }
            }
        }
        if (2..=most.max(2)).contains(&marks.len()) {
            return Ticks { marks, exponent: None };
        }
        let (low, high) = self.ends();
        self.linear_ticks(low, high, most)
    }

    fn linear_ticks(&self, low: f64, high: f64, most: usize) -> Ticks {
        let (step, step_exponent) = step((high - low) / most as f64, self.whole);
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        let values: Vec<f64> =
            (0..).map(|i| first + f64::from(i)).take_while(|&k| k <= last).map(|k| k * step).collect();
        let size = values.iter().fold(0f64, |a, v| a.max(v.abs()));
        let exponent = if size > 0.0 { size.log10().floor() as i32 } else { 0 };
        // a large offset with small steps reads better written out than as 1.00000015 × 10⁶
        let written_out = (0..12).contains(&exponent) && exponent - step_exponent > 4;
        let common = (size > 0.0 && !(-3..6).contains(&exponent) && !written_out).then_some(exponent);
        // a lone tick at zero has no size: no decimals either, however small the step
        let decimals = if size > 0.0 { (common.unwrap_or(0) - step_exponent).max(0) as usize } else { 0 };
        let unit = 10f64.powi(common.unwrap_or(0));
        let marks = values.into_iter().map(|v| (v, fixed(v / unit, decimals))).collect();
        Ticks { marks, exponent: common }
    }
}

/// The smallest of 1, 2, 5 × 10^e that is not below `least`, and its e.
fn step(least: f64, whole: bool) -> (f64, i32) {
    let exponent = least.log10().floor() as i32;
    let unit = 10f64.powi(exponent);
    let (step, exponent) = match least / unit {
        m if m <= 1.0 + 1e-9 => (unit, exponent),
        m if m <= 2.0 + 1e-9 => (2.0 * unit, exponent),
        m if m <= 5.0 + 1e-9 => (5.0 * unit, exponent),
        _ => (10f64.powi(exponent + 1), exponent + 1),
    };
    if whole && step < 1.0 { (1.0, 0) } else { (step, exponent) }
}

fn power_label(mantissa: i32, exponent: i32, plain: bool) -> String {
    if plain {
        return short_number(f64::from(mantissa) * 10f64.powi(exponent));
    }
    let power = format!("10{}", superscript(exponent));
    if mantissa == 1 { power } else { format!("{mantissa}×{power}") }
}

/// Smallest and largest of some numbers.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((low.min(v), high.max(v))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, most: usize) -> Vec<String> {
        scale.ticks(most).marks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn steps_are_one_two_five() {
        assert_eq!(labels(Scale::exact(0.0, 1.0, false), 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::exact(0.0, 97.0, false), 5), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(Scale::exact(-1.0, 1.0, false), 4), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(labels(Scale::exact(1.0, 3.0, false).whole(true), 8), ["1", "2", "3"]);
    }

    #[test]
    fn large_and_small_numbers_share_an_exponent() {
        let ticks = Scale::exact(0.0, 3e7, false).ticks(3);
        assert_eq!((ticks.exponent, ticks.marks[1].1.as_str()), (Some(7), "1"));
        let ticks = Scale::exact(0.0, 4e-6, false).ticks(4);
        assert_eq!((ticks.exponent, ticks.marks[4].1.as_str()), (Some(-6), "4"));
    }

    #[test]
    fn a_lone_tick_at_zero_has_no_decimals() {
        assert_eq!(labels(Scale::exact(-1e-33, 8e-33, false), 1), ["0"]);
    }

    #[test]
    fn a_large_offset_is_written_out() {
        let ticks = Scale::exact(1e6, 1e6 + 0.2, false).ticks(2);
        assert_eq!((ticks.exponent, ticks.marks[1].1.as_str()), (None, "1000000.1"));
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        assert_eq!(labels(Scale::exact(1e-3, 10.0, true), 6), ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(labels(Scale::exact(1e-8, 1.0, true), 5), ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]);
        assert_eq!(labels(Scale::exact(1.0, 6.0, true), 5), ["1", "2", "5"]);
        assert!(labels(Scale::exact(2.1, 2.4, true), 5).len() >= 2);
    }

    #[test]
    fn ranges_without_extent_are_widened() {
        for v in [0.0, 3.0, -1e-30, 1e200] {
            let scale = Scale::over([v, v].into_iter(), false).unwrap();
            assert!((scale.fraction(v) - 0.5).abs() < 1e-9, "{v}");
        }
        assert_eq!(Scale::over([f64::NAN, f64::INFINITY].into_iter(), false), None);
        assert_eq!(Scale::over([0.0, -1.0].into_iter(), true), None);
    }
}
