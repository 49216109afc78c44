//! Linear discriminant analysis: classes are normal distributions with different means and the same covariance matrix.
//!
//! log P(c | x) = log π_c + μ_cᵀ Σ⁻¹ x − ½ μ_cᵀ Σ⁻¹ μ_c + constant, which is linear in x (Fisher 1936; Hastie, Tibshirani and
//! Friedman 2009, section 4.3). The default solver `svd` takes the singular values of the samples minus the means of their
//! classes, without computing the covariance matrix, and drops directions in which the samples of a class do not vary.
//! The solvers `lsqr` and `eigen` use the covariance matrix, which may be shrunk. `transform` projects samples onto the directions
//! that separate the classes best.
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

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::linalg::{self, Triangle};
use tove_tensor::{Tensor, TryIndex, TryLinalg, TryOps};

use super::covariance::{Shrinkage, covariance};
use super::{Groups, too_large};
use crate::logistic::linear::{Linear, Soft};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Record, Result, Rows, Samples};

/// How the directions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum DiscriminantSolver {
    /// Singular values of the centered samples; without shrinkage.
    #[default]
    Svd,
    /// Least squares with the covariance matrix; without `transform`.
    Lsqr,
    /// Eigenvectors of the covariance between the classes relative to that within them.
    Eigen,
}

/// A classifier with linear boundaries by normal distributions with a common covariance matrix, as scikit-learn's
/// `LinearDiscriminantAnalysis`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LinearDiscriminantAnalysis {
    /// How the directions are found: svd, lsqr or eigen.
    #[hyper(default = DiscriminantSolver::Svd)]
    pub solver: DiscriminantSolver,
    /// Shrinkage of the covariance matrix, for the solvers lsqr and eigen: auto (Ledoit-Wolf) or a number from 0 to 1.
    #[hyper(default = None, range = "[0, 1]")]
    pub shrinkage: Option<Shrinkage>,
    /// Shares of the classes, in ascending order of the classes; those of the samples by default.
    #[hyper(default = None, range = "(0, 1)")]
    pub priors: Option<Vec<f64>>,
    /// Number of directions for `transform`; one less than there are classes, but not more than features, by default.
    #[hyper(default = None, range = "[1, inf)")]
    pub n_components: Option<usize>,
    /// Whether the solver svd computes the covariance matrix too; the others need it anyway.
    #[hyper(default = false)]
    pub store_covariance: bool,
    /// Standard deviation within the classes, of features scaled to 1, up to which the solver svd drops a direction.
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
    /// The directions that separate the classes best, one per column; none with the solver lsqr.
    #[fitted(shape = "features, outputs")]
    scalings: Option<Tensor>,
    /// Mean of the class means, which `transform` subtracts with the solver svd.
    #[fitted(shape = "features")]
    xbar: Option<Tensor>,
    /// Share of the variance between the classes along each direction.
    #[fitted(shape = "outputs")]
    explained_variance_ratio: Option<Tensor>,
    /// The covariance matrix within the classes.
    #[fitted(shape = "features, features")]
    covariance: Option<Tensor>,
}

/// What a solver finds, in double precision.
#[derive(Default)]
struct Found {
    /// Weights and intercept of each class, (m, d + 1).
    parameters: Vec<f64>,
    /// (d, r) with the variances (r) between the classes, descending.
    directions: Option<(Tensor, Vec<f64>)>,
    xbar: Option<Vec<f64>>,
    covariance: Option<Vec<f64>>,
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

    /// The singular values of the centered samples, then those of the class means in the space where classes are round.
    fn by_singular_values(&self, groups: &Groups, n: usize) -> Result<Found> {
        let (d, m, priors) = (groups.d, groups.priors.len(), &groups.priors);
        let scalings = self.within(groups, n)?;
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
        let squares = s.iter().map(|value| value * value).collect();
        let covariance = self.store_covariance.then(|| groups.covariance(None));
        Ok(Found { parameters, directions: Some((scalings, squares)), xbar: Some(center), covariance })
    }

