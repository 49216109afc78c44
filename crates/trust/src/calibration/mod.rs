//! Calibration: how well probabilities match frequencies, and how to make them match.
//!
//! A classifier's outputs are scores. "Of the samples with p = 0.8, 80 % are of the class" is a claim about a model and a distribution
//! that has to be measured on samples that were not used to fit the model or its calibration. The functions here work on
//! probabilities and labels of any system.
//!
//! | what | function |
//! |---|---|
//! | reliability bins of the predicted class, of one class, of any event | [`top_label_bins`], [`class_bins`], [`ReliabilityBins`] |
//! | ECE, MCE, adaptive, class-wise and smooth calibration error with intervals | [`calibration_errors`], [`smooth_ece`] |
//! | the Brier score in parts | [`brier_decomposition`] |
//! | tests of calibration | [`spiegelhalter_test`], [`consistency_test`] |
//! | maps that calibrate (tensors of any system) | [`CalibrationMap`] |
//! | a calibrated model, with its recorded check | [`CalibratedModel`], [`CalibrationCheck`] |
//!
//! Assumptions of all of them: samples are independent and from the distribution that matters. Calibration on average says nothing
//! about groups of samples; measure those on their own.
//!
//! ```
//! use tove_metrics::Bootstrap;
//! use tove_tensor::Tensor;
//! use tove_trust::Probabilities;
//! use tove_trust::calibration::calibration_errors;
//! let p = Probabilities::new("example", &Tensor::from(vec![0.9; 200]))?;
//! let labels = Tensor::from((0..200).map(|i| i64::from(i % 2 == 0)).collect::<Vec<_>>());
//! let errors = calibration_errors(&labels, &p, 10, None, &Bootstrap::new(1))?;
//! assert!((errors.ece.value - 0.4).abs() < 1e-12); // sure to 90 %, right in half of the cases
//! assert!(errors.ece.low > 0.3);
//! # Ok::<(), tove_trust::TrustError>(())
//! ```

mod brier;
mod errors;
mod hypothesis;
mod smooth;

pub use brier::{BrierDecomposition, brier_decomposition};
pub use errors::{CalibrationErrors, calibration_errors, class_bins, top_label_bins};
pub use hypothesis::{CalibrationTest, consistency_test, spiegelhalter_test};
pub use smooth::{SmoothEce, smooth_ece, smooth_ece_at};
pub use tove_learn::calibration::{
    CalibratedModel, CalibrationCheck, CalibrationMap, CalibrationMethod, CalibrationVerdict, HoldoutCalibration,
    ScoreKind, check_calibration, check_probabilities,
};
pub use tove_metrics::{Binning, CalibrationBin, ReliabilityBins};
