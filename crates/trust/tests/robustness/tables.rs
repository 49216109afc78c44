//! Tables: whole numbers, categories, columns that stay, budgets in units of the columns.

use tove_tensor::{DType, Key, Tensor, TryOps};
use tove_trust::Result;
use tove_trust::robustness::{AttackNorm, ColumnRule, Fgsm, InputRules, Pgd, ScoreAttack};

use crate::toys::{labels, predicted, rows};

/// Age, income, sex (fixed), a category of three, a category of `width`.
fn table(n: usize, width: usize, seed: u64) -> Vec<Vec<f64>> {
    let draws = Key::new(seed).uniform([n, 5], DType::F64).to_vec::<f64>();
    draws
        .chunks_exact(5)
        .map(|u| {
            let mut row = vec![(18.0 + 60.0 * u[0]).floor(), 1000.0 * u[1], f64::from(u[2] > 0.5)];
            let mut blocks = vec![0.0; 3 + width];
            blocks[(3.0 * u[3]) as usize] = 1.0;
            blocks[3 + (width as f64 * u[4]) as usize] = 1.0;
            row.extend(blocks);
            row
        })
        .collect()
}

fn tensor(rows: &[Vec<f64>]) -> Tensor {
    Tensor::from_vec(rows.concat(), [rows.len(), rows[0].len()])
}

fn rules(width: usize) -> InputRules {
    InputRules::columns(vec![
        ColumnRule::integer(18.0, 99.0).scaled(10.0),
        ColumnRule::real(0.0, 1000.0).scaled(300.0),
        ColumnRule::Fixed,
        ColumnRule::category(3).scaled(0.5),
        ColumnRule::category(width).scaled(0.5),
    ])
}

/// A smooth model of such rows.
fn model(width: usize) -> impl Fn(&Tensor) -> Result<Tensor> + use<> {
    let d = 6 + width;
    let mut scale = vec![1.0; d];
    (scale[0], scale[1]) = (20.0, 300.0);
    let scale = Tensor::from_slice(&scale);
    let (w1, w2) = (Key::new(3).normal([d, 8], DType::F64), Key::new(4).normal([8, 2], DType::F64));
    move |x: &Tensor| {
        let x = x.to_dtype(DType::F64).try_div(&scale)?;
        Ok(x.try_matmul(&w1)?.tanh().try_matmul(&w2)?)
    }
}

/// The distance by hand; and that types hold.
fn check(x: &[f64], found: &[f64], width: usize, norm: AttackNorm, eps: f64) {
    assert!(found[0].fract() == 0.0 && (18.0..=99.0).contains(&found[0]));
    assert!((0.0..=1000.0).contains(&found[1]));
    assert_eq!(found[2], x[2]);
    let mut parts = vec![(found[0] - x[0]).abs() / 10.0, (found[1] - x[1]).abs() / 300.0];
    for block in [3..6, 6..6 + width] {
        let (old, new) = (&x[block.clone()], &found[block]);
        assert!(new.iter().all(|v| *v == 0.0 || *v == 1.0) && new.iter().sum::<f64>() == 1.0);
        if old != new {
            parts.push(0.5);
        }
    }
    let size = match norm {
        AttackNorm::L1 => parts.iter().sum::<f64>(),
        AttackNorm::L2 => parts.iter().map(|v| v * v).sum::<f64>().sqrt(),
        AttackNorm::LInf => parts.iter().copied().fold(0.0, f64::max),
    };
    assert!(size <= eps * (1.0 + 1e-14), "{size} > {eps}");
}

