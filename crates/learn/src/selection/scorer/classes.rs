//! Scores of classifiers.

use tove_metrics as metrics;
use tove_metrics::{Average, KappaWeights};
use tove_tensor::{Tensor, TryOps};

use super::{CLASSES, Entry, Inputs, Parameter, Scorer, plain};
use crate::diagnostics::influence::classes;
use crate::selection::Evaluation;
use crate::{LearnError, Result};

scorers! {
/// Accuracy, with a confidence interval.
Accuracy = Entry {
    id: "accuracy",
    label: "accuracy",
    value: |e, _| Ok(metrics::accuracy(e.truth(), e.predictions()?, e.weights())?),
    influence: Some(classes::accuracy),
    ..CLASSES
};
/// Fraction of samples whose class is among the k with the largest scores; k is 2 by default.
TopKAccuracy = Entry {
    id: "top_k_accuracy",
    label: "top-k accuracy",
    parameter: Some(Parameter {
        name: "k",
        default: 2.0,
        fits: |k| k >= 1.0 && k.fract() == 0.0 && k < 1e9,
        range: "an integer of at least 1",
    }),
    inputs: Inputs::Decision,
    value: |e, k| Ok(metrics::top_k_accuracy(&e.codes()?, &class_scores(e)?, k as usize, e.weights())?),
    ..CLASSES
};
/// Mean recall over the classes.
BalancedAccuracy = Entry {
    id: "balanced_accuracy",
    label: "balanced accuracy",
    value: |e, _| Ok(metrics::balanced_accuracy(e.truth(), e.predictions()?, false, e.weights())?),
    influence: Some(classes::recalls),
    ..CLASSES
};
/// Matthews correlation coefficient.
MatthewsCorrcoef = Entry {
    id: "matthews_corrcoef",
    aliases: &["mcc", "matthews"],
    label: "Matthews correlation",
    value: |e, _| Ok(metrics::matthews_corrcoef(e.truth(), e.predictions()?, e.weights())?),
    influence: Some(classes::matthews),
    ..CLASSES
};
/// Cohen's kappa: agreement beyond chance.
CohenKappa = Entry {
    id: "cohen_kappa",
    aliases: &["kappa"],
    label: "Cohen's kappa",
    value: |e, _| kappa(e, KappaWeights::None),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::None)),
    ..CLASSES
};
/// Cohen's kappa for ordered classes, weighted by their distance.
CohenKappaLinear = Entry {
    id: "cohen_kappa_linear",
    label: "linear kappa",
    value: |e, _| kappa(e, KappaWeights::Linear),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::Linear)),
    ..CLASSES
};
/// Cohen's kappa for ordered classes, weighted by their squared distance.
CohenKappaQuadratic = Entry {
    id: "cohen_kappa_quadratic",
    aliases: &["quadratic_kappa", "qwk"],
    label: "quadratic kappa",
    value: |e, _| kappa(e, KappaWeights::Quadratic),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::Quadratic)),
    ..CLASSES
};
/// F1 of the positive class.
F1 = Entry {
    id: "f1",
    label: "F1",
    binary: true,
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::F1, x)),
    ..CLASSES
};
/// Unweighted mean of the F1 of each class.
F1Macro = Entry {
    id: "f1_macro",
    label: "macro F1",
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, Average::Macro, e.weights())?),
    influence: Some(|w, e, x| classes::of_mean(w, e, classes::F1, x)),
    ..CLASSES
};
/// F1 of all decisions together.
F1Micro = Entry {
    id: "f1_micro",
    label: "micro F1",
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, Average::Micro, e.weights())?),
    influence: Some(classes::accuracy),
    ..CLASSES
};
/// Mean of the F1 of each class, weighted by class frequency.
F1Weighted = Entry {
    id: "f1_weighted",
    label: "weighted F1",
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// F-beta of the positive class, in which recall counts β times as much as precision; β is 2 by default.
FBeta = Entry {
    id: "fbeta",
    label: "F-beta",
    parameter: BETA,
    binary: true,
    value: |e, beta| plain(e, metrics::fbeta(e.truth(), e.predictions()?, beta, positive(e)?, e.weights())?),
    influence: Some(|w, e, beta| classes::of_positive(w, e, classes::F_BETA, beta)),
    ..CLASSES
};
/// Unweighted mean of the F-beta of each class; β is 2 by default.
FBetaMacro = Entry {
    id: "fbeta_macro",
    label: "macro F-beta",
    parameter: BETA,
    value: |e, beta| plain(e, metrics::fbeta(e.truth(), e.predictions()?, beta, Average::Macro, e.weights())?),
    influence: Some(|w, e, beta| classes::of_mean(w, e, classes::F_BETA, beta)),
    ..CLASSES
};
/// Precision of the positive class.
Precision = Entry {
    id: "precision",
    label: "precision",
    binary: true,
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::PRECISION, x)),
    ..CLASSES
};
/// Unweighted mean of the precision of each class.
PrecisionMacro = Entry {
    id: "precision_macro",
    label: "macro precision",
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, Average::Macro, e.weights())?),
    influence: Some(|w, e, x| classes::of_mean(w, e, classes::PRECISION, x)),
    ..CLASSES
};
/// Precision of all decisions together.
PrecisionMicro = Entry {
    id: "precision_micro",
    label: "micro precision",
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, Average::Micro, e.weights())?),
    influence: Some(classes::accuracy),
    ..CLASSES
};
/// Mean of the precision of each class, weighted by class frequency.
PrecisionWeighted = Entry {
    id: "precision_weighted",
    label: "weighted precision",
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// Recall of the positive class.
Recall = Entry {
    id: "recall",
    label: "recall",
    binary: true,
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::RECALL, x)),
    ..CLASSES
};
/// Unweighted mean of the recall of each class.
RecallMacro = Entry {
    id: "recall_macro",
    label: "macro recall",
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, Average::Macro, e.weights())?),
    influence: Some(|w, e, x| classes::of_mean(w, e, classes::RECALL, x)),
    ..CLASSES
};
/// Recall of all decisions together.
RecallMicro = Entry {
    id: "recall_micro",
    label: "micro recall",
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, Average::Micro, e.weights())?),
    influence: Some(classes::accuracy),
    ..CLASSES
};
/// Mean of the recall of each class, weighted by class frequency.
RecallWeighted = Entry {
    id: "recall_weighted",
    label: "weighted recall",
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// Intersection over union of the positive class.
Jaccard = Entry {
    id: "jaccard",
    label: "Jaccard index",
    binary: true,
    value: |e, _| plain(e, metrics::jaccard(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::JACCARD, x)),
    ..CLASSES
};
/// Unweighted mean of the intersection over union of each class.
JaccardMacro = Entry {
    id: "jaccard_macro",
    label: "macro Jaccard index",
    value: |e, _| plain(e, metrics::jaccard(e.truth(), e.predictions()?, Average::Macro, e.weights())?),
    influence: Some(|w, e, x| classes::of_mean(w, e, classes::JACCARD, x)),
    ..CLASSES
};
/// Intersection over union of all decisions together.
JaccardMicro = Entry {
    id: "jaccard_micro",
    label: "micro Jaccard index",
    value: |e, _| plain(e, metrics::jaccard(e.truth(), e.predictions()?, Average::Micro, e.weights())?),
    ..CLASSES
};
/// Mean of the intersection over union of each class, weighted by class frequency.
JaccardWeighted = Entry {
    id: "jaccard_weighted",
    label: "weighted Jaccard index",
    value: |e, _| plain(e, metrics::jaccard(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// Area under the ROC curve of two classes.
RocAuc = Entry {
    id: "roc_auc",
    aliases: &["auc"],
    label: "area under ROC",
    inputs: Inputs::Decision,
    binary: true,
    value: |e, _| Ok(metrics::roc_auc(&hits(e, "roc_auc_ovr")?, &e.ranking()?, e.weights())?),
    influence: Some(classes::area),
    ..CLASSES
};
/// Area under the ROC curve, averaged over the classes one-vs-rest.
RocAucOvr = Entry {
    id: "roc_auc_ovr",
    label: "area under ROC, one versus rest",
    inputs: Inputs::Probabilities,
    value: |e, _| Ok(metrics::roc_auc_one_vs_rest(&e.codes()?, e.probabilities()?, Average::Macro, e.weights())?),
    ..CLASSES
};
/// Average precision of two classes.
AveragePrecision = Entry {
    id: "average_precision",
    label: "average precision",
    inputs: Inputs::Decision,
    binary: true,
    value: |e, _| Ok(metrics::average_precision(&hits(e, "another score")?, &e.ranking()?, e.weights())?),
    ..CLASSES
};
/// The negative log loss.
NegLogLoss = Entry {
    id: "neg_log_loss",
    aliases: &["log_loss"],
    label: "log loss",
    greater_is_better: false,
    inputs: Inputs::Probabilities,
    value: |e, _| Ok(metrics::log_loss(&e.codes()?, e.probabilities()?, e.weights())?),
    influence: Some(classes::log_loss),
    ..CLASSES
};
/// The negative Brier score, with a confidence interval.
NegBrierScore = Entry {
    id: "neg_brier_score",
    aliases: &["brier", "brier_score"],
    label: "Brier score",
    greater_is_better: false,
    inputs: Inputs::Probabilities,
    value: |e, _| Ok(metrics::brier_score(&e.codes()?, e.probabilities()?, e.weights())?),
    ..CLASSES
};
}

const BETA: Option<Parameter> =
    Some(Parameter { name: "beta", default: 2.0, fits: |beta| beta >= 0.0, range: "a number of at least 0" });

fn kappa(e: &Evaluation<'_>, weights: KappaWeights) -> Result<metrics::Score> {
    Ok(metrics::cohen_kappa(e.truth(), e.predictions()?, weights, e.weights())?)
}

/// Scores of each class (n, classes).
fn class_scores(e: &Evaluation<'_>) -> Result<Tensor> {
    match e.decision() {
        Ok(scores) if scores.rank() == 2 => Ok(scores.clone()),
        Ok(scores) if !e.capabilities().probabilities => {
            let column = scores.try_reshape([e.len(), 1])?;
            Ok(Tensor::try_concat(&[&-&column, &column], 1)?)
        }
        _ => Ok(e.probabilities()?.clone()),
    }
}

/// The positive class, the second of two.
fn positive(e: &Evaluation<'_>) -> Result<Average> {
    let other = "the score with the suffix `_macro`";
    e.positive().map(Average::Class).ok_or_else(|| too_many_classes(e, other))
}

fn hits(e: &Evaluation<'_>, other: &str) -> Result<Tensor> {
    Ok(Tensor::from_slice(&e.hits()?.ok_or_else(|| too_many_classes(e, other))?))
}

#[cold]
fn too_many_classes(e: &Evaluation<'_>, other: &str) -> LearnError {
    let problem = format!("the score needs two classes, but {} has {}; choose {other}", e.name(), e.classes().len());
    LearnError::parameter("Scorer", problem)
}
