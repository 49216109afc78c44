//! Ridge with its penalty chosen by leave-one-out errors or by folds, and ridge for many penalties at once.
//!
//! With the leverages hᵢ(α) = 1/n + Σₖ (xᵢᵀvₖ)² / (λₖ + α) the error of a fit without sample i is (yᵢ − ŷᵢ)/(1 − hᵢ): all n
//! leave-one-out errors for all penalties come from one eigendecomposition and one pass over X (generalized
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

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::pool::parallel_for;
use tove_tensor::{Tensor, TryOps};

use super::alphas::Alphas;
use super::fold_moments::of_folds;
use super::model::{Extras, FittedLinear};
use super::moments::{Data, read_row};
use super::ridge::Ridge;
use super::solve::{Problem, Solution};
use super::spectrum::{Spectrum, check_alphas};
use crate::selection::{KFold, Scorer, Scoring, Splitter};
use crate::{Algorithm, Capabilities, Estimator, Fitted, LearnError, Model, Record, Result, Rows, Samples, Summary};

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
                let problem = Problem { alpha, centered: self.fit_intercept, tol: None, covariance: false };
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

/// Ridge regression that chooses its penalty by leave-one-out errors, or by folds.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "RidgeCV")]
pub struct RidgeCv {
    /// The penalties to choose from.
    #[hyper(default = Alphas(vec![0.1, 1.0, 10.0]), range = "[0, inf)")]
    pub alphas: Alphas,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// The score to choose by, such as r2 or neg_mean_absolute_error; by default the squared error without folds, R² with them.
    #[hyper(default = None)]
    pub scoring: Option<Scorer>,
    /// Number of folds; leave-one-out without it.
    #[hyper(default = None, range = "[2, inf)")]
    pub cv: Option<usize>,
}

impl RidgeCv {
    /// The penalties to choose from.
    pub fn with_alphas(self, alphas: &[f64]) -> RidgeCv {
        RidgeCv { alphas: alphas.into(), ..self }
    }

    fn ridge(&self, alpha: f64) -> Ridge {
        Ridge::default().alpha(alpha).fit_intercept(self.fit_intercept)
    }

    /// The score of each penalty, its mean over the folds.
    fn by_folds(&self, folds: usize, samples: &Samples) -> Result<Vec<f64>> {
        let scoring = self.judge()?.unwrap_or_else(|| Scoring::from("r2"));
        let folds = KFold::new(folds).split(samples.y()?)?;
        let moments = of_folds(samples, &folds).ok().flatten(); // penalties have no part in them
        let mut means = Vec::new();
        for &alpha in self.alphas.iter() {
            let mut sum = 0.0;
            for (number, fold) in folds.iter().enumerate() {
                if tove_optim::interrupted() {
                    return Err(LearnError::Interrupted { who: Self::NAME });
                }
                let ridge = self.ridge(alpha);
                let model = match moments.as_ref().map_or(Ok(None), |all| ridge.fit_moments(&all[number]))? {
                    Some(model) => model,
                    None => ridge.fit_boxed(&samples.take(&fold.train)?)?,
                };
                sum += scoring.score(&*model, &samples.take(&fold.test)?)?.value;
            }
            means.push(sum / folds.len() as f64);
        }
        Ok(means)
    }

    fn judge(&self) -> Result<Option<Scoring>> {
        let Some(scorer) = self.scoring else { return Ok(None) };
        let scoring = Scoring::from(scorer);
        scoring.check(Self::NAME, Self::CAPABILITIES)?;
        Ok(Some(scoring))
    }
}

/// The choice of a [`RidgeCv`].
#[derive(Clone, Debug, PartialEq, Fitted)]
pub struct ChosenPenalty {
    alpha: f64,
    /// Mean squared errors, or scores where those decide.
    #[fitted(shape = "alphas", hidden, nonfinite)]
    errors: Vec<f64>,
    /// Files of earlier versions chose by the smallest error.
    #[fitted(nonfinite, former = -errors.iter().copied().fold(f64::INFINITY, f64::min))]
    best_score: f64,
}

impl Extras for ChosenPenalty {}

/// A fitted [`RidgeCv`].
pub type FittedRidgeCv = FittedLinear<RidgeCv, ChosenPenalty>;

impl FittedRidgeCv {
    /// The penalty that was chosen.
    pub fn alpha(&self) -> f64 {
        self.extras().alpha
    }

    /// The score of the penalty that was chosen: minus the mean squared leave-one-out error unless another score was asked for.
    pub fn best_score(&self) -> f64 {
        self.extras().best_score
    }

    /// The mean squared leave-one-out error of each penalty; with `scoring` or `cv`, its score.
    pub fn leave_one_out_errors(&self) -> &[f64] {
        &self.extras().errors
    }
}

