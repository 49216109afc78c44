//! `tove predict`: predictions of a saved model for the rows of a table.
//!
//! CSV, from a file or a pipe, and Parquet files are read, predicted and written in chunks, in constant memory.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;
use tove::data::table::{Column, Field, Kind, Role, Schema, Table};
use tove::tabular::{Predictions, TabularModel};
use tove::tensor::DType;
use tove::tensor::io::{WriteOptions, atomic};

use crate::arguments::Predict;
use crate::chunks::{Chunks, Notes};
use crate::failure::Failure;
use crate::files::{self, Rows};
use crate::output::{Output, counted};
use crate::tables;

/// Most remarks on unseen categories.
const UNSEEN: usize = 20;

pub fn run(predict: &Predict, output: &Output) -> Result<(), Failure> {
    files::read_once(&[&predict.model, &predict.file])?;
    let saved = predict.output.as_deref().filter(|path| *path != Path::new("-"));
    let format = saved.map_or(Ok(Rows::Csv), Rows::of)?;
    if let Some(path) = saved {
        files::may_write(path, predict.overwrite, &[&predict.model, &predict.file])?;
    }
    let model = tables::model(&predict.model)?;
    let mut job = Job {
        model: &model,
        file: &predict.file,
        names: Vec::new(),
        proba: predict.proba,
        threshold: threshold(&model, predict.threshold)?,
        keep: &predict.keep,
        about: About::default(),
    };
    let tables = job.tables(predict)?;
    let rows = match saved {
        None => job.print(tables, if output.is_json() { Rows::JsonList } else { format })?,
        Some(path) => job.save(tables, path, format, predict.overwrite)?,
    };
    if rows == 0 {
        return Err(tables::no_rows(&predict.file));
    }
    job.about.tell(output);
    let Some(path) = saved else { return Ok(()) };
    let shown = path.display().to_string();
    if output.is_json() && !crate::files::is_stdout(path) {
        return output.result(String::new, || json!({"rows": rows, "file": shown}));
    }
    output.remark(format!("{} predicted: {shown}", counted(rows, "row")));
    Ok(())
}

/// Checks that a threshold makes sense for the model.
fn threshold(model: &TabularModel, threshold: Option<f64>) -> Result<Option<f64>, Failure> {
    let Some(value) = threshold else { return Ok(None) };
    let wrong = |problem: &str| Err(Failure::usage(format!("--threshold {value}: {problem}")));
    if !(0.0..=1.0).contains(&value) {
        return wrong("give a probability between 0 and 1");
    }
    if model.safeguards().decisions.is_some() {
        return wrong("the model has a threshold for each group, which one for all would undo; leave out --threshold");
    }
    match model.model().capabilities().probabilities && model.model().classes().len() == 2 {
        true => Ok(threshold),
        false => wrong("only classifiers of two classes with probabilities have a threshold"),
    }
}

struct Job<'a> {
    model: &'a TabularModel,
    file: &'a Path,
    /// The columns of the file.
    names: Vec<String>,
    proba: bool,
    threshold: Option<f64>,
    /// Columns that go through to the predictions.
    keep: &'a [String],
    about: About,
}

