//! B-spline basis of each feature: a linear model on them is a smooth piecewise polynomial (Eilers and Marx 1996).
//!
//! With knots t, B_{i,0}(x) = 1 for tᵢ ≤ x < tᵢ₊₁ and B_{i,p}(x) = (x − tᵢ)/(tᵢ₊ₚ − tᵢ) B_{i,p−1}(x) + (tᵢ₊ₚ₊₁ − x)/(tᵢ₊ₚ₊₁ − tᵢ₊₁) B_{i+1,p−1}(x). A feature
//! becomes `n_knots + degree − 1` features, of which `degree + 1` are not 0 and which sum to 1.
//!
//! ```
//! use tove_learn::features::SplineTransformer;
//! use tove_learn::{Fit, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [1.0], [2.0], [3.0], [4.0]]);
//! let spline = SplineTransformer::default().degree(1).n_knots(3).fit(&x, None)?;
//! let rows = spline.transform(&Tensor::from([[1.0], [4.0]]))?;
//! assert_eq!(rows.to_vec::<f64>(), [0.5, 0.5, 0.0, 0.0, 0.0, 1.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;

use super::columns::{by_rows, column, extremes, settings_of, sorted};
use super::robust::quantile;
use crate::{
    About, Algorithm, Capabilities, Fitted, LearnError, Model, Real, Result, Rows, Samples, memory, with_real,
};

/// Positions of the knots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Knots {
    /// Equally spaced from the minimum to the maximum.
    #[default]
    Uniform,
    /// At quantiles of the feature.
    Quantile,
}

/// Extrapolation outside the range of the fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Extrapolation {
    /// Returns an error that names the row and the column.
    Error,
    /// The splines keep their boundary values.
    #[default]
    Constant,
    /// The splines are extended linearly.
    Linear,
    /// The polynomials of the first and last intervals are continued.
    Continue,
    /// The splines repeat: the last knot is the first one again, as for hours of a day.
    Periodic,
}

/// Computes a B-spline basis of each feature, like scikit-learn's `SplineTransformer`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct SplineTransformer {
    /// Number of knots of each feature.
    #[hyper(default = 5, range = "[2, 10000]")]
    pub n_knots: usize,
    /// Degree of the polynomials.
    #[hyper(default = 3, range = "[0, 20]")]
    pub degree: usize,
    /// Positions of the knots: uniform or quantile.
    #[hyper(default = Knots::Uniform)]
    pub knots: Knots,
    /// What happens outside of the range of the fit: error, constant, linear, continue or periodic.
    #[hyper(default = Extrapolation::Constant)]
    pub extrapolation: Extrapolation,
    /// Whether to keep the last spline of each feature; the splines of a feature sum to 1, which is collinear with an
    /// intercept.
    #[hyper(default = true)]
    pub include_bias: bool,
}

fn check(settings: &SplineTransformer) -> std::result::Result<(), SettingError> {
    if !settings.is_periodic() || settings.degree < settings.n_knots {
        return Ok(());
    }
    let problem = format!("periodic splines of degree {} with {} knots", settings.degree, settings.n_knots);
    Err(SettingError::conflict(SplineTransformer::NAME, "degree", problem, "choose a degree below `n_knots`"))
}

/// A fitted [`SplineTransformer`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = SplineTransformer)]
pub struct FittedSplineTransformer {
    about: About,
    /// The knots of each feature, without the extra ones beyond the boundaries.
    #[fitted(shape = "knots, features")]
    knots: Tensor,
}

impl Algorithm for SplineTransformer {
    type Fitted = FittedSplineTransformer;
    const CAPABILITIES: Capabilities = Capabilities::TRANSFORMER;

