//! Smooth calibration error (Błasiok and Nakkiran 2023): without bins, hence without jumps where a probability crosses an edge.
//!
//! The residuals y − p are smoothed over the probabilities by a Gaussian kernel of bandwidth σ, reflected at 0 and 1; smECE_σ is
//! the integral of the absolute value of Σ K_σ(t, p_i)(y_i − p_i) / n. It falls as σ grows, and the error is the value at the bandwidth
//! where smECE_σ = σ. It is at most a constant factor from the distance to the nearest calibrated model.
//!
//! The computation is that of the authors' package relplot: residuals on a grid of at least 1001 points, the kernel cut off at ½, at
//! least 200 points of evaluation, ten halvings for σ (a resolution of 1/1024). It needs time proportional to n, plus that of the
//! grid.

use tove_metrics::{Bootstrap, Score};
use tove_tensor::Tensor;

use crate::input::{codes, numbers, weights as checked};
use crate::{Result, TrustError};

const WHAT: &str = "smooth_ece";
/// Bandwidths are not smaller.
const FINEST: f64 = 0.001;
/// Added to the density.
const FLOOR: f64 = 1e-4;

/// A smooth calibration error and the bandwidth it was found at.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SmoothEce {
    /// The error; with an interval if resamples were asked for.
    pub error: Score,
    /// The bandwidth σ.
    pub bandwidth: f64,
}

/// The smooth calibration error of events (0 or 1) and their probabilities, with a bootstrap interval if `bootstrap` is given. The
/// bandwidth stays that of all samples in the resamples.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::calibration::smooth_ece;
/// let (happened, p) = (Tensor::from([0i64, 1, 0, 1]), Tensor::from([0.9, 0.9, 0.9, 0.9]));
/// let found = smooth_ece(&happened, &p, None, None)?;
/// assert!((found.error.value - 0.4).abs() < 0.01);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// No samples; lengths that differ; events other than 0 and 1; a probability outside [0, 1]; weights that are negative or all 0;
/// settings of the bootstrap out of range.
pub fn smooth_ece(
    happened: &Tensor,
    probabilities: &Tensor,
    weights: Option<&Tensor>,
    bootstrap: Option<&Bootstrap>,
) -> Result<SmoothEce> {
    let smooth = Smooth::new(happened, probabilities, weights)?;
    let (n, bandwidth, value) = (smooth.residuals.samples.len(), smooth.bandwidth, smooth.value());
    let error = Score::plain(value, n);
    let Some(bootstrap) = bootstrap else { return Ok(SmoothEce { error, bandwidth }) };
    let resampled = bootstrap.for_errors().statistic(n, |rows| smooth.of(rows))?;
    Ok(SmoothEce { error: error.with_interval(resampled.low, resampled.high, bootstrap.confidence), bandwidth })
}

/// Samples with the kernel of the bandwidth that was found for all of them.
pub(super) struct Smooth {
    residuals: Residuals,
    kernel: Smoother,
    bandwidth: f64,
}

impl Smooth {
    pub(super) fn new(happened: &Tensor, probabilities: &Tensor, weights: Option<&Tensor>) -> Result<Smooth> {
        let residuals = Residuals::new(happened, probabilities, weights)?;
        let small = |sigma: f64| sigma < FINEST || sigma < residuals.error(sigma);
        let mut bandwidth = 1.0;
        if !small(bandwidth) {
            let mut low = 0.0;
            for _ in 0..10 {
                let middle = 0.5 * (bandwidth + low);
                if small(middle) { low = middle } else { bandwidth = middle }
            }
        }
        Ok(Smooth { residuals, kernel: Smoother::new(bandwidth), bandwidth })
    }

    /// The error of all samples.
    pub(super) fn value(&self) -> f64 {
        self.kernel.error(self.residuals.samples.iter().copied())
    }

    /// The error of these samples.
    pub(super) fn of(&self, rows: &[usize]) -> Result<f64> {
        let samples = &self.residuals.samples;
        if rows.iter().map(|&row| samples[row].weight).sum::<f64>() > 0.0 {
            return Ok(self.kernel.error(rows.iter().map(|&row| samples[row])));
        }
        Err(TrustError::data(WHAT, "a resample has no weight", "give more samples some weight"))
    }
}

/// The smooth calibration error at a bandwidth of one's own choice, between 0.001 and 1.
///
/// # Errors
/// As [`smooth_ece`]; a bandwidth out of range.
pub fn smooth_ece_at(
    happened: &Tensor,
    probabilities: &Tensor,
    weights: Option<&Tensor>,
    bandwidth: f64,
) -> Result<Score> {
    if !(FINEST..=1.0).contains(&bandwidth) {
        return Err(TrustError::argument(WHAT, format!("a bandwidth of {bandwidth}; give a number from 0.001 to 1")));
    }
    let residuals = Residuals::new(happened, probabilities, weights)?;
    Ok(Score::plain(residuals.error(bandwidth), residuals.samples.len()))
}

