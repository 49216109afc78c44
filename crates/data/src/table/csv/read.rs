//! A whole file at once, block by block on all threads.

use std::sync::Mutex;

use tove_tensor::pool::parallel_for;

use super::block::{Fields, Misfit, ParsedColumn, Plan, Rules, parse};
use super::merge::Joint;
use super::report::{ColumnReport, ReadReport};
use super::tokens::{QUOTE, Tokens, Until, field, tokenise};
use super::{CsvOptions, Ragged, input};
use crate::table::{Column, Kind, Table, no_column, repeated};
use crate::{DataError, Result};

/// Bytes of a block; fixed, so that nothing depends on the number of threads.
const BLOCK: usize = 1 << 19;
/// Bytes of a table whose columns are joined on one thread.
const SMALL: usize = 1 << 17;
/// How many lines of dropped rows the report names.
const LINES: usize = 10;

/// A file whose header has been read.
pub(super) struct Opened {
    pub file: String,
    pub rules: Rules,
    pub names: Vec<String>,
    pub plans: Vec<Plan>,
    pub unnamed: usize,
    /// Where the rows begin.
    pub body: usize,
}

pub(super) fn open(options: &CsvOptions, file: &str, text: &str, last: bool) -> Result<Opened> {
    let refuse = |problem: String| Err(DataError::TableFile { file: file.to_owned(), problem });
    let bytes = text.as_bytes();
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return refuse("is empty; a table needs a header and rows".to_owned());
    }
    let rules = options.rules(file, bytes)?;
    let mut start = 0;
    // Empty lines before the header are passed over.
    let first = loop {
        let one = tokenise(&bytes[start..], 0, &rules.dialect, Until { byte: 1, rows: 1, last });
        if let Some(offset) = one.open {
            return Err(open_quote(file, line_of(text, start + offset)));
        }
        let blank = one.spans.iter().all(|span| span.start() == span.end());
        if !blank || one.consumed == 0 || one.spans.len() > 1 {
            break one;
        }
        start += one.consumed;
    };
    let head = &text[start..];
    let mut scratch = String::new();
    let found: Vec<String> =
        first.spans.iter().map(|&span| field(head, span, &rules.dialect, &mut scratch).trim().to_owned()).collect();
    if found.is_empty() {
        return refuse("has a first record without an end; look at its quotes".to_owned());
    }
    let unnamed = if options.header { found.iter().filter(|name| name.is_empty()).count() } else { 0 };
    let named = |(number, name): (usize, String)| match options.header && !name.is_empty() {
        true => name,
        false => format!("column_{}", number + 1),
    };
    let names: Vec<String> = found.into_iter().enumerate().map(named).collect();
    let twice = repeated(&names);
    if !twice.is_empty() {
        let list: Vec<String> = twice.iter().map(|name| format!("{name:?}")).collect();
        let advice = "rename all but one, or say that there is no header";
        return refuse(format!("the header names {} more than once; {advice}", list.join(", ")));
    }
    let plans = plans(options, &names)?;
    let body = if options.header { start + first.consumed } else { start };
    Ok(Opened { file: file.to_owned(), rules, names, plans, unnamed, body })
}

fn plans(options: &CsvOptions, names: &[String]) -> Result<Vec<Plan>> {
    if let Some((name, _)) = options.kinds.iter().find(|(name, _)| !names.contains(name)) {
        return Err(no_column(name, names));
    }
    let given = |name: &String| {
        let mut chosen = options.kinds.iter().rev().chain(&options.expected);
        let kind = chosen.find(|(known, _)| known == name).map(|&(_, kind)| kind).or(options.rest);
        kind.map_or(Plan::Infer, Plan::Given)
    };
    Ok(names.iter().map(given).collect())
}

pub(super) fn whole(options: &CsvOptions, file: &str, bytes: &[u8]) -> Result<(Table, ReadReport)> {
    let (text, encoding) = input::decode(file, bytes, options.charset)?;
    let text = text.as_ref();
    let opened = open(options, file, text, true)?;
    let body = &text[opened.body..];
    let reader = Reader { whole: text, text: body, opened: &opened, plans: &opened.plans };
    let mut blocks = reader.blocks()?;
    let mut report = ReadReport {
        file: file.to_owned(),
        bytes: bytes.len() as u64,
        delimiter: char::from(opened.rules.dialect.delimiter).to_string(),
        encoding: encoding.to_owned(),
        unnamed_columns: opened.unnamed,
        ..ReadReport::default()
    };
    for block in &blocks {
        note(&mut report, options.ragged, &opened, (text, opened.body + block.start, 0), &block.tokens)?;
    }
    let mut joints: Vec<Joint> = opened.plans.iter().map(|&plan| Joint::new(plan)).collect();
    reader.join(&mut blocks, &mut joints);
    let (columns, reports) = assemble(&opened, text, joints, blocks);
    report.columns = reports;
    let table = Table::new(opened.names.into_iter().zip(columns))?;
    report.rows = table.n_rows();
    Ok((table, report))
}

