//! `tove inspect`: what is written in a model file.

use serde_json::{Value, json};
use tove::learn::Record;
use tove::tabular::TabularModel;
use tove::tensor::io::Container;

use crate::arguments::Inspect;
use crate::failure::Failure;
use crate::metrics;
use crate::output::{Output, entries, number, table};

pub fn run(inspect: &Inspect, output: &Output) -> Result<(), Failure> {
    let container = Container::load(&inspect.model)?;
    output.result(|| text(&container, output.is_verbose()), || document(&container))
}

fn document(container: &Container) -> Value {
    let tensors: Vec<Value> = container
        .tensors
        .iter()
        .map(|(name, x)| json!({"name": name, "dtype": x.dtype().to_string(), "shape": x.dims()}))
        .collect();
    json!({"kind": container.kind, "version": container.version, "header": container.header, "tensors": tensors})
}

fn text(container: &Container, verbose: bool) -> String {
    let mut text = match TabularModel::restore(&Record::from_container(container.clone())) {
        Ok(model) => about_table(&model, container),
        Err(_) => about_other(container),
    };
    if verbose {
        text.push_str(&tensors(container));
    }
    text.push_str("\nThe whole header: add --json.\n");
    text
}

/// A value in a line: lists side by side, members of objects as NAME=VALUE.
fn line(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.replace('\n', "⏎"),
        Value::Number(value) if value.is_f64() => value.as_f64().map_or(String::new(), number),
        Value::Array(list) if list.iter().all(Value::is_number) => {
            format!("[{}]", list.iter().map(line).collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => list.iter().map(line).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let member = |(name, value): (&String, &Value)| format!("{name}={}", line(value));
            let known =
                map.iter().filter(|(_, value)| !value.is_null() && !value.as_array().is_some_and(Vec::is_empty));
            known.map(member).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// The scores that a header keeps, by the parts of the data.
fn scores(parts: &[(&str, &Value)]) -> String {
    let mut head = vec!["metric".to_owned()];
    head.extend(parts.iter().map(|(part, _)| (*part).to_owned()));
    let mut keys: Vec<&String> = Vec::new();
    for (name, _) in parts.iter().filter_map(|(_, scores)| scores.as_object()).flatten() {
        if !keys.contains(&name) {
            keys.push(name);
        }
    }
    keys.sort_by_key(|key| metrics::place(key));
    let mut rows = vec![head];
    for key in keys {
        let values: Vec<Option<f64>> = parts.iter().map(|(_, scores)| scores[key]["value"].as_f64()).collect();
        let decimals = metrics::decimals(key, values.iter().copied().flatten());
        let mut row = vec![metrics::label(key).to_owned()];
        row.extend(parts.iter().zip(values).map(|((_, scores), value)| {
            let end = |place: usize| scores[key]["interval"][place].as_f64();
            match (value, end(0).zip(end(1))) {
                (Some(value), Some((low, high))) => {
                    format!("{} [{}, {}]", decimals.show(value), decimals.show(low), decimals.show(high))
                }
                (Some(value), None) => decimals.show(value),
                _ => String::new(),
            }
        }));
        rows.push(row);
    }
    if rows.len() > 1 { format!("\n{}", table(&rows)) } else { String::new() }
}

/// A model of tables.
fn about_table(model: &TabularModel, container: &Container) -> String {
    let facts = model.facts();
    let mut list = vec![
        ("file", format!("{} (version {})", container.kind, container.version)),
        ("predicts", format!("{}, {}", model.target(), model.task())),
        ("classes", model.classes().join(", ")),
        ("model", model.model().name().to_owned()),
        ("settings", line(&model.model().settings())),
        ("features", model.encoder().feature_names().len().to_string()),
    ];
    list.extend(
        [("training rows", "train_rows"), ("test rows", "test_rows"), ("seed", "seed")]
            .map(|(name, fact)| (name, line(&facts[fact]))),
    );
    list.retain(|(_, value)| !value.is_empty());
    let mut text = entries(&list);
    text.push_str(&scores(&[
        ("held-out (95 % interval)", &facts["test"]),
        ("baseline", &facts["baseline"]),
        ("training rows", &facts["train"]),
    ]));
    let mut rows = vec![["column", "type", "role"].map(str::to_owned).to_vec()];
    for field in model.schema().fields() {
        rows.push(vec![field.name.clone(), field.kind.to_string(), format!("{:?}", field.role).to_lowercase()]);
    }
    text.push_str(&format!("\n{}", table(&rows)));
    text
}

/// A model of images or text: its header in lines, its scores, and the number of its parameters.
fn about_other(container: &Container) -> String {
    let mut list = vec![("file".to_owned(), format!("{} (version {})", container.kind, container.version))];
    let facts = &container.header["facts"];
    let header = container.header.as_object().into_iter().flatten();
    for (name, value) in header.filter(|(name, _)| *name != "facts") {
        list.push((name.replace('_', " "), line(value)));
    }
    for (name, value) in facts.as_object().into_iter().flatten().filter(|(name, _)| *name != "scores") {
        list.push((name.replace('_', " "), line(value)));
    }
    let (count, parameters) = (container.tensors.len(), parameters(container));
    list.push(("parameters".to_owned(), format!("{parameters} in {count} tensors")));
    list.retain(|(_, value)| !value.is_empty());
    let mut text = entries(&list);
    let parts = &facts["scores"];
    let known = [("held-out (95 % interval)", "test"), ("training", "train"), ("baseline", "baseline")];
    let known: Vec<(&str, &Value)> =
        known.iter().map(|(title, part)| (*title, &parts[*part])).filter(|(_, scores)| scores.is_object()).collect();
    text.push_str(&scores(&known));
    text
}

fn parameters(container: &Container) -> usize {
    container.tensors.iter().map(|(_, x)| x.numel()).sum()
}

/// The tensors of the file.
fn tensors(container: &Container) -> String {
    let mut rows = vec![["tensor", "type", "shape", "elements"].map(str::to_owned).to_vec()];
    for (name, x) in &container.tensors {
        rows.push(vec![name.clone(), x.dtype().to_string(), x.shape().to_string(), x.numel().to_string()]);
    }
    if rows.len() > 1 { format!("\n{}", table(&rows)) } else { String::new() }
}