impl Job<'_> {
    fn tables(&mut self, predict: &Predict) -> Result<Chunks, Failure> {
        let path = &predict.file;
        // Only what the model needs is read as it was at fitting; the target and unknown columns may hold anything.
        let needed = |field: &&Field| field.role.is_for_prediction();
        let needed = Schema::new(self.model.schema().fields().iter().filter(needed).cloned().collect())?;
        let options = tables::options(&predict.reading)?.schema(&needed).rest(Kind::Text);
        let mut wanted: Vec<String> = needed.fields().iter().map(|field| field.name.clone()).collect();
        let others = self.keep.iter().filter(|name| !needed.fields().iter().any(|field| field.name == **name));
        wanted.extend(others.cloned());
        let chunks = Chunks::new(tables::open(path)?, &options, self.model, wanted)?;
        (self.names, self.about.notes) = (chunks.names().to_vec(), chunks.notes());
        let header = chunks.header()?;
        self.check_kept(&header)?;
        let fits = self.model.schema().conform(&header);
        fits.map_err(|error| tables::failed(path, &self.names, error))?;
        let known = self.model.schema().fields();
        let unknown = |name: &&String| !self.keep.contains(name) && !known.iter().any(|field| field.name == **name);
        self.about.extra = self.names.iter().filter(unknown).cloned().collect();
        Ok(chunks)
    }

    /// Checks that the columns to keep exist.
    fn check_kept(&self, table: &Table) -> Result<(), Failure> {
        let lacking = self.keep.iter().find_map(|name| table.column(name).err());
        lacking.map_or(Ok(()), |error| Err(Failure::usage(format!("--keep: {error}"))))
    }

    /// The predictions of a chunk.
    fn answer(&mut self, table: &Table) -> Result<Table, Failure> {
        // A kept column may hold anything, though the model knows one of its name, as it does the target.
        let schema = self.model.schema();
        let only_kept = |name: &&String| !schema.field(name).is_ok_and(|field| field.role.is_for_prediction());
        let only_kept: Vec<&String> = self.keep.iter().filter(only_kept).collect();
        let predictions = table.drop_columns(&only_kept).map_err(Into::into).and_then(|rows| self.model.predict(&rows));
        let mut predictions = predictions.map_err(|error| tables::failed(self.file, &self.names, error))?;
        if let Some(threshold) = self.threshold {
            predictions = self.model.at_threshold(predictions, threshold)?;
        }
        if self.proba && predictions.probabilities.is_none() {
            let name = self.model.model().name();
            let text = format!(
                "{name} does not give probabilities; leave out --proba, or fit a model that does (`tove models` marks them p)"
            );
            return Err(Failure::usage(text));
        }
        self.about.see(&predictions, self.keep);
        let answer = answer(self.model, table, &predictions, self.proba)?;
        let kept = self.keep.iter().filter(|name| !answer.has(name));
        let kept: Vec<(&str, Column)> =
            kept.filter_map(|name| Some((name.as_str(), table.column(name).ok()?.clone()))).collect();
        Ok(Table::new(kept.into_iter().chain(answer.iter().map(|(name, column)| (name, column.clone()))))?)
    }

    /// Writes the predictions chunk by chunk to the output of this name; returns the number of rows.
    fn write(&mut self, tables: Chunks, out: &mut impl Write, name: &str, format: Rows) -> Result<usize, Failure> {
        let mut rows = 0;
        let failed = |error: std::io::Error| Failure::stopped(name, &error);
        for table in tables {
            let answer = self.answer(&table?)?;
            format.write(&answer, rows, out).map_err(failed)?;
            rows += answer.n_rows();
        }
        if rows > 0 {
            format.end(rows, out).and_then(|()| out.flush()).map_err(failed)?;
        }
        Ok(rows)
    }

    fn print(&mut self, tables: Chunks, format: Rows) -> Result<usize, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        self.write(tables, &mut out, "standard output", format)
    }

    fn save(&mut self, tables: Chunks, path: &Path, format: Rows, overwrite: bool) -> Result<usize, Failure> {
        let options = WriteOptions { overwrite, ..WriteOptions::default() };
        if format == Rows::Parquet {
            let mut answers = Vec::new();
            for table in tables {
                answers.push(self.answer(&table?)?);
            }
            let Some(whole) = Table::concat(answers)? else { return Ok(0) };
            whole.write_parquet(path, options)?;
            return Ok(whole.n_rows());
        }
        // The file appears only if all went well; what went wrong is told as it was.
        let mut outcome = None;
        let name = path.display().to_string();
        let saved = atomic::write_file(path, options, |out| {
            let written = self.write(tables, out, &name, format);
            let end = match &written {
                Ok(0) => Err(std::io::Error::other("no rows")),
                Ok(_) => Ok(()),
                Err(failure) => Err(std::io::Error::other(failure.to_string())),
            };
            outcome = Some(written);
            end
        });
        match outcome {
            None => Ok(saved.map(|()| 0)?),
            Some(Ok(rows)) if rows > 0 => Ok(saved.map(|()| rows)?),
            Some(other) => other,
        }
    }
}

