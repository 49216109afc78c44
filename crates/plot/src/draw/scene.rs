//! A small layer over SVG text: rectangles, lines, markers and labels.

use super::number::coordinate;
use super::text::{escape, truncate};
use super::theme::{Look, Theme, style_sheet};

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Font sizes in pixels.
pub(crate) const TITLE: f64 = 15.0;
pub(crate) const LABEL: f64 = 12.0;
pub(crate) const TICK: f64 = 11.0;
pub(crate) const SMALL: f64 = 10.0;

/// One element while it is written.
pub(crate) struct Tag<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Tag<'_> {
    pub fn number(self, name: &str, value: f64) -> Self {
        let value = coordinate(value);
        self.text(name, &value)
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        self.out.push_str(&escape(value));
        self.out.push('"');
        self
    }

    /// Writes the attribute only if it says something.
    pub fn some(self, name: &str, value: &str) -> Self {
        if value.is_empty() { self } else { self.text(name, value) }
    }

    pub fn end(self) {
        self.out.push_str("/>");
    }

    /// Ends the element with a tooltip.
    pub fn tip(self, tip: &str) {
        self.out.push_str("><title>");
        self.out.push_str(&escape(tip));
        self.out.push_str("</title></");
        self.out.push_str(self.name);
        self.out.push('>');
    }
}

