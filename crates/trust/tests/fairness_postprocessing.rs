//! Thresholds by group: held-out gaps, and fairlearn's `ThresholdOptimizer`.
#![allow(clippy::unwrap_used)]

mod fairness_common;

use fairness_common::{SETS, calibrated, close, fixture, part, rows, vector, whole};
use tove_metrics::accuracy;
use tove_tensor::{DType, Key, Tensor};
use tove_trust::fairness::{
    FittedThresholdOptimizer, ParityConstraint, ThresholdObjective, ThresholdOptimizer, demographic_parity_difference,
    equal_opportunity_difference, equalized_odds_difference, row_uniforms,
};

fn objectives() -> [ThresholdObjective; 3] {
    let cost = ThresholdObjective::Cost { false_positive: 1.0, false_negative: 3.0 };
    [ThresholdObjective::Accuracy, ThresholdObjective::BalancedAccuracy, cost]
}

/// The gap that a constraint speaks of.
fn gap(constraint: ParityConstraint, labels: &Tensor, decisions: &Tensor, groups: &Tensor) -> f64 {
    match constraint {
        ParityConstraint::DemographicParity => demographic_parity_difference(decisions, groups, None),
        ParityConstraint::EqualizedOdds => equalized_odds_difference(labels, decisions, groups, None),
        ParityConstraint::EqualOpportunity => equal_opportunity_difference(labels, decisions, groups, None),
        ParityConstraint::FalsePositiveRateParity => {
            let swapped: Vec<i64> = labels.to_vec::<i64>().iter().map(|label| 1 - label).collect();
            equal_opportunity_difference(&Tensor::from_slice(&swapped), decisions, groups, None)
        }
    }
    .unwrap()
}

/// Means of probabilities over rows by group: for all rows, label 1 and label 0.
fn rates(p: &[f64], labels: &[f64], groups: &[f64], inside: &dyn Fn(usize) -> bool) -> [Vec<f64>; 3] {
    let mean = |of: &dyn Fn(usize) -> bool| {
        let (sum, count) =
            (0..p.len()).filter(|&row| inside(row) && of(row)).fold((0.0, 0.0), |s, row| (s.0 + p[row], s.1 + 1.0));
        sum / count
    };
    let most = groups.iter().fold(0.0f64, |most, &group| most.max(group)) as usize;
    let by_group = |wanted: Option<f64>| {
        let of =
            |group: usize| mean(&|row| groups[row] == group as f64 && wanted.is_none_or(|label| labels[row] == label));
        (0..=most).map(of).collect()
    };
    [by_group(None), by_group(Some(1.0)), by_group(Some(0.0))]
}

fn spread(values: &[f64]) -> f64 {
    let ends = values.iter().fold((1.0f64, 0.0f64), |ends, &value| (ends.0.min(value), ends.1.max(value)));
    ends.1 - ends.0
}

