//! Values of linear algebra: identities first, then numpy's numbers.

// In a test a failure is to end the test.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/matrices.rs"]
mod matrices;

use common::load;
use matrices::{close, distance, positive_definite, random, regular, rounding, size, symmetric, tensor};
use tove_tensor::linalg::{Complex, Eig, Eigh, Norm, Qr, Svd, Triangle, eig, eigh, lstsq, qr, slogdet, svd};
use tove_tensor::{DType, Tensor, set_num_threads, vmap};

const SHAPES: [&[usize]; 8] = [&[1, 1], &[2, 2], &[5, 5], &[7, 3], &[3, 7], &[40, 40], &[2, 3, 4, 4], &[3, 5, 2]];

fn both_types(x: &Tensor) -> [Tensor; 2] {
    [x.clone(), x.to_dtype(DType::F32)]
}

fn identity_of(x: &Tensor) -> Tensor {
    let n = x.dims()[x.rank() - 1];
    Tensor::eye(n, x.dtype()).broadcast_to(x.shape().clone())
}

/// Largest element-wise difference, allowed up to rounding and the size of the numbers.
#[track_caller]
fn equal(a: &Tensor, b: &Tensor, n: usize) {
    assert_eq!(a.dtype(), b.dtype());
    close(a, b, rounding(a, n));
}

#[test]
fn svd_reconstructs_with_orthonormal_vectors_and_sorted_values() {
    for shape in SHAPES {
        for x in both_types(&random(shape, 3)) {
            let Svd { u, s, vt } = svd(&x).unwrap();
            let n = shape.iter().copied().max().unwrap();
            equal(&(&u * s.unsqueeze(-2)).matmul(&vt), &x, n);
            let gram = u.t().matmul(&u);
            equal(&gram, &identity_of(&gram), n);
            let gram = vt.matmul(&vt.t());
            equal(&gram, &identity_of(&gram), n);
            let k = s.dims()[s.rank() - 1];
            let values = s.to_f64_vec();
            assert!(values.chunks(k).all(|v| v.windows(2).all(|pair| pair[0] >= pair[1]) && v[k - 1] >= 0.0));
            equal(&x.singular_values(), &s, n);
        }
    }
}

#[test]
fn vectors_have_their_largest_entry_positive() {
    for seed in 0..20 {
        let x = random(&[5, 4], seed);
        for vectors in [svd(&x).unwrap().u, eigh(&x.matmul(&x.t())).unwrap().vectors] {
            for j in 0..vectors.dims()[1] {
                let column = vectors.select_index(1, j).to_vec::<f64>();
                let largest = column.iter().fold(0.0, |most: f64, &x| if x.abs() > most.abs() { x } else { most });
                assert!(largest > 0.0 || column.iter().any(|x| *x >= -0.999 * largest), "{column:?}");
            }
        }
    }
    // Two entries of one size: the first decides, whatever rounding says.
    let pair = eigh(&Tensor::from([[2.0, 1.0], [1.0, 2.0]])).unwrap().vectors.to_vec::<f64>();
    assert!(pair[0] > 0.0 && pair[1] > 0.0);
}

