//! `tove inspect`: everything that is written in a model file.

use std::path::Path;

use serde_json::{Value, json};
use tove::tabular::TabularModel;
use tove::tensor::io::Container;

use crate::arguments::Inspect;
use crate::failure::Failure;
use crate::output::{Output, number, table};

pub fn run(inspect: &Inspect, output: &Output) -> Result<(), Failure> {
    let container = Container::load(&inspect.model)?;
    output.result(|| text(&inspect.model, &container), || document(&container))
}

fn document(container: &Container) -> Value {
    let tensors: Vec<Value> = container
        .tensors
        .iter()
        .map(|(name, x)| json!({"name": name, "dtype": x.dtype().to_string(), "shape": x.dims()}))
        .collect();
    json!({"kind": container.kind, "version": container.version, "header": container.header, "tensors": tensors})
}

/// What a person wants to know of a model of tables; the rest is in the JSON.
fn about_table(model: &TabularModel) -> String {
    let facts = model.facts();
    let fact = |name: &str| match &facts[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let settings = model.model().settings();
    let settings = settings.as_object().map(|map| map.iter().map(|(name, value)| format!("{name}={value}")));
    let mut lines = vec![
        ("predicts", Some(format!("{}, {}", model.target(), model.task()))),
        ("classes", (!model.classes().is_empty()).then(|| model.classes().join(", "))),
        ("model", Some(model.model().name().to_owned())),
        ("settings", settings.map(|settings| settings.collect::<Vec<_>>().join(" "))),
        ("features", Some(model.encoder().feature_names().len().to_string())),
    ];
    lines.extend(["train_rows", "test_rows", "seed"].map(|name| (name, fact(name))));
    let told =
        lines.into_iter().filter_map(|(name, value)| Some(format!("{:<12}{}\n", name.replace('_', " "), value?)));
    let mut text: String = told.collect();
    let mut rows = vec![["score on its test rows", "value"].map(str::to_owned).to_vec()];
    for (name, score) in facts["test"].as_object().into_iter().flatten() {
        rows.push(vec![name.clone(), score["value"].as_f64().map_or(String::new(), number)]);
    }
    if rows.len() > 1 {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    let mut rows = vec![["column", "kind", "role"].map(str::to_owned).to_vec()];
    for field in model.schema().fields() {
        rows.push(vec![field.name.clone(), field.kind.to_string(), format!("{:?}", field.role).to_lowercase()]);
    }
    text.push_str(&format!("\n{}\nEverything there is: add --json.\n", table(&rows)));
    text
}

fn text(path: &Path, container: &Container) -> String {
    let mut text = format!("{} (version {})\n\n", container.kind, container.version);
    if let Ok(model) = TabularModel::load(path) {
        return text + &about_table(&model);
    }
    text.push_str(&format!("{:#}\n", container.header));
    let mut rows = vec![["tensor", "type", "shape"].map(str::to_owned).to_vec()];
    for (name, x) in &container.tensors {
        rows.push(vec![name.clone(), x.dtype().to_string(), x.shape().to_string()]);
    }
    if rows.len() > 1 {
        text.push_str(&format!("\n{}", table(&rows)));
    }
    text
}
