//! One of a few strings per row: codes into a dictionary.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// The code of a missing value.
pub(crate) const NO_CODE: u32 = u32::MAX;

/// Strings of which there are few different ones: each row holds the number of its category.
///
/// Categories are distinct and sorted: as numbers when all of them are numbers, by their characters otherwise. So the
/// codes depend on which values occur, never on their order in the file.
///
/// ```
/// use tove_data::table::Categorical;
/// let ports: Categorical = [Some("S"), Some("C"), None, Some("S")].into_iter().collect();
/// assert_eq!(ports.categories(), ["C", "S"]);
/// assert_eq!((ports.code(0), ports.get(1), ports.get(2)), (Some(1), Some("C"), None));
/// let sizes: Categorical = ["10", "9"].into_iter().map(Some).collect();
/// assert_eq!(sizes.categories(), ["9", "10"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Categorical {
    codes: Vec<u32>,
    categories: Arc<Vec<String>>,
}

impl PartialEq for Categorical {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<S: AsRef<str>> FromIterator<Option<S>> for Categorical {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(values: I) -> Self {
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut codes = Vec::new();
        for value in values {
            codes.push(value.map_or(NO_CODE, |value| {
                let (value, next) = (value.as_ref(), seen.len() as u32);
                match seen.get(value) {
                    Some(&code) => code,
                    None => *seen.entry(value.to_owned()).or_insert(next),
                }
            }));
        }
        let mut names = vec![String::new(); seen.len()];
        seen.into_iter().for_each(|(name, code)| names[code as usize] = name);
        Self::from_unsorted(codes, names)
    }
}

impl Categorical {
    /// Codes into a dictionary in any order; sorts the dictionary. Names must be distinct.
    pub(crate) fn from_unsorted(mut codes: Vec<u32>, names: Vec<String>) -> Self {
        let order = sorted_order(&names);
        let mut new_code = vec![0u32; names.len()];
        order.iter().enumerate().for_each(|(new, &old)| new_code[old] = new as u32);
        for code in &mut codes {
            *code = new_code.get(*code as usize).copied().unwrap_or(NO_CODE);
        }
        let mut names: Vec<Option<String>> = names.into_iter().map(Some).collect();
        let categories = order.iter().filter_map(|&old| names[old].take()).collect();
        Self { codes, categories: Arc::new(categories) }
    }

    /// `count` missing values and no category.
    pub fn blank(count: usize) -> Self {
        Self { codes: vec![NO_CODE; count], categories: Arc::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The categories, in the order of their codes. After [`Table::take`](super::Table::take) some may be unused.
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The categories, shared.
    pub(crate) fn dictionary(&self) -> &Arc<Vec<String>> {
        &self.categories
    }

    /// The code of a row.
    #[inline]
    pub fn code(&self, row: usize) -> Option<u32> {
        self.codes.get(row).copied().filter(|&code| code != NO_CODE)
    }

    /// The string of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.categories.get(self.code(row)? as usize).map(String::as_str)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// How many values are missing.
    pub fn missing(&self) -> usize {
        self.codes.iter().filter(|&&code| code == NO_CODE).count()
    }

    /// How often each category occurs.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.categories.len()];
        for &code in &self.codes {
            if let Some(count) = counts.get_mut(code as usize) {
                *count += 1;
            }
        }
        counts
    }

    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&row| self.codes[row]).collect(), categories: Arc::clone(&self.categories) }
    }
}

/// Indices of the names in the order of categories.
fn sorted_order(names: &[String]) -> Vec<usize> {
    let numbers: Option<Vec<f64>> =
        names.iter().map(|name| name.parse::<f64>().ok().filter(|number| number.is_finite())).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    match numbers {
        // Several spellings of one number ("1", "1.0") fall back on the characters.
        Some(numbers) => order.sort_by(|&a, &b| {
            numbers[a].partial_cmp(&numbers[b]).unwrap_or(Ordering::Equal).then_with(|| names[a].cmp(&names[b]))
        }),
        None => order.sort_by(|&a, &b| names[a].cmp(&names[b])),
    }
    order
}
