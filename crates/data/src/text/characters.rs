//! Every character is a token.

use std::collections::{BTreeSet, HashMap};

use tove_tensor::{DType, Tensor};

use crate::{DataError, Result};

/// The characters of a text in the order of their code points, numbered from 0.
///
/// ```
/// use tove_data::CharVocabulary;
/// let vocabulary = CharVocabulary::from_text("banana")?;
/// assert_eq!(vocabulary.characters(), ['a', 'b', 'n']);
/// assert_eq!(vocabulary.encode("nab")?.to_vec::<i64>(), [2, 0, 1]);
/// let error = vocabulary.encode("bandana").unwrap_err().to_string();
/// assert!(error.contains("'d' at position 3"));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CharVocabulary {
    characters: Vec<char>,
    /// Tokens of the ASCII characters, −1 for those that have none: most texts never look further.
    ascii: [i64; 128],
    others: HashMap<char, i64>,
}

impl CharVocabulary {
    /// The characters that occur in a text.
    ///
    /// # Errors
    /// If the text is empty.
    pub fn from_text(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(DataError::EmptyText("CharVocabulary"));
        }
        let characters: BTreeSet<char> = text.chars().collect();
        Self::from_characters(characters)
    }

    /// These characters, in this order: what [`CharVocabulary::characters`] gave before, say from a model file.
    ///
    /// # Errors
    /// If there are none, or one occurs twice.
    pub fn from_characters(characters: impl IntoIterator<Item = char>) -> Result<Self> {
        let characters: Vec<char> = characters.into_iter().collect();
        if characters.is_empty() {
            return Err(DataError::EmptyText("CharVocabulary"));
        }
        let (mut ascii, mut others) = ([-1; 128], HashMap::new());
        for (token, &character) in (0i64..).zip(&characters) {
            let former = match ascii.get_mut(character as usize) {
                Some(slot) => std::mem::replace(slot, token),
                None => others.insert(character, token).unwrap_or(-1),
            };
            if former >= 0 {
                let problem = format!("duplicate character {character:?}; every character is one token");
                return Err(DataError::parameter("CharVocabulary", problem));
            }
        }
        Ok(Self { characters, ascii, others })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.characters.len()
    }

    /// Never: a vocabulary has at least one character.
    pub fn is_empty(&self) -> bool {
        self.characters.is_empty()
    }

    /// The characters; token i is `characters()[i]`.
    pub fn characters(&self) -> &[char] {
        &self.characters
    }

    /// The token of a character, if it has one.
    pub fn token(&self, character: char) -> Option<i64> {
        match self.ascii.get(character as usize) {
            Some(&token) => (token >= 0).then_some(token),
            None => self.others.get(&character).copied(),
        }
    }

    /// A text as tokens, a vector of i64.
    ///
    /// # Errors
    /// If the text is empty, or has a character without a token; the error names it and its position.
    pub fn encode(&self, text: &str) -> Result<Tensor> {
        if text.is_empty() {
            return Err(DataError::EmptyText("encode"));
        }
        let mut tokens = Vec::with_capacity(text.len());
        for (position, character) in text.chars().enumerate() {
            let unknown = || DataError::Character { character, position, size: self.len() };
            tokens.push(self.token(character).ok_or_else(unknown)?);
        }
        Ok(Tensor::from(tokens))
    }

    /// Tokens as a text; all axes one after the other.
    ///
    /// # Errors
    /// If the tensor is not of type i64 or has a number without a character.
    pub fn decode(&self, tokens: &Tensor) -> Result<String> {
        if tokens.dtype() != DType::I64 {
            let problem = format!("tokens of type {}; give i64", tokens.dtype());
            return Err(DataError::parameter("decode", problem));
        }
        let tokens = tokens.try_to_vec::<i64>()?;
        let character = |(position, &token): (usize, &i64)| {
            let found = usize::try_from(token).ok().and_then(|token| self.characters.get(token));
            found.copied().ok_or(DataError::Token { token, position, size: self.len() })
        };
        tokens.iter().enumerate().map(character).collect()
    }
}
