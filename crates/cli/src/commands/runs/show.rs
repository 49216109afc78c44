//! `tove runs show`: one run in tables and curves.

use serde_json::Value;
use tove::plot::terminal::{LineText, bars};

use super::facts::{self, StoredScore, curve, learning, score, score_keys};
use super::{text_of, time};
use crate::metrics::{decimals, greater_is_better, label};
use crate::output::{entries, number, paragraph, table};

/// Columns of the terminal that pictures take.
const WIDTH: usize = 76;

/// Everything of a run that people want to see; `verbose` adds its hyperparameters and how models were compared.
pub fn text(run: &Value, verbose: bool) -> String {
    let mut text = String::new();
    if let Some(verdict) = run["verdict"].as_str().filter(|verdict| !verdict.is_empty()) {
        text.push_str(&format!("{}\n", paragraph(verdict)));
    }
    let mut list = vec![("run", format!("{}, {} (UTC)", run["run"], time(run)))];
    let names = "file target task model seed train_rows test_rows seconds model_file report problem";
    for name in names.split(' ').filter(|name| !run[*name].is_null()) {
        let value = run[name].as_f64().filter(|value| value.fract() != 0.0).map(number);
        list.push((name, value.unwrap_or_else(|| text_of(run, name))));
    }
    if let Some(settings) = run["settings"].as_object().filter(|settings| verbose && !settings.is_empty()) {
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        list.push(("settings", settings.join(" ")));
    }
    let list: Vec<(String, String)> = list.into_iter().map(|(name, value)| (name.replace('_', " "), value)).collect();
    text.push_str(&format!("{}\n{}", entries(&list), scores(run)));
    text.push_str(&candidates(run, verbose));
    let (steps, losses) = curve(run);
    if let Ok(picture) = LineText::new().x(&steps).series("objective by iteration", &losses).render(WIDTH, 10) {
        text.push_str(&format!("\n{picture}"));
    }
    let [rows, train, test] = learning(run);
    let chart = LineText::new().x(&rows).series("training rows", &train).series("held-out rows", &test);
    if let (Ok(picture), true) = (chart.render(WIDTH, 10), rows.len() > 1) {
        text.push_str(&format!("\nLearning curve, {} by the number of training rows:\n{picture}", metric(run)));
    }
    text
}

/// The label of the metric that decided.
fn metric(run: &Value) -> &str {
    label(run["metric"].as_str().or(run["scorer"].as_str()).unwrap_or("score"))
}

fn scores(run: &Value) -> String {
    let head = ["metric", "held-out (95 % interval)", "baseline", "training rows"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for key in score_keys(&[run]) {
        let parts = ["test", "baseline", "train"].map(|part| score(run, part, key));
        let decimals = decimals(key, parts.iter().flatten().map(|score| score.value));
        let [test, baseline, train] = parts;
        let plain = |score: Option<StoredScore>| score.map_or(String::new(), |score| decimals.show(score.value));
        let test = test.map_or(String::new(), |score| score.text(decimals));
        rows.push(vec![label(key).to_owned(), test, plain(baseline), plain(train)]);
    }
    table(&rows)
}

/// What the candidates of a comparison reached, as bars.
fn candidates(run: &Value, verbose: bool) -> String {
    let tried = facts::candidates(run);
    let means: Vec<(String, f64)> =
        tried.iter().filter_map(|tried| Some((tried["model"].as_str()?.to_owned(), tried["mean"].as_f64()?))).collect();
    if means.len() < 2 {
        return String::new();
    }
    let sign = if greater_is_better(run["metric"].as_str().unwrap_or_default()) { 1.0 } else { -1.0 };
    let means: Vec<(String, f64)> = means.into_iter().map(|(name, mean)| (name, sign * mean)).collect();
    let picture = bars(&means, WIDTH).unwrap_or_default();
    let mut text = format!("\nMean {} over the folds:\n{picture}", metric(run));
    if let Some(how) = run["comparison"].as_str().filter(|how| verbose && !how.is_empty()) {
        text.push_str(&format!("\n{}", paragraph(how)));
    }
    text
}
