//! Line charts: loss curves, learning curves.
//!
//! A series is a list of points joined in the order given; a point that cannot be drawn (not finite, or not positive on
//! a logarithmic axis) breaks the line and is counted in a note. A band is shaded between two lists, for example
//! mean ± standard deviation.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, log_methods, reason};
use crate::draw::number::short_number;
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Anchor, SMALL, Scene};
use crate::draw::text::text_width;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "line chart";
/// Up to so many points a series also shows its markers.
const MARKED: usize = 40;

#[derive(Clone, Debug)]
struct Series {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
    band: Option<(Vec<f64>, Vec<f64>)>,
}

/// A chart of lines.
///
/// ```
/// use tove_plot::{LineChart, Picture};
/// let epochs = [1.0, 2.0, 3.0, 4.0];
/// let chart = LineChart::new()
///     .series("train", &epochs, &[1.2, 0.7, 0.5, 0.4])
///     .series("validation", &epochs, &[1.3, 0.8, 0.7, 0.75])
///     .mark_x("best", 3.0)
///     .title("Loss")
///     .x_label("epoch")
///     .y_label("cross entropy (nats)")
///     .log_y();
/// assert!(chart.to_svg()?.contains("validation"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    frame: Frame,
    series: Vec<Series>,
    x_label: String,
    y_label: String,
    log_x: bool,
    log_y: bool,
    x_limits: Option<(f64, f64)>,
    y_limits: Option<(f64, f64)>,
    verticals: Vec<(String, f64)>,
    horizontals: Vec<(String, f64)>,
}

impl LineChart {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Training and validation loss over epochs 1, 2, 3 ...; the best validation epoch is marked.
    pub fn losses(train: &[f64], validation: Option<&[f64]>) -> Self {
        let epochs = |n: usize| (1..=n).map(|i| i as f64).collect::<Vec<_>>();
        let mut chart = Self::new().series("train", &epochs(train.len()), train).x_label("epoch").y_label("loss");
        if let Some(validation) = validation {
            chart = chart.series("validation", &epochs(validation.len()), validation);
            let known = validation.iter().enumerate().filter(|(_, v)| v.is_finite());
            if let Some((best, _)) = known.min_by(|a, b| a.1.total_cmp(b.1)) {
                chart = chart.mark_x("best", (best + 1) as f64);
            }
        }
        chart
    }

    /// Scores on training and validation parts against the number of samples, with mean ± one standard deviation.
    pub fn learning_curve(sizes: &[f64], train: (&[f64], &[f64]), validation: (&[f64], &[f64])) -> Self {
        let edges = |(mean, sd): (&[f64], &[f64]), sign: f64| -> Vec<f64> {
            mean.iter().zip(sd).map(|(m, s)| m + sign * s).collect()
        };
        Self::new()
            .series("train", sizes, train.0)
            .band(&edges(train, -1.0), &edges(train, 1.0))
            .series("validation", sizes, validation.0)
            .band(&edges(validation, -1.0), &edges(validation, 1.0))
            .x_label("training samples")
            .y_label("score")
    }

