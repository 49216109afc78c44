//! Sufficiency and group calibration; which criteria cannot hold together.
#![allow(clippy::unwrap_used)]

mod fairness_common;

use fairness_common::{Calibrated, calibrated};
use tove_plot::{Picture, ReliabilityBin, ReliabilityChart};
use tove_tensor::Tensor;
use tove_trust::fairness::{
    Criterion, Degeneracy, FairnessGaps, GapMeasure, GroupOptions, GroupReport, Outcomes, ScoreDistributions,
    fairness_gaps, scores_search, tables_search,
};

fn outcomes(data: &Calibrated, scores: &Tensor) -> Outcomes {
    let outcomes = Outcomes::new(&data.labels).unwrap().scores(scores).unwrap();
    outcomes.sensitive("group", &data.groups).unwrap()
}

fn gaps(data: &Calibrated, scores: &Tensor) -> FairnessGaps {
    let options = GroupOptions { resamples: 199, ..GroupOptions::default() };
    fairness_gaps(&outcomes(data, scores), &options).unwrap()
}

#[test]
fn k22_group_calibration_implies_sufficiency_and_not_conversely() {
    let data = calibrated(20_000, 1.0, 5);
    let p = |gaps: &FairnessGaps, measure: GapMeasure| gaps.get(measure).unwrap().p_value;

    // Scores calibrated in each group pass both tests, although base rates and error rates differ.
    let calibrated_gaps = gaps(&data, &data.scores);
    assert!(p(&calibrated_gaps, GapMeasure::GroupCalibrationError) > 0.05, "{calibrated_gaps}");
    assert!(p(&calibrated_gaps, GapMeasure::BinnedRateDifference) > 0.05, "{calibrated_gaps}");
    assert!(p(&calibrated_gaps, GapMeasure::DemographicParityDifference) < 0.01);
    assert!(p(&calibrated_gaps, GapMeasure::EqualizedOddsDifference) < 0.01);

    // Their squares say the same about the label, so sufficiency holds; but they are not calibrated.
    let squares = data.scores.square();
    let squared = gaps(&data, &squares);
    assert!(p(&squared, GapMeasure::BinnedRateDifference) > 0.05, "{squared}");
    assert!(p(&squared, GapMeasure::GroupCalibrationError) < 0.01, "{squared}");
    assert!(squared.get(GapMeasure::GroupCalibrationError).unwrap().value > 0.1);

    // Scores that are too low for one group are not sufficient.
    let shifted: Vec<f64> = data
        .scores
        .to_vec::<f64>()
        .iter()
        .zip(data.groups.to_vec::<i64>())
        .map(|(&score, group)| if group == 1 { score / (score + 3.0 * (1.0 - score)) } else { score })
        .collect();
    let unfair = gaps(&data, &Tensor::from_slice(&shifted));
    assert!(p(&unfair, GapMeasure::BinnedRateDifference) < 0.01, "{unfair}");
    assert!(unfair.get(GapMeasure::BinnedRateDifference).unwrap().low > 0.1);

    // A reliability diagram per group: on the diagonal within the intervals for calibrated scores, below it for the shifted group.
    let mut outside = [0, 0];
    for (place, scores) in [&data.scores, &Tensor::from_slice(&shifted)].into_iter().enumerate() {
        let options = GroupOptions { confidence: 0.999, ..GroupOptions::default() };
        let report = GroupReport::new(&outcomes(&data, scores), &options).unwrap();
        for group in &report.groups {
            let bars = group.bins.iter().filter_map(|bin| {
                let (mean, rate) = (bin.mean_score?, bin.rate?);
                outside[place] += i32::from(!rate.holds(mean));
                Some(ReliabilityBin { low: bin.low, high: bin.high, mean, frequency: rate.value, count: bin.rows })
            });
            let chart = ReliabilityChart::from_bins(&bars.collect::<Vec<ReliabilityBin>>());
            assert!((chart.ece() - group.calibration_error.unwrap()).abs() < 1e-12);
            assert!(chart.to_svg().unwrap().contains("<svg"));
        }
    }
    assert_eq!(outside[0], 0);
    assert!(outside[1] >= 8, "{outside:?}");
}

const PAIRS: [(Criterion, Criterion); 3] = [
    (Criterion::Independence, Criterion::Separation),
    (Criterion::Independence, Criterion::Sufficiency),
    (Criterion::Separation, Criterion::Sufficiency),
];

