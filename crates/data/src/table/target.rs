//! What is to be predicted: real numbers (regression) or one of m classes (classification; two: binary).

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use tove_tensor::{Tensor, TryIndex};

use super::{Categorical, Column, Kind, Table};
use crate::{DataError, Result};

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A real number.
    Regression,
    /// One of two classes.
    Binary,
    /// One of so many classes, three or more.
    Multiclass(usize),
    /// One of so many clusters, which a model finds without a target.
    Clustering(usize),
}

/// What a user can ask for when the proposal is not what is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// Real numbers.
    Regression,
    /// Classes, as many as there are different values.
    Classification,
}

impl TaskKind {
    /// Whether the target has classes.
    pub fn is_classification(self) -> bool {
        self == TaskKind::Classification
    }

    /// `regression` or `classification`.
    pub fn name(self) -> &'static str {
        if self.is_classification() { "classification" } else { "regression" }
    }

    /// The other kind.
    pub fn other(self) -> TaskKind {
        if self.is_classification() { TaskKind::Regression } else { TaskKind::Classification }
    }
}

impl std::str::FromStr for TaskKind {
    type Err = DataError;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "regression" => Ok(TaskKind::Regression),
            "classification" => Ok(TaskKind::Classification),
            _ => Err(DataError::parameter("task", format!("{name:?} is neither regression nor classification"))),
        }
    }
}

impl Task {
    /// Regression or classification; clusters are classes that were not given.
    pub fn kind(self) -> TaskKind {
        if self == Task::Regression { TaskKind::Regression } else { TaskKind::Classification }
    }

    /// Whether the target has classes.
    pub fn is_classification(self) -> bool {
        matches!(self, Task::Binary | Task::Multiclass(_))
    }

    /// Number of classes; 0 without a target that has classes.
    pub fn classes(self) -> usize {
        match self {
            Task::Regression | Task::Clustering(_) => 0,
            Task::Binary => 2,
            Task::Multiclass(classes) => classes,
        }
    }

    /// Checks that something (a model, a metric) suits the task.
    ///
    /// # Errors
    /// [`DataError::TaskMismatch`] if it does not.
    pub fn require(self, what: &str, kind: TaskKind) -> Result<()> {
        let needs = if kind == TaskKind::Regression { "a regression" } else { "a classification" };
        if self.kind() == kind {
            Ok(())
        } else {
            Err(DataError::TaskMismatch { what: what.to_owned(), needs, task: self })
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Task::Regression => f.write_str("regression"),
            Task::Binary => f.write_str("binary classification"),
            Task::Multiclass(classes) => write!(f, "classification into {classes} classes"),
            Task::Clustering(1) => f.write_str("clustering with 1 cluster"),
            Task::Clustering(clusters) => write!(f, "clustering into {clusters} clusters"),
        }
    }
}

/// A task and why it is proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The task.
    pub task: Task,
    /// Why, as half a sentence.
    pub reason: String,
}

/// Whole numbers with more different values than this are taken for quantities.
const MOST_CLASSES: usize = 20;

/// What a column, as a target, asks for: strings and truth values are classes; two different values of any kind are
/// classes; whole numbers are classes if there are at most 20 different ones, each ten times on the average; all other
/// numbers are quantities.
///
/// ```
/// use tove_data::table::{Column, Task, propose_task};
/// assert_eq!(propose_task(&Column::categories(["a", "b", "c"]))?.task, Task::Multiclass(3));
/// assert_eq!(propose_task(&Column::integers(vec![1, 2, 2, 1]))?.task, Task::Binary);
/// assert_eq!(propose_task(&Column::floats(vec![0.1, 2.5, 7.0]))?.task, Task::Regression);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If the column has fewer than two different values, or holds dates.
pub fn propose_task(column: &Column) -> Result<Proposal> {
    if column.kind() == Kind::Date {
        return Err(DataError::parameter("target", "dates cannot be predicted; give a number of days or a class"));
    }
    let names = class_names(column);
    let (classes, known) = (names.len(), column.len() - column.missing());
    if classes < 2 {
        let problem = match names.first() {
            Some(value) => format!("every row has the value {}; there is nothing to learn", crate::error::shown(value)),
            None => "every value is missing; name another column".to_owned(),
        };
        return Err(DataError::parameter("target", problem));
    }
    let classification = if classes == 2 { Task::Binary } else { Task::Multiclass(classes) };
    let whole = (0..column.len()).all(|row| column.number(row).is_none_or(|value| value.fract() == 0.0));
    let few = classes <= MOST_CLASSES && classes * 10 <= known;
    let (task, reason) = match column.kind() {
        Kind::Categorical | Kind::Text | Kind::Boolean => (classification, format!("{classes} different names")),
        _ if classes == 2 => (classification, "two different values".to_owned()),
        _ if whole && few => (classification, format!("whole numbers with only {classes} different values")),
        _ => (Task::Regression, format!("numbers with {classes} different values")),
    };
    Ok(Proposal { task, reason })
}

