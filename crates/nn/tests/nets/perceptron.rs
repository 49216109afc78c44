//! H3 to H6: the multi-layer perceptron, its names and its numbers of parameters.

use tove_nn::{Init, Layer, Linear, Mlp, ModuleExt, Nonlinearity, Pass, Rng, Sequential, summary};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{TOL32, TOL64, agrees, case, close, tensor};

#[test]
fn h3_sequential_equals_pytorch_forward_and_backward() {
    let mut rng = Rng::new(0);
    let mut net = Sequential::new()
        .add(Linear::new(4, 6, &mut rng))
        .add(Nonlinearity::Tanh)
        .add(Linear::new(6, 5, &mut rng))
        .add(Nonlinearity::Relu)
        .add(Linear::new(5, 3, &mut rng));
    agrees(&mut net, case("mlp"), &Pass::eval()); // the rectifier worked out together with its layer
    net.zero_grad();
    agrees(&mut net, case("mlp"), &Pass::eval().recording()); // and by itself
}

#[test]
fn h3_without_a_nonlinearity_the_net_is_one_affine_map() {
    let mut net = Mlp::new(&[5, 7, 4, 3], &mut Rng::new(1)).activation(Nonlinearity::Identity);
    net.to_dtype(DType::F64).unwrap();
    let [first, second, third] = &net.layers[..] else { panic!("three layers") };
    let bias = |layer: &Linear| layer.bias.clone().unwrap();
    let weight = third.weight.matmul(&second.weight).matmul(&first.weight);
    let upper = third.weight.matmul(&second.weight);
    let shift = bias(third) + third.weight.matmul(&bias(second)) + upper.matmul(&bias(first));
    let x = Key::new(2).normal([6, 5], DType::F64);
    let collapsed = Linear { weight, bias: Some(shift) }.forward(&x, &Pass::eval()).unwrap();
    close(&net.forward(&x, &Pass::eval()).unwrap(), &collapsed, TOL64);
    // With one it is not: the value at the midpoint is no longer the mean of the values at the ends.
    let curved = net.activation(Nonlinearity::Tanh);
    let f = |x: &Tensor| curved.forward(x, &Pass::eval()).unwrap();
    let far = Key::new(3).normal([6, 5], DType::F64) * 5.0;
    let bend = (f(&((&x + &far) / 2.0)) - (f(&x) + f(&far)) / 2.0).abs().max().item::<f64>();
    assert!(bend > 1e-3, "{bend}");
}

#[test]
fn h3_any_depth_and_no_nonlinearity_on_the_logits() {
    for depth in 1..=6 {
        let sizes: Vec<usize> = (0..=depth).map(|i| 3 + i).collect();
        let net = Mlp::new(&sizes, &mut Rng::new(depth as u64));
        assert_eq!((net.layers.len(), net.activations.len()), (depth, depth - 1));
        let x = Key::new(7).normal([40, 3], DType::F32);
        let logits = net.forward(&x, &Pass::eval()).unwrap();
        assert_eq!(logits.shape(), &[40, 3 + depth]);
        assert!(logits.min().item::<f32>() < 0.0 && logits.max().item::<f32>() > 0.0);
    }
}

#[test]
fn h4_depth_without_the_input_and_both_activations_of_every_layer() {
    let net = Mlp::new(&[4, 8, 6, 3], &mut Rng::new(3)).activation(Nonlinearity::Tanh);
    let x = Key::new(1).normal([5, 4], DType::F32);
    let table = summary(&net, &x).unwrap();
    assert_eq!(table.depth(), 3); // two hidden layers and the output
    assert!(table.to_string().contains("depth 3 without the input"), "{table}");
    let widths: Vec<usize> = table.rows.iter().map(|row| row.neurons).collect();
    assert_eq!(widths, [8, 8, 6, 6, 3]);
    let pass = Pass::eval().recording();
    let logits = net.forward(&x, &pass).unwrap();
    let record = pass.into_record();
    for layer in 0..2 {
        let (linear, activation) = (format!("layers.{layer}"), format!("activations.{layer}"));
        let pre = record.output(&net, &linear).unwrap();
        let post = record.output(&net, &activation).unwrap();
        assert_eq!(record.input(&net, &activation).unwrap().to_vec::<f32>(), pre.to_vec::<f32>());
        assert_eq!(pre.tanh().to_vec::<f32>(), post.to_vec::<f32>());
        let next = format!("layers.{}", layer + 1);
        assert_eq!(record.input(&net, &next).unwrap().to_vec::<f32>(), post.to_vec::<f32>());
    }
    assert_eq!(record.output(&net, "layers.2").unwrap().to_vec::<f32>(), logits.to_vec::<f32>());
    // One neuron: a column of an activation.
    assert_eq!(record.output(&net, "activations.1").unwrap().select_index(1, 4).shape(), &[5]);
    let wrong = record.output(&net, "layer.1").unwrap_err().to_string();
    assert!(wrong.contains("did you mean \"layers.1\"?"), "{wrong}");
}

