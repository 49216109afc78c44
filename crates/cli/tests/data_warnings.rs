//! What the program says of tables that deceive: identifiers, leaks, copies, spellings, rare classes, few rows.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, Ran, shipped};

/// Numbers that look random and are the same everywhere.
fn noise(i: u64) -> f64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn written(head: &str, rows: u64, row: impl Fn(u64) -> String) -> String {
    format!("{head}\n") + &(0..rows).map(|i| row(i) + "\n").collect::<String>()
}

fn fitted(place: &Place, text: &str, target: &str) -> Ran {
    let file = place.write("t.csv", text);
    let model = if target == "class" { "LogisticRegression" } else { "Ridge" };
    place.run(&["fit", file.to_str().unwrap(), "--target", target, "--model", model, "--cv", "0"])
}

#[test]
fn columns_that_name_rows_say_nothing_or_tell_the_target_are_told() {
    let place = Place::new("doubtful-columns");
    let class = |i: u64| if noise(i) + 0.5 * noise(i + 7000) > 0.75 { "churn" } else { "stay" };
    let row = |i: u64| {
        let closed = if class(i) == "churn" { "Y" } else { "N" };
        let id = 9_007_199_254_740_993 + 17 * i;
        format!("{id},u{:x}z{i},{:.4},7,{closed},{}", i * 7919, noise(i), class(i))
    };
    let head = "customer_id,token,use,version,closed account,class";
    let told = fitted(&place, &written(head, 200, row), "class").ok();
    let doubts = told.warnings();
    assert_eq!(doubts.len(), 4, "{}", told.out);
    let about = |column: &str, option: &str| {
        assert!(doubts.iter().any(|line| line.contains(column) && line.contains(option)), "{column}: {doubts:?}");
    };
    about("customer_id", "--id customer_id");
    about("token", "--id token");
    about("version", "--drop version");
    about("closed account", "--drop 'closed account'"); // as a shell takes it
    // As advised, nothing is left to doubt, and the score is no longer perfect.
    let mended = ["--id", "customer_id,token", "--drop", "version,closed account"];
    let plain = ["fit", "t.csv", "--target", "class", "--model", "LogisticRegression", "--json", "-o", "m.tove"];
    let mended = place.run(&[&plain[..], &mended].concat()).ok().json();
    assert_eq!(mended["data_warnings"].as_array().unwrap().len(), 0);
    assert!(mended["test"]["accuracy"]["value"].as_f64().unwrap() < 0.99);
    // Identifiers keep all their digits, in text and in JSON.
    let first = place.run(&["predict", "m.tove", "t.csv", "--json"]).ok().json();
    assert_eq!(first[1]["customer_id"].as_i64(), Some(9_007_199_254_741_010));
    assert!(place.run(&["predict", "m.tove", "t.csv"]).ok().out.contains("9007199254741010,"));
    // A regression: the target in another currency, and nothing of the kind in an honest table.
    let row = |i: u64| format!("{:.3},{:.2},{:.2}", noise(i), 110.0 * noise(i + 900), 100.0 * noise(i + 900));
    let told = fitted(&place, &written("size,in_dollars,price", 200, row), "price").ok();
    assert!(told.out.contains("column in_dollars alone tells the target"), "{}", told.out);
    for (name, target) in
        [("diabetes.csv", "progression"), ("german-credit.csv", "credit_risk"), ("iris.csv", "species")]
    {
        let fit = ["fit", &shipped(name), "--target", target, "--json", "--cv", "0", "--model"];
        let model = if target == "progression" { "Ridge" } else { "LogisticRegression" };
        let honest = place.run(&[&fit[..], &[model]].concat()).ok().json();
        assert_eq!(honest["data_warnings"].as_array().unwrap().len(), 0, "{name}: {}", honest["data_warnings"]);
    }
}

