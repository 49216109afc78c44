//! Batch normalisation per channel (axis 1) over all other axes (Ioffe and Szegedy 2015).
//!
//! In training, y = (x − mean) / √(var + ε) · weight + bias with the batch's own mean and variance (that of the batch, not
//! the unbiased estimate), which are returned beside the result; the gradient passes through them. In evaluation they are
//! given and count as constants unless they are tracked themselves.

use std::sync::{Arc, Mutex, PoisonError};

use smallvec::smallvec;

use super::layer_norm::{affine, check_eps};
use super::{Fused, Saved, fused};
use crate::autodiff::{Grads, check_like};
use crate::dtype::match_float;
use crate::kernels::batch_norm::{Backward, Layout, Moments, backward, moments, normalise};
use crate::ops::{Aux, binary, reduce, shape, unary};
use crate::tensor::Fresh;
use crate::{Element, Error, Result, Shape, Tensor};

/// Mean and variance of each channel of a batch, and how many elements they were taken over.
///
/// ```
/// use tove_tensor::Tensor;
/// let x = Tensor::from([[1.0], [3.0]]);
/// let (y, statistics) = x.batch_norm(None, None, 0.0);
/// assert_eq!(y.to_vec::<f64>(), [-1.0, 1.0]);
/// assert_eq!((statistics.mean.item::<f64>(), statistics.variance.item::<f64>(), statistics.count), (2.0, 1.0, 2));
/// ```
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    /// Mean of each channel.
    pub mean: Tensor,
    /// Mean squared distance from the mean; times count / (count − 1) it is the unbiased estimate.
    pub variance: Tensor,
    /// Elements of each channel.
    pub count: usize,
}

/// Inputs x, weight and bias. The moments were taken from the same data when the operation was made, and so was the
/// value, which the first application takes.
#[derive(Clone)]
struct Training {
    eps: f64,
    moments: Arc<Moments>,
    value: Arc<Mutex<Option<Tensor>>>,
}

/// Inputs x, weight, bias, mean and variance.
#[derive(Clone, Copy)]
struct Evaluation {
    eps: f64,
}

fn layout(x: &Tensor) -> Layout {
    Layout { outer: x.dims()[0], channels: x.dims()[1], inner: x.dims()[2..].iter().product() }
}

/// What the kernels rely on: a batch and a channel axis, and for each channel a weight, a bias and its moments.
fn check_operands(op: &'static str, inputs: &[&Tensor], moments: &Moments) -> Result<()> {
    let x = inputs[0];
    check_rank(op, x)?;
    let channels = x.dims()[1];
    for given in &inputs[1..] {
        check_like(op, &Shape::from([channels]), x.dtype(), given)?;
    }
    if moments.mean.len() != channels || moments.variance.len() != channels {
        return Err(Error::shape(op, x.shape(), format!("{channels} channels need as many means and variances")));
    }
    Ok(())
}

#[allow(unsafe_code)]
fn value(op: &'static str, inputs: &[&Tensor], moments: &Moments, eps: f64) -> Result<Tensor> {
    check_operands(op, inputs, moments)?;
    let (x, w, b) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?, inputs[2].contiguous_data()?);
    let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
    match_float!(op, x.dtype(), T => {
        let (w, b) = (w.contiguous_slice::<T>(), b.contiguous_slice::<T>());
        // SAFETY: `x` and `out` are row-major with the layout's size; the sizes of the others were checked.
        unsafe { normalise::<T>(x.pointer(), layout(&x), moments, eps, w, b, out.pointer()) }
    });
    Ok(out.finish())
}

/// Gradients by x, weight and bias, and with `training` false those by mean and variance too.
#[allow(unsafe_code)]
fn gradients(
    op: &'static str,
    inputs: &[&Tensor],
    grad: &Tensor,
    moments: &Moments,
    eps: f64,
    training: bool,
) -> Result<Grads> {
    check_operands(op, inputs, moments)?;
    check_like(op, inputs[0].shape(), inputs[0].dtype(), grad)?;
    let (x, w, grad) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?, grad.contiguous_data()?);
    let mut dx = Fresh::new(x.shape().clone(), x.dtype())?;
    let mut grads: Grads = smallvec![];
    match_float!(op, x.dtype(), T => {
        let w = w.contiguous_slice::<T>();
        let pass = Backward { moments, eps, weight: w, training };
        // SAFETY: as in `value`.
        let sums = unsafe { backward::<T>(x.pointer(), grad.pointer(), layout(&x), &pass, dx.pointer()) };
        let per_channel = |number: &dyn Fn(usize) -> f64| {
            let values: Vec<T> = (0..w.len()).map(|channel| number(channel) as T).collect();
            Tensor::from_slice(&values)
        };
        grads.push(Some(dx.finish()));
        grads.push(Some(per_channel(&|c| sums.along[c])));
        grads.push(Some(per_channel(&|c| sums.plain[c])));
        if !training {
            grads.push(Some(per_channel(&|c| -Element::to_f64(w[c]) * sums.factor[c] * sums.plain[c])));
            grads.push(Some(per_channel(&|c| -0.5 * Element::to_f64(w[c]) * sums.factor[c].powi(2) * sums.along[c])));
        }
    });
    Ok(grads)
}

