//! Linear classification as the syllabus states it.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, error, fixture, matrix, numbers, standardised};
use tove_learn::{Fit, Labels, LogisticRegression, Model, Penalty, Predict, SgdClassifier, SoftmaxRegression, Solver};
use tove_lessons::classification::{
    class_of, hyperplane_distance, logistic_gradient, logistic_hessian, logistic_nll, logit, on_simplex,
    softmax_temperature,
};
use tove_optim::losses::{Loss, Softmax};
use tove_plot::{DecisionMap, Picture};
use tove_tensor::linalg::eigh;
use tove_tensor::{DType, Key, Tensor, gradcheck, hessian, value_and_grad};

fn with_ones(x: &Tensor) -> Tensor {
    Tensor::concat(&[x, &Tensor::ones([x.dims()[0], 1], x.dtype())], 1)
}

/// Two overlapping classes: 400 samples in three columns.
fn overlapping() -> (Tensor, Tensor, Vec<i64>) {
    let x = Key::new(3).normal([400, 3], DType::F64);
    let noise = Key::new(4).uniform([400], DType::F64).to_f64_vec();
    let rule = x.to_f64_vec().chunks(3).map(|x| 1.0 / (1.0 + (-1.5 * x[0] + x[1] - 0.3).exp())).collect::<Vec<_>>();
    let labels: Vec<i64> = rule.iter().zip(&noise).map(|(p, u)| i64::from(u < p)).collect();
    let y = Tensor::from(labels.iter().map(|&y| y as f64).collect::<Vec<_>>());
    (x, y, labels)
}

#[test]
fn f11_one_hot_codes_go_round_and_lie_sqrt_two_apart() {
    let y = Tensor::from([4i64, -1, 7, 7, 4, -1, 0]);
    let labels = Labels::of("f11", &y).unwrap();
    let codes = labels.one_hot(DType::F64);
    let rows: Vec<Vec<f64>> = codes.to_f64_vec().chunks(4).map(<[f64]>::to_vec).collect();
    let decoded =
        Labels::decode(labels.classes(), class_of(&codes).unwrap().to_vec::<i64>().iter().map(|&c| c as usize));
    assert_eq!(decoded.to_vec::<i64>(), y.to_vec::<i64>());
    for (a, &ya) in rows.iter().zip(&y.to_vec::<i64>()) {
        assert_eq!((a.iter().sum::<f64>(), a.iter().filter(|&&v| v == 1.0).count()), (1.0, 1));
        for (b, &yb) in rows.iter().zip(&y.to_vec::<i64>()) {
            let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!((distance - if ya == yb { 0.0 } else { std::f64::consts::SQRT_2 }).abs() < 1e-8);
        }
    }
}

#[test]
fn f12_the_largest_entry_chooses_and_the_simplex_is_tested() {
    let names = ["cat", "dog", "bird"];
    let printed = Tensor::from([0.2, 0.3, 0.4]);
    assert_eq!(names[class_of(&printed).unwrap().item::<i64>() as usize], "bird");
    assert!(!on_simplex(&printed, 1e-6).unwrap(), "it sums to 0.9");
    assert!(on_simplex(&(&printed / 0.9), 1e-12).unwrap());
    assert!(on_simplex(&Tensor::from([1.0 + 1e-9, 0.0]), 1e-8).unwrap());
    assert!(!on_simplex(&Tensor::from([1.0 + 1e-7, 0.0]), 1e-8).unwrap());
    assert!(!on_simplex(&Tensor::from([1.1, -0.1]), 1e-8).unwrap(), "an entry is negative");
    assert!(on_simplex(&Tensor::from([[0.5, 0.5], [0.0, 1.0]]), 1e-12).unwrap());
    assert!(!on_simplex(&Tensor::from([[0.5, 0.5], [0.5, 1.0]]), 1e-12).unwrap());
}

