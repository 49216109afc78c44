//! Counterfactuals: closed forms and enumeration, rules of features, models asked by queries only, bad input.
#![allow(clippy::unwrap_used)]

use tove_learn::{Fit, LogisticRegression, Predict};
use tove_tensor::{DType, Key, Tensor};
use tove_trust::Result;
use tove_trust::explanations::{ChangeRule, ChangeSpace, CounterfactualOptions};

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// The cheapest change of a linear score: the features with the largest gain per cost go to their ends first.
fn knapsack(w: &[f64], need: f64, x: &[f64], low: f64, high: f64, costs: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..w.len()).collect();
    order.sort_by(|&a, &b| (w[b].abs() / costs[b]).total_cmp(&(w[a].abs() / costs[a])));
    let (mut need, mut cost) = (need, 0.0);
    for i in order {
        let room = if w[i] > 0.0 { high - x[i] } else { x[i] - low };
        let step = room.min((need / w[i].abs()).max(0.0));
        need -= step * w[i].abs();
        cost += step * costs[i];
    }
    if need > 1e-12 { f64::INFINITY } else { cost }
}

#[test]
fn changes_of_linear_models_are_nearly_the_cheapest_ones() {
    let (mut found_all, mut worst) = (0, 1.0f64);
    for seed in 0..30 {
        let w = Key::new(seed).normal([5], DType::F64).to_f64_vec();
        let x: Vec<f64> = Key::new(100 + seed).uniform([5], DType::F64).to_f64_vec();
        let costs: Vec<f64> =
            Key::new(200 + seed).uniform([5], DType::F64).to_f64_vec().iter().map(|u| 0.5 + u).collect();
        let score = |row: &[f64]| row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>();
        let bias = -score(&x) - 0.7;
        let rules = costs.iter().map(|cost| ChangeRule::number(0.0, 1.0).cost(*cost)).collect();
        let options = CounterfactualOptions { changes: 5, ..CounterfactualOptions::default() };
        let ask = |rows: &[Vec<f64>]| Ok(rows.iter().map(|row| sigmoid(score(row) + bias)).collect());
        let best = knapsack(&w, 0.7, &x, 0.0, 1.0, &costs);
        let found = ChangeSpace::new(rules).unwrap().search(&x, ask, &options).unwrap();
        assert_eq!(found.is_some(), best.is_finite(), "{seed}");
        if let Some(found) = found {
            found_all += 1;
            worst = worst.max(found.cost / best);
            assert!(found.cost >= best - 1e-6 && found.probability >= 0.5 && found.finished, "{found:?} {best}");
            assert!(found.row.iter().all(|x| (0.0..=1.0).contains(x)));
        }
    }
    assert!(found_all > 15 && worst < 1.05, "{found_all} {worst}");
}

