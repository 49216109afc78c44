//! Matrix products and the affine layer.

use super::{Apply, Sample, sample, values};
use crate::{Activation, DType, Tensor};

fn product(case: &'static str, left: &[usize], right: &[usize]) -> Sample {
    sample("matmul", case, vec![values(left, 31), values(right, 32)], |x| x[0].matmul(&x[1]))
}

fn linear(case: &'static str, x: &[usize], apply: Apply) -> Sample {
    sample("linear", case, vec![values(x, 33), values([2, 3], 34), values([2], 35)], apply)
}

pub(super) fn samples() -> Vec<Sample> {
    vec![
        product("matrices", &[2, 3], &[3, 4]).empty([&[0, 3], &[3, 2]]),
        product("nothing inside", &[2, 3], &[3, 2]).empty([&[2, 0], &[0, 3]]),
        product("vectors", &[3], &[3]),
        product("row", &[3], &[3, 2]),
        product("column", &[2, 3], &[3]),
        product("batch", &[2, 2, 3], &[2, 3, 2]).empty([&[0, 2, 3], &[0, 3, 2]]),
        product("shared left", &[2, 3], &[3, 3, 2]),
        product("shared right", &[3, 2, 3], &[3, 2]),
        product("broadcast", &[2, 1, 2, 3], &[3, 3, 1]),
        linear("", &[4, 3], |x| x[0].linear(&x[1], Some(&x[2]), Activation::Identity)),
        linear("rectified", &[4, 3], |x| x[0].linear(&x[1], Some(&x[2]), Activation::Relu)),
        linear("further axes", &[2, 2, 3], |x| x[0].linear(&x[1], Some(&x[2]), Activation::Identity)),
        sample("linear", "without bias", vec![values([4, 3], 36), values([2, 3], 37)], |x| {
            x[0].linear(&x[1], None, Activation::Relu)
        })
        .empty([&[0, 3], &[2, 3]]),
        sample("matmul", "with the identity", vec![values([3, 3], 38)], |x| {
            x[0].matmul(&Tensor::eye(3, DType::F64).to_dtype(x[0].dtype()))
        }),
    ]
}
