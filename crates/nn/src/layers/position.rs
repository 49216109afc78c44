//! Where a token stands. Attention by itself is blind to order: permuted tokens give permuted results. So each position
//! adds a vector of its own to the token: a learned one, or sines and cosines of geometrically growing wavelengths,
//! p₂ᵢ(t) = sin(t / 10000^(2i/width)), p₂ᵢ₊₁(t) = cos(t / 10000^(2i/width)) (Vaswani et al. 2017).

use tove_tensor::{DType, Tensor, TryOps};

use super::Layer;
use super::linear::draw;
use crate::error::OrPanic;
use crate::{Error, Init, LayerReport, Module, Pass, Result, Rng};

/// Adds a learned vector per position to x (…, tokens, width). First values are normal with deviation 0.02.
///
/// ```
/// use tove_nn::{Layer, LearnedPosition, Pass, Rng};
/// use tove_tensor::{DType, Tensor};
/// let position = LearnedPosition::new(10, 4, &mut Rng::new(0));
/// assert_eq!(position.forward(&Tensor::zeros([2, 7, 4], DType::F32), &Pass::eval())?.shape(), &[2, 7, 4]);
/// assert!(position.forward(&Tensor::zeros([2, 11, 4], DType::F32), &Pass::eval()).is_err());
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LearnedPosition {
    /// (positions, width).
    pub weight: Tensor,
}

impl LearnedPosition {
    /// Vectors for positions 0 to `positions` − 1.
    ///
    /// # Panics
    /// If they do not fit into memory; see [`LearnedPosition::try_new`].
    #[track_caller]
    pub fn new(positions: usize, width: usize, rng: &mut Rng) -> LearnedPosition {
        LearnedPosition::try_new(positions, width, rng).or_panic()
    }

    /// As [`LearnedPosition::new`], with the error returned.
    pub fn try_new(positions: usize, width: usize, rng: &mut Rng) -> Result<LearnedPosition> {
        Ok(LearnedPosition { weight: small_normal(&[positions, width], rng)? })
    }

    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.weight.dims()[0]
    }
}

impl Layer for LearnedPosition {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = add_rows(x, &self.weight, "LearnedPosition")?;
        pass.tell(self, x, &y, || LayerReport { flops: y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}

/// Adds sines and cosines of the position to x (…, tokens, width). Nothing to learn, nothing to save.
///
/// ```
/// use tove_nn::{Layer, Pass, SinusoidalPosition};
/// use tove_tensor::{DType, Tensor};
/// let y = SinusoidalPosition::new(8, 4).forward(&Tensor::zeros([2, 4], DType::F64), &Pass::eval())?;
/// assert_eq!(y.to_vec::<f64>()[..4], [0.0, 1.0, 0.0, 1.0]);
/// assert!((y.to_vec::<f64>()[4] - 1f64.sin()).abs() < 1e-15);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct SinusoidalPosition {
    #[module(skip)]
    table: Tensor,
}

impl SinusoidalPosition {
    /// Vectors for positions 0 to `positions` − 1.
    pub fn new(positions: usize, width: usize) -> SinusoidalPosition {
        let value = |index: usize| {
            let (position, feature) = (index / width, index % width);
            let angle = position as f64 * 1e4f64.powf(-((feature / 2 * 2) as f64) / width as f64);
            if feature.is_multiple_of(2) { angle.sin() } else { angle.cos() }
        };
        let values: Vec<f64> = (0..positions * width).map(value).collect();
        SinusoidalPosition { table: Tensor::from_vec(values, [positions, width]) }
    }

    /// The vectors, (positions, width), in f64.
    pub fn table(&self) -> &Tensor {
        &self.table
    }
}

impl Layer for SinusoidalPosition {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let dtype = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let y = add_rows(x, &self.table.try_to_dtype(dtype)?, "SinusoidalPosition")?;
        pass.tell(self, x, &y, || LayerReport { flops: y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}

/// x (…, tokens, width) plus the first rows of a table.
fn add_rows(x: &Tensor, table: &Tensor, what: &'static str) -> Result<Tensor> {
    let (positions, width) = (table.dims()[0], table.dims()[1]);
    let &[.., tokens, features] = x.dims() else {
        return Err(tove_tensor::Error::shape(what, x.shape(), "needs shape (…, tokens, width)").into());
    };
    if features != width {
        let problem = "the width of tokens and of positions must be the same";
        return Err(tove_tensor::Error::shapes(what, x.shape(), table.shape(), problem).into());
    }
    if tokens > positions {
        let problem = format!("has {tokens} tokens, and there are {positions} positions; cut it or allow for more");
        return Err(Error::setting(what, "input", problem));
    }
    let rows = if tokens == positions { table.clone() } else { table.try_narrow(0, 0, tokens)? };
    Ok(x.try_add(&rows)?)
}

/// A fresh parameter, normal with deviation 0.02.
pub(crate) fn small_normal(dims: &[usize], rng: &mut Rng) -> Result<Tensor> {
    draw(Init::Normal(0.02), dims, rng)
}