#[test]
fn k24_gaps_vanish_on_held_out_data_at_the_accuracy_of_fairlearn() {
    // Held-out rows from the same source: every constraint and objective has a gap below 0.02.
    let (train, test) = (calibrated(60_000, 1.0, 21), calibrated(60_000, 1.0, 22));
    let plain: Vec<i64> = test.scores.to_vec::<f64>().iter().map(|&score| i64::from(score > 0.5)).collect();
    let plain = Tensor::from_slice(&plain);
    let uniforms = row_uniforms(3, &Tensor::arange(0, 60_000)).unwrap();
    for constraint in ParityConstraint::all() {
        assert!(gap(constraint, &test.labels, &plain, &test.groups) > 0.1);
        for objective in objectives() {
            let optimizer = ThresholdOptimizer { constraint, objective };
            let fitted = optimizer.fit(&train.scores, &train.labels, &train.groups, None).unwrap();
            let decisions = fitted.decide(&test.scores, &test.groups, &uniforms).unwrap();
            let found = gap(constraint, &test.labels, &decisions, &test.groups);
            assert!(found < 0.02, "{constraint:?} {objective:?}: {found}");
            if objective == ThresholdObjective::Accuracy {
                let score = accuracy(&test.labels, &decisions, None).unwrap().value;
                close(score, fitted.objective(), 0.01);
            }
        }
    }
    // fairlearn, on rows of adult, compas and german-credit, by two sensitive columns.
    for name in SETS {
        let set = fixture(name);
        let (score, labels) = (vector(&set["score"]), whole(&set["y"]));
        let n = score.numel();
        let even = rows(n, |row| row % 2 == 0);
        for (key, column) in [("thresholds", "first"), ("thresholds_second", "second")] {
            let groups = whole(&set[column]);
            for wanted in set[key].as_array().unwrap() {
                let constraint = ParityConstraint::from_name(wanted["constraint"].as_str().unwrap()).unwrap();
                let balanced = wanted["objective"] == "balanced_accuracy_score";
                let objective =
                    if balanced { ThresholdObjective::BalancedAccuracy } else { ThresholdObjective::Accuracy };
                let measure = if balanced { "balanced_accuracy" } else { "accuracy" };
                let optimizer = ThresholdOptimizer { constraint, objective };
                let fitted =
                    optimizer.fit(&part(&score, &even), &part(&labels, &even), &part(&groups, &even), None).unwrap();
                let p = fitted.probabilities(&score, &groups).unwrap().to_vec::<f64>();
                let (y, a) = (labels.to_f64_vec(), groups.to_f64_vec());
                // Training rows: the constraint holds exactly, and the objective is at least fairlearn's, which searches a grid.
                let [selection, tpr, fpr] = rates(&p, &y, &a, &|row| row % 2 == 0);
                let gap = match constraint {
                    ParityConstraint::DemographicParity => spread(&selection),
                    ParityConstraint::EqualizedOdds => spread(&tpr).max(spread(&fpr)),
                    ParityConstraint::EqualOpportunity => spread(&tpr),
                    ParityConstraint::FalsePositiveRateParity => spread(&fpr),
                };
                assert!(gap < 1e-12, "{name} {column} {constraint:?}: {gap}");
                let reference = |part: &str| wanted[part][measure].as_f64().unwrap();
                assert!(fitted.objective() > reference("train") - 1e-9, "{name} {constraint:?} {measure}");
                // One uniform number per row gives the same expectation as fairlearn's mixtures.
                let right = |row: usize| if y[row] == 1.0 { p[row] } else { 1.0 - p[row] };
                let mean = |inside: &dyn Fn(usize) -> bool| {
                    let (sum, count) =
                        (0..n).filter(|&row| inside(row)).fold((0.0, 0.0), |s, row| (s.0 + right(row), s.1 + 1.0));
                    sum / count
                };
                let score_of = |odd: usize| match balanced {
                    false => mean(&|row| row % 2 == odd),
                    true => {
                        0.5 * (mean(&|row| row % 2 == odd && y[row] == 0.0)
                            + mean(&|row| row % 2 == odd && y[row] == 1.0))
                    }
                };
                close(score_of(0), fitted.objective(), 1e-12);
                // Held-out rows: comparable. Test halves have 500 to 775 rows, so 0.03 is less than two standard errors.
                let difference = score_of(1) - reference("test");
                assert!(difference > -0.03, "{name} {column} {constraint:?} {measure}: {difference}");
            }
        }
    }
}

#[test]
fn costs_and_constraints_are_optimal_among_all_mixtures() {
    // Brute force on few rows: mixtures of two thresholds per group on a grid of probabilities never do better.
    let scores = [0.1, 0.4, 0.5, 0.8, 0.9, 0.2, 0.3, 0.6, 0.7];
    let labels = [0i64, 1, 0, 1, 1, 0, 1, 0, 1];
    let groups = [0i64, 0, 0, 0, 0, 1, 1, 1, 1];
    let objective = ThresholdObjective::Cost { false_positive: 2.0, false_negative: 1.0 };
    let cuts = [-1.0, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 2.0];
    // All mixtures of a group: (selection, false positives, false negatives) as counts.
    let mixtures = |group: i64| -> Vec<[f64; 5]> {
        let counts = |cut: f64| {
            let mut counts = [0.0; 5]; // accepted share, FPR, TPR, false positives, false negatives
            let own = || (0..9).filter(|&row| groups[row] == group);
            let positives = own().filter(|&row| labels[row] == 1).count() as f64;
            let n = own().count() as f64;
            for row in own() {
                let accepted = f64::from(u8::from(scores[row] > cut));
                counts[0] += accepted / n;
                match labels[row] {
                    1 => (counts[2], counts[4]) = (counts[2] + accepted / positives, counts[4] + 1.0 - accepted),
                    _ => (counts[1], counts[3]) = (counts[1] + accepted / (n - positives), counts[3] + accepted),
                }
            }
            counts
        };
        let mut all = Vec::new();
        for &a in &cuts {
            for &b in &cuts {
                for step in 0..=20 {
                    let share = f64::from(step) / 20.0;
                    let (a, b) = (counts(a), counts(b));
                    all.push(std::array::from_fn(|i| share * a[i] + (1.0 - share) * b[i]));
                }
            }
        }
        all
    };
    let (first, second) = (mixtures(0), mixtures(1));
    for constraint in ParityConstraint::all() {
        let fitted = ThresholdOptimizer { constraint, objective }
            .fit(&Tensor::from_slice(&scores), &Tensor::from_slice(&labels), &Tensor::from_slice(&groups), None)
            .unwrap();
        let mut best = f64::INFINITY;
        for a in &first {
            for b in &second {
                let gap = match constraint {
                    ParityConstraint::DemographicParity => (a[0] - b[0]).abs(),
                    ParityConstraint::EqualizedOdds => (a[1] - b[1]).abs().max((a[2] - b[2]).abs()),
                    ParityConstraint::EqualOpportunity => (a[2] - b[2]).abs(),
                    ParityConstraint::FalsePositiveRateParity => (a[1] - b[1]).abs(),
                };
                if gap < 1e-9 {
                    best = best.min((2.0 * (a[3] + b[3]) + a[4] + b[4]) / 9.0);
                }
            }
        }
        assert!(-fitted.objective() <= best + 1e-9, "{constraint:?}: {} {best}", -fitted.objective());
    }
}

