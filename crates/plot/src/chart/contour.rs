//! Contour maps of a function of two variables, with paths of optimizers and fields of arrows.
//!
//! The line f = c is found cell by cell (marching squares), with crossings of the grid's edges interpolated linearly.
//! Levels are evenly spaced round numbers, so that lines lie close where the gradient is large; or, with
//! [`ContourMap::log_levels`], spaced by equal ratios above the minimum, for bowls that are flat at the bottom.

use super::plane::Plane;
use crate::draw::axes::Axes;
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, reason};
use crate::draw::number::{brief_number, coordinate, short_number};
use crate::draw::scale::{Scale, drawable, range};
use crate::draw::scene::{Anchor, Area, SMALL, Scene};
use crate::draw::theme::Look;
use crate::error::{PlotError, Result};
use crate::picture::Picture;

const WHAT: &str = "contour map";
type Point = (f64, f64);

/// Contours with paths and arrows.
///
/// ```
/// use tove_plot::{ContourMap, Picture};
/// let grid: Vec<f64> = (-20..=20).map(|i| f64::from(i) / 10.0).collect();
/// let values: Vec<f64> = grid.iter().flat_map(|x| grid.iter().map(move |y| x * x + 25.0 * y * y)).collect();
/// let map = ContourMap::new(&grid, &grid, &values).path("descent", &[(1.5, 1.0), (0.9, 0.1), (0.0, 0.0)]);
/// assert!(map.to_svg()?.contains("descent"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContourMap {
    frame: Frame,
    plane: Plane,
    values: Vec<f64>,
    levels: Option<Vec<f64>>,
    log_levels: Option<usize>,
    paths: Vec<(String, Vec<Point>)>,
    arrows: Vec<(Point, Point)>,
    x_label: String,
    y_label: String,
    value_label: String,
    equal: bool,
}

impl ContourMap {
    /// From grid coordinates and values, f(x_i, y_j) at i · y.len() + j (the form of `tove_optim::Landscape`).
    pub fn new(x: &[f64], y: &[f64], values: &[f64]) -> Self {
        ContourMap {
            frame: Frame::default(),
            plane: Plane::new(x, y),
            values: values.to_vec(),
            levels: None,
            log_levels: None,
            paths: Vec::new(),
            arrows: Vec::new(),
            x_label: "w₁".to_owned(),
            y_label: "w₂".to_owned(),
            value_label: String::new(),
            equal: false,
        }
    }

    /// Draws exactly these levels.
    #[must_use]
    pub fn levels(mut self, levels: &[f64]) -> Self {
        self.levels = Some(levels.to_vec());
        self
    }

    /// `count` levels whose heights above the minimum grow by equal ratios.
    #[must_use]
    pub fn log_levels(mut self, count: usize) -> Self {
        self.log_levels = Some(count);
        self
    }

    /// Adds the path of an optimizer; its start is a ring, its end a large dot.
    #[must_use]
    pub fn path(mut self, name: impl Into<String>, points: &[(f64, f64)]) -> Self {
        self.paths.push((name.into(), points.to_vec()));
        self
    }

    /// Adds an arrow at a point, for example a gradient. All arrows are scaled alike.
    #[must_use]
    pub fn arrow(mut self, at: (f64, f64), vector: (f64, f64)) -> Self {
        self.arrows.push((at, vector));
        self
    }

    /// What the values are, written along the color bar.
    #[must_use]
    pub fn value_label(mut self, label: impl Into<String>) -> Self {
        self.value_label = label.into();
        self
    }

    /// A unit is as long along both axes, so that gradients look orthogonal to the lines.
    #[must_use]
    pub fn equal_axes(mut self) -> Self {
        self.equal = true;
        self
    }

    frame_methods!();
    axis_methods!();

    /// The levels to draw, rising.
    fn heights(&self, low: f64, high: f64) -> Result<Vec<f64>> {
        let mut levels = match (&self.levels, self.log_levels) {
            (Some(levels), _) if levels.iter().any(|&l| !drawable(l, false)) => {
                return Err(PlotError::parameter(WHAT, "levels must be finite"));
            }
            (Some(levels), _) => levels.clone(),
            (None, Some(count)) if !(1..=100).contains(&count) => {
                return Err(PlotError::parameter(WHAT, format!("{count} levels; 1 to 100 are possible")));
            }
            // three decades below the top
            (None, Some(count)) => (0..count)
                .map(|i| low + (high - low) * 10f64.powf(-3.0 * (count - i) as f64 / (count + 1) as f64))
                .collect(),
            (None, None) => Scale::exact(low, high, false).ticks(14).marks.into_iter().map(|m| m.0).collect(),
        };
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        Ok(levels)
    }

