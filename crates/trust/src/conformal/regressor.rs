//! Split conformal regression: intervals that hold the true value with a given probability.
//!
//! A forecast is an interval \[l, h\] with a scale s > 0. The score of a value y is max(l − y, y − h)/s, which is negative inside
//! of it; the quantile q of calibration scores gives the interval \[l − q s, h + q s\]:
//!
//! | forecast | l, h | s | method |
//! |---|---|---|---|
//! | a number ŷ | ŷ, ŷ | 1 | absolute residuals (Lei et al. 2018): intervals of one width |
//! | a number ŷ and its difficulty σ | ŷ, ŷ | σ | normalized residuals (Papadopoulos et al. 2008): wider where it is difficult |
//! | two quantiles | the quantiles | 1 | conformalized quantile regression, CQR (Romano et al. 2019) |
//!
//! Asymmetric intervals have a quantile of (l − y)/s and one of (y − h)/s, each at α/2.

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::cutoffs::{Cutoffs, Given};
use super::json::Reader;
use super::{CoverageClaim, Cutoff, GroupCutoff, PredictionIntervals, SmallGroups};
use crate::input::{fraction, numbers};
use crate::{Result, TrustError};

const WHAT: &str = "SplitConformalRegressor";
const KIND: &str = "split_conformal_regressor";
const VERSION: u64 = 1;

/// What a model says about each row: vectors (n).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Forecast<'a> {
    /// A number.
    Point(&'a Tensor),
    /// A number, and how difficult the row is: positive, on any scale; for example an estimate of the absolute residual.
    Scaled(&'a Tensor, &'a Tensor),
    /// A lower and an upper quantile. They are used as they are, even where they cross.
    Quantiles(&'a Tensor, &'a Tensor),
}

impl<'a> From<&'a Tensor> for Forecast<'a> {
    fn from(prediction: &'a Tensor) -> Forecast<'a> {
        Forecast::Point(prediction)
    }
}

/// The three kinds of forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForecastKind {
    /// [`Forecast::Point`]
    Point,
    /// [`Forecast::Scaled`]
    Scaled,
    /// [`Forecast::Quantiles`]
    Quantiles,
}

impl ForecastKind {
    fn name(self) -> &'static str {
        match self {
            ForecastKind::Point => "point",
            ForecastKind::Scaled => "scaled",
            ForecastKind::Quantiles => "quantiles",
        }
    }
}

/// Lower and upper ends, and scales; empty scales are 1.
struct Bands {
    low: Vec<f64>,
    high: Vec<f64>,
    scale: Vec<f64>,
}

impl Bands {
    fn scale(&self, row: usize) -> f64 {
        self.scale.get(row).copied().unwrap_or(1.0)
    }

    fn below(&self, row: usize, y: f64) -> f64 {
        (self.low[row] - y) / self.scale(row)
    }

    fn above(&self, row: usize, y: f64) -> f64 {
        (y - self.high[row]) / self.scale(row)
    }
}

impl Forecast<'_> {
    fn kind(self) -> ForecastKind {
        match self {
            Forecast::Point(_) => ForecastKind::Point,
            Forecast::Scaled(..) => ForecastKind::Scaled,
            Forecast::Quantiles(..) => ForecastKind::Quantiles,
        }
    }

    fn read(self) -> Result<Bands> {
        match self {
            Forecast::Point(prediction) => {
                let low = numbers(WHAT, "predictions", prediction, prediction.numel())?;
                Ok(Bands { high: low.clone(), low, scale: Vec::new() })
            }
            Forecast::Scaled(prediction, difficulty) => {
                let low = numbers(WHAT, "predictions", prediction, prediction.numel())?;
                let scale = numbers(WHAT, "difficulties", difficulty, low.len())?;
                if let Some(row) = scale.iter().position(|&scale| scale <= 0.0) {
                    let problem = format!("the difficulty of row {row} is {}", scale[row]);
                    let fix = "give positive numbers; add a small constant to estimates that can be 0";
                    return Err(TrustError::data(WHAT, problem, fix));
                }
                Ok(Bands { high: low.clone(), low, scale })
            }
            Forecast::Quantiles(low, high) => {
                let low = numbers(WHAT, "lower quantiles", low, low.numel())?;
                let high = numbers(WHAT, "upper quantiles", high, low.len())?;
                Ok(Bands { low, high, scale: Vec::new() })
            }
        }
    }
}

/// Calibrates prediction intervals.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::{Forecast, SplitConformalRegressor};
/// let y = Tensor::from([1.0, 2.0, 3.0, 4.0]);
/// let prediction = Tensor::from([1.5, 2.0, 2.0, 4.2]);
/// let fitted = SplitConformalRegressor::new(0.25).fit(&prediction, &y)?; // the 4th of the 4 residuals 0, 0.2, 0.5, 1
/// let intervals = fitted.intervals(&Tensor::from([10.0]))?;
/// assert_eq!((intervals.low(), intervals.high()), (&[9.0][..], &[11.0][..]));
/// // Residuals in units of a difficulty, for intervals that are wider where predictions are poorer.
/// let difficulty = Tensor::from([1.0, 1.0, 2.0, 1.0]);
/// let fitted = SplitConformalRegressor::new(0.25).fit(Forecast::Scaled(&prediction, &difficulty), &y)?;
/// let intervals = fitted.intervals(Forecast::Scaled(&Tensor::from([10.0]), &Tensor::from([4.0])))?;
/// assert_eq!(intervals.widths(), [4.0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SplitConformalRegressor {
    alpha: f64,
    asymmetric: bool,
    small: SmallGroups,
}

