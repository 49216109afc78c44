//! AVX-512 and AVX2 registers.
#![allow(clippy::undocumented_unsafe_blocks)] // Every block is the single intrinsic that the trait method names.

use super::vector::Vector;
use std::arch::x86_64::*;

/// Rows `from + min(r, rows - 1) * stride` for `r` below `N`.
#[inline(always)]
unsafe fn rows_of<T, const N: usize>(from: *const T, stride: isize, rows: usize) -> [*const T; N] {
    std::array::from_fn(|r| unsafe { from.offset(r.min(rows - 1) as isize * stride) })
}

macro_rules! common {
    ($scalar:ty, $lanes:literal, $zero:ident, $splat:ident, $load:ident, $store:ident, $stream:ident, $fma:ident, $add:ident, $mul:ident, $max:ident) => {
        type Scalar = $scalar;
        const LANES: usize = $lanes;

        #[inline(always)]
        unsafe fn zero() -> Self {
            unsafe { $zero() }
        }
        #[inline(always)]
        unsafe fn splat(value: $scalar) -> Self {
            unsafe { $splat(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const $scalar) -> Self {
            unsafe { $load(from) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut $scalar) {
            unsafe { $store(to, self) }
        }
        #[inline(always)]
        unsafe fn stream(self, to: *mut $scalar) {
            unsafe { $stream(to.cast(), self) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            unsafe { $fma(self, factor, term) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { $add(self, other) }
        }
        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            unsafe { $mul(self, other) }
        }
        #[inline(always)]
        unsafe fn prefetch(at: *const $scalar) {
            unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
        }
        #[inline(always)]
        unsafe fn relu(self) -> Self {
            // The instruction returns its second operand when one is NaN.
            unsafe { $max($zero(), self) }
        }
    };
}

impl Vector for __m512 {
    type Mask = __mmask16;
    common!(
        f32,
        16,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_stream_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps,
        _mm512_mul_ps,
        _mm512_max_ps
    );

    #[inline(always)]
    unsafe fn mask(count: usize) -> __mmask16 {
        ((1u32 << count) - 1) as __mmask16
    }
    #[inline(always)]
    unsafe fn load_masked(from: *const f32, mask: __mmask16) -> Self {
        unsafe { _mm512_maskz_loadu_ps(mask, from) }
    }
    #[inline(always)]
    unsafe fn store_masked(self, to: *mut f32, mask: __mmask16) {
        unsafe { _mm512_mask_storeu_ps(to, mask, self) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: isize, rows: usize, to: *mut f32, to_stride: usize) {
        unsafe {
            let source: [*const f32; 16] = rows_of(from, stride, rows);
            // Quarter r of register i (i < 4) holds columns 4i..4i+4 of row 4q + r ... assembled from 128-bit loads, so
            // that the shuffles stay inside 128-bit lanes.
            for block in 0..4 {
                let quad = |r: usize| {
                    let part = |q: usize| _mm_loadu_ps(source[4 * q + r].add(4 * block));
                    let low = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(part(0)), part(1));
                    let high = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(part(2)), part(3));
                    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
                };
                let (a, b, c, d) = (quad(0), quad(1), quad(2), quad(3));
                let ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
                let ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
                let cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
                let cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
                let out = to.add(4 * block * to_stride);
                _mm512_storeu_ps(out, _mm512_castpd_ps(_mm512_unpacklo_pd(ab_low, cd_low)));
                _mm512_storeu_ps(out.add(to_stride), _mm512_castpd_ps(_mm512_unpackhi_pd(ab_low, cd_low)));
                _mm512_storeu_ps(out.add(2 * to_stride), _mm512_castpd_ps(_mm512_unpacklo_pd(ab_high, cd_high)));
                _mm512_storeu_ps(out.add(3 * to_stride), _mm512_castpd_ps(_mm512_unpackhi_pd(ab_high, cd_high)));
            }
        }
    }
}

impl Vector for __m512d {
    type Mask = __mmask8;
    common!(
        f64,
        8,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_stream_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd,
        _mm512_mul_pd,
        _mm512_max_pd
    );

    #[inline(always)]
    unsafe fn mask(count: usize) -> __mmask8 {
        ((1u32 << count) - 1) as __mmask8
    }
    #[inline(always)]
    unsafe fn load_masked(from: *const f64, mask: __mmask8) -> Self {
        unsafe { _mm512_maskz_loadu_pd(mask, from) }
    }
    #[inline(always)]
    unsafe fn store_masked(self, to: *mut f64, mask: __mmask8) {
        unsafe { _mm512_mask_storeu_pd(to, mask, self) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        unsafe { _mm512_reduce_add_pd(self) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f64, stride: isize, rows: usize, to: *mut f64, to_stride: usize) {
        unsafe {
            let source: [*const f64; 8] = rows_of(from, stride, rows);
            for block in 0..4 {
                let pair = |r: usize| {
                    let part = |q: usize| _mm_loadu_pd(source[2 * q + r].add(2 * block));
                    let low = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(part(0)), part(1));
                    let high = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(part(2)), part(3));
                    _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high)
                };
                let (a, b) = (pair(0), pair(1));
                let out = to.add(2 * block * to_stride);
                _mm512_storeu_pd(out, _mm512_unpacklo_pd(a, b));
                _mm512_storeu_pd(out.add(to_stride), _mm512_unpackhi_pd(a, b));
            }
        }
    }
}

/// All ones, then all zeros: a window into it is the mask of the first lanes.
static WINDOW_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
static WINDOW_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

impl Vector for __m256 {
    type Mask = __m256i;
    common!(
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_stream_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_mul_ps,
        _mm256_max_ps
    );

    #[inline(always)]
    unsafe fn mask(count: usize) -> __m256i {
        unsafe { _mm256_loadu_si256(WINDOW_32.as_ptr().add(8 - count).cast()) }
    }
    #[inline(always)]
    unsafe fn load_masked(from: *const f32, mask: __m256i) -> Self {
        unsafe { _mm256_maskload_ps(from, mask) }
    }
    #[inline(always)]
    unsafe fn store_masked(self, to: *mut f32, mask: __m256i) {
        unsafe { _mm256_maskstore_ps(to, mask, self) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe {
            let half = _mm_add_ps(_mm256_castps256_ps128(self), _mm256_extractf128_ps::<1>(self));
            let pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)))
        }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: isize, rows: usize, to: *mut f32, to_stride: usize) {
        unsafe {
            let source: [*const f32; 8] = rows_of(from, stride, rows);
            for block in 0..2 {
                let quad = |r: usize| {
                    let part = |q: usize| _mm_loadu_ps(source[4 * q + r].add(4 * block));
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(part(0)), part(1))
                };
                let (a, b, c, d) = (quad(0), quad(1), quad(2), quad(3));
                let ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
                let ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
                let cd_low = _mm256_castps_pd(_mm256_unpacklo_ps(c, d));
                let cd_high = _mm256_castps_pd(_mm256_unpackhi_ps(c, d));
                let out = to.add(4 * block * to_stride);
                _mm256_storeu_ps(out, _mm256_castpd_ps(_mm256_unpacklo_pd(ab_low, cd_low)));
                _mm256_storeu_ps(out.add(to_stride), _mm256_castpd_ps(_mm256_unpackhi_pd(ab_low, cd_low)));
                _mm256_storeu_ps(out.add(2 * to_stride), _mm256_castpd_ps(_mm256_unpacklo_pd(ab_high, cd_high)));
                _mm256_storeu_ps(out.add(3 * to_stride), _mm256_castpd_ps(_mm256_unpackhi_pd(ab_high, cd_high)));
            }
        }
    }
}

