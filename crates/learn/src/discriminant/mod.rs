//! Discriminant analysis: each class has a normal distribution.
//!
//! With one covariance matrix for all classes the boundaries are linear ([`LinearDiscriminantAnalysis`]); with one for each
//! class they are quadratic ([`QuadraticDiscriminantAnalysis`]). Sample weights are not supported, as in scikit-learn.

mod covariance;
mod linear;
mod quadratic;

pub use covariance::Shrinkage;
pub use linear::{DiscriminantSolver, FittedLinearDiscriminantAnalysis, LinearDiscriminantAnalysis};
pub use quadratic::{FittedQuadraticDiscriminantAnalysis, QuadraticDiscriminantAnalysis, QuadraticSolver};

use crate::{Algorithm, Labels, LearnError, Result, Samples};

/// The samples of each class, minus their mean, in double precision.
struct Groups {
    labels: Labels,
    /// Number of features.
    d: usize,
    /// Centered rows of each class, row-major.
    centered: Vec<Vec<f64>>,
    /// (m, d), row-major.
    means: Vec<f64>,
    /// Share of each class.
    priors: Vec<f64>,
    /// Largest absolute value of each feature.
    largest: Vec<f64>,
}

impl Groups {
    fn of<A: Algorithm>(samples: &Samples, given: Option<&[f64]>) -> Result<Groups> {
        let labels = Labels::several(A::NAME, samples.y()?)?;
        let values = samples.x().dense(A::NAME)?.to_f64_vec();
        let (n, d, m) = (samples.len(), samples.width(), labels.classes().len());
        let mut centered = vec![Vec::new(); m];
        let mut largest = vec![0.0f64; d];
        for (row, &code) in values.chunks(d.max(1)).zip(labels.codes()) {
            centered[code].extend_from_slice(row);
            largest.iter_mut().zip(row).for_each(|(largest, x)| *largest = largest.max(x.abs()));
        }
        let (mut means, mut priors) = (Vec::with_capacity(m * d), Vec::with_capacity(m));
        for rows in &mut centered {
            let mut mean = subtract_mean(rows, d);
            // A second time, for the rounding errors of the first mean: constant features become exactly 0.
            let rest = subtract_mean(rows, d);
            mean.iter_mut().zip(rest).for_each(|(mean, rest)| *mean += rest);
            means.extend(mean);
            priors.push((rows.len() / d.max(1)) as f64 / n as f64);
        }
        if means.iter().chain(centered.iter().flatten()).any(|value| !value.is_finite()) {
            return Err(too_large::<A>());
        }
        if let Some(given) = given {
            if given.len() != m || (given.iter().sum::<f64>() - 1.0).abs() > 1e-6 {
                let problem = format!("`priors` must be {m} positive numbers with sum 1, one for each class");
                return Err(LearnError::parameter(A::NAME, problem));
            }
            priors = given.to_vec();
        }
        Ok(Groups { labels, d, centered, means, priors, largest })
    }

    /// Covariance matrix within the classes, weighted by their shares.
    fn covariance(&self, shrinkage: Option<Shrinkage>) -> Vec<f64> {
        let mut sum = vec![0.0; self.d * self.d];
        for (rows, prior) in self.centered.iter().zip(&self.priors) {
            let own = covariance::covariance(rows, self.d, shrinkage);
            sum.iter_mut().zip(own).for_each(|(sum, value)| *sum += prior * value);
        }
        sum
    }

    /// All rows minus their mean.
    fn around_common_mean(&self) -> Vec<f64> {
        let groups = self.centered.iter().zip(self.means.chunks(self.d));
        let mut rows: Vec<f64> = groups
            .flat_map(|(rows, mean)| {
                rows.chunks(self.d).flat_map(move |row| row.iter().zip(mean).map(|(x, mean)| x + mean))
            })
            .collect();
        subtract_mean(&mut rows, self.d);
        subtract_mean(&mut rows, self.d);
        rows
    }
}

/// Subtracts the mean of each column from the rows and returns it.
fn subtract_mean(rows: &mut [f64], d: usize) -> Vec<f64> {
    let n = (rows.len() / d.max(1)) as f64;
    let mut mean = vec![0.0; d];
    for row in rows.chunks(d.max(1)) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n);
    }
    for row in rows.chunks_mut(d.max(1)) {
        row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
    }
    mean
}

#[cold]
fn too_large<A: Algorithm>() -> LearnError {
    let problem = "the covariances of the features are not finite numbers";
    LearnError::data(
        A::NAME,
        problem,
        "the features are too large or too small; scale them, for example with StandardScaler",
    )
}
