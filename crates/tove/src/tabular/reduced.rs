//! A table as a few components per row, in one file that gives the table back.

use std::path::Path;

use serde_json::Value;
use tove_data::table::{Column, CsvOptions, Kind, Role, Schema, Table, TableEncoder};
use tove_learn::{Model, Record, Transform, restore};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use super::{ReduceOutcome, Result, TabularError};
use crate::estimators;

/// The components of a table's rows, with the model that turns them back into columns.
pub struct ReducedTable {
    schema: Schema,
    encoder: TableEncoder,
    model: Box<dyn Model>,
    /// (rows, components)
    codes: Tensor,
    /// Columns that identify rows, as CSV.
    ids: Option<String>,
}

impl ReducedTable {
    /// The kind of its files.
    pub const KIND: &'static str = "ReducedTable";

    /// The outcome of a [`ReducePlan`](super::ReducePlan), to be saved.
    ///
    /// ```
    /// use tove::tabular::{Candidate, ReducePlan, ReducedTable};
    /// let text = "a,b,kind\n1,2,x\n2,4,y\n3,6,x\n4,8,y\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let found = ReducePlan::new(Candidate::named("PCA")?).fit(&table)?;
    /// let back = ReducedTable::new(found)?.rebuild()?;
    /// assert!((back.column("b")?.number(3).unwrap() - 8.0).abs() < 1e-9);
    /// assert_eq!(back.column("kind")?.text(1).as_deref(), Some("y"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the model cannot be inverted.
    pub fn new(found: ReduceOutcome) -> Result<ReducedTable> {
        let ReduceOutcome { table, components, model, schema, encoder, .. } = found;
        if !model.capabilities().inverse_transform {
            let problem = format!("{} has no inverse, so that the table could not be rebuilt", model.name());
            return Err(TabularError::plan(format!("{problem}; choose PCA, TruncatedSVD or NMF")));
        }
        let columns: Vec<_> = components.iter().map(|one| table.column(&one.name)).collect::<Result<_, _>>()?;
        let rows = 0..table.n_rows();
        let values = rows.flat_map(|row| columns.iter().map(move |column| column.number(row).unwrap_or(0.0))).collect();
        let codes = Tensor::try_from_vec::<f64>(values, [table.n_rows(), columns.len()])?;
        let names: Vec<&str> = schema.with(Role::Id).collect();
        let ids = match names.is_empty() {
            true => None,
            false => {
                let mut bytes = Vec::new();
                let unwritten = |error: std::io::Error| TabularError::plan(error.to_string());
                table.select(&names)?.write_csv_to(&mut bytes).map_err(unwritten)?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        Ok(ReducedTable { schema, encoder, model, codes, ids })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.codes.dims()[0]
    }

    /// The fitted transformer.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The table: the columns that identify rows, then those that were reduced, as near as the components come.
    ///
    /// # Errors
    /// If a column was encoded in a way that forgets its values, such as a date.
    pub fn rebuild(&self) -> Result<Table> {
        let features = self.model.inverse_transform(&self.codes)?;
        if features.to_f64_vec().iter().any(|value| !value.is_finite()) {
            return Err(TabularError::plan(
                "the rebuilt numbers overflow; the file is damaged, reduce the table again",
            ));
        }
        let columns = self.encoder.decode(&features)?;
        let mut all = Vec::new();
        if let Some(text) = &self.ids {
            let (ids, _) = CsvOptions::new().delimiter(b',').read_bytes(text.as_bytes())?;
            all.extend(ids.iter().map(|(name, column)| (name.to_owned(), column.clone())));
        }
        all.extend(columns.iter().map(|(name, column)| (name.to_owned(), self.as_it_was(name, column))));
        Ok(Table::new(all)?)
    }

    /// A rebuilt column, of booleans again if it was one.
    fn as_it_was(&self, name: &str, column: &Column) -> Column {
        let boolean = self.schema.fields().iter().any(|field| field.name == name && field.kind == Kind::Boolean);
        match (boolean, column) {
            (true, Column::Float(_)) => {
                Column::booleans((0..column.len()).map(|row| column.number(row).is_some_and(|x| x >= 0.5)).collect())
            }
            _ => column.clone(),
        }
    }

    /// The model as a record.
    ///
    /// # Errors
    /// Never for a fitted model.
    pub fn record(&self) -> Result<Record> {
        let (encoder, numbers) = self.encoder.to_state()?;
        let document = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
        let mut record = Record::new(Self::KIND, 1);
        record.put("tove", env!("CARGO_PKG_VERSION"));
        record.put("schema", document(&self.schema.to_json()?));
        record.put("encoder", document(&encoder));
        record.put("ids", self.ids.clone());
        record.put_tensor("encoder", &numbers);
        record.put_tensor("codes", &self.codes);
        record.put_part("model", self.model.record());
        Ok(record)
    }

    /// Reads what [`ReducedTable::record`] wrote.
    ///
    /// # Errors
    /// If it is another kind of record, or its parts do not fit together.
    pub fn restore(record: &Record) -> Result<ReducedTable> {
        estimators::register();
        record.expect(Self::KIND, 1)?;
        let schema = Schema::from_json(&record.get("schema")?.to_string())?;
        let encoder = TableEncoder::from_state(&record.get("encoder")?.to_string(), record.tensor("encoder")?)?;
        let model = restore(&record.part("model")?)?;
        let codes = record.tensor("codes")?.clone();
        let finite = record.vector("codes")?.iter().all(|code| code.is_finite());
        let ids = record.get("ids")?.as_str().map(str::to_owned);
        let fits = codes.rank() == 2 && codes.dims()[1] == model.outputs() && finite;
        if !fits || model.width() != encoder.feature_names().len() || !model.capabilities().inverse_transform {
            return Err(record.wrong("codes", "what the model gives").into());
        }
        Ok(ReducedTable { schema, encoder, model, codes, ids })
    }

    /// Writes the file; complete or not at all, and never over an existing one unless asked.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.record()?.save(path, options)?)
    }
}
