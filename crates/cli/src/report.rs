//! The HTML reports of a fit and of an evaluation.

use std::path::Path;

use tove::data::table::{Column, Dates, Description, Kind, ReadReport, Table as Data, Unit};
use tove::learn::Predict;
use tove::learn::selection::Answers;
use tove::metrics::{ConfusionMatrix, precision_recall_curve, roc_curve};
use tove::plot::{
    BarChart, ConfusionChart, DecisionMap, LineChart, PrecisionRecallChart, ReliabilityChart, Report, ResidualChart,
    RocChart, ScatterChart, ScoreChart, Table,
};
use tove::tabular::{Judged, NamedScore, Outcome, TabularModel};
use tove::tensor::{DType, Tensor};

use crate::arguments::Fit;
use crate::commands::explain::side;
use crate::commands::runs::learning_chart;
use crate::commands::{evaluate, fit as fitting};
use crate::failure::Failure;
use crate::metrics::{decimals_of, legend};
use crate::output::number;

/// The report of a fit: verdict, scores, the comparison, charts of the errors, coefficients, learning curves, the columns.
pub fn of_fit(
    fit: &Fit,
    data: Option<(&Data, &Description)>,
    read: &ReadReport,
    outcome: &Outcome,
) -> Result<Report, Failure> {
    let model = outcome.model.model();
    let file = file_name(&fit.file);
    let mut report = Report::new(format!("{} from {file}", fit.target)).subtitle(format!(
        "{}, {} by tove {}",
        outcome.model.task(),
        outcome.chosen,
        env!("CARGO_PKG_VERSION")
    ));
    report = first_card(report, outcome.test.first());
    let same = |named: &&NamedScore| outcome.test.first().is_some_and(|first| first.scorer == named.scorer);
    if let Some(named) = outcome.baseline.iter().find(same) {
        let value = decimals_of(named).show(named.score.value);
        report = report.card_with_note("Baseline", value, "a constant prediction");
    }
    report = report
        .card_with_note("Training rows", outcome.fitted_rows.to_string(), format!("{} held out", outcome.judged_rows))
        .card("Features", model.width().to_string());
    report = report.text(fitting::verdict(outcome));
    report = report.section("Scores").table(&table(&fitting::score_rows(outcome)));
    let about = format!(
        "The held-out rows were not used for fitting; the baseline predicts a constant. {}",
        legend(&outcome.test)
    );
    report = report.text(about.trim_end());
    for sentence in fitting::beside_baseline(outcome).into_iter().chain(fitting::doubts(outcome)) {
        report = report.text(format!("Warning: {}.", sentence.trim_end_matches('.')));
    }
    if !outcome.tried.is_empty() {
        report = comparison(report, outcome);
    }
    let samples = &outcome.test_samples;
    report = errors(report.section("Errors on held-out rows"), &outcome.model, samples.y()?, &outcome.answers)?;
    if let Some(map) = data.and_then(|(data, _)| regions(data, &outcome.model)) {
        report = report.section("Decision regions").picture_or_reason(&map);
    }
    report = coefficients(report, outcome, data.map(|(data, _)| data));
    report = curves(report, outcome);
    if let Some((_, about)) = data {
        report = columns(report, about);
    }
    let settings = format!("{:#}", model.settings());
    report = report.section("How it was made").text(format!(
        "From {}, seed {}, {:.1} seconds.",
        fit.file.display(),
        fit.seed,
        outcome.seconds
    ));
    for sentence in [fitting::cut(outcome), fitting::streaming(outcome)].into_iter().flatten() {
        report = report.text(sentence);
    }
    for change in fitting::changes(read, outcome) {
        report = report.text(format!("{change}."));
    }
    report = report.details("Hyperparameters", |body| Ok(body.preformatted(&settings)))?;
    for warning in fitting::gathered(&model.summary().warnings) {
        report = report.text(format!("Warning: {warning}"));
    }
    Ok(report)
}

/// The report of an evaluation: verdict, scores, charts of the errors.
pub fn of_evaluation(file: &Path, model: &TabularModel, judged: &Judged, verdict: &str) -> Result<Report, Failure> {
    let mut report = Report::new(format!("{} evaluated on {}", model.target(), file_name(file))).subtitle(format!(
        "{}, {} by tove {}",
        model.task(),
        model.model().name(),
        env!("CARGO_PKG_VERSION")
    ));
    report = first_card(report, judged.scores.first()).card("Rows", judged.rows.to_string());
    if judged.dropped > 0 {
        report = report.card_with_note("Left out", judged.dropped.to_string(), "rows without a target");
    }
    report = report.text(verdict);
    if judged.fitted_on {
        report =
            report.text("Warning: the model was fitted on rows of this table, so these scores are too optimistic.");
    }
    report = report.section("Scores").table(&table(&evaluate::score_rows(judged))).text(legend(&judged.scores));
    errors(report.section("Errors"), model, &judged.truth, &judged.answers)
}

