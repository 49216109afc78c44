//! `tove evaluate`: a saved model judged on a table that has the target, piece by piece: memory holds the answers to its rows, not
//! the rows.

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Field, Kind, Role, Schema};
use tove::learn::Samples;
use tove::tabular::{NamedScore, TabularError, TabularModel};

use crate::arguments::Evaluate;
use crate::failure::Failure;
use crate::output::{Output, number, table};
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
    let (rows, dropped) = (judge.rows(), judge.dropped());
    if rows + dropped == 0 {
        return Err(tables::no_rows(path));
    }
    let scores = judge.scores().map_err(failed)?;
    output.result(|| text(&model, &scores, rows, dropped), || document(&model, &scores, rows, dropped))
}

/// The columns that the model looks at.
fn wanted(model: &TabularModel) -> Vec<String> {
    let looked_at = |field: &&Field| matches!(field.role, Role::Feature | Role::Target);
    model.schema().fields().iter().filter(looked_at).map(|field| field.name.clone()).collect()
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
