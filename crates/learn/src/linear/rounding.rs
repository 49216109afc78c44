//! Regress and round: a naive classifier that shows why classes are not numbers.
//!
//! The m classes in ascending order are encoded as 1 … m, least squares predicts a number, and that is rounded and held within
//! 1 … m. The encoding claims that class 2 lies between 1 and 3, so that another naming of the same classes gives another
//! accuracy; softmax regression does not care. A baseline, no more.
//!
//! ```
//! use tove_learn::{Fit, Predict, linear::RegressAndRound};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([10i64, 20, 30]));
//! let model = RegressAndRound::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[-9.0], [1.2], [99.0]]))?.to_vec::<i64>(), [10, 20, 30]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::least_squares::{FittedLinearRegression, LinearRegression};
use crate::logistic::linear::undecided;
use crate::{
    About, Algorithm, Attribute, Capabilities, Field, Fit, Fitted, Labels, Model, Reading, Record, Result, Rows,
    Samples,
};

/// Classification by rounding a linear regression of the classes' numbers.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct RegressAndRound {
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// A fitted [`RegressAndRound`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = RegressAndRound, complete = FittedRegressAndRound::matched)]
pub struct FittedRegressAndRound {
    about: About,
    /// The regression of the numbers 1 … m.
    regression: FittedLinearRegression,
}

impl Attribute for FittedLinearRegression {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_part(name, self.record());
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<FittedLinearRegression> {
        let regression = <FittedLinearRegression as crate::Restore>::restore(&reading.record().part(field.name)?)?;
        reading.agree(field.name, "features", regression.width())?;
        reading.check_precision(field.name, regression.dtype())?;
        Ok(regression)
    }
}

impl FittedRegressAndRound {
    fn matched(self, record: &Record) -> Result<FittedRegressAndRound> {
        if self.about.classes.len() > 1 && self.regression.coef().rank() == 1 {
            return Ok(self);
        }
        Err(record.wrong("classes", "a list of two or more classes with one regression"))
    }
}

impl Algorithm for RegressAndRound {
    type Fitted = FittedRegressAndRound;
    const CAPABILITIES: Capabilities = Capabilities { weights: true, sparse: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedRegressAndRound> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let codes: Vec<f64> = labels.codes().iter().map(|&code| (code + 1) as f64).collect();
        let numbers = samples.with_y(&Tensor::from_slice(&codes))?;
        let regression = LinearRegression::default().fit_intercept(self.fit_intercept).fit_samples(&numbers)?;
        let about = About::of(self, samples).classes(labels.classes()).summary(regression.summary().clone());
        Ok(FittedRegressAndRound { about, regression })
    }
}

impl Model for FittedRegressAndRound {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let last = self.classes().len() as f64;
        let numbers = self.regression.predict_rows(x)?.to_f64_vec();
        let code = |(row, number): (usize, &f64)| match number.is_nan() {
            true => Err(undecided(RegressAndRound::NAME, row)),
            false => Ok(number.round().clamp(1.0, last) as usize - 1),
        };
        let codes: Result<Vec<usize>> = numbers.iter().enumerate().map(code).collect();
        Ok(Labels::decode(self.classes(), codes?))
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.regression.coefficients()
    }
}
