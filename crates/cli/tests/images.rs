//! The program on pictures and texts as people have them: sizes and kinds mixed, files broken, large sets, Ctrl-C.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{Place, Ran};
use image::{DynamicImage, Rgb, RgbImage};
use serde_json::Value;
use tove::data::images::read_idx;
use tove::learn::{Fit, LogisticRegression, Predict};
use tove::tensor::DType;

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[track_caller]
fn test_accuracy(ran: &Ran) -> f64 {
    number(&ran.json()["test"]["accuracy"]["value"])
}

/// A folder of the larger data sets, or a printed word that the test is skipped.
fn large(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TOVE_DATA").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let path = root.join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    println!("SKIPPED: data set absent: {}", path.display());
    None
}

/// Stripes, across or upright, of a random-looking color, period and place.
fn stripes(upright: bool, seed: u32, width: u32, height: u32) -> DynamicImage {
    let hash = seed.wrapping_mul(2_654_435_761);
    let (offset, bright) = (hash >> 29, [60 + (hash >> 8 & 127) as u8, 60 + (hash >> 16 & 127) as u8, 200]);
    // Two and a half periods in a picture, whatever its size.
    let at = |x: u32, y: u32| if upright { x * 40 / width + offset } else { y * 40 / height + offset };
    DynamicImage::from(RgbImage::from_fn(width, height, |x, y| {
        Rgb(if at(x, y) / 8 % 2 == 0 { bright } else { [20; 3] })
    }))
}

/// Pictures of both classes in four sizes and kinds: color PNG, JPEG, PNG with transparency, grey PNG. Their names.
fn write_stripes(place: &Place, folder: &str, count: u32) -> Vec<(String, bool)> {
    let mut files = Vec::new();
    for (class, upright) in [("across", false), ("upright", true)] {
        std::fs::create_dir_all(place.path(&format!("{folder}/{class}"))).unwrap();
        for i in 0..count {
            let (width, height) = [(16, 16), (24, 16), (20, 30), (16, 16)][i as usize % 4];
            let picture = stripes(upright, i + 1000 * u32::from(upright), width, height);
            let (picture, ending) = match i % 4 {
                0 => (picture, "png"),
                1 => (picture, "jpg"),
                2 => (DynamicImage::from(picture.into_rgba8()), "PNG"),
                _ => (DynamicImage::from(picture.into_luma8()), "png"),
            };
            let name = format!("{folder}/{class}/{i}.{ending}");
            picture.save(place.path(&name)).unwrap();
            files.push((name, upright));
        }
    }
    files
}

