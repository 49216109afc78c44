//! Files of every format version there was are still read, and predict what they predicted when they were written.
//!
//! `zoo/v1` and `zoo/v2`, whose files have checksums, hold a file per estimator and tabular models, and the answers
//! they gave (`more.json`: some of them). `cargo test
//! --release -p tove --test zoo -- --ignored` adds what is missing and leaves the rest as it is; a new version begins with
//! another `VERSION`.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tove::data::table::{CsvOptions, Role, Table};
use tove::learn::{Capabilities, Estimator, Fit, Model, Predict, Record, Samples, Transform, registry, restore};
use tove::optim::settings;
use tove::tabular::{Candidate, Plan, TabularModel};
use tove::tensor::io::WriteOptions;
use tove::tensor::{Tensor, kernels::simd};

const VERSION: &str = "v2";
/// Sums may be formed in another order with other vector instructions; with the same ones all bits agree.
const TOLERANCE: f64 = 1e-12;

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo").join(version)
}

/// Numbers that are exact in binary and need no generator.
fn rows(count: usize) -> Tensor {
    let value = |at: usize| ((at / 3 * 37 + at % 3 * 53 + at / 7 * 11) % 89) as f64 / 16.0 - 2.5;
    Tensor::from((0..3 * count).map(value).collect::<Vec<f64>>()).reshape([count, 3])
}

fn samples(classes: bool, own: &Capabilities) -> Samples {
    let x = if own.nonnegative { rows(40).abs() } else { rows(40) };
    let positive = own.positive_targets;
    let flat = x.to_vec::<f64>();
    let score = |row: &[f64]| row[0] - 0.5 * row[1] + 0.25 * row[2] * row[2] + if positive { 8.0 } else { 0.0 };
    match classes {
        false => Samples::new(&x, &Tensor::from(flat.chunks(3).map(score).collect::<Vec<f64>>())),
        true => {
            let labels: Vec<i64> = flat.chunks(3).map(|row| if score(row) > 0.7 { 7 } else { 3 }).collect();
            Samples::new(&x, &Tensor::from(labels))
        }
    }
    .unwrap()
}

const TABLE: &str = "size,colour,day,class,y\n1.5,red,2026-01-01,a,1\n2.5,blue,2026-02-03,b,4\n,red,2026-03-04,a,2\n\
    0.5,,2026-01-09,a,0.5\n3.5,blue,2026-05-06,b,6\n4.25,green,2026-06-07,b,7\n1.25,red,2026-07-08,a,1\n2,green,,b,3\n\
    0.75,red,2026-08-09,a,1\n3,blue,2026-09-10,b,5\n1,green,2026-10-11,a,2\n4,blue,2026-11-12,b,8\n";

fn table() -> Table {
    CsvOptions::new().read_bytes(TABLE.as_bytes()).unwrap().0
}

/// Probabilities, scores, predictions, transformed rows or distances of neighbors: whatever the model has first.
fn answers(model: &dyn Model) -> Vec<f64> {
    let own = model.capabilities();
    let x = if own.nonnegative { rows(15).abs() } else { rows(15) };
    let given = match own.predicts() {
        false if !own.transform => model.kneighbors(&x, 2).map(|found| found.distances),
        false => model.transform(&x),
        true if own.probabilities => model.predict_proba(&x),
        true if own.decision_function => model.decision_function(&x),
        true => model.predict(&x),
    };
    given.unwrap().to_f64_vec()
}

/// A few of the answers, so that files stay small.
fn sampled(answers: &[f64]) -> Vec<f64> {
    answers.iter().step_by(answers.len().div_ceil(12).max(1)).copied().collect()
}

fn tabular_answers(model: &TabularModel) -> Vec<f64> {
    let predictions = model.predict(&table()).unwrap();
    let numbers = || (0..12).map(|row| predictions.column.number(row).unwrap()).collect();
    predictions.probabilities.as_ref().map_or_else(numbers, |all| all.to_f64_vec())
}

fn instructions() -> String {
    format!("{:?}", simd::isa())
}

/// An estimator whose file is small; those made of others get others.
fn small(entry: &registry::Entry) -> Box<dyn Estimator> {
    let mut estimator = (entry.new)();
    let mut set = |name: &str, value: settings::Value| estimator.set(name, value).unwrap();
    let steps = |names: &[&str]| -> settings::Value {
        let step = |name: &&str| (name.to_ascii_lowercase(), settings::Value::from(*name));
        settings::Value::Map(names.iter().map(step).collect())
    };
    match entry.name {
        "MlpClassifier" | "MlpRegressor" => {
            set("hidden", [4].into());
            set("epochs", 20.into());
        }
        "Pipeline" => set("steps", steps(&["StandardScaler", "LogisticRegression"])),
        "FeatureUnion" => set("transformers", steps(&["StandardScaler", "PCA"])),
        "ColumnTransformer" => {
            set("transformers", steps(&["MinMaxScaler", "RobustScaler"]));
            set("columns", [vec![0, 2], vec![1]].into());
        }
        "VotingClassifier" | "StackingClassifier" => {
            set("estimators", steps(&["LogisticRegression", "GaussianNB"]));
        }
        "VotingRegressor" | "StackingRegressor" => set("estimators", steps(&["Ridge", "LinearRegression"])),
        "BaggingRegressor" | "BaggingClassifier" => {
            set("n_estimators", 3.into());
            set("max_features", 0.7.into());
        }
        "GridSearch" => set("grid", settings::Value::Map(vec![("alpha".to_owned(), [0.1, 10.0].into())])),
        "RandomSearch" => set("iterations", 3.into()),
        _ => {}
    }
    estimator
}

