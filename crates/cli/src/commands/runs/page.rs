//! Runs as pages with pictures.

use serde_json::Value;
use tove::plot::{BarChart, LineChart, Report, ScoreChart};

use super::facts::{self, curve, learning, numbers, score, score_keys, title};
use super::{compare, time};
use crate::failure::Failure;
use crate::metrics::{decimals, greater_is_better, label};
use crate::report::table;

/// One run.
pub fn of_run(run: &Value) -> Result<Report, Failure> {
    let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
    let mut report = Report::new(format!("Run {}: {} from {}", run["run"], text("target"), text("file")))
        .subtitle(format!("{}, {} (UTC)", text("model"), time(run)));
    for name in score_keys(&[run]).into_iter().take(3) {
        if let Some(judged) = score(run, "test", name) {
            let decimals = decimals(name, [judged.value]);
            let note = match judged.interval {
                Some((low, high)) => format!("{} to {} with probability 95 %", decimals.show(low), decimals.show(high)),
                None => "on held-out rows".to_owned(),
            };
            report = report.card_with_note(label(name), decimals.show(judged.value), note);
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
    let groups = compare::groups(runs);
    if groups.len() > 1 {
        report = report.text(compare::NOT_COMPARED);
    }
    for group in groups.iter().filter(|group| groups.len() == 1 || group.len() > 1) {
        for name in score_keys(group) {
            let mut chart = BarChart::new().wide().value_label(format!("held-out {}", label(name)));
            for run in group {
                let Some(judged) = score(run, "test", name) else { continue };
                chart = match judged.interval {
                    Some((low, high)) => chart.bar_with_interval(title(run), judged.value, low, high),
                    None => chart.bar(title(run), judged.value),
                };
            }
            let of = if groups.len() > 1 { format!(" of {}", compare::problem(group[0])) } else { String::new() };
            report = report.picture_or_reason(&chart.title(format!("Held-out {}{of}", label(name))));
        }
    }
    report = report.text("Whiskers are intervals that hold with probability 95 %, where the score has one.");
    report = curves(report, runs)?;
    for run in runs {
        report = learned(report, run)?;
    }
    Ok(report)
}

fn candidates(report: Report, run: &Value) -> Result<Report, Failure> {
    let tried = facts::candidates(run);
    let metric = run["metric"].as_str().or(run["scorer"].as_str()).unwrap_or("score");
    let sign = if greater_is_better(metric) { 1.0 } else { -1.0 };
    let mut chart = ScoreChart::new().wide().value_label(format!("{} in each fold", label(metric)));
    if let Some(baseline) = score(run, "baseline", metric) {
        chart = chart.mark("baseline", baseline.value);
    }
    let mut drawn = false;
    for tried in &tried {
        let scores: Vec<f64> = numbers(&tried["scores"]).into_iter().map(|score| sign * score).collect();
        if !scores.is_empty() {
            chart = chart.group(tried["model"].as_str().unwrap_or_default(), &scores);
            drawn = true;
        }
    }
    let how = run["comparison"].as_str().or(run["verdict"].as_str()).unwrap_or_default();
    Ok(if drawn { report.section("Cross-validation").picture_or_reason(&chart).text(how) } else { report })
}

fn curves(report: Report, runs: &[&Value]) -> Result<Report, Failure> {
    let mut chart = LineChart::new().x_label("iteration").y_label("objective").title("Objective by iteration");
    let mut drawn = false;
    for run in runs {
        let (steps, losses) = curve(run);
        if losses.len() > 1 {
            chart = chart.series(title(run), &steps, &losses);
            drawn = true;
        }
    }
    Ok(if drawn { report.section("Fitting").picture_or_reason(&chart) } else { report })
}

fn learned(report: Report, run: &Value) -> Result<Report, Failure> {
    let [rows, train, test] = learning(run);
    if rows.len() < 2 || train.len() != rows.len() || test.len() != rows.len() {
        return Ok(report);
    }
    let metric = run["metric"].as_str().or(run["scorer"].as_str()).unwrap_or("score");
    let chart = learning_chart(&rows, &train, &test, label(metric));
    Ok(report.picture_or_reason(&chart.title(format!("Learning curve of {}", title(run)))))
}

/// Scores over the number of training rows.
pub fn learning_chart(rows: &[f64], train: &[f64], test: &[f64], metric: &str) -> LineChart {
    let chart = LineChart::new().series("training rows", rows, train).series("held-out rows", rows, test);
    chart.x_label("number of training rows").y_label(metric)
}
