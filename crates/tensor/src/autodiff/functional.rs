//! The functional face: derivatives as functions of functions.
//!
//! | call | gives |
//! |---|---|
//! | [`grad`]`(f)` | the gradient function of a scalar-valued `f` |
//! | [`jvp`]`(f, x, v)` | `f(x)` and `J v`, in one forward pass |
//! | [`vjp`]`(f, x)` | `f(x)` and the map `u -> Jᵀ u` |
//! | [`jacobian`]`(f, x)` | `J`, output axes first, then input axes |
//! | [`hessian`]`(f, x)`, [`hvp`]`(f, x, v)` | second derivatives, whole or applied to a vector |
//! | [`linearize`]`(f, x)` | `f(x)` and the map `v -> J v`, from one recording |
//! | [`per_sample_grad`]`(f)` | one gradient per row of a batch |
//!
//! Results are in Jacobian layout: entry (i, j) is the derivative of output i by input j.

use std::sync::Arc;

use super::backward::{Options, node_of, push_tangents, sweep};
use super::node::check_like;
use super::vmap::{batched, physical};
use super::{Kind, Level, Node, Track, Tree, new_level};
use crate::error::OrPanic;
use crate::{Error, Result, Tensor};

/// Inputs marked as leaves of a new tape level.
fn leaves<P: Tree>(argument: &P, level: Level) -> P {
    argument.map(|x| {
        if !x.dtype().is_float() {
            return x;
        }
        let leaf = Node::leaf(&x);
        x.marked(level, Kind::Taped(leaf))
    })
}

/// The leaves of a direction, each like its own leaf of the argument. Leaves without derivatives take any.
fn paired<P: Tree>(op: &'static str, argument: &P, direction: &P) -> Result<Vec<Tensor>> {
    let (own, leaves) = (argument.leaves(), direction.leaves());
    if own.len() != leaves.len() {
        let problem = format!("has {} tensors where the argument has {}", leaves.len(), own.len());
        return Err(Error::parameter(op, "direction", problem));
    }
    for (x, v) in own.iter().zip(&leaves).filter(|(x, _)| x.dtype().is_float()) {
        check_like(op, x.shape(), x.dtype(), v)?;
    }
    Ok(leaves)
}

/// Gradients of `y` at marked inputs; zeros where there is no influence.
fn gradients<P: Tree>(y: &Tensor, inputs: &P, level: Level, seed: Tensor, keep: bool) -> Result<P> {
    let targets: Vec<Tensor> = inputs.leaves();
    let tracks: Vec<Option<Arc<Track>>> = targets.iter().map(|x| node_of(x, level)).collect();
    let mut found: Vec<Option<Tensor>> = vec![None; targets.len()];
    if let Some(root) = node_of(y, level) {
        sweep(&root, seed, Options { keep, record: false }, |track, gradient| {
            if track.node().is_some_and(|node| node.rank == 0) {
                for (target, slot) in tracks.iter().zip(&mut found) {
                    if target.as_ref().is_some_and(|target| Arc::ptr_eq(target, track)) {
                        *slot = Some(gradient.clone());
                    }
                }
            }
            Ok(())
        })?;
    }
    let mut results =
        found.into_iter().zip(&targets).map(|(found, x)| found.unwrap_or_else(|| x.below(level).detach().zeros_like()));
    Ok(inputs.rebuild(&mut results))
}

fn scalar_seed(y: &Tensor, op: &'static str) -> Result<Tensor> {
    if y.numel() != 1 {
        let problem = "is not a scalar; use `jacobian` or `vjp` for functions with several outputs";
        return Err(Error::shape(op, y.shape(), problem));
    }
    if !y.dtype().is_float() {
        return Err(Error::DType { op, dtype: y.dtype(), expected: "only f32 and f64 have derivatives" });
    }
    Ok(Tensor::ones(y.shape().clone(), y.dtype()))
}

