//! Running other programs: live output, and a callback for each line.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The root of the workspace, one folder above this package.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// A `cargo` command in the workspace root, split at spaces.
pub fn cargo(arguments: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split_whitespace()).current_dir(root());
    command
}

/// Runs the command with our own output and tells whether it succeeded.
pub fn succeeds(mut command: Command) -> Result<bool, String> {
    let status = command.status().map_err(|error| cannot_start(&command, &error))?;
    Ok(status.success())
}

/// Whether the command succeeds, without showing anything it says.
pub fn succeeds_quietly(mut command: Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What the command writes to its standard output, or an error with what it wrote to the other one.
pub fn output(mut command: Command) -> Result<String, String> {
    let output = command.output().map_err(|error| cannot_start(&command, &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Runs the command, hands each line of its output to `each_line` as it comes, and shows those it answers true to.
///
/// Both streams go into one pipe, so that a test's line stays below the heading of the program it belongs to.
pub fn stream(mut command: Command, mut each_line: impl FnMut(&str) -> bool) -> Result<bool, String> {
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    let second_writer = writer.try_clone().map_err(|error| format!("no pipe: {error}"))?;
    command.stdout(writer).stderr(second_writer).stdin(Stdio::null());
    let mut child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    // The command holds our ends of the pipe; reading would never end while they are open.
    drop(command);
    copy_lines(reader, std::io::stdout(), &mut each_line);
    let status = child.wait().map_err(|error| format!("cannot wait for a command: {error}"))?;
    Ok(status.success())
}

fn copy_lines(reader: impl Read, mut screen: impl Write, each_line: &mut impl FnMut(&str) -> bool) {
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
        if each_line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r'])) {
            // A closed screen (`| head`) must not stop the run: its result is still wanted.
            let _ = screen.write_all(&bytes).and_then(|()| screen.flush());
        }
        bytes.clear();
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {:?}: {error}", command.get_program())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_handed_over_even_without_a_last_newline() {
        let (mut screen, mut lines) = (Vec::new(), Vec::new());
        let text = "one\r\ntwo\n\nthree".as_bytes();
        copy_lines(text, &mut screen, &mut |line: &str| {
            lines.push(line.to_string());
            line.contains('t')
        });
        assert_eq!(screen, b"two\nthree");
        assert_eq!(lines, ["one", "two", "", "three"]);
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let error = succeeds(Command::new("no-such-program-of-tove")).expect_err("must not start");
        assert!(error.contains("no-such-program-of-tove"), "{error}");
    }
}
