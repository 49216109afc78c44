//! `tove runs show`: one run in tables and curves.

use serde_json::Value;
use tove::plot::terminal::{LineText, bars};

use super::facts::{curve, learning, score, score_names};
use super::{text_of, time};
use crate::output::{number, table};

/// Columns of the terminal that pictures take.
const WIDTH: usize = 76;

/// Everything of a run that people want to see.
pub fn text(run: &Value) -> String {
    let mut text = format!("Run {}, {} (UTC)\n\n", run["run"], time(run));
    let mut rows = vec![vec!["".to_owned(), "".to_owned()]];
    let names = "file target task model seed train_rows test_rows seconds model_file report problem";
    for name in names.split(' ') {
        if !run[name].is_null() {
            let value = run[name].as_f64().filter(|value| value.fract() != 0.0).map(number);
            rows.push(vec![name.replace('_', " "), value.unwrap_or_else(|| text_of(run, name))]);
        }
    }
    rows.iter().skip(1).for_each(|row| text.push_str(&format!("{:12} {}\n", row[0], row[1])));
    if let Some(settings) = run["settings"].as_object().filter(|settings| !settings.is_empty()) {
        let list: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        text.push_str(&format!("{:12} {}\n", "settings", list.join(" ")));
    }
    text.push_str(&format!("\n{}", scores(run)));
    text.push_str(&candidates(run));
    let losses = curve(run);
    if let Ok(picture) = LineText::new().series("objective over the iterations", &losses).render(WIDTH, 10) {
        text.push_str(&format!("\n{picture}"));
    }
    let [rows, train, test] = learning(run);
    if let (Ok(picture), [first, .., last]) =
        (LineText::new().series("training rows", &train).series("test rows", &test).render(WIDTH, 10), &rows[..])
    {
        let scorer = run["scorer"].as_str().unwrap_or("score");
        text.push_str(&format!("\n{scorer} when fitted on {first} to {last} rows:\n{picture}"));
    }
    text
}

fn scores(run: &Value) -> String {
    let mut rows = vec![["score", "training rows", "test rows", "baseline"].map(str::to_owned).to_vec()];
    for name in score_names(&[run]) {
        let plain = |part: &str| score(run, part, name).map_or(String::new(), |judged| number(judged.value));
        let test = score(run, "test", name).map_or(String::new(), |judged| judged.text());
        rows.push(vec![name.to_owned(), plain("train"), test, plain("baseline")]);
    }
    table(&rows)
}

/// What the candidates of a comparison reached, as bars.
fn candidates(run: &Value) -> String {
    let tried = run["tried"].as_array().cloned().unwrap_or_default();
    let means: Vec<(String, f64)> =
        tried.iter().filter_map(|tried| Some((tried["model"].as_str()?.to_owned(), tried["mean"].as_f64()?))).collect();
    if means.len() < 2 {
        return String::new();
    }
    let scorer = run["scorer"].as_str().unwrap_or("score");
    let picture = bars(&means, WIDTH).unwrap_or_default();
    format!("\nMean {scorer} over the folds:\n{picture}")
}