#[derive(Clone, Copy)]
struct Residual {
    p: f64,
    weight: f64,
    /// Weight times (probability − event).
    gap: f64,
}

struct Residuals {
    samples: Vec<Residual>,
}

impl Residuals {
    fn new(happened: &Tensor, probabilities: &Tensor, weights: Option<&Tensor>) -> Result<Residuals> {
        let n = probabilities.numel();
        let p = numbers(WHAT, "probabilities", probabilities, n)?;
        if let Some(row) = p.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let problem = format!("the probability in row {row} is {}, outside of [0, 1]", p[row]);
            return Err(TrustError::data(WHAT, problem, "give probabilities; apply the softmax or sigmoid to scores"));
        }
        let (events, weights) = (codes(WHAT, "events", happened, n, 2)?, checked(WHAT, weights, n)?);
        // A mean weight of 1, so that the floor of the density has the same effect.
        let unit = weights.iter().sum::<f64>() / n as f64;
        let samples = p.into_iter().zip(events).zip(weights).map(|((p, event), weight)| {
            let weight = weight / unit;
            Residual { p, weight, gap: weight * (p - event as f64) }
        });
        Ok(Residuals { samples: samples.collect() })
    }

    fn error(&self, sigma: f64) -> f64 {
        Smoother::new(sigma).error(self.samples.iter().copied())
    }
}

/// A reflected Gaussian kernel on a grid.
struct Smoother {
    /// Kernel values at 0, 1, 2 … cells from its center.
    kernel: Vec<f64>,
    /// Number of points of the grid; odd, so that the kernel has a center.
    grid: usize,
    /// Number of points of evaluation.
    points: usize,
}

impl Smoother {
    fn new(sigma: f64) -> Smoother {
        let whole = |number: f64| number.round_ties_even() as usize;
        let grid = (whole(20.0 / sigma).max(2000) / 2 + 1) | 1;
        let points = whole(10.0 / sigma).max(200);
        let cell = 1.0 / (grid - 1) as f64;
        let scale = (std::f64::consts::TAU).sqrt() * sigma;
        // Beyond nine bandwidths the kernel is below rounding.
        let reach = (grid / 2).min((9.0 * sigma / cell).ceil() as usize);
        let value = |cells: usize| {
            let z = cells as f64 * cell / sigma;
            (-0.5 * z * z).exp() / scale
        };
        Smoother { kernel: (0..=reach).map(value).collect(), grid, points }
    }

    /// Σ |smoothed residuals| / Σ smoothed weights over the points of evaluation.
    fn error(&self, samples: impl Iterator<Item = Residual>) -> f64 {
        let last = self.grid - 1;
        let mut cells = vec![[0.0; 2]; self.grid];
        for Residual { p, weight, gap } in samples {
            let at = p * last as f64;
            let cell = (at as usize).min(last - 1);
            let part = at - cell as f64;
            for (cell, share) in [(cell, 1.0 - part), (cell + 1, part)] {
                cells[cell][0] += share * gap;
                cells[cell][1] += share * weight;
            }
        }
        let mut known: Vec<Option<[f64; 2]>> = vec![None; self.grid];
        let mut smoothed = |cell: usize| *known[cell].get_or_insert_with(|| self.smoothed(&cells, cell));
        let (mut gaps, mut density) = (0.0, 0.0);
        for point in 0..self.points {
            let t = if point + 1 == self.points { 1.0 } else { point as f64 / (self.points - 1) as f64 };
            let cell = ((t * last as f64) as usize).min(last - 1);
            let part = t * last as f64 - cell as f64;
            let (low, high) = (smoothed(cell), smoothed(cell + 1));
            let between = |k: usize| low[k] * (1.0 - part) + high[k] * part;
            gaps += between(0).abs();
            density += between(1) + FLOOR;
        }
        gaps / density
    }

    /// Residual and weight at a cell of the grid, which is reflected at its ends.
    fn smoothed(&self, cells: &[[f64; 2]], cell: usize) -> [f64; 2] {
        let last = self.grid - 1;
        let center = cells[cell].map(|value| value * self.kernel[0]);
        self.kernel.iter().enumerate().skip(1).fold(center, |sum, (away, weight)| {
            let below = cells[cell.abs_diff(away)];
            let above = if cell + away <= last { cells[cell + away] } else { cells[2 * last - cell - away] };
            [sum[0] + weight * (below[0] + above[0]), sum[1] + weight * (below[1] + above[1])]
        })
    }
}
