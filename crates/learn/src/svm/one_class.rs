//! Novelty detection: estimates the region that contains most samples (Schölkopf, Platt, Shawe-Taylor, Smola and
//! Williamson 2001).
//!
//! min ½ αᵀKα subject to 0 ≤ αᵢ ≤ sᵢ and Σα = ν Σs, for sample weights s. A row is an inlier if f(x) = Σ αᵢ k(x, xᵢ) −
//! ρ is positive; ν is an upper bound on the fraction of training outliers and a lower bound on the fraction of support
//! vectors. With α = α₀ + β for a feasible start α₀, β solves the same problem as SMO for classification: Σβ = 0 and
//! the linear term −Kα₀.
//!
//! ```
//! use tove_learn::{Fit, Gamma, OneClassSvm, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.44], [0.45], [0.46], [1.0]]);
//! let model = OneClassSvm::default().gamma(Gamma::Auto).fit(&x, None)?;
//! assert_eq!(model.predict(&Tensor::from([[0.0], [0.45], [1.0]]))?.to_vec::<i64>(), [-1, 1, -1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::rows::KernelRows;
use super::settings::{KernelSettings, SolverSettings, kernel_settings_setters, solver_settings_setters};
use super::smo::{Problem, Solution, solve};
use super::smo_nu::distribute;
use crate::kernel::{Expansion, Features, Gamma, KernelFunction, KernelKind};
use crate::{About, Algorithm, Attributes, Capabilities, Fitted, LearnError, Model, Record, Result, Rows, Samples};

/// Unsupervised outlier detection: estimates the support of a high-dimensional distribution.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "OneClassSVM")]
pub struct OneClassSvm {
    /// Upper bound on the fraction of training errors, and lower bound on the fraction of support vectors.
    #[hyper(default = 0.5, range = "(0, 1]")]
    pub nu: f64,
    /// The kernel and its parameters.
    #[hyper(flatten)]
    pub kernel: KernelSettings,
    /// Stop when the violation of the optimality conditions is below this.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Hyperparameters of the solver.
    #[hyper(flatten)]
    pub solver: SolverSettings,
}

/// A fitted [`OneClassSvm`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = OneClassSvm, complete = FittedOneClassSvm::matched, attributes = FittedOneClassSvm::dual)]
pub struct FittedOneClassSvm {
    about: About,
    /// Coefficients (support vectors, 1).
    #[fitted(flatten)]
    expansion: Expansion,
    /// ρ, which turns raw scores into decision values: `decision_function` = `score_samples` − `offset`.
    offset: f64,
    /// Places of the support vectors among the samples.
    #[fitted(shape = "support")]
    support: Vec<i64>,
}

impl FittedOneClassSvm {
    /// The support vectors, (s, d), sparse where the samples were.
    pub fn support_vectors(&self) -> &Rows {
        self.expansion.points()
    }

    /// Coefficients of the support vectors, (1, s).
    pub fn dual_coef(&self) -> Tensor {
        self.expansion.coefficients().reshape([1, self.support.len()])
    }

    fn matched(self, record: &Record) -> Result<FittedOneClassSvm> {
        self.expansion.require_rows(record, self.support.len(), 1)?;
        Ok(self)
    }

    fn dual(&self) -> Attributes {
        let mut all = self.expansion.named_points("support_vectors");
        all.extend([("dual_coef", self.dual_coef()), ("intercept", Tensor::from([-self.offset]))]);
        all
    }

    /// The kernel with its parameters.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    /// Σ α k(x, xᵢ) of each row.
    fn scores(&self, x: &Rows) -> Result<Vec<f64>> {
        Ok(self.expansion.at(x)?.to_f64_vec())
    }

    fn decisions(&self, x: &Rows) -> Result<Vec<f64>> {
        let values: Vec<f64> = self.scores(x)?.iter().map(|score| score - self.offset).collect();
        match values.iter().position(|value| !value.is_finite()) {
            Some(row) => Err(crate::logistic::linear::undecided(self.name(), row)),
            None => Ok(values),
        }
    }
}

impl OneClassSvm {
    /// Computes α and ρ for the samples at these indices.
    fn solve(&self, features: &Features, indices: &[usize], bounds: &[f64]) -> Result<Solution> {
        let n = indices.len();
        let start = distribute(self.nu * bounds.iter().sum::<f64>(), bounds);
        let mut rows = KernelRows::new(features, indices, (self.solver.cache_size * 1e6) as usize)?;
        let sums = rows.sums(&(0..n).collect::<Vec<_>>(), &start)?;
        let problem = Problem {
            target: sums.iter().map(|sum| -sum).collect(),
            low: start.iter().map(|start| -start).collect(),
            high: bounds.iter().zip(&start).map(|(bound, start)| bound - start).collect(),
            epsilon: 0.0,
            tolerance: self.tol,
            limit: self.solver.max_iter.unwrap_or(10_000_000.max(100 * n)),
            shrinking: self.solver.shrinking,
        };
        let mut solution = solve(&problem, &mut rows)?;
        for (index, beta) in solution.beta.iter_mut().enumerate() {
            // Exactly at the bounds, so that only support vectors are kept.
            *beta = match *beta {
                b if b <= problem.low[index] => 0.0,
                b if b >= problem.high[index] => bounds[index],
                b => b + start[index],
            };
        }
        Ok(solution)
    }
}

impl Algorithm for OneClassSvm {
    type Fitted = FittedOneClassSvm;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        decision_function: true,
        score_samples: true,
        accuracy: 5e-3,
        ..Capabilities::CLUSTERER
    };

    fn train(&self, samples: &Samples) -> Result<FittedOneClassSvm> {
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let indices: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] > 0.0).collect();
        let bounds: Vec<f64> = indices.iter().map(|&index| weights[index]).collect();
        let features = Features::new(samples.x(), self.kernel.function(samples)?)?;
        let solution = self.solve(&features, &indices, &bounds)?;
        solution.require_finite(Self::NAME)?;
        let summary = super::classifier::summary(Self::NAME, std::slice::from_ref(&solution));
        let kept: Vec<usize> = (0..indices.len()).filter(|&i| solution.beta[i] != 0.0).collect();
        if kept.is_empty() {
            let problem = "nu times the sum of the weights is below rounding, so there are no support vectors";
            return Err(LearnError::data(Self::NAME, problem, "choose a larger `nu`, or scale the weights"));
        }
        let support: Vec<usize> = kept.iter().map(|&i| indices[i]).collect();
        let alpha: Vec<f64> = kept.iter().map(|&i| solution.beta[i]).collect();
        Ok(FittedOneClassSvm {
            about: About::of(self, samples).summary(summary),
            expansion: Expansion::of(&features, &support, &Tensor::try_from_vec(alpha, [kept.len(), 1])?)?,
            offset: -solution.bias,
            support: support.iter().map(|&index| index as i64).collect(),
        })
    }
}

impl Model for FittedOneClassSvm {
    crate::fitted_methods!();

    /// 1 for inliers, −1 for outliers.
    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let sides = self.decisions(x)?.into_iter().map(|value| if value > 0.0 { 1i64 } else { -1 });
        Ok(Tensor::from_slice(&sides.collect::<Vec<_>>()))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.decisions(x)?).to_dtype(self.dtype()))
    }

    fn score_rows(&self, x: &Rows) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.scores(x)?).to_dtype(self.dtype()))
    }
}
