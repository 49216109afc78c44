//! Group-aware splitters, which keep the samples of a group together: patients, users, sites.
//!
//! Groups that are in both the training and the test part make scores too optimistic, since a model can recognize the
//! group. All splitters here put each group into one part. Groups are given to the splitter (`new`) or to the samples
//! ([`Samples::grouped`]; `from_samples`).
//!
//! ```
//! use tove_learn::selection::{LeaveOneGroupOut, Splitter};
//! use tove_tensor::{DType, Tensor};
//! let folds = LeaveOneGroupOut::new(&[7, 7, 3, 5, 5]).split(&Tensor::zeros([5], DType::F64))?;
//! let tests: Vec<&[usize]> = folds.iter().map(|fold| &fold.test[..]).collect();
//! assert_eq!(tests, [&[2][..], &[3, 4], &[0, 1]]); // groups 3, 5 and 7
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::BTreeMap;

use tove_tensor::{Key, Tensor};

use super::folds::{Fold, Splitter, check, folds_of, length, order, to_split};
use super::split::Size;
use crate::{Labels, LearnError, Result, Samples};

/// Checks that there is one group per sample.
pub(super) fn check_groups(who: &'static str, groups: &[i64], n: usize) -> Result<()> {
    if groups.len() == n {
        return Ok(());
    }
    Err(LearnError::parameter(who, format!("{} groups for {n} samples; give the group of each sample", groups.len())))
}

/// Implements [`Splitter`] for a type with optional groups and a function that splits by them.
macro_rules! by_groups {
    ($type:ident) => {
        impl Splitter for $type {
            fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
                let groups = self.groups.as_deref().ok_or_else(|| no_groups(stringify!($type)))?;
                self.divide(y, groups)
            }

            fn split_samples(&self, samples: &Samples) -> Result<Vec<Fold>> {
                let groups = self.groups.as_deref().or(samples.groups());
                self.divide(&to_split(samples)?, groups.ok_or_else(|| no_groups(stringify!($type)))?)
            }
        }
    };
}

#[cold]
fn no_groups(who: &'static str) -> LearnError {
    let fix = "give them to `new`, or to the samples with `Samples::grouped`";
    LearnError::data(who, "there are no groups", fix)
}

/// k folds with non-overlapping groups; large groups are assigned first, each to the smallest fold so far.
///
/// ```
/// use tove_learn::selection::{GroupKFold, Scorer, cross_val_score};
/// use tove_learn::{Ridge, Samples};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [4.0]]), Tensor::from([0.0, 1.0, 2.0, 4.0]));
/// let samples = Samples::new(&x, &y)?.grouped(&Tensor::from([7i64, 7, 9, 9]))?;
/// let scores = cross_val_score(&Ridge::default(), &samples, GroupKFold::from_samples(2), Scorer::R2)?;
/// assert_eq!(scores.len(), 2);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroupKFold {
    folds: usize,
    groups: Option<Vec<i64>>,
}

impl GroupKFold {
    /// Creates a splitter with this many folds and these groups.
    pub fn new(folds: usize, groups: &[i64]) -> GroupKFold {
        GroupKFold { folds, groups: Some(groups.to_vec()) }
    }

    /// Creates a splitter with this many folds that uses the groups of the samples.
    pub fn from_samples(folds: usize) -> GroupKFold {
        GroupKFold { folds, groups: None }
    }

    fn divide(&self, y: &Tensor, groups: &[i64]) -> Result<Vec<Fold>> {
        let k = self.folds;
        check_groups("GroupKFold", groups, length(y))?;
        let mut sizes: BTreeMap<i64, usize> = BTreeMap::new();
        groups.iter().for_each(|&group| *sizes.entry(group).or_default() += 1);
        if k > sizes.len() {
            let problem = format!("{k} folds, but there are only {} groups", sizes.len());
            return Err(LearnError::data("GroupKFold", problem, format!("ask for at most {} folds", sizes.len())));
        }
        check("GroupKFold", k, sizes.len())?;
        let mut largest: Vec<(i64, usize)> = sizes.into_iter().collect();
        largest.sort_by_key(|&(_, size)| size);
        let (mut weights, mut homes) = (vec![0; k], BTreeMap::new());
        for (group, size) in largest.into_iter().rev() {
            let fold = (0..k).min_by_key(|&fold| weights[fold]).unwrap_or(0);
            weights[fold] += size;
            homes.insert(group, fold);
        }
        let numbers: Vec<usize> = groups.iter().map(|group| homes[group]).collect();
        Ok(folds_of(&numbers, k))
    }
}
by_groups!(GroupKFold);

/// Group indices in ascending order of the groups, and the number of groups.
fn indices(who: &'static str, groups: &[i64], n: usize) -> Result<(Vec<usize>, usize)> {
    check_groups(who, groups, n)?;
    let mut known: BTreeMap<i64, usize> = groups.iter().map(|&group| (group, 0)).collect();
    known.values_mut().enumerate().for_each(|(index, own)| *own = index);
    if known.len() < 2 {
        let problem = format!("the samples have {} group; at least 2 are needed", known.len());
        return Err(LearnError::data(who, problem, "give other groups, or split by samples with `KFold`"));
    }
    Ok((groups.iter().map(|group| known[group]).collect(), known.len()))
}