/// Departure delays tell arrival delays; flight numbers are no quantities; codes are no texts.
#[test]
fn leaks_that_are_not_exact_and_codes_are_told() {
    let place = Place::new("leaks");
    let row = |i: u64| {
        let late = (60.0 * noise(i + 10_000)).floor();
        let arrival = late + 15.0 * noise(i + 20_000) - 7.0;
        let (day, hour, flight) = (i % 31, i % 24, (noise(i + 30_000) * 900.0) as u64 + 100);
        format!("{day},{hour},{late},{flight},C{:04}X,{arrival:.1}", (noise(i + 40_000) * 1500.0) as u64)
    };
    let head = "day,hour,dep_delay,flight_number,tail,arr_delay";
    let doubts = fitted(&place, &written(head, 8000, row), "arr_delay").ok().warnings();
    let about = |column: &str, words: &[&str]| {
        let found = doubts.iter().any(|line| line.contains(column) && words.iter().all(|word| line.contains(word)));
        assert!(found, "{column}: {doubts:?}");
    };
    about("dep_delay", &["alone explains 9", "recorded", "--drop dep_delay"]);
    about("flight_number", &["different whole numbers", "--type flight_number=categorical"]);
    about("tail", &["free text", "codes", "--type tail=categorical"]);
    assert_eq!(doubts.len(), 3, "{doubts:?}");
    // Two columns that tell as much: no leak.
    let row = |i: u64| {
        let size = noise(i);
        format!(
            "{:.4},{:.4},{:.3},{:.2}",
            size,
            size + 0.02 * noise(i + 500),
            noise(i + 900),
            size + 0.2 * noise(i + 700)
        )
    };
    let told = fitted(&place, &written("size,area,age,price", 1000, row), "price").ok().out;
    assert!(!told.contains("alone explains"), "{told}");
}

/// Codes whose column is called neither an id nor a code are known by what they tell; quantities are left alone.
#[test]
fn whole_numbers_that_tell_more_as_codes_are_told() {
    let place = Place::new("codes");
    let row = |i: u64| {
        let (flight, store, age) = (100 + (noise(i) * 90.0) as u64, (noise(i + 9000) * 60.0) as u64, i % 70);
        let value = 3.0 * noise(flight + 70_000) + 2.0 * noise(store + 80_000) + (age as f64 / 20.0).sin();
        let value = value + noise(i + 20_000);
        format!("{flight},{store},{age},{value:.3},{}", if value > 3.0 { "late" } else { "early" })
    };
    let text = written("flight,store,age,value,class", 4000, row);
    for (target, other) in [("value", "class"), ("class", "value")] {
        let model = if target == "class" { "LogisticRegression" } else { "Ridge" };
        let file = place.write("t.csv", &text);
        let fit = ["fit", file.to_str().unwrap(), "-t", target, "-m", model, "--cv", "0", "--drop", other];
        let told = place.run(&fit).ok();
        let doubts: Vec<String> = told.warnings().into_iter().filter(|line| line.contains("column")).collect();
        for name in ["flight", "store"] {
            let option = format!("--type {name}=categorical");
            assert!(doubts.iter().any(|line| line.contains(&option)), "{target}, {name}: {}", told.out);
        }
        assert_eq!(doubts.len(), 2, "{target}: {doubts:?}");
    }
}

#[test]
fn copies_of_fitted_rows_among_those_that_judge_are_counted() {
    let place = Place::new("copies");
    // 60 rows five times over: every judged row was learned, unless all five copies judge.
    let row = |i: u64| {
        let i = i % 60;
        format!("{:.3},{:.3},{}", noise(i), noise(i + 99), if noise(i + 500) > 0.5 { "a" } else { "b" })
    };
    let told = fitted(&place, &written("x,y,class", 300, row), "class").ok();
    assert!(told.out.contains("75 of 75 test rows are also among the training rows"), "{}", told.out);
    // Few categories make equal rows by chance: nothing to tell.
    let row = |i: u64| {
        format!("{},{},{}", (noise(i) * 3.0) as u64, (noise(i + 9) * 3.0) as u64, ["a", "b"][(i % 2) as usize])
    };
    assert!(!fitted(&place, &written("x,y,class", 300, row), "class").ok().out.contains("test rows are also"));
}