#[test]
fn h4_norms_and_learned_slopes_do_not_add_to_the_depth() {
    let mut rng = Rng::new(0);
    let net = Sequential::new()
        .add(Linear::new(2, 4, &mut rng))
        .add(tove_nn::LayerNorm::new(4))
        .add(tove_nn::PRelu::new(4))
        .add(Linear::new(4, 1, &mut rng));
    let table = summary(&net, &Tensor::zeros([1, 2], DType::F32)).unwrap();
    assert_eq!((table.depth(), table.parameters), (2, 12 + 8 + 4 + 5));
}

#[test]
fn h5_the_listing_of_a_fully_connected_layer() {
    let case = case("fully connected");
    let (w, b) = (tensor(case.input("w")), tensor(case.input("b")));
    assert_eq!((w.shape(), b.shape()), (&[3, 4].into(), &[4].into())); // W (c, c'), b (c')
    // Stored transposed, as PyTorch does.
    let layer = Linear { weight: w.t().contiguous().requires_grad(), bias: Some(b.requires_grad()) };
    assert_eq!((layer.inputs(), layer.outputs(), layer.count_parameters()), (3, 4, (3 + 1) * 4));
    let x = tensor(case.input("x")).requires_grad();
    let y = layer.forward(&x, &Pass::eval()).unwrap().relu();
    close(&y, &tensor(case.output("y")), TOL32);
    close(&(x.detach().matmul(&w) + layer.bias.as_ref().unwrap().detach()).relu(), &y, TOL32);
    let fused = layer.forward_relu(&x, &Pass::eval()).unwrap().unwrap();
    close(&fused, &y, TOL32);
    (&y * &tensor(case.input("upstream"))).sum().backward();
    close(&x.grad().unwrap(), &tensor(case.grad("x")), TOL32);
    close(&layer.weight.grad().unwrap().t(), &tensor(case.grad("w")), TOL32);
    close(&layer.bias.as_ref().unwrap().grad().unwrap(), &tensor(case.grad("b")), TOL32);
}

#[test]
fn h5_normal_first_values() {
    let layer = Linear::new(300, 400, &mut Rng::new(1)).init(Init::Normal(0.5), &mut Rng::new(2)).unwrap();
    let (mean, deviation) = (layer.weight.mean().item::<f32>(), layer.weight.std(1).item::<f32>());
    // 120,000 draws: both estimates have a standard error near 0.0015.
    assert!(mean.abs() < 0.006 && (deviation - 0.5).abs() < 0.006, "{mean} {deviation}");
    let skew = (layer.weight.detach() / f64::from(deviation)).powf(4.0).mean().item::<f32>();
    assert!((skew - 3.0).abs() < 0.1, "fourth moment {skew} of a normal is 3");
    assert!(layer.bias.unwrap().to_vec::<f32>().iter().all(|&b| b == 0.0));
}

#[test]
fn h6_numbers_of_parameters() {
    for sizes in [&[784, 256, 128, 10][..], &[5, 1], &[3, 4, 4, 4, 2]] {
        let net = Mlp::new(sizes, &mut Rng::new(0));
        let weights: usize = sizes.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let biases: usize = sizes[1..].iter().sum();
        let table = summary(&net, &Tensor::zeros([1, sizes[0]], DType::F32)).unwrap();
        let tensors: usize = net.parameters().iter().map(|tensor| tensor.numel()).sum();
        assert_eq!((table.parameters, tensors), (weights + biases, weights + biases));
        assert_eq!(table.rows.iter().map(|row| row.parameters).sum::<usize>(), tensors);
    }
    let net = Mlp::new(&[784, 256, 128, 10], &mut Rng::new(0));
    assert_eq!(net.count_parameters(), 235_146);
    assert!(summary(&net, &Tensor::zeros([1, 784], DType::F32)).unwrap().to_string().contains("235,146 parameters"));
}
