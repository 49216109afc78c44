//! Linear discriminant analysis: classes are normal distributions with different means and the same covariance matrix.
//!
//! log P(c | x) = log π_c + μ_cᵀ Σ⁻¹ x − ½ μ_cᵀ Σ⁻¹ μ_c + constant, which is linear in x (Fisher 1936; Hastie, Tibshirani and
//! Friedman 2009, section 4.3). The solver is scikit-learn's default `svd`: the singular values of the samples minus the means
//! of their classes, without computing the covariance matrix. Directions in which the samples of a class do not vary are
//! dropped. Shrinkage of the covariance matrix, given priors and `transform` are not provided yet.
//!
//! ```
//! use tove_learn::{Fit, LinearDiscriminantAnalysis, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]]);
//! let y = Tensor::from([1i64, 1, 1, 2, 2, 2]);
//! let model = LinearDiscriminantAnalysis::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[-0.8, -1.0]]))?.to_vec::<i64>(), [1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{Tensor, TryOps, linalg};

use super::Groups;
use crate::logistic::linear::{Linear, Soft};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Record, Result, Rows, Samples};

/// A classifier with linear boundaries by normal distributions with a common covariance matrix.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LinearDiscriminantAnalysis {
    /// Standard deviation within the classes, of features scaled to 1, up to which a direction is dropped.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
}

/// A fitted [`LinearDiscriminantAnalysis`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = LinearDiscriminantAnalysis, complete = FittedLinearDiscriminantAnalysis::matched)]
pub struct FittedLinearDiscriminantAnalysis {
    about: About,
    #[fitted(flatten)]
    linear: Linear,
    /// Mean of each feature in each class.
    #[fitted(shape = "classes, features")]
    means: Tensor,
    /// Share of each class.
    #[fitted(shape = "classes")]
    priors: Tensor,
}

impl LinearDiscriminantAnalysis {
    /// Matrix (d, r) that maps rows to independent features of variance 1 within the classes.
    fn within(&self, groups: &Groups, n: usize) -> Result<Tensor> {
        let d = groups.d;
        let mut rows: Vec<f64> = groups.centered.concat();
        let mut std = vec![0.0; d];
        for row in rows.chunks(d) {
            std.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x / n as f64);
        }
        for (std, largest) in std.iter_mut().zip(&groups.largest) {
            *std = std.sqrt();
            // Constant up to rounding: a factor of 0 drops the feature.
            if *std <= 4.0 * f64::EPSILON * largest {
                *std = f64::INFINITY;
            }
        }
        let root = (n as f64).sqrt();
        for row in rows.chunks_mut(d) {
            row.iter_mut().zip(&std).for_each(|(x, std)| *x = *x / std / root);
        }
        let linalg::Svd { s, vt, .. } = linalg::svd(&Tensor::try_from_vec(rows, [n, d])?)?;
        let (s, vt) = (s.to_f64_vec(), vt.to_f64_vec());
        let rank = s.iter().filter(|&&s| s > self.tol.max(f64::MIN_POSITIVE)).count();
        if rank == 0 {
            let problem = "no feature varies within the classes";
            return Err(LearnError::data(Self::NAME, problem, "add features or samples, or lower `tol`"));
        }
        let entry = |j: usize, k: usize| vt[k * d + j] / std[j] / s[k];
        let scalings: Vec<f64> = (0..d).flat_map(|j| (0..rank).map(move |k| entry(j, k))).collect();
        Ok(Tensor::try_from_vec(scalings, [d, rank])?)
    }
}

impl Algorithm for LinearDiscriminantAnalysis {
    type Fitted = FittedLinearDiscriminantAnalysis;
    const CAPABILITIES: Capabilities =
        Capabilities { probabilities: true, decision_function: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedLinearDiscriminantAnalysis> {
        let groups = Groups::of::<Self>(samples)?;
        let classes = groups.labels.classes();
        let (n, d, m) = (samples.len(), groups.d, classes.len());
        if n <= m {
            let problem = format!("there are {n} samples of {m} classes");
            return Err(LearnError::data(Self::NAME, problem, "give more samples than classes"));
        }
        let scalings = self.within(&groups, n)?;
        let priors = &groups.priors;
        let center: Vec<f64> = (0..d).map(|j| (0..m).map(|c| priors[c] * groups.means[c * d + j]).sum()).collect();
        let offsets: Vec<f64> = groups
            .means
            .chunks(d)
            .flat_map(|mean| mean.iter().zip(&center).map(|(mean, center)| mean - center))
            .collect();
        // The class means, weighted by the numbers of samples, span the directions that separate the classes.
        let offsets = Tensor::try_from_vec(offsets, [m, d])?.try_matmul(&scalings)?;
        let factors: Vec<f64> = priors.iter().map(|prior| (n as f64 * prior / (m - 1) as f64).sqrt()).collect();
        let weighted = offsets.try_mul(&Tensor::try_from_vec(factors, [m, 1])?)?;
        let linalg::Svd { s, vt, .. } = linalg::svd(&weighted)?;
        let s = s.to_f64_vec();
        let rank = s.iter().filter(|&&value| value > self.tol * s[0]).count();
        let basis = vt.try_narrow(0, 0, rank)?.try_t()?.try_contiguous()?;
        let scalings = scalings.try_matmul(&basis)?;
        let projected = offsets.try_matmul(&basis)?;
        let coef = projected.try_matmul(&scalings.try_t()?)?.to_f64_vec();
        let projected = projected.to_f64_vec();
        let mut parameters = Vec::with_capacity(m * (d + 1));
        for c in 0..m {
            let square: f64 = projected[c * rank..(c + 1) * rank].iter().map(|value| value * value).sum();
            let coef = &coef[c * d..(c + 1) * d];
            let shift: f64 = coef.iter().zip(&center).map(|(w, center)| w * center).sum();
            parameters.extend_from_slice(coef);
            parameters.push(priors[c].ln() - 0.5 * square - shift);
        }
        if m == 2 {
            let (first, second) = parameters.split_at(d + 1);
            parameters = second.iter().zip(first).map(|(second, first)| second - first).collect();
        }
        let dtype = samples.x().dtype();
        let linear = Linear::from_parameters(&parameters, d, m, dtype)?;
        if [&linear.coef, &linear.intercept].iter().any(|t| t.to_f64_vec().iter().any(|value| !value.is_finite())) {
            return Err(super::too_large::<Self>());
        }
        Ok(FittedLinearDiscriminantAnalysis {
            about: About::of(self, samples).classes(classes),
            linear,
            means: Tensor::try_from_vec(groups.means, [m, d])?.to_dtype(dtype),
            priors: Tensor::try_from_vec(groups.priors, [m])?.to_dtype(dtype),
        })
    }
}

impl FittedLinearDiscriminantAnalysis {
    fn matched(self, record: &Record) -> Result<FittedLinearDiscriminantAnalysis> {
        self.linear.require_classes(record, &self.about.classes)?;
        Ok(self)
    }

    /// The weights: (1, d) for two classes, (m, d) for more.
    pub fn coef(&self) -> &Tensor {
        &self.linear.coef
    }

    /// The intercepts: one, or one per class.
    pub fn intercept(&self) -> &Tensor {
        &self.linear.intercept
    }
}

impl Model for FittedLinearDiscriminantAnalysis {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.predict(x, self.classes())
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.decision(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.probabilities(x, Soft::Softmax)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.linear.coef)
    }
}
