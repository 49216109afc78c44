//! Polynomial features: all products of features up to a degree.
//!
//! Two features (a, b) of degree 2 become (1, a, b, a², ab, b²): first by degree, then in the order of the features, as
//! scikit-learn lists them. A linear model of them is a polynomial. Each product is one multiplication, of a feature with a
//! product of lower degree.
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

use super::columns::by_rows;
use super::polynomial_sparse::Products;
use crate::rows::survey;
use crate::{
    About, Algorithm, Attributes, Capabilities, Fitted, LearnError, Model, Real, Record, Result, Rows, Samples, memory,
    with_real,
};

/// Most features that are made; more is a mistake in the degree rather than a wish.
const MOST: usize = 10_000_000;

/// All products of features up to a degree, as scikit-learn's `PolynomialFeatures`; sparse rows stay sparse.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct PolynomialFeatures {
    /// Highest degree.
    #[hyper(default = 2, range = "[0, 64]")]
    pub degree: usize,
    /// Whether to leave out products in which a feature comes twice.
    #[hyper(default = false)]
    pub interaction_only: bool,
    /// Whether to begin with a column of ones.
    #[hyper(default = true)]
    pub include_bias: bool,
}

/// A fitted [`PolynomialFeatures`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = PolynomialFeatures, complete = FittedPolynomialFeatures::expanded)]
#[fitted(attributes = FittedPolynomialFeatures::powers_attribute)]
pub struct FittedPolynomialFeatures {
    about: About,
    settings: PolynomialFeatures,
    #[fitted(skip)]
    products: Vec<Product>,
    #[fitted(skip)]
    runs: Vec<Run>,
}

/// Products of one feature with adjacent products of one degree less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) feature: usize,
    /// Place of the first other factor among the products.
    pub(super) from: usize,
    pub(super) count: usize,
}

/// A product: a feature times an earlier product, or times nothing.
#[derive(Clone, Copy, Debug)]
struct Product {
    feature: usize,
    /// Place of the other factor among the products.
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
            let problem = "degree 0 without a column of ones leaves no feature; raise the degree or include the ones";
            return Err(LearnError::parameter("PolynomialFeatures", problem));
        }
        // Products of one degree less whose first feature is j begin at starts[j].
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
                if products.len() + (end - from.min(end)) > MOST {
                    let problem = format!(
                        "degree {} of {width} features makes more than {MOST} products; lower the degree, or choose features",
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

    /// The products, which files do not hold.
    fn expanded(self, record: &Record) -> Result<FittedPolynomialFeatures> {
        self.settings.validate()?;
        if self.about.width > MOST {
            return Err(record.wrong("width", "a number of features"));
        }
        FittedPolynomialFeatures::new(self.about, self.settings)
    }

    fn powers_attribute(&self) -> Attributes {
        // A matrix of outputs times features is much larger than what it is made from; where it cannot be had, there is none.
        let numbers = self.outputs().saturating_mul(self.about.width);
        if numbers > MOST {
            return Vec::new();
        }
        let powers: Vec<i64> = self.powers().into_iter().flatten().map(|power| power as i64).collect();
        let shaped = Tensor::try_from_vec(powers, [self.outputs(), self.about.width]);
        shaped.map_or_else(|_| Vec::new(), |powers| vec![("powers", powers)])
    }

    /// That the products fit into memory, and that none of them overflows.
    fn require_room(&self, x: &Tensor) -> Result<()> {
        let (n, outputs) = (x.dims()[0], self.outputs());
        let what = format!("a matrix of {n} x {outputs} products");
        let fix = "lower the degree, or choose features first";
        memory::require(PolynomialFeatures::NAME, what, memory::matrix(n, outputs, x.dtype().size()), fix)?;
        let (largest, most) = with_real!(x.dtype(), T => (survey(x.as_slice::<T>()?).largest, <T as Real>::MAX));
        if largest > 1.0 && largest.ln() * self.settings.degree as f64 > most.ln() {
            let problem = format!("products of {} features of size {largest:e} overflow", self.settings.degree);
            return Err(LearnError::data(PolynomialFeatures::NAME, problem, "scale the features, or lower the degree"));
        }
        Ok(())
    }

    /// The power of each input feature (outputs × inputs) in each output.
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
    crate::fitted_methods!();

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
        self.require_room(&x)?;
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
}

/// The products of some rows.
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
            let mut place = width;
            for run in runs {
                let (earlier, later) = products.split_at_mut(place);
                let factor = x[run.feature];
                for (out, &rest) in later[..run.count].iter_mut().zip(&earlier[run.from..][..run.count]) {
                    *out = factor * rest;
                }
                place += run.count;
            }
        }
    }
}
