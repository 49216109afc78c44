//! Histograms: how values are distributed.
//!
//! The bin width is Freedman and Diaconis' 2 · IQR · n^(−1/3), rounded to 1, 2 or 5 times a power of ten so that edges are readable;
//! if the quartiles coincide, the range is cut into √n bins. All groups share the bins.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, axis_methods, frame_methods, left_out, reason};
use crate::draw::number::short_number;
use crate::draw::scale::{Scale, drawable, range};
use crate::draw::scene::{Area, Scene};
use crate::draw::theme::Look;
use crate::error::{PlotError, Result};
use crate::picture::Picture;
use crate::quantile::quantile;

const WHAT: &str = "histogram";

/// A histogram of one or more groups.
///
/// ```
/// use tove_plot::{Histogram, Picture};
/// let histogram = Histogram::new().group("train", &[1.0, 2.0, 2.5, 3.0]).bins(4).x_label("length (cm)");
/// assert_eq!(histogram.counts()?.1[0].iter().sum::<usize>(), 4);
/// assert!(histogram.to_svg()?.contains("length (cm)"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    frame: Frame,
    groups: Vec<(String, Vec<f64>)>,
    x_label: String,
    y_label: String,
    bins: Option<usize>,
    share: bool,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a group of values.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, values: &[f64]) -> Self {
        self.groups.push((name.into(), values.to_vec()));
        self
    }

    /// Exactly so many equal bins from the smallest to the largest value.
    #[must_use]
    pub fn bins(mut self, bins: usize) -> Self {
        self.bins = Some(bins);
        self
    }

    /// Shares of each group in place of counts, to compare groups of different size.
    #[must_use]
    pub fn shares(mut self) -> Self {
        self.share = true;
        self
    }

    frame_methods!();
    axis_methods!();

    /// Edges of the bins, and the counts of each group. A bin holds its lower edge; the last holds both.
    ///
    /// # Errors
    /// If there are no values, none is finite, or the number of bins is 0 or above 10 000.
    pub fn counts(&self) -> Result<(Vec<f64>, Vec<Vec<usize>>)> {
        let total = self.groups.iter().map(|g| g.1.len()).sum();
        let mut values: Vec<f64> = self.groups.iter().flat_map(|g| g.1.iter().copied()).collect();
        values.retain(|&v| drawable(v, false));
        values.sort_by(f64::total_cmp);
        let Some((low, high)) = range(values.iter().copied()) else {
            return Err(match total {
                0 => PlotError::Empty { what: WHAT, missing: "value" },
                count => PlotError::NoFinite { what: WHAT, count, reason: reason(false) },
            });
        };
        let edges = match self.bins {
            Some(bins) if !(1..=10_000).contains(&bins) => {
                return Err(PlotError::parameter(WHAT, format!("{bins} bins; 1 to 10000 are possible")));
            }
            Some(bins) => even(low, high, bins),
            None => readable(&values, low, high),
        };
        let counts = self.groups.iter().map(|(_, values)| {
            let mut counts = vec![0; edges.len() - 1];
            for v in values.iter().filter(|v| drawable(**v, false)) {
                let bin = edges.partition_point(|e| e <= v).saturating_sub(1);
                counts[bin.min(edges.len() - 2)] += 1;
            }
            counts
        });
        let counts = counts.collect();
        Ok((edges, counts))
    }
}

fn even(low: f64, high: f64, bins: usize) -> Vec<f64> {
    let (low, high) = if high - low > 1e-12 * low.abs().max(high.abs()) {
        (low, high)
    } else {
        Scale::exact(low, high, false).ends()
    };
    let edge = |i: usize| low + (high - low) * (i as f64 / bins as f64);
    (0..=bins).map(edge).collect()
}

/// Edges at multiples of a round width.
fn readable(sorted: &[f64], low: f64, high: f64) -> Vec<f64> {
    let n = sorted.len() as f64;
    if high - low <= 1e-9 * low.abs().max(high.abs()) {
        return even(low, high, 1);
    }
    let spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    let width = if spread > 0.0 { 2.0 * spread / n.cbrt() } else { (high - low) / n.sqrt() };
    let width = width.clamp((high - low) / 200.0, high - low);
    let unit = 10f64.powi(width.log10().floor() as i32);
    let width = unit * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * unit >= width * 0.8).unwrap_or(10.0);
    let (first, last) = ((low / width).floor(), (high / width).ceil());
    let bins = ((last - first) as usize).clamp(1, 400);
    (0..=bins).map(|i| (first + i as f64) * width).collect()
}

impl Picture for Histogram {
    fn scene(&self) -> Result<Scene> {
        let (edges, counts) = self.counts()?;
        let given: usize = self.groups.iter().map(|g| g.1.len()).sum();
        let hidden = given - counts.iter().flatten().sum::<usize>();
        let notes: Vec<_> = left_out(hidden, "value", reason(false)).into_iter().collect();
        let named = self.groups.iter().enumerate().filter(|(_, g)| !g.0.is_empty());
        let legend: Vec<_> = named.map(|(i, g)| Entry::new(Sign::Block(Look(i)), &g.0)).collect();
        let height = |group: usize, bin: usize| {
            let whole = if self.share { counts[group].iter().sum::<usize>().max(1) as f64 } else { 1.0 };
            counts[group][bin] as f64 / whole
        };
        let bins = edges.len() - 1;
        let tallest = (0..counts.len()).flat_map(|g| (0..bins).map(move |b| (g, b))).map(|(g, b)| height(g, b));
        let tallest = tallest.fold(0.0, f64::max);
        let kind = format!("histogram of {given} values in {bins} bins");
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (600.0, 380.0), 130.0, &legend, &notes)?;
        let x = Scale::exact(edges[0], edges[bins], false);
        let y = Scale::exact(0.0, 1.06 * tallest, false).whole(!self.share);
        let label = if !self.y_label.is_empty() {
            &self.y_label
        } else if self.share {
            "share"
        } else {
            "count"
        };
        let axes = Axes::draw(&mut scene, area, Axis::numbers(x, &self.x_label), Axis::numbers(y, label));
        let zero = axes.y(0.0);
        for (g, (name, _)) in self.groups.iter().enumerate() {
            let mut outline = vec![(axes.x(edges[0]), zero)];
            for b in 0..bins {
                let (left, right, top) = (axes.x(edges[b]), axes.x(edges[b + 1]), axes.y(height(g, b)));
                outline.extend([(left, top), (right, top)]);
                if counts[g][b] > 0 {
                    let ends = format!("{} to {}", short_number(edges[b]), short_number(edges[b + 1]));
                    let bar = Area { x: left, y: top, width: right - left, height: zero - top };
                    let bar = scene.rect(bar, &format!("mark {}", Look(g).fill())).text("fill-opacity", "0.45");
                    bar.tip(format!("{name} {ends}: {}", counts[g][b]).trim_start());
                }
            }
            outline.push((axes.x(edges[bins]), zero));
            scene
                .polyline(&outline, &format!("thin {}", Look(g).stroke()))
                .some("stroke-dasharray", Look(g).dash())
                .end();
        }
        Ok(scene)
    }
}
