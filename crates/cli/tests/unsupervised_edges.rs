//! Contradictory calls, names of outputs, extreme numbers and interruptions of the commands without a target.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, shipped};

#[test]
fn contradictions_and_unknown_methods_are_refused() {
    let place = Place::new("edges-calls");
    let iris = shipped("iris.csv");
    let cluster = |call: &[&str]| place.run(&[&["cluster", &iris, "--drop", "species"], call].concat());
    cluster(&["--k", "4", "--set", "n_clusters=3"]).fails(2, &["--k 4", "--set n_clusters", "one of them"]);
    cluster(&["--k", "4", "-m", "gaussian_mixture", "--set", "n_components=3"]).fails(2, &["--set n_components"]);
    cluster(&["--set", "n_clusters=3"]).ok();
    let unknown = cluster(&["--method", "fuzzy"]);
    unknown.fails(2, &["--method fuzzy: there is no such method", "kmeans"]);
    assert!(!unknown.err.contains("Ridge"), "{}", unknown.err);
    let reduce = ["reduce", &iris, "--drop", "species", "--components", "3", "--set", "n_components=2"];
    place.run(&reduce).fails(2, &["--components", "--set n_components"]);
}

#[test]
fn models_are_not_written_under_the_names_of_tables() {
    let place = Place::new("edges-names");
    let (iris, ratings) = (shipped("iris.csv"), shipped("movie-ratings.csv"));
    place.write("t.txt", &"some words about other words\n".repeat(20));
    for call in [
        &["fit", &iris, "--target", "species", "-m", "GaussianNB", "-o", "m.csv"][..],
        &["cluster", &iris, "--drop", "species", "-o", "m.json"],
        &["recommend", "fit", &ratings, "--user", "user", "--item", "movie", "-o", "m.PARQUET"],
        &["words", "fit", "t.txt", "-o", "m.html"],
    ] {
        place.run(call).fails(2, &[call[call.len() - 1], "a model is not", ".tove"]);
    }
    assert!(place.files().iter().all(|name| !name.starts_with("m.")), "{:?}", place.files());
}

#[cfg(unix)]
#[test]
fn a_dash_is_standard_output() {
    let place = Place::new("edges-dash");
    let iris = shipped("iris.csv");
    let ran = place.run(&["reduce", &iris, "--drop", "species", "-o", "-"]).ok();
    assert!(ran.out.starts_with("pca0,pca1\n") && ran.out.lines().count() == 151, "{}", ran.out);
    assert!(ran.err.contains("PCA reduces 4 features"), "{}", ran.err);
    place.run(&["reduce", &iris, "--components", "all", "-o", "i.tove"]).ok();
    let back = place.run(&["rebuild", "i.tove", "-o", "-"]).ok().out;
    assert!(back.starts_with("sepal") && back.lines().count() == 151, "{back}");
    assert!(!place.files().contains(&"-".to_owned()), "{:?}", place.files());
}

/// Numbers whose squares overflow are standardized; what they would be otherwise cannot be shown. Where numbers stay as they are,
/// the message names the column.
#[test]
fn extreme_numbers_are_reduced_or_named() {
    let place = Place::new("edges-numbers");
    place.write("huge.csv", "a,b\n1e308,2\n-1e308,3\n3,4\n5,1\n");
    let found = place.run(&["reduce", "huge.csv", "--json"]).ok().json();
    assert_eq!((&found["scaling"], found["components"].as_array().unwrap().len()), (&serde_json::Value::Null, 2));
    place.write("negative.csv", "a,b\n1,2\n3,-4\n5,7\n");
    let ran = place.run(&["reduce", "negative.csv", "--method", "nmf"]);
    ran.fails(1, &["column b is -4 in row 2", "--drop b"]);
    assert!(!ran.err.contains("MinMaxScaler"), "{}", ran.err);
    place.write("ratings.csv", "u,i,r\na,x,5\nb,y,3\na,y,1e300\nb,x,2\n");
    let fit = ["recommend", "fit", "ratings.csv", "--user", "u", "--item", "i", "--rating", "r", "-o", "m.tove"];
    place.run(&fit).fails(1, &["column r is 1e300", "row 3"]);
    place.write("missing.csv", "a,b\n1,2\n,3\n3,4\n5,1\n");
    assert!(place.run(&["cluster", "missing.csv", "--k", "2"]).ok().err.contains("column a: 1 missing value imputed"));
}

#[test]
fn booleans_are_rebuilt_and_users_keep_their_names() {
    let place = Place::new("edges-kinds");
    place.write("t.csv", "a,good,b\n1,true,2\n3,false,4\n5,true,1\n9,true,9\n7,false,3\n");
    place.run(&["reduce", "t.csv", "--components", "all", "-o", "t.tove"]).ok();
    place.run(&["rebuild", "t.tove", "-o", "back.csv"]).ok();
    let back = std::fs::read_to_string(place.path("back.csv")).unwrap();
    let good: Vec<&str> = back.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(good, ["true", "false", "true", "true", "false"], "{back}");
    // One fraction among the names makes numbers of them; 1 stays 1.
    place.write("u.csv", "u,i\n1,x\n1.5,y\n2,x\n2,y\n1,y\n");
    place.run(&["recommend", "fit", "u.csv", "--user", "u", "--item", "i", "-o", "m.tove"]).ok();
    for user in ["1", "1.5", "2"] {
        place.run(&["recommend", "top", "m.tove", "--user", user]).ok();
    }
}

#[test]
fn files_of_another_kind_are_told_apart() {
    let place = Place::new("edges-files");
    let iris = shipped("iris.csv");
    place.run(&["cluster", &iris, "--drop", "species", "-o", "c.tove"]).ok();
    place.run(&["recommend", "top", "c.tove", "--user", "1"]).fails(2, &["a model of tables, not a recommender"]);
    for call in [
        &["predict", &iris, &iris][..],
        &["recommend", "top", &iris, "--user", "1"],
        &["rebuild", &iris, "-o", "x.csv"],
        &["inspect", &iris],
        &["words", "nearest", &iris, "word"],
    ] {
        place.run(call).fails(1, &["iris.csv is not a model file", "tove fit"]);
    }
    place.write("none.txt", "");
    place.write("t.txt", &"some words about other words\n".repeat(20));
    place.run(&["words", "fit", "t.txt", "-o", "w.tove", "--set", "dimension=4"]).ok();
    place.run(&["words", "analogy", "w.tove", "--questions", "none.txt"]).fails(1, &["no analogy questions"]);
    std::fs::create_dir(place.path("one")).unwrap();
    image::GrayImage::new(4, 4).save(place.path("one/a.png")).unwrap();
    place.run(&["reduce", "one"]).fails(1, &["1 image; components need at least two"]);
}

/// The distances of all pairs are held once.
#[cfg(target_os = "linux")]
#[test]
fn trees_of_merges_take_half_a_matrix_of_memory() {
    let place = Place::new("edges-memory");
    let n = 6000usize;
    let row = |i: usize| format!("{},{}\n", i * 7919 % 6007, i * 104_729 % 5987);
    place.write("t.csv", &format!("a,b\n{}", (0..n).map(row).collect::<String>()));
    let (ran, peak) = place.watched(&["cluster", "t.csv", "--method", "agglomerative", "--k", "3", "--json"]);
    ran.ok();
    let table = (n * n / 2 * 8) as f64 / 1048576.0;
    println!("{peak:.0} MB for {table:.0} MB of distances");
    assert!(peak > table && peak < 1.6 * table, "{peak} MB for {table} MB of distances");
}
