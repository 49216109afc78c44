//! Nonnegative matrix factorization: X ≈ W H with W, H ≥ 0 (Lee, Seung 1999), by coordinate descent (Cichocki, Phan 2009).
//!
//! ½ ‖X − W H‖² is minimized over one entry after the other, all of W and all of H in turn. Iterations end when the part of the
//! gradient that could still lower the objective is `tol` times that of the first one. They begin at the positive parts of the largest
//! singular vectors (Boutsidis, Gallopoulos 2008), zeros replaced by the mean, so that there is nothing random in it.
//!
//! ```
//! use tove_learn::{Fit, Transform, decomposition::Nmf};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[2.0, 2.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 3.0]]);
//! let model = Nmf::default().n_components(2).tol(1e-9).max_iter(1000).fit(&x, None)?;
//! let parts = model.transform(&x)?;
//! assert!((parts.matmul(model.components()) - x).abs().max().item::<f64>() < 1e-4);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps, linalg};

use crate::cluster::same_count;
use crate::selection::in_parallel;
use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples, Stop, Summary};

/// Rows that are updated by one task.
const BLOCK: usize = 256;

/// Factors of a matrix without negative numbers that have none either, as scikit-learn's `NMF` with the solver `cd`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "NMF")]
pub struct Nmf {
    /// Number of components.
    #[hyper(default = 2, range = "[1, inf)", alias = "k")]
    pub n_components: usize,
    /// Size of the projected gradient, relative to the first one, at which to stop.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Maximum number of iterations.
    #[hyper(default = 200, range = "[1, inf)")]
    pub max_iter: usize,
}

/// A fitted [`Nmf`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = Nmf)]
pub struct FittedNmf {
    about: About,
    /// H: the parts that rows are made of, one per row.
    #[fitted(shape = "outputs, features")]
    components: Tensor,
    /// ‖X − W H‖ of the samples.
    reconstruction_err: f64,
}

/// One pass over all entries of W (n, k) for given products X Hᵀ (n, k) and H Hᵀ (k, k): the size of the projected gradient.
fn update(w: &mut [f64], products: &[f64], gram: &[f64], k: usize) -> f64 {
    let parts: Vec<std::sync::Mutex<&mut [f64]>> = w.chunks_mut(BLOCK * k).map(std::sync::Mutex::new).collect();
    let violations = in_parallel(parts.len(), |part| {
        let mut own = parts[part].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let rows = own.chunks_exact_mut(k).zip(products[part * BLOCK * k..].chunks_exact(k));
        rows.map(|(row, products)| update_row(row, products, gram)).sum::<f64>()
    });
    violations.into_iter().sum()
}

fn update_row(row: &mut [f64], products: &[f64], gram: &[f64]) -> f64 {
    let k = row.len();
    let mut violation = 0.0;
    for t in 0..k {
        let slope: f64 = row.iter().zip(&gram[t * k..(t + 1) * k]).map(|(w, gram)| w * gram).sum::<f64>() - products[t];
        violation += if row[t] == 0.0 { slope.min(0.0).abs() } else { slope.abs() };
        let curvature = gram[t * k + t];
        if curvature > 0.0 {
            row[t] = (row[t] - slope / curvature).max(0.0);
        }
    }
    violation
}

/// A (n, m) times the transpose of B (k, m), and B Bᵀ.
fn products(a: &Tensor, b: &[f64], k: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let b = Tensor::from_slice(b).try_reshape([k, b.len() / k])?;
    let turned = b.try_t()?;
    Ok((a.try_matmul(&turned)?.try_contiguous()?.to_f64_vec(), b.try_matmul(&turned)?.try_contiguous()?.to_f64_vec()))
}

/// Rows of a matrix (r, c) as its columns.
fn turned(values: &[f64], r: usize, c: usize) -> Vec<f64> {
    (0..c).flat_map(|j| (0..r).map(move |i| values[i * c + j])).collect()
}

/// First factors, W (n, k) and Hᵀ (d, k).
fn start(x: &Tensor, k: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let linalg::Svd { u, s, vt } = linalg::svd(x)?;
    let (u, s, vt) = (u.try_contiguous()?.to_f64_vec(), s.to_f64_vec(), vt.try_contiguous()?.to_f64_vec());
    let (size, mean) = (s.len(), x.try_mean()?.item::<f64>());
    let (mut w, mut h) = (vec![0.0; n * k], vec![0.0; d * k]);
    for t in 0..k {
        let (left, right): (Vec<f64>, Vec<f64>) =
            ((0..n).map(|i| u[i * size + t]).collect(), vt[t * d..(t + 1) * d].to_vec());
        let part = |values: &[f64], sign: f64| values.iter().map(|x| (sign * x).max(0.0)).collect::<Vec<f64>>();
        let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Of both signs the one that holds more; the first vectors have one sign only.
        let sides = [1.0, -1.0].map(|sign| (part(&left, sign), part(&right, sign)));
        let weights = sides.each_ref().map(|(left, right)| norm(left) * norm(right));
        let side = usize::from(weights[1] > weights[0]);
        let (left, right) = &sides[side];
        let factor = (s[t] * weights[side]).sqrt();
        let (a, b) = (norm(left), norm(right));
        if a > 0.0 && b > 0.0 {
            left.iter().enumerate().for_each(|(i, x)| w[i * k + t] = factor * x / a);
            right.iter().enumerate().for_each(|(j, x)| h[j * k + t] = factor * x / b);
        }
    }
    // Coordinates at 0 could be slow to leave it.
    for value in w.iter_mut().chain(&mut h).filter(|value| **value < 1e-6 * mean.sqrt()) {
        *value = mean;
    }
    Ok((w, h))
}

