//! ISO 8601 dates in JSON strings, as microseconds since 1970.
//!
//! The forms are those that the CSV reader of `tove-data` accepts (a test compares the two), so that a value means the same in both
//! kinds of request.

use tove::data::table::Unit;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A date or an instant in a unit: `2026-01-31` or `2026/01/31`, then optionally `T` or a space, `14:05`, `14:05:59`,
/// `14:05:59.25`, and a time zone, `Z` or `+02:00`. `None` for anything else.
pub fn parse(text: &str, unit: Unit) -> Option<i64> {
    let micros = microseconds(text)?;
    match unit {
        Unit::Nanoseconds => micros.checked_mul(1000),
        unit => Some(micros.div_euclid(DAY / unit.per_day())),
    }
}

fn microseconds(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let mixed = date.contains('-') && date.contains('/');
    if mixed || parts.next().is_some() || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    let time = match rest.strip_prefix(['T', ' ']) {
        Some(time) => time_of_day(time)?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    Some(days * DAY + time)
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of a month, negative before.
fn days_before(year: i64, month: i64) -> i64 {
    let leaps = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let years = 365 * (year - 1970) + leaps(year - 1) - leaps(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>()
}

/// Microseconds since midnight UTC; a time zone can make them negative or more than a day.
fn time_of_day(text: &str) -> Option<i64> {
    let end = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (time, zone) = text.split_at(end);
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':').map_or((rest, None), |(minute, second)| (minute, Some(second)));
    let (whole, fraction) = second.map_or(("00", None), |second| match second.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (second, None),
    });
    let (hour, minute, second) = (digits(hour, 2)?, digits(minute, 2)?, digits(whole, 2)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = fraction.map_or(Some(0), nanoseconds)?;
    let seconds = hour * 3600 + minute * 60 + second - offset(zone)?;
    (fraction % 1000 == 0).then_some(seconds * SECOND + fraction / 1000)
}

/// The digits after the decimal point, one to nine of them.
fn nanoseconds(text: &str) -> Option<i64> {
    let value = digits(text, text.len()).filter(|_| (1..=9).contains(&text.len()))?;
    Some(value * 10_i64.pow(9 - text.len() as u32))
}

/// Seconds that a time zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone {
        "" | "Z" => return Some(0),
        zone if zone.starts_with('+') => 1,
        zone if zone.starts_with('-') => -1,
        _ => return None,
    };
    let (hours, minutes) = zone[1..].split_at_checked(2)?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes.strip_prefix(':').unwrap_or(minutes), 2)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tove::data::table::{Column, CsvOptions, Kind};

    /// What the CSV reader makes of a text.
    fn reference(text: &str) -> Option<i64> {
        let body = format!("date\n\"{text}\"\n");
        let (table, _) = CsvOptions::new().delimiter(b',').kind("date", Kind::Date).read_bytes(body.as_bytes()).ok()?;
        let Column::Date(dates) = table.column("date").unwrap() else { panic!("not a date column") };
        dates.values().get(0).map(|value| value * (DAY / dates.unit().per_day()))
    }

    #[test]
    fn json_and_csv_accept_the_same_dates() {
        let times = [
            "",
            "T14:05",
            " 14:05:59",
            "T14:05:59.25",
            "T14:05:59.25Z",
            " 23:59:59.000001+02:00",
            "T00:00-1130",
            "T24:00",
            "T12:60",
            "T1:05",
            "T14:05:61",
            "T14:05:59.",
            "T14:05:59.1234567",
            "T14:05:59.123456000",
            "T14:05:59.1234560000",
            "T14:05:59.1234567890",
            "T14:05+2:00",
            "T14:05+24:00",
            "T14:05+02:61",
            "T14:05:",
            "t14:05",
            "x",
            "T",
            "T14:05Z+1",
            "T14:05.5",
            "T14:0\u{e9}",
            "T14:05+0\u{e9}:00",
            "Z",
        ];
        let days = [
            "1970-01-01",
            "2026-01-31",
            "2026/12/31",
            "2000-02-29",
            "1900-02-29",
            "2024-02-29",
            "2026-02-30",
            "2026-00-10",
            "2026-13-01",
            "2026-04-31",
            "2026-1-01",
            "2026-01/01",
            "0001-01-01",
            "9999-12-31",
            "0000-03-01",
            "1899-12-31",
            "20260101",
            "+026-01-01",
            "2026-01-0",
            "202\u{e9}-01-1",
            "26-01-2026",
            "2026--1-01",
        ];
        for day in days {
            for time in times {
                let text = format!("{day}{time}");
                assert_eq!(parse(&text, Unit::Microseconds), reference(&text), "{text}");
            }
        }
        assert_eq!(parse("1970-01-02", Unit::Days), Some(1));
        assert_eq!(parse("1969-12-31 23:59:59", Unit::Days), Some(-1));
        assert_eq!(parse("1970-01-01T00:00:01.5", Unit::Seconds), Some(1));
        assert_eq!(parse("1970-01-01T00:00:01.5", Unit::Nanoseconds), Some(1_500_000_000));
        assert_eq!(parse("9999-01-01", Unit::Nanoseconds), None);
    }
}
