//! H1, H2, H18, H20, H27 and I8: what nets do, unrolled.

// Helpers of tests end the test where they fail.
#![allow(clippy::unwrap_used)]

use tove_lessons::batch_norm::{backward, forward};
use tove_lessons::collapse::collapse;
use tove_lessons::convolution::{copies, unshared};
use tove_lessons::depth::{recurrence_gradient, sweep};
use tove_nn::{BatchNorm, Layer, Linear, ModuleExt, Nonlinearity, Pass, Rng, Sequential};
use tove_tensor::testing::values;
use tove_tensor::{ConvOptions, DType, Key, Tensor, gradcheck, linalg};

const TOL64: f64 = 1e-10;

#[track_caller]
fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let gap: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let error = norm(&gap) / norm(&b).max(1.0);
    assert!(error <= tolerance, "error {error:e}");
}

fn layers(sizes: &[usize], seed: u64) -> Vec<Linear> {
    let mut rng = Rng::new(seed);
    let layer = |pair: &[usize]| {
        let mut layer = Linear::new(pair[0], pair[1], &mut rng);
        layer.to_dtype(DType::F64).unwrap();
        layer
    };
    sizes.windows(2).map(layer).collect()
}

fn one_after_another(layers: &[Linear], x: &Tensor) -> Tensor {
    layers.iter().fold(x.clone(), |x, layer| layer.forward(&x, &Pass::eval()).unwrap())
}

fn bias(layer: &Linear) -> Tensor {
    layer.bias.clone().unwrap()
}

#[test]
fn h1_two_affine_maps_are_one() {
    let pair = layers(&[4, 6, 1], 1);
    let one = collapse(&pair).unwrap().unwrap();
    // A = w₂ᵀ W₁, c = w₂ᵀ b₁ + b₂
    close(&one.weight, &pair[1].weight.matmul(&pair[0].weight), TOL64);
    close(&bias(&one), &(pair[1].weight.matmul(&bias(&pair[0])) + bias(&pair[1])), TOL64);
    let x = values([9, 4], 2);
    close(&one.forward(&x, &Pass::eval()).unwrap(), &one_after_another(&pair, &x), TOL64);
}

#[test]
fn h2_any_number_of_affine_maps_is_one() {
    for n in 2..=6 {
        let sizes: Vec<usize> = (0..=n).map(|i| 3 + (5 * i) % 4).collect();
        let many = layers(&sizes, n as u64);
        let one = collapse(&many).unwrap().unwrap();
        let x = values([5, sizes[0]], 3);
        close(&one.forward(&x, &Pass::eval()).unwrap(), &one_after_another(&many, &x), TOL64);
    }
    // The seed's bias b_N + Σ_{i=2}^{N-1} W_i b_{i-1} loses W₂ b₁ for N = 2.
    let pair = layers(&[3, 4, 2], 8);
    let lost = bias(&collapse(&pair).unwrap().unwrap()) - bias(&pair[1]);
    close(&lost, &pair[1].weight.matmul(&bias(&pair[0])), TOL64);
    assert!(lost.abs().max().item::<f64>() > 1e-3);
    assert!(collapse(&[]).unwrap().is_none());
    // Layers without bias, and with one in between.
    let mut many = layers(&[3, 4, 2, 5], 9);
    (many[0].bias, many[2].bias) = (None, None);
    let x = values([2, 3], 4);
    let one = collapse(&many).unwrap().unwrap();
    close(&one.forward(&x, &Pass::eval()).unwrap(), &one_after_another(&many, &x), TOL64);
}

#[test]
fn h18_gradients_of_powers_overflow_or_vanish_with_depth_and_of_rectifiers_do_not() {
    let (cube, depths) = (Nonlinearity::Power(3.0), [2, 4, 6, 8, 10]);
    let norms = |phi, scale| -> Vec<f64> {
        sweep(phi, &depths, 16, scale, 3).unwrap().into_iter().map(|point| point.norm).collect()
    };
    let (large, small) = (norms(cube, 3.0), norms(cube, 0.05));
    assert!(large[0].is_finite() && large[1] > 1e10 * large[0] && !large[4].is_finite(), "{large:?}");
    assert!(small[0] > 0.0 && small[1] < 1e-10 * small[0] && small[4] == 0.0, "{small:?}");
    for scale in [3.0, 0.05] {
        let of_relu = norms(Nonlinearity::Relu, scale);
        assert!(of_relu.iter().all(|norm| (1e-3 * scale..1e3 * scale).contains(norm)), "{of_relu:?}");
    }
    // A power is not linear, unless it is the first.
    let (a, b) = (Tensor::from([1.5]), Tensor::from([-0.7]));
    for (p, linear) in [(1.0, true), (2.0, false), (3.0, false)] {
        let phi = |s: &Tensor| Nonlinearity::Power(p).apply(s).unwrap().item::<f64>();
        assert_eq!((phi(&(&a + &b)) - phi(&a) - phi(&b)).abs() < 1e-12, linear);
    }
    gradcheck(|x| cube.apply(&x[0]).unwrap(), &[Tensor::from([-2.0, -0.3, 0.4, 1.7])]).unwrap();
    let root = Nonlinearity::SquareRoot;
    assert!(root.apply(&Tensor::from([-1.0])).is_err());
    gradcheck(|x| root.apply(&x[0]).unwrap(), &[Tensor::from([0.3, 0.4, 1.7])]).unwrap();
}

