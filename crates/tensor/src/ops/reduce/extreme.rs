//! Largest and smallest element along an axis, and their positions. A NaN wins. The derivative is shared evenly among
//! ties, so that the shares sum to one.

use smallvec::smallvec;

use super::{Axes, all_axes, axes_from_end, count, describe, fold_axes, kept, negative, reduced};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_number;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::math::Float;
use crate::kernels::reduce::{Fold, fold};
use crate::kernels::simd::{Kernel, dispatch};
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{Op, axis_from_end, binary, shape};
use crate::pool::parallel_for;
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

#[derive(Clone)]
struct Extreme {
    largest: bool,
    axes: Axes,
    keep: bool,
}

#[derive(Clone, Copy)]
struct Larger;
#[derive(Clone, Copy)]
struct Smaller;

macro_rules! extreme_folds {
    ($($t:ident: $low:expr, $high:expr, |$a:ident, $b:ident| $larger:expr, $smaller:expr;)*) => {$(
        impl Fold<$t> for Larger {
            #[inline(always)]
            fn neutral(self) -> $t { $low }
            #[inline(always)]
            fn combine(self, $a: $t, $b: $t) -> $t { $larger }
        }
        impl Fold<$t> for Smaller {
            #[inline(always)]
            fn neutral(self) -> $t { $high }
            #[inline(always)]
            fn combine(self, $a: $t, $b: $t) -> $t { $smaller }
        }
    )*};
}
extreme_folds! {
    f32: f32::NEG_INFINITY, f32::INFINITY, |a, b| Float::maximum(a, b), Float::minimum(a, b);
    f64: f64::NEG_INFINITY, f64::INFINITY, |a, b| Float::maximum(a, b), Float::minimum(a, b);
    i64: i64::MIN, i64::MAX, |a, b| a.max(b), a.min(b);
    u8: u8::MIN, u8::MAX, |a, b| a.max(b), a.min(b);
}

impl Extreme {
    /// 1/(number of ties) at the extreme elements, 0 elsewhere; a constant to derivatives.
    fn shares(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let y = shape::reshape(y, kept(x.shape(), &self.axes))?;
        let mask = shape::to_dtype(&binary::eq(x, &y)?, x.dtype())?;
        let axes = negative(&self.axes);
        binary::div(&mask, &super::sum(&mask, &axes, true)?)
    }
}

impl Op for Extreme {
    fn name(&self) -> &'static str {
        if self.largest { "max" } else { "min" }
    }

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        if count(x.shape(), &self.axes) == 0 && reduced(x.shape(), &self.axes, false).numel() > 0 {
            return Err(Error::shape(self.name(), x.shape(), "has no elements to choose from"));
        }
        // Before the fold, which never looks at the elements of axes of length 1.
        if x.dtype() == DType::Bool {
            let expected = "truth values have no order; use `any` or `all`";
            return Err(Error::DType { op: self.name(), dtype: x.dtype(), expected });
        }
        fold_axes(x, &self.axes, self.keep, x.dtype(), |x, [outer, length, inner], out| {
            match_number!(self.name(), x.dtype(), T => {
                let (from, to) = (x.pointer::<T>(), out.pointer::<T>());
                // SAFETY: `x` is row-major with these sizes, and `out` was made for the result.
                unsafe {
                    if self.largest {
                        fold(Larger, from, outer, length, inner, to);
                    } else {
                        fold(Smaller, from, outer, length, inner, to);
                    }
                }
            });
            Ok(())
        })
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::output().input(0)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let Some(t) = tangents[0] else { return Ok(None) };
        let axes = negative(&self.axes);
        let shares = self.shares(at.input(0), at.output())?;
        super::sum(&binary::mul(t, &shares)?, &axes, self.keep).map(Some)
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let grad = shape::reshape(grad, kept(at.shape(0), &self.axes))?;
        Ok(smallvec![Some(binary::mul(&grad, &self.shares(at.input(0), at.output())?)?)])
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(self.clone(), inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        inputs[0].numel() as u64
    }

    fn attributes(&self) -> String {
        describe(&self.axes, self.keep)
    }
}

macro_rules! extremes {
    ($($name:ident $all:ident $largest:literal;)*) => {$(
        pub(crate) fn $name(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
            let axes = axes_from_end(stringify!($name), x, axes)?;
            apply(Extreme { largest: $largest, axes, keep }, &[x])
        }

        pub(crate) fn $all(x: &Tensor) -> Result<Tensor> {
            apply(Extreme { largest: $largest, axes: all_axes(x), keep: false }, &[x])
        }
    )*};
}
extremes! {
    max max_all true;
    min min_all false;
}

