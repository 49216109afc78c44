//! Means and Gram matrices as something that linear models can be fitted from: computed once for each part of the samples, merged for
//! every training set, and shared by all estimators and penalties.
//!
//! The training set of a fold is the rest of the samples, so its moments are those of the other folds' test sets, merged in their
//! order. Subtracting the test set from the whole would be cheaper, and lose digits. Estimators with the capability
//! [`moments`](crate::Capabilities::moments) are then fitted without another pass over the rows, unless the columns are so nearly
//! dependent that a pass is needed for accuracy.
//!
//! ```
//! use tove_learn::linear::{LinearMoments, Ridge};
//! use tove_learn::{Estimator, Fit, Samples};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0], [2.0], [4.0], [7.0]]), Tensor::from([1.0, 3.0, 2.0, 6.0]));
//! let samples = Samples::new(x, &y)?;
//! let mut moments = LinearMoments::of(&samples.take(&[0, 1])?)?;
//! moments.merge(&LinearMoments::of(&samples.take(&[2, 3])?)?)?;
//! let (merged, whole) = (Ridge::default().fit_moments(&moments)?, Ridge::default().fit_samples(&samples)?);
//! let coef = merged.as_ref().and_then(|model| model.coefficients()).map(|coef| coef.at::<f64>(&[0]));
//! assert!((coef.unwrap_or(f64::NAN) - whole.coef().at::<f64>(&[0])).abs() < 1e-14);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::DType;

use super::moments::{Data, Moments};
use super::solve::prefers_iterations;
use crate::selection::Fold;
use crate::{LearnError, Result, Samples};

/// Σw, means, centered Gram matrix and products with the targets of some samples.
#[derive(Clone, Debug)]
pub struct LinearMoments {
    pub(super) moments: Moments,
    /// Whether the targets are a matrix, and the precision of the features.
    pub(super) shape: (bool, DType),
    /// Number of samples.
    pub(super) rows: usize,
}

/// How a feature is made of those that the moments are of: Σ factor · feature + shift.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// Features and their factors.
    pub terms: Vec<(usize, f64)>,
    /// What is added.
    pub shift: f64,
}

impl LinearMoments {
    /// The moments of samples with real targets.
    ///
    /// # Errors
    /// Without targets; if features, or their squares, are not finite.
    pub fn of(samples: &Samples) -> Result<LinearMoments> {
        let shape = (samples.y()?.rank() == 2, samples.x().dtype());
        Ok(LinearMoments { moments: Moments::of(&Data::several(samples)?, true)?, shape, rows: samples.len() })
    }

    /// Whether moments are the cheaper way for samples like these: their numbers are fewer than those of the features, also for
    /// several `parts`.
    pub fn suit(samples: &Samples, parts: usize) -> bool {
        parts.saturating_mul(samples.width()) < samples.len() && !prefers_iterations(samples.x())
    }

    /// Takes further samples into account.
    ///
    /// # Errors
    /// If those have other numbers of features or outputs.
    pub fn merge(&mut self, other: &LinearMoments) -> Result<()> {
        let (own, more) = (&self.moments, &other.moments);
        if (own.width, own.outputs) != (more.width, more.outputs) {
            let problem =
                format!("{} features and {} outputs after {} and {}", more.width, more.outputs, own.width, own.outputs);
            return Err(LearnError::parameter("LinearMoments", problem));
        }
        self.moments.merge(&other.moments, true);
        self.rows += other.rows;
        Ok(())
    }

    /// The moments of features that are combinations of these.
    ///
    /// # Errors
    /// If a combination names a feature that does not exist.
    pub fn combined(&self, features: &[Combination]) -> Result<LinearMoments> {
        let (old, m) = (&self.moments, self.moments.outputs);
        let (d, width) = (old.width, features.len());
        if features.iter().flat_map(|feature| &feature.terms).any(|(index, _)| *index >= d) {
            return Err(LearnError::parameter("LinearMoments", format!("a combination of a feature beyond {d}")));
        }
        let sum = |feature: &Combination, of: &dyn Fn(usize) -> f64| -> f64 {
            feature.terms.iter().map(|&(index, factor)| factor * of(index)).sum()
        };
        let mut half = vec![0.0; width * d]; // the new features with the old ones
        for (feature, row) in features.iter().zip(half.chunks_exact_mut(d.max(1))) {
            for &(index, factor) in &feature.terms {
                row.iter_mut().zip(&old.gram[index * d..]).for_each(|(sum, value)| *sum += factor * value);
            }
        }
        let mut gram = Vec::with_capacity(width * width);
        for row in half.chunks_exact(d.max(1)) {
            gram.extend(features.iter().map(|feature| sum(feature, &|index| row[index])));
        }
        let mean_x = features.iter().map(|feature| feature.shift + sum(feature, &|index| old.mean_x[index]));
        let cross =
            features.iter().flat_map(|feature| (0..m).map(move |k| sum(feature, &|index| old.cross[index * m + k])));
        let moments = Moments {
            width,
            outputs: m,
            weight: old.weight,
            mean_x: mean_x.collect(),
            mean_y: old.mean_y.clone(),
            gram,
            cross: cross.collect(),
            squares: old.squares.clone(),
        };
        Ok(LinearMoments { moments, ..*self })
    }

