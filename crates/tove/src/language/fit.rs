//! Training a GPT on a text.

use serde_json::json;
use tove_data::{CharVocabulary, Dataset, TextWindows};
use tove_nn::{Classification, Gpt, GptConfig, ModuleExt, Rng, Trainer, TrainingReport};
use tove_optim::{AdamW, Group, Schedule, bias_or_norm};
use tove_tensor::Tensor;

use super::model::{TextEvaluation, TextModel};
use super::tokens::{TokenKind, Tokens};
use crate::net_files::{ModelError, Result, Watch, best, count, fraction, positive};

/// Settings of a training on a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextFit {
    /// The tokenizer.
    pub tokens: TokenKind,
    /// Vocabulary size of byte-pair tokens.
    pub vocabulary: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Embedding width, a multiple of the heads.
    pub width: usize,
    /// Context length in tokens.
    pub context: usize,
    /// Training steps.
    pub steps: u64,
    /// Windows of text per step.
    pub batch: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Fraction of the text, at its end, that is held out.
    pub test_size: f64,
    /// Fraction of the rest, at its end, used for validation: the weights with the lowest validation loss are kept. 0 keeps the
    /// last weights.
    pub validation: f64,
    /// Seed of the initial weights and the windows.
    pub seed: u64,
}

impl Default for TextFit {
    fn default() -> TextFit {
        TextFit {
            tokens: TokenKind::Characters,
            vocabulary: 512,
            layers: 4,
            heads: 4,
            width: 128,
            context: 64,
            steps: 2000,
            batch: 12,
            learning_rate: 1e-3,
            test_size: 0.1,
            validation: 0.1,
            seed: 0,
        }
    }
}

/// A training that is ready to begin.
pub struct TextTraining {
    fit: TextFit,
    net: Gpt,
    tokens: Tokens,
    train: TextWindows,
    /// The validation part, if it is long enough.
    validation: Option<TextWindows>,
    test: Tensor,
    /// Numbers of training and validation tokens.
    counts: [usize; 2],
    /// Characters of the test part.
    characters: usize,
}

/// A trained and evaluated language model.
pub struct TextOutcome {
    /// The model.
    pub model: TextModel,
    /// How the training went.
    pub report: TrainingReport,
    /// What the model is worth on the end of the text.
    pub test: TextEvaluation,
    /// The tokens of the end of the text.
    pub test_tokens: Tensor,
    /// An interval of the accuracy that holds with probability 95 % for any distribution of windows (Hoeffding's inequality).
    /// Tokens of a window are dependent; windows are treated as independent.
    pub interval: [f64; 2],
}

impl TextFit {
    /// Trains and evaluates a GPT.
    ///
    /// # Errors
    /// If a setting is outside its range, the text is too short, or the training diverges.
    pub fn fit(&self, text: &str) -> Result<TextOutcome> {
        self.prepare(text)?.run(&Watch::default())
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If one is outside its range.
    pub fn check(&self) -> Result<()> {
        fraction("test_size", self.test_size)?;
        if self.validation != 0.0 {
            fraction("validation", self.validation)?;
        }
        positive("learning_rate", self.learning_rate)?;
        count("steps", usize::try_from(self.steps).unwrap_or(usize::MAX), 1 << 30)?;
        count("batch", self.batch, 1 << 16)?;
        count("layers", self.layers, 1000)?;
        count("heads", self.heads, 1000)?;
        count("width", self.width, 1 << 14)?;
        count("context", self.context, 1 << 16)?;
        if !self.width.is_multiple_of(self.heads) {
            let problem = format!("give a multiple of the {} heads", self.heads);
            return Err(ModelError::setting("width", self.width, problem));
        }
        Ok(())
    }

    /// Cuts the text: its end is the test part, what comes before that the validation part. Byte-pair tokens are learned from the
    /// training part only, characters are those of the whole text.
    ///
    /// # Errors
    /// As [`TextFit::fit`].
    pub fn prepare(&self, text: &str) -> Result<TextTraining> {
        self.check()?;
        if text.is_empty() {
            return Err(ModelError::source("the text is empty; give one with characters"));
        }
        let characters = text.chars().count();
        let kept = ((characters as f64) * (1.0 - self.test_size)).round() as usize;
        let learned = ((kept as f64) * (1.0 - self.validation)).round() as usize;
        let place = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(place, _)| place);
        let (start, middle, end) = (&text[..place(learned)], &text[place(learned)..place(kept)], &text[place(kept)..]);
        let short = |part: &str, count: usize| {
            let window = self.context + 1;
            let problem = format!(
                "the {part} of the text is {count} tokens long, and a window takes {window}; give a longer text or a smaller context"
            );
            ModelError::unsuited("context", self.context, problem)
        };
        if start.is_empty() || end.is_empty() {
            return Err(short(if start.is_empty() { "beginning" } else { "end" }, 0));
        }
        let tokens = match self.tokens {
            TokenKind::Characters => Tokens::Characters(Box::new(CharVocabulary::from_text(text)?)),
            #[cfg(feature = "bpe")]
            TokenKind::Bpe => {
                let trained = tove_data::text::Bpe::train(start, self.vocabulary);
                let wrong =
                    |error: tove_data::DataError| ModelError::setting("vocabulary", self.vocabulary, error.to_string());
                Tokens::Bpe(Box::new(trained.map_err(wrong)?))
            }
        };
        let (train, test) = (tokens.encode(start)?, tokens.encode(end)?);
        for (part, tokens) in [("beginning", &train), ("end", &test)] {
            if tokens.numel() <= self.context {
                return Err(short(part, tokens.numel()));
            }
        }
        // A middle too short for a window is left out.
        let validation = if middle.is_empty() { None } else { Some(tokens.encode(middle)?) };
        let validation = validation.filter(|part| part.numel() > self.context);
        let &TextFit { layers, heads, width, context, .. } = self;
        let config = GptConfig { layers, heads, width, hidden: 4 * width, context, ..GptConfig::default() };
        let config = GptConfig { vocabulary: tokens.len(), ..config };
        let net = Gpt::new(&config, &mut Rng::new(self.seed))?;
        // Windows are at random positions, new ones in every epoch, so the number matters for the memory of their order only.
        let windows = self.steps.min(1000) as usize * self.batch;
        Ok(TextTraining {
            fit: self.clone(),
            net,
            train: TextWindows::random(&train, context, windows)?,
            validation: validation.as_ref().map(|part| TextWindows::consecutive(part, context)).transpose()?,
            counts: [train.numel(), validation.as_ref().map_or(0, Tensor::numel)],
            characters: characters - kept,
            test,
            tokens,
        })
    }
}

