//! Factorization of ratings: x ≈ μ + b + c + W Zᵀ over the observed entries only.
//!
//! min ½ Σ (x_ui − μ − b_u − c_i − w_uᵀz_i)² + ½ α (‖W‖² + ‖Z‖²) + ½ β (‖b‖² + ‖c‖²), the sum over observed entries, with μ
//! their mean.
//! The problem is not convex in all factors together, but a ridge regression in those of the users alone and in those of the items
//! alone: alternating least squares solves one K × K system per row and per column (Zhou, Wilkinson, Schreiber and Pan 2008), and
//! the objective never increases. Stochastic gradient descent takes a step of cost O(K) per entry (Funk 2006; Koren, Bell and
//! Volinsky 2009). Both are deterministic for any number of threads.
//!
//! ```
//! use tove_learn::factorization::MatrixFactorization;
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! // Ratings of rank one, one of them unknown.
//! let x = Tensor::from([[1.0, 2.0, 3.0], [2.0, 4.0, f64::NAN], [3.0, 6.0, 9.0]]);
//! let estimator = MatrixFactorization::default().n_components(1).biases(false).alpha(1e-6).max_iter(200);
//! let model = estimator.fit(&x, None)?;
//! let filled = model.inverse_transform(&model.transform(&x)?)?;
//! assert!((filled.at::<f64>(&[1, 2]) - 6.0).abs() < 1e-3);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::ops::{AddAssign, Mul, Sub};

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor, TryOps};

use super::factors::{Factors, moments};
use super::observed::Observed;
use super::solve::{Scratch, add, each_row, ridge};
use crate::{
    About, Algorithm, AnyLearner, Capabilities, Fitted, LearnError, Model, Record, Result, Rows, Samples, Stop, Summary,
};

/// How factors are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum FactorizationSolver {
    /// Alternating least squares.
    #[default]
    Als,
    /// Stochastic gradient descent.
    Sgd,
}

/// Factorizes a matrix of ratings with missing entries.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct MatrixFactorization {
    /// Number of factors K.
    #[hyper(default = 10, range = "[1, inf)")]
    pub n_components: usize,
    /// Regularization strength α of the factors.
    #[hyper(default = 10.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Regularization strength β of the biases.
    #[hyper(default = 2.0, range = "[0, inf)")]
    pub alpha_bias: f64,
    /// Whether the mean and biases of users and items are fitted.
    #[hyper(default = true)]
    pub biases: bool,
    /// Alternating least squares or stochastic gradient descent.
    #[hyper(default = FactorizationSolver::Als)]
    pub solver: FactorizationSolver,
    /// Step size of stochastic gradient descent.
    #[hyper(default = 0.01, range = "[0, inf)")]
    pub learning_rate: f64,
    /// Passes over the entries at most.
    #[hyper(default = 50, range = "[1, inf)")]
    pub max_iter: usize,
    /// The fit stops when the objective falls by less than this fraction.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Seed of the initial factors and of the order of the entries.
    #[hyper(default = 0)]
    pub seed: u64,
}

/// A fitted [`MatrixFactorization`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = MatrixFactorization, complete = FittedMatrixFactorization::matched)]
pub struct FittedMatrixFactorization {
    about: About,
    /// The items' factors, one item per column; with biases the last row is ones, the factor of the users' biases.
    #[fitted(shape = "outputs, features")]
    components: Tensor,
    /// The items' biases with the mean.
    #[fitted(shape = "features")]
    intercept: Tensor,
    /// The regularization strength, which new rows are fitted with too.
    alpha: f64,
    /// The regularization strength of biases.
    alpha_bias: f64,
    /// Number of factors, without biases.
    #[fitted(hidden)]
    n_components: usize,
}

