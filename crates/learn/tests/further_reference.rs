//! Inference, signs, weights of classes, ν, given kernels: beside statsmodels, scipy and scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, data, fixture, matrix, numbers, standardised};
use serde_json::Value;
use tove_learn::diagnostics::{student_critical, student_two_sided};
use tove_learn::kernel::kernel_matrix;
use tove_learn::selection::*;
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
    (standardised(&x), y)
}

/// Diabetes with standardised targets.
fn diabetes() -> (Tensor, Tensor) {
    let (x, y) = data("diabetes");
    (standardised(&x), standardised(&y.to_dtype(DType::F64).reshape([442, 1])).reshape([442]))
}

fn kind(name: &Value) -> KernelKind {
    if name == "linear" { KernelKind::Linear } else { KernelKind::Rbf }
}

#[test]
fn student_s_distribution_is_scipy_s_far_into_the_tails() {
    for case in fixture("further.json")["student"].as_array().unwrap() {
        let (t, freedom) = (case["t"].as_f64().unwrap(), case["freedom"].as_f64().unwrap());
        let (tail, critical) = (case["tail"].as_f64().unwrap(), case["critical"].as_f64().unwrap());
        let found = student_two_sided(t, freedom);
        // Twelve digits of the tail itself, down to 1e-300: the logarithm of a gamma function of 5e4 costs the others.
        let off = (found - tail).abs() / tail.max(1e-300);
        assert!(
            off < if freedom > 1e4 { 1e-9 } else { 1e-12 } || (found < 1e-300 && tail < 1e-300),
            "{case}: {found:e}"
        );
        assert!((student_critical(0.01, freedom) / critical - 1.0).abs() < 1e-9, "{case}");
    }
    assert!(student_two_sided(f64::NAN, 3.0).is_nan() && student_critical(1.5, 3.0).is_nan());
    assert_eq!((student_two_sided(f64::INFINITY, 3.0), student_critical(0.0, 3.0)), (0.0, f64::INFINITY));
}

#[test]
fn tests_and_intervals_of_least_squares_are_statsmodels_s() {
    let (x, y) = data("diabetes");
    let y = y.to_dtype(DType::F64);
    for case in fixture("further.json")["ols"].as_array().unwrap() {
        let x = x.narrow(1, 0, case["columns"].as_u64().unwrap() as usize).contiguous();
        let model = LinearRegression::default().fit_intercept(case["constant"] == true).fit(&x, &y).unwrap();
        let report = model.report(&x, &y).unwrap();
        assert_close(&report.estimates, &numbers(&case["estimates"]), 1e-9);
        assert_close(&report.standard_errors, &numbers(&case["errors"]), 1e-9);
        assert_close(&report.t_values, &numbers(&case["t"]), 1e-9);
        // p-values digit by digit, also the small ones.
        for (found, wanted) in report.p_values.iter().zip(numbers(&case["p"])) {
            assert!((found - wanted).abs() < 1e-8 * wanted, "{found:e} {wanted:e}");
        }
        for (level, name) in [(0.95, "interval95"), (0.99, "interval99")] {
            let found: Vec<f64> = report.intervals(level).into_iter().flat_map(|(low, high)| [low, high]).collect();
            assert_close(&found, &numbers(&case[name]), 1e-9);
        }
        assert!(report.to_string().contains("P(>|t|)"));
    }
    let error = LinearRegression::default().positive(true).fit(&x, &y).unwrap().report(&x, &y).unwrap_err().to_string();
    assert!(error.contains("without `positive`"), "{error}");
}

