//! Functions of two tensors: same shapes, and stretched ones.

use super::{Apply, Sample, positive, sample, values};
use crate::Tensor;

/// Two samples: equal shapes, and a column against a row.
fn both(name: &'static str, make: fn(&[usize], u64) -> Tensor, apply: Apply) -> [Sample; 2] {
    let equal = sample(name, "", vec![make(&[2, 3], 1), make(&[2, 3], 2)], apply).empty([&[0, 3], &[3]]);
    [equal, sample(name, "broadcast", vec![make(&[2, 1], 3), make(&[4], 4)], apply)]
}

fn anywhere(shape: &[usize], seed: u64) -> Tensor {
    values(shape, seed)
}

fn above_zero(shape: &[usize], seed: u64) -> Tensor {
    positive(shape, seed)
}

pub(super) fn samples() -> Vec<Sample> {
    let mut list = [
        both("add", anywhere, |x| &x[0] + &x[1]),
        both("sub", anywhere, |x| &x[0] - &x[1]),
        both("mul", anywhere, |x| &x[0] * &x[1]),
        both("div", anywhere, |x| &x[0] / &x[1].abs().add(&Tensor::scalar_of(0.5, x[1].dtype()))),
        both("rem", above_zero, |x| &(&x[0] + 3.0) % &x[1]),
        both("pow", above_zero, |x| x[0].pow(&x[1])),
        both("logaddexp", anywhere, |x| x[0].logaddexp(&x[1])),
        both("atan2", anywhere, |x| x[0].atan2(&x[1])),
        both("maximum", anywhere, |x| x[0].maximum(&x[1])),
        both("minimum", anywhere, |x| x[0].minimum(&x[1])),
        both("hypot", anywhere, |x| x[0].hypot(&x[1])),
    ]
    .concat();
    let mask = Tensor::from([[true, false, true], [false, false, true]]);
    let choose: Apply = |x| x[0].select(&x[1], &x[2]);
    list.push(sample("select", "", vec![mask.clone(), values([2, 3], 5), values([2, 3], 6)], choose));
    list.push(sample("select", "broadcast", vec![mask, values([1, 3], 7), values((), 8)], choose));
    let between: Apply = |x| x[0].lerp(&x[1], &x[2]);
    list.push(sample("lerp", "", vec![values([2, 3], 9), values([2, 3], 10), values([2, 3], 11)], between));
    list.push(sample("lerp", "broadcast", vec![values([2, 1], 12), values([3], 13), values((), 14)], between));
    list
}
