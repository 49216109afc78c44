//! Drift: do new rows come from the distribution of the training rows?
//!
//! At fit time a [`TrainingProfile`] keeps what the comparison needs: per column the kind, the missing share, category
//! counts, and a random sample of at most a few thousand rows. [`DriftReport`] compares new rows with it:
//!
//! | question | test | effect size |
//! |---|---|---|
//! | has a numeric column changed? | [`two_sample_kolmogorov`] | [`wasserstein`], [`stability_index`] |
//! | has a categorical column changed? | [`pooled_chi_square`]; categories never seen are named | [`stability_index`] |
//! | are values missing more often? | [`fisher_exact`] | difference of the shares |
//! | have the columns changed jointly? | [`domain_classifier`] | area under its ROC curve |
//!
//! The p-values of all columns are corrected together ([`holm`] or [`benjamini_hochberg`]). **Assumption:** within each of
//! the two sets the rows are independent; with dependent rows (time series, several rows of a person) there are more false
//! alarms than the level says. Drift of the target given the features (the same rows, other answers) cannot be seen without
//! targets.
//!
//! ```
//! use tove_trust::drift::{DataColumn, DriftReport, ProfileOptions, TrainingProfile};
//! let ages = |from: usize| DataColumn::numbers("age", (0..200).map(|i| (from + i % 50) as f64).collect());
//! let plan = |yes: usize| DataColumn::categories("plan", (0..200).map(|i| Some(if i < yes { "a" } else { "b" })));
//! let profile = TrainingProfile::new(&[ages(20), plan(100)], &ProfileOptions::default())?;
//! let same = DriftReport::new(&profile, &[ages(20), plan(104)], &Default::default())?;
//! assert!(same.drifted().next().is_none());
//! let other = DriftReport::new(&profile, &[ages(40), plan(100)], &Default::default())?;
//! assert_eq!(other.drifted().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["age"]);
//! # Ok::<(), tove_trust::TrustError>(())
//! ```

mod domain;
mod effects;
mod encode;
mod json;
mod kolmogorov;
mod profile;
mod report;
mod shares;
mod verdict;

pub use domain::{DomainClassifier, DomainOptions, compare_domains, domain_classifier};
pub use effects::{stability_index, wasserstein};
pub use kolmogorov::{kolmogorov_asymptotic, kolmogorov_exact, two_sample_kolmogorov};
pub use profile::{ColumnProfile, DataColumn, DataValues, ProfileOptions, ProfiledValues, TrainingProfile};
pub use report::{ColumnDrift, Correction, DriftOptions, DriftReport};
pub use shares::{PooledChiSquare, benjamini_hochberg, fisher_exact, holm, pooled_chi_square};
pub use verdict::DriftVerdict;
