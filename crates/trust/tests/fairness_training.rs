//! Fairness in training and by pre-processing, against fairlearn and SciPy.
#![allow(clippy::unwrap_used)]

mod fairness_common;

use fairness_common::{SETS, close, fixture, matrix, numbers, sigmoid, vector, whole};
use serde_json::Value;
use tove_learn::{Fit, GaussianNb, LogisticRegression, NearestNeighbors, Predict, Samples};
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Key, Tensor};
use tove_trust::fairness::{
    CorrelationRemover, Dependence, ExponentiatedGradient, FairGridSearch, FairLogisticRegression,
    FittedCorrelationRemover, FittedFairLogisticRegression, ParityConstraint, RandomizedClassifier,
    demographic_parity_difference, equalized_odds_difference, reweighing,
};

/// Features of which some depend on the group, with labels that depend on both.
fn biased(n: usize, seed: u64) -> (Tensor, Tensor, Tensor) {
    let key = Key::new(seed);
    let groups: Vec<i64> =
        key.fold(0).uniform([n], DType::F64).to_vec::<f64>().iter().map(|&u| i64::from(u < 0.4)).collect();
    let sensitive = Tensor::from_slice(&groups);
    let shift = Tensor::from([1.2, 0.4, 0.0, 0.0]);
    let x = key.fold(1).normal([n, 4], DType::F64) + sensitive.to_dtype(DType::F64).reshape([n, 1]) * shift;
    let z = (&x * Tensor::from([1.0, 0.5, 1.0, -0.7])).sum_axes(&[1], false).to_vec::<f64>();
    let draw = key.fold(2).uniform([n], DType::F64).to_vec::<f64>();
    let labels: Vec<i64> = z.iter().zip(draw).map(|(&z, u)| i64::from(u < sigmoid(1.5 * z - 0.8))).collect();
    (x, Tensor::from_slice(&labels), sensitive)
}

/// Columns with mean 0 and variance 1.
fn standardized(x: &Tensor) -> Tensor {
    let centered = x - x.mean_axes(&[0], true);
    &centered / centered.square().mean_axes(&[0], true).sqrt()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (p, q) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
    let (u, v) = (sum(&|i| (a[i] - p).powi(2)), sum(&|i| (b[i] - q).powi(2)));
    sum(&|i| (a[i] - p) * (b[i] - q)) / (u * v).sqrt()
}

fn column(x: &Tensor, index: usize) -> Vec<f64> {
    x.narrow(1, index, 1).contiguous().to_f64_vec()
}

fn with_columns(x: &Tensor, more: &[&Tensor]) -> Tensor {
    let n = x.dims()[0];
    let mut all: Vec<Vec<f64>> = (0..x.dims()[1]).map(|index| column(x, index)).collect();
    all.extend(more.iter().map(|tensor| tensor.to_f64_vec()));
    let flat: Vec<f64> = (0..n).flat_map(|row| all.iter().map(move |column| column[row])).collect();
    Tensor::from_vec(flat, [n, all.len()])
}

