//! Model selection and evaluation without leakage from the test set.
//!
//! Data are split once into [`Train`] and [`Test`]. Everything that selects models (grids, curves) takes `Train` only,
//! and `Test` is consumed by a single evaluation.
//!
//! ```
//! use tove_learn::selection::{Grid, GridSearch, KFold, Scorer, Split, train_test_split};
//! use tove_learn::{DummyRegressor, Fit, Samples};
//! use tove_tensor::{DType, Key, Tensor};
//! let (x, y) = (Key::new(1).normal([40, 2], DType::F64), Key::new(2).normal([40], DType::F64));
//! let (train, test) = train_test_split(&Samples::new(&x, &y)?, &Split::test(0.25))?;
//! let grid = Grid::new().over("strategy", ["mean", "median"]);
//! let search = GridSearch::new(DummyRegressor::default(), grid)
//!     .folds(KFold::new(5))
//!     .scorer(Scorer::NegMeanAbsoluteError)
//!     .fit_samples(&train)?;
//! assert_eq!(search.trials().len(), 2);
//! let score = test.judge(&search, Scorer::NegMeanAbsoluteError)?;
//! assert!(score.value < 0.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! The test set cannot be passed to a search; this does not compile:
//!
//! ```compile_fail,E0308
//! use tove_learn::selection::{Grid, GridSearch, Split, train_test_split};
//! use tove_learn::{DummyRegressor, Fit, Samples};
//! # fn try_it(samples: &Samples) -> tove_learn::Result<()> {
//! let (train, test) = train_test_split(samples, &Split::test(0.25))?;
//! GridSearch::new(DummyRegressor::default(), Grid::new()).fit_samples(&test)?;
//! # Ok(())
//! # }
//! ```

mod bounds;
mod curves;
mod evaluation;
mod folds;
mod grid;
mod groups;
mod parallel;
mod scorer;
mod scoring;
mod search;
mod shuffle;
mod split;
mod table;
mod validate;

pub use bounds::{SelectionGuarantee, hoeffding_probability, hoeffding_union, samples_needed, selection_guarantee};
pub use curves::{CurvePoint, learning_curve, validation_curve};
pub use evaluation::{Answers, Evaluation};
pub use folds::{
    Fold, KFold, LeaveOneOut, PredefinedFolds, RepeatedKFold, RepeatedStratifiedKFold, Splitter, StratifiedKFold,
};
pub use grid::{Candidate, Grid, ParamDistribution, Space};
pub use groups::{GroupKFold, GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut, StratifiedGroupKFold};
pub use scorer::{Inputs, Scorer};
pub use scoring::Scoring;
pub use search::{GridSearch, RandomSearch, SearchOptions};
pub use shuffle::{ShuffleSplit, TimeSeriesSplit};
pub use split::{Parts, Size, Split, Test, Train, Validation, train_test_split, train_validation_test};
pub use table::{SearchResult, Trial};
pub use validate::{CrossValidation, FoldReport, Folded, cross_val_predict, cross_val_score, cross_validate};

pub(crate) use parallel::in_parallel;
