//! What the program prints: tables and sentences for people, one JSON document for machines.

use std::io::{self, Write};

use serde_json::Value;

use crate::failure::{Failure, printable, tell};

/// Where results go.
pub struct Output {
    json: bool,
    volume: Volume,
}

/// How much is said beside the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    /// No progress and no remarks.
    Quiet,
    Normal,
    /// Details too: all columns, all intervals and bounds, and how they were computed.
    Verbose,
}

impl Output {
    /// Prints JSON if asked to, and as many remarks as wanted.
    pub fn new(json: bool, volume: Volume) -> Output {
        Output { json, volume }
    }

    /// Whether a machine reads the results.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether remarks are unwanted.
    pub fn is_quiet(&self) -> bool {
        self.volume == Volume::Quiet
    }

    /// Whether details are wanted.
    pub fn is_verbose(&self) -> bool {
        self.volume == Volume::Verbose
    }

    /// Prints the result: the text, or the document for machines.
    pub fn result(&self, text: impl FnOnce() -> String, document: impl FnOnce() -> Value) -> Result<(), Failure> {
        if self.json {
            self.write(format!("{:#}\n", document()).as_bytes())
        } else {
            self.write(printable(&text()).as_bytes())
        }
    }

    /// Prints bytes as they are.
    pub fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write(bytes)
    }

    /// A remark on standard error, unless the program was asked to be quiet.
    pub fn remark(&self, text: impl AsRef<str>) {
        if !self.is_quiet() {
            tell(text.as_ref());
        }
    }

    /// A remark that only `--verbose` shows.
    pub fn detail(&self, text: impl AsRef<str>) {
        if self.is_verbose() {
            tell(text.as_ref());
        }
    }

    /// A reader that has seen enough closes the pipe, which is not an error.
    fn write(&self, text: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        match out.write_all(text).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| Failure::stopped("standard output", &error)),
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
        out.push_str(&lines(line, width).join("\n"));
        out.push('\n');
    }
    out
}

/// A paragraph broken between words to the width of the terminal, with a line end; further lines are indented by two blanks if
/// `hanging`.
fn broken(text: &str, hanging: bool) -> String {
    let width = width();
    let lines = lines(text, if hanging { width - 2 } else { width });
    lines.join(if hanging { "\n  " } else { "\n" }) + "\n"
}

/// A count with its noun: `1 row`, `2 rows`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A paragraph of prose, broken between words to the width of the terminal, with a line end.
pub fn paragraph(text: &str) -> String {
    broken(text, false)
}

/// A note: a paragraph whose further lines are indented.
pub fn note(text: &str) -> String {
    broken(text, true)
}

/// Lines of at most so many characters. A word that is longer has a line of its own.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The lines of a cell: broken between words, and within words that are longer than a line.
fn cell_lines(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let cut = |line: String| {
        let letters: Vec<char> = line.chars().collect();
        letters.chunks(width.max(1)).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>()
    };
    lines(text, width).into_iter().flat_map(cut).collect()
}

/// Characters that a column keeps when a table is too wide.
const NARROWEST: usize = 12;

/// A table of texts within the width of the terminal: the first row is the header; columns of numbers are aligned to the right.
/// Where the table would be wider, the widest columns of text are narrowed and their cells continue on further lines.
pub fn table(rows: &[Vec<String>]) -> String {
    table_within(rows, width())
}

fn table_within(rows: &[Vec<String>], most: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let widest = |column: usize| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(widest).collect();
    let numeric: Vec<bool> = (0..columns)
        .map(|column| {
            let mut cells = rows.iter().skip(1).map(|row| cell(row, column)).filter(|text| !text.is_empty()).peekable();
            cells.peek().is_some() && cells.all(|text| looks_numeric(&text))
        })
        .collect();
    // Times can be broken, other numbers cannot.
    let fixed: Vec<bool> = (0..columns)
        .map(|column| {
            numeric[column]
                && !rows.iter().skip(1).all(|row| cell(row, column).contains("-") && cell(row, column).contains(":"))
        })
        .collect();
    // Words are broken only where narrowing between words is not enough.
    let word = |column: usize| {
        let words = |row: &Vec<String>| cell(row, column).split_whitespace().map(|word| word.chars().count()).max();
        rows.iter().filter_map(words).max().unwrap_or(0).max(NARROWEST)
    };
    let longest: Vec<usize> = (0..columns).map(word).collect();
    for least in [longest, vec![NARROWEST; columns]] {
        while widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1) > most {
            let narrowable = (0..columns).filter(|&column| !fixed[column] && widths[column] > least[column]);
            let Some(column) = narrowable.max_by_key(|&column| widths[column]) else { break };
            widths[column] -= 1;
        }
    }
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let cells: Vec<Vec<String>> =
            (0..columns).map(|column| cell_lines(&cell(row, column), widths[column])).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let parts: Vec<String> = (0..columns)
                .map(|column| {
                    let content = cells[column].get(line).map_or("", String::as_str);
                    let blank = " ".repeat(widths[column].saturating_sub(content.chars().count()));
                    if numeric[column] { format!("{blank}{content}") } else { format!("{content}{blank}") }
                })
                .collect();
            text.push_str(parts.join("  ").trim_end());
            text.push('\n');
        }
        if place == 0 {
            text.push_str(&widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>().join("  "));
            text.push('\n');
        }
    }
    text
}