/// A card with the score that comes first.
fn first_card(report: Report, first: Option<&NamedScore>) -> Report {
    let Some(named) = first else { return report };
    let note = match named.score.interval() {
        Some((low, high)) => format!("{low:.3} to {high:.3} with probability 95 %"),
        None => format!("on {} rows", named.score.n),
    };
    report.card_with_note(named.name, decimals_of(named).show(named.score.value), note)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string())
}

/// A table of texts with its first row as the header.
pub fn table(rows: &[Vec<String>]) -> Table {
    let head = rows.first().cloned().unwrap_or_default();
    rows.iter().skip(1).fold(Table::new(&head), |table, row| table.row(row))
}

fn comparison(report: Report, outcome: &Outcome) -> Report {
    let scorer = outcome.scorer;
    let sign = if scorer.greater_is_better() { 1.0 } else { -1.0 };
    let mut chart = ScoreChart::new().wide().value_label(format!("{} in each fold", scorer.label()));
    let mut drawn = 0;
    for tried in outcome.tried.iter().filter(|tried| !tried.scores.is_empty()) {
        chart = chart.group(tried.name.as_str(), &tried.scores.iter().map(|score| sign * score).collect::<Vec<_>>());
        drawn += 1;
    }
    if let Some(baseline) = outcome.baseline.iter().find(|named| named.scorer == scorer) {
        chart = chart.mark("baseline on held-out rows", baseline.score.value);
    }
    let mut report = report.section("Cross-validation").table(&table(&fitting::tried_rows(outcome)));
    if drawn > 0 {
        report = report.picture_or_reason(&chart);
    }
    let method = fitting::method(outcome);
    if method.is_empty() { report } else { report.text(method) }
}

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
fn errors(report: Report, model: &TabularModel, truth: &Tensor, answers: &Answers) -> Result<Report, Failure> {
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

fn coefficients(report: Report, outcome: &Outcome, data: Option<&Data>) -> Report {
    let Some(coefficients) = outcome.model.model().coefficients() else { return report };
    let encoder = outcome.model.encoder();
    let names = data.map_or_else(|| encoder.feature_names().to_vec(), |data| encoder.readable_names(data));
    let rows = coefficients.to_f64_vec();
    let mut about =
        String::from("Features were standardized, so that coefficients can be compared; the 20 largest are shown.");
    if names.iter().any(|name| name.contains('#')) {
        about.push_str(" COLUMN#N is a bucket of feature hashing, with the most frequent values in it.");
    }
    let mut report = report.section("Coefficients").text(about);
    if let Some(side) = side(&outcome.model) {
        report = report.text(side);
    }
    let several = rows.len() > names.len();
    for (number, row) in rows.chunks(names.len().max(1)).enumerate().take(8) {
        if row.len() != names.len() {
            break;
        }
        let mut chart = BarChart::new().sorted().top(20).capped().value_label("coefficient");
        chart = if several {
            chart.title(outcome.model.classes().get(number).cloned().unwrap_or_default())
        } else {
            chart.wide()
        };
        for (name, value) in names.iter().zip(row) {
            chart = chart.bar(name.as_str(), *value);
        }
        report = report.picture_or_reason(&chart);
    }
    report
}

/// How the fit went, and how scores grow with the number of rows.
fn curves(report: Report, outcome: &Outcome) -> Report {
    let (steps, losses) = fitting::curve(outcome);
    let both = losses.len() > 1 && outcome.learning.len() > 1;
    if losses.len() < 2 && outcome.learning.len() < 2 {
        return report;
    }
    let mut report = report.section("Fitting");
    if outcome.learning.len() > 1 {
        let sign = if outcome.scorer.greater_is_better() { 1.0 } else { -1.0 };
        let of =
            |value: fn(&tove::tabular::LearningPoint) -> f64| outcome.learning.iter().map(value).collect::<Vec<f64>>();
        let rows = of(|point| point.rows as f64);
        let [train, test] = [of(|point| point.train), of(|point| point.test)]
            .map(|values| values.into_iter().map(|value| sign * value).collect::<Vec<f64>>());
        let chart = learning_chart(&rows, &train, &test, outcome.scorer.label()).title("Learning curve");
        report = report.picture_or_reason(&if both { chart } else { chart.wide() });
    }
    if losses.len() > 1 {
        let chart = LineChart::new().series("objective", &steps, &losses).x_label("iteration").y_label("objective");
        let chart = chart.title("Objective by iteration");
        report = report.picture_or_reason(&if both { chart } else { chart.wide() });
    }
    if outcome.learning.len() > 1 {
        report = report.text(
            "Learning curve: the same model fitted to parts of the training rows. A gap between the curves is overfitting, \
             which more rows reduce; curves that meet at a poor score show a model that is too simple.",
        );
    }
    report
}

/// Points of a side of the grid.
const GRID: usize = 61;
/// Rows that are drawn.
const DRAWN: usize = 600;

/// The regions of a classifier that looks at exactly two columns of numbers, with some rows of the table.
fn regions(data: &Data, model: &TabularModel) -> Option<DecisionMap> {
    let names: Vec<&str> = model.encoder().columns().collect();
    let &[first, second] = &names[..] else { return None };
    let (a, b) = (data.column(first).ok()?, data.column(second).ok()?);
    let numeric = a.kind().is_numeric() && b.kind().is_numeric() && model.encoder().feature_names().len() == 2;
    if !numeric || model.classes().is_empty() {
        return None;
    }
    let range = |column: &Column| {
        let known = (0..column.len()).filter_map(|row| column.number(row));
        let (low, high) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        (low < high).then_some((low - 0.05 * (high - low), high + 0.05 * (high - low)))
    };
    let (x, y) = (range(a)?, range(b)?);
    let place = |(low, high): (f64, f64), at: usize| low + (high - low) * at as f64 / (GRID - 1) as f64;
    let axis = |range: (f64, f64)| (0..GRID).map(|at| place(range, at)).collect::<Vec<f64>>();
    let (xs, ys) = (axis(x), axis(y));
    let grid = Tensor::from(xs.iter().flat_map(|&x| ys.iter().flat_map(move |&y| [x, y])).collect::<Vec<f64>>());
    // The encoder is asked directly: whole-number columns have no values between.
    let numbers = grid.to_f64_vec();
    let side = |offset: usize| Column::floats(numbers.iter().skip(offset).step_by(2).copied().collect());
    let table = Data::new([(first, side(0)), (second, side(1))]).ok()?;
    let rows = model.encoder().encode(&table).ok()?.x;
    let classes = model.model().predict(&rows).ok()?.to_dtype(DType::I64).to_vec::<i64>();
    let classes: Vec<usize> = classes.iter().map(|&class| class as usize).collect();
    let mut map = DecisionMap::new(&xs, &ys, &classes).class_names(model.classes()).x_label(first).y_label(second);
    if let Ok(probabilities) = model.model().predict_proba(&rows) {
        let m = model.model().classes().len().max(1);
        let sure =
            probabilities.to_f64_vec().chunks(m).map(|row| row.iter().copied().fold(0.0, f64::max)).collect::<Vec<_>>();
        map = map.confidence(&sure);
    }
    let (kept, _) = data.drop_missing(&[model.target(), first, second]).ok()?;
    let kept = kept.filter(|row| row % (data.n_rows().div_ceil(DRAWN)) == 0);
    let known = |name: &str| -> Option<Vec<f64>> {
        let column = kept.column(name).ok()?;
        (0..column.len()).map(|row| column.number(row)).collect()
    };
    let truth = model.labels().encode(kept.column(model.target()).ok()?).ok()?.to_vec::<i64>();
    let truth: Vec<usize> = truth.iter().map(|&class| class as usize).collect();
    Some(map.points(&known(first)?, &known(second)?, &truth))
}

/// The day of a number of seconds since 1970.
fn day(seconds: f64) -> String {
    let days = (seconds / 86_400.0).floor() as i64;
    Dates::new(vec![days].into(), Unit::Days).to_text(0).unwrap_or_default()
}

fn columns(report: Report, about: &Description) -> Report {
    let head = ["column", "type", "missing", "distinct", "mean", "min", "max", "most common"];
    let mut table = Table::new(&head);
    for column in about.columns.iter().cloned() {
        let date = column.kind == Kind::Date;
        let real = |value: Option<f64>| match value {
            Some(seconds) if date => day(seconds),
            Some(value) => number(value),
            None => String::new(),
        };
        let common = column.most_common.map_or(String::new(), |(value, count)| format!("{value} ({count})"));
        let cells = [
            column.name,
            column.kind.to_string(),
            column.missing.to_string(),
            column.distinct.to_string(),
            real(column.mean),
            real(column.min),
            real(column.max),
            common,
        ];
        table = table.row(&cells);
    }
    report.section("Columns").table(&table)
}
