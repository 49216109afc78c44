//! Transformers one after the other.
//!
//! ```
//! use tove_learn::{Apply, Chain, Imputer, StandardScaler, Transformer, Rows};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0], [f64::NAN], [3.0]]);
//! let chain = Chain::new().then("fill", Imputer::default()).then("scale", StandardScaler::default());
//! let fitted = chain.fit_any(&Rows::from(&x), None)?;
//! assert_eq!(fitted.transform(&x)?.at::<f64>(&[1, 0]), 0.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameter, Value};
use tove_tensor::Tensor;

use super::parts::{self, Named};
use crate::{Apply, Record, RestoreTransform, Result, Rows, Transform, Transformer, Tunable};

pub(super) const NAME: &str = "Chain";

/// Transformers of which each takes what the one before it gives.
#[derive(Clone, Default)]
pub struct Chain {
    pub(super) steps: Vec<Named>,
}

/// A fitted [`Chain`].
pub struct FittedChain {
    steps: Vec<(String, Box<dyn Transform>)>,
    width: usize,
}

impl Chain {
    /// No steps: the rows stay as they are.
    pub fn new() -> Chain {
        Chain::default()
    }

    /// Adds a step at the end.
    #[must_use]
    pub fn then(mut self, name: &str, step: impl Transformer + 'static) -> Chain {
        self.steps.push((name.to_owned(), step.duplicate()));
        self
    }

    /// Fits each step to what the steps before it give; returns the changed rows too.
    pub(super) fn fit_through(
        &self,
        x: &Rows,
        y: Option<&Tensor>,
        weights: Option<&Tensor>,
    ) -> Result<(FittedChain, Rows)> {
        let (width, mut x, mut steps) = (x.width(), x.clone(), Vec::with_capacity(self.steps.len()));
        for (name, step) in &self.steps {
            let fitted = step.fit_supervised_any(&x, y, weights)?;
            x = fitted.transform_any(&x)?;
            steps.push((name.clone(), fitted));
        }
        Ok((FittedChain { steps, width }, x))
    }
}

impl FittedChain {
    /// The fitted step of this name.
    pub fn step(&self, name: &str) -> Option<&dyn Transform> {
        self.steps.iter().find(|step| step.0 == name).map(|step| &*step.1)
    }

    /// Names of the steps in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.0.as_str())
    }
}

impl Tunable for Chain {
    fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
        parts::set_named(NAME, &mut self.steps, name, text)
    }

    fn values_any(&self) -> Vec<(String, Value)> {
        parts::values(&self.steps)
    }

    fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
        parts::describe(&self.steps)
    }

    fn validate_any(&self) -> Result<()> {
        parts::validate(NAME, &self.steps, None)
    }
}

impl Transformer for Chain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn takes_missing(&self) -> bool {
        self.steps.first().is_none_or(|step| step.1.takes_missing())
    }

    fn fit_any(&self, x: &Rows, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        self.fit_supervised_any(x, None, weights)
    }

    fn fit_supervised_any(&self, x: &Rows, y: Option<&Tensor>, weights: Option<&Tensor>) -> Result<Box<dyn Transform>> {
        self.validate_any()?;
        Ok(Box::new(self.fit_through(&x.tabular()?, y, weights)?.0))
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

impl Transform for FittedChain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn width(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.steps.last().map_or(self.width, |step| step.1.outputs())
    }

    fn takes_missing(&self) -> bool {
        self.steps.first().is_none_or(|step| step.1.takes_missing())
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        self.steps.iter().fold(inputs.to_vec(), |names, step| step.1.output_names(&names))
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        self.steps.iter().try_fold(x.clone(), |x, step| step.1.transform_any(&x))
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.steps.iter().rev().try_fold(x.clone(), |x, step| step.1.inverse_rows(&x))
    }

    fn record(&self) -> Record {
        let mut record = Record::new(NAME, 1);
        record.put("width", self.width);
        parts::write(&mut record, &self.steps);
        record
    }
}

impl RestoreTransform for FittedChain {
    fn restore(record: &Record) -> Result<FittedChain> {
        record.expect(NAME, 1)?;
        let (steps, width) = (parts::read(record)?, record.count("width")?);
        parts::check_widths(record, &steps)?;
        if steps.first().is_some_and(|step| step.1.width() != width) {
            return Err(record.wrong("width", "that of the first step"));
        }
        Ok(FittedChain { steps, width })
    }
}
