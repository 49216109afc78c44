//! Hostile input: no panic, and no answer that is not a number.
#![allow(clippy::unwrap_used)]

use tove_tensor::Tensor;
use tove_trust::calibration::{Binning, CalibrationMap, CalibrationMethod, ReliabilityBins, ScoreKind};
use tove_trust::conformal::{SetScore, SplitConformalClassifier, SplitConformalRegressor, ThresholdSets};
use tove_trust::decisions::{
    ChowRule, CostCurve, CostMatrix, RiskCoverage, SelectiveThreshold, ThresholdCriterion, select_threshold,
};
use tove_trust::fairness::{
    CorrelationRemover, FairLogisticRegression, GroupOptions, GroupReport, Outcomes, ParityConstraint,
    ThresholdObjective, ThresholdOptimizer, demographic_parity_difference, equalized_odds_difference, fairness_gaps,
    reweighing,
};
use tove_trust::robustness::{AttackNorm, Fgsm, InputRules, Pgd};

/// Columns of numbers as users can give them.
fn columns() -> Vec<Tensor> {
    let n = 12;
    let make = |of: &dyn Fn(usize) -> f64| Tensor::from((0..n).map(of).collect::<Vec<f64>>());
    vec![
        make(&|_| 0.0),
        make(&|_| 1.0),
        make(&|_| 0.5),
        make(&|i| (i % 2) as f64),
        make(&|i| i as f64 / 11.0),
        make(&|i| if i == 3 { f64::NAN } else { 0.3 }),
        make(&|i| if i == 3 { f64::INFINITY } else { 0.3 }),
        make(&|i| if i % 2 == 0 { 1e300 } else { -1e300 }),
        make(&|i| i as f64 * 5e-324),
        make(&|i| -(i as f64)),
        Tensor::from(Vec::<f64>::new()),
        Tensor::from(vec![0.7]),
        Tensor::from_vec(vec![0.5; 12], [6, 2]),
    ]
}

/// Labels as users can give them.
fn labels() -> Vec<Tensor> {
    let make = |of: &dyn Fn(i64) -> i64| Tensor::from((0..12).map(of).collect::<Vec<i64>>());
    vec![
        make(&|i| i % 2),
        make(&|_| 0),
        make(&|_| 1),
        make(&|i| i % 3),
        make(&|i| -i),
        make(&|i| i64::MAX - i),
        Tensor::from(Vec::<i64>::new()),
        Tensor::from(vec![1i64]),
        Tensor::from((0..12).map(|i| f64::from(i % 2) + 0.5).collect::<Vec<f64>>()),
        Tensor::from((0..12).map(|i| if i == 2 { f64::NAN } else { f64::from(i % 2) }).collect::<Vec<f64>>()),
    ]
}

#[track_caller]
fn finite(values: &[f64], what: &str) {
    assert!(values.iter().all(|value| !value.is_nan()), "{what}: {values:?}");
}