/// The function that returns value and gradient of a scalar-valued `f`.
///
/// ```
/// use tove_tensor::{Tensor, value_and_grad};
/// let (value, slope) = value_and_grad(|x: &Tensor| (x * x).sum())(&Tensor::from([3.0]));
/// assert_eq!((value.item::<f64>(), slope.item::<f64>()), (9.0, 6.0));
/// ```
pub fn value_and_grad<P: Tree>(f: impl Fn(&P) -> Tensor) -> impl Fn(&P) -> (Tensor, P) {
    move |argument| {
        let level = new_level();
        let inputs = leaves(argument, level);
        let y = f(&inputs);
        let seed = scalar_seed(&y, "grad").or_panic();
        let gradient = gradients(&y, &inputs, level, seed, false).or_panic();
        (y.below(level), gradient)
    }
}

/// The gradient function of a scalar-valued `f`. It can be differentiated again.
///
/// ```
/// use tove_tensor::{Tensor, grad};
/// let f = |x: &Tensor| x.sin().sum();
/// let x = Tensor::from([0.5]);
/// assert_eq!(grad(f)(&x).item::<f64>(), 0.5f64.cos());
/// assert_eq!(grad(|x: &Tensor| grad(f)(x).sum())(&x).item::<f64>(), -0.5f64.sin());
/// ```
pub fn grad<P: Tree>(f: impl Fn(&P) -> Tensor) -> impl Fn(&P) -> P {
    let with_value = value_and_grad(f);
    move |argument| with_value(argument).1
}

/// `f(x)` and the function that maps a cotangent `u` of the output's shape to `Jᵀ u`.
///
/// ```
/// use tove_tensor::{Tensor, vjp};
/// let (y, pull) = vjp(|x: &Tensor| x * x, &Tensor::from([1.0, 2.0]));
/// assert_eq!(y.to_vec::<f64>(), [1.0, 4.0]);
/// assert_eq!(pull(&Tensor::from([1.0, 10.0])).to_vec::<f64>(), [2.0, 40.0]);
/// ```
#[track_caller]
pub fn vjp<P: Tree, F: FnOnce(&P) -> Tensor>(f: F, argument: &P) -> (Tensor, impl Fn(&Tensor) -> P + use<P, F>) {
    try_vjp(|inputs| Ok(f(inputs)), argument).or_panic()
}

/// As [`vjp`], for functions that may fail.
pub(crate) fn try_vjp<P: Tree, F: FnOnce(&P) -> Result<Tensor>>(
    f: F,
    argument: &P,
) -> Result<(Tensor, impl Fn(&Tensor) -> P + use<P, F>)> {
    let level = new_level();
    let inputs = leaves(argument, level);
    let y = f(&inputs)?;
    let value = y.below(level);
    let pull = move |cotangent: &Tensor| {
        check_like("vjp", y.shape(), y.dtype(), cotangent).or_panic();
        gradients(&y, &inputs, level, cotangent.clone(), true).or_panic()
    };
    Ok((value, pull))
}

/// `Jᵀ u` for one cotangent only: the recorded graph is freed on the way, so that less memory is held at once.
pub(crate) fn try_vjp_once<P: Tree>(
    f: impl FnOnce(&P) -> Result<Tensor>,
    argument: &P,
    cotangent: &Tensor,
) -> Result<P> {
    let level = new_level();
    let inputs = leaves(argument, level);
    let y = f(&inputs)?;
    check_like("vjp", y.shape(), y.dtype(), cotangent)?;
    gradients(&y, &inputs, level, cotangent.clone(), false)
}

/// `f(x)` and its derivative in the direction `v`, which has the structure of `x`; one forward pass.
///
/// ```
/// use tove_tensor::{Tensor, jvp};
/// let (y, dy) = jvp(|x: &Tensor| x.exp(), &Tensor::from([0.0]), &Tensor::from([2.0]));
/// assert_eq!((y.item::<f64>(), dy.item::<f64>()), (1.0, 2.0));
/// ```
#[track_caller]
pub fn jvp<P: Tree>(f: impl FnOnce(&P) -> Tensor, argument: &P, direction: &P) -> (Tensor, Tensor) {
    try_jvp(|inputs| Ok(f(inputs)), argument, direction).or_panic()
}

