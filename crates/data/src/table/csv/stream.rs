//! Reading a file of any size in chunks.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tove_tensor::io::FileError;
use tove_tensor::pool::parallel_for;

use super::block::{Fields, Parsed, ParsedColumn, Plan, parse};
use super::header::{Opened, open};
use super::input::{self, Input};
use super::merge::{Joint, unit_of};
use super::not_numeric::NotNumeric;
use super::read::{line_of, misfit, note};
use super::report::{ColumnReport, NotNumbers, ReadReport};
use super::tokens::{MOST_BYTES, Until, tokenise};
use super::{Charset, CsvOptions};
use crate::table::{Field, Kind, Role, Schema, Table, Unit};
use crate::{DataError, Result};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Rows that the first pass looks at together.
const PASS_ROWS: usize = 1 << 16;

/// Where a chunk lies in its file, to be read again.
#[derive(Clone, Copy, Debug)]
pub struct ChunkPlace {
    offset: u64,
    length: usize,
    /// Lines before it.
    lines: u64,
    rows: usize,
}

/// Tables of so many rows, one after the other; see [`CsvOptions::chunks`]. Ends after the first error.
pub struct CsvChunks {
    blocks: Blocks,
    kinds: Vec<Kind>,
    units: Vec<Option<Unit>>,
    report: ReadReport,
    rows: usize,
    done: bool,
}

impl CsvChunks {
    pub(in crate::table) fn open(options: &CsvOptions, input: Input, rows: usize) -> Result<Self> {
        if rows == 0 {
            return Err(DataError::parameter("chunks", "chunks of 0 rows; give at least 1"));
        }
        let mut charset = if options.charset == Charset::Auto { Charset::Utf8 } else { options.charset };
        // What gives its bytes only once cannot be looked at before it is read.
        let again = input.is_regular().then(|| input.path().to_owned());
        let reopened = |path: &Path, charset| Blocks::open(options, Input::open(path)?, charset);
        // The first piece may show already that the file is not UTF-8.
        let mut blocks = match (Blocks::open(options, input, charset), &again) {
            (Err(DataError::Row { .. }), Some(path)) if options.charset == Charset::Auto => {
                charset = Charset::Latin1;
                reopened(path, charset)?
            }
            (result, _) => result?,
        };
        let given = |name: &String| options.units.iter().find(|(known, _)| known == name).map(|&(_, unit)| unit);
        let mut units: Vec<Option<Unit>> = blocks.opened.names.iter().map(given).collect();
        let mut told = Vec::new();
        match &again {
            None if blocks.opened.plans.contains(&Plan::Infer) => {
                let problem = "can be read only once, so give the kinds of all columns (by a schema) or read it whole";
                return Err(DataError::TableFile { file: blocks.opened.file, problem: problem.into() });
            }
            None => {}
            Some(path) if blocks.opened.plans.contains(&Plan::Infer) => {
                let joints;
                (joints, told) = match infer(options, path, charset) {
                    Err(DataError::Row { .. }) if options.charset == Charset::Auto => {
                        charset = Charset::Latin1;
                        infer(options, path, charset)?
                    }
                    result => result?,
                };
                blocks = reopened(path, charset)?;
                for (number, joint) in joints.iter().enumerate() {
                    if joint.infers() {
                        blocks.opened.plans[number] = Plan::Joined(joint.kind());
                        blocks.opened.formats[number] = joint.format();
                    }
                    units[number] = units[number].or(Some(unit_of(joint.detail())));
                }
            }
            // Nothing else looks at the whole file before its rows are given out.
            Some(path) if options.charset == Charset::Auto && charset == Charset::Utf8 && !input::is_utf8(path)? => {
                charset = Charset::Latin1;
                blocks = reopened(path, charset)?;
            }
            Some(_) => {}
        }
        let kind = |plan: &Plan| match plan {
            Plan::Given(kind) | Plan::Joined(kind) => *kind,
            Plan::Number => Kind::Integer,
            Plan::Infer => Kind::Text,
        };
        let kinds: Vec<Kind> = blocks.opened.plans.iter().map(kind).collect();
        let mut report = blocks.report(&kinds, charset);
        report.columns.iter_mut().zip(told).for_each(|(column, told)| column.not_numbers = told);
        Ok(Self { blocks, kinds, units, report, rows, done: false })
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.blocks.opened.names
    }

