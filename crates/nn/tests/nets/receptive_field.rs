//! I7: how far an output sees.

use tove_nn::{AvgPool2d, Conv2d, ConvTranspose2d, GlobalAvgPool2d, Layer, Pass, Rng, Sequential, summary};
use tove_tensor::{ConvOptions, DType, Key, PoolOptions, Tensor};

/// Size of the part of the input, along the last axis, whose change changes the output in the middle.
fn probe(net: &Sequential, size: usize) -> usize {
    let x = Key::new(1).normal([1, 1, size, size], DType::F64).requires_grad();
    let y = net.forward(&x, &Pass::eval()).unwrap();
    let (rows, columns) = (y.dims()[2], y.dims()[3]);
    y.select_index(3, columns / 2).select_index(2, rows / 2).sum().backward();
    let touched = x.grad().unwrap().ne_scalar(0.0).any_axes(&[0, 1, 2], false).to_vec::<bool>();
    let (first, last) = (touched.iter().position(|&t| t), touched.iter().rposition(|&t| t));
    let (first, last) = (first.unwrap(), last.unwrap());
    assert!(first > 0 && last + 1 < size, "the probe reached the border");
    last + 1 - first
}

/// What the summary says of the last layer.
fn told(net: &Sequential, size: usize) -> Option<usize> {
    summary(net, &Tensor::zeros([1, 1, size, size], DType::F64)).unwrap().rows.last().unwrap().receptive_field
}

fn conv(kernel: usize, options: ConvOptions, seed: u64) -> Conv2d {
    let mut layer = Conv2d::with(1, 1, kernel, options, &mut Rng::new(seed));
    tove_nn::ModuleExt::to_dtype(&mut layer, DType::F64).unwrap();
    layer
}

#[test]
fn i7_stacked_windows_see_further() {
    for layers in 1..=6 {
        let same = ConvOptions::new().padding(1);
        let net = (0..layers).fold(Sequential::new(), |net, seed| net.add(conv(3, same, seed)));
        assert_eq!(told(&net, 25), Some(1 + 2 * layers as usize));
        assert_eq!(probe(&net, 25), 1 + 2 * layers as usize);
    }
}

#[test]
fn i7_strides_dilations_and_pools_are_handled() {
    let plain = ConvOptions::new();
    let nets = [
        (Sequential::new().add(conv(3, plain.stride(2), 1)).add(conv(3, plain, 2)), 3 + 2 * 2),
        (
            Sequential::new().add(conv(5, plain.stride(3), 3)).add(conv(3, plain.stride(2), 4)).add(conv(2, plain, 5)),
            5 + 6 + 6,
        ),
        (Sequential::new().add(conv(3, plain.dilation(2), 6)).add(conv(3, plain.dilation(4), 7)), 5 + 8),
        (Sequential::new().add(conv(3, plain, 8)).add(AvgPool2d::new(2)).add(conv(3, plain, 9)), 3 + 1 + 4),
        (Sequential::new().add(AvgPool2d::with(PoolOptions::new(3).stride(2))).add(conv(1, plain.stride(2), 10)), 3),
    ];
    for (net, expected) in nets {
        assert_eq!((told(&net, 61), probe(&net, 61)), (Some(expected), expected));
    }
}

#[test]
fn i7_no_number_is_told_where_there_is_none() {
    let plain = ConvOptions::new();
    let all = Sequential::new().add(conv(3, plain, 1)).add(GlobalAvgPool2d::new());
    assert_eq!(told(&all, 9), None);
    let mut enlarging = ConvTranspose2d::with(1, 1, 2, plain.stride(2), &mut Rng::new(0));
    tove_nn::ModuleExt::to_dtype(&mut enlarging, DType::F64).unwrap();
    let net = Sequential::new().add(conv(3, plain, 1)).add(enlarging).add(conv(3, plain, 2));
    assert_eq!(told(&net, 9), None);
}
