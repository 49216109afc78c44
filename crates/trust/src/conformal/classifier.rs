//! Split conformal classification: sets of classes that hold the true one with a given probability.
//!
//! Scores of calibration rows, which the model has not seen, give a quantile q; the set of a new row holds all classes whose
//! score is at most q (Vovk et al. 2005; Papadopoulos et al. 2002). The model may be wrong and its probabilities uncalibrated: sets
//! are then larger, not less sure.

use serde_json::{Value, json};
use tove_tensor::{Key, Tensor};

use super::cutoffs::{Cutoffs, Given};
use super::json::Reader;
use super::score::row_uniform;
use super::{CoverageClaim, Cutoff, GroupCutoff, PredictionSets, SetScore, SmallGroups};
use crate::input::{codes, fraction, numbers};
use crate::{Probabilities, Result, TrustError};

const WHAT: &str = "SplitConformalClassifier";
const KIND: &str = "split_conformal_classifier";
const VERSION: u64 = 1;

/// Class probabilities (n, m), or (n) of the second of two classes, and optionally a number of \[0, 1\] per row for randomized scores.
#[derive(Clone, Copy, Debug)]
pub struct ClassRows<'a> {
    probabilities: &'a Tensor,
    uniforms: Option<&'a Tensor>,
}

impl<'a> From<&'a Tensor> for ClassRows<'a> {
    fn from(probabilities: &'a Tensor) -> ClassRows<'a> {
        ClassRows { probabilities, uniforms: None }
    }
}

impl<'a> ClassRows<'a> {
    /// Probabilities with a number of \[0, 1\] per row, which must be uniform and independent of all else for the guarantee. Without
    /// them, numbers are drawn from the seed and the row's own probabilities.
    pub fn with_uniforms(probabilities: &'a Tensor, uniforms: &'a Tensor) -> ClassRows<'a> {
        ClassRows { probabilities, uniforms: Some(uniforms) }
    }
}

/// Calibrates prediction sets of classes.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::SplitConformalClassifier;
/// // Probabilities of nine calibration rows and their true classes.
/// let p = Tensor::from([0.9, 0.8, 0.2, 0.7, 0.4, 0.1, 0.6, 0.3, 0.95]); // of class 1 of two
/// let y = Tensor::from([1i64, 1, 0, 1, 1, 0, 0, 0, 1]);
/// let fitted = SplitConformalClassifier::new(0.2).fit(&p, &y)?;
/// assert_eq!(fitted.cutoff().map(|cutoff| (cutoff.value, cutoff.n)), Some((0.6, 9))); // the 8th smallest of 1 − p of the true class
/// let sets = fitted.sets(&Tensor::from([[0.95, 0.05], [0.5, 0.5]]))?;
/// assert_eq!((sets.classes_of(0), sets.classes_of(1)), (vec![0], vec![0, 1]));
/// println!("{sets}"); // … covered with probability at least 80 % on average over rows, provided that …
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SplitConformalClassifier {
    alpha: f64,
    score: SetScore,
    seed: u64,
    never_empty: bool,
    small: SmallGroups,
}

impl SplitConformalClassifier {
    /// Sets that miss the true class with probability at most `alpha`, by the LAC score.
    pub fn new(alpha: f64) -> SplitConformalClassifier {
        SplitConformalClassifier {
            alpha,
            score: SetScore::Lac,
            seed: 0,
            never_empty: false,
            small: SmallGroups::Refuse,
        }
    }

    /// With another score.
    #[must_use]
    pub fn score(self, score: SetScore) -> SplitConformalClassifier {
        SplitConformalClassifier { score, ..self }
    }

    /// The seed of randomized scores.
    #[must_use]
    pub fn seed(self, seed: u64) -> SplitConformalClassifier {
        SplitConformalClassifier { seed, ..self }
    }

    /// Adds the most probable class to empty sets; coverage can only grow.
    #[must_use]
    pub fn never_empty(self) -> SplitConformalClassifier {
        SplitConformalClassifier { never_empty: true, ..self }
    }

    /// What to do with groups or classes that are too small; refused by default.
    #[must_use]
    pub fn small_groups(self, small: SmallGroups) -> SplitConformalClassifier {
        SplitConformalClassifier { small, ..self }
    }

