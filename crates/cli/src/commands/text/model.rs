//! The file of a language model: kind "TextModel", version 1.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::CharVocabulary;
use tove::data::text::Bpe;
use tove::nn::{Gpt, GptConfig, ModuleExt, Rng};
use tove::tensor::Tensor;
use tove::tensor::io::{Container, WriteOptions};

use crate::commands::training::{damaged, open, size};
use crate::failure::Failure;

const KIND: &str = "TextModel";

/// What turns texts into tokens and back.
pub enum Tokens {
    Characters(Box<CharVocabulary>),
    Bpe(Box<Bpe>),
}

impl Tokens {
    pub fn len(&self) -> usize {
        match self {
            Tokens::Characters(vocabulary) => vocabulary.len(),
            Tokens::Bpe(bpe) => bpe.len(),
        }
    }

    pub fn encode(&self, text: &str) -> Result<Tensor, Failure> {
        Ok(match self {
            Tokens::Characters(vocabulary) => vocabulary.encode(text)?,
            Tokens::Bpe(bpe) => bpe.encode(text)?,
        })
    }

    pub fn decode(&self, tokens: &Tensor) -> Result<String, Failure> {
        Ok(match self {
            Tokens::Characters(vocabulary) => vocabulary.decode(tokens)?,
            Tokens::Bpe(bpe) => bpe.decode(tokens)?,
        })
    }

    fn header(&self) -> Result<Value, Failure> {
        Ok(match self {
            Tokens::Characters(vocabulary) => {
                json!({"kind": "characters", "characters": vocabulary.characters().iter().collect::<String>()})
            }
            Tokens::Bpe(bpe) => json!({"kind": "bpe", "tokenizer": bpe.to_json()?}),
        })
    }

    fn from_header(header: &Value) -> Result<Option<Tokens>, Failure> {
        let text = |name: &str| header[name].as_str();
        Ok(match text("kind") {
            Some("characters") => {
                let characters =
                    text("characters").map(|characters| CharVocabulary::from_characters(characters.chars()));
                characters.transpose()?.map(|vocabulary| Tokens::Characters(Box::new(vocabulary)))
            }
            Some("bpe") => {
                let bpe = text("tokenizer").map(Bpe::from_json).transpose()?;
                bpe.map(|bpe| Tokens::Bpe(Box::new(bpe)))
            }
            _ => None,
        })
    }
}

/// A language model with its tokens.
pub struct TextModel {
    pub net: Gpt,
    pub tokens: Tokens,
    /// Seed, settings and scores.
    pub facts: Value,
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
    pub fn save(&self, path: &Path, options: WriteOptions) -> Result<(), Failure> {
        let &GptConfig { vocabulary, context, layers, heads, width, .. } = self.net.config();
        let header = json!({
            "tove": env!("CARGO_PKG_VERSION"), "tokens": self.tokens.header()?, "facts": self.facts,
            "net": {"vocabulary": vocabulary, "context": context, "layers": layers, "heads": heads, "width": width},
        });
        let mut container = Container::new(KIND, 1, header);
        for (name, tensor) in self.net.state() {
            container.insert(name, tensor);
        }
        Ok(container.save(path, options)?)
    }

    /// Reads a file. Nothing it says is believed before it has been checked against the tensors it holds.
    pub fn load(path: &Path) -> Result<TextModel, Failure> {
        let container = open(path, KIND, "tove text fit")?;
        let header = &container.header;
        let tokens = Tokens::from_header(&header["tokens"]).map_err(|failure| damaged(path, &failure.to_string()))?;
        let tokens = tokens.ok_or_else(|| damaged(path, "the tokens"))?;
        let held: usize = container.tensors.values().map(Tensor::numel).sum();
        let config = config(&header["net"]).filter(|config| parameters(config) == Some(held));
        let config = config.filter(|config| config.vocabulary == tokens.len());
        let config = config.ok_or_else(|| damaged(path, "the plan does not fit the tensors"))?;
        let wrong = |error: tove::nn::Error| damaged(path, &error.to_string());
        let mut net = Gpt::new(&config, &mut Rng::new(0)).map_err(wrong)?;
        let state: Vec<(String, Tensor)> = container.tensors.iter().map(|(n, x)| (n.clone(), x.clone())).collect();
        net.load_state(&state).map_err(wrong)?;
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