impl Algorithm for RidgeCv {
    type Fitted = FittedRidgeCv;
    // Weights count for the fit as copies do, but leaving out a sample of weight 2 is not leaving out one of two copies.
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, multi_output: true, accuracy: 2e-2, ..Capabilities::REGRESSOR };

    fn capabilities_of(settings: &RidgeCv) -> Capabilities {
        Capabilities { order_free: settings.cv.is_none(), ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedRidgeCv> {
        check_alphas(Self::NAME, &self.alphas)?;
        let largest = |values: &[f64]| {
            (1..values.len()).fold(0, |best, place| if values[place] > values[best] { place } else { best })
        };
        if let Some(folds) = self.cv {
            let scores = self.by_folds(folds, samples)?;
            let best = largest(&scores);
            let (solution, summary) =
                self.ridge(self.alphas[best]).solve(&Data::several(samples)?, self.alphas[best])?;
            let extras = ChosenPenalty { alpha: self.alphas[best], best_score: scores[best], errors: scores };
            return FittedLinear::new(self, samples, &solution, summary, extras);
        }
        let data = Data::several(samples)?;
        let spectrum = Spectrum::of(&data, self.fit_intercept)?;
        let coefficients = self.alphas.iter().map(|&alpha| spectrum.coefficients(alpha)).collect::<Result<Vec<_>>>()?;
        let (all, intercept, alphas) = (&coefficients, self.fit_intercept, &self.alphas[..]);
        let left = LeaveOneOut { data: &data, spectrum: &spectrum, alphas, coefficients: all, intercept };
        let (errors, scores) = match self.judge()? {
            None => {
                let errors = left.errors()?;
                let scores = errors.iter().map(|error| -error).collect();
                (errors, scores)
            }
            Some(scoring) => {
                let scores = left.scores(&scoring, self, samples)?;
                (scores.clone(), scores)
            }
        };
        let best = largest(&scores);
        let solution = Solution {
            intercepts: spectrum.intercepts(&coefficients[best]),
            coefficients: coefficients[best].clone(),
            rank: spectrum.values.len(),
            condition: 1.0,
            covariance: None,
        };
        let extras = ChosenPenalty { alpha: self.alphas[best], errors, best_score: scores[best] };
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
        let mut sums = vec![0.0; self.alphas.len()];
        self.each(rows, |place, _, weight, error| sums[place] += weight * error * error)?;
        Ok(sums)
    }

    /// The score of each penalty's predictions of samples that were left out.
    fn scores(&self, scoring: &Scoring, estimator: &RidgeCv, samples: &Samples) -> Result<Vec<f64>> {
        let (n, m) = (self.data.len(), self.data.outputs);
        let mut predicted = vec![self.data.y.clone(); self.alphas.len()];
        for start in (0..n).step_by(ROWS) {
            self.each(start..(start + ROWS).min(n), |place, at, _, error| predicted[place][at] -= error)?;
        }
        let shape = if samples.y()?.rank() == 2 { vec![n, m] } else { vec![n] };
        let score = |predictions: Vec<f64>| {
            let predictions = Tensor::try_from_vec(predictions, shape.clone())?;
            let left = LeftOut { about: crate::About::of(estimator, samples), predictions };
            Ok(scoring.score(&left, samples)?.value)
        };
        predicted.into_iter().map(score).collect()
    }

    /// Calls `take(penalty, row and output, weight, error)` for the leave-one-out errors of some rows.
    fn each(&self, rows: Range<usize>, mut take: impl FnMut(usize, usize, f64, f64)) -> Result<()> {
        let (d, m, k) = (self.data.width(), self.data.outputs, self.spectrum.values.len());
        let mut centered = vec![0.0; rows.len() * d];
        for (row, out) in rows.clone().zip(centered.chunks_exact_mut(d)) {
            read_row(self.data.x, row, out)?;
            out.iter_mut().zip(&self.spectrum.mean_x).for_each(|(x, mean)| *x -= mean);
        }
        let centered = Tensor::try_from_vec(centered, [rows.len(), d])?;
        let turned = centered.try_matmul(&self.spectrum.vectors)?.to_f64_vec();
        let base = if self.intercept { 1.0 / self.spectrum.weight } else { 0.0 };
        for (place, &alpha) in self.alphas.iter().enumerate() {
            let w = Tensor::try_from_vec(self.coefficients[place].clone(), [d, m])?;
            let predicted = centered.try_matmul(&w)?.to_f64_vec();
            let filter: Vec<f64> = self.spectrum.values.iter().map(|value| 1.0 / (value + alpha)).collect();
            for (offset, row) in rows.clone().enumerate() {
                let weight = self.data.weights.as_ref().map_or(1.0, |weights| weights[row]);
                let z = &turned[offset * k..(offset + 1) * k];
                let spread: f64 = z.iter().zip(&filter).map(|(z, f)| z * z * f).sum();
                let rest = 1.0 - weight * (spread + base);
                for output in 0..m {
                    let y = self.data.y[row * m + output] - self.spectrum.mean_y[output];
                    let error = (y - predicted[offset * m + output]) / rest;
                    take(place, row * m + output, weight, error);
                }
            }
        }
        Ok(())
    }
}

/// Predictions of samples that were left out, as a model that a score can evaluate.
struct LeftOut {
    about: crate::About,
    predictions: Tensor,
}

impl Model for LeftOut {
    fn about(&self) -> &crate::About {
        &self.about
    }

    fn predict_rows(&self, _x: &Rows) -> Result<Tensor> {
        Ok(self.predictions.clone())
    }

    fn record(&self) -> Record {
        self.about.record()
    }
}
