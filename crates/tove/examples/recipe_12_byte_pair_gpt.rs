//! A GPT on byte-pair tokens of Shakespeare: 512 tokens learned from the training part, 4 layers, width 128, context 64,
//! 2000 steps of batch 12. It reaches 1.65 nats per character. The same tokens one after the other, a smoothed bigram, have
//! 1.93: at least a tenth less is asserted. Not to be set against the character GPT of recipe 09 without thought: a window of
//! 64 tokens shows almost twice the text, and step size and head differ too. Run with `--features bpe`.

use tove::data::TextWindows;
use tove::data::text::Bpe;
use tove::nn::{Gpt, GptConfig, Sampling};
use tove::optim::{Group, bias_or_norm};
use tove::prelude::*;

/// Nats per token of a bigram: counts of pairs in `train`, with twenty more for every token as frequent as it is anyway.
fn bigram(train: &Tensor, valid: &Tensor, size: usize) -> f64 {
    let (train, valid) = (train.to_vec::<i64>(), valid.to_vec::<i64>());
    let (mut pairs, mut singles) = (vec![0.0; size * size], vec![0.5; size]);
    train.windows(2).for_each(|pair| pairs[pair[0] as usize * size + pair[1] as usize] += 1.0);
    train.iter().for_each(|&token| singles[token as usize] += 1.0);
    let all: f64 = singles.iter().sum();
    let nats = |pair: &[i64]| -> f64 {
        let row = &pairs[pair[0] as usize * size..][..size];
        let usual = 20.0 * singles[pair[1] as usize] / all;
        -((row[pair[1] as usize] + usual) / (row.iter().sum::<f64>() + 20.0)).ln()
    };
    valid.windows(2).map(nats).sum::<f64>() / (valid.len() - 1) as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match data::sets::tinyshakespeare(None) {
        Ok(text) => text,
        Err(error @ data::DataError::Missing { .. }) => {
            println!("SKIPPED: data set absent: {error}");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    // The text has one byte per character, so bytes can be cut anywhere.
    let (train, valid) = text.split_at(text.len() * 9 / 10);
    let bpe = Bpe::train(train, 512)?;
    let (train_tokens, valid_tokens) = (bpe.encode(train)?, bpe.encode(valid)?);
    let characters_per_token = valid.chars().count() as f64 / valid_tokens.numel() as f64;
    println!("{} tokens of {characters_per_token:.2} characters on average", bpe.len());

    let config = GptConfig { vocabulary: bpe.len(), ..GptConfig::default() };
    let mut net = Gpt::new(&config, &mut Rng::new(1337))?;
    println!("{} parameters", net.count_parameters());
    let (steps, batch) = (2000, 12);
    let windows = TextWindows::random(&train_tokens, 64, steps as usize * batch)?;
    let held_out = TextWindows::consecutive(&valid_tokens, 64)?;
    let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
    let no_decay = Group::matching(&names, bias_or_norm).weight_decay(0.0);
    let adam = AdamW::new(2e-3).with(|settings| settings.beta2(0.99).weight_decay(0.1)).groups(&[no_decay])?;
    let schedule = Schedule::Cosine { steps: steps - 100, floor: 0.1 }.after_warm_up(100);
    let mut trainer = Trainer::new(adam).steps(steps).batch_size(batch).clip_norm(1.0).schedule(schedule);
    trainer = trainer.evaluate_every(500).interruptible()?;
    let report = trainer.fit(&mut net, &Classification::new(), &windows, Some(&held_out))?;
    println!("{report}");

    let prompt = bpe.encode("ROMEO:")?.unsqueeze(0);
    let sampled = net.generate(&prompt, 120, &Sampling::random(Key::new(1)).temperature(0.8).top_k(40))?;
    println!("{}", bpe.decode(&sampled.get(0))?);
    let loss = report.score("loss").unwrap_or(f64::INFINITY);
    let bigram = bigram(&train_tokens, &valid_tokens, bpe.len());
    let per_character = |nats: f64| nats / characters_per_token;
    println!(
        "{loss:.3} nats per token, {:.3} per character; a bigram has {:.3}",
        per_character(loss),
        per_character(bigram)
    );
    assert!(loss <= 0.9 * bigram);
    Ok(())
}
