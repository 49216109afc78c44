//! Tables of a report.

use crate::draw::text::escape;
use std::fmt::Write as _;

/// A table: headers, rows of text, and a caption. Columns of numbers are aligned to the right.
///
/// ```
/// use tove_plot::ReportTable;
/// let html = ReportTable::new(&["model", "accuracy"]).row(&["a <b>", "0.91"]).caption("Scores").to_html();
/// assert!(html.contains("a &lt;b&gt;") && html.contains("<td class=\"number\">0.91</td>"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportTable {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
    caption: String,
}

impl ReportTable {
    /// A table with these column headers.
    pub fn new<S: AsRef<str>>(headers: &[S]) -> Self {
        ReportTable { headers: texts(headers), ..Self::default() }
    }

    /// Adds a row; the first cell is the row's header. Missing cells stay empty, further ones get an empty header.
    #[must_use]
    pub fn row<S: AsRef<str>>(mut self, cells: &[S]) -> Self {
        self.rows.push(texts(cells));
        self
    }

    /// A sentence above the table.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// The table as HTML.
    pub fn to_html(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).chain([self.headers.len()]).max().unwrap_or(0);
        let cell = |row: &[String], i: usize| row.get(i).map(|c| escape(c)).unwrap_or_default();
        let class: Vec<&str> = (0..columns).map(|i| if self.is_number(i) { " class=\"number\"" } else { "" }).collect();
        let label = if self.caption.is_empty() { "table" } else { &self.caption };
        let mut out =
            format!("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n", escape(label));
        if !self.caption.is_empty() {
            let _ = writeln!(out, "<caption>{}</caption>", escape(&self.caption));
        }
        out.push_str("<thead><tr>");
        for (i, class) in class.iter().enumerate() {
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", cell(&self.headers, i));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, class) in class.iter().enumerate() {
                match i {
                    0 => write!(out, "<th scope=\"row\"{class}>{}</th>", cell(row, i)),
                    _ => write!(out, "<td{class}>{}</td>", cell(row, i)),
                }
                .unwrap_or_default();
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// Whether all filled cells of a column are numbers, perhaps with a sign, a unit of percent or an error.
    fn is_number(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|r| r.get(column)).filter(|c| !c.trim().is_empty()).peekable();
        cells.peek().is_some() && cells.all(|c| looks_numeric(c))
    }
}

fn texts<S: AsRef<str>>(cells: &[S]) -> Vec<String> {
    cells.iter().map(|c| c.as_ref().to_owned()).collect()
}

fn looks_numeric(cell: &str) -> bool {
    let cell = cell.trim();
    if matches!(cell, "–" | "—" | "-" | "NaN" | "∞" | "−∞") {
        return true;
    }
    let allowed = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-−.,%±×eE()[]<>≤≥/⁻⁰¹²³⁴⁵⁶⁷⁸⁹".contains(c);
    cell.chars().any(|c| c.is_ascii_digit()) && cell.chars().all(allowed)
}
