//! Tensors seen as columns of numbers, checked once, not copied when they are row-major.

use tove_tensor::{DType, Tensor};

use crate::score::Sum;
use crate::{MetricError, Result};

/// The elements of a row-major tensor, whatever their type.
#[derive(Clone, Copy)]
pub(crate) enum View<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    Bool(&'a [bool]),
}

impl<'a> View<'a> {
    pub(crate) fn of(tensor: &'a Tensor) -> Result<Self> {
        Ok(match tensor.dtype() {
            DType::F32 => View::F32(tensor.as_slice()?),
            DType::F64 => View::F64(tensor.as_slice()?),
            DType::I64 => View::I64(tensor.as_slice()?),
            DType::U8 => View::U8(tensor.as_slice()?),
            DType::Bool => View::Bool(tensor.as_slice()?),
        })
    }

    #[inline]
    pub(crate) fn real(&self, i: usize) -> f64 {
        match self {
            View::F32(values) => f64::from(values[i]),
            View::F64(values) => values[i],
            View::I64(values) => values[i] as f64,
            View::U8(values) => f64::from(values[i]),
            View::Bool(values) => f64::from(u8::from(values[i])),
        }
    }

    #[inline]
    pub(crate) fn whole(&self, i: usize) -> i64 {
        match self {
            View::I64(values) => values[i],
            View::U8(values) => i64::from(values[i]),
            View::Bool(values) => i64::from(values[i]),
            View::F32(values) => values[i] as i64,
            View::F64(values) => values[i] as i64,
        }
    }
}

/// A row-major form of the tensor: itself, unless it is a view with other strides.
pub(crate) fn dense(tensor: &Tensor) -> Tensor {
    tensor.detach().contiguous()
}

fn shapes(what: &'static str, truth: &Tensor, prediction: &Tensor, problem: &'static str) -> MetricError {
    MetricError::Shapes { what, truth: truth.shape().to_string(), prediction: prediction.shape().to_string(), problem }
}

/// Checks that classes are a vector of whole numbers, at least one.
pub(crate) fn check_classes(what: &'static str, argument: &'static str, classes: &Tensor) -> Result<usize> {
    if classes.dtype().is_float() {
        let expected = "classes are whole numbers (i64, u8 or bool); take the argmax of scores first";
        return Err(MetricError::DType { what, argument, dtype: classes.dtype(), expected });
    }
    if classes.rank() != 1 {
        return Err(MetricError::parameter(what, format!("{argument} of shape {}; give a vector", classes.shape())));
    }
    if classes.numel() == 0 {
        return Err(MetricError::Empty(what));
    }
    Ok(classes.numel())
}

/// Checks two vectors of classes of one length.
pub(crate) fn check_pair(what: &'static str, truth: &Tensor, prediction: &Tensor) -> Result<usize> {
    let n = check_classes(what, "truth", truth)?;
    check_classes(what, "prediction", prediction)?;
    if prediction.numel() != n {
        return Err(shapes(what, truth, prediction, "give one prediction per sample"));
    }
    Ok(n)
}

/// Checks floats of the same shape on both sides: (n) against (n, 1) is refused, not broadcast.
pub(crate) fn check_same(what: &'static str, truth: &Tensor, prediction: &Tensor) -> Result<usize> {
    if truth.shape() != prediction.shape() {
        return Err(shapes(what, truth, prediction, "both must have the same shape; reshape one of them"));
    }
    if truth.rank() == 0 || truth.numel() == 0 {
        return Err(MetricError::Empty(what));
    }
    for (argument, tensor) in [("truth", truth), ("prediction", prediction)] {
        check_finite(what, argument, tensor)?;
    }
    Ok(truth.dims()[0])
}

/// Checks classes (n) and scores (n, C), or (n) when `binary`; gives n and C.
pub(crate) fn check_scores(
    what: &'static str,
    truth: &Tensor,
    scores: &Tensor,
    binary: bool,
) -> Result<(usize, usize)> {
    let n = check_classes(what, "truth", truth)?;
    let classes = match *scores.dims() {
        [rows] if binary && rows == n => 1,
        [rows, classes] if rows == n && classes > 0 => classes,
        _ if binary => return Err(shapes(what, truth, scores, "give scores (n) or (n, classes)")),
        _ => return Err(shapes(what, truth, scores, "give scores (n, classes)")),
    };
    if !scores.dtype().is_float() {
        let expected = "scores are f32 or f64";
        return Err(MetricError::DType { what, argument: "scores", dtype: scores.dtype(), expected });
    }
    check_finite(what, "scores", scores)?;
    Ok((n, classes))
}

pub(crate) fn check_finite(what: &'static str, argument: &'static str, tensor: &Tensor) -> Result<()> {
    let tensor = dense(tensor);
    let view = View::of(&tensor)?;
    let bad = match view {
        View::F32(values) => values.iter().position(|x| x.is_nan()),
        View::F64(values) => values.iter().position(|x| x.is_nan()),
        _ => None,
    };
    match bad {
        Some(index) => {
            let expected = "find out where it comes from; a score of NaN is meaningless";
            Err(MetricError::Value { what, argument, index, value: view.real(index), expected })
        }
        None => Ok(()),
    }
}

/// Sample weights, or ones.
pub(crate) struct Weights {
    tensor: Option<Tensor>,
    pub total: f64,
    /// (Σw)²/Σw².
    pub effective: f64,
}

impl Weights {
    pub(crate) fn new(what: &'static str, weights: Option<&Tensor>, n: usize) -> Result<Self> {
        let Some(weights) = weights else {
            return Ok(Self { tensor: None, total: n as f64, effective: n as f64 });
        };
        if weights.dims() != [n] {
            let problem = format!("weights of shape {} for {n} samples; give one per sample", weights.shape());
            return Err(MetricError::parameter(what, problem));
        }
        let tensor = dense(weights);
        let view = View::of(&tensor)?;
        if let Some(index) = (0..n).find(|&i| !(view.real(i) >= 0.0 && view.real(i).is_finite())) {
            let expected = "weights are finite and not negative";
            return Err(MetricError::Value { what, argument: "weight", index, value: view.real(index), expected });
        }
        let total = (0..n).map(|i| view.real(i)).collect::<Sum>().value();
        let squares = (0..n).map(|i| view.real(i) * view.real(i)).collect::<Sum>().value();
        if total <= 0.0 {
            return Err(MetricError::parameter(what, "all weights are zero; give at least one sample some weight"));
        }
        Ok(Self { tensor: Some(tensor), total, effective: total * total / squares })
    }

    /// The weight of each sample, as a function of its number.
    pub(crate) fn get(&self) -> Result<impl Fn(usize) -> f64 + '_> {
        let view = self.tensor.as_ref().map(View::of).transpose()?;
        Ok(move |i: usize| view.map_or(1.0, |view| view.real(i)))
    }

    /// The weighted mean of a quantity.
    pub(crate) fn mean(&self, n: usize, mut value: impl FnMut(usize) -> f64) -> Result<f64> {
        let weight = self.get()?;
        Ok((0..n).map(|i| weight(i) * value(i)).collect::<Sum>().value() / self.total)
    }
}
