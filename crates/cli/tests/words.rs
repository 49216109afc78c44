//! Word vectors on the command line, and served with recommenders.
#![allow(clippy::unwrap_used)]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::server::{PATIENCE, Server};
use common::{Place, shipped};
use serde_json::{Value, json};

/// Sentences in which animals, colors and verbs keep their own company.
fn sentences() -> String {
    let (animals, colors) = (["cat", "dog", "horse", "cow"], ["red", "green", "blue", "white"]);
    let verbs = ["runs", "sleeps", "eats", "waits"];
    let place = |i: usize| if i.is_multiple_of(10) { "New York" } else { "Rome" };
    (0..400)
        .map(|i| format!("The {} {} {} in {}\n", colors[i / 16 % 4], animals[i % 4], verbs[i / 4 % 4], place(i)))
        .collect()
}

const SMALL: [&str; 4] = ["--set", "dimension=12", "--set", "epochs=3"];

/// A model of a method in `m.tove`.
fn fitted(place: &Place, method: &str) -> Value {
    place.write("t.txt", &sentences());
    let call = ["words", "fit", "t.txt", "--method", method, "-o", "m.tove", "--overwrite", "--json", "-q"];
    place.run(&[&call[..], &SMALL].concat()).ok().json()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["word"].as_str().unwrap()).collect()
}

#[test]
fn every_method_learns_saves_and_answers() {
    let place = Place::new("words");
    for (method, name) in
        [("skip_gram", "Word2Vec"), ("cbow", "Word2Vec"), ("glove", "GloVe"), ("fasttext", "FastText")]
    {
        let found = fitted(&place, method);
        assert_eq!(
            (&found["model"], &found["vocabulary"], &found["dimension"]),
            (&name.into(), &17.into(), &12.into())
        );
        assert_eq!((&found["texts"], &found["words"]), (&400.into(), &2440.into()), "{method}");
        assert_eq!(found["curve"].as_array().unwrap().len(), 3);
        let found = place.run(&["words", "nearest", "m.tove", "Cat", "--k", "3", "--json"]).ok().json();
        assert_eq!(words(&found["nearest"]).len(), 3);
        assert!(!words(&found["nearest"]).contains(&"cat"));
        let found = place.run(&["words", "analogy", "m.tove", "cat", "dog", "red", "--json"]).ok().json();
        assert!(words(&found["answers"]).len() == 5 && !words(&found["answers"]).contains(&"red"));
        let inspected = place.run(&["inspect", "m.tove"]).ok().out;
        assert!(inspected.contains("17 words") && inspected.contains(name), "{inspected}");
        // Words that were never seen: only n-grams say something of them.
        let unseen = place.run(&["words", "nearest", "m.tove", "horses"]);
        match method {
            "fasttext" => assert!(unseen.ok().out.contains("horse")),
            _ => unseen.fails(2, &["\"horses\" is not in the vocabulary", "horse"]),
        }
        place.run(&["words", "nearest", "m.tove", "", "--k", "2"]).fails(2, &["not in the vocabulary"]);
    }
    // What the file is not for.
    place.write("t.csv", "a,b\n1,2\n");
    for command in ["predict", "evaluate", "explain"] {
        place.run(&[command, "m.tove", "t.csv"]).fails(2, &["word vectors", "tove words nearest"]);
    }
    place.run(&["words", "nearest", "m.tove", "cat", "--k", "0"]).fails(2, &["--k 0"]);
    place.run(&["recommend", "top", "m.tove", "--user", "1"]).fails(2, &["not a recommender"]);
    let models = place.run(&["models"]).ok().out;
    assert!(models.contains("Word vectors") && models.contains("FastText"), "{models}");
    let described = place.run(&["models", "word2vec"]).ok().out;
    assert!(described.contains("min_count") && described.contains("tove words fit"), "{described}");
    place.run(&["models", "GloVe", "--json"]).ok().json();
}

