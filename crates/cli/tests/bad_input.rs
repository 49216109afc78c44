//! Files and calls that are wrong: what, where and what to do in one or two lines, the right exit code, nothing left.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, Ran, shipped};
use serde_json::Value;
use tove::tensor::io::{Container, WriteOptions};

/// One or two lines after the remarks, which `-q` leaves out, and no panic.
#[track_caller]
fn refused(ran: &Ran, code: i32, words: &[&str]) {
    ran.fails(code, words);
    let lines = ran.err.lines().filter(|line| line.starts_with("tove: ")).count();
    assert_eq!(lines, 1, "{}", ran.err);
    assert!(ran.err.lines().count() <= 2, "{}", ran.err);
    assert!(!ran.err.contains("os error") && ran.out.is_empty(), "{}{}", ran.out, ran.err);
}

fn rows(head: &str, row: impl Fn(usize) -> String) -> String {
    let rows: String = (0..40).map(|i| row(i) + "\n").collect();
    format!("{head}\n{rows}")
}

#[test]
fn tables_that_cannot_be_fitted() {
    let place = Place::new("bad-tables");
    for (name, content, code, words) in [
        ("empty.csv", String::new(), 1, vec!["empty.csv", "is empty", "header"]),
        ("blank.csv", "\n \n\n".to_owned(), 1, vec!["blank.csv", "is empty"]),
        ("header.csv", "a,b,y\n".to_owned(), 1, vec!["header.csv", "no rows"]),
        (
            "ragged.csv",
            "a,y\n1,2\n1,2,3\n".to_owned(),
            1,
            vec!["ragged.csv", "line 3", "3 fields", "fix", "(--drop-ragged)"],
        ),
        (
            "twice.csv",
            "a,a,y\n1,2,3\n".to_owned(),
            1,
            vec!["twice.csv", "\"a\"", "more than once", "rename", "(--no-header)"],
        ),
        ("quote.csv", "a,y\n\"1,2\n3,4\n".to_owned(), 1, vec!["quote.csv", "quote"]),
        (
            "constant.csv",
            rows("a,y", |i| format!("{i},same")),
            1,
            vec!["constant.csv", "column y", "same", "nothing to learn"],
        ),
        ("untold.csv", rows("a,y", |i| format!("{i},")), 1, vec!["untold.csv", "column y", "missing", "another"]),
        ("alone.csv", rows("y", |i| (i % 2).to_string()), 1, vec!["no column is left"]),
        ("few.csv", "a,y\n1,u\n2,v\n3,u\n".to_owned(), 1, vec!["few.csv"]),
        ("target.csv", rows("a,yy", |i| format!("{i},{}", i % 2)), 2, vec!["\"y\"", "columns are", "\"yy\""]),
        ("delimiter.csv", rows("a^y", |i| format!("{i}^{}", i % 2)), 2, vec!["\"y\"", "a^y"]),
    ] {
        place.write(name, &content);
        refused(&place.run(&["fit", name, "--target", "y", "-q"]), code, &words);
        assert_eq!(place.files(), [name], "something was left");
        std::fs::remove_file(place.path(name)).unwrap();
    }
    // The wrong delimiter on the command line.
    place.write("semicolons.csv", &rows("a;b;y", |i| format!("{i};{};{}", i % 3, i % 2)));
    let wrong = place.run(&["fit", "semicolons.csv", "--target", "y", "--delimiter", ",", "-q"]);
    refused(&wrong, 2, &["\"y\"", "one column", "--delimiter"]);
    refused(&place.run(&["fit", "nothing.csv", "--target", "y"]), 1, &["nothing.csv", "check the name"]);
    refused(&place.run(&["fit", ".", "--target", "y"]), 1, &["folder", "CSV, JSON or Parquet"]);
    refused(&place.run(&["fit", "-", "--target", "y"]), 1, &["is empty"]);
    place.write("false.parquet", "PAR1 and nothing more");
    refused(&place.run(&["fit", "false.parquet", "--target", "y"]), 1, &["false.parquet"]);
    let types = ["fit", "semicolons.csv", "--target", "y", "-q", "--type"];
    refused(&place.run(&[&types[..], &["z=float"]].concat()), 2, &["--type", "\"z\"", "columns are"]);
    refused(&place.run(&[&types[..], &["b=color"]].concat()), 2, &["--type b", "color", "integer"]);
    let weights = ["fit", "semicolons.csv", "--target", "y", "-q", "--weights", "nope"];
    refused(&place.run(&weights), 2, &["nope", "columns are"]);
    assert_eq!(place.files(), ["false.parquet", "semicolons.csv"]);
}

