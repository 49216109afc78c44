//! Nets that do not fit into memory are refused before any of it is asked for.
#![allow(clippy::unwrap_used)]

use tove::learn::{LearnError, Samples};
use tove::tabular::Candidate;
use tove::tensor::{DType, Key, Tensor};

#[test]
fn a_net_that_does_not_fit_into_memory_is_an_error_with_its_size() {
    let x = Key::new(1).normal([40, 3], DType::F64);
    let classes = Tensor::from((0..40).map(|i| i % 2).collect::<Vec<i64>>());
    for (name, y) in [("MlpClassifier", &classes), ("MlpRegressor", &classes.to_dtype(DType::F64))] {
        let samples = Samples::new(&x, y).unwrap();
        for hidden in [vec![1_000_000usize; 2], vec![1_000_000; 5]] {
            let candidate = Candidate::named(name).unwrap().set("hidden", hidden).unwrap();
            let error = candidate.estimator.fit_boxed(&samples).err().unwrap();
            assert!(matches!(error, LearnError::Memory { .. }), "{error}");
            assert!(error.to_string().contains("`hidden`"), "{error}");
        }
    }
}
