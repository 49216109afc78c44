//! A masked-token model of Shakespeare: 15 % of the characters are hidden, and an encoder that sees both sides says what
//! they were. It is right in 51.6 % of the cases. The most frequent character would be right in 15 %; a table of what stands
//! most often between two characters, which always sees both neighbours, in 48 %. What is asserted is that the net is ahead
//! of that table by three standard errors: it reads further than its neighbours.

use tove::data::{CharVocabulary, DataError, TextWindows};
use tove::nn::{
    BlockConfig, EncoderConfig, IGNORED, Masking, Readout, Scored, SequenceEncoder, TrainingTask, masked_token_loss,
};
use tove::prelude::*;

/// Windows of a text with tokens hidden anew whenever a window is drawn: x is what the net sees, y what was there.
struct MaskedWindows {
    windows: TextWindows,
    masking: Masking,
}

impl Dataset for MaskedWindows {
    fn len(&self) -> usize {
        self.windows.len()
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch, DataError> {
        let batch = self.windows.batch(indices, key)?;
        let key = indices.iter().fold(key, |key, &index| key.fold(index as u64));
        let failed = |error: nn::Error| DataError::Parameter { what: "Masking", problem: error.to_string().into() };
        let hidden = self.masking.hide(&batch.x, key).map_err(failed)?;
        Ok(Batch { x: hidden.inputs, y: hidden.targets })
    }
}

/// Cross-entropy of the hidden tokens, and the share that is told rightly.
struct Unmask;

impl TrainingTask<SequenceEncoder> for Unmask {
    fn loss(&self, net: &SequenceEncoder, batch: &Batch, pass: &Pass) -> nn::Result<Tensor> {
        masked_token_loss(&net.forward(&batch.x, pass)?, &batch.y)
    }

    fn scores(&self, net: &SequenceEncoder, batch: &Batch, pass: &Pass) -> nn::Result<Vec<Scored>> {
        let logits = net.forward(&batch.x, pass)?;
        let loss = masked_token_loss(&logits, &batch.y)?.item::<f32>();
        let asked = batch.y.ne(&Tensor::scalar(IGNORED)).count_nonzero().item::<i64>() as f64;
        let right = logits.argmax(-1).eq(&batch.y).count_nonzero().item::<i64>() as f64;
        let (loss, accuracy) = (Scored::lower("loss", loss.into()), Scored::higher("masked accuracy", right / asked));
        Ok(vec![loss.over(asked), accuracy.over(asked)])
    }
}

/// The share of `valid` that a table tells rightly: for every two characters, what stood most often between them in `train`.
fn table(train: &Tensor, valid: &Tensor, size: usize) -> f64 {
    let mut counts = vec![0u32; size * size * size];
    let row = |window: &[i64]| (window[0] as usize * size + window[2] as usize) * size;
    let (train, valid) = (train.to_vec::<i64>(), valid.to_vec::<i64>());
    train.windows(3).for_each(|window| counts[row(window) + window[1] as usize] += 1);
    let told = |window: &[i64]| (0..size).max_by_key(|&middle| counts[row(window) + middle]);
    let right = valid.windows(3).filter(|window| told(window) == Some(window[1] as usize)).count();
    right as f64 / (valid.len() - 2) as f64
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
    let vocabulary = CharVocabulary::from_text(&text)?;
    let tokens = vocabulary.encode(&text)?;
    let split = tokens.numel() * 9 / 10;
    let (train, valid) = (tokens.narrow(0, 0, split), tokens.narrow(0, split, tokens.numel() - split));
    let counts = valid.contiguous().bincount(None, vocabulary.len()).to_f64_vec();
    let most_frequent = counts.iter().copied().fold(0.0, f64::max) / valid.numel() as f64;
    let by_table = table(&train, &valid, vocabulary.len());
    let asked = 0.15 * valid.numel() as f64;

    let (steps, batch, length) = (2000, 32, 48);
    let mask = vocabulary.len(); // one more token
    let masking = Masking::new(mask as i64, mask);
    let windows = TextWindows::random(&train, length, steps as usize * batch)?;
    let train = MaskedWindows { windows, masking: masking.clone() };
    let valid = MaskedWindows { windows: TextWindows::consecutive(&valid, length)?, masking };

    let config = EncoderConfig::new(mask + 1, length, Readout::PerToken, mask);
    let config = EncoderConfig { layers: 3, block: BlockConfig::new(96, 4), ..config };
    let mut rng = Rng::new(1);
    let mut net = SequenceEncoder::new(&config, &mut rng)?;
    // Tokens start as small as positions, so that the first block can tell neighbours from others.
    let table = Init::Normal(0.02).draw([mask + 1, 96], rng.key(), DType::F32)?;
    net.embedding = Embedding { weight: table.requires_grad() };
    println!("{} parameters", net.count_parameters());
    let schedule = Schedule::cosine(steps - 100).after_warm_up(100);
    let mut trainer = Trainer::new(AdamW::new(2e-3)).steps(steps).batch_size(batch).clip_norm(1.0).schedule(schedule);
    trainer = trainer.evaluate_every(500).interruptible()?;
    let report = trainer.fit(&mut net, &Unmask, &train, Some(&valid))?;
    println!("{report}");
    let accuracy = report.score("masked accuracy").unwrap_or(0.0);
    println!("hidden characters told rightly: {accuracy:.3}; by a table of neighbours {by_table:.3}");
    println!("always the most frequent one: {most_frequent:.3}");
    let standard_error = (by_table * (1.0 - by_table) / asked).sqrt();
    assert!(accuracy > by_table + 3.0 * standard_error && by_table > most_frequent);
    Ok(())
}
