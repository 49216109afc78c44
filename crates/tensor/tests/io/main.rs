//! The io room against files of other libraries, hostile files and mutated files.

mod fuzz;
mod hostile;
mod meter;
mod replace;
mod sound;
mod write;

use std::path::PathBuf;

/// A file of the corpus, which `tests/reference/corpus.py` writes.
fn corpus(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)
}

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tove-io-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary folder");
        Folder(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Names of the files inside, hidden ones too.
    fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
