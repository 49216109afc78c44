//! Further transformers against scikit-learn, and what they refuse.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, numbers};
use serde_json::Value;
use tove_learn::features::*;
use tove_learn::{
    Csr, Estimator, Fit, Learner, MaxAbsScaler, MinMaxScaler, Model, OneHotEncoder, PartialFit, Pipeline,
    PolynomialFeatures, Record, Ridge, Rows, Samples, SelectKBest, StandardScaler, Transform, contract, restore,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Tensor};

/// A table of JSON in which null is NaN.
fn table(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap();
    let numbers: Vec<f64> =
        rows.iter().flat_map(|row| row.as_array().unwrap()).map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
    Tensor::from_vec(numbers.clone(), [rows.len(), numbers.len() / rows.len()])
}

#[track_caller]
fn same(found: &Tensor, wanted: &Value, tolerance: f64) {
    let wanted = table(wanted);
    assert_eq!(found.dims(), wanted.dims());
    let (found, wanted) = (found.to_f64_vec(), wanted.to_f64_vec());
    let gaps = |values: &[f64]| values.iter().map(|v| v.is_nan()).collect::<Vec<_>>();
    let filled = |values: &[f64]| values.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect::<Vec<_>>();
    assert_eq!(gaps(&found), gaps(&wanted));
    assert_close(&filled(&found), &filled(&wanted), tolerance);
}

/// The transformed table, which a copy from the record gives too.
#[track_caller]
fn both(transformer: &dyn Estimator, fitted_to: &Tensor, x: &Tensor) -> Tensor {
    let fitted = transformer.fit(fitted_to, None).unwrap();
    let found = fitted.transform(x).unwrap();
    let bits = |tensor: &Tensor| tensor.to_f64_vec().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&restore(&fitted.record()).unwrap().transform(x).unwrap()), bits(&found));
    assert_eq!(fitted.outputs(), found.dims()[1]);
    assert_eq!(fitted.output_names(&[]).len(), if fitted.output_names(&[]).is_empty() { 0 } else { found.dims()[1] });
    found
}

#[test]
fn rows_and_thresholds_as_in_sklearn() {
    let f = fixture("transformers.json");
    let (x, holes) = (table(&f["x"]), table(&f["holes"]));
    let sparse = Csr::from_dense(&holes).unwrap();
    for (name, norm) in [("l1", NormKind::L1), ("l2", NormKind::L2), ("max", NormKind::Max)] {
        let normalizer = Normalizer::default().norm(norm);
        same(&both(&normalizer, &holes, &holes), &f["normalizer"][name], 1e-15);
        let found = normalizer.fit(&sparse, None).unwrap().apply(&sparse).unwrap();
        assert!(matches!(found, Rows::Sparse(_)));
        same(&found.to_dense().unwrap(), &f["normalizer"][name], 1e-15);
    }
    let binarizer = Binarizer::default().threshold(0.7);
    same(&both(&binarizer, &x, &x), &f["binarizer"], 0.0);
    let Rows::Sparse(ones) = binarizer.fit(&sparse, None).unwrap().apply(&sparse).unwrap() else { panic!("sparse") };
    assert!(
        ones.values().to_f64_vec().iter().all(|&one| one == 1.0) && ones.values().numel() < sparse.values().numel()
    );
    let refused = Binarizer::default().threshold(-1.0).fit(&sparse, None).err().unwrap().to_string();
    assert!(refused.contains("dense"), "{refused}");

    let variance = VarianceThreshold::default().threshold(1.5);
    let fitted = variance.fit(table(&f["gaps"]), None).unwrap();
    assert_close(&fitted.variances().to_f64_vec(), &numbers(&f["variance"]["variances"]), 1e-13);
    assert_eq!(fitted.columns().iter().map(|&c| c as f64).collect::<Vec<_>>(), numbers(&f["variance"]["columns"]));
    let error = VarianceThreshold::default().threshold(1e9).fit(&x, None).err().unwrap().to_string();
    assert!(error.contains("no feature meets the variance threshold"), "{error}");
}