/// Selection rate gap, mean score gap and dependence for a strength of the penalty.
fn penalized_gaps(data: &(Tensor, Tensor, Tensor), dependence: Dependence, strength: f64) -> [f64; 4] {
    let (x, y, a) = data;
    let settings = FairLogisticRegression { dependence, strength, ..FairLogisticRegression::default() };
    let model = settings.fit(x, y, a, None).unwrap();
    assert!(model.converged());
    let decisions = model.predict(x).unwrap();
    let (p, groups) = (model.predict_proba(x).unwrap().to_vec::<f64>(), a.to_vec::<i64>());
    let mean = |wanted: i64| {
        let own: Vec<f64> = p.iter().zip(&groups).filter(|(_, group)| **group == wanted).map(|(p, _)| *p).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    [
        demographic_parity_difference(&decisions, a, None).unwrap(),
        (mean(0) - mean(1)).abs(),
        model.dependence(),
        equalized_odds_difference(y, &decisions, a, None).unwrap(),
    ]
}

#[test]
fn k25_gap_falls_with_the_penalty_and_correlations_are_removed() {
    // The gap falls monotonically with the weight of the penalty.
    let data = biased(20_000, 1);
    let strengths = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0];
    let gaps: Vec<[f64; 4]> =
        strengths.iter().map(|&strength| penalized_gaps(&data, Dependence::Independence, strength)).collect();
    for pair in gaps.windows(2) {
        assert!(pair[1][0] <= pair[0][0] && pair[1][1] < pair[0][1] && pair[1][2] < pair[0][2], "{gaps:?}");
    }
    assert!(gaps[0][0] > 0.3 && gaps[8][0] < 0.02 && gaps[8][1] < 0.01, "{gaps:?}");
    let gaps: Vec<[f64; 4]> =
        strengths.iter().map(|&strength| penalized_gaps(&data, Dependence::Separation, strength)).collect();
    assert!(gaps.windows(2).all(|pair| pair[1][2] < pair[0][2]), "{gaps:?}");
    assert!(gaps[8][3] < 0.3 * gaps[0][3], "{gaps:?}");
    let data = biased(600, 2);
    let hsic = Dependence::Hsic { bandwidth: 1.0 };
    let gaps: Vec<[f64; 4]> =
        strengths[..8].iter().map(|&strength| penalized_gaps(&data, hsic, 10.0 * strength)).collect();
    assert!(gaps.windows(2).all(|pair| pair[1][2] <= pair[0][2] * (1.0 + 1e-9)), "{gaps:?}");
    assert!(gaps[7][0] < 0.5 * gaps[0][0], "{gaps:?}");

    // Pre-processing: no linear correlation is left, and results are fairlearn's.
    for name in SETS {
        let set = fixture(name);
        let x = with_columns(&matrix(&set["x"]), &[&whole(&set["first"]), &whole(&set["second"])]);
        for wanted in set["remover"].as_array().unwrap() {
            let sensitive: Vec<usize> = numbers(&wanted["sensitive"]).iter().map(|&column| column as usize).collect();
            let alpha = wanted["alpha"].as_f64().unwrap();
            let fitted = CorrelationRemover { sensitive: sensitive.clone(), alpha }.fit(&x).unwrap();
            let z = fitted.transform(&x).unwrap();
            let k = z.dims()[1];
            assert_eq!(fitted.columns().len(), k);
            let rows = numbers(&wanted["rows"]);
            let found = z.narrow(0, 0, rows.len() / k).contiguous().to_f64_vec();
            found.iter().zip(&rows).for_each(|(found, wanted)| close(*found, *wanted, 1e-12));
            for (index, sum) in numbers(&wanted["sums"]).iter().enumerate() {
                close(column(&z, index).iter().sum::<f64>(), *sum, 1e-12);
                for &own in sensitive.iter().filter(|_| alpha == 1.0) {
                    let left = correlation(&column(&z, index), &column(&x, own));
                    assert!(left.abs() < 1e-8, "{name}: {left}");
                }
            }
            let text = fitted.to_json().to_string();
            assert_eq!(FittedCorrelationRemover::from_json(&serde_json::from_str(&text).unwrap()).unwrap(), fitted);
        }
    }
}

