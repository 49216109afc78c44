//! Tensors of random numbers: reproducible, of the right distribution, and particular about their parameters.
#![allow(clippy::unwrap_used)]

use tove_tensor::{DType, Key, Tensor};

#[test]
fn the_same_key_gives_the_same_tensor() {
    let key = Key::new(11);
    for dtype in [DType::F32, DType::F64] {
        assert_eq!(key.normal([7, 3], dtype).to_f64_vec(), key.normal([21], dtype).to_f64_vec());
        assert_ne!(key.normal([21], dtype).to_f64_vec(), key.fold(1).normal([21], dtype).to_f64_vec());
    }
    assert_eq!(key.uniform([0, 4], DType::F32).shape(), &[0, 4]);
    assert_eq!(key.uniform((), DType::F64).rank(), 0);
}

#[test]
fn moments_are_those_of_the_distribution() {
    let key = Key::new(12);
    let n = 200_000;
    let moments = |x: &Tensor| (x.mean().item::<f64>(), x.var(1).item::<f64>());
    let cases = [
        ("uniform", key.uniform([n], DType::F64), 0.5, 1.0 / 12.0),
        ("normal", key.normal([n], DType::F64), 0.0, 1.0),
        ("exponential", key.exponential(4.0, [n], DType::F64), 0.25, 1.0 / 16.0),
        ("gamma", key.gamma(2.5, [n], DType::F64), 2.5, 2.5),
        ("gamma below one", key.gamma(0.3, [n], DType::F64), 0.3, 0.3),
        ("beta", key.beta(2.0, 3.0, [n], DType::F64), 0.4, 0.04),
        ("bernoulli", key.bernoulli(0.3, [n]).to_dtype(DType::F64), 0.3, 0.21),
        ("integers", key.integers(-2, 3, [n]).to_dtype(DType::F64), 0.0, 2.0),
        ("dropout", key.dropout_mask([n], 0.2, DType::F64), 1.0, 0.25),
    ];
    for (name, x, mean, variance) in cases {
        let (m, v) = moments(&x);
        // Six standard deviations of the mean; the variance more loosely.
        assert!((m - mean).abs() < 6.0 * (variance / n as f64).sqrt(), "{name}: mean {m}");
        assert!((v / variance - 1.0).abs() < 0.05, "{name}: variance {v}");
    }
}

#[test]
fn categories_follow_their_weights() {
    let weights = Tensor::from([[1.0f32, 0.0, 3.0], [2.0, 2.0, 0.0]]);
    let n = 40_000;
    for draws in [Key::new(13).categorical(&weights, n), Key::new(13).categorical_logits(&weights.ln(), n)] {
        assert_eq!(draws.shape(), &[2, n]);
        for (row, expected) in [[0.25, 0.0, 0.75], [0.5, 0.5, 0.0]].iter().enumerate() {
            for (class, &p) in expected.iter().enumerate() {
                let share = draws.get(row).eq_scalar(class as f64).count_nonzero().item::<i64>() as f64 / n as f64;
                assert!((share - p).abs() < 6.0 * (p * (1.0 - p) / n as f64).sqrt() + 1e-12, "{row} {class} {share}");
            }
        }
    }
    // Weights seen through a transposed view.
    let transposed = Key::new(13).categorical(&weights.t().contiguous().t(), 10);
    assert_eq!(transposed.to_vec::<i64>(), Key::new(13).categorical(&weights, 10).to_vec::<i64>());
}

#[test]
fn a_dropout_mask_is_zero_or_the_scale() {
    let key = Key::new(14);
    let mask = key.dropout_mask([1000], 0.75, DType::F32).to_vec::<f32>();
    assert!(mask.iter().all(|&m| m == 0.0 || m == 4.0));
    assert_eq!(key.dropout_mask([10], 1.0, DType::F32).to_vec::<f32>(), [0.0; 10]);
    assert_eq!(key.dropout_mask([10], 0.0, DType::F32).to_vec::<f32>(), [1.0; 10]);
}

#[test]
fn bad_parameters_are_named() {
    let key = Key::new(15);
    let outcomes = [
        (key.try_bernoulli(1.5, [2]), "bernoulli: p"),
        (key.try_bernoulli(f64::NAN, [2]), "bernoulli: p"),
        (key.try_integers(3, 3, [2]), "integers: high"),
        (key.try_exponential(0.0, [2], DType::F64), "exponential: rate"),
        (key.try_gamma(-1.0, [2], DType::F64), "gamma: concentration"),
        (key.try_beta(1.0, f64::INFINITY, [2], DType::F64), "beta: b"),
        (key.try_dropout_mask([2], -0.1, DType::F32), "dropout_mask: p"),
        (key.try_categorical(&Tensor::from([0.0, 0.0]), 3), "categorical: weights"),
        (key.try_categorical(&Tensor::scalar(1.0), 3), "categorical: shape"),
        (key.try_categorical_logits(&Tensor::from([f64::NAN]), 3), "categorical_logits: logits"),
        (key.try_uniform([2], DType::I64), "uniform: element type i64"),
        (key.try_normal([usize::MAX, 8], DType::F32), "normal: shape"),
    ];
    for (outcome, words) in outcomes {
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}