/// Adds what cutting a block into fields found; ragged rows and open quotes may be errors. The block lies in `text` from
/// `start`, and `lines` lines come before the text.
pub(super) fn note(
    report: &mut ReadReport,
    ragged_rows: Ragged,
    opened: &Opened,
    (text, start, lines): (&str, usize, u64),
    tokens: &Tokens,
) -> Result<()> {
    report.blank_lines += tokens.blank;
    report.odd_quotes += tokens.odd;
    for ragged in &tokens.ragged {
        let line = lines + line_of(text, start + ragged.offset);
        if ragged_rows == Ragged::Error {
            let (from, to) = ragged.field;
            let value = text.get(start + from..start + to).unwrap_or_default();
            let which = if ragged.found > opened.names.len() { "the first too many is" } else { "the last is" };
            let problem = format!(
                "{} fields where the header has {}; {which} {}; mend the row, or let ragged rows be dropped",
                ragged.found,
                opened.names.len(),
                crate::error::shown(value)
            );
            return Err(DataError::Row { file: opened.file.clone(), line, problem });
        }
        report.dropped_rows += 1;
        if report.dropped_lines.len() < LINES {
            report.dropped_lines.push(line);
        }
    }
    match tokens.open {
        Some(offset) => Err(open_quote(&opened.file, lines + line_of(text, start + offset))),
        None => Ok(()),
    }
}

#[cold]
fn open_quote(file: &str, line: u64) -> DataError {
    let problem = "the quote that opens here is never closed; close it, or double it if it is meant as it stands";
    DataError::Row { file: file.to_owned(), line, problem: problem.to_owned() }
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
        Plan::Infer => "value of its column",
    };
    let problem = format!("is no {kind}; mend the value, let such values become missing, or read the column as text");
    let (file, column) = (opened.file.clone(), opened.names[misfit.column].clone());
    DataError::Value { file, line, column, value: misfit.value.clone(), problem }
}

struct Block {
    /// Where it begins in the body.
    start: usize,
    tokens: Tokens,
    columns: Vec<ParsedColumn>,
}

/// A block, or its first misfit with where the block begins.
type Made = Result<Block, (usize, Misfit)>;

struct Reader<'a> {
    /// The file, and its part behind the header.
    whole: &'a str,
    text: &'a str,
    opened: &'a Opened,
    plans: &'a [Plan],
}

