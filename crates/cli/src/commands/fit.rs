//! `tove fit`: from a table to a judged, saved and reported model.

use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tove::data::table::{Role, Table, Target, TaskKind};
use tove::learn::Task;
use tove::tabular::{Candidate, Event, NamedScore, Outcome, Plan, usual_candidates};
use tove::tensor::io::WriteOptions;

use crate::arguments::Fit;
use crate::failure::Failure;
use crate::output::{Output, number, table};
use crate::report;
use crate::runs::Run;
use crate::tables;

pub fn run(fit: &Fit, output: &Output) -> Result<(), Failure> {
    let data = tables::read(&fit.file, &fit.reading, output)?;
    let plan = plan(fit)?;
    let schema = plan.schema(&data).map_err(|error| Failure::usage(format!("{error}{}", tables::hint(&data))))?;
    let candidates = candidates(fit, &data)?;
    check_files(fit)?;
    output.remark(summary(fit, &data, &schema));
    for (name, column) in data.iter().filter(|(_, column)| column.missing() == column.len()) {
        let kind = column.kind();
        output.remark(format!("warning: column {name} ({kind}) has no values at all; leave it out with --drop {name}"));
    }
    let bar = progress(output);
    let outcome = plan.fit(&data, &candidates, &mut |event| watch(&bar, event));
    bar.finish_and_clear();
    let outcome = outcome.map_err(|error| tables::failed(&fit.file, &data, error))?;
    let run = Run::begin(&fit.runs)?;
    let model = fit.output.clone().unwrap_or_else(|| run.folder.join("model.tove"));
    let page = fit.report.clone().unwrap_or_else(|| run.folder.join("report.html"));
    let saved = save(fit, &data, &outcome, &model, &page);
    if let Err(failure) = saved {
        run.abandon();
        return Err(failure);
    }
    let document = document(fit, &outcome, &model, &page);
    run.finish(document.clone())?;
    output.result(|| text(&outcome, &model, &page, run.number), || document)
}

fn plan(fit: &Fit) -> Result<Plan, Failure> {
    if !(fit.test_size > 0.0 && fit.test_size < 1.0) {
        return Err(Failure::usage(format!("--test-size {}: give a share between 0 and 1", fit.test_size)));
    }
    if !(fit.budget >= 0.0 && fit.budget <= 1e9) {
        return Err(Failure::usage(format!("--budget {}: give a number of seconds", fit.budget)));
    }
    if fit.cv == 1 {
        return Err(Failure::usage("--cv 1: at least 2 folds are needed, one to learn and one to judge; 0 for none"));
    }
    let mut plan = Plan::new(fit.target.as_str())
        .test_size(fit.test_size)
        .folds(fit.cv)
        .seed(fit.seed)
        .budget(Duration::from_secs_f64(fit.budget));
    if let Some(kind) = &fit.task {
        plan = plan.task(kind.parse::<TaskKind>().map_err(|error| Failure::usage(format!("--task: {error}")))?);
    }
    let roles = [(&fit.drop, Role::Dropped), (&fit.id, Role::Id)];
    for (columns, role) in roles {
        plan = columns.iter().fold(plan, |plan, column| plan.role(column.as_str(), role));
    }
    if let Some(column) = &fit.weights {
        plan = plan.role(column.as_str(), Role::Weight);
    }
    Ok(plan)
}

/// The models to fit, with the settings of the command line.
fn candidates(fit: &Fit, data: &Table) -> Result<Vec<Candidate>, Failure> {
    let kind = fit.task.as_deref().map(str::parse::<TaskKind>).transpose().map_err(Failure::usage)?;
    let (kept, _) = data.drop_missing(&[&fit.target])?;
    let place = |error| Failure::work(format!("{}, column {}: {error}", fit.file.display(), fit.target));
    let target = Target::encode(kept.column(&fit.target)?, kind).map_err(place)?;
    let task = match target.task().kind() {
        TaskKind::Regression => Task::Regression,
        TaskKind::Classification => Task::Classification,
    };
    let mut candidates = if fit.model.eq_ignore_ascii_case("auto") {
        if let Some((name, _)) = fit.settings.first() {
            return Err(Failure::usage(format!("--set {name}: name the model it belongs to with --model")));
        }
        usual_candidates(task, kept.n_rows())
    } else {
        vec![Candidate::named(&fit.model).map_err(Failure::usage)?]
    };
    for candidate in &mut candidates {
        if candidate.estimator.task() != task {
            let kind = if task == Task::Regression { "a regression" } else { "a classification" };
            let other = if task == Task::Regression { "classification" } else { "regression" };
            return Err(Failure::usage(format!(
                "{} does not do {kind}, which {} asks for; choose another model (`tove models`), or --task {other}",
                candidate.name, fit.target
            )));
        }
        let names: Vec<String> = candidate.estimator.describe_any().into_iter().map(|(name, _)| name).collect();
        for seed in ["seed", "random_state"].iter().filter(|seed| names.iter().any(|name| name == *seed)) {
            candidate.estimator.set_any(seed, &fit.seed.to_string())?;
        }
        for (name, value) in &fit.settings {
            candidate.estimator.set_any(name, value).map_err(Failure::usage)?;
        }
        candidate.estimator.validate_any().map_err(Failure::usage)?;
    }
    Ok(candidates)
}

