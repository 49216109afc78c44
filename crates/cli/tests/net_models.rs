//! `tove evaluate` and `tove serve` on models of images and texts: right answers, and 4xx for what is wrong.
#![allow(clippy::unwrap_used)]

mod common;

use common::server::{Reply, Server};
use common::{Place, Ran};
use image::{DynamicImage, GrayImage, ImageFormat, Luma, RgbImage};
use serde_json::{Value, json};

const JSON: &str = "application/json";

/// Bright on the left or on the right, in three sizes.
fn picture(left: bool, seed: u32) -> DynamicImage {
    let side = [12, 16, 20][seed as usize % 3];
    let bright = |x: u32| (x * 2 < side) == left;
    DynamicImage::from(GrayImage::from_fn(side, side, |x, y| {
        Luma([if bright(x) { 200 } else { 20 } + ((x * 7 + y * 13 + seed * 31) % 40) as u8])
    }))
}

fn bytes(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Labeled images in a folder.
fn write_pictures(place: &Place, folder: &str, from: u32, count: u32) {
    for (class, left) in [("left", true), ("right", false)] {
        std::fs::create_dir_all(place.path(&format!("{folder}/{class}"))).unwrap();
        for seed in from..from + count {
            let path = place.path(&format!("{folder}/{class}/{seed}.png"));
            std::fs::write(path, bytes(&picture(left, seed), ImageFormat::Png)).unwrap();
        }
    }
}

/// A model of sides in `side.tove`, of images of 12 × 12 pixels.
fn sides(place: &Place) {
    write_pictures(place, "train", 0, 40);
    let fit = ["images", "fit", "train", "--size", "12", "--epochs", "8", "--hidden", "8", "-o", "side.tove", "-q"];
    place.run(&fit).ok();
}

/// A model of a sentence in `fox.tove`.
fn fox(place: &Place) {
    place.write("fox.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(60));
    let fit = ["text", "fit", "fox.txt", "--layers", "1", "--heads", "2", "--width", "32", "--context", "16"];
    place.run(&[&fit[..], &["--steps", "300", "-o", "fox.tove", "-q"]].concat()).ok();
}

fn value(ran: &Ran, id: &str) -> f64 {
    ran.json()["scores"][id]["value"].as_f64().unwrap_or_else(|| panic!("no {id}: {}", ran.out))
}

#[test]
fn image_models_are_evaluated_on_labeled_folders() {
    let place = Place::new("net-evaluate");
    sides(&place);
    write_pictures(&place, "new", 100, 15);
    // Some labels are wrong, so that the accuracy is known: 27 of 30.
    for seed in 100..103 {
        std::fs::rename(place.path(&format!("new/left/{seed}.png")), place.path(&format!("new/right/x{seed}.png")))
            .unwrap();
    }
    let evaluate = |more: &[&str]| place.run(&[&["evaluate", "side.tove", "new"], more].concat());
    let ran = evaluate(&["--json"]).ok();
    assert_eq!((value(&ran, "accuracy"), ran.json()["rows"].as_u64()), (0.9, Some(30)));
    assert!(value(&ran, "log_loss") > 0.0 && value(&ran, "roc_auc") > 0.5, "{}", ran.out);
    let text = evaluate(&[]).ok().out;
    assert!(text.contains("accuracy 0.9000 ± 0.10") && !text.contains('['), "{text}");
    let prose = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(prose.contains("most frequent class has 0.6000, so the difference is clear"), "{text}");
    let verbose = evaluate(&["--verbose"]).ok().out;
    assert!(verbose.contains("0.9000 [") && verbose.contains("Hoeffding"), "{verbose}");
    let first = evaluate(&["--metric", "log_loss", "--report", "r.html"]).ok().out;
    assert!(first.starts_with("The MLP classifies 30 images with log loss "), "{first}");
    assert!(std::fs::read_to_string(place.path("r.html")).unwrap().contains("Confusion matrix"));
    evaluate(&["--metric", "r2"]).fails(2, &["--metric r2", "classification", "accuracy"]);
    evaluate(&["--delimiter", ";"]).fails(2, &["options for reading tables"]);
    evaluate(&["--report", "r.html"]).fails(2, &["r.html exists already"]);
    std::fs::rename(place.path("new/left"), place.path("new/above")).unwrap();
    evaluate(&[]).fails(1, &["new", "no class \"above\"", "left, right"]);
    place.run(&["evaluate", "side.tove", "nowhere"]).fails(1, &["nowhere", "folder"]);
    place.run(&["evaluate", "side.tove", "digits"]).fails(1, &["8 × 8", "12 × 12"]);
}

#[test]
fn text_models_are_evaluated_on_texts() {
    let place = Place::new("net-evaluate-text");
    fox(&place);
    place.write("same.txt", &"the lazy dog jumps over the quick brown fox. ".repeat(5));
    place.write("other.txt", "the god lazy dog zyx wvu tsr qpo nml kji hgf edc ba");
    let evaluate = |file: &str, more: &[&str]| place.run(&[&["evaluate", "fox.tove", file], more].concat());
    let (same, other) = (evaluate("same.txt", &["--json"]).ok(), evaluate("other.txt", &["--json"]).ok());
    assert!(value(&same, "log_loss") < 1.5 && value(&same, "log_loss") < value(&other, "log_loss"));
    assert!((value(&same, "perplexity").ln() - value(&same, "log_loss")).abs() < 1e-9);
    assert_eq!(value(&same, "nats_per_character"), value(&same, "log_loss"), "a token is a character");
    let text = evaluate("same.txt", &["--metric", "perplexity"]).ok().out;
    let rows: Vec<&str> = text.lines().map(str::trim).collect();
    let place_of = |name: &str| rows.iter().position(|row| row.starts_with(name)).unwrap();
    assert!(place_of("perplexity") < place_of("log loss"), "{text}");
    evaluate("same.txt", &["--metric", "roc_auc"]).fails(2, &["--metric roc_auc", "perplexity"]);
    place.write("unknown.txt", "the Ω fox");
    evaluate("unknown.txt", &[]).fails(1, &["unknown.txt", "'Ω'"]);
    place.write("empty.txt", "");
    evaluate("empty.txt", &[]).fails(1, &["empty.txt"]);
    evaluate("none.txt", &[]).fails(1, &["none.txt"]);
}

fn class(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["predictions"][0]["predicted class"].clone()
}

#[test]
fn an_image_model_is_served() {
    let place = Place::new("net-serve");
    sides(&place);
    let server = Server::start(&place, "side.tove", &["--max-body", "1", "--max-rows", "3"]);
    for (left, name) in [(true, "left"), (false, "right")] {
        let picture = picture(left, 200);
        assert_eq!(class(&server.post("image/png", bytes(&picture, ImageFormat::Png))), name);
        assert_eq!(class(&server.post("image/jpeg", bytes(&picture, ImageFormat::Jpeg))), name);
        // The same probabilities as on the command line.
        std::fs::write(place.path("one.png"), bytes(&picture, ImageFormat::Png)).unwrap();
        let told = place.run(&["images", "predict", "side.tove", "one.png", "--json"]).ok().json();
        let encoded = base64::encode(bytes(&picture, ImageFormat::Png));
        let reply = server.post(JSON, json!({"image": encoded}).to_string()).json();
        for class in ["left", "right"] {
            assert_eq!(reply["predictions"][0][format!("P({class})")], told[0]["probabilities"][class]);
        }
        let both = server.post(JSON, json!({"images": [encoded, encoded]}).to_string()).json();
        assert_eq!(both["predictions"][1], reply["predictions"][0]);
    }
    for (path, words) in [("/", "Classify an image"), ("/schema", "\"height\":12"), ("/health", "images")] {
        let reply = server.ask("GET", path, "", b"");
        assert!(reply.status == 200 && reply.body.contains(words), "{reply:?}");
    }
    // What is wrong is refused with a sentence, and the server goes on.
    let good = bytes(&picture(true, 1), ImageFormat::Png);
    server.post("image/png", b"").refused(400, &["empty"]);
    server.post("image/png", b"no image").refused(400, &["the image"]);
    server.post("image/png", &good[..good.len() / 2]).refused(400, &["the image"]);
    let mut broken = good.clone();
    (20..broken.len()).step_by(3).for_each(|at| broken[at] ^= 0x5a);
    server.post("image/png", &broken).refused(400, &["the image"]);
    server.post("text/csv", &good).refused(415, &["text/csv", "image/png"]);
    for (body, words) in [
        ("{", "not valid JSON"),
        ("[]", "no images"),
        ("{}", "no images"),
        (r#"{"image": 3}"#, "image: expected a string"),
        (r#"{"image": "%%%"}"#, "not base64"),
        (r#"{"images": []}"#, "empty"),
        (r#"{"images": ["AAAA"]}"#, "images[0]"),
        (r#"{"image": "AAAA", "more": 1}"#, "no images"),
    ] {
        server.post(JSON, body).refused(400, &[words]);
    }
    server.post(JSON, "[".repeat(100_000)).refused(400, &["not valid JSON"]);
    server.post(JSON, json!({"images": vec!["AAAA"; 4]}).to_string()).refused(413, &["more than 3 images"]);
    server.post("image/png", vec![0; 2 << 20]).refused(413, &["1 MB"]);
    // A few bytes that would unpack to 100 million pixels.
    let mut bomb = bytes(&DynamicImage::from(RgbImage::new(1, 1)), ImageFormat::Png);
    bomb[16..24].copy_from_slice(&[0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10]);
    let sum = crc(&bomb[12..29]).to_be_bytes();
    bomb[29..33].copy_from_slice(&sum);
    server.post("image/png", bomb).refused(400, &["10000 × 10000 pixels"]);
    server.ask("POST", "/generate", JSON, b"{}").refused(404, &["/generate"]);
    server.ask("GET", "/predict", "", b"").refused(405, &["POST"]);
    assert_eq!(class(&server.post("", &good)), "left");
    assert!(server.ask("GET", "/metrics", "", b"").body.contains("tove_predict_requests_total{status=\"400\"}"));
}

/// The checksum of a chunk of PNG.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

#[test]
fn a_text_model_is_served() {
    let place = Place::new("net-serve-text");
    fox(&place);
    let server = Server::start(&place, "fox.tove", &["--max-body", "1", "--max-tokens", "50"]);
    let ask = |kind: &str, body: &str| server.ask("POST", "/generate", kind, body.as_bytes());
    let greedy = json!({"prompt": "the quick brown ", "length": 27, "temperature": 0});
    let reply = ask(JSON, &greedy.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["continuation"], "fox jumps over the lazy dog");
    let drawn = |seed: u64| {
        let body = json!({"prompt": "the ", "length": 40, "temperature": 3, "top_k": 20, "top_p": 0.99, "seed": seed});
        ask(JSON, &body.to_string()).json()["continuation"].clone()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_eq!(ask("text/plain", "the quick ").json()["tokens"], 50, "the default is no more than the limit");
    for (body, words) in [
        ("", "not a valid request"),
        ("[]", "not a valid request"),
        ("{}", "prompt"),
        (r#"{"prompt": 3}"#, "not a valid request"),
        (r#"{"prompt": ""}"#, "prompt"),
        (r#"{"prompt": "the Quick"}"#, "'Q'"),
        (r#"{"prompt": "the", "lenght": 3}"#, "lenght"),
        (r#"{"prompt": "the", "length": -3}"#, "not a valid request"),
        (r#"{"prompt": "the", "temperature": -1}"#, "temperature"),
        (r#"{"prompt": "the", "temperature": 1e999}"#, "not a valid request"),
        (r#"{"prompt": "the", "top_k": 0}"#, "top_k"),
        (r#"{"prompt": "the", "top_p": 1.5}"#, "top_p"),
    ] {
        ask(JSON, body).refused(400, &[words]);
    }
    ask(JSON, &"[".repeat(100_000)).refused(400, &["not a valid request"]);
    server.ask("POST", "/generate", "text/plain", b"\xff\xfe").refused(400, &["UTF-8"]);
    ask(JSON, r#"{"prompt": "the", "length": 51}"#).refused(413, &["at most 50 tokens", "--max-tokens"]);
    ask(JSON, &format!(r#"{{"prompt": "{}"}}"#, "x".repeat(2 << 20))).refused(413, &["1 MB"]);
    ask("image/png", "the").refused(415, &["image/png", "application/json"]);
    server.ask("GET", "/generate", "", b"").refused(405, &["POST"]);
    server.post(JSON, "{}").refused(404, &["/predict"]);
    let page = server.ask("GET", "/", "", b"");
    assert!(page.status == 200 && page.body.contains("Generate text"), "{page:?}");
    assert_eq!(server.ask("GET", "/schema", "", b"").json()["max_tokens"], 50);
    // A long prompt is read from its end on.
    let long = json!({"prompt": "the quick brown fox jumps over the lazy dog. ".repeat(50), "length": 4});
    assert_eq!(ask(JSON, &long.to_string()).status, 200);
}