    /// The moments around the means, or around zero for a model without an intercept.
    pub(super) fn centered(&self, centered: bool) -> std::borrow::Cow<'_, Moments> {
        let own = &self.moments;
        if centered {
            return std::borrow::Cow::Borrowed(own);
        }
        let (d, m, n) = (own.width, own.outputs, own.weight);
        let mut moments = own.clone();
        for i in 0..d {
            let scaled = n * own.mean_x[i];
            (0..d).for_each(|j| moments.gram[i * d + j] += scaled * own.mean_x[j]);
            (0..m).for_each(|k| moments.cross[i * m + k] += scaled * own.mean_y[k]);
        }
        (0..m).for_each(|k| moments.squares[k] += n * own.mean_y[k] * own.mean_y[k]);
        (moments.mean_x, moments.mean_y) = (vec![0.0; d], vec![0.0; m]);
        std::borrow::Cow::Owned(moments)
    }
}

/// For each part, the others merged in their order.
///
/// # Errors
/// If the parts differ in features or outputs.
pub fn all_but_one(parts: &[LinearMoments]) -> Result<Vec<LinearMoments>> {
    let join = |first: Option<LinearMoments>, second: Option<&LinearMoments>| match (first, second) {
        (Some(mut first), Some(second)) => first.merge(second).map(|()| Some(first)),
        (first, second) => Ok(first.or_else(|| second.cloned())),
    };
    let mut after: Vec<Option<LinearMoments>> = vec![None];
    for part in parts.iter().skip(1).rev() {
        let next = join(Some(part.clone()), after.last().and_then(Option::as_ref))?;
        after.push(next);
    }
    let (mut before, mut rest) = (None, Vec::with_capacity(parts.len()));
    for part in parts {
        rest.extend(join(before.clone(), after.pop().flatten().as_ref())?);
        before = join(before, Some(part))?;
    }
    Ok(rest)
}

/// The moments of each fold's training samples, if the folds divide the samples and moments are the cheaper way.
pub(crate) fn of_folds(samples: &Samples, folds: &[Fold]) -> Result<Option<Vec<LinearMoments>>> {
    if folds.len() < 2 || samples.targets().is_none() || !LinearMoments::suit(samples, 2 * folds.len()) {
        return Ok(None);
    }
    if !divided(samples.len(), folds) {
        return Ok(None);
    }
    let part = |fold: &Fold| -> Result<Option<LinearMoments>> {
        let part = samples.take(&fold.test)?;
        if part.has_zero_weight() { Ok(None) } else { LinearMoments::of(&part).map(Some) }
    };
    let parts: Option<Vec<LinearMoments>> = folds.iter().map(part).collect::<Result<_>>()?;
    parts.map(|parts| all_but_one(&parts)).transpose()
}

/// Whether each sample is tested in exactly one fold, and all folds train on the rest.
pub fn divided(samples: usize, folds: &[Fold]) -> bool {
    let mut tested = vec![false; samples];
    for fold in folds {
        if fold.test.is_empty() || fold.train.len() + fold.test.len() != samples {
            return false;
        }
        for &row in &fold.test {
            if std::mem::replace(&mut tested[row], true) {
                return false;
            }
        }
    }
    // Lengths alone would let a fold train on a row twice.
    let complete = |fold: &Fold| {
        let mut own = vec![false; samples];
        fold.test.iter().for_each(|&row| own[row] = true);
        fold.train.iter().all(|&row| !std::mem::replace(&mut own[row], true))
    };
    tested.iter().all(|tested| *tested) && folds.iter().all(complete)
}
