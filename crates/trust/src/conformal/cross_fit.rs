//! A model per fold, and what each says about the rows that it has not seen.

use tove_learn::selection::{Fold, Splitter};
use tove_learn::{Estimator, Fit, Labels, Model, Predict, Rows, Samples};
use tove_tensor::Tensor;

use crate::{Result, TrustError};

const WHAT: &str = "CrossFitted";

/// Models fitted to all rows but those of one fold, for every fold.
///
/// It is generic: [`cross_fit`] fits an estimator, [`CrossFitted::new`] calls a closure, for models of any kind.
#[derive(Clone, Debug)]
pub struct CrossFitted<M> {
    models: Vec<M>,
    tests: Vec<Vec<usize>>,
    /// The fold of each row.
    folds: Vec<i64>,
    /// All classes, if the targets are labels.
    classes: Vec<i64>,
}

impl<M> CrossFitted<M> {
    /// Calls `fit` with the training rows of each fold.
    ///
    /// ```
    /// use tove_learn::selection::{LeaveOneOut, Splitter};
    /// use tove_tensor::{DType, Tensor};
    /// use tove_trust::conformal::CrossFitted;
    /// let y = [1.0, 2.0, 6.0];
    /// // The model is the mean of the training rows.
    /// let folds = LeaveOneOut.split(&Tensor::zeros([3], DType::F64))?;
    /// let fitted = CrossFitted::new(3, &folds, |train| Ok(train.iter().map(|&row| y[row]).sum::<f64>() / 2.0))?;
    /// let seen = fitted.out_of_fold(|mean, rows| Ok(Tensor::full([rows.len()], *mean, DType::F64)))?;
    /// assert_eq!(seen.to_vec::<f64>(), [4.0, 3.5, 1.5]);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// Fewer than two folds; rows that are not in exactly one test fold; an error of `fit`.
    pub fn new(n: usize, folds: &[Fold], mut fit: impl FnMut(&[usize]) -> Result<M>) -> Result<CrossFitted<M>> {
        let mut place: Vec<Option<i64>> = vec![None; n];
        for (number, fold) in folds.iter().enumerate() {
            for &row in fold.test.iter().chain(&fold.train) {
                if row >= n {
                    return Err(TrustError::argument(WHAT, format!("fold {number} names row {row} of {n} rows")));
                }
            }
            for &row in &fold.test {
                if place[row].replace(number as i64).is_some() {
                    let fix = "give folds that split the rows, such as `KFold`; repeated or overlapping ones do not";
                    return Err(TrustError::data(WHAT, format!("row {row} is in two test folds"), fix));
                }
            }
            if fold.train.iter().any(|&row| place[row] == Some(number as i64)) {
                let problem = format!("fold {number} tests a row that it trains on");
                return Err(TrustError::data(WHAT, problem, "leave the test rows out of the training rows"));
            }
        }
        if let Some(row) = place.iter().position(Option::is_none) {
            let fix = "give folds that split all rows, such as `KFold`";
            return Err(TrustError::data(WHAT, format!("row {row} is in no test fold"), fix));
        }
        if folds.len() < 2 {
            return Err(TrustError::argument(WHAT, format!("{} folds; give at least 2", folds.len())));
        }
        let models = folds.iter().map(|fold| fit(&fold.train)).collect::<Result<Vec<M>>>()?;
        let tests = folds.iter().map(|fold| fold.test.clone()).collect();
        Ok(CrossFitted { models, tests, folds: place.into_iter().flatten().collect(), classes: Vec::new() })
    }

    /// What each model says about the rows that it has not seen, in the order of the rows: `predict` gets a model and rows, and
    /// returns a number per row, or a matrix with a line per row.
    ///
    /// # Errors
    /// Answers of the wrong length; an error of `predict`.
    pub fn out_of_fold(&self, mut predict: impl FnMut(&M, &[usize]) -> Result<Tensor>) -> Result<Tensor> {
        let (mut values, mut width) = (Vec::new(), None);
        for (model, rows) in self.models.iter().zip(&self.tests).filter(|(_, rows)| !rows.is_empty()) {
            let answer = predict(model, rows)?;
            let columns = answer.numel() / rows.len();
            let fits = answer.dims().first() == Some(&rows.len()) && answer.rank() <= 2;
            if !fits || width.is_some_and(|width| width != (columns, answer.rank())) {
                let problem = format!("predictions of shape {} for {} rows", answer.shape(), rows.len());
                return Err(TrustError::data(WHAT, problem, "return one number, or one line of numbers, per row"));
            }
            width = Some((columns, answer.rank()));
            values.resize(self.folds.len() * columns, 0.0);
            let answer = answer.detach().contiguous().to_f64_vec();
            for (line, &row) in answer.chunks_exact(columns.max(1)).zip(rows) {
                values[row * columns..(row + 1) * columns].copy_from_slice(line);
            }
        }
        let n = self.folds.len();
        Ok(match width {
            Some((columns, 2)) => Tensor::from_vec(values, [n, columns]),
            _ => Tensor::from_vec(values, [n]),
        })
    }