#[test]
fn coefficients_that_are_not_negative_are_scipy_s() {
    for case in fixture("further.json")["positive"].as_array().unwrap() {
        let x = if case["name"] == "diabetes" { standard("diabetes").0 } else { matrix(&case["x"]) };
        let y = Tensor::from_slice(&numbers(&case["y"]));
        let settings = LinearRegression::default().positive(true);
        let plain = settings.clone().fit_intercept(false).fit(&x, &y).unwrap();
        let w = plain.coef().to_f64_vec();
        assert!(w.iter().all(|&w| w >= 0.0) && plain.summary().converged, "{}", case["name"]);
        // Dependent columns leave the coefficients open, not the residual.
        let residual = (x.matmul(plain.coef()) - &y).to_f64_vec().iter().map(|r| r * r).sum::<f64>().sqrt();
        assert!((residual / case["residual"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{}: {residual}", case["name"]);
        if case["name"] == "dependent" {
            continue;
        }
        assert_close(&w, &numbers(&case["plain"]), 1e-8);
        let centred = settings.fit(&x, &y).unwrap();
        assert_close(&centred.coef().to_f64_vec(), &numbers(&case["centred"]), 1e-8);
        assert!((centred.intercept().item::<f64>() - case["intercept"].as_f64().unwrap()).abs() < 1e-8);
        let weighted = settings.fit_weighted(&x, &y, &weights(y.numel())).unwrap();
        assert_close(&weighted.coef().to_f64_vec(), &numbers(&case["weighted"]), 1e-8);
    }
}

#[test]
fn several_outputs_are_each_their_own_problem() {
    let (x, y) = standard("diabetes");
    let y = y.to_dtype(DType::F64);
    let both = Tensor::stack(&[&y, &(&y * -1.0)], 1);
    let settings = LinearRegression::default().positive(true);
    let joint = settings.fit(&x, &both).unwrap().coef().to_f64_vec();
    let alone = [settings.fit(&x, &y).unwrap(), settings.fit(&x, &(&y * -1.0)).unwrap()];
    let alone: Vec<f64> = alone.iter().flat_map(|model| model.coef().to_f64_vec()).collect();
    assert_close(&joint, &alone, 1e-12);
}

#[test]
fn lists_of_class_weights_are_scikit_learn_s() {
    for case in fixture("further.json")["class_weight"].as_array().unwrap() {
        let (x, y) = standard(case["set"].as_str().unwrap());
        let text = case["text"].as_str().unwrap();
        let mut logistic = LogisticRegression::default().c(0.7).tol(1e-10).max_iter(1000);
        logistic.parse("class_weight", text).unwrap();
        let model = logistic.fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["coef"]), 1e-6);
        assert_close(&model.intercept().to_f64_vec(), &numbers(&case["intercept"]), 1e-6);
        let mut svc = Svc::default().c(0.8).gamma(Gamma::Value(0.05)).tol(1e-9);
        svc.parse("class_weight", text).unwrap();
        let svc = svc.decision_function_shape(DecisionShape::Ovo).fit(&x, &y).unwrap();
        assert_close(&svc.decision_function(some(&x)).unwrap().to_f64_vec(), &numbers(&case["decision"]), 1e-6);
        let mut linear = LinearSvc::default().c(0.05).tol(1e-10).max_iter(100_000);
        linear.parse("class_weight", text).unwrap();
        let linear = linear.fit(&x, &y).unwrap();
        assert_close(&linear.coef().to_f64_vec(), &numbers(&case["linear_coef"]), 1e-6);
        assert_close(&linear.intercept().to_f64_vec(), &numbers(&case["linear_intercept"]), 1e-6);
        // Learners of single samples, in the order given, in one piece or learnt anew.
        let given = ClassWeight::Given(pairs(text));
        let sgd = SgdClassifier::default().shuffle(false).max_iter(5).tol(None).class_weight(given.clone());
        assert_close(&sgd.fit(&x, &y).unwrap().coef().to_f64_vec(), &numbers(&case["sgd_coef"]), 1e-8);
        let perceptron = Perceptron::default().shuffle(false).max_iter(5).tol(None).class_weight(given);
        let fitted = perceptron.fit(&x, &y).unwrap();
        assert_close(&fitted.coef().to_f64_vec(), &numbers(&case["perceptron_coef"]), 1e-8);
        let mut learner = sgd.learner(model.classes()).unwrap();
        (0..5).for_each(|_| learner.learn(&Samples::new(&x, &y).unwrap()).unwrap());
        assert_close(&learner.model().unwrap().coef().to_f64_vec(), &numbers(&case["sgd_coef"]), 1e-8);
        // The list comes back from a file.
        let copy = FittedLogisticRegression::restore(&model.record()).unwrap();
        assert_eq!(copy.settings(), model.settings());
    }
}

fn pairs(text: &str) -> Vec<(i64, f64)> {
    let pair = |part: &str| part.split_once(':').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).unwrap();
    text.split(',').map(pair).collect()
}

