//! Decisions of a model of a table that treat groups alike.

use tove_data::table::Table;
use tove_tensor::{DType, Tensor};
use tove_trust::fairness::ThresholdOptimizer;

use super::{DecisionRule, Result, TabularError, TabularModel};

impl TabularModel {
    /// The model with a decision threshold for each group of a column, chosen on rows with the target that were not used for
    /// fitting. The column need not be a feature; rows to predict must have it.
    ///
    /// # Errors
    /// Not two classes with probabilities; a column of one value; a group without rows of either class.
    pub fn with_fair_decisions(
        mut self,
        table: &Table,
        column: &str,
        optimizer: &ThresholdOptimizer,
    ) -> Result<TabularModel> {
        self.safeguards.decisions = None;
        if self.classes().len() != 2 || self.model.classes().len() != 2 {
            return Err(TabularError::plan(format!(
                "decisions by groups need two classes, but {} has {}",
                self.target,
                self.classes().len()
            )));
        }
        let (kept, _) = table.drop_missing(&[&self.target])?;
        if kept.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {}", self.target)));
        }
        let truth = self.labels.encode(kept.column(&self.target)?)?.to_dtype(DType::I64);
        let (groups, codes) = self.grouped(column, &kept)?;
        for (group, name) in groups.names().iter().enumerate() {
            let own = codes.to_vec::<i64>().into_iter().zip(truth.to_vec::<i64>()).filter(|row| row.0 == group as i64);
            let (all, second) = own.fold((0, 0), |(all, second), row| (all + 1, second + row.1));
            let lacking = if second == 0 { 1 } else { 0 };
            if second == 0 || second == all {
                let problem = format!(
                    "no row of the group {column} = {name} has {} = {}; every group needs rows of both classes, so give more rows, or \
                     merge small groups",
                    self.target,
                    self.classes()[lacking]
                );
                return Err(TabularError::plan(problem));
            }
        }
        let (rows, _) = self.rows(&kept)?;
        let Some(probabilities) = self.ask(&rows)?.probabilities else {
            let name = self.model.name();
            return Err(TabularError::plan(format!(
                "decisions by groups need probabilities, which {name} does not give; calibrate it first"
            )));
        };
        let scores: Vec<f64> = probabilities.to_f64_vec().chunks(2).map(|row| row[1]).collect();
        let thresholds = optimizer.fit(&Tensor::from(scores), &truth, &codes, None)?;
        self.safeguards.decisions = Some(DecisionRule { groups, thresholds });
        self.forget_groups()?;
        Ok(self)
    }
}
