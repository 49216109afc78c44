//! Weights that PyTorch saved, loaded by name: the outputs are PyTorch's.

use std::path::PathBuf;

use tove_nn::{
    BatchNorm, Conv2d, Flatten, GlobalAvgPool2d, Layer, Linear, MaxPool2d, Mlp, ModuleExt, Nonlinearity, Pass, Rng,
    Sequential,
};
use tove_tensor::ConvOptions;

use crate::support::{TOL32, case, close, tensor};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

#[track_caller]
fn outputs_agree(net: &impl Layer, name: &str) {
    let case = case(name);
    let y = net.forward(&tensor(case.input("x")), &Pass::eval()).unwrap();
    close(&y, &tensor(case.output("y")), TOL32);
}

#[test]
fn a_perceptron_of_pytorch() {
    let mut net = Mlp::new(&[8, 16, 12, 3], &mut Rng::new(0));
    net.load(file("mlp.safetensors")).unwrap();
    outputs_agree(&net, "saved mlp");
}

#[test]
fn a_convolutional_net_with_batch_norms_of_pytorch() {
    let (mut rng, same) = (Rng::new(0), ConvOptions::new().padding(1));
    let mut net = Sequential::new()
        .add(Conv2d::with(1, 6, 3, same, &mut rng))
        .add(BatchNorm::new(6))
        .add(Nonlinearity::Relu)
        .add(MaxPool2d::new(2))
        .add(Conv2d::with(6, 8, 3, same, &mut rng).without_bias())
        .add(BatchNorm::new(8))
        .add(Nonlinearity::Relu)
        .add(GlobalAvgPool2d::new())
        .add(Flatten::new())
        .add(Linear::new(8, 10, &mut rng));
    let untouched = net.state();
    net.load(file("cnn.safetensors")).unwrap();
    outputs_agree(&net, "saved cnn");
    // Everything was in the file, running statistics included.
    for ((name, old), (_, new)) in untouched.iter().zip(net.state()) {
        assert_ne!(old.to_vec::<f32>(), new.to_vec::<f32>(), "{name}");
    }
    assert_eq!(net.count_trainable(), net.count_parameters());
}
