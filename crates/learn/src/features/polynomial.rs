//! Polynomial features: all products of features up to a degree.
//!
//! Two features (a, b) with degree 2 become (1, a, b, a², ab, b²): ordered by degree, then in the order of the
//! features, like scikit-learn. A linear model on them is a polynomial. Each product is one multiplication of a feature
//! with a product of lower degree.
//!
//! ```
//! use tove_learn::{Fit, Transform, features::PolynomialFeatures};
//! use tove_tensor::Tensor;
//! let powers = PolynomialFeatures::default().fit(&Tensor::from([[2.0, 3.0]]), None)?;
//! assert_eq!(powers.transform(&Tensor::from([[2.0, 3.0]]))?.to_vec::<f64>(), [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;
use tove_tensor::kernels::simd::{Kernel, dispatch};

use super::columns::{by_rows, read_about};
use super::polynomial_sparse::Products;
use crate::rows::survey;
use crate::{
    About, Algorithm, Capabilities, LearnError, Model, Real, Record, Restore, Result, Rows, Samples, memory, with_real,
};

/// Maximum number of features; more indicates a mistake in the degree.
const MAX_OUTPUTS: usize = 10_000_000;

/// All products of features up to a degree, like scikit-learn's `PolynomialFeatures`; sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct PolynomialFeatures {
    /// Maximum degree.
    #[hyper(default = 2, range = "[0, 64]")]
    pub degree: usize,
    /// Whether to exclude powers, that is products with a repeated feature.
    #[hyper(default = false)]
    pub interaction_only: bool,
    /// Whether to include a column of ones.
    #[hyper(default = true)]
    pub include_bias: bool,
}

/// A fitted [`PolynomialFeatures`].
#[derive(Clone, Debug)]
pub struct FittedPolynomialFeatures {
    about: About,
    settings: PolynomialFeatures,
    products: Vec<Product>,
    runs: Vec<Run>,
}

/// Products of one feature with consecutive products of one degree less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) feature: usize,
    /// Index of the first other factor among the products.
    pub(super) from: usize,
    pub(super) count: usize,
}

/// A product: a feature times an earlier product, or a feature alone.
#[derive(Clone, Copy, Debug)]
struct Product {
    feature: usize,
    /// Index of the other factor among the products.
    rest: Option<usize>,
}

impl Algorithm for PolynomialFeatures {
    type Fitted = FittedPolynomialFeatures;
    const CAPABILITIES: Capabilities = Capabilities { sparse: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedPolynomialFeatures> {
        FittedPolynomialFeatures::new(About::of(self, samples), self.clone())
    }
}

impl FittedPolynomialFeatures {
    fn new(about: About, settings: PolynomialFeatures) -> Result<FittedPolynomialFeatures> {
        let width = about.width;
        let (mut products, mut runs): (Vec<Product>, Vec<Run>) = (Vec::new(), Vec::new());
        if settings.degree == 0 && !settings.include_bias {
            let problem =
                "degree 0 without `include_bias` gives no features; increase the degree or set `include_bias`";
            return Err(LearnError::parameter("PolynomialFeatures", problem));
        }
        // Products of one degree less whose first feature is j start at starts[j].
        let mut starts: Vec<usize> = Vec::new();
        for degree in 1..=settings.degree {
            let end = products.len();
            let mut next = Vec::with_capacity(width + 1);
            for feature in 0..width {
                next.push(products.len());
                if degree == 1 {
                    products.push(Product { feature, rest: None });
                    continue;
                }
                let first = feature + usize::from(settings.interaction_only);
                let from = starts.get(first).copied().unwrap_or(end);
                if products.len() + (end - from.min(end)) > MAX_OUTPUTS {
                    let problem = format!(
                        "degree {} of {width} features gives more than {MAX_OUTPUTS} products; lower the degree, or select features",
                        settings.degree
                    );
                    return Err(LearnError::parameter("PolynomialFeatures", problem));
                }
                products.extend((from..end).map(|rest| Product { feature, rest: Some(rest) }));
                runs.push(Run { feature, from, count: end.saturating_sub(from) });
            }
            starts = next;
        }
        let about = about.outputs(products.len() + usize::from(settings.include_bias));
        Ok(FittedPolynomialFeatures { about, settings, products, runs })
    }

