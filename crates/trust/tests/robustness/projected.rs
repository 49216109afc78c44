//! PGD: inside the ball and the range to the last bit, stronger than one step, flags per sample.

use proptest::prelude::*;
use tove_tensor::{DType, Tensor, TryOps};
use tove_trust::robustness::{AttackLoss, AttackNorm, AttackResult, ColumnRule, Fgsm, InputRules, Pgd, RandomNoise};

use crate::toys::{labels, normal, predicted, rows, small_net};

/// The change as numbers, from what is stored; and that the range is respected.
fn changes(x: &Tensor, found: &Tensor, (low, high): (f64, f64)) -> Vec<Vec<f64>> {
    assert_eq!((x.dtype(), x.dims()), (found.dtype(), found.dims()));
    let pairs = rows(x).into_iter().zip(rows(found));
    pairs
        .map(|(x, found)| {
            assert!(found.iter().all(|v| (low..=high).contains(v)));
            x.iter().zip(found).map(|(x, v)| v - x).collect()
        })
        .collect()
}

fn loss_of(scores: &Tensor, truth: &[usize]) -> Vec<f64> {
    let nll = rows(&scores.log_softmax(1).to_dtype(DType::F64));
    nll.iter().zip(truth).map(|(row, &label)| -row[label]).collect()
}

/// Inputs in [0, 1] near to and on the ends, with the net's own predictions as labels.
fn setting(dtype: DType) -> (impl Fn(&Tensor) -> tove_trust::Result<Tensor>, Tensor, Vec<usize>) {
    let net = small_net(7, 3);
    let model = move |x: &Tensor| net(&x.to_dtype(DType::F64));
    let mut values = normal(64, 7, 4).to_f64_vec();
    values.iter_mut().for_each(|v| *v = (0.5 + 0.4 * *v).clamp(0.0, 1.0));
    let x = Tensor::from_vec(values, [64, 7]).to_dtype(dtype);
    let truth = predicted(&model, &x);
    (model, x, truth)
}

fn inside(norm: AttackNorm, eps: f64, change: &[f64]) -> bool {
    match norm {
        AttackNorm::L1 => change.iter().map(|d| d.abs()).sum::<f64>() <= eps,
        AttackNorm::L2 => change.iter().rev().map(|d| d * d).sum::<f64>().sqrt() <= eps,
        AttackNorm::LInf => change.iter().all(|d| d.abs() <= eps),
    }
}

#[test]
fn k12_pgd_l2_stays_in_the_ball_beats_one_step_and_equals_foolbox() {
    for dtype in [DType::F32, DType::F64] {
        let (model, x, truth) = setting(dtype);
        for eps in [1e-3, 0.1, 0.3, 1.0] {
            let pgd = Pgd::new(AttackNorm::L2).steps(20).relative_step(0.3).rules(InputRules::range(0.0, 1.0));
            let far = pgd.perturb(&model, &x, &labels(&truth), eps).unwrap();
            assert!(changes(&x, &far, (0.0, 1.0)).iter().all(|change| inside(AttackNorm::L2, eps, change)));
            let one = Fgsm::new(AttackNorm::L2).rules(InputRules::range(0.0, 1.0));
            let one = one.perturb(&model, &x, &labels(&truth), eps).unwrap();
            let mean = |x: &Tensor| loss_of(&model(x).unwrap(), &truth).iter().sum::<f64>() / truth.len() as f64;
            // In f32, budgets near the spacing of the numbers leave nothing to choose.
            assert!(mean(&far) >= mean(&one) - 1e-5, "{dtype:?} {eps}: {} < {}", mean(&far), mean(&one));
            assert!(eps < 0.1 || mean(&far) > mean(&one));
        }
    }
    crate::foolbox::projected_gradients_agree(AttackNorm::L2);
}

#[test]
fn k13_pgd_l_infinity_has_exact_bounds_equals_fgsm_in_one_step_and_foolbox() {
    for dtype in [DType::F32, DType::F64] {
        let (model, x, truth) = setting(dtype);
        for eps in [1e-3, 8.0 / 255.0, 0.1, 0.3] {
            let rules = InputRules::range(0.0, 1.0);
            let pgd = Pgd::new(AttackNorm::LInf).steps(15).rules(rules.clone());
            let far = pgd.perturb(&model, &x, &labels(&truth), eps).unwrap();
            let moved = changes(&x, &far, (0.0, 1.0));
            assert!(moved.iter().all(|change| inside(AttackNorm::LInf, eps, change)));
            // The erratum: not every coordinate ends at the boundary.
            assert!(eps < 0.01 || moved.iter().flatten().any(|d| d.abs() < 0.9 * eps));
            let one = Pgd::new(AttackNorm::LInf).steps(1).relative_step(1.0).random_start(false).rules(rules.clone());
            let fgsm = Fgsm::new(AttackNorm::LInf).rules(rules).perturb(&model, &x, &labels(&truth), eps).unwrap();
            let one = one.perturb(&model, &x, &labels(&truth), eps).unwrap();
            assert_eq!(one.to_f64_vec(), fgsm.to_f64_vec());
        }
    }
    crate::foolbox::projected_gradients_agree(AttackNorm::LInf);
}

