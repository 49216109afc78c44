//! A border of one value around a tensor, and its transpose, which cuts the border off.

use smallvec::SmallVec;

use super::place::{Region, place};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::kernels::index as kernel;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::{Op, one};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Elements before and behind each of the last axes, last axis first.
type Widths = SmallVec<[(usize, usize); 4]>;

#[derive(Clone)]
struct Pad {
    widths: Widths,
    value: f64,
}

/// Cuts off what [`Pad`] puts around; a view.
#[derive(Clone)]
struct Crop {
    widths: Widths,
}

fn described(widths: &Widths) -> String {
    let widths: Vec<_> = widths.iter().rev().collect();
    format!("widths={widths:?}")
}

impl Op for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        let mut shape = x.shape().clone();
        let mut target = Region::whole(x.shape());
        for (from_end, &(before, behind)) in self.widths.iter().enumerate() {
            let axis = x.rank() - 1 - from_end;
            let size = before.checked_add(x.dims()[axis]).and_then(|size| size.checked_add(behind));
            let size = size.ok_or_else(|| Error::shape("pad", x.shape(), "the result is too large to address"))?;
            shape = shape.with(axis, size);
            target = target.narrowed(axis, before, x.dims()[axis]);
        }
        let mut out = Fresh::new(shape, x.dtype())?;
        let value = Tensor::scalar_of(self.value, x.dtype());
        kernel::match_bits!(x.dtype(), U => kernel::bits_mut::<U>(&mut out).fill(kernel::bits(&value)[0]));
        place(x, &Region::whole(x.shape()), &mut out, &target);
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing()
    }

    fn jvp(&self, _at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| apply(Pad { widths: self.widths.clone(), value: 0.0 }, &[t])).transpose()
    }

    fn vjp(&self, _at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        one(linear_map(Crop { widths: self.widths.clone() }, grad)?)
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        apply(self.clone(), inputs).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], _output: &Tensor) -> u64 {
        0
    }

    fn attributes(&self) -> String {
        format!("{}, value={}", described(&self.widths), self.value)
    }
}

impl LinearMap for Crop {
    const NAME: &'static str = "crop";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (mut shape, mut offset) = (x.shape().clone(), x.offset() as isize);
        for (from_end, &(before, behind)) in self.widths.iter().enumerate() {
            let axis = x.rank() - 1 - from_end;
            shape = shape.with(axis, x.dims()[axis] - before - behind);
            offset += before as isize * x.strides()[axis];
        }
        // An empty result keeps the offset, which could otherwise leave the buffer.
        let offset = if shape.contains(&0) { x.offset() } else { offset as usize };
        Ok(x.view(shape, x.strides().iter().copied().collect(), offset))
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        apply(Pad { widths: self.widths.clone(), value: 0.0 }, &[grad])
    }

    fn attributes(&self) -> String {
        described(&self.widths)
    }
}

/// `widths[axis]` copies of `value` before and behind each axis.
pub(crate) fn pad(x: &Tensor, widths: &[(usize, usize)], value: f64) -> Result<Tensor> {
    if widths.len() != x.rank() {
        let problem = format!("needs one pair of widths per axis, not {}", widths.len());
        return Err(Error::shape("pad", x.shape(), problem));
    }
    apply(Pad { widths: widths.iter().rev().copied().collect(), value }, &[x])
}
