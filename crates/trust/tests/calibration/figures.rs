//! Figures without maps: smooth error, Brier parts, tests, intervals, weights, threads.

use super::*;

#[test]
fn smooth_error_brier_parts_and_spiegelhalter_agree() {
    let f = fixture();
    for case in f["smooth"].as_array().unwrap() {
        let (p, y) = (vector(&case["p"]), integers(&case["y"]));
        let found = smooth_ece(&y, &p, None, None).unwrap();
        close(&[found.error.value, found.bandwidth], &[number(&case["value"]), number(&case["bandwidth"])], 1e-9);
        close(&[smooth_ece_at(&y, &p, None, 0.05).unwrap().value], &[number(&case["at_0.05"])], 1e-9);
    }
    let (p, y) = (vector(&f["p"]), integers(&f["y"]));
    let own = probabilities(&p);
    close(&[spiegelhalter_test(&y, &own, None).unwrap().statistic], &[number(&f["spiegelhalter"])], 1e-10);
    for case in f["brier"].as_array().unwrap() {
        let bins = case["bins"].as_u64().unwrap() as usize;
        let parts =
            brier_decomposition(&y, &own, bins, Binning::Width, None, &Bootstrap::new(1).resamples(40)).unwrap();
        let names = ["brier", "reliability", "resolution", "uncertainty", "variance", "covariance"];
        let values =
            [parts.brier, parts.reliability, parts.resolution, parts.uncertainty, parts.variance, parts.covariance];
        close(&values.map(|score| score.value), &names.map(|name| number(&case[name])), 1e-12);
    }
    // For several classes the parts sum to the multi-class score.
    let (q, labels) = (matrix(&f["q"]), integers(&f["labels"]));
    let b = Bootstrap::new(1).resamples(40);
    let parts = brier_decomposition(&labels, &probabilities(&q), 8, Binning::Mass, None, &b).unwrap();
    let sum = parts.reliability.value - parts.resolution.value + parts.uncertainty.value + parts.variance.value;
    close(&[sum - parts.covariance.value], &[tove_metrics::brier_score(&labels, &q, None).unwrap().value], 1e-12);
}

#[test]
fn intervals_agree_with_scipy() {
    let f = fixture();
    for case in f["binomial"].as_array().unwrap() {
        let (k, n) = (case["k"].as_u64().unwrap() as usize, case["n"].as_u64().unwrap() as usize);
        let confidence = number(&case["confidence"]);
        let (low, high) = clopper_pearson(k, n, confidence).unwrap();
        close(&[low, high], &numbers(&case["exact"]), 1e-10);
        let (low, high) = wilson(k as f64, n as f64, confidence).unwrap();
        close(&[low, high], &numbers(&case["wilson"]), 1e-10);
    }
    let (truth, scores) = (integers(&f["truth"]), vector(&f["scores"]));
    close(&[precision_recall_auc(&truth, &scores, None).unwrap().value], &[number(&f["precision_recall_auc"])], 1e-12);
    for (method, name) in [(BootstrapMethod::Percentile, "percentile"), (BootstrapMethod::Bca, "BCa")] {
        let bootstrap = Bootstrap::new(3).resamples(6000).method(method);
        let score = bootstrap.score(&truth, &scores, None, average_precision).unwrap();
        // Both have the error of their resamples, about 0.002.
        close(&[score.low, score.high], &numbers(&f["average_precision_intervals"][name]), 0.008);
    }
    // The exact interval of an accuracy, by the score itself.
    let guess = Tensor::from(scores.to_f64_vec().iter().map(|s| i64::from(*s > 0.5)).collect::<Vec<_>>());
    let score = accuracy(&truth, &guess, None).unwrap().exact(0.9).unwrap();
    let right = (score.value * 120.0).round() as usize;
    assert_eq!((score.low, score.high), clopper_pearson(right, 120, 0.9).unwrap());
    assert!(average_precision(&truth, &scores, None).unwrap().exact(0.9).is_err());
}