#[test]
fn pgd_in_the_l1_norm_uses_its_budget_within_the_range() {
    for dtype in [DType::F32, DType::F64] {
        let (model, x, truth) = setting(dtype);
        for eps in [0.05, 0.5, 1.5] {
            let rules = InputRules::range(0.0, 1.0);
            let pgd = Pgd::new(AttackNorm::L1).steps(40).rules(rules.clone());
            let far = pgd.perturb(&model, &x, &labels(&truth), eps).unwrap();
            let moved = changes(&x, &far, (0.0, 1.0));
            assert!(moved.iter().all(|change| inside(AttackNorm::L1, eps, change)));
            let used = moved.iter().map(|change| change.iter().map(|d| d.abs()).sum::<f64>()).sum::<f64>() / 64.0;
            assert!(used > 0.9 * eps, "{used} of {eps}");
            let one = Fgsm::new(AttackNorm::L1).rules(rules).perturb(&model, &x, &labels(&truth), eps).unwrap();
            let mean = |x: &Tensor| loss_of(&model(x).unwrap(), &truth).iter().sum::<f64>() / truth.len() as f64;
            // Within a small ball the loss is linear, and one step is optimal.
            assert!(mean(&far) > mean(&one) - 1e-4, "{eps}: {} {}", mean(&far), mean(&one));
            assert!(eps < 0.1 || mean(&far) > mean(&one));
        }
    }
}

fn check_flags(
    found: &AttackResult,
    model: &dyn Fn(&Tensor) -> tove_trust::Result<Tensor>,
    x: &Tensor,
    truth: &[usize],
) {
    let (before, after) = (predicted(model, x), predicted(model, &found.inputs));
    for row in 0..truth.len() {
        assert_eq!(found.already_wrong[row], before[row] != truth[row]);
        assert_eq!(found.success[row], after[row] != truth[row]);
        if found.already_wrong[row] {
            assert_eq!(rows(x)[row], rows(&found.inputs)[row]);
            assert_eq!(found.distances[row], 0.0);
        }
    }
}

#[test]
fn k9_search_stays_inside_returns_trivial_cases_and_flags_each_sample() {
    let (model, x, mut truth) = setting(DType::F32);
    // Every fifth label is another class: those samples are misclassified as they are.
    truth.iter_mut().step_by(5).for_each(|label| *label = (*label + 1) % 3);
    let rules = InputRules::range(0.0, 1.0);
    for norm in [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf] {
        let eps = if norm == AttackNorm::LInf { 0.1 } else { 0.25 };
        for loss in [AttackLoss::CrossEntropy, AttackLoss::Margin, AttackLoss::Logistic] {
            let pgd = Pgd::new(norm).loss(loss).restarts(3).rules(rules.clone());
            let found = pgd.run(&model, &x, &labels(&truth), eps).unwrap();
            let one = Fgsm::new(norm).loss(loss).rules(rules.clone());
            let one = one.run(&model, &x, &labels(&truth), eps).unwrap();
            for result in [&found, &one] {
                check_flags(result, &model, &x, &truth);
                let moved = changes(&x, &result.inputs, (0.0, 1.0));
                assert!(moved.iter().all(|change| inside(norm, eps, change)));
                assert_eq!(result.already_wrong.iter().filter(|wrong| **wrong).count(), 13);
                assert!(result.success.contains(&false) && result.success_rate().unwrap() > 0.0);
            }
            assert!(found.robust_accuracy() <= one.robust_accuracy());
        }
    }
}

#[test]
fn restarts_and_seeds_repeat_and_only_add_successes() {
    let (model, x, truth) = setting(DType::F32);
    let pgd = |restarts: usize| Pgd::new(AttackNorm::LInf).steps(3).restarts(restarts).seed(9);
    let run = |restarts: usize| pgd(restarts).run(&model, &x, &labels(&truth), 0.12).unwrap();
    let (one, again, many) = (run(1), run(1), run(6));
    assert_eq!(one.inputs.to_vec::<f32>(), again.inputs.to_vec::<f32>());
    assert!(one.success.iter().zip(&many.success).all(|(one, many)| !one || *many));
    let other = pgd(1).seed(10).run(&model, &x, &labels(&truth), 0.12).unwrap();
    assert_ne!(one.inputs.to_vec::<f32>(), other.inputs.to_vec::<f32>());
    assert!(many.attack.contains("6 random starts") && many.gradients > one.gradients);
}

