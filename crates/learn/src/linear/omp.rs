//! Orthogonal matching pursuit: one feature after another, each the one most correlated with what is left, and least squares of all
//! chosen ones after every choice.
//!
//! ```
//! use tove_learn::{Fit, linear::OrthogonalMatchingPursuit};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1], [-1.0, 0.0, 0.3], [0.0, -1.0, 0.0]]);
//! let model = OrthogonalMatchingPursuit::default().n_nonzero_coefs(Some(1)).fit(&x, &Tensor::from([3.0, 0.0, -3.0, 0.0]))?;
//! let w = model.coef().to_vec::<f64>();
//! assert!((w[0] - 3.0).abs() < 1e-12 && w[1..] == [0.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};

use super::centered::{Centred, dot};
use super::model::FittedLinear;
use crate::{Algorithm, Capabilities, LearnError, Result, Samples, Summary};

/// Least squares with few coefficients, chosen greedily, as scikit-learn's `OrthogonalMatchingPursuit`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct OrthogonalMatchingPursuit {
    /// Coefficients that are not 0; a tenth of the features without it. Not used with `tol`.
    #[hyper(range = "[1, inf)")]
    pub n_nonzero_coefs: Option<usize>,
    /// Features are added until the sum of squared residuals is at most this.
    #[hyper(range = "[0, inf)")]
    pub tol: Option<f64>,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// A fitted [`OrthogonalMatchingPursuit`].
pub type FittedOrthogonalMatchingPursuit = FittedLinear<OrthogonalMatchingPursuit>;

impl Algorithm for OrthogonalMatchingPursuit {
    type Fitted = FittedOrthogonalMatchingPursuit;
    const CAPABILITIES: Capabilities = Capabilities { accuracy: 1e-6, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedOrthogonalMatchingPursuit> {
        let data = Centred::of(Self::NAME, samples, self.fit_intercept)?;
        let d = samples.width();
        let most = match (self.tol, self.n_nonzero_coefs) {
            (Some(_), _) => d,
            (None, Some(wanted)) if wanted > d => {
                let problem = format!("n_nonzero_coefs is {wanted}, and there are {d} features; give at most {d}");
                return Err(LearnError::parameter(Self::NAME, problem));
            }
            (None, wanted) => wanted.unwrap_or((d / 10).max(1)),
        };
        let (mut chosen, mut coefficients): (Vec<usize>, Vec<f64>) = (Vec::new(), vec![0.0; d]);
        let mut summary = Summary::exact();
        while chosen.len() < most && !self.tol.is_some_and(|tol| square(&data, &coefficients) <= tol) {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: Self::NAME });
            }
            let residual = data.residual(&coefficients);
            let strength = |place: usize| dot(&data.columns[place], &residual).abs();
            let free = (0..d).filter(|place| !chosen.contains(place)).map(|place| (place, strength(place)));
            let best = free.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
            if best.1 <= f64::EPSILON * dot(&data.y, &data.y).sqrt() {
                break; // nothing is left to explain
            }
            chosen.push(best.0);
            let right = chosen.iter().map(|&place| dot(&data.columns[place], &data.y)).collect();
            let Some(solution) = data.solve(&chosen, right)? else {
                chosen.pop();
                summary.warn(format!(
                    "{}: ended after {} features, since the next one depends on them; ask for fewer",
                    Self::NAME,
                    chosen.len()
                ));
                break;
            };
            chosen.iter().zip(solution).for_each(|(&place, w)| coefficients[place] = w);
        }
        summary.iterations = chosen.len();
        let intercept = data.intercept(&coefficients);
        FittedLinear::single(self, samples, (coefficients, intercept), summary, ())
    }
}

fn square(data: &Centred, coefficients: &[f64]) -> f64 {
    data.residual(coefficients).iter().map(|rest| rest * rest).sum()
}
