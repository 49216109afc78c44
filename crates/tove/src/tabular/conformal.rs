//! Prediction sets and intervals for a model of a table.

use tove_data::table::{Column, Field, Role, Table};
use tove_tensor::{DType, Tensor};
use tove_trust::conformal::{SetScore, SplitConformalClassifier, SplitConformalRegressor, needed_size};

use super::{CoverageRule, Grouping, Regions, Result, TabularError, TabularModel};

/// How prediction sets or intervals are calibrated.
#[derive(Clone, Debug)]
pub struct CoveragePlan {
    alpha: f64,
    score: SetScore,
    by: Option<String>,
    by_class: bool,
}

impl CoveragePlan {
    /// Sets or intervals that miss the truth with probability at most `alpha`.
    pub fn new(alpha: f64) -> CoveragePlan {
        CoveragePlan { alpha, score: SetScore::Lac, by: None, by_class: false }
    }

    /// The score of classes; LAC by default, which has the smallest sets.
    #[must_use]
    pub fn score(self, score: SetScore) -> CoveragePlan {
        CoveragePlan { score, ..self }
    }

    /// Guarantees the coverage in each group of a column, which need not be a feature.
    #[must_use]
    pub fn by(self, column: impl Into<String>) -> CoveragePlan {
        CoveragePlan { by: Some(column.into()), ..self }
    }

    /// Guarantees the coverage of each true class.
    #[must_use]
    pub fn by_class(self) -> CoveragePlan {
        CoveragePlan { by_class: true, ..self }
    }
}

