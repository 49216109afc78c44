//! Penalties by cross-validation, ridge classification, generalized linear models, one-class machines, sparse rows in kernel
//! machines and further options, beside scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, numbers, standardised};
use serde_json::Value;
use tove_learn::linear::LinkChoice;
use tove_learn::selection::Scorer;
use tove_learn::svm::DecisionShape;
use tove_learn::*;
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Key, Tensor};

fn weights(n: usize) -> Tensor {
    Tensor::from_slice(&(0..n).map(|i| [1.0, 0.5, 2.0, 1.5, 3.0][i % 5]).collect::<Vec<f64>>())
}

/// Every 7th row, as in the fixture.
fn some(x: &Tensor) -> Tensor {
    x.slice(0, 0, x.dims()[0], 7)
}

fn standard(name: &str) -> (Tensor, Tensor) {
    let (x, y) = data(name);
    (standardised(&x), if name == "diabetes" { y.to_dtype(DType::F64) } else { y })
}

/// Samples of a case, weighted where it says so.
fn samples(x: impl Into<Rows>, y: &Tensor, case: &Value) -> Samples {
    let samples = Samples::new(x, y).unwrap();
    let n = samples.len();
    if case["weighted"] == true { samples.weighted(&weights(n)).unwrap() } else { samples }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn kind(name: &Value) -> KernelKind {
    match name.as_str().unwrap() {
        "linear" => KernelKind::Linear,
        "rbf" => KernelKind::Rbf,
        _ => KernelKind::Poly,
    }
}

fn attribute(model: &dyn Model, name: &str) -> Vec<f64> {
    let all = model.attributes();
    all.iter().find(|(own, _)| *own == name).unwrap_or_else(|| panic!("no attribute {name}")).1.to_f64_vec()
}

#[test]
fn kernel_machines_take_sparse_rows_and_agree_with_scikit_learn() {
    let (wine, classes) = standard("wine");
    let (diabetes, y) = standard("diabetes");
    let unit = standardised(&y.reshape([442, 1])).reshape([442]);
    // One number in nine is not zero: denser rows are handled as dense ones.
    let large = |x: &Tensor| {
        let values = x.to_f64_vec().into_iter().map(|x| if x > 1.2 { x } else { 0.0 }).collect::<Vec<f64>>();
        Tensor::from_vec(values, x.dims().to_vec())
    };
    let (x, z) = (large(&wine), large(&diabetes));
    let (sparse, other) = (Csr::from_dense(&x).unwrap(), Csr::from_dense(&z).unwrap());
    for case in fixture("models.json")["sparse"].as_array().unwrap() {
        let gamma = Gamma::Value(0.1);
        let svc = Svc::default().kernel(kind(&case["kernel"])).gamma(gamma).coef0(1.0).tol(1e-7);
        let nu = NuSvc::default().nu(0.5).kernel(kind(&case["kernel"])).gamma(gamma).coef0(1.0).tol(1e-7);
        let machines: [(&str, Box<dyn Estimator>); 2] = [
            ("SVC", Box::new(svc.decision_function_shape(DecisionShape::Ovo))),
            ("NuSVC", Box::new(nu.decision_function_shape(DecisionShape::Ovo))),
        ];
        for (name, machine) in machines {
            let model = machine.fit(&sparse, &classes).unwrap();
            let values = model.decision_function(some(&x)).unwrap().to_f64_vec();
            assert_close(&values, &numbers(&case[name]), 2e-5);
            // Dense and sparse rows have one answer.
            let again = model.decision_function(Csr::from_dense(&some(&x)).unwrap()).unwrap().to_f64_vec();
            assert_close(&again, &values, 1e-12);
            // A model of dense rows answers sparse ones, and a file brings sparse support vectors back.
            let dense = machine.fit(&x, &classes).unwrap();
            assert_close(
                &dense.decision_function(&sparse).unwrap().to_f64_vec(),
                &dense.decision_function(&x).unwrap().to_f64_vec(),
                1e-12,
            );
            assert_close(&dense.decision_function(some(&x)).unwrap().to_f64_vec(), &values, 2e-5);
            let restored = restore(&model.record()).unwrap();
            assert_eq!(
                restored.decision_function(&sparse).unwrap().to_f64_vec(),
                model.decision_function(&sparse).unwrap().to_f64_vec()
            );
        }
        let regressions: [(&str, Box<dyn Estimator>, f64); 3] = [
            (
                "SVR",
                Box::new(Svr::default().c(0.5).kernel(kind(&case["kernel"])).gamma(gamma).coef0(1.0).tol(1e-7)),
                2e-5,
            ),
            (
                "NuSVR",
                Box::new(NuSvr::default().c(0.5).kernel(kind(&case["kernel"])).gamma(gamma).coef0(1.0).tol(1e-7)),
                2e-5,
            ),
            (
                "KernelRidge",
                Box::new(KernelRidge::default().alpha(2.0).kernel(kind(&case["kernel"])).gamma(Some(0.1))),
                1e-9,
            ),
        ];
        for (name, machine, tolerance) in regressions {
            let model = machine.fit(&other, &unit).unwrap();
            assert_close(&model.predict(some(&z)).unwrap().to_f64_vec(), &numbers(&case[name]), tolerance);
            let restored = restore(&model.record()).unwrap();
            assert_eq!(restored.predict(&other).unwrap().to_f64_vec(), model.predict(&other).unwrap().to_f64_vec());
            assert!(!attribute(&*model, "dual_coef").is_empty());
        }
    }
}

#[test]
fn sparse_kernels_have_the_default_gamma_and_refuse_precomputed_ones() {
    let x = Key::new(5).normal([40, 6], DType::F64).relu();
    let csr = Csr::from_dense(&x).unwrap();
    let weights = weights(40).to_f64_vec();
    let (dense, sparse) =
        (Gamma::Scale.resolve(&x, Some(&weights)).unwrap(), Gamma::Scale.resolve(&csr, Some(&weights)).unwrap());
    assert!((dense - sparse).abs() < 1e-12 * dense);
    let few = (&x - 1.3).relu();
    assert!(few.to_f64_vec().iter().filter(|x| **x != 0.0).count() < 30);
    let thin = Csr::from_dense(&few).unwrap();
    let (dense, sparse) = (Gamma::Scale.resolve(&few, None).unwrap(), Gamma::Scale.resolve(&thin, None).unwrap());
    assert!((dense - sparse).abs() < 1e-12 * dense);
    let model = OneClassSvm::default().fit(&thin, None).unwrap();
    assert!(matches!(model.support_vectors(), Rows::Sparse(_)));
    let other = OneClassSvm::default().fit(&few, None).unwrap();
    assert_close(
        &model.score_samples(&few).unwrap().to_f64_vec(),
        &other.score_samples(&few).unwrap().to_f64_vec(),
        1e-3,
    );
    let y = Tensor::from_slice(&(0..40).map(|i| i % 2).collect::<Vec<i64>>());
    let error = Svc::default().kernel(KernelKind::Precomputed).fit(&csr, &y).unwrap_err();
    assert!(matches!(error, LearnError::Unsupported { .. }), "{error}");
    // A kernel of the user's own sees whole rows.
    let own = KernelFunction::custom(|x, z| x.iter().zip(z).map(|(x, z)| x * z).sum());
    let fit = |x: Rows| {
        Svc::default().fit_with(&own, &Samples::new(x, &y).unwrap()).unwrap().decision_function(&csr).unwrap()
    };
    assert_close(&fit((&csr).into()).to_f64_vec(), &fit((&x).into()).to_f64_vec(), 1e-9);
}

#[test]
fn lasso_and_elastic_net_choose_the_penalty_as_scikit_learn_does() {
    let (x, y) = standard("diabetes");
    for case in fixture("models.json")["nets"].as_array().unwrap() {
        let (ratios, options) = (numbers(&case["ratios"]), &case["options"]);
        let samples = samples(&x, &y, case);
        let mut search = linear::NetSearch::default().eps(1e-2).n_alphas(30).tol(1e-10).max_iter(100_000);
        search.cv = options["cv"].as_u64().unwrap_or(5) as usize;
        search.alphas = options["alphas"].as_array().map(|_| numbers(&options["alphas"]).into());
        let lasso = ratios == [1.0];
        let model: Box<dyn Model> = match lasso {
            true => Box::new(LassoCv { search }.fit_samples(&samples).unwrap()),
            false => Box::new(ElasticNetCv { l1_ratio: ratios, search }.fit_samples(&samples).unwrap()),
        };
        assert_close(&attribute(&*model, "alphas"), &numbers(&case["alphas"]), 1e-10);
        assert_close(&attribute(&*model, "mse_path"), &numbers(&case["mse_path"]), 1e-6);
        assert_close(&attribute(&*model, "alpha"), &[number(&case["alpha"])], 1e-10);
        assert_close(&attribute(&*model, "l1_ratio"), &[number(&case["l1_ratio"])], 1e-12);
        assert_close(&attribute(&*model, "coef"), &numbers(&case["coef"]), 1e-5);
        assert_close(&attribute(&*model, "intercept"), &[number(&case["intercept"])], 1e-6);
        let restored = restore(&model.record()).unwrap();
        assert_eq!(attribute(&*restored, "mse_path"), attribute(&*model, "mse_path"));
    }
}

#[test]
fn searches_along_paths_refuse_what_cannot_be() {
    let (x, y) = standard("diabetes");
    let none = ElasticNetCv::default().l1_ratio(vec![]).fit(&x, &y).unwrap_err();
    assert!(none.to_string().contains("at least one"), "{none}");
    let ridge = ElasticNetCv::default().l1_ratio(vec![0.0]).fit(&x, &y).unwrap_err();
    assert!(ridge.to_string().contains("automatic alpha grid"), "{ridge}");
    let folds = LassoCv::default().cv(443).fit(&x, &y).unwrap_err();
    assert!(matches!(folds, LearnError::TooFew { .. }), "{folds}");
    assert!(LassoCv::default().cv(1).fit(&x, &y).is_err());
    assert!(LassoCv::default().alphas(Some([-1.0].into())).fit(&x, &y).is_err());
    // Sparse rows, and those of other precision.
    let holes = x.relu();
    let dense = LassoCv::default().fit(&holes, &y).unwrap();
    let sparse = LassoCv::default().fit(Csr::from_dense(&holes).unwrap(), &y).unwrap();
    assert_close(&sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-2);
}

#[test]
fn ridge_cv_chooses_by_folds_and_scores_as_scikit_learn_does() {
    let (x, y) = standard("diabetes");
    let squares: Vec<f64> =
        x.to_f64_vec().chunks(10).zip(y.to_f64_vec()).flat_map(|(row, y)| [y, row[2] * row[2]]).collect();
    let both = Tensor::from_vec(squares, [442, 2]);
    for case in fixture("models.json")["ridge_cv"].as_array().unwrap() {
        let mut estimator = RidgeCv::default().with_alphas(&numbers(&case["alphas"]));
        estimator.cv = case["cv"].as_u64().map(|cv| cv as usize);
        estimator.scoring = case["scoring"].as_str().map(|name| Scorer::named(name).unwrap());
        let several = case["several"] == true;
        let model = estimator.fit(&x, if several { &both } else { &y }).unwrap();
        assert_eq!(model.alpha(), number(&case["alpha"]), "{case}");
        assert_close(&[model.best_score()], &[number(&case["best_score"])], 1e-9);
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-9);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-9);
        assert_eq!(attribute(&model, "alpha"), [model.alpha()]);
    }
    let wrong = RidgeCv::default().scoring(Some(Scorer::Accuracy)).fit(&x, &y).unwrap_err();
    assert!(wrong.to_string().contains("accuracy"), "{wrong}");
    // Penalties of former versions are text.
    let mut old = RidgeCv::default();
    old.load_json(&serde_json::json!({"alphas": "0.5,5", "fit_intercept": false})).unwrap();
    assert_eq!((old.alphas.0, old.fit_intercept), (vec![0.5, 5.0], false));
}

