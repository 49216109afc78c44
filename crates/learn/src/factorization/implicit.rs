//! Factorization of implicit feedback: counts of clicks, plays or purchases.
//!
//! min Σ c_ui (p_ui − w_uᵀz_i)² + λ (‖W‖² + ‖Z‖²) over *all* entries, with the preference p = 1 for a positive count and 0
//! otherwise, and the confidence c = 1 + α|r| (Hu, Koren and Volinsky, "Collaborative filtering for implicit feedback datasets", 2008).
//! A negative number is a dislike: preference 0 with the confidence of its size.
//!
//! The matrix of a user's system is G + Z_uᵀ(C − I)Z_u with G = ZᵀZ + λI in common. A user with n entries, fewer than there are
//! factors, needs a system of n unknowns only: with H = ZG⁻¹ and M = Z_uH_uᵀ the factors are H_uᵀ(t − (D⁻¹ + M)⁻¹Mt), D = C − I
//! and t = Cp (Woodbury's identity), so each step is exact, at less than the cost of a few conjugate gradient iterations.
//!
//! ```
//! use tove_learn::factorization::{ImplicitFactorization, recommend};
//! use tove_learn::{Csr, Fit};
//! use tove_tensor::Tensor;
//! // Two groups of users with tastes of their own.
//! let counts = Csr::from_dense(&Tensor::from([
//!     [5.0, 3.0, 0.0, 0.0], [4.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 6.0], [0.0, 0.0, 0.0, 3.0],
//! ]))?;
//! let model = ImplicitFactorization::default().n_components(2).fit(&counts, None)?;
//! let best = recommend(&model, &counts, 1, true)?;
//! assert_eq!((best[1][0].item, best[3][0].item), (1, 2));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor, TryLinalg, TryOps};

use super::observed::Observed;
use super::solve::{Scratch, add, dot, each_row};
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples, Stop, Summary};

/// Factorizes counts of implicit feedback by alternating least squares.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct ImplicitFactorization {
    /// Number of factors K.
    #[hyper(default = 64, range = "[1, inf)")]
    pub n_components: usize,
    /// Regularization strength λ. In the systems it is at least 10⁻¹⁰ of the mean square of a factor, summed over all rows, so that they
    /// stay regular.
    #[hyper(default = 0.1, range = "(0, inf)")]
    pub alpha: f64,
    /// How much a count of 1 adds to the confidence of 1.
    #[hyper(default = 40.0, range = "(0, inf)")]
    pub confidence: f64,
    /// Maximum number of iterations.
    #[hyper(default = 15, range = "[1, inf)")]
    pub max_iter: usize,
    /// The fit stops when the objective falls by less than this fraction.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Seed of the initial factors.
    #[hyper(default = 0)]
    pub seed: u64,
}

/// A fitted [`ImplicitFactorization`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = ImplicitFactorization)]
pub struct FittedImplicitFactorization {
    about: About,
    /// The items' factors, one item per column.
    #[fitted(shape = "outputs, features")]
    components: Tensor,
    /// The regularization strength, which new rows are fitted with too.
    alpha: f64,
    /// How much a count of 1 adds to the confidence.
    confidence: f64,
}

/// The least regularization, relative to the mean of the diagonal of ZᵀZ: a smaller one is lost in rounding, and the inverse with it.
const LEAST: f64 = 1e-10;

/// The fixed side of a half step.
struct Side {
    /// Z (rows, k).
    factors: Vec<f64>,
    /// H = ZG⁻¹ (rows, k).
    projected: Vec<f64>,
    /// G = ZᵀZ + λI (k, k).
    gram: Vec<f64>,
    k: usize,
    confidence: f64,
}

impl Side {
    fn of(factors: &[f64], k: usize, lambda: f64, confidence: f64) -> Result<Side> {
        let z = Tensor::try_from_vec(factors.to_vec(), [factors.len() / k, k])?;
        let squares = dot(factors, factors) / k as f64;
        let ridge = Tensor::eye(k, DType::F64) * lambda.max(LEAST * squares).max(f64::MIN_POSITIVE / f64::EPSILON);
        let gram = z.try_t()?.try_matmul(&z)?.try_add(&ridge)?;
        let projected = z.try_matmul(&gram.try_inverse()?)?.try_contiguous()?.to_f64_vec();
        Ok(Side { factors: factors.to_vec(), projected, gram: gram.try_contiguous()?.to_f64_vec(), k, confidence })
    }

