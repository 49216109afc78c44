//! Bars: coefficients, importances, counts.
//!
//! Bars are horizontal, so that long names are readable. Positive and negative bars differ in color and side; whiskers show an
//! interval around the value.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Frame, frame_methods, left_out, reason};
use crate::draw::number::aligned_numbers;
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Anchor, Area, SMALL, Scene};
use crate::draw::text::text_width;
use crate::error::{PlotError, Result};
use crate::picture::Picture;
use crate::quantile::quantile;

const WHAT: &str = "bar chart";

#[derive(Clone, Debug)]
struct Bar {
    name: String,
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Bar {
    /// The bar with its interval as it is drawn.
    fn within(&self, drawn: impl Fn(f64) -> f64) -> Bar {
        Bar { interval: self.interval.map(|(low, high)| (drawn(low), drawn(high))), ..self.clone() }
    }
}

/// Horizontal bars with names, values and error whiskers.
///
/// ```
/// use tove_plot::{BarChart, Picture};
/// let chart = BarChart::new()
///     .bar("age", 0.42)
///     .bar_with_interval("income", -0.17, -0.25, -0.09)
///     .sorted()
///     .value_label("coefficient");
/// assert!(chart.to_svg()?.contains("income"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BarChart {
    frame: Frame,
    bars: Vec<Bar>,
    sorted: bool,
    most: Option<usize>,
    capped: bool,
    range: Option<(f64, f64)>,
    value_label: String,
}

impl BarChart {
    /// An empty chart.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a bar.
    #[must_use]
    pub fn bar(mut self, name: impl Into<String>, value: f64) -> Self {
        self.bars.push(Bar { name: name.into(), value, interval: None });
        self
    }

    /// Adds a bar with an interval, drawn as whiskers.
    #[must_use]
    pub fn bar_with_interval(mut self, name: impl Into<String>, value: f64, low: f64, high: f64) -> Self {
        self.bars.push(Bar { name: name.into(), value, interval: Some((low, high)) });
        self
    }

