//! Why a column of numbers was not read as numeric.

use super::block::{Misfit, Mixed, NAMED, Parsed, ParsedColumn};
use super::merge::Joint;
use super::report::NotNumbers;
use crate::table::Kind;

/// Counts over the blocks of a column.
pub(super) struct NotNumeric {
    /// Whether the column is read as strings by what it holds.
    strings: bool,
    plain: usize,
    spelled: usize,
    others: usize,
    first_spelled: Vec<(u64, String)>,
    first: Vec<(u64, String)>,
}

impl NotNumeric {
    pub fn of(joint: &Joint) -> Self {
        let strings = joint.infers() && matches!(joint.kind(), Kind::Categorical | Kind::Text);
        Self { strings, plain: 0, spelled: 0, others: 0, first_spelled: Vec::new(), first: Vec::new() }
    }

    /// Counts that are kept although nobody knows yet what the column will be.
    pub fn unknown() -> Self {
        Self { strings: true, plain: 0, spelled: 0, others: 0, first_spelled: Vec::new(), first: Vec::new() }
    }

    /// Takes account of a block; `line` gives the line of a byte of it.
    pub fn see(&mut self, column: &ParsedColumn, line: impl Fn(usize) -> u64) {
        if !self.strings {
            return;
        }
        let add = |list: &mut Vec<(u64, String)>, more: &[Misfit]| {
            let left = NAMED.saturating_sub(list.len());
            list.extend(more.iter().take(left).map(|misfit| (line(misfit.offset), misfit.value.clone())));
        };
        match (&column.parsed, &column.mixed) {
            (Parsed::Empty { .. }, _) => {}
            (Parsed::Integer(values), _) => self.plain += values.len() - values.missing(),
            (Parsed::Float(values), _) => self.plain += values.len() - values.missing(),
            (_, Some(Mixed { plain, spelled, first_spelled, others, first })) => {
                self.plain += plain;
                self.spelled += spelled;
                self.others += others;
                add(&mut self.first_spelled, first_spelled);
                add(&mut self.first, first);
            }
            (other, None) => self.others += other.rows(),
        }
    }

    /// The values, if they are few enough to be mistakes: at most one of five.
    pub fn told(mut self) -> Option<NotNumbers> {
        let few = |others: usize, numbers: usize| others > 0 && 4 * others <= numbers;
        if !self.strings {
            return None;
        }
        if few(self.others + self.spelled, self.plain) {
            self.first.append(&mut self.first_spelled);
            self.first.sort();
            self.first.truncate(NAMED);
            let (numbers, others, first) = (self.plain, self.others + self.spelled, self.first);
            return (!first.is_empty()).then_some(NotNumbers { numbers, others, first });
        }
        let (numbers, others, first) = (self.plain + self.spelled, self.others, self.first);
        (few(others, numbers) && !first.is_empty()).then_some(NotNumbers { numbers, others, first })
    }
}
