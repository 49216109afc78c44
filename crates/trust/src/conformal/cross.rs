//! Conformal prediction without a calibration set of its own: every row is predicted by a model that has not seen it.
//!
//! **CV+ and jackknife+** (Barber et al. 2021). With the residual Rᵢ = |yᵢ − f₋ₖ₍ᵢ₎(xᵢ)| of the model fitted without the fold of row i,
//! the interval of x goes from the ⌊α(n + 1)⌋-th smallest of f₋ₖ₍ᵢ₎(x) − Rᵢ to the ⌈(1 − α)(n + 1)⌉-th smallest of f₋ₖ₍ᵢ₎(x) + Rᵢ.
//! Jackknife+ is the case of one row per fold. Coverage is usually near 1 − α; what is proven, for exchangeable rows and a fit that
//! does not depend on their order, is [`CrossConformalRegressor::proven_level`], about 1 − 2α.
//!
//! **Cross-conformal classification** (Vovk 2015; Romano et al. 2020): class c is in the set of x if the number of rows i whose score
//! is at least that of c under the model of their fold is above α(n + 1) − 1. MAPIE's rule is "at least α(n − 1)", which sometimes
//! leaves out a class more.

use serde_json::{Value, json};
use tove_tensor::{Key, Tensor};

use super::json::Reader;
use super::quantile::{floor, order_statistic, rank, too_small};
use super::score::row_uniform;
use super::{CoverageClaim, PredictionIntervals, PredictionSets, SetScore};
use crate::input::{codes, fraction, numbers, reals};
use crate::{Probabilities, Result, TrustError};

const VERSION: u64 = 1;

/// How the predictions of the folds' models are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrossMethod {
    /// Jackknife+ and CV+: each residual goes with the model it belongs to. Proven for about 1 − 2α, usually near 1 − α.
    #[default]
    Plus,
    /// From the smallest prediction minus, to the largest plus, the quantile of the residuals: proven for 1 − α, but wider.
    MinMax,
}

/// Calibrates intervals with out-of-fold predictions: CV+, or jackknife+ for folds of one row each.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::CrossConformalRegressor;
/// // Four rows in two folds, each predicted by the model of the other fold.
/// let (seen, folds) = (Tensor::from([1.0, 2.0, 3.0, 4.0]), Tensor::from([0i64, 0, 1, 1]));
/// let fitted = CrossConformalRegressor::new(0.2).fit(&seen, &folds, &Tensor::from([1.5, 2.0, 2.0, 4.0]))?;
/// // A new row, predicted by both models: 10 − {0.5, 0} and 11 − {1, 0}; 10 + {0.5, 0} and 11 + {1, 0}.
/// let intervals = fitted.intervals(&Tensor::from([[10.0, 11.0]]))?;
/// assert_eq!((intervals.low(), intervals.high()), (&[9.5][..], &[12.0][..]));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CrossConformalRegressor {
    alpha: f64,
    method: CrossMethod,
}

const REGRESSOR: &str = "CrossConformalRegressor";
const REGRESSOR_KIND: &str = "cross_conformal_regressor";

impl CrossConformalRegressor {
    /// Intervals for the probability `alpha` of missing the true value.
    pub fn new(alpha: f64) -> CrossConformalRegressor {
        CrossConformalRegressor { alpha, method: CrossMethod::Plus }
    }

    /// How predictions are combined.
    #[must_use]
    pub fn method(self, method: CrossMethod) -> CrossConformalRegressor {
        CrossConformalRegressor { method, ..self }
    }

    /// The coverage that is proven for n rows in equal folds: 1 − α for [`CrossMethod::MinMax`]; for [`CrossMethod::Plus`]
    /// 1 − 2α if every row is a fold, otherwise 1 − 2α − min(2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)) (Barber et al. 2021,
    /// theorems 1 and 4). May be negative: nothing is proven then.
    pub fn proven_level(&self, n: usize, folds: usize) -> f64 {
        proven(self.method, self.alpha, n, folds)
    }

