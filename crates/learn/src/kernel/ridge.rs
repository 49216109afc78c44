//! Kernel ridge regression.
//!
//! min ½ Σ wᵢ (yᵢ − f(xᵢ))² + (α/2) ‖f‖² over functions f(x) = Σⱼ k(x, xⱼ) cⱼ has the solution c = (K + α I)⁻¹ y; with
//! weights c = S (S K S + α I)⁻¹ S y, where S = diag(√w). The matrix is positive definite, so Cholesky factorization is
//! used. With the linear kernel the predictions equal those of ridge regression without an intercept, at a cost of n³/3
//! instead of n d².

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::linalg::{Triangle, lstsq};
use tove_tensor::{Tensor, TryLinalg, TryOps};

use super::expansion::Expansion;
use super::{Features, Gamma, KernelFunction, KernelKind, kernel_matrix};
use crate::rows::first_not_finite;
use crate::{
    About, Algorithm, Attributes, Capabilities, Fitted, LearnError, Model, Reading, Real, Record, Result, Rows,
    Samples, Summary, with_real,
};

/// Ridge regression in the feature space of a kernel, for one or multiple outputs.
///
/// ```
/// use tove_learn::{Fit, Predict, kernel::{KernelKind, KernelRidge}};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([0.0, 1.0, 0.0]));
/// let model = KernelRidge::default().kernel(KernelKind::Rbf).gamma(Some(2.0)).alpha(1e-9).fit(&x, &y)?;
/// assert!((model.predict(&Tensor::from([[1.0]]))?.item::<f64>() - 1.0).abs() < 1e-6);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KernelRidge {
    /// Regularization strength.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// The kernel.
    #[hyper(default = KernelKind::Linear)]
    pub kernel: KernelKind,
    /// γ of the kernel; 1/d by default.
    #[hyper(default = None, range = "[0, inf)")]
    pub gamma: Option<f64>,
    /// Degree of the polynomial kernel.
    #[hyper(default = 3, range = "[0, 64]")]
    pub degree: usize,
    /// c₀ of the polynomial and sigmoid kernels.
    #[hyper(default = 1.0)]
    pub coef0: f64,
}

/// A fitted [`KernelRidge`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = KernelRidge, complete = FittedKernelRidge::matched, attributes = FittedKernelRidge::dual)]
pub struct FittedKernelRidge {
    about: About,
    #[fitted(flatten)]
    expansion: Expansion,
    /// Whether the targets were a matrix, so that predictions are.
    #[fitted(hidden)]
    several: bool,
}

impl FittedKernelRidge {
    /// The dual coefficients c: (n), or (n, m) for multiple outputs.
    pub fn dual_coef(&self) -> Result<Tensor> {
        self.shaped(self.expansion.coefficients())
    }

    /// The kernel with its parameters.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    fn shaped(&self, columns: &Tensor) -> Result<Tensor> {
        Ok(if self.several { columns.clone() } else { columns.try_reshape([columns.dims()[0]])? })
    }

    /// Reads a record of a model with a user-defined kernel, which must be passed again.
    pub fn restore_with(record: &Record, kernel: Option<&KernelFunction>) -> Result<FittedKernelRidge> {
        Self::read_state(&mut Reading::new(record)?.kernel(kernel))
    }

    fn matched(self, record: &Record) -> Result<FittedKernelRidge> {
        if self.several || self.expansion.coefficients().dims()[1] == 1 {
            return Ok(self);
        }
        Err(record.wrong("several", "true, as the coefficients have several columns"))
    }

    fn dual(&self) -> Attributes {
        let mut all: Attributes = self.dual_coef().ok().map(|dual_coef| ("dual_coef", dual_coef)).into_iter().collect();
        all.extend(self.expansion.named_points("X_fit"));
        all
    }
}

impl KernelRidge {
    /// Fits with a user-defined kernel instead of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedKernelRidge> {
        self.validate()?;
        let samples = &crate::estimator::admit(self, samples)?;
        super::require_answers(self.solve(kernel.clone(), samples)?, samples)
    }

    fn solve(&self, function: KernelFunction, samples: &Samples) -> Result<FittedKernelRidge> {
        let x = samples.x();
        let (n, several) = (samples.len(), samples.y()?.rank() == 2);
        let roots = samples.weights().map(|w| w.to_f64_vec().into_iter().map(f64::sqrt).collect::<Vec<_>>());
        let outputs = samples.y()?.numel() / n;
        // The matrix, its factor, and the workspace of the factorization.
        super::matrix::require_memory(Self::NAME, 3 * n, n, x.dtype().size())?;
        let matrix = with_real!(x.dtype(), T => {
            let mut k = kernel_matrix(&function, x, x)?.into_vec::<T>()?;
            for (i, row) in k.chunks_exact_mut(n).enumerate() {
                if let Some(roots) = &roots {
                    row.iter_mut().zip(roots).for_each(|(k, root)| *k *= T::of(root * roots[i]));
                }
                row[i] += T::of(self.alpha);
            }
            if first_not_finite(&k).is_some() {
                let fix = "scale the features, for example with `StandardScaler`, or choose a smaller `degree`";
                return Err(LearnError::data(Self::NAME, "the kernel values overflow", fix));
            }
            Tensor::try_from_vec(k, [n, n])?
        });
        let scale = |values: Vec<f64>| match &roots {
            None => values,
            Some(roots) => values.iter().enumerate().map(|(index, value)| value * roots[index / outputs]).collect(),
        };
        let right = Tensor::try_from_vec(scale(samples.y()?.to_f64_vec()), [n, outputs])?.to_dtype(x.dtype());
        let mut summary = Summary::exact();
        let solution = match matrix.try_cholesky() {
            Ok(factor) => {
                let half = factor.try_triangular_solve(&right, Triangle::LOWER)?;
                factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?
            }
            Err(error) if error.is_data() => {
                summary.warn(format!(
                    "{}: K + alpha I is singular; using the minimum-norm least-squares solution; increase `alpha`",
                    Self::NAME
                ));
                lstsq(&matrix, &right, None)?.solution
            }
            Err(error) => return Err(error.into()),
        };
        let dual = Tensor::try_from_vec(scale(solution.to_f64_vec()), [n, outputs])?;
        let indices: Vec<usize> = (0..n).collect();
        let expansion = Expansion::of(&Features::new(x, function)?, &indices, &dual)?;
        Ok(FittedKernelRidge { about: About::of(self, samples).summary(summary), expansion, several })
    }
}

impl Algorithm for KernelRidge {
    type Fitted = FittedKernelRidge;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, multi_output: true, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedKernelRidge> {
        let gamma = self.gamma.map_or(Gamma::Auto, Gamma::Value);
        self.solve(self.kernel.function(self.degree, gamma, self.coef0, samples.x(), None)?, samples)
    }
}

impl Model for FittedKernelRidge {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.shaped(&self.expansion.at(x)?)
    }
}
