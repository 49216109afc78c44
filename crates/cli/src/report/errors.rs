//! Charts of what a model gets wrong.

use tove::learn::selection::Answers;
use tove::metrics::{ConfusionMatrix, precision_recall_curve, roc_curve};
use tove::plot::{
    ConfusionChart, PrecisionRecallChart, ReliabilityChart, Report, ResidualChart, RocChart, ScatterChart,
};
use tove::tabular::TabularModel;
use tove::tensor::{DType, Tensor};

use crate::failure::Failure;

/// Points of a curve or a cloud, at most: more cannot be seen, and make a page of megabytes.
const POINTS: usize = 3000;

/// Some of many values, evenly spread, with the last one.
fn thinned(values: &[f64]) -> Vec<f64> {
    let step = values.len().div_ceil(POINTS).max(1);
    let mut kept: Vec<f64> = values.iter().step_by(step).copied().collect();
    if step > 1 {
        kept.extend(values.last());
    }
    kept
}

/// Charts of what a model gets wrong.
pub fn errors(report: Report, model: &TabularModel, truth: &Tensor, answers: &Answers) -> Result<Report, Failure> {
    match model.model().capabilities().classifies() {
        false => Ok(residuals(report, model.target(), truth, answers)),
        true => classes(report, model, &truth.to_dtype(DType::I64), answers),
    }
}

fn residuals(report: Report, target: &str, truth: &Tensor, answers: &Answers) -> Report {
    let (predicted, truth) = (thinned(&answers.predictions.to_f64_vec()), thinned(&truth.to_f64_vec()));
    let some = if predicted.len() > POINTS { format!(" ({} of the rows)", predicted.len()) } else { String::new() };
    let against = ScatterChart::new()
        .group("", &truth, &predicted)
        .diagonal()
        .x_label(format!("true {target}"))
        .y_label(format!("predicted {target}"))
        .title(format!("Predicted and true values{some}"));
    let residuals = ResidualChart::new(&predicted, &truth).title(format!("Residuals{some}"));
    report.picture_or_reason(&against).picture_or_reason(&residuals)
}

/// Classes that have a curve of their own, at most.
const CURVES: usize = 10;

/// The classes whose curves are drawn, and a sentence about the others: the most frequent ones if there are many.
fn drawn_classes(truth: &[i64], classes: &[i64], names: &[String]) -> (Vec<usize>, Option<String>) {
    // Two classes have one curve, that of the second.
    if classes.len() == 2 {
        return (vec![1], None);
    }
    let mut order: Vec<usize> = (0..classes.len()).collect();
    let count = |place: usize| truth.iter().filter(|&&label| label == classes[place]).count();
    order.sort_by_cached_key(|&place| std::cmp::Reverse(count(place)));
    let mut drawn: Vec<usize> = order.iter().copied().take(CURVES).collect();
    drawn.sort_unstable();
    let name = |place: &usize| names.get(classes[*place] as usize).map_or("", String::as_str);
    let mut others: Vec<&str> = order.iter().skip(CURVES).map(name).collect();
    let absent: Vec<&str> = drawn.iter().filter(|&&place| count(place) == 0).map(name).collect();
    drawn.retain(|&place| count(place) > 0);
    others.sort_unstable();
    let list = |names: &[&str]| match names.len() {
        0..=10 => names.join(", "),
        n => format!("{} and {} more", names[..10].join(", "), n - 10),
    };
    let mut sentences = Vec::new();
    if !others.is_empty() {
        sentences.push(format!("Not drawn, being less frequent: {}.", list(&others)));
    }
    if !absent.is_empty() {
        sentences.push(format!("Not in these rows: {}.", list(&absent)));
    }
    (drawn, (!sentences.is_empty()).then(|| sentences.join(" ")))
}

