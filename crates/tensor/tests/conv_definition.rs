//! Convolutions against their definition by patches, in all modes of differentiation.

use tove_tensor::{Activation, ConvOptions, DType, Shape, Tensor, TryConv, hvp, jvp, set_num_threads, vjp, vmap};

/// Numbers in (-1, 1), different for every seed.
fn numbers(shape: &[usize], seed: u64, dtype: DType) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let data: Vec<f64> = (0..shape.iter().product()).map(|_| next()).collect();
    Tensor::from_vec(data, Shape::new(shape)).to_dtype(dtype)
}

fn close(a: &Tensor, b: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(a.dims(), b.dims(), "{what}");
    for (a, b) in a.to_f64_vec().iter().zip(b.to_f64_vec()) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} and {b}");
    }
}

/// x ∗ w as filters times patches, group by group.
fn by_patches(x: &Tensor, w: &Tensor, o: &ConvOptions) -> Tensor {
    let (dx, dw) = (x.dims().to_vec(), w.dims().to_vec());
    let kernel = [dw[2], dw[3]];
    let columns = x.unfold(kernel, o);
    let windows = columns.dims()[2];
    let depth = dw[1] * dw[2] * dw[3];
    let patches = columns.reshape([dx[0], o.groups, depth, windows]);
    let filters = w.reshape([o.groups, dw[0] / o.groups, depth]);
    let size = |axis: usize| {
        (dx[2 + axis] + 2 * o.padding[axis] - o.dilation[axis] * (kernel[axis] - 1) - 1) / o.stride[axis] + 1
    };
    filters.matmul(&patches).reshape([dx[0], dw[0], size(0), size(1)])
}

/// Image shape, filter shape, settings: odd sizes, strides, dilations, groups, depth-wise, 1×1, filters larger than images.
fn cases() -> Vec<([usize; 4], [usize; 4], ConvOptions)> {
    let o = ConvOptions::new();
    let mut mixed = o.stride(2);
    (mixed.stride, mixed.padding, mixed.dilation) = ([1, 3], [2, 0], [2, 1]);
    vec![
        ([2, 1, 28, 28], [32, 1, 3, 3], o.padding(1)),
        ([3, 32, 14, 14], [64, 32, 3, 3], o.padding(1)),
        ([2, 3, 7, 5], [5, 3, 3, 3], o),
        ([2, 3, 9, 8], [33, 3, 3, 2], o.stride(2).padding(1)),
        ([1, 2, 11, 13], [4, 2, 3, 3], o.dilation(2).padding(2)),
        ([2, 4, 8, 31], [4, 4, 5, 4], mixed),
        ([2, 6, 9, 9], [9, 2, 3, 3], o.groups(3).padding(1)),
        ([2, 8, 10, 7], [8, 1, 3, 3], o.groups(8).stride(2).padding(1)),
        ([2, 5, 6, 6], [10, 1, 3, 3], o.groups(5)),
        ([3, 17, 5, 4], [19, 17, 1, 1], o),
        ([2, 3, 6, 6], [20, 3, 1, 1], o.stride(3)),
        ([1, 2, 2, 3], [3, 2, 5, 5], o.padding(2)),
        ([2, 2, 1, 1], [40, 2, 3, 3], o.padding(4).stride(2)),
        ([1, 1, 50, 3], [1, 1, 3, 3], o.stride(3).dilation(2).padding(3)),
        ([20, 2, 4, 4], [3, 2, 2, 2], o),
        ([0, 2, 4, 4], [3, 2, 2, 2], o),
    ]
}

#[test]
fn values_and_gradients_equal_the_definition() {
    for (dtype, tolerance) in [(DType::F64, 1e-11), (DType::F32, 2e-4)] {
        for (index, (x, w, o)) in cases().into_iter().enumerate() {
            let what = format!("case {index}: {x:?} {w:?} {o:?}");
            let inputs = vec![numbers(&x, 1, dtype), numbers(&w, 2, dtype)];
            let (y, pull) = vjp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], None, &o), &inputs);
            let (z, pull_definition) = vjp(|i: &Vec<Tensor>| by_patches(&i[0], &i[1], &o), &inputs);
            close(&y, &z, tolerance, &what);
            let g = numbers(z.dims(), 3, dtype);
            for (a, b) in pull(&g).iter().zip(&pull_definition(&g)) {
                close(a, b, tolerance, &what);
            }
        }
    }
}

