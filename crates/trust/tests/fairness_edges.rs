//! Bad input of group reports: every case has a message, and no value is NaN.
#![allow(clippy::unwrap_used)]

use tove_tensor::{DType, Tensor};
use tove_trust::fairness::{
    GapMeasure, GroupOptions, GroupReport, MetricFrame, Outcomes, SensitiveGroups, demographic_parity_difference,
    equal_opportunity_difference, fairness_gaps,
};

fn outcomes() -> Outcomes {
    Outcomes::new(&Tensor::from([0i64, 1, 0, 1])).unwrap()
}

#[test]
fn outcomes_check_their_columns() {
    let text = |result: Result<Outcomes, tove_trust::TrustError>| result.map(|_| ()).unwrap_err().to_string();
    assert!(text(Outcomes::new(&Tensor::zeros([0], DType::F64))).contains("no samples"));
    assert!(text(Outcomes::new(&Tensor::from([0i64, 2]))).contains("row 1 are 2"));
    assert!(text(Outcomes::new(&Tensor::from([0.0, f64::NAN]))).contains("NaN"));
    assert!(text(outcomes().decisions(&Tensor::from([0.5, 0.0, 0.0, 0.0]))).contains("row 0 are 0.5"));
    assert!(text(outcomes().decisions(&Tensor::from([0i64]))).contains("4 samples"));
    assert!(text(outcomes().scores(&Tensor::from([0.1, 0.2, 1.5, 0.0]))).contains("1.5, outside of [0, 1]"));
    assert!(text(outcomes().weights(&Tensor::from([1.0, -1.0, 1.0, 1.0]))).contains("-1"));
    assert!(text(outcomes().sensitive("sex", &Tensor::from([1i64, 1, 1, 1]))).contains("`sex` has one value"));
    assert!(text(outcomes().sensitive("sex", &Tensor::from([0.5, 1.0, 1.0, 1.0]))).contains("0.5"));
    let one = outcomes().sensitive("sex", &Tensor::from([1i64, 1, 0, 0])).unwrap();
    assert!(text(one.clone().sensitive("sex", &Tensor::from([1i64, 1, 0, 0]))).contains("given twice"));
    assert!(text(one.clone().named("age", &[(0, "young")])).contains("not a sensitive column"));
    let none = GroupReport::new(&one, &GroupOptions::default()).unwrap_err().to_string();
    assert!(none.contains("neither decisions nor scores"), "{none}");
    let scored = outcomes().scores(&Tensor::from([0.1, 0.2, 0.9, 1.0])).unwrap();
    let none = GroupReport::new(&scored, &GroupOptions::default()).unwrap_err().to_string();
    assert!(none.contains("no sensitive column"), "{none}");
    let both = one.scores(&Tensor::from([0.0, 1.0, 0.5, 1.0])).unwrap();
    let with = |options: GroupOptions| fairness_gaps(&both, &options).map(|_| ()).unwrap_err().to_string();
    assert!(with(GroupOptions { confidence: 1.0, ..Default::default() }).contains("confidence"));
    assert!(with(GroupOptions { bins: 0, ..Default::default() }).contains("bins"));
    assert!(with(GroupOptions { resamples: 1, ..Default::default() }).contains("resamples"));
    // All groups too small: no gap, and the reason.
    let gaps = fairness_gaps(&both, &GroupOptions::default()).unwrap();
    assert!(gaps.gaps.is_empty() && gaps.undefined.len() == GapMeasure::all().len());
}

