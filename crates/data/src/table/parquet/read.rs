//! Parquet files to tables.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use bytes::Bytes;
use tove_tensor::pool::parallel_for;

use crate::table::categorical::NO_CODE;
use crate::table::csv::dictionary::Dictionary;
use crate::table::csv::merge::are_categories;
use crate::table::{Categorical, Column, ColumnReport, Dates, Kind, ReadReport, Table, Text, Unit, Values, Wanted};
use crate::{DataError, Problem, Remedy, Result};

/// Rows that are decoded at once.
const BATCH: usize = 1 << 13;
/// More different strings than this are text, as in CSV files.
pub(super) const MOST_CATEGORIES: usize = 1000;

pub(super) fn bytes(file: &str, content: Vec<u8>, wanted: &Wanted) -> Result<(Table, ReadReport)> {
    if !content.starts_with(b"PAR1") {
        return Err(damaged(file, "it does not begin with PAR1"));
    }
    // The decoder checks much but not everything; a damaged file must not take the program with it.
    let result = catch_unwind(AssertUnwindSafe(|| read(file, content, wanted)));
    result.unwrap_or_else(|_| Err(damaged(file, "the decoder failed")))
}

/// A column of the table: a leaf of the file's tree of columns.
pub(super) struct Leaf {
    /// The name of the column, which is the root's where that has several leaves.
    pub name: String,
    pub number: usize,
    /// Whether nobody needs its values, so that it is missing where it cannot be read.
    pub unneeded: bool,
}

/// The columns that are wanted; a nested one stands once.
pub(super) fn leaves(schema: &SchemaDescriptor, wanted: &Wanted) -> Vec<Leaf> {
    let mut leaves: Vec<Leaf> = Vec::new();
    for (number, column) in schema.columns().iter().enumerate() {
        let parts = column.path().parts();
        let name = parts.first().map_or(column.name(), String::as_str);
        let nested = parts.len() > 1 && leaves.last().is_some_and(|last| last.name == name);
        if nested || wanted.only.as_ref().is_some_and(|only| !only.iter().any(|one| one == name)) {
            continue;
        }
        let unneeded = wanted.unneeded.iter().any(|one| one == name);
        leaves.push(Leaf { name: name.to_owned(), number, unneeded });
    }
    leaves
}

#[cold]
pub(super) fn damaged(file: &str, problem: &str) -> DataError {
    let problem = format!("is not a valid Parquet file ({problem}); fetch or write it again");
    DataError::TableFile { file: file.to_owned(), problem: problem.into() }
}

#[cold]
pub(super) fn refused(file: &str, error: &ParquetError) -> DataError {
    match error {
        ParquetError::NYI(what) => {
            let problem = format!("uses an unsupported feature ({what}); write it with another compression");
            DataError::TableFile { file: file.to_owned(), problem: problem.into() }
        }
        other => damaged(file, &other.to_string()),
    }
}

fn read(file: &str, content: Vec<u8>, wanted: &Wanted) -> Result<(Table, ReadReport)> {
    let size = content.len();
    let reader = SerializedFileReader::new(Bytes::from(content)).map_err(|error| refused(file, &error))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let rows = row_count(file, &reader, size)?;
    let leaves = leaves(&schema, wanted);
    let slots: Vec<Mutex<Option<Result<Column>>>> = leaves.iter().map(|_| Mutex::new(None)).collect();
    parallel_for(slots.len(), &|place| {
        let Leaf { number, unneeded, .. } = leaves[place];
        let column = OneColumn { file, pages: Pages::Whole(&reader), number, about: &schema.column(number) }.read();
        let column = if unneeded { column.or_else(|_| Ok(Column::blank(Kind::Text, rows))) } else { column };
        *slots[place].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(column);
    });
    let mut columns = Vec::with_capacity(slots.len());
    for (leaf, slot) in leaves.iter().zip(slots) {
        let made = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let made = made.unwrap_or_else(|| Err(damaged(file, "a column could not be read")))?;
        columns.push((leaf.name.clone(), made));
    }
    let table = Table::new(columns)?;
    Ok((table.clone(), report(file, size, &table)))
}