#[test]
fn bias_and_rectifier_equal_the_composition() {
    for (x, w, o) in cases() {
        let inputs = vec![numbers(&x, 1, DType::F64), numbers(&w, 2, DType::F64), numbers(&w[..1], 3, DType::F64)];
        let fused = o.activation(Activation::Relu);
        let (y, pull) = vjp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], Some(&i[2]), &fused), &inputs);
        let plain = |i: &Vec<Tensor>| (by_patches(&i[0], &i[1], &o) + i[2].reshape([w[0], 1, 1])).relu();
        let (z, pull_plain) = vjp(plain, &inputs);
        close(&y, &z, 1e-11, &format!("{x:?} {w:?}"));
        let g = numbers(z.dims(), 4, DType::F64);
        for (a, b) in pull(&g).iter().zip(&pull_plain(&g)) {
            close(a, b, 1e-11, &format!("{x:?} {w:?}"));
        }
        let (y, _) = vjp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], None, &fused), &inputs[..2].to_vec());
        close(&y, &by_patches(&inputs[0], &inputs[1], &o).relu(), 1e-11, "without bias");
    }
}

#[test]
fn tangents_equal_the_definition() {
    for (x, w, o) in cases() {
        let at = vec![numbers(&x, 1, DType::F64), numbers(&w, 2, DType::F64), numbers(&w[..1], 3, DType::F64)];
        let along = vec![numbers(&x, 4, DType::F64), numbers(&w, 5, DType::F64), numbers(&w[..1], 6, DType::F64)];
        let relu = o.activation(Activation::Relu);
        let (_, fast) = jvp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], Some(&i[2]), &relu), &at, &along);
        let slow = |i: &Vec<Tensor>| (by_patches(&i[0], &i[1], &o) + i[2].reshape([w[0], 1, 1])).relu();
        close(&fast, &jvp(slow, &at, &along).1, 1e-11, &format!("{x:?} {w:?}"));
    }
}

/// Second derivatives along a direction, of a function that is not quadratic.
#[test]
fn second_derivatives_equal_the_definition() {
    for (x, w, o) in cases().into_iter().skip(2) {
        let at = vec![numbers(&x, 1, DType::F64), numbers(&w, 2, DType::F64)];
        let along = vec![numbers(&x, 4, DType::F64), numbers(&w, 5, DType::F64)];
        let fast = hvp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], None, &o).sin().sum(), &at, &along);
        let slow = hvp(|i: &Vec<Tensor>| by_patches(&i[0], &i[1], &o).sin().sum(), &at, &along);
        for (a, b) in fast.iter().zip(&slow) {
            close(a, b, 1e-10, &format!("{x:?} {w:?}"));
        }
        // Reverse over reverse.
        let squares = |conv: &dyn Fn(&Vec<Tensor>) -> Tensor, i: &Vec<Tensor>| {
            let (y, pull) = vjp(|i: &Vec<Tensor>| conv(i), i);
            pull(&y.cos()).iter().map(|g| (g * g).sum()).fold(Tensor::scalar(0.0), |a, b| a + b)
        };
        let one = Tensor::scalar(1.0);
        let fast = |i: &Vec<Tensor>| i[0].conv2d(&i[1], None, &o);
        let slow = |i: &Vec<Tensor>| by_patches(&i[0], &i[1], &o);
        let a = vjp(|i: &Vec<Tensor>| squares(&fast, i), &at).1(&one);
        let b = vjp(|i: &Vec<Tensor>| squares(&slow, i), &at).1(&one);
        for (a, b) in a.iter().zip(&b) {
            close(a, b, 1e-9, &format!("{x:?} {w:?}"));
        }
    }
}

/// A central difference of the gradient checks the second derivative without the definition.
#[test]
fn second_derivatives_equal_differences_of_gradients() {
    let o = ConvOptions::new().stride(2).padding(1).groups(2);
    let at = vec![numbers(&[2, 4, 5, 6], 1, DType::F64), numbers(&[6, 2, 3, 3], 2, DType::F64)];
    let along = vec![numbers(&[2, 4, 5, 6], 3, DType::F64), numbers(&[6, 2, 3, 3], 4, DType::F64)];
    let f = |i: &Vec<Tensor>| i[0].conv2d(&i[1], None, &o).tanh().sum();
    let step = 1e-5;
    let moved = |h: f64| at.iter().zip(&along).map(|(x, t)| x + &(t * h)).collect::<Vec<Tensor>>();
    let gradient = |i: &Vec<Tensor>| vjp(f, i).1(&Tensor::scalar(1.0));
    let (ahead, behind) = (gradient(&moved(step)), gradient(&moved(-step)));
    for (second, (a, b)) in hvp(f, &at, &along).iter().zip(ahead.iter().zip(&behind)) {
        close(second, &((a - b) / (2.0 * step)), 1e-7, "difference");
    }
}

