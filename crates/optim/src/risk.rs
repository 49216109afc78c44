//! Empirical risk minimisation: w* = argmin (1/n) Σ ℓ(y_i, f(x_i, w)) + α Ω(w), for any model and any loss.
//!
//! The model is a function of parameters (a tensor, a tuple or vector of them, or any [`Tree`]) and inputs. Repeating all data
//! changes neither the objective nor its gradient. Models are compared by their mean loss on the same data ([`compare`]).
//!
//! ```
//! use tove_optim::{RiskFit, Method, Newton, losses::Squared};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([1.0, 3.0, 5.0]));
//! let model = |(w, b): &(Tensor, Tensor), x: &Tensor| x.matmul(w) + b;
//! let start = (Tensor::from([0.0]), Tensor::from(0.0));
//! let fitted = RiskFit::new(&Squared).method(Method::Newton(Newton::default())).run(model, &start, &x, &y)?;
//! let (w, b) = fitted.parameters;
//! assert!((w.item::<f64>() - 2.0).abs() < 1e-12 && (b.item::<f64>() - 1.0).abs() < 1e-12);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, Tree, TryIndex, TryOps};

use crate::batches::Batches;
use crate::descent::{Rules, Run, backtracking_descent, gradient_descent};
use crate::fault;
use crate::line_search::Armijo;
use crate::losses::Loss;
use crate::newton::Newton;
use crate::objective::{Objective, Unravel, ravel};
use crate::penalties::NormPenalty;
use crate::subgradient::subgradient_descent;

/// The mean loss of a model on data as a function of its parameters, flattened to one vector.
pub struct EmpiricalRisk<'a, P, M> {
    model: M,
    loss: &'a dyn Loss,
    unravel: Unravel<P>,
    inputs: Tensor,
    targets: Tensor,
    weights: Option<Tensor>,
    penalties: Vec<NormPenalty>,
    names: Vec<String>,
}

impl<P: Tree, M: Fn(&P, &Tensor) -> Tensor> EmpiricalRisk<'_, P, M> {
    /// The mean loss and penalties of these rows.
    fn on(&self, flat: &Tensor, inputs: &Tensor, targets: &Tensor, weights: Option<&Tensor>) -> Result<Tensor> {
        let parameters = self.unravel.tree(flat)?;
        let prediction = (self.model)(&parameters, inputs);
        let mut risk = match weights {
            None => self.loss.mean(&prediction, targets)?,
            Some(weights) => self.loss.weighted(&prediction, targets, weights)?,
        };
        if !self.penalties.is_empty() {
            let leaves = parameters.leaves();
            let named: Vec<(&str, &Tensor)> = self.names.iter().map(String::as_str).zip(&leaves).collect();
            for penalty in &self.penalties {
                risk = risk.try_add(&penalty.of(&named)?)?;
            }
        }
        Ok(risk)
    }

    /// The gradient from the samples of a batch alone.
    fn batch_gradient(&self, flat: &Tensor, index: &Tensor) -> Result<Tensor> {
        let rows = |tensor: &Tensor| tensor.try_index_select(0, index);
        let (inputs, targets) = (rows(&self.inputs)?, rows(&self.targets)?);
        let weights = self.weights.as_ref().map(rows).transpose()?;
        let batch = |flat: &Tensor| self.on(flat, &inputs, &targets, weights.as_ref());
        crate::objective::Fallible(batch).gradient(flat)
    }
}

impl<P: Tree, M: Fn(&P, &Tensor) -> Tensor> Objective for EmpiricalRisk<'_, P, M> {
    fn evaluate(&self, flat: &Tensor) -> Result<Tensor> {
        self.on(flat, &self.inputs, &self.targets, self.weights.as_ref())
    }
}

/// How the risk is minimised.
#[derive(Clone, Debug)]
pub enum Method {
    /// Gradient descent with a constant step.
    GradientDescent {
        /// The step.
        step: f64,
        /// When to stop.
        rules: Rules,
    },
    /// Gradient descent with steps by backtracking.
    Backtracking(Armijo, Rules),
    /// Newton's method, for up to a few hundred parameters and smooth losses.
    Newton(Newton),
    /// Steps `step`/√t along subgradients, for losses with kinks; the best point is kept.
    Subgradient {
        /// The first step.
        step: f64,
        /// Number of steps.
        iterations: usize,
    },
    /// Stochastic gradient descent with steps `step`/(1 + `decay` t).
    Stochastic {
        /// Samples per batch.
        batch_size: usize,
        /// Passes over the data.
        epochs: usize,
        /// The first step.
        step: f64,
        /// How fast steps shrink; 0 keeps them constant.
        decay: f64,
        /// The seed of the shuffles.
        seed: u64,
    },
}

/// What `fit` found.
#[derive(Clone, Debug)]
pub struct Fitted<P> {
    /// The parameters.
    pub parameters: P,
    /// The risk, penalties included.
    pub risk: f64,
    /// Steps taken.
    pub steps: usize,
    /// The run, for the deterministic methods.
    pub run: Option<Run>,
}

/// Settings of a fit.
pub struct RiskFit<'a> {
    loss: &'a dyn Loss,
    method: Method,
    weights: Option<Tensor>,
    penalties: Vec<NormPenalty>,
    names: Vec<String>,
}

impl<'a> RiskFit<'a> {
    /// Minimises the mean of this loss, by backtracking gradient descent unless told otherwise.
    pub fn new(loss: &'a dyn Loss) -> RiskFit<'a> {
        let method = Method::Backtracking(Armijo::default(), Rules::default());
        RiskFit { loss, method, weights: None, penalties: Vec::new(), names: Vec::new() }
    }

    /// Another method.
    pub fn method(mut self, method: Method) -> RiskFit<'a> {
        self.method = method;
        self
    }

