//! The engine end to end on small functions.
#![allow(clippy::unwrap_used)]

use tove_tensor::{Activation, Tensor, grad, grad_of, hessian, hvp, jacfwd, jacrev, jvp, per_sample_grad, vmap};

fn close(a: &Tensor, b: &[f64]) {
    let a = a.to_f64_vec();
    assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-10 * (1.0 + y.abs()), "{a:?} {b:?}");
    }
}

#[test]
fn no_perturbation_confusion() {
    // d/dx [x · d/dy (x + y)] = 1
    let inner = |x: &Tensor| {
        let x = x.clone();
        let slope = grad(|y: &Tensor| (&x + y).sum())(&Tensor::scalar(1.0));
        (&x * &slope).sum()
    };
    close(&grad(inner)(&Tensor::scalar(3.0)), &[1.0]);
    let forward = |x: &Tensor| {
        let x = x.clone();
        let (_, slope) = jvp(|y: &Tensor| &x + y, &Tensor::scalar(1.0), &Tensor::scalar(1.0));
        &x * &slope
    };
    close(&jvp(forward, &Tensor::scalar(3.0), &Tensor::scalar(1.0)).1, &[1.0]);
    close(&grad(forward)(&Tensor::scalar(3.0)), &[1.0]);
}

#[test]
fn third_derivatives_in_every_order_of_modes() {
    let f = |x: &Tensor| x.sin() * x;
    let d = |g: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| grad(g)(x);
    let j = |g: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| jvp(g, x, &Tensor::scalar(1.0)).1;
    let x = Tensor::scalar(0.7);
    let expected = -3.0 * 0.7f64.sin() - 0.7 * 0.7f64.cos();
    close(&d(&|x| d(&|x| d(&f, x), x), &x), &[expected]);
    close(&j(&|x| d(&|x| j(&f, x), x), &x), &[expected]);
    close(&d(&|x| j(&|x| d(&f, x), x), &x), &[expected]);
    close(&j(&|x| j(&|x| j(&f, x), x), &x), &[expected]);
}

#[test]
fn jacobians_agree() {
    let f = |x: &Tensor| {
        let m = x.reshape([2, 3]);
        m.matmul(&m.t()).tanh() + m.sum_axes(&[1], false)
    };
    let x = Tensor::linspace(-1.0, 1.0, 6);
    let (a, b) = (jacfwd(f, &x), jacrev(f, &x));
    assert_eq!(a.shape(), &[2, 2, 6]);
    close(&a, &b.to_f64_vec());
}

#[test]
fn hessian_of_a_net() {
    let w1 = Tensor::linspace(-0.5, 0.5, 12).reshape([4, 3]);
    let b1 = Tensor::linspace(0.1, 0.2, 4);
    let x = Tensor::linspace(-1.0, 1.0, 6).reshape([2, 3]);
    let f = |w: &Tensor| x.linear(w, Some(&b1), Activation::Identity).tanh().square().sum();
    let h = hessian(f, &w1).reshape([12, 12]);
    close(&h, &h.t().to_f64_vec());
    let v = Tensor::linspace(1.0, 2.0, 12).reshape([4, 3]);
    let product = h.matmul(&v.reshape([12]));
    close(&hvp(f, &w1, &v), &product.to_f64_vec());
}

#[test]
fn per_sample_gradients_sum_to_the_gradient() {
    let w = Tensor::linspace(-0.5, 0.5, 6).reshape([2, 3]);
    let xs = Tensor::linspace(-1.0, 1.0, 12).reshape([4, 3]);
    let loss = |w: &Tensor, x: &Tensor| w.matmul(x).relu().square().sum();
    let each = per_sample_grad(loss)(&w, &xs);
    assert_eq!(each.shape(), &[4, 2, 3]);
    let whole = grad(|w: &Tensor| xs.matmul(&w.t()).relu().square().sum())(&w);
    close(&each.sum_axes(&[0], false), &whole.to_f64_vec());
    let _ = vmap(|x: &Tensor| x.exp())(&xs);
}

#[test]
fn tape_second_order() {
    let x = Tensor::from([0.3, -0.7]).requires_grad();
    let y = (x.exp() * &x).sum();
    let g = grad_of(&y, &[&x], true).unwrap();
    let z = (&g[0] * &g[0]).sum();
    z.backward();
    let expected: Vec<f64> =
        [0.3f64, -0.7].iter().map(|&x| 2.0 * (x.exp() * (1.0 + x)) * (x.exp() * (2.0 + x))).collect();
    close(&x.grad().unwrap(), &expected);
}

#[test]
fn long_chains_neither_overflow_nor_leak() {
    let x = Tensor::scalar(1.0).requires_grad();
    let mut y = x.clone();
    for _ in 0..100_000 {
        y += 1e-6;
    }
    y.backward();
    close(&x.grad().unwrap(), &[1.0]);
    let mut z = x.clone();
    for _ in 0..100_000 {
        z = &z + 1e-6;
    }
    drop(z);
}
