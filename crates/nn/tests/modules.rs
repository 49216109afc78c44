//! Traversal, names, freezing, saving and the summary.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

use tove_nn::*;
use tove_tensor::{ConvOptions, DType, Key, Tensor};

#[derive(Module)]
struct Block {
    norm: BatchNorm,
    #[module(name = "conv")]
    convolution: Conv2d,
    #[module(skip)]
    _note: std::time::Instant,
}

#[derive(Module)]
struct Net {
    blocks: Vec<Block>,
    pair: [Linear; 2],
    extra: Option<Linear>,
    width: usize,
}

fn block(rng: &mut Rng) -> Block {
    Block { norm: BatchNorm::new(2), convolution: Conv2d::new(2, 2, 3, rng), _note: std::time::Instant::now() }
}

fn net() -> Net {
    let mut rng = Rng::new(3);
    let blocks = vec![block(&mut rng), block(&mut rng)];
    let pair = [Linear::new(2, 3, &mut rng), Linear::new(3, 1, &mut rng).without_bias()];
    Net { blocks, pair, extra: None, width: 2 }
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("tove-nn-{}-{name}", std::process::id()))
}

#[test]
fn names_follow_fields_lists_and_attributes() {
    let net = net();
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    let block = ["norm.weight", "norm.bias", "conv.weight", "conv.bias"];
    let expected: Vec<String> = (0..2)
        .flat_map(|i| block.map(|part| format!("blocks.{i}.{part}")))
        .chain(["pair.0.weight", "pair.0.bias", "pair.1.weight"].map(String::from))
        .collect();
    assert_eq!(names, expected);
    let buffers: Vec<String> = net.named_buffers().into_iter().map(|(name, _)| name).collect();
    assert_eq!(buffers[..2], ["blocks.0.norm.running_mean", "blocks.0.norm.running_var"]);
    assert_eq!(net.width, 2);
    assert!(net.extra.is_none());
    let modules = net.named_modules();
    assert!(modules.iter().any(|(name, identity)| name == "blocks.1.conv" && identity.kind() == "Conv2d"));
}

#[test]
fn frozen_parts_keep_their_bits() {
    let mut net = Mlp::new(&[3, 5, 2], &mut Rng::new(1));
    assert_eq!(net.freeze("layers.0").unwrap(), 2);
    let before = net.state();
    let mut adam = tove_optim::Adam::new(0.1);
    for step in 0..3 {
        let x = Key::new(step).normal([4, 3], DType::F32);
        net.forward(&x, &Pass::eval()).unwrap().square().mean().backward();
        adam.step(&mut net.parameters_mut()).unwrap();
    }
    for ((name, old), (_, new)) in before.iter().zip(net.state()) {
        assert_eq!(old.to_vec::<f32>() == new.to_vec::<f32>(), name.starts_with("layers.0"), "{name}");
    }
    assert_eq!(net.unfreeze("").unwrap(), 4);
    assert_eq!(net.count_trainable(), net.count_parameters());
    // A prefix is a whole name, not a piece of one.
    assert!(net.freeze("layer").is_err());
}

#[test]
fn weights_go_to_a_file_and_come_back() {
    let (path, mut a, mut b) = (scratch("state.safetensors"), net(), net());
    a.blocks[0].norm.running_mean.set(Tensor::from([5.0f32, 6.0]));
    b.reset("weight", Key::new(9), &|old, key| key.try_normal(old.shape().clone(), old.dtype())).unwrap();
    for ((name, old), (_, new)) in a.state().iter().zip(b.state()) {
        let drawn = name.ends_with("weight") && !name.contains("norm"); // scales go back to 1
        assert_eq!(old.to_vec::<f32>() != new.to_vec::<f32>(), drawn || name == "blocks.0.norm.running_mean", "{name}");
    }
    a.save(&path).unwrap();
    assert!(matches!(a.save(&path), Err(Error::File(_)))); // not over an existing file
    b.load(&path).unwrap();
    for ((name, x), (_, y)) in a.state().iter().zip(b.state()) {
        assert_eq!(x.to_vec::<f32>(), y.to_vec::<f32>(), "{name}");
    }
    assert_eq!(b.count_trainable(), b.count_parameters());
    std::fs::remove_file(path).unwrap();
    a.to_dtype(DType::F64).unwrap();
    assert_eq!(a.blocks[0].norm.running_mean.get().to_vec::<f64>(), [5.0, 6.0]);
}