impl TabularModel {
    /// The model with prediction sets or intervals, calibrated on rows with the target that were not used for fitting.
    ///
    /// ```
    /// # use tove::tabular::{Candidate, CoveragePlan, Plan};
    /// # let rows: String = (0..60).map(|i| format!("{},{}\n", i % 20, (i % 20) * 2 + i % 3)).collect();
    /// # let (table, _) = tove::data::table::CsvOptions::new().read_bytes(format!("x,y\n{rows}").as_bytes())?;
    /// # let (train, held_out) = (table.slice(0..30), table.slice(30..60));
    /// let model = Plan::new("y").task(tove::data::table::TaskKind::Regression).folds(0)
    ///     .fit(&train, &[Candidate::named("LinearRegression")?], &mut |_| {})?.model;
    /// let model = model.with_coverage(&held_out, &CoveragePlan::new(0.1))?;
    /// let ends = model.predict(&held_out)?.intervals.unwrap();
    /// assert_eq!(ends.dims(), [30, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Too few rows for `alpha`, in all or in a group; a classifier without probabilities; `by_class` for a regression.
    pub fn with_coverage(mut self, table: &Table, plan: &CoveragePlan) -> Result<TabularModel> {
        self.safeguards.coverage = None;
        let (kept, _) = table.drop_missing(&[&self.target])?;
        if kept.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {}", self.target)));
        }
        let truth = self.labels.encode(kept.column(&self.target)?)?;
        let groups = match &plan.by {
            Some(column) => Some(self.grouped(column, &kept)?),
            None => None,
        };
        let (rows, _) = self.rows(&kept)?;
        let answers = self.ask(&rows)?;
        let codes = groups.as_ref().map(|(_, codes)| codes);
        if let Some((grouping, codes)) = &groups {
            enough(&format!("group {}", grouping.column()), grouping.names(), codes, plan.alpha)?;
        } else if plan.by_class && !self.classes().is_empty() {
            enough(&format!("class {}", self.target), self.classes(), &truth, plan.alpha)?;
        }
        let regions = if self.classes().is_empty() {
            if plan.by_class {
                return Err(TabularError::plan("a regression has no classes to guarantee the coverage of"));
            }
            let plan = SplitConformalRegressor::new(plan.alpha);
            Regions::Intervals(match codes {
                Some(codes) => plan.fit_by_group(&answers.values, &truth, codes)?,
                None => plan.fit(&answers.values, &truth)?,
            })
        } else {
            let Some(probabilities) = &answers.probabilities else {
                let name = self.model.name();
                let problem = format!(
                    "prediction sets need probabilities, which {name} does not give; calibrate it first, or choose a model with \
                     probabilities"
                );
                return Err(TabularError::plan(problem));
            };
            if self.model.classes().len() != self.classes().len() {
                let (seen, all) = (self.model.classes().len(), self.classes().len());
                let problem =
                    format!("the model was fitted on rows of {seen} of the {all} classes; fit it on rows of all");
                return Err(TabularError::plan(problem));
            }
            let (truth, by_class) = (truth.to_dtype(DType::I64), plan.by_class);
            let plan = SplitConformalClassifier::new(plan.alpha).score(plan.score);
            Regions::Sets(match codes {
                Some(codes) => plan.fit_by_group(probabilities, &truth, codes)?,
                None if by_class => plan.fit_by_class(probabilities, &truth)?,
                None => plan.fit(probabilities, &truth)?,
            })
        };
        self.safeguards.coverage = Some(CoverageRule { groups: groups.map(|(grouping, _)| grouping), regions });
        self.forget_groups()?;
        Ok(self)
    }

    /// Rows to predict need no longer have a column of groups that nothing uses any more.
    pub(super) fn forget_groups(&mut self) -> Result<()> {
        let used = self.safeguards.groupings().map(|grouping| grouping.column().to_owned()).collect::<Vec<String>>();
        let left = self.schema.with(Role::Group).filter(|name| !used.iter().any(|used| used == name));
        for name in left.map(str::to_owned).collect::<Vec<String>>() {
            self.schema = self.schema.clone().with_role(&name, Role::Dropped)?;
        }
        Ok(())
    }

    /// The groups of a column and the group of every row. The column becomes one that rows must have; rows without a value are refused.
    pub(super) fn grouped(&mut self, name: &str, table: &Table) -> Result<(Grouping, Tensor)> {
        if name == self.target {
            let problem = format!("{name} is the target; its values are not known for new rows");
            return Err(TabularError::plan(problem));
        }
        let column = table.column(name)?;
        let grouping = Grouping::new(name, column)?;
        let codes: Vec<i64> = grouping.codes(column).into_iter().flatten().map(|code| code as i64).collect();
        if codes.len() < column.len() {
            let missing = column.len() - codes.len();
            let problem = format!("{missing} rows have no value of {name}; fill them in or leave those rows out");
            return Err(TabularError::plan(problem));
        }
        let schema = self.schema.clone();
        self.schema = match schema.field(name) {
            Ok(field) if field.role.is_needed() => schema,
            Ok(_) => schema.with_role(name, Role::Group)?,
            Err(_) => schema.with_field(field_of(name, column))?,
        };
        Ok((grouping, Tensor::from(codes)))
    }
}

/// Checks that every group has the rows that its own guarantee needs.
fn enough(what: &str, names: &[String], codes: &Tensor, alpha: f64) -> Result<()> {
    let (needed, codes) = (needed_size(alpha)?, codes.to_dtype(DType::I64).to_vec::<i64>());
    for (group, name) in names.iter().enumerate() {
        let rows = codes.iter().filter(|code| **code == group as i64).count();
        if rows < needed {
            let problem = format!(
                "the {what} = {name} has {rows} rows, but alpha = {alpha} needs at least {needed} in each; give more rows, merge small \
                 groups, or choose a larger alpha"
            );
            return Err(TabularError::plan(problem));
        }
    }
    Ok(())
}

/// A column of groups that the model does not see.
fn field_of(name: &str, column: &Column) -> Field {
    Field {
        name: name.to_owned(),
        kind: column.kind(),
        role: Role::Group,
        categories: match column {
            Column::Categorical(values) => Some(values.categories().to_vec()),
            _ => None,
        },
        unit: None,
        format: None,
        typical: None,
    }
}
