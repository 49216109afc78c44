//! The vision transformer beside a convolutional net.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_data::sets;
use tove_nn::*;
use tove_tensor::{ConvOptions, CrossEntropy, DType, Key, Tensor, jacobian};
use transformer_common::{accuracy, train, widen};

/// Patches, receptive field and attention maps of one layer.
fn structure() {
    let block = BlockConfig::new(8, 2);
    let config = VitConfig { image: [2, 6, 9], patch: 3, layers: 1, block, classes: 3 };
    let mut net = VisionTransformer::new(&config, &mut Rng::new(0)).unwrap();
    widen(&mut net);
    let images = Key::new(1).normal([4, 2, 6, 9], DType::F64);
    assert_eq!(config.patches(), 2 * 3);
    let cut = patches(&images, 3).unwrap();
    assert_eq!(cut.shape(), &[4, 6, 2 * 3 * 3]);
    // Patch (1, 2), channel 1, row 2, column 0 is pixel (5, 6).
    assert_eq!(cut.at::<f64>(&[3, 5, 9 + 6]), images.at::<f64>(&[3, 1, 5, 6]));

    let one = images.narrow(0, 0, 1);
    let derivative = jacobian(|x: &Tensor| net.forward(x, &Pass::eval()).unwrap(), &one); // (1, 3, 1, 2, 6, 9)
    assert!(derivative.abs().min().item::<f64>() > 0.0);
    let maps = net.attention_maps(&images).unwrap();
    assert_eq!((maps.len(), maps[0].dims()), (1, &[4, 2, 7, 7][..]));
    assert!((maps[0].sum_axes(&[-1], false) - 1.0).abs().max().item::<f64>() < 1e-12);
}

/// Digits of 8 × 8 pixels in a random order: images and labels.
fn digits() -> (Tensor, Tensor) {
    let digits = sets::digits().unwrap();
    let order = Key::new(11).permutation(digits.y().numel());
    (digits.x().index_select(0, &order), digits.y().index_select(0, &order))
}

/// Test accuracy after training on the first `count` digits; the last 397 are the test.
fn learn<L: Layer>(mut net: L, data: &(Tensor, Tensor), count: usize, seed: u64) -> f64 {
    let (images, labels) = data;
    // The same number of steps whatever the amount of data; batches of 50.
    train(&mut net, 2e-3, 400, |net, step| {
        let batch = Key::new(seed).fold(step).integers(0, count as i64, [50]);
        let logits = net.forward(&images.index_select(0, &batch), &Pass::train(Key::new(step))).unwrap();
        logits.cross_entropy(&labels.index_select(0, &batch), &CrossEntropy::default())
    });
    let test = net.forward(&images.narrow(0, 1400, 397).contiguous(), &Pass::eval()).unwrap();
    accuracy(&test, &labels.narrow(0, 1400, 397).contiguous())
}

fn convolutional(rng: &mut Rng) -> Sequential {
    let near = || ConvOptions::new().padding(1);
    Sequential::new()
        .add(Conv2d::with(1, 16, 3, near(), rng))
        .add(Nonlinearity::Relu)
        .add(MaxPool2d::new(2))
        .add(Conv2d::with(16, 32, 3, near(), rng))
        .add(Nonlinearity::Relu)
        .add(MaxPool2d::new(2))
        .add(Flatten::new())
        .add(Linear::new(128, 10, rng))
}

fn transformer(rng: &mut Rng) -> VisionTransformer {
    let config = VitConfig { image: [1, 8, 8], patch: 4, layers: 1, block: BlockConfig::new(32, 4), classes: 10 };
    VisionTransformer::new(&config, rng).unwrap()
}

#[test]
fn patches_receptive_field_and_maps() {
    structure();
}

#[test]
fn j12_patches_are_tokens_and_locality_must_be_learned() {
    structure();
    let data = digits();
    // Both nets with each of ten seeds, on few and on all digits. What is judged are differences within a seed, which
    // share the order of the batches, and their standard error over the seeds. Four patches and one layer keep it short.
    let gaps = |count: usize| -> Vec<f64> {
        let gap = |seed| {
            let cnn = learn(convolutional(&mut Rng::new(seed)), &data, count, seed);
            let vit = learn(transformer(&mut Rng::new(seed)), &data, count, seed);
            println!("{count} digits, seed {seed}: CNN {cnn:.3}, ViT {vit:.3}");
            cnn - vit
        };
        (0..10).map(gap).collect()
    };
    let (few, many) = (gaps(500), gaps(1400));
    let shrinks: Vec<f64> = few.iter().zip(&many).map(|(few, many)| few - many).collect();
    for (what, values) in [("the CNN is ahead on 500 digits", &few), ("the gap shrinks with more", &shrinks)] {
        let mean = values.iter().sum::<f64>() / 10.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9.0;
        let error = (variance / 10.0).sqrt();
        println!("{what}: by {mean:.4} ± {error:.4}");
        // 1.83 standard errors is the one-sided 5% point of Student's t with nine degrees of freedom.
        assert!(mean > 1.83 * error, "{what}: {values:?}");
    }
}
