//! L-BFGS as an optimiser of leaves.

use tove_tensor::{DType, Error, Result, Tensor};

use super::run::Run;
use super::{LbfgsSettings, StopReason};
use crate::optimizer::{Closure, Optimizer, OptimizerState};
use crate::settings::{Hyperparameters, SettingError};

const OP: &str = "Lbfgs";
/// The counter that says why the last step ended. Files from before it have none: then a step is taken to find out.
const REASON: &str = "stop_reason";

impl StopReason {
    const ALL: [StopReason; 5] = [
        StopReason::GradientSmall,
        StopReason::ValueStalled,
        StopReason::IterationLimit,
        StopReason::EvaluationLimit,
        StopReason::NoProgress,
    ];

    /// The number under which a state keeps it; numbers never change their meaning.
    fn code(self) -> u64 {
        match self {
            StopReason::GradientSmall => 0,
            StopReason::ValueStalled => 1,
            StopReason::IterationLimit => 2,
            StopReason::EvaluationLimit => 3,
            StopReason::NoProgress => 4,
        }
    }

    fn from_code(code: u64) -> Option<StopReason> {
        StopReason::ALL.into_iter().find(|reason| reason.code() == code)
    }
}

/// L-BFGS over the parameters of a net. A step needs the loss itself, so it is made with
/// [`step_with`](Optimizer::step_with), and does up to `max_iterations` iterations (20 unless set otherwise, as in
/// PyTorch). What it has learnt of the curvature is kept from step to step, so the loss should be that of the same data.
///
/// ```
/// use tove_optim::{Lbfgs, Optimizer};
/// use tove_tensor::Tensor;
/// let mut w = Tensor::from([4.0f32, -3.0]).requires_grad();
/// let mut lbfgs = Lbfgs::default();
/// lbfgs.step_with(&mut [&mut w], &mut |parameters| {
///     let loss = (parameters[0].square() * Tensor::from([1.0f32, 50.0])).sum();
///     loss.backward();
///     Ok(f64::from(loss.item::<f32>()))
/// })?;
/// assert!(w.to_vec::<f32>().iter().all(|w| w.abs() < 1e-4));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lbfgs {
    settings: LbfgsSettings,
    run: Option<Run>,
    reason: Option<StopReason>,
}

impl Default for Lbfgs {
    fn default() -> Lbfgs {
        Lbfgs { settings: LbfgsSettings::default().max_iterations(20), run: None, reason: None }
    }
}

impl Lbfgs {
    /// L-BFGS with these settings, which are checked.
    pub fn build(settings: LbfgsSettings) -> Result<Lbfgs, SettingError> {
        settings.validate()?;
        Ok(Lbfgs { settings, run: None, reason: None })
    }

    /// Why the last step ended.
    pub fn reason(&self) -> Option<StopReason> {
        self.reason
    }

    /// Evaluations of the loss in the last step.
    pub fn evaluations(&self) -> usize {
        self.run.as_ref().map_or(0, |run| run.evaluations)
    }
}

/// Copies all elements into one vector.
fn gather<'a>(tensors: impl Iterator<Item = &'a Tensor>, flat: &mut [f64]) -> Result<()> {
    let mut rest = flat;
    for tensor in tensors {
        let (own, others) = rest.split_at_mut(tensor.numel());
        let tensor = tensor.contiguous();
        match tensor.dtype() {
            DType::F32 => own.iter_mut().zip(tensor.as_slice::<f32>()?).for_each(|(to, &from)| *to = f64::from(from)),
            _ => own.copy_from_slice(tensor.as_slice::<f64>()?),
        }
        rest = others;
    }
    Ok(())
}

/// Writes the elements of one vector into the parameters.
fn scatter(flat: &[f64], parameters: &mut [&mut Tensor]) -> Result<()> {
    let mut rest = flat;
    for parameter in parameters {
        let (own, others) = rest.split_at(parameter.numel());
        parameter.update(|parameter| {
            match parameter.dtype() {
                DType::F32 => {
                    let to = parameter.as_mut_slice::<f32>()?;
                    to.iter_mut().zip(own).for_each(|(to, &from)| *to = from as f32);
                }
                _ => parameter.as_mut_slice::<f64>()?.copy_from_slice(own),
            }
            Ok(())
        })?;
        rest = others;
    }
    Ok(())
}

/// Takes the leaves' gradients into one vector; zeros where there is none.
fn gather_gradients(parameters: &[&mut Tensor], flat: &mut [f64]) -> Result<()> {
    let mut start = 0;
    for parameter in parameters {
        let range = start..start + parameter.numel();
        start = range.end;
        match parameter.take_grad() {
            Some(gradient) => gather(std::iter::once(&gradient), &mut flat[range])?,
            None => flat[range].fill(0.0),
        }
    }
    Ok(())
}

