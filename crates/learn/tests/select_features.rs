//! Transformers and pipelines against scikit-learn, and what they promise of themselves.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture};
use serde_json::Value;
use tove_learn::features::FeatureScore;
use tove_learn::features::{Drop, Fill, Unknown};
use tove_learn::{
    ColumnTransformer, Csr, DummyClassifier, DummyRegressor, Estimator, FeatureUnion, Fit, Imputer, Lasso,
    MaxAbsScaler, MinMaxScaler, Model, OneHotEncoder, Pipeline, Predict, Record, Remainder, RobustScaler, Rows,
    Samples, SelectKBest, StandardScaler, Transform, contract, registry, restore,
};
use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Tensor};

/// A table of JSON in which null is NaN.
fn table(value: &Value) -> Tensor {
    let rows = value.as_array().unwrap();
    let numbers: Vec<f64> =
        rows.iter().flat_map(|row| row.as_array().unwrap()).map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
    let width = numbers.len() / rows.len();
    Tensor::from_vec(numbers, [rows.len(), width])
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

fn scalers() -> Vec<Box<dyn Estimator>> {
    ["StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler"]
        .map(|name| (registry::find(name).unwrap().new)())
        .into()
}

#[test]
fn scalers_give_the_numbers_of_sklearn() {
    let f = fixture("features.json");
    for scaler in scalers() {
        for (input, wanted) in [("x", "dense"), ("gaps", "with_gaps")] {
            let x = table(&f[input]);
            let fitted = scaler.fit(&x, None).unwrap();
            let there = fitted.transform(&x).unwrap();
            same(&there, &f[wanted][scaler.name()], 1e-12);
            same(&fitted.inverse_transform(&there).unwrap(), &f[input], 1e-12);
            let single = fitted.transform(x.to_dtype(DType::F32)).unwrap();
            assert_eq!(single.dtype(), DType::F32);
            same(&single, &f[wanted][scaler.name()], 1e-5);
        }
    }
    let ranged = MinMaxScaler::default().low(-1.0).high(2.0).clip(true);
    let x = table(&f["x"]);
    same(&ranged.fit(x.narrow(0, 0, 6), None).unwrap().transform(&x).unwrap(), &f["range"], 1e-12);
}

#[test]
fn weights_of_the_standard_scaler_are_those_of_sklearn_and_copies() {
    let f = fixture("features.json");
    let x = table(&f["x"]);
    let weights = Tensor::from_slice(&common::numbers(&f["weights"]));
    let samples = Samples::unlabeled(&x).unwrap().weighted(&weights).unwrap();
    let fitted = StandardScaler::default().fit_samples(&samples).unwrap();
    assert_close(fitted.mean(), &common::numbers(&f["weighted"]["mean"]), 1e-12);
    assert_close(fitted.var(), &common::numbers(&f["weighted"]["var"]), 1e-12);
    assert_close(fitted.scale(), &common::numbers(&f["weighted"]["scale"]), 1e-12);
    let copies: Vec<usize> =
        weights.to_f64_vec().iter().enumerate().flat_map(|(i, &w)| std::iter::repeat_n(i, w as usize)).collect();
    let repeated = StandardScaler::default().fit(Rows::from(&x).take(&copies).unwrap(), None).unwrap();
    assert_close(fitted.scale(), repeated.scale(), 1e-12);
}

#[test]
fn sparse_rows_stay_sparse_and_are_not_centred() {
    let f = fixture("features.json");
    let holes = table(&f["holes"]);
    let rows = Rows::from(Csr::from_dense(&holes).unwrap());
    let flat: [Box<dyn Estimator>; 3] = [
        Box::new(StandardScaler::default().with_mean(false)),
        Box::new(RobustScaler::default().with_centering(false)),
        Box::new(MaxAbsScaler::default()),
    ];
    for scaler in flat {
        let given = scaler.fit(&rows, None).unwrap().apply(&rows).unwrap();
        assert!(matches!(given, Rows::Sparse(_)));
        same(&given.to_dense().unwrap(), &f["sparse"][scaler.name()], 1e-12);
    }
    let error = StandardScaler::default().fit(&rows, None).unwrap_err().to_string();
    assert!(error.contains("set `with_mean` to false"), "{error}");
    assert!(MinMaxScaler::default().fit(&rows, None).is_err());
}

#[test]
fn imputers_fill_as_sklearn_does() {
    let f = fixture("features.json");
    let x = table(&f["repeated"]);
    for (fill, name) in [
        (Fill::Mean, "mean"),
        (Fill::Median, "median"),
        (Fill::MostFrequent, "most_frequent"),
        (Fill::Constant, "constant"),
    ] {
        let imputer = Imputer::default().strategy(fill).fill_value(-9.0).add_indicator(true).fit(&x, None).unwrap();
        assert_close(imputer.statistics(), &common::numbers(&f["impute"][name]["statistics"]), 1e-12);
        let there = imputer.transform(&x).unwrap();
        same(&there, &f["impute"][name]["rows"], 1e-12);
        same(&imputer.inverse_transform(&there).unwrap(), &f["repeated"], 1e-12);
    }
    assert_eq!(Imputer::default().fit(&x, None).unwrap().columns_with_gaps(), [0, 1]);
    let empty = Tensor::from([[f64::NAN, 1.0], [f64::NAN, 2.0]]);
    assert_eq!(Imputer::default().fit(&empty, None).unwrap().transform(&empty).unwrap().dims(), [2, 1]);
    let kept = Imputer::default().keep_empty_features(true).fit(&empty, None).unwrap();
    assert_eq!(kept.transform(&empty).unwrap().to_vec::<f64>(), [0.0, 1.0, 0.0, 2.0]);
}

#[test]
fn one_hot_codes_are_those_of_sklearn() {
    let f = fixture("features.json");
    let x = table(&f["codes"]);
    let names = ["a", "b", "c"].map(str::to_owned);
    for (drop, name) in [(Drop::None, "none"), (Drop::First, "first"), (Drop::IfBinary, "if_binary")] {
        let encoder = OneHotEncoder::default().drop(drop).fit(&x, None).unwrap();
        let given = encoder.apply(&x).unwrap();
        assert!(matches!(given, Rows::Sparse(_)));
        same(&given.to_dense().unwrap(), &f["one_hot"][name]["rows"], 0.0);
        same(&encoder.inverse_transform(&given).unwrap(), &f["codes"], 0.0);
        let wanted: Vec<String> = serde_json::from_value(f["one_hot"][name]["names"].clone()).unwrap();
        let plain = |name: &String| name.trim_end_matches(".0").replace("_-0", "_0");
        let found = encoder.output_names(&names);
        assert_eq!(found, wanted.iter().map(plain).collect::<Vec<_>>());
    }
    let dense = OneHotEncoder::default().sparse_output(false).handle_unknown(Unknown::Ignore).fit(&x, None).unwrap();
    let strange = Tensor::from([[99.0, 2.0, 0.0]]);
    assert!(matches!(dense.apply(&strange).unwrap(), Rows::Dense(_)));
    let error = OneHotEncoder::default().fit(&x, None).unwrap().transform(&strange).unwrap_err().to_string();
    assert!(error.contains("the value 99 in row 0, column 0"), "{error}");
}

#[test]
fn selection_scores_are_those_of_sklearn() {
    let f = fixture("features.json");
    for (name, set, score, k) in
        [("classif", "iris", FeatureScore::FClassif, 2), ("regression", "diabetes", FeatureScore::FRegression, 4)]
    {
        let (x, y) = data(set);
        let select = SelectKBest::default().score_func(score).k(Some(k));
        let fitted = select.fit(&x, &y).unwrap();
        assert_close(fitted.scores(), &common::numbers(&f["select"][name]["scores"]), 1e-10);
        let columns: Vec<f64> = fitted.columns().iter().map(|&c| c as f64).collect();
        assert_eq!(columns, common::numbers(&f["select"][name]["columns"]));
        let sparse = Rows::from(Csr::from_dense(&x).unwrap());
        let same = select.fit(&sparse, &y).unwrap();
        assert_close(same.scores(), fitted.scores(), 1e-10);
    }
}

#[test]
fn columns_go_their_own_ways_as_in_sklearn() {
    let f = fixture("features.json");
    let x = table(&f["columns"]["table"]);
    let numbers = Pipeline::default().step("fill", Imputer::default()).step("scale", StandardScaler::default());
    let mut both = ColumnTransformer::default()
        .on("numbers", &[0, 1], numbers)
        .on("codes", &[2], OneHotEncoder::default().drop(Drop::First))
        .remainder(Remainder::Passthrough);
    let fitted = both.fit(&x, None).unwrap();
    same(&fitted.transform(&x).unwrap(), &f["columns"]["rows"], 1e-12);
    let back = (registry::find("ColumnTransformer").unwrap().restore)(&fitted.record()).unwrap();
    assert_eq!(back.transform(&x).unwrap().to_f64_vec(), fitted.transform(&x).unwrap().to_f64_vec());
    both.parse("numbers.scale.with_mean", "false").unwrap();
    let error = both.parse("number.scale.with_mean", "false").unwrap_err().to_string();
    assert!(error.contains("did you mean `numbers.scale.with_mean`"), "{error}");
    let union = FeatureUnion::default().with("a", MinMaxScaler::default()).with("b", MaxAbsScaler::default());
    let x = table(&f["x"]);
    let fitted = union.fit(&x, None).unwrap();
    assert_eq!((fitted.outputs(), fitted.transform(&x).unwrap().dims()), (8, &[12, 8][..]));
    let names = fitted.output_names(&["p", "q", "r", "s"].map(str::to_owned));
    assert_eq!((names[0].as_str(), names[7].as_str()), ("a__p", "b__s"));
}

/// The record as it comes back from a file.
fn through_file(name: &str, record: &Record) -> Record {
    let path = std::env::temp_dir().join(format!("tove-select-{}-{name}.tove", std::process::id()));
    record.save(&path, tove_tensor::io::WriteOptions::overwriting()).unwrap();
    let back = Record::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    back
}

#[test]
fn every_transformer_comes_back_with_the_same_bits() {
    let (x, y) = data("iris");
    for entry in registry::OWN.iter().filter(|entry| entry.capabilities.transform && !entry.composite) {
        let fitted = (entry.new)().fit(&x, &y).unwrap();
        let record = through_file(entry.name, &fitted.record());
        let back = (entry.restore)(&record).unwrap();
        assert_eq!(
            fitted.transform(&x).unwrap().to_f64_vec(),
            back.transform(&x).unwrap().to_f64_vec(),
            "{}",
            entry.name
        );
        let error = fitted.transform(x.narrow(1, 0, 3)).unwrap_err().to_string();
        assert!(error.contains("was fitted on 4 features, but these rows have 3"), "{error}");
        let whole = fitted.record().into_container();
        // The summary has what is known; files of earlier versions have no labels of clusters.
        let optional = ["objective", "residual", "labels"];
        for name in whole.tensors.keys().filter(|name| !optional.contains(&name.as_str())) {
            let mut broken = whole.clone();
            broken.tensors.remove(name);
            assert!((entry.restore)(&Record::from_container(broken)).is_err(), "{} without {name}", entry.name);
        }
        for threads in [1, 2, 3, 8] {
            tove_tensor::set_num_threads(threads);
            assert_eq!(back.transform(&x).unwrap().to_f64_vec(), fitted.transform(&x).unwrap().to_f64_vec());
        }
        tove_tensor::set_num_threads(0);
    }
}

#[test]
fn infinite_numbers_are_refused_and_gaps_are_not() {
    let x = Tensor::from([[1.0, 2.0], [3.0, f64::INFINITY]]);
    for scaler in scalers() {
        let error = scaler.fit(&x, None).err().unwrap().to_string();
        assert!(error.contains("row 1, column 1"), "{error}");
    }
}

#[test]
fn pipelines_fulfil_the_contract_and_are_saved_whole() {
    let regression = Pipeline::default().step("scale", StandardScaler::default()).then(DummyRegressor::default());
    let classes = Pipeline::default()
        .step("scale", StandardScaler::default().with_mean(false))
        .step("select", SelectKBest::default().k(Some(2)))
        .then(DummyClassifier::default());
    for pipeline in [regression, classes.clone()] {
        let report = contract::check(&pipeline);
        let failed: Vec<_> = report.failures().collect();
        let expected = ["one class"]; // the selection of features says that there is one class only
        assert!(failed.iter().all(|(name, _)| expected.contains(name)), "{report}");
    }
    let (x, y) = data("iris");
    let model = classes.fit_samples(&Samples::new(&x, &y).unwrap()).unwrap();
    let back = restore(&through_file("pipeline", &model.record())).unwrap();
    assert_eq!(back.predict_proba(&x).unwrap().to_f64_vec(), model.predict_proba(&x).unwrap().to_f64_vec());
    assert_eq!(back.settings(), model.settings());
    assert_eq!(model.settings()["steps"][1][1]["params"]["k"], 2);
    let names: Vec<String> = classes.describe_all().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"scale.with_mean".into()) && names.contains(&"dummyclassifier.strategy".into()));
}

#[test]
fn gaps_reach_pipelines_that_fill_them_and_no_others() {
    let x = Tensor::from([[1.0, 2.0], [f64::NAN, 4.0], [3.0, 0.0]]);
    let y = Tensor::from([1.0, 2.0, 3.0]);
    assert!(Samples::new(&x, &y).is_err());
    let samples = Samples::with_missing(&x, &y).unwrap();
    assert!(Lasso::default().fit_samples(&samples).is_err());
    let scaled = Pipeline::default().step("scale", StandardScaler::default());
    let error = scaled.clone().then(Lasso::default()).fit_samples(&samples).err().unwrap().to_string();
    assert!(error.contains("row 1, column 0"), "{error}");
    let filled = scaled.step("fill", Imputer::default()).then(DummyRegressor::default());
    let model = filled.fit_samples(&samples).unwrap();
    assert_eq!(model.predict(&x).unwrap().to_vec::<f64>(), [2.0; 3]);
    assert_eq!(model.names().collect::<Vec<_>>(), ["scale", "fill", "dummyregressor"]);
    assert_eq!(model.last().name(), "DummyRegressor");
}