#[test]
fn f14_softmax_exponentiates_sums_and_divides() {
    let p = Tensor::from([1.0, 2.0, 3.0]).softmax(0).to_f64_vec();
    assert_close(&p, &[0.0900, 0.2447, 0.6652], 5e-5);
    let wanted = &fixture("logistic.json")["softmax"];
    let x = matrix(&wanted["x"]);
    let p = x.softmax(-1);
    assert!(error(&p.to_f64_vec(), &numbers(&wanted["p"])) < 1e-10);
    assert!(on_simplex(&p, 1e-14).unwrap() && p.to_f64_vec().iter().all(|&p| p > 0.0));
    assert!(error(&(&x + 123.0).softmax(-1).to_f64_vec(), &p.to_f64_vec()) < 1e-12, "shifting changes nothing");
    for (x, p) in x.to_f64_vec().chunks(7).zip(p.to_f64_vec().chunks(7)) {
        for (i, j) in (0..7).flat_map(|i| (0..7).map(move |j| (i, j))) {
            assert_eq!(x[i] < x[j], p[i] < p[j], "the order is kept");
        }
        let steps: Vec<f64> = x.iter().map(|x| x.exp()).collect();
        let sum: f64 = steps.iter().sum();
        assert_close(&steps.iter().map(|e| e / sum).collect::<Vec<_>>(), p, 1e-12);
    }
}

#[test]
fn f15_temperature_flattens_or_sharpens() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let bars = [(1.0, [0.0900, 0.2447, 0.6652]), (10.0, [0.3006, 0.3322, 0.3672]), (100.0, [0.3300, 0.3333, 0.3367])];
    for (tau, wanted) in bars {
        let p = softmax_temperature(&x, tau).unwrap().to_f64_vec();
        for (i, p) in p.iter().enumerate() {
            println!("tau {tau:>5} entry {i} {p:.4} {}", "#".repeat((p * 60.0).round() as usize));
        }
        assert_close(&p, &wanted, 5e-5);
    }
    let limit = |x: &Tensor, tau| softmax_temperature(x, tau).unwrap().to_f64_vec();
    assert!(limit(&x, 1e12).iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-9));
    assert!(limit(&x, 1e-3).iter().zip([0.0, 0.0, 1.0]).all(|(p, q)| (p - q).abs() < 1e-9));
    assert_eq!(limit(&x, 1e-308), [0.0, 0.0, 1.0]);
    let ties = Tensor::from([5.0, 1.0, 5.0, -2.0]);
    assert!(limit(&ties, 1e-3).iter().zip([0.5, 0.0, 0.5, 0.0]).all(|(p, q)| (p - q).abs() < 1e-9));
    for tau in [0.0, -1.0, f64::NAN] {
        assert!(softmax_temperature(&x, tau).is_err());
    }
}

#[test]
fn f16_softmax_regression_is_scikit_learn_s_and_the_augmented_form_is_the_same() {
    let (x, y) = data("iris");
    let x = standardised(&x);
    // All 150 x 3 probabilities, with two strengths of the l2 penalty and without a penalty: on labels of which a seventh is
    // mixed up, so that the optimum is finite, and on iris itself, of which one class is separable.
    tove_learn::on_warning(|_| {});
    let wanted = &fixture("syllabus.json")["softmax_regression"];
    let mixed = Tensor::from(numbers(&wanted["mixed"]).iter().map(|&y| y as i64).collect::<Vec<i64>>());
    let settings = SoftmaxRegression::default().tol(1e-10).max_iter(10_000);
    let off = settings.clone().penalty(Penalty::None);
    let cases = [
        ("l2", &settings, &y),
        ("strong", &settings.clone().c(0.05), &y),
        ("none", &off, &mixed),
        ("none_plain", &off, &y),
    ];
    for (name, settings, y) in cases {
        let p = settings.fit(&x, y).unwrap().predict_proba(&x).unwrap();
        assert_eq!(p.dims(), [150, 3]);
        let gap =
            p.to_f64_vec().iter().zip(numbers(&wanted[name])).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
        assert!(gap < 1e-4, "{name}: {gap:e}");
    }
    let model = settings.fit(&x, &y).unwrap();
    let p = model.predict_proba(&x).unwrap();
    // yhat = softmax(W x + b), from the logits.
    let logits = &x.matmul(&model.coef().t()) + model.intercept();
    assert!(error(&logits.softmax(-1).to_f64_vec(), &p.to_f64_vec()) < 1e-12);
    assert!(error(&model.decision_function(&x).unwrap().to_f64_vec(), &logits.to_f64_vec()) < 1e-12);
    // The mean cross-entropy is what the summary reports, without the penalty.
    let loss = Softmax::default().mean(&logits, &y).unwrap().item::<f64>();
    let penalty = model.coef().to_f64_vec().iter().map(|w| w * w).sum::<f64>() / 300.0;
    assert!((loss + penalty - model.summary().objective.unwrap()).abs() < 1e-12);
    // Augmented vectors (x, 1) with (W, b) as one matrix give the same scores.
    let augmented = Tensor::concat(&[model.coef(), &model.intercept().reshape([3, 1])], 1);
    let scores = with_ones(&x).matmul(&augmented.t());
    assert!(error(&scores.softmax(-1).to_f64_vec(), &p.to_f64_vec()) < 1e-10);
    // Trained in that form, without a penalty and on three overlapping classes, the fit is the same too.
    let (bias, ones) =
        (off.fit(&x, &mixed).unwrap(), off.clone().fit_intercept(false).fit(with_ones(&x), &mixed).unwrap());
    let (a, b) = (bias.predict_proba(&x).unwrap(), ones.predict_proba(with_ones(&x)).unwrap());
    assert!(error(&a.to_f64_vec(), &b.to_f64_vec()) < 1e-8);
    let parts = Tensor::concat(&[bias.coef(), &bias.intercept().reshape([3, 1])], 1);
    assert!(error(&ones.coef().to_f64_vec(), &parts.to_f64_vec()) < 1e-6, "one matrix (W, b)");
}