    /// Adds a line through the points (x, y).
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, x: &[f64], y: &[f64]) -> Self {
        self.series.push(Series { name: name.into(), x: x.to_vec(), y: y.to_vec(), band: None });
        self
    }

    /// Shades from `lower` to `upper` around the series added last.
    #[must_use]
    pub fn band(mut self, lower: &[f64], upper: &[f64]) -> Self {
        if let Some(series) = self.series.last_mut() {
            series.band = Some((lower.to_vec(), upper.to_vec()));
        }
        self
    }

    /// Shows exactly this part of the horizontal axis.
    #[must_use]
    pub fn x_limits(mut self, low: f64, high: f64) -> Self {
        self.x_limits = Some((low, high));
        self
    }

    /// Shows exactly this part of the vertical axis.
    #[must_use]
    pub fn y_limits(mut self, low: f64, high: f64) -> Self {
        self.y_limits = Some((low, high));
        self
    }

    /// A named vertical line.
    #[must_use]
    pub fn mark_x(mut self, name: impl Into<String>, x: f64) -> Self {
        self.verticals.push((name.into(), x));
        self
    }

    /// A named horizontal line.
    #[must_use]
    pub fn mark_y(mut self, name: impl Into<String>, y: f64) -> Self {
        self.horizontals.push((name.into(), y));
        self
    }

    frame_methods!();
    log_methods!();
    axis_methods!();

    fn check(&self) -> Result<()> {
        if self.series.iter().all(|s| s.x.is_empty()) {
            return Err(PlotError::Empty { what: WHAT, missing: "point" });
        }
        for s in &self.series {
            same_length(WHAT, ("x", s.x.len()), ("y", s.y.len()))?;
            if let Some((lower, upper)) = &s.band {
                same_length(WHAT, ("x", s.x.len()), ("lower edges", lower.len()))?;
                same_length(WHAT, ("x", s.x.len()), ("upper edges", upper.len()))?;
            }
        }
        for (limits, log) in [(self.x_limits, self.log_x), (self.y_limits, self.log_y)] {
            if let Some((low, high)) = limits
                && !(drawable(low, log) && drawable(high, log) && low < high)
            {
                let problem = format!(
                    "limits from {low} to {high}; they must be finite, increasing and, on a log axis, positive"
                );
                return Err(PlotError::parameter(WHAT, problem));
            }
        }
        Ok(())
    }

    fn visible(&self, x: f64, y: f64) -> bool {
        drawable(x, self.log_x) && drawable(y, self.log_y)
    }

    fn scales(&self) -> Result<(Scale, Scale)> {
        let points = || self.series.iter().flat_map(|s| s.x.iter().zip(&s.y).map(|(x, y)| (*x, *y)));
        let seen = || points().filter(|&(x, y)| self.visible(x, y));
        let edges = self.series.iter().filter_map(|s| s.band.as_ref().map(|b| (s, b)));
        let edges =
            edges.flat_map(|(s, (l, u))| s.x.iter().zip(l.iter().zip(u)).filter(|(x, _)| drawable(**x, self.log_x)));
        let edges = edges.flat_map(|(_, (l, u))| [*l, *u]);
        let none = || {
            let reason = reason(self.log_x || self.log_y);
            PlotError::NoFinite { what: WHAT, count: points().count(), reason }
        };
        let marks = |marks: &[(String, f64)]| marks.iter().map(|m| m.1).collect::<Vec<_>>();
        let whole = !self.log_x && seen().all(|(x, _)| x == x.trunc());
        if seen().next().is_none() {
            return Err(none());
        }
        let x = Scale::over(seen().map(|p| p.0).chain(marks(&self.verticals)), self.log_x).ok_or_else(none)?;
        let y = seen().map(|p| p.1).chain(edges).chain(marks(&self.horizontals));
        let y = Scale::over(y, self.log_y).ok_or_else(none)?;
        let exact = |limits: Option<(f64, f64)>, log| limits.map(|(low, high)| Scale::exact(low, high, log));
        Ok((exact(self.x_limits, self.log_x).unwrap_or(x).whole(whole), exact(self.y_limits, self.log_y).unwrap_or(y)))
    }

    fn draw_series(&self, scene: &mut Scene, axes: &Axes, look: Look, series: &Series) {
        if let Some((lower, upper)) = &series.band {
            self.draw_band(scene, axes, look, &series.x, lower, upper);
        }
        let points: Vec<_> = series.x.iter().copied().zip(series.y.iter().copied()).collect();
        for run in points.split(|p| !self.visible(p.0, p.1)).filter(|run| !run.is_empty()) {
            let pixels: Vec<_> = run.iter().map(|p| axes.at(p.0, p.1)).collect();
            if pixels.len() > 1 {
                let line = scene.polyline(&pixels, &format!("mark line {}", look.stroke()));
                line.some("stroke-dasharray", look.dash()).end();
            }
            if points.len() <= MARKED || pixels.len() == 1 {
                for (pixel, (x, y)) in pixels.iter().zip(run) {
                    let tip = format!("{}: {}, {}", series.name, short_number(*x), short_number(*y));
                    scene.marker(*pixel, 3.2, look, "mark dot").tip(&tip);
                }
            }
        }
    }

    fn draw_band(&self, scene: &mut Scene, axes: &Axes, look: Look, x: &[f64], lower: &[f64], upper: &[f64]) {
        let edges: Vec<_> = x.iter().zip(lower.iter().zip(upper)).map(|(x, (l, u))| (*x, *l, *u)).collect();
        let seen = |&(x, l, u): &(f64, f64, f64)| self.visible(x, l) && self.visible(x, u);
        for run in edges.split(|e| !seen(e)).filter(|run| run.len() > 1) {
            let there = run.iter().map(|&(x, _, u)| axes.at(x, u));
            let back = run.iter().rev().map(|&(x, l, _)| axes.at(x, l));
            let outline: Vec<_> = there.chain(back).collect();
            scene.polygon(&outline, &format!("band {}", look.fill())).text("fill-opacity", "0.18").end();
        }
    }

    fn draw_marks(&self, scene: &mut Scene, axes: &Axes) {
        let area = axes.area;
        for (name, value) in self.verticals.iter().filter(|m| drawable(m.1, self.log_x)) {
            let x = axes.x(*value);
            if (area.x..=area.right()).contains(&x) {
                scene.segment((x, area.y), (x, area.bottom()), "guide").end();
                let side = x + 5.0 + text_width(name, SMALL) <= area.right();
                let (at, anchor) = if side { (x + 4.0, Anchor::Start) } else { (x - 4.0, Anchor::End) };
                scene.label((at, area.y + 10.0), anchor, SMALL, "mute halo", name);
            }
        }
        for (name, value) in self.horizontals.iter().filter(|m| drawable(m.1, self.log_y)) {
            let y = axes.y(*value);
            if (area.y..=area.bottom()).contains(&y) {
                scene.segment((area.x, y), (area.right(), y), "guide").end();
                scene.label((area.right() - 2.0, y - 4.0), Anchor::End, SMALL, "mute halo", name);
            }
        }
    }
}

