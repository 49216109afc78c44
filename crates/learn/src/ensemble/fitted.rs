//! Fitted ensembles of any kind.

use tove_tensor::{Tensor, TryOps};

use super::average::{average, average_probabilities, vote};
use crate::features::take_columns;
use crate::selection::in_parallel;
use crate::{About, Capabilities, Labels, LearnError, Model, Predict, Record, Restore, Result, Rows, restore};

/// One model of an ensemble.
pub(super) struct Member {
    pub model: Box<dyn Model>,
    /// The columns it uses; all if `None`.
    pub columns: Option<Vec<usize>>,
}

impl Member {
    pub(super) fn rows(&self, x: &Rows) -> Result<Rows> {
        match &self.columns {
            None => Ok(x.clone()),
            Some(columns) => take_columns(x, columns),
        }
    }
}

/// A fitted ensemble.
pub struct FittedEnsemble {
    pub(super) about: About,
    pub(super) members: Vec<Member>,
    pub(super) weights: Option<Vec<f64>>,
    /// Whether to use majority voting; otherwise probabilities are averaged if available.
    pub(super) hard: bool,
    pub(super) oob: Option<f64>,
}

/// The names an ensemble can have.
pub(super) const NAMES: [&str; 4] = ["BaggingRegressor", "BaggingClassifier", "VotingRegressor", "VotingClassifier"];

impl FittedEnsemble {
    /// The models.
    pub fn models(&self) -> Vec<&dyn Model> {
        self.members.iter().map(|member| &*member.model).collect()
    }

    /// The out-of-bag score: R² or accuracy; `None` unless requested.
    pub fn oob_score(&self) -> Option<f64> {
        self.oob
    }

    /// The predictions of each model.
    fn answers(&self, x: &Rows, ask: impl Fn(&dyn Model, &Rows) -> Result<Tensor> + Sync) -> Result<Vec<Tensor>> {
        let work = |i: usize| ask(&*self.members[i].model, &self.members[i].rows(x)?);
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
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.members.iter().map(|member| member.model.longest_sum()).max().unwrap_or(0)
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

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.extend(self.oob.map(|score| ("oob_score", Tensor::scalar(score))));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put("hard", self.hard);
        record.put("members", self.members.len());
        // The presence of weights and columns is stored separately, so that a damaged file is detected.
        record.put("weighted", self.weights.is_some());
        record.put("selected", self.members.iter().filter(|member| member.columns.is_some()).count());
        if let Some(weights) = &self.weights {
            record.put_tensor("weights", &Tensor::from_slice(weights));
        }
        if let Some(oob) = self.oob {
            record.put_real("oob", oob);
        }
        for (number, member) in self.members.iter().enumerate() {
            record.put_part(&format!("model.{number}"), member.model.record());
            if let Some(columns) = &member.columns {
                let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
                record.put_tensor(&format!("columns.{number}"), &Tensor::from_slice(&columns));
            }
        }
        record
    }
}

impl Restore for FittedEnsemble {
    fn restore(record: &Record) -> Result<FittedEnsemble> {
        let Some(name) = NAMES.into_iter().find(|name| *name == record.kind()) else {
            return Err(record.wrong("kind", "that of an ensemble"));
        };
        record.expect(name, 1)?;
        let width = record.count("width")?;
        let mut members = Vec::new();
        for number in 0..record.count("members")? {
            let model = restore(&record.part(&format!("model.{number}"))?)?; // an absent one ends the loop
            let inside = |column: i64| usize::try_from(column).ok().filter(|&column| column < width);
            let name = format!("columns.{number}");
            let columns: Option<Vec<usize>> = match record.tensor(&name) {
                Err(_) => None,
                Ok(_) => {
                    let list: Option<Vec<usize>> = record.integers(&name)?.into_iter().map(inside).collect();
                    Some(list.ok_or_else(|| record.wrong("columns", "a list of columns"))?)
                }
            };
            if model.width() != columns.as_ref().map_or(width, Vec::len) {
                return Err(record.wrong("width", "that of the models"));
            }
            members.push(Member { model, columns });
        }
        let base = if name.ends_with("Regressor") { Capabilities::REGRESSOR } else { Capabilities::CLASSIFIER };
        let hard = record.switch("hard")?;
        let each = || members.iter().map(|member| member.model.capabilities());
        if members.is_empty() || each().any(|own| !own.predicts_like(&base)) {
            return Err(record.wrong("members", "models that predict what the ensemble does"));
        }
        let soft = base.classifies() && (!hard || name == "BaggingClassifier");
        let (missing, sparse) = (each().all(|own| own.missing), each().all(|own| own.sparse));
        let settings = record.get("settings")?.clone();
        let former = Capabilities { missing, sparse, probabilities: soft, ..base };
        let capabilities = crate::registry::capabilities(name, &settings).unwrap_or(former);
        let about = About::with(name, capabilities, width, record.precision()?, settings).read_rest(record)?;
        let weights = record.tensor("weights").is_ok().then(|| record.vector("weights")).transpose()?;
        // Earlier versions did not write these two.
        if record.get("weighted").is_ok() && record.switch("weighted")? != weights.is_some() {
            return Err(record.wrong("weights", "there, as the record says"));
        }
        let selected = members.iter().filter(|member| member.columns.is_some()).count();
        if record.get("selected").is_ok() && record.count("selected")? != selected {
            return Err(record.wrong("columns", "there for every model, as the record says"));
        }
        if weights.as_ref().is_some_and(|weights| weights.len() != members.len()) {
            return Err(record.wrong("weights", "a number per model"));
        }
        Ok(FittedEnsemble { about, members, weights, hard, oob: record.real("oob").ok() })
    }
}
