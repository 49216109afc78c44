//! Transformers and the estimator that learns from what they give.

use tove_optim::settings::{Hyperparameter, Value};
use tove_tensor::{DType, Tensor};

use super::chain::{Chain, FittedChain};
use super::parts;
use crate::{
    Abilities, About, Apply, Estimator, Model, Predict, Record, Restore, RestoreTransform, Result, Rows, Samples, Task,
    Transform, Transformer, Tunable, restore,
};

const NAME: &str = "Pipeline";

/// An estimator behind transformers. Steps run in the order in which they are added; weights reach those that know them.
#[derive(Clone)]
pub struct Pipeline {
    chain: Chain,
    last: String,
    estimator: Box<dyn Estimator>,
}

/// A fitted [`Pipeline`].
pub struct FittedPipeline {
    about: About,
    chain: FittedChain,
    last: String,
    model: Box<dyn Model>,
}

impl Pipeline {
    /// A pipeline that ends in an estimator, which is called by its name in small letters: `ridge.alpha`.
    pub fn new(estimator: impl Estimator + 'static) -> Pipeline {
        let last = estimator.name().to_ascii_lowercase();
        Pipeline { chain: Chain::new(), last, estimator: estimator.duplicate() }
    }

    /// Adds a transformer after those that are there, before the estimator.
    #[must_use]
    pub fn then(mut self, name: &str, step: impl Transformer + 'static) -> Pipeline {
        self.chain = self.chain.then(name, step);
        self
    }

    /// Calls the estimator otherwise in dotted names.
    #[must_use]
    pub fn named(mut self, name: &str) -> Pipeline {
        self.last = name.to_owned();
        self
    }

    /// Fits to samples; the typed face of [`Estimator::fit_any`].
    pub fn fit_samples(&self, samples: &Samples) -> Result<FittedPipeline> {
        self.validate_any()?;
        let (chain, x) = self.chain.fit_through(samples.x(), Some(samples.y()), samples.weights())?;
        let model = self.estimator.fit_any(&samples.with_x(x)?)?;
        let settings = self.values_any().into_iter().map(|(name, value)| (name, value.to_json())).collect();
        Ok(FittedPipeline::new(chain, self.last.clone(), model, samples.x().dtype(), settings))
    }
}

impl FittedPipeline {
    fn new(
        chain: FittedChain,
        last: String,
        model: Box<dyn Model>,
        dtype: DType,
        settings: serde_json::Value,
    ) -> FittedPipeline {
        let about = About::new(NAME, model.task(), chain.width(), dtype, settings);
        let about = about.classes(model.classes()).summary(model.summary().clone());
        FittedPipeline { about, chain, last, model }
    }

    /// The fitted transformers.
    pub fn chain(&self) -> &FittedChain {
        &self.chain
    }

    /// The fitted model at the end.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }
}

impl Tunable for Pipeline {
    fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
        match name.strip_prefix(self.last.as_str()).and_then(|rest| rest.strip_prefix('.')) {
            Some(inner) => self.estimator.set_any(inner, text),
            None if self.chain.steps.iter().any(|step| name.split('.').next() == Some(&step.0)) => {
                self.chain.set_any(name, text)
            }
            None => {
                let steps = self.chain.steps.iter().map(|step| step.0.clone());
                Err(parts::no_part(NAME, name, &steps.chain([self.last.clone()]).collect::<Vec<_>>()))
            }
        }
    }

    fn values_any(&self) -> Vec<(String, Value)> {
        let own = parts::dotted(&self.last, self.estimator.values_any());
        self.chain.values_any().into_iter().chain(own).collect()
    }

    fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
        let own = parts::dotted(&self.last, self.estimator.describe_any());
        self.chain.describe_any().into_iter().chain(own).collect()
    }

    fn validate_any(&self) -> Result<()> {
        parts::validate(NAME, &self.chain.steps, Some(&self.last))?;
        self.estimator.validate_any()
    }
}

impl Estimator for Pipeline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn task(&self) -> Task {
        self.estimator.task()
    }

    fn abilities(&self) -> Abilities {
        self.estimator.abilities()
    }

    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.fit_samples(samples)?))
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

impl Model for FittedPipeline {
    fn about(&self) -> &About {
        &self.about
    }

    fn takes_missing(&self) -> bool {
        self.chain.takes_missing()
    }

    fn longest_sum(&self) -> usize {
        self.model.longest_sum()
    }

    // The model checks what it is given: a transformer may have left gaps.

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.predict(self.chain.transform_any(x)?)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.decision_function(self.chain.transform_any(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model.predict_proba(self.chain.transform_any(x)?)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.model.coefficients()
    }

    fn record(&self) -> Record {
        let mut record = Record::new(NAME, 1);
        record.put("settings", self.settings());
        record.put("name", self.last.clone());
        record.put("single", self.dtype() == DType::F32);
        record.put_part("chain", self.chain.record());
        record.put_part("model", self.model.record());
        record
    }
}

impl Restore for FittedPipeline {
    fn restore(record: &Record) -> Result<FittedPipeline> {
        record.expect(NAME, 1)?;
        let chain = FittedChain::restore(&record.part("chain")?)?;
        let model = restore(&record.part("model")?)?;
        if chain.outputs() != model.width() {
            return Err(record.wrong("model", "of the width that the steps give"));
        }
        let (last, settings) = (record.text("name")?.to_owned(), record.get("settings")?.clone());
        Ok(FittedPipeline::new(chain, last, model, record.precision()?, settings))
    }
}
