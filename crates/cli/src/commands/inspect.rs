//! `tove inspect`: what is written in a model file.

use serde_json::{Value, json};
use tove::learn::Record;
use tove::tabular::{Recommender, TabularModel};
use tove::tensor::io::Container;
use tove::words::WordModel;

use crate::arguments::Inspect;
use crate::commands::recommend;
use crate::failure::Failure;
use crate::metrics;
use crate::output::{Output, entries, number, table};

pub fn run(inspect: &Inspect, output: &Output) -> Result<(), Failure> {
    let container = match WordModel::foreign(&inspect.model) {
        Some(_) => WordModel::load(&inspect.model)?.record().into_container(),
        None => crate::models::container(&inspect.model)?,
    };
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

/// The scores that a header keeps, by the parts of the data; a metric that the first part does not have is left out.
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
        if values.first().is_none_or(Option::is_none) {
            continue;
        }
        let mut row = vec![metrics::label(key).to_owned()];
        row.extend(parts.iter().zip(values).enumerate().map(|(part, ((_, scores), value))| {
            // Only the first part has intervals: those of scores on held-out data.
            let end = |place: usize| scores[key]["interval"][place].as_f64().filter(|_| part == 0);
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

/// What prediction sets or intervals promise.
fn coverage(model: &TabularModel) -> String {
    let Some(rule) = &model.safeguards().coverage else { return String::new() };
    let by = rule.groups.as_ref().map_or(String::new(), |groups| format!(", by {}", groups.column()));
    format!("{}{by}", rule.claim())
}

/// By which groups decisions are made.
fn decisions(model: &TabularModel) -> String {
    let Some(rule) = &model.safeguards().decisions else { return String::new() };
    let criterion = rule.thresholds.settings().constraint.name().replace('_', " ");
    format!("a threshold for each group of {} ({criterion}): {}", rule.groups.column(), rule.groups.names().join(", "))
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
        ("calibration", model.model().calibration().map(ToString::to_string).unwrap_or_default()),
        ("sets and intervals", coverage(model)),
        ("decisions", decisions(model)),
    ];
    list.extend(
        [("training rows", "train_rows"), ("test rows", "test_rows"), ("silhouette", "silhouette"), ("seed", "seed")]
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

/// Classes that are listed, at most.
const CLASSES: usize = 20;

/// What an image model is made of.
fn about_images(header: &Value) -> Vec<(&'static str, String)> {
    let (net, classes) = (&header["net"], header["classes"].as_array().map_or(&[][..], Vec::as_slice));
    let names: Vec<String> = classes.iter().take(CLASSES).map(line).collect();
    let more = if classes.len() > CLASSES { format!(" and {} more", classes.len() - CLASSES) } else { String::new() };
    let list = |name: &str| net[name].as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join(", ");
    let mut model = net["kind"].as_str().unwrap_or_default().to_uppercase();
    for (name, words) in [("filters", "filters"), ("hidden", "hidden units")] {
        if !list(name).is_empty() {
            model.push_str(&format!(", {words} {}", list(name)));
        }
    }
    let size = |place: usize| line(&net["input"][place]);
    let border = header["border"].as_u64().filter(|&border| border > 0);
    let border = border.map_or(String::new(), |border| format!(", with a border of {border} pixels"));
    vec![
        ("predicts", format!("the class of an image, {} classes", classes.len())),
        ("classes", names.join(", ") + &more),
        ("model", model),
        ("input", format!("{} × {} pixels, {} channels{border}", size(1), size(2), size(0))),
    ]
}

/// What a language model is made of.
fn about_text(header: &Value) -> Vec<(&'static str, String)> {
    let (net, kind) = (&header["net"], header["tokens"]["kind"].as_str().unwrap_or_default());
    let mut list = vec![
        ("predicts", "the next token of a text".to_owned()),
        ("tokens", format!("{kind}, a vocabulary of {}", line(&net["vocabulary"]))),
    ];
    if let Some(characters) = header["tokens"]["characters"].as_str() {
        list.push(("characters", characters.chars().filter(|letter| !letter.is_control()).collect()));
    }
    let of = |name: &str| line(&net[name]);
    let model = format!(
        "GPT, {} layers, {} heads, width {}, context {}",
        of("layers"),
        of("heads"),
        of("width"),
        of("context")
    );
    list.push(("model", model));
    list
}

/// What a recommender is made of.
fn about_recommender(header: &Value) -> Vec<(&'static str, String)> {
    let (facts, of) = (&header["facts"], |name: &str| line(&header[name]));
    let count = |name: &str| header[name].as_array().map_or(0, Vec::len);
    let what = match header["rating"].as_str() {
        Some(rating) => format!("{rating} of {} by {}", of("item"), of("user")),
        None => format!("{} that {} chooses", of("item"), of("user")),
    };
    let mut list = vec![
        ("predicts", what),
        ("users", count("users").to_string()),
        ("items", count("items").to_string()),
        ("ratings", line(&facts["ratings"])),
    ];
    for (metric, score) in facts["scores"].as_object().into_iter().flatten() {
        let name = recommend::metric_name(metric);
        list.push((name, format!("{} held out, baseline {}", line(&score["value"]), line(&score["baseline"]))));
    }
    list
}

/// What word vectors are made of.
fn about_words(container: &Container) -> Vec<(&'static str, String)> {
    let Ok(model) = WordModel::restore(&Record::from_container(container.clone())) else { return Vec::new() };
    let (vectors, facts) = (model.vectors(), model.facts());
    let unseen = if model.has_subwords() { "vectors from their n-grams" } else { "none" };
    let words: Vec<&str> = vectors.words().iter().take(CLASSES).map(String::as_str).collect();
    let score = facts["analogies"]["accuracy"].as_f64();
    vec![
        ("model", model.method().to_owned()),
        ("settings", line(&vectors.settings()["settings"])),
        ("vocabulary", format!("{} words: {} …", vectors.words().len(), words.join(", "))),
        ("dimension", vectors.dimension().to_string()),
        ("unseen words", unseen.to_owned()),
        ("texts", line(&facts["texts"])),
        ("words", line(&facts["words"])),
        ("phrases", line(&facts["phrases"])),
        ("analogies", score.map_or(String::new(), |share| format!("{:.1} % right", 100.0 * share))),
    ]
}

/// How a net was trained.
fn about_training(facts: &Value) -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> = [
        ("training data", "data"),
        ("epochs", "epochs"),
        ("batch size", "batch"),
        ("learning rate", "learning_rate"),
        ("steps", "steps"),
        ("labels per class", "labels"),
        ("seed", "seed"),
    ]
    .map(|(name, fact)| (name, line(&facts[fact])))
    .to_vec();
    if let (Some(loss), Some(step)) = (facts["best"]["loss"].as_f64(), facts["best"]["step"].as_u64()) {
        list.push(("validation loss", format!("{} at step {step}, the lowest", number(loss))));
    }
    if facts["from"].is_object() {
        list.push(("transferred from", format!("a net trained on {}", line(&facts["from"]["data"]))));
    }
    list
}

/// A model of images or text: what it predicts and from what, how it was trained, its scores. Other files: their header in lines.
fn about_other(container: &Container) -> String {
    let (header, facts) = (&container.header, &container.header["facts"]);
    let mut list = vec![("file".to_owned(), format!("{} (version {})", container.kind, container.version))];
    let own = |part: Vec<(&'static str, String)>| part.into_iter().map(|(name, value)| (name.to_owned(), value));
    match container.kind.as_str() {
        "ImageModel" => list.extend(own(about_images(header))),
        "TextModel" => list.extend(own(about_text(header))),
        Recommender::KIND => list.extend(own(about_recommender(header))),
        kind if WordModel::is_kind(kind) => list.extend(own(about_words(container))),
        _ => {
            let rest = header.as_object().into_iter().flatten().filter(|(name, _)| *name != "facts");
            list.extend(rest.map(|(name, value)| (name.replace('_', " "), line(value))));
        }
    }
    list.push(("parameters".to_owned(), format!("{} in {} tensors", parameters(container), container.tensors.len())));
    list.extend(own(about_training(facts)));
    list.retain(|(_, value)| !value.is_empty());
    let mut text = entries(&list);
    let known = [("test (95 % interval)", "test"), ("train", "train"), ("baseline", "baseline")];
    let known: Vec<(&str, &Value)> = known
        .iter()
        .map(|(title, part)| (*title, &facts["scores"][*part]))
        .filter(|(_, scores)| scores.is_object())
        .collect();
    text.push_str(&scores(&known));
    text
}

fn parameters(container: &Container) -> usize {
    container.tensors.values().map(|x| x.numel()).sum()
}

/// The tensors of the file.
fn tensors(container: &Container) -> String {
    let mut rows = vec![["tensor", "type", "shape", "elements"].map(str::to_owned).to_vec()];
    for (name, x) in &container.tensors {
        rows.push(vec![name.clone(), x.dtype().to_string(), x.shape().to_string(), x.numel().to_string()]);
    }
    if rows.len() > 1 { format!("\n{}", table(&rows)) } else { String::new() }
}
