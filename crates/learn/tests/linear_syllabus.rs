//! The syllabus items of linear regression, each shown whole.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, error, fixture, matrix, numbers};
use tove_learn::features::PolynomialFeatures;
use tove_learn::linear::{Lasso, LeastSquares, LinearRegression, Ridge, Scaling};
use tove_learn::{Algorithm, Fit, Model, Predict, Rows, Samples, SoftmaxRegression, Transform};
use tove_lessons::regress_and_round::RegressAndRound;
use tove_optim::{Convex, LbfgsSettings, Objective, Region, check_chords};
use tove_tensor::linalg::{eigh, lstsq};
use tove_tensor::{DType, Key, Tensor, gradcheck};

fn normal(seed: u64, shape: &[usize]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

/// A model with given parameters, through the record that files use.
fn with_parameters(x: &Tensor, coef: &Tensor, intercept: f64) -> tove_learn::linear::FittedLinearRegression {
    use tove_learn::Restore;
    let fitted = LinearRegression::default().fit(x, &x.sum_axes(&[1], false)).unwrap();
    let mut record = fitted.record();
    record.put_tensor("coef", coef);
    record.put_tensor("intercept", &Tensor::scalar(intercept));
    tove_learn::linear::FittedLinearRegression::restore(&record).unwrap()
}

/// F2: f(X) = Xw + b of shape (n), equal to scikit-learn's prediction with equal parameters.
#[test]
fn f2_linear_model_predicts_like_scikit_learn_with_equal_parameters() {
    let case = &fixture("linear.json")["prediction"];
    let x = matrix(&case["x"]);
    let model = with_parameters(&x, &Tensor::from_slice(&numbers(&case["coef"])), case["intercept"].as_f64().unwrap());
    let predicted = model.predict(&x).unwrap();
    assert_eq!(predicted.dims(), [x.dims()[0]]);
    assert_close(&predicted.to_f64_vec(), &numbers(&case["predicted"]), 1e-10);
}

/// F3: LS(w, b) = (1/n)‖y − Xw − 1b‖² with gradient (2/n)Xᵀ(Xw + 1b − y), by name of the scaling.
#[test]
fn f3_least_squares_objective_and_gradient_under_named_scalings() {
    let (x, y, point) = (normal(1, &[12, 3]), normal(2, &[12]), normal(3, &[4]));
    for scaling in [Scaling::Mean, Scaling::HalfMean, Scaling::Half] {
        let f = LeastSquares::new(&x, &y, scaling, true).unwrap();
        assert_eq!(f.scaling(), scaling);
        gradcheck(|p| f.evaluate(&p[0]).unwrap(), std::slice::from_ref(&point)).unwrap();
        assert_close(
            &f.gradient(&point).unwrap().to_f64_vec(),
            &f.closed_gradient(&point).unwrap().to_f64_vec(),
            1e-12,
        );
        let penalised = f.penalised(0.3);
        gradcheck(|p| penalised.evaluate(&p[0]).unwrap(), std::slice::from_ref(&point)).unwrap();
        let closed = penalised.closed_gradient(&point).unwrap().to_f64_vec();
        assert_close(&penalised.gradient(&point).unwrap().to_f64_vec(), &closed, 1e-12);
    }
    // The gradient of the mean is 2/n times that of half the sum: the same zero, another step size.
    let mean = LeastSquares::new(&x, &y, Scaling::Mean, true).unwrap().closed_gradient(&point).unwrap();
    let half = LeastSquares::new(&x, &y, Scaling::Half, true).unwrap().closed_gradient(&point).unwrap();
    assert_close(&mean.to_f64_vec(), &(&half * (2.0 / 12.0)).to_f64_vec(), 1e-14);
    // By hand: residual Xw + b − y, then (2/n)Xᵀr.
    let residual = &(&x.matmul(&point.narrow(0, 0, 3)) + &point.narrow(0, 3, 1)) - &y;
    let by_w = x.t().matmul(&residual) * (2.0 / 12.0);
    assert_close(&mean.narrow(0, 0, 3).to_f64_vec(), &by_w.to_f64_vec(), 1e-13);
    let value = LeastSquares::new(&x, &y, Scaling::Mean, true).unwrap().value(&point).unwrap();
    assert!((value - residual.square().mean().item::<f64>()).abs() < 1e-13);
}

/// F4: XᵀX w = Xᵀy; like numpy's lstsq, and the residual is orthogonal to the columns.
#[test]
fn f4_normal_equations_like_numpy_with_an_orthogonal_residual() {
    let all = fixture("linear.json");
    for name in ["plain", "diabetes", "collinear", "wide"] {
        let case = &all["cases"][name];
        let (x, y) = if name == "diabetes" {
            common::data("diabetes")
        } else {
            (matrix(&case["x"]), Tensor::from_slice(&numbers(&case["y"])))
        };
        let bare = LinearRegression::default().fit_intercept(false).fit(&x, &y).unwrap();
        let wanted = numbers(&all["bare"][name]);
        assert_close(&bare.coef().to_f64_vec(), &wanted, 1e-8);
        let residual = &bare.predict(&x).unwrap() - &y;
        let slopes = x.t().matmul(&residual).abs().max().item::<f64>();
        let size = x.norm(2.0).item::<f64>() * y.norm(2.0).item::<f64>();
        assert!(slopes <= 1e-10 * size, "{name}: {slopes:e} of {size:e}");
        if name == "plain" || name == "diabetes" {
            let gram = x.t().matmul(&x);
            let direct = gram.inverse().matmul(&x.t().matmul(&y));
            assert_close(&bare.coef().to_f64_vec(), &direct.to_f64_vec(), 1e-8);
        }
    }
}

/// F5: least squares is convex: by construction, by the chord's identity, by the Hessian.
#[test]
fn f5_least_squares_is_convex_three_ways() {
    let (n, d) = (15, 4);
    let (x, y) = (normal(5, &[n, d]), normal(6, &[n]));
    let l = LeastSquares::new(&x, &y, Scaling::HalfMean, false).unwrap();
    // Convex of affine: ‖·‖² after w ↦ Xw − y.
    let built = Convex::half_square().after_affine(&x, &(-&y)).unwrap().times(1.0 / n as f64).unwrap();
    for seed in 0..5 {
        let (w, v) = (normal(10 + seed, &[d]), normal(20 + seed, &[d]));
        assert!((built.value(&w).unwrap() - l.value(&w).unwrap()).abs() < 1e-10);
        // The chord: L(tw + (1−t)v) − [tL(w) + (1−t)L(v)] = −(1/2n) t(1−t)‖X(w − v)‖² ≤ 0.
        for t in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let between = &(&w * t) + &(&v * (1.0 - t));
            let difference = l.value(&between).unwrap() - t * l.value(&w).unwrap() - (1.0 - t) * l.value(&v).unwrap();
            let identity = -0.5 / n as f64 * t * (1.0 - t) * x.matmul(&(&w - &v)).square().sum().item::<f64>();
            assert!((difference - identity).abs() <= 1e-10 * (1.0 + l.value(&w).unwrap() + l.value(&v).unwrap()));
            assert!(identity <= 0.0);
        }
    }
    assert!(check_chords(&l, &Region::around(&Tensor::zeros([d], DType::F64), 3.0), 500, 1).unwrap().is_none());
    // Equality where X(w − v) = 0, for a matrix with two equal columns.
    let twin = Tensor::from([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]]);
    let flat = LeastSquares::new(&twin, &Tensor::from([1.0, 0.0, 2.0]), Scaling::HalfMean, false).unwrap();
    let (w, v) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 0.0]));
    let middle = flat.value(&(&(&w + &v) * 0.5)).unwrap();
    assert!((middle - 0.5 * (flat.value(&w).unwrap() + flat.value(&v).unwrap())).abs() < 1e-14);
    // The Hessian is XᵀX/n with eigenvalues ≥ 0, also where one of them is 0.
    let hessian = l.hessian(&Tensor::zeros([d], DType::F64)).unwrap();
    assert_close(&hessian.to_f64_vec(), &(x.t().matmul(&x) * (1.0 / n as f64)).to_f64_vec(), 1e-10);
    assert!(eigh(&hessian).unwrap().values.to_f64_vec().iter().all(|&value| value >= 0.0));
    let hessian = flat.hessian(&w).unwrap();
    assert!(eigh(&hessian).unwrap().values.to_f64_vec().iter().all(|&value| value >= -1e-12));
}

