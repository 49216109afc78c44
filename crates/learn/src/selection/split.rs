//! Train, validation and test splits as distinct types.
//!
//! ```
//! use tove_learn::Samples;
//! use tove_learn::selection::{Split, train_validation_test};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::zeros([10, 1], tove_tensor::DType::F64), &Tensor::from([0i64, 1, 0, 1, 0, 1, 0, 1, 0, 1]))?;
//! let split = Split::test(0.2).validation(2).stratified().seed(3);
//! let (train, validation, test) = train_validation_test(&samples, &split)?;
//! assert_eq!((train.len(), validation.len(), test.len()), (6, 2, 2));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::BTreeMap;
use std::ops::Deref;

use tove_metrics::Score;
use tove_tensor::{Key, Tensor};

use super::folds::{length, order};
use super::groups::check_groups;
use super::scoring::Scoring;
use crate::{Labels, LearnError, Model, Result, Rows, Samples};

/// A number of samples, or a fraction of them (rounded up).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A fraction between 0 and 1.
    Share(f64),
    /// A number of samples.
    Count(usize),
}

impl From<f64> for Size {
    fn from(share: f64) -> Size {
        Size::Share(share)
    }
}

impl From<usize> for Size {
    fn from(count: usize) -> Size {
        Size::Count(count)
    }
}

impl Size {
    /// Converts to a number of samples or groups out of n.
    pub(super) fn of(self, who: &'static str, n: usize, what: &str) -> Result<usize> {
        match self {
            Size::Count(count) if count > 0 && count < n => Ok(count),
            Size::Share(share) if share > 0.0 && share < 1.0 => Ok((share * n as f64 - 1e-9).ceil() as usize),
            Size::Count(count) => {
                Err(LearnError::parameter(who, format!("{count} of {n} {what}; give 1 to {}", n.max(1) - 1)))
            }
            Size::Share(share) => {
                Err(LearnError::parameter(who, format!("a fraction of {share}; give a number between 0 and 1")))
            }
        }
    }
}

/// How samples are split: shuffled, unless [`Split::in_order`].
#[derive(Clone, Debug)]
pub struct Split {
    test: Size,
    validation: Option<Size>,
    key: Option<Key>,
    stratified: bool,
    groups: Option<Vec<i64>>,
}

/// The sample indices of each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Training samples.
    pub train: Vec<usize>,
    /// Validation samples; empty unless requested.
    pub validation: Vec<usize>,
    /// Test samples.
    pub test: Vec<usize>,
}

impl Split {
    /// Creates a split with a test part of this size, a fraction or a number; the seed is 0.
    pub fn test(size: impl Into<Size>) -> Split {
        Split { test: size.into(), validation: None, key: Some(Key::new(0)), stratified: false, groups: None }
    }

    /// Sets the size of the validation part, relative to all samples.
    #[must_use]
    pub fn validation(self, size: impl Into<Size>) -> Split {
        Split { validation: Some(size.into()), ..self }
    }

    /// Sets the seed of the shuffling.
    #[must_use]
    pub fn seed(self, seed: u64) -> Split {
        self.keyed(Key::new(seed))
    }

    pub(super) fn keyed(self, key: Key) -> Split {
        Split { key: Some(key), ..self }
    }

    /// Keeps the order: train first, then validation, test last.
    #[must_use]
    pub fn in_order(self) -> Split {
        Split { key: None, ..self }
    }

    /// Keeps the class proportions in every part.
    #[must_use]
    pub fn stratified(self) -> Split {
        Split { stratified: true, ..self }
    }

    /// Keeps groups together; parts may then be smaller than requested.
    #[must_use]
    pub fn grouped(self, groups: &[i64]) -> Split {
        Split { groups: Some(groups.to_vec()), ..self }
    }

    /// Returns the indices of each part for samples with these targets.
    pub fn indices(&self, y: &Tensor) -> Result<Parts> {
        let n = length(y);
        let test = self.test.of("Split", n, "samples")?;
        let validation = self.validation.map_or(Ok(0), |size| size.of("Split", n, "samples"))?;
        if test + validation >= n {
            let problem =
                format!("{test} samples for the test and {validation} for validation leave none of {n} for training");
            return Err(LearnError::parameter("Split", format!("{problem}; make them smaller")));
        }
        match (&self.groups, self.stratified, self.key) {
            (Some(_), true, _) | (Some(_), _, None) | (None, true, None) => Err(LearnError::parameter(
                "Split",
                "stratified, grouped and in_order are mutually exclusive; choose one",
            )),
            (Some(groups), false, Some(key)) => by_groups(groups, n, validation, test, key),
            (None, true, Some(key)) => by_classes(y, validation, test, key),
            (None, false, key) => {
                let positions = key.map_or_else(|| (0..n).collect(), |key| order(key, n));
                let (train, rest) = positions.split_at(n - validation - test);
                let (validation, test) = rest.split_at(validation);
                Ok(Parts { train: train.to_vec(), validation: validation.to_vec(), test: test.to_vec() })
            }
        }
    }
}

