//! Smaller of two values; a NaN wins. Derivatives as for the larger, ties shared by halves.

use super::binary;
use super::maximum::{share, times_share};
use crate::autodiff::Saves;

binary! {
    /// min(a, b).
    Minimum, minimum, cost 1,
    |a, b| a.minimum(b),
    integers |a, b| a.min(b),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| times_share(t, &share(at.input(1 - index), at.input(index))?).map(Some)
}