/// F6: (XᵀX + λI)⁻¹Xᵀy, like scikit-learn, finite for equal columns, and towards the pseudoinverse as λ → 0.
#[test]
fn f6_ridge_like_scikit_learn_and_towards_the_pseudoinverse() {
    let all = fixture("linear.json");
    for name in ["plain", "wide", "diabetes"] {
        let case = &all["cases"][name];
        let (x, y) = if name == "diabetes" {
            common::data("diabetes")
        } else {
            (matrix(&case["x"]), Tensor::from_slice(&numbers(&case["y"])))
        };
        let model = Ridge::default().alpha(0.7).fit_intercept(false).fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &numbers(&case["ridge_bare"]["coef"]), 1e-8);
        let d = x.dims()[1];
        let lifted = &x.t().matmul(&x) + &(&Tensor::eye(d, DType::F64) * 0.7);
        assert_close(&model.coef().to_f64_vec(), &lifted.inverse().matmul(&x.t().matmul(&y)).to_f64_vec(), 1e-8);
        // It minimises ½‖y − Xw‖² + (λ/2)‖w‖².
        let f = LeastSquares::new(&x, &y, Scaling::Half, false).unwrap().penalised(0.7);
        let slope = f.closed_gradient(model.coef()).unwrap().abs().max().item::<f64>();
        assert!(slope < 1e-9 * x.square().sum().item::<f64>().max(1.0), "{slope:e}");
    }
    let x = normal(7, &[20, 3]);
    let doubled = Tensor::concat(&[&x, &x.narrow(1, 0, 1)], 1);
    let y = normal(8, &[20]);
    let pseudo = doubled.pinv(None).matmul(&y).to_f64_vec();
    let mut last = f64::INFINITY;
    for lambda in [1.0, 1e-2, 1e-4, 1e-6] {
        let model = Ridge::default().alpha(lambda).fit_intercept(false).fit(&doubled, &y).unwrap();
        let coef = model.coef().to_f64_vec();
        assert!(coef.iter().all(|w| w.is_finite()));
        let gap = error(&coef, &pseudo);
        assert!(gap < last, "λ {lambda}: {gap:e} after {last:e}");
        last = gap;
    }
    assert!(last < 1e-8, "{last:e}");
}

