//! Cells: heat maps with labels, attention maps, and the confusion matrix.
//!
//! A cell's strength is the opacity of one color, (v − low) / (high − low). With `signed` the scale is symmetric around
//! zero: one color above, another below. The confusion matrix shades each row by its own share, so that a rare class is
//! seen as well as a common one.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Frame, axis_methods, color_bar, frame_methods, heat, left_out, reason};
use crate::draw::number::{count, short_number, trimmed};
use crate::draw::scale::{Scale, drawable, range};
use crate::draw::scene::{Anchor, Area, LABEL, SMALL, Scene, TICK};
use crate::draw::text::text_width;
use crate::draw::theme::STRONG;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "heat map";

/// A matrix as colored cells with names of rows and columns: correlations, grids of scores, attention weights.
///
/// ```
/// use tove_plot::{HeatMap, Picture};
/// let map = HeatMap::new(&["the", "cat"], &["the", "cat"], &[1.0, 0.0, 0.3, 0.7])
///     .x_label("attends to")
///     .y_label("token")
///     .bounds(0.0, 1.0)
///     .show_values();
/// assert!(map.to_svg()?.contains("0.7"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeatMap {
    frame: Frame,
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<f64>,
    x_label: String,
    y_label: String,
    signed: bool,
    bounds: Option<(f64, f64)>,
    show_values: bool,
    value_label: String,
}

impl HeatMap {
    /// From names of rows and columns, and values row by row.
    pub fn new<R: AsRef<str>, C: AsRef<str>>(rows: &[R], columns: &[C], values: &[f64]) -> Self {
        HeatMap {
            frame: Frame::default(),
            rows: rows.iter().map(|s| s.as_ref().to_owned()).collect(),
            columns: columns.iter().map(|s| s.as_ref().to_owned()).collect(),
            values: values.to_vec(),
            x_label: String::new(),
            y_label: String::new(),
            signed: false,
            bounds: None,
            show_values: false,
            value_label: String::new(),
        }
    }

    /// Two colors around zero, for correlations and differences.
    #[must_use]
    pub fn signed(mut self) -> Self {
        self.signed = true;
        self
    }

    /// The values of the weakest and the strongest color, in place of the smallest and largest value.
    #[must_use]
    pub fn bounds(mut self, low: f64, high: f64) -> Self {
        self.bounds = Some((low, high));
        self
    }

    /// Writes the values into the cells, where they fit.
    #[must_use]
    pub fn show_values(mut self) -> Self {
        self.show_values = true;
        self
    }

    /// What the values are, written along the color bar.
    #[must_use]
    pub fn value_label(mut self, label: impl Into<String>) -> Self {
        self.value_label = label.into();
        self
    }

    frame_methods!();
    axis_methods!();

    fn ends(&self) -> Result<(f64, f64)> {
        let none = PlotError::NoFinite { what: WHAT, count: self.values.len(), reason: reason(false) };
        let (mut low, mut high) = range(self.values.iter().copied().filter(|&v| drawable(v, false))).ok_or(none)?;
        if let Some(bounds) = self.bounds {
            if !(drawable(bounds.0, false) && drawable(bounds.1, false) && bounds.0 < bounds.1) {
                let problem = format!("bounds from {} to {}; they must be finite and increasing", bounds.0, bounds.1);
                return Err(PlotError::parameter(WHAT, problem));
            }
            (low, high) = bounds;
        }
        if self.signed {
            high = low.abs().max(high.abs());
            low = -high;
        }
        Ok(if low < high { (low, high) } else { Scale::exact(low, high, false).ends() })
    }
}

/// Width and height of a picture of cells: the names, and cells of `cell` pixels within reason.
fn natural_size(rows: &[String], columns: &[String], cell: f64, extra: f64) -> (f64, f64) {
    let names = rows.iter().map(|n| text_width(n, 12.0)).fold(0.0, f64::max).min(200.0);
    let below = columns.iter().map(|n| text_width(n, TICK)).fold(0.0, f64::max);
    let below = if cell >= 90.0 || below < cell { 18.0 } else { below.min(120.0) };
    let width = (names + 60.0 + extra + cell * columns.len() as f64).clamp(320.0, 1000.0);
    (width, (110.0 + below + cell * rows.len() as f64).clamp(260.0, 1000.0))
}

