//! `tove reduce`: the rows of a table in fewer dimensions.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Column, Role, Wanted};
use tove::nn::interrupt_flag;
use tove::plot::{BarChart, LineChart, Report, ScatterChart};
use tove::tabular::{
    Candidate, ReduceOutcome, ReducePlan, ReducedTable, ScaledComponents, ScalingEffect, TableComponent, TabularError,
    drawn_rows,
};
use tove::tensor::io::WriteOptions;

use crate::arguments::{Reduce, ReduceMethod};
use crate::failure::Failure;
use crate::files;
use crate::model_text;
use crate::output::{Output, counted, paragraph, table};
use crate::report;
use crate::tables;

/// Loadings of a component that are shown, and that a JSON document has, at most.
const SHOWN: usize = 5;
const DOCUMENTED: usize = 100;
/// Components that are listed, at most.
const LISTED: usize = 20;
/// Components of a table, unless a number is given.
const DEFAULT: usize = 2;
/// Points of the scatter plot, at most.
const POINTS: usize = 3000;

pub fn run(reduce: &Reduce, output: &Output) -> Result<(), Failure> {
    if super::compress::is_images(&reduce.file) {
        return super::compress::run(reduce, output);
    }
    let candidate = candidate(reduce, output)?;
    files::differ(&[reduce.output.as_ref(), reduce.columns.report.as_ref()])?;
    let compact = reduce.output.as_deref().is_some_and(|path| path.extension().is_some_and(|ending| ending == "tove"));
    if compact && reduce.method == ReduceMethod::Umap {
        let problem = "a layout by umap cannot be rebuilt; write it to .csv, .parquet, .json or .jsonl";
        return Err(Failure::usage(problem));
    }
    if !compact {
        reduce.output.as_deref().map(files::Rows::of).transpose()?;
    }
    for path in [&reduce.output, &reduce.columns.report].into_iter().flatten() {
        files::may_write(path, reduce.columns.overwrite, &[&reduce.file])?;
    }
    let wanted = Wanted { only: None, unneeded: reduce.columns.drop.clone() };
    let (data, read) = tables::read_opened(tables::open(&reduce.file)?, &reduce.columns.reading, &wanted)?;
    tables::remark(&reduce.file, &read, output);
    tove::optim::interrupt_on(interrupt_flag()?);
    let mut plan = ReducePlan::new(candidate);
    let named = ["n_components", "k"];
    if reduce.components.is_none() && !reduce.columns.settings.iter().any(|(name, _)| named.contains(&name.as_str())) {
        plan = plan.at_most(DEFAULT);
    }
    if reduce.no_scale {
        plan = plan.standardize(false);
    }
    for (columns, role) in [(&reduce.columns.drop, Role::Dropped), (&reduce.columns.id, Role::Id)] {
        for column in columns {
            data.column(column).map_err(|error| tables::wrong_call(data.names(), error))?;
            plan = plan.role(column.as_str(), role);
        }
    }
    let formats = read.columns.iter().filter_map(|column| Some((column.name.as_str(), column.format?)));
    let plan = formats.fold(plan, |plan, (name, format)| plan.number_format(name, format));
    let found = plan.fit(&data).map_err(|error| match error {
        TabularError::Interrupted => Failure::interrupted(error),
        other => tables::failed(&reduce.file, data.names(), other),
    })?;
    for one in &found.left_out {
        output.remark(format!("column {} is left out: it {}", one.column, one.reason));
    }
    for (column, rows) in &found.imputed {
        output.remark(format!("column {column}: {} imputed", counted(*rows, "missing value")));
    }
    let options = WriteOptions { overwrite: reduce.columns.overwrite, ..WriteOptions::default() };
    // Both are made before either is written.
    let page =
        reduce.columns.report.as_ref().map(|path| Ok::<_, Failure>((path, page(reduce, &found)?))).transpose()?;
    let (text, document) = (text(reduce, &found), document(reduce, &found));
    match &reduce.output {
        Some(path) if compact => ReducedTable::new(found)?.save(path, options)?,
        Some(path) => files::save(&found.table, path, reduce.columns.overwrite)?,
        None => {}
    }
    if let Some((path, page)) = page {
        page.save(path, options)?;
    }
    let written: Vec<&Path> =
        [&reduce.output, &reduce.columns.report].into_iter().flatten().map(AsRef::as_ref).collect();
    if written.iter().any(|path| files::is_stdout(path)) {
        // The words must not come between the bytes of the file.
        output.remark(text);
        return Ok(());
    }
    output.result(|| text, || document)
}

