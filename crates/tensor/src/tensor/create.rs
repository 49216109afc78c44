//! Making tensors.

use std::ops::Range;
use std::sync::Arc;

use super::{Fresh, Tensor};
use crate::dtype::match_any;
use crate::error::OrPanic;
use crate::io::FileMap;
use crate::storage::Storage;
use crate::{DType, Element, Error, Result, Shape};

impl Tensor {
    /// A tensor that takes over `data` without copying it. Fails when the length does not fill the shape.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert!(Tensor::try_from_vec(vec![1i64, 2, 3], [2, 2]).is_err());
    /// ```
    pub fn try_from_vec<T: Element>(data: Vec<T>, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        let expected = checked_numel("from_vec", &shape)?;
        if data.len() != expected {
            return Err(Error::Length { op: "from_vec", len: data.len(), shape: Box::new(shape), expected });
        }
        Ok(Tensor::row_major(Storage::from_vec(data), shape, T::DTYPE))
    }

    /// A tensor that takes over `data` without copying it.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// assert_eq!(x.shape(), &[2, 2]);
    /// ```
    #[track_caller]
    pub fn from_vec<T: Element>(data: Vec<T>, shape: impl Into<Shape>) -> Tensor {
        Tensor::try_from_vec(data, shape).or_panic()
    }

    /// A tensor of rank 1 with a copy of `data`.
    pub fn from_slice<T: Element>(data: &[T]) -> Tensor {
        Tensor::copied(data, Shape::from(data.len()))
    }