    /// A weight per sample.
    pub fn sample_weights(mut self, weights: &Tensor) -> RiskFit<'a> {
        self.weights = Some(weights.detach());
        self
    }

    /// Names of the parameters, in the order of the tree's leaves; penalties need them.
    pub fn names(mut self, names: &[&str]) -> RiskFit<'a> {
        self.names = names.iter().map(|name| name.to_string()).collect();
        self
    }

    /// Adds a penalty.
    pub fn penalty(mut self, penalty: NormPenalty) -> RiskFit<'a> {
        self.penalties.push(penalty);
        self
    }

    /// The objective of these settings for a model and data, and the start as a flat vector.
    pub fn risk<P: Tree, M: Fn(&P, &Tensor) -> Tensor>(
        &self,
        model: M,
        start: &P,
        inputs: &Tensor,
        targets: &Tensor,
    ) -> Result<(EmpiricalRisk<'a, P, M>, Tensor)> {
        self.loss.trainable()?;
        if inputs.dims().first() != targets.dims().first() || inputs.rank() == 0 {
            return Err(fault::shapes("fit", inputs, targets, "inputs and targets need one row per sample"));
        }
        let leaves = start.leaves().len();
        if !self.penalties.is_empty() && self.names.len() != leaves {
            let problem = format!(
                "has {} entries for {leaves} parameters; penalties go by name, see `RiskFit::names`",
                self.names.len()
            );
            return Err(fault::parameter("fit", "names", problem));
        }
        let (flat, unravel) = ravel(start)?;
        let risk = EmpiricalRisk {
            model,
            loss: self.loss,
            unravel,
            inputs: inputs.detach(),
            targets: targets.detach(),
            weights: self.weights.clone(),
            penalties: self.penalties.clone(),
            names: self.names.clone(),
        };
        Ok((risk, flat))
    }

    /// Fits the model to the data from the given parameters. A run that diverges is an error.
    pub fn run<P: Tree, M: Fn(&P, &Tensor) -> Tensor>(
        &self,
        model: M,
        start: &P,
        inputs: &Tensor,
        targets: &Tensor,
    ) -> Result<Fitted<P>> {
        let (risk, flat) = self.risk(model, start, inputs, targets)?;
        let (flat, steps, run) = match &self.method {
            Method::GradientDescent { step, rules } => settled(gradient_descent(&risk, &flat, *step, rules)?)?,
            Method::Backtracking(search, rules) => settled(backtracking_descent(&risk, &flat, *search, rules)?)?,
            Method::Newton(newton) => settled(newton.minimise(&risk, &flat)?)?,
            Method::Subgradient { step, iterations } => {
                let run = subgradient_descent(&risk, &flat, |t| step / (t as f64).sqrt(), *iterations)?;
                (run.best, run.values.len() - 1, None)
            }
            Method::Stochastic { batch_size, epochs, step, decay, seed } => {
                let batches = Batches::new(inputs.dims()[0], *batch_size, *seed)?;
                let (flat, steps) = stochastic(&risk, flat, &batches, *epochs, |t| step / (1.0 + decay * t as f64))?;
                (flat, steps, None)
            }
        };
        let value = risk.value(&flat)?;
        Ok(Fitted { parameters: risk.unravel.tree(&flat)?, risk: value, steps, run })
    }
}

/// The end of a deterministic run, unless it diverged.
fn settled(run: Run) -> Result<(Tensor, usize, Option<Run>)> {
    if run.diverged() {
        run.minimiser()?;
    }
    Ok((run.x.clone(), run.iterations, Some(run)))
}

fn stochastic<P: Tree, M: Fn(&P, &Tensor) -> Tensor>(
    risk: &EmpiricalRisk<'_, P, M>,
    mut flat: Tensor,
    batches: &Batches,
    epochs: usize,
    step: impl Fn(usize) -> f64,
) -> Result<(Tensor, usize)> {
    let mut steps = 0;
    for epoch in 0..epochs {
        for index in batches.epoch(epoch) {
            flat = fault::add_scaled(&flat, -step(steps), &risk.batch_gradient(&flat, &index)?)?;
            steps += 1;
        }
        if !fault::all_finite(&flat) {
            return Err(fault::data(
                "fit",
                format!("parameters are no longer finite in epoch {}; take smaller steps", epoch + 1),
            ));
        }
    }
    Ok((flat, steps))
}

/// Mean losses of several models' predictions on the same targets, the best first.
///
/// ```
/// use tove_optim::{compare, losses::Squared};
/// use tove_tensor::Tensor;
/// let y = Tensor::from([1.0, 2.0]);
/// let table = compare(&Squared, &[("zero", Tensor::from([0.0, 0.0])), ("mean", Tensor::from([1.5, 1.5]))], &y)?;
/// assert_eq!(table, [("mean".to_string(), 0.25), ("zero".to_string(), 2.5)]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn compare(loss: &dyn Loss, predictions: &[(&str, Tensor)], targets: &Tensor) -> Result<Vec<(String, f64)>> {
    let mean = |(name, prediction): &(&str, Tensor)| {
        Ok((name.to_string(), fault::number("compare", &loss.mean(prediction, targets)?)?))
    };
    let mut table: Vec<(String, f64)> = predictions.iter().map(mean).collect::<Result<_>>()?;
    table.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(table)
}
