//! Calibration: bins, errors, tests and maps against scikit-learn, netcal, torchmetrics, relplot, venn-abers, betacal and scipy
//! (`reference/calibration.py`), and what they promise of themselves.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tove_learn::calibration::{CalibrationPart, PlattSigmoid};
use tove_learn::{Fit, GaussianNb, LinearSvc, LogisticRegression, Model, Predict, Record, Samples};
use tove_metrics::{
    Bootstrap, BootstrapMethod, accuracy, average_precision, clopper_pearson, log_loss, precision_recall_auc, wilson,
};
use tove_plot::{Picture, ReliabilityBin, ReliabilityChart};
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Key, Tensor, TryNorm, TryOps, num_threads, set_num_threads};
use tove_trust::Probabilities;
use tove_trust::calibration::{
    Binning, CalibratedModel, CalibrationCheck, CalibrationMap, CalibrationMethod, CalibrationVerdict,
    HoldoutCalibration, ReliabilityBins, ScoreKind, brier_decomposition, calibration_errors, check_calibration,
    class_bins, consistency_test, smooth_ece, smooth_ece_at, spiegelhalter_test, top_label_bins,
};

fn fixture() -> Value {
    serde_json::from_str(include_str!("fixtures/calibration.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn vector(value: &Value) -> Tensor {
    Tensor::from(numbers(value))
}

fn matrix(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap().len();
    let all = numbers(value);
    let columns = all.len() / rows;
    Tensor::from_vec(all, [rows, columns])
}

fn integers(value: &Value) -> Tensor {
    vector(value).to_dtype(DType::I64)
}

fn probabilities(tensor: &Tensor) -> Probabilities {
    Probabilities::new("test", tensor).unwrap()
}

#[track_caller]
fn close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (place, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{place}: {a}, not {b}");
    }
}

/// Labels drawn from softmax(logits), and the logits (n, m).
fn drawn(seed: u64, n: usize, m: usize) -> (Tensor, Tensor) {
    let logits = Key::new(seed).normal([n, m], DType::F64).to_f64_vec();
    let uniform = Key::new(seed).fold(1).uniform([n], DType::F64).to_f64_vec();
    let label = |(row, u): (&[f64], f64)| {
        let sum: f64 = row.iter().map(|z| (2.0 * z).exp()).sum();
        let mut rest = u * sum;
        row.iter()
            .position(|z| {
                ((2.0 * z).exp() - rest >= 0.0) || {
                    rest -= (2.0 * z).exp();
                    false
                }
            })
            .unwrap_or(m - 1) as i64
    };
    let labels: Vec<i64> = logits.chunks(m).zip(uniform).map(label).collect();
    let logits: Vec<f64> = logits.into_iter().map(|z| 2.0 * z).collect();
    (Tensor::from_vec(logits, [n, m]), Tensor::from(labels))
}

/// Two informative features and their copies, which make naive Bayes too sure; labels of `m` classes.
fn samples(seed: u64, n: usize, m: i64) -> Samples {
    let x = Key::new(seed).normal([n, 2], DType::F64).to_f64_vec();
    let noise = Key::new(seed).fold(1).normal([n], DType::F64).to_f64_vec();
    let label = |(row, e): (&[f64], f64)| ((row[0] + 0.5 * row[1] + e + 1.0).floor() as i64).clamp(0, m - 1) * 3 - 1;
    let y: Vec<i64> = x.chunks(2).zip(noise).map(label).collect();
    let wide: Vec<f64> = x.chunks(2).flat_map(|row| [row[0], row[1], row[0], row[1], row[0]]).collect();
    Samples::new(Tensor::from_vec(wide, [n, 5]), &Tensor::from(y)).unwrap()
}

#[test]
fn k1_scores_become_probabilities_only_by_a_recorded_check() {
    // The documentation of the outputs says what they are.
    let api = include_str!("../../learn/src/model.rs");
    assert!(api.contains(
        "They are scores between 0 and 1 unless\n    /// [`Model::calibration`] returns a check that passed."
    ));
    assert!(api.contains("Decision scores: (n) for two classes, else (n, m). Never probabilities."));
    // No model is calibrated by itself, not even after calibration.
    let train = samples(1, 1500, 2);
    let plain = GaussianNb::default().fit_samples(&train).unwrap();
    assert!(plain.calibration().is_none());
    let boxed = || -> Box<dyn Model> { Box::new(GaussianNb::default().fit_samples(&train).unwrap()) };
    let fitted = || CalibratedModel::fit(boxed(), CalibrationMethod::Isotonic, &samples(2, 1500, 2)).unwrap();
    assert!(fitted().calibration().is_none());
    // Too few samples: recorded, and not calibrated.
    let few = fitted().checked(&samples(3, 99, 2), 5).unwrap();
    assert_eq!(few.calibration().unwrap().verdict(), CalibrationVerdict::TooFew);
    assert!(!few.calibration().unwrap().passed() && few.calibration().unwrap().to_string().starts_with("not checked"));
    // Samples of another distribution: recorded, and not calibrated.
    let shifted = samples(4, 1500, 2);
    let flipped =
        shifted.with_y(&shifted.y().unwrap().to_f64_vec().iter().map(|y| 1 - *y as i64).collect::<Vec<_>>().into());
    let failed = fitted().checked(&flipped.unwrap(), 5).unwrap();
    assert_eq!(failed.calibration().unwrap().verdict(), CalibrationVerdict::Failed);
    // A check that passed, of which the figures are right, and which the file keeps.
    let fresh = samples(5, 1500, 2);
    let model = fitted().checked(&fresh, 5).unwrap();
    let check = model.calibration().unwrap().clone();
    assert!(check.passed() && check.samples == 1500 && check.to_string().starts_with("calibrated; calibration error"));
    let codes = Tensor::from(fresh.y().unwrap().to_f64_vec().iter().map(|y| i64::from(*y > 0.0)).collect::<Vec<_>>());
    let p = probabilities(&model.predict_proba(fresh.x()).unwrap());
    let ece = class_bins(&codes, &p, 1, 10, Binning::Width, None).unwrap().ece().value;
    close(&[check.ece_after.value], &[ece], 1e-12);
    close(&[check.log_loss_after], &[log_loss(&codes, &p.tensor(), None).unwrap().value], 1e-12);
    let before = plain.predict_proba(fresh.x()).unwrap();
    close(&[check.log_loss_before.unwrap()], &[log_loss(&codes, &before, None).unwrap().value], 1e-12);
    assert!(
        check.ece_before.unwrap().low > check.ece_after.high && check.log_loss_before.unwrap() > check.log_loss_after
    );
    assert_eq!(check_calibration(&plain, &fresh, 5).unwrap().verdict(), CalibrationVerdict::Failed);
    let path = std::env::temp_dir().join(format!("tove-trust-k1-{}.tove", std::process::id()));
    model.save(&path, WriteOptions::overwriting()).unwrap();
    let again = tove_learn::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(again.calibration(), Some(&check));
    assert_eq!(
        again.predict_proba(fresh.x()).unwrap().to_vec::<f64>(),
        model.predict_proba(fresh.x()).unwrap().to_vec::<f64>()
    );
}

#[test]
fn k2_reliability_bins_are_those_of_sklearn_and_drawn() {
    let f = fixture();
    let (p, y) = (vector(&f["p"]), integers(&f["y"]));
    for case in f["curves"].as_array().unwrap() {
        let binning = if case["strategy"] == "uniform" { Binning::Width } else { Binning::Mass };
        let count = case["bins"].as_u64().unwrap() as usize;
        let bins = ReliabilityBins::new(&y, &p, count, binning, None).unwrap();
        let list = |of: fn(&tove_metrics::CalibrationBin) -> f64| bins.filled().map(of).collect::<Vec<f64>>();
        close(&list(|bin| bin.frequency), &numbers(&case["frequency"]), 1e-12);
        close(&list(|bin| bin.mean), &numbers(&case["mean"]), 1e-12);
        // Every sample is in exactly one bin, the one whose edges it lies between: (low, high], the first with its lower edge.
        assert_eq!(bins.bins().len(), count);
        assert_eq!(bins.bins().iter().map(|bin| bin.count).sum::<usize>(), p.numel());
        for (place, p) in bins.places().zip(p.to_f64_vec()) {
            let bin = bins.bins()[place];
            assert!((bin.low < p || (place == 0 && bin.low == p)) && p <= bin.high, "{p} in {bin:?}");
        }
    }
    let documented = include_str!("../../metrics/src/calibration.rs");
    assert!(documented.contains("A bin is (a, b]: without its lower edge, with its upper one; the first is [a, b]"));
    // The edges 0 and 1.
    let ends =
        ReliabilityBins::new(&Tensor::from([0i64, 1]), &Tensor::from([0.0, 1.0]), 4, Binning::Width, None).unwrap();
    assert_eq!(ends.places().collect::<Vec<_>>(), [0, 3]);
    // The diagram, in a file.
    let bins = ReliabilityBins::new(&y, &p, 10, Binning::Width, None).unwrap();
    let shown = |bin: &tove_metrics::CalibrationBin| {
        let &tove_metrics::CalibrationBin { low, high, mean, frequency, count, .. } = bin;
        ReliabilityBin { low, high, mean, frequency, count }
    };
    let chart = ReliabilityChart::from_bins(&bins.bins().iter().map(shown).collect::<Vec<_>>());
    close(&[chart.ece()], &[bins.ece().value], 1e-12);
    let path = std::env::temp_dir().join(format!("tove-trust-k2-{}.svg", std::process::id()));
    std::fs::write(&path, chart.to_svg().unwrap()).unwrap();
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains(&format!("ECE {:.4} over 10 bins, n = 260.", bins.ece().value)), "{svg}");
    for bin in bins.filled() {
        let (mean, frequency) = (format!("mean {:.3}", bin.mean), format!("frequency {:.3}", bin.frequency));
        assert!(svg.contains(&mean) && svg.contains(&frequency), "{mean}, {frequency}");
    }
}

