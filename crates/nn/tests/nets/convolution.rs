//! I1 to I6 and I9: convolutional layers, their sizes and numbers, and what shifts do to them.

use tove_nn::{
    CircularPad2d, Conv2d, ConvTranspose2d, Error, Flatten, Layer, Linear, MaxPool2d, ModuleExt, Nonlinearity, Pass,
    Rng, Sequential, output_size, summary, unreached,
};
use tove_tensor::{ConvMode, ConvOptions, DType, Key, Tensor, gradcheck};

use crate::support::{Array, Case, TOL32, TOL64, agrees, case, cases, close, signal};

fn options(case: &Case) -> ConvOptions {
    let of = |name: &str, default| case.integer(name).map_or(default, |value| value as usize);
    ConvOptions::new()
        .stride(of("stride", 1))
        .padding(of("padding", 0))
        .dilation(of("dilation", 1))
        .groups(of("groups", 1))
}

fn eval(layer: &impl Layer, x: &Tensor) -> Tensor {
    layer.forward(x, &Pass::eval()).unwrap()
}

#[test]
fn i1_why_not_fully_connected() {
    for (size, weights, text) in [(32, 3072, "3,072"), (200, 120_000, "120,000")] {
        let neuron = Linear::new(size * size * 3, 1, &mut Rng::new(0));
        let net = Sequential::new().add(Flatten::new()).add(Linear { bias: None, ..neuron });
        let table = summary(&net, &Tensor::zeros([1, 3, size, size], DType::F32)).unwrap();
        assert_eq!((table.rows[1].parameters, table.rows[1].neurons), (weights, 1));
        assert!(table.to_string().contains(&format!("{text} parameters")), "{table}");
        // A neuron of a convolution has the same few for either image.
        let conv = Conv2d::new(3, 1, 5, &mut Rng::new(0)).without_bias();
        assert_eq!(summary(&conv, &Tensor::zeros([1, 3, size, size], DType::F32)).unwrap().parameters, 75);
    }
}

/// Σ_m f(m) x(n + m) for all offsets n, or Σ_k f(k) x(n − k), summed in plain loops with zeros outside the image.
fn by_definition(x: &Tensor, filter: &Tensor, sign: isize) -> Tensor {
    let ([height, width], [rows, columns]) = ([x.dims()[0], x.dims()[1]], [filter.dims()[0], filter.dims()[1]]);
    let (pixels, taps) = (x.to_vec::<f64>(), filter.to_vec::<f64>());
    let pixel = |row: isize, column: isize| match (usize::try_from(row), usize::try_from(column)) {
        (Ok(row), Ok(column)) if row < height && column < width => pixels[row * width + column],
        _ => 0.0,
    };
    // The first offset at which filter and image overlap.
    let first = |taps: usize| if sign > 0 { 1 - taps as isize } else { 0 };
    let [out_rows, out_columns] = [height + rows - 1, width + columns - 1];
    let mut full = Vec::<f64>::new();
    for (row, column) in (0..out_rows).flat_map(|row| (0..out_columns).map(move |column| (row, column))) {
        let (n, m) = (row as isize + first(rows), column as isize + first(columns));
        let each = taps.iter().enumerate().map(|(index, tap)| {
            let (i, j) = ((index / columns) as isize, (index % columns) as isize);
            tap * pixel(n + sign * i, m + sign * j)
        });
        full.push(each.sum());
    }
    Tensor::from_vec(full, [out_rows, out_columns])
}

