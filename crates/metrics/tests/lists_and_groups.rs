//! Scores of ranked lists and of groupings beside scikit-learn.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use tove_metrics::{
    average_precision_at_k, homogeneity_completeness_v_measure, ndcg_at_k, precision_at_k, recall_at_k,
};
use tove_tensor::Tensor;

fn fixture() -> Value {
    serde_json::from_str(include_str!("fixtures/lists_and_groups.json")).unwrap()
}

fn places(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|place| place.as_u64().unwrap() as usize).collect()
}

#[track_caller]
fn assert_near(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn ranked_lists_score_as_in_scikit_learn() {
    let all = fixture();
    let cases = all["lists"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let (list, relevant) = (places(&case["list"]), places(&case["relevant"]));
        for k in 1..=12 {
            assert_near(ndcg_at_k(&list, &relevant, k), &case["ndcg"][k - 1]);
            assert_near(precision_at_k(&list, &relevant, k), &case["precision"][k - 1]);
            assert_near(recall_at_k(&list, &relevant, k), &case["recall"][k - 1]);
        }
        assert_near(average_precision_at_k(&list, &relevant, 12), &case["average_precision"]);
    }
}

#[test]
fn lists_that_are_short_empty_or_have_copies_have_finite_scores() {
    type Of = fn(&[usize], &[usize], usize) -> f64;
    let all: [Of; 4] = [precision_at_k, recall_at_k, ndcg_at_k, average_precision_at_k];
    for of in all {
        for (list, relevant, k) in [(&[][..], &[1][..], 3), (&[1], &[], 3), (&[1], &[1], 0), (&[], &[], 0)] {
            assert_eq!(of(list, relevant, k), 0.0);
        }
        // A relevant item counts once, however often it is listed.
        assert!(of(&[1, 1, 1], &[1, 1], 3) <= 1.0);
    }
    assert_eq!(precision_at_k(&[4, 5], &[5], 10), 0.1);
    // Hits at places 1 and 3 of two relevant items.
    assert_eq!(average_precision_at_k(&[7, 1, 8, 2], &[7, 8], 10), (1.0 + 2.0 / 3.0) / 2.0);
}

#[test]
fn groupings_score_as_in_scikit_learn() {
    let all = fixture();
    let cases = all["groupings"].as_array().unwrap();
    assert_eq!(cases.len(), 18);
    for case in cases {
        let groups = |name: &str| Tensor::from(places(&case[name]).into_iter().map(|x| x as i64).collect::<Vec<_>>());
        let (truth, found) = (groups("truth"), groups("found"));
        let scores = homogeneity_completeness_v_measure(&truth, &found, case["beta"].as_f64().unwrap()).unwrap();
        assert_near(scores.homogeneity, &case["scores"][0]);
        assert_near(scores.completeness, &case["scores"][1]);
        assert_near(scores.v_measure, &case["scores"][2]);
    }
    let one = Tensor::from(vec![1i64, 2]);
    for beta in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(homogeneity_completeness_v_measure(&one, &one, beta).is_err());
    }
}