#[test]
fn calibration_of_anything_is_refused_or_gives_probabilities() {
    use CalibrationMethod::{Beta, Isotonic, Sigmoid, Temperature, Vector, VennAbers};
    for x in columns() {
        for y in labels() {
            for bins in [0, 1, 10, 1000] {
                for binning in [Binning::Width, Binning::Mass] {
                    if let Ok(found) = ReliabilityBins::new(&y, &x, bins, binning, None) {
                        finite(&[found.ece().value, found.mce().value], "bins");
                    }
                }
            }
            for method in [Sigmoid, Isotonic, Temperature, Vector, Beta, VennAbers] {
                for kind in [ScoreKind::Probabilities, ScoreKind::Logits, ScoreKind::Decision] {
                    let Ok(map) = CalibrationMap::fit(method, kind, &x, &y, None) else { continue };
                    for other in columns() {
                        let Ok(p) = map.apply(&other) else { continue };
                        let p = p.to_f64_vec();
                        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{method:?} {kind:?} {x:?} {y:?}: {p:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn regions_of_anything_are_refused_or_valid() {
    for alpha in [f64::NAN, -1.0, 0.0, 1e-300, 0.1, 0.5, 1.0 - 1e-16, 1.0, 2.0, f64::INFINITY] {
        for x in columns() {
            let _ = ThresholdSets::new(alpha).and_then(|sets| sets.sets(&x));
            for y in labels().into_iter().chain(columns()) {
                for score in [
                    SetScore::Lac,
                    SetScore::Aps { randomized: true },
                    SetScore::Raps { lambda: f64::NAN, k_reg: 0, randomized: false },
                    SetScore::Raps { lambda: 1e300, k_reg: usize::MAX, randomized: true },
                ] {
                    let plan = SplitConformalClassifier::new(alpha).score(score);
                    let _ = plan.fit_by_class(&x, &y);
                    let _ = plan.fit_by_group(&x, &y, &y);
                    let Ok(fitted) = plan.fit(&x, &y) else { continue };
                    for other in columns() {
                        let _ = fitted.sets(&other);
                    }
                }
                let Ok(fitted) = SplitConformalRegressor::new(alpha).fit(&x, &y) else { continue };
                for other in columns() {
                    let Ok(found) = fitted.intervals(&other) else { continue };
                    let ends = found.tensor().to_f64_vec();
                    finite(&ends, "intervals");
                    assert!(ends.chunks(2).all(|ends| ends[0] <= ends[1]), "{ends:?}");
                }
            }
        }
    }
}

#[test]
fn decisions_of_anything_are_refused_or_finite() {
    let tables = [
        vec![0.0, 0.0, 0.0, 0.0],
        vec![0.0, 5.0, 1.0, 0.0],
        vec![0.0, 1e308, 1e308, 0.0],
        vec![0.0, 5e-324, 5e-324, 0.0],
        vec![0.0, f64::NAN, 1.0, 0.0],
        vec![-1.0, 0.0, 0.0, 0.0],
        vec![7.0, 0.0, 0.0, 7.0],
    ];
    for table in tables {
        let Ok(costs) = CostMatrix::new(&Tensor::from_vec(table.clone(), [2, 2])) else { continue };
        if let Ok(threshold) = costs.threshold() {
            finite(&[threshold], "threshold");
        }
        for x in columns() {
            for y in labels() {
                if let Ok(decided) = costs.decide(&x)
                    && let Ok(cost) = costs.evaluate(&decided, &y, 0.95, 0)
                {
                    finite(&[cost.mean, cost.bootstrap.0, cost.bootstrap.1, cost.hoeffding.0], "cost");
                }
                for criterion in [
                    ThresholdCriterion::Cost(&costs),
                    ThresholdCriterion::FBeta(f64::NAN),
                    ThresholdCriterion::FBeta(1e300),
                    ThresholdCriterion::PrecisionAtLeast(2.0),
                    ThresholdCriterion::RecallAtLeast(0.0),
                    ThresholdCriterion::Youden,
                ] {
                    if let Ok(found) = select_threshold(&y, &x, None, criterion) {
                        finite(&[found.threshold, found.value], "selected");
                    }
                }
                if let Ok(curve) = CostCurve::new(&y, &x, None) {
                    finite(&[curve.area()], "area");
                }
            }
            for losses in columns() {
                if let Ok(curve) = RiskCoverage::new(&x, &losses) {
                    finite(&[curve.area(), curve.excess_area()], "risk");
                }
                let _ = SelectiveThreshold::fit(&x, &losses, 0.1, 0.1);
            }
            for rejection in [f64::NAN, -1.0, 0.0, 1e308] {
                let _ = ChowRule::new(costs.clone(), rejection).and_then(|rule| rule.decide(&x));
            }
        }
    }
}

#[test]
fn fairness_of_anything_is_refused_or_finite() {
    for y in labels() {
        for a in labels() {
            let report = |scores: &Tensor| -> tove_trust::Result<()> {
                let outcomes = Outcomes::new(&y)?.scores(scores)?.sensitive("a", &a)?;
                let options = GroupOptions { min_size: 1, resamples: 20, ..GroupOptions::default() };
                let text = GroupReport::new(&outcomes, &options)?.to_json().to_string();
                assert!(!text.contains("NaN"));
                for gap in fairness_gaps(&outcomes, &options)?.gaps {
                    finite(&[gap.value, gap.low, gap.high, gap.p_value], gap.measure.name());
                }
                Ok(())
            };
            for x in columns() {
                let _ = report(&x);
                for constraint in ParityConstraint::all() {
                    for objective in [
                        ThresholdObjective::Accuracy,
                        ThresholdObjective::Cost { false_positive: f64::NAN, false_negative: 1.0 },
                        ThresholdObjective::Cost { false_positive: 1e308, false_negative: 1e308 },
                    ] {
                        let Ok(fitted) = (ThresholdOptimizer { constraint, objective }).fit(&x, &y, &a, None) else {
                            continue;
                        };
                        finite(&[fitted.objective()], "objective");
                        if let Ok(p) = fitted.probabilities(&x, &a) {
                            assert!(p.to_f64_vec().iter().all(|p| (0.0..=1.0).contains(p)), "{p:?}");
                        }
                    }
                }
                if x.dims() == [12] {
                    let settings = FairLogisticRegression { strength: 1e300, ..FairLogisticRegression::default() };
                    if let Ok(model) = settings.fit(&x.reshape([12, 1]), &y, &a, None) {
                        finite(model.coef(), "coefficients");
                    }
                    for sensitive in [vec![], vec![0], vec![0, 0], vec![1], vec![usize::MAX]] {
                        let Ok(fitted) = (CorrelationRemover { sensitive, alpha: 1.0 }).fit(&x.reshape([6, 2])) else {
                            continue;
                        };
                        if let Ok(z) = fitted.transform(&x.reshape([6, 2])) {
                            finite(&z.to_f64_vec(), "removed");
                        }
                    }
                }
            }
            if let Ok(weights) = reweighing(&y, &a, None) {
                finite(&weights.to_f64_vec(), "weights");
            }
            if let Ok(gap) = demographic_parity_difference(&y, &a, None) {
                finite(&[gap], "gap");
            }
            if let Ok(gap) = equalized_odds_difference(&y, &a, &y, None) {
                finite(&[gap], "gap");
            }
        }
    }
}

#[test]
fn attacks_on_anything_are_refused_or_stay_inside() {
    let model = |x: &Tensor| Ok(x.clone());
    for x in columns() {
        let x = if x.dims() == [12] { x.reshape([6, 2]) } else { x };
        for y in labels() {
            let y = if y.numel() == 12 { y.narrow(0, 0, 6).contiguous() } else { y };
            for eps in [f64::NAN, -1.0, 0.0, 5e-324, 0.1, 1e300, f64::INFINITY] {
                for norm in [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf] {
                    for rules in [InputRules::unbounded(), InputRules::range(0.0, 1.0)] {
                        let found = [
                            Fgsm::new(norm).rules(rules.clone()).run(&model, &x, &y, eps),
                            Pgd::new(norm).steps(2).rules(rules).run(&model, &x, &y, eps),
                        ];
                        for found in found.into_iter().flatten() {
                            finite(&found.inputs.to_f64_vec(), "inputs");
                            assert!(found.distances.iter().all(|size| *size <= eps), "{:?} {eps}", found.distances);
                        }
                    }
                }
            }
        }
    }
}
