//! Accuracy under attack by budget.

use tove_tensor::{Tensor, TryOps};
use tove_trust::robustness::{AttackNorm, Fgsm, InputRules, Pgd, robustness_curve};

use crate::toys::{labels, normal, predicted, rows, small_net};

#[test]
fn k8_adversarial_risk_is_above_standard_risk_rises_with_eps_and_names_the_attack() {
    let (model, x) = (small_net(6, 1), normal(200, 6, 2));
    let mut truth = predicted(&model, &x);
    truth.iter_mut().step_by(7).for_each(|label| *label = (*label + 1) % 3); // a standard error of 29 / 200
    let budgets = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0];
    for norm in [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf] {
        // A poor attack, too: one long step may fail where a shorter one succeeds.
        for steps in [1, 10] {
            let pgd = Pgd::new(norm).steps(steps).random_start(false).rules(InputRules::unbounded());
            let curve = robustness_curve(&model, &x, &labels(&truth), &budgets, |x, y, eps| pgd.run(&model, x, y, eps));
            let curve = curve.unwrap();
            assert_eq!(curve.standard.value, 1.0 - 29.0 / 200.0);
            assert_eq!(curve.points[0].accuracy.value, curve.standard.value);
            for two in curve.points.windows(2) {
                assert!(two[1].error >= two[0].error && two[1].error >= 1.0 - curve.standard.value);
            }
            assert!(curve.points[7].error > curve.points[0].error + 0.3);
            assert_eq!(curve.attack, pgd.name());
            let text = curve.to_string();
            assert!(
                text.contains(&format!("PGD in the {} norm", norm.name())) && text.contains("upper bound"),
                "{text}"
            );
            assert!(text.contains("Standard accuracy 0.8550"), "{text}");
        }
    }
}

#[test]
fn a_linear_model_reaches_its_exact_robust_accuracy() {
    // Robust within ε exactly if |w·x + b| > ε ‖w‖₁, for l∞.
    let w: Vec<f64> = normal(1, 5, 3).to_vec();
    let weights = Tensor::from_slice(&w);
    let model = |x: &Tensor| Ok(x.try_matmul(&weights)?);
    let x = normal(300, 5, 4);
    let truth = predicted(&model, &x);
    let margins: Vec<f64> = rows(&x).iter().map(|x| x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>().abs()).collect();
    let dual: f64 = w.iter().map(|w| w.abs()).sum();
    let budgets = [0.05, 0.1, 0.3];
    let fgsm = Fgsm::new(AttackNorm::LInf);
    let curve =
        robustness_curve(&model, &x, &labels(&truth), &budgets, |x, y, eps| fgsm.run(&model, x, y, eps)).unwrap();
    for (point, eps) in curve.points.iter().zip(budgets) {
        let exact = margins.iter().filter(|&&margin| margin > eps * dual).count() as f64 / 300.0;
        assert_eq!(point.accuracy.value, exact);
        assert_eq!(curve.accuracy_at(eps), Some(exact));
    }
    let at_zero =
        robustness_curve(&model, &x, &labels(&truth), &[0.0], |x, y, eps| fgsm.run(&model, x, y, eps)).unwrap();
    assert_eq!(at_zero.points[0].accuracy.value, 1.0);
}