impl TextTraining {
    /// Numbers of training, validation and test tokens.
    pub fn token_counts(&self) -> [usize; 3] {
        [self.counts[0], self.counts[1], self.test.numel()]
    }

    /// The net before its training.
    pub fn net(&self) -> &Gpt {
        &self.net
    }

    /// Trains and evaluates the net.
    ///
    /// # Errors
    /// If the training diverges, or the log cannot be written.
    pub fn run(mut self, watch: &Watch) -> Result<TextOutcome> {
        let report = self.train(watch)?;
        let TextTraining { fit, net, tokens, test: test_tokens, characters, .. } = self;
        let test = TextEvaluation::new(&net, &test_tokens, characters)?;
        let spread = tove_metrics::hoeffding(test.windows as f64, 1.0, 0.05);
        let interval = [(test.accuracy - spread).max(0.0), (test.accuracy + spread).min(1.0)];
        let facts = json!({
            "seed": fit.seed, "steps": report.steps, "batch": fit.batch, "learning_rate": fit.learning_rate,
            "best": best(&report),
            "scores": {"test": {
                "loss": {"value": test.loss},
                "accuracy": {"value": test.accuracy, "interval": interval, "n": test.windows},
                "nats per character": {"value": test.nats_per_character()},
            }},
        });
        Ok(TextOutcome { model: TextModel { net, tokens, facts }, report, test, test_tokens, interval })
    }

    fn train(&mut self, watch: &Watch) -> Result<TrainingReport> {
        let fit = &self.fit;
        let names: Vec<String> = self.net.named_parameters().into_iter().map(|(name, _)| name).collect();
        let no_decay = Group::matching(&names, bias_or_norm).weight_decay(0.0);
        let adam = AdamW::new(fit.learning_rate).with(|settings| settings.beta2(0.99).weight_decay(0.1));
        let adam = adam.groups(&[no_decay]).map_err(tove_learn::LearnError::from)?;
        let warm = (fit.steps / 20).clamp(1, 100);
        let schedule =
            Schedule::Cosine { steps: fit.steps.saturating_sub(warm).max(1), floor: 0.1 }.after_warm_up(warm);
        // Ten evaluations in all, more in long runs.
        let every = (fit.steps / 10).clamp(1, 500);
        let trainer = Trainer::new(adam).steps(fit.steps).batch_size(fit.batch).clip_norm(1.0).schedule(schedule);
        let mut trainer = watch.over(trainer.evaluate_every(every).seed(fit.seed))?;
        let validation = self.validation.as_ref().map(|part| part as &dyn Dataset);
        if validation.is_some() {
            trainer = trainer.keep_best();
        }
        Ok(trainer.fit(&mut self.net, &Classification::new(), &self.train, validation)?)
    }
}