#[test]
fn bins_as_in_sklearn() {
    let f = fixture("transformers.json");
    let (x, new) = (table(&f["x"]), table(&f["new"]));
    let strategies =
        [("uniform", BinStrategy::Uniform), ("quantile", BinStrategy::Quantile), ("kmeans", BinStrategy::Kmeans)];
    let methods = [
        ("averaged_inverted_cdf", QuantileMethod::AveragedInvertedCdf),
        ("inverted_cdf", QuantileMethod::InvertedCdf),
        ("linear", QuantileMethod::Linear),
    ];
    for (name, strategy) in strategies {
        for (method_name, method) in methods {
            let count = if strategy == BinStrategy::Kmeans { 4 } else { 6 };
            let bins = KBinsDiscretizer::default().n_bins(count).strategy(strategy).quantile_method(method);
            let wanted = &f["bins"][format!("{name} {method_name}")];
            let edges = bins.fit(&x, None).unwrap().bin_edges().concat();
            assert_close(&edges, &numbers(&wanted["edges"]), 1e-12);
            same(&both(&bins, &x, &new), &wanted["rows"], 0.0);
            same(&both(&bins.clone().encode(BinEncoding::OnehotDense), &x, &new), &wanted["rows"], 0.0);
            let ordinal = bins.encode(BinEncoding::Ordinal);
            same(&both(&ordinal, &x, &new), &wanted["ordinal"], 0.0);
            let fitted = ordinal.fit(&x, None).unwrap();
            same(&fitted.inverse_transform(fitted.transform(&new).unwrap()).unwrap(), &wanted["inverse"], 1e-12);
        }
    }
    let weighted = Samples::unlabeled(&x).unwrap().weighted(&Tensor::from(numbers(&f["weights"]))).unwrap();
    let heavy = KBinsDiscretizer::default().n_bins(6).fit_samples(&weighted).unwrap();
    assert_close(&heavy.bin_edges().concat(), &numbers(&f["bins"]["weighted"]["edges"]), 1e-12);
    let linear = KBinsDiscretizer::default().quantile_method(QuantileMethod::Linear);
    assert!(linear.fit_samples(&weighted).err().unwrap().to_string().contains("does not support sample weights"));
    // A constant feature has one bin.
    let flat = KBinsDiscretizer::default().fit(Tensor::from([[1.0, 2.0], [1.0, 3.0]]), None).unwrap();
    assert_eq!(flat.bin_edges()[0], [1.0, 1.0]);
}

#[test]
fn quantiles_and_powers_as_in_sklearn() {
    let f = fixture("transformers.json");
    let (gaps, new, positive) = (table(&f["gaps"]), table(&f["new"]), table(&f["positive"]));
    for (name, distribution) in [("uniform", OutputDistribution::Uniform), ("normal", OutputDistribution::Normal)] {
        for count in [43, 10] {
            let wanted = &f["quantile"][format!("{name} {count}")];
            let transformer = QuantileTransformer::default().n_quantiles(count).output_distribution(distribution);
            let fitted = transformer.fit(&gaps, None).unwrap();
            assert_close(&fitted.quantiles().to_f64_vec(), &numbers(&wanted["quantiles"]), 1e-14);
            let there = both(&transformer, &gaps, &gaps);
            same(&there, &wanted["rows"], 1e-12);
            same(&both(&transformer, &gaps, &new), &wanted["new"], 1e-12);
            same(&fitted.inverse_transform(&there).unwrap(), &wanted["inverse"], 1e-12);
        }
    }
    for (name, method, x) in
        [("yeo-johnson", PowerMethod::YeoJohnson, &gaps), ("box-cox", PowerMethod::BoxCox, &positive)]
    {
        for standardize in [true, false] {
            let wanted = &f["power"][format!("{name} {standardize}")];
            let transformer = PowerTransformer::default().method(method).standardize(standardize);
            let fitted = transformer.fit(x, None).unwrap();
            assert_close(&fitted.lambdas().to_f64_vec(), &numbers(&wanted["lambdas"]), 1e-6);
            let there = both(&transformer, x, x);
            same(&there, &wanted["rows"], 1e-6);
            let back = fitted.inverse_transform(&there).unwrap().to_f64_vec();
            let close = back
                .iter()
                .zip(x.to_f64_vec())
                .all(|(a, b)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-7 * b.abs().max(1.0));
            assert!(close);
        }
    }
    let error = PowerTransformer::default().method(PowerMethod::BoxCox).fit(&new, None).err().unwrap().to_string();
    assert!(error.contains("positive values") && error.contains("yeo-johnson"), "{error}");
    let error = QuantileTransformer::default().subsample(Some(10)).fit(&new, None).err().unwrap().to_string();
    assert!(error.contains("raise `subsample`"), "{error}");
    // A subsample is drawn from the seed.
    let long = Tensor::from((0..500).map(|i| f64::from(i * i % 499)).collect::<Vec<_>>()).reshape([500, 1]);
    let some = QuantileTransformer::default().n_quantiles(20).subsample(Some(100));
    assert_eq!(both(&some, &long, &long).to_f64_vec(), both(&some, &long, &long).to_f64_vec());
}