#[test]
fn h20_a_linear_recurrence_scales_the_gradient_by_powers_of_eigenvalues() {
    let steps = 50;
    // A symmetric W with eigenvalues 1.1, 0.9 and others, along mixed directions.
    let vectors = linalg::qr(&Key::new(5).normal([4, 4], DType::F64)).unwrap().q;
    let eigenvalues = [1.1, 0.9, -1.05, 0.8f64];
    let w = (&vectors * &Tensor::from(eigenvalues)).matmul(&vectors.t());
    for (index, eigenvalue) in eigenvalues.into_iter().enumerate() {
        let v = vectors.select_index(1, index).contiguous();
        let gradient = recurrence_gradient(&w, &v, steps).unwrap();
        let ratio = gradient.norm(2.0).item::<f64>() / v.norm(2.0).item::<f64>();
        let predicted = eigenvalue.abs().powi(steps as i32);
        assert!((ratio / predicted - 1.0).abs() < 1e-8, "{ratio} {predicted}");
    }
    let ratio = |index: usize| {
        recurrence_gradient(&w, &vectors.select_index(1, index).contiguous(), steps).unwrap().norm(2.0).item::<f64>()
    };
    assert!((ratio(0) - 117.39).abs() < 5e-3 && (ratio(1) - 0.00515).abs() < 5e-6);
}

#[test]
fn h27_the_backward_pass_by_hand_equals_the_derivative() {
    let (x, dy, eps) = (values([7, 3], 1), values([7, 3], 2), 1e-5);
    let mut norm = BatchNorm::new(3);
    norm.to_dtype(DType::F64).unwrap();
    norm.weight = Tensor::from([1.5, -0.5, 2.0]).requires_grad();
    norm.bias = Tensor::from([0.1, 0.2, 0.3]).requires_grad();
    let tracked = x.clone().requires_grad();
    let y = norm.forward(&tracked, &Pass::train(Key::new(0))).unwrap();
    (&y * &dy).sum().backward();
    let seen = forward(&x, eps).unwrap();
    close(&(&seen.normalised * &norm.weight.detach() + norm.bias.detach()), &y, TOL64);
    let by_hand = backward(&seen, &norm.weight.detach(), &dy).unwrap();
    close(&by_hand.x, &tracked.grad().unwrap(), TOL64);
    close(&by_hand.scale, &norm.weight.grad().unwrap(), TOL64);
    close(&by_hand.shift, &norm.bias.grad().unwrap(), TOL64);
    assert!(by_hand.x.sum_axes(&[0], false).abs().max().item::<f64>() < 1e-12);
    assert!(seen.centred.sum_axes(&[0], false).abs().max().item::<f64>() < 1e-12); // the last term of dμ
    let f = |p: &[Tensor]| forward(&p[0], eps).unwrap().normalised * &p[1] + &p[2];
    gradcheck(f, &[x, norm.weight.detach(), norm.bias.detach()]).unwrap();
}

#[test]
fn i8_the_gradient_of_a_shared_filter_is_the_sum_over_its_copies() {
    for options in [ConvOptions::new(), ConvOptions::new().stride(2).padding(1), ConvOptions::new().dilation(2)] {
        let (x, w) = (values([2, 3, 7, 6], 1), values([4, 3, 3, 2], 2).requires_grad());
        let y = x.conv2d(&w, None, &options);
        let positions = y.dims()[2] * y.dims()[3];
        let dy = values([2, 4, positions], 3);
        (y.reshape([2, 4, positions]) * &dy).sum().backward();
        let own = copies(&w.detach(), positions).unwrap().requires_grad();
        let unrolled = unshared(&x, &own, [3, 2], &options).unwrap();
        close(&unrolled, &y.reshape([2, 4, positions]), TOL64);
        (&unrolled * &dy).sum().backward();
        let gradients = own.grad().unwrap(); // (positions, out, in · rows · columns)
        close(&gradients.sum_axes(&[0], false).reshape([4, 3, 3, 2]), &w.grad().unwrap(), TOL64);
        // The copies have gradients of their own: sharing is what adds them.
        assert!((gradients.get(0) - gradients.get(1)).abs().max().item::<f64>() > 1e-3);
    }
}

#[test]
fn collapse_of_a_net_keeps_nothing_of_its_depth() {
    let wide = layers(&[3, 50, 2], 5);
    let one = collapse(&wide).unwrap().unwrap();
    assert_eq!((one.count_parameters(), wide.iter().map(ModuleExt::count_parameters).sum::<usize>()), (8, 302));
    let net = wide.into_iter().fold(Sequential::new(), Sequential::add);
    let x = values([4, 3], 6);
    close(&one.forward(&x, &Pass::eval()).unwrap(), &net.forward(&x, &Pass::eval()).unwrap(), TOL64);
}
