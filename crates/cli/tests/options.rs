//! Options of `tove fit`, what is counted, and what a run leaves behind.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, shipped};

/// Two classes, one of them rare, with a column of many categories that tells them apart.
fn rare(rows: usize) -> String {
    let mut text = String::from("x,shop,kind\n");
    for i in 0..rows {
        let shop = (i * 7919) % 40;
        let kind = if (shop < 4 && i % 3 == 0) || i % 397 == 0 { "bad" } else { "good" };
        text.push_str(&format!("{},shop{shop},{kind}\n", (i * 31) % 17));
    }
    text
}

#[test]
fn class_weights_raise_the_recall_of_the_rare_class() {
    let place = Place::new("weights");
    place.write("t.csv", &rare(4000));
    let fit = |weights: &[&str]| {
        let call = ["fit", "t.csv", "--target", "kind", "-m", "LogisticRegression", "--cv", "0", "--json"];
        let fitted = place.run(&[&call[..], weights].concat()).ok().json();
        fitted["test"]["balanced_accuracy"]["value"].as_f64().unwrap()
    };
    // A third of what four shops sell is bad: likelier good than not, so an unweighted fit always says good.
    assert_eq!(fit(&[]), 0.5);
    assert_eq!(fit(&["--class-weight", "bad=1,good=1"]), 0.5);
    assert!(fit(&["--class-weight", "balanced"]) > 0.85);
    assert!(fit(&["--class-weight", "bad=10"]) > 0.85);
    place.run(&["fit", "t.csv", "--target", "kind", "--class-weight", "worse=2"]).fails(2, &["worse", "bad, good"]);
    place.run(&["fit", "t.csv", "--target", "kind", "--class-weight", "bad=-2"]).fails(2, &["-2"]);
    // Perceptrons take weights as well.
    let mlp = ["fit", "t.csv", "--target", "kind", "-m", "MlpClassifier", "--cv", "0", "--json", "--set", "epochs=30"];
    let score = |weights: &[&str]| {
        let fitted = place.run(&[&mlp[..], weights].concat()).ok().json();
        fitted["test"]["balanced_accuracy"]["value"].as_f64().unwrap()
    };
    assert!(score(&["--class-weight", "balanced"]) > score(&[]) + 0.1);
}

#[test]
fn encodings_of_a_column() {
    let place = Place::new("encode");
    place.write("t.csv", &rare(4000));
    for (how, width) in [("onehot", 41), ("target", 2), ("ordinal", 2), ("hash", 257)] {
        let encode = format!("shop={how}");
        let call = ["fit", "t.csv", "--target", "kind", "-m", "LogisticRegression", "--encode", &encode, "--cv", "3"];
        let fitted = place.run(&[&call[..], &["-o", "m.tove", "--overwrite", "--json"]].concat()).ok().json();
        let inside = place.run(&["inspect", "m.tove", "--json"]).ok().json();
        assert_eq!(inside["header"]["features"].as_array().unwrap().len(), width, "{how}");
        let area = fitted["test"]["roc_auc"]["value"].as_f64().unwrap();
        // The number of a shop is no line to anything; the others tell shops apart.
        assert!(area > if how == "ordinal" { 0.4 } else { 0.75 }, "{how}: {area}");
        let answers = place.run(&["predict", "m.tove", "t.csv"]).ok().out;
        assert_eq!(answers.lines().count(), 4001);
    }
    place.run(&["fit", "t.csv", "--target", "kind", "--encode", "shop=letters"]).fails(2, &["letters", "ordinal"]);
    place.run(&["fit", "t.csv", "--target", "kind", "--encode", "shopp=hash"]).fails(2, &["shopp", "shop"]);
}

