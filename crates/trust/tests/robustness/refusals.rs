//! Arguments and data that are refused, and what the messages say.

use tove_tensor::{DType, Tensor, TryOps, TryUnary};
use tove_trust::robustness::{
    AttackLoss, AttackNorm, BoundaryAttack, ColumnRule, Fgsm, InputRules, Pgd, ScoreAttack, finite_difference_gradient,
    input_gradient, robustness_curve,
};
use tove_trust::{Result, TrustError};

use crate::toys::{labels, linear};

fn text<T>(result: Result<T>) -> String {
    result.err().unwrap().to_string()
}

fn pgd() -> Pgd {
    Pgd::new(AttackNorm::LInf)
}

#[test]
fn budgets_are_positive_and_within_the_data_range() {
    let (model, x, y) = (linear(&[1.0, 2.0], 0.0), Tensor::from([[0.5, 0.5]]), labels(&[1]));
    for eps in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        let message = text(pgd().run(&model, &x, &y, eps));
        assert!(message.contains("budget") && message.contains("positive"), "{message}");
        assert!(Fgsm::new(AttackNorm::L1).run(&model, &x, &y, eps).is_err());
        assert!(ScoreAttack::new(AttackNorm::L2).run(&model, &x, &y, eps).is_err());
    }
    let unit = InputRules::range(0.0, 1.0);
    let message = text(pgd().rules(unit.clone()).run(&model, &x, &y, 8.0));
    assert!(message.contains("beyond the data range") && message.contains("units"), "{message}");
    assert!(pgd().rules(unit.clone()).run(&model, &x, &y, 1.0).is_ok());
    let message = text(pgd().rules(unit).run(&model, &Tensor::from([[0.5, 1.5]]), &y, 0.1));
    assert!(message.contains("column 1 of row 0 is 1.5, outside of its range [0, 1]"), "{message}");
}

#[test]
fn settings_rules_and_labels_are_checked() {
    let (model, x, y) = (linear(&[1.0, 2.0], 0.0), Tensor::from([[0.5, 0.5]]), labels(&[1]));
    assert!(text(pgd().steps(0).run(&model, &x, &y, 0.1)).contains("at least one"));
    assert!(text(pgd().restarts(0).run(&model, &x, &y, 0.1)).contains("at least one"));
    assert!(text(pgd().relative_step(f64::NAN).run(&model, &x, &y, 0.1)).contains("relative_step"));
    assert!(text(ScoreAttack::new(AttackNorm::L2).max_queries(0).run(&model, &x, &y, 0.1)).contains("max_queries"));
    assert!(text(BoundaryAttack::new(AttackNorm::L2).max_queries(0).run(&model, &x, &y)).contains("max_queries"));
    assert!(text(finite_difference_gradient(&model, &x, &y, AttackLoss::Margin, 0.0)).contains("step"));
    assert!(text(finite_difference_gradient(&model, &x, &y, AttackLoss::Margin, 1e-30)).contains("rounding"));
    let with =
        |rules: Vec<ColumnRule>, x: &Tensor| text(pgd().rules(InputRules::columns(rules)).run(&model, x, &y, 0.1));
    let real = ColumnRule::real(0.0, 1.0);
    assert!(with(vec![real.clone()], &x).contains("for 1 columns, and the input has 2"));
    assert!(with(vec![ColumnRule::Fixed, ColumnRule::Fixed], &x).contains("keep every column fixed"));
    assert!(with(vec![ColumnRule::category(2)], &x).contains("not a single 1 among zeros"));
    assert!(with(vec![ColumnRule::integer(0.0, 3.0), real.clone()], &x).contains("not a whole number"));
    assert!(with(vec![ColumnRule::real(1.0, 0.0), real.clone()], &x).contains("range of column 0"));
    assert!(with(vec![real.clone().scaled(0.0), real.clone()], &x).contains("scale of column 0"));
    assert!(with(vec![ColumnRule::category(0), real.clone(), real], &x).contains("no columns"));
    assert!(text(pgd().run(&model, &x, &labels(&[2]), 0.1)).contains("the model has 2 classes"));
    assert!(text(pgd().run(&model, &x, &Tensor::from([0.5]), 0.1)).contains("not a class index"));
    assert!(text(pgd().run(&model, &x, &labels(&[0, 1]), 0.1)).contains("labels of shape"));
    let categories = InputRules::columns(vec![ColumnRule::category(2)]);
    assert!(text(pgd().rules(categories).perturb(&model, &Tensor::from([[0.0, 1.0]]), &y, 0.5)).contains("categories"));
}

