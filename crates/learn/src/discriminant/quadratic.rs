//! Quadratic discriminant analysis: each class has a normal distribution with a covariance matrix of its own.
//!
//! log P(c | x) = log π_c − ½ log det Σ_c − ½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c) + constant (Hastie, Tibshirani and Friedman 2009,
//! section 4.3). Σ_c = R diag(s) Rᵀ; a class whose smallest variance s is at most `tol` has no inverse and is an error. Features
//! that are constant in all samples say nothing about the class and are left out without regularization, with directions of zeros.
//!
//! ```
//! use tove_learn::{Fit, Predict, QuadraticDiscriminantAnalysis};
//! use tove_tensor::Tensor;
//! // A small round class inside a wide one: no line separates them.
//! let x = Tensor::from([[0.1, 0.0], [-0.1, 0.1], [0.0, -0.1], [5.0, 0.0], [-5.0, 0.0], [0.0, 5.0], [0.0, -5.0]]);
//! let model = QuadraticDiscriminantAnalysis::default().tol(0.0).fit(&x, &Tensor::from([0i64, 0, 0, 1, 1, 1, 1]))?;
//! assert_eq!(model.predict(&Tensor::from([[0.05, 0.0], [4.0, 4.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{Tensor, TryIndex, TryOps, linalg};

use super::covariance::{Shrinkage, covariance};
use super::{Groups, too_large};
use crate::logistic::linear::{Soft, decided, outputs, shaped};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples, with_real};

/// How the variances and directions of a class are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum QuadraticSolver {
    /// Singular values of the centered samples.
    #[default]
    Svd,
    /// Eigenvectors of the covariance matrix, which may be shrunk.
    Eigen,
}

/// A classifier with quadratic boundaries by a normal distribution for each class, as scikit-learn's
/// `QuadraticDiscriminantAnalysis`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct QuadraticDiscriminantAnalysis {
    /// How variances and directions are found: svd or eigen.
    #[hyper(default = QuadraticSolver::Svd)]
    pub solver: QuadraticSolver,
    /// Shrinkage of the covariance matrices, for the solver eigen: auto (Ledoit-Wolf) or a number from 0 to 1.
    #[hyper(default = None, range = "[0, 1]")]
    pub shrinkage: Option<Shrinkage>,
    /// Regularization for the solver svd: variances s become (1 − r) s + r.
    #[hyper(default = 0.0, range = "[0, 1]")]
    pub reg_param: f64,
    /// Shares of the classes, in ascending order of the classes; those of the samples by default.
    #[hyper(default = None, range = "(0, 1)")]
    pub priors: Option<Vec<f64>>,
    /// Whether the model has the covariance matrix of each class as an attribute.
    #[hyper(default = false)]
    pub store_covariance: bool,
    /// Variance up to which a direction counts as one in which a class does not vary.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
}

/// A fitted [`QuadraticDiscriminantAnalysis`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = QuadraticDiscriminantAnalysis, complete = FittedQuadraticDiscriminantAnalysis::positive)]
pub struct FittedQuadraticDiscriminantAnalysis {
    about: About,
    /// Mean of each feature in each class.
    #[fitted(shape = "classes, features", double)]
    means: Tensor,
    /// Share of each class.
    #[fitted(shape = "classes", double)]
    priors: Tensor,
    /// Directions of the covariance matrix of each class, one per column.
    #[fitted(shape = "classes, features, features", double)]
    rotations: Tensor,
    /// Variances along the directions.
    #[fitted(shape = "classes, features", double)]
    scalings: Tensor,
    /// Covariance matrix of each class, if `store_covariance` is set.
    #[fitted(shape = "classes, features, features", double)]
    covariance: Option<Tensor>,
}

