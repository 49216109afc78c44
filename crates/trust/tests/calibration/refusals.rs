//! What is refused, and what is degenerate.

use super::*;

#[test]
fn bad_input_is_refused_with_a_reason() {
    let (p, y) = (Tensor::from([0.2, 0.8, 0.6]), Tensor::from([0i64, 1, 1]));
    let fit = |kind, p: &Tensor, y: &Tensor, w: Option<&Tensor>| {
        CalibrationMap::fit(CalibrationMethod::Isotonic, kind, p, y, w).unwrap_err().to_string()
    };
    let probabilistic = ScoreKind::Probabilities;
    assert!(fit(probabilistic, &Tensor::from([0.2, f64::NAN, 0.6]), &y, None).contains("row 1 is NaN"));
    assert!(fit(probabilistic, &Tensor::from([0.2, 1.8, 0.6]), &y, None).contains("not probabilities"));
    assert!(fit(probabilistic, &p, &Tensor::from([0i64, 1]), None).contains("labels"));
    assert!(fit(probabilistic, &p, &Tensor::from([0i64, 1, 2]), None).contains("row 2 is 2"));
    assert!(fit(probabilistic, &p, &Tensor::from([1i64, 1, 1]), None).contains("class 0 has no sample"));
    assert!(fit(probabilistic, &p, &y, Some(&Tensor::from([0.0, 1.0, 1.0]))).contains("class 0 has no sample"));
    assert!(fit(probabilistic, &p, &y, Some(&Tensor::from([1.0, -1.0, 1.0]))).contains("not negative"));
    assert!(fit(ScoreKind::Logits, &Tensor::zeros([0, 2], DType::F64), &y, None).contains("at least one sample"));
    assert!(fit(ScoreKind::Logits, &Tensor::zeros([3, 1], DType::F64), &y, None).contains("two classes"));
    // Constant and duplicated scores, separated classes, huge values: finite probabilities.
    for method in METHODS {
        for scores in [[[0.5, 0.5]; 4], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0]; 4]] {
            let labels = Tensor::from([0i64, 0, 1, 1]);
            for (kind, scores) in [
                (ScoreKind::Probabilities, Tensor::from(scores)),
                (ScoreKind::Logits, &Tensor::from(scores) * 1e6),
                (ScoreKind::Decision, &Tensor::from(scores) * 1e-6),
            ] {
                let map = CalibrationMap::fit(method, kind, &scores, &labels, None).unwrap();
                let p = map.apply(&scores).unwrap().to_f64_vec();
                let sound =
                    p.chunks(2).all(|row| (row[0] + row[1] - 1.0).abs() < 1e-9 && row[0] >= 0.0 && row[1] >= 0.0);
                assert!(sound, "{method:?} {kind:?} {p:?}");
            }
        }
    }
    let own = probabilities(&p);
    let message = |result: tove_trust::Result<ReliabilityBins>| result.unwrap_err().to_string();
    assert!(message(top_label_bins(&y, &own, 0, Binning::Width, None)).contains("0 bins"));
    assert!(message(top_label_bins(&Tensor::from([0i64, 5, 1]), &own, 3, Binning::Width, None)).contains("row 1: 5"));
    assert!(message(class_bins(&y, &own, 2, 3, Binning::Width, None)).contains("class 2 of 2"));
    assert!(
        message(top_label_bins(&y, &own, 3, Binning::Mass, Some(&Tensor::from([0.0, 0.0, 0.0])))).contains("weights")
    );
    let certain = probabilities(&Tensor::from([1.0, 0.0, 1.0]));
    assert!(spiegelhalter_test(&y, &certain, None).unwrap_err().to_string().contains("no variance"));
    assert!(consistency_test(&y, &own, 3, None, 0, 1).unwrap_err().to_string().contains("0 resamples"));
    assert!(consistency_test(&Tensor::from([1i64, 0, 1]), &certain, 3, None, 99, 1).unwrap().p_value == 1.0);
    assert!(
        smooth_ece(&y, &Tensor::from([0.2, 1.2, 0.1]), None, None).unwrap_err().to_string().contains("row 1 is 1.2")
    );
    assert!(smooth_ece_at(&y, &p, None, 0.0).unwrap_err().to_string().contains("bandwidth"));
    let few = Bootstrap::new(1).resamples(3);
    assert!(calibration_errors(&y, &own, 5, None, &few).unwrap_err().to_string().contains("3 resamples"));
    assert!(
        Bootstrap::new(1)
            .confidence(1.5)
            .score(&y, &p, None, average_precision)
            .unwrap_err()
            .to_string()
            .contains("1.5")
    );
    assert!(
        clopper_pearson(3, 2, 0.9).is_err()
            && clopper_pearson(0, 0, 0.9).is_err()
            && wilson(1.0, f64::NAN, 0.9).is_err()
    );
    // A score that most resamples lack: one positive sample.
    let rare = Tensor::from([1i64, 0, 0]);
    assert!(Bootstrap::new(1).score(&rare, &p, None, tove_metrics::roc_auc).unwrap_err().to_string().contains("no"));
    // One sample, and probabilities of 32 bits that sum to 1 only roughly.
    let one = calibration_errors(
        &Tensor::from([1i64]),
        &probabilities(&Tensor::from([[0.3f32, 0.7]])),
        5,
        None,
        &Bootstrap::new(1),
    );
    assert!((one.unwrap().ece.value - 0.3).abs() < 1e-6);
    // Models.
    let train = samples(1, 300, 3);
    let boxed = || -> Box<dyn Model> { Box::new(GaussianNb::default().fit_samples(&train).unwrap()) };
    let error = CalibratedModel::fit(boxed(), CalibrationMethod::Beta, &samples(2, 50, 2)).unwrap_err().to_string();
    assert!(error.contains("class 5 has no sample"), "{error}");
    let scaler: Box<dyn Model> = Box::new(tove_learn::StandardScaler::default().fit(train.x().clone(), None).unwrap());
    let error = CalibratedModel::fit(scaler, CalibrationMethod::Beta, &train).unwrap_err().to_string();
    assert!(error.contains("not a classifier"), "{error}");
    let error =
        HoldoutCalibration::new(GaussianNb::default()).calibration_size(0.7).check_size(0.4).fit_samples(&train);
    assert!(error.unwrap_err().to_string().contains("leave some"));
    const { assert!(CalibrationCheck::MINIMUM == 100) };
}
