//! Values against scikit-learn, to 1e-12, corner cases included. Written by `reference/sklearn_metrics.py`.

use serde_json::Value;
use tove_metrics::{
    Average, ConfusionMatrix, KappaWeights, accuracy, average_precision, balanced_accuracy, brier_score, class_scores,
    cohen_kappa, d2_absolute_error_score, d2_pinball_score, d2_tweedie_score, explained_variance, fbeta, jaccard,
    log_loss, matthews_corrcoef, max_error, mean_absolute_error, mean_absolute_percentage_error, mean_gamma_deviance,
    mean_pinball_loss, mean_poisson_deviance, mean_squared_error, mean_squared_log_error, mean_tweedie_deviance,
    median_absolute_error, negative_log_likelihood, precision_recall_curve, precision_recall_f1, r2_score, roc_auc,
    roc_auc_one_vs_rest, roc_curve, root_mean_squared_error, top_k_accuracy,
};
use tove_tensor::{DType, Tensor};

fn number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// A list of numbers, or of lists of them, as f64.
fn floats(value: &Value) -> Tensor {
    let rows = value.as_array().expect("a list");
    if rows[0].is_array() {
        let data: Vec<f64> = rows.iter().flat_map(numbers).collect();
        return Tensor::from_vec(data, [rows.len(), rows[0].as_array().expect("a row").len()]);
    }
    Tensor::from(numbers(value))
}

fn labels(value: &Value) -> Tensor {
    floats(value).to_dtype(DType::I64)
}

fn weights(case: &Value) -> Option<Tensor> {
    (!case["weights"].is_null()).then(|| floats(&case["weights"]))
}

fn close(case: &Value, what: &str, ours: f64, theirs: f64) {
    let equal = ours == theirs || (ours.is_nan() && theirs.is_nan());
    let near = (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0);
    assert!(equal || near, "{} {}: {what} is {ours}, scikit-learn says {theirs}", case["kind"], case["name"]);
}

fn close_lists(case: &Value, what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{} {}: length of {what}", case["kind"], case["name"]);
    ours.iter().zip(theirs).for_each(|(&ours, &theirs)| close(case, what, ours, theirs));
}

fn cases(kind: &str) -> Vec<Value> {
    let text = include_str!("fixtures/sklearn_metrics.json");
    let file: Value = serde_json::from_str(text).expect("the fixture is JSON");
    let cases = file["cases"].as_array().expect("cases").iter().filter(|case| case["kind"] == kind);
    let cases: Vec<Value> = cases.cloned().collect();
    assert!(!cases.is_empty());
    cases
}

#[test]
fn classes_agree() {
    for case in &cases("classes") {
        let (truth, guess, weights) = (labels(&case["truth"]), labels(&case["prediction"]), weights(case));
        let (weights, expected) = (weights.as_ref(), &case["expected"]);
        close(case, "accuracy", accuracy(&truth, &guess, weights).unwrap().value, number(&expected["accuracy"]));
        let matrix = ConfusionMatrix::new(&truth, &guess, weights).unwrap();
        assert_eq!(matrix.labels(), labels(&expected["labels"]).to_vec::<i64>());
        close_lists(case, "confusion", matrix.counts(), &numbers(&expected["confusion"]));
        close(case, "accuracy", matrix.accuracy(), number(&expected["accuracy"]));
        for (zero, name) in [(0.0, "0.0"), (1.0, "1.0"), (f64::NAN, "nan")] {
            for (average, word) in
                [(Average::Micro, "micro"), (Average::Macro, "macro"), (Average::Weighted, "weighted")]
            {
                let key = format!("{word}_{name}");
                let scores = precision_recall_f1(&truth, &guess, average, zero, weights).unwrap();
                close_lists(case, &key, &[scores.precision, scores.recall, scores.f1], &numbers(&expected[&key]));
            }
            let each = class_scores(&truth, &guess, zero, weights).unwrap();
            let theirs = &expected[format!("each_{name}")];
            let parts = [
                each.iter().map(|(_, s)| s.precision).collect::<Vec<_>>(),
                each.iter().map(|(_, s)| s.recall).collect(),
                each.iter().map(|(_, s)| s.f1).collect(),
                each.iter().map(|(_, s)| s.support).collect(),
            ];
            for (part, ours) in parts.iter().enumerate() {
                close_lists(case, "one class", ours, &numbers(&theirs[part]));
            }
            let one = precision_recall_f1(&truth, &guess, Average::Class(each[0].0), zero, weights).unwrap();
            close(case, "class", one.f1, each[0].1.f1);
        }
    }
}