#[test]
fn machines_with_nu_are_scikit_learn_s() {
    let all = fixture("further.json");
    for case in all["nu_svc"].as_array().unwrap() {
        let (x, y) = standard(case["set"].as_str().unwrap());
        let settings = NuSvc::default().nu(case["nu"].as_f64().unwrap()).kernel(kind(&case["kernel"])).tol(1e-9);
        let mut settings = settings.gamma(Gamma::Value(0.1)).decision_function_shape(DecisionShape::Ovo);
        settings.parse("class_weight", case["class_weight"].as_str().unwrap()).unwrap();
        let model = match case["weighted"] == true {
            true => settings.fit_weighted(&x, &y, &weights(y.numel())).unwrap(),
            false => settings.fit(&x, &y).unwrap(),
        };
        // Kernel values are single on both sides; the margin that everything is divided by magnifies their rounding.
        assert_close(&model.decision_function(some(&x)).unwrap().to_f64_vec(), &numbers(&case["decision"]), 1e-5);
        assert_close(&model.intercept(), &numbers(&case["intercept"]), 1e-5);
        assert_eq!(model.predict(&x).unwrap().to_f64_vec(), numbers(&case["predict"]));
        // The defining property, for two classes: margin errors ≤ ν ≤ support vectors, as shares.
        if case["set"] == "breast_cancer" && case["class_weight"] == "none" {
            let decisions = model.decision_function(&x).unwrap().to_f64_vec();
            let labels = y.to_f64_vec();
            let errors = decisions.iter().zip(&labels).filter(|(d, y)| (2.0 * **y - 1.0) * **d < 1.0 - 1e-6).count();
            let (n, nu) = (labels.len() as f64, settings.nu);
            assert!(errors as f64 / n <= nu && nu <= model.support().len() as f64 / n, "{errors} {nu}");
        }
        let copy = FittedNuSvc::restore(&model.record()).unwrap();
        assert_eq!(copy.decision_function(&x).unwrap().to_f64_vec(), model.decision_function(&x).unwrap().to_f64_vec());
    }
    let (x, y) = diabetes();
    for case in all["nu_svr"].as_array().unwrap() {
        let settings = NuSvr::default().nu(case["nu"].as_f64().unwrap()).c(case["c"].as_f64().unwrap()).tol(1e-9);
        let settings = settings.kernel(kind(&case["kernel"])).gamma(Gamma::Value(0.05));
        let model = match case["weighted"] == true {
            true => settings.fit_weighted(&x, &y, &weights(442)).unwrap(),
            false => settings.fit(&x, &y).unwrap(),
        };
        assert_close(&model.predict(some(&x)).unwrap().to_f64_vec(), &numbers(&case["predict"]), 1e-5);
        assert!((model.intercept() - numbers(&case["intercept"])[0]).abs() < 1e-5);
    }
    // More than the rarer class allows.
    let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [3.0]]), Tensor::from([0i64, 0, 0, 1]));
    let error = NuSvc::default().nu(0.9).fit(&x, &y).unwrap_err().to_string();
    assert!(error.contains("choose a smaller `nu`") && error.contains("0.5000 at most"), "{error}");
}

#[test]
fn samples_set_aside_change_no_machine_with_nu() {
    let (x, y) = standard("breast_cancer");
    let machine = NuSvc::default().nu(0.1).gamma(Gamma::Value(0.05)).tol(1e-9);
    let little = machine.clone().cache_size(0.05).fit(&x, &y).unwrap();
    let (with, without) = (machine.fit(&x, &y).unwrap(), machine.shrinking(false).fit(&x, &y).unwrap());
    assert!(with.summary().converged && without.summary().converged);
    // Some 600 samples: variables are set aside for the first time after as many steps.
    assert!(with.summary().iterations > 600, "{}", with.summary().iterations);
    let decide = |model: &dyn Model| model.decision_function(&x).unwrap().to_f64_vec();
    assert_close(&decide(&with), &decide(&without), 1e-6);
    // Nor does it matter that only some rows of the kernel matrix fit the memory.
    assert_close(&decide(&little), &decide(&without), 1e-6);
    let (x, y) = diabetes();
    let machine = NuSvr::default().nu(0.3).c(10.0).gamma(Gamma::Value(0.05)).tol(1e-9);
    let little = machine.clone().cache_size(0.05).fit(&x, &y).unwrap().predict(&x).unwrap().to_f64_vec();
    let (with, without) = (machine.fit(&x, &y).unwrap(), machine.shrinking(false).fit(&x, &y).unwrap());
    assert!(with.summary().iterations > 450, "{}", with.summary().iterations);
    let without = without.predict(&x).unwrap().to_f64_vec();
    assert_close(&with.predict(&x).unwrap().to_f64_vec(), &without, 1e-6);
    assert_close(&little, &without, 1e-6);
}