#[test]
fn the_report_shows_the_vectors() {
    let place = Place::new("words-report");
    place.write("t.txt", &sentences());
    place.write("q.txt", ": some\ncat dog horse cow\nred green blue sky\n");
    let call =
        ["words", "fit", "t.txt", "--phrases", "20", "--questions", "q.txt", "-o", "m.tove", "--report", "r.html"];
    let text = place.run(&[&call[..], &SMALL].concat()).ok().out;
    assert!(text.contains("joining") && text.contains("1 more have unknown words"), "{text}");
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    for part in ["<svg", "principal components", ">cat<", "Analogies", "new_york", "Loss"] {
        assert!(page.contains(part), "no {part}");
    }
    // A phrase is found by its words.
    place.run(&["words", "nearest", "m.tove", "New York"]).ok();
    place.run(&call).fails(2, &["exists already"]);
    place.run(&["words", "fit", "t.txt", "-o", "t.txt", "--overwrite"]).fails(2, &["same file"]);
    let scores = place.run(&["words", "analogy", "m.tove", "--questions", "q.txt", "--json"]).ok().json();
    assert_eq!((&scores["sections"][0]["total"], &scores["sections"][0]["skipped"]), (&1.into(), &1.into()));
}

#[test]
fn files_of_word2vec_are_written_and_read() {
    let place = Place::new("words-files");
    fitted(&place, "skip_gram");
    let nearest = |file: &str| {
        let found = place.run(&["words", "nearest", file, "cat", "--json"]).ok().json();
        words(&found["nearest"]).iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    for (from, to) in [("m.tove", "v.txt"), ("v.txt", "v.bin"), ("v.bin", "v.tove"), ("v.tove", "v.vec")] {
        place.run(&["words", "convert", from, "-o", to]).ok();
        assert_eq!(nearest(to), nearest("m.tove"), "{to}");
    }
    assert!(std::fs::read_to_string(place.path("v.txt")).unwrap().starts_with("17 12\n"));
    assert!(place.run(&["inspect", "v.tove"]).ok().out.contains("word2vec file"));
    let direct = ["words", "fit", "t.txt", "-o", "d.txt", "-q"];
    place.run(&[&direct[..], &SMALL].concat()).ok();
    assert_eq!(std::fs::read(place.path("d.txt")).unwrap(), std::fs::read(place.path("v.txt")).unwrap());
    fitted(&place, "fasttext");
    let told = place.run(&["words", "convert", "m.tove", "-o", "f.bin"]).ok();
    assert!(told.err.contains("n-grams"), "{told:?}");

    // Files that are none.
    for (text, problem) in [
        ("", "line 1"),
        ("cat 1 2\n", "line 1"),
        ("1 2\ncat 1 nan\n", "\"nan\" is not a finite number"),
        ("1 2\ncat 1 inf\n", "not a finite number"),
        ("1 2\ncat 1\n", "1 numbers in place of 2"),
        ("1 2\nnew york 1 2\n", "\"york\" is not a finite number"),
        ("2 2\ncat 1 2\ncat 3 4\n", "occurs twice"),
        ("3 2\ncat 1 2\ndog 3 4\n", "announces 3 words"),
        ("99999999999 99999999999\ncat 1 2\n", "do not fit"),
    ] {
        place.write("bad.txt", text);
        place.run(&["words", "nearest", "bad.txt", "cat"]).fails(1, &["bad.txt", problem]);
    }
    std::fs::write(place.path("bad.bin"), [&b"1 2\ncat "[..], &f32::NAN.to_le_bytes(), &[0; 4]].concat()).unwrap();
    place.run(&["words", "nearest", "bad.bin", "cat"]).fails(1, &["bad.bin", "NaN"]);
    std::fs::write(place.path("bad.bin"), b"1 2\ncat 1234567").unwrap();
    place.run(&["words", "nearest", "bad.bin", "cat"]).fails(1, &["ends within the vector"]);
    let mut damaged = std::fs::read(place.path("v.tove")).unwrap();
    let last = damaged.len() - 3;
    damaged[last] ^= 1;
    std::fs::write(place.path("v.tove"), damaged).unwrap();
    place.run(&["words", "nearest", "v.tove", "cat"]).fails(1, &["v.tove"]);
    place.run(&["words", "nearest", "none.tove", "cat"]).fails(1, &["none.tove"]);
}

#[test]
fn texts_that_do_not_suffice_are_refused() {
    let place = Place::new("words-few");
    place.write("empty.txt", "");
    place.write("one.txt", "word\n");
    place.write("same.txt", &"word word word\n".repeat(10));
    place.write("rare.txt", "a few words here\n");
    let fit = |call: &[&str]| place.run(&[&["words", "fit"], call, &["-o", "m.tove"]].concat());
    fit(&["empty.txt"]).fails(1, &["empty.txt", "without a single word"]);
    fit(&["one.txt", "--set", "min_count=1"]).fails(1, &["no word has a context"]);
    fit(&["rare.txt"]).fails(1, &["none of 4 words occurs 5 times", "min_count"]);
    fit(&["nowhere.txt"]).fails(1, &["nowhere.txt"]);
    fit(&["rare.txt", "--set", "dimension=0"]).fails(2, &["dimension"]);
    fit(&["rare.txt", "--set", "depth=3"]).fails(2, &["depth"]);
    fit(&["rare.txt", "--phrases", "nan"]).fails(2, &["--phrases"]);
    fit(&["rare.txt", "--set", "dimension=1000000000000000", "--set", "min_count=1"]).fails(1, &["memory"]);
    std::fs::write(place.path("bytes.txt"), b"a\xff\xfeb").unwrap();
    fit(&["bytes.txt"]).fails(1, &["not UTF-8"]);
    assert!(!place.files().contains(&"m.tove".to_owned()));
    // One word is a vocabulary, though nothing is near it.
    let one = ["same.txt", "--report", "r.html"];
    fit(&one).ok();
    assert!(place.run(&["words", "nearest", "m.tove", "word"]).ok().out.contains("similarity"));
}

#[test]
fn texts_come_from_several_files_gzip_and_pipes() {
    let place = Place::new("words-pipes");
    let text = sentences();
    let (first, second) = text.split_at(text.len() / 2 / 28 * 28);
    let cut = first.len() - first.rfind('\n').map_or(0, |at| at + 1);
    place.write("whole.txt", &text);
    place.write("a.txt", &first[..first.len() - cut]);
    place.write("b.txt", &format!("{}{second}", &first[first.len() - cut..]));
    let call = |files: &[&str], out: &str, input: &str| {
        let call = [&["words", "fit"], files, &["-o", out, "-q"], &SMALL].concat();
        place.run_with(&call, input).ok();
        std::fs::read(place.path(out)).unwrap()
    };
    let whole = call(&["whole.txt"], "1.txt", "");
    assert_eq!(call(&["a.txt", "b.txt"], "2.txt", ""), whole);
    assert_eq!(call(&["-"], "3.txt", &text), whole);
    assert!(Command::new("gzip").arg("-k").arg(place.path("whole.txt")).status().unwrap().success());
    assert_eq!(call(&["whole.txt.gz"], "4.txt", ""), whole);
    for threads in ["1", "2", "3", "8"] {
        assert_eq!(call(&["whole.txt", "--threads", threads], &format!("t{threads}.txt"), ""), whole);
    }
    place.run(&["words", "fit", "-", "-", "-o", "m.tove"]).fails(2, &["only once"]);
    // Vectors to a pipe have no words between.
    let mut piped = Command::new(env!("CARGO_BIN_EXE_tove"));
    let piped = piped.args(["words", "fit", "whole.txt", "-o", "/dev/stdout"]).args(SMALL).current_dir(place.path(""));
    let piped = piped.output().unwrap();
    assert!(
        piped.status.success() && String::from_utf8_lossy(&piped.stderr).contains("vectors of length"),
        "{piped:?}"
    );
    std::fs::write(place.path("piped.tove"), piped.stdout).unwrap();
    place.run(&["words", "nearest", "piped.tove", "cat"]).ok();
    let paragraphs = ["words", "fit", "whole.txt", "--texts", "paragraph", "-o", "p.tove", "--json"];
    assert_eq!(place.run(&[&paragraphs[..], &SMALL].concat()).ok().json()["texts"], 1);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disks_endless_devices_and_fifos() {
    let place = Place::new("words-devices");
    fitted(&place, "skip_gram");
    place.run(&[&["words", "fit", "t.txt", "-o", "/dev/full"][..], &SMALL].concat()).fails(1, &["/dev/full"]);
    std::os::unix::fs::symlink("/dev/zero", place.path("zero.bin")).unwrap();
    place.run(&["words", "nearest", "zero.bin", "cat"]).fails(1, &["line 1"]);
    place.run(&["words", "convert", "m.tove", "-o", "v.txt"]).ok();
    assert!(Command::new("mkfifo").arg(place.path("f.txt")).status().unwrap().success());
    let vectors = std::fs::read(place.path("v.txt")).unwrap();
    let fifo = place.path("f.txt");
    let writer = std::thread::spawn(move || std::fs::write(fifo, vectors).unwrap());
    place.run(&["words", "nearest", "f.txt", "cat"]).ok();
    writer.join().unwrap();
}

/// Waits until a process handles the signal of Ctrl-C itself.
#[cfg(target_os = "linux")]
fn until_it_listens(process: u32) {
    let start = Instant::now();
    let listens = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&caught, 16).unwrap() & 2 != 0
    };
    while !listens() {
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_training_is_kept() {
    let place = Place::new("words-interrupt");
    place.write("t.txt", &sentences());
    for method in ["skip_gram", "glove"] {
        let child = Command::new(env!("CARGO_BIN_EXE_tove"))
            .args(["words", "fit", "t.txt", "--method", method, "--set", "epochs=100000000", "-o", "m.tove"])
            .args(["--overwrite", "--json", "--set", "dimension=8"])
            .current_dir(place.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until_it_listens(child.id());
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        // As after an interrupted fit: what there is is kept, and the code says that it is not all.
        assert!(start.elapsed() < PATIENCE && ended.status.code() == Some(130), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("the vectors so far are in m.tove"), "{ended:?}");
        let found: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(found["converged"], false);
        assert!(found["warnings"][0].as_str().unwrap().contains("interrupted"), "{found}");
        place.run(&["words", "nearest", "m.tove", "cat"]).ok();
    }
}

const JSON: &str = "application/json";

fn ask(server: &Server, path: &str, body: &Value) -> common::server::Reply {
    server.ask("POST", path, JSON, body.to_string().as_bytes())
}

#[test]
fn word_vectors_are_served() {
    let place = Place::new("words-serve");
    fitted(&place, "skip_gram");
    let server = Server::start(&place, "m.tove", &["--max-rows", "12", "--max-body", "1"]);
    let told = place.run(&["words", "nearest", "m.tove", "cat", "--k", "4", "--json"]).ok().json();
    assert_eq!(ask(&server, "/nearest", &json!({"word": "cat", "k": 4})).json(), told);
    let told = place.run(&["words", "analogy", "m.tove", "cat", "dog", "red", "--json"]).ok().json();
    assert_eq!(ask(&server, "/analogy", &json!({"a": "cat", "b": "dog", "c": "red", "k": 5})).json(), told);
    assert_eq!(words(&ask(&server, "/nearest", &json!({"word": "DOG"})).json()["nearest"]).len(), 10);
    ask(&server, "/nearest", &json!({"word": "unicorn"})).refused(400, &["\"unicorn\" is not in the vocabulary"]);
    ask(&server, "/nearest", &json!({"word": "cat", "k": 0})).refused(400, &["k is 0"]);
    ask(&server, "/nearest", &json!({"word": "cat", "k": 13})).refused(413, &["at most 12", "--max-rows"]);
    for body in [
        json!({}),
        json!({"word": 3}),
        json!({"word": "cat", "count": 3}),
        json!(["cat"]),
        json!({"word": "cat", "k": -1}),
    ] {
        ask(&server, "/nearest", &body).refused(400, &["not a valid request", "\"word\""]);
    }
    ask(&server, "/analogy", &json!({"a": "cat", "b": "dog"})).refused(400, &["missing field `c`"]);
    server.ask("POST", "/nearest", JSON, b"{").refused(400, &["not a valid request"]);
    server.ask("POST", "/nearest", "text/plain", b"cat").refused(415, &["application/json"]);
    server.ask("POST", "/nearest", JSON, &vec![b' '; (1 << 20) + 1]).refused(413, &["--max-body"]);
    server.ask("GET", "/nearest", "", b"").refused(405, &["POST"]);
    server.ask("POST", "/predict", JSON, b"{}").refused(404, &["/predict"]);
    let schema = server.ask("GET", "/schema", "", b"").json();
    assert_eq!((&schema["vocabulary"], &schema["unseen_words"]), (&17.into(), &false.into()));
    assert_eq!(server.ask("GET", "/health", "", b"").json()["model"], "Word2Vec");
    let page = server.ask("GET", "/", "", b"").body;
    assert!(page.contains("Nearest words") && page.contains("/analogy"), "{page}");
}

#[test]
fn recommenders_are_served() {
    let place = Place::new("recommend-serve");
    let mut text = String::from("user,item,stars\n");
    for user in 0..30 {
        for item in 0..6 {
            text.push_str(&format!("{user},item {},{}\n", (user + item * 3) % 20, 1 + (user % 3 + item) % 5));
        }
    }
    place.write("r.csv", &text);
    let fit =
        ["recommend", "fit", "r.csv", "--user", "user", "--item", "item", "--rating", "stars", "-o", "r.tove", "-q"];
    place.run(&fit).ok();
    let server = Server::start(&place, "r.tove", &[]);
    let told = place.run(&["recommend", "top", "r.tove", "--user", "7", "--k", "4", "--json"]).ok().json();
    for user in [json!("7"), json!(7)] {
        assert_eq!(ask(&server, "/recommend", &json!({"user": user, "k": 4})).json(), told);
    }
    // Without what the user has rated.
    let all = ask(&server, "/recommend", &json!({"user": 7, "k": 1000})).json();
    let items: Vec<&str> = all["items"].as_array().unwrap().iter().map(|one| one["item"].as_str().unwrap()).collect();
    assert!(items.len() == 14 && !items.contains(&"item 7"), "{items:?}");
    ask(&server, "/recommend", &json!({"user": "nobody"})).refused(400, &["knows no user \"nobody\""]);
    ask(&server, "/recommend", &json!({"user": [7]})).refused(400, &["not a valid request", "\"user\""]);
    ask(&server, "/nearest", &json!({"word": "cat"})).refused(404, &["/nearest"]);
    let schema = server.ask("GET", "/schema", "", b"").json();
    assert_eq!((&schema["users"], &schema["items"], &schema["rating"]), (&30.into(), &20.into(), &"stars".into()));
    assert!(server.ask("GET", "/", "", b"").body.contains("Recommend item"));
    assert!(server.ask("GET", "/metrics", "", b"").body.contains("tove"));
    place.run(&["predict", "r.tove", "r.csv"]).fails(2, &["recommender", "tove recommend top"]);
    place.run(&["evaluate", "r.tove", "r.csv"]).fails(2, &["recommender", "tove recommend top"]);
}

#[test]
fn clusterings_are_served_with_their_labels() {
    let place = Place::new("cluster-serve");
    let iris = shipped("iris.csv");
    place.run(&["cluster", &iris, "--drop", "species", "--k", "3", "-o", "c.tove", "-q"]).ok();
    let server = Server::start(&place, "c.tove", &[]);
    let text = std::fs::read_to_string(&iris).unwrap();
    let reply = server.post("text/csv", &text);
    let rows = place.run(&["predict", "c.tove", &iris, "--json"]).ok().json();
    let labels = |rows: &Value| -> Vec<i64> {
        rows.as_array().unwrap().iter().map(|row| row["cluster"].as_i64().unwrap()).collect()
    };
    assert_eq!(labels(&reply.json()["predictions"]), labels(&rows));
}
