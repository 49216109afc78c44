//! Numbers in expressions: exact fractions as long as they fit, floating point otherwise.

use std::cmp::Ordering;
use std::fmt;

/// A fraction in lowest terms or a floating-point number that is not an integer.
///
/// `1/3` stays exact, so that `x^(1/3)` differentiates to `x^(-2/3)/3`; `0.1` stays what was typed. An integer is
/// always a fraction, so that each value has one form only.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    /// Numerator and positive denominator without a common factor.
    Ratio(i64, i64),
    Float(f64),
}

impl Number {
    pub const ZERO: Number = Number::Ratio(0, 1);
    pub const ONE: Number = Number::Ratio(1, 1);
    pub const MINUS_ONE: Number = Number::Ratio(-1, 1);

    pub fn from_f64(value: f64) -> Number {
        const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
        if value.trunc() == value && value.abs() <= EXACT {
            return Number::Ratio(value as i64, 1);
        }
        // one NaN only, whatever its bits
        Number::Float(if value.is_nan() { f64::NAN } else { value })
    }

    /// `numerator / denominator`, exact if it fits in 64 bits.
    fn ratio(numerator: i128, denominator: i128) -> Number {
        if denominator == 0 {
            return Number::from_f64(numerator as f64 / 0.0);
        }
        let divisor = greatest_common_divisor(numerator.unsigned_abs(), denominator.unsigned_abs()) as i128;
        let sign = denominator.signum();
        let (n, d) = (sign * numerator / divisor, sign * denominator / divisor);
        match (i64::try_from(n), i64::try_from(d)) {
            (Ok(n), Ok(d)) => Number::Ratio(n, d),
            _ => Number::from_f64(n as f64 / d as f64),
        }
    }

    pub fn value(self) -> f64 {
        match self {
            Number::Ratio(n, d) => n as f64 / d as f64,
            Number::Float(x) => x,
        }
    }

    pub fn is_zero(self) -> bool {
        matches!(self, Number::Ratio(0, _))
    }

    pub fn is_nan(self) -> bool {
        self.value().is_nan()
    }

    pub fn is_one(self) -> bool {
        matches!(self, Number::Ratio(1, 1))
    }

    pub fn is_negative(self) -> bool {
        self.value() < 0.0
    }

    /// The value when it is an integer.
    pub fn integer(self) -> Option<i64> {
        match self {
            Number::Ratio(n, 1) => Some(n),
            _ => None,
        }
    }

    pub fn add(self, other: Number) -> Number {
        match (self, other) {
            (Number::Ratio(a, b), Number::Ratio(c, d)) => {
                let (a, b, c, d) = (i128::from(a), i128::from(b), i128::from(c), i128::from(d));
                Number::ratio(a * d + c * b, b * d)
            }
            _ => Number::from_f64(self.value() + other.value()),
        }
    }

    pub fn mul(self, other: Number) -> Number {
        match (self, other) {
            (Number::Ratio(a, b), Number::Ratio(c, d)) => {
                Number::ratio(i128::from(a) * i128::from(c), i128::from(b) * i128::from(d))
            }
            _ => Number::from_f64(self.value() * other.value()),
        }
    }

    pub fn neg(self) -> Number {
        self.mul(Number::MINUS_ONE)
    }

    /// `self ^ exponent` when it can be told exactly, or when floating point is involved anyway.
    pub fn pow(self, exponent: Number) -> Option<Number> {
        if let (Number::Ratio(n, d), Number::Ratio(p, q)) = (self, exponent) {
            if n == 0 && p < 0 {
                return None; // 1/0 stays as it is written
            }
            let (n, d) = match q {
                1 => (n, d),
                2 => (square_root(n)?, square_root(d)?),
                _ => return None,
            };
            let size = u32::try_from(p.unsigned_abs()).ok()?;
            let (n, d) = (n.checked_pow(size)?, d.checked_pow(size)?);
            let (n, d) = (i128::from(n), i128::from(d));
            return Some(if p < 0 { Number::ratio(d, n) } else { Number::ratio(n, d) });
        }
        let value = self.value().powf(exponent.value());
        (!value.is_nan()).then(|| Number::from_f64(value))
    }

    /// Any total order: by value, then by form.
    pub fn compare(self, other: Number) -> Ordering {
        self.value().total_cmp(&other.value()).then_with(|| self.key().cmp(&other.key()))
    }

    /// What makes two numbers the same.
    pub fn key(self) -> (u8, i64, i64) {
        match self {
            Number::Ratio(n, d) => (0, n, d),
            Number::Float(x) => (1, x.to_bits().cast_signed(), 0),
        }
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The root of a perfect square.
fn square_root(n: i64) -> Option<i64> {
    let root = u64::try_from(n).ok()?.isqrt();
    (root * root == n.unsigned_abs()).then_some(root.cast_signed())
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Ratio(n, 1) => write!(f, "{n}"),
            Number::Ratio(n, d) => write!(f, "{n}/{d}"),
            Number::Float(x) if x.is_nan() => f.write_str("nan"),
            // the debug form is the shortest that reads back exactly, and switches to 1e300 when that is shorter
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}