impl SplitConformalRegressor {
    /// Intervals that miss the true value with probability at most `alpha`.
    pub fn new(alpha: f64) -> SplitConformalRegressor {
        SplitConformalRegressor { alpha, asymmetric: false, small: SmallGroups::Refuse }
    }

    /// Separate quantiles at α/2 for the two ends, for skewed errors: the value is below the interval with probability at most α/2,
    /// and above it too.
    #[must_use]
    pub fn asymmetric(self) -> SplitConformalRegressor {
        SplitConformalRegressor { asymmetric: true, ..self }
    }

    /// What to do with groups that are too small; refused by default.
    #[must_use]
    pub fn small_groups(self, small: SmallGroups) -> SplitConformalRegressor {
        SplitConformalRegressor { small, ..self }
    }

    /// Calibrates with forecasts for rows that the model has not seen, and their true values.
    ///
    /// # Errors
    /// Numbers that are not finite, or of different lengths; difficulties that are not positive; α not between 0 and 1; fewer than
    /// 1/α − 1 rows (2/α − 1 if asymmetric).
    pub fn fit<'a>(&self, forecast: impl Into<Forecast<'a>>, targets: &Tensor) -> Result<FittedConformalRegressor> {
        self.calibrate(forecast.into(), targets, Given::Nothing)
    }

    /// Calibrates with quantiles per group, a column of whole numbers: coverage holds in each group.
    ///
    /// # Errors
    /// As [`SplitConformalRegressor::fit`], for every group, unless [`SplitConformalRegressor::small_groups`] says otherwise.
    pub fn fit_by_group<'a>(
        &self,
        forecast: impl Into<Forecast<'a>>,
        targets: &Tensor,
        groups: &Tensor,
    ) -> Result<FittedConformalRegressor> {
        self.calibrate(forecast.into(), targets, Given::Groups(groups))
    }

    /// Calibrates with weights: for each row the density of its features among new rows over that among calibration rows, up to a
    /// common factor.
    ///
    /// # Errors
    /// As [`SplitConformalRegressor::fit`]; negative weights, or only zeros. A small calibration set is not refused: intervals are
    /// infinite where nothing can be said.
    pub fn fit_weighted<'a>(
        &self,
        forecast: impl Into<Forecast<'a>>,
        targets: &Tensor,
        weights: &Tensor,
    ) -> Result<FittedConformalRegressor> {
        self.calibrate(forecast.into(), targets, Given::Weights(weights))
    }

    fn calibrate(
        &self,
        forecast: Forecast<'_>,
        targets: &Tensor,
        given: Given<'_>,
    ) -> Result<FittedConformalRegressor> {
        let alpha = fraction(WHAT, "alpha", self.alpha)?;
        let bands = forecast.read()?;
        let y = numbers(WHAT, "targets", targets, bands.low.len())?;
        let score = |score: &dyn Fn(usize, f64) -> f64, alpha: f64| {
            let scores: Vec<f64> = y.iter().enumerate().map(|(row, &y)| score(row, y)).collect();
            if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
                let problem = format!("the score of row {row} is {}", scores[row]);
                return Err(TrustError::data(
                    WHAT,
                    problem,
                    "give the targets in another unit, or larger difficulties",
                ));
            }
            Cutoffs::fit(WHAT, scores, given, alpha, self.small)
        };
        let (below, above) = (|row, y| bands.below(row, y), |row, y| bands.above(row, y));
        let cutoffs = match self.asymmetric {
            false => vec![score(&|row, y| below(row, y).max(above(row, y)), alpha)?],
            true => vec![score(&below, alpha / 2.0)?, score(&above, alpha / 2.0)?],
        };
        Ok(FittedConformalRegressor { alpha, kind: forecast.kind(), cutoffs })
    }
}

/// Calibrated intervals: plain data, which a model file can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedConformalRegressor {
    alpha: f64,
    kind: ForecastKind,
    /// One for both ends, or one for each.
    cutoffs: Vec<Cutoffs>,
}

