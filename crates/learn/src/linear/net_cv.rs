//! Lasso and elastic net with the penalty chosen by cross-validation.
//!
//! For each `l1_ratio` ρ a logarithmic grid of penalties is used, from α_max = max |x_jᵀy| / (n ρ), the smallest that
//! makes all coefficients zero, down to `eps` α_max. A path over the grid is fitted to the training part of each fold.
//! The pair (ρ, α) with the smallest mean squared error over the folds is then fitted to all samples (Friedman, Hastie
//! and Tibshirani 2010). Folds are those of [`KFold`] without shuffling, as in scikit-learn.
//!
//! ```
//! use tove_learn::{Fit, linear::LassoCv};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([60, 4], DType::F64);
//! let y = &x.matmul(&Tensor::from([2.0, 0.0, 0.0, -1.0])) + &(&Key::new(2).normal([60], DType::F64) * 0.1);
//! let model = LassoCv::default().fit(&x, &y)?;
//! assert_eq!((model.alphas().dims(), model.mse_path().dims()), (&[100][..], &[100, 5][..]));
//! assert!((model.coef().at::<f64>(&[0]) - 2.0).abs() < 0.1);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::sync::{Mutex, PoisonError};

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps};

use super::alphas::Alphas;
use super::lasso::{ElasticNet, Precompute};
use super::model::{Extras, FittedLinear};
use super::spectrum::check_alphas;
use crate::kernel::over_tasks;
use crate::selection::{Fold, KFold, Splitter};
use crate::{Algorithm, Capabilities, Fitted, LearnError, Result, Rows, Samples};

/// The search over penalties.
///
/// ```
/// use tove_learn::linear::{ElasticNetCv, LassoCv};
/// assert_eq!(LassoCv::default().cv(3).search, ElasticNetCv::default().cv(3).search);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct NetSearch {
    /// Length of the path: ratio of the smallest to the largest penalty.
    #[hyper(default = 1e-3, range = "(0, 1)")]
    pub eps: f64,
    /// Number of penalties along the path; ignored if `alphas` are given.
    #[hyper(default = 100, range = "[1, inf)")]
    pub n_alphas: usize,
    /// The penalties to try; chosen automatically if `None`.
    #[hyper(default = None, range = "[0, inf)")]
    pub alphas: Option<Alphas>,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of passes over the coordinates.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// Stop at a duality gap of this fraction of ‖y‖².
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Number of folds.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
    /// Whether to use the Gram matrix.
    #[hyper(default = Precompute::Auto)]
    pub precompute: Precompute,
}

/// Lasso with the penalty chosen by cross-validation along a path.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "LassoCV")]
pub struct LassoCv {
    /// The search over penalties.
    #[hyper(flatten)]
    pub search: NetSearch,
}

/// Elastic net with penalty and `l1_ratio` chosen by cross-validation along paths.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "ElasticNetCV")]
pub struct ElasticNetCv {
    /// Fractions of ‖w‖₁ in the penalty to try; the remainder is ½‖w‖².
    #[hyper(default = vec![0.5], range = "[0, 1]")]
    pub l1_ratio: Vec<f64>,
    /// The search over penalties.
    #[hyper(flatten)]
    pub search: NetSearch,
}

/// What the cross-validation found.
#[derive(Clone, Debug, Fitted)]
pub struct NetChoice {
    alpha: f64,
    l1_ratio: f64,
    #[fitted(shape = "alphas | ratios, alphas", double)]
    alphas: Tensor,
    #[fitted(shape = "alphas, folds | ratios, alphas, folds", double)]
    mse_path: Tensor,
    dual_gap: f64,
}

impl Extras for NetChoice {}

/// A fitted [`LassoCv`].
pub type FittedLassoCv = FittedLinear<LassoCv, NetChoice>;
/// A fitted [`ElasticNetCv`].
pub type FittedElasticNetCv = FittedLinear<ElasticNetCv, NetChoice>;

impl<E: Algorithm> FittedLinear<E, NetChoice> {
    /// The selected penalty.
    pub fn alpha(&self) -> f64 {
        self.extras().alpha
    }

    /// The selected fraction of ‖w‖₁; 1 for the lasso.
    pub fn l1_ratio(&self) -> f64 {
        self.extras().l1_ratio
    }

    /// The penalties tried, descending: (a), or (r, a) for r > 1 values of `l1_ratio`.
    pub fn alphas(&self) -> &Tensor {
        &self.extras().alphas
    }

    /// Mean squared error of each penalty on each fold: (a, folds), or (r, a, folds).
    pub fn mse_path(&self) -> &Tensor {
        &self.extras().mse_path
    }

    /// The duality gap of the final fit.
    pub fn dual_gap(&self) -> f64 {
        self.extras().dual_gap
    }
}

// Folds depend on the order of the samples, and a sample of weight 2 is in one fold, while two copies may be in two.
const CAPABILITIES: Capabilities =
    Capabilities { weights: true, sparse: true, order_free: false, accuracy: 5e-2, ..Capabilities::REGRESSOR };

impl Algorithm for LassoCv {
    type Fitted = FittedLassoCv;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLassoCv> {
        self.search.fit(self, &[1.0], samples)
    }
}

