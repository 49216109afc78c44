//! Runs as pages with pictures.

use serde_json::Value;
use tove::plot::{BarChart, LineChart, Report, ScoreChart};

use super::facts::{curve, learning, numbers, score, score_names, title};
use super::{compare, time};
use crate::failure::Failure;
use crate::output::number;
use crate::report::table;

/// One run.
pub fn of_run(run: &Value) -> Result<Report, Failure> {
    let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
    let mut report = Report::new(format!("Run {}: {} from {}", run["run"], text("target"), text("file")))
        .subtitle(format!("{}, {} (UTC)", text("model"), time(run)));
    for name in score_names(&[run]).into_iter().take(3) {
        if let Some(judged) = score(run, "test", name) {
            let note = match judged.interval {
                Some((low, high)) => format!("{} to {} with probability 95 %", number(low), number(high)),
                None => "on the test rows".to_owned(),
            };
            report = report.card_with_note(name, number(judged.value), note);
        }
    }
    report = report.section("Scores").table(&table(&compare::rows(&[run])));
    report = candidates(report, run)?;
    report = curves(report, &[run])?;
    report = learned(report, run)?;
    Ok(report)
}

/// Several runs side by side.
pub fn of_runs(runs: &[&Value]) -> Result<Report, Failure> {
    let numbers: Vec<String> = runs.iter().map(|run| run["run"].to_string()).collect();
    let mut report = Report::new(format!("Runs {}", numbers.join(", ")));
    report = report.section("Side by side").table(&table(&compare::rows(runs)));
    for name in score_names(runs) {
        let mut chart = BarChart::new().value_label(format!("test {name}"));
        for run in runs {
            let Some(judged) = score(run, "test", name) else { continue };
            chart = match judged.interval {
                Some((low, high)) => chart.bar_with_interval(title(run), judged.value, low, high),
                None => chart.bar(title(run), judged.value),
            };
        }
        report = report.picture(&chart.title(format!("Test {name}")))?;
    }
    report = report.text("Whiskers are intervals that hold with probability 95 %, where the score has one.");
    report = curves(report, runs)?;
    for run in runs {
        report = learned(report, run)?;
    }
    Ok(report)
}

fn candidates(report: Report, run: &Value) -> Result<Report, Failure> {
    let tried = run["tried"].as_array().cloned().unwrap_or_default();
    let mut chart =
        ScoreChart::new().value_label(format!("{} in each fold", run["scorer"].as_str().unwrap_or("score")));
    let mut drawn = false;
    for tried in &tried {
        let scores = numbers(&tried["scores"]);
        if !scores.is_empty() {
            chart = chart.group(tried["model"].as_str().unwrap_or_default(), &scores);
            drawn = true;
        }
    }
    let verdict = run["verdict"].as_str().unwrap_or_default();
    Ok(if drawn { report.section("Cross-validation").text(verdict).picture(&chart)? } else { report })
}

fn curves(report: Report, runs: &[&Value]) -> Result<Report, Failure> {
    let mut chart = LineChart::new().x_label("iteration").y_label("objective").title("Objective over the iterations");
    let mut drawn = false;
    for run in runs {
        let losses = curve(run);
        if losses.len() > 1 {
            let steps: Vec<f64> = (1..=losses.len()).map(|step| step as f64).collect();
            chart = chart.series(title(run), &steps, &losses);
            drawn = true;
        }
    }
    Ok(if drawn { report.section("Fitting").picture(&chart)? } else { report })
}

fn learned(report: Report, run: &Value) -> Result<Report, Failure> {
    let [rows, train, test] = learning(run);
    if rows.len() < 2 || train.len() != rows.len() || test.len() != rows.len() {
        return Ok(report);
    }
    let chart = learning_chart(&rows, &train, &test, run["scorer"].as_str().unwrap_or("score"));
    Ok(report.picture(&chart.title(format!("Learning curve of {}", title(run))))?)
}

/// Scores over the number of training rows.
pub fn learning_chart(rows: &[f64], train: &[f64], test: &[f64], scorer: &str) -> LineChart {
    let chart = LineChart::new().series("training rows", rows, train).series("test rows", rows, test);
    chart.x_label("rows fitted on").y_label(scorer)
}
