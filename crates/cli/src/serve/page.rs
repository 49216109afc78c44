//! The page at `/`: a form made from the schema, and the model's scores.

use serde_json::Value;
use tove::plot::{BarChart, Picture, Theme, escape, style_sheet};
use tove::tabular::TabularModel;

use crate::metrics;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// A list of choices is drawn for at most this many.
const CHOICES: usize = 200;

/// Bars of the held-out scores between 0 and 1 of which greater values are better.
fn picture(model: &TabularModel) -> Option<String> {
    let scores = model.facts()["test"].as_object()?;
    let mut chart = BarChart::new().title("Held-out scores").value_label("score").size(620.0, 230.0);
    let mut drawn = 0;
    for (key, score) in scores.iter().filter(|(key, _)| metrics::greater_is_better(key)) {
        let Some(value) = score["value"].as_f64().filter(|value| (0.0..=1.0).contains(value)) else { continue };
        let name = metrics::label(key);
        chart = match (score["interval"][0].as_f64(), score["interval"][1].as_f64()) {
            (Some(low), Some(high)) => chart.bar_with_interval(name, value, low, high),
            _ => chart.bar(name, value),
        };
        drawn += 1;
    }
    if drawn == 0 { None } else { chart.scene().ok().map(|scene| scene.svg(false)) }
}

/// A label and its input; ids are numbers, because names may hold anything.
fn field((number, column): (usize, &Value)) -> String {
    let name = escape(column["name"].as_str().unwrap_or_default());
    let typical = text(&column["typical"]).map_or_else(String::new, |typical| format!(" data-typical=\"{typical}\""));
    let (range, described) = match (text(&column["range"][0]), text(&column["range"][1])) {
        (Some(least), Some(largest)) => (
            format!("<span class=\"range\" id=\"r{number}\">{least} to {largest}</span>"),
            format!(" aria-describedby=\"r{number}\""),
        ),
        _ => (String::new(), String::new()),
    };
    let attributes = format!("id=\"f{number}\" name=\"{name}\" autocomplete=\"off\"{typical}{described}");
    let choice =
        |options: String| format!("<select {attributes}><option value=\"\">(missing)</option>{options}</select>");
    let input = match (column["categories"].as_array(), column["kind"].as_str().unwrap_or_default()) {
        (Some(categories), _) if categories.len() <= CHOICES => {
            let names = categories.iter().filter_map(Value::as_str);
            choice(names.map(|category| format!("<option>{}</option>", escape(category))).collect())
        }
        (_, "float" | "integer") => format!("<input {attributes} type=\"number\" step=\"any\">"),
        (_, "boolean") => choice("<option>true</option><option>false</option>".to_owned()),
        (_, "date") => format!("<input {attributes} placeholder=\"2026-01-31\">"),
        _ => format!("<input {attributes}>"),
    };
    format!(
        "<div class=\"field\"><div class=\"head\"><label for=\"f{number}\">{name}</label>{range}</div>{input}</div>\n"
    )
}

/// A typical value or a bound of a range as text for an attribute.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(escape(text)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

pub fn html(model: &TabularModel, schema: &Value) -> String {
    let fields: String = schema["columns"].as_array().into_iter().flatten().enumerate().map(field).collect();
    let (target, name) = (escape(model.target()), escape(model.model().name()));
    let picture = picture(model).unwrap_or_default();
    let style = style_sheet(Theme::Auto);
    let task = escape(&model.task().to_string());
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Predict {target}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}\n{style}</style></head>\n<body><main>\n<h1>Predict {target}</h1>\n<p>{name}, {task}. Empty \
         fields are missing values, which the model imputes. The API is <code>POST /predict</code>, described in \
         <a href=\"/openapi.json\">openapi.json</a>.</p>\n<form novalidate>\n{fields}<div class=\"actions\">\
         <button type=\"submit\">Predict</button><button type=\"button\" id=\"example\" hidden>Example row</button>\
         <button type=\"reset\">Clear</button></div>\n</form>\n\
         <output aria-live=\"polite\"></output>\n{picture}\n</main><script>{SCRIPT}</script>\n</body></html>\n"
    )
}
