//! Numbers and truth values out of bytes.
//!
//! A decimal number d · 10ᵉ with d < 2⁵³ and |e| ≤ 22 is one correctly rounded product or quotient of two exact doubles
//! (Clinger 1990); everything else goes to the standard library, which rounds correctly too.
//!
//! Up to sixteen digits are taken at once, eight to a 64-bit word: the word that *ends* where the field ends is loaded, what stands
//! before the field is masked, the bytes in front of the point move over it, and pairs of digits, then pairs of pairs are joined by
//! three multiplications.

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A whole number in `bytes[start..end]`; what [`integer`] gives for it.
#[inline(always)]
pub(super) fn integer_at(bytes: &[u8], start: usize, end: usize, strict: bool) -> Option<i64> {
    let (negative, first) = signed(bytes, start, end);
    let plain = leading(bytes, first, end, strict) && !(strict && negative && bytes.get(first) == Some(&b'0'));
    match if plain { packed(bytes, first, end) } else { None } {
        Some((value, None)) => Some(if negative { -(value as i64) } else { value as i64 }),
        _ => integer(bytes.get(start..end)?, strict),
    }
}

/// A real number in `bytes[start..end]`; what [`float`] gives for it.
#[inline(always)]
pub(super) fn float_at(bytes: &[u8], start: usize, end: usize, strict: bool) -> Option<f64> {
    let (negative, first) = signed(bytes, start, end);
    let plain = leading(bytes, first, end, strict);
    match if plain { packed(bytes, first, end) } else { None } {
        Some((mantissa, scale)) if mantissa >> 53 == 0 => {
            let value = mantissa as f64 / POWERS[scale.unwrap_or(0) & 15];
            // The sign of a number is as good as random: no branch on it.
            Some(f64::from_bits(value.to_bits() | u64::from(negative) << 63))
        }
        _ => float_slice(bytes, start, end, strict),
    }
}

/// Numbers that are not one to sixteen digits with a point.
#[cold]
#[inline(never)]
fn float_slice(bytes: &[u8], start: usize, end: usize, strict: bool) -> Option<f64> {
    float(bytes.get(start..end)?, strict)
}

/// Whether there is a minus, and where the digits begin.
#[inline(always)]
fn signed(bytes: &[u8], start: usize, end: usize) -> (bool, usize) {
    let byte = if start < end { bytes.get(start).copied().unwrap_or(0) } else { 0 };
    (byte == b'-', start + usize::from((byte == b'-') | (byte == b'+')))
}

/// Whether nothing needs a second look: no zeros in front where those are refused.
#[inline(always)]
fn leading(bytes: &[u8], first: usize, end: usize, strict: bool) -> bool {
    let Some([zero, point]) = bytes.get(first..).and_then(|rest| rest.first_chunk()) else {
        return !strict || first + 1 >= end;
    };
    // Without branches: which digit a number begins with cannot be predicted.
    !strict | (first + 1 >= end) | (*zero != b'0') | (*point == b'.')
}

/// One to sixteen characters that are digits with at most one point: the digits as a number, and how many follow the point.
/// `None` for everything else, and where the word would begin before the bytes do.
#[inline(always)]
fn packed(bytes: &[u8], first: usize, end: usize) -> Option<(u64, Option<usize>)> {
    let length = end.wrapping_sub(first);
    if length.wrapping_sub(1) >= 16 {
        return None;
    }
    if length <= 8 {
        let word = word_before(bytes, end)? & (u64::MAX << (64 - 8 * length));
        let Some((low, point)) = point_in(word) else { return digits(word).map(|value| (value, None)) };
        // A point alone is no number.
        let joined = word & !(low | low << 8 | 0xff) | (word & low) << 8;
        return if length == 1 { None } else { Some((digits(joined)?, Some(7 - point))) };
    }
    let (high, low_word) = (word_before(bytes, end)?, word_before(bytes, end - 8)? & (u64::MAX << (128 - 8 * length)));
    let join = |a: u64, b: u64| Some(digits(a)? * 100_000_000 + digits(b)?);
    if let Some((low, point)) = point_in(high) {
        let moved = high & !(low | low << 8 | 0xff) | (high & low) << 8 | low_word >> 56;
        return Some((join(low_word << 8, moved)?, Some(7 - point)));
    }
    let Some((low, point)) = point_in(low_word) else { return join(low_word, high).map(|value| (value, None)) };
    let moved = low_word & !(low | low << 8 | 0xff) | (low_word & low) << 8;
    Some((join(moved, high)?, Some(15 - point)))
}

/// The eight bytes before `end`, the last of them highest, with the digits as 0 … 9.
#[inline(always)]
fn word_before(bytes: &[u8], end: usize) -> Option<u64> {
    let word: [u8; 8] = bytes.get(end.wrapping_sub(8)..end)?.try_into().ok()?;
    Some(u64::from_le_bytes(word) ^ 0x3030_3030_3030_3030)
}

/// The first point: ones in the bytes below it, and its number.
#[inline(always)]
fn point_in(word: u64) -> Option<(u64, usize)> {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let v = word ^ 0x1e1e_1e1e_1e1e_1e1e;
    let zero = !(((v & LOW) + LOW) | v | LOW);
    let place = zero.trailing_zeros() as usize / 8;
    (zero != 0).then(|| ((1u64 << (8 * place)) - 1, place))
}

/// Eight digits, the lowest byte first, if that is what they are.
#[inline(always)]
fn digits(word: u64) -> Option<u64> {
    if (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = word * 10 + (word >> 8);
    let (even, odd) = (pairs & PAIRS, pairs >> 16 & PAIRS);
    Some(even.wrapping_mul(0x000f_4240_0000_0064).wrapping_add(odd.wrapping_mul(0x0000_2710_0000_0001)) >> 32)
}

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

    /// Every text of up to six characters out of those that numbers are made of, and random longer ones, at any place.
    #[test]
    fn words_of_digits_are_the_plain_loops() {
        let alphabet = b"0179.-+e ";
        let check = |field: &[u8]| {
            for before in [&b""[..], b",", b"12345678,", b"..........,,", b"999999999999999999"] {
                let bytes = [before, field, b",17"].concat();
                let (start, end) = (before.len(), before.len() + field.len());
                for strict in [false, true] {
                    let shown = String::from_utf8_lossy(field);
                    assert_eq!(integer_at(&bytes, start, end, strict), integer(field, strict), "{shown}");
                    let bits = float_at(&bytes, start, end, strict).map(f64::to_bits);
                    assert_eq!(bits, float(field, strict).map(f64::to_bits), "{shown}");
                }
            }
        };
        for length in 0..=4u32 {
            for number in 0..alphabet.len().pow(length) {
                let digit = |place: u32| alphabet[number / alphabet.len().pow(place) % alphabet.len()];
                check(&(0..length).map(digit).collect::<Vec<u8>>());
            }
        }
        let mut state = 7u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let length = (state >> 59) as usize % 19;
            let mut field: Vec<u8> = (0..length).map(|i| b'0' + (state >> (2 * i + 7)) as u8 % 10).collect();
            if length > 0 {
                field[(state >> 40) as usize % length] = b"..-+59/:x\xff"[(state >> 20) as usize % 10];
            }
            check(&field);
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