    /// Kinds of the columns, the same for all chunks; but a column that a schema says is of integers is float from the chunk on in
    /// which another number occurs.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The columns as a schema, all of them features; categories are not known before the end.
    pub fn schema(&self) -> Schema {
        let field = |number: usize| Field {
            name: self.names()[number].clone(),
            kind: self.kinds[number],
            role: Role::Feature,
            categories: None,
            unit: (self.kinds[number] == Kind::Date).then(|| self.units[number].unwrap_or(Unit::Microseconds)),
            format: self.blocks.opened.formats[number],
            typical: None,
        };
        Schema::of_fields((0..self.kinds.len()).map(field).collect())
    }

    /// What was read, coerced and dropped so far.
    pub fn report(&self) -> &ReadReport {
        &self.report
    }

    /// Where the last chunk lies; `None` before the first one, and for packed files, Latin-1 and the standard input.
    pub fn place(&self) -> Option<ChunkPlace> {
        self.blocks.place
    }

    /// Reads a chunk again, in any order. The chunks that would have come next are given up.
    ///
    /// ```
    /// use tove_data::table::CsvOptions;
    /// let path = std::env::temp_dir().join(format!("tove-places-{}.csv", std::process::id()));
    /// std::fs::write(&path, "a\n1\n2\n3\n")?;
    /// let mut chunks = CsvOptions::new().chunks(&path, 2)?;
    /// let first = chunks.next().transpose()?;
    /// let place = chunks.place();
    /// chunks.by_ref().for_each(drop);
    /// assert_eq!(Some(chunks.read_again(place.expect("a plain file"))?), first);
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read any more, or has changed.
    pub fn read_again(&mut self, place: ChunkPlace) -> Result<Table> {
        self.done = true;
        self.blocks.go_to(place)?;
        let table = self.chunk(place.rows)?;
        table.filter(|table| table.n_rows() == place.rows).ok_or_else(|| changed(&self.blocks.path))
    }

    fn chunk(&mut self, rows: usize) -> Result<Option<Table>> {
        let Some(parsed) = self.blocks.next(rows, &mut self.report)? else { return Ok(None) };
        let mut columns = Vec::with_capacity(parsed.len());
        for (number, column) in parsed.into_iter().enumerate() {
            if self.blocks.opened.plans[number] == Plan::Number && matches!(column.parsed, Parsed::Float(_)) {
                self.kinds[number] = Kind::Float;
                self.blocks.opened.plans[number] = Plan::Given(Kind::Float);
            }
            let mut joint = Joint::new(Plan::Given(self.kinds[number]));
            joint.see(&column.parsed, usize::MAX, &self.blocks.opened.rules);
            let unit = self.units[number].or(Some(Unit::Microseconds));
            let made = joint.assemble(vec![column.parsed], unit);
            let about = &mut self.report.columns[number];
            about.missing += made.missing();
            about.kind = self.kinds[number];
            columns.push((self.blocks.opened.names[number].clone(), made));
        }
        let table = Table::new(columns)?;
        self.report.rows += table.n_rows();
        Ok(Some(table))
    }
}

impl Iterator for CsvChunks {
    type Item = Result<Table>;

    fn next(&mut self) -> Option<Result<Table>> {
        if self.done {
            return None;
        }
        let chunk = self.chunk(self.rows).transpose();
        self.done = !matches!(chunk, Some(Ok(_)));
        chunk
    }
}