impl QuadraticDiscriminantAnalysis {
    /// Variances, descending, and directions as columns (d, d) of a class.
    fn axes(&self, rows: &[f64], d: usize) -> Result<(Vec<f64>, Tensor)> {
        match self.solver {
            QuadraticSolver::Svd => {
                // Rows of zeros, so that fewer samples than features have all directions.
                let n = rows.len() / d;
                let mut padded = rows.to_vec();
                padded.resize(n.max(d) * d, 0.0);
                let linalg::Svd { s, vt, .. } = linalg::svd(&Tensor::try_from_vec(padded, [n.max(d), d])?)?;
                let share = self.reg_param;
                let variance = |s: &f64| (1.0 - share) * (s * s / n as f64) + share;
                Ok((s.to_f64_vec().iter().map(variance).collect(), vt.try_t()?.try_contiguous()?))
            }
            QuadraticSolver::Eigen => {
                let matrix = Tensor::try_from_vec(covariance(rows, d, self.shrinkage), [d, d])?;
                let linalg::Eigh { values, vectors } = linalg::eigh(&matrix)?; // ascending
                let reversed: Vec<i64> = (0..d as i64).rev().collect();
                let vectors = vectors.try_index_select(1, &Tensor::from_slice(&reversed))?;
                Ok((values.to_f64_vec().into_iter().rev().collect(), vectors))
            }
        }
    }

    /// That every direction of the class varies.
    fn require_rank(&self, class: i64, n: usize, variances: &[f64]) -> Result<()> {
        if variances.iter().any(|variance| !variance.is_finite()) {
            return Err(too_large::<Self>());
        }
        let (rank, d) = (variances.iter().filter(|&&s| s > self.tol.max(f64::MIN_POSITIVE)).count(), variances.len());
        if rank == d {
            return Ok(());
        }
        let problem = format!(
            "the {n} samples of class {class} vary in {rank} of {d} directions, so their covariance matrix has no inverse"
        );
        let fix = match self.solver {
            QuadraticSolver::Svd => "raise `reg_param`, leave out features, or lower `tol`",
            QuadraticSolver::Eigen => "set or raise `shrinkage`, leave out features, or lower `tol`",
        };
        Err(LearnError::data(Self::NAME, problem, fix))
    }
}

impl Algorithm for QuadraticDiscriminantAnalysis {
    type Fitted = FittedQuadraticDiscriminantAnalysis;
    const CAPABILITIES: Capabilities =
        Capabilities { probabilities: true, decision_function: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedQuadraticDiscriminantAnalysis> {
        let refused = match self.solver {
            QuadraticSolver::Svd if self.shrinkage.is_some() => {
                Some("`shrinkage`; use `reg_param`, or the solver eigen")
            }
            QuadraticSolver::Eigen if self.reg_param > 0.0 => Some("`reg_param`; use `shrinkage`, or the solver svd"),
            _ => None,
        };
        if let Some(what) = refused {
            return Err(LearnError::parameter(Self::NAME, format!("the solver does not support {what}")));
        }
        let groups = Groups::of::<Self>(samples, self.priors.as_deref())?;
        let (d, classes) = (groups.d, groups.labels.classes());
        let m = classes.len();
        // Regularization gives them a variance, the same in all classes.
        let regularized = self.reg_param > 0.0 || self.shrinkage.is_some();
        let varying = match regularized {
            true => (0..d).collect(),
            false => varying(&samples.x().dense(Self::NAME)?.to_f64_vec(), d),
        };
        if varying.is_empty() {
            return Err(LearnError::data(Self::NAME, "all features are constant", "give features that vary"));
        }
        let (mut scalings, mut rotations, mut covariances) = (Vec::new(), Vec::new(), Vec::new());
        for (rows, &class) in groups.centered.iter().zip(classes) {
            let own: Vec<f64> = rows.chunks(d).flat_map(|row| varying.iter().map(|&j| row[j])).collect();
            let (variances, directions) = self.axes(&own, varying.len())?;
            self.require_rank(class, rows.len() / d, &variances)?;
            let (variances, directions) = widened(variances, &directions, &varying, d)?;
            if self.store_covariance {
                let scaled = directions.try_mul(&Tensor::from_slice(&variances))?;
                covariances.extend(scaled.try_matmul(&directions.try_t()?)?.to_f64_vec());
            }
            scalings.extend(variances);
            rotations.extend(directions.to_f64_vec());
        }
        let covariance = self.store_covariance.then(|| Tensor::try_from_vec(covariances, [m, d, d])).transpose()?;
        Ok(FittedQuadraticDiscriminantAnalysis {
            about: About::of(self, samples).classes(classes),
            means: Tensor::try_from_vec(groups.means.clone(), [m, d])?,
            priors: Tensor::from_slice(&groups.priors),
            rotations: Tensor::try_from_vec(rotations, [m, d, d])?,
            scalings: Tensor::try_from_vec(scalings, [m, d])?,
            covariance,
        })
    }
}

/// The columns of rows of length d that are not constant.
fn varying(x: &[f64], d: usize) -> Vec<usize> {
    (0..d).filter(|&j| x[j..].iter().step_by(d).any(|value| *value != x[j])).collect()
}

/// Variances and directions (d, d) of all features; those of the constant ones are 1 and zeros.
fn widened(variances: Vec<f64>, directions: &Tensor, varying: &[usize], d: usize) -> Result<(Vec<f64>, Tensor)> {
    let r = varying.len();
    if r == d {
        return Ok((variances, directions.clone()));
    }
    let mut wide = vec![0.0; d * d];
    for (row, &j) in directions.to_f64_vec().chunks(r).zip(varying) {
        wide[j * d..j * d + r].copy_from_slice(row);
    }
    let mut all = variances;
    all.resize(d, 1.0);
    Ok((all, Tensor::try_from_vec(wide, [d, d])?))
}

impl FittedQuadraticDiscriminantAnalysis {
    fn positive(self, record: &crate::Record) -> Result<FittedQuadraticDiscriminantAnalysis> {
        let positive = |tensor: &Tensor| tensor.to_f64_vec().iter().all(|&value| value > 0.0);
        if self.about.classes.len() > 1 && positive(&self.scalings) && positive(&self.priors) {
            return Ok(self);
        }
        Err(record.wrong("scalings", "positive variances of at least two classes"))
    }