/// The rows that a file says it has, if that can be.
pub(super) fn row_count(file: &str, reader: &dyn FileReader, size: usize) -> Result<usize> {
    let mut rows = 0usize;
    for group in reader.metadata().row_groups() {
        let count = usize::try_from(group.num_rows()).map_err(|_| damaged(file, "a number of rows below zero"))?;
        rows = rows.saturating_add(count);
    }
    // Equal values pack well, but not without end: this keeps a small file from filling the memory.
    if rows > (1 << 24) + 4096 * size {
        return Err(damaged(file, &format!("{rows} rows in {size} bytes")));
    }
    Ok(rows)
}

pub(super) fn report(file: &str, size: usize, table: &Table) -> ReadReport {
    let column = |(name, column): (&str, &Column)| {
        let mut report = ColumnReport::new(name, column.kind());
        report.missing = column.missing();
        report
    };
    let columns = table.iter().map(column).collect();
    ReadReport { file: file.to_owned(), bytes: size as u64, rows: table.n_rows(), columns, ..ReadReport::default() }
}

/// What the integers of a column mean.
#[derive(Clone, Copy)]
enum Meaning {
    Number,
    Unsigned,
    Date(Unit),
    /// Divided by this.
    Decimal(f64),
}

pub(super) struct OneColumn<'a> {
    pub file: &'a str,
    pub pages: Pages<'a>,
    pub number: usize,
    pub about: &'a ColumnDescriptor,
}

