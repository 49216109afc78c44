//! What a system decided about people, and what turned out: checked columns for reports and gaps.

use std::collections::BTreeMap;

use tove_learn::Labels;
use tove_tensor::Tensor;

use crate::{Result, TrustError, input};

const NAME: &str = "Outcomes";

/// Labels 0 or 1 of each row with the decisions or scores of a system, sensitive columns and optional weights.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::Outcomes;
/// let outcomes = Outcomes::new(&Tensor::from([0i64, 1, 1, 0]))?
///     .scores(&Tensor::from([0.2, 0.9, 0.4, 0.6]))? // decisions: score > 0.5
///     .sensitive("sex", &Tensor::from([0i64, 0, 1, 1]))?
///     .named("sex", &[(0, "female"), (1, "male")])?;
/// assert_eq!(outcomes.groups()?.names(), ["sex = female", "sex = male"]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outcomes {
    labels: Vec<usize>,
    decisions: Option<Vec<usize>>,
    scores: Option<Vec<f64>>,
    weights: Option<Vec<f64>>,
    columns: Vec<Column>,
}

/// A sensitive column.
#[derive(Clone, Debug)]
struct Column {
    name: String,
    labels: Labels,
    names: BTreeMap<i64, String>,
}

impl Outcomes {
    /// Starts with the true labels, 0 or 1.
    ///
    /// # Errors
    /// No rows; a label other than 0 and 1.
    pub fn new(labels: &Tensor) -> Result<Outcomes> {
        let labels = binary(NAME, "labels", labels, labels.numel())?;
        Ok(Outcomes { labels, decisions: None, scores: None, weights: None, columns: Vec::new() })
    }

    /// Adds decisions, 0 or 1.
    ///
    /// # Errors
    /// Another number of rows; a decision other than 0 and 1.
    pub fn decisions(self, decisions: &Tensor) -> Result<Outcomes> {
        let decisions = binary(NAME, "decisions", decisions, self.len())?;
        Ok(Outcomes { decisions: Some(decisions), ..self })
    }

    /// Adds scores: probabilities of label 1. Without decisions, a row is accepted if its score is above 0.5.
    ///
    /// # Errors
    /// Another number of rows; a score outside of [0, 1].
    pub fn scores(self, scores: &Tensor) -> Result<Outcomes> {
        let values = input::numbers(NAME, "scores", scores, self.len())?;
        if let Some(row) = values.iter().position(|score| !(0.0..=1.0).contains(score)) {
            let problem = format!("the score in row {row} is {}, outside of [0, 1]", values[row]);
            return Err(TrustError::data(NAME, problem, "give probabilities; apply the sigmoid to decision scores"));
        }
        Ok(Outcomes { scores: Some(values), ..self })
    }

    /// Adds weights of the rows.
    ///
    /// # Errors
    /// Another number of rows; a negative or non-finite weight; all weights 0.
    pub fn weights(self, weights: &Tensor) -> Result<Outcomes> {
        let weights = input::weights(NAME, Some(weights), self.len())?;
        Ok(Outcomes { weights: Some(weights), ..self })
    }

    /// Adds a sensitive column of whole numbers. Groups are the combinations of values of all sensitive columns.
    ///
    /// # Errors
    /// Another number of rows; numbers that are not whole; a column with one value; a second column of the same name.
    pub fn sensitive(self, name: &str, values: &Tensor) -> Result<Outcomes> {
        let labels = input::groups(NAME, values, self.len())?;
        if let [only] = labels.classes() {
            let problem = format!("the sensitive column `{name}` has one value, {only}");
            return Err(TrustError::data(NAME, problem, "groups can only be compared if there are at least two"));
        }
        if self.columns.iter().any(|column| column.name == name) {
            let problem = format!("the sensitive column `{name}` was given twice");
            return Err(TrustError::argument(NAME, problem + "; give every column another name"));
        }
        let mut columns = self.columns;
        columns.push(Column { name: name.to_owned(), labels, names: BTreeMap::new() });
        Ok(Outcomes { columns, ..self })
    }

