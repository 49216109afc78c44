//! The page at `/`: a form made from the schema, and the model's scores; a file or a prompt for other models.

use serde_json::Value;
use tove::plot::{BarChart, Picture, Theme, escape, style_sheet};
use tove::tabular::TabularModel;

use super::images::ImageServer;
use super::lists::{ListServer, Lists, USUAL};
use super::texts::TextServer;
use crate::metrics;

const STYLE: &str = include_str!("page.css");
/// What all pages share.
const SHOW: &str = include_str!("show.js");
const TABLE: &str = include_str!("page.js");
const IMAGE: &str = include_str!("image.js");
const TEXT: &str = include_str!("text.js");
const LIST: &str = include_str!("list.js");
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
    let typical = plain(&column["typical"]).map_or_else(String::new, |typical| format!(" data-typical=\"{typical}\""));
    let (range, described) = match (plain(&column["range"][0]), plain(&column["range"][1])) {
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
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(escape(text)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

pub fn html(model: &TabularModel, schema: &Value) -> String {
    let fields: String = schema["columns"].as_array().into_iter().flatten().enumerate().map(field).collect();
    let (target, name) = (escape(model.target()), escape(model.model().name()));
    let task = escape(&model.task().to_string());
    let about = format!("{name}, {task}. Empty fields are missing values, which the model imputes.");
    let example = "<button type=\"button\" id=\"example\" hidden>Example row</button>";
    let form = format!("{fields}{}", actions("Predict", example));
    whole(&format!("Predict {target}"), (&about, "/predict"), &form, &picture(model).unwrap_or_default(), TABLE)
}

/// The page of an image model.
pub fn image(server: &ImageServer) -> String {
    let [_, height, width] = server.model.input();
    let name = server.model.config().name();
    let about =
        format!("{name}, classification of images. Images are scaled and center-cropped to {height} × {width} pixels.");
    let file = "<div class=\"field\"><label for=\"f0\">image</label><input id=\"f0\" type=\"file\" \
                accept=\"image/png,image/jpeg\"></div>\n";
    whole("Classify an image", (&about, "/predict"), &format!("{file}{}", actions("Classify", "")), "", IMAGE)
}

/// The page of a text model.
pub fn text(server: &TextServer) -> String {
    let most = server.max_tokens;
    let form = format!(
        "<div class=\"field\"><label for=\"f0\">prompt</label><textarea id=\"f0\" rows=\"4\"></textarea></div>\n\
         <div class=\"field\"><label for=\"f1\">tokens</label><input id=\"f1\" type=\"number\" min=\"1\" \
         max=\"{most}\" value=\"{}\"></div>\n{}",
        most.min(200),
        actions("Generate", "")
    );
    whole("Generate text", ("gpt, language model.", "/generate"), &form, "", TEXT)
}

/// The page of a recommender or of word vectors.
pub fn lists(server: &ListServer) -> String {
    let (most, (name, _, task)) = (server.most, server.about());
    let mut number = 0;
    let mut field = |name: &str, label: &str| {
        number += 1;
        let (id, label) = (number, escape(label));
        format!(
            "<div class=\"field\"><label for=\"f{id}\">{label}</label><input id=\"f{id}\" name=\"{name}\" \
             autocomplete=\"off\"></div>\n"
        )
    };
    let (title, own) = match &server.model {
        Lists::Items(model) => {
            (format!("Recommend {}", escape(&model.columns().item)), field("user", &model.columns().user))
        }
        Lists::Words(_) => {
            let fields = [("word", "word"), ("b", "is to (analogy)"), ("c", "as (analogy)")];
            ("Nearest words and analogies".to_owned(), fields.map(|(name, label)| field(name, label)).concat())
        }
    };
    let k = format!(
        "<div class=\"field\"><label for=\"f0\">how many</label><input id=\"f0\" name=\"k\" type=\"number\" min=\"1\" \
         max=\"{most}\" value=\"{}\"></div>\n",
        most.min(USUAL)
    );
    let about = format!("{}, {task}.", escape(name));
    let form = format!("{own}{k}{}", actions("Ask", ""));
    whole(&title, (&about, &server.paths().join("</code>, <code>POST ")), &form, "", LIST)
}

/// The buttons of a form; `more` stands between the first and the last.
fn actions(name: &str, more: &str) -> String {
    format!(
        "<div class=\"actions\"><button type=\"submit\">{name}</button>{more}<button type=\"reset\">Clear</button></div>"
    )
}

fn whole(title: &str, (about, path): (&str, &str), form: &str, picture: &str, script: &str) -> String {
    let style = style_sheet(Theme::Auto);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}\n{style}</style></head>\n<body><main>\n<h1>{title}</h1>\n<p>{about} The API is \
         <code>POST {path}</code>, described in <a href=\"/openapi.json\">openapi.json</a>.</p>\n<form novalidate>\n\
         {form}\n</form>\n<output aria-live=\"polite\"></output>\n{picture}\n</main><script>{SHOW}{script}</script>\n\
         </body></html>\n"
    )
}
