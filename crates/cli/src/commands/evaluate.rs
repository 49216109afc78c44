//! `tove evaluate`: a saved model judged on a table that has the target.

use serde_json::{Value, json};
use tove::data::table::Table;
use tove::learn::Samples;
use tove::tabular::{NamedScore, TabularModel, scores_of};

use crate::arguments::Evaluate;
use crate::commands::fit::{confusion, legend, with_interval};
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::tables;

pub fn run(evaluate: &Evaluate, output: &Output) -> Result<(), Failure> {
    let model = tables::model(&evaluate.model)?;
    let data = tables::read(&evaluate.file, &evaluate.reading, output)?;
    let judged = samples(&model, &data);
    let (samples, dropped) = judged.map_err(|error| tables::failed(&evaluate.file, data.names(), error))?;
    let scores = scores_of(model.model(), &samples);
    if model.was_fitted_on(&data) {
        output.remark(format!(
            "warning: the model was fitted on rows of this table ({} of {}), so these scores are too good; those of its own test \
             rows are in `tove inspect`",
            model.facts()["train_rows"],
            data.n_rows()
        ));
    }
    output.result(
        || text(&model, &scores, &samples, dropped),
        || document(&model, &data, &scores, (samples.len(), dropped)),
    )
}

/// The rows of a table that have a target, as the model's samples, and how many have none.
pub fn samples(model: &TabularModel, data: &Table) -> Result<(Samples, usize), Failure> {
    let (kept, dropped) = data.drop_missing(&[model.target()])?;
    let y = model.labels().encode(kept.column(model.target())?)?;
    let (rows, _, _) = model.rows(&kept)?;
    Ok((Samples::new(rows, &y)?, dropped))
}

fn text(model: &TabularModel, scores: &[NamedScore], samples: &Samples, dropped: usize) -> String {
    let mut lines = vec![["score", "value"].map(str::to_owned).to_vec()];
    lines.extend(scores.iter().map(|named| vec![named.name.to_owned(), with_interval(named)]));
    let lost = if dropped > 0 { format!("; {dropped} rows without a target were left out") } else { String::new() };
    let rows = samples.len();
    let mut text = format!("{} on {rows} rows{lost}\n\n{}", model.model().name(), table(&lines));
    let legend = legend(scores);
    if !legend.is_empty() {
        text.push_str(&format!("\n{legend}\n"));
    }
    if let Some(matrix) = confusion(model, samples) {
        text.push_str(&format!("\n{matrix}"));
    }
    text
}

fn document(model: &TabularModel, data: &Table, scores: &[NamedScore], (rows, dropped): (usize, usize)) -> Value {
    let entry = |named: &NamedScore| {
        let (interval, error) = (named.score.interval(), named.standard_error);
        (named.name.to_owned(), json!({"value": named.score.value, "interval": interval, "standard_error": error}))
    };
    let scores: Value = Value::Object(scores.iter().map(entry).collect());
    json!({"model": model.model().name(), "rows": rows, "dropped": dropped, "fitted_on": model.was_fitted_on(data), "scores": scores})
}
