//! Fitted stacks of estimators.

use tove_optim::settings::Setting;
use tove_tensor::Tensor;

use super::out_of_fold::{Columns, decision, predictions, probabilities};
use super::stacking::{StackMethod, StackingClassifier, StackingRegressor};
use crate::pipeline::concatenate_columns;
use crate::selection::in_parallel;
use crate::{About, Attribute, Field, Fitted, Model, Predict, Reading, Record, Result, Rows};

/// A fitted [`StackingClassifier`] or [`StackingRegressor`].
#[derive(Fitted)]
#[fitted(estimator = StackingClassifier, estimator = StackingRegressor, complete = FittedStacking::matched)]
pub struct FittedStacking {
    pub(super) about: About,
    #[fitted(stored = "names", shape = "members, features", hidden)]
    pub(super) members: Vec<(String, Box<dyn Model>)>,
    /// What each member is asked for, never auto.
    #[fitted(shape = "members", hidden)]
    pub(super) methods: Vec<StackMethod>,
    #[fitted(stored = "final", shape = "outputs", hidden)]
    pub(super) last: Box<dyn Model>,
    #[fitted(hidden)]
    pub(super) passthrough: bool,
}

impl Attribute for Vec<StackMethod> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, self.iter().map(|method| method.value().to_json()).collect::<Vec<_>>());
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<StackMethod>> {
        let names = <Vec<String> as Attribute>::read(field, reading)?;
        let methods: Option<Vec<StackMethod>> = names.iter().map(|name| StackMethod::parse(name)).collect();
        let methods = methods.filter(|methods| !methods.contains(&StackMethod::Auto));
        methods.ok_or_else(|| reading.record().wrong(field.name, "a method per estimator"))
    }
}

/// An answer of a base estimator, as features of the final one.
pub(super) fn ask(
    who: &'static str,
    method: StackMethod,
    model: &dyn Model,
    x: &Rows,
    classes: &[i64],
) -> Result<Columns> {
    match method {
        StackMethod::PredictProba => probabilities(model, x, classes),
        StackMethod::DecisionFunction => decision(who, model, x, classes),
        StackMethod::Predict | StackMethod::Auto => predictions(model, x, classes),
    }
}

/// Answers as features, followed by the original features if they are passed through.
pub(super) fn beside(answers: &[Columns], x: &Rows, passthrough: bool) -> Result<Rows> {
    let made = Rows::Dense(Columns::join(answers, x.len(), x.dtype())?);
    if passthrough { concatenate_columns(&[made, x.clone()], x.len()) } else { Ok(made) }
}

/// Columns that an answer has.
fn width_of(method: StackMethod, classes: usize) -> usize {
    if method == StackMethod::Predict || classes == 2 { 1 } else { classes }
}

impl FittedStacking {
    fn matched(self, record: &Record) -> Result<FittedStacking> {
        if self.members.iter().any(|member| !member.1.capabilities().predicts_like(&self.about.capabilities)) {
            return Err(record.wrong("names", "a list of estimators of the stack's kind"));
        }
        let classes = &self.about.classes;
        let made: usize = self.methods.iter().map(|&method| width_of(method, classes.len())).sum();
        let fits = self.last.width() == made + if self.passthrough { self.about.width } else { 0 };
        if fits && self.last.classes() == classes {
            return Ok(self);
        }
        Err(record.wrong("final", "an estimator of what the others predict"))
    }

    /// The base estimators with their names, fitted to all samples.
    pub fn estimators(&self) -> impl Iterator<Item = (&str, &dyn Model)> {
        self.members.iter().map(|(name, model)| (name.as_str(), &**model))
    }

    /// What each base estimator is asked for.
    pub fn stack_methods(&self) -> &[StackMethod] {
        &self.methods
    }

    /// The final estimator, fitted to the out-of-fold predictions.
    pub fn final_estimator(&self) -> &dyn Model {
        &*self.last
    }

    /// The features of the final estimator.
    fn meta(&self, x: &Rows) -> Result<Rows> {
        let work = |number: usize| {
            ask(self.about.name, self.methods[number], &*self.members[number].1, x, &self.about.classes)
        };
        let answers: Vec<Columns> = in_parallel(self.members.len(), work).into_iter().collect::<Result<_>>()?;
        beside(&answers, x, self.passthrough)
    }
}

impl Model for FittedStacking {
    crate::fitted_methods!();

    fn longest_sum(&self) -> usize {
        let members = self.members.iter().map(|member| member.1.longest_sum()).max().unwrap_or(0);
        members.max(self.last.longest_sum())
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last.predict(self.meta(x)?)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last.decision_function(self.meta(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last.predict_proba(self.meta(x)?)
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        self.meta(x)
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        let stem = self.about.name.to_ascii_lowercase();
        let mut names = Vec::with_capacity(self.outputs());
        for ((name, _), &method) in self.members.iter().zip(&self.methods) {
            match width_of(method, self.about.classes.len()) {
                1 => names.push(format!("{stem}_{name}")),
                width => names.extend((0..width).map(|class| format!("{stem}_{name}{class}"))),
            }
        }
        let input = |column: usize| inputs.get(column).cloned().unwrap_or_else(|| format!("x{column}"));
        names.extend((0..if self.passthrough { self.width() } else { 0 }).map(input));
        names
    }
}
