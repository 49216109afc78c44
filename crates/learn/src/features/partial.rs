//! Scalers over data in pieces (`partial_fit`): extremes and moments of pieces are merged, so that one pass is enough.
//!
//! Means and variances of two pieces a and b join by μ = μ_a + (n_b/n) δ and n σ² = n_a σ_a² + n_b σ_b² + (n_a n_b/n) δ², with
//! δ = μ_b − μ_a (Chan, Golub and LeVeque 1983). NaN is left out of each feature.
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

use tove_tensor::DType;

use super::columns::{extremes, without_infinite};
use super::min_max::{FittedMaxAbsScaler, FittedMinMaxScaler, MaxAbsScaler, MinMaxScaler};
use super::moments::Spreads;
use super::standard::{FittedStandardScaler, StandardScaler};
use crate::{About, Algorithm, LearnError, Learner, PartialFit, Result, Samples};

/// A scaler under way: what it has seen so far.
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
        let piece = of(&self.settings, &samples)?;
        match &mut self.seen {
            Some((seen, ..)) => merge(seen, piece),
            None => self.seen = Some((piece, samples.width(), samples.x().dtype())),
        }
        Ok(())
    }

    /// What was seen, and what every model knows of itself.
    fn state(&self) -> Result<(&S, About)> {
        let Some((seen, width, dtype)) = &self.seen else {
            let fix = "give at least one piece of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        };
        Ok((seen, About::new(&self.settings, *width, *dtype)))
    }
}

/// Smallest and largest number of each column, NaN where there is none.
type Extremes = (Vec<f64>, Vec<f64>);

fn piece_extremes<E>(_: &E, samples: &Samples) -> Result<Extremes> {
    without_infinite(samples.x())?;
    extremes(samples.x())
}

fn merge_extremes(seen: &mut Extremes, piece: Extremes) {
    // The smaller of a number and NaN is the number.
    seen.0.iter_mut().zip(piece.0).for_each(|(low, other)| *low = low.min(other));
    seen.1.iter_mut().zip(piece.1).for_each(|(high, other)| *high = high.max(other));
}

fn merge_spreads(seen: &mut Spreads, piece: Spreads) {
    for column in 0..seen.mean.len() {
        let (n, m) = (seen.total[column], piece.total[column]);
        if n == 0.0 {
            (seen.total[column], seen.mean[column], seen.var[column]) = (m, piece.mean[column], piece.var[column]);
        } else if m > 0.0 {
            let (all, gap) = (n + m, piece.mean[column] - seen.mean[column]);
            seen.mean[column] += m / all * gap;
            seen.var[column] =
                n / all * seen.var[column] + m / all * piece.var[column] + n / all * (m / all) * gap * gap;
            seen.total[column] = all;
        }
    }
}

macro_rules! in_pieces {
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
in_pieces!(MinMaxScaler, FittedMinMaxScaler, Extremes, piece_extremes, merge_extremes, |settings, about, seen| {
    Ok(settings.of_extremes(about, seen.0.clone(), seen.1.clone()))
});
in_pieces!(MaxAbsScaler, FittedMaxAbsScaler, Extremes, piece_extremes, merge_extremes, |settings, about, seen| {
    Ok(settings.of_extremes(about, &seen.0, &seen.1))
});
in_pieces!(
    StandardScaler,
    FittedStandardScaler,
    Spreads,
    StandardScaler::spreads,
    merge_spreads,
    |settings, about, seen| {
        if seen.var.iter().zip(&seen.total).any(|(var, total)| *total > 0.0 && !var.is_finite()) {
            let fix = "fit it to all samples at once, or give the features in other units";
            return Err(LearnError::data("StandardScaler", "the variance of a feature overflows", fix));
        }
        Ok(settings.of_spreads(about, seen.clone()))
    }
);
