//! Strings of a column, one after the other in a single buffer.

/// Raw strings, some of which may be missing: one buffer of UTF-8 and the place where each row ends.
///
/// ```
/// use tove_data::table::Text;
/// let names: Text = [Some("Ada"), None, Some("")].into_iter().collect();
/// assert_eq!((names.len(), names.missing(), names.get(0), names.get(1), names.get(2)), (3, 1, Some("Ada"), None, Some("")));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Text {
    buffer: String,
    ends: Vec<usize>,
    present: Option<Vec<bool>>,
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<S: AsRef<str>> FromIterator<Option<S>> for Text {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(values: I) -> Self {
        let mut text = Self::default();
        values.into_iter().for_each(|value| text.push(value.as_ref().map(AsRef::as_ref)));
        text
    }
}

impl Text {
    /// `count` missing values.
    pub fn blank(count: usize) -> Self {
        Self { buffer: String::new(), ends: vec![0; count], present: (count > 0).then(|| vec![false; count]) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all strings together.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Appends a string.
    pub fn push(&mut self, value: Option<&str>) {
        match value {
            Some(value) => {
                self.buffer.push_str(value);
                if let Some(present) = &mut self.present {
                    present.push(true);
                }
            }
            None => {
                let rows = self.ends.len();
                self.present.get_or_insert_with(|| vec![true; rows]).push(false);
            }
        }
        self.ends.push(self.buffer.len());
    }

    /// The string of a row; `None` if it is missing or there is no such row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let end = *self.ends.get(row)?;
        if self.present.as_ref().is_some_and(|present| !present[row]) {
            return None;
        }
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        self.buffer.get(start..end)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// How many values are missing.
    pub fn missing(&self) -> usize {
        self.present.as_ref().map_or(0, |present| present.iter().filter(|&&there| !there).count())
    }

    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        rows.iter().map(|&row| self.get(row)).collect()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let (start, rows) = (self.buffer.len(), self.ends.len());
        if self.present.is_some() || other.present.is_some() {
            let present = self.present.get_or_insert_with(|| vec![true; rows]);
            match &other.present {
                Some(more) => present.extend_from_slice(more),
                None => present.resize(rows + other.len(), true),
            }
        }
        self.buffer.push_str(&other.buffer);
        self.ends.extend(other.ends.iter().map(|end| end + start));
    }
}