fn classes(report: Report, tabular: &TabularModel, truth: &Tensor, answers: &Answers) -> Result<Report, Failure> {
    let (model, names) = (tabular.model(), tabular.classes());
    let predicted = &answers.predictions;
    let Ok(matrix) = ConfusionMatrix::new(truth, predicted, None) else { return Ok(report) };
    let counts: Vec<u64> = matrix.counts().iter().map(|&count| count.round() as u64).collect();
    let met: Vec<&str> =
        matrix.labels().iter().map(|&label| names.get(label as usize).map_or("", String::as_str)).collect();
    let mut report = report.picture_or_reason(&ConfusionChart::new(&met, &counts).title("Confusion matrix"));
    let m = model.classes().len();
    // Without probabilities the scores behind the decision rank the rows as well.
    let (all, calibrated) = match (&answers.probabilities, &answers.decision) {
        (Some(probabilities), _) => (probabilities.to_f64_vec(), true),
        (_, Some(scores)) if m == 2 => (scores.to_f64_vec().iter().flat_map(|&score| [-score, score]).collect(), false),
        (_, Some(scores)) if scores.dims().last() == Some(&m) => (scores.to_f64_vec(), false),
        _ => return Ok(report),
    };
    let truth = truth.to_vec::<i64>();
    let of = |class: usize| -> (Vec<f64>, Vec<i64>) {
        let scores = all.chunks(m).map(|row| row[class]).collect();
        (scores, truth.iter().map(|&label| i64::from(label == model.classes()[class])).collect())
    };
    let (drawn, others) = drawn_classes(&truth, model.classes(), names);
    let others = others.unwrap_or_default();
    let mut roc = RocChart::new().title("Receiver operating characteristic").caption(others.as_str());
    let mut shares = 0.0;
    let mut curves = Vec::new();
    for &class in &drawn {
        let (scores, labels) = of(class);
        let (labels, scores) = (Tensor::from_slice(&labels), Tensor::from_slice(&scores));
        let name = names.get(model.classes()[class] as usize).map_or("", String::as_str);
        if let Ok(curve) = roc_curve(&labels, &scores, None) {
            let area = tove::metrics::roc_auc(&labels, &scores, None).ok().map(|score| score.value);
            roc = roc.curve(name, &thinned(&curve.false_positive_rate), &thinned(&curve.true_positive_rate), area);
        }
        if let Ok(curve) = precision_recall_curve(&labels, &scores, None) {
            let area = tove::metrics::average_precision(&labels, &scores, None).ok().map(|score| score.value);
            curves.push((name, curve, area));
        }
        shares = labels.to_f64_vec().iter().sum::<f64>() / labels.numel().max(1) as f64;
    }
    if !curves.is_empty() {
        report = report.picture_or_reason(&roc);
        let mut chart = PrecisionRecallChart::new(if drawn.len() == 1 { shares } else { 0.0 })
            .title("Precision and recall")
            .caption(others);
        for (name, curve, area) in &curves {
            chart = chart.curve(*name, &thinned(&curve.recall), &thinned(&curve.precision), *area);
        }
        report = report.picture_or_reason(&chart);
    }
    if !calibrated {
        return Ok(report);
    }
    // Two classes: the probability of the second. Several: that of the class that was predicted.
    let (scores, happened, title) = if m == 2 {
        let (scores, labels) = of(1);
        let happened = labels.iter().map(|&label| label == 1).collect::<Vec<bool>>();
        (scores, happened, format!("Reliability of P({})", names.get(1).map_or("", String::as_str)))
    } else {
        let sure = all.chunks(m).map(|row| row.iter().copied().fold(0.0, f64::max)).collect();
        let found = predicted.to_dtype(DType::I64).to_vec::<i64>();
        let right = found.iter().zip(&truth).map(|(found, truth)| found == truth).collect();
        (sure, right, "Reliability of the predicted class".to_owned())
    };
    Ok(match ReliabilityChart::from_predictions(&scores, &happened, 10) {
        Ok(reliability) => report.picture_or_reason(&reliability.title(title)),
        Err(error) => report.text(format!("A chart is left out: {error}.")),
    })
}
