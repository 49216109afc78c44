//! Typed columns from the fields of a block, each as narrow as its values allow.

use super::dictionary::Dictionary;
use super::number_format::NumberFormat;
use super::numbers;
use super::tokens::{Dialect, Form, Place, Span, Tokens, place};
use crate::table::categorical::NO_CODE;
use crate::table::date::{self, Detail};
use crate::table::values::parse_boolean;
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
    /// Numbers: whole ones where all of a block are.
    Number,
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
    /// What a column of strings holds that begins like one of numbers.
    pub mixed: Option<Mixed>,
}

/// Strings most of which are numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Mixed {
    pub plain: usize,
    /// Numbers with separators of thousands or a decimal comma, with the first few.
    pub spelled: usize,
    pub first_spelled: Vec<Misfit>,
    pub others: usize,
    /// The first few of the others, unless they are digits behind a zero, which are names.
    pub first: Vec<Misfit>,
}

/// How many values that are not numbers are listed.
pub(super) const NAMED: usize = 3;
/// How many values of a block decide whether it is looked at for numbers.
const LOOKED_AT: usize = 64;

/// Fields of one column.
pub(super) struct Fields<'a> {
    pub text: &'a str,
    pub tokens: &'a Tokens,
    pub columns: usize,
    pub column: usize,
    pub rules: &'a Rules,
    /// How numbers are written, if not plainly.
    pub format: Option<NumberFormat>,
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
        if let Some(format) = self.format {
            let plain = || numbers::float_at(place.text.as_bytes(), place.start, place.end, strict);
            // A point may stand between thousands.
            let points = format.decimal == ',';
            return format.parse(place.str()).or_else(|| if points { None } else { plain() });
        }
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
        Plan::Number => number(fields),
        Plan::Joined(kind) => parse_as(fields, kind, Mode::Joined),
        Plan::Infer => infer(fields),
    }
}

/// Whole numbers, or real ones where a value is not whole.
fn number(fields: &Fields<'_>) -> Result<ParsedColumn, Misfit> {
    match parse_as(fields, Kind::Integer, Mode::Joined) {
        Ok(parsed) if fields.format.is_none() => Ok(parsed),
        _ => parse_as(fields, Kind::Float, Mode::Given),
    }
}

/// How many of a block's strings are numbers, if a sample says that most are.
fn mixed(fields: &Fields<'_>) -> Option<Mixed> {
    let mut scratch = String::new();
    let (mut looked, mut numeric) = (0, 0);
    let is_plain = |text: &str| matches!(fields.kind_of(text), Kind::Integer | Kind::Float);
    let step = fields.tokens.found.rows.div_ceil(LOOKED_AT).max(1);
    for span in fields.spans().step_by(step) {
        let raw = fields.raw(span, &mut scratch);
        let text = raw.place.str();
        if !fields.is_missing(raw.place) {
            (looked, numeric) = (looked + 1, numeric + usize::from(is_plain(text) || NumberFormat::any(text)));
        }
    }
    if 2 * numeric < looked || numeric == 0 {
        return None;
    }
    let mut mixed = Mixed::default();
    for span in fields.spans() {
        let raw = fields.raw(span, &mut scratch);
        let text = raw.place.str();
        if fields.is_missing(raw.place) {
            continue;
        }
        if is_plain(text) {
            mixed.plain += 1;
            continue;
        }
        let misfit = || {
            let value = text.chars().take(100).collect();
            Misfit { column: fields.column, offset: span.start(), value }
        };
        if NumberFormat::any(text) {
            mixed.spelled += 1;
            if mixed.first_spelled.len() < NAMED {
                mixed.first_spelled.push(misfit());
            }
            continue;
        }
        mixed.others += 1;
        let name = text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit());
        if mixed.first.len() < NAMED && !name {
            mixed.first.push(misfit());
        }
    }
    Some(mixed)
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
        return Ok(ParsedColumn { parsed, coerced: 0, first: None, mixed: None });
    };
    loop {
        // Strings take everything, so that this ends after three rounds at most.
        match parse_as(fields, kind, Mode::Infer) {
            Err(misfit) if kind != Kind::Categorical => kind = join(kind, fields.kind_of(&misfit.value)),
            Ok(parsed) if kind == Kind::Categorical => return Ok(ParsedColumn { mixed: mixed(fields), ..parsed }),
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
        Kind::Float if fields.format.is_none() && !fields.rules.decimal_comma => {
            Parsed::Float(values(fields, &mut note, |place| {
                numbers::float_at(place.text.as_bytes(), place.start, place.end, strict)
            })?)
        }
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
    Ok(ParsedColumn { parsed, coerced: note.coerced, first: note.first, mixed: None })
}

/// When the user says that a column holds truth values, more spellings will do.
fn truth(text: &str, strict: bool) -> Option<bool> {
    if strict { numbers::boolean(text.as_bytes()) } else { parse_boolean(text) }
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
