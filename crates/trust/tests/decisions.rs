//! Costs, thresholds, cost curves and abstention against scikit-learn and against search, and their promises by simulation.
#![allow(clippy::unwrap_used)]

mod reading;

use proptest::prelude::*;
use reading::{assert_close, fixture, flat, items, matrix, vector};
use serde_json::json;
use tove_learn::{Fit, LogisticRegression, Pipeline, Predict, StandardScaler};
use tove_tensor::random::{fill_uniform, permutation};
use tove_tensor::{DType, Key, Tensor};
use tove_trust::Result;
use tove_trust::decisions::{
    ChowRule, CostCurve, CostMatrix, RiskCoverage, SelectiveThreshold, ThresholdCriterion, probability_cost,
    select_threshold,
};

fn costs(rows: [[f64; 2]; 2]) -> CostMatrix {
    CostMatrix::new(&Tensor::from(rows)).unwrap()
}

/// A calibrated model: probabilities of class 1, and labels drawn from them.
fn calibrated(n: usize, seed: u64) -> (Tensor, Tensor) {
    let mut u = vec![0.0f64; 2 * n];
    fill_uniform(Key::new(seed), &mut u);
    let p: Vec<f64> = u[..n].iter().map(|u| u * u).collect();
    let y: Vec<i64> = p.iter().zip(&u[n..]).map(|(p, u)| i64::from(u < p)).collect();
    (Tensor::from_slice(&p), Tensor::from_slice(&y))
}

#[test]
fn k5_costs_decide() -> Result<()> {
    // C = [[0, 10], [1, 0]] predicts 1 exactly when p₁ > 1/11: on a grid, and at the neighbors of 1/11.
    let unequal = costs([[0.0, 10.0], [1.0, 0.0]]);
    for step in 0..=11_000 {
        let p = f64::from(step) / 11_000.0;
        let decision = unequal.decide(&Tensor::from([[1.0 - p, p]]))?.item::<i64>();
        let just = step == 1000; // the tie, up to rounding of p itself
        assert!(just || decision == i64::from(step > 1000), "{p}");
    }
    for (p, decision) in [(1.0 / 11.0 + 1e-15, 1), (1.0 / 11.0 - 1e-15, 0)] {
        assert_eq!(unequal.decide(&Tensor::from([p]))?.to_vec::<i64>(), [decision]);
    }
    assert_eq!(unequal.threshold()?, 1.0 / 11.0);
    // An exact tie, 3 · 1/4 = 1 · 3/4, goes to the first class.
    assert_eq!(costs([[0.0, 3.0], [1.0, 0.0]]).decide(&Tensor::from([0.25]))?.item::<i64>(), 0);
    // Equal costs give the most probable class, ties included.
    let mut u = vec![0.0f64; 5 * 4000];
    fill_uniform(Key::new(1), &mut u);
    let rows: Vec<f64> = u
        .chunks_exact(5)
        .flat_map(|row| {
            let rounded: Vec<f64> = row.iter().map(|u| (u * 4.0).floor() + 1.0).collect();
            let total: f64 = rounded.iter().sum();
            rounded.into_iter().map(move |value| value / total).collect::<Vec<f64>>()
        })
        .collect();
    let first_largest = |row: &[f64]| (0..5).fold(0, |best, k| if row[k] > row[best] { k } else { best }) as i64;
    let argmax: Vec<i64> = rows.chunks_exact(5).map(first_largest).collect();
    let p = Tensor::from_vec(rows, [4000, 5]);
    assert_eq!(CostMatrix::zero_one(5)?.decide(&p)?.to_vec::<i64>(), argmax);
    // Rows are predictions, columns the truth: scikit-learn's arithmetic for three classes.
    let three = &fixture("decisions.json")["classes"];
    let matrix_costs = CostMatrix::from_json(&three["costs"])?;
    assert_close(&matrix_costs.expected_costs(&matrix(&three["p"]))?.to_f64_vec(), &flat(&three["expected"]), 1e-14);
    assert_eq!(matrix_costs.decide(&matrix(&three["p"]))?.to_f64_vec(), flat(&three["decisions"]));
    // On held-out rows of a calibrated model the expected cost is not above argmax's: significantly below it for unequal costs.
    let (p, y) = calibrated(20_000, 2);
    let argmax = CostMatrix::zero_one(2)?.decide(&p)?;
    for table in [[[0.0, 10.0], [1.0, 0.0]], [[0.0, 1.0], [3.0, 0.0]], [[1.0, 5.0], [2.0, 0.0]]] {
        let costs = costs(table);
        let difference = costs.compare(&costs.decide(&p)?, &argmax, &y, 0.99, 0)?;
        assert!(difference.mean < 0.0 && difference.bootstrap.1 < 0.0, "{difference}");
    }
    // Real borrowers and tumors, logistic regression, held-out rows of 10 splits: lower in sum.
    for set in [tove_data::sets::german_credit(), tove_data::sets::breast_cancer()] {
        let set = set.unwrap();
        let (x, y) = (set.x().to_dtype(DType::F64), set.y().to_dtype(DType::I64));
        let costs = costs([[0.0, 5.0], [1.0, 0.0]]);
        let n = y.numel();
        let (mut paid, mut paid_argmax) = (0.0, 0.0);
        for split in 0..10 {
            let order = permutation(Key::new(split), n);
            let (train, test) = order.split_at(n / 2);
            let (train, test) = (Tensor::from_slice(train), Tensor::from_slice(test));
            let model = Pipeline::of(StandardScaler::default()).then(LogisticRegression::default());
            let fitted = model.fit(x.index_select(0, &train), &y.index_select(0, &train))?;
            let (p, truth) = (fitted.predict_proba(x.index_select(0, &test))?, y.index_select(0, &test));
            paid += costs.evaluate(&costs.decide(&p)?, &truth, 0.95, 0)?.mean;
            paid_argmax += costs.evaluate(&CostMatrix::zero_one(2)?.decide(&p)?, &truth, 0.95, 0)?.mean;
        }
        assert!(paid <= paid_argmax, "{paid} > {paid_argmax}");
    }
    Ok(())
}

