//! The decoder: what it may see, how it chooses, and that the cache changes nothing.

#![allow(clippy::unwrap_used)]

mod transformer_common;

use tove_data::CharVocabulary;
use tove_nn::*;
use tove_tensor::{DType, Key, Tensor, jacobian, no_grad};
use transformer_common::{close, train, widen};

fn config() -> GptConfig {
    GptConfig { vocabulary: 11, context: 8, layers: 2, heads: 2, width: 16, hidden: 32, ..GptConfig::default() }
}

/// A net whose logits differ clearly.
fn net(seed: u64) -> Gpt {
    let mut net = Gpt::new(&config(), &mut Rng::new(seed)).unwrap();
    for parameter in net.parameters_mut() {
        *parameter = (parameter.detach() * 8.0).requires_grad();
    }
    net
}

/// Σ (observed − expected)² / expected over the outcomes that can happen.
fn chi_square(counts: &[usize], p: &[f64]) -> f64 {
    let total: usize = counts.iter().sum();
    let term = |(count, p): (&usize, &f64)| {
        assert!(*p > 0.0 || *count == 0, "an impossible outcome happened");
        let expected = p * total as f64;
        if *p > 0.0 { (*count as f64 - expected).powi(2) / expected } else { 0.0 }
    };
    counts.iter().zip(p).map(term).sum()
}

fn causal_and_frequencies() {
    let mut wide = net(1);
    widen(&mut wide);
    let x = Key::new(2).normal([6, 16], DType::F64);
    let blocks =
        |x: &Tensor| wide.blocks.iter().fold(x.clone(), |x, b| b.attend(&x, true, None, &Pass::eval()).unwrap());
    let derivative = jacobian(blocks, &x).abs().max_axes(&[1, 3], false); // (T, T)
    for (t, row) in derivative.to_vec::<f64>().chunks(6).enumerate() {
        assert!(row[..=t].iter().all(|d| *d > 0.0) && row[t + 1..].iter().all(|d| *d == 0.0), "{t}: {row:?}");
    }

    let (net, draws) = (net(3), 4000);
    let prompt = Tensor::from([[4i64, 2, 7]]);
    let logits = Decoder::new(&net, 1).advance(&prompt).unwrap().to_f64_vec();
    let prompts = prompt.tile(&[draws, 1]);
    for (seed, rule) in [
        Sampling::random(Key::new(5)),
        Sampling::random(Key::new(6)).temperature(2.0),
        Sampling::random(Key::new(7)).top_k(4),
        Sampling::random(Key::new(8)).top_p(0.8),
    ]
    .into_iter()
    .enumerate()
    {
        let p = rule.probabilities(&logits).unwrap();
        let next = net.generate(&prompts, 1, &rule).unwrap().select_index(1, 3);
        let mut counts = vec![0; 11];
        next.to_vec::<i64>().into_iter().for_each(|token| counts[token as usize] += 1);
        // With ten degrees of freedom 29.6 is passed once in a thousand.
        let statistic = chi_square(&counts, &p);
        assert!(statistic < 29.6, "rule {seed}: {statistic} {counts:?} {p:?}");
        // And it would notice: the same draws do not fit another temperature.
        let other = Sampling::random(Key::new(5)).temperature(0.7).probabilities(&logits).unwrap();
        assert!(seed > 1 || chi_square(&counts, &other) > 29.6);
    }
    let greedy = net.generate(&prompt, 1, &Sampling::greedy()).unwrap().at::<i64>(&[0, 3]) as usize;
    assert!(logits.iter().all(|z| *z <= logits[greedy]));
    // Nearly no temperature is greedy.
    let cold = net.generate(&prompts, 1, &Sampling::random(Key::new(9)).temperature(1e-3)).unwrap();
    assert!(cold.select_index(1, 3).to_vec::<i64>().iter().all(|token| *token as usize == greedy));
}