/// The kinds of the columns, from one pass over the file, or two if numbers turned out to be strings later on.
fn infer(options: &CsvOptions, path: &Path, charset: Charset) -> Result<(Vec<Joint>, Vec<Option<NotNumbers>>)> {
    let mut blocks = Blocks::open(options, Input::open(path)?, charset)?;
    let plans = blocks.opened.plans.clone();
    let mut stopped: Vec<NotNumeric> = plans.iter().map(|_| NotNumeric::unknown()).collect();
    for pass in 0..2 {
        let most = blocks.opened.rules.max_categories;
        let mut joints: Vec<Joint> = plans.iter().map(|&plan| Joint::new(plan)).collect();
        let mut narrow = vec![false; plans.len()];
        let mut report = blocks.report(&vec![Kind::Text; plans.len()], charset);
        while let Some(columns) = blocks.next(PASS_ROWS, &mut report)? {
            for (number, column) in columns.iter().enumerate() {
                if pass == 0 {
                    // What is named has its line already.
                    stopped[number].see(column, |line| line as u64);
                }
                joints[number].see(&column.parsed, most, &blocks.opened.rules);
                narrow[number] |= column.parsed.kind().is_some_and(|kind| kind != Kind::Categorical);
            }
        }
        joints.iter_mut().for_each(|joint| joint.settle(&blocks.opened.rules));
        let strings = |number: usize| matches!(joints[number].kind(), Kind::Categorical | Kind::Text);
        let again: Vec<usize> =
            (0..plans.len()).filter(|&n| narrow[n] && plans[n] == Plan::Infer && strings(n)).collect();
        if again.is_empty() {
            let told = |(stopped, joint): (NotNumeric, &Joint)| {
                stopped.told().filter(|_| joint.infers() && matches!(joint.kind(), Kind::Categorical | Kind::Text))
            };
            let told = stopped.into_iter().zip(&joints).map(told).collect();
            return Ok((joints, told));
        }
        blocks = Blocks::open(options, Input::open(path)?, charset)?;
        again.iter().for_each(|&number| blocks.opened.plans[number] = Plan::Joined(Kind::Categorical));
    }
    // The second pass reads those columns as strings, so nothing is too narrow any more.
    Err(changed(path))
}

#[cold]
fn changed(path: &Path) -> DataError {
    DataError::TableFile { file: path.display().to_string(), problem: "changed while it was read".into() }
}

/// Records of a file, a bounded number at a time.
struct Blocks {
    path: PathBuf,
    input: Input,
    opened: Opened,
    /// UTF-8 (or what claims to be), of which so many bytes are used up. They go when more is read: moving the rest after every
    /// chunk would take time by the square of a long record.
    buffer: Vec<u8>,
    used: usize,
    end: bool,
    charset: Charset,
    ragged: super::Ragged,
    /// Lines before the buffer.
    lines: u64,
    /// Where the buffer begins in the file, if a place in the file can be found again.
    offset: Option<u64>,
    place: Option<ChunkPlace>,
}

impl Blocks {
    fn open(options: &CsvOptions, mut input: Input, charset: Charset) -> Result<Self> {
        let mut buffer = Vec::new();
        let read = input.read_some(PIECE, &mut buffer)?;
        let end = read < PIECE;
        if charset == Charset::Latin1 {
            buffer = input::latin1(&buffer).into_bytes();
        }
        // A piece may end inside a character, which the next piece completes.
        let sound = match std::str::from_utf8(&buffer) {
            Err(error) if error.error_len().is_none() && !end => error.valid_up_to(),
            _ => buffer.len(),
        };
        let (text, _) = input::decode(&input.name, &buffer[..sound], Charset::Utf8)?;
        let opened = open(options, &input.name, &text, end)?;
        let lines = line_of(&text, opened.body) - 1;
        let mark = sound - text.len();
        let plain = input.is_regular() && !input.is_packed() && charset != Charset::Latin1;
        let offset = plain.then_some((mark + opened.body) as u64);
        let (path, ragged, place, used) = (input.path().to_owned(), options.ragged, None, mark + opened.body);
        Ok(Self { path, input, opened, buffer, used, end, charset, ragged, lines, offset, place })
    }

    fn report(&self, kinds: &[Kind], charset: Charset) -> ReadReport {
        let columns = self.opened.names.iter().zip(&self.opened.plans).zip(kinds).map(|((name, plan), &kind)| {
            let mut report = ColumnReport::new(name, kind);
            report.given = matches!(plan, Plan::Given(_) | Plan::Number);
            report
        });
        let mut columns: Vec<ColumnReport> = columns.collect();
        // What a schema says of formats is known already.
        for (number, column) in columns.iter_mut().enumerate() {
            let found = matches!(self.opened.plans[number], Plan::Joined(_));
            column.format = self.opened.formats[number].filter(|_| found);
        }
        ReadReport {
            file: self.path.display().to_string(),
            delimiter: char::from(self.opened.rules.dialect.delimiter).to_string(),
            encoding: if charset == Charset::Latin1 { "latin-1" } else { "utf-8" }.to_owned(),
            unnamed_columns: self.opened.unnamed,
            columns,
            ..ReadReport::default()
        }
    }

