//! Layer normalisation over the last axes: (x − mean) / √(var + ε) · weight + bias (Ba, Kiros and Hinton 2016).

use smallvec::smallvec;

use super::{Fused, Saved, fused};
use crate::autodiff::{Grads, check_like};
use crate::dtype::match_float;
use crate::kernels::layer_norm::{Gradients, Rows, STATISTICS, backward, forward};
use crate::ops::{Aux, binary, reduce, unary};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

/// Inputs x, weight and bias; the last `axes` axes are normalised together.
#[derive(Clone, Copy)]
struct LayerNorm {
    axes: usize,
    eps: f64,
}

impl LayerNorm {
    /// What the kernels rely on; the constructor has seen to it, but an operation may be applied again to other tensors.
    fn check(&self, inputs: &[&Tensor]) -> Result<()> {
        let x = inputs[0];
        let Some(normalized) = x.rank().checked_sub(self.axes).map(|first| Shape::new(&x.dims()[first..])) else {
            return Err(Error::shape(Self::NAME, x.shape(), format!("has fewer than {} axes", self.axes)));
        };
        inputs[1..].iter().try_for_each(|given| check_like(Self::NAME, &normalized, x.dtype(), given))
    }

    fn rows<T>(&self, x: &Tensor, weight: &Tensor, bias: &Tensor) -> Rows<T> {
        let length = x.dims()[x.rank() - self.axes..].iter().product();
        let rows = x.dims()[..x.rank() - self.axes].iter().product();
        Rows { x: x.pointer(), weight: weight.pointer(), bias: bias.pointer(), rows, length }
    }
}

impl Fused for LayerNorm {
    const NAME: &'static str = "layer_norm";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        self.check(inputs)?;
        let (x, w, b) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?, inputs[2].contiguous_data()?);
        let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
        let rows: usize = x.dims()[..x.rank() - self.axes].iter().product();
        let mut statistics = Fresh::new(Shape::from([rows, STATISTICS]), x.dtype())?;
        match_float!(Self::NAME, x.dtype(), T => {
            let rows = self.rows::<T>(&x, &w, &b);
            // SAFETY: the sizes and types were checked; the results are new.
            unsafe { forward::<T>(rows, self.eps, out.pointer(), statistics.pointer()) }
        });
        Ok((out.finish(), smallvec![statistics.finish()]))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, _needs: &[bool]) -> Result<Grads> {
        self.check(&at.inputs)?;
        check_like(Self::NAME, at.inputs[0].shape(), at.inputs[0].dtype(), grad)?;
        let (x, w, b) =
            (at.inputs[0].contiguous_data()?, at.inputs[1].contiguous_data()?, at.inputs[2].contiguous_data()?);
        let grad = grad.contiguous_data()?;
        let computed;
        let statistics = match at.aux.first() {
            Some(statistics) => statistics,
            None => {
                computed = self.forward(&at.inputs)?.1;
                &computed[0]
            }
        };
        let rows: usize = x.dims()[..x.rank() - self.axes].iter().product();
        check_like(Self::NAME, &Shape::from([rows, STATISTICS]), x.dtype(), statistics)?;
        let statistics = statistics.contiguous_data()?;
        let mut dx = Fresh::new(x.shape().clone(), x.dtype())?;
        let mut dw = Fresh::new(w.shape().clone(), x.dtype())?;
        let mut db = Fresh::new(b.shape().clone(), x.dtype())?;
        match_float!(Self::NAME, x.dtype(), T => {
            let to = Gradients { x: dx.pointer::<T>(), weight: dw.pointer(), bias: db.pointer() };
            // SAFETY: as in `forward`; gradient and statistics were checked too.
            unsafe { backward::<T>(self.rows(&x, &w, &b), statistics.pointer(), grad.pointer(), to) }
        });
        Ok(smallvec![Some(dx.finish()), Some(dw.finish()), Some(db.finish())])
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let axes: Vec<isize> = (1..=self.axes as isize).map(|axis| -axis).collect();
        let centred = binary::sub(inputs[0], &reduce::mean(inputs[0], &axes, true)?)?;
        let variance = reduce::mean(&unary::square(&centred)?, &axes, true)?;
        let scale = unary::rsqrt(&unary::apply_unary(unary::AddScalar(self.eps), &variance)?)?;
        binary::add(&binary::mul(&binary::mul(&centred, &scale)?, inputs[1])?, inputs[2])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        // Only the rows may be many; weights per sample go through the definition.
        if batched[1] || batched[2] { Ok(None) } else { fused(*self, inputs).map(Some) }
    }

    fn flops(&self, _inputs: &[&Tensor], output: &Tensor) -> u64 {
        8 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axes={}, eps={}", self.axes, self.eps)
    }
}

