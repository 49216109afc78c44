//! Reductions; elements are distinct, so that extremes are unique.

use super::{Apply, Sample, sample, values};

fn of(name: &'static str, case: &'static str, apply: Apply) -> Sample {
    sample(name, case, vec![values([2, 3, 2], 11)], apply)
}

pub(super) fn samples() -> Vec<Sample> {
    vec![
        of("sum", "", |x| x[0].sum()).empty([&[0, 3]]),
        of("sum_axes", "middle", |x| x[0].sum_axes(&[1], false)).empty([&[2, 0, 2]]),
        of("sum_axes", "two, kept", |x| x[0].sum_axes(&[0, -1], true)).empty([&[0, 3, 2]]),
        of("mean", "", |x| x[0].mean()).empty([&[0, 3]]),
        of("mean_axes", "", |x| x[0].mean_axes(&[-1], true)).empty([&[0, 3, 2]]),
        of("max", "", |x| x[0].max()),
        of("max_axes", "", |x| x[0].max_axes(&[1], false)).empty([&[0, 3, 2]]),
        of("max_axes", "two, kept", |x| x[0].max_axes(&[0, 2], true)),
        of("min", "", |x| x[0].min()),
        of("min_axes", "", |x| x[0].min_axes(&[1], true)).empty([&[0, 3, 2]]),
    ]
}
