//! I7: how far an output sees.

use std::collections::BTreeSet;

use tove_nn::{AvgPool2d, Conv2d, ConvTranspose2d, GlobalAvgPool2d, Layer, Pass, Rng, Sequential, summary};
use tove_tensor::{ConvOptions, DType, Key, PoolOptions, Tensor};

/// A window as the net and the test both know it; pairs are (rows, columns).
#[derive(Clone, Copy)]
struct Step {
    kernel: [usize; 2],
    stride: usize,
    padding: usize,
    dilation: usize,
    pools: bool,
}

const CONV: Step = Step { kernel: [3, 3], stride: 1, padding: 0, dilation: 1, pools: false };

fn net(steps: &[Step]) -> Sequential {
    steps.iter().zip(1..).fold(Sequential::new(), |net, (step, seed)| {
        if step.pools {
            let options = PoolOptions::new(step.kernel[0]).stride(step.stride).padding(step.padding);
            return net.add(AvgPool2d::with(options));
        }
        let options = ConvOptions::new().stride(step.stride).padding(step.padding).dilation(step.dilation);
        let mut layer = Conv2d::windows(1, 1, step.kernel, options, &mut Rng::new(seed));
        tove_nn::ModuleExt::to_dtype(&mut layer, DType::F64).unwrap();
        net.add(layer)
    })
}

/// Input positions along one axis that an output position depends on, by walking the windows backwards.
fn reached(steps: &[Step], axis: usize, at: usize, sizes: &[usize]) -> BTreeSet<usize> {
    let mut places = BTreeSet::from([at]);
    for (step, &size) in steps.iter().zip(sizes).rev() {
        let taps = |place: usize| (0..step.kernel[axis]).map(move |tap| place * step.stride + tap * step.dilation);
        let inside = |place: usize| place.checked_sub(step.padding).filter(|place| *place < size);
        places = places.into_iter().flat_map(taps).filter_map(inside).collect();
    }
    places
}

/// The mask (rows, columns) of input pixels on which one output pixel has a non-zero derivative.
fn support(net: &Sequential, size: [usize; 2], at: [usize; 2]) -> Vec<bool> {
    let x = Key::new(1).normal([1, 1, size[0], size[1]], DType::F64).requires_grad();
    let y = net.forward(&x, &Pass::eval()).unwrap();
    y.select_index(3, at[1]).select_index(2, at[0]).sum().backward();
    x.grad().unwrap().ne_scalar(0.0).flatten(0).to_vec()
}

/// The receptive field that the summary reports for the last layer.
fn reported(net: &Sequential, size: [usize; 2]) -> Option<usize> {
    summary(net, &Tensor::zeros([1, 1, size[0], size[1]], DType::F64)).unwrap().rows.last().unwrap().receptive_field
}

/// Compares the derivative's support with the positions found by index arithmetic, pixel by pixel, for outputs in the
/// middle and at corners. Returns height and width of the support in the middle.
fn exact_support(steps: &[Step], size: [usize; 2]) -> [usize; 2] {
    let net = net(steps);
    // Sizes of the inputs of every layer, and of the output.
    let mut sizes = [vec![size[0]], vec![size[1]]];
    for step in steps {
        for axis in 0..2 {
            let last = sizes[axis][sizes[axis].len() - 1];
            let reach = (step.kernel[axis] - 1) * step.dilation + 1;
            sizes[axis].push((last + 2 * step.padding - reach) / step.stride + 1);
        }
    }
    let out = [sizes[0][steps.len()], sizes[1][steps.len()]];
    let middle = [out[0] / 2, out[1] / 2];
    for at in [[0, 0], [0, out[1] - 1], [out[0] - 1, 0], [out[0] - 1, out[1] - 1], middle] {
        let (rows, columns) = (reached(steps, 0, at[0], &sizes[0]), reached(steps, 1, at[1], &sizes[1]));
        let pixels = (0..size[0]).flat_map(|row| (0..size[1]).map(move |column| (row, column)));
        let expected: Vec<bool> =
            pixels.map(|(row, column)| rows.contains(&row) && columns.contains(&column)).collect();
        assert_eq!(support(&net, size, at), expected, "output {at:?} of {out:?}");
    }
    [0, 1].map(|axis| {
        let places = reached(steps, axis, middle[axis], &sizes[axis]);
        let (first, last) = (*places.first().unwrap(), *places.last().unwrap());
        assert!(first > 0 && last + 1 < size[axis], "the image is too small to show the whole field");
        last + 1 - first
    })
}

