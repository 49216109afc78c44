//! Linear algebra, on matrices well away from singular ones and from equal eigenvalues.

use super::{Apply, Sample, sample, values};
use crate::error::OrPanic;
use crate::linalg::{self, Norm, Triangle};
use crate::{DType, Tensor};

/// A matrix with a dominant diagonal.
fn regular() -> Tensor {
    values([3, 3], 71) * 0.5 + Tensor::from([2.0, 3.0, 4.5]).diag(0)
}

/// A matrix of size 3 without its full rank.
fn singular(missing: usize) -> Tensor {
    values([3, 3 - missing], 77).matmul(&values([3 - missing, 3], 78))
}

/// All parts in one vector.
fn flat(parts: &[&Tensor]) -> Tensor {
    let parts: Vec<Tensor> = parts.iter().map(|part| part.reshape(part.numel())).collect();
    Tensor::concat(&parts.iter().collect::<Vec<_>>(), 0)
}

fn of(name: &'static str, apply: Apply) -> Sample {
    sample(name, "", vec![regular()], apply)
}

/// A symmetric positive definite matrix made from any matrix.
fn definite(x: &Tensor) -> Tensor {
    x.matmul(&x.t()) + Tensor::eye(3, DType::F64).to_dtype(x.dtype())
}

pub(super) fn samples() -> Vec<Sample> {
    let system = || vec![regular(), values([3, 2], 72)];
    vec![
        of("cholesky", |x| definite(&x[0]).cholesky()),
        sample("solve", "", system(), |x| x[0].solve(&x[1])),
        sample("triangular_solve", "lower", system(), |x| x[0].triangular_solve(&x[1], Triangle::LOWER)),
        sample("triangular_solve", "upper", system(), |x| x[0].triangular_solve(&x[1], Triangle::UPPER)),
        of("inverse", |x| x[0].inverse()),
        sample("pinv", "", vec![values([3, 2], 73)], |x| x[0].pinv(None)),
        of("det", |x| x[0].det()),
        sample("det", "singular", vec![singular(1)], |x| x[0].det()),
        sample("det", "rank one", vec![singular(2)], |x| x[0].det()),
        of("logdet", |x| definite(&x[0]).logdet()),
        of("singular_values", |x| x[0].singular_values()),
        of("eigvalsh", |x| definite(&x[0]).eigvalsh()),
        of("cond", |x| x[0].cond(Norm::Spectral)),
        of("matrix_norm", |x| x[0].matrix_norm(Norm::Frobenius)),
        sample("matrix_norm", "nuclear", vec![regular()], |x| x[0].matrix_norm(Norm::Nuclear)),
        of("expm", |x| (&x[0] * 0.2).expm()),
        of("matrix_power", |x| x[0].matrix_power(3)),
        of("svd", |x| {
            let svd = linalg::svd(&x[0]).or_panic();
            flat(&[&svd.u, &svd.s, &svd.vt])
        }),
        of("eigh", |x| {
            // Eigenvalues well apart, so that the vectors are well conditioned in f32 too.
            let apart = &x[0] * 0.3 + Tensor::from([0.0, 3.0, 7.0]).diag(0).to_dtype(x[0].dtype());
            let eigh = linalg::eigh(&apart).or_panic();
            flat(&[&eigh.values, &eigh.vectors])
        }),
        sample("qr", "", vec![values([4, 3], 74)], |x| {
            let qr = linalg::qr(&x[0]).or_panic();
            flat(&[&qr.q, &qr.r])
        }),
        sample("lstsq", "", vec![values([4, 3], 75), values([4, 2], 76)], |x| {
            linalg::lstsq(&x[0], &x[1], None).or_panic().solution
        }),
        of("slogdet", |x| linalg::slogdet(&x[0]).or_panic().logdet),
    ]
}
