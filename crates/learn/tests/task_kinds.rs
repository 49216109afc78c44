//! Kinds of tasks, from the inspection of a column to the fit: syllabus F1.
#![allow(clippy::unwrap_used)]

use tove_data::table::{Column, Target, Task, TaskKind, propose_task};
use tove_data::{DataError, sets};
use tove_learn::linear::Ridge;
use tove_learn::sgd::{ClassLoss, RegressionLoss};
use tove_learn::svm::{LinearSvc, Svc};
use tove_learn::{Fit, LearnError, LogisticRegression, SgdClassifier, SgdRegressor};
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor};

#[test]
fn f1_task_kinds_are_proposed_can_be_overridden_and_a_loss_of_another_kind_is_a_typed_error() {
    tove_learn::on_warning(|_| {});
    let proposed = |column: &Column| propose_task(column).unwrap().task;
    // Inspection proposes: real numbers, one of m values, one of two.
    let progression = sets::diabetes().unwrap().table().column("progression").unwrap().clone();
    let species = sets::iris().unwrap().table().column("species").unwrap().clone();
    assert_eq!(proposed(&progression), Task::Regression);
    assert_eq!(proposed(&species), Task::Multiclass(3));
    assert_eq!(proposed(&Column::booleans(vec![true, false])), Task::Binary);

    // The user can override, where the values allow it.
    let quality = Column::integers((0..100).map(|i| 3 + i % 5).collect());
    assert_eq!(proposed(&quality), Task::Multiclass(5));
    let numbers = Target::encode(&quality, Some(TaskKind::Regression)).unwrap();
    let classes = Target::encode(&quality, Some(TaskKind::Classification)).unwrap();
    assert_eq!((numbers.task(), classes.task()), (Task::Regression, Task::Multiclass(5)));
    let refused = Target::encode(&species, Some(TaskKind::Regression));
    assert!(matches!(refused, Err(DataError::TaskMismatch { task: Task::Multiclass(3), .. })));

    // A target of the kind goes with every loss of the kind. A loss for classes on real numbers is a typed error of the fit.
    let x = Key::new(1).normal([100, 3], DType::F64);
    let halves = Target::encode(&Column::floats((0..100).map(|i| f64::from(i) / 3.0).collect()), None).unwrap();
    assert_eq!(halves.task(), Task::Regression);
    let mistyped = |outcome: Result<(), LearnError>| matches!(outcome, Err(LearnError::Target { .. }));
    let losses = [
        ClassLoss::Hinge,
        ClassLoss::LogLoss,
        ClassLoss::ModifiedHuber,
        ClassLoss::SquaredHinge,
        ClassLoss::Perceptron,
    ];
    for loss in losses {
        let settings = SgdClassifier::default().loss(loss);
        settings.fit(&x, classes.y()).unwrap();
        assert!(mistyped(settings.fit(&x, halves.y()).map(drop)), "{loss:?}");
    }
    assert!(mistyped(LogisticRegression::default().fit(&x, halves.y()).map(drop)));
    assert!(mistyped(LinearSvc::default().fit(&x, halves.y()).map(drop)));
    assert!(mistyped(Svc::default().fit(&x, halves.y()).map(drop)));
    for loss in [RegressionLoss::SquaredError, RegressionLoss::Huber, RegressionLoss::EpsilonInsensitive] {
        SgdRegressor::default().loss(loss).fit(&x, numbers.y()).unwrap();
    }
    Ridge::default().fit(&x, halves.y()).unwrap();

    // A loss of the other kind, named in a table of settings, is refused with the losses there are.
    let (mut classifier, mut regressor) = (SgdClassifier::default(), SgdRegressor::default());
    let problem = classifier.set("loss", "squared_error".into()).unwrap_err().to_string();
    assert!(problem.contains("log_loss") && problem.contains("squared_error"), "{problem}");
    let problem = regressor.set("loss", "log_loss".into()).unwrap_err().to_string();
    assert!(problem.contains("huber") && problem.contains("log_loss"), "{problem}");

    // Several outputs are no classes.
    let table = Tensor::zeros([100, 2], DType::I64);
    assert!(matches!(LogisticRegression::default().fit(&x, &table), Err(LearnError::Target { .. })));
}
