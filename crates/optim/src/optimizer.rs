//! What every optimiser offers, and the state that a run needs to go on after a pause.

use std::collections::BTreeMap;
use std::path::Path;

use tove_tensor::io::{FileError, WriteOptions, read_safetensors, write_safetensors};
use tove_tensor::{Error, Result, Tensor};

use crate::clip::clip_norm;
use crate::groups::{self, Group};
use crate::settings::Hyperparameters;

/// A rule that moves parameters against their gradients.
///
/// Parameters come as a list of leaves, in the same order every time. `step` takes the gradients out of the leaves, and
/// leaves alone a parameter that has none.
///
/// ```
/// use tove_optim::{Adam, Optimizer, Sgd};
/// use tove_tensor::Tensor;
/// let mut rules: Vec<Box<dyn Optimizer>> = vec![Box::new(Sgd::new(0.1)), Box::new(Adam::new(0.1))];
/// for rule in &mut rules {
///     let mut w = Tensor::from([1.0]).requires_grad();
///     for _ in 0..200 {
///         rule.look_ahead(&mut [&mut w])?;
///         w.square().sum().backward();
///         rule.step(&mut [&mut w])?;
///     }
///     assert!(w.item::<f64>().abs() < 1e-2, "{}", rule.name());
/// }
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub trait Optimizer: Send {
    /// Name of the rule.
    fn name(&self) -> &'static str;

    /// One step for all parameters from the gradients their leaves hold, which are taken out.
    fn step(&mut self, parameters: &mut [&mut Tensor]) -> Result<()>;

    /// Clips the gradients together to a norm of at most `limit`, makes one step, and returns the norm they had: as
    /// [`clip_norm`] and [`Optimizer::step`], bit by bit. Adam scales gradients on the way, without a pass of its own.
    ///
    /// ```
    /// use tove_optim::{Optimizer, Sgd};
    /// use tove_tensor::Tensor;
    /// let mut w = Tensor::from([1.0, 1.0]).requires_grad();
    /// w.set_grad(Some(Tensor::from([30.0, 40.0])));
    /// let norm = Sgd::new(0.1).step_clipped(&mut [&mut w], 5.0)?;
    /// assert!(norm == 50.0 && (w.to_vec::<f64>()[0] - 0.7).abs() < 1e-12);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    fn step_clipped(&mut self, parameters: &mut [&mut Tensor], limit: f64) -> Result<f64> {
        let norm = clip_norm(parameters, limit)?;
        self.step(parameters)?;
        Ok(norm)
    }

    /// Called before the gradients of a step are computed: moves the parameters to the point where the rule wants them.
    /// Most rules want them where they are, and do nothing.
    fn look_ahead(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        let _ = parameters;
        Ok(())
    }

    /// Takes a [`look_ahead`](Optimizer::look_ahead) back, when no step follows: the gradients could not be computed. The
    /// parameters are then, bit for bit, where they were.
    ///
    /// ```
    /// use tove_optim::{NesterovLookAhead, Optimizer};
    /// use tove_tensor::Tensor;
    /// let (mut w, mut rule) = (Tensor::from([0.1]).requires_grad(), NesterovLookAhead::new(0.3));
    /// rule.step_with(&mut [&mut w], &mut |w| {
    ///     w[0].square().sum().backward();
    ///     Ok(0.0)
    /// })?;
    /// let before = w.item::<f64>();
    /// rule.look_ahead(&mut [&mut w])?;
    /// assert_ne!(w.item::<f64>(), before);
    /// rule.look_back(&mut [&mut w])?;
    /// assert_eq!(w.item::<f64>(), before);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    fn look_back(&mut self, parameters: &mut [&mut Tensor]) -> Result<()> {
        let _ = parameters;
        Ok(())
    }

    /// One step with the loss at hand: `loss` computes it at the present parameters and fills the leaves' gradients with
    /// `backward`. Rules that need several evaluations (L-BFGS) call it as often as they like. Returns the first value.
    ///
    /// ```
    /// use tove_optim::{Optimizer, Sgd};
    /// use tove_tensor::{Error, Tensor};
    /// let mut w = Tensor::from([4.0]).requires_grad();
    /// let value = Sgd::new(0.5).step_with(&mut [&mut w], &mut |parameters| {
    ///     let loss = parameters[0].square().sum();
    ///     loss.backward();
    ///     Ok(loss.item::<f64>())
    /// })?;
    /// assert_eq!((value, w.item::<f64>()), (16.0, 0.0));
    /// # Ok::<(), Error>(())
    /// ```
    fn step_with(&mut self, parameters: &mut [&mut Tensor], loss: &mut Closure<'_>) -> Result<f64> {
        self.look_ahead(parameters)?;
        let value = match loss(parameters) {
            Ok(value) => value,
            Err(error) => {
                self.look_back(parameters)?;
                return Err(error);
            }
        };
        self.step(parameters)?;
        Ok(value)
    }

    /// The present step size.
    fn learning_rate(&self) -> f64;

    /// Changes the step size; a [`Schedule`](crate::Schedule) does so before each step.
    fn set_learning_rate(&mut self, learning_rate: f64);

    /// All settings with their values, defaults and ranges.
    fn hyperparameters(&self) -> &dyn Hyperparameters;

    /// Changes the settings that the JSON object names and keeps counters and tensors: a run goes on with other betas or
    /// another weight decay. Nothing changes when there is an error.
    ///
    /// ```
    /// use tove_optim::{Optimizer, Sgd};
    /// let mut sgd = Sgd::new(0.1);
    /// sgd.set_hyperparameters(&serde_json::json!({"momentum": 0.9}))?;
    /// assert_eq!((sgd.settings().momentum, sgd.learning_rate()), (0.9, 0.1));
    /// assert!(sgd.set_hyperparameters(&serde_json::json!({"momentum": 2.0})).is_err());
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    fn set_hyperparameters(&mut self, settings: &serde_json::Value) -> Result<()> {
        let state = self.state();
        self.load_state(&OptimizerState { settings: settings.clone(), ..state })
    }

    /// Whether a step evaluates the loss several times, so that it needs [`Optimizer::step_with`] and the loss of the same
    /// data every time. Most rules are content with a gradient.
    fn needs_loss(&self) -> bool {
        false
    }

    /// Whether the last step came to an end where further ones would change nothing: the gradient or the progress is as
    /// small as the settings ask for. Rules without such a test never say so.
    fn converged(&self) -> bool {
        false
    }

    /// Everything that a run needs to go on: settings, parameter groups, counters and tensors.
    fn state(&self) -> OptimizerState;

    /// Goes on from a state: the next step gives the same bits as it would have where the state was taken.
    fn load_state(&mut self, state: &OptimizerState) -> Result<()>;
}

