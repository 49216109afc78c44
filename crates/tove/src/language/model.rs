//! A language model and its file: kind "TextModel", version 1.

use std::path::Path;

use serde_json::{Value, json};
use tove_data::{Dataset, TextWindows};
use tove_nn::{Classification, Gpt, GptConfig, ModuleExt, Rng, Sampling, evaluate};
use tove_tensor::Tensor;
use tove_tensor::io::{Container, WriteOptions};

use super::tokens::Tokens;
use crate::net_files::{ModelError, Result, expect, fill, size};

/// Tokens that may be generated at once.
const LONGEST: usize = 1_000_000;

/// A language model with its tokens.
#[derive(Clone)]
pub struct TextModel {
    pub(super) net: Gpt,
    pub(super) tokens: Tokens,
    pub(super) facts: Value,
}

/// How well a model predicts a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextEvaluation {
    /// Cross-entropy of the next token in nats.
    pub loss: f64,
    /// Share of next tokens that were the most probable ones.
    pub accuracy: f64,
    /// Tokens of the text.
    pub tokens: usize,
    /// Windows that the text was cut into.
    pub windows: usize,
    /// Characters per token.
    pub characters: f64,
}

impl TextEvaluation {
    /// Perplexity: the exponential of the loss.
    pub fn perplexity(&self) -> f64 {
        self.loss.exp()
    }

    /// Loss per character in nats.
    pub fn nats_per_character(&self) -> f64 {
        self.loss / self.characters
    }

    pub(super) fn new(net: &Gpt, tokens: &Tensor, characters: usize) -> Result<TextEvaluation> {
        let context = net.config().context.min(tokens.numel().saturating_sub(1));
        let windows = TextWindows::consecutive(tokens, context)?;
        let scores = evaluate(net, &Classification::new(), &windows, 64)?;
        let find = |name: &str| scores.iter().find(|score| score.name == name).map_or(f64::NAN, |score| score.value);
        Ok(TextEvaluation {
            loss: find("loss"),
            accuracy: find("accuracy"),
            tokens: tokens.numel(),
            windows: windows.len(),
            characters: characters as f64 / tokens.numel() as f64,
        })
    }
}

/// The number of parameters, unless it is more than a number can hold.
fn parameters(config: &GptConfig) -> Option<usize> {
    let &GptConfig { vocabulary, context, layers, width, .. } = config;
    let square = width.checked_mul(width)?.checked_mul(12)?;
    let block = square.checked_add(width.checked_mul(2)?)?;
    let rest = vocabulary.checked_add(context)?.checked_add(1)?.checked_mul(width)?;
    layers.checked_mul(block)?.checked_add(rest)
}

impl TextModel {
    /// The kind of its files.
    pub const KIND: &str = "TextModel";

    /// The net.
    pub fn net(&self) -> &Gpt {
        &self.net
    }

    /// The tokenizer.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Seed, settings and scores of the training.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// Adds something to the facts, such as where the text came from.
    pub fn note(&mut self, name: &str, value: impl Into<Value>) {
        self.facts[name] = value.into();
    }

    /// The prompt with `length` tokens more.
    ///
    /// # Errors
    /// If the prompt is empty or has a character that the model does not know, or if `length` is above a million.
    pub fn generate(&self, prompt: &str, length: usize, sampling: &Sampling) -> Result<String> {
        if length > LONGEST {
            return Err(ModelError::setting("length", length, "give at most a million tokens"));
        }
        self.check_prompt(prompt)?;
        let tokens = self.net.generate(&self.tokens.encode(prompt)?, length, sampling)?;
        self.tokens.decode(&tokens)
    }