/// F7: three conventions, one estimator, the same w after conversion; eigenvalues of XᵀX + λ'I are at least λ'.
#[test]
fn f7_ridge_scaling_conventions_convert_into_each_other() {
    let (x, y) = common::data("diabetes");
    let n = x.dims()[0];
    let wanted = Ridge::default().alpha(3.0).fit_intercept(false).fit(&x, &y).unwrap().coef().to_f64_vec();
    for scaling in [Scaling::Half, Scaling::HalfMean, Scaling::Mean] {
        let lambda = scaling.lambda(3.0, n);
        let alpha = scaling.alpha(lambda, n);
        let model = Ridge::default().alpha(alpha).fit_intercept(false).fit(&x, &y).unwrap();
        assert_close(&model.coef().to_f64_vec(), &wanted, 1e-10);
        // And the convention's own objective is least there: Newton's step from zero ends at the same w.
        let f = LeastSquares::new(&x, &y, scaling, false).unwrap().penalised(lambda);
        let zero = Tensor::zeros([x.dims()[1]], DType::F64);
        let newton = -f.hessian(&zero).unwrap().solve(&f.gradient(&zero).unwrap());
        assert_close(&newton.to_f64_vec(), &wanted, 1e-10);
    }
    assert_eq!((Scaling::HalfMean.alpha(0.25, 10), Scaling::Mean.alpha(0.25, 10)), (5.0, 2.5)); // 2Nλ and Nλ
    let dependent = Tensor::concat(&[&x, &x.narrow(1, 0, 2)], 1);
    let d = dependent.dims()[1];
    for lambda in [1e-3, 3.0] {
        let lifted = &dependent.t().matmul(&dependent) + &(&Tensor::eye(d, DType::F64) * lambda);
        let least = eigh(&lifted).unwrap().values.at::<f64>(&[0]);
        let size = dependent.square().sum().item::<f64>();
        assert!(least >= lambda - 1e-14 * size, "{least} below {lambda}");
    }
}