    /// The next records, `rows` of them unless the file ends.
    fn next(&mut self, rows: usize, report: &mut ReadReport) -> Result<Option<Vec<ParsedColumn>>> {
        let width = self.opened.names.len();
        let mut tokens = loop {
            let until = Until { byte: usize::MAX, rows, fields: usize::MAX, last: self.end };
            let mut tokens = tokenise(&self.buffer[self.used..], width, &self.opened.rules.dialect, until);
            if tokens.found.rows >= rows || self.end {
                break tokens;
            }
            tokens.recycle();
            self.more()?;
        };
        let left = self.buffer.len() - self.used;
        let used = if tokens.found.open.is_some() { left } else { tokens.found.consumed };
        let text = self.text(used)?;
        report.bytes += used as u64;
        note(report, self.ragged, &self.opened, (text, 0, self.lines), &tokens.found)?;
        let slots: Vec<Mutex<Option<_>>> = (0..width).map(|_| Mutex::new(None)).collect();
        parallel_for(width, &|column| {
            let (rules, format) = (&self.opened.rules, self.opened.formats[column]);
            let fields = Fields { text, tokens: &tokens, columns: width, column, rules, format };
            let made = parse(&fields, self.opened.plans[column]);
            *slots[column].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        });
        let made = slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut parsed = Vec::with_capacity(width);
        for (column, made) in made.enumerate() {
            let mut made =
                made.map_err(|found| misfit(&self.opened, self.lines + line_of(text, found.offset), &found))?;
            for found in made.mixed.iter_mut().flat_map(|mixed| mixed.first.iter_mut().chain(&mut mixed.first_spelled))
            {
                found.offset = (self.lines + line_of(text, found.offset)) as usize;
            }
            if let Some(about) = report.columns.get_mut(column) {
                about.coerced += made.coerced;
                if let (None, Some(first)) = (&about.first_coerced, &made.first) {
                    about.first_coerced = Some((self.lines + line_of(text, first.offset), first.value.clone()));
                }
            }
            parsed.push(made);
        }
        let (lines, rows) = (self.lines, tokens.found.rows);
        self.lines += line_of(text, used) - 1;
        self.place = self.offset.map(|offset| ChunkPlace { offset, length: used, lines, rows });
        self.offset = self.offset.map(|offset| offset + used as u64);
        self.used += used;
        tokens.recycle();
        Ok((tokens.found.rows > 0).then_some(parsed))
    }

    /// Fills the buffer with the bytes of a chunk, and nothing else.
    fn go_to(&mut self, place: ChunkPlace) -> Result<()> {
        self.buffer.resize(place.length, 0);
        self.used = 0;
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(place.offset))?;
            file.read_exact(&mut self.buffer)
        });
        read.map_err(|source| FileError::Io { path: self.path.clone(), doing: "read", source })?;
        (self.lines, self.end, self.offset) = (place.lines, true, Some(place.offset));
        Ok(())
    }

    /// Doubles the buffer, so that cutting it again from its start costs no more than the bytes in all.
    fn more(&mut self) -> Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let count = self.buffer.len().max(PIECE);
        if self.buffer.len() + count > MOST_BYTES {
            let problem = "a chunk takes more than a gigabyte; take fewer rows, or look for a quote that is not closed";
            return Err(DataError::TableFile { file: self.opened.file.clone(), problem: problem.into() });
        }
        if self.charset != Charset::Latin1 {
            self.end = self.input.read_some(count, &mut self.buffer)? < count;
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.end = self.input.read_some(count, &mut bytes)? < count;
        self.buffer.extend_from_slice(input::latin1(&bytes).as_bytes());
        Ok(())
    }

    fn text(&self, used: usize) -> Result<&str> {
        let bytes = &self.buffer[self.used..self.used + used];
        std::str::from_utf8(bytes).map_err(|error| {
            let line = self.lines + 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
            DataError::Row { file: self.opened.file.clone(), line, problem: input::not_utf8() }
        })
    }
}
