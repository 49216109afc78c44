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
use crate::{About, Algorithm, Capabilities, Fitted, Labels, Model, Record, Result, Rows, Samples};

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
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = DummyRegressor)]
pub struct FittedDummyRegressor {
    about: About,
    /// The constant that is predicted.
    constant: f64,
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
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(Tensor::try_full([x.len()], self.constant, self.dtype())?)
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
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = DummyClassifier, complete = FittedDummyClassifier::normalized)]
pub struct FittedDummyClassifier {
    about: About,
    /// The probability of each class.
    #[fitted(shape = "classes", name = "class_prior")]
    shares: Tensor,
}

impl FittedDummyClassifier {
    fn normalized(self, record: &Record) -> Result<FittedDummyClassifier> {
        let shares = self.shares.to_f64_vec();
        let normal = shares.iter().all(|&share| share >= 0.0) && (shares.iter().sum::<f64>() - 1.0).abs() <= 1e-3;
        if normal { Ok(self) } else { Err(record.wrong("shares", "a share per class, which sum to 1")) }
    }
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
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = first_largest(&self.shares.to_f64_vec());
        Ok(Labels::decode(self.classes(), std::iter::repeat_n(best, x.len())))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(self.shares.try_broadcast_to([x.len(), self.classes().len()])?.try_contiguous()?)
    }
}
