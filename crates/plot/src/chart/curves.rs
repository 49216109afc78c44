//! Curves of rankings: ROC and precision-recall.
//!
//! The ROC curve joins (false positive rate, true positive rate) over all thresholds; guessing lies on the diagonal, and
//! the area under the curve is the chance that a positive is ranked above a negative. The precision-recall curve is a
//! staircase: at a recall its precision holds down to the next threshold. Guessing has the share of positives as precision.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, frame_methods, left_out};
use crate::draw::number::fixed;
use crate::draw::scale::Scale;
use crate::draw::scene::{Area, Scene};
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

#[derive(Clone, Debug)]
struct Curve {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
    score: Option<f64>,
}

impl Curve {
    fn entry(&self, look: Look, score_name: &str) -> Entry {
        let name = match self.score {
            Some(score) => format!("{} ({score_name} {})", self.name, fixed(score, 3)),
            None => self.name.clone(),
        };
        Entry::new(Sign::Line(look), name.trim_start())
    }
}

/// A rate, which lies between 0 and 1 up to rounding.
fn is_rate(value: f64) -> bool {
    (-1e-9..=1.0 + 1e-9).contains(&value)
}

/// Checks the curves and counts the points that are left out.
fn check(what: &'static str, curves: &[Curve]) -> Result<usize> {
    let mut hidden = 0;
    for curve in curves {
        same_length(what, ("x", curve.x.len()), ("y", curve.y.len()))?;
        if let Some(value) = curve.x.iter().chain(&curve.y).find(|v| v.is_finite() && !is_rate(**v)) {
            return Err(PlotError::parameter(what, format!("a rate of {value}; rates lie between 0 and 1")));
        }
        hidden += curve.x.iter().zip(&curve.y).filter(|(x, y)| !x.is_finite() || !y.is_finite()).count();
    }
    match curves.iter().map(|c| c.x.len()).sum::<usize>() {
        0 => Err(PlotError::Empty { what, missing: "curve with points" }),
        n if n == hidden => Err(PlotError::NoFinite { what, count: n, reason: "not finite" }),
        _ => Ok(hidden),
    }
}

fn unit_axes(scene: &mut Scene, area: Area, x: &str, y: &str) -> Axes {
    // a little room, so that a line along the edge is seen
    let scale = Scale::exact(-0.015, 1.015, false);
    Axes::draw(scene, area, Axis::numbers(scale, x), Axis::numbers(scale, y))
}

fn draw(scene: &mut Scene, axes: &Axes, look: Look, curve: &Curve, stairs: bool) {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (&x, &y) in curve.x.iter().zip(&curve.y).filter(|(x, y)| x.is_finite() && y.is_finite()) {
        if let (true, Some(&(last, _))) = (stairs, points.last()) {
            // recall falls along the list: the precision reached at the next recall holds between the two
            points.push((last, y.clamp(0.0, 1.0)));
        }
        points.push((x.clamp(0.0, 1.0), y.clamp(0.0, 1.0)));
    }
    points.dedup();
    let pixels: Vec<_> = points.iter().map(|p| axes.at(p.0, p.1)).collect();
    match pixels[..] {
        [] => {}
        [only] => scene.marker(only, 3.5, look, "mark dot").end(),
        _ => {
            let line = scene.polyline(&pixels, &format!("mark line {}", look.stroke()));
            line.some("stroke-dasharray", look.dash()).end();
        }
    }
}

/// ROC curves with the chance line and the area under each.
///
/// ```
/// use tove_plot::{Picture, RocChart};
/// let chart = RocChart::new().curve("tree", &[0.0, 0.1, 1.0], &[0.0, 0.8, 1.0], Some(0.85));
/// assert!(chart.to_svg()?.contains("tree (AUC 0.850)"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RocChart {
    frame: Frame,
    curves: Vec<Curve>,
}

impl RocChart {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a curve from false and true positive rates, and its area if it is known.
    #[must_use]
    pub fn curve(
        mut self,
        name: impl Into<String>,
        false_positive_rate: &[f64],
        true_positive_rate: &[f64],
        area: Option<f64>,
    ) -> Self {
        let (x, y) = (false_positive_rate.to_vec(), true_positive_rate.to_vec());
        self.curves.push(Curve { name: name.into(), x, y, score: area });
        self
    }

