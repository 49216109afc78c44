//! Small estimators that tests of model selection need: a polynomial and a nearest neighbour.
#![allow(dead_code, clippy::unwrap_used)]

use tove_learn::{About, Algorithm, Capabilities, Fit, LearnError, Model, Record, Restore, Result, Rows, Samples};
use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor, TryLinalg};

/// A polynomial of the first feature by least squares, in Chebyshev's basis on [−1, 1].
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Polynomial")]
pub struct Polynomial {
    /// The degree.
    #[hyper(default = 1, range = "[0, 100]")]
    pub degree: usize,
    /// Penalty of the squared coefficients.
    #[hyper(default = 0.0, range = "[0, inf)")]
    pub alpha: f64,
}

pub struct FittedPolynomial {
    about: About,
    pub coefficients: Vec<f64>,
}

fn basis(degree: usize, x: &Tensor) -> Tensor {
    let (n, d) = (x.dims()[0], x.dims()[1]);
    let numbers = x.to_f64_vec();
    let mut rows = Vec::with_capacity(n * (degree + 1));
    for row in numbers.chunks(d) {
        let (mut before, mut now) = (1.0, row[0]);
        for _ in 0..=degree {
            rows.push(before);
            (before, now) = (now, 2.0 * row[0] * now - before);
        }
    }
    Tensor::from_vec(rows, [n, degree + 1])
}

impl Algorithm for Polynomial {
    type Fitted = FittedPolynomial;
    const CAPABILITIES: Capabilities = Capabilities::REGRESSOR;

    fn train(&self, samples: &Samples) -> Result<FittedPolynomial> {
        let x = samples.x().dense(Self::NAME)?;
        if self.degree == 13 {
            return Err(LearnError::data(Self::NAME, "degree 13 brings bad luck", "choose another"));
        }
        let x = basis(self.degree, x);
        let y = Tensor::from_slice(&samples.y()?.to_f64_vec());
        let w = if self.alpha > 0.0 {
            let gram = x.t().matmul(&x) + Tensor::eye(self.degree + 1, DType::F64) * self.alpha;
            gram.try_solve(&x.t().matmul(&y))?
        } else {
            x.try_pinv(None)?.matmul(&y)
        };
        Ok(FittedPolynomial { about: About::of(self, samples), coefficients: w.to_f64_vec() })
    }
}

impl Model for FittedPolynomial {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let x = basis(self.coefficients.len() - 1, x.dense("Polynomial")?);
        Ok(x.matmul(&Tensor::from_slice(&self.coefficients)))
    }
    fn record(&self) -> Record {
        let mut record = self.about.record();
        record.put_tensor("w", &Tensor::from_slice(&self.coefficients));
        record
    }
}

impl Restore for FittedPolynomial {
    fn restore(record: &Record) -> Result<FittedPolynomial> {
        let coefficients = record.vector("w")?;
        let settings: Polynomial = record.settings("Polynomial", 1)?;
        Ok(FittedPolynomial { about: About::read(&settings, record, 1, DType::F64)?, coefficients })
    }
}

/// The label of the nearest sample: learns everything by heart.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Nearest")]
pub struct Nearest {
    /// How many samples are asked.
    #[hyper(default = 1, range = "[1, 1]")]
    pub neighbours: usize,
}

pub struct FittedNearest {
    about: About,
    x: Vec<f64>,
    y: Vec<i64>,
}

impl Algorithm for Nearest {
    type Fitted = FittedNearest;
    const CAPABILITIES: Capabilities = Capabilities { probabilities: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedNearest> {
        let labels = tove_learn::Labels::several(Self::NAME, samples.y()?)?;
        Ok(FittedNearest {
            about: About::of(self, samples).classes(labels.classes()),
            x: samples.x().dense(Self::NAME)?.to_f64_vec(),
            y: labels.codes().iter().map(|&code| labels.classes()[code]).collect(),
        })
    }
}

impl Model for FittedNearest {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let x = x.dense(Nearest::NAME)?.to_f64_vec();
        let nearest = |row: &[f64]| {
            let distance = |other: &[f64]| row.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            let mut best = (f64::INFINITY, 0);
            for (place, other) in self.x.chunks(self.width()).enumerate() {
                if distance(other) < best.0 {
                    best = (distance(other), place);
                }
            }
            self.y[best.1]
        };
        Ok(Tensor::from_slice(&x.chunks(self.width()).map(nearest).collect::<Vec<i64>>()))
    }
    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let labels = self.predict_rows(x)?.to_vec::<i64>();
        let row = |label: &i64| self.classes().iter().map(|class| f64::from(class == label)).collect::<Vec<_>>();
        let rows: Vec<f64> = labels.iter().flat_map(row).collect();
        Ok(Tensor::from_vec(rows, [labels.len(), self.classes().len()]))
    }
    fn record(&self) -> Record {
        let mut record = self.about.record();
        record.put_tensor("x", &Tensor::from_vec(self.x.clone(), [self.y.len(), self.width()]));
        record.put_tensor("y", &Tensor::from_slice(&self.y));
        record
    }
}

impl Restore for FittedNearest {
    fn restore(record: &Record) -> Result<FittedNearest> {
        let samples = Samples::new(record.tensor("x")?, record.tensor("y")?)?;
        Nearest::default().fit_samples(&samples)
    }
}

/// n points of a cubic with noise of deviation 0.3 on [−1, 1].
pub fn cubic(n: usize, seed: u64) -> Samples {
    let key = Key::new(seed);
    let x: Vec<f64> = key.fold(0).uniform([n], DType::F64).to_f64_vec().iter().map(|u| 2.0 * u - 1.0).collect();
    let noise = key.fold(1).normal([n], DType::F64).to_f64_vec();
    let y: Vec<f64> = x.iter().zip(&noise).map(|(x, e)| 4.0 * x * x * x - 2.0 * x + 0.5 + 0.3 * e).collect();
    Samples::new(Tensor::from_vec(x, [n, 1]), &Tensor::from_slice(&y)).unwrap()
}
