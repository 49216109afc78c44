//! What the program prints: tables and sentences for people, one JSON document for machines.

use std::io::{self, Write};

use serde_json::Value;

use crate::failure::Failure;

/// Where results go.
pub struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    /// Prints JSON if asked to, and no remarks if asked to be quiet.
    pub fn new(json: bool, quiet: bool) -> Output {
        Output { json, quiet }
    }

    /// Whether a machine reads the results.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether remarks are unwanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints the result: the text, or the document for machines.
    pub fn result(&self, text: impl FnOnce() -> String, document: impl FnOnce() -> Value) -> Result<(), Failure> {
        if self.json { self.write(&format!("{:#}\n", document())) } else { self.write(&text()) }
    }

    /// A remark on standard error, unless the program was asked to be quiet.
    pub fn remark(&self, text: impl AsRef<str>) {
        if !self.quiet {
            eprintln!("{}", text.as_ref());
        }
    }

    /// A reader that has seen enough closes the pipe; that is no failure.
    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }
}

/// Characters of a line of prose, at most.
pub const WIDEST: usize = 100;

/// Characters of a line of prose: those of the terminal, if there is one, and not too many.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(WIDEST, |(width, _)| usize::from(width.0).clamp(40, WIDEST))
}

/// The text with lines of prose broken between words. Tables and pictures, which have blanks side by side or brackets, stay.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        if line.trim_end().chars().count() <= width || line.contains("  ") || line.contains('[') {
            out.push_str(line);
            continue;
        }
        let mut used = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if used > 0 {
                let fits = used + 1 + length <= width;
                out.push(if fits { ' ' } else { '\n' });
                used = if fits { used + 1 } else { 0 };
            }
            out.push_str(word);
            used += length;
        }
        out.push('\n');
    }
    out
}

/// A table of texts: the first row is the head; columns of numbers are aligned to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let width = |column: usize| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let numeric: Vec<bool> = (0..columns)
        .map(|column| {
            let mut cells = rows.iter().skip(1).map(|row| cell(row, column)).filter(|text| !text.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|text| looks_numeric(&text))
        })
        .collect();
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let line: Vec<String> = (0..columns)
            .map(|column| {
                let (content, width) = (cell(row, column), widths[column]);
                let gap = " ".repeat(width - content.chars().count());
                if numeric[column] { format!("{gap}{content}") } else { format!("{content}{gap}") }
            })
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
        if place == 0 {
            text.push_str(&widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>().join("  "));
            text.push('\n');
        }
    }
    text
}

/// Whether a cell begins like a number: digits, signs, brackets of intervals.
fn looks_numeric(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-−.[(".contains(c)) || matches!(text, "inf" | "NaN")
}

/// A number with four digits that count, without needless zeros.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = if size >= 1.0 { (3 - size.log10().floor() as i32).max(0) } else { 4 } as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_between_words_and_tables_are_not() {
        let text = "one two three four\n\nα β γ δ ε\na  table that is wide\n[1, 2] and so on\nend";
        let broken = "one two\nthree four\n\nα β γ δ ε\na  table that is wide\n[1, 2] and so on\nend";
        assert_eq!(wrapped(text, 10), broken);
        assert_eq!(wrapped("unbreakable words\n", 5), "unbreakable\nwords\n");
    }
}
