//! B23 to B32: the rules of single operations, and the sum over all paths.

use tove_tensor::testing::values;
use tove_tensor::{DType, GradCheck, Tensor, grad, gradcheck, jvp, meter, vjp};

use crate::common::load;
use crate::support::{TOL32, close, input, output, tensor};

/// The gradients of scalar inputs for a scalar upstream value.
fn pulled(f: impl Fn(&[Tensor; 2]) -> Tensor, x: [f64; 2], upstream: f64) -> [f64; 2] {
    let (_, pull) = vjp(f, &x.map(Tensor::scalar));
    pull(&Tensor::scalar(upstream)).map(|g| g.item())
}

fn pulled_one(f: impl Fn(&Tensor) -> Tensor, x: f64, upstream: f64) -> f64 {
    vjp(f, &Tensor::scalar(x)).1(&Tensor::scalar(upstream)).item()
}

#[test]
fn b23_add_passes_the_gradient_on() {
    assert_eq!(pulled(|[x, y]| x + y, [3.0, -2.0], 5.0), [5.0, 5.0]);
    gradcheck(|x: &[Tensor]| &x[0] + &x[1], &[values([2, 3], 1), values([2, 3], 2)]).unwrap();
    gradcheck(|x: &[Tensor]| &x[0] + &x[1], &[values([2, 1], 1), values(3, 2)]).unwrap();
    let arguments = [values([2, 1, 3], 1), values([4, 1], 2)];
    let (y, pull) = vjp(|[a, b]: &[Tensor; 2]| a + b, &arguments);
    assert_eq!(y.shape(), &[2, 4, 3]);
    let upstream = values([2, 4, 3], 3);
    let [a, b] = pull(&upstream);
    close(&a, &upstream.sum_axes(&[1], true), 1e-14);
    close(&b, &upstream.sum_axes(&[0, 2], false).reshape([4, 1]), 1e-14);
}

#[test]
fn b24_multiply_swaps_the_operands() {
    assert_eq!(pulled(|[x, y]| x * y, [3.0, -2.0], 5.0), [-10.0, 15.0]);
    gradcheck(|x: &[Tensor]| &x[0] * &x[1], &[values([2, 3], 1), values(3, 2)]).unwrap();
}

#[test]
fn b25_matrix_product_rule() {
    for (name, tolerance) in [("torch_f32", TOL32), ("torch_f64", 1e-10)] {
        for case in load(name).cases_starting("b25 ") {
            let (w, x, upstream) = (input(case, "w"), input(case, "x"), input(case, "upstream"));
            let (y, pull) = vjp(|[w, x]: &[Tensor; 2]| w.matmul(x), &[w.clone(), x.clone()]);
            close(&y, &output(case, "y"), tolerance);
            let [dw, dx] = pull(&upstream);
            assert_eq!((dw.shape(), dx.shape()), (w.shape(), x.shape()));
            close(&dw, &tensor(case.grad("w")), tolerance);
            close(&dx, &tensor(case.grad("x")), tolerance);
        }
    }
    let (w, x, g) = (values([3, 4], 1), values([4, 2], 2), values([3, 2], 3));
    let [dw, dx] = vjp(|[w, x]: &[Tensor; 2]| w.matmul(x), &[w.clone(), x.clone()]).1(&g);
    close(&dw, &g.matmul(&x.t()), 1e-14);
    close(&dx, &w.t().matmul(&g), 1e-14);
    // A matrix shared by a batch gets the sum over the batch.
    let (batch, g) = (values([5, 4, 2], 4), values([5, 3, 2], 5));
    let [dw, _] = vjp(|[w, x]: &[Tensor; 2]| w.matmul(x), &[w, batch.clone()]).1(&g);
    let sum = (0..5).map(|i| g.get(i).matmul(&batch.get(i).t())).reduce(|a, b| a + b).unwrap();
    close(&dw, &sum, 1e-14);
}

