//! Numbers and dates in formats that are read as strings.

use std::fmt;

use tove_data::table::Column;

/// How strings that are numbers or dates are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spelling {
    /// 3,14
    DecimalComma,
    /// 12 %
    Percent,
    /// $1,200.50
    Currency,
    /// 1,200.50
    Thousands,
    /// 31/12/2024
    DayMonthYear,
}

impl fmt::Display for Spelling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spelling::DecimalComma => "numbers with a decimal comma",
            Spelling::Percent => "numbers with a percent sign",
            Spelling::Currency => "amounts of money",
            Spelling::Thousands => "numbers with separators of thousands",
            Spelling::DayMonthYear => "dates",
        })
    }
}

/// Values that are looked at, at most.
const LOOKED_AT: usize = 500;

/// How the values of a column of strings are spelt, if nine of ten look like numbers or dates, with one of them.
///
/// ```
/// use tove::data::table::Column;
/// use tove::tabular::{Spelling, spelling_of};
/// let shares = Column::categories(["12.5%", "3%", "100 %"]);
/// assert_eq!(spelling_of(&shares), Some((Spelling::Percent, "12.5%".to_owned())));
/// assert_eq!(spelling_of(&Column::categories(["3,14", "2,7", "10"])).map(|found| found.0), Some(Spelling::DecimalComma));
/// assert_eq!(spelling_of(&Column::categories(["red", "blue"])), None);
/// ```
pub fn spelling_of(column: &Column) -> Option<(Spelling, String)> {
    if !matches!(column, Column::Text(_) | Column::Categorical(_)) {
        return None;
    }
    let step = column.len().div_ceil(LOOKED_AT).max(1);
    let (mut looked, mut plain) = (0, 0);
    let mut found: Vec<(Spelling, usize, String)> = Vec::new();
    for text in (0..column.len()).step_by(step).filter_map(|row| column.text(row)) {
        looked += 1;
        match spelling(text.trim()) {
            Some(spelling) => match found.iter_mut().find(|(known, _, _)| *known == spelling) {
                Some((_, count, _)) => *count += 1,
                None => found.push((spelling, 1, text.into_owned())),
            },
            None => plain += usize::from(text.trim().parse::<f64>().is_ok()),
        }
    }
    // Plain numbers go with every spelling of numbers: 5 among 3,14 and 2,7.
    let (spelling, count, example) = found.into_iter().max_by_key(|&(_, count, _)| count)?;
    (count > plain / 4 && (count + plain) * 10 >= looked * 9).then_some((spelling, example))
}

fn spelling(text: &str) -> Option<Spelling> {
    if let Some(number) = text.strip_suffix('%') {
        let number = number.trim_end();
        return (is_number(number) || is_grouped(number) || is_decimal_comma(number)).then_some(Spelling::Percent);
    }
    let signless = text.trim_start_matches(['-', '+', '(']).trim_end_matches(')');
    let bare = signless.trim_start_matches(['$', '€', '£', '¥']).trim_end_matches(['€', '£', '$', '¥']);
    if bare.len() < signless.len() {
        let bare = bare.trim();
        return (is_number(bare) || is_grouped(bare) || is_decimal_comma(bare)).then_some(Spelling::Currency);
    }
    // 1,200 is both; a reader that takes it for 1.2 is wrong by a thousand, so separators of thousands come first.
    if is_grouped(text) {
        return Some(Spelling::Thousands);
    }
    if is_decimal_comma(text) {
        return Some(Spelling::DecimalComma);
    }
    is_date(text).then_some(Spelling::DayMonthYear)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) && text.parse::<f64>().is_ok()
}

/// 1,200 or 1,200.50 or 1 200: groups of three digits behind the first one to three.
fn is_grouped(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    [',', ' ', '\'', '\u{a0}', '\u{202f}'].into_iter().any(|separator| {
        let whole = text.split('.').next().unwrap_or("");
        let fraction = text.get(whole.len() + 1..).unwrap_or("");
        let groups: Vec<&str> = whole.split(separator).collect();
        let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
        groups.len() > 1
            && (1..=3).contains(&groups[0].len())
            && groups[1..].iter().all(|group| group.len() == 3)
            && groups.iter().all(|group| digits(group))
            && digits(fraction)
    })
}

/// 3,14 or 1.200,50: one comma, digits on both sides.
fn is_decimal_comma(text: &str) -> bool {
    let Some((whole, fraction)) = text.trim_start_matches(['-', '+']).split_once(',') else { return false };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(fraction) && whole.split('.').all(digits)
}

/// 31/12/2024, 31.12.24, 12-31-2024: three numbers, the year last.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or("");
    ['/', '.', '-'].into_iter().any(|separator| {
        let parts: Vec<Option<u32>> = day.split(separator).map(|part| part.parse().ok()).collect();
        let &[Some(first), Some(second), Some(_)] = &parts[..] else { return false };
        let year = day.rsplit(separator).next().map_or(0, str::len);
        (1..=31).contains(&first) && (1..=31).contains(&second) && first.min(second) <= 12 && matches!(year, 2 | 4)
    })
}