impl Algorithm for Nmf {
    type Fitted = FittedNmf;
    const CAPABILITIES: Capabilities = Capabilities {
        inverse_transform: true,
        nonnegative: true,
        accuracy: 1e-3,
        anytime: true,
        warm_start: true,
        ..Capabilities::TRANSFORMER
    };

    fn train(&self, samples: &Samples) -> Result<FittedNmf> {
        self.run(samples, None)
    }

    fn train_from(&self, start: &FittedNmf, samples: &Samples) -> Result<FittedNmf> {
        same_count(Self::NAME, self.n_components, start.outputs())?;
        self.run(samples, Some(start))
    }
}

impl Nmf {
    /// The factors after the iterations, which begin where those of a fitted model ended if there is one.
    fn run(&self, samples: &Samples, from: Option<&FittedNmf>) -> Result<FittedNmf> {
        samples.require_moderate(Self::NAME, true)?;
        let (n, d, k) = (samples.len(), samples.width(), self.n_components);
        let given = samples.x().dense(Self::NAME)?;
        samples.x().require_nonnegative(Self::NAME)?;
        if k > n.min(d) {
            let problem = format!("{k} components of {n} samples with {d} features; give at most {}", n.min(d));
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        let x = given.to_dtype(DType::F64);
        // Around 1, where squares of squares neither overflow nor vanish.
        let size = x.try_max()?.item::<f64>();
        let size = if size > 0.0 { size } else { 1.0 };
        let x = (&x * (1.0 / size)).try_contiguous()?;
        let across = x.try_t()?.try_contiguous()?;
        let (mut w, mut h) = match from {
            None => start(&x, k)?, // h is turned, (d, k)
            Some(model) => {
                let w = model.transform_rows(&Rows::Dense(given.clone()))?.to_dense()?.to_f64_vec();
                let components: Vec<f64> = model.components.to_f64_vec().iter().map(|value| value / size).collect();
                (w, turned(&components, k, d))
            }
        };
        let (mut iterations, mut stop, mut first, mut last) = (0, Stop::MaxIter, None, 0.0);
        while iterations < self.max_iter {
            if tove_optim::interrupted() {
                stop = Stop::Interrupted;
                break;
            }
            iterations += 1;
            let (right, gram) = products(&x, &turned(&h, d, k), k)?;
            let mut violation = update(&mut w, &right, &gram, k);
            let (left, gram) = products(&across, &turned(&w, n, k), k)?;
            violation += update(&mut h, &left, &gram, k);
            let whole: f64 = *first.get_or_insert(violation);
            last = violation;
            if whole == 0.0 || violation <= self.tol * whole {
                stop = Stop::Tolerance;
                break;
            }
        }
        let w = Tensor::try_from_vec(w, [n, k])?;
        let components = Tensor::try_from_vec(turned(&h, d, k), [k, d])?;
        let gap = x.try_sub(&w.try_matmul(&components)?)?;
        let error = gap.try_mul(&gap)?.try_sum()?.item::<f64>().sqrt() * size;
        let summary = Summary::iterative(Self::NAME, iterations, stop == Stop::Tolerance, last, error);
        let about = About::of(self, samples).outputs(k).summary(summary.ended(stop, Vec::new()));
        // The size goes into the components, so that W stays of the order of 1.
        let components = (&components * size).to_dtype(given.dtype());
        Ok(FittedNmf { about, components, reconstruction_err: error })
    }
}

impl Model for FittedNmf {
    crate::fitted_methods!();

    /// The shares of the parts in each row: least squares without negative numbers, each row by itself.
    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        x.require_nonnegative(self.name())?;
        let x = x.dense(self.name())?;
        let (n, k) = (x.dims()[0], self.outputs());
        let h = self.components.to_f64_vec();
        // In the units of the components, for the same reason as in the fit.
        let size = h.iter().fold(0.0f64, |most, value| most.max(*value));
        let size = if size > 0.0 { size } else { 1.0 };
        let scaled: Vec<f64> = h.iter().map(|value| value / size).collect();
        let (right, gram) = products(&(x.to_dtype(DType::F64) * (1.0 / size)).try_contiguous()?, &scaled, k)?;
        let rows: Vec<&[f64]> = right.chunks_exact(k).collect();
        let parts = in_parallel(n.div_ceil(BLOCK), |part| {
            let mut shares = Vec::new();
            for products in &rows[part * BLOCK..((part + 1) * BLOCK).min(n)] {
                let mut row = vec![0.0; k];
                let first = update_row(&mut row, products, &gram);
                for _ in 0..2000 {
                    if update_row(&mut row, products, &gram) <= 1e-12 * first {
                        break;
                    }
                }
                shares.extend(row);
            }
            shares
        });
        Ok(Rows::Dense(Tensor::try_from_vec(parts.concat(), [n, k])?.to_dtype(x.dtype())))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let x = x.dense(self.name())?;
        Ok(Rows::Dense(x.try_matmul(&self.components.to_dtype(x.dtype()))?))
    }
}