#[test]
fn whole_numbers_and_categories_equal_an_enumeration() {
    for seed in 0..20 {
        let w = Key::new(seed).normal([8], DType::F64).to_f64_vec();
        // Two whole numbers, then blocks of three and three; products make it nonlinear.
        let score = move |row: &[f64]| {
            row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + 0.5 * row[0] * row[3] - 0.4 * row[1] * row[6] - 2.0
        };
        let rules = vec![ChangeRule::integer(0.0, 4.0).cost(0.3), ChangeRule::integer(-2.0, 2.0).cost(0.2)];
        let space = ChangeSpace::new(rules).unwrap().categories(3, 0.5).unwrap().categories(3, 0.35).unwrap();
        let origin = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        let mut best = f64::INFINITY;
        for first in 0..5 {
            for second in -2..3 {
                for (a, b) in (0..9).map(|k| (k / 3, k % 3)) {
                    let mut row = vec![f64::from(first), f64::from(second), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
                    (row[2 + a], row[5 + b]) = (1.0, 1.0);
                    let cost = 0.3 * f64::from(first - 1).abs() + 0.2 * f64::from(second).abs();
                    let cost = cost + if a == 0 { 0.0 } else { 0.5 } + if b == 1 { 0.0 } else { 0.35 };
                    if score(&row) >= 0.0 && cost < best {
                        best = cost;
                    }
                }
            }
        }
        let ask = |rows: &[Vec<f64>]| Ok(rows.iter().map(|row| sigmoid(score(row))).collect());
        let options = CounterfactualOptions { beam: 16, ..CounterfactualOptions::default() };
        let found = space.search(&origin, ask, &options).unwrap();
        match found {
            None => assert!(best.is_infinite()),
            Some(found) => {
                assert!((found.cost - best).abs() < 1e-9, "{seed}: {} {best}", found.cost);
                assert!(found.row[..2].iter().all(|x| x.fract() == 0.0));
                assert!([2..5, 5..8].into_iter().all(|block| found.row[block].iter().sum::<f64>() == 1.0));
            }
        }
    }
}

#[test]
fn rules_hold_in_the_answer() {
    let ask = |rows: &[Vec<f64>]| Ok(rows.iter().map(|row| sigmoid(row[0] - row[1] + row[2] + row[4] - 3.0)).collect());
    let rules = vec![
        ChangeRule::number(0.0, 10.0).only_down(5.0),
        ChangeRule::number(0.0, 10.0).only_up(4.0),
        ChangeRule::fixed(),
    ];
    let space = ChangeSpace::new(rules.clone()).unwrap().fixed_categories(2).unwrap();
    // 5 − 4 + 1 − 3 < 0: the first may only fall and the second only rise, so nothing helps.
    assert!(space.search(&[5.0, 4.0, 1.0, 1.0, 0.0], ask, &Default::default()).unwrap().is_none());
    let space = ChangeSpace::new(rules).unwrap().categories(2, 1.0).unwrap();
    let found = space.search(&[5.0, 4.0, 1.0, 1.0, 0.0], ask, &Default::default()).unwrap().unwrap();
    assert_eq!(found.row, [5.0, 4.0, 1.0, 0.0, 1.0]);
    assert_eq!((found.changes.len(), found.changes[0].feature, found.cost), (1, 4, 1.0));
    // A row that has the answer already needs nothing.
    let own = space.search(&[5.0, 4.0, 3.0, 1.0, 0.0], ask, &Default::default()).unwrap().unwrap();
    assert_eq!((own.cost, own.changes.len(), own.queries), (0.0, 0, 1));
}

#[test]
fn a_fitted_model_is_asked_in_batches_and_within_the_budget() {
    let n = 200;
    let x = Key::new(1).normal([n, 3], DType::F64);
    let values = x.to_f64_vec();
    let y: Vec<i64> = values.chunks_exact(3).map(|row| i64::from(row[0] + 0.5 * row[1] > 0.3)).collect();
    let model = LogisticRegression::default().fit(&x, &Tensor::from_slice(&y)).unwrap();
    let ask = |rows: &[Vec<f64>]| -> Result<Vec<f64>> {
        let x = Tensor::from_vec(rows.concat(), [rows.len(), 3]);
        Ok(model.predict_proba(&x)?.to_f64_vec().chunks_exact(2).map(|p| p[1]).collect())
    };
    let space = ChangeSpace::new(vec![ChangeRule::number(-4.0, 4.0); 3]).unwrap();
    let row = [-1.0, -0.5, 0.2];
    let found = space.search(&row, ask, &Default::default()).unwrap().unwrap();
    let label = model.predict(Tensor::from_vec(found.row.clone(), [1, 3])).unwrap().to_vec::<i64>()[0];
    // The third feature does not matter, the first one matters most.
    assert!(label == 1 && found.changes.len() == 1 && found.changes[0].feature == 0);
    let again = space.search(&row, ask, &Default::default()).unwrap().unwrap();
    assert_eq!(again, found);
    for queries in [1, 5, 40, 100] {
        let options = CounterfactualOptions { queries, ..CounterfactualOptions::default() };
        if let Some(found) = space.search(&row, ask, &options).unwrap() {
            assert!(found.queries <= queries && found.probability >= 0.5);
        }
    }
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let half = |rows: &[Vec<f64>]| Ok(vec![0.4; rows.len()]);
    let space = ChangeSpace::new(vec![ChangeRule::number(0.0, 1.0)]).unwrap().categories(2, 1.0).unwrap();
    let search = |row: &[f64]| space.search(row, half, &Default::default());
    assert!(search(&[0.5]).is_err() && search(&[f64::NAN, 1.0, 0.0]).is_err());
    assert!(search(&[2.0, 1.0, 0.0]).unwrap_err().to_string().contains("feature 0 is 2"));
    assert!(search(&[0.5, 1.0, 1.0]).unwrap_err().to_string().contains("exactly one 1"));
    assert!(search(&[0.5, 1.0, 0.0]).unwrap().is_none());
    assert!(ChangeSpace::new(vec![ChangeRule::number(1.0, 0.0)]).is_err());
    assert!(ChangeSpace::new(vec![ChangeRule::number(0.0, f64::INFINITY)]).is_err());
    assert!(ChangeSpace::new(vec![ChangeRule::number(0.0, 1.0).cost(0.0)]).is_err());
    assert!(ChangeSpace::new(Vec::new()).unwrap().categories(0, 1.0).is_err());
    let row = [0.5, 1.0, 0.0];
    let with = |options: CounterfactualOptions| space.search(&row, half, &options).is_err();
    let usual = CounterfactualOptions::default();
    assert!(
        with(CounterfactualOptions { threshold: 1.5, ..usual }) && with(CounterfactualOptions { beam: 0, ..usual })
    );
    assert!(with(CounterfactualOptions { queries: 0, ..usual }));
    assert!(space.search(&row, |_| Ok(vec![0.4, 0.4, 0.4]), &usual).is_err());
    assert!(space.search(&row, |_| Ok(vec![f64::NAN]), &usual).unwrap_err().to_string().contains("must lie in [0, 1]"));
}
