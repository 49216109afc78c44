//! What the training rows of folds have in common, computed once: the statistics of each fold's test rows are those of a part of every
//! other fold's training rows.
//!
//! Encoders are merged from the statistics of the other folds, so each knows its training rows alone. Means and Gram matrices are taken
//! of rows that are encoded by one reference encoder, merged like those statistics, and brought to the features of each fold's own
//! encoder, which are linear combinations of the reference's.

use tove_data::table::TableEncoder;
use tove_data::table::encode::EncoderFit;
use tove_learn::Estimator;
use tove_learn::linear::{Combination, LinearMoments, all_but_one, divided};
use tove_learn::selection::Fold;

use crate::tabular::Result;
use crate::tabular::model::encoded;
use crate::tabular::prepared::Prepared;

/// The encoder of a fold's training rows and, for estimators that are fitted to them, their moments.
pub(super) struct KnownFold {
    pub encoder: TableEncoder,
    pub moments: Option<LinearMoments>,
}

/// What is known of each fold of these rows; `None` where nothing can be shared.
pub(super) fn known(
    data: &Prepared<'_>,
    (rows, folds): (&[usize], &[Fold]),
    estimator: Option<&dyn Estimator>,
) -> Result<Option<Vec<KnownFold>>> {
    if folds.len() < 2 || !divided(rows.len(), folds) {
        return Ok(None);
    }
    let tests: Vec<Vec<usize>> =
        folds.iter().map(|fold| fold.test.iter().map(|&place| rows[place]).collect()).collect();
    let (schema, encoding) = (&data.schema, &data.plan.encoding);
    let mut fits = Vec::with_capacity(folds.len());
    for test in &tests {
        let mut fit = EncoderFit::of(&data.table, schema, encoding)?;
        fit.see_rows(&data.table, test)?;
        fits.push(fit);
    }
    let mut whole = EncoderFit::of(&data.table, schema, encoding)?;
    fits.iter().try_for_each(|fit| whole.merge(fit))?;
    let mut encoders = Vec::with_capacity(folds.len());
    for own in 0..folds.len() {
        let mut others = EncoderFit::of(&data.table, schema, encoding)?;
        fits.iter().enumerate().filter(|(fold, _)| *fold != own).try_for_each(|(_, fit)| others.merge(fit))?;
        // Target encoding looks at the rows of the fold together.
        let Ok(encoder) = others.finish() else { return Ok(None) };
        encoders.push(encoder);
    }
    let moments = match estimator {
        Some(estimator) => moments(data, &tests, (&whole, &encoders), estimator)?,
        None => None,
    };
    let moments: Vec<Option<LinearMoments>> = match moments {
        Some(moments) => moments.into_iter().map(Some).collect(),
        None => vec![None; folds.len()],
    };
    Ok(Some(encoders.into_iter().zip(moments).map(|(encoder, moments)| KnownFold { encoder, moments }).collect()))
}

/// The moments of each fold's training rows as its own encoder encodes them.
fn moments(
    data: &Prepared<'_>,
    tests: &[Vec<usize>],
    (whole, encoders): (&EncoderFit, &[TableEncoder]),
    estimator: &dyn Estimator,
) -> Result<Option<Vec<LinearMoments>>> {
    let reference = whole.clone().finish()?;
    let features = |encoder: &TableEncoder| {
        let all = whole.combinations(encoder, &reference)?;
        Some(all.into_iter().map(|(terms, shift)| Combination { terms, shift }).collect::<Vec<Combination>>())
    };
    let Some(features) = encoders.iter().map(features).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let capabilities = estimator.capabilities();
    let mut parts = Vec::with_capacity(tests.len());
    for test in tests {
        let x = encoded(&reference, &data.table, Some(test), capabilities.sparse)?.x;
        let samples = data.samples(test, x, capabilities.weights, None)?;
        if !LinearMoments::suit(&samples, 2) {
            return Ok(None);
        }
        // What is wrong with the rows is reported by the fits.
        let Ok(part) = LinearMoments::of(&samples) else { return Ok(None) };
        parts.push(part);
    }
    let training = all_but_one(&parts)?;
    Ok(Some(training.iter().zip(&features).map(|(all, own)| all.combined(own)).collect::<Result<_, _>>()?))
}