#[test]
fn inputs_scores_and_gradients_are_finite_or_refused() {
    let (model, y) = (linear(&[1.0, 2.0], 0.0), labels(&[1]));
    let grad = |x: &Tensor| text(input_gradient(&model, x, &y, AttackLoss::Margin));
    assert!(grad(&Tensor::from([[f64::NAN, 0.0]])).contains("row 0 are NaN"));
    assert!(grad(&Tensor::zeros([0, 2], DType::F64)).contains("no samples"));
    assert!(grad(&Tensor::from([[1i64, 2]])).contains("to_dtype"));
    assert!(grad(&Tensor::scalar(1.0)).contains("single number"));
    let root = |x: &Tensor| -> Result<Tensor> { Ok(x.try_sqrt()?) };
    let message = text(input_gradient(&root, &Tensor::from([[0.0, 1.0]]), &y, AttackLoss::CrossEntropy));
    assert!(message.contains("gradient by the input of row 0 is not finite"), "{message}");
    let message = text(pgd().run(&root, &Tensor::from([[-1.0, 1.0]]), &y, 0.1));
    assert!(message.contains("not finite"), "{message}");
    // A model's own error comes through as it is.
    let broken = |_: &Tensor| -> Result<Tensor> { Err(TrustError::argument("model", "is out of order")) };
    assert!(
        text(input_gradient(&broken, &Tensor::from([[1.0, 1.0]]), &y, AttackLoss::Margin)).contains("out of order")
    );
    let shape = |x: &Tensor| -> Result<Tensor> { Ok(x.try_reshape([1, 1, 2])?) };
    assert!(text(pgd().run(&shape, &Tensor::from([[1.0, 1.0]]), &y, 0.1)).contains("scores of shape"));
}

#[test]
fn curves_need_ascending_budgets() {
    let (model, x, y) = (linear(&[1.0], 0.0), Tensor::from([[0.5]]), labels(&[1]));
    let curve = |budgets: &[f64]| robustness_curve(&model, &x, &y, budgets, |x, y, eps| pgd().run(&model, x, y, eps));
    for budgets in [&[][..], &[0.2, 0.1], &[0.1, 0.1], &[-0.1], &[f64::NAN]] {
        assert!(text(curve(budgets)).contains("ascending"));
    }
    assert_eq!(curve(&[0.0, 0.6]).unwrap().broken_at, [0.6]);
}

#[test]
fn flat_models_and_single_rows_are_handled() {
    // Constant scores: gradients are 0, nothing moves, ties go to the first class.
    let flat = |x: &Tensor| -> Result<Tensor> { Ok(Tensor::zeros([x.dims()[0], 3], DType::F64)) };
    let x = Tensor::from([[0.5, 0.5]]);
    for norm in [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf] {
        let found = Pgd::new(norm).random_start(false).run(&flat, &x, &labels(&[0]), 0.1).unwrap();
        assert_eq!((found.success[0], found.distances[0]), (false, 0.0));
        let found = Pgd::new(norm).run(&flat, &x, &labels(&[2]), 0.1).unwrap();
        assert!(found.success[0] && found.already_wrong[0]);
        assert_eq!(found.success_rate(), None);
    }
    let found = BoundaryAttack::new(AttackNorm::L2).max_queries(300).run(&flat, &x, &labels(&[0])).unwrap();
    assert!(!found.result.success[0] && found.result.inputs.to_vec::<f64>() == [0.5, 0.5]);
    // Numbers far from 1.
    let huge = Tensor::from([[1e300, -1e300]]);
    let model = linear(&[1e-300, 1e-300], 0.5);
    let found = Pgd::new(AttackNorm::L2).random_start(false).run(&model, &huge, &labels(&[1]), 1e300).unwrap();
    assert!(found.success[0] && found.distances[0] <= 1e300);
}
