//! H7 to H9: what hidden layers can hold.

use tove_data::{Batch, Dataset, TensorDataset};
use tove_nn::{
    Classification, Layer, Linear, Mlp, ModuleExt, Nonlinearity, Pass, Progress, Regression, Rng, Trainer, TrainingTask,
};
use tove_optim::{Adam, Lbfgs, LbfgsSettings, Schedule};
use tove_tensor::{DType, Key, Tensor, linalg};

use crate::support::{moons, xor};

fn everything(set: &TensorDataset) -> Batch {
    set.batch(&(0..set.len()).collect::<Vec<_>>(), Key::new(0)).unwrap()
}

/// Full batches, with a step size that falls to 0.
fn fit<L: Layer>(net: &mut L, task: &impl TrainingTask<L>, set: &TensorDataset, rate: f64, steps: u64) {
    let trainer = Trainer::new(Adam::new(rate)).steps(steps).batch_size(set.len()).shuffle(false);
    trainer.schedule(Schedule::cosine(steps)).progress(Progress::Silent).fit(net, task, set, None).unwrap();
}

#[test]
fn h7_a_linear_bottleneck_finds_the_best_low_rank_representation() {
    let (samples, width, bottleneck) = (120, 8, 3);
    // Directions of different strength, mixed, and centred so that biases have nothing to gain.
    let strength = Tensor::from([4.0, 2.5, 1.8, 0.9, 0.7, 0.5, 0.3, 0.2]);
    let x = Key::new(1).normal([samples, width], DType::F64) * strength;
    let x = x.matmul(&linalg::qr(&Key::new(2).normal([width, width], DType::F64)).unwrap().q);
    let x = &x - &x.mean_axes(&[0], true);
    let values = linalg::svd(&x).unwrap().s.to_vec::<f64>();
    let best: f64 = values[bottleneck..].iter().map(|s| s * s).sum();
    let x32 = x.to_dtype(DType::F32);
    let set = TensorDataset::new(x32.clone(), x32.clone()).unwrap();
    let mut net = Mlp::new(&[width, bottleneck, width], &mut Rng::new(3)).activation(Nonlinearity::Identity);
    fit(&mut net, &Regression, &set, 0.03, 1500);
    let error = (net.forward(&x32, &Pass::eval()).unwrap() - x32).square().sum().item::<f32>();
    let ratio = f64::from(error) / best;
    assert!((1.0 - 1e-4..1.01).contains(&ratio), "{ratio}");
}

fn accuracy<L: Layer>(net: &L, set: &TensorDataset) -> f64 {
    let scores = TrainingTask::scores(&Classification::new(), net, &everything(set), &Pass::eval()).unwrap();
    scores.iter().find(|score| score.name == "accuracy").unwrap().value
}

fn probe(set: &TensorDataset) -> f64 {
    let inputs = everything(set).x.dims()[1];
    let mut probe = Linear::new(inputs, 2, &mut Rng::new(5));
    fit(&mut probe, &Classification::new(), set, 0.1, 400);
    accuracy(&probe, set)
}

#[test]
fn h8_the_last_hidden_layer_of_a_good_classifier_is_linearly_separable() {
    for (name, set) in [("xor", xor(200, 1)), ("moons", moons(200, 2))] {
        let mut net = Mlp::new(&[2, 16, 16, 2], &mut Rng::new(4));
        fit(&mut net, &Classification::new(), &set, 0.02, 400);
        let Batch { x, y } = everything(&set);
        let features = TensorDataset::new(net.features(&x, &Pass::eval()).unwrap(), y).unwrap();
        let (of_net, of_features, of_input) = (accuracy(&net, &set), probe(&features), probe(&set));
        assert!(of_net > 0.99, "{name}: {of_net}");
        assert!(of_features >= of_net && of_input < of_net - 0.05, "{name}: {of_net} {of_features} {of_input}");
    }
}

/// A net with one hidden layer, f64, whose hidden units are given by weights and biases on the line, and whose output
/// weights are the best ones on a grid of [0, 1]: the part of the training that is a convex problem, solved.
fn one_hidden_layer(phi: Nonlinearity, units: &[(f64, f64)], target: fn(f64) -> f64) -> Mlp {
    let mut net = Mlp::new(&[1, units.len(), 1], &mut Rng::new(0)).activation(phi);
    net.to_dtype(DType::F64).unwrap();
    net.layers[0].weight = Tensor::from_vec(units.iter().map(|unit| unit.0).collect(), [units.len(), 1]);
    net.layers[0].bias = Some(Tensor::from(units.iter().map(|unit| unit.1).collect::<Vec<f64>>()));
    let grid = Tensor::linspace(0.0, 1.0, 1001);
    let hidden = net.features(&grid.reshape([1001, 1]), &Pass::eval()).unwrap().detach();
    let table = Tensor::concat(&[&hidden, &Tensor::ones([1001, 1], DType::F64)], 1);
    let wanted = Tensor::from(grid.to_vec::<f64>().into_iter().map(target).collect::<Vec<f64>>());
    let solution = linalg::lstsq(&table, &wanted, Some(1e-12)).unwrap().solution;
    net.layers[1].weight = solution.narrow(0, 0, units.len()).reshape([1, units.len()]).contiguous();
    net.layers[1].bias = Some(solution.narrow(0, units.len(), 1).contiguous());
    net
}

