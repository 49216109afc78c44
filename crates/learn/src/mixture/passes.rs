//! Gaussian mixtures of data that come in batches, again in every pass.
//!
//! The first pass keeps a random sample of 16,384 rows, to which [`GaussianMixture`] is fitted. Each further pass is one step of
//! expectation and maximization over all rows: sums over fixed blocks are added in their order, so that the result is the same bits
//! for any batch size. Covariances are summed around the means of the pass before and moved to the new ones, so that the result is
//! that of an in-memory fit up to its tolerance, not to the bit.

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor, TryOps};

use super::FittedGaussianMixture;
use super::covariance::{CovarianceType, Factors, Parameters};
use super::em::{Expectation, NEGLIGIBLE, Rows};
use super::gaussian::{GaussianMixture, Start, require_finite};
use crate::blocks::Blocks;
use crate::row_sample::RowSample;
use crate::{Fit, LearnError, Learner, PartialFit, Result, Samples, Stop, quietly};

/// Rows that the first parameters are found from; at least four per component.
const SAMPLE: usize = 16_384;

/// The state of [`GaussianMixture`] on batches in passes.
pub struct GaussianMixtureLearner {
    settings: GaussianMixture,
    dtype: DType,
    stage: Stage,
    rows: usize,
    /// What rows are shifted by, near their mean, where rounding is smallest.
    origin: Vec<f64>,
    /// Around the origin.
    parameters: Option<Parameters>,
    bound: f64,
    change: f64,
    iterations: usize,
    curve: Vec<f64>,
}

enum Stage {
    New,
    Scan(RowSample),
    Expect(Pass),
    Done(Stop),
}

/// The sums of a pass.
struct Pass {
    blocks: Blocks,
    factors: Factors,
    sums: Sums,
}

#[derive(Clone, Default)]
struct Sums {
    log_likelihood: f64,
    /// Σ share (k) and Σ share x (k, d).
    shares: Vec<f64>,
    scatter: Vec<f64>,
    /// The largest number.
    largest: f64,
}

impl Sums {
    /// Of a block of rows.
    fn of(block: &Tensor, origin: &[f64], parameters: &Parameters, factors: &Factors) -> Result<Sums> {
        let centered = block.try_sub(&Tensor::from_slice(origin))?.try_contiguous()?;
        let rows = Rows { x: centered.as_slice::<f64>()?, d: origin.len() };
        let Expectation { log_likelihood, shares } = rows.expect(parameters, factors, false)?;
        // The counts of this pass are not known yet; those of the pass before are as good.
        let least: Vec<f64> = parameters.weights.iter().map(|weight| NEGLIGIBLE * weight).collect();
        Ok(Sums {
            log_likelihood: log_likelihood.iter().sum(),
            scatter: rows.scatter(&shares, &parameters.means, &least, parameters.kind)?,
            shares: rows.share_sums(&shares)?,
            largest: rows.x.iter().fold(0.0f64, |most, x| most.max(x.abs())),
        })
    }

    fn add(&mut self, other: &Sums) {
        if self.shares.is_empty() {
            *self = other.clone();
            return;
        }
        self.log_likelihood += other.log_likelihood;
        self.largest = self.largest.max(other.largest);
        self.shares.iter_mut().zip(&other.shares).for_each(|(sum, own)| *sum += own);
        self.scatter.iter_mut().zip(&other.scatter).for_each(|(sum, own)| *sum += own);
    }

    /// The parameters of largest likelihood, of sums around the former means.
    fn maximize(mut self, former: &Parameters, floor: f64) -> Parameters {
        let (kind, d, k) = (former.kind, former.d, former.count());
        let counts: Vec<f64> = self.shares[..k].iter().map(|count| count + 10.0 * f64::EPSILON).collect();
        let means: Vec<f64> = self.shares[k..].iter().enumerate().map(|(place, sum)| sum / counts[place / d]).collect();
        // Σ s (x − μ')(x − μ')ᵀ = Σ s (x − μ)(x − μ)ᵀ − N (μ' − μ)(μ' − μ)ᵀ
        for (j, count) in counts.iter().enumerate() {
            let own = j * d..(j + 1) * d;
            let move_by: Vec<f64> = means[own.clone()].iter().zip(&former.means[own]).map(|(a, b)| a - b).collect();
            match kind {
                CovarianceType::Full | CovarianceType::Tied => {
                    let first = if kind == CovarianceType::Full { j * d * d } else { 0 };
                    for (i, a) in move_by.iter().enumerate() {
                        let row = &mut self.scatter[first + i * d..first + (i + 1) * d];
                        row.iter_mut().zip(&move_by).for_each(|(sum, b)| *sum -= count * a * b);
                    }
                }
                CovarianceType::Diag => {
                    let row = &mut self.scatter[j * d..(j + 1) * d];
                    row.iter_mut().zip(&move_by).for_each(|(sum, a)| *sum = (*sum - count * a * a).max(0.0));
                }
                CovarianceType::Spherical => {
                    let square: f64 = move_by.iter().map(|a| a * a).sum();
                    self.scatter[j] = (self.scatter[j] - count * square).max(0.0);
                }
            }
        }
        Parameters::from_sums(&counts, means, self.scatter, (kind, d), floor)
    }
}

impl PartialFit for GaussianMixture {
    type Learner = GaussianMixtureLearner;

