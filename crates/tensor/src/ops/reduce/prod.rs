//! Product over axes. ∂x_i is the product of all the others, found without division, hence right where elements are zero.
//!
//! By definition the product is a tree: the axis is halved and its halves multiplied until one element is left. Every
//! derivative of the tree, of any order, is again made of products.

use smallvec::smallvec;

use super::{Axes, axes_from_end, count, describe, fold_axes, kept, reduced, widened};
use crate::autodiff::{Grads, apply};
use crate::dtype::{match_float, match_number};
use crate::kernels::reduce::{Fold, fold};
use crate::kernels::scan::{Sizes, product_gradient};
use crate::ops::fused::{Fused, FusedOp, Saved, fused};
use crate::ops::{Aux, binary, shape};
use crate::tensor::Fresh;
use crate::{Result, Shape, Tensor};

#[derive(Clone)]
struct Prod {
    axes: Axes,
    keep: bool,
}

/// Multiplication, for folds and scans.
#[derive(Clone, Copy)]
pub(super) struct Multiply;

macro_rules! multiply {
    ($($t:ident $one:literal |$a:ident, $b:ident| $product:expr;)*) => {$(
        impl Fold<$t> for Multiply {
            #[inline(always)]
            fn neutral(self) -> $t {
                $one
            }
            #[inline(always)]
            fn combine(self, $a: $t, $b: $t) -> $t {
                $product
            }
        }
    )*};
}
multiply! {
    f32 1.0 |a, b| a * b;
    f64 1.0 |a, b| a * b;
    i64 1 |a, b| a.wrapping_mul(b);
    u8 1 |a, b| a.wrapping_mul(b);
}

impl Fused for Prod {
    const NAME: &'static str = "prod";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let x = inputs[0];
        let value = fold_axes(x, &self.axes, self.keep, x.dtype(), |x, [outer, length, inner], out| {
            match_number!("prod", x.dtype(), T => {
                // SAFETY: `x` is row-major with these sizes, and `out` was made for the result.
                unsafe { fold::<T, _>(Multiply, x.pointer(), outer, length, inner, out.pointer()) }
            });
            Ok(())
        })?;
        Ok((value, Aux::new()))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let x = at.inputs[0];
        // The folded axes are brought to the end, and back afterwards.
        let rank = x.rank();
        let folded = |axis: &usize| self.axes.contains(&(rank - axis));
        let order: Vec<usize> = (0..rank).filter(|axis| !folded(axis)).chain((0..rank).filter(folded)).collect();
        let rows = shape::permute(&x.untracked(), &order)?;
        let (data, grad) = (rows.contiguous_data()?, grad.contiguous_data()?);
        let mut out = Fresh::new(rows.shape().clone(), x.dtype())?;
        let sizes = Sizes { outer: grad.numel(), length: count(x.shape(), &self.axes), inner: 1 };
        match_float!("prod", x.dtype(), T => {
            // SAFETY: `data` and `out` have outer · length elements, `grad` has one for each row.
            unsafe { product_gradient::<T>(data.pointer(), grad.pointer(), sizes, true, out.pointer()) }
        });
        let mut back = vec![0; rank];
        order.iter().enumerate().for_each(|(i, &axis)| back[axis] = i);
        Ok(smallvec![Some(shape::permute(&out.finish(), &back)?)])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        let mut current = x.clone();
        for &axis in &self.axes {
            current = tree(&current, -(axis as isize))?;
        }
        shape::reshape(&current, reduced(x.shape(), &self.axes, self.keep))
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(FusedOp(self.clone()), inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        inputs[0].numel() as u64
    }

    fn attributes(&self) -> String {
        describe(&self.axes, self.keep)
    }
}

/// The product along an axis, which stays with size 1.
fn tree(x: &Tensor, axis: isize) -> Result<Tensor> {
    let size = x.dims()[(x.rank() as isize + axis) as usize];
    match size {
        0 => Ok(Tensor::ones(kept(x.shape(), &[axis.unsigned_abs()]), x.dtype())),
        1 => Ok(x.clone()),
        _ => {
            let half = size / 2;
            let product = binary::mul(&shape::narrow(x, axis, 0, half)?, &shape::narrow(x, axis, half, half)?)?;
            let product = tree(&product, axis)?;
            if size.is_multiple_of(2) {
                return Ok(product);
            }
            binary::mul(&product, &shape::narrow(x, axis, size - 1, 1)?)
        }
    }
}

/// Product over the axes given; with `keep` they stay with size 1.
pub(crate) fn prod(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    fused(Prod { axes: axes_from_end("prod", x, axes)?, keep }, &[&widened(x)?])
}

/// Shape of a tensor around one axis counted from the end.
pub(super) fn around(shape: &Shape, axis: usize) -> Sizes {
    let position = shape.rank() - axis;
    Sizes {
        outer: shape[..position].iter().product(),
        length: shape[position],
        inner: shape[position + 1..].iter().product(),
    }
}
