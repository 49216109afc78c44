//! Pictures as plain text for the terminal: a line chart in Braille or marks, bars in blocks, and a spark line.
//!
//! A Braille character holds 2 × 4 dots, so a chart of w × h characters has 2w × 4h points. One series is drawn in
//! Braille; several are drawn with a mark each, since plain text has no colors. No line is wider than the width asked
//! for. Control characters in names are replaced, so that a name cannot command the terminal.

use crate::draw::frame::reason;
use crate::draw::number::{aligned_numbers, short_number};
use crate::draw::scale::{Scale, drawable, range};
use crate::error::{PlotError, Result, same_length};

const MARKS: [char; 8] = ['*', 'o', '+', 'x', '#', '@', '%', '&'];

/// The number of columns a text takes in a terminal.
fn columns(text: &str) -> usize {
    text.chars().map(column).sum()
}

fn column(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36F}' | '\u{200B}'..='\u{200F}' => 0,
        '\u{1100}'..='\u{115F}' | '\u{2E80}'..='\u{A4CF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' => 2,
        '\u{FE30}'..='\u{FE6F}' | '\u{FF00}'..='\u{FF60}' | '\u{1F000}'.. => 2,
        _ => 1,
    }
}

/// A name without control characters, cut or filled to exactly `width` columns.
fn fitted(name: &str, width: usize) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    let mut out = String::new();
    if columns(&clean) <= width {
        out.push_str(&clean);
    } else {
        for c in clean.chars() {
            if columns(&out) + column(c) + 1 > width {
                break;
            }
            out.push(c);
        }
        if width > 0 {
            out.push('…');
        }
    }
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(columns(&out))));
    out
}

/// A chart of lines as text; the values of a series stand at 1, 2, 3 ... along the axis, or at the places that [`LineText::x`] gives.
///
/// ```
/// use tove_plot::terminal::LineText;
/// let text = LineText::new().series("loss", &[1.0, 0.5, 0.3, 0.25, 0.22]).render(40, 6)?;
/// assert!(text.lines().all(|line| line.chars().count() <= 40));
/// let text = LineText::new().x(&[33.0, 165.0, 331.0]).series("R²", &[0.2, 0.35, 0.39]).render(40, 6)?;
/// assert!(text.lines().any(|line| line.trim_start().starts_with("33 ") && line.ends_with(" 331")));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LineText {
    series: Vec<(String, Vec<f64>)>,
    x: Vec<f64>,
    log: bool,
    log_x: bool,
    marks: bool,
}

