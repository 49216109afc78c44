//! Maps and calibrated models: their references, their files.

use super::*;

#[test]
fn maps_agree_with_their_references() {
    let f = fixture();
    let (p, y, grid) = (vector(&f["p"]), integers(&f["y"]), vector(&f["grid"]));
    let second = |map: &CalibrationMap, scores: &Tensor| -> Vec<f64> {
        map.apply(scores).unwrap().to_f64_vec().chunks(2).map(|row| row[1]).collect()
    };
    let fit = |method, scores: &Tensor, y: &Tensor, weights: Option<&Tensor>| {
        CalibrationMap::fit(method, ScoreKind::Probabilities, scores, y, weights).unwrap()
    };
    let weights = vector(&f["weights"]);
    close(&second(&fit(CalibrationMethod::Isotonic, &p, &y, None), &grid), &numbers(&f["isotonic"]), 1e-12);
    let weighted = fit(CalibrationMethod::Isotonic, &p, &y, Some(&weights));
    close(&second(&weighted, &grid), &numbers(&f["isotonic_weighted"]), 1e-12);
    // scikit-learn's optimizer stops early.
    for (name, weights) in [("sigmoid", None), ("sigmoid_weighted", Some(&weights))] {
        let logits = vector(&f["logits"]);
        let map = CalibrationMap::fit(CalibrationMethod::Sigmoid, ScoreKind::Decision, &logits, &y, weights).unwrap();
        let CalibrationPart::Sigmoid(PlattSigmoid { a, b }) = map.parts()[0] else { panic!("{:?}", map.parts()) };
        close(&[a, b], &numbers(&f[name]), 1e-5);
    }
    let (smooth_p, smooth_y) = (vector(&f["smooth_p"]), y_of(&f));
    close(&second(&fit(CalibrationMethod::Beta, &smooth_p, &smooth_y, None), &grid), &numbers(&f["beta"]), 1e-3);
    let (bent_p, bent_y) = (vector(&f["bent_p"]), integers(&f["bent_y"]));
    let bent = fit(CalibrationMethod::Beta, &bent_p, &bent_y, None);
    close(&second(&bent, &grid), &numbers(&f["bent"]), 1e-3);
    let CalibrationPart::Beta(curve) = bent.parts()[0] else { panic!() };
    assert!(curve.a >= 0.0 && curve.b >= 0.0);
    // Temperature and vector scaling against a general optimizer.
    let (z, labels) = (matrix(&f["z"]), integers(&f["labels"]));
    let joint = |method| CalibrationMap::fit(method, ScoreKind::Logits, &z, &labels, None).unwrap();
    close(&[joint(CalibrationMethod::Temperature).temperature().unwrap()], &numbers(&f["temperature"]), 1e-6);
    let map = joint(CalibrationMethod::Vector);
    let CalibrationPart::Vector(own) = &map.parts()[0] else { panic!() };
    let theirs = numbers(&f["vector"]);
    let logits = &(&z * &Tensor::from_slice(&theirs[..4])) + &Tensor::from_slice(&theirs[4..]);
    let expected = logits.try_softmax(1).unwrap().to_f64_vec();
    close(&map.apply(&z).unwrap().to_f64_vec(), &expected, 1e-5);
    let penalty: f64 = own.w.iter().map(|w| (w - 1.0).powi(2)).chain(own.b.iter().map(|b| b * b)).sum();
    let loss = log_loss(&labels, &map.apply(&z).unwrap(), None).unwrap().value + 0.5e-6 * penalty;
    assert!(loss <= number(&f["vector_loss"]) + 1e-10, "{loss}");
}

