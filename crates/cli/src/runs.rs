//! The folder of runs: one numbered folder per fit with its model and report, and a line per fit in `runs.jsonl`.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tove::tensor::io::atomic;

use crate::failure::Failure;

const INDEX: &str = "runs.jsonl";
/// Folders of the last so many runs are looked through for what a killed program left.
const RECENT: usize = 50;

/// A run that has its folder but is not yet in the index.
pub struct Run {
    pub number: u64,
    pub folder: PathBuf,
    index: PathBuf,
}

impl Run {
    /// Takes the next number. Two programs that begin at once get different ones.
    pub fn begin(runs: &Path) -> Result<Run, Failure> {
        let place =
            |error: std::io::Error| Failure::stopped(runs.display(), &error).but("choose another folder with --runs");
        fs::create_dir_all(runs).map_err(place)?;
        let taken = fs::read_dir(runs).map_err(place)?.flatten();
        let mut numbers: Vec<u64> = taken.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok()).collect();
        numbers.sort_unstable();
        // What was killed lately may have left something.
        for number in numbers.iter().rev().take(RECENT) {
            atomic::sweep(&runs.join(number.to_string()));
        }
        let mut number = numbers.last().unwrap_or(&0) + 1;
        loop {
            let folder = runs.join(number.to_string());
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Run { number, folder, index: runs.join(INDEX) }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(place(error)),
            }
        }
    }

    /// Adds the run, whose model is saved, to the index. A report that could not be written is noted there, and is the
    /// failure of the run.
    pub fn finish(&self, mut document: Value, report: Result<(), Failure>) -> Result<(), Failure> {
        let Err(failure) = report else { return self.list(document) };
        document["report"] = Value::Null;
        document["problem"] = json!(failure.to_string());
        let model = document["model_file"].as_str().unwrap_or_default().to_owned();
        // Where neither can be written, the report is the news.
        let listed = self.list(document).map_or(String::new(), |()| format!(", and run {} is listed", self.number));
        Err(failure.but(format!("the model is saved: {model}{listed}")))
    }

    /// Adds a line to the index, in one write.
    fn list(&self, mut document: Value) -> Result<(), Failure> {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        document["run"] = json!(self.number);
        document["time"] = json!(seconds);
        let failed = |error| Failure::stopped(format!("cannot write {}", self.index.display()), &error);
        let mut file = fs::OpenOptions::new().create(true).read(true).append(true).open(&self.index).map_err(failed)?;
        // A program that was killed may have left half a line, which must not take this one with it.
        let begin = if ends_a_line(&mut file) { "" } else { "\n" };
        file.write_all(format!("{begin}{document}\n").as_bytes()).map_err(failed)
    }

    /// Removes the folder of a run that came to nothing, if nothing is in it.
    pub fn abandon(self) {
        let _ = fs::remove_dir(&self.folder); // what is in a folder stays
    }
}

fn ends_a_line(file: &mut fs::File) -> bool {
    let mut last = [b'\n'];
    // An empty file has no last byte.
    let _ = file.seek(SeekFrom::End(-1)).and_then(|_| file.read(&mut last));
    last == [b'\n']
}

/// All runs of a folder, the oldest first. Lines that cannot be read are left out and counted.
pub fn all(runs: &Path) -> Result<(Vec<Value>, usize), Failure> {
    let path = runs.join(INDEX);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::work(format!("{}: no runs yet; `tove fit` makes one", runs.display())));
        }
        Err(error) => return Err(Failure::stopped(path.display(), &error)),
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let runs: Vec<Value> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let lost = lines.len() - runs.len();
    Ok((runs, lost))
}
