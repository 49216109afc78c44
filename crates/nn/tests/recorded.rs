//! Recorded passes of every net that computes a layer and its rectifier at once; scales of norms; first values that cannot be had.

#![allow(clippy::unwrap_used)]

use tove_nn::*;
use tove_tensor::{ConvOptions, DType, Key, Tensor};

/// The recorded output of each affine layer is what its weights give for its recorded input: the pre-activation.
fn records_pre_activations<L: Layer>(name: &str, net: &L, x: &Tensor, affine: &[&str]) {
    for training in [false, true] {
        let pass = || if training { Pass::train(Key::new(0)) } else { Pass::eval() };
        let recorded = pass().recording();
        let y = net.forward(x, &recorded).unwrap();
        let record = recorded.into_record();
        // Watching changes nothing in the result.
        let plain = net.forward(x, &pass()).unwrap();
        let gap = (&y - &plain).abs().max().item::<f32>();
        assert!(gap <= 1e-5 * plain.abs().max().item::<f32>().max(1.0), "{name}: {gap}");
        let state = net.state();
        let value = |part: &str, kind: &str| {
            let wanted = format!("{part}.{kind}");
            state.iter().find(|(other, _)| *other == wanted).unwrap_or_else(|| panic!("{name}: {wanted}")).1.clone()
        };
        for part in affine {
            let (input, output) = (record.input(net, part).unwrap(), record.output(net, part).unwrap());
            let (weight, bias) = (value(part, "weight"), value(part, "bias"));
            let expected = match weight.rank() {
                2 => input.detach().matmul(&weight.t()) + &bias,
                3 => input.detach().conv1d(&weight, Some(&bias), &ConvOptions::new()),
                _ => {
                    let padding = usize::from(weight.dims()[2] == 3);
                    input.detach().conv2d(&weight, Some(&bias), &ConvOptions::new().padding(padding))
                }
            };
            let gap = (output.detach() - &expected).abs().max().item::<f32>();
            assert!(gap < 1e-4 * expected.abs().max().item::<f32>().max(1.0), "{name} {part}: {gap}");
            assert!(
                output.detach().min().item::<f32>() < 0.0,
                "{name} {part}: nothing below 0, so the test shows nothing"
            );
        }
    }
}

#[test]
fn records_hold_what_layers_give_before_the_rectifier() {
    let rng = &mut Rng::new(3);
    let (images, rows) = (Key::new(1).normal([4, 2, 8, 8], DType::F32), Key::new(2).normal([6, 8], DType::F32));
    let (texts, signals) = (Key::new(3).normal([2, 5, 8], DType::F32), Key::new(4).normal([3, 2, 9], DType::F32));
    // Ten classes: the few logits of three may all be positive, and then do not show that `fc2` has no rectifier.
    let sizes = CnnConfig { widths: vec![4, 5], hidden: 9, ..CnnConfig::new([2, 8, 8], 10) };
    let plain = Cnn::new(&sizes, rng).unwrap();
    records_pre_activations("Cnn", &plain, &images, &["convs.0", "convs.1", "fc1", "fc2"]);
    let normed = Cnn::new(&CnnConfig { batch_norm: true, ..sizes.clone() }, rng).unwrap();
    records_pre_activations("Cnn with norms", &normed, &images, &["convs.0", "convs.1", "fc1", "fc2"]);
    let mlp = Mlp::new(&[8, 7, 6, 3], rng);
    records_pre_activations("Mlp", &mlp, &rows, &["layers.0", "layers.1", "layers.2"]);
    let deep = Sequential::new()
        .add(Linear::new(8, 7, rng))
        .add(Nonlinearity::Relu)
        .add(Linear::new(7, 3, rng))
        .add(Nonlinearity::Relu);
    records_pre_activations("Sequential", &deep, &rows, &["0", "2"]);
    let nested = Sequential::new()
        .add(Sequential::new().add(Linear::new(8, 7, rng)).add(Nonlinearity::Relu))
        .add(Linear::new(7, 3, rng));
    records_pre_activations("nested", &nested, &rows, &["0.0", "1"]);
    let wave = Sequential::new().add(Conv1d::new(2, 4, 3, rng)).add(Nonlinearity::Relu);
    records_pre_activations("Conv1d", &wave, &signals, &["0"]);
    let picture =
        Sequential::new().add(Conv2d::with(2, 4, 3, ConvOptions::new().padding(1), rng)).add(Nonlinearity::Relu);
    records_pre_activations("Conv2d", &picture, &images, &["0"]);
    for norm_first in [true, false] {
        let config = BlockConfig { activation: Nonlinearity::Relu, norm_first, ..BlockConfig::new(8, 2) };
        let block = TransformerBlock::new(&config, rng).unwrap();
        records_pre_activations("TransformerBlock", &block, &texts, &["linear1", "linear2"]);
        let encoder = TransformerEncoder::new(2, &config, rng).unwrap();
        records_pre_activations("TransformerEncoder", &encoder, &texts, &["layers.0.linear1", "layers.1.linear2"]);
    }
}

