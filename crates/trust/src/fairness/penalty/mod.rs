//! Logistic regression with a penalty on the dependence between its scores and the group.
//!
//! For rows with weights w, labels y in {0, 1}, groups a and scores z = x·v + b the objective is
//!
//! (1/Σw) Σ w (−ln p(y | z)) + ‖v‖²/(2 C Σw) + λ D(z, a).
//!
//! D is one of
//!
//! - **independence**: Σ_a P(a) (mean z of group a − mean z)², the variance of z between groups (for two groups a multiple of the squared
//!   covariance of z and a, Zafar et al. 2017);
//! - **separation**: the same within each label, weighted by P(y);
//! - **HSIC**: the Hilbert-Schmidt independence criterion (Gretton et al. 2005) with a Gaussian kernel on z and the kernel [a = a′]; it
//!   also sees dependence beyond the mean. O(n²).
//!
//! With the first two the objective is convex, and a larger λ never gives a larger D, the spread of the mean log-odds; the gap
//! between decisions usually falls with it, but need not.

mod objective;

use objective::{Problem, sigmoid, standardized};
use serde_json::{Value, json};
use tove_learn::Labels;
use tove_tensor::Tensor;

use super::json::Reader;
use super::outcomes::binary;
use crate::{Result, TrustError, input};

const NAME: &str = "FairLogisticRegression";
const VERSION: u64 = 1;
/// Rows at most for HSIC, whose every step visits all pairs.
const PAIRS: usize = 5000;

/// The dependence that is penalized.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Dependence {
    /// Variance of the scores between groups.
    #[default]
    Independence,
    /// Variance of the scores between groups within each label.
    Separation,
    /// The Hilbert-Schmidt independence criterion of scores and groups, for at most 5000 rows.
    Hsic {
        /// Standard deviation of the Gaussian kernel, in units of the score (log-odds).
        bandwidth: f64,
    },
}

/// Logistic regression of labels 0 and 1 with a penalty on dependence of the group. Features are standardized inside; the sensitive
/// attribute is used in training only, and should not be among the features.
///
/// ```
/// use tove_tensor::{DType, Key, Tensor};
/// use tove_trust::fairness::FairLogisticRegression;
/// let group = Tensor::from_slice(&(0..400).map(|i| i % 2).collect::<Vec<i64>>());
/// let x = Key::new(1).normal([400, 2], DType::F64) + group.to_dtype(DType::F64).reshape([400, 1]) * Tensor::from([1.5, 0.0]);
/// let y = (x.sum_axes(&[1], false) + Key::new(2).normal([400], DType::F64)).to_vec::<f64>();
/// let y = Tensor::from_slice(&y.iter().map(|&z| i64::from(z > 0.7)).collect::<Vec<i64>>());
/// let dependence = |strength: f64| -> Result<f64, tove_trust::TrustError> {
///     let model = FairLogisticRegression { strength, ..Default::default() }.fit(&x, &y, &group, None)?;
///     Ok(model.dependence())
/// };
/// assert!(dependence(10.0)? < 0.01 * dependence(0.0)?);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FairLogisticRegression {
    /// The dependence that is penalized.
    pub dependence: Dependence,
    /// λ, at least 0.
    pub strength: f64,
    /// C, the inverse strength of the ridge penalty on the weights of the standardized features.
    pub c: f64,
    /// Maximum number of iterations.
    pub max_iter: usize,
    /// Iterations stop when no entry of the gradient is larger.
    pub tolerance: f64,
}

impl Default for FairLogisticRegression {
    fn default() -> FairLogisticRegression {
        FairLogisticRegression {
            dependence: Dependence::Independence,
            strength: 1.0,
            c: 1.0,
            max_iter: 2000,
            tolerance: 1e-7,
        }
    }
}

/// A fitted [`FairLogisticRegression`]: a linear classifier that does not use the group.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedFairLogisticRegression {
    coef: Vec<f64>,
    intercept: f64,
    dependence: f64,
    log_loss: f64,
    converged: bool,
}

impl FairLogisticRegression {
    /// Fits to features (n, d), labels 0 and 1, groups (n) and optional weights.
    ///
    /// # Errors
    /// Invalid settings or data; one label or one group only; HSIC with more than 5000 rows; a fit that did not become finite.
    pub fn fit(
        &self,
        x: &Tensor,
        labels: &Tensor,
        groups: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<FittedFairLogisticRegression> {
        self.check()?;
        let (n, d) = match *x.dims() {
            [n, d] if n > 0 && d > 0 => (n, d),
            _ => {
                let problem = format!("features of shape {}", x.shape());
                return Err(TrustError::data(NAME, problem, "give a matrix with a row per sample"));
            }
        };
        let values = input::reals(NAME, "features", x)?;
        let labels = binary(NAME, "labels", labels, n)?;
        let groups = input::groups(NAME, groups, n)?;
        let weights = input::weights(NAME, weights, n)?;
        self.check_data(&labels, &groups, &weights)?;
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let (x, means, scales) = standardized(&values, d, &shares)?;
        let m = groups.classes().len();
        let cell = |row: usize| match self.dependence {
            Dependence::Separation => labels[row] * m + groups.codes()[row],
            _ => groups.codes()[row],
        };
        let cells = (0..n).map(cell).collect();
        let ridge = 1.0 / (self.c * total);
        let problem = Problem { settings: self, x, d, labels, shares, cells, groups: m, ridge };
        let minimum = problem.minimize()?;
        if !minimum.converged() {
            let (count, size) = (minimum.iterations, minimum.gradient_size);
            let text = format!("not converged after {count} iterations (largest entry of the gradient {size:.1e})");
            tove_learn::warn(&format!("{NAME}: {text}; increase `max_iter` or `tolerance`"));
        }
        let coef: Vec<f64> = minimum.x[..d].iter().zip(&scales).map(|(v, scale)| v / scale).collect();
        let intercept = minimum.x[d] - coef.iter().zip(&means).map(|(v, mean)| v * mean).sum::<f64>();
        if !coef.iter().chain([&intercept]).all(|value| value.is_finite()) {
            let fix = "remove features of extreme size, or decrease `strength` or `c`";
            return Err(TrustError::data(NAME, "the fit produced numbers that are not finite", fix));
        }
        let z = problem.scores(&minimum.x);
        let mut slope = vec![0.0; n];
        let dependence = problem.dependence(&z, &mut slope);
        let log_loss = problem.log_loss(&z, &mut slope);
        Ok(FittedFairLogisticRegression { coef, intercept, dependence, log_loss, converged: minimum.converged() })
    }

    fn check(&self) -> Result<()> {
        let positive = |name: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(TrustError::argument(NAME, format!("`{name}` is {value}; give a positive number"))),
        };
        if !(self.strength.is_finite() && self.strength >= 0.0) {
            let problem = format!("`strength` is {}; give a number of at least 0", self.strength);
            return Err(TrustError::argument(NAME, problem));
        }
        positive("c", self.c)?;
        positive("tolerance", self.tolerance)?;
        if let Dependence::Hsic { bandwidth } = self.dependence {
            positive("bandwidth", bandwidth)?;
        }
        Ok(())
    }

