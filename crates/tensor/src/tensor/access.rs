//! Reading and writing elements.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::{Fresh, Tensor};
use crate::error::OrPanic;
use crate::kernels::elementwise;
use crate::ops::shape;
use crate::storage::Storage;
use crate::{DType, Element, Error, Result};

impl Tensor {
    /// The elements in row-major order, if they lie that way in memory and have type `T`.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    /// assert!(x.t().as_slice::<f64>().is_err());
    /// ```
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.check_readable::<T>("as_slice")?;
        if !self.is_contiguous() {
            return Err(Error::shape("as_slice", self.shape(), "is a view with gaps; call `contiguous` first"));
        }
        Ok(self.contiguous_slice())
    }

    /// A copy of the elements in row-major order.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1i64, 2], [3, 4]]);
    /// assert_eq!(x.t().to_vec::<i64>(), [1, 3, 2, 4]);
    /// ```
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        self.try_to_vec().or_panic()
    }

    /// A copy of the elements in row-major order; an error when the type is another.
    pub fn try_to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_readable::<T>("to_vec")?;
        Ok(self.contiguous_data()?.contiguous_slice::<T>().to_vec())
    }

    /// The elements as a vector, without copying when the tensor was made from one and nobody else holds it.
    pub fn into_vec<T: Element>(mut self) -> Result<Vec<T>> {
        self.check_readable::<T>("into_vec")?;
        self.track = None;
        if self.offset() == 0
            && self.is_contiguous()
            && let Some(array) = Arc::get_mut(&mut self.array)
        {
            let storage = std::mem::replace(&mut array.storage, Storage::from_vec(Vec::<T>::new()));
            match storage.into_vec::<T>() {
                // A view of the beginning does not speak for the whole vector.
                Ok(data) if data.len() == array.shape.numel() => return Ok(data),
                Ok(data) => array.storage = Storage::from_vec(data),
                Err(storage) => array.storage = storage,
            }
        }
        self.try_to_vec()
    }

    /// The only element of a tensor with one element.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[3.5f32]]).item::<f32>(), 3.5);
    /// ```
    #[track_caller]
    pub fn item<T: Element>(&self) -> T {
        self.try_item().or_panic()
    }

    /// The only element; an error when there are more, or of another type.
    pub fn try_item<T: Element>(&self) -> Result<T> {
        self.check_readable::<T>("item")?;
        if self.numel() != 1 {
            return Err(Error::shape("item", self.shape(), "has not exactly one element"));
        }
        // SAFETY: the type was checked, and a tensor with one element has it at its offset.
        Ok(unsafe { *self.pointer::<T>() })
    }

    /// The element at a position.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.at::<f64>(&[1, 0]), 3.0);
    /// ```
    #[track_caller]
    pub fn at<T: Element>(&self, index: &[usize]) -> T {
        self.try_at(index).or_panic()
    }

    /// The element at a position; an error when the position or the type is wrong.
    pub fn try_at<T: Element>(&self, index: &[usize]) -> Result<T> {
        self.check_readable::<T>("at")?;
        if index.len() != self.rank() {
            let problem = format!("has {} axes, the index {}", self.rank(), index.len());
            return Err(Error::shape("at", self.shape(), problem));
        }
        let mut position = 0isize;
        for ((&i, &size), &stride) in index.iter().zip(self.shape().iter()).zip(self.strides().iter()) {
            if i >= size {
                return Err(Error::Index { op: "at", index: i as i64, size });
            }
            position += i as isize * stride;
        }
        // SAFETY: the type was checked and every coordinate lies inside its axis.
        Ok(unsafe { *self.pointer::<T>().offset(position) })
    }

    /// The elements for writing, in row-major order. Copies first when the buffer is shared with another tensor, is a
    /// view with gaps, or cannot be written; in place otherwise. Tracking is dropped.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([1.0, 2.0]);
    /// let mut y = x.clone();
    /// y.as_mut_slice::<f64>().unwrap()[0] = 5.0;
    /// assert_eq!((x.to_vec::<f64>(), y.to_vec::<f64>()), (vec![1.0, 2.0], vec![5.0, 2.0]));
    /// ```
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check_readable::<T>("as_mut_slice")?;
        self.track = None;
        if !self.owns_alone() {
            *self = self.copy()?;
        }
        let len = self.numel();
        let pointer = self.pointer::<T>().cast_mut();
        // SAFETY: type and contiguity are right, and the buffer is writable and held by this tensor alone, which is
        // borrowed mutably for as long as the slice lives.
        Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
    }

    /// All elements converted to f64, in row-major order; for printing and tests.
    pub fn to_f64_vec(&self) -> Vec<f64> {
        self.untracked_readable().to_dtype(DType::F64).to_vec()
    }

    /// Whether all elements agree, |a − b| ≤ absolute + relative · |b|, as in numpy: equal infinities do, NaN never does. The
    /// shapes broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (a, b) = (Tensor::from([1.0, f64::INFINITY]), Tensor::from([1.0 + 1e-9, f64::INFINITY]));
    /// assert!(a.allclose(&b, 1e-5, 1e-8) && !a.allclose(&b, 0.0, 1e-12));
    /// assert!(!a.allclose(&Tensor::from([1.0, f64::NAN]), 1e-5, 1e-8));
    /// ```
    #[track_caller]
    pub fn allclose(&self, other: &Tensor, relative: f64, absolute: f64) -> bool {
        self.try_allclose(other, relative, absolute).or_panic()
    }

    /// As [`Tensor::allclose`], with the error returned.
    pub fn try_allclose(&self, other: &Tensor, relative: f64, absolute: f64) -> Result<bool> {
        if self.dtype() != other.dtype() {
            return Err(Error::DTypePair { op: "allclose", left: self.dtype(), right: other.dtype() });
        }
        let common = self.shape().broadcast(other.shape()).ok_or_else(|| {
            Error::shapes(
                "allclose",
                self.shape(),
                other.shape(),
                "sizes must be equal or 1, axis by axis from the last",
            )
        })?;
        let numbers = |x: &Tensor| -> Result<Vec<f64>> {
            x.check_readable_any("allclose")?;
            shape::to_dtype(&shape::broadcast_to(&x.untracked(), common.clone())?, DType::F64)?.try_to_vec()
        };
        let close = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= absolute + relative * b.abs() && b.is_finite();
        Ok(numbers(self)?.iter().zip(&numbers(other)?).all(close))
    }

    /// Row-major copy or the tensor itself when it already lies so. Values and tracking are unchanged.
    #[track_caller]
    pub fn contiguous(&self) -> Tensor {
        self.try_contiguous().or_panic()
    }

    /// As [`Tensor::contiguous`], with the error returned where there is no memory for the copy.
    pub fn try_contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() || self.is_batched() {
            return Ok(self.clone());
        }
        Ok(self.copy().map_err(|error| error.named("contiguous"))?.with_track(self.track.clone()))
    }

    /// Whether this tensor may be written in place: nobody else holds its buffer, and it is row-major.
    #[inline]
    pub(crate) fn owns_alone(&mut self) -> bool {
        self.array.contiguous && Arc::get_mut(&mut self.array).is_some_and(|array| array.storage.is_alone())
    }

    /// The data in row-major order, without tracking; shares the buffer when it can.
    #[inline]
    pub(crate) fn contiguous_data(&self) -> Result<Cow<'_, Tensor>> {
        Ok(if self.is_contiguous() { Cow::Borrowed(self) } else { Cow::Owned(self.copy()?) })
    }

    /// A row-major copy of the data, without tracking.
    pub(crate) fn copy(&self) -> Result<Tensor> {
        let mut out = Fresh::new(self.shape().clone(), self.dtype())?;
        elementwise::copy(self, &mut out);
        // SAFETY: all elements are written, and a copy of truth values holds truth values.
        Ok(unsafe { out.finish_written() })
    }

    /// First element in memory. `T` must have the size of the element type.
    #[inline]
    pub(crate) fn pointer<T>(&self) -> *const T {
        assert!(size_of::<T>() == self.dtype().size());
        // SAFETY: elements have the size of `T`, and the offset lies inside the buffer (or one past its end for empty
        // tensors), as `view` has checked.
        unsafe { self.array.storage.as_ptr().cast::<T>().add(self.array.offset) }
    }

    /// First element in memory, for writing; only after [`Tensor::owns_alone`].
    #[inline]
    pub(crate) fn pointer_mut<T>(&mut self) -> *mut T {
        self.pointer::<T>().cast_mut()
    }

    /// The elements of a tensor that is row-major and of type `T`.
    #[inline]
    pub(crate) fn contiguous_slice<T: Element>(&self) -> &[T] {
        assert!(self.dtype() == T::DTYPE && self.is_contiguous());
        // SAFETY: the type was checked; a row-major tensor's elements are adjacent and inside the buffer.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.numel()) }
    }

    #[inline]
    fn check_readable<T: Element>(&self, op: &'static str) -> Result<()> {
        if self.dtype() != T::DTYPE {
            return Err(Error::DTypePair { op, left: self.dtype(), right: T::DTYPE });
        }
        self.check_readable_any(op)
    }

    #[inline]
    fn check_readable_any(&self, op: &'static str) -> Result<()> {
        if self.is_batched() {
            return Err(Error::derivative(op, "values cannot be read inside `vmap`; return the tensor instead"));
        }
        Ok(())
    }

    fn untracked_readable(&self) -> Tensor {
        self.check_batched_read();
        self.untracked()
    }

    #[track_caller]
    fn check_batched_read(&self) {
        if self.is_batched() {
            Err::<(), _>(Error::derivative("to_f64_vec", "values cannot be read inside `vmap`")).or_panic();
        }
    }

    /// The tensor with its elements converted by value: floats to integers truncate and saturate, nonzero is true.
    /// Differentiable between the floating-point types.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::from([1.9, -1.9]).to_dtype(DType::I64).to_vec::<i64>(), [1, -1]);
    /// ```
    #[track_caller]
    pub fn to_dtype(&self, dtype: DType) -> Tensor {
        self.try_to_dtype(dtype).or_panic()
    }
}
