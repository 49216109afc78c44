//! The checks of transformers.

use tove_tensor::{DType, Key, Tensor};

use super::bad_input::{FACTORS, damages, invalid_weights, is_about_data};
use super::checks::require;
use super::{Check, Outcome};
use crate::{Estimator, Fit, LearnError, Model, Result, Rows, Samples, Transform, restore};

pub(super) const ALL: &[(&str, Check)] = &[
    ("fits and transforms", fits),
    ("no rows", no_rows),
    ("invalid weights are rejected", bad_weights),
    ("weight 2 is two copies", weights_are_copies),
    ("NaN is a missing value or rejected with its position", missing),
    ("a wrong number of features is rejected", wrong_width),
    ("single precision", single_precision),
    ("huge and tiny numbers", magnitudes),
    ("a fit does not change the transformer", refit),
    ("a saved transformer gives the same bits", saved),
    ("a damaged record is an error", damaged),
];

/// 40 rows with four columns, two of them integers, and classes that depend on the first column.
fn problem(transformer: &dyn Estimator) -> Result<(Tensor, Tensor)> {
    let n = 40;
    let noise = Key::new(21).normal([n, 2], DType::F64).to_f64_vec();
    let row = |i: usize| [noise[2 * i] + (i % 2) as f64, (i % 3) as f64, 5.0 + noise[2 * i + 1], (i % 5) as f64 - 2.0];
    let x: Vec<f64> = (0..n).flat_map(row).collect();
    let y: Vec<i64> = (0..n).map(|i| (i % 2) as i64).collect();
    let x = Tensor::try_from_vec(x, [n, 4])?;
    let x = if transformer.capabilities().nonnegative { x.abs() } else { x };
    Ok((x, Tensor::try_from_vec(y, [n])?))
}

fn fit(transformer: &dyn Estimator, x: &Tensor, y: &Tensor, weights: Option<&Tensor>) -> Result<Box<dyn Model>> {
    let lenient = transformer.capabilities().missing;
    let samples = Samples::from_parts(Rows::from(x), Some(y), lenient)?;
    let samples = weights.map_or(Ok(samples.clone()), |weights| samples.weighted(weights))?;
    transformer.fit_samples(&samples)
}

fn numbers(transform: &dyn Model, x: &Tensor) -> Result<Vec<f64>> {
    Ok(transform.transform(x)?.to_f64_vec())
}

fn fits(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let fitted = fit(transformer, &x, &y, None)?;
    let given = fitted.transform(&x)?;
    let names = fitted.output_names(&["a", "b", "c", "d"].map(str::to_owned));
    let finite = given.to_f64_vec().iter().all(|value| value.is_finite());
    let shaped = given.dims() == [40, fitted.outputs()] && names.len() == fitted.outputs() && fitted.width() == 4;
    require(finite && shaped && fitted.name() == transformer.name(), || {
        format!("rows of shape {} with {} names from {}", given.shape(), names.len(), fitted.name())
    })
}

fn no_rows(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let (x, y) = (crate::rows::take(&x, &[])?, crate::rows::take(&y, &[])?);
    match fit(transformer, &x, &y, None) {
        Err(LearnError::TooFew { found: 0, .. }) => Ok(Outcome::Passed),
        Err(error) => Ok(Outcome::Failed(format!("unexpected error: {error}"))),
        Ok(_) => Ok(Outcome::Failed("it was fitted to no rows".to_owned())),
    }
}

fn bad_weights(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let ones = Tensor::ones([40], DType::F64);
    if !transformer.capabilities().weights {
        let refused = fit(transformer, &x, &y, Some(&ones)).err();
        let refused = refused.is_some_and(|error| matches!(error, LearnError::Unsupported { .. }));
        return require(refused, || "weights were accepted but are not supported".to_owned());
    }
    for (what, weights) in invalid_weights(40)? {
        match fit(transformer, &x, &y, Some(&weights)) {
            Err(error) if is_about_data(&error) => {}
            Err(error) => return Ok(Outcome::Failed(format!("{what}: unexpected error: {error}"))),
            Ok(_) => return Ok(Outcome::Failed(format!("{what} were accepted"))),
        }
    }
    let (without, with) = (fit(transformer, &x, &y, None)?, fit(transformer, &x, &y, Some(&ones))?);
    require(close(&numbers(&*without, &x)?, &numbers(&*with, &x)?), || "weights of 1 change the result".to_owned())
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()))
}