    fn value(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.plane.y.len() + j]
    }

    /// The segments of the line f = `level`.
    pub fn contour(&self, level: f64) -> Vec<[(f64, f64); 2]> {
        let mut segments = Vec::new();
        if self.values.len() != self.plane.x.len() * self.plane.y.len() {
            return segments;
        }
        for i in 1..self.plane.x.len() {
            for j in 1..self.plane.y.len() {
                let corners = [(i - 1, j - 1), (i, j - 1), (i, j), (i - 1, j)];
                let crossings: Vec<Point> =
                    (0..4).filter_map(|k| self.crossing(corners[k], corners[(k + 1) % 4], level)).collect();
                match crossings[..] {
                    [a, b] => segments.push([a, b]),
                    // a saddle: the value in the middle says which corners are cut off
                    [a, b, c, d] => {
                        let middle = corners.iter().map(|c| self.value(c.0, c.1) / 4.0).sum::<f64>();
                        if (middle < level) == (self.value(i - 1, j - 1) < level) {
                            segments.extend([[a, b], [c, d]]);
                        } else {
                            segments.extend([[d, a], [b, c]]);
                        }
                    }
                    _ => {}
                }
            }
        }
        segments
    }

    fn crossing(&self, a: (usize, usize), b: (usize, usize), level: f64) -> Option<Point> {
        let (from, to) = (self.value(a.0, a.1) - level, self.value(b.0, b.1) - level);
        if !drawable(from, false) || !drawable(to, false) || (from < 0.0) == (to < 0.0) {
            return None;
        }
        let t = from / (from - to);
        let (x, y) = (&self.plane.x, &self.plane.y);
        Some((x[a.0] + t * (x[b.0] - x[a.0]), y[a.1] + t * (y[b.1] - y[a.1])))
    }

    fn inside(&self, p: Point) -> bool {
        let within = |axis: &[f64], v: f64| axis.first() <= Some(&v) && Some(&v) <= axis.last();
        within(&self.plane.x, p.0) && within(&self.plane.y, p.1)
    }

    fn draw_arrows(&self, scene: &mut Scene, axes: &Axes) {
        let unit = |a: f64, b: f64| (axes.x(b) - axes.x(a)) / (b - a);
        let (ux, (y0, y1)) = (unit(self.plane.x[0], self.plane.x[1]), (self.plane.y[0], self.plane.y[1]));
        let uy = (axes.y(y1) - axes.y(y0)) / (y1 - y0);
        let seen = || self.arrows.iter().filter(|(p, v)| self.inside(*p) && v.0.is_finite() && v.1.is_finite());
        let longest = seen().map(|(_, v)| v.0.hypot(v.1)).fold(0.0, f64::max);
        if longest == 0.0 {
            return;
        }
        let step = (axes.area.width * axes.area.height / seen().count() as f64).sqrt();
        let most = (0.8 * step).clamp(10.0, 60.0);
        for (p, v) in seen() {
            let (dx, dy) = (v.0 / longest * ux, v.1 / longest * uy);
            let length = dx.hypot(dy);
            if length == 0.0 {
                continue;
            }
            // by the root of its length, so that small ones are still seen
            let scale = most * (v.0.hypot(v.1) / longest).sqrt() / length;
            let from = axes.at(p.0, p.1);
            let kept = |v: f64, low: f64, high: f64| v.clamp(low, high);
            let area = axes.area;
            let to =
                (kept(from.0 + scale * dx, area.x, area.right()), kept(from.1 + scale * dy, area.y, area.bottom()));
            scene.arrow(from, to, "inkline arrow", "inkfill", 6.0);
        }
    }

    /// The key: a block for each interval between levels, in the strength in which it is painted.
    fn draw_key(&self, scene: &mut Scene, bar: Area, levels: &[f64]) {
        let blocks = levels.len() + 1;
        let height = bar.height / blocks as f64;
        let every = (14.0 / height).ceil().max(1.0) as usize;
        for i in 0..blocks {
            let y = bar.bottom() - (i + 1) as f64 * height;
            let block = Area { x: bar.x, y, width: 12.0, height };
            scene.rect(block, "heat").number("fill-opacity", strength(i, blocks)).end();
            if i < levels.len() && i % every == 0 {
                let text = brief_number(levels[i]);
                scene.fitted((bar.x + 17.0, y + 3.5), Anchor::Start, SMALL, "mute", &text, bar.width - 17.0);
            }
        }
        scene.rect(Area { width: 12.0, ..bar }, "axis").end();
        scene.fitted((bar.x, bar.bottom() + 13.0), Anchor::Start, SMALL, "mute", &self.value_label, bar.width);
    }

    fn draw_paths(&self, scene: &mut Scene, axes: &Axes) {
        scene.open_window(axes.area);
        for (i, (_, points)) in self.paths.iter().enumerate() {
            // the background is blue, so paths begin with the second color
            let look = Look(i + 1);
            let known = points.iter().filter(|p| drawable(p.0, false) && drawable(p.1, false));
            // far outside there is nothing to see, but numbers that renderers stumble over
            let near = |v: f64| v.clamp(-1e5, 1e5);
            let pixels: Vec<_> = known.map(|p| axes.at(p.0, p.1)).map(|p| (near(p.0), near(p.1))).collect();
            let (Some(first), Some(last)) = (pixels.first(), pixels.last()) else { continue };
            if pixels.len() > 1 {
                let line = scene.polyline(&pixels, &format!("mark line {}", look.stroke()));
                line.some("stroke-dasharray", look.dash()).end();
            }
            if pixels.len() <= 200 {
                for pixel in &pixels {
                    scene.marker(*pixel, 2.6, look, "dot").end();
                }
            }
            scene
                .tag("circle")
                .number("cx", first.0)
                .number("cy", first.1)
                .number("r", 6.0)
                .text("class", &format!("line {}", look.stroke()))
                .end();
            scene.marker(*last, 5.0, look, "dot").end();
        }
        scene.close_window();
    }
}