#[test]
fn expected_cost_intervals_hold_the_truth() -> Result<()> {
    // The expected cost of predicting 1 above 1/11 for p = u²: E[10 p; p ≤ t] + E[1 − p; p > t], with s = √t.
    let unequal = costs([[0.0, 10.0], [1.0, 0.0]]);
    let s = (1.0f64 / 11.0).sqrt();
    let truth = 10.0 * s.powi(3) / 3.0 + (1.0 - s) - (1.0 - s.powi(3)) / 3.0;
    let (mut held, mut held_hoeffding) = (0, 0);
    for seed in 0..200 {
        let (p, y) = calibrated(300, seed);
        let estimate = unequal.evaluate(&unequal.decide(&p)?, &y, 0.9, seed)?;
        held += u32::from(estimate.bootstrap.0 <= truth && truth <= estimate.bootstrap.1);
        held_hoeffding += u32::from(estimate.hoeffding.0 <= truth && truth <= estimate.hoeffding.1);
        assert!(estimate.bootstrap.0 <= estimate.mean && estimate.mean <= estimate.bootstrap.1);
    }
    assert!((165..=195).contains(&held) && held_hoeffding >= 180, "{held} {held_hoeffding} of 200 at 90 %");
    Ok(())
}

#[test]
fn thresholds_are_those_of_a_search_with_scikit_learn() -> Result<()> {
    let binary = &fixture("decisions.json")["binary"];
    let (scores, labels, weights) = (vector(&binary["scores"]), vector(&binary["labels"]), vector(&binary["weights"]));
    let matrix_costs = CostMatrix::from_json(&binary["costs"])?;
    for (name, criterion) in [
        ("cost", ThresholdCriterion::Cost(&matrix_costs)),
        ("f1", ThresholdCriterion::FBeta(1.0)),
        ("f2", ThresholdCriterion::FBeta(2.0)),
        ("precision_0.8", ThresholdCriterion::PrecisionAtLeast(0.8)),
        ("recall_0.75", ThresholdCriterion::RecallAtLeast(0.75)),
        ("youden", ThresholdCriterion::Youden),
    ] {
        for (kind, weights) in [("plain", None), ("weighted", Some(&weights))] {
            let wanted = flat(&binary["thresholds"][name][kind]);
            let found = select_threshold(&labels, &scores, weights, criterion)?;
            assert_eq!(found.threshold, wanted[0], "{name} {kind}");
            let sign = if name == "cost" { -1.0 } else { 1.0 };
            assert_close(&[sign * found.value], &wanted[1..], 1e-13);
        }
    }
    let error =
        select_threshold(&labels, &scores, None, ThresholdCriterion::PrecisionAtLeast(1.0)).map(|found| found.value);
    assert!(error.is_ok() || error.unwrap_err().to_string().contains("best precision"));
    Ok(())
}

