//! The same operations in the same order, eight numbers to a register.

use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _mm_loadu_ps, _mm256_and_ps, _mm256_and_si256, _mm256_castps_si256, _mm256_castps128_ps256,
    _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_fmsub_ps, _mm256_fnmadd_ps, _mm256_insertf128_ps,
    _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps, _mm256_movemask_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_ps, _mm256_unpackhi_ps,
    _mm256_unpacklo_ps,
};

use super::{END, PER_UNIT, ROUNDER, TAIL, value, with_far};

/// Numbers in a register.
const LANES: usize = 8;
/// The coefficients piece by piece, none of which lies on two lines of the cache.
static PIECES: Pieces = Pieces(by_piece());

#[repr(align(64))]
struct Pieces([[f32; LANES]; 32]);

const fn by_piece() -> [[f32; LANES]; 32] {
    let mut pieces = [[0.0; LANES]; 32];
    let mut place = 0;
    while place < 32 * TAIL.len() {
        pieces[place % 32][place / 32] = TAIL[place / 32][place % 32];
        place += 1;
    }
    pieces
}

/// # Safety
/// As for [`row`](super::row).
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn row(x: *const f32, out: *mut f32, count: usize) {
    let whole = count - count % LANES;
    // SAFETY: by the caller's promise.
    unsafe {
        for i in (0..whole).step_by(LANES) {
            _mm256_storeu_ps(out.add(i), values(_mm256_loadu_ps(x.add(i))));
        }
        for i in whole..count {
            *out.add(i) = value(*x.add(i));
        }
    }
}

/// [`value`] of each number.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn values(x: __m256) -> __m256 {
    let (end, per_unit, rounder) = (_mm256_set1_ps(END), _mm256_set1_ps(PER_UNIT), _mm256_set1_ps(ROUNDER));
    let sign = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    // The order of the operands lets a NaN through.
    let a = _mm256_min_ps(end, _mm256_and_ps(sign, x));
    let shifted = _mm256_fmadd_ps(a, per_unit, rounder);
    let t = _mm256_fmsub_ps(a, per_unit, _mm256_sub_ps(shifted, rounder));
    let mut places = [0u32; LANES];
    let masked = _mm256_and_si256(_mm256_castps_si256(shifted), _mm256_set1_epi32(31));
    // SAFETY: eight places are as large as a register.
    unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), masked) };
    let low = transposed(&places, 0);
    let high = transposed(&places, 4);
    let mut tail = high[2];
    for coefficient in [high[1], high[0], low[3], low[2], low[1], low[0]] {
        tail = _mm256_fmadd_ps(tail, t, coefficient);
    }
    let found = _mm256_fnmadd_ps(a, tail, _mm256_max_ps(_mm256_setzero_ps(), x));
    let far = _mm256_cmp_ps::<_CMP_LT_OQ>(x, _mm256_set1_ps(-END));
    if _mm256_movemask_ps(far) != 0 { far_too(x, found) } else { found }
}

/// Four coefficients from this one on of the pieces at eight places, each in a register.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn transposed(places: &[u32; LANES], first: usize) -> [__m256; 4] {
    // SAFETY: places are below 32, and a piece has eight numbers.
    let of = |lane: usize| unsafe { _mm_loadu_ps(PIECES.0.get_unchecked(places[lane] as usize).as_ptr().add(first)) };
    let both = |lane: usize| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(of(lane)), of(lane + 4));
    let rows = [both(0), both(1), both(2), both(3)];
    let (low, high) = (_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[0], rows[1]));
    let (more_low, more_high) = (_mm256_unpacklo_ps(rows[2], rows[3]), _mm256_unpackhi_ps(rows[2], rows[3]));
    [
        _mm256_shuffle_ps::<0x44>(low, more_low),
        _mm256_shuffle_ps::<0xee>(low, more_low),
        _mm256_shuffle_ps::<0x44>(high, more_high),
        _mm256_shuffle_ps::<0xee>(high, more_high),
    ]
}

/// [`with_far`] in registers.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn far_too(x: __m256, found: __m256) -> __m256 {
    // SAFETY: eight numbers are as large as a register, and any bits are numbers.
    unsafe {
        let x = std::mem::transmute::<__m256, [f32; LANES]>(x);
        let found = std::mem::transmute::<__m256, [f32; LANES]>(found);
        std::mem::transmute::<[f32; LANES], __m256>(with_far(&x, found))
    }
}
