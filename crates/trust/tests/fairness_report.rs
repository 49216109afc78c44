//! Group reports, metric frames and gaps against fairlearn.
#![allow(clippy::unwrap_used)]

mod fairness_common;

use fairness_common::{SETS, calibrated, close, fixture, numbers, vector, whole};
use serde_json::Value;
use tove_metrics::accuracy;
use tove_tensor::{Key, Tensor};
use tove_trust::fairness::{
    GapMeasure, GroupOptions, GroupRates, GroupReport, MetricFrame, Outcomes, Rate, ResidualReport, SensitiveGroups,
    demographic_parity_difference, demographic_parity_ratio, equal_opportunity_difference, equalized_odds_difference,
    equalized_odds_ratio, fairness_gaps,
};

const TOLERANCE: f64 = 1e-12;

fn outcomes(set: &Value) -> Outcomes {
    Outcomes::new(&whole(&set["y"])).unwrap().scores(&vector(&set["score"])).unwrap()
}

fn every_group() -> GroupOptions {
    GroupOptions { min_size: 1, resamples: 50, ..GroupOptions::default() }
}

fn rate(group: &GroupRates, name: &str) -> Option<Rate> {
    group.named().into_iter().find(|(other, _)| other.replace(' ', "_") == name).unwrap().1
}

#[track_caller]
fn same(found: Option<f64>, wanted: &Value) {
    match wanted.as_f64() {
        Some(wanted) => close(found.unwrap(), wanted, TOLERANCE),
        None => assert_eq!(found, None),
    }
}

#[test]
fn k18_group_report_and_metric_frame_equal_those_of_fairlearn() {
    for name in SETS {
        let set = fixture(name);
        let (first, second) = (whole(&set["first"]), whole(&set["second"]));
        let one = outcomes(&set).sensitive("first", &first).unwrap();
        let other = outcomes(&set).sensitive("second", &second).unwrap();
        let both = one.clone().sensitive("second", &second).unwrap();
        for (key, outcomes) in [("frames", &one), ("frames_second", &other), ("frames_both", &both)] {
            let report = GroupReport::new(outcomes, &every_group()).unwrap();
            for (metric, wanted) in set[key].as_object().unwrap() {
                same(rate(&report.overall, metric).map(|rate| rate.value), &wanted["overall"]);
                assert_eq!(report.groups.len(), wanted["by_group"].as_object().unwrap().len());
                for group in &report.groups {
                    let code: Vec<String> = group.values.iter().map(i64::to_string).collect();
                    let found = rate(group, metric);
                    same(found.map(|rate| rate.value), &wanted["by_group"][code.join("_")]);
                    assert!(found.is_none_or(|rate| rate.low <= rate.value && rate.value <= rate.high));
                }
                frame_equals(outcomes, metric, &report, wanted);
            }
        }
        // Sizes, calibration by group and exact intervals.
        let report = GroupReport::new(&one, &every_group()).unwrap();
        for group in &report.groups {
            let wanted = &set["calibration"][group.values[0].to_string()];
            close(group.calibration_error.unwrap(), wanted["ece"].as_f64().unwrap(), TOLERANCE);
            close(group.mean_score.unwrap().value, wanted["mean_score"].as_f64().unwrap(), TOLERANCE);
            let rows: Vec<f64> = group.bins.iter().map(|bin| bin.rows as f64).collect();
            assert_eq!(rows, numbers(&wanted["rows"]));
            assert_eq!(rows.iter().sum::<f64>(), group.rows as f64);
            let ends = numbers(&wanted["base_rate_interval"]);
            let base = group.base_rate.unwrap();
            close(base.low, ends[0], 1e-9);
            close(base.high, ends[1], 1e-9);
        }
    }
}