#[test]
fn the_transposed_convolution_is_the_adjoint() {
    let o = ConvOptions::new();
    let cases = [
        ([2, 3, 4, 5], [3, 4, 3, 3], o),
        ([1, 4, 3, 3], [4, 20, 3, 2], o.stride(2).padding(1).output_padding(1)),
        ([2, 4, 3, 4], [4, 3, 2, 3], o.groups(2).stride(3).dilation(2)),
        ([1, 2, 3, 3], [2, 1, 4, 4], o.padding(2).dilation(2)),
    ];
    for (x, w, o) in cases {
        let (x, w) = (numbers(&x, 1, DType::F64), numbers(&w, 2, DType::F64));
        let y = x.conv_transpose2d(&w, None, &o);
        let z = numbers(y.dims(), 3, DType::F64);
        let (left, right) = ((&y * &z).sum().item::<f64>(), (&x * &z.conv2d(&w, None, &o)).sum().item::<f64>());
        assert!((left - right).abs() < 1e-10, "{left} {right}");
        let f = |i: &Vec<Tensor>| i[0].conv_transpose2d(&i[1], None, &o).sin().sum();
        let (at, step) = (vec![x.clone(), w.clone()], 1e-5);
        let along = vec![numbers(x.dims(), 5, DType::F64), numbers(w.dims(), 6, DType::F64)];
        let moved = |h: f64| at.iter().zip(&along).map(|(x, t)| x + &(t * h)).collect::<Vec<Tensor>>();
        let gradient = |i: &Vec<Tensor>| vjp(f, i).1(&Tensor::scalar(1.0));
        let (ahead, behind) = (gradient(&moved(step)), gradient(&moved(-step)));
        for (second, (a, b)) in hvp(f, &at, &along).iter().zip(ahead.iter().zip(&behind)) {
            close(second, &((a - b) / (2.0 * step)), 1e-6, "difference");
        }
        let slope = (f(&moved(step)) - f(&moved(-step))).item::<f64>() / (2.0 * step);
        let tangent = jvp(f, &at, &along).1.item::<f64>();
        assert!((slope - tangent).abs() < 1e-6, "{slope} {tangent}");
    }
}

#[test]
fn unfold_and_fold_are_transposes() {
    let mut o = ConvOptions::new().stride(2).padding(1);
    o.dilation = [1, 2];
    let x = numbers(&[2, 3, 5, 6], 1, DType::F64);
    let columns = x.unfold([3, 2], &o);
    let z = numbers(columns.dims(), 2, DType::F64);
    let left = (&columns * &z).sum().item::<f64>();
    let right = (&x * &z.fold([5, 6], [3, 2], &o)).sum().item::<f64>();
    assert!((left - right).abs() < 1e-11);
    close(&vjp(|x: &Tensor| x.unfold([3, 2], &o), &x).1(&z), &z.fold([5, 6], [3, 2], &o), 0.0, "unfold");
    close(&vjp(|z: &Tensor| z.fold([5, 6], [3, 2], &o), &z).1(&x), &columns, 0.0, "fold");
    let mapped = vmap(|x: &Tensor| x.unfold([3, 2], &o))(&x);
    close(&mapped, &columns, 0.0, "vmap");
}

