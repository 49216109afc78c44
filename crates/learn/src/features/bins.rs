//! Discretization of features: bins of equal width, of equal frequency, or around k-means centers.
//!
//! ```
//! use tove_learn::features::{BinEncoding, KBinsDiscretizer};
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [40.0], [50.0]]);
//! let bins = KBinsDiscretizer::default().n_bins(3).encode(BinEncoding::Ordinal).fit(&x, None)?;
//! assert_eq!(bins.bin_edges(), [[0.0, 1.5, 21.5, 50.0]]);
//! assert_eq!(bins.transform(&x)?.to_vec::<f64>(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::Tensor;

use super::columns::{column, map};
use super::robust::quantile;
use crate::selection::in_parallel;
use crate::{
    About, Algorithm, Attributes, Capabilities, Csr, Fitted, Model, Real, Record, Result, Rows, Samples, with_real,
};

/// The strategy that defines the bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum BinStrategy {
    /// Bins of equal width.
    Uniform,
    /// Bins of equal frequency.
    #[default]
    Quantile,
    /// Bins of the values nearest to a center of one-dimensional k-means.
    Kmeans,
}

/// The encoding of bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum BinEncoding {
    /// One-hot, as sparse rows.
    #[default]
    Onehot,
    /// One-hot, as dense rows.
    #[choice(name = "onehot-dense")]
    OnehotDense,
    /// The index of the bin.
    Ordinal,
}

/// How quantiles are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum QuantileMethod {
    /// Linear interpolation between samples; does not support weights.
    Linear,
    /// The first sample at which the fraction is reached.
    InvertedCdf,
    /// The same, or the midpoint to the next sample if the fraction is met exactly.
    #[default]
    AveragedInvertedCdf,
}

/// Discretizes every feature into bins, like scikit-learn's `KBinsDiscretizer`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KBinsDiscretizer {
    /// Number of bins of each feature.
    #[hyper(default = 5, range = "[2, inf)")]
    pub n_bins: usize,
    /// The encoding: onehot, onehot-dense or ordinal.
    #[hyper(default = BinEncoding::Onehot)]
    pub encode: BinEncoding,
    /// The strategy: uniform, quantile or kmeans.
    #[hyper(default = BinStrategy::Quantile)]
    pub strategy: BinStrategy,
    /// How quantiles are computed: linear, inverted_cdf or averaged_inverted_cdf.
    #[hyper(default = QuantileMethod::AveragedInvertedCdf)]
    pub quantile_method: QuantileMethod,
}

/// A fitted [`KBinsDiscretizer`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = KBinsDiscretizer, complete = FittedKBinsDiscretizer::ascending)]
#[fitted(attributes = FittedKBinsDiscretizer::n_bins)]
pub struct FittedKBinsDiscretizer {
    about: About,
    settings: KBinsDiscretizer,
    #[fitted(shape = "features, *", stored = "bin_edges", hidden)]
    edges: Vec<Vec<f64>>,
}

