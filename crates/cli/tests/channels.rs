//! Every command that reads or writes a file, with what a shell puts in the place of one: pipes, named pipes, `/dev/stdin`,
//! `/dev/null`, `/dev/zero`, `/dev/full`, links, folders, files that may not be read.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Place, Ran, shipped};

/// Nothing here takes longer, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a table, models of all kinds and a picture.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    fs::copy(shipped("iris.csv"), place.path("iris.csv")).unwrap();
    let fit = ["fit", "iris.csv", "-t", "species", "-m", "LogisticRegression", "--cv", "0", "-q", "-o", "m.tove"];
    place.run(&fit).ok();
    place
}

/// The nets and a picture, as another version wrote them.
fn zoo(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zoo/v2").join(name).display().to_string()
}

/// Runs `tove` by a shell, in which `$tove` is the program, with four gigabytes of memory; ends it when it hangs.
fn limited(place: &Place, script: &str) -> Ran {
    let mut child = Command::new("bash")
        .args(["-c", &format!("ulimit -v 4000000; {script}")])
        .env("tove", env!("CARGO_BIN_EXE_tove"))
        .env_remove("TOVE_RUNS")
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code().unwrap_or(-1);
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it hangs: {script}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ran { code, out: read(reading.join().unwrap()), err: read(errors.join().unwrap()) }
}

fn shell(place: &Place, script: &str) -> Ran {
    let ran = limited(place, script);
    assert!(!ran.err.contains("panicked") && ran.code != -1 && ran.code != 134, "{script}: {ran:?}");
    ran
}

/// A refusal: this code, one line, these words.
#[track_caller]
fn refused(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{ran:?}");
    words.iter().for_each(|word| assert!(ran.err.contains(word), "no `{word}` in: {}", ran.err));
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("tove: ")).count(), 1, "{}", ran.err);
}

/// Ways in which a shell gives the bytes of a file to a command; `{}` is the command with the file's place in it.
const WAYS: [&str; 5] = [
    "{<(cat FILE)}",
    "cat FILE | {/dev/stdin}",
    "({/dev/stdin}) < FILE",
    "mkfifo pipe; cat FILE > pipe & {pipe}; code=$?; rm pipe; exit $code",
    "ln -sf FILE link; {link}",
];

/// A script that calls the program with `FILE` given in this way; `@` stands for it in the arguments.
fn way(way: &str, arguments: &str, file: &str) -> String {
    let (before, rest) = way.split_once('{').unwrap();
    let (stand_in, after) = rest.split_once('}').unwrap();
    format!("{before}$tove {}{after}", arguments.replace('@', stand_in)).replace("FILE", file)
}

