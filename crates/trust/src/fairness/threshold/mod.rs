//! Fair decisions from given scores: a threshold for every group, chosen at random between two where needed (Hardt, Price and Srebro 2016).
//!
//! Every group's ROC curve is replaced by its convex hull, whose points are reached by choosing between two thresholds at random. Under
//! a constraint on one rate (demographic parity, equal opportunity, equal false positive rates) the best objective is a concave,
//! piecewise linear function of that rate, so its maximum is at a vertex of some group's hull. Under equalized odds all groups must have
//! the same point (FPR, TPR), which lies below all hulls; the maximum is at a vertex of their intersection, and groups whose hull is
//! higher ignore the score for a random part of the rows. All vertices are tried, so the optimum on the training rows is exact.

mod fitted;
mod hull;
mod json;

pub(super) use fitted::decided;
pub use fitted::{FittedThresholdOptimizer, GroupRule, row_uniforms};

use tove_learn::Labels;
use tove_tensor::Tensor;

use super::outcomes::binary;
use crate::{Result, TrustError, input};
use hull::{Cut, Hull, Place};

const NAME: &str = "ThresholdOptimizer";

/// What has to be equal among groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParityConstraint {
    /// Selection rates P(D = 1): independence.
    #[default]
    DemographicParity,
    /// True and false positive rates: separation.
    EqualizedOdds,
    /// True positive rates, equivalently false negative rates.
    EqualOpportunity,
    /// False positive rates, equivalently true negative rates.
    FalsePositiveRateParity,
}

impl ParityConstraint {
    /// All constraints.
    pub fn all() -> [ParityConstraint; 4] {
        use ParityConstraint::{DemographicParity, EqualOpportunity, EqualizedOdds, FalsePositiveRateParity};
        [DemographicParity, EqualizedOdds, EqualOpportunity, FalsePositiveRateParity]
    }

    /// The name in files and options, such as `equalized_odds`.
    pub fn name(self) -> &'static str {
        match self {
            ParityConstraint::DemographicParity => "demographic_parity",
            ParityConstraint::EqualizedOdds => "equalized_odds",
            ParityConstraint::EqualOpportunity => "equal_opportunity",
            ParityConstraint::FalsePositiveRateParity => "false_positive_rate_parity",
        }
    }

    /// The constraint of a name, also by fairlearn's `true_positive_rate_parity`, `false_negative_rate_parity`,
    /// `true_negative_rate_parity`.
    pub fn from_name(name: &str) -> Option<ParityConstraint> {
        match name {
            "true_positive_rate_parity" | "false_negative_rate_parity" => Some(ParityConstraint::EqualOpportunity),
            "true_negative_rate_parity" => Some(ParityConstraint::FalsePositiveRateParity),
            name => ParityConstraint::all().into_iter().find(|constraint| constraint.name() == name),
        }
    }
}

/// What thresholds maximize.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ThresholdObjective {
    /// The share of right decisions.
    #[default]
    Accuracy,
    /// The mean of the true positive and the true negative rate of all rows.
    BalancedAccuracy,
    /// Minus the expected cost per row.
    Cost {
        /// Cost of accepting a row with label 0.
        false_positive: f64,
        /// Cost of rejecting a row with label 1.
        false_negative: f64,
    },
}

/// Chooses a threshold for every group so that a rate is equal among them and the objective is as large as possible.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::{ParityConstraint, ThresholdOptimizer};
/// let scores = Tensor::from([0.9, 0.6, 0.4, 0.1, 0.8, 0.3, 0.2, 0.1]);
/// let labels = Tensor::from([1i64, 1, 0, 0, 1, 0, 1, 0]);
/// let groups = Tensor::from([0i64, 0, 0, 0, 1, 1, 1, 1]);
/// let optimizer = ThresholdOptimizer { constraint: ParityConstraint::DemographicParity, ..Default::default() };
/// let fitted = optimizer.fit(&scores, &labels, &groups, None)?;
/// let rates: Vec<f64> = fitted.rules().iter().map(|rule| rule.selection_rate).collect();
/// assert!((rates[0] - rates[1]).abs() < 1e-12);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThresholdOptimizer {
    /// What has to be equal; demographic parity by default.
    pub constraint: ParityConstraint,
    /// What is maximized; the accuracy by default.
    pub objective: ThresholdObjective,
}

/// Gain of a true positive and loss of a false positive, each per unit of weight.
#[derive(Clone, Copy)]
struct Gains {
    hit: f64,
    false_alarm: f64,
}