impl Algorithm for KBinsDiscretizer {
    type Fitted = FittedKBinsDiscretizer;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, inverse_transform: true, ..Capabilities::TRANSFORMER };

    fn capabilities_of(settings: &KBinsDiscretizer) -> Capabilities {
        let linear = settings.strategy == BinStrategy::Quantile && settings.quantile_method == QuantileMethod::Linear;
        Capabilities { weights: !linear, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedKBinsDiscretizer> {
        let (values, d) = (samples.x().dense(Self::NAME)?.to_f64_vec(), samples.width());
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let edges = in_parallel(d, |feature| self.edges(&column(&values, d, feature), &weights));
        for (feature, edges) in edges.iter().enumerate() {
            if edges.len() - 1 < self.n_bins {
                let left = edges.len() - 1;
                let text = format!("KBinsDiscretizer: feature {feature} has only {left} bins wider than 1e-8");
                crate::warn(&format!("{text}; lower `n_bins`"));
            }
        }
        Ok(FittedKBinsDiscretizer::new(About::of(self, samples), self.clone(), edges))
    }
}

impl KBinsDiscretizer {
    /// The bin edges of a feature; for a constant one, its value twice.
    fn edges(&self, values: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut samples: Vec<(f64, f64)> =
            values.iter().copied().zip(weights.iter().copied()).filter(|sample| sample.1 > 0.0).collect();
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(&(low, _)), Some(&(high, _))) = (samples.first(), samples.last()) else { return vec![0.0, 0.0] };
        if low == high {
            return vec![low, high];
        }
        let fraction = |i: usize| i as f64 / self.n_bins as f64;
        // Halving avoids overflow of the difference.
        let between =
            |fraction: f64| if fraction == 1.0 { high } else { low + 2.0 * ((high / 2.0 - low / 2.0) * fraction) };
        let uniform = || (0..=self.n_bins).map(|i| between(fraction(i))).collect::<Vec<f64>>();
        let edges = match self.strategy {
            BinStrategy::Uniform => return uniform(),
            BinStrategy::Quantile => (0..=self.n_bins).map(|i| self.quantile(&samples, fraction(i))).collect(),
            BinStrategy::Kmeans => {
                let centers = one_dimensional(&samples, uniform().windows(2).map(|two| (two[0] + two[1]) / 2.0));
                let middles = centers.windows(2).map(|two| (two[0] + two[1]) / 2.0);
                std::iter::once(low).chain(middles).chain([high]).collect::<Vec<f64>>()
            }
        };
        let wide = |i: &usize| *i == 0 || edges[*i] - edges[i - 1] > 1e-8;
        let kept: Vec<f64> = (0..edges.len()).filter(wide).map(|i| edges[i]).collect();
        if kept.len() > 1 { kept } else { vec![low, high] }
    }

    /// The value at a fraction of the weight of sorted samples.
    fn quantile(&self, samples: &[(f64, f64)], fraction: f64) -> f64 {
        if self.quantile_method == QuantileMethod::Linear {
            return quantile(&samples.iter().map(|sample| sample.0).collect::<Vec<_>>(), fraction);
        }
        let total: f64 = samples.iter().map(|sample| sample.1).sum();
        let (wanted, slack) = (fraction * total, 1e-12 * total);
        let mut sum = 0.0;
        let index = samples.iter().position(|sample| {
            sum += sample.1;
            sum >= wanted - slack
        });
        let index = index.unwrap_or(samples.len() - 1);
        let exact = (sum - wanted).abs() <= slack && self.quantile_method == QuantileMethod::AveragedInvertedCdf;
        match samples.get(index + 1) {
            Some(next) if exact && fraction > 0.0 => 0.5 * samples[index].0 + 0.5 * next.0,
            _ => samples[index].0,
        }
    }
}

/// Centers of one-dimensional k-means over sorted, weighted values, by Lloyd's iterations from `start`.
fn one_dimensional(samples: &[(f64, f64)], start: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut centers: Vec<f64> = start.collect();
    let total: f64 = samples.iter().map(|sample| sample.1).sum();
    let mean = samples.iter().map(|sample| sample.0 * (sample.1 / total)).sum::<f64>();
    let variance = samples.iter().map(|sample| (sample.0 - mean).powi(2) * (sample.1 / total)).sum::<f64>();
    let mut empty = vec![false; centers.len()];
    for _ in 0..300 {
        let (mut sums, mut counts) = (vec![0.0; centers.len()], vec![0.0; centers.len()]);
        let mut nearest = 0;
        for &(value, weight) in samples {
            while nearest + 1 < centers.len() && (value - centers[nearest + 1]).abs() < (value - centers[nearest]).abs()
            {
                nearest += 1;
            }
            sums[nearest] += weight * value;
            counts[nearest] += weight;
        }
        empty = counts.iter().map(|count| *count == 0.0).collect();
        let mut moved = 0.0;
        for ((center, sum), count) in centers.iter_mut().zip(sums).zip(counts).filter(|(_, count)| *count > 0.0) {
            moved += (sum / count - *center).powi(2);
            *center = sum / count;
        }
        if moved <= 1e-4 * variance {
            break;
        }
    }
    // A center without samples makes no bin.
    let mut full: Vec<f64> =
        centers.into_iter().zip(empty).filter(|(_, empty)| !empty).map(|(center, _)| center).collect();
    full.sort_unstable_by(f64::total_cmp);
    full
}

