//! Products of tall row blocks, the inner loops of all normal equations.
//!
//! A block holds rows of equal length `stride`, zero-padded to a multiple of [`LANES`]. `add_gram` adds BᵀB to a square
//! matrix in tiles that stay in registers while the rows are streamed; only tiles on or above the diagonal are
//! computed. `project` multiplies a block by a square matrix.

use tove_tensor::kernels::simd::{Isa, Kernel, dispatch, isa};

/// Columns per tile.
pub(super) const LANES: usize = 8;

/// The next multiple of [`LANES`].
pub(super) fn padded(columns: usize) -> usize {
    columns.next_multiple_of(LANES)
}

/// Adds the upper triangle (in tiles) of BᵀB to `gram` (stride × stride).
pub(super) fn add_gram(block: &[f64], stride: usize, gram: &mut [f64]) {
    if isa() == Isa::Avx512 {
        dispatch(Gram::<8> { block, stride, gram });
    } else {
        dispatch(Gram::<4> { block, stride, gram });
    }
}

/// Mirrors the upper triangle, which is complete, to the lower one.
pub(super) fn mirror(gram: &mut [f64], stride: usize) {
    for i in 0..stride {
        for j in 0..i {
            gram[i * stride + j] = gram[j * stride + i];
        }
    }
}

/// Adds vectors of equal length by pairwise summation in a fixed order, which keeps rounding errors small.
pub(super) fn pairwise(mut parts: Vec<Vec<f64>>) -> Vec<f64> {
    while parts.len() > 1 {
        let mut next = Vec::with_capacity(parts.len().div_ceil(2));
        let mut both = parts.into_iter();
        while let Some(mut first) = both.next() {
            if let Some(second) = both.next() {
                first.iter_mut().zip(&second).for_each(|(first, second)| *first += second);
            }
            next.push(first);
        }
        parts = next;
    }
    parts.pop().unwrap_or_default()
}

struct Gram<'a, const R: usize> {
    block: &'a [f64],
    stride: usize,
    gram: &'a mut [f64],
}

impl<const R: usize> Kernel for Gram<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Gram { block, stride, gram } = self;
        for top in (0..stride).step_by(R) {
            for left in (top / LANES * LANES..stride).step_by(LANES) {
                let tile = gram_tile::<R>(block, stride, top, left);
                for (row, sums) in tile.iter().enumerate() {
                    let start = (top + row) * stride + left;
                    for (out, sum) in gram[start..start + LANES].iter_mut().zip(sums) {
                        *out += sum;
                    }
                }
            }
        }
    }
}

/// Returns N values starting at `start`. The inner loops must not panic, otherwise the sums are kept in memory instead
/// of registers.
#[inline(always)]
fn at<const N: usize>(row: &[f64], start: usize) -> Option<&[f64; N]> {
    row.get(start..)?.first_chunk::<N>()
}

/// Σ over rows of the outer products of columns top … top + R with columns left … left + LANES.
#[inline(always)]
fn gram_tile<const R: usize>(block: &[f64], stride: usize, top: usize, left: usize) -> [[f64; LANES]; R] {
    let mut sums = [[0.0; LANES]; R];
    for row in block.chunks_exact(stride) {
        let (Some(a), Some(b)) = (at::<R>(row, top), at::<LANES>(row, left)) else { break };
        for r in 0..R {
            for lane in 0..LANES {
                sums[r][lane] = a[r].mul_add(b[lane], sums[r][lane]);
            }
        }
    }
    sums
}

/// `out = block · basis` for a block of rows of length `stride` and a basis (stride × stride).
pub(super) fn project(block: &[f64], stride: usize, basis: &[f64], out: &mut [f64]) {
    dispatch(Project { block, stride, basis, out });
}

struct Project<'a> {
    block: &'a [f64],
    stride: usize,
    basis: &'a [f64],
    out: &'a mut [f64],
}

/// Rows projected at once.
const ROWS_AT_ONCE: usize = 4;

impl Kernel for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Project { block, stride, basis, out } = self;
        let chunks = block.chunks_exact(ROWS_AT_ONCE * stride);
        let rest = chunks.remainder();
        let mut parts = out.chunks_exact_mut(ROWS_AT_ONCE * stride);
        for (rows, out) in chunks.zip(&mut parts) {
            project_rows::<ROWS_AT_ONCE>(rows, stride, basis, out);
        }
        for (row, out) in rest.chunks_exact(stride).zip(parts.into_remainder().chunks_exact_mut(stride)) {
            project_rows::<1>(row, stride, basis, out);
        }
    }
}

#[inline(always)]
fn project_rows<const R: usize>(rows: &[f64], stride: usize, basis: &[f64], out: &mut [f64]) {
    for left in (0..stride).step_by(LANES) {
        let mut sums = [[0.0; LANES]; R];
        for (i, line) in basis.chunks_exact(stride).enumerate() {
            let Some(b) = at::<LANES>(line, left) else { break };
            for (r, sums) in sums.iter_mut().enumerate() {
                let a = rows.get(r * stride + i).copied().unwrap_or(0.0);
                for (sum, &b) in sums.iter_mut().zip(b) {
                    *sum = a.mul_add(b, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            out[r * stride + left..r * stride + left + LANES].copy_from_slice(sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + 13) % 1000) as f64 / 500.0 - 1.0).collect()
    }

    #[test]
    fn gram_and_projection_equal_plain_loops() {
        let (rows, stride) = (37, 24);
        let (block, basis) = (noise(rows * stride), noise(stride * stride));
        let mut gram = vec![0.0; stride * stride];
        add_gram(&block, stride, &mut gram);
        mirror(&mut gram, stride);
        let mut out = vec![0.0; rows * stride];
        project(&block, stride, &basis, &mut out);
        for i in 0..stride {
            for j in 0..stride {
                let plain: f64 = (0..rows).map(|k| block[k * stride + i] * block[k * stride + j]).sum();
                assert!((gram[i * stride + j] - plain).abs() < 1e-12);
            }
        }
        for k in 0..rows {
            for j in 0..stride {
                let plain: f64 = (0..stride).map(|i| block[k * stride + i] * basis[i * stride + j]).sum();
                assert!((out[k * stride + j] - plain).abs() < 1e-12);
            }
        }
    }
}