/// Graded over fourteen orders of magnitude, with repeated and vanishing values, and rotated: a matrix on which some
/// implementations with vectors lose half the digits.
#[test]
fn svd_of_a_hard_matrix_reconstructs_to_full_accuracy() {
    let n = 60;
    let left = qr(&random(&[n, n], 1)).unwrap().q;
    let right = qr(&random(&[n, n], 2)).unwrap().q;
    let grades = (0..n).map(|i| if i % 7 == 3 { 0.0 } else { 10f64.powi(-((i / 4) as i32)) }).collect::<Vec<f64>>();
    let hard = (&left * Tensor::from(grades).unsqueeze(0)).matmul(&right);
    let hilbert =
        Tensor::from_vec((0..400).map(|k| 1.0 / (k / 20 + k % 20 + 1) as f64).collect::<Vec<f64>>(), [20, 20]);
    let bidiagonal = {
        let mut data = vec![0.0; 2500];
        (0..50).for_each(|i| data[i * 51] = if i % 5 == 0 { 0.0 } else { 1.0 });
        (0..49).for_each(|i| data[i * 51 + 1] = 1.0);
        Tensor::from_vec(data, [50, 50])
    };
    let huge = random(&[30, 20], 4) * 1e150;
    let tiny = random(&[20, 30], 5) * 1e-150;
    for x in [hard, hilbert, bidiagonal, huge, tiny, Tensor::ones([30, 30], DType::F64)] {
        let Svd { u, s, vt } = svd(&x).unwrap();
        let error = distance(&(&u * s.unsqueeze(-2)).matmul(&vt), &x) / size(&x);
        assert!(error < 1e-13, "relative error {error:e}");
        assert!(distance(&u.t().matmul(&u), &Tensor::eye(u.dims()[1], DType::F64)) < 1e-13);
        assert!(distance(&vt.matmul(&vt.t()), &Tensor::eye(u.dims()[1], DType::F64)) < 1e-13);
    }
}

#[test]
fn eigh_reconstructs_with_sorted_values() {
    for shape in [&[1, 1][..], &[2, 2], &[5, 5], &[40, 40], &[2, 3, 4, 4]] {
        for x in both_types(&symmetric(shape, 3)) {
            let Eigh { values, vectors } = eigh(&x).unwrap();
            let n = shape[shape.len() - 1];
            equal(&(&vectors * values.unsqueeze(-2)).matmul(&vectors.t()), &x, n);
            let gram = vectors.t().matmul(&vectors);
            equal(&gram, &identity_of(&gram), n);
            assert!(values.to_f64_vec().chunks(n).all(|v| v.windows(2).all(|pair| pair[0] <= pair[1])));
            equal(&x.eigvalsh(), &values, n);
        }
    }
    // Of any other matrix, the symmetric part counts.
    let x = random(&[4, 4], 9);
    equal(&x.eigvalsh(), &((&x + x.t()) * 0.5f64).eigvalsh(), 4);
}

#[test]
fn qr_reconstructs_with_a_unique_triangle() {
    let deficient = Tensor::from([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 1.0], [0.0, 0.0, 2.0]]);
    for x in SHAPES.iter().map(|shape| random(shape, 3)).chain([deficient, Tensor::zeros([3, 2], DType::F64)]) {
        for x in both_types(&x) {
            let Qr { q, r } = qr(&x).unwrap();
            let n = x.dims().iter().copied().max().unwrap();
            equal(&q.matmul(&r), &x, n);
            let gram = q.t().matmul(&q);
            equal(&gram, &identity_of(&gram), n);
            let columns = r.dims()[r.rank() - 1];
            let rows = r.dims()[r.rank() - 2];
            for (index, value) in r.to_f64_vec().into_iter().enumerate() {
                let (i, j) = (index / columns % rows, index % columns);
                assert!(if i > j { value == 0.0 } else { i < j || value >= 0.0 }, "R[{i}, {j}] = {value}");
            }
        }
    }
}

#[test]
fn cholesky_multiplies_back() {
    for shape in [&[1, 1][..], &[2, 2], &[5, 5], &[70, 70], &[2, 3, 4, 4]] {
        for x in both_types(&positive_definite(shape, 3)) {
            let l = x.cholesky();
            let n = shape[shape.len() - 1];
            equal(&l.matmul(&l.t()), &x, n);
            let above = l.to_f64_vec().into_iter().enumerate().filter(|(index, _)| index / n % n < index % n);
            assert!(above.into_iter().all(|(_, value)| value == 0.0));
        }
    }
}