    /// A tensor of rank 0.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::scalar(2.5f32).item::<f32>(), 2.5);
    /// ```
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::copied(&[value], Shape::from(()))
    }

    /// Zeros of the given shape and type.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::zeros([2, 0], DType::F32).numel(), 0);
    /// ```
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        Tensor::try_zeros(shape, dtype).or_panic()
    }

    /// Ones of the given shape and type.
    #[track_caller]
    pub fn ones(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        Tensor::try_ones(shape, dtype).or_panic()
    }

    /// One value repeated; converted to `dtype` as Rust's `as` does.
    #[track_caller]
    pub fn full(shape: impl Into<Shape>, value: f64, dtype: DType) -> Tensor {
        Tensor::try_full(shape, value, dtype).or_panic()
    }

    /// As [`Tensor::zeros`]; an error when there is no memory for the shape.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert!(Tensor::try_zeros([1 << 58], DType::F64).is_err());
    /// ```
    pub fn try_zeros(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        filled("zeros", shape.into(), 0.0, dtype)
    }

    /// As [`Tensor::ones`]; an error when there is no memory for the shape.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::try_ones([2], DType::I64)?.to_vec::<i64>(), [1, 1]);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    pub fn try_ones(shape: impl Into<Shape>, dtype: DType) -> Result<Tensor> {
        filled("ones", shape.into(), 1.0, dtype)
    }

    /// As [`Tensor::full`]; an error when there is no memory for the shape.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::try_full([2], 0.5, DType::F32)?.to_vec::<f32>(), [0.5, 0.5]);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    pub fn try_full(shape: impl Into<Shape>, value: f64, dtype: DType) -> Result<Tensor> {
        filled("full", shape.into(), value, dtype)
    }

    /// Zeros of this tensor's shape and type.
    pub fn zeros_like(&self) -> Tensor {
        Tensor::full(self.shape().clone(), 0.0, self.dtype())
    }

    /// Ones of this tensor's shape and type.
    pub fn ones_like(&self) -> Tensor {
        Tensor::full(self.shape().clone(), 1.0, self.dtype())
    }

    /// One value in this tensor's shape and type.
    pub fn full_like(&self, value: f64) -> Tensor {
        Tensor::full(self.shape().clone(), value, self.dtype())
    }

    /// The whole numbers `start, start + 1, …` below `end`.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::arange(2, 5).to_vec::<i64>(), [2, 3, 4]);
    /// ```
    #[track_caller]
    pub fn arange(start: i64, end: i64) -> Tensor {
        Tensor::try_arange(start, end).or_panic()
    }

    /// As [`Tensor::arange`]; an error when there is no memory for so many numbers.
    pub fn try_arange(start: i64, end: i64) -> Result<Tensor> {
        let count = usize::try_from(i128::from(end) - i128::from(start)).unwrap_or(0);
        let mut out = Fresh::new(Shape::from(count), DType::I64).map_err(|error| error.named("arange"))?;
        out.slice::<i64>().iter_mut().zip(start..end).for_each(|(slot, number)| *slot = number);
        Ok(out.finish())
    }

    /// The f64 numbers `start, start + step, …` before `end`; the step may be negative. For whole numbers, multiply
    /// [`Tensor::arange`].
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert_eq!(Tensor::arange_step(0.0, 1.0, 0.25).to_vec::<f64>(), [0.0, 0.25, 0.5, 0.75]);
    /// assert_eq!(Tensor::arange_step(3.0, 0.0, -2.0).to_vec::<f64>(), [3.0, 1.0]);
    /// ```
    #[track_caller]
    pub fn arange_step(start: f64, end: f64, step: f64) -> Tensor {
        Tensor::try_arange_step(start, end, step).or_panic()
    }

    /// As [`Tensor::arange_step`]; an error for a step that is 0 or not finite, or without memory for so many numbers.
    ///
    /// ```
    /// assert!(tove_tensor::Tensor::try_arange_step(0.0, 1.0, 0.0).is_err());
    /// ```
    pub fn try_arange_step(start: f64, end: f64, step: f64) -> Result<Tensor> {
        if step == 0.0 || !(start.is_finite() && end.is_finite() && step.is_finite()) {
            let problem = format!("is {step} from {start} to {end}; give finite numbers, and not 0");
            return Err(Error::parameter("arange_step", "step", problem));
        }
        let count = ((end - start) / step).ceil().max(0.0) as usize;
        let mut out = Fresh::new(Shape::from(count), DType::F64).map_err(|error| error.named("arange_step"))?;
        out.slice::<f64>().iter_mut().enumerate().for_each(|(i, slot)| *slot = start + step * i as f64);
        Ok(out.finish())
    }

    /// `count` f64 numbers from `base^start` to `base^end`, both included, each the same multiple of the one before.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::logspace(0.0, 3.0, 4, 10.0).to_vec::<f64>(), [1.0, 10.0, 100.0, 1000.0]);
    /// ```
    #[track_caller]
    pub fn logspace(start: f64, end: f64, count: usize, base: f64) -> Tensor {
        let mut exponents = Tensor::linspace(start, end, count);
        exponents.as_mut_slice::<f64>().or_panic().iter_mut().for_each(|x| *x = base.powf(*x));
        exponents
    }

    /// `count` evenly spaced f64 numbers from `start` to `end`, both included.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::linspace(0.0, 1.0, 3).to_vec::<f64>(), [0.0, 0.5, 1.0]);
    /// ```
    #[track_caller]
    pub fn linspace(start: f64, end: f64, count: usize) -> Tensor {
        let step = (end - start) / (count.max(2) - 1) as f64;
        let point = |i: usize| if i + 1 == count && count > 1 { end } else { start + step * i as f64 };
        let mut out = Fresh::new(Shape::from(count), DType::F64).map_err(|error| error.named("linspace")).or_panic();
        out.slice::<f64>().iter_mut().enumerate().for_each(|(i, slot)| *slot = point(i));
        out.finish()
    }

    /// The identity matrix of size `n`.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::eye(2, DType::F64).to_vec::<f64>(), [1.0, 0.0, 0.0, 1.0]);
    /// ```
    #[track_caller]
    pub fn eye(n: usize, dtype: DType) -> Tensor {
        Tensor::try_eye(n, dtype).or_panic()
    }

    /// As [`Tensor::eye`]; an error when there is no memory for so large a matrix.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert!(Tensor::try_eye(1 << 40, DType::U8).is_err());
    /// ```
    pub fn try_eye(n: usize, dtype: DType) -> Result<Tensor> {
        let mut out = Fresh::new(Shape::from([n, n]), dtype).map_err(|error| error.named("eye"))?;
        out.bytes_mut().fill(0);
        match dtype {
            DType::F32 => out.slice::<f32>().iter_mut().step_by(n + 1).for_each(|x| *x = 1.0),
            DType::F64 => out.slice::<f64>().iter_mut().step_by(n + 1).for_each(|x| *x = 1.0),
            DType::I64 => out.slice::<i64>().iter_mut().step_by(n + 1).for_each(|x| *x = 1),
            DType::U8 | DType::Bool => out.bytes_mut().iter_mut().step_by(n + 1).for_each(|x| *x = 1),
        }
        Ok(out.finish())
    }

    /// A copy of `data` in recycled memory; the length must be right.
    pub(crate) fn copied<T: Element>(data: &[T], shape: Shape) -> Tensor {
        debug_assert_eq!(data.len(), shape.numel());
        let mut out = Fresh::new(shape, T::DTYPE).or_panic();
        out.copy_from(data);
        out.finish()
    }

    /// A tensor over a range of a mapped file, which must be aligned for the type and hold as many elements as the shape.
    pub(crate) fn from_map(map: Arc<FileMap>, range: Range<usize>, shape: Vec<usize>, dtype: DType) -> Result<Tensor> {
        let shape = Shape::from(shape);
        let expected = checked_numel("from_map", &shape)?;
        let (len, start) = (range.len() / dtype.size(), map.as_ptr().addr() + range.start);
        // The bytes of a file need not be truth values.
        let whole =
            range.len() == expected * dtype.size() && start.is_multiple_of(dtype.size()) && dtype != DType::Bool;
        match Storage::from_map(map, range).filter(|_| whole) {
            Some(storage) => Ok(Tensor::row_major(storage, shape, dtype)),
            None => Err(Error::Length { op: "from_map", len, shape: Box::new(shape), expected }),
        }
    }

    /// A rank-0 tensor of the given type.
    pub(crate) fn scalar_of(value: f64, dtype: DType) -> Tensor {
        match_any!(dtype, T => Tensor::scalar(T::from_f64(value)))
    }
}

