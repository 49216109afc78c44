//! Ordinary least squares: w* = argmin ‖y − Xw − 1b‖².
//!
//! At the minimum the residual is orthogonal to the columns, Xᵀ(y − Xw) = 0: the normal equations XᵀX w = Xᵀy. They are
//! formed in one pass over X and solved by Cholesky factorization if that is accurate; otherwise a second pass in a
//! better basis gives the accuracy of a QR decomposition (`solve.rs`). Dependent columns and wide matrices get the
//! minimum-norm solution. Sparse rows with many columns are solved by LSQR without centering them in memory. `positive`
//! constrains the coefficients to be non-negative (`positive.rs`).
//!
//! ```
//! use tove_learn::{Fit, Predict, linear::LinearRegression};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 3.0]]);
//! let model = LinearRegression::default().fit(&x, &Tensor::from([6.0, 8.0, 9.0, 11.0]))?;
//! assert!((model.predict(&Tensor::from([[3.0, 5.0]]))?.at::<f64>(&[0]) - 16.0).abs() < 1e-10);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::DType;
use tove_tensor::linalg::{ILL_CONDITIONED, ILL_CONDITIONED_F32};

use super::fold_moments::LinearMoments;
use super::lsqr::lsqr;
use super::model::{Extras, FittedLinear};
use super::moments::{Data, Moments};
use super::positive::positive;
use super::report::OlsReport;
use super::solve::{Problem, Solution, prefers_iterations};
use crate::{Algorithm, Capabilities, Fitted, Result, Rows, Samples, Summary};
use tove_tensor::Tensor;

/// Ordinary least-squares linear regression, for one or multiple outputs.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LinearRegression {
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Singular values below this fraction of the largest are treated as zero; by default max(n, d) times machine
    /// epsilon.
    #[hyper(default = None, range = "[0, 1)")]
    pub tol: Option<f64>,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
}

/// What is known of the matrix behind a [`LinearRegression`].
#[derive(Clone, Debug, PartialEq, Fitted)]
pub struct Conditions {
    rank: usize,
    #[fitted(nonfinite)]
    condition: f64,
}

impl Extras for Conditions {}

/// A fitted [`LinearRegression`].
pub type FittedLinearRegression = FittedLinear<LinearRegression, Conditions>;

impl FittedLinearRegression {
    /// Rank of the (centered) feature matrix; with `positive`, the number of non-zero coefficients.
    pub fn rank(&self) -> usize {
        self.extras().rank
    }

    /// Condition number s_max/s_min of the centered columns, each scaled to unit length: an upper bound if the columns
    /// are far from dependent, exact if they are nearly dependent, infinite if they are dependent.
    pub fn condition(&self) -> f64 {
        self.extras().condition
    }

    /// Returns standard errors, t values and residual variance for the training samples.
    pub fn report(&self, x: impl Into<Rows>, y: &Tensor) -> Result<OlsReport> {
        OlsReport::of(self, &Samples::new(x, y)?)
    }
}

impl Algorithm for LinearRegression {
    type Fitted = FittedLinearRegression;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        multi_output: true,
        checks_finite: true,
        partial_fit: true,
        moments: true,
        ..Capabilities::REGRESSOR
    };

    fn capabilities_of(settings: &LinearRegression) -> Capabilities {
        Capabilities { partial_fit: !settings.positive, moments: !settings.positive, ..Self::CAPABILITIES }
    }

    fn train_moments(&self, moments: &LinearMoments) -> Result<Option<FittedLinearRegression>> {
        let problem = Problem { alpha: 0.0, centered: self.fit_intercept, tol: self.tol, covariance: false };
        let Some(solution) = problem.solve_clear(&moments.centered(self.fit_intercept))? else { return Ok(None) };
        self.fitted(&solution, moments.shape, moments.rows, Summary::exact()).map(Some)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedLinearRegression> {
        let data = Data::several(samples)?;
        let (solution, summary) = match self.positive {
            true => self.solve_positive(&data)?,
            false => (self.solve(&data, false)?, Summary::exact()),
        };
        self.fitted(&solution, (samples.y()?.rank() == 2, samples.x().dtype()), samples.len(), summary)
    }
}

impl LinearRegression {
    /// Creates the model from a solution. Warns if the columns are dependent.
    pub(super) fn fitted(
        &self,
        solution: &Solution,
        (several, dtype): (bool, DType),
        rows: usize,
        mut summary: Summary,
    ) -> Result<FittedLinearRegression> {
        let width = solution.coefficients.len() / solution.intercepts.len().max(1);
        if let (Some(text), false) = (warning(solution, width, rows, dtype), self.positive) {
            summary.warn(text);
        }
        let extras = Conditions { rank: solution.rank, condition: solution.condition };
        FittedLinear::of_shape(self, solution, (several, dtype), summary, extras)
    }

    pub(super) fn solve(&self, data: &Data, covariance: bool) -> Result<Solution> {
        if prefers_iterations(data.x) {
            return lsqr(data, 0.0, self.fit_intercept);
        }
        Problem { alpha: 0.0, centered: self.fit_intercept, tol: self.tol, covariance }.solve(data)
    }
}

impl LinearRegression {
    /// Solves each output independently with non-negative coefficients.
    fn solve_positive(&self, data: &Data) -> Result<(Solution, Summary)> {
        let moments = Moments::of(data, self.fit_intercept)?;
        let (d, m) = (moments.width, moments.outputs);
        let (mut coefficients, mut intercepts) = (vec![0.0; d * m], moments.mean_y.clone());
        let mut ends = Vec::with_capacity(m);
        for output in 0..m {
            let end = positive(&moments, output)?;
            for (j, w) in end.coefficients.iter().enumerate() {
                coefficients[j * m + output] = *w;
                intercepts[output] -= w * moments.mean_x[j];
            }
            ends.push(end);
        }
        let rank = (0..d).filter(|j| coefficients[j * m..(j + 1) * m].iter().any(|&w| w > 0.0)).count();
        let summary = Summary::iterative(
            Self::NAME,
            ends.iter().map(|end| end.iterations).max().unwrap_or(0),
            ends.iter().all(|end| end.converged),
            ends.iter().fold(0.0, |largest, end| largest.max(end.residual)),
            f64::NAN,
        );
        let summary = Summary { objective: None, ..summary };
        Ok((Solution { coefficients, intercepts, rank, condition: 1.0, covariance: None }, summary))
    }
}

/// Returns a warning if the columns are dependent, which is always the case with fewer samples than columns, or
/// ill-conditioned: with a condition number above [`ILL_CONDITIONED`] (1e8), or [`ILL_CONDITIONED_F32`] (3e3) for
/// features of type f32.
fn warning(solution: &Solution, width: usize, samples: usize, dtype: DType) -> Option<String> {
    let limit = if dtype == DType::F32 { ILL_CONDITIONED_F32 } else { ILL_CONDITIONED };
    let fix = "drop near-collinear columns, or add a penalty with Ridge";
    if solution.rank < width {
        return Some(format!(
            "LinearRegression: only {} of {width} columns are independent in {samples} samples; using the minimum-norm \
             coefficients; {fix}",
            solution.rank
        ));
    }
    (solution.condition > limit).then(|| {
        format!(
            "LinearRegression: the condition number {:.1e} of the columns exceeds {limit:.0e}, so the coefficients are \
             sensitive to small changes of the data; {fix}",
            solution.condition
        )
    })
}
