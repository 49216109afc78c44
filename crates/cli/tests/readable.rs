//! What people read: names that are whole, numbers that line up, advice that helps, output within 100 columns.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, shipped};

/// No line is wider than a page, and none ends in a blank.
#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100 && !line.ends_with(' '), "{line:?} in\n{text}");
    }
}

#[test]
fn a_model_that_predicts_no_target_is_refused_before_the_file_is_read() {
    let place = Place::new("no-target");
    for model in ["KMeans", "StandardScaler", "Pipeline", "PCA"] {
        let call = ["fit", "nothing.csv", "-t", "y", "-m", model];
        place.run(&call).fails(2, &[model, "does not predict a target", "Ridge", "LogisticRegression"]);
    }
    place.run(&["fit", "nothing.csv", "-t", "y", "-m", "Rigde"]).fails(2, &["Rigde", "Ridge"]);
    place.run(&["fit", "nothing.csv", "-t", "y", "-m", "Ridge", "--set", "alhpa=1"]).fails(2, &["alhpa", "alpha"]);
}

#[test]
fn names_in_tables_are_whole_and_warnings_of_nested_fits_are_gathered() {
    let place = Place::new("readable");
    let (diabetes, credit) = (shipped("diabetes.csv"), shipped("german-credit.csv"));
    place.run(&["fit", &diabetes, "-t", "progression", "-m", "LinearRegression", "--cv", "0"]).ok();
    place.run(&["fit", &credit, "-t", "credit_risk", "-m", "LogisticRegression", "--cv", "0"]).ok();
    // A category as three numbers that add up to the constant: every nested fit says so.
    let mut text = "a,color,y\n".to_owned();
    (0..90).for_each(|i| text.push_str(&format!("{}.5,{},{}\n", i * 7 % 31, ["r", "g", "b"][i % 3], i * 5 % 17)));
    place.write("t.csv", &text);
    let nested = ["-m", "BaggingRegressor", "--set", "estimator=LinearRegression", "--cv", "0"];
    let told = place.run(&[&["fit", "t.csv", "-t", "y"][..], &nested].concat()).ok();
    fits(&told.out);
    let told = format!("{}{}", told.out, told.err);
    assert_eq!(told.matches("columns are independent").count(), 1, "{told}");
    assert!(told.contains("nested fits, for example: LinearRegression: "), "{told}");
    let list = place.run(&["runs"]).ok().out;
    fits(&list);
    for name in ["LinearRegression", "LogisticRegression", "BaggingRegressor", "german-credit.csv", "credit_risk"] {
        assert!(list.contains(name), "{name} is broken in\n{list}");
    }
    let both = place.run(&["runs", "compare", "1", "3"]).ok().out;
    fits(&both);
    // Intervals belong to held-out scores, and a metric without a held-out value has no row.
    let inside = place.run(&["inspect", "tove-runs/2/model.tove"]).ok().out;
    fits(&inside);
    for line in inside.lines().filter(|line| line.contains('[')) {
        assert_eq!(line.matches('[').count(), 1, "{inside}");
    }
    assert!(!inside.lines().any(|line| line.trim() == "log loss"), "{inside}");
}

#[test]
fn explanations_take_a_metric_and_line_up() {
    let place = Place::new("explained");
    let credit = shipped("german-credit.csv");
    let fit = ["fit", &credit, "-t", "credit_risk", "-m", "LogisticRegression", "--cv", "0", "-o", "m.tove", "-q"];
    place.run(&fit).ok();
    let call = ["explain", "m.tove", &credit, "--repeats", "1", "--sample", "300"];
    let told = place.run(&call).ok();
    fits(&told.out);
    assert!(told.err.contains("random sample of 300 of 1000 rows (--sample"), "{}", told.err);
    for words in ["matters most", "permutation importance (accuracy)", "std", "increase the probability of"] {
        assert!(told.out.contains(words), "no `{words}` in\n{}", told.out);
    }
    // All numbers of a column have the same decimals.
    let table = told.out.split("std\n").nth(1).unwrap();
    let decimals = |line: &str| line.split_whitespace().last().and_then(|cell| cell.split('.').nth(1)).map(str::len);
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| !line.starts_with("and ")).map(decimals).collect();
    assert!(rows.len() > 10 && rows.iter().all(|count| *count == rows[0] && count.is_some()), "{rows:?}");
    let other = place.run(&[&call[..], &["--metric", "log_loss", "--json"]].concat()).ok().json();
    assert_eq!(other["metric"], "log_loss");
    assert!(other["importances"][0]["mean"].as_f64().unwrap() > 0.0 && other["importances"][0]["std"].is_number());
    assert!(other["verdict"].as_str().unwrap().contains("raises the log loss"), "{other}");
    place
        .run(&[&call[..], &["--metric", "r2"]].concat())
        .fails(2, &["--metric r2", "not a metric for classification", "f1"]);
    place.run(&["explain", "m.tove", "--metric", "f1"]).fails(2, &["--metric", "needs a table"]);
}