    fn solve(&self, (columns, values): (&[u32], &[f64]), out: &mut [f64], scratch: &mut Scratch) {
        let k = self.k;
        let of = |numbers: &[f64], column: u32| -> std::ops::Range<usize> {
            debug_assert!(column as usize * k < numbers.len());
            column as usize * k..(column as usize + 1) * k
        };
        out.fill(0.0);
        let known = || columns.iter().copied().zip(values.iter().copied()).filter(|(_, value)| *value != 0.0);
        let (extra, target) = (
            |value: f64| self.confidence * value.abs(),
            |value: f64| if value > 0.0 { 1.0 + self.confidence * value } else { 0.0 },
        );
        let n = known().count();
        if n >= k {
            let matrix = scratch.system.start(k);
            matrix.copy_from_slice(&self.gram);
            for (column, value) in known() {
                let row = &self.factors[of(&self.factors, column)];
                for (i, &x) in row.iter().enumerate() {
                    add(&mut matrix[i * k..i * k + i + 1], extra(value) * x, &row[..i + 1]);
                }
                add(out, target(value), row);
            }
            scratch.system.solve(out);
            return;
        }
        let Scratch { system, vectors: products, right } = scratch;
        products.clear();
        products.resize(n * n, 0.0);
        for (i, (a, _)) in known().enumerate() {
            for (j, (b, _)) in known().enumerate() {
                products[i * n + j] = dot(&self.factors[of(&self.factors, a)], &self.projected[of(&self.projected, b)]);
            }
        }
        right.clear();
        right.extend(
            products
                .chunks_exact(n.max(1))
                .map(|row| row.iter().zip(known()).map(|(product, (_, value))| product * target(value)).sum::<f64>()),
        );
        let matrix = system.start(n);
        matrix.copy_from_slice(products);
        known().enumerate().for_each(|(i, (_, value))| matrix[i * n + i] += 1.0 / extra(value));
        system.solve(right);
        for ((column, value), correction) in known().zip(&*right) {
            add(out, target(value) - correction, &self.projected[of(&self.projected, column)]);
        }
    }

    /// All rows of one side for this one.
    fn solve_all(&self, observed: &Observed, out: &mut [f64]) {
        each_row(out, self.k, &|row, out, scratch| self.solve(observed.row(row), out, scratch));
    }
}

/// Σ c (p − ŵ)² + λ(‖W‖² + ‖Z‖²) over all entries: the squares of all predictions are tr(WᵀW ZᵀZ), observed entries correct them.
fn objective(
    observed: &Observed,
    users: &[f64],
    items: &[f64],
    k: usize,
    estimator: &ImplicitFactorization,
) -> Result<f64> {
    let gram = |factors: &[f64]| -> Result<Tensor> {
        let factors = Tensor::try_from_vec(factors.to_vec(), [factors.len() / k, k])?;
        Ok(factors.try_t()?.try_matmul(&factors)?)
    };
    let mut sum = gram(users)?.try_mul(&gram(items)?)?.sum().item::<f64>();
    for (user, item, value) in observed.entries() {
        let predicted = dot(&users[user * k..(user + 1) * k], &items[item * k..(item + 1) * k]);
        let (preference, confidence) = (f64::from(value > 0.0), 1.0 + estimator.confidence * value.abs());
        sum += confidence * (preference - predicted).powi(2) - predicted * predicted;
    }
    Ok(sum + estimator.alpha * (dot(users, users) + dot(items, items)))
}

impl Algorithm for ImplicitFactorization {
    type Fitted = FittedImplicitFactorization;
    const CAPABILITIES: Capabilities = Capabilities { zeros_missing: true, warm_start: true, ..super::CAPABILITIES };

    fn train(&self, samples: &Samples) -> Result<FittedImplicitFactorization> {
        self.run(samples, None)
    }

