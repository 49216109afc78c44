//! Windows of a long text, for models that predict the next token.

use tove_tensor::random::fill_uniform;
use tove_tensor::{DType, Key, Tensor};

use crate::{Batch, DataError, Dataset, Result};

/// Where windows begin.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Window i begins at i · stride.
    Every { stride: usize },
    /// Window i begins anywhere, drawn from the key and i.
    Random,
}

/// Windows of `length` tokens: x is tokens t … t + length − 1, y the same moved on by one, t + 1 … t + length. Both are
/// (batch, length) of type i64.
///
/// ```
/// use tove_data::{Dataset, Key, TextWindows};
/// use tove_tensor::Tensor;
/// let data = TextWindows::random(&Tensor::arange(0, 1000), 8, 64)?;
/// let batch = data.batch(&[0, 1, 2], Key::new(3))?;
/// assert_eq!(batch.x.dims(), [3, 8]);
/// assert_eq!((&batch.y - &batch.x).to_vec::<i64>(), [1; 24]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextWindows {
    tokens: Tensor,
    length: usize,
    count: usize,
    place: Place,
}

impl TextWindows {
    /// Windows side by side, without overlap; up to `length` tokens at the end are left over.
    ///
    /// # Errors
    /// If the tokens are not a vector of whole numbers, or too few for one window and its next token.
    pub fn consecutive(tokens: &Tensor, length: usize) -> Result<Self> {
        Self::strided(tokens, length, length)
    }

    /// Windows that begin `stride` tokens apart.
    ///
    /// # Errors
    /// As [`TextWindows::consecutive`], or if the stride is zero.
    pub fn strided(tokens: &Tensor, length: usize, stride: usize) -> Result<Self> {
        if stride == 0 {
            return Err(DataError::parameter("TextWindows", "a stride of 0; give at least 1"));
        }
        let (tokens, starts) = Self::check(tokens, length)?;
        Ok(Self { tokens, length, count: (starts - 1) / stride + 1, place: Place::Every { stride } })
    }

    /// `count` windows at random places, every place equally likely; other places for another key.
    ///
    /// # Errors
    /// As [`TextWindows::consecutive`].
    pub fn random(tokens: &Tensor, length: usize, count: usize) -> Result<Self> {
        let (tokens, _) = Self::check(tokens, length)?;
        Ok(Self { tokens, length, count, place: Place::Random })
    }

    /// The tokens as i64, and the number of places where a window can begin.
    fn check(tokens: &Tensor, length: usize) -> Result<(Tensor, usize)> {
        let wrong = |problem: String| Err(DataError::parameter("TextWindows", problem));
        if tokens.rank() != 1 || tokens.dtype().is_float() {
            let given = format!("tokens of shape {} and type {}", tokens.shape(), tokens.dtype());
            return wrong(format!("{given}; give a vector of whole numbers"));
        }
        if length == 0 || tokens.numel() <= length {
            let given = format!("{} tokens for windows of {length}", tokens.numel());
            return wrong(format!("{given}; give a length from 1 on, and more tokens than that"));
        }
        Ok((tokens.detach().to_dtype(DType::I64).contiguous(), tokens.numel() - length))
    }

    /// Tokens in a window.
    pub fn length(&self) -> usize {
        self.length
    }

    fn start(&self, index: usize, key: Key) -> usize {
        match self.place {
            Place::Every { stride } => index * stride,
            Place::Random => {
                let starts = self.tokens.numel() - self.length;
                let mut draw = [0f64];
                fill_uniform(key.fold(index as u64), &mut draw);
                ((draw[0] * starts as f64) as usize).min(starts - 1)
            }
        }
    }
}

impl Dataset for TextWindows {
    fn len(&self) -> usize {
        self.count
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch> {
        if let Some(&index) = indices.iter().find(|&&index| index >= self.count) {
            return Err(DataError::Index { index, len: self.count });
        }
        let tokens = self.tokens.as_slice::<i64>()?;
        let size = [indices.len(), self.length];
        let (mut x, mut y) = (Tensor::zeros(size, DType::I64), Tensor::zeros(size, DType::I64));
        let rows = x.as_mut_slice::<i64>()?.chunks_exact_mut(self.length);
        let rows = rows.zip(y.as_mut_slice::<i64>()?.chunks_exact_mut(self.length));
        for (&index, (x, y)) in indices.iter().zip(rows) {
            let start = self.start(index, key);
            x.copy_from_slice(&tokens[start..start + self.length]);
            y.copy_from_slice(&tokens[start + 1..start + 1 + self.length]);
        }
        Ok(Batch { x, y })
    }
}