/// What was changed in the rows, over all chunks.
#[derive(Default)]
struct About {
    notes: Notes,
    extra: Vec<String>,
    unseen: BTreeMap<(String, String), usize>,
    imputed: BTreeMap<String, usize>,
    converted: Vec<(String, Kind, Kind)>,
}

impl About {
    fn see(&mut self, predictions: &Predictions, keep: &[String]) {
        let about = &predictions.conformed;
        for name in about.extra.iter().filter(|name| !keep.contains(name)) {
            if !self.extra.contains(name) {
                self.extra.push(name.clone());
            }
        }
        for unseen in &about.unseen {
            *self.unseen.entry((unseen.column.clone(), unseen.value.clone())).or_insert(0) += unseen.rows;
        }
        for (column, rows) in &predictions.imputed {
            *self.imputed.entry(column.clone()).or_insert(0) += rows;
        }
        if self.converted.is_empty() {
            self.converted.clone_from(&about.converted);
        }
    }

    fn tell(&self, output: &Output) {
        self.notes.borrow().iter().for_each(|note| output.remark(note));
        if !self.extra.is_empty() {
            output.remark(format!("columns not used by the model: {}", self.extra.join(", ")));
        }
        for (name, found, wanted) in &self.converted {
            output.remark(format!("column {name} was read as {found} and converted to {wanted}"));
        }
        for ((column, value), rows) in self.unseen.iter().take(UNSEEN) {
            output.remark(format!(
                "column {column}: the category {value} ({}) was not in the training data",
                counted(*rows, "row")
            ));
        }
        if self.unseen.len() > UNSEEN {
            output.remark(format!(
                "and {} more categories that were not in the training data",
                self.unseen.len() - UNSEEN
            ));
        }
        for (column, rows) in &self.imputed {
            output.remark(format!("column {column}: {} imputed", counted(*rows, "missing value")));
        }
    }
}

/// The id columns, the predictions, the probabilities if asked for, and prediction sets or intervals if the model makes them.
pub fn answer(model: &TabularModel, data: &Table, predictions: &Predictions, proba: bool) -> Result<Table, Failure> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    for name in model.schema().with(Role::Id) {
        if let Ok(column) = data.column(name) {
            columns.push((name.to_owned(), column.clone()));
        }
    }
    columns.push((model.predicted(), predictions.column.clone()));
    if let (true, Some(probabilities)) = (proba, &predictions.probabilities) {
        let (names, all) = (model.probability_names(), probabilities.to_f64_vec());
        let m = names.len().max(1);
        for (place, name) in names.into_iter().enumerate() {
            columns.push((format!("P({name})"), Column::floats(all.chunks(m).map(|row| row[place]).collect())));
        }
    }
    if let Some(sets) = &predictions.sets {
        let members = sets.to_dtype(DType::U8).to_vec::<u8>();
        let m = model.classes().len().max(1);
        for (place, class) in model.classes().iter().enumerate() {
            let column = Column::booleans(members.chunks(m).map(|row| row[place] == 1).collect());
            columns.push((format!("set({class})"), column));
        }
    }
    if let Some(ends) = &predictions.intervals {
        // An end that is unbounded is left empty: neither CSV nor JSON has a number for it.
        let ends: Vec<f64> =
            ends.to_f64_vec().into_iter().map(|end| if end.is_finite() { end } else { f64::NAN }).collect();
        for (place, name) in ["lower", "upper"].into_iter().enumerate() {
            let column = Column::floats(ends.chunks(2).map(|row| row[place]).collect());
            columns.push((format!("{name} {}", model.target()), column));
        }
    }
    Ok(Table::new(columns)?)
}