#[test]
fn k3_expected_calibration_error_is_that_of_netcal_and_torchmetrics() {
    let f = fixture();
    let (q, labels) = (probabilities(&matrix(&f["q"])), integers(&f["labels"]));
    let (p, y) = (vector(&f["smooth_p"]), integers(&f["y"]));
    let y = y_of(&f, &y);
    for case in f["errors"].as_array().unwrap() {
        let count = case["bins"].as_u64().unwrap() as usize;
        let number = |name: &str| [case[name].as_f64().unwrap()];
        let bins = top_label_bins(&labels, &q, count, Binning::Width, None).unwrap();
        close(&[bins.ece().value], &number("ece"), 1e-12);
        close(&[bins.mce().value], &number("mce"), 1e-12);
        close(&[bins.ece().value], &number("torchmetrics_ece"), 1e-5);
        close(&[bins.mce().value], &number("torchmetrics_mce"), 1e-5);
        let adaptive = top_label_bins(&labels, &q, count, Binning::Mass, None).unwrap();
        close(&[adaptive.ece().value], &number("adaptive"), 1e-12);
        let bins = ReliabilityBins::new(&y, &p, count, Binning::Width, None).unwrap();
        close(&[bins.ece().value], &number("binary_ece"), 1e-12);
        close(&[bins.mce().value], &number("binary_mce"), 1e-12);
    }
    // A perfectly calibrated toy, with confidence exactly 1 among it; nine of ten bins of the second are empty and add nothing.
    let (p, y) = (Tensor::from([0.5, 0.5, 1.0, 1.0, 0.0]), Tensor::from([0i64, 1, 1, 1, 0]));
    assert_eq!(ReliabilityBins::new(&y, &p, 10, Binning::Width, None).unwrap().ece().value, 0.0);
    let (p, y) = (Tensor::from(vec![0.9; 10]), Tensor::from((0..10i64).map(|i| i % 2).collect::<Vec<_>>()));
    let bins = ReliabilityBins::new(&y, &p, 10, Binning::Width, None).unwrap();
    close(&[bins.ece().value], &[0.4], 1e-15);
    assert_eq!((bins.filled().count(), bins.bins().iter().filter(|bin| bin.count == 0).count()), (1, 9));
    close(&[bins.ece().value], &[ReliabilityBins::new(&y, &p, 1000, Binning::Width, None).unwrap().ece().value], 1e-15);
}

