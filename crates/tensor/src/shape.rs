//! Shapes, strides and numpy's broadcasting rule.
//!
//! Sizes are kept inline up to rank [`INLINE`], so that making and copying a shape allocates nothing.
//!
//! ```
//! use tove_tensor::Shape;
//! let shape = Shape::from([2, 3]);
//! assert_eq!((shape.rank(), shape.numel(), shape.to_string()), (2, 6, "(2, 3)".to_string()));
//! assert_eq!(shape.broadcast(&Shape::from([3])), Some(shape.clone()));
//! ```

use std::fmt;
use std::ops::Deref;

/// Ranks up to this need no allocation.
pub const INLINE: usize = 6;

/// A short list kept inline up to [`INLINE`] entries; unused ones hold the default.
#[derive(Clone)]
pub(crate) enum Short<T> {
    Inline(u8, [T; INLINE]),
    Heap(Box<[T]>),
}

impl<T: Copy + Default> Short<T> {
    #[inline]
    pub(crate) fn from_slice(items: &[T]) -> Self {
        if items.len() <= INLINE {
            let mut inline = [T::default(); INLINE];
            inline[..items.len()].copy_from_slice(items);
            Short::Inline(items.len() as u8, inline)
        } else {
            Short::Heap(items.into())
        }
    }

    #[inline]
    pub(crate) fn filled(len: usize, value: T) -> Self {
        if len > INLINE {
            return Short::Heap(vec![value; len].into());
        }
        let mut inline = [T::default(); INLINE];
        inline[..len].fill(value);
        Short::Inline(len as u8, inline)
    }

    #[inline]
    pub(crate) fn as_mut(&mut self) -> &mut [T] {
        match self {
            Short::Inline(len, items) => &mut items[..*len as usize],
            Short::Heap(items) => items,
        }
    }
}

impl<T> Deref for Short<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Short::Inline(len, items) => &items[..*len as usize],
            Short::Heap(items) => items,
        }
    }
}

impl<T: Copy + Default> FromIterator<T> for Short<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut inline = [T::default(); INLINE];
        let mut items = items.into_iter();
        for len in 0..INLINE {
            match items.next() {
                Some(item) => inline[len] = item,
                None => return Short::Inline(len as u8, inline),
            }
        }
        match items.next() {
            None => Short::Inline(INLINE as u8, inline),
            Some(item) => Short::Heap(inline.into_iter().chain([item]).chain(items).collect()),
        }
    }
}

/// Steps between neighbours along each axis, in elements.
pub(crate) type Strides = Short<isize>;

/// The sizes of a tensor's axes.
#[derive(Clone)]
pub struct Shape(Short<usize>);

impl Shape {
    /// A shape from its sizes.
    #[inline]
    pub fn new(sizes: &[usize]) -> Shape {
        Shape(Short::from_slice(sizes))
    }

