//! B33 to B35: layouts, linear, quadratic and bilinear forms.

use tove_tensor::testing::values;
use tove_tensor::{Tensor, grad, jacobian};

use crate::support::{TOL64, close};

/// Jacobian layout, which `tove` returns (documented in `autodiff::functional`): ∂z/∂x = (∂z/∂y)(∂y/∂x). Gradient layout
/// is the transpose of each factor in the opposite order: ∇ₓz = (∂y/∂x)ᵀ (∂z/∂y)ᵀ.
#[test]
fn b33_both_layouts_are_transposes_of_each_other() {
    for (seed, [n, m, k]) in [(1, [4, 3, 5]), (2, [2, 6, 1]), (3, [5, 5, 2])] {
        let (v, w, x) = (values([m, n], seed), values([k, m], seed + 10), values(n, seed + 20));
        let inner = |x: &Tensor| v.matmul(x).sin();
        let outer = |y: &Tensor| w.matmul(y).tanh();
        let (dy_dx, dz_dy) = (jacobian(inner, &x), jacobian(outer, &inner(&x)));
        assert_eq!((dy_dx.shape(), dz_dy.shape()), (&[m, n].into(), &[k, m].into()));
        let jacobian_layout = dz_dy.matmul(&dy_dx);
        let gradient_layout = dy_dx.t().matmul(&dz_dy.t()); // inner factor first
        close(&gradient_layout, &jacobian_layout.t(), TOL64);
        let ours = jacobian(|x: &Tensor| outer(&inner(x)), &x);
        assert_eq!(ours.shape(), &[k, n]);
        close(&ours, &jacobian_layout, TOL64);
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