    /// Checks that the products fit in memory and do not overflow.
    fn check_products(&self, x: &Tensor) -> Result<()> {
        let (n, outputs) = (x.dims()[0], self.outputs());
        let what = format!("a matrix of {n} x {outputs} products");
        let fix = "lower the degree, or select features first";
        memory::require(PolynomialFeatures::NAME, what, memory::matrix(n, outputs, x.dtype().size()), fix)?;
        let (largest, max) = with_real!(x.dtype(), T => (survey(x.as_slice::<T>()?).largest, <T as Real>::MAX));
        if largest > 1.0 && largest.ln() * self.settings.degree as f64 > max.ln() {
            let problem = format!("products of {} features of size {largest:e} overflow", self.settings.degree);
            return Err(LearnError::data(PolynomialFeatures::NAME, problem, "scale the features, or lower the degree"));
        }
        Ok(())
    }

    /// The power of each input feature in each output (outputs × inputs).
    pub fn powers(&self) -> Vec<Vec<usize>> {
        let mut powers: Vec<Vec<usize>> = Vec::with_capacity(self.products.len());
        for product in &self.products {
            let mut power = product.rest.map_or_else(|| vec![0; self.about.width], |rest| powers[rest].clone());
            power[product.feature] += 1;
            powers.push(power);
        }
        if self.settings.include_bias {
            powers.insert(0, vec![0; self.about.width]);
        }
        powers
    }
}

impl Model for FittedPolynomialFeatures {
    fn about(&self) -> &About {
        &self.about
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let name = |power: &Vec<usize>| {
            let parts: Vec<String> = power
                .iter()
                .enumerate()
                .filter(|&(_, &power)| power > 0)
                .map(|(j, &power)| {
                    let input = inputs.get(j).cloned().unwrap_or_else(|| format!("x{j}"));
                    if power == 1 { input } else { format!("{input}^{power}") }
                })
                .collect();
            if parts.is_empty() { "1".to_owned() } else { parts.join(" ") }
        };
        self.powers().iter().map(name).collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let x = match x {
            Rows::Dense(x) => x.try_contiguous()?,
            Rows::Sparse(x) => {
                let products = Products {
                    who: self.about.name,
                    degree: self.settings.degree,
                    interaction_only: self.settings.interaction_only,
                    bias: usize::from(self.settings.include_bias),
                    outputs: self.outputs(),
                    runs: &self.runs,
                };
                return Ok(Rows::Sparse(products.of(x)?));
            }
        };
        let (n, outputs) = (x.dims()[0], self.outputs());
        self.check_products(&x)?;
        let bias = usize::from(self.settings.include_bias);
        with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut out = Tensor::try_zeros([n, outputs], x.dtype())?;
            by_rows(out.as_mut_slice::<T>()?, outputs, |first, out| {
                let x = &values[first * self.about.width..];
                dispatch(Powers { x, out, width: self.about.width, outputs, bias, degree: self.settings.degree, runs: &self.runs });
            });
            Ok(Rows::Dense(out))
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        // A matrix of outputs times features is much larger than the model; it is omitted if it would be too large.
        let numbers = self.outputs().saturating_mul(self.about.width);
        if numbers > MAX_OUTPUTS {
            return Vec::new();
        }
        let powers: Vec<i64> = self.powers().into_iter().flatten().map(|power| power as i64).collect();
        let shaped = Tensor::try_from_vec(powers, [self.outputs(), self.about.width]);
        shaped.map_or_else(|_| Vec::new(), |powers| vec![("powers", powers)])
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings.to_json());
        record.put("width", self.about.width);
        record
    }
}

/// Computes the products of a range of rows.
struct Powers<'a, T> {
    x: &'a [T],
    out: &'a mut [T],
    width: usize,
    outputs: usize,
    bias: usize,
    degree: usize,
    runs: &'a [Run],
}

impl<T: Real> Kernel for Powers<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Powers { x, out, width, outputs, bias, degree, runs } = self;
        for (row, out) in out.chunks_exact_mut(outputs).enumerate() {
            let x = &x[row * width..][..width];
            let (ones, products) = out.split_at_mut(bias);
            ones.fill(<T as Real>::ONE);
            if degree == 0 {
                continue;
            }
            products[..width].copy_from_slice(x);
            let mut index = width;
            for run in runs {
                let (earlier, later) = products.split_at_mut(index);
                let factor = x[run.feature];
                for (out, &rest) in later[..run.count].iter_mut().zip(&earlier[run.from..][..run.count]) {
                    *out = factor * rest;
                }
                index += run.count;
            }
        }
    }
}

impl Restore for FittedPolynomialFeatures {
    fn restore(record: &Record) -> Result<FittedPolynomialFeatures> {
        let settings: PolynomialFeatures = record.settings(PolynomialFeatures::NAME, 1)?;
        settings.validate()?;
        let width = record.count("width")?;
        if width == 0 || width > MAX_OUTPUTS {
            return Err(record.wrong("width", "a number of features"));
        }
        let about = read_about(&settings, record)?;
        FittedPolynomialFeatures::new(about, settings)
    }
}
