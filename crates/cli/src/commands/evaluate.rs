//! `tove evaluate`: a saved model judged on a table that has the target, piece by piece: memory holds the answers to its rows, not
//! the rows.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Field, Kind, Role, Schema, Table};
use tove::learn::Samples;
use tove::tabular::{Judged, NamedScore, TabularError, TabularModel};

use crate::arguments::Evaluate;
use crate::commands::fit::{legend, named_matrix, with_interval};
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::pieces::Pieces;
use crate::tables;

pub fn run(evaluate: &Evaluate, output: &Output) -> Result<(), Failure> {
    let model = tables::model(&evaluate.model)?;
    let (path, wanted) = (&evaluate.file, wanted(&model));
    let mut options = tables::options(&evaluate.reading)?;
    // Features are read as they were at fitting. The target is what the file says it is, which takes a look at all of it; the
    // standard input can be read only once.
    let once = path == Path::new("-");
    let given = |field: &&Field| field.role == Role::Feature || once && field.role == Role::Target;
    options = options.schema(&Schema::new(model.schema().fields().iter().filter(given).cloned().collect())?);
    if once {
        options = options.rest(Kind::Text);
    }
    let pieces = Pieces::open(path, &evaluate.reading, &options, &model)?.only(wanted);
    let (names, notes) = (pieces.names().to_vec(), pieces.notes());
    let failed = |error: TabularError| tables::failed(path, &names, error);
    let mut judge = model.judge();
    for table in pieces {
        judge.see(&table?).map_err(failed)?;
    }
    notes.borrow().iter().for_each(|note| output.remark(format!("{}: {note}", path.display())));
    if judge.rows() + judge.dropped() == 0 {
        return Err(tables::no_rows(path));
    }
    let judged = judge.judged().map_err(failed)?;
    if judged.fitted_on {
        output.remark(format!(
            "warning: the model was fitted on rows of this table ({} of {}), so these scores are too good; those of its own test \
             rows are in `tove inspect`",
            model.facts()["train_rows"],
            judged.rows + judged.dropped
        ));
    }
    output.result(|| text(&model, &judged), || document(&model, &judged))
}

/// The columns that the model looks at.
fn wanted(model: &TabularModel) -> Vec<String> {
    let looked_at = |field: &&Field| matches!(field.role, Role::Feature | Role::Target);
    model.schema().fields().iter().filter(looked_at).map(|field| field.name.clone()).collect()
}

/// The rows of a table that have a target, as the model's samples, and how many have none.
pub fn samples(model: &TabularModel, data: &Table) -> Result<(Samples, usize), Failure> {
    let (kept, dropped) = data.drop_missing(&[model.target()])?;
    let y = model.labels().encode(kept.column(model.target())?)?;
    let (rows, _, _) = model.rows(&kept)?;
    Ok((Samples::new(rows, &y)?, dropped))
}

fn text(model: &TabularModel, judged: &Judged) -> String {
    let (rows, dropped) = (judged.rows, judged.dropped);
    let mut lines = vec![["score", "value"].map(str::to_owned).to_vec()];
    lines.extend(judged.scores.iter().map(|named| vec![named.name.to_owned(), with_interval(named)]));
    let lost = if dropped > 0 { format!("; {dropped} rows without a target were left out") } else { String::new() };
    let mut text = format!("{} on {rows} rows{lost}\n\n{}", model.model().name(), table(&lines));
    let legend = legend(&judged.scores);
    if !legend.is_empty() {
        text.push_str(&format!("\n{legend}\n"));
    }
    if let Some(matrix) = judged.confusion.clone().and_then(|matrix| named_matrix(model, matrix)) {
        text.push_str(&format!("\n{matrix}"));
    }
    text
}

fn document(model: &TabularModel, judged: &Judged) -> Value {
    let entry = |named: &NamedScore| {
        let (interval, error) = (named.score.interval(), named.standard_error);
        (named.name.to_owned(), json!({"value": named.score.value, "interval": interval, "standard_error": error}))
    };
    let scores: Value = Value::Object(judged.scores.iter().map(entry).collect());
    let (rows, dropped) = (judged.rows, judged.dropped);
    json!({"model": model.model().name(), "rows": rows, "dropped": dropped, "fitted_on": judged.fitted_on, "scores": scores})
}
