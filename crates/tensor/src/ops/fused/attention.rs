//! Scaled dot-product attention softmax(scale · Q Kᵀ + mask) V (Vaswani et al. 2017), with memory linear in the number of
//! keys.

use smallvec::{SmallVec, smallvec};

use super::{Fused, Saved, fused, softmax};
use crate::autodiff::{Grads, check_like, try_vjp};
use crate::dtype::match_float;
use crate::kernels::attention::{Gradients, Heads, Kept, Operands, backward, forward};
use crate::kernels::gemm::guarded;
use crate::ops::matmul::matmul;
use crate::ops::{Aux, align_batched, binary, shape, unary};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

const NAME: &str = "scaled_dot_product_attention";

/// Inputs queries (…, m, d), keys (…, n, d), values (…, n, e) and optionally a mask that broadcasts to (…, m, n).
#[derive(Clone, Copy)]
struct Attention {
    causal: bool,
    scale: f64,
}

pub(super) fn leading(x: &Tensor) -> &[usize] {
    &x.dims()[..x.rank() - 2]
}

/// The matrices of all heads of a row-major tensor.
fn whole<T: Copy>(start: *const T, of: &Tensor) -> Heads<T> {
    let (rows, columns) = (of.dims()[of.rank() - 2], of.dims()[of.rank() - 1]);
    Heads::row_major(start, leading(of).iter().product(), rows, columns)
}

/// The matrices of all heads of a tensor stretched to the leading axes given.
pub(super) fn heads<T>(x: &Tensor, batch: &[usize], rows: usize, columns: usize) -> Heads<T> {
    let strides = x.broadcast_strides(&Shape::new(batch).joined(&[rows, columns]));
    let rank = batch.len();
    let count: usize = batch.iter().product();
    let offset = |index: usize| {
        let mut rest = index;
        (0..rank).rev().fold(0, |sum, axis| {
            let position = rest % batch[axis];
            rest /= batch[axis];
            sum + position as isize * strides[axis]
        })
    };
    Heads {
        start: x.pointer(),
        offsets: (0..count).map(offset).collect(),
        rows,
        columns,
        row_stride: strides[rank],
        column_stride: strides[rank + 1],
    }
}

impl Attention {
    fn operands<T>(&self, inputs: &[&Tensor]) -> Operands<T> {
        let (q, k, v) = (inputs[0], inputs[1], inputs[2]);
        let all = |x: &Tensor| heads(x, leading(q), x.dims()[x.rank() - 2], x.dims()[x.rank() - 1]);
        let (queries, keys) = (q.dims()[q.rank() - 2], k.dims()[k.rank() - 2]);
        Operands {
            q: all(q),
            k: all(k),
            v: all(v),
            mask: inputs.get(3).map(|mask| heads(mask, leading(q), queries, keys)),
            causal: self.causal,
            scale: self.scale,
        }
    }
}

impl Fused for Attention {
    const NAME: &'static str = NAME;
    const NEEDS_OUTPUT: bool = true;

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let (rows, shape) = check(inputs)?;
        let q = inputs[0];
        let mut out = Fresh::new(shape, q.dtype())?;
        if out.shape().contains(&0) {
            // There may be any number of heads without tokens, or with values without width.
            return Ok((out.finish(), Aux::new()));
        }
        let mut log_sums = Fresh::new(rows, q.dtype())?;
        match_float!(NAME, q.dtype(), T => {
            let operands = self.operands::<T>(inputs);
            // SAFETY: the operands fit, as checked; the results are new.
            guarded(NAME, || unsafe {
                let out = Heads::row_major(out.pointer::<T>(), operands.q.offsets.len(), operands.q.rows, operands.v.columns);
                forward::<T>(&operands, &out, log_sums.pointer());
            })?;
        });
        Ok((out.finish(), smallvec![log_sums.finish()]))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (q, k, v) = (at.inputs[0], at.inputs[1], at.inputs[2]);
        let (rows, shape) = check(&at.inputs)?;
        check_like(NAME, &shape, q.dtype(), grad)?;
        if grad.numel() == 0 {
            let zeros = |x: &Tensor| Tensor::try_zeros(x.shape().clone(), x.dtype());
            return at.inputs.iter().zip(needs).map(|(&x, &needed)| needed.then(|| zeros(x)).transpose()).collect();
        }
        let grad = grad.contiguous_data()?;
        let computed;
        let (out, log_sums) = match (at.output, at.aux.first()) {
            (Some(out), Some(log_sums)) => (out, log_sums),
            _ => {
                computed = self.forward(&at.inputs)?;
                (&computed.0, &computed.1[0])
            }
        };
        check_like(NAME, &shape, q.dtype(), out)?;
        check_like(NAME, &rows, q.dtype(), log_sums)?;
        let (out, log_sums) = (&*out.contiguous_data()?, &*log_sums.contiguous_data()?);
        let new = |x: &Tensor| Fresh::new(x.shape().clone(), x.dtype());
        let (mut dq, mut dk, mut dv) = (new(q)?, new(k)?, new(v)?);
        match_float!(NAME, q.dtype(), T => {
            let (grad, out) = (whole(grad.pointer::<T>(), &grad), whole(out.pointer::<T>(), out));
            let kept = Kept { grad, out, log_sums: log_sums.pointer() };
            let (dq, dk, dv) = (dq.pointer::<T>(), dk.pointer::<T>(), dv.pointer::<T>());
            let gradients = Gradients { dq: whole(dq, q), dk: whole(dk, k), dv: whole(dv, v) };
            // SAFETY: as in `forward`; what was kept is row-major, as is the gradient, and their sizes were checked.
            guarded(NAME, || unsafe { backward::<T>(&self.operands(&at.inputs), &kept, &gradients) })?;
        });
        let mut grads: Grads = smallvec![Some(dq.finish()), Some(dk.finish()), Some(dv.finish())];
        if at.inputs.len() == 4 {
            // A learnt mask has a gradient as large as all scores anyhow.
            grads.push(if needs[3] {
                let (_, pull) = try_vjp(|mask: &Tensor| self.definition(&[q, k, v, mask]), at.inputs[3])?;
                Some(pull(&grad))
            } else {
                None
            });
        }
        Ok(grads)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (q, k, v) = (inputs[0], inputs[1], inputs[2]);
        let scores = unary::apply_unary(unary::MulScalar(self.scale), &matmul(q, &shape::transpose(k)?)?)?;
        let mut scores = match inputs.get(3) {
            Some(mask) => binary::add(&scores, mask)?,
            None => scores,
        };
        if self.causal {
            let (queries, keys) = (q.dims()[q.rank() - 2] as i64, k.dims()[k.rank() - 2] as i64);
            let seen = binary::ge(&shape::unsqueeze(&Tensor::arange(0, queries), 1)?, &Tensor::arange(0, keys))?;
            scores = binary::select(&seen, &scores, &Tensor::scalar_of(f64::NEG_INFINITY, q.dtype()))?;
        }
        matmul(&softmax(&scores, -1)?, v)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let aligned = align_batched(inputs, batched)?;
        let mut whole: SmallVec<[Tensor; 4]> = smallvec![];
        for (index, x) in aligned.iter().enumerate() {
            // A mask broadcasts by itself.
            let stretch = !batched[index] && index < 3;
            whole.push(if stretch { shape::broadcast_to(x, x.shape().inserted(0, size))? } else { x.clone() });
        }
        fused(*self, &whole.iter().collect::<SmallVec<[&Tensor; 4]>>()).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        let keys = inputs[1].dims()[inputs[1].rank() - 2] as u64;
        2 * keys * (inputs[0].numel() as u64 + output.numel() as u64)
    }

    fn attributes(&self) -> String {
        format!("causal={}, scale={}", self.causal, self.scale)
    }
}

