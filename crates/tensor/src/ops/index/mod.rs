//! Reading and writing at positions given by other tensors; one file per theme.
//!
//! Two pairs of mutually transposed maps carry all derivatives: [`select::index_select`] with `index_add` (whole rows),
//! and [`gather::gather`] with `scatter_add` (one position per element). Sorting, masks and numpy's indexing are composed
//! of them. Index tensors are i64; negative ones count from the end, as in numpy.

mod checked;
mod gather;
mod masked;
mod mode;
mod one_hot;
mod put;
mod resolve;
mod search;
mod select;
mod sort;
mod spec;
mod unique;

pub(crate) use gather::{gather, scatter_add};
pub(crate) use masked::{masked_fill, masked_scatter, masked_select, nonzero};
pub(crate) use mode::mode;
pub(crate) use one_hot::one_hot;
pub(crate) use put::{index_accumulate, index_fill, index_set, scatter};
pub(crate) use resolve::index;
pub(crate) use search::{bincount, searchsorted};
pub(crate) use select::{embedding, index_add, index_select};
pub(crate) use sort::{argsort, kthvalue, sort, topk};
pub use spec::{Ellipsis, Index, IntoIndices, NewAxis, Steppable, stepped};
pub use unique::Unique;
pub(crate) use unique::{unique, unique_axis};
