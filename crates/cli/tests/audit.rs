//! Trust on the command line: audit, calibrate, conformal, fair.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, server::Server, shipped};
use serde_json::Value;

/// A model of German credit risk, with the rows that it did not see.
fn credit(place: &Place, model: &str) {
    let data = shipped("german-credit.csv");
    let split =
        ["split", &data, "--train", "train.csv", "--test", "new.csv", "--test-size", "0.5", "--seed", "3", "-q"];
    place.run(&split).ok();
    place
        .run(&["fit", "train.csv", "--target", "credit_risk", "--model", model, "--cv", "0", "-o", "m.tove", "-q"])
        .ok();
}

fn section<'v>(report: &'v Value, name: &str) -> &'v Value {
    let found = &report["sections"][name];
    assert!(found["statement"].is_string(), "{name}: {report:#}");
    found
}

#[test]
fn an_audit_says_what_matters_first_and_shows_the_figures() {
    let place = Place::new("audit");
    credit(&place, "LogisticRegression");
    place.write("costs.json", "[[0, 5], [1, 0]]");
    let call = ["audit", "m.tove", "new.csv", "--sensitive", "age", "--cost", "costs.json", "--report", "a.html"];
    let text = place.run(&call).ok().out;
    let place_of = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is not in\n{text}"));
    // All verdicts come before the first table.
    for name in ["calibration [", "coverage [", "decisions [", "robustness [", "fairness [", "proxies [", "drift ["] {
        assert!(place_of(name) < place_of("\n== "), "{name}\n{text}");
    }
    assert!(text.contains("Assumptions:"), "{text}");
    let page = std::fs::read_to_string(place.path("a.html")).unwrap();
    assert!(page.contains("Reliability") && page.contains("<svg") && page.contains("Accuracy by size of the change"));
    assert!(!page.contains("NaN"));

    let ran = place.run(&["audit", "m.tove", "new.csv", "--sensitive", "age", "--cost", "costs.json", "--json"]).ok();
    let report = ran.json();
    assert_eq!((&report["rows"], &report["fitted_on"]), (&500.into(), &false.into()));
    let covered = &section(&report, "coverage")["figures"]["report"]["coverage"];
    assert!(covered["value"].as_f64().unwrap() > 0.85, "{covered}");
    let robust = &section(&report, "robustness")["figures"];
    let under: Vec<f64> =
        robust["accuracy_under_attack"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let proven: Vec<f64> = robust["proven_accuracy"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert!(under.windows(2).all(|pair| pair[1] <= pair[0]), "{under:?}");
    assert!(under[0] <= robust["accuracy"].as_f64().unwrap());
    // What is proven is never more than what an attack leaves.
    assert!(proven.iter().zip(&under).all(|(proven, under)| proven <= under), "{proven:?} {under:?}");
    let groups = section(&report, "fairness")["figures"]["age"]["groups"]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 4);
    assert!(section(&report, "decisions")["figures"]["threshold"].is_number());
    // The same call gives the same report.
    assert_eq!(
        place
            .run(&[
                "audit",
                "m.tove",
                "new.csv",
                "--sensitive",
                "age",
                "--cost",
                "costs.json",
                "--json",
                "--threads",
                "1"
            ])
            .ok()
            .out,
        ran.out
    );
}

#[test]
fn predictions_of_any_system_can_be_audited() {
    let place = Place::new("audit-predictions");
    credit(&place, "LogisticRegression");
    place.run(&["predict", "m.tove", "new.csv", "--proba", "--keep", "credit_risk,age", "-o", "scored.csv"]).ok();
    let call = ["audit", "--predictions", "scored.csv", "--target", "credit_risk", "--sensitive", "age", "--json"];
    let given = place.run(&call).ok().json();
    let own = place.run(&["audit", "m.tove", "new.csv", "--sensitive", "age", "--json"]).ok().json();
    for name in ["calibration", "coverage", "fairness"] {
        let mut expected = own["sections"][name]["figures"].clone();
        if name == "calibration" {
            expected["recorded"] = Value::Null;
        }
        assert_eq!(given["sections"][name]["figures"], expected, "{name}");
    }
    assert!(given["sections"]["robustness"].is_null()); // needs the model
    let wrong = place.run(&["audit", "--predictions", "scored.csv", "--target", "nothing"]);
    assert!(wrong.code == 2 && wrong.err.contains("--target") && wrong.err.contains("nothing"), "{}", wrong.err);
    place.write("bad.csv", "y,P(a),P(b)\na,0.2,0.7\nb,0.5,0.5\n");
    let wrong = place.run(&["audit", "--predictions", "bad.csv", "--target", "y"]);
    assert!(wrong.code == 1 && wrong.err.contains("sum to 0.9"), "{}", wrong.err);
}

#[test]
fn a_calibrated_model_is_marked_after_a_check() {
    let place = Place::new("calibrate");
    credit(&place, "GaussianNB");
    let audited = |model: &str| place.run(&["audit", model, "new.csv", "--json"]).ok().json();
    assert!(audited("m.tove")["sections"]["calibration"]["figures"]["recorded"].is_null());
    let done =
        place.run(&["calibrate", "m.tove", "new.csv", "--method", "sigmoid", "-o", "c.tove", "--json"]).ok().json();
    assert!(done["ece"].as_f64().unwrap() < done["ece_before"].as_f64().unwrap(), "{done}");
    assert_eq!(done["rows"], 250);
    let recorded = &audited("c.tove")["sections"]["calibration"]["figures"]["recorded"];
    assert_eq!(recorded["passed"], done["passed"]);
    assert_eq!(recorded["check"]["samples"], 250);
    // The file is a model like any other.
    let rows = place.run(&["predict", "c.tove", "new.csv", "--proba", "--json"]).ok().json();
    let first = &rows.as_array().unwrap()[0];
    let sum = first["P(1)"].as_f64().unwrap() + first["P(2)"].as_f64().unwrap();
    assert!((sum - 1.0).abs() < 1e-9);
    place.run(&["evaluate", "c.tove", "new.csv"]).ok();
    place.run(&["inspect", "c.tove"]).ok();
    let again = place.run(&["calibrate", "m.tove", "new.csv", "-o", "c.tove"]);
    assert!(again.code != 0 && again.err.contains("exists"), "{}", again.err);
    let wrong = place.run(&["calibrate", "m.tove", "new.csv", "--method", "magic", "-o", "d.tove"]);
    assert!(wrong.code == 2 && wrong.err.contains("isotonic"), "{}", wrong.err);
}

#[test]
fn prediction_sets_cover_and_are_served() {
    let place = Place::new("conformal");
    credit(&place, "LogisticRegression");
    place
        .run(&["split", "new.csv", "--train", "new-train.csv", "--test", "new-test.csv", "--test-size", "0.5", "-q"])
        .ok();
    let call = ["conformal", "m.tove", "new-train.csv", "--alpha", "0.2", "--by-class", "-o", "s.tove", "--json"];
    let claim = place.run(&call).ok().json();
    assert!(claim["claim"].as_str().unwrap().contains("80 %"), "{claim}");
    let rows = place.run(&["predict", "s.tove", "new-test.csv", "--json", "--keep", "credit_risk"]).ok().json();
    let rows = rows.as_array().unwrap();
    let covered = |row: &&Value| row[format!("set({})", row["credit_risk"].as_str().unwrap())] == Value::Bool(true);
    let share = rows.iter().filter(covered).count() as f64 / rows.len() as f64;
    assert!(share > 0.7, "{share}");
    let report = place.run(&["audit", "s.tove", "new-test.csv", "--json"]).ok().json();
    let source = report["sections"]["coverage"]["figures"]["source"].as_str().unwrap();
    assert!(source.contains("of the model"), "{source}");
    // The server gives the same sets.
    let server = Server::start(&place, "s.tove", &[]);
    let csv = std::fs::read_to_string(place.path("new-test.csv")).unwrap();
    let head: String = csv.lines().take(3).map(|line| format!("{line}\n")).collect();
    let served: Value = server.post("text/csv", &head).json();
    for (served, row) in served["predictions"].as_array().unwrap().iter().zip(rows) {
        for class in ["set(1)", "set(2)"] {
            assert_eq!(served[class], row[class]);
        }
    }
    let few = place.write("few.csv", &head).display().to_string();
    let wrong = place.run(&["conformal", "m.tove", &few, "-o", "t.tove"]);
    assert!(wrong.code == 1 && wrong.err.contains("at least 9"), "{}", wrong.err);
    assert!(!place.path("t.tove").exists());
}

#[test]
fn intervals_of_a_regression_cover_by_group() {
    let place = Place::new("conformal-regression");
    let data = shipped("diabetes.csv");
    let split =
        ["split", &data, "--train", "diabetes-train.csv", "--test", "diabetes-test.csv", "--test-size", "0.5", "-q"];
    place.run(&split).ok();
    place
        .run(&[
            "fit",
            "diabetes-train.csv",
            "--target",
            "progression",
            "--model",
            "Ridge",
            "--cv",
            "0",
            "-o",
            "m.tove",
            "-q",
            "--drop",
            "sex",
        ])
        .ok();
    place.run(&["conformal", "m.tove", "diabetes-test.csv", "--by", "sex", "-o", "i.tove"]).ok();
    let rows = place.run(&["predict", "i.tove", "diabetes-train.csv", "--json", "--keep", "progression"]).ok().json();
    let rows = rows.as_array().unwrap();
    let number = |row: &Value, name: &str| row[name].as_f64().unwrap();
    let inside = |row: &&Value| {
        let truth: f64 = row["progression"].as_str().unwrap().parse().unwrap();
        number(row, "lower progression") <= truth && truth <= number(row, "upper progression")
    };
    let share = rows.iter().filter(inside).count() as f64 / rows.len() as f64;
    assert!(share > 0.8, "{share}");
    // Two groups have two widths.
    let mut widths: Vec<i64> = rows
        .iter()
        .map(|row| ((number(row, "upper progression") - number(row, "lower progression")) * 1e6).round() as i64)
        .collect();
    widths.sort_unstable();
    widths.dedup();
    assert_eq!(widths.len(), 2);
    // The group is needed now, though the model does not see it.
    let table = std::fs::read_to_string(place.path("diabetes-test.csv")).unwrap();
    let column = table.lines().next().unwrap().split(',').position(|name| name == "sex").unwrap();
    let without: String = table
        .lines()
        .map(|line| {
            let cells: Vec<&str> =
                line.split(',').enumerate().filter(|(place, _)| *place != column).map(|(_, cell)| cell).collect();
            cells.join(",") + "\n"
        })
        .collect();
    place.write("without.csv", &without);
    let wrong = place.run(&["predict", "i.tove", "without.csv"]);
    assert!(wrong.code == 1 && wrong.err.contains("sex") && wrong.err.contains("groups"), "{}", wrong.err);
}

/// Applicants of two groups with unequal base rates; the group is told by a proxy.
fn applicants(place: &Place, name: &str, seed: u64) {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text = String::from("income,district,group,paid\n");
    for _ in 0..3000 {
        let group = uniform() < 0.4;
        let income = uniform() + if group { 0.0 } else { 0.35 };
        let district = if (uniform() < 0.85) == group { "north" } else { "south" };
        let paid = income + 0.5 * (uniform() - 0.5) > 0.6;
        text.push_str(&format!(
            "{income:.4},{district},{},{}\n",
            if group { "b" } else { "a" },
            if paid { "yes" } else { "no" }
        ));
    }
    place.write(name, &text);
}

#[test]
fn group_thresholds_close_a_gap_on_held_out_rows() {
    let place = Place::new("fair");
    for (name, seed) in [("train.csv", 1), ("choose.csv", 2), ("check.csv", 3)] {
        applicants(&place, name, seed);
    }
    let fit = [
        "fit",
        "train.csv",
        "--target",
        "paid",
        "--model",
        "LogisticRegression",
        "--cv",
        "0",
        "--drop",
        "group",
        "-o",
        "m.tove",
        "-q",
    ];
    place.run(&fit).ok();
    let gap = |model: &str| {
        let report = place.run(&["audit", model, "check.csv", "--sensitive", "group", "--json"]).ok().json();
        let gaps = report["sections"]["fairness"]["figures"]["group"]["gaps"]["gaps"].as_array().unwrap().clone();
        let found = gaps.iter().find(|gap| gap["measure"] == "demographic parity difference").unwrap();
        found["value"].as_f64().unwrap()
    };
    assert!(gap("m.tove") > 0.2);
    place.run(&["fair", "m.tove", "choose.csv", "--sensitive", "group", "-o", "f.tove"]).ok();
    assert!(gap("f.tove") < 0.05, "{}", gap("f.tove"));
    // A row is decided in the same way alone and among others.
    let all = place.run(&["predict", "f.tove", "check.csv", "--json"]).ok().json();
    let check = std::fs::read_to_string(place.path("check.csv")).unwrap();
    let lines: Vec<&str> = check.lines().collect();
    for row in [0usize, 7, 1000] {
        place.write("one.csv", &format!("{}\n{}\n", lines[0], lines[row + 1]));
        let one = place.run(&["predict", "f.tove", "one.csv", "--json"]).ok().json();
        assert_eq!(one[0]["predicted paid"], all[row]["predicted paid"]);
    }
    let wrong = place.run(&["fair", "m.tove", "choose.csv", "--sensitive", "race", "-o", "g.tove"]);
    assert!(wrong.code == 2 && wrong.err.contains("race"), "{}", wrong.err);
    place.write("same.csv", &check.replace(",b,", ",a,"));
    let wrong = place.run(&["fair", "m.tove", "same.csv", "--sensitive", "group", "-o", "g.tove"]);
    assert!(wrong.code == 1 && wrong.err.contains("only the value a"), "{}", wrong.err);
}

#[test]
fn k19_dropping_the_sensitive_column_leaves_its_proxies() {
    let place = Place::new("proxies");
    let mut state = 5u64;
    let mut normal = || {
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos()
    };
    let names: Vec<String> = (0..20).map(|i| format!("x{i}")).collect();
    for file in ["train.csv", "new.csv"] {
        let mut text = format!("{},a,y\n", names.join(","));
        for row in 0..2000 {
            let group = row % 2;
            // Each column alone tells little: the groups are half a standard deviation apart.
            let cells: Vec<f64> = (0..20).map(|_| normal() + 0.5 * f64::from(group)).collect();
            let label = f64::from(group) + 0.5 * normal() > 0.5;
            let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:.5}")).collect();
            text.push_str(&format!("{},{},{}\n", cells.join(","), if group == 1 { "f" } else { "m" }, u8::from(label)));
        }
        place.write(file, &text);
    }
    let fit = |model: &str, more: &[&str]| {
        let call =
            ["fit", "train.csv", "--target", "y", "--model", "LogisticRegression", "--cv", "0", "-q", "-o", model];
        place.run(&[&call[..], more].concat()).ok();
    };
    fit("m.tove", &["--drop", "a"]);
    fit("aware.tove", &[]);
    let call = ["audit", "m.tove", "new.csv", "--sensitive", "a"];
    let audited = |model: &str| place.run(&["audit", model, "new.csv", "--sensitive", "a", "--json"]).ok().json();
    let report = audited("m.tove");
    let proxies = &section(&report, "proxies")["figures"]["a"];
    // Twenty normal columns half a standard deviation apart: the best rule has an area of Φ(√20 · 0.5 / √2) = 0.943.
    let area = proxies["auc"].as_f64().unwrap();
    assert!(area > 0.9 && (area - 0.943).abs() < 0.02, "{proxies}");
    let listed = proxies["features"].as_array().unwrap();
    assert!(!listed.is_empty());
    // One alone has Φ(0.5 / √2) = 0.638.
    for single in listed {
        assert!((single["auc"].as_f64().unwrap() - 0.638).abs() < 0.05, "each proxy is weak: {single}");
    }
    // The gap of a model that sees the column, and most of it is left without.
    let gap = |report: &Value| {
        let gaps = section(report, "fairness")["figures"]["a"]["gaps"]["gaps"].as_array().unwrap().clone();
        let gap = gaps.iter().find(|gap| gap["measure"] == "demographic parity difference").unwrap();
        gap["value"].as_f64().unwrap()
    };
    let (with, without) = (gap(&audited("aware.tove")), gap(&report));
    assert!(without > 0.3 && without > 0.6 * with, "{with} {without}");
    let text = place.run(&call).ok().out;
    assert!(text.contains("a model without a still sees it"), "{text}");
}