/// One value repeated, on behalf of `op`.
fn filled(op: &'static str, shape: Shape, value: f64, dtype: DType) -> Result<Tensor> {
    let mut out = Fresh::new(shape, dtype).map_err(|error| error.named(op))?;
    match dtype {
        DType::F32 => out.slice::<f32>().fill(value as f32),
        DType::F64 => out.slice::<f64>().fill(value),
        DType::I64 => out.slice::<i64>().fill(value as i64),
        DType::U8 => out.slice::<u8>().fill(value as u8),
        DType::Bool => out.bytes_mut().fill(u8::from(value != 0.0)),
    }
    Ok(out.finish())
}

/// The number of elements, or an error for shapes too large to address.
#[inline]
pub(crate) fn checked_numel(op: &'static str, shape: &Shape) -> Result<usize> {
    shape.checked_numel().ok_or_else(|| Error::shape(op, shape, "has too many elements to address"))
}

impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Tensor {
        Tensor::scalar(value)
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(data: [T; N]) -> Tensor {
        Tensor::from_slice(&data)
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Tensor {
    fn from(data: [[T; M]; N]) -> Tensor {
        Tensor::copied(data.as_flattened(), Shape::from([N, M]))
    }
}

impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; L]; M]; N]> for Tensor {
    fn from(data: [[[T; L]; M]; N]) -> Tensor {
        Tensor::copied(data.as_flattened().as_flattened(), Shape::from([N, M, L]))
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    fn from(data: Vec<T>) -> Tensor {
        let len = data.len();
        Tensor::from_vec(data, len)
    }
}

impl<T: Element> From<&[T]> for Tensor {
    fn from(data: &[T]) -> Tensor {
        Tensor::from_slice(data)
    }
}