#[test]
fn weights_that_do_not_fit_change_nothing() {
    let mut net = Mlp::new(&[2, 3, 1], &mut Rng::new(0));
    let before = net.state();
    let mut state = Mlp::new(&[2, 3, 1], &mut Rng::new(1)).state();
    state[3].1 = Tensor::zeros([7], DType::F32);
    let text = net.load_state(&state).unwrap_err().to_string();
    assert!(text.contains("layers.1.bias") && text.contains('7'), "{text}");
    state[3].0 = "head.bias".into();
    let text = net.load_state(&state).unwrap_err().to_string();
    assert!(text.contains("missing layers.1.bias") && text.contains("unknown head.bias"), "{text}");
    for ((_, x), (_, y)) in before.iter().zip(net.state()) {
        assert_eq!(x.to_vec::<f32>(), y.to_vec::<f32>());
    }
    assert_eq!(net.load_matching(&state).unwrap(), ["layers.1.bias"]);
}

#[test]
fn summary_counts_and_sees() {
    let mut rng = Rng::new(0);
    let same = ConvOptions::new().padding(1);
    let net = Sequential::new()
        .add(Conv2d::with(1, 4, 3, same, &mut rng))
        .add(Nonlinearity::Relu)
        .add(MaxPool2d::new(2))
        .add(Conv2d::with(4, 8, 3, same, &mut rng))
        .add(Flatten::new())
        .add(Linear::new(8 * 16, 10, &mut rng));
    let table = summary(&net, &Tensor::zeros([2, 1, 8, 8], DType::F32)).unwrap();
    let fields: Vec<Option<usize>> = table.rows.iter().map(|row| row.receptive_field).collect();
    assert_eq!(fields, [Some(3), Some(3), Some(4), Some(8), None, None]);
    let neurons: Vec<usize> = table.rows.iter().map(|row| row.neurons).collect();
    assert_eq!(neurons, [256, 256, 64, 128, 128, 10]);
    assert_eq!(table.rows[0].flops, 2 * 2 * 256 * 9);
    assert_eq!(table.rows.iter().map(|row| row.parameters).sum::<usize>(), net.count_parameters());
    assert_eq!((table.depth(), table.rows[5].name.as_str()), (3, "5"));
    println!("{table}");
}

#[test]
fn fused_and_recorded_passes_agree() {
    let mut rng = Rng::new(5);
    let net = Sequential::new()
        .add(Conv2d::new(3, 8, 3, &mut rng))
        .add(Nonlinearity::Relu)
        .add(Flatten::new())
        .add(Linear::new(8 * 36, 16, &mut rng))
        .add(Nonlinearity::Relu);
    let x = Key::new(1).normal([4, 3, 8, 8], DType::F32);
    let fused = net.forward(&x, &Pass::eval()).unwrap();
    let pass = Pass::eval().recording();
    let plain = net.forward(&x, &pass).unwrap();
    assert_eq!(fused.to_vec::<f32>(), plain.to_vec::<f32>());
    assert_eq!(pass.into_record().entries().len(), 5);
}

#[test]
fn one_value_per_channel_is_refused_in_training() {
    let error = BatchNorm::new(3).forward(&Tensor::ones([1, 3], DType::F32), &Pass::train(Key::new(0))).unwrap_err();
    assert!(error.to_string().contains("batches of two or more"), "{error}");
}

/// A layer without fields, of which every instance lies at the same address.
#[derive(Module)]
struct Square;

impl Layer for Square {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = x.square();
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}

#[test]
fn layers_without_fields_are_told_apart() {
    let net = Sequential::new().add(Square).add(Linear::new(3, 3, &mut Rng::new(0))).add(Square);
    let x = Key::new(1).normal([2, 3], DType::F32);
    let pass = Pass::eval().recording();
    let y = net.forward(&x, &pass).unwrap();
    let record = pass.into_record();
    assert_eq!(record.output(&net, "0").unwrap().to_vec::<f32>(), x.square().to_vec::<f32>());
    assert_eq!(record.output(&net, "2").unwrap().to_vec::<f32>(), y.to_vec::<f32>());
    let names: Vec<String> = record.named(&net).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["0", "1", "2"]);
}
