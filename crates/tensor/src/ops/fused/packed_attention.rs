//! Self-attention of queries, keys and values that lie side by side, as one product with three matrices leaves them.
//!
//! The input (…, tokens, 3 · width) holds for each token the queries of all heads, then the keys, then the values; the
//! result (…, tokens, width) holds the heads side by side. Value and gradients are those of
//! [`attention`](super::attention) on views of the parts, bit by bit, but the kernels read and write the parts where they
//! lie: nothing is put among zeros, added up or transposed.

use smallvec::{SmallVec, smallvec};

use super::{Fused, Saved, attention, fused};
use crate::autodiff::{Grads, check_like, try_vjp};
use crate::dtype::match_float;
use crate::kernels::attention::{Gradients, Heads, Kept, Operands, backward, forward};
use crate::kernels::gemm::guarded;
use crate::ops::{Aux, shape};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

const NAME: &str = "packed_attention";

/// Inputs (…, tokens, 3 · width) and optionally a mask that broadcasts to (…, heads, tokens, tokens).
#[derive(Clone, Copy)]
struct PackedAttention {
    heads: usize,
    causal: bool,
    scale: f64,
}

/// Sizes of the parts.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    tokens: usize,
    heads: usize,
    /// Of one head.
    width: usize,
}

impl Sizes {
    /// The matrices of all heads among rows of `parts` parts, of which they take number `part`.
    fn heads<T>(self, start: *const T, parts: usize, part: usize) -> Heads<T> {
        let row = parts * self.heads * self.width;
        let offset = |index: usize| {
            let (batch, head) = (index / self.heads, index % self.heads);
            (batch * self.tokens * row + (part * self.heads + head) * self.width) as isize
        };
        Heads {
            start,
            offsets: (0..self.batch * self.heads).map(offset).collect(),
            rows: self.tokens,
            columns: self.width,
            row_stride: row as isize,
            column_stride: 1,
        }
    }
}

impl PackedAttention {
    fn sizes(&self, packed: &Tensor) -> Sizes {
        let (tokens, row) = (packed.dims()[packed.rank() - 2], packed.dims()[packed.rank() - 1]);
        let batch = attention::leading(packed).iter().product();
        Sizes { batch, tokens, heads: self.heads, width: row / (3 * self.heads) }
    }

    /// The parts of a row-major input.
    fn operands<T: Copy>(&self, packed: &Tensor, mask: Option<&Tensor>) -> Operands<T> {
        let sizes = self.sizes(packed);
        let part = |part: usize| sizes.heads(packed.pointer::<T>(), 3, part);
        let lead = Shape::new(attention::leading(packed)).joined(&[self.heads]);
        Operands {
            q: part(0),
            k: part(1),
            v: part(2),
            mask: mask.map(|mask| attention::heads(mask, &lead, sizes.tokens, sizes.tokens)),
            causal: self.causal,
            scale: self.scale,
        }
    }
}