#[test]
fn rows_without_a_target_are_compared_with_the_training_rows() {
    let place = Place::new("drift");
    for (name, seed) in [("train.csv", 1), ("same.csv", 2)] {
        applicants(&place, name, seed);
    }
    let fit = [
        "fit",
        "train.csv",
        "--target",
        "paid",
        "--model",
        "LogisticRegression",
        "--cv",
        "0",
        "--drop",
        "group",
        "-o",
        "m.tove",
        "-q",
    ];
    place.run(&fit).ok();
    let text = std::fs::read_to_string(place.path("same.csv")).unwrap();
    let shifted: String = text
        .lines()
        .enumerate()
        .map(|(row, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            match row {
                0 => format!("{},{}\n", cells[0], cells[1]),
                _ => format!(
                    "{:.4},{}\n",
                    cells[0].parse::<f64>().unwrap() + 0.2,
                    if row < 40 { "west" } else { cells[1] }
                ),
            }
        })
        .collect();
    place.write("shifted.csv", &shifted);
    let plain: String = text.lines().map(|line| line.rsplitn(3, ',').last().unwrap().to_owned() + "\n").collect();
    place.write("plain.csv", &plain);
    let drift = |file: &str| place.run(&["audit", "m.tove", file, "--json"]).ok().json()["sections"]["drift"].clone();
    assert_eq!(drift("plain.csv")["verdict"], "ok", "{}", drift("plain.csv"));
    let found = drift("shifted.csv");
    assert_eq!(found["verdict"], "warning");
    let income = found["figures"]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|column| column["name"] == "income")
        .unwrap()
        .clone();
    assert!(income["drifted"] == Value::Bool(true) && income["adjusted"].as_f64().unwrap() < 1e-6, "{income}");
    assert!(found["statement"].as_str().unwrap().contains("west"), "{found}");
    assert!(found["advice"].as_str().unwrap().contains("guarantees"), "{found}");
}

