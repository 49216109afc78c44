//! Groups of rows by the values of a column.

use tove_data::table::{Column, Kind};

use super::{Result, TabularError};

/// Different values of a numeric column that are still taken for groups; more are cut into quarters.
const MOST_VALUES: usize = 12;
/// Groups of a column of categories, at most.
const MOST_GROUPS: usize = 50;

/// How the values of a column make groups: one per value, or four ranges with about as many rows each for a numeric column with many
/// values.
///
/// ```
/// use tove::tabular::Grouping;
/// use tove::data::table::Column;
/// let grouping = Grouping::new("sex", &Column::categories(["f", "m", "f"]))?;
/// assert_eq!((grouping.names(), grouping.codes(&Column::categories(["m", "x"]))), (&["f".into(), "m".into()][..], vec![Some(1), None]));
/// let ages = Column::integers((20..100).collect());
/// assert_eq!(Grouping::new("age", &ages)?.names()[0], "up to 39.75");
/// # Ok::<(), tove::tabular::TabularError>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Grouping {
    column: String,
    names: Vec<String>,
    /// Upper ends of all ranges but the last; empty if every value is a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cuts: Vec<f64>,
}

impl Grouping {
    /// The groups of a column.
    ///
    /// # Errors
    /// A column of one value only, of dates or of text, or with more than 50 categories.
    pub fn new(column: &str, values: &Column) -> Result<Grouping> {
        let refuse =
            |problem: String| Err(TabularError::plan(format!("the column {column} makes no groups: it {problem}")));
        let of_kind = |what: &str| refuse(format!("holds {what}; give a column of categories or numbers"));
        match values.kind() {
            Kind::Date => return of_kind("dates"),
            Kind::Text => return of_kind("text"),
            _ => {}
        }
        let mut numbers: Vec<f64> = (0..values.len()).filter_map(|row| values.number(row)).collect();
        numbers.sort_by(f64::total_cmp);
        let mut different = numbers.clone();
        different.dedup();
        if values.kind().is_numeric() && different.len() > MOST_VALUES {
            let at = |share: f64| quantile(&numbers, share);
            let mut cuts: Vec<f64> = [0.25, 0.5, 0.75].map(at).to_vec();
            cuts.dedup();
            // A range needs rows above its last cut.
            cuts.retain(|cut| numbers.last().is_some_and(|last| cut < last));
            if cuts.is_empty() {
                cuts.push(different[different.len() - 2]);
            }
            let shown: Vec<String> = cuts.iter().map(|cut| short(*cut)).collect();
            let mut names = vec![format!("up to {}", shown.first().map_or("", String::as_str))];
            names.extend(shown.windows(2).map(|pair| format!("{} to {}", pair[0], pair[1])));
            names.push(format!("above {}", shown.last().map_or("", String::as_str)));
            return Ok(Grouping { column: column.to_owned(), names, cuts });
        }
        let mut names: Vec<(Option<f64>, String)> =
            (0..values.len()).filter_map(|row| Some((values.number(row), values.text(row)?.into_owned()))).collect();
        names.sort_by(|(a, x), (b, y)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal).then_with(|| x.cmp(y)));
        names.dedup();
        match names.len() {
            0 => refuse("has no values".into()),
            1 => refuse(format!("has only the value {}; groups need at least two", names[0].1)),
            found if found > MOST_GROUPS => {
                refuse(format!("has {found} categories, more than {MOST_GROUPS}; merge rare ones first"))
            }
            _ => {
                let names = names.into_iter().map(|(_, name)| name).collect();
                Ok(Grouping { column: column.to_owned(), names, cuts: Vec::new() })
            }
        }
    }

    /// The name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The names of the groups.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The group of each row; none for a missing value or one that made no group.
    pub fn codes(&self, values: &Column) -> Vec<Option<usize>> {
        // Numbers are compared as such: 1 among fractions is written 1.0.
        let numbers: Option<Vec<f64>> = match values.kind() {
            Kind::Integer | Kind::Float => self.names.iter().map(|name| name.parse().ok()).collect(),
            _ => None,
        };
        let of_value = |row: usize| {
            if let Some(numbers) = &numbers {
                let value = values.number(row)?;
                return numbers.iter().position(|number| *number == value);
            }
            let text = values.text(row)?;
            self.names.iter().position(|name| *name == text)
        };
        let of_number = |row: usize| values.number(row).map(|value| self.cuts.partition_point(|cut| *cut < value));
        (0..values.len()).map(|row| if self.cuts.is_empty() { of_value(row) } else { of_number(row) }).collect()
    }

    /// Whether names and ranges belong together, for what was read from a file.
    pub fn is_valid(&self) -> bool {
        let rising = self.cuts.windows(2).all(|pair| pair[0] < pair[1]) && self.cuts.iter().all(|cut| cut.is_finite());
        self.names.len() >= 2 && rising && (self.cuts.is_empty() || self.cuts.len() + 1 == self.names.len())
    }
}

/// The quantile of sorted numbers, linear between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

/// A number in up to six digits after the point; very large and very small ones with an exponent.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_one_value_dates_and_texts_are_refused() {
        let text = |column: Column| Grouping::new("g", &column).unwrap_err().to_string();
        assert!(text(Column::categories(["a", "a"])).contains("only the value a"));
        assert!(text(Column::floats(vec![f64::NAN; 3])).contains("no values"));
        assert!(text(Column::blank(Kind::Date, 3)).contains("holds dates"));
        let many: Vec<String> = (0..60).map(|i| format!("v{i}")).collect();
        assert!(text(Column::categories(many)).contains("60 categories"));
    }

    #[test]
    fn numbers_with_many_values_make_ranges_and_few_make_groups_in_order() {
        let few = Grouping::new("g", &Column::integers(vec![10, 9, 2, 10])).expect("groups");
        assert_eq!(few.names(), ["2", "9", "10"]);
        // A fraction among later numbers changes the group of no other row.
        assert_eq!(few.codes(&Column::floats(vec![9.0, 2.5, 10.0, f64::NAN])), [Some(1), None, Some(2), None]);
        let skewed: Vec<f64> = (0..100).map(|i| if i < 80 { 0.0 } else { f64::from(i) }).collect();
        let ranges = Grouping::new("g", &Column::floats(skewed.clone())).expect("groups");
        assert!(ranges.is_valid(), "{ranges:?}");
        let codes = ranges.codes(&Column::floats(skewed));
        for group in 0..ranges.names().len() {
            assert!(codes.contains(&Some(group)), "{ranges:?}: group {group} is empty");
        }
        let high: Vec<f64> = (0..100).map(|i| f64::from(i.min(14))).collect();
        let ranges_of_high = Grouping::new("g", &Column::floats(high)).expect("groups");
        assert_eq!(ranges_of_high.names(), ["up to 13", "above 13"]);
        let sizes = |unit: f64| Column::floats((0..100).map(|i| f64::from(i) * unit).collect());
        for unit in [1e-12, 1e300] {
            let names = Grouping::new("g", &sizes(unit)).expect("groups").names().to_vec();
            assert!(names.iter().all(|name| name.len() < 30), "{names:?}");
            assert!((1..4).all(|place| names[place] != names[place - 1]), "{names:?}");
        }
        let later = ranges.codes(&Column::floats(vec![1e300, -5.0, f64::NAN]));
        assert_eq!(later, [Some(ranges.names().len() - 1), Some(0), None]);
    }
}