/// One hidden layer of so many units, f64, all weights trained on 401 points of [0, 1].
fn trained_layer(phi: Nonlinearity, units: usize, target: fn(f64) -> f64) -> Mlp {
    let mut net = Mlp::new(&[1, units, 1], &mut Rng::new(1)).activation(phi);
    net.to_dtype(DType::F64).unwrap();
    // Units that bend at random places of [0, 1], some steeply: the usual start has all its bends at 0.
    let (slopes, places) = (Key::new(2).normal([units], DType::F64) * 20.0, Key::new(3).uniform([units], DType::F64));
    net.layers[0].weight = slopes.reshape([units, 1]).requires_grad();
    net.layers[0].bias = Some((-(&slopes * &places)).requires_grad());
    let grid = Tensor::linspace(0.0, 1.0, 401);
    let wanted: Vec<f64> = grid.to_vec::<f64>().into_iter().map(target).collect();
    let set = TensorDataset::new(grid.reshape([401, 1]), Tensor::from_vec(wanted, [401, 1])).unwrap();
    let settings = LbfgsSettings::default().max_iterations(100).value_tolerance(0.0).gradient_tolerance(1e-9);
    let mut trainer = Trainer::new(Lbfgs::build(settings).unwrap()).epochs(30).batch_size(401);
    trainer = trainer.progress(Progress::Silent);
    trainer.fit(&mut net, &Regression, &set, None).unwrap();
    net
}

/// Largest error on [0, 1], on points between those of the grid, too.
fn sup_error(net: &Mlp, target: fn(f64) -> f64) -> f64 {
    sup_error_on(net, target, 0.0, 1.0)
}

fn sup_error_on(net: &Mlp, target: fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let x = Tensor::linspace(low, high, 7777);
    let wanted = Tensor::from(x.to_vec::<f64>().into_iter().map(target).collect::<Vec<f64>>());
    let y = net.forward(&x.reshape([7777, 1]), &Pass::eval()).unwrap().detach();
    (y.flatten(0) - wanted).abs().max().item()
}

/// The least sup-error of a cubic on [0, 1], by Remez' exchange. At any five points the cubic that leaves errors ±E of
/// alternating sign gives a lower bound |E| (de la Vallée-Poussin); the points are moved to where it is largest.
fn best_cubic_error(target: fn(f64) -> f64) -> f64 {
    let mut points: Vec<f64> = (0..5).map(|i| 0.5 - 0.5 * (std::f64::consts::PI * f64::from(i) / 4.0).cos()).collect();
    let mut best = 0f64;
    for _ in 0..20 {
        let row = |(i, &x): (usize, &f64)| [1.0, x, x * x, x * x * x, if i % 2 == 0 { 1.0 } else { -1.0 }];
        let system = Tensor::from_vec(points.iter().enumerate().flat_map(row).collect(), [5, 5]);
        let wanted = Tensor::from_vec(points.iter().map(|&x| target(x)).collect(), [5, 1]);
        let c = system.solve(&wanted).to_vec::<f64>();
        best = best.max(c[4].abs());
        let rest = |x: f64| target(x) - (c[0] + x * (c[1] + x * (c[2] + x * c[3])));
        // The largest error between two changes of its sign.
        let mut peaks: Vec<(f64, f64)> = Vec::new();
        for x in (0..=4000).map(|i| f64::from(i) / 4000.0) {
            let error = rest(x);
            match peaks.last_mut() {
                Some(last) if last.1 * error >= 0.0 => {
                    if error.abs() > last.1.abs() {
                        *last = (x, error);
                    }
                }
                _ => peaks.push((x, error)),
            }
        }
        let least = |five: &[(f64, f64)]| five.iter().map(|peak| peak.1.abs()).fold(f64::MAX, f64::min);
        let Some(five) = peaks.windows(5).max_by(|a, b| least(a).total_cmp(&least(b))) else { break };
        points = five.iter().map(|peak| peak.0).collect();
    }
    best
}