#[test]
fn cost_curves_are_the_lowest_of_all_lines() -> Result<()> {
    let binary = &fixture("decisions.json")["binary"];
    let (scores, labels) = (vector(&binary["scores"]), vector(&binary["labels"]));
    let curve = CostCurve::new(&labels, &scores, None)?;
    for (x, lowest) in flat(&binary["places"]).into_iter().zip(flat(&binary["lowest"])) {
        assert_close(&[curve.cost(x)?], &[lowest], 1e-13);
        // The threshold named there has that cost.
        let threshold = curve.threshold(x)?;
        let line = curve.lines().iter().find(|line| line.threshold == threshold).unwrap();
        assert_close(&[line.cost(x)], &[lowest], 1e-13);
    }
    // The area, by the trapezoid rule on a fine grid.
    let fine: f64 = (0..10_000).map(|i| curve.cost((f64::from(i) + 0.5) / 10_000.0).unwrap()).sum::<f64>() / 10_000.0;
    assert_close(&[curve.area()], &[fine], 1e-6);
    // A cost matrix and a proportion name a place on the curve, whose threshold is the cheapest.
    let unequal = costs([[0.0, 4.0], [1.0, 0.0]]);
    let share = flat(&binary["labels"]).iter().sum::<f64>() / scores.numel() as f64;
    let best = select_threshold(&labels, &scores, None, ThresholdCriterion::Cost(&unequal))?;
    let scale = share * 4.0 + (1.0 - share);
    assert_close(&[curve.cost(probability_cost(&unequal, share)?)? * scale], &[best.value], 1e-12);
    Ok(())
}

#[test]
fn selective_risk_is_that_of_a_search() -> Result<()> {
    let selective = &fixture("decisions.json")["selective"];
    let (confidence, losses) = (vector(&selective["confidence"]), vector(&selective["losses"]));
    let curve = RiskCoverage::new(&confidence, &losses)?;
    for (point, wanted) in curve.points().iter().zip(items(&selective["curve"])) {
        assert_close(&[point.threshold, point.coverage, point.risk], &flat(wanted), 1e-14);
    }
    assert_close(&[curve.area()], &[selective["area"].as_f64().unwrap()], 1e-14);
    assert!(curve.excess_area() > 0.0);
    assert_eq!(curve.at_coverage(1.0), curve.points().last());
    assert_eq!((curve.at_threshold(2.0), curve.at_coverage(1.1)), (None, None));
    // The best order has no excess.
    let best = RiskCoverage::new(&Tensor::from([4.0, 3.0, 2.0, 1.0]), &Tensor::from([0.0, 0.0, 1.0, 1.0]))?;
    assert_eq!(best.excess_area(), 0.0);
    Ok(())
}

#[test]
fn the_guarantee_of_a_selective_threshold_holds() -> Result<()> {
    // Confidence c is right with probability c: above t the error rate is (1 − t)/2.
    let (mut broken, mut coverage) = (0, 0.0);
    for seed in 0..300 {
        let mut u = vec![0.0f64; 2000];
        fill_uniform(Key::new(seed), &mut u);
        let errors: Vec<f64> = u[..1000].iter().zip(&u[1000..]).map(|(c, u)| f64::from(u8::from(u > c))).collect();
        // A refusal decides nothing, so it cannot be wrong.
        let found = SelectiveThreshold::fit(&Tensor::from_slice(&u[..1000]), &Tensor::from_slice(&errors), 0.25, 0.1);
        let Ok(found) = found else { continue };
        let threshold = found.threshold.unwrap();
        broken += u32::from((1.0 - threshold) / 2.0 > 0.25);
        coverage += found.coverage / 300.0;
        assert_eq!(SelectiveThreshold::from_json(&found.to_json())?, found);
    }
    assert!(broken <= 30, "{broken} of 300 at δ = 0.1");
    assert!((0.3..0.5).contains(&coverage), "{coverage}"); // 0.5 is possible
    let few = SelectiveThreshold::fit(&Tensor::from([0.9, 0.8]), &Tensor::from([0.0, 0.0]), 0.1, 0.1).unwrap_err();
    assert!(few.to_string().contains("lowest error rate that 2 rows can show"), "{few}");
    Ok(())
}