#[test]
fn systems_are_solved() {
    for shape in [&[1, 1][..], &[2, 2], &[5, 5], &[70, 70], &[2, 3, 4, 4]] {
        let n = shape[shape.len() - 1];
        let right = [&shape[..shape.len() - 1], &[3]].concat();
        for (a, b) in both_types(&regular(shape, 1)).into_iter().zip(both_types(&random(&right, 2))) {
            let tolerance = 20 * n;
            equal(&a.matmul(&a.solve(&b)), &b, tolerance);
            equal(&a.matmul(&a.inverse()), &identity_of(&a), tolerance);
            equal(&a.inverse(), &a.solve(&identity_of(&a)), tolerance);
            equal(&a.t().solve(&b), &a.inverse().t().matmul(&b), tolerance);
            let p = a.matmul(&a.t());
            let factor = p.cholesky();
            let y = factor.triangular_solve(&b, Triangle::LOWER);
            equal(&factor.matmul(&y), &b, tolerance);
            let x = factor.triangular_solve(&y, Triangle::LOWER.transposed());
            close(&p.matmul(&x), &b, rounding(&p, tolerance) * 100.0);
            let x = factor.t().triangular_solve(&y, Triangle::UPPER);
            equal(&factor.t().matmul(&x), &y, tolerance);
        }
    }
    // The unit triangle does not read the diagonal, nor any the other half.
    let t = Tensor::from([[f64::MAX, 9.0], [3.0, 0.0]]);
    let x = t.triangular_solve(&Tensor::from([1.0, 5.0]), Triangle::LOWER.unit());
    assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
    let x = t.triangular_solve(&Tensor::from([19.0, 2.0]), Triangle::UPPER.unit());
    assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
}

#[test]
fn leading_axes_broadcast() {
    let (a, b) = (regular(&[2, 1, 3, 3], 1), random(&[4, 3, 2], 2));
    let x = a.solve(&b);
    assert_eq!(x.shape(), &[2, 4, 3, 2]);
    equal(&a.matmul(&x), &b.broadcast_to([2, 4, 3, 2]), 30);
    for i in 0..2 {
        for j in 0..4 {
            let alone = a.get(i).get(0).solve(&b.get(j));
            assert_eq!(x.get(i).get(j).to_vec::<f64>(), alone.to_vec::<f64>());
        }
    }
    assert_eq!(a.solve(&random(&[3], 3)).shape(), &[2, 1, 3]);
}

#[test]
fn least_squares_leaves_an_orthogonal_residual_and_the_least_norm() {
    for shape in SHAPES {
        let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let (a, b) = (random(shape, 1), random(&[&shape[..shape.len() - 1], &[2]].concat(), 2));
        let fit = lstsq(&a, &b, None).unwrap();
        let residual = &b - a.matmul(&fit.solution);
        assert!(size(&a.t().matmul(&residual)) < 1e-11);
        assert!(fit.rank.to_vec::<i64>().iter().all(|&rank| rank == m.min(n) as i64));
        equal(&fit.solution, &a.pinv(None).matmul(&b), 2000);
    }
    let single = lstsq(&random(&[6, 3], 1).to_dtype(DType::F32), &Tensor::ones([6], DType::F32), None).unwrap();
    close(
        &single.solution.to_dtype(DType::F64),
        &lstsq(&random(&[6, 3], 1), &Tensor::ones([6], DType::F64), None).unwrap().solution,
        1e-5,
    );
}

#[test]
fn determinants_multiply() {
    for shape in [&[1, 1][..], &[4, 4], &[2, 3, 3]] {
        for (a, b) in both_types(&regular(shape, 1)).into_iter().zip(both_types(&random(shape, 2))) {
            let n = 10 * shape[shape.len() - 1];
            equal(&a.matmul(&b).det(), &(a.det() * b.det()), n);
            let parts = slogdet(&b).unwrap();
            equal(&(&parts.sign * parts.logdet.exp()), &b.det(), n);
        }
    }
    let singular = slogdet(&Tensor::from([[1.0, 2.0], [2.0, 4.0]])).unwrap();
    assert_eq!((singular.sign.item::<f64>(), singular.logdet.item::<f64>()), (0.0, f64::NEG_INFINITY));
}

