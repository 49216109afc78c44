//! What attention and its nets are built to do: averages, scaling, order, locality, padding.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_data::CharVocabulary;
use tove_nn::*;
use tove_tensor::{CrossEntropy, DType, Key, Tensor, jacobian};
use transformer_common::{accuracy, close, largest_gap, train, widen};

#[test]
fn j2_embedding_is_the_one_hot_product_and_unused_tokens_get_no_gradient() {
    let vocabulary = CharVocabulary::from_text("to be or not to be").unwrap();
    let tokens = vocabulary.encode("to be").unwrap(); // (T)
    assert_eq!(vocabulary.decode(&tokens).unwrap(), "to be");
    assert!(vocabulary.encode("question").is_err()); // the vocabulary is fixed

    let table = Embedding::new(vocabulary.len(), 6, &mut Rng::new(1));
    let x = table.forward(&tokens, &Pass::eval()).unwrap();
    assert_eq!(x.shape(), &[5, 6]); // T tokens give (T, D)
    let one_hot = tokens.one_hot(vocabulary.len(), DType::F32); // rows e_i
    assert_eq!(x.to_vec::<f32>(), one_hot.matmul(&table.weight).to_vec::<f32>());

    x.square().sum().backward();
    let gradient = table.weight.grad().unwrap();
    let used = tokens.to_vec::<i64>();
    for token in 0..vocabulary.len() {
        let is_zero = gradient.get(token).to_vec::<f32>().iter().all(|g| *g == 0.0);
        assert_eq!(is_zero, !used.contains(&(token as i64)), "token {token}");
    }
}

#[test]
fn j3_attention_is_a_weighted_average_of_values() {
    let (q, k, v) = (Key::new(1), Key::new(2), Key::new(3));
    let [q, k] = [q, k].map(|key| key.normal([2, 3, 9, 8], DType::F32) * 2.0);
    let v = v.normal([2, 3, 9, 4], DType::F32);
    let z = q.scaled_dot_product_attention(&k, &v, false, None, None);
    // A point lies in a convex hull when no direction sees it beyond all the hull's points.
    let directions = Key::new(4).normal([4, 500], DType::F32);
    let (along_z, along_v) = (z.matmul(&directions), v.matmul(&directions));
    let (low, high) = (along_v.min_axes(&[-2], true) - 1e-5, along_v.max_axes(&[-2], true) + 1e-5);
    assert!(along_z.ge(&low).all().item::<bool>() && along_z.le(&high).all().item::<bool>());

    let layer = MultiHeadAttention::new(8, 2, &mut Rng::new(0)).unwrap();
    let x = Key::new(5).normal([3, 7, 8], DType::F32) * 3.0;
    for causal in [false, true] {
        let p = layer.probabilities(&x, causal, None).unwrap();
        assert!(p.min().item::<f32>() >= 0.0);
        assert!((p.sum_axes(&[-1], false) - 1.0).abs().max().item::<f32>() <= 1e-6);
        // The weights exported are those the layer used: P V W_Oᵀ + b is its output.
        let values = x.linear(&layer.in_proj_weight, layer.in_proj_bias.as_ref(), tove_tensor::Activation::Identity);
        let values = values.narrow(-1, 16, 8).reshape([3, 7, 2, 4]).swap_axes(1, 2);
        let mixed = p.matmul(&values).swap_axes(1, 2).reshape([3, 7, 8]);
        let y = layer.out_proj.forward(&mixed, &Pass::eval()).unwrap();
        close(&layer.attend(&x, causal, None, &Pass::eval()).unwrap(), &y);
    }
}

/// Mean entropy of the rows of a matrix of probabilities.
fn entropy(p: &Tensor) -> f64 {
    let rows = p.numel() / p.dims()[p.rank() - 1];
    -p.detach().to_f64_vec().iter().map(|p| if *p > 0.0 { p * p.ln() } else { 0.0 }).sum::<f64>() / rows as f64
}

