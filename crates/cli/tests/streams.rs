//! Files larger than memory: fits and predictions in pieces, what they cost and that they give the same.
#![allow(clippy::unwrap_used)]

mod common;

use std::fmt::Write as _;
use std::io::Write as _;

use common::Place;
use serde_json::Value;

/// A reproducible number in [0, 1).
fn noise(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

/// A table of numbers, gaps, categories and dates with a number and a class to predict.
fn write_table(path: &std::path::Path, rows: usize, seed: u64) {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    writeln!(out, "id,a,b,c,d,city,day,price,sold").unwrap();
    let (mut state, mut line) = (seed, String::new());
    for row in 0..rows {
        let [a, b, c, d] = [(); 4].map(|()| 20.0 * noise(&mut state) - 10.0);
        let city = (noise(&mut state) * 12.0) as usize;
        let day = (noise(&mut state) * 28.0) as usize + 1;
        let price = 3.0 * a - 2.0 * b + 0.5 * c + city as f64 + 4.0 * noise(&mut state);
        let sold = if price + 8.0 * (noise(&mut state) - 0.5) > 5.0 { "yes" } else { "no" };
        line.clear();
        write!(line, "{row},{a:.6},{b:.6},").unwrap();
        if row % 10 == 3 {
            line.push(','); // c is missing
        } else {
            write!(line, "{c:.6},").unwrap();
        }
        write!(line, "{d:.6},city{city},2024-03-{day:02},{price:.6},{sold}").unwrap();
        writeln!(out, "{line}").unwrap();
    }
}

/// The coefficients by their names.
fn coefficients(place: &Place, model: &str) -> Vec<(String, f64)> {
    let shown = place.run(&["explain", model, "--json"]).ok().json();
    let entry = |entry: &Value| (entry["feature"].as_str().unwrap().to_owned(), entry["value"].as_f64().unwrap());
    let mut list: Vec<_> = shown["coefficients"].as_array().unwrap().iter().map(entry).collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    list
}

#[test]
fn exact_models_give_the_same_in_pieces() {
    let place = Place::new("pieces");
    write_table(&place.path("train.csv"), 40_000, 1);
    write_table(&place.path("test.csv"), 2_000, 2);
    for model in ["Ridge", "LinearRegression"] {
        let call = ["fit", "train.csv", "--test", "test.csv", "--target", "price", "--drop", "id,sold", "--cv", "0"];
        let call = [&call[..], &["--model", model, "--overwrite", "--json", "-o"]].concat();
        let whole = place.run(&[&call[..], &["whole.tove"]].concat()).ok().json();
        let pieces = place.run(&[&call[..], &["pieces.tove", "--stream"]].concat()).ok().json();
        assert!(
            whole["streamed"].is_null() && pieces["streamed"]["passes"].as_u64() == Some(3),
            "{}",
            pieces["streamed"]
        );
        assert_eq!(whole["imputed"]["c"], pieces["imputed"]["c"]);
        assert_eq!([&whole["train_rows"], &whole["test_rows"]], [&pieces["train_rows"], &pieces["test_rows"]]);
        let (a, b) = (coefficients(&place, "whole.tove"), coefficients(&place, "pieces.tove"));
        assert_eq!(a.len(), b.len());
        for ((name, a), (other, b)) in a.iter().zip(&b) {
            // The sums are the same up to their order; one-hot columns are dependent, which costs a few digits.
            assert!(name == other && (a - b).abs() < 1e-8 * a.abs().max(1.0), "{model} {name}: {a} {b}");
        }
        let score = |fitted: &Value| fitted["test"]["r2"]["value"].as_f64().unwrap();
        assert!((score(&whole) - score(&pieces)).abs() < 1e-10);
    }
}

#[test]
fn stochastic_gradients_learn_in_pieces() {
    let place = Place::new("sgd");
    write_table(&place.path("t.csv"), 30_000, 3);
    let call = ["fit", "t.csv", "--target", "sold", "--drop", "id,price", "--stream", "--json", "--report", "r.html"];
    let fitted = place.run(&call).ok().json();
    assert_eq!(fitted["model"], "SGDClassifier");
    assert_eq!(fitted["settings"]["loss"], "log_loss");
    let (train, test) = (fitted["train_rows"].as_f64().unwrap(), fitted["test_rows"].as_f64().unwrap());
    assert_eq!(train + test, 30_000.0);
    assert!((test / 30_000.0 - 0.25).abs() < 0.01, "{test}");
    let accuracy = fitted["test"]["accuracy"]["value"].as_f64().unwrap();
    // The class follows a line with some noise; a fit in memory reaches 0.91.
    assert!(accuracy > 0.88, "{accuracy}");
    assert!(fitted["curve"].as_array().unwrap().len() > 1);
    let again = place.run(&[&call[..], &["--overwrite", "--threads", "1"]].concat()).ok().json();
    assert_eq!(again["test"], fitted["test"]);
    place.run(&["fit", "t.csv", "--target", "sold", "--model", "SVC", "--stream"]).fails(2, &["SVC", "SGDClassifier"]);
    let other = ["fit", "t.csv", "-t", "sold", "--drop", "id,price", "--stream", "--json", "-m", "Perceptron"];
    let other = place.run(&other).ok().json();
    assert_eq!((other["model"].as_str(), other["streamed"].is_object()), (Some("Perceptron"), true), "{other}");
    assert!(other["test"]["accuracy"]["value"].as_f64().unwrap() > 0.8, "{other}");
    let models = place.run(&["models", "--json"]).ok().json();
    let streams = |name: &str| {
        let model = models.as_array().unwrap().iter().find(|model| model["name"] == name).unwrap();
        model["capabilities"].as_array().unwrap().iter().any(|words| words.as_str().unwrap().contains("--stream"))
    };
    assert!(streams("Ridge") && streams("SGDRegressor") && !streams("SVC") && !streams("Lasso"));
}

/// A file of some 130 MB is fitted, and predicted, in far less memory than it has bytes.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_file() {
    let place = Place::new("large");
    let rows = 2_000_000;
    write_table(&place.path("large.csv"), rows, 4);
    let size = std::fs::metadata(place.path("large.csv")).unwrap().len() as f64 / (1 << 20) as f64;
    assert!(size > 120.0, "{size}");
    let call =
        ["fit", "large.csv", "--target", "price", "--drop", "id,sold", "--model", "Ridge", "--stream", "-o", "m.tove"];
    let (fitted, most) = place.watched(&[&call[..], &["-q"]].concat());
    fitted.ok();
    // A piece is a million numbers, the judged rows take 32 MB; all encoded rows would be 2,000,000 x 21 x 8 bytes = 336 MB.
    assert!(most < 200.0, "the fit took {most} MB for a file of {size} MB");
    let (predicted, most) = place.watched(&["predict", "m.tove", "large.csv", "-o", "out.csv"]);
    assert!(predicted.ok().err.contains("2000000 rows predicted"));
    assert!(most < 64.0, "predicting took {most} MB for a file of {size} MB");
    let text = std::fs::read_to_string(place.path("out.csv")).unwrap();
    assert_eq!(text.lines().count(), rows + 1);
    let (judged, most) = place.watched(&["evaluate", "m.tove", "large.csv", "--json"]);
    assert_eq!(judged.ok().json()["rows"].as_u64(), Some(rows as u64));
    // Truth, answer and place of each row are 24 bytes, twice that while lists grow, and the standard errors of scores take its
    // influence, 16 more: 128 MB besides the pieces.
    assert!(most < 192.0, "evaluating took {most} MB for a file of {size} MB");
}