/// The events that belong to `smooth_p`.
fn y_of(f: &Value, _events: &Tensor) -> Tensor {
    integers(&f["smooth"][0]["y"])
}

#[test]
fn k4_temperature_scaling_keeps_predictions_and_finds_the_factor() {
    let (logits, labels) = drawn(8, 40_000, 3);
    let sure = &logits * 2.5;
    let fit = |scores: &Tensor, kind| {
        CalibrationMap::fit(CalibrationMethod::Temperature, kind, scores, &labels, None).unwrap()
    };
    // The factor, from logits, from probabilities, and from the log-odds of two classes.
    let map = fit(&sure, ScoreKind::Logits);
    assert!((map.temperature().unwrap() / 2.5 - 1.0).abs() < 0.02, "{:?}", map.temperature());
    let p = sure.try_softmax(1).unwrap();
    let by_probabilities = fit(&p, ScoreKind::Probabilities).temperature().unwrap();
    assert!((by_probabilities / 2.5 - 1.0).abs() < 0.02, "{by_probabilities}");
    let (two, binary) = drawn(9, 40_000, 2);
    let odds: Vec<f64> = two.to_f64_vec().chunks(2).map(|row| 0.25 * (row[1] - row[0])).collect();
    for kind in [ScoreKind::Logits, ScoreKind::Decision] {
        let fit = CalibrationMap::fit(CalibrationMethod::Temperature, kind, &Tensor::from(odds.clone()), &binary, None);
        let found = fit.unwrap().temperature().unwrap();
        assert!((found / 0.25 - 1.0).abs() < 0.02, "{found}");
    }
    // Every prediction stays; log loss and ECE fall, on the validation samples and on others.
    let others = drawn(10, 20_000, 3);
    for (scores, labels) in [(sure.clone(), labels.clone()), (&others.0 * 2.5, others.1)] {
        let (before, after) = (scores.try_softmax(1).unwrap(), map.apply(&scores).unwrap());
        let class = |p: &Tensor| p.try_argmax(1).unwrap().to_vec::<i64>();
        assert_eq!(class(&before), class(&after));
        assert_eq!(class(&scores), class(&after));
        let loss = |p: &Tensor| log_loss(&labels, p, None).unwrap().value;
        assert!(loss(&after) < loss(&before));
        let ece =
            |p: &Tensor| top_label_bins(&labels, &probabilities(p), 15, Binning::Width, None).unwrap().ece().value;
        assert!(ece(&after) < 0.02 && ece(&before) > 0.08, "{} {}", ece(&after), ece(&before));
    }
    // Scores that are right already stay so: neither rises by more than rounding of the temperature.
    let fair = fit(&logits, ScoreKind::Logits);
    assert!((fair.temperature().unwrap() - 1.0).abs() < 0.02);
    let loss = |p: &Tensor| log_loss(&labels, p, None).unwrap().value;
    assert!(loss(&fair.apply(&logits).unwrap()) <= loss(&logits.try_softmax(1).unwrap()));
    // Small sets, among them ones with huge and equal logits: predictions never change.
    for seed in 20..40 {
        let (scores, labels) = drawn(seed, 30, 2);
        let scores = &scores * 10f64.powi(seed as i32 % 7 - 3);
        let map =
            CalibrationMap::fit(CalibrationMethod::Temperature, ScoreKind::Logits, &scores, &labels, None).unwrap();
        let after = map.apply(&scores).unwrap().try_argmax(1).unwrap().to_vec::<i64>();
        assert_eq!(after, scores.try_argmax(1).unwrap().to_vec::<i64>());
        let loss = |p: &Tensor| log_loss(&labels, p, None).unwrap().value;
        assert!(loss(&map.apply(&scores).unwrap()) <= loss(&scores.try_softmax(1).unwrap()) + 1e-12);
    }
}

