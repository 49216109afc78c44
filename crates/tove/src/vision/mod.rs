//! Images to evaluated models: reading, training, transfer learning, model files.
//!
//! [`ImageFit`] has the settings of a training. It holds images out, trains a net ([`NetKind`]) with the weights that do best on
//! validation images, and evaluates it. [`ImageModel`] is a trained net with the names of its classes and how images become its
//! input, in one file. [`Transfer`] uses the layers of a model for other classes, of which few images are labeled.
//!
//! ```
//! use tove::tensor::io::WriteOptions;
//! use tove::vision::{ImageFit, ImageModel, ImageOptions, Images};
//! let few = ImageOptions { classes: vec!["0".into(), "1".into()], ..ImageOptions::default() };
//! let digits = Images::read("digits", &few)?;
//! let outcome = ImageFit { epochs: 3, hidden: vec![16], ..ImageFit::default() }.fit(&digits)?;
//! assert!(outcome.test_score.value > 0.9);
//!
//! let path = std::env::temp_dir().join(format!("tove-vision-{}.tove", std::process::id()));
//! outcome.model.save(&path, WriteOptions::default())?;
//! let model = ImageModel::load(&path)?;
//! let labels = model.predict(outcome.test.x())?;
//! assert!(labels.iter().all(|label| ["0", "1"].contains(label)));
//! let scores = model.evaluate(&digits, None)?.scores;
//! assert_eq!(scores[0].name, "accuracy");
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compress;
mod evaluate;
mod fit;
mod folder;
mod model;
mod net;
mod source;
mod transfer;

pub use crate::net_files::{ModelError, Result, Watch};
pub use compress::CompressedImages;
pub use evaluate::ImageEvaluation;
pub use fit::{ImageFit, ImageOutcome, ImageTraining};
pub use folder::{ImageNotes, ImageOptions, image_files};
pub use model::ImageModel;
pub use net::{Net, NetConfig, NetKind};
pub use source::Images;
pub use transfer::{Transfer, TransferOutcome, TransferTraining};