impl FittedKBinsDiscretizer {
    fn new(about: About, settings: KBinsDiscretizer, edges: Vec<Vec<f64>>) -> FittedKBinsDiscretizer {
        let outputs = match settings.encode {
            BinEncoding::Ordinal => edges.len(),
            _ => edges.iter().map(|edges| edges.len() - 1).sum(),
        };
        FittedKBinsDiscretizer { about: about.outputs(outputs), settings, edges }
    }

    fn ascending(self, record: &Record) -> Result<FittedKBinsDiscretizer> {
        if self.edges.iter().any(|list| list.len() < 2 || !list.is_sorted()) {
            return Err(record.wrong("bin_edges", "lists of ascending edges"));
        }
        Ok(FittedKBinsDiscretizer::new(self.about, self.settings, self.edges))
    }

    fn n_bins(&self) -> Attributes {
        let bins: Vec<i64> = self.edges.iter().map(|edges| edges.len() as i64 - 1).collect();
        vec![("n_bins", Tensor::from_slice(&bins))]
    }

    /// The edges of the bins of each feature; of a constant feature, which has one bin, its value twice.
    pub fn bin_edges(&self) -> &[Vec<f64>] {
        &self.edges
    }

    fn bin(&self, feature: usize, value: f64) -> usize {
        let edges = &self.edges[feature];
        edges[1..edges.len() - 1].partition_point(|edge| *edge <= value)
    }

    /// The first column of each feature.
    fn starts(&self) -> Vec<usize> {
        let ends = self.edges.iter().scan(0, |end, edges| {
            *end += edges.len() - 1;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }
}

impl Model for FittedKBinsDiscretizer {
    crate::fitted_methods!();

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let name = |feature: usize| inputs.get(feature).cloned().unwrap_or_else(|| format!("x{feature}"));
        if self.settings.encode == BinEncoding::Ordinal {
            return (0..self.about.width).map(name).collect();
        }
        let bins = |feature: usize| (0..self.edges[feature].len() - 1).map(move |bin| (feature, bin));
        let all = (0..self.about.width).flat_map(bins);
        all.map(|(feature, bin)| format!("{}_{bin}.0", name(feature))).collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let dense = x.dense(self.about.name)?;
        if self.settings.encode == BinEncoding::Ordinal {
            return map(x, |feature, value| self.bin(feature, value) as f64);
        }
        let (d, n, starts) = (self.about.width, x.len(), self.starts());
        let mut indices = Vec::with_capacity(n * d);
        with_real!(dense.dtype(), T => {
            for (index, value) in dense.as_slice::<T>()?.iter().enumerate() {
                let feature = index % d;
                indices.push((starts[feature] + self.bin(feature, value.f64())) as u32);
            }
        });
        let ones = Tensor::try_full([indices.len()], 1.0, dense.dtype())?;
        let sparse = Csr::new((0..=n).map(|row| row * d).collect(), indices, ones, self.about.outputs)?;
        match self.settings.encode {
            BinEncoding::OnehotDense => Ok(Rows::Dense(sparse.to_dense()?)),
            _ => Ok(Rows::Sparse(sparse)),
        }
    }

    /// Returns the midpoint of each value's bin.
    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        let middle = |feature: usize, bin: usize| {
            let edges = &self.edges[feature];
            let bin = bin.min(edges.len() - 2);
            0.5 * edges[bin] + 0.5 * edges[bin + 1]
        };
        if self.settings.encode == BinEncoding::Ordinal {
            return map(x, |feature, value| middle(feature, value.max(0.0) as usize));
        }
        let (rows, starts, width) = (x.to_dense()?.to_f64_vec(), self.starts(), self.about.outputs);
        let mut out = Vec::with_capacity(x.len() * self.about.width);
        for row in rows.chunks(width.max(1)) {
            for (feature, two) in starts.windows(2).enumerate() {
                let own = &row[two[0]..two[1]];
                let bin = (1..own.len()).fold(0, |best, bin| if own[bin] > own[best] { bin } else { best });
                out.push(middle(feature, bin));
            }
        }
        Ok(Rows::Dense(Tensor::try_from_vec(out, [x.len(), self.about.width])?.to_dtype(x.dtype())))
    }
}