#[test]
fn ridge_classification_is_that_of_scikit_learn() {
    for case in fixture("models.json")["ridge_classifier"].as_array().unwrap() {
        let (x, y) = standard(case["data"].as_str().unwrap());
        let mut estimator = RidgeClassifier::default().alpha(2.0).fit_intercept(case["intercept"] == true);
        if case["class_weight"] == "balanced" {
            // scikit-learn balances by counts, not by weights, so that only one of the two is compared.
            if case["weighted"] == true {
                continue;
            }
            estimator.class_weight = ClassWeight::Balanced;
        }
        let model = estimator.fit_samples(&samples(&x, &y, case)).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-10);
        // Without an intercept scikit-learn has one 0 for all classes.
        let b = numbers(&case["b"]);
        let expected: Vec<f64> = b.iter().cycle().take(model.intercept().numel()).copied().collect();
        assert_close(&model.intercept().to_f64_vec(), &expected, 1e-10);
        assert_close(&model.decision_function(some(&x)).unwrap().to_f64_vec(), &numbers(&case["decision"]), 1e-10);
        assert_eq!(model.predict(&x).unwrap().to_f64_vec(), numbers(&case["predict"]));
    }
}

#[test]
fn logistic_regression_chooses_c_as_scikit_learn_does() {
    for case in fixture("models.json")["logistic_cv"].as_array().unwrap() {
        let (x, y) = standard(case["data"].as_str().unwrap());
        let estimator = LogisticRegressionCv::default().cs(Cs::Values(vec![0.01, 0.1, 1.0, 10.0])).cv(4).tol(1e-10);
        let estimator = estimator.max_iter(1000).refit(case["refit"] == true).solver(Solver::Newton);
        let model =
            estimator.scoring(case["scoring"].as_str().map(|name| Scorer::named(name).unwrap())).fit(&x, &y).unwrap();
        assert_close(&model.scores().to_f64_vec(), &numbers(&case["scores"]), 1e-8);
        assert_close(&[model.c()], &[number(&case["C"])], 1e-9);
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-6);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-6);
        assert_eq!(attribute(&model, "Cs"), [0.01, 0.1, 1.0, 10.0]);
    }
    let (x, y) = standard("iris");
    let unknown = LogisticRegressionCv::default().set("scoring", "acuracy".into()).unwrap_err();
    assert!(unknown.to_string().contains("accuracy"), "{unknown}");
    // One sample of a class: where it is tested on, it cannot be learned.
    let mut rare = vec![0i64; 150];
    (0..75).for_each(|row| rare[2 * row] = 1);
    rare[7] = 2;
    let lacking = LogisticRegressionCv::default().fit(&x, &Tensor::from_slice(&rare)).unwrap_err();
    assert!(lacking.to_string().contains("class 2"), "{lacking}");
    let mut estimator = LogisticRegressionCv::default();
    estimator.parse("Cs", "3").unwrap();
    assert_eq!(estimator.fit(&x, &y).unwrap().cs().to_f64_vec(), [1e-4, 1.0, 1e4]);
}