impl LineText {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, values: &[f64]) -> Self {
        self.series.push((name.into(), values.to_vec()));
        self
    }

    /// The places of the values along the horizontal axis, the same for all series.
    #[must_use]
    pub fn x(mut self, x: &[f64]) -> Self {
        self.x = x.to_vec();
        self
    }

    /// A logarithmic horizontal axis.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        self.log_x = true;
        self
    }

    /// A logarithmic vertical axis.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = true;
        self
    }

    /// Plain marks also for a single series, for terminals without Braille.
    #[must_use]
    pub fn marks(mut self) -> Self {
        self.marks = true;
        self
    }

    /// The chart in `width` columns, with `height` rows for the lines and a few more for axis and legend.
    ///
    /// # Errors
    /// If there is nothing to draw, a series has another length than the places given with [`LineText::x`], one of those is not
    /// finite (or not positive on a logarithmic axis), or the size is below 20 × 2 or above 1000 × 500.
    pub fn render(&self, width: usize, height: usize) -> Result<String> {
        const WHAT: &str = "text chart";
        if !(20..=1000).contains(&width) || !(2..=500).contains(&height) {
            let problem = format!("a size of {width} × {height} characters; 20 × 2 to 1000 × 500 are possible");
            return Err(PlotError::parameter(WHAT, problem));
        }
        let all = || self.series.iter().flat_map(|s| s.1.iter().copied());
        let seen = || all().filter(|v| drawable(*v, self.log));
        let Some((low, high)) = range(seen()) else {
            return Err(match all().count() {
                0 => PlotError::Empty { what: WHAT, missing: "value" },
                count => PlotError::NoFinite { what: WHAT, count, reason: reason(self.log) },
            });
        };
        let scale = Scale::exact(low, high, self.log);
        let (bottom, top) = scale.ends();
        let labels = [short_number(top), short_number(bottom)];
        let margin = labels.iter().map(|l| columns(l)).max().unwrap_or(0);
        let inner = width - margin - 2;
        let length = self.series.iter().map(|s| s.1.len()).max().unwrap_or(1);
        let across = self.across(length)?;
        let rows = if self.series.len() == 1 && !self.marks {
            self.braille(&scale, &across, inner, height)
        } else {
            self.marked(&scale, &across, inner, height)
        };
        let mut out = String::new();
        for (i, row) in rows.iter().enumerate() {
            let label = if i == 0 {
                labels[0].as_str()
            } else if i + 1 == height {
                &labels[1]
            } else {
                ""
            };
            let axis = if label.is_empty() { '│' } else { '┤' };
            let blank = " ".repeat(margin - columns(label));
            out.push_str(format!("{blank}{label} {axis}{row}").trim_end());
            out.push('\n');
        }
        out.push_str(&format!("{} └{}\n", " ".repeat(margin), "─".repeat(inner)));
        let ends = (self.x.first().copied().unwrap_or(1.0), self.x.last().copied().unwrap_or(length as f64));
        let (first, last) = (short_number(ends.0), short_number(ends.1));
        let gap = inner.saturating_sub(columns(&first) + columns(&last));
        out.push_str(&format!("{}  {first}{}{last}\n", " ".repeat(margin), " ".repeat(gap)));
        self.legend(&mut out, width, margin, all().count() - seen().count());
        Ok(out)
    }

    fn legend(&self, out: &mut String, width: usize, margin: usize, hidden: usize) {
        let single = self.series.len() == 1 && !self.marks;
        for (i, (name, _)) in self.series.iter().enumerate().filter(|(_, s)| !s.0.is_empty()) {
            let mark = if single { '⠒' } else { MARKS[i % MARKS.len()] };
            let name = fitted(name, width - margin - 4);
            out.push_str(format!("{}  {mark} {name}", " ".repeat(margin)).trim_end());
            out.push('\n');
        }
        if hidden > 0 {
            let text = format!("{hidden} left out: {}", reason(self.log));
            out.push_str(fitted(&text, width).trim_end());
            out.push('\n');
        }
    }

    /// Where values stand between the left and the right end, from 0 to 1.
    fn across(&self, length: usize) -> Result<Vec<f64>> {
        const WHAT: &str = "text chart";
        if self.x.is_empty() {
            let steps = (length - 1).max(1) as f64;
            return Ok((0..length).map(|i| i as f64 / steps).collect());
        }
        for (_, values) in &self.series {
            same_length(WHAT, ("places", self.x.len()), ("values", values.len()))?;
        }
        if self.x.iter().any(|x| !drawable(*x, self.log_x)) {
            return Err(PlotError::parameter(WHAT, format!("places along the axis that are {}", reason(self.log_x))));
        }
        let place = |x: f64| if self.log_x { x.ln() } else { x };
        let ends = (place(self.x[0]), place(self.x[self.x.len() - 1]));
        let span = if ends.1 > ends.0 { ends.1 - ends.0 } else { 1.0 };
        Ok(self.x.iter().map(|&x| ((place(x) - ends.0) / span).clamp(0.0, 1.0)).collect())
    }

    /// The points of a series on a raster of `width` × `height`, from the top; None where there is nothing to draw.
    fn raster(
        &self,
        values: &[f64],
        scale: &Scale,
        across: &[f64],
        width: usize,
        height: usize,
    ) -> Vec<Option<(i64, i64)>> {
        let place = |(at, v): (&f64, &f64)| {
            drawable(*v, self.log).then(|| {
                let y = (1.0 - scale.fraction(*v)) * (height - 1) as f64;
                ((at * (width - 1) as f64).round() as i64, y.round() as i64)
            })
        };
        across.iter().zip(values).map(place).collect()
    }

    fn braille(&self, scale: &Scale, across: &[f64], width: usize, height: usize) -> Vec<String> {
        let mut cells = vec![vec![0u32; width]; height];
        // bits of the dots, rows from the top
        let bits = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        for (_, values) in &self.series {
            let points = self.raster(values, scale, across, 2 * width, 4 * height);
            trace(&points, |x, y| cells[y / 4][x / 2] |= bits[y % 4][x % 2]);
        }
        let character = |bits: &u32| if *bits == 0 { ' ' } else { char::from_u32(0x2800 + bits).unwrap_or(' ') };
        cells.iter().map(|row| row.iter().map(character).collect()).collect()
    }

    fn marked(&self, scale: &Scale, across: &[f64], width: usize, height: usize) -> Vec<String> {
        let mut cells = vec![vec![' '; width]; height];
        for (i, (_, values)) in self.series.iter().enumerate() {
            let points = self.raster(values, scale, across, width, height);
            trace(&points, |x, y| cells[y][x] = MARKS[i % MARKS.len()]);
        }
        cells.into_iter().map(|row| row.into_iter().collect()).collect()
    }
}

