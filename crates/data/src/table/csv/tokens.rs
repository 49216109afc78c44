//! Where the fields of a CSV file begin and end.
//!
//! Sixty-four bytes at a time are compared with delimiter, newline and quote, which the compiler does in vectors; a product gathers
//! the answers of eight bytes, 0 or 255, into eight bits. Between two hits nothing is looked at.

use std::cell::Cell;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub delimiter: u8,
    /// `\n`, or `\r` for files that have no other.
    pub newline: u8,
    pub trim: bool,
}

pub(super) const QUOTE: u8 = b'"';

/// How a field's text is found from its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it stands.
    Plain,
    /// It stood in quotes, which the span leaves out.
    Quoted,
    /// As `Quoted`, with doubled quotes inside.
    Doubled,
    /// Something follows the closing quote; the span has it all.
    Odd,
}

/// A field: bytes from `start`, up to an end that carries the form in its two highest bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

/// The longest block that spans can address.
pub(super) const MOST_BYTES: usize = 1 << 30;

impl Span {
    fn new(start: usize, end: usize, form: Form) -> Self {
        Self { start: start as u32, end: end as u32 | (form as u32) << 30 }
    }

    #[inline]
    pub fn start(self) -> usize {
        self.start as usize
    }

    #[inline]
    pub fn end(self) -> usize {
        (self.end & (MOST_BYTES as u32 - 1)) as usize
    }

    #[inline]
    pub fn form(self) -> Form {
        match self.end >> 30 {
            0 => Form::Plain,
            1 => Form::Quoted,
            2 => Form::Doubled,
            _ => Form::Odd,
        }
    }
}

/// A record with another number of fields than the header.
#[derive(Clone, Debug)]
pub(super) struct Ragged {
    pub offset: usize,
    pub found: usize,
    /// The record's first field too many, or its last.
    pub field: (usize, usize),
}

/// The fields of some records.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    /// Row by row, each with the same number of fields.
    pub spans: Vec<Span>,
    pub found: Found,
}

/// What was found besides the fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub rows: usize,
    /// Bytes up to the end of the last whole record.
    pub consumed: usize,
    pub ragged: Vec<Ragged>,
    pub blank: usize,
    /// Fields with something behind their closing quote.
    pub odd: usize,
    /// Where a quote opens that nothing closes, when the bytes are the file's last.
    pub open: Option<usize>,
    /// Whether a record had more fields than it may have.
    pub wide: bool,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// No record that starts at or behind this byte is begun.
    pub byte: usize,
    /// Records at most.
    pub rows: usize,
    /// Fields of a record at most; what follows a longer one is not looked at.
    pub fields: usize,
    /// Whether the bytes end where the file ends, so that the last record needs no newline.
    pub last: bool,
}

/// Spans that a thread keeps room for: those of a block in which every other byte is a field.
const MOST_KEPT: usize = 1 << 17;

thread_local! {
    /// A list of spans that was used before. Fresh ones of this size come from the system page by page, for which all threads of
    /// a process wait on one another.
    static USED: Cell<Vec<Span>> = const { Cell::new(Vec::new()) };
}

impl Tokens {
    /// Gives the spans back when the fields have been read.
    pub fn recycle(&mut self) {
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        // What one strange record took is not kept for ever.
        spans.shrink_to(MOST_KEPT);
        USED.set(spans);
    }
}

/// Cuts records of `columns` fields; with `columns == 0` the first record decides.
pub(super) fn tokenise(bytes: &[u8], columns: usize, dialect: &Dialect, until: Until) -> Tokens {
    let bytes = &bytes[..bytes.len().min(MOST_BYTES - 1)];
    let mut cutter = Cutter {
        bytes,
        columns,
        dialect: *dialect,
        until,
        tokens: Tokens { spans: USED.take(), ..Tokens::default() },
        field: 0,
        record: 0,
        first: 0,
        opened: None,
        closed: 0,
        doubled: false,
    };
    cutter.tokens.spans.reserve(bytes.len().min(until.byte) / 8);
    cutter.run();
    cutter.tokens
}

struct Cutter<'a> {
    bytes: &'a [u8],
    columns: usize,
    dialect: Dialect,
    until: Until,
    tokens: Tokens,
    /// Where the present field and the present record begin.
    field: usize,
    record: usize,
    /// Spans before the present record.
    first: usize,
    /// Where the present field's quote opened.
    opened: Option<usize>,
    /// Where it closed.
    closed: usize,
    doubled: bool,
}

