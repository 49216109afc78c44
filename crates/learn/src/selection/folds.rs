//! Cross-validation folds: which samples to train on and which to test on.
//!
//! Without shuffling, the folds equal those of scikit-learn.
//!
//! ```
//! use tove_learn::selection::{KFold, Splitter};
//! use tove_tensor::{DType, Tensor};
//! let folds = KFold::new(3).split(&Tensor::zeros([7], DType::F64))?;
//! let tests: Vec<&[usize]> = folds.iter().map(|fold| &fold.test[..]).collect();
//! assert_eq!(tests, [&[0, 1, 2][..], &[3, 4], &[5, 6]]);
//! assert_eq!(folds[1].train, [0, 1, 2, 5, 6]);
//! assert!(KFold::new(1).split(&Tensor::zeros([7], DType::F64)).is_err());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{DType, Key, Tensor};

use crate::{Labels, LearnError, Result, Samples};

/// One train/test split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The training samples, ascending.
    pub train: Vec<usize>,
    /// The test samples.
    pub test: Vec<usize>,
}

/// A cross-validation splitter.
pub trait Splitter: Send + Sync {
    /// Returns the splits of samples with these targets.
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>>;

    /// Returns the splits of samples; group splitters without their own groups use those of the samples.
    fn split_samples(&self, samples: &Samples) -> Result<Vec<Fold>> {
        self.split(&to_split(samples)?)
    }
}

/// The targets, or zeros if there are none.
pub(super) fn to_split(samples: &Samples) -> Result<Tensor> {
    match samples.targets() {
        Some(y) => Ok(y.clone()),
        None => Ok(Tensor::try_zeros([samples.len()], DType::F64)?),
    }
}

impl<S: Splitter + ?Sized> Splitter for Box<S> {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        (**self).split(y)
    }

    fn split_samples(&self, samples: &Samples) -> Result<Vec<Fold>> {
        (**self).split_samples(samples)
    }
}

/// Number of samples.
pub(super) fn length(y: &Tensor) -> usize {
    y.dims().first().copied().unwrap_or(0)
}

/// A random permutation of n indices.
pub(crate) fn order(key: Key, n: usize) -> Vec<usize> {
    tove_tensor::random::permutation(key, n).into_iter().map(|index| index as usize).collect()
}

/// Creates folds from the fold number of each sample.
pub(super) fn folds_of(numbers: &[usize], k: usize) -> Vec<Fold> {
    let indices = |fold: usize, inside: bool| {
        let of = numbers.iter().enumerate().filter(move |&(_, &number)| (number == fold) == inside);
        of.map(|(index, _)| index).collect()
    };
    (0..k).map(|fold| Fold { train: indices(fold, false), test: indices(fold, true) }).collect()
}

pub(super) fn check(who: &'static str, k: usize, n: usize) -> Result<()> {
    if k < 2 {
        return Err(LearnError::parameter(
            who,
            format!("{k} folds; at least 2 are needed, one to train on and one to test on"),
        ));
    }
    if k > n {
        let fix = format!("ask for at most {n} folds");
        return Err(LearnError::TooFew { who, found: n, needed: k, fix });
    }
    Ok(())
}

macro_rules! shuffling {
    ($type:ident) => {
        impl $type {
            /// Creates a splitter with this many folds, at least 2, without shuffling.
            pub fn new(folds: usize) -> $type {
                $type { folds, key: None }
            }

            /// Shuffles the samples first, with this seed.
            #[must_use]
            pub fn shuffled(self, seed: u64) -> $type {
                self.keyed(Key::new(seed))
            }

            fn keyed(self, key: Key) -> $type {
                $type { key: Some(key), ..self }
            }
        }
    };
}

/// k folds of (nearly) equal size: the first n mod k have one more sample.
#[derive(Clone, Debug)]
pub struct KFold {
    folds: usize,
    key: Option<Key>,
}
shuffling!(KFold);

impl Splitter for KFold {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        let (n, k) = (length(y), self.folds);
        check("KFold", k, n)?;
        let indices = self.key.map_or_else(|| (0..n).collect(), |key| order(key, n));
        let mut numbers = vec![0; n];
        let mut start = 0;
        for fold in 0..k {
            let size = n / k + usize::from(fold < n % k);
            indices[start..start + size].iter().for_each(|&index| numbers[index] = fold);
            start += size;
        }
        Ok(folds_of(&numbers, k))
    }
}

/// k folds with the same class proportions.
#[derive(Clone, Debug)]
pub struct StratifiedKFold {
    folds: usize,
    key: Option<Key>,
}
shuffling!(StratifiedKFold);