    /// Names values of a sensitive column for reports.
    ///
    /// # Errors
    /// A column that was not added.
    pub fn named(mut self, name: &str, values: &[(i64, &str)]) -> Result<Outcomes> {
        let Some(column) = self.columns.iter_mut().find(|column| column.name == name) else {
            let problem = format!("`{name}` is not a sensitive column; add it with `sensitive` first");
            return Err(TrustError::argument(NAME, problem));
        };
        column.names.extend(values.iter().map(|&(value, text)| (value, text.to_owned())));
        Ok(self)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows; never true.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The groups: all combinations of values of the sensitive columns that occur.
    ///
    /// # Errors
    /// No sensitive column was added.
    pub fn groups(&self) -> Result<SensitiveGroups> {
        if self.columns.is_empty() {
            let problem = "no sensitive column was given; add one with `sensitive`";
            return Err(TrustError::argument(NAME, problem));
        }
        Ok(SensitiveGroups::of(&self.columns, self.len()))
    }

    pub(crate) fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// The decisions, or those that follow from the scores.
    pub(crate) fn decided(&self) -> Result<Vec<usize>> {
        match (&self.decisions, &self.scores) {
            (Some(decisions), _) => Ok(decisions.clone()),
            (None, Some(scores)) => Ok(scores.iter().map(|&score| usize::from(score > 0.5)).collect()),
            (None, None) => {
                let problem = "neither decisions nor scores were given; add them with `decisions` or `scores`";
                Err(TrustError::argument(NAME, problem))
            }
        }
    }

    pub(crate) fn scored(&self) -> Option<&[f64]> {
        self.scores.as_deref()
    }

    /// Whether rows have weights, and the weights, which are 1 otherwise.
    pub(crate) fn weighted(&self) -> (bool, Vec<f64>) {
        (self.weights.is_some(), self.weights.clone().unwrap_or_else(|| vec![1.0; self.len()]))
    }
}

/// The group of every row. Groups are ordered by the values of the sensitive columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitiveGroups {
    names: Vec<String>,
    values: Vec<Vec<i64>>,
    codes: Vec<usize>,
}

impl SensitiveGroups {
    fn of(columns: &[Column], n: usize) -> SensitiveGroups {
        // One number per row that orders the combinations of codes, and the first row of each combination.
        let mut keys = vec![0usize; n];
        for column in columns {
            let classes = column.labels.classes().len();
            let joint: Vec<usize> =
                keys.iter().zip(column.labels.codes()).map(|(&key, &code)| key * classes + code).collect();
            keys = ranks(&joint);
        }
        let mut cells: BTreeMap<usize, usize> = BTreeMap::new();
        keys.iter().enumerate().for_each(|(row, &key)| _ = cells.entry(key).or_insert(row));
        let value = |column: &Column, code: usize| column.labels.classes()[code];
        let name = |column: &Column, code: usize| {
            let value = value(column, code);
            let text = column.names.get(&value).cloned().unwrap_or_else(|| value.to_string());
            format!("{} = {text}", column.name)
        };
        let describe = |row: usize| columns.iter().map(|c| name(c, c.labels.codes()[row])).collect::<Vec<_>>();
        let values = |row: usize| columns.iter().map(|c| value(c, c.labels.codes()[row])).collect::<Vec<_>>();
        SensitiveGroups {
            names: cells.values().map(|&row| describe(row).join(", ")).collect(),
            values: cells.values().map(|&row| values(row)).collect(),
            codes: keys,
        }
    }

    /// Groups given by one column of whole numbers.
    ///
    /// # Errors
    /// Numbers that are not whole; no rows.
    pub fn from_column(name: &str, values: &Tensor) -> Result<SensitiveGroups> {
        if values.numel() == 0 {
            return Err(TrustError::data(NAME, "there are no samples", "give at least one"));
        }
        let labels = input::groups(NAME, values, values.numel())?;
        Ok(SensitiveGroups::of(&[Column { name: name.to_owned(), labels, names: BTreeMap::new() }], values.numel()))
    }

    /// Names such as `sex = female, race = 2`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of the sensitive columns in every group.
    pub fn values(&self) -> &[Vec<i64>] {
        &self.values
    }

    /// The group of every row, as an index into [`SensitiveGroups::names`].
    pub fn codes(&self) -> &[usize] {
        &self.codes
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no groups; never true.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The rows of a group, in ascending order.
    pub fn rows(&self, group: usize) -> Vec<usize> {
        (0..self.codes.len()).filter(|&row| self.codes[row] == group).collect()
    }

    /// The codes as a tensor, such as for functions that take one sensitive column.
    pub fn tensor(&self) -> Tensor {
        Tensor::from_slice(&self.codes.iter().map(|&code| code as i64).collect::<Vec<i64>>())
    }
}

/// Labels or decisions, 0 or 1.
pub(crate) fn binary(what: &'static str, argument: &str, values: &Tensor, n: usize) -> Result<Vec<usize>> {
    let numbers = input::numbers(what, argument, values, n)?;
    if let Some(row) = numbers.iter().position(|&value| value != 0.0 && value != 1.0) {
        let problem = format!("the {argument} in row {row} are {}", numbers[row]);
        return Err(TrustError::data(what, problem, "give 1 for the outcome of interest and 0 for the other"));
    }
    Ok(numbers.iter().map(|&value| value as usize).collect())
}

/// The place of every number among the distinct ones, in ascending order.
fn ranks(numbers: &[usize]) -> Vec<usize> {
    let mut distinct = numbers.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    numbers.iter().map(|number| distinct.partition_point(|other| other < number)).collect()
}