/// Allocates `wanted` samples to the classes in proportion; the remainder goes to the largest fractional parts.
fn shares(sizes: &[usize], wanted: usize) -> Vec<usize> {
    let total: usize = sizes.iter().sum();
    let exact: Vec<f64> = sizes.iter().map(|&size| size as f64 * wanted as f64 / total as f64).collect();
    let mut counts: Vec<usize> = exact.iter().map(|exact| exact.floor() as usize).collect();
    let mut classes: Vec<usize> = (0..sizes.len()).collect();
    classes.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = wanted - counts.iter().sum::<usize>();
    for &class in classes.iter().filter(|&&class| counts[class] < sizes[class]).take(missing).collect::<Vec<_>>() {
        counts[class] += 1;
    }
    counts
}

fn by_classes(y: &Tensor, validation: usize, test: usize, key: Key) -> Result<Parts> {
    let labels = Labels::of("Split", y)?;
    let mut members = vec![Vec::new(); labels.classes().len()];
    order(key, labels.codes().len()).into_iter().for_each(|position| members[labels.codes()[position]].push(position));
    let parts = 2 + usize::from(validation > 0);
    if let Some(class) = members.iter().position(|members| members.len() < parts) {
        let problem =
            format!("class {} has {} samples for {parts} parts", labels.classes()[class], members[class].len());
        return Err(LearnError::data("Split", problem, "remove the class, or do not stratify"));
    }
    let mut take = |wanted: usize| -> Vec<usize> {
        let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
        let counts = shares(&sizes, wanted);
        let parts = members.iter_mut().zip(counts);
        parts.flat_map(|(members, count)| members.split_off(members.len() - count)).collect()
    };
    let (test, validation) = (take(test), take(validation));
    let mut parts = Parts { train: members.concat(), validation, test };
    // Shuffle again: samples sorted by class would harm methods that learn in order.
    for (number, part) in [&mut parts.train, &mut parts.validation, &mut parts.test].into_iter().enumerate() {
        *part = order(key.fold(number as u64), part.len()).into_iter().map(|position| part[position]).collect();
    }
    Ok(parts)
}

fn by_groups(groups: &[i64], n: usize, validation: usize, test: usize, key: Key) -> Result<Parts> {
    check_groups("Split", groups, n)?;
    let mut members: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    groups.iter().enumerate().for_each(|(position, &group)| members.entry(group).or_default().push(position));
    let members: Vec<Vec<usize>> = members.into_values().collect();
    let mut parts = Parts { train: Vec::new(), validation: Vec::new(), test: Vec::new() };
    for group in order(key, members.len()) {
        let (size, all) = (members[group].len(), &members[group]);
        if parts.test.len() + size <= test {
            parts.test.extend(all);
        } else if parts.validation.len() + size <= validation {
            parts.validation.extend(all);
        } else {
            parts.train.extend(all);
        }
    }
    if parts.test.is_empty() || parts.train.is_empty() || (validation > 0 && parts.validation.is_empty()) {
        let problem = format!("{} groups are too few to give one to each part", members.len());
        return Err(LearnError::data("Split", problem, "give more groups, or larger parts"));
    }
    Ok(parts)
}

/// Training samples.
#[derive(Clone, Debug)]
pub struct Train(Samples);

/// Validation samples, for choosing hyperparameters.
#[derive(Clone, Debug)]
pub struct Validation(Samples);

/// Test samples for one final evaluation: nothing in this crate fits or selects with them.
#[derive(Debug)]
pub struct Test(Samples);

impl Train {
    /// Marks all samples as training samples; the test set is elsewhere.
    pub fn new(samples: &Samples) -> Train {
        Train(samples.clone())
    }
}

impl Deref for Train {
    type Target = Samples;
    fn deref(&self) -> &Samples {
        &self.0
    }
}

impl Deref for Validation {
    type Target = Samples;
    fn deref(&self) -> &Samples {
        &self.0
    }
}

impl Test {
    /// Marks samples as the test set, for data that come already split.
    pub fn new(samples: &Samples) -> Test {
        Test(samples.clone())
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The features, for finding duplicates in other sets.
    pub fn x(&self) -> &Rows {
        self.0.x()
    }

    /// Scores a model, with a confidence interval if the score is bounded. Consumes the set: evaluating several models
    /// on one test set and keeping the best would be selection on it.
    pub fn judge(self, model: &dyn Model, scorer: impl Into<Scoring>) -> Result<Score> {
        let scorer = scorer.into();
        scorer.check(model.name(), model.capabilities())?;
        scorer.score(model, &self.0)
    }
}

/// Splits samples into training and test sets.
pub fn train_test_split(samples: &Samples, split: &Split) -> Result<(Train, Test)> {
    if split.validation.is_some() {
        let problem = "a validation part was requested; use `train_validation_test`";
        return Err(LearnError::parameter("train_test_split", problem));
    }
    let parts = split.indices(samples.y()?)?;
    Ok((Train(samples.take(&parts.train)?), Test(samples.take(&parts.test)?)))
}

/// Splits samples into training, validation and test sets.
pub fn train_validation_test(samples: &Samples, split: &Split) -> Result<(Train, Validation, Test)> {
    if split.validation.is_none() {
        let problem = "no validation part was requested; use `Split::test(0.2).validation(0.2)`";
        return Err(LearnError::parameter("train_validation_test", problem));
    }
    let Parts { train, validation, test } = split.indices(samples.y()?)?;
    Ok((Train(samples.take(&train)?), Validation(samples.take(&validation)?), Test(samples.take(&test)?)))
}