#[test]
fn a_machine_with_nu_is_one_with_the_cost_that_comes_out() {
    let (x, y) = standard("breast_cancer");
    let by_share = NuSvc::default().nu(0.15).gamma(Gamma::Value(0.05)).tol(1e-9).fit(&x, &y).unwrap();
    // The largest coefficient of a bounded sample is the C of the same machine.
    let c = by_share.dual_coef().unwrap().to_f64_vec().iter().fold(0.0f64, |most, beta| most.max(beta.abs()));
    let by_cost = Svc::default().c(c).gamma(Gamma::Value(0.05)).tol(1e-9).fit(&x, &y).unwrap();
    let decide = |model: &dyn Model| model.decision_function(some(&x)).unwrap().to_f64_vec();
    assert_close(&decide(&by_share), &decide(&by_cost), 1e-5);
}

#[test]
fn given_kernels_are_the_named_ones_and_scikit_learn_s() {
    let case = &fixture("further.json")["precomputed"];
    let (x, y) = standard("wine");
    let n = y.numel();
    let (train, test) = (Tensor::arange(0, 178).slice(0, 0, n, 2), Tensor::arange(0, 178).slice(0, 1, n, 2));
    let (inside, outside) = (x.index_select(0, &train), x.index_select(0, &test));
    let rbf = KernelFunction::Rbf { gamma: case["gamma"].as_f64().unwrap() };
    let gram = kernel_matrix(&rbf, &inside, &inside).unwrap();
    let beside = kernel_matrix(&rbf, &outside, &inside).unwrap();
    let labels = y.index_select(0, &train);
    let svc =
        Svc::default().c(2.0).tol(1e-9).kernel(KernelKind::Precomputed).decision_function_shape(DecisionShape::Ovo);
    let model = svc.fit(&gram, &labels).unwrap();
    assert_close(&model.decision_function(&beside).unwrap().to_f64_vec(), &numbers(&case["svc"]), 1e-6);
    assert_eq!(model.predict(&beside).unwrap().to_f64_vec(), numbers(&case["svc_predict"]));
    let named = svc.clone().kernel(KernelKind::Rbf).gamma(Gamma::Value(0.07)).fit(&inside, &labels).unwrap();
    assert_eq!(named.support(), model.support());
    let copy = FittedSvc::restore(&model.record()).unwrap();
    assert_eq!(
        copy.decision_function(&beside).unwrap().to_f64_vec(),
        model.decision_function(&beside).unwrap().to_f64_vec()
    );
    let probable = svc.probability(true).fit(&gram, &labels).unwrap().predict_proba(&beside).unwrap();
    assert_eq!(probable.dims(), [n / 2, 3]);
    let targets = Tensor::from_slice(&numbers(&case["numbers"])).index_select(0, &train);
    let svr =
        Svr::default().c(2.0).epsilon(0.05).tol(1e-9).kernel(KernelKind::Precomputed).fit(&gram, &targets).unwrap();
    assert_close(&svr.predict(&beside).unwrap().to_f64_vec(), &numbers(&case["svr"]), 1e-6);
    let ridge = KernelRidge::default().alpha(0.5).kernel(KernelKind::Precomputed).fit(&gram, &targets).unwrap();
    assert_close(&ridge.predict(&beside).unwrap().to_f64_vec(), &numbers(&case["ridge"]), 1e-9);
    let copy = FittedKernelRidge::restore(&ridge.record()).unwrap();
    assert_eq!(copy.predict(&beside).unwrap().to_f64_vec(), ridge.predict(&beside).unwrap().to_f64_vec());
    // Rows of another width, and a matrix that is not square, are refused.
    assert!(model.predict(&outside).is_err());
    let error = Svr::default()
        .kernel(KernelKind::Precomputed)
        .fit(beside.narrow(1, 0, 5).contiguous(), &Tensor::ones([n / 2], DType::F64));
    assert!(error.unwrap_err().to_string().contains("all training samples with each other"));
}

