//! Leaves that are in a list of parameters twice.
//!
//! A clone of a leaf is the same leaf with data of its own: gradients arrive in both, a step moves one of them and leaves the
//! other where it was. So tied weights that are kept in two places come apart at the first step, and nobody is told.

use std::borrow::Borrow;

use tove_tensor::{DType, Error, Result, Tensor, TryOps};

/// Two positions that hold the same leaf, if there are any. Gradients stay as they are.
///
/// ```
/// use tove_optim::same_leaves;
/// use tove_tensor::Tensor;
/// let (a, b) = (Tensor::from([1.0]).requires_grad(), Tensor::from([1.0]).requires_grad());
/// assert_eq!(same_leaves(&[&a, &b, &a.clone()]), Some((0, 2)));
/// assert_eq!(same_leaves(&[&a, &b, &a.detach().requires_grad()]), None);
/// ```
pub fn same_leaves<P: Borrow<Tensor>>(parameters: &[P]) -> Option<(usize, usize)> {
    let leaves = || parameters.iter().map(Borrow::borrow);
    let kept: Vec<Option<Tensor>> = leaves().map(Tensor::take_grad).collect();
    let found = leaves().enumerate().find_map(|(position, leaf)| {
        if let Some(mark) = leaf.grad() {
            return Some((first_entry(&mark)?, position));
        }
        // A gradient that says where it was put, without memory of its own.
        let mark = Tensor::full((), position as f64, leaf.dtype());
        leaf.set_grad(mark.try_broadcast_to(leaf.shape().clone()).ok());
        None
    });
    leaves().for_each(|leaf| leaf.set_grad(None));
    leaves().zip(kept).filter(|(_, gradient)| gradient.is_some()).for_each(|(leaf, gradient)| leaf.set_grad(gradient));
    found
}

/// The position that a mark holds; empty tensors hold none, and moving one of two changes nothing.
fn first_entry(mark: &Tensor) -> Option<usize> {
    let place = vec![0; mark.rank()];
    let entry = || if mark.dtype() == DType::F64 { mark.at::<f64>(&place) } else { f64::from(mark.at::<f32>(&place)) };
    (mark.numel() > 0).then(|| entry() as usize)
}

/// An error if a leaf is there twice.
pub(crate) fn expect_different<P: Borrow<Tensor>>(op: &'static str, parameters: &[P]) -> Result<()> {
    let Some((first, second)) = same_leaves(parameters) else { return Ok(()) };
    let problem = format!(
        "at positions {first} and {second} are one tensor, and a step would move only one of them; keep it in one place, or \
         give the copy a leaf of its own with `detach().requires_grad()`"
    );
    Err(Error::Parameter { op, name: "parameters", problem: problem.into() })
}