#[test]
fn all_figures_of_a_report_are_those_of_the_single_functions() {
    let f = fixture();
    let (q, labels) = (matrix(&f["q"]), integers(&f["labels"]));
    let (own, b) = (probabilities(&q), Bootstrap::new(2).resamples(200));
    let found = calibration_errors(&labels, &own, 12, None, &b).unwrap();
    let [width, mass] =
        [Binning::Width, Binning::Mass].map(|how| top_label_bins(&labels, &own, 12, how, None).unwrap());
    let smooth = smooth_ece(&right(&labels, &q), &top(&q), None, Some(&b)).unwrap();
    let class_wise = tove_metrics::calibration::class_wise_ece_interval(&labels, &q, 12, None, &b).unwrap();
    let brier = b.score(&labels, &q, None, tove_metrics::brier_score).unwrap();
    let pairs = [
        (found.ece, width.ece_interval(&b).unwrap()),
        (found.mce, width.mce_interval(&b).unwrap()),
        (found.adaptive, mass.ece_interval(&b).unwrap()),
        (found.class_wise, class_wise),
        (found.smooth, smooth.error),
        (found.log_loss, b.score(&labels, &q, None, log_loss).unwrap()),
        (found.brier, brier),
    ];
    for (place, (ours, single)) in pairs.into_iter().enumerate() {
        close(&[ours.value], &[single.value], 1e-10);
        // The intervals of scores are percentiles, those of errors are around the value.
        close(&[ours.low, ours.high], &[single.low, single.high], if place < 5 { 1e-10 } else { 0.01 });
        assert!(ours.low <= ours.value && ours.value <= ours.high && ours.low < ours.high);
    }
}

#[test]
fn intervals_cover_what_they_promise() {
    // The mean of 60 events of probability 0.3, by all methods: 400 repetitions.
    let covered = |interval: &dyn Fn(&Tensor, &Tensor, u64) -> (f64, f64)| {
        let hit = |seed: u64| {
            let u = Key::new(seed).uniform([60], DType::F64).to_f64_vec();
            let truth = Tensor::from(u.iter().map(|u| i64::from(*u < 0.3)).collect::<Vec<_>>());
            let (low, high) = interval(&truth, &Tensor::from(vec![1i64; 60]), seed);
            low <= 0.3 && 0.3 <= high
        };
        (0..400).filter(|&seed| hit(seed)).count() as f64 / 400.0
    };
    let percentile = covered(&|t, g, seed| {
        let score = Bootstrap::new(seed).resamples(300).score(t, g, None, accuracy).unwrap();
        (score.low, score.high)
    });
    let exact = covered(&|t, g, _| {
        let score = accuracy(t, g, None).unwrap().exact(0.95).unwrap();
        (score.low, score.high)
    });
    assert!(percentile > 0.9 && percentile < 0.98, "{percentile}");
    assert!(exact >= 0.94, "{exact}");
}

#[test]
fn consistency_test_has_its_level_and_sees_what_spiegelhalter_does_not() {
    let p_value = |seed: u64, factor: f64| {
        let (z, labels) = drawn(1000 + seed, 150, 3);
        let p = probabilities(&(&z * factor).try_softmax(1).unwrap());
        consistency_test(&labels, &p, 10, None, 199, seed).unwrap().p_value
    };
    let rejected = (0..300).filter(|&seed| p_value(seed, 1.0) <= 0.1).count() as f64 / 300.0;
    assert!((0.05..=0.16).contains(&rejected), "{rejected}");
    let power = (0..30).filter(|&seed| p_value(seed, 3.0) <= 0.05).count();
    assert!(power >= 27, "{power}");
    // Events of frequency 0.1 called 0.2, and of frequency 0.8 called 0.9 or 0.5: in the Brier score the first two errors cancel, and
    // 0.5 costs the same whatever happens.
    let groups = [(0.2, 0.1, 1000), (0.9, 0.80625, 800), (0.5, 0.8, 1000)];
    let part = |&(p, frequency, count): &(f64, f64, usize)| {
        (0..count).map(move |i| (p, i64::from(i as f64 + 0.5 < frequency * count as f64)))
    };
    let (p, labels): (Vec<f64>, Vec<i64>) = groups.iter().flat_map(part).unzip();
    let (p, labels) = (probabilities(&Tensor::from(p)), Tensor::from(labels));
    let z = spiegelhalter_test(&labels, &p, None).unwrap();
    assert!(z.statistic.abs() < 1e-9 && z.p_value > 0.99, "{z:?}");
    let test = consistency_test(&labels, &p, 10, None, 999, 1).unwrap();
    assert!(test.p_value <= 0.001 + 1e-12 && test.statistic > 0.1, "{test:?}");
}