#[test]
fn bad_calls_are_told_what_to_do() {
    let place = Place::new("audit-bad");
    credit(&place, "LogisticRegression");
    for (name, text) in [
        ("negative.json", "[[0, -1], [1, 0]]"),
        ("wide.json", "[[0, 1, 2], [1, 0, 2]]"),
        ("three.json", "[[0, 1, 2], [1, 0, 2], [1, 1, 0]]"),
        ("text.json", "costs"),
    ] {
        place.write(name, text);
    }
    let cases: [(&[&str], i32, &str); 9] = [
        (&["audit", "m.tove", "new.csv", "--sensitive", "nothing"], 2, "nothing"),
        (&["audit", "m.tove", "new.csv", "--alpha", "0"], 2, "--alpha 0"),
        (&["audit", "m.tove", "new.csv", "--eps", "0"], 2, "--eps 0"),
        (&["audit", "m.tove", "new.csv", "--cost", "negative.json"], 1, "negative"),
        (&["audit", "m.tove", "new.csv", "--cost", "wide.json"], 1, "wide.json"),
        (&["audit", "m.tove", "new.csv", "--cost", "three.json"], 1, "3 classes"),
        (&["audit", "m.tove", "new.csv", "--cost", "text.json"], 1, "not JSON"),
        (&["audit", "m.tove"], 2, "FILE"),
        (&["conformal", "m.tove", "new.csv", "--alpha", "1", "-o", "x.tove"], 2, "--alpha 1"),
    ];
    for (call, code, words) in cases {
        let ran = place.run(call);
        assert!(
            ran.code == code && ran.err.contains(words) && !ran.err.contains("panic"),
            "{call:?}: {} {}",
            ran.code,
            ran.err
        );
    }
    assert!(!place.path("x.tove").exists());
}

