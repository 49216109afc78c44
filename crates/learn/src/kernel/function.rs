//! A kernel with all its parameters.

use std::fmt;
use std::sync::Arc;

use tove_optim::settings::Choice;
use tove_tensor::Tensor;

use super::Gamma;
use crate::{LearnError, Record, Result, Rows};

/// Kernels that can be selected by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum KernelKind {
    /// xᵀz.
    Linear,
    /// (γ xᵀz + c₀)^degree.
    Poly,
    /// exp(−γ ‖x − z‖²).
    #[default]
    Rbf,
    /// tanh(γ xᵀz + c₀).
    Sigmoid,
    /// The rows are kernel values with all training samples.
    Precomputed,
}

impl KernelKind {
    /// Creates the kernel of this kind for these features.
    pub fn function(
        self,
        degree: usize,
        gamma: Gamma,
        coef0: f64,
        x: impl Into<Rows>,
        weights: Option<&[f64]>,
    ) -> Result<KernelFunction> {
        let x = x.into();
        let gamma = || gamma.resolve(&x, weights);
        Ok(match self {
            KernelKind::Linear => KernelFunction::Linear,
            KernelKind::Poly => KernelFunction::Poly { gamma: gamma()?, coef0, degree },
            KernelKind::Rbf => KernelFunction::Rbf { gamma: gamma()? },
            KernelKind::Sigmoid => KernelFunction::Sigmoid { gamma: gamma()?, coef0 },
            KernelKind::Precomputed => KernelFunction::precomputed(x.dense("a precomputed kernel")?)?,
        })
    }
}

/// A user-defined function of two rows.
pub type Custom = Arc<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync>;

/// A kernel with its parameters.
#[derive(Clone)]
pub enum KernelFunction {
    /// xᵀz.
    Linear,
    /// (γ xᵀz + c₀)^degree.
    Poly {
        /// γ.
        gamma: f64,
        /// c₀.
        coef0: f64,
        /// The power.
        degree: usize,
    },
    /// exp(−γ ‖x − z‖²).
    Rbf {
        /// γ.
        gamma: f64,
    },
    /// tanh(γ xᵀz + c₀).
    Sigmoid {
        /// γ.
        gamma: f64,
        /// c₀.
        coef0: f64,
    },
    /// Rows are kernel values with all training samples: k(x, the j-th sample) = xⱼ.
    Precomputed {
        /// Number of training samples.
        samples: usize,
    },
    /// Any symmetric function; it should be positive semidefinite (see [`is_psd`](super::is_psd)).
    Custom(Custom),
}

impl fmt::Debug for KernelFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelFunction::Linear => f.write_str("Linear"),
            KernelFunction::Poly { gamma, coef0, degree } => {
                write!(f, "Poly {{ gamma: {gamma}, coef0: {coef0}, degree: {degree} }}")
            }
            KernelFunction::Rbf { gamma } => write!(f, "Rbf {{ gamma: {gamma} }}"),
            KernelFunction::Sigmoid { gamma, coef0 } => write!(f, "Sigmoid {{ gamma: {gamma}, coef0: {coef0} }}"),
            KernelFunction::Precomputed { samples } => write!(f, "Precomputed {{ samples: {samples} }}"),
            KernelFunction::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl KernelFunction {
    /// Creates a kernel from a function of two rows of f64.
    pub fn custom(function: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static) -> KernelFunction {
        KernelFunction::Custom(Arc::new(function))
    }

    /// Creates the kernel whose values for n training samples are given as a matrix (n, n).
    pub fn precomputed(k: &Tensor) -> Result<KernelFunction> {
        match *k.dims() {
            [n, m] if n == m => Ok(KernelFunction::Precomputed { samples: n }),
            _ => {
                let problem = format!("a precomputed kernel of shape {}", k.shape());
                Err(LearnError::data(
                    "kernel",
                    problem,
                    "give the kernel's values of all training samples with each other",
                ))
            }
        }
    }

    /// Evaluates k(x, z) for two rows by definition; for a precomputed kernel, z is the unit vector of a sample.
    ///
    /// ```
    /// use tove_learn::kernel::KernelFunction;
    /// let kernel = KernelFunction::Poly { gamma: 1.0, coef0: 1.0, degree: 2 };
    /// assert_eq!(kernel.of(&[1.0, 2.0], &[3.0, 0.5]), 25.0);
    /// ```
    pub fn of(&self, x: &[f64], z: &[f64]) -> f64 {
        let dot = || x.iter().zip(z).map(|(x, z)| x * z).sum::<f64>();
        match self {
            KernelFunction::Linear | KernelFunction::Precomputed { .. } => dot(),
            KernelFunction::Poly { gamma, coef0, degree } => {
                (gamma * dot() + coef0).powi(i32::try_from(*degree).unwrap_or(i32::MAX))
            }
            KernelFunction::Rbf { gamma } => {
                (-gamma * x.iter().zip(z).map(|(x, z)| (x - z) * (x - z)).sum::<f64>()).exp()
            }
            KernelFunction::Sigmoid { gamma, coef0 } => (gamma * dot() + coef0).tanh(),
            KernelFunction::Custom(function) => function(x, z),
        }
    }

    /// Whether k(x + c, z + c) = k(x, z).
    pub(crate) fn is_shift_invariant(&self) -> bool {
        matches!(self, KernelFunction::Rbf { .. })
    }

    /// Writes the kernel to a record. The code of a custom kernel cannot be stored.
    pub(crate) fn write(&self, record: &mut Record) {
        let (name, numbers) = match self {
            KernelFunction::Linear => ("linear", [0.0; 3]),
            KernelFunction::Poly { gamma, coef0, degree } => ("poly", [*gamma, *coef0, *degree as f64]),
            KernelFunction::Rbf { gamma } => ("rbf", [*gamma, 0.0, 0.0]),
            KernelFunction::Sigmoid { gamma, coef0 } => ("sigmoid", [*gamma, *coef0, 0.0]),
            KernelFunction::Precomputed { samples } => ("precomputed", [*samples as f64, 0.0, 0.0]),
            KernelFunction::Custom(_) => ("custom", [0.0; 3]),
        };
        record.put("kernel", name);
        record.put_tensor("kernel_numbers", &Tensor::from(numbers));
    }

    /// Reads what [`KernelFunction::write`] wrote; `custom` replaces a function that could not be stored.
    pub(crate) fn read(record: &Record, custom: Option<&KernelFunction>) -> Result<KernelFunction> {
        let numbers = record.vector("kernel_numbers")?;
        let &[gamma, coef0, degree] = &numbers[..] else {
            return Err(record.wrong("kernel_numbers", "three numbers"));
        };
        Ok(match (record.text("kernel")?, custom) {
            ("linear", _) => KernelFunction::Linear,
            ("poly", _) => KernelFunction::Poly { gamma, coef0, degree: degree as usize },
            ("rbf", _) => KernelFunction::Rbf { gamma },
            ("sigmoid", _) => KernelFunction::Sigmoid { gamma, coef0 },
            ("precomputed", _) => KernelFunction::Precomputed { samples: gamma as usize },
            ("custom", Some(function)) => function.clone(),
            ("custom", None) => {
                let problem =
                    format!("the {} was fitted with a custom kernel function, which cannot be saved", record.kind());
                return Err(LearnError::model(problem, "give the function again: `restore_with(record, kernel)`"));
            }
            _ => return Err(record.wrong("kernel", "the name of a kernel")),
        })
    }
}
