//! Seeded random points for the checks of convexity, optimality and subgradients.

use tove_tensor::{Key, Result, Tensor, TryOps};

use crate::fault;

/// Points around a centre, from which the sampling checks draw.
///
/// ```
/// use tove_optim::Region;
/// use tove_tensor::Tensor;
/// let region = Region::around(&Tensor::from([1.0, 1.0]), 0.5);
/// assert_eq!(region.points(3, 0)?.len(), 3);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Region {
    centre: Tensor,
    radius: f64,
}

impl Region {
    /// The cube of side 2 `radius` around `centre`.
    pub fn around(centre: &Tensor, radius: f64) -> Region {
        Region { centre: centre.detach(), radius }
    }

    /// `count` uniform points of the cube, the same for the same seed.
    pub fn points(&self, count: usize, seed: u64) -> Result<Vec<Tensor>> {
        fault::float("region", &self.centre)?;
        fault::positive("region", "radius", self.radius)?;
        let point = |i: usize| {
            let key = Key::new(seed).fold(i as u64);
            let unit = key.try_uniform(self.centre.shape().clone(), self.centre.dtype())?;
            self.centre.try_add(&(unit * (2.0 * self.radius) - self.radius))
        };
        (0..count).map(point).collect()
    }

    /// `count` points of the ball of this radius, at distances spread over seven powers of ten, since what happens near a
    /// point and far from it may differ.
    pub(crate) fn ball(&self, count: usize, seed: u64) -> Result<Vec<Tensor>> {
        fault::float("region", &self.centre)?;
        fault::positive("region", "radius", self.radius)?;
        let point = |i: usize| {
            let key = Key::new(seed).fold(i as u64);
            let direction = key.try_normal(self.centre.shape().clone(), self.centre.dtype())?;
            let distance = self.radius * 10f64.powi(-((i % 7) as i32));
            fault::add_scaled(&self.centre, distance / fault::norm(&direction).max(f64::MIN_POSITIVE), &direction)
        };
        (0..count).map(point).collect()
    }
}