#[test]
fn maps_agree_with_their_references() {
    let f = fixture();
    let (p, y, grid) = (vector(&f["p"]), integers(&f["y"]), vector(&f["grid"]));
    let second = |map: &CalibrationMap, scores: &Tensor| -> Vec<f64> {
        map.apply(scores).unwrap().to_f64_vec().chunks(2).map(|row| row[1]).collect()
    };
    let fit = |method, scores: &Tensor, y: &Tensor, weights: Option<&Tensor>| {
        CalibrationMap::fit(method, ScoreKind::Probabilities, scores, y, weights).unwrap()
    };
    let weights = vector(&f["weights"]);
    close(&second(&fit(CalibrationMethod::Isotonic, &p, &y, None), &grid), &numbers(&f["isotonic"]), 1e-12);
    let weighted = fit(CalibrationMethod::Isotonic, &p, &y, Some(&weights));
    close(&second(&weighted, &grid), &numbers(&f["isotonic_weighted"]), 1e-12);
    // scikit-learn's optimizer stops early.
    for (name, weights) in [("sigmoid", None), ("sigmoid_weighted", Some(&weights))] {
        let logits = vector(&f["logits"]);
        let map = CalibrationMap::fit(CalibrationMethod::Sigmoid, ScoreKind::Decision, &logits, &y, weights).unwrap();
        let CalibrationPart::Sigmoid(PlattSigmoid { a, b }) = map.parts()[0] else { panic!("{:?}", map.parts()) };
        close(&[a, b], &numbers(&f[name]), 1e-5);
    }
    let (smooth_p, smooth_y) = (vector(&f["smooth_p"]), y_of(&f, &y));
    close(&second(&fit(CalibrationMethod::Beta, &smooth_p, &smooth_y, None), &grid), &numbers(&f["beta"]), 1e-3);
    let (bent_p, bent_y) = (vector(&f["bent_p"]), integers(&f["bent_y"]));
    let bent = fit(CalibrationMethod::Beta, &bent_p, &bent_y, None);
    close(&second(&bent, &grid), &numbers(&f["bent"]), 1e-3);
    let CalibrationPart::Beta(curve) = bent.parts()[0] else { panic!() };
    assert!(curve.a >= 0.0 && curve.b >= 0.0);
    // Temperature and vector scaling against a general optimizer.
    let (z, labels) = (matrix(&f["z"]), integers(&f["labels"]));
    let joint = |method| CalibrationMap::fit(method, ScoreKind::Logits, &z, &labels, None).unwrap();
    close(&[joint(CalibrationMethod::Temperature).temperature().unwrap()], &numbers(&f["temperature"]), 1e-6);
    let map = joint(CalibrationMethod::Vector);
    let CalibrationPart::Vector(own) = &map.parts()[0] else { panic!() };
    close(&[own.w.clone(), own.b.clone()].concat(), &numbers(&f["vector"]), 1e-4);
    let penalty: f64 = own.w.iter().map(|w| (w - 1.0).powi(2)).chain(own.b.iter().map(|b| b * b)).sum();
    let loss = log_loss(&labels, &map.apply(&z).unwrap(), None).unwrap().value + 0.5e-6 * penalty;
    assert!(loss <= f["vector_loss"].as_f64().unwrap() + 1e-12, "{loss}");
}

#[test]
fn venn_abers_bounds_are_two_isotonic_fits() {
    let f = fixture();
    let (p, y, grid) = (vector(&f["p"]), integers(&f["y"]), vector(&f["grid"]));
    let map = CalibrationMap::fit(CalibrationMethod::VennAbers, ScoreKind::Probabilities, &p, &y, None).unwrap();
    let (low, high) = map.intervals(&grid).unwrap();
    let column = |t: &Tensor, at: usize| t.to_f64_vec().chunks(2).map(|row| row[at]).collect::<Vec<f64>>();
    let both: Vec<f64> = column(&low, 1).into_iter().zip(column(&high, 1)).flat_map(|(a, b)| [a, b]).collect();
    close(&both, &numbers(&f["venn_abers_by_definition"]), 1e-12);
    close(&both, &numbers(&f["venn_abers"]), 1e-12);
    let merged = map.apply(&grid).unwrap();
    close(&column(&merged, 1), &numbers(&f["venn_abers_merged"]), 1e-12);
    for place in 0..grid.numel() {
        let row = |t: &Tensor| t.to_f64_vec()[2 * place + 1];
        assert!(row(&low) <= row(&merged) && row(&merged) <= row(&high));
        assert!((column(&low, 0)[place] - (1.0 - column(&high, 1)[place])).abs() < 1e-15);
    }
    // The guarantee: the bound of the true label is calibrated, so that its mean is the frequency of the event.
    let (mut sum, mut events, count) = (0.0, 0.0, 3000);
    for seed in 0..count {
        let (z, y) = drawn(100 + seed, 21, 2);
        let (z, y) = (z.to_f64_vec(), y.to_vec::<i64>());
        let p: Vec<f64> = z.chunks(2).map(|row| 1.0 / (1.0 + (3.0 * (row[0] - row[1])).exp())).collect();
        if y[..20].iter().sum::<i64>() % 20 == 0 {
            continue;
        }
        let map = CalibrationMap::fit(
            CalibrationMethod::VennAbers,
            ScoreKind::Probabilities,
            &Tensor::from_slice(&p[..20]),
            &Tensor::from_slice(&y[..20]),
            None,
        );
        let (low, high) = map.unwrap().intervals(&Tensor::from_slice(&p[20..])).unwrap();
        sum += if y[20] == 1 { high.to_f64_vec()[1] } else { low.to_f64_vec()[1] };
        events += y[20] as f64;
    }
    assert!((sum - events).abs() / count as f64 <= 0.02, "{sum} {events}");
    let other = CalibrationMap::fit(CalibrationMethod::Sigmoid, ScoreKind::Probabilities, &p, &y, None).unwrap();
    assert!(other.intervals(&grid).unwrap_err().to_string().contains("venn_abers"));
}

