//! Tensors of random numbers, drawn with a [`Key`]. The same key, shape and parameters always give the same tensor.
//!
//! | call | draws |
//! |---|---|
//! | `key.uniform(shape, dtype)` | from [0, 1) |
//! | `key.normal(shape, dtype)` | standard normal |
//! | `key.bernoulli(p, shape)` | true with probability p |
//! | `key.integers(low, high, shape)` | whole numbers of [low, high) |
//! | `key.permutation(n)` | a random order of 0 … n − 1 |
//! | `key.categorical(weights, draws)` | indices in proportion to weights along the last axis |
//! | `key.exponential(rate, shape, dtype)`, `gamma`, `beta` | with these parameters |
//! | `key.dropout_mask(shape, p, dtype)` | 0 with probability p, 1/(1 − p) otherwise |

use super::{
    Key, RandomError, fill_bernoulli, fill_beta, fill_categorical, fill_categorical_logits, fill_exponential,
    fill_gamma, fill_integers, fill_normal, fill_uniform, permutation,
};
use crate::dtype::match_float;
use crate::error::OrPanic;
use crate::tensor::{Fresh, checked_numel, try_vec};
use crate::{DType, Error, Result, Shape, Tensor};

/// Declares draws: the method, which panics at the caller's line, and its `try_` twin.
macro_rules! draws {
    ($(
        $(#[$doc:meta])*
        $name:ident $try_name:ident ($($argument:ident: $type:ty),*) |$key:ident| $body:expr;
    )*) => {
        impl Key {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(self $(, $argument: $type)*) -> Tensor {
                self.$try_name($($argument),*).or_panic()
            }

            #[doc = concat!("As [`Key::", stringify!($name), "`], with the error returned.")]
            pub fn $try_name(self $(, $argument: $type)*) -> Result<Tensor> {
                let $key = self;
                $body
            }
        )*}
    };
}

