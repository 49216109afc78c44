//! Padding with what lies at the other end, as if the image were a torus.

use tove_tensor::{Tensor, TryOps};

use super::Layer;
use crate::{Error, LayerReport, Module, Pass, Result};

/// Pads height and width of (…, height, width) circularly. A convolution without padding behind it gives as many
/// positions as the input has if `2 width = dilation (kernel − 1)`, and shifts of the input then shift the output, without
/// any effect of borders.
///
/// ```
/// use tove_nn::{CircularPad2d, Layer, Pass};
/// use tove_tensor::Tensor;
/// let y = CircularPad2d::new(1).forward(&Tensor::from([[1.0, 2.0]]), &Pass::eval())?;
/// assert_eq!(y.to_vec::<f64>(), [2.0, 1.0, 2.0, 1.0].repeat(3));
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct CircularPad2d {
    width: usize,
}

impl CircularPad2d {
    /// `width` positions on every side; at most the size of the image.
    pub fn new(width: usize) -> CircularPad2d {
        CircularPad2d { width }
    }

    fn wrap(&self, x: &Tensor, axis: isize) -> Result<Tensor> {
        let size = x.dims()[(x.rank() as isize + axis) as usize];
        if self.width > size {
            let problem = format!("is {}, but the input has shape {:?}: one turn is the most", self.width, x.dims());
            return Err(Error::setting("CircularPad2d", "width", problem));
        }
        let (last, first) = (x.try_narrow(axis, size - self.width, self.width)?, x.try_narrow(axis, 0, self.width)?);
        Ok(Tensor::try_concat(&[&last, x, &first], axis)?)
    }
}

impl Layer for CircularPad2d {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        if x.rank() < 2 {
            let problem = format!("has shape {:?}; it needs height and width", x.dims());
            return Err(Error::setting("CircularPad2d", "input", problem));
        }
        let y = self.wrap(&self.wrap(x, -2)?, -1)?;
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}
