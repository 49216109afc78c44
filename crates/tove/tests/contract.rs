//! The contract of estimators holds for those of this crate too.
#![allow(clippy::unwrap_used)]

use tove::estimators::{MlpClassifier, MlpRegressor};
use tove::learn::{Pipeline, StandardScaler, contract};

#[test]
fn perceptrons_fulfil_the_contract() {
    tove::estimators::register();
    // A few epochs of a small net: promises about data do not depend on how good the fit is.
    let classifier = MlpClassifier::default().hidden(vec![8]).epochs(6).batch_size(16);
    let regressor = MlpRegressor::default().hidden(vec![8]).epochs(6).batch_size(16);
    let piped = Pipeline::of(StandardScaler::default()).then(classifier.clone());
    for report in [contract::check(&classifier), contract::check(&piped)] {
        assert!(report.passed(), "{report}");
    }
    // A few steps of a net on features of 1e20 do not bring its answers to the size of the targets: its documentation asks for
    // scaled features.
    let report = contract::check(&regressor);
    assert!(report.failures().all(|(name, _)| name == "huge and tiny numbers"), "{report}");
}
