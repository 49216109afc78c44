//! The evaluation trace: a function's run as a straight program, and the reverse program beside it.
//!
//! Running y = f(x₁, …, xₙ) executes steps v_k = op_k(earlier values) one after the other. A [`Trace`] keeps them all, with
//! every value. The reverse program visits the steps from the last to the first with one adjoint v̄_k = ∂y/∂v_k per
//! variable: it starts from ȳ = 1 and, at step k, adds v̄_k ∂v_k/∂v_j to v̄_j for each operand v_j.
//!
//! ```
//! use tove_tensor::{Tensor, Trace};
//! let x = [Tensor::from([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])];
//! let trace = Trace::of(|x| x[0].tanh().sum(), &x);
//! assert_eq!(trace.to_string(), "\
//! %0 = input    (2, 3) f64
//! %1 = tanh(%0)    (2, 3) f64
//! %2 = sum(%1, axes=[-2, -1], keep=false)    () f64
//! return %2
//! ");
//! assert_eq!(trace.replay(&x).unwrap().item::<f64>(), trace.value().item::<f64>());
//! assert_eq!(trace.adjoints().unwrap()[1].to_vec::<f64>(), [1.0; 6]); // ∂y/∂%1
//! ```

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use smallvec::SmallVec;

use super::apply::{apply, apply_dyn, refs};
use super::{Kind, Level, Node, Point, Track, new_level};
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{self, Aux, Op};
use crate::{Error, Result, Shape, Tensor};

/// Where a step takes an operand from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Argument i of the function.
    Input(usize),
    /// The result of step j.
    Step(usize),
    /// A value that does not depend on the arguments.
    Constant(Tensor),
}

/// One application of an operation.
#[derive(Clone)]
pub struct TraceStep {
    pub(super) op: Box<dyn Op>,
    inputs: Vec<Source>,
    value: Tensor,
    aux: Aux,
}

impl TraceStep {
    /// The operation's name.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// assert_eq!(Trace::of(|x| x[0].exp(), &[Tensor::from([1.0])]).steps()[0].op(), "exp");
    /// ```
    pub fn op(&self) -> &'static str {
        self.op.name()
    }

    /// Its attributes, such as `axes=[-1], keep=false`; empty if there are none.
    pub fn attributes(&self) -> String {
        self.op.attributes()
    }

    /// Its operands, in order.
    pub fn inputs(&self) -> &[Source] {
        &self.inputs
    }

    /// Its result.
    pub fn value(&self) -> &Tensor {
        &self.value
    }
}

/// A function's evaluation, step by step in the order in which it ran.
///
/// Variables are numbered: arguments first, then the results of steps. What the function did outside tensor operations
/// (branches, numbers read out of tensors) is not part of the program.
#[derive(Clone)]
pub struct Trace {
    inputs: Vec<Tensor>,
    steps: Vec<TraceStep>,
    output: Source,
}

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
pub(super) fn is_tracing(level: Level) -> bool {
    ON.get() && RECORDERS.with_borrow(|all| all.iter().any(|recorder| recorder.level == level))
}