/// A picture's elements, in the order of drawing.
///
/// Made by [`Picture::scene`](crate::Picture::scene); its text is [`Scene::svg`].
#[derive(Clone, Debug)]
pub struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) theme: Theme,
    pub(crate) name: String,
    body: String,
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, theme: Theme, name: String) -> Scene {
        Scene { width, height, theme, name, body: String::new() }
    }

    /// The whole SVG document; without `style` it relies on a page that holds [`style_sheet`](crate::style_sheet).
    pub fn svg(&self, style: bool) -> String {
        let (width, height) = (coordinate(self.width), coordinate(self.height));
        let theme = match self.theme {
            Theme::Auto => "",
            Theme::Light => " data-theme=\"light\"",
            Theme::Dark => " data-theme=\"dark\"",
        };
        let style = if style { format!("<style>{}</style>", style_sheet(self.theme)) } else { String::new() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tove-plot\"{theme} viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\" \
             font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif\">{style}{}</svg>\n",
            escape(&self.name),
            self.body
        )
    }

    pub(crate) fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.body.push('<');
        self.body.push_str(name);
        Tag { out: &mut self.body, name }
    }

    pub(crate) fn rect(&mut self, area: Area, class: &str) -> Tag<'_> {
        let tag = self.tag("rect").number("x", area.x).number("y", area.y);
        tag.number("width", area.width).number("height", area.height).some("class", class)
    }

    pub(crate) fn segment(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) -> Tag<'_> {
        let tag = self.tag("line").number("x1", x1).number("y1", y1);
        tag.number("x2", x2).number("y2", y2).text("class", class)
    }

    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], class: &str) -> Tag<'_> {
        self.tag("polyline").text("points", &list(points)).text("class", class)
    }

    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], class: &str) -> Tag<'_> {
        self.tag("polygon").text("points", &list(points)).text("class", class)
    }

    pub(crate) fn label(&mut self, at: (f64, f64), anchor: Anchor, size: f64, class: &str, text: &str) {
        self.written(at, anchor, size, class, text, None, "");
    }

    /// A label cut to `room` pixels; the whole text is its tooltip then.
    pub(crate) fn fitted(&mut self, at: (f64, f64), anchor: Anchor, size: f64, class: &str, text: &str, room: f64) {
        match truncate(text, size, room) {
            None => self.written(at, anchor, size, class, text, None, ""),
            Some(cut) => self.written(at, anchor, size, class, &cut, Some(text), ""),
        }
    }

    /// A label that reads upwards, cut to `room` pixels.
    pub(crate) fn upward(&mut self, at: (f64, f64), anchor: Anchor, size: f64, class: &str, text: &str, room: f64) {
        let turn = format!("rotate(-90 {} {})", coordinate(at.0), coordinate(at.1));
        match truncate(text, size, room) {
            None => self.written(at, anchor, size, class, text, None, &turn),
            Some(cut) => self.written(at, anchor, size, class, &cut, Some(text), &turn),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the one place where all attributes of a text meet")]
    fn written(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        size: f64,
        class: &str,
        text: &str,
        whole: Option<&str>,
        transform: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let tag = self.tag("text").number("x", x).number("y", y).number("font-size", size);
        let tag = tag.some("text-anchor", anchor).some("class", class).some("transform", transform);
        let tag = if size == TITLE { tag.text("font-weight", "600") } else { tag };
        tag.out.push('>');
        if let Some(whole) = whole {
            tag.out.push_str(&format!("<title>{}</title>", escape(whole)));
        }
        tag.out.push_str(&escape(text));
        tag.out.push_str("</text>");
    }

    /// The marker of a series, centered, as wide as 2 · `radius`.
    pub(crate) fn marker(&mut self, (x, y): (f64, f64), radius: f64, look: Look, class: &str) -> Tag<'_> {
        let class = format!("{} {class}", look.fill()).trim_end().to_owned();
        let r = radius;
        let corners: &[(f64, f64)] = match look.0 % 7 {
            0 => return self.tag("circle").number("cx", x).number("cy", y).number("r", r).text("class", &class),
            1 => &[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
            2 => &[(0.0, -1.1), (1.05, 0.85), (-1.05, 0.85)],
            3 => &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
            4 => &[(0.0, 1.1), (1.05, -0.85), (-1.05, -0.85)],
            5 => &[
                (-0.4, -1.1),
                (0.4, -1.1),
                (0.4, -0.4),
                (1.1, -0.4),
                (1.1, 0.4),
                (0.4, 0.4),
                (0.4, 1.1),
                (-0.4, 1.1),
                (-0.4, 0.4),
                (-1.1, 0.4),
                (-1.1, -0.4),
                (-0.4, -0.4),
            ],
            _ => &[
                (0.0, -0.5),
                (0.65, -1.15),
                (1.15, -0.65),
                (0.5, 0.0),
                (1.15, 0.65),
                (0.65, 1.15),
                (0.0, 0.5),
                (-0.65, 1.15),
                (-1.15, 0.65),
                (-0.5, 0.0),
                (-1.15, -0.65),
                (-0.65, -1.15),
            ],
        };
        let points: Vec<_> = corners.iter().map(|(dx, dy)| (x + r * dx, y + r * dy)).collect();
        self.polygon(&points, &class)
    }

    /// An arrow with a filled head.
    pub(crate) fn arrow(&mut self, from: (f64, f64), to: (f64, f64), line: &str, head: &str, size: f64) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        if length < 1e-6 {
            return;
        }
        let (ux, uy, size) = (dx / length, dy / length, size.min(length));
        let back = (to.0 - size * ux, to.1 - size * uy);
        self.segment(from, back, line).end();
        let side = |s: f64| (back.0 - s * 0.5 * size * uy, back.1 + s * 0.5 * size * ux);
        self.polygon(&[to, side(1.0), side(-1.0)], head).end();
    }

    /// Begins a part of which only what lies inside `area` is seen.
    pub(crate) fn open_window(&mut self, area: Area) {
        let view = [area.x, area.y, area.width, area.height].map(coordinate).join(" ");
        let tag = self.tag("svg").number("x", area.x).number("y", area.y);
        let tag = tag.number("width", area.width).number("height", area.height).text("viewBox", &view);
        tag.out.push('>');
    }

    pub(crate) fn close_window(&mut self) {
        self.body.push_str("</svg>");
    }
}

fn list(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        if i > 0 {
            text.push(' ');
        }
        text.push_str(&coordinate(*x));
        text.push(',');
        text.push_str(&coordinate(*y));
    }
    text
}
