//! Numbers as numpy writes them in an array: all in one notation, padded to one width.

use std::fmt::{Display, LowerExp};

/// A floating-point type that can be printed with the digits it needs and no more.
pub(super) trait Printed: Copy + Display + LowerExp + Into<f64> {
    /// Numbers from here on are written with an exponent.
    const LARGE: f64;
    /// The same for a number by itself.
    const LARGE_ALONE: f64;
}

impl Printed for f32 {
    const LARGE: f64 = 1e6;
    const LARGE_ALONE: f64 = 1e6;
}

impl Printed for f64 {
    const LARGE: f64 = 1e8;
    const LARGE_ALONE: f64 = 1e16;
}

/// Words padded on the left to the longest.
pub(super) fn aligned(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

/// Whether the numbers are too large, too small or too far apart for a common position of the point.
fn needs_exponent<T: Printed>(finite: &[T]) -> bool {
    let sizes = finite.iter().map(|&x| x.into().abs()).filter(|&size| size > 0.0);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0f64), |(low, high), size| (low.min(size), high.max(size)));
    high > 0.0 && (high >= T::LARGE || low < 1e-4 || high / low > 1e3)
}

pub(super) fn floats<T: Printed>(values: &[T], precision: usize) -> Vec<String> {
    let finite: Vec<T> = values.iter().copied().filter(|&x| x.into().is_finite()).collect();
    let exponent = needs_exponent(&finite);
    let parts: Vec<Parts> = finite.iter().map(|&x| Parts::new(x, precision, exponent)).collect();
    let longest = |length: fn(&Parts) -> usize| parts.iter().map(length).max().unwrap_or(0);
    let whole = longest(|parts| parts.whole.len());
    let fraction = longest(|parts| parts.fraction.len());
    let digits = longest(|parts| parts.power.trim_start_matches(['-', '+']).len());
    let mut parts = parts.into_iter();
    let words = values.iter().map(|&x| {
        let x: f64 = x.into();
        match if x.is_finite() { parts.next() } else { None } {
            Some(parts) if exponent => parts.scientific(fraction, digits),
            Some(parts) => format!("{:>whole$}.{:<fraction$}", parts.whole, parts.fraction),
            None if x.is_nan() => "nan".to_string(),
            None => if x > 0.0 { "inf" } else { "-inf" }.to_string(),
        }
    });
    aligned(words.collect())
}

/// A number by itself: all digits it needs, with an exponent where it is very small or large.
pub(super) fn scalar<T: Printed>(x: T) -> String {
    let size: f64 = x.into().abs();
    if !size.is_finite() {
        return floats(&[x], 0).concat();
    }
    if size == 0.0 || (1e-4..T::LARGE_ALONE).contains(&size) {
        let Parts { whole, fraction, .. } = Parts::cut(&x.to_string());
        return format!("{whole}.{fraction:0<1}");
    }
    let parts = Parts::cut(&format!("{x:e}"));
    let text = parts.scientific(0, 2);
    // Without digits behind it, the point is left out.
    if parts.fraction.is_empty() { text.replacen(".e", "e", 1) } else { text }
}

/// A number cut at the point: what stands before it with the sign, what stands behind it without trailing zeros, and
/// the signed power of ten (empty in positional notation).
struct Parts {
    whole: String,
    fraction: String,
    power: String,
}

impl Parts {
    /// The shortest digits that read back as the same number, or as many as allowed, correctly rounded.
    fn new<T: Printed>(x: T, precision: usize, exponent: bool) -> Parts {
        let (shortest, rounded) = match exponent {
            true => (format!("{x:e}"), format!("{x:.precision$e}")),
            false => (format!("{x}"), format!("{x:.precision$}")),
        };
        let shortest = Parts::cut(&shortest);
        if shortest.fraction.len() <= precision { shortest } else { Parts::cut(&rounded) }
    }

    fn cut(text: &str) -> Parts {
        let (digits, power) = text.split_once('e').unwrap_or((text, ""));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        Parts {
            whole: whole.to_string(),
            fraction: fraction.trim_end_matches('0').to_string(),
            power: power.to_string(),
        }
    }

    /// With as many digits behind the point and in the power as all the others.
    fn scientific(&self, fraction: usize, digits: usize) -> String {
        let (sign, power) = match self.power.strip_prefix('-') {
            Some(power) => ('-', power),
            None => ('+', self.power.as_str()),
        };
        let digits = digits.max(2);
        format!("{}.{:0<fraction$}e{sign}{power:0>digits$}", self.whole, self.fraction)
    }
}