#[test]
fn h9_enough_units_come_as_near_as_one_likes_and_polynomials_do_not() {
    let targets: [fn(f64) -> f64; 2] = [|x| (2.0 * std::f64::consts::PI * x).sin(), |x| (x - 0.5).abs()];
    // Units that switch on or bend at places spread over [0, 1].
    let places = |count: usize| (0..count).map(move |k| (k as f64 - 0.25) / count as f64);
    let rectifiers = |count| places(count).map(|place| (1.0, -place)).collect::<Vec<_>>();
    let bends = |count| places(count).map(|place| (count as f64, -place * count as f64)).collect::<Vec<_>>();
    // What the best cubic polynomial leaves over on [0, 1]. No net whose activation is a cubic can be nearer.
    let best_cubics = targets.map(best_cubic_error);
    // For |x − 1/2| it is known: half of the 1/8 that x² + 1/8 leaves of |x| on [-1, 1].
    assert!((best_cubics[1] - 1.0 / 16.0).abs() < 1e-6 && best_cubics[0] > 0.1, "{best_cubics:?}");
    for (target, best_cubic) in targets.into_iter().zip(best_cubics) {
        let best_cubic = best_cubic - 1e-4; // the largest error is taken at finitely many points
        for (phi, units) in
            [(Nonlinearity::Relu, &rectifiers as &dyn Fn(usize) -> Vec<(f64, f64)>), (Nonlinearity::Tanh, &bends)]
        {
            let errors = [4, 16, 256].map(|count| sup_error(&one_hidden_layer(phi, &units(count), target), target));
            assert!(errors[0] > errors[1] && errors[1] > errors[2] && errors[2] < 0.01, "{phi:?} {errors:?}");
        }
        // Cubes of affine maps are polynomials of degree 3, however many there are.
        let errors = [4, 16, 256]
            .map(|count| sup_error(&one_hidden_layer(Nonlinearity::Power(3.0), &rectifiers(count), target), target));
        assert!(errors.iter().all(|&error| error > best_cubic), "{errors:?}");
        assert!((errors[2] - errors[1]).abs() < 1e-3, "{errors:?}");
        // The same by training all weights, by L-BFGS on a grid.
        let trained = [(Nonlinearity::Tanh, 4), (Nonlinearity::Tanh, 96), (Nonlinearity::Power(3.0), 64)]
            .map(|(phi, count)| sup_error(&trained_layer(phi, count, target), target));
        println!("trained: {trained:?}");
        assert!(trained[1] < 0.01 && trained[1] < trained[0], "{trained:?}");
        assert!(trained[2] > best_cubic, "{trained:?}");
    }
}

#[test]
fn h9_what_holds_on_a_compact_set_does_not_hold_beyond_it() {
    let [sine, distance]: [fn(f64) -> f64; 2] = [|x| (2.0 * std::f64::consts::PI * x).sin(), |x| (x - 0.5).abs()];
    for count in [16, 64, 256] {
        let places = (0..count).map(|k| (f64::from(k) - 0.25) / f64::from(count));
        let rectifiers: Vec<(f64, f64)> = places.clone().map(|place| (1.0, -place)).collect();
        let slope = f64::from(count);
        let bends: Vec<(f64, f64)> = places.map(|place| (slope, -place * slope)).collect();
        // Beyond its last bend a net of rectifiers is affine, and 0 is the best affine approximation of ten periods of a
        // sine (21 points where the error is ±1 with alternating sign): the error is at least 1, however many units.
        let net = one_hidden_layer(Nonlinearity::Relu, &rectifiers, sine);
        let (inside, outside) = (sup_error(&net, sine), sup_error_on(&net, sine, 2.0, 12.0));
        assert!(inside < 0.1 && outside > 0.99, "{count} rectifiers: {inside} inside, {outside} outside");
        // A net of bounded units ends in a constant, which no target that grows stays near.
        for target in [sine, distance] {
            let net = one_hidden_layer(Nonlinearity::Tanh, &bends, target);
            let (inside, far) = (sup_error(&net, target), sup_error_on(&net, target, 1000.0, 2000.0));
            let least = if target(2000.0) > 1.0 { 499.0 } else { 0.99 };
            assert!(inside < 0.1 && far > least, "{count} bounded units: {inside} inside, {far} outside");
        }
    }
    // The same after training all weights.
    let net = trained_layer(Nonlinearity::Tanh, 16, sine);
    let (inside, outside) = (sup_error(&net, sine), sup_error_on(&net, sine, 2.0, 12.0));
    assert!(inside < 0.01 && outside > 0.5, "trained units: {inside} inside, {outside} outside");
    // On [0, 4] the theorem holds again, with more units. Written with 4x in the place of x, so that the set is [0, 1].
    let wide: fn(f64) -> f64 = |x| (8.0 * std::f64::consts::PI * x).sin();
    let errors = [64, 1024].map(|count| {
        let units: Vec<(f64, f64)> = (0..count).map(|k| (1.0, -(f64::from(k) - 0.25) / f64::from(count))).collect();
        sup_error(&one_hidden_layer(Nonlinearity::Relu, &units, wide), wide)
    });
    assert!(errors[1] < 0.01 && errors[0] > errors[1], "{errors:?}");
}
