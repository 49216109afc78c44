//! Sum over axes. Its transpose is broadcasting.

use super::{Axes, all_axes, axes_from_end, count, describe, fold_axes, kept, require_float, widened};
use crate::dtype::match_number;
use crate::kernels::reduce::{Fold, fold};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::{shape, unary};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

#[derive(Clone)]
struct Sum {
    axes: Axes,
    keep: bool,
}

#[derive(Clone, Copy)]
/// Addition, for folds and scans.
pub(super) struct Add;

macro_rules! add {
    ($($t:ident $zero:literal |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl Fold<$t> for Add {
            #[inline(always)]
            fn neutral(self) -> $t {
                $zero
            }
            #[inline(always)]
            fn combine(self, $a: $t, $b: $t) -> $t {
                $sum
            }
        }
    )*};
}
add! {
    f32 0.0 |a, b| a + b;
    f64 0.0 |a, b| a + b;
    i64 0 |a, b| a.wrapping_add(b);
    u8 0 |a, b| a.wrapping_add(b);
}

impl LinearMap for Sum {
    const NAME: &'static str = "sum";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        fold_axes(x, &self.axes, self.keep, x.dtype(), |x, [outer, length, inner], out| {
            match_number!("sum", x.dtype(), T => {
                // SAFETY: `x` is row-major with these sizes, and `out` was made for the result.
                unsafe { fold::<T, _>(Add, x.pointer(), outer, length, inner, out.pointer()) }
            });
            Ok(())
        })
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        let grad = shape::reshape(grad, kept(shape, &self.axes))?;
        shape::broadcast_to(&grad, shape.clone())
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        describe(&self.axes, self.keep)
    }
}

/// Sum over the axes given; with `keep` they stay with size 1. Truth values and u8 give i64.
pub(crate) fn sum(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    linear_map(Sum { axes: axes_from_end("sum", x, axes)?, keep }, &widened(x)?)
}

/// Sum over the rows of a plain row-major matrix of numbers: what [`sum`] gives, without the engine on the way.
#[allow(unsafe_code)]
pub(crate) fn sum_rows(x: &Tensor) -> Result<Tensor> {
    let &[rows, columns] = x.dims() else {
        return Err(Error::shape("sum", x.shape(), "is not a matrix"));
    };
    if crate::meter::on() {
        crate::meter::count("sum", x.numel() as u64);
    }
    let x = x.contiguous_data()?;
    let mut out = Fresh::new(Shape::from([columns]), x.dtype())?;
    match_number!("sum", x.dtype(), T => {
        // SAFETY: `x` is row-major with these sizes, and `out` has a number for each column.
        unsafe { fold::<T, _>(Add, x.pointer(), 1, rows, columns, out.pointer()) }
    });
    Ok(out.finish())
}

/// Sum of all elements. Truth values and u8 give i64.
pub(crate) fn sum_all(x: &Tensor) -> Result<Tensor> {
    linear_map(Sum { axes: all_axes(x), keep: false }, &widened(x)?)
}

/// Mean over the axes given; NaN over nothing.
pub(crate) fn mean(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    let axes = axes_from_end("mean", x, axes)?;
    let count = count(x.shape(), &axes);
    require_float("mean", x)?;
    let sum = linear_map(Sum { axes, keep }, x)?;
    unary::unary_owned(unary::DivScalar(count as f64), sum)
}

/// Mean of all elements; NaN of none.
pub(crate) fn mean_all(x: &Tensor) -> Result<Tensor> {
    require_float("mean", x)?;
    unary::unary_owned(unary::DivScalar(x.numel() as f64), sum_all(x)?)
}

/// Sums a derivative over the axes along which an input was stretched, back to the input's shape. The engine's only tool
/// against broadcasting.
pub(crate) fn sum_to(x: Tensor, shape: &Shape) -> Result<Tensor> {
    if x.shape() == shape {
        return Ok(x);
    }
    if x.shape().broadcast(shape).as_ref() != Some(x.shape()) {
        let problem = "a gradient has the shape of its input, or one that the input stretches to";
        return Err(Error::shapes("gradient", x.shape(), shape, problem));
    }
    let stretched =
        |a: &usize| *a > shape.rank() || shape.size_from_end(a - 1) == 1 && x.shape().size_from_end(a - 1) != 1;
    let axes: Axes = (1..=x.rank()).rev().filter(stretched).collect();
    let summed = linear_map(Sum { axes, keep: true }, &x)?;
    shape::reshape(&summed, shape.clone())
}