/// Mean and standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// A layer with queries and keys of unit variance for tokens of unit variance: weights N(0, 1 / width).
fn unit_variance(mut layer: MultiHeadAttention, seed: u64) -> MultiHeadAttention {
    let width = layer.width();
    layer.in_proj_weight = Key::new(seed).normal([3 * width, width], DType::F32) * (1.0 / (width as f64).sqrt());
    layer
}

/// The same layer without the division by √d: its queries are √d times as long.
fn unscaled(mut layer: MultiHeadAttention) -> MultiHeadAttention {
    let (width, head) = (layer.width(), (layer.width() / layer.heads()) as f64);
    let queries = layer.in_proj_weight.narrow(0, 0, width) * head.sqrt();
    let others = layer.in_proj_weight.narrow(0, width, 2 * width);
    layer.in_proj_weight = Tensor::concat(&[&queries, &others], 0);
    layer
}

/// Q Kᵀ / √d of head 0 in f64, from the layer's weights alone.
fn scores_of_head_0(layer: &MultiHeadAttention, x: &Tensor) -> Tensor {
    let (width, head) = (layer.width(), layer.width() / layer.heads());
    let weight = layer.in_proj_weight.detach().to_dtype(DType::F64);
    let x = x.to_dtype(DType::F64);
    let part = |start: usize| x.matmul(&weight.narrow(0, start, head).t());
    part(0).matmul(&part(width).t()) / (head as f64).sqrt()
}

#[test]
fn j4_scaling_keeps_scores_at_unit_variance_and_attention_spread_out() {
    let (tokens, draws) = (128, 60);
    let uniform = (tokens as f64).ln();
    // One head, whose width is the layer's, and four heads.
    for (d, heads) in [(16, 1), (16, 4), (256, 1)] {
        let layer = |seed: u64| MultiHeadAttention::new(d * heads, heads, &mut Rng::new(seed)).unwrap();
        let x = |seed: u64| Key::new(1000 + seed).normal([tokens, d * heads], DType::F32);
        // Over layers and texts drawn anew: variance of the layer's scores, entropy of its weights.
        let measure = |layer: &dyn Fn(u64) -> MultiHeadAttention| {
            let (mut variances, mut gaps) = (Vec::new(), Vec::new());
            for seed in 0..draws {
                let (layer, x) = (layer(seed), x(seed));
                let scores = layer.scores(&x).unwrap().detach();
                variances.push(scores.square().mean().item::<f32>() as f64);
                gaps.push(uniform - entropy(&layer.probabilities(&x, false, None).unwrap()));
            }
            (mean_and_error(&variances), mean_and_error(&gaps))
        };
        let ((unit, error), (unit_gap, _)) = measure(&|seed| unit_variance(layer(seed), seed));
        let ((raw, _), (raw_gap, _)) = measure(&|seed| unscaled(unit_variance(layer(seed), seed)));
        println!("d {d}, {heads} heads: variance {unit:.3} ± {error:.3}, entropy {unit_gap:.3} below ln T");
        println!("  without scaling: variance {raw:.1}, entropy {raw_gap:.3} below ln T");
        // Within four standard errors of 1, and these are small.
        assert!((unit - 1.0).abs() < 4.0 * error && error < 0.05, "d {d}: {unit} ± {error}");
        assert!((raw / d as f64 - unit).abs() < 1e-3 * unit, "d {d}: {raw}");
        // Normal scores of variance s² cost s² / 2 of ln T = 4.85, as long as that is small.
        assert!(unit_gap < 0.6, "d {d}: {unit_gap}");
        assert!(raw_gap > 0.6 * uniform, "d {d}: {raw_gap} of {uniform}");

        // The layer with the weights it starts with: variance 1/4 for any d, and P nearer still to uniform.
        let ((first, error), (first_gap, _)) = measure(&layer);
        let (_, (without_gap, _)) = measure(&|seed| unscaled(layer(seed)));
        println!("  first weights: variance {first:.3} ± {error:.3}, entropy {first_gap:.3}, {without_gap:.3} below");
        assert!((first - 0.25).abs() < 4.0 * error && error < 0.02, "d {d}: {first} ± {error}");
        assert!(first_gap < 0.15 && without_gap > 1.2, "d {d}: {first_gap} {without_gap}");

        // What was measured are the scores of the formula, and those the layer's output is made from.
        let (layer, x) = (layer(3), x(3));
        let scores = layer.scores(&x).unwrap(); // (heads, tokens, tokens)
        assert_eq!(scores.shape(), &[heads, tokens, tokens]);
        close(&scores.get(0).to_dtype(DType::F64), &scores_of_head_0(&layer, &x));
        close(&layer.probabilities(&x, false, None).unwrap(), &scores.softmax(-1));
        let width = d * heads;
        let values = x.matmul(&layer.in_proj_weight.narrow(0, 2 * width, width).t()); // biases start at 0
        let values = values.reshape([tokens, heads, d]).swap_axes(0, 1);
        let mixed = scores.softmax(-1).matmul(&values).swap_axes(0, 1).reshape([tokens, width]);
        let y = layer.out_proj.forward(&mixed, &Pass::eval()).unwrap();
        close(&layer.forward(&x, &Pass::eval()).unwrap(), &y);
    }
}

