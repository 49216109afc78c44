//! The HTML report of a fit.

use tove::data::table::{Column, Dates, Description, Kind, ReadReport, Table as Data, Unit};
use tove::learn::{Model, Predict, Samples, Task};
use tove::metrics::{ConfusionMatrix, precision_recall_curve, roc_curve};
use tove::plot::{
    BarChart, ConfusionChart, DecisionMap, LineChart, PrecisionRecallChart, ReliabilityChart, Report, ResidualChart,
    RocChart, ScoreChart, Table,
};
use tove::tabular::{Outcome, TabularModel};
use tove::tensor::{DType, Tensor};

use crate::arguments::Fit;
use crate::commands::explain::side;
use crate::commands::fit::{
    beside_baseline, changes, curve, doubts, legend, score_rows, streaming, tried_rows, verdict,
};
use crate::commands::runs::learning_chart;
use crate::failure::Failure;
use crate::output::number;

/// The report: scores, the comparison, pictures of the errors, what the model looks at, the columns.
pub fn of_fit(
    fit: &Fit,
    data: Option<(&Data, &Description)>,
    read: &ReadReport,
    outcome: &Outcome,
) -> Result<Report, Failure> {
    let model = outcome.model.model();
    let first = outcome.test.first();
    let file = fit.file.file_name().map_or_else(|| fit.file.display().to_string(), |name| name.display().to_string());
    let mut report = Report::new(format!("{} from {file}", fit.target)).subtitle(format!(
        "{}, {} by tove {}",
        outcome.model.task(),
        outcome.chosen,
        env!("CARGO_PKG_VERSION")
    ));
    if let Some(named) = first {
        let note = match named.score.interval() {
            Some((low, high)) => format!("{low:.3} to {high:.3} with probability 95 %"),
            None => format!("on {} rows", named.score.n),
        };
        report = report.card_with_note(named.name, number(named.score.value), note);
    }
    if let Some(named) = outcome.baseline.first() {
        report = report.card_with_note("Baseline", number(named.score.value), "a constant prediction");
    }
    report = report
        .card_with_note("Rows fitted", outcome.fitted_rows.to_string(), format!("{} judged", outcome.judged_rows))
        .card("Features", model.width().to_string());
    report = report.section("Scores").table(&table(&score_rows(outcome)));
    let about =
        format!("Nothing was fitted on the test rows; the baseline predicts a constant. {}", legend(&outcome.test));
    report = report.text(about.trim_end());
    if let Some(sentence) = beside_baseline(outcome) {
        report = report.text(sentence);
    }
    for doubt in doubts(outcome) {
        report = report.text(format!("Doubt: {doubt}."));
    }
    if !outcome.tried.is_empty() {
        report = comparison(report, outcome)?;
    }
    report = report.section("Errors on the test rows");
    report = match model.task() {
        Task::Regression => residuals(report, model, &outcome.test_samples)?,
        Task::Classification => classes(report, outcome)?,
    };
    if let Some(map) = data.and_then(|(data, _)| regions(data, &outcome.model)) {
        report = report.section("Decision regions").picture(&map)?;
    }
    report = coefficients(report, outcome)?;
    report = curves(report, outcome)?;
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
    if let Some(streaming) = streaming(outcome) {
        report = report.text(streaming);
    }
    for change in changes(read, outcome) {
        report = report.text(format!("{change}."));
    }
    report = report.details("Hyperparameters", |body| Ok(body.preformatted(&settings)))?;
    for warning in &model.summary().warnings {
        report = report.text(format!("Note: {warning}"));
    }
    Ok(report)
}

/// A table of texts with its first row as the head.
pub fn table(rows: &[Vec<String>]) -> Table {
    let head = rows.first().cloned().unwrap_or_default();
    rows.iter().skip(1).fold(Table::new(&head), |table, row| table.row(row))
}

