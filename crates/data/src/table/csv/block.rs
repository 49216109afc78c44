//! Typed columns from the fields of a block, each as narrow as its values allow.

use super::dictionary::Dictionary;
use super::numbers;
use super::tokens::{Dialect, Form, Place, Span, Tokens, place};
use crate::table::categorical::NO_CODE;
use crate::table::date::{self, Detail};
use crate::table::{Kind, Text, Values};

/// How fields become values.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub dialect: Dialect,
    pub missing: Vec<String>,
    /// The lengths of missing tokens that begin with a byte, as bits; the last bit is for 63 and more.
    pub missing_lengths: Vec<u64>,
    pub quoted_missing: bool,
    pub decimal_comma: bool,
    /// Values that do not fit a given kind become missing and are counted, instead of being errors.
    pub coerce: bool,
    pub max_categories: usize,
}

/// What a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// As narrow as possible.
    Infer,
    /// As the user says.
    Given(Kind),
    /// As all blocks together say: anything found in the file fits.
    Joined(Kind),
}

/// A column of one block.
#[derive(Clone, Debug)]
pub(super) enum Parsed {
    /// Nothing but missing values; whether some stood in quotes, and so would be strings in a column of strings.
    Empty {
        rows: usize,
        quoted: bool,
    },
    Boolean(Values<bool>),
    Integer(Values<i64>),
    Float(Values<f64>),
    /// Microseconds.
    Date(Values<i64>, Detail),
    Codes(Vec<u32>, Dictionary),
    Text(Text),
}

/// A value that its column's given kind does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    pub column: usize,
    pub offset: usize,
    pub value: String,
}

/// One column of a block with what was coerced on the way.
#[derive(Clone, Debug)]
pub(super) struct ParsedColumn {
    pub parsed: Parsed,
    pub coerced: usize,
    pub first: Option<Misfit>,
}

/// Fields of one column.
pub(super) struct Fields<'a> {
    pub text: &'a str,
    pub tokens: &'a Tokens,
    pub columns: usize,
    pub column: usize,
    pub rules: &'a Rules,
}

/// A field's place and whether it stood in quotes.
struct Raw<'t> {
    place: Place<'t>,
    quoted: bool,
}

impl Fields<'_> {
    fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.tokens.spans.iter().skip(self.column).step_by(self.columns).copied()
    }

    #[inline]
    fn raw<'t>(&'t self, span: Span, scratch: &'t mut String) -> Raw<'t> {
        Raw { place: place(self.text, span, &self.rules.dialect, scratch), quoted: span.form() != Form::Plain }
    }

    #[inline]
    fn is_missing(&self, place: Place<'_>) -> bool {
        let length = place.end - place.start;
        if length == 0 {
            return true;
        }
        let first = place.text.as_bytes()[place.start];
        self.rules.missing_lengths[first as usize] >> length.min(63) & 1 == 1 && self.is_token(place.str())
    }

    #[cold]
    fn is_token(&self, text: &str) -> bool {
        self.rules.missing.iter().any(|token| token == text)
    }

    /// Missing in a column of strings, where quotes mean that the text is meant as it stands.
    #[inline]
    fn is_missing_string(&self, raw: &Raw<'_>) -> bool {
        (!raw.quoted || self.rules.quoted_missing) && self.is_missing(raw.place)
    }

    #[inline]
    fn float(&self, place: Place<'_>, strict: bool) -> Option<f64> {
        if !self.rules.decimal_comma {
            return numbers::float_at(place.text.as_bytes(), place.start, place.end, strict);
        }
        let text = place.str();
        if text.contains('.') || text.len() > 400 {
            return None;
        }
        numbers::float(text.replace(',', ".").as_bytes(), strict)
    }

    fn kind_of(&self, text: &str) -> Kind {
        let bytes = text.as_bytes();
        if numbers::integer(bytes, true).is_some() {
            Kind::Integer
        } else if self.float(Place { text, start: 0, end: text.len() }, true).is_some() {
            Kind::Float
        } else if date::parse(bytes).is_some() {
            Kind::Date
        } else if numbers::boolean(bytes).is_some() {
            Kind::Boolean
        } else {
            Kind::Categorical
        }
    }
}

/// The narrowest kind that holds both; strings hold everything.
pub(super) fn join(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        _ if a == b => a,
        (Kind::Integer | Kind::Float, Kind::Integer | Kind::Float) => Kind::Float,
        _ => Kind::Categorical,
    }
}

/// Reads one column of a block.
pub(super) fn parse(fields: &Fields<'_>, plan: Plan) -> Result<ParsedColumn, Misfit> {
    match plan {
        Plan::Given(kind) => parse_as(fields, kind, Mode::Given),
        Plan::Joined(kind) => parse_as(fields, kind, Mode::Joined),
        Plan::Infer => infer(fields),
    }
}