fn weights_are_copies(transformer: &dyn Estimator) -> Result<Outcome> {
    if !transformer.capabilities().weights {
        return Ok(Outcome::Skipped("does not support weights"));
    }
    let (x, y) = problem(transformer)?;
    let counts: Vec<usize> = (0..40).map(|i| [1, 2, 0, 3, 1][i % 5]).collect();
    let copies: Vec<usize> = (0..40).flat_map(|i| std::iter::repeat_n(i, counts[i])).collect();
    let weights = Tensor::try_from_vec(counts.iter().map(|&count| count as f64).collect(), [40])?;
    let weighted = fit(transformer, &x, &y, Some(&weights))?;
    let copied = fit(transformer, &crate::rows::take(&x, &copies)?, &crate::rows::take(&y, &copies)?, None)?;
    require(close(&numbers(&*weighted, &x)?, &numbers(&*copied, &x)?), || "weights are not copies".to_owned())
}

fn missing(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let mut values = x.to_f64_vec();
    values[4 * 7 + 2] = f64::NAN;
    let broken = Tensor::try_from_vec(values, [40, 4])?;
    let fitted = fit(transformer, &broken, &y, None);
    if transformer.capabilities().missing {
        let fitted = fitted?;
        let (given, outputs) = (numbers(&*fitted, &broken)?, fitted.outputs());
        let missing: Vec<usize> = (0..given.len()).filter(|&index| given[index].is_nan()).collect();
        // Parallel transformers may output a column once each.
        let (few, own_row) = (missing.len() <= outputs.div_ceil(4), missing.iter().all(|index| index / outputs == 7));
        let filled = missing.is_empty() || !transformer.capabilities().fills;
        return require(few && own_row && filled, || format!("one missing value became {}", missing.len()));
    }
    let named = |error: LearnError| {
        let text = error.to_string();
        text.contains("row 7") && text.contains("column 2")
    };
    let transformed = fit(transformer, &x, &y, None)?.transform(&broken);
    let both = fitted.err().is_some_and(named) && transformed.is_err_and(named);
    require(both, || "the position is not named".to_owned())
}

fn wrong_width(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let narrow = fit(transformer, &x, &y, None)?.transform(x.narrow(1, 0, 3));
    require(matches!(narrow, Err(LearnError::Width { expected: 4, found: 3, .. })), || format!("{narrow:?}"))
}

fn single_precision(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let double = numbers(&*fit(transformer, &x, &y, None)?, &x)?;
    let x = x.to_dtype(DType::F32);
    let given = fit(transformer, &x, &y, None)?.transform(&x)?;
    if given.dtype() != DType::F32 {
        return Ok(Outcome::Failed(format!("numbers of type {} for rows of type f32", given.dtype())));
    }
    let single = given.to_f64_vec();
    // Categories differ in single precision, but their number is the same.
    let tolerance = transformer.capabilities().accuracy.max(1e-4);
    let near = single.len() == double.len()
        && single.iter().zip(&double).all(|(a, b)| (a - b).abs() < tolerance * (1.0 + b.abs()));
    require(near, || "single precision gives different output".to_owned())
}

fn magnitudes(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    for factor in FACTORS {
        let x = &x * factor;
        let given = fit(transformer, &x, &y, None).and_then(|fitted| numbers(&*fitted, &x));
        match given {
            Ok(given) if given.iter().all(|value| value.is_finite()) => {}
            Ok(_) => return Ok(Outcome::Failed(format!("rows times {factor:e} give numbers that are not finite"))),
            Err(error) if is_about_data(&error) => {}
            Err(error) => return Ok(Outcome::Failed(format!("rows times {factor:e}: internal error: {error}"))),
        }
    }
    Ok(Outcome::Passed)
}

fn refit(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let first = numbers(&*fit(transformer, &x, &y, None)?, &x)?;
    let before = transformer.values();
    fit(transformer, &(&x * 2.0).narrow(1, 0, 3), &y, None)?;
    let again = numbers(&*fit(transformer, &x, &y, None)?, &x)?;
    require(first == again && transformer.values() == before, || "a second fit gives different output".to_owned())
}

fn saved(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let fitted = fit(transformer, &x, &y, None)?;
    let copy = restore(&fitted.record())?;
    require(numbers(&*fitted, &x)? == numbers(&*copy, &x)?, || {
        "the restored transformer gives different output".to_owned()
    })
}

fn damaged(transformer: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = problem(transformer)?;
    let fitted = fit(transformer, &x, &y, None)?;
    let expected = numbers(&*fitted, &x)?;
    let mut errors = 0;
    for (what, record) in damages(&fitted.record()) {
        if transformer.capabilities().missing && what.ends_with("of NaN") {
            continue; // statistics of a column without values
        }
        match restore(&record).and_then(|copy| numbers(&*copy, &x)) {
            Err(_) => errors += 1,
            Ok(found) if found == expected => {}
            Ok(_) => return Ok(Outcome::Failed(format!("a record {what} was read and gives different output"))),
        }
    }
    require(errors > 0, || "no damage was detected".to_owned())
}