#[test]
fn pictures_of_many_sizes_and_kinds_are_learned_and_broken_ones_named() {
    let place = Place::new("mixed");
    write_stripes(&place, "set", 60);
    place.write("set/across/text.png", "this is no picture");
    let whole = std::fs::read(place.path("set/upright/0.png")).unwrap();
    std::fs::write(place.path("set/upright/cut.png"), &whole[..whole.len() / 2]).unwrap();
    let fit = ["images", "fit", "set", "--model", "cnn", "--epochs", "12", "-o", "m.tove"];
    let fitted = place.run(&[&fit[..], &["--json"]].concat()).ok();
    // Half the pictures are 16 × 16, the most common size; the others were scaled to it.
    let document = fitted.json();
    assert_eq!(number(&document["pictures"]["scaled"]), 60.0);
    let broken: Vec<&str> =
        document["pictures"]["broken"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(broken.len(), 2);
    assert!(broken.iter().any(|text| text.contains("text.png")) && broken.iter().any(|text| text.contains("cut.png")));
    assert!(fitted.err.contains("60 images of another size resized to 16 × 16"), "{}", fitted.err);
    assert!(fitted.err.contains("2 images could not be read") && fitted.err.contains("cut.png"), "{}", fitted.err);
    assert_eq!(document["net"]["input"], serde_json::json!([3, 16, 16]));
    let rows = ["train_rows", "validation_rows", "test_rows"].map(|name| number(&document[name]));
    assert_eq!(rows.iter().sum::<f64>(), 120.0);
    // Guessing gives 0.5 ± 0.09 on the 30 test pictures; 0.9 is more than four deviations from it.
    assert!(test_accuracy(&fitted) > 0.9, "{}", fitted.out);
    let page = std::fs::read_to_string(place.path("tove-runs/1/report.html")).unwrap();
    assert!(page.contains("cut.png") && page.contains("60 images of another size"));

    // Other pictures, of these sizes and a larger one.
    let mut files = write_stripes(&place, "new", 12);
    stripes(true, 5, 400, 300).save(place.path("large.jpg")).unwrap();
    files.push(("large.jpg".to_owned(), true));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let told = place.run(&[&["images", "predict", "m.tove", "--json"][..], &names].concat()).ok().json();
    let right = files.iter().zip(told.as_array().unwrap());
    let right = right.filter(|((_, upright), told)| (told["class"] == "upright") == *upright).count();
    assert!(right >= 23, "{right} of 25: {told}");
    place.run(&["images", "predict", "m.tove", "set/upright/cut.png"]).fails(1, &["cut.png"]);

    // A size of one's own; grey where all pictures are.
    let sized = place.run(&["images", "fit", "set", "--size", "12x10", "--epochs", "1", "--json", "-q"]).ok().json();
    assert_eq!(sized["net"]["input"], serde_json::json!([3, 12, 10]));
    assert_eq!(number(&sized["pictures"]["scaled"]), 120.0);
    for size in ["0", "12x", "x", "9999", "a"] {
        place.run(&["images", "fit", "set", "--size", size]).fails(2, &["32 or 24x32"]);
    }
    place.run(&["images", "fit", "digits", "--size", "9"]).fails(1, &["8 × 8", "9 × 9"]);
    // A class of which nothing can be read.
    std::fs::create_dir(place.path("set/zigzag")).unwrap();
    place.write("set/zigzag/text.png", "this is no picture");
    place.run(&["images", "fit", "set"]).fails(1, &["set/zigzag", "text.png"]);
}

#[test]
fn reports_show_curves_mistakes_and_attention() {
    let place = Place::new("reports");
    let page = |path: &str| std::fs::read_to_string(place.path(path)).unwrap();
    let seven = ["--classes", "0,1,2,3,4,5,6", "--epochs", "3", "-o", "seven.tove", "-q"];
    place.run(&[&["images", "fit", "digits", "--model", "vit"][..], &seven].concat()).ok();
    let fitted = page("tove-runs/1/report.html");
    let shown = [
        "Loss",
        "Accuracy",
        "Confusion matrix",
        "Misclassified images, the worst of",
        "Images and attention",
        " patches get",
    ];
    shown.iter().for_each(|words| assert!(fitted.contains(words), "{words}"));
    // The worst mistake comes first: the truth's probabilities, the last cells of the rows, rise down the table.
    let table = fitted.split("<table").find(|table| table.contains("test image<")).unwrap();
    let table = table.split("</table").next().unwrap();
    let last = |row: &str| row.rsplit("<td").next().and_then(|cell| cell.split(['>', '<']).nth(1)?.parse::<f64>().ok());
    let given: Vec<f64> = table.split("</tr>").filter_map(last).collect();
    assert!(given.len() >= 2 && given.windows(2).all(|pair| pair[0] <= pair[1]), "{given:?}");

    let transfer = ["images", "transfer", "seven.tove", "digits", "--classes", "7,8,9", "--labels", "10"];
    let told = place.run(&transfer).ok();
    assert!(told.out.contains("raw pixels") && told.out.contains("\nreport "), "{}", told.out);
    let moved = page("tove-runs/2/report.html");
    let shown = [
        "raw pixels, logistic regression",
        "classifier fine-tuned",
        "Loss",
        "Confusion matrix",
        "Images and attention",
    ];
    shown.iter().for_each(|words| assert!(moved.contains(words), "{words}"));
    let runs = place.run(&["runs", "--json"]).ok().json();
    assert_eq!((runs.as_array().unwrap().len(), runs[1]["model"].as_str()), (2, Some("vit")));
    place.run(&["images", "predict", "tove-runs/2/model.tove", "none.png"]).fails(1, &["none.png"]);
    let taken = place.run(&[&transfer[..], &["--report", "seven.tove"]].concat());
    taken.fails(2, &["same file"]);

    place.write("fox.txt", &"the quick brown fox jumps over the lazy dog.\n".repeat(60));
    let small = ["--layers", "1", "--heads", "2", "--width", "16", "--context", "16", "--steps", "50", "-q"];
    for tokens in ["characters", "bpe"] {
        place.run(&[&["text", "fit", "fox.txt", "--tokens", tokens, "-o", tokens][..], &small].concat()).ok();
    }
    for run in [3, 4] {
        let text = page(&format!("tove-runs/{run}/report.html"));
        let shown = ["Loss", "Temperature 0.8", "<pre", "Attention", "validation", "lowest validation loss"];
        shown.iter().for_each(|words| assert!(text.contains(words), "{words} in run {run}"));
    }
    // Byte-pair tokens live in the model's own file.
    place.run(&["text", "generate", "bpe", "--prompt", "the quick", "--length", "5"]).ok();
    assert!(!std::env::temp_dir().join(format!("tove-tokenizer-{}", std::process::id())).exists());
}

/// Logistic regression on the pixels is what a net has to beat to be worth its weights.
#[test]
fn a_net_beats_logistic_regression_on_fashion_mnist() {
    let Some(folder) = large("fashion-mnist") else { return };
    let read = |name: &str| read_idx(folder.join(name)).unwrap();
    let part = |name: &str, rows: usize| {
        let x = read(&format!("{name}-images-idx3-ubyte.gz")).narrow(0, 0, rows).reshape([rows, 784]);
        let y = read(&format!("{name}-labels-idx1-ubyte.gz")).narrow(0, 0, rows).to_dtype(DType::I64);
        (x.to_dtype(DType::F32) / 255.0, y)
    };
    let ((x, y), (test_x, test_y)) = (part("train", 60_000), part("t10k", 10_000));
    let regression = LogisticRegression { max_iter: 100, ..LogisticRegression::default() }.fit(&x, &y).unwrap();
    let told = regression.predict(&test_x).unwrap().to_vec::<i64>();
    let right = told.iter().zip(test_y.to_vec::<i64>()).filter(|(told, truth)| **told == *truth).count();
    let baseline = right as f64 / 10_000.0;
    assert!((0.83..0.86).contains(&baseline), "the known accuracy of a regression is 84 to 85 %: {baseline}");

    let place = Place::new("fashion");
    let path = folder.display().to_string();
    let fitted = place.run(&["images", "fit", &path, "--epochs", "5", "--batch", "64", "--json", "-q"]).ok();
    let (accuracy, document) = (test_accuracy(&fitted), fitted.json());
    println!("logistic regression {baseline}, five epochs of an MLP {accuracy}");
    assert_eq!([&document["train_rows"], &document["test_rows"]].map(number), [54_000.0, 10_000.0]);
    // The difference of two accuracies on 10,000 images has a standard error of at most 0.005; two of them.
    assert!(accuracy > baseline + 0.01, "{accuracy} against {baseline}");
    let page = std::fs::read_to_string(place.path("tove-runs/1/report.html")).unwrap();
    assert!(page.contains("Misclassified images, the worst of") && page.len() < 3_000_000, "{}", page.len());
}

/// Pairs of characters counted in the beginning of the text, with one added to each count, give the end of it a loss that a
/// net which looks further back must beat.
#[test]
fn a_transformer_beats_pairs_of_characters_on_shakespeare() {
    let Some(file) = large("tinyshakespeare/input.txt") else { return };
    let place = Place::new("shakespeare");
    let path = file.display().to_string();
    let small =
        ["--layers", "2", "--heads", "4", "--width", "64", "--context", "32", "--steps", "700", "--batch", "24"];
    let rate = ["--learning-rate", "0.003", "--json", "-q"];
    let fitted = place.run(&[&["text", "fit", &path][..], &small, &rate].concat()).ok().json();
    let loss = number(&fitted["test"]["loss"]["value"]);

    let text = std::fs::read_to_string(file).unwrap();
    let letters: Vec<char> = text.chars().collect();
    let mut alphabet = letters.clone();
    alphabet.sort_unstable();
    alphabet.dedup();
    let n = alphabet.len();
    let codes: Vec<usize> = letters.iter().map(|letter| alphabet.binary_search(letter).unwrap()).collect();
    let (start, end) = codes.split_at((codes.len() as f64 * 0.9).round() as usize);
    let mut counts = vec![1.0; n * n];
    start.windows(2).for_each(|pair| counts[pair[0] * n + pair[1]] += 1.0);
    let nats = |pair: &[usize]| {
        let row = &counts[pair[0] * n..(pair[0] + 1) * n];
        -(row[pair[1]] / row.iter().sum::<f64>()).ln()
    };
    let pairs = end.windows(2).map(nats).sum::<f64>() / (end.len() - 1) as f64;
    println!("pairs {pairs:.4} nats, transformer {loss:.4}");
    assert_eq!(number(&fitted["test_rows"]), end.len() as f64);
    assert!((2.4..2.6).contains(&pairs), "{pairs}");
    // A tenth of a nat: the loss is a mean over 111,540 characters, known to less than 0.01.
    assert!(loss < pairs - 0.1, "{loss} against {pairs}");
}

/// Ctrl-C after some evaluations: the weights with the lowest validation loss so far are judged, saved and reported.
#[cfg(unix)]
fn interrupted(place: &Place, arguments: &[&str], evaluations: usize) -> Value {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    let child = Command::new(env!("CARGO_BIN_EXE_tove"))
        .args(arguments)
        .args(["--json", "-q", "-o", "kept.tove"])
        .current_dir(place.path("."))
        .env_remove("TOVE_RUNS")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = || std::fs::read_to_string(place.path("tove-runs/1/losses.jsonl")).unwrap_or_default();
    let seen = |log: &str| log.lines().filter(|line| line.contains("\"evaluation\"")).count();
    let begun = Instant::now();
    while seen(&log()) < evaluations {
        assert!(begun.elapsed().as_secs() < 120, "it does not get on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert!(ended.status.success(), "{out}{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["ending"], "Interrupted");
    // What is told is the best of all evaluations in the record, or a last look that was better still.
    let events = log();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let losses =
        events.filter(|event| event["event"] == "evaluation").map(|event| number(&event["validation"]["loss"]));
    let lowest = losses.fold(f64::INFINITY, f64::min);
    assert!(number(&document["best"]["loss"]) <= lowest, "{document} {lowest}");
    assert!(std::fs::read_to_string(place.path("tove-runs/1/report.html")).unwrap().contains("Interrupted"));
    document
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best_net_so_far() {
    let place = Place::new("ctrl-c-images");
    let document = interrupted(&place, &["images", "fit", "digits", "--epochs", "100000"], 5);
    // Five epochs give well over 80 % on digits; guessing gives 10 %.
    assert!(number(&document["test"]["accuracy"]["value"]) > 0.8, "{document}");
    assert_eq!(place.run(&["inspect", "kept.tove", "--json"]).ok().json()["kind"], "ImageModel");

    let place = Place::new("ctrl-c-text");
    place.write("fox.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(60));
    let small = ["--layers", "1", "--heads", "2", "--width", "16", "--context", "16", "--steps", "10000000"];
    let document = interrupted(&place, &[&["text", "fit", "fox.txt"][..], &small].concat(), 2);
    // A thousand steps on one sentence; a uniform guess among its 28 characters has 3.3 nats.
    assert!(number(&document["test"]["loss"]["value"]) < 2.0, "{document}");
    place.run(&["text", "generate", "kept.tove", "--length", "5"]).ok();
}