/// All axes but the channel's.
fn other_axes(x: &Tensor) -> Vec<isize> {
    (0..x.rank() as isize).filter(|&axis| axis != 1).collect()
}

/// One number per channel, in the shape that broadcasts with `x`.
fn channels(x: &Tensor, per_channel: &Tensor) -> Result<Tensor> {
    let trailing = std::iter::repeat_n(1, x.rank() - 2);
    shape::reshape(per_channel, std::iter::once(x.dims()[1]).chain(trailing).collect())
}

fn affine_of(inputs: &[&Tensor], centred: &Tensor, variance: &Tensor, eps: f64) -> Result<Tensor> {
    let scale = unary::rsqrt(&unary::apply_unary(unary::AddScalar(eps), variance)?)?;
    let normalised = binary::mul(centred, &scale)?;
    let (weight, bias) = (channels(inputs[0], inputs[1])?, channels(inputs[0], inputs[2])?);
    binary::add(&binary::mul(&normalised, &weight)?, &bias)
}

/// x less its mean, and its variance, with the other axes kept at size 1.
fn centred(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let axes = other_axes(x);
    let centred = binary::sub(x, &reduce::mean(x, &axes, true)?)?;
    let variance = reduce::mean(&unary::square(&centred)?, &axes, true)?;
    Ok((centred, variance))
}

fn training_definition(inputs: &[&Tensor], eps: f64) -> Result<Tensor> {
    let (centred, variance) = centred(inputs[0])?;
    affine_of(inputs, &centred, &variance, eps)
}

impl Fused for Training {
    const NAME: &'static str = "batch_norm";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let ready = self.value.lock().unwrap_or_else(PoisonError::into_inner).take();
        match ready {
            Some(value) => Ok((value, Aux::new())),
            // Applied again, perhaps to other values: the statistics are theirs, kept for the backward pass.
            None => {
                let x = inputs[0].contiguous_data()?;
                let found = moments_of(Self::NAME, &x)?;
                let kept = [&found.mean, &found.variance].map(|numbers| Tensor::from_slice(numbers));
                Ok((value(Self::NAME, inputs, &found, self.eps)?, kept.into_iter().collect()))
            }
        }
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        if let [mean, variance] = at.aux {
            let kept = Moments { mean: mean.try_to_vec()?, variance: variance.try_to_vec()? };
            return gradients(Self::NAME, &at.inputs, grad, &kept, self.eps, true);
        }
        gradients(Self::NAME, &at.inputs, grad, &self.moments, self.eps, true)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        training_definition(inputs, self.eps)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        8 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("eps={}", self.eps)
    }
}

/// Views of one number can have more elements than any memory.
fn given_moments(inputs: &[&Tensor]) -> Result<Moments> {
    let values = |x: &Tensor| x.untracked().try_to_dtype(crate::DType::F64)?.try_to_vec::<f64>();
    Ok(Moments { mean: values(inputs[3])?, variance: values(inputs[4])? })
}

impl Fused for Evaluation {
    const NAME: &'static str = "batch_norm_with";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        Ok((value(Self::NAME, inputs, &given_moments(inputs)?, self.eps)?, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        gradients(Self::NAME, &at.inputs, grad, &given_moments(&at.inputs)?, self.eps, false)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let centred = binary::sub(inputs[0], &channels(inputs[0], inputs[3])?)?;
        affine_of(inputs, &centred, &channels(inputs[0], inputs[4])?, self.eps)
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        2 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("eps={}", self.eps)
    }
}

fn check_rank(op: &'static str, x: &Tensor) -> Result<()> {
    if x.rank() < 2 {
        return Err(Error::shape(op, x.shape(), "needs a batch axis and a channel axis: (batch, channels, …)"));
    }
    Ok(())
}