#[test]
fn weights_are_copies_and_threads_change_nothing() {
    let f = fixture();
    let (q, labels) = (matrix(&f["q"]), integers(&f["labels"]));
    let n = labels.numel();
    let counts: Vec<usize> = (0..n).map(|i| (i * 7 + 3) % 4).collect();
    let weights = Tensor::from(counts.iter().map(|&count| count as f64).collect::<Vec<_>>());
    let rows: Vec<usize> = counts.iter().enumerate().flat_map(|(row, &count)| vec![row; count]).collect();
    let (values, codes) = (q.to_f64_vec(), labels.to_vec::<i64>());
    let copied =
        Tensor::from_vec(rows.iter().flat_map(|&row| values[4 * row..4 * row + 4].to_vec()).collect(), [rows.len(), 4]);
    let copied_labels = Tensor::from(rows.iter().map(|&row| codes[row]).collect::<Vec<_>>());
    let errors = |labels: &Tensor, q: &Tensor, weights: Option<&Tensor>| {
        let few = Bootstrap::new(4).resamples(50);
        let e = calibration_errors(labels, &probabilities(q), 10, weights, &few).unwrap();
        [e.ece, e.mce, e.class_wise, e.brier, e.log_loss].map(|score| score.value)
    };
    close(&errors(&labels, &q, Some(&weights)), &errors(&copied_labels, &copied, None), 1e-10);
    let z = |labels: &Tensor, q: &Tensor, w: Option<&Tensor>| {
        smooth_ece_at(&right(labels, q), &top(q), w, 0.1).unwrap().value
    };
    close(&[z(&labels, &q, Some(&weights))], &[z(&copied_labels, &copied, None)], 1e-6);
    for method in METHODS {
        let fit = |labels: &Tensor, q: &Tensor, weights: Option<&Tensor>| {
            let map = CalibrationMap::fit(method, ScoreKind::Probabilities, q, labels, weights).unwrap();
            map.apply(&matrix(&f["q"])).unwrap().to_f64_vec()
        };
        close(&fit(&labels, &q, Some(&weights)), &fit(&copied_labels, &copied, None), 1e-6);
    }
    let before = num_threads();
    let all: Vec<_> = [1, 2, 5]
        .map(|threads| {
            set_num_threads(threads);
            let e =
                calibration_errors(&labels, &probabilities(&q), 10, None, &Bootstrap::new(4).resamples(100)).unwrap();
            let p = consistency_test(&labels, &probabilities(&q), 10, None, 100, 4).unwrap();
            (e, p)
        })
        .into();
    set_num_threads(before);
    assert!(all.iter().all(|one| *one == all[0]));
}

fn right(labels: &Tensor, q: &Tensor) -> Tensor {
    let own = probabilities(q);
    let codes = labels.to_vec::<i64>();
    Tensor::from((0..own.len()).map(|row| i64::from(own.top(row).0 as i64 == codes[row])).collect::<Vec<_>>())
}

fn top(q: &Tensor) -> Tensor {
    let own = probabilities(q);
    Tensor::from((0..own.len()).map(|row| own.top(row).1).collect::<Vec<_>>())
}
