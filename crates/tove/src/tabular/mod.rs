//! From a table to a fitted model that knows its own columns.
//!
//! A [`TabularModel`] holds the schema of the table it was fitted on, the encoder that turns rows into numbers, and a model
//! of [`learn`](crate::learn); it is saved to one file and loaded from it. [`Plan`] fits it: columns get their roles,
//! rows are split, candidates are compared on the training rows (on growing parts of them if there are many, then by
//! cross-validation), always with an encoder fitted to the rows at hand, and the best one is evaluated on held-out rows.
//!
//! ```
//! use tove::learn::registry;
//! use tove::tabular::{Candidate, Plan, TabularModel};
//! let (table, _) = tove::data::table::CsvOptions::new().read_bytes(tove_data_iris())?;
//! # fn tove_data_iris() -> &'static [u8] {
//! #     b"size,color,kind\n1,red,a\n2,red,a\n3,blue,b\n4,blue,b\n1.5,red,a\n2.5,red,a\n3.5,blue,b\n4.5,blue,b\n1,red,a\n4,blue,b\n"
//! # }
//! let candidate = Candidate::named("LogisticRegression")?;
//! let outcome = Plan::new("kind").test_size(0.2).folds(0).fit(&table, &[candidate], &mut |_| {})?;
//! let predictions = outcome.model.predict(&table)?;
//! assert_eq!(predictions.column.text(0).as_deref(), Some("a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attack;
mod batch;
mod batch_invariant;
mod calibrate;
mod candidates;
mod cluster;
mod cluster_profile;
mod conformal;
mod counterfactual;
mod data_warnings;
mod error;
mod evaluate;
mod evaluator;
mod fair;
mod fingerprint;
mod fit;
mod grouping;
mod inspection;
mod model;
mod outcome;
mod package;
mod plan;
mod prepared;
mod profile;
mod ratings;
mod recommend;
mod recommender;
mod reduce;
mod reduced;
mod row_context;
mod safeguards;
mod scores;
mod search;
mod shapley;
mod source;
mod split;
mod stream;
mod unlabeled;
mod weights;

pub use attack::{AttackedTable, CellAttack};
pub use batch::Answers;
pub use candidates::{Candidate, streaming_candidate, usual_candidates};
pub use cluster::{ClusterCount, ClusterOutcome, ClusterPlan, drawn_rows};
pub use cluster_profile::{ClusterProfile, ClusterTrait};
pub use conformal::CoveragePlan;
pub use counterfactual::{CellChange, RowCounterfactual};
pub use data_warnings::{DataWarning, Spelling, spelling_of};
pub use error::{Result, TabularError};
pub use evaluator::{EvaluationReport, Evaluator};
pub use grouping::Grouping;
pub use inspection::{Grid, Importance, PartialDependence, PermutationImportance};
pub use model::{ColumnCounts, Predictions, TabularModel};
pub use outcome::{BudgetLimit, CandidateResult, Event, LearningPoint, Outcome, Streamed, SubsampleFit};
pub use plan::{Division, Plan};
pub use recommend::{BesideBaseline, LISTED, RecommendOutcome, RecommendPlan, TriedSettings};
pub use recommender::{RatingColumns, RecommendedItem, Recommender};
pub use reduce::{Plane, ReduceOutcome, ReducePlan, ScaledComponents, ScalingEffect, TableComponent};
pub use reduced::ReducedTable;
pub use row_context::RowContext;
pub use safeguards::{CoverageRule, DecisionRule, Regions, Safeguards};
#[cfg(feature = "images")]
pub(crate) use scores::scores_of_evaluation;
pub use scores::{NamedScore, scores_of};
pub use shapley::{Contribution, RowExplanation};
pub use source::TableSource;
pub use unlabeled::LeftOut;
pub use weights::ClassWeights;