    /// Calibrates with probabilities of rows that the model has not seen, and their classes 0 … m − 1.
    ///
    /// # Errors
    /// Invalid probabilities or labels; α not between 0 and 1; fewer than 1/α − 1 rows.
    pub fn fit<'a>(&self, rows: impl Into<ClassRows<'a>>, labels: &Tensor) -> Result<FittedConformalClassifier> {
        self.calibrate(rows.into(), labels, Given::Nothing)
    }

    /// Calibrates with a quantile per group, a column of whole numbers (Mondrian conformal prediction, Vovk et al. 2005): coverage
    /// holds in each group.
    ///
    /// # Errors
    /// As [`SplitConformalClassifier::fit`]; a group of fewer than 1/α − 1 rows, unless
    /// [`SplitConformalClassifier::small_groups`] says otherwise.
    pub fn fit_by_group<'a>(
        &self,
        rows: impl Into<ClassRows<'a>>,
        labels: &Tensor,
        groups: &Tensor,
    ) -> Result<FittedConformalClassifier> {
        self.calibrate(rows.into(), labels, Given::Groups(groups))
    }

    /// Calibrates with weights: for each row the density of its features among new rows over that among calibration rows, up to a
    /// common factor (Tibshirani et al. 2019).
    ///
    /// # Errors
    /// As [`SplitConformalClassifier::fit`]; negative weights, or only zeros. A small calibration set is not refused, because what
    /// can be said depends on the weight of the new row: its set holds all classes where nothing can be said.
    pub fn fit_weighted<'a>(
        &self,
        rows: impl Into<ClassRows<'a>>,
        labels: &Tensor,
        weights: &Tensor,
    ) -> Result<FittedConformalClassifier> {
        self.calibrate(rows.into(), labels, Given::Weights(weights))
    }

    /// Calibrates with a quantile per class: coverage holds for the rows of each true class.
    ///
    /// # Errors
    /// As [`SplitConformalClassifier::fit_by_group`], for classes.
    pub fn fit_by_class<'a>(
        &self,
        rows: impl Into<ClassRows<'a>>,
        labels: &Tensor,
    ) -> Result<FittedConformalClassifier> {
        let fitted = self.plan()?;
        let (p, scores, labels) = fitted.calibration_scores(rows.into(), labels)?;
        let classes: Vec<i64> = (0..p.classes() as i64).collect();
        let cutoffs = Cutoffs::by_group(WHAT, "class", &scores, &labels, &classes, self.alpha, self.small)?;
        Ok(FittedConformalClassifier { cutoffs, by_class: true, classes: p.classes(), ..fitted })
    }

    fn calibrate(&self, rows: ClassRows<'_>, labels: &Tensor, given: Given<'_>) -> Result<FittedConformalClassifier> {
        let fitted = self.plan()?;
        let (p, scores, _) = fitted.calibration_scores(rows, labels)?;
        let cutoffs = Cutoffs::fit(WHAT, scores, given, self.alpha, self.small)?;
        Ok(FittedConformalClassifier { cutoffs, classes: p.classes(), ..fitted })
    }

    /// The fitted object without its quantiles.
    fn plan(&self) -> Result<FittedConformalClassifier> {
        Ok(FittedConformalClassifier {
            alpha: fraction(WHAT, "alpha", self.alpha)?,
            score: self.score.check(WHAT)?,
            seed: self.seed,
            never_empty: self.never_empty,
            by_class: false,
            classes: 0,
            cutoffs: Cutoffs::One(Cutoff { value: f64::INFINITY, n: 0 }),
        })
    }
}

/// Calibrated sets of classes: plain data, which a model file can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedConformalClassifier {
    alpha: f64,
    score: SetScore,
    seed: u64,
    never_empty: bool,
    by_class: bool,
    classes: usize,
    cutoffs: Cutoffs,
}

