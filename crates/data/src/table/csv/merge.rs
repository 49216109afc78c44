//! From the columns of blocks to the columns of a table: the kinds are joined, then the values.

use std::collections::HashMap;

use super::block::{Parsed, Plan, Rules, join};
use super::number_format::{NumberFormat, Spelled};
use crate::table::categorical::NO_CODE;
use crate::table::date::Detail;
use crate::table::{Categorical, Column, Dates, Kind, Text, Unit, Values};

impl Parsed {
    /// The kind found, if any value is there.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Parsed::Empty { .. } => None,
            Parsed::Boolean(_) => Some(Kind::Boolean),
            Parsed::Integer(_) => Some(Kind::Integer),
            Parsed::Float(_) => Some(Kind::Float),
            Parsed::Date(..) => Some(Kind::Date),
            Parsed::Codes(..) | Parsed::Text(_) => Some(Kind::Categorical),
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Parsed::Empty { rows, .. } => *rows,
            Parsed::Boolean(values) => values.len(),
            Parsed::Integer(values) | Parsed::Date(values, _) => values.len(),
            Parsed::Float(values) => values.len(),
            Parsed::Codes(codes, _) => codes.len(),
            Parsed::Text(text) => text.len(),
        }
    }
}

/// What is known of a column when blocks have been seen.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    plan: Plan,
    kind: Option<Kind>,
    detail: Detail,
    /// Distinct strings, as long as they are few enough.
    names: HashMap<String, u32>,
    many: bool,
    present: usize,
    longest: usize,
    spelled: Spelled,
    /// How numbers are written that the first look takes for strings; known when all blocks have been seen.
    format: Option<NumberFormat>,
    settled: bool,
}

/// Strings longer than this are prose, not categories.
const LONGEST_CATEGORY: usize = 200;
/// That many categories are few for a table of any length.
const ALWAYS_FEW: usize = 20;

/// Whether so many different strings in so many rows, the longest of so many bytes, are categories.
pub(in crate::table) fn are_categories(distinct: usize, present: usize, longest: usize) -> bool {
    distinct <= ALWAYS_FEW.max(present / 4) && longest <= LONGEST_CATEGORY
}

impl Joint {
    pub fn new(plan: Plan) -> Self {
        let kind = if let Plan::Given(kind) = plan { Some(kind) } else { None };
        Self {
            plan,
            kind,
            detail: Detail::Day,
            names: HashMap::new(),
            many: false,
            present: 0,
            longest: 0,
            spelled: Spelled::default(),
            format: None,
            settled: false,
        }
    }

    /// Decides how numbers are written, when all blocks have been seen.
    pub fn settle(&mut self, rules: &Rules) {
        if self.plan == Plan::Infer && self.kind == Some(Kind::Categorical) {
            self.format = self.spelled.format(rules);
        }
        self.settled = true;
    }

    /// Whether nobody says what the column holds.
    pub fn infers(&self) -> bool {
        self.plan == Plan::Infer
    }

    /// How numbers are written, if not plainly.
    pub fn format(&self) -> Option<NumberFormat> {
        self.format
    }

    fn see_spelling(&mut self, parsed: &Parsed, rules: &Rules) {
        match parsed {
            Parsed::Empty { .. } | Parsed::Integer(_) => {}
            Parsed::Float(_) => self.spelled.see_points(),
            Parsed::Boolean(_) | Parsed::Date(..) => self.spelled.see_others(),
            Parsed::Codes(_, dictionary) => dictionary.names().for_each(|name| self.spelled.see(name, rules)),
            Parsed::Text(text) => text.iter().flatten().for_each(|value| self.spelled.see(value, rules)),
        }
    }

    /// Takes account of a block.
    pub fn see(&mut self, parsed: &Parsed, most: usize, rules: &Rules) {
        if self.plan == Plan::Infer && !self.settled {
            self.see_spelling(parsed, rules);
        }
        if matches!(self.plan, Plan::Infer | Plan::Number)
            && let Some(found) = parsed.kind()
        {
            self.kind = Some(self.kind.map_or(found, |kind| join(kind, found)));
        }
        match parsed {
            Parsed::Date(_, detail) => self.detail = self.detail.max(*detail),
            Parsed::Text(_) => self.many = true,
            Parsed::Codes(codes, dictionary) => {
                self.present += codes.iter().filter(|&&code| code != NO_CODE).count();
                for name in dictionary.names() {
                    if self.many && self.plan == Plan::Infer {
                        break;
                    }
                    self.longest = self.longest.max(name.len());
                    let next = self.names.len() as u32;
                    if !self.names.contains_key(name) {
                        self.names.insert(name.to_owned(), next);
                    }
                    self.many |= self.names.len() > most;
                }
            }
            _ => {}
        }
    }

