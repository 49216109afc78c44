//! What turns texts into tokens and back.

use serde_json::{Value, json};
use tove_data::CharVocabulary;
#[cfg(feature = "bpe")]
use tove_data::text::Bpe;
use tove_tensor::Tensor;

use crate::net_files::Result;

/// The tokens of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// One token per character.
    #[default]
    Characters,
    /// Byte-pair tokens learned from the text (feature `bpe`).
    #[cfg(feature = "bpe")]
    Bpe,
}

impl TokenKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            TokenKind::Characters => "characters",
            #[cfg(feature = "bpe")]
            TokenKind::Bpe => "bpe",
        }
    }
}

/// A tokenizer.
#[derive(Clone)]
#[non_exhaustive]
pub enum Tokens {
    /// One token per character.
    Characters(Box<CharVocabulary>),
    /// Byte-pair tokens (feature `bpe`).
    #[cfg(feature = "bpe")]
    Bpe(Box<Bpe>),
}

impl Tokens {
    /// The kind of tokens.
    pub fn kind(&self) -> TokenKind {
        match self {
            Tokens::Characters(_) => TokenKind::Characters,
            #[cfg(feature = "bpe")]
            Tokens::Bpe(_) => TokenKind::Bpe,
        }
    }

    /// Size of the vocabulary.
    pub fn len(&self) -> usize {
        match self {
            Tokens::Characters(vocabulary) => vocabulary.len(),
            #[cfg(feature = "bpe")]
            Tokens::Bpe(bpe) => bpe.len(),
        }
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens (n) of a text.
    ///
    /// # Errors
    /// If a character has no token.
    pub fn encode(&self, text: &str) -> Result<Tensor> {
        Ok(match self {
            Tokens::Characters(vocabulary) => vocabulary.encode(text)?,
            #[cfg(feature = "bpe")]
            Tokens::Bpe(bpe) => bpe.encode(text)?,
        })
    }

    /// The text of tokens (n).
    ///
    /// # Errors
    /// If a number is outside the vocabulary.
    pub fn decode(&self, tokens: &Tensor) -> Result<String> {
        Ok(match self {
            Tokens::Characters(vocabulary) => vocabulary.decode(tokens)?,
            #[cfg(feature = "bpe")]
            Tokens::Bpe(bpe) => bpe.decode(tokens)?,
        })
    }

    /// Something to begin from: a line break, or the first character of the vocabulary where that has none.
    pub fn beginning(&self) -> String {
        match self {
            Tokens::Characters(vocabulary) if vocabulary.token('\n').is_none() => {
                vocabulary.characters().iter().take(1).collect()
            }
            _ => "\n".to_owned(),
        }
    }

    pub(super) fn header(&self) -> Result<Value> {
        Ok(match self {
            Tokens::Characters(vocabulary) => {
                json!({"kind": "characters", "characters": vocabulary.characters().iter().collect::<String>()})
            }
            #[cfg(feature = "bpe")]
            Tokens::Bpe(bpe) => json!({"kind": "bpe", "tokenizer": bpe.to_json()?}),
        })
    }

    pub(super) fn from_header(header: &Value) -> Result<Option<Tokens>> {
        let text = |name: &str| header[name].as_str();
        Ok(match text("kind") {
            Some("characters") => {
                let characters =
                    text("characters").map(|characters| CharVocabulary::from_characters(characters.chars()));
                characters.transpose()?.map(|vocabulary| Tokens::Characters(Box::new(vocabulary)))
            }
            #[cfg(feature = "bpe")]
            Some("bpe") => {
                let bpe = text("tokenizer").map(Bpe::from_json).transpose()?;
                bpe.map(|bpe| Tokens::Bpe(Box::new(bpe)))
            }
            _ => None,
        })
    }
}
