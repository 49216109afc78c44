//! A whole file at once, block by block on all threads.

use std::fs::File;
use std::sync::Mutex;

use tove_tensor::pool::parallel_for;

use super::block::{Fields, Misfit, ParsedColumn, Plan, parse};
use super::body::{BLOCK, Body, Cuts, Cutter, read_at};
use super::header::{Opened, open};
use super::merge::Joint;
use super::not_numeric::NotNumeric;
use super::report::{ColumnReport, ReadReport};
use super::tokens::{Found, Tokens};
use super::{Charset, CsvOptions, Ragged, input};
use crate::table::{Column, Kind, Table};
use crate::{DataError, Problem, Remedy, Result};

/// Bytes at the beginning of a file on disk that its header, delimiter and newline are found in.
const HEAD: usize = 1 << 20;
/// Bytes of a table whose columns are joined on one thread.
const SMALL: usize = 1 << 17;
/// How many lines of dropped rows the report names.
const LINES: usize = 10;

/// Reads bytes in memory.
pub(super) fn whole(options: &CsvOptions, file: &str, bytes: &[u8]) -> Result<(Table, ReadReport)> {
    let size = bytes.len() as u64;
    let (text, encoding) = input::decode(file, bytes, options.charset)?;
    let text = text.as_ref();
    let opened = open(options, file, text, true)?;
    let body = Body::Memory(&text.as_bytes()[opened.body..]);
    let reader = Reader { whole: Some(text), body: &body, opened: &opened, most: options.max_rows };
    reader.table(options, report(file, size, encoding, &opened)).unwrap_or_else(|trouble| Err(trouble.told(file)))
}

/// Reads a file on disk without holding its bytes. `None` if there is anything to be told of its lines, or anything unusual about it,
/// its characters for example: then it must be read into memory.
pub(super) fn on_disk(options: &CsvOptions, name: &str, file: &File) -> Option<(Table, ReadReport)> {
    let about = file.metadata().ok().filter(|about| about.is_file() && options.charset != Charset::Latin1)?;
    let size = usize::try_from(about.len()).ok()?;
    let mut head = vec![0; size.min(HEAD)];
    read_at(file, &mut head, 0)?;
    let last = head.len() == size;
    if !last {
        // The head ends with a line; where no line ends, the whole file must say how lines do.
        head.truncate(memchr::memrchr(b'\n', &head)? + 1);
    }
    let (text, encoding) = input::decode(name, &head, Charset::Utf8).ok()?;
    let opened = open(options, name, &text, last).ok()?;
    let at = head.len() - text.len() + opened.body;
    let body = Body::Disk { file, at: at as u64, length: size.checked_sub(at)? };
    let reader = Reader { whole: None, body: &body, opened: &opened, most: options.max_rows };
    reader.table(options, report(name, size as u64, encoding, &opened)).ok()?.ok()
}

fn report(file: &str, bytes: u64, encoding: &str, opened: &Opened) -> ReadReport {
    ReadReport {
        file: file.to_owned(),
        bytes,
        delimiter: char::from(opened.rules.dialect.delimiter).to_string(),
        encoding: encoding.to_owned(),
        unnamed_columns: opened.unnamed,
        ..ReadReport::default()
    }
}

/// Adds what cutting a block into fields found; ragged rows and open quotes may be errors. The block lies in `text` from
/// `start`, and `lines` lines come before the text.
pub(super) fn note(
    report: &mut ReadReport,
    ragged_rows: Ragged,
    opened: &Opened,
    (text, start, lines): (&str, usize, u64),
    tokens: &Found,
) -> Result<()> {
    report.blank_lines += tokens.blank;
    report.odd_quotes += tokens.odd;
    for ragged in &tokens.ragged {
        // Counting lines from the beginning is for the few that are named.
        let line = || lines + line_of(text, start + ragged.offset);
        if ragged_rows == Ragged::Error {
            let (from, to) = ragged.field;
            let value = text.get(start + from..start + to).unwrap_or_default();
            let which =
                if ragged.found > opened.names.len() { "the first extra field is" } else { "the last field is" };
            let problem = format!(
                "{} fields where the header has {}; {which} {}",
                ragged.found,
                opened.names.len(),
                crate::error::shown(value)
            );
            let problem = Problem::new(problem).advice("fix the row").remedy(Remedy::DropRagged);
            return Err(DataError::Row { file: opened.file.clone(), line: line(), problem });
        }
        report.dropped_rows += 1;
        if report.dropped_lines.len() < LINES {
            report.dropped_lines.push(line());
        }
    }
    match tokens.open {
        Some(offset) => Err(open_quote(&opened.file, lines + line_of(text, start + offset))),
        None => Ok(()),
    }
}