impl Vector for __m256d {
    type Mask = __m256i;
    common!(
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_stream_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_mul_pd,
        _mm256_max_pd
    );

    #[inline(always)]
    unsafe fn mask(count: usize) -> __m256i {
        unsafe { _mm256_loadu_si256(WINDOW_64.as_ptr().add(4 - count).cast()) }
    }
    #[inline(always)]
    unsafe fn load_masked(from: *const f64, mask: __m256i) -> Self {
        unsafe { _mm256_maskload_pd(from, mask) }
    }
    #[inline(always)]
    unsafe fn store_masked(self, to: *mut f64, mask: __m256i) {
        unsafe { _mm256_maskstore_pd(to, mask, self) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        unsafe {
            let half = _mm_add_pd(_mm256_castpd256_pd128(self), _mm256_extractf128_pd::<1>(self));
            _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
        }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f64, stride: isize, rows: usize, to: *mut f64, to_stride: usize) {
        unsafe {
            let source: [*const f64; 4] = rows_of(from, stride, rows);
            for block in 0..2 {
                let pair = |r: usize| {
                    let part = |q: usize| _mm_loadu_pd(source[2 * q + r].add(2 * block));
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(part(0)), part(1))
                };
                let (a, b) = (pair(0), pair(1));
                let out = to.add(2 * block * to_stride);
                _mm256_storeu_pd(out, _mm256_unpacklo_pd(a, b));
                _mm256_storeu_pd(out.add(to_stride), _mm256_unpackhi_pd(a, b));
            }
        }
    }
}
