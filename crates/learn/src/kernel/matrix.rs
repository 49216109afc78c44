//! Kernel matrices, computed in tiles and in parallel.

use std::sync::{Mutex, PoisonError};

use tove_optim::{deadline, until};
use tove_tensor::linalg::eigh;
use tove_tensor::pool::parallel_for;
use tove_tensor::{Tensor, TryOps, TryUnary};

use super::{Features, KernelFunction, Part};
use crate::{LearnError, Real, Result, Rows, memory, with_real};

/// Rows and columns of a tile.
pub(super) const TILE: usize = 256;

/// K with K\[i, j\] = k(xᵢ, zⱼ), for x (n, d) and z (m, d), dense or sparse, in the precision of x.
pub fn kernel_matrix(kernel: &KernelFunction, x: impl Into<Rows>, z: impl Into<Rows>) -> Result<Tensor> {
    let (x, z) = (x.into(), z.into());
    for rows in [&x, &z] {
        if let Rows::Dense(rows) = rows
            && rows.rank() != 2
        {
            return Err(LearnError::NotTable { shape: rows.shape().to_string() });
        }
    }
    let (n, m) = (x.len(), z.len());
    if x.width() != z.width() {
        let problem = format!("rows with {} and {} columns; both must have the same columns", x.width(), z.width());
        return Err(LearnError::parameter("kernel_matrix", problem));
    }
    if !x.dtype().is_float() {
        return Err(LearnError::parameter("kernel_matrix", format!("rows of type {}; give f32 or f64", x.dtype())));
    }
    require_memory("kernel_matrix", n, m, x.dtype().size())?;
    let z = z.to_dtype(x.dtype());
    let dtype = x.dtype();
    let right = Features::new(z, kernel.clone())?;
    let left = right.with_same_center(x)?;
    let columns = parts(&right)?;
    with_real!(dtype, T => {
        let mut out = vec![<T as Real>::ZERO; n * m];
        let bands: Vec<Mutex<&mut [T]>> = out.chunks_mut((TILE * m).max(1)).map(Mutex::new).collect();
        over_tasks(bands.len(), |band| {
            let a = left.part(range(band, n))?;
            let mut out = bands[band].lock().unwrap_or_else(PoisonError::into_inner);
            for (tile, b) in columns.iter().enumerate() {
                let block = left.block(&a, b)?;
                for (row, values) in block.as_slice::<T>()?.chunks_exact(b.len().max(1)).enumerate() {
                    out[row * m + tile * TILE..][..b.len()].copy_from_slice(values);
                }
            }
            Ok(())
        })?;
        drop(bands);
        Ok(Tensor::try_from_vec(out, [n, m])?)
    })
}

/// Checks that a kernel matrix of n x m values fits in memory.
pub(crate) fn require_memory(who: &'static str, n: usize, m: usize, size: usize) -> Result<()> {
    let what = format!("a kernel matrix of {n} x {m} numbers");
    memory::require(who, what, memory::matrix(n, m, size), "take fewer samples, or a linear model")
}

/// K C for the kernel matrix K of `left` with `parts`, and coefficients C (m, k) split like the parts; K is never
/// stored as a whole.
pub(crate) fn product(left: &Features, parts: &[Part], coefficients: &[Tensor], outputs: usize) -> Result<Tensor> {
    let n = left.len();
    with_real!(left.dtype(), T => {
        let mut out = vec![<T as Real>::ZERO; n * outputs];
        let bands: Vec<Mutex<&mut [T]>> = out.chunks_mut((TILE * outputs).max(1)).map(Mutex::new).collect();
        over_tasks(bands.len(), |band| {
            let a = left.part(range(band, n))?;
            let mut out = bands[band].lock().unwrap_or_else(PoisonError::into_inner);
            for (b, c) in parts.iter().zip(coefficients) {
                let sums = left.block(&a, b)?.try_matmul(c)?;
                out.iter_mut().zip(sums.as_slice::<T>()?).for_each(|(out, &sum)| *out += sum);
            }
            Ok(())
        })?;
        drop(bands);
        Ok(Tensor::try_from_vec(out, [n, outputs])?)
    })
}