#[test]
fn files_of_nets_are_readable() {
    let place = Place::new("inspected");
    place.run(&["images", "fit", "digits", "--model", "cnn", "--epochs", "1", "-o", "i.tove", "-q"]).ok();
    place.write("t.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(40));
    place.run(&["text", "fit", "t.txt", "--steps", "5", "--context", "16", "-o", "t.tove", "-q"]).ok();
    for (file, words) in [
        ("i.tove", ["10 classes", "CNN, filters 16, 32", "8 × 8 pixels, 1 channels", "epochs", "test (95 % interval)"]),
        ("t.tove", ["the next token", "GPT, ", "context 16", "characters, a vocabulary of", "test (95 % interval)"]),
    ] {
        let told = place.run(&["inspect", file]).ok().out;
        fits(&told);
        assert!(!told.contains(['{', '"']) && !told.contains("NaN"), "{told}");
        words.iter().for_each(|word| assert!(told.contains(word), "no `{word}` in\n{told}"));
    }
}

#[test]
fn demonstrations_show_values_along_the_axis() {
    let place = Place::new("axes");
    for (topic, ends) in
        [("3", ["0 ", " 40"]), ("4", ["10 ", " 1000000"]), ("9", ["10 ", " 3000"]), ("10", ["0.1 ", " 100000"])]
    {
        let told = place.run(&["demo", topic]).ok().out;
        fits(&told);
        let axis = told.lines().skip_while(|line| !line.contains('└')).nth(1).unwrap().to_owned();
        assert!(axis.trim_start().starts_with(ends[0]) && axis.ends_with(ends[1]), "{topic}: {axis:?}\n{told}");
    }
}

#[test]
fn one_row_is_explained_by_contributions_that_add_up() {
    let place = Place::new("explain-row");
    let credit = shipped("german-credit.csv");
    let file = credit.as_str();
    place.run(&["fit", file, "--target", "credit_risk", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let explained = place.run(&["explain", "m.tove", file, "--row", "7", "--json", "--report", "why.html"]).ok().json();
    let contributions = explained["contributions"].as_array().unwrap();
    assert_eq!(contributions.len(), 20);
    let sum: f64 = contributions.iter().map(|entry| entry["mean"].as_f64().unwrap()).sum();
    let number = |name: &str| explained[name].as_f64().unwrap();
    assert!((sum - (number("prediction") - number("base"))).abs() < 1e-9, "{sum}");
    let predicted = place.run(&["predict", "m.tove", file, "--proba", "--json"]).ok().json();
    assert_eq!(predicted[6][explained["label"].as_str().unwrap()], explained["prediction"]);
    let text = place.run(&["explain", "m.tove", file, "--row", "7"]).ok().out;
    assert!(text.starts_with("Row 7: P(") && text.contains("Shapley values"), "{text}");
    for wrong in ["0", "1001"] {
        place.run(&["explain", "m.tove", file, "--row", wrong]).fails(2, &["1000 rows"]);
    }
    place.run(&["explain", "m.tove", "--row", "1"]).fails(2, &["FILE"]);
}

#[test]
fn a_counterfactual_leads_to_the_class_that_it_names() {
    let place = Place::new("counterfactual");
    std::fs::copy(shipped("german-credit.csv"), place.path("new.csv")).unwrap();
    place.run(&["fit", "new.csv", "--target", "credit_risk", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let table = std::fs::read_to_string(place.path("new.csv")).unwrap();
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    for row in ["3", "11", "40"] {
        let found = place.run(&["explain", "m.tove", "new.csv", "--row", row, "--json"]).ok().json();
        let found = &found["counterfactual"];
        let changes = found["changes"].as_array().unwrap();
        assert!(!changes.is_empty(), "{found}");
        let number: usize = row.parse().unwrap();
        let predicted = |omitted: Option<usize>| {
            let mut cells: Vec<String> = lines[number].iter().map(|cell| (*cell).to_owned()).collect();
            for (place, change) in changes.iter().enumerate() {
                let column = lines[0].iter().position(|name| *name == change["column"]).unwrap();
                assert_eq!(lines[number][column], change["before"]);
                if omitted != Some(place) {
                    cells[column] = change["after"].as_str().unwrap().to_owned();
                }
            }
            // The other rows keep the types of the columns.
            let rest: Vec<String> = lines[1..].iter().map(|cells| cells.join(",")).collect();
            place.write("changed.csv", &format!("{}\n{}\n{}\n", lines[0].join(","), cells.join(","), rest.join("\n")));
            place.run(&["predict", "m.tove", "changed.csv", "--json"]).ok().json()[0]["predicted credit_risk"].clone()
        };
        assert_eq!(predicted(None), found["to"], "{found}");
        // Every change is needed.
        for omitted in 0..changes.len() {
            assert_eq!(predicted(Some(omitted)), found["from"], "{found} without {omitted}");
        }
    }
    let text = place.run(&["explain", "m.tove", "new.csv", "--row", "3"]).ok().out;
    assert!(text.contains("It would be predicted as"), "{text}");
}
