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

/// P(χ² > x) for this many degrees of freedom, in closed form.
fn chi_square_tail(x: f64, freedom: usize) -> f64 {
    let half = x / 2.0;
    // Even: e^{-x/2} Σ (x/2)^i / i!. Odd: erfc √(x/2) and a sum over half-integer powers with Γ(i + 3/2).
    let (mut tail, mut term) = if freedom.is_multiple_of(2) {
        (0.0, (-half).exp())
    } else {
        let erfc = Tensor::from([half.sqrt()]).erfc().item::<f64>();
        (erfc, (-half).exp() * half.sqrt() / (std::f64::consts::PI.sqrt() / 2.0))
    };
    for i in 0..freedom / 2 {
        tail += term;
        term *= half / (i as f64 + if freedom.is_multiple_of(2) { 1.0 } else { 1.5 });
    }
    tail
}

/// The probability of a fit at least as bad as this one, Σ (observed − expected)² / expected, if `p` is true. Outcomes
/// expected fewer than five times are counted together; the degrees of freedom are the cells less one.
fn chi_square_test(counts: &[usize], p: &[f64]) -> f64 {
    let total = counts.iter().sum::<usize>() as f64;
    let (mut cells, mut rare) = (Vec::new(), (0.0, 0.0));
    for (&count, &p) in counts.iter().zip(p) {
        if p == 0.0 && count > 0 {
            return 0.0; // an impossible outcome happened
        }
        if p * total >= 5.0 {
            cells.push((count as f64, p * total));
        } else {
            rare = (rare.0 + count as f64, rare.1 + p * total);
        }
    }
    if rare.1 >= 5.0 {
        cells.push(rare);
    } else if let Some(last) = cells.last_mut() {
        *last = (last.0 + rare.0, last.1 + rare.1);
    }
    assert!(cells.len() > 1, "nothing to compare");
    let statistic: f64 = cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    chi_square_tail(statistic, cells.len() - 1)
}

/// softmax(z / temperature), cut to the `k` likeliest tokens and then to the fewest that reach `mass`: the definitions.
fn distribution(logits: &[f64], temperature: f64, k: usize, mass: f64) -> Vec<f64> {
    let weights: Vec<f64> = logits.iter().map(|z| (z / temperature).exp()).collect();
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    order.truncate(k);
    let sum = |tokens: &[usize]| tokens.iter().map(|&token| weights[token]).sum::<f64>();
    let nucleus = (1..order.len()).find(|&n| sum(&order[..n]) >= mass * sum(&order)).unwrap_or(order.len());
    let kept = &order[..nucleus];
    (0..logits.len()).map(|token| if kept.contains(&token) { weights[token] / sum(kept) } else { 0.0 }).collect()
}

/// Logits behind the last token, from the whole net.
fn last_logits(net: &Gpt, text: &[i64]) -> Vec<f64> {
    let logits = net.forward(&Tensor::from(text.to_vec()), &Pass::eval()).unwrap().detach();
    logits.get(text.len() - 1).to_f64_vec()
}

fn no_output_sees_the_future() {
    // Six different tokens, and a head of its own: row v of the table acts on the output through the place of token v alone.
    let mut net = Gpt::new(&GptConfig { tied: false, ..config() }, &mut Rng::new(1)).unwrap();
    net.parameters_mut().into_iter().for_each(|parameter| *parameter = (parameter.detach() * 8.0).requires_grad());
    widen(&mut net);
    let text = [4i64, 0, 9, 2, 7, 5];
    let logits = |table: &Tensor| {
        let mut net = net.clone();
        net.wte.weight = table.clone();
        net.forward(&Tensor::from(text), &Pass::eval()).unwrap()
    };
    let derivative = jacobian(logits, &net.wte.weight.detach()).abs().max_axes(&[1, 3], false); // (T, vocabulary)
    for t in 0..6 {
        for (place, &token) in text.iter().enumerate() {
            let largest = derivative.at::<f64>(&[t, token as usize]);
            assert_eq!(largest > 0.0, place <= t, "output {t}, token at {place}: {largest}");
        }
    }
}