#[test]
fn i2_cross_correlation_and_convolution_equal_scipy() {
    let tensor = |array: &Array| Tensor::from_vec(array.data.clone(), array.shape.clone());
    let mut modes = std::collections::BTreeSet::new();
    for case in &signal().cases {
        let (x, w) = (tensor(case.input("x")), tensor(case.input("w")));
        let mode = match case.attrs["mode"].as_str() {
            Some("valid") => ConvMode::Valid,
            Some("full") => ConvMode::Full,
            Some("same") => ConvMode::Same,
            other => panic!("{other:?}"),
        };
        modes.insert((case.attrs["mode"].to_string(), w.dims().to_vec()));
        let (correlation, convolution) = (x.correlate2d(&w, mode), x.convolve2d(&w, mode));
        close(&correlation, &tensor(case.output("correlation")), TOL64);
        close(&convolution, &tensor(case.output("convolution")), TOL64);
        // One is the other with the filter flipped. Where "same" has an even filter, they are cut one position apart.
        let flipped = x.correlate2d(&w.flip(&[0, 1]), mode);
        let even = |axis: usize| usize::from(mode == ConvMode::Same && w.dims()[axis] % 2 == 0);
        let kept = |axis: isize, size: usize, part: &Tensor, start: usize| part.narrow(axis, start, size);
        let sizes = [0, 1].map(|axis| convolution.dims()[axis] - even(axis));
        let of_convolution = kept(1, sizes[1], &kept(0, sizes[0], &convolution, even(0)), even(1));
        let of_flipped = kept(1, sizes[1], &kept(0, sizes[0], &flipped, 0), 0);
        close(&of_convolution, &of_flipped, TOL64);
        // The filters are not symmetric, so that the flip matters.
        let gap = (x.correlate2d(&w, ConvMode::Full) - x.convolve2d(&w, ConvMode::Full)).abs().max().item::<f64>();
        assert!(w.numel() == 1 || gap > 0.1, "{gap}");
        // The definitions, summed in plain loops.
        close(&x.correlate2d(&w, ConvMode::Full), &by_definition(&x, &w, 1), TOL64);
        close(&x.convolve2d(&w, ConvMode::Full), &by_definition(&x, &w, -1), TOL64);
        // A layer computes the cross-correlation; "valid" is a layer without padding.
        if mode == ConvMode::Valid {
            let window = [w.dims()[0], w.dims()[1]];
            let mut layer = Conv2d::windows(1, 1, window, ConvOptions::new(), &mut Rng::new(0)).without_bias();
            layer.weight = w.reshape([1, 1, window[0], window[1]]);
            let image = x.reshape([1, 1, x.dims()[0], x.dims()[1]]);
            close(&eval(&layer, &image).squeeze(0).squeeze(0), &correlation, TOL64);
            layer.weight = layer.weight.flip(&[2, 3]);
            close(&eval(&layer, &image).squeeze(0).squeeze(0), &convolution, TOL64);
        }
        gradcheck(|p| p[0].convolve2d(&p[1], mode), &[x.clone(), w.clone()]).unwrap();
    }
    assert_eq!(modes.len(), 9); // three modes with an odd, an even and a single-tap filter each

    // One signal along a line: Σ f(m) x(n + m) and Σ f(k) x(n − k), by hand.
    let row = |values: &[f64]| Tensor::from_vec(values.to_vec(), [1, values.len()]);
    let (x, f) = (row(&[3.0, -1.0, 4.0]), row(&[2.0, 7.0]));
    assert_eq!(x.correlate2d(&f, ConvMode::Full).to_vec::<f64>(), [21.0, -1.0, 26.0, 8.0]);
    assert_eq!(x.convolve2d(&f, ConvMode::Full).to_vec::<f64>(), [6.0, 19.0, 1.0, 28.0]);

    use tove_tensor::TryConv;
    let told = |x: &Tensor, f: &Tensor, mode| x.try_convolve2d(f, mode).unwrap_err().to_string();
    assert!(told(&row(&[1.0]), &row(&[1.0, 2.0]), ConvMode::Valid).contains("fit inside"));
    assert!(told(&Tensor::zeros([0, 3], DType::F64), &f, ConvMode::Full).contains("empty"));
    assert!(told(&x, &Tensor::zeros([0, 2], DType::F64), ConvMode::Same).contains("empty"));
    assert!(told(&Tensor::from([1.0]), &f, ConvMode::Full).contains("(height, width)"));
}

#[test]
fn i3_output_sizes_equal_pytorchs() {
    assert_eq!((output_size(32, 5, 2, 1, 1), output_size(32, 3, 0, 2, 1)), (32, 15));
    let case = case("conv sizes");
    let (grid, sizes) = (case.input("grid").to_i64(), case.output("sizes").to_i64());
    assert!(grid.len() / 5 > 300);
    for (row, expected) in grid.chunks(5).zip(sizes.chunks(2)) {
        let [size, kernel, padding, stride, dilation] = [0, 1, 2, 3, 4].map(|i| row[i] as usize);
        let of = |size| output_size(size, kernel, padding, stride, dilation) as i64;
        assert_eq!([of(size), of(size + 3)], expected, "{row:?}");
        let options = ConvOptions::new().padding(padding).stride(stride).dilation(dilation);
        let layer = Conv2d::with(1, 2, kernel, options, &mut Rng::new(0));
        let y = eval(&layer, &Tensor::zeros([1, 1, size, size + 3], DType::F32));
        assert_eq!(y.shape(), &[1, 2, of(size) as usize, of(size + 3) as usize], "{row:?}");
    }
    assert_eq!(output_size(4, 5, 0, 1, 1), 0);
    assert!(
        Conv2d::new(1, 1, 5, &mut Rng::new(0))
            .forward(&Tensor::zeros([1, 1, 4, 4], DType::F32), &Pass::eval())
            .is_err()
    );
}