#[test]
fn numbers_and_dates_in_other_spellings_are_recognized() {
    let place = Place::new("spellings");
    let row = |i: u64| {
        let share = noise(i);
        let (day, month) = (i % 28 + 1, i % 12 + 1);
        format!("{:.1}%,\"${},{:03}.50\",{day}/{month}/2023,{:.3}", 100.0 * share, i % 9 + 1, i, 3.0 * share)
    };
    let doubts = fitted(&place, &written("rate,price,day,y", 120, row), "y").ok().warnings();
    for (column, kind) in [("rate", "percent sign"), ("price", "amounts of money"), ("day", "dates")] {
        let doubt = doubts.iter().find(|line| line.contains(&format!("column {column} ")));
        assert!(doubt.is_some_and(|doubt| doubt.contains(kind)), "{column}: {doubts:?}");
    }
    // Decimal commas are read as such, in a target too, and by the model as well; nothing needs to be said.
    let comma = |x: f64| format!("{x:.2}").replace('.', ",");
    let text =
        written("länge;preis", 80, |i| format!("{};{}", comma(noise(i)), comma(2.0 * noise(i) + noise(i + 70))));
    let file = place.write("komma.csv", &text);
    let fit = ["fit", file.to_str().unwrap(), "--target", "preis", "--model", "Ridge"];
    let [found, given] = [&["--json"][..], &["--json", "--decimal-comma"]]
        .map(|more| place.run(&[&fit[..], &["-o", "k.tove", "--overwrite"], more].concat()).ok().json());
    assert!(found["task"] == "regression" && found["data_warnings"].as_array().unwrap().is_empty());
    assert_eq!(found["test"], given["test"]);
    // With values that are both, nobody knows: the target is no name of a class, and what to do is said.
    let mixed = text.replacen("\n0,", "\n1.5;2.5\n0,", 1);
    let file = place.write("gemischt.csv", &mixed);
    let fit = ["fit", file.to_str().unwrap(), "--target", "preis", "--model", "Ridge"];
    place.run(&fit).fails(1, &["preis", "decimal comma", "--decimal-comma"]);
}

#[test]
fn rare_classes_and_few_rows_are_no_reason_to_give_up() {
    let place = Place::new("few");
    let class = |i: u64| if i == 60 { "rare" } else { ["common", "other"][(i % 2) as usize] };
    let text = written("a,class", 61, |i| format!("{:.3},{}", noise(i) + (i % 2) as f64, class(i)));
    let told = fitted(&place, &text, "class").ok();
    assert!(told.out.contains("class rare with one row only"), "{}", told.out);
    // Eight rows: six to learn from, in three folds.
    let text = written("a,b,y", 8, |i| format!("{i},{},{}", i % 3, 2 * i + 1));
    let file = place.write("tiny.csv", &text);
    let tiny = place.run(&["fit", file.to_str().unwrap(), "--target", "y", "--json"]).ok().json();
    assert_eq!(tiny["candidates"][0]["scores"].as_array().unwrap().len(), 3);
    assert!(
        tiny["data_warnings"].to_string().contains("6 training rows are too few for 5 folds; there are 3"),
        "{tiny}"
    );
    // Two rows are too few for anything: said in the user's words.
    for text in ["a,b,y\n1,2,3\n2,3,4\n", "a,b,y\n1,2,yes\n2,3,no\n4,5,yes\n"] {
        let file = place.write("two.csv", text);
        let told = place.run(&["fit", file.to_str().unwrap(), "--target", "y", "-q"]);
        told.fails(1, &["two.csv", "rows", "values of y"]);
        assert!(!told.err.contains("class 0") && !told.err.contains("Split"), "{}", told.err);
    }
    // An infinite value is told by the name of its column.
    let text =
        written("a,b,class", 40, |i| format!("{i},{},{}", if i == 3 { "inf".into() } else { i.to_string() }, class(i)));
    let file = place.write("inf.csv", &text);
    place.run(&["fit", file.to_str().unwrap(), "-t", "class", "-q"]).fails(1, &["inf.csv", "column b is inf in row 4"]);
}

#[test]
fn a_model_no_better_than_a_constant_is_told_so() {
    let place = Place::new("baseline");
    let text = written("a,b,y", 200, |i| format!("{:.4},{:.4},{:.4}", noise(i), noise(i + 1000), noise(i + 2000)));
    let told = fitted(&place, &text, "y").ok();
    assert!(told.out.contains("constant") && told.out.contains("R² ") && told.out.contains(" ± "), "{}", told.out);
    let hardly = ["no better than a constant", "not clearly better than"];
    assert!(told.warnings().iter().any(|line| hardly.iter().any(|words| line.contains(words))), "{}", told.out);
    // One row of a hundred is of the other class, and is ranked first: the accuracy hides it.
    let score = |i: u64| noise(i) + 0.01 * noise(i + 4000);
    let text =
        written("a,class", 4000, |i| format!("{:.5},{}", noise(i), if score(i) > 0.995 { "fraud" } else { "fine" }));
    let told = fitted(&place, &text, "class").ok();
    let advice = told.warnings().join("\n");
    assert!(advice.contains("ranks the rows well") && advice.contains("--class-weight balanced"), "{}", told.out);
    assert!(told.out.contains("true \\ predicted"), "{}", told.out);
    // A good model is not talked down.
    let told = place.run(&["fit", &shipped("iris.csv"), "-t", "species", "-m", "LogisticRegression"]).ok();
    assert!(told.warnings().is_empty() && !told.out.contains("margin of error"), "{}", told.out);
    assert!(told.out.contains("true \\ predicted") && told.out.contains("versicolor"), "{}", told.out);
}

