//! x Φ(x) from a table: max(x, 0) − a Φ(−a) for a = |x|, rounded once.
//!
//! Φ(−a) is a polynomial of degree 6 on each of 32 pieces of equal length, a K = j + t with |t| ≤ ½. With AVX-512 the
//! coefficients of sixteen numbers are one permutation of two registers, so that there is neither an exponential nor a
//! division. The pieces end where x − a Φ(−a) rounds to x. What lies beyond on the left is computed behind a branch that is
//! seldom taken, as a Φ(−a) = ½ e^(−(a² + m)/2), where m is almost constant: a polynomial in 1/a². Errors stay below 1.7
//! units in the last place.

use super::super::math::{Float, pick};
#[cfg(target_arch = "x86_64")]
use super::super::simd::{Isa, isa};
use super::coefficients::{BEYOND, PER_UNIT, TAIL};
use super::{FAR, ROUNDER, exponential};

/// Where the last piece ends, just before the next would begin.
const END: f32 = 31.4 / PER_UNIT;
/// ln 2 less its nearest number.
const LN_2_LOW: f32 = -1.904_654_2e-9;
/// Numbers that are computed side by side where the instruction set has no such permutations.
const BLOCK: usize = 16;

/// x Φ(x) for either type; conversions to and from the same type cost nothing.
#[inline(always)]
pub(crate) fn value_of<T: Float>(x: T) -> T {
    if size_of::<T>() == 4 { T::from_f64(f64::from(value(x.to_f64() as f32))) } else { x.gelu() }
}

/// x Φ(x) of contiguous numbers.
///
/// # Safety
/// `count` numbers can be read from `x` and written to `out`, which are the same memory or do not overlap.
#[inline(always)]
pub(crate) unsafe fn row<T: Float>(x: *const T, out: *mut T, count: usize) {
    // SAFETY: by the caller's promise; the one type of four bytes is `f32`.
    unsafe {
        if size_of::<T>() == 4 {
            return row_single(x.cast(), out.cast(), count);
        }
        for i in 0..count {
            *out.add(i) = (*x.add(i)).gelu();
        }
    }
}

/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn row_single(x: *const f32, out: *mut f32, count: usize) {
    #[cfg(target_arch = "x86_64")]
    if isa() == Isa::Avx512 {
        // SAFETY: the processor has the instructions, and the caller promises the rest.
        return unsafe { wide::row(x, out, count) };
    }
    let whole = count - count % BLOCK;
    // SAFETY: by the caller's promise; a block is read before it is written.
    unsafe {
        for i in (0..whole).step_by(BLOCK) {
            *out.add(i).cast() = block(*x.add(i).cast());
        }
        for i in whole..count {
            *out.add(i) = value(*x.add(i));
        }
    }
}

#[inline(always)]
fn value(x: f32) -> f32 {
    if x < -END { far(x) } else { near(x) }
}

#[inline(always)]
fn block(x: [f32; BLOCK]) -> [f32; BLOCK] {
    let (mut out, mut far) = ([0.0; BLOCK], 0);
    for lane in 0..BLOCK {
        out[lane] = near(x[lane]);
        far |= u32::from(x[lane] < -END);
    }
    if far != 0 { with_far(&x, out) } else { out }
}

/// `out` with the values of numbers on the left of all pieces put in. Inlined, as everything else would be compiled without
/// fused multiplication; and all lanes are computed, which becomes vector code.
#[inline(always)]
fn with_far(x: &[f32; BLOCK], mut out: [f32; BLOCK]) -> [f32; BLOCK] {
    for lane in 0..BLOCK {
        out[lane] = pick(x[lane] < -END, far(x[lane]), out[lane]);
    }
    out
}

/// x Φ(x) for x ≥ −[`END`].
#[inline(always)]
fn near(x: f32) -> f32 {
    let magnitude = x.abs();
    let a = pick(magnitude > END, END, magnitude);
    let shifted = f32::mul_add(a, PER_UNIT, ROUNDER);
    let t = f32::mul_add(a, PER_UNIT, -(shifted - ROUNDER));
    let piece = (shifted.to_bits() & 31) as usize;
    let mut tail = TAIL[6][piece];
    for power in [5, 4, 3, 2, 1, 0] {
        tail = f32::mul_add(tail, t, TAIL[power][piece]);
    }
    f32::mul_add(-a, tail, if x < 0.0 { 0.0 } else { x })
}