/// Judged in pieces, a model has the scores that the fit gave it on the same rows, bit for bit.
#[test]
fn evaluations_in_pieces_are_those_of_the_whole() {
    let place = Place::new("judged");
    write_table(&place.path("train.csv"), 3_000, 6);
    write_table(&place.path("test.csv"), 120_000, 7);
    let table = tove::data::table::read_csv(place.path("test.csv")).unwrap().0;
    table.write_parquet(place.path("test.parquet"), tove::tensor::io::WriteOptions::default()).unwrap();
    for (target, drop, model) in [("price", "id,sold", "Ridge"), ("sold", "id,price", "LogisticRegression")] {
        let call = ["fit", "train.csv", "--test", "test.csv", "--target", target, "--drop", drop, "-m", model];
        let fitted =
            place.run(&[&call[..], &["--cv", "0", "-o", "m.tove", "--overwrite", "--json"]].concat()).ok().json();
        for file in ["test.csv", "test.parquet"] {
            let judged = place.run(&["evaluate", "m.tove", file, "--json"]).ok().json();
            assert_eq!(judged["rows"].as_u64(), Some(120_000));
            for (name, score) in fitted["test"].as_object().unwrap() {
                assert_eq!(judged["scores"][name]["value"], score["value"], "{model} {file} {name}");
            }
        }
        let text = std::fs::read_to_string(place.path("test.csv")).unwrap();
        let piped = place.run_with(&["evaluate", "m.tove", "-", "--json"], &text).ok().json();
        assert_eq!(piped["rows"].as_u64(), Some(120_000));
        let answers = |file: &str| place.run(&["predict", "m.tove", file]).ok().out;
        assert!(answers("test.csv") == answers("test.parquet"), "{model}");
    }
}

#[test]
fn parquet_files_are_learned_from_in_pieces() {
    let place = Place::new("groups");
    write_table(&place.path("t.csv"), 80_000, 8);
    let table = tove::data::table::read_csv(place.path("t.csv")).unwrap().0;
    table.write_parquet(place.path("t.parquet"), tove::tensor::io::WriteOptions::default()).unwrap();
    let call = ["--target", "price", "--drop", "id,sold", "--model", "Ridge", "--stream", "--json"];
    let [csv, parquet] =
        ["t.csv", "t.parquet"].map(|file| place.run(&[&["fit", file][..], &call].concat()).ok().json());
    assert_eq!([&csv["train_rows"], &csv["test_rows"]], [&parquet["train_rows"], &parquet["test_rows"]]);
    let score = |fitted: &Value| fitted["test"]["r2"]["value"].as_f64().unwrap();
    // The same rows in pieces of the same size; the columns' means are merged in another order at most.
    assert!((score(&csv) - score(&parquet)).abs() < 1e-10);
    let call = ["fit", "t.parquet", "--target", "sold", "--drop", "id,price", "--stream", "--json"];
    let fitted = place.run(&call).ok().json();
    assert!(fitted["test"]["accuracy"]["value"].as_f64().unwrap() > 0.88, "{}", fitted["test"]);
}