impl Cutter<'_> {
    fn run(&mut self) {
        if self.until.rows == 0 || self.until.byte == 0 {
            return;
        }
        let needles = [self.dialect.delimiter, self.dialect.newline, QUOTE];
        let (mut inside, mut skip) = (false, usize::MAX);
        let mut base = 0;
        while base < self.bytes.len() {
            let mut hits = hits(self.bytes, base, needles);
            while hits != 0 {
                let at = base + hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let byte = self.bytes[at];
                if inside {
                    if byte != QUOTE || at == skip {
                        continue;
                    }
                    if self.bytes.get(at + 1) == Some(&QUOTE) {
                        (skip, self.doubled) = (at + 1, true);
                    } else {
                        (inside, self.closed) = (false, at);
                    }
                } else if byte == self.dialect.delimiter {
                    self.end_field(at);
                    if self.tokens.spans.len() - self.first >= self.until.fields {
                        self.tokens.found.wide = true;
                        return;
                    }
                } else if byte == self.dialect.newline {
                    if self.end_record(at) {
                        return;
                    }
                } else if self.opened.is_none() && self.begins_with_quote(at) {
                    (inside, self.opened) = (true, Some(at));
                }
            }
            base += 64;
        }
        if self.until.last && (self.record < self.bytes.len()) {
            if inside {
                self.tokens.found.open = self.opened;
                return;
            }
            self.end_record(self.bytes.len());
        }
    }

    fn begins_with_quote(&self, at: usize) -> bool {
        at == self.field || self.dialect.trim && self.bytes[self.field..at].iter().all(|&byte| byte == b' ')
    }

    #[inline]
    fn end_field(&mut self, end: usize) {
        let span = match self.opened {
            None => Span::new(self.field, end, Form::Plain),
            Some(opened) => self.quoted(opened, end),
        };
        self.tokens.spans.push(span);
        self.field = end + 1;
    }

    #[cold]
    fn quoted(&mut self, opened: usize, end: usize) -> Span {
        let clean = self.bytes[self.closed + 1..end].iter().all(|&byte| byte == b' ' && self.dialect.trim);
        let form = if self.doubled { Form::Doubled } else { Form::Quoted };
        (self.opened, self.doubled) = (None, false);
        if clean {
            return Span::new(opened + 1, self.closed, form);
        }
        self.tokens.found.odd += 1;
        Span::new(opened, end, Form::Odd)
    }

    /// Ends the record at a newline or at the end of the file; whether to stop.
    #[inline]
    fn end_record(&mut self, at: usize) -> bool {
        let carriage = at > self.field && self.dialect.newline == b'\n' && self.bytes[at - 1] == b'\r';
        self.end_field(at - usize::from(carriage));
        self.field = at + 1;
        let found = self.tokens.spans.len() - self.first;
        if self.columns == 0 {
            self.columns = found;
        }
        if found != self.columns {
            self.other_width(found);
        } else if found == 1 && self.columns == 1 && at == self.bytes.len() && self.record == at {
            // An empty line at the very end is no row.
            self.tokens.spans.truncate(self.first);
        } else {
            self.tokens.found.rows += 1;
        }
        self.first = self.tokens.spans.len();
        self.record = self.field;
        self.tokens.found.consumed = self.field.min(self.bytes.len());
        self.record >= self.until.byte || self.tokens.found.rows >= self.until.rows
    }

    #[cold]
    fn other_width(&mut self, found: usize) {
        let spans = &self.tokens.spans[self.first..];
        let blank = found == 1 && spans[0].form() == Form::Plain && spans[0].start() == spans[0].end();
        if blank {
            self.tokens.found.blank += 1;
        } else {
            let shown = spans[self.columns.min(found - 1)];
            let field = (shown.start(), shown.end());
            self.tokens.found.ragged.push(Ragged { offset: self.record, found, field });
        }
        self.tokens.spans.truncate(self.first);
    }
}

/// A bit for each of 64 bytes from `base` that is one of the needles.
#[inline]
fn hits(bytes: &[u8], base: usize, needles: [u8; 3]) -> u64 {
    if let Some(block) = bytes.get(base..).and_then(|rest| rest.first_chunk()) {
        return hits_of(block, needles);
    }
    let rest = &bytes[base..];
    let mut block = [0u8; 64];
    block[..rest.len()].copy_from_slice(rest);
    hits_of(&block, needles) & ((1u64 << rest.len()) - 1)
}

#[inline(always)]
fn hits_of(block: &[u8; 64], needles: [u8; 3]) -> u64 {
    let mut same = [0u8; 64];
    for (same, &byte) in same.iter_mut().zip(block) {
        let hit = (byte == needles[0]) | (byte == needles[1]) | (byte == needles[2]);
        *same = if hit { 255 } else { 0 };
    }
    let mut hits = 0;
    for (number, &word) in same.as_chunks::<8>().0.iter().enumerate() {
        // One bit of each byte, a different one, and all of them summed in the highest byte.
        let bits = u64::from_le_bytes(word) & 0x8040_2010_0804_0201;
        hits |= (bits.wrapping_mul(0x0101_0101_0101_0101) >> 56) << (8 * number);
    }
    hits
}

