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
        fitted.out.contains("accuracy") && fitted.out.contains("baseline") && fitted.out.contains('±'),
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
    assert!(place.run(&["runs", "compare", "1", "2"]).ok().out.contains("held-out accuracy"));
    place.run(&["runs", "show", "9"]).fails(2, &["no run 9"]);
}

/// The program keeps to its budget, and looks at a part of a long table where all of it says no more.
#[test]
fn long_tables_take_the_time_and_the_rows_they_may() {
    let place = Place::new("long-tables");
    let row = |i: u64| {
        let (a, b) = ((i * 7919 % 1009) as f64 / 1009.0, (i * 104_729 % 997) as f64 / 997.0);
        format!("{a:.4},{b:.4},{},{:.4}\n", ["red", "green", "blue"][(i % 3) as usize], a * b + a)
    };
    let text = |rows: u64| "a,b,color,y\n".to_owned() + &(0..rows).map(row).collect::<String>();
    place.write("long.csv", &text(60_000));
    let begun = std::time::Instant::now();
    let fit = ["fit", "long.csv", "-t", "y", "-m", "auto", "--budget", "2", "--json", "-o", "m.tove"];
    let fitted = place.run(&fit).ok().json();
    assert!(fitted["seconds"].as_f64().unwrap() <= 3.0, "{}", fitted["seconds"]);
    // Reading the file and writing the report come on top.
    assert!(begun.elapsed().as_secs_f64() < 30.0);
    place.write("some.csv", &text(12_000));
    let told = place.run(&["explain", "m.tove", "some.csv", "--repeats", "1"]).ok();
    assert!(told.err.contains("10000 of 12000 rows"), "{}", told.err);
    let all = place.run(&["explain", "m.tove", "some.csv", "--repeats", "1", "--sample", "0"]).ok();
    assert!(!all.err.contains("of 12000 rows"), "{}", all.err);
}

