//! Every registered estimator fulfils the contract.
#![allow(clippy::unwrap_used)]

use tove_learn::{contract, registry};

#[test]
fn every_estimator_fulfils_the_contract() {
    let mut failed = String::new();
    for entry in registry::estimators() {
        let report = contract::check(&*(entry.estimator)());
        if !report.passed() {
            failed.push_str(&report.to_string());
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn one_against_the_rest_fulfils_the_contract() {
    let report = contract::check(&tove_learn::OneVsRest::default());
    assert!(report.passed(), "{report}");
}
