//! Fitted ensembles of any kind.

use tove_optim::settings::Named;
use tove_tensor::{Tensor, TryOps};

use super::average::{average, average_probabilities, vote};
use super::{BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor};
use crate::features::take_columns;
use crate::selection::in_parallel;
use crate::{About, Capabilities, Fitted, Labels, LearnError, Model, Predict, Record, Result, Rows};

/// Models that answer together.
#[derive(Fitted)]
#[fitted(estimator = BaggingRegressor, estimator = BaggingClassifier, estimator = VotingRegressor, estimator = VotingClassifier)]
#[fitted(complete = FittedEnsemble::matched)]
pub struct FittedEnsemble {
    pub(super) about: About,
    #[fitted(shape = "members", hidden)]
    pub(super) members: Vec<Box<dyn Model>>,
    /// The columns that each model looks at; all without it.
    #[fitted(shape = "members, *", hidden)]
    pub(super) columns: Option<Vec<Vec<usize>>>,
    #[fitted(shape = "members", hidden)]
    pub(super) weights: Option<Vec<f64>>,
    /// Whether classes are voted on; otherwise probabilities are averaged where there are any.
    #[fitted(hidden)]
    pub(super) hard: bool,
    /// The score on samples that models did not see: R² or accuracy; none unless asked for.
    #[fitted(stored = "oob", nonfinite)]
    pub(super) oob_score: Option<f64>,
}

/// The rows as a model with these columns takes them.
pub(super) fn seen(x: &Rows, columns: Option<&Vec<usize>>) -> Result<Rows> {
    columns.map_or_else(|| Ok(x.clone()), |columns| take_columns(x, columns))
}

impl FittedEnsemble {
    /// The models.
    pub fn models(&self) -> Vec<&dyn Model> {
        self.members.iter().map(|model| &**model).collect()
    }

    /// That the models fit the ensemble.
    fn matched(mut self, record: &Record) -> Result<FittedEnsemble> {
        let columns = |place: usize| self.columns.as_ref().map_or(self.about.width, |columns| columns[place].len());
        if self.members.iter().enumerate().any(|(place, model)| model.width() != columns(place)) {
            return Err(record.wrong("width", "that of the models"));
        }
        let name = self.about.name;
        let base = if name.ends_with("Regressor") { Capabilities::REGRESSOR } else { Capabilities::CLASSIFIER };
        let each = || self.members.iter().map(|model| model.capabilities());
        if each().any(|own| !own.predicts_like(&base)) {
            return Err(record.wrong("members", "models that predict what the ensemble does"));
        }
        // Settings of former versions do not say what the ensemble can do.
        if crate::registry::capabilities(name, &self.about.settings).is_none() {
            let probabilities = base.classifies() && (!self.hard || name == BaggingClassifier::NAME);
            let (missing, sparse) = (each().all(|own| own.missing), each().all(|own| own.sparse));
            self.about.capabilities = Capabilities { missing, sparse, probabilities, ..base };
        }
        Ok(self)
    }

    /// The predictions of each model.
    fn answers(&self, x: &Rows, ask: impl Fn(&dyn Model, &Rows) -> Result<Tensor> + Sync) -> Result<Vec<Tensor>> {
        let columns = |i: usize| self.columns.as_ref().map(|columns| &columns[i]);
        let work = |i: usize| ask(&*self.members[i], &seen(x, columns(i))?);
        in_parallel(self.members.len(), work).into_iter().collect()
    }

    /// The probabilities of a model, aligned with the classes of the ensemble: a bootstrap sample may lack a class.
    pub(super) fn spread(classes: &[i64], model: &dyn Model, x: &Rows, hard: bool) -> Result<Tensor> {
        let own = model.classes();
        let found = if hard { Err(()) } else { model.proba_rows(x).map_err(|_| ()) };
        let found = match found {
            Ok(found) if own == classes => return Ok(found),
            Ok(found) => found,
            Err(()) => Labels::of("ensemble", &model.predict(x)?).map(|labels| {
                let m = own.len();
                let index = |code: usize| own.binary_search(&labels.classes()[code]).unwrap_or(0);
                let mut rows = vec![0.0f64; labels.codes().len() * m];
                labels.codes().iter().enumerate().for_each(|(row, &code)| rows[row * m + index(code)] = 1.0);
                Tensor::from_vec(rows, [labels.codes().len(), m]).to_dtype(model.dtype())
            })?,
        };
        if own == classes {
            return Ok(found);
        }
        let (n, m, dtype) = (found.dims()[0], classes.len(), found.dtype());
        let mut rows = vec![0.0; n * m];
        for (row, values) in found.to_f64_vec().chunks(own.len()).enumerate() {
            for (class, value) in own.iter().zip(values) {
                if let Ok(index) = classes.binary_search(class) {
                    rows[row * m + index] = *value;
                }
            }
        }
        Ok(Tensor::try_from_vec(rows, [n, m])?.to_dtype(dtype))
    }
}

impl Model for FittedEnsemble {
    crate::fitted_methods!();

    fn longest_sum(&self) -> usize {
        self.members.iter().map(|model| model.longest_sum()).max().unwrap_or(0)
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let weights = self.weights.as_deref();
        if !self.capabilities().classifies() {
            return average(&self.answers(x, |model, x| model.predict(x))?, weights);
        }
        if self.hard {
            return vote(&self.answers(x, |model, x| model.predict(x))?, weights);
        }
        let best = self.proba_rows(x)?.try_argmax(1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        if !self.capabilities().probabilities {
            let fix = "use `predict`, or soft voting of classifiers";
            return Err(LearnError::unsupported(self.name(), "does not provide probabilities", fix));
        }
        let spread = |model: &dyn Model, x: &Rows| FittedEnsemble::spread(self.classes(), model, x, self.hard);
        average_probabilities(&self.answers(x, spread)?, self.weights.as_deref())
    }
}