    /// Checks that the model knows all characters of a prompt.
    ///
    /// # Errors
    /// As [`TextModel::generate`].
    pub fn check_prompt(&self, prompt: &str) -> Result<()> {
        if prompt.is_empty() {
            return Err(ModelError::setting("prompt", "", "give at least one character to go on from"));
        }
        let vocabulary = match &self.tokens {
            Tokens::Characters(vocabulary) => vocabulary,
            #[cfg(feature = "bpe")]
            Tokens::Bpe(_) => return Ok(()),
        };
        let Some(unknown) = prompt.chars().find(|&character| vocabulary.token(character).is_none()) else {
            return Ok(());
        };
        let known: String = vocabulary.characters().iter().take(100).collect();
        let problem =
            format!("the character {unknown:?} does not occur in the text the net learned from; it knows {known:?}");
        Err(ModelError::unsuited("prompt", "", problem))
    }

    /// Evaluates the model on another text, cut into windows of its context.
    ///
    /// # Errors
    /// If the text has fewer than two tokens, or a character that the model does not know.
    pub fn evaluate(&self, text: &str) -> Result<TextEvaluation> {
        let tokens = if text.is_empty() { None } else { Some(self.tokens.encode(text)?) };
        match tokens.filter(|tokens| tokens.numel() > 1) {
            Some(tokens) => TextEvaluation::new(&self.net, &tokens, text.chars().count()),
            None => Err(ModelError::source("the text has fewer than two tokens; give a longer one")),
        }
    }

    /// Writes the model to a file.
    ///
    /// # Errors
    /// If the file cannot be written, or exists and may not be overwritten.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        let &GptConfig { vocabulary, context, layers, heads, width, .. } = self.net.config();
        let header = json!({
            "tove": env!("CARGO_PKG_VERSION"), "tokens": self.tokens.header()?, "facts": self.facts,
            "net": {"vocabulary": vocabulary, "context": context, "layers": layers, "heads": heads, "width": width},
        });
        let mut container = Container::new(Self::KIND, 1, header);
        for (name, tensor) in self.net.state() {
            container.insert(name, tensor);
        }
        Ok(container.save(path.as_ref(), options)?)
    }

    /// Reads a file. Nothing it says is believed before it has been checked against the tensors it holds.
    ///
    /// # Errors
    /// If the file cannot be read, holds something else, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<TextModel> {
        let path = path.as_ref();
        Self::from_container(&Container::load(path)?, path)
    }

    /// The model in the content of a file, which errors call `path`.
    ///
    /// # Errors
    /// If the content is something else, or damaged.
    pub fn from_container(container: &Container, path: &Path) -> Result<TextModel> {
        expect(container, path, Self::KIND)?;
        let damaged = |what: &str| ModelError::damaged(path, what);
        let header = &container.header;
        let tokens = Tokens::from_header(&header["tokens"]).map_err(|error| damaged(&error.to_string()))?;
        let tokens = tokens.ok_or_else(|| damaged("the tokens"))?;
        let held: usize = container.tensors.values().map(Tensor::numel).sum();
        let config = config(&header["net"]).filter(|config| parameters(config) == Some(held));
        let config = config.filter(|config| config.vocabulary == tokens.len());
        let config = config.ok_or_else(|| damaged("the sizes do not fit the tensors"))?;
        let mut net = Gpt::new(&config, &mut Rng::new(0)).map_err(|error| damaged(&error.to_string()))?;
        fill(&mut net, container, path)?;
        Ok(TextModel { net, tokens, facts: header["facts"].clone() })
    }
}

fn config(header: &Value) -> Option<GptConfig> {
    // Without features there could be any number of layers.
    let width = size(header, "width").filter(|&width| width > 0)?;
    Some(GptConfig {
        vocabulary: size(header, "vocabulary")?,
        context: size(header, "context")?,
        layers: size(header, "layers")?,
        heads: size(header, "heads").filter(|&heads| heads > 0)?,
        width,
        hidden: width.checked_mul(4)?,
        ..GptConfig::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_parameters_is_known_before_the_net_is_built() {
        let config =
            GptConfig { vocabulary: 11, context: 7, layers: 3, heads: 2, width: 8, hidden: 32, ..GptConfig::default() };
        let net = Gpt::new(&config, &mut Rng::new(0)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(parameters(&config), Some(net.count_parameters()));
        assert_eq!(parameters(&GptConfig { width: usize::MAX / 3, ..config }), None);
    }
}
