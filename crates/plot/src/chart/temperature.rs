//! Softmax at several temperatures, side by side.
//!
//! softmax(x / τ)_i = exp(x_i / τ) / Σ_j exp(x_j / τ). A large τ makes the probabilities equal, a small one puts all
//! on the largest score.

use crate::draw::axes::{Axes, Axis};
use crate::draw::frame::{Frame, frame_methods};
use crate::draw::number::{fixed, short_number};
use crate::draw::scale::{Scale, drawable};
use crate::draw::scene::{Anchor, Area, LABEL, SMALL, Scene};
use crate::draw::text::text_width;
use crate::draw::theme::Look;
use crate::error::{PlotError, Result, same_length};
use crate::picture::Picture;

const WHAT: &str = "temperature chart";

/// Bars of softmax(x / τ) for several τ.
///
/// ```
/// use tove_plot::{Picture, TemperatureChart};
/// let chart = TemperatureChart::new(&[1.0, 2.0, 3.0], &[1.0, 10.0, 100.0]);
/// let p = &chart.probabilities()?[1];
/// assert!((p[0] - 0.3006).abs() < 5e-5 && (p[2] - 0.3672).abs() < 5e-5);
/// assert!(chart.to_svg()?.contains("τ = 100"));
/// # Ok::<(), tove_plot::PlotError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TemperatureChart {
    frame: Frame,
    scores: Vec<f64>,
    temperatures: Vec<f64>,
    names: Option<Vec<String>>,
}

impl TemperatureChart {
    /// From scores x and temperatures τ.
    pub fn new(scores: &[f64], temperatures: &[f64]) -> Self {
        TemperatureChart {
            frame: Frame::default(),
            scores: scores.to_vec(),
            temperatures: temperatures.to_vec(),
            names: None,
        }
    }

    /// Names of the scores, in place of their numbers.
    #[must_use]
    pub fn names<S: AsRef<str>>(mut self, names: &[S]) -> Self {
        self.names = Some(names.iter().map(|n| n.as_ref().to_owned()).collect());
        self
    }

    frame_methods!();

    /// The probabilities of each temperature.
    ///
    /// # Errors
    /// If scores or temperatures are missing or not finite, or a temperature is not positive.
    pub fn probabilities(&self) -> Result<Vec<Vec<f64>>> {
        if self.scores.is_empty() || self.temperatures.is_empty() {
            return Err(PlotError::Empty { what: WHAT, missing: "score and temperature" });
        }
        if let Some(score) = self.scores.iter().find(|s| !drawable(**s, false)) {
            return Err(PlotError::parameter(WHAT, format!("a score of {score}; softmax needs finite scores")));
        }
        if let Some(t) = self.temperatures.iter().find(|t| !drawable(**t, true)) {
            return Err(PlotError::parameter(WHAT, format!("a temperature of {t}; it must be positive and finite")));
        }
        let largest = self.scores.iter().copied().fold(f64::MIN, f64::max);
        let softmax = |t: &f64| {
            let powers: Vec<f64> = self.scores.iter().map(|s| ((s - largest) / t).exp()).collect();
            let total: f64 = powers.iter().sum();
            powers.into_iter().map(|p| p / total).collect()
        };
        Ok(self.temperatures.iter().map(softmax).collect())
    }
}

impl Picture for TemperatureChart {
    fn scene(&self) -> Result<Scene> {
        let all = self.probabilities()?;
        let names = match &self.names {
            Some(names) => {
                same_length(WHAT, ("names", names.len()), ("scores", self.scores.len()))?;
                names.clone()
            }
            None => self.scores.iter().map(|s| short_number(*s)).collect(),
        };
        let (panels, bars) = (all.len() as f64, names.len() as f64);
        let width = (panels * (70.0 + 44.0 * bars).clamp(150.0, 420.0) + 28.0).clamp(300.0, 1600.0);
        let kind = format!("softmax of {} scores at {} temperatures", names.len(), all.len());
        let (mut scene, area) = self.frame.canvas(WHAT, &kind, (width, 320.0), 160.0, &[], &[])?;
        let step = area.width / panels;
        for (i, (t, probabilities)) in self.temperatures.iter().zip(&all).enumerate() {
            let panel =
                Area { x: area.x + i as f64 * step, y: area.y + 20.0, width: step - 8.0, height: area.height - 20.0 };
            let label = if i == 0 { "probability" } else { "" };
            let x = Axis::bands(names.clone(), if self.names.is_some() { "" } else { "score x" });
            let y = Axis::numbers(Scale::exact(0.0, 1.1, false), label);
            let axes = Axes::draw(&mut scene, panel, x, y);
            let middle = axes.area.x + axes.area.width / 2.0;
            let heading = format!("τ = {}", short_number(*t));
            scene.fitted((middle, area.y + 12.0), Anchor::Middle, LABEL, "", &heading, axes.area.width);
            let slot = axes.area.width / bars;
            for (k, p) in probabilities.iter().enumerate() {
                let (x, top) = axes.at(k as f64, *p);
                let bar = Area { x: x - 0.36 * slot, y: top, width: 0.72 * slot, height: axes.area.bottom() - top };
                scene.rect(bar, &format!("mark {}", Look(i).fill())).tip(&format!("{}: {}", names[k], fixed(*p, 6)));
                let number = [4, 3, 2].map(|d| fixed(*p, d)).into_iter().find(|n| text_width(n, SMALL) <= slot - 2.0);
                if let Some(number) = number {
                    scene.label((x, top - 4.0), Anchor::Middle, SMALL, "", &number);
                }
            }
        }
        Ok(scene)
    }
}