#[test]
fn columns_of_groups_are_needed_only_as_long_as_they_are_used() {
    let place = Place::new("audit-groups");
    for (name, seed) in [("train.csv", 1), ("held-out.csv", 2)] {
        applicants(&place, name, seed);
    }
    let fit = ["fit", "train.csv", "--target", "paid", "--model", "LogisticRegression", "--cv", "0", "-q"];
    place.run(&[&fit[..], &["--drop", "group", "-o", "m.tove"]].concat()).ok();
    let plain = std::fs::read_to_string(place.path("held-out.csv")).unwrap();
    let plain: String = plain.lines().map(|line| line.rsplitn(3, ',').last().unwrap().to_owned() + "\n").collect();
    place.write("plain.csv", &plain);
    place.run(&["conformal", "m.tove", "held-out.csv", "--by", "group", "-o", "by.tove"]).ok();
    place.run(&["fair", "by.tove", "held-out.csv", "--sensitive", "group", "-o", "both.tove"]).ok();
    for model in ["by.tove", "both.tove"] {
        let wrong = place.run(&["predict", model, "plain.csv"]);
        assert!(wrong.code == 1 && wrong.err.contains("group"), "{model}: {}", wrong.err);
    }
    let about = place.run(&["inspect", "both.tove"]).ok().out;
    assert!(about.contains("90 % in each group") && about.contains("a threshold for each group of group"), "{about}");
    // One threshold for all would undo those of the groups.
    let wrong = place.run(&["predict", "both.tove", "held-out.csv", "--threshold", "0.3"]);
    assert!(wrong.code == 2 && wrong.err.contains("a threshold for each group"), "{}", wrong.err);
    // Sets for all rows, and calibration, need no groups.
    place.run(&["conformal", "by.tove", "held-out.csv", "-o", "all.tove"]).ok();
    let said = place.run(&["calibrate", "both.tove", "held-out.csv", "-o", "calibrated.tove"]).ok();
    assert!(said.err.contains("left out"), "{}", said.err);
    for (model, sets) in [("all.tove", true), ("calibrated.tove", false)] {
        let rows = place.run(&["predict", model, "plain.csv"]).ok().out;
        assert_eq!(rows.starts_with("predicted paid,set(no),set(yes)"), sets, "{model}: {}", &rows[..60]);
    }
    let about = place.run(&["inspect", "calibrated.tove"]).ok().out;
    assert!(about.contains("calibration") && !about.contains("each group"), "{about}");
    // What is served, and what the document of the interface says of it.
    let server = Server::start(&place, "by.tove", &[]);
    let head: String = std::fs::read_to_string(place.path("held-out.csv"))
        .unwrap()
        .lines()
        .take(3)
        .fold(String::new(), |text, line| text + line + "\n");
    let served = server.post("text/csv", &head).json();
    let document: Value = server.ask("GET", "/openapi.json", "", b"").json();
    let described = &document["components"]["schemas"]["Prediction"]["properties"];
    for name in ["set(no)", "set(yes)"] {
        assert!(served["predictions"][0][name].is_boolean(), "{served}");
        assert_eq!(described[name]["type"], "boolean", "{described}");
    }
}