    /// Σ⁻¹ μ_c with the (shrunk) covariance matrix Σ.
    fn by_covariance(&self, groups: &Groups) -> Result<Found> {
        let (d, m) = (groups.d, groups.priors.len());
        let within = groups.covariance(self.shrinkage);
        if within.iter().any(|value| !value.is_finite()) {
            return Err(too_large::<Self>());
        }
        let matrix = Tensor::try_from_vec(within.clone(), [d, d])?;
        let means = Tensor::try_from_vec(groups.means.clone(), [m, d])?.try_t()?.try_contiguous()?;
        let (coef, directions) = match self.solver {
            DiscriminantSolver::Eigen => {
                let (vectors, values) = self.separating(groups, &within, &matrix)?;
                // Vᵀ Σ V = I, hence V Vᵀ = Σ⁻¹.
                (vectors.try_matmul(&vectors.try_t()?.try_matmul(&means)?)?, Some((vectors, values)))
            }
            _ => (linalg::lstsq(&matrix, &means, None)?.solution, None),
        };
        let coef = coef.try_t()?.to_f64_vec();
        let mut parameters = Vec::with_capacity(m * (d + 1));
        for ((coef, mean), prior) in coef.chunks(d).zip(groups.means.chunks(d)).zip(&groups.priors) {
            let half: f64 = coef.iter().zip(mean).map(|(w, mean)| 0.5 * w * mean).sum();
            parameters.extend_from_slice(coef);
            parameters.push(prior.ln() - half);
        }
        Ok(Found { parameters, directions, xbar: None, covariance: Some(within) })
    }

    /// Vectors V (d, d) with Vᵀ Σ V = I along which the covariance between the classes is diagonal, and the diagonal, descending.
    fn separating(&self, groups: &Groups, within: &[f64], matrix: &Tensor) -> Result<(Tensor, Vec<f64>)> {
        let d = groups.d;
        let total = covariance(&groups.around_common_mean(), d, self.shrinkage);
        let between: Vec<f64> = total.iter().zip(within).map(|(total, within)| total - within).collect();
        let between = Tensor::try_from_vec(between, [d, d])?;
        let factor = match matrix.try_cholesky() {
            Ok(factor) => factor,
            Err(error) if error.is_data() => return Err(singular("within the classes")),
            Err(error) => return Err(error.into()),
        };
        let (whole, rest) = (matrix.to_f64_vec(), factor.to_f64_vec());
        if (0..d).any(|i| rest[i * d + i].powi(2) <= 1e-13 * whole[i * d + i]) {
            return Err(singular("within the classes"));
        }
        let solve = |side: &Tensor| factor.try_triangular_solve(side, Triangle::LOWER);
        let half = solve(&between)?.try_t()?.try_contiguous()?;
        let linalg::Eigh { values, vectors } = linalg::eigh(&solve(&half)?)?; // ascending
        let reversed: Vec<i64> = (0..d as i64).rev().collect();
        let vectors = vectors.try_index_select(1, &Tensor::from_slice(&reversed))?;
        let upper = factor.try_t()?.try_contiguous()?;
        let vectors = upper.try_triangular_solve(&vectors, Triangle::UPPER)?;
        Ok((vectors, values.to_f64_vec().into_iter().rev().collect()))
    }

    /// Number of directions for `transform`.
    fn components(&self, d: usize, m: usize) -> Result<usize> {
        let most = d.min(m - 1);
        match self.n_components {
            Some(count) if count > most => {
                let problem = format!("{count} components of {m} classes with {d} features; give at most {most}");
                Err(LearnError::parameter(Self::NAME, problem))
            }
            count => Ok(count.unwrap_or(most)),
        }
    }
}

