//! Derivatives of linear algebra: first and second order, both modes, against differences, and under `vmap`.

// In a test a failure is to end the test.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/matrices.rs"]
mod matrices;

use common::Array;
use matrices::{check, close, positive_definite, random, regular, symmetric};
use tove_tensor::linalg::{Norm, Triangle, eigh, lstsq, qr, slogdet, svd};
use tove_tensor::{DType, Tensor, grad, hessian, jacfwd, jacrev, jvp};

#[test]
fn solve_by_matrix_and_right_side() {
    let (a, b) = (regular(&[3, 3], 1), random(&[3, 2], 2));
    check(&|a| a.solve(&b), &a);
    check(&|b| a.solve(b), &b);
    let vector = random(&[3], 3);
    check(&|a| a.solve(&vector), &a);
    check(&|v| a.solve(v), &vector);
    check(&|x| regular(&[1, 1], 5).solve(x), &random(&[1, 1], 4));
}

#[test]
fn solve_of_a_batch_sums_over_what_was_stretched() {
    let (a, b) = (regular(&[2, 2, 2], 1), random(&[2, 1], 2));
    check(&|a| a.solve(&b), &a);
    check(&|b| a.solve(b), &b);
    assert_eq!(grad(|b: &Tensor| a.solve(b).sum())(&b).shape(), &[2, 1]);
}

#[test]
fn triangular_solve_of_every_kind() {
    let (a, b) = (regular(&[3, 3], 1), random(&[3, 2], 2));
    for kind in [Triangle::LOWER, Triangle::UPPER] {
        for kind in [kind, kind.transposed(), kind.unit(), kind.unit().transposed()] {
            check(&|a| a.triangular_solve(&b, kind), &a);
            check(&|b| a.triangular_solve(b, kind), &b);
        }
    }
}

#[test]
fn inverse_and_powers() {
    check(&|a| a.inverse(), &regular(&[3, 3], 1));
    check(&|a| a.inverse(), &regular(&[2, 2, 2], 2));
    for power in [-2, 0, 1, 3, 6] {
        check(&|a| a.matrix_power(power) * 0.1, &regular(&[2, 2], 3));
    }
}

#[test]
fn cholesky_with_any_entry_moved() {
    check(&|a| a.cholesky(), &positive_definite(&[3, 3], 1));
    check(&|a| a.cholesky(), &positive_definite(&[2, 2, 2], 2));
    check(&|a| a.cholesky(), &Tensor::from([[2.0]]));
}

#[test]
fn determinants_of_singular_matrices() {
    let product = |n: usize, rank: usize| random(&[n, rank], 11).matmul(&random(&[rank, n], 12)) * 2.0;
    for (n, rank) in [(2, 1), (3, 2), (3, 1), (4, 3), (4, 2), (5, 4)] {
        check(&|a| a.det(), &product(n, rank));
    }
    check(&|a| a.det(), &Tensor::zeros([2, 2], DType::F64));
    check(&|a| a.det(), &Tensor::zeros([3, 3], DType::F64));
    check(&|a| a.det(), &Tensor::zeros([1, 1], DType::F64));
    // A batch of both kinds.
    check(&|a| a.det(), &Tensor::stack(&[&regular(&[3, 3], 1), &product(3, 2)], 0));
    // The gradient holds the cofactors: determinants of what is left without a row and a column.
    let a = product(4, 3);
    let gradient = grad(|a: &Tensor| a.det())(&a);
    let others = |i: usize| Tensor::from((0..4).filter(|&k| k != i as i64).collect::<Vec<i64>>());
    for (i, j) in [(0, 0), (1, 2), (3, 0), (2, 3)] {
        let minor = a.index_select(0, &others(i)).index_select(1, &others(j)).det().item::<f64>();
        let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
        assert!((gradient.at::<f64>(&[i, j]) - sign * minor).abs() < 1e-13);
    }
    // The same in single precision.
    let single = grad(|a: &Tensor| a.det())(&a.to_dtype(DType::F32));
    close(&single.to_dtype(DType::F64), &gradient, 1e-6);
    // Third derivatives of an invertible matrix; at a singular one they are refused.
    let third = |a: &Tensor| hessian(|b: &Tensor| grad(|a: &Tensor| a.det())(b).square().sum(), a);
    let b = regular(&[2, 2], 3);
    close(&third(&b), &(Tensor::eye(4, DType::F64).reshape([2, 2, 2, 2]) * 2.0), 1e-10);
    let refused = std::panic::catch_unwind(|| third(&Tensor::from([[1.0, 2.0], [2.0, 4.0]])));
    assert!(refused.is_err());
}