    fn check_data(&self, labels: &[usize], groups: &Labels, weights: &[f64]) -> Result<()> {
        let weight = |inside: &dyn Fn(usize) -> bool| {
            (0..labels.len()).filter(|&row| inside(row)).map(|row| weights[row]).sum::<f64>()
        };
        if weight(&|row| labels[row] == 1) <= 0.0 || weight(&|row| labels[row] == 0) <= 0.0 {
            let fix = "give rows with label 0 and rows with label 1";
            return Err(TrustError::data(NAME, "all rows with positive weight have the same label", fix));
        }
        let present = (0..groups.classes().len()).filter(|&code| weight(&|row| groups.codes()[row] == code) > 0.0);
        if present.count() < 2 {
            let fix = "give rows of at least two groups";
            return Err(TrustError::data(NAME, "all rows with positive weight are in one group", fix));
        }
        match self.dependence {
            Dependence::Hsic { .. } if labels.len() > PAIRS => {
                let problem = format!("{} rows; HSIC visits all pairs and takes at most {PAIRS}", labels.len());
                Err(TrustError::data(NAME, problem, "draw a random sample of the rows, or choose `Independence`"))
            }
            _ => Ok(()),
        }
    }
}

impl FittedFairLogisticRegression {
    /// Weights of the features in their own units.
    pub fn coef(&self) -> &[f64] {
        &self.coef
    }

    /// The intercept.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// D of the training rows.
    pub fn dependence(&self) -> f64 {
        self.dependence
    }

    /// Mean log loss of the training rows.
    pub fn log_loss(&self) -> f64 {
        self.log_loss
    }

    /// Whether the gradient met the tolerance.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// Log-odds (n) of label 1.
    ///
    /// # Errors
    /// Another number of features; values that are not finite.
    pub fn decision_function(&self, x: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.scores(x)?))
    }

    /// Probabilities (n) of label 1.
    ///
    /// # Errors
    /// As [`FittedFairLogisticRegression::decision_function`].
    pub fn predict_proba(&self, x: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.scores(x)?.into_iter().map(sigmoid).collect::<Vec<f64>>()))
    }

    /// Labels (n): 1 where the log-odds are positive.
    ///
    /// # Errors
    /// As [`FittedFairLogisticRegression::decision_function`].
    pub fn predict(&self, x: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.scores(x)?.into_iter().map(|z| i64::from(z > 0.0)).collect::<Vec<i64>>()))
    }

    fn scores(&self, x: &Tensor) -> Result<Vec<f64>> {
        let d = self.coef.len();
        match *x.dims() {
            [0, width] if width == d => return Ok(Vec::new()),
            [_, width] if width == d => {}
            _ => {
                let problem = format!("rows of shape {}, but it was fitted to {d} features", x.shape());
                return Err(TrustError::data(NAME, problem, "give the features of the training rows, in their order"));
            }
        }
        let values = input::reals(NAME, "features", x)?;
        let score = |row: &[f64]| row.iter().zip(&self.coef).map(|(x, v)| x * v).sum::<f64>() + self.intercept;
        let scores: Vec<f64> = values.chunks_exact(d).map(score).collect();
        match scores.iter().position(|score| !score.is_finite()) {
            None => Ok(scores),
            Some(row) => {
                let problem = format!("the score of row {row} overflows");
                Err(TrustError::data(NAME, problem, "give features of the size of the training rows"))
            }
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": NAME, "version": VERSION, "coef": self.coef, "intercept": self.intercept,
            "dependence": self.dependence, "log_loss": self.log_loss, "converged": self.converged,
        })
    }

    /// Reads what [`FittedFairLogisticRegression::to_json`] wrote.
    ///
    /// # Errors
    /// Another kind, a newer version, missing or invalid values.
    pub fn from_json(value: &Value) -> Result<FittedFairLogisticRegression> {
        let reader = Reader::open(NAME, VERSION, value)?;
        let coef = reader.numbers("coef")?;
        if coef.is_empty() {
            return Err(reader.wrong("coef", "a list of at least one number"));
        }
        Ok(FittedFairLogisticRegression {
            coef,
            intercept: reader.number("intercept")?,
            dependence: reader.number("dependence")?,
            log_loss: reader.number("log_loss")?,
            converged: reader.switch("converged")?,
        })
    }
}