#[test]
fn i3_sizes_that_do_not_divide_are_floored_and_noted() {
    let conv = |stride| Conv2d::with(1, 1, 3, ConvOptions::new().stride(stride), &mut Rng::new(0));
    let table = summary(&conv(2), &Tensor::zeros([1, 1, 32, 33], DType::F32)).unwrap();
    assert_eq!((table.rows[0].output.as_slice(), table.notes.len()), (&[1, 1, 15, 16][..], 1));
    assert!(table.to_string().contains("note: Conv2d: no window reaches the last 1 rows and 0 columns"), "{table}");
    assert!(summary(&conv(2), &Tensor::zeros([1, 1, 33, 33], DType::F32)).unwrap().notes.is_empty());
    let pool = Sequential::new().add(MaxPool2d::new(2));
    let notes = summary(&pool, &Tensor::zeros([1, 1, 6, 7], DType::F32)).unwrap().notes;
    assert_eq!(notes, ["0: no window reaches the last 0 rows and 1 columns"]);
    // By counting the places where a window starts.
    for size in 1..20 {
        for (kernel, padding, stride, dilation) in [(1, 0, 1, 1), (3, 1, 2, 1), (2, 0, 3, 2), (4, 2, 3, 1)] {
            let (padded, reach) = (size + 2 * padding, dilation * (kernel - 1) + 1);
            let starts: Vec<usize> = (0..padded).step_by(stride).filter(|start| start + reach <= padded).collect();
            assert_eq!(output_size(size, kernel, padding, stride, dilation), starts.len());
            let rest = starts.last().map_or(0, |last| padded - (last + reach));
            assert_eq!(unreached(size, kernel, padding, stride, dilation), rest);
        }
    }
}

#[test]
fn i4_forward_and_backward_equal_pytorch() {
    for case in cases("conv {") {
        agrees(&mut Conv2d::with(4, 6, 3, options(case), &mut Rng::new(0)), case, &Pass::eval());
    }
    let mut options = ConvOptions::new();
    (options.stride, options.padding) = ([1, 2], [0, 2]);
    let mut layer = Conv2d::windows(2, 3, [1, 4], options, &mut Rng::new(0));
    agrees(&mut layer, case("rectangular conv"), &Pass::eval());
}

#[test]
fn transposed_convolutions_equal_pytorch() {
    for case in cases("transposed conv") {
        agrees(&mut ConvTranspose2d::with(4, 6, 3, options(case), &mut Rng::new(0)), case, &Pass::eval());
    }
}

#[test]
fn i4_each_filter_spans_the_depth_and_gives_one_map() {
    let layer = Conv2d::new(3, 5, 3, &mut Rng::new(1));
    let x = Key::new(2).normal([2, 3, 6, 7], DType::F32);
    let y = eval(&layer, &x);
    assert_eq!((layer.weight.shape(), y.shape()), (&[5, 3, 3, 3].into(), &[2, 5, 4, 5].into()));
    for filter in 0..5 {
        let weight = layer.weight.narrow(0, filter, 1);
        let bias = layer.bias.as_ref().map(|bias| bias.narrow(0, filter, 1));
        let map = x.conv2d(&weight, bias.as_ref(), &ConvOptions::new());
        close(&map, &y.narrow(1, filter, 1), TOL32);
    }
    let rectified = layer.forward_relu(&x, &Pass::eval()).unwrap().unwrap();
    assert_eq!(rectified.to_vec::<f32>(), y.relu().to_vec::<f32>());
    let wrong = layer.forward(&Tensor::zeros([2, 4, 6, 7], DType::F32), &Pass::eval()).unwrap_err();
    assert!(matches!(wrong, Error::Tensor(tove_tensor::Error::ShapePair { .. })), "{wrong:?}");
    assert!(wrong.to_string().contains("(2, 4, 6, 7)") && wrong.to_string().contains("(5, 3, 3, 3)"), "{wrong}");
}

#[test]
fn i5_number_of_parameters() {
    for (kernel, depth, filters) in [(5, 3, 10), (1, 7, 2), (3, 1, 64), (2, 4, 4)] {
        let layer = Conv2d::new(depth, filters, kernel, &mut Rng::new(0));
        assert_eq!(layer.count_parameters(), (kernel * kernel * depth + 1) * filters);
    }
    let ten = Conv2d::new(3, 10, 5, &mut Rng::new(0));
    assert_eq!(ten.count_parameters(), 760);
    let table = summary(&ten, &Tensor::zeros([1, 3, 32, 32], DType::F32)).unwrap();
    assert_eq!((table.parameters, table.rows[0].parameters), (760, 760));
    assert!(table.to_string().contains("760 parameters"), "{table}");
}

