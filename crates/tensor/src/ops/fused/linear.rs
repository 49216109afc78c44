//! Affine layer with optional bias and activation: act(x Wᵀ + b), in one pass over the result.

use smallvec::smallvec;

use super::{Fused, Saved, fused};
use crate::autodiff::{Grads, Point};
use crate::dtype::match_float;
use crate::kernels::gemm::{Epilogue, MatMut, MatRef, gemm, guarded};
use crate::ops::matmul::{matmul, matrix};
use crate::ops::{Aux, binary, reduce, shape, sum_terms, unary};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// What follows the affine map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// max(x, 0).
    Relu,
}

/// Inputs x (…, in), W (out, in) and optionally b (out).
#[derive(Clone, Copy)]
struct Linear {
    activation: Activation,
}

fn check(inputs: &[&Tensor]) -> Result<()> {
    let (x, w) = (inputs[0], inputs[1]);
    if w.rank() != 2 || x.rank() == 0 || x.dims()[x.rank() - 1] != w.dims()[1] {
        let problem = "the input needs shape (…, in) and the weight (out, in)";
        return Err(Error::shapes("linear", x.shape(), w.shape(), problem));
    }
    if let Some(b) = inputs.get(2)
        && b.dims() != &w.dims()[..1]
    {
        return Err(Error::shapes("linear", w.shape(), b.shape(), "the bias needs shape (out,)"));
    }
    for other in &inputs[1..] {
        if other.dtype() != x.dtype() {
            return Err(Error::DTypePair { op: "linear", left: x.dtype(), right: other.dtype() });
        }
    }
    Ok(())
}

/// A tensor (…, n) as a matrix with the leading axes merged.
fn rows(x: &Tensor) -> Result<Tensor> {
    let columns = x.dims()[x.rank() - 1];
    let count = x.dims()[..x.rank() - 1].iter().product();
    shape::reshape(x, Shape::from([count, columns]))
}

/// C = A B for plain matrices, into new memory of `shape`.
#[allow(unsafe_code)]
fn product(a: MatSource<'_>, b: MatSource<'_>, shape: Shape) -> Result<Tensor> {
    let (left, right) = (a.tensor(), b.tensor());
    if left.dtype() != right.dtype() {
        return Err(Error::DTypePair { op: "linear", left: left.dtype(), right: right.dtype() });
    }
    let mut out = Fresh::new(shape, left.dtype())?;
    match_float!("linear", left.dtype(), T => {
        let (a, b) = (a.matrix::<T>(), b.matrix::<T>());
        if a.cols != b.rows || a.rows.checked_mul(b.cols) != Some(out.shape().numel()) {
            return Err(Error::shapes("linear", left.shape(), right.shape(), "the matrices of a gradient do not fit"));
        }
        let c = MatMut::row_major(out.pointer(), a.rows, b.cols);
        // SAFETY: type and sizes were checked, and `out` is new with rows · cols elements.
        guarded("linear", || unsafe { gemm::<T>(1.0, a, b, 0.0, c, Epilogue::None) })?;
    });
    Ok(out.finish())
}

/// A matrix as it is, or transposed.
#[derive(Clone, Copy)]
enum MatSource<'a> {
    Plain(&'a Tensor),
    Transposed(&'a Tensor),
}

impl<'a> MatSource<'a> {
    fn tensor(self) -> &'a Tensor {
        match self {
            MatSource::Plain(x) | MatSource::Transposed(x) => x,
        }
    }

    fn matrix<T: Copy>(self) -> MatRef<T> {
        match self {
            MatSource::Plain(x) => matrix(x),
            MatSource::Transposed(x) => matrix(x).transposed(),
        }
    }
}

impl Linear {
    /// A derivative behind the activation, before it.
    fn gated(&self, t: &Tensor, at: &Point<'_>) -> Result<Tensor> {
        match self.activation {
            Activation::Identity => Ok(t.clone()),
            Activation::Relu => {
                // A choice, not a product: what is blocked may be infinite.
                binary::select(&binary::gt_scalar(at.output(), 0.0)?, t, &Tensor::scalar_of(0.0, t.dtype()))
            }
        }
    }
}

