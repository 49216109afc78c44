//! Scores of predictions, with what is known about their accuracy.
//!
//! Names, conventions and values follow scikit-learn (truth first, then prediction, then sample weights), except that
//! cases in which scikit-learn warns and returns a fallback value are errors here: no samples, a single class where two
//! are needed, probabilities that do not sum to 1.
//!
//! | module | scores |
//! |---|---|
//! | [`classification`] | accuracy, top-k accuracy, precision, recall, F1 |
//! | [`overlap`] | F-beta, Jaccard |
//! | [`agreement`] | Matthews correlation, Cohen's kappa, balanced accuracy |
//! | [`clustering`] | adjusted Rand index, normalized and adjusted mutual information, homogeneity, completeness, V-measure |
//! | [`separation`] | silhouette, Davies-Bouldin, Calinski-Harabasz |
//! | [`manifold`] | trustworthiness of a layout in few dimensions |
//! | [`confusion`] | the confusion matrix, printed as a table |
//! | [`probability`] | log loss, Brier score |
//! | [`ranking`] | ROC and precision-recall curves, areas under them, average precision |
//! | [`recommendation`] | precision, recall, NDCG and average precision of the first k items of a list |
//! | [`regression`] | mean squared, absolute, percentage and logarithmic error, largest error, R², explained variance |
//! | [`quantile`] | median absolute error, pinball loss, D² of absolute errors and quantiles |
//! | [`deviance`] | Poisson, Gamma and other Tweedie deviances, their D² |
//! | [`language`] | negative log-likelihood of logits, perplexity, bits per character |
//! | [`calibration`] | reliability bins, expected and largest calibration error, tests of calibration |
//! | [`score`] | [`Score`], Hoeffding's interval, [`Mean`] for training loops |
//! | [`bootstrap`] | intervals of any score by resampling |
//! | [`binomial`] | exact and approximate intervals of a fraction |
//! | [`special`] | the functions behind intervals |
//!
//! ```
//! use tove_metrics::accuracy;
//! use tove_tensor::Tensor;
//! let (truth, guess) = (Tensor::from([0i64, 1, 2, 2]), Tensor::from([0i64, 2, 2, 2]));
//! let score = accuracy(&truth, &guess, None)?;
//! assert_eq!((score.value, score.n), (0.75, 4));
//! assert!(score.low < 0.75 && score.high == 1.0); // four samples tell little
//! # Ok::<(), tove_metrics::MetricError>(())
//! ```

pub mod agreement;
pub mod binomial;
pub mod bootstrap;
pub mod calibration;
pub mod classification;
pub mod clustering;
pub mod confusion;
mod consistency;
pub mod deviance;
mod error;
pub mod language;
pub mod manifold;
pub mod overlap;
pub mod probability;
pub mod quantile;
pub mod ranking;
mod read;
pub mod recommendation;
pub mod regression;
pub mod score;
pub mod separation;
pub mod special;

pub use agreement::{KappaWeights, balanced_accuracy, cohen_kappa, matthews_corrcoef};
pub use binomial::{clopper_pearson, wilson};
pub use bootstrap::{Bootstrap, BootstrapMethod};
pub use calibration::{Binning, CalibrationBin, ReliabilityBins, spiegelhalter_z};
pub use classification::{
    Average, ClassScores, accuracy, class_scores, f1, precision, precision_recall_f1, recall, top_k_accuracy,
};
pub use clustering::{
    Homogeneity, adjusted_mutual_info_score, adjusted_rand_score, homogeneity_completeness_v_measure,
    normalized_mutual_info_score,
};
pub use confusion::ConfusionMatrix;
pub use deviance::{d2_tweedie_score, mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance};
pub use error::{MetricError, Result};
pub use language::{bits_per_character, negative_log_likelihood, perplexity};
pub use manifold::trustworthiness;
pub use overlap::{fbeta, jaccard};
pub use probability::{brier_score, log_loss};
pub use quantile::{d2_absolute_error_score, d2_pinball_score, mean_pinball_loss, median_absolute_error};
pub use ranking::{
    PrecisionRecallCurve, RocCurve, average_precision, precision_recall_auc, precision_recall_curve, roc_auc,
    roc_auc_one_vs_rest, roc_curve,
};
pub use recommendation::{average_precision_at_k, ndcg_at_k, precision_at_k, recall_at_k};
pub use regression::{
    explained_variance, max_error, mean_absolute_error, mean_absolute_percentage_error, mean_squared_error,
    mean_squared_log_error, r2_score, root_mean_squared_error,
};
pub use score::{Mean, Score, hoeffding, hoeffding_union};
pub use separation::{calinski_harabasz_score, davies_bouldin_score, silhouette_samples, silhouette_score};