/// The estimator with the seed and the settings of the command line.
fn candidate(reduce: &Reduce, output: &Output) -> Result<Candidate, Failure> {
    let mut candidate = Candidate::named(match reduce.method {
        ReduceMethod::Pca => "PCA",
        ReduceMethod::TruncatedSvd => "TruncatedSVD",
        ReduceMethod::Nmf => "NMF",
        ReduceMethod::Umap => "UMAP",
    })?;
    if candidate.estimator.value("seed").is_some() {
        candidate = candidate.set("seed", reduce.columns.seed)?;
    }
    if candidate.estimator.value("verbose").is_some() && !output.is_quiet() {
        candidate = candidate.set("verbose", true)?;
    }
    if let Some(components) = &reduce.components {
        if let Some((name, _)) =
            reduce.columns.settings.iter().find(|(name, _)| ["n_components", "k"].contains(&&**name))
        {
            return Err(Failure::usage(format!("--components and --set {name} say the same; give one of them")));
        }
        let wrong = |error: Failure| Failure::usage(format!("--components {components}: {error}"));
        model_text::set(&mut *candidate.estimator, "n_components", components).map_err(wrong)?;
    }
    for (name, value) in &reduce.columns.settings {
        model_text::set(&mut *candidate.estimator, name, value)?;
    }
    candidate.estimator.validate().map_err(Failure::usage)?;
    Ok(candidate)
}

/// What was found, in a sentence.
fn verdict(found: &ReduceOutcome) -> String {
    let (name, count, features) = (found.model.name(), found.components.len(), found.features);
    let components = if count == 1 { "1 component".to_owned() } else { format!("{count} components") };
    let shares: Option<Vec<f64>> = found.components.iter().map(|one| one.explained).collect();
    let explained = shares.map_or(String::new(), |shares| {
        let verb = if count == 1 { "explains" } else { "explain" };
        format!(", which {verb} {:.1} % of the variance", 100.0 * shares.iter().sum::<f64>())
    });
    format!("{name} reduces {features} features of {} rows to {components}{explained}.", found.table.n_rows())
}

/// A row for each component.
fn component_rows(found: &ReduceOutcome) -> Vec<Vec<String>> {
    let explains = found.components.iter().all(|one| one.explained.is_some());
    let mut head = vec!["component".to_owned()];
    if explains {
        head.extend(["variance", "together"].map(str::to_owned));
    }
    let loaded = found.components.iter().any(|one| !one.loadings.is_empty());
    if loaded {
        head.push("largest loadings".to_owned());
    }
    let (mut rows, mut sum) = (vec![head], 0.0);
    for one in found.components.iter().take(LISTED) {
        let mut row = vec![one.name.clone()];
        if explains {
            let share = one.explained.unwrap_or_default();
            sum += share;
            row.extend([share, sum].map(|share| format!("{:.1} %", 100.0 * share)));
        }
        if loaded {
            row.push(loadings(one));
        }
        rows.push(row);
    }
    rows
}

fn loadings(one: &TableComponent) -> String {
    let show = |(name, weight): &(String, f64)| format!("{name} {weight:+.3}");
    one.loadings.iter().take(SHOWN).map(show).collect::<Vec<_>>().join("; ")
}

