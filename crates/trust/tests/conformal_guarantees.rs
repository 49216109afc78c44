//! What conformal prediction promises, by exact counting, property tests and simulation.
#![allow(clippy::unwrap_used)]

mod calibration_rows;

use calibration_rows::{SCORES, rows, vector};
use proptest::prelude::*;
use serde_json::json;
use tove_learn::selection::Fold;
use tove_tensor::random::{fill_normal, fill_uniform};
use tove_tensor::{Key, Tensor};
use tove_trust::Result;
use tove_trust::conformal::{
    CoverageClaim, CoverageReport, CrossConformalRegressor, CrossFitted, FalseNegativeControl, Forecast,
    PredictionIntervals, PredictionSets, SplitConformalClassifier, SplitConformalRegressor, needed_size,
    quantile_of_scores,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Exchangeability counted out: each of n + 1 scores is the new one in turn. At least (1 − α)(n + 1) of them are covered, and, as
    /// they are distinct, less than one more.
    #[test]
    fn the_order_statistic_covers_exactly(n in 3usize..60, percent in 1usize..100, seed in 0u64..100) {
        let alpha = percent as f64 / 100.0;
        prop_assume!(n >= needed_size(alpha).unwrap());
        let mut scores = vec![0.0f64; n + 1];
        fill_uniform(Key::new(seed), &mut scores);
        let covered = (0..=n).filter(|&new| {
            let others: Vec<f64> = (0..=n).filter(|&row| row != new).map(|row| scores[row]).collect();
            scores[new] <= quantile_of_scores(&vector(&others), alpha).unwrap()
        }).count();
        let wanted = (100 - percent) * (n + 1); // in hundredths
        prop_assert!(covered * 100 >= wanted && covered * 100 < wanted + 100, "{covered} of {}", n + 1);
        prop_assert!(quantile_of_scores(&vector(&scores[..needed_size(alpha).unwrap().saturating_sub(1)]), alpha).is_err());
    }

    /// A smaller α gives larger sets and intervals; empty sets can be filled; no set depends on the batch.
    #[test]
    fn sets_grow_as_alpha_falls(seed in 0u64..1000, first in 0.02f64..0.5, second in 0.02f64..0.5, which in 0usize..5) {
        let ((p, y, _), (new, _, _)) = (rows(80, Key::new(seed)), rows(30, Key::new(seed).fold(1)));
        let sets = |alpha: f64| {
            SplitConformalClassifier::new(alpha).score(SCORES[which]).seed(seed).fit(&p, &y).unwrap()
        };
        let (small, large) = (sets(first.max(second)), sets(first.min(second)));
        let (few, many) = (small.sets(&new).unwrap(), large.sets(&new).unwrap());
        prop_assert!(few.rows().flatten().zip(many.rows().flatten()).all(|(few, many)| !few || *many));
        for row in 0..30 {
            let alone = small.sets(&new.narrow(0, row, 1)).unwrap();
            prop_assert_eq!(alone.row(0), few.row(row));
        }
        let filled = SplitConformalClassifier::new(first.max(second)).score(SCORES[which]).seed(seed).never_empty();
        let filled = filled.fit(&p, &y).unwrap().sets(&new).unwrap();
        for row in 0..30 {
            prop_assert!(filled.sizes()[row] == few.sizes()[row].max(1));
        }
    }

    /// Equal weights change nothing; a weight of two is a row twice, up to the weight of the new row.
    #[test]
    fn weights_count_rows(seed in 0u64..1000, alpha in 0.05f64..0.5, weight in 0.1f64..10.0) {
        let mut values = vec![0.0f64; 100];
        fill_normal(Key::new(seed), &mut values);
        let (y, center) = (vector(&values[..50]), vector(&values[50..]));
        let regressor = SplitConformalRegressor::new(alpha);
        let plain = regressor.fit(&center, &y).unwrap().intervals(&center).unwrap();
        let weights = vector(&[weight; 50]);
        let weighted = regressor.fit_weighted(&center, &y, &weights).unwrap().intervals_weighted(&center, &weights).unwrap();
        prop_assert_eq!(plain.low(), weighted.low());
        let twice: Vec<f64> = (0..50).map(|row| if row < 20 { 2.0 } else { 1.0 }).collect();
        let weighted = regressor.fit_weighted(&center, &y, &vector(&twice)).unwrap();
        let copied = |values: &[f64]| vector(&[values, &values[..20]].concat());
        let copies = regressor.fit(&copied(&values[50..]), &copied(&values[..50])).unwrap();
        let ones = vector(&[1.0; 50]);
        let (weighted, copies) = (weighted.intervals_weighted(&center, &ones).unwrap(), copies.intervals(&center).unwrap());
        prop_assert_eq!(weighted.high(), copies.high());
    }

    /// An interval with a quantile per end, or scaled by a constant, is what it should be.
    #[test]
    fn intervals_follow_the_units(seed in 0u64..1000, alpha in 0.1f64..0.5, unit in 0.1f64..10.0) {
        let mut values = vec![0.0f64; 120];
        fill_normal(Key::new(seed), &mut values);
        let (y, center) = (vector(&values[..60]), vector(&values[60..]));
        let regressor = SplitConformalRegressor::new(alpha);
        let plain = regressor.fit(&center, &y).unwrap().intervals(&center).unwrap();
        let scale = vector(&[unit; 60]);
        let scaled = regressor.fit(Forecast::Scaled(&center, &scale), &y).unwrap();
        let scaled = scaled.intervals(Forecast::Scaled(&center, &scale)).unwrap();
        let zero = regressor.fit(Forecast::Quantiles(&center, &center), &y).unwrap();
        let zero = zero.intervals(Forecast::Quantiles(&center, &center)).unwrap();
        for row in 0..60 {
            prop_assert!((plain.low()[row] - scaled.low()[row]).abs() < 1e-9);
            prop_assert_eq!(plain.high()[row], zero.high()[row]);
        }
    }
}