/// The split whose test part has the groups for which `tested` is set.
fn fold(indices: &[usize], tested: &[bool]) -> Fold {
    let (test, train) = (0..indices.len()).partition(|&sample| tested[indices[sample]]);
    Fold { train, test }
}

/// One fold per group: each group is predicted by a model trained on all others.
#[derive(Clone, Debug)]
pub struct LeaveOneGroupOut {
    groups: Option<Vec<i64>>,
}

impl LeaveOneGroupOut {
    /// Creates a splitter with these groups.
    pub fn new(groups: &[i64]) -> LeaveOneGroupOut {
        LeaveOneGroupOut { groups: Some(groups.to_vec()) }
    }

    /// Creates a splitter that uses the groups of the samples.
    pub fn from_samples() -> LeaveOneGroupOut {
        LeaveOneGroupOut { groups: None }
    }

    fn divide(&self, y: &Tensor, groups: &[i64]) -> Result<Vec<Fold>> {
        let (indices, count) = indices("LeaveOneGroupOut", groups, length(y))?;
        Ok(folds_of(&indices, count))
    }
}
by_groups!(LeaveOneGroupOut);

/// All splits whose test part has exactly p groups.
#[derive(Clone, Debug)]
pub struct LeavePGroupsOut {
    p: usize,
    groups: Option<Vec<i64>>,
}

/// Maximum total number of samples over all splits.
const MAX_TOTAL_SAMPLES: u128 = 100_000_000;

impl LeavePGroupsOut {
    /// Creates a splitter with these groups that tests on `p` groups, from 1 to one less than there are.
    pub fn new(p: usize, groups: &[i64]) -> LeavePGroupsOut {
        LeavePGroupsOut { p, groups: Some(groups.to_vec()) }
    }

    /// Creates a splitter that uses the groups of the samples and tests on `p` groups.
    pub fn from_samples(p: usize) -> LeavePGroupsOut {
        LeavePGroupsOut { p, groups: None }
    }

    fn divide(&self, y: &Tensor, groups: &[i64]) -> Result<Vec<Fold>> {
        const WHO: &str = "LeavePGroupsOut";
        let ((indices, count), p) = (indices(WHO, groups, length(y))?, self.p);
        if p == 0 || p >= count {
            return Err(LearnError::parameter(WHO, format!("{p} of {count} groups; give 1 to {}", count - 1)));
        }
        let mut splits: u128 = 1;
        for k in 0..p.min(count - p) {
            splits = splits * (count - k) as u128 / (k + 1) as u128;
            if splits * indices.len() as u128 > MAX_TOTAL_SAMPLES {
                let problem = format!("leaving out {p} of {count} groups gives too many splits");
                return Err(LearnError::data(WHO, problem, "choose a smaller p, or `GroupShuffleSplit`"));
            }
        }
        let mut chosen: Vec<usize> = (0..p).collect();
        let mut folds = Vec::with_capacity(splits as usize);
        loop {
            let mut tested = vec![false; count];
            chosen.iter().for_each(|&group| tested[group] = true);
            folds.push(fold(&indices, &tested));
            // The next combination in lexicographic order.
            let Some(index) = (0..p).rev().find(|&index| chosen[index] < count - p + index) else { return Ok(folds) };
            chosen[index] += 1;
            (index + 1..p).for_each(|later| chosen[later] = chosen[later - 1] + 1);
        }
    }
}
by_groups!(LeavePGroupsOut);

/// Independent random splits by groups.
#[derive(Clone, Debug)]
pub struct GroupShuffleSplit {
    splits: usize,
    test: Size,
    seed: u64,
    groups: Option<Vec<i64>>,
}

impl GroupShuffleSplit {
    /// Creates a splitter with `splits` random splits and a test part of this number or fraction of groups.
    pub fn new(splits: usize, test: impl Into<Size>, seed: u64, groups: &[i64]) -> GroupShuffleSplit {
        GroupShuffleSplit { splits, test: test.into(), seed, groups: Some(groups.to_vec()) }
    }

    /// Like [`GroupShuffleSplit::new`], using the groups of the samples.
    pub fn from_samples(splits: usize, test: impl Into<Size>, seed: u64) -> GroupShuffleSplit {
        GroupShuffleSplit { splits, test: test.into(), seed, groups: None }
    }

    fn divide(&self, y: &Tensor, groups: &[i64]) -> Result<Vec<Fold>> {
        const WHO: &str = "GroupShuffleSplit";
        if self.splits == 0 {
            return Err(LearnError::parameter(WHO, "0 splits; give at least 1"));
        }
        let (indices, count) = indices(WHO, groups, length(y))?;
        let wanted = self.test.of(WHO, count, "groups")?;
        if wanted >= count {
            let problem = format!("{wanted} of {count} groups for the test leave none for training");
            return Err(LearnError::parameter(WHO, format!("{problem}; make the test part smaller")));
        }
        let one = |key: Key| {
            let mut tested = vec![false; count];
            order(key, count)[..wanted].iter().for_each(|&group| tested[group] = true);
            fold(&indices, &tested)
        };
        Ok(Key::new(self.seed).split(self.splits).into_iter().map(one).collect())
    }
}
by_groups!(GroupShuffleSplit);

