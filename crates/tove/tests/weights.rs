//! Sample weights of perceptrons, and of tables.
#![allow(clippy::unwrap_used)]

use tove::data::table::{Column, Role, Table};
use tove::estimators::{MlpClassifier, MlpRegressor};
use tove::learn::linear::Ridge;
use tove::learn::{Capabilities, Estimator, Fit, Model, Predict, Samples};
use tove::optim::settings::Hyperparameters;
use tove::tabular::{Candidate, Plan};
use tove::tensor::{DType, Key, Tensor};

const N: usize = 40;

fn x() -> Tensor {
    Key::new(1).normal([N, 3], DType::F64)
}

fn numbers() -> Tensor {
    let rows = x().to_vec::<f64>();
    Tensor::from(rows.chunks(3).map(|row| row[0] * row[1] + 10.0 * row[2]).collect::<Vec<f64>>())
}

fn classes() -> Tensor {
    let rows = x().to_vec::<f64>();
    Tensor::from(rows.chunks(3).map(|row| i64::from(row[0] > 0.0) + i64::from(row[1] > 0.5)).collect::<Vec<i64>>())
}

/// Weights 0, 1, 2, 3 in turn.
fn weights() -> Vec<f64> {
    (0..N).map(|row| (row % 4) as f64).collect()
}

/// Every sample as often as its weight says.
fn copies(weights: &[f64]) -> Vec<usize> {
    (0..N).flat_map(|row| std::iter::repeat_n(row, weights[row] as usize)).collect()
}

/// The answers of a fit to samples with these weights, as numbers.
fn answers(estimator: &dyn Estimator, y: &Tensor, weights: Option<&[f64]>, rows: &[usize]) -> Vec<f64> {
    let mut samples = Samples::new(x(), y).unwrap().take(rows).unwrap();
    if let Some(weights) = weights {
        let weights: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
        samples = samples.weighted(&Tensor::from(weights)).unwrap();
    }
    let model = tove::learn::quietly(|| estimator.fit_samples(&samples)).unwrap();
    match model.capabilities().classifies() {
        false => model.predict(x()).unwrap().to_f64_vec(),
        true => model.predict_proba(x()).unwrap().to_f64_vec(),
    }
}

/// All samples in one batch, and none set aside: the steps are those of the weighted mean loss.
fn whole_batch() -> [(Box<dyn Estimator>, Tensor); 2] {
    let regressor = MlpRegressor::default().batch_size(1000).epochs(30).validation_fraction(0.0).hidden(vec![8]);
    let classifier = MlpClassifier::default().batch_size(1000).epochs(30).validation_fraction(0.0).hidden(vec![8]);
    [(Box::new(regressor), numbers()), (Box::new(classifier), classes())]
}

#[test]
fn a_weight_is_that_many_copies_in_a_perceptron() {
    let (weights, all) = (weights(), (0..N).collect::<Vec<usize>>());
    for (estimator, y) in whole_batch() {
        let weighted = answers(&*estimator, &y, Some(&weights), &all);
        let copied = answers(&*estimator, &y, None, &copies(&weights));
        let plain = answers(&*estimator, &y, None, &all);
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(distance(&weighted, &copied) < 1e-6, "{}: {}", estimator.name(), distance(&weighted, &copied));
        assert!(distance(&weighted, &plain) > 1e-3, "{}: weights change nothing", estimator.name());
    }
}

#[test]
fn weight_zero_is_no_sample_and_equal_weights_are_none() {
    let all: Vec<usize> = (0..N).collect();
    let kept: Vec<usize> = all.iter().copied().filter(|row| row % 4 != 0).collect();
    // With small batches and rows set aside to stop by: the same samples give the same bits.
    let regressor = MlpRegressor::default().batch_size(7).epochs(4).hidden(vec![8]);
    let classifier = MlpClassifier::default().batch_size(7).epochs(4).hidden(vec![8]);
    let both: [(Box<dyn Estimator>, Tensor); 2] = [(Box::new(regressor), numbers()), (Box::new(classifier), classes())];
    for (estimator, y) in both {
        let zero: Vec<f64> = all.iter().map(|row| if row % 4 == 0 { 0.0 } else { 3.0 }).collect();
        assert_eq!(
            answers(&*estimator, &y, Some(&zero), &all),
            answers(&*estimator, &y, None, &kept),
            "{}",
            estimator.name()
        );
        let weights = weights();
        let double: Vec<f64> = weights.iter().map(|weight| 2.0 * weight).collect();
        let (once, twice) =
            (answers(&*estimator, &y, Some(&weights), &all), answers(&*estimator, &y, Some(&double), &all));
        assert_eq!(once, twice, "{}: only the ratios of weights matter", estimator.name());
    }
}

#[test]
fn weights_that_cannot_be_are_refused() {
    let y = numbers();
    for weights in [vec![-1.0; N], vec![0.0; N], vec![f64::NAN; N], vec![f64::INFINITY; N], vec![1.0; N - 1]] {
        let fitted = Samples::new(x(), &y)
            .and_then(|samples| samples.weighted(&Tensor::from(weights.clone())))
            .and_then(|samples| MlpRegressor::default().fit_samples(&samples));
        assert!(fitted.is_err(), "{:?}", weights.first());
    }
}

fn table(weight: impl Fn(usize) -> f64) -> Table {
    let y = numbers().to_vec::<f64>();
    let column = |place: usize| Column::floats(x().to_vec::<f64>().chunks(3).map(|row| row[place]).collect());
    let weights = Column::floats((0..N).map(weight).collect());
    Table::new([("a", column(0)), ("b", column(1)), ("c", column(2)), ("w", weights), ("y", Column::floats(y))])
        .unwrap()
}

