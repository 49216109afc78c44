//! `tove evaluate`: a saved model judged on a table that has the target.

use serde_json::{Value, json};
use tove::learn::Samples;
use tove::tabular::{NamedScore, TabularModel, scores_of};

use crate::arguments::Evaluate;
use crate::failure::Failure;
use crate::output::{Output, number, table};
use crate::tables;

pub fn run(evaluate: &Evaluate, output: &Output) -> Result<(), Failure> {
    let model = tables::model(&evaluate.model)?;
    let data = tables::read(&evaluate.file, &evaluate.reading, output)?;
    let judged = samples(&model, &data);
    let (samples, dropped) = judged.map_err(|error| tables::failed(&evaluate.file, data.names(), error))?;
    let scores = scores_of(model.model(), &samples);
    output
        .result(|| text(&model, &scores, samples.len(), dropped), || document(&model, &scores, samples.len(), dropped))
}

/// The rows of a table that have a target, as the model's samples, and how many have none.
pub fn samples(model: &TabularModel, data: &tove::data::table::Table) -> Result<(Samples, usize), Failure> {
    let (kept, dropped) = data.drop_missing(&[model.target()])?;
    let y = model.labels().encode(kept.column(model.target())?)?;
    let (rows, _, _) = model.rows(&kept)?;
    Ok((Samples::new(rows, &y)?, dropped))
}

fn text(model: &TabularModel, scores: &[NamedScore], rows: usize, dropped: usize) -> String {
    let mut lines = vec![["score", "value", "interval (95 %, Hoeffding)"].map(str::to_owned).to_vec()];
    for named in scores {
        let interval = named.score.interval().map_or(String::new(), |(low, high)| format!("[{low:.4}, {high:.4}]"));
        lines.push(vec![named.name.to_owned(), number(named.score.value), interval]);
    }
    let lost = if dropped > 0 { format!("; {dropped} rows without a target were left out") } else { String::new() };
    format!("{} on {rows} rows{lost}\n\n{}", model.model().name(), table(&lines))
}

fn document(model: &TabularModel, scores: &[NamedScore], rows: usize, dropped: usize) -> Value {
    let entry = |named: &NamedScore| {
        (named.name.to_owned(), json!({"value": named.score.value, "interval": named.score.interval()}))
    };
    let scores: Value = Value::Object(scores.iter().map(entry).collect());
    json!({"model": model.model().name(), "rows": rows, "dropped": dropped, "scores": scores})
}