#[test]
fn predictions_keep_the_columns_asked_for() {
    let place = Place::new("keep");
    let text = written("name,a,class", 40, |i| {
        format!("n{i},{:.3},{}", noise(i) + (i % 2) as f64, ["x", "y"][(i % 2) as usize])
    });
    let file = place.write("t.csv", &text);
    let file = file.to_str().unwrap();
    place.run(&["fit", file, "-t", "class", "-m", "LogisticRegression", "--drop", "name", "-o", "m.tove", "-q"]).ok();
    let told = place.run(&["predict", "m.tove", file, "--keep", "name,a"]).ok();
    assert!(told.out.starts_with("name,a,predicted class\nn0,"), "{}", told.out);
    let more = place.write("more.csv", "note,a\nfirst,0.1\n\"second, or so\",1.9\n");
    let told = place.run(&["predict", "m.tove", more.to_str().unwrap(), "--keep", "note"]).ok();
    assert_eq!(told.out, "note,predicted class\nfirst,x\n\"second, or so\",y\n");
    assert!(!told.err.contains("note"), "{}", told.err);
    place.run(&["predict", "m.tove", file, "--keep", "nam"]).fails(2, &["--keep", "nam", "name"]);
}

#[test]
fn warnings_of_folds_are_gathered_and_options_are_named() {
    let place = Place::new("gathered");
    // A category in three columns of numbers adds up to the constant: every fold of a line says so.
    let text = written("a,color,y", 90, |i| {
        format!("{:.3},{},{:.3}", noise(i), ["r", "g", "b"][(i % 3) as usize], noise(i + 50))
    });
    let file = place.write("t.csv", &text);
    let file = file.to_str().unwrap();
    let told = place.run(&["fit", file, "-t", "y", "-m", "LinearRegression", "--verbose"]).ok();
    assert!(!told.err.contains("warning:"), "{}", told.err);
    assert_eq!(told.out.matches("Warning: LinearRegression: ").count(), 1, "{}", told.out);
    assert_eq!(told.out.matches("in 5 of 5 folds of LinearRegression: ").count(), 1, "{}", told.out);
    place.run(&["fit", file]).fails(2, &["--target", "a, color, y"]);
    let twice = place.write("twice.csv", "0,0\n1,1\n");
    place.run(&["fit", twice.to_str().unwrap(), "-t", "y"]).fails(1, &["--no-header"]);
    let ragged = place.write("ragged.csv", "a,b,y\n1,2,3\n1,2\n");
    place.run(&["fit", ragged.to_str().unwrap(), "-t", "y"]).fails(1, &["line 3", "--drop-ragged"]);
}

