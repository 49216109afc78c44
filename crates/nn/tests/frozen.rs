//! What is frozen stays as it is, running statistics included; and parts that evaluate while the rest trains.

#![allow(clippy::unwrap_used)]

use tove_data::TensorDataset;
use tove_nn::*;
use tove_optim::{Adam, Sgd};
use tove_tensor::{ConvOptions, DType, Key, PoolOptions, Tensor, grad, jvp, per_sample_grad, vmap};

fn bits(net: &(impl Module + ?Sized)) -> Vec<(String, Vec<u32>)> {
    let values = |tensor: Tensor| tensor.to_vec::<f32>().into_iter().map(f32::to_bits).collect();
    net.state().into_iter().map(|(name, tensor)| (name, values(tensor))).collect()
}

fn numbers(x: &Tensor) -> Vec<u32> {
    x.detach().to_vec::<f32>().into_iter().map(f32::to_bits).collect()
}

fn train(seed: u64) -> Pass {
    Pass::train(Key::new(seed))
}

/// A part whose results are averaged to eight features, and a head that learns from them.
#[derive(Module)]
struct Transfer {
    part: Box<dyn Layer>,
    head: Linear,
}

impl Layer for Transfer {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = self.part.forward(x, pass)?;
        let rows = y.dims()[0];
        let flat = y.reshape([rows, y.numel() / rows]);
        // Eight features whatever the part gives: repeated or cut.
        let copies = Tensor::concat(&vec![&flat; 8usize.div_ceil(flat.dims()[1])], 1);
        self.head.forward(&copies.narrow(1, 0, 8), pass)
    }
}

/// Every layer with parameters, and nets of them; what it takes.
fn parts() -> Vec<(&'static str, Box<dyn Layer>, Tensor)> {
    let rng = &mut Rng::new(7);
    let images = || Key::new(1).normal([12, 3, 8, 8], DType::F32) * 2.0 + 1.0;
    let rows = || Key::new(2).normal([12, 8], DType::F32) * 2.0 + 1.0;
    let tokens = || Key::new(3).normal([12, 5, 8], DType::F32);
    let words = || Key::new(4).integers(0, 6, [12, 5]);
    let block = BlockConfig { dropout: 0.1, ..BlockConfig::new(8, 2) };
    let cnn =
        CnnConfig { batch_norm: true, widths: vec![4, 4], hidden: 8, dropout: 0.2, ..CnnConfig::new([3, 8, 8], 4) };
    let vit = VitConfig { image: [3, 8, 8], patch: 4, layers: 1, block: block.clone(), classes: 3 };
    let gpt =
        GptConfig { vocabulary: 6, context: 5, layers: 1, heads: 2, width: 8, hidden: 16, ..GptConfig::default() };
    let normed = |rng: &mut Rng| {
        let front = Sequential::new().add(Linear::new(8, 8, rng)).add(BatchNorm::new(8)).add(Nonlinearity::Relu);
        front.add(Dropout::new(0.3)).add(Residual::new(BatchNorm::new(8))).add(PRelu::new(8))
    };
    vec![
        ("Linear", Box::new(Linear::new(8, 8, rng)), rows()),
        ("Conv1d", Box::new(Conv1d::new(5, 4, 3, rng)), tokens()),
        ("Conv2d", Box::new(Conv2d::new(3, 4, 3, rng)), images()),
        ("ConvTranspose2d", Box::new(ConvTranspose2d::with(3, 2, 2, ConvOptions::new().stride(2), rng)), images()),
        ("BatchNorm", Box::new(BatchNorm::new(8)), rows()),
        ("BatchNorm of images", Box::new(BatchNorm::new(3)), images()),
        ("LayerNorm", Box::new(LayerNorm::new(8)), rows()),
        ("GroupNorm", Box::new(GroupNorm::new(1, 3).unwrap()), images()),
        ("InstanceNorm2d", Box::new(InstanceNorm2d::affine(3)), images()),
        ("PRelu", Box::new(PRelu::new(8)), rows()),
        ("Embedding", Box::new(Embedding::new(6, 8, rng)), words()),
        ("LearnedPosition", Box::new(LearnedPosition::new(5, 8, rng)), tokens()),
        ("MultiHeadAttention", Box::new(MultiHeadAttention::new(8, 2, rng).unwrap()), tokens()),
        ("TransformerBlock", Box::new(TransformerBlock::new(&block, rng).unwrap()), tokens()),
        ("TransformerEncoder", Box::new(TransformerEncoder::new(2, &block, rng).unwrap()), tokens()),
        ("LowRankLinear", Box::new(LowRankLinear::new(Linear::new(8, 8, rng), 2, 2.0, rng).unwrap()), rows()),
        ("Sequential", Box::new(normed(rng)), rows()),
        ("EvalMode", Box::new(EvalMode::new(normed(rng))), rows()),
        ("Mlp", Box::new(Mlp::new(&[8, 6, 8], rng).dropout(0.1)), rows()),
        ("Cnn", Box::new(Cnn::new(&cnn, rng).unwrap()), images()),
        ("VisionTransformer", Box::new(VisionTransformer::new(&vit, rng).unwrap()), images()),
        ("Gpt", Box::new(Gpt::new(&gpt, rng).unwrap()), words()),
        (
            "pooled",
            Box::new(Sequential::new().add(BatchNorm::new(3)).add(MaxPool2d::with(PoolOptions::new(2)))),
            images(),
        ),
    ]
}