/// The different values as texts, in the order of classes: numbers by size, false before true, strings as categories.
fn class_names(column: &Column) -> Vec<String> {
    match column {
        Column::Integer(values) => values.known().collect::<BTreeSet<_>>().iter().map(i64::to_string).collect(),
        Column::Categorical(values) => {
            let used = values.categories().iter().zip(values.counts());
            used.filter(|(_, rows)| *rows > 0).map(|(name, _)| name.clone()).collect()
        }
        _ => {
            let names: Categorical = (0..column.len()).map(|row| column.text(row)).collect();
            names.categories().to_vec()
        }
    }
}

/// How a target column becomes numbers, and predictions become values again.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TargetLabels {
    /// The task.
    pub task: Task,
    /// Names of the classes in the order of their codes; empty for regression and clustering.
    pub classes: Vec<String>,
}

impl TargetLabels {
    /// Finds task and classes; `kind` overrides the proposal.
    ///
    /// # Errors
    /// As [`propose_task`]; [`DataError::TaskMismatch`] for a regression on names.
    pub fn fit(column: &Column, kind: Option<TaskKind>) -> Result<Self> {
        let proposed = propose_task(column)?.task;
        let names = || class_names(column);
        let kind = kind.unwrap_or(proposed.kind());
        if kind == TaskKind::Classification {
            let classes = names();
            let task = if classes.len() == 2 { Task::Binary } else { Task::Multiclass(classes.len()) };
            return Ok(Self { task, classes });
        }
        if !column.kind().is_numeric() {
            let what = "a regression".to_owned();
            return Err(DataError::TaskMismatch { what, needs: "a target of numbers", task: proposed });
        }
        Ok(Self { task: Task::Regression, classes: Vec::new() })
    }

    /// The column as a tensor: codes (i64) of the classes, or real numbers (f64).
    ///
    /// # Errors
    /// If a value is missing, or of a class that is not known.
    pub fn encode(&self, column: &Column) -> Result<Tensor> {
        if column.missing() > 0 {
            let problem = format!("{} values are missing; drop those rows (Table::drop_missing)", column.missing());
            return Err(DataError::parameter("target", problem));
        }
        let rows = column.len();
        if self.task == Task::Regression {
            let values: Option<Vec<f64>> = (0..rows).map(|row| column.number(row)).collect();
            let mismatch =
                || DataError::parameter("target", format!("{} values where numbers are expected", column.kind()));
            return Ok(Tensor::try_from_vec(values.ok_or_else(mismatch)?, [rows])?);
        }
        let codes: HashMap<&str, i64> =
            self.classes.iter().zip(0..).map(|(name, code)| (name.as_str(), code)).collect();
        let code = |row: usize| {
            let name = column.text(row).unwrap_or_default();
            codes.get(name.as_ref()).copied().ok_or_else(|| {
                let known = self.classes.iter().take(12).map(|class| crate::error::shown(class)).collect::<Vec<_>>();
                let problem =
                    format!("row {row} has class {}; known are {}", crate::error::shown(&name), known.join(", "));
                DataError::parameter("target", problem)
            })
        };
        Ok(Tensor::try_from_vec((0..rows).map(code).collect::<Result<Vec<i64>>>()?, [rows])?)
    }

