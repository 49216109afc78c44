//! Clusters, components and recommendations on the command line.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Place, shipped};
use serde_json::Value;

/// Two groups of customers, apart in their numbers and their category, with columns that are of no use.
fn customers(place: &Place) {
    let mut text = String::from("id,age,spent,plan,constant,empty,note\n");
    for i in 0..60u32 {
        let (base, plan) = if i % 3 == 0 { (60, "gold") } else { (25, "basic") };
        let note = format!("customer {i} said {} words and {} more on that day", i * 7, i * 11);
        text.push_str(&format!("c{i},{},{}.5,{plan},1,,{note}\n", base + i % 5, 10 * base + i % 7));
    }
    place.write("customers.csv", &text);
}

/// The cluster of each row as `tove predict` writes it.
fn predicted(place: &Place, model: &str, file: &str) -> Vec<i64> {
    let rows = place.run(&["predict", model, file, "--json"]).ok().json();
    rows.as_array().unwrap().iter().map(|row| row["cluster"].as_i64().unwrap()).collect()
}

#[test]
fn clusters_are_described_saved_and_predicted() {
    let place = Place::new("cluster");
    customers(&place);
    let call = ["cluster", "customers.csv", "--id", "id", "-o", "m.tove", "--report", "r.html"];
    let ran = place.run(&[&call[..], &["--json"]].concat()).ok();
    assert!(ran.err.contains("column constant is left out: it is 1 in every row"), "{}", ran.err);
    assert!(ran.err.contains("column empty is left out: it has only missing values"), "{}", ran.err);
    let found = ran.json();
    assert_eq!((&found["k"], &found["rows"], &found["model"]), (&2.into(), &60.into(), &"KMeans".into()));
    assert!(found["silhouette"].as_f64().unwrap() > 0.8);
    assert_eq!(found["tried"].as_array().unwrap().len(), 9);
    let sizes: Vec<u64> =
        found["clusters"].as_array().unwrap().iter().map(|one| one["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [40, 20]);
    // The smaller cluster has the gold plan: its share is 1 against a third.
    let traits = found["clusters"][1]["differences"].as_array().unwrap();
    let gold = traits.iter().find(|one| one["category"] == "gold").unwrap();
    assert_eq!(gold["value"], 1.0);
    assert!((gold["overall"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((gold["standard_deviations"].as_f64().unwrap() - 2f64.sqrt()).abs() < 1e-12);
    let age = traits.iter().find(|one| one["column"] == "age").unwrap();
    assert_eq!(age["value"], 62.0);

    let labels: Vec<i64> = found["labels"].as_array().unwrap().iter().map(|label| label.as_i64().unwrap()).collect();
    assert_eq!(predicted(&place, "m.tove", "customers.csv"), labels);
    let csv = place.run(&["predict", "m.tove", "customers.csv"]).ok().out;
    assert!(csv.starts_with(&format!("id,cluster\nc0,{}\n", labels[0])), "{csv}");
    let inspected = place.run(&["inspect", "m.tove"]).ok().out;
    assert!(inspected.contains("clustering into 2 clusters"), "{inspected}");
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    assert!(page.contains("principal components") && page.contains("cluster 1") && page.contains("<svg"));

    // Files are not replaced unless asked, and a clustering has no target.
    place.run(&call).fails(2, &["exists already"]);
    let text = place.run(&[&call[..], &["--overwrite"]].concat()).ok().out;
    assert!(text.starts_with("KMeans finds 2 clusters in 60 rows.") && text.contains("clearly"), "{text}");
    for command in ["evaluate", "explain"] {
        place.run(&[command, "m.tove", "customers.csv"]).fails(2, &["no target"]);
    }
}

#[test]
fn every_method_clusters_iris_and_predicts_what_it_found() {
    let place = Place::new("methods");
    let iris = shipped("iris.csv");
    for (method, k) in [
        ("kmeans", Some("3")),
        ("gaussian_mixture", Some("3")),
        ("agglomerative", Some("3")),
        ("dbscan", None),
        ("hdbscan", None),
    ] {
        let mut call =
            vec!["cluster", &iris, "--drop", "species", "--method", method, "-o", "m.tove", "--overwrite", "--json"];
        call.extend(k.iter().flat_map(|k| ["--k", k]));
        let found = place.run(&call).ok().json();
        let labels: Vec<i64> =
            found["labels"].as_array().unwrap().iter().map(|label| label.as_i64().unwrap()).collect();
        assert_eq!(found["k"], if k.is_some() { 3 } else { 2 }, "{method}");
        // The first fifty flowers are setosa, which all methods tell apart; some flowers may be outliers.
        let mut setosa: BTreeMap<i64, usize> = BTreeMap::new();
        labels[..50].iter().for_each(|&label| *setosa.entry(label).or_default() += 1);
        let (own, count) = setosa.iter().max_by_key(|(_, count)| **count).unwrap();
        assert!(
            *own >= 0 && *count >= 48 && labels[50..].iter().filter(|label| *label == own).count() <= 3,
            "{method}"
        );
        assert_eq!(predicted(&place, "m.tove", &iris), labels, "{method}");
    }
    let call = ["cluster", &iris, "--drop", "species", "--method", "gaussian_mixture", "--k", "3", "-o", "g.tove"];
    place.run(&call).ok();
    let rows = place.run(&["predict", "g.tove", &iris, "--proba", "--json"]).ok().json();
    let sum: f64 = (0..3).map(|cluster| rows[0][format!("P(cluster {cluster})")].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
}

#[test]
fn large_tables_that_repeat_themselves_are_sampled_at_random() {
    let place = Place::new("cluster-period");
    let mut text = String::from("a,b\n");
    for i in 0..8000u32 {
        let noise = f64::from(i * 7919 % 101) / 100.0;
        text.push_str(&format!("{},{}\n", f64::from(i % 4) * 10.0 + noise, f64::from(i % 4 * i % 4) * 10.0 - noise));
    }
    place.write("t.csv", &text);
    let found = place.run(&["cluster", "t.csv", "--json"]).ok().json();
    assert_eq!((&found["k"], &found["silhouette_rows"]), (&4.into(), &2000.into()));
    assert!(
        found["clusters"].as_array().unwrap().iter().all(|one| one["size"] == 2000 && one["silhouette"].is_number())
    );
}

#[test]
fn threads_do_not_change_clusters() {
    let place = Place::new("cluster-threads");
    let file = shipped("german-credit.csv");
    let run = |threads: &str| {
        let call = ["cluster", &file, "--drop", "credit_risk", "--json", "--threads", threads];
        let mut found = place.run(&call).ok().json();
        found["seconds"] = Value::Null;
        found
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn bad_tables_and_calls_of_cluster_are_refused_with_advice() {
    let place = Place::new("cluster-bad");
    place.write("one.csv", "a,b\n1,2\n");
    place.write("two.csv", "a,b\n1,2\n3,4\n");
    place.write("same.csv", "a,b\n1,2\n1,2\n1,2\n");
    let notes: String =
        (0..40).map(|i| format!("a long note with the number {i} and {} words in it\n", i * i)).collect();
    place.write("notes.csv", &format!("note\n{notes}"));
    place.write("infinite.csv", "a\n1\ninf\n3\n4\n");
    let cases: [(&[&str], &str); 10] = [
        (&["one.csv"], "the table has 1 row; give at least two"),
        (&["two.csv"], "2 rows are too few to choose the number of clusters"),
        (&["two.csv", "--k", "3"], "3 clusters of 2 rows; give a number from 1 to 2"),
        (&["two.csv", "--k", "0"], "--k 0: give a whole number from 1, or auto"),
        (&["two.csv", "--k", "few"], "--k few: give a whole number"),
        (&["two.csv", "--k", "2", "--method", "dbscan"], "finds the number of clusters itself"),
        (&["same.csv"], "no column is left to learn from: a is 1 in every row"),
        (&["notes.csv"], "note is text"),
        (&["infinite.csv"], "column a is inf in row 2"),
        (&["two.csv", "--drop", "c"], "there is no column \"c\""),
    ];
    for (call, expected) in cases {
        let ran = place.run(&[&["cluster"], call].concat());
        assert!(ran.code == 1 || ran.code == 2, "{call:?}: {ran:?}");
        assert!(ran.err.contains(expected) && ran.out.is_empty(), "{call:?}: {ran:?}");
    }
    let both = place.run(&["cluster", "two.csv", "--k", "2"]).ok().out;
    assert!(both.starts_with("KMeans finds 2 clusters in 2 rows."), "{both}");
}

#[test]
fn ratings_are_recommended_better_than_means_predict_them() {
    let place = Place::new("recommend");
    let file = shipped("movie-ratings.csv");
    let fit = ["recommend", "fit", &file, "--user", "user", "--item", "movie", "--rating", "rating", "-o", "m.tove"];
    let found = place.run(&[&fit[..], &["--json"]].concat()).ok().json();
    let (own, means) = (found["test"]["rmse"].as_f64().unwrap(), found["baseline"]["rmse"].as_f64().unwrap());
    assert!(own < 0.98 * means, "{own} {means}");
    assert_eq!((&found["ratings"], &found["held_out"]), (&5191.into(), &1038.into()));

    let top = place.run(&["recommend", "top", "m.tove", "--user", "1", "--k", "200", "--json"]).ok().json();
    let items: Vec<&str> = top["items"].as_array().unwrap().iter().map(|one| one["item"].as_str().unwrap()).collect();
    let scores: Vec<f64> = top["items"].as_array().unwrap().iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|two| two[0] >= two[1]));
    let rows = place.run(&["convert", &file, "-o", "rows.json"]).ok();
    assert_eq!(rows.code, 0);
    let rows: Value = serde_json::from_str(&std::fs::read_to_string(place.path("rows.json")).unwrap()).unwrap();
    let rows = rows.as_array().unwrap();
    let seen: Vec<&str> =
        rows.iter().filter(|row| row["user"] == 1).map(|row| row["movie"].as_str().unwrap()).collect();
    assert!(!seen.is_empty() && seen.iter().all(|movie| !items.contains(movie)));
    assert_eq!(Some((seen.len() + items.len()) as u64), found["items"].as_u64());

    place
        .run(&["recommend", "top", "m.tove", "--user", "nobody"])
        .fails(2, &["knows no user \"nobody\"", "give one of them"]);
    place.run(&["predict", "m.tove", &file]).fails(2, &["tove recommend top"]);
    let inspected = place.run(&["inspect", "m.tove"]).ok().out;
    assert!(inspected.contains("rating of movie by user") && inspected.contains("RMSE"), "{inspected}");
    place.run(&fit).fails(2, &["exists already"]);
}

#[test]
fn choices_are_recommended_better_than_popular_items() {
    let place = Place::new("choices");
    let file = shipped("movie-ratings.csv");
    let fit = ["recommend", "fit", &file, "--user", "user", "--item", "movie", "-o", "m.tove", "--json"];
    let found = place.run(&fit).ok().json();
    assert_eq!(found["model"], "ImplicitFactorization");
    assert_eq!(found["tried"].as_array().unwrap().iter().filter(|one| one["chosen"] == true).count(), 1);
    for metric in ["precision_at_10", "recall_at_10", "map_at_10", "ndcg_at_10"] {
        let (own, popular) = (found["test"][metric].as_f64().unwrap(), found["baseline"][metric].as_f64().unwrap());
        assert!(own > popular && popular > 0.0 && own < 1.0, "{metric}: {own} {popular}");
    }
    let list = place.run(&["recommend", "top", "m.tove", "--user", "2", "--k", "3"]).ok().out;
    assert_eq!(list.lines().count(), 5, "{list}");
}

#[test]
fn bad_ratings_are_refused_with_advice() {
    let place = Place::new("recommend-bad");
    place.write("equal.csv", "u,i,r\na,x,5\nb,y,5\n");
    place.write("one.csv", "u,i,r\na,x,5\na,y,4\n");
    place.write("words.csv", "u,i,r\na,x,good\nb,y,bad\n");
    let fit = |call: &[&str]| place.run(&[&["recommend", "fit"], call, &["-o", "m.tove"]].concat());
    let rated = ["--user", "u", "--item", "i", "--rating", "r"];
    for (file, expected) in [
        ("equal.csv", "every rating in column r is 5"),
        ("one.csv", "column u has 1 different value"),
        ("words.csv", "the rating column r holds"),
    ] {
        let ran = fit(&[&[file], &rated[..]].concat());
        assert!(ran.code == 1 && ran.err.contains(expected), "{ran:?}");
    }
    fit(&["equal.csv", "--user", "u", "--item", "nope"]).fails(2, &["there is no column \"nope\""]);
    assert!(fit(&["equal.csv", "--user", "u", "--item", "u"]).err.contains("in different columns"));
    let small = fit(&["equal.csv", "--user", "u", "--item", "i"]).ok().out;
    assert!(small.contains("too little to hold anything out"), "{small}");
    place.run(&["recommend", "top", "m.tove", "--user", "a", "--k", "0"]).fails(2, &["--k 0"]);
}

#[test]
fn columns_are_reduced_to_components() {
    let place = Place::new("reduce");
    let file = shipped("wine.csv");
    let call =
        ["reduce", &file, "--id", "cultivar", "--components", "3", "-o", "c.csv", "--report", "r.html", "--json"];
    let found = place.run(&call).ok().json();
    let shares: Vec<f64> = found["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["explained_variance_ratio"].as_f64().unwrap())
        .collect();
    let weights: f64 = found["components"][0]["loadings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["weight"].as_f64().unwrap().powi(2))
        .sum();
    assert!((weights - 1.0).abs() < 1e-9);
    let csv = std::fs::read_to_string(place.path("c.csv")).unwrap();
    assert!(csv.starts_with("cultivar,pca0,pca1,pca2\n") && csv.lines().count() == 179, "{csv}");
    // The variance along a component is its share of that of 13 standardized columns.
    for (place, share) in shares.iter().enumerate() {
        let values = csv.lines().skip(1).map(|line| line.split(',').nth(place + 1).unwrap().parse::<f64>().unwrap());
        let variance = values.map(|value| value * value).sum::<f64>() / 178.0;
        assert!((variance - 13.0 * share).abs() < 1e-9, "{variance} {share}");
    }
    assert!(shares.windows(2).all(|two| two[0] > two[1]), "{shares:?}");
    let all = place.run(&["reduce", &file, "--drop", "cultivar", "--components", "all", "--json"]).ok().json();
    let all = all["components"].as_array().unwrap();
    let whole: f64 = all.iter().map(|one| one["explained_variance_ratio"].as_f64().unwrap()).sum();
    assert!(all.len() == 13 && (whole - 1.0).abs() < 1e-9);
    assert!(std::fs::read_to_string(place.path("r.html")).unwrap().contains("first two components"));

    let text = place.run(&["reduce", &file, "--drop", "cultivar", "--components", "0.9"]).ok().out;
    assert!(text.starts_with("PCA reduces 13 features of 178 rows to 8 components, which explain 92.0 %"), "{text}");
    for method in ["truncated_svd", "nmf"] {
        let found = place.run(&["reduce", &file, "--drop", "cultivar", "--method", method, "--json"]).ok().json();
        assert_eq!(found["components"].as_array().unwrap().len(), 2, "{method}");
    }
    // A layout has coordinates, but neither loadings nor shares of the variance; the same ones for the same seed.
    let call =
        ["reduce", &file, "--id", "cultivar", "--method", "umap", "--set", "n_epochs=50", "--json", "--overwrite"];
    let runs = ["--seed=1", "--seed=1", "--seed=2"].map(|seed| {
        let found = place.run(&[&call[..], &[seed, "-o", "u.csv", "--report", "u.html"]].concat()).ok().json();
        assert_eq!(
            found["components"][1],
            serde_json::json!({"name": "umap1", "explained_variance_ratio": null, "loadings": []})
        );
        std::fs::read_to_string(place.path("u.csv")).unwrap()
    });
    assert!(runs[0].starts_with("cultivar,umap0,umap1\n") && runs[0].lines().count() == 179, "{}", runs[0]);
    assert!(runs[0] == runs[1] && runs[0] != runs[2]);
    let page = std::fs::read_to_string(place.path("u.html")).unwrap();
    assert!(page.contains("first two components") && !page.contains("Loadings"));
    let text = place.run(&["reduce", &file, "--drop", "cultivar", "--method", "umap"]).ok().out;
    assert!(
        text.starts_with("UMAP reduces 13 features of 178 rows to 2 components.") && !text.contains("loadings"),
        "{text}"
    );
    place.write("one.csv", "a,b\n1,2\n");
    place.write("line.csv", "a\n1\n2\n3\n");
    for (call, expected) in [
        (["one.csv", "--components", "1"], "the table has 1 row"),
        (["line.csv", "--components", "2"], "give at most 1"),
        (["line.csv", "--components", "0"], "--components 0"),
        (["line.csv", "--components", "x"], "--components x"),
    ] {
        let ran = place.run(&[&["reduce"], &call[..]].concat());
        assert!((ran.code == 1 || ran.code == 2) && ran.err.contains(expected), "{ran:?}");
    }
}

#[test]
fn odd_tables_are_reduced_and_clustered_as_far_as_they_go() {
    let place = Place::new("odd-tables");
    let column: String = (0..30).map(|i| format!("{i}\n")).collect();
    place.write("one.csv", &format!("a\n{column}"));
    // As many components as there are, unless a number was asked for.
    assert_eq!(place.run(&["reduce", "one.csv", "--json"]).ok().json()["components"].as_array().unwrap().len(), 1);
    place.run(&["reduce", "one.csv", "--components", "2"]).fails(1, &["give at most 1"]);
    let repeated: String = (0..40).map(|i| format!("{},{}\n", i % 3, i % 3)).collect();
    place.write("three.csv", &format!("a,b\n{repeated}"));
    let ran = place.run(&["cluster", "three.csv", "--k", "10", "--json"]).ok();
    assert!(ran.err.contains("10 clusters were asked for and 3 have rows"), "{}", ran.err);
    assert_eq!(ran.json()["k"], 3);
    // Any model that finds clusters is a method; others are not.
    let found = place.run(&["cluster", "three.csv", "--method", "MiniBatchKMeans", "--k", "3", "--json"]).ok().json();
    assert_eq!(found["model"], "MiniBatchKMeans");
    place.run(&["cluster", "three.csv", "--method", "Ridge"]).fails(2, &["--method Ridge", "finds no clusters"]);
    place.run(&["cluster", "three.csv", "--method", "KMean"]).fails(2, &["--method KMean"]);
    place.run(&["cluster", "three.csv", "--method", "hdbscan", "--k", "3"]).fails(2, &["number of clusters itself"]);
    place.write("two.csv", "a,b\n1,2\n2,5\n");
    place.run(&["cluster", "two.csv", "--method", "hdbscan"]).fails(1, &["at least 5", "min_cluster_size"]);
    // Numbers are not written with hundreds of digits.
    let huge: String = (0..60).map(|i| format!("u{},i{},{}e307\n", i % 5, (i * 7) % 11, 1 + i % 5)).collect();
    place.write("huge.csv", &format!("u,i,r\n{huge}"));
    let ran =
        place.run(&["recommend", "fit", "huge.csv", "--user", "u", "--item", "i", "--rating", "r", "-o", "m.tove"]);
    ran.fails(1, &["moderate size", "e30"]);
    assert!(!place.path("m.tove").exists());
}
