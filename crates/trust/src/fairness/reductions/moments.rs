//! Constraints as moments of decisions, and the weighted classification problems that multipliers pose.

use tove_learn::{Estimator, Fit, Model, Rows, Samples};
use tove_tensor::{DType, Tensor};

use super::classifier::Part;
use crate::fairness::ParityConstraint;
use crate::fairness::outcomes::binary;
use crate::{Result, TrustError, input};

/// Training rows with their constraint.
pub(super) struct Moments<'a> {
    what: &'static str,
    estimator: &'a dyn Estimator,
    samples: Samples,
    labels: Vec<usize>,
    /// Weights with sum 1.
    shares: Vec<f64>,
    /// The event of each row, if it is part of one.
    event: Vec<Option<usize>>,
    group: Vec<usize>,
    pub(super) groups: usize,
    pub(super) events: usize,
    /// Probability of each event, and of each (event, group).
    event_mass: Vec<f64>,
    cell_mass: Vec<f64>,
}

/// A classifier with its error and the gap of every cell (event, group).
pub(super) struct Candidate {
    pub part: Part,
    pub error: f64,
    pub gaps: Vec<f64>,
}

impl<'a> Moments<'a> {
    pub(super) fn new(
        what: &'static str,
        constraint: ParityConstraint,
        estimator: &'a dyn Estimator,
        data: (&Tensor, &Tensor, &Tensor, Option<&Tensor>),
    ) -> Result<Moments<'a>> {
        let (x, labels, groups, weights) = data;
        let capabilities = estimator.capabilities();
        if !capabilities.weights || !capabilities.classifies() {
            let problem = format!("{} is not a classifier that takes sample weights", estimator.name());
            return Err(TrustError::unsupported(what, problem, "choose one, such as `LogisticRegression`"));
        }
        let n = x.dims().first().copied().unwrap_or(0);
        let samples = Samples::unlabeled(x.detach().contiguous())?;
        let labels = binary(what, "labels", labels, n)?;
        let groups = input::groups(what, groups, n)?;
        let weights = input::weights(what, weights, n)?;
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let event = |row: usize| match constraint {
            ParityConstraint::DemographicParity => Some(0),
            ParityConstraint::EqualizedOdds => Some(labels[row]),
            ParityConstraint::EqualOpportunity => (labels[row] == 1).then_some(0),
            ParityConstraint::FalsePositiveRateParity => (labels[row] == 0).then_some(0),
        };
        let events = if constraint == ParityConstraint::EqualizedOdds { 2 } else { 1 };
        let event: Vec<Option<usize>> = (0..n).map(event).collect();
        let m = groups.classes().len();
        let (mut event_mass, mut cell_mass) = (vec![0.0; events], vec![0.0; events * m]);
        for (row, share) in shares.iter().enumerate() {
            if let Some(event) = event[row] {
                event_mass[event] += share;
                cell_mass[event * m + groups.codes()[row]] += share;
            }
        }
        if m < 2 {
            let problem = format!("all rows are in group {}", groups.classes()[0]);
            return Err(TrustError::data(what, problem, "give rows of at least two groups"));
        }
        if let Some(cell) = cell_mass.iter().position(|&mass| mass <= 0.0) {
            let problem =
                format!("group {} has no rows on which the constraint is defined", groups.classes()[cell % m]);
            return Err(TrustError::data(what, problem, "give rows of both labels for every group"));
        }
        if !labels.contains(&0) || !labels.contains(&1) {
            let fix = "give rows with label 0 and rows with label 1";
            return Err(TrustError::data(what, "all rows have the same label", fix));
        }
        let group = groups.codes().to_vec();
        Ok(Moments { what, estimator, samples, labels, shares, event, group, groups: m, events, event_mass, cell_mass })
    }

    pub(super) fn cells(&self) -> usize {
        self.cell_mass.len()
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Fits the classifier that is best for signed multipliers, one per cell.
    pub(super) fn best(&self, multipliers: &[f64]) -> Result<Candidate> {
        let n = self.len();
        let m = self.groups;
        let sums: Vec<f64> = multipliers.chunks_exact(m).map(|row| row.iter().sum()).collect();
        // Minus the derivative of the Lagrangian by the decision of each row: positive where 1 is the better decision.
        let gain = |row: usize| {
            let own = 2.0 * self.labels[row] as f64 - 1.0;
            let of = |event: usize| {
                let cell = event * m + self.group[row];
                sums[event] / self.event_mass[event] - multipliers[cell] / self.cell_mass[cell]
            };
            self.shares[row] * (own + self.event[row].map_or(0.0, of))
        };
        let gains: Vec<f64> = (0..n).map(gain).collect();
        let total: f64 = gains.iter().map(|gain| gain.abs()).sum();
        let wanted: Vec<i64> = gains.iter().map(|&gain| i64::from(gain > 0.0)).collect();
        let weighted = |label: i64| wanted.iter().zip(&gains).any(|(&wanted, gain)| wanted == label && *gain != 0.0);
        let part = match (weighted(0), weighted(1)) {
            (true, true) => {
                let weights: Vec<f64> = gains.iter().map(|gain| n as f64 * gain.abs() / total).collect();
                let samples = self.samples.with_y(&Tensor::from_slice(&wanted))?;
                Part::Model(self.estimator.fit_samples(&samples.weighted(&Tensor::from_slice(&weights))?)?)
            }
            (_, one) => Part::Constant(usize::from(one)),
        };
        let decisions = part.decide(self.what, self.samples.x())?;
        Ok(self.candidate(part, &decisions))
    }

    fn candidate(&self, part: Part, decisions: &[usize]) -> Candidate {
        let (mut error, mut event, mut cell) = (0.0, vec![0.0; self.events], vec![0.0; self.cells()]);
        for (row, &decision) in decisions.iter().enumerate() {
            error += self.shares[row] * f64::from(u8::from(decision != self.labels[row]));
            if let Some(number) = self.event[row] {
                event[number] += self.shares[row] * decision as f64;
                cell[number * self.groups + self.group[row]] += self.shares[row] * decision as f64;
            }
        }
        let rate = |place: usize| cell[place] / self.cell_mass[place];
        let overall = |place: usize| event[place / self.groups] / self.event_mass[place / self.groups];
        let gaps = (0..self.cells()).map(|place| rate(place) - overall(place)).collect();
        Candidate { part, error, gaps }
    }
}

impl Part {
    /// The decisions for rows.
    pub(super) fn decide(&self, what: &'static str, x: &Rows) -> Result<Vec<usize>> {
        match self {
            Part::Constant(decision) => Ok(vec![*decision; x.len()]),
            Part::Model(model) => {
                use tove_learn::Predict;
                let labels = model.predict(x)?.to_dtype(DType::I64).to_f64_vec();
                match labels.iter().find(|label| **label != 0.0 && **label != 1.0) {
                    None => Ok(labels.iter().map(|&label| label as usize).collect()),
                    Some(label) => {
                        let problem = format!("{} predicted {label}", Model::name(&**model));
                        Err(TrustError::unsupported(what, problem, "choose a classifier of the labels 0 and 1"))
                    }
                }
            }
        }
    }
}
