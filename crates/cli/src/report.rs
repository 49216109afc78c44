//! The HTML reports of a fit and of an evaluation.

mod errors;

use std::path::Path;

use tove::data::table::{Column, Dates, Description, Kind, ReadReport, Table, Unit};
use tove::learn::Predict;
use tove::plot::{BarChart, DecisionMap, LineChart, Report, ReportTable, ScoreChart};
use tove::tabular::{EvaluationReport, NamedScore, Outcome, TabularModel};
use tove::tensor::{DType, Tensor};

use crate::arguments::Fit;
use crate::commands::explain::side;
use crate::commands::runs::learning_chart;
use crate::commands::{evaluate, fit as fitting};
use crate::failure::Failure;
use crate::metrics::{decimals_of, legend};
use crate::output::number;
use errors::errors;

/// Held-out rows and shuffles of the permutation importance in a report.
const IMPORTANCE_ROWS: usize = 300;
const IMPORTANCE_REPEATS: usize = 3;

/// The report of a fit: verdict, scores, the comparison, charts of the errors, coefficients, learning curves, the columns.
pub fn of_fit(
    fit: &Fit,
    data: Option<(&Table, &Description)>,
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
        .card_with_note("Training rows", outcome.n_train.to_string(), format!("{} held out", outcome.n_test))
        .card("Features", model.width().to_string());
    report = report.text(fitting::verdict(outcome));
    report = report.section("Scores").table(&table(&fitting::score_rows(outcome, true)));
    let about = format!(
        "The held-out rows were not used for fitting; the baseline predicts a constant. {}",
        legend(&outcome.test, true)
    );
    report = report.text(about.trim_end());
    for sentence in fitting::beside_baseline(outcome).into_iter().chain(fitting::data_warnings(outcome)) {
        report = report.text(format!("Warning: {}.", sentence.trim_end_matches('.')));
    }
    if !outcome.candidates.is_empty() {
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
    report = report.section("Details").text(format!(
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
pub fn of_evaluation(
    file: &Path,
    model: &TabularModel,
    judged: &EvaluationReport,
    verdict: &str,
) -> Result<Report, Failure> {
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
    report = report
        .section("Scores")
        .table(&table(&evaluate::score_rows(&judged.scores, true)))
        .text(legend(&judged.scores, true));
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

pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string())
}

/// A table of texts with its first row as the header.
pub fn table(rows: &[Vec<String>]) -> ReportTable {
    let head = rows.first().cloned().unwrap_or_default();
    rows.iter().skip(1).fold(ReportTable::new(&head), |table, row| table.row(row))
}

fn comparison(report: Report, outcome: &Outcome) -> Report {
    let scorer = outcome.scorer;
    let sign = if scorer.greater_is_better() { 1.0 } else { -1.0 };
    let mut chart = ScoreChart::new().wide().value_label(format!("{} in each fold", scorer.label()));
    let mut drawn = 0;
    for tried in outcome.candidates.iter().filter(|tried| !tried.scores.is_empty()) {
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

fn coefficients(report: Report, outcome: &Outcome, data: Option<&Table>) -> Report {
    let Some(coefficients) = outcome.model.model().coefficients() else { return importance(report, outcome, data) };
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

/// Permutation importance on a sample of the held-out rows, for models without coefficients.
fn importance(report: Report, outcome: &Outcome, data: Option<&Table>) -> Report {
    let Some(data) = data.filter(|_| !outcome.test_rows.is_empty()) else { return report };
    let step = outcome.test_rows.len().div_ceil(IMPORTANCE_ROWS).max(1);
    let rows: Vec<usize> = outcome.test_rows.iter().copied().step_by(step).collect();
    // Rows are counted without those that have no target.
    let known = data.drop_missing(&[outcome.model.target()]).map(|(known, _)| known);
    let found = known
        .and_then(|known| known.take(&rows))
        .ok()
        .and_then(|sample| outcome.model.permutation_importance(&sample, outcome.scorer, IMPORTANCE_REPEATS, 0).ok());
    // A chart never fails a fit.
    let Some(found) = found else { return report };
    let label = format!("drop in score ({}) when the column is shuffled", outcome.scorer.label());
    let mut chart = BarChart::new().top(20).wide().value_label(label);
    for entry in &found.columns {
        chart =
            chart.bar_with_interval(entry.column.as_str(), entry.mean, entry.mean - entry.std, entry.mean + entry.std);
    }
    report.section("Permutation importance").picture_or_reason(&chart).text(format!(
        "On {} held-out rows, {IMPORTANCE_REPEATS} shuffles of each column; `tove explain` computes it on more.",
        rows.len()
    ))
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
fn regions(data: &Table, model: &TabularModel) -> Option<DecisionMap> {
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
    let table = Table::new([(first, side(0)), (second, side(1))]).ok()?;
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
    let mut table = ReportTable::new(&head);
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