/// Names with a value each, one below the other, within the width of the terminal.
pub fn entries<N: AsRef<str>>(list: &[(N, String)]) -> String {
    let left = list.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0) + 2;
    let room = width().saturating_sub(left).max(NARROWEST);
    let mut text = String::new();
    for (name, value) in list {
        let name = name.as_ref();
        for (place, line) in cell_lines(value, room).iter().enumerate() {
            let name = if place == 0 { name } else { "" };
            text.push_str(format!("{name:<left$}{line}").trim_end());
            text.push('\n');
        }
    }
    text
}

/// Whether a cell begins like a number: digits, signs, brackets of intervals.
fn looks_numeric(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-−.[(".contains(c)) || matches!(text, "inf" | "NaN")
}

/// Decimals that all numbers of a column, or of a row, are shown with, so that they line up and none seems more exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimals {
    /// So many digits behind the point.
    Fixed(usize),
    /// Numbers so large or small that powers of ten read better.
    Scientific,
}

impl Decimals {
    /// Four or five digits of the largest of these numbers, at most four of them behind the point.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Decimals {
        let largest = values.into_iter().filter(|value| value.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
        if largest != 0.0 && !(1e-3..1e7).contains(&largest) {
            return Decimals::Scientific;
        }
        let digits = if largest < 10.0 { 4 } else { 4 - (largest.log10().floor() as usize).min(4) };
        Decimals::Fixed(digits)
    }

    /// The number; one that is zero at these digits has no sign.
    pub fn show(self, value: f64) -> String {
        let text = match self {
            _ if !value.is_finite() => return value.to_string(),
            Decimals::Fixed(digits) => format!("{value:.digits$}"),
            Decimals::Scientific if value == 0.0 => "0".to_owned(),
            Decimals::Scientific => format!("{value:.3e}"),
        };
        match text.strip_prefix('-') {
            Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
            _ => text,
        }
    }
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

    #[test]
    fn wide_tables_continue_cells_on_further_lines() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["name", "n", "meaning"]), row(["a", "12345", "one two three four five six seven"])];
        let text = table_within(&rows, 30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert_eq!(text.lines().nth(2), Some("a     12345  one two three"), "{text}");
        let long = [row(["name", "n", "file"]), row(["a", "1", "/a/path/without/a/blank/in/it"])];
        let text = table_within(&long, 25);
        assert!(text.lines().all(|line| line.chars().count() <= 25), "{text}");
        let joined: String = text.lines().skip(2).map(|line| line.get(9..).unwrap_or("")).collect();
        assert_eq!(joined, "/a/path/without/a/blank/in/it");
    }

    #[test]
    fn names_are_not_broken_while_there_are_blanks_to_break_at() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows =
            [row(["time", "model", "target"]), row(["2026-01-31 12:00", "LinearRegression", "median house value"])];
        let text = table_within(&rows, 46);
        assert!(text.contains("LinearRegression") && text.lines().all(|line| line.chars().count() <= 46), "{text}");
    }

    #[test]
    fn numbers_of_a_column_have_the_same_decimals() {
        let shown = |values: [f64; 3]| values.map(|value| Decimals::of(values).show(value));
        assert_eq!(shown([0.809, 0.8181, 1.0]), ["0.8090", "0.8181", "1.0000"]);
        assert_eq!(shown([57.51, 74.2, 63.3]), ["57.510", "74.200", "63.300"]);
        assert_eq!(shown([123456.7, 2.0, 0.0]), ["123457", "2", "0"]);
        // The R² of a constant is zero up to rounding.
        assert_eq!(Decimals::of([0.5]).show(-6.907e-9), "0.0000");
        assert_eq!(shown([2e-9, 0.0, -1e-9]), ["2.000e-9", "0", "-1.000e-9"]);
    }
}