/// As [`jvp`], for functions that may fail.
pub(crate) fn try_jvp<P: Tree>(
    f: impl FnOnce(&P) -> Result<Tensor>,
    argument: &P,
    direction: &P,
) -> Result<(Tensor, Tensor)> {
    let level = new_level();
    let mut tangents = paired("jvp", argument, direction)?.into_iter();
    let inputs = argument.map(|x| match tangents.next() {
        Some(tangent) if x.dtype().is_float() => x.marked(level, Kind::Dual(tangent)),
        _ => x,
    });
    let y = f(&inputs)?;
    let tangent = match y.track_at(level).map(|track| &track.kind) {
        Some(Kind::Dual(tangent)) => tangent.clone(),
        _ => y.detach().zeros_like(),
    };
    Ok((y.below(level), tangent))
}

/// `f(x)` and the linear map `v -> J v`, from one recording of `f`.
///
/// ```
/// use tove_tensor::{Tensor, linearize};
/// let (_, push) = linearize(|x: &Tensor| x * x, &Tensor::from([1.0, 3.0]));
/// assert_eq!(push(&Tensor::from([1.0, 1.0])).to_vec::<f64>(), [2.0, 6.0]);
/// ```
#[track_caller]
pub fn linearize<P: Tree, F: FnOnce(&P) -> Tensor>(f: F, argument: &P) -> (Tensor, impl Fn(&P) -> Tensor + use<P, F>) {
    let level = new_level();
    let inputs = leaves(argument, level);
    let y = f(&inputs);
    let value = y.below(level);
    let push = move |direction: &P| {
        let tangents = paired("linearize", &inputs, direction).or_panic();
        let pairs: Vec<(Arc<Track>, Tensor)> =
            inputs.leaves().iter().zip(tangents).filter_map(|(x, v)| Some((node_of(x, level)?, v))).collect();
        let tangent = node_of(&y, level).map(|root| push_tangents(&root, &pairs).or_panic()).unwrap_or_default();
        tangent.unwrap_or_else(|| y.below(level).detach().zeros_like())
    };
    (value, push)
}

/// The basis of the space of tensors like `x`, one along the first axis.
fn basis(x: &Tensor) -> Tensor {
    let n = x.numel();
    Tensor::eye(n, x.dtype()).reshape(x.shape().inserted(0, n))
}