/// Computes the loss at the given parameters and fills the gradients of their leaves.
pub type Closure<'a> = dyn FnMut(&[&mut Tensor]) -> Result<f64> + 'a;

/// The state of an optimiser: named tensors and counters, exact.
#[derive(Clone, Debug, Default)]
pub struct OptimizerState {
    /// Name of the rule.
    pub rule: String,
    /// Settings by name, as a JSON object.
    pub settings: serde_json::Value,
    /// Parameter groups. `None` in files written before groups were kept: the optimiser that loads them stays with its own.
    pub groups: Option<Vec<Group>>,
    /// Whole numbers by name: `3.steps` counts the steps of the fourth parameter.
    pub counters: BTreeMap<String, u64>,
    /// Tensors by name: `3.velocity` belongs to the fourth parameter.
    pub tensors: BTreeMap<String, Tensor>,
}

/// The tensor of a file that holds everything but the tensors, as JSON in bytes.
const HEADER: &str = "optimizer";

impl OptimizerState {
    /// An empty state of this rule.
    pub fn new(rule: &str, settings: &dyn Hyperparameters) -> OptimizerState {
        OptimizerState { rule: rule.to_owned(), settings: settings.to_json(), ..OptimizerState::default() }
    }

    /// An error unless the state belongs to this rule.
    pub fn expect_rule(&self, rule: &'static str) -> Result<()> {
        if self.rule == rule {
            return Ok(());
        }
        let problem = format!("is one of {}; load it into that optimiser", self.rule);
        Err(Error::Parameter { op: rule, name: "state", problem: problem.into() })
    }

