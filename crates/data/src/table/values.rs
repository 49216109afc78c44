//! Values of one type, some of which may be missing.

/// A type that a column can hold directly; `BLANK` fills the places of missing values.
pub trait Cell: Copy + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// What stands where a value is missing.
    const BLANK: Self;
}

impl Cell for f64 {
    const BLANK: f64 = f64::NAN;
}

impl Cell for i64 {
    const BLANK: i64 = 0;
}

impl Cell for bool {
    const BLANK: bool = false;
}

/// Values of one type with a mark for each that is missing. A column without missing values carries no marks.
///
/// ```
/// use tove_data::table::Values;
/// let ages: Values<i64> = [Some(31), None, Some(18)].into_iter().collect();
/// assert_eq!((ages.len(), ages.missing(), ages.get(1), ages.get(2)), (3, 1, None, Some(18)));
/// ```
#[derive(Clone, Debug)]
pub struct Values<T> {
    values: Vec<T>,
    /// `None` when everything is there.
    present: Option<Vec<bool>>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { values: Vec::new(), present: None }
    }
}

impl<T: Cell> PartialEq for Values<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Cell> From<Vec<T>> for Values<T> {
    /// A NaN is a missing value: a number that is none cannot be told from one that is not there.
    #[allow(clippy::eq_op)] // only NaN differs from itself, whatever T is
    fn from(values: Vec<T>) -> Self {
        let missing = values.iter().any(|value| value != value);
        let present = missing.then(|| values.iter().map(|value| value == value).collect());
        Self { values, present }
    }
}

impl<T: Cell> FromIterator<Option<T>> for Values<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut column = Self::default();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

impl<T: Cell> Values<T> {
    /// `count` missing values.
    pub fn blank(count: usize) -> Self {
        Self { values: vec![T::BLANK; count], present: (count > 0).then(|| vec![false; count]) }
    }

    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), present: None }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends a value.
    #[inline]
    #[allow(clippy::eq_op)] // only NaN differs from itself, whatever T is
    pub fn push(&mut self, value: Option<T>) {
        match value.filter(|value| value == value) {
            Some(value) => {
                self.values.push(value);
                if let Some(present) = &mut self.present {
                    present.push(true);
                }
            }
            None => {
                let rows = self.values.len();
                self.present.get_or_insert_with(|| vec![true; rows]).push(false);
                self.values.push(T::BLANK);
            }
        }
    }

    /// The value of a row; `None` if it is missing or there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        let value = self.values.get(row).copied()?;
        self.is_present(row).then_some(value)
    }

    #[inline]
    pub(crate) fn is_present(&self, row: usize) -> bool {
        self.present.as_ref().is_none_or(|present| present[row])
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        self.values.iter().enumerate().map(|(row, &value)| self.is_present(row).then_some(value))
    }

    /// The values that are there.
    pub fn known(&self) -> impl Iterator<Item = T> + '_ {
        self.iter().flatten()
    }

    /// The plain values; NaN, 0 or false stand where one is missing.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// How many values are missing.
    pub fn missing(&self) -> usize {
        self.present.as_ref().map_or(0, |present| present.iter().filter(|&&there| !there).count())
    }

    /// The rows at `rows`, all of which must exist.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        let values = rows.iter().map(|&row| self.values[row]).collect();
        let present = self.present.as_ref().map(|present| rows.iter().map(|&row| present[row]).collect::<Vec<_>>());
        Self { values, present: present.filter(|present| present.contains(&false)) }
    }

    /// Appends another column.
    pub(crate) fn append(&mut self, mut other: Self) {
        if self.present.is_some() || other.present.is_some() {
            let rows = self.values.len();
            let present = self.present.get_or_insert_with(|| vec![true; rows]);
            match &other.present {
                Some(more) => present.extend_from_slice(more),
                None => present.resize(rows + other.values.len(), true),
            }
        }
        self.values.append(&mut other.values);
    }

    pub(crate) fn map<U: Cell>(&self, function: impl Fn(T) -> U) -> Values<U> {
        self.iter().map(|value| value.map(&function)).collect()
    }
}

/// A boolean as people write it: true, yes, y, t or 1, and false, no, n, f or 0, in any case.
///
/// ```
/// use tove_data::table::parse_boolean;
/// assert_eq!([parse_boolean("Yes"), parse_boolean("0"), parse_boolean("2")], [Some(true), Some(false), None]);
/// ```
pub fn parse_boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 5]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match () {
        () if is(["true", "yes", "y", "t", "1"]) => Some(true),
        () if is(["false", "no", "n", "f", "0"]) => Some(false),
        () => None,
    }
}
