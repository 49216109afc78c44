//! Operations that move elements without computing; one file each. All are linear and most are views.

mod broadcast;
mod cast;
mod concat;
mod diagonal;
mod flip;
mod pad;
mod permute;
mod place;
mod reshape;
mod roll;
mod slice;
mod split;
mod tile;
mod triangle;

pub(crate) use broadcast::{broadcast_to, expand};
pub(crate) use cast::to_dtype;
pub(crate) use concat::{concat, stack};
pub(crate) use diagonal::{diag, diag_embed, diagonal};
pub(crate) use flip::flip;
pub(crate) use pad::pad;
pub(crate) use permute::{permute, swap_axes, transpose};
pub(crate) use reshape::{flatten, reshape, squeeze, unsqueeze};
pub(crate) use roll::roll;
pub(crate) use slice::{get, narrow, select, slice, slice_from};
pub(crate) use split::{broadcast_all, chunk, meshgrid, move_axis, split};
pub(crate) use tile::{repeat_interleave, tile};
pub(crate) use triangle::{tril, triu};
