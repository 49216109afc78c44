//! Several runs from different starts, and the best of them.
//!
//! On a function with several minima the result of descent depends on the start. More starts find more minima; that the best
//! one is global is never claimed.

use tove_tensor::{Result, Tensor, TryOps};

use crate::descent::Run;
use crate::fault;
use crate::optimality::Claim;

/// Runs from several starts.
#[derive(Clone, Debug)]
pub struct MultiStart {
    /// All runs, in the order of their starts.
    pub runs: Vec<Run>,
    best: usize,
}

/// Minimises from each start. Runs that diverge are kept but never the best; if all do, that is an error.
///
/// ```
/// use tove_optim::{Claim, Rules, gradient_descent, multi_start};
/// use tove_tensor::Tensor;
/// let well = |x: &Tensor| ((x.square() - 1.0).square() + x * 0.2).sum(); // minima near −1 (lower) and 1
/// let starts = [Tensor::from([0.8]), Tensor::from([-0.8])];
/// let found = multi_start(&starts, |start| gradient_descent(&well, start, 0.05, &Rules::default()))?;
/// assert!(found.best().x.item::<f64>() < 0.0);
/// assert_eq!(found.claim(), Claim::BestOfRuns(2));
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn multi_start(starts: &[Tensor], minimise: impl Fn(&Tensor) -> Result<Run>) -> Result<MultiStart> {
    let runs: Vec<Run> = starts.iter().map(minimise).collect::<Result<_>>()?;
    let sound = runs.iter().enumerate().filter(|(_, run)| !run.diverged());
    let best = sound.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)).map(|(index, _)| index);
    match best {
        Some(best) => Ok(MultiStart { runs, best }),
        None => Err(fault::data("multi_start", "no start led anywhere: there were none, or all runs diverged")),
    }
}

impl MultiStart {
    /// The run with the lowest value.
    pub fn best(&self) -> &Run {
        &self.runs[self.best]
    }

    /// Only ever [`Claim::BestOfRuns`].
    pub fn claim(&self) -> Claim {
        Claim::BestOfRuns(self.runs.len())
    }

    /// Points at which runs ended, without those closer than `distance` to an earlier one.
    pub fn distinct(&self, distance: f64) -> Result<Vec<&Run>> {
        let mut kept: Vec<&Run> = Vec::new();
        for run in self.runs.iter().filter(|run| !run.diverged()) {
            let mut new = true;
            for other in &kept {
                new &= fault::norm(&run.x.try_sub(&other.x)?) > distance;
            }
            if new {
                kept.push(run);
            }
        }
        Ok(kept)
    }
}