#[test]
fn regressions_and_given_predictions_are_judged_with_intervals() {
    let place = Place::new("audit-given");
    let mut text = String::from("y,predicted y,group\n");
    for row in 0..300 {
        let (truth, group) = (f64::from(row % 17) + 0.25, row % 3 == 0);
        let noise = f64::from(row * 7 % 11) - 5.0;
        let shift = if group { 4.0 } else { 0.0 };
        text.push_str(&format!("{truth:.2},{:.2},{}\n", truth + 0.5 * noise + shift, if group { "a" } else { "b" }));
    }
    place.write("numbers.csv", &text);
    let call = ["audit", "--predictions", "numbers.csv", "--target", "y", "--sensitive", "group,group", "--json"];
    let report = place.run(&call).ok().json();
    let fairness = section(&report, "fairness");
    let group = |name: &str, end: &str| fairness["figures"]["group"]["groups"][name][end].as_f64().unwrap();
    assert!((group("a", "value") - group("b", "value") - 4.0).abs() < 0.5, "{fairness:#}");
    assert!(group("a", "low") > group("b", "high"));
    assert_eq!(fairness["verdict"], "warning");
    assert!(report["fitted_on"].is_null());
    // The prediction is no proxy.
    assert!(section(&report, "proxies")["statement"].as_str().unwrap().contains("no other columns"));

    let mut text = String::from("y,P(no),P(yes),predicted y\n");
    for row in 0..40 {
        let p = f64::from(row % 10) / 10.0;
        let guess = if p < 0.5 { "no" } else { "yes" };
        text.push_str(&format!("{},{},{p},{guess}\n", if row % 3 == 0 { "yes" } else { "no" }, 1.0 - p));
    }
    place.write("classes.csv", &text);
    place.write("one.csv", &text.replace("P(no)", "other"));
    place.write("lacking.csv", &text.replacen(",no\n", ",\n", 1));
    let audit =
        |file: &str, more: &[&str]| place.run(&[&["audit", "--predictions", file, "--target", "y"][..], more].concat());
    audit("one.csv", &["--probability", "P(yes)"]).ok();
    let cases: [(&str, &[&str], &str); 3] = [
        ("classes.csv", &["--prediction", "y"], "is the target"),
        ("lacking.csv", &[], "predicted y has no value in row 1"),
        ("classes.csv", &["--sensitive", "y"], "is the target"),
    ];
    for (file, more, words) in cases {
        let wrong = audit(file, more);
        assert!(wrong.code != 0 && wrong.err.contains(words), "{file} {more:?}: {}", wrong.err);
    }
    // Costs by which a wrong decision is cheaper than the right one are the wrong way round.
    place.write("odd.json", "[[1, 0], [0, 1]]");
    let text = audit("classes.csv", &["--cost", "odd.json"]).ok().out;
    assert!(text.contains("cheaper than the right one"), "{text}");
    place.write("object.json", "{\"cost\": 1}");
    let wrong = audit("classes.csv", &["--cost", "object.json"]);
    assert!(wrong.code == 1 && wrong.err.contains("[[0, 5], [1, 0]]"), "{}", wrong.err);
}