/// The documented rule at ties: each operand gets half.
#[test]
fn b26_max_routes_to_the_larger_and_shares_ties() {
    assert_eq!(pulled(|[x, y]| x.maximum(y), [3.0, -2.0], 5.0), [5.0, 0.0]);
    assert_eq!(pulled(|[x, y]| x.maximum(y), [-3.0, -2.0], 5.0), [0.0, 5.0]);
    gradcheck(|x: &[Tensor]| x[0].maximum(&x[1]), &[values([2, 3], 1), values([2, 3], 2)]).unwrap();
    gradcheck(|x: &[Tensor]| x[0].max_axes(&[1], false), &[values([2, 3], 1)]).unwrap();
    for tie in [0.0, -1.5, 1e30, f64::INFINITY, f64::NEG_INFINITY] {
        let shares = pulled(|[x, y]| x.maximum(y), [tie, tie], 1.0);
        assert_eq!(shares, [0.5, 0.5]);
    }
    let several = Tensor::from([2.0, 7.0, 7.0, -1.0, 7.0]);
    let shares = grad(|x: &Tensor| x.max())(&several).to_vec::<f64>();
    assert!(shares.iter().all(|&share| share >= 0.0));
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{shares:?}");
    assert_eq!((shares[0], shares[3]), (0.0, 0.0));
}

#[test]
fn b27_relu_as_in_pytorch_to_the_bit() {
    let fixture = load("torch_f32");
    let case = fixture.case("b27 relu");
    let x = input(case, "input");
    assert_eq!(x.dtype(), DType::F32);
    let bits = |x: &Tensor| x.to_vec::<f32>().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    // Zeros of both signs are among the arguments, and cotangents of both signs meet them.
    let zeros: Vec<u32> = bits(&x).into_iter().filter(|x| f32::from_bits(*x) == 0.0).collect();
    assert_eq!(zeros, [(-0.0f32).to_bits(), 0.0f32.to_bits()]);
    let (y, pull) = vjp(|x: &Tensor| x.relu(), &x);
    assert_eq!(bits(&y), bits(&output(case, "y")));
    let upstream = input(case, "upstream");
    let gradient = pull(&upstream);
    assert_eq!(bits(&gradient), bits(&tensor(case.grad("input"))));
    // 1{x > 0} as a choice: what is blocked is +0, even where the cotangent is infinite or NaN.
    for (what, u) in [("as given", upstream.clone()), ("negated", -&upstream)] {
        for (i, (x, g)) in x.to_vec::<f32>().into_iter().zip(pull(&u).to_vec::<f32>()).enumerate() {
            let expected = if x > 0.0 { u.at::<f32>(&[i]) } else { 0.0 };
            assert_eq!(g.to_bits(), expected.to_bits(), "{what}, entry {i}");
        }
    }
    let blocked = vjp(|x: &Tensor| x.relu(), &Tensor::from([-1.0f32, 0.0, 2.0])).1;
    let wild = blocked(&Tensor::from([f32::INFINITY, f32::NAN, f32::INFINITY]));
    assert_eq!(wild.to_vec::<f32>(), [0.0, 0.0, f32::INFINITY]);
    // The same in forward mode, and in a derivative that is differentiated again.
    let (_, tangent) = jvp(|x: &Tensor| x.relu(), &x, &upstream);
    assert_eq!(bits(&tangent), bits(&gradient));
    let (_, twice) = jvp(|u: &Tensor| vjp(|x: &Tensor| x.relu(), &x).1(u), &upstream, &upstream);
    assert_eq!(bits(&twice), bits(&gradient));
}

#[test]
fn b28_reciprocal_rule() {
    assert_eq!(pulled_one(|x| x.recip(), 2.0, 3.0), -0.75);
    assert_eq!(pulled_one(|x| 1.0 / x, 2.0, 3.0), -0.75);
    gradcheck(|x: &[Tensor]| x[0].recip(), &[values(6, 1)]).unwrap();
}