impl FittedConformalRegressor {
    /// The intervals of new rows.
    ///
    /// # Errors
    /// Invalid numbers; another kind of forecast than it was calibrated with; an object calibrated by group or with weights.
    pub fn intervals<'a>(&self, forecast: impl Into<Forecast<'a>>) -> Result<PredictionIntervals> {
        self.intervals_given(forecast.into(), Given::Nothing)
    }

    /// The intervals of new rows of these groups.
    ///
    /// # Errors
    /// As [`FittedConformalRegressor::intervals`]; a group that was not among the calibration rows; an object not calibrated by group.
    pub fn intervals_by_group<'a>(
        &self,
        forecast: impl Into<Forecast<'a>>,
        groups: &Tensor,
    ) -> Result<PredictionIntervals> {
        self.intervals_given(forecast.into(), Given::Groups(groups))
    }

    /// The intervals of new rows with these weights; infinite where a weight is so large that nothing can be said.
    ///
    /// # Errors
    /// As [`FittedConformalRegressor::intervals`]; negative weights; an object not calibrated with weights.
    pub fn intervals_weighted<'a>(
        &self,
        forecast: impl Into<Forecast<'a>>,
        weights: &Tensor,
    ) -> Result<PredictionIntervals> {
        self.intervals_given(forecast.into(), Given::Weights(weights))
    }

    fn intervals_given(&self, forecast: Forecast<'_>, given: Given<'_>) -> Result<PredictionIntervals> {
        if forecast.kind() != self.kind {
            let problem = format!("it was calibrated with forecasts of kind \"{}\"", self.kind.name());
            return Err(TrustError::unsupported(WHAT, problem, "give the same kind of forecast"));
        }
        let bands = forecast.read()?;
        let n = bands.low.len();
        let (below, own) = self.cutoffs[0].of_rows(WHAT, n, given)?;
        let above = self.cutoffs.get(1).map(|cutoffs| cutoffs.of_rows(WHAT, n, given)).transpose()?;
        let above = above.as_ref().map_or(&below, |above| &above.0);
        let claim = if own { self.kind_of_claim() } else { CoverageClaim::None };
        let low = (0..n).map(|row| bands.low[row] - below[row] * bands.scale(row)).collect();
        let high = (0..n).map(|row| bands.high[row] + above[row] * bands.scale(row)).collect();
        Ok(PredictionIntervals::of(low, high, claim))
    }

    /// What is claimed of the intervals; nothing if the quantile of all rows stands in for that of a small group.
    pub fn claim(&self) -> CoverageClaim {
        if self.cutoffs.iter().any(Cutoffs::any_marginal) { CoverageClaim::None } else { self.kind_of_claim() }
    }

    fn kind_of_claim(&self) -> CoverageClaim {
        let level = 1.0 - self.alpha;
        match self.cutoffs[0] {
            Cutoffs::One(_) => CoverageClaim::Marginal { level },
            Cutoffs::Weighted(..) => CoverageClaim::Shifted { level },
            Cutoffs::Groups(..) => CoverageClaim::ByGroup { level },
        }
    }

    /// The largest probability of missing the truth that was asked for.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The kind of forecast that it takes.
    pub fn kind(&self) -> ForecastKind {
        self.kind
    }

    /// The quantiles of all rows: one, or one for each end if asymmetric; empty if calibrated by group or with weights.
    pub fn cutoffs(&self) -> Vec<Cutoff> {
        let one = |cutoffs: &Cutoffs| match cutoffs {
            Cutoffs::One(cutoff) => Some(*cutoff),
            _ => None,
        };
        self.cutoffs.iter().filter_map(one).collect()
    }

    /// The quantiles of groups: one list, or one for each end if asymmetric; empty if calibrated otherwise.
    pub fn group_cutoffs(&self) -> Vec<&[GroupCutoff]> {
        fn groups(cutoffs: &Cutoffs) -> Option<&[GroupCutoff]> {
            match cutoffs {
                Cutoffs::Groups(groups, _) => Some(groups),
                _ => None,
            }
        }
        self.cutoffs.iter().filter_map(groups).collect()
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        let cutoffs: Vec<Value> = self.cutoffs.iter().map(Cutoffs::to_json).collect();
        json!({"kind": KIND, "version": VERSION, "alpha": self.alpha, "forecast": self.kind.name(), "quantiles": cutoffs})
    }

    /// Reads what [`FittedConformalRegressor::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<FittedConformalRegressor> {
        let reader = Reader::open(WHAT, value, KIND, VERSION)?;
        let name = reader.text("forecast")?;
        let kind = [ForecastKind::Point, ForecastKind::Scaled, ForecastKind::Quantiles];
        let kind = kind.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(|| reader.invalid(format!("the kind of forecast \"{name}\" is unknown")))?;
        let cutoffs = |value: &Value| Cutoffs::from_json(&Reader::plain(WHAT, value)?);
        let cutoffs = reader.list("quantiles")?.iter().map(cutoffs).collect::<Result<Vec<_>>>()?;
        let alike = cutoffs.windows(2).all(|pair| std::mem::discriminant(&pair[0]) == std::mem::discriminant(&pair[1]));
        if !(1..=2).contains(&cutoffs.len()) || !alike {
            return Err(reader.invalid("`quantiles` holds neither one list nor two of a kind"));
        }
        Ok(FittedConformalRegressor { alpha: reader.fraction("alpha")?, kind, cutoffs })
    }
}