#[test]
fn splines_as_in_sklearn() {
    let f = fixture("transformers.json");
    let (x, new) = (table(&f["x"]), table(&f["new"]));
    let some = |x: &Tensor| {
        let rows: Vec<f64> = x.to_f64_vec().chunks(4).flat_map(|row| [row[0], row[1], row[3]]).collect();
        Tensor::from_vec(rows.clone(), [rows.len() / 3, 3])
    };
    for degree in [1, 2, 3] {
        for (knots_name, knots) in [("uniform", Knots::Uniform), ("quantile", Knots::Quantile)] {
            for (name, extrapolation) in [
                ("constant", Extrapolation::Constant),
                ("linear", Extrapolation::Linear),
                ("continue", Extrapolation::Continue),
            ] {
                let spline = SplineTransformer::default().degree(degree).knots(knots).extrapolation(extrapolation);
                let wanted = &f["spline"][format!("{degree} {knots_name} {name}")];
                same(&both(&spline, &some(&x), &some(&new)), wanted, 1e-10);
            }
        }
    }
    let spline = SplineTransformer::default().include_bias(false);
    same(&both(&spline, &x, &new), &f["spline"]["no bias"], 1e-12);
    let names = spline.fit(&x, None).unwrap().output_names(&["a", "b", "c", "d"].map(str::to_owned));
    assert_eq!(serde_json::json!(names), f["spline"]["names"]);
    let error = spline.clone().extrapolation(Extrapolation::Error).fit(&x, None).unwrap().transform(&new).unwrap_err();
    assert!(error.to_string().contains("outside the range"), "{error}");
    let error = spline.fit(Tensor::from([[1.0], [1.0]]), None).err().unwrap().to_string();
    assert!(error.contains("feature 0 is constant"), "{error}");
    // Degree 0 marks intervals; the splines of a feature sum to 1.
    let flat = both(&SplineTransformer::default().degree(0), &x, &x).to_f64_vec();
    assert!(flat.chunks(4).all(|row| row.iter().sum::<f64>() == 1.0));
}

#[test]
fn categories_as_in_sklearn() {
    let f = fixture("transformers.json");
    let (x, unknown) = (table(&f["coded_gaps"]), table(&f["unknown"]));
    let hot = || OneHotEncoder::default().handle_unknown(Unknown::InfrequentIfExist);
    let ordinal = || {
        let encoder = OrdinalEncoder::default().handle_unknown(UnknownValue::UseEncodedValue);
        encoder.unknown_value(Some(-1.0)).encoded_missing_value(Some(-2.0))
    };
    let cases = [
        ("missing", hot(), ordinal()),
        ("count", hot().min_frequency(Some(5.0)), ordinal().min_frequency(Some(5.0))),
        ("share", hot().min_frequency(Some(0.2)), ordinal().min_frequency(Some(0.2))),
        ("most", hot().max_categories(Some(3)), ordinal().max_categories(Some(3))),
        (
            "both",
            hot().max_categories(Some(3)).min_frequency(Some(4.0)).drop(Drop::First),
            ordinal().max_categories(Some(3)).min_frequency(Some(4.0)),
        ),
        ("one", hot().max_categories(Some(1)), ordinal().max_categories(Some(1))),
    ];
    for (name, hot, ordinal) in cases {
        let wanted = &f["one_hot"][name];
        same(&both(&hot, &x, &x), &wanted["rows"], 0.0);
        same(&both(&hot, &x, &unknown), &wanted["unknown"], 0.0);
        same(&both(&ordinal, &x, &x), &wanted["ordinal"], 0.0);
        same(&both(&ordinal, &x, &unknown), &wanted["ordinal_unknown"], 0.0);
        for transformer in [&hot as &dyn Estimator, &ordinal] {
            let report = contract::check(transformer);
            assert!(report.passed(), "{report}");
        }
    }
    // NaN is a category, and comes back.
    let encoder = OneHotEncoder::default().fit(&x, None).unwrap();
    assert!(encoder.categories()[0].last().unwrap().is_nan());
    let names = encoder.output_names(&["a".to_owned(), "b".to_owned()]);
    assert!(names.contains(&"a_nan".to_owned()), "{names:?}");
    let back = encoder.inverse_transform(encoder.transform(&x).unwrap()).unwrap().to_f64_vec();
    assert!(back.iter().zip(x.to_f64_vec()).all(|(a, b)| *a == b || (a.is_nan() && b.is_nan())));
    // Missing values stay missing unless they have a number.
    let plain = OrdinalEncoder::default().fit(&x, None).unwrap();
    assert!(plain.transform(&x).unwrap().at::<f64>(&[4, 0]).is_nan());
    let error = OrdinalEncoder::default().encoded_missing_value(Some(1.0)).fit(&x, None).err().unwrap().to_string();
    assert!(error.contains("encoded_missing_value"), "{error}");
    let error = plain.transform(&unknown).unwrap_err().to_string();
    assert!(error.contains("the value 3 in row 0, column 0"), "{error}");
    let half = OrdinalEncoder::default().handle_unknown(UnknownValue::UseEncodedValue);
    assert!(half.fit(&x, None).err().unwrap().to_string().contains("give a number, such as -1"));
    // A rare category cannot be told from others.
    let grouped = OneHotEncoder::default().min_frequency(Some(5.0)).fit(&x, None).unwrap();
    assert!(!grouped.infrequent_categories()[0].is_empty());
    let error = grouped.inverse_transform(grouped.transform(&x).unwrap()).unwrap_err().to_string();
    assert!(error.contains("infrequent categories share"), "{error}");
}

