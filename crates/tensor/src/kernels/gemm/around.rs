//! Large results of short sums, written around the caches.
//!
//! A store to memory that is not in a cache first fetches the line it is going to overwrite, and later writes it back. Where
//! the result is larger than the caches, every line makes both ways, and with a short inner dimension there is little
//! arithmetic to hide that behind. Whole lines are then stored without being fetched, which halves the traffic and
//! leaves the operands in the caches. The bits are the same.

use super::driver::{Block, LINE, Product};
use super::pack::PackB;
use super::table::GemmScalar;

/// Results above this many bytes would not be found in the caches by whoever reads them next. Measured: at 6 MB a product
/// with a pass over its result is a fifth slower around the caches, at 13 MB as fast or a fifth faster; the product alone
/// takes half the time there.
const LARGE: usize = 8 << 20;
/// Longest inner dimension for which writing the result is a good part of the work.
const SHORT: usize = 64;

impl<T: GemmScalar, B: PackB<T>> Product<'_, T, B> {
    /// Whether the block's whole panels go around the caches: rows must begin on a cache line, and nothing be added later.
    pub(super) fn goes_around(&self, block: Block) -> bool {
        let c = self.c;
        let aligned = |bytes: usize| bytes.is_multiple_of(LINE);
        let lines = c.col_stride == 1
            && aligned(c.ptr.addr())
            && aligned(c.row_stride.unsigned_abs() * size_of::<T>())
            && aligned(block.columns.0 * size_of::<T>());
        let once = block.first && block.last && !self.accumulate;
        once && lines && block.inner.1 <= SHORT && c.rows * c.cols * size_of::<T>() > LARGE
    }
}

/// Makes stores around the caches visible to whoever synchronises with this thread from now on.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
