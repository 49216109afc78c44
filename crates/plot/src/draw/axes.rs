//! Two axes around an area: grid, ticks, labels, and the way from data to pixels.

use super::number::superscript;
use super::scale::{Scale, Ticks};
use super::scene::{Anchor, Area, LABEL, Scene, TICK};
use super::text::text_width;

/// What an axis shows.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Numbers(Scale),
    /// Equal bands with names.
    Bands(Vec<String>),
}

/// An axis to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub kind: Kind,
    pub label: String,
}

impl Axis {
    pub fn numbers(scale: Scale, label: impl Into<String>) -> Axis {
        Axis { kind: Kind::Numbers(scale), label: label.into() }
    }

    pub fn bands(names: Vec<String>, label: impl Into<String>) -> Axis {
        Axis { kind: Kind::Bands(names), label: label.into() }
    }

    /// The label together with the power of ten that the ticks leave out.
    fn full_label(&self, ticks: &Ticks) -> String {
        match ticks.exponent {
            None => self.label.clone(),
            Some(e) if self.label.is_empty() => format!("×10{}", superscript(e)),
            Some(e) => format!("{} (×10{})", self.label, superscript(e)),
        }
    }

    /// Ticks of a numeric axis that fit `length` pixels; `across` says that labels stand side by side.
    fn ticks(&self, length: f64, across: bool) -> Ticks {
        let Kind::Numbers(scale) = &self.kind else { return Ticks::default() };
        let most = ((length / if across { 40.0 } else { 36.0 }) as usize).clamp(2, 10);
        (1..=most).rev().map(|n| scale.ticks(n)).find(|t| fits(t, scale, length, across)).unwrap_or_default()
    }
}

fn fits(ticks: &Ticks, scale: &Scale, length: f64, across: bool) -> bool {
    ticks.marks.windows(2).all(|pair| {
        let apart = (scale.fraction(pair[1].0) - scale.fraction(pair[0].0)) * length;
        let half = |label: &str| text_width(label, TICK) / 2.0;
        apart >= if across { half(&pair[0].1) + half(&pair[1].1) + 14.0 } else { 1.6 * TICK }
    })
}

/// Drawn axes.
#[derive(Clone, Debug)]
pub(crate) struct Axes {
    /// The area inside the axes.
    pub area: Area,
    x: Axis,
    y: Axis,
}

impl Axes {
    /// Draws both axes into `outer`, with a grid for numbers.
    pub fn draw(scene: &mut Scene, outer: Area, x: Axis, y: Axis) -> Axes {
        let y_ticks = y.ticks(outer.height - 50.0, false);
        let names_room = 0.38 * outer.width;
        let widest = match &y.kind {
            Kind::Numbers(_) => y_ticks.marks.iter().map(|m| text_width(&m.1, TICK)).fold(0.0, f64::max),
            Kind::Bands(names) => names.iter().map(|n| text_width(n, LABEL)).fold(0.0, f64::max).min(names_room),
        };
        let y_label = y.full_label(&y_ticks);
        let left = widest + 8.0 + if y_label.is_empty() { 0.0 } else { 20.0 };

        let x_ticks = x.ticks(outer.width - left - 20.0, true);
        let half = |mark: Option<&(f64, String)>| mark.map_or(0.0, |m| text_width(&m.1, TICK) / 2.0);
        let left = left.max(half(x_ticks.marks.first()));
        let right = half(x_ticks.marks.last()).max(6.0);
        let x_label = x.full_label(&x_ticks);
        let (upright, names_height) = match &x.kind {
            Kind::Numbers(_) => (true, 18.0),
            Kind::Bands(names) => band_names(names, outer.width - left - right, outer.height),
        };
        let bottom = names_height + if x_label.is_empty() { 2.0 } else { 20.0 };
        let area = Area {
            x: outer.x + left,
            y: outer.y + 7.0,
            width: (outer.width - left - right).max(10.0),
            height: (outer.height - 7.0 - bottom).max(10.0),
        };
        let axes = Axes { area, x, y };
        axes.draw_x(scene, &x_ticks, &x_label, upright, names_height);
        axes.draw_y(scene, &y_ticks, &y_label, widest, outer);
        scene.segment((area.x, area.bottom()), (area.right(), area.bottom()), "axis").end();
        scene.segment((area.x, area.y), (area.x, area.bottom()), "axis").end();
        axes
    }

