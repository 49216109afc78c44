//! Imputation of missing values: NaN is replaced by the mean, the median, the most frequent value or a constant.
//!
//! ```
//! use tove_learn::features::{Fill, Imputer};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::{DType, Tensor};
//! let x = Tensor::from([[1.0, 2.0], [f64::NAN, 2.0], [4.0, 8.0]]);
//! let imputer = Imputer::default().strategy(Fill::Mean).add_indicator(true).fit(&x, None)?;
//! assert_eq!(imputer.statistics(), [2.5, 4.0]);
//! assert_eq!(imputer.transform(&x)?.to_vec::<f64>(), [1.0, 2.0, 0.0, 2.5, 2.0, 1.0, 4.0, 8.0, 0.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::Tensor;

use super::columns::{each, extremes, map, sorted, without_infinite};
use super::robust::quantile;
use super::standard::means;
use crate::baseline::weighted_median;
use crate::{
    About, Algorithm, Capabilities, Fitted, LearnError, Model, Real, Record, Result, Rows, Samples, with_real,
};

/// The imputation strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Fill {
    /// The mean of the column.
    #[default]
    Mean,
    /// The median of the column.
    Median,
    /// The most frequent value; ties go to the smallest.
    MostFrequent,
    /// `fill_value`.
    Constant,
}

/// Imputes missing values, like scikit-learn's `SimpleImputer`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Imputer {
    /// The imputation strategy: mean, median, most_frequent or constant.
    #[hyper(default = Fill::Mean)]
    pub strategy: Fill,
    /// The value for the constant strategy.
    #[hyper(default = 0.0, range = "(-inf, inf)")]
    pub fill_value: f64,
    /// Whether to add an indicator column for each column with missing values during fit.
    #[hyper(default = false)]
    pub add_indicator: bool,
    /// Whether to keep columns without any values, as 0 (or `fill_value`); otherwise they are removed.
    #[hyper(default = false)]
    pub keep_empty_features: bool,
}

/// A fitted [`Imputer`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = Imputer, complete = FittedImputer::counted)]
pub struct FittedImputer {
    about: About,
    settings: Imputer,
    /// The imputation value of each column; NaN for a column that is removed.
    #[fitted(shape = "features", nonfinite)]
    statistics: Vec<f64>,
    #[fitted(shape = "features", hidden)]
    gaps: Vec<bool>,
}

impl FittedImputer {
    fn new(about: About, settings: Imputer, statistics: Vec<f64>, gaps: Vec<bool>) -> FittedImputer {
        let mut fitted = FittedImputer { about, settings, statistics, gaps };
        fitted.about.outputs = fitted.kept().len() + fitted.indicators().len();
        fitted
    }

    fn counted(self, _record: &Record) -> Result<FittedImputer> {
        Ok(FittedImputer::new(self.about, self.settings, self.statistics, self.gaps))
    }

    /// The columns with missing values during fit.
    pub fn columns_with_gaps(&self) -> Vec<usize> {
        (0..self.about.width).filter(|&column| self.gaps[column]).collect()
    }

    fn kept(&self) -> Vec<usize> {
        (0..self.about.width).filter(|&column| !self.statistics[column].is_nan()).collect()
    }

    fn indicators(&self) -> Vec<usize> {
        if self.settings.add_indicator { self.columns_with_gaps() } else { Vec::new() }
    }
}