impl Factors {
    /// One pass of stochastic gradient descent over the entries in this order. The penalty of a row is shared among its entries, so
    /// that the steps of a pass add up to the gradient of the objective.
    fn descend(&mut self, entries: &[(u32, u32, f64)], counts: &(Vec<f64>, Vec<f64>), order: &[i64], rate: f64) {
        let (k, width, [alpha, beta]) = (self.k, self.width, self.alpha);
        for &at in order {
            let (user, item, value) = entries[at as usize];
            let error = value - self.predicted(user as usize, item as usize);
            let w = &mut self.users[user as usize * width..][..width];
            let z = &mut self.items[item as usize * width..][..width];
            let [of_user, of_item] = [1.0 / counts.0[user as usize], 1.0 / counts.1[item as usize]];
            sgd_step(&mut w[..k], &mut z[..k], error, rate, [alpha * of_user, alpha * of_item]);
            w[k..].iter_mut().for_each(|bias| *bias += rate * (error - beta * of_user * *bias));
            z[k..].iter_mut().for_each(|bias| *bias += rate * (error - beta * of_item * *bias));
        }
    }
}

/// One step of stochastic gradient descent for an entry whose prediction misses it by `error`:
/// w ← w + γ (e z − λ_w w) and z ← z + γ (e w − λ_z z), both from the old values. It costs O(K), whatever the size of the matrix.
///
/// ```
/// use tove_learn::factorization::sgd_step;
/// let (mut w, mut z) = ([1.0, 0.0], [2.0, 1.0]);
/// sgd_step(&mut w, &mut z, 0.5, 0.1, [0.0, 0.0]);
/// assert_eq!((w, z), ([1.1, 0.05], [2.05, 1.0]));
/// ```
///
/// The numbers may be of any type that adds, subtracts and multiplies.
///
/// # Panics
/// If the factors have different lengths.
pub fn sgd_step<T: Copy + AddAssign + Sub<Output = T> + Mul<Output = T>>(
    w: &mut [T],
    z: &mut [T],
    error: T,
    rate: T,
    [lambda_w, lambda_z]: [T; 2],
) {
    assert_eq!(w.len(), z.len(), "factors of a user and an item have the same length");
    for (w, z) in w.iter_mut().zip(z) {
        let old = *w;
        *w += rate * (error * *z - lambda_w * *w);
        *z += rate * (error * old - lambda_z * *z);
    }
}

impl Algorithm for MatrixFactorization {
    type Fitted = FittedMatrixFactorization;
    const CAPABILITIES: Capabilities = Capabilities { warm_start: true, passes: true, ..super::CAPABILITIES };