#[test]
fn a_sigmoid_kernel_with_one_optimum_is_scikit_learn_s() {
    let (x, y) = standard("breast_cancer");
    for case in fixture("further.json")["sigmoid"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        let svc =
            Svc::default().kernel(KernelKind::Sigmoid).gamma(Gamma::Value(number("gamma"))).coef0(number("coef0"));
        let model = svc.c(number("c")).tol(1e-9).fit(&x, &y).unwrap();
        assert_close(&model.decision_function(some(&x)).unwrap().to_f64_vec(), &numbers(&case["decision"]), 1e-6);
        let support: Vec<f64> = model.support().iter().map(|&place| place as f64).collect();
        assert_eq!(support, numbers(&case["support"]));
    }
}

#[test]
fn saga_reaches_the_optimum_of_the_other_solvers() {
    for (name, c) in [("iris", 1.0), ("breast_cancer", 0.1)] {
        let (x, y) = standard(name);
        for (penalty, ratio) in [(Penalty::L2, 0.0), (Penalty::L1, 0.0), (Penalty::Elasticnet, 0.4)] {
            let settings = LogisticRegression::default().c(c).penalty(penalty).l1_ratio(ratio).tol(1e-10);
            let exact = settings.clone().solver(Solver::Newton).max_iter(1000).fit(&x, &y).unwrap();
            let saga = settings.clone().solver(Solver::Saga).max_iter(20_000).fit(&x, &y).unwrap();
            assert!(saga.summary().converged, "{name} {penalty:?} {:?}", saga.summary());
            assert_close(&saga.coef().to_f64_vec(), &exact.coef().to_f64_vec(), 1e-6);
            assert_close(&saga.intercept().to_f64_vec(), &exact.intercept().to_f64_vec(), 1e-6);
            let zeros =
                |model: &FittedLogisticRegression| model.coef().to_f64_vec().iter().filter(|&&w| w == 0.0).count();
            assert_eq!(zeros(&saga), zeros(&exact), "{name} {penalty:?}");
            match penalty {
                Penalty::L1 => assert!(zeros(&saga) > 0, "{name}"),
                Penalty::L2 => assert_eq!(zeros(&saga), 0, "{name}"),
                _ => {}
            }
        }
    }
    // Weights and sparse rows reach it too, and storage changes nothing but rounding.
    let (x, y) = standard("iris");
    let own = weights(150);
    let settings = LogisticRegression::default().solver(Solver::Saga).tol(1e-10).max_iter(20_000);
    let dense = settings.fit_weighted(&x, &y, &own).unwrap();
    let sparse = settings.fit_weighted(Csr::from_dense(&x).unwrap(), &y, &own).unwrap();
    let exact = LogisticRegression::default().tol(1e-10).fit_weighted(&x, &y, &own).unwrap();
    assert_close(&dense.coef().to_f64_vec(), &exact.coef().to_f64_vec(), 1e-6);
    assert_close(&sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-8);
    // Rows that lack most columns: weights are moved when a row has them, which must not be seen in the result. The seed of the
    // order decides the way, not the end.
    let chosen = Key::new(5).uniform([200, 30], DType::F64).to_f64_vec();
    let values = Key::new(6).normal([200, 30], DType::F64).to_f64_vec();
    let gaps = chosen.iter().zip(&values).map(|(chosen, value)| if *chosen < 0.1 { *value } else { 0.0 });
    let gaps = Tensor::from_vec(gaps.collect(), [200, 30]);
    let labels: Vec<i64> = (0..200).map(|i| i64::from(values[30 * i] + gaps.at::<f64>(&[i, 1]) > 0.0)).collect();
    let three: Vec<i64> = labels.iter().enumerate().map(|(i, &label)| if i % 3 == 0 { 2 } else { label }).collect();
    for labels in [Tensor::from(labels), Tensor::from(three)] {
        for (penalty, ratio) in [(Penalty::L2, 0.0), (Penalty::L1, 0.0), (Penalty::Elasticnet, 0.4)] {
            let settings = LogisticRegression::default().c(0.5).penalty(penalty).l1_ratio(ratio).tol(1e-10);
            let exact = settings.clone().solver(Solver::Newton).max_iter(1000).fit(&gaps, &labels).unwrap();
            let saga = settings.solver(Solver::Saga).max_iter(20_000);
            let fit = |seed| saga.clone().random_state(seed).fit(Csr::from_dense(&gaps).unwrap(), &labels).unwrap();
            let (first, second) = (fit(0), fit(1));
            for model in [&first, &second] {
                assert!(model.summary().converged, "{penalty:?} {:?}", model.summary());
                assert_close(&model.coef().to_f64_vec(), &exact.coef().to_f64_vec(), 1e-6);
                assert_close(&model.intercept().to_f64_vec(), &exact.intercept().to_f64_vec(), 1e-6);
            }
            assert_ne!(first.summary().curve, second.summary().curve);
        }
    }
    // Without enough passes it says so.
    let (x, y) = standard("iris");
    let short = LogisticRegression::default().solver(Solver::Saga).max_iter(1).tol(1e-9).fit(&x, &y).unwrap();
    assert!(!short.summary().converged && short.summary().warnings[0].contains("max_iter"));
}

