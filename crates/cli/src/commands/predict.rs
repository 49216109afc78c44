//! `tove predict`: predictions of a saved model for the rows of a table.
//!
//! A CSV or Parquet file, or CSV on the standard input, is read, answered and written piece by piece, so that memory does not grow
//! with it.

use std::collections::BTreeMap;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Column, Field, Kind, Role, Schema, Table};
use tove::tabular::{Predictions, TabularModel};
use tove::tensor::io::{WriteOptions, atomic};

use super::training::may_write;
use crate::arguments::Predict;
use crate::failure::Failure;
use crate::output::Output;
use crate::pieces::{Notes, Pieces};
use crate::tables;

/// Remarks on values never seen, at most.
const UNSEEN: usize = 20;

pub fn run(predict: &Predict, output: &Output) -> Result<(), Failure> {
    let model = tables::model(&predict.model)?;
    if let Some(path) = &predict.output {
        may_write(path, predict.overwrite)?;
    }
    let mut job = Job {
        model: &model,
        file: &predict.file,
        names: Vec::new(),
        proba: predict.proba,
        keep: &predict.keep,
        about: About::default(),
    };
    let tables = job.tables(predict)?;
    let rows = match predict.output.as_deref().filter(|path| *path != Path::new("-")) {
        _ if output.is_json() => job.print_json(tables)?,
        None => job.print(tables)?,
        Some(path) => job.save(tables, path, predict.overwrite)?,
    };
    if rows == 0 {
        return Err(tables::no_rows(&predict.file));
    }
    job.about.tell(output);
    if let Some(path) = &predict.output {
        output.remark(format!("{rows} rows predicted: {}", path.display()));
    }
    Ok(())
}

struct Job<'a> {
    model: &'a TabularModel,
    file: &'a Path,
    /// The columns of the file.
    names: Vec<String>,
    proba: bool,
    /// Columns that go through to the predictions.
    keep: &'a [String],
    about: About,
}

