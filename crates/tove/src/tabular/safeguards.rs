//! What is done to a model's answers before they are given out: prediction sets or intervals with guaranteed coverage, and decisions
//! by groups.

use serde_json::{Value, json};
use tove_data::table::{Schema, Table, TargetLabels};
use tove_learn::Rows;
use tove_tensor::{DType, Tensor};
use tove_trust::conformal::{CoverageClaim, FittedConformalClassifier, FittedConformalRegressor};
use tove_trust::fairness::FittedThresholdOptimizer;

use super::row_context::draws;
use super::{Answers, Grouping, Result, RowContext, TabularError};

/// Prediction sets of a classification or intervals of a regression.
#[derive(Clone, Debug, PartialEq)]
pub enum Regions {
    /// Sets of classes.
    Sets(FittedConformalClassifier),
    /// Intervals of numbers.
    Intervals(FittedConformalRegressor),
}

/// Prediction sets or intervals, maybe calibrated by groups of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct CoverageRule {
    /// The groups, if the coverage is guaranteed in each of them.
    pub groups: Option<Grouping>,
    /// How sets or intervals are made.
    pub regions: Regions,
}

impl CoverageRule {
    /// What is claimed of the coverage.
    pub fn claim(&self) -> CoverageClaim {
        match &self.regions {
            Regions::Sets(fitted) => fitted.claim(),
            Regions::Intervals(fitted) => fitted.claim(),
        }
    }

    /// The regions of rows: membership (u8, rows by classes) or ends (rows, 2). A row without a known group has all classes, or no ends.
    fn answer(&self, answers: &Answers, groups: &[Option<usize>]) -> Result<Tensor> {
        let input = match (&self.regions, &answers.probabilities) {
            (Regions::Intervals(_), _) => &answers.values,
            (Regions::Sets(_), Some(probabilities)) => probabilities,
            (Regions::Sets(_), None) => {
                return Err(TabularError::plan("prediction sets need probabilities, which the model does not give"));
            }
        };
        let known = |group: &Option<usize>| group.unwrap_or(usize::MAX) as i64;
        let Some(grouping) = &self.groups else {
            return Ok(match &self.regions {
                Regions::Sets(fitted) => fitted.sets(input)?.tensor().to_dtype(DType::U8),
                Regions::Intervals(fitted) => fitted.intervals(input)?.tensor(),
            });
        };
        // Unknown groups borrow the first group's answer, which is then replaced by the widest one.
        let count = grouping.names().len() as i64;
        let codes: Vec<i64> = groups.iter().map(known).collect();
        let safe: Vec<i64> = codes.iter().map(|&code| if (0..count).contains(&code) { code } else { 0 }).collect();
        let safe = Tensor::from(safe);
        let unknown = codes.iter().map(|code| !(0..count).contains(code));
        Ok(match &self.regions {
            Regions::Sets(fitted) => {
                let mut members: Vec<u8> = fitted.sets_by_group(input, &safe)?.tensor().to_dtype(DType::U8).to_vec();
                let m = fitted.classes();
                let rows = members.chunks_mut(m).zip(unknown).filter(|(_, unknown)| *unknown);
                rows.for_each(|(row, _)| row.fill(1));
                Tensor::try_from_vec(members, [codes.len(), m])?
            }
            Regions::Intervals(fitted) => {
                let mut ends = fitted.intervals_by_group(input, &safe)?.tensor().to_f64_vec();
                let rows = ends.chunks_mut(2).zip(unknown).filter(|(_, unknown)| *unknown);
                rows.for_each(|(row, _)| row.copy_from_slice(&[f64::NEG_INFINITY, f64::INFINITY]));
                Tensor::try_from_vec(ends, [codes.len(), 2])?
            }
        })
    }

    fn to_json(&self) -> Value {
        let (kind, fitted) = match &self.regions {
            Regions::Sets(fitted) => ("sets", fitted.to_json()),
            Regions::Intervals(fitted) => ("intervals", fitted.to_json()),
        };
        json!({"kind": kind, "fitted": fitted, "groups": self.groups})
    }

    fn from_json(value: &Value, labels: &TargetLabels) -> Option<CoverageRule> {
        let fitted = &value["fitted"];
        let regions = match value["kind"].as_str()? {
            "sets" => Regions::Sets(FittedConformalClassifier::from_json(fitted).ok()?),
            "intervals" => Regions::Intervals(FittedConformalRegressor::from_json(fitted).ok()?),
            _ => return None,
        };
        let suits = match &regions {
            Regions::Sets(fitted) => fitted.classes() == labels.classes.len(),
            Regions::Intervals(_) => labels.classes.is_empty(),
        };
        let rule = CoverageRule { groups: grouping(&value["groups"])?, regions };
        suits.then_some(rule)
    }
}

/// The grouping of a file; outer none for a damaged one.
fn grouping(value: &Value) -> Option<Option<Grouping>> {
    let read: Option<Grouping> = serde_json::from_value(value.clone()).ok()?;
    read.as_ref().is_none_or(Grouping::is_valid).then_some(read)
}