/// What the library proposes by its functions, the program proposes by its options.
#[test]
fn remedies_are_options() {
    let place = Place::new("bad-remedies");
    let row = |i: usize| format!("{},{},{}", if i == 7 { "inf".to_owned() } else { i.to_string() }, i % 3, i % 2);
    place.write("t.csv", &rows("net price,b,y", row));
    let fit = |more: &[&str]| place.run(&[&["fit", "t.csv", "--target", "y", "-q"], more].concat());
    refused(&fit(&[]), 1, &["t.csv", "net price", "fix the value", "(--drop 'net price')"]);
    refused(&fit(&["--drop", "net price,b"]), 1, &["no column is left", "drop fewer columns (--drop, --id)"]);
    place.write(
        "word.csv",
        &rows("a,y", |i| format!("{},{}", if i == 7 { "x".to_owned() } else { i.to_string() }, i % 2)),
    );
    let typed = place.run(&["fit", "word.csv", "--target", "y", "-q", "--type", "a=float"]);
    refused(&typed, 1, &["line 9", "fix the value, or make such values missing (--coerce)"]);
    place.run(&["fit", "word.csv", "--target", "y", "-q", "-m", "SVC", "-o", "m.tove"]).ok();
    let again = place.run(&["fit", "word.csv", "--target", "y", "-q", "-m", "SVC", "-o", "m.tove"]);
    refused(&again, 2, &["m.tove exists already", "--overwrite"]);
}

#[test]
fn a_column_without_values_is_told_and_harmless() {
    let place = Place::new("bad-column");
    place.write("t.csv", &rows("a,void,y", |i| format!("{i},,{}", u8::from(i > 20))));
    let ran =
        place.run(&["fit", "t.csv", "--target", "y", "-m", "LogisticRegression", "--cv", "0", "-o", "m.tove"]).ok();
    assert!(ran.err.contains("column void") && ran.err.contains("--drop void"), "{}", ran.err);
    let found = place.run_with(&["predict", "m.tove", "-"], "a,void\n3,\n").ok();
    assert!(found.out.ends_with("\n0\n"), "{}", found.out);
}

/// A model of the credit table in `m.tove`.
fn credit(place: &Place) -> String {
    let credit = shipped("german-credit.csv");
    let fit =
        ["fit", &credit, "--target", "credit_risk", "-m", "LogisticRegression", "--cv", "0", "-q", "-o", "m.tove"];
    place.run(&fit).ok();
    credit
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new("bad-outputs");
    let table = credit(&place);
    let before = place.files();
    let fit = ["fit", &table, "--target", "credit_risk", "-m", "LogisticRegression", "--cv", "0", "-q"];
    let with = |more: &[&str]| place.run(&[&fit[..], more].concat());
    refused(&with(&["-o", "m.tove"]), 2, &["m.tove exists already", "--overwrite"]);
    refused(&with(&["-o", "none/m.tove"]), 1, &["none/m.tove", "folder"]);
    refused(&with(&["--report", "none/r.html"]), 1, &["none/r.html", "folder"]);
    refused(&with(&["-o", "m.tove/n.tove"]), 1, &["m.tove/n.tove"]);
    refused(&with(&["--runs", "m.tove"]), 1, &["m.tove", "--runs"]);
    let predict = ["predict", "m.tove", &table, "-q", "-o"];
    let to = |name: &str| place.run(&[&predict[..], &[name]].concat());
    refused(&to("m.tove"), 2, &["m.tove", ".csv, .parquet, .json or .jsonl"]);
    refused(&to(&table), 2, &["german-credit.csv"]);
    refused(&to("none/p.csv"), 1, &["none/p.csv", "folder"]);
    refused(&to("none/p.parquet"), 1, &["none/p.parquet"]);
    refused(&place.run(&["explain", "m.tove", &table, "-q", "--report", "m.tove"]), 2, &["same file"]);
    assert_eq!(place.files(), before, "something was left");
    // A place that nobody may write to, root included.
    if std::path::Path::new("/proc/version").exists() {
        refused(&with(&["-o", "/proc/m.tove"]), 1, &["/proc/m.tove"]);
        refused(&to("/proc/p.csv"), 1, &["/proc/p.csv"]);
        assert_eq!(place.files(), before, "something was left");
    }
}