#[test]
fn j11_decoder_is_causal_samples_its_softmax_and_learns_a_text_by_heart() {
    causal_and_frequencies();
    let text = "the slithy toves did gyre and gimble in the wabe: all mimsy were the borogoves";
    let vocabulary = CharVocabulary::from_text(text).unwrap();
    let tokens = vocabulary.encode(text).unwrap();
    let length = tokens.numel();
    let config = GptConfig {
        vocabulary: vocabulary.len(),
        context: length,
        layers: 2,
        width: 32,
        hidden: 128,
        ..GptConfig::default()
    };
    let mut net = Gpt::new(&config, &mut Rng::new(1)).unwrap();
    let (inputs, targets) = (tokens.narrow(0, 0, length - 1), tokens.narrow(0, 1, length - 1).contiguous());
    let loss =
        train(&mut net, 1e-2, 150, |net, step| net.loss(&inputs, &targets, &Pass::train(Key::new(step))).unwrap());
    assert!(loss < 0.05, "{loss}");
    let prompt = tokens.narrow(0, 0, 3).contiguous();
    let written = net.generate(&prompt, length - 3, &Sampling::greedy()).unwrap();
    assert_eq!(vocabulary.decode(&written).unwrap(), text);
    let first = tokens.narrow(0, 0, 10).contiguous();
    let drawn = net.generate(&first, length - 10, &Sampling::random(Key::new(1)).temperature(0.5)).unwrap();
    assert_eq!(vocabulary.decode(&drawn).unwrap(), text);
}

#[test]
fn the_cache_gives_what_reading_anew_gives_even_when_the_context_slides() {
    let net = net(2);
    let prompts = Tensor::from([[1i64, 2, 3], [9, 0, 10], [5, 5, 5]]);
    for rule in [Sampling::greedy(), Sampling::random(Key::new(4)).temperature(0.9).top_k(6).top_p(0.95)] {
        // 3 + 20 tokens in a context of 8.
        let cached = net.generate(&prompts, 20, &rule).unwrap();
        let anew = net.generate_uncached(&prompts, 20, &rule).unwrap();
        assert_eq!(cached.to_vec::<i64>(), anew.to_vec::<i64>());
        assert_eq!(cached.narrow(1, 0, 3).to_vec::<i64>(), prompts.to_vec::<i64>());
    }
    let mut decoder = Decoder::new(&net, 3);
    let text = Key::new(1).integers(0, 11, [3, 8]);
    let all = no_grad(|| net.forward(&text, &Pass::eval())).unwrap();
    let first = decoder.advance(&text.narrow(1, 0, 2).contiguous()).unwrap();
    close(&first, &all.select_index(1, 1));
    for t in 2..6 {
        let logits = decoder.advance(&text.narrow(1, t, 1).contiguous()).unwrap();
        close(&logits, &all.select_index(1, t));
    }
    let rest = decoder.advance(&text.narrow(1, 6, 2).contiguous()).unwrap(); // two at once, in a text already begun
    close(&rest, &all.select_index(1, 7));
    assert!(decoder.advance(&text.narrow(1, 0, 1).contiguous()).is_err()); // full
    assert!(!rest.is_tracked());
}

#[test]
fn a_row_of_a_batch_is_what_it_is_alone() {
    let net = net(5);
    let prompts = Tensor::from([[1i64, 2], [3, 4]]);
    let together = net.generate(&prompts, 10, &Sampling::greedy()).unwrap();
    for row in 0..2 {
        let alone = net.generate(&prompts.get(row), 10, &Sampling::greedy()).unwrap();
        assert_eq!(together.get(row).to_vec::<i64>(), alone.to_vec::<i64>());
    }
    let rule = Sampling::random(Key::new(3));
    let drawn = net.generate(&prompts, 10, &rule).unwrap();
    assert_eq!(drawn.to_vec::<i64>(), net.generate(&prompts, 10, &rule).unwrap().to_vec::<i64>());
    // Row 0 draws the same numbers whether there is a row 1 or not.
    assert_eq!(drawn.get(0).to_vec::<i64>(), net.generate(&prompts.get(0), 10, &rule).unwrap().to_vec::<i64>());
    let same = net.generate(&Tensor::from([[1i64, 2], [1, 2]]), 10, &rule).unwrap();
    assert_ne!(same.get(0).to_vec::<i64>(), same.get(1).to_vec::<i64>());
}

