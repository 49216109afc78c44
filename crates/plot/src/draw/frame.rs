//! What every picture has around it: title, legend, caption and notes.

use super::scene::{Anchor, Area, LABEL, SMALL, Scene, TICK, TITLE};
use super::text::{text_width, truncate, wrap};
use super::theme::{Look, Theme};
use crate::error::{PlotError, Result};

/// Settings that all pictures share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frame {
    pub title: String,
    pub caption: String,
    pub size: Option<(f64, f64)>,
    /// Whether the picture takes the width of a report.
    pub wide: bool,
    pub theme: Theme,
}

/// The builder methods that all pictures share.
macro_rules! frame_methods {
    () => {
        /// The title above the picture.
        #[must_use]
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.frame.title = title.into();
            self
        }

        /// A sentence below the picture.
        #[must_use]
        pub fn caption(mut self, caption: impl Into<String>) -> Self {
            self.frame.caption = caption.into();
            self
        }

        /// Width and height in pixels, in place of the picture's own choice. What must be written makes it higher.
        #[must_use]
        pub fn size(mut self, width: f64, height: f64) -> Self {
            self.frame.size = Some((width, height));
            self
        }

        /// As wide as a report, at its own height: for a picture that stands alone in its row.
        #[must_use]
        pub fn wide(mut self) -> Self {
            self.frame.wide = true;
            self
        }

        /// The colors; by default the reader's choice of light or dark.
        #[must_use]
        pub fn theme(mut self, theme: $crate::Theme) -> Self {
            self.frame.theme = theme;
            self
        }
    };
}
pub(crate) use frame_methods;

/// The builder methods of pictures with two labeled axes.
macro_rules! axis_methods {
    () => {
        /// What is drawn along the horizontal axis, with its unit.
        #[must_use]
        pub fn x_label(mut self, label: impl Into<String>) -> Self {
            self.x_label = label.into();
            self
        }

        /// What is drawn along the vertical axis, with its unit.
        #[must_use]
        pub fn y_label(mut self, label: impl Into<String>) -> Self {
            self.y_label = label.into();
            self
        }
    };
}
pub(crate) use axis_methods;

/// Switches for logarithmic axes, for charts that keep them in fields of these names.
macro_rules! log_methods {
    () => {
        /// A logarithmic horizontal axis.
        #[must_use]
        pub fn log_x(mut self) -> Self {
            self.log_x = true;
            self
        }

        /// A logarithmic vertical axis.
        #[must_use]
        pub fn log_y(mut self) -> Self {
            self.log_y = true;
            self
        }
    };
}
pub(crate) use log_methods;

/// The sign before a name in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Line(Look),
    MarkedLine(Look),
    Marker(Look),
    Block(Look),
    Guide,
    /// A plain rectangle of a class.
    Patch(&'static str),
}

/// A line of the legend.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub sign: Sign,
    pub name: String,
}

impl Entry {
    pub fn new(sign: Sign, name: impl Into<String>) -> Entry {
        Entry { sign, name: name.into() }
    }
}

/// Width in pixels of a picture that fills a row of a report.
pub(crate) const WIDE: f64 = 1100.0;
const EDGE: f64 = 14.0;
const SIGN: f64 = 26.0;
const ROW: f64 = 18.0;
const LINE: f64 = 15.0;

impl Frame {
    /// A scene with background, title, legend and caption, and the area that is left for the picture.
    ///
    /// `kind` names the picture for readers who do not see it; `size` is the default size, `least` the height that the
    /// inner area needs.
    pub fn canvas(
        &self,
        what: &'static str,
        kind: &str,
        size: (f64, f64),
        least: f64,
        legend: &[Entry],
        notes: &[String],
    ) -> Result<(Scene, Area)> {
        let own = if self.wide { (WIDE, size.1) } else { size };
        let (width, height) = self.size.unwrap_or(own);
        if !(200.0..=8000.0).contains(&width) || !(100.0..=20000.0).contains(&height) {
            let problem = format!("a size of {width} × {height} pixels; 200 × 100 to 8000 × 20000 are possible");
            return Err(PlotError::parameter(what, problem));
        }
        let room = width - 2.0 * EDGE;
        let rows = flow(legend, room);
        let mut below: Vec<String> = wrap(&self.caption, TICK, room);
        below.extend(notes.iter().flat_map(|note| wrap(note, TICK, room)));
        let top = if self.title.is_empty() { EDGE } else { EDGE + 22.0 } + rows.len() as f64 * ROW;
        let bottom = if below.is_empty() { EDGE } else { EDGE + 2.0 + below.len() as f64 * LINE };
        let height = height.max(top + bottom + least);

        let name = if self.title.is_empty() { kind.to_owned() } else { format!("{}: {kind}", self.title) };
        let mut scene = Scene::new(width, height, self.theme, name);
        scene.rect(Area { x: 0.0, y: 0.0, width, height }, "bg").end();
        scene.fitted((EDGE, EDGE + 12.0), Anchor::Start, TITLE, "", &self.title, room);
        let first = if self.title.is_empty() { EDGE } else { EDGE + 22.0 };
        for (i, row) in rows.iter().enumerate() {
            for (x, entry) in row {
                draw_entry(&mut scene, EDGE + x, first + i as f64 * ROW + 8.0, entry, room);
            }
        }
        for (i, line) in below.iter().enumerate() {
            let y = height - bottom + LINE + 2.0 + i as f64 * LINE;
            scene.label((EDGE, y), Anchor::Start, TICK, "mute", line);
        }
        let area = Area { x: EDGE, y: top, width: room, height: height - top - bottom };
        Ok((scene, area))
    }
}