#[cold]
pub(super) fn open_quote(file: &str, line: u64) -> DataError {
    let problem = "this quote is never closed; close it, or double it to escape it";
    DataError::Row { file: file.to_owned(), line, problem: problem.into() }
}

/// The line of a byte, counted from 1.
pub(super) fn line_of(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let newlines = memchr::memchr_iter(b'\n', before).count();
    1 + if newlines > 0 { newlines } else { memchr::memchr_iter(b'\r', before).count() } as u64
}

#[cold]
pub(super) fn misfit(opened: &Opened, line: u64, misfit: &Misfit) -> DataError {
    let kind = match opened.plans[misfit.column] {
        Plan::Given(kind) | Plan::Joined(kind) => kind.name(),
        Plan::Number => "integer or decimal number",
        Plan::Infer => "value of its column",
    };
    let problem = Problem::new(format!("is not a valid {kind}")).advice("fix the value").remedy(Remedy::Coerce);
    let (file, column) = (opened.file.clone(), opened.names[misfit.column].clone());
    DataError::Value { file, line, column, value: misfit.value.clone(), problem }
}

struct Block {
    /// Where it begins in the body, and where the next one does.
    start: usize,
    end: usize,
    found: Found,
    columns: Vec<ParsedColumn>,
}

/// Why there is no table, for a reason other than the contents of the file.
enum Trouble {
    /// Bytes could not be read or are not UTF-8.
    Unread,
    /// The numbers of lines are needed, and the text is not at hand.
    Lines,
    /// There are more rows than this.
    Rows(usize),
}

impl Trouble {
    #[cold]
    fn told(self, file: &str) -> DataError {
        let problem = match self {
            Trouble::Unread => "cannot be read as text",
            Trouble::Lines => "cannot be read again to count its lines",
            Trouble::Rows(most) => return DataError::TooLarge { file: file.to_owned(), what: "rows", most },
        };
        DataError::TableFile { file: file.to_owned(), problem: problem.into() }
    }
}

/// A block, or its first misfit with where the block begins.
type Made = Result<Block, (usize, Misfit)>;

struct Reader<'a> {
    /// All of the file, where it is in memory.
    whole: Option<&'a str>,
    /// Its part behind the header.
    body: &'a Body<'a>,
    opened: &'a Opened,
    /// Rows that there may be.
    most: usize,
}