/// Texts of six different tokens with 1 and 2 among them, and whether 1 comes before 2.
fn order_task(count: usize, seed: u64) -> (Tensor, Tensor) {
    let (mut texts, mut labels) = (Vec::new(), Vec::new());
    for index in 0..count {
        let text = Key::new(seed).fold(index as u64).permutation(6).to_vec::<i64>();
        let at = |token: i64| text.iter().position(|other| *other == token);
        labels.push(i64::from(at(1) < at(2)));
        texts.extend(text);
    }
    (Tensor::from_vec(texts, [count, 6]), Tensor::from(labels))
}

#[test]
fn j7_order_is_seen_only_with_positions() {
    let config = EncoderConfig { positions: false, ..EncoderConfig::new(6, 6, Readout::PerToken, 4) };
    let blind = SequenceEncoder::new(&config, &mut Rng::new(1)).unwrap();
    let seeing = SequenceEncoder::new(&EncoderConfig { positions: true, ..config }, &mut Rng::new(1)).unwrap();
    let tokens = Tensor::from([4i64, 0, 2, 2, 5, 1]);
    let order = Tensor::from([3i64, 5, 0, 4, 1, 2]);
    let gap = |net: &SequenceEncoder| {
        let permuted_input = net.forward(&tokens.index_select(0, &order), &Pass::eval()).unwrap();
        let permuted_output = net.forward(&tokens, &Pass::eval()).unwrap().index_select(0, &order);
        largest_gap(&permuted_input, &permuted_output)
    };
    assert!(gap(&blind) <= 1e-6, "{}", gap(&blind));
    assert!(gap(&seeing) > 1e-3, "{}", gap(&seeing));

    let (test, truth) = order_task(500, 99);
    let learn = |positions: bool| {
        let config = EncoderConfig { layers: 1, positions, ..EncoderConfig::new(6, 6, Readout::Average, 2) };
        let mut net = SequenceEncoder::new(&config, &mut Rng::new(2)).unwrap();
        train(&mut net, 3e-3, 250, |net, step| {
            let (tokens, labels) = order_task(64, 1000 + step);
            let logits = net.forward(&tokens, &Pass::train(Key::new(step))).unwrap();
            logits.cross_entropy(&labels, &CrossEntropy::default())
        });
        accuracy(&net.forward(&test, &Pass::eval()).unwrap(), &truth)
    };
    let (with, without) = (learn(true), learn(false));
    // 500 fair coins lie within 0.43 … 0.57 with probability 0.998.
    assert!(with > 0.97 && (0.43..0.57).contains(&without), "{with} with positions, {without} without");
}