    /// The model of each fold.
    pub fn models(&self) -> &[M] {
        &self.models
    }

    /// The fold of each row (n), which numbers the models from 0.
    pub fn folds(&self) -> Tensor {
        Tensor::from_slice(&self.folds)
    }
}

/// Fits an estimator to all rows but those of one fold, for every fold of the splitter.
///
/// ```
/// use tove_learn::selection::KFold;
/// use tove_learn::{Ridge, Samples};
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::{CrossConformalRegressor, cross_fit};
/// let x = Tensor::from_vec((0..20).map(f64::from).collect::<Vec<f64>>(), [20, 1]);
/// let y = Tensor::from_vec((0..20).map(|i| f64::from(i + i % 3)).collect::<Vec<f64>>(), [20]);
/// let models = cross_fit(&Ridge::default(), &Samples::new(&x, &y)?, &KFold::new(5))?;
/// let fitted = CrossConformalRegressor::new(0.1).fit(&models.out_of_fold_predictions(&x)?, &models.folds(), &y)?;
/// let intervals = fitted.intervals(&models.fold_predictions(&Tensor::from([[10.0]]))?)?;
/// assert!(intervals.low()[0] < 10.5 && intervals.high()[0] > 10.5);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// As [`CrossFitted::new`]; an error of the splitter or of the estimator.
pub fn cross_fit(
    estimator: &dyn Estimator,
    samples: &Samples,
    splitter: &dyn Splitter,
) -> Result<CrossFitted<Box<dyn Model>>> {
    let folds = splitter.split_samples(samples)?;
    let fit = |train: &[usize]| Ok(estimator.fit_samples(&samples.take(train)?)?);
    let fitted = CrossFitted::new(samples.len(), &folds, fit)?;
    let classifies = estimator.capabilities().classifies();
    let labels = samples.targets().filter(|_| classifies).map(|y| Labels::of(WHAT, y)).transpose()?;
    Ok(CrossFitted { classes: labels.map(|labels| labels.classes().to_vec()).unwrap_or_default(), ..fitted })
}

impl CrossFitted<Box<dyn Model>> {
    /// All classes in rising order, for classifiers: the columns of probabilities.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The prediction of each model for the rows of its own fold: (n).
    ///
    /// # Errors
    /// Rows that do not fit the models.
    pub fn out_of_fold_predictions(&self, x: impl Into<Rows>) -> Result<Tensor> {
        let x = x.into();
        self.out_of_fold(|model, rows| Ok(model.predict(x.take(rows)?)?))
    }

    /// The probabilities of each model for the rows of its own fold: (n, m), with a column for each of [`CrossFitted::classes`].
    ///
    /// # Errors
    /// Rows that do not fit the models; models without probabilities.
    pub fn out_of_fold_probabilities(&self, x: impl Into<Rows>) -> Result<Tensor> {
        let x = x.into();
        self.out_of_fold(|model, rows| self.aligned(&**model, &x.take(rows)?))
    }

    /// The predictions of all models for new rows: (rows, folds).
    ///
    /// # Errors
    /// Rows that do not fit the models.
    pub fn fold_predictions(&self, x: impl Into<Rows>) -> Result<Tensor> {
        let x = x.into();
        let columns = self.models.iter().map(|model| Ok(model.predict(x.clone())?.to_f64_vec()));
        let columns = columns.collect::<Result<Vec<Vec<f64>>>>()?;
        let values: Vec<f64> = (0..x.len()).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        Ok(Tensor::from_vec(values, [x.len(), self.models.len()]))
    }

    /// The probabilities of all models for new rows: a matrix (rows, m) per fold, with a column for each of
    /// [`CrossFitted::classes`].
    ///
    /// # Errors
    /// Rows that do not fit the models; models without probabilities.
    pub fn fold_probabilities(&self, x: impl Into<Rows>) -> Result<Vec<Tensor>> {
        let x = x.into();
        self.models.iter().map(|model| self.aligned(&**model, &x)).collect()
    }

    /// Probabilities with a column per class of all rows: 0 for classes that were not among the model's training rows.
    fn aligned(&self, model: &dyn Model, x: &Rows) -> Result<Tensor> {
        let p = model.predict_proba(x.clone())?;
        if self.classes.is_empty() || model.classes() == self.classes {
            return Ok(p);
        }
        let given = p.to_f64_vec();
        let m = self.classes.len();
        let mut values = vec![0.0; x.len() * m];
        for (from, class) in model.classes().iter().enumerate() {
            let Ok(to) = self.classes.binary_search(class) else { continue };
            (0..x.len()).for_each(|row| values[row * m + to] = given[row * model.classes().len() + from]);
        }
        Ok(Tensor::from_vec(values, [x.len(), m]))
    }
}
