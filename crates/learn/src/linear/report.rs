//! Statistical summary of a least-squares fit: σ² = ‖r‖² / (n − p), standard errors √(σ² diag (ZᵀZ)⁻¹) for Z = (1, X),
//! t = estimate / error, p = P(|T| ≥ |t|) for Student's T with n − p degrees of freedom, and confidence intervals
//! estimate ± t* · error, valid for normal errors.

use std::fmt;

use tove_tensor::TryOps;

use super::least_squares::FittedLinearRegression;
use super::moments::{Data, Moments};
use crate::diagnostics::{student_critical, student_two_sided};
use crate::{LearnError, Result, Samples};

/// Standard errors, t values and residual variance of a [`LinearRegression`](super::LinearRegression) with one output.
///
/// ```
/// use tove_learn::{Fit, linear::LinearRegression};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [3.0]]), Tensor::from([0.0, 1.0, 1.0, 2.0]));
/// let report = LinearRegression::default().fit(&x, &y)?.report(&x, &y)?;
/// assert!((report.residual_variance - 0.1).abs() < 1e-12 && report.degrees_of_freedom == 2.0);
/// assert!((report.t_values[1] - 0.6 / 0.02f64.sqrt()).abs() < 1e-9);
/// let (low, high) = report.intervals(0.95)[1];
/// assert_eq!(report.p_values[1] > 0.05, low < 0.0 && high > 0.0); // the two say the same
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OlsReport {
    /// Estimates: the intercept first, if there is one, followed by the coefficients.
    pub estimates: Vec<f64>,
    /// Their standard errors.
    pub standard_errors: Vec<f64>,
    /// Estimate divided by standard error.
    pub t_values: Vec<f64>,
    /// Probability of a t value at least as far from 0 if the true coefficient is 0.
    pub p_values: Vec<f64>,
    /// ‖r‖² / (n − p).
    pub residual_variance: f64,
    /// n − p.
    pub degrees_of_freedom: f64,
    /// Fraction of explained variance (R²).
    pub r_squared: f64,
    /// Condition number of the scaled columns.
    pub condition: f64,
    intercept: bool,
}

impl OlsReport {
    pub(super) fn of(model: &FittedLinearRegression, samples: &Samples) -> Result<OlsReport> {
        let who = "OlsReport";
        let intercept = model.estimator().fit_intercept;
        let (n, d) = (samples.len(), samples.width());
        let parameters = d + usize::from(intercept);
        if model.estimator().positive {
            let fix = "fit without `positive`, or estimate the standard errors by bootstrapping";
            return Err(LearnError::unsupported(
                who,
                "does not provide standard errors for coefficients fixed at 0",
                fix,
            ));
        }
        if n <= parameters {
            let fix = "give more samples than there are parameters".to_owned();
            return Err(LearnError::TooFew { who, found: n, needed: parameters + 1, fix });
        }
        samples.x().check_width(who, model.coef().dims().last().copied().unwrap_or(0))?;
        let data = Data::single(who, samples)?;
        let solution = model.estimator().solve(&data, true)?;
        let Some(covariance) = solution.covariance.as_ref() else {
            let problem = "the columns are dependent, so the standard errors are undefined";
            return Err(LearnError::data(who, problem, "drop columns until all are independent"));
        };
        let moments = Moments::of(&data, intercept)?;
        let predicted = model.linear(samples.x())?.to_dtype(tove_tensor::DType::F64);
        let residual = predicted.try_sub(&tove_tensor::Tensor::try_from_vec(data.y.clone(), [n])?)?;
        let squares: f64 = residual.to_f64_vec().iter().map(|r| r * r).sum();
        let degrees_of_freedom = (n - parameters) as f64;
        let variance = squares / degrees_of_freedom;
        let mut estimates = solution.coefficients.clone();
        let mut errors: Vec<f64> = (0..d).map(|j| (variance * covariance[j * d + j]).sqrt()).collect();
        if intercept {
            // Var b = σ² (1/n + x̄ᵀ C x̄).
            let spread: f64 =
                (0..d * d).map(|index| moments.mean_x[index / d] * covariance[index] * moments.mean_x[index % d]).sum();
            estimates.insert(0, solution.intercepts[0]);
            errors.insert(0, (variance * (1.0 / n as f64 + spread)).sqrt());
        }
        let t_values: Vec<f64> = estimates.iter().zip(&errors).map(|(estimate, error)| estimate / error).collect();
        Ok(OlsReport {
            estimates,
            standard_errors: errors,
            p_values: t_values.iter().map(|&t| student_two_sided(t, degrees_of_freedom)).collect(),
            t_values,
            residual_variance: variance,
            degrees_of_freedom,
            r_squared: 1.0 - squares / moments.squares[0],
            condition: solution.condition,
            intercept,
        })
    }
}

impl OlsReport {
    /// Confidence intervals of the estimates at this level, such as 0.95.
    pub fn intervals(&self, level: f64) -> Vec<(f64, f64)> {
        let far = student_critical(1.0 - level, self.degrees_of_freedom);
        let pairs = self.estimates.iter().zip(&self.standard_errors);
        pairs.map(|(estimate, error)| (estimate - far * error, estimate + far * error)).collect()
    }
}

impl fmt::Display for OlsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["estimate", "std. error", "t", "P(>|t|)", "0.025", "0.975"];
        let [estimate, error, t, p, low, high] = heads;
        writeln!(f, "{:>12} {estimate:>14} {error:>14} {t:>10} {p:>10} {low:>14} {high:>14}", "")?;
        let intervals = self.intervals(0.95);
        for (index, estimate) in self.estimates.iter().enumerate() {
            let name = match (self.intercept, index) {
                (true, 0) => "intercept".to_owned(),
                (intercept, index) => format!("x{}", index - usize::from(intercept)),
            };
            let (error, t, p) = (self.standard_errors[index], self.t_values[index], self.p_values[index]);
            let (low, high) = intervals[index];
            writeln!(f, "{name:>12} {estimate:>14.6} {error:>14.6} {t:>10.3} {p:>10.3e} {low:>14.6} {high:>14.6}")?;
        }
        let (variance, freedom, r) = (self.residual_variance, self.degrees_of_freedom, self.r_squared);
        writeln!(f, "residual variance {variance:.6} on {freedom} degrees of freedom, R² {r:.4}")
    }
}