#[test]
fn a_long_prompt_is_read_by_its_end_and_mistakes_are_told() {
    let net = net(1);
    let long = Key::new(2).integers(0, 11, [20]);
    let end = long.narrow(0, 12, 8).contiguous();
    let (a, b) = (net.generate(&long, 4, &Sampling::greedy()), net.generate(&end, 4, &Sampling::greedy()));
    assert_eq!(a.unwrap().to_vec::<i64>()[20..], b.unwrap().to_vec::<i64>()[8..]);

    let prompt = Tensor::from([1i64]);
    let random = || Sampling::random(Key::new(0));
    let told = |prompt: &Tensor, rule: Sampling| net.generate(prompt, 1, &rule).unwrap_err().to_string();
    for (message, word) in [
        (told(&Tensor::from([11i64]), random()), "token 11"),
        (told(&Tensor::from([-1i64]), random()), "token -1"),
        (told(&Tensor::zeros([0], DType::I64), random()), "empty"),
        (told(&Tensor::zeros([1, 1, 1], DType::I64), random()), "shape"),
        (told(&prompt, random().temperature(0.0)), "temperature"),
        (told(&prompt, random().temperature(-1.0)), "temperature"),
        (told(&prompt, random().temperature(f64::NAN)), "temperature"),
        (told(&prompt, random().top_p(0.0)), "top_p"),
        (told(&prompt, random().top_p(1.5)), "top_p"),
        (told(&prompt, random().top_k(0)), "top_k"),
    ] {
        assert!(message.contains(word), "{message}");
    }
    // A net whose training diverged writes nothing, instead of its first token for ever.
    let mut broken = net.clone();
    broken.wte.weight = (broken.wte.weight.detach() * f64::NAN).requires_grad();
    for rule in [Sampling::greedy(), random(), random().top_k(2).top_p(0.5)] {
        let message = broken.generate(&prompt, 3, &rule).unwrap_err().to_string();
        assert!(message.contains("NaN"), "{message}");
        assert!(rule.probabilities(&[0.0, f64::NAN]).is_err());
    }
    assert!(net.forward(&long, &Pass::eval()).unwrap_err().to_string().contains("context holds 8"));
    let error = net.forward(&Tensor::from([[11i64]]), &Pass::eval()).unwrap_err().to_string();
    assert!(error.contains("token 11"), "{error}");
    assert_eq!(net.generate(&prompt, 0, &Sampling::greedy()).unwrap().to_vec::<i64>(), [1]);
}

#[test]
fn first_values_are_nanogpts() {
    let config = GptConfig { width: 256, hidden: 1024, ..GptConfig::default() };
    let net = Gpt::new(&config, &mut Rng::new(1)).unwrap();
    for (name, parameter) in net.named_parameters() {
        let expected = match name.as_str() {
            name if name.contains("norm") || name.contains("ln_f") => 0.0,
            name if name.ends_with("out_proj.weight") || name.ends_with("linear2.weight") => 0.02 / 8f64.sqrt(),
            _ => 0.02,
        };
        let deviation = parameter.detach().std(1).item::<f32>() as f64;
        assert!((deviation - expected).abs() <= 0.03 * expected, "{name}: {deviation}");
    }
    assert_eq!(net.size(), net.count_parameters() - 64 * 256);
    let maps = net.attention_maps(&Tensor::from([[1i64, 2, 3]])).unwrap();
    assert_eq!((maps.len(), maps[3].dims()), (4, &[1, 4, 3, 3][..]));
    assert_eq!(maps[0].at::<f32>(&[0, 0, 0, 1]), 0.0); // nothing of the future
}
