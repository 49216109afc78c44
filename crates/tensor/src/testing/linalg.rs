//! Linear algebra, on matrices well away from singular ones and from equal eigenvalues.

use super::{Apply, Sample, sample, values};
use crate::linalg::{Norm, Triangle};
use crate::{DType, Tensor};

/// A matrix with a dominant diagonal.
fn regular() -> Tensor {
    values([3, 3], 71) * 0.5 + Tensor::from([2.0, 3.0, 4.5]).diag(0)
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
        of("logdet", |x| definite(&x[0]).logdet()),
        of("singular_values", |x| x[0].singular_values()),
        of("eigvalsh", |x| definite(&x[0]).eigvalsh()),
        of("cond", |x| x[0].cond(Norm::Spectral)),
        of("matrix_norm", |x| x[0].matrix_norm(Norm::Frobenius)),
        sample("matrix_norm", "nuclear", vec![regular()], |x| x[0].matrix_norm(Norm::Nuclear)),
        of("expm", |x| (&x[0] * 0.2).expm()),
        of("matrix_power", |x| x[0].matrix_power(3)),
    ]
}
