//! The program on tables: fit, predict, evaluate, explain, inspect, runs.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, shipped};

#[test]
fn from_a_table_to_a_model_and_back() {
    let place = Place::new("whole");
    let credit = shipped("german-credit.csv");
    let fitted = place.run(&["fit", &credit, "--target", "credit_risk", "--model", "LogisticRegression"]).ok();
    assert!(
        fitted.out.contains("accuracy") && fitted.out.contains("baseline") && fitted.out.contains('['),
        "{}",
        fitted.out
    );
    assert_eq!(place.files(), ["tove-runs/1/model.tove", "tove-runs/1/report.html", "tove-runs/runs.jsonl"]);
    let page = std::fs::read_to_string(place.path("tove-runs/1/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Confusion matrix") && !page.contains("src=\"http"));

    let model = "tove-runs/1/model.tove";
    let predicted = place.run(&["predict", model, &credit, "--proba", "-o", "out.csv"]).ok();
    assert!(predicted.err.contains("1000 rows predicted"), "{}", predicted.err);
    let lines = std::fs::read_to_string(place.path("out.csv")).unwrap();
    assert_eq!(lines.lines().count(), 1001);
    assert!(lines.starts_with("predicted credit_risk,P("));
    place.run(&["predict", model, &credit, "-o", "out.csv"]).fails(2, &["out.csv exists already", "--overwrite"]);
    place.run(&["predict", model, &credit, "-o", "out.parquet", "--proba"]).ok();
    let again = place.run(&["predict", model, &credit, "--json"]).ok().json();
    assert_eq!(again.as_array().unwrap().len(), 1000);

    let judged = place.run(&["evaluate", model, &credit, "--json"]).ok().json();
    let accuracy = judged["scores"]["accuracy"]["value"].as_f64().unwrap();
    assert!(accuracy > 0.74 && accuracy < 0.9, "{accuracy}");
    let shown = place.run(&["explain", model, &credit, "--report", "why.html", "--repeats", "2"]).ok();
    assert!(shown.out.contains("coefficient") && place.path("why.html").exists());
    let inside = place.run(&["inspect", model, "--json"]).ok().json();
    assert_eq!(inside["kind"], "TabularModel");
    assert_eq!(inside["header"]["target"], "credit_risk");

    place.run(&["fit", &credit, "--target", "credit_risk", "--model", "DummyClassifier", "--cv", "0", "-q"]).ok();
    let runs = place.run(&["runs", "--json"]).ok().json();
    assert_eq!((runs[0]["run"].as_u64(), runs[1]["model"].as_str()), (Some(1), Some("DummyClassifier")));
    assert!(place.run(&["runs", "compare", "1", "2"]).ok().out.contains("test accuracy"));
    place.run(&["runs", "show", "9"]).fails(2, &["no run 9"]);
}

#[test]
fn g10_an_interval_stands_beside_every_bounded_test_error() {
    let place = Place::new("interval");
    let arguments =
        ["fit", &shipped("german-credit.csv"), "--target", "credit_risk", "--model", "DummyClassifier", "--json"];
    let fitted = place.run(&arguments).ok().json();
    let accuracy = &fitted["test"]["accuracy"];
    let (value, n) = (accuracy["value"].as_f64().unwrap(), accuracy["n"].as_f64().unwrap());
    let epsilon = ((2.0f64 / 0.05).ln() / (2.0 * n)).sqrt();
    assert_eq!(n, 250.0);
    assert!((accuracy["interval"][0].as_f64().unwrap() - (value - epsilon)).abs() < 1e-12);
    // N = 1000, δ = 0.05 and a range of 1 give 0.042947.
    assert!((tove::metrics::hoeffding(1000.0, 1.0, 0.05) - 0.042947).abs() < 5e-7);
    // In simulation the interval holds the truth at least as often as it says.
    let misses = (0..2000u64).filter(|&i| {
        let draws = tove::tensor::Key::new(i).bernoulli(0.3, [200]).to_dtype(tove::tensor::DType::F64);
        (draws.mean().item::<f64>() - 0.3).abs() >= tove::metrics::hoeffding(200.0, 1.0, 0.05)
    });
    assert!(misses.count() as f64 <= 0.05 * 2000.0);
    let text = place.run(&arguments[..arguments.len() - 1]).ok().out;
    assert!(text.contains("accuracy") && text.contains("Hoeffding"), "{text}");
}

#[test]
fn regression_and_standard_input() {
    let place = Place::new("numbers");
    let diabetes = std::fs::read_to_string(shipped("diabetes.csv")).unwrap();
    let target = diabetes.lines().next().unwrap().split(',').next_back().unwrap().to_owned();
    let arguments =
        ["fit", "-", "--target", &target, "--model", "Ridge", "--set", "alpha=0.1", "--json", "-o", "m.tove"];
    let fitted = place.run_with(&arguments, &diabetes).ok().json();
    assert!(fitted["test"]["R²"]["value"].as_f64().unwrap() > 0.3);
    assert_eq!(fitted["settings"]["alpha"], 0.1);
    let answer = place.run_with(&["predict", "m.tove", "-"], &diabetes).ok();
    assert_eq!(answer.out.lines().count(), diabetes.lines().count());
    place.run(&["explain", "m.tove"]).ok();
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let place = Place::new("same");
    for (name, threads) in [("a.tove", "1"), ("b.tove", "2")] {
        let arguments =
            ["fit", &shipped("wine.csv"), "-m", "LogisticRegression", "--threads", threads, "-o", name, "-q"];
        let header = std::fs::read_to_string(shipped("wine.csv")).unwrap();
        let target = wine_target(&header);
        place.run(&[&arguments[..], &["--target", &target]].concat()).ok();
    }
    let bytes = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert_eq!(bytes("a.tove"), bytes("b.tove"));
}