#[test]
fn determinants() {
    let a = regular(&[3, 3], 1);
    check(&|a| a.det() * 0.1, &a);
    check(&|a| a.logdet(), &positive_definite(&[3, 3], 2));
    check(&|a| slogdet(a).unwrap().logdet, &(-&a));
    check(&|a| slogdet(a).unwrap().logdet, &regular(&[2, 2, 2], 4));
}

#[test]
fn eigenvalues_and_eigenvectors() {
    let a = symmetric(&[3, 3], 1);
    check(&|a| a.eigvalsh(), &a);
    check(&|a| eigh(a).unwrap().values, &a);
    check(&|a| eigh(a).unwrap().vectors, &a);
    check(&|a| a.eigvalsh(), &symmetric(&[2, 3, 3], 4));
    // A matrix function through the decomposition: the square root.
    let root = |a: &Tensor| {
        let e = eigh(a).unwrap();
        (&e.vectors * e.values.sqrt().unsqueeze(-2)).matmul(&e.vectors.t())
    };
    let p = positive_definite(&[3, 3], 3);
    close(&root(&p).matmul(&root(&p)), &p, 1e-13);
    check(&root, &p);
}

#[test]
fn eigenvalues_at_a_tie_have_a_finite_gradient() {
    let gradient = grad(|a: &Tensor| (a.eigvalsh() * Tensor::from([1.0, 1.0, 2.0])).sum());
    let a = Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]);
    close(&gradient(&a), &Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]]), 1e-14);
    // By the definition too, which uses the rule for vectors.
    let through = grad(|a: &Tensor| (eigh(a).unwrap().values * Tensor::from([1.0, 1.0, 2.0])).sum());
    close(&through(&a), &gradient(&a), 1e-14);
}

#[test]
fn singular_values_and_vectors() {
    for shape in [[3, 3], [4, 2], [2, 4], [1, 3], [1, 1]] {
        let a = random(&shape, 5);
        check(&|a| a.singular_values(), &a);
        check(&|a| svd(a).unwrap().u, &a);
        check(&|a| svd(a).unwrap().s, &a);
        check(&|a| svd(a).unwrap().vt, &a);
    }
    check(&|a| a.singular_values(), &random(&[2, 3, 2], 6));
}

