//! Bounds of a net's outputs over a region: interval bound propagation and linear relaxation.
//!
//! **Intervals** (Gowal et al., "On the effectiveness of interval bound propagation", 2018): each step maps the interval of
//! every value to an interval that holds all results.
//!
//! **CROWN** (Zhang et al., "Efficient neural network robustness certification with general activation functions", 2018):
//! every activation lies between two lines on its interval. A linear function of the outputs is carried back through the
//! lines, on the side that its sign asks for, until it is a linear function of the inputs, whose smallest value over the
//! region is known. Here the result is intersected with that of the cheaper methods, so it is never wider.
//!
//! **Rounding.** Every sum of n products is widened by (n + 8) ε Σ|terms| with the ε of double precision, and what the lines
//! lose to rounding is added to their intercepts, so that bounds hold for the net in exact arithmetic with its weights. [`Network::margins`] further takes off the largest
//! error that computing the net in its own precision can make, for any order of the sums.

use super::affine::Affine;
use super::network::{Network, Step, WHAT, largest};
use super::region::{InputRegion, gamma};
use super::relaxation::Lines;
use crate::{Result, TrustError};

/// How bounds are computed; each is at least as tight as the one before it and takes longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relaxation {
    /// Interval bound propagation: one pass.
    Intervals,
    /// Linear relaxation for the outputs, intervals for the hidden values (CROWN-IBP).
    Mixed,
    /// Linear relaxation for every value (CROWN).
    #[default]
    Crown,
}

/// Bounds of outputs, or of margins.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputBounds {
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
}

/// Bounds of the input of every step, and of the outputs.
pub(super) struct Hidden {
    pub lower: Vec<Vec<f64>>,
    pub upper: Vec<Vec<f64>>,
}

impl Hidden {
    /// The largest absolute values before a step.
    fn sizes(&self, step: usize) -> Vec<f64> {
        self.lower[step].iter().zip(&self.upper[step]).map(|(low, high)| low.abs().max(high.abs())).collect()
    }
}

/// A linear function of the inputs below a linear function of a step's output.
pub(super) struct LinearBound {
    pub slopes: Vec<f64>,
    pub value: f64,
}

impl Network {
    /// Bounds of all outputs over a region.
    ///
    /// # Errors
    /// A region of another width; bounds that overflow.
    pub fn bounds(&self, region: &InputRegion, relaxation: Relaxation) -> Result<OutputBounds> {
        let hidden = self.hidden(region, relaxation)?;
        let last = self.steps.len();
        let mut bounds = match relaxation {
            // Tighter lines can have other slopes, which are worse in the end; the better of both holds.
            Relaxation::Crown => self.bounds(region, Relaxation::Mixed)?,
            _ => OutputBounds { lower: hidden.lower[last].clone(), upper: hidden.upper[last].clone() },
        };
        if relaxation != Relaxation::Intervals {
            let relaxed = Relaxed::new(self, &hidden, last);
            for output in 0..self.outputs() {
                let (low, high) = relaxed.both(last, output, region);
                bounds.lower[output] = bounds.lower[output].max(low);
                bounds.upper[output] = bounds.upper[output].min(high);
            }
        }
        Ok(bounds)
    }

    /// Bounds of the inputs of all steps.
    pub(super) fn hidden(&self, region: &InputRegion, relaxation: Relaxation) -> Result<Hidden> {
        if region.width() != self.inputs() {
            let problem = format!("a region of {} features for a net of {}", region.width(), self.inputs());
            return Err(TrustError::data(WHAT, problem, "give bounds for each feature of the net"));
        }
        let mut hidden = Hidden { lower: vec![region.lower().to_vec()], upper: vec![region.upper().to_vec()] };
        for (index, step) in self.steps.iter().enumerate() {
            let (low, high) = (&hidden.lower[index], &hidden.upper[index]);
            let (mut lower, mut upper): (Vec<f64>, Vec<f64>) = match step {
                Step::Affine(affine) if index == 0 => affine.intervals_in(region),
                Step::Affine(affine) => affine.intervals(low, high),
                Step::Bend(bend) => low.iter().zip(high).map(|(low, high)| bend.interval(*low, *high)).unzip(),
                Step::Largest(windows) => {
                    windows.iter().map(|window| (low[largest(window, low)], high[largest(window, high)])).unzip()
                }
            };
            let bends = matches!(self.steps.get(index + 1), Some(Step::Bend(_)));
            if relaxation == Relaxation::Crown && bends && index > 0 {
                let relaxed = Relaxed::new(self, &hidden, index + 1);
                for unit in 0..lower.len() {
                    if lower[unit] < 0.0 && upper[unit] > 0.0 {
                        let (low, high) = relaxed.both(index + 1, unit, region);
                        (lower[unit], upper[unit]) = (lower[unit].max(low), upper[unit].min(high));
                    }
                }
            }
            if lower.iter().chain(&upper).any(|bound| !bound.is_finite()) {
                let problem = format!("the bounds after step {} are not finite", index + 1);
                return Err(TrustError::data(WHAT, problem, "give a smaller region, or scale the features"));
            }
            hidden.lower.push(lower);
            hidden.upper.push(upper);
        }
        Ok(hidden)
    }

