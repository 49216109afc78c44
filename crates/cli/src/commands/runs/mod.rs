//! `tove runs`: past fits.

mod compare;
mod facts;
mod page;
mod show;

pub use page::learning_chart;

use serde_json::Value;
use tove::data::table::{Dates, Unit};
use tove::plot::Report;
use tove::tensor::io::WriteOptions;

use crate::arguments::{Page, Runs, RunsAction};
use crate::failure::Failure;
use crate::files;
use crate::metrics;
use crate::output::{Output, note, table};
use crate::runs;

pub fn run(arguments: &Runs, output: &Output) -> Result<(), Failure> {
    let (all, lost) = runs::all(&arguments.runs)?;
    if lost > 0 {
        output.remark(format!("{lost} lines of the list of runs could not be read"));
    }
    let find = |wanted: u64| {
        let found = all.iter().find(|run| run["run"] == wanted);
        found.ok_or_else(|| Failure::usage(format!("there is no run {wanted}; `tove runs` lists them")))
    };
    match &arguments.action {
        None | Some(RunsAction::List) => {
            output.result(|| list(&all, output.is_verbose()), || Value::Array(all.clone()))
        }
        Some(RunsAction::Show { number, page }) => {
            let run = find(*number)?;
            save(page, output, || page::of_run(run))?;
            output.result(|| show::text(run, output.is_verbose()), || run.clone())
        }
        Some(RunsAction::Compare { numbers, page }) => {
            let chosen = numbers.iter().map(|&number| find(number)).collect::<Result<Vec<_>, _>>()?;
            save(page, output, || page::of_runs(&chosen))?;
            output.result(|| compare::text(&chosen), || chosen.iter().map(|run| (*run).clone()).collect())
        }
    }
}

/// Writes the pictures, if asked to.
fn save(page: &Page, output: &Output, report: impl FnOnce() -> Result<Report, Failure>) -> Result<(), Failure> {
    let Some(path) = &page.report else { return Ok(()) };
    files::may_write(path, page.overwrite, &[])?;
    report()?.save(path, WriteOptions { overwrite: page.overwrite, ..WriteOptions::default() })?;
    output.remark(format!("report: {}", path.display()));
    Ok(())
}

/// The label of the deciding metric of a run and its held-out score, with its interval if `verbose`, otherwise with ±.
fn first_score(run: &Value, verbose: bool) -> (String, String) {
    let Some(&key) = facts::score_keys(&[run]).first() else { return Default::default() };
    let Some(mut found) = facts::score(run, "test", key) else { return Default::default() };
    if !verbose {
        found.interval = None;
    }
    (metrics::label(key).to_owned(), found.text(metrics::decimals(key, [found.value])))
}

/// The name of a run's file without its folders.
fn file_name(run: &Value) -> String {
    let path = text_of(run, "file");
    std::path::Path::new(&path).file_name().map_or(path.clone(), |name| name.display().to_string())
}

/// A time as year-month-day hour:minute, in UTC.
fn time(run: &Value) -> String {
    let seconds = run["time"].as_i64().unwrap_or(0);
    let text = Dates::new([Some(seconds)].into_iter().collect(), Unit::Seconds).to_text(0).unwrap_or_default();
    text.rsplit_once(':').map_or(text.clone(), |(minutes, _)| minutes.to_owned())
}

fn text_of(run: &Value, name: &str) -> String {
    run[name].as_str().map_or_else(|| run[name].to_string(), str::to_owned)
}

/// All runs; `verbose` adds the folders of files and the time that each took.
fn list(all: &[Value], verbose: bool) -> String {
    let mut head = ["run", "time (UTC)", "file", "target", "model", "metric", "held-out"].map(str::to_owned).to_vec();
    if verbose {
        head.push("seconds".to_owned());
    }
    let mut rows = vec![head];
    for run in all {
        let (name, value) = first_score(run, verbose);
        let file = if verbose { text_of(run, "file") } else { file_name(run) };
        let mut row = vec![run["run"].to_string(), time(run), file, text_of(run, "target"), text_of(run, "model")];
        row.extend([name, value]);
        if verbose {
            row.push(run["seconds"].as_f64().map_or(String::new(), |seconds| format!("{seconds:.1}")));
        }
        rows.push(row);
    }
    let count = all.len();
    let mut text = format!(
        "{count} run{}; the held-out score is that of the metric that chose the model.\n\n",
        if count == 1 { "" } else { "s" }
    );
    text.push_str(&table(&rows));
    for run in all.iter().filter(|run| run["problem"].is_string()) {
        text.push_str(&note(&format!("Note: run {}: {}", run["run"], text_of(run, "problem"))));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn times_are_dates_and_minutes_in_utc() {
        let time = |seconds: i64| super::time(&json!({"time": seconds}));
        assert_eq!(time(0), "1970-01-01 00:00");
        assert_eq!(time(11_016 * 86_400 + 3_661), "2000-02-29 01:01");
        assert_eq!(time(-1), "1969-12-31 23:59");
        assert_eq!(super::time(&json!({})), "1970-01-01 00:00");
    }
}