/// `vmap` over images, over filters, over both, and of gradients, against a loop over slices.
#[test]
fn vmap_equals_a_loop() {
    let o = ConvOptions::new().stride(2).padding(1).groups(2);
    let (xs, ws) = (numbers(&[3, 2, 4, 5, 6], 1, DType::F64), numbers(&[3, 6, 2, 3, 3], 2, DType::F64));
    let b = numbers(&[6], 3, DType::F64);
    let (x, w) = (xs.get(0), ws.get(0));
    let one = |x: &Tensor, w: &Tensor| x.conv2d(w, Some(&b), &o);
    let looped = |f: &dyn Fn(usize) -> Tensor| {
        let parts: Vec<Tensor> = (0..3).map(f).collect();
        Tensor::stack(&parts.iter().collect::<Vec<_>>(), 0)
    };
    close(&vmap(|x: &Tensor| one(x, &w))(&xs), &looped(&|i| one(&xs.get(i), &w)), 1e-12, "images");
    close(&vmap(|w: &Tensor| one(&x, w))(&ws), &looped(&|i| one(&x, &ws.get(i))), 1e-12, "filters");
    let both = vmap(|i: &Vec<Tensor>| one(&i[0], &i[1]))(&vec![xs.clone(), ws.clone()]);
    close(&both, &looped(&|i| one(&xs.get(i), &ws.get(i))), 1e-12, "both");
    let loss = |x: &Tensor, w: &Tensor| one(x, w).sin().sum();
    let by_filters = |x: &Tensor| vjp(|w: &Tensor| loss(x, w), &w).1(&Tensor::scalar(1.0));
    close(&vmap(by_filters)(&xs), &looped(&|i| by_filters(&xs.get(i))), 1e-11, "gradient by filters");
    let by_images = |x: &Tensor| vjp(|x: &Tensor| loss(x, &w), x).1(&Tensor::scalar(1.0));
    close(&vmap(by_images)(&xs), &looped(&|i| by_images(&xs.get(i))), 1e-11, "gradient by images");
    let plain = |x: &Tensor| vjp(|w: &Tensor| x.conv2d(w, None, &o).sin().sum(), &w).1(&Tensor::scalar(1.0));
    close(&vmap(plain)(&xs), &looped(&|i| plain(&xs.get(i))), 1e-11, "gradient without bias");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (x, w, o) in cases() {
        let images = [x[0] * 17, x[1], x[2], x[3]];
        let inputs = vec![numbers(&images, 1, DType::F32), numbers(&w, 2, DType::F32), numbers(&w[..1], 3, DType::F32)];
        let run = |threads: usize| {
            set_num_threads(threads);
            let (y, pull) = vjp(|i: &Vec<Tensor>| i[0].conv2d(&i[1], Some(&i[2]), &o), &inputs);
            let g = numbers(y.dims(), 4, DType::F32);
            let mut bits: Vec<Vec<u32>> = vec![y.to_vec::<f32>().iter().map(|v| v.to_bits()).collect()];
            bits.extend(pull(&g).iter().map(|g| g.to_vec::<f32>().iter().map(|v| v.to_bits()).collect()));
            bits
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == alone, "{threads} threads: {x:?} {w:?}");
        }
    }
    set_num_threads(0);
}

#[test]
fn views_are_read_through_their_strides() {
    let o = ConvOptions::new().padding(1);
    let (x, w) = (numbers(&[4, 3, 5, 2], 1, DType::F64), numbers(&[3, 3, 3, 2], 2, DType::F64));
    let (turned, flipped) = (x.permute(&[3, 1, 0, 2]), w.swap_axes(2, 3));
    close(&turned.conv2d(&flipped, None, &o), &turned.copied().conv2d(&flipped.copied(), None, &o), 0.0, "views");
}

trait Copied {
    fn copied(&self) -> Tensor;
}

impl Copied for Tensor {
    fn copied(&self) -> Tensor {
        Tensor::from_vec(self.to_vec::<f64>(), Shape::new(self.dims()))
    }
}

#[test]
fn errors_name_both_shapes() {
    let o = ConvOptions::new();
    let x = Tensor::zeros([1, 3, 4, 4], DType::F32);
    let message = |w: &[usize], o: &ConvOptions| {
        let w = Tensor::zeros(Shape::new(w), DType::F32);
        x.try_conv2d(&w, None, o).map(|_| ()).expect_err("refused").to_string()
    };
    let depth = message(&[2, 4, 3, 3], &o);
    assert!(depth.contains("conv2d") && depth.contains("1, 3, 4, 4") && depth.contains("2, 4, 3, 3"), "{depth}");
    assert!(message(&[2, 3, 5, 5], &o).contains("larger than the padded image"));
    assert!(message(&[2, 3, 3], &o).contains("images, channels, height, width"));
    assert!(message(&[2, 3, 0, 3], &o).contains("larger than the padded image"));
    assert!(message(&[2, 3, 3, 3], &o.stride(0)).contains("stride"));
    assert!(message(&[2, 3, 3, 3], &o.groups(2)).contains("groups"));
    let bias = x.try_conv2d(&Tensor::zeros([2, 3, 3, 3], DType::F32), Some(&Tensor::zeros([3], DType::F32)), &o);
    assert!(bias.expect_err("refused").to_string().contains("bias"));
    let other = x.try_conv2d(&Tensor::zeros([2, 3, 3, 3], DType::F64), None, &o);
    assert!(other.expect_err("refused").to_string().contains("f64"));
    let transposed =
        x.try_conv_transpose2d(&Tensor::zeros([2, 3, 3, 3], DType::F32), None, &o).expect_err("refused").to_string();
    assert!(transposed.contains("1, 3, 4, 4") && transposed.contains("2, 3, 3, 3"), "{transposed}");
}