#[test]
fn generalized_linear_models_are_those_of_scikit_learn() {
    let (x, y) = standard("diabetes");
    let y = &y * 0.01;
    for case in fixture("models.json")["glm"].as_array().unwrap() {
        let glm = linear::GlmSettings::default().alpha(number(&case["alpha"])).tol(1e-11).max_iter(1000);
        let glm = glm.fit_intercept(case["intercept"] == true);
        let estimator: Box<dyn Estimator> = match case["name"].as_str().unwrap() {
            "Poisson" => Box::new(PoissonRegressor { glm }),
            "Gamma" => Box::new(GammaRegressor { glm }),
            _ => {
                let link = match case["link"].as_str().unwrap() {
                    "auto" => LinkChoice::Auto,
                    "log" => LinkChoice::Log,
                    _ => LinkChoice::Identity,
                };
                Box::new(TweedieRegressor { power: number(&case["power"]), link, glm })
            }
        };
        let model = estimator.fit_samples(&samples(&x, &y, case)).unwrap();
        assert!(model.summary().converged, "{case}");
        assert_close(&attribute(&*model, "coef"), &numbers(&case["coef"]), 1e-6);
        assert_close(&attribute(&*model, "intercept"), &[number(&case["b"])], 1e-6);
        assert_close(&model.predict(some(&x)).unwrap().to_f64_vec(), &numbers(&case["predict"]), 1e-6);
        let sparse = estimator.fit_samples(&samples(Csr::from_dense(&x).unwrap(), &y, case)).unwrap();
        assert_close(&attribute(&*sparse, "coef"), &attribute(&*model, "coef"), 1e-6);
    }
}