impl Job<'_> {
    fn tables(&mut self, predict: &Predict) -> Result<Pieces, Failure> {
        let path = &predict.file;
        // Only what the model needs is read as it was at fitting; the target and unknown columns may hold anything.
        let needed = |field: &&Field| matches!(field.role, Role::Feature | Role::Id);
        let needed = Schema::new(self.model.schema().fields().iter().filter(needed).cloned().collect())?;
        let options = tables::options(&predict.reading)?.schema(&needed).rest(Kind::Text);
        let mut wanted: Vec<String> = needed.fields().iter().map(|field| field.name.clone()).collect();
        let others = self.keep.iter().filter(|name| !needed.fields().iter().any(|field| field.name == **name));
        wanted.extend(others.cloned());
        let pieces = Pieces::open(path, &predict.reading, &options, self.model)?.only(wanted);
        (self.names, self.about.notes) = (pieces.names().to_vec(), pieces.notes());
        // A column that lacks is told by the names of the file, of which one may be the same misspelt.
        let header = self.names.iter().map(|name| (name.clone(), Column::blank(Kind::Text, 0)));
        let header = Table::new(header)?;
        self.check_kept(&header)?;
        let fits = self.model.schema().conform(&header);
        fits.map_err(|error| tables::failed(path, &self.names, error))?;
        let known = self.model.schema().fields();
        let unknown = |name: &&String| !self.keep.contains(name) && !known.iter().any(|field| field.name == **name);
        self.about.extra = self.names.iter().filter(unknown).cloned().collect();
        Ok(pieces)
    }

    /// That the columns to keep are there.
    fn check_kept(&self, table: &Table) -> Result<(), Failure> {
        let lacking = self.keep.iter().find_map(|name| table.column(name).err());
        lacking.map_or(Ok(()), |error| Err(Failure::usage(format!("--keep: {error}"))))
    }

    /// The answer to a piece.
    fn answer(&mut self, table: &Table) -> Result<Table, Failure> {
        let predictions = self.model.predict(table);
        let predictions = predictions.map_err(|error| tables::failed(self.file, &self.names, error))?;
        if self.proba && predictions.probabilities.is_none() {
            let name = self.model.model().name();
            let text = format!("{name} gives no probabilities; leave out --proba, or fit another model");
            return Err(Failure::usage(text));
        }
        self.about.see(&predictions, self.keep);
        let answer = answer(self.model, table, &predictions, self.proba)?;
        let kept = self.keep.iter().filter(|name| !answer.has(name));
        let kept: Vec<(&str, Column)> =
            kept.filter_map(|name| Some((name.as_str(), table.column(name).ok()?.clone()))).collect();
        Ok(Table::new(kept.into_iter().chain(answer.iter().map(|(name, column)| (name, column.clone()))))?)
    }

    /// Writes the answers one after the other to a place of this name; how many rows there were.
    fn write(&mut self, tables: Pieces, out: &mut impl Write, name: &str) -> Result<usize, Failure> {
        let mut rows = 0;
        for table in tables {
            let answer = self.answer(&table?)?;
            let written = if rows == 0 { answer.write_csv_to(out) } else { answer.write_csv_rows(out) };
            rows += answer.n_rows();
            match written {
                // A reader that has seen enough closes the pipe; that is no failure.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(rows),
                written => written.map_err(|error| Failure::work(format!("{name}: {error}")))?,
            }
        }
        Ok(rows)
    }

    fn print(&mut self, tables: Pieces) -> Result<usize, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let rows = self.write(tables, &mut out, "standard output")?;
        match out.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(rows),
            flushed => Ok(flushed.map(|()| rows)?),
        }
    }

    fn print_json(&mut self, tables: Pieces) -> Result<usize, Failure> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut count = 0;
        for table in tables {
            let answer = self.answer(&table?)?;
            for row in 0..answer.n_rows() {
                write!(out, "{}{}", if count == 0 { "[\n" } else { ",\n" }, row_object(&answer, row))?;
                count += 1;
            }
        }
        writeln!(out, "{}\n]", if count == 0 { "[" } else { "" })?;
        out.flush()?;
        Ok(count)
    }

    fn save(&mut self, tables: Pieces, path: &Path, overwrite: bool) -> Result<usize, Failure> {
        let options = WriteOptions { overwrite, ..WriteOptions::default() };
        if matches!(path.extension().and_then(|ending| ending.to_str()), Some("parquet" | "pq")) {
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
            let written = self.write(tables, out, &name);
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

/// What had to be done to the rows, over all pieces.
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
            output.remark(format!("columns the model does not know were left out: {}", self.extra.join(", ")));
        }
        for (name, found, wanted) in &self.converted {
            output.remark(format!("column {name} was read as {found} and taken as {wanted}"));
        }
        for ((column, value), rows) in self.unseen.iter().take(UNSEEN) {
            output.remark(format!("column {column}: the value {value} of {rows} rows was not seen at fitting"));
        }
        if self.unseen.len() > UNSEEN {
            output.remark(format!("and {} more values that were not seen at fitting", self.unseen.len() - UNSEEN));
        }
        for (column, rows) in &self.imputed {
            output.remark(format!("column {column}: {rows} missing values were filled"));
        }
    }
}

/// The columns that name rows, the predictions, and the probabilities if asked for.
pub fn answer(model: &TabularModel, data: &Table, predictions: &Predictions, proba: bool) -> Result<Table, Failure> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    for name in model.schema().with(Role::Id) {
        if let Ok(column) = data.column(name) {
            columns.push((name.to_owned(), column.clone()));
        }
    }
    columns.push((format!("predicted {}", model.target()), predictions.column.clone()));
    if let (true, Some(probabilities)) = (proba, &predictions.probabilities) {
        let m = model.model().classes().len();
        let all = probabilities.to_f64_vec();
        for (place, &class) in model.model().classes().iter().enumerate() {
            let name = model.classes().get(class as usize).cloned().unwrap_or_else(|| class.to_string());
            columns.push((format!("P({name})"), Column::floats(all.chunks(m).map(|row| row[place]).collect())));
        }
    }
    Ok(Table::new(columns)?)
}

/// A row as a JSON object.
fn row_object(table: &Table, row: usize) -> Value {
    // Whole numbers stay whole: an identifier may have more digits than a real number holds.
    let cell = |column: &Column| match column {
        Column::Integer(values) => json!(values.get(row)),
        Column::Boolean(values) => json!(values.get(row)),
        Column::Float(values) => json!(values.get(row)),
        _ => json!(column.text(row)),
    };
    Value::Object(table.iter().map(|(name, column)| (name.to_owned(), cell(column))).collect())
}