    /// Calibrates with predictions (n) by models that have not seen the row, the fold of each row (n), numbered from 0, and the
    /// true values (n).
    ///
    /// # Errors
    /// Numbers that are not finite or of different lengths; folds that are not numbered 0 … K − 1, at least two; α not between 0
    /// and 1; fewer than 1/α − 1 rows.
    pub fn fit(&self, predictions: &Tensor, folds: &Tensor, targets: &Tensor) -> Result<FittedCrossConformalRegressor> {
        let alpha = fraction(REGRESSOR, "alpha", self.alpha)?;
        let seen = numbers(REGRESSOR, "predictions", predictions, predictions.numel())?;
        let y = numbers(REGRESSOR, "targets", targets, seen.len())?;
        let (folds, k) = read_folds(REGRESSOR, folds, seen.len())?;
        if rank(seen.len(), alpha) > seen.len() {
            return Err(too_small(REGRESSOR, seen.len(), alpha, "the set of rows"));
        }
        let residuals: Vec<f64> = seen.iter().zip(&y).map(|(seen, y)| (y - seen).abs()).collect();
        if let Some(row) = residuals.iter().position(|residual| !residual.is_finite()) {
            let problem = format!("the residual of row {row} overflows");
            return Err(TrustError::data(REGRESSOR, problem, "give the targets in another unit"));
        }
        Ok(FittedCrossConformalRegressor { alpha, method: self.method, residuals, folds, k })
    }
}

fn proven(method: CrossMethod, alpha: f64, n: usize, folds: usize) -> f64 {
    let (n, k) = (n as f64, folds as f64);
    match method {
        CrossMethod::MinMax => 1.0 - alpha,
        CrossMethod::Plus if k >= n => 1.0 - 2.0 * alpha,
        CrossMethod::Plus => {
            let loss = (2.0 * (1.0 - 1.0 / k) / (n / k + 1.0)).min((1.0 - k / n) / (k + 1.0));
            1.0 - 2.0 * alpha - loss
        }
    }
}

fn marginal(level: f64) -> CoverageClaim {
    if level > 0.0 { CoverageClaim::Marginal { level } } else { CoverageClaim::None }
}

/// The fold of each row and the number of folds.
fn read_folds(what: &'static str, folds: &Tensor, n: usize) -> Result<(Vec<usize>, usize)> {
    let folds = codes(what, "folds", folds, n, n)?;
    let k = folds.iter().max().map_or(0, |most| most + 1);
    let mut used = vec![false; k];
    folds.iter().for_each(|&fold| used[fold] = true);
    if k >= 2 && !used.contains(&false) {
        return Ok((folds, k));
    }
    let problem = format!(
        "the {n} rows are in {} folds numbered up to {}",
        used.iter().filter(|&&used| used).count(),
        k.max(1) - 1
    );
    Err(TrustError::data(what, problem, "number the folds from 0 without gaps, at least two of them"))
}

/// Calibrated CV+ or jackknife+ intervals: the residuals and their folds.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCrossConformalRegressor {
    alpha: f64,
    method: CrossMethod,
    residuals: Vec<f64>,
    folds: Vec<usize>,
    k: usize,
}

impl FittedCrossConformalRegressor {
    /// The intervals of new rows, from the predictions of the model of each fold: (rows, folds).
    ///
    /// # Errors
    /// Numbers that are not finite, or another number of folds.
    pub fn intervals(&self, predictions: &Tensor) -> Result<PredictionIntervals> {
        if !matches!(*predictions.dims(), [_, k] if k == self.k) {
            let problem = format!("predictions of shape {} for {} folds", predictions.shape(), self.k);
            return Err(TrustError::data(REGRESSOR, problem, "give a row per sample and a column per fold"));
        }
        let values = reals(REGRESSOR, "predictions", predictions)?;
        let n = self.residuals.len();
        let upper = rank(n, self.alpha);
        let residual = match self.method {
            CrossMethod::MinMax => order_statistic(REGRESSOR, self.residuals.clone(), self.alpha, "the set of rows")?,
            CrossMethod::Plus => 0.0,
        };
        let mut room = vec![0.0; n];
        let mut plus = |row: &[f64], sign: f64, place: usize| {
            for (value, (residual, &fold)) in room.iter_mut().zip(self.residuals.iter().zip(&self.folds)) {
                *value = row[fold] + sign * residual;
            }
            *room.select_nth_unstable_by(place, f64::total_cmp).1
        };
        let mut ends = |row: &[f64]| match self.method {
            CrossMethod::Plus => (plus(row, -1.0, n - upper), plus(row, 1.0, upper - 1)),
            CrossMethod::MinMax => {
                let least = row.iter().copied().fold(f64::INFINITY, f64::min);
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                (least - residual, most + residual)
            }
        };
        let (low, high) = values.chunks_exact(self.k).map(&mut ends).unzip();
        Ok(PredictionIntervals::of(low, high, self.claim()))
    }

    /// What is claimed of the intervals: the proven level, which lies below what is usual.
    pub fn claim(&self) -> CoverageClaim {
        marginal(proven(self.method, self.alpha, self.residuals.len(), self.k))
    }