/// Decisions between two classes by groups of a column, instead of one threshold for all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionRule {
    /// The groups.
    pub groups: Grouping,
    /// A threshold for each group, randomized where needed.
    pub thresholds: FittedThresholdOptimizer,
}

impl DecisionRule {
    /// The decisions. A row without a known group gets the model's own prediction.
    fn decide(&self, answers: &Answers, groups: &[Option<usize>], draws: &[f64]) -> Result<Tensor> {
        let Some(probabilities) = &answers.probabilities else {
            return Err(TabularError::plan("decisions by groups need probabilities, which the model does not give"));
        };
        let known: Vec<usize> = (0..groups.len()).filter(|&row| groups[row].is_some()).collect();
        let mut decisions = answers.values.to_dtype(DType::I64).to_vec::<i64>();
        if known.is_empty() {
            return Ok(Tensor::from(decisions));
        }
        let scores = probabilities.to_f64_vec();
        let of = |take: &dyn Fn(usize) -> f64| Tensor::from(known.iter().map(|&row| take(row)).collect::<Vec<f64>>());
        let codes: Vec<i64> = groups.iter().flatten().map(|&group| group as i64).collect();
        let decided =
            self.thresholds.decide(&of(&|row| scores[2 * row + 1]), &Tensor::from(codes), &of(&|row| draws[row]))?;
        for (&row, decision) in known.iter().zip(decided.to_vec::<i64>()) {
            decisions[row] = decision;
        }
        Ok(Tensor::from(decisions))
    }

    fn to_json(&self) -> Value {
        json!({"groups": self.groups, "thresholds": self.thresholds.to_json()})
    }

    fn from_json(value: &Value, labels: &TargetLabels) -> Option<DecisionRule> {
        let groups = grouping(&value["groups"])??;
        let thresholds = FittedThresholdOptimizer::from_json(&value["thresholds"]).ok()?;
        let rules = thresholds.rules().iter().map(|rule| rule.group);
        let complete = rules.eq(0..groups.names().len() as i64);
        (complete && labels.classes.len() == 2).then_some(DecisionRule { groups, thresholds })
    }
}

/// What a model does to its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Safeguards {
    /// Decisions by groups.
    pub decisions: Option<DecisionRule>,
    /// Prediction sets or intervals.
    pub coverage: Option<CoverageRule>,
}

impl Safeguards {
    /// Whether answers are given out as they are.
    pub fn is_empty(&self) -> bool {
        *self == Safeguards::default()
    }

    /// The groups by which something is decided or covered.
    pub fn groupings(&self) -> impl Iterator<Item = &Grouping> {
        let covered = self.coverage.iter().filter_map(|rule| rule.groups.as_ref());
        covered.chain(self.decisions.iter().map(|rule| &rule.groups))
    }

    /// What must be known of rows besides their features.
    pub(super) fn context(&self, table: &Table, rows: &Rows) -> Result<RowContext> {
        let groups = |grouping: Option<&Grouping>| -> Result<Vec<Option<usize>>> {
            grouping.map_or(Ok(Vec::new()), |grouping| Ok(grouping.codes(table.column(grouping.column())?)))
        };
        Ok(RowContext {
            decision_groups: groups(self.decisions.as_ref().map(|rule| &rule.groups))?,
            draws: if self.decisions.is_some() { draws(rows) } else { Vec::new() },
            coverage_groups: groups(self.coverage.as_ref().and_then(|rule| rule.groups.as_ref()))?,
            ..RowContext::default()
        })
    }

    /// The predictions: those of the model, or the decisions by groups.
    pub(crate) fn decide(&self, answers: &Answers, context: &RowContext) -> Result<Tensor> {
        match &self.decisions {
            None => Ok(answers.values.clone()),
            Some(rule) => rule.decide(answers, &context.decision_groups, &context.draws),
        }
    }

    /// Prediction sets and intervals.
    pub(super) fn regions(&self, answers: &Answers, context: &RowContext) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some(rule) = &self.coverage else { return Ok((None, None)) };
        let regions = rule.answer(answers, &context.coverage_groups)?;
        Ok(match rule.regions {
            Regions::Sets(_) => (Some(regions), None),
            Regions::Intervals(_) => (None, Some(regions)),
        })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "decisions": self.decisions.as_ref().map(DecisionRule::to_json),
            "coverage": self.coverage.as_ref().map(CoverageRule::to_json),
        })
    }

    /// Reads what [`Safeguards::to_json`] wrote; none if it is damaged or of another model.
    pub(super) fn from_json(value: &Value, schema: &Schema, labels: &TargetLabels) -> Option<Safeguards> {
        let coverage = match &value["coverage"] {
            Value::Null => None,
            written => Some(CoverageRule::from_json(written, labels)?),
        };
        let decisions = match &value["decisions"] {
            Value::Null => None,
            written => Some(DecisionRule::from_json(written, labels)?),
        };
        let known = |grouping: &Grouping| schema.field(grouping.column()).is_ok_and(|field| field.role.is_needed());
        let safeguards = Safeguards { decisions, coverage };
        let known = safeguards.groupings().all(known);
        known.then_some(safeguards)
    }
}