#[test]
fn extreme_tables_give_finite_values() {
    let options = GroupOptions { min_size: 1, resamples: 50, ..GroupOptions::default() };
    let patterns: [(&[i64; 6], &[i64; 6], &[f64; 6]); 5] = [
        (&[0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0], &[0.0; 6]),
        (&[1, 1, 1, 1, 1, 1], &[1, 1, 1, 1, 1, 1], &[1.0; 6]),
        (&[0, 1, 0, 1, 0, 1], &[1, 0, 1, 0, 1, 0], &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
        (&[0, 0, 0, 1, 1, 1], &[0, 0, 0, 1, 1, 1], &[0.0, 0.1, 0.3, 0.9, 0.99, 1.0]),
        (&[1, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 1], &[0.5; 6]),
    ];
    let groups = Tensor::from([0i64, 0, 0, 1, 1, 1]);
    for (labels, decisions, scores) in patterns {
        for weights in [
            None,
            Some(Tensor::from([0.0, 1e-300, 1.0, 1e300, 1.0, 0.0])),
            Some(Tensor::from([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])),
        ] {
            let mut outcomes = Outcomes::new(&Tensor::from_slice(labels)).unwrap();
            outcomes = outcomes.decisions(&Tensor::from_slice(decisions)).unwrap();
            outcomes = outcomes.scores(&Tensor::from_slice(scores)).unwrap().sensitive("a", &groups).unwrap();
            if let Some(weights) = &weights {
                outcomes = outcomes.weights(weights).unwrap();
            }
            let report = GroupReport::new(&outcomes, &options).unwrap();
            for group in report.groups.iter().chain([&report.overall]) {
                for (name, rate) in group.named() {
                    if let Some(rate) = rate {
                        let proper = |value: f64| (0.0..=1.0).contains(&value);
                        assert!(proper(rate.value) && proper(rate.low) && proper(rate.high), "{name} {rate:?}");
                        assert!(rate.low <= rate.value && rate.value <= rate.high, "{name} {rate:?}");
                    }
                }
            }
            let gaps = fairness_gaps(&outcomes, &options).unwrap();
            for gap in &gaps.gaps {
                let numbers = [gap.value, gap.low, gap.high, gap.p_value];
                assert!(numbers.iter().all(|value| (0.0..=1.0).contains(value)), "{gap:?}");
                assert_ne!(gap.between.0, gap.between.1);
            }
            assert!(!report.to_string().contains("NaN") && !gaps.to_string().contains("NaN"));
        }
    }
}

#[test]
fn single_measures_and_frames_refuse_what_is_undefined() {
    let (decisions, groups) = (Tensor::from([1i64, 0, 1]), Tensor::from([0i64, 0, 0]));
    assert!(
        demographic_parity_difference(&decisions, &groups, None).unwrap_err().to_string().contains("1 of 1 groups")
    );
    let groups = Tensor::from([0i64, 1, 1]);
    let labels = Tensor::from([1i64, 0, 0]);
    assert!(
        equal_opportunity_difference(&labels, &decisions, &groups, None).unwrap_err().to_string().contains("1 of 2")
    );
    assert!(demographic_parity_difference(&decisions, &Tensor::from([0i64, 1]), None).is_err());
    assert!(
        demographic_parity_difference(&Tensor::zeros([0], DType::F64), &Tensor::zeros([0], DType::F64), None).is_err()
    );

    let groups = SensitiveGroups::from_column("a", &groups).unwrap();
    let frame = MetricFrame::new(&groups, |rows| Ok((rows.len() > 1).then_some(rows.len() as f64))).unwrap();
    assert_eq!((frame.by_group()[0].1, frame.group_min(), frame.difference()), (None, Some(2.0), Some(0.0)));
    assert!(MetricFrame::new(&groups, |_| Ok(Some(f64::NAN))).unwrap_err().to_string().contains("NaN"));
    let frame = MetricFrame::new(&groups, |rows| Ok(Some(-(rows.len() as f64)))).unwrap();
    assert_eq!((frame.ratio(), frame.ratio_to_overall(), frame.difference()), (None, None, Some(1.0)));
    assert!(SensitiveGroups::from_column("a", &Tensor::zeros([0], DType::F64)).is_err());
    assert!(MetricFrame::of_predictions(&groups, &labels, &Tensor::from([1i64]), None, |_, _, _| Ok(None)).is_err());
}
