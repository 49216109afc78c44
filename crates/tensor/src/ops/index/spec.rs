//! What may stand between numpy's square brackets, as Rust values.
//!
//! | numpy | here |
//! |---|---|
//! | `x[1]` | `x.index(1)` |
//! | `x[-1, 2:]` | `x.index((-1, 2..))` |
//! | `x[:, ::-1]` | `x.index((.., stepped(.., -1)))` |
//! | `x[..., None]` | `x.index((Ellipsis, NewAxis))` |
//! | `x[rows, columns]` | `x.index((&rows, &columns))` |
//! | `x[x > 0]` | `x.index(&x.gt_scalar(0.0))` |

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::Tensor;

/// One entry of an index.
#[derive(Clone, Debug)]
pub enum Index {
    /// A position; its axis disappears. Negative ones count from the end.
    At(i64),
    /// Every `step`-th position from `start` to before `end`; missing bounds reach to the end of the axis. Negative
    /// bounds count from the end, a negative step walks backwards, and bounds outside the axis are cut, as in numpy.
    Range {
        /// First position.
        start: Option<i64>,
        /// Position before which to stop.
        end: Option<i64>,
        /// Distance between positions; not zero.
        step: i64,
    },
    /// A new axis of size 1.
    NewAxis,
    /// As many whole axes as are missing.
    Ellipsis,
    /// Positions (i64), or a mask (bool) that covers as many axes as it has.
    Tensor(Tensor),
}

/// A new axis of size 1 in an index; `None` in numpy.
#[derive(Clone, Copy, Debug)]
pub struct NewAxis;

/// As many whole axes as are missing in an index; `...` in numpy.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsis;

/// A range with a step, for [`Tensor::index`].
///
/// ```
/// use tove_tensor::{Tensor, stepped};
/// let x = Tensor::arange(0, 6);
/// assert_eq!(x.index(stepped(1.., 2)).to_vec::<i64>(), [1, 3, 5]);
/// assert_eq!(x.index(stepped(.., -2)).to_vec::<i64>(), [5, 3, 1]);
/// ```
/// An inclusive range includes its last position whichever way it is walked: `stepped(4..=0, -1)` is 4, 3, 2, 1, 0.
pub fn stepped(range: impl Steppable, step: i64) -> Index {
    range.with_step(step)
}

/// Ranges that [`stepped`] takes.
pub trait Steppable {
    /// The range with this distance between positions.
    fn with_step(self, step: i64) -> Index;
}

/// An index that is a range, with a step; others stay as they are.
impl Steppable for Index {
    fn with_step(self, step: i64) -> Index {
        match self {
            Index::Range { start, end, .. } => Index::Range { start, end, step },
            other => other,
        }
    }
}

impl Steppable for RangeFull {
    fn with_step(self, step: i64) -> Index {
        Index::Range { start: None, end: None, step }
    }
}

impl From<NewAxis> for Index {
    fn from(_: NewAxis) -> Index {
        Index::NewAxis
    }
}

impl From<Ellipsis> for Index {
    fn from(_: Ellipsis) -> Index {
        Index::Ellipsis
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::Range { start: None, end: None, step: 1 }
    }
}

impl From<Tensor> for Index {
    fn from(index: Tensor) -> Index {
        Index::Tensor(index)
    }
}

impl From<&Tensor> for Index {
    fn from(index: &Tensor) -> Index {
        Index::Tensor(index.clone())
    }
}

impl From<&Index> for Index {
    fn from(index: &Index) -> Index {
        index.clone()
    }
}

/// The bound behind an inclusive one in the direction of the step; behind the last position of the axis there is only
/// its end, and before the first only its beginning.
fn beyond(last: i64, step: i64) -> Option<i64> {
    if step < 0 { (last != 0).then(|| last.saturating_sub(1)) } else { last.checked_add(1).filter(|&end| end != 0) }
}

/// A position as it is kept. One too large to keep lies outside of every axis, as does the largest that can be kept.
fn kept<N>(position: N) -> i64
where
    i64: TryFrom<N>,
{
    i64::try_from(position).unwrap_or(i64::MAX)
}

macro_rules! ranges {
    ($($t:ty |$range:ident, $step:ident| $bounds:expr;)*) => {$(
        impl Steppable for $t {
            fn with_step(self, $step: i64) -> Index {
                let $range = self;
                let (start, end) = $bounds;
                Index::Range { start, end, step: $step }
            }
        }
        impl From<$t> for Index {
            fn from(range: $t) -> Index {
                range.with_step(1)
            }
        }
    )*};
}

macro_rules! whole_numbers {
    ($($t:ident)*) => {$(
        impl From<$t> for Index {
            fn from(position: $t) -> Index {
                Index::At(kept(position))
            }
        }
        ranges! {
            Range<$t> |range, step| (Some(kept(range.start)), Some(kept(range.end)));
            RangeFrom<$t> |range, step| (Some(kept(range.start)), None);
            RangeTo<$t> |range, step| (None, Some(kept(range.end)));
            RangeInclusive<$t> |range, step| (Some(kept(*range.start())), beyond(kept(*range.end()), step));
            RangeToInclusive<$t> |range, step| (None, beyond(kept(range.end), step));
        }
        single! {
            $t, Range<$t>, RangeFrom<$t>, RangeTo<$t>, RangeInclusive<$t>, RangeToInclusive<$t>,
        }
    )*};
}

/// What [`Tensor::index`] takes: one entry, a tuple of up to six, or a list of [`Index`].
pub trait IntoIndices {
    /// The entries in order.
    fn into_indices(self) -> Vec<Index>;
}

macro_rules! single {
    ($($t:ty,)*) => {$(
        impl IntoIndices for $t {
            fn into_indices(self) -> Vec<Index> {
                vec![self.into()]
            }
        }
    )*};
}
whole_numbers! { i32 i64 isize usize }
single! { RangeFull, NewAxis, Ellipsis, Tensor, &Tensor, Index, }

macro_rules! tuples {
    ($(($($t:ident $name:ident),*))*) => {$(
        impl<$($t: Into<Index>),*> IntoIndices for ($($t,)*) {
            fn into_indices(self) -> Vec<Index> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    )*};
}
tuples! {
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, F f)
}

impl IntoIndices for () {
    fn into_indices(self) -> Vec<Index> {
        Vec::new()
    }
}

impl IntoIndices for Vec<Index> {
    fn into_indices(self) -> Vec<Index> {
        self
    }
}

impl IntoIndices for &[Index] {
    fn into_indices(self) -> Vec<Index> {
        self.to_vec()
    }
}

impl<const N: usize> IntoIndices for [Index; N] {
    fn into_indices(self) -> Vec<Index> {
        self.into()
    }
}
