//! Sine, cosine, tangent and their inverses.
//!
//! The angle is measured in quarter turns, x·2/π = n + f with |f| ≤ ½. For arguments of any size, write x = m 2^k with
//! an integer m and k ≥ 0 (k = 0 below 2^53): whole turns of 2^k·2/π drop out of the product, so that
//! its bits from the second before the point on suffice, cut into windows that multiply exactly (after Payne and Hanek,
//! 1983).
use super::coefficients::{
    ASIN64, ATAN64, COS32, COS64, HALF_PI, PI, QUARTER_PI, SIN32, SIN64, THREE_QUARTER_PI, TWO_OVER_PI,
};
use super::constants::{ROUNDER, fast_two_sum, polynomial, two_product, two_sum};
use super::pick;

/// The bits of 2/π two places later, so that bit 63 of word 0 weighs 2 and four quarter turns drop out at the top.
const TURNS: [u64; 20] = {
    let mut words = [TWO_OVER_PI[0] >> 2; 20];
    let mut i = 1;
    while i < 20 {
        words[i] = (TWO_OVER_PI[i - 1] << 62) | (TWO_OVER_PI[i] >> 2);
        i += 1;
    }
    words
};

/// `far` if the lowest bit of `bit` is 1, else `near`. Bit arithmetic, because the compiler turns a selection between
/// array elements into an indexed load, which keeps the loop from being vectorised.
#[inline(always)]
fn choose(near: u64, far: u64, bit: u64) -> u64 {
    near ^ ((near ^ far) & 0u64.wrapping_sub(bit & 1))
}

// Word i + ⌊k/64⌋ of `TURNS`, by one choice per binary digit of ⌊k/64⌋. Functions of a literal index rather than loops
// over arrays, so that everything stays in registers; what the calls have in common is computed once.

#[inline(always)]
fn word_by_8(i: usize, k: u64) -> u64 {
    choose(TURNS[i], TURNS[i + 8], k >> 9)
}

#[inline(always)]
fn word_by_4(i: usize, k: u64) -> u64 {
    choose(word_by_8(i, k), word_by_8(i + 4, k), k >> 8)
}

#[inline(always)]
fn word_by_2(i: usize, k: u64) -> u64 {
    choose(word_by_4(i, k), word_by_4(i + 2, k), k >> 7)
}

#[inline(always)]
fn word(i: usize, k: u64) -> u64 {
    choose(word_by_2(i, k), word_by_2(i + 1, k), k >> 6)
}

/// Bit `shift` of the pair becomes the first of the word.
#[inline(always)]
fn shift_bits(high: u64, low: u64, shift: u64) -> u64 {
    (high << shift) | ((low >> 1) >> (63 - shift))
}

/// An integer below 2^52 as a number.
#[inline(always)]
fn to_number(bits: u64) -> f64 {
    const BIAS: f64 = 4503599627370496.0; // 2^52
    f64::from_bits(bits | BIAS.to_bits()) - BIAS
}

const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// 2^k·2/π mod 4 in four windows of 52 bits, the first from 2^1 to 2^−50.
#[inline(always)]
fn turns(k: u64) -> [f64; 4] {
    let words = [word(0, k), word(1, k), word(2, k), word(3, k), word(4, k)];
    let shift = k & 63;
    let a = shift_bits(words[0], words[1], shift);
    let b = shift_bits(words[1], words[2], shift);
    let c = shift_bits(words[2], words[3], shift);
    let d = shift_bits(words[3], words[4], shift);
    [
        to_number(a >> 12) * power_of_two(-50),
        to_number(((a & 0xfff) << 40) | (b >> 24)) * power_of_two(-102),
        to_number(((b & 0xff_ffff) << 28) | (c >> 36)) * power_of_two(-154),
        to_number(((c & 0xf_ffff_ffff) << 16) | (d >> 48)) * power_of_two(-206),
    ]
}