/// F8: the lasso like scikit-learn's, soft thresholds for orthonormal columns, more zeros along the path, pruning.
#[test]
fn f8_lasso_selects_features() {
    let (x, y) = common::data("diabetes");
    let wanted = &fixture("linear.json")["cases"]["diabetes"]["lasso"];
    let exact = Lasso::default().alpha(wanted["alpha"].as_f64().unwrap()).tol(1e-14).max_iter(100_000);
    let model = exact.fit(&x, &y).unwrap();
    assert_close(&model.coef().to_f64_vec(), &numbers(&wanted["coef"]), 1e-6);
    // Orthonormal columns (XᵀX = nI in the 1/(2n) scaling): w = S(Xᵀy/n, α).
    let q = tove_tensor::linalg::qr(&normal(9, &[50, 6])).unwrap().q * 50f64.sqrt();
    let target = normal(10, &[50]);
    let bare = Lasso::default().alpha(0.1).fit_intercept(false).tol(1e-14).fit(&q, &target).unwrap();
    let products = (q.t().matmul(&target) * (1.0 / 50.0)).to_f64_vec();
    let soft: Vec<f64> = products.iter().map(|p| p.signum() * (p.abs() - 0.1).max(0.0)).collect();
    assert!(soft.contains(&0.0) && soft.iter().any(|&w| w != 0.0));
    assert_close(&bare.coef().to_f64_vec(), &soft, 1e-10);
    for (w, soft) in bare.coef().to_f64_vec().iter().zip(&soft) {
        assert_eq!(*w == 0.0, *soft == 0.0); // exact zeros
    }
    // More zeros for larger penalties; for orthonormal columns never fewer.
    let zeros = |w: &[f64]| w.iter().filter(|&&w| w == 0.0).count();
    let path = Lasso::default().fit_intercept(false).tol(1e-12).path(&q, &target, 40, 1e-3).unwrap();
    let counts: Vec<usize> = path.coefs.to_f64_vec().chunks(6).map(zeros).collect();
    assert!(counts.windows(2).all(|two| two[0] >= two[1]) && counts[39] == 0 && counts[0] >= 5, "{counts:?}");
    let path = Lasso::default().tol(1e-10).max_iter(100_000).path(&x, &y, 40, 1e-3).unwrap();
    let counts: Vec<usize> = path.coefs.to_f64_vec().chunks(10).map(zeros).collect();
    assert!(counts[0] >= 9 && counts[39] <= 1 && counts[10] > counts[30], "{counts:?}");
    // Pruning: without the columns of zero coefficients the predictions are the same.
    let coef = model.coef().to_f64_vec();
    let kept: Vec<i64> = (0..10).filter(|&j| coef[j as usize] != 0.0).collect();
    assert!(kept.len() < 10);
    let narrow = x.index_select(1, &Tensor::from_slice(&kept));
    let small: Vec<f64> = kept.iter().map(|&j| coef[j as usize]).collect();
    let pruned = &narrow.matmul(&Tensor::from_slice(&small)) + model.intercept();
    assert_close(&pruned.to_f64_vec(), &model.predict(&x).unwrap().to_f64_vec(), 1e-13);
}

/// F9: polynomial regression like numpy.polyfit; training error never rises with the degree, test error does in the end.
#[test]
fn f9_polynomial_regression_like_polyfit() {
    let case = &fixture("linear.json")["polynomials"];
    let (t, y) = (numbers(&case["t"]), Tensor::from_slice(&numbers(&case["y"])));
    let column = Tensor::from_vec(t.clone(), [40, 1]);
    // Tested between the samples and a little beyond them, on the rule without noise.
    let between: Vec<f64> = (0..60).map(|i| -1.1 + 2.2 * (i as f64 + 0.5) / 60.0).collect();
    let truth: Vec<f64> = between.iter().map(|t| t.powi(3) - t).collect();
    let between = Tensor::from_vec(between, [60, 1]);
    let (mut training, mut testing) = (Vec::new(), Vec::new());
    for degree in 1..=12 {
        let powers = PolynomialFeatures::default().degree(degree).include_bias(false).fit(&column, None).unwrap();
        let features = powers.transform(&column).unwrap();
        let model = LinearRegression::default().fit(&features, &y).unwrap();
        // numpy lists the highest power first: (xⁿ, …, 1).
        let mut found = model.coef().to_f64_vec();
        found.reverse();
        found.push(model.intercept().item::<f64>());
        assert_close(&found, &numbers(&case["polyfit"][degree.to_string()]), 1e-8);
        let mean_square = |a: &Tensor, b: &Tensor| (a - b).square().mean().item::<f64>();
        training.push(mean_square(&model.predict(&features).unwrap(), &y));
        let guess = model.predict(powers.transform(&between).unwrap()).unwrap();
        testing.push(mean_square(&guess, &Tensor::from_slice(&truth)));
    }
    assert!(training.windows(2).all(|two| two[1] <= two[0] * (1.0 + 1e-12)), "{training:?}");
    let best = testing.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(testing.iter().position(|&value| value == best), Some(2), "{testing:?}"); // the cubic
    assert!(testing[11] > 2.0 * best, "{testing:?}");
}

