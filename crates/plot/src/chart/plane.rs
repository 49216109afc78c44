//! Values on a grid over the plane: what decision maps and contour maps share.

use crate::draw::axes::{Axes, Axis};
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Area, Scene};
use crate::error::{PlotError, Result, same_length};

/// A grid of points; the value of (x_i, y_j) stands at i · y.len() + j, as in `tove_optim::Landscape`.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Plane {
    pub fn new(x: &[f64], y: &[f64]) -> Plane {
        Plane { x: x.to_vec(), y: y.to_vec() }
    }

    /// `count` evenly spaced numbers from `low` to `high`.
    pub fn numbers(low: f64, high: f64, count: usize) -> Vec<f64> {
        let steps = count.saturating_sub(1).max(1) as f64;
        (0..count).map(|i| low + (high - low) * (i as f64 / steps)).collect()
    }

    pub fn check(&self, what: &'static str, values: usize) -> Result<()> {
        if self.x.len() < 2 || self.y.len() < 2 {
            return Err(PlotError::Empty { what, missing: "grid of two by two points" });
        }
        same_length(what, ("grid points", self.x.len() * self.y.len()), ("values", values))?;
        for (name, axis) in [("x", &self.x), ("y", &self.y)] {
            let rising = axis.windows(2).all(|pair| pair[0] < pair[1]) && axis.iter().all(|&v| drawable(v, false));
            if !rising {
                return Err(PlotError::parameter(what, format!("the grid's {name} must be finite and increasing")));
            }
        }
        Ok(())
    }

    /// Axes that show the grid's cells and also the given points; with `equal` a unit is as long along both axes.
    pub fn axes(&self, scene: &mut Scene, area: Area, labels: [&str; 2], equal: bool) -> Axes {
        let ends = |v: &[f64]| Scale::exact(v[0], v[v.len() - 1], false);
        let (x, y) = (ends(&self.x), ends(&self.y));
        let draw = |scene: &mut Scene, area: Area| {
            Axes::draw(scene, area, Axis::numbers(x, labels[0]), Axis::numbers(y, labels[1]))
        };
        if !equal {
            return draw(scene, area);
        }
        // ticks take room, so the axes are drawn once for nothing to learn how much is left
        let inner = draw(&mut Scene::new(scene.width, scene.height, scene.theme, String::new()), area).area;
        let span = |s: Scale| s.ends().1 - s.ends().0;
        let unit = (inner.width / span(x)).min(inner.height / span(y));
        let (width, height) = ((unit * span(x)).max(60.0), (unit * span(y)).max(60.0));
        let (dx, dy) = ((inner.width - width).max(0.0), (inner.height - height).max(0.0));
        draw(scene, Area { x: area.x + dx / 2.0, width: area.width - dx, height: area.height - dy, ..area })
    }

    /// Paints cells around the grid points. `paint` gives class and opacity; equal neighbors become one rectangle, and
    /// all rectangles of one look one path.
    pub fn paint<'a>(&self, scene: &mut Scene, axes: &Axes, paint: impl Fn(usize) -> Option<(&'a str, f64)>) {
        let (columns, rows) = (cells(&self.x), cells(&self.y));
        let mut looks: Vec<((&str, f64), String)> = Vec::new();
        for (i, &(x0, x1)) in columns.iter().enumerate() {
            let mut j = 0;
            while j < rows.len() {
                let here = paint(i * rows.len() + j);
                let start = j;
                while j < rows.len() && paint(i * rows.len() + j) == here {
                    j += 1;
                }
                let Some(look) = here else { continue };
                let k = looks.iter().position(|l| l.0 == look).unwrap_or_else(|| {
                    looks.push((look, String::new()));
                    looks.len() - 1
                });
                // whole pixels, so that neighbors neither overlap nor leave a gap
                let [left, right] = [x0, x1].map(|x| axes.x(x).round());
                let [top, bottom] = [rows[j - 1].1, rows[start].0].map(|y| axes.y(y).round());
                looks[k].1.push_str(&format!("M{left},{top}H{right}V{bottom}H{left}Z"));
            }
        }
        for ((class, opacity), path) in looks {
            let cells = scene.tag("path").text("d", &path).text("class", class);
            cells.number("fill-opacity", opacity).text("shape-rendering", "crispEdges").end();
        }
    }

    /// The default size of a picture with equal axes: as high as the grid's shape asks for.
    pub fn size(&self, width: f64, beside: f64, equal: bool, height: f64) -> (f64, f64) {
        let ends = |v: &[f64]| v.last().zip(v.first()).map_or(1.0, |(a, b)| a - b);
        let shape = ends(&self.y) / ends(&self.x);
        (
            width,
            if equal && shape.is_finite() { ((width - beside) * shape + 100.0).clamp(260.0, 760.0) } else { height },
        )
    }
}

/// The interval around each number up to the middles between neighbors, within the ends.
fn cells(numbers: &[f64]) -> Vec<(f64, f64)> {
    let n = numbers.len();
    let middle = |i: usize| numbers[i] / 2.0 + numbers[i + 1] / 2.0;
    let cell =
        |i: usize| (if i == 0 { numbers[0] } else { middle(i - 1) }, if i + 1 == n { numbers[i] } else { middle(i) });
    (0..n).map(cell).collect()
}