#[test]
#[ignore = "writes the files of the present version"]
fn write_the_zoo() {
    tove::estimators::register();
    let folder = folder(VERSION);
    std::fs::create_dir_all(&folder).unwrap();
    let options = WriteOptions::overwriting();
    // What is there stays: it is a witness of the program that wrote it.
    let old = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_else(|_| "{}".to_owned());
    let old = |file: &str| serde_json::from_str::<Value>(&old(file)).unwrap();
    let map = |document: &Value, name: &str| document[name].as_object().cloned().unwrap_or_default();
    let (first, more) = (old("answers.json"), old("more.json"));
    let (mut all, mut tables) = (map(&more, "models"), map(&more, "tables"));
    let missing = |entry: &registry::Entry| [&first, &more].iter().all(|old| old["models"].get(entry.name).is_none());
    for entry in registry::all().into_iter().filter(missing) {
        let estimator = small(&entry);
        let own = estimator.capabilities();
        // Selection of features looks at classes unless told otherwise.
        let classes = own.classifies() || entry.name == "SelectKBest";
        let model = estimator.fit_samples(&samples(classes, &own)).unwrap();
        model.record().save(folder.join(format!("{}.tove", entry.name)), options).unwrap();
        all.insert(entry.name.to_owned(), json!(sampled(&answers(&*model))));
    }
    for (name, target, other, model) in
        [("table-classes", "class", "y", "LogisticRegression"), ("table-numbers", "y", "class", "Ridge")]
    {
        if [&first, &more].iter().any(|old| old["tables"].get(name).is_some()) {
            continue;
        }
        let plan = Plan::new(target).folds(0).role(other, Role::Dropped);
        let outcome = plan.fit(&table(), &[Candidate::named(model).unwrap()], &mut |_| {}).unwrap();
        outcome.model.save(folder.join(format!("{name}.tove")), options).unwrap();
        tables.insert(name.to_owned(), json!(tabular_answers(&outcome.model)));
    }
    let document = json!({
        "tove": env!("CARGO_PKG_VERSION"), "instructions": instructions(), "models": all, "tables": tables,
    });
    std::fs::write(folder.join("more.json"), format!("{document}\n")).unwrap();
}

#[test]
fn every_estimator_has_a_file_of_moderate_size() {
    tove::estimators::register();
    for entry in registry::all() {
        let path = folder(VERSION).join(format!("{}.tove", entry.name));
        let size = std::fs::metadata(&path).map_or(0, |file| file.len());
        let name = entry.name;
        let known = ["answers.json", "more.json"].iter().any(|file| {
            std::fs::read_to_string(folder(VERSION).join(file)).is_ok_and(|text| text.contains(&format!("\"{name}\"")))
        });
        assert!(size > 0 && known, "{name} has no file; write it with `cargo test -p tove --test zoo -- --ignored`");
        assert!(size < 20_000, "{name}: {size} bytes");
    }
}

#[track_caller]
fn assert_same(name: &str, found: &[f64], expected: &Value, exactly: bool) {
    let expected: Vec<f64> = expected.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(found.len(), expected.len(), "{name}");
    for (a, b) in found.iter().zip(&expected) {
        let near = (a - b).abs() <= TOLERANCE * b.abs().max(1.0);
        assert!(if exactly { a.to_bits() == b.to_bits() } else { near }, "{name}: {a} where it was {b}");
    }
}

#[test]
fn every_file_that_was_ever_written_is_read() {
    tove::estimators::register();
    for (version, file) in [("v1", "answers.json"), (VERSION, "answers.json"), (VERSION, "more.json")] {
        let folder = folder(version);
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let exactly = document["instructions"] == json!(instructions());
        let load = |name: &str| Record::load(folder.join(format!("{name}.tove"))).unwrap();
        assert!(document["models"].as_object().unwrap().len() >= 23);
        for (name, expected) in document["models"].as_object().unwrap() {
            let model = restore(&load(name)).unwrap_or_else(|error| panic!("{version}/{name}: {error}"));
            let all = answers(&*model);
            assert_same(name, &if file == "more.json" { sampled(&all) } else { all }, expected, exactly);
        }
        assert!(file == "more.json" || document["tables"].as_object().unwrap().len() >= 2);
        for (name, expected) in document["tables"].as_object().unwrap() {
            let model = TabularModel::restore(&load(name)).unwrap_or_else(|error| panic!("{version}/{name}: {error}"));
            assert_same(name, &tabular_answers(&model), expected, exactly);
        }
        let sizes: Vec<u64> =
            std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.iter().all(|&bytes| bytes < 20_000) && sizes.iter().sum::<u64>() < 300_000, "{sizes:?}");
    }
}
