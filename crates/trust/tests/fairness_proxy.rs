//! Proxies: dropping the sensitive attribute does not remove the gap.
#![allow(clippy::unwrap_used)]

mod fairness_common;

use fairness_common::{SETS, close, fixture, matrix, numbers, whole};
use tove_learn::{GaussianNb, Ridge};
use tove_metrics::roc_auc;
use tove_tensor::{DType, Key, Tensor};
use tove_trust::fairness::{ProxyOptions, proxy_audit, unawareness_audit};

/// Twenty features, each of which tells little of the group, and labels that depend on the group through a hidden quality.
fn weak_proxies(n: usize, shift: f64) -> (Tensor, Tensor, Tensor) {
    let key = Key::new(11);
    let groups: Vec<i64> =
        key.fold(0).uniform([n], DType::F64).to_vec::<f64>().iter().map(|&u| i64::from(u < 0.5)).collect();
    let sensitive = Tensor::from_slice(&groups);
    let x = key.fold(1).normal([n, 20], DType::F64) + sensitive.to_dtype(DType::F64).reshape([n, 1]) * shift;
    let noise = key.fold(2).normal([n], DType::F64).to_vec::<f64>();
    let labels: Vec<i64> =
        groups.iter().zip(noise).map(|(&group, noise)| i64::from(noise + 1.2 * group as f64 > 0.6)).collect();
    (x, Tensor::from_slice(&labels), sensitive)
}

#[test]
fn twenty_weak_proxies_tell_the_attribute_and_the_gap_persists() {
    let (x, labels, sensitive) = weak_proxies(1500, 0.5);
    let audit = unawareness_audit(&x, &labels, &sensitive, None, &ProxyOptions::default()).unwrap();
    println!("{audit}");
    assert!(audit.proxies.auc.value > 0.9 && audit.proxies.auc.low > 0.9);
    // Bayes: the sum of the features has AUC Φ(0.5 √20/√2) = 0.943.
    close(audit.proxies.auc.value, 0.943, 0.02);
    assert_eq!(audit.to_json()["proxies"]["features"].as_array().unwrap().len(), 20);
    // Each alone is weak: Φ(0.5/√2) = 0.638.
    assert!(audit.proxies.features.iter().all(|feature| feature.auc < 0.7));
    assert!(audit.gap_persists(0.01));
    assert!(audit.unaware.value > 0.5 * audit.aware.value, "{audit}");
    assert!(audit.to_string().contains("dropping the attribute does not remove the gap"));
    // Without proxies nothing is told, and the gap goes.
    let (x, labels, sensitive) = weak_proxies(1500, 0.0);
    let audit = unawareness_audit(&x, &labels, &sensitive, None, &ProxyOptions::default()).unwrap();
    assert!(audit.proxies.auc.holds(0.5) || audit.proxies.auc.value < 0.55, "{audit}");
    assert!(audit.aware.value > 0.3 && audit.unaware.value < 0.1, "{audit}");
}

#[test]
fn single_features_are_ranked_by_their_area() {
    for name in SETS {
        let set = fixture(name);
        let (x, first) = (matrix(&set["x"]), whole(&set["first"]));
        let audit = proxy_audit(&x, &first, None, &ProxyOptions::default()).unwrap();
        let wanted = numbers(&set["auc"]);
        assert!(audit.features.windows(2).all(|pair| pair[0].auc >= pair[1].auc));
        for feature in &audit.features {
            let area = wanted[feature.column];
            close(feature.auc, area.max(1.0 - area), 1e-12); // scikit-learn
            let column = x.narrow(1, feature.column, 1).reshape([x.dims()[0]]);
            let own = roc_auc(&first, &column.contiguous(), None).unwrap().value;
            close(feature.auc, own.max(1.0 - own), 1e-12);
        }
        assert!(audit.auc.low < audit.auc.value && audit.auc.value < audit.auc.high);
        // Marriage tells the sex in adult.
        if name == "adult" {
            assert!(audit.auc.low > 0.7, "{audit}");
        }
    }
}

#[test]
fn audits_take_any_classifier_and_several_groups() {
    let set = fixture("adult");
    let (x, second) = (matrix(&set["x"]), whole(&set["second"]));
    let audit = proxy_audit(&x, &second, Some(&GaussianNb::default()), &ProxyOptions::default()).unwrap();
    assert_eq!(audit.by_group.iter().map(|(group, _)| *group).collect::<Vec<_>>(), [0, 1, 2]);
    let mean = audit.by_group.iter().map(|(_, rate)| rate.value).sum::<f64>() / 3.0;
    close(audit.auc.value, mean, 1e-12);
    let error = proxy_audit(&x, &second, Some(&Ridge::default()), &ProxyOptions::default()).unwrap_err();
    assert!(error.to_string().contains("neither probabilities nor decision scores"), "{error}");
}

#[test]
fn audits_refuse_bad_arguments() {
    let x = Tensor::from([[0.0], [1.0], [2.0], [3.0]]);
    let (two, one) = (Tensor::from([0i64, 1, 0, 1]), Tensor::from([1i64, 1, 1, 1]));
    let options = |folds: usize| ProxyOptions { folds, ..ProxyOptions::default() };
    let text = |x: &Tensor, a: &Tensor, folds: usize| proxy_audit(x, a, None, &options(folds)).unwrap_err().to_string();
    assert!(text(&x, &one, 2).contains("all rows have the value 1"));
    assert!(text(&x, &two, 5).contains("for 5 folds"));
    assert!(text(&x, &two, 1).contains("at least 2"));
    assert!(text(&x, &Tensor::from([0i64, 1]), 2).contains("one group per sample"));
    assert!(text(&Tensor::from([1.0, 2.0]), &two, 2).contains("matrix"));
    assert!(text(&Tensor::from([[f64::NAN], [1.0], [2.0], [3.0]]), &two, 2).contains("NaN"));
    // Complete separation keeps an interval.
    let audit = proxy_audit(&Tensor::from([[0.0], [9.0], [0.1], [9.1]]), &two, None, &options(2)).unwrap();
    assert!(audit.auc.value == 1.0 && audit.auc.low < 0.9);
    assert!(unawareness_audit(&x, &Tensor::from([0.5, 1.0, 0.0, 1.0]), &two, None, &options(2)).is_err());
}