    /// Writes the state to a safetensors file.
    ///
    /// ```
    /// use tove_optim::{Adam, Optimizer, OptimizerState};
    /// use tove_tensor::Tensor;
    /// let mut w = Tensor::from([1.0]).requires_grad();
    /// let mut adam = Adam::new(0.1);
    /// w.square().sum().backward();
    /// adam.step(&mut [&mut w])?;
    /// let path = std::env::temp_dir().join(format!("tove-state-{}.safetensors", std::process::id()));
    /// adam.state().save(&path)?;
    /// let mut again = Adam::default();
    /// again.load_state(&OptimizerState::load(&path)?)?;
    /// assert_eq!((again.learning_rate(), again.state().counters["0.steps"]), (0.1, 1));
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let header = Tensor::from_slice(self.description().to_string().as_bytes());
        let mut tensors: Vec<(&str, &Tensor)> = vec![(HEADER, &header)];
        tensors.extend(self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)));
        write_safetensors(path, &tensors, &BTreeMap::new(), WriteOptions::overwriting())
    }

    /// Reads a state that [`OptimizerState::save`] wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<OptimizerState, StateError> {
        let mut tensors: BTreeMap<String, Tensor> = read_safetensors(path)?.into_iter().collect();
        let header = tensors.remove(HEADER).ok_or(StateError::NoHeader)?;
        let header: serde_json::Value = serde_json::from_slice(&header.try_to_vec::<u8>()?)?;
        Ok(OptimizerState { tensors, ..OptimizerState::from_description(&header)? })
    }

    /// Everything but the tensors, as JSON, for files with a layout of their own.
    ///
    /// ```
    /// use tove_optim::{Adam, Optimizer, OptimizerState};
    /// let description = Adam::new(0.1).state().description();
    /// assert_eq!(description["rule"], "Adam");
    /// assert_eq!(OptimizerState::from_description(&description)?.settings["learning_rate"], 0.1);
    /// # Ok::<(), tove_optim::StateError>(())
    /// ```
    pub fn description(&self) -> serde_json::Value {
        let groups = self.groups.as_deref().map(groups::to_json);
        serde_json::json!({
            "rule": self.rule, "settings": self.settings, "groups": groups, "counters": self.counters,
        })
    }

    /// A state without tensors from its [`description`](OptimizerState::description).
    pub fn from_description(description: &serde_json::Value) -> Result<OptimizerState, StateError> {
        let rule = description["rule"].as_str().ok_or(StateError::NoHeader)?.to_owned();
        let counters = serde_json::from_value(description["counters"].clone())?;
        let groups = match &description["groups"] {
            serde_json::Value::Null => None,
            groups => Some(groups::from_json(groups).ok_or(StateError::Groups)?),
        };
        let settings = description["settings"].clone();
        Ok(OptimizerState { rule, settings, groups, counters, tensors: BTreeMap::new() })
    }
}

/// Why a state could not be read from a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file holds other tensors than the state of an optimiser.
    #[error("the file holds no state of an optimiser; write one with `OptimizerState::save`")]
    NoHeader,
    /// The description in it is damaged.
    #[error("the description of the optimiser in the file is damaged: {0}")]
    Description(#[from] serde_json::Error),
    /// The parameter groups in it are damaged.
    #[error("the parameter groups of the optimiser in the file are damaged; write the state anew")]
    Groups,
    /// A tensor in it is not what it should be.
    #[error(transparent)]
    Tensor(#[from] Error),
}