/// The given affine parameter, or a constant in its place; an error names what shape is wanted.
pub(super) fn affine(
    op: &'static str,
    given: Option<&Tensor>,
    default: f64,
    shape: &[usize],
    dtype: DType,
    name: &'static str,
) -> Result<Tensor> {
    let Some(given) = given else { return Tensor::try_full(Shape::new(shape), default, dtype) };
    if given.dims() != shape {
        let problem = format!("the {name} needs shape {}", Shape::new(shape));
        return Err(Error::shape(op, given.shape(), problem));
    }
    if given.dtype() != dtype {
        return Err(Error::DTypePair { op, left: dtype, right: given.dtype() });
    }
    Ok(given.clone())
}

/// Whether ε is usable.
pub(super) fn check_eps(op: &'static str, eps: f64) -> Result<()> {
    if eps >= 0.0 && eps.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(op, "eps", format!("must not be negative, and finite; it is {eps}")))
}

/// (x − mean) / √(var + ε) · weight + bias over the last axes, whose sizes are `normalized`.
pub(crate) fn layer_norm(
    x: &Tensor,
    normalized: &[usize],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    const OP: &str = "layer_norm";
    check_eps(OP, eps)?;
    if !x.dtype().is_float() {
        return Err(Error::DType { op: OP, dtype: x.dtype(), expected: "f32 or f64 is needed" });
    }
    let axes = normalized.len();
    if axes == 0 || axes > x.rank() || &x.dims()[x.rank() - axes..] != normalized {
        let problem = "the sizes to normalise over must be those of the last axes";
        return Err(Error::shapes(OP, x.shape(), &Shape::new(normalized), problem));
    }
    let weight = affine(OP, weight, 1.0, normalized, x.dtype(), "weight")?;
    let bias = affine(OP, bias, 0.0, normalized, x.dtype(), "bias")?;
    fused(LayerNorm { axes, eps }, &[x, &weight, &bias])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_the_constructor_has_not_seen_are_checked() {
        let op = LayerNorm { axes: 1, eps: 1e-5 };
        let [x, short, single] = [[2, 8], [1, 2], [2, 1]].map(|shape| Tensor::ones(shape, DType::F64));
        let (weight, number) = (Tensor::ones([8], DType::F64), Tensor::scalar(1.0));
        let float = weight.to_dtype(DType::F32);
        for inputs in
            [[&short, &weight, &weight], [&x, &single, &weight], [&x, &weight, &float], [&number, &weight, &weight]]
        {
            assert!(op.forward(&inputs).is_err());
            let at = Saved { inputs: inputs.into_iter().collect(), output: None, aux: &[] };
            assert!(op.backward(&at, inputs[0], &[true; 3]).is_err());
        }
        let other = [number.clone()];
        let at = |aux| Saved { inputs: [&x, &weight, &weight].into_iter().collect(), output: None, aux };
        assert!(op.backward(&at(&[]), &short, &[true; 3]).is_err());
        assert!(op.backward(&at(&other), &x, &[true; 3]).is_err());
        assert!(op.backward(&at(&[]), &x, &[true; 3]).is_ok());
    }
}
