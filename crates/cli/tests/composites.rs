//! Models made of others, and searches, on the command line.
#![allow(clippy::unwrap_used)]

mod common;

use common::Place;

const FIT: [&str; 4] = ["fit", "t.csv", "--target", "y"];

/// A table with two features, a regression, and three classes.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    let mut text = String::from("a,b,y,kind\n");
    for i in 0..90u32 {
        let (a, b) = (f64::from(i * 37 % 41) / 10.0 + 0.1, f64::from(i * 53 % 29) / 10.0 + 0.1);
        let kind = ["low", "middle", "high"][if a + b < 2.8 { 0 } else { usize::from(a + b > 4.2) + 1 }];
        text.push_str(&format!("{a},{b},{},{kind}\n", 3.0 * a - b + f64::from(i % 7) * 0.05 + 5.0));
    }
    place.write("t.csv", &text);
    place
}

#[test]
fn a_pipeline_is_written_as_a_call_or_as_json() {
    let place = place("pipeline");
    let fit = |model: &str, more: &[&str]| {
        let call = [&FIT[..], &["--cv", "3", "--json", "--model", model], more].concat();
        place.run(&call).ok().json()
    };
    let plain = fit("Pipeline(StandardScaler, Ridge(alpha=0.5))", &[]);
    assert_eq!(plain["model"], "Pipeline(StandardScaler, Ridge(alpha=0.5))");
    assert_eq!(plain["settings"]["steps"][1][1]["params"]["alpha"], 0.5);
    let json = r#"{"type": "Pipeline", "params": {"steps": [["standardscaler", "StandardScaler"],
        ["ridge", {"type": "Ridge", "params": {"alpha": 0.5}}]]}}"#;
    let (json, dotted) = (fit(json, &[]), fit("pipeline( StandardScaler(), Ridge )", &["--set", "ridge.alpha=0.5"]));
    let steps = fit("Pipeline(steps=[StandardScaler, Ridge(alpha=0.5)])", &[]);
    for other in [json, dotted, steps] {
        assert_eq!((&other["test"], &other["settings"]), (&plain["test"], &plain["settings"]));
    }
    let named = fit("Pipeline(scale=StandardScaler(with_mean=false), Lasso,)", &["--set", "lasso.alpha=0.01"]);
    assert_eq!(named["settings"]["steps"][0][0], "scale");
    assert_eq!(named["settings"]["steps"][1][1]["params"]["alpha"], 0.01);
    let set = fit("BaggingRegressor", &["--set", "estimator=Pipeline(MinMaxScaler, Ridge)", "--set", "n_estimators=3"]);
    assert_eq!(set["settings"]["estimator"]["type"], "Pipeline");
}

#[test]
fn every_example_of_the_list_of_models_can_be_run() {
    let place = place("examples");
    let all = place.run(&["models", "--json"]).ok().json();
    let entries = all.as_array().unwrap();
    let classifiers: Vec<&str> = entries
        .iter()
        .filter(|entry| entry["kind"] == "classifier")
        .map(|entry| entry["name"].as_str().unwrap())
        .chain(["Classifier", "Label", "OneVsRest"])
        .collect();
    for entry in entries {
        // Some models predict no target.
        let Some(example) = entry["example"].as_str() else { continue };
        // Word vectors are fitted by another command.
        let Some((_, model)) = example.split_once("--model ") else { continue };
        let model = model.trim_matches('\'');
        let name = entry["name"].as_str().unwrap();
        let target = if classifiers.iter().any(|part| model.contains(part)) { "kind" } else { "y" };
        let other = if target == "y" { "kind" } else { "y" };
        let call = ["fit", "t.csv", "--target", target, "--drop", other, "--cv", "0", "--json", "--model", model];
        let ran = place.run(&call);
        assert_eq!(ran.code, 0, "{name}: {example}: {}", ran.err);
        assert!(place.run(&["models", name]).ok().out.contains(model), "{name}");
    }
}

#[test]
fn mistakes_are_pointed_at() {
    let place = place("mistakes");
    let fails = |model: &str, parts: &[&str]| {
        place.run(&[&FIT[..], &["--model", model]].concat()).fails(2, parts);
    };
    fails("Pipeline(StandrdScaler, Ridge)", &["did you mean StandardScaler?", "character 10", "\n           ^"]);
    fails("Pipeline(StandardScaler, Rige(alpha=2))", &["did you mean Ridge?", "character 26"]);
    fails("Ridge(alpa=2)", &["alpa", "alpha", "character 7"]);
    fails("Ridge(alpha=high)", &["alpha", "give a number", "character 7"]);
    fails("Ridge(alpha=-1)", &["alpha is -1", "character 7"]);
    fails("Ridge(alpha=1, alpha=2)", &["given twice", "character 16"]);
    fails("Ridge(StandardScaler)", &["has no estimators inside"]);
    fails("Ridge(0.5)", &["write NAME=0.5"]);
    fails("Ridge(alpha=1", &["`,` or `)` is missing", "character 14"]);
    fails("Ridge)", &["after the end", "character 6"]);
    fails("Ridge(alpha=)", &["missing before `)`"]);
    fails("Ridge(alpha='1)", &["closing ' is missing"]);
    fails("", &["a value is missing"]);
    fails("Pipeline()", &["Pipeline"]);
    fails("Pipeline(a=StandardScaler, a=Ridge)", &["given twice"]);
    let twice = r#"{"type": "Pipeline", "params": {"steps": [["a", "StandardScaler"], ["a", "Ridge"]]}}"#;
    fails(twice, &["two steps are called `a`"]);
    fails("Pipeline(Ridge, StandardScaler)", &["Ridge"]);
    fails("Pipeline(3, Ridge)", &["write NAME=3"]);
    fails("BaggingRegressor(estimator=3)", &["estimator"]);
    fails("VotingRegressor([])", &["NAME=[]"]);
    fails("StandardScaler", &["does not predict a target"]);
    fails("{\"type\": \"Ridge\"", &["JSON", "EOF"]);
    fails("{\"type\": \"Rige\", \"params\": {}}", &["did you mean Ridge?"]);
    fails("{\"params\": {}}", &["write an estimator as"]);
    // Depth: an error, and no overflow of the stack.
    let deep = format!("{}Ridge{}", "Pipeline(".repeat(10_000), ")".repeat(10_000));
    fails(&deep, &["more than 32 levels"]);
    let deep = format!("{}Ridge{}", "[".repeat(50_000), "]".repeat(50_000));
    fails(&deep, &["more than 32 levels"]);
    let open = r#"{"type": "Pipeline", "params": {"steps": [["a", "#;
    let deep = format!("{}\"Ridge\"{}", open.repeat(2000), "]]}}".repeat(2000));
    fails(&deep, &["JSON", "recursion"]);
    let long: Vec<String> = (0..1001).map(|value| value.to_string()).collect();
    let huge = format!("GridSearch(Ridge, grid={{alpha: [{0}], tol: [{0}]}})", long.join(","));
    fails(&huge, &["1002001 combinations"]);
}