impl Optimizer for Lbfgs {
    fn name(&self) -> &'static str {
        OP
    }

    fn step(&mut self, _: &mut [&mut Tensor]) -> Result<()> {
        let problem = "is needed at other points than the present one; call `step_with` and give it the loss";
        Err(Error::Parameter { op: OP, name: "loss", problem: problem.into() })
    }

    fn step_with(&mut self, parameters: &mut [&mut Tensor], loss: &mut Closure<'_>) -> Result<f64> {
        self.settings.validate()?;
        let size: usize = parameters.iter().map(|parameter| parameter.numel()).sum();
        if let Some(odd) = parameters.iter().find(|parameter| !parameter.dtype().is_float()) {
            return Err(Error::DType { op: OP, dtype: odd.dtype(), expected: "f32 or f64 is needed" });
        }
        let rounding = parameters.iter().map(|parameter| parameter.dtype().epsilon()).fold(f64::EPSILON, f64::max);
        let history = self.settings.history;
        let run = self.run.get_or_insert_with(|| Run::new(vec![0.0; size], history, rounding));
        crate::rules::expect_count(OP, run.x.len(), size)?;
        gather(parameters.iter().map(|parameter| &**parameter), &mut run.x)?;
        let mut first = None;
        let mut evaluate = |x: &[f64], gradient: &mut [f64]| -> Result<f64> {
            if first.is_some() {
                scatter(x, parameters)?;
            }
            let value = loss(parameters)?;
            first.get_or_insert(value);
            gather_gradients(parameters, gradient)?;
            Ok(value)
        };
        let result = run.minimize(&self.settings, &mut evaluate);
        // Wherever the last evaluation was, and even after an error, the best point is left in the parameters.
        scatter(&run.x, parameters)?;
        self.reason = Some(result?);
        Ok(first.unwrap_or(f64::NAN))
    }

    fn needs_loss(&self) -> bool {
        true
    }

    fn converged(&self) -> bool {
        use StopReason::{GradientSmall, NoProgress, ValueStalled};
        matches!(self.reason, Some(GradientSmall | ValueStalled | NoProgress))
    }

    fn learning_rate(&self) -> f64 {
        self.settings.initial_step
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.settings.initial_step = learning_rate;
    }

    fn hyperparameters(&self) -> &dyn Hyperparameters {
        &self.settings
    }

    fn set_hyperparameters(&mut self, settings: &serde_json::Value) -> Result<()> {
        let before = self.settings.clone();
        let state = OptimizerState { settings: settings.clone(), ..self.state() };
        self.load_state(&state)?;
        if self.settings != before {
            // What was the end under the old settings need not be one under the new ones.
            self.reason = None;
        }
        Ok(())
    }

    fn state(&self) -> OptimizerState {
        let mut state = OptimizerState::new(OP, &self.settings);
        if let Some(reason) = self.reason {
            state.counters.insert(REASON.to_owned(), reason.code());
        }
        let Some(run) = &self.run else { return state };
        state.counters.insert("size".to_owned(), run.x.len() as u64);
        state.counters.insert("single_precision".to_owned(), u64::from(run.rounding > f64::EPSILON));
        for age in 0..run.memory.len() {
            let (step, change) = run.memory.pair(age);
            state.tensors.insert(format!("{age}.step"), Tensor::from_slice(step));
            state.tensors.insert(format!("{age}.change"), Tensor::from_slice(change));
        }
        state
    }

    fn load_state(&mut self, state: &OptimizerState) -> Result<()> {
        state.expect_rule(OP)?;
        let mut settings = self.settings.clone();
        settings.load_json(&state.settings)?;
        // Oldest first. Without any there is nothing to go on from, and the next step sets memory aside.
        let pairs = (0..).map_while(|age| {
            let tensor = |name: &str| state.tensors.get(&format!("{age}.{name}"));
            Some((tensor("step")?, tensor("change")?))
        });
        let pairs: Vec<(&Tensor, &Tensor)> = pairs.collect();
        let size = state.counters.get("size").map_or(0, |&size| size as usize);
        if let Some((step, _)) = pairs.iter().find(|(step, change)| step.numel() != size || change.numel() != size) {
            let problem = format!("has vectors of {} elements for {size} parameters", step.numel());
            return Err(Error::Parameter { op: OP, name: "state", problem: problem.into() });
        }
        let mut run = None;
        if !pairs.is_empty() {
            let single = state.counters.get("single_precision").is_some_and(|&single| single != 0);
            let rounding = if single { DType::F32.epsilon() } else { f64::EPSILON };
            let fresh: &mut Run = run.insert(Run::new(vec![0.0; size], settings.history, rounding));
            let zeros = vec![0.0; size];
            // With a shorter history than before, the newest pairs are kept.
            for (step, change) in &pairs[pairs.len().saturating_sub(settings.history)..] {
                // Differences from zero are the vectors themselves.
                fresh.memory.push((&zeros, &zeros), (step.as_slice()?, change.as_slice()?));
            }
        }
        let reason = state.counters.get(REASON).and_then(|&code| StopReason::from_code(code));
        (self.settings, self.run, self.reason) = (settings, run, reason);
        Ok(())
    }
}