#[test]
fn venn_abers_bounds_are_two_isotonic_fits() {
    let f = fixture();
    let (p, y, grid) = (vector(&f["tied"]), integers(&f["y"]), vector(&f["grid"]));
    let map = CalibrationMap::fit(CalibrationMethod::VennAbers, ScoreKind::Probabilities, &p, &y, None).unwrap();
    let (low, high) = map.intervals(&grid).unwrap();
    let column = |t: &Tensor, at: usize| t.to_f64_vec().chunks(2).map(|row| row[at]).collect::<Vec<f64>>();
    let both: Vec<f64> = column(&low, 1).into_iter().zip(column(&high, 1)).flat_map(|(a, b)| [a, b]).collect();
    close(&both, &numbers(&f["venn_abers_by_definition"]), 1e-12);
    close(&both, &numbers(&f["venn_abers"]), 1e-12);
    let merged = map.apply(&grid).unwrap();
    close(&column(&merged, 1), &numbers(&f["venn_abers_merged"]), 1e-12);
    for place in 0..grid.numel() {
        let row = |t: &Tensor| t.to_f64_vec()[2 * place + 1];
        assert!(row(&low) <= row(&merged) && row(&merged) <= row(&high));
        assert!((column(&low, 0)[place] - (1.0 - column(&high, 1)[place])).abs() < 1e-15);
    }
    // The guarantee: the bound of the true label is calibrated, so that its mean is the frequency of the event.
    let (mut sum, mut events, count) = (0.0, 0.0, 3000);
    for seed in 0..count {
        let (z, y) = drawn(100 + seed, 21, 2);
        let (z, y) = (z.to_f64_vec(), y.to_vec::<i64>());
        let p: Vec<f64> = z.chunks(2).map(|row| 1.0 / (1.0 + (3.0 * (row[0] - row[1])).exp())).collect();
        if y[..20].iter().sum::<i64>() % 20 == 0 {
            continue;
        }
        let map = CalibrationMap::fit(
            CalibrationMethod::VennAbers,
            ScoreKind::Probabilities,
            &Tensor::from_slice(&p[..20]),
            &Tensor::from_slice(&y[..20]),
            None,
        );
        let (low, high) = map.unwrap().intervals(&Tensor::from_slice(&p[20..])).unwrap();
        sum += if y[20] == 1 { high.to_f64_vec()[1] } else { low.to_f64_vec()[1] };
        events += y[20] as f64;
    }
    assert!((sum - events).abs() / count as f64 <= 0.02, "{sum} {events}");
    let other = CalibrationMap::fit(CalibrationMethod::Sigmoid, ScoreKind::Probabilities, &p, &y, None).unwrap();
    assert!(other.intervals(&grid).unwrap_err().to_string().contains("venn_abers"));
}

#[test]
fn every_method_calibrates_models_of_every_kind() {
    for classes in [2, 3] {
        let (train, held, fresh) = (samples(1, 800, classes), samples(2, 800, classes), samples(3, 800, classes));
        for method in METHODS {
            let models: [Box<dyn Model>; 3] = [
                Box::new(GaussianNb::default().fit_samples(&train).unwrap()),
                Box::new(LinearSvc::default().fit_samples(&train).unwrap()),
                Box::new(LogisticRegression::default().fit_samples(&train).unwrap()),
            ];
            for model in models {
                let (name, before) = (model.name(), model.predict_proba(fresh.x()).ok());
                let labels = fresh.y().unwrap();
                let codes = Tensor::from(labels.to_f64_vec().iter().map(|y| (*y as i64 + 1) / 3).collect::<Vec<_>>());
                let model = CalibratedModel::fit(model, method, &held).unwrap().checked(&fresh, 1).unwrap();
                let p = model.predict_proba(fresh.x()).unwrap();
                assert_eq!((model.name(), p.dims()), ("CalibratedModel", &[800, classes as usize][..]));
                let loss = |p: &Tensor| log_loss(&codes, p, None).unwrap().value;
                // Isotonic probabilities can be 0, which a single sample makes expensive.
                if let Some(before) = before.filter(|_| method != CalibrationMethod::Isotonic) {
                    assert!(loss(&p) < loss(&before) + 0.05, "{name} {method:?} {} {}", loss(&p), loss(&before));
                }
                let check = model.calibration().unwrap();
                assert!(check.ece_after.value < 0.08, "{name} {method:?} {check}");
                assert_eq!(check.ece_before.is_some(), name != "LinearSVC");
                let again = tove_learn::restore(&model.record()).unwrap();
                assert_eq!(
                    again.predict(fresh.x()).unwrap().to_vec::<i64>(),
                    model.predict(fresh.x()).unwrap().to_vec::<i64>()
                );
                assert_eq!(again.calibration(), model.calibration());
                assert_eq!(model.proba_intervals(fresh.x()).is_ok(), method == CalibrationMethod::VennAbers);
            }
        }
    }
}