#[test]
fn rows_are_divided_by_order_or_by_groups_when_asked() {
    let place = Place::new("divided");
    // A trend that a line over the dates follows up to the last quarter, where it turns.
    let trend = |i: u64| if i < 150 { i as f64 } else { 300.0 - i as f64 };
    let day = |i: u64| format!("20{:02}-{:02}-{:02}", 10 + i / 12, i % 12 + 1, 1);
    let text = written("day,x,y", 200, |i| format!("{},{:.3},{:.2}", day(i), noise(i), trend(i) + noise(i + 400)));
    let file = place.write("t.csv", &text);
    let fit = ["fit", file.to_str().unwrap(), "-t", "y", "-m", "Ridge", "--json"];
    let random = place.run(&fit).ok().json();
    assert!(
        random["data_warnings"].to_string().contains("--in-order") && random["division"] == "at random",
        "{random}"
    );
    let ordered = place.run(&[&fit[..], &["--in-order"]].concat()).ok().json();
    assert!(
        !ordered["data_warnings"].to_string().contains("--in-order") && ordered["division"] == "in order",
        "{ordered}"
    );
    let r2 = |run: &serde_json::Value| run["test"]["r2"]["value"].as_f64().unwrap();
    assert!(r2(&random) > 0.5 && r2(&ordered) < 0.0, "{} {}", r2(&random), r2(&ordered));
    // Ten rows of every patient are alike, and classes go by patient with nothing behind: only grouped rows tell.
    let text = written("patient,a,b,class", 400, |i| {
        let p = i / 10;
        let near = |k: u64| noise(7 * p + k) + 1e-3 * noise(i + 1000 * k);
        format!("p{p},{:.4},{:.4},{}", near(1), near(2), if noise(p + 5000) > 0.5 { "ill" } else { "well" })
    });
    let file = place.write("patients.csv", &text);
    let fit = ["fit", file.to_str().unwrap(), "-t", "class", "-m", "SVC", "--set", "gamma=1000", "--json"];
    let random = place.run(&[&fit[..], &["--id", "patient"]].concat()).ok().json();
    let grouped = place.run(&[&fit[..], &["--group", "patient", "-o", "m.tove"]].concat()).ok().json();
    let accuracy = |run: &serde_json::Value| run["test"]["accuracy"]["value"].as_f64().unwrap();
    assert!(accuracy(&random) > 0.95 && accuracy(&grouped) < 0.8, "{} {}", accuracy(&random), accuracy(&grouped));
    assert!(grouped["candidates"][0]["mean"].as_f64().unwrap() < 0.8 && grouped["division"] == "by groups of patient");
    // The group names the rows of the answers.
    let answers = place.run(&["predict", "m.tove", file.to_str().unwrap()]).ok();
    assert!(answers.out.starts_with("patient,predicted class\np0,"), "{}", answers.out);
    place.run(&[&fit[..], &["--group", "pateint"]].concat()).fails(2, &["pateint", "patient"]);
    assert_eq!(place.run(&[&fit[..], &["--group", "patient", "--in-order"]].concat()).code, 2);
}

#[test]
fn a_table_that_was_fitted_on_does_not_judge_in_silence() {
    let place = Place::new("known");
    let credit = shipped("german-credit.csv");
    place.run(&["fit", &credit, "-t", "credit_risk", "-m", "LogisticRegression", "-o", "m.tove", "-q"]).ok();
    let told = place.run(&["evaluate", "m.tove", &credit]).ok();
    assert!(told.err.contains("fitted on rows of this table (750 of 1000)"), "{}", told.err);
    assert!(told.out.contains(" ± ") && told.out.contains("true \\ predicted"), "{}", told.out);
    // In another order it is the same table, and with a row less it is not.
    let text = std::fs::read_to_string(&credit).unwrap();
    let (head, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    let turned = place.write("turned.csv", &format!("{head}\n{}\n", rows.join("\n")));
    let fewer = place.write("fewer.csv", &format!("{head}\n{}\n", rows[..900].join("\n")));
    let fitted_on = |file: &std::path::Path| {
        place.run(&["evaluate", "m.tove", file.to_str().unwrap(), "--json"]).ok().json()["fitted_on"].as_bool()
    };
    assert_eq!((fitted_on(&turned), fitted_on(&fewer)), (Some(true), Some(false)));
    // People read what is in the file; what the sign of a coefficient means is said.
    let inside = place.run(&["inspect", "m.tove"]).ok();
    for word in ["credit_risk", "LogisticRegression", "training rows  750", "accuracy", "duration", "--json"] {
        assert!(inside.out.contains(word), "{word}: {}", inside.out);
    }
    assert!(!inside.out.contains('{'), "{}", inside.out);
    let classes = place.run(&["inspect", "m.tove", "--json"]).ok().json()["header"]["labels"]["classes"].clone();
    let explained = place.run(&["explain", "m.tove"]).ok();
    let side = format!("increase the probability of {}", classes[1].as_str().unwrap());
    assert!(explained.out.contains(&side), "{}", explained.out);
    // Dependence is drawn for names as for numbers, and says of which class.
    place.run(&["explain", "m.tove", &credit, "--report", "why.html", "--repeats", "1"]).ok();
    let page = std::fs::read_to_string(place.path("why.html")).unwrap();
    let drawn = page.split("Partial dependence").nth(2).unwrap_or_default();
    let label = format!("mean P({})", classes[1].as_str().unwrap());
    assert!(drawn.matches("<svg").count() >= 6 && drawn.contains(&label), "{} pictures", drawn.matches("<svg").count());
    assert!(drawn.contains("status") && drawn.contains("A14 ("));
}