#[test]
fn penalized_fits_equal_those_of_scipy() {
    let set = fixture("german");
    let set = &set["penalized"];
    let (x, y, a) = (matrix(&set["x"]), whole(&set["y"]), whole(&set["group"]));
    for wanted in set["fits"].as_array().unwrap() {
        let dependence = match wanted["kind"].as_str().unwrap() {
            "independence" => Dependence::Independence,
            "separation" => Dependence::Separation,
            _ => Dependence::Hsic { bandwidth: 1.5 },
        };
        let strength = wanted["strength"].as_f64().unwrap();
        let settings =
            FairLogisticRegression { dependence, strength, tolerance: 1e-9, ..FairLogisticRegression::default() };
        let model = settings.fit(&x, &y, &a, None).unwrap();
        let scores = model.decision_function(&x).unwrap().to_vec::<f64>();
        for (found, wanted) in scores.iter().zip(numbers(&wanted["scores"])) {
            close(*found, wanted, 2e-5);
        }
        close(model.dependence(), wanted["dependence"].as_f64().unwrap(), 1e-6);
        let text = model.to_json().to_string();
        let again = FittedFairLogisticRegression::from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again.predict_proba(&x).unwrap().to_vec::<f64>(), model.predict_proba(&x).unwrap().to_vec::<f64>());
    }
    // Without a penalty it is logistic regression on standardized features.
    let plain = FairLogisticRegression { strength: 0.0, tolerance: 1e-10, ..FairLogisticRegression::default() };
    let plain = plain.fit(&x, &y, &a, None).unwrap().predict_proba(&x).unwrap().to_vec::<f64>();
    let own = LogisticRegression::default().tol(1e-10).fit(standardized(&x), &y).unwrap();
    let own = own.predict_proba(standardized(&x)).unwrap().narrow(1, 1, 1).contiguous().to_f64_vec();
    plain.iter().zip(own).for_each(|(plain, own)| close(*plain, own, 1e-7));
    // Weights equal copies.
    let weights = Tensor::from_slice(&[2.0; 150]);
    let settings = FairLogisticRegression { tolerance: 1e-10, ..FairLogisticRegression::default() };
    let weighted = settings.fit(&x, &y, &a, Some(&weights)).unwrap();
    let twice = Tensor::from_slice(&(0..300).map(|row| row % 150).collect::<Vec<i64>>());
    let pick = |tensor: &Tensor| tensor.index_select(0, &twice);
    let copied = settings.fit(&pick(&x), &pick(&y), &pick(&a), None).unwrap();
    weighted.coef().iter().zip(copied.coef()).for_each(|(a, b)| close(*a, *b, 1e-8));
}

/// Expected accuracy and rates of a randomized classifier.
fn expected(p: &[f64], y: &[f64], a: &[f64]) -> (f64, [Vec<f64>; 3]) {
    let n = p.len();
    let mean = |of: &dyn Fn(usize) -> bool, value: &dyn Fn(usize) -> f64| {
        let (sum, count) = (0..n).filter(|&row| of(row)).fold((0.0, 0.0), |s, row| (s.0 + value(row), s.1 + 1.0));
        sum / count
    };
    let accuracy = mean(&|_| true, &|row| if y[row] == 1.0 { p[row] } else { 1.0 - p[row] });
    let rate = |wanted: Option<f64>| {
        let of = |group: Option<f64>| {
            mean(&|row| group.is_none_or(|g| a[row] == g) && wanted.is_none_or(|label| y[row] == label), &|row| p[row])
        };
        vec![of(Some(0.0)), of(Some(1.0)), of(None)]
    };
    (accuracy, [rate(None), rate(Some(1.0)), rate(Some(0.0))])
}

fn violation(rates: &[Vec<f64>; 3], constraint: ParityConstraint) -> f64 {
    let of = |rates: &Vec<f64>| (rates[0] - rates[2]).abs().max((rates[1] - rates[2]).abs());
    match constraint {
        ParityConstraint::DemographicParity => of(&rates[0]),
        _ => of(&rates[1]).max(of(&rates[2])),
    }
}

