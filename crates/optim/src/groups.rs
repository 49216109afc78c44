//! Parameter groups: a set of parameters, by their positions in the list, with a step size and a weight decay of their
//! own.
//!
//! The penalty (λ/2) Σ ‖W‖² is meant for weights; biases and the scales of norms are left out of it:
//!
//! ```
//! use tove_optim::{AdamW, Group, Optimizer, bias_or_norm};
//! use tove_tensor::Tensor;
//! let names = ["layer.weight", "layer.bias"];
//! let group = Group::matching(&names, bias_or_norm).weight_decay(0.0);
//! let mut rule = AdamW::new(0.1).with(|settings| settings.weight_decay(0.5)).groups(&[group])?;
//!
//! let (mut weight, mut bias) = (Tensor::from([1.0]).requires_grad(), Tensor::from([1.0]).requires_grad());
//! for parameter in [&weight, &bias] {
//!     parameter.set_grad(Some(Tensor::from([0.0])));
//! }
//! rule.step(&mut [&mut weight, &mut bias])?;
//! assert_eq!((weight.item::<f64>(), bias.item::<f64>()), (0.95, 1.0));
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use serde_json::json;
use tove_tensor::{Error, Result};

/// Parameters with a step size and a weight decay of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Positions of the parameters in the list.
    pub positions: Vec<usize>,
    /// The step size is multiplied by it; 0 freezes the parameters.
    pub learning_rate_factor: f64,
    /// Weight decay instead of the optimiser's.
    pub weight_decay: Option<f64>,
}

impl Group {
    /// The parameters at these positions.
    pub fn new(positions: impl IntoIterator<Item = usize>) -> Group {
        Group { positions: positions.into_iter().collect(), learning_rate_factor: 1.0, weight_decay: None }
    }

    /// The parameters whose names the predicate accepts; `names` come in the order of the parameters.
    ///
    /// ```
    /// use tove_optim::Group;
    /// let head = Group::matching(&["body.weight", "head.weight"], |name| name.starts_with("head"));
    /// assert_eq!(head.learning_rate_factor(10.0).positions, [1]);
    /// ```
    pub fn matching<S: AsRef<str>>(names: &[S], accept: impl Fn(&str) -> bool) -> Group {
        Group::new(names.iter().enumerate().filter(|(_, name)| accept(name.as_ref())).map(|(position, _)| position))
    }

    /// Multiplies the step size of these parameters.
    #[must_use]
    pub fn learning_rate_factor(mut self, factor: f64) -> Group {
        self.learning_rate_factor = factor;
        self
    }

    /// Gives these parameters a weight decay of their own.
    #[must_use]
    pub fn weight_decay(mut self, weight_decay: f64) -> Group {
        self.weight_decay = Some(weight_decay);
        self
    }
}

/// Whether a parameter of this name is a bias or belongs to a norm, by PyTorch's habits of naming: those are usually not
/// decayed.
///
/// ```
/// use tove_optim::bias_or_norm;
/// assert!(bias_or_norm("fc.bias") && bias_or_norm("layers.0.norm1.weight") && bias_or_norm("ln_f.weight"));
/// assert!(bias_or_norm("instancenorm2d.weight") && bias_or_norm("batchnorm1.weight"));
/// assert!(!bias_or_norm("fc.weight") && !bias_or_norm("normal.weight"));
/// ```
pub fn bias_or_norm(name: &str) -> bool {
    let is_norm = |part: &str| {
        let digits = |part: &str| part.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned();
        // `norm1` and `batchnorm2d` alike.
        let part = part.to_ascii_lowercase();
        let part = match part.strip_suffix('d') {
            Some(front) if front.ends_with(|letter: char| letter.is_ascii_digit()) => digits(front),
            _ => digits(&part),
        };
        let words = ["norm", "layernorm", "batchnorm", "rmsnorm", "groupnorm", "instancenorm", "bn", "ln"];
        words.contains(&part.as_str()) || part.ends_with("_norm") || part.starts_with("ln_")
    };
    name.rsplit('.').next() == Some("bias") || name.split('.').any(is_norm)
}

/// Groups as JSON, for the state of an optimiser.
pub(crate) fn to_json(groups: &[Group]) -> serde_json::Value {
    let group = |group: &Group| {
        json!({
            "positions": group.positions, "learning_rate_factor": group.learning_rate_factor,
            "weight_decay": group.weight_decay,
        })
    };
    groups.iter().map(group).collect()
}

/// Groups from what [`to_json`] gives; none if it is something else.
pub(crate) fn from_json(groups: &serde_json::Value) -> Option<Vec<Group>> {
    let position = |position: &serde_json::Value| position.as_u64().and_then(|position| usize::try_from(position).ok());
    let group = |group: &serde_json::Value| {
        let weight_decay = match &group["weight_decay"] {
            serde_json::Value::Null => None,
            decay => Some(decay.as_f64()?),
        };
        let positions = group["positions"].as_array()?.iter().map(position).collect::<Option<Vec<usize>>>()?;
        Some(Group { positions, learning_rate_factor: group["learning_rate_factor"].as_f64()?, weight_decay })
    };
    groups.as_array()?.iter().map(group).collect()
}

/// What a group says of one parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pull {
    pub(crate) factor: f64,
    pub(crate) weight_decay: Option<f64>,
}

impl Default for Pull {
    fn default() -> Pull {
        Pull { factor: 1.0, weight_decay: None }
    }
}

/// Positions beyond this are a mistake.
const MOST_PARAMETERS: usize = 1 << 24;

/// The groups' settings by position of the parameter.
pub(crate) fn by_position(op: &'static str, groups: &[Group]) -> Result<Vec<Pull>> {
    let problem = |name, problem: String| Err(Error::Parameter { op, name, problem: problem.into() });
    // A position from a damaged file must not ask for all memory.
    if let Some(far) = groups.iter().flat_map(|group| &group.positions).find(|&&position| position > MOST_PARAMETERS) {
        return problem("groups", format!("have position {far}; no net has so many parameter tensors"));
    }
    let last = groups.iter().flat_map(|group| &group.positions).max();
    let mut pulls: Vec<Option<Pull>> = vec![None; last.map_or(0, |last| last + 1)];
    for group in groups {
        let (factor, weight_decay) = (group.learning_rate_factor, group.weight_decay);
        if !(factor >= 0.0 && factor.is_finite()) {
            return problem("learning_rate_factor", format!("is {factor}; give a finite number of at least 0"));
        }
        if let Some(decay) = weight_decay.filter(|decay| !(*decay >= 0.0 && decay.is_finite())) {
            return problem("weight_decay", format!("is {decay} in a group; give a finite number of at least 0"));
        }
        for &position in &group.positions {
            if pulls[position].replace(Pull { factor, weight_decay }).is_some() {
                return problem("groups", format!("have the parameter at position {position} twice; keep it in one"));
            }
        }
    }
    Ok(pulls.into_iter().map(Option::unwrap_or_default).collect())
}
