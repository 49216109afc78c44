//! B1 to B6 and B36: gradient, directional derivative, Jacobian, chain rule, linearisation, Hessian.

use std::cell::Cell;

use tove_tensor::testing::values;
use tove_tensor::{GradCheck, Tensor, grad, gradcheck, hessian, hvp, jacfwd, jacobian, jacrev, jvp, meter};

use crate::common::load;
use crate::support::{TOL64, close, constants, function, input, log_slope, output, tensor};

#[test]
fn b1_gradient_of_ten_functions() {
    let fixture = load("jax_derivatives");
    let cases = fixture.cases_starting("b1 ");
    assert_eq!(cases.len(), 10);
    for case in cases {
        let (name, x, c) = (&case.name[3..], input(case, "x"), constants(case));
        let f = |x: &Tensor| function(name, x, &c);
        close(&f(&x), &output(case, "y"), TOL64);
        close(&grad(f)(&x), &tensor(case.grad("x")), TOL64);
        gradcheck(|x: &[Tensor]| f(&x[0]), &[x]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn b2_directional_derivative_in_one_forward_pass() {
    let fixture = load("jax_derivatives");
    for case in fixture.cases_starting("b1 ") {
        let (name, x, v, c) = (&case.name[3..], input(case, "x"), input(case, "v"), constants(case));
        let runs = Cell::new(0);
        let f = |x: &Tensor| {
            runs.set(runs.get() + 1);
            function(name, x, &c)
        };
        let ((_, slope), cost) = meter::measure(|| jvp(f, &x, &v));
        assert_eq!((runs.get(), cost.calls("backward step")), (1, 0), "{name}");
        close(&slope, &(grad(f)(&x) * &v).sum(), TOL64);
        close(&slope, &output(case, "directional"), TOL64);
        let h = 1e-6;
        let difference = (f(&(&x + &v * h)) - f(&(&x - &v * h))) / (2.0 * h);
        close(&slope, &difference, 1e-6);
    }
}

/// Each function of the program is evaluated once, derivative included.
#[test]
fn forward_mode_evaluates_each_value_once() {
    let f = |x: &Tensor| (x.sin() * x.exp()).sum();
    let x = values(5, 1);
    let (_, cost) = meter::measure(|| jvp(f, &x, &x));
    assert_eq!((cost.calls("sin"), cost.calls("exp")), (1, 1));
}

#[test]
fn b3_jacobian_in_three_shapes() {
    let fixture = load("jax_derivatives");
    let case = |name: &str| fixture.case(name);
    let w = input(case("b3 five of three"), "w");
    let five = |x: &Tensor| Tensor::concat(&[&w.matmul(x).tanh(), &(x.get(0) * x.get(1)).unsqueeze(0)], 0);
    let one = |x: &Tensor| x.square().sum_axes(&[0], true);
    let ordinary = |x: &Tensor| x.sin() * x;
    let check = |name: &str, f: &dyn Fn(&Tensor) -> Tensor, shape: [usize; 2]| {
        let case = case(name);
        let x = input(case, "x");
        close(&f(&x), &output(case, "y"), TOL64);
        for (ours, theirs) in [(jacfwd(f, &x), "jacfwd"), (jacrev(f, &x), "jacrev"), (jacobian(f, &x), "jacrev")] {
            assert_eq!(ours.shape(), &shape);
            close(&ours, &output(case, theirs), TOL64);
        }
    };
    check("b3 five of three", &five, [5, 3]);
    check("b3 one of three", &one, [1, 3]);
    check("b3 one of one", &ordinary, [1, 1]);
    let x = input(case("b3 one of three"), "x");
    close(&jacobian(one, &x).get(0), &grad(|x: &Tensor| one(x).sum())(&x), TOL64);
}

/// Row i is the transposed gradient of output i; column j is the response of all outputs to input j.
#[test]
fn b4_rows_are_gradients_columns_are_responses() {
    let f = |x: &Tensor| {
        let (x1, x2) = (x.get(0), x.get(1));
        Tensor::stack(&[&(&x1 * &x1), &(&x1 * &x2), &x2], 0)
    };
    let (x1, x2) = (1.5, -0.75);
    let x = Tensor::from([x1, x2]);
    let j = jacobian(f, &x);
    assert_eq!(j.get(1).to_vec::<f64>(), [x2, x1]);
    assert_eq!(j.select_index(1, 0).to_vec::<f64>(), [2.0 * x1, x2, 0.0]);
    let row = grad(|x: &Tensor| f(x).get(1))(&x);
    assert_eq!(row.to_vec::<f64>(), j.get(1).to_vec::<f64>());
    let column = jvp(f, &x, &Tensor::from([1.0, 0.0])).1;
    assert_eq!(column.to_vec::<f64>(), j.select_index(1, 0).to_vec::<f64>());
}

#[test]
fn b5_jacobian_of_a_composition_is_the_product() {
    for (seed, sizes) in [(1, [3, 5, 2]), (2, [4, 1, 6]), (3, [2, 7, 7]), (4, [6, 3, 1])] {
        let [inside, middle, outside] = sizes;
        let (v, b) = (values([middle, inside], seed), values(middle, seed + 10));
        let w = values([outside, middle], seed + 20);
        let g = |x: &Tensor| (v.matmul(x) + &b).tanh();
        let f = |h: &Tensor| w.matmul(h).softplus();
        let x = values(inside, seed + 30);
        let product = jacobian(f, &g(&x)).matmul(&jacobian(g, &x));
        for composed in [jacfwd(|x: &Tensor| f(&g(x)), &x), jacrev(|x: &Tensor| f(&g(x)), &x)] {
            assert_eq!(composed.shape(), &[outside, inside]);
            close(&composed, &product, TOL64);
        }
    }
}

#[test]
fn b6_taylor_linearisation() {
    let f = |x: &Tensor| x * x - x * 1.5;
    let x0 = Tensor::scalar(0.5);
    let linear = |h: f64| f(&x0).item::<f64>() + jacobian(f, &x0).item::<f64>() * h;
    let exact = |h: f64| f(&(&x0 + h)).item::<f64>();
    assert_eq!(format!("{:.4} {:.4}", exact(0.01), linear(0.01)), "-0.5049 -0.5050");
    let gap = |h: f64| (exact(h) - linear(h)).abs();
    assert!((gap(0.01) - 1e-4).abs() < 1e-12 && (gap(0.005) - 2.5e-5).abs() < 1e-12);
    assert!((gap(0.01) / gap(0.005) - 4.0).abs() < 1e-6);

    // For a vector function and for a loss, the remainder has slope 2 on a log-log plot.
    let (w, x, d) = (values([3, 4], 1), values(4, 2), values(4, 3));
    let vector = |x: &Tensor| w.matmul(x).tanh();
    let loss = |x: &Tensor| (w.matmul(x).exp().sum() + 1.0).ln();
    let (j, slope) = (jacobian(vector, &x), grad(loss)(&x));
    let remainders = |h: f64| {
        let moved = &x + &d * h;
        let first = vector(&moved) - vector(&x) - j.matmul(&(&d * h));
        let second = loss(&moved) - loss(&x) - (&d * h).matmul(&slope);
        (first.square().sum().sqrt().item::<f64>(), second.item::<f64>().abs())
    };
    let steps: Vec<f64> = (0..6).map(|k| 1e-2 / f64::from(1 << k)).collect();
    let first: Vec<(f64, f64)> = steps.iter().map(|&h| (h, remainders(h).0)).collect();
    let second: Vec<(f64, f64)> = steps.iter().map(|&h| (h, remainders(h).1)).collect();
    for points in [first, second] {
        assert!((log_slope(&points) - 2.0).abs() < 0.05, "slope {}", log_slope(&points));
    }
}

#[test]
fn b36_hessian_and_its_products() {
    let fixture = load("jax_derivatives");
    for case in fixture.cases_starting("b36 ") {
        let (name, x, v, c) = (&case.name[4..], input(case, "x"), input(case, "v"), constants(case));
        let f = |x: &Tensor| function(name, x, &c);
        let h = hessian(f, &x);
        close(&h, &h.t(), 1e-10);
        close(&h, &output(case, "hessian"), TOL64);
        let product = hvp(f, &x, &v);
        close(&product, &h.matmul(&v), TOL64);
        close(&product, &output(case, "hv"), TOL64);
        GradCheck::default().check(|x: &[Tensor]| f(&x[0]), &[x]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let case = fixture.case("b36 least squares");
    let (data, x, c) = (input(case, "data"), input(case, "x"), constants(case));
    let normal = data.t().matmul(&data) / data.dims()[0] as f64;
    close(&hessian(|w: &Tensor| function("least squares", w, &c), &x), &normal, TOL64);

    // A product never holds the whole matrix: its memory grows with n, not with n².
    let peak = |n: usize| {
        let (x, v) = (values(n, 1), values(n, 2));
        meter::measure(|| hvp(|x: &Tensor| (x.square().sum() + 1.0).ln(), &x, &v)).1.peak_bytes()
    };
    assert!(peak(2000) < 3 * peak(1000) && peak(2000) < 2000 * 2000);
}