/// Frozen, every kind of layer keeps all its bits through training with all that a trainer does, and evaluates to the same.
#[test]
fn every_kind_of_layer_stays_when_it_is_frozen() {
    for (name, part, x) in parts() {
        let y = Key::new(9).integers(0, 3, [12]);
        let set = TensorDataset::new(x.clone(), y).unwrap();
        let mut net = Transfer { part, head: Linear::new(8, 3, &mut Rng::new(1)) };
        // Some training first, so that running statistics are somewhere.
        let trainer = || Trainer::new(Adam::new(0.02)).epochs(3).batch_size(4).progress(Progress::Silent);
        trainer().fit(&mut net, &Classification::new(), &set, None).unwrap();
        net.freeze("part").unwrap();
        let (before, head) = (bits(&*net.part), bits(&net.head));
        let output = numbers(&net.part.forward(&x, &Pass::eval()).unwrap());
        let mut full = trainer().average_weights(0.5).keep_best().clip_norm(1.0).accumulate(2);
        full.fit(&mut net, &Classification::new(), &set, Some(&set)).unwrap();
        assert_eq!(bits(&*net.part), before, "{name}");
        assert_eq!(numbers(&net.part.forward(&x, &Pass::eval()).unwrap()), output, "{name}");
        assert_ne!(bits(&net.head), head, "{name}");
        // Thawed, it learns again, and its running statistics move.
        net.unfreeze("part").unwrap();
        trainer().fit(&mut net, &Classification::new(), &set, None).unwrap();
        let moved = bits(&*net.part).into_iter().zip(before).filter(|(now, before)| now != before).count();
        assert!(moved > 0, "{name}");
    }
}

#[test]
fn a_norm_counts_as_frozen_when_weight_and_bias_are() {
    let x = Key::new(1).normal([16, 3], DType::F32) + 2.0;
    let moves = |freeze: &[&str]| {
        let mut norm = BatchNorm::new(3);
        freeze.iter().for_each(|name| _ = norm.freeze(name).unwrap());
        let y = norm.forward(&x, &train(0)).unwrap();
        // Whatever is frozen, a pass that trains normalizes by the batch.
        assert!(y.mean().item::<f32>().abs() < 1e-5 && (y.std(0).item::<f32>() - 1.0).abs() < 1e-3);
        norm.running_mean.get().to_vec::<f32>() != [0.0; 3]
    };
    assert!(moves(&[]) && moves(&["weight"]) && moves(&["bias"]) && !moves(&["weight", "bias"]) && !moves(&[""]));
}

fn normed_gan() -> Gan<Sequential, Sequential> {
    let rng = &mut Rng::new(5);
    let half = |from: usize, to: usize, rng: &mut Rng| {
        let front = Sequential::new().add(Linear::new(from, 8, rng)).add(BatchNorm::new(8)).add(Nonlinearity::Relu);
        front.add(Linear::new(8, to, rng))
    };
    Gan::new(half(2, 3, rng), half(3, 1, rng))
}

/// In a step of one side nothing of the other moves, running statistics included.
#[test]
fn the_other_side_of_a_gan_keeps_its_running_statistics() {
    let (real, noise) = (Key::new(1).normal([32, 3], DType::F32) + 3.0, Key::new(2).normal([32, 2], DType::F32));
    let mut gan = normed_gan();
    let buffers = |net: &Sequential| net.named_buffers().iter().map(|(_, b)| numbers(&b.get())).collect::<Vec<_>>();
    for step in 0..4 {
        let (generator, discriminator) = (bits(&gan.generator), bits(&gan.discriminator));
        gan.discriminator_loss(&real, &noise, &train(step)).unwrap();
        assert_eq!(bits(&gan.generator), generator);
        gan.step_discriminator(&real, &noise, &mut Sgd::new(0.1), &train(step)).unwrap();
        assert_eq!(bits(&gan.generator), generator);
        assert_ne!(buffers(&gan.discriminator), buffers(&normed_gan().discriminator), "its own move");
        assert_ne!(bits(&gan.discriminator), discriminator);
        let discriminator = bits(&gan.discriminator);
        gan.loss_of_generator(&noise, &train(step)).unwrap();
        assert_eq!(bits(&gan.discriminator), discriminator);
        let before = buffers(&gan.generator);
        gan.step_generator(&noise, &mut Sgd::new(0.1), &train(step)).unwrap();
        assert_eq!(bits(&gan.discriminator), discriminator);
        assert_ne!(buffers(&gan.generator), before, "its own move");
    }
}