#[test]
fn b29_exponential_rule_reuses_the_value() {
    gradcheck(|x: &[Tensor]| x[0].exp(), &[values(6, 1)]).unwrap();
    let x = values(6, 2).requires_grad();
    let (_, cost) = meter::measure(|| {
        let y = x.exp();
        let value = y.detach();
        y.sum().backward();
        assert_eq!(x.grad().unwrap().to_vec::<f64>(), value.to_vec::<f64>()); // the same bits
    });
    // Kernels of backward passes report what they compute: here one product with the value, and no exponential.
    assert_eq!((cost.calls("exp"), cost.calls("mul")), (1, 1));
    // The error function, whose slope is an exponential, shows one: the meter would see it.
    let (_, control) = meter::measure(|| grad(|x: &Tensor| x.erf().sum())(&values(6, 2)));
    assert_eq!((control.calls("erf"), control.calls("exp")), (1, 1));
    // Nor could it be, hidden in the backward kernel: the argument is not even kept, only the value is.
    let n = 1024; // a size that the buffers do not round up
    let x = values(n, 3).requires_grad();
    let (y, cost) = meter::measure(|| (&x * 2.0).exp());
    assert_eq!(cost.held_bytes(), 8 * n as i64);
    y.sum().backward();
    close(&x.grad().unwrap(), &(y.detach() * 2.0), 1e-15);
}

#[test]
fn b30_power_rule() {
    for n in [-2.0, 0.0, 0.5, 1.0, 3.0] {
        let x = values(6, 1).abs() + 0.2;
        gradcheck(|x: &[Tensor]| x[0].powf(n), std::slice::from_ref(&x)).unwrap_or_else(|error| panic!("{n}: {error}"));
        let expected = x.powf(n - 1.0) * n;
        close(&grad(|x: &Tensor| x.powf(n).sum())(&x), &expected, 1e-14);
    }
    for n in [-2.0, 3.0] {
        let negative = -(values(6, 2).abs() + 0.2);
        gradcheck(|x: &[Tensor]| x[0].powf(n), &[negative]).unwrap_or_else(|error| panic!("{n}: {error}"));
    }
    let at_zero = |n: f64| pulled_one(|x| x.powf(n), 0.0, 1.0);
    assert_eq!((at_zero(1.0), at_zero(0.0), at_zero(3.0)), (1.0, 0.0, 0.0));
    // The same with the exponent as a tensor.
    let at_zero = |n: f64| pulled_one(|x| x.pow(&Tensor::scalar(n)), 0.0, 1.0);
    assert_eq!((at_zero(1.0), at_zero(0.0), at_zero(3.0)), (1.0, 0.0, 0.0));
}

/// At 0 the slope is +inf, as the documentation of `Tensor::sqrt` says.
#[test]
fn b31_square_root_rule() {
    assert_eq!(pulled_one(|x| x.sqrt(), 4.0, 1.0), 0.25);
    assert_eq!(pulled_one(|x| x.sqrt(), 0.0, 1.0), f64::INFINITY);
    gradcheck(|x: &[Tensor]| x[0].sqrt(), &[values(6, 1).abs() + 0.2]).unwrap();
}

/// x reaches the result through q₁ = x² and q₂ = x eˣ, and within q₂ twice more: dL/dx = Σ (∂L/∂qᵢ)(∂qᵢ/∂x).
#[test]
fn b32_total_derivative_sums_over_paths() {
    let f = |x: &Tensor| x * x + x * x.exp();
    GradCheck::default().check(|x: &[Tensor]| f(&x[0]), &[values(5, 1)]).unwrap();
    let x = values(5, 2);
    let exact = &x * 2.0 + (&x + 1.0) * x.exp();
    close(&grad(|x: &Tensor| f(x).sum())(&x), &exact, 1e-14);
    // Not the sum of ∂L/∂qᵢ alone: L = 3 q₁ + 5 q₂ with q₁ = 2x, q₂ = 7x.
    let slope = pulled_one(|x| (x * 2.0) * 3.0 + (x * 7.0) * 5.0, 1.0, 1.0);
    assert_eq!(slope, 3.0 * 2.0 + 5.0 * 7.0);
    // Gradients add up over backward passes instead of overwriting each other.
    let leaf = x.requires_grad();
    f(&leaf).sum().backward();
    let once = leaf.grad().unwrap();
    f(&leaf).sum().backward();
    close(&leaf.grad().unwrap(), &(once * 2.0), 1e-15);
}