    /// Lower bounds of the margins z_class − z_other over a region, for all other classes in order; of a net with a single
    /// output of ±z. The largest error of computing the net in its own precision is taken off: if all are positive, no input
    /// of the region gets another class.
    ///
    /// # Errors
    /// As [`Network::bounds`]; a class that does not exist.
    pub fn margins(&self, region: &InputRegion, class: usize, relaxation: Relaxation) -> Result<Vec<f64>> {
        Ok(self.linear_margins(region, class, relaxation)?.into_iter().map(|bound| bound.value).collect())
    }

    /// The margins with the slopes of their linear bounds; without slopes for intervals.
    pub(super) fn linear_margins(
        &self,
        region: &InputRegion,
        class: usize,
        relaxation: Relaxation,
    ) -> Result<Vec<LinearBound>> {
        self.check_class(class)?;
        let mut bounds = self.margins_by(region, class, relaxation)?;
        if relaxation == Relaxation::Crown {
            // As for the bounds of the outputs, the better of both.
            let mixed = self.margins_by(region, class, Relaxation::Mixed)?;
            bounds
                .iter_mut()
                .zip(mixed)
                .filter(|(own, other)| other.value > own.value)
                .for_each(|(own, other)| *own = other);
        }
        Ok(bounds)
    }

    fn margins_by(&self, region: &InputRegion, class: usize, relaxation: Relaxation) -> Result<Vec<LinearBound>> {
        let hidden = self.hidden(region, relaxation)?;
        let (last, rows) = (self.steps.len(), self.margin_rows(class));
        let errors = self.evaluation_errors(&hidden);
        let sizes = match self.steps.last() {
            Some(Step::Affine(affine)) => affine.sizes(&hidden.sizes(last - 1)),
            _ => hidden.sizes(last),
        };
        // A margin is a linear function of the last affine map's input, whose bounds hold for all classes at once.
        let merged = match self.steps.last() {
            Some(Step::Affine(affine)) if last > 1 => {
                let mut margins = Affine::new(affine.outputs());
                rows.iter().for_each(|row| margins.push(row.iter().copied().enumerate(), 0.0));
                margins.after(affine).intervals(&hidden.lower[last - 1], &hidden.upper[last - 1]).0
            }
            _ => vec![f64::NEG_INFINITY; rows.len()],
        };
        let relaxed = (relaxation != Relaxation::Intervals || last <= 1).then(|| Relaxed::new(self, &hidden, last));
        let bound = |(row, merged): (&Vec<f64>, f64)| {
            let apart: f64 =
                row.iter().enumerate().map(|(i, c)| (c * hidden.lower[last][i]).min(c * hidden.upper[last][i])).sum();
            // The rounding of the merged rows is of the order of that of the sums.
            let size: f64 = row.iter().zip(&sizes).map(|(c, size)| c.abs() * size).sum();
            let mut best = apart.max(merged) - gamma(4, f64::EPSILON) * size;
            let mut slopes = Vec::new();
            if let Some(relaxed) = &relaxed {
                let found = relaxed.lower(last, row, region);
                (best, slopes) = (best.max(found.value), found.slopes);
            }
            let error: f64 = row.iter().zip(&errors).map(|(c, error)| c.abs() * error).sum();
            let value = best - error - f64::EPSILON * size;
            // What overflowed proves nothing.
            LinearBound { slopes, value: if value.is_nan() { f64::NEG_INFINITY } else { value } }
        };
        Ok(rows.iter().zip(merged).map(bound).collect())
    }

    /// The largest error of every output when the net is computed in its own precision.
    fn evaluation_errors(&self, hidden: &Hidden) -> Vec<f64> {
        let epsilon = self.epsilon();
        let mut errors: Vec<f64> = hidden.sizes(0).iter().map(|size| size * epsilon).collect();
        for (index, step) in self.steps.iter().enumerate() {
            let sizes = hidden.sizes(index);
            errors = match step {
                Step::Affine(affine) => affine.errors(&errors, &sizes, epsilon),
                Step::Bend(bend) => errors.iter().zip(&sizes).map(|(e, size)| bend.error(*e, *size, epsilon)).collect(),
                Step::Largest(windows) => windows.iter().map(|window| errors[largest(window, &errors)]).collect(),
            };
        }
        errors
    }
}

