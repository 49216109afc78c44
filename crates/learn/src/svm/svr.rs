//! Regression with kernels and a tube of width ε in which errors cost nothing.

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use super::rows::KernelRows;
use super::smo::{Problem, solve};
use crate::kernel::{Expansion, Features, Gamma, KernelFunction, KernelKind};
use crate::{Abilities, About, Fit, Model, Record, Restore, Result, Rows, Samples, Task};

/// Support vector regression: min ½‖w‖² + C Σ wᵢ max(0, |yᵢ − f(xᵢ)| − ε), in the space of a kernel.
///
/// ```
/// use tove_learn::{Fit, Predict, KernelKind, svm::Svr};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([0.0, 1.0, 2.0]));
/// let model = Svr::default().kernel(KernelKind::Linear).epsilon(0.1).c(10.0).tol(1e-6).fit(&x, &y)?;
/// // The flattest line within 0.1 of the points.
/// assert!((model.predict(&Tensor::from([[2.0]]))?.item::<f64>() - 1.9).abs() < 1e-4);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "SVR")]
pub struct Svr {
    /// The kernel.
    #[hyper(default = KernelKind::Rbf)]
    pub kernel: KernelKind,
    /// Degree of the polynomial kernel.
    #[hyper(default = 3, range = "[0, 64]")]
    pub degree: usize,
    /// γ of the kernel: scale, auto or a number.
    #[hyper(default = Gamma::Scale, range = "[0, inf)")]
    pub gamma: Gamma,
    /// c₀ of the polynomial and the sigmoid kernel.
    #[hyper(default = 0.0)]
    pub coef0: f64,
    /// The violation of optimality at which to stop.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Cost of an error beyond the tube.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub c: f64,
    /// Half the width of the tube.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub epsilon: f64,
    /// Whether samples that seem settled are set aside during the fit.
    #[hyper(default = true)]
    pub shrinking: bool,
    /// Memory for kernel values in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Steps at most; ten million or 100 n without it.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
}

/// A fitted [`Svr`].
#[derive(Clone, Debug)]
pub struct FittedSvr {
    about: About,
    expansion: Expansion, // coefficients (support vectors, 1)
    bias: f64,
    support: Vec<i64>,
}

impl Svr {
    /// Fits with a kernel of the user's own in place of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedSvr> {
        self.validate()?;
        self.solve(kernel.clone(), samples)
    }

    fn solve(&self, function: KernelFunction, samples: &Samples) -> Result<FittedSvr> {
        let (x, y) = (samples.x().dense(Self::NAME)?, samples.targets(Self::NAME)?);
        let weights = samples.weights().map_or_else(|| vec![1.0; y.len()], Tensor::to_f64_vec);
        let places: Vec<usize> = (0..y.len()).filter(|&place| weights[place] > 0.0).collect();
        let high: Vec<f64> = places.iter().map(|&place| self.c * weights[place]).collect();
        let problem = Problem {
            target: places.iter().map(|&place| y[place]).collect(),
            low: high.iter().map(|high| -high).collect(),
            high,
            epsilon: self.epsilon,
            tolerance: self.tol,
            limit: self.max_iter.unwrap_or(10_000_000.max(100 * y.len())),
            shrinking: self.shrinking,
        };
        let features = Features::new(x, function)?;
        let mut rows = KernelRows::new(&features, &places, (self.cache_size * 1e6) as usize)?;
        let solution = solve(&problem, &mut rows)?;
        drop(rows);
        let summary = super::svc::summary(Self::NAME, std::slice::from_ref(&solution));
        let kept: Vec<usize> = (0..places.len()).filter(|&i| solution.beta[i] != 0.0).collect();
        let support: Vec<usize> = kept.iter().map(|&i| places[i]).collect();
        let beta: Vec<f64> = kept.iter().map(|&i| solution.beta[i]).collect();
        let beta = Tensor::try_from_vec(beta, [kept.len(), 1])?;
        let points = crate::rows::take(x, &support)?;
        Ok(FittedSvr {
            about: About::of(self, samples).summary(summary),
            expansion: Expansion::new(features.function().clone(), &points, &beta)?,
            bias: solution.bias,
            support: support.iter().map(|&place| place as i64).collect(),
        })
    }
}

impl FittedSvr {
    /// Places of the support vectors among the samples.
    pub fn support(&self) -> &[i64] {
        &self.support
    }

    /// The support vectors, (s, d).
    pub fn support_vectors(&self) -> &Tensor {
        self.expansion.points()
    }

    /// Coefficients of the support vectors, (s, 1).
    pub fn dual_coef(&self) -> &Tensor {
        self.expansion.coefficients()
    }

    /// The constant.
    pub fn intercept(&self) -> f64 {
        self.bias
    }

    /// The kernel with its numbers.
    pub fn kernel(&self) -> &KernelFunction {
        self.expansion.function()
    }

    /// Reads a record of a model with a kernel of the user's own, which is given again.
    pub fn restore_with(record: &Record, kernel: Option<&KernelFunction>) -> Result<FittedSvr> {
        let settings: Svr = record.settings(Svr::NAME, 1)?;
        let (expansion, support) = (Expansion::read(record, kernel)?, record.integers("support")?);
        if expansion.coefficients().dims() != [support.len(), 1] {
            return Err(record.wrong("coefficients", "a column with a row per support vector"));
        }
        let about = About::read(&settings, record, expansion.width(), expansion.dtype())?;
        Ok(FittedSvr { about, expansion, bias: record.real("bias")?, support })
    }
}

impl Fit for Svr {
    type Fitted = FittedSvr;
    const NAME: &'static str = "SVR";
    const TASK: Task = Task::Regression;
    const ABILITIES: Abilities = Abilities { weights: true, accuracy: 5e-3, ..Abilities::PLAIN };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedSvr> {
        let x = samples.x().dense(Self::NAME)?;
        let weights = samples.weights().map(Tensor::to_f64_vec);
        self.solve(self.kernel.function(self.degree, self.gamma, self.coef0, x, weights.as_deref())?, samples)
    }
}

impl Model for FittedSvr {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let values = self.expansion.at(x.dense(self.name())?)?.to_f64_vec();
        let values: Vec<f64> = values.iter().map(|value| value + self.bias).collect();
        Ok(Tensor::from_slice(&values).to_dtype(self.dtype()))
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.expansion.write(&mut record);
        record.put_tensor("support", &Tensor::from_slice(&self.support));
        record.put_real("bias", self.bias);
        record
    }
}

impl Restore for FittedSvr {
    fn restore(record: &Record) -> Result<FittedSvr> {
        FittedSvr::restore_with(record, None)
    }
}
