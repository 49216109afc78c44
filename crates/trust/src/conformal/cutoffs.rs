//! The quantiles of calibration scores: one for all rows, one per group, or one per weight of the new row.

use serde_json::{Value, json};
use tove_tensor::Tensor;

use super::json::Reader;
use super::quantile::{WeightedScores, order_statistic, rank, too_small};
use crate::input::{groups as read_groups, numbers};
use crate::{Result, TrustError};

/// What to do with groups that are too small for their own quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmallGroups {
    /// Return an error that names the group, its size and the size needed.
    #[default]
    Refuse,
    /// Use the quantile of all rows for them, and for groups that were not seen when calibrating. Nothing is claimed of sets and
    /// intervals of rows among which there are such groups.
    Marginal,
}

/// A quantile and the number of scores behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cutoff {
    /// The quantile: answers whose score is at most this are kept.
    pub value: f64,
    /// Number of calibration scores.
    pub n: usize,
}

/// The quantile of one group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupCutoff {
    /// The group, or the class.
    pub group: i64,
    /// Its quantile.
    pub cutoff: Cutoff,
    /// Whether the group was too small, so that this is the quantile of all rows.
    pub marginal: bool,
}

/// What is given with each row besides its prediction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given<'a> {
    Nothing,
    Groups(&'a Tensor),
    Weights(&'a Tensor),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cutoffs {
    One(Cutoff),
    /// By rising group; the last is for other groups.
    Groups(Vec<GroupCutoff>, Option<Cutoff>),
    Weighted(WeightedScores, f64),
}

impl Cutoffs {
    pub(super) fn fit(
        what: &'static str,
        scores: Vec<f64>,
        given: Given<'_>,
        alpha: f64,
        small: SmallGroups,
    ) -> Result<Cutoffs> {
        let n = scores.len();
        match given {
            Given::Nothing => {
                Ok(Cutoffs::One(Cutoff { value: order_statistic(what, scores, alpha, "the calibration set")?, n }))
            }
            Given::Groups(groups) => {
                let labels = read_groups(what, groups, n)?;
                Cutoffs::by_group(what, "group", &scores, labels.codes(), labels.classes(), alpha, small)
            }
            Given::Weights(weights) => {
                let weights = crate::input::weights(what, Some(weights), n)?;
                let scores = WeightedScores::new(&scores, &weights);
                if !scores.parts().1.last().is_some_and(|total| total.is_finite()) {
                    let fix = "divide the weights by a common factor";
                    return Err(TrustError::data(what, "the sum of the weights overflows", fix));
                }
                Ok(Cutoffs::Weighted(scores, alpha))
            }
        }
    }

    /// A quantile per group; `kind` is "group" or "class".
    pub(super) fn by_group(
        what: &'static str,
        kind: &str,
        scores: &[f64],
        codes: &[usize],
        names: &[i64],
        alpha: f64,
        small: SmallGroups,
    ) -> Result<Cutoffs> {
        let mut members = vec![Vec::new(); names.len()];
        codes.iter().zip(scores).for_each(|(&code, &score)| members[code].push(score));
        let others = match small {
            SmallGroups::Refuse => None,
            SmallGroups::Marginal => {
                let value = order_statistic(what, scores.to_vec(), alpha, "the calibration set")?;
                Some(Cutoff { value, n: scores.len() })
            }
        };
        let cutoff = |(&group, members): (&i64, Vec<f64>)| {
            let n = members.len();
            match others {
                Some(cutoff) if rank(n, alpha) > n => Ok(GroupCutoff { group, cutoff, marginal: true }),
                _ if n == 0 => Err(too_small(what, n, alpha, &format!("{kind} {group}"))),
                _ => {
                    let value = order_statistic(what, members, alpha, &format!("{kind} {group}"))?;
                    Ok(GroupCutoff { group, cutoff: Cutoff { value, n }, marginal: false })
                }
            }
        };
        let groups = names.iter().zip(members).map(cutoff).collect::<Result<Vec<_>>>()?;
        Ok(Cutoffs::Groups(groups, others))
    }

    /// Whether the quantile of all rows stands in for that of a small group.
    pub(super) fn any_marginal(&self) -> bool {
        matches!(self, Cutoffs::Groups(groups, _) if groups.iter().any(|group| group.marginal))
    }

    /// The quantile of each of `n` new rows, +∞ where the weight of a row is too large; and whether all groups have their own.
    pub(super) fn of_rows(&self, what: &'static str, n: usize, given: Given<'_>) -> Result<(Vec<f64>, bool)> {
        match (self, given) {
            (Cutoffs::One(cutoff), Given::Nothing) => Ok((vec![cutoff.value; n], true)),
            (Cutoffs::Groups(groups, others), Given::Groups(column)) => {
                let labels = read_groups(what, column, n)?;
                let cutoff = |&group: &i64| match (groups.binary_search_by_key(&group, |known| known.group), others) {
                    (Ok(place), _) => Ok((groups[place].cutoff.value, !groups[place].marginal)),
                    (Err(_), Some(cutoff)) => Ok((cutoff.value, false)),
                    (Err(_), None) => {
                        let problem = format!("group {group} was not among the calibration rows");
                        let fix = "calibrate with rows of this group, or merge small groups into the marginal quantile";
                        Err(TrustError::data(what, problem, fix))
                    }
                };
                let cutoffs = labels.classes().iter().map(cutoff).collect::<Result<Vec<(f64, bool)>>>()?;
                let own = cutoffs.iter().all(|cutoff| cutoff.1);
                Ok((labels.codes().iter().map(|&code| cutoffs[code].0).collect(), own))
            }
            (Cutoffs::Weighted(scores, alpha), Given::Weights(weights)) => {
                let weights = numbers(what, "weights", weights, n)?;
                if let Some(row) = weights.iter().position(|&weight| weight < 0.0) {
                    let problem = format!("the weight of row {row} is {}", weights[row]);
                    return Err(TrustError::data(what, problem, "weights must not be negative"));
                }
                Ok((weights.iter().map(|&weight| scores.quantile(*alpha, weight)).collect(), true))
            }
            (Cutoffs::One(_), _) => Err(mismatch(what, "without groups or weights", "do not give any")),
            (Cutoffs::Groups(..), _) => Err(mismatch(what, "by group", "give the group of each row")),
            (Cutoffs::Weighted(..), _) => Err(mismatch(what, "with weights", "give the weight of each row")),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Cutoffs::One(cutoff) => json!({"by": "all", "value": cutoff.value, "n": cutoff.n}),
            Cutoffs::Groups(groups, others) => {
                let group = |g: &GroupCutoff| json!({"group": g.group, "value": g.cutoff.value, "n": g.cutoff.n, "marginal": g.marginal});
                let others = others.map(|cutoff| json!({"value": cutoff.value, "n": cutoff.n}));
                json!({"by": "group", "groups": groups.iter().map(group).collect::<Vec<_>>(), "others": others})
            }
            Cutoffs::Weighted(scores, alpha) => {
                let (scores, sums) = scores.parts();
                json!({"by": "weight", "alpha": alpha, "scores": scores, "sums": sums})
            }
        }
    }

    pub(super) fn from_json(reader: &Reader<'_>) -> Result<Cutoffs> {
        let cutoff = |reader: &Reader<'_>| -> Result<Cutoff> {
            Ok(Cutoff { value: reader.real("value")?, n: reader.count("n")? })
        };
        match reader.text("by")? {
            "all" => Ok(Cutoffs::One(cutoff(reader)?)),
            "group" => {
                let group = |value: &Value| {
                    let reader = Reader::plain(reader.what, value)?;
                    let (group, marginal) = (reader.whole("group")?, reader.switch("marginal")?);
                    Ok(GroupCutoff { group, cutoff: cutoff(&reader)?, marginal })
                };
                let groups = reader.list("groups")?.iter().map(group).collect::<Result<Vec<_>>>()?;
                if groups.is_empty() || groups.windows(2).any(|pair| pair[0].group >= pair[1].group) {
                    return Err(reader.invalid("the groups are empty or not in rising order"));
                }
                let others = reader.optional("others").map(|_| cutoff(&reader.object("others")?)).transpose()?;
                Ok(Cutoffs::Groups(groups, others))
            }
            "weight" => {
                let scores = WeightedScores::restore(reader.reals("scores")?, reader.reals("sums")?)
                    .ok_or_else(|| reader.invalid("the scores and sums of weights do not fit together"))?;
                Ok(Cutoffs::Weighted(scores, reader.fraction("alpha")?))
            }
            other => Err(reader.invalid(format!("quantiles by \"{other}\" are unknown"))),
        }
    }
}

#[cold]
fn mismatch(what: &'static str, how: &str, fix: &str) -> TrustError {
    TrustError::unsupported(what, format!("it was calibrated {how}"), fix)
}
