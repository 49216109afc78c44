//! Elements of planes at given positions, and the transpose, which adds them back. Positions count in row order within
//! the last two axes; leading axes are common.

use super::bilinear::spatial;
use crate::dtype::match_number;
use crate::ops::indexed::{Indexed, indexed};
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

impl Indexed for Pick {
    const NAME: &'static str = "pick";
    type Transpose = Put;

    fn forward(&self, x: &Tensor, positions: &Tensor) -> Result<Tensor> {
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

    fn transpose(&self, shape: &Shape) -> Put {
        Put { image: spatial(shape) }
    }

    fn flops(&self, _x: &Tensor, output: &Tensor) -> u64 {
        output.numel() as u64
    }
}

impl Indexed for Put {
    const NAME: &'static str = "put";
    type Transpose = Pick;

    fn forward(&self, g: &Tensor, positions: &Tensor) -> Result<Tensor> {
        let pixels: usize = self.image.iter().product();
        let entries: usize = spatial(positions.shape()).iter().product();
        let mut out = Fresh::new(Shape::new(&g.dims()[..g.rank() - 2]).joined(&self.image), g.dtype())?;
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

    fn transpose(&self, _shape: &Shape) -> Pick {
        Pick
    }

    fn flops(&self, _g: &Tensor, output: &Tensor) -> u64 {
        output.numel() as u64
    }
}

/// Elements of x (…, height, width) at positions (…, rows, columns) of their planes.
pub(super) fn pick(x: &Tensor, positions: &Tensor) -> Result<Tensor> {
    indexed(Pick, x, positions)
}
