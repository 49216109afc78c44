//! Files that the program wrote in every format version are still read, and answer what they answered then.
//!
//! `zoo/v1` was written by `tove images fit digits`, `tove text fit` on the first 6000 bytes of tinyshakespeare and `tove fit`
//! on the credit table, all as small as can be; `answers.json` is what `predict` and `generate` then said, as JSON. `zoo/v2`, whose
//! files have checksums, holds the same models, written anew by the test that is ignored.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::Place;
use serde_json::Value;
use tove::tensor::io::{Container, WriteOptions};

/// Nets compute in single precision, and other vector instructions may add in another order.
const TOLERANCE: f64 = 1e-5;

#[track_caller]
fn assert_near(found: &Value, expected: &Value, tolerance: f64) {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= tolerance, "{a} where it was {b}");
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.len(), b.len());
            b.iter().for_each(|(name, b)| assert_near(&a[name], b, tolerance));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| assert_near(a, b, tolerance));
        }
        _ => assert_eq!(found, expected),
    }
}

#[test]
fn every_file_that_was_ever_written_is_read() {
    let place = Place::new("formats");
    for version in ["v1", "v2"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo").join(version);
        let file = |name: &str| folder.join(name).display().to_string();
        let answers: Value = serde_json::from_str(&std::fs::read_to_string(file("answers.json")).unwrap()).unwrap();
        for name in ["images-mlp", "images-cnn"] {
            let arguments = ["images", "predict", &file(&format!("{name}.tove")), &file("picture.png"), "--json"];
            let found = place.run(&arguments).ok().json();
            assert_near(&found[0]["probabilities"], &answers[name], TOLERANCE);
        }
        for name in ["text-characters", "text-bpe"] {
            let model = file(&format!("{name}.tove"));
            let options = ["--prompt", "First", "--length", "20", "--temperature", "1", "--seed", "3", "--json"];
            let found = place.run(&[&["text", "generate", &model][..], &options].concat()).ok().json();
            assert_eq!(found["text"], answers[name], "{name}");
        }
        let arguments = ["predict", &file("table.tove"), &file("table.csv"), "--proba", "--json", "-q"];
        assert_near(&place.run(&arguments).ok().json(), &answers["table"], 1e-12);
    }
}

#[test]
#[ignore = "writes the files of the present version"]
fn write_the_zoo() {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo");
    std::fs::create_dir_all(zoo.join("v2")).unwrap();
    for entry in std::fs::read_dir(zoo.join("v1")).unwrap() {
        let from = entry.unwrap().path();
        let to = zoo.join("v2").join(from.file_name().unwrap());
        // What is there stays: it is a witness of the program that wrote it.
        match from.extension().and_then(|ending| ending.to_str()) {
            _ if to.exists() => {}
            Some("tove") => Container::load(&from).unwrap().save(&to, WriteOptions::default()).unwrap(),
            _ => drop(std::fs::copy(&from, &to).unwrap()),
        }
    }
}