#[test]
fn generalized_linear_models_refuse_targets_that_their_distribution_cannot_give() {
    let x = Tensor::from([[0.0], [1.0], [2.0]]);
    let below = PoissonRegressor::default().fit(&x, &Tensor::from([1.0, -1.0, 2.0])).unwrap_err();
    assert!(below.to_string().contains("row 1 is -1"), "{below}");
    let zero = GammaRegressor::default().fit(&x, &Tensor::from([1.0, 0.0, 2.0])).unwrap_err();
    assert!(zero.to_string().contains("positive"), "{zero}");
    assert!(PoissonRegressor::default().fit(&x, &Tensor::from([0.0, 0.0, 0.0])).is_err());
    let power = TweedieRegressor::default().power(0.5).fit(&x, &Tensor::from([1.0, 2.0, 3.0])).unwrap_err();
    assert!(power.to_string().contains("power"), "{power}");
    // Many columns: conjugate gradients in place of a matrix.
    let wide = Key::new(3).normal([60, 600], DType::F64);
    let y = Key::new(4).normal([60], DType::F64).exp();
    let model = GammaRegressor::default().tol(1e-8).fit(&wide, &y).unwrap();
    assert!(model.summary().converged && model.summary().residual.unwrap() <= 1e-8);
}

#[test]
fn one_class_machines_are_those_of_scikit_learn() {
    let (wine, _) = standard("wine");
    for case in fixture("models.json")["one_class"].as_array().unwrap() {
        let x = &wine + number(&case["shift"]);
        let estimator = OneClassSvm::default().kernel(kind(&case["kernel"])).nu(number(&case["nu"]));
        let estimator = estimator.gamma(Gamma::Value(0.05)).coef0(1.0).tol(1e-9);
        let samples = Samples::unlabeled(&x).unwrap();
        let samples = if case["weighted"] == true { samples.weighted(&weights(178)).unwrap() } else { samples };
        let model = estimator.fit_samples(&samples).unwrap();
        let scores = model.score_samples(&x).unwrap().to_f64_vec();
        assert_close(&scores, &numbers(&case["scores"]), 2e-5);
        assert_close(&[model.offset()], &[number(&case["offset"])], 2e-5);
        assert_close(&[model.dual_coef().to_f64_vec().iter().sum()], &[number(&case["total"])], 1e-9);
        let decision = model.decision_function(&x).unwrap().to_f64_vec();
        assert_close(&decision, &numbers(&case["decision"]), 2e-5);
        let (labels, expected) = (model.predict(&x).unwrap().to_vec::<i64>(), numbers(&case["predict"]));
        for ((label, expected), decision) in labels.iter().zip(expected).zip(decision) {
            assert!(*label as f64 == expected || decision.abs() < 1e-3, "{label} {expected} {decision}");
        }
        let restored = restore(&model.record()).unwrap();
        assert_eq!(restored.score_samples(&x).unwrap().to_f64_vec(), scores);
    }
}

