//! Constant predictions: the baseline that every model should beat.
//!
//! [`DummyRegressor`] predicts the (weighted) mean or median of the targets. The mean minimizes the squared error, the
//! median the absolute error. [`DummyClassifier`] predicts the most frequent class, and the class frequencies as
//! probabilities, which minimize the log loss among constants.
//!
//! ```
//! use tove_learn::{DummyClassifier, Fit, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([3i64, 5, 5]));
//! let model = DummyClassifier::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [5, 5, 5]);
//! assert!((model.predict_proba(&x)?.at::<f64>(&[0, 0]) - 1.0 / 3.0).abs() < 1e-15);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{Tensor, TryOps};

use crate::logistic::linear::first_largest;
use crate::{About, Algorithm, Capabilities, Labels, Model, Record, Restore, Result, Rows, Samples};

/// The constant that a [`DummyRegressor`] predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Centre {
    /// The mean of the targets.
    #[default]
    Mean,
    /// The median of the targets.
    Median,
}

/// Predicts the mean or median of the targets and ignores the features.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct DummyRegressor {
    /// The constant: mean or median.
    #[hyper(default = Centre::Mean)]
    pub strategy: Centre,
}

/// A fitted [`DummyRegressor`].
#[derive(Clone, Debug)]
pub struct FittedDummyRegressor {
    about: About,
    constant: f64,
}

impl FittedDummyRegressor {
    /// The predicted constant.
    pub fn constant(&self) -> f64 {
        self.constant
    }
}

impl Algorithm for DummyRegressor {
    type Fitted = FittedDummyRegressor;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, missing: true, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedDummyRegressor> {
        let y = samples.single_target(Self::NAME)?;
        let weights = samples.weights().map_or(vec![1.0; y.len()], Tensor::to_f64_vec);
        let constant = match self.strategy {
            Centre::Mean => {
                let total: f64 = weights.iter().sum();
                y.iter().zip(&weights).map(|(y, w)| y * w).sum::<f64>() / total
            }
            Centre::Median => weighted_median(&y, &weights),
        };
        Ok(FittedDummyRegressor { about: About::of(self, samples), constant })
    }
}

/// Weighted median; the mean of the two middle values if the half of the weight falls between them.
pub(crate) fn weighted_median(values: &[f64], weights: &[f64]) -> f64 {
    let mut pairs: Vec<(f64, f64)> =
        values.iter().copied().zip(weights.iter().copied()).filter(|p| p.1 > 0.0).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = pairs.iter().map(|pair| pair.1).sum::<f64>() / 2.0;
    let mut below = 0.0;
    for (index, &(value, weight)) in pairs.iter().enumerate() {
        below += weight;
        if below > half {
            return value;
        }
        if below == half {
            return pairs.get(index + 1).map_or(value, |next| 0.5 * (value + next.0));
        }
    }
    pairs.last().map_or(f64::NAN, |pair| pair.0)
}

impl Model for FittedDummyRegressor {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(Tensor::try_full([x.len()], self.constant, self.dtype())?)
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put_real("constant", self.constant);
        record
    }
}

impl Restore for FittedDummyRegressor {
    fn restore(record: &Record) -> Result<FittedDummyRegressor> {
        let settings: DummyRegressor = record.settings(DummyRegressor::NAME, 1)?;
        let about = About::read(&settings, record, record.count("width")?, record.precision()?)?;
        Ok(FittedDummyRegressor { about, constant: record.real("constant")? })
    }
}

/// The probabilities that a [`DummyClassifier`] predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Constant {
    /// The class frequencies.
    #[default]
    Prior,
    /// 1 for the most frequent class.
    MostFrequent,
}

/// Predicts the most frequent class and ignores the features; probabilities are the class frequencies.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct DummyClassifier {
    /// The probabilities: class frequencies, or 1 for the most frequent class.
    #[hyper(default = Constant::Prior)]
    pub strategy: Constant,
}

/// A fitted [`DummyClassifier`].
#[derive(Clone, Debug)]
pub struct FittedDummyClassifier {
    about: About,
    shares: Tensor, // (m)
}

impl Algorithm for DummyClassifier {
    type Fitted = FittedDummyClassifier;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, missing: true, probabilities: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedDummyClassifier> {
        let labels = Labels::of(Self::NAME, samples.y()?)?; // a single class is allowed
        let weights = samples.weights().map_or(vec![1.0; samples.len()], Tensor::to_f64_vec);
        let mut shares = vec![0.0; labels.classes().len()];
        for (&code, weight) in labels.codes().iter().zip(&weights) {
            shares[code] += weight;
        }
        let total: f64 = weights.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        if self.strategy == Constant::MostFrequent {
            let best = first_largest(&shares);
            shares.iter_mut().enumerate().for_each(|(code, share)| *share = f64::from(code == best));
        }
        let shares = Tensor::from_slice(&shares).to_dtype(samples.x().dtype());
        Ok(FittedDummyClassifier { about: About::of(self, samples).classes(labels.classes()), shares })
    }
}

impl Model for FittedDummyClassifier {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = first_largest(&self.shares.to_f64_vec());
        Ok(Labels::decode(self.classes(), std::iter::repeat_n(best, x.len())))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(self.shares.try_broadcast_to([x.len(), self.classes().len()])?.try_contiguous()?)
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put_tensor("shares", &self.shares);
        record
    }
}

impl Restore for FittedDummyClassifier {
    fn restore(record: &Record) -> Result<FittedDummyClassifier> {
        let settings: DummyClassifier = record.settings(DummyClassifier::NAME, 1)?;
        let shares = record.tensor("shares")?.clone();
        let about = About::read(&settings, record, record.count("width")?, shares.dtype())?;
        let sum: f64 = shares.to_f64_vec().iter().sum();
        let shaped = shares.dims() == [about.classes.len()] && shares.dtype().is_float();
        if !shaped || (sum - 1.0).abs() > 1e-3 || shares.to_f64_vec().iter().any(|share| share.is_nan() || *share < 0.0)
        {
            return Err(record.wrong("shares", "a share per class, which sum to 1"));
        }
        Ok(FittedDummyClassifier { about, shares })
    }
}
