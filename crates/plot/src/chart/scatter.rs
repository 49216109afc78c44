//! Points: groups in the plane, and residuals against predictions.
//!
//! The residual of a sample is r = y − ŷ. Over the predictions ŷ the residuals of a good regression lie evenly around
//! zero; a bend or a funnel shows what the model has missed.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, log_methods, reason};
use crate::draw::number::short_number;
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Anchor, Area, SMALL, Scene};
use crate::draw::text::text_width;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "scatter chart";
/// Beyond so many points the tooltips, which cost more bytes than the points, are left out.
const TIPPED: usize = 2000;

/// A chart of points in groups.
///
/// ```
/// use tove_plot::{Picture, ScatterChart};
/// let chart = ScatterChart::new()
///     .group("setosa", &[1.4, 1.3], &[0.2, 0.3])
///     .group("virginica", &[6.0, 5.1], &[2.5, 1.9])
///     .x_label("petal length (cm)")
///     .y_label("petal width (cm)");
/// assert!(chart.to_svg()?.contains("setosa"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScatterChart {
    frame: Frame,
    groups: Vec<(String, Vec<f64>, Vec<f64>)>,
    /// What stands beside the points, in their order.
    labels: Vec<String>,
    x_label: String,
    y_label: String,
    log_x: bool,
    log_y: bool,
    zero_line: bool,
    diagonal: bool,
}

impl ScatterChart {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group of points (x, y).
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, x: &[f64], y: &[f64]) -> Self {
        self.groups.push((name.into(), x.to_vec(), y.to_vec()));
        self
    }

    /// Adds points (x, y) with a label each. A label that would cover an earlier one is left to the tooltip of its point.
    ///
    /// ```
    /// use tove_plot::{Picture, ScatterChart};
    /// let chart = ScatterChart::new().labeled(&["king", "queen"], &[0.2, 0.3], &[0.1, -0.4]);
    /// assert!(chart.to_svg()?.contains(">queen<"));
    /// # Ok::<(), tove_plot::PlotError>(())
    /// ```
    #[must_use]
    pub fn labeled(mut self, labels: &[impl AsRef<str>], x: &[f64], y: &[f64]) -> Self {
        self.labels.resize(self.points().count(), String::new());
        self.labels.extend(labels.iter().map(|label| label.as_ref().to_owned()));
        self.group("", x, y)
    }

    /// Draws the line y = 0.
    #[must_use]
    pub fn zero_line(mut self) -> Self {
        self.zero_line = true;
        self
    }

    /// Draws the line y = x, for predictions against the truth.
    #[must_use]
    pub fn diagonal(mut self) -> Self {
        self.diagonal = true;
        self
    }

    frame_methods!();
    log_methods!();
    axis_methods!();

    fn visible(&self, x: f64, y: f64) -> bool {
        drawable(x, self.log_x) && drawable(y, self.log_y)
    }

    fn points(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(i, (_, x, y))| x.iter().zip(y).map(move |(x, y)| (i, *x, *y)))
    }

    fn scales(&self) -> Result<(Scale, Scale)> {
        let seen = || self.points().filter(|&(_, x, y)| self.visible(x, y));
        let none = || {
            let reason = reason(self.log_x || self.log_y);
            PlotError::NoFinite { what: WHAT, count: self.points().count(), reason }
        };
        let zero = (self.zero_line && !self.log_y).then_some(0.0);
        if seen().next().is_none() {
            return Err(none());
        }
        let x = Scale::over(seen().map(|p| p.1), self.log_x).ok_or_else(none)?;
        let y = Scale::over(seen().map(|p| p.2).chain(zero), self.log_y).ok_or_else(none)?;
        Ok((x, y))
    }

    fn guides(&self, scene: &mut Scene, axes: &Axes, x: Scale, y: Scale) {
        let area = axes.area;
        if self.zero_line && !self.log_y {
            scene.segment((area.x, axes.y(0.0)), (area.right(), axes.y(0.0)), "guide").end();
        }
        let ((x0, x1), (y0, y1)) = (x.ends(), y.ends());
        let (low, high) = (x0.max(y0), x1.min(y1));
        if self.diagonal && low < high && self.log_x == self.log_y {
            scene.segment(axes.at(low, low), axes.at(high, high), "guide").end();
        }
    }
}