/// Mean coverage over many calibration sets of 60 rows, of all rows and of those of group 1.
fn simulate(fit: impl Fn(&Tensor, &Tensor, &Tensor, &Tensor, &Tensor) -> Result<PredictionSets>) -> Result<(f64, f64)> {
    let (mut all, mut hard) = ((0, 0), (0, 0));
    for round in 0..400 {
        let key = Key::new(77).fold(round);
        let ((p, y, g), (p_new, y_new, g_new)) = (rows(120, key), rows(60, key.fold(1)));
        let covered = fit(&p, &y, &g, &p_new, &g_new)?.covers(&y_new)?;
        for (hit, group) in covered.into_iter().zip(g_new.to_vec::<i64>()) {
            all = (all.0 + usize::from(hit), all.1 + 1);
            if group == 1 {
                hard = (hard.0 + usize::from(hit), hard.1 + 1);
            }
        }
    }
    Ok((all.0 as f64 / all.1 as f64, hard.0 as f64 / hard.1 as f64))
}

#[test]
fn all_scores_cover_and_groups_are_covered_by_group_only() -> Result<()> {
    for score in SCORES {
        let (all, _) =
            simulate(|p, y, _, new, _| SplitConformalClassifier::new(0.1).score(score).fit(p, y)?.sets(new))?;
        // (n + 1)α = 12.1, so k = 109 of 121: 0.9008.
        assert!((all - 109.0 / 121.0).abs() < 0.012, "{score:?}: {all}");
    }
    let plain = SplitConformalClassifier::new(0.2);
    let (_, hard) = simulate(|p, y, _, new, _| plain.fit(p, y)?.sets(new))?;
    assert!(hard < 0.75, "{hard}"); // covered on average over all rows, but not the hard group
    let (all, hard) = simulate(|p, y, g, new, g_new| plain.fit_by_group(p, y, g)?.sets_by_group(new, g_new))?;
    assert!(all > 0.79 && (0.785..0.84).contains(&hard), "{all} {hard}");
    Ok(())
}

