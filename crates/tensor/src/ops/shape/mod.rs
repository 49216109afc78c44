//! Operations that move elements without computing; one file each. All are linear and most are views.

mod broadcast;
mod cast;
mod concat;
mod permute;
mod reshape;
mod slice;

pub(crate) use broadcast::{broadcast_to, expand};
pub(crate) use cast::to_dtype;
pub(crate) use concat::{concat, stack};
pub(crate) use permute::{permute, swap_axes, transpose};
pub(crate) use reshape::{flatten, reshape, squeeze, unsqueeze};
pub(crate) use slice::{narrow, select, slice};