#[test]
fn maps_are_files_and_refuse_bad_ones() {
    let (z, labels) = drawn(3, 200, 3);
    let single = z.to_dtype(DType::F32);
    for method in METHODS {
        let map = CalibrationMap::fit(method, ScoreKind::Logits, &z, &labels, None).unwrap();
        assert_eq!(map.apply(&single).unwrap().dtype(), DType::F32);
        let path = std::env::temp_dir().join(format!("tove-map-{}-{method:?}.tove", std::process::id()));
        map.save(&path, WriteOptions::overwriting()).unwrap();
        let again = CalibrationMap::load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(again, map);
        // Without any of its tensors, or with one that is not a number, it is refused.
        let whole = map.record().into_container();
        for (name, tensor) in &whole.tensors {
            let mut damaged = map.record().into_container();
            damaged.tensors.remove(name);
            assert!(CalibrationMap::restore(&Record::from_container(damaged)).is_err(), "{method:?} without {name}");
            let mut damaged = map.record().into_container();
            damaged.insert(name, tensor * f64::NAN);
            assert!(CalibrationMap::restore(&Record::from_container(damaged)).is_err(), "{method:?} {name}");
        }
        for (name, value) in [("method", Value::from("best")), ("kind", 3.into()), ("classes", 1.into())] {
            let mut record = map.record();
            record.put(name, value);
            assert!(CalibrationMap::restore(&record).is_err(), "{method:?} {name}");
        }
    }
}

#[test]
fn pipelines_searches_and_single_precision_are_calibrated_alike() {
    let (train, held, fresh) = (samples(1, 600, 2), samples(2, 600, 2), samples(3, 600, 2));
    let scaled = || Pipeline::of(StandardScaler::default());
    // A map on a pipeline, on a search, and on a model that is calibrated already.
    let search = GridSearch::new(LogisticRegression::default(), Grid::new().over("c", [0.1, 1.0])).silent();
    let inner =
        || CalibratedModel::fit(Box::new(GaussianNb::default().fit_samples(&train).unwrap()), METHODS[0], &held);
    let models: [Box<dyn Model>; 3] = [
        Box::new(scaled().then(LinearSvc::default()).fit_samples(&train).unwrap()),
        Box::new(search.fit_samples(&train).unwrap()),
        Box::new(inner().unwrap()),
    ];
    for model in models {
        let model = CalibratedModel::fit(model, CalibrationMethod::Beta, &held).unwrap().checked(&fresh, 2).unwrap();
        let again = tove_learn::restore(&model.record()).unwrap();
        let p = model.predict_proba(fresh.x()).unwrap();
        assert_eq!(again.predict_proba(fresh.x()).unwrap().to_vec::<f64>(), p.to_vec::<f64>());
        assert_eq!((again.calibration(), again.settings()), (model.calibration(), model.settings()));
        assert!(model.calibration().unwrap().ece_after.value < 0.08);
    }
    // The check is seen through a pipeline whose last step has one, and none is claimed where there is none.
    let calibrated = scaled().then(HoldoutCalibration::new(LogisticRegression::default())).fit_samples(&train).unwrap();
    assert_eq!(calibrated.calibration().map(|check| check.samples), Some(120));
    assert!(scaled().then(LogisticRegression::default()).fit_samples(&train).unwrap().calibration().is_none());
    // Single precision stays so.
    let single = Samples::new(train.x().to_dtype(DType::F32), train.y().unwrap()).unwrap();
    let model = HoldoutCalibration::new(LogisticRegression::default()).method(CalibrationMethod::VennAbers);
    let model = model.fit_samples(&single).unwrap();
    assert_eq!(model.predict_proba(single.x().clone()).unwrap().dtype(), DType::F32);
    let (low, high) = model.proba_intervals(single.x().clone()).unwrap();
    assert!(low.to_f64_vec().iter().zip(high.to_f64_vec()).all(|(low, high)| *low <= high));
    assert!(tove_learn::restore(&model.record()).unwrap().calibration().is_some());
}