impl Fused for PackedAttention {
    const NAME: &'static str = NAME;
    const NEEDS_OUTPUT: bool = true;

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let shape = check(inputs, self.heads)?;
        let packed = inputs[0].contiguous_data()?;
        let sizes = self.sizes(&packed);
        let mut out = Fresh::new(shape, packed.dtype())?;
        if out.shape().contains(&0) {
            // There may be any number of heads without tokens, or without width.
            return Ok((out.finish(), Aux::new()));
        }
        let mut log_sums = Fresh::new(Shape::from([sizes.batch, sizes.heads, sizes.tokens]), packed.dtype())?;
        match_float!(NAME, packed.dtype(), T => {
            let place = sizes.heads(out.pointer::<T>().cast_const(), 1, 0);
            // SAFETY: the operands fit, as checked; the results are new and have their sizes.
            guarded(NAME, || unsafe {
                forward::<T>(&self.operands(&packed, inputs.get(1).copied()), &place, log_sums.pointer());
            })?;
        });
        Ok((out.finish(), smallvec![log_sums.finish()]))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let shape = check(&at.inputs, self.heads)?;
        let (packed, mask) = (at.inputs[0].contiguous_data()?, at.inputs.get(1).copied());
        check_like(NAME, &shape, packed.dtype(), grad)?;
        if grad.numel() == 0 {
            let zeros = |x: &Tensor| Tensor::try_zeros(x.shape().clone(), x.dtype());
            return at.inputs.iter().zip(needs).map(|(&x, &needed)| needed.then(|| zeros(x)).transpose()).collect();
        }
        let (sizes, grad) = (self.sizes(&packed), grad.contiguous_data()?);
        let computed;
        let (out, log_sums) = match (at.output, at.aux.first()) {
            (Some(out), Some(log_sums)) => (out, log_sums),
            _ => {
                computed = self.forward(&at.inputs)?;
                (&computed.0, &computed.1[0])
            }
        };
        check_like(NAME, &shape, packed.dtype(), out)?;
        check_like(NAME, &Shape::from([sizes.batch, sizes.heads, sizes.tokens]), packed.dtype(), log_sums)?;
        let (out, log_sums) = (&*out.contiguous_data()?, &*log_sums.contiguous_data()?);
        let mut gradient = Fresh::new(packed.shape().clone(), packed.dtype())?;
        match_float!(NAME, packed.dtype(), T => {
            let (grad, out) = (sizes.heads(grad.pointer::<T>(), 1, 0), sizes.heads(out.pointer::<T>(), 1, 0));
            let kept = Kept { grad, out, log_sums: log_sums.pointer() };
            let start = gradient.pointer::<T>().cast_const();
            let part = |part: usize| sizes.heads(start, 3, part);
            let gradients = Gradients { dq: part(0), dk: part(1), dv: part(2) };
            // SAFETY: as in `forward`; what was kept is row-major, as is the gradient, and their sizes were checked.
            guarded(NAME, || unsafe { backward::<T>(&self.operands(&packed, mask), &kept, &gradients) })?;
        });
        let mut grads: Grads = smallvec![Some(gradient.finish())];
        if let Some(mask) = mask {
            // As large as all scores anyhow.
            grads.push(if needs[1] {
                let (_, pull) = try_vjp(|mask: &Tensor| self.definition(&[&packed, mask]), mask)?;
                Some(pull(&grad))
            } else {
                None
            });
        }
        Ok(grads)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let packed = inputs[0];
        let Sizes { heads, width, .. } = self.sizes(packed);
        let rows = Shape::new(&packed.dims()[..packed.rank() - 1]);
        // (…, 3 · heads, tokens, width of a head)
        let apart = shape::swap_axes(&shape::reshape(packed, rows.joined(&[3 * heads, width]))?, -2, -3)?;
        let part = |index: usize| shape::narrow(&apart, -3, index * heads, heads);
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let mixed = attention::attention(&q, &k, &v, self.causal, inputs.get(1).copied(), Some(self.scale))?;
        shape::reshape(&shape::swap_axes(&mixed, -2, -3)?, rows.joined(&[heads * width]))
    }

    fn batch(&self, inputs: &[&Tensor], _batched: &[bool], _size: usize) -> Result<Option<Tensor>> {
        if inputs.len() == 2 {
            // The mask has one axis more than the input, so that the two cannot simply be aligned.
            return Ok(None);
        }
        fused(*self, inputs).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        4 * self.sizes(inputs[0]).tokens as u64 * output.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("heads={}, causal={}, scale={}", self.heads, self.causal, self.scale)
    }
}

/// The shape of the result; an error where the operands do not fit each other and the number of heads.
fn check(inputs: &[&Tensor], heads: usize) -> Result<Shape> {
    let (packed, mask) = (inputs[0], inputs.get(1));
    let &[.., tokens, row] = packed.dims() else {
        return Err(Error::shape(NAME, packed.shape(), "needs shape (…, tokens, 3 · width)"));
    };
    if heads == 0 || !heads.checked_mul(3).is_some_and(|parts| row.is_multiple_of(parts)) {
        let problem = format!("the last axis must be 3 · {heads} heads times the width of a head");
        return Err(Error::shape(NAME, packed.shape(), problem));
    }
    if let Some(mask) = mask {
        let scores = Shape::new(attention::leading(packed)).joined(&[heads, tokens, tokens]);
        if mask.shape().broadcast(&scores).as_ref() != Some(&scores) {
            let problem = "the mask must broadcast to (…, heads, tokens, tokens)";
            return Err(Error::shapes(NAME, mask.shape(), &scores, problem));
        }
        if mask.dtype() != packed.dtype() {
            return Err(Error::DTypePair { op: NAME, left: packed.dtype(), right: mask.dtype() });
        }
    }
    Ok(packed.shape().with(packed.rank() - 1, row / 3))
}

/// Self-attention with several heads of projections that lie side by side.
pub(crate) fn packed_attention(
    packed: &Tensor,
    heads: usize,
    causal: bool,
    mask: Option<&Tensor>,
    scale: Option<f64>,
) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 2]> = std::iter::once(packed).chain(mask).collect();
    let shape = check(&inputs, heads)?;
    let width = (shape[shape.rank() - 1] / heads).max(1);
    fused(PackedAttention { heads, causal, scale: scale.unwrap_or(1.0 / (width as f64).sqrt()) }, &inputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn operands_that_the_constructor_has_not_seen_are_checked() {
        let op = PackedAttention { heads: 2, causal: false, scale: 1.0 };
        let [x, y, odd] = [[4, 12], [4, 4], [4, 7]].map(|shape| Tensor::ones(shape, DType::F64));
        let mask = Tensor::ones([2, 4, 3], DType::F64);
        assert!(op.forward(&[&odd]).is_err() && op.forward(&[&x, &mask]).is_err());
        let (out, aux) = op.forward(&[&x]).expect("the operands fit");
        let other = [Tensor::scalar(1.0)];
        let at = |x, aux| Saved { inputs: smallvec![x], output: Some(&out), aux };
        assert!(op.backward(&at(&odd, &aux), &y, &[true]).is_err());
        assert!(op.backward(&at(&x, &aux), &odd, &[true]).is_err());
        assert!(op.backward(&at(&x, &other), &y, &[true]).is_err());
        assert!(op.backward(&at(&x, &aux), &y, &[true]).is_ok());
    }
}