fn frequencies_are_the_softmax() {
    // Points of the table of χ².
    for (x, freedom, tail) in [(3.841, 1, 0.05), (18.467, 4, 0.001), (24.322, 7, 0.001), (29.588, 10, 0.001)] {
        assert!((chi_square_tail(x, freedom) / tail - 1.0).abs() < 2e-3, "{x} {freedom}");
    }
    let (mut net, draws, text) = (net(3), 4000, [4i64, 2, 7]);
    // Half the logits. Otherwise one token has 92 % of the mass: the four likeliest are then nearly the whole softmax, which
    // no such number of draws tells from it, and the nucleus of 80 % is that token alone.
    net.ln_f.weight = net.ln_f.weight.detach() * 0.5;
    net.ln_f.bias = net.ln_f.bias.map(|bias| bias.detach() * 0.5);
    let logits = last_logits(&net, &text);
    let prompts = Tensor::from([text]).tile(&[draws, 1]);
    let random = |seed| Sampling::random(Key::new(seed));
    let plain = distribution(&logits, 1.0, 11, 1.0);
    for (rule, p) in [
        (random(5), plain.clone()),
        (random(6).temperature(2.0), distribution(&logits, 2.0, 11, 1.0)),
        (random(7).temperature(0.6), distribution(&logits, 0.6, 11, 1.0)),
        (random(8).top_k(4), distribution(&logits, 1.0, 4, 1.0)),
        (random(9).top_p(0.8), distribution(&logits, 1.0, 11, 0.8)),
        (random(10).temperature(1.5).top_k(6).top_p(0.7), distribution(&logits, 1.5, 6, 0.7)),
    ] {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let next = net.generate(&prompts, 1, &rule).unwrap().select_index(1, 3);
        let mut counts = vec![0; 11];
        next.to_vec::<i64>().into_iter().for_each(|token| counts[token as usize] += 1);
        let fit = chi_square_test(&counts, &p);
        println!("{rule:?}: fit {fit:.3}");
        assert!(fit > 1e-3, "{rule:?}: {fit} {counts:?} {p:?}");
        // And it would notice: the same draws fit no temperature beside, and the plain softmax only if they are from it.
        for other in [0.8, 1.25] {
            let other =
                distribution(&logits, rule.temperature * other, rule.top_k.unwrap_or(11), rule.top_p.unwrap_or(1.0));
            let fit = chi_square_test(&counts, &other);
            assert!(fit < 1e-6, "{rule:?}: {fit} {counts:?} {other:?}");
        }
        let fit = chi_square_test(&counts, &plain);
        assert!(p == plain || fit < 1e-6, "{rule:?}: {fit} {counts:?} {plain:?}");
        // The library's own account of the rule is the definition's.
        let told = rule.probabilities(&logits).unwrap();
        assert!(told.iter().zip(&p).all(|(a, b)| (a - b).abs() < 1e-12), "{told:?} {p:?}");
    }

    // Two tokens: the second is drawn given the first, p(a) p(b | a).
    let second: Vec<Vec<f64>> =
        (0..11).map(|a| distribution(&last_logits(&net, &[4, 2, 7, a]), 1.0, 11, 1.0)).collect();
    let joint: Vec<f64> = plain.iter().zip(&second).flat_map(|(p, row)| row.iter().map(move |q| p * q)).collect();
    let pairs = net.generate(&prompts, 2, &random(11)).unwrap().narrow(1, 3, 2).contiguous().to_vec::<i64>();
    let mut counts = vec![0; 121];
    pairs.chunks(2).for_each(|pair| counts[(11 * pair[0] + pair[1]) as usize] += 1);
    let fit = chi_square_test(&counts, &joint);
    assert!(fit > 1e-3, "{fit}");
    // Not as if the first did not matter.
    let alone: Vec<f64> = (0..11).map(|b| (0..11).map(|a| joint[11 * a + b]).sum()).collect();
    let apart: Vec<f64> = plain.iter().flat_map(|p| alone.iter().map(move |q| p * q)).collect();
    assert!(chi_square_test(&counts, &apart) < 1e-6);

    let greedy = net.generate(&Tensor::from([text]), 1, &Sampling::greedy()).unwrap().at::<i64>(&[0, 3]) as usize;
    assert!(logits.iter().all(|z| *z <= logits[greedy]));
    // Nearly no temperature is greedy.
    let cold = net.generate(&prompts, 1, &random(9).temperature(1e-3)).unwrap();
    assert!(cold.select_index(1, 3).to_vec::<i64>().iter().all(|token| *token as usize == greedy));
}

#[test]
fn j11_decoder_is_causal_samples_its_softmax_and_learns_a_text_by_heart() {
    no_output_sees_the_future();
    frequencies_are_the_softmax();
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
