//! Partial dependence: what a model predicts on average as one feature changes and the others stay.
//!
//! PD(v) = (1/n) Σ_i f(x_i with the feature set to v). The thin lines are single samples (individual conditional
//! expectation); where they cross or fan out, the feature interacts with others. Short strokes at the bottom are the
//! feature's deciles: between distant strokes there is little data.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, reason};
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::Scene;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;
use crate::quantile::quantile;

const WHAT: &str = "dependence chart";

/// A partial dependence curve with single samples and the feature's deciles.
///
/// ```
/// use tove_plot::{DependenceChart, Picture};
/// let chart = DependenceChart::new("age (years)", &[20.0, 40.0, 60.0], &[0.2, 0.5, 0.4])
///     .individual(&[0.1, 0.4, 0.2])
///     .individual(&[0.3, 0.6, 0.6])
///     .data(&[21.0, 35.0, 42.0, 58.0])
///     .y_range(0.0, 1.0);
/// assert!(chart.to_svg()?.contains("age (years)"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DependenceChart {
    frame: Frame,
    grid: Vec<f64>,
    mean: Vec<f64>,
    individuals: Vec<Vec<f64>>,
    data: Vec<f64>,
    x_label: String,
    y_label: String,
    y_range: Option<(f64, f64)>,
}

impl DependenceChart {
    /// From the feature's name, its values on a grid, and the mean prediction at each.
    pub fn new(feature: impl Into<String>, grid: &[f64], mean: &[f64]) -> Self {
        DependenceChart {
            frame: Frame::default(),
            grid: grid.to_vec(),
            mean: mean.to_vec(),
            individuals: Vec::new(),
            data: Vec::new(),
            x_label: feature.into(),
            y_label: "mean prediction".to_owned(),
            y_range: None,
        }
    }

    /// Adds the predictions for one sample.
    #[must_use]
    pub fn individual(mut self, predictions: &[f64]) -> Self {
        self.individuals.push(predictions.to_vec());
        self
    }

    /// The feature's values in the data, of which the deciles are shown.
    #[must_use]
    pub fn data(mut self, values: &[f64]) -> Self {
        self.data = values.to_vec();
        self
    }

    /// The range of the vertical axis, at least: the same for the charts of several features, their strengths can be compared.
    #[must_use]
    pub fn y_range(mut self, low: f64, high: f64) -> Self {
        self.y_range = Some((low, high));
        self
    }

    frame_methods!();
    axis_methods!();
}

impl Picture for DependenceChart {
    fn scene(&self) -> Result<Scene> {
        if self.grid.is_empty() {
            return Err(PlotError::Empty { what: WHAT, missing: "grid value" });
        }
        for curve in self.individuals.iter().chain([&self.mean]) {
            same_length(WHAT, ("grid values", self.grid.len()), ("predictions", curve.len()))?;
        }
        let seen = |x: f64, y: f64| drawable(x, false) && drawable(y, false);
        let curves = || self.individuals.iter().chain([&self.mean]);
        let points = || curves().flat_map(|c| self.grid.iter().copied().zip(c.iter().copied()));
        let none = || PlotError::NoFinite { what: WHAT, count: self.mean.len(), reason: reason(false) };
        if !self.grid.iter().zip(&self.mean).any(|(x, y)| seen(*x, *y)) {
            return Err(none());
        }
        let known = || points().filter(|p| seen(p.0, p.1));
        let x = Scale::over(known().map(|p| p.0), false).ok_or_else(none)?;
        let range = self.y_range.into_iter().flat_map(|(low, high)| [low, high]);
        let y = Scale::over(known().map(|p| p.1).chain(range), false).ok_or_else(none)?;
        let hidden = points().filter(|p| !seen(p.0, p.1)).count();
        let deciles = (!self.data.is_empty()).then(|| "Strokes at the bottom: deciles of the data.".to_owned());
        let notes: Vec<_> = deciles.into_iter().chain(left_out(hidden, "point", reason(false))).collect();
        let mut legend = vec![Entry::new(Sign::Line(Look(0)), "mean")];
        if !self.individuals.is_empty() {
            legend.push(Entry::new(Sign::Block(Look(6)), "single samples"));
        }
        let kind = format!("partial dependence of {} on {}", self.y_label, self.x_label);
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (560.0, 380.0), 130.0, &legend, &notes)?;
        let axes = Axes::draw(&mut scene, area, Axis::numbers(x, &self.x_label), Axis::numbers(y, &self.y_label));
        for curve in &self.individuals {
            draw(&mut scene, &axes, &self.grid, curve, "mark thin s6", "0.45");
        }
        draw(&mut scene, &axes, &self.grid, &self.mean, "mark line s0", "1");
        for (x, y) in self.grid.iter().zip(&self.mean).filter(|(x, y)| seen(**x, **y)) {
            if self.grid.len() <= 30 {
                scene.marker(axes.at(*x, *y), 3.0, Look(0), "dot").end();
            }
        }
        self.deciles(&mut scene, &axes);
        Ok(scene)
    }
}

impl DependenceChart {
    fn deciles(&self, scene: &mut Scene, axes: &Axes) {
        let mut values: Vec<f64> = self.data.iter().copied().filter(|v| drawable(*v, false)).collect();
        values.sort_by(f64::total_cmp);
        if values.is_empty() {
            return;
        }
        let bottom = axes.area.bottom();
        for i in 1..10 {
            let x = axes.x(quantile(&values, f64::from(i) / 10.0));
            if (axes.area.x..=axes.area.right()).contains(&x) {
                scene.segment((x, bottom - 8.0), (x, bottom), "inkline decile").end();
            }
        }
    }
}

/// A curve with gaps where it is not known.
fn draw(scene: &mut Scene, axes: &Axes, grid: &[f64], curve: &[f64], class: &str, opacity: &str) {
    let points: Vec<_> = grid.iter().copied().zip(curve.iter().copied()).collect();
    for run in points.split(|p| !drawable(p.0, false) || !drawable(p.1, false)).filter(|run| run.len() > 1) {
        let pixels: Vec<_> = run.iter().map(|p| axes.at(p.0, p.1)).collect();
        scene.polyline(&pixels, class).text("stroke-opacity", opacity).end();
    }
}