impl Algorithm for ElasticNetCv {
    type Fitted = FittedElasticNetCv;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedElasticNetCv> {
        if self.l1_ratio.is_empty() {
            return Err(LearnError::parameter(Self::NAME, "no l1_ratio; give at least one"));
        }
        if self.search.alphas.is_none() && self.l1_ratio.contains(&0.0) {
            let problem =
                "automatic alpha grid generation is not supported for l1_ratio 0; give `alphas`, or choose RidgeCV";
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        self.search.fit(self, &self.l1_ratio, samples)
    }
}

/// One `l1_ratio` with its penalties.
struct Path {
    net: ElasticNet,
    alphas: Vec<f64>,
}

/// Mean squared errors of the penalties on the test part of a fold, and its weight.
type FoldErrors = (Vec<f64>, f64);

impl NetSearch {
    fn net(&self, l1_ratio: f64, alpha: f64) -> ElasticNet {
        let NetSearch { fit_intercept, max_iter, tol, positive, precompute, .. } = *self;
        ElasticNet { alpha, l1_ratio, fit_intercept, max_iter, tol, positive, precompute }
    }

    fn fit<E: Algorithm<Fitted = FittedLinear<E, NetChoice>>>(
        &self,
        estimator: &E,
        ratios: &[f64],
        samples: &Samples,
    ) -> Result<FittedLinear<E, NetChoice>> {
        samples.single_target(E::NAME)?;
        let paths = ratios.iter().map(|&ratio| self.path(E::NAME, ratio, samples)).collect::<Result<Vec<_>>>()?;
        let folds = KFold::new(self.cv).split(samples.y()?)?;
        let errors_by_fold = evaluate(E::NAME, &paths, &folds, samples)?;
        let count = paths[0].alphas.len();
        let error = |path: usize, index: usize| {
            let of = |fold: usize| &errors_by_fold[path * folds.len() + fold];
            let total: f64 = (0..folds.len()).map(|fold| of(fold).1).sum();
            (0..folds.len()).map(|fold| of(fold).1 / total * of(fold).0[index]).sum::<f64>()
        };
        let all = (0..paths.len()).flat_map(|path| (0..count).map(move |index| (path, index)));
        let best =
            all.fold((0, 0), |best, next| if error(next.0, next.1) < error(best.0, best.1) { next } else { best });
        let (l1_ratio, alpha) = (paths[best.0].net.l1_ratio, paths[best.0].alphas[best.1]);
        let (w, intercept, summary) = self.net(l1_ratio, alpha).solve(E::NAME, samples)?;
        let mut shape = vec![paths.len(), count, folds.len()];
        let at = |index: usize| {
            let (path, alpha, fold) = (index / folds.len() / count, index / folds.len() % count, index % folds.len());
            errors_by_fold[path * folds.len() + fold].0[alpha]
        };
        let mse: Vec<f64> = (0..shape.iter().product()).map(at).collect();
        if paths.len() == 1 {
            shape.remove(0);
        }
        let alphas: Vec<f64> = paths.iter().flat_map(|path| path.alphas.iter().copied()).collect();
        let alphas = Tensor::try_from_vec(alphas, shape[..shape.len() - 1].to_vec())?;
        let (mse_path, dual_gap) = (Tensor::try_from_vec(mse, shape)?, summary.residual.unwrap_or(0.0));
        let choice = NetChoice { alpha, l1_ratio, alphas, mse_path, dual_gap };
        FittedLinear::single(estimator, samples, (w, intercept), summary, choice)
    }

    fn path(&self, who: &'static str, ratio: f64, samples: &Samples) -> Result<Path> {
        let net = self.net(ratio, 1.0);
        let alphas = match &self.alphas {
            Some(given) => {
                check_alphas(who, given)?;
                let mut sorted = given.0.clone();
                sorted.sort_unstable_by(|a, b| b.total_cmp(a));
                sorted
            }
            None => net.grid(who, samples, self.n_alphas, self.eps)?,
        };
        Ok(Path { net, alphas })
    }
}

/// Evaluates all paths on all folds, path by path.
fn evaluate(who: &'static str, paths: &[Path], folds: &[Fold], samples: &Samples) -> Result<Vec<FoldErrors>> {
    let tasks = paths.len() * folds.len();
    let slots: Vec<Mutex<FoldErrors>> = (0..tasks).map(|_| Mutex::new((Vec::new(), 0.0))).collect();
    over_tasks(tasks, |task| {
        let (path, fold) = (&paths[task / folds.len()], &folds[task % folds.len()]);
        let errors_by_fold = errors(who, path, &samples.take(&fold.train)?, &samples.take(&fold.test)?)?;
        *slots[task].lock().unwrap_or_else(PoisonError::into_inner) = errors_by_fold;
        Ok(())
    })?;
    if tove_optim::interrupted() {
        return Err(LearnError::Interrupted { who });
    }
    Ok(slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

fn errors(who: &'static str, path: &Path, train: &Samples, test: &Samples) -> Result<FoldErrors> {
    train.require_some(who)?;
    let fitted = crate::quietly(|| path.net.path_of(who, train, &path.alphas))?;
    let coefs = fitted.coefs.try_t()?.try_contiguous()?; // (d, a)
    let predicted = match test.x().to_dtype(DType::F64) {
        Rows::Dense(x) => x.try_matmul(&coefs)?,
        Rows::Sparse(x) => x.dot(&coefs)?,
    };
    let (predicted, intercepts) = (predicted.to_f64_vec(), fitted.intercepts.to_f64_vec());
    let (y, count) = (test.single_target(who)?, path.alphas.len());
    let weights = test.weights().map(Tensor::to_f64_vec);
    let weight = |row: usize| weights.as_ref().map_or(1.0, |weights| weights[row]);
    let total: f64 = (0..y.len()).map(weight).sum();
    let mut errors = vec![0.0; count];
    if total > 0.0 {
        for (row, y) in y.iter().enumerate() {
            let normalized_weight = weight(row) / total;
            for ((error, predicted), b) in errors.iter_mut().zip(&predicted[row * count..]).zip(&intercepts) {
                *error += normalized_weight * (y - predicted - b).powi(2);
            }
        }
    }
    Ok((errors, total))
}
