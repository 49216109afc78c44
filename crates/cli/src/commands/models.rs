//! `tove models`: the models there are, all from their declarations.

use serde_json::{Value, json};
use tove::learn::Task;
use tove::learn::registry::{self, Entry};

use crate::arguments::Models;
use crate::failure::Failure;
use crate::output::{Output, table};

pub fn run(models: &Models, output: &Output) -> Result<(), Failure> {
    match &models.name {
        None => output.result(list, || registry::all().iter().map(describe).collect::<Vec<Value>>().into()),
        Some(name) => {
            let entry = registry::find(name).map_err(Failure::usage)?;
            output.result(|| details(&entry), || describe(&entry))
        }
    }
}

fn task(entry: &Entry) -> &'static str {
    match entry.task {
        Task::Regression => "regression",
        Task::Classification => "classification",
    }
}

/// What a model can take and give, in words.
fn abilities(entry: &Entry) -> Vec<&'static str> {
    let abilities = entry.abilities;
    let several = if entry.task == Task::Classification { "several classes" } else { "several outputs" };
    let all = [
        (abilities.probabilities, "probabilities"),
        (abilities.several, several),
        (abilities.weights, "weights"),
        (abilities.sparse, "sparse rows"),
        ((entry.estimator)().pieces_any(&[0, 1]).is_some(), "pieces (--stream)"),
    ];
    all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
}

fn list() -> String {
    let mut rows = vec![["model", "predicts", "takes and gives", "what it is"].map(str::to_owned).to_vec()];
    for entry in &registry::all() {
        let first = (entry.schema)().doc.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
        rows.push(vec![entry.name.to_owned(), task(entry).to_owned(), abilities(entry).join(", "), first]);
    }
    format!("{}\n`tove models NAME` describes one with its hyperparameters.\n", table(&rows))
}

fn details(entry: &Entry) -> String {
    let schema = (entry.schema)();
    let mut text = format!("{} ({})\n\n{}\n", entry.name, task(entry), schema.doc);
    let able = abilities(entry);
    if !able.is_empty() {
        text.push_str(&format!("\nTakes and gives: {}.\n", able.join(", ")));
    }
    if schema.hyperparameters.is_empty() {
        return text;
    }
    let mut rows = vec![["--set", "default", "range", "meaning"].map(str::to_owned).to_vec()];
    for entry in &schema.hyperparameters {
        let range = match entry.range {
            Some(range) => range.to_string(),
            None => entry.kind.to_string(),
        };
        rows.push(vec![entry.name.to_owned(), entry.default.to_string(), range, entry.doc.to_owned()]);
    }
    text.push_str(&format!("\n{}", table(&rows)));
    text
}

fn describe(entry: &Entry) -> Value {
    let mut document = (entry.schema)().to_json();
    document["task"] = task(entry).into();
    document["abilities"] = json!(abilities(entry));
    document
}
