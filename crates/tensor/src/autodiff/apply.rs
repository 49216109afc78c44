//! Applying an operation: on plain data directly, on marked tensors level by level.

use std::sync::{Arc, Mutex};

use smallvec::SmallVec;

use super::node::{Node, NodeKind, Step, check_like};
use super::{Kind, Level, Point, Track, tape, trace, vmap};
use crate::ops::{Aux, Op};
use crate::{Error, Result, Shape, Tensor, meter};

type Inputs = SmallVec<[Tensor; 3]>;

/// The result of `op`, with every level's bookkeeping done.
#[inline]
pub(crate) fn apply<O: Op + Clone>(op: O, inputs: &[&Tensor]) -> Result<Tensor> {
    if inputs.iter().all(|x| x.track().is_none()) {
        return run(&op, inputs);
    }
    apply_tracked(&op, inputs)
}

/// The same through a pointer, for levels that apply the operation again on what lies below them.
pub(crate) fn apply_dyn(op: &dyn Op, inputs: &[&Tensor]) -> Result<Tensor> {
    if inputs.iter().all(|x| x.track().is_none()) {
        return run(op, inputs);
    }
    apply_tracked(op, inputs)
}

#[inline]
fn run<O: Op + ?Sized>(op: &O, inputs: &[&Tensor]) -> Result<Tensor> {
    let output = op.forward(inputs).map_err(|error| error.named(op.name()))?;
    if meter::on() {
        meter::count(op.name(), op.flops(inputs, &output));
    }
    Ok(output)
}

fn run_aux(op: &dyn Op, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
    let (output, aux) = op.forward_aux(inputs).map_err(|error| error.named(op.name()))?;
    if meter::on() {
        meter::count(op.name(), op.flops(inputs, &output));
    }
    Ok((output, aux))
}

fn apply_tracked(op: &dyn Op, inputs: &[&Tensor]) -> Result<Tensor> {
    let Some(top) = inputs.iter().filter_map(|x| x.track()).max_by_key(|track| track.level) else {
        return run(op, inputs);
    };
    if !op.is_differentiable() && !matches!(top.kind, Kind::Batched { .. }) {
        return Err(Error::derivative(op.name(), "has no derivative; give it a rule or `detach` its inputs"));
    }
    let level = top.level;
    match &top.kind {
        Kind::Taped(_) if level == 0 && !tape::is_recording() => {
            let plain: Inputs = inputs.iter().map(|x| x.untracked()).collect();
            run(op, &refs(&plain))
        }
        Kind::Taped(_) => record(op, inputs, level),
        Kind::Dual(_) => push_forward(op, inputs, level),
        Kind::Batched { size, .. } => vmap::apply_batched(op, inputs, level, *size),
    }
}

/// References to owned tensors.
pub(crate) fn refs(tensors: &[Tensor]) -> SmallVec<[&Tensor; 3]> {
    tensors.iter().collect()
}

/// The inputs as the levels below see them.
fn primals(inputs: &[&Tensor], level: Level) -> Inputs {
    inputs.iter().map(|x| x.below(level)).collect()
}

/// Reverse mode: remember the operation, its inputs' nodes and the values its rule needs.
fn record(op: &dyn Op, inputs: &[&Tensor], level: Level) -> Result<Tensor> {
    // Data of a tensor are the same on all levels but batched ones, so plain primals need no unwrapping.
    let plain = inputs.iter().all(|x| x.track().is_none_or(|track| track.level == level && track.inner.is_none()));
    let primals: Inputs = if plain { Inputs::new() } else { primals(inputs, level) };
    let (output, aux) = if plain { run_aux(op, inputs)? } else { (apply_dyn(op, &refs(&primals))?, Aux::new()) };
    let traced = trace::is_tracing(level);
    if !output.dtype().is_float() && !traced {
        return Ok(output);
    }
    // Filled by pushing: collecting three short lists is a fifth of a small operation.
    let (mut tracks, mut needs) = (SmallVec::<[Option<Arc<Track>>; 3]>::new(), SmallVec::<[bool; 3]>::new());
    let mut rank = 1;
    for x in inputs {
        let track = x.track_at(level).filter(|_| x.dtype().is_float());
        rank = rank.max(track.and_then(|track| track.node()).map_or(0, |node| node.rank + 1));
        needs.push(track.is_some());
        tracks.push(track.cloned());
    }
    let saves = op.saves(&needs);
    let mut saved = SmallVec::<[Option<Tensor>; 3]>::new();
    for (i, x) in inputs.iter().enumerate() {
        saved.push(saves.has_input(i).then(|| if plain { x.untracked() } else { primals[i].clone() }));
    }
    let traced = traced.then(|| (output.clone(), aux.clone()));
    // One expression, so that the node is put together where it stays and not moved from hand to hand.
    let track = Arc::new(Track {
        level,
        inner: output.track().cloned(),
        kind: Kind::Taped(Node {
            rank,
            shape: output.shape().clone(),
            dtype: output.dtype(),
            kind: NodeKind::Step(Mutex::new(Some(Step {
                op: op.boxed(),
                inputs: tracks,
                shapes: shapes(inputs),
                saved,
                output: saves.has_output().then(|| output.clone()),
                aux,
            }))),
        }),
    });
    let output = output.with_track(Some(track));
    if let Some((value, aux)) = traced {
        trace::note(op, inputs, level, (&output, value), aux);
    }
    Ok(output)
}

/// The shapes of the inputs, or one for all where they are equal.
fn shapes(inputs: &[&Tensor]) -> SmallVec<[Shape; 1]> {
    let equal = inputs.windows(2).all(|pair| pair[0].shape() == pair[1].shape());
    let mut shapes = SmallVec::new();
    for x in &inputs[..if equal { inputs.len().min(1) } else { inputs.len() }] {
        shapes.push(x.shape().clone());
    }
    shapes
}

/// Forward mode: the value, and its derivative along the tangents.
fn push_forward(op: &dyn Op, inputs: &[&Tensor], level: Level) -> Result<Tensor> {
    let primals = primals(inputs, level);
    let output = apply_dyn(op, &refs(&primals))?;
    if !output.dtype().is_float() {
        return Ok(output);
    }
    let tangents: SmallVec<[Option<&Tensor>; 3]> = inputs
        .iter()
        .map(|x| match x.track_at(level).map(|track| &track.kind) {
            Some(Kind::Dual(tangent)) => Some(tangent),
            _ => None,
        })
        .collect();
    let shapes: SmallVec<[Shape; 3]> = primals.iter().map(|x| x.shape().clone()).collect();
    let values: SmallVec<[Option<Tensor>; 3]> = primals.into_iter().map(Some).collect();
    let at = Point { inputs: &values, output: Some(&output), shapes: &shapes, aux: &[] };
    match op.jvp(&at, &tangents)? {
        None => Ok(output),
        Some(tangent) => {
            let tangent = crate::ops::shape::expand(&tangent, output.shape())?;
            check_like(op.name(), output.shape(), output.dtype(), &tangent)?;
            Ok(output.marked(level, Kind::Dual(tangent)))
        }
    }
}
