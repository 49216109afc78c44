//! Every differentiable method with an axis of length 0 or 1 in every place: a result of some shape or an error, forward
//! and backward, and never anything else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tove_tensor::testing::registry;
use tove_tensor::{DType, Tensor, grad_of};

fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("")
}

/// Whether the panic is an operation's own message: the operation's name, a colon and what is wrong.
fn is_error(panic: &(dyn std::any::Any + Send)) -> bool {
    let text = text_of(panic);
    let name = text.split(':').next().unwrap_or("");
    text.contains(": ")
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn axes_of_every_small_length() {
    let mut odd = Vec::new();
    let mut good = 0;
    for sample in registry() {
        for (i, x) in sample.inputs.iter().enumerate() {
            for axis in 0..x.rank() {
                for length in [0, 1] {
                    for dtype in [DType::F32, DType::F64] {
                        let cast = |x: &Tensor| if x.dtype().is_float() { x.to_dtype(dtype) } else { x.clone() };
                        let mut inputs: Vec<Tensor> = sample.inputs.iter().map(cast).collect();
                        // The same axis of all inputs that have it, and of this one alone.
                        for together in [false, true] {
                            let size = x.dims()[axis];
                            for (j, y) in inputs.iter_mut().enumerate() {
                                let matches = y.rank() > axis && y.dims()[axis] == size;
                                if j == i || (together && matches) {
                                    *y = y.narrow(axis as isize, 0, length.min(y.dims()[axis]));
                                }
                            }
                            let what = format!("{} {}, input {i}, axis {axis} of {length}", sample.name, sample.case);
                            match catch_unwind(AssertUnwindSafe(|| forth_and_back(sample.apply, &inputs))) {
                                Ok(()) => good += 1,
                                Err(panic) if is_error(&*panic) => {}
                                Err(panic) => {
                                    let text = text_of(&*panic);
                                    odd.push(format!("{what}: {text:?}"));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(odd.is_empty(), "{} cases:\n{}", odd.len(), odd[..odd.len().min(30)].join("\n"));
    assert!(good > 500, "only {good} cases gave a result");
}

fn forth_and_back(apply: fn(&[Tensor]) -> Tensor, inputs: &[Tensor]) {
    let leaves: Vec<Tensor> =
        inputs.iter().map(|x| if x.dtype().is_float() { x.requires_grad() } else { x.clone() }).collect();
    let y = apply(&leaves);
    assert_eq!(y.to_f64_vec().len(), y.numel());
    if y.is_tracked() && y.dtype().is_float() {
        let floats: Vec<&Tensor> = leaves.iter().filter(|x| x.dtype().is_float()).collect();
        let gradients = grad_of(&y.sum(), &floats, false).unwrap_or_else(|error| panic!("{error}"));
        for (gradient, x) in gradients.iter().zip(floats) {
            assert_eq!(gradient.shape(), x.shape());
            assert_eq!(gradient.to_f64_vec().len(), x.numel());
        }
    }
}
