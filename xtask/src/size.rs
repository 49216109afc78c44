//! Keeps files short and the repository small.

use std::path::Path;
use std::process::Command;

use crate::command::{output, root};

const WARN_LINES: usize = 400;
const MOST_LINES: usize = 600;
const MOST_BYTES: u64 = 30_000_000;

/// Checks every file that is, or could be, committed; true if none is too long and all together are small enough.
pub fn run() -> Result<bool, String> {
    let root = root();
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
    let names = output(list)?;
    let (mut bytes, mut good) = (0, true);
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        // A file deleted but not yet committed is still listed.
        let Ok(content) = std::fs::read(root.join(name)) else { continue };
        bytes += content.len() as u64;
        good &= !is_source(name, &content) || report_length(name, line_count(&content));
    }
    let megabytes = bytes as f64 / 1e6;
    println!("repository: {megabytes:.1} MB of files (at most {} MB)", MOST_BYTES / 1_000_000);
    if bytes > MOST_BYTES {
        println!("error: the repository is too large; keep big data out of it");
        good = false;
    }
    Ok(good)
}

fn is_source(name: &str, content: &[u8]) -> bool {
    matches!(Path::new(name).extension().and_then(|extension| extension.to_str()), Some("rs" | "py" | "sh"))
        || content.starts_with(b"#!")
}

fn line_count(content: &[u8]) -> usize {
    content.iter().filter(|&&byte| byte == b'\n').count()
}

/// Prints a word about a long file; false if it is too long.
fn report_length(name: &str, lines: usize) -> bool {
    if lines > MOST_LINES {
        println!("error: {name} has {lines} lines, more than {MOST_LINES}; split it");
    } else if lines > WARN_LINES {
        println!("warning: {name} has {lines} lines, more than {WARN_LINES}");
    }
    lines <= MOST_LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_known_by_ending_or_first_line() {
        assert!(is_source("a/b.rs", b""));
        assert!(is_source("bench/run", b"#!/usr/bin/env python3\n"));
        assert!(!is_source("tests/fixtures/x.json", b"{}"));
    }

    #[test]
    fn the_limit_itself_is_allowed() {
        assert!(report_length("a.rs", MOST_LINES));
        assert!(!report_length("a.rs", MOST_LINES + 1));
        assert_eq!(line_count(b"one\ntwo\n"), 2);
    }
}