#[test]
fn attacks_change_numbers_only_and_say_if_there_are_none() {
    let place = Place::new("audit-kinds");
    for (file, offset) in [("train.csv", 0), ("new.csv", 7)] {
        let mut text = String::from("x,member,kind,y\n");
        for row in offset..offset + 120 {
            let x = f64::from(row * 37 % 101) / 101.0;
            let (member, kind) = (row % 3 == 0, ["p", "q"][row as usize % 2]);
            let y = if x + if member { 0.2 } else { 0.0 } > 0.6 { "yes" } else { "no" };
            text.push_str(&format!("{x:.4},{member},{kind},{y}\n"));
        }
        place.write(file, &text);
    }
    let fit = ["fit", "train.csv", "--target", "y", "--model", "LogisticRegression", "--cv", "0", "-q"];
    place.run(&[&fit[..], &["-o", "m.tove"]].concat()).ok();
    place.run(&[&fit[..], &["--drop", "x", "-o", "no-numbers.tove"]].concat()).ok();
    let audit = |model: &str| place.run(&["audit", model, "new.csv", "--json"]).ok().json();
    let report = audit("m.tove");
    let robust = &section(&report, "robustness")["figures"];
    let last = |name: &str| robust[name].as_array().unwrap().last().unwrap().as_f64().unwrap();
    assert!(last("proven_accuracy") <= last("accuracy_under_attack"), "{robust}");
    assert!(last("accuracy_under_attack") < robust["accuracy"].as_f64().unwrap(), "{robust}");
    let report = audit("no-numbers.tove");
    assert_eq!(section(&report, "robustness")["verdict"], "not checked");
}
