//! Scores of several models over the folds of a cross-validation: every fold as a point, a box, and the mean.
//!
//! The box spans the quartiles with the median inside; whiskers reach to the last point within 1.5 times the box's
//! length. Points are moved up and down a little, always in the same way, so that equal ones are seen.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, frame_methods, left_out, reason};
use crate::draw::number::short_number;
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Area, Scene};
use crate::draw::theme::Look;
use crate::error::{PlotError, Result};
use crate::picture::Picture;
use crate::quantile::quantile;

const WHAT: &str = "score chart";

/// Boxes and points of scores by model.
///
/// ```
/// use tove_plot::{Picture, ScoreChart};
/// let chart = ScoreChart::new()
///     .group("tree", &[0.81, 0.84, 0.79, 0.83, 0.82])
///     .group("forest", &[0.88, 0.90, 0.86, 0.89, 0.91])
///     .mark("baseline", 0.5)
///     .value_label("accuracy");
/// assert!(chart.to_svg()?.contains("forest") && chart.to_svg()?.contains("baseline 0.5"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScoreChart {
    frame: Frame,
    groups: Vec<(String, Vec<f64>)>,
    marks: Vec<(String, f64)>,
    value_label: String,
}

impl ScoreChart {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the scores of a model.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, scores: &[f64]) -> Self {
        self.groups.push((name.into(), scores.to_vec()));
        self
    }

    /// Draws a line across all models at a value, for example at the score of a baseline.
    #[must_use]
    pub fn mark(mut self, name: impl Into<String>, value: f64) -> Self {
        self.marks.push((name.into(), value));
        self
    }

    /// What the scores are.
    #[must_use]
    pub fn value_label(mut self, label: impl Into<String>) -> Self {
        self.value_label = label.into();
        self
    }

    frame_methods!();
}

impl Picture for ScoreChart {
    fn scene(&self) -> Result<Scene> {
        let all = || self.groups.iter().flat_map(|g| g.1.iter().copied());
        let total = all().count();
        if total == 0 {
            return Err(PlotError::Empty { what: WHAT, missing: "score" });
        }
        let none = PlotError::NoFinite { what: WHAT, count: total, reason: reason(false) };
        let marks: Vec<&(String, f64)> = self.marks.iter().filter(|mark| drawable(mark.1, false)).collect();
        let scale = Scale::over(all(), false).ok_or(none)?;
        let scale = Scale::over(all().chain(marks.iter().map(|mark| mark.1)), false).unwrap_or(scale);
        let hidden = all().filter(|v| !drawable(*v, false)).count();
        let notes: Vec<_> = left_out(hidden, "score", reason(false)).into_iter().collect();
        let n = self.groups.len();
        let kind = format!("scores of {n} groups");
        let mut legend = vec![
            Entry::new(Sign::Marker(Look(0)), "one fold"),
            Entry::new(Sign::Block(Look(6)), "quartiles, median"),
            Entry::new(Sign::Marker(Look(3)), "mean"),
        ];
        legend.extend(
            marks.iter().map(|(name, value)| Entry::new(Sign::Guide, format!("{name} {}", short_number(*value)))),
        );
        let height = (120.0 + 46.0 * n as f64).clamp(190.0, 8000.0);
        let least = 50.0 + 26.0 * n as f64;
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (620.0, height), least, &legend, &notes)?;
        let names = self.groups.iter().map(|g| g.0.clone()).collect();
        let axes = Axes::draw(&mut scene, area, Axis::numbers(scale, &self.value_label), Axis::bands(names, ""));
        let thick = (axes.area.height / n as f64 * 0.5).min(26.0);
        for (_, value) in marks {
            scene.segment((axes.x(*value), axes.area.y), (axes.x(*value), axes.area.bottom()), "guide").end();
        }
        for (i, (name, scores)) in self.groups.iter().enumerate() {
            draw_group(&mut scene, &axes, axes.y(i as f64), thick, name, scores);
        }
        Ok(scene)
    }
}

fn draw_group(scene: &mut Scene, axes: &Axes, y: f64, thick: f64, name: &str, scores: &[f64]) {
    let mut sorted: Vec<f64> = scores.iter().copied().filter(|v| drawable(*v, false)).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return;
    }
    let (q1, median, q3) = (quantile(&sorted, 0.25), quantile(&sorted, 0.5), quantile(&sorted, 0.75));
    let reach = 1.5 * (q3 - q1);
    let low = sorted.iter().copied().find(|v| *v >= q1 - reach).unwrap_or(q1);
    let high = sorted.iter().rev().copied().find(|v| *v <= q3 + reach).unwrap_or(q3);
    let mean = sorted.iter().map(|v| v / sorted.len() as f64).sum::<f64>();
    if sorted.len() >= 3 {
        scene.segment((axes.x(low), y), (axes.x(q1), y), "axis").end();
        scene.segment((axes.x(q3), y), (axes.x(high), y), "axis").end();
        let (left, right) = (axes.x(q1), axes.x(q3));
        let place = Area { x: left, y: y - thick / 2.0, width: right - left, height: thick };
        let [q1, median_text, q3] = [q1, median, q3].map(short_number);
        let tip = format!("{name}: quartiles {q1}, {median_text}, {q3}");
        scene.rect(place, "f6 s6").text("fill-opacity", "0.28").tip(&tip);
        let x = axes.x(median);
        scene.segment((x, y - thick / 2.0), (x, y + thick / 2.0), "inkline").end();
    }
    for (k, v) in sorted.iter().enumerate() {
        // multiples of the golden ratio modulo 1 are spread evenly and always the same
        let shift = ((k + 1) as f64 * 0.618_033_988_749_895).fract() - 0.5;
        let at = (axes.x(*v), y + shift * thick * 0.8);
        scene
            .marker(at, 3.2, Look(0), "mark dot")
            .text("fill-opacity", "0.9")
            .tip(&format!("{name}: {}", short_number(*v)));
    }
    scene.marker((axes.x(mean), y), 4.6, Look(3), "dot").tip(&format!("{name}: mean {}", short_number(mean)));
}