/// A step whose loss or gradient is not finite is refused and changes nothing.
#[test]
fn a_gan_step_that_is_not_finite_changes_nothing() {
    let (real, noise) = (Key::new(1).normal([32, 3], DType::F32), Key::new(2).normal([32, 2], DType::F32));
    let broken = &noise * f64::NAN;
    let mut gan = normed_gan();
    let before = bits(&gan);
    let errors = [
        gan.step_discriminator(&(&real * f64::NAN), &noise, &mut Sgd::new(0.1), &train(0)).unwrap_err(),
        gan.step_discriminator(&real, &broken, &mut Sgd::new(0.1), &train(0)).unwrap_err(),
        gan.step_generator(&broken, &mut Sgd::new(0.1), &train(0)).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("NaN"), "{error}");
    }
    assert_eq!(bits(&gan), before);
    // A finite loss with an infinite slope: the root of the discriminator's constant output, whose weights are 0.
    let mut rooted =
        Gan::new(Linear::new(2, 3, &mut Rng::new(1)), Sequential::new().add(Linear::new(3, 1, &mut Rng::new(2))));
    rooted.discriminator.push(Nonlinearity::Power(0.5));
    for parameter in rooted.discriminator.parameters_mut() {
        *parameter = parameter.detach().zeros_like().requires_grad();
    }
    let before = bits(&rooted);
    let error = rooted.step_discriminator(&real, &noise, &mut Sgd::new(0.1), &train(0)).unwrap_err().to_string();
    assert!(error.contains("gradient") && error.contains("0.weight"), "{error}");
    assert_eq!(bits(&rooted), before);
    assert!(rooted.parameters().iter().all(|parameter| parameter.grad().is_none()));
}

/// One pass, several modes: each part computes as it is told, keys go on, and the mode comes back whatever happens.
#[test]
fn parts_evaluate_within_a_pass_that_trains() {
    let (x, pass) = (Tensor::ones([64], DType::F32), train(3));
    let dropout = Dropout::new(0.5);
    let zeros = |y: &Tensor| y.to_vec::<f32>().iter().filter(|&&y| y == 0.0).count();
    let first = dropout.forward(&x, &pass).unwrap();
    let middle = pass.as_eval(|pass| {
        assert!(!pass.is_training() && !pass.updates_buffers());
        // Within evaluation everything evaluates, nested parts too.
        pass.keeping_buffers(|pass| assert!(!pass.is_training()));
        dropout.forward(&x, pass).unwrap()
    });
    let second = dropout.forward(&x, &pass).unwrap();
    assert!(zeros(&first) > 10 && zeros(&middle) == 0 && zeros(&second) > 10);
    assert_ne!(numbers(&first), numbers(&second), "the keys go on");
    pass.keeping_buffers(|pass| {
        assert!(pass.is_training() && !pass.updates_buffers());
        pass.as_eval(|pass| assert!(!pass.is_training()));
        assert!(pass.is_training() && !pass.updates_buffers());
    });
    let failed: Result<()> = pass.as_eval(|_| Err(Error::setting("part", "x", "fails")));
    assert!(failed.is_err() && pass.is_training() && pass.updates_buffers());
    let panicked: std::thread::Result<()> =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pass.as_eval(|_| panic!("on purpose"))));
    assert!(panicked.is_err() && pass.is_training() && pass.updates_buffers());
    // The record is one.
    let net = Sequential::new().add(EvalMode::new(BatchNorm::new(2))).add(BatchNorm::new(2));
    let (x, pass) = (Key::new(1).normal([8, 2], DType::F32) + 4.0, train(0).recording());
    net.forward(&x, &pass).unwrap();
    let record = pass.into_record();
    let (fixed, batch) = (record.output(&net, "0.inner").unwrap(), record.output(&net, "1").unwrap());
    assert!(fixed.mean().item::<f32>() > 2.0 && batch.mean().item::<f32>().abs() < 1e-5);
    assert_eq!(record.output(&net, "0").unwrap().to_vec::<f32>(), fixed.to_vec::<f32>());
    let moved: Vec<bool> = net
        .named_buffers()
        .iter()
        .map(|(name, b)| name.ends_with("mean") && b.get().to_vec::<f32>() != [0.0; 2])
        .collect();
    assert_eq!(moved, [false, false, true, false]);
}