#[test]
fn exponentiated_gradient_and_grid_search_are_as_good_as_fairlearn() {
    for name in SETS {
        let set = fixture(name);
        let (x, y, a) = (standardized(&matrix(&set["x"])), whole(&set["y"]), whole(&set["first"]));
        let (labels, groups) = (y.to_f64_vec(), a.to_f64_vec());
        let model = LogisticRegression::default().tol(1e-9);
        for wanted in set["reductions"].as_array().unwrap() {
            let constraint = ParityConstraint::from_name(wanted["constraint"].as_str().unwrap()).unwrap();
            let reduction = ExponentiatedGradient { constraint, tolerance: 0.02, ..ExponentiatedGradient::default() };
            let fitted = reduction.fit(&model, &x, &y, &a, None).unwrap();
            let p = fitted.probabilities(&x).unwrap().to_vec::<f64>();
            let (accuracy, rates) = expected(&p, &labels, &groups);
            let gap = violation(&rates, constraint);
            close(1.0 - fitted.error, accuracy, 1e-12);
            close(fitted.violation, gap, 1e-9);
            let reference = |part: &str| {
                let list = |key: &str| numbers(&wanted[part][key]);
                (wanted[part]["accuracy"].as_f64().unwrap(), [list("selection"), list("tpr"), list("fpr")])
            };
            let (their_accuracy, _) = reference("gradient");
            println!(
                "{name} {constraint:?}: accuracy {accuracy:.4} (fairlearn {their_accuracy:.4}), violation {gap:.4}, fits {} ({})",
                fitted.fits, wanted["oracle_calls"]
            );
            assert!(gap <= 0.02 + 0.01, "{name} {constraint:?}: {gap}");
            assert!(accuracy > their_accuracy - 0.01, "{name} {constraint:?}: {accuracy} {their_accuracy}");

            let search = FairGridSearch { constraint, points: 11, ..FairGridSearch::default() };
            let grid = search.fit(&model, &x, &y, &a, None).unwrap();
            let (their_accuracy, their_rates) = reference("grid");
            let p = grid.classifier.probabilities(&x).unwrap().to_vec::<f64>();
            let (accuracy, rates) = expected(&p, &labels, &groups);
            let ours = 0.5 * (1.0 - accuracy) + 0.5 * violation(&rates, constraint);
            // fairlearn's fixture has the rates of both groups; the overall one follows.
            let share = groups.iter().sum::<f64>() / groups.len() as f64;
            let spread = |r: &Vec<f64>| (r[0] - r[1]).abs() * share.max(1.0 - share);
            let theirs = match constraint {
                ParityConstraint::DemographicParity => spread(&their_rates[0]),
                _ => spread(&their_rates[1]).max(spread(&their_rates[2])),
            };
            let theirs = 0.5 * (1.0 - their_accuracy) + 0.5 * theirs;
            println!("  grid: loss {ours:.4} (fairlearn {theirs:.4}) of {} points", grid.candidates.len());
            assert!(ours < theirs + 0.02, "{name} {constraint:?}: {ours} {theirs}");
        }
    }
}

#[test]
fn randomized_classifiers_are_saved_and_decide_row_by_row() {
    let (x, y, a) = biased(800, 3);
    let constraint = ParityConstraint::EqualOpportunity;
    let reduction = ExponentiatedGradient { constraint, ..ExponentiatedGradient::default() };
    let fitted = reduction.fit(&GaussianNb::default(), &x, &y, &a, None).unwrap();
    let path = std::env::temp_dir().join(format!("tove-fairness-{}.tove", std::process::id()));
    fitted.save(&path, WriteOptions::overwriting()).unwrap();
    let again = RandomizedClassifier::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let p = again.probabilities(&x).unwrap().to_vec::<f64>();
    assert_eq!(p, fitted.probabilities(&x).unwrap().to_vec::<f64>());
    close(again.parts().iter().map(|part| part.probability).sum(), 1.0, 1e-12);
    let uniforms = Key::new(1).uniform([800], DType::F64);
    let all = again.decide(&x, &uniforms).unwrap().to_vec::<i64>();
    let one = again.decide(&x.narrow(0, 7, 1).contiguous(), &uniforms.narrow(0, 7, 1).contiguous()).unwrap();
    assert_eq!(one.to_vec::<i64>(), all[7..8]);
    assert!(again.probabilities(&Tensor::zeros([0, 4], DType::F64)).unwrap().numel() == 0);
    assert!(again.probabilities(&Tensor::zeros([1, 3], DType::F64)).is_err());
    let again = ExponentiatedGradient { constraint, ..ExponentiatedGradient::default() };
    let same = again.fit(&GaussianNb::default(), &x, &y, &a, None).unwrap();
    assert_eq!(same.probabilities(&x).unwrap().to_vec::<f64>(), p);
}