    /// Begins with the items' factors of the model; those of the users follow from them.
    fn train_from(
        &self,
        start: &FittedImplicitFactorization,
        samples: &Samples,
    ) -> Result<FittedImplicitFactorization> {
        crate::cluster::same_count(Self::NAME, self.n_components, start.outputs())?;
        self.run(samples, Some(start))
    }
}

impl ImplicitFactorization {
    fn run(
        &self,
        samples: &Samples,
        from: Option<&FittedImplicitFactorization>,
    ) -> Result<FittedImplicitFactorization> {
        let observed = Observed::of(Self::NAME, samples.x())?;
        if !observed.values().iter().any(|&value| value != 0.0) {
            let problem = "no count differs from zero";
            return Err(LearnError::data(Self::NAME, problem, "give at least one positive count"));
        }
        let (n, m, k) = (observed.len(), observed.width(), self.n_components);
        let (what, bytes) = ("factors of users and items", (n + m) as u64 * k as u64 * 24);
        crate::memory::require(Self::NAME, what, bytes, "lower `n_components`")?;
        let by_item = observed.transposed();
        let (mut users, mut items) = (
            vec![0.0; n * k],
            match from {
                Some(model) => model.item_factors()?,
                None => {
                    let drawn = Key::new(self.seed).try_normal([m, k], DType::F64)?.to_f64_vec();
                    drawn.iter().map(|x| x * 0.1 / (k as f64).sqrt()).collect()
                }
            },
        );
        let (mut curve, mut converged): (Vec<f64>, bool) = (Vec::new(), false);
        for _ in 0..self.max_iter {
            if tove_optim::interrupted() {
                break;
            }
            Side::of(&items, k, self.alpha, self.confidence)?.solve_all(&observed, &mut users);
            Side::of(&users, k, self.alpha, self.confidence)?.solve_all(&by_item, &mut items);
            let now = objective(&observed, &users, &items, k, self)?;
            if !now.is_finite() {
                return Err(LearnError::data(
                    Self::NAME,
                    "the counts overflow",
                    "scale the counts, or lower `confidence`",
                ));
            }
            converged = curve.last().is_some_and(|last| (last - now).abs() <= self.tol * last.abs());
            curve.push(now);
            if converged {
                break;
            }
        }
        let change = curve.windows(2).last().map_or(f64::NAN, |two| (two[0] - two[1]).abs());
        let Some(last) = curve.last().copied() else {
            return Err(LearnError::Interrupted { who: Self::NAME });
        };
        // A fixed number of iterations is the usual way to end; only an interruption is worth a warning.
        let mut summary = Summary { iterations: curve.len(), converged, ..Summary::default() };
        if curve.len() < self.max_iter && !converged {
            summary.warn(format!("{}: interrupted after {} iterations", Self::NAME, curve.len()));
        }
        (summary.residual, summary.objective) = (Some(change).filter(|change| change.is_finite()), Some(last));
        let stop = Stop::of(converged, curve.len() < self.max_iter);
        let summary = summary.ended(stop, curve);
        let components = Tensor::try_from_vec(items, [m, k])?.try_t()?.try_contiguous()?;
        Ok(FittedImplicitFactorization {
            about: About::of(self, samples).outputs(k).summary(summary),
            components: components.to_dtype(samples.x().dtype()),
            alpha: self.alpha,
            confidence: self.confidence,
        })
    }
}

impl FittedImplicitFactorization {
    /// The items' factors, one item per row.
    fn item_factors(&self) -> Result<Vec<f64>> {
        Ok(self.components.to_dtype(DType::F64).try_t()?.try_contiguous()?.to_f64_vec())
    }
}

impl Model for FittedImplicitFactorization {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let (observed, k) = (Observed::of(self.name(), x)?, self.outputs());
        let items = self.item_factors()?;
        let mut users = vec![0.0; observed.len() * k];
        Side::of(&items, k, self.alpha, self.confidence)?.solve_all(&observed, &mut users);
        Ok(Rows::Dense(Tensor::try_from_vec(users, [observed.len(), k])?.to_dtype(x.dtype())))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        Ok(Rows::Dense(x.try_matmul(&self.components.to_dtype(x.dtype()))?))
    }
}