impl Reader<'_> {
    fn table(&self, options: &CsvOptions, report: ReadReport) -> Result<Result<(Table, ReadReport)>, Trouble> {
        let blocks = match self.blocks()? {
            Ok(blocks) => blocks,
            Err((start, found)) => {
                let line = line_of(self.whole.ok_or(Trouble::Lines)?, self.opened.body + start + found.offset);
                return Ok(Err(misfit(self.opened, line, &found)));
            }
        };
        let unusual = |found: &Found| !found.ragged.is_empty() || found.open.is_some();
        let coerced = |block: &Block| block.columns.iter().any(|column| column.coerced > 0);
        if self.whole.is_none() && blocks.iter().any(|block| unusual(&block.found) || coerced(block)) {
            return Err(Trouble::Lines);
        }
        self.told(options, report, blocks)
    }

    fn told(
        &self,
        options: &CsvOptions,
        mut report: ReadReport,
        mut blocks: Vec<Block>,
    ) -> Result<Result<(Table, ReadReport)>, Trouble> {
        let text = self.whole.unwrap_or_default();
        for block in &blocks {
            let place = (text, self.opened.body + block.start, 0);
            if let Err(error) = note(&mut report, options.ragged, self.opened, place, &block.found) {
                return Ok(Err(error));
            }
        }
        let mut joints: Vec<Joint> = self.opened.plans.iter().map(|&plan| Joint::new(plan)).collect();
        let most = self.opened.rules.max_categories;
        for (column, joint) in joints.iter_mut().enumerate() {
            blocks.iter().for_each(|block| joint.see(&block.columns[column].parsed, most, &self.opened.rules));
            joint.settle(&self.opened.rules);
        }
        let mut stopped: Vec<NotNumeric> = joints.iter().map(NotNumeric::of).collect();
        for block in &blocks {
            let line = |offset: usize| line_of(text, self.opened.body + block.start + offset);
            stopped.iter_mut().zip(&block.columns).for_each(|(stopped, column)| stopped.see(column, line));
        }
        let stopped: Vec<_> = stopped.into_iter().map(NotNumeric::told).collect();
        // What stopped a column from being numbers is told with its line.
        if self.whole.is_none() && stopped.iter().any(Option::is_some) {
            return Err(Trouble::Lines);
        }
        self.join(&mut blocks, &mut joints)?;
        let (columns, reports) = assemble(self.opened, text, joints, blocks, self.body.len() < SMALL);
        report.columns = reports;
        report.columns.iter_mut().zip(stopped).for_each(|(report, stopped)| report.not_numbers = stopped);
        Ok(Table::new(self.opened.names.iter().cloned().zip(columns)).map(|table| {
            report.rows = table.n_rows();
            (table, report)
        }))
    }

    fn cutter(&self) -> Cutter<'_> {
        Cutter { columns: self.opened.names.len(), dialect: &self.opened.rules.dialect }
    }

    /// All blocks of the body, each parsed as far as it can be on its own.
    fn blocks(&self) -> Result<Result<Vec<Block>, (usize, Misfit)>, Trouble> {
        let cuts = Cuts::new(self.body, self.opened.rules.dialect.newline);
        let count = cuts.count();
        let slots: Vec<Mutex<Option<Made>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let parse = |start: usize, text: &str, tokens: &Tokens| self.parse(start, text, tokens);
        // With a limit, blocks are read one after the other: those read ahead by a wrong guess about the quotes could hold any
        // number of rows.
        parallel_for(if self.most == usize::MAX { count } else { 0 }, &|number| {
            let block = cuts.block(number, self.cutter(), parse);
            *lock(&slots[number]) = block;
        });
        let mut blocks: Vec<Block> = Vec::with_capacity(count);
        let (mut at, mut rows) = (0, 0);
        for (number, slot) in slots.into_iter().enumerate() {
            let made = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let begins = |made: &Made| made.as_ref().map_or_else(|(start, _)| *start, |block| block.start);
            let made = match made {
                // The block began where the one before ended: its guess about the quotes was right.
                Some(made) if begins(&made) == at => made,
                _ => self.body.records((at, (number + 1) * BLOCK), self.cutter(), parse).ok_or(Trouble::Unread)?,
            };
            let block = match made {
                Ok(block) => block,
                Err(misfit) => return Ok(Err(misfit)),
            };
            at = block.end;
            rows += block.found.rows + block.found.ragged.len();
            if rows > self.most {
                return Err(Trouble::Rows(self.most));
            }
            let stop = block.found.open.is_some();
            blocks.push(block);
            if stop {
                break;
            }
        }
        Ok(Ok(blocks))
    }

    fn parse(&self, start: usize, text: &str, tokens: &Tokens) -> Made {
        let column = |(column, &plan): (usize, &Plan)| parse(&self.fields(text, tokens, column), plan);
        let parsed: Vec<_> = self.opened.plans.iter().enumerate().map(column).collect();
        let first = parsed.iter().filter_map(|result| result.as_ref().err()).min_by_key(|misfit| misfit.offset);
        if let Some(first) = first {
            return Err((start, first.clone()));
        }
        let columns = parsed.into_iter().flatten().collect();
        Ok(Block { start, end: start + tokens.found.consumed, found: tokens.found.clone(), columns })
    }

    fn fields<'b>(&'b self, text: &'b str, tokens: &'b Tokens, column: usize) -> Fields<'b> {
        let (columns, rules, format) = (self.opened.names.len(), &self.opened.rules, self.opened.formats[column]);
        Fields { text, tokens, columns, column, rules, format }
    }

    /// Finds the kinds of the columns, and reads again what was taken too narrowly.
    fn join(&self, blocks: &mut [Block], joints: &mut [Joint]) -> Result<(), Trouble> {
        let most = self.opened.rules.max_categories;
        let again: Vec<(usize, Vec<usize>)> = blocks
            .iter()
            .enumerate()
            .map(|(number, block)| {
                let narrow = |&column: &usize| joints[column].must_reread(&block.columns[column].parsed);
                (number, (0..joints.len()).filter(narrow).collect::<Vec<_>>())
            })
            .filter(|(_, columns)| !columns.is_empty())
            .collect();
        let slots: Vec<Mutex<Option<Vec<ParsedColumn>>>> = again.iter().map(|_| Mutex::default()).collect();
        parallel_for(again.len(), &|task| {
            let (number, columns) = &again[task];
            let read = |_: usize, text: &str, tokens: &Tokens| {
                let again = |&column: &usize| {
                    let format = joints[column].format();
                    let kind = if format.is_some() { Kind::Float } else { Kind::Categorical };
                    parse(&Fields { format, ..self.fields(text, tokens, column) }, Plan::Joined(kind)).ok()
                };
                columns.iter().map(again).collect::<Option<Vec<_>>>()
            };
            let place = (blocks[*number].start, (number + 1) * BLOCK);
            *lock(&slots[task]) = self.body.records(place, self.cutter(), read).flatten();
        });
        for ((number, columns), slot) in again.into_iter().zip(slots) {
            let read: Option<Vec<_>> = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            for (column, parsed) in columns.into_iter().zip(read.ok_or(Trouble::Unread)?) {
                // A file that is written to while it is read may have other rows by now.
                if parsed.parsed.rows() != blocks[number].columns[column].parsed.rows() {
                    return Err(Trouble::Unread);
                }
                joints[column].see(&parsed.parsed, most, &self.opened.rules);
                blocks[number].columns[column] = parsed;
            }
        }
        Ok(())
    }
}