    /// The probability of missing the truth that was asked for.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Number of folds.
    pub fn folds(&self) -> usize {
        self.k
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        let method = if self.method == CrossMethod::Plus { "plus" } else { "minmax" };
        json!({"kind": REGRESSOR_KIND, "version": VERSION, "alpha": self.alpha, "method": method, "residuals": self.residuals,
            "folds": self.folds})
    }

    /// Reads what [`FittedCrossConformalRegressor::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<FittedCrossConformalRegressor> {
        let reader = Reader::open(REGRESSOR, value, REGRESSOR_KIND, VERSION)?;
        let method = match reader.text("method")? {
            "plus" => CrossMethod::Plus,
            "minmax" => CrossMethod::MinMax,
            other => return Err(reader.invalid(format!("the method \"{other}\" is unknown"))),
        };
        let residuals = reader.reals("residuals")?;
        let (folds, k) = stored_folds(&reader, residuals.len())?;
        let alpha = reader.fraction("alpha")?;
        if residuals.iter().any(|&residual| residual < 0.0) || rank(residuals.len(), alpha) > residuals.len() {
            return Err(reader.invalid("`residuals` are negative or too few"));
        }
        Ok(FittedCrossConformalRegressor { alpha, method, residuals, folds, k })
    }
}

fn stored_folds(reader: &Reader<'_>, n: usize) -> Result<(Vec<usize>, usize)> {
    let folds = reader.reals("folds")?;
    if n == 0 || folds.len() != n {
        return Err(reader.invalid("the lists are empty or of different lengths"));
    }
    read_folds(reader.what, &Tensor::from_slice(&folds), n)
}

const CLASSIFIER: &str = "CrossConformalClassifier";
const CLASSIFIER_KIND: &str = "cross_conformal_classifier";

/// Calibrates sets of classes with out-of-fold probabilities.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::CrossConformalClassifier;
/// let seen = Tensor::from([0.9, 0.8, 0.2, 0.7, 0.4, 0.1, 0.6, 0.3, 0.95, 0.05]); // of class 1 of two
/// let folds = Tensor::from([0i64, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
/// let y = Tensor::from([1i64, 1, 0, 1, 1, 0, 0, 0, 1, 0]);
/// let fitted = CrossConformalClassifier::new(0.2).fit(&seen, &folds, &y)?;
/// let sets = fitted.sets(&[Tensor::from([0.99, 0.5]), Tensor::from([0.97, 0.4])])?; // two rows by the models of two folds
/// assert_eq!((sets.classes_of(0), sets.classes_of(1)), (vec![1], vec![0, 1]));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CrossConformalClassifier {
    alpha: f64,
    score: SetScore,
    seed: u64,
}

impl CrossConformalClassifier {
    /// Sets for the probability `alpha` of missing the true class, by the LAC score.
    pub fn new(alpha: f64) -> CrossConformalClassifier {
        CrossConformalClassifier { alpha, score: SetScore::Lac, seed: 0 }
    }

    /// With another score.
    #[must_use]
    pub fn score(self, score: SetScore) -> CrossConformalClassifier {
        CrossConformalClassifier { score, ..self }
    }

    /// The seed of randomized scores, whose numbers are drawn from it and each row's probabilities.
    #[must_use]
    pub fn seed(self, seed: u64) -> CrossConformalClassifier {
        CrossConformalClassifier { seed, ..self }
    }

    /// Calibrates with probabilities (n, m) by models that have not seen the row, the fold of each row (n), numbered from 0, and
    /// the true classes (n), 0 … m − 1.
    ///
    /// # Errors
    /// Invalid probabilities, folds or labels; α not between 0 and 1; fewer than 1/α − 1 rows.
    pub fn fit(
        &self,
        probabilities: &Tensor,
        folds: &Tensor,
        labels: &Tensor,
    ) -> Result<FittedCrossConformalClassifier> {
        let alpha = fraction(CLASSIFIER, "alpha", self.alpha)?;
        let score = self.score.check(CLASSIFIER)?;
        let p = Probabilities::new(CLASSIFIER, probabilities)?;
        let labels = codes(CLASSIFIER, "labels", labels, p.len(), p.classes())?;
        let (folds, k) = read_folds(CLASSIFIER, folds, p.len())?;
        if rank(p.len(), alpha) > p.len() {
            return Err(too_small(CLASSIFIER, p.len(), alpha, "the set of rows"));
        }
        let mut scores = vec![Vec::new(); k];
        let (mut row_scores, mut order) = (vec![0.0; p.classes()], Vec::new());
        for (i, row) in p.rows().enumerate() {
            score.write(row, drawn(score, self.seed, row), &mut order, &mut row_scores);
            scores[folds[i]].push(row_scores[labels[i]]);
        }
        scores.iter_mut().for_each(|scores| scores.sort_by(f64::total_cmp));
        Ok(FittedCrossConformalClassifier { alpha, score, seed: self.seed, classes: p.classes(), scores })
    }
}

