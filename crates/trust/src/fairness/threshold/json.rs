//! Thresholds as JSON.

use serde_json::{Value, json};

use super::{FittedThresholdOptimizer, GroupRule, ParityConstraint, ThresholdObjective, ThresholdOptimizer};
use crate::Result;
use crate::fairness::json::Reader;

const KIND: &str = "ThresholdOptimizer";
const VERSION: u64 = 1;

impl FittedThresholdOptimizer {
    /// As JSON: kind, version, settings and one rule per group.
    pub fn to_json(&self) -> Value {
        let objective = match self.settings.objective {
            ThresholdObjective::Accuracy => json!({"name": "accuracy"}),
            ThresholdObjective::BalancedAccuracy => json!({"name": "balanced_accuracy"}),
            ThresholdObjective::Cost { false_positive, false_negative } => {
                json!({"name": "cost", "false_positive": false_positive, "false_negative": false_negative})
            }
        };
        let rule = |rule: &GroupRule| {
            json!({
                "group": rule.group, "always": rule.always,
                "probabilities": rule.steps.iter().map(|step| step.0).collect::<Vec<f64>>(),
                "thresholds": rule.steps.iter().map(|step| step.1).collect::<Vec<f64>>(),
                "selection_rate": rule.selection_rate, "true_positive_rate": rule.true_positive_rate,
                "false_positive_rate": rule.false_positive_rate, "base_rate": rule.base_rate, "weight": rule.weight,
            })
        };
        json!({
            "kind": KIND, "version": VERSION, "constraint": self.settings.constraint.name(), "objective": objective,
            "groups": self.rules.iter().map(rule).collect::<Vec<Value>>(),
        })
    }

    /// Reads what [`FittedThresholdOptimizer::to_json`] wrote.
    ///
    /// # Errors
    /// Another kind, a newer version, missing or invalid values.
    pub fn from_json(value: &Value) -> Result<FittedThresholdOptimizer> {
        let reader = Reader::open(KIND, VERSION, value)?;
        let text = reader.text("constraint")?;
        let constraint = ParityConstraint::from_name(text);
        let constraint = constraint.ok_or_else(|| reader.wrong("constraint", "the name of a constraint"))?;
        let objective = reader.part("objective")?;
        let objective = match objective.text("name")? {
            "accuracy" => ThresholdObjective::Accuracy,
            "balanced_accuracy" => ThresholdObjective::BalancedAccuracy,
            "cost" => ThresholdObjective::Cost {
                false_positive: objective.at_least("false_positive", 0.0)?,
                false_negative: objective.at_least("false_negative", 0.0)?,
            },
            _ => return Err(reader.wrong("objective", "accuracy, balanced_accuracy or cost")),
        };
        let rules: Vec<GroupRule> = reader.parts("groups")?.iter().map(rule).collect::<Result<_>>()?;
        if rules.len() < 2 || rules.windows(2).any(|pair| pair[0].group >= pair[1].group) {
            return Err(reader.wrong("groups", "a list of at least two groups in ascending order"));
        }
        Ok(FittedThresholdOptimizer::new(ThresholdOptimizer { constraint, objective }, rules))
    }
}

fn rule(reader: &Reader<'_>) -> Result<GroupRule> {
    let (probabilities, thresholds) = (reader.numbers("probabilities")?, reader.numbers("thresholds")?);
    let always = reader.probability("always")?;
    let valid = probabilities.iter().all(|p| (0.0..=1.0).contains(p));
    if !valid || probabilities.len() != thresholds.len() || always + probabilities.iter().sum::<f64>() > 1.0 + 1e-9 {
        return Err(reader.wrong("probabilities", "one probability per threshold, with a sum of at most 1"));
    }
    Ok(GroupRule {
        group: reader.integer("group")?,
        always,
        steps: probabilities.into_iter().zip(thresholds).collect(),
        selection_rate: reader.probability("selection_rate")?,
        true_positive_rate: reader.probability("true_positive_rate")?,
        false_positive_rate: reader.probability("false_positive_rate")?,
        base_rate: reader.probability("base_rate")?,
        weight: reader.at_least("weight", 0.0)?,
    })
}