#[test]
fn exponentials_of_commuting_matrices_multiply() {
    for scale in [1e-3f64, 0.1, 1.0, 10.0] {
        let a = random(&[4, 4], 7) * scale;
        close(
            &a.expm().matmul(&(-&a).expm()),
            &Tensor::eye(4, DType::F64),
            1e-13 * size(&a.expm()) * size(&(-&a).expm()),
        );
        close(&(&a * 2.0f64).expm(), &a.expm().matrix_power(2), 1e-13);
        let trace = (&a * Tensor::eye(4, DType::F64)).sum().exp();
        close(&a.expm().det(), &trace, 1e-12 * size(&a.expm()).powi(4).max(1.0));
    }
    let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]) * std::f64::consts::PI;
    close(&turn.expm(), &Tensor::from([[-1.0, 0.0], [0.0, -1.0]]), 1e-15);
    close(&random(&[3, 3], 1).to_dtype(DType::F32).expm().to_dtype(DType::F64), &random(&[3, 3], 1).expm(), 1e-6);
}

#[test]
fn numpy_agrees() {
    let fixture = load("numpy_linalg");
    let value = |name: &str, f: &dyn Fn(&Tensor) -> Tensor| {
        let case = fixture.case(name);
        close(&f(&tensor(case.input("x"))), &tensor(case.output("y")), 1e-12);
    };
    value("inverse", &|x| x.inverse());
    value("cholesky", &|x| x.cholesky());
    for name in ["nilpotent", "general", "large"] {
        value(&format!("expm {name}"), &|x| x.expm());
    }
    for name in ["solve matrix", "solve vector", "solve batch"] {
        let case = fixture.case(name);
        close(&tensor(case.input("a")).solve(&tensor(case.input("b"))), &tensor(case.output("y")), 1e-12);
    }
    for (name, kind) in [("True", Triangle::LOWER), ("False", Triangle::UPPER)] {
        let case = fixture.case(&format!("triangular solve lower {name}"));
        let x = tensor(case.input("a")).triangular_solve(&tensor(case.input("b")), kind);
        close(&x, &tensor(case.output("y")), 1e-12);
    }
    for case in fixture.cases_starting("lstsq") {
        let fit = lstsq(&tensor(case.input("a")), &tensor(case.input("b")), None).unwrap();
        close(&fit.solution, &tensor(case.output("y")), 1e-12);
    }
    let case = fixture.case("determinant");
    let parts = slogdet(&tensor(case.input("x"))).unwrap();
    close(&tensor(case.input("x")).det(), &tensor(case.output("det")), 1e-13);
    close(&parts.sign, &tensor(case.output("sign")), 0.0);
    close(&parts.logdet, &tensor(case.output("logdet")), 1e-13);
    let names = [Norm::Spectral, Norm::Nuclear, Norm::Frobenius, Norm::One, Norm::Infinity];
    for norm in names {
        for case in fixture.cases_starting("norm ") {
            let y = tensor(case.input("x")).matrix_norm(norm);
            close(&y, &tensor(case.output(&format!("{norm:?}"))), 1e-13);
        }
        for case in fixture.cases_starting("condition ") {
            let y = tensor(case.input("x")).cond(norm);
            close(&y, &tensor(case.output(&format!("{norm:?}"))), 1e-8); // Hilbert's own condition is 1e7
        }
    }
}

#[test]
fn views_are_read_in_their_own_order() {
    let x = random(&[6, 5], 1);
    let view = x.slice(0, 0, 6, 1).narrow(0, 1, 5).t();
    let copy = Tensor::from_vec(view.to_vec::<f64>(), [5, 5]);
    assert_eq!(view.inverse().to_vec::<f64>(), copy.inverse().to_vec::<f64>());
    assert_eq!(svd(&view).unwrap().u.to_vec::<f64>(), svd(&copy).unwrap().u.to_vec::<f64>());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let x = regular(&[40, 12, 12], 1);
    let all = || -> Vec<Vec<f64>> {
        let Svd { u, s, vt } = svd(&x).unwrap();
        let Eigh { values, vectors } = eigh(&x).unwrap();
        let Qr { q, r } = qr(&x).unwrap();
        let results = [u, s, vt, values, vectors, q, r, x.inverse(), x.det(), x.expm(), x.pinv(None)];
        results.iter().map(|y| y.to_vec::<f64>()).collect()
    };
    set_num_threads(1);
    let expected = all();
    for threads in [2, 3, 8] {
        set_num_threads(threads);
        assert!(all() == expected, "{threads} threads");
    }
    set_num_threads(0);
    // Large matrices run on one thread whatever the setting.
    let large = random(&[150, 150], 2);
    set_num_threads(1);
    let one = svd(&large).unwrap().u.to_vec::<f64>();
    set_num_threads(8);
    assert!(svd(&large).unwrap().u.to_vec::<f64>() == one);
    set_num_threads(0);
}

