//! Runs the program on real files in a folder of its own.
#![allow(dead_code, clippy::unwrap_used)]

pub mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder that is removed at the end.
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("tove-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Names of everything in the folder, below it too.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.0.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() {
                    open.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(&self.0).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// Runs the program in this folder with something on standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tove"))
            .args(arguments)
            .current_dir(&self.0)
            .env_remove("TOVE_RUNS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A call that is refused may end before it reads.
        let given = child.stdin.take().unwrap().write_all(input.as_bytes());
        assert!(given.is_ok() || given.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe));
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }
}

impl Place {
    /// Runs the program and watches its memory: the most that it had at any time, in megabytes (Linux).
    pub fn watched(&self, arguments: &[&str]) -> (Ran, f64) {
        let out = std::fs::File::create(self.path("stdout.txt")).unwrap();
        let err = std::fs::File::create(self.path("stderr.txt")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tove"))
            .args(arguments)
            .current_dir(&self.0)
            .env_remove("TOVE_RUNS")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .unwrap();
        // The system keeps the peak itself; the last look before the end is what counts.
        let status = format!("/proc/{}/status", child.id());
        let mut peak: f64 = 0.0;
        let ended = loop {
            if let Ok(text) = std::fs::read_to_string(&status) {
                let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
                peak = peak.max(kilobytes.unwrap_or(0.0) / 1024.0);
            }
            if let Some(ended) = child.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        };
        let text = |name: &str| std::fs::read_to_string(self.path(name)).unwrap();
        (Ran { code: ended.code().unwrap_or(-1), out: text("stdout.txt"), err: text("stderr.txt") }, peak)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run of the program gave.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    #[track_caller]
    pub fn ok(self) -> Ran {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self
    }

    /// Fails with this code, in one or two lines that hold these words.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "no `{word}` in: {}", self.err);
        }
        assert!(self.err.lines().count() <= 4 && !self.err.contains("panicked"), "{}", self.err);
    }

    /// Warnings of the result, each on one line.
    pub fn warnings(&self) -> Vec<String> {
        let unbroken = self.out.replace("\n  ", " ");
        unbroken.lines().filter(|line| line.starts_with("Warning:")).map(str::to_owned).collect()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// A data set that ships with the project.
pub fn shipped(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name).canonicalize().unwrap().display().to_string()
}

/// A file of the shared data sets (`TOVE_DATA`, or `../shared/data` beside the repository); says so where it is not there.
pub fn data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("TOVE_DATA").map_or_else(beside, PathBuf::from).join(name);
    if path.exists() {
        return Some(path);
    }
    println!("SKIPPED: data set absent: {}", path.display());
    None
}