/// The Jacobian by forward mode: all columns in one sweep. Axes are those of the output, then those of the input.
///
/// ```
/// use tove_tensor::{Tensor, jacfwd};
/// let j = jacfwd(|x: &Tensor| x.square(), &Tensor::from([1.0, 3.0]));
/// assert_eq!(j.to_vec::<f64>(), [2.0, 0.0, 0.0, 6.0]);
/// ```
#[track_caller]
pub fn jacfwd(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Tensor {
    let level = new_level();
    let direction = batched(&basis(x), level);
    let (y, columns) = jvp(f, x, &direction);
    let columns = physical(&columns, level, x.numel()).or_panic(); // (inputs, outputs...)
    let flat = columns.reshape([x.numel(), y.numel()]).t();
    flat.reshape(y.shape().joined(x.dims()))
}

/// The Jacobian by reverse mode: all rows in one sweep. Axes are those of the output, then those of the input.
///
/// ```
/// use tove_tensor::{Tensor, jacrev};
/// let j = jacrev(|x: &Tensor| x.square(), &Tensor::from([1.0, 3.0]));
/// assert_eq!(j.to_vec::<f64>(), [2.0, 0.0, 0.0, 6.0]);
/// ```
#[track_caller]
pub fn jacrev(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Tensor {
    let (y, pull) = vjp(f, x);
    let level = new_level();
    let rows = pull(&batched(&basis(&y.detach()), level));
    physical(&rows, level, y.numel()).or_panic().reshape(y.shape().joined(x.dims()))
}

/// The Jacobian of `f` at `x`, by the mode that needs fewer sweeps. Axes are those of the output, then those of the input.
///
/// ```
/// use tove_tensor::{Tensor, jacobian};
/// let f = |x: &Tensor| { let (a, b) = (x.get(0), x.get(1)); Tensor::stack(&[&(&a * &a), &(&a * &b), &b], 0) };
/// let j = jacobian(f, &Tensor::from([2.0, 3.0]));
/// assert_eq!(j.to_vec::<f64>(), [4.0, 0.0, 3.0, 2.0, 0.0, 1.0]);
/// ```
#[track_caller]
pub fn jacobian(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Tensor {
    // Recording costs memory, so forward mode also wins ties; the size of the output is known only after a run.
    let outputs = super::no_grad(|| f(&x.detach())).numel();
    if outputs < x.numel() { jacrev(f, x) } else { jacfwd(f, x) }
}

/// The Hessian of a scalar-valued `f` at `x`: forward over reverse, all columns in one sweep. Its axes are those of
/// `x`, twice.
///
/// ```
/// use tove_tensor::{Tensor, hessian};
/// let h = hessian(|x: &Tensor| x.prod(), &Tensor::from([2.0, 3.0]));
/// assert_eq!(h.to_vec::<f64>(), [0.0, 1.0, 1.0, 0.0]);
/// ```
#[track_caller]
pub fn hessian(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Tensor {
    jacfwd(grad(f), x)
}

/// The product of the Hessian of a scalar-valued `f` with a direction, without forming the Hessian.
///
/// ```
/// use tove_tensor::{Tensor, hvp};
/// let v = hvp(|x: &Tensor| (x * x * x).sum(), &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 1.0]));
/// assert_eq!(v.to_vec::<f64>(), [6.0, 12.0]);
/// ```
#[track_caller]
pub fn hvp<P: Tree>(f: impl Fn(&P) -> Tensor, x: &P, direction: &P) -> P {
    // The gradient is a tree, so the tangent of each of its leaves is read off after one dual pass.
    let level = new_level();
    let mut tangents = paired("hvp", x, direction).or_panic().into_iter();
    let inputs = x.map(|x| match tangents.next() {
        Some(tangent) if x.dtype().is_float() => x.marked(level, Kind::Dual(tangent)),
        _ => x,
    });
    grad(f)(&inputs).map(|g| match g.track_at(level).map(|track| &track.kind) {
        Some(Kind::Dual(tangent)) => tangent.clone(),
        _ => g.below(level).detach().zeros_like(),
    })
}

/// For a scalar loss `f(parameters, sample)`, the function that returns one gradient per sample of a batch: each tensor
/// of the result has the batch axis in front.
///
/// ```
/// use tove_tensor::{Tensor, per_sample_grad};
/// let f = |w: &Tensor, x: &Tensor| (w * x).sum();
/// let g = per_sample_grad(f)(&Tensor::from([1.0, 1.0]), &Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
/// assert_eq!(g.to_vec::<f64>(), [1.0, 2.0, 3.0, 4.0]);
/// ```
pub fn per_sample_grad<P: Tree, X: Tree>(f: impl Fn(&P, &X) -> Tensor) -> impl Fn(&P, &X) -> P {
    move |parameters, samples| {
        let level = new_level();
        let leaves = samples.leaves();
        let size = leaves.first().and_then(|x| x.dims().first().copied()).unwrap_or(0);
        if let Some(odd) = leaves.iter().find(|x| x.dims().first() != Some(&size)) {
            let problem = "first axes of all samples must agree";
            Err::<(), _>(Error::shapes("per_sample_grad", leaves[0].shape(), odd.shape(), problem)).or_panic();
        }
        let samples = samples.map(|x| batched(&x, level));
        let gradient = grad(|parameters: &P| f(parameters, &samples))(parameters);
        gradient.map(|g| physical(&g, level, size).or_panic())
    }
}
