//! Numbers and truth values out of bytes.
//!
//! A decimal number d · 10ᵉ with d < 2⁵³ and |e| ≤ 22 is one correctly rounded product or quotient of two exact doubles
//! (Clinger 1990); everything else goes to the standard library, which rounds correctly too.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A whole number. `strict` refuses what would lose its spelling: leading zeros (007) and minus zero.
#[inline]
pub(super) fn integer(text: &[u8], strict: bool) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return long_integer(text, digits, strict);
    }
    if strict && digits[0] == b'0' && (digits.len() > 1 || negative) {
        return None;
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

#[cold]
fn long_integer(text: &[u8], digits: &[u8], strict: bool) -> Option<i64> {
    if strict && digits.first() == Some(&b'0') {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A real number. `strict` refuses leading zeros (00.5), and whole numbers too long for 64 bits: those are names.
/// NaN is refused: it is a missing value, not a number.
#[inline]
pub(super) fn float(text: &[u8], strict: bool) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mut mantissa, mut count, mut scale, mut at) = (0u64, 0usize, 0i32, 0);
    let mut whole = 0;
    while let Some(digit) = digit(digits, at) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
        (count, at, whole) = (count + 1, at + 1, whole + 1);
    }
    if strict && whole > 1 && digits[0] == b'0' {
        return None;
    }
    if digits.get(at) == Some(&b'.') {
        at += 1;
        while let Some(digit) = digit(digits, at) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(digit);
            (count, at, scale) = (count + 1, at + 1, scale - 1);
        }
    } else if strict && at == digits.len() && whole > 18 {
        return None;
    }
    if count == 0 || count > 19 || at < digits.len() || mantissa >> 53 != 0 || scale < -22 {
        return slow_float(text, count);
    }
    let value = mantissa as f64 / POWERS[(-scale) as usize];
    Some(if negative { -value } else { value })
}

#[inline]
fn digit(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10).map(u64::from)
}

/// Exponents, many digits, infinity.
fn slow_float(text: &[u8], digits: usize) -> Option<f64> {
    let first = text.first()?;
    if digits == 0 && !matches!(first, b'i' | b'I' | b'+' | b'-') {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse::<f64>().ok().filter(|value| !value.is_nan())
}

/// `true` or `false`, in small letters, capitals or with a first capital.
#[inline]
pub(super) fn boolean(text: &[u8]) -> Option<bool> {
    match text {
        b"true" | b"True" | b"TRUE" => Some(true),
        b"false" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let mut state = 1u64;
        for round in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bits = f64::from_bits(state);
            let text = match round % 4 {
                0 => format!("{:.*}", (state >> 60) as usize, (state >> 40) as f64 / 1e3),
                1 if bits.is_finite() => format!("{bits:e}"),
                2 => format!("{}", (state >> 11) as f64 / 9_007_199_254_740_992.0),
                _ => format!("-{}.{}", state >> 50, state & 0xffff),
            };
            let expected: f64 = text.parse().unwrap();
            assert_eq!(float(text.as_bytes(), true).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
    }

    #[test]
    fn names_are_no_numbers() {
        for text in ["007", "-0", "12345678901234567890", "", "-", "+", "1.5", "1_0", "١"] {
            assert_eq!(integer(text.as_bytes(), true), None, "{text}");
        }
        for text in ["nan", "NaN", "", ".", "-", "00.5", "12345678901234567890", "1e", "0x10", "1,5", "e5"] {
            assert_eq!(float(text.as_bytes(), true), None, "{text}");
        }
        assert_eq!(integer(b"-9223372036854775808", true), Some(i64::MIN));
        assert_eq!((integer(b"007", false), integer(b"+5", true)), (Some(7), Some(5)));
        assert_eq!(
            (float(b".5", true), float(b"5.", true), float(b"-inf", true)),
            (Some(0.5), Some(5.0), Some(f64::NEG_INFINITY))
        );
        assert_eq!(float(b"-0", true).map(f64::to_bits), Some((-0.0f64).to_bits()));
    }
}
