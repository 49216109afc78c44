//! Rows of a table in fewer dimensions.

use tove_learn::{Fit, Pca, Transform};
use tove_tensor::Tensor;

use super::Result;

/// Rows along the two directions of largest variance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plane {
    /// The first coordinate of each row.
    pub x: Vec<f64>,
    /// The second one; zero if there is one feature.
    pub y: Vec<f64>,
    /// The shares of the variance along both.
    pub explained: [f64; 2],
}

/// The first two principal components of a matrix.
pub(super) fn plane(x: &Tensor) -> Result<Plane> {
    let count = x.dims()[1].min(x.dims()[0]).min(2);
    let pca = Pca::default().n_components(count.into()).fit(x, None)?;
    let (rows, ratio) = (pca.transform(x)?.to_f64_vec(), pca.explained_variance_ratio().to_f64_vec());
    let side = |place: usize| match place < count {
        true => rows.iter().skip(place).step_by(count).copied().collect(),
        false => vec![0.0; x.dims()[0]],
    };
    let explained = [ratio[0], ratio.get(1).copied().unwrap_or(0.0)];
    Ok(Plane { x: side(0), y: side(1), explained })
}