#[test]
fn i6_number_of_neurons() {
    for (size, kernel, padding, stride, filters, expected) in [(32, 5, 2, 1, 10, 10_240), (11, 3, 1, 2, 4, 144)] {
        let options = ConvOptions::new().padding(padding).stride(stride);
        let layer = Conv2d::with(3, filters, kernel, options, &mut Rng::new(0));
        let table = summary(&layer, &Tensor::zeros([7, 3, size, size], DType::F32)).unwrap();
        let side = (size + 2 * padding - kernel) / stride + 1;
        assert_eq!((table.rows[0].neurons, side * side * filters), (expected, expected)); // for one image of the batch
        let text = if expected == 10_240 { "10,240" } else { "144" };
        assert!(table.to_string().contains(text), "{table}");
    }
}

/// Whole numbers, whose sums and products are exact.
fn whole(shape: &[usize], seed: u64) -> Tensor {
    (Key::new(seed).uniform(shape, DType::F32) * 9.0).floor() - 4.0
}

fn shifted(x: &Tensor) -> Tensor {
    x.roll(2, -2).roll(-1, -1)
}

#[test]
fn i9_shifts_of_the_input_shift_the_output() {
    let mut layer = Conv2d::with(2, 3, 3, ConvOptions::new().padding(1), &mut Rng::new(3));
    let x = whole(&[1, 2, 12, 12], 4);
    let interior = |y: &Tensor| y.narrow(2, 4, 5).narrow(3, 4, 5).to_vec::<f32>();
    // Far from borders, for any weights.
    let (moved, still) = (eval(&layer, &shifted(&x)), shifted(&eval(&layer, &x)));
    assert_eq!(interior(&moved), interior(&still));
    assert_ne!(moved.to_vec::<f32>(), still.to_vec::<f32>()); // the zeros of the padding did not move
    // Everywhere, on a torus.
    let torus = Sequential::new()
        .add(CircularPad2d::new(1))
        .add(Conv2d::new(2, 3, 3, &mut Rng::new(5)))
        .add(Nonlinearity::Relu);
    assert_eq!(eval(&torus, &shifted(&x)).to_vec::<f32>(), shifted(&eval(&torus, &x)).to_vec::<f32>());
    // A dense layer from image to image fails both.
    let dense = Linear::new(288, 144, &mut Rng::new(6));
    let apply = |x: &Tensor| eval(&dense, &x.reshape([1, 288])).reshape([1, 1, 12, 12]);
    let (moved, still) = (apply(&shifted(&x)), shifted(&apply(&x)));
    let gap = (moved - still).narrow(2, 4, 5).narrow(3, 4, 5).abs().min().item::<f32>();
    assert!(gap > 1e-3, "{gap}");
    layer.weight = whole(&[3, 2, 3, 3], 7);
    assert_eq!(interior(&eval(&layer, &shifted(&x))), interior(&shifted(&eval(&layer, &x))));
}

/// Circular padding in front of a convolution, with the names that PyTorch's convolution has.
#[derive(tove_nn::Module)]
struct Circular {
    weight: Tensor,
    bias: Tensor,
}

impl Layer for Circular {
    fn forward(&self, x: &Tensor, pass: &Pass) -> tove_nn::Result<Tensor> {
        let x = CircularPad2d::new(1).forward(x, pass)?;
        Ok(x.conv2d(&self.weight, Some(&self.bias), &ConvOptions::new()))
    }
}

#[test]
fn i9_circular_padding_equals_pytorch() {
    let parameter = |shape: &[usize]| Tensor::zeros(shape, DType::F32).requires_grad();
    let mut layer = Circular { weight: parameter(&[3, 2, 3, 3]), bias: parameter(&[3]) };
    agrees(&mut layer, case("circular conv"), &Pass::eval());
    let wrong = CircularPad2d::new(4).forward(&Tensor::zeros([1, 1, 5, 3], DType::F32), &Pass::eval()).unwrap_err();
    assert!(wrong.to_string().contains("one turn"), "{wrong}");
}

#[test]
fn a_transposed_layer_takes_output_padding_below_stride_or_dilation() {
    let of = |options: ConvOptions| {
        let layer = ConvTranspose2d::with(2, 3, 2, options, &mut Rng::new(0));
        layer.forward(&Tensor::ones([1, 2, 4, 4], DType::F32), &Pass::eval())
    };
    // 3 · stride + dilation + output padding + 1 rows; the numbers are compared with PyTorch's in tove-tensor.
    assert_eq!(of(ConvOptions::new().dilation(3).output_padding(2)).unwrap().shape(), &[1, 3, 9, 9]);
    assert_eq!(of(ConvOptions::new().stride(2).dilation(4).output_padding(3)).unwrap().shape(), &[1, 3, 14, 14]);
    let refused = of(ConvOptions::new().stride(2).dilation(3).output_padding(3)).unwrap_err();
    assert!(refused.to_string().contains("output_padding"), "{refused}");
}
