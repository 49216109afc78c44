//! The page at `/`: a form made from the schema, and the model's scores.

use serde_json::Value;
use tove::plot::{BarChart, Picture, Theme, escape, style_sheet};
use tove::tabular::TabularModel;

use crate::failure::Failure;

/// Bars of the scores on test rows that lie between 0 and 1.
fn picture(model: &TabularModel) -> Option<String> {
    let scores = model.facts()["test"].as_object()?;
    let mut chart = BarChart::new().title("Scores on rows set aside").value_label("score").size(560.0, 220.0);
    let mut drawn = 0;
    for (name, score) in scores {
        let Some(value) = score["value"].as_f64().filter(|value| (0.0..=1.0).contains(value)) else { continue };
        chart = match (score["interval"][0].as_f64(), score["interval"][1].as_f64()) {
            (Some(low), Some(high)) => chart.bar_with_interval(name.as_str(), value, low, high),
            _ => chart.bar(name.as_str(), value),
        };
        drawn += 1;
    }
    if drawn == 0 { None } else { chart.scene().ok().map(|scene| scene.svg(false)) }
}

fn field(column: &Value) -> String {
    let name = escape(column["name"].as_str().unwrap_or_default());
    let kind = column["kind"].as_str().unwrap_or_default();
    let input = match column["categories"].as_array() {
        Some(categories) if categories.len() <= 200 => {
            let options: String = categories
                .iter()
                .filter_map(Value::as_str)
                .map(|category| format!("<option>{}</option>", escape(category)))
                .collect();
            format!("<select name=\"{name}\"><option value=\"\">(missing)</option>{options}</select>")
        }
        _ => match kind {
            "float" => format!("<input name=\"{name}\" type=\"number\" step=\"any\">"),
            "integer" => format!("<input name=\"{name}\" type=\"number\" step=\"1\">"),
            "boolean" => format!(
                "<select name=\"{name}\"><option value=\"\">(missing)</option><option>true</option><option>false</option></select>"
            ),
            "date" => format!("<input name=\"{name}\" placeholder=\"2026-01-31\">"),
            _ => format!("<input name=\"{name}\">"),
        },
    };
    format!("<label><span>{name}</span>{input}</label>\n")
}

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
form { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: .6rem 1.2rem; }
label { display: flex; flex-direction: column; font-size: .85rem; }
label span { overflow-wrap: anywhere; }
input, select, button { font: inherit; padding: .35rem .5rem; }
button { grid-column: 1 / -1; justify-self: start; padding: .5rem 1.4rem; }
output { display: block; margin: 1.2rem 0; min-height: 2.5rem; font-size: 1.15rem; }
output table { border-collapse: collapse; font-size: 1rem; }
output td { padding: .15rem .8rem .15rem 0; }
.error { color: #c0392b; }
svg { max-width: 100%; height: auto; }
";

const SCRIPT: &str = "
const form = document.querySelector('form'), out = document.querySelector('output');
form.addEventListener('submit', async event => {
  event.preventDefault();
  const row = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    row[field.name] = field.value === '' ? null : field.type === 'number' ? Number(field.value) : field.value;
  }
  out.textContent = 'asking the model ...';
  try {
    const reply = await fetch('/predict', {method: 'POST', headers: {'content-type': 'application/json'},
                                           body: JSON.stringify({rows: [row]})});
    const answer = await reply.json();
    if (!reply.ok) throw new Error(answer.error);
    const table = document.createElement('table');
    for (const [name, value] of Object.entries(answer.predictions[0])) {
      const line = table.insertRow();
      line.insertCell().textContent = name;
      line.insertCell().textContent = typeof value === 'number' ? Number(value.toPrecision(5)) : value;
    }
    out.replaceChildren(table);
  } catch (error) {
    const line = document.createElement('p');
    line.className = 'error';
    line.textContent = error.message;
    out.replaceChildren(line);
  }
});
";

pub fn html(model: &TabularModel, schema: &Value) -> Result<String, Failure> {
    let fields: String = schema["columns"].as_array().into_iter().flatten().map(field).collect();
    let title = escape(&format!("{} by {}", model.target(), model.model().name()));
    let picture = picture(model).unwrap_or_default();
    let style = style_sheet(Theme::Auto);
    let task = escape(&model.task().to_string());
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <style>{STYLE}\n{style}</style></head>\n<body>\n<h1>{title}</h1>\n<p>{task}. Fill in what is known of a row; \
         empty fields count as missing. Programs use <code>POST /predict</code>; <a href=\"/openapi.json\">openapi.json</a> \
         describes it.</p>\n<form>\n{fields}<button>Predict</button>\n</form>\n<output aria-live=\"polite\"></output>\n{picture}\n\
         <script>{SCRIPT}</script>\n</body></html>\n"
    ))
}
