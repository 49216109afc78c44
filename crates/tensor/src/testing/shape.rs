//! Operations that move elements.

use super::{Apply, Sample, sample, values};
use crate::{DType, Tensor};

fn of(name: &'static str, case: &'static str, apply: Apply) -> Sample {
    sample(name, case, vec![values([2, 3, 2], 21)], apply)
}

pub(super) fn samples() -> Vec<Sample> {
    let two = || vec![values([2, 3], 22), values([2, 2], 23)];
    vec![
        of("reshape", "", |x| x[0].reshape([3, 4])),
        of("permute", "", |x| x[0].permute(&[2, 0, 1])).empty([&[2, 0, 3]]),
        of("swap_axes", "", |x| x[0].swap_axes(0, -1)).empty([&[2, 0, 3]]),
        of("t", "", |x| x[0].t()).empty([&[0, 3]]),
        sample("broadcast_to", "", vec![values([3, 1], 24)], |x| x[0].broadcast_to([2, 3, 4])),
        sample("broadcast_to", "to a new axis", vec![values([1], 25)], |x| x[0].broadcast_to([3, x[0].numel()]))
            .empty([&[0]]),
        of("unsqueeze", "", |x| x[0].unsqueeze(-1)).empty([&[0, 3]]),
        of("squeeze", "", |x| x[0].narrow(0, 1, 1).squeeze(0)),
        of("flatten", "", |x| x[0].flatten(1)).empty([&[2, 0, 3]]),
        of("slice", "steps", |x| x[0].slice(1, 0, 3, 2)),
        of("slice", "backwards", |x| x[0].slice(1, 0, 3, -1)),
        of("narrow", "", |x| x[0].narrow(-2, 1, 2)),
        of("narrow", "nothing", |x| x[0].narrow(-2, 1, 0)),
        of("get", "", |x| x[0].get(1)),
        of("select_index", "", |x| x[0].select_index(-1, 1)),
        sample("concat", "", two(), |x| Tensor::concat(&[&x[0], &x[1], &x[0]], -1)).empty([&[2, 0], &[2, 0]]),
        sample("stack", "", vec![values([2, 3], 26), values([2, 3], 27)], |x| Tensor::stack(&[&x[0], &x[1]], 1))
            .empty([&[0], &[0]]),
        of("to_dtype", "", |x| x[0].to_dtype(DType::F64)).empty([&[0]]),
    ]
}