/// A net of one's own that calls the fused form itself cannot record the wrong thing.
#[test]
fn the_fused_form_is_not_there_while_a_pass_is_recorded() {
    let rng = &mut Rng::new(3);
    let (linear, conv) = (Linear::new(8, 7, rng), Conv2d::new(2, 4, 3, rng));
    let (rows, images) = (Key::new(2).normal([6, 8], DType::F32), Key::new(1).normal([4, 2, 8, 8], DType::F32));
    for pass in [Pass::eval(), Pass::train(Key::new(0))] {
        assert!(linear.forward_relu(&rows, &pass).is_some() && conv.forward_relu(&images, &pass).is_some());
        let pass = pass.recording();
        assert!(linear.forward_relu(&rows, &pass).is_none() && conv.forward_relu(&images, &pass).is_none());
        assert!(pass.into_record().entries().is_empty());
    }
}

/// A norm of one's own.
#[derive(Module)]
struct RmsNorm {
    weight: Tensor,
}

/// All norms, in a net that is called one but has no scale itself.
#[derive(Module)]
struct EveryNorm {
    linear: Linear,
    batch: BatchNorm,
    layer: LayerNorm,
    group: GroupNorm,
    instance: InstanceNorm2d,
    plain: InstanceNorm2d,
    own: RmsNorm,
}

/// The same one level down.
#[derive(Module)]
struct Outer {
    inner: EveryNorm,
}

#[test]
fn reset_puts_the_scales_of_every_norm_back_to_1() {
    let off = |size: usize| Tensor::full([size], 3.0, DType::F32).requires_grad();
    let every_norm = || EveryNorm {
        linear: Linear::new(4, 4, &mut Rng::new(0)),
        batch: BatchNorm { weight: off(4), ..BatchNorm::new(4) },
        layer: LayerNorm { weight: off(4), ..LayerNorm::new(4) },
        group: GroupNorm { weight: off(4), ..GroupNorm::new(2, 4).unwrap() },
        instance: InstanceNorm2d { weight: Some(off(4)), ..InstanceNorm2d::affine(4) },
        plain: InstanceNorm2d::new(4),
        own: RmsNorm { weight: off(4) },
    };
    let draw = |old: &Tensor, key: Key| Init::HeNormal.draw(old.shape().clone(), key, old.dtype());
    let (mut net, mut outer) = (every_norm(), Outer { inner: every_norm() });
    net.reset("weight", Key::new(1), &draw).unwrap();
    outer.reset("weight", Key::new(1), &draw).unwrap();
    let before = every_norm().linear.weight.to_vec::<f32>();
    for parameters in [net.named_parameters(), outer.named_parameters()] {
        let mut scales = 0;
        for (name, parameter) in parameters.into_iter().filter(|(name, _)| name.ends_with("weight")) {
            let values = parameter.to_vec::<f32>();
            if name.ends_with("linear.weight") {
                assert!(values != before && values[0] != 1.0, "{name}: drawn anew");
            } else {
                assert_eq!(values, [1.0; 4], "{name}");
                scales += 1;
            }
        }
        assert_eq!(scales, 5);
    }
    // A norm by itself.
    let mut alone = InstanceNorm2d { weight: Some(off(4)), ..InstanceNorm2d::affine(4) };
    alone.reset("weight", Key::new(1), &draw).unwrap();
    assert_eq!(alone.weight.unwrap().to_vec::<f32>(), [1.0; 4]);
}

/// First values that cannot be had are an error, never zeros.
#[test]
fn failed_initializations_are_errors() {
    let rng = &mut Rng::new(0);
    // So many that their number is beyond usize: refused without asking the system for memory.
    let huge = 1usize << 62;
    assert!(Linear::try_new(huge, 8, rng).is_err());
    assert!(Embedding::try_new(huge, 8, rng).is_err());
    assert!(LearnedPosition::try_new(huge, 8, rng).is_err());
    assert!(Conv1d::try_windows(huge, 8, [3], ConvOptions::new(), rng).is_err());
    assert!(Conv2d::try_windows(huge, 8, [3, 3], ConvOptions::new(), rng).is_err());
    assert!(ConvTranspose2d::try_windows(huge, 8, [3, 3], ConvOptions::new(), rng).is_err());
    assert!(Mlp::try_new(&[huge, 8], rng).is_err());
    assert!(MultiHeadAttention::new(huge, 2, rng).is_err());
    let panics = |build: fn()| {
        let panic = std::panic::catch_unwind(build).unwrap_err();
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(!text.is_empty(), "the message of the error");
    };
    panics(|| _ = Linear::new(1 << 62, 8, &mut Rng::new(0)));
    panics(|| _ = Conv2d::new(1 << 62, 8, 3, &mut Rng::new(0)));
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let rules = [Init::Uniform(odd), Init::Normal(odd), Init::TruncatedNormal(odd), Init::XavierUniform(odd)];
        for rule in rules.into_iter().chain([Init::XavierNormal(odd), Init::Orthogonal(odd)]) {
            let error = rule.draw([3, 3], Key::new(0), DType::F32).unwrap_err().to_string();
            assert!(error.contains("finite number"), "{rule:?}: {error}");
        }
    }
    for rule in [Init::Uniform(-1.0), Init::Normal(-1.0), Init::TruncatedNormal(-0.1)] {
        assert!(rule.draw([3, 3], Key::new(0), DType::F32).is_err(), "{rule:?}");
    }
    assert!(Init::XavierUniform(-1.0).draw([3, 3], Key::new(0), DType::F32).is_ok());
}