#[test]
fn tables_come_whole_through_every_kind_of_pipe() {
    let place = place("pipes");
    let text = fs::read_to_string(place.path("iris.csv")).unwrap();
    place.write("bare.csv", text.split_once('\n').unwrap().1);
    let names = text.lines().next().unwrap();
    let rename = names.split(',').enumerate().map(|(i, name)| (format!("column_{}", i + 1), name.to_owned()));
    assert_eq!(rename.count(), 5);
    let bare = ["fit", "bare.csv", "--no-header", "-t", "column_5", "-m", "LogisticRegression", "--cv", "0", "-q"];
    place.run(&[&bare[..], &["-o", "bare.tove"]].concat()).ok();
    place.run(&["convert", "iris.csv", "-o", "iris.parquet"]).ok();
    place.run(&["convert", "iris.csv", "-o", "iris.jsonl"]).ok();
    shell(&place, "gzip -k iris.csv").ok();
    // The same command on the file itself is what every other way must give.
    for (command, files) in [
        ("predict m.tove @ --proba -q", &["iris.csv", "iris.csv.gz", "iris.parquet", "iris.jsonl"][..]),
        ("predict bare.tove @ --no-header --proba -q", &["bare.csv"][..]),
        ("evaluate m.tove @ --json -q", &["iris.csv", "iris.csv.gz", "iris.parquet", "iris.jsonl"][..]),
        ("explain m.tove @ --json --repeats 1 -q", &["iris.csv", "iris.parquet"][..]),
        ("convert @ -q", &["iris.csv", "iris.csv.gz", "iris.jsonl", "iris.parquet"][..]),
        ("split @ -t species --train a.csv --test b.csv --overwrite -q; cat a.csv b.csv", &["iris.csv"][..]),
    ] {
        for file in files {
            let expected = shell(&place, &format!("$tove {}", command.replace('@', file))).ok();
            for one in WAYS {
                let script = way(one, command, file);
                let found = shell(&place, &script).ok();
                assert!(found.out == expected.out && !found.out.is_empty(), "{script}: {}{}", found.out, found.err);
            }
        }
    }
    // Fits have the same rows, and so the same coefficients.
    let fit = "fit @ -t species -m LogisticRegression --cv 0 -q --overwrite -o f.tove > /dev/null; $tove explain f.tove --json";
    for file in ["iris.csv", "iris.parquet"] {
        let expected = shell(&place, &format!("$tove {}", fit.replace('@', file))).ok().out;
        for one in WAYS {
            let script = way(one, fit, file);
            assert_eq!(shell(&place, &script).ok().out, expected, "{script}");
        }
    }
    // The target is not named: the columns are listed, from a pipe too.
    refused(&shell(&place, "$tove fit <(cat iris.csv)"), 2, &["--target", "petal width"]);
    // What is read several times cannot come from a pipe, and one pipe cannot be two files.
    refused(&shell(&place, "$tove fit <(cat iris.csv) -t species --stream -q"), 2, &["--stream", "only once"]);
    let twice = "cat iris.csv | $tove fit /dev/stdin --test /dev/stdin -t species -q";
    refused(&shell(&place, twice), 2, &["only once"]);
}

#[test]
fn models_come_through_pipes_too() {
    let place = place("model-pipes");
    let (net, text, picture) = (zoo("images-mlp.tove"), zoo("text-characters.tove"), zoo("picture.png"));
    let by_picture = format!("images predict @ {picture} --json | grep class");
    let by_net = format!("images predict {net} @ --json | grep class");
    let generate = "text generate @ --length 5 --seed 1 -q --prompt First";
    for (command, file) in [
        ("predict @ iris.csv -q", "m.tove"),
        ("evaluate @ iris.csv --json -q", "m.tove"),
        ("explain @ --json -q", "m.tove"),
        ("inspect @ --json", "m.tove"),
        ("inspect @", "m.tove"),
        ("inspect @", text.as_str()),
        (by_picture.as_str(), net.as_str()),
        (by_net.as_str(), picture.as_str()),
        (generate, text.as_str()),
    ] {
        let expected = shell(&place, &format!("$tove {}", command.replace('@', file))).ok();
        assert!(!expected.out.is_empty());
        for one in WAYS {
            let script = way(one, command, file);
            let found = shell(&place, &script);
            assert_eq!((found.code, found.out), (0, expected.out.clone()), "{script}: {}", found.err);
        }
    }
    // A text to learn from.
    place.write("text.txt", &"to be or not to be, that is the question. ".repeat(30));
    let fit = "text fit @ --steps 1 --context 8 --width 8 --heads 1 --layers 1 -q --json | grep train";
    let expected = shell(&place, &format!("$tove {}", fit.replace('@', "text.txt"))).ok().out;
    assert!(!expected.is_empty());
    for one in WAYS {
        assert_eq!(shell(&place, &way(one, fit, "text.txt")).ok().out.lines().next(), expected.lines().next());
    }
}

