//! Three ways from a sequence to an answer.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_nn::*;
use tove_tensor::{CrossEntropy, Key, Tensor};
use transformer_common::{accuracy, train};

/// Makes so many texts and answers from a seed.
type Task = fn(usize, u64) -> (Tensor, Tensor);

/// Texts of eight tokens below 5, and whether token 3 occurs.
fn presence(count: usize, seed: u64) -> (Tensor, Tensor) {
    let tokens = Key::new(seed).integers(0, 5, [count, 8]);
    // Half of the texts lose their 3s, so that both answers are common.
    let drop = Key::new(seed).fold(1).bernoulli(0.4, [count, 1]);
    let tokens = drop.logical_and(&tokens.eq_scalar(3.0)).select(&Tensor::scalar(0i64), &tokens);
    let found = tokens.eq_scalar(3.0).to_dtype(tove_tensor::DType::I64).max_axes(&[1], false);
    (tokens, found)
}

/// Texts and, for each token, the token at the mirrored place.
fn mirror(count: usize, seed: u64) -> (Tensor, Tensor) {
    let tokens = Key::new(seed).integers(0, 5, [count, 8]);
    let mirrored = tokens.flip(&[1]).contiguous();
    (tokens, mirrored)
}

#[test]
fn j9_three_heads_have_their_shapes_and_learn() {
    let tokens = Tensor::from([1i64, 4, 0, 2]);
    let cases: [(Readout, usize, Task, &[usize]); 3] = [
        (Readout::Special, 2, presence, &[2]),
        (Readout::Average, 2, presence, &[2]),
        (Readout::PerToken, 5, mirror, &[4, 5]),
    ];
    for (readout, outputs, task, shape) in cases {
        let config = EncoderConfig { layers: 1, ..EncoderConfig::new(5, 8, readout, outputs) };
        let mut net = SequenceEncoder::new(&config, &mut Rng::new(1)).unwrap();
        assert_eq!(net.forward(&tokens, &Pass::eval()).unwrap().dims(), shape); // (K), (K), (T, K)
        let (test, truth) = task(300, 5);
        let before = accuracy(&net.forward(&test, &Pass::eval()).unwrap(), &truth);
        train(&mut net, 5e-3, 300, |net, step| {
            let (tokens, labels) = task(64, 100 + step);
            let logits = net.forward(&tokens, &Pass::train(Key::new(step))).unwrap();
            logits.cross_entropy(&labels, &CrossEntropy::default())
        });
        let after = accuracy(&net.forward(&test, &Pass::eval()).unwrap(), &truth);
        assert!(after > 0.97 && before < 0.75, "{readout:?}: {before} to {after}");
    }
}