#[test]
fn searches_report_what_was_tried_and_chosen() {
    let place = place("search");
    let run = |more: &[&str]| place.run(&[&FIT[..], &["--drop", "kind", "--cv", "3", "--model"], more].concat());
    let ran = run(&["Ridge", "--search", "alpha=0.001,1e3", "--search", "solver=svd,cholesky", "--json"]).ok().json();
    assert_eq!(ran["candidates"].as_array().unwrap().len(), 4);
    assert_eq!(ran["search"]["chosen"]["alpha"], 0.001);
    assert_eq!(ran["settings"]["alpha"], 0.001);
    assert!(ran["model"].as_str().unwrap().starts_with("Ridge with alpha=0.001"), "{}", ran["model"]);
    let page = std::fs::read_to_string(place.path(ran["report"].as_str().unwrap())).unwrap();
    assert!(page.contains("alpha=1000, solver=svd"), "the report has the table");
    let text = run(&["Pipeline(PolynomialFeatures, Ridge)", "--search", "ridge.alpha=0.1,1"]).ok().out;
    assert!(text.contains("ridge.alpha=0.1") && text.contains("chosen"), "{text}");
    // Ranges are drawn from, the same way for the same seed.
    let draw = |seed: &str| {
        let more = ["Ridge", "--search", "alpha=1e-3..1e3", "--search-iterations", "5", "--seed", seed, "--json"];
        let ran = run(&more).ok().json();
        let names = ran["candidates"].as_array().unwrap().iter().map(|tried| tried["model"].clone());
        names.collect::<Vec<_>>()
    };
    let drawn = draw("1");
    assert!(drawn.len() == 5 && drawn == draw("1") && drawn != draw("2"), "{drawn:?}");
    let whole = ["BaggingRegressor(Ridge)", "--search", "n_estimators=2..4", "--search-iterations", "3", "--json"];
    assert!(run(&whole).ok().json()["search"]["chosen"]["n_estimators"].as_u64().unwrap() <= 4);
    let lists = run(&["RidgeCV", "--search", "alphas=[0.1, 1],[10, 100]", "--json"]).ok().json();
    assert_eq!(lists["search"]["chosen"]["alphas"], serde_json::json!([0.1, 1.0]));
    let budget = run(&["Ridge", "--search", "alpha=0.1,1,10", "--budget", "20", "--json"]).ok().json();
    assert_eq!(budget["candidates"].as_array().unwrap().len(), 3);

    let fails = |more: &[&str], parts: &[&str]| run(more).fails(2, parts);
    fails(&["Ridge", "--search", "alpa=1,2"], &["alpa", "alpha"]);
    fails(&["Ridge", "--search", "alpha="], &["at least one value"]);
    fails(&["Ridge", "--search", "alpha=1,x"], &["alpha=x", "give a number"]);
    fails(&["Ridge", "--search", "alpha=3..1"], &["LOW..HIGH"]);
    fails(&["Ridge", "--search", "alpha=1", "--search", "alpha=2"], &["given twice"]);
    fails(&["Ridge", "--search", "alpha=-1,1"], &["alpha is -1"]);
    fails(&["auto", "--search", "alpha=1,2"], &["choose the model"]);
    fails(&["Ridge", "--search", "alpha=1,2", "--search-iterations", "0"], &["0 combinations"]);
    let many: Vec<String> = (1..=40).map(|value| value.to_string()).collect();
    let many = |name: &str| format!("{name}={}", many.join(","));
    fails(&["Ridge", "--search", &many("alpha"), "--search", &many("max_iter")], &["1600 combinations"]);
}

#[test]
fn the_help_teaches_how_models_are_written() {
    let place = Place::new("help");
    let help = place.run(&["fit", "--help"]).ok().out;
    for part in ["Pipeline(StandardScaler, Ridge(alpha=0.5))", "--search", "lasso.alpha=0.1", "scale=StandardScaler()"]
    {
        assert!(help.contains(part), "{part}");
    }
}