    fn train(&self, samples: &Samples) -> Result<FittedSplineTransformer> {
        let (x, d, k) = (samples.x(), samples.width(), self.n_knots);
        let (low, high) = extremes(x)?;
        if let Some(feature) = (0..d).find(|&feature| low[feature] == high[feature]) {
            let problem = format!("feature {feature} is constant, so its knots coincide");
            return Err(LearnError::data(Self::NAME, problem, "remove it, for example with `VarianceThreshold`"));
        }
        let share = |knot: usize| knot as f64 / (k - 1) as f64;
        let mut knots = vec![0.0; k * d];
        match self.knots {
            Knots::Uniform => {
                for (index, knot) in knots.iter_mut().enumerate() {
                    let (row, feature) = (index / d, index % d);
                    let (low, high) = (low[feature], high[feature]);
                    *knot = if row + 1 == k { high } else { low + (high - low) * share(row) };
                }
            }
            Knots::Quantile => sorted(x, |feature, values| {
                (0..k).for_each(|knot| knots[knot * d + feature] = quantile(values, share(knot)));
            })?,
        }
        let knots = Tensor::try_from_vec(knots, [k, d])?.to_dtype(x.dtype());
        let about = About::of(self, samples).outputs(self.outputs(d));
        let fitted = FittedSplineTransformer { about, knots };
        if fitted.bases(self).iter().any(|basis| basis.t.iter().any(|knot| !knot.is_finite())) {
            let fix = "scale the features, for example with `StandardScaler`";
            return Err(LearnError::data(Self::NAME, "the knots beyond the ends of the features overflow", fix));
        }
        Ok(fitted)
    }
}

impl SplineTransformer {
    /// Number of splines per feature.
    fn splines(&self) -> usize {
        self.n_knots - 1 + if self.is_periodic() { 0 } else { self.degree }
    }

    fn is_periodic(&self) -> bool {
        self.extrapolation == Extrapolation::Periodic
    }

    fn outputs(&self, features: usize) -> usize {
        features * (self.splines() - usize::from(!self.include_bias))
    }
}

/// The splines of one feature.
struct Basis {
    degree: usize,
    /// Knots with `degree` extra ones at both ends.
    t: Vec<f64>,
    low: f64,
    high: f64,
    extrapolation: Extrapolation,
}

impl Basis {
    fn new(knots: &[f64], settings: &SplineTransformer) -> Basis {
        let (degree, last) = (settings.degree, knots.len() - 1);
        let (first_step, last_step) = (knots[1] - knots[0], knots[last] - knots[last - 1]);
        let (period, periodic) = (knots[last] - knots[0], settings.is_periodic() && degree <= last);
        let before = |i: usize| match periodic {
            true => knots[last - degree + i] - period,
            false => knots[0] - (degree - i) as f64 * first_step,
        };
        let after = |i: usize| match periodic {
            true => knots[i + 1] + period,
            false => knots[last] + (i + 1) as f64 * last_step,
        };
        let mut t: Vec<f64> = (0..degree).map(before).collect();
        t.extend(knots);
        t.extend((0..degree).map(after));
        Basis { degree, t, low: knots[0], high: knots[last], extrapolation: settings.extrapolation }
    }

    /// The interval between inner knots that contains a value, or the nearest one.
    fn interval(&self, x: f64) -> usize {
        let (first, last) = (self.degree, self.t.len() - self.degree - 2);
        let above = self.t.partition_point(|knot| *knot <= x);
        above.saturating_sub(1).clamp(first, last)
    }

    /// The splines of a degree that are not 0 on the interval `at`; the last has the index `at`.
    fn nonzero(&self, degree: usize, at: usize, x: f64) -> Vec<f64> {
        let mut values = vec![1.0];
        for p in 1..=degree {
            let mut next = vec![0.0; p + 1];
            for (j, value) in values.iter().enumerate() {
                // The spline of degree p − 1 that starts at knot `start` contributes to two of degree p.
                let start = at + j + 1 - p;
                let width = self.t[start + p] - self.t[start];
                if width > 0.0 {
                    next[j] += (self.t[start + p] - x) / width * value;
                    next[j + 1] += (x - self.t[start]) / width * value;
                }
            }
            values = next;
        }
        values
    }

