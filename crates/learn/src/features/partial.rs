//! Incremental fitting of scalers on batches (`partial_fit`): extremes and moments of batches are merged in one pass.
//!
//! Means and variances of two batches a and b are merged by μ = μ_a + (n_b/n) δ and n σ² = n_a σ_a² + n_b σ_b² + (n_a
//! n_b/n) δ², with δ = μ_b − μ_a (Chan, Golub and LeVeque 1983). NaN is ignored.
//!
//! ```
//! use tove_learn::{Learner, PartialFit, Samples, StandardScaler};
//! use tove_tensor::Tensor;
//! let mut learner = StandardScaler::default().learner(&[])?;
//! learner.learn(&Samples::unlabeled(&Tensor::from([[1.0], [2.0]]))?)?;
//! learner.learn(&Samples::unlabeled(&Tensor::from([[3.0], [6.0]]))?)?;
//! assert_eq!((learner.model()?.mean(), learner.model()?.var()), (&[3.0][..], &[3.5][..]));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_data::ColumnMoments;
use tove_tensor::DType;

use super::columns::{extremes, without_infinite};
use super::min_max::{FittedMaxAbsScaler, FittedMinMaxScaler, MaxAbsScaler, MinMaxScaler};
use super::moments::Spreads;
use super::standard::{FittedStandardScaler, StandardScaler};
use crate::{About, Algorithm, LearnError, Learner, PartialFit, Result, Samples};

/// The state of an incremental fit of a scaler.
#[derive(Clone, Debug)]
pub struct PartialScaler<E, S> {
    settings: E,
    seen: Option<(S, usize, DType)>,
}

impl<E: Algorithm, S> PartialScaler<E, S> {
    fn new(settings: &E) -> Result<PartialScaler<E, S>> {
        settings.validate()?;
        Ok(PartialScaler { settings: settings.clone(), seen: None })
    }

    fn add(
        &mut self,
        samples: &Samples,
        of: impl Fn(&E, &Samples) -> Result<S>,
        merge: impl Fn(&mut S, S),
    ) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        if let Some((_, width, _)) = &self.seen {
            samples.x().check_width(E::NAME, *width)?;
        }
        let batch = of(&self.settings, &samples)?;
        match &mut self.seen {
            Some((seen, ..)) => merge(seen, batch),
            None => self.seen = Some((batch, samples.width(), samples.x().dtype())),
        }
        Ok(())
    }

    /// The merged statistics and the model metadata.
    fn state(&self) -> Result<(&S, About)> {
        let Some((seen, width, dtype)) = &self.seen else {
            let fix = "give at least one batch of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        };
        Ok((seen, About::new(&self.settings, *width, *dtype)))
    }
}

/// Minimum and maximum of each column; NaN if it has no values.
type Extremes = (Vec<f64>, Vec<f64>);

fn batch_extremes<E>(_: &E, samples: &Samples) -> Result<Extremes> {
    without_infinite(samples.x())?;
    extremes(samples.x())
}

fn merge_extremes(seen: &mut Extremes, batch: Extremes) {
    // The minimum of a number and NaN is the number.
    seen.0.iter_mut().zip(batch.0).for_each(|(low, other)| *low = low.min(other));
    seen.1.iter_mut().zip(batch.1).for_each(|(high, other)| *high = high.max(other));
}

macro_rules! partial_fit {
    ($type:ident, $fitted:ident, $state:ty, $of:expr, $merge:expr, |$settings:ident, $about:ident, $seen:ident| $model:expr) => {
        impl PartialFit for $type {
            type Learner = PartialScaler<$type, $state>;

            fn learner(&self, _classes: &[i64]) -> Result<PartialScaler<$type, $state>> {
                PartialScaler::new(self)
            }
        }

        impl Learner for PartialScaler<$type, $state> {
            type Fitted = $fitted;

            fn learn(&mut self, samples: &Samples) -> Result<()> {
                self.add(samples, $of, $merge)
            }

            fn model(&self) -> Result<$fitted> {
                let ($seen, $about) = self.state()?;
                let $settings = &self.settings;
                $model
            }
        }
    };
}
partial_fit!(MinMaxScaler, FittedMinMaxScaler, Extremes, batch_extremes, merge_extremes, |settings, about, seen| {
    Ok(settings.of_extremes(about, seen.0.clone(), seen.1.clone()))
});
partial_fit!(MaxAbsScaler, FittedMaxAbsScaler, Extremes, batch_extremes, merge_extremes, |settings, about, seen| {
    Ok(settings.of_extremes(about, &seen.0, &seen.1))
});
partial_fit!(
    StandardScaler,
    FittedStandardScaler,
    Vec<ColumnMoments>,
    |settings, samples| Ok(settings.spreads(samples)?.columns()),
    |seen, batch| seen.iter_mut().zip(&batch).for_each(|(seen, batch)| seen.merge(batch)),
    |settings, about, seen| {
        if seen.iter().any(|seen| seen.weight() > 0.0 && !seen.variance().is_finite()) {
            let fix = "fit it to all samples at once, or give the features in other units";
            return Err(LearnError::data("StandardScaler", "the variance of a feature overflows", fix));
        }
        Ok(settings.of_spreads(about, Spreads::of(seen)))
    }
);