#[test]
fn i7_stacked_windows_see_further() {
    for layers in 1..=6 {
        let size = [25, 31];
        for padding in [0, 1] {
            let steps = vec![Step { padding, ..CONV }; layers];
            let field = 1 + 2 * layers;
            assert_eq!(reported(&net(&steps), size), Some(field));
            // A full square: all pixels in it, and none outside.
            assert_eq!(exact_support(&steps, size), [field; 2]);
            let middle = size.map(|size| (size - 2 * layers * (1 - padding)) / 2);
            let seen = support(&net(&steps), size, middle).into_iter().filter(|&seen| seen).count();
            assert_eq!(seen, field * field);
        }
    }
}

#[test]
fn i7_strides_dilations_and_pools_are_handled() {
    let strided = |stride| Step { stride, ..CONV };
    let pool = |kernel, stride| Step { kernel: [kernel; 2], stride, pools: true, ..CONV };
    let nets: [(Vec<Step>, usize); 7] = [
        (vec![strided(2), CONV], 3 + 2 * 2),
        (vec![strided(2); 3], 3 + 2 * 2 + 4 * 2),
        (
            vec![Step { kernel: [5; 2], stride: 3, padding: 2, ..CONV }, strided(2), Step { kernel: [2; 2], ..CONV }],
            5 + 6 + 6,
        ),
        // With gaps: the field is the distance between its outermost pixels.
        (vec![Step { dilation: 2, ..CONV }, Step { dilation: 4, ..CONV }], 5 + 8),
        (vec![Step { dilation: 3, stride: 2, ..CONV }, Step { padding: 1, ..CONV }], 7 + 4),
        (vec![CONV, pool(2, 2), CONV], 3 + 1 + 4),
        (vec![pool(3, 2), Step { kernel: [1; 2], stride: 2, ..CONV }], 3),
    ];
    for (steps, field) in nets {
        assert_eq!(reported(&net(&steps), [61, 57]), Some(field));
        assert_eq!(exact_support(&steps, [61, 57]), [field; 2]);
    }
    // Windows that are not square: the number reported is that of the last axis.
    let steps = [Step { kernel: [1, 5], ..CONV }, Step { kernel: [3, 2], stride: 2, ..CONV }];
    assert_eq!(exact_support(&steps, [30, 30]), [3, 6]);
    assert_eq!(reported(&net(&steps), [30, 30]), Some(6));
}

#[test]
fn i7_no_number_is_reported_where_there_is_none() {
    let conv = |seed| {
        let mut layer = Conv2d::new(1, 1, 3, &mut Rng::new(seed));
        tove_nn::ModuleExt::to_dtype(&mut layer, DType::F64).unwrap();
        layer
    };
    let all = Sequential::new().add(conv(1)).add(GlobalAvgPool2d::new());
    assert_eq!(reported(&all, [9, 9]), None);
    let mut enlarging = ConvTranspose2d::with(1, 1, 2, ConvOptions::new().stride(2), &mut Rng::new(0));
    tove_nn::ModuleExt::to_dtype(&mut enlarging, DType::F64).unwrap();
    let net = Sequential::new().add(conv(1)).add(enlarging).add(conv(2));
    assert_eq!(reported(&net, [9, 9]), None);
}
