//! Numbers as people read them, and as SVG reads them.

/// A coordinate or length with at most two decimals; pictures need no more, and the bytes stay few.
pub(crate) fn coordinate(value: f64) -> String {
    trimmed(value, 2)
}

/// At most `decimals` decimals, without trailing zeros, with the ASCII minus.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Exactly `decimals` decimals, with a true minus sign, and no negative zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// An integer as an exponent.
pub(crate) fn superscript(exponent: i32) -> String {
    let digit = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32(0x2070 + (c as u32 - '0' as u32)).unwrap_or(c),
    };
    exponent.to_string().chars().map(digit).collect()
}

/// A number with about four significant digits: `0.9134`, `12.5`, `60000`, `1.2×10⁻⁷`.
///
/// ```
/// assert_eq!(tove_plot::short_number(0.91342), "0.9134");
/// assert_eq!(tove_plot::short_number(-1.2e-7), "−1.2×10⁻⁷");
/// assert_eq!(tove_plot::short_number(60000.0), "60000");
/// ```
pub fn short_number(value: f64) -> String {
    significant(value, 4)
}

/// Numbers that stand side by side, with the same decimals where their sizes allow it: `0.8090` beside `0.8181`.
pub(crate) fn aligned_numbers(values: &[f64]) -> Vec<String> {
    let sizes = || values.iter().map(|value| value.abs()).filter(|size| size.is_finite() && *size > 0.0);
    let (largest, smallest) = (sizes().fold(0.0, f64::max), sizes().fold(f64::INFINITY, f64::min));
    let whole = sizes().all(|size| size.fract() == 0.0);
    if whole || !(1e-3..1e7).contains(&largest) || largest > 1e4 * smallest {
        return values.iter().map(|value| short_number(*value)).collect();
    }
    let decimals = (3.0 - largest.log10().floor()).clamp(0.0, 4.0) as usize;
    let show = |value: &f64| if value.is_finite() { fixed(*value, decimals) } else { short_number(*value) };
    values.iter().map(show).collect()
}

/// A number with about three significant digits, for narrow places.
pub(crate) fn brief_number(value: f64) -> String {
    significant(value, 3)
}

fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { fixed(value, 0).replace("inf", "∞") };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor();
    let text = if (-4.0..7.0).contains(&exponent) {
        trimmed(value, (f64::from(digits - 1) - exponent).max(0.0) as usize)
    } else {
        // powi in two halves: 10^-320 alone is zero
        let half = (exponent / 2.0).trunc() as i32;
        let mantissa = value / 10f64.powi(half) / 10f64.powi(exponent as i32 - half);
        format!("{}×10{}", trimmed(mantissa, digits as usize - 1), superscript(exponent as i32))
    };
    text.replace('-', "−")
}

/// A count with thin spaces between thousands: `60 000`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(coordinate(1.0), "1");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(12.346), "12.35");
        assert_eq!(coordinate(100.0), "100");
        assert_eq!(fixed(-0.5, 1), "−0.5");
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(superscript(-12), "⁻¹²");
        assert_eq!(short_number(5e-324).chars().last(), Some('⁴'));
        assert_eq!(short_number(f64::NEG_INFINITY), "−∞");
        assert_eq!(count(1234567), "1\u{2009}234\u{2009}567");
        assert_eq!(count(1234), "1234");
        assert_eq!(aligned_numbers(&[0.809, -0.8181, 0.0]), ["0.8090", "−0.8181", "0.0000"]);
        assert_eq!(aligned_numbers(&[12.5, 3.0, f64::NAN]), ["12.50", "3.00", "NaN"]);
        assert_eq!(aligned_numbers(&[12.0, 3.0]), ["12", "3"]);
        assert_eq!(aligned_numbers(&[2e9, 0.5]), ["2×10⁹", "0.5"]);
    }
}