#[test]
fn options_of_linear_models_are_those_of_scikit_learn() {
    let (x, y) = standard("diabetes");
    let columns =
        x.to_f64_vec().chunks(10).zip(y.to_f64_vec()).flat_map(|(row, y)| [y, 50.0 * row[2] * row[2]]).collect();
    let both = Tensor::from_vec(columns, [442, 2]);
    let all = &fixture("models.json")["options"];
    for (alpha, coef) in [0.1, 10.0].into_iter().zip(all["ridge_positive"].as_array().unwrap()) {
        let model = Ridge::default().alpha(alpha).positive(true).fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(coef), 1e-6);
    }
    let model = Ridge::default().alpha_per_target(Some([1.0, 50.0].into())).fit(&x, &both).unwrap();
    assert_close(&model.coef().to_f64_vec(), &numbers(&all["ridge_each"]["coef"]), 1e-10);
    assert_close(&model.intercept().to_f64_vec(), &numbers(&all["ridge_each"]["intercept"]), 1e-10);
    assert!(Ridge::default().alpha_per_target(Some([1.0].into())).fit(&x, &both).is_err());
    let model = Lasso::default().alpha(2.0).tol(1e-12).max_iter(100_000).fit(&x, &both).unwrap();
    assert_eq!(model.coef().dims(), [2, 10]);
    assert_close(&model.coef().to_f64_vec(), &numbers(&all["lasso_both"]["coef"]), 1e-5);
    let model = ElasticNet::default().alpha(2.0).tol(1e-12).max_iter(100_000).fit(&x, &both).unwrap();
    assert_close(&model.coef().to_f64_vec(), &numbers(&all["net_both"]["coef"]), 1e-5);
    assert_close(&model.intercept().to_f64_vec(), &numbers(&all["net_both"]["intercept"]), 1e-6);
}