/// That nothing would be written over, before the work is done.
fn check_files(fit: &Fit) -> Result<(), Failure> {
    for path in [&fit.output, &fit.report].into_iter().flatten() {
        if path.exists() && !fit.overwrite {
            return Err(Failure::usage(format!(
                "{} exists already; choose another name or add --overwrite",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(Failure::work(format!("{}: there is no such folder; make it first", path.display())));
        }
    }
    Ok(())
}

fn progress(output: &Output) -> ProgressBar {
    if output.is_quiet() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg:40} {bar:30} {pos}/{len} {elapsed}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn watch(bar: &ProgressBar, event: &Event) {
    match event {
        Event::Fitting { candidate, done, total } => {
            bar.set_length(*total as u64 + 1);
            bar.set_position(*done as u64);
            bar.set_message(candidate.clone());
        }
        Event::Refitting { candidate } => bar.set_message(format!("{candidate} on all training rows")),
    }
}

/// What the table is, in a line and a small table.
fn summary(fit: &Fit, data: &Table, schema: &tove::data::table::Schema) -> String {
    let about = data.describe();
    let mut rows = vec![["column", "kind", "role", "missing", "distinct"].map(str::to_owned).to_vec()];
    let shown = 30;
    for column in about.columns.iter().take(shown) {
        let role = schema.field(&column.name).map_or(String::new(), |field| format!("{:?}", field.role).to_lowercase());
        let missing = if column.missing == 0 { String::new() } else { column.missing.to_string() };
        rows.push(vec![column.name.clone(), column.kind.to_string(), role, missing, column.distinct.to_string()]);
    }
    let more = about.columns.len().saturating_sub(shown);
    let rest = if more > 0 { format!("and {more} more columns\n") } else { String::new() };
    format!("{}: {} rows, {} columns\n\n{}{rest}", fit.file.display(), data.n_rows(), data.n_columns(), table(&rows))
}

fn save(fit: &Fit, data: &Table, outcome: &Outcome, model: &Path, page: &Path) -> Result<(), Failure> {
    let options = WriteOptions { overwrite: fit.overwrite, ..WriteOptions::default() };
    outcome.model.save(model, options)?;
    report::of_fit(fit, data, outcome)?.save(page, options)?;
    Ok(())
}

fn with_interval(named: &NamedScore) -> String {
    match named.score.interval() {
        Some((low, high)) => format!("{:.4} [{low:.4}, {high:.4}]", named.score.value),
        None => number(named.score.value),
    }
}

/// Rows of a table with the scores on training rows, test rows and of the baseline.
pub fn score_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let mut rows = vec![["score", "training rows", "test rows", "baseline"].map(str::to_owned).to_vec()];
    let find = |scores: &[NamedScore], name: &str| {
        scores.iter().find(|named| named.name == name).map_or(String::new(), |named| number(named.score.value))
    };
    for named in &outcome.test {
        rows.push(vec![
            named.name.to_owned(),
            find(&outcome.train, named.name),
            with_interval(named),
            find(&outcome.baseline, named.name),
        ]);
    }
    rows
}

/// Rows of a table with what each candidate reached.
pub fn tried_rows(outcome: &Outcome) -> Vec<Vec<String>> {
    let head = format!("mean {}", outcome.scorer);
    let mut rows = vec![vec!["model".to_owned(), head, "deviation".to_owned(), "seconds".to_owned(), String::new()]];
    for tried in &outcome.tried {
        let mark =
            if tried.name == outcome.chosen { "chosen".to_owned() } else { tried.problem.clone().unwrap_or_default() };
        rows.push(vec![
            tried.name.clone(),
            tried.mean().map_or(String::new(), number),
            tried.spread().map_or(String::new(), number),
            if tried.problem.is_some() { String::new() } else { format!("{:.2}", tried.seconds) },
            mark,
        ]);
    }
    rows
}

/// Why the winner won, and what that is worth.
pub fn verdict(outcome: &Outcome) -> String {
    let mut better: Vec<(&str, f64)> =
        outcome.tried.iter().filter_map(|tried| Some((tried.name.as_str(), tried.mean()?))).collect();
    better.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [(first, most), (second, next), ..] = better[..] else { return String::new() };
    let scorer = outcome.scorer;
    let mut text = format!(
        "{first} has the best mean {scorer} over the folds, {}; the next is {second} with {}.",
        number(most),
        number(next)
    );
    if let Some(guarantee) = outcome.guarantee {
        let (k, epsilon) = (better.len(), guarantee.epsilon);
        text.push_str(&format!(
            " All {k} errors lie within {epsilon:.4} of the true ones with probability 95 % (union bound), so the choice is \
             at most {:.4} worse than the best of them.",
            guarantee.excess
        ));
        if most - next < 2.0 * epsilon {
            text.push_str(
                " The difference between the first two is smaller than that: other rows could turn it round.",
            );
        }
    }
    text
}

fn text(outcome: &Outcome, model: &Path, page: &Path, run: u64) -> String {
    let mut text = String::new();
    if outcome.dropped > 0 {
        text.push_str(&format!("{} rows without a target were left out.\n", outcome.dropped));
    }
    if !outcome.tried.is_empty() {
        text.push_str(&format!("Cross-validation on {} training rows:\n\n", outcome.train_rows.len()));
        text.push_str(&format!("{}\n", table(&tried_rows(outcome))));
        let verdict = verdict(outcome);
        if !verdict.is_empty() {
            text.push_str(&format!("{verdict}\n\n"));
        }
    }
    let rows = outcome.test_rows.len();
    text.push_str(&format!("{} judged on {rows} rows that nothing was fitted on:\n\n", outcome.chosen));
    text.push_str(&table(&score_rows(outcome)));
    if outcome.test.iter().any(|named| named.score.interval().is_some()) {
        text.push_str("\nIntervals in brackets hold with probability 95 %, whatever the distribution (Hoeffding).\n");
    }
    for warning in &outcome.model.model().summary().warnings {
        text.push_str(&format!("Note: {warning}\n"));
    }
    text.push_str(&format!(
        "\nRun {run}, {:.1} s. Model: {}  Report: {}\n",
        outcome.seconds,
        model.display(),
        page.display()
    ));
    text
}

fn scores(list: &[NamedScore]) -> Value {
    let entry = |named: &NamedScore| {
        (
            named.name.to_owned(),
            json!({"value": named.score.value, "interval": named.score.interval(), "n": named.score.n}),
        )
    };
    Value::Object(list.iter().map(entry).collect())
}

fn document(fit: &Fit, outcome: &Outcome, model: &Path, page: &Path) -> Value {
    let tried: Vec<Value> = outcome
        .tried
        .iter()
        .map(|tried| {
            json!({
                "model": tried.name, "scores": tried.scores, "mean": tried.mean(), "seconds": tried.seconds,
                "problem": tried.problem,
            })
        })
        .collect();
    json!({
        "file": fit.file.display().to_string(), "target": fit.target, "task": outcome.model.task().to_string(),
        "classes": outcome.model.classes(), "model": outcome.chosen, "settings": outcome.model.model().settings(),
        "seed": fit.seed, "scorer": outcome.scorer.to_string(), "tried": tried, "verdict": verdict(outcome),
        "train": scores(&outcome.train), "test": scores(&outcome.test), "baseline": scores(&outcome.baseline),
        "train_rows": outcome.train_rows.len(), "test_rows": outcome.test_rows.len(), "dropped": outcome.dropped,
        "seconds": outcome.seconds, "warnings": outcome.model.model().summary().warnings,
        "model_file": model.display().to_string(), "report": page.display().to_string(),
    })
}