/// Every command that reads refuses this, in one line.
fn refused_everywhere(place: &Place, input: &str) {
    let by_net = format!("images predict {} @ -q", zoo("images-mlp.tove"));
    for command in [
        "fit @ -t y -q",
        "fit @ -t y -q --stream",
        "fit iris.csv --test @ -t species -q",
        "predict m.tove @ -q",
        "predict @ iris.csv -q",
        "evaluate m.tove @ -q",
        "evaluate @ iris.csv -q",
        "explain m.tove @ -q",
        "explain @ -q",
        "inspect @",
        "convert @",
        "split @ --train a.csv --test b.csv",
        "serve @ --port 0",
        "images fit @ -q",
        "images predict @ iris.csv -q",
        by_net.as_str(),
        "text fit @ -q",
        "text generate @ -q",
    ] {
        let ran = shell(place, &format!("$tove {}", command.replace('@', input)));
        assert!(matches!(ran.code, 1 | 2), "{command} {input}: {ran:?}");
        let lines = ran.err.lines().filter(|line| line.starts_with("tove: ")).count();
        assert!(lines == 1 && ran.out.is_empty() && ran.err.lines().count() <= 3, "{command} {input}: {ran:?}");
    }
}

#[test]
fn what_is_no_file_is_refused_as_input_at_once() {
    let place = place("odd-inputs");
    symlink("nowhere", place.path("dangling")).unwrap();
    symlink("circle", place.path("circle")).unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    place.write("empty", "");
    // The last can be opened, but every read fails.
    for input in
        ["/dev/null", "/dev/zero", "/dev/urandom", "dangling", "circle", "folder", "none", "empty", "/proc/self/mem"]
    {
        refused_everywhere(&place, input);
    }
    let net = zoo("images-mlp.tove");
    refused(&shell(&place, &format!("$tove images predict {net} folder")), 1, &["no images"]);
    // A stream without an end is not read to memory's end.
    refused(&shell(&place, "$tove predict m.tove /dev/zero -q"), 1, &["/dev/zero", "binary"]);
    refused(&shell(&place, "$tove predict /dev/zero iris.csv -q"), 1, &["/dev/zero"]);
    refused(&shell(&place, "cat /dev/zero | $tove fit - -t y -q"), 1, &["binary"]);
    refused(&shell(&place, "yes | $tove predict m.tove - -q"), 1, &["missing"]);
}