    frame_methods!();
}

impl Picture for RocChart {
    fn scene(&self) -> Result<Scene> {
        const WHAT: &str = "ROC chart";
        let notes: Vec<_> = left_out(check(WHAT, &self.curves)?, "point", "not finite").into_iter().collect();
        let mut legend: Vec<_> = self.curves.iter().enumerate().map(|(i, c)| c.entry(Look(i), "AUC")).collect();
        legend.push(Entry::new(Sign::Guide, "chance (AUC 0.500)"));
        let kind = format!("ROC curves: {}", names(&legend));
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (460.0, 470.0), 160.0, &legend, &notes)?;
        let axes = unit_axes(&mut scene, area, "false positive rate", "true positive rate");
        scene.segment(axes.at(0.0, 0.0), axes.at(1.0, 1.0), "guide").end();
        for (i, curve) in self.curves.iter().enumerate() {
            draw(&mut scene, &axes, Look(i), curve, false);
        }
        Ok(scene)
    }
}

fn names(legend: &[Entry]) -> String {
    legend.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Precision-recall curves with the chance line and the average precision of each.
///
/// ```
/// use tove_plot::{Picture, PrecisionRecallChart};
/// let chart = PrecisionRecallChart::new(0.2).curve("tree", &[1.0, 0.5, 0.0], &[0.2, 0.9, 1.0], Some(0.55));
/// assert!(chart.to_svg()?.contains("tree (AP 0.550)"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PrecisionRecallChart {
    frame: Frame,
    curves: Vec<Curve>,
    positives: f64,
}

impl PrecisionRecallChart {
    /// A chart for data of which the share `positives` is positive: the precision of guessing. 0, for curves of which each has
    /// its own share, draws no line of chance.
    pub fn new(positives: f64) -> Self {
        PrecisionRecallChart { frame: Frame::default(), curves: Vec::new(), positives }
    }

    /// Adds a curve from recalls, falling as thresholds rise, and precisions, and its average precision if it is known.
    #[must_use]
    pub fn curve(mut self, name: impl Into<String>, recall: &[f64], precision: &[f64], average: Option<f64>) -> Self {
        let (x, y) = (recall.to_vec(), precision.to_vec());
        self.curves.push(Curve { name: name.into(), x, y, score: average });
        self
    }

    frame_methods!();
}

impl Picture for PrecisionRecallChart {
    fn scene(&self) -> Result<Scene> {
        const WHAT: &str = "precision-recall chart";
        if !is_rate(self.positives) {
            let problem = format!("a share of positives of {}; it lies between 0 and 1", self.positives);
            return Err(PlotError::parameter(WHAT, problem));
        }
        let notes: Vec<_> = left_out(check(WHAT, &self.curves)?, "point", "not finite").into_iter().collect();
        let mut legend: Vec<_> = self.curves.iter().enumerate().map(|(i, c)| c.entry(Look(i), "AP")).collect();
        if self.positives > 0.0 {
            legend.push(Entry::new(Sign::Guide, format!("chance ({})", fixed(self.positives, 3))));
        }
        let kind = format!("precision-recall curves: {}", names(&legend));
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (460.0, 470.0), 160.0, &legend, &notes)?;
        let axes = unit_axes(&mut scene, area, "recall", "precision");
        if self.positives > 0.0 {
            scene.segment(axes.at(0.0, self.positives), axes.at(1.0, self.positives), "guide").end();
        }
        for (i, curve) in self.curves.iter().enumerate() {
            // both orders of the thresholds occur; the staircase wants falling recall
            let rising = curve.x.first() < curve.x.last();
            let turned = |v: &[f64]| if rising { v.iter().rev().copied().collect() } else { v.to_vec() };
            let curve = Curve { x: turned(&curve.x), y: turned(&curve.y), ..curve.clone() };
            draw(&mut scene, &axes, Look(i), &curve, true);
        }
        Ok(scene)
    }
}