/// Products of complex matrices by their parts.
fn times(a: &Complex, b: &Complex) -> Complex {
    Complex {
        real: a.real.matmul(&b.real) - a.imaginary.matmul(&b.imaginary),
        imaginary: a.real.matmul(&b.imaginary) + a.imaginary.matmul(&b.real),
    }
}

#[test]
fn general_eigenproblem_agrees_with_numpy() {
    let fixture = load("numpy_linalg");
    let cases = fixture.cases_starting("eig ");
    assert_eq!(cases.len(), 7);
    for case in cases {
        for dtype in [DType::F64, DType::F32] {
            let x = tensor(case.input("x")).to_dtype(dtype);
            let n = x.dims()[0];
            let Eig { values, vectors } = eig(&x).unwrap();
            // Single precision may exchange values whose real parts agree to its digits: sums are compared there.
            let tolerance = if dtype == DType::F64 { 1e-10 } else { 2e-4 };
            let double = |y: &Tensor| y.to_dtype(DType::F64);
            if dtype == DType::F64 {
                close(&values.real, &tensor(case.output("real")), tolerance);
                close(&values.imaginary, &tensor(case.output("imaginary")), tolerance);
            }
            close(&double(&values.real.sum()), &double(&x.trace()), tolerance);
            // A V = V Λ, columns of length 1 with a real, positive largest entry.
            let complex = Complex { real: x.clone(), imaginary: x.zeros_like() };
            let lambda = Complex { real: values.real.diag(0), imaginary: values.imaginary.diag(0) };
            let (left, right) = (times(&complex, &vectors), times(&vectors, &lambda));
            close(&double(&left.real), &double(&right.real), tolerance);
            close(&double(&left.imaginary), &double(&right.imaginary), tolerance);
            let moduli = vectors.real.square() + vectors.imaginary.square();
            close(&double(&moduli.sum_axes(&[0], false)), &Tensor::ones([n], DType::F64), tolerance);
            for j in 0..n {
                let top = moduli.select_index(1, j).argmax(0).item::<i64>() as usize;
                let at = |part: &Tensor| double(part).at::<f64>(&[top, j]);
                assert!(at(&vectors.real) > 0.0 && at(&vectors.imaginary).abs() < 0.05, "{}", case.name);
            }
        }
    }
    // Of a batch, mapped, of nothing; and no derivative.
    let batch = random(&[3, 4, 4], 9);
    let all = eig(&batch).unwrap().values.imaginary;
    let mapped = vmap(|x: &Tensor| eig(x).unwrap().values.imaginary)(&batch);
    assert_eq!(all.to_vec::<f64>(), mapped.to_vec::<f64>());
    assert_eq!(eig(&Tensor::zeros([0, 0], DType::F64)).unwrap().vectors.imaginary.shape(), &[0, 0]);
    assert!(eig(&Tensor::from([[f64::NAN]])).err().unwrap().is_data());
    let x = random(&[3, 3], 4).requires_grad();
    let error = eig(&x).unwrap().values.real.sum().try_backward().unwrap_err();
    assert!(error.to_string().contains("eigh"), "{error}");
    // A defective matrix: one vector for the double value, and the equation still holds.
    let jordan = Tensor::from([[2.0, 1.0], [0.0, 2.0]]);
    let Eig { values, vectors } = eig(&jordan).unwrap();
    close(&values.real, &Tensor::from([2.0, 2.0]), 1e-7);
    close(&jordan.matmul(&vectors.real), &(&vectors.real * values.real.unsqueeze(0)), 1e-7);
}