#[test]
fn feature_scores_as_in_sklearn() {
    let f = fixture("transformers.json");
    let score = |score: FeatureScore, x: Rows, y: &Tensor| {
        SelectKBest::default().score_func(score).k(None).fit(x, y).unwrap().scores().to_vec()
    };
    let (x, y) = data("iris");
    assert_close(&score(FeatureScore::Chi2, (&x).into(), &y), &numbers(&f["scores"]["chi2 iris"]), 1e-13);
    let (x, y) = data("breast_cancer");
    let sparse = Csr::from_dense(&x).unwrap();
    assert_close(&score(FeatureScore::Chi2, sparse.into(), &y), &numbers(&f["scores"]["chi2 cancer"]), 1e-12);
    let x = table(&f["smooth"]["x"]);
    let classes = Tensor::from(numbers(&f["smooth"]["c"])).to_dtype(DType::I64);
    let found = score(FeatureScore::MutualInfoClassif, (&x).into(), &classes);
    assert_close(&found, &numbers(&f["scores"]["mutual_info_classif"]), 1e-12);
    let found = score(FeatureScore::MutualInfoRegression, (&x).into(), &Tensor::from(numbers(&f["smooth"]["y"])));
    assert_close(&found, &numbers(&f["scores"]["mutual_info_regression"]), 1e-12);
    let chi2 = SelectKBest::default().score_func(FeatureScore::Chi2);
    let error = chi2.fit(&x, &classes).err().unwrap().to_string();
    assert!(error.contains("chi2 needs non-negative features"), "{error}");
    let mutual = SelectKBest::default().score_func(FeatureScore::MutualInfoClassif);
    assert!(mutual.fit(Csr::from_dense(&x).unwrap(), &classes).err().unwrap().to_string().contains("dense"));
    for func in [FeatureScore::MutualInfoClassif, FeatureScore::MutualInfoRegression, FeatureScore::FRegression] {
        let report = contract::check(&SelectKBest::default().score_func(func).k(Some(2)));
        assert!(report.passed(), "{report}");
    }
}

#[test]
fn polynomials_of_sparse_rows_as_in_sklearn() {
    let f = fixture("transformers.json");
    let holes = table(&f["holes"]).narrow(0, 0, 9).contiguous();
    let sparse = Csr::from_dense(&holes).unwrap();
    for degree in 0..=4 {
        for interaction in [false, true] {
            for bias in [false, true] {
                if degree == 0 && !bias {
                    continue;
                }
                let powers =
                    PolynomialFeatures::default().degree(degree).interaction_only(interaction).include_bias(bias);
                let fitted = powers.fit(&sparse, None).unwrap();
                let found = fitted.apply(&sparse).unwrap();
                assert!(matches!(found, Rows::Sparse(_)));
                let found = found.to_dense().unwrap();
                assert_close(&found.to_f64_vec(), &fitted.transform(&holes).unwrap().to_f64_vec(), 1e-15);
                same(&found, &f["polynomial"][format!("{degree} {interaction} {bias}")], 1e-14);
            }
        }
    }
    let huge = Csr::from_dense(&(&holes * 1e200)).unwrap();
    let error = PolynomialFeatures::default().fit(&huge, None).unwrap().apply(&huge).err().unwrap().to_string();
    assert!(error.contains("overflow"), "{error}");
    // In front of a model.
    let y = holes.narrow(1, 0, 1).squeeze(1).contiguous();
    assert!(Pipeline::of(PolynomialFeatures::default()).then(Ridge::default()).fit(&sparse, &y).is_ok());
}