    /// Logarithms of the joint densities of rows and classes; their difference for two classes.
    fn scores(&self, x: &Rows) -> Result<Vec<f64>> {
        let x = x.dense(self.name())?.to_dtype(tove_tensor::DType::F64);
        let (d, m) = (self.width(), self.classes().len());
        let (scalings, priors) = (self.scalings.to_f64_vec(), self.priors.to_f64_vec());
        let mut joint = vec![0.0; x.dims()[0] * m];
        for c in 0..m {
            let centered = x.try_sub(&self.means.try_narrow(0, c, 1)?)?;
            let rotation = self.rotations.try_narrow(0, c, 1)?.try_reshape([d, d])?;
            let turned = centered.try_matmul(&rotation)?.to_f64_vec();
            let variances = &scalings[c * d..(c + 1) * d];
            let constant = priors[c].ln() - 0.5 * variances.iter().map(|s| s.ln()).sum::<f64>();
            for (row, joint) in turned.chunks(d).zip(joint.chunks_mut(m)) {
                joint[c] = constant - 0.5 * row.iter().zip(variances).map(|(z, s)| z * z / s).sum::<f64>();
            }
        }
        if m == 2 {
            return Ok(joint.chunks(2).map(|pair| pair[1] - pair[0]).collect());
        }
        Ok(joint)
    }
}

impl Model for FittedQuadraticDiscriminantAnalysis {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let k = outputs(self.classes().len());
        let scores = Tensor::from_slice(&self.scores(x)?).to_dtype(self.dtype());
        with_real!(self.dtype(), T => decided(scores.as_slice::<T>()?, k, self.classes()))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(shaped(self.scores(x)?, outputs(self.classes().len()))?.to_dtype(self.dtype()))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let scores = Tensor::from_slice(&self.scores(x)?).to_dtype(self.dtype());
        with_real!(self.dtype(), T => Soft::Softmax.of(scores.as_slice::<T>()?, outputs(self.classes().len())))
    }
}