/// The columns of all blocks and what is to be said of them.
fn assemble(
    opened: &Opened,
    text: &str,
    joints: Vec<Joint>,
    blocks: Vec<Block>,
    small: bool,
) -> (Vec<Column>, Vec<ColumnReport>) {
    let mut reports = Vec::with_capacity(joints.len());
    for (column, joint) in joints.iter().enumerate() {
        let first = blocks.iter().find_map(|block| Some((block.start, block.columns[column].first.as_ref()?)));
        let first =
            first.map(|(start, misfit)| (line_of(text, opened.body + start + misfit.offset), misfit.value.clone()));
        let coerced = blocks.iter().map(|block| block.columns[column].coerced).sum();
        let mut report = ColumnReport::new(&opened.names[column], joint.kind());
        report.given = opened.plans[column] != Plan::Infer;
        (report.coerced, report.first_coerced, report.format) = (coerced, first, joint.format());
        reports.push(report);
    }
    let mut by_column: Vec<Vec<_>> = joints.iter().map(|_| Vec::with_capacity(blocks.len())).collect();
    for block in blocks {
        by_column.iter_mut().zip(block.columns).for_each(|(list, column)| list.push(column.parsed));
    }
    let work: Vec<Mutex<(Vec<_>, Option<Column>)>> =
        by_column.into_iter().map(|list| Mutex::new((list, None))).collect();
    let join = |column: usize| {
        let mut slot = lock(&work[column]);
        let parsed = std::mem::take(&mut slot.0);
        slot.1 = Some(joints[column].assemble(parsed, None));
    };
    // Waking a thread takes longer than joining the columns of a small table.
    if small {
        (0..work.len()).for_each(join)
    } else {
        parallel_for(work.len(), &join)
    }
    let done = work.into_iter().map(|slot| slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).1);
    let columns: Vec<Column> = done.flatten().collect();
    reports.iter_mut().zip(&columns).for_each(|(report, column)| report.missing = column.missing());
    (columns, reports)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