#[test]
fn own_scores_decide_searches_and_a_search_is_judged_by_outer_folds() {
    let x = Key::new(3).normal([120, 4], DType::F64);
    let noise = Key::new(4).normal([120], DType::F64);
    let y = x.matmul(&Tensor::from([2.0, -1.0, 0.0, 0.0])) + noise;
    let samples = Samples::new(&x, &y).unwrap();
    // The user prefers strong penalties, whatever the error: the search must follow.
    let small = Scoring::new("small", |model, _| {
        Ok(-model.coefficients().unwrap().to_f64_vec().iter().map(|w| w * w).sum::<f64>())
    });
    let grid = || Grid::new().over("alpha", [0.1, 10.0, 1000.0]);
    let search = GridSearch::new(Ridge::default(), grid()).scorer(&small);
    let found = search.fit_samples(&Train::new(&samples)).unwrap();
    assert_eq!(found.best().settings[0].1, 1000.0.into());
    assert_eq!(found.scorers()[0], "small");
    let usual = GridSearch::new(Ridge::default(), grid());
    assert_ne!(usual.fit_samples(&Train::new(&samples)).unwrap().best().settings[0].1, 1000.0.into());
    // Both scores side by side; the first decides.
    let both =
        usual.clone().scorers(&[Scoring::from(Scorer::R2), small.clone()]).fit_samples(&Train::new(&samples)).unwrap();
    assert_ne!(both.best().settings[0].1, 1000.0.into());
    assert_eq!(both.best().scores.len(), 2);
    // Nested: the outer folds judge the whole choice. By hand it is the same.
    let outer = KFold::new(4);
    let nested = cross_val_score(&usual, &samples, KFold::new(4), Scorer::R2).unwrap();
    for (fold, score) in outer.split(samples.y().unwrap()).unwrap().iter().zip(&nested) {
        let train = Train::new(&samples.take(&fold.train).unwrap());
        let by_hand = usual.fit_samples(&train).unwrap();
        let test = samples.take(&fold.test).unwrap();
        assert_eq!(by_hand.model().unwrap().score(test.x(), test.y().unwrap()).unwrap().value, *score);
    }
    // A custom score that fails is written down with its message.
    let broken = Scoring::new("broken", |_, _| Err(LearnError::parameter("broken", "no")));
    assert!(usual.scorer(broken).fit_samples(&Train::new(&samples)).unwrap_err().to_string().contains("no"));
}

#[test]
fn descent_in_single_precision_stays_near_that_in_double() {
    for name in ["iris", "breast_cancer"] {
        let (x, y) = standard(name);
        // Small steps of a smooth loss: rounding is not amplified by samples that change sides.
        let mut sgd = SgdClassifier::default().loss(sgd::ClassLoss::LogLoss).max_iter(20).tol(None).alpha(0.01);
        sgd.learning_rate = sgd::LearningRate::Invscaling;
        let (double, single) = (sgd.fit(&x, &y).unwrap(), sgd.fit(x.to_dtype(DType::F32), &y).unwrap());
        assert_eq!(single.coef().dtype(), DType::F32);
        // Features rounded to 6e-8, 20 epochs: two digits more than that are left.
        assert_close(&single.coef().to_f64_vec(), &double.coef().to_f64_vec(), 1e-5);
        assert_close(
            &single.predict_proba(&x).unwrap().to_f64_vec(),
            &double.predict_proba(&x).unwrap().to_f64_vec(),
            1e-5,
        );
    }
    let (x, y) = diabetes();
    let sgd = SgdRegressor::default().max_iter(20).tol(None);
    let (double, single) = (sgd.fit(&x, &y).unwrap(), sgd.fit(x.to_dtype(DType::F32), &y).unwrap());
    assert_close(&single.coef().to_f64_vec(), &double.coef().to_f64_vec(), 1e-5);
}