    /// Predictions as a column: class names for codes, numbers for a regression, numbers of clusters (−1 for an outlier).
    ///
    /// # Errors
    /// If a code is not that of a class.
    pub fn decode(&self, predictions: &Tensor) -> Result<Column> {
        if self.task == Task::Regression {
            return Ok(Column::floats(predictions.to_f64_vec()));
        }
        let codes = predictions.try_to_vec::<i64>()?;
        if let Task::Clustering(_) = self.task {
            return Ok(Column::integers(codes));
        }
        let name = |&code: &i64| usize::try_from(code).ok().and_then(|code| self.classes.get(code));
        let names: Option<Vec<&String>> = codes.iter().map(name).collect();
        let wrong = || DataError::parameter("decode", format!("a code outside 0 … {}", self.classes.len().max(1) - 1));
        Ok(Column::categories(names.ok_or_else(wrong)?))
    }
}

/// A target column as a tensor.
///
/// ```
/// use tove_data::table::{Column, Target, Task, TaskKind};
/// let risk = Column::integers(vec![1, 2, 2]);
/// let target = Target::encode(&risk, None)?;
/// assert_eq!((target.task(), target.classes()), (Task::Binary, &["1".to_owned(), "2".to_owned()][..]));
/// assert_eq!(target.y().to_vec::<i64>(), [0, 1, 1]);
/// // The user knows better:
/// assert_eq!(Target::encode(&risk, Some(TaskKind::Regression))?.y().to_vec::<f64>(), [1.0, 2.0, 2.0]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Target {
    labels: TargetLabels,
    y: Tensor,
}

impl Target {
    /// Finds task and classes and encodes the column; `kind` overrides the proposal.
    ///
    /// # Errors
    /// As [`TargetLabels::fit`] and [`TargetLabels::encode`].
    pub fn encode(column: &Column, kind: Option<TaskKind>) -> Result<Self> {
        let labels = TargetLabels::fit(column, kind)?;
        let y = labels.encode(column)?;
        Ok(Self { labels, y })
    }

    /// The task.
    pub fn task(&self) -> Task {
        self.labels.task
    }

    /// Names of the classes in the order of their codes; empty for regression.
    pub fn classes(&self) -> &[String] {
        &self.labels.classes
    }

    /// How the values became numbers; to be kept with the model.
    pub fn labels(&self) -> &TargetLabels {
        &self.labels
    }

    /// One number per row (n): class codes as i64, or f64.
    pub fn y(&self) -> &Tensor {
        &self.y
    }

    /// The target of some of the rows, with the same classes.
    ///
    /// # Errors
    /// If a row does not exist.
    pub fn take(&self, rows: &[usize]) -> Result<Target> {
        let places: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        let y = self.y.try_index_select(0, &Tensor::from_slice(&places))?;
        Ok(Target { labels: self.labels.clone(), y })
    }
}

impl Table {
    /// The table without the rows that lack a value in one of these columns, and how many those were.
    ///
    /// ```
    /// use tove_data::table::{Column, Table};
    /// let table = Table::new([("y", Column::floats(vec![1.0, f64::NAN]))])?;
    /// let (kept, dropped) = table.drop_missing(&["y"])?;
    /// assert_eq!((kept.n_rows(), dropped), (1, 1));
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If a column does not exist.
    pub fn drop_missing<S: AsRef<str>>(&self, names: &[S]) -> Result<(Table, usize)> {
        let columns = names.iter().map(|name| self.column(name.as_ref())).collect::<Result<Vec<_>>>()?;
        if columns.iter().all(|column| column.missing() == 0) {
            return Ok((self.clone(), 0));
        }
        let kept = self.filter(|row| columns.iter().all(|column| !column.is_missing(row)));
        let dropped = self.n_rows() - kept.n_rows();
        Ok((kept, dropped))
    }
}