draws! {
    /// Numbers uniform on [0, 1), of type f32 or f64.
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let x = Key::new(1).uniform([2, 3], DType::F32);
    /// assert!(x.to_vec::<f32>().iter().all(|u| (0.0..1.0).contains(u)));
    /// ```
    uniform try_uniform(shape: impl Into<Shape>, dtype: DType) |key| {
        let mut out = room("uniform", shape.into(), dtype)?;
        match_float!("uniform", dtype, T => fill_uniform::<T>(key, out.slice()));
        Ok(out.finish())
    };
    /// Standard normal numbers, of type f32 or f64.
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let x = Key::new(1).normal([1000], DType::F64);
    /// assert!(x.mean().item::<f64>().abs() < 0.1 && (x.std(1).item::<f64>() - 1.0).abs() < 0.1);
    /// ```
    normal try_normal(shape: impl Into<Shape>, dtype: DType) |key| {
        let mut out = room("normal", shape.into(), dtype)?;
        match_float!("normal", dtype, T => fill_normal::<T>(key, out.slice()));
        Ok(out.finish())
    };
    /// Truth values that are true with probability `p`.
    ///
    /// ```
    /// use tove_tensor::random::Key;
    /// let heads = Key::new(1).bernoulli(0.25, [10_000]).count_nonzero().item::<i64>();
    /// assert!((2300..2700).contains(&heads));
    /// ```
    bernoulli try_bernoulli(p: f64, shape: impl Into<Shape>) |key| {
        let shape = shape.into();
        let mut values = try_vec("bernoulli", checked_numel("bernoulli", &shape)?, false)?;
        fill_bernoulli(key, p, &mut values).map_err(|error| parameter("bernoulli", "p", error))?;
        Tensor::try_from_vec(values, shape)
    };
    /// Whole numbers of [low, high), each equally likely.
    ///
    /// ```
    /// use tove_tensor::random::Key;
    /// let dice = Key::new(1).integers(1, 7, [100]);
    /// assert_eq!((dice.min().item::<i64>(), dice.max().item::<i64>()), (1, 6));
    /// ```
    integers try_integers(low: i64, high: i64, shape: impl Into<Shape>) |key| {
        let mut out = room("integers", shape.into(), DType::I64)?;
        fill_integers(key, low, high, out.slice()).map_err(|error| parameter("integers", "high", error))?;
        Ok(out.finish())
    };
    /// A random order of 0 … n − 1.
    ///
    /// ```
    /// use tove_tensor::random::Key;
    /// let mut order = Key::new(1).permutation(4).to_vec::<i64>();
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3]);
    /// ```
    permutation try_permutation(n: usize) |key| {
        room("permutation", Shape::from(n), DType::I64)?; // before the order itself is made, which cannot fail
        Tensor::try_from_vec(permutation(key, n), n)
    };
    /// Indices of the last axis of `weights`, drawn in proportion to them: shape (…, classes) gives (…, draws). Weights
    /// need not sum to 1; an index of weight 0 is never drawn.
    ///
    /// ```
    /// use tove_tensor::{Tensor, random::Key};
    /// let weights = Tensor::from([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]]);
    /// let classes = Key::new(1).categorical(&weights, 50);
    /// assert_eq!((classes.shape().dims(), classes.get(1).max().item::<i64>()), (&[2, 50][..], 0));
    /// assert_eq!(classes.get(0).min().item::<i64>(), 1);
    /// ```
    categorical try_categorical(weights: &Tensor, draws: usize) |key| indices(key, "categorical", weights, draws, false);
    /// As [`Key::categorical`], from the logarithms of the weights: index k has probability softmax(logits)_k. A logit
    /// of −∞ excludes its index.
    ///
    /// ```
    /// use tove_tensor::{Tensor, random::Key};
    /// let classes = Key::new(1).categorical_logits(&Tensor::from([f64::NEG_INFINITY, 800.0]), 5);
    /// assert_eq!(classes.to_vec::<i64>(), [1; 5]);
    /// ```
    categorical_logits try_categorical_logits(logits: &Tensor, draws: usize) |key| {
        indices(key, "categorical_logits", logits, draws, true)
    };
    /// Exponential numbers of the given rate; their mean is 1/rate.
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let x = Key::new(1).exponential(2.0, [10_000], DType::F64);
    /// assert!((x.mean().item::<f64>() - 0.5).abs() < 0.02);
    /// ```
    exponential try_exponential(rate: f64, shape: impl Into<Shape>, dtype: DType) |key| {
        positive("exponential", "rate", rate)?;
        let mut out = room("exponential", shape.into(), dtype)?;
        match_float!("exponential", dtype, T => {
            let out = out.slice::<T>();
            fill_exponential::<T>(key, out);
            out.iter_mut().for_each(|x| *x /= rate as T);
        });
        Ok(out.finish())
    };
    /// Gamma numbers of the given shape parameter and scale 1; their mean is `concentration`.
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let x = Key::new(1).gamma(3.0, [10_000], DType::F64);
    /// assert!((x.mean().item::<f64>() - 3.0).abs() < 0.1);
    /// ```
    gamma try_gamma(concentration: f64, shape: impl Into<Shape>, dtype: DType) |key| {
        positive("gamma", "concentration", concentration)?;
        let mut out = room("gamma", shape.into(), dtype)?;
        match_float!("gamma", dtype, T => {
            let given = [concentration as T];
            fill_gamma::<T>(key, &given, out.slice()).map_err(|error| parameter("gamma", "concentration", error))?;
        });
        Ok(out.finish())
    };
    /// Beta numbers on [0, 1] with parameters `a` and `b`; their mean is a/(a + b).
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let x = Key::new(1).beta(1.0, 3.0, [10_000], DType::F64);
    /// assert!((x.mean().item::<f64>() - 0.25).abs() < 0.01);
    /// ```
    beta try_beta(a: f64, b: f64, shape: impl Into<Shape>, dtype: DType) |key| {
        positive("beta", "a", a)?;
        positive("beta", "b", b)?;
        let mut out = room("beta", shape.into(), dtype)?;
        match_float!("beta", dtype, T => {
            fill_beta::<T>(key, &[a as T], &[b as T], out.slice()).map_err(|error| parameter("beta", "a or b", error))?;
        });
        Ok(out.finish())
    };
    /// What dropout multiplies by: 0 with probability `p`, 1/(1 − p) otherwise, so that the mean stays.
    ///
    /// ```
    /// use tove_tensor::{DType, random::Key};
    /// let mask = Key::new(1).dropout_mask([10_000], 0.5, DType::F64);
    /// assert!((mask.mean().item::<f64>() - 1.0).abs() < 0.05 && mask.max().item::<f64>() == 2.0);
    /// ```
    dropout_mask try_dropout_mask(shape: impl Into<Shape>, p: f64, dtype: DType) |key| {
        if !(0.0..=1.0).contains(&p) {
            return Err(parameter("dropout_mask", "p", RandomError::Probability(p)));
        }
        let kept = key.try_bernoulli(1.0 - p, shape)?;
        let mut out = room("dropout_mask", kept.shape().clone(), dtype)?;
        match_float!("dropout_mask", dtype, T => {
            // With p = 1 nothing is kept, and the scale never used.
            let scale = 1.0 / (1.0 - p as T);
            let kept = kept.contiguous_slice::<bool>();
            out.slice::<T>().iter_mut().zip(kept).for_each(|(x, &kept)| *x = if kept { scale } else { 0.0 });
        });
        Ok(out.finish())
    };
}

/// Memory for the draws.
fn room(op: &'static str, shape: Shape, dtype: DType) -> Result<Fresh> {
    Fresh::new(shape, dtype).map_err(|error| error.named(op))
}

#[cold]
fn parameter(op: &'static str, name: &'static str, error: RandomError) -> Error {
    Error::parameter(op, name, format!("is out of range: {error}"))
}

fn positive(op: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value < f64::INFINITY {
        return Ok(());
    }
    Err(Error::parameter(op, name, format!("is {value}; it must be positive and finite")))
}

/// Draws along the last axis.
fn indices(key: Key, op: &'static str, rows: &Tensor, draws: usize, logits: bool) -> Result<Tensor> {
    let Some((&classes, leading)) = rows.dims().split_last() else {
        return Err(Error::shape(op, rows.shape(), "has no axis of classes"));
    };
    if rows.is_batched() {
        return Err(Error::derivative(op, "draws read values and cannot run inside `vmap`"));
    }
    let mut out = room(op, Shape::new(leading).joined(&[draws]), DType::I64)?;
    let rows = rows.contiguous_data()?;
    match_float!(op, rows.dtype(), T => {
        let (rows, out) = (rows.contiguous_slice::<T>(), out.slice());
        let filled = if logits {
            fill_categorical_logits::<T>(key, rows, classes, out)
        } else {
            fill_categorical::<T>(key, rows, classes, out)
        };
        filled.map_err(|error| parameter(op, if logits { "logits" } else { "weights" }, error))?;
    });
    Ok(out.finish())
}
