//! Elements of planes at given positions, and the transpose, which adds them back. Positions count in row order within
//! the last two axes; leading axes are common.

use smallvec::smallvec;

use super::bilinear::spatial;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_number;
use crate::ops::{Op, shape};
use crate::tensor::Fresh;
use crate::{Result, Shape, Tensor};

/// x (…, height, width) and positions (…, rows, columns) to (…, rows, columns).
#[derive(Clone, Copy)]
struct Pick;

/// The transpose of [`Pick`]: g (…, rows, columns) and positions of the same shape to (…, height, width).
#[derive(Clone, Copy)]
struct Put {
    image: [usize; 2],
}

fn planes(shape: &Shape) -> usize {
    shape[..shape.rank() - 2].iter().product()
}

impl Op for Pick {
    fn name(&self) -> &'static str {
        "pick"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, positions) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let pixels: usize = spatial(x.shape()).iter().product();
        let entries: usize = spatial(positions.shape()).iter().product();
        let mut out = Fresh::new(positions.shape().clone(), x.dtype())?;
        let places = positions.contiguous_slice::<i64>();
        match_number!("pick", x.dtype(), T => {
            let (x, out) = (x.contiguous_slice::<T>(), out.slice::<T>());
            for (entry, (slot, &place)) in out.iter_mut().zip(places).enumerate() {
                *slot = x[entry / entries * pixels + place as usize];
            }
        });
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(1)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| apply(Pick, &[t, at.input(1)])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        let put = Put { image: spatial(at.shape(0)) };
        Ok(smallvec![Some(apply(put, &[grad, at.input(1)])?), None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let [x, positions] = both_batched(inputs, batched, size)?;
        apply(*self, &[&x, &positions]).map(Some)
    }
}

impl Op for Put {
    fn name(&self) -> &'static str {
        "put"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (g, positions) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let pixels: usize = self.image.iter().product();
        let entries: usize = spatial(positions.shape()).iter().product();
        let rank = g.rank();
        let mut out = Fresh::new(Shape::new(&g.dims()[..rank - 2]).joined(&self.image), g.dtype())?;
        debug_assert_eq!(planes(g.shape()) * pixels, out.shape().numel());
        let places = positions.contiguous_slice::<i64>();
        match_number!("put", g.dtype(), T => {
            let (g, out) = (g.contiguous_slice::<T>(), out.slice::<T>());
            out.fill(T::default());
            for (entry, (&value, &place)) in g.iter().zip(places).enumerate() {
                out[entry / entries * pixels + place as usize] += value;
            }
        });
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(1)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| apply(*self, &[t, at.input(1)])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        Ok(smallvec![Some(apply(Pick, &[grad, at.input(1)])?), None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let [g, positions] = both_batched(inputs, batched, size)?;
        apply(*self, &[&g, &positions]).map(Some)
    }
}

/// Both inputs with the further axis in front.
fn both_batched(inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<[Tensor; 2]> {
    let full = |i: usize| {
        if batched[i] {
            return Ok(inputs[i].clone());
        }
        shape::broadcast_to(inputs[i], Shape::new(&[size]).joined(inputs[i].dims()))
    };
    Ok([full(0)?, full(1)?])
}

/// Elements of x (…, height, width) at positions (…, rows, columns) of their planes.
pub(super) fn pick(x: &Tensor, positions: &Tensor) -> Result<Tensor> {
    apply(Pick, &[x, positions])
}