/// k folds that keep groups together and, as far as possible, have the same class proportions.
///
/// Groups with the most unbalanced classes are assigned first, each to the fold that minimizes the spread of the class
/// proportions over the folds; ties go to the smallest fold.
///
/// ```
/// use tove_learn::selection::{Splitter, StratifiedGroupKFold};
/// use tove_tensor::Tensor;
/// let (y, groups) = (Tensor::from([0i64, 0, 1, 1, 0, 1]), [1, 1, 2, 2, 3, 4]);
/// let folds = StratifiedGroupKFold::new(2, &groups).split(&y)?;
/// assert_eq!((&folds[0].test[..], &folds[1].test[..]), (&[0, 1, 5][..], &[2, 3, 4][..]));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StratifiedGroupKFold {
    folds: usize,
    groups: Option<Vec<i64>>,
    key: Option<Key>,
}

impl StratifiedGroupKFold {
    /// Creates a splitter with this many folds, at least 2, and these groups.
    pub fn new(folds: usize, groups: &[i64]) -> StratifiedGroupKFold {
        StratifiedGroupKFold { folds, groups: Some(groups.to_vec()), key: None }
    }

    /// Creates a splitter with this many folds that uses the groups of the samples.
    pub fn from_samples(folds: usize) -> StratifiedGroupKFold {
        StratifiedGroupKFold { folds, groups: None, key: None }
    }

    /// Shuffles the groups first, which breaks ties between equally unbalanced groups.
    #[must_use]
    pub fn shuffled(self, seed: u64) -> StratifiedGroupKFold {
        StratifiedGroupKFold { key: Some(Key::new(seed)), ..self }
    }
}

/// The standard deviation with n in the denominator.
fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / n).sqrt()
}

impl StratifiedGroupKFold {
    fn divide(&self, y: &Tensor, by: &[i64]) -> Result<Vec<Fold>> {
        const WHO: &str = "StratifiedGroupKFold";
        let (n, k) = (length(y), self.folds);
        check(WHO, k, n)?;
        let labels = Labels::of(WHO, y)?;
        let (indices, count) = indices(WHO, by, n)?;
        if k > count {
            let problem = format!("{k} folds, but there are only {count} groups");
            return Err(LearnError::data(WHO, problem, format!("ask for at most {count} folds")));
        }
        let classes = labels.classes().len();
        let (mut sizes, mut of_group) = (vec![0.0; classes], vec![vec![0.0; classes]; count]);
        for (&group, &class) in indices.iter().zip(labels.codes()) {
            sizes[class] += 1.0;
            of_group[group][class] += 1.0;
        }
        let largest = sizes.iter().fold(0.0, |max: f64, &size| max.max(size));
        if k as f64 > largest {
            let problem = format!("{k} folds, but no class has more than {largest} samples");
            return Err(LearnError::data(WHO, problem, "ask for fewer folds"));
        }
        let mut groups = self.key.map_or_else(|| (0..count).collect(), |key| order(key, count));
        let unequal: Vec<f64> = of_group.iter().map(|counts| spread(counts.iter().copied())).collect();
        groups.sort_by(|&a, &b| unequal[b].total_cmp(&unequal[a]));
        let (mut of_fold, mut home) = (vec![vec![0.0; classes]; k], vec![0; count]);
        for group in groups {
            home[group] = best_fold(&mut of_fold, &sizes, &of_group[group]);
            add(&mut of_fold[home[group]], &of_group[group], 1.0);
        }
        Ok(folds_of(&indices.iter().map(|&group| home[group]).collect::<Vec<_>>(), k))
    }
}
by_groups!(StratifiedGroupKFold);

fn add(counts: &mut [f64], more: &[f64], sign: f64) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += sign * more);
}

/// The fold that a group with these class counts is assigned to.
fn best_fold(of_fold: &mut [Vec<f64>], sizes: &[f64], group: &[f64]) -> usize {
    let (mut best, mut least, mut smallest) = (0, f64::INFINITY, f64::INFINITY);
    for fold in 0..of_fold.len() {
        add(&mut of_fold[fold], group, 1.0);
        let of_class = |class: usize| spread(of_fold.iter().map(|counts| counts[class] / sizes[class]));
        let mean = (0..sizes.len()).map(of_class).sum::<f64>() / sizes.len() as f64;
        add(&mut of_fold[fold], group, -1.0);
        let samples: f64 = of_fold[fold].iter().sum();
        let equal = (mean - least).abs() <= 1e-8 + 1e-5 * least;
        if mean < least || (least.is_finite() && equal && samples < smallest) {
            (best, least, smallest) = (fold, mean, samples);
        }
    }
    best
}
