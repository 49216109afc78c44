//! Probabilities of a model of a table, calibrated on held-out rows.

use tove_data::table::Table;
use tove_learn::calibration::{CalibratedModel, CalibrationCheck, CalibrationMethod};
use tove_learn::{Model, Samples, restore};
use tove_tensor::{DType, Key};

use super::{Result, TabularError, TabularModel};

impl TabularModel {
    /// The model with calibrated probabilities: a map is fitted on a random half of the rows and checked on the other half. The
    /// check is recorded in the model. Prediction sets and group thresholds are dropped, since they belong to
    /// the probabilities before.
    ///
    /// # Errors
    /// A regression; rows of fewer classes than the model has; a classifier with neither probabilities nor decision scores.
    pub fn calibrated(
        mut self,
        table: &Table,
        method: CalibrationMethod,
        seed: u64,
    ) -> Result<(TabularModel, CalibrationCheck)> {
        if self.classes().is_empty() {
            return Err(TabularError::plan(format!(
                "{} is a number; only the probabilities of a classification can be calibrated (`tove conformal` makes intervals)",
                self.target
            )));
        }
        let (kept, _) = table.drop_missing(&[&self.target])?;
        if kept.n_rows() < 4 {
            let problem = format!(
                "calibration needs at least 4 rows with a value of {}, and {} have one; give more rows",
                self.target,
                kept.n_rows()
            );
            return Err(TabularError::plan(problem));
        }
        let truth = self.labels.encode(kept.column(&self.target)?)?.to_dtype(DType::I64);
        let (rows, _) = self.rows(&kept)?;
        let samples = Samples::new(rows, &truth)?;
        // The inner model of one that is calibrated already takes the new map.
        let record = match self.model.record() {
            record if record.kind() == "CalibratedModel" || record.kind() == "HoldoutCalibration" => {
                record.part("model")?
            }
            record => record,
        };
        let order: Vec<usize> = Key::new(seed)
            .fold(9)
            .permutation(samples.len())
            .to_vec::<i64>()
            .into_iter()
            .map(|row| row as usize)
            .collect();
        let (mut first, mut second) = (order[..order.len() / 2].to_vec(), order[order.len() / 2..].to_vec());
        first.sort_unstable();
        second.sort_unstable();
        let model = CalibratedModel::fit(restore(&record)?, method, &samples.take(&first)?)?;
        let model = model.checked(&samples.take(&second)?, seed)?;
        let check = model.calibration().cloned().ok_or_else(|| TabularError::plan("no check was recorded"))?;
        self.model = TabularModel::batch_invariant(Box::new(model));
        self.safeguards = super::Safeguards::default();
        self.forget_groups()?;
        Ok((self, check))
    }
}