fn infer(fields: &Fields<'_>) -> Result<ParsedColumn, Misfit> {
    let (mut scratch, mut quoted) = (String::new(), false);
    let mut first = None;
    for span in fields.spans() {
        let raw = fields.raw(span, &mut scratch);
        if !fields.is_missing(raw.place) {
            first = Some(fields.kind_of(raw.place.str()));
            break;
        }
        quoted |= raw.quoted;
    }
    let Some(mut kind) = first else {
        let parsed = Parsed::Empty { rows: fields.tokens.found.rows, quoted };
        return Ok(ParsedColumn { parsed, coerced: 0, first: None });
    };
    loop {
        // Strings take everything, so that this ends after three rounds at most.
        match parse_as(fields, kind, Mode::Infer) {
            Err(misfit) if kind != Kind::Categorical => kind = join(kind, fields.kind_of(&misfit.value)),
            result => return result,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Infer,
    Given,
    Joined,
}

fn parse_as(fields: &Fields<'_>, kind: Kind, mode: Mode) -> Result<ParsedColumn, Misfit> {
    let strict = mode == Mode::Infer;
    let mut detail = Detail::Day;
    let mut note = Note { coerce: fields.rules.coerce && mode == Mode::Given, coerced: 0, first: None };
    let parsed = match kind {
        Kind::Integer => Parsed::Integer(values(fields, &mut note, |place| {
            numbers::integer_at(place.text.as_bytes(), place.start, place.end, strict)
        })?),
        Kind::Float => Parsed::Float(values(fields, &mut note, |place| fields.float(place, strict))?),
        Kind::Boolean => Parsed::Boolean(values(fields, &mut note, |place| truth(place.str(), strict))?),
        Kind::Date => {
            let instants = values(fields, &mut note, |place| {
                let (micros, written) = date::parse(place.str().as_bytes())?;
                detail = detail.max(written);
                Some(micros)
            })?;
            Parsed::Date(instants, detail)
        }
        Kind::Categorical => codes(fields, if mode == Mode::Given { usize::MAX } else { fields.rules.max_categories }),
        Kind::Text => Parsed::Text(text(fields)),
    };
    Ok(ParsedColumn { parsed, coerced: note.coerced, first: note.first })
}

/// When the user says that a column holds truth values, more spellings will do.
fn truth(text: &str, strict: bool) -> Option<bool> {
    let known = numbers::boolean(text.as_bytes());
    if strict || known.is_some() {
        return known;
    }
    match text.to_ascii_lowercase().as_str() {
        "1" | "yes" | "y" | "t" | "true" => Some(true),
        "0" | "no" | "n" | "f" | "false" => Some(false),
        _ => None,
    }
}

struct Note {
    coerce: bool,
    coerced: usize,
    first: Option<Misfit>,
}

#[inline]
fn values<T: crate::table::Cell>(
    fields: &Fields<'_>,
    note: &mut Note,
    mut read: impl FnMut(Place<'_>) -> Option<T>,
) -> Result<Values<T>, Misfit> {
    let mut values = Values::with_capacity(fields.tokens.found.rows);
    let mut scratch = String::new();
    for span in fields.spans() {
        let raw = fields.raw(span, &mut scratch);
        let value = read(raw.place);
        if value.is_none() && !fields.is_missing(raw.place) {
            let misfit = Misfit { column: fields.column, offset: span.start(), value: raw.place.str().to_owned() };
            if !note.coerce {
                return Err(misfit);
            }
            note.coerced += 1;
            note.first.get_or_insert(misfit);
        }
        values.push(value);
    }
    Ok(values)
}

/// Codes of strings, or the strings themselves if there are too many different ones.
fn codes(fields: &Fields<'_>, most: usize) -> Parsed {
    let mut dictionary = Dictionary::new();
    let mut codes = Vec::with_capacity(fields.tokens.found.rows);
    let mut scratch = String::new();
    for span in fields.spans() {
        let raw = fields.raw(span, &mut scratch);
        let at = raw.place;
        codes.push(if fields.is_missing_string(&raw) {
            NO_CODE
        } else {
            dictionary.code_at(at.text, at.start, at.end)
        });
        if dictionary.len() > most {
            return Parsed::Text(text(fields));
        }
    }
    Parsed::Codes(codes, dictionary)
}

fn text(fields: &Fields<'_>) -> Text {
    let (mut text, mut scratch) = (Text::default(), String::new());
    for span in fields.spans() {
        let raw = fields.raw(span, &mut scratch);
        text.push((!fields.is_missing_string(&raw)).then_some(raw.place.str()));
    }
    text
}