/// Rectangles (left, right, top, bottom) in whole pixels that a path of a picture paints.
fn rectangles(path: &str) -> Vec<[f64; 4]> {
    path.split('M')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let numbers: Vec<f64> = part
                .split([',', 'H', 'V', 'Z'])
                .filter(|text| !text.is_empty())
                .map(|text| text.parse().unwrap())
                .collect();
            [numbers[0], numbers[2], numbers[1], numbers[3]]
        })
        .collect()
}

/// The values of an attribute in all tags of a class.
fn attributes(svg: &str, tag: &str, class: &str, name: &str) -> Vec<String> {
    let tags = svg.split('<').filter(|text| text.starts_with(tag) && text.contains(&format!("class=\"{class}\"")));
    tags.map(|text| {
        let start = text.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        text[start..].split('"').next().unwrap().to_owned()
    })
    .collect()
}

#[test]
fn f17_a_grid_of_regions_and_weight_vectors_and_boundaries_of_equal_scores() {
    let (x, y) = data("iris");
    let x = standardised(&x.narrow(1, 2, 2).contiguous());
    let model = LogisticRegression::default().fit(&x, &y).unwrap();
    let (w, b) = (model.coef().to_f64_vec(), model.intercept().to_f64_vec());
    // A file with the regions on a grid and the weight vectors, from which the picture is drawn.
    let steps: Vec<f64> = (0..41).map(|i| -2.0 + 0.1 * f64::from(i)).collect();
    let grid: Vec<f64> = steps.iter().flat_map(|&v| steps.iter().flat_map(move |&u| [u, v])).collect();
    let grid = Tensor::from_vec(grid, [41 * 41, 2]);
    let (scores, classes) = (model.decision_function(&grid).unwrap(), model.predict(&grid).unwrap().to_vec::<i64>());
    let mut text = String::from("kind,u,v,class\n");
    for k in 0..3 {
        text += &format!("weight,{},{},{k}\n", w[2 * k], w[2 * k + 1]);
    }
    for (point, class) in grid.to_f64_vec().chunks(2).zip(&classes) {
        text += &format!("region,{:.2},{:.2},{class}\n", point[0], point[1]);
    }
    let path = std::env::temp_dir().join(format!("tove-f17-{}.csv", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let back = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(back.lines().filter(|line| line.starts_with("weight")).count(), 3);
    assert_eq!(back.lines().filter(|line| line.starts_with("region")).count(), 41 * 41);
    assert!((0..3).all(|class| classes.contains(&class)));
    for row in (0..41).rev().step_by(4) {
        println!("{}", (0..41).map(|c| ["o", "+", "x"][classes[row * 41 + c] as usize]).collect::<String>());
    }
    // The picture: regions, weight vectors, and boundaries whose points score equally for the fitted model itself.
    let vectors: Vec<[f64; 2]> = w.chunks(2).map(|w| [w[0], w[1]]).collect();
    let map = DecisionMap::linear(&vectors, &b, (-2.0, 2.0), (-2.0, 2.0)).unwrap();
    let svg = map.to_svg().unwrap();
    assert!(svg.starts_with("<svg") && ["w₁", "w₂", "w₃"].iter().all(|name| svg.contains(name)));
    // The painted regions are those of the model: they cover the plane without overlap, and each point of a region is predicted
    // as its class, but for cells that a boundary crosses.
    let regions: Vec<(i64, [f64; 4])> = (0..3)
        .flat_map(|class| {
            let paths = attributes(&svg, "path", &format!("region f{class}"), "d");
            paths.iter().flat_map(|path| rectangles(path)).map(|area| (class, area)).collect::<Vec<_>>()
        })
        .collect();
    let most = |of: fn(&[f64; 4]) -> f64| regions.iter().map(|(_, area)| of(area)).fold(f64::NEG_INFINITY, f64::max);
    let (left, right, top, bottom) = (-most(|a| -a[0]), most(|a| a[1]), -most(|a| -a[2]), most(|a| a[3]));
    let painted: f64 = regions.iter().map(|(_, [l, r, t, b])| (r - l) * (b - t)).sum();
    assert_eq!(painted, (right - left) * (bottom - top));
    let place = |x: f64, y: f64| [-2.0 + 4.0 * (x - left) / (right - left), 2.0 - 4.0 * (y - top) / (bottom - top)];
    let (mut inside, mut crossed) = ([0; 3], 0);
    for (class, [l, r, t, b]) in &regions {
        for y in [t + 1.0, 0.5 * (t + b), b - 1.0] {
            let point = place(0.5 * (l + r), y);
            let scores = model.decision_function(Tensor::from([point])).unwrap().to_f64_vec();
            let best = (0..3).fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
            if best as i64 == *class {
                inside[best] += 1;
                continue;
            }
            // Wrong by less than a cell: the class of the region scores as much within 1/30 + 1/100 of the plane's unit.
            let (own, other) = (*class as usize, best);
            let slope = ((w[2 * own] - w[2 * other]).powi(2) + (w[2 * own + 1] - w[2 * other + 1]).powi(2)).sqrt();
            assert!((scores[other] - scores[own]) / slope < 0.045, "{point:?} is painted as {class}: {scores:?}");
            crossed += 1;
        }
    }
    assert!(inside.iter().all(|&count| count > 50) && crossed < regions.len() / 4, "{inside:?} {crossed}");
    // The arrows of the weight vectors begin at the origin and point along w.
    let ends = |class: &str| -> Vec<[[f64; 2]; 2]> {
        let all = ["x1", "y1", "x2", "y2"].map(|name| attributes(&svg, "line", class, name));
        let at = |k: usize, i: usize| all[k][i].parse::<f64>().unwrap();
        (0..all[0].len()).map(|i| [place(at(0, i), at(1, i)), place(at(2, i), at(3, i))]).collect()
    };
    let arrows = ends("inkline vector");
    assert_eq!(arrows.len(), 3);
    for ([from, to], w) in arrows.iter().zip(w.chunks(2)) {
        assert!(from[0].hypot(from[1]) < 0.02, "{from:?}");
        let (along, across) = (to[0] * w[0] + to[1] * w[1], to[0] * w[1] - to[1] * w[0]);
        assert!(along > 0.0 && across.abs() < 0.05 * along, "{to:?} for {w:?}");
    }
    // The drawn boundaries are those below.
    let drawn = ends("inkline boundary");
    assert_eq!(drawn.len(), map.boundaries().len());
    for (drawn, exact) in drawn.iter().zip(map.boundaries()) {
        let off = |drawn: [f64; 2], exact: (f64, f64)| (drawn[0] - exact.0).hypot(drawn[1] - exact.1);
        assert!(off(drawn[0], exact[0]) < 0.02 && off(drawn[1], exact[1]) < 0.02, "{drawn:?} {exact:?}");
    }
    assert!(map.boundaries().len() >= 2); // setosa and virginica need not touch
    for [from, to] in map.boundaries() {
        for share in [0.0, 0.3, 0.5, 1.0] {
            let at = |a: f64, b: f64| a + share * (b - a);
            let point = Tensor::from([[at(from.0, to.0), at(from.1, to.1)]]);
            let mut scores = model.decision_function(&point).unwrap().to_f64_vec();
            scores.sort_by(|a, b| b.total_cmp(a));
            assert!(scores[0] - scores[1] < 1e-9, "{scores:?}");
        }
    }
    // The score is the projection on w, times its length, plus b.
    let length = (w[0] * w[0] + w[1] * w[1]).sqrt();
    for (point, score) in grid.to_f64_vec().chunks(2).zip(scores.to_f64_vec().chunks(3)) {
        let projection = (point[0] * w[0] + point[1] * w[1]) / length;
        assert!((projection * length + b[0] - score[0]).abs() < 1e-12);
    }
    // Between two classes the boundary is the line (w_a − w_b)·x = b_b − b_a: its points score equally.
    for (a, c) in [(0, 1), (0, 2), (1, 2)] {
        let normal = [w[2 * a] - w[2 * c], w[2 * a + 1] - w[2 * c + 1]];
        let square = normal[0] * normal[0] + normal[1] * normal[1];
        let foot = (b[c] - b[a]) / square;
        for along in [-3.0, -0.5, 0.0, 1.0, 2.5] {
            let point = Tensor::from([[foot * normal[0] - along * normal[1], foot * normal[1] + along * normal[0]]]);
            let scores = model.decision_function(&point).unwrap().to_f64_vec();
            assert!((scores[a] - scores[c]).abs() < 1e-9);
        }
    }
}

#[test]
fn f19_sigmoid_is_a_softmax_with_one_logit_at_zero() {
    let points: Vec<f64> = (0..41).map(|i| -30.0 + 1.5 * f64::from(i)).collect();
    let s = Tensor::from(points.clone());
    let pairs = Tensor::from_vec(points.iter().flat_map(|&s| [0.0, s]).collect::<Vec<f64>>(), [41, 2]);
    let second: Vec<f64> = pairs.softmax(-1).to_f64_vec().chunks(2).map(|row| row[1]).collect();
    assert!(error(&second, &s.sigmoid().to_f64_vec()) < 1e-10);
    assert!(error(&s.sigmoid().to_f64_vec(), &numbers(&fixture("logistic.json")["expit"])) < 1e-10);
    // Beyond 36 the double next to 1 is 1 itself, so the inverse is asked where σ still differs from 1.
    let near = Tensor::from((0..81).map(|i| -10.0 + 0.25 * f64::from(i)).collect::<Vec<f64>>());
    assert!(error(&logit(&near.sigmoid()).unwrap().to_f64_vec(), &near.to_f64_vec()) < 1e-10);
    let far = Tensor::from([-1000.0, 1000.0]);
    assert_eq!(far.sigmoid().to_f64_vec(), [0.0, 1.0]);
    assert_eq!(Tensor::from([[0.0, -1000.0], [0.0, 1000.0]]).softmax(-1).to_f64_vec(), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(logit(&Tensor::from([0.0, 0.5, 1.0])).unwrap().to_f64_vec(), [f64::NEG_INFINITY, 0.0, f64::INFINITY]);
}

#[test]
fn f20_one_sigmoid_and_two_softmax_outputs_are_one_model() {
    let (x, y, labels) = overlapping();
    let labels = Tensor::from(labels);
    let model = LogisticRegression::default().penalty(Penalty::None).tol(1e-10).fit(&x, &labels).unwrap();
    // Equal probabilities: softmax over (0, s).
    let s = model.decision_function(&x).unwrap();
    let two = Tensor::concat(&[&s.zeros_like().reshape([400, 1]), &s.reshape([400, 1])], 1).softmax(-1);
    assert!(error(&model.predict_proba(&x).unwrap().to_f64_vec(), &two.to_f64_vec()) < 1e-12);
    // Trained with two full outputs, the loss is the same.
    let inputs = with_ones(&x);
    let loss = |w: &Tensor| Softmax::default().mean(&inputs.matmul(&w.t()), &labels).unwrap();
    let settings = tove_optim::LbfgsSettings::default().gradient_tolerance(1e-9).value_tolerance(0.0);
    let (outputs, trained) = settings.minimize_tensor(loss, &Tensor::zeros([2, 4], DType::F64)).unwrap();
    assert!((trained.value - model.summary().objective.unwrap()).abs() < 1e-6);
    // So are its probabilities and its predictions; and the difference of its two weight vectors is the one of the sigmoid.
    let both = inputs.matmul(&outputs.t()).softmax(-1);
    assert!(error(&both.to_f64_vec(), &model.predict_proba(&x).unwrap().to_f64_vec()) < 1e-6);
    assert_eq!(both.argmax(1).to_vec::<i64>(), model.predict(&x).unwrap().to_vec::<i64>());
    let outputs = outputs.to_f64_vec();
    let difference: Vec<f64> = (0..4).map(|j| outputs[4 + j] - outputs[j]).collect();
    let own: Vec<f64> = model.coef().to_f64_vec().into_iter().chain(model.intercept().to_f64_vec()).collect();
    assert_close(&difference, &own, 1e-5);
    let w = Tensor::concat(&[&model.coef().reshape([3]), model.intercept()], 0);
    assert!((logistic_nll(&w, &inputs, &y).unwrap().item::<f64>() / 400.0 - trained.value).abs() < 1e-6);
    // Class 1 iff f > 0.5; a score of exactly 0 is class 0.
    let mirrored = Tensor::from([[-1.0], [1.0]]);
    let even = LogisticRegression::default().fit_intercept(false).fit(&mirrored, &Tensor::from([0i64, 1])).unwrap();
    let at = Tensor::from([[0.0], [1e-300], [-1e-300]]);
    assert_eq!(even.predict_proba(&at).unwrap().to_f64_vec()[..2], [0.5, 0.5]);
    assert_eq!(even.predict(&at).unwrap().to_vec::<i64>(), [0, 1, 0]);
}

#[test]
fn f21_the_gradient_is_the_mean_of_residuals_times_inputs() {
    let (x, y, _) = overlapping();
    let w = Tensor::from([0.3, -0.8, 0.1]);
    let mean = |w: &Tensor| logistic_nll(w, &x, &y).unwrap() / 400.0;
    gradcheck(|inputs: &[Tensor]| mean(&inputs[0]), std::slice::from_ref(&w)).unwrap();
    let (_, automatic) = value_and_grad(mean)(&w);
    let formula = logistic_gradient(&w, &x, &y).unwrap();
    assert!(error(&formula.to_f64_vec(), &automatic.to_f64_vec()) < 1e-12);
    // Sample by sample (f(x) − y) x; and with f(x) = w·x in place of σ it is the gradient of least squares: one formula.
    let rows = x.to_f64_vec();
    let by_samples = |f: fn(f64) -> f64| {
        let mut sum = [0.0; 3];
        for (row, y) in rows.chunks(3).zip(y.to_f64_vec()) {
            let z: f64 = row.iter().zip(w.to_f64_vec()).map(|(x, w)| x * w).sum();
            (0..3).for_each(|j| sum[j] += (f(z) - y) * row[j] / 400.0);
        }
        sum
    };
    assert_close(&by_samples(|z| 1.0 / (1.0 + (-z).exp())), &formula.to_f64_vec(), 1e-12);
    let (_, squares) = value_and_grad(|w: &Tensor| (x.matmul(w) - &y).square().sum() / 800.0)(&w);
    assert_close(&by_samples(|z| z), &squares.to_f64_vec(), 1e-12);
}

#[test]
fn f22_the_negative_log_likelihood_is_binary_cross_entropy() {
    let nll = |z: f64, y: f64| {
        logistic_nll(&Tensor::from([z]), &Tensor::from([[1.0]]), &Tensor::from([y])).unwrap().item::<f64>()
    };
    assert!((nll(2.0, 1.0) - 0.126928).abs() < 5e-7);
    assert_eq!((nll(1000.0, 1.0), nll(-1000.0, 0.0), nll(1000.0, 0.0), nll(-1000.0, 1.0)), (0.0, 0.0, 1000.0, 1000.0));
    let (x, y, _) = overlapping();
    for seed in 0..5 {
        let w = Key::new(seed).normal([3], DType::F64) * 3.0;
        let value = logistic_nll(&w, &x, &y).unwrap().item::<f64>();
        let z = x.matmul(&w).to_f64_vec();
        let (mut printed, mut entropy, mut likelihood) = (0.0, 0.0, 1.0);
        for (i, (z, y)) in z.iter().zip(y.to_f64_vec()).enumerate() {
            let p = 1.0 / (1.0 + (-z).exp());
            printed += -y * z + z.exp().ln_1p();
            entropy += -(y * p.ln() + (1.0 - y) * (1.0 - p).ln());
            if i < 20 {
                likelihood *= p.powf(y) * (1.0 - p).powf(1.0 - y);
            }
        }
        assert!((value - printed).abs() < 1e-10 * value && (value - entropy).abs() < 1e-9 * value && value >= 0.0);
        let first = logistic_nll(&w, &x.narrow(0, 0, 20), &y.narrow(0, 0, 20)).unwrap().item::<f64>();
        assert!((first + likelihood.ln()).abs() < 1e-9 * (1.0 + first), "minus the logarithm of the product");
    }
}

#[test]
fn f23_the_hessian_is_semidefinite_and_newton_needs_few_steps() {
    let (x, y, _) = overlapping();
    let inputs = with_ones(&x);
    for seed in 0..10 {
        let w = Key::new(seed).normal([4], DType::F64) * 2.0;
        let h = logistic_hessian(&w, &inputs).unwrap();
        let automatic = hessian(|w: &Tensor| logistic_nll(w, &inputs, &y).unwrap() / 400.0, &w);
        assert!(error(&h.to_f64_vec(), &automatic.to_f64_vec()) < 1e-10);
        assert!(eigh(&h).unwrap().values.to_f64_vec().iter().all(|&value| value >= -1e-12));
    }
    // w ← w − H⁻¹ g, from 0.
    let (mut w, mut steps) = (Tensor::zeros([4], DType::F64), 0);
    let size = |w: &Tensor| logistic_gradient(w, &inputs, &y).unwrap().square().sum().item::<f64>().sqrt();
    while size(&w) > 1e-10 {
        let step = logistic_hessian(&w, &inputs).unwrap().solve(&logistic_gradient(&w, &inputs, &y).unwrap());
        w = &w - &step;
        steps += 1;
        assert!(steps < 10);
    }
    // The estimator does the same, and statsmodels' Logit is met.
    let (iris, species) = data("iris");
    let two = iris.narrow(1, 0, 2).contiguous().index_select(0, &Tensor::arange(50, 150));
    let labels = species.index_select(0, &Tensor::arange(50, 150));
    let settings = LogisticRegression::default().penalty(Penalty::None).solver(Solver::Newton).tol(1e-10);
    let model = settings.fit(&two, &labels).unwrap();
    assert!(model.summary().converged && model.summary().iterations < 10 && model.summary().residual.unwrap() < 1e-10);
    let found = [model.intercept().to_f64_vec(), model.coef().to_f64_vec()].concat();
    assert_close(&found, &numbers(&fixture("logistic.json")["logit"]["parameters"]), 1e-7);
}

#[test]
fn f24_separable_classes_diverge_without_a_penalty_and_are_told() {
    let x = Tensor::from([[-2.0, 0.3], [-1.0, -0.4], [-0.5, 0.9], [0.7, 0.1], [1.1, -0.8], [2.5, 0.5]]);
    let y = Tensor::from([0i64, 0, 0, 1, 1, 1]);
    let norm = |model: &dyn Model| model.coefficients().unwrap().square().sum().item::<f64>().sqrt();
    for solver in [Solver::Newton, Solver::Lbfgs] {
        let mut before = 0.0;
        for iterations in [1, 3, 6, 10, 15, 25] {
            let settings = LogisticRegression::default().penalty(Penalty::None).tol(0.0).max_iter(iterations);
            let model = settings.solver(solver).fit(&x, &y).unwrap();
            let size = norm(&model);
            println!("{solver:?} {iterations:>3} iterations: |w| = {size:.3}");
            assert!(size > 1.05 * before, "{size} after {iterations}, {before} before");
            assert!(model.summary().warnings.iter().any(|text| text.contains("grow without bound")));
            before = size;
        }
        assert!(before > 15.0);
    }
    // With a penalty the optimum is finite, unique, and no warning comes.
    let fit = |solver| LogisticRegression::default().c(10.0).tol(1e-11).solver(solver).fit(&x, &y).unwrap();
    let (newton, lbfgs) = (fit(Solver::Newton), fit(Solver::Lbfgs));
    assert!(norm(&newton) < 10.0 && newton.summary().warnings.is_empty());
    assert_close(&newton.coef().to_f64_vec(), &lbfgs.coef().to_f64_vec(), 1e-8);
    // Three classes as well.
    let (x, y) = data("wine");
    let model = LogisticRegression::default().penalty(Penalty::None).fit(standardised(&x), &y).unwrap();
    assert!(model.summary().warnings.iter().any(|text| text.contains("separates the classes perfectly")));
}

#[test]
fn f25_nobody_beats_the_bayes_rule_and_distances_follow_the_formula() {
    // Two normal classes with a common covariance: the Bayes rule is linear and its risk is Φ(−Δ/2).
    let n = 40_000;
    let centre = [1.0, -0.5];
    let sample = |seed: u64| {
        let noise = Key::new(seed).normal([n, 2], DType::F64).to_f64_vec();
        let coin = Key::new(seed + 1).uniform([n], DType::F64).to_f64_vec();
        let labels: Vec<i64> = coin.iter().map(|&u| i64::from(u < 0.5)).collect();
        let x: Vec<f64> =
            noise.iter().enumerate().map(|(i, z)| z + centre[i % 2] * (2 * labels[i / 2] - 1) as f64).collect();
        (Tensor::from_vec(x, [n, 2]), Tensor::from(labels))
    };
    let (x, y) = sample(100);
    let (test, truth) = sample(200);
    let risk =
        |labels: &[i64]| labels.iter().zip(truth.to_vec::<i64>()).filter(|(a, b)| **a != *b).count() as f64 / n as f64;
    let w = Tensor::from(centre.to_vec());
    let bayes = risk(&test.matmul(&w).to_f64_vec().iter().map(|&s| i64::from(s > 0.0)).collect::<Vec<_>>());
    let exact = 0.131776239; // Φ(−√1.25)
    let noise = (exact * (1.0 - exact) / n as f64).sqrt();
    assert!((bayes - exact).abs() < 4.0 * noise, "{bayes} {exact}");
    let squares = Tensor::concat(&[&x, &x.square()], 1);
    let richer = Tensor::concat(&[&test, &test.square()], 1);
    let found = [
        ("logistic", risk(&LogisticRegression::default().fit(&x, &y).unwrap().predict(&test).unwrap().to_vec::<i64>())),
        (
            "quadratic",
            risk(&LogisticRegression::default().fit(&squares, &y).unwrap().predict(&richer).unwrap().to_vec::<i64>()),
        ),
        (
            "hinge",
            risk(
                &SgdClassifier::default()
                    .average(true.into())
                    .fit(&x, &y)
                    .unwrap()
                    .predict(&test)
                    .unwrap()
                    .to_vec::<i64>(),
            ),
        ),
    ];
    for (name, found) in found {
        println!("{name}: risk {found:.4}, Bayes {bayes:.4} on these samples, {exact:.4} exactly");
        assert!(found > exact - 4.0 * noise, "{name} beats the Bayes rule: {found}");
        assert!(found < exact + 0.01, "{name} {found}");
    }
    // The distance |w·x| / ‖w‖ is that to the nearest point of the hyperplane.
    let w = Key::new(5).normal([6], DType::F64);
    let points = Key::new(6).normal([50, 6], DType::F64) * 3.0;
    let distance = hyperplane_distance(&w, 0.0, &points).unwrap().to_f64_vec();
    let (w, square) = (w.to_f64_vec(), w.square().sum().item::<f64>());
    for (x, distance) in points.to_f64_vec().chunks(6).zip(distance) {
        let share = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() / square;
        let foot: Vec<f64> = x.iter().zip(&w).map(|(x, w)| x - share * w).collect();
        let gap = foot.iter().zip(x).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(
            foot.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>().abs() < 1e-12
                && (gap - distance).abs() < 1e-10 * (1.0 + gap)
        );
    }
}