#[test]
fn k23_no_two_criteria_hold_together_outside_of_degenerate_cases() {
    // Decisions: all confusion tables of two groups with unequal base rates, exactly.
    for (first, second) in
        [((4, 6), (2, 8)), ((6, 6), (4, 12)), ((10, 5), (6, 9)), ((1, 11), (7, 7)), ((8, 8), (12, 4))]
    {
        let search = tables_search(first, second).unwrap();
        assert_eq!(search.tried, (first.0 + 1) * (first.1 + 1) * (second.0 + 1) * (second.1 + 1));
        assert!(search.joint().is_empty());
        let cases = |index: usize| {
            let mut cases: Vec<Option<Degeneracy>> = search.solutions[index].1.iter().map(|t| t.degeneracy()).collect();
            cases.sort_by_key(|case| format!("{case:?}"));
            cases.dedup();
            (search.solutions[index].0, cases)
        };
        // Which degenerate cases occur: an uninformative decision, none, perfect prediction.
        assert_eq!(cases(0), (PAIRS[0], vec![Some(Degeneracy::Uninformative)]));
        assert_eq!(cases(1), (PAIRS[1], vec![]));
        assert_eq!(cases(2), (PAIRS[2], vec![Some(Degeneracy::PerfectPrediction)]));
    }
    // With equal base rates informative solutions exist for every pair (the search can find them).
    let equal = tables_search((4, 8), (2, 4)).unwrap();
    for (pair, tables) in &equal.solutions {
        let informative = |t: &&tove_trust::fairness::ConfusionPair| {
            let [tp, fn_, fp, tn] = t.counts[0];
            tp * (fp + tn) > fp * (tp + fn_) && fn_ + fp > 0
        };
        assert!(tables.iter().any(|t| informative(&t)), "{pair:?}");
    }

    // Scores of four levels, with overlap bounded away from perfect prediction and from uninformative scores.
    let (rates, bounds): ([f64; 2], (f64, f64)) = ([0.5, 0.3], (0.2, 0.9));
    let difference = rates[0] - rates[1];
    let found: Vec<f64> =
        PAIRS.iter().map(|&pair| scores_search(pair, rates, bounds, 4, 12, 7).unwrap().violation).collect();
    println!("violations {found:?}");
    // For independence and separation v ≥ |p − q| (1 − overlap)/2, for independence and sufficiency v ≥ |p − q|/2 (triangle inequality).
    assert!(found[0] >= 0.5 * difference * (1.0 - bounds.1 - 0.01) && found[0] < 0.1, "{found:?}");
    assert!(found[1] >= 0.5 * difference && found[1] < 0.5, "{found:?}");
    assert!(found[2] > 0.01, "{found:?}");
    // The same search finds solutions where they exist: equal base rates, and bounds that admit degenerate scores.
    for pair in PAIRS {
        assert!(scores_search(pair, [0.4, 0.4], bounds, 4, 6, 7).unwrap().violation < 1e-3);
    }
    assert!(scores_search(PAIRS[0], rates, (0.2, 1.0), 4, 6, 7).unwrap().violation < 0.25 * found[0]);
    assert!(scores_search(PAIRS[2], rates, (0.0, 0.9), 4, 6, 7).unwrap().violation < 0.25 * found[2]);

    // Each degenerate case, exhibited.
    let all = [Criterion::Independence, Criterion::Separation, Criterion::Sufficiency];
    let holds = |scores: &ScoreDistributions| all.map(|criterion| scores.violation(criterion) < 1e-12);
    let (low, high) = (vec![0.5, 0.3, 0.2], vec![0.1, 0.3, 0.6]);
    let same = [[low.clone(), high.clone()], [low, high]];
    // A independent of Y: an informative score meets all three.
    let equal = ScoreDistributions::new([0.4, 0.4], same.clone()).unwrap();
    assert_eq!(holds(&equal), [true, true, true]);
    // With other base rates the same score only meets separation.
    assert_eq!(holds(&ScoreDistributions::new(rates, same).unwrap()), [false, true, false]);
    // Perfect prediction: separation and sufficiency.
    let perfect = [vec![1.0, 0.0], vec![0.0, 1.0]];
    let perfect = ScoreDistributions::new(rates, [perfect.clone(), perfect]).unwrap();
    assert_eq!((holds(&perfect), perfect.overlap(0)), ([false, true, true], 0.0));
    // A constant score, and one that is random: independence and separation.
    let constant = ScoreDistributions::new(rates, [[vec![1.0], vec![1.0]], [vec![1.0], vec![1.0]]]).unwrap();
    assert_eq!((holds(&constant), constant.overlap(1)), ([true, true, false], 1.0));
    let coin = vec![0.7, 0.3];
    let random = ScoreDistributions::new(rates, [[coin.clone(), coin.clone()], [coin.clone(), coin]]).unwrap();
    assert_eq!(holds(&random), [true, true, false]);
}

#[test]
fn searches_refuse_bad_arguments() {
    assert!(tables_search((0, 3), (2, 2)).unwrap_err().to_string().contains("without positives"));
    assert!(tables_search((1000, 1000), (1000, 1000)).unwrap_err().to_string().contains("smaller groups"));
    assert!(tables_search((u64::MAX - 1, 1), (1, 1)).is_err());
    let pair = PAIRS[0];
    assert!(scores_search(pair, [0.0, 0.5], (0.1, 0.9), 3, 2, 1).is_err());
    assert!(scores_search(pair, [f64::NAN, 0.5], (0.1, 0.9), 3, 2, 1).is_err());
    assert!(scores_search(pair, [0.2, 0.5], (0.9, 0.1), 3, 2, 1).is_err());
    assert!(scores_search(pair, [0.2, 0.5], (0.1, 0.9), 1, 2, 1).is_err());
    assert!(scores_search(pair, [0.2, 0.5], (0.1, 0.9), 3, 0, 1).is_err());
    let uneven = [[vec![1.0], vec![0.5, 0.5]], [vec![1.0], vec![1.0]]];
    assert!(ScoreDistributions::new([0.2, 0.5], uneven).is_err());
}