impl Fused for Linear {
    const NAME: &'static str = "linear";
    const NEEDS_OUTPUT: bool = true;

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        check(inputs)?;
        let (x, w) = (inputs[0], inputs[1]);
        let flat = rows(&x.untracked())?;
        let bias = inputs.get(2).map(|b| b.contiguous_data()).transpose()?;
        let mut out = Fresh::new(Shape::new(&x.dims()[..x.rank() - 1]).joined(&w.dims()[..1]), x.dtype())?;
        match_float!("linear", x.dtype(), T => {
            let epilogue = match (&bias, self.activation) {
                (Some(bias), Activation::Relu) => Epilogue::BiasRelu(bias.pointer()),
                (Some(bias), Activation::Identity) => Epilogue::Bias(bias.pointer()),
                (None, _) => Epilogue::None,
            };
            let (a, b) = (matrix::<T>(&flat), matrix::<T>(w).transposed());
            let c = MatMut::row_major(out.pointer(), a.rows, b.cols);
            // SAFETY: the sizes fit, as checked; `out` is new and the bias has one number per column.
            guarded("linear", || unsafe { gemm::<T>(1.0, a, b, 0.0, c, epilogue) })?;
        });
        let out = out.finish();
        if bias.is_none() && self.activation == Activation::Relu {
            return Ok((unary::unary_owned(unary::Relu, out)?, Aux::new()));
        }
        Ok((out, Aux::new()))
    }

    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (x, w) = (at.inputs[0], at.inputs[1]);
        let grad = match (self.activation, at.output) {
            (Activation::Relu, Some(y)) => unary::times_slope(unary::Relu, grad, y)?,
            _ => grad.contiguous_data()?.into_owned(),
        };
        let (g, flat) = (rows(&grad)?, rows(x)?);
        let mut grads: Grads = smallvec![None; needs.len()];
        if needs[0] {
            grads[0] = Some(product(MatSource::Plain(&g), MatSource::Plain(w), x.shape().clone())?);
        }
        if needs[1] {
            grads[1] = Some(product(MatSource::Transposed(&g), MatSource::Plain(&flat), w.shape().clone())?);
        }
        if needs.get(2) == Some(&true) {
            grads[2] = Some(reduce::sum_rows(&g)?);
        }
        Ok(grads)
    }

    fn tangent(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Option<Result<Option<Tensor>>> {
        let by_input = || tangents[0].map(|t| matmul(t, &shape::transpose(at.input(1))?)).transpose();
        let by_weight = || tangents[1].map(|t| matmul(at.input(0), &shape::transpose(t)?)).transpose();
        let by_bias = Ok(tangents.get(2).copied().flatten().cloned());
        let sum = sum_terms([by_input(), by_weight(), by_bias]);
        Some(sum.and_then(|sum| sum.map(|sum| self.gated(&sum, at)).transpose()))
    }

    fn adjoint(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Option<Result<Grads>> {
        Some(self.gated(grad, at).and_then(|grad| {
            let mut grads: Grads = smallvec![None; needs.len()];
            if needs[0] {
                grads[0] = Some(matmul(&grad, at.input(1))?);
            }
            if needs[1] {
                grads[1] = Some(matmul(&shape::transpose(&rows(&grad)?)?, &rows(at.input(0))?)?);
            }
            if needs.get(2) == Some(&true) {
                grads[2] = Some(grad); // summed over the rows by the engine
            }
            Ok(grads)
        }))
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        // A batch of inputs is one more leading axis; a batch of weights needs the definition.
        if batched[1..].contains(&true) { Ok(None) } else { fused(*self, inputs).map(Some) }
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        check(inputs)?;
        let product = matmul(inputs[0], &shape::transpose(inputs[1])?)?;
        let sum = match inputs.get(2) {
            Some(bias) => binary::add(&product, bias)?,
            None => product,
        };
        match self.activation {
            Activation::Identity => Ok(sum),
            Activation::Relu => unary::relu(&sum),
        }
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        2 * output.numel() as u64 * inputs[1].dims()[1] as u64
    }

    fn attributes(&self) -> String {
        format!("activation={:?}", self.activation).to_lowercase()
    }
}

/// act(x Wᵀ + b).
pub(crate) fn linear(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, activation: Activation) -> Result<Tensor> {
    match bias {
        Some(bias) => fused(Linear { activation }, &[x, w, bias]),
        None => fused(Linear { activation }, &[x, w]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn matrices_that_do_not_fit_are_refused() {
        let [a, b, c] = [[2, 3], [3, 4], [2, 4]].map(|shape| Tensor::ones(shape, DType::F64));
        let shape = || Shape::from([2, 4]);
        assert!(product(MatSource::Plain(&a), MatSource::Plain(&b), shape()).is_ok());
        assert!(product(MatSource::Plain(&a), MatSource::Transposed(&b), shape()).is_err());
        assert!(product(MatSource::Plain(&a), MatSource::Plain(&c), shape()).is_err());
        assert!(product(MatSource::Plain(&a), MatSource::Plain(&b), Shape::from([2, 3])).is_err());
        assert!(product(MatSource::Plain(&a), MatSource::Plain(&b.to_dtype(DType::F32)), shape()).is_err());
    }
}