/// The same for single precision: 29 bits, whose product with a 24-bit mantissa is exact, and the next 52.
#[inline(always)]
fn turns_single(k: u64) -> [f64; 2] {
    let far = k >> 6;
    let words = [choose(TURNS[0], TURNS[1], far), choose(TURNS[1], TURNS[2], far), choose(TURNS[2], TURNS[3], far)];
    let a = shift_bits(words[0], words[1], k & 63);
    let b = shift_bits(words[1], words[2], k & 63);
    [to_number(a >> 35) * power_of_two(-27), to_number(((a & 0x7_ffff_ffff) << 17) | (b >> 47)) * power_of_two(-79)]
}

/// x = m 2^k with k = 0 where m then has at most `bits` bits before the point. Infinities and NaN keep m not finite.
#[inline(always)]
fn mantissa(x: f64, bits: u64) -> (f64, u64) {
    let exponent = (x.to_bits() >> 52) & 0x7ff;
    let limit = 1022 + bits;
    let k = pick(exponent > limit, exponent.wrapping_sub(limit), 0);
    (x * f64::from_bits((1023 - k) << 52), k)
}

/// The quadrant (in the low bits) and the remaining fraction of a quarter turn as a sum of two numbers.
#[inline(always)]
fn reduce(x: f64) -> (u64, f64, f64) {
    let (m, k) = mantissa(x, 53);
    let parts = turns(k);
    let (p1, e1) = two_product(m, parts[0]);
    let (p2, e2) = two_product(m, parts[1]);
    let (p3, e3) = two_product(m, parts[2]);
    let p4 = m * parts[3];
    let p1 = p1 - 4.0 * (p1 * 0.25).round_ties_even();
    let (a, a_error) = two_sum(p1, p2);
    let (b, b_error) = two_sum(a, e1);
    let shifted = b + ROUNDER;
    let b = b - (shifted - ROUNDER);
    let (c, c_error) = two_sum(a_error, b_error);
    let (d, d_error) = two_sum(c, e2);
    let (g, g_error) = two_sum(d, p3);
    let (high, high_error) = two_sum(b, g);
    let tail = (c_error + d_error) + (g_error + (e3 + p4));
    let (high, low) = fast_two_sum(high, high_error + tail);
    (shifted.to_bits(), high, low)
}

/// Sine and cosine of f quarter turns.
#[inline(always)]
fn sin_cos_fraction(f: f64, low: f64) -> (f64, f64) {
    let z = f * f;
    let cubic = f64::mul_add(f * z, polynomial(z, &SIN64), f * HALF_PI[1]);
    let sine = f64::mul_add(f, HALF_PI[0], f64::mul_add(low, HALF_PI[0], cubic));
    let cosine = 1.0 + f64::mul_add(z, polynomial(z, &COS64), -2.4674011002723395 * f * low);
    (sine, cosine)
}

/// The sine of `quadrant` + f quarter turns.
#[inline(always)]
fn turn(quadrant: u64, sine: f64, cosine: f64) -> f64 {
    let value = pick(quadrant & 1 == 0, sine, cosine);
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
}

#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    let (quadrant, f, low) = reduce(x);
    let (sine, cosine) = sin_cos_fraction(f, low);
    pick(x.abs() < 1e-8, x, turn(quadrant, sine, cosine))
}

#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    let (quadrant, f, low) = reduce(x);
    let (sine, cosine) = sin_cos_fraction(f, low);
    turn(quadrant.wrapping_add(1), sine, cosine)
}

#[inline(always)]
pub(super) fn tan(x: f64) -> f64 {
    let (quadrant, f, low) = reduce(x);
    let (sine, cosine) = sin_cos_fraction(f, low);
    let value = turn(quadrant, sine, cosine) / turn(quadrant.wrapping_add(1), sine, cosine);
    pick(x.abs() < 1e-8, x, value)
}

/// Sine and cosine for single precision, computed in double.
#[inline(always)]
fn sin_cos_single(x: f32) -> (u64, f64, f64) {
    let (m, k) = mantissa(f64::from(x), 24);
    let parts = turns_single(k);
    let product = m * parts[0];
    let shifted = product + ROUNDER;
    let f = f64::mul_add(m, parts[1], product - (shifted - ROUNDER));
    let z = f * f;
    (shifted.to_bits(), f * polynomial(z, &SIN32), polynomial(z, &COS32))
}