/// The order, names and values of polynomial features are scikit-learn's.
#[test]
fn polynomial_features_like_scikit_learn() {
    let case = &fixture("linear.json")["polynomials"];
    let x = matrix(&case["x"]);
    let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    for entry in case["features"].as_array().unwrap() {
        let settings = PolynomialFeatures {
            degree: entry["degree"].as_u64().unwrap() as usize,
            interaction_only: entry["interaction_only"].as_bool().unwrap(),
            include_bias: entry["include_bias"].as_bool().unwrap(),
        };
        let fitted = settings.fit(&x, None).unwrap();
        assert_close(&fitted.transform(&x).unwrap().to_f64_vec(), &numbers(&entry["values"]), 1e-13);
        let wanted: Vec<&str> = entry["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(fitted.output_names(&names), wanted);
        assert_eq!(fitted.outputs(), wanted.len());
        let again = <PolynomialFeatures as Algorithm>::Fitted::powers(&fitted);
        assert_eq!(again.len(), wanted.len());
    }
    assert!(PolynomialFeatures::default().degree(0).include_bias(false).fit(&x, None).is_err());
    assert!(PolynomialFeatures::default().degree(30).fit(normal(1, &[2, 40]), None).is_err());
}

/// F10: regress and round as a baseline, held within [1, m]; other names of the classes change its accuracy, not softmax's.
#[test]
fn f10_regress_and_round_depends_on_the_names_of_the_classes() {
    let (x, y) = common::data("iris");
    let labels = y.to_vec::<i64>();
    let model = RegressAndRound::default().fit(&x, &y).unwrap();
    let far = &x * 100.0;
    let raw = model.regression().predict(&far).unwrap().to_f64_vec();
    assert!(raw.iter().any(|&value| !(0.5..3.5).contains(&value)));
    let clamped: Vec<i64> = raw.iter().map(|value| value.round().clamp(1.0, 3.0) as i64 - 1).collect();
    assert_eq!(model.predict(&far).unwrap().to_vec::<i64>(), clamped);
    let accuracy = |names: [i64; 3]| {
        let renamed: Vec<i64> = labels.iter().map(|&label| names[label as usize]).collect();
        let y = Tensor::from_slice(&renamed);
        let naive = RegressAndRound::default().fit(&x, &y).unwrap().score(&x, &y).unwrap().value;
        let softmax = SoftmaxRegression::default().tol(1e-8).max_iter(1000).fit(&x, &y).unwrap();
        // The probabilities of each sample's classes, under the first names.
        let p = softmax.predict_proba(&x).unwrap().to_f64_vec();
        let p: Vec<f64> = p.chunks(3).flat_map(|row| names.map(|name| row[name as usize])).collect();
        (naive, softmax.score(&x, &y).unwrap().value, p)
    };
    let (in_order, softmax, p) = accuracy([0, 1, 2]);
    // Names under which the class in the middle is no longer in the middle.
    for names in [[1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]] {
        let (mixed, softmax_mixed, p_mixed) = accuracy(names);
        println!("{names:?}: naive {in_order} and {mixed}, softmax {softmax} and {softmax_mixed}");
        assert!(in_order > 0.9 && mixed < in_order - 0.05);
        assert!(softmax > 0.95 && softmax == softmax_mixed);
        assert_close(&p_mixed, &p, 1e-5);
    }
}

/// F13: y = Wx + b with W (m, c) is m regressions in parallel; 10 scores of an image and the class of the largest.
#[test]
fn f13_several_outputs_are_several_models() {
    let (x, y) = (normal(11, &[30, 4]), normal(12, &[30, 3]));
    let together = LinearRegression::default().fit(&x, &y).unwrap();
    let ridges = Ridge::default().alpha(0.5).fit(&x, &y).unwrap();
    assert_eq!((together.coef().dims(), together.intercept().dims()), (&[3, 4][..], &[3][..]));
    let predicted = together.predict(&x).unwrap();
    for output in 0..3 {
        let column = y.narrow(1, output, 1).reshape([30]);
        let alone = LinearRegression::default().fit(&x, &column).unwrap();
        assert_close(&together.coef().narrow(0, output, 1).to_f64_vec(), &alone.coef().to_f64_vec(), 1e-12);
        let part = predicted.narrow(1, output, 1).to_f64_vec();
        assert_close(&part, &alone.predict(&x).unwrap().to_f64_vec(), 1e-12);
        let ridge = Ridge::default().alpha(0.5).fit(&x, &column).unwrap();
        assert_close(&ridges.coef().narrow(0, output, 1).to_f64_vec(), &ridge.coef().to_f64_vec(), 1e-12);
    }
    // An image of 32 × 32 × 3 numbers: W is 10 × 3072, b has 10 entries, and the class is the place of the largest score.
    use tove_learn::Restore;
    let (w, b, image) = (normal(13, &[10, 3072]), normal(14, &[10]), normal(15, &[1, 3072]));
    let mut record = together.record();
    record.put("width", 3072);
    record.put_tensor("coef", &w);
    record.put_tensor("intercept", &b);
    let model = tove_learn::linear::FittedLinearRegression::restore(&record).unwrap();
    let scores = model.predict(&image).unwrap();
    assert_eq!(scores.dims(), [1, 10]);
    let pixels = image.to_f64_vec();
    let rows = w.to_f64_vec();
    let by_hand: Vec<f64> = (0..10)
        .map(|k| {
            rows[k * 3072..(k + 1) * 3072].iter().zip(&pixels).map(|(w, x)| w * x).sum::<f64>() + b.at::<f64>(&[k])
        })
        .collect();
    assert_close(&scores.to_f64_vec(), &by_hand, 1e-12);
    let largest = (0..10).max_by(|&a, &b| by_hand[a].total_cmp(&by_hand[b])).unwrap();
    assert_eq!(scores.argmax(1).to_vec::<i64>(), [largest as i64]);
    assert!((scores.to_f64_vec().iter().sum::<f64>() - 1.0).abs() > 1e-3); // not on the simplex
}

/// F29: doubling a feature shifts a bias-free output by exactly w_j x_j; a rule with an interaction needs more than a line.
#[test]
fn f29_a_linear_score_cannot_express_an_interaction() {
    let (x, y) = (normal(16, &[25, 5]), normal(17, &[25]));
    let model = LinearRegression::default().fit_intercept(false).fit(&x, &y).unwrap();
    let before = model.predict(&x).unwrap().to_f64_vec();
    for j in 0..5 {
        let mut doubled = x.to_f64_vec();
        doubled.iter_mut().skip(j).step_by(5).for_each(|x| *x *= 2.0);
        let after = model.predict(Tensor::from_vec(doubled, [25, 5])).unwrap().to_f64_vec();
        let shifts: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        let w = model.coef().at::<f64>(&[j]);
        let wanted: Vec<f64> = x.narrow(1, j, 1).to_f64_vec().iter().map(|x| w * x).collect();
        assert_close(&shifts, &wanted, 1e-10);
    }
    // "An income of 1500 is low unless age < 30": what counts as low jumps with age, from 750 to 1750. In thousands and decades;
    // class 1 is low.
    let mut rows = Vec::new();
    let mut low = Vec::new();
    for age in [20.0, 24.0, 28.0, 32.0, 40.0, 50.0, 60.0] {
        for income in [500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0] {
            rows.extend([income / 1000.0, age / 10.0]);
            let line = if age < 30.0 { 750.0 } else { 1750.0 };
            low.push(i64::from(income < line));
        }
    }
    let n = low.len();
    let x = Tensor::from_vec(rows, [n, 2]);
    let labels = Tensor::from_slice(&low);
    let numbers = labels.to_dtype(DType::F64);
    let linear = LinearRegression::default().fit(&x, &numbers).unwrap();
    let accuracy = |scores: &[f64], limit: f64| {
        scores.iter().zip(&low).filter(|(score, low)| i64::from(**score > limit) == **low).count() as f64 / n as f64
    };
    let scores = linear.predict(&x).unwrap().to_f64_vec();
    let best = scores.iter().map(|&limit| accuracy(&scores, limit)).fold(accuracy(&scores, 0.5), f64::max);
    // An MLP with eight hidden units.
    let hidden = 8;
    let net = |w: &Tensor| {
        let first = w.narrow(0, 0, 2 * hidden).reshape([2, hidden]);
        let bias = w.narrow(0, 2 * hidden, hidden);
        let second = w.narrow(0, 3 * hidden, hidden);
        &(&x.matmul(&first) + &bias).tanh().matmul(&second) + &w.narrow(0, 4 * hidden, 1)
    };
    let sign = Tensor::from_slice(&low.iter().map(|&low| 2.0 * low as f64 - 1.0).collect::<Vec<_>>());
    let loss = |w: &Tensor| &(-&(&net(w) * &sign)).softplus().mean() + &(w.square().sum() * 1e-5);
    let mlp = (0..5)
        .map(|seed| {
            let start = &normal(30 + seed, &[4 * hidden + 1]) * 1.0;
            let (w, _) = LbfgsSettings::default().max_iterations(1000).minimize_tensor(loss, &start).unwrap();
            accuracy(&net(&w).to_f64_vec(), 0.0)
        })
        .fold(0.0, f64::max);
    println!("linear {best}, MLP {mlp}");
    assert!(best < 1.0 && mlp == 1.0);
}

/// A14: the condition number like numpy's, what a change of y does with and without a ridge, and the warning of a fit.
#[test]
fn a_fit_to_hilbert_like_columns_warns_and_ridge_calms_it() {
    let (n, d) = (20usize, 8usize);
    let x: Vec<f64> = (0..n * d).map(|place| 1.0 / ((place / d + place % d + 1) as f64)).collect();
    let x = Tensor::from_vec(x, [n, d]);
    let y = normal(40, &[n]);
    let change = &normal(41, &[n]) * 1e-8;
    let moved = &y + &change;
    let least = LinearRegression::default().fit_intercept(false);
    let (first, second) = (least.fit(&x, &y).unwrap(), least.fit(&x, &moved).unwrap());
    assert!(first.summary().warnings[0].contains("condition number") && first.condition() > 1e8);
    let size = |a: &Tensor, b: &Tensor| (a - b).norm(2.0).item::<f64>();
    let plain = size(first.coef(), second.coef());
    let ridge = Ridge::default().alpha(1e-6).fit_intercept(false);
    let calm = size(ridge.fit(&x, &y).unwrap().coef(), ridge.fit(&x, &moved).unwrap().coef());
    assert!(plain > 100.0 * calm, "{plain:e} against {calm:e}");
    let report = tove_tensor::linalg::Conditioning::of(&x).unwrap();
    assert!(plain / change.norm(2.0).item::<f64>() <= report.sensitivity(0.0) * 1.01);
    let quiet = least.fit(normal(42, &[20, 8]), &y).unwrap();
    assert!(quiet.summary().warnings.is_empty());
}

#[test]
fn lstsq_of_the_tensor_crate_and_linear_regression_agree_on_samples_and_views() {
    let (x, y) = (normal(50, &[40, 6]), normal(51, &[40]));
    let view = x.t().contiguous().t();
    let wanted = lstsq(&x, &y, None).unwrap().solution.to_f64_vec();
    let bare = LinearRegression::default().fit_intercept(false);
    assert_close(&bare.fit(&view, &y).unwrap().coef().to_f64_vec(), &wanted, 1e-12);
    let samples = Samples::new(Rows::from(&x), &y).unwrap();
    assert_close(&bare.fit_samples(&samples).unwrap().coef().to_f64_vec(), &wanted, 1e-12);
}
