//! How to fit to a table.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tove_data::table::encode::Choices;
use tove_data::table::{Encoding, NumberFormat, Role, Schema, Table, TaskKind};
use tove_data::{Problem, Remedy};
use tove_learn::selection::Scorer;
use tove_tensor::Tensor;

use super::{ClassWeights, Result, TabularError};

/// How rows are divided into training and test rows, in the split and in the folds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Division {
    /// Drawn at random; classes keep their shares.
    #[default]
    Random,
    /// By their order, for tables in the order of time: the last rows are the test rows, and every fold trains on the rows before it.
    InOrder,
    /// Rows with the same value of this column stay together; the model does not see the column.
    Groups(String),
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Division::Random => f.write_str("at random"),
            Division::InOrder => f.write_str("in order"),
            Division::Groups(column) => write!(f, "by groups of {column}"),
        }
    }
}

/// How to fit to a table: what to predict, from which columns, and how to evaluate it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) target: String,
    pub(super) kind: Option<TaskKind>,
    pub(super) roles: Vec<(String, Role)>,
    pub(super) formats: Vec<(String, NumberFormat)>,
    pub(super) test_size: f64,
    pub(super) folds: usize,
    pub(super) seed: u64,
    pub(super) encoding: Choices,
    pub(super) budget: Option<Duration>,
    pub(super) class_weights: Option<ClassWeights>,
    pub(super) division: Division,
    pub(super) scorer: Option<Scorer>,
    pub(super) stop: Option<Arc<AtomicBool>>,
}

impl Plan {
    /// Predict this column: a quarter of the rows set aside, five folds, numbers scaled to mean 0 and variance 1.
    pub fn new(target: impl Into<String>) -> Plan {
        Plan {
            target: target.into(),
            kind: None,
            roles: Vec::new(),
            formats: Vec::new(),
            test_size: 0.25,
            folds: 5,
            seed: 0,
            encoding: Choices::from(Plan::usual_encoding()),
            budget: None,
            class_weights: None,
            division: Division::Random,
            scorer: None,
            stop: None,
        }
    }

    /// How columns become numbers unless the plan is told otherwise.
    pub fn usual_encoding() -> Encoding {
        Encoding { scale: true, ..Encoding::default() }
    }

    /// The plan with numbers as they are, if it is the usual one, which standardizes them.
    pub(super) fn unscaled(&self) -> Option<Plan> {
        let usual = self.encoding == Choices::from(Plan::usual_encoding());
        usual.then(|| self.clone().encoding(Encoding { scale: false, ..Plan::usual_encoding() }))
    }

    /// Overrides what the target's values propose.
    #[must_use]
    pub fn task(self, kind: TaskKind) -> Plan {
        Plan { kind: Some(kind), ..self }
    }

    /// Gives a column another role than that of a feature.
    #[must_use]
    pub fn role(mut self, column: impl Into<String>, role: Role) -> Plan {
        self.roles.push((column.into(), role));
        self
    }

    /// How the numbers of a column are written in text files, which the model then reads in the same way.
    #[must_use]
    pub fn number_format(mut self, column: impl Into<String>, format: NumberFormat) -> Plan {
        self.formats.push((column.into(), format));
        self
    }

    /// The share of rows set aside for the judgement.
    #[must_use]
    pub fn test_size(self, test_size: f64) -> Plan {
        Plan { test_size, ..self }
    }

    /// Folds of the cross-validation; 0 leaves it out where there is nothing to choose.
    #[must_use]
    pub fn folds(self, folds: usize) -> Plan {
        Plan { folds, ..self }
    }

    /// The metric that decides between models and stands first among the scores: accuracy or R² unless given.
    #[must_use]
    pub fn scorer(self, scorer: Scorer) -> Plan {
        Plan { scorer: Some(scorer), ..self }
    }

    /// The seed of the split and the folds.
    #[must_use]
    pub fn seed(self, seed: u64) -> Plan {
        Plan { seed, ..self }
    }

    /// How columns become numbers: an [`Encoding`] for all, or [`Choices`] with exceptions.
    #[must_use]
    pub fn encoding(self, encoding: impl Into<Choices>) -> Plan {
        Plan { encoding: encoding.into(), ..self }
    }

    /// Time from the table to the fitted model; reading the table from its file comes before it and is not counted. It holds to
    /// within a second, as long as a single step that cannot be ended, a decomposition for example, takes no longer than fits to
    /// fewer rows let expect. Every candidate gets its share of it: fits are made to fewer rows, and ended when
    /// their time is up. Without a budget all candidates are compared to the end.
    #[must_use]
    pub fn budget(self, budget: Duration) -> Plan {
        Plan { budget: Some(budget), ..self }
    }

    /// How much classes count at fitting.
    #[must_use]
    pub fn class_weights(self, weights: ClassWeights) -> Plan {
        Plan { class_weights: Some(weights), ..self }
    }

    /// How rows are divided into training and test rows.
    #[must_use]
    pub fn division(self, division: Division) -> Plan {
        Plan { division, ..self }
    }

    /// A flag that ends the comparison; the best candidate so far is then evaluated as it was fitted to the last fold. With
    /// [`interrupt_on`](crate::optim::interrupt_on) the fit under way ends too, after its present iteration.
    #[must_use]
    pub fn stop(self, flag: Arc<AtomicBool>) -> Plan {
        Plan { stop: Some(flag), ..self }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The roles of the table's columns.
    pub fn schema(&self, table: &Table) -> Result<Schema> {
        let mut schema = Schema::of(table).with_role(&self.target, Role::Target)?;
        let group = match &self.division {
            Division::Groups(column) => Some((column.clone(), Role::Id)),
            _ => None,
        };
        for (column, role) in group.iter().chain(&self.roles) {
            if *column == self.target {
                return Err(TabularError::plan(format!("the target {column} cannot have another role")));
            }
            schema = schema.with_role(column, *role)?;
        }
        for (column, format) in &self.formats {
            schema = schema.with_format(column, *format)?;
        }
        for column in self.encoding.exceptions() {
            schema.field(column)?;
        }
        Ok(schema)
    }

    /// That the plan can be carried out with these columns.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        if !(self.test_size > 0.0 && self.test_size < 1.0) {
            let problem = format!("a test size of {}; give a share between 0 and 1", self.test_size);
            return Err(TabularError::plan(problem));
        }
        if schema.with(Role::Feature).next().is_none() {
            return Err(TabularError::plan(Problem::new("no column is left to learn from").remedy(Remedy::DropFewer)));
        }
        Ok(())
    }

    /// That some row of each part has a weight above 0.
    pub(super) fn check_parts(&self, weights: &Tensor, parts: [(&str, &Vec<usize>); 2]) -> Result<()> {
        let weights = weights.to_f64_vec();
        for (what, rows) in parts {
            if rows.iter().all(|&row| weights[row] == 0.0) {
                let problem = format!("the weights of all {} {what} rows are 0", rows.len());
                return Err(TabularError::plan(format!("{problem}; give some rows a weight above 0")));
            }
        }
        Ok(())
    }
}