impl Algorithm for Imputer {
    type Fitted = FittedImputer;
    const CAPABILITIES: Capabilities =
        Capabilities { missing: true, fills: true, weights: true, sparse: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &Imputer) -> Capabilities {
        Capabilities { inverse_transform: settings.add_indicator, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedImputer> {
        let (x, weights) = (samples.x(), samples.weights());
        without_infinite(x)?;
        let width = x.width();
        let mut gaps = vec![false; width];
        each(x, |_, column, value| gaps[column] |= value.is_nan())?;
        let mut statistics = vec![f64::NAN; width];
        match self.strategy {
            Fill::Constant => extremes(x)?.0.iter().zip(&mut statistics).for_each(|(low, fill)| {
                *fill = if low.is_nan() { f64::NAN } else { self.fill_value }; // NaN: the column has no values
            }),
            Fill::Median | Fill::MostFrequent if weights.is_some() => {
                let weights = weights.map_or(Vec::new(), Tensor::to_f64_vec);
                statistics = self.weighted(x, &weights)?;
            }
            Fill::Mean => {
                let weights = weights.map_or(vec![1.0; x.len()], Tensor::to_f64_vec);
                statistics = means(x, &weights)?.1;
            }
            Fill::Median => sorted(x, |column, values| statistics[column] = quantile(values, 0.5))?,
            Fill::MostFrequent => sorted(x, |column, values| statistics[column] = most_frequent(values))?,
        }
        let empty: Vec<usize> = (0..width).filter(|&column| statistics[column].is_nan()).collect();
        if self.keep_empty_features {
            let fill = if self.strategy == Fill::Constant { self.fill_value } else { 0.0 };
            empty.iter().for_each(|&column| statistics[column] = fill);
        } else if !empty.is_empty() {
            crate::warn(&format!("Imputer: the columns {empty:?} have only missing values and are removed"));
        }
        Ok(FittedImputer::new(About::of(self, samples), self.clone(), statistics, gaps))
    }
}

impl Imputer {
    /// Weighted medians or most frequent values of the columns.
    fn weighted(&self, x: &Rows, weights: &[f64]) -> Result<Vec<f64>> {
        let dense = x.to_dense()?;
        let (width, values) = (x.width(), dense.to_f64_vec());
        let column = |column: usize| {
            let numbers = values.iter().skip(column).step_by(width.max(1)).copied().zip(weights.iter().copied());
            let (numbers, weights): (Vec<f64>, Vec<f64>) = numbers.filter(|pair| !pair.0.is_nan()).unzip();
            match self.strategy {
                Fill::Median => weighted_median(&numbers, &weights),
                _ => weighted_mode(&numbers, &weights),
            }
        };
        Ok((0..width).map(column).collect())
    }
}

/// The value with the largest weight; ties go to the smallest.
fn weighted_mode(numbers: &[f64], weights: &[f64]) -> f64 {
    let mut pairs: Vec<(f64, f64)> =
        numbers.iter().copied().zip(weights.iter().copied()).filter(|pair| pair.1 > 0.0).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut best = (0.0, f64::NAN);
    for run in pairs.chunk_by(|a, b| a.0 == b.0) {
        let weight: f64 = run.iter().map(|pair| pair.1).sum();
        if weight > best.0 {
            best = (weight, run[0].0);
        }
    }
    best.1
}

/// The most frequent of sorted values.
fn most_frequent(sorted: &[f64]) -> f64 {
    let mut best = (0, f64::NAN);
    for run in sorted.chunk_by(|a, b| a == b) {
        if run.len() > best.0 {
            best = (run.len(), run[0]);
        }
    }
    best.1
}

impl Model for FittedImputer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let name = |column: usize| inputs.get(column).cloned().unwrap_or_else(|| format!("x{column}"));
        let missing = self.indicators().into_iter().map(|column| format!("missing_{}", name(column)));
        self.kept().into_iter().map(name).chain(missing).collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let (kept, marked) = (self.kept(), self.indicators());
        if kept.len() == self.about.width && marked.is_empty() {
            return map(x, |column, value| if value.is_nan() { self.statistics[column] } else { value });
        }
        let x = x.dense(Imputer::NAME)?;
        let width = kept.len() + marked.len();
        with_real!(x.dtype(), T => {
            let mut out = Vec::with_capacity(x.dims()[0] * width);
            for row in x.as_slice::<T>()?.chunks(self.about.width.max(1)) {
                let gap = |column: usize| row[column].f64().is_nan();
                out.extend(kept.iter().map(|&c| if gap(c) { T::of(self.statistics[c]) } else { row[c] }));
                out.extend(marked.iter().map(|&c| T::of(f64::from(gap(c)))));
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [x.dims()[0], width])?))
        })
    }

    /// Needs the indicators, which mark missing values; removed columns are restored as NaN.
    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        if !self.settings.add_indicator {
            let fix = "fit with `add_indicator` set to true";
            return Err(LearnError::unsupported(Imputer::NAME, "has no missing-value indicators to invert", fix));
        }
        let x = x.dense(Imputer::NAME)?;
        let (kept, marked) = (self.kept(), self.indicators());
        let width = kept.len() + marked.len();
        with_real!(x.dtype(), T => {
            let mut out = vec![T::of(f64::NAN); x.dims()[0] * self.about.width];
            for (row, out) in x.as_slice::<T>()?.chunks(width.max(1)).zip(out.chunks_mut(self.about.width.max(1))) {
                kept.iter().zip(row).for_each(|(&column, &value)| out[column] = value);
                for (&column, &mark) in marked.iter().zip(&row[kept.len()..]) {
                    if mark != <T as Real>::ZERO {
                        out[column] = T::of(f64::NAN);
                    }
                }
            }
            Ok(Rows::Dense(Tensor::try_from_vec(out, [x.dims()[0], self.about.width])?))
        })
    }
}