impl Picture for LineChart {
    fn scene(&self) -> Result<Scene> {
        self.check()?;
        let (x, y) = self.scales()?;
        let hidden = |s: &Series| s.x.iter().zip(&s.y).filter(|(x, y)| !self.visible(**x, **y)).count();
        let hidden = self.series.iter().map(hidden).sum();
        let notes: Vec<_> = left_out(hidden, "point", reason(self.log_x || self.log_y)).into_iter().collect();
        let named = self.series.iter().enumerate().filter(|(_, s)| !s.name.is_empty());
        let sign = |i, n| if n <= MARKED { Sign::MarkedLine(Look(i)) } else { Sign::Line(Look(i)) };
        let legend: Vec<_> = named.map(|(i, s)| Entry::new(sign(i, s.x.len()), &s.name)).collect();
        let kind = format!("line chart of {} against {}", or(&self.y_label, "y"), or(&self.x_label, "x"));
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (640.0, 400.0), 130.0, &legend, &notes)?;
        let axes = Axes::draw(&mut scene, area, Axis::numbers(x, &self.x_label), Axis::numbers(y, &self.y_label));
        let window = self.x_limits.is_some() || self.y_limits.is_some();
        if window {
            scene.open_window(axes.area);
        }
        for (i, series) in self.series.iter().enumerate() {
            self.draw_series(&mut scene, &axes, Look(i), series);
        }
        if window {
            scene.close_window();
        }
        self.draw_marks(&mut scene, &axes);
        Ok(scene)
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}