fn text(reduce: &Reduce, found: &ReduceOutcome) -> String {
    let mut text = paragraph(&verdict(found));
    let rows = component_rows(found);
    // Names alone say nothing.
    let described = rows[0].len() > 1;
    if described {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    let more = found.components.len().saturating_sub(LISTED);
    if described && more > 0 {
        text.push_str(&format!("and {more} more components; --json has all\n"));
    }
    text.push_str(&found.scaling.as_ref().map_or(String::new(), |effect| format!("\n{}", paragraph(&scaling(effect)))));
    if let Some(path) = &reduce.output {
        text.push_str(&format!("\ncomponents: {}\n", path.display()));
    } else {
        text.push_str("\nThe components of the rows: write them to a file with -o.\n");
    }
    if let Some(path) = &reduce.columns.report {
        text.push_str(&format!("report:     {}\n", path.display()));
    }
    text
}

/// What standardizing does, in two sentences.
fn scaling(effect: &ScalingEffect) -> String {
    let first = |one: &ScaledComponents| {
        let share = 100.0 * one.explained.first().copied().unwrap_or_default();
        format!("{share:.1} % of the variance, with the largest weight on {} ({:+.3})", one.feature, one.weight)
    };
    format!(
        "Of standardized numbers the first component explains {}. Without standardizing (--no-scale) it explains {}.",
        first(&effect.standardized),
        first(&effect.raw)
    )
}

fn document(reduce: &Reduce, found: &ReduceOutcome) -> Value {
    let entry = |one: &TableComponent| {
        let loadings: Vec<Value> = one
            .loadings
            .iter()
            .take(DOCUMENTED)
            .map(|(name, weight)| json!({"feature": name, "weight": weight}))
            .collect();
        json!({"name": one.name, "explained_variance_ratio": one.explained, "loadings": loadings})
    };
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let left_out: Vec<Value> =
        found.left_out.iter().map(|one| json!({"column": one.column, "reason": one.reason})).collect();
    let scaled = |one: &ScaledComponents| {
        json!({
            "explained_variance_ratio": one.explained, "largest_loading": {"feature": one.feature, "weight": one.weight},
        })
    };
    let scaling = found.scaling.as_ref();
    let scaling =
        scaling.map(|effect| json!({"standardized": scaled(&effect.standardized), "raw": scaled(&effect.raw)}));
    json!({
        "scaling": scaling, "file": reduce.file.display().to_string(), "model": found.model.name(), "settings": found.model.settings(),
        "rows": found.table.n_rows(), "features": found.features, "verdict": verdict(found),
        "components": found.components.iter().map(entry).collect::<Vec<_>>(), "left_out": left_out,
        "warnings": found.model.summary().warnings, "seconds": found.seconds, "output": shown(&reduce.output),
        "report": shown(&reduce.columns.report),
    })
}

/// The report: the variance of each component, the rows along the first two, loadings.
fn page(reduce: &Reduce, found: &ReduceOutcome) -> Result<Report, Failure> {
    let mut page = Report::new(format!("Components of {}", report::file_name(&reduce.file)))
        .subtitle(format!("{}, tove {}", found.model.name(), env!("CARGO_PKG_VERSION")))
        .card("Components", found.components.len().to_string())
        .card("Features", found.features.to_string())
        .card("Rows", found.table.n_rows().to_string())
        .text(verdict(found));
    let rows = component_rows(found);
    if rows[0].len() > 1 {
        page = page.section("Components").table(&report::table(&rows));
    }
    let values = |one: &TableComponent| -> Vec<f64> {
        let column: Option<&Column> = found.table.column(&one.name).ok();
        drawn_rows(found.table.n_rows(), POINTS).into_iter().filter_map(|row| column?.number(row)).collect()
    };
    if let [first, second, ..] = &found.components[..] {
        let chart = ScatterChart::new().wide().group("rows", &values(first), &values(second));
        let chart = chart.x_label(first.name.as_str()).y_label(second.name.as_str());
        page = page.section("Rows along the first two components").picture_or_reason(&chart);
    }
    if let Some(effect) = &found.scaling {
        let mut chart =
            LineChart::new().wide().x_label("components").y_label("share of the variance explained together");
        for (name, one) in [("standardized", &effect.standardized), ("as they are", &effect.raw)] {
            let together = one.explained.iter().scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            });
            let (x, y): (Vec<f64>, Vec<f64>) = together.enumerate().map(|(i, sum)| (i as f64 + 1.0, sum)).unzip();
            chart = chart.series(name, &x, &y);
        }
        page = page.section("Effect of standardizing").text(scaling(effect)).picture_or_reason(&chart);
    }
    let loaded: Vec<&TableComponent> = found.components.iter().filter(|one| !one.loadings.is_empty()).take(4).collect();
    if !loaded.is_empty() {
        page =
            page.section("Loadings").text("The weights of the features in each component; the 15 largest are shown.");
    }
    for one in loaded {
        let mut chart = BarChart::new().sorted().top(15).capped().title(one.name.as_str()).value_label("weight");
        for (name, weight) in &one.loadings {
            chart = chart.bar(name.as_str(), *weight);
        }
        page = page.picture_or_reason(&chart);
    }
    let settings = format!("{:#}", found.model.settings());
    Ok(page.section("Details").details("Hyperparameters", |body| Ok(body.preformatted(&settings)))?)
}
