//! A trained net on a new task without changing its weights: classes are told by descriptions (zero-shot) or by a few
//! examples given as input (few-shot).
//!
//! Either way every class has a point in the space of the net's outputs: the embedding of its description, or the mean of
//! its examples' features (Snell et al. 2017). A sample gets the class of the nearest point.

use tove_tensor::{DType, Tensor, TryIndex, TryOps, TryUnary};

use crate::{Error, Result};

/// The mean of the features (samples, width) of each class: (classes, width).
///
/// ```
/// use tove_nn::{class_prototypes, nearest_class};
/// use tove_tensor::Tensor;
/// let features = Tensor::from([[0.0, 0.0], [2.0, 0.0], [9.0, 9.0]]);
/// let points = class_prototypes(&features, &Tensor::from([0i64, 0, 1]), 2)?;
/// assert_eq!(points.to_vec::<f64>(), [1.0, 0.0, 9.0, 9.0]);
/// assert_eq!(nearest_class(&Tensor::from([[8.0, 7.0]]), &points)?.to_vec::<i64>(), [1]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
///
/// # Errors
/// If a class has no example, or labels and features do not fit.
pub fn class_prototypes(features: &Tensor, labels: &Tensor, classes: usize) -> Result<Tensor> {
    let member = labels.try_one_hot(classes, features.dtype())?; // (samples, classes)
    let counts = member.try_sum_axes(&[0], false)?;
    if let Some(class) = counts.to_f64_vec().iter().position(|&count| count == 0.0) {
        let problem = format!("have no example of class {class}; give at least one of each");
        return Err(Error::setting("class_prototypes", "labels", problem));
    }
    let sums = member.try_t()?.try_matmul(features)?;
    Ok(sums.try_div(&counts.try_unsqueeze(-1)?)?)
}

/// For each row of features (samples, width) the number of the nearest row of points (classes, width), by Euclidean
/// distance.
///
/// # Errors
/// If the widths differ.
pub fn nearest_class(features: &Tensor, points: &Tensor) -> Result<Tensor> {
    // ‖x − c‖² without ‖x‖², which is the same for all classes.
    let products = features.try_matmul(&points.try_t()?)?;
    let squares = points.try_square()?.try_sum_axes(&[-1], false)?;
    Ok((squares.try_sub(&(products * 2.0))?).try_argmin(-1)?.to_dtype(DType::I64))
}