#[test]
fn singular_values_at_zero_and_at_ties_have_a_finite_gradient() {
    for a in [Tensor::from([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), Tensor::eye(3, tove_tensor::DType::F64)] {
        let gradient = grad(|a: &Tensor| a.singular_values().sum())(&a).to_f64_vec();
        assert!(gradient.iter().all(|x| x.is_finite()), "{gradient:?}");
        let gradient = grad(|a: &Tensor| svd(a).unwrap().s.sum())(&a).to_f64_vec();
        assert!(gradient.iter().all(|x| x.is_finite()), "{gradient:?}");
    }
}

#[test]
fn qr_factors() {
    for shape in [[3, 3], [4, 2], [2, 3], [1, 1]] {
        let a = random(&shape, 8);
        check(&|a| qr(a).unwrap().q, &a);
        check(&|a| qr(a).unwrap().r, &a);
    }
}

#[test]
fn pseudoinverse_of_full_rank() {
    for shape in [[3, 3], [4, 2], [2, 4]] {
        check(&|a| a.pinv(None), &(random(&shape, 11) + random(&shape, 12)));
    }
}

#[test]
fn pseudoinverse_along_matrices_of_one_rank() {
    // A(t) = u vᵀ with both moving keeps rank 1.
    let along = |t: &Tensor| {
        let u = Tensor::from([[1.0], [2.0], [-1.0]]) + t * Tensor::from([[0.5], [1.0], [2.0]]);
        let v = Tensor::from([[2.0, -1.0]]) + t * Tensor::from([[1.0, 3.0]]);
        u.matmul(&v).pinv(Some(1e-6))
    };
    check(&along, &Tensor::from([[0.3]]));
}

#[test]
fn least_squares() {
    for shape in [[4, 2], [2, 4], [3, 3]] {
        let (a, b) = (random(&shape, 11) + random(&shape, 12), random(&[shape[0], 2], 4));
        check(&|a| lstsq(a, &b, None).unwrap().solution, &a);
        check(&|b| lstsq(&a, b, None).unwrap().solution, &b);
        let vector = random(&[shape[0]], 5);
        check(&|b| lstsq(&a, b, None).unwrap().solution, &vector);
    }
}

#[test]
fn exponential_of_small_and_large_matrices() {
    for scale in [0.01f64, 0.3, 1.0, 3.0] {
        check(&|a| (a * scale).expm() * 0.1, &random(&[3, 3], 21));
    }
    check(&|a| a.expm(), &random(&[2, 2, 2], 22));
    // The derivative of e^{tA} by t is A e^{tA}, also for a direction of tiny or huge size.
    let a = random(&[4, 4], 23);
    let (value, slope) = jvp(|t: &Tensor| (t * &a).expm(), &Tensor::scalar(0.7), &Tensor::scalar(1.0));
    close(&slope, &a.matmul(&value), 1e-13);
    for size in [1e-12, 1e12] {
        let (_, slope) = jvp(|a: &Tensor| a.expm(), &(&a * 0.7), &(&a * size));
        close(&(slope / size), &a.matmul(&value), 1e-13);
    }
}

#[test]
fn norms_and_condition_number() {
    let a = random(&[3, 2], 31);
    for norm in [Norm::Spectral, Norm::Nuclear, Norm::Frobenius, Norm::One, Norm::Infinity] {
        check(&|a| a.matrix_norm(norm), &a);
        check(&|a| a.cond(norm) * 0.1, &regular(&[2, 2], 32));
    }
    check(&|a| a.cond(Norm::Spectral), &a);
}

#[test]
fn third_derivatives_of_a_log_determinant() {
    // f(t) = ln det(A + t B): derivatives are tr M, -tr M², 2 tr M³ with M = (A + t B)⁻¹ B.
    let (a, b) = (positive_definite(&[3, 3], 1), symmetric(&[3, 3], 2));
    let f = |t: &Tensor| (&a + t * &b).logdet();
    let m = a.solve(&b);
    let trace = |m: &Tensor| (m * Tensor::eye(3, tove_tensor::DType::F64)).sum();
    let zero = Tensor::scalar(0.0);
    close(&grad(f)(&zero), &trace(&m), 1e-12);
    close(&hessian(f, &zero), &(-trace(&m.matmul(&m))), 1e-12);
    let third = trace(&m.matrix_power(3)) * 2.0;
    close(&grad(|t: &Tensor| hessian(f, t))(&zero), &third, 1e-11);
    close(&jacfwd(|t: &Tensor| hessian(f, t), &zero), &third, 1e-11);
    close(&jacrev(|t: &Tensor| grad(|t: &Tensor| jvp(f, t, &Tensor::scalar(1.0)).1)(t), &zero), &third, 1e-11);
}

#[test]
fn derivatives_in_single_precision() {
    let a = positive_definite(&[3, 3], 1);
    let single = a.to_dtype(tove_tensor::DType::F32);
    let f = |a: &Tensor| a.logdet() + a.cholesky().sum() + a.expm().mean() + a.eigvalsh().max();
    let gradient = grad(f)(&single);
    assert_eq!(gradient.dtype(), tove_tensor::DType::F32);
    close(&gradient.to_dtype(tove_tensor::DType::F64), &grad(f)(&a), 1e-4);
}

#[test]
fn derivative_of_a_determinant_at_a_singular_matrix_is_an_error_of_the_data() {
    let singular = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| grad(|a: &Tensor| a.det())(&singular)));
    let text = *outcome.err().unwrap().downcast::<String>().unwrap();
    assert!(text.contains("singular"), "{text}");
}

/// The loader is compiled into every test program; this one reads no fixture.
#[test]
fn arrays_become_tensors() {
    let array = Array { shape: vec![1, 2], dtype: "f64".into(), data: vec![1.0, 2.0] };
    assert_eq!(matrices::tensor(&array).shape(), &[1, 2]);
}
