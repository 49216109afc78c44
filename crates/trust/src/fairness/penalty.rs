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
//! With the first two the objective is convex, and a larger λ never gives a larger D. That bounds the gap between mean scores; the gap
//! between decisions follows it closely but not exactly.

use serde_json::{Value, json};
use tove_learn::Labels;
use tove_optim::{LbfgsSettings, lbfgs::Minimum};
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

/// Standardized training rows.
struct Problem<'a> {
    settings: &'a FairLogisticRegression,
    x: Vec<f64>,
    d: usize,
    labels: Vec<usize>,
    /// Weights with sum 1.
    shares: Vec<f64>,
    /// The cell of each row, whose means should be equal within its block of cells.
    cells: Vec<usize>,
    groups: usize,
    ridge: f64,
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

/// Columns with mean 0 and variance 1, with the means and standard deviations; constant columns become 0.
fn standardized(values: &[f64], d: usize, shares: &[f64]) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut x = values.to_vec();
    let (mut means, mut scales) = (vec![0.0; d], vec![1.0; d]);
    for column in 0..d {
        let entries = || values.iter().skip(column).step_by(d).zip(shares);
        let largest = entries().fold(0.0f64, |largest, (value, _)| largest.max(value.abs()));
        if largest > 1e150 {
            let problem = format!("a value of column {column} has magnitude {largest:e}, so its square overflows");
            return Err(TrustError::data(NAME, problem, "scale the features first"));
        }
        let mean: f64 = entries().map(|(value, share)| share * value).sum();
        let deviation = entries().map(|(value, share)| share * (value - mean).powi(2)).sum::<f64>().sqrt();
        let varies = deviation > 1e-13 * largest;
        let scale = if varies { deviation } else { 1.0 };
        for value in x.iter_mut().skip(column).step_by(d) {
            *value = if varies { (*value - mean) / scale } else { 0.0 };
        }
        (means[column], scales[column]) = (mean, scale);
    }
    Ok((x, means, scales))
}

impl Problem<'_> {
    fn minimize(&self) -> Result<Minimum> {
        let settings = LbfgsSettings {
            gradient_tolerance: self.settings.tolerance,
            value_tolerance: 0.0,
            max_iterations: self.settings.max_iter,
            max_evaluations: 2 * self.settings.max_iter + 10,
            ..LbfgsSettings::default()
        };
        let strength = self.settings.strength;
        let (mut slope, mut push) = (vec![0.0; self.shares.len()], vec![0.0; self.shares.len()]);
        let objective = |v: &[f64], gradient: &mut [f64]| {
            let z = self.scores(v);
            let mut value = self.log_loss(&z, &mut slope);
            if strength > 0.0 {
                value += strength * self.dependence(&z, &mut push);
                slope.iter_mut().zip(&push).for_each(|(slope, push)| *slope += strength * push);
            }
            gradient.fill(0.0);
            for (row, &slope) in self.x.chunks_exact(self.d).zip(&slope) {
                gradient.iter_mut().zip(row).for_each(|(gradient, x)| *gradient += slope * x);
                gradient[self.d] += slope;
            }
            for (gradient, v) in gradient.iter_mut().zip(&v[..self.d]) {
                *gradient += self.ridge * v;
                value += 0.5 * self.ridge * v * v;
            }
            value
        };
        Ok(settings.minimize(objective, &vec![0.0; self.d + 1])?)
    }

    fn scores(&self, v: &[f64]) -> Vec<f64> {
        let score = |row: &[f64]| row.iter().zip(v).map(|(x, v)| x * v).sum::<f64>() + v[self.d];
        self.x.chunks_exact(self.d).map(score).collect()
    }

    /// The mean log loss and its derivatives by the scores.
    fn log_loss(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        for (row, &z) in z.iter().enumerate() {
            let (label, share) = (self.labels[row] as f64, self.shares[row]);
            // ln(1 + e^z) − y z without overflow.
            loss += share * (z.max(0.0) - label * z + (-z.abs()).exp().ln_1p());
            slope[row] = share * (sigmoid(z) - label);
        }
        loss
    }

    /// D and its derivatives by the scores.
    fn dependence(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        match self.settings.dependence {
            Dependence::Hsic { bandwidth } => self.hsic(z, bandwidth, slope),
            _ => self.between(z, slope),
        }
    }

    /// Σ over cells of P(cell) (mean of the cell − mean of its block)²; a block holds one cell per group.
    fn between(&self, z: &[f64], slope: &mut [f64]) -> f64 {
        let cells = self.cells.iter().max().map_or(0, |last| last / self.groups + 1) * self.groups;
        let (mut mass, mut sum) = (vec![0.0; cells], vec![0.0; cells]);
        for (row, &cell) in self.cells.iter().enumerate() {
            mass[cell] += self.shares[row];
            sum[cell] += self.shares[row] * z[row];
        }
        let (mut off, mut value) = (vec![0.0; cells], 0.0);
        for block in 0..cells / self.groups {
            let range = block * self.groups..(block + 1) * self.groups;
            let weight: f64 = mass[range.clone()].iter().sum();
            let center = sum[range.clone()].iter().sum::<f64>() / weight;
            for cell in range.filter(|&cell| mass[cell] > 0.0) {
                off[cell] = sum[cell] / mass[cell] - center;
                value += mass[cell] * off[cell] * off[cell];
            }
        }
        // The block's mean drops out of the derivative, since deviations from it sum to 0.
        for (row, &cell) in self.cells.iter().enumerate() {
            slope[row] = 2.0 * self.shares[row] * off[cell];
        }
        value
    }

    /// Σ pᵢ pⱼ K(zᵢ, zⱼ) Mᵢⱼ with the centered group kernel M.
    fn hsic(&self, z: &[f64], bandwidth: f64, slope: &mut [f64]) -> f64 {
        let mut mass = vec![0.0; self.groups];
        self.cells.iter().zip(&self.shares).for_each(|(&cell, share)| mass[cell] += share);
        let same: f64 = mass.iter().map(|mass| mass * mass).sum();
        let inverse = 1.0 / (bandwidth * bandwidth);
        let mut value = 0.0;
        for i in 0..z.len() {
            let (mut total, mut pull) = (0.0, 0.0);
            for j in 0..z.len() {
                let equal = f64::from(u8::from(self.cells[i] == self.cells[j]));
                let centered = equal - mass[self.cells[i]] - mass[self.cells[j]] + same;
                let gap = z[i] - z[j];
                let term = self.shares[j] * centered * (-0.5 * gap * gap * inverse).exp();
                total += term;
                pull -= term * gap * inverse;
            }
            value += self.shares[i] * total;
            slope[i] = 2.0 * self.shares[i] * pull;
        }
        value
    }
}

fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        let e = z.exp();
        e / (1.0 + e)
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