impl Splitter for StratifiedKFold {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        const WHO: &str = "StratifiedKFold";
        let (n, k) = (length(y), self.folds);
        check(WHO, k, n)?;
        let labels = Labels::of(WHO, y)?;
        let codes = by_appearance(labels.codes(), labels.classes().len());
        let classes = labels.classes().len();
        let mut members = vec![Vec::new(); classes];
        codes.iter().enumerate().for_each(|(index, &code)| members[code].push(index));
        let largest = members.iter().map(Vec::len).max().unwrap_or(0);
        if k > largest {
            let problem = format!("{k} folds, but no class has more than {largest} samples");
            return Err(LearnError::data(WHO, problem, "ask for fewer folds"));
        }
        // Samples sorted by class are dealt to the folds in turn, which gives the number of samples of each class in
        // each fold.
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        let mut numbers = vec![0; n];
        for (code, members) in members.iter().enumerate() {
            let shares = (0..k).map(|fold| sorted.iter().skip(fold).step_by(k).filter(|&&other| other == code).count());
            let mut assigned: Vec<usize> = shares.enumerate().flat_map(|(fold, share)| vec![fold; share]).collect();
            if let Some(key) = self.key {
                assigned =
                    order(key.fold(code as u64), assigned.len()).into_iter().map(|index| assigned[index]).collect();
            }
            members.iter().zip(assigned).for_each(|(&index, fold)| numbers[index] = fold);
        }
        Ok(folds_of(&numbers, k))
    }
}

/// Codes renumbered in order of first appearance.
fn by_appearance(codes: &[usize], classes: usize) -> Vec<usize> {
    let (mut names, mut next) = (vec![usize::MAX; classes], 0);
    let number = |&code: &usize| {
        if names[code] == usize::MAX {
            names[code] = next;
            next += 1;
        }
        names[code]
    };
    codes.iter().map(number).collect()
}

macro_rules! repeated {
    ($(#[$doc:meta])* $type:ident, $inner:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $type {
            folds: usize,
            repeats: usize,
            seed: u64,
        }

        impl $type {
            /// Creates a splitter with `folds` folds, repeated `repeats` times with different permutations drawn from
            /// the seed.
            pub fn new(folds: usize, repeats: usize, seed: u64) -> $type {
                $type { folds, repeats, seed }
            }
        }

        impl Splitter for $type {
            fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
                if self.repeats == 0 {
                    return Err(LearnError::parameter(stringify!($type), "0 repeats; give at least 1"));
                }
                let mut all = Vec::new();
                for key in Key::new(self.seed).split(self.repeats) {
                    all.extend($inner::new(self.folds).keyed(key).split(y)?);
                }
                Ok(all)
            }
        }
    };
}

repeated!(
    /// [`KFold`] repeated several times, with a new shuffle each time.
    RepeatedKFold,
    KFold
);
repeated!(
    /// [`StratifiedKFold`] repeated several times, with a new shuffle each time.
    RepeatedStratifiedKFold,
    StratifiedKFold
);

/// One fold per sample: each sample is predicted by a model trained on all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaveOneOut;

impl Splitter for LeaveOneOut {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        KFold::new(length(y)).split(y)
    }
}

/// Predefined splits, for example with a given validation set.
#[derive(Clone, Debug)]
pub struct PredefinedFolds {
    folds: Vec<Fold>,
}

impl PredefinedFolds {
    /// Creates a splitter from these splits.
    pub fn new(folds: Vec<Fold>) -> PredefinedFolds {
        PredefinedFolds { folds }
    }
}

impl Splitter for PredefinedFolds {
    fn split(&self, y: &Tensor) -> Result<Vec<Fold>> {
        let n = length(y);
        if self.folds.is_empty() {
            return Err(LearnError::parameter("PredefinedFolds", "no folds; give at least one"));
        }
        for (number, fold) in self.folds.iter().enumerate() {
            if fold.train.is_empty() || fold.test.is_empty() {
                let part = if fold.train.is_empty() { "training" } else { "test" };
                let problem = format!("the {part} part of fold {number} is empty; give each part at least one sample");
                return Err(LearnError::parameter("PredefinedFolds", problem));
            }
            let mut seen = vec![false; n];
            for &index in fold.train.iter().chain(&fold.test) {
                if index >= n || seen[index] {
                    let problem = format!(
                        "sample {index} is duplicated in a fold, or there are only {n} samples; keep the parts disjoint"
                    );
                    return Err(LearnError::parameter("PredefinedFolds", problem));
                }
                seen[index] = true;
            }
        }
        Ok(self.folds.clone())
    }
}
