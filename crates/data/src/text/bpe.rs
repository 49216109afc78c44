//! Byte-pair encoding over the `tokenizers` crate.
//!
//! Tokens begin as the 256 bytes; training joins the most frequent neighboring pair into a new token, again and again, until
//! the vocabulary has the wanted size. Every text can be encoded, and decoding gives back the very text.

use std::path::Path;

use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{Model, Tokenizer, models::TrainerWrapper};
use tove_tensor::io::{WriteOptions, atomic};
use tove_tensor::{DType, Tensor};

use super::read_text;
use crate::{DataError, Result};

/// Byte-pair tokens (feature `bpe`). The file format is that of Hugging Face's `tokenizer.json`.
///
/// ```
/// use tove_data::text::Bpe;
/// let bpe = Bpe::train("low lower lowest, low lower lowest", 270)?;
/// let tokens = bpe.encode("lower than low")?;
/// assert!(tokens.numel() < "lower than low".len());
/// assert_eq!(bpe.decode(&tokens)?, "lower than low");
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bpe {
    tokenizer: Tokenizer,
}

impl Bpe {
    /// Learns up to `size` tokens from a text; fewer if it has no more pairs to join.
    ///
    /// # Errors
    /// If the text is empty or `size` is below 256, the number of bytes.
    pub fn train(text: &str, size: usize) -> Result<Self> {
        if text.is_empty() {
            return Err(DataError::EmptyText("Bpe::train"));
        }
        if size < 256 {
            return Err(DataError::parameter("Bpe::train", format!("{size} tokens; give at least 256, one per byte")));
        }
        // No blank is put before the text, and offsets are not needed: what comes out is what went in.
        let bytes = ByteLevel::new(false, true, true);
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer.with_pre_tokenizer(Some(bytes)).with_decoder(Some(bytes));
        let alphabet = ByteLevel::alphabet().into_iter().collect();
        let trainer = BpeTrainer::builder().vocab_size(size).show_progress(false).initial_alphabet(alphabet).build();
        let mut trainer = TrainerWrapper::from(trainer);
        tokenizer.train(&mut trainer, text.split_inclusive('\n')).map_err(|error| failed("train", &error))?;
        Ok(Self { tokenizer })
    }

    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// If the file cannot be read or is not a tokenizer.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_json(&read_text(path)?)
    }

    /// The tokenizer that [`Bpe::to_json`] wrote, or any other `tokenizer.json`.
    ///
    /// ```
    /// use tove_data::text::Bpe;
    /// let bpe = Bpe::train("low lower lowest", 260)?;
    /// let again = Bpe::from_json(&bpe.to_json()?)?;
    /// assert_eq!(again.encode("slow")?.to_vec::<i64>(), bpe.encode("slow")?.to_vec::<i64>());
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not a tokenizer.
    pub fn from_json(text: &str) -> Result<Self> {
        let tokenizer = text.parse::<Tokenizer>().map_err(|error| failed("load", &error))?;
        Ok(Self { tokenizer })
    }

    /// The content of a `tokenizer.json`, to be kept inside another file.
    ///
    /// # Errors
    /// If the tokenizer cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        self.tokenizer.to_string(true).map_err(|error| failed("save", &error))
    }

    /// Writes a `tokenizer.json`, complete or not at all.
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or the system refuses.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        let text = self.to_json()?;
        Ok(atomic::write_file(path.as_ref(), options, |out| std::io::Write::write_all(out, text.as_bytes()))?)
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokenizer.get_model().get_vocab_size()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A text as tokens, a vector of i64.
    ///
    /// # Errors
    /// If the text is empty or the tokenizer refuses.
    pub fn encode(&self, text: &str) -> Result<Tensor> {
        if text.is_empty() {
            return Err(DataError::EmptyText("Bpe::encode"));
        }
        let encoding = self.tokenizer.encode_fast(text, false).map_err(|error| failed("encode", &error))?;
        Ok(Tensor::from(encoding.get_ids().iter().map(|&id| i64::from(id)).collect::<Vec<_>>()))
    }

    /// Tokens as a text; all axes one after the other.
    ///
    /// # Errors
    /// If the tensor is not of type i64 or has a number that is not a token.
    pub fn decode(&self, tokens: &Tensor) -> Result<String> {
        if tokens.dtype() != DType::I64 {
            return Err(DataError::parameter("Bpe::decode", format!("tokens of type {}; give i64", tokens.dtype())));
        }
        let size = self.len();
        let id = |(position, token): (usize, i64)| {
            let known = u32::try_from(token).ok().filter(|&id| self.tokenizer.id_to_token(id).is_some());
            known.ok_or(DataError::Token { token, position, size })
        };
        let ids = tokens.try_to_vec::<i64>()?.into_iter().enumerate().map(id).collect::<Result<Vec<_>>>()?;
        self.tokenizer.decode(&ids, false).map_err(|error| failed("decode", &error))
    }
}

fn failed(doing: &'static str, error: &tokenizers::Error) -> DataError {
    DataError::Tokenizer { doing, problem: error.to_string() }
}
