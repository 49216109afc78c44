//! Linear algebra at its edges: matrices without elements, singular ones, NaN, and calls that do not fit.

// In a test a failure is to end the test.
#![allow(clippy::unwrap_used)]

use tove_tensor::linalg::{Norm, Qr, Svd, Triangle, eigh, lstsq, null_space, qr, slogdet, svd};
use tove_tensor::{DType, Tensor, TryLinalg};

#[test]
fn matrices_without_elements() {
    let empty = Tensor::zeros([0, 0], DType::F64);
    assert_eq!(empty.det().item::<f64>(), 1.0);
    assert_eq!(empty.logdet().item::<f64>(), 0.0);
    for y in [empty.inverse(), empty.cholesky(), empty.expm(), empty.matrix_power(3), empty.pinv(None)] {
        assert_eq!(y.shape(), &[0, 0]);
    }
    assert_eq!(empty.solve(&Tensor::zeros([0, 2], DType::F64)).shape(), &[0, 2]);
    assert_eq!(empty.eigvalsh().shape(), &[0]);
    assert_eq!(eigh(&empty).unwrap().vectors.shape(), &[0, 0]);
    assert_eq!(empty.matrix_rank(None).item::<i64>(), 0);
    assert_eq!(empty.matrix_norm(Norm::Spectral).item::<f64>(), 0.0);
    for (m, n) in [(0, 3), (3, 0), (0, 0)] {
        let x = Tensor::zeros([m, n], DType::F64);
        let Svd { u, s, vt } = svd(&x).unwrap();
        assert_eq!((u.dims(), s.dims(), vt.dims()), (&[m, 0][..], &[0][..], &[0, n][..]));
        let Qr { q, r } = qr(&x).unwrap();
        assert_eq!((q.dims(), r.dims()), (&[m, 0][..], &[0, n][..]));
        assert_eq!(x.pinv(None).shape(), &[n, m]);
        assert_eq!(null_space(&x, None).unwrap().shape(), &[n, n]);
        let fit = lstsq(&x, &Tensor::zeros([m, 2], DType::F64), None).unwrap();
        assert_eq!(fit.solution.to_vec::<f64>(), vec![0.0; 2 * n]);
    }
    // A batch of no matrices.
    let none = Tensor::zeros([0, 3, 3], DType::F64);
    assert_eq!(none.inverse().shape(), &[0, 3, 3]);
    assert_eq!(none.det().shape(), &[0]);
    assert_eq!(svd(&none).unwrap().s.shape(), &[0, 3]);
}

#[test]
fn the_data_s_state_is_an_error_that_says_which() {
    let singular = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    let message = |error: tove_tensor::Error| {
        assert!(error.is_data(), "{error}");
        error.to_string()
    };
    let vector = Tensor::from([1.0, 1.0]);
    assert!(message(singular.try_solve(&vector).err().unwrap()).contains("pivot 1 is zero"));
    assert!(message(singular.try_inverse().err().unwrap()).starts_with("inverse: the matrix is singular"));
    let indefinite = Tensor::from([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -1.0]]);
    assert!(message(indefinite.try_cholesky().err().unwrap()).contains("not positive definite: pivot 2"));
    let diagonal = Tensor::from([[1.0, 0.0], [5.0, 0.0]]);
    assert!(message(diagonal.try_triangular_solve(&vector, Triangle::LOWER).err().unwrap()).contains("element 1"));
    assert!(message(Tensor::from([[0.0, 1.0], [1.0, 0.0]]).try_logdet().err().unwrap()).contains("negative"));
    let batch = Tensor::stack(&[&Tensor::eye(2, DType::F64), &singular, &singular], 0);
    assert!(message(batch.try_inverse().err().unwrap()).contains("matrix 1 of the batch"));
    assert!(message((Tensor::eye(2, DType::F64) * 1e4f64).try_expm().err().unwrap()).contains("overflows"));
    // Singular all over, larger than a block.
    assert!(Tensor::ones([50, 50], DType::F64).try_inverse().is_err());
    assert_eq!(Tensor::zeros([3, 3], DType::F64).det().item::<f64>(), 0.0);

    for bad in [f64::NAN, f64::INFINITY] {
        let x = Tensor::from([[1.0, 2.0], [bad, 4.0]]);
        let outcomes = [
            x.try_solve(&vector).err(),
            x.try_triangular_solve(&vector, Triangle::LOWER).err(),
            x.try_inverse().err(),
            x.try_cholesky().err(),
            x.try_det().err(),
            x.try_logdet().err(),
            x.try_pinv(None).err(),
            x.try_expm().err(),
            x.try_singular_values().err(),
            x.try_eigvalsh().err(),
            x.try_matrix_rank(None).err(),
            x.try_cond(Norm::One).err(),
            svd(&x).err(),
            qr(&x).err(),
            eigh(&x).err(),
            slogdet(&x).err(),
            lstsq(&x, &vector, None).err(),
            null_space(&x, None).err(),
        ];
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let text = message(outcome.unwrap_or_else(|| panic!("outcome {index} is not an error")));
            assert!(text.contains("NaN or infinite"), "{text}");
        }
    }
}

#[test]
fn the_caller_s_mistakes_name_the_shapes() {
    let wide = Tensor::zeros([2, 3], DType::F64);
    for error in [wide.try_inverse().err(), wide.try_det().err(), wide.try_cholesky().err(), wide.try_expm().err()] {
        let error = error.unwrap();
        assert!(!error.is_data() && error.to_string().contains("(2, 3)"), "{error}");
    }
    assert!(Tensor::zeros([3], DType::F64).try_inverse().is_err());
    assert!(Tensor::from([[1i64]]).try_inverse().is_err());
    let square = Tensor::eye(2, DType::F64);
    assert!(square.try_solve(&Tensor::zeros([3, 1], DType::F64)).is_err());
    assert!(square.try_solve(&Tensor::zeros([2, 1], DType::F32)).is_err());
    assert!(square.try_pinv(Some(-1.0)).is_err());
    assert!(lstsq(&wide, &Tensor::zeros([3], DType::F64), None).is_err());
    let (a, b) = (Tensor::ones([2, 1, 1], DType::F64), Tensor::ones([3, 1, 1], DType::F64));
    assert!(a.try_solve(&b).is_err());
}

#[test]
fn condition_numbers_of_singular_matrices_are_infinite() {
    for x in [Tensor::from([[1.0, 2.0], [2.0, 4.0]]), Tensor::zeros([2, 2], DType::F64)] {
        for norm in [Norm::One, Norm::Infinity, Norm::Frobenius] {
            assert_eq!(x.cond(norm).item::<f64>(), f64::INFINITY);
        }
        assert!(x.cond(Norm::Spectral).item::<f64>() > 1e15);
    }
}
