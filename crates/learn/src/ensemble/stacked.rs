//! Fitted stacking ensembles.

use tove_optim::settings::{Named, Setting};
use tove_tensor::Tensor;

use super::out_of_fold::{Columns, decision, predictions, probabilities};
use super::stacking::{StackMethod, StackingClassifier, StackingRegressor};
use crate::pipeline::concatenate_columns;
use crate::selection::in_parallel;
use crate::{About, Estimator, Model, Predict, Record, Restore, Result, Rows, restore};

/// A fitted [`StackingClassifier`] or [`StackingRegressor`].
pub struct FittedStacking {
    pub(super) about: About,
    pub(super) members: Vec<(String, Box<dyn Model>)>,
    /// The prediction method of each member, never auto.
    pub(super) methods: Vec<StackMethod>,
    pub(super) last: Box<dyn Model>,
    pub(super) passthrough: bool,
}

/// The output of a base estimator, as features of the final one.
pub(super) fn stack_output(
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

/// Predictions as features, followed by the original features if they are passed through.
pub(super) fn meta_features(answers: &[Columns], x: &Rows, passthrough: bool) -> Result<Rows> {
    let made = Rows::Dense(Columns::join(answers, x.len(), x.dtype())?);
    if passthrough { concatenate_columns(&[made, x.clone()], x.len()) } else { Ok(made) }
}

/// Number of columns of a prediction.
fn width_of(method: StackMethod, classes: usize) -> usize {
    if method == StackMethod::Predict || classes == 2 { 1 } else { classes }
}

impl FittedStacking {
    /// The base estimators with their names, fitted to all samples.
    pub fn estimators(&self) -> impl Iterator<Item = (&str, &dyn Model)> {
        self.members.iter().map(|(name, model)| (name.as_str(), &**model))
    }

    /// The prediction method of each base estimator.
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
            stack_output(self.about.name, self.methods[number], &*self.members[number].1, x, &self.about.classes)
        };
        let answers: Vec<Columns> = in_parallel(self.members.len(), work).into_iter().collect::<Result<_>>()?;
        meta_features(&answers, x, self.passthrough)
    }
}

impl Model for FittedStacking {
    fn about(&self) -> &About {
        &self.about
    }

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

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put("passthrough", self.passthrough);
        record.put("names", self.members.iter().map(|member| member.0.clone()).collect::<Vec<_>>());
        record.put("methods", self.methods.iter().map(|method| method.value().to_json()).collect::<Vec<_>>());
        for (number, (_, model)) in self.members.iter().enumerate() {
            record.put_part(&format!("model.{number}"), model.record());
        }
        record.put_part("final", self.last.record());
        record
    }
}

impl Restore for FittedStacking {
    fn restore(record: &Record) -> Result<FittedStacking> {
        let stack: Box<dyn Estimator> = match record.kind() == StackingRegressor::NAME {
            true => Box::new(record.settings::<StackingRegressor>(StackingRegressor::NAME, 1)?),
            false => Box::new(record.settings::<StackingClassifier>(StackingClassifier::NAME, 1)?),
        };
        let list = |name: &str| -> Result<Vec<String>> {
            let texts = record.get(name)?.as_array().into_iter().flatten().map(|text| Some(text.as_str()?.to_owned()));
            texts.collect::<Option<Vec<String>>>().ok_or_else(|| record.wrong(name, "a list of names"))
        };
        let (width, passthrough) = (record.count("width")?, record.switch("passthrough")?);
        let about = About::new(&*stack, width, record.precision()?).read_rest(record)?;
        let (names, classes) = (list("names")?, about.classes.len());
        let methods: Option<Vec<StackMethod>> = list("methods")?.iter().map(|name| StackMethod::parse(name)).collect();
        let methods = methods.filter(|methods| methods.len() == names.len() && !methods.contains(&StackMethod::Auto));
        let methods = methods.ok_or_else(|| record.wrong("methods", "a method per estimator"))?;
        let mut members = Vec::new();
        for (number, name) in names.into_iter().enumerate() {
            let model = restore(&record.part(&format!("model.{number}"))?)?;
            if model.width() != width || !model.capabilities().predicts_like(&about.capabilities) {
                return Err(record.wrong("names", "a list of estimators of the stack's width and kind"));
            }
            members.push((name, model));
        }
        let last = restore(&record.part("final")?)?;
        let made: usize = methods.iter().map(|&method| width_of(method, classes)).sum();
        let fits = last.width() == made + if passthrough { width } else { 0 };
        if members.is_empty() || !fits || last.classes() != about.classes {
            return Err(record.wrong("final", "an estimator of what the others predict"));
        }
        let about = about.outputs(last.width());
        Ok(FittedStacking { about, members, methods, last, passthrough })
    }
}