/// The rates of a report as a metric frame, with fairlearn's aggregates.
fn frame_equals(outcomes: &Outcomes, metric: &str, report: &GroupReport, wanted: &Value) {
    let groups = outcomes.groups().unwrap();
    let values: Vec<Option<f64>> =
        report.groups.iter().map(|group| rate(group, metric).map(|rate| rate.value)).collect();
    let overall = rate(&report.overall, metric).map(|rate| rate.value);
    let frame = MetricFrame::new(&groups, |rows| {
        Ok(if rows.len() == outcomes.len() { overall } else { values[groups.codes()[rows[0]]] })
    })
    .unwrap();
    same(frame.group_min(), &wanted["min"]);
    same(frame.group_max(), &wanted["max"]);
    same(frame.difference(), &wanted["difference"]);
    same(frame.difference_to_overall(), &wanted["difference_to_overall"]);
    same(frame.ratio(), &wanted["ratio"]);
    same(frame.ratio_to_overall(), &wanted["ratio_to_overall"]);
}

#[test]
fn metric_frames_take_any_metric() {
    for name in SETS {
        let set = fixture(name);
        let decisions: Vec<i64> = numbers(&set["score"]).iter().map(|&score| i64::from(score > 0.5)).collect();
        let groups = SensitiveGroups::from_column("first", &whole(&set["first"])).unwrap();
        let frame = MetricFrame::of_predictions(
            &groups,
            &whole(&set["y"]),
            &Tensor::from_slice(&decisions),
            None,
            |truth, guess, weights| Ok(Some(accuracy(truth, guess, weights)?.value)),
        )
        .unwrap();
        let wanted = &set["frames"]["accuracy"];
        same(frame.overall, &wanted["overall"]);
        same(frame.difference(), &wanted["difference"]);
        same(frame.ratio_to_overall(), &wanted["ratio_to_overall"]);
    }
}

fn gap_of(set: &Value, which: &str, measure: GapMeasure) -> f64 {
    let column = if which == "second" { "second" } else { "first" };
    let mut outcomes = outcomes(set).sensitive("a", &whole(&set[column])).unwrap();
    if which == "weighted" {
        outcomes = outcomes.weights(&vector(&set["weights"])).unwrap();
    }
    fairness_gaps(&outcomes, &every_group()).unwrap().get(measure).unwrap().value
}