/// The kernel matrix (n, n) of the rows at these indices, in single precision: the upper triangle is computed and
/// mirrored.
pub(crate) fn symmetric_f32(features: &Features, indices: &[usize]) -> Result<Vec<f32>> {
    let n = indices.len();
    require_memory("kernel_matrix", n, n, size_of::<f32>())?;
    let mut out = vec![0.0f32; n * n];
    let bands: Vec<Mutex<&mut [f32]>> = out.chunks_mut((TILE * n).max(1)).map(Mutex::new).collect();
    // The longest bands first, for load balancing.
    over_tasks(bands.len(), |band| {
        let a = features.part(indices[range(band, n)].iter().copied())?;
        let mut out = bands[band].lock().unwrap_or_else(PoisonError::into_inner);
        for start in (band * TILE..n).step_by(TILE) {
            let own = start == band * TILE;
            let other = if own { None } else { Some(features.part(indices[range(start / TILE, n)].iter().copied())?) };
            let b = other.as_ref().unwrap_or(&a);
            let block = features.block(&a, b)?;
            with_real!(block.dtype(), T => {
                for (row, values) in block.as_slice::<T>()?.chunks_exact(b.len()).enumerate() {
                    let out = &mut out[row * n + start..][..b.len()];
                    out.iter_mut().zip(values).for_each(|(out, value)| *out = value.f64() as f32);
                }
            });
        }
        Ok(())
    })?;
    drop(bands);
    mirror(&mut out, n);
    require_single((0..n).map(|row| out[row * n + row]))?;
    Ok(out)
}

/// Checks that the kernel values of rows with themselves, which bound the others, are finite in single precision.
pub(crate) fn require_single(mut diagonal: impl Iterator<Item = f32>) -> Result<()> {
    if diagonal.all(f32::is_finite) {
        return Ok(());
    }
    let fix = "scale the features, for example with `StandardScaler`, or choose a smaller `degree` or `gamma`";
    Err(LearnError::data("kernel", "the kernel value of a row with itself overflows in single precision", fix))
}

/// The kernel values (a, b) between the rows at two lists of indices, in single precision.
pub(crate) fn between_f32(features: &Features, a: &[usize], b: &[usize]) -> Result<Vec<f32>> {
    let right = features.part(b.iter().copied())?;
    let mut out = Vec::with_capacity(a.len() * b.len());
    for indices in a.chunks(4 * TILE) {
        let block = features.block(&features.part(indices.iter().copied())?, &right)?;
        with_real!(block.dtype(), T => out.extend(block.as_slice::<T>()?.iter().map(|value| value.f64() as f32)));
    }
    Ok(out)
}

/// Mirrors the upper triangle to the lower one, in tiles that stay in the cache.
fn mirror(matrix: &mut [f32], n: usize) {
    const TILE_SIZE: usize = 32;
    for top in (0..n).step_by(TILE_SIZE) {
        for left in (0..=top).step_by(TILE_SIZE) {
            for row in top..(top + TILE_SIZE).min(n) {
                for column in left..(left + TILE_SIZE).min(row) {
                    matrix[row * n + column] = matrix[column * n + row];
                }
            }
        }
    }
}

/// Splits all rows into tiles.
fn parts(features: &Features) -> Result<Vec<Part>> {
    let n = features.len();
    (0..n.div_ceil(TILE)).map(|tile| features.part(range(tile, n))).collect()
}

fn range(tile: usize, n: usize) -> std::ops::Range<usize> {
    tile * TILE..((tile + 1) * TILE).min(n)
}

/// Runs tasks in parallel and returns the first error, if there is one.
pub(crate) fn over_tasks(tasks: usize, body: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let (failure, limit) = (Mutex::new(None), deadline());
    parallel_for(tasks, &|task| {
        // The time limit is thread-local and must be passed on.
        if let Err(error) = until(limit, || body(task)) {
            *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The smallest eigenvalue of a symmetric matrix.
///
/// ```
/// let k = tove_tensor::Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
/// assert!((tove_learn::kernel::smallest_eigenvalue(&k)? + 1.0).abs() < 1e-15);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn smallest_eigenvalue(k: &Tensor) -> Result<f64> {
    let values = eigh(k)?.values.to_f64_vec();
    Ok(values.into_iter().fold(f64::INFINITY, f64::min))
}

/// Whether a matrix is symmetric and positive semidefinite, both up to `tolerance` times its largest entry. A kernel
/// must be for SVMs and ridge regression to have a unique solution.
pub fn is_psd(k: &Tensor, tolerance: f64) -> Result<bool> {
    let asymmetry = k.try_sub(&k.try_swap_axes(0, 1)?)?.try_abs()?.try_max()?.to_f64_vec()[0];
    let size = k.try_abs()?.try_max()?.to_f64_vec()[0];
    Ok(asymmetry <= tolerance * size && smallest_eigenvalue(k)? >= -tolerance * size.max(1.0))
}
