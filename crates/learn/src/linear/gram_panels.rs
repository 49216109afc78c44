//! Gram matrices with many columns, by products of column panels.
//!
//! Above a few hundred columns the sums of `blocks.rs` no longer fit in a cache. Here a large chunk of rows is
//! multiplied by itself with the tensor matrix product, which is blocked for all cache levels. The columns are halved
//! recursively; of the four products of two halves one is a mirror image and is skipped.

use tove_tensor::{Tensor, TryOps};

use crate::{Real, Result};

/// Number of columns from which panels are used.
pub(super) const MIN_PANEL_COLUMNS: usize = 384;
/// Columns per panel. The full square of a panel is computed.
const PANEL: usize = 128;
/// Values in one chunk of rows.
const CHUNK: usize = 1 << 23;

/// Rows in one chunk of a matrix with this many columns.
pub(super) fn chunk_rows(columns: usize, rows: usize) -> usize {
    (CHUNK / columns.max(1)).clamp(256, rows.max(256))
}

/// Adds the upper triangle (in panels) of BᵀB to `gram`, for a block B (rows, width).
pub(super) fn add_products<T: Real>(block: &Tensor, gram: &mut [T]) -> Result<()> {
    let width = block.dims()[1];
    add_square(block, 0, width, gram)
}

fn add_square<T: Real>(block: &Tensor, first: usize, count: usize, gram: &mut [T]) -> Result<()> {
    if count <= PANEL {
        return add_panel(block, (first, count), (first, count), gram);
    }
    let half = (count / 2).next_multiple_of(8);
    add_square(block, first, half, gram)?;
    add_panel(block, (first, half), (first + half, count - half), gram)?;
    add_square(block, first + half, count - half, gram)
}

fn add_panel<T: Real>(block: &Tensor, rows: (usize, usize), columns: (usize, usize), gram: &mut [T]) -> Result<()> {
    let width = block.dims()[1];
    let left = block.try_narrow(1, rows.0, rows.1)?.try_t()?;
    let product = left.try_matmul(&block.try_narrow(1, columns.0, columns.1)?)?;
    for (i, row) in product.as_slice::<T>()?.chunks_exact(columns.1).enumerate() {
        let start = (rows.0 + i) * width + columns.0;
        gram[start..start + columns.1].iter_mut().zip(row).for_each(|(sum, &value)| *sum += value);
    }
    Ok(())
}
