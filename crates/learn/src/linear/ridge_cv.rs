//! Ridge with its penalty chosen by leave-one-out errors, and ridge for many penalties at once.
//!
//! With the leverages hᵢ(α) = 1/n + Σₖ (xᵢᵀvₖ)² / (λₖ + α) the error of a fit without sample i is (yᵢ − ŷᵢ)/(1 − hᵢ): all n
//! leave-one-out errors for all penalties come from one eigendecomposition and one pass over X (generalised
//! cross-validation; Golub, Heath and Wahba 1979).
//!
//! ```
//! use tove_learn::{Fit, linear::RidgeCv};
//! use tove_tensor::{DType, Key};
//! let x = Key::new(1).normal([50, 3], DType::F64);
//! let y = &x.matmul(&tove_tensor::Tensor::from([1.0, -1.0, 2.0])) + &(&Key::new(2).normal([50], DType::F64) * 0.1);
//! let model = RidgeCv::default().fit(&x, &y)?;
//! assert_eq!(model.alpha(), 0.1); // of 0.1, 1, 10
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tove_optim::settings::Hyperparameters;
use tove_tensor::pool::parallel_for;
use tove_tensor::{Tensor, TryOps};

use super::model::{Extras, FittedLinear};
use super::moments::{Data, read_row};
use super::ridge::Ridge;
use super::solve::{Problem, Solution};
use super::spectrum::{Spectrum, check_alphas};
use crate::{Algorithm, Capabilities, LearnError, Record, Result, Rows, Samples, Summary};

/// Rows that one task handles.
const ROWS: usize = 1024;

/// Ridge regression for several penalties.
#[derive(Clone, Debug)]
pub struct RidgePath {
    /// The penalties.
    pub alphas: Vec<f64>,
    /// Coefficients for each: (a, d), or (a, m, d) for several outputs.
    pub coefs: Tensor,
    /// Intercepts for each: (a), or (a, m).
    pub intercepts: Tensor,
}

impl Ridge {
    /// Coefficients for many penalties from one eigendecomposition.
    ///
    /// ```
    /// use tove_learn::linear::Ridge;
    /// use tove_tensor::Tensor;
    /// let (x, y) = (Tensor::from([[-1.0], [1.0]]), Tensor::from([-1.0, 1.0]));
    /// let path = Ridge::default().path(&x, &y, &[0.0, 2.0])?;
    /// assert_eq!(path.coefs.to_vec::<f64>(), [1.0, 0.5]);
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    pub fn path(&self, x: impl Into<Rows>, y: &Tensor, alphas: &[f64]) -> Result<RidgePath> {
        check_alphas("Ridge::path", alphas)?;
        let samples = Samples::new(x, y)?;
        let data = Data::several(&samples)?;
        let spectrum = Spectrum::of(&data, self.fit_intercept)?;
        let (d, m, a) = (data.width(), data.outputs, alphas.len());
        let (mut coefs, mut intercepts) = (Vec::new(), Vec::new());
        for &alpha in alphas {
            let (coefficients, levels) = if spectrum.is_sharp(&data) {
                let coefficients = spectrum.coefficients(alpha)?;
                let levels = spectrum.intercepts(&coefficients);
                (coefficients, levels)
            } else {
                // Eigenvalues of the Gram matrix have lost digits: each penalty by itself is slower, and right.
                let problem = Problem { alpha, centred: self.fit_intercept, tol: None, covariance: false };
                let solution = problem.solve(&data)?;
                (solution.coefficients, solution.intercepts)
            };
            intercepts.extend(levels);
            coefs.extend(Tensor::try_from_vec(coefficients, [d, m])?.try_t()?.to_f64_vec());
        }
        let several = y.rank() == 2;
        let dtype = samples.x().dtype();
        let coefs = Tensor::try_from_vec(coefs, if several { vec![a, m, d] } else { vec![a, d] })?;
        let intercepts = Tensor::try_from_vec(intercepts, if several { vec![a, m] } else { vec![a] })?;
        Ok(RidgePath { alphas: alphas.to_vec(), coefs: coefs.to_dtype(dtype), intercepts: intercepts.to_dtype(dtype) })
    }
}

/// Ridge regression that chooses its penalty by leave-one-out errors.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "RidgeCV")]
pub struct RidgeCv {
    /// The penalties to choose from, separated by commas.
    #[hyper(default = "0.1,1,10".to_owned())]
    pub alphas: String,
    /// Whether an intercept is fitted; it is not penalised.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

impl RidgeCv {
    /// The penalties to choose from, as numbers.
    pub fn with_alphas(self, alphas: &[f64]) -> RidgeCv {
        let texts: Vec<String> = alphas.iter().map(|alpha| alpha.to_string()).collect();
        RidgeCv { alphas: texts.join(","), ..self }
    }

    fn numbers(&self) -> Result<Vec<f64>> {
        let read = |text: &str| {
            text.trim().parse::<f64>().map_err(|_| {
                let problem = format!("`{text}` among alphas is no number; give numbers separated by commas");
                LearnError::parameter("RidgeCV", problem)
            })
        };
        let alphas = self.alphas.split(',').map(read).collect::<Result<Vec<f64>>>()?;
        check_alphas("RidgeCV", &alphas)?;
        Ok(alphas)
    }
}

/// The choice of a [`RidgeCv`].
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenPenalty {
    alpha: f64,
    errors: Vec<f64>,
}

impl Extras for ChosenPenalty {
    fn write(&self, record: &mut Record) {
        record.put_real("alpha", self.alpha);
        record.put_tensor("errors", &Tensor::from_slice(&self.errors));
    }