#[test]
fn reweighing_makes_label_and_group_independent() {
    for name in SETS {
        let set = fixture(name);
        let (y, a, own) = (whole(&set["y"]), whole(&set["second"]), vector(&set["weights"]));
        for own in [None, Some(&own)] {
            let w = reweighing(&y, &a, own).unwrap().to_vec::<f64>();
            let base = own.map_or(vec![1.0; w.len()], |own| own.to_vec::<f64>());
            let (labels, groups) = (y.to_vec::<i64>(), a.to_vec::<i64>());
            let sum = |of: &dyn Fn(usize) -> bool, w: &[f64]| {
                (0..w.len()).filter(|&row| of(row)).map(|row| w[row]).sum::<f64>()
            };
            let total = sum(&|_| true, &w);
            close(total, base.iter().sum(), 1e-12);
            for group in 0..=groups.iter().copied().max().unwrap() {
                close(sum(&|row| groups[row] == group, &w), sum(&|row| groups[row] == group, &base), 1e-12);
                let rate =
                    sum(&|row| groups[row] == group && labels[row] == 1, &w) / sum(&|row| groups[row] == group, &w);
                close(rate, sum(&|row| labels[row] == 1, &base) / total, 1e-12);
            }
        }
    }
    // A classifier fitted with the weights has a smaller gap; most of it remains, since the features still tell the group.
    let (x, y, a) = biased(5000, 8);
    let gap = |weights: Option<&Tensor>| {
        let samples = Samples::new(&x, &y).unwrap();
        let samples = weights.map_or(samples.clone(), |weights| samples.weighted(weights).unwrap());
        let model = LogisticRegression::default().fit_samples(&samples).unwrap();
        demographic_parity_difference(&model.predict(&x).unwrap(), &a, None).unwrap()
    };
    let weights = reweighing(&y, &a, None).unwrap();
    assert!(gap(Some(&weights)) < gap(None) - 0.02, "{} {}", gap(Some(&weights)), gap(None));
}