/// Adds a step; called by the engine for each operation of a traced level, with the marked and the plain result.
pub(super) fn note(op: &dyn Op, inputs: &[&Tensor], level: Level, output: (&Tensor, Tensor), aux: Aux) {
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
pub(super) fn detached(x: &Tensor) -> Option<Tensor> {
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

/// Adjoints of all variables, and what each step contributed to those of its operands.
pub(super) struct Reverse {
    pub(super) adjoints: Vec<Tensor>,
    /// Per step and operand; `None` where no derivative flows.
    pub(super) flows: Vec<Vec<Option<Tensor>>>,
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

    /// The arguments.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// The steps, in the order in which they ran.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace, autodiff::Source};
    /// let trace = Trace::of(|x| x[0].sin().exp(), &[Tensor::from([1.0])]);
    /// assert!(matches!(trace.steps()[1].inputs(), [Source::Step(0)]));
    /// ```
    pub fn steps(&self) -> &[TraceStep] {
        &self.steps
    }

    /// Where the function's result comes from.
    pub fn output(&self) -> &Source {
        &self.output
    }

    /// The function's result.
    pub fn value(&self) -> &Tensor {
        self.value_of(&self.output)
    }

    /// Number of variables: arguments and results of steps.
    pub fn variables(&self) -> usize {
        self.inputs.len() + self.steps.len()
    }

    /// The value of variable `number`; arguments come first.
    pub fn variable(&self, number: usize) -> Option<&Tensor> {
        match number.checked_sub(self.inputs.len()) {
            None => self.inputs.get(number),
            Some(step) => self.steps.get(step).map(|step| &step.value),
        }
    }

    pub(super) fn value_of<'a>(&'a self, source: &'a Source) -> &'a Tensor {
        match source {
            Source::Input(i) => &self.inputs[*i],
            Source::Step(j) => &self.steps[*j].value,
            Source::Constant(value) => value,
        }
    }

    /// The number of the variable that a source names; `None` for constants.
    pub fn number(&self, source: &Source) -> Option<usize> {
        match source {
            Source::Input(i) => Some(*i),
            Source::Step(j) => Some(self.inputs.len() + j),
            Source::Constant(_) => None,
        }
    }

    /// Runs the program again on arguments of the same shapes and types. On the same values the result has the same bits.
    /// Where an operation chose its steps by values that have changed (the positions of a mask, say), it is refused.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| &x[0] * 2.0 + 1.0, &[Tensor::from([1.0])]);
    /// assert_eq!(trace.replay(&[Tensor::from([10.0])]).unwrap().item::<f64>(), 21.0);
    /// ```
    pub fn replay(&self, inputs: &[Tensor]) -> Result<Tensor> {
        if inputs.len() != self.inputs.len() {
            let problem = format!("are {} where the trace has {}", inputs.len(), self.inputs.len());
            return Err(Error::parameter("replay", "inputs", problem));
        }
        for (given, own) in inputs.iter().zip(&self.inputs) {
            if given.shape() != own.shape() {
                return Err(Error::shapes("replay", given.shape(), own.shape(), "a trace is made for fixed shapes"));
            }
            if given.dtype() != own.dtype() {
                return Err(Error::DTypePair { op: "replay", left: given.dtype(), right: own.dtype() });
            }
        }
        let mut values: Vec<Tensor> = Vec::with_capacity(self.steps.len());
        fn pick(source: &Source, inputs: &[Tensor], values: &[Tensor]) -> Tensor {
            match source {
                Source::Input(i) => inputs[*i].clone(),
                Source::Step(j) => values[*j].clone(),
                Source::Constant(value) => value.clone(),
            }
        }
        for step in &self.steps {
            let operands: Vec<Tensor> = step.inputs.iter().map(|source| pick(source, inputs, &values)).collect();
            values.push(apply_dyn(&*step.op, &refs(&operands))?);
        }
        Ok(pick(&self.output, inputs, &values))
    }

    /// The derivative of the one-element result by every variable, arguments first. Variables without influence, and
    /// those that are not floating point, have zeros.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| (&x[0] * &x[1]).sum(), &[Tensor::from([3.0]), Tensor::from([-2.0])]);
    /// let adjoints = trace.adjoints().unwrap();
    /// assert_eq!((adjoints[0].item::<f64>(), adjoints[1].item::<f64>()), (-2.0, 3.0));
    /// ```
    pub fn adjoints(&self) -> Result<Vec<Tensor>> {
        self.reverse().map(|reverse| reverse.adjoints)
    }

    pub(super) fn reverse(&self) -> Result<Reverse> {
        let y = self.value();
        if y.numel() != 1 || !y.dtype().is_float() {
            let problem = "is not one floating-point number; adjoints belong to a scalar result";
            return Err(Error::shape("adjoints", y.shape(), problem));
        }
        let mut adjoints: Vec<Option<Tensor>> = vec![None; self.variables()];
        if let Some(output) = self.number(&self.output) {
            adjoints[output] = Some(y.detach().ones_like());
        }
        let mut flows = vec![Vec::new(); self.steps.len()];
        for (j, step) in self.steps.iter().enumerate().rev() {
            flows[j] = vec![None; step.inputs.len()];
            let Some(upstream) = adjoints[self.inputs.len() + j].clone() else { continue };
            for (k, flow) in self.pull(step, &upstream, false)?.into_iter().enumerate() {
                let (Some(number), Some(flow)) = (self.number(&step.inputs[k]), flow) else { continue };
                flows[j][k] = Some(flow.clone());
                adjoints[number] = Some(match adjoints[number].take() {
                    Some(sum) => ops::binary::add(&sum, &flow)?,
                    None => flow,
                });
            }
        }
        let zeros = |(number, adjoint): (usize, Option<Tensor>)| {
            adjoint.or_else(|| self.variable(number).map(|x| x.detach().zeros_like()))
        };
        Ok(Reverse { adjoints: adjoints.into_iter().enumerate().filter_map(zeros).collect(), flows })
    }

    /// What a step passes to its operands, given the derivative of the result by its own value; to constants only when
    /// asked.
    pub(super) fn pull(&self, step: &TraceStep, upstream: &Tensor, constants: bool) -> Result<Vec<Option<Tensor>>> {
        let values: Vec<Option<Tensor>> = step.inputs.iter().map(|x| Some(self.value_of(x).clone())).collect();
        let shapes: Vec<Shape> = step.inputs.iter().map(|x| self.value_of(x).shape().clone()).collect();
        let needs =
            |x: &Source| (constants || !matches!(x, Source::Constant(_))) && self.value_of(x).dtype().is_float();
        let needs: SmallVec<[bool; 3]> = step.inputs.iter().map(needs).collect();
        if !step.value.dtype().is_float() || !needs.contains(&true) {
            return Ok(vec![None; step.inputs.len()]);
        }
        let at = Point { inputs: &values, output: Some(&step.value), shapes: &shapes, aux: &step.aux };
        let pulled = step.op.vjp(&at, upstream, &needs)?;
        let to_shape = |((flow, shape), &need): ((Option<Tensor>, &Shape), &bool)| {
            flow.filter(|_| need).map(|flow| ops::reduce::sum_to(flow, shape)).transpose()
        };
        pulled.into_iter().zip(&shapes).zip(&needs).map(to_shape).collect()
    }

    /// Primal and reverse program side by side, one variable and its adjoint per line. The primal is read downwards, the
    /// reverse program upwards; `~%2` is the adjoint of `%2`, and `~%3 d%3/d%2` what step `%3` passes on to it.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| x[0].sin() * &x[0], &[Tensor::scalar(1.0)]);
    /// println!("{}", trace.dual());
    /// assert!(trace.dual().contains("~%0 = ~%1 d%1/d%0 + ~%2 d%2/d%0"));
    /// ```
    pub fn dual(&self) -> String {
        let mut terms: Vec<Vec<String>> = vec![Vec::new(); self.variables()];
        if let Some(output) = self.number(&self.output) {
            terms[output].push("1".to_string());
        }
        for (j, step) in self.steps.iter().enumerate() {
            let own = self.inputs.len() + j;
            let mut operands: Vec<usize> = step.inputs.iter().filter_map(|source| self.number(source)).collect();
            operands.dedup();
            operands.into_iter().for_each(|number| terms[number].push(format!("~%{own} d%{own}/d%{number}")));
        }
        let primal: Vec<String> = (0..self.variables()).map(|number| self.statement(number)).collect();
        let width = primal.iter().map(|line| line.chars().count()).max().unwrap_or(0).max("primal, downwards".len());
        let mut text = format!("{:width$} | reverse, upwards\n", "primal, downwards");
        for (number, line) in primal.iter().enumerate() {
            let sum = if terms[number].is_empty() { "0".to_string() } else { terms[number].join(" + ") };
            let _ = writeln!(text, "{line:width$} | ~%{number} = {sum}");
        }
        text
    }

    /// One line of the primal program.
    fn statement(&self, number: usize) -> String {
        let value = self.variable(number).map(|x| format!("    {} {}", x.shape(), x.dtype())).unwrap_or_default();
        match number.checked_sub(self.inputs.len()) {
            None => format!("%{number} = input{value}"),
            Some(j) => format!("%{number} = {}{value}", self.call(&self.steps[j])),
        }
    }

    /// The call that a step makes, such as `sum(%1, axes=[-1], keep=false)`.
    pub(super) fn call(&self, step: &TraceStep) -> String {
        let mut arguments: Vec<String> = step.inputs.iter().map(|source| self.name(source)).collect();
        arguments.extend(Some(step.attributes()).filter(|attributes| !attributes.is_empty()));
        format!("{}({})", step.op(), arguments.join(", "))
    }

    fn name(&self, source: &Source) -> String {
        match (self.number(source), source) {
            (Some(number), _) => format!("%{number}"),
            (None, Source::Constant(value)) if value.numel() == 1 && !value.is_batched() => {
                value.to_f64_vec().iter().map(f64::to_string).collect()
            }
            _ => format!("constant {}", self.value_of(source).shape()),
        }
    }
}

/// The primal program.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.variables()).try_for_each(|number| writeln!(f, "{}", self.statement(number)))?;
        writeln!(f, "return {}", self.name(&self.output))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} inputs, {} steps)", self.inputs.len(), self.steps.len())
    }
}