#[inline(always)]
pub(super) fn sin_single(x: f32) -> f32 {
    let (quadrant, sine, cosine) = sin_cos_single(x);
    turn(quadrant, sine, cosine) as f32
}

#[inline(always)]
pub(super) fn cos_single(x: f32) -> f32 {
    let (quadrant, sine, cosine) = sin_cos_single(x);
    turn(quadrant.wrapping_add(1), sine, cosine) as f32
}

#[inline(always)]
pub(super) fn tan_single(x: f32) -> f32 {
    let (quadrant, sine, cosine) = sin_cos_single(x);
    (turn(quadrant, sine, cosine) / turn(quadrant.wrapping_add(1), sine, cosine)) as f32
}

/// asin x = x + x³ P(x²) up to ½; above, asin x = π/2 − 2 asin √((1−x)/2). Returns the square root with its error, the
/// odd series beyond the first term, and whether x is large.
#[inline(always)]
fn asin_parts(x: f64) -> (f64, f64, f64, bool) {
    let a = x.abs();
    let large = a > 0.5;
    let z = pick(large, f64::mul_add(a, -0.5, 0.5), a * a);
    let root = z.sqrt();
    let error = pick(root > 0.0, f64::mul_add(-root, root, z) / (2.0 * root), 0.0);
    let s = pick(large, root, a);
    let error = pick(large, error, 0.0);
    (s, error, s * z * polynomial(z, &ASIN64), large)
}

#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    let (s, error, odd, large) = asin_parts(x);
    let folded = HALF_PI[0] - (2.0 * s + f64::mul_add(2.0, error + odd, -HALF_PI[1]));
    pick(large, folded, s + odd).copysign(x)
}

#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    let (s, error, odd, large) = asin_parts(x);
    let double = 2.0 * (s + (error + odd));
    let folded = pick(x < 0.0, PI[0] - (double - PI[1]), double);
    let (signed, odd) = (s.copysign(x), odd.copysign(x));
    pick(large, folded, HALF_PI[0] - (signed - (HALF_PI[1] - odd)))
}

/// The angle of the point (b, a) with a, b ≥ 0 in three ranges around 0, π/4 and π/2: which, and the distance from it.
#[inline(always)]
fn angle(a: f64, b: f64) -> (bool, bool, f64) {
    let low = a <= b * 0.41421356237309503;
    let middle = !low && a <= b * 2.414213562373095;
    let numerator = pick(low, a, pick(middle, a - b, -b));
    let denominator = pick(low, b, pick(middle, a + b, a));
    let t = numerator / denominator;
    let t = pick(a == 0.0 && b == 0.0, 0.0, t);
    let z = t * t;
    (low, middle, f64::mul_add(t * z, polynomial(z, &ATAN64), t))
}

#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    let (low, middle, rest) = angle(x.abs(), 1.0);
    let high = pick(low, 0.0, pick(middle, QUARTER_PI[0], HALF_PI[0]));
    let tail = pick(low, 0.0, pick(middle, QUARTER_PI[1], HALF_PI[1]));
    (high + (rest + tail)).copysign(x)
}

#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    let both_infinite = a == f64::INFINITY && b == f64::INFINITY;
    // Huge sides are halved twice so that their sum stays finite, tiny ones enlarged so that their products are normal.
    let factor = pick(a > 1e307 || b > 1e307, 0.25, pick(a < 1e-290 && b < 1e-290, 1e18, 1.0));
    let (a, b) = (pick(both_infinite, 1.0, a * factor), pick(both_infinite, 1.0, b * factor));
    let (low, middle, rest) = angle(a, b);
    let left = x.is_sign_negative();
    let near = pick(left, PI, [0.0, 0.0]);
    let diagonal = pick(left, THREE_QUARTER_PI, QUARTER_PI);
    let high = pick(low, near[0], pick(middle, diagonal[0], HALF_PI[0]));
    let tail = pick(low, near[1], pick(middle, diagonal[1], HALF_PI[1]));
    let rest = pick(left, -rest, rest);
    let value = (high + (rest + tail)).copysign(y);
    pick(x.is_nan() || y.is_nan(), f64::NAN, value)
}