#[test]
fn bad_input_is_refused_with_reasons() {
    let (x, y, a) = biased(100, 4);
    let one = Tensor::from_slice(&[1i64; 100]);
    let text = |result: Result<FittedFairLogisticRegression, tove_trust::TrustError>| result.unwrap_err().to_string();
    let settings = FairLogisticRegression::default();
    assert!(text(settings.fit(&x, &one, &a, None)).contains("same label"));
    assert!(text(settings.fit(&x, &y, &one, None)).contains("one group"));
    assert!(text(settings.fit(&(&x * 1e200), &y, &a, None)).contains("overflows"));
    assert!(text(settings.fit(&(&x * f64::NAN), &y, &a, None)).contains("NaN"));
    assert!(text(settings.fit(&x.narrow(0, 0, 5), &y, &a, None)).contains("100"));
    for strength in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(FairLogisticRegression { strength, ..settings.clone() }.fit(&x, &y, &a, None).is_err());
    }
    let hsic = FairLogisticRegression { dependence: Dependence::Hsic { bandwidth: 0.0 }, ..settings.clone() };
    assert!(text(hsic.fit(&x, &y, &a, None)).contains("bandwidth"));
    let (many, labels, groups) = biased(5001, 4);
    let hsic = FairLogisticRegression { dependence: Dependence::Hsic { bandwidth: 1.0 }, ..settings.clone() };
    assert!(text(hsic.fit(&many, &labels, &groups, None)).contains("at most 5000"));
    // A constant column has no weight; a model of other rows is refused.
    let constant = with_columns(&x, &[&one]);
    let fitted = settings.fit(&constant, &y, &a, None).unwrap();
    assert_eq!(fitted.coef()[4], 0.0);
    assert!(fitted.predict(&x).is_err() && fitted.predict(&Tensor::zeros([0, 5], DType::F64)).unwrap().numel() == 0);

    let reduce = |model: &dyn tove_learn::Estimator, y: &Tensor, a: &Tensor| {
        ExponentiatedGradient::default().fit(model, &x, y, a, None).map(|_| ()).unwrap_err().to_string()
    };
    let logistic = LogisticRegression::default();
    let flat = Tensor::from_slice(&[1.0; 100]);
    assert!(ExponentiatedGradient::default().fit(&logistic, &flat, &y, &a, None).is_err());
    assert!(FairGridSearch::default().fit(&logistic, &(&x * f64::INFINITY), &y, &a, None).is_err());
    assert!(settings.fit(&flat, &y, &a, None).is_err());
    assert!(reduce(&NearestNeighbors::default(), &y, &a).contains("sample weights"));
    assert!(reduce(&logistic, &one, &a).contains("same label"));
    assert!(reduce(&logistic, &y, &one).contains("group 1"));
    for tolerance in [0.0, -1.0, f64::NAN, 1.0] {
        assert!(ExponentiatedGradient { tolerance, ..Default::default() }.fit(&logistic, &x, &y, &a, None).is_err());
    }
    assert!(ExponentiatedGradient { max_iter: 0, ..Default::default() }.fit(&logistic, &x, &y, &a, None).is_err());
    assert!(FairGridSearch { points: 0, ..Default::default() }.fit(&logistic, &x, &y, &a, None).is_err());
    assert!(FairGridSearch { limit: f64::NAN, ..Default::default() }.fit(&logistic, &x, &y, &a, None).is_err());

    let remove = |sensitive: &[usize], alpha: f64, x: &Tensor| {
        CorrelationRemover { sensitive: sensitive.to_vec(), alpha }.fit(x).unwrap_err().to_string()
    };
    assert!(remove(&[4], 1.0, &x).contains("column 4"));
    assert!(remove(&[], 1.0, &x).contains("0 of 4"));
    assert!(remove(&[0, 1, 2, 3], 1.0, &x).contains("4 of 4"));
    assert!(remove(&[1, 1], 1.0, &x).contains("twice"));
    assert!(remove(&[0], 1.5, &x).contains("alpha"));
    assert!(remove(&[0], 1.0, &Tensor::zeros([0, 3], DType::F64)).contains("no samples"));
    assert!(remove(&[0], 1.0, &(&x * f64::NAN)).contains("NaN"));
    // A copy of the sensitive column becomes constant; a constant sensitive column removes nothing.
    let copied = with_columns(&x, &[&x.narrow(1, 0, 1).contiguous()]);
    let fitted = CorrelationRemover { sensitive: vec![0], alpha: 1.0 }.fit(&copied).unwrap();
    let rest = column(&fitted.transform(&copied).unwrap(), 3);
    assert!(rest.iter().all(|value| *value == rest[0]));
    assert_eq!(fitted.transform(&Tensor::zeros([0, 5], DType::F64)).unwrap().dims(), [0, 4]);
    assert!(fitted.transform(&x).unwrap_err().to_string().contains("fitted to 5"));
    let fixed = with_columns(&x, &[&one]);
    let fitted = CorrelationRemover { sensitive: vec![4], alpha: 1.0 }.fit(&fixed).unwrap();
    column(&fitted.transform(&fixed).unwrap(), 0).iter().zip(column(&x, 0)).for_each(|(a, b)| close(*a, b, 1e-15));
    let mut json: Value = fitted.to_json();
    json["means"] = serde_json::json!([1.0, 2.0]);
    assert!(FittedCorrelationRemover::from_json(&json).is_err());

    assert!(reweighing(&y, &one.narrow(0, 0, 5), None).is_err());
    assert!(reweighing(&y, &a, Some(&Tensor::from_slice(&[0.0; 100]))).is_err());
}