    /// Number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.len()
    }

    /// Number of elements; 1 for rank 0. Counts beyond `usize::MAX` stand at that; no tensor has such a shape.
    #[inline]
    pub fn numel(&self) -> usize {
        self.iter().fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// The sizes as a slice.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        self
    }

    /// Number of elements, or `None` where positions do not fit into an address. As in numpy, axes of size 0 do not
    /// excuse the others: steps between neighbours must fit too.
    ///
    /// ```
    /// use tove_tensor::Shape;
    /// assert_eq!(Shape::from([2, 0]).checked_numel(), Some(0));
    /// assert_eq!(Shape::from([usize::MAX, 2]).checked_numel(), None);
    /// ```
    #[inline]
    pub fn checked_numel(&self) -> Option<usize> {
        let (mut numel, mut extent, mut too_large) = (1usize, 1usize, false);
        for &size in self.iter() {
            let (product, overflow) = extent.overflowing_mul(size.max(1));
            too_large |= overflow;
            extent = product;
            numel = numel.wrapping_mul(size); // equal to `extent`, or 0
        }
        (!too_large && extent <= isize::MAX as usize / 8).then_some(numel)
    }

    /// The common shape of two operands by numpy's rule: aligned at the last axis, sizes are equal or one of them is 1.
    pub fn broadcast(&self, other: &Shape) -> Option<Shape> {
        if self == other {
            return Some(self.clone());
        }
        let rank = self.rank().max(other.rank());
        let mut out = Short::filled(rank, 1);
        for (from_end, size) in out.as_mut().iter_mut().rev().enumerate() {
            *size = match (self.size_from_end(from_end), other.size_from_end(from_end)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => return None,
            };
        }
        Some(Shape(out))
    }

    /// Size of the axis counted from the end, 1 beyond the first axis.
    #[inline]
    pub(crate) fn size_from_end(&self, axis: usize) -> usize {
        if axis < self.len() { self[self.len() - 1 - axis] } else { 1 }
    }

    /// Steps of a row-major tensor of this shape.
    #[inline]
    pub(crate) fn row_major(&self) -> Strides {
        let mut step = 1isize;
        let mut next = |size: usize| {
            let own = step;
            step *= size.max(1) as isize;
            own
        };
        match &self.0 {
            Short::Inline(rank, sizes) => {
                let mut strides = [0; INLINE];
                for axis in (0..usize::from(*rank).min(INLINE)).rev() {
                    strides[axis] = next(sizes[axis]);
                }
                Short::Inline(*rank, strides)
            }
            Short::Heap(sizes) => {
                let mut strides: Box<[isize]> = sizes.iter().rev().map(|&size| next(size)).collect();
                strides.reverse();
                Short::Heap(strides)
            }
        }
    }

    /// The shape with one size replaced.
    pub(crate) fn with(&self, axis: usize, size: usize) -> Shape {
        let mut out = self.clone();
        out.0.as_mut()[axis] = size;
        out
    }

    /// The shape without one axis.
    pub(crate) fn without(&self, axis: usize) -> Shape {
        self.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &size)| size).collect()
    }

    /// The shape with an axis inserted before position `axis`.
    pub(crate) fn inserted(&self, axis: usize, size: usize) -> Shape {
        self[..axis].iter().copied().chain([size]).chain(self[axis..].iter().copied()).collect()
    }

    /// These sizes followed by others.
    pub(crate) fn joined(&self, tail: &[usize]) -> Shape {
        self.iter().chain(tail).copied().collect()
    }
}

impl Deref for Shape {
    type Target = [usize];
    #[inline]
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl PartialEq for Shape {
    #[inline]
    fn eq(&self, other: &Shape) -> bool {
        match (&self.0, &other.0) {
            // Unused entries are equal, so all can be compared at once.
            (Short::Inline(m, a), Short::Inline(n, b)) => m == n && (0..INLINE).all(|i| a[i] == b[i]),
            _ => self[..] == other[..],
        }
    }
}

impl Eq for Shape {}

impl PartialEq<[usize]> for Shape {
    fn eq(&self, other: &[usize]) -> bool {
        self[..] == *other
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self[..] == other[..]
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Shape {
        Shape(sizes.into_iter().collect())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    #[inline]
    fn from(sizes: [usize; N]) -> Shape {
        Shape::new(&sizes)
    }
}

impl From<&[usize]> for Shape {
    #[inline]
    fn from(sizes: &[usize]) -> Shape {
        Shape::new(sizes)
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Shape {
        Shape::new(&sizes)
    }
}

impl From<usize> for Shape {
    fn from(size: usize) -> Shape {
        Shape::new(&[size])
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Shape {
        Shape::new(&[])
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Shape {
        shape.clone()
    }
}

/// Written as numpy does: `()`, `(3,)`, `(2, 3)`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            [size] => write!(f, "({size},)"),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                write!(f, "({})", sizes.join(", "))
            }
        }
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_shapes_spill_to_the_heap() {
        let sizes: Vec<usize> = (1..10).collect();
        let shape: Shape = sizes.iter().copied().collect();
        assert_eq!(shape.dims(), &sizes[..]);
        assert_eq!(shape.rank(), 9);
        assert_eq!(shape, Shape::new(&sizes));
    }

    #[test]
    fn strides_are_row_major() {
        assert_eq!(&*Shape::from([2, 3, 4]).row_major(), &[12, 4, 1]);
        assert_eq!(&*Shape::from(()).row_major(), &[] as &[isize]);
    }

    #[test]
    fn overflowing_shapes_have_no_count() {
        assert_eq!(Shape::from([usize::MAX, 2]).checked_numel(), None);
        assert_eq!(Shape::from([usize::MAX, 0]).checked_numel(), None);
        assert_eq!(Shape::from([usize::MAX, 2]).numel(), usize::MAX);
        assert_eq!(Shape::from([usize::MAX, 2, 0]).numel(), 0);
        assert_eq!(Shape::from([1 << 32, 1 << 32]).checked_numel(), None);
    }
}