    /// Derivatives of the splines that are not 0 on the interval `at`.
    fn slopes(&self, at: usize, x: f64) -> Vec<f64> {
        let p = self.degree;
        let mut slopes = vec![0.0; p + 1];
        if p == 0 {
            return slopes;
        }
        for (j, value) in self.nonzero(p - 1, at, x).into_iter().enumerate() {
            let start = at + j + 1 - p;
            let width = self.t[start + p] - self.t[start];
            if width > 0.0 {
                slopes[j] -= p as f64 / width * value;
                slopes[j + 1] += p as f64 / width * value;
            }
        }
        slopes
    }

    /// The index of the first spline that is not 0 at x, and the values from there on.
    fn at(&self, x: f64) -> (usize, Vec<f64>) {
        let inside = match self.extrapolation {
            Extrapolation::Periodic => self.low + (x - self.low).rem_euclid(self.high - self.low),
            _ => x.clamp(self.low, self.high),
        };
        let interval = self.interval(inside);
        let first = interval - self.degree;
        let values = match self.extrapolation {
            Extrapolation::Continue => self.nonzero(self.degree, interval, x),
            Extrapolation::Linear if x != inside => {
                let slopes = self.slopes(interval, inside);
                let values = self.nonzero(self.degree, interval, inside);
                values.iter().zip(slopes).map(|(value, slope)| value + (x - inside) * slope).collect()
            }
            _ => self.nonzero(self.degree, interval, inside),
        };
        (first, values)
    }
}

impl FittedSplineTransformer {
    fn bases(&self, settings: &SplineTransformer) -> Vec<Basis> {
        let (d, knots) = (self.about.width, self.knots.to_f64_vec());
        (0..d).map(|feature| Basis::new(&column(&knots, d, feature), settings)).collect()
    }
}

impl Model for FittedSplineTransformer {
    crate::fitted_methods!();

    fn outputs(&self) -> usize {
        settings_of::<SplineTransformer>(&self.about).map_or(0, |settings| settings.outputs(self.about.width))
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let each = self.outputs() / self.about.width.max(1);
        let name = |feature: usize| inputs.get(feature).cloned().unwrap_or_else(|| format!("x{feature}"));
        (0..self.about.width)
            .flat_map(|feature| (0..each).map(move |i| (feature, i)))
            .map(|(feature, i)| format!("{}_sp_{i}", name(feature)))
            .collect()
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let (x, settings) = (x.dense(self.about.name)?, settings_of::<SplineTransformer>(&self.about)?);
        if self.knots.dims()[0] != settings.n_knots {
            return Err(LearnError::model("the number of knots is not that of the settings", "save the model anew"));
        }
        let (n, d, outputs, bases) = (x.dims()[0], self.about.width, self.outputs(), self.bases(&settings));
        let what = format!("a matrix of {n} x {outputs} splines");
        let fix = "lower `n_knots`, or select features first";
        memory::require(self.about.name, what, memory::matrix(n, outputs, x.dtype().size()), fix)?;
        if settings.extrapolation == Extrapolation::Error {
            let values = x.to_f64_vec();
            let beyond =
                |index: &usize| values[*index] < bases[index % d].low || values[*index] > bases[index % d].high;
            if let Some(index) = (0..values.len()).find(beyond) {
                let (row, feature) = (index / d, index % d);
                let problem = format!("row {row}, column {feature}, is outside the range of the knots");
                return Err(LearnError::data(self.about.name, problem, "set `extrapolation` to constant"));
            }
        }
        let (each, count) = (outputs / d, settings.splines());
        with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            let mut out = Tensor::try_zeros([n, outputs], x.dtype())?;
            by_rows(out.as_mut_slice::<T>()?, outputs, |first, part| {
                for (out, row) in part.chunks_mut(outputs).zip(values[first * d..].chunks(d)) {
                    for ((out, basis), &value) in out.chunks_mut(each).zip(&bases).zip(row) {
                        let (start, splines) = basis.at(value.f64());
                        for (place, spline) in (start..).zip(splines) {
                            // Periodic splines begin again; without `include_bias` the last spline has no place.
                            if let Some(out) = out.get_mut(place % count) {
                                *out += T::of(spline);
                            }
                        }
                    }
                }
            });
            Ok(Rows::Dense(out))
        })
    }
}