    fn read(record: &Record, _width: usize) -> Result<ChosenPenalty> {
        Ok(ChosenPenalty { alpha: record.real("alpha")?, errors: record.vector("errors")? })
    }
}

/// A fitted [`RidgeCv`].
pub type FittedRidgeCv = FittedLinear<RidgeCv, ChosenPenalty>;

impl FittedRidgeCv {
    /// The penalty that was chosen.
    pub fn alpha(&self) -> f64 {
        self.extras().alpha
    }

    /// The mean squared leave-one-out error of each penalty.
    pub fn leave_one_out_errors(&self) -> &[f64] {
        &self.extras().errors
    }
}

impl Algorithm for RidgeCv {
    type Fitted = FittedRidgeCv;
    // Weights count for the fit as copies do, but leaving out a sample of weight 2 is not leaving out one of two copies.
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, multi_output: true, accuracy: 2e-2, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedRidgeCv> {
        let alphas = self.numbers()?;
        let data = Data::several(samples)?;
        let spectrum = Spectrum::of(&data, self.fit_intercept)?;
        let coefficients = alphas.iter().map(|&alpha| spectrum.coefficients(alpha)).collect::<Result<Vec<_>>>()?;
        let (all, intercept) = (&coefficients, self.fit_intercept);
        let left = LeaveOneOut { data: &data, spectrum: &spectrum, alphas: &alphas, coefficients: all, intercept };
        let errors = left.errors()?;
        let best = (1..alphas.len()).fold(0, |best, place| if errors[place] < errors[best] { place } else { best });
        let solution = Solution {
            intercepts: spectrum.intercepts(&coefficients[best]),
            coefficients: coefficients[best].clone(),
            rank: spectrum.values.len(),
            condition: 1.0,
            covariance: None,
        };
        let extras = ChosenPenalty { alpha: alphas[best], errors };
        FittedLinear::new(self, samples, &solution, Summary::exact(), extras)
    }
}

/// What the leave-one-out errors are made of.
struct LeaveOneOut<'a> {
    data: &'a Data<'a>,
    spectrum: &'a Spectrum,
    alphas: &'a [f64],
    /// Coefficients (d, m) of each penalty.
    coefficients: &'a [Vec<f64>],
    intercept: bool,
}

impl LeaveOneOut<'_> {
    /// The mean over samples and outputs of w (y − ŷ)²/(1 − h)² for each penalty.
    fn errors(&self) -> Result<Vec<f64>> {
        let (n, m) = (self.data.len(), self.data.outputs);
        let tasks = n.div_ceil(ROWS);
        let parts: Vec<Mutex<Result<Vec<f64>>>> = (0..tasks).map(|_| Mutex::new(Ok(Vec::new()))).collect();
        parallel_for(tasks, &|task| {
            let sums = self.sums(task * ROWS..((task + 1) * ROWS).min(n));
            *parts[task].lock().unwrap_or_else(PoisonError::into_inner) = sums;
        });
        let mut errors = vec![0.0; self.alphas.len()];
        for part in parts {
            let part = part.into_inner().unwrap_or_else(PoisonError::into_inner)?;
            errors.iter_mut().zip(&part).for_each(|(error, part)| *error += part / (n * m) as f64);
        }
        Ok(errors)
    }

    /// The squared errors of some rows, added up for each penalty.
    fn sums(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let (d, m, k) = (self.data.width(), self.data.outputs, self.spectrum.values.len());
        let mut centred = vec![0.0; rows.len() * d];
        for (row, out) in rows.clone().zip(centred.chunks_exact_mut(d)) {
            read_row(self.data.x, row, out)?;
            out.iter_mut().zip(&self.spectrum.mean_x).for_each(|(x, mean)| *x -= mean);
        }
        let centred = Tensor::try_from_vec(centred, [rows.len(), d])?;
        let turned = centred.try_matmul(&self.spectrum.vectors)?.to_f64_vec();
        let base = if self.intercept { 1.0 / self.spectrum.weight } else { 0.0 };
        let mut sums = vec![0.0; self.alphas.len()];
        for (place, &alpha) in self.alphas.iter().enumerate() {
            let w = Tensor::try_from_vec(self.coefficients[place].clone(), [d, m])?;
            let predicted = centred.try_matmul(&w)?.to_f64_vec();
            let filter: Vec<f64> = self.spectrum.values.iter().map(|value| 1.0 / (value + alpha)).collect();
            for (offset, row) in rows.clone().enumerate() {
                let weight = self.data.weights.as_ref().map_or(1.0, |weights| weights[row]);
                let z = &turned[offset * k..(offset + 1) * k];
                let spread: f64 = z.iter().zip(&filter).map(|(z, f)| z * z * f).sum();
                let rest = 1.0 - weight * (spread + base);
                for output in 0..m {
                    let y = self.data.y[row * m + output] - self.spectrum.mean_y[output];
                    let error = (y - predicted[offset * m + output]) / rest;
                    sums[place] += weight * error * error;
                }
            }
        }
        Ok(sums)
    }
}
