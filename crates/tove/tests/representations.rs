//! Pixels against learned features, and the linear autoencoder against principal components.
#![allow(clippy::unwrap_used)]

use tove::prelude::*;
use tove_learn::decomposition::{Pca, low_rank};
use tove_learn::{Fit, KNeighborsClassifier, Predict};
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

#[test]
fn pixel_distance_is_not_likeness() {
    let digits = tove_data::sets::digits().unwrap();
    let (x, y) = (digits.x().reshape([1797, 64]).to_vec::<f32>(), digits.y().to_vec::<i64>());
    let square = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
    // Moved by a pixel to the right, most digits are farther from themselves than from some digit of another class.
    let right = shifted(&x, |_| MOVES[0]);
    let nearer = (0..300).filter(|&i| {
        let (own, moved) = (&x[i * 64..(i + 1) * 64], &right[i * 64..(i + 1) * 64]);
        (0..1797).any(|j| y[j] != y[i] && square(own, &x[j * 64..(j + 1) * 64]) < square(own, moved))
    });
    assert!(nearer.count() > 250);
    // A net that has seen moved digits, as what later tasks take their features from.
    let stored = 1000;
    let (train, train_y) = (&x[..stored * 64], Tensor::from_slice(&y[..stored]));
    let (tests, tests_y) = (&x[stored * 64..], Tensor::from_slice(&y[stored..]));
    let mut body = Mlp::new(&[64, 128, 32], &mut Rng::new(1));
    let mut head = Mlp::new(&[32, 10], &mut Rng::new(2));
    let (mut adam, mut head_adam) = (Adam::new(3e-3), Adam::new(3e-3));
    for step in 0..400 {
        let moved = shifted(train, |image| MOVES[(image * 7 + step * 3 + image / 5) % 5]);
        let batch = Tensor::from_vec(moved, [stored, 64]);
        let features = body.forward(&batch, &Pass::train(Key::new(step as u64))).unwrap().relu();
        let scores = head.forward(&features, &Pass::train(Key::new(step as u64))).unwrap();
        scores.cross_entropy(&train_y, &CrossEntropy::default()).backward();
        adam.step(&mut body.parameters_mut()).unwrap();
        head_adam.step(&mut head.parameters_mut()).unwrap();
    }
    let features = |pixels: &Tensor| body.forward(pixels, &Pass::eval()).unwrap().relu().detach();
    let same = |pixels: &Tensor| pixels.clone();
    let accuracy = |turn: &dyn Fn(&Tensor) -> Tensor, tests: Vec<f32>| {
        let rows = turn(&Tensor::from_vec(train.to_vec(), [stored, 64]));
        let model = KNeighborsClassifier::default().n_neighbors(3).fit(&rows, &train_y).unwrap();
        let count = tests.len() / 64;
        model.score(turn(&Tensor::from_vec(tests, [count, 64])), &tests_y).unwrap().value
    };
    let moved = shifted(tests, |image| MOVES[image % 4]);
    let (still, pixels, learned) =
        (accuracy(&same, tests.to_vec()), accuracy(&same, moved.clone()), accuracy(&features, moved));
    println!("still {still:.3}, moved: pixels {pixels:.3}, features {learned:.3}");
    assert!(
        still > 0.93 && pixels < still - 0.1 && learned > pixels + 0.5 * (still - pixels),
        "{still} {pixels} {learned}"
    );
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