#[test]
fn files_that_need_more_memory_than_there_is_are_read_in_pieces() {
    let place = Place::new("memory");
    write_table(&place.path("t.csv"), 20_000, 9);
    let call = ["fit", "t.csv", "--target", "sold", "--drop", "id,price", "--cv", "0", "--json", "--memory"];
    let little = place.run(&[&call[..], &["2"]].concat()).ok();
    assert!(little.err.contains("reading in chunks"), "{}", little.err);
    assert_eq!((little.json()["streamed"].is_object(), little.json()["model"].as_str()), (true, Some("SGDClassifier")));
    let able = [&call[..], &["2", "--model", "LogisticRegression"]].concat();
    let unable = place.run(&able).ok();
    assert!(
        unable.err.contains("models with partial fit can read it in chunks") && unable.json()["streamed"].is_null(),
        "{}",
        unable.err
    );
    let plenty = place.run(&[&call[..], &["100000", "--model", "SGDClassifier"]].concat()).ok();
    assert!(plenty.json()["streamed"].is_null() && !plenty.err.contains("chunks"), "{}", plenty.err);
}

/// All rows of one class before those of the other, but for the first, since the beginning of a file tells the task: in the order of the file, the last piece would have the last word.
#[test]
fn a_sorted_file_is_learned_from_in_pieces() {
    let place = Place::new("sorted");
    write_table(&place.path("t.csv"), 150_000, 10);
    let text = std::fs::read_to_string(place.path("t.csv")).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let (no, yes): (Vec<&str>, Vec<&str>) = rows.lines().partition(|line| line.ends_with(",no"));
    let [no, others] = [no.join("\n"), yes[1..].join("\n")];
    place.write("sorted.csv", &format!("{head}\n{}\n{no}\n{others}\n", yes[0]));
    let call = ["fit", "sorted.csv", "--target", "sold", "--drop", "id,price", "--stream", "--json"];
    let fitted = place.run(&call).ok().json();
    let accuracy = fitted["test"]["accuracy"]["value"].as_f64().unwrap();
    // The bar of the file that is not sorted.
    assert!(accuracy > 0.88, "{accuracy}");
}

#[test]
fn predictions_in_pieces_are_those_of_single_rows() {
    let place = Place::new("rows");
    write_table(&place.path("t.csv"), 3_000, 5);
    let call = ["fit", "t.csv", "--target", "sold", "--drop", "price", "--id", "id", "-m", "LogisticRegression"];
    place.run(&[&call[..], &["-o", "m.tove", "-q"]].concat()).ok();
    place.run(&["predict", "m.tove", "t.csv", "--proba", "-o", "whole.csv"]).ok();
    let whole = std::fs::read_to_string(place.path("whole.csv")).unwrap();
    assert!(whole.starts_with("id,predicted sold,P(no),P(yes)\n"));
    let text = std::fs::read_to_string(place.path("t.csv")).unwrap();
    let head = text.lines().next().unwrap();
    for row in [1, 4, 2_999] {
        let one = format!("{head}\n{}\n", text.lines().nth(row).unwrap());
        let answer = place.run_with(&["predict", "m.tove", "-", "--proba"], &one).ok().out;
        assert_eq!(answer.lines().nth(1), whole.lines().nth(row), "row {row}");
    }
    // The standard input, JSON and Parquet give the same rows.
    assert_eq!(place.run_with(&["predict", "m.tove", "-", "--proba"], &text).ok().out, whole);
    let json = place.run(&["predict", "m.tove", "t.csv", "--proba", "--json"]).ok().json();
    assert_eq!(json.as_array().unwrap().len(), 3_000);
    place.run(&["predict", "m.tove", "t.csv", "--proba", "-o", "p.parquet"]).ok();
    // A bad value in the middle leaves nothing behind and says where it is.
    let spoilt = |(number, line): (usize, &str)| {
        let mut fields: Vec<&str> = line.split(',').collect();
        if number == 2_000 {
            fields[1] = "x.5x";
        }
        fields.join(",") + "\n"
    };
    let bad: String = text.lines().enumerate().map(spoilt).collect();
    place.write("bad.csv", &bad);
    place.run(&["predict", "m.tove", "bad.csv", "-o", "bad-out.csv"]).fails(1, &["bad.csv", "line 2001", "a"]);
    assert!(!place.path("bad-out.csv").exists());
    let coerced = place.run(&["predict", "m.tove", "bad.csv", "--coerce", "-o", "bad-out.csv"]).ok();
    assert!(coerced.err.contains("1 values of \"a\"") && coerced.err.contains("line 2001"), "{}", coerced.err);
}