#[test]
fn classes_are_covered_by_class() -> Result<()> {
    let (p, y, _) = rows(4000, Key::new(3));
    let (new, truth, _) = rows(8000, Key::new(4));
    let sets = SplitConformalClassifier::new(0.1).fit_by_class(&p, &y)?.sets(&new)?;
    assert_eq!(sets.claim(), CoverageClaim::ByClass { level: 0.9 });
    let report = CoverageReport::of_sets(&sets, &truth, None, 0.95)?;
    assert_eq!(report.classes.len(), 4);
    assert!(report.classes.iter().all(|class| (class.coverage.value - 0.9).abs() < 0.03), "{report}");
    Ok(())
}

#[test]
fn weights_restore_coverage_under_covariate_shift() -> Result<()> {
    // y = noise with spread x; x is uniform when calibrating, of density 3x² later: weights are 3x².
    let (mut plain, mut weighted, mut unbounded) = (0.0, 0.0, 0);
    for round in 0..200 {
        let draw = |key: Key, later: bool| {
            let (mut x, mut y) = (vec![0.0f64; 150], vec![0.0f64; 150]);
            fill_uniform(key, &mut x);
            fill_normal(key.fold(1), &mut y);
            if later {
                x.iter_mut().for_each(|x| *x = x.cbrt());
            }
            y.iter_mut().zip(&x).for_each(|(y, x)| *y *= x);
            let w: Vec<f64> = x.iter().map(|x| 3.0 * x * x).collect();
            (vector(&y), vector(&w))
        };
        let ((y, w), (y_new, w_new)) = (draw(Key::new(round), false), draw(Key::new(round).fold(9), true));
        let zeros = vector(&[0.0; 150]);
        let share = |intervals: &PredictionIntervals| {
            intervals.covers(&y_new).unwrap().iter().filter(|&&hit| hit).count() as f64 / 150.0 / 200.0
        };
        plain += share(&SplitConformalRegressor::new(0.1).fit(&zeros, &y)?.intervals(&zeros)?);
        let fitted = SplitConformalRegressor::new(0.1).fit_weighted(&zeros, &y, &w)?;
        assert_eq!(fitted.claim(), CoverageClaim::Shifted { level: 0.9 });
        let intervals = fitted.intervals_weighted(&zeros, &w_new)?;
        unbounded += intervals.high().iter().filter(|high| high.is_infinite()).count();
        weighted += share(&intervals);
    }
    assert!(plain < 0.85 && (0.89..0.92).contains(&weighted) && unbounded == 0, "{plain} {weighted} {unbounded}");
    // Two rows say nothing about a new row that weighs as much: all values are possible, and this is reported.
    let fitted = SplitConformalRegressor::new(0.1).fit_weighted(
        &vector(&[0.0, 0.0]),
        &vector(&[1.0, 2.0]),
        &vector(&[1.0, 1.0]),
    )?;
    let intervals = fitted.intervals_weighted(&vector(&[0.0]), &vector(&[1.0]))?;
    assert_eq!((intervals.low()[0], intervals.high()[0]), (f64::NEG_INFINITY, f64::INFINITY));
    let report = CoverageReport::of_intervals(&intervals, &vector(&[5.0]), None, 0.95)?;
    assert_eq!((report.unbounded, report.coverage.value, report.mean_size), (1.0, 1.0, f64::INFINITY));
    Ok(())
}

#[test]
fn risk_is_controlled_on_average() -> Result<()> {
    let (mut missed, mut sizes) = (0.0, 0.0);
    for round in 0..300 {
        let draw = |key: Key| {
            let mut u = vec![0.0f64; 1000];
            fill_uniform(key, &mut u);
            let truth: Vec<f64> =
                (0..500).map(|place| f64::from(u8::from(u[500 + place] < u[place] * u[place]))).collect();
            (Tensor::from_vec(u[..500].to_vec(), [100, 5]), Tensor::from_vec(truth, [100, 5]))
        };
        let ((p, truth), (p_new, truth_new)) = (draw(Key::new(round)), draw(Key::new(round).fold(3)));
        let sets = FalseNegativeControl::fit(&p, &truth, 0.15)?.sets(&p_new)?;
        let (members, truth) = (sets.tensor().to_vec::<bool>(), truth_new.to_f64_vec());
        for (members, truth) in members.chunks_exact(5).zip(truth.chunks_exact(5)) {
            let hits = truth.iter().filter(|&&label| label == 1.0).count();
            let lost = members.iter().zip(truth).filter(|(member, label)| **label == 1.0 && !**member).count();
            missed += if hits == 0 { 0.0 } else { lost as f64 / hits as f64 } / 30_000.0;
            sizes += members.iter().filter(|&&member| member).count() as f64 / 30_000.0;
        }
    }
    // Between α − 2/(n + 1) and α, up to noise; not by keeping everything.
    let range = 0.15 - 2.0 / 101.0 - 0.003..=0.153;
    assert!(range.contains(&missed) && sizes < 4.0, "{missed} {sizes}");
    Ok(())
}

