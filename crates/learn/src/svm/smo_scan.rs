//! The SIMD passes over all variables in a step of SMO.
//!
//! The maximum is found block by block; only its block is scanned again for the index.

use tove_tensor::kernels::simd::{Kernel, dispatch};

const LANES: usize = 16;
/// Values per block.
const BLOCK: usize = 128;

/// The largest upper and the smallest lower score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    /// max(r + u).
    pub(super) top: f64,
    /// Its index; ties go to the first.
    pub(super) top_index: usize,
    /// min(r + l).
    pub(super) bottom: f64,
}

impl Best {
    /// The best of no scores.
    pub(super) const NONE: Best = Best { top: f64::NEG_INFINITY, top_index: 0, bottom: f64::INFINITY };

    /// The best of these scores.
    pub(super) fn of(residual: &[f64], upper: &[f64], lower: &[f64]) -> Best {
        let mut best = Best::NONE;
        for (index, &residual) in residual.iter().enumerate() {
            if residual + upper[index] > best.top {
                (best.top, best.top_index) = (residual + upper[index], index);
            }
            best.bottom = best.bottom.min(residual + lower[index]);
        }
        best
    }
}

/// r −= up · row + down · other; returns the best of the new scores.
pub(super) fn update(
    residual: &mut [f64],
    row: &[f32],
    up: f64,
    other: &[f32],
    down: f64,
    upper: &[f64],
    lower: &[f64],
) -> Best {
    dispatch(Update { residual, row, up, other, down, upper, lower })
}

struct Update<'a> {
    residual: &'a mut [f64],
    row: &'a [f32],
    up: f64,
    other: &'a [f32],
    down: f64,
    upper: &'a [f64],
    lower: &'a [f64],
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

impl Kernel for Update<'_> {
    type Output = Best;

    #[inline(always)]
    fn run(self) -> Best {
        let Update { residual, row, up, other, down, upper, lower } = self;
        let n = residual.len();
        let (row, other, upper, lower) = (&row[..n], &other[..n], &upper[..n], &lower[..n]);
        let (mut top, mut top_block, mut bottoms) = (f64::NEG_INFINITY, 0, [f64::INFINITY; LANES]);
        let mut start = 0;
        while start < n {
            let end = if start + BLOCK < n { start + BLOCK } else { n };
            let mut tops = [f64::NEG_INFINITY; LANES];
            let (residuals, rest) = residual[start..end].as_chunks_mut::<LANES>();
            let (rows, _) = row[start..end].as_chunks::<LANES>();
            let (others, _) = other[start..end].as_chunks::<LANES>();
            let (uppers, _) = upper[start..end].as_chunks::<LANES>();
            let (lowers, _) = lower[start..end].as_chunks::<LANES>();
            let chunks = residuals.len();
            for chunk in 0..chunks {
                let r = &mut residuals[chunk];
                for lane in 0..LANES {
                    let new = r[lane] - (up * rows[chunk][lane] as f64 + down * others[chunk][lane] as f64);
                    r[lane] = new;
                    tops[lane] = larger(new + uppers[chunk][lane], tops[lane]);
                    bottoms[lane] = smaller(new + lowers[chunk][lane], bottoms[lane]);
                }
            }
            for (lane, r) in rest.iter_mut().enumerate() {
                let index = start + chunks * LANES + lane;
                *r -= up * row[index] as f64 + down * other[index] as f64;
                tops[lane] = larger(*r + upper[index], tops[lane]);
                bottoms[lane] = smaller(*r + lower[index], bottoms[lane]);
            }
            let block = tops.into_iter().fold(f64::NEG_INFINITY, larger);
            if block > top {
                (top, top_block) = (block, start);
            }
            start = end;
        }
        let bottom = bottoms.into_iter().fold(f64::INFINITY, smaller);
        let end = n.min(top_block + BLOCK);
        let found = (top_block..end).find(|&index| residual[index] + upper[index] == top);
        Best { top, top_index: found.unwrap_or(0), bottom }
    }
}

/// Returns the partner j with the largest predicted gain (top − rⱼ − lⱼ)² / (Kᵢᵢ + Kⱼⱼ − 2Kᵢⱼ).
pub(super) fn gain(row: &[f32], own: f32, diagonal: &[f32], residual: &[f64], lower: &[f64], top: f64) -> usize {
    dispatch(Gain { row, own, diagonal, residual, lower, top })
}

struct Gain<'a> {
    row: &'a [f32],
    own: f32,
    diagonal: &'a [f32],
    residual: &'a [f64],
    lower: &'a [f64],
    top: f64,
}

impl Gain<'_> {
    #[inline(always)]
    fn of(row: f32, own: f32, diagonal: f32, residual: f64, lower: f64, top: f64) -> f32 {
        let slope = (top - (residual + lower)) as f32;
        let slope = if slope > 0.0 { slope } else { 0.0 };
        let curvature = own + diagonal - 2.0 * row;
        let curvature = if curvature > 1e-12 { curvature } else { 1e-12 };
        // Divide first: the square of a small slope would underflow.
        slope * (slope / curvature)
    }
}

impl Kernel for Gain<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Gain { row, own, diagonal, residual, lower, top } = self;
        let n = residual.len();
        let (row, diagonal, lower) = (&row[..n], &diagonal[..n], &lower[..n]);
        let (mut max, mut max_block) = (-1.0f32, 0);
        let mut start = 0;
        while start < n {
            let end = if start + BLOCK < n { start + BLOCK } else { n };
            let mut best = [-1.0f32; LANES];
            let (residuals, rest) = residual[start..end].as_chunks::<LANES>();
            let (rows, _) = row[start..end].as_chunks::<LANES>();
            let (diagonals, _) = diagonal[start..end].as_chunks::<LANES>();
            let (lowers, _) = lower[start..end].as_chunks::<LANES>();
            for chunk in 0..residuals.len() {
                for lane in 0..LANES {
                    let gain = Gain::of(
                        rows[chunk][lane],
                        own,
                        diagonals[chunk][lane],
                        residuals[chunk][lane],
                        lowers[chunk][lane],
                        top,
                    );
                    best[lane] = if gain > best[lane] { gain } else { best[lane] };
                }
            }
            for (lane, best) in best.iter_mut().enumerate().take(rest.len()) {
                let index = start + residuals.len() * LANES + lane;
                let gain = Gain::of(row[index], own, diagonal[index], residual[index], lower[index], top);
                *best = if gain > *best { gain } else { *best };
            }
            let block = best.into_iter().fold(-1.0f32, |a, b| if b > a { b } else { a });
            if block > max {
                (max, max_block) = (block, start);
            }
            start = end;
        }
        let end = n.min(max_block + BLOCK);
        let found = (max_block..end)
            .find(|&index| Gain::of(row[index], own, diagonal[index], residual[index], lower[index], top) == max);
        found.unwrap_or(0)
    }
}