/// Sets the points of straight lines between neighbors; a gap breaks the line.
fn trace(points: &[Option<(i64, i64)>], mut set: impl FnMut(usize, usize)) {
    let mut last: Option<(i64, i64)> = None;
    for point in points {
        if let Some((x, y)) = *point {
            let (x0, y0) = last.unwrap_or((x, y));
            let steps = (x - x0).abs().max((y - y0).abs()).max(1);
            for i in 0..=steps {
                let between = |a: i64, b: i64| (a as f64 + (b - a) as f64 * i as f64 / steps as f64).round() as usize;
                set(between(x0, x), between(y0, y));
            }
        }
        last = *point;
    }
}

/// Horizontal bars as text, with names on the left and numbers on the right.
///
/// ```
/// let text = tove_plot::terminal::bars(&[("age", 0.42), ("income", -0.17)], 40)?;
/// assert_eq!(text.lines().count(), 2);
/// assert!(text.lines().all(|line| line.chars().count() <= 40));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
///
/// # Errors
/// If there are no bars, no value is finite, or the width is below 20 or above 1000.
pub fn bars<S: AsRef<str>>(items: &[(S, f64)], width: usize) -> Result<String> {
    const WHAT: &str = "text bars";
    if !(20..=1000).contains(&width) {
        return Err(PlotError::parameter(WHAT, format!("a width of {width} characters; 20 to 1000 are possible")));
    }
    let values = items.iter().map(|i| i.1).filter(|v| drawable(*v, false));
    let Some((low, high)) = range(values) else {
        return Err(match items.len() {
            0 => PlotError::Empty { what: WHAT, missing: "bar" },
            count => PlotError::NoFinite { what: WHAT, count, reason: reason(false) },
        });
    };
    let (low, high) = (low.min(0.0), high.max(0.0));
    let numbers = aligned_numbers(&items.iter().map(|i| i.1).collect::<Vec<_>>());
    let number_width = numbers.iter().map(|n| columns(n)).max().unwrap_or(0).min(width / 3);
    let name_width = items.iter().map(|i| columns(i.0.as_ref())).max().unwrap_or(0).min(width / 3);
    let room = width - name_width - number_width - 2;
    let span = if high > low { high - low } else { 1.0 };
    let zero = (-low / span * room as f64).round() as usize;
    let mut out = String::new();
    for ((name, value), number) in items.iter().zip(&numbers) {
        let bar = if drawable(*value, false) { bar(value / span, room, zero) } else { " ".repeat(room) };
        let line = format!("{} {bar} {}", fitted(name.as_ref(), name_width), fitted(number, number_width));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    Ok(out)
}

/// A bar of `share` of the room from column `zero`, to the right or, negative, to the left.
fn bar(share: f64, room: usize, zero: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let mut cells = vec![' '; room];
    if share < 0.0 {
        // there are no left-going eighths, only a half
        let halves = ((-share * room as f64 * 2.0).round() as usize).min(2 * zero);
        cells[zero - halves / 2..zero].fill('█');
        if halves % 2 == 1 {
            cells[zero - halves / 2 - 1] = '▐';
        }
    } else {
        let eighths = ((share * room as f64 * 8.0).round() as usize).min(8 * (room - zero));
        cells[zero..zero + eighths / 8].fill('█');
        if !eighths.is_multiple_of(8) {
            cells[zero + eighths / 8] = EIGHTHS[eighths % 8];
        }
    }
    cells.into_iter().collect()
}

/// The course of some values in one row of blocks, at most `width` columns; values that are not finite are blanks.
///
/// ```
/// assert_eq!(tove_plot::terminal::spark(&[1.0, 2.0, 3.0, 8.0], 10), "▁▂▃█");
/// ```
pub fn spark(values: &[f64], width: usize) -> String {
    let Some((low, high)) = range(values.iter().copied().filter(|v| drawable(*v, false))) else {
        return " ".repeat(values.len().min(width));
    };
    let n = values.len().min(width);
    let block = |i: usize| {
        let part = &values[i * values.len() / n..((i + 1) * values.len() / n)];
        let known: Vec<f64> = part.iter().copied().filter(|v| drawable(*v, false)).collect();
        let mean = known.iter().map(|v| v / known.len() as f64).sum::<f64>();
        let t = if high > low { (mean - low) / (high - low) } else { 0.5 };
        let level = (t * 7.0).round().clamp(0.0, 7.0) as u32;
        if known.is_empty() { ' ' } else { char::from_u32(0x2581 + level).unwrap_or(' ') }
    };
    (0..n).map(block).collect()
}