#[test]
fn k20_demographic_parity_difference_equals_that_of_fairlearn() {
    for name in SETS {
        let set = fixture(name);
        let decisions: Vec<i64> = numbers(&set["score"]).iter().map(|&score| i64::from(score > 0.5)).collect();
        let decisions = Tensor::from_slice(&decisions);
        for which in ["first", "second", "weighted"] {
            let wanted = &set["gaps"][which];
            let groups = whole(&set[if which == "second" { "second" } else { "first" }]);
            let weights = (which == "weighted").then(|| vector(&set["weights"]));
            let difference = wanted["demographic_parity_difference"].as_f64().unwrap();
            let ratio = wanted["demographic_parity_ratio"].as_f64().unwrap();
            close(demographic_parity_difference(&decisions, &groups, weights.as_ref()).unwrap(), difference, TOLERANCE);
            close(demographic_parity_ratio(&decisions, &groups, weights.as_ref()).unwrap(), ratio, TOLERANCE);
            close(gap_of(&set, which, GapMeasure::DemographicParityDifference), difference, TOLERANCE);
            close(gap_of(&set, which, GapMeasure::DemographicParityRatio), ratio, TOLERANCE);
        }
    }
    // Independence is not separation: a perfect classifier with unequal base rates violates it, and labels play no part in it.
    let labels = Tensor::from([1i64, 1, 0, 0, 1, 0, 0, 0]);
    let groups = Tensor::from([0i64, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(demographic_parity_difference(&labels, &groups, None).unwrap(), 0.25);
    assert_eq!(equalized_odds_difference(&labels, &labels, &groups, None).unwrap(), 0.0);
}

#[test]
fn k21_equalized_odds_difference_equals_that_of_fairlearn() {
    for name in SETS {
        let set = fixture(name);
        let decisions: Vec<i64> = numbers(&set["score"]).iter().map(|&score| i64::from(score > 0.5)).collect();
        let (labels, decisions) = (whole(&set["y"]), Tensor::from_slice(&decisions));
        for which in ["first", "second", "weighted"] {
            let wanted = &set["gaps"][which];
            let groups = whole(&set[if which == "second" { "second" } else { "first" }]);
            let weights = (which == "weighted").then(|| vector(&set["weights"]));
            let weights = weights.as_ref();
            let number = |name: &str| wanted[name].as_f64().unwrap();
            let difference = number("equalized_odds_difference");
            let ratio = number("equalized_odds_ratio");
            let opportunity = number("equal_opportunity_difference");
            close(equalized_odds_difference(&labels, &decisions, &groups, weights).unwrap(), difference, TOLERANCE);
            close(equalized_odds_ratio(&labels, &decisions, &groups, weights).unwrap(), ratio, TOLERANCE);
            close(equal_opportunity_difference(&labels, &decisions, &groups, weights).unwrap(), opportunity, TOLERANCE);
            close(gap_of(&set, which, GapMeasure::EqualizedOddsDifference), difference, TOLERANCE);
            close(gap_of(&set, which, GapMeasure::EqualizedOddsRatio), ratio, TOLERANCE);
            close(gap_of(&set, which, GapMeasure::EqualOpportunityDifference), opportunity, TOLERANCE);
        }
    }
}

#[test]
fn tests_reject_at_their_level_and_intervals_cover() {
    // Groups without influence: each test at 10 % rejects in about 10 % of 100 samples.
    let options = GroupOptions { resamples: 99, confidence: 0.9, ..GroupOptions::default() };
    let measures = [
        GapMeasure::DemographicParityDifference,
        GapMeasure::MeanScoreDifference,
        GapMeasure::EqualizedOddsDifference,
        GapMeasure::PositivePredictiveDifference,
        GapMeasure::BinnedRateDifference,
        GapMeasure::GroupCalibrationError,
    ];
    let mut rejected = [0; 6];
    let mut covered = 0;
    for seed in 0..100 {
        let data = calibrated(600, 0.0, 100 + seed);
        let outcomes = Outcomes::new(&data.labels).unwrap().scores(&data.scores).unwrap();
        let outcomes = outcomes.sensitive("a", &data.groups).unwrap();
        let gaps = fairness_gaps(&outcomes, &GroupOptions { seed, ..options.clone() }).unwrap();
        for (count, measure) in rejected.iter_mut().zip(measures) {
            *count += i32::from(gaps.get(measure).unwrap().p_value <= 0.1);
        }
        // The true difference of mean scores of a shifted group.
        let shifted = calibrated(600, 1.0, 1000 + seed);
        let outcomes = Outcomes::new(&shifted.labels).unwrap().scores(&shifted.scores).unwrap();
        let outcomes = outcomes.sensitive("a", &shifted.groups).unwrap();
        let gap = fairness_gaps(&outcomes, &options).unwrap().get(GapMeasure::MeanScoreDifference).unwrap().clone();
        let wanted = true_mean(1.0) - true_mean(0.0);
        covered += i32::from(gap.low <= wanted && wanted <= gap.high);
        assert!(gap.p_value <= 0.02, "{gap}");
    }
    // Binomial(100, 0.1) is within 1 … 21 but for less than one in a thousand.
    assert!(rejected.iter().all(|count| (1..=21).contains(count)), "{rejected:?}");
    assert!(covered >= 80, "{covered}");
}

/// The mean of the scores of `calibrated` by numerical integration.
fn true_mean(shift: f64) -> f64 {
    let density = |u: f64| (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let step = 0.001;
    let at = |i: i32| f64::from(i) * step;
    (-8000..8000).map(|i| step * density(at(i)) * fairness_common::sigmoid(1.2 * at(i) - 0.6 + shift)).sum()
}

#[test]
fn reports_do_not_depend_on_row_order_or_threads() {
    let data = calibrated(500, 0.8, 3);
    let make = |order: &Tensor| {
        let pick = |tensor: &Tensor| tensor.index_select(0, order);
        let outcomes = Outcomes::new(&pick(&data.labels)).unwrap().scores(&pick(&data.scores)).unwrap();
        outcomes.sensitive("a", &pick(&data.groups)).unwrap()
    };
    let (plain, mixed) = (make(&Tensor::arange(0, 500)), make(&Key::new(9).permutation(500)));
    let (one, two) =
        (GroupReport::new(&plain, &every_group()).unwrap(), GroupReport::new(&mixed, &every_group()).unwrap());
    for (a, b) in one.groups.iter().zip(&two.groups) {
        assert_eq!((a.rows, a.selection_rate, a.true_positive_rate), (b.rows, b.selection_rate, b.true_positive_rate));
        close(a.mean_score.unwrap().value, b.mean_score.unwrap().value, 1e-12);
    }
    let gaps = |threads: usize| {
        tove_tensor::set_num_threads(threads);
        fairness_gaps(&plain, &every_group()).unwrap()
    };
    assert_eq!(gaps(1), gaps(2));
    tove_tensor::set_num_threads(2);
}

#[test]
fn weights_equal_copies() {
    let set = fixture("german");
    let n = numbers(&set["y"]).len();
    let copies: Vec<i64> = (0..n).flat_map(|row| std::iter::repeat_n(row as i64, 1 + row % 3)).collect();
    let copies = Tensor::from_slice(&copies);
    let weights = Tensor::from_slice(&(0..n).map(|row| (1 + row % 3) as f64).collect::<Vec<f64>>());
    let (labels, scores, groups) = (whole(&set["y"]), vector(&set["score"]), whole(&set["first"]));
    let weighted = Outcomes::new(&labels).unwrap().scores(&scores).unwrap();
    let weighted = weighted.sensitive("a", &groups).unwrap().weights(&weights).unwrap();
    let pick = |tensor: &Tensor| tensor.index_select(0, &copies);
    let repeated = Outcomes::new(&pick(&labels)).unwrap().scores(&pick(&scores)).unwrap();
    let repeated = repeated.sensitive("a", &pick(&groups)).unwrap();
    let one = GroupReport::new(&weighted, &every_group()).unwrap();
    let two = GroupReport::new(&repeated, &every_group()).unwrap();
    for (a, b) in one.groups.iter().zip(&two.groups) {
        for ((name, a), (_, b)) in a.named().iter().zip(b.named()) {
            close(a.unwrap().value, b.unwrap().value, 1e-12);
            // Weights tell less than copies would: intervals are wider.
            assert!(
                *name == "mean score" || a.unwrap().high - a.unwrap().low > 0.9 * (b.unwrap().high - b.unwrap().low)
            );
        }
        close(a.calibration_error.unwrap(), b.calibration_error.unwrap(), 1e-12);
    }
}

#[test]
fn small_groups_and_undefined_rates_are_said() {
    // Group 2 has three rows; group 1 has no positives.
    let labels: Vec<i64> = (0..43).map(|row| i64::from(row < 20 && row % 2 == 0)).collect();
    let groups: Vec<i64> = (0..43)
        .map(|row| {
            if row < 20 {
                0
            } else if row < 40 {
                1
            } else {
                2
            }
        })
        .collect();
    let decisions: Vec<i64> = (0..43).map(|row| i64::from(row % 3 == 0)).collect();
    let outcomes = Outcomes::new(&Tensor::from_slice(&labels)).unwrap();
    let outcomes = outcomes.decisions(&Tensor::from_slice(&decisions)).unwrap();
    let outcomes = outcomes.sensitive("a", &Tensor::from_slice(&groups)).unwrap().named("a", &[(2, "few")]).unwrap();
    let report = GroupReport::new(&outcomes, &GroupOptions::default()).unwrap();
    assert_eq!(report.too_small(), ["a = few"]);
    assert_eq!(report.groups[1].true_positive_rate, None);
    assert!(report.groups[1].mean_score.is_none() && report.groups[1].bins.is_empty());
    let text = report.to_string();
    assert!(text.contains("too small to compare") && !text.contains("NaN"), "{text}");
    assert!(report.to_json()["groups"][1]["rates"]["true_positive_rate"].is_null());
    let gaps = fairness_gaps(&outcomes, &GroupOptions::default()).unwrap();
    let parity = gaps.get(GapMeasure::DemographicParityDifference).unwrap();
    assert_eq!(parity.left_out, ["a = few"]);
    assert!(gaps.get(GapMeasure::EqualOpportunityDifference).is_none());
    let why = gaps.undefined.iter().find(|(measure, _)| *measure == GapMeasure::EqualOpportunityDifference).unwrap();
    assert!(why.1.contains("fewer than two groups"), "{}", why.1);
    assert!(
        gaps.undefined
            .iter()
            .any(|(measure, why)| *measure == GapMeasure::MeanScoreDifference && why.contains("no scores"))
    );
    assert!(!gaps.to_string().contains("NaN") && gaps.to_json()["gaps"].as_array().unwrap().len() > 3);
}

#[test]
fn regressions_have_residuals_by_group() {
    let groups = SensitiveGroups::from_column("a", &Tensor::from([0i64, 0, 0, 1, 1, 1])).unwrap();
    let truth = Tensor::from([1.0, 2.0, 4.0, 1.0, 1.0, 4.0]);
    let prediction = Tensor::from([1.5, 2.5, 3.0, 0.0, 0.5, 1.0]);
    let report = ResidualReport::new(&truth, &prediction, &groups, 0.95).unwrap();
    // scipy.stats.t.interval(0.95, 2, loc=1.5, scale=scipy.stats.sem([1, 0.5, 3])).
    let mean = report.groups[1].mean_residual.unwrap();
    close(mean.value, 1.5, 1e-14);
    close(mean.low, -1.786205303864214, 1e-9);
    close(report.groups[0].mean_absolute_error, 2.0 / 3.0, 1e-14);
    close(report.groups[0].root_mean_squared_error, 0.5f64.sqrt(), 1e-14);
    close(report.difference.unwrap(), 1.5, 1e-14);
    close(report.error_ratio.unwrap(), 2.25, 1e-14);
    assert_eq!(report.to_json()["groups"][1]["mean_residual"]["value"], 1.5);
    let single = SensitiveGroups::from_column("a", &Tensor::from([0i64, 0, 0, 1, 1, 2])).unwrap();
    assert_eq!(ResidualReport::new(&truth, &prediction, &single, 0.95).unwrap().groups[2].mean_residual, None);
    assert!(ResidualReport::new(&truth, &Tensor::from([1.0]), &groups, 0.95).is_err());
    assert!(ResidualReport::new(&(&truth * 1e300), &prediction, &groups, 0.95).is_err());
}

/// The cells of a line of CSV, in which quoted cells may hold commas.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

#[test]
fn compas_has_the_error_rates_that_propublica_published() {
    let Some(folder) = fairness_common::large("compas") else { return };
    let text = std::fs::read_to_string(folder.join("compas-scores-two-years.csv")).unwrap();
    let header = cells(text.lines().next().unwrap());
    let place = |name: &str| header.iter().position(|column| column == name).unwrap();
    let (race, risk, label) = (place("race"), place("score_text"), place("two_year_recid"));
    let (mut groups, mut decisions, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for row in text.lines().skip(1).map(cells) {
        let group = match row[race].as_str() {
            "African-American" => 0i64,
            "Caucasian" => 1,
            _ => continue,
        };
        groups.push(group);
        decisions.push(i64::from(row[risk] != "Low"));
        labels.push(row[label].parse::<i64>().unwrap());
    }
    let outcomes = Outcomes::new(&Tensor::from_slice(&labels)).unwrap();
    let outcomes = outcomes.decisions(&Tensor::from_slice(&decisions)).unwrap();
    let outcomes = outcomes.sensitive("race", &Tensor::from_slice(&groups)).unwrap();
    let report = GroupReport::new(&outcomes, &GroupOptions::default()).unwrap();
    // Larson et al., "How we analyzed the COMPAS recidivism algorithm" (2016), in percent.
    let names =
        ["false positive rate", "false negative rate", "positive predictive value", "negative predictive value"];
    for (group, wanted) in report.groups.iter().zip([[44.85, 27.99, 62.97, 65.05], [23.45, 47.72, 59.13, 71.19]]) {
        for (name, wanted) in names.into_iter().zip(wanted) {
            let found = 100.0 * rate(group, &name.replace(' ', "_")).unwrap().value;
            assert!((found - wanted).abs() < 0.006, "{} {name}: {found}", group.name);
        }
    }
    let gaps = fairness_gaps(&outcomes, &GroupOptions::default()).unwrap();
    let odds = gaps.get(GapMeasure::EqualizedOddsDifference).unwrap();
    assert!(odds.p_value < 0.002 && odds.low > 0.15 && odds.high < 0.26, "{odds}");
}