fn drawn(score: SetScore, seed: u64, row: &[f64]) -> f64 {
    if score.is_randomized() { row_uniform(Key::new(seed), row) } else { 0.0 }
}

/// Calibrated cross-conformal sets: the scores of each fold, in rising order.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedCrossConformalClassifier {
    alpha: f64,
    score: SetScore,
    seed: u64,
    classes: usize,
    scores: Vec<Vec<f64>>,
}

impl FittedCrossConformalClassifier {
    /// The sets of new rows, from the probabilities (rows, m) by the model of each fold.
    ///
    /// # Errors
    /// Invalid probabilities; another number of folds or classes.
    pub fn sets(&self, probabilities: &[Tensor]) -> Result<PredictionSets> {
        if probabilities.len() != self.scores.len() {
            let problem = format!("probabilities of {} models for {} folds", probabilities.len(), self.scores.len());
            return Err(TrustError::data(CLASSIFIER, problem, "give the probabilities of the model of each fold"));
        }
        let folds = probabilities.iter().map(|p| Probabilities::new(CLASSIFIER, p)).collect::<Result<Vec<_>>>()?;
        let (n, m) = (folds[0].len(), self.classes);
        if let Some(odd) = folds.iter().find(|p| p.len() != n || p.classes() != m) {
            let problem = format!(
                "probabilities of {} rows and {} classes; {n} rows and {m} classes are expected",
                odd.len(),
                odd.classes()
            );
            return Err(TrustError::data(CLASSIFIER, problem, "give the same rows and classes for each fold"));
        }
        // For each row and class, the number of calibration rows that fit at most as well.
        let mut counts = vec![0usize; n * m];
        let (mut scores, mut order) = (vec![0.0; m], Vec::new());
        for (p, known) in folds.iter().zip(&self.scores) {
            for (row, counts) in p.rows().zip(counts.chunks_exact_mut(m)) {
                self.score.write(row, drawn(self.score, self.seed, row), &mut order, &mut scores);
                for (count, score) in counts.iter_mut().zip(&scores) {
                    *count += known.len() - known.partition_point(|known| known < score);
                }
            }
        }
        let least = floor(self.alpha * (self.rows() + 1) as f64) as usize; // count + 1 > α(n + 1)
        let members = counts.into_iter().map(|count| count + 1 > least).collect();
        Ok(PredictionSets::of(members, m, self.claim()))
    }

    fn rows(&self) -> usize {
        self.scores.iter().map(Vec::len).sum()
    }

    /// What is claimed of the sets: the proven level, which lies below what is usual.
    pub fn claim(&self) -> CoverageClaim {
        marginal(proven(CrossMethod::Plus, self.alpha, self.rows(), self.scores.len()))
    }

    /// The probability of missing the truth that was asked for.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        json!({"kind": CLASSIFIER_KIND, "version": VERSION, "alpha": self.alpha, "score": self.score.to_json(), "seed": self.seed,
            "classes": self.classes, "scores": self.scores})
    }

    /// Reads what [`FittedCrossConformalClassifier::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<FittedCrossConformalClassifier> {
        let reader = Reader::open(CLASSIFIER, value, CLASSIFIER_KIND, VERSION)?;
        let wrong = || reader.invalid("`scores` does not hold a rising list of finite numbers per fold");
        let fold = |value: &Value| {
            let cells = value.as_array().filter(|cells| !cells.is_empty()).ok_or_else(wrong)?;
            let read = |cell: &Value| cell.as_f64().filter(|score| score.is_finite()).ok_or_else(wrong);
            let scores = cells.iter().map(read).collect::<Result<Vec<f64>>>()?;
            if scores.is_sorted() { Ok(scores) } else { Err(wrong()) }
        };
        let fitted = FittedCrossConformalClassifier {
            alpha: reader.fraction("alpha")?,
            score: SetScore::from_json(&reader.object("score")?)?,
            seed: reader.get("seed")?.as_u64().ok_or_else(|| reader.invalid("`seed` is not a number"))?,
            classes: reader.count("classes")?,
            scores: reader.list("scores")?.iter().map(fold).collect::<Result<Vec<_>>>()?,
        };
        if fitted.classes < 2 || fitted.scores.len() < 2 || rank(fitted.rows(), fitted.alpha) > fitted.rows() {
            return Err(reader.invalid("there are too few classes, folds or rows"));
        }
        Ok(fitted)
    }
}