#[test]
fn answers_do_not_depend_on_the_batch_and_survive_json() {
    let data = calibrated(2000, 1.0, 4);
    for constraint in ParityConstraint::all() {
        for objective in objectives() {
            let fitted = ThresholdOptimizer { constraint, objective }
                .fit(&data.scores, &data.labels, &data.groups, None)
                .unwrap();
            let text = fitted.to_json().to_string();
            let again = FittedThresholdOptimizer::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(again, fitted);
            let ids = Tensor::arange(5000, 7000);
            let decide = |rows: &Tensor| {
                let uniforms = row_uniforms(1, &part(&ids, rows)).unwrap();
                again.decide(&part(&data.scores, rows), &part(&data.groups, rows), &uniforms).unwrap()
            };
            let all = decide(&Tensor::arange(0, 2000));
            let some = Key::new(1).permutation(2000).narrow(0, 0, 300);
            assert_eq!(decide(&some).to_vec::<i64>(), part(&all, &some).to_vec::<i64>());
        }
    }
}

#[test]
fn damaged_json_and_bad_input_are_refused() {
    let data = calibrated(500, 1.0, 4);
    let fit = |scores: &Tensor, labels: &Tensor, groups: &Tensor| {
        ThresholdOptimizer::default().fit(scores, labels, groups, None).map_err(|error| error.to_string())
    };
    let fitted = fit(&data.scores, &data.labels, &data.groups).unwrap();
    let damage = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json = fitted.to_json();
        change(&mut json);
        FittedThresholdOptimizer::from_json(&json).unwrap_err().to_string()
    };
    assert!(damage(&|json| json["kind"] = "Ridge".into()).contains("holds a Ridge"));
    assert!(damage(&|json| json["version"] = 2.into()).contains("newer tove"));
    assert!(damage(&|json| json["constraint"] = "luck".into()).contains("constraint"));
    assert!(damage(&|json| json["groups"][0]["always"] = 2.0.into()).contains("always"));
    assert!(
        damage(&|json| json["groups"][0]["probabilities"] = serde_json::json!([0.9, 0.9])).contains("probabilities")
    );
    assert!(damage(&|json| json["groups"][1]["group"] = 0.into()).contains("ascending"));
    assert!(damage(&|json| json["groups"] = serde_json::json!([])).contains("two groups"));
    assert!(damage(&|json| *json = serde_json::json!(null)).contains("kind"));
    assert!(
        damage(&|json| json["objective"] = serde_json::json!({"name": "cost", "false_positive": -1}))
            .contains("false_positive")
    );

    let n = 500;
    let constant = Tensor::from_slice(&vec![1i64; n]);
    assert!(fit(&data.scores, &data.labels, &constant).unwrap_err().contains("group 1"));
    assert!(fit(&data.scores, &constant, &data.groups).unwrap_err().contains("lacks rows"));
    assert!(fit(&(&data.scores * f64::NAN), &data.labels, &data.groups).unwrap_err().contains("NaN"));
    assert!(fit(&data.scores.narrow(0, 0, 10), &data.labels, &data.groups).is_err());
    let empty = Tensor::zeros([0], DType::F64);
    assert!(fit(&empty, &empty, &empty).unwrap_err().contains("no samples"));
    let cost = |a: f64, b: f64| {
        let objective = ThresholdObjective::Cost { false_positive: a, false_negative: b };
        ThresholdOptimizer { objective, ..Default::default() }.fit(&data.scores, &data.labels, &data.groups, None)
    };
    assert!(cost(-1.0, 1.0).is_err() && cost(0.0, 0.0).is_err() && cost(f64::NAN, 1.0).is_err());
    assert!(cost(0.0, 1.0).is_ok());

    // A group without thresholds, numbers that are not uniform, no rows.
    let unknown = fitted.probabilities(&Tensor::from([0.5]), &Tensor::from([7i64])).unwrap_err().to_string();
    assert!(unknown.contains("group 7 has no threshold; the groups are 0, 1"), "{unknown}");
    assert!(fitted.decide(&Tensor::from([0.5]), &Tensor::from([1i64]), &Tensor::from([1.0])).is_err());
    assert!(fitted.decide(&Tensor::from([0.5]), &Tensor::from([1i64]), &Tensor::from([f64::NAN])).is_err());
    assert_eq!(fitted.probabilities(&empty, &empty).unwrap().numel(), 0);

    // Constant, huge and tied scores; weights of 0 remove rows; weights equal copies.
    let tied = fit(&Tensor::from_slice(&vec![3.0; n]), &data.labels, &data.groups).unwrap();
    assert!(tied.rules().iter().all(|rule| (rule.true_positive_rate - rule.false_positive_rate).abs() < 1e-12));
    let huge = fit(&(&data.scores * 1e308), &data.labels, &data.groups).unwrap();
    close(huge.objective(), fitted.objective(), 1e-12);
    let twice = |tensor: &Tensor| Tensor::from_slice(&numbers_twice(tensor)).to_dtype(tensor.dtype());
    let copies = fit(&twice(&data.scores), &twice(&data.labels), &twice(&data.groups)).unwrap();
    let weights = Tensor::from_slice(&vec![2.0; n]);
    let weighted = ThresholdOptimizer::default().fit(&data.scores, &data.labels, &data.groups, Some(&weights)).unwrap();
    assert_eq!(copies, weighted);
}