#[test]
fn an_infinite_c_is_no_penalty() {
    let (x, y) = standard("iris");
    let two = x.narrow(1, 0, 2).contiguous();
    let mut estimator = LogisticRegression::default().tol(1e-10).max_iter(1000);
    estimator.parse("C", "inf").unwrap();
    let model = estimator.fit(&two, &y).unwrap();
    let expected = &fixture("models.json")["options"]["logistic_free"]["proba"];
    assert_close(&model.predict_proba(some(&two)).unwrap().to_f64_vec(), &numbers(expected), 1e-6);
    let free = LogisticRegression::default().penalty(Penalty::None).tol(1e-10).max_iter(1000).fit(&two, &y).unwrap();
    assert_eq!(free.coef().to_f64_vec(), model.coef().to_f64_vec());
    assert!(restore(&model.record()).is_ok());
}

#[test]
fn attributes_of_regressions_are_seen_through_a_box() {
    let (x, y) = standard("diabetes");
    let names = |estimator: &dyn Estimator| -> Vec<&str> {
        estimator.fit(&x, &y).unwrap().attributes().into_iter().map(|(name, _)| name).collect()
    };
    for (estimator, wanted) in [
        (&RidgeCv::default() as &dyn Estimator, &["alpha", "best_score", "coef", "intercept"][..]),
        (&BayesianRidge::default(), &["alpha", "lambda", "sigma"]),
        (&HuberRegressor::default(), &["scale"]),
        (&LinearRegression::default(), &["rank"]),
        (&KernelRidge::default(), &["dual_coef", "X_fit"]),
        (&Svr::default(), &["support", "support_vectors", "dual_coef", "intercept"]),
    ] {
        let found = names(estimator);
        assert!(wanted.iter().all(|name| found.contains(name)), "{}: {found:?}", estimator.name());
    }
}

#[test]
fn margins_with_an_l1_penalty_are_those_of_scikit_learn() {
    let (x, y) = standard("breast_cancer");
    let all = &fixture("models.json")["options"];
    for c in ["0.01", "0.1", "1.0"] {
        let case = &all[format!("linear_svc_l1_{c}")];
        let mut estimator = LinearSvc::default().penalty(svm::MarginPenalty::L1).tol(1e-9).max_iter(1_000_000);
        estimator.parse("C", c).unwrap();
        let model = estimator.fit(&x, &y).unwrap();
        assert!(model.summary().converged);
        let objective = model.summary().objective.unwrap();
        assert!((objective - number(&case["objective"])).abs() < 1e-6 * objective, "{objective} {case}");
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-4);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-4);
        let sparse = estimator.fit(Csr::from_dense(&x).unwrap(), &y).unwrap();
        assert_eq!(sparse.coef().to_f64_vec(), model.coef().to_f64_vec());
    }
    let hinge =
        LinearSvc::default().penalty(svm::MarginPenalty::L1).loss(svm::HingeLoss::Hinge).fit(&x, &y).unwrap_err();
    assert!(hinge.to_string().contains("squared_hinge"), "{hinge}");
}

