//! Pixels against learned features, and the linear autoencoder against principal components.
#![allow(clippy::unwrap_used)]

use tove::prelude::*;
use tove_learn::decomposition::{Pca, low_rank};
use tove_learn::{Fit, KNeighborsClassifier, Predict};
use tove_nn::{Cnn, CnnConfig};
use tove_tensor::linalg;

/// Images (n, 64) moved by one pixel; what comes in is black.
fn shifted(x: &[f32], directions: impl Fn(usize) -> (i64, i64)) -> Vec<f32> {
    let mut moved = vec![0.0; x.len()];
    for (image, (from, to)) in x.chunks(64).zip(moved.chunks_mut(64)).enumerate() {
        let (down, right) = directions(image);
        for row in 0..8i64 {
            for column in 0..8i64 {
                let (r, c) = (row - down, column - right);
                if (0..8).contains(&r) && (0..8).contains(&c) {
                    to[(row * 8 + column) as usize] = from[(r * 8 + c) as usize];
                }
            }
        }
    }
    moved
}

const MOVES: [(i64, i64); 5] = [(0, 1), (0, -1), (1, 0), (-1, 0), (0, 0)];

/// A convolutional net that was trained to tell these digits apart, moved in every direction.
fn pretrained(images: &[f32], digits: &[i64], seed: u64) -> Cnn {
    let config = CnnConfig { hidden: 64, ..CnnConfig::new([1, 8, 8], 10) };
    let mut net = Cnn::new(&config, &mut Rng::new(seed)).unwrap();
    let (mut adam, y) = (Adam::new(1e-3), Tensor::from_slice(digits));
    for step in 0..200 {
        let moved = shifted(images, |image| MOVES[(image * 7 + step * 3 + image / 5) % 5]);
        let batch = Tensor::from_vec(moved, [digits.len(), 1, 8, 8]);
        let scores = net.forward(&batch, &Pass::train(Key::new(step as u64))).unwrap();
        scores.cross_entropy(&y, &CrossEntropy::default()).backward();
        adam.step(&mut net.parameters_mut()).unwrap();
    }
    net
}

/// A digit is farther from itself moved by a pixel than from some digit of another class, and moving the digits costs k-NN on
/// pixels much of its accuracy. Features of a net that was trained on other images (neither stored nor queried, and by
/// other writers, whose digits follow one another in the data) recover most of it.
#[test]
fn l2_pixel_distance_is_not_meaning() {
    let digits = tove_data::sets::digits().unwrap();
    let (x, y) = (digits.x().reshape([1797, 64]).to_vec::<f32>(), digits.y().to_vec::<i64>());
    let square = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
    let right = shifted(&x, |_| MOVES[0]);
    let nearer = (0..300).filter(|&i| {
        let (own, moved) = (&x[i * 64..(i + 1) * 64], &right[i * 64..(i + 1) * 64]);
        (0..1797).any(|j| y[j] != y[i] && square(own, &x[j * 64..(j + 1) * 64]) < square(own, moved))
    });
    assert!(nearer.count() > 250);
    let part = |from: usize, to: usize| (&x[from * 64..to * 64], &y[from..to]);
    let ((other, other_y), (stored, stored_y), (tests, tests_y)) = (part(0, 700), part(700, 1250), part(1250, 1797));
    let accuracy = |turn: &dyn Fn(&Tensor) -> Tensor, tests: &[f32]| {
        let rows = |pixels: &[f32]| turn(&Tensor::from_slice(pixels).reshape([pixels.len() / 64, 64]));
        let knn = KNeighborsClassifier::default().n_neighbors(3);
        let model = knn.fit(rows(stored), &Tensor::from_slice(stored_y)).unwrap();
        model.score(rows(tests), &Tensor::from_slice(tests_y)).unwrap().value
    };
    let moved = shifted(tests, |image| MOVES[image % 4]);
    let same = |pixels: &Tensor| pixels.clone();
    let (still, pixels) = (accuracy(&same, tests), accuracy(&same, &moved));
    assert!(still > 0.9 && pixels < still - 0.2, "{still} {pixels}");
    for seed in 1..=3 {
        let net = pretrained(other, other_y, seed);
        let features = |pixels: &Tensor| {
            let images = pixels.reshape([pixels.dims()[0], 1, 8, 8]);
            net.features(&images, &Pass::eval()).unwrap().detach()
        };
        let learned = accuracy(&features, &moved);
        println!("seed {seed}: still {still:.3}, moved: pixels {pixels:.3}, features {learned:.3}");
        assert!(learned > pixels + 0.5 * (still - pixels), "seed {seed}: {still} {pixels} {learned}");
    }
}

#[test]
fn l15_a_linear_autoencoder_finds_the_principal_subspace() {
    let (n, d, k) = (200, 8, 3);
    let scales = Tensor::from([3.0f32, 2.2, 1.6, 0.5, 0.4, 0.3, 0.2, 0.1]);
    let turn = linalg::qr(&Key::new(2).normal([d, d], DType::F64)).unwrap().q.to_dtype(DType::F32);
    let x = (Key::new(1).normal([n, d], DType::F32) * &scales).matmul(&turn);
    let x = &x - x.mean_axes(&[0], true);
    let (mut encoder, mut decoder) = (Mlp::new(&[d, k], &mut Rng::new(3)), Mlp::new(&[k, d], &mut Rng::new(4)));
    for (rate, steps) in [(1e-2, 1500), (1e-3, 1500), (1e-4, 1000)] {
        let (mut first, mut second) = (Adam::new(rate), Adam::new(rate));
        for _ in 0..steps {
            let codes = encoder.forward(&x, &Pass::train(Key::new(0))).unwrap();
            let gap = decoder.forward(&codes, &Pass::train(Key::new(0))).unwrap() - &x;
            (&gap * &gap).mean().backward();
            first.step(&mut encoder.parameters_mut()).unwrap();
            second.step(&mut decoder.parameters_mut()).unwrap();
        }
    }
    let through = decoder.forward(&encoder.forward(&x, &Pass::eval()).unwrap(), &Pass::eval()).unwrap().detach();
    let gap = (&through - &x).to_dtype(DType::F64);
    let (found, best) = ((&gap * &gap).sum().item::<f64>(), low_rank(&x.to_dtype(DType::F64), k).unwrap().error);
    assert!(found >= best * (1.0 - 1e-4) && found <= 1.01 * best, "{found} {best}");
    // The span of what the decoder can give, against the first components: the largest angle between them.
    let zero = decoder.forward(&Tensor::zeros([1, k], DType::F32), &Pass::eval()).unwrap().detach();
    let ends = decoder.forward(&Tensor::eye(k, DType::F32), &Pass::eval()).unwrap().detach() - zero; // (k, d)
    let span = linalg::qr(&ends.t().contiguous().to_dtype(DType::F64)).unwrap().q; // (d, k)
    let components = Pca::default().n_components(k.into()).fit(x.to_dtype(DType::F64), None).unwrap();
    let inside = components.components().matmul(&span); // (k, k), singular values are cosines
    let outside = &span - components.components().t().matmul(&inside);
    let sines = linalg::svd(&outside).unwrap().s.to_f64_vec();
    assert!(sines[0].asin() < 1e-2, "{sines:?}");
}
