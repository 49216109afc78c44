//! Regress and round: a naive classifier that shows why classes should not be encoded as numbers.
//!
//! The m classes in ascending order are encoded as 1 … m. Least squares predicts a number, which is rounded and clamped
//! to 1 … m. The encoding implies that class 2 lies between 1 and 3, so renaming the classes changes the accuracy;
//! softmax regression is not affected. Only useful as a baseline.
//!
//! ```
//! use tove_learn::{Fit, Predict};
//! use tove_lessons::regress_and_round::RegressAndRound;
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([10i64, 20, 30]));
//! let model = RegressAndRound::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[-9.0], [1.2], [99.0]]))?.to_vec::<i64>(), [10, 20, 30]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use tove_learn::linear::{FittedLinearRegression, LinearRegression};
use tove_learn::{
    About, Algorithm, Capabilities, Fit, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples,
};

/// Classification by rounding a linear regression of the class codes.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct RegressAndRound {
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
}

/// A fitted [`RegressAndRound`].
#[derive(Clone, Debug)]
pub struct FittedRegressAndRound {
    about: About,
    regression: FittedLinearRegression,
}

impl FittedRegressAndRound {
    /// The regression of the class codes 1 … m.
    pub fn regression(&self) -> &FittedLinearRegression {
        &self.regression
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
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let last = self.classes().len() as f64;
        let numbers = self.regression.predict_rows(x)?.to_f64_vec();
        let code = |(row, number): (usize, &f64)| match number.is_nan() {
            true => {
                let problem = format!("the regression of row {row} is not a number");
                Err(LearnError::data(RegressAndRound::NAME, problem, "use features of smaller magnitude"))
            }
            false => Ok(number.round().clamp(1.0, last) as usize - 1),
        };
        let codes: Result<Vec<usize>> = numbers.iter().enumerate().map(code).collect();
        Ok(Labels::decode(self.classes(), codes?))
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.regression.coefficients()
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        record.put_part("regression", self.regression.record());
        record
    }
}

impl Restore for FittedRegressAndRound {
    fn restore(record: &Record) -> Result<FittedRegressAndRound> {
        let settings: RegressAndRound = record.settings(RegressAndRound::NAME, 1)?;
        let regression = FittedLinearRegression::restore(&record.part("regression")?)?;
        let about = About::read(&settings, record, regression.width(), regression.dtype())?;
        if about.classes.len() < 2 || regression.coef().rank() != 1 {
            return Err(record.wrong("classes", "a list of two or more classes with one regression"));
        }
        Ok(FittedRegressAndRound { about, regression })
    }
}
