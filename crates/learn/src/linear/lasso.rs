//! Lasso and elastic net: (1/2n) ‖y − Xw‖² + α ρ ‖w‖₁ + (α/2)(1 − ρ) ‖w‖², with ρ = `l1_ratio` (1 for the lasso).
//!
//! The l1 penalty makes coefficients exactly zero: for orthonormal columns w_j is the soft threshold of x_jᵀy/n at α.
//! Coordinate descent (`descent.rs`) uses the Gram matrix when there are more samples than features, which takes one
//! pass over X for any number of penalties, and residuals otherwise, for dense rows with a growing working set of
//! columns (`working_set.rs`). It stops at a duality gap of `tol` ‖y‖², like scikit-learn, so the objective is within
//! that distance of the minimum.
//!
//! ```
//! use tove_learn::{Fit, linear::Lasso};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]);
//! let y = Tensor::from([3.1, 2.9, -2.9, -3.1]); // 3 x₀ + 0.1 x₁
//! let model = Lasso::default().alpha(0.5).fit(&x, &y)?;
//! assert!((model.coef().at::<f64>(&[0]) - 2.5).abs() < 1e-12 && model.coef().at::<f64>(&[1]) == 0.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps};

use super::columns::Columns;
use super::descent::{FromGram, Net, Outcome, Products};
use super::fold_moments::LinearMoments;
use super::model::FittedLinear;
use super::moments::{Data, Moments};
use super::solve::{Solution, prefers_iterations};
use super::working_set::Working;
use crate::{Algorithm, Capabilities, LearnError, Result, Rows, Samples, Summary};

/// Whether coordinate descent uses the Gram matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Precompute {
    /// If there are at least as many samples as features.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: uses residuals.
    Never,
}

/// Linear regression with an l1 penalty α‖w‖₁, which selects features. Multiple outputs are fitted independently.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Lasso {
    /// Regularization strength, relative to half the mean squared error.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of passes over the coordinates.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop at a duality gap of this fraction of ‖y‖².
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
    /// Whether to use the Gram matrix.
    #[hyper(default = Precompute::Auto)]
    pub precompute: Precompute,
}

/// Linear regression with a combination of the penalties of [`Lasso`] and [`Ridge`](super::Ridge).
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct ElasticNet {
    /// Regularization strength, relative to half the mean squared error.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Fraction of ‖w‖₁ in the penalty; the remainder is ½‖w‖².
    #[hyper(default = 0.5, range = "[0, 1]")]
    pub l1_ratio: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of passes over the coordinates.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop at a duality gap of this fraction of ‖y‖².
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
    /// Whether to use the Gram matrix.
    #[hyper(default = Precompute::Auto)]
    pub precompute: Precompute,
}

/// A fitted [`Lasso`].
pub type FittedLasso = FittedLinear<Lasso>;
/// A fitted [`ElasticNet`].
pub type FittedElasticNet = FittedLinear<ElasticNet>;

/// Coefficients along a regularization path.
#[derive(Clone, Debug)]
pub struct NetPath {
    /// The regularization strengths, descending.
    pub alphas: Vec<f64>,
    /// Coefficients (a, d).
    pub coefs: Tensor,
    /// Intercepts (a).
    pub intercepts: Tensor,
    /// Duality gaps, relative to half the mean squared error.
    pub gaps: Vec<f64>,
    /// Number of passes for each.
    pub iterations: Vec<usize>,
}

impl From<&Lasso> for ElasticNet {
    fn from(lasso: &Lasso) -> ElasticNet {
        let Lasso { alpha, fit_intercept, max_iter, tol, positive, precompute } = lasso.clone();
        ElasticNet { alpha, l1_ratio: 1.0, fit_intercept, max_iter, tol, positive, precompute }
    }
}

const CAPABILITIES: Capabilities = Capabilities {
    weights: true,
    sparse: true,
    multi_output: true,
    warm_start: true,
    moments: true,
    accuracy: 1e-2,
    ..Capabilities::REGRESSOR
};

impl Algorithm for Lasso {
    type Fitted = FittedLasso;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLasso> {
        let (solution, summary) = ElasticNet::from(self).solve_all(Self::NAME, samples, None)?;
        FittedLinear::new(self, samples, &solution, summary, ())
    }

    fn train_from(&self, start: &FittedLasso, samples: &Samples) -> Result<FittedLasso> {
        let (solution, summary) = ElasticNet::from(self).solve_all(Self::NAME, samples, Some(start.coef()))?;
        FittedLinear::new(self, samples, &solution, summary, ())
    }

