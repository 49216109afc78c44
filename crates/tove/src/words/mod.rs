//! Texts to word vectors: fitting, asking for neighbors and analogies, files.
//!
//! [`WordFit`] has the method and its hyperparameters. [`WordModel`] holds the vectors with what is known of their training, in one
//! file; it also reads and writes the files of the word2vec program.
//!
//! ```
//! use tove::words::{TextUnit, WordFit, WordMethod, WordModel};
//! use tove::tensor::io::WriteOptions;
//! let text = "the king rules the land\nthe queen rules the land\na dog barks\na cat purrs\n".repeat(30);
//! let mut fit = WordFit::new(WordMethod::SkipGram);
//! fit.settings().set("dimension", 8usize.into())?;
//! let model = fit.fit(&TextUnit::Line.split(&text), &mut |_| {})?.model;
//! assert_eq!(model.nearest("King", 3)?.len(), 3);
//!
//! let path = std::env::temp_dir().join(format!("tove-words-{}.txt", std::process::id()));
//! model.save(&path, WriteOptions::default())?;
//! assert!(std::fs::read_to_string(&path)?.starts_with("10 8\n"));
//! assert_eq!(WordModel::load(&path)?.vectors().words(), model.vectors().words());
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fit;
mod model;

pub use fit::{TextUnit, WordFit, WordMethod, WordOutcome};
pub use model::{WordModel, WordPlane};