#[test]
fn tables_refuse_weights_that_cannot_be() {
    let fit = |table: &Table| {
        let plan = Plan::new("y").role("w", Role::Weight).folds(0);
        plan.fit(table, &[Candidate::named("MlpRegressor").unwrap().set("epochs", 2).unwrap()], &mut |_| {})
            .map(|outcome| outcome.chosen)
            .map_err(|error| error.to_string())
    };
    assert_eq!(fit(&table(|row| (row % 3) as f64)), Ok("MlpRegressor".to_owned()));
    let negative = fit(&table(|row| if row == 5 { -2.0 } else { 1.0 })).unwrap_err();
    assert!(negative.contains("column w") && negative.contains("-2") && negative.contains("row 6"), "{negative}");
    let missing = fit(&table(|row| if row == 7 { f64::NAN } else { 1.0 })).unwrap_err();
    assert!(missing.contains("column w") && missing.contains("row 8"), "{missing}");
    let zero = fit(&table(|_| 0.0)).unwrap_err();
    assert!(zero.contains("are 0"), "{zero}");
}

/// Ridge regression that takes no weights.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
struct Unweighted {}

impl Estimator for Unweighted {
    fn capabilities(&self) -> Capabilities {
        Capabilities { weights: false, ..Ridge::default().capabilities() }
    }
    fn fit_boxed(&self, samples: &Samples) -> tove::learn::Result<Box<dyn Model>> {
        assert!(samples.weights().is_none());
        Ridge::default().fit_boxed(samples)
    }
    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

#[test]
fn who_takes_no_weights_is_left_out_with_a_sentence() {
    let unweighted = Candidate { name: "Unweighted".into(), estimator: Box::new(Unweighted {}) };
    let plan = Plan::new("y").role("w", Role::Weight).folds(2);
    let table = table(|row| (row % 3) as f64);
    let both = [unweighted.clone(), Candidate::named("LinearRegression").unwrap()];
    let outcome = plan.fit(&table, &both, &mut |_| {}).unwrap();
    assert_eq!(outcome.chosen, "LinearRegression");
    let problem = outcome.candidates[0].problem.clone().unwrap();
    assert!(problem.contains("takes no sample weights") && problem.contains("column w"), "{problem}");
    let alone = plan.fit(&table, &[unweighted], &mut |_| {}).map(|outcome| outcome.chosen).unwrap_err();
    assert!(alone.to_string().contains("takes no sample weights"), "{alone}");
}

/// A model that was fitted with sample weights is evaluated with them; unusable ones are refused.
#[test]
fn evaluation_uses_the_weight_column() {
    let rows = 400;
    let x = Key::new(3).normal([rows], DType::F64).to_vec::<f64>();
    // Rows of weight 0 have the wrong class.
    let weight: Vec<f64> = (0..rows).map(|row| f64::from(row % 2 == 0)).collect();
    let class: Vec<&str> = (0..rows).map(|row| if (x[row] > 0.0) == (row % 2 == 0) { "up" } else { "down" }).collect();
    let with = |weight: Column| {
        Table::new([("x", Column::floats(x.clone())), ("w", weight), ("class", Column::categories(class.clone()))])
            .unwrap()
    };
    let table = with(Column::floats(weight));
    let plan = Plan::new("class").role("w", Role::Weight).folds(0);
    let candidate = Candidate::named("LogisticRegression").unwrap();
    let model = plan.fit(&table, &[candidate], &mut |_| {}).unwrap().model;
    let accuracy = |table: &Table| -> tove::tabular::Result<f64> {
        let mut judge = model.evaluator();
        for start in (0..rows).step_by(150) {
            judge.see(&table.slice(start..rows.min(start + 150)))?;
        }
        Ok(judge.finish()?.scores[0].score.value)
    };
    assert!(accuracy(&table).unwrap() > 0.97);
    assert!((accuracy(&table.select(&["x", "class"]).unwrap()).unwrap() - 0.5).abs() < 0.06);
    for wrong in [-1.0, 0.0, f64::NAN] {
        let error = accuracy(&with(Column::floats(vec![wrong; rows]))).unwrap_err().to_string();
        assert!(error.contains("weight"), "{wrong}: {error}");
    }
    let error = accuracy(&with(Column::categories(vec!["much"; rows]))).unwrap_err().to_string();
    assert!(error.contains('w'), "{error}");
}

/// Columns and targets of any size are standardized before they are fitted.
#[test]
fn magnitudes_do_not_matter() {
    let rows = 300;
    let [a, noise] = [1, 2].map(|key| Key::new(key).normal([rows], DType::F64).to_vec::<f64>());
    for scale in [1.0, 1e-300, 1e-200, 1e155, 1e200, 1e300] {
        let x: Vec<f64> = a.iter().map(|a| a * scale).collect();
        let y: Vec<f64> = a.iter().zip(&noise).map(|(a, noise)| 3.0 * a + 0.1 * noise).collect();
        let table = Table::new([("x", Column::floats(x)), ("y", Column::floats(y))]).unwrap();
        let candidate = Candidate::named("Ridge").unwrap();
        let outcome = Plan::new("y").folds(0).fit(&table, &[candidate], &mut |_| {}).unwrap();
        assert!(outcome.test[0].score.value > 0.99, "{scale:e}: {:?}", outcome.test[0]);
    }
}