    fn train_moments(&self, moments: &LinearMoments) -> Result<Option<FittedLasso>> {
        let Some((solution, summary)) = ElasticNet::from(self).solve_moments(Self::NAME, moments)? else {
            return Ok(None);
        };
        FittedLinear::of_shape(self, &solution, moments.shape, summary, ()).map(Some)
    }
}

impl Algorithm for ElasticNet {
    type Fitted = FittedElasticNet;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedElasticNet> {
        let (solution, summary) = self.solve_all(Self::NAME, samples, None)?;
        FittedLinear::new(self, samples, &solution, summary, ())
    }

    fn train_from(&self, start: &FittedElasticNet, samples: &Samples) -> Result<FittedElasticNet> {
        let (solution, summary) = self.solve_all(Self::NAME, samples, Some(start.coef()))?;
        FittedLinear::new(self, samples, &solution, summary, ())
    }

    fn train_moments(&self, moments: &LinearMoments) -> Result<Option<FittedElasticNet>> {
        let Some((solution, summary)) = self.solve_moments(Self::NAME, moments)? else { return Ok(None) };
        FittedLinear::of_shape(self, &solution, moments.shape, summary, ()).map(Some)
    }
}

impl Lasso {
    /// Computes coefficients for `count` penalties, from the smallest that makes all coefficients zero down to `eps`
    /// times that.
    ///
    /// ```
    /// use tove_learn::linear::Lasso;
    /// use tove_tensor::{DType, Key};
    /// let (x, y) = (Key::new(1).normal([30, 4], DType::F64), Key::new(2).normal([30], DType::F64));
    /// let path = Lasso::default().path(&x, &y, 100, 1e-3)?;
    /// assert_eq!((path.coefs.dims(), path.gaps.len()), (&[100, 4][..], 100));
    /// assert!(path.coefs.narrow(0, 0, 1).to_vec::<f64>().iter().all(|w| w.abs() < 1e-12));
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    pub fn path(&self, x: impl Into<Rows>, y: &Tensor, count: usize, eps: f64) -> Result<NetPath> {
        ElasticNet::from(self).path(x, y, count, eps)
    }

    /// Computes coefficients for these penalties, with warm starts.
    pub fn path_for(&self, x: impl Into<Rows>, y: &Tensor, alphas: &[f64]) -> Result<NetPath> {
        ElasticNet::from(self).path_for(x, y, alphas)
    }
}

impl ElasticNet {
    /// Computes coefficients for `count` penalties, from the smallest that makes all coefficients zero down to `eps`
    /// times that.
    pub fn path(&self, x: impl Into<Rows>, y: &Tensor, count: usize, eps: f64) -> Result<NetPath> {
        self.validate()?;
        if !(eps > 0.0 && eps < 1.0) || count == 0 || self.l1_ratio == 0.0 {
            let problem = format!(
                "{count} penalties down to eps {eps} with l1_ratio {}; give at least one, an eps between 0 and 1, and an \
                 l1_ratio above 0 (or your own alphas with `path_for`)",
                self.l1_ratio
            );
            return Err(LearnError::parameter("ElasticNet::path", problem));
        }
        let samples = Samples::new(x, y)?;
        let alphas = self.grid("ElasticNet", &samples, count, eps)?;
        self.with_solver("ElasticNet", &samples, |solver| solver.path(self, &alphas, samples.x().dtype()))
    }

    /// A logarithmic grid of penalties, from the smallest that makes all coefficients zero down to `eps` times that.
    pub(super) fn grid(&self, who: &'static str, samples: &Samples, count: usize, eps: f64) -> Result<Vec<f64>> {
        self.with_solver(who, samples, |solver| {
            let first = solver.steepest(self.positive)?.max(f64::MIN_POSITIVE) / (solver.weight * self.l1_ratio);
            let step = |index: usize| if count == 1 { 0.0 } else { index as f64 / (count - 1) as f64 };
            Ok((0..count).map(|index| first * eps.powf(step(index))).collect())
        })
    }

    /// Computes coefficients in double precision for descending penalties, with warm starts.
    pub(super) fn path_of(&self, who: &'static str, samples: &Samples, alphas: &[f64]) -> Result<NetPath> {
        self.with_solver(who, samples, |solver| solver.path(self, alphas, DType::F64))
    }