/// Position of the first extreme element along an axis counted from the end.
#[derive(Clone)]
struct Position<const LARGEST: bool> {
    axis: usize,
    keep: bool,
}

impl<const LARGEST: bool> Constant for Position<LARGEST> {
    const NAME: &'static str = if LARGEST { "argmax" } else { "argmin" };

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0].contiguous_data()?;
        let axes: Axes = smallvec![self.axis];
        let axis = x.rank() - self.axis;
        let length = x.dims()[axis];
        let inner: usize = x.dims()[axis + 1..].iter().product();
        if length == 0 {
            return Err(Error::shape(Self::NAME, x.shape(), "has no elements to choose from"));
        }
        // The value first, by the fast fold, then where it is.
        let best = Extreme { largest: LARGEST, axes: axes.clone(), keep: true }.forward(&[&x])?;
        let mut out = Fresh::new(reduced(x.shape(), &axes, self.keep), DType::I64)?;
        match_number!(Self::NAME, x.dtype(), T => {
            let (x, best) = (x.contiguous_slice::<T>(), best.contiguous_slice::<T>());
            positions(x, best, length, inner, out.slice::<i64>());
        });
        Ok(out.finish())
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

/// Where each of the values `best` first occurs along the axis.
fn positions<T: PartialOrd + Copy + Sync>(x: &[T], best: &[T], length: usize, inner: usize, out: &mut [i64]) {
    let per_task = GRAIN.div_ceil(length);
    if out.len() <= per_task {
        dispatch(Locate { x, best, length, inner, first: 0, out });
        return;
    }
    let chunks: Vec<std::sync::Mutex<&mut [i64]>> = out.chunks_mut(per_task).map(std::sync::Mutex::new).collect();
    parallel_for(chunks.len(), &|task| {
        let mut out = chunks[task].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        dispatch(Locate { x, best, length, inner, first: task * per_task, out: &mut out });
    });
}

/// Finds the positions of the results from number `first` on.
struct Locate<'a, T> {
    x: &'a [T],
    best: &'a [T],
    length: usize,
    inner: usize,
    first: usize,
    out: &'a mut [i64],
}

/// Whether an element is the extreme one; a NaN always is, since it wins.
#[inline(always)]
#[allow(clippy::eq_op)]
fn is_best<T: PartialOrd + Copy>(value: T, best: T) -> bool {
    (value == best) | (value != value)
}

impl<T: PartialOrd + Copy> Kernel for Locate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Locate { x, best, length, inner, first, out } = self;
        let mut done = 0;
        while done < out.len() {
            let position = first + done;
            let (o, column) = (position / inner, position % inner);
            let width = (inner - column).min(out.len() - done);
            let (out, best) = (&mut out[done..done + width], &best[position..position + width]);
            let start = o * length * inner + column;
            if inner == 1 {
                out[0] = first_match(&x[start..start + length], best[0]);
            } else {
                // From the end, so that the first occurrence is written last.
                for k in (0..length).rev() {
                    let row = &x[start + k * inner..][..width];
                    for i in 0..width {
                        out[i] = if is_best(row[i], best[i]) { k as i64 } else { out[i] };
                    }
                }
            }
            done += width;
        }
    }
}

#[inline(always)]
fn first_match<T: PartialOrd + Copy>(row: &[T], best: T) -> i64 {
    const BLOCK: usize = 64;
    for (index, block) in row.chunks(BLOCK).enumerate() {
        // All of a block at once, without leaving early, so that it is compared in vectors.
        if block.iter().fold(false, |found, &value| found | is_best(value, best)) {
            let within = block.iter().position(|&value| is_best(value, best)).unwrap_or(0);
            return (index * BLOCK + within) as i64;
        }
    }
    0
}

/// Position of the largest element along an axis; the first among equals.
pub(crate) fn argmax(x: &Tensor, axis: isize, keep: bool) -> Result<Tensor> {
    apply(constant_op(Position::<true> { axis: axis_from_end("argmax", x, axis)?, keep }), &[x])
}

/// Position of the smallest element along an axis; the first among equals.
pub(crate) fn argmin(x: &Tensor, axis: isize, keep: bool) -> Result<Tensor> {
    apply(constant_op(Position::<false> { axis: axis_from_end("argmin", x, axis)?, keep }), &[x])
}

/// Position of the largest of all elements in row-major order; the first among equals.
pub(crate) fn argmax_all(x: &Tensor) -> Result<Tensor> {
    argmax(&shape::reshape(x, Shape::from(x.numel()))?, 0, false)
}

/// Position of the smallest of all elements in row-major order; the first among equals.
pub(crate) fn argmin_all(x: &Tensor) -> Result<Tensor> {
    argmin(&shape::reshape(x, Shape::from(x.numel()))?, 0, false)
}