#[test]
fn abstaining_is_never_dearer_in_expectation() -> Result<()> {
    let (p, y) = calibrated(4000, 9);
    let unequal = costs([[0.0, 4.0], [1.0, 0.0]]);
    let always = unequal.evaluate(&unequal.decide(&p)?, &y, 0.95, 0)?.mean;
    let mut last = 0.0;
    for step in 0..=10 {
        let rule = ChowRule::new(unequal.clone(), f64::from(step) / 10.0)?;
        let decisions = rule.decide(&p)?;
        assert!(decisions.coverage() >= last);
        last = decisions.coverage();
        assert!(rule.evaluate(&decisions, &y, 0.95, 0)?.mean <= always + 0.02);
        // Decided rows have the cheapest class.
        let (found, plain) = (decisions.tensor().to_vec::<i64>(), unequal.decide(&p)?.to_vec::<i64>());
        assert!(found.iter().zip(plain).all(|(&found, plain)| found == -1 || found == plain));
    }
    assert_eq!(last, 1.0); // the lowest expected cost is at most 0.8
    let equal = ChowRule::new(CostMatrix::zero_one(3)?, 0.4)?;
    let decisions = equal.decide(&Tensor::from([[0.6, 0.2, 0.2], [0.59, 0.21, 0.2]]))?;
    assert_eq!(decisions.classes(), [Some(0), None]); // 1 − 0.6 is a tie, which is decided
    Ok(())
}