/// A field in the text that holds it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The text of the block, or of the field alone when quotes had to go.
    pub text: &'a str,
    pub start: usize,
    pub end: usize,
}

impl<'a> Place<'a> {
    #[inline]
    pub fn str(self) -> &'a str {
        // Spans end at ASCII bytes, so that they never cut a character.
        self.text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Where a field's text is; `scratch` holds it when quotes must go.
#[inline]
pub(super) fn place<'a>(text: &'a str, span: Span, dialect: &Dialect, scratch: &'a mut String) -> Place<'a> {
    let (start, end) = (span.start(), span.end());
    match span.form() {
        Form::Plain if dialect.trim => trimmed(text, start, end),
        Form::Plain | Form::Quoted => Place { text, start, end },
        form => {
            without_quotes(text.get(start..end).unwrap_or_default(), form, scratch);
            Place { text: scratch, start: 0, end: scratch.len() }
        }
    }
}

#[inline]
fn trimmed(text: &str, mut start: usize, mut end: usize) -> Place<'_> {
    let bytes = text.as_bytes();
    let spare = |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b' ' || byte == b'\t');
    while start < end && spare(bytes.get(start)) {
        start += 1;
    }
    while start < end && spare(bytes.get(end - 1)) {
        end -= 1;
    }
    Place { text, start, end }
}

#[cold]
fn without_quotes(raw: &str, form: Form, scratch: &mut String) {
    scratch.clear();
    let (mut quoted, mut rest) = (form == Form::Doubled, raw);
    while let Some(at) = rest.find('"') {
        scratch.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if !quoted && scratch.is_empty() {
            quoted = true;
        } else if quoted && rest.starts_with('"') {
            scratch.push('"');
            rest = &rest[1..];
        } else if quoted && form == Form::Odd {
            // Whatever follows the closing quote stands as it is.
            break;
        } else {
            scratch.push('"');
        }
    }
    scratch.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMA: Dialect = Dialect { delimiter: b',', newline: b'\n', trim: true };
    const ALL: Until = Until { byte: usize::MAX, rows: usize::MAX, fields: usize::MAX, last: true };

    fn cut(text: &str) -> Vec<String> {
        let tokens = tokenise(text.as_bytes(), 0, &COMMA, ALL);
        assert!(tokens.found.ragged.is_empty() && tokens.found.open.is_none());
        tokens.spans.iter().map(|&span| place(text, span, &COMMA, &mut String::new()).str().to_owned()).collect()
    }

    #[test]
    fn fields_are_cut() {
        assert_eq!(cut("a,b\r\n1, 2 \n"), ["a", "b", "1", "2"]);
        assert_eq!(cut("\"a,\nb\",\"say \"\"hi\"\"\"\n, \"x\" "), ["a,\nb", "say \"hi\"", "", "x"]);
        assert_eq!(cut("5\" pipe,\"ab\"cd"), ["5\" pipe", "abcd"]);
        assert_eq!(cut("\"\"\"\",\"\"\n"), ["\"", ""]);
        assert_eq!(cut(&format!("{},é\nz,w", "long".repeat(50)))[1..], ["é", "z", "w"]);
    }

    #[test]
    fn the_mask_is_the_plain_comparison() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).map(|i: u8| i.wrapping_mul(37)).collect();
        let needles = [b',', b'\n', b'"'];
        for base in [0, 3, 64, 940, 999] {
            let mask = hits(&bytes, base, needles);
            for i in 0..64 {
                let expected = bytes.get(base + i).is_some_and(|byte| needles.contains(byte));
                assert_eq!(mask >> i & 1 == 1, expected, "byte {}", base + i);
            }
        }
    }

    #[test]
    fn incomplete_records_are_left_and_odd_ones_told() {
        let part = Until { last: false, ..ALL };
        let tokens = tokenise(b"1,2\n3,\"4\n", 2, &COMMA, part);
        assert_eq!((tokens.found.rows, tokens.found.consumed), (1, 4));
        let whole = tokenise(b"1,2\n3,\"4\n", 2, &COMMA, ALL);
        assert_eq!(whole.found.open, Some(6));
        let ragged = tokenise(b"1,2\n3\n\n4,5,6\n", 2, &COMMA, ALL);
        assert_eq!((ragged.found.rows, ragged.found.ragged.len(), ragged.found.blank), (1, 2, 1));
        assert_eq!(
            tokenise(b"1\n\n2\n", 1, &COMMA, ALL).found.rows,
            3,
            "in a single column an empty line is a missing value"
        );
    }
}