#[test]
fn agreement_and_overlap_agree() {
    for case in &cases("classes") {
        let (truth, guess, weights) = (labels(&case["truth"]), labels(&case["prediction"]), weights(case));
        let (weights, expected) = (weights.as_ref(), &case["expected"]);
        let mcc = matthews_corrcoef(&truth, &guess, weights).unwrap();
        close(case, "Matthews", mcc.value, number(&expected["matthews"]));
        let balanced = balanced_accuracy(&truth, &guess, false, weights).unwrap();
        close(case, "balanced", balanced.value, number(&expected["balanced"]));
        // Where scikit-learn answers NaN or -inf with a warning there is an error here.
        let or_error = |what: &str, ours: tove_metrics::Result<tove_metrics::Score>, theirs: f64| match ours {
            Ok(ours) => close(case, what, ours.value, theirs),
            Err(error) => assert!(!theirs.is_finite() && error.to_string().contains("one class"), "{what}: {error}"),
        };
        let adjusted = balanced_accuracy(&truth, &guess, true, weights);
        or_error("adjusted", adjusted, number(&expected["balanced_adjusted"]));
        let kinds = [KappaWeights::None, KappaWeights::Linear, KappaWeights::Quadratic];
        for (kind, theirs) in kinds.into_iter().zip(numbers(&expected["kappa"])) {
            or_error("kappa", cohen_kappa(&truth, &guess, kind, weights), theirs);
        }
        let classes = labels(&expected["labels"]).to_vec::<i64>();
        let averages = [("micro", Average::Micro), ("macro", Average::Macro), ("weighted", Average::Weighted)];
        for (word, average) in averages {
            let ours = jaccard(&truth, &guess, average, weights).unwrap();
            close(case, "jaccard", ours, number(&expected[format!("jaccard_{word}")]));
            for (beta, theirs) in
                [0.0, 0.5, 2.0, f64::INFINITY].into_iter().zip(numbers(&expected[format!("fbeta_{word}")]))
            {
                close(case, "fbeta", fbeta(&truth, &guess, beta, average, weights).unwrap(), theirs);
            }
        }
        for (place, &class) in classes.iter().enumerate() {
            let ours = jaccard(&truth, &guess, Average::Class(class), weights).unwrap();
            close(case, "jaccard", ours, number(&expected["jaccard_None"][place]));
            for (row, beta) in [0.0, 0.5, 2.0, f64::INFINITY].into_iter().enumerate() {
                let ours = fbeta(&truth, &guess, beta, Average::Class(class), weights).unwrap();
                close(case, "fbeta", ours, number(&expected["fbeta_None"][row][place]));
            }
        }
    }
}

#[test]
fn rankings_agree() {
    for case in &cases("ranking") {
        let (truth, scores, weights) = (labels(&case["truth"]), floats(&case["scores"]), weights(case));
        let (weights, expected) = (weights.as_ref(), &case["expected"]);
        let precision = average_precision(&truth, &scores, weights).unwrap();
        close(case, "average precision", precision.value, number(&expected["average_precision"]));
        let curve = precision_recall_curve(&truth, &scores, weights).unwrap();
        for (place, ours) in [&curve.precision, &curve.recall, &curve.thresholds].into_iter().enumerate() {
            close_lists(case, "precision-recall curve", ours, &numbers(&expected["pr"][place]));
        }
        if expected["auc"].is_null() {
            assert!(roc_auc(&truth, &scores, weights).is_err() && roc_curve(&truth, &scores, weights).is_err());
            continue;
        }
        close(case, "auc", roc_auc(&truth, &scores, weights).unwrap().value, number(&expected["auc"]));
        let curve = roc_curve(&truth, &scores, weights).unwrap();
        let parts = [&curve.false_positive_rate, &curve.true_positive_rate, &curve.thresholds];
        for (place, ours) in parts.into_iter().enumerate() {
            close_lists(case, "ROC curve", ours, &numbers(&expected["roc"][place]));
        }
    }
}

#[test]
fn probabilities_agree() {
    for case in &cases("probabilities") {
        let (truth, p, weights) = (labels(&case["truth"]), floats(&case["p"]), weights(case));
        let (loss, brier) = (log_loss(&truth, &p, weights.as_ref()), brier_score(&truth, &p, weights.as_ref()));
        close(case, "log loss", loss.unwrap().value, number(&case["expected"]["log_loss"]));
        close(case, "brier", brier.unwrap().value, number(&case["expected"]["brier"]));
    }
}