impl Picture for HeatMap {
    fn scene(&self) -> Result<Scene> {
        let cells = self.rows.len() * self.columns.len();
        if cells == 0 {
            return Err(PlotError::Empty { what: WHAT, missing: "row and column" });
        }
        same_length(WHAT, ("cells", cells), ("values", self.values.len()))?;
        let (low, high) = self.ends()?;
        let hidden = self.values.iter().filter(|&&v| !drawable(v, false)).count();
        let notes: Vec<_> = left_out(hidden, "cell", reason(false)).into_iter().collect();
        let kind = format!("heat map of {} rows and {} columns", self.rows.len(), self.columns.len());
        let cell = if self.show_values { 46.0 } else { 34.0 };
        let size = natural_size(&self.rows, &self.columns, cell, 70.0);
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, size, 150.0, &[], &notes)?;
        let inner = Area { width: area.width - 64.0, ..area };
        let (x, y) = (Axis::bands(self.columns.clone(), &self.x_label), Axis::bands(self.rows.clone(), &self.y_label));
        let axes = Axes::draw(&mut scene, inner, x, y);
        let columns = self.columns.len();
        let (width, height) = (axes.area.width / columns as f64, axes.area.height / self.rows.len() as f64);
        for (i, &value) in self.values.iter().enumerate().filter(|(_, v)| drawable(**v, false)) {
            let (row, column) = (i / columns, i % columns);
            let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
            let (class, opacity) = heat(t, self.signed);
            let cell =
                Area { x: axes.area.x + column as f64 * width, y: axes.area.y + row as f64 * height, width, height };
            let tip = format!("{} → {}: {}", self.rows[row], self.columns[column], short_number(value));
            scene.rect(cell, &format!("mark {class}")).number("fill-opacity", opacity).tip(&tip);
            let text = trimmed(value, 2).replace('-', "−");
            if self.show_values && height >= 13.0 && text_width(&text, SMALL) <= width - 2.0 {
                let class = if opacity >= STRONG { "on" } else { "" };
                let at = (cell.x + width / 2.0, cell.y + height / 2.0 + 3.5);
                scene.label(at, Anchor::Middle, SMALL, class, &text);
            }
        }
        let bar = Area { x: area.right() - 52.0, width: 52.0, ..axes.area };
        color_bar(&mut scene, bar, (low, high), self.signed, &self.value_label);
        Ok(scene)
    }
}

/// A confusion matrix: true classes down, predicted classes across, counts and the share of each row.
///
/// ```
/// use tove_plot::{ConfusionChart, Picture};
/// let chart = ConfusionChart::new(&["cat", "dog"], &[40, 10, 5, 45]);
/// let svg = chart.to_svg()?;
/// assert!(svg.contains("80%") && svg.contains(">45<"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConfusionChart {
    frame: Frame,
    classes: Vec<String>,
    counts: Vec<u64>,
}

impl ConfusionChart {
    /// From class names and counts row by row; a row is a true class.
    pub fn new<S: AsRef<str>>(classes: &[S], counts: &[u64]) -> Self {
        let classes = classes.iter().map(|s| s.as_ref().to_owned()).collect();
        ConfusionChart { frame: Frame::default(), classes, counts: counts.to_vec() }
    }

    frame_methods!();
}

impl Picture for ConfusionChart {
    fn scene(&self) -> Result<Scene> {
        const WHAT: &str = "confusion matrix";
        let k = self.classes.len();
        if k == 0 {
            return Err(PlotError::Empty { what: WHAT, missing: "class" });
        }
        same_length(WHAT, ("cells", k * k), ("counts", self.counts.len()))?;
        let total: u64 = self.counts.iter().sum();
        let right: u64 = (0..k).map(|i| self.counts[i * k + i]).sum();
        let share = if total == 0 { "no samples".to_owned() } else { percent(right, total) + " correct" };
        let note = format!(
            "{} of {} on the diagonal ({share}). Shade and % are shares of the row.",
            count(right),
            count(total)
        );
        let size =
            natural_size(&self.classes, &self.classes, if k <= 12 { (330.0 / k as f64).max(52.0) } else { 34.0 }, 0.0);
        let kind = format!("confusion matrix of {k} classes, {share}");
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, size, 150.0, &[], &[note])?;
        let (x, y) = (Axis::bands(self.classes.clone(), "predicted"), Axis::bands(self.classes.clone(), "true"));
        let axes = Axes::draw(&mut scene, area, x, y);
        let (width, height) = (axes.area.width / k as f64, axes.area.height / k as f64);
        for (i, &cell) in self.counts.iter().enumerate() {
            let (row, column) = (i / k, i % k);
            let in_row: u64 = self.counts[row * k..(row + 1) * k].iter().sum();
            let share = if in_row == 0 { 0.0 } else { cell as f64 / in_row as f64 };
            let (x, y) = (axes.area.x + column as f64 * width, axes.area.y + row as f64 * height);
            let place = Area { x: x + 0.5, y: y + 0.5, width: width - 1.0, height: height - 1.0 };
            let of_row = if in_row == 0 { "–".to_owned() } else { percent(cell, in_row) };
            let tip = format!("true {}, predicted {}: {cell} ({of_row})", self.classes[row], self.classes[column]);
            scene
                .rect(place, if row == column { "mark heat" } else { "mark cold" })
                .number("fill-opacity", share)
                .tip(&tip);
            let (number, class) = (count(cell), if share >= STRONG { "on" } else { "" });
            let (at, room) = ((x + width / 2.0, y + height / 2.0), width - 4.0);
            if text_width(&number, TICK) > room || height < 14.0 {
                continue;
            }
            let (large, small) = if height >= 60.0 && width >= 70.0 { (14.0, LABEL) } else { (TICK, SMALL) };
            if height >= 30.0 && text_width("100%", small).max(text_width(&number, large)) <= room {
                scene.label((at.0, at.1 - 1.0), Anchor::Middle, large, class, &number);
                scene.label((at.0, at.1 + 2.0 + small), Anchor::Middle, small, class, &of_row);
            } else {
                scene.label((at.0, at.1 + 4.0), Anchor::Middle, TICK, class, &number);
            }
        }
        Ok(scene)
    }
}

/// A share as a whole percentage that says 0% and 100% only when it means it.
fn percent(part: u64, whole: u64) -> String {
    match 100.0 * part as f64 / whole as f64 {
        p if p > 0.0 && p < 1.0 => "<1%".to_owned(),
        p if p > 99.0 && p < 100.0 => ">99%".to_owned(),
        p => format!("{p:.0}%"),
    }
}