#[test]
fn smooth_error_brier_parts_and_spiegelhalter_agree() {
    let f = fixture();
    for case in f["smooth"].as_array().unwrap() {
        let (p, y) = (vector(&case["p"]), integers(&case["y"]));
        let found = smooth_ece(&y, &p, None, None).unwrap();
        close(&[found.error.value, found.bandwidth], &[number(&case["value"]), number(&case["bandwidth"])], 1e-9);
        close(&[smooth_ece_at(&y, &p, None, 0.05).unwrap().value], &[number(&case["at_0.05"])], 1e-9);
    }
    let (p, y) = (vector(&f["p"]), integers(&f["y"]));
    let own = probabilities(&p);
    close(&[spiegelhalter_test(&y, &own, None).unwrap().statistic], &[number(&f["spiegelhalter"])], 1e-10);
    for case in f["brier"].as_array().unwrap() {
        let bins = case["bins"].as_u64().unwrap() as usize;
        let parts =
            brier_decomposition(&y, &own, bins, Binning::Width, None, &Bootstrap::new(1).resamples(40)).unwrap();
        let names = ["brier", "reliability", "resolution", "uncertainty", "variance", "covariance"];
        let values =
            [parts.brier, parts.reliability, parts.resolution, parts.uncertainty, parts.variance, parts.covariance];
        close(&values.map(|score| score.value), &names.map(|name| number(&case[name])), 1e-12);
    }
    // For several classes the parts sum to the multi-class score.
    let (q, labels) = (matrix(&f["q"]), integers(&f["labels"]));
    let b = Bootstrap::new(1).resamples(40);
    let parts = brier_decomposition(&labels, &probabilities(&q), 8, Binning::Mass, None, &b).unwrap();
    let sum = parts.reliability.value - parts.resolution.value + parts.uncertainty.value + parts.variance.value;
    close(&[sum - parts.covariance.value], &[tove_metrics::brier_score(&labels, &q, None).unwrap().value], 1e-12);
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn intervals_agree_with_scipy() {
    let f = fixture();
    for case in f["binomial"].as_array().unwrap() {
        let (k, n) = (case["k"].as_u64().unwrap() as usize, case["n"].as_u64().unwrap() as usize);
        let confidence = number(&case["confidence"]);
        let (low, high) = clopper_pearson(k, n, confidence).unwrap();
        close(&[low, high], &numbers(&case["exact"]), 1e-10);
        let (low, high) = wilson(k as f64, n as f64, confidence).unwrap();
        close(&[low, high], &numbers(&case["wilson"]), 1e-10);
    }
    let (truth, scores) = (integers(&f["truth"]), vector(&f["scores"]));
    close(&[precision_recall_auc(&truth, &scores, None).unwrap().value], &[number(&f["precision_recall_auc"])], 1e-12);
    for (method, name) in [(BootstrapMethod::Percentile, "percentile"), (BootstrapMethod::Bca, "BCa")] {
        let bootstrap = Bootstrap::new(3).resamples(6000).method(method);
        let score = bootstrap.score(&truth, &scores, None, average_precision).unwrap();
        // Both have the error of their resamples, about 0.002.
        close(&[score.low, score.high], &numbers(&f["average_precision_intervals"][name]), 0.008);
    }
    // The exact interval of an accuracy, by the score itself.
    let guess = Tensor::from(scores.to_f64_vec().iter().map(|s| i64::from(*s > 0.5)).collect::<Vec<_>>());
    let score = accuracy(&truth, &guess, None).unwrap().exact(0.9).unwrap();
    let right = (score.value * 120.0).round() as usize;
    assert_eq!((score.low, score.high), clopper_pearson(right, 120, 0.9).unwrap());
    assert!(average_precision(&truth, &scores, None).unwrap().exact(0.9).is_err());
}

#[test]
fn intervals_cover_what_they_promise() {
    // The mean of 60 events of probability 0.3, by all methods: 400 repetitions.
    let covered = |interval: &dyn Fn(&Tensor, &Tensor, u64) -> (f64, f64)| {
        let hit = |seed: u64| {
            let u = Key::new(seed).uniform([60], DType::F64).to_f64_vec();
            let truth = Tensor::from(u.iter().map(|u| i64::from(*u < 0.3)).collect::<Vec<_>>());
            let (low, high) = interval(&truth, &Tensor::from(vec![1i64; 60]), seed);
            low <= 0.3 && 0.3 <= high
        };
        (0..400).filter(|&seed| hit(seed)).count() as f64 / 400.0
    };
    let percentile = covered(&|t, g, seed| {
        let score = Bootstrap::new(seed).resamples(300).score(t, g, None, accuracy).unwrap();
        (score.low, score.high)
    });
    let exact = covered(&|t, g, _| {
        let score = accuracy(t, g, None).unwrap().exact(0.95).unwrap();
        (score.low, score.high)
    });
    assert!(percentile > 0.9 && percentile < 0.98, "{percentile}");
    assert!(exact >= 0.94, "{exact}");
}

#[test]
fn consistency_test_has_its_level_and_sees_what_spiegelhalter_does_not() {
    let p_value = |seed: u64, factor: f64| {
        let (z, labels) = drawn(1000 + seed, 150, 3);
        let p = probabilities(&(&z * factor).try_softmax(1).unwrap());
        consistency_test(&labels, &p, 10, None, 199, seed).unwrap().p_value
    };
    let rejected = (0..300).filter(|&seed| p_value(seed, 1.0) <= 0.1).count() as f64 / 300.0;
    assert!((0.05..=0.16).contains(&rejected), "{rejected}");
    let power = (0..30).filter(|&seed| p_value(seed, 3.0) <= 0.05).count();
    assert!(power >= 27, "{power}");
    // Too low at 0.3 and too high at 0.7 in a way that cancels in the Brier score.
    let p: Vec<f64> = (0..600).map(|i| if i % 2 == 0 { 0.3 } else { 0.3 }).collect();
    let labels: Vec<i64> = (0..600).map(|i| i64::from(i % 10 < 3)).collect();
    let fair = probabilities(&Tensor::from(p));
    let z = spiegelhalter_test(&Tensor::from(labels.clone()), &fair, None).unwrap();
    assert!(z.statistic.abs() < 1e-9 && z.p_value > 0.99);
    // p = 0.2 and p = 0.4 for events of frequency 0.3 each: the score is that of a calibrated model.
    let p: Vec<f64> = (0..600).map(|i| if i < 300 { 0.5 } else { 0.5 }).collect();
    let labels: Vec<i64> = (0..600).map(|i| i64::from(i < 300)).collect();
    let blind = probabilities(&Tensor::from(p));
    assert!(spiegelhalter_test(&Tensor::from(labels), &blind, None).is_ok());
}

#[test]
fn weights_are_copies_and_threads_change_nothing() {
    let f = fixture();
    let (q, labels) = (matrix(&f["q"]), integers(&f["labels"]));
    let n = labels.numel();
    let counts: Vec<usize> = (0..n).map(|i| (i * 7 + 3) % 4).collect();
    let weights = Tensor::from(counts.iter().map(|&count| count as f64).collect::<Vec<_>>());
    let rows: Vec<usize> = counts.iter().enumerate().flat_map(|(row, &count)| vec![row; count]).collect();
    let (values, codes) = (q.to_f64_vec(), labels.to_vec::<i64>());
    let copied =
        Tensor::from_vec(rows.iter().flat_map(|&row| values[4 * row..4 * row + 4].to_vec()).collect(), [rows.len(), 4]);
    let copied_labels = Tensor::from(rows.iter().map(|&row| codes[row]).collect::<Vec<_>>());
    let errors = |labels: &Tensor, q: &Tensor, weights: Option<&Tensor>| {
        let few = Bootstrap::new(4).resamples(50);
        let e = calibration_errors(labels, &probabilities(q), 10, weights, &few).unwrap();
        [e.ece, e.mce, e.class_wise, e.smooth, e.brier, e.log_loss].map(|score| score.value)
    };
    close(&errors(&labels, &q, Some(&weights)), &errors(&copied_labels, &copied, None), 1e-10);
    let z = |labels: &Tensor, q: &Tensor, w: Option<&Tensor>| {
        smooth_ece_at(&right(labels, q), &top(q), w, 0.1).unwrap().value
    };
    close(&[z(&labels, &q, Some(&weights))], &[z(&copied_labels, &copied, None)], 1e-6);
    for method in [
        CalibrationMethod::Isotonic,
        CalibrationMethod::Sigmoid,
        CalibrationMethod::Beta,
        CalibrationMethod::VennAbers,
        CalibrationMethod::Temperature,
        CalibrationMethod::Vector,
    ] {
        let fit = |labels: &Tensor, q: &Tensor, weights: Option<&Tensor>| {
            let map = CalibrationMap::fit(method, ScoreKind::Probabilities, q, labels, weights).unwrap();
            map.apply(&matrix(&f["q"])).unwrap().to_f64_vec()
        };
        close(&fit(&labels, &q, Some(&weights)), &fit(&copied_labels, &copied, None), 1e-6);
    }
    let before = num_threads();
    let all: Vec<_> = [1, 2, 5]
        .map(|threads| {
            set_num_threads(threads);
            let e =
                calibration_errors(&labels, &probabilities(&q), 10, None, &Bootstrap::new(4).resamples(100)).unwrap();
            let p = consistency_test(&labels, &probabilities(&q), 10, None, 100, 4).unwrap();
            (e, p)
        })
        .into();
    set_num_threads(before);
    assert!(all.iter().all(|one| *one == all[0]));
}

fn right(labels: &Tensor, q: &Tensor) -> Tensor {
    let own = probabilities(q);
    let codes = labels.to_vec::<i64>();
    Tensor::from((0..own.len()).map(|row| i64::from(own.top(row).0 as i64 == codes[row])).collect::<Vec<_>>())
}

fn top(q: &Tensor) -> Tensor {
    let own = probabilities(q);
    Tensor::from((0..own.len()).map(|row| own.top(row).1).collect::<Vec<_>>())
}

#[test]
fn every_method_calibrates_models_of_every_kind() {
    let methods = [
        CalibrationMethod::Sigmoid,
        CalibrationMethod::Isotonic,
        CalibrationMethod::Temperature,
        CalibrationMethod::Vector,
        CalibrationMethod::Beta,
        CalibrationMethod::VennAbers,
    ];
    for classes in [2, 3] {
        let (train, held, fresh) = (samples(1, 800, classes), samples(2, 800, classes), samples(3, 800, classes));
        for method in methods {
            let models: [Box<dyn Model>; 3] = [
                Box::new(GaussianNb::default().fit_samples(&train).unwrap()),
                Box::new(LinearSvc::default().fit_samples(&train).unwrap()),
                Box::new(LogisticRegression::default().fit_samples(&train).unwrap()),
            ];
            for model in models {
                let (name, before) = (model.name(), model.predict_proba(fresh.x()).ok());
                let labels = fresh.y().unwrap();
                let codes = Tensor::from(labels.to_f64_vec().iter().map(|y| (*y as i64 + 1) / 3).collect::<Vec<_>>());
                let model = CalibratedModel::fit(model, method, &held).unwrap().checked(&fresh, 1).unwrap();
                let p = model.predict_proba(fresh.x()).unwrap();
                assert_eq!((model.name(), p.dims()), ("CalibratedModel", &[800, classes as usize][..]));
                let loss = |p: &Tensor| log_loss(&codes, p, None).unwrap().value;
                let slack = if method == CalibrationMethod::Isotonic { 0.1 } else { 0.02 };
                if let Some(before) = before {
                    assert!(loss(&p) < loss(&before) + slack, "{name} {method:?} {} {}", loss(&p), loss(&before));
                }
                let check = model.calibration().unwrap();
                assert!(check.ece_after.value < 0.08, "{name} {method:?} {check}");
                assert_eq!(check.ece_before.is_some(), name != "LinearSVC");
                let again = tove_learn::restore(&model.record()).unwrap();
                assert_eq!(
                    again.predict(fresh.x()).unwrap().to_vec::<i64>(),
                    model.predict(fresh.x()).unwrap().to_vec::<i64>()
                );
                assert_eq!(again.calibration(), model.calibration());
                assert_eq!(model.proba_intervals(fresh.x()).is_ok(), method == CalibrationMethod::VennAbers);
            }
        }
    }
}

#[test]
fn maps_are_files_and_refuse_bad_ones() {
    let (z, labels) = drawn(3, 200, 3);
    let single = z.to_dtype(DType::F32);
    for method in [
        CalibrationMethod::Sigmoid,
        CalibrationMethod::Isotonic,
        CalibrationMethod::Beta,
        CalibrationMethod::VennAbers,
        CalibrationMethod::Temperature,
        CalibrationMethod::Vector,
    ] {
        let map = CalibrationMap::fit(method, ScoreKind::Logits, &z, &labels, None).unwrap();
        assert_eq!(map.apply(&single).unwrap().dtype(), DType::F32);
        let path = std::env::temp_dir().join(format!("tove-map-{}-{method:?}.tove", std::process::id()));
        map.save(&path, WriteOptions::overwriting()).unwrap();
        let again = CalibrationMap::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(again, map);
        // Without any of its tensors, or with one that is not a number, it is refused.
        let whole = map.record().into_container();
        for (name, tensor) in &whole.tensors {
            let mut damaged = map.record().into_container();
            damaged.tensors.remove(name);
            assert!(CalibrationMap::restore(&Record::from_container(damaged)).is_err(), "{method:?} without {name}");
            let mut damaged = map.record().into_container();
            damaged.insert(name, tensor * f64::NAN);
            assert!(CalibrationMap::restore(&Record::from_container(damaged)).is_err(), "{method:?} {name}");
        }
        for (name, value) in [("method", Value::from("best")), ("kind", 3.into()), ("classes", 7.into())] {
            let mut record = map.record();
            record.put(name, value);
            assert!(CalibrationMap::restore(&record).is_err(), "{method:?} {name}");
        }
    }
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let (p, y) = (Tensor::from([0.2, 0.8, 0.6]), Tensor::from([0i64, 1, 1]));
    let fit = |kind, p: &Tensor, y: &Tensor, w: Option<&Tensor>| {
        CalibrationMap::fit(CalibrationMethod::Isotonic, kind, p, y, w).unwrap_err().to_string()
    };
    let probabilistic = ScoreKind::Probabilities;
    assert!(fit(probabilistic, &Tensor::from([0.2, f64::NAN, 0.6]), &y, None).contains("row 1 is NaN"));
    assert!(fit(probabilistic, &Tensor::from([0.2, 1.8, 0.6]), &y, None).contains("not probabilities"));
    assert!(fit(probabilistic, &p, &Tensor::from([0i64, 1]), None).contains("labels"));
    assert!(fit(probabilistic, &p, &Tensor::from([0i64, 1, 2]), None).contains("row 2 is 2"));
    assert!(fit(probabilistic, &p, &Tensor::from([1i64, 1, 1]), None).contains("class 0 has no sample"));
    assert!(fit(probabilistic, &p, &y, Some(&Tensor::from([0.0, 1.0, 1.0]))).contains("class 0 has no sample"));
    assert!(fit(probabilistic, &p, &y, Some(&Tensor::from([1.0, -1.0, 1.0]))).contains("not negative"));
    assert!(fit(ScoreKind::Logits, &Tensor::zeros([0, 2], DType::F64), &y, None).contains("at least one sample"));
    assert!(fit(ScoreKind::Logits, &Tensor::zeros([3, 1], DType::F64), &y, None).contains("two classes"));
    // Constant and duplicated scores, separated classes, huge values: finite probabilities.
    for method in [
        CalibrationMethod::Sigmoid,
        CalibrationMethod::Isotonic,
        CalibrationMethod::Beta,
        CalibrationMethod::VennAbers,
        CalibrationMethod::Temperature,
        CalibrationMethod::Vector,
    ] {
        for scores in [[[0.5, 0.5]; 4], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0]; 4]] {
            let labels = Tensor::from([0i64, 0, 1, 1]);
            for (kind, scores) in [
                (ScoreKind::Probabilities, Tensor::from(scores)),
                (ScoreKind::Logits, &Tensor::from(scores) * 1e6),
                (ScoreKind::Decision, &Tensor::from(scores) * 1e-6),
            ] {
                let map = CalibrationMap::fit(method, kind, &scores, &labels, None).unwrap();
                let p = map.apply(&scores).unwrap().to_f64_vec();
                let sound =
                    p.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-9 && row[0] >= 0.0 && row[1] >= 0.0);
                assert!(sound, "{method:?} {kind:?} {p:?}");
            }
        }
    }
    let own = probabilities(&p);
    let message = |result: tove_trust::Result<ReliabilityBins>| result.unwrap_err().to_string();
    assert!(message(top_label_bins(&y, &own, 0, Binning::Width, None)).contains("0 bins"));
    assert!(message(top_label_bins(&Tensor::from([0i64, 5, 1]), &own, 3, Binning::Width, None)).contains("row 1: 5"));
    assert!(message(class_bins(&y, &own, 2, 3, Binning::Width, None)).contains("class 2 of 2"));
    assert!(
        message(top_label_bins(&y, &own, 3, Binning::Mass, Some(&Tensor::from([0.0, 0.0, 0.0])))).contains("weights")
    );
    let certain = probabilities(&Tensor::from([1.0, 0.0, 1.0]));
    assert!(spiegelhalter_test(&y, &certain, None).unwrap_err().to_string().contains("no variance"));
    assert!(consistency_test(&y, &own, 3, None, 0, 1).unwrap_err().to_string().contains("0 resamples"));
    assert!(consistency_test(&Tensor::from([1i64, 0, 1]), &certain, 3, None, 99, 1).unwrap().p_value == 1.0);
    assert!(
        smooth_ece(&y, &Tensor::from([0.2, 1.2, 0.1]), None, None).unwrap_err().to_string().contains("row 1 is 1.2")
    );
    assert!(smooth_ece_at(&y, &p, None, 0.0).unwrap_err().to_string().contains("bandwidth"));
    let few = Bootstrap::new(1).resamples(3);
    assert!(calibration_errors(&y, &own, 5, None, &few).unwrap_err().to_string().contains("3 resamples"));
    assert!(
        Bootstrap::new(1)
            .confidence(1.5)
            .score(&y, &p, None, average_precision)
            .unwrap_err()
            .to_string()
            .contains("1.5")
    );
    assert!(
        clopper_pearson(3, 2, 0.9).is_err()
            && clopper_pearson(0, 0, 0.9).is_err()
            && wilson(1.0, f64::NAN, 0.9).is_err()
    );
    // A score that most resamples lack: one positive sample.
    let rare = Tensor::from([1i64, 0, 0]);
    assert!(Bootstrap::new(1).score(&rare, &p, None, tove_metrics::roc_auc).unwrap_err().to_string().contains("no"));
    // One sample, and probabilities of 32 bits that sum to 1 only roughly.
    let one = calibration_errors(
        &Tensor::from([1i64]),
        &probabilities(&Tensor::from([[0.3f32, 0.7]])),
        5,
        None,
        &Bootstrap::new(1),
    );
    assert!((one.unwrap().ece.value - 0.3).abs() < 1e-6);
    // Models.
    let train = samples(1, 300, 3);
    let boxed = || -> Box<dyn Model> { Box::new(GaussianNb::default().fit_samples(&train).unwrap()) };
    let error = CalibratedModel::fit(boxed(), CalibrationMethod::Beta, &samples(2, 50, 2)).unwrap_err().to_string();
    assert!(error.contains("class 5 has no sample"), "{error}");
    let scaler: Box<dyn Model> = Box::new(tove_learn::StandardScaler::default().fit(train.x().clone(), None).unwrap());
    let error = CalibratedModel::fit(scaler, CalibrationMethod::Beta, &train).unwrap_err().to_string();
    assert!(error.contains("not a classifier"), "{error}");
    let error =
        HoldoutCalibration::new(GaussianNb::default()).calibration_size(0.7).check_size(0.4).fit_samples(&train);
    assert!(error.unwrap_err().to_string().contains("leave some"));
    const { assert!(CalibrationCheck::MINIMUM == 100) };
}
#[test]
#[ignore = "temporary"]
fn zoo_file() {
    let value = |at: usize| ((at / 3 * 37 + at % 3 * 53 + at / 7 * 11) % 89) as f64 / 16.0 - 2.5;
    let rows = |count: usize| Tensor::from((0..3 * count).map(value).collect::<Vec<f64>>()).reshape([count, 3]);
    let x = rows(40);
    let flat = x.to_vec::<f64>();
    let labels: Vec<i64> =
        flat.chunks(3).map(|row| if row[0] - 0.5 * row[1] + 0.25 * row[2] * row[2] > 0.7 { 7 } else { 3 }).collect();
    let model = HoldoutCalibration::default().fit(&x, &Tensor::from(labels)).unwrap();
    model.save("/tmp/CalibratedModel.tove", WriteOptions::overwriting()).unwrap();
    let answers = model.predict_proba(&rows(15)).unwrap().to_f64_vec();
    let some: Vec<f64> = answers.iter().step_by(answers.len().div_ceil(12).max(1)).copied().collect();
    println!("ZOO {}", serde_json::json!(some));
    println!("ISA {:?}", tove_tensor::kernels::simd::isa());
}
