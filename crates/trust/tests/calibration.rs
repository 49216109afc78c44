//! Calibration: bins, errors, tests and maps against scikit-learn, netcal, torchmetrics, relplot, venn-abers, betacal and scipy
//! (`reference/calibration.py`), and what they promise of themselves.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tove_learn::calibration::{CalibrationPart, PlattSigmoid};
use tove_learn::selection::{Grid, GridSearch};
use tove_learn::{
    Fit, GaussianNb, LinearSvc, LogisticRegression, Model, Pipeline, Predict, Record, Samples, StandardScaler,
};
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

#[path = "calibration/figures.rs"]
mod figures;
#[path = "calibration/maps.rs"]
mod maps;
#[path = "calibration/refusals.rs"]
mod refusals;

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

const METHODS: [CalibrationMethod; 6] = [
    CalibrationMethod::Sigmoid,
    CalibrationMethod::Isotonic,
    CalibrationMethod::Temperature,
    CalibrationMethod::Vector,
    CalibrationMethod::Beta,
    CalibrationMethod::VennAbers,
];

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
    let (p, y) = (vector(&f["smooth_p"]), y_of(&f));
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
fn y_of(f: &Value) -> Tensor {
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
    let ece = |p: &Tensor| top_label_bins(&labels, &probabilities(p), 15, Binning::Width, None).unwrap().ece().value;
    let (before, after) = (ece(&logits.try_softmax(1).unwrap()), ece(&fair.apply(&logits).unwrap()));
    assert!(after <= before + 1e-3 && after < 0.01, "{before} {after}");
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

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}