#[test]
fn whole_numbers_categories_and_fixed_columns_keep_their_types() {
    for (width, dtype) in [(4, DType::F64), (30, DType::F32)] {
        // 3 · 4 combinations are all tried, 3 · 30 are searched greedily.
        let (model, data) = (model(width), table(60, width, 1));
        let x = tensor(&data).to_dtype(dtype);
        let truth = predicted(&model, &x);
        for (norm, eps) in [(AttackNorm::L1, 1.2), (AttackNorm::L2, 0.8), (AttackNorm::LInf, 0.6)] {
            let pgd = Pgd::new(norm).steps(10).restarts(2).rules(rules(width));
            let found = pgd.run(&model, &x, &labels(&truth), eps).unwrap();
            for (x, found) in rows(&x).iter().zip(rows(&found.inputs)) {
                check(x, &found, width, norm, eps);
            }
            assert_eq!(
                predicted(&model, &found.inputs).iter().zip(&truth).map(|(a, b)| a != b).collect::<Vec<_>>(),
                found.success
            );
            let rate = found.success_rate().unwrap();
            let numbers_only = InputRules::columns(
                vec![ColumnRule::integer(18.0, 99.0).scaled(10.0), ColumnRule::real(0.0, 1000.0).scaled(300.0)]
                    .into_iter()
                    .chain(vec![ColumnRule::Fixed; 4 + width])
                    .collect(),
            );
            let fewer = Pgd::new(norm).steps(10).restarts(2).rules(numbers_only);
            let fewer = fewer.run(&model, &x, &labels(&truth), eps).unwrap().success_rate().unwrap();
            assert!(rate > fewer, "{norm:?}: {rate} against {fewer}");
            let random = ScoreAttack::new(norm).max_queries(200).rules(rules(width));
            let found = random.run(&model, &x, &labels(&truth), eps).unwrap();
            for (x, found) in rows(&x).iter().zip(rows(&found.inputs)) {
                check(x, &found, width, norm, eps);
            }
            let step = Fgsm::new(norm).rules(rules(width)).perturb(&model, &x, &labels(&truth), eps).unwrap();
            for (x, found) in rows(&x).iter().zip(rows(&step)) {
                check(x, &found, width, norm, eps);
            }
        }
    }
}

#[test]
fn few_categories_are_searched_exactly() {
    // A pure table of categories: brute force over all 3 · 4 combinations within the budget is the truth.
    let weights: Vec<f64> = Key::new(9).normal([7 * 7], DType::F64).to_vec();
    let quadratic = Tensor::from_vec(weights, [7, 7]);
    let model = move |x: &Tensor| -> Result<Tensor> {
        Ok(x.try_matmul(&quadratic)?.try_mul(x)?.try_sum_axes(&[1], false)?) // interactions of categories
    };
    let rules = InputRules::columns(vec![ColumnRule::category(3), ColumnRule::category(4)]);
    let one_hot = |a: usize, b: usize| {
        let mut row = vec![0.0; 7];
        (row[a], row[3 + b]) = (1.0, 1.0);
        row
    };
    let all: Vec<Vec<f64>> = (0..12).map(|code| one_hot(code / 4, code % 4)).collect();
    let x = tensor(&all);
    let truth = predicted(&model, &x);
    for eps in [1.0, 2.0] {
        let found = Pgd::new(AttackNorm::L1).rules(rules.clone()).run(&model, &x, &labels(&truth), eps).unwrap();
        for (row, own) in all.iter().enumerate() {
            let differs = |other: &Vec<f64>| other.iter().zip(own).filter(|(a, b)| a != b).count() / 2;
            let possible = (0..12).any(|other| differs(&all[other]) as f64 <= eps && truth[other] != truth[row]);
            assert_eq!(found.success[row], possible);
        }
    }
}

#[test]
fn units_of_columns_scale_the_budget() {
    let weights = Tensor::from([1.0, 1.0]);
    let model = move |x: &Tensor| -> Result<Tensor> { Ok(x.try_matmul(&weights)?) };
    let rules = InputRules::columns(vec![ColumnRule::real(-9.0, 9.0), ColumnRule::real(-9.0, 9.0).scaled(4.0)]);
    let x = Tensor::from([[1.0, 1.0]]);
    let step = |norm: AttackNorm| {
        Fgsm::new(norm).rules(rules.clone()).perturb(&model, &x, &labels(&[1]), 0.5).unwrap().to_vec::<f64>()
    };
    let near = |a: Vec<f64>, b: [f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near(step(AttackNorm::LInf), [0.5, -1.0]));
    assert!(near(step(AttackNorm::L1), [1.0, -1.0])); // the column with the larger effect per unit
    let l2 = step(AttackNorm::L2);
    assert!((l2[0] - (1.0 - 0.5 / 17f64.sqrt())).abs() < 1e-12 && (l2[1] - (1.0 - 8.0 / 17f64.sqrt())).abs() < 1e-12);
}