#[test]
fn results_do_not_depend_on_other_rows_of_the_batch() {
    let (model, x, truth) = setting(DType::F64);
    let pgd = Pgd::new(AttackNorm::L2).steps(5);
    let all = pgd.perturb(&model, &x, &labels(&truth), 0.2).unwrap();
    let first = pgd.perturb(&model, &x.narrow(0, 0, 8).contiguous(), &labels(&truth[..8]), 0.2).unwrap();
    assert!(all.narrow(0, 0, 8).allclose(&first, 1e-12, 1e-14));
}

/// A column: its rule, and a value that follows it.
fn column() -> impl Strategy<Value = (ColumnRule, f64)> {
    let real = (-1e3..1e3f64, 0.01..1e3f64, 0.0..=1.0f64, 1e-3..1e3f64);
    let real = real.prop_map(|(low, width, at, scale)| {
        // Ends that single precision can store, as the value is stored in it, too.
        let (low, high) = (f64::from(low as f32), f64::from((low + width) as f32));
        (ColumnRule::Real { low, high, scale }, f64::from((low + at * (high - low)) as f32).clamp(low, high))
    });
    let integer = (-50..50i32, 1..90i32, 0.0..=1.0f64, 0.1..30.0f64);
    let integer = integer.prop_map(|(low, width, at, scale)| {
        let value = f64::from(low) + (f64::from(width) * at).round();
        (ColumnRule::Integer { low: low.into(), high: (low + width).into(), scale }, value)
    });
    prop_oneof![3 => real, 2 => integer, 1 => (-9.0..9.0f64).prop_map(|value| (ColumnRule::Fixed, f64::from(value as f32)))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_the_rules_inputs_found_are_inside(
        columns in prop::collection::vec(column(), 1..7),
        weights in prop::collection::vec(-2.0..2.0f64, 7),
        share in 1e-4..0.9f64,
        norm in prop_oneof![Just(AttackNorm::L1), Just(AttackNorm::L2), Just(AttackNorm::LInf)],
        single in any::<bool>(),
    ) {
        let d = columns.len();
        let dtype = if single { DType::F32 } else { DType::F64 };
        let rules: Vec<ColumnRule> = columns.iter().map(|column| column.0.clone()).collect();
        let x = Tensor::from_vec(columns.iter().map(|column| column.1).collect(), [1, d]).to_dtype(dtype);
        let widths: Vec<f64> = rules.iter().map(|rule| match rule {
            ColumnRule::Real { low, high, scale } | ColumnRule::Integer { low, high, scale } => (high - low) / scale,
            _ => 0.0,
        }).collect();
        let eps = share * norm.of(&widths);
        prop_assume!(eps > 0.0);
        let w = Tensor::from_vec(weights[..d].to_vec(), [d]).to_dtype(dtype);
        let model = |x: &Tensor| Ok(x.try_matmul(&w)?);
        let allowed = InputRules::columns(rules.clone());
        let pgd = Pgd::new(norm).steps(4).rules(allowed.clone());
        let y = labels(&[1]);
        let found = [
            Fgsm::new(norm).rules(allowed.clone()).perturb(&model, &x, &y, eps).unwrap(),
            pgd.perturb(&model, &x, &y, eps).unwrap(),
            pgd.run(&model, &x, &y, eps).unwrap().inputs,
            RandomNoise::new(norm).rules(allowed).run(&model, &x, &y, eps).unwrap().inputs,
        ];
        for other in found {
            let mut change = Vec::new();
            for ((rule, old), new) in rules.iter().zip(x.to_f64_vec()).zip(other.to_f64_vec()) {
                match rule {
                    ColumnRule::Real { low, high, scale } => {
                        prop_assert!((*low..=*high).contains(&new));
                        change.push((new - old) / scale);
                    }
                    ColumnRule::Integer { low, high, scale } => {
                        prop_assert!((*low..=*high).contains(&new) && new.fract() == 0.0);
                        change.push((new - old) / scale);
                    }
                    _ => prop_assert_eq!(new, old),
                }
            }
            prop_assert!(inside(norm, eps, &change), "{:?} {} {:?}", norm, eps, change);
        }
    }
}