#[test]
fn scalers_learn_from_pieces_as_in_sklearn() {
    let f = fixture("transformers.json");
    let gaps = table(&f["gaps"]);
    let pieces: Vec<Samples> = (0..5)
        .map(|piece| {
            let (start, end) = (10 * piece, (10 * piece + 10).min(43));
            Samples::from_parts(gaps.narrow(0, start, end - start).into(), None, true).unwrap()
        })
        .collect();
    let mut standard = StandardScaler::default().learner(&[]).unwrap();
    assert!(standard.model().unwrap_err().to_string().contains("give at least one batch"));
    let mut ranged = MinMaxScaler::default().feature_range((-2.0, 3.0).into()).learner(&[]).unwrap();
    let mut largest = MaxAbsScaler::default().learner(&[]).unwrap();
    for piece in &pieces {
        standard.learn(piece).unwrap();
        ranged.learn(piece).unwrap();
        largest.learn(piece).unwrap();
    }
    let (standard, ranged, largest) = (standard.model().unwrap(), ranged.model().unwrap(), largest.model().unwrap());
    let wanted = &f["pieces"];
    assert_close(standard.mean(), &numbers(&wanted["mean"]), 1e-13);
    assert_close(standard.var(), &numbers(&wanted["var"]), 1e-13);
    assert_close(standard.scale(), &numbers(&wanted["scale"]), 1e-13);
    assert_close(ranged.shift(), &numbers(&wanted["min"]), 1e-13);
    assert_close(ranged.data_max(), &numbers(&wanted["data_max"]), 0.0);
    assert_close(largest.max_abs(), &numbers(&wanted["max_abs"]), 0.0);
    let whole = StandardScaler::default().fit(&gaps, None).unwrap();
    assert_close(standard.mean(), whole.mean(), 1e-14);
    // Another width is refused; weights are copies.
    let mut learner = StandardScaler::default().learner(&[]).unwrap();
    let heavy = Samples::unlabeled(Tensor::from([[1.0], [4.0]])).unwrap().weighted(&Tensor::from([2.0, 1.0])).unwrap();
    learner.learn(&heavy).unwrap();
    learner.learn(&Samples::unlabeled(Tensor::from([[6.0]])).unwrap()).unwrap();
    assert_eq!((learner.model().unwrap().mean(), learner.model().unwrap().var()), (&[3.0][..], &[4.5][..]));
    let wide = Samples::unlabeled(Tensor::from([[1.0, 2.0]])).unwrap();
    assert!(learner.learn(&wide).unwrap_err().to_string().contains("fitted on 1 features"));
}

#[test]
fn names_of_sklearn_are_understood() {
    let mut scaler = MinMaxScaler::default();
    scaler.parse("feature_range", "-1,2").unwrap();
    assert_eq!(scaler.feature_range, (-1.0, 2.0).into());
    let mut copy = MinMaxScaler::default();
    copy.load_json(&scaler.to_json()).unwrap();
    assert_eq!(copy, scaler);
    // Files of former versions have the two ends.
    copy.load_json(&serde_json::json!({"low": -3.0, "high": 4.0, "clip": true})).unwrap();
    assert_eq!((copy.feature_range, copy.clip), ((-3.0, 4.0).into(), true));
    let x = Tensor::from([[1.0], [2.0], [5.0]]);
    let fitted = MinMaxScaler::default().low(-3.0).high(4.0).fit(&x, None).unwrap();
    let mut old = fitted.record().into_container();
    old.header["settings"] = serde_json::json!({"low": -3.0, "high": 4.0, "clip": false});
    old.header.as_object_mut().unwrap().remove("single");
    let read = restore(&Record::from_container(old)).unwrap();
    assert_eq!(read.transform(&x).unwrap().to_f64_vec(), fitted.transform(&x).unwrap().to_f64_vec());
    // Encoders had fewer hyperparameters.
    let fitted = OneHotEncoder::default().fit(&x, None).unwrap();
    let mut old = fitted.record().into_container();
    old.header["settings"] = serde_json::json!({"drop": "none", "handle_unknown": "error", "sparse_output": true});
    let read = restore(&Record::from_container(old)).unwrap();
    assert_eq!(read.transform(&x).unwrap().to_f64_vec(), fitted.transform(&x).unwrap().to_f64_vec());
    scaler.set("feature_range", [2.0, 1.0].into()).unwrap();
    assert!(scaler.fit(Tensor::from([[1.0], [2.0]]), None).is_err());
    assert!(scaler.set("feature_range", [2.0].into()).is_err() && scaler.set("feature_range", 2.0.into()).is_err());
}
