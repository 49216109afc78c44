//! Scores of classifiers.

use tove_metrics as metrics;
use tove_metrics::{Average, KappaWeights};
use tove_tensor::{Tensor, TryOps};

use super::{CLASSES, Entry, Inputs, Parameter, Scorer, plain};
use crate::diagnostics::influence::classes;
use crate::selection::Evaluation;
use crate::{LearnError, Result};

scorers! {
/// Share of right answers, with an interval.
Accuracy = Entry {
    id: "accuracy",
    label: "accuracy",
    value: |e, _| Ok(metrics::accuracy(e.truth(), e.predictions()?, e.weights())?),
    influence: Some(classes::accuracy),
    ..CLASSES
};
/// Share of samples whose class is among the k with the largest scores; k is 2 unless said.
TopKAccuracy = Entry {
    id: "top_k_accuracy",
    label: "top-k accuracy",
    parameter: Some(Parameter {
        name: "k",
        default: 2.0,
        fits: |k| k >= 1.0 && k.fract() == 0.0 && k < 1e9,
        range: "a whole number of at least 1",
    }),
    inputs: Inputs::Decision,
    value: |e, k| Ok(metrics::top_k_accuracy(&e.codes()?, &class_scores(e)?, k as usize, e.weights())?),
    ..CLASSES
};
/// Mean of the classes' recalls.
BalancedAccuracy = Entry {
    id: "balanced_accuracy",
    label: "balanced accuracy",
    value: |e, _| Ok(metrics::balanced_accuracy(e.truth(), e.predictions()?, false, e.weights())?),
    influence: Some(classes::recalls),
    ..CLASSES
};
/// Correlation of predicted and true classes.
MatthewsCorrcoef = Entry {
    id: "matthews_corrcoef",
    aliases: &["mcc", "matthews"],
    label: "Matthews correlation",
    value: |e, _| Ok(metrics::matthews_corrcoef(e.truth(), e.predictions()?, e.weights())?),
    influence: Some(classes::matthews),
    ..CLASSES
};
/// Agreement beyond chance.
CohenKappa = Entry {
    id: "cohen_kappa",
    aliases: &["kappa"],
    label: "Cohen's kappa",
    value: |e, _| kappa(e, KappaWeights::None),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::None)),
    ..CLASSES
};
/// Agreement of ordered classes beyond chance, by their distance.
CohenKappaLinear = Entry {
    id: "cohen_kappa_linear",
    label: "linear kappa",
    value: |e, _| kappa(e, KappaWeights::Linear),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::Linear)),
    ..CLASSES
};
/// Agreement of ordered classes beyond chance, by their squared distance.
CohenKappaQuadratic = Entry {
    id: "cohen_kappa_quadratic",
    aliases: &["quadratic_kappa", "qwk"],
    label: "quadratic kappa",
    value: |e, _| kappa(e, KappaWeights::Quadratic),
    influence: Some(|w, e, _| classes::kappa(w, e, KappaWeights::Quadratic)),
    ..CLASSES
};
/// F1 of the larger of two classes.
F1 = Entry {
    id: "f1",
    label: "F1",
    binary: true,
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::F1, x)),
    ..CLASSES
};
/// Plain mean of the classes' F1.
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
/// Mean of the classes' F1 by their frequency.
F1Weighted = Entry {
    id: "f1_weighted",
    label: "weighted F1",
    value: |e, _| plain(e, metrics::f1(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// F-beta of the larger of two classes, in which recall counts β times as much as precision; β is 2 unless said.
FBeta = Entry {
    id: "fbeta",
    label: "F-beta",
    parameter: BETA,
    binary: true,
    value: |e, beta| plain(e, metrics::fbeta(e.truth(), e.predictions()?, beta, positive(e)?, e.weights())?),
    influence: Some(|w, e, beta| classes::of_positive(w, e, classes::F_BETA, beta)),
    ..CLASSES
};
/// Plain mean of the classes' F-beta; β is 2 unless said.
FBetaMacro = Entry {
    id: "fbeta_macro",
    label: "macro F-beta",
    parameter: BETA,
    value: |e, beta| plain(e, metrics::fbeta(e.truth(), e.predictions()?, beta, Average::Macro, e.weights())?),
    influence: Some(|w, e, beta| classes::of_mean(w, e, classes::F_BETA, beta)),
    ..CLASSES
};
/// Precision of the larger of two classes.
Precision = Entry {
    id: "precision",
    label: "precision",
    binary: true,
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::PRECISION, x)),
    ..CLASSES
};
/// Plain mean of the classes' precisions.
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
/// Mean of the classes' precisions by their frequency.
PrecisionWeighted = Entry {
    id: "precision_weighted",
    label: "weighted precision",
    value: |e, _| plain(e, metrics::precision(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// Recall of the larger of two classes.
Recall = Entry {
    id: "recall",
    label: "recall",
    binary: true,
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::RECALL, x)),
    ..CLASSES
};
/// Plain mean of the classes' recalls.
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
/// Mean of the classes' recalls by their frequency.
RecallWeighted = Entry {
    id: "recall_weighted",
    label: "weighted recall",
    value: |e, _| plain(e, metrics::recall(e.truth(), e.predictions()?, Average::Weighted, e.weights())?),
    ..CLASSES
};
/// Intersection over union of the larger of two classes.
Jaccard = Entry {
    id: "jaccard",
    label: "Jaccard index",
    binary: true,
    value: |e, _| plain(e, metrics::jaccard(e.truth(), e.predictions()?, positive(e)?, e.weights())?),
    influence: Some(|w, e, x| classes::of_positive(w, e, classes::JACCARD, x)),
    ..CLASSES
};
/// Plain mean of the classes' intersections over unions.
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
/// Mean of the classes' intersections over unions by their frequency.
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
/// Area under the ROC curve, mean over each class against the rest.
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
/// Minus the mean log loss.
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
/// Minus the Brier score, with an interval.
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

/// A score of each class (n, classes).
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

/// The second of two classes, whose score is meant.
fn positive(e: &Evaluation<'_>) -> Result<Average> {
    let other = "the score with `_macro` behind its name";
    e.positive().map(Average::Class).ok_or_else(|| too_many_classes(e, other))
}

fn hits(e: &Evaluation<'_>, other: &str) -> Result<Tensor> {
    Ok(Tensor::from_slice(&e.hits()?.ok_or_else(|| too_many_classes(e, other))?))
}

#[cold]
fn too_many_classes(e: &Evaluation<'_>, other: &str) -> LearnError {
    let problem = format!("the score is for two classes, and {} knows {}; choose {other}", e.name(), e.classes().len());
    LearnError::parameter("Scorer", problem)
}
