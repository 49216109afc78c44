//! What the methods have in common: fitting, applying, files.

use super::{BetaCurve, CalibrationMethod, IsotonicCurve, PlattSigmoid, TemperatureScale, VectorScale, VennAbers};
use crate::{LearnError, Record, Result};

/// Samples of a problem with two classes.
pub(crate) struct BinaryScores<'a> {
    pub who: &'static str,
    pub scores: &'a [f64],
    pub positive: &'a [bool],
    pub weights: &'a [f64],
}

impl BinaryScores<'_> {
    /// Scores, class membership and weights of the samples with non-zero weight, at least one.
    pub fn counted(&self) -> Result<Vec<(f64, bool, f64)>> {
        let all = self.scores.iter().zip(self.positive).zip(self.weights);
        let all = all.map(|((&score, &positive), &weight)| (score, positive, weight));
        let all: Vec<(f64, bool, f64)> = all.filter(|sample| sample.2 > 0.0).collect();
        if !all.is_empty() {
            return Ok(all);
        }
        let fix = "give the samples positive weights, or choose fewer folds";
        Err(LearnError::data(self.who, "all samples of a fold have weight 0", fix))
    }
}

/// Samples of a problem with several classes: rows of `classes` logits.
pub(crate) struct JointScores<'a> {
    pub who: &'static str,
    pub logits: &'a [f64],
    pub classes: usize,
    pub codes: &'a [usize],
    pub weights: &'a [f64],
}

/// The part of a record that a fitted method has.
pub(super) trait Stored: Sized {
    /// Whether the record has one of this kind under this name.
    fn stored(record: &Record, name: &str) -> bool;
    /// Writes it.
    fn write(&self, record: &mut Record, name: &str);
    /// Reads it.
    fn read(record: &Record, name: &str) -> Result<Self>;
}

/// A map from the score of one class to its probability.
pub(super) trait Curve: Stored {
    /// Whether it takes probabilities; otherwise any scores.
    const ON_PROBABILITIES: bool = false;
    /// Fits it.
    fn fit(samples: &BinaryScores<'_>) -> Result<Self>;
    /// The probability of a score.
    fn at(&self, score: f64) -> f64;
    /// An interval of the probability, if the method gives one.
    fn interval(&self, _score: f64) -> Option<(f64, f64)> {
        None
    }
}

/// A map of the logits of all classes at once.
pub(super) trait Joint: Stored {
    /// Fits it.
    fn fit(samples: &JointScores<'_>) -> Result<Self>;
    /// Maps a row of logits in place.
    fn apply(&self, logits: &mut [f64]);
    /// Number of classes, if it is fixed.
    fn classes(&self) -> Option<usize> {
        None
    }
}

macro_rules! methods {
    (curves { $($curve:ident: $curve_type:ty,)* } joint { $($joint:ident: $joint_type:ty,)* }) => {
        /// A fitted method: of one class against the rest, or of all classes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum CalibrationPart {
            $(#[doc = concat!("Fitted by the method `", stringify!($curve), "`, for one class.")] $curve($curve_type),)*
            $(#[doc = concat!("Fitted by the method `", stringify!($joint), "`, for all classes.")] $joint($joint_type),)*
        }

        impl CalibrationPart {
            /// Fits the curve of one class; `None` for methods that treat all classes at once.
            pub(super) fn fit_curve(method: CalibrationMethod, samples: &BinaryScores<'_>) -> Option<Result<CalibrationPart>> {
                match method {
                    $(CalibrationMethod::$curve => {
                        Some(<$curve_type as Curve>::fit(samples).map(CalibrationPart::$curve))
                    })*
                    $(CalibrationMethod::$joint => None,)*
                }
            }

            /// Fits the map of all classes; `None` for methods that treat one at a time.
            pub(super) fn fit_joint(method: CalibrationMethod, samples: &JointScores<'_>) -> Option<Result<CalibrationPart>> {
                match method {
                    $(CalibrationMethod::$joint => {
                        Some(<$joint_type as Joint>::fit(samples).map(CalibrationPart::$joint))
                    })*
                    $(CalibrationMethod::$curve => None,)*
                }
            }

            /// The method that fits such a part.
            pub fn method(&self) -> CalibrationMethod {
                match self {
                    $(CalibrationPart::$curve(_) => CalibrationMethod::$curve,)*
                    $(CalibrationPart::$joint(_) => CalibrationMethod::$joint,)*
                }
            }

            /// The probability of a score of one class; `None` for a map of all classes.
            pub(super) fn at(&self, score: f64) -> Option<f64> {
                match self {
                    $(CalibrationPart::$curve(own) => Some(own.at(score)),)*
                    $(CalibrationPart::$joint(_) => None,)*
                }
            }

            /// An interval of the probability of a score, if the method gives one.
            pub(super) fn interval(&self, score: f64) -> Option<(f64, f64)> {
                match self {
                    $(CalibrationPart::$curve(own) => own.interval(score),)*
                    $(CalibrationPart::$joint(_) => None,)*
                }
            }

            /// Maps a row of logits in place; curves leave it.
            pub(super) fn apply(&self, logits: &mut [f64]) {
                match self {
                    $(CalibrationPart::$curve(_) => {})*
                    $(CalibrationPart::$joint(own) => own.apply(logits),)*
                }
            }

            /// Number of classes, for a map whose parameters fix it.
            pub(super) fn classes(&self) -> Option<usize> {
                match self {
                    $(CalibrationPart::$curve(_) => None,)*
                    $(CalibrationPart::$joint(own) => own.classes(),)*
                }
            }

            pub(super) fn write(&self, record: &mut Record, name: &str) {
                match self {
                    $(CalibrationPart::$curve(own) => own.write(record, name),)*
                    $(CalibrationPart::$joint(own) => own.write(record, name),)*
                }
            }

            /// Reads a part; `None` if there is none under this name.
            pub(super) fn read(record: &Record, name: &str) -> Result<Option<CalibrationPart>> {
                $(if <$curve_type as Stored>::stored(record, name) {
                    return Ok(Some(CalibrationPart::$curve(Stored::read(record, name)?)));
                })*
                $(if <$joint_type as Stored>::stored(record, name) {
                    return Ok(Some(CalibrationPart::$joint(Stored::read(record, name)?)));
                })*
                Ok(None)
            }
        }

        impl CalibrationMethod {
            /// Whether all classes are treated at once; otherwise one against the rest.
            pub fn is_joint(self) -> bool {
                matches!(self, $(CalibrationMethod::$joint)|*)
            }

            /// Whether it takes probabilities rather than any scores; others are converted.
            pub(crate) fn on_probabilities(self) -> bool {
                match self {
                    $(CalibrationMethod::$curve => <$curve_type as Curve>::ON_PROBABILITIES,)*
                    $(CalibrationMethod::$joint => false,)*
                }
            }
        }
    };
}
methods! {
    curves {
        Sigmoid: PlattSigmoid,
        Isotonic: IsotonicCurve,
        Beta: BetaCurve,
        VennAbers: VennAbers,
    }
    joint {
        Temperature: TemperatureScale,
        Vector: VectorScale,
    }
}