    fn train(&self, samples: &Samples) -> Result<FittedMatrixFactorization> {
        self.run(samples, None)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    /// Begins with the items' factors of the model; those of the users follow from them.
    fn train_from(&self, start: &FittedMatrixFactorization, samples: &Samples) -> Result<FittedMatrixFactorization> {
        crate::cluster::same_count(Self::NAME, self.n_components, start.n_components)?;
        if start.outputs() != self.n_components + usize::from(self.biases) {
            let problem =
                "`biases` differs from that of the model to continue from; set it alike, or fit from the start";
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        self.run(samples, Some(start))
    }
}

impl MatrixFactorization {
    fn run(&self, samples: &Samples, from: Option<&FittedMatrixFactorization>) -> Result<FittedMatrixFactorization> {
        let observed = Observed::of(Self::NAME, samples.x())?;
        if observed.values().is_empty() {
            return Err(no_entry());
        }
        let mut factors = Factors::start(self, (observed.len(), observed.width()), moments(&observed, self.biases))?;
        if let Some(model) = from {
            factors.adopt(model, &observed);
        }
        let by_item = observed.transposed();
        let entries: Vec<(u32, u32, f64)> = match self.solver {
            FactorizationSolver::Als => Vec::new(),
            FactorizationSolver::Sgd => observed.entries().map(|(u, i, value)| (u as u32, i as u32, value)).collect(),
        };
        let count = |side: &Observed| (0..side.len()).map(|row| side.row(row).0.len() as f64).collect::<Vec<f64>>();
        let counts = (count(&observed), count(&by_item));
        let start = factors.objective(&observed);
        let (mut curve, mut converged, mut last) = (Vec::new(), false, start);
        for iteration in 0..self.max_iter {
            if tove_optim::interrupted() {
                break;
            }
            match self.solver {
                FactorizationSolver::Als => {
                    let mut users = std::mem::take(&mut factors.users);
                    factors.half_step(&mut users, &observed, &factors.items);
                    factors.users = users;
                    let mut items = std::mem::take(&mut factors.items);
                    factors.half_step(&mut items, &by_item, &factors.users);
                    factors.items = items;
                }
                FactorizationSolver::Sgd => {
                    let order = Key::new(self.seed).fold(2 + iteration as u64).permutation(entries.len());
                    factors.descend(&entries, &counts, &order.to_vec::<i64>(), self.learning_rate);
                }
            }
            let objective = factors.objective(&observed);
            if !objective.is_finite() {
                let diverged = "stochastic gradient descent diverged";
                let fix = "lower `learning_rate`, or scale the entries";
                return Err(match self.solver {
                    FactorizationSolver::Als => overflow(),
                    FactorizationSolver::Sgd => LearnError::data(Self::NAME, diverged, fix),
                });
            }
            curve.push(objective);
            converged = (last - objective).abs() <= self.tol * last.abs();
            last = objective;
            if converged {
                break;
            }
        }
        let before = if curve.len() > 1 { curve[curve.len() - 2] } else { start };
        let change = (before - last).abs();
        let stop = Stop::of(converged, curve.len() < self.max_iter);
        let summary = Summary::iterative(Self::NAME, curve.len(), converged, change, last).ended(stop, curve);
        let about = About::of(self, samples).outputs(factors.width).summary(summary);
        factors.fitted(about, samples.x().dtype())
    }
}

#[cold]
pub(super) fn no_entry() -> LearnError {
    let fix = "give ratings; missing ones are NaN, or not stored";
    LearnError::data(MatrixFactorization::NAME, "no entry is observed", fix)
}

#[cold]
pub(super) fn overflow() -> LearnError {
    LearnError::data(MatrixFactorization::NAME, "the entries overflow", "scale the entries")
}

impl Factors {
    pub fn fitted(&self, about: About, dtype: DType) -> Result<FittedMatrixFactorization> {
        let (k, width, items) = (self.k, self.width, self.items.len() / self.width);
        let mut components = vec![1.0; width * items];
        let mut intercept = vec![self.mean; items];
        for item in 0..items {
            let row = self.item(item);
            (0..k).for_each(|factor| components[factor * items + item] = row[factor]);
            add(&mut intercept[item..item + 1], 1.0, &row[k..]);
        }
        Ok(FittedMatrixFactorization {
            about,
            components: Tensor::try_from_vec(components, [width, items])?.to_dtype(dtype),
            intercept: Tensor::try_from_vec(intercept, [items])?.to_dtype(dtype),
            alpha: self.alpha[0],
            alpha_bias: self.alpha[1],
            n_components: k,
        })
    }
}

impl FittedMatrixFactorization {
    /// That there are as many components as factors, and one more for biases.
    fn matched(self, record: &Record) -> Result<FittedMatrixFactorization> {
        let settings: MatrixFactorization = record.settings(MatrixFactorization::NAME, 1)?;
        let width = self.n_components + usize::from(settings.biases);
        if self.n_components == settings.n_components && self.outputs() == width {
            return Ok(self);
        }
        Err(record.wrong("components", "as many rows as factors, and one for biases"))
    }
}

impl Model for FittedMatrixFactorization {
    crate::fitted_methods!();

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let observed = Observed::of(self.name(), x)?;
        let width = self.outputs();
        let split = self.n_components;
        let items = self.components.to_dtype(DType::F64).try_t()?.try_contiguous()?.to_f64_vec();
        let intercept = self.intercept.to_f64_vec();
        let mut users = vec![0.0; observed.len() * width];
        each_row(&mut users, width, &|row, out, Scratch { system, vectors, right }| {
            let (columns, values) = observed.row(row);
            vectors.clear();
            right.clear();
            for (&column, &value) in columns.iter().zip(values) {
                vectors.extend_from_slice(&items[column as usize * width..][..width]);
                right.push(value - intercept[column as usize]);
            }
            ridge(system, vectors, right, (split, [self.alpha, self.alpha_bias]), out);
        });
        Ok(Rows::Dense(Tensor::try_from_vec(users, [observed.len(), width])?.to_dtype(x.dtype())))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        let as_given = |tensor: &Tensor| tensor.to_dtype(x.dtype());
        Ok(Rows::Dense(x.try_matmul(&as_given(&self.components))?.try_add(&as_given(&self.intercept))?))
    }
}
