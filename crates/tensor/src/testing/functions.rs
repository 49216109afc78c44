//! Functions that users bring along: custom operations and checkpoints.

use super::{Sample, sample, values};
use crate::{CustomOp, Tensor, checkpoint};

/// a b + sin b, with the rule written by hand.
fn custom(x: &[Tensor]) -> Tensor {
    CustomOp::new("product plus sine", |x| &x[0] * &x[1] + x[1].sin())
        .with_backward(|x, _, g| vec![g * &x[1], g * (&x[0] + x[1].cos())])
        .apply(&[&x[0], &x[1]])
}

fn checkpointed(x: &[Tensor]) -> Tensor {
    checkpoint(|x| (&x[0] * &x[1]).tanh().exp(), &[&x[0], &x[1]])
}

pub(super) fn samples() -> Vec<Sample> {
    let inputs = || vec![values([2, 3], 41), values([2, 3], 42)];
    vec![
        sample("custom", "", inputs(), custom).empty([&[0], &[0]]),
        sample("checkpoint", "", inputs(), checkpointed).empty([&[0], &[0]]),
        sample("checkpoint", "broadcast", vec![values([2, 1], 43), values([3], 44)], checkpointed),
    ]
}