    /// Largest magnitude first.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.sorted = true;
        self
    }

    /// Shows only the first `most` bars (after sorting) and says how many are not shown.
    #[must_use]
    pub fn top(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    /// Cuts bars that are more than ten times as long as the median bar at that length, marks them with an open end, and says so:
    /// a few huge values, as of collinear features, do not hide all others. The numbers beside the bars are the true ones.
    #[must_use]
    pub fn capped(mut self) -> Self {
        self.capped = true;
        self
    }

    /// The range of the axis, at least: the same for several charts, their bars can be compared.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// The length beyond which bars are cut.
    fn cap(&self, bars: &[&Bar]) -> Option<f64> {
        let mut sizes: Vec<f64> = bars.iter().map(|bar| bar.value.abs()).filter(|size| *size > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        if !self.capped || sizes.len() < 3 {
            return None;
        }
        let (cap, largest) = (10.0 * quantile(&sizes, 0.5), sizes[sizes.len() - 1]);
        (largest > cap).then_some(cap)
    }

    /// What the values are, with their unit.
    #[must_use]
    pub fn value_label(mut self, label: impl Into<String>) -> Self {
        self.value_label = label.into();
        self
    }

    frame_methods!();

    /// The bars to draw, and the notes about the others.
    fn chosen(&self) -> Result<(Vec<&Bar>, Vec<String>)> {
        let mut bars: Vec<&Bar> = self.bars.iter().filter(|b| drawable(b.value, false)).collect();
        let hidden = self.bars.len() - bars.len();
        if self.bars.is_empty() || self.most == Some(0) {
            return Err(PlotError::Empty { what: WHAT, missing: "bar" });
        }
        if bars.is_empty() {
            return Err(PlotError::NoFinite { what: WHAT, count: self.bars.len(), reason: reason(false) });
        }
        if self.sorted {
            bars.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        }
        let mut notes: Vec<_> = left_out(hidden, "bar", reason(false)).into_iter().collect();
        if let Some(most) = self.most.filter(|&most| most < bars.len()) {
            notes.push(format!("{} more bars not shown.", bars.len() - most));
            bars.truncate(most);
        }
        Ok((bars, notes))
    }
}

impl Picture for BarChart {
    fn scene(&self) -> Result<Scene> {
        let (bars, mut notes) = self.chosen()?;
        let cap = self.cap(&bars);
        if cap.is_some() {
            notes.push(
                "Bars longer than ten times the median are cut (//); the numbers are the true values.".to_owned(),
            );
        }
        let drawn = |value: f64| cap.map_or(value, |cap| value.clamp(-cap, cap));
        let ends = |b: &&Bar| {
            let (low, high) = b.interval.unwrap_or((b.value, b.value));
            [drawn(b.value), drawn(low), drawn(high), 0.0]
        };
        let none = || PlotError::NoFinite { what: WHAT, count: self.bars.len(), reason: reason(false) };
        let range = self.range.into_iter().flat_map(|(low, high)| [low, high]);
        let scale = Scale::over(bars.iter().flat_map(ends).chain(range), false).ok_or_else(none)?;
        let scale = if scale.ends().0 > -0.05 * scale.ends().1
            && bars.iter().all(|b| ends(b).iter().all(|v| *v >= 0.0))
            && self.range.is_none_or(|range| range.0 >= 0.0)
        {
            scale.starting_at(0.0)
        } else {
            scale
        };
        let kind = format!("bar chart of {} bars", bars.len());
        let height = (90.0 + 24.0 * bars.len() as f64).clamp(170.0, 8000.0);
        let least = 50.0 + 15.0 * bars.len() as f64;
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (620.0, height), least, &[], &notes)?;
        // room at both ends for the numbers beside the bars
        let numbers = aligned_numbers(&bars.iter().map(|b| b.value).collect::<Vec<_>>());
        let room = numbers.iter().map(|number| text_width(number, SMALL)).fold(0.0, f64::max) + 6.0;
        let names = bars.iter().map(|b| b.name.clone()).collect();
        let inner = Area { width: area.width - room, ..area };
        let axes = Axes::draw(&mut scene, inner, Axis::numbers(scale, &self.value_label), Axis::bands(names, ""));
        let thick = (axes.area.height / bars.len() as f64 * 0.68).min(26.0);
        let zero = axes.x(0.0);
        for (i, (bar, number)) in bars.iter().zip(&numbers).enumerate() {
            let (x, y) = axes.at(drawn(bar.value), i as f64);
            let place = Area { x: x.min(zero), y: y - thick / 2.0, width: (x - zero).abs(), height: thick };
            let class = if bar.value < 0.0 { "mark f1" } else { "mark f0" };
            scene.rect(place, class).text("rx", "1.5").tip(&format!("{}: {number}", bar.name));
            if drawn(bar.value) != bar.value {
                let inwards = if bar.value < 0.0 { 1.0 } else { -1.0 };
                for offset in [8.0, 14.0] {
                    let at = x + inwards * offset;
                    scene.segment((at - 3.0, y + thick / 2.0), (at + 3.0, y - thick / 2.0), "cutline").end();
                }
            }
            let right = whisker(&mut scene, &axes, &bar.within(drawn), y, thick);
            let at = (right.max(x).max(zero) + 5.0, y + 3.5);
            scene.label(at, Anchor::Start, SMALL, "mute halo", number);
        }
        scene.segment((zero, axes.area.y), (zero, axes.area.bottom()), "axis").end();
        Ok(scene)
    }
}

/// Draws the interval of a bar and gives its right end.
fn whisker(scene: &mut Scene, axes: &Axes, bar: &Bar, y: f64, thick: f64) -> f64 {
    let Some((low, high)) = bar.interval.filter(|(l, h)| drawable(*l, false) && drawable(*h, false)) else {
        return f64::MIN;
    };
    let (left, right, cap) = (axes.x(low), axes.x(high), thick * 0.25);
    scene.segment((left, y), (right, y), "inkline whisker").end();
    for x in [left, right] {
        scene.segment((x, y - cap), (x, y + cap), "inkline").end();
    }
    right.max(left)
}