/// Mean targets must not leak: a category of its own for every row says nothing, whatever the target.
#[test]
fn mean_targets_do_not_show_a_row_its_own_target() {
    let place = Place::new("leak");
    let text = "name,x,kind\n".to_owned()
        + &(0..600).map(|i| format!("n{i},{},{}\n", i % 7, ["a", "b"][(i * 7919 / 64) % 2])).collect::<String>();
    place.write("t.csv", &text);
    let call = ["fit", "t.csv", "--target", "kind", "--type", "name=categorical", "--encode", "name=target"];
    let fitted = place.run(&[&call[..], &["-m", "LogisticRegression", "--json"]].concat()).ok().json();
    let train = fitted["train"]["accuracy"]["value"].as_f64().unwrap();
    // Seeing its own target each training row would be right.
    assert!(train < 0.65, "{train}");
}

#[test]
fn everything_dropped_or_coerced_is_counted() {
    let place = Place::new("counted");
    let mut text = String::from("a,b,y\n");
    for i in 0..60 {
        text.push_str(&format!("{i},{},{}\n", i % 5, if i % 2 == 0 { "u" } else { "v" }));
    }
    text.push_str("oops,1,u\n7,,v\n8,2,\n9,3,u,4\n");
    place.write("t.csv", &text);
    let call =
        ["fit", "t.csv", "--target", "y", "-m", "LogisticRegression", "--drop-ragged", "--coerce", "--as", "a=float"];
    let fitted = place.run(&[&call[..], &["--json"]].concat()).ok().json();
    assert_eq!((&fitted["read"]["dropped_rows"], &fitted["read"]["dropped_lines"][0]), (&1.into(), &65.into()));
    assert_eq!((&fitted["coerced"], &fitted["dropped"]), (&1.into(), &1.into()));
    assert_eq!(fitted["read"]["columns"][0]["first_coerced"], serde_json::json!([62, "oops"]));
    assert_eq!((&fitted["imputed"]["a"], &fitted["imputed"]["b"]), (&1.into(), &1.into()));
    let told = place.run(&call).ok().out;
    for word in
        ["1 ragged rows dropped (lines 65)", "1 values of \"a\"", "1 rows without a target", "imputed: a 1, b 1"]
    {
        assert!(told.contains(word), "no `{word}` in {told}");
    }
    let page = std::fs::read_to_string(place.path("tove-runs/2/report.html")).unwrap();
    assert!(page.contains("ragged rows dropped"));
}

#[test]
fn runs_are_shown_and_compared_with_curves() {
    let place = Place::new("runs");
    let credit = shipped("german-credit.csv");
    for model in ["LogisticRegression", "SGDClassifier"] {
        place.run(&["fit", &credit, "--target", "credit_risk", "-m", model, "-q"]).ok();
    }
    let shown = place.run(&["runs", "show", "1", "--report", "one.html"]).ok().out;
    for word in ["german-credit.csv", "LogisticRegression", "objective by iteration", "held-out rows", "⠒", "750"] {
        assert!(shown.contains(word), "no `{word}` in {shown}");
    }
    let page = std::fs::read_to_string(place.path("one.html")).unwrap();
    assert!(page.contains("Learning curve") && page.contains("Objective by iteration"));
    let both = place.run(&["runs", "compare", "1", "2", "--report", "both.html"]).ok().out;
    assert!(
        both.contains("held-out accuracy") && both.contains("overlap") && both.contains("run 2 SGDClassifier"),
        "{both}"
    );
    let page = std::fs::read_to_string(place.path("both.html")).unwrap();
    assert!(page.matches("<svg").count() >= 3);
    place.run(&["runs", "show", "1", "--report", "one.html"]).fails(2, &["one.html exists already"]);
    // Runs of another target are shown beside them, but not ranked with them.
    let other = ["fit", &credit, "--target", "housing", "-m", "DummyClassifier", "--cv", "0", "-q"];
    place.run(&other).ok();
    let mixed = place.run(&["runs", "compare", "1", "2", "3", "--report", "three.html"]).ok().out;
    assert!(mixed.contains("different files or targets") && mixed.contains("credit_risk from"), "{mixed}");
    let bars = mixed.split("credit_risk from").nth(1).unwrap();
    assert!(bars.contains("run 2 SGDClassifier") && !bars.contains("run 3 DummyClassifier"), "{bars}");
    let apart = place.run(&["runs", "compare", "2", "3"]).ok().out;
    assert!(apart.contains("not compared") && !apart.contains("better than"), "{apart}");
    let page = std::fs::read_to_string(place.path("three.html")).unwrap();
    assert!(page.contains("not compared"));
    let json = place.run(&["runs", "show", "2", "--json"]).ok().json();
    assert!(json["curve"].as_array().unwrap().len() > 3);
    assert_eq!(json["learning"].as_array().unwrap().len(), 5);
}

