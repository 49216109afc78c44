//! Gaussian naive Bayes: features are independent within a class, each with a normal distribution of its own.
//!
//! log P(c | x) = log π_c − ½ Σⱼ (log 2πσ²_cj + (xⱼ − μ_cj)² / σ²_cj) + constant, with the (weighted) shares, means and variances of
//! the classes. `var_smoothing` times the largest variance of a feature is added to every variance, as in scikit-learn.
//!
//! ```
//! use tove_learn::{Fit, GaussianNb, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[-1.0], [1.0], [9.0], [11.0]]), Tensor::from([0i64, 0, 1, 1]));
//! let model = GaussianNb::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[2.0], [7.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::{most_probable, normalized};
use crate::{About, Algorithm, Capabilities, Fitted, Labels, LearnError, Model, Result, Rows, Samples};

/// A classifier by normal distributions of each feature in each class, as scikit-learn's `GaussianNB`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "GaussianNB")]
pub struct GaussianNb {
    /// Share of the largest variance of a feature that is added to all variances.
    #[hyper(default = 1e-9, range = "[0, inf)")]
    pub var_smoothing: f64,
}

/// A fitted [`GaussianNb`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = GaussianNb)]
pub struct FittedGaussianNb {
    about: About,
    /// Mean of each feature in each class.
    #[fitted(shape = "classes, features")]
    theta: Tensor,
    /// Variance of each feature in each class.
    #[fitted(shape = "classes, features")]
    var: Tensor,
    /// Share of each class.
    #[fitted(shape = "classes")]
    class_prior: Tensor,
    /// Samples of each class, or the sum of their weights.
    #[fitted(shape = "classes")]
    class_count: Tensor,
    /// What was added to the variances.
    epsilon: f64,
}

/// Weighted mean and variance of every column over the rows of one class, in two passes.
struct Moments {
    total: f64,
    mean: Vec<f64>,
    var: Vec<f64>,
}

impl Moments {
    fn of<'a>(rows: impl Iterator<Item = (&'a [f64], f64)> + Clone, d: usize) -> Moments {
        let (mut total, mut mean, mut var) = (0.0, vec![0.0; d], vec![0.0; d]);
        for (row, weight) in rows.clone() {
            total += weight;
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
        }
        mean.iter_mut().for_each(|sum| *sum /= total);
        for (row, weight) in rows {
            for ((sum, x), mean) in var.iter_mut().zip(row).zip(&mean) {
                *sum += weight * (x - mean) * (x - mean);
            }
        }
        var.iter_mut().for_each(|sum| *sum /= total);
        Moments { total, mean, var }
    }
}

impl Algorithm for GaussianNb {
    type Fitted = FittedGaussianNb;
    const CAPABILITIES: Capabilities = Capabilities { weights: true, probabilities: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedGaussianNb> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let x = samples.x().dense(Self::NAME)?;
        let (d, m) = (samples.width(), labels.classes().len());
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let values = x.to_f64_vec();
        let all = values.chunks(d).zip(weights.iter().copied());
        let largest = Moments::of(all.clone(), d).var.into_iter().fold(0.0, f64::max);
        let epsilon = self.var_smoothing * largest;
        let (mut theta, mut var, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for class in 0..m {
            let own = all.clone().zip(labels.codes()).filter(|(_, code)| **code == class).map(|(row, _)| row);
            let moments = Moments::of(own, d);
            if moments.total <= 0.0 {
                let problem = format!("all samples of class {} have weight 0", labels.classes()[class]);
                return Err(LearnError::data(Self::NAME, problem, "give one of them a weight, or leave the class out"));
            }
            if let Some(column) = moments.var.iter().position(|&var| var + epsilon <= 0.0) {
                let class = labels.classes()[class];
                let problem = format!("feature {column} is constant in class {class}, so its variance is 0");
                return Err(LearnError::data(Self::NAME, problem, "raise `var_smoothing`, or leave the feature out"));
            }
            theta.extend(moments.mean);
            var.extend(moments.var.into_iter().map(|var| var + epsilon));
            counts.push(moments.total);
        }
        let total: f64 = counts.iter().sum();
        let (dtype, prior) = (x.dtype(), counts.iter().map(|count| count / total).collect());
        let tensor = |values: Vec<f64>, shape: &[usize]| -> Result<Tensor> {
            Ok(Tensor::try_from_vec(values, shape.to_vec())?.to_dtype(dtype))
        };
        Ok(FittedGaussianNb {
            about: About::of(self, samples).classes(labels.classes()),
            theta: tensor(theta, &[m, d])?,
            var: tensor(var, &[m, d])?,
            class_prior: tensor(prior, &[m])?,
            class_count: tensor(counts, &[m])?,
            epsilon,
        })
    }
}

impl FittedGaussianNb {
    /// log π_c + log p(x | c) of each row and class, (n, m), in double precision.
    fn joint(&self, x: &Rows) -> Result<Tensor> {
        let x = x.dense(self.name())?.to_f64_vec();
        let (d, m) = (self.width(), self.classes().len());
        let (theta, var, prior) = (self.theta.to_f64_vec(), self.var.to_f64_vec(), self.class_prior.to_f64_vec());
        let constant = |c: usize| {
            let logs: f64 = var[c * d..(c + 1) * d].iter().map(|var| (std::f64::consts::TAU * var).ln()).sum();
            prior[c].ln() - 0.5 * logs
        };
        let constants: Vec<f64> = (0..m).map(constant).collect();
        let mut joint = Vec::with_capacity(x.len() / d.max(1) * m);
        for row in x.chunks(d) {
            for c in 0..m {
                let (theta, var) = (&theta[c * d..(c + 1) * d], &var[c * d..(c + 1) * d]);
                let square: f64 =
                    row.iter().zip(theta).zip(var).map(|((x, theta), var)| (x - theta).powi(2) / var).sum();
                joint.push(constants[c] - 0.5 * square);
            }
        }
        let n = joint.len() / m;
        Ok(Tensor::try_from_vec(joint, [n, m])?)
    }
}

impl Model for FittedGaussianNb {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        most_probable(self.classes(), &self.proba_rows(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        normalized(self.name(), &self.joint(x)?, self.dtype())
    }
}
