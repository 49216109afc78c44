//! The same operations in the same order, sixteen numbers to a register.

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
