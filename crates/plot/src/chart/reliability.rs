//! Reliability: do events that are given probability p happen with frequency p?
//!
//! Predictions are put into equal bins; in bin b with n_b of n samples let p_b be the mean probability and f_b the
//! frequency of the event. The expected calibration error is ECE = Σ_b (n_b / n) |f_b − p_b|.
//!
//! Whiskers are Wilson's intervals of the frequencies at 95 %, (f + z²/2n ± z √(f(1 − f)/n + z²/4n²)) / (1 + z²/n) with
//! z = 1.96: a bin of one sample says nearly nothing, however far it lies from the diagonal.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Entry, Frame, Sign, frame_methods};
use crate::draw::number::{count, fixed};
use crate::draw::scale::Scale;
use crate::draw::scene::{Anchor, Area, SMALL, Scene};
use crate::draw::text::text_width;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "reliability chart";

/// One bin of predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// Smallest probability of the bin.
    pub low: f64,
    /// Largest probability of the bin.
    pub high: f64,
    /// Mean probability p_b of its samples.
    pub mean: f64,
    /// Frequency f_b of the event among them.
    pub frequency: f64,
    /// Number of samples n_b.
    pub count: usize,
}

impl ReliabilityBin {
    /// Wilson's interval of the frequency at 95 %.
    ///
    /// ```
    /// use tove_plot::ReliabilityBin;
    /// let bin = ReliabilityBin { low: 0.0, high: 1.0, mean: 0.4, frequency: 0.5, count: 10 };
    /// let (low, high) = bin.interval();
    /// assert!((low - 0.2366).abs() < 1e-4 && (high - 0.7634).abs() < 1e-4);
    /// ```
    pub fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.96;
        let (n, f) = (self.count.max(1) as f64, self.frequency);
        let middle = f + Z * Z / (2.0 * n);
        let half = Z * (f * (1.0 - f) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        (((middle - half) / whole).max(0.0), ((middle + half) / whole).min(1.0))
    }
}

/// A reliability diagram with counts per bin, the perfect diagonal, and the calibration error in the caption.
///
/// ```
/// use tove_plot::{Picture, ReliabilityChart};
/// let chart = ReliabilityChart::from_predictions(&[0.1, 0.2, 0.8, 0.9], &[false, false, true, false], 2)?;
/// assert!((chart.ece() - (0.15 + 0.35) / 2.0).abs() < 1e-12);
/// assert!(chart.to_svg()?.contains("ECE"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReliabilityChart {
    frame: Frame,
    bins: Vec<ReliabilityBin>,
    skipped: usize,
}

impl ReliabilityChart {
    /// From bins that were computed elsewhere; empty ones are not drawn.
    pub fn from_bins(bins: &[ReliabilityBin]) -> Self {
        ReliabilityChart { frame: Frame::default(), bins: bins.to_vec(), skipped: 0 }
    }

    /// From probabilities and whether the event happened, in `bins` equal bins over \[0, 1\]. A bin holds its lower edge.
    ///
    /// # Errors
    /// If lengths differ, `bins` is 0 or above 1000, or a probability lies outside \[0, 1\]. NaN is skipped and counted.
    pub fn from_predictions(probabilities: &[f64], happened: &[bool], bins: usize) -> Result<Self> {
        same_length(WHAT, ("probabilities", probabilities.len()), ("outcomes", happened.len()))?;
        if !(1..=1000).contains(&bins) {
            return Err(PlotError::parameter(WHAT, format!("{bins} bins; 1 to 1000 are possible")));
        }
        let (mut sums, mut skipped) = (vec![(0.0, 0usize, 0usize); bins], 0);
        for (&p, &event) in probabilities.iter().zip(happened) {
            if p.is_nan() {
                skipped += 1;
                continue;
            }
            if !(0.0..=1.0).contains(&p) {
                return Err(PlotError::parameter(WHAT, format!("a probability of {p}; it lies between 0 and 1")));
            }
            let sum = &mut sums[((p * bins as f64) as usize).min(bins - 1)];
            *sum = (sum.0 + p, sum.1 + usize::from(event), sum.2 + 1);
        }
        let edge = |i: usize| i as f64 / bins as f64;
        let bin = |(i, &(sum, events, count)): (usize, &(f64, usize, usize))| ReliabilityBin {
            low: edge(i),
            high: edge(i + 1),
            mean: if count == 0 { (edge(i) + edge(i + 1)) / 2.0 } else { sum / count as f64 },
            frequency: if count == 0 { 0.0 } else { events as f64 / count as f64 },
            count,
        };
        let bins = sums.iter().enumerate().map(bin).collect();
        Ok(ReliabilityChart { frame: Frame::default(), bins, skipped })
    }

    /// The expected calibration error of the bins.
    pub fn ece(&self) -> f64 {
        let total: usize = self.bins.iter().map(|b| b.count).sum();
        let gap = |b: &ReliabilityBin| b.count as f64 / total as f64 * (b.frequency - b.mean).abs();
        self.bins.iter().filter(|b| b.count > 0).map(gap).sum()
    }