/// Runs are ranked only if they predict the same values: a name of a file is not enough.
#[test]
fn runs_of_other_data_under_the_same_name_are_not_ranked() {
    let place = Place::new("same-name");
    let fit = ["fit", "t.csv", "-t", "kind", "-m", "LogisticRegression", "--cv", "0", "-q"];
    place.write("t.csv", &rare(400));
    place.run(&fit).ok();
    place.run(&[&fit[..], &["--drop", "shop"]].concat()).ok();
    place.write("t.csv", &rare(500));
    place.run(&fit).ok();
    let other_columns = place.run(&["runs", "compare", "1", "2"]).ok().out;
    assert!(!other_columns.contains("not compared"), "{other_columns}");
    let other_rows = place.run(&["runs", "compare", "1", "3"]).ok().out;
    assert!(other_rows.contains("not compared"), "{other_rows}");
}

/// Sample weights count in an evaluation as they did in the fit.
#[test]
fn evaluate_uses_the_weight_column() {
    let place = Place::new("evaluate-weights");
    let row = |i: usize| {
        let (x, counts) = ((i * 31) % 17, i.is_multiple_of(2));
        format!("{x},{},{}\n", u8::from(counts), if (x > 8) == counts { "up" } else { "down" })
    };
    place.write("t.csv", &("x,w,kind\n".to_owned() + &(0..400).map(row).collect::<String>()));
    place.run(&["fit", "t.csv", "-t", "kind", "--weights", "w", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let evaluated = place.run(&["evaluate", "m.tove", "t.csv", "--json"]).ok().json();
    assert!(evaluated["scores"]["accuracy"]["value"].as_f64() > Some(0.95), "{evaluated}");
    place.write("bad.csv", "x,w,kind\n1,-1,up\n12,-1,down\n");
    place.run(&["evaluate", "m.tove", "bad.csv"]).fails(1, &["weight", "-1", "row 1"]);
}

#[test]
fn two_columns_of_numbers_show_their_regions() {
    let place = Place::new("regions");
    let drop = "sepal length (cm),sepal width (cm)";
    let call =
        ["fit", &shipped("iris.csv"), "--target", "species", "--drop", drop, "-m", "LogisticRegression", "--report"];
    place.run(&[&call[..], &["iris.html", "-q"]].concat()).ok();
    let page = std::fs::read_to_string(place.path("iris.html")).unwrap();
    assert!(page.contains("Decision regions") && page.contains("petal width"));
}

/// The first Ctrl-C keeps what is done.
#[cfg(unix)]
#[test]
fn an_interrupted_comparison_keeps_the_best_so_far() {
    use std::process::{Command, Stdio};
    let place = Place::new("interrupt");
    let mut text = String::from("a,b,c,y\n");
    for i in 0..15_000u64 {
        let x = i.wrapping_mul(2_654_435_761) % 1000;
        text.push_str(&format!("{x},{},{},{}\n", i % 37, i % 11, if (x + i % 37) % 3 == 0 { "u" } else { "v" }));
    }
    place.write("t.csv", &text);
    let child = Command::new(env!("CARGO_BIN_EXE_tove"))
        .args(["fit", "t.csv", "--target", "y", "--json", "--cv", "10"])
        .current_dir(place.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Ten folds of a kernel machine and of a perceptron on 11,250 rows take many seconds; the linear models are done at once.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(130), "{err}");
    let fitted: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(fitted["interrupted"], true);
    // The model is that of a fold: nine tenths of the 11,250 training rows.
    assert_eq!(fitted["train_rows"].as_u64(), Some(10_125));
    assert!(err.contains("interrupted"), "{err}");
    let tried = fitted["candidates"].as_array().unwrap();
    assert!(tried.iter().any(|tried| tried["problem"] == "interrupted") && tried[0]["mean"].is_f64(), "{tried:?}");
    assert!(place.path("tove-runs/1/model.tove").exists());
}

/// A single fit that would take for ever ends at the first Ctrl-C, after its present iteration.
#[cfg(unix)]
#[test]
fn an_interrupted_fit_ends_and_says_so() {
    use std::process::{Command, Stdio};
    let place = Place::new("interrupt-one");
    let mut text = String::from("a,b,c,y\n");
    let mut state = 1u64;
    for _ in 0..20_000 {
        let [a, b, c, d] = [(); 4].map(|()| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / 16_777_216.0
        });
        text.push_str(&format!("{a:.6},{b:.6},{c:.6},{}\n", if a + b * c + 0.5 * d > 0.9 { "u" } else { "v" }));
    }
    place.write("t.csv", &text);
    // None of these comes to its end within an hour.
    let endless = [
        ["SVC", "c=1000000000", "tol=0.000000000001"],
        ["SGDClassifier", "tol=none", "max_iter=1000000000"],
        ["MlpClassifier", "epochs=1000000000", "patience=1000000000"],
    ];
    for [model, first, second] in endless {
        let child = Command::new(env!("CARGO_BIN_EXE_tove"))
            .args(["fit", "t.csv", "--target", "y", "--cv", "0", "--model", model, "--set", first, "--set", second])
            .args(["-o", "m.tove"])
            .current_dir(place.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let ended = child.wait_with_output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(130), "{model}: {err}");
        assert!(err.contains("interrupted before a model was fitted"), "{model}: {err}");
        assert!(!place.path("m.tove").exists(), "{model}");
    }
}

#[test]
fn imputation_and_threshold_are_chosen() {
    let place = Place::new("impute");
    // b is missing in every fifth row, where the class is p.
    let rows: String = (0..200)
        .map(|i| {
            let b = if i % 5 == 0 { String::new() } else { (i % 7).to_string() };
            format!("{},{b},x,{}\n", i % 3, if i % 5 == 0 || i % 7 > 4 { "p" } else { "n" })
        })
        .collect();
    place.write("t.csv", &format!("a,b,c,y\n{rows}"));
    let fit = |how: &[&str]| {
        let common = ["fit", "t.csv", "--target", "y", "-m", "LogisticRegression", "-o", "m.tove", "--overwrite", "-q"];
        place.run(&[&common[..], how].concat())
    };
    let row = "a,b,c\n1,,x\n";
    let probability = || {
        let asked = place.run_with(&["predict", "m.tove", "-", "--proba", "--json", "-q"], row).ok().json();
        asked[0]["P(p)"].as_f64().unwrap()
    };
    fit(&["--impute", "3"]).ok();
    let by_value = probability();
    let filled = place.run_with(&["predict", "m.tove", "-", "--proba", "--json", "-q"], "a,b,c\n1,3,x\n").ok().json();
    // The indicator of missing values makes the difference between a 3 and an imputed one.
    assert!(by_value > filled[0]["P(p)"].as_f64().unwrap());
    fit(&["--impute", "median,b=3"]).ok();
    assert_eq!(probability(), by_value);
    fit(&["--impute", "c=mean"]).fails(2, &["c is categorical"]);
    fit(&["--impute", "most"]).fails(2, &["mean, median or a finite number"]);
    fit(&["--impute", "nan"]).fails(2, &["finite"]);
    let predict = |threshold: &str| place.run_with(&["predict", "m.tove", "-", "--threshold", threshold, "-q"], row);
    assert!(predict("0").ok().out.contains("\np"));
    assert!(predict("1").ok().out.contains("\nn"));
    predict("1.5").fails(2, &["between 0 and 1"]);
    place.run(&["fit", "t.csv", "--target", "a", "-m", "Ridge", "-o", "r.tove", "-q", "--task", "regression"]).ok();
    place.run(&["predict", "r.tove", "t.csv", "--threshold", "0.5"]).fails(2, &["two classes"]);
}
