//! Hyperparameters of perceptrons on rows of numbers.

use tove_nn::Nonlinearity;
use tove_optim::settings::{Choice, Hyperparameters};

/// What follows each hidden layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum HiddenActivation {
    /// max(0, s).
    #[default]
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// 1 / (1 + e⁻ˢ).
    Sigmoid,
    /// s Φ(s).
    Gelu,
    /// s σ(s).
    Silu,
}

impl From<HiddenActivation> for Nonlinearity {
    fn from(activation: HiddenActivation) -> Nonlinearity {
        match activation {
            HiddenActivation::Relu => Nonlinearity::Relu,
            HiddenActivation::Tanh => Nonlinearity::Tanh,
            HiddenActivation::Sigmoid => Nonlinearity::Sigmoid,
            HiddenActivation::Gelu => Nonlinearity::Gelu,
            HiddenActivation::Silu => Nonlinearity::Silu,
        }
    }
}

/// The net and its training, with PyTorch's and scikit-learn's names.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct MlpSettings {
    /// Widths of the hidden layers; none for a linear model.
    #[hyper(default = vec![64, 64], range = "[1, 1000000]", alias = "hidden_layer_sizes")]
    pub hidden: Vec<usize>,
    /// What follows each hidden layer.
    #[hyper(default = HiddenActivation::Relu)]
    pub activation: HiddenActivation,
    /// Step size of Adam.
    #[hyper(default = 1e-3, range = "(0, 1]", alias = "learning_rate_init")]
    pub learning_rate: f64,
    /// Passes over the samples at most.
    #[hyper(default = 200, range = "[1, inf)", alias = "max_iter")]
    pub epochs: usize,
    /// Samples in a step.
    #[hyper(default = 32, range = "[1, inf)")]
    pub batch_size: usize,
    /// Weight decay.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub alpha: f64,
    /// Dropout: share of hidden units left out at random in each step.
    #[hyper(default = 0.0, range = "[0, 1)")]
    pub dropout: f64,
    /// Share of the samples held out for early stopping; 0 trains for all epochs.
    #[hyper(default = 0.1, range = "[0, 0.9]")]
    pub validation_fraction: f64,
    /// Epochs without improvement before training stops.
    #[hyper(default = 10, range = "[1, inf)", alias = "n_iter_no_change")]
    pub patience: usize,
    /// Seed of the first weights, the order of the samples and dropout.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// A multi-layer perceptron that tells classes apart, by softmax and cross-entropy.
///
/// Adam on mini-batches; a tenth of the samples is held out for early stopping, and the weights that were best on it are kept.
/// Features should be scaled to similar sizes.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct MlpClassifier {
    /// The net and its training.
    #[hyper(flatten)]
    pub net: MlpSettings,
}

/// A multi-layer perceptron for numbers, by the squared error of standardized targets.
///
/// Adam on mini-batches; a tenth of the samples is held out for early stopping, and the weights that were best on it are kept.
/// Features should be scaled to similar sizes.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct MlpRegressor {
    /// The net and its training.
    #[hyper(flatten)]
    pub net: MlpSettings,
}