/// Where a column's values come from.
pub(super) enum Pages<'a> {
    /// All row groups of a file.
    Whole(&'a dyn FileReader),
    /// So many rows more of a reader that goes on where it stopped.
    Part(&'a RefCell<ColumnReader>, usize),
}

impl OneColumn<'_> {
    pub(super) fn read(&self) -> Result<Column> {
        if self.about.max_rep_level() > 0 || self.about.max_def_level() > 1 || self.about.path().parts().len() > 1 {
            return Err(self.unsupported("is nested (a list, map or struct)"));
        }
        let meaning = self.meaning();
        match self.about.physical_type() {
            Physical::BOOLEAN => {
                let mut values = Values::default();
                self.each(|reader| match reader {
                    ColumnReader::BoolColumnReader(typed) => Some(self.pump(typed, |v| put(&mut values, v.copied()))),
                    _ => None,
                })?;
                Ok(Column::Boolean(values))
            }
            Physical::FLOAT | Physical::DOUBLE => {
                let mut values = Values::default();
                self.each(|reader| match reader {
                    ColumnReader::FloatColumnReader(typed) => {
                        Some(self.pump(typed, |v| put(&mut values, v.map(|&v| f64::from(v)))))
                    }
                    ColumnReader::DoubleColumnReader(typed) => Some(self.pump(typed, |v| put(&mut values, v.copied()))),
                    _ => None,
                })?;
                Ok(Column::Float(values))
            }
            Physical::INT32 | Physical::INT64 | Physical::INT96 => self.integers(meaning),
            Physical::BYTE_ARRAY if !matches!(meaning, Meaning::Decimal(_)) => self.strings(),
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => self.decimals(meaning),
        }
    }

    fn meaning(&self) -> Meaning {
        let scaled = |scale: i32| Meaning::Decimal(10f64.powi(scale));
        let timestamp = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => Unit::Milliseconds,
            TimeUnit::MICROS => Unit::Microseconds,
            TimeUnit::NANOS => Unit::Nanoseconds,
        };
        match self.about.logical_type_ref() {
            Some(LogicalType::Date) => Meaning::Date(Unit::Days),
            Some(LogicalType::Timestamp(stamp)) => Meaning::Date(timestamp(&stamp.unit)),
            Some(LogicalType::Decimal(decimal)) => scaled(decimal.scale),
            Some(LogicalType::Integer(integer)) if !integer.is_signed => Meaning::Unsigned,
            _ => match self.about.converted_type() {
                ConvertedType::DATE => Meaning::Date(Unit::Days),
                ConvertedType::TIMESTAMP_MILLIS => Meaning::Date(Unit::Milliseconds),
                ConvertedType::TIMESTAMP_MICROS => Meaning::Date(Unit::Microseconds),
                ConvertedType::DECIMAL => scaled(self.about.type_scale()),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64 => {
                    Meaning::Unsigned
                }
                _ => Meaning::Number,
            },
        }
    }

    fn integers(&self, meaning: Meaning) -> Result<Column> {
        let mut values: Values<i64> = Values::default();
        let unsigned = matches!(meaning, Meaning::Unsigned);
        let mut instants = false;
        self.each(|reader| match reader {
            ColumnReader::Int32ColumnReader(typed) => Some(self.pump(typed, |v| {
                let widen = |&v: &i32| if unsigned { i64::from(v as u32) } else { i64::from(v) };
                put(&mut values, v.map(widen))
            })),
            ColumnReader::Int64ColumnReader(typed) => Some(self.pump(typed, |v| match v {
                Some(&v) if unsigned && v < 0 => {
                    Err(format!("the number {}, which is too large for a signed integer", v as u64))
                }
                v => put(&mut values, v.copied()),
            })),
            ColumnReader::Int96ColumnReader(typed) => {
                instants = true;
                Some(self.pump(typed, |v| put(&mut values, v.map(|v| v.to_micros()))))
            }
            _ => None,
        })?;
        Ok(match meaning {
            Meaning::Date(unit) => Column::Date(Dates::new(values, unit)),
            _ if instants => Column::Date(Dates::new(values, Unit::Microseconds)),
            Meaning::Decimal(divisor) => Column::Float(values.map(|value| value as f64 / divisor)),
            Meaning::Number | Meaning::Unsigned => Column::Integer(values),
        })
    }

    fn decimals(&self, meaning: Meaning) -> Result<Column> {
        let Meaning::Decimal(divisor) = meaning else { return Err(self.unsupported("holds raw bytes")) };
        let mut values = Values::default();
        let number = |bytes: &[u8]| -> Result<f64, String> {
            // Big-endian with sign; sixteen bytes hold every decimal in use.
            if bytes.len() > 16 {
                return Err("a decimal number of more than 16 bytes".to_owned());
            }
            let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
            let whole = bytes.iter().fold(if negative { -1i128 } else { 0 }, |sum, &byte| sum << 8 | i128::from(byte));
            Ok(whole as f64 / divisor)
        };
        self.each(|reader| match reader {
            ColumnReader::ByteArrayColumnReader(typed) => {
                Some(self.pump(typed, |v| put(&mut values, v.map(|v| number(v.data())).transpose()?)))
            }
            ColumnReader::FixedLenByteArrayColumnReader(typed) => {
                Some(self.pump(typed, |v| put(&mut values, v.map(|v| number(v.data())).transpose()?)))
            }
            _ => None,
        })?;
        Ok(Column::Float(values))
    }

    fn strings(&self) -> Result<Column> {
        let mut strings = Strings { codes: Vec::new(), dictionary: Dictionary::new(), text: None };
        self.each(|reader| match reader {
            ColumnReader::ByteArrayColumnReader(typed) => Some(self.pump(typed, |v: Option<&ByteArray>| {
                let text = v.map(|v| v.as_utf8()).transpose();
                strings.push(text.map_err(|_| "a string that is not UTF-8".to_owned())?);
                Ok(())
            })),
            _ => None,
        })?;
        Ok(strings.column())
    }

    /// Calls `take` with the column's reader in each row group; `None` means that its type is not the expected one.
    fn each(&self, mut take: impl FnMut(&mut ColumnReader) -> Option<Result<usize>>) -> Result<()> {
        let mut one = |reader: &mut ColumnReader, wanted: i64| {
            let rows = take(reader).ok_or_else(|| damaged(self.file, "a column of another type than it says"))??;
            if rows as i64 != wanted {
                return Err(damaged(self.file, &format!("column {:?} is cut off", self.about.name())));
            }
            Ok(())
        };
        let reader = match self.pages {
            Pages::Part(reader, rows) => return one(&mut reader.borrow_mut(), rows as i64),
            Pages::Whole(reader) => reader,
        };
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(|error| refused(self.file, &error))?;
            let mut reader = group.get_column_reader(self.number).map_err(|error| refused(self.file, &error))?;
            one(&mut reader, group.metadata().num_rows())?;
        }
        Ok(())
    }

    /// Gives all values of one reader, in order, and counts the rows.
    fn pump<T: DataType>(
        &self,
        reader: &mut ColumnReaderImpl<T>,
        mut each: impl FnMut(Option<&T::T>) -> Result<(), String>,
    ) -> Result<usize> {
        let optional = self.about.max_def_level() == 1;
        let (mut levels, mut values, mut rows): (Vec<i16>, Vec<T::T>, usize) = (Vec::new(), Vec::new(), 0);
        let wrong = |problem: String| {
            let problem = Problem::new(format!("column {:?} has {problem}", self.name())).remedy(self.left_out());
            DataError::TableFile { file: self.file.to_owned(), problem }
        };
        let most = if let Pages::Part(_, rows) = self.pages { rows } else { usize::MAX };
        loop {
            levels.clear();
            values.clear();
            let count = BATCH.min(most - rows);
            if count == 0 {
                return Ok(rows);
            }
            let read = reader.read_records(count, optional.then_some(&mut levels), None, &mut values);
            let (records, _, _) = read.map_err(|error| refused(self.file, &error))?;
            if records == 0 {
                return Ok(rows);
            }
            rows += records;
            if !optional {
                values.iter().try_for_each(|value| each(Some(value))).map_err(wrong)?;
                continue;
            }
            let mut next = values.iter();
            for &level in &levels {
                each(if level == 1 { next.next() } else { None }).map_err(wrong)?;
            }
        }
    }

    /// The name of the column in the table.
    fn name(&self) -> &str {
        self.about.path().parts().first().map_or(self.about.name(), String::as_str)
    }

    #[cold]
    fn unsupported(&self, what: &str) -> DataError {
        let problem = Problem::new(format!("column {:?} {what}, which a table cannot hold", self.name()));
        let problem = problem.advice("make it flat").remedy(self.left_out());
        DataError::TableFile { file: self.file.to_owned(), problem }
    }

    #[cold]
    fn left_out(&self) -> Remedy {
        Remedy::DropColumn { column: self.name().to_owned() }
    }
}