/// The chosen point of one group: a place on its hull, and the probability with which the score is ignored.
struct Chosen {
    place: Place,
    ignore: f64,
    constant: f64,
}

impl ThresholdOptimizer {
    /// Chooses the thresholds. Larger scores must mean that label 1 is more likely; they need not be probabilities. Use rows to which the
    /// model that gave the scores was not fitted, since scores of its own training rows separate the labels too well.
    ///
    /// # Errors
    /// Different lengths; labels other than 0 and 1; scores that are not finite; fewer than two groups; a group without rows of either
    /// label; costs that are negative or both 0.
    pub fn fit(
        &self,
        scores: &Tensor,
        labels: &Tensor,
        groups: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<FittedThresholdOptimizer> {
        if scores.numel() == 0 {
            return Err(TrustError::data(
                NAME,
                "there are no samples",
                "give at least one row of each label per group",
            ));
        }
        let n = scores.numel();
        let scores = input::numbers(NAME, "scores", scores, n)?;
        let labels = binary(NAME, "labels", labels, n)?;
        let groups = input::groups(NAME, groups, n)?;
        let weights = input::weights(NAME, weights, n)?;
        if groups.classes().len() < 2 {
            let problem = format!("all rows are in group {}", groups.classes()[0]);
            return Err(TrustError::data(NAME, problem, "give at least two groups, or choose one threshold for all"));
        }
        let hulls = hulls(&scores, &labels, &groups, &weights)?;
        let gains = self.gains(&hulls)?;
        let chosen = match self.constraint {
            ParityConstraint::EqualizedOdds => equalized(&hulls, gains),
            constraint => one_rate(&hulls, gains, constraint),
        };
        let rules = groups.classes().iter().zip(&hulls).zip(&chosen);
        let rules: Vec<GroupRule> = rules.map(|((&group, hull), chosen)| rule(group, hull, chosen)).collect();
        Ok(FittedThresholdOptimizer::new(*self, rules))
    }

    fn gains(&self, hulls: &[Hull]) -> Result<Gains> {
        match self.objective {
            ThresholdObjective::Accuracy => Ok(Gains { hit: 1.0, false_alarm: 1.0 }),
            ThresholdObjective::BalancedAccuracy => {
                let total = |part: fn(&Hull) -> f64| hulls.iter().map(part).sum::<f64>();
                Ok(Gains { hit: 1.0 / total(|hull| hull.positives), false_alarm: 1.0 / total(|hull| hull.negatives) })
            }
            ThresholdObjective::Cost { false_positive, false_negative } => {
                let valid = |cost: f64| cost.is_finite() && cost >= 0.0;
                if !valid(false_positive) || !valid(false_negative) || false_positive + false_negative <= 0.0 {
                    let problem = format!(
                        "costs {false_positive} of a false positive and {false_negative} of a false negative; give finite numbers \
                         of at least 0, not both 0"
                    );
                    return Err(TrustError::argument(NAME, problem));
                }
                Ok(Gains { hit: false_negative, false_alarm: false_positive })
            }
        }
    }
}

fn hulls(scores: &[f64], labels: &[usize], groups: &Labels, weights: &[f64]) -> Result<Vec<Hull>> {
    let mut rows = vec![Vec::new(); groups.classes().len()];
    for (row, &group) in groups.codes().iter().enumerate() {
        rows[group].push((scores[row], labels[row], weights[row]));
    }
    let hull = |(rows, group): (Vec<(f64, usize, f64)>, &i64)| {
        Hull::new(rows).ok_or_else(|| {
            let problem = format!("group {group} lacks rows with label 0 or rows with label 1");
            TrustError::data(NAME, problem, "give rows of both labels for every group, or merge small groups")
        })
    };
    rows.into_iter().zip(groups.classes()).map(hull).collect()
}

/// The gain of all groups at these false and true positive rates.
fn gain(hulls: &[Hull], gains: Gains, rates: impl Iterator<Item = (f64, f64)>) -> f64 {
    let one =
        |(hull, (f, t)): (&Hull, (f64, f64))| gains.hit * hull.positives * t - gains.false_alarm * hull.negatives * f;
    hulls.iter().zip(rates).map(one).sum()
}

/// The candidate of largest gain; ties go to the first.
fn best(candidates: &[f64], gain: impl Fn(f64) -> f64) -> f64 {
    let mut best = (candidates[0], gain(candidates[0]));
    for &candidate in &candidates[1..] {
        let value = gain(candidate);
        if value > best.1 + 1e-12 * best.1.abs() {
            best = (candidate, value);
        }
    }
    best.0
}

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The best places under equality of one rate.
fn one_rate(hulls: &[Hull], gains: Gains, constraint: ParityConstraint) -> Vec<Chosen> {
    let value = |hull: &Hull, f: f64, t: f64| match constraint {
        ParityConstraint::EqualOpportunity => t,
        ParityConstraint::FalsePositiveRateParity => f,
        _ => (hull.positives * t + hull.negatives * f) / (hull.positives + hull.negatives),
    };
    // At equal false positive rates the highest point is best, at equal true positive rates the leftmost.
    let last = constraint == ParityConstraint::FalsePositiveRateParity;
    let places = |wanted: f64| -> Vec<Place> {
        hulls.iter().map(|hull| hull.place(wanted, last, |f, t| value(hull, f, t))).collect()
    };
    let vertices = hulls.iter().flat_map(|hull| hull.vertices.iter().map(move |v| (hull, v)));
    let candidates = vertices.map(|(hull, vertex)| value(hull, vertex.false_positive, vertex.true_positive));
    let wanted = best(&ascending(candidates.collect()), |wanted| {
        gain(hulls, gains, hulls.iter().zip(places(wanted)).map(|(hull, place)| hull.rates(place)))
    });
    places(wanted).into_iter().map(|place| Chosen { place, ignore: 0.0, constant: 0.0 }).collect()
}

/// The best point (FPR, TPR) that all groups can have.
fn equalized(hulls: &[Hull], gains: Gains) -> Vec<Chosen> {
    let vertices = hulls.iter().flat_map(|hull| hull.vertices.iter().map(|vertex| vertex.false_positive));
    let mut candidates = ascending(vertices.collect());
    let crossings: Vec<f64> = candidates.windows(2).flat_map(|ends| crossings(hulls, ends[0], ends[1])).collect();
    candidates.extend(crossings);
    let candidates = ascending(candidates);
    let lowest = |f: f64| hulls.iter().map(|hull| hull.height(f)).fold(f64::INFINITY, f64::min);
    let f = best(&candidates, |f| {
        let t = lowest(f);
        gain(hulls, gains, std::iter::repeat((f, t)))
    });
    let t = lowest(f);
    let choose = |hull: &Hull| {
        let place = hull.place(f, true, |f, _| f);
        let height = hull.rates(place).1;
        let ignore = if height > t && height > f { ((height - t) / (height - f)).min(1.0) } else { 0.0 };
        Chosen { place, ignore, constant: f }
    };
    hulls.iter().map(choose).collect()
}

/// Where hulls cross between two neighboring false positive rates, between which all are straight.
fn crossings(hulls: &[Hull], low: f64, high: f64) -> Vec<f64> {
    // The left end is approached from the right: at 0 a hull may rise vertically, and `height` gives its upper end.
    let ends: Vec<(f64, f64)> = hulls.iter().map(|hull| (hull.height(low), hull.height(high))).collect();
    let mut found = Vec::new();
    for (index, a) in ends.iter().enumerate() {
        for b in &ends[index + 1..] {
            let (left, right) = (a.0 - b.0, a.1 - b.1);
            if left * right < 0.0 {
                found.push(low + (high - low) * left / (left - right));
            }
        }
    }
    found
}

fn rule(group: i64, hull: &Hull, chosen: &Chosen) -> GroupRule {
    let keep = 1.0 - chosen.ignore;
    let (mut always, mut steps) = (chosen.ignore * chosen.constant, Vec::new());
    for (probability, cut) in hull.cuts(chosen.place) {
        let probability = keep * probability;
        match cut {
            Cut::Everybody => always += probability,
            Cut::Above(threshold) if probability > 0.0 => steps.push((probability, threshold)),
            _ => {}
        }
    }
    let (f, t) = hull.rates(chosen.place);
    let mix = |rate: f64| chosen.ignore * chosen.constant + keep * rate;
    let total = hull.positives + hull.negatives;
    GroupRule {
        group,
        always,
        steps,
        selection_rate: (hull.positives * mix(t) + hull.negatives * mix(f)) / total,
        true_positive_rate: mix(t),
        false_positive_rate: mix(f),
        base_rate: hull.positives / total,
        weight: total,
    }
}
