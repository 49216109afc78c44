//! H14 and H20: units that died, and gradients watched layer by layer.

use tove_data::TensorDataset;
use tove_nn::{
    Callback, Classification, Layer, Linear, Mlp, Module, ModuleExt, Nonlinearity, Pass, PassRecord, Progress, Rng,
    Sequential, Trainer, gradient_norms,
};
use tove_optim::Sgd;
use tove_tensor::{DType, Key, Tensor};

use crate::support::{moons, near};

/// A net whose hidden units 3 and 7 have a large negative bias.
fn net(phi: Nonlinearity) -> Mlp {
    let mut net = Mlp::new(&[4, 10, 2], &mut Rng::new(2)).activation(phi);
    let mut bias = vec![0.0f32; 10];
    (bias[3], bias[7]) = (-50.0, -80.0);
    net.layers[0].bias = Some(Tensor::from(bias).requires_grad());
    net
}

fn watch(net: &Mlp, x: &Tensor) -> PassRecord {
    let pass = Pass::eval().recording();
    net.forward(x, &pass).unwrap();
    pass.into_record()
}

#[test]
fn h14_units_that_are_off_for_all_data_are_dead() {
    let x = Key::new(1).normal([500, 4], DType::F32);
    let mut mortal = net(Nonlinearity::Relu);
    let record = watch(&mortal, &x);
    assert_eq!(record.dead_units(&mortal, "activations.0").unwrap(), [3, 7]);
    // Being off for some samples is normal: every other unit is, and lives.
    let hidden = record.output(&mortal, "activations.0").unwrap().detach();
    let off = hidden.eq_scalar(0.0).to_dtype(DType::F32).mean_axes(&[0], false).to_vec::<f32>();
    let living = off.iter().enumerate().filter(|(unit, _)| ![3, 7].contains(unit));
    assert!(living.clone().all(|(_, &share)| share > 0.0 && share < 1.0), "{off:?}");
    // No gradient, so that training leaves their weights as they are, and changes all others.
    let before = mortal.layers[0].weight.to_vec::<f32>();
    let mut sgd = Sgd::new(0.1);
    for _ in 0..5 {
        mortal.forward(&x, &Pass::eval()).unwrap().square().mean().backward();
        sgd.step(&mut mortal.parameters_mut()).unwrap();
    }
    let after = mortal.layers[0].weight.to_vec::<f32>();
    for (unit, (old, new)) in before.chunks(4).zip(after.chunks(4)).enumerate() {
        assert_eq!(old == new, [3, 7].contains(&unit), "unit {unit}");
    }
    // With a leak they pass a gradient, and there are none.
    let leaky = net(Nonlinearity::LeakyRelu(0.01));
    assert!(watch(&leaky, &x).dead_units(&leaky, "activations.0").unwrap().is_empty());
    leaky.forward(&x, &Pass::eval()).unwrap().square().mean().backward();
    let gradient = leaky.layers[0].weight.grad().unwrap();
    for unit in [3, 7] {
        assert!(gradient.get(unit).abs().max().item::<f32>() > 0.0);
    }
}

#[test]
fn h14_units_of_images_are_channels() {
    let mut rng = Rng::new(0);
    let mut conv = tove_nn::Conv2d::new(1, 3, 3, &mut rng);
    conv.bias = Some(Tensor::from([0.0f32, -90.0, 0.0]).requires_grad());
    let net = Sequential::new().add(conv).add(Nonlinearity::Relu);
    let pass = Pass::eval().recording();
    net.forward(&Key::new(3).normal([5, 1, 8, 8], DType::F32), &pass).unwrap();
    assert_eq!(pass.into_record().dead_units(&net, "1").unwrap(), [1]);
}

/// Norms of the gradients of every step.
struct Norms<'a>(&'a mut Vec<Vec<(String, f64)>>);

impl Callback for Norms<'_> {
    fn gradients(&mut self, step: u64, net: &dyn Module) {
        assert_eq!(step as usize, self.0.len() + 1);
        self.0.push(gradient_norms(net));
    }
}

#[test]
fn h20_norms_of_gradients_are_reported_layer_by_layer_in_training() {
    let (data, mut rows) = (moons(64, 1), Vec::new());
    let mut net = Mlp::new(&[2, 8, 8, 2], &mut Rng::new(1)).activation(Nonlinearity::Sigmoid);
    let twin = net.clone();
    let mut trainer = Trainer::new(Sgd::new(0.1))
        .steps(10)
        .batch_size(64)
        .shuffle(false)
        .clip_norm(1e-3)
        .progress(Progress::Silent)
        .callback(Norms(&mut rows));
    trainer.fit(&mut net, &Classification::new(), &data, None).unwrap();
    drop(trainer);
    assert_eq!(rows.len(), 10);
    let names: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    let expected = twin.named_parameters();
    assert_eq!(names, expected.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    // The first row by hand, before clipping.
    let batch = tove_data::Dataset::batch(&data, &(0..64).collect::<Vec<_>>(), Key::new(0)).unwrap();
    let logits = twin.forward(&batch.x, &Pass::eval()).unwrap();
    logits.cross_entropy(&batch.y, &Default::default()).backward();
    for ((name, norm), parameter) in rows[0].iter().zip(twin.parameters()) {
        let expected = parameter.grad().unwrap().square().sum().sqrt().item::<f32>();
        near(norm / f64::from(expected), 1.0, 1e-4);
        assert!(*norm > 0.0, "{name}");
    }
    // Gradients vanish towards the input of a sigmoid net.
    let of = |name: &str| rows[9].iter().find(|(other, _)| other == name).unwrap().1;
    assert!(of("layers.0.weight") < 0.5 * of("layers.2.weight"), "{:?}", rows[9]);
}

#[test]
fn a_layer_by_itself_can_be_recorded() {
    let (layer, pass) = (Linear::new(3, 2, &mut Rng::new(0)), Pass::eval().recording());
    let y = layer.forward(&Tensor::ones([1, 3], DType::F32), &pass).unwrap();
    let record = pass.into_record();
    assert_eq!(record.output(&layer, "").unwrap().to_vec::<f32>(), y.to_vec::<f32>());
    assert_eq!(record.named(&layer)[0].0, "");
    let set = TensorDataset::new(Tensor::ones([1, 3], DType::F32), Tensor::from([0i64])).unwrap();
    assert_eq!(tove_data::Dataset::len(&set), 1);
}