fn numbers_twice(tensor: &Tensor) -> Vec<f64> {
    tensor.to_f64_vec().into_iter().flat_map(|value| [value, value]).collect()
}

#[test]
fn constraints_hold_on_any_training_rows() {
    // Few rows, ties, weights with zeros, three groups of uneven size.
    for seed in 0..150 {
        let key = Key::new(seed);
        let n = 12 + seed as usize % 40;
        let draw = |fold: u64| key.fold(fold).uniform([n], DType::F64).to_vec::<f64>();
        let scores: Vec<f64> = draw(0).iter().map(|u| (u * 6.0).floor() - 3.0).collect();
        let groups: Vec<f64> = draw(1)
            .iter()
            .enumerate()
            .map(|(row, u)| if row < 6 { (row % 3) as f64 } else { (u * u * 3.0).floor() })
            .collect();
        let labels: Vec<f64> = draw(2)
            .iter()
            .enumerate()
            .map(|(row, u)| f64::from(u8::from(if row < 6 { row < 3 } else { *u < 0.4 })))
            .collect();
        let weights: Vec<f64> =
            draw(3).iter().enumerate().map(|(row, u)| if row < 6 { 1.0 } else { (u * 4.0).floor() }).collect();
        let [s, a, y, w] = [&scores, &groups, &labels, &weights].map(|values| Tensor::from_slice(values));
        for constraint in ParityConstraint::all() {
            for objective in objectives() {
                let fitted = ThresholdOptimizer { constraint, objective }.fit(&s, &y, &a, Some(&w)).unwrap();
                let p = fitted.probabilities(&s, &a).unwrap().to_vec::<f64>();
                let mean = |group: f64, label: Option<f64>| {
                    let own = |row: &usize| groups[*row] == group && label.is_none_or(|label| labels[*row] == label);
                    let (sum, total) = (0..n)
                        .filter(own)
                        .fold((0.0, 0.0), |sum, row| (sum.0 + weights[row] * p[row], sum.1 + weights[row]));
                    sum / total
                };
                let gap = |label: Option<f64>| spread(&[0.0, 1.0, 2.0].map(|group| mean(group, label)));
                let found = match constraint {
                    ParityConstraint::DemographicParity => gap(None),
                    ParityConstraint::EqualizedOdds => gap(Some(0.0)).max(gap(Some(1.0))),
                    ParityConstraint::EqualOpportunity => gap(Some(1.0)),
                    ParityConstraint::FalsePositiveRateParity => gap(Some(0.0)),
                };
                assert!(found < 1e-9, "{seed} {constraint:?} {objective:?}: {found}");
                // Never worse than accepting everybody or nobody, and larger scores are never less likely to be accepted.
                let value =
                    |label: f64| (0..n).filter(|&row| labels[row] == label).map(|row| weights[row]).sum::<f64>();
                let (positives, total) = (value(1.0), value(0.0) + value(1.0));
                let constant = match objective {
                    ThresholdObjective::Accuracy => (positives / total).max(1.0 - positives / total),
                    ThresholdObjective::BalancedAccuracy => 0.5,
                    ThresholdObjective::Cost { false_positive, false_negative } => {
                        -(false_positive * (total - positives)).min(false_negative * positives) / total
                    }
                };
                assert!(fitted.objective() > constant - 1e-9, "{seed} {constraint:?} {objective:?}");
                for rule in fitted.rules() {
                    let chances: Vec<f64> = (-4..5).map(|score| rule.probability(f64::from(score))).collect();
                    assert!(chances.windows(2).all(|pair| pair[0] <= pair[1]) && chances[8] <= 1.0);
                }
            }
        }
    }
}