#[test]
fn bad_costs_and_scores_are_explained() {
    let text = |tensor: Tensor| CostMatrix::new(&tensor).unwrap_err().to_string();
    assert!(text(Tensor::from([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])).contains("2 rows and 3 columns"));
    assert!(text(Tensor::from([[0.0, -1.0], [1.0, 0.0]])).contains("predicting 0 when 1 is true is -1"));
    assert!(text(Tensor::from([[0.0, f64::NAN], [1.0, 0.0]])).contains("NaN"));
    assert!(text(Tensor::from([[0.0, f64::INFINITY], [1.0, 0.0]])).contains("inf"));
    assert!(text(Tensor::from([[0.0]])).contains("at least two"));
    assert!(text(Tensor::zeros([0, 0], DType::F64)).contains("at least two"));
    assert!(text(Tensor::from([1.0, 2.0])).contains("square"));
    for bad in [
        json!(3),
        json!([]),
        json!([[0, "x"], [1, 0]]),
        json!({"cost": []}),
        json!([[0, 1], 2]),
        json!([[0, null], [1, 0]]),
    ] {
        assert!(CostMatrix::from_json(&bad).is_err(), "{bad}");
    }
    let flipped = costs([[5.0, 0.0], [0.0, 5.0]]).threshold().unwrap_err().to_string();
    assert!(flipped.contains("rows are predictions"), "{flipped}");
    assert!(costs([[1.0, 1.0], [1.0, 1.0]]).threshold().is_err());
    let unequal = costs([[0.0, 10.0], [1.0, 0.0]]);
    assert!(
        unequal.decide(&Tensor::from([[0.2, 0.3, 0.5]])).unwrap_err().to_string().contains("3 classes and costs of 2")
    );
    assert!(unequal.evaluate(&Tensor::from([0i64, 2]), &Tensor::from([0i64, 1]), 0.9, 0).is_err());
    assert!(unequal.evaluate(&Tensor::from([0i64]), &Tensor::from([0i64, 1]), 0.9, 0).is_err());
    assert!(unequal.evaluate(&Tensor::from([0i64]), &Tensor::from([0i64]), 1.0, 0).is_err());
    let (one, scores) = (Tensor::from([1i64, 1]), Tensor::from([0.5, 0.5]));
    assert!(
        select_threshold(&one, &scores, None, ThresholdCriterion::Youden).unwrap_err().to_string().contains("class 0")
    );
    assert!(CostCurve::new(&one, &scores, None).unwrap_err().to_string().contains("class 0"));
    assert!(select_threshold(&one, &Tensor::from([f64::NAN, 0.0]), None, ThresholdCriterion::FBeta(1.0)).is_err());
    assert!(select_threshold(&one, &scores, None, ThresholdCriterion::FBeta(0.0)).is_err());
    assert!(ChowRule::new(unequal, -1.0).is_err());
    assert!(RiskCoverage::new(&Tensor::zeros([0], DType::F64), &Tensor::zeros([0], DType::F64)).is_err());
    assert!(
        CostMatrix::new(&Tensor::from([[0.0, f64::MAX], [f64::MAX, 0.0]]))
            .and_then(|huge| huge.evaluate(&Tensor::from([0i64, 0]), &Tensor::from([1i64, 1]), 0.9, 0))
            .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The threshold of two classes decides as the costs do, away from the tie.
    #[test]
    fn threshold_and_decision_agree(alarm in 0.01f64..10.0, miss in 0.01f64..10.0, base in 0.0f64..3.0, p in 0.0f64..1.0) {
        let costs = costs([[base, base + miss], [base + alarm, base]]);
        let threshold = costs.threshold().unwrap();
        prop_assume!((p - threshold).abs() > 1e-12);
        prop_assert_eq!(costs.decide(&Tensor::from([p])).unwrap().item::<i64>(), i64::from(p > threshold));
    }

    /// Adding a constant to a column of costs, or scaling all of them, changes no decision.
    #[test]
    fn decisions_do_not_depend_on_what_cannot_be_changed(cells in prop::collection::vec(0.0f64..5.0, 9), shift in 0.0f64..4.0,
        weights in prop::collection::vec(0.01f64..1.0, 3)) {
        let total: f64 = weights.iter().sum();
        let p = Tensor::from_vec(weights.iter().map(|w| w / total).collect::<Vec<f64>>(), [1, 3]);
        let plain = CostMatrix::new(&Tensor::from_vec(cells.clone(), [3, 3])).unwrap();
        let moved: Vec<f64> = cells.iter().enumerate().map(|(place, c)| 2.0 * (c + if place % 3 == 1 { shift } else { 0.0 })).collect();
        let moved = CostMatrix::new(&Tensor::from_vec(moved, [3, 3])).unwrap();
        let costs = plain.expected_costs(&p).unwrap().to_f64_vec();
        let mut sorted = costs.clone();
        sorted.sort_by(f64::total_cmp);
        prop_assume!(sorted[1] - sorted[0] > 1e-9);
        prop_assert_eq!(plain.decide(&p).unwrap().to_vec::<i64>(), moved.decide(&p).unwrap().to_vec::<i64>());
    }

    /// No threshold is cheaper than the selected one, and the envelope of the cost curve is below every line.
    #[test]
    fn nothing_is_cheaper_than_the_best(scores in prop::collection::vec(0u8..12, 4..40), seed in 0u64..1000, miss in 0.1f64..9.0) {
        let n = scores.len();
        let mut u = vec![0.0f64; n];
        fill_uniform(Key::new(seed), &mut u);
        let mut y: Vec<i64> = u.iter().map(|u| i64::from(*u < 0.4)).collect();
        (y[0], y[1]) = (0, 1);
        let s: Vec<f64> = scores.iter().map(|&s| f64::from(s)).collect();
        let (labels, scores) = (Tensor::from_slice(&y), Tensor::from_slice(&s));
        let costs = costs([[0.0, miss], [1.0, 0.0]]);
        let best = select_threshold(&labels, &scores, None, ThresholdCriterion::Cost(&costs)).unwrap();
        for threshold in -1..13 {
            let guess: Vec<i64> = s.iter().map(|&s| i64::from(s >= f64::from(threshold))).collect();
            let mean: f64 = guess.iter().zip(&y).map(|(&g, &y)| if g == y { 0.0 } else if y == 1 { miss } else { 1.0 }).sum::<f64>() / n as f64;
            prop_assert!(best.value <= mean + 1e-12);
        }
        prop_assert_eq!(best.decide(&scores).unwrap().to_vec::<i64>().iter().sum::<i64>() as f64,
            best.counts.true_positives + best.counts.false_positives);
        let curve = CostCurve::new(&labels, &scores, None).unwrap();
        for step in 0..=20 {
            let x = f64::from(step) / 20.0;
            let lowest = curve.lines().iter().map(|line| line.cost(x)).fold(f64::INFINITY, f64::min);
            prop_assert!((curve.cost(x).unwrap() - lowest).abs() < 1e-12);
        }
        prop_assert!(curve.area() <= 0.25 + 1e-12 && curve.envelope().windows(2).all(|pair| pair[0].x < pair[1].x));
    }
}