#[test]
fn j8_the_mlp_works_within_each_token() {
    let block = TransformerBlock::new(&BlockConfig::new(8, 2), &mut Rng::new(0)).unwrap();
    let x = Key::new(1).normal([5, 8], DType::F32);
    let before = block.token_mlp(&x, &Pass::eval()).unwrap();
    for token in 0..5 {
        let mut changed = x.to_vec::<f32>();
        changed[token * 8 + 3] += 1.0;
        let after = block.token_mlp(&Tensor::from_vec(changed, [5, 8]), &Pass::eval()).unwrap();
        for other in 0..5 {
            let same = after.get(other).to_vec::<f32>() == before.get(other).to_vec::<f32>();
            assert_eq!(same, other != token, "token {token} changed, output {other}");
        }
    }
    // The same for every token: φ(X W₁) W₂ row by row.
    let row = block.token_mlp(&x.get(2).reshape([1, 8]), &Pass::eval()).unwrap();
    assert!(largest_gap(&row.get(0), &before.get(2)) < 1e-6);
}

/// Whether each (output token, input token) pair has a derivative that is not zero; (T, T) of truth values.
fn support(f: impl Fn(&Tensor) -> Tensor, x: &Tensor) -> Vec<bool> {
    let derivative = jacobian(f, x); // (T, K, T, D)
    derivative.abs().max_axes(&[1, 3], false).gt_scalar(0.0).to_vec::<bool>()
}

#[test]
fn j10_every_output_sees_every_input_and_padding_does_not_count() {
    let mut encoder = TransformerEncoder::new(1, &BlockConfig::new(8, 2), &mut Rng::new(0)).unwrap();
    widen(&mut encoder);
    let x = Key::new(1).normal([6, 8], DType::F64);
    let seen = support(|x| encoder.forward(x, &Pass::eval()).unwrap(), &x);
    assert!(seen.len() == 36 && seen.iter().all(|seen| *seen));

    let texts = [vec![1i64, 2, 3, 4, 5], vec![6i64, 1], vec![3i64, 3, 2]];
    let padded: Vec<i64> = texts.iter().flat_map(|text| (0..5).map(|t| *text.get(t).unwrap_or(&7))).collect();
    let present: Vec<bool> = texts.iter().flat_map(|text| (0..5).map(|t| t < text.len())).collect();
    let (padded, present) = (Tensor::from_vec(padded, [3, 5]), Tensor::from_vec(present, [3, 5]));
    for readout in [Readout::Special, Readout::Average, Readout::PerToken] {
        let net = SequenceEncoder::new(&EncoderConfig::new(8, 5, readout, 3), &mut Rng::new(2)).unwrap();
        let together = net.forward_padded(&padded, Some(&present), &Pass::eval()).unwrap();
        for (row, text) in texts.iter().enumerate() {
            let alone = net.forward(&Tensor::from(text.clone()), &Pass::eval()).unwrap();
            let among = together.get(row);
            let among = if readout == Readout::PerToken { among.narrow(0, 0, text.len()) } else { among };
            close(&among, &alone);
        }
        // Without the mask padding would count.
        let unmasked = net.forward(&padded, &Pass::eval()).unwrap();
        assert!(largest_gap(&unmasked.get(1), &together.get(1)) > 1e-3);
    }
}

#[test]
fn dropout_follows_the_key_and_stays_out_of_evaluation() {
    let config = BlockConfig { dropout: 0.3, ..BlockConfig::new(8, 2) };
    let block = TransformerBlock::new(&config, &mut Rng::new(0)).unwrap();
    let x = Key::new(1).normal([2, 5, 8], DType::F32);
    let run = |pass: &Pass| block.attend(&x, true, None, pass).unwrap().to_vec::<f32>();
    assert_eq!(run(&Pass::train(Key::new(7))), run(&Pass::train(Key::new(7))));
    assert_ne!(run(&Pass::train(Key::new(7))), run(&Pass::train(Key::new(8))));
    assert_eq!(run(&Pass::eval()), run(&Pass::eval()));
    // Causal with dropped weights: the first token still sees itself alone.
    let mut changed = x.to_vec::<f32>();
    changed[8..40].iter_mut().for_each(|value| *value += 1.0);
    let changed = Tensor::from_vec(changed, [2, 5, 8]);
    let first = block.attend(&changed, true, None, &Pass::train(Key::new(7))).unwrap();
    assert_eq!(first.to_vec::<f32>()[..8], run(&Pass::train(Key::new(7)))[..8]);
}