#[test]
fn adult_is_fair_on_its_test_file() {
    let Some(folder) = fairness_common::large("adult") else { return };
    let (x, y, sex) = adult(&folder.join("train.csv"));
    let (x_test, y_test, sex_test) = adult(&folder.join("test.csv"));
    use tove_learn::{Fit, LogisticRegression, Pipeline, Predict, Samples, StandardScaler};
    let n = y.numel();
    let (even, odd) = (rows(n, |row| row % 2 == 0), rows(n, |row| row % 2 == 1));
    let estimator = Pipeline::of(StandardScaler::default()).then(LogisticRegression::default());
    let model = estimator.fit_samples(&Samples::new(part(&x, &even), &part(&y, &even)).unwrap()).unwrap();
    let score = |x: &Tensor| model.predict_proba(x).unwrap().narrow(1, 1, 1).reshape([x.dims()[0]]).contiguous();
    let plain: Vec<i64> = score(&x_test).to_vec::<f64>().iter().map(|&score| i64::from(score > 0.5)).collect();
    let plain = Tensor::from_slice(&plain);
    let before = demographic_parity_difference(&plain, &sex_test, None).unwrap();
    let base = accuracy(&y_test, &plain, None).unwrap().value;
    let fitted =
        ThresholdOptimizer::default().fit(&score(&part(&x, &odd)), &part(&y, &odd), &part(&sex, &odd), None).unwrap();
    let uniforms = row_uniforms(0, &Tensor::arange(0, y_test.numel() as i64)).unwrap();
    let decisions = fitted.decide(&score(&x_test), &sex_test, &uniforms).unwrap();
    let after = demographic_parity_difference(&decisions, &sex_test, None).unwrap();
    let fair = accuracy(&y_test, &decisions, None).unwrap().value;
    println!("adult: gap {before:.4} -> {after:.4}, accuracy {base:.4} -> {fair:.4}");
    assert!(before > 0.15 && after < 0.02 && fair > base - 0.04, "{before} {after} {base} {fair}");
}

/// Features, label and sex of a file of adult.
fn adult(path: &std::path::Path) -> (Tensor, Tensor, Tensor) {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut x, mut y, mut sex) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |place: usize| cells[place].parse::<f64>().unwrap();
        let is = |place: usize, value: &str| f64::from(u8::from(cells[place] == value));
        x.extend([
            number(0),
            number(4),
            number(12),
            is(5, "Married-civ-spouse"),
            f64::from(u8::from(number(10) > 0.0)),
        ]);
        y.push(i64::from(cells[14] == ">50K"));
        sex.push(i64::from(cells[9] == "Male"));
    }
    let n = y.len();
    assert!(n > 16_000);
    (Tensor::from_vec(x, [n, 5]), Tensor::from_slice(&y), Tensor::from_slice(&sex))
}