    /// A learner for several passes; see [`fit_passes`](crate::fit_passes).
    fn learner(&self, _classes: &[i64]) -> Result<GaussianMixtureLearner> {
        self.validate()?;
        let (bound, change) = (f64::NEG_INFINITY, f64::INFINITY);
        let (origin, parameters, curve) = (Vec::new(), None, Vec::new());
        let (settings, stage, dtype) = (self.clone(), Stage::New, DType::F64);
        Ok(GaussianMixtureLearner {
            settings,
            dtype,
            stage,
            rows: 0,
            origin,
            parameters,
            bound,
            change,
            iterations: 0,
            curve,
        })
    }
}

impl GaussianMixtureLearner {
    /// The parameters of a fit to the sample.
    fn start(&mut self, sample: &RowSample) -> Result<Parameters> {
        let (x, _) = sample.finish(DType::F64)?;
        self.rows = sample.seen();
        self.origin = x.try_mean_axes(&[0], false)?.to_f64_vec();
        let mut first = quietly(|| self.settings.fit(x, None))?.parameters;
        first.shift(&self.origin, -1.0);
        Ok(first)
    }

    fn next_pass(&mut self, parameters: Parameters) -> Result<bool> {
        let (blocks, factors) = (Blocks::new(self.origin.len()), parameters.factors(GaussianMixture::NAME)?);
        self.parameters = Some(parameters);
        self.stage = Stage::Expect(Pass { blocks, factors, sums: Sums::default() });
        Ok(true)
    }

    /// Ends an iteration with the sums over all rows.
    fn advance(&mut self, sums: Sums, former: &Parameters) -> Result<bool> {
        let mean = sums.log_likelihood / self.rows as f64;
        require_finite(mean)?;
        self.iterations += 1;
        (self.change, self.bound) = (mean - self.bound, mean);
        self.curve.push(mean);
        let largest = sums.largest;
        let parameters = sums.maximize(former, self.settings.reg_covar);
        parameters.require_spread(GaussianMixture::NAME, largest)?;
        let stop = match self.change.abs() < self.settings.tol {
            true => Some(Stop::Tolerance),
            false => (self.iterations >= self.settings.max_iter).then_some(Stop::MaxIter),
        };
        match stop {
            None => self.next_pass(parameters),
            Some(stop) => {
                (self.parameters, self.stage) = (Some(parameters), Stage::Done(stop));
                Ok(false)
            }
        }
    }
}

impl Learner for GaussianMixtureLearner {
    type Fitted = FittedGaussianMixture;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        samples.require_moderate(GaussianMixture::NAME, true)?;
        let width = samples.width();
        if let Stage::New = self.stage {
            self.dtype = samples.x().dtype();
            let most = SAMPLE.max(4usize.saturating_mul(self.settings.n_components));
            self.origin = vec![0.0; width];
            self.stage = Stage::Scan(RowSample::new(most, self.settings.seed, width));
        }
        samples.x().check_width(GaussianMixture::NAME, self.origin.len())?;
        match (&mut self.stage, &self.parameters) {
            (Stage::Scan(sample), _) => {
                let rows = samples.x().dense(GaussianMixture::NAME)?.to_f64_vec();
                rows.chunks_exact(width).for_each(|row| sample.add(row, 1.0));
                Ok(())
            }
            (Stage::Expect(Pass { blocks, factors, sums }), Some(parameters)) => {
                let (origin, factors) = (&self.origin, &*factors);
                let work = |block: Tensor| Sums::of(&block, origin, parameters, factors);
                blocks.add(GaussianMixture::NAME, samples.x(), work, |own| {
                    sums.add(&own);
                    Ok(())
                })
            }
            _ => {
                let fix = "create another learner";
                Err(LearnError::unsupported(GaussianMixture::NAME, "has ended its passes", fix))
            }
        }
    }

    fn end_pass(&mut self) -> Result<bool> {
        match (std::mem::replace(&mut self.stage, Stage::New), self.parameters.take()) {
            (Stage::Scan(sample), _) => {
                let first = self.start(&sample)?;
                self.next_pass(first)
            }
            (Stage::Expect(Pass { blocks, factors, mut sums }), Some(former)) => {
                if blocks.seen() != self.rows {
                    let problem = format!("a pass had {} rows and the first one {}", blocks.seen(), self.rows);
                    return Err(LearnError::data(
                        GaussianMixture::NAME,
                        problem,
                        "give the same batches in every pass",
                    ));
                }
                let work = |block: Tensor| Sums::of(&block, &self.origin, &former, &factors);
                blocks.rest(work, |own| {
                    sums.add(&own);
                    Ok(())
                })?;
                self.advance(sums, &former)
            }
            (Stage::Done(stop), parameters) => {
                (self.stage, self.parameters) = (Stage::Done(stop), parameters);
                Ok(false)
            }
            _ => Err(none()),
        }
    }

    /// The parameters so far; those of a fit that was cut short say so in the summary.
    fn model(&self) -> Result<FittedGaussianMixture> {
        let Some(mut parameters) = self.parameters.clone().filter(|_| self.iterations > 0) else { return Err(none()) };
        parameters.shift(&self.origin, 1.0);
        let stop = if let Stage::Done(stop) = self.stage { stop } else { Stop::Interrupted };
        let (bound, change, iterations, curve) = (self.bound, self.change, self.iterations, self.curve.clone());
        let found = Start { parameters, bound, change, iterations, stop, curve };
        self.settings.fitted(found, self.origin.len(), self.dtype)
    }

    fn loss(&self) -> Option<f64> {
        self.bound.is_finite().then_some(-self.bound)
    }
}

#[cold]
fn none() -> LearnError {
    let fix = "give all batches twice at least, and call `end_pass` after each pass".to_owned();
    LearnError::TooFew { who: GaussianMixture::NAME, found: 0, needed: 2, fix }
}