/// The column of the cultivar: the one with three values.
fn wine_target(text: &str) -> String {
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let distinct = |place: usize| {
        text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap()).collect::<std::collections::BTreeSet<_>>()
    };
    (0..names.len()).find(|&place| distinct(place).len() == 3).map(|place| names[place].to_owned()).unwrap()
}

#[test]
fn auto_compares_and_says_why() {
    let place = Place::new("auto");
    let text = "x,y,z\n".to_owned()
        + &(0..80)
            .map(|i| format!("{},{},{}\n", i % 7, i % 11, if (i % 7) * 2 > i % 11 { "yes" } else { "no" }))
            .collect::<String>();
    let file = place.write("small.csv", &text);
    let fitted = place.run(&["fit", file.to_str().unwrap(), "--target", "z", "--cv", "3"]).ok();
    assert!(fitted.out.contains("chosen") && fitted.out.contains("union bound"), "{}", fitted.out);
    let none = place
        .run(&["fit", file.to_str().unwrap(), "--target", "z", "--budget", "0", "--json", "--cv", "2"])
        .ok()
        .json();
    assert!(none["tried"].as_array().unwrap().iter().skip(1).all(|tried| tried["problem"] == "the time was up"));
}

#[test]
fn wrong_calls_say_what_to_do() {
    let place = Place::new("wrong");
    let credit = shipped("german-credit.csv");
    place.run(&["fit", "nothing.csv", "--target", "y"]).fails(1, &["nothing.csv"]);
    place.run(&["fit", &credit, "--target", "credit_rsk"]).fails(2, &["credit_rsk", "credit_risk"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--model", "Logistic"]).fails(2, &["Logistic"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--model", "Ridge"]).fails(2, &["Ridge", "classification"]);
    let wrong = ["fit", &credit, "--target", "credit_risk", "--model", "LogisticRegression", "--set", "c=-1"];
    place.run(&wrong).fails(2, &["-1", "c"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--set", "c=1"]).fails(2, &["--model"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--test-size", "1.5"]).fails(2, &["1.5"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--cv", "1"]).fails(2, &["folds"]);
    place.run(&["fit", &credit, "--target", "credit_risk", "--threads", "0"]).fails(2, &["thread"]);
    let empty = place.write("empty.csv", "");
    place.run(&["fit", empty.to_str().unwrap(), "--target", "y"]).fails(1, &["empty"]);
    let ragged = place.write("ragged.csv", "a,b\n1,2\n1,2,3\n");
    place.run(&["fit", ragged.to_str().unwrap(), "--target", "b"]).fails(1, &["ragged.csv", "3"]);
    let twice = place.write("twice.csv", "a,a\n1,2\n");
    place.run(&["fit", twice.to_str().unwrap(), "--target", "a"]).fails(1, &["a"]);
    let constant = place.write("constant.csv", &("a,b\n".to_owned() + &"1,x\n".repeat(30)));
    place.run(&["fit", constant.to_str().unwrap(), "--target", "b"]).fails(1, &["b"]);
    let other = place.write("other.tove", "not a model");
    place.run(&["predict", other.to_str().unwrap(), &credit]).fails(1, &["other.tove"]);
    assert!(!place.files().iter().any(|file| file.contains("model")), "{:?}", place.files());
}

#[test]
fn a_table_that_does_not_fit_the_model() {
    let place = Place::new("misfit");
    let text = "size,colour,kind\n".to_owned()
        + &(0..60)
            .map(|i| format!("{},{},{}\n", i, ["red", "blue"][i % 2], ["a", "b"][usize::from(i > 30)]))
            .collect::<String>();
    let file = place.write("t.csv", &text);
    let file = file.to_str().unwrap();
    place.run(&["fit", file, "--target", "kind", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let lacking = place.write("lacking.csv", "colour\nred\n");
    place.run(&["predict", "m.tove", lacking.to_str().unwrap()]).fails(1, &["size"]);
    let unseen = place.write("unseen.csv", "extra,colour,size\n1,green,3\n");
    let told = place.run(&["predict", "m.tove", unseen.to_str().unwrap()]).ok();
    assert!(told.err.contains("green") && told.err.contains("extra") && told.out.contains("predicted kind"));
    let words = place.write("words.csv", "size,colour\nlarge,red\n");
    place.run(&["predict", "m.tove", words.to_str().unwrap()]).fails(1, &["size"]);
    place.run(&["fit", file, "--target", "kind", "-o", "m.tove"]).fails(2, &["m.tove exists already"]);
}
