//! First values of parameters.
//!
//! For y = W x with independent factors of mean zero, var(y) = n_in var(w) var(x) forward, and n_out takes the place of
//! n_in backward. Xavier's compromise is var(w) = 2 / (n_in + n_out) (Glorot and Bengio 2010); a rectifier halves the
//! second moment, hence He's var(w) = 2 / n_in (He et al. 2015). Orthogonal matrices keep lengths exactly (Saxe et al. 2014).

use tove_tensor::linalg::qr;
use tove_tensor::{DType, Error, Key, Result, Shape, Tensor, TryIndex, TryOps};

/// A rule for first values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// All the same.
    Constant(f64),
    /// Uniform on [−bound, bound).
    Uniform(f64),
    /// Normal with this standard deviation.
    Normal(f64),
    /// Normal with this standard deviation, drawn again beyond two of them.
    TruncatedNormal(f64),
    /// Uniform on ±1/√n_in: what PyTorch gives its linear and convolutional layers.
    InverseRoot,
    /// Uniform with variance 2 gain² / (n_in + n_out).
    XavierUniform(f64),
    /// Normal with variance 2 gain² / (n_in + n_out).
    XavierNormal(f64),
    /// Uniform with variance 2 / n_in.
    HeUniform,
    /// Normal with variance 2 / n_in.
    HeNormal,
    /// Rows or columns orthonormal, times a gain.
    Orthogonal(f64),
}

/// Numbers of inputs and outputs of a weight: (out, in, positions…) as linear and convolutional layers hold them.
///
/// ```
/// assert_eq!(tove_nn::fans(&[32, 3, 5, 5]), (3 * 25, 32 * 25));
/// ```
pub fn fans(dims: &[usize]) -> (usize, usize) {
    match dims {
        [] => (1, 1),
        [n] => (*n, *n),
        [out, inputs, window @ ..] => {
            let positions = window.iter().fold(1usize, |product, &size| product.saturating_mul(size));
            (inputs.saturating_mul(positions), out.saturating_mul(positions))
        }
    }
}

impl Init {
    /// An error for a bound, deviation or gain that would fill a net with NaN.
    fn check(self) -> Result<()> {
        let (name, value, least) = match self {
            Init::Uniform(bound) => ("bound", bound, 0.0),
            Init::Normal(deviation) | Init::TruncatedNormal(deviation) => ("deviation", deviation, 0.0),
            Init::XavierUniform(gain) | Init::XavierNormal(gain) | Init::Orthogonal(gain) => ("gain", gain, f64::MIN),
            Init::Constant(_) | Init::InverseRoot | Init::HeUniform | Init::HeNormal => return Ok(()),
        };
        if value.is_finite() && value >= least {
            return Ok(());
        }
        let rule = if least == 0.0 { "a finite number of at least 0" } else { "a finite number" };
        Err(Error::Parameter { op: "Init", name, problem: format!("is {value}; give {rule}").into() })
    }

    /// Draws values. A bound, deviation or gain that is not finite is an error, and so is a negative bound or deviation.
    ///
    /// ```
    /// use tove_nn::Init;
    /// use tove_tensor::{DType, Key};
    /// let w = Init::XavierUniform(1.0).draw([50, 100], Key::new(1), DType::F64)?;
    /// let bound = (6.0f64 / 150.0).sqrt();
    /// assert!(w.abs().max().item::<f64>() <= bound);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    pub fn draw(self, shape: impl Into<Shape>, key: Key, dtype: DType) -> Result<Tensor> {
        self.check()?;
        let shape = shape.into();
        let (inputs, outputs) = fans(shape.dims());
        let (inputs, outputs) = (inputs.max(1) as f64, outputs.max(1) as f64);
        match self {
            Init::Constant(value) => Ok(Tensor::full(shape, value, dtype)),
            Init::Uniform(bound) => uniform(shape, bound, key, dtype),
            Init::Normal(deviation) => normal(shape, deviation, key, dtype),
            Init::TruncatedNormal(deviation) => truncated(shape, deviation, key, dtype),
            Init::InverseRoot => uniform(shape, 1.0 / inputs.sqrt(), key, dtype),
            Init::XavierUniform(gain) => uniform(shape, gain * (6.0 / (inputs + outputs)).sqrt(), key, dtype),
            Init::XavierNormal(gain) => normal(shape, gain * (2.0 / (inputs + outputs)).sqrt(), key, dtype),
            Init::HeUniform => uniform(shape, (6.0 / inputs).sqrt(), key, dtype),
            Init::HeNormal => normal(shape, (2.0 / inputs).sqrt(), key, dtype),
            Init::Orthogonal(gain) => orthogonal(shape, gain, key, dtype),
        }
    }
}

fn uniform(shape: Shape, bound: f64, key: Key, dtype: DType) -> Result<Tensor> {
    Ok((key.try_uniform(shape, dtype)? * 2.0 - 1.0) * bound)
}

fn normal(shape: Shape, deviation: f64, key: Key, dtype: DType) -> Result<Tensor> {
    Ok(key.try_normal(shape, dtype)? * deviation)
}

/// Draws again, with a key of its own per round, until none lies beyond two deviations; 5 % do in each.
fn truncated(shape: Shape, deviation: f64, key: Key, dtype: DType) -> Result<Tensor> {
    let mut values = key.try_normal(shape.clone(), dtype)?;
    for round in 0.. {
        let outside = values.abs().try_gt_scalar(2.0)?;
        if !outside.any().item::<bool>() {
            break;
        }
        values = outside.try_select(&key.fold(round).try_normal(shape.clone(), dtype)?, &values)?;
    }
    Ok(values * deviation)
}

/// Q of a normal matrix, with the signs of R's diagonal moved into it, so that every orthogonal matrix is equally likely.
fn orthogonal(shape: Shape, gain: f64, key: Key, dtype: DType) -> Result<Tensor> {
    if shape.rank() < 2 {
        return Err(Error::shape("orthogonal", &shape, "has fewer than two axes"));
    }
    let rows = shape.dims()[0];
    let columns: usize = shape.dims()[1..].iter().product();
    let (tall, wide) = (rows.max(columns), rows.min(columns));
    let matrix = key.try_normal([tall, wide], DType::F64)?;
    let factors = qr(&matrix)?;
    let q = factors.q * factors.r.try_diagonal(0)?.sign();
    let q = if rows < columns { q.try_t()? } else { q };
    Ok((q.contiguous() * gain).try_reshape(shape)?.to_dtype(dtype))
}
