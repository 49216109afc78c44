//! Hyperparameters of perceptrons on rows of numbers.

use tove_nn::Nonlinearity;
use tove_optim::settings::{Choice, Hyperparameters, SettingError};

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

/// Widths of hidden layers from a text such as `64,32`; an empty text means none.
pub(super) fn widths(text: &str) -> Option<Vec<usize>> {
    let parts = text.split([',', '-', ' ']).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok().filter(|&width| (1..=1_000_000).contains(&width))).collect()
}

macro_rules! settings {
    ($name:ident $text:literal $doc:literal) => {
        #[doc = $doc]
        ///
        /// Adam on mini-batches; a tenth of the samples is set aside to stop when the loss on it no longer falls, and the
        /// weights that were best on it are kept. Features should be scaled to similar sizes.
        #[derive(Clone, Debug, PartialEq, Hyperparameters)]
        #[hyper(name = $text, check = $name::check)]
        pub struct $name {
            /// Widths of the hidden layers, separated by commas.
            #[hyper(default = String::from("64,64"), alias = "hidden_layer_sizes")]
            pub hidden: String,
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
            /// Decay of the weights towards 0.
            #[hyper(default = 1e-4, range = "[0, inf)")]
            pub alpha: f64,
            /// Share of hidden units left out at random in each step.
            #[hyper(default = 0.0, range = "[0, 1)")]
            pub dropout: f64,
            /// Share of the samples that is set aside to stop early; 0 trains for all epochs.
            #[hyper(default = 0.1, range = "[0, 0.9]")]
            pub validation_fraction: f64,
            /// Epochs without improvement that are put up with.
            #[hyper(default = 10, range = "[1, inf)", alias = "n_iter_no_change")]
            pub patience: usize,
            /// Seed of the first weights, the order of the samples and dropout.
            #[hyper(default = 0, alias = "random_state")]
            pub seed: u64,
        }

        impl $name {
            fn check(&self) -> Result<(), SettingError> {
                if widths(&self.hidden).is_some() {
                    return Ok(());
                }
                let problem = format!("hidden is `{}`", self.hidden);
                Err(SettingError::conflict($text, "hidden", problem, "give widths from 1 on, such as 64,32"))
            }
        }
    };
}

settings!(MlpClassifier "MlpClassifier" "A multi-layer perceptron that tells classes apart, by softmax and cross-entropy.");
settings!(MlpRegressor "MlpRegressor" "A multi-layer perceptron for numbers, by the squared error of standardised targets.");