    fn draw_x(&self, scene: &mut Scene, ticks: &Ticks, label: &str, upright: bool, names_height: f64) {
        let area = self.area;
        for (value, text) in &ticks.marks {
            let x = self.x(*value);
            scene.segment((x, area.y), (x, area.bottom()), "grid").end();
            scene.label((x, area.bottom() + 15.0), Anchor::Middle, TICK, "mute", text);
        }
        if let Kind::Bands(names) = &self.x.kind {
            let cell = area.width / names.len().max(1) as f64;
            let every = (1.3 * TICK / cell).ceil().max(1.0) as usize;
            for (i, name) in names.iter().enumerate() {
                let x = self.x(i as f64);
                if upright {
                    scene.fitted((x, area.bottom() + 15.0), Anchor::Middle, TICK, "", name, cell - 4.0);
                } else if i % every == 0 {
                    let at = (x + 4.0, area.bottom() + 6.0);
                    scene.upward(at, Anchor::End, TICK, "", name, names_height - 8.0);
                }
            }
        }
        let at = (area.x + area.width / 2.0, area.bottom() + names_height + 15.0);
        if !label.is_empty() {
            scene.fitted(at, Anchor::Middle, LABEL, "", label, area.width);
        }
    }

    fn draw_y(&self, scene: &mut Scene, ticks: &Ticks, label: &str, widest: f64, outer: Area) {
        let area = self.area;
        for (value, text) in &ticks.marks {
            let y = self.y(*value);
            scene.segment((area.x, y), (area.right(), y), "grid").end();
            scene.label((area.x - 7.0, y + 4.0), Anchor::End, TICK, "mute", text);
        }
        if let Kind::Bands(names) = &self.y.kind {
            let cell = area.height / names.len().max(1) as f64;
            let every = (1.2 * LABEL / cell).ceil().max(1.0) as usize;
            for (i, name) in names.iter().enumerate().step_by(every) {
                let at = (area.x - 7.0, self.y(i as f64) + 4.0);
                scene.fitted(at, Anchor::End, LABEL, "", name, widest + 0.5);
            }
        }
        if !label.is_empty() {
            let at = (outer.x + 11.0, area.y + area.height / 2.0);
            scene.upward(at, Anchor::Middle, LABEL, "", label, area.height);
        }
    }

    /// The pixel of a value, or the middle of a band.
    pub fn x(&self, value: f64) -> f64 {
        self.area.x + self.area.width * place(&self.x.kind, value)
    }

    /// The pixel of a value (upwards), or the middle of a band (downwards).
    pub fn y(&self, value: f64) -> f64 {
        match &self.y.kind {
            Kind::Numbers(_) => self.area.bottom() - self.area.height * place(&self.y.kind, value),
            Kind::Bands(_) => self.area.y + self.area.height * place(&self.y.kind, value),
        }
    }

    /// Both coordinates at once.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x(x), self.y(y))
    }
}

fn place(kind: &Kind, value: f64) -> f64 {
    match kind {
        Kind::Numbers(scale) => scale.fraction(value),
        Kind::Bands(names) => (value + 0.5) / names.len().max(1) as f64,
    }
}

/// Whether names below the axis stand upright, and the height they need.
fn band_names(names: &[String], width: f64, height: f64) -> (bool, f64) {
    let cell = width / names.len().max(1) as f64;
    let widest = names.iter().map(|n| text_width(n, TICK)).fold(0.0, f64::max);
    if widest <= cell - 4.0 { (true, 18.0) } else { (false, (widest + 10.0).min(0.3 * height)) }
}