    /// The bins.
    pub fn bins(&self) -> &[ReliabilityBin] {
        &self.bins
    }

    frame_methods!();

    fn check(&self) -> Result<()> {
        let filled = self.bins.iter().filter(|b| b.count > 0);
        if filled.clone().next().is_none() {
            return Err(match self.skipped {
                0 => PlotError::Empty { what: WHAT, missing: "sample" },
                count => PlotError::NoFinite { what: WHAT, count, reason: "not finite" },
            });
        }
        for bin in filled {
            let rates = [bin.low, bin.high, bin.mean, bin.frequency];
            if rates.iter().any(|r| !(0.0..=1.0).contains(r)) || bin.low >= bin.high {
                return Err(PlotError::parameter(WHAT, format!("a bin with edges or rates outside 0 to 1: {bin:?}")));
            }
        }
        Ok(())
    }

    fn draw_bins(&self, scene: &mut Scene, axes: &Axes) {
        let zero = axes.y(0.0);
        for bin in self.bins.iter().filter(|b| b.count > 0) {
            let (left, right, top) = (axes.x(bin.low), axes.x(bin.high), axes.y(bin.frequency));
            let tip = format!(
                "{} to {}: mean {}, frequency {}, {} samples",
                fixed(bin.low, 2),
                fixed(bin.high, 2),
                fixed(bin.mean, 3),
                fixed(bin.frequency, 3),
                bin.count
            );
            let bar = Area { x: left + 0.75, y: top, width: (right - left - 1.5).max(0.5), height: zero - top };
            scene.rect(bar, "mark f0").text("fill-opacity", "0.35").tip(&tip);
            let (at, (low, high)) = (axes.x(bin.mean), bin.interval());
            scene.segment((at, top), (at, axes.y(bin.mean)), "line s1").end();
            scene.segment((at, axes.y(low)), (at, axes.y(high)), "inkline whisker").end();
            for end in [axes.y(low), axes.y(high)] {
                scene.segment((at - 3.0, end), (at + 3.0, end), "inkline").end();
            }
            scene.marker(axes.at(bin.mean, bin.frequency), 3.6, Look(0), "dot").tip(&tip);
        }
        scene.segment(axes.at(0.0, 0.0), axes.at(1.0, 1.0), "guide").end();
    }

    fn draw_counts(&self, scene: &mut Scene, axes: &Axes, strip: Area) {
        let most = self.bins.iter().map(|b| b.count).max().unwrap_or(1).max(1) as f64;
        scene.segment((strip.x, strip.bottom()), (strip.right(), strip.bottom()), "axis").end();
        let narrowest = self.bins.iter().map(|b| axes.x(b.high) - axes.x(b.low)).fold(f64::MAX, f64::min);
        let widest = self.bins.iter().map(|b| text_width(&count(b.count as u64), SMALL)).fold(0.0, f64::max);
        for bin in self.bins.iter().filter(|b| b.count > 0) {
            let (left, right) = (axes.x(bin.low), axes.x(bin.high));
            let height = (strip.height - 14.0) * bin.count as f64 / most;
            let bar = Area { x: left + 0.75, y: strip.bottom() - height, width: (right - left - 1.5).max(0.5), height };
            scene.rect(bar, "f6").end();
            if widest <= narrowest - 2.0 {
                let at = ((left + right) / 2.0, bar.y - 3.0);
                scene.label(at, Anchor::Middle, SMALL, "mute", &count(bin.count as u64));
            }
        }
        let at = (strip.x - 7.0, strip.bottom() - 8.0);
        scene.label(at, Anchor::End, SMALL, "mute", "count");
    }
}

impl Picture for ReliabilityChart {
    fn scene(&self) -> Result<Scene> {
        self.check()?;
        let total: usize = self.bins.iter().map(|b| b.count).sum();
        let ece = fixed(self.ece(), 4);
        let mut notes = vec![format!("ECE {ece} over {} bins, n = {}.", self.bins.len(), count(total as u64))];
        notes.extend(crate::draw::frame::left_out(self.skipped, "prediction", "not finite"));
        let legend = [
            Entry::new(Sign::Block(Look(0)), "observed frequency"),
            Entry::new(Sign::Block(Look(1)), "gap to the mean prediction"),
            Entry::new(Sign::Guide, "perfect"),
        ];
        notes.push("Whiskers: 95 % intervals of the frequencies.".to_owned());
        let kind = format!("reliability diagram, expected calibration error {ece}");
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (460.0, 520.0), 240.0, &legend, &notes)?;
        let strip_height = 56.0;
        let scale = Scale::exact(-0.01, 1.01, false);
        let upper = Area { height: area.height - strip_height - 6.0, ..area };
        let (x, y) = (Axis::numbers(scale, "predicted probability"), Axis::numbers(scale, "observed frequency"));
        let axes = Axes::draw(&mut scene, upper, x, y);
        self.draw_bins(&mut scene, &axes);
        let strip = Area { y: area.bottom() - strip_height, height: strip_height, ..axes.area };
        self.draw_counts(&mut scene, &axes, strip);
        Ok(scene)
    }
}
