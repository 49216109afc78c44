//! The memoriser and its gap.
#![allow(clippy::unwrap_used)]

use tove_learn::diagnostics::{RiskLoss, generalisation_gap};
use tove_learn::{Fit, Predict, Samples};
use tove_lessons::memoriser::Memoriser;
use tove_tensor::{DType, Key, Tensor};

/// Points whose class follows a simple rule, which the table does not see.
fn draw(n: usize, classes: i64, seed: u64) -> Samples {
    let x = Key::new(seed).uniform([n, 2], DType::F64);
    let y: Vec<i64> =
        x.to_f64_vec().chunks(2).map(|x| ((x[0] + x[1]) * classes as f64 / 2.0) as i64 % classes).collect();
    Samples::new(&x, &Tensor::from_slice(&y)).unwrap()
}

#[test]
fn g8_a_lookup_table_has_no_training_error_and_guesses_on_fresh_samples() {
    for (classes, chance) in [(2, 0.5), (4, 0.75)] {
        let (train, fresh) = (draw(300, classes, 1), draw(4000, classes, 2));
        let table = Memoriser::default().fit_samples(&train).unwrap();
        let report = generalisation_gap(&table, &train, &fresh, RiskLoss::ZeroOne, 0.05).unwrap();
        assert_eq!(report.train, 0.0);
        // Chance to three standard deviations of 4000 guesses, and within the reported interval.
        assert!((report.fresh.mean - chance).abs() < 3.0 * (chance * (1.0 - chance) / 4000.0f64).sqrt(), "{report}");
        assert_eq!(report.gap, report.fresh.mean);
        assert!(report.low <= chance && chance <= report.high && report.high - report.low < 0.05, "{report}");
        assert!(report.to_string().contains("gap 0.") && report.to_string().contains("95 %"), "{report}");
        assert_eq!(table.score(train.x(), train.y().unwrap()).unwrap().value, 1.0);
    }
    // The interval keeps its promise: it holds the true gap (chance) in at least 95 of 100 fresh sets.
    let train = draw(100, 2, 3);
    let table = Memoriser::default().fit_samples(&train).unwrap();
    let held = (0..400).filter(|&seed| {
        let report = generalisation_gap(&table, &train, &draw(200, 2, 1000 + seed), RiskLoss::ZeroOne, 0.05).unwrap();
        report.low <= 0.5 && 0.5 <= report.high
    });
    assert!(held.count() >= 380);
}
