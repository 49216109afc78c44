//! Days and instants: a whole number of units since 1970-01-01 00:00 UTC.
//!
//! A day number turns into year, month and day by counting in eras of 400 years (146,097 days) that begin in March, so
//! that the leap day is the last of its year.

use std::fmt::Write;

use super::Values;

/// What a date column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Whole days: dates without a time.
    Days,
    /// Seconds.
    Seconds,
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    Microseconds,
    /// Thousand-millionths of a second.
    Nanoseconds,
}

impl Unit {
    /// How many of the unit make a day.
    pub fn per_day(self) -> i64 {
        86_400 * self.per_second().max(1) / if self == Unit::Days { 86_400 } else { 1 }
    }

    /// An ISO 8601 date or instant in this unit since 1970, by the rules of the CSV reader: `2026-01-31` or `2026/01/31`, then
    /// optionally `T` or a space, `14:05`, `14:05:59`, `14:05:59.25`, and a time zone, `Z` or `+02:00`. `None` for anything else.
    ///
    /// ```
    /// use tove_data::table::Unit;
    /// assert_eq!(Unit::Days.parse("2001-01-01"), Some(11_323));
    /// assert_eq!(Unit::Seconds.parse("1970-01-02T01:00:00+01:00"), Some(86_400));
    /// assert_eq!(Unit::Days.parse("01.01.2001"), None);
    /// ```
    pub fn parse(self, text: &str) -> Option<i64> {
        let (micros, _) = parse(text.as_bytes())?;
        match self {
            Unit::Nanoseconds => micros.checked_mul(1000),
            unit => Some(micros.div_euclid(86_400_000_000 / unit.per_day())),
        }
    }

    fn per_second(self) -> i64 {
        match self {
            Unit::Days => 0,
            Unit::Seconds => 1,
            Unit::Milliseconds => 1_000,
            Unit::Microseconds => 1_000_000,
            Unit::Nanoseconds => 1_000_000_000,
        }
    }
}

/// Dates or instants (UTC), as numbers of a unit since 1970.
///
/// ```
/// use tove_data::table::{Dates, Unit};
/// let days = Dates::new(vec![0, 11_323].into(), Unit::Days);
/// assert_eq!(days.to_text(1).as_deref(), Some("2001-01-01"));
/// assert_eq!(days.parts(1).map(|parts| (parts.year, parts.month, parts.weekday)), Some((2001, 1, 0)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dates {
    values: Values<i64>,
    unit: Unit,
}

/// The parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateParts {
    /// The year of the Gregorian calendar.
    pub year: i64,
    /// 1 … 12.
    pub month: u32,
    /// 1 … 31.
    pub day: u32,
    /// Monday 0 … Sunday 6.
    pub weekday: u32,
    /// 0 … 23.
    pub hour: u32,
    /// 0 … 59.
    pub minute: u32,
    /// 0 … 59.
    pub second: u32,
    /// Whole seconds since 1970.
    pub seconds: i64,
    /// Thousand-millionths of a second beyond `second`.
    pub nanoseconds: u32,
}

impl Dates {
    /// A column of these numbers of units.
    pub fn new(values: Values<i64>, unit: Unit) -> Self {
        Self { values, unit }
    }

    /// The unit.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The numbers of units since 1970.
    pub fn values(&self) -> &Values<i64> {
        &self.values
    }

    /// The parts of a row's date.
    pub fn parts(&self, row: usize) -> Option<DateParts> {
        self.values.get(row).map(|value| parts(value, self.unit))
    }

    /// A row's date as ISO 8601 writes it, with a blank between day and time.
    pub fn to_text(&self, row: usize) -> Option<String> {
        self.values.get(row).map(|value| format(value, self.unit))
    }
}

/// Days since 1970 of a date of the Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (i64::from(month) + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days since 1970.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn parts(value: i64, unit: Unit) -> DateParts {
    let per_day = unit.per_day();
    let (days, rest) = (value.div_euclid(per_day), value.rem_euclid(per_day));
    let (year, month, day) = civil_from_days(days);
    let per_second = unit.per_second().max(1);
    let (of_day, fraction) = (rest / per_second, rest % per_second);
    DateParts {
        year,
        month,
        day,
        weekday: (days.rem_euclid(7) + 3).rem_euclid(7) as u32,
        hour: (of_day / 3600) as u32,
        minute: (of_day / 60 % 60) as u32,
        second: (of_day % 60) as u32,
        seconds: days.saturating_mul(86_400).saturating_add(of_day),
        nanoseconds: (fraction * (1_000_000_000 / per_second)) as u32,
    }
}