fn put<T: crate::table::Cell>(values: &mut Values<T>, value: Option<T>) -> Result<(), String> {
    values.push(value);
    Ok(())
}

/// Strings as codes, as long as there are few different ones.
struct Strings {
    codes: Vec<u32>,
    dictionary: Dictionary,
    text: Option<Text>,
}

impl Strings {
    fn push(&mut self, value: Option<&str>) {
        if let Some(text) = &mut self.text {
            text.push(value);
            return;
        }
        self.codes.push(value.map_or(NO_CODE, |value| self.dictionary.code(value)));
        if self.dictionary.len() > MOST_CATEGORIES {
            self.text = Some(self.as_text());
        }
    }

    fn as_text(&self) -> Text {
        self.codes.iter().map(|&code| (code != NO_CODE).then(|| self.dictionary.name(code as usize))).collect()
    }

    fn column(self) -> Column {
        let present = self.codes.iter().filter(|&&code| code != NO_CODE).count();
        let longest = self.dictionary.names().map(str::len).max().unwrap_or(0);
        match self.text {
            Some(text) => Column::Text(text),
            None if !are_categories(self.dictionary.len(), present, longest) => Column::Text(self.as_text()),
            None => {
                let names = self.dictionary.names().map(str::to_owned).collect();
                Column::Categorical(Categorical::from_unsorted(self.codes, names))
            }
        }
    }
}
