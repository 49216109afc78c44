//! H10: many minima, and training works all the same.

use tove_data::{Dataset, TensorDataset, sets};
use tove_nn::{Classification, Mlp, ModuleExt, Pass, Progress, Rng, Trainer, TrainingTask};
use tove_optim::{Adam, Schedule};
use tove_tensor::{Key, Tensor, TryIndex};

const UNITS: usize = 12;
const STEPS: u64 = 1500;

fn fresh(seed: u64) -> Mlp {
    Mlp::new(&[2, UNITS, 2], &mut Rng::new(seed))
}

fn loss_tensor(net: &Mlp, set: &TensorDataset) -> Tensor {
    let batch = set.batch(&(0..set.len()).collect::<Vec<_>>(), Key::new(0)).unwrap();
    Classification::new().loss(net, &batch, &Pass::eval()).unwrap()
}

fn loss(net: &Mlp, set: &TensorDataset) -> f64 {
    loss_tensor(net, set).to_f64_vec()[0]
}

fn gradient_norm(net: &Mlp, set: &TensorDataset) -> f64 {
    let net = net.copied().unwrap();
    loss_tensor(&net, set).backward();
    let squares = net.parameters().into_iter().map(|p| p.grad().unwrap().square().sum().item::<f32>() as f64);
    squares.sum::<f64>().sqrt()
}

/// Full batches and a step size that falls to 0, so that training ends near a stationary point.
fn trained(seed: u64, set: &TensorDataset) -> Mlp {
    let mut net = fresh(seed);
    let trainer = Trainer::new(Adam::new(0.03)).steps(STEPS).batch_size(set.len()).shuffle(false).seed(seed);
    let mut trainer = trainer.schedule(Schedule::cosine(STEPS)).progress(Progress::Silent);
    trainer.fit(&mut net, &Classification::new(), set, None).unwrap();
    net
}

fn distance(a: &Mlp, b: &Mlp) -> f64 {
    let square = |((_, a), (_, b)): ((String, Tensor), (String, Tensor))| (a - b).square().sum().item::<f32>();
    a.state().into_iter().zip(b.state()).map(square).map(f64::from).sum::<f64>().sqrt()
}

/// The same net with its hidden units in another order.
fn permuted(net: &Mlp, order: &Tensor) -> Mlp {
    let mut net = net.clone();
    let take = |tensor: &Tensor, axis| tensor.try_index_select(axis, order).unwrap();
    net.layers[0].weight = take(&net.layers[0].weight, 0);
    net.layers[0].bias = net.layers[0].bias.as_ref().map(|bias| take(bias, 0));
    net.layers[1].weight = take(&net.layers[1].weight, 1);
    net
}

/// The net half-way between two.
fn midpoint(a: &Mlp, b: &Mlp) -> Mlp {
    let mut middle = a.copied().unwrap();
    let state: Vec<(String, Tensor)> =
        a.state().into_iter().zip(b.state()).map(|((name, a), (_, b))| (name, (a + b) * 0.5)).collect();
    middle.load_state(&state).unwrap();
    middle
}

/// What neither the order of the units nor the scale of a rectifier changes: |(w, b)| |v| for each unit, sorted.
fn strengths(net: &Mlp) -> Vec<f64> {
    let (weight, bias) = (net.layers[0].weight.detach().to_f64_vec(), net.layers[0].bias.as_ref().unwrap());
    let (bias, out) = (bias.detach().to_f64_vec(), net.layers[1].weight.detach().to_f64_vec());
    let unit = |j: usize| {
        let [w0, w1, b, v0, v1] = [weight[2 * j], weight[2 * j + 1], bias[j], out[j], out[UNITS + j]];
        (w0 * w0 + w1 * w1 + b * b).sqrt() * v0.hypot(v1)
    };
    let mut strengths: Vec<f64> = (0..UNITS).map(unit).collect();
    strengths.sort_by(f64::total_cmp);
    strengths
}

#[test]
fn h10_many_minima_of_similar_loss() {
    // Clouds that overlap: no net can reach a loss near 0, so that losses can be compared by their ratio.
    let set = sets::xor_clouds(1000, 0.7, Key::new(7)).unwrap();
    let nets: Vec<Mlp> = (1..=8).map(|seed| trained(seed, &set)).collect();
    let losses: Vec<f64> = nets.iter().map(|net| loss(net, &set)).collect();
    let at_start: Vec<f64> = (1..=8).map(|seed| loss(&fresh(seed), &set)).collect();

    println!("losses {losses:.4?} from {at_start:.4?}");

    // Hidden units in another order: the same loss, at other parameters.
    for (seed, (net, &at_end)) in nets.iter().zip(&losses).enumerate() {
        let order = Tensor::from(tove_tensor::random::permutation(Key::new(seed as u64), UNITS));
        let other = permuted(net, &order);
        assert!((loss(&other, &set) - at_end).abs() < 1e-6);
        assert!(distance(&other, net) > 1.0);
        // They are not one valley: half-way the loss is far higher. So it is not convex.
        let between = loss(&midpoint(net, &other), &set);
        assert!(between > at_end + 0.05, "seed {seed}: {at_end} at both ends, {between} between");
        // Training has come to rest, up to the kinks of rectifiers.
        let (before, after) = (gradient_norm(&fresh(seed as u64 + 1), &set), gradient_norm(net, &set));
        assert!(after < 0.1 * before, "seed {seed}: gradient {before} to {after}");
    }

    // Other seeds: other parameters, and not the same ones in another order or scale.
    for (index, net) in nets.iter().enumerate() {
        for other in &nets[..index] {
            assert!(distance(net, other) > 1.0);
            let gap = strengths(net).iter().zip(strengths(other)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(gap > 0.05, "{gap}");
        }
    }
    // And similar losses: all fell, and they lie close together, in themselves and beside what they fell by.
    let (low, high) = losses.iter().fold((f64::MAX, 0f64), |(low, high), &loss| (low.min(loss), high.max(loss)));
    assert!(at_start.iter().all(|&start| high < 0.6 * start), "{losses:?} from {at_start:?}");
    assert!(high / low < 1.15, "{losses:?}");
    let fall = (at_start.iter().sum::<f64>() - losses.iter().sum::<f64>()) / 8.0;
    assert!(high - low < 0.15 * fall, "{losses:?} from {at_start:?}");
}