/// x Φ(x) for x < −[`END`].
#[inline(always)]
fn far(x: f32) -> f32 {
    const HALF: f32 = -2.710_505_4e-20; // −½ · 2^−64
    let a = pick(-x > FAR, FAR, -x);
    let square = a * a;
    let inverse = 1.0 / square;
    let mut m = BEYOND[5];
    for coefficient in [BEYOND[4], BEYOND[3], BEYOND[2], BEYOND[1], BEYOND[0]] {
        m = f32::mul_add(m, inverse, coefficient);
    }
    let shifted = f32::mul_add(square + m, -0.5 * std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    // What rounding ln 2 and the square lose.
    let lost = f32::mul_add(n, 2.0 * LN_2_LOW, f32::mul_add(a, a, -square));
    let s = (f32::mul_add(n, 2.0 * std::f32::consts::LN_2, square) + m) + lost;
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(127 + 64) << 23);
    f32::mul_add(scale, exponential(s), scale) * HALF
}

/// The same operations in the same order, sixteen numbers to a register.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m512, _CMP_LT_OQ, _mm512_abs_ps, _mm512_castps_si512, _mm512_cmp_ps_mask, _mm512_fmadd_ps, _mm512_fmsub_ps,
        _mm512_fnmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_min_ps,
        _mm512_permutex2var_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps, _mm512_sub_ps,
    };

    use super::{BLOCK, END, PER_UNIT, ROUNDER, TAIL, with_far};

    /// # Safety
    /// As for [`row`](super::row).
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) unsafe fn row(x: *const f32, out: *mut f32, count: usize) {
        let mut i = 0;
        // SAFETY: by the caller's promise; masked places are not touched.
        unsafe {
            // Two registers at once: what one waits for, the other fills.
            while i + 2 * BLOCK <= count {
                let found = values([_mm512_loadu_ps(x.add(i)), _mm512_loadu_ps(x.add(i + BLOCK))]);
                _mm512_storeu_ps(out.add(i), found[0]);
                _mm512_storeu_ps(out.add(i + BLOCK), found[1]);
                i += 2 * BLOCK;
            }
            while i < count {
                let mask = if count - i < BLOCK { (1 << (count - i)) - 1 } else { u16::MAX };
                let found = values([_mm512_maskz_loadu_ps(mask, x.add(i))]);
                _mm512_mask_storeu_ps(out.add(i), mask, found[0]);
                i += BLOCK;
            }
        }
    }

    /// [`value`](super::value) of each number.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    #[inline]
    fn values<const N: usize>(x: [__m512; N]) -> [__m512; N] {
        let (end, per_unit, rounder) = (_mm512_set1_ps(END), _mm512_set1_ps(PER_UNIT), _mm512_set1_ps(ROUNDER));
        let (mut a, mut shifted, mut t) = (x, x, x);
        for k in 0..N {
            // The order of the operands lets a NaN through.
            a[k] = _mm512_min_ps(end, _mm512_abs_ps(x[k]));
            shifted[k] = _mm512_fmadd_ps(a[k], per_unit, rounder);
            t[k] = _mm512_fmsub_ps(a[k], per_unit, _mm512_sub_ps(shifted[k], rounder));
        }
        let mut tail = [_mm512_setzero_ps(); N];
        for power in [6, 5, 4, 3, 2, 1, 0] {
            // SAFETY: a row of the table has 32 numbers.
            let (low, high) =
                unsafe { (_mm512_loadu_ps(TAIL[power].as_ptr()), _mm512_loadu_ps(TAIL[power].as_ptr().add(16))) };
            for k in 0..N {
                let coefficient = _mm512_permutex2var_ps(low, _mm512_castps_si512(shifted[k]), high);
                tail[k] = if power == 6 { coefficient } else { _mm512_fmadd_ps(tail[k], t[k], coefficient) };
            }
        }
        let (mut found, mut far) = (tail, 0);
        for k in 0..N {
            found[k] = _mm512_fnmadd_ps(a[k], tail[k], _mm512_max_ps(_mm512_setzero_ps(), x[k]));
            far |= _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x[k], _mm512_set1_ps(-END));
        }
        if far != 0 {
            for k in 0..N {
                found[k] = far_too(x[k], found[k]);
            }
        }
        found
    }

    /// [`with_far`] in registers.
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    fn far_too(x: __m512, found: __m512) -> __m512 {
        // SAFETY: sixteen numbers are as large as a register, and any bits are numbers.
        unsafe {
            let x = std::mem::transmute::<__m512, [f32; BLOCK]>(x);
            let found = std::mem::transmute::<__m512, [f32; BLOCK]>(found);
            std::mem::transmute::<[f32; BLOCK], __m512>(with_far(&x, found))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::simd::{Kernel, dispatch};
    use super::*;

    /// The error in units of the last place of the wanted number.
    fn units(got: f32, wanted: f64) -> f64 {
        let nearest = (wanted as f32).abs();
        (f64::from(got) - wanted).abs() / (f64::from(nearest.next_up()) - f64::from(nearest))
    }

    fn row_of(x: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; x.len()];
        // SAFETY: both have the same length.
        unsafe { row(x.as_ptr(), out.as_mut_ptr(), x.len()) };
        out
    }

    /// Turns numbers into their values in double precision, which the tests of the functions hold against mpmath.
    struct Exact<'a>(&'a mut [f64]);

    impl Kernel for Exact<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            for x in self.0 {
                *x = Float::gelu(*x);
            }
        }
    }

    fn worst(patterns: impl Iterator<Item = u32>) -> (f64, f32) {
        let x: Vec<f32> = patterns.map(f32::from_bits).collect();
        let mut exact: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        dispatch(Exact(&mut exact));
        let mut worst = (0.0, 0.0);
        for ((&x, got), wanted) in x.iter().zip(row_of(&x)).zip(exact) {
            if wanted.is_finite() && (wanted as f32).is_finite() {
                let error = units(got, wanted);
                worst = if error > worst.0 { (error, x) } else { worst };
            }
        }
        worst
    }

    #[test]
    fn the_value_is_accurate_everywhere() {
        let (middle, left) = (0.01f32.to_bits(), (-15.0f32).to_bits());
        let everywhere = worst((0..=u32::MAX).step_by(997));
        // Where the table is used, and where x Φ(x) is tiny.
        let near = worst((middle..6f32.to_bits()).step_by(41));
        let below = worst(((-0.01f32).to_bits()..left).step_by(41));
        for (error, x) in [everywhere, near, below] {
            println!("{error:.3} units at {x}");
            assert!(error <= 2.0, "{error} units at {x}");
        }
    }

    #[test]
    fn special_values_and_the_ends_of_the_pieces() {
        let x = [f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, END, -END, END.next_up(), -END.next_up(), 1e-40, -1e-40];
        let y = row_of(&x);
        assert_eq!(y[..4], [f32::INFINITY, 0.0, 0.0, 0.0]);
        assert!(y[1].is_sign_negative() && y[3].is_sign_negative());
        assert!(row_of(&[f32::NAN])[0].is_nan());
        for (x, y) in x.into_iter().zip(y).skip(4) {
            assert!(units(y, Float::gelu(f64::from(x))) <= 2.0, "{y} at {x}");
        }
    }

    /// Rows of any length, in place too, have the bits of single numbers.
    #[test]
    fn rows_are_values_bit_by_bit() {
        for count in (0..70).chain([1000]) {
            let x: Vec<f32> = (0..count).map(|i| (i * 7919 % 1009) as f32 / 64.0 - 8.0).collect();
            let wanted: Vec<u32> = x.iter().map(|&x| value(x).to_bits()).collect();
            assert_eq!(row_of(&x).iter().map(|y| y.to_bits()).collect::<Vec<_>>(), wanted);
            let mut own = x.clone();
            // SAFETY: the same memory on both sides.
            unsafe { row(own.as_ptr(), own.as_mut_ptr(), count) };
            assert_eq!(own.iter().map(|y| y.to_bits()).collect::<Vec<_>>(), wanted);
            let (blocks, rest) = x.as_chunks::<BLOCK>();
            let portable = blocks.iter().flat_map(|&x| block(x)).chain(rest.iter().map(|&x| value(x)));
            assert_eq!(portable.map(f32::to_bits).collect::<Vec<_>>(), wanted);
        }
    }
}
