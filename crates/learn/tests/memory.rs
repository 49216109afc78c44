//! Results that would not fit into memory are refused before it is asked for. In a process of its own, since the limit is global.
#![allow(clippy::unwrap_used)]

use tove_learn::features::OneHotEncoder;
use tove_learn::linear::{LinearRegression, Ridge};
use tove_learn::{
    Csr, Fit, GaussianNb, KernelKind, KernelRidge, LearnError, PolynomialFeatures, Predict, Svc, Transform, memory,
};
use tove_tensor::{DType, Key, Tensor};

#[track_caller]
fn refused<T>(result: Result<T, LearnError>, size: &str) {
    match result.err() {
        Some(LearnError::Memory { .. }) => {}
        other => panic!("{size}: {other:?}"),
    }
}

#[test]
fn large_results_are_refused_with_their_size() {
    memory::set_limit(Some(8_000_000_000));
    // 4.6 million products of 1000 rows: 37 GB.
    let x = Key::new(1).normal([1000, 300], DType::F64);
    let powers = PolynomialFeatures::default().degree(3).fit(&x, None).unwrap();
    let error = powers.transform(&x).unwrap_err();
    assert!(error.to_string().contains("1000 x 4590551 products needs 36.7 GB of memory"), "{error}");
    // 60,000 categories of 60,000 rows: 29 GB dense, nothing sparse.
    let codes = Tensor::from_vec((0..60_000).map(f64::from).collect(), [60_000, 1]);
    let encoder = OneHotEncoder::default().sparse_output(false).fit(&codes, None).unwrap();
    refused(encoder.apply(&codes), "one-hot");
    let sparse = OneHotEncoder::default().fit(&codes, None).unwrap();
    assert!(sparse.apply(&codes).is_ok());
    refused(sparse.transform(&codes), "one-hot made dense");
    // A kernel matrix of 40,000 samples, with its factor: 38 GB.
    let (x, y) = (Key::new(2).normal([40_000, 2], DType::F64), Key::new(3).normal([40_000], DType::F64));
    refused(KernelRidge::default().kernel(KernelKind::Rbf).fit(&x, &y), "kernel");
    let empty = Csr::new(vec![0; 100_001], Vec::new(), Tensor::zeros([0], DType::F64), 1_000_000).unwrap();
    refused(empty.to_dense(), "sparse");
    // A cache that was asked for and is not there.
    memory::set_limit(Some(1_000_000));
    let (x, y) = (
        Key::new(4).normal([1000, 2], DType::F64),
        Tensor::from_slice(&(0..1000).map(|i| i % 2).collect::<Vec<i64>>()),
    );
    refused(Svc::default().fit(&x, &y), "cache");
    // Scores of 5000 rows for 500 classes.
    let (many, codes) = (Key::new(7).normal([5000, 2], DType::F64), (0..5000).map(|i| i % 500).collect::<Vec<i64>>());
    let bayes = GaussianNb::default().fit(&many, &Tensor::from_slice(&codes)).unwrap();
    refused(bayes.predict(&many), "classes");
    assert!(bayes.predict(many.narrow(0, 0, 50)).is_ok());
    linear_models();
    memory::set_limit(None);
    assert!(Svc::default().fit(&x, &y).is_ok());
}

/// Every way to solve for coefficients says what it needs beforehand.
fn linear_models() {
    let table = |rows: usize, columns: usize| {
        let x = Key::new(5).normal([rows, columns], DType::F64);
        (x, Key::new(6).normal([rows], DType::F64))
    };
    memory::set_limit(Some(1_000_000));
    let (x, y) = table(1300, 600);
    refused(LinearRegression::default().fit(&x, &y), "many columns: 5 MB");
    refused(Ridge::default().fit(&x, &y), "many columns in single precision: 3 MB");
    let (x, y) = table(100, 3000);
    refused(LinearRegression::default().fit(&x, &y), "singular values: 10 MB");
    // Columns that depend on one another need eigenvectors, and these more than what was enough otherwise.
    memory::set_limit(Some(5_000_000));
    let (x, y) = table(1000, 150);
    refused(LinearRegression::default().fit(Tensor::concat(&[&x, &x], 1), &y), "eigenvectors: 6 MB");
    let (other, _) = table(1000, 300);
    assert!(LinearRegression::default().fit(&other, &y).is_ok());
}
