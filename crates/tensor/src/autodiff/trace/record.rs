//! Recording: every operation of a traced level adds a step.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::{Source, Trace, TraceStep};
use crate::autodiff::apply::apply;
use crate::autodiff::{Kind, Level, Node, Track, new_level};
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{self, Aux, Op};
use crate::{Error, Result, Tensor};

/// What is being traced on one level.
struct Recorder {
    level: Level,
    /// Variables by the address of their mark, which `kept` holds alive.
    known: HashMap<usize, Source>,
    kept: Vec<Arc<Track>>,
    steps: Vec<TraceStep>,
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static RECORDERS: RefCell<Vec<Recorder>> = const { RefCell::new(Vec::new()) };
}

/// Whether every value of this level is to be kept.
#[inline]
pub(in crate::autodiff) fn is_tracing(level: Level) -> bool {
    ON.get() && RECORDERS.with_borrow(|all| all.iter().any(|recorder| recorder.level == level))
}

/// Adds a step; called by the engine for each operation of a traced level, with the marked and the plain result.
pub(in crate::autodiff) fn note(op: &dyn Op, inputs: &[&Tensor], level: Level, output: (&Tensor, Tensor), aux: Aux) {
    RECORDERS.with_borrow_mut(|all| {
        let Some(recorder) = all.iter_mut().find(|recorder| recorder.level == level) else { return };
        let inputs = inputs.iter().map(|x| recorder.source(x)).collect();
        let step = Source::Step(recorder.steps.len());
        recorder.remember(output.0, step);
        recorder.steps.push(TraceStep { op: op.boxed(), inputs, value: output.1, aux });
    });
}

/// Cuts derivatives, but not the dependence of a replayed program on its arguments.
#[derive(Clone, Copy)]
struct Detach;

impl Constant for Detach {
    const NAME: &'static str = "detach";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        Ok(inputs[0].untracked())
    }
}

/// A detached tensor of a trace as a step of its own, so that a replay on other arguments computes it anew; `None`
/// outside of traces.
#[inline]
pub(in crate::autodiff) fn detached(x: &Tensor) -> Option<Tensor> {
    if !ON.get() {
        return None;
    }
    let track = x.track()?;
    let plain = track.inner.is_none() && matches!(track.kind, Kind::Taped(_)) && is_tracing(track.level);
    if plain { apply(constant_op(Detach), &[x]).ok() } else { None }
}

/// Passes as long as what an operation has read out of a tensor, outside of the program, is still the same.
#[derive(Clone)]
struct Unchanged {
    op: &'static str,
    seen: Tensor,
}

impl Constant for Unchanged {
    const NAME: &'static str = "unchanged";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let same =
            ops::reduce::all(&ops::binary::eq(inputs[0], &self.seen)?, &ops::reduce::every_axis(inputs[0]), false)?;
        if same.try_item::<bool>()? {
            return Ok(same);
        }
        let problem =
            "the shape of the result depends on these values, which have changed since the trace; trace again";
        Err(Error::derivative(self.op, problem))
    }
}

/// Called by operations whose steps depend on values of `x` in a way that a trace does not keep: a replay on other values
/// is refused.
pub(crate) fn depends_on(op: &'static str, x: &Tensor) -> Result<()> {
    let traced = ON.get() && x.track().is_some_and(|track| is_tracing(track.level));
    if traced {
        apply(constant_op(Unchanged { op, seen: x.untracked() }), &[x])?;
    }
    Ok(())
}

impl Recorder {
    fn remember(&mut self, x: &Tensor, source: Source) {
        if let Some(track) = x.track_at(self.level) {
            self.known.insert(Arc::as_ptr(track) as usize, source);
            self.kept.push(track.clone());
        }
    }

    fn source(&self, x: &Tensor) -> Source {
        let known = x.track_at(self.level).and_then(|track| self.known.get(&(Arc::as_ptr(track) as usize)));
        known.cloned().unwrap_or_else(|| Source::Constant(x.below(self.level)))
    }
}

/// Ends a recording also when the traced function panics.
struct Recording;

impl Recording {
    fn start(recorder: Recorder) -> Recording {
        RECORDERS.with_borrow_mut(|all| all.push(recorder));
        ON.set(true);
        Recording
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let rest = RECORDERS.with_borrow_mut(|all| {
            all.pop();
            all.len()
        });
        ON.set(rest > 0);
    }
}

impl Trace {
    /// Runs `f` on `inputs` and keeps every step.
    pub fn of(f: impl FnOnce(&[Tensor]) -> Tensor, inputs: &[Tensor]) -> Trace {
        let level = new_level();
        let mark = |x: &Tensor| x.clone().marked(level, Kind::Taped(Node::leaf(x)));
        let marked: Vec<Tensor> = inputs.iter().map(mark).collect();
        let mut recorder = Recorder { level, known: HashMap::new(), kept: Vec::new(), steps: Vec::new() };
        marked.iter().enumerate().for_each(|(i, x)| recorder.remember(x, Source::Input(i)));
        let recording = Recording::start(recorder);
        let y = f(&marked);
        let (output, steps) = RECORDERS.with_borrow_mut(|all| match all.last_mut() {
            Some(recorder) => (recorder.source(&y), std::mem::take(&mut recorder.steps)),
            None => (Source::Constant(y.below(level)), Vec::new()),
        });
        drop(recording);
        Trace { inputs: inputs.to_vec(), steps, output }
    }
}
