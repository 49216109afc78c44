//! H10: many minima, and training works all the same.

use tove_data::Dataset;
use tove_nn::{Classification, Mlp, ModuleExt, Pass, Progress, Rng, Task, Trainer};
use tove_optim::Adam;
use tove_tensor::{Key, Tensor, TryIndex};

use crate::support::moons;

fn loss(net: &Mlp, set: &dyn Dataset) -> f64 {
    let batch = set.batch(&(0..set.len()).collect::<Vec<_>>(), Key::new(0)).unwrap();
    Classification::new().loss(net, &batch, &Pass::eval()).unwrap().to_f64_vec()[0]
}

fn trained(seed: u64, set: &dyn Dataset) -> Mlp {
    let mut net = Mlp::new(&[2, 16, 2], &mut Rng::new(seed));
    let mut trainer = Trainer::new(Adam::new(0.03)).epochs(60).batch_size(32).seed(seed).progress(Progress::Silent);
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

#[test]
fn h10_many_minima_of_similar_loss() {
    let set = moons(200, 7);
    let nets: Vec<Mlp> = (1..=4).map(|seed| trained(seed, &set)).collect();
    // Hidden units in another order: the same function, at other parameters.
    for seed in 0..5 {
        let order = Tensor::from(tove_tensor::random::permutation(Key::new(seed), 16));
        let other = permuted(&nets[0], &order);
        assert!((loss(&other, &set) - loss(&nets[0], &set)).abs() < 1e-6);
        assert!(distance(&other, &nets[0]) > 1.0);
    }
    // Other seeds: other parameters, and not the same ones in another order, with a loss as low.
    let lengths = |net: &Mlp| {
        let mut lengths = net.layers[0].weight.detach().norm_axes(2.0, &[1], false).to_vec::<f32>();
        lengths.sort_by(f32::total_cmp);
        lengths
    };
    let untrained = loss(&Mlp::new(&[2, 16, 2], &mut Rng::new(9)), &set);
    for (index, net) in nets.iter().enumerate() {
        assert!(loss(net, &set) < 0.1 * untrained, "{} of {untrained}", loss(net, &set));
        for other in &nets[..index] {
            assert!(distance(net, other) > 1.0);
            let gap = lengths(net).iter().zip(lengths(other)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(gap > 0.05, "{gap}");
        }
    }
}
