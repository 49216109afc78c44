//! Convolutions, pooling and patches.

use super::{Apply, Sample, sample, values};
use crate::{ConvMode, ConvOptions, Interpolation, PoolOptions};

fn of(name: &'static str, case: &'static str, shapes: &[&[usize]], apply: Apply) -> Sample {
    let inputs = shapes.iter().enumerate().map(|(i, &shape)| values(shape, 81 + i as u64)).collect();
    sample(name, case, inputs, apply)
}

pub(super) fn samples() -> Vec<Sample> {
    let image: &[&[usize]] = &[&[1, 2, 4, 4]];
    vec![
        of("conv2d", "", &[&[2, 2, 4, 3], &[3, 2, 3, 2], &[3]], |x| {
            x[0].conv2d(&x[1], Some(&x[2]), &ConvOptions::new().padding(1))
        })
        .empty([&[0, 2, 4, 3], &[3, 2, 3, 2], &[3]]),
        of("conv2d", "strided groups", &[&[1, 2, 5, 5], &[4, 1, 2, 2]], |x| {
            x[0].conv2d(&x[1], None, &ConvOptions::new().stride(2).dilation(2).groups(2).padding(1))
        }),
        of("conv1d", "", &[&[2, 2, 5], &[3, 2, 3], &[3]], |x| x[0].conv1d(&x[1], Some(&x[2]), &ConvOptions::new())),
        of("conv_transpose2d", "", &[&[1, 2, 3, 3], &[2, 3, 2, 2], &[3]], |x| {
            x[0].conv_transpose2d(&x[1], Some(&x[2]), &ConvOptions::new().stride(2).output_padding(1))
        }),
        of("conv_transpose1d", "", &[&[2, 2, 4], &[2, 3, 3], &[3]], |x| {
            x[0].conv_transpose1d(&x[1], Some(&x[2]), &ConvOptions::new().stride(2).padding(1).output_padding(1))
        })
        .empty([&[0, 2, 4], &[2, 3, 3], &[3]]),
        of("max_pool2d", "", image, |x| x[0].max_pool2d(&PoolOptions::new(2))),
        of("max_pool1d", "", &[&[1, 2, 6]], |x| x[0].max_pool1d(&PoolOptions::new(2))),
        of("avg_pool2d", "", image, |x| x[0].avg_pool2d(&PoolOptions::new(2).padding(1))),
        of("avg_pool1d", "", &[&[1, 2, 6]], |x| x[0].avg_pool1d(&PoolOptions::new(3))),
        of("adaptive_avg_pool2d", "", &[&[1, 2, 5, 4]], |x| x[0].adaptive_avg_pool2d([2, 3])),
        of("interpolate", "nearest", &[&[1, 2, 3, 5]], |x| x[0].interpolate([5, 3], Interpolation::Nearest))
            .empty([&[0, 2, 3, 5]]),
        of("interpolate", "bilinear", &[&[1, 2, 3, 5]], |x| x[0].interpolate([7, 2], Interpolation::Bilinear))
            .empty([&[0, 2, 3, 5]]),
        of("global_avg_pool2d", "", image, |x| x[0].global_avg_pool2d()),
        of("unfold", "", image, |x| x[0].unfold([2, 3], &ConvOptions::new().padding(1))),
        of("correlate2d", "same", &[&[4, 5], &[2, 3]], |x| x[0].correlate2d(&x[1], ConvMode::Same)),
        of("convolve2d", "full", &[&[4, 5], &[2, 3]], |x| x[0].convolve2d(&x[1], ConvMode::Full)),
        of("convolve2d", "valid", &[&[4, 5], &[2, 3]], |x| x[0].convolve2d(&x[1], ConvMode::Valid)),
        of("fold", "", &[&[1, 8, 9]], |x| x[0].fold([4, 4], [2, 2], &ConvOptions::new())),
    ]
}
