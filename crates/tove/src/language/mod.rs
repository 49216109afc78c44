//! Texts to evaluated language models: tokens, training, generation, model files.
//!
//! [`TextFit`] has the settings of a training. The end of the text is held out, and what comes before it is used for validation.
//! [`TextModel`] is a trained GPT with its tokens, in one file.
//!
//! ```
//! use tove::language::{TextFit, TextModel};
//! use tove::nn::Sampling;
//! use tove::tensor::io::WriteOptions;
//! let text = "the cat sat on the mat. ".repeat(40);
//! let fit = TextFit { layers: 1, heads: 1, width: 16, context: 8, steps: 60, ..TextFit::default() };
//! let outcome = fit.fit(&text)?;
//! assert!(outcome.test.loss < (outcome.model.tokens().len() as f64).ln());
//!
//! let path = std::env::temp_dir().join(format!("tove-language-{}.tove", std::process::id()));
//! outcome.model.save(&path, WriteOptions::default())?;
//! let model = TextModel::load(&path)?;
//! let continued = model.generate("the ", 20, &Sampling::greedy())?;
//! assert!(continued.starts_with("the ") && continued.len() == 24);
//! assert!(model.evaluate("the cat sat on the mat.")?.perplexity() > 1.0);
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fit;
mod generation;
mod model;
mod tokens;

pub use crate::net_files::{ModelError, Result, Watch};
pub use fit::{TextFit, TextOutcome, TextTraining};
pub use generation::Generation;
pub use model::{TextEvaluation, TextModel};
pub use tokens::{TokenKind, Tokens};
