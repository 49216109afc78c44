//! Certificates: closed forms, an independent program in numpy, enumeration, and samples that must not break a bound.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tove_learn::{
    Fit, LinearSvc, LogisticRegression, MinMaxScaler, Pca, Pipeline, Predict, RobustScaler, StandardScaler,
};
use tove_nn::{Conv2d, Layer, Mlp, Nonlinearity, Pass, Rng};
use tove_tensor::{DType, Key, Tensor};
use tove_trust::TrustError;
use tove_trust::certificates::{
    CurveOptions, InputRegion, LinearScores, NearestSamples, Network, Relaxation, SearchEffort, certified_curve,
};
use tove_trust::robustness::AttackNorm;

const NORMS: [AttackNorm; 3] = [AttackNorm::L1, AttackNorm::L2, AttackNorm::LInf];
const RELAXATIONS: [Relaxation; 3] = [Relaxation::Intervals, Relaxation::Mixed, Relaxation::Crown];

fn uniform(seed: u64, n: usize) -> Vec<f64> {
    Key::new(seed).uniform([n], DType::F64).to_f64_vec()
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    Key::new(seed).normal([n], DType::F64).to_f64_vec()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Tensor {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(list).collect();
    Tensor::from_vec(rows.concat(), [rows.len(), rows[0].len()])
}

/// A random point of a box.
fn point(region: &InputRegion, seed: u64) -> Vec<f64> {
    let draws = uniform(seed, region.width());
    // Corners as often as inner points.
    let place = |u: f64| if seed.is_multiple_of(2) { u } else { f64::from(u8::from(u > 0.5)) };
    let bounds = region.lower().iter().zip(region.upper());
    bounds.zip(draws).map(|((low, high), u)| low + place(u) * (high - low)).map(|x| x.max(-1e300)).collect()
}

#[test]
fn linear_radii_are_the_closed_forms_and_tight() {
    for seed in 0..20 {
        let (d, classes) = (4, 3);
        let weights = Tensor::from_vec(normal(seed, d * classes), [classes, d]);
        let bias = Tensor::from_vec(normal(100 + seed, classes), [classes]);
        let scores = LinearScores::new(&weights, &bias).unwrap();
        let (x, budgets) = (normal(200 + seed, d), [1.0, 0.5, 2.0, 0.0]);
        let net = scores.network().unwrap();
        let z = net.evaluate(&x).unwrap();
        let w = weights.to_f64_vec();
        for norm in NORMS {
            let found = scores.radius(&x, &budgets, norm).unwrap();
            assert_eq!(found.class, net.predict(&x).unwrap());
            let to = |other: usize| {
                let scaled: Vec<f64> =
                    (0..d).map(|i| budgets[i] * (w[found.class * d + i] - w[other * d + i])).collect();
                let dual = match norm {
                    AttackNorm::L1 => scaled.iter().fold(0.0f64, |most, x| most.max(x.abs())),
                    AttackNorm::L2 => scaled.iter().map(|x| x * x).sum::<f64>().sqrt(),
                    AttackNorm::LInf => scaled.iter().map(|x| x.abs()).sum(),
                };
                (z[found.class] - z[other]) / dual
            };
            let best = (0..classes).filter(|other| *other != found.class).map(to).fold(f64::INFINITY, f64::min);
            assert!((found.radius - best).abs() < 1e-12 * (1.0 + best) && found.radius <= best * (1.0 + 1e-15));
            // Just inside the margins of the region are positive, just outside there is another class.
            let other = found.other.unwrap();
            let beyond: Vec<f64> =
                x.iter().zip(found.boundary.unwrap()).map(|(x, b)| x + (b - x) * (1.0 + 1e-9)).collect();
            assert_eq!(net.predict(&beyond).unwrap(), other);
            assert_eq!(beyond[3], x[3]); // without budget
            let region = |share: f64| {
                let scaled: Vec<f64> = budgets.iter().map(|b| share * found.radius * b).collect();
                InputRegion::around(&x, &scaled, norm).unwrap()
            };
            let robust = |share| net.margins(&region(share), found.class, Relaxation::Crown).unwrap();
            assert!(robust(0.999_999).iter().all(|margin| *margin > 0.0));
            assert!(robust(1.000_001).iter().any(|margin| *margin < 0.0));
        }
    }
}

#[test]
fn certificates_reach_through_pipelines() {
    let (n, d) = (150, 4);
    let noise = normal(1, n * d);
    let labels: Vec<i64> = (0..n as i64).map(|row| row % 3 + 4).collect();
    let units = [1.0, 100.0, 0.01, 5.0];
    let value = |i: usize| units[i % d] * (noise[i] + labels[i / d] as f64 * [1.0, -1.0, 0.5, 0.0][i % d]);
    let x = Tensor::from_vec((0..n * d).map(value).collect(), [n, d]);
    let y = Tensor::from_slice(&labels);
    let scaled = Pipeline::of(StandardScaler::default());
    let ranges = Pipeline::of(MinMaxScaler::default()).then(RobustScaler::default());
    for pipeline in [
        scaled.clone().then(LogisticRegression::default()),
        ranges.then(Pca::default().n_components(tove_learn::Components::Count(3))).then(LinearSvc::default()),
    ] {
        let model = pipeline.fit(&x, &y).unwrap();
        let scores = LinearScores::of(&model).unwrap();
        let predicted = model.predict(&x).unwrap().to_vec::<i64>();
        for (row, label) in predicted.iter().enumerate().take(20) {
            let own = x.to_f64_vec()[row * d..][..d].to_vec();
            for norm in NORMS {
                let found = scores.radius(&own, &units, norm).unwrap();
                assert_eq!(found.class as i64 + 4, *label);
                let at = |share: f64| {
                    let boundary = found.boundary.clone().unwrap();
                    let moved = own.iter().zip(boundary).map(|(x, b)| x + share * (b - x)).collect();
                    model.predict(Tensor::from_vec(moved, [1, d])).unwrap().to_vec::<i64>()[0]
                };
                assert_eq!(at(1.0 - 1e-6), *label);
                assert_eq!(at(1.0 + 1e-6) - 4, found.other.unwrap() as i64);
            }
        }
    }
    // Two classes have one score.
    let two = Tensor::from_slice(&labels.iter().map(|label| i64::from(*label > 4)).collect::<Vec<_>>());
    let model = scaled.then(LogisticRegression::default()).fit(&x, &two).unwrap();
    let scores = LinearScores::of(&model).unwrap();
    let own = x.to_f64_vec()[..d].to_vec();
    let decision = model.decision_function(Tensor::from_vec(own.clone(), [1, d])).unwrap().to_f64_vec()[0];
    assert!((scores.network().unwrap().evaluate(&own).unwrap()[0] - decision).abs() < 1e-9 * (1.0 + decision.abs()));
    let clipping = Pipeline::of(MinMaxScaler::default().clip(true)).then(LogisticRegression::default());
    let error = LinearScores::of(&clipping.fit(&x, &two).unwrap()).unwrap_err();
    assert!(matches!(error, TrustError::Unsupported { .. }) && error.to_string().contains("clips"));
    let knn = tove_learn::KNeighborsClassifier::default().fit(&x, &two).unwrap();
    assert!(LinearScores::of(&knn).unwrap_err().to_string().contains("not a linear classifier"));
    let line = tove_learn::LinearRegression::default().fit(&x, &two.to_dtype(DType::F64)).unwrap();
    assert!(LinearScores::of(&line).is_err());
}

#[test]
fn bounds_equal_an_independent_program() {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/certificates.json")).unwrap();
    for case in fixture["nets"].as_array().unwrap() {
        let (weights, biases) = (case["weights"].as_array().unwrap(), case["biases"].as_array().unwrap());
        let mut net = Network::new(list(&case["low"]).len()).unwrap();
        for (index, (w, b)) in weights.iter().zip(biases).enumerate() {
            net = if index > 0 { net.activation(Nonlinearity::Relu).unwrap() } else { net };
            net = net.affine(&matrix(w), Some(&Tensor::from_slice(&list(b)))).unwrap();
        }
        let region = InputRegion::between(&list(&case["low"]), &list(&case["high"])).unwrap();
        for (relaxation, name) in RELAXATIONS.into_iter().zip(["intervals", "mixed", "crown"]) {
            let bounds = net.bounds(&region, relaxation).unwrap();
            for (found, wanted) in [&bounds.lower, &bounds.upper].into_iter().zip(case[name].as_array().unwrap()) {
                let off = found.iter().zip(list(wanted)).map(|(a, b)| (a - b).abs()).fold(0.0f64, f64::max);
                assert!(off < 1e-10, "{name}: {found:?} {wanted}");
            }
        }
        // Merged with the last layer, and intersected with intervals: at least as tight as plain CROWN of the margins.
        let margins = net.margins(&region, 0, Relaxation::Crown).unwrap();
        assert!(margins.iter().zip(list(&case["margins"])).all(|(ours, plain)| *ours >= plain - 1e-10));
    }
}

/// Nets with every activation that has bounds, single and double precision, with scaling in front.
fn nets() -> Vec<(Network, Vec<f64>)> {
    let mut all = Vec::new();
    let bends = [Nonlinearity::Relu, Nonlinearity::Tanh, Nonlinearity::Sigmoid, Nonlinearity::LeakyRelu(0.1)];
    for (seed, bend) in bends.into_iter().cycle().take(12).enumerate() {
        let mut rng = Rng::new(seed as u64);
        let mlp = Mlp::new(&[4, 16, 12, 3], &mut rng).activation(bend);
        let scale = [0.1, 10.0, 1.0, 2.0];
        let net = Network::scaled(&scale, &[0.5, 0.0, -1.0, 0.0]).unwrap().mlp(&mlp).unwrap();
        let x = normal(50 + seed as u64, 4).iter().zip(scale).map(|(x, s)| x / s).collect();
        all.push((net, x));
    }
    all
}

#[test]
fn no_point_of_the_region_violates_a_bound_and_relaxation_is_never_wider() {
    for (index, (net, x)) in nets().into_iter().enumerate() {
        for (size, norm) in [
            (0.01, AttackNorm::LInf),
            (0.3, AttackNorm::LInf),
            (0.5, AttackNorm::L2),
            (0.5, AttackNorm::L1),
            (3.0, AttackNorm::LInf),
        ] {
            let budgets = [10.0 * size, 0.1 * size, size, 0.5 * size];
            let region = InputRegion::around(&x, &budgets, norm).unwrap();
            let bounds = RELAXATIONS.map(|relaxation| net.bounds(&region, relaxation).unwrap());
            for two in bounds.windows(2) {
                assert!(two[0].lower.iter().zip(&two[1].lower).all(|(a, b)| *b >= a - 1e-12 * a.abs()));
                assert!(two[0].upper.iter().zip(&two[1].upper).all(|(a, b)| *b <= a + 1e-12 * a.abs()));
            }
            let class = net.predict(&x).unwrap();
            let margins = RELAXATIONS.map(|relaxation| net.margins(&region, class, relaxation).unwrap());
            for seed in 0..60 {
                let p = point(&region, 1000 * index as u64 + seed);
                if region.contains(&p) {
                    let z = net.evaluate(&p).unwrap();
                    for bounds in &bounds {
                        assert!(z.iter().zip(&bounds.lower).all(|(z, low)| z >= low));
                        assert!(z.iter().zip(&bounds.upper).all(|(z, high)| z <= high));
                    }
                    let others = (0..3).filter(|other| *other != class);
                    let own: Vec<f64> = others.map(|other| z[class] - z[other]).collect();
                    for margins in &margins {
                        assert!(own.iter().zip(margins).all(|(own, bound)| own >= bound));
                    }
                }
            }
            let found = net.search(&region, class, &SearchEffort::default(), None).unwrap();
            if let Some(p) = found {
                assert!(region.contains(&p) && net.predict(&p).unwrap() != class);
                assert!(margins.iter().all(|margins| margins.iter().any(|margin| *margin <= 0.0)));
            }
        }
    }
}

#[test]
fn a_region_of_one_point_has_bounds_of_the_width_of_rounding() {
    for (net, x) in nets() {
        let region = InputRegion::between(&x, &x).unwrap();
        let (z, bounds) = (net.evaluate(&x).unwrap(), net.bounds(&region, Relaxation::Crown).unwrap());
        for ((z, low), high) in z.iter().zip(&bounds.lower).zip(&bounds.upper) {
            assert!(low <= z && z <= high && high - low < 1e-11, "{low} {z} {high}");
        }
    }
}

#[test]
fn one_hot_choices_and_whole_numbers_are_bounded_exactly_by_a_linear_model() {
    // Two numbers, one of them whole, and a block of three.
    let weights = normal(7, 5 * 3);
    let scores = LinearScores::new(&Tensor::from_vec(weights, [3, 5]), &Tensor::from([0.1, 0.0, -0.1])).unwrap();
    let net = scores.network().unwrap();
    let region = InputRegion::around(&[0.3, 2.0, 0.0, 1.0, 0.0], &[0.5, 1.7, 1.0, 1.0, 1.0], AttackNorm::LInf).unwrap();
    let region = region.integers(&[1]).unwrap().one_hot(&[2, 3, 4], &[1, 2]).unwrap();
    assert_eq!((region.lower()[1], region.upper()[1]), (1.0, 3.0));
    for class in 0..3 {
        let mut least = [f64::INFINITY; 2];
        for first in [-0.2, 0.8] {
            for second in [1.0, 2.0, 3.0] {
                for choice in [1, 2] {
                    let mut x = vec![first, second, 0.0, 0.0, 0.0];
                    x[2 + choice] = 1.0;
                    assert!(region.contains(&x));
                    let z = net.evaluate(&x).unwrap();
                    let others = (0..3).filter(|other| *other != class);
                    others.zip(&mut least).for_each(|(other, least)| *least = least.min(z[class] - z[other]));
                }
            }
        }
        let found = net.margins(&region, class, Relaxation::Crown).unwrap();
        assert!(found.iter().zip(least).all(|(found, least)| (found - least).abs() < 1e-12 && *found <= least));
    }
    // The box around the block is wider than the choice.
    let boxed = InputRegion::between(region.lower(), region.upper()).unwrap();
    let tighter = net.margins(&region, 0, Relaxation::Crown).unwrap();
    let wider = net.margins(&boxed, 0, Relaxation::Crown).unwrap();
    assert!(tighter.iter().zip(&wider).all(|(a, b)| a >= b) && tighter != wider);
}

#[test]
fn certified_inputs_keep_their_class_in_single_precision() {
    let mlp = Mlp::new(&[5, 20, 20, 4], &mut Rng::new(8));
    let net = Network::new(5).unwrap().mlp(&mlp).unwrap();
    let mut proven = 0;
    for row in 0..30 {
        let x = normal(300 + row, 5);
        let class = net.predict(&x).unwrap();
        let size = net
            .certified_size(&x, 0.5, |x, eps| InputRegion::around(x, &[eps; 5], AttackNorm::LInf), Relaxation::Crown)
            .unwrap();
        if size > 0.0 {
            proven += 1;
            let region = InputRegion::around(&x, &[size; 5], AttackNorm::LInf).unwrap();
            let points: Vec<f64> = (0..200).flat_map(|seed| point(&region, seed)).collect();
            let points = Tensor::from_vec(points, [200, 5]).to_dtype(DType::F32);
            let z = mlp.forward(&points, &Pass::eval()).unwrap().to_f64_vec();
            for z in z.chunks_exact(4) {
                assert!((0..4).all(|other| other == class || z[class] > z[other]));
            }
        }
    }
    assert!(proven > 20, "{proven}");
}

#[test]
fn robust_accuracy_lies_between_certificate_and_attack() {
    let (n, d) = (60, 2);
    let rows = normal(11, n * d);
    let mlp = Mlp::new(&[2, 16, 16, 2], &mut Rng::new(4));
    let net = Network::new(2).unwrap().mlp(&mlp).unwrap();
    let labels: Vec<i64> = rows.chunks_exact(d).map(|x| net.predict(x).unwrap() as i64).collect();
    let (x, y) = (Tensor::from_vec(rows.clone(), [n, d]), Tensor::from_slice(&labels));
    let eps = [0.0, 0.05, 0.2, 0.6, 5.0];
    let region = |x: &[f64], eps: f64| InputRegion::around(x, &[eps; 2], AttackNorm::LInf);
    let curve = certified_curve(&net, &x, &y, &eps, region, &CurveOptions::default()).unwrap();
    let intervals = CurveOptions { relaxation: Relaxation::Intervals, ..CurveOptions::default() };
    let plain = certified_curve(&net, &x, &y, &eps, region, &intervals).unwrap();
    assert_eq!((curve[0].certified.value, curve[0].unbroken.value), (1.0, 1.0));
    assert_eq!(curve[0].to_string(), "eps 0: robust accuracy from 100.0 % (proven) to 100.0 % (attacked)");
    for (point, plain) in curve.iter().zip(&plain) {
        assert!(point.certified.value <= point.unbroken.value && plain.certified.value <= point.certified.value);
        assert_eq!(point.open as f64, ((point.unbroken.value - point.certified.value) * n as f64).round());
        // A fine grid finds the truth between both.
        let steps = 40;
        let robust = rows.chunks_exact(d).zip(&labels).filter(|(x, label)| {
            (0..=steps * steps + 2 * steps).all(|cell| {
                let at = |k: usize| point.eps * (2.0 * k as f64 / steps as f64 - 1.0);
                let p = [x[0] + at(cell / (steps + 1)), x[1] + at(cell % (steps + 1))];
                net.predict(&p).unwrap() as i64 == **label
            })
        });
        let robust = robust.count() as f64 / n as f64;
        assert!(point.certified.value <= robust && robust <= point.unbroken.value + 0.05, "{robust} {point:?}");
    }
    assert!(curve.windows(2).all(|two| two[1].unbroken.value <= two[0].unbroken.value));
}

#[test]
fn nearest_neighbor_radii_equal_a_general_solver() {
    let fixture: Value = serde_json::from_str(include_str!("fixtures/certificates.json")).unwrap();
    for case in fixture["voronoi"].as_array().unwrap() {
        let labels: Vec<i64> = list(&case["labels"]).iter().map(|x| *x as i64).collect();
        let samples = NearestSamples::new(&matrix(&case["rows"]), &Tensor::from_slice(&labels)).unwrap();
        for (query, radius) in case["queries"].as_array().unwrap().iter().zip(list(&case["radii"])) {
            let found = samples.radius(&list(query), 1).unwrap();
            assert!((found.lower - radius).abs() < 1e-6 && (found.upper - radius).abs() < 1e-6, "{found:?} {radius}");
            assert!(found.lower <= found.upper);
        }
    }
}

#[test]
fn no_point_within_the_radius_of_k_neighbors_changes_the_vote() {
    let (n, d) = (40, 2);
    let x = Tensor::from_vec(normal(21, n * d), [n, d]);
    let labels: Vec<i64> =
        x.to_f64_vec().chunks_exact(d).map(|x| i64::from(x[0] > 0.2) + i64::from(x[1] > 1.0)).collect();
    let y = Tensor::from_slice(&labels);
    let samples = NearestSamples::new(&x, &y).unwrap();
    let mut positive = 0;
    for k in [1, 3, 4, 5] {
        let model = tove_learn::KNeighborsClassifier::default().n_neighbors(k).fit(&x, &y).unwrap();
        for row in 0..25 {
            let query = normal(400 + row, d);
            let found = samples.radius(&query, k).unwrap();
            let label = |p: Vec<f64>| model.predict(Tensor::from_vec(p, [1, d])).unwrap().to_vec::<i64>()[0];
            assert_eq!(label(query.clone()), found.label);
            positive += usize::from(found.lower > 0.0);
            for step in 0..32 {
                let angle = f64::from(step) / 32.0 * std::f64::consts::TAU;
                let reach = found.lower.min(10.0) * 0.999_999;
                let p = vec![query[0] + reach * angle.cos(), query[1] + reach * angle.sin()];
                assert_eq!(label(p), found.label);
            }
            if let Some(boundary) = found.boundary {
                let beyond = query.iter().zip(boundary).map(|(x, b)| x + (b - x) * (1.0 + 1e-6)).collect();
                assert_ne!(label(beyond), found.label);
            }
        }
    }
    assert!(positive > 70, "{positive}");
    let lonely = NearestSamples::new(&x, &Tensor::zeros([n], DType::I64)).unwrap();
    assert_eq!(lonely.radius(&[0.0, 0.0], 3).unwrap().lower, f64::INFINITY);
    assert!(samples.radius(&[0.0], 1).is_err() && samples.radius(&[0.0, 0.0], 0).is_err());
    assert!(samples.radius(&[0.0, f64::NAN], 1).is_err() && samples.radius(&[0.0, 0.0], 41).is_err());
}

#[test]
fn bad_input_is_refused_with_a_reason() {
    let around = |x: &[f64], b: &[f64]| InputRegion::around(x, b, AttackNorm::LInf);
    assert!(around(&[], &[]).is_err() && around(&[1.0], &[-1.0]).is_err() && around(&[f64::NAN], &[1.0]).is_err());
    assert!(around(&[1.0], &[1.0, 2.0]).is_err() && around(&[1.0], &[f64::INFINITY]).is_err());
    let unit = around(&[0.5, 0.5], &[0.25, 0.0]).unwrap();
    assert!(unit.clone().within(&[2.0, 0.0], &[3.0, 1.0]).unwrap_err().to_string().contains("feature 0"));
    assert!(unit.clone().integers(&[1]).is_err() && unit.clone().integers(&[2]).is_err());
    assert!(unit.clone().one_hot(&[0, 0], &[0]).is_err() && unit.clone().one_hot(&[0, 1], &[]).is_err());
    assert!(Network::new(0).is_err() && Network::scaled(&[1.0], &[]).is_err());
    assert!(Network::scaled(&[f64::NAN], &[0.0]).is_err());
    let net = Network::new(2).unwrap();
    assert!(net.clone().affine(&Tensor::ones([1, 3], DType::F64), None).is_err());
    assert!(net.clone().activation(Nonlinearity::Gelu).unwrap_err().to_string().contains("GELU"));
    assert!(net.clone().conv2d(&Conv2d::new(1, 1, 3, &mut Rng::new(0))).is_err());
    assert!(Network::images([1, 2, 2]).unwrap().conv2d(&Conv2d::new(1, 1, 3, &mut Rng::new(0))).is_err());
    assert!(net.margins(&unit, 2, Relaxation::Crown).is_err() && net.evaluate(&[1.0]).is_err());
    let same = net.bounds(&unit, Relaxation::Crown).unwrap();
    assert!((same.lower[0] - 0.25).abs() < 1e-14 && (same.upper[0] - 0.75).abs() < 1e-14);
    let wide = around(&[0.0], &[1.0]).unwrap();
    assert!(net.bounds(&wide, Relaxation::Crown).is_err());
    let huge = InputRegion::between(&[-1e308, 0.0], &[1e308, 0.0]).unwrap();
    let large = Network::scaled(&[1e10, 1.0], &[0.0, 0.0]).unwrap();
    assert!(large.bounds(&huge, Relaxation::Crown).unwrap_err().to_string().contains("not finite"));
    let (x, y) = (Tensor::zeros([2, 2], DType::F64), Tensor::from([0i64, 1]));
    let region = |x: &[f64], eps: f64| InputRegion::around(x, &[eps; 2], AttackNorm::LInf);
    let curve = |eps: &[f64], y: &Tensor| certified_curve(&net, &x, y, eps, region, &CurveOptions::default());
    assert!(curve(&[], &y).is_err() && curve(&[0.2, 0.1], &y).is_err() && curve(&[-0.1], &y).is_err());
    assert!(curve(&[0.1], &Tensor::from([0i64, 2])).is_err());
    let scores = LinearScores::new(&Tensor::zeros([2, 2], DType::F64), &Tensor::from([1.0, 0.0])).unwrap();
    assert_eq!(scores.radius(&[0.0, 0.0], &[1.0, 1.0], AttackNorm::L2).unwrap().radius, f64::INFINITY);
    assert!(scores.radius(&[0.0, 0.0], &[1.0, -1.0], AttackNorm::L2).is_err());
    let steep = LinearScores::new(&Tensor::from([[1e10, 1.0]]), &Tensor::from([0.0])).unwrap();
    assert!(steep.radius(&[1e300, 0.0], &[1.0, 1.0], AttackNorm::L2).unwrap_err().to_string().contains("overflow"));
    assert!(steep.network().unwrap().evaluate(&[1e300, 0.0]).unwrap_err().to_string().contains("overflow"));
    let samples = NearestSamples::new(&Tensor::from([[0.0], [1.0]]), &Tensor::from([0i64, 1])).unwrap();
    assert!(samples.radius(&[1e300], 1).unwrap_err().to_string().contains("overflow"));
}
