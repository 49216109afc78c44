//! Certificates of nets on images: layers as they are, bounds that hold.
#![allow(clippy::unwrap_used)]

use tove_nn::{AvgPool2d, BatchNorm, Cnn, CnnConfig, Conv2d, Layer, MaxPool2d, Pass, Rng};
use tove_tensor::{ConvOptions, DType, Key, PoolOptions, Tensor};
use tove_trust::certificates::{InputRegion, Network, Relaxation};
use tove_trust::robustness::AttackNorm;

const RELAXATIONS: [Relaxation; 3] = [Relaxation::Intervals, Relaxation::Mixed, Relaxation::Crown];

fn uniform(seed: u64, n: usize) -> Vec<f64> {
    Key::new(seed).uniform([n], DType::F64).to_f64_vec()
}

fn normal(seed: u64, n: usize) -> Vec<f64> {
    Key::new(seed).normal([n], DType::F64).to_f64_vec()
}

/// A random point of a box.
fn point(region: &InputRegion, seed: u64) -> Vec<f64> {
    let draws = uniform(seed, region.width());
    // Corners as often as inner points.
    let place = |u: f64| if seed.is_multiple_of(2) { u } else { f64::from(u8::from(u > 0.5)) };
    let bounds = region.lower().iter().zip(region.upper());
    bounds.zip(draws).map(|((low, high), u)| low + place(u) * (high - low)).map(|x| x.max(-1e300)).collect()
}

/// The value of a layer or net on flattened images, as it computes them itself.
fn own(layer: &dyn Layer, x: &[f64], shape: [usize; 3]) -> Vec<f64> {
    let x = Tensor::from_vec(x.iter().map(|x| *x as f32).collect::<Vec<f32>>(), [1, shape[0], shape[1], shape[2]]);
    layer.forward(&x, &Pass::eval()).unwrap().to_f64_vec()
}

#[track_caller]
fn near(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs())), "{a:?}\n{b:?}");
}

#[test]
fn image_layers_are_those_of_the_net() {
    let (shape, mut rng) = ([4, 7, 6], Rng::new(5));
    let x: Vec<f64> = normal(3, 4 * 7 * 6).into_iter().map(|x| f64::from(x as f32)).collect();
    let images = || Network::images(shape).unwrap();
    for options in [
        ConvOptions::new(),
        ConvOptions::new().padding(1).stride(2),
        ConvOptions::new().padding(2).dilation(2).groups(2),
    ] {
        let conv = Conv2d::with(4, 6, 3, options, &mut rng);
        let net = images().conv2d(&conv).unwrap();
        near(&net.evaluate(&x).unwrap(), &own(&conv, &x, shape), 1e-5);
    }
    for options in [PoolOptions::new(2), PoolOptions::new(3).stride(2), PoolOptions::new(2).padding(1)] {
        let pooled = images().max_pool2d(&options).unwrap();
        near(&pooled.evaluate(&x).unwrap(), &own(&MaxPool2d::with(options), &x, shape), 1e-6);
        let pooled = images().avg_pool2d(&options).unwrap();
        near(&pooled.evaluate(&x).unwrap(), &own(&AvgPool2d::with(options), &x, shape), 1e-6);
    }
    let norm = BatchNorm::new(4);
    norm.running_mean.set(Tensor::from([0.5f32, -1.0, 0.0, 2.0]));
    norm.running_var.set(Tensor::from([1.0f32, 4.0, 0.25, 9.0]));
    near(&images().batch_norm(&norm).unwrap().evaluate(&x).unwrap(), &own(&norm, &x, shape), 1e-5);
}

#[test]
fn bounds_of_a_convolutional_net_hold_and_shrink() {
    let config = CnnConfig { widths: vec![4, 6], hidden: 16, batch_norm: true, ..CnnConfig::new([1, 8, 8], 3) };
    let cnn = Cnn::new(&config, &mut Rng::new(2)).unwrap();
    let net = Network::images([1, 8, 8]).unwrap().cnn(&cnn).unwrap();
    let x: Vec<f64> = uniform(4, 64).into_iter().map(|x| f64::from(x as f32)).collect();
    near(&net.evaluate(&x).unwrap(), &own(&cnn, &x, [1, 8, 8]), 1e-4);
    let region =
        InputRegion::around(&x, &[0.02; 64], AttackNorm::LInf).unwrap().within(&[0.0; 64], &[1.0; 64]).unwrap();
    let bounds = RELAXATIONS.map(|relaxation| net.bounds(&region, relaxation).unwrap());
    let width = |place: usize| bounds[place].upper.iter().zip(&bounds[place].lower).map(|(a, b)| a - b).sum::<f64>();
    assert!(width(2) <= width(1) && width(1) <= width(0) && width(2) < 0.9 * width(0), "{} {}", width(0), width(2));
    for seed in 0..40 {
        let z = net.evaluate(&point(&region, seed)).unwrap();
        for bounds in &bounds {
            assert!(z.iter().zip(&bounds.lower).all(|(z, low)| z >= low));
            assert!(z.iter().zip(&bounds.upper).all(|(z, high)| z <= high));
        }
    }
}