fn check(op: &'static str, x: &Tensor, eps: f64) -> Result<()> {
    check_eps(op, eps)?;
    check_rank(op, x)?;
    if !x.dtype().is_float() {
        return Err(Error::DType { op, dtype: x.dtype(), expected: "f32 or f64 is needed" });
    }
    Ok(())
}

/// Mean and variance of each channel.
#[allow(unsafe_code)]
fn moments_of(op: &'static str, x: &Tensor) -> Result<Moments> {
    check_rank(op, x)?;
    let x = &*x.contiguous_data()?;
    Ok(match_float!(op, x.dtype(), T => {
        // SAFETY: `x` is row-major with the layout's size.
        unsafe { moments::<T>(x.pointer(), layout(x)) }
    }))
}

/// The result with the batch's own statistics, and these.
pub(crate) fn batch_norm(
    x: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<(Tensor, BatchStatistics)> {
    const OP: &str = "batch_norm";
    check(OP, x, eps)?;
    let count = x.numel() / x.dims()[1].max(1);
    if count == 0 {
        return Err(Error::shape(OP, x.shape(), "has no elements to take statistics of"));
    }
    let size = &x.dims()[1..2];
    let weight = affine(OP, weight, 1.0, size, x.dtype(), "weight")?;
    let bias = affine(OP, bias, 0.0, size, x.dtype(), "bias")?;
    if [x, &weight, &bias].iter().any(|x| x.is_batched()) {
        let y = training_definition(&[x, &weight, &bias], eps)?;
        let fixed = x.detach();
        let mean = reduce::mean(&fixed, &other_axes(x), false)?;
        let variance = shape::reshape(&centred(&fixed)?.1, Shape::new(size))?;
        return Ok((y, BatchStatistics { mean, variance, count }));
    }
    let data = x.contiguous_data()?;
    let found = moments_of(OP, &data)?;
    let statistics = BatchStatistics {
        mean: Tensor::from_slice(&found.mean).to_dtype(x.dtype()),
        variance: Tensor::from_slice(&found.variance).to_dtype(x.dtype()),
        count,
    };
    let ready = value(OP, &[&data, &weight, &bias], &found, eps)?;
    let op = Training { eps, moments: Arc::new(found), value: Arc::new(Mutex::new(Some(ready))) };
    Ok((fused(op, &[x, &weight, &bias])?, statistics))
}

/// The result with given statistics.
pub(crate) fn batch_norm_with(
    x: &Tensor,
    mean: &Tensor,
    variance: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    const OP: &str = "batch_norm_with";
    check(OP, x, eps)?;
    let size = &x.dims()[1..2];
    let weight = affine(OP, weight, 1.0, size, x.dtype(), "weight")?;
    let bias = affine(OP, bias, 0.0, size, x.dtype(), "bias")?;
    let mean = affine(OP, Some(mean), 0.0, size, x.dtype(), "mean")?;
    let variance = affine(OP, Some(variance), 1.0, size, x.dtype(), "variance")?;
    fused(Evaluation { eps }, &[x, &weight, &bias, &mean, &variance])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn operands_that_the_constructor_has_not_seen_are_checked() {
        let x = Tensor::ones([4, 3, 2], DType::F64);
        let [weight, short] = [[3], [2]].map(|shape| Tensor::ones(shape, DType::F64));
        let moments = moments_of("batch_norm", &x).expect("the tensor has channels");
        let few = Moments { mean: vec![0.0; 2], variance: vec![1.0; 2] };
        let run = |inputs: &[&Tensor], grad: &Tensor, moments: &Moments| {
            let value = value("batch_norm", inputs, moments, 1e-5).is_ok();
            (value, gradients("batch_norm", inputs, grad, moments, 1e-5, true).is_ok())
        };
        assert_eq!(run(&[&x, &weight, &weight], &x, &moments), (true, true));
        assert_eq!(run(&[&x, &weight, &short], &x, &moments), (false, false));
        assert_eq!(run(&[&x, &weight, &weight], &x, &few), (false, false));
        assert_eq!(run(&[&x, &weight, &weight], &short, &moments), (true, false));
        assert!(moments_of("batch_norm", &short).is_err());
    }

    #[test]
    fn moments_of_a_view_are_those_of_its_copy() {
        let x = Tensor::from([[1.0, 5.0], [2.0, 7.0], [6.0, 0.0]]);
        let (view, copy) = (x.t(), x.t().contiguous());
        let [view, copy] = [view, copy].map(|x| moments_of("batch_norm", &x).expect("the tensor has channels").mean);
        assert_eq!(view, copy);
    }
}