impl FittedConformalClassifier {
    /// The sets of new rows.
    ///
    /// # Errors
    /// Invalid probabilities, or for another number of classes; an object calibrated by group or with weights.
    pub fn sets<'a>(&self, rows: impl Into<ClassRows<'a>>) -> Result<PredictionSets> {
        self.sets_given(rows.into(), Given::Nothing)
    }

    /// The sets of new rows of these groups.
    ///
    /// # Errors
    /// As [`FittedConformalClassifier::sets`]; a group that was not among the calibration rows; an object not calibrated by group.
    pub fn sets_by_group<'a>(&self, rows: impl Into<ClassRows<'a>>, groups: &Tensor) -> Result<PredictionSets> {
        self.sets_given(rows.into(), Given::Groups(groups))
    }

    /// The sets of new rows with these weights; all classes where a weight is so large that nothing can be said.
    ///
    /// # Errors
    /// As [`FittedConformalClassifier::sets`]; negative weights; an object not calibrated with weights.
    pub fn sets_weighted<'a>(&self, rows: impl Into<ClassRows<'a>>, weights: &Tensor) -> Result<PredictionSets> {
        self.sets_given(rows.into(), Given::Weights(weights))
    }

    fn sets_given(&self, rows: ClassRows<'_>, given: Given<'_>) -> Result<PredictionSets> {
        let (p, uniforms) = self.read(rows)?;
        if p.classes() != self.classes {
            let problem = format!("probabilities of {} classes; it was calibrated with {}", p.classes(), self.classes);
            return Err(TrustError::data(WHAT, problem, "give one probability per class, in the same order"));
        }
        let m = self.classes;
        let per_class = match (&self.cutoffs, self.by_class, given) {
            (Cutoffs::Groups(groups, _), true, Given::Nothing) => {
                Some(groups.iter().map(|group| group.cutoff.value).collect::<Vec<f64>>())
            }
            (_, true, _) => {
                let fix = "call `sets` without groups or weights";
                return Err(TrustError::unsupported(WHAT, "it was calibrated by class", fix));
            }
            _ => None,
        };
        let (cutoffs, own) = match per_class {
            Some(_) => (Vec::new(), !self.cutoffs.any_marginal()),
            None => self.cutoffs.of_rows(WHAT, p.len(), given)?,
        };
        let (mut members, mut scores, mut order) = (vec![false; p.len() * m], vec![0.0; m], Vec::new());
        for (i, (row, members)) in p.rows().zip(members.chunks_exact_mut(m)).enumerate() {
            self.score.write(row, uniforms.get(i, row), &mut order, &mut scores);
            for (k, member) in members.iter_mut().enumerate() {
                *member = scores[k] <= per_class.as_ref().map_or_else(|| cutoffs[i], |cutoffs| cutoffs[k]);
            }
            if self.never_empty && !members.contains(&true) {
                members[p.top(i).0] = true;
            }
        }
        let claim = if own { self.kind_of_claim() } else { CoverageClaim::None };
        Ok(PredictionSets::of(members, m, claim))
    }

    /// The scores of the true classes, with the probabilities and class indices.
    fn calibration_scores(
        &self,
        rows: ClassRows<'_>,
        labels: &Tensor,
    ) -> Result<(Probabilities, Vec<f64>, Vec<usize>)> {
        let (p, uniforms) = self.read(rows)?;
        let labels = codes(WHAT, "labels", labels, p.len(), p.classes())?;
        let (mut scores, mut order) = (vec![0.0; p.classes()], Vec::new());
        let score = |(i, row): (usize, &[f64])| {
            self.score.write(row, uniforms.get(i, row), &mut order, &mut scores);
            scores[labels[i]]
        };
        let scores = p.rows().enumerate().map(score).collect();
        Ok((p, scores, labels))
    }

    fn read(&self, rows: ClassRows<'_>) -> Result<(Probabilities, Uniforms)> {
        let p = Probabilities::new(WHAT, rows.probabilities)?;
        let uniforms = match rows.uniforms {
            Some(_) if !self.score.is_randomized() => {
                let fix = "leave out the uniform numbers, or choose a randomized score";
                return Err(TrustError::unsupported(WHAT, "the score is not randomized", fix));
            }
            Some(uniforms) => {
                let values = numbers(WHAT, "uniform numbers", uniforms, p.len())?;
                if let Some(row) = values.iter().position(|u| !(0.0..=1.0).contains(u)) {
                    let problem = format!("the uniform number of row {row} is {}", values[row]);
                    return Err(TrustError::data(WHAT, problem, "give numbers from 0 to 1"));
                }
                Uniforms::Given(values)
            }
            None if self.score.is_randomized() => Uniforms::Drawn(Key::new(self.seed)),
            None => Uniforms::Zero,
        };
        Ok((p, uniforms))
    }

    /// What is claimed of the sets; nothing if the quantile of all rows stands in for that of a small group or class.
    pub fn claim(&self) -> CoverageClaim {
        if self.cutoffs.any_marginal() { CoverageClaim::None } else { self.kind_of_claim() }
    }

    fn kind_of_claim(&self) -> CoverageClaim {
        let level = 1.0 - self.alpha;
        match &self.cutoffs {
            Cutoffs::One(_) => CoverageClaim::Marginal { level },
            Cutoffs::Weighted(..) => CoverageClaim::Shifted { level },
            Cutoffs::Groups(..) if self.by_class => CoverageClaim::ByClass { level },
            Cutoffs::Groups(..) => CoverageClaim::ByGroup { level },
        }
    }

    /// The largest probability of missing the truth that was asked for.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The score.
    pub fn score(&self) -> SetScore {
        self.score
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The quantile of all rows; none if calibrated by group, by class or with weights.
    pub fn cutoff(&self) -> Option<Cutoff> {
        match self.cutoffs {
            Cutoffs::One(cutoff) => Some(cutoff),
            _ => None,
        }
    }

    /// The quantiles of groups or classes; empty if calibrated otherwise.
    pub fn group_cutoffs(&self) -> &[GroupCutoff] {
        match &self.cutoffs {
            Cutoffs::Groups(groups, _) => groups,
            _ => &[],
        }
    }

    /// (Σw)²/Σw² of the calibration weights; none if calibrated without weights. Far fewer than there are rows means that few of
    /// them resemble the new rows.
    pub fn effective_size(&self) -> Option<f64> {
        match &self.cutoffs {
            Cutoffs::Weighted(scores, _) => Some(scores.effective()),
            _ => None,
        }
    }

    /// As JSON, for a model file.
    pub fn to_json(&self) -> Value {
        json!({
            "kind": KIND,
            "version": VERSION,
            "alpha": self.alpha,
            "score": self.score.to_json(),
            "seed": self.seed,
            "never_empty": self.never_empty,
            "by_class": self.by_class,
            "classes": self.classes,
            "quantiles": self.cutoffs.to_json(),
        })
    }

    /// Reads what [`FittedConformalClassifier::to_json`] wrote.
    ///
    /// # Errors
    /// A missing or invalid field; another kind of object; a newer version.
    pub fn from_json(value: &Value) -> Result<FittedConformalClassifier> {
        let reader = Reader::open(WHAT, value, KIND, VERSION)?;
        let seed = reader.get("seed")?.as_u64().ok_or_else(|| reader.invalid("`seed` is not a number"))?;
        let fitted = FittedConformalClassifier {
            alpha: reader.fraction("alpha")?,
            score: SetScore::from_json(&reader.object("score")?)?,
            seed,
            never_empty: reader.switch("never_empty")?,
            by_class: reader.switch("by_class")?,
            classes: reader.count("classes")?,
            cutoffs: Cutoffs::from_json(&reader.object("quantiles")?)?,
        };
        if fitted.classes < 2 {
            return Err(reader.invalid("there are fewer than two classes"));
        }
        let named = |groups: &[GroupCutoff]| groups.iter().map(|group| group.group).eq(0..fitted.classes as i64);
        if fitted.by_class && !named(fitted.group_cutoffs()) {
            return Err(reader.invalid("the quantiles are not those of the classes"));
        }
        Ok(fitted)
    }
}

/// Where the random numbers of rows come from.
enum Uniforms {
    Zero,
    Drawn(Key),
    Given(Vec<f64>),
}

impl Uniforms {
    fn get(&self, row: usize, p: &[f64]) -> f64 {
        match self {
            Uniforms::Zero => 0.0,
            Uniforms::Drawn(key) => row_uniform(*key, p),
            Uniforms::Given(values) => values[row],
        }
    }
}
