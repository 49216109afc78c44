//! Operands that lie in memory in any way give what row-major ones give, value and gradients.

use tove_tensor::testing::{Sample, registry};
use tove_tensor::{DType, Tensor, grad_of};

use crate::support::{same, weighed};

/// The same numbers in memory that is transposed, reversed, with gaps, behind an offset, or with all of it.
fn variants(x: &Tensor) -> Vec<Tensor> {
    let rank = x.rank();
    if rank == 0 {
        // A scalar behind an offset.
        return vec![Tensor::stack(&[x, x], 0).get(1)];
    }
    let axes: Vec<isize> = (0..rank as isize).collect();
    let mut list = vec![x.flip(&axes).contiguous().flip(&axes)];
    let doubled = x.repeat_interleave(2, -1);
    list.push(doubled.slice(-1, 0, doubled.dims()[rank - 1], 2));
    let framed = x.pad(&vec![(1, 2); rank], 0.0);
    list.push(x.dims().iter().enumerate().fold(framed, |y, (axis, &size)| y.narrow(axis as isize, 1, size)));
    if rank > 1 {
        list.push(x.swap_axes(0, -1).contiguous().swap_axes(0, -1));
        let turned = x.swap_axes(0, 1).flip(&[0]).contiguous().flip(&[0]).swap_axes(0, 1);
        list.push(turned.repeat_interleave(3, 0).slice(0, 1, 3 * x.dims()[0], 3));
    }
    for variant in &list {
        assert_eq!(variant.to_f64_vec(), x.to_f64_vec());
    }
    list
}

/// Value and gradients; gradients only by floating-point inputs.
fn outcome(sample: &Sample, inputs: &[Tensor]) -> Vec<Tensor> {
    // A leaf keeps the memory of the view it is made of.
    let leaves: Vec<Tensor> =
        inputs.iter().map(|x| if x.dtype().is_float() { x.requires_grad() } else { x.clone() }).collect();
    let y = (sample.apply)(&leaves);
    let mut outcome = vec![y.detach()];
    if y.is_tracked() && y.dtype().is_float() {
        let floats: Vec<&Tensor> = leaves.iter().filter(|x| x.dtype().is_float()).collect();
        outcome.extend(grad_of(&weighed(&y), &floats, false).unwrap());
    }
    outcome
}

#[test]
fn any_layout_gives_the_same_values_and_gradients() {
    for sample in registry() {
        for dtype in [DType::F64, DType::F32] {
            let cast = |x: &Tensor| if x.dtype().is_float() { x.to_dtype(dtype) } else { x.clone() };
            let inputs: Vec<Tensor> = sample.inputs.iter().map(cast).collect();
            let plain = outcome(&sample, &inputs);
            for (i, x) in inputs.iter().enumerate() {
                for (kind, variant) in variants(x).into_iter().enumerate() {
                    let mut inputs = inputs.clone();
                    inputs[i] = variant;
                    let what = format!("{} {}, input {i} in layout {kind}", sample.name, sample.case);
                    for (found, expected) in outcome(&sample, &inputs).iter().zip(&plain) {
                        same(found, expected, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn stretched_operands_equal_their_copies() {
    for sample in registry() {
        for (i, x) in sample.inputs.iter().enumerate().filter(|(_, x)| x.rank() > 0 && x.dtype().is_float()) {
            // One row (or number) repeated along the first axis.
            let row = x.narrow(0, 0, 1);
            let stretched = row.broadcast_to(x.shape().clone());
            let mut inputs = sample.inputs.clone();
            inputs[i] = stretched.clone();
            let what = format!("{} {}, input {i} stretched", sample.name, sample.case);
            let apply = |inputs: &[Tensor]| {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (sample.apply)(inputs))).ok()
            };
            let found = apply(&inputs);
            inputs[i] = stretched.contiguous();
            let expected = apply(&inputs);
            // Repeated rows are outside the domain of some (a singular matrix, say), either way alike.
            assert_eq!(found.is_some(), expected.is_some(), "{what}");
            if let (Some(found), Some(expected)) = (found, expected) {
                same(&found, &expected, &what);
            }
        }
    }
}
