//! Numbers with separators of thousands or a decimal comma, where a whole column agrees on how they are written.

use super::block::Rules;
use super::numbers;

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct NumberFormat {
    /// Before the fraction: a point or a comma.
    pub decimal: char,
    /// Between groups of three digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
}

impl NumberFormat {
    /// The formats that are looked for besides the plain one. A blank between groups would make numbers of codes.
    const ALL: [NumberFormat; 9] = [
        NumberFormat::new('.', Some(',')),
        NumberFormat::new('.', Some('\'')),
        NumberFormat::new('.', Some('\u{a0}')),
        NumberFormat::new('.', Some('\u{202f}')),
        NumberFormat::new(',', None),
        NumberFormat::new(',', Some('.')),
        NumberFormat::new(',', Some('\'')),
        NumberFormat::new(',', Some('\u{a0}')),
        NumberFormat::new(',', Some('\u{202f}')),
    ];

    const fn new(decimal: char, thousands: Option<char>) -> Self {
        Self { decimal, thousands }
    }

    /// Whether a text is a number in one of the formats that are looked for.
    pub(super) fn any(text: &str) -> bool {
        text.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first))
            && Self::ALL.iter().any(|format| format.parse(text).is_some())
    }

    /// A number written in this format or without separators; `None` for anything else. Zeros in front are refused.
    ///
    /// ```
    /// use tove_data::table::NumberFormat;
    /// let european = NumberFormat { decimal: ',', thousands: Some('.') };
    /// assert_eq!(european.parse("-1.234,5"), Some(-1234.5));
    /// assert_eq!(european.parse("1.23"), None);
    /// ```
    pub fn parse(&self, text: &str) -> Option<f64> {
        // Nobody writes longer numbers; this bounds the copies.
        if text.len() > 400 {
            return None;
        }
        let (whole, fraction) = match text.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let digits = whole.trim_start_matches(['-', '+']);
        let mut plain = String::with_capacity(text.len());
        match self.thousands.filter(|&mark| digits.contains(mark)) {
            None => plain.push_str(whole),
            Some(mark) => {
                let mut groups = digits.split(mark);
                let first = groups.next()?;
                let number = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
                if !number(first) || first.len() > 3 || first.starts_with('0') {
                    return None;
                }
                plain.push_str(&whole[..whole.len() - digits.len()]);
                plain.push_str(first);
                for group in groups {
                    if group.len() != 3 || !number(group) {
                        return None;
                    }
                    plain.push_str(group);
                }
            }
        }
        if let Some(fraction) = fraction {
            // A point behind a decimal comma, or a second comma, is no part of a number.
            if fraction.contains([',', '.']) {
                return None;
            }
            plain.push('.');
            plain.push_str(fraction);
        }
        if self.decimal == ',' && whole.contains('.') && self.thousands != Some('.') {
            return None;
        }
        numbers::float(plain.as_bytes(), true)
    }
}

impl std::fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.decimal, self.thousands) {
            ('.', Some(mark)) => write!(f, "numbers with {mark:?} between thousands"),
            (_, None) => f.write_str("numbers with a decimal comma"),
            (_, Some(mark)) => write!(f, "numbers with a decimal comma and {mark:?} between thousands"),
        }
    }
}

/// Which formats all strings of a column are written in.
#[derive(Clone, Debug)]
pub(super) struct Spelled {
    /// A bit for each of [`NumberFormat::ALL`].
    possible: u16,
    /// Some value has a comma, so that a point may stand between thousands.
    comma: bool,
    seen: bool,
}

impl Default for Spelled {
    fn default() -> Self {
        Self { possible: (1 << NumberFormat::ALL.len()) - 1, comma: false, seen: false }
    }
}

impl Spelled {
    /// Takes account of a string.
    pub fn see(&mut self, text: &str, rules: &Rules) {
        if self.possible == 0 || text.is_empty() || rules.missing.iter().any(|token| token == text) {
            return;
        }
        self.seen = true;
        self.comma |= text.contains(',');
        for (number, format) in NumberFormat::ALL.iter().enumerate() {
            if self.possible >> number & 1 == 1 && format.parse(text).is_none() {
                self.possible &= !(1 << number);
            }
        }
    }

    /// Takes account of a block of plain numbers with points.
    pub fn see_points(&mut self) {
        self.keep(|format| format.decimal == '.');
    }

    /// Takes account of a block of something else.
    pub fn see_others(&mut self) {
        self.possible = 0;
    }

    fn keep(&mut self, keep: impl Fn(&NumberFormat) -> bool) {
        for (number, format) in NumberFormat::ALL.iter().enumerate() {
            if !keep(format) {
                self.possible &= !(1 << number);
            }
        }
    }

    /// The format, if there is one and only one way to read the numbers. A comma before three digits may be either: in a file whose
    /// fields are separated by commas it stands between thousands, in others nobody knows.
    pub fn format(&self, rules: &Rules) -> Option<NumberFormat> {
        let possible = |number: &usize| self.possible >> number & 1 == 1;
        let all = || (0..NumberFormat::ALL.len()).filter(possible).map(|number| NumberFormat::ALL[number]);
        // Without a comma, points between groups of three are a guess.
        let mut fitting = all().filter(|format| self.comma || format.thousands != Some('.'));
        let first = fitting.next().filter(|_| self.seen)?;
        let ambiguous = first.decimal == '.' && fitting.any(|format| format.decimal == ',') && self.comma;
        (!ambiguous || rules.dialect.delimiter == b',').then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_what_they_should() {
        let comma = NumberFormat::new('.', Some(','));
        for (text, value) in [("1,000", 1000.0), ("-12,345.5", -12345.5), ("7", 7.0), ("1,234,567", 1_234_567.0)] {
            assert_eq!(comma.parse(text), Some(value), "{text}");
        }
        for text in ["1,00", "0,500", ",500", "1,000,", "1,0000", "12,34", "1,000,00", "a", "", "1,000.5.5", "1e,000"] {
            assert_eq!(comma.parse(text), None, "{text}");
        }
        let decimal = NumberFormat::new(',', None);
        assert_eq!(
            (decimal.parse("3,25"), decimal.parse("-0,5"), decimal.parse("1,5e3")),
            (Some(3.25), Some(-0.5), Some(1500.0))
        );
        for text in ["1.5", "1,5,5", "1.000,5", ",", "1,-5"] {
            assert_eq!(decimal.parse(text), None, "{text}");
        }
        let blank = NumberFormat::new(',', Some('\u{202f}'));
        assert_eq!(blank.parse("1\u{202f}234,5"), Some(1234.5));
    }
}
