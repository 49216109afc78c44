//! `tove explain`: what a model uses to predict.
//!
//! Coefficients are those of the standardized features. The permutation importance of a column is how much the score drops when its
//! values are shuffled among the rows; partial dependence is the mean prediction when a column is set to one value in all rows.

mod dependence;
mod row;

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Table, Wanted};
use tove::learn::selection::Scorer;
use tove::plot::{BarChart, Report};
use tove::tabular::{Importance, TabularModel};
use tove::tensor::Key;
use tove::tensor::io::WriteOptions;

use crate::arguments::Explain;
use crate::failure::Failure;
use crate::files;
use crate::metrics;
use crate::output::{Decimals, Output, paragraph, table};
use crate::tables;

/// Columns whose partial dependence a report shows, the most important first.
const DEPENDENCES: usize = 6;

/// A coefficient of a feature; of several classes, each has its own.
struct Coefficient {
    class: String,
    feature: String,
    value: f64,
}

/// What is known of a model.
struct Explanation<'a> {
    model: &'a TabularModel,
    scorer: Scorer,
    data: Option<&'a Table>,
    /// The score on the table as it is; greater is better.
    score: Option<f64>,
    importances: Vec<Importance>,
    coefficients: Vec<Coefficient>,
}

pub fn run(explain: &Explain, output: &Output) -> Result<(), Failure> {
    let inputs: Vec<&Path> =
        [Some(&explain.model), explain.file.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    files::read_once(&inputs)?;
    if let Some(path) = &explain.report {
        files::may_write(path, explain.overwrite, &inputs)?;
    }
    let model = tables::with_target(&explain.model, tables::model(&explain.model)?)?;
    let scorer = match &explain.metric {
        Some(name) => metrics::chosen(name, model.model().capabilities(), model.classes().len())?,
        None => Scorer::usual(model.model().capabilities())?,
    };
    if explain.metric.is_some() && explain.file.is_none() {
        return Err(Failure::usage(
            "--metric is the metric of permutation importance, which needs a table: MODEL FILE",
        ));
    }
    let only = model.schema().fields().iter().map(|field| field.name.clone()).collect();
    let wanted = Wanted { only: Some(only), unneeded: Vec::new() };
    let data = match &explain.file {
        Some(file) => Some(tables::read(file, &explain.reading, &wanted, output)?),
        None => None,
    };
    if let Some(number) = explain.row {
        let Some(data) = data else {
            return Err(Failure::usage("--row is a row of a table, which is missing: MODEL FILE --row N"));
        };
        return row::run(&model, &data, number, explain, output);
    }
    let data = data.map(|data| sampled(&model, data, explain, output)).transpose()?;
    let coefficients = coefficients(&model, data.as_ref());
    if coefficients.is_empty() && data.is_none() {
        let name = model.model().name();
        return Err(Failure::usage(format!("{name} has no coefficients; give a table for permutation importance")));
    }
    let (score, importances) = match &data {
        Some(data) => {
            let found = model.permutation_importance(data, scorer, explain.repeats, explain.seed)?;
            (Some(found.score), found.columns)
        }
        None => (None, Vec::new()),
    };
    let explanation = Explanation { model: &model, scorer, data: data.as_ref(), score, importances, coefficients };
    if let Some(path) = &explain.report {
        let options = WriteOptions { overwrite: explain.overwrite, ..WriteOptions::default() };
        explanation.report(explain.top)?.save(path, options)?;
        output.remark(format!("report: {}", path.display()));
    }
    output.result(|| explanation.text(explain.top), || explanation.document())
}

/// The rows that have a target, or a random sample of them.
fn sampled(model: &TabularModel, data: Table, explain: &Explain, output: &Output) -> Result<Table, Failure> {
    let (data, _) = data.drop_missing(&[model.target()])?;
    let (rows, most) = (data.n_rows(), explain.sample);
    if most == 0 || rows <= most {
        return Ok(data);
    }
    output.remark(format!("computed on a random sample of {most} of {rows} rows (--sample N, 0 for all)"));
    let order = Key::new(explain.seed).fold(u64::MAX).permutation(rows).to_vec::<i64>();
    let mut drawn: Vec<usize> = order.into_iter().take(most).map(|row| row as usize).collect();
    drawn.sort_unstable();
    Ok(data.take(&drawn)?)
}

/// What the sign of the coefficients means, where there are two classes.
pub fn side(model: &TabularModel) -> Option<String> {
    let [first, second] = model.classes() else { return None };
    Some(format!("Positive coefficients increase the probability of {second}, negative ones that of {first}."))
}

/// The coefficients, the largest first. With a table, hashed features are named by the values behind them.
fn coefficients(model: &TabularModel, data: Option<&Table>) -> Vec<Coefficient> {
    let Some(values) = model.model().coefficients() else { return Vec::new() };
    let encoder = model.encoder();
    let names = data.map_or_else(|| encoder.feature_names().to_vec(), |data| encoder.readable_names(data));
    let rows = values.to_f64_vec();
    let several = rows.len() > names.len();
    let mut list = Vec::new();
    for (row, values) in rows.chunks(names.len().max(1)).enumerate() {
        let class = if several { model.classes().get(row).cloned().unwrap_or_default() } else { String::new() };
        let of =
            |(feature, &value): (&String, &f64)| Coefficient { class: class.clone(), feature: feature.clone(), value };
        list.extend(names.iter().zip(values).map(of));
    }
    list.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    list
}

impl Explanation<'_> {
    /// What matters most, in a sentence.
    fn verdict(&self) -> Option<String> {
        let first = self.importances.first()?;
        let (label, rows) = (self.scorer.label(), self.data.map_or(0, Table::n_rows));
        let whole = self.score.map_or(0.0, |score| if self.scorer.greater_is_better() { score } else { -score });
        let decimals = metrics::decimals(metrics::id(self.scorer), [whole, first.mean]);
        let (shown, most) = (decimals.show(whole), decimals.show(first.mean));
        if first.mean <= 0.0 || most == decimals.show(0.0) {
            return Some(format!(
                "No column matters: shuffling any of them leaves the {label} of {shown} on {rows} rows."
            ));
        }
        let how = if self.scorer.greater_is_better() { "lowers" } else { "raises" };
        Some(format!(
            "{} matters most: shuffling it {how} the {label} of {shown} on {rows} rows by {most}.",
            first.column
        ))
    }

    fn text(&self, top: usize) -> String {
        let mut parts = Vec::new();
        if let Some(verdict) = self.verdict() {
            let head = format!("permutation importance ({})", self.scorer.label());
            let mut rows = vec![vec!["column".to_owned(), head, "std".to_owned()]];
            let decimals = Decimals::of(self.importances.iter().flat_map(|entry| [entry.mean, entry.std]));
            for entry in self.importances.iter().take(top) {
                rows.push(vec![entry.column.clone(), decimals.show(entry.mean), decimals.show(entry.std)]);
            }
            parts.push(paragraph(&verdict));
            parts.push(table(&rows) + &more(self.importances.len(), top));
        }
        if !self.coefficients.is_empty() {
            let several = self.coefficients.iter().any(|entry| !entry.class.is_empty());
            let mut rows = vec![["class", "feature", "coefficient"].map(str::to_owned).to_vec()];
            let decimals = Decimals::of(self.coefficients.iter().map(|entry| entry.value));
            for entry in self.coefficients.iter().take(top) {
                rows.push(vec![entry.class.clone(), entry.feature.clone(), decimals.show(entry.value)]);
            }
            if !several {
                rows.iter_mut().for_each(|row| drop(row.remove(0)));
            }
            parts.push(table(&rows) + &more(self.coefficients.len(), top));
            let about = format!("{} Features were standardized.", side(self.model).unwrap_or_default());
            parts.push(paragraph(about.trim_start()));
        }
        parts.join("\n")
    }

    fn document(&self) -> Value {
        let importances: Vec<Value> = self
            .importances
            .iter()
            .map(|entry| json!({"column": entry.column, "mean": entry.mean, "std": entry.std}))
            .collect();
        let coefficients: Vec<Value> = self
            .coefficients
            .iter()
            .map(|entry| json!({"class": entry.class, "feature": entry.feature, "value": entry.value}))
            .collect();
        json!({
            "metric": metrics::id(self.scorer), "rows": self.data.map(Table::n_rows), "verdict": self.verdict(),
            "importances": importances, "coefficients": coefficients,
        })
    }

    fn report(&self, top: usize) -> Result<Report, Failure> {
        let model = self.model;
        let mut report = Report::new(format!("What {} uses to predict {}", model.model().name(), model.target()))
            .subtitle(model.task().to_string());
        if let Some(verdict) = self.verdict() {
            let label = format!("drop in score ({}) when the column is shuffled", self.scorer.label());
            let mut chart = BarChart::new().top(top).wide().value_label(label);
            for entry in &self.importances {
                let (low, high) = (entry.mean - entry.std, entry.mean + entry.std);
                chart = chart.bar_with_interval(entry.column.as_str(), entry.mean, low, high);
            }
            report = report.text(verdict).section("Permutation importance").picture_or_reason(&chart);
            report = report.text("Whiskers are one standard deviation over the repeated shuffles.");
        }
        if !self.coefficients.is_empty() {
            let mut chart =
                BarChart::new().top(top).capped().wide().value_label("coefficient of the standardized feature");
            for Coefficient { class, feature, value } in &self.coefficients {
                let name = if class.is_empty() { feature.clone() } else { format!("{class}: {feature}") };
                chart = chart.bar(name, *value);
            }
            report = report.section("Coefficients");
            report = side(model).into_iter().fold(report, Report::text).picture_or_reason(&chart);
        }
        let Some(data) = self.data else { return Ok(report) };
        let columns = self.importances.iter().take(DEPENDENCES).map(|entry| entry.column.as_str());
        dependence::charts(report, model, data, columns)
    }
}

/// How many entries are not shown.
fn more(all: usize, top: usize) -> String {
    if all > top { format!("and {} more (--top N)\n", all - top) } else { String::new() }
}
