//! Data sets and their parts as files: syllabus G1 on the command line, and numbers that stay numbers.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::server::Server;
use common::{Place, shipped};
use tove::data::table::{Column, Table, read_csv};
use tove::data::{DataError, Key, TensorDataset};
use tove::tensor::Tensor;

/// Rows as texts, to be compared as a set.
fn rows(table: &Table) -> Vec<Vec<Option<String>>> {
    let cell = |row: usize| move |column: &Column| column.text(row).map(|text| text.into_owned());
    (0..table.n_rows()).map(|row| table.columns().iter().map(cell(row)).collect()).collect()
}

#[test]
fn g1_data_sets_and_their_parts_are_saved_and_loaded_from_the_command_line() {
    // Equal lengths are enforced.
    let uneven = Table::new([("x", Column::integers(vec![1, 2])), ("y", Column::integers(vec![1]))]);
    assert!(matches!(uneven, Err(DataError::ColumnLength { .. })));
    let uneven = TensorDataset::new(Tensor::arange(0, 3), Tensor::arange(0, 2));
    assert!(matches!(uneven, Err(DataError::Lengths { x: 3, y: 2 })));

    // Load and save: from CSV to every format and back to the same table.
    let place = Place::new("parts");
    for (name, target) in
        [("iris.csv", "species"), ("diabetes.csv", "progression"), ("german-credit.csv", "credit_risk")]
    {
        let original = read_csv(shipped(name)).unwrap().0;
        place.run(&["convert", &shipped(name), "-o", "saved.csv", "--overwrite"]).ok();
        assert_eq!(read_csv(place.path("saved.csv")).unwrap().0, original, "{name}");
        for between in ["saved.parquet", "saved.json", "saved.jsonl"] {
            place.run(&["convert", "saved.csv", "-o", between, "--overwrite"]).ok();
            place.run(&["convert", between, "-o", "back.csv", "--overwrite"]).ok();
            assert_eq!(read_csv(place.path("back.csv")).unwrap().0, original, "{name} by {between}");
        }

        // Splitting keeps every row whole, loses none and doubles none; the same seed gives the same parts.
        for options in [&[][..], &["--target", target], &["--target", target, "--in-order"]] {
            let call = ["split", "saved.csv", "--train", "train.csv", "--test", "test.csv", "--overwrite", "--json"];
            let told = place.run(&[&call[..], options].concat()).ok().json();
            let [train, test] =
                ["train.csv", "test.csv"].map(|name| std::fs::read_to_string(place.path(name)).unwrap());
            let (head, body) = train.split_once('\n').unwrap();
            let (other_head, other_body) = test.split_once('\n').unwrap();
            assert_eq!(head, other_head);
            let whole = std::fs::read_to_string(place.path("saved.csv")).unwrap();
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&format!("{body}{other_body}")), sorted(whole.split_once('\n').unwrap().1), "{name}");
            assert_eq!(told["train"]["rows"].as_u64(), Some(body.lines().count() as u64));
            let share = other_body.lines().count() as f64 / original.n_rows() as f64;
            assert!((share - 0.25).abs() < 0.02, "{name}: {share}");
            place.run(&[&call[..], options].concat()).ok();
            assert_eq!(std::fs::read_to_string(place.path("train.csv")).unwrap(), train);
            let seeded = [&call[..], options, &["--seed", "5"]].concat();
            place.run(&seeded).ok();
            let same = std::fs::read_to_string(place.path("train.csv")).unwrap() == train;
            assert_eq!(same, options.contains(&"--in-order"), "{name} {options:?}");
        }

        // The parts are those of `tove fit`: fitted and judged on them, a model has the same scores.
        place.run(&["split", "saved.csv", "-t", target, "--train", "a.csv", "--test", "b.csv", "--overwrite"]).ok();
        let model = if name == "diabetes.csv" { "LinearRegression" } else { "DummyClassifier" };
        let fit = ["-t", target, "-m", model, "--cv", "0", "--json"];
        let whole = place.run(&[&["fit", "saved.csv"][..], &fit].concat()).ok().json();
        let parts = place.run(&[&["fit", "a.csv", "--test", "b.csv"][..], &fit].concat()).ok().json();
        assert_eq!([&whole["train_rows"], &whole["test_rows"]], [&parts["train_rows"], &parts["test_rows"]]);
        for (score, value) in whole["test"].as_object().unwrap() {
            let (a, b) = (value["value"].as_f64().unwrap(), parts["test"][score]["value"].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9 * a.abs().max(1.0), "{name} {score}: {a} {b}");
        }
    }

    // Indexing and shuffling: a row is moved as a whole.
    let table = read_csv(place.path("saved.csv")).unwrap().0;
    let all: BTreeSet<_> = rows(&table).into_iter().collect();
    assert!(rows(&table.shuffle(Key::new(3))).into_iter().all(|row| all.contains(&row)));
    assert_eq!(rows(&table.take(&[7, 7, 0]).unwrap()), [7, 7, 0].map(|row| rows(&table)[row].clone()));

    // What cannot be is refused.
    let split =
        |more: &[&str]| place.run(&[&["split", "saved.csv", "--train", "x.csv", "--test", "y.csv"][..], more].concat());
    split(&["--test-size", "1.5"]).fails(2, &["--test-size"]);
    split(&["--target", "none"]).fails(2, &["\"none\""]);
    split(&["--drop", "none"]).fails(2, &["--drop", "\"none\""]);
    assert!(!place.path("x.csv").exists() && !place.path("y.csv").exists());
}