#[test]
fn jackknife_plus_covers_with_a_closure() -> Result<()> {
    // The model is the mean of the targets; one row per fold.
    let mut covered = 0;
    for round in 0..400 {
        let mut y = vec![0.0f64; 31];
        fill_normal(Key::new(round), &mut y);
        let folds: Vec<Fold> = (0..30)
            .map(|row| Fold { train: (0..30).filter(|&other| other != row).collect(), test: vec![row] })
            .collect();
        let models = CrossFitted::new(30, &folds, |train| Ok(train.iter().map(|&row| y[row]).sum::<f64>() / 29.0))?;
        let seen = models.out_of_fold(|mean, rows| Ok(vector(&vec![*mean; rows.len()])))?;
        let fitted = CrossConformalRegressor::new(0.2).fit(&seen, &models.folds(), &vector(&y[..30]))?;
        let intervals = fitted.intervals(&Tensor::from_vec(models.models().to_vec(), [1, 30]))?;
        covered += usize::from(intervals.covers(&vector(&y[30..]))?[0]);
    }
    assert!((300..=345).contains(&covered), "{covered} of 400 at 80 %");
    Ok(())
}

#[test]
fn reports_count() -> Result<()> {
    let intervals = PredictionIntervals::new(&vector(&[0.0, 0.0, 0.0, 5.0]), &vector(&[1.0, 2.0, 4.0, 4.0]))?;
    let groups = Tensor::from([3i64, -1, 3, -1]);
    let report = CoverageReport::of_intervals(&intervals, &vector(&[0.5, 3.0, 4.0, 4.5]), Some(&groups), 0.9)?;
    assert_eq!((report.coverage.hits, report.coverage.n, report.mean_size, report.median_size), (2, 4, 1.75, 1.5));
    assert_eq!((report.empty, report.singleton, report.unbounded), (0.25, None, 0.0));
    let groups: Vec<(i64, f64)> = report.groups.iter().map(|group| (group.group, group.coverage.value)).collect();
    assert_eq!(groups, [(-1, 0.0), (3, 1.0)]);
    assert_eq!(report.worst_group().map(|worst| worst.group), Some(-1));
    assert_eq!((report.by_size.len(), report.size_stratified_coverage()), (4, 0.0));
    assert!(!report.below_claim()); // nothing was claimed
    assert_eq!(report.to_json()["coverage"]["hits"], json!(2));
    // Rows of another distribution are found out.
    let (p, y, _) = rows(500, Key::new(1));
    let fitted = SplitConformalClassifier::new(0.1).fit(&p, &y)?;
    let (new, truth, _) = rows(500, Key::new(2));
    let wrong = Tensor::from_slice(&truth.to_vec::<i64>().iter().map(|y| (y + 1) % 4).collect::<Vec<i64>>());
    let sets = fitted.sets(&new)?;
    assert!(CoverageReport::of_sets(&sets, &wrong, None, 0.95)?.below_claim());
    let report = CoverageReport::of_sets(&sets, &truth, None, 0.95)?;
    assert!(
        !report.below_claim()
            && report.to_string().contains("claim: the truth is covered with probability at least 90 %")
    );
    assert_eq!(report.by_size.iter().map(|stratum| stratum.coverage.n).sum::<usize>(), 500);
    Ok(())
}
