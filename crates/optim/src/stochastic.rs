//! Objectives that are means over samples, and steps from some samples at a time.
//!
//! f(w) = (1/n) Σ f_i(w). A batch B gives the gradient g = (1/|B|) Σ_{i in B} ∇f_i(w), whose expectation over random
//! batches is ∇f(w) and whose variance falls as 1/|B|. A step on one sample costs as much as one sample, whatever n.
//!
//! [`stochastic_gradient`] walks w ← P_C(w − γ_t g_t) over shuffled batches. With Σγ_t = ∞ and Σγ_t² < ∞ (such as
//! γ_t = a/(b + t)) it converges; with constant steps it stalls at a floor set by the noise.
//!
//! ```
//! use tove_optim::{Batches, FiniteSum, stochastic_gradient};
//! use tove_tensor::Tensor;
//! let y = Tensor::from([1.0, 2.0, 3.0, 6.0]);
//! let sum = FiniteSum::new(|w: &Tensor, rows: &[Tensor]| (w - &rows[0]).square().mean(), vec![y])?;
//! let batches = Batches::new(4, 1, 0)?;
//! let run = stochastic_gradient(&sum, &Tensor::from(0.0), &batches, 50, |t| 0.5 / (1 + t) as f64, None)?;
//! assert!((run.x.item::<f64>() - 3.0).abs() < 1e-10); // these steps average the samples
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryIndex, TryOps};

use crate::batches::Batches;
use crate::fault;
use crate::objective::Objective;
use crate::projection::ConvexSet;

/// A mean over the rows of some tensors: f(w) = mean over rows of f_i(w).
pub struct FiniteSum<F> {
    function: F,
    rows: Vec<Tensor>,
    count: usize,
}

impl<F: Fn(&Tensor, &[Tensor]) -> Tensor> FiniteSum<F> {
    /// The mean loss `function(w, rows)` of the samples in `rows`, tensors with one sample per position of the first axis.
    /// The function gets the same tensors with fewer rows for a batch, and returns the mean over them.
    pub fn new(function: F, rows: Vec<Tensor>) -> Result<FiniteSum<F>> {
        let Some(first) = rows.first() else {
            return Err(fault::parameter("finite_sum", "rows", "is empty; give at least one tensor of samples"));
        };
        let count = first.dims().first().copied().unwrap_or(0);
        if let Some(odd) = rows.iter().find(|row| row.dims().first() != Some(&count)) {
            return Err(fault::shapes("finite_sum", first, odd, "all tensors need as many rows as there are samples"));
        }
        if count == 0 {
            return Err(fault::shape("finite_sum", first.shape(), "there are no samples to take a mean over"));
        }
        Ok(FiniteSum { function, rows, count })
    }

    /// Number of samples n.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The objective of the samples named by `index` (i64) alone: their mean.
    pub fn batch(&self, index: &Tensor) -> Result<impl Objective> {
        let rows: Vec<Tensor> = self.rows.iter().map(|row| row.try_index_select(0, index)).collect::<Result<_>>()?;
        Ok(move |w: &Tensor| (self.function)(w, &rows))
    }

    /// ∇f_i(w), from one row of each tensor.
    pub fn sample_gradient(&self, w: &Tensor, sample: usize) -> Result<Tensor> {
        let rows: Vec<Tensor> = self.rows.iter().map(|row| row.try_narrow(0, sample, 1)).collect::<Result<_>>()?;
        let one = |w: &Tensor| (self.function)(w, &rows);
        Objective::gradient(&one, w)
    }

    /// (1/|B|) Σ_{i in B} ∇f_i(w).
    pub fn batch_gradient(&self, w: &Tensor, index: &Tensor) -> Result<Tensor> {
        self.batch(index)?.gradient(w)
    }
}

/// The mean over all samples.
impl<F: Fn(&Tensor, &[Tensor]) -> Tensor> Objective for FiniteSum<F> {
    fn evaluate(&self, x: &Tensor) -> Result<Tensor> {
        Ok((self.function)(x, &self.rows))
    }
}

/// What a stochastic run found.
#[derive(Clone, Debug)]
pub struct StochasticRun {
    /// The last point.
    pub x: Tensor,
    /// The mean of all points of the last epoch, which carries less noise.
    pub average: Tensor,
    /// Steps taken.
    pub steps: usize,
    /// The mean over all samples before the first epoch and after each.
    pub values: Vec<f64>,
}

/// w ← P_C(w − γ_t g_t) over `epochs` shuffled epochs, with γ_t = `step(t)`, t = 0, 1, … counting steps. Without a set it is
/// plain stochastic gradient descent. A point that is no longer finite ends the run with an error.
pub fn stochastic_gradient<F: Fn(&Tensor, &[Tensor]) -> Tensor>(
    sum: &FiniteSum<F>,
    start: &Tensor,
    batches: &Batches,
    epochs: usize,
    step: impl Fn(usize) -> f64,
    set: Option<&dyn ConvexSet>,
) -> Result<StochasticRun> {
    if batches.samples() != sum.count() {
        let problem = format!("cut {} samples, but there are {}", batches.samples(), sum.count());
        return Err(fault::parameter("stochastic_gradient", "batches", problem));
    }
    let project = |x: Tensor| set.map_or(Ok(x.clone()), |set| set.project(&x));
    let mut x = project(start.detach())?;
    let mut run = StochasticRun { x: x.clone(), average: x.clone(), steps: 0, values: vec![sum.value(&x)?] };
    for epoch in 0..epochs {
        let (mut total, mut count) = (x.zeros_like(), 0);
        for index in batches.epoch(epoch) {
            let size = step(run.steps);
            fault::not_negative("stochastic_gradient", "step", size)?;
            x = project(fault::add_scaled(&x, -size, &sum.batch_gradient(&x, &index)?)?)?;
            total = total.try_add(&x)?;
            count += 1;
            run.steps += 1;
        }
        if !fault::all_finite(&x) {
            let problem = format!("the point is no longer finite in epoch {}; take smaller steps", epoch + 1);
            return Err(fault::data("stochastic_gradient", problem));
        }
        run.average = if count > 0 { fault::scaled(&total, 1.0 / count as f64)? } else { x.clone() };
        run.values.push(sum.value(&x)?);
    }
    run.x = x;
    Ok(run)
}