#[test]
fn scores_of_several_classes_agree() {
    for case in &cases("multiclass") {
        let (truth, scores, p) = (labels(&case["truth"]), floats(&case["scores"]), floats(&case["p"]));
        let (weights, expected) = (weights(case), &case["expected"]);
        let weights = weights.as_ref();
        for (place, theirs) in numbers(&expected["top_k"]).into_iter().enumerate() {
            close(case, "top k", top_k_accuracy(&truth, &scores, place + 1, weights).unwrap().value, theirs);
        }
        let nll = negative_log_likelihood(&truth, &scores, weights).unwrap();
        close(case, "log-likelihood", nll.value, number(&expected["nll"]));
        for (average, key) in [(Average::Macro, "ovr_macro"), (Average::Weighted, "ovr_weighted")] {
            let ours = roc_auc_one_vs_rest(&truth, &p, average, weights).unwrap();
            close(case, key, ours.value, number(&expected[key]));
        }
    }
}

#[test]
fn regressions_agree() {
    for case in &cases("regression") {
        let (truth, guess, weights) = (floats(&case["truth"]), floats(&case["prediction"]), weights(case));
        let (weights, expected) = (weights.as_ref(), &case["expected"]);
        let mse = number(&expected["mse"]);
        close(case, "mse", mean_squared_error(&truth, &guess, weights).unwrap().value, mse);
        close(case, "rmse", root_mean_squared_error(&truth, &guess, weights).unwrap().value, mse.sqrt());
        close(case, "mae", mean_absolute_error(&truth, &guess, weights).unwrap().value, number(&expected["mae"]));
        close(case, "r2", r2_score(&truth, &guess, weights).unwrap().value, number(&expected["r2"]));
        let explained = explained_variance(&truth, &guess, weights).unwrap();
        close(case, "explained variance", explained.value, number(&expected["explained"]));
        let mape = mean_absolute_percentage_error(&truth, &guess, weights).unwrap();
        close(case, "mape", mape.value, number(&expected["mape"]));
        let median = median_absolute_error(&truth, &guess, weights).unwrap();
        close(case, "median", median.value, number(&expected["median"]));
        for (alpha, theirs) in [0.0, 0.1, 0.5, 1.0].into_iter().zip(numbers(&expected["pinball"])) {
            close(case, "pinball", mean_pinball_loss(&truth, &guess, alpha, weights).unwrap().value, theirs);
        }
        for (alpha, theirs) in [0.0, 0.1, 0.7, 1.0].into_iter().zip(numbers(&expected["d2_pinball"])) {
            close(case, "D2 pinball", d2_pinball_score(&truth, &guess, alpha, weights).unwrap().value, theirs);
        }
        let d2 = d2_absolute_error_score(&truth, &guess, weights).unwrap();
        close(case, "D2 absolute", d2.value, number(&expected["d2_absolute"]));
        match &expected["max"] {
            Value::Null if truth.rank() == 2 => assert!(max_error(&truth, &guess, weights).is_err()),
            Value::Null => {}
            theirs => close(case, "max", max_error(&truth, &guess, weights).unwrap().value, number(theirs)),
        }
    }
}

#[test]
fn deviances_agree() {
    for case in &cases("positive") {
        let (truth, guess, weights) = (floats(&case["truth"]), floats(&case["prediction"]), weights(case));
        let (weights, expected) = (weights.as_ref(), &case["expected"]);
        for (place, power) in numbers(&expected["powers"]).into_iter().enumerate() {
            let (deviance, d2) = (number(&expected["deviance"][place]), number(&expected["d2"][place]));
            let ours = mean_tweedie_deviance(&truth, &guess, power, weights).unwrap().value;
            close(case, "deviance", ours, deviance);
            close(case, "D2", d2_tweedie_score(&truth, &guess, power, weights).unwrap().value, d2);
            if power == 1.0 {
                close(case, "Poisson", mean_poisson_deviance(&truth, &guess, weights).unwrap().value, deviance);
            } else if power == 2.0 {
                close(case, "Gamma", mean_gamma_deviance(&truth, &guess, weights).unwrap().value, deviance);
            }
        }
        let msle = mean_squared_log_error(&truth, &guess, weights).unwrap();
        close(case, "squared log error", msle.value, number(&expected["msle"]));
    }
}