impl Picture for ScatterChart {
    fn scene(&self) -> Result<Scene> {
        for (_, x, y) in &self.groups {
            same_length(WHAT, ("x", x.len()), ("y", y.len()))?;
        }
        let total = self.points().count();
        if total == 0 {
            return Err(PlotError::Empty { what: WHAT, missing: "point" });
        }
        let (x, y) = self.scales()?;
        let hidden = self.points().filter(|&(_, x, y)| !self.visible(x, y)).count();
        let notes: Vec<_> = left_out(hidden, "point", reason(self.log_x || self.log_y)).into_iter().collect();
        let named = self.groups.iter().enumerate().filter(|(_, g)| !g.0.is_empty());
        let mut legend: Vec<_> = named.map(|(i, g)| Entry::new(Sign::Marker(Look(i)), &g.0)).collect();
        if self.diagonal {
            legend.push(Entry::new(Sign::Guide, "y = x"));
        }
        let kind = format!("scatter chart of {total} points");
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (560.0, 420.0), 130.0, &legend, &notes)?;
        let axes = Axes::draw(&mut scene, area, Axis::numbers(x, &self.x_label), Axis::numbers(y, &self.y_label));
        self.guides(&mut scene, &axes, x, y);
        let (radius, opacity) = if total > 500 { (2.4, "0.6") } else { (3.6, "0.85") };
        let mut labeled: Vec<Area> = Vec::new();
        for (at, (i, x, y)) in self.points().enumerate().filter(|&(_, (_, x, y))| self.visible(x, y)) {
            let label = self.labels.get(at).filter(|label| !label.is_empty());
            let marker = scene.marker(axes.at(x, y), radius, Look(i), "mark dot").text("fill-opacity", opacity);
            if total > TIPPED {
                marker.end();
            } else {
                let place = format!("{}, {}", short_number(x), short_number(y));
                let name = label.unwrap_or(&self.groups[i].0);
                marker.tip(&if name.is_empty() { place } else { format!("{name}: {place}") });
            }
            let Some(label) = label else { continue };
            let (center, middle) = axes.at(x, y);
            let (width, gap) = (text_width(label, SMALL), radius + 2.0);
            // Left of a point at the right edge.
            let x = if center + gap + width < area.right() { center + gap } else { center - gap - width };
            let place = Area { x, y: middle - 0.5 * SMALL, width, height: SMALL };
            let apart = |other: &Area| {
                place.x > other.right()
                    || other.x > place.right()
                    || place.y > other.bottom()
                    || other.y > place.bottom()
            };
            if place.x > area.x && labeled.iter().all(apart) {
                scene.label((x, middle + 0.35 * SMALL), Anchor::Start, SMALL, "", label);
                labeled.push(place);
            }
        }
        Ok(scene)
    }
}

/// Residuals y − ŷ against predictions ŷ, with the zero line.
///
/// ```
/// use tove_plot::{Picture, ResidualChart};
/// let chart = ResidualChart::new(&[1.0, 2.0, 3.0], &[1.1, 1.8, 3.3]).unit("kW");
/// assert!(chart.to_svg()?.contains("residual (kW)"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResidualChart {
    frame: Frame,
    predicted: Vec<f64>,
    truth: Vec<f64>,
    unit: String,
}

impl ResidualChart {
    /// From predictions ŷ and true values y.
    pub fn new(predicted: &[f64], truth: &[f64]) -> Self {
        ResidualChart {
            frame: Frame::default(),
            predicted: predicted.to_vec(),
            truth: truth.to_vec(),
            unit: String::new(),
        }
    }

    /// The unit of the predicted quantity.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    frame_methods!();
}

impl Picture for ResidualChart {
    fn scene(&self) -> Result<Scene> {
        same_length("residual chart", ("predictions", self.predicted.len()), ("true values", self.truth.len()))?;
        let residuals: Vec<f64> = self.truth.iter().zip(&self.predicted).map(|(y, p)| y - p).collect();
        let seen: Vec<f64> = residuals.iter().copied().filter(|r| r.is_finite()).collect();
        let label = |name: &str| if self.unit.is_empty() { name.to_owned() } else { format!("{name} ({})", self.unit) };
        let mut chart = ScatterChart::new().group("", &self.predicted, &residuals).zero_line();
        chart = chart.x_label(label("predicted")).y_label(label("residual"));
        chart.frame = self.frame.clone();
        if chart.frame.caption.is_empty() && !seen.is_empty() {
            let n = seen.len() as f64;
            let root = (seen.iter().map(|r| r * r / n).sum::<f64>()).sqrt();
            let mean = seen.iter().map(|r| r / n).sum::<f64>();
            let (mean, root) = (short_number(mean), short_number(root));
            chart.frame.caption = format!("Mean residual {mean}, root mean square {root}, n = {}.", seen.len());
        }
        chart.scene()
    }
}
