//! The promises of models that answer neighbor queries.

use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

use super::bad_input::{FACTORS, damages, is_about_data};
use super::checks::require;
use super::problems::plain;
use super::{Check, Outcome};
use crate::{Estimator, Fit, LearnError, Model, Predict, Result, Samples, restore};

pub(super) const ALL: &[(&str, Check)] = &[
    ("neighbors come in order, equally near ones by their number", order),
    ("neighbors that cannot be asked for are refused", refused),
    ("neighbors within a radius", radius),
    ("neighbors of huge and tiny numbers", magnitudes),
    ("same neighbors for any number of threads", threads),
    ("a saved model finds the same neighbors", saved),
    ("a damaged record finds no other neighbors", damaged),
];

fn fit(estimator: &dyn Estimator) -> Result<(Box<dyn Model>, Tensor)> {
    let (x, y) = plain(estimator)?;
    Ok((estimator.fit_samples(&Samples::new(&x, &y)?)?, x))
}

/// Distances and numbers of the neighbors of each row.
fn answers(model: &dyn Model, x: &Tensor) -> Result<(Vec<f64>, Vec<i64>)> {
    let found = model.kneighbors(x, 7)?;
    Ok((found.distances.to_f64_vec(), found.indices.try_to_vec::<i64>()?))
}

/// Every sample twice: the copies are equally near, and the first comes first.
fn order(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let twice: Vec<usize> = (0..120).map(|row| row % 60).collect();
    let model = estimator.fit_samples(&Samples::new(&x, &y)?.take(&twice)?)?;
    let found = model.kneighbors(&x, 8)?;
    let (distances, numbers) = (found.distances.to_f64_vec(), found.indices.try_to_vec::<i64>()?);
    let ascending = distances.chunks(8).all(|row| row.is_sorted() && row[0] == row[1]);
    let pairs = numbers.chunks(2).all(|pair| pair[1] == pair[0] + 60);
    let own = numbers.chunks(8).enumerate().all(|(row, found)| found[0] == row as i64);
    require(ascending && pairs && own && found.indices.dims() == [60, 8], || format!("{:?}", &numbers[..8]))
}

fn refused(estimator: &dyn Estimator) -> Result<Outcome> {
    let (model, x) = fit(estimator)?;
    for k in [0, 61, usize::MAX] {
        if !model.kneighbors(&x, k).is_err_and(|error| matches!(error, LearnError::Parameter { .. })) {
            return Ok(Outcome::Failed(format!("{k} neighbors of 60 samples were not refused")));
        }
    }
    for radius in [-1.0, f64::NAN, f64::INFINITY] {
        if model.radius_neighbors(&x, radius).is_ok() {
            return Ok(Outcome::Failed(format!("a radius of {radius} was accepted")));
        }
    }
    let mut broken = x.to_f64_vec();
    broken[4 * 7 + 2] = f64::NAN;
    let named = model.kneighbors(&Tensor::try_from_vec(broken, [60, 4])?, 1).is_err_and(|error| {
        let text = error.to_string();
        text.contains("row 7") && text.contains("column 2")
    });
    let narrow = model.kneighbors(x.narrow(1, 0, 3), 1);
    let width = matches!(narrow, Err(LearnError::Width { expected: 4, found: 3, .. }));
    let far = model.kneighbors(&(&x * 1e300), 1);
    let large = far.map_or_else(|error| is_about_data(&error), |found| !found.distances.max().item::<f64>().is_nan());
    require(named && width && large, || format!("NaN named: {named}, width refused: {width}, large rows: {large}"))
}

/// As far as the fifth neighbor there are five, or more at the same distance.
fn radius(estimator: &dyn Estimator) -> Result<Outcome> {
    let (model, x) = fit(estimator)?;
    let x = Tensor::try_concat(&[&x.narrow(0, 0, 5), &Key::new(14).normal([5, 4], DType::F64)], 0)?;
    let found = model.kneighbors(&x, 5)?;
    let (distances, numbers) = (found.distances.to_f64_vec(), found.indices.try_to_vec::<i64>()?);
    for row in 0..10 {
        let around = model.radius_neighbors(x.narrow(0, row, 1), distances[row * 5 + 4])?.indices(0);
        let first: Vec<i64> = around.iter().take(5).map(|&number| number as i64).collect();
        if first != numbers[row * 5..row * 5 + 5] {
            return Ok(Outcome::Failed(format!("{around:?} within the distance of the fifth neighbor of row {row}")));
        }
    }
    Ok(Outcome::Passed)
}

fn magnitudes(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    for factor in FACTORS {
        let x = &x * factor;
        let found = estimator.fit_samples(&Samples::new(&x, &y)?).and_then(|model| answers(&*model, &x));
        match found {
            Ok((distances, numbers)) => {
                let own = numbers.chunks(7).enumerate().all(|(row, found)| found[0] == row as i64);
                if !own || distances.iter().any(|distance| !distance.is_finite()) {
                    return Ok(Outcome::Failed(format!(
                        "features times {factor:e}: a sample is not nearest to itself"
                    )));
                }
            }
            Err(error) if is_about_data(&error) => {}
            Err(error) => return Ok(Outcome::Failed(format!("features times {factor:e}: {error}"))),
        }
    }
    Ok(Outcome::Passed)
}

fn threads(estimator: &dyn Estimator) -> Result<Outcome> {
    let (model, _) = fit(estimator)?;
    let queries = Key::new(15).normal([300, 4], DType::F64);
    let before = num_threads();
    let results: Result<Vec<_>> = [1, 2, 3, 8]
        .into_iter()
        .map(|threads| {
            set_num_threads(threads);
            answers(&*model, &queries)
        })
        .collect();
    set_num_threads(before);
    let results = results?;
    require(results.iter().all(|found| *found == results[0]), || "the number of threads changes them".to_owned())
}

fn saved(estimator: &dyn Estimator) -> Result<Outcome> {
    let (model, x) = fit(estimator)?;
    let copy = restore(&model.record())?;
    require(answers(&*model, &x)? == answers(&*copy, &x)?, || "what was read back finds others".to_owned())
}

fn damaged(estimator: &dyn Estimator) -> Result<Outcome> {
    let (model, x) = fit(estimator)?;
    let (expected, mut errors) = (answers(&*model, &x)?, 0);
    for (what, record) in damages(&model.record()) {
        match restore(&record).and_then(|copy| answers(&*copy, &x)) {
            Err(_) => errors += 1,
            Ok(found) if found == expected => {}
            Ok(_) => return Ok(Outcome::Failed(format!("a record {what} was read and finds others"))),
        }
    }
    require(errors > 0, || "no damage was noticed at all".to_owned())
}
