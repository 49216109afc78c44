//! Every function of linear algebra, of one tensor that moves. Where a function takes two, each moves alone and both
//! together.

use tove_tensor::Tensor;
use tove_tensor::linalg::{Norm, Triangle, eigh, lstsq, qr, slogdet, svd};
use tove_tensor::testing::values;

use crate::support::Function;

type Case = (&'static str, Tensor, Function<'static>);

/// Well away from singular, with singular values and eigenvalues apart.
fn matrix() -> Tensor {
    Tensor::from([[2.0, 0.4], [-0.3, 0.9]])
}

fn tall() -> Tensor {
    Tensor::from([[1.5, 0.3], [-0.4, 0.8], [0.6, -0.5]])
}

fn flat(parts: &[&Tensor]) -> Tensor {
    let parts: Vec<Tensor> = parts.iter().map(|part| part.reshape(part.numel())).collect();
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

fn definite(x: &Tensor) -> Tensor {
    x.matmul(&x.t()) + Tensor::eye(2, x.dtype())
}

fn case(name: &'static str, x: Tensor, f: impl Fn(&Tensor) -> Tensor + 'static) -> Case {
    (name, x, Box::new(f))
}

fn of(name: &'static str, f: impl Fn(&Tensor) -> Tensor + 'static) -> Case {
    case(name, matrix(), f)
}

/// A matrix (rows, 2) and a right-hand side (rows, 1) in one vector.
fn both(name: &'static str, rows: usize, f: impl Fn(&Tensor, &Tensor) -> Tensor + 'static) -> Case {
    let (a, b) = (if rows == 2 { matrix() } else { tall() }, values([rows, 1], 3));
    let split = move |x: &Tensor| {
        f(&x.narrow(0, 0, 2 * rows).reshape([rows, 2]), &x.narrow(0, 2 * rows, rows).reshape([rows, 1]))
    };
    (name, flat(&[&a, &b]), Box::new(split))
}

/// All cases.
pub fn linear_algebra() -> Vec<Case> {
    let right = || values([2, 1], 3);
    vec![
        of("cholesky", |x| definite(x).cholesky()),
        of("solve by the matrix", move |x| x.solve(&right())),
        case("solve by the right side", values([2, 1], 3), |b| matrix().solve(b)),
        case("solve with a vector", values(2, 3), |b| matrix().solve(b)),
        both("solve by both", 2, |a, b| a.solve(b)),
        of("triangular_solve, lower", |x| x.triangular_solve(&values([2, 1], 3), Triangle::LOWER)),
        both("triangular_solve, upper", 2, |a, b| a.triangular_solve(b, Triangle::UPPER)),
        of("inverse", |x| x.inverse()),
        case("pinv", tall(), |x| x.pinv(None)),
        of("det", |x| x.det()),
        of("logdet", |x| definite(x).logdet()),
        of("slogdet", |x| slogdet(x).unwrap().logdet),
        of("singular_values", |x| x.singular_values()),
        of("eigvalsh", |x| definite(x).eigvalsh()),
        of("cond, spectral", |x| x.cond(Norm::Spectral)),
        of("cond, Frobenius", |x| x.cond(Norm::Frobenius)),
        of("cond, nuclear", |x| x.cond(Norm::Nuclear)),
        of("matrix_norm, spectral", |x| x.matrix_norm(Norm::Spectral)),
        of("matrix_norm, nuclear", |x| x.matrix_norm(Norm::Nuclear)),
        of("matrix_norm, Frobenius", |x| x.matrix_norm(Norm::Frobenius)),
        of("matrix_norm, one", |x| x.matrix_norm(Norm::One)),
        of("matrix_norm, infinity", |x| x.matrix_norm(Norm::Infinity)),
        of("expm", |x| (x * 0.3).expm()),
        of("matrix_power", |x| x.matrix_power(3)),
        of("matrix_power, negative", |x| x.matrix_power(-2)),
        of("svd", |x| {
            let svd = svd(x).unwrap();
            flat(&[&svd.u, &svd.s, &svd.vt])
        }),
        case("svd of a tall matrix", tall(), |x| {
            let svd = svd(x).unwrap();
            flat(&[&svd.u, &svd.s, &svd.vt])
        }),
        of("eigh", |x| {
            let eigh = eigh(x).unwrap();
            flat(&[&eigh.values, &eigh.vectors])
        }),
        case("qr", tall(), |x| {
            let qr = qr(x).unwrap();
            flat(&[&qr.q, &qr.r])
        }),
        case("qr of a wide matrix", tall().t(), |x| {
            let qr = qr(x).unwrap();
            flat(&[&qr.q, &qr.r])
        }),
        case("lstsq by the matrix", tall(), |x| lstsq(x, &values([3, 1], 4), None).unwrap().solution),
        case("lstsq by the right side", values([3, 1], 4), |b| lstsq(&tall(), b, None).unwrap().solution),
        both("lstsq by both", 3, |a, b| lstsq(a, b, None).unwrap().solution),
    ]
}
