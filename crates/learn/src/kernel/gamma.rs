//! The kernel coefficient γ: a number, or a rule based on the data.

use tove_optim::settings::{Setting, Value, ValueKind};
use tove_tensor::Tensor;

use crate::{Csr, Real, Result, Rows, with_real};

/// γ of a kernel.
///
/// ```
/// use tove_learn::kernel::Gamma;
/// use tove_optim::settings::Setting;
/// assert_eq!(Gamma::parse("scale"), Some(Gamma::Scale));
/// assert_eq!(Gamma::parse("0.5"), Some(Gamma::Value(0.5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gamma {
    /// 1 / (d · variance of all values of X), so that the kernel does not depend on the unit of measurement. The
    /// variance uses sample weights; scikit-learn's does not.
    #[default]
    Scale,
    /// 1 / d.
    Auto,
    /// This number.
    Value(f64),
}

impl From<f64> for Gamma {
    fn from(value: f64) -> Gamma {
        Gamma::Value(value)
    }
}

impl Setting for Gamma {
    fn kind() -> ValueKind {
        ValueKind::Text
    }

    fn value(&self) -> Value {
        match self {
            Gamma::Scale => Value::Text("scale".to_owned()),
            Gamma::Auto => Value::Text("auto".to_owned()),
            Gamma::Value(value) => Value::Real(*value),
        }
    }

    fn from_value(value: &Value) -> Option<Gamma> {
        match value {
            Value::Text(name) if name.eq_ignore_ascii_case("scale") => Some(Gamma::Scale),
            Value::Text(name) if name.eq_ignore_ascii_case("auto") => Some(Gamma::Auto),
            number => f64::from_value(number).map(Gamma::Value),
        }
    }

    fn parse(text: &str) -> Option<Gamma> {
        let number = || f64::parse(text).map(Gamma::Value);
        Gamma::from_value(&Value::Text(text.trim().to_owned())).or_else(number)
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        if let Gamma::Value(value) = self { test(*value) } else { true }
    }

    fn expected() -> Option<&'static str> {
        Some("scale, auto or a number")
    }
}

impl Gamma {
    /// Computes the number for features (n, d).
    pub fn resolve(self, x: impl Into<Rows>, weights: Option<&[f64]>) -> Result<f64> {
        let x = x.into();
        let width = x.width().max(1) as f64;
        Ok(match self {
            Gamma::Value(value) => value,
            Gamma::Auto => 1.0 / width,
            Gamma::Scale => {
                let variance = match &x {
                    Rows::Dense(x) => variance(x, weights)?,
                    Rows::Sparse(x) => sparse_variance(x, weights)?,
                };
                if variance > 0.0 { 1.0 / (width * variance) } else { 1.0 }
            }
        })
    }
}

/// The variance of all values of a matrix, in two passes.
fn variance(x: &Tensor, weights: Option<&[f64]>) -> Result<f64> {
    let width = x.dims().get(1).copied().unwrap_or(1).max(1);
    with_real!(x.dtype(), T => {
        let values = x.as_slice::<T>()?;
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let total: f64 = (0..values.len() / width).map(weight).sum::<f64>() * width as f64;
        let rows = || values.chunks_exact(width).enumerate();
        let mean = rows().map(|(row, x)| weight(row) * sum(x, |x| x)).sum::<f64>() / total;
        let square = |x: f64| (x - mean) * (x - mean);
        Ok(rows().map(|(row, x)| weight(row) * sum(x, square)).sum::<f64>() / total)
    })
}

/// The same for a sparse matrix, including its zeros.
fn sparse_variance(x: &Csr, weights: Option<&[f64]>) -> Result<f64> {
    with_real!(x.dtype(), T => {
        let values = x.values().as_slice::<T>()?;
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let rows = || x.indptr().windows(2).enumerate().map(|(row, two)| (weight(row), &values[two[0]..two[1]]));
        let total: f64 = (0..x.rows()).map(weight).sum::<f64>() * x.columns().max(1) as f64;
        let mean = rows().map(|(weight, x)| weight * sum(x, |x| x)).sum::<f64>() / total;
        let stored: f64 = rows().map(|(weight, x)| weight * x.len() as f64).sum();
        let squares: f64 = rows().map(|(weight, x)| weight * sum(x, |x| (x - mean) * (x - mean))).sum();
        Ok((squares + (total - stored).max(0.0) * mean * mean) / total)
    })
}

/// A sum in eight lanes, which the compiler vectorizes.
fn sum<T: Real>(values: &[T], f: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for eight in chunks {
        for (lane, &x) in lanes.iter_mut().zip(eight) {
            *lane += f(x.f64());
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&x| f(x.f64())).sum::<f64>()
}
