//! Sum over axes. Its transpose is broadcasting.

use super::{Axes, all_axes, axes_from_end, kept, passes, reduced};
use crate::dtype::match_number;
use crate::kernels::reduce::{Fold, fold};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::{shape, unary};
use crate::tensor::Fresh;
use crate::{Result, Shape, Tensor};

#[derive(Clone)]
struct Sum {
    axes: Axes,
    keep: bool,
}

#[derive(Clone, Copy)]
struct Add;

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
        let mut current = x.contiguous_data().into_owned();
        let shape = reduced(x.shape(), &self.axes, self.keep);
        let passes = passes(x.shape(), &self.axes);
        if passes.is_empty() {
            return Ok(x.view(shape.clone(), shape.row_major(), x.offset()).contiguous());
        }
        for (outer, length, inner) in passes {
            let mut out = Fresh::new(Shape::from([outer, inner]), x.dtype());
            match_number!("sum", x.dtype(), T => {
                // SAFETY: `current` is row-major with these sizes, and `out` was made for the result.
                unsafe { fold::<T, _>(Add, current.pointer(), outer, length, inner, out.pointer()) }
            });
            current = out.finish();
        }
        Ok(current.view(shape.clone(), shape.row_major(), 0))
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        let grad = shape::reshape(grad, kept(shape, &self.axes))?;
        shape::broadcast_to(&grad, shape.clone())
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        let axes: Vec<isize> = self.axes.iter().map(|&axis| -(axis as isize)).collect();
        format!("axes={axes:?}, keep={}", self.keep)
    }
}

/// Sum over the axes given; with `keep` they stay with size 1.
pub(crate) fn sum(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    linear_map(Sum { axes: axes_from_end("sum", x, axes)?, keep }, x)
}

/// Sum of all elements.
pub(crate) fn sum_all(x: &Tensor) -> Result<Tensor> {
    linear_map(Sum { axes: all_axes(x), keep: false }, x)
}

/// Mean over the axes given; NaN over nothing.
pub(crate) fn mean(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    let axes = axes_from_end("mean", x, axes)?;
    let count: usize = axes.iter().map(|&axis| x.dims()[x.rank() - axis]).product();
    require_float("mean", x)?;
    let sum = linear_map(Sum { axes, keep }, x)?;
    unary::unary_owned(unary::DivScalar(count as f64), sum)
}

/// Mean of all elements; NaN of none.
pub(crate) fn mean_all(x: &Tensor) -> Result<Tensor> {
    require_float("mean", x)?;
    unary::unary_owned(unary::DivScalar(x.numel() as f64), sum_all(x)?)
}

fn require_float(op: &'static str, x: &Tensor) -> Result<()> {
    if x.dtype().is_float() {
        return Ok(());
    }
    Err(crate::Error::DType { op, dtype: x.dtype(), expected: "f32 or f64 is needed" })
}

/// Sums a derivative over the axes along which an input was stretched, back to the input's shape. The engine's only tool
/// against broadcasting.
pub(crate) fn sum_to(x: Tensor, shape: &Shape) -> Result<Tensor> {
    if x.shape() == shape {
        return Ok(x);
    }
    let axes: Axes = (1..=x.rank())
        .rev()
        .filter(|&a| shape.from_end(a - 1) == 1 && x.shape().from_end(a - 1) != 1 || a > shape.rank())
        .collect();
    let summed = linear_map(Sum { axes, keep: true }, &x)?;
    shape::reshape(&summed, shape.clone())
}
