//! Syllabus A6 and A12 to A16: functions of whole matrices, rank, pseudoinverse, conditioning, SVD, eigenproblem.

// In a test a failure is to end the test.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/matrices.rs"]
mod matrices;

use common::{Case, Fixture, load};
use matrices::{close, distance, random, size, tensor};
use tove_tensor::linalg::{Conditioning, ILL_CONDITIONED, Norm, eigh, lstsq, null_vector, svd};
use tove_tensor::{DType, Tensor};

/// `tol64` of the syllabus.
const TOL64: f64 = 1e-10;

fn cases<'a>(fixture: &'a Fixture, start: &str) -> impl Iterator<Item = (&'a Case, Tensor)> {
    fixture.cases_starting(start).into_iter().map(|case| (case, tensor(case.input("x"))))
}

fn norm(x: &Tensor) -> f64 {
    (x * x).sum().sqrt().item()
}

#[test]
fn a6_elementwise_and_whole_matrix_functions_have_different_names() {
    let x = Tensor::from([[0.0, 1.0], [0.0, 0.0]]);
    let e = std::f64::consts::E;
    close(&x.exp(), &Tensor::from([[1.0, e], [1.0, 1.0]]), 1e-15);
    close(&x.expm(), &Tensor::from([[1.0, 1.0], [0.0, 1.0]]), 1e-15);
    // The same pair for powers.
    let y = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(y.powf(2.0).to_vec::<f64>(), [1.0, 4.0, 9.0, 16.0]);
    assert_eq!(y.matrix_power(2).to_vec::<f64>(), [7.0, 10.0, 15.0, 22.0]);
}

#[test]
fn a12_rank_matches_numpy_and_a_deficient_matrix_comes_with_a_witness() {
    let fixture = load("numpy_linalg");
    let mut deficient = 0;
    for (case, x) in cases(&fixture, "a12 rank") {
        let rank = x.matrix_rank(None).item::<i64>();
        assert_eq!(Some(rank), case.integer("rank"), "{}", case.name);
        let columns = x.dims()[1] as i64;
        match null_vector(&x, None).unwrap() {
            None => {
                assert_eq!(rank, columns, "{}", case.name);
                x.t().matmul(&x).inverse();
            }
            Some(u) => {
                assert!(rank < columns, "{}", case.name);
                assert!((norm(&u) - 1.0).abs() < 1e-12);
                assert!(norm(&x.matmul(&u)) < 1e-10, "{}", case.name);
                deficient += 1;
            }
        }
    }
    // Twin columns, multiples, low rank, zero, and the wide one (D > N), which is never invertible.
    assert_eq!(deficient, 5);
    for (d, n) in [(4, 3), (10, 2), (7, 6)] {
        let x = random(&[n, d], 5);
        assert_eq!(x.t().matmul(&x).matrix_rank(None).item::<i64>(), n as i64);
        assert!(norm(&x.matmul(&null_vector(&x, None).unwrap().unwrap())) < 1e-10);
    }
}

#[test]
fn a13_pseudoinverse_satisfies_the_four_identities() {
    let fixture = load("numpy_linalg");
    // Of 8 cases all but Hilbert's matrix are judged without any scale. The entries of its pseudoinverse reach 4e6, so
    // that one unit in the last place of P alone is 5e-10, and P A P is a sum of products of such numbers.
    let mut literal = 0;
    for (case, a) in cases(&fixture, "a13 pinv") {
        let p = a.pinv(None);
        close(&p, &tensor(case.output("y")), TOL64);
        let (ap, pa) = (a.matmul(&p), p.matmul(&a));
        close(&ap.matmul(&a), &a, 1e-9);
        close(&pa.matmul(&p), &p, 1e-9);
        close(&ap.t(), &ap, 1e-9);
        close(&pa.t(), &pa, 1e-9);
        if !case.name.contains("hilbert") {
            literal += 1;
            let pairs = [(ap.matmul(&a), &a), (pa.matmul(&p), &p), (ap.t(), &ap), (pa.t(), &pa)];
            assert!(pairs.iter().all(|(left, right)| distance(left, right) < 1e-9), "{}", case.name);
        }
        // For full column rank it is (XᵀX)⁻¹ Xᵀ; Hilbert's XᵀX is too ill conditioned to show it.
        let full = a.matrix_rank(None).item::<i64>() == a.dims()[1] as i64;
        if full && a.cond(Norm::Spectral).item::<f64>() < 1e3 {
            close(&a.t().matmul(&a).inverse().matmul(&a.t()), &p, 1e-9);
        }
    }
    assert_eq!(literal, 7);
    // One feature a multiple of another: the formula has no value, the pseudoinverse has.
    let x = tensor(fixture.case("a13 pinv multiple columns").input("x"));
    let y = random(&[6], 3);
    let w = x.pinv(None).matmul(&y);
    assert!(size(&x.t().matmul(&(&y - x.matmul(&w)))) < 1e-12);
}