#[test]
fn whole_numbers_are_labels_and_others_are_refused() {
    let (x, y) = standard("iris");
    let classes = y.to_dtype(DType::F64);
    for estimator in [
        &LogisticRegression::default() as &dyn Estimator,
        &Svc::default(),
        &GaussianNb::default(),
        &SgdClassifier::default(),
    ] {
        let (whole, floats) = (estimator.fit(&x, &y).unwrap(), estimator.fit(&x, &classes).unwrap());
        assert_eq!(whole.predict(&x).unwrap().to_vec::<i64>(), floats.predict(&x).unwrap().to_vec::<i64>());
        assert_eq!(floats.score(&x, &classes).unwrap().value, whole.score(&x, &y).unwrap().value);
        let error = estimator.fit(&x, &(&classes + 0.5)).err().unwrap();
        assert!(matches!(error, LearnError::Target { .. }) && error.to_string().contains("0.5"), "{error}");
    }
}

#[test]
fn descent_without_a_penalty_and_with_late_averages() {
    let (x, y) = standard("breast_cancer");
    let optimal = SgdClassifier::default().alpha(0.0).fit(&x, &y).unwrap_err();
    assert!(optimal.to_string().contains("learning_rate"), "{optimal}");
    let plain = SgdClassifier::default().learning_rate(sgd::LearningRate::Constant).eta0(0.1).max_iter(20).tol(None);
    let none = plain.clone().penalty(Penalty::None).fit(&x, &y).unwrap();
    assert_eq!(plain.clone().alpha(0.0).fit(&x, &y).unwrap().coef().to_f64_vec(), none.coef().to_f64_vec());
    // 20 epochs of 569 samples: an average that begins later has not begun, one that begins at the last step is that step.
    let last = plain.clone().fit(&x, &y).unwrap().coef().to_f64_vec();
    for samples in [20 * 569, 20 * 569 + 1] {
        let model = plain.clone().average(sgd::Averaging::after(samples)).fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &last, 1e-12);
    }
    let all = plain.clone().average(true.into()).fit(&x, &y).unwrap();
    assert!(common::error(&all.coef().to_f64_vec(), &last) > 1e-3);
    let mut parsed = SgdRegressor::default();
    parsed.parse("average", "10").unwrap();
    assert_eq!(parsed.average, sgd::Averaging::after(10));
    assert_eq!(SgdRegressor::default().alpha(0.0).fit(&x, &y.to_dtype(DType::F64)).unwrap().coef().numel(), 30);
}

/// The zoo of the crate `tove` holds files of former versions, with the answers they gave to these rows.
#[test]
fn files_of_former_versions_are_read() {
    let value = |at: usize| ((at / 3 * 37 + at % 3 * 53 + at / 7 * 11) % 89) as f64 / 16.0 - 2.5;
    let rows = Tensor::from((0..45).map(value).collect::<Vec<f64>>()).reshape([15, 3]);
    let zoo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tove/tests/zoo");
    let mut compared = 0;
    for version in ["v1", "v2"] {
        let text = std::fs::read_to_string(zoo.join(version).join("answers.json")).unwrap();
        let answers: Value = serde_json::from_str(&text).unwrap();
        for (name, expected) in answers["models"].as_object().unwrap() {
            if registry::find(name).is_err() {
                continue; // of another crate
            }
            let model = load(zoo.join(version).join(format!("{name}.tove"))).unwrap();
            let own = model.capabilities();
            let found = match own.predicts() {
                false => model.transform(&rows),
                true if own.probabilities => model.predict_proba(&rows),
                true if own.decision_function => model.decision_function(&rows),
                true => model.predict(&rows),
            };
            assert_close(&found.unwrap().to_f64_vec(), &numbers(expected), 1e-12);
            compared += 1;
        }
    }
    assert!(compared >= 40, "{compared}");
}