impl Reader<'_> {
    /// All blocks of the body, each parsed as far as it can be on its own.
    fn blocks(&self) -> Result<Vec<Block>> {
        let count = self.text.len().div_ceil(BLOCK);
        let starts = self.starts(count);
        let slots: Vec<Mutex<Option<Made>>> = (0..count).map(|_| Mutex::new(None)).collect();
        parallel_for(count, &|number| {
            let block = self.block(starts[number], (number + 1) * BLOCK);
            *lock(&slots[number]) = Some(block);
        });
        let mut blocks: Vec<Block> = Vec::with_capacity(count);
        let mut at = 0;
        for (number, slot) in slots.into_iter().enumerate() {
            let made = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            let made = match made {
                // The block began where the one before ended: its guess about the quotes was right.
                Some(block) if starts[number] == at => block,
                _ => self.block(at, (number + 1) * BLOCK),
            };
            let block = made.map_err(|(start, found)| {
                misfit(self.opened, line_of(self.whole, self.opened.body + start + found.offset), &found)
            })?;
            at = block.start + block.tokens.consumed;
            let stop = block.tokens.open.is_some();
            blocks.push(block);
            if stop {
                break;
            }
        }
        Ok(blocks)
    }

    /// Where the first record of each block begins, if quotes are only used to quote.
    fn starts(&self, count: usize) -> Vec<usize> {
        let bytes = self.text.as_bytes();
        let newline = self.opened.rules.dialect.newline;
        let quotes: Vec<Mutex<usize>> = (0..count).map(|_| Mutex::new(0)).collect();
        parallel_for(count, &|number| {
            let block = &bytes[number * BLOCK..bytes.len().min((number + 1) * BLOCK)];
            *lock(&quotes[number]) = memchr::memchr_iter(QUOTE, block).count();
        });
        let mut inside = false;
        let mut starts = Vec::with_capacity(count);
        for (number, quotes) in quotes.iter().enumerate() {
            let nominal = number * BLOCK;
            starts.push(if number == 0 { 0 } else { record_start(bytes, nominal, inside, newline) });
            inside ^= *lock(quotes) % 2 == 1;
        }
        starts
    }

    fn tokens(&self, start: usize, end: usize) -> Tokens {
        let until = Until { byte: end.saturating_sub(start), rows: usize::MAX, last: true };
        tokenise(&self.text.as_bytes()[start..], self.opened.names.len(), &self.opened.rules.dialect, until)
    }

    fn block(&self, start: usize, end: usize) -> Made {
        let tokens = self.tokens(start, end);
        let column = |(column, &plan): (usize, &Plan)| parse(&self.fields(start, &tokens, column), plan);
        let parsed: Vec<_> = self.plans.iter().enumerate().map(column).collect();
        let first = parsed.iter().filter_map(|result| result.as_ref().err()).min_by_key(|misfit| misfit.offset);
        if let Some(first) = first {
            return Err((start, first.clone()));
        }
        let columns = parsed.into_iter().flatten().collect();
        // The spans are as large as the file; only what they showed is kept.
        let tokens = Tokens { spans: Vec::new(), ..tokens };
        Ok(Block { start, tokens, columns })
    }

    fn fields<'b>(&'b self, start: usize, tokens: &'b Tokens, column: usize) -> Fields<'b> {
        let rules = &self.opened.rules;
        Fields { text: &self.text[start..], tokens, columns: self.opened.names.len(), column, rules }
    }

    /// Finds the kinds of the columns, and reads again what was taken too narrowly.
    fn join(&self, blocks: &mut [Block], joints: &mut [Joint]) {
        let most = self.opened.rules.max_categories;
        for (column, joint) in joints.iter_mut().enumerate() {
            blocks.iter().for_each(|block| joint.see(&block.columns[column].parsed, most));
        }
        let again: Vec<(usize, Vec<usize>)> = blocks
            .iter()
            .enumerate()
            .map(|(number, block)| {
                let narrow = |&column: &usize| joints[column].must_reread(&block.columns[column].parsed);
                (number, (0..joints.len()).filter(narrow).collect::<Vec<_>>())
            })
            .filter(|(_, columns)| !columns.is_empty())
            .collect();
        let slots: Vec<Mutex<Vec<ParsedColumn>>> = again.iter().map(|_| Mutex::default()).collect();
        parallel_for(again.len(), &|task| {
            let (number, columns) = &again[task];
            let block = &blocks[*number];
            let tokens = self.tokens(block.start, (number + 1) * BLOCK);
            let strings = Plan::Joined(Kind::Categorical);
            let read = columns.iter().map(|&column| parse(&self.fields(block.start, &tokens, column), strings));
            *lock(&slots[task]) = read.flatten().collect();
        });
        for ((number, columns), slot) in again.into_iter().zip(slots) {
            let read = slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            for (column, parsed) in columns.into_iter().zip(read) {
                joints[column].see(&parsed.parsed, most);
                blocks[number].columns[column] = parsed;
            }
        }
    }
}

/// The first record at or behind `nominal`, which lies inside quotes or not.
fn record_start(bytes: &[u8], nominal: usize, mut inside: bool, newline: u8) -> usize {
    if !inside && bytes[nominal - 1] == newline {
        return nominal;
    }
    for at in memchr::memchr2_iter(newline, QUOTE, &bytes[nominal..]) {
        if bytes[nominal + at] == QUOTE {
            inside = !inside;
        } else if !inside {
            return nominal + at + 1;
        }
    }
    bytes.len()
}

/// The columns of all blocks and what is to be said of them.
fn assemble(opened: &Opened, text: &str, joints: Vec<Joint>, blocks: Vec<Block>) -> (Vec<Column>, Vec<ColumnReport>) {
    let mut reports = Vec::with_capacity(joints.len());
    for (column, joint) in joints.iter().enumerate() {
        let first = blocks.iter().find_map(|block| Some((block.start, block.columns[column].first.as_ref()?)));
        let first =
            first.map(|(start, misfit)| (line_of(text, opened.body + start + misfit.offset), misfit.value.clone()));
        let coerced = blocks.iter().map(|block| block.columns[column].coerced).sum();
        let (name, given) = (opened.names[column].clone(), opened.plans[column] != Plan::Infer);
        reports.push(ColumnReport { name, kind: joint.kind(), given, missing: 0, coerced, first_coerced: first });
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
    if text.len() < SMALL {
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
