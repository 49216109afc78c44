//! A masked-token model of Shakespeare: 15 % of the characters are hidden, and an encoder that sees both sides says what
//! they were. It is right in 51.6 % of the cases, 49 % is asserted; the most frequent character would be right in 15 %.

use tove::data::{CharVocabulary, DataError, TextWindows};
use tove::nn::{
    Better, BlockConfig, EncoderConfig, IGNORED, Masking, Readout, Scored, SequenceEncoder, Task, masked_token_loss,
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
        let failed = |error: nn::Error| DataError::Parameter { what: "Masking", problem: error.to_string() };
        let hidden = self.masking.hide(&batch.x, key).map_err(failed)?;
        Ok(Batch { x: hidden.inputs, y: hidden.targets })
    }
}

/// Cross-entropy of the hidden tokens, and the share that is told rightly.
struct Unmask;

impl Task<SequenceEncoder> for Unmask {
    fn loss(&self, net: &SequenceEncoder, batch: &Batch, pass: &Pass) -> nn::Result<Tensor> {
        masked_token_loss(&net.forward(&batch.x, pass)?, &batch.y)
    }

    fn scores(&self, net: &SequenceEncoder, batch: &Batch, pass: &Pass) -> nn::Result<Vec<Scored>> {
        let logits = net.forward(&batch.x, pass)?;
        let loss = masked_token_loss(&logits, &batch.y)?.item::<f32>();
        let asked = batch.y.ne(&Tensor::scalar(IGNORED)).count_nonzero().item::<i64>();
        let right = logits.argmax(-1).eq(&batch.y).count_nonzero().item::<i64>();
        let accuracy = right as f64 / asked.max(1) as f64;
        Ok(vec![
            Scored { name: "loss", value: f64::from(loss), better: Better::Lower },
            Scored { name: "masked accuracy", value: accuracy, better: Better::Higher },
        ])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match data::sets::tinyshakespeare(None) {
        Ok(text) => text,
        Err(error) => {
            println!("SKIPPED: {error}");
            return Ok(());
        }
    };
    let vocabulary = CharVocabulary::from_text(&text)?;
    let tokens = vocabulary.encode(&text)?;
    let split = tokens.numel() * 9 / 10;
    let (train, valid) = (tokens.narrow(0, 0, split), tokens.narrow(0, split, tokens.numel() - split));
    let counts = valid.contiguous().bincount(None, vocabulary.len()).to_f64_vec();
    let baseline = counts.iter().copied().fold(0.0, f64::max) / valid.numel() as f64;

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
    println!("hidden characters told rightly: {accuracy:.3}; always the most frequent one: {baseline:.3}");
    assert!(accuracy >= 0.49 && baseline < 0.2);
    Ok(())
}
