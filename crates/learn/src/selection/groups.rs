//! Divisions that keep the samples of a group together: patients, users, sites.
//!
//! Groups that are in training and test part at once make scores too good: the model recognizes the group. All rules here put
//! each group into one part.
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

use super::folds::{Fold, Splitter, check, check_groups, folds_of, length, order};
use super::split::Size;
use crate::{Labels, LearnError, Result};

/// Groups as places among those that occur, in ascending order, and how many there are.
fn places(who: &'static str, groups: &[i64], n: usize) -> Result<(Vec<usize>, usize)> {
    check_groups(who, groups, n)?;
    let mut known: BTreeMap<i64, usize> = groups.iter().map(|&group| (group, 0)).collect();
    known.values_mut().enumerate().for_each(|(place, own)| *own = place);
    if known.len() < 2 {
        let problem = format!("all samples are of {} group; at least 2 are needed", known.len());
        return Err(LearnError::data(who, problem, "give other groups, or divide by samples, as `KFold` does"));
    }
    Ok((groups.iter().map(|group| known[group]).collect(), known.len()))
}

/// The division whose test part has the groups for which `tested` is set.
fn fold(places: &[usize], tested: &[bool]) -> Fold {
    let (test, train) = (0..places.len()).partition(|&sample| tested[places[sample]]);
    Fold { train, test }
}

/// As many folds as groups: each group is judged by a model that learned from all others.
#[derive(Clone, Debug)]
pub struct LeaveOneGroupOut {
    groups: Vec<i64>,
}

impl LeaveOneGroupOut {
    /// Folds of samples with these groups.
    pub fn new(groups: &[i64]) -> LeaveOneGroupOut {
        LeaveOneGroupOut { groups: groups.to_vec() }
    }
}

impl Splitter for LeaveOneGroupOut {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        let (places, count) = places("LeaveOneGroupOut", &self.groups, length(y))?;
        Ok(folds_of(&places, count))
    }
}

/// All divisions whose test part has exactly p groups.
#[derive(Clone, Debug)]
pub struct LeavePGroupsOut {
    p: usize,
    groups: Vec<i64>,
}

/// Samples over all divisions, beyond which the list is not made.
const MOST: u128 = 100_000_000;

impl LeavePGroupsOut {
    /// Divisions of samples with these groups that leave `p` groups for the test, from 1 to one less than there are.
    pub fn new(p: usize, groups: &[i64]) -> LeavePGroupsOut {
        LeavePGroupsOut { p, groups: groups.to_vec() }
    }
}

impl Splitter for LeavePGroupsOut {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        const WHO: &str = "LeavePGroupsOut";
        let ((places, count), p) = (places(WHO, &self.groups, length(y))?, self.p);
        if p == 0 || p >= count {
            return Err(LearnError::parameter(WHO, format!("{p} of {count} groups; give 1 to {}", count - 1)));
        }
        let mut divisions: u128 = 1;
        for k in 0..p.min(count - p) {
            divisions = divisions * (count - k) as u128 / (k + 1) as u128;
            if divisions * places.len() as u128 > MOST {
                let problem = format!("leaving out {p} of {count} groups gives too many divisions");
                return Err(LearnError::data(WHO, problem, "choose a smaller p, or `GroupShuffleSplit`"));
            }
        }
        let mut chosen: Vec<usize> = (0..p).collect();
        let mut folds = Vec::with_capacity(divisions as usize);
        loop {
            let mut tested = vec![false; count];
            chosen.iter().for_each(|&group| tested[group] = true);
            folds.push(fold(&places, &tested));
            // The next choice in the order of a dictionary.
            let Some(place) = (0..p).rev().find(|&place| chosen[place] < count - p + place) else { return Ok(folds) };
            chosen[place] += 1;
            (place + 1..p).for_each(|later| chosen[later] = chosen[later - 1] + 1);
        }
    }
}

/// Random divisions of the groups, each drawn anew.
#[derive(Clone, Debug)]
pub struct GroupShuffleSplit {
    splits: usize,
    test: Size,
    seed: u64,
    groups: Vec<i64>,
}

impl GroupShuffleSplit {
    /// This many divisions with a test part of so many groups, or of this share of them, drawn from the seed.
    pub fn new(splits: usize, test: impl Into<Size>, seed: u64, groups: &[i64]) -> GroupShuffleSplit {
        GroupShuffleSplit { splits, test: test.into(), seed, groups: groups.to_vec() }
    }
}

impl Splitter for GroupShuffleSplit {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        const WHO: &str = "GroupShuffleSplit";
        if self.splits == 0 {
            return Err(LearnError::parameter(WHO, "0 divisions; give at least 1"));
        }
        let (places, count) = places(WHO, &self.groups, length(y))?;
        let wanted = self.test.of(WHO, count, "groups")?;
        if wanted >= count {
            let problem = format!("{wanted} of {count} groups for the test leave none to learn from");
            return Err(LearnError::parameter(WHO, format!("{problem}; make the test part smaller")));
        }
        let one = |key: Key| {
            let mut tested = vec![false; count];
            order(key, count)[..wanted].iter().for_each(|&group| tested[group] = true);
            fold(&places, &tested)
        };
        Ok(Key::new(self.seed).split(self.splits).into_iter().map(one).collect())
    }
}

/// k folds that keep groups together and have, as far as that allows, the same shares of classes.
///
/// Groups whose classes are the most unequal are placed first, each into the fold that leaves the shares of the classes over
/// the folds least spread; among equally good folds into the smallest.
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
    groups: Vec<i64>,
    key: Option<Key>,
}

impl StratifiedGroupKFold {
    /// This many folds, at least 2, of samples with these groups.
    pub fn new(folds: usize, groups: &[i64]) -> StratifiedGroupKFold {
        StratifiedGroupKFold { folds, groups: groups.to_vec(), key: None }
    }

    /// Shuffles the groups first, which decides between groups with equally unequal classes.
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

impl Splitter for StratifiedGroupKFold {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        const WHO: &str = "StratifiedGroupKFold";
        let (n, k) = (length(y), self.folds);
        check(WHO, k, n)?;
        let labels = Labels::of(WHO, y)?;
        let (places, count) = places(WHO, &self.groups, n)?;
        if k > count {
            let problem = format!("{k} folds, but there are only {count} groups");
            return Err(LearnError::data(WHO, problem, format!("ask for at most {count} folds")));
        }
        let classes = labels.classes().len();
        let (mut sizes, mut of_group) = (vec![0.0; classes], vec![vec![0.0; classes]; count]);
        for (&group, &class) in places.iter().zip(labels.codes()) {
            sizes[class] += 1.0;
            of_group[group][class] += 1.0;
        }
        let largest = sizes.iter().fold(0.0, |most: f64, &size| most.max(size));
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
        Ok(folds_of(&places.iter().map(|&group| home[group]).collect::<Vec<_>>(), k))
    }
}

fn add(counts: &mut [f64], more: &[f64], sign: f64) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += sign * more);
}

/// The fold to which a group with these counts of classes is added.
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