    /// Computes coefficients for these penalties, with warm starts.
    pub fn path_for(&self, x: impl Into<Rows>, y: &Tensor, alphas: &[f64]) -> Result<NetPath> {
        self.validate()?;
        super::spectrum::check_alphas("ElasticNet::path_for", alphas)?;
        let samples = Samples::new(x, y)?;
        self.with_solver("ElasticNet", &samples, |solver| solver.path(self, alphas, samples.x().dtype()))
    }

    pub(super) fn solve(&self, who: &'static str, samples: &Samples) -> Result<(Vec<f64>, f64, Summary)> {
        self.solve_from(who, samples, None)
    }

    fn solve_from(
        &self,
        who: &'static str,
        samples: &Samples,
        start: Option<&[f64]>,
    ) -> Result<(Vec<f64>, f64, Summary)> {
        self.with_solver(who, samples, |solver| {
            if let Some(start) = start {
                // Coefficients of a model without the constraint may be negative.
                let allowed = |w: &f64| if self.positive { w.max(0.0) } else { *w };
                solver.w = start.iter().map(allowed).collect();
            }
            self.solved(who, solver)
        })
    }

    fn solved(&self, who: &'static str, solver: &mut Solver) -> Result<(Vec<f64>, f64, Summary)> {
        let Outcome { iterations, converged, gap, objective } = solver.run(self, self.alpha)?;
        let weight = solver.weight;
        let summary = Summary::iterative(who, iterations, converged, gap / weight, objective / weight);
        Ok((solver.w.clone(), solver.intercept(), summary))
    }

    /// Fits one output to moments, unless the Gram matrix is not to be used.
    fn solve_moments(&self, who: &'static str, moments: &LinearMoments) -> Result<Option<(Solution, Summary)>> {
        if self.precompute == Precompute::Never || moments.moments.outputs != 1 {
            return Ok(None);
        }
        let (w, intercept, summary) =
            self.with_gram(&moments.centered(self.fit_intercept), |solver| self.solved(who, solver))?;
        let rank = w.len();
        let solution =
            Solution { coefficients: w, intercepts: vec![intercept], rank, condition: 1.0, covariance: None };
        Ok(Some((solution, summary)))
    }

    fn with_gram<R>(&self, moments: &Moments, then: impl FnOnce(&mut Solver) -> Result<R>) -> Result<R> {
        let products = FromGram::new(&moments.gram, &moments.cross, moments.squares[0]);
        let (mean_x, mean_y, w) = (&moments.mean_x[..], moments.mean_y[0], vec![0.0; moments.width]);
        then(&mut Solver { kind: Kind::Gram(products), w, weight: moments.weight, mean_x, mean_y })
    }

    /// Fits each output independently, like scikit-learn's `Lasso`.
    fn solve_all(&self, who: &'static str, samples: &Samples, start: Option<&Tensor>) -> Result<(Solution, Summary)> {
        let start = start.map(Tensor::to_f64_vec);
        let (d, m) = (samples.width(), samples.y()?.dims().get(1).copied().unwrap_or(1));
        if let Some(found) = start.as_ref().map(|start| start.len() / d).filter(|found| *found != m) {
            let problem = format!("{m} outputs, and the model to continue from has {found}; fit from the start");
            return Err(LearnError::parameter(who, problem));
        }
        let (mut coefficients, mut intercepts, mut all) = (vec![0.0; d * m], Vec::new(), Vec::new());
        for output in 0..m {
            let own = match m {
                1 => samples.clone(),
                _ => samples.with_y(&samples.y()?.try_narrow(1, output, 1)?.try_contiguous()?)?,
            };
            let (w, intercept, summary) =
                self.solve_from(who, &own, start.as_ref().map(|start| &start[output * d..(output + 1) * d]))?;
            w.into_iter().enumerate().for_each(|(j, w)| coefficients[j * m + output] = w);
            intercepts.push(intercept);
            all.push(summary);
        }
        let rank = d;
        let solution = Solution { coefficients, intercepts, rank, condition: 1.0, covariance: None };
        Ok((solution, joined(all)))
    }

