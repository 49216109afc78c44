//! Polynomial features: all products of features up to a degree.
//!
//! Two features (a, b) of degree 2 become (1, a, b, a², ab, b²): first by degree, then in the order of the features, as
//! scikit-learn lists them. A linear model of them is a polynomial. Each product is one multiplication, of a feature with a
//! product of lower degree.
//!
//! ```
//! use tove_learn::{Apply, FitTransform, features::PolynomialFeatures};
//! use tove_tensor::Tensor;
//! let powers = PolynomialFeatures::default().fit(&Tensor::from([[2.0, 3.0]]))?;
//! assert_eq!(powers.transform(&Tensor::from([[2.0, 3.0]]))?.to_vec::<f64>(), [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use crate::{FitTransform, LearnError, Real, Record, RestoreTransform, Result, Rows, Transform, with_real};

/// Most features that are made; more is a mistake in the degree rather than a wish.
const MOST: usize = 10_000_000;

/// All products of features up to a degree.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "PolynomialFeatures")]
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
#[derive(Clone, Debug)]
pub struct FittedPolynomialFeatures {
    settings: PolynomialFeatures,
    width: usize,
    products: Vec<Product>,
}

/// A product: a feature times an earlier product, or times nothing.
#[derive(Clone, Copy, Debug)]
struct Product {
    feature: usize,
    /// Place of the other factor among the products.
    rest: Option<usize>,
}

impl FitTransform for PolynomialFeatures {
    type Fitted = FittedPolynomialFeatures;
    const NAME: &'static str = "PolynomialFeatures";

    fn fit_rows(&self, x: &Rows, _weights: Option<&Tensor>) -> Result<FittedPolynomialFeatures> {
        FittedPolynomialFeatures::new(self.clone(), x.width())
    }
}

impl FittedPolynomialFeatures {
    fn new(settings: PolynomialFeatures, width: usize) -> Result<FittedPolynomialFeatures> {
        let mut products: Vec<Product> = Vec::new();
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
            }
            starts = next;
        }
        Ok(FittedPolynomialFeatures { settings, width, products })
    }

    /// The power of each input feature (outputs × inputs) in each output.
    pub fn powers(&self) -> Vec<Vec<usize>> {
        let mut powers: Vec<Vec<usize>> = Vec::with_capacity(self.products.len());
        for product in &self.products {
            let mut power = product.rest.map_or_else(|| vec![0; self.width], |rest| powers[rest].clone());
            power[product.feature] += 1;
            powers.push(power);
        }
        if self.settings.include_bias {
            powers.insert(0, vec![0; self.width]);
        }
        powers
    }
}

impl Transform for FittedPolynomialFeatures {
    fn name(&self) -> &'static str {
        PolynomialFeatures::NAME
    }

    fn width(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.products.len() + usize::from(self.settings.include_bias)
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
        let x = x.dense(self.name())?.try_contiguous()?;
        let (n, outputs) = (x.dims()[0], self.outputs());
        let bias = usize::from(self.settings.include_bias);
        with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut out = vec![<T as Real>::ONE; n * outputs];
            for (row, out) in values.chunks_exact(self.width.max(1)).zip(out.chunks_exact_mut(outputs.max(1))) {
                for (place, product) in self.products.iter().enumerate() {
                    let rest = product.rest.map_or(<T as Real>::ONE, |rest| out[bias + rest]);
                    out[bias + place] = row[product.feature] * rest;
                }
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [n, outputs])?))
        })
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings.to_json());
        record.put("width", self.width);
        record
    }
}

impl RestoreTransform for FittedPolynomialFeatures {
    fn restore(record: &Record) -> Result<FittedPolynomialFeatures> {
        let settings: PolynomialFeatures = record.settings(PolynomialFeatures::NAME, 1)?;
        settings.validate()?;
        let width = record.count("width")?;
        if width == 0 || width > MOST {
            return Err(record.wrong("width", "a number of features"));
        }
        FittedPolynomialFeatures::new(settings, width)
    }
}