#[cold]
fn singular(whose: &str) -> LearnError {
    let problem = format!("the covariance matrix {whose} is singular, so it has no inverse");
    let fix = "set `shrinkage`, use the solver svd, or leave out features that are constant or sums of others";
    LearnError::data(LinearDiscriminantAnalysis::NAME, problem, fix)
}

impl Algorithm for LinearDiscriminantAnalysis {
    type Fitted = FittedLinearDiscriminantAnalysis;
    const CAPABILITIES: Capabilities =
        Capabilities { probabilities: true, decision_function: true, transform: true, ..Capabilities::CLASSIFIER };

    fn capabilities_of(settings: &LinearDiscriminantAnalysis) -> Capabilities {
        Capabilities { transform: settings.solver != DiscriminantSolver::Lsqr, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedLinearDiscriminantAnalysis> {
        if self.solver == DiscriminantSolver::Svd && self.shrinkage.is_some() {
            let problem = "the solver svd does not support `shrinkage`; use lsqr or eigen";
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        let groups = Groups::of::<Self>(samples, self.priors.as_deref())?;
        let classes = groups.labels.classes();
        let (n, d, m) = (samples.len(), groups.d, classes.len());
        if n <= m {
            let problem = format!("there are {n} samples of {m} classes");
            return Err(LearnError::data(Self::NAME, problem, "give more samples than classes"));
        }
        let kept = self.components(d, m)?;
        let Found { mut parameters, directions, xbar, covariance } = match self.solver {
            DiscriminantSolver::Svd => self.by_singular_values(&groups, n)?,
            _ => self.by_covariance(&groups)?,
        };
        if parameters.iter().any(|value| !value.is_finite()) {
            return Err(too_large::<Self>());
        }
        if m == 2 {
            let (first, second) = parameters.split_at(d + 1);
            parameters = second.iter().zip(first).map(|(second, first)| second - first).collect();
        }
        let dtype = samples.x().dtype();
        let linear = Linear::from_parameters(&parameters, d, m, dtype)?;
        if [&linear.coef, &linear.intercept].iter().any(|t| t.to_f64_vec().iter().any(|value| !value.is_finite())) {
            return Err(too_large::<Self>());
        }
        let tensor = |values: Vec<f64>, shape: &[usize]| -> Result<Tensor> {
            Ok(Tensor::try_from_vec(values, shape.to_vec())?.to_dtype(dtype))
        };
        let (mut scalings, mut ratio, mut outputs) = (None, None, d);
        if let Some((directions, variances)) = directions {
            outputs = kept.min(directions.dims()[1]);
            let whole: f64 = variances.iter().sum();
            let share = |variance: &f64| if whole > 0.0 { variance / whole } else { 0.0 };
            ratio = Some(tensor(variances[..outputs].iter().map(share).collect(), &[outputs])?);
            scalings = Some(directions.try_narrow(1, 0, outputs)?.try_contiguous()?.to_dtype(dtype));
        }
        Ok(FittedLinearDiscriminantAnalysis {
            about: About::of(self, samples).classes(classes).outputs(outputs),
            linear,
            means: tensor(groups.means.clone(), &[m, d])?,
            priors: tensor(groups.priors.clone(), &[m])?,
            scalings,
            xbar: xbar.map(|xbar| tensor(xbar, &[d])).transpose()?,
            explained_variance_ratio: ratio,
            covariance: covariance.map(|matrix| tensor(matrix, &[d, d])).transpose()?,
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

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let Some(scalings) = &self.scalings else {
            let fix = "fit it again, with the solver svd or eigen";
            return Err(LearnError::unsupported(self.name(), "has no directions for `transform`", fix));
        };
        let x = x.dense(self.name())?;
        let centered = match &self.xbar {
            Some(xbar) => x.try_sub(&xbar.to_dtype(x.dtype()))?,
            None => x.clone(),
        };
        Ok(Rows::Dense(centered.try_matmul(&scalings.to_dtype(x.dtype()))?))
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.linear.coef)
    }
}