fn comparison(report: Report, outcome: &Outcome) -> Result<Report, Failure> {
    let mut chart = ScoreChart::new().value_label(format!("{} in each fold", outcome.scorer));
    let mut drawn = 0;
    for tried in outcome.tried.iter().filter(|tried| !tried.scores.is_empty()) {
        chart = chart.group(tried.name.as_str(), &tried.scores);
        drawn += 1;
    }
    let mut report = report.section("Cross-validation").table(&table(&tried_rows(outcome)));
    let verdict = verdict(outcome);
    if !verdict.is_empty() {
        report = report.text(verdict);
    }
    if drawn > 0 {
        report = report.picture(&chart)?;
    }
    Ok(report)
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

fn residuals(report: Report, model: &dyn Model, test: &Samples) -> Result<Report, Failure> {
    let (predicted, truth) = (model.predict(test.x())?.to_f64_vec(), test.y().to_f64_vec());
    let mut title = String::from("Residuals");
    if predicted.len() > POINTS {
        title.push_str(&format!(" of {POINTS} rows"));
    }
    Ok(report.picture(&ResidualChart::new(&thinned(&predicted), &thinned(&truth)).title(title))?)
}

fn classes(report: Report, outcome: &Outcome) -> Result<Report, Failure> {
    let (model, test, names) = (outcome.model.model(), &outcome.test_samples, outcome.model.classes());
    let predicted = model.predict(test.x())?;
    let matrix = ConfusionMatrix::new(&test.y().to_dtype(DType::I64), &predicted, None)?;
    let counts: Vec<u64> = matrix.counts().iter().map(|&count| count.round() as u64).collect();
    let met: Vec<&str> =
        matrix.labels().iter().map(|&label| names.get(label as usize).map_or("", String::as_str)).collect();
    let mut report = report.picture(&ConfusionChart::new(&met, &counts).title("Confusion matrix"))?;
    let m = model.classes().len();
    // Without probabilities the scores behind the decision rank the rows as well.
    let (all, calibrated) = match (model.predict_proba(test.x()), model.decision_function(test.x())) {
        (Ok(probabilities), _) => (probabilities.to_f64_vec(), true),
        (_, Ok(scores)) if m == 2 => (scores.to_f64_vec().iter().flat_map(|&score| [-score, score]).collect(), false),
        (_, Ok(scores)) if scores.dims().last() == Some(&m) => (scores.to_f64_vec(), false),
        _ => return Ok(report),
    };
    let truth = test.y().to_dtype(DType::I64).to_vec::<i64>();
    let of = |class: usize| -> (Vec<f64>, Vec<i64>) {
        let scores = all.chunks(m).map(|row| row[class]).collect();
        (scores, truth.iter().map(|&label| i64::from(label == model.classes()[class])).collect())
    };
    // Two classes have one curve, that of the second; several have one each, up to what can be read.
    let drawn: Vec<usize> = if m == 2 { vec![1] } else { (0..m.min(8)).collect() };
    let some =
        if drawn.len() > 1 && drawn.len() < m { format!(", {} of {m} classes", drawn.len()) } else { String::new() };
    let mut roc = RocChart::new().title(format!("Receiver operating characteristic{some}"));
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
        report = report.picture(&roc)?;
        let mut chart = PrecisionRecallChart::new(if drawn.len() == 1 { shares } else { 0.0 })
            .title(format!("Precision and recall{some}"));
        for (name, curve, area) in &curves {
            chart = chart.curve(*name, &thinned(&curve.recall), &thinned(&curve.precision), *area);
        }
        report = report.picture(&chart)?;
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
    let reliability = ReliabilityChart::from_predictions(&scores, &happened, 10)?.title(title);
    Ok(report.picture(&reliability)?)
}

fn coefficients(report: Report, outcome: &Outcome) -> Result<Report, Failure> {
    let Some(coefficients) = outcome.model.model().coefficients() else { return Ok(report) };
    let names = outcome.model.encoder().feature_names();
    let rows = coefficients.to_f64_vec();
    let mut report = report.section("Coefficients").text(
        "Numbers were scaled to mean 0 and variance 1 first, so that sizes can be compared; the 20 largest are shown.",
    );
    if let Some(side) = side(&outcome.model) {
        report = report.text(side);
    }
    for (number, row) in rows.chunks(names.len().max(1)).enumerate().take(8) {
        if row.len() != names.len() {
            break;
        }
        let mut chart = BarChart::new().sorted().top(20).value_label("coefficient");
        if rows.len() > names.len() {
            chart = chart.title(outcome.model.classes().get(number).cloned().unwrap_or_default());
        }
        for (name, value) in names.iter().zip(row) {
            chart = chart.bar(name.as_str(), *value);
        }
        report = report.picture(&chart)?;
    }
    Ok(report)
}

/// How the fit went, and how scores grow with the number of rows.
fn curves(report: Report, outcome: &Outcome) -> Result<Report, Failure> {
    let losses = curve(outcome);
    if losses.len() < 2 && outcome.learning.len() < 2 {
        return Ok(report);
    }
    let mut report = report.section("Fitting");
    if outcome.learning.len() > 1 {
        let of =
            |value: fn(&tove::tabular::LearningPoint) -> f64| outcome.learning.iter().map(value).collect::<Vec<f64>>();
        let (rows, train, test) = (of(|point| point.rows as f64), of(|point| point.train), of(|point| point.test));
        let chart = learning_chart(&rows, &train, &test, &outcome.scorer.to_string());
        report = report.picture(&chart.title("Learning curve"))?;
        report = report.text(
            "The same model fitted on parts of the training rows. Curves far apart tell of overfitting, which more rows mend; \
             curves that meet at a poor score tell of a model that is too simple.",
        );
    }
    if losses.len() > 1 {
        let steps: Vec<f64> = (0..losses.len()).map(|step| step as f64).collect();
        let chart = LineChart::new().series("objective", &steps, &losses).x_label("iteration").y_label("objective");
        report = report.picture(&chart.title("Objective over the iterations"))?;
    }
    Ok(report)
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
    let head = ["column", "kind", "missing", "distinct", "mean", "min", "max", "most common"];
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
