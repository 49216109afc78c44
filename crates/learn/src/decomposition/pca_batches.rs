//! Principal components of data that come in batches, from exact moments: one pass, d² numbers for any number of rows.
//!
//! Means and products of fixed blocks of 1,024 rows are merged in their order (Chan, Golub and LeVeque 1983), so that the components
//! are the same bits for any batch size. They are those of `svd_solver` covariance_eigh up to rounding: directions whose deviation is
//! below 1e-8 of the largest are rounding errors. [`IncrementalPca`](super::IncrementalPca) needs less memory for many features, and
//! forgets what does not fit into its components.

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::pca::{Components, FittedPca, Pca, too_many};
use super::spectrum::{SvdSolver, column_means, of_scatter, scatter};
use crate::blocks::Blocks;
use crate::linear::Moments;
use crate::{LearnError, Learner, PartialFit, Result, Samples, memory};

/// The state of [`Pca`] on batches.
#[derive(Clone, Debug)]
pub struct PcaLearner {
    settings: Pca,
    state: Option<State>,
}

#[derive(Clone, Debug)]
struct State {
    dtype: DType,
    blocks: Blocks,
    /// Of the blocks so far.
    moments: Option<Moments>,
}

fn moments(block: &Tensor) -> Result<Moments> {
    let mean_x = column_means(block)?;
    let gram = scatter(block, &mean_x)?;
    let (width, weight) = (mean_x.len(), block.dims()[0] as f64);
    let (mean_y, cross, squares) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Moments { width, outputs: 0, weight, mean_x, mean_y, gram, cross, squares })
}

fn merge(sum: &mut Option<Moments>, own: Moments) {
    match sum {
        Some(sum) => sum.merge(&own, true),
        None => *sum = Some(own),
    }
}

impl PartialFit for Pca {
    type Learner = PcaLearner;

    fn learner(&self, _classes: &[i64]) -> Result<PcaLearner> {
        self.validate()?;
        if matches!(self.svd_solver, SvdSolver::Full | SvdSolver::Randomized) {
            let fix = "leave `svd_solver` at auto, or fit to all samples at once";
            return Err(LearnError::unsupported(Self::NAME, "does not support this solver on batches", fix));
        }
        Ok(PcaLearner { settings: self.clone(), state: None })
    }
}

impl Learner for PcaLearner {
    type Fitted = FittedPca;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        samples.require_moderate(Pca::NAME, true)?;
        let width = samples.width();
        let state = match &mut self.state {
            Some(state) => state,
            None => {
                // Of the sum, and of sixteen blocks.
                let bytes = memory::matrix(width, width.saturating_mul(17), 8);
                memory::require(Pca::NAME, "products of features", bytes, "use `IncrementalPCA`")?;
                let (dtype, blocks) = (samples.x().dtype(), Blocks::new(width));
                self.state.insert(State { dtype, blocks, moments: None })
            }
        };
        samples.x().check_width(Pca::NAME, state.blocks.width())?;
        let sum = &mut state.moments;
        state.blocks.add(
            Pca::NAME,
            samples.x(),
            |block| moments(&block),
            |own| {
                merge(sum, own);
                Ok(())
            },
        )
    }

    fn model(&self) -> Result<FittedPca> {
        let few = |found: usize| {
            let fix = "call `learn` with at least two samples: one has no variance".to_owned();
            LearnError::TooFew { who: Pca::NAME, found, needed: 2, fix }
        };
        let state = self.state.as_ref().ok_or_else(|| few(0))?;
        let (mut sum, n) = (state.moments.clone(), state.blocks.seen());
        state.blocks.rest(
            |block| moments(&block),
            |own| {
                merge(&mut sum, own);
                Ok(())
            },
        )?;
        let Some(Moments { width: d, mean_x, gram, .. }) = sum.filter(|_| n >= 2) else { return Err(few(n)) };
        if let Components::Count(count) = self.settings.n_components
            && count > n.min(d)
        {
            return Err(too_many(count, n, d));
        }
        let found = of_scatter(gram, n, d)?;
        self.settings.fitted(found, &mean_x, n, SvdSolver::CovarianceEigh, state.dtype)
    }
}
