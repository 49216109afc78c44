//! Identities, intervals and refusals.

use tove_metrics::*;
use tove_tensor::{DType, Key, Tensor};

/// A random problem of two classes with many ties.
fn binary(n: usize, seed: u64) -> (Tensor, Tensor) {
    let key = Key::new(seed);
    let truth = key.fold(0).integers(0, 2, [n]);
    let scores = key.fold(1).integers(0, 20, [n]).to_dtype(DType::F64) + truth.to_dtype(DType::F64) * 3.0;
    (truth, scores)
}

#[test]
fn the_area_is_the_probability_of_the_right_order() {
    for seed in 0..20 {
        let (truth, scores) = binary(150, seed);
        let (t, s) = (truth.to_vec::<i64>(), scores.to_vec::<f64>());
        let (mut right, mut pairs) = (0.0, 0.0);
        for i in (0..150).filter(|&i| t[i] == 1) {
            for j in (0..150).filter(|&j| t[j] == 0) {
                pairs += 1.0;
                right += if s[i] > s[j] {
                    1.0
                } else if s[i] == s[j] {
                    0.5
                } else {
                    0.0
                };
            }
        }
        let area = roc_auc(&truth, &scores, None).unwrap().value;
        assert!((area - right / pairs).abs() < 1e-13);
        // In single precision the sort takes another path.
        assert_eq!(roc_auc(&truth, &scores.to_dtype(DType::F32), None).unwrap().value, area);
        // Any rising function of the scores leaves the order as it is; its mirror turns the area round.
        assert_eq!(roc_auc(&truth, &(&scores * 2.0 - 7.0), None).unwrap().value, area);
        assert!((roc_auc(&truth, &-&scores, None).unwrap().value - (1.0 - area)).abs() < 1e-13);
        let curve = roc_curve(&truth, &scores, None).unwrap();
        let (x, y) = (&curve.false_positive_rate, &curve.true_positive_rate);
        let trapezoids: f64 = (1..x.len()).map(|i| (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2.0).sum();
        assert!((trapezoids - area).abs() < 1e-13);
    }
}

#[test]
fn a_weight_of_two_is_two_copies() {
    let (truth, scores) = binary(60, 3);
    let guess = scores.gt_scalar(10.0).to_dtype(DType::I64);
    let weights = Key::new(9).integers(0, 4, [60]);
    let copies: Vec<i64> =
        weights.to_vec::<i64>().into_iter().zip(0..).flat_map(|(w, i)| vec![i; w as usize]).collect();
    let copies = Tensor::from(copies);
    let copy = |tensor: &Tensor| tensor.index_select(0, &copies);
    let weights = weights.to_dtype(DType::F64);
    let same = |weighted: Result<Score>, copied: Result<Score>| {
        let (weighted, copied) = (weighted.unwrap().value, copied.unwrap().value);
        assert!((weighted - copied).abs() < 1e-13, "{weighted} {copied}");
    };
    let w = Some(&weights);
    same(accuracy(&truth, &guess, w), accuracy(&copy(&truth), &copy(&guess), None));
    same(roc_auc(&truth, &scores, w), roc_auc(&copy(&truth), &copy(&scores), None));
    same(average_precision(&truth, &scores, w), average_precision(&copy(&truth), &copy(&scores), None));
    let y = truth.to_dtype(DType::F64);
    same(mean_squared_error(&y, &scores, w), mean_squared_error(&copy(&y), &copy(&scores), None));
    same(r2_score(&y, &scores, w), r2_score(&copy(&y), &copy(&scores), None));
    let p = (&scores / 30.0).sigmoid();
    same(log_loss(&truth, &p, w), log_loss(&copy(&truth), &copy(&p), None));
    same(brier_score(&truth, &p, w), brier_score(&copy(&truth), &copy(&p), None));
    type OfClasses = fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Score>;
    let of_classes: [OfClasses; 6] = [
        matthews_corrcoef,
        |t, p, w| balanced_accuracy(t, p, true, w),
        |t, p, w| cohen_kappa(t, p, KappaWeights::None, w),
        |t, p, w| cohen_kappa(t, p, KappaWeights::Quadratic, w),
        |t, p, w| fbeta(t, p, 0.5, Average::Class(1), w).map(|value| Score::plain(value, 0)),
        |t, p, w| jaccard(t, p, Average::Weighted, w).map(|value| Score::plain(value, 0)),
    ];
    for score in of_classes {
        same(score(&truth, &guess, w), score(&copy(&truth), &copy(&guess), None));
    }
    let (amounts, guessed) = (&y * 2.0 + 0.5, &scores / 10.0 + 0.1);
    let of_numbers: [OfClasses; 8] = [
        explained_variance,
        mean_absolute_percentage_error,
        mean_squared_log_error,
        median_absolute_error,
        max_error,
        |t, p, w| mean_pinball_loss(t, p, 0.3, w),
        |t, p, w| d2_tweedie_score(t, p, 1.0, w),
        |t, p, w| d2_pinball_score(t, p, 0.3, w),
    ];
    for score in of_numbers {
        same(score(&amounts, &guessed, w), score(&copy(&amounts), &copy(&guessed), None));
    }
}

#[test]
fn intervals_follow_hoeffding() {
    // ε = √(ln(2/0.05)/2000).
    assert!((hoeffding(1000.0, 1.0, 0.05) - 0.042947).abs() < 5e-7);
    let truth = Tensor::zeros([1000], DType::I64);
    let guess = Tensor::from((0..1000).map(|i| i64::from(i % 10 == 0)).collect::<Vec<_>>());
    let score = accuracy(&truth, &guess, None).unwrap();
    assert_eq!((score.value, score.n, score.confidence), (0.9, 1000, 0.95));
    assert!((score.low - (0.9 - hoeffding(1000.0, 1.0, 0.05))).abs() < 1e-15);
    assert!((score.high - (0.9 + hoeffding(1000.0, 1.0, 0.05))).abs() < 1e-15);
    assert!(score.with_confidence(0.999).high - score.with_confidence(0.999).low > score.high - score.low);
    // Equal weights change nothing; all weight on one sample leaves the certainty of one sample.
    let equal = accuracy(&truth, &guess, Some(&Tensor::full([1000], 3.0, DType::F64))).unwrap();
    assert!((equal.low - score.low).abs() < 1e-12);
    let mut alone = vec![0.0; 1000];
    alone[1] = 5.0;
    let alone = accuracy(&truth, &guess, Some(&Tensor::from(alone))).unwrap();
    assert_eq!((alone.value, alone.low, alone.high), (1.0, 0.0, 1.0));
    assert_eq!(mean_squared_error(&Tensor::from([1.0]), &Tensor::from([2.0]), None).unwrap().interval(), None);
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // 2000 test sets of 100 samples that are right with probability 0.8; at most 5 % of intervals may miss that.
    let (sets, n) = (2000, 100);
    let right = Key::new(5).bernoulli(0.8, [sets * n]).to_dtype(DType::I64).reshape([sets, n]);
    let truth = Tensor::ones([n], DType::I64);
    let missed = (0..sets).filter(|&set| {
        let score = accuracy(&truth, &right.get(set), None).unwrap();
        !(score.low..=score.high).contains(&0.8)
    });
    assert!(missed.count() <= sets / 20);
}

#[test]
fn running_means_agree_with_the_whole() {
    let values = Key::new(4).normal([1000], DType::F64).to_vec::<f64>();
    let (mut one_by_one, mut by_batch, mut rest) = (Mean::new(), Mean::new(), Mean::new());
    values.iter().for_each(|&value| one_by_one.add(value));
    values[..600]
        .chunks(64)
        .for_each(|batch| by_batch.add_batch(batch.iter().sum::<f64>() / batch.len() as f64, batch.len()));
    values[600..].iter().for_each(|&value| rest.add(value));
    by_batch.merge(&rest);
    assert_eq!((one_by_one.n(), by_batch.n()), (1000, 1000));
    assert!((one_by_one.value().unwrap() - by_batch.value().unwrap()).abs() < 1e-15);
    // A small number does not drown in a large one.
    let mut mean = Mean::new();
    [1e16, 1.0, -1e16].into_iter().for_each(|value| mean.add(value));
    assert_eq!(mean.value(), Some(1.0 / 3.0));
    mean.reset();
    assert_eq!(mean.value(), None);
}

#[test]
fn what_means_nothing_is_refused_with_a_reason() {
    let none = Tensor::zeros([0], DType::I64);
    let (two, three) = (Tensor::from([0i64, 1]), Tensor::from([0i64, 1, 1]));
    let says = |error: MetricError, part: &str| assert!(error.to_string().contains(part), "{error}");
    says(accuracy(&none, &none, None).unwrap_err(), "no samples");
    says(accuracy(&two, &three, None).unwrap_err(), "one prediction per sample");
    says(accuracy(&two, &Tensor::from([0.2, 0.9]), None).unwrap_err(), "argmax");
    says(accuracy(&two, &two, Some(&Tensor::from([1.0, -1.0]))).unwrap_err(), "not negative");
    says(accuracy(&two, &two, Some(&Tensor::from([0.0, 0.0]))).unwrap_err(), "all weights are zero");
    says(accuracy(&two, &two, Some(&Tensor::from([1.0]))).unwrap_err(), "one per sample");
    says(roc_auc(&Tensor::from([1i64, 1]), &Tensor::from([0.1, 0.2]), None).unwrap_err(), "no negative sample");
    says(average_precision(&Tensor::from([0i64, 0]), &Tensor::from([0.1, 0.2]), None).unwrap_err(), "no positive");
    says(roc_auc(&two, &Tensor::from([0.1, f64::NAN]), None).unwrap_err(), "scores 1 is NaN");
    says(roc_auc(&Tensor::from([0i64, 2]), &Tensor::from([0.1, 0.2]), None).unwrap_err(), "class 1 is 2");
    let absent =
        roc_auc_one_vs_rest(&Tensor::from([0i64, 1]), &Tensor::from([[0.1, 0.2, 0.7]; 2]), Average::Macro, None);
    says(absent.unwrap_err(), "class 2 against the rest");
    says(log_loss(&two, &Tensor::from([[0.5, 0.6], [0.5, 0.5]]), None).unwrap_err(), "sum to 1");
    says(log_loss(&two, &Tensor::from([[2.0, -1.0], [0.5, 0.5]]), None).unwrap_err(), "softmax");
    says(top_k_accuracy(&two, &Tensor::from([[0.1, 0.9]; 2]), 3, None).unwrap_err(), "from 1 to 2");
    says(r2_score(&Tensor::from([1.0]), &Tensor::from([1.0]), None).unwrap_err(), "at least two");
    let infinite = Tensor::from([[f64::INFINITY, 0.0]; 2]);
    says(negative_log_likelihood(&two, &infinite, None).unwrap_err(), "infinite");
    says(bits_per_character(1.0, 3, 0).unwrap_err(), "no samples");
    let ones = Tensor::from([1i64, 1]);
    says(cohen_kappa(&ones, &ones, KappaWeights::Linear, None).unwrap_err(), "all of one class");
    says(balanced_accuracy(&ones, &two, true, None).unwrap_err(), "all of one class");
    says(fbeta(&two, &two, -1.0, Average::Macro, None).unwrap_err(), "at least 0");
    says(fbeta(&two, &two, f64::NAN, Average::Macro, None).unwrap_err(), "at least 0");
    says(jaccard(&two, &two, Average::Class(9), None).unwrap_err(), "class 9 occurs neither");
    says(matthews_corrcoef(&none, &none, None).unwrap_err(), "no samples");
    let (amounts, zero) = (Tensor::from([1.0, 2.0]), Tensor::from([0.0, 2.0]));
    says(mean_poisson_deviance(&amounts, &zero, None).unwrap_err(), "prediction 0 is 0");
    says(mean_poisson_deviance(&-&amounts, &amounts, None).unwrap_err(), "truth 0 is -1");
    says(mean_gamma_deviance(&zero, &amounts, None).unwrap_err(), "truth 0 is 0");
    says(mean_tweedie_deviance(&amounts, &amounts, 0.5, None).unwrap_err(), "power is 0.5");
    says(mean_tweedie_deviance(&amounts, &amounts, f64::NAN, None).unwrap_err(), "power is NaN");
    says(d2_tweedie_score(&Tensor::from([1.0]), &Tensor::from([1.0]), 1.0, None).unwrap_err(), "at least two");
    says(d2_tweedie_score(&-&amounts, &amounts, -1.0, None).unwrap_err(), "needs a positive one");
    says(mean_pinball_loss(&amounts, &amounts, 1.5, None).unwrap_err(), "from 0 to 1");
    says(mean_squared_log_error(&-&amounts, &amounts, None).unwrap_err(), "above -1");
    says(max_error(&amounts.reshape([1, 2]), &amounts.reshape([1, 2]), None).unwrap_err(), "one output");
    says(median_absolute_error(&amounts, &Tensor::from([f64::NAN, 1.0]), None).unwrap_err(), "NaN");
    let huge = Tensor::from([1e300, -1e300]);
    says(explained_variance(&huge, &-&huge, None).unwrap_err(), "overflow");
}

#[test]
fn what_is_left_undefined_elsewhere_has_a_rule_here() {
    // All counts are zero: no deviance to explain.
    let zeros = Tensor::zeros([3], DType::F64);
    let guess = Tensor::from([0.5, 0.5, 0.5]);
    assert_eq!(d2_tweedie_score(&zeros, &guess, 1.0, None).unwrap().value, 0.0);
    let same = Tensor::from([2.0, 2.0]);
    assert_eq!(d2_tweedie_score(&same, &same, 2.0, None).unwrap().value, 1.0);
    // The median does not overflow, and a sample without weight is not there.
    let (truth, guess) = (Tensor::from([1.5e308, 0.0, 0.0, 9.0]), Tensor::from([0.0, 1.5e308, 0.0, 0.0]));
    let weights = Tensor::from([1.0, 1.0, 0.0, 0.0]);
    assert_eq!(median_absolute_error(&truth, &guess, Some(&weights)).unwrap().value, 1.5e308);
    assert_eq!(max_error(&truth, &guess, Some(&Tensor::from([0.0, 0.0, 1.0, 1.0]))).unwrap().value, 9.0);
}

#[test]
fn other_strides_and_types_give_the_same_scores() {
    let (truth, scores) = binary(40, 8);
    let pairs = Tensor::stack(&[&scores, &scores], 1);
    let column = pairs.t().get(0);
    assert!(!column.is_contiguous());
    assert_eq!(roc_auc(&truth, &column, None), roc_auc(&truth, &scores, None));
    let guess = scores.gt_scalar(10.0);
    let plain = accuracy(&truth, &guess.to_dtype(DType::I64), None);
    assert_eq!(accuracy(&truth.to_dtype(DType::U8), &guess, None), plain);
}

#[test]
fn a_matrix_prints_as_a_table() {
    let (truth, guess) = (Tensor::from([0i64, 1, 1, 2]), Tensor::from([0i64, 1, 2, 2]));
    let weights = Tensor::from([1.0, 0.5, 0.25, 1.0]);
    let matrix = ConfusionMatrix::new(&truth, &guess, Some(&weights)).unwrap().named(&["cat", "dog", "bird"]);
    let table = "true \\ predicted    cat    dog   bird\n\
                 \x20            cat  1.000  0.000  0.000\n\
                 \x20            dog  0.000  0.500  0.250\n\
                 \x20           bird  0.000  0.000  1.000\n";
    assert_eq!(matrix.to_string(), table);
    assert_eq!((matrix.count(1, 2), matrix.count(1, 7)), (Some(0.25), None));
}
