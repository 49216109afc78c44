//! Files of tabular models: the same bits after loading, and no harm from files that were tampered with.
#![allow(clippy::unwrap_used)]

#[path = "../../tensor/tests/io/meter.rs"]
mod meter;
#[path = "common/mutate.rs"]
mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};

use meter::peak_bytes;
use mutate::{Random, mutate, unsealed};
use tove::data::table::{Column, CsvOptions, Kind, Table};
use tove::learn::{Record, registry};
use tove::tabular::{Candidate, Plan, Predictions, TabularModel};
use tove::tensor::io::{Container, WriteOptions};

/// A table with a column of every kind and some values missing.
fn table(rows: usize) -> Table {
    let mut text = "size,count,good,colour,day,words,class,y\n".to_owned();
    let words = ["red fox runs", "blue dog sleeps", "green fox sleeps", "old dog runs far"];
    for i in 0..rows {
        let size = if i % 11 == 5 { String::new() } else { format!("{}", (i * 37 % 89) as f64 / 16.0) };
        let colour = if i % 13 == 3 { "" } else { ["red", "blue", "green"][i * 7 % 3] };
        let (good, day, class) = (i % 2 == 0, 1 + i % 28, ["yes", "no"][usize::from(i * 37 % 89 < 40 + i % 7)]);
        let row = [
            size,
            (i * 5 % 17).to_string(),
            good.to_string(),
            colour.to_owned(),
            format!("2026-03-{day:02}"),
            format!("{} {i}", words[i % 4]),
            class.to_owned(),
            format!("{}", (i * 31 % 97) as f64 / 8.0),
        ];
        text.push_str(&(row.join(",") + "\n"));
    }
    CsvOptions::new().kind("words", Kind::Text).read_bytes(text.as_bytes()).unwrap().0
}

fn fitted(name: &str, table: &Table) -> tove::tabular::Result<TabularModel> {
    let candidate = Candidate::named(name).unwrap();
    let regression = candidate.estimator.capabilities().regresses();
    let (target, other) = if regression { ("y", "class") } else { ("class", "y") };
    let plan = Plan::new(target).folds(0).role(other, tove::data::table::Role::Dropped);
    Ok(plan.fit(table, &[candidate], &mut |_| {})?.model)
}

/// Everything of some predictions, as bits.
fn bits(predictions: &Predictions) -> Vec<u64> {
    let column = &predictions.column;
    let label = |row: usize| match column {
        Column::Float(values) => values.get(row).unwrap().to_bits(),
        other => other.text(row).unwrap().bytes().fold(0, |hash, byte| hash * 257 + u64::from(byte)),
    };
    let soft = predictions.probabilities.iter().flat_map(|all| all.to_f64_vec()).map(f64::to_bits);
    (0..column.len()).map(label).chain(soft).collect()
}

#[test]
fn predictions_of_every_estimator_are_the_same_after_loading() {
    tove::estimators::register();
    let (train, later) = (table(120), table(157));
    let path = std::env::temp_dir().join(format!("tove-model-files-{}.tove", std::process::id()));
    let names: Vec<&str> = registry::all().iter().map(|entry| entry.name).collect();
    assert!(names.len() >= 22 && names.contains(&"MlpClassifier"), "{names:?}");
    let mut compared = 0;
    for name in names {
        // Some refuse such a table for what it is, as a machine of a given share of errors may.
        let Ok(model) = fitted(name, &train) else { continue };
        compared += 1;
        model.save(&path, WriteOptions::overwriting()).unwrap();
        let back = TabularModel::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (before, after) = (model.predict(&later).unwrap(), back.predict(&later).unwrap());
        assert_eq!(bits(&before), bits(&after), "{name}");
        assert_eq!(before.imputed, after.imputed, "{name}");
        assert_eq!((back.target(), back.classes(), back.facts()), (model.target(), model.classes(), model.facts()));
        // Written again it is the same file.
        let first = std::fs::read(&path).unwrap();
        back.save(&path, WriteOptions::overwriting()).unwrap();
        assert!(first == std::fs::read(&path).unwrap(), "{name}: the second file differs");
    }
    std::fs::remove_file(path).unwrap();
    assert!(compared >= 22, "only {compared} estimators were compared");
}

const ROUNDS: usize = 20_000;

/// What a reader may hold whatever the file, and how much more than the file: tensors, their copies in the model, and the
/// predictions of a small table.
fn bound(bytes: usize) -> usize {
    (4 << 20) + 64 * bytes
}

#[test]
fn files_that_were_tampered_with_do_no_harm() {
    tove::estimators::register();
    let (train, later) = (table(40), table(9));
    let names =
        ["LogisticRegression", "Ridge", "SVC", "KernelRidge", "MlpClassifier", "DummyClassifier", "SGDClassifier"];
    let path = std::env::temp_dir().join(format!("tove-tampered-{}.tove", std::process::id()));
    let save = |name: &&str| {
        fitted(name, &train).unwrap().save(&path, WriteOptions::overwriting()).unwrap();
        unsealed(&std::fs::read(&path).unwrap())
    };
    let files: Vec<Vec<u8>> = names.iter().map(save).collect();
    std::fs::remove_file(&path).unwrap();
    let mut random = Random(1);
    let (mut loaded, mut predicted, mut largest) = (0, 0, 0);
    for round in 0..ROUNDS {
        let file = mutate(&mut random, &files);
        let (length, copy) = (file.len(), file.clone());
        let work = || {
            let model = TabularModel::restore(&Record::from_container(Container::from_bytes(copy).ok()?)).ok()?;
            Some(model.predict(&later).is_ok())
        };
        let (outcome, peak) = peak_bytes(|| catch_unwind(AssertUnwindSafe(work)));
        let outcome = outcome.unwrap_or_else(|_| {
            let kept = std::env::temp_dir().join("tove-tampered.tove");
            std::fs::write(&kept, &file).unwrap();
            panic!("round {round} panics; the file is {}", kept.display())
        });
        assert!(peak <= bound(length), "round {round}: {peak} bytes for a file of {length}");
        largest = largest.max(peak);
        loaded += usize::from(outcome.is_some());
        predicted += usize::from(outcome == Some(true));
    }
    println!("{loaded} of {ROUNDS} loaded, {predicted} predicted, at most {largest} bytes held");
    assert!(loaded > ROUNDS / 50 && loaded < ROUNDS / 2, "{loaded} loaded: the mutations are too wild or too tame");
}

/// A file whose weights have changed on the way is refused, with a word on what to do.
#[test]
fn every_changed_byte_of_the_numbers_is_noticed() {
    tove::estimators::register();
    let train = table(40);
    let path = std::env::temp_dir().join(format!("tove-changed-{}.tove", std::process::id()));
    for name in ["Ridge", "SVC", "MlpClassifier"] {
        fitted(name, &train).unwrap().save(&path, WriteOptions::overwriting()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let start = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
        assert!(whole.len() > start + 100, "{name}: hardly a number");
        let mut random = Random(3);
        let mut broken = whole.clone();
        for place in start..whole.len() {
            broken[place] ^= 1 + random.below(255) as u8;
            let error = Container::from_bytes(broken.clone()).unwrap_err().to_string();
            assert!(error.contains("the file is damaged") && error.contains("copy"), "{name}, {place}: {error}");
            broken[place] = whole[place];
        }
        assert!(Container::from_bytes(broken).is_ok());
    }
    std::fs::remove_file(path).unwrap();
}
