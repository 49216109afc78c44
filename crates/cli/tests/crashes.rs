//! Processes that are killed and disks that are full: never a damaged file under its name, never less than there was.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Place, shipped};
use tove::tabular::TabularModel;

/// A small generator of its own, so that the delays never change under us.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

fn tove(place: &Place, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tove"));
    command.args(arguments).current_dir(place.path("")).env_remove("TOVE_RUNS");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How long the program takes if nobody disturbs it.
fn undisturbed(place: &Place, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    assert!(tove(place, arguments).status().unwrap().success(), "{arguments:?}");
    start.elapsed()
}

/// Starts the program and kills it after so long; whether it had ended by itself.
fn killed(place: &Place, arguments: &[&str], delay: Duration) -> bool {
    let mut child = tove(place, arguments).spawn().unwrap();
    std::thread::sleep(delay);
    let _ = child.kill(); // SIGKILL; it may have ended
    child.wait().unwrap().success()
}

/// A table that takes a moment to write and read.
fn large(place: &Place, rows: usize) {
    let mut text = "a,b,c,y\n".to_owned();
    for i in 0..rows {
        text.push_str(&format!("{},{},{},{}\n", i % 97, (i * 31) % 1009, ["u", "v", "w"][i % 3], (i * 7) % 100));
    }
    place.write("large.csv", &text);
}

/// Whatever is left over is hidden and says what it is: `.NAME.PID-N.tove.tmp`.
fn assert_recognizable(place: &Place, known: &[&str]) {
    for file in place.files() {
        let name = Path::new(&file).file_name().unwrap().to_str().unwrap();
        let temporary = name.starts_with('.') && name.ends_with(".tove.tmp");
        assert!(temporary || known.iter().any(|known| file.ends_with(known)), "{file} was left");
    }
}

#[test]
fn a_fit_that_is_killed_leaves_whole_files_and_readable_runs() {
    let place = Place::new("kill-fit");
    let credit = shipped("german-credit.csv");
    let plain = ["fit", &credit, "--target", "credit_risk", "-m", "LogisticRegression", "--cv", "0", "-q"];
    let fit: Vec<&str> = [&plain[..], &["-o", "m.tove", "--overwrite"]].concat();
    let time = undisturbed(&place, &fit);
    let old = std::fs::read(place.path("m.tove")).unwrap();
    let (mut random, mut cut) = (Random(1), 0);
    for round in 0..60 {
        // Another seed writes another file, so that a mixture would be seen.
        let seed = (round % 5).to_string();
        let delay = time.mul_f64(random.below(1200) as f64 / 1000.0);
        cut += usize::from(!killed(&place, &[&fit[..], &["--seed", &seed]].concat(), delay));
        let model = TabularModel::load(place.path("m.tove")).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(model.target(), "credit_risk");
    }
    assert!(cut >= 5, "only {cut} of 60 were killed in time: the delays are wrong");
    // In the folder of runs, too, every model that is there is whole, and the index is read.
    for _ in 0..30 {
        killed(&place, &plain, time.mul_f64(random.below(1200) as f64 / 1000.0));
    }
    for file in place.files().iter().filter(|file| file.ends_with(".tove") && !file.contains("/.")) {
        TabularModel::load(place.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    for file in place.files().iter().filter(|file| file.ends_with("report.html") && !file.contains("/.")) {
        assert!(std::fs::read_to_string(place.path(file)).unwrap().trim_end().ends_with("</html>"), "{file}");
    }
    assert_recognizable(&place, &["m.tove", "model.tove", "report.html", "runs.jsonl"]);
    // A later fit removes what they left, works, is listed, and with the same seed gives the same file as before.
    assert!(tove(&place, &fit).status().unwrap().success());
    assert_eq!(std::fs::read(place.path("m.tove")).unwrap(), old);
    assert_eq!(place.files().iter().filter(|file| file.ends_with(".tmp") && !file.contains("tove-runs")).count(), 0);
    let runs = place.run(&["runs", "--json"]).ok().json();
    let numbers: Vec<u64> = runs.as_array().unwrap().iter().map(|run| run["run"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
}

/// What killed programs left goes with the next fit or prediction into the folder; what only looks like it stays.
#[cfg(target_os = "linux")]
#[test]
fn what_killed_programs_left_is_removed_and_nothing_else() {
    let place = Place::new("kill-left");
    let credit = shipped("german-credit.csv");
    let fit = ["fit", &credit, "--target", "credit_risk", "-m", "DummyClassifier", "--cv", "0", "-q"];
    place.run(&fit).ok();
    std::fs::create_dir(place.path("out")).unwrap();
    let (dead, own) = (u32::MAX, std::process::id()); // no process has so large a number
    let left = |folder: &str| format!("{folder}/.model.tove.{dead}-0.tove.tmp");
    let kept = [
        format!("out/.a.csv.{own}-0.tove.tmp"),
        format!("out/.a.csv.{dead}-0.tmp"),
        format!("out/a.csv.{dead}-0.tove.tmp"),
        "out/.a.tmp".to_owned(),
    ];
    let there = |name: &str| place.path(name).exists();
    kept.iter().for_each(|name| drop(place.write(name, "mine")));
    for folder in ["out", "tove-runs/1"] {
        place.write(&left(folder), "half");
    }
    place.run(&[&fit[..], &["-o", "out/m.tove"]].concat()).ok();
    assert!(!there(&left("out")) && !there(&left("tove-runs/1")) && there("tove-runs/1/model.tove"));
    place.write(&left("out"), "half");
    place.run(&["predict", "out/m.tove", &credit, "-o", "out/p.csv", "-q"]).ok();
    assert!(!there(&left("out")) && kept.iter().all(|name| there(name)), "{:?}", place.files());
}

/// A model that was saved is listed, with the reason why it has no report.
#[test]
fn a_run_without_a_report_is_listed() {
    let place = Place::new("kill-report");
    let credit = shipped("german-credit.csv");
    if !Path::new("/dev/full").exists() {
        println!("SKIPPED: system feature absent: /dev/full");
        return;
    }
    let plain = ["fit", &credit, "--target", "credit_risk", "-m", "DummyClassifier", "--cv", "0", "-q"];
    let fit = [&plain[..], &["-o", "m.tove", "--report", "/dev/full"]].concat();
    place.run(&fit).fails(1, &["/dev/full", "the model is saved: m.tove", "run 1"]);
    TabularModel::load(place.path("m.tove")).unwrap();
    let runs = place.run(&["runs", "--json"]).ok().json();
    assert!(runs[0]["problem"].as_str().unwrap().contains("/dev/full") && runs[0]["report"].is_null(), "{runs}");
    for command in [&["runs"][..], &["runs", "show", "1"]] {
        assert!(place.run(command).ok().out.contains("/dev/full"));
    }
    let images = ["images", "fit", "digits", "--hidden", "8", "--epochs", "1", "-q"];
    let images = [&images[..], &["-o", "i.tove", "--report", "/dev/full"]].concat();
    place.run(&images).fails(1, &["/dev/full", "the model is saved: i.tove", "run 2"]);
    assert_eq!(place.run(&["runs", "--json"]).ok().json().as_array().unwrap().len(), 2);
}

/// A line of the index that was cut in the middle costs that line only.
#[test]
fn an_index_cut_in_the_middle_is_still_read() {
    let place = Place::new("kill-index");
    let credit = shipped("german-credit.csv");
    let fit = ["fit", &credit, "--target", "credit_risk", "-m", "DummyClassifier", "--cv", "0", "-q"];
    place.run(&fit).ok();
    let path = place.path("tove-runs/runs.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    place.run(&fit).ok();
    let runs = place.run(&["runs", "--json"]).ok();
    let numbers: Vec<u64> = runs.json().as_array().unwrap().iter().map(|run| run["run"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2], "{}", runs.err);
}

#[test]
fn predictions_that_are_killed_are_whole_or_not_there() {
    let place = Place::new("kill-predict");
    large(&place, 60_000);
    place.run(&["fit", "large.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-o", "m.tove", "-q"]).ok();
    for name in ["out.csv", "out.parquet"] {
        let predict = ["predict", "m.tove", "large.csv", "-o", name, "-q"];
        let time = undisturbed(&place, &predict);
        let whole = std::fs::read(place.path(name)).unwrap();
        let mut random = Random(2);
        let (mut cut, mut absent) = (0, 0);
        for round in 0..40 {
            let _ = std::fs::remove_file(place.path(name));
            let delay = time.mul_f64(0.3 + random.below(900) as f64 / 1000.0);
            cut += usize::from(!killed(&place, &predict, delay));
            match std::fs::read(place.path(name)) {
                Ok(bytes) => assert!(bytes == whole, "{name}, round {round}: {} bytes", bytes.len()),
                Err(_) => absent += 1,
            }
        }
        assert!(cut >= 5 && absent >= 5, "{name}: {cut} killed, {absent} absent");
        // Over an old file: the old one or the new one, never less.
        let over = [&predict[..], &["--overwrite"]].concat();
        std::fs::write(place.path(name), "old").unwrap();
        for round in 0..20 {
            killed(&place, &over, time.mul_f64(0.3 + random.below(900) as f64 / 1000.0));
            let bytes = std::fs::read(place.path(name)).unwrap();
            assert!(bytes == whole || bytes == b"old", "{name}, round {round}: {} bytes", bytes.len());
        }
    }
    let known = ["out.csv", "out.parquet", "m.tove", "large.csv", "report.html", "runs.jsonl", "model.tove"];
    assert_recognizable(&place, &known);
}

#[test]
fn nets_that_are_killed_leave_whole_files() {
    let place = Place::new("kill-nets");
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(40);
    place.write("t.txt", &text);
    let common = ["-q", "-o", "m.tove", "--overwrite"];
    let images = ["images", "fit", "digits", "--hidden", "8", "--epochs", "1"];
    let texts =
        ["text", "fit", "t.txt", "--layers", "1", "--heads", "1", "--width", "8", "--context", "8", "--steps", "3"];
    for (kind, command) in [("ImageModel", &images[..]), ("TextModel", &texts[..])] {
        let fit = [command, &common[..]].concat();
        let time = undisturbed(&place, &fit);
        let mut random = Random(3);
        for round in 0..12 {
            killed(&place, &fit, time.mul_f64(random.below(1200) as f64 / 1000.0));
            let inside = place.run(&["inspect", "m.tove", "--json"]);
            assert_eq!(inside.code, 0, "{kind}, round {round}: {}", inside.err);
            assert_eq!(inside.json()["kind"], kind);
        }
    }
}

/// A file system of a few pages, where this process may make one.
struct Tiny(std::path::PathBuf);

impl Tiny {
    fn new(place: &Place, kilobytes: usize) -> Option<Tiny> {
        let path = place.path("tiny");
        std::fs::create_dir_all(&path).unwrap();
        let size = format!("size={kilobytes}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Tiny(path))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// On a full disk: a sentence, exit code 1, and nothing left; what was there stays.
#[test]
fn a_full_disk_costs_nothing_that_was_there() {
    let place = Place::new("full");
    large(&place, 20_000);
    place.run(&["fit", "large.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-o", "m.tove", "-q"]).ok();
    let Some(_tiny) = Tiny::new(&place, 16) else {
        println!("SKIPPED: system feature absent: a file system in memory cannot be mounted");
        return;
    };
    let files = || {
        let inside = place.files().into_iter().filter(|file| file.starts_with("tiny/"));
        inside.collect::<Vec<String>>()
    };
    for name in ["tiny/out.csv", "tiny/out.parquet"] {
        place.run(&["predict", "m.tove", "large.csv", "-o", name]).fails(1, &[name, "space"]);
        assert_eq!(files(), [] as [&str; 0]);
        std::fs::write(place.path(name), "old").unwrap();
        place.run(&["predict", "m.tove", "large.csv", "-o", name, "--overwrite"]).fails(1, &[name, "space"]);
        assert_eq!(std::fs::read(place.path(name)).unwrap(), b"old");
        std::fs::remove_file(place.path(name)).unwrap();
    }
    let fit = ["fit", "large.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-q"];
    place.run(&[&fit[..], &["--report", "tiny/r.html", "-o", "n.tove"]].concat()).fails(1, &["tiny/r.html", "space"]);
    assert_eq!(files(), [] as [&str; 0]);
    place.run(&[&fit[..], &["--runs", "tiny/runs"]].concat()).fails(1, &["tiny/runs", "space"]);
    assert!(!files().iter().any(|file| file.ends_with(".html") || file.ends_with(".tmp")), "{:?}", files());
    let images = ["images", "fit", "digits", "--hidden", "64", "--epochs", "1", "-q", "-o", "tiny/i.tove"];
    place.run(&images).fails(1, &["tiny/i.tove", "space"]);
    assert!(!files().iter().any(|file| file.contains("i.tove")), "{:?}", files());
}

/// Standard output that takes nothing.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    if !Path::new("/dev/full").exists() {
        println!("SKIPPED: system feature absent: /dev/full");
        return;
    }
    let place = Place::new("dev-full");
    large(&place, 100);
    place.run(&["fit", "large.csv", "--target", "y", "-m", "Ridge", "--cv", "0", "-o", "m.tove", "-q"]).ok();
    for arguments in [
        &["predict", "m.tove", "large.csv"][..],
        &["predict", "m.tove", "large.csv", "--json"],
        &["models"],
        &["inspect", "m.tove"],
        &["evaluate", "m.tove", "large.csv"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = tove(&place, arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let error = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("space") && error.lines().count() <= 2, "{arguments:?}: {error}");
    }
}