/// A net with its lines up to a step.
struct Relaxed<'n> {
    steps: &'n [Step],
    hidden: &'n Hidden,
    lines: Vec<Vec<Lines>>,
    /// Per affine map the sizes of its sums, for their rounding.
    sizes: Vec<Vec<f64>>,
}

impl<'n> Relaxed<'n> {
    fn new(net: &'n Network, hidden: &'n Hidden, until: usize) -> Relaxed<'n> {
        let steps = &net.steps[..until];
        let lines = |(index, step): (usize, &Step)| match step {
            Step::Bend(bend) => {
                hidden.lower[index].iter().zip(&hidden.upper[index]).map(|(l, u)| bend.lines(*l, *u)).collect()
            }
            _ => Vec::new(),
        };
        let sizes = |(index, step): (usize, &Step)| match step {
            Step::Affine(affine) => affine.sizes(&hidden.sizes(index)),
            _ => hidden.sizes(index),
        };
        Relaxed {
            steps,
            hidden,
            lines: steps.iter().enumerate().map(lines).collect(),
            sizes: steps.iter().enumerate().map(sizes).collect(),
        }
    }

    /// Bounds of one value after `until` steps.
    fn both(&self, until: usize, unit: usize, region: &InputRegion) -> (f64, f64) {
        let width = match until.checked_sub(1).map(|last| &self.steps[last]) {
            None => region.width(),
            Some(Step::Affine(affine)) => affine.outputs(),
            Some(Step::Bend(_)) => self.hidden.lower[until - 1].len(),
            Some(Step::Largest(windows)) => windows.len(),
        };
        let mut row = vec![0.0; width];
        row[unit] = 1.0;
        let low = self.lower(until, &row, region).value;
        row[unit] = -1.0;
        (low, -self.lower(until, &row, region).value)
    }

    /// A lower bound of row · (value after `until` steps).
    fn lower(&self, until: usize, row: &[f64], region: &InputRegion) -> LinearBound {
        // `slack` collects what rounding can have changed; every step adds that of its own sums.
        let (mut a, mut value, mut slack) = (row.to_vec(), 0.0, 0.0);
        let mut total = 0.0;
        for index in (0..until).rev() {
            let sizes = &self.sizes[index];
            let constant = match &self.steps[index] {
                Step::Affine(affine) => {
                    let weight: f64 = a.iter().zip(sizes).map(|(a, size)| a.abs() * size).sum();
                    slack += gamma(a.len(), f64::EPSILON) * weight;
                    let constant: f64 = a.iter().zip(affine.bias()).map(|(a, c)| a * c).sum();
                    let mut before = vec![0.0; affine.inputs()];
                    affine.add_transposed(&a, &mut before);
                    a = before;
                    constant
                }
                Step::Bend(_) => {
                    let mut constant = 0.0;
                    for ((a, lines), size) in a.iter_mut().zip(&self.lines[index]).zip(sizes) {
                        let (slope, intercept) = if *a >= 0.0 { lines.lower } else { lines.upper };
                        constant += *a * intercept;
                        slack += 4.0 * f64::EPSILON * a.abs() * (slope.abs() * size + intercept.abs());
                        *a *= slope;
                    }
                    slack += gamma(a.len(), f64::EPSILON) * constant.abs();
                    constant
                }
                Step::Largest(windows) => {
                    let (low, high) = (&self.hidden.lower[index], &self.hidden.upper[index]);
                    let (mut before, mut constant) = (vec![0.0; low.len()], 0.0);
                    for (window, a) in windows.iter().zip(&a).filter(|(_, a)| **a != 0.0) {
                        let best = largest(window, low);
                        let most = high[largest(window, high)];
                        let always =
                            window.iter().all(|&other| other as usize == best || high[other as usize] <= low[best]);
                        // max ≥ each input, and max ≤ the largest upper bound.
                        if *a > 0.0 || always {
                            before[best] += a
                        } else {
                            constant += a * most
                        }
                        slack += 4.0 * f64::EPSILON * a.abs() * (most.abs() + low[best].abs());
                    }
                    slack += gamma(windows.len(), f64::EPSILON) * constant.abs();
                    a = before;
                    constant
                }
            };
            total += constant.abs();
            value += constant;
        }
        let least = region.minimum(&a);
        slack += gamma(until, f64::EPSILON) * (total + least.abs());
        LinearBound { value: value + least - slack, slopes: a }
    }
}