/// A frozen body in evaluation gives the head the same features in training and evaluation.
#[test]
fn a_frozen_body_in_eval_mode_computes_the_same_while_the_head_trains() {
    let rng = &mut Rng::new(7);
    let body = Sequential::new()
        .add(Linear::new(8, 8, rng))
        .add(BatchNorm::new(8))
        .add(Nonlinearity::Relu)
        .add(Dropout::new(0.5));
    let mut net = Sequential::new().add(EvalMode::new(body)).add(Linear::new(8, 3, rng));
    net.freeze("0").unwrap();
    let set = TensorDataset::new(Key::new(2).normal([32, 8], DType::F32), Key::new(9).integers(0, 3, [32])).unwrap();
    let evaluated = net.forward(set.x(), &Pass::eval()).unwrap();
    assert_eq!(numbers(&net.forward(set.x(), &train(1)).unwrap()), numbers(&evaluated));
    let before = bits(&net);
    let mut trainer = Trainer::new(Sgd::new(0.1)).epochs(3).batch_size(8).progress(Progress::Silent);
    trainer.fit(&mut net, &Classification::new(), &set, None).unwrap();
    let moved: Vec<String> = bits(&net).into_iter().zip(before).filter(|(a, b)| a != b).map(|(a, _)| a.0).collect();
    assert_eq!(moved, ["1.weight", "1.bias"]);
}

/// Under transformations: no derivative or batch of a transformation is left in the running statistics.
#[test]
fn running_statistics_and_transformations() {
    let x = Key::new(1).normal([6, 4, 3], DType::F32) + 1.0; // six samples of four rows
    let loss = |norm: &BatchNorm, x: &Tensor, pass: &Pass| norm.forward(x, pass).map(|y| (y.square() * x).sum());
    // Derivatives: the buffers are plain tensors afterwards and move as in a plain pass.
    let plain = BatchNorm::new(3);
    loss(&plain, &x.get(0), &train(0)).unwrap();
    for which in 0..2 {
        let norm = BatchNorm::new(3);
        let f = |x: &Tensor| loss(&norm, x, &train(0)).unwrap();
        if which == 0 {
            let _ = grad(f)(&x.get(0));
        } else {
            let _ = jvp(f, &x.get(0), &x.get(1));
        }
        assert!(norm.named_buffers().iter().all(|(_, buffer)| !buffer.get().is_tracked()));
        assert_eq!(bits(&norm), bits(&plain));
    }
    // In vmap each sample would have its own: an error that says what to do, and buffers as they were.
    let norm = BatchNorm::new(3);
    let before = bits(&norm);
    let error = std::cell::RefCell::new(String::new());
    vmap(|x: &Tensor| {
        *error.borrow_mut() = norm.forward(x, &train(0)).unwrap_err().to_string();
        x.sum()
    })(&x);
    assert!(error.borrow().contains("vmap") && error.borrow().contains("keeping_buffers"), "{}", error.borrow());
    assert_eq!(bits(&norm), before);
    // What is asked for works, and gives what a loop gives: evaluation, kept buffers, a frozen norm.
    let mut frozen = BatchNorm::new(3);
    frozen.freeze("").unwrap();
    type Apply<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;
    let ways: [Apply<'_>; 4] = [
        Box::new(|x| norm.forward(x, &Pass::eval()).unwrap()),
        Box::new(|x| train(0).as_eval(|pass| norm.forward(x, pass)).unwrap()),
        Box::new(|x| train(0).keeping_buffers(|pass| norm.forward(x, pass)).unwrap()),
        Box::new(|x| frozen.forward(x, &train(0)).unwrap()),
    ];
    for way in ways {
        let all = vmap(|x: &Tensor| way(x))(&x);
        let slopes = vmap(|x: &Tensor| grad(|x: &Tensor| (way(x).square() * x).sum())(x))(&x);
        for sample in 0..6 {
            let gap = |a: &Tensor, b: &Tensor| (a.detach() - b.detach()).abs().max().item::<f32>();
            assert!(gap(&all.get(sample), &way(&x.get(sample))) < 1e-5);
            let slope = grad(|x: &Tensor| (way(x).square() * x).sum())(&x.get(sample));
            assert!(gap(&slopes.get(sample), &slope) < 1e-4);
        }
    }
    // Gradients per sample by a frozen part's weight that is given as an argument.
    let per_sample = per_sample_grad(|weight: &Tensor, x: &Tensor| {
        let norm = BatchNorm { weight: weight.clone(), ..frozen.clone() };
        train(0).keeping_buffers(|pass| loss(&norm, x, pass)).unwrap()
    })(&Tensor::ones([3], DType::F32), &x);
    assert_eq!(per_sample.dims(), [6, 3]);
    assert_eq!((bits(&norm), frozen.running_mean.get().to_vec::<f32>()), (before, vec![0.0; 3]));
}