/// Values with an interval behind them, as `0.7 [0.61, 0.79]`: value, both ends, and the digits behind the point.
fn intervals(text: &str) -> Vec<([f64; 3], i32)> {
    let mut found = Vec::new();
    for (place, _) in text.match_indices(" [") {
        let value = text[..place].rsplit(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or("");
        let ends = text[place + 2..].split(']').next().unwrap_or("").split_once(", ");
        let Some((low, high)) = ends else { continue };
        if let (Ok(value), Ok(from), Ok(to)) = (value.parse(), low.parse(), high.parse()) {
            let digits = low.split('.').nth(1).map_or(0, str::len).max(high.split('.').nth(1).map_or(0, str::len));
            found.push(([value, from, to], digits as i32));
        }
    }
    found
}

/// That the text shows intervals, and that every one is Hoeffding's for so many rows, cut off at 0 and 1.
#[track_caller]
fn holds_intervals(what: &str, text: &str, n: f64) {
    let epsilon = ((2.0f64 / 0.05).ln() / (2.0 * n)).sqrt();
    let found = intervals(text);
    assert!(!found.is_empty(), "{what} shows no interval: {text}");
    for ([value, low, high], digits) in found {
        let rounding = 10f64.powi(-digits);
        assert!((low - (value - epsilon).max(0.0)).abs() <= rounding, "{what}: {value} [{low}, {high}]");
        assert!((high - (value + epsilon).min(1.0)).abs() <= rounding, "{what}: {value} [{low}, {high}]");
    }
}

/// The same for the entries of a document that have an interval, to the last digits.
#[track_caller]
fn document_intervals(what: &str, scores: &serde_json::Value, n: f64) {
    let epsilon = ((2.0f64 / 0.05).ln() / (2.0 * n)).sqrt();
    let entries: Vec<_> =
        scores.as_object().unwrap().iter().filter(|(_, entry)| !entry["interval"].is_null()).collect();
    assert!(entries.iter().any(|(name, _)| *name == "accuracy"), "{what}: {scores}");
    for (name, entry) in entries {
        let value = entry["value"].as_f64().unwrap();
        let end = |place: usize| entry["interval"][place].as_f64().unwrap();
        assert!((end(0) - (value - epsilon).max(0.0)).abs() < 1e-12, "{what}, {name}: {entry}");
        assert!((end(1) - (value + epsilon).min(1.0)).abs() < 1e-12, "{what}, {name}: {entry}");
    }
}

/// By default scores have ± 1.96 standard errors; of an accuracy that is known in closed form.
#[test]
fn default_output_shows_standard_errors() {
    let place = Place::new("standard-errors");
    let credit = shipped("german-credit.csv");
    let fit = ["fit", &credit, "--target", "credit_risk", "--model", "LogisticRegression", "-o", "m.tove"];
    let text = place.run(&fit).ok().out;
    let line = text.lines().find(|line| line.trim_start().starts_with("accuracy ")).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    let (value, margin): (f64, f64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
    assert_eq!(words[2], "±", "{line}");
    assert!((margin - 1.96 * (value * (1.0 - value) / 250.0).sqrt()).abs() < 2e-3, "{line}");
    let evaluated = place.run(&["evaluate", "m.tove", &credit]).ok().out;
    for text in [text, evaluated] {
        assert!(!text.contains("Hoeffding") && intervals(&text).is_empty(), "{text}");
    }
}

#[test]
fn g10_an_interval_stands_beside_every_bounded_test_error() {
    let place = Place::new("interval");
    let credit = shipped("german-credit.csv");
    // A plain model, and a perfect one, whose interval is cut off at 1.
    let fit = ["fit", &credit, "--target", "credit_risk", "--model", "LogisticRegression", "--report", "r.html"];
    let text = place.run(&[&fit[..], &["-o", "m.tove", "--verbose"]].concat()).ok().out;
    assert!(text.contains("Hoeffding"), "{text}");
    holds_intervals("fit", &text, 250.0);
    let fitted = place.run(&[&fit[..], &["--json", "--overwrite"]].concat()).ok().json();
    assert_eq!(fitted["test"]["accuracy"]["n"].as_f64(), Some(250.0));
    for part in ["test", "baseline"] {
        document_intervals(&format!("fit, {part}"), &fitted[part], 250.0);
    }
    document_intervals("fit, train", &fitted["train"], 750.0);
    let perfect = "x,kind\n".to_owned() + &(0..80).map(|i| format!("{i},{}\n", ["a", "b"][i / 40])).collect::<String>();
    place.write("perfect.csv", &perfect);
    let sure = place.run(&["fit", "perfect.csv", "--target", "kind", "-m", "SVC", "--cv", "0", "--verbose"]).ok().out;
    holds_intervals("fit of a perfect table", &sure, 20.0);
    assert!(intervals(&sure).iter().any(|([_, _, high], _)| *high == 1.0), "{sure}");
    // Other commands that show test errors. All 1,000 rows give half the width of the clause.
    holds_intervals("evaluate", &place.run(&["evaluate", "m.tove", &credit, "--verbose"]).ok().out, 1000.0);
    document_intervals(
        "evaluate",
        &place.run(&["evaluate", "m.tove", &credit, "--json"]).ok().json()["scores"],
        1000.0,
    );
    let inspected = place.run(&["inspect", "m.tove", "--json"]).ok().json();
    document_intervals("inspect", &inspected["header"]["facts"]["test"], 250.0);
    // Of training rows nothing is promised; their interval, where one is shown, is that of their number.
    let listed = place.run(&["runs", "--verbose"]).ok().out;
    let credit_runs: Vec<&str> = listed.lines().filter(|line| line.contains("credit_risk")).collect();
    assert_eq!(credit_runs.len(), 2, "{listed}");
    credit_runs.iter().for_each(|line| holds_intervals("runs", line, 250.0));
    // Tokens of a window hang together, so that windows are counted.
    place.write("fox.txt", &"the quick brown fox jumps over the lazy dog.\n".repeat(60));
    let text =
        ["text", "fit", "fox.txt", "--layers", "1", "--heads", "1", "--width", "8", "--context", "16", "--steps", "5"];
    let written = place.run(&[&text[..], &["--json"]].concat()).ok().json();
    let windows = written["test"]["accuracy"]["n"].as_f64().unwrap();
    assert!(windows > 5.0 && windows * 16.0 <= written["test_rows"].as_f64().unwrap(), "{written}");
    document_intervals("text fit", &written["test"], windows);
    let shown = place.run(&["runs", "show", "1"]).ok().out;
    holds_intervals("runs show", &shown, 250.0);
    holds_intervals("runs compare", &place.run(&["runs", "compare", "1", "2"]).ok().out, 250.0);
    // The page: a card with both ends, and the table.
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    let value = fitted["test"]["accuracy"]["value"].as_f64().unwrap();
    let epsilon = tove::metrics::hoeffding(250.0, 1.0, 0.05);
    let card = format!("{:.3} to {:.3} with probability 95 %", value - epsilon, (value + epsilon).min(1.0));
    assert!(page.contains(&card), "no `{card}`");
    holds_intervals("the page", &page, 250.0);
    // N = 1000, δ = 0.05 and a range of 1 give 0.042947.
    assert!((tove::metrics::hoeffding(1000.0, 1.0, 0.05) - 0.042947).abs() < 5e-7);
    // In simulation the interval holds the truth at least as often as it says.
    let misses = (0..2000u64).filter(|&i| {
        let draws = tove::tensor::Key::new(i).bernoulli(0.3, [200]).to_dtype(tove::tensor::DType::F64);
        (draws.mean().item::<f64>() - 0.3).abs() >= tove::metrics::hoeffding(200.0, 1.0, 0.05)
    });
    assert!(misses.count() as f64 <= 0.05 * 2000.0);
}

/// A picture never fails a fit: too few rows for a chart, and numbers that no axis can show.
#[test]
fn what_cannot_be_drawn_is_left_out_of_the_report() {
    let place = Place::new("undrawable");
    let few = "x,y\n1,2.5\n2,4.1\n3,6.2\n4,7.9\n5,10.3\n";
    place.write("few.csv", few);
    place.run(&["fit", "few.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "--report", "few.html"]).ok();
    assert!(place.path("few.html").exists());
    // The last rows judge, and lie further apart than a number can say.
    let row = |i: usize| match i {
        38 => "1,1.7e308\n".to_owned(),
        39 => "2,-1.7e308\n".to_owned(),
        _ => format!("{},{}.5\n", i % 7, i % 5),
    };
    place.write("huge.csv", &("x,y\n".to_owned() + &(0..40).map(row).collect::<String>()));
    let huge = ["fit", "huge.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "--in-order", "--report", "h.html"];
    place.run(&huge).ok();
    let page = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(page("h.html").contains("points left out: not finite"));
    // Two features and classes, whose regions cannot be drawn over such a distance.
    let row = |i: usize| match i {
        38 => "1.7e308,1,a\n".to_owned(),
        39 => "-1.7e308,2,b\n".to_owned(),
        _ => format!("{},{},{}\n", i % 7, i % 5, ["a", "b"][i % 2]),
    };
    place.write("far.csv", &("x,z,kind\n".to_owned() + &(0..40).map(row).collect::<String>()));
    let far = ["fit", "far.csv", "-t", "kind", "-m", "LogisticRegression", "--cv", "0", "--in-order", "--report"];
    place.run(&[&far[..], &["f.html"]].concat()).ok();
    assert!(page("f.html").contains("A chart is left out: decision map"));
}

/// Large tables are explained by a sample, which is told.
#[test]
fn a_large_table_is_explained_by_some_of_its_rows() {
    let place = Place::new("sampled");
    let text = "a,b,y\n".to_owned()
        + &(0..3000).map(|i| format!("{},{},{}.5\n", i % 17, i % 5, i % 17 * 2)).collect::<String>();
    place.write("t.csv", &text);
    place.run(&["fit", "t.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-o", "m.tove", "-q"]).ok();
    let some = place.run(&["explain", "m.tove", "t.csv", "--sample", "500", "--json"]).ok();
    assert!(some.err.contains("500 of 3000 rows"), "{}", some.err);
    assert_eq!(some.json()["rows"].as_u64(), Some(500));
    assert_eq!(some.json()["importances"][0]["column"], "a");
    let all = place.run(&["explain", "m.tove", "t.csv", "--json"]).ok();
    assert!(!all.err.contains("drawn at random") && all.json()["rows"] == 3000, "{}", all.err);
    assert_eq!(place.run(&["explain", "m.tove", "t.csv", "--sample", "0", "--json"]).ok().json()["rows"], 3000);
}

#[test]
fn regression_and_standard_input() {
    let place = Place::new("numbers");
    let diabetes = std::fs::read_to_string(shipped("diabetes.csv")).unwrap();
    let target = diabetes.lines().next().unwrap().split(',').next_back().unwrap().to_owned();
    let arguments =
        ["fit", "-", "--target", &target, "--model", "Ridge", "--set", "alpha=0.1", "--json", "-o", "m.tove"];
    let fitted = place.run_with(&arguments, &diabetes).ok().json();
    assert!(fitted["test"]["r2"]["value"].as_f64().unwrap() > 0.3);
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
    let fit = ["fit", file.to_str().unwrap(), "--target", "z", "--cv", "3"];
    let plain = place.run(&fit).ok().out;
    let verdict = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verdict.contains("In cross-validation ") && verdict.contains(" ahead"), "{plain}");
    assert!(plain.contains("Cross-validation on 60 training rows") && !plain.contains("union bound"), "{plain}");
    let verbose = place.run(&[&fit[..], &["--verbose"]].concat()).ok().out;
    assert!(verbose.contains("union bound"), "{verbose}");
    let none = place
        .run(&["fit", file.to_str().unwrap(), "--target", "z", "--budget", "0", "--json", "--cv", "2"])
        .ok()
        .json();
    assert!(
        none["candidates"].as_array().unwrap().iter().skip(1).all(|tried| tried["problem"] == "time budget exhausted")
    );
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
    let text = "size,color,kind\n".to_owned()
        + &(0..60)
            .map(|i| format!("{},{},{}\n", i, ["red", "blue"][i % 2], ["a", "b"][usize::from(i > 30)]))
            .collect::<String>();
    let file = place.write("t.csv", &text);
    let file = file.to_str().unwrap();
    place.run(&["fit", file, "--target", "kind", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let lacking = place.write("lacking.csv", "color\nred\n");
    place.run(&["predict", "m.tove", lacking.to_str().unwrap()]).fails(1, &["size"]);
    let unseen = place.write("unseen.csv", "extra,color,size\n1,green,3\n");
    let told = place.run(&["predict", "m.tove", unseen.to_str().unwrap()]).ok();
    assert!(told.err.contains("green") && told.err.contains("extra") && told.out.contains("predicted kind"));
    let words = place.write("words.csv", "size,color\nlarge,red\n");
    place.run(&["predict", "m.tove", words.to_str().unwrap()]).fails(1, &["size"]);
    place.run(&["fit", file, "--target", "kind", "-o", "m.tove"]).fails(2, &["m.tove exists already"]);
}