#[test]
fn a_file_that_may_not_be_read_is_refused() {
    let place = place("secret");
    place.write("secret", "a,b\n1,2\n");
    fs::set_permissions(place.path("secret"), fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(place.path("secret")).is_ok() {
        println!("SKIPPED: system feature absent: file permissions do not bind this user");
        return;
    }
    refused_everywhere(&place, "secret");
}

#[test]
fn devices_pipes_and_links_are_written_to_and_stay_what_they_are() {
    let place = place("odd-outputs");
    let expected = shell(&place, "$tove predict m.tove iris.csv").ok().out;
    assert_eq!(expected.lines().count(), 151);
    for over in ["", "--overwrite"] {
        let to = |output: &str, more: &str| format!("$tove predict m.tove iris.csv -q -o {output} {over} {more}");
        assert_eq!(shell(&place, &to("/dev/stdout", "")).ok().out, expected);
        assert_eq!(shell(&place, &to("/dev/stdout", "> out.csv; cat out.csv")).ok().out, expected);
        assert_eq!(shell(&place, &to("/dev/stdout", "| cat")).ok().out, expected);
        assert_eq!(shell(&place, &to("/dev/stderr", "2>&1 >/dev/null | cat")).ok().out, expected);
        assert_eq!(shell(&place, &to(">(cat > sub.csv)", "; sleep 0.3; cat sub.csv")).ok().out, expected);
        let fifo = format!("rm -f pipe; mkfifo pipe; cat pipe > got.csv & {}; wait; cat got.csv", to("pipe", ""));
        assert_eq!(shell(&place, &fifo).ok().out, expected);
        assert!(fs::metadata(place.path("pipe")).unwrap().file_type().is_fifo());
        assert_eq!(shell(&place, &to("/dev/null", "")).ok().out, "");
        refused(&shell(&place, &to("/dev/full", "")), 1, &["/dev/full", "space"]);
    }
    // A model on the standard output is the model and nothing else.
    let fit = "$tove fit iris.csv -t species -m LogisticRegression --cv 0 -o /dev/stdout";
    let through = shell(&place, &format!("{fit} 2> /dev/null | $tove predict /dev/stdin iris.csv")).ok();
    assert_eq!(through.out, expected);
    for device in ["/dev/null", "/dev/full", "/dev/zero"] {
        assert!(fs::metadata(device).unwrap().file_type().is_char_device(), "{device}");
    }
    // A link is followed, one that leads nowhere too.
    place.write("old.csv", "old");
    symlink("old.csv", place.path("link.csv")).unwrap();
    symlink("new.csv", place.path("dangling.csv")).unwrap();
    for link in ["link.csv", "dangling.csv"] {
        refused(&shell(&place, &format!("$tove predict m.tove iris.csv -q -o {link}")), 2, &[link, "--overwrite"]);
        shell(&place, &format!("$tove predict m.tove iris.csv -q -o {link} --overwrite")).ok();
        assert!(place.path(link).symlink_metadata().unwrap().file_type().is_symlink());
        assert_eq!(fs::read_to_string(place.path(link)).unwrap(), expected);
    }
    refused(&shell(&place, "mkdir -p d; $tove predict m.tove iris.csv -o d --overwrite"), 2, &["d is a folder"]);
    // Every other command that writes a file.
    place.write("fox.txt", &"the quick brown fox jumps over the lazy dog.\n".repeat(60));
    shell(&place, "$tove fit iris.csv -t species -m DummyClassifier --cv 0 -q --runs list").ok();
    let fit = "fit iris.csv -t species -m DummyClassifier --cv 0 -q";
    let (model, report) = (format!("{fit} -o @ --report r.html"), format!("{fit} -o d.tove --report @"));
    for command in [
        model.as_str(),
        report.as_str(),
        "explain m.tove --report @ -q",
        "convert iris.csv -o @",
        "split iris.csv --train @ --test /dev/null",
        "demo descent --html @ -q",
        "runs --runs list show 1 --report @",
        "text fit fox.txt --layers 1 --heads 1 --width 8 --context 8 --steps 2 -q --report r.html -o @",
    ] {
        let run = |output: &str| shell(&place, &format!("rm -f d.tove r.html; $tove {}", command.replace('@', output)));
        assert_eq!(run("/dev/null").code, 0, "{command}");
        assert_eq!(run("/dev/full").code, 1, "{command}");
        assert_ne!(run("d").code, 0, "{command}");
        assert_ne!(run("none/x.csv").code, 0, "{command}");
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let place = place("own-inputs");
    symlink("iris.csv", place.path("link.csv")).unwrap();
    fs::hard_link(place.path("iris.csv"), place.path("hard.csv")).unwrap();
    place.write("text.txt", &"abc ".repeat(400));
    let before: Vec<Vec<u8>> =
        ["iris.csv", "m.tove", "text.txt"].iter().map(|name| fs::read(place.path(name)).unwrap()).collect();
    for call in [
        "predict m.tove iris.csv -o iris.csv",
        "predict m.tove iris.csv -o ./iris.csv",
        "predict m.tove iris.csv -o link.csv",
        "predict m.tove iris.csv -o hard.csv",
        "predict m.tove link.csv -o iris.csv",
        "predict m.tove iris.csv -o m.tove",
        "fit iris.csv -t species -o iris.csv",
        "fit iris.csv -t species --report iris.csv",
        "fit iris.csv -t species --test link.csv -o link.csv",
        "fit iris.csv -t species -o x.tove --report x.tove",
        "explain m.tove --report m.tove",
        "explain m.tove iris.csv --report iris.csv",
        "convert iris.csv -o iris.csv",
        "split iris.csv --train iris.csv --test b.csv",
        "split iris.csv --train b.csv --test b.csv",
        "text fit text.txt -o text.txt --steps 1",
    ] {
        refused(&shell(&place, &format!("$tove {call} --overwrite -q")), 2, &[]);
    }
    for (name, bytes) in ["iris.csv", "m.tove", "text.txt"].iter().zip(before) {
        assert_eq!(fs::read(place.path(name)).unwrap(), bytes, "{name}");
    }
}

#[test]
fn a_standard_output_that_is_full_or_closed_is_told_and_never_panics() {
    let place = place("stdout");
    let net = zoo("text-characters.tove");
    let picture = zoo("picture.png");
    let generate = format!("text generate {net} --length 5");
    let predict = format!("images predict {} {picture}", zoo("images-mlp.tove"));
    for command in [
        "--help",
        "fit --help",
        "completions bash",
        "completions zsh",
        "models",
        "models Ridge",
        "models --json",
        "inspect m.tove",
        "explain m.tove",
        "predict m.tove iris.csv",
        "predict m.tove iris.csv --json",
        "evaluate m.tove iris.csv",
        "convert iris.csv",
        "convert iris.csv --json",
        "diff x^2 --at x=1",
        "demo softmax",
        "runs",
        "fit iris.csv -t species -m DummyClassifier --cv 0",
        "split iris.csv --train a.csv --test b.csv --overwrite",
        generate.as_str(),
        predict.as_str(),
    ] {
        let full = shell(&place, &format!("$tove {command} > /dev/full"));
        assert_eq!(full.code, 1, "{command}: {full:?}");
        assert!(full.err.contains("space"), "{command}: {full:?}");
        // A reader that closes the pipe has seen enough.
        let closed = shell(&place, &format!("$tove {command} | true; echo ${{PIPESTATUS[0]}}"));
        assert_eq!(closed.out, "0\n", "{command}: {closed:?}");
        assert!(!closed.err.contains("tove: "), "{command}: {closed:?}");
        // Nowhere to tell anything.
        let silent = shell(&place, &format!("$tove {command} > /dev/null 2> /dev/full"));
        assert_eq!(silent.code, 0, "{command}: {silent:?}");
        let none = shell(&place, &format!("$tove {command} >&- 2>&-"));
        assert!(none.code <= 1, "{command}: {none:?}");
    }
    place.write("text.txt", &"to be or not to be, that is the question. ".repeat(30));
    let fit = "text fit text.txt --steps 2 --context 8 --width 8 --heads 1 --layers 1";
    assert_eq!(shell(&place, &format!("$tove {fit} > /dev/null 2> /dev/full")).code, 0);
}

#[test]
fn names_of_files_say_how_rows_are_written() {
    let place = place("endings");
    for ending in ["xlsx", "xls", "tsv", "gz", "html", "feather"] {
        let name = format!("p.{ending}");
        refused(&place.run(&["predict", "m.tove", "iris.csv", "-o", &name]), 2, &[&name, ".csv", ".parquet", ".jsonl"]);
        refused(&place.run(&["convert", "iris.csv", "-o", &name]), 2, &[&name]);
        assert!(!place.path(&name).exists());
    }
    let shown = place.run(&["predict", "m.tove", "iris.csv", "--json"]).ok();
    place.run(&["predict", "m.tove", "iris.csv", "-o", "p.json", "-q"]).ok();
    place.run(&["predict", "m.tove", "iris.csv", "-o", "p.jsonl", "-q"]).ok();
    let list: serde_json::Value = serde_json::from_slice(&fs::read(place.path("p.json")).unwrap()).unwrap();
    assert_eq!(list, shown.json());
    let lines = fs::read_to_string(place.path("p.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(serde_json::Value::from(lines), list);
    // With --json the rows go to the file that was asked for, and the standard output says so.
    let told = place.run(&["predict", "m.tove", "iris.csv", "--json", "-o", "q.csv"]).ok();
    assert_eq!((told.json()["rows"].as_u64(), told.json()["file"].as_str()), (Some(150), Some("q.csv")));
    assert_eq!(fs::read_to_string(place.path("q.csv")).unwrap().lines().count(), 151);
}

/// Small files that would take all time or all memory.
#[test]
fn bombs_are_harmless() {
    let place = place("bombs");
    // One field of 200 MB, plain and packed to a thousandth.
    let script =
        "(echo a,y; head -c 200000000 /dev/zero | tr '\\0' x; echo ,1; echo z,2) > long.csv; gzip -9 -k long.csv";
    shell(&place, script).ok();
    assert!(fs::metadata(place.path("long.csv.gz")).unwrap().len() < 2_000_000);
    let read = shell(&place, "$tove convert long.csv | wc -l").ok();
    assert_eq!(read.out.trim(), "3");
    refused(&shell(&place, "$tove convert long.csv.gz"), 1, &["long.csv.gz", "gunzip"]);
    refused(&shell(&place, "$tove predict m.tove long.csv.gz"), 1, &["long.csv.gz"]);
    fs::remove_file(place.path("long.csv")).unwrap();
    // A class for every third row.
    let mut text = String::from("x,y\n");
    (0..60_000).for_each(|i| text.push_str(&format!("{},c{}\n", i % 97, i % 20_000)));
    place.write("classes.csv", &text);
    let fit = "$tove fit classes.csv -t y --memory 8000 -q";
    refused(&shell(&place, fit), 1, &["20000 classes", "60000 rows", "memory"]);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let place = place("control");
    let mut text = String::from("a\u{1b}[31m,b\u{7},y\n");
    (0..40).for_each(|i| text.push_str(&format!("{i},{},{}\n", i % 7, 2 * i)));
    place.write("t.csv", &text);
    let ran = place.run(&["fit", "t.csv", "-t", "y", "-m", "Ridge", "--cv", "0", "-o", "c.tove"]).ok();
    let inside = place.run(&["inspect", "c.tove"]).ok();
    let listed = place.run(&["fit", "t.csv"]);
    let shown = place.run(&["explain", "c.tove"]).ok();
    for text in [&ran.out, &ran.err, &inside.out, &listed.err, &shown.out] {
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
    assert!(listed.err.contains("a\\u{1b}[31m"), "{}", listed.err);
}

#[test]
fn lists_of_kinds_are_taken() {
    let place = Place::new("lists");
    place.write("t.csv", "a,b,\"c,d\",y\n1,2,3,4\n2,3,4,5\n3,1,2,6\n");
    let ran = place.run(&["convert", "t.csv", "--type", "a=text,c,d=float,b=float", "--json"]).ok().json();
    assert_eq!((ran[0]["a"].as_str(), ran[0]["b"].as_f64(), ran[0]["c,d"].is_f64()), (Some("1"), Some(2.0), true));
    place.run(&["convert", "t.csv", "--type", "a=text,b"]).fails(2, &["COLUMN=VALUE"]);
    place.run(&["convert", "t.csv", "--type", "a=text,z=float"]).fails(2, &["--type", "\"z\""]);
}

/// A quiet server says nothing; it is known by its port alone.
#[test]
fn a_quiet_server_is_quiet() {
    let place = place("quiet");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tove"))
        .args(["-q", "serve", "m.tove", "--port", "0"])
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it should be serving");
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    std::io::stdout().flush().unwrap();
}

/// Standard input may be a file of the shell's, and two names may be one file.
#[test]
fn outputs_do_not_replace_standard_input_or_each_other() {
    let place = place("own-input");
    let before = fs::read(place.path("iris.csv")).unwrap();
    let ran = shell(&place, "$tove predict m.tove - -o iris.csv --overwrite < iris.csv");
    refused(&ran, 2, &["iris.csv", "same file"]);
    assert_eq!(fs::read(place.path("iris.csv")).unwrap(), before);
    let ran = shell(&place, "$tove split iris.csv --train t.csv --test ./t.csv");
    refused(&ran, 2, &["two outputs"]);
    assert!(!place.path("t.csv").exists());
}

/// A model that goes to standard output is alone there.
#[test]
fn nets_are_written_to_standard_output() {
    let place = place("net-stdout");
    fs::write(place.path("fox.txt"), "the quick brown fox jumps over the lazy dog.\n".repeat(60)).unwrap();
    let fit = "$tove text fit fox.txt --layers 1 --heads 1 --width 8 --context 16 --steps 5 -o /dev/stdout > net.tove";
    let ran = shell(&place, fit);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = shell(&place, "$tove inspect net.tove");
    assert!(ran.code == 0 && !ran.out.is_empty(), "{}\n{}", ran.out, ran.err);
}