    fn with_solver<R>(
        &self,
        who: &'static str,
        samples: &Samples,
        then: impl FnOnce(&mut Solver) -> Result<R>,
    ) -> Result<R> {
        let data = Data::single(who, samples)?;
        let (weight, d) = (data.total_weight(), data.width());
        let gram = match self.precompute {
            Precompute::Auto => d <= data.len() && !prefers_iterations(data.x),
            Precompute::Always => true,
            Precompute::Never => false,
        };
        if gram {
            return self.with_gram(&Moments::of(&data, self.fit_intercept)?, then);
        }
        let (kind, mean_x, mean_y) = match data.x {
            Rows::Dense(x) => {
                let working = Working::of(who, &data, x, self.fit_intercept)?;
                let (mean_x, mean_y) = (working.mean_x.clone(), working.mean_y);
                (Kind::Working(working), mean_x, mean_y)
            }
            Rows::Sparse(x) => {
                let columns = Columns::of(&data, x, self.fit_intercept)?;
                let (mean_x, mean_y) = (columns.mean_x.clone(), columns.mean_y);
                (Kind::Columns(columns), mean_x, mean_y)
            }
        };
        then(&mut Solver { kind, w: vec![0.0; d], weight, mean_x: &mean_x, mean_y })
    }
}

/// Combines the summaries of several outputs.
fn joined(summaries: Vec<Summary>) -> Summary {
    let mut all = Summary::exact();
    for summary in summaries {
        all.iterations = all.iterations.max(summary.iterations);
        all.converged &= summary.converged;
        all.residual = summary.residual.map(|residual| residual.max(all.residual.unwrap_or(0.0)));
        all.objective = summary.objective.map(|objective| objective + all.objective.unwrap_or(0.0));
        all.warnings.extend(summary.warnings);
    }
    all
}

enum Kind<'a> {
    Gram(FromGram<'a>),
    /// Dense rows.
    Working(Working<'a>),
    /// Sparse rows.
    Columns(Columns),
}

/// Coordinate descent with its current w.
struct Solver<'a> {
    kind: Kind<'a>,
    w: Vec<f64>,
    weight: f64,
    mean_x: &'a [f64],
    mean_y: f64,
}

impl Solver<'_> {
    fn run(&mut self, settings: &ElasticNet, alpha: f64) -> Result<Outcome> {
        let net = Net {
            l1: alpha * settings.l1_ratio * self.weight,
            l2: alpha * (1.0 - settings.l1_ratio) * self.weight,
            tol: settings.tol,
            max_iter: settings.max_iter,
            positive: settings.positive,
        };
        match &mut self.kind {
            Kind::Gram(products) => Ok(net.descend(products, &mut self.w)),
            Kind::Working(working) => working.descend(&net, &mut self.w),
            Kind::Columns(products) => Ok(net.descend(products, &mut self.w)),
        }
    }

    /// max |x_jᵀy| (or max x_jᵀy) at w = 0.
    fn steepest(&self, positive: bool) -> Result<f64> {
        match &self.kind {
            Kind::Gram(products) => {
                let sizes = (0..products.width()).map(|j| products.product(j));
                Ok(sizes.map(|p| if positive { p } else { p.abs() }).fold(0.0, f64::max))
            }
            Kind::Working(working) => working.steepest(positive),
            Kind::Columns(products) => Ok(products.steepest(positive)),
        }
    }

    fn intercept(&self) -> f64 {
        self.mean_y - self.mean_x.iter().zip(&self.w).map(|(mean, w)| mean * w).sum::<f64>()
    }

    fn path(&mut self, settings: &ElasticNet, alphas: &[f64], dtype: DType) -> Result<NetPath> {
        let mut order = alphas.to_vec();
        order.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut coefs, mut intercepts) = (Vec::new(), Vec::new());
        let (mut gaps, mut iterations) = (Vec::new(), Vec::new());
        for &alpha in &order {
            let outcome = self.run(settings, alpha)?;
            if !outcome.converged {
                let (rounds, gap) = (outcome.iterations, outcome.gap / self.weight);
                crate::warn(&format!(
                    "ElasticNet::path: not converged at alpha {alpha:.3e} after {rounds} iterations (gap {gap:.3e}); raise `max_iter`"
                ));
            }
            coefs.extend_from_slice(&self.w);
            intercepts.push(self.intercept());
            gaps.push(outcome.gap / self.weight);
            iterations.push(outcome.iterations);
        }
        let (count, d) = (order.len(), self.w.len());
        let coefs = Tensor::try_from_vec(coefs, [count, d])?.to_dtype(dtype);
        let intercepts = Tensor::from_slice(&intercepts).to_dtype(dtype);
        Ok(NetPath { alphas: order, coefs, intercepts, gaps, iterations })
    }
}
