//! Tables to Parquet files.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result as Written};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};
use tove_tensor::io::{WriteOptions, atomic};

use crate::Result;
use crate::table::{Column, Dates, Table, Unit, Values};

/// Rows of a row group.
const GROUP: usize = 1 << 18;

impl Table {
    /// Writes a Parquet file packed by Snappy. Parquet knows no seconds: such instants come back as milliseconds. The file
    /// appears complete or not at all; an existing one is only replaced if the options say so.
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or the system refuses.
    pub fn write_parquet(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(atomic::write_file(path.as_ref(), options, |out| self.write_parquet_to(out))?)
    }

    /// Writes the same to any writer.
    ///
    /// # Errors
    /// If the writer refuses, or a date is too far away for the format.
    pub fn write_parquet_to(&self, out: impl Write + Send) -> io::Result<()> {
        self.write_groups(out).map_err(io::Error::other)
    }

    fn write_groups(&self, out: impl Write + Send) -> Written<()> {
        let fields = self.iter().map(|(name, column)| field(name, column)).collect::<Written<Vec<TypePtr>>>()?;
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        for start in (0..self.n_rows()).step_by(GROUP) {
            let rows = start..self.n_rows().min(start + GROUP);
            let mut group = writer.next_row_group()?;
            for column in self.columns() {
                let Some(mut chunk) = group.next_column()? else { break };
                write(chunk.untyped(), column, rows.clone())?;
                chunk.close()?;
            }
            group.close()?;
        }
        writer.close().map(drop)
    }
}

fn field(name: &str, column: &Column) -> Written<TypePtr> {
    let (physical, logical) = match column {
        Column::Float(_) => (Physical::DOUBLE, None),
        Column::Integer(_) => (Physical::INT64, None),
        Column::Boolean(_) => (Physical::BOOLEAN, None),
        Column::Categorical(_) | Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Date(dates) => match dates.unit() {
            Unit::Days => (Physical::INT32, Some(LogicalType::Date)),
            Unit::Seconds | Unit::Milliseconds => {
                (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MILLIS)))
            }
            Unit::Microseconds => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
            Unit::Nanoseconds => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::NANOS))),
        },
    };
    let repetition = if column.missing() > 0 { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
    Ok(Arc::new(builder.with_logical_type(logical).build()?))
}

fn write(writer: &mut ColumnWriter<'_>, column: &Column, rows: std::ops::Range<usize>) -> Written<()> {
    let levels: Option<Vec<i16>> =
        (column.missing() > 0).then(|| rows.clone().map(|row| i16::from(!column.is_missing(row))).collect());
    let levels = levels.as_deref();
    let text = |row: usize| column.text(row).map(|text| ByteArray::from(text.as_bytes().to_vec()));
    match (writer, column) {
        (ColumnWriter::DoubleColumnWriter(typed), Column::Float(values)) => {
            typed.write_batch(&known(values, rows), levels, None)
        }
        (ColumnWriter::Int64ColumnWriter(typed), Column::Integer(values)) => {
            typed.write_batch(&known(values, rows), levels, None)
        }
        (ColumnWriter::BoolColumnWriter(typed), Column::Boolean(values)) => {
            typed.write_batch(&known(values, rows), levels, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(typed), _) => {
            typed.write_batch(&rows.filter_map(text).collect::<Vec<_>>(), levels, None)
        }
        (ColumnWriter::Int32ColumnWriter(typed), Column::Date(dates)) => {
            let days =
                known(dates.values(), rows).into_iter().map(i32::try_from).collect::<std::result::Result<Vec<_>, _>>();
            typed.write_batch(&days.map_err(|_| too_far())?, levels, None)
        }
        (ColumnWriter::Int64ColumnWriter(typed), Column::Date(dates)) => {
            typed.write_batch(&instants(dates, rows)?, levels, None)
        }
        _ => return Err(ParquetError::General("a column and its writer differ".to_owned())),
    }
    .map(drop)
}

fn known<T: crate::table::Cell>(values: &Values<T>, rows: std::ops::Range<usize>) -> Vec<T> {
    rows.filter_map(|row| values.get(row)).collect()
}

fn instants(dates: &Dates, rows: std::ops::Range<usize>) -> Written<Vec<i64>> {
    let factor = if dates.unit() == Unit::Seconds { 1000 } else { 1 };
    let known = known(dates.values(), rows).into_iter();
    known.map(|value| value.checked_mul(factor).ok_or_else(too_far)).collect()
}

fn too_far() -> ParquetError {
    ParquetError::General("a date too far from 1970 for Parquet".to_owned())
}
