//! Softmax, losses, normalisation and attention.

use super::{Apply, Sample, positive, sample, values};
use crate::{CrossEntropy, Key, Tensor};

fn of(name: &'static str, case: &'static str, shapes: &[&[usize]], apply: Apply) -> Sample {
    let inputs = shapes.iter().enumerate().map(|(i, &shape)| values(shape, 61 + i as u64)).collect();
    sample(name, case, inputs, apply)
}

fn labels() -> Tensor {
    Tensor::from([2i64, 0, 3])
}

pub(super) fn samples() -> Vec<Sample> {
    let attention: &[&[usize]] = &[&[2, 3, 2], &[2, 3, 2], &[2, 3, 2]];
    let statistics = vec![values([4, 2], 64), values(2, 65), positive(2, 66), values(2, 67), values(2, 68)];
    vec![
        of("softmax", "", &[&[3, 4]], |x| x[0].softmax(-1)).empty([&[0, 4]]),
        of("softmax", "first axis", &[&[3, 4]], |x| x[0].softmax(0)),
        of("log_softmax", "", &[&[3, 4]], |x| x[0].log_softmax(-1)).empty([&[0, 4]]),
        of("cross_entropy", "", &[&[3, 4]], |x| x[0].cross_entropy(&labels(), &CrossEntropy::default())),
        of("cross_entropy", "smoothed", &[&[3, 4]], |x| {
            let options = CrossEntropy { label_smoothing: 0.2, ..CrossEntropy::default() };
            x[0].cross_entropy(&labels(), &options)
        }),
        of("layer_norm", "", &[&[3, 4], &[4], &[4]], |x| x[0].layer_norm(&[4], Some(&x[1]), Some(&x[2]), 1e-3))
            .empty([&[0, 4], &[4], &[4]]),
        of("layer_norm", "plain", &[&[2, 3, 2]], |x| x[0].layer_norm(&[3, 2], None, None, 1e-3)),
        of("group_norm", "", &[&[2, 4, 3], &[4], &[4]], |x| x[0].group_norm(2, Some(&x[1]), Some(&x[2]), 1e-3))
            .empty([&[0, 4, 3], &[4], &[4]]),
        of("group_norm", "one group", &[&[2, 3, 2, 2]], |x| x[0].group_norm(1, None, None, 1e-3)),
        of("instance_norm", "", &[&[2, 3, 2, 2], &[3], &[3]], |x| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-3))
            .empty([&[0, 3, 2, 2], &[3], &[3]]),
        of("batch_norm", "", &[&[5, 2], &[2], &[2]], |x| x[0].batch_norm(Some(&x[1]), Some(&x[2]), 1e-3).0),
        of("batch_norm", "images", &[&[2, 2, 2, 2]], |x| x[0].batch_norm(None, None, 1e-3).0),
        sample("batch_norm_with", "", statistics, |x| {
            x[0].batch_norm_with(&x[1], &x[2], Some(&x[3]), Some(&x[4]), 1e-3)
        }),
        of("dropout", "", &[&[3, 4]], |x| x[0].dropout(0.4, Key::new(5))).empty([&[0, 4]]),
        of("scaled_dot_product_attention", "", attention, |x| {
            x[0].scaled_dot_product_attention(&x[1], &x[2], false, None, None)
        }),
        of("scaled_dot_product_attention", "causal", attention, |x| {
            x[0].scaled_dot_product_attention(&x[1], &x[2], true, None, Some(0.7))
        }),
        of("packed_attention", "", &[&[2, 3, 12]], |x| x[0].packed_attention(2, false, None, None)),
        of("packed_attention", "causal", &[&[2, 3, 6]], |x| x[0].packed_attention(1, true, None, Some(0.7))),
        of("packed_attention", "mask", &[&[2, 3, 12], &[2, 3, 3]], |x| {
            x[0].packed_attention(2, false, Some(&x[1]), None)
        }),
    ]
}