#[test]
fn model_files_of_another_kind_or_version() {
    let place = Place::new("bad-models");
    let table = credit(&place);
    let edit = |name: &str, change: &dyn Fn(&mut Container)| {
        let mut container = Container::load(place.path("m.tove")).unwrap();
        change(&mut container);
        container.save(place.path(name), WriteOptions::default()).unwrap();
    };
    edit("later.tove", &|file| file.version = 2);
    edit("other.tove", &|file| file.kind = "Ridge".to_owned());
    edit("image.tove", &|file| file.kind = "ImageModel".to_owned());
    edit("hollow.tove", &|file| file.header = Value::Null);
    edit("lacking.tove", &|file| file.tensors.clear());
    let bytes = std::fs::read(place.path("m.tove")).unwrap();
    std::fs::write(place.path("cut.tove"), &bytes[..bytes.len() / 2]).unwrap();
    place.write("text.tove", "a text that is no model at all");
    place.write("nothing.tove", "");
    for (name, words) in [
        ("later.tove", vec!["version 2", "newer tove"]),
        ("other.tove", vec!["Ridge", "TabularModel"]),
        ("image.tove", vec!["ImageModel", "TabularModel"]),
        ("hollow.tove", vec![]),
        ("lacking.tove", vec![]),
        ("cut.tove", vec!["damaged"]),
        ("text.tove", vec!["not a model file"]),
        ("nothing.tove", vec!["0 bytes"]),
        ("absent.tove", vec!["check the name"]),
    ] {
        let words = [&words[..], &[name]].concat();
        refused(&place.run(&["predict", name, &table, "-q"]), 1, &words);
        refused(&place.run(&["explain", name, "-q"]), 1, &words);
        // These take models of images too.
        let words = if name == "image.tove" { vec![name, "damaged"] } else { words };
        refused(&place.run(&["evaluate", name, &table, "-q"]), 1, &words);
        refused(&place.run(&["serve", name, "-q", "--port", "0"]), 1, &words);
    }
    refused(&place.run(&["images", "predict", "m.tove", "x.png"]), 1, &["m.tove", "TabularModel", "tove images fit"]);
    refused(&place.run(&["text", "generate", "m.tove"]), 1, &["m.tove", "TabularModel", "tove text fit"]);
    refused(&place.run(&["inspect", "text.tove"]), 1, &["text.tove", "not a model file"]);
}

#[test]
fn tables_that_do_not_suit_the_model() {
    let place = Place::new("bad-suit");
    let table = credit(&place);
    let text = std::fs::read_to_string(&table).unwrap();
    let without = |column: usize| {
        let keep = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            [&cells[..column], &cells[column + 1..]].concat().join(",") + "\n"
        };
        text.lines().map(keep).collect::<String>()
    };
    place.write("lacking.csv", &without(1));
    place.write("renamed.csv", &text.replacen("duration", "duratoin", 1));
    place.write("typed.csv", &text.replacen("A11,6,", "A11,six,", 1));
    place.write("semicolons.csv", &text.replace(',', ";"));
    place.write("unlabeled.csv", &without(20));
    place.write("labels.csv", &text.replacen(",1\n", ",good\n", 1));
    let before = place.files();
    for command in ["predict", "evaluate"] {
        let ask = |file: &str, more: &[&str]| place.run(&[&[command, "m.tove", file, "-q"][..], more].concat());
        refused(&ask("lacking.csv", &[]), 1, &["lacking.csv", "\"duration\"", "missing", "integer"]);
        refused(&ask("renamed.csv", &[]), 1, &["renamed.csv", "\"duration\"", "duratoin", "rename"]);
        refused(&ask("typed.csv", &[]), 1, &["typed.csv", "\"duration\"", "six", "integer"]);
        let cut = ask("semicolons.csv", &["--delimiter", ","]);
        refused(&cut, 1, &["semicolons.csv", "one column", "--delimiter"]);
        assert_eq!(ask("semicolons.csv", &[]).code, 0);
    }
    refused(&place.run(&["evaluate", "m.tove", "unlabeled.csv", "-q"]), 1, &["unlabeled.csv", "credit_risk"]);
    refused(&place.run(&["evaluate", "m.tove", "labels.csv", "-q"]), 1, &["labels.csv", "good", "known are"]);
    refused(&place.run(&["predict", "m.tove", "lacking.csv", "-q", "-o", "out.csv"]), 1, &["duration"]);
    assert_eq!(place.files(), before, "something was left");
}

#[test]
fn calls_that_are_wrong_have_code_two() {
    let place = Place::new("bad-calls");
    let table = credit(&place);
    let before = place.files();
    for arguments in [
        &["fit"][..],
        &["fit", &table, "--target", "credit_risk", "--set", "c"],
        &["fit", &table, "--target", "credit_risk", "--cv", "many"],
        &["fit", &table, "--target", "credit_risk", "--delimiter", ";;"],
        &["predict", "m.tove"],
        &["serve"],
        &["runs", "compare", "1"],
        &["nonsense"],
    ] {
        let ran = place.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("error:") || ran.err.contains("Usage"), "{}", ran.err);
    }
    // Without a target the columns are named.
    refused(&place.run(&["fit", &table]), 2, &["--target", "duration", "credit_risk"]);
    assert_eq!(place.files(), before, "something was left");
}
