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

use super::partial::Summed;
use super::{most_probable, normalized};
use crate::partial::{AnyLearner, boxed};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples};

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

/// Weighted mean and variance of every column over some rows, in two passes.
#[derive(Clone, Debug)]
pub struct Moments {
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
        if total <= 0.0 {
            return Moments { total: 0.0, mean: vec![0.0; d], var };
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

    /// Adds the moments of a batch (Chan, Golub and LeVeque 1983).
    fn add(&mut self, batch: &Moments) {
        let all = self.total + batch.total;
        if all <= 0.0 {
            return;
        }
        let (own, other) = (self.total / all, batch.total / all);
        for column in 0..self.mean.len() {
            let delta = batch.mean[column] - self.mean[column];
            self.mean[column] += other * delta;
            self.var[column] = own * self.var[column] + other * batch.var[column] + own * other * delta * delta;
        }
        self.total = all;
    }
}

impl Algorithm for GaussianNb {
    type Fitted = FittedGaussianNb;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, probabilities: true, partial_fit: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedGaussianNb> {
        self.at_once(samples)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        boxed(self, classes)
    }
}

impl Summed for GaussianNb {
    /// Of each class, and of all samples at the end.
    type Sums = Vec<Moments>;

    fn sums(&self, samples: &Samples, codes: &[usize], m: usize) -> Result<Vec<Moments>> {
        let (x, d) = (samples.x().dense(Self::NAME)?, samples.width());
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let values = x.to_f64_vec();
        let all = values.chunks(d).zip(weights.iter().copied());
        let of_class = |class| {
            let own = all.clone().zip(codes).filter(move |(_, code)| **code == class).map(|(row, _)| row);
            Moments::of(own, d)
        };
        Ok((0..m).map(of_class).chain([Moments::of(all.clone(), d)]).collect())
    }

    fn merge(seen: &mut Vec<Moments>, batch: &Vec<Moments>) -> Result<()> {
        seen.iter_mut().zip(batch).for_each(|(seen, batch)| seen.add(batch));
        Ok(())
    }

    fn finish(&self, about: About, sums: &Vec<Moments>) -> Result<FittedGaussianNb> {
        let (d, m, dtype) = (about.width, about.classes.len(), about.dtype);
        let (of_classes, of_all) = sums.split_at(m);
        let counts: Vec<f64> = of_classes.iter().map(|moments| moments.total).collect();
        super::require_weight(Self::NAME, &about.classes, &counts)?;
        let largest = of_all.iter().flat_map(|moments| &moments.var).fold(0.0f64, |most, var| most.max(*var));
        let epsilon = self.var_smoothing * largest;
        let (mut theta, mut var) = (Vec::new(), Vec::new());
        for (moments, class) in of_classes.iter().zip(&about.classes) {
            if let Some(column) = moments.var.iter().position(|&var| var + epsilon <= 0.0) {
                let problem = format!("feature {column} is constant in class {class}, so its variance is 0");
                return Err(LearnError::data(Self::NAME, problem, "raise `var_smoothing`, or leave the feature out"));
            }
            theta.extend(&moments.mean);
            var.extend(moments.var.iter().map(|var| var + epsilon));
        }
        let total: f64 = counts.iter().sum();
        let prior = counts.iter().map(|count| count / total).collect();
        let tensor = |values: Vec<f64>, shape: &[usize]| -> Result<Tensor> {
            Ok(Tensor::try_from_vec(values, shape.to_vec())?.to_dtype(dtype))
        };
        Ok(FittedGaussianNb {
            about,
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