#[test]
fn a14_conditioning_is_reported_and_ridge_reduces_the_growth_of_errors() {
    let fixture = load("numpy_linalg");
    for (case, x) in cases(&fixture, "a14 cond") {
        let condition = x.cond(Norm::Spectral).item::<f64>();
        let expected = case.output("y").scalar();
        assert!((condition / expected - 1.0).abs() < 1e-8, "{}: {condition} {expected}", case.name);
        let s = x.singular_values().to_vec::<f64>();
        assert!((condition / (s[0] / s[s.len() - 1]) - 1.0).abs() < 1e-12);
        let report = Conditioning::of(&x).unwrap();
        assert!((report.condition_number() / expected - 1.0).abs() < 1e-8);
    }

    // A Hilbert-like X with more rows than columns, and y moved by 1e-8 in the direction that hurts most.
    let (rows, columns) = (12, 9);
    let entries = (0..rows * columns).map(|k| 1.0 / (k / columns + k % columns + 1) as f64).collect::<Vec<f64>>();
    let x = Tensor::from_vec(entries, [rows, columns]);
    let y = x.matmul(&Tensor::ones([columns], DType::F64));
    let moved = &y + svd(&x).unwrap().u.select_index(1, columns - 1) * 1e-8;
    let ridge = 1e-6f64;
    let gram = x.t().matmul(&x) + Tensor::eye(columns, DType::F64) * ridge;
    let plain = |y: &Tensor| lstsq(&x, y, None).unwrap().solution;
    let lifted = |y: &Tensor| gram.solve(&x.t().matmul(y));
    let factor = |fit: &dyn Fn(&Tensor) -> Tensor| norm(&(fit(&moved) - fit(&y))) / norm(&(&moved - &y));
    let (without, with) = (factor(&plain), factor(&lifted));
    assert!(without >= 100.0 * with, "{without:e} {with:e}");

    // The factors are what the report says.
    let fit = lstsq(&x, &y, None).unwrap();
    let report = fit.conditioning().unwrap();
    assert!((without / report.sensitivity(0.0) - 1.0).abs() < 1e-2, "{without:e} {:e}", report.sensitivity(0.0));
    assert!(with <= report.sensitivity(ridge) * 1.01);
    assert!(report.sensitivity(0.0) >= 100.0 * report.sensitivity(ridge));

    // And the fit warns above the documented threshold, not below.
    assert_eq!(ILL_CONDITIONED, 1e8);
    assert!(report.condition_number() > ILL_CONDITIONED);
    let warning = fit.warning().expect("a warning");
    assert!(warning.contains("ill conditioned") && warning.contains("ridge"), "{warning}");
    for (smallest, warns) in [(2e-8, false), (0.5e-8, true)] {
        let x = Tensor::from([[1.0, 0.0], [0.0, smallest], [0.0, 0.0]]);
        let fit = lstsq(&x, &Tensor::from([1.0, 1.0, 1.0]), None).unwrap();
        assert_eq!(fit.warning().is_some(), warns, "{smallest}");
    }
    let twins = Tensor::from([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]);
    let fit = lstsq(&twins, &Tensor::from([1.0, 2.0, 3.0]), None).unwrap();
    assert!(fit.warning().unwrap().contains("linearly dependent"));
}