/// The legend's entries in rows, each with its place from the left.
fn flow(legend: &[Entry], room: f64) -> Vec<Vec<(f64, &Entry)>> {
    let mut rows: Vec<Vec<(f64, &Entry)>> = Vec::new();
    let mut x = 0.0;
    for entry in legend {
        let width = (SIGN + text_width(&entry.name, LABEL) + 16.0).min(room);
        match rows.last_mut() {
            Some(row) if x + width <= room => row.push((x, entry)),
            _ => {
                x = 0.0;
                rows.push(vec![(0.0, entry)]);
            }
        }
        x += width;
    }
    rows
}

fn draw_entry(scene: &mut Scene, x: f64, y: f64, entry: &Entry, room: f64) {
    let (from, to, middle) = ((x, y), (x + 20.0, y), (x + 10.0, y));
    match entry.sign {
        Sign::Line(look) | Sign::MarkedLine(look) => {
            scene.segment(from, to, &format!("line {}", look.stroke())).some("stroke-dasharray", look.dash()).end();
        }
        Sign::Marker(look) => scene.marker(middle, 4.5, look, "").end(),
        Sign::Block(look) => block(scene, x, y, &look.fill()),
        Sign::Patch(class) => block(scene, x, y, class),
        Sign::Guide => scene.segment(from, to, "guide").end(),
    }
    if let Sign::MarkedLine(look) = entry.sign {
        scene.marker(middle, 3.2, look, "dot").end();
    }
    scene.fitted((x + SIGN, y + 4.0), Anchor::Start, LABEL, "", &entry.name, room - SIGN);
}

fn block(scene: &mut Scene, x: f64, y: f64, class: &str) {
    scene.rect(Area { x: x + 4.0, y: y - 6.0, width: 12.0, height: 12.0 }, class).text("rx", "2").end();
}

/// The sentence about values that could not be drawn.
pub(crate) fn left_out(count: usize, what: &str, why: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {what} left out: {why}.")),
        _ => Some(format!("{count} {what}s left out: {why}.")),
    }
}

/// Why values are left out of an axis.
pub(crate) fn reason(log: bool) -> &'static str {
    if log { "not finite or not positive" } else { "not finite" }
}

/// A color bar on the right of an area: the key of heat from `low` (bottom) to `high` (top).
pub(crate) fn color_bar(scene: &mut Scene, area: Area, ends: (f64, f64), signed: bool, label: &str) {
    const STEPS: usize = 24;
    let height = area.height / STEPS as f64;
    for i in 0..STEPS {
        let t = (i as f64 + 0.5) / STEPS as f64;
        let (class, opacity) = heat(t, signed);
        let cell = Area { x: area.x, y: area.bottom() - (i + 1) as f64 * height, width: 12.0, height };
        scene.rect(cell, class).number("fill-opacity", opacity).text("shape-rendering", "crispEdges").end();
    }
    scene.rect(Area { width: 12.0, ..area }, "axis").end();
    let room = area.width - 17.0;
    let write = |scene: &mut Scene, y: f64, value: f64| {
        let text = super::number::brief_number(value);
        scene.fitted((area.x + 17.0, y), Anchor::Start, SMALL, "mute", &text, room);
    };
    write(scene, area.y + 8.0, ends.1);
    write(scene, area.bottom(), ends.0);
    if signed && area.height > 50.0 {
        write(scene, area.y + area.height / 2.0 + 3.5, (ends.0 + ends.1) / 2.0);
    }
    if !label.is_empty() && area.height > 90.0 {
        let y = area.y + area.height * if signed { 0.75 } else { 0.5 };
        let text = truncate(label, SMALL, area.height * 0.45).unwrap_or_else(|| label.to_owned());
        scene.upward((area.x + 27.0, y), Anchor::Middle, SMALL, "mute", &text, area.height);
    }
}

/// Class and opacity of a cell with value t between 0 and 1.
pub(crate) fn heat(t: f64, signed: bool) -> (&'static str, f64) {
    match (signed, t < 0.5) {
        (false, _) => ("heat", t),
        (true, false) => ("heat", 2.0 * t - 1.0),
        (true, true) => ("cold", 1.0 - 2.0 * t),
    }
}