#[test]
fn columns_of_integers_take_other_numbers_everywhere() {
    let place = Place::new("widen");
    let text: String =
        (0..80).map(|i| format!("{},{},{}\n", 3000 + 13 * i, i % 7, 2 * (3000 + 13 * i) + i % 7)).collect();
    place.write("t.csv", &format!("weight,k,y\n{text}"));
    place.run(&["fit", "t.csv", "-t", "y", "-m", "LinearRegression", "--cv", "0", "-q", "-o", "m.tove"]).ok();
    let close = |text: &str| (text.trim().parse::<f64>().unwrap() - 7504.0).abs() < 1e-6;
    place.write("new.csv", "weight,k\n3000,0\n3750.5,3\n");
    for more in [&[][..], &["--type", "weight=float"], &["--type", "weight=float,k=integer"]] {
        let out = place.run(&[&["predict", "m.tove", "new.csv"][..], more].concat()).ok().out;
        assert!(close(out.lines().nth(2).unwrap()), "{more:?}: {out}");
    }
    place.write("new.jsonl", "{\"weight\": 3000, \"k\": 0}\n{\"weight\": 3750.5, \"k\": 3}\n");
    assert!(close(place.run(&["predict", "m.tove", "new.jsonl"]).ok().out.lines().nth(2).unwrap()));
    place.run(&["convert", "new.csv", "-o", "new.parquet"]).ok();
    assert!(close(place.run(&["predict", "m.tove", "new.parquet"]).ok().out.lines().nth(2).unwrap()));
    // Columns that go through stay as they are written.
    let kept = place.run(&["predict", "m.tove", "new.csv", "--keep", "k"]).ok().out;
    assert!(kept.starts_with("k,predicted y\n0,"), "{kept}");
    place.write("judged.csv", "weight,k,y\n3000,0,6000.5\n3750.5,3,7504\n3100,1,6201\n");
    assert!(
        place.run(&["evaluate", "m.tove", "judged.csv", "--json"]).ok().json()["scores"]["r2"]["value"].as_f64()
            > Some(0.99)
    );
    let server = Server::start(&place, "m.tove", &[]);
    for (kind, body) in [
        ("application/json", "{\"rows\": [{\"weight\": 3750.5, \"k\": 3}]}"),
        ("application/json", "[{\"weight\": \"3750.5\", \"k\": 3}]"),
        ("text/csv", "weight,k\n3750.5,3\n"),
    ] {
        let reply = server.post(kind, body);
        assert_eq!(reply.status, 200, "{kind}: {}", reply.body);
        let number = reply.json()["predictions"][0]["predicted y"].as_f64().or(reply.json()["predictions"][0].as_f64());
        assert!(number.is_some_and(|number| (number - 7504.0).abs() < 1e-6), "{}", reply.body);
    }
    let twice = server.post("application/json", "{\"rows\": [{\"weight\": 1, \"weight\": 2, \"k\": 3}]}");
    assert!(twice.status == 400 && twice.body.contains("duplicate key"), "{}", twice.body);
}

#[test]
fn what_stopped_a_column_from_being_numbers_is_told() {
    let place = Place::new("stopped");
    let row = |i: usize| format!("{}.5,{}\n", (i * 37) % 101, if (i * 37) % 101 > 50 { "a" } else { "b" });
    let text: String = (0..300).map(row).collect();
    place.write("good.csv", &format!("x size,y\n{text}"));
    let bad = text.replacen("37.5,", "unknown,", 1);
    place.write("bad.csv", &format!("x size,y\n{bad}"));
    place.write("thousand.csv", &format!("x size,y\n{}", text.replacen("37.5,", "\"1,037.5\",", 1)));
    let fit = |file: &str, more: &[&str]| {
        place.run(&[&["fit", file, "-t", "y", "-m", "LogisticRegression", "--cv", "0"][..], more].concat()).ok()
    };
    let told = fit("bad.csv", &[]);
    let line = 2 + text.lines().position(|line| line.starts_with("37.5,")).unwrap();
    for word in [
        "\"x size\"",
        "1 of its 300 values is not a number",
        "\"unknown\"",
        &format!("line {line}"),
        "--type 'x size=float' --coerce",
    ] {
        assert!(told.err.contains(word), "no {word} in {}", told.err);
    }
    assert!(told.out.contains("\"unknown\""), "{}", told.out);
    // The advice works: one value is missing, the column is numbers.
    let fixed = fit("bad.csv", &["--type", "x size=float", "--coerce", "--json"]);
    assert!(fixed.json()["test"]["accuracy"]["value"].as_f64() > Some(0.9) && !fixed.err.contains("not a number"));
    // So does a file in pieces.
    let pieces = place.run(&["fit", "bad.csv", "-t", "y", "--stream"]).ok();
    assert!(pieces.err.contains("\"unknown\""), "{}", pieces.err);
    // Separators of thousands are read, at fitting and at predicting.
    let read = fit("thousand.csv", &["-o", "m.tove"]);
    assert!(read.out.contains("between thousands") && !read.err.contains("not a number"), "{}{}", read.out, read.err);
    let answers = place.run(&["predict", "m.tove", "thousand.csv"]).ok();
    assert_eq!(answers.out.lines().count(), 301);
    place.write("one.csv", "x size\n\"1,037.5\"\n1037.5\n");
    let both = place.run(&["predict", "m.tove", "one.csv", "--proba"]).ok().out;
    assert_eq!(both.lines().nth(1), both.lines().nth(2));
}