    /// What the whole file says.
    pub fn kind(&self) -> Kind {
        match (self.plan, self.kind) {
            (Plan::Given(kind) | Plan::Joined(kind), _) => kind,
            (Plan::Number, kind) => kind.unwrap_or(Kind::Integer),
            (Plan::Infer, _) if self.format.is_some() => Kind::Float,
            (Plan::Infer, Some(Kind::Categorical)) => {
                let few = !self.many && are_categories(self.names.len(), self.present, self.longest);
                if few { Kind::Categorical } else { Kind::Text }
            }
            // A column without a value can be anything; missing numbers serve best.
            (Plan::Infer, kind) => kind.unwrap_or(Kind::Float),
        }
    }

    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// Whether a block of a narrower kind must be read again, from its text, to be of the joint kind.
    pub fn must_reread(&self, parsed: &Parsed) -> bool {
        let strings = matches!(self.kind(), Kind::Categorical | Kind::Text);
        if self.format.is_some() {
            return matches!(parsed, Parsed::Codes(..) | Parsed::Text(_));
        }
        match parsed {
            Parsed::Empty { quoted, .. } => strings && *quoted,
            Parsed::Boolean(_) | Parsed::Integer(_) | Parsed::Float(_) | Parsed::Date(..) => strings,
            Parsed::Codes(..) | Parsed::Text(_) => false,
        }
    }

    /// The column of all blocks, which have been read again where that was needed.
    pub fn assemble(&self, blocks: Vec<Parsed>, unit: Option<Unit>) -> Column {
        let rows = blocks.iter().map(Parsed::rows).sum();
        match self.kind() {
            Kind::Boolean => Column::Boolean(concat(blocks, rows, |parsed| match parsed {
                Parsed::Boolean(values) => Some(values),
                _ => None,
            })),
            Kind::Integer => Column::Integer(concat(blocks, rows, |parsed| match parsed {
                Parsed::Integer(values) => Some(values),
                _ => None,
            })),
            Kind::Float => Column::Float(concat(blocks, rows, |parsed| match parsed {
                Parsed::Float(values) => Some(values),
                Parsed::Integer(values) => Some(values.map(|value| value as f64)),
                _ => None,
            })),
            Kind::Date => {
                let micros = concat(blocks, rows, |parsed| match parsed {
                    Parsed::Date(values, _) => Some(values),
                    _ => None,
                });
                dates(micros, unit.unwrap_or(unit_of(self.detail)))
            }
            Kind::Categorical => Column::Categorical(self.categorical(blocks, rows)),
            Kind::Text => Column::Text(texts(blocks)),
        }
    }

    fn categorical(&self, blocks: Vec<Parsed>, rows: usize) -> Categorical {
        let mut names = vec![String::new(); self.names.len()];
        self.names.iter().for_each(|(name, &code)| names[code as usize].clone_from(name));
        let mut codes = Vec::with_capacity(rows);
        for block in blocks {
            match block {
                Parsed::Codes(local, dictionary) => {
                    let global: Vec<u32> =
                        dictionary.names().map(|name| self.names.get(name).copied().unwrap_or(NO_CODE)).collect();
                    codes.extend(local.iter().map(|&code| global.get(code as usize).copied().unwrap_or(NO_CODE)));
                }
                other => codes.resize(codes.len() + other.rows(), NO_CODE),
            }
        }
        Categorical::from_unsorted(codes, names)
    }
}

pub(super) fn unit_of(detail: Detail) -> Unit {
    match detail {
        Detail::Day => Unit::Days,
        Detail::Second => Unit::Seconds,
        Detail::Fraction => Unit::Microseconds,
    }
}

fn dates(micros: Values<i64>, unit: Unit) -> Column {
    let values = match unit {
        Unit::Microseconds => micros,
        Unit::Nanoseconds => micros.map(|value| value.saturating_mul(1000)),
        unit => {
            let divisor = 86_400_000_000 / unit.per_day();
            micros.map(|value| value.div_euclid(divisor))
        }
    };
    Column::Date(Dates::new(values, unit))
}

fn concat<T: crate::table::Cell>(
    blocks: Vec<Parsed>,
    rows: usize,
    open: impl Fn(Parsed) -> Option<Values<T>>,
) -> Values<T> {
    if blocks.len() == 1 {
        // The usual small file: nothing to copy.
        return blocks.into_iter().next().and_then(open).unwrap_or_else(|| Values::blank(rows));
    }
    let mut all = Values::with_capacity(rows);
    for block in blocks {
        let rows = block.rows();
        all.append(open(block).unwrap_or_else(|| Values::blank(rows)));
    }
    all
}

fn texts(blocks: Vec<Parsed>) -> Text {
    let mut text = Text::default();
    for block in blocks {
        match block {
            Parsed::Text(more) => text.append(&more),
            Parsed::Codes(codes, dictionary) => {
                for code in codes {
                    text.push((code != NO_CODE).then(|| dictionary.name(code as usize)));
                }
            }
            other => text.append(&Text::blank(other.rows())),
        }
    }
    text
}
