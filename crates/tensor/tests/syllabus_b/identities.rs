//! B33 to B35: layouts, linear, quadratic and bilinear forms.

use tove_tensor::testing::values;
use tove_tensor::{Tensor, grad, jacobian};

use crate::support::{TOL64, close};

/// Jacobian layout, which `tove` returns (documented in `autodiff::functional`): entry (i, j) of ∂y/∂x is ∂yᵢ/∂xⱼ, and
/// ∂z/∂x = (∂z/∂y)(∂y/∂x). Gradient layout has entry (j, i) = ∂yᵢ/∂xⱼ, so that column i is the gradient of yᵢ, and
/// ∇ₓz = (∂y/∂x)(∂z/∂y), inner factor first. It is built here from gradients of single outputs, not by transposing.
#[test]
fn b33_both_layouts_are_transposes_of_each_other() {
    let gradient_layout = |f: &dyn Fn(&Tensor) -> Tensor, x: &Tensor| {
        let columns: Vec<Tensor> = (0..f(x).numel()).map(|i| grad(|x: &Tensor| f(x).get(i))(x)).collect();
        Tensor::stack(&columns.iter().collect::<Vec<_>>(), 1) // (inputs, outputs)
    };
    for (seed, [n, m, k]) in [(1, [4, 3, 5]), (2, [2, 6, 1]), (3, [5, 5, 2])] {
        let (v, w, x) = (values([m, n], seed), values([k, m], seed + 10), values(n, seed + 20));
        let inner = |x: &Tensor| v.matmul(x).sin();
        let outer = |y: &Tensor| w.matmul(y).tanh();
        let whole = |x: &Tensor| outer(&inner(x));
        let y = inner(&x);
        // Gradient layout: inner factor first.
        let (inner_factor, outer_factor) = (gradient_layout(&inner, &x), gradient_layout(&outer, &y));
        assert_eq!((inner_factor.shape(), outer_factor.shape()), (&[n, m].into(), &[m, k].into()));
        let by_gradients = inner_factor.matmul(&outer_factor);
        close(&by_gradients, &gradient_layout(&whole, &x), TOL64);
        // Jacobian layout: the opposite order, each factor transposed.
        let (dz_dy, dy_dx) = (jacobian(outer, &y), jacobian(inner, &x));
        assert_eq!((dz_dy.shape(), dy_dx.shape()), (&[k, m].into(), &[m, n].into()));
        let by_jacobians = dz_dy.matmul(&dy_dx);
        let ours = jacobian(whole, &x);
        assert_eq!(ours.shape(), &[k, n]);
        close(&ours, &by_jacobians, TOL64);
        // Both by hand: ∂yᵢ/∂xⱼ = cos((V x)ᵢ) Vᵢⱼ.
        let slopes = v.matmul(&x).cos();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let by_hand = slopes.at::<f64>(&[i]) * v.at::<f64>(&[i, j]);
            assert!((dy_dx.at::<f64>(&[i, j]) - by_hand).abs() < 1e-12);
            assert!((inner_factor.at::<f64>(&[j, i]) - by_hand).abs() < 1e-12);
        }
        // Transposed-equal, entry by entry.
        for (i, j) in (0..k).flat_map(|i| (0..n).map(move |j| (i, j))) {
            assert!((ours.at::<f64>(&[i, j]) - by_gradients.at::<f64>(&[j, i])).abs() < TOL64);
        }
    }
}

#[test]
fn b34_linear_and_quadratic_forms() {
    for n in [1, 3, 6] {
        let (theta, x, a) = (values(n, 1), values(n, 2), values([n, n], 3));
        close(&grad(|x: &Tensor| theta.matmul(x))(&x), &theta, TOL64);
        close(&grad(|theta: &Tensor| theta.matmul(&x))(&theta), &x, TOL64);
        let form = |x: &Tensor, a: &Tensor| x.matmul(a).matmul(x);
        let symmetric = &a + a.t();
        for a in [&a, &symmetric] {
            close(&grad(|x: &Tensor| form(x, a))(&x), &(a + a.t()).matmul(&x), TOL64);
            let outer = x.unsqueeze(1) * x.unsqueeze(0);
            close(&grad(|a: &Tensor| form(&x, a))(a), &outer, TOL64);
        }
        close(&grad(|x: &Tensor| form(x, &symmetric))(&x), &(symmetric.matmul(&x) * 2.0), TOL64);
    }
    let lopsided = values([3, 3], 3);
    assert_ne!(lopsided.to_vec::<f64>(), lopsided.t().to_vec::<f64>());
}

#[test]
fn b35_bilinear_form() {
    for (m, n) in [(2, 5), (4, 3), (1, 6)] {
        let (z, x, a) = (values(m, 1), values(n, 2), values([m, n], 3));
        let gradient = grad(|a: &Tensor| z.matmul(a).matmul(&x))(&a);
        assert_eq!(gradient.shape(), &[m, n]);
        close(&gradient, &(z.unsqueeze(1) * x.unsqueeze(0)), TOL64);
        for i in 0..m {
            for j in 0..n {
                let entry = z.at::<f64>(&[i]) * x.at::<f64>(&[j]);
                assert!((gradient.at::<f64>(&[i, j]) - entry).abs() < 1e-14);
            }
        }
    }
}