#[test]
fn a15_singular_value_decomposition_reconstructs_every_matrix() {
    let fixture = load("numpy_linalg");
    for (case, x) in cases(&fixture, "a15 svd") {
        let svd = svd(&x).unwrap();
        let k = x.dims()[0].min(x.dims()[1]);
        assert!(distance(&(&svd.u * svd.s.unsqueeze(0)).matmul(&svd.vt), &x) < 1e-10, "{}", case.name);
        assert!(distance(&svd.u.t().matmul(&svd.u), &Tensor::eye(k, DType::F64)) < 1e-10);
        assert!(distance(&svd.vt.matmul(&svd.vt.t()), &Tensor::eye(k, DType::F64)) < 1e-10);
        close(&svd.s, &tensor(case.output("s")), TOL64);
        let s = svd.s.to_vec::<f64>();
        assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s.iter().all(|&s| s >= 0.0), "{s:?}");
    }
}

#[test]
fn a16_lifting_and_powers_through_the_eigenproblem() {
    let fixture = load("numpy_linalg");
    for (case, gram) in cases(&fixture, "a16 eigh") {
        let n = gram.dims()[0];
        for lambda in [0.0f64, 0.5] {
            let lifted = &gram + Tensor::eye(n, DType::F64) * lambda;
            let e = eigh(&lifted).unwrap();
            close(&e.values, &tensor(case.output(&format!("eigenvalues {lambda:?}"))), TOL64);
            // Also for the rank-deficient ones.
            let least = e.values.at::<f64>(&[0]);
            assert!(least >= lambda - 1e-12, "{}: {least}", case.name);
            // U (S + λ I) Uᵀ with the vectors of the matrix itself.
            let own = eigh(&gram).unwrap();
            let rebuilt = (&own.vectors * (&own.values + lambda).unsqueeze(0)).matmul(&own.vectors.t());
            close(&rebuilt, &lifted, 1e-12);
        }
    }
    let deficient = Tensor::from([[1.0, 2.0, 1.0], [0.5, -1.0, 0.5], [2.0, 0.0, 2.0], [1.0, 1.0, 1.0]]);
    for lambda in [1e-6f64, 0.1, 3.0] {
        let lifted = deficient.t().matmul(&deficient) + Tensor::eye(3, DType::F64) * lambda;
        assert!(lifted.eigvalsh().at::<f64>(&[0]) >= lambda - 1e-12);
    }

    for (case, w) in cases(&fixture, "a16 power") {
        let power = case.integer("power").unwrap() as i32;
        close(&w.matrix_power(power), &tensor(case.output("y")), TOL64);
    }
    // W = U L U⁻¹, symmetric and not: W^50 by products and by the eigen form.
    let values = Tensor::from([0.9, 1.1]);
    for u in [Tensor::from([[1.0, 1.0], [-1.0, 1.0]]), Tensor::from([[1.0, 2.0], [0.5, -1.0]])] {
        let w = (&u * values.unsqueeze(0)).matmul(&u.inverse());
        let mut product = Tensor::eye(2, DType::F64);
        (0..50).for_each(|_| product = product.matmul(&w));
        let form = (&u * values.powf(50.0).unsqueeze(0)).matmul(&u.inverse());
        assert!(distance(&product, &form) <= 1e-8 && distance(&w.matrix_power(50), &form) <= 1e-8);
    }
    let w = Tensor::from([[1.0, 0.1], [0.1, 1.0]]);
    let e = eigh(&w).unwrap();
    close(&e.values, &values, 1e-14);
    let factors = e.values.powf(50.0).to_vec::<f64>();
    assert!((factors[0] - 0.00515).abs() < 5e-6 && (factors[1] - 117.39).abs() < 5e-3, "{factors:?}");
    let form = (&e.vectors * e.values.powf(50.0).unsqueeze(0)).matmul(&e.vectors.t());
    assert!(distance(&w.matrix_power(50), &form) <= 1e-8);
}