/// The shape of one number for each query, and that of the result; an error where the operands do not fit each other.
fn check(inputs: &[&Tensor]) -> Result<(Shape, Shape)> {
    let (q, k, v, mask) = (inputs[0], inputs[1], inputs[2], inputs.get(3).copied());
    for x in [q, k, v] {
        if x.rank() < 2 {
            return Err(Error::shape(NAME, x.shape(), "queries, keys and values need shape (…, tokens, width)"));
        }
    }
    let last = |x: &Tensor| (x.dims()[x.rank() - 2], x.dims()[x.rank() - 1]);
    if leading(q) != leading(k) || last(q).1 != last(k).1 {
        let problem = "queries and keys need the same leading axes and width";
        return Err(Error::shapes(NAME, q.shape(), k.shape(), problem));
    }
    if leading(k) != leading(v) || last(k).0 != last(v).0 {
        let problem = "there must be one value for each key, under the same leading axes";
        return Err(Error::shapes(NAME, k.shape(), v.shape(), problem));
    }
    if let Some(mask) = mask {
        let scores = Shape::new(leading(q)).joined(&[last(q).0, last(k).0]);
        if mask.shape().broadcast(&scores).as_ref() != Some(&scores) {
            return Err(Error::shapes(NAME, mask.shape(), &scores, "the mask must broadcast to (…, queries, keys)"));
        }
    }
    for other in [k, v].into_iter().chain(mask) {
        if other.dtype() != q.dtype() {
            return Err(Error::DTypePair { op: NAME, left: q.dtype(), right: other.dtype() });
        }
    }
    let rows = Shape::new(&q.dims()[..q.rank() - 1]);
    let shape = rows.joined(&[last(v).1]);
    Ok((rows, shape))
}

/// softmax(scale · Q Kᵀ + mask) V.
pub(crate) fn attention(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    causal: bool,
    mask: Option<&Tensor>,
    scale: Option<f64>,
) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 4]> = [q, k, v].into_iter().chain(mask).collect();
    check(&inputs)?;
    let width = q.dims()[q.rank() - 1].max(1);
    fused(Attention { causal, scale: scale.unwrap_or(1.0 / (width as f64).sqrt()) }, &inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn operands_that_the_constructor_has_not_seen_are_checked() {
        let op = Attention { causal: false, scale: 1.0 };
        let [x, narrow, few] = [[1, 4, 8], [1, 4, 2], [1, 1, 8]].map(|shape| Tensor::ones(shape, DType::F64));
        for inputs in [[&x, &narrow, &x], [&x, &x, &few], [&x, &few, &x], [&narrow, &x, &x]] {
            assert!(op.forward(&inputs).is_err());
            let at = Saved { inputs: inputs.into_iter().collect(), output: None, aux: &[] };
            assert!(op.backward(&at, &x, &[true; 3]).is_err());
        }
        let inputs = [&x; 3];
        let (out, aux) = op.forward(&inputs).expect("the operands fit");
        let other = [Tensor::scalar(1.0)];
        let at = |output, aux| Saved { inputs: inputs.into_iter().collect(), output: Some(output), aux };
        assert!(op.backward(&at(&out, &aux), &few, &[true; 3]).is_err());
        assert!(op.backward(&at(&few, &aux), &x, &[true; 3]).is_err());
        assert!(op.backward(&at(&out, &other), &x, &[true; 3]).is_err());
        assert!(op.backward(&at(&out, &aux), &x, &[true; 3]).is_ok());
    }
}
