//! Closed forms of one step, dual norms, projections.

use tove_tensor::{Key, Tensor, random};
use tove_trust::robustness::{AttackLoss, AttackNorm, Fgsm, InputRules};

use crate::toys::{labels, linear, normal, rows};

const NORMS: [AttackNorm; 3] = [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf];

/// Norms by definition, apart from the library.
fn size(norm: AttackNorm, v: &[f64]) -> f64 {
    match norm {
        AttackNorm::L1 => v.iter().fold(0.0, |sum, v| sum + v.abs()),
        AttackNorm::L2 => v.iter().fold(0.0, |sum, v| sum + v * v).sqrt(),
        AttackNorm::LInf => v.iter().fold(0.0, |most, v| v.abs().max(most)),
    }
}

fn dual(norm: AttackNorm, v: &[f64]) -> f64 {
    let other = match norm {
        AttackNorm::L1 => AttackNorm::LInf,
        AttackNorm::L2 => AttackNorm::L2,
        AttackNorm::LInf => AttackNorm::L1,
    };
    size(other, v)
}

#[test]
fn k11_one_step_attains_the_dual_norm_and_lowers_linear_margins_by_it() {
    let (eps, g) = (0.37, normal(40, 9, 1));
    for norm in NORMS {
        let steps = rows(&norm.steepest(&g, eps).unwrap());
        for (g, step) in rows(&g).iter().zip(&steps) {
            let attained: f64 = g.iter().zip(step).map(|(g, d)| g * d).sum();
            assert!((attained - eps * dual(norm, g)).abs() <= 1e-10 * attained, "{norm:?}");
            assert!(size(norm, step) <= eps * (1.0 + 1e-12));
            // Nothing in the ball does better: random points of it.
            for trial in 0..50 {
                let mut other = vec![0.0; 9];
                random::fill_normal(Key::new(5).fold(trial), &mut other);
                let scale = eps / size(norm, &other);
                assert!(g.iter().zip(&other).map(|(g, d)| g * d * scale).sum::<f64>() <= attained * (1.0 + 1e-12));
            }
        }
    }
    // A linear model: the margin y (w·x + b) drops by exactly ε ‖w‖_dual, for both classes.
    let w: Vec<f64> = normal(1, 9, 2).to_vec();
    let model = linear(&w, 0.2);
    let x = normal(30, 9, 3);
    let score = |x: &[f64]| x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + 0.2;
    let truth: Vec<usize> = rows(&x).iter().map(|x| usize::from(score(x) > 0.0)).collect();
    for norm in NORMS {
        for loss in [AttackLoss::CrossEntropy, AttackLoss::Margin, AttackLoss::Logistic] {
            let attack = Fgsm::new(norm).loss(loss);
            let found = attack.run(&model, &x, &labels(&truth), eps).unwrap();
            for ((x, other), &y) in rows(&x).iter().zip(rows(&found.inputs)).zip(&truth) {
                let side = if y == 1 { 1.0 } else { -1.0 };
                let drop = side * (score(x) - score(&other));
                assert!((drop - eps * dual(norm, &w)).abs() <= 1e-10 * drop, "{norm:?} {loss:?} {drop}");
            }
        }
    }
    // Several classes, through the loss, equals foolbox's FGSM.
    crate::foolbox::one_step_attacks_agree();
}

#[test]
fn a_step_is_cut_off_at_the_range_and_l1_uses_what_is_left() {
    let model = linear(&[3.0, -2.0, 1.0], 0.0);
    let x = Tensor::from([[0.9, 0.5, 0.5]]);
    let step = |norm: AttackNorm| {
        let attack = Fgsm::new(norm).rules(InputRules::range(0.0, 1.0));
        attack.perturb(&model, &x, &labels(&[0]), 0.3).unwrap().to_vec::<f64>()
    };
    let linf = step(AttackNorm::LInf);
    assert!(linf[0] == 1.0 && (linf[1] - 0.2).abs() < 1e-15 && (linf[2] - 0.8).abs() < 1e-15);
    assert!(linf[2] - 0.5 <= 0.3); // 0.8 would be outside: 0.8 − 0.5 is above 0.3 in doubles
    // Of 0.3, the first feature takes 0.1, the next one the rest.
    let l1 = step(AttackNorm::L1);
    assert!((l1[0] - 1.0).abs() < 1e-15 && (l1[1] - 0.3).abs() < 1e-12 && l1[2] == 0.5, "{l1:?}");
}

#[test]
fn projections_are_the_nearest_points() {
    for norm in NORMS {
        let points = normal(30, 5, 7);
        for (v, near) in rows(&points).iter().zip(rows(&norm.project(&points, 0.8).unwrap())) {
            assert!(size(norm, &near) <= 0.8 * (1.0 + 1e-12));
            if size(norm, v) <= 0.8 {
                assert_eq!(*v, near);
            }
            // The nearest point p of a convex set: (v − p)·(q − p) ≤ 0 for all q of the set.
            for trial in 0..100 {
                let mut q = vec![0.0; 5];
                random::fill_normal(Key::new(8).fold(trial), &mut q);
                let scale = 0.8 / size(norm, &q);
                let inner: f64 = v.iter().zip(&near).zip(&q).map(|((v, p), q)| (v - p) * (q * scale - p)).sum();
                assert!(inner <= 1e-9, "{norm:?} {inner}");
            }
        }
    }
    // The erratum of the projection on l∞: coordinates inside stay where they are.
    let kept = AttackNorm::LInf.project(&Tensor::from([[0.1, -0.7, 0.5]]), 0.5).unwrap();
    assert_eq!(kept.to_vec::<f64>(), [0.1, -0.5, 0.5]);
}

#[test]
fn norms_of_huge_and_tiny_vectors_do_not_overflow() {
    assert!((AttackNorm::L2.of(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
    assert!((AttackNorm::L2.of(&[3e-200, 4e-200]) - 5e-200).abs() < 1e-214);
    assert_eq!(AttackNorm::L2.of(&[0.0, 0.0]), 0.0);
}