impl Picture for ContourMap {
    fn scene(&self) -> Result<Scene> {
        self.plane.check(WHAT, self.values.len())?;
        let none = PlotError::NoFinite { what: WHAT, count: self.values.len(), reason: reason(false) };
        let (low, high) = range(self.values.iter().copied().filter(|&v| drawable(v, false))).ok_or(none)?;
        let levels = self.heights(low, high)?;
        let hidden = self.values.iter().filter(|&&v| !drawable(v, false)).count();
        let outside = self.paths.iter().flat_map(|p| &p.1).filter(|p| !self.inside(**p)).count();
        let notes = left_out(hidden, "grid value", reason(false)).into_iter();
        let notes: Vec<_> = notes.chain(left_out(outside, "path point", "outside the map or not finite")).collect();
        let named = self.paths.iter().enumerate();
        let legend: Vec<_> = named.map(|(i, p)| Entry::new(Sign::Line(Look(i + 1)), &p.0)).collect();
        let kind = format!("contour map over {} and {}", self.x_label, self.y_label);
        let (mut scene, area) =
            self.frame.canvas(WHAT, &kind, self.plane.size(600.0, 150.0, self.equal, 480.0), 160.0, &legend, &notes)?;
        let inner = Area { width: area.width - 70.0, ..area };
        let axes = self.plane.axes(&mut scene, inner, [&self.x_label, &self.y_label], self.equal);
        self.plane.paint(&mut scene, &axes, |i| {
            let v = self.values[i];
            let block = levels.partition_point(|l| *l <= v);
            drawable(v, false).then(|| ("heat", strength(block, levels.len() + 1)))
        });
        for level in &levels {
            let mut path = String::new();
            for [a, b] in self.contour(*level) {
                let (a, b) = (axes.at(a.0, a.1), axes.at(b.0, b.1));
                let [ax, ay, bx, by] = [a.0, a.1, b.0, b.1].map(coordinate);
                path.push_str(&format!("M{ax},{ay}L{bx},{by}"));
            }
            if !path.is_empty() {
                let line = scene.tag("path").text("d", &path).text("class", "mark thin s0");
                line.tip(&short_number(*level));
            }
        }
        self.draw_arrows(&mut scene, &axes);
        self.draw_paths(&mut scene, &axes);
        let bar = Area { x: axes.area.right() + 14.0, width: 56.0, ..axes.area };
        self.draw_key(&mut scene, bar, &levels);
        Ok(scene)
    }
}

/// The opacity of the i-th interval between levels; lines and arrows must still be seen on the strongest.
fn strength(i: usize, blocks: usize) -> f64 {
    0.55 * i as f64 / blocks as f64
}