pub(crate) fn format(value: i64, unit: Unit) -> String {
    let p = parts(value, unit);
    let mut text = format!("{:04}-{:02}-{:02}", p.year, p.month, p.day);
    // Writing to a string cannot fail.
    if unit != Unit::Days {
        let _ = write!(text, " {:02}:{:02}:{:02}", p.hour, p.minute, p.second);
    }
    let digits = match unit {
        Unit::Days | Unit::Seconds => 0,
        Unit::Milliseconds => 3,
        Unit::Microseconds => 6,
        Unit::Nanoseconds => 9,
    };
    if digits > 0 {
        let _ = write!(text, ".{:0digits$}", p.nanoseconds / 10u32.pow(9 - digits as u32));
    }
    text
}

/// How finely a date was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Detail {
    Day,
    Second,
    Fraction,
}

/// An ISO 8601 date or instant as microseconds since 1970: `2001-01-31`, `2001/01/31`, then perhaps `T` or a blank,
/// `14:05`, `14:05:59`, `14:05:59.25`, and a zone `Z` or `+02:00`. `None` for anything else.
#[inline]
pub(crate) fn parse(text: &[u8]) -> Option<(i64, Detail)> {
    let (&[y0, y1, y2, y3, separator, m0, m1, second_separator, d0, d1], rest) = text.split_first_chunk::<10>()?;
    if separator != second_separator || !matches!(separator, b'-' | b'/') {
        return None;
    }
    let year = i64::from(two(y0, y1)?) * 100 + i64::from(two(y2, y3)?);
    let (month, day) = (two(m0, m1)?, two(d0, d1)?);
    if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    let (micros, detail) = match rest {
        [] => (0, Detail::Day),
        [b'T' | b' ', time @ ..] => parse_time(time)?,
        _ => return None,
    };
    Some((days * 86_400_000_000 + micros, detail))
}

fn days_in(year: i64, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A time of day with its zone, as microseconds (below zero or beyond a day because of the zone).
fn parse_time(text: &[u8]) -> Option<(i64, Detail)> {
    let (&[h0, h1, b':', m0, m1], mut rest) = text.split_first_chunk::<5>()? else { return None };
    let (hour, minute) = (two(h0, h1)?, two(m0, m1)?);
    let (mut second, mut fraction, mut detail) = (0, 0, Detail::Second);
    if let [b':', s0, s1, more @ ..] = rest {
        (second, rest) = (two(*s0, *s1)?, more);
        if let [b'.', more @ ..] = rest {
            let digits = more.iter().take_while(|byte| byte.is_ascii_digit()).count();
            fraction = micros(&more[..digits])?;
            (rest, detail) = (&more[digits..], Detail::Fraction);
        }
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second) - zone(rest)?;
    Some((seconds * 1_000_000 + fraction, detail))
}

/// Digits behind the point as microseconds; `None` if there is none, or finer ones that are not zero.
fn micros(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 || digits.iter().skip(6).any(|&digit| digit != b'0') {
        return None;
    }
    let read = digits.iter().take(6).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some(read * 10i64.pow(6 - digits.len().min(6) as u32))
}

/// Seconds that the zone is ahead of UTC.
fn zone(text: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match *text {
        [] | [b'Z'] => return Some(0),
        [b'+', h0, h1, b':', m0, m1] | [b'+', h0, h1, m0, m1] => (1, two(h0, h1)?, two(m0, m1)?),
        [b'-', h0, h1, b':', m0, m1] | [b'-', h0, h1, m0, m1] => (-1, two(h0, h1)?, two(m0, m1)?),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 3600 + minutes * 60))
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_civil_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(37) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!(day <= days_in(year, month));
        }
        assert_eq!(days_from_civil(2000, 3, 1), 11_017);
        assert_eq!(parts(0, Unit::Days).weekday, 3, "1970 began on a Thursday");
    }

    #[test]
    fn instants_are_read_and_written() {
        let seconds = |text: &str| parse(text.as_bytes()).map(|(micros, _)| micros as f64 / 1e6);
        assert_eq!(seconds("1970-01-02"), Some(86_400.0));
        assert_eq!(seconds("2001-09-09 01:46:40"), Some(1e9));
        assert_eq!(seconds("2001-09-09T03:46:40.25+02:00"), Some(1e9 + 0.25));
        assert_eq!(seconds("2001/09/09T01:46"), Some(1e9 - 40.0));
        for bad in ["2001-02-29", "2001-13-01", "2001-1-1", "20010101", "2001-01-01x", "2001-01-01 25:00", "2001-01/01"]
        {
            assert_eq!(seconds(bad), None, "{bad}");
        }
        assert_eq!(seconds("2001-01-01 00:00:00.1234567"), None, "finer than is kept");
        for text in ["2001-09-09 01:46:40.250000", "1899-12-31 23:59:59.000001"] {
            let (micros, detail) = parse(text.as_bytes()).unwrap();
            assert_eq!((format(micros, Unit::Microseconds).as_str(), detail), (text, Detail::Fraction));
        }
    }
}
