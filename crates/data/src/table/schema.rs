//! What the columns of a table are and what they are for, to be kept with a model.

use std::collections::HashMap;

use super::{Column, Dates, Kind, NumberFormat, Table, Typical, Unit, Values, repeated, spelling};
use crate::{DataError, Problem, Remedy, Result};

/// What a column is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The model sees it.
    #[default]
    Feature,
    /// What is to be predicted.
    Target,
    /// Names the row; goes through to the predictions.
    Id,
    /// How much the row counts.
    Weight,
    /// Says to which group the row belongs, for what treats groups apart; the model does not see it.
    Group,
    /// Nobody sees it.
    Dropped,
}

impl Role {
    /// Whether rows without the column cannot be predicted.
    pub fn is_needed(self) -> bool {
        matches!(self, Role::Feature | Role::Group)
    }

    /// Whether the column is read for predictions: what is needed, and what names the row.
    pub fn is_for_prediction(self) -> bool {
        self.is_needed() || self == Role::Id
    }

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Role::Feature => "feature",
            Role::Target => "target",
            Role::Id => "id",
            Role::Weight => "weight",
            Role::Group => "group",
            Role::Dropped => "dropped",
        }
    }
}

/// One column of a schema.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
    /// The categories of a categorical column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    /// The unit of a date column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// How the numbers of a column are written in text files, if not plainly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<NumberFormat>,
    /// Range and typical value in the training rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<Typical>,
}

/// The columns that a model was fitted on.
///
/// ```
/// use tove_data::table::{Column, Role, Schema, Table};
/// let train = Table::new([("port", Column::categories(["S", "C"])), ("fare", Column::floats(vec![7.5, 70.0]))])?;
/// let schema = Schema::of(&train).with_role("fare", Role::Target)?;
/// assert_eq!(Schema::from_json(&schema.to_json()?)?, schema);
///
/// // A later table: the target is not needed, columns may stand in another order, "Q" was never seen.
/// let later = Table::new([("port", Column::categories(["Q", "S"]))])?;
/// let (table, about) = schema.conform(&later)?;
/// assert_eq!((table.n_rows(), about.unseen[0].value.as_str()), (2, "Q"));
/// let wrong = schema.conform(&Table::new([("prot", Column::categories(["S"]))])?).unwrap_err().to_string();
/// assert!(wrong.contains("\"port\" is missing") && wrong.contains("\"prot\""));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Schema {
    fields: Vec<Field>,
}

/// A category that the schema does not know.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unseen {
    /// The column.
    pub column: String,
    /// The value.
    pub value: String,
    /// How many rows have it.
    pub rows: usize,
}

/// What had to be done to make a table fit a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Conformed {
    /// Columns that the schema does not know; they were left out.
    pub extra: Vec<String>,
    /// Columns that were of another kind, with both kinds.
    pub converted: Vec<(String, Kind, Kind)>,
    /// Categories that the schema does not know; they were kept.
    pub unseen: Vec<Unseen>,
}

impl Schema {
    /// The schema of a table; every column is a feature.
    pub fn of(table: &Table) -> Self {
        let field = |(name, column): (&str, &Column)| Field {
            name: name.to_owned(),
            kind: column.kind(),
            role: Role::Feature,
            categories: match column {
                Column::Categorical(values) => Some(values.categories().to_vec()),
                _ => None,
            },
            unit: if let Column::Date(dates) = column { Some(dates.unit()) } else { None },
            format: None,
            typical: None,
        };
        Self { fields: table.iter().map(field).collect() }
    }

    /// A schema of these columns.
    ///
    /// # Errors
    /// If two have the same name.
    pub fn new(fields: Vec<Field>) -> Result<Self> {
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        match repeated(&names).first() {
            Some(name) => Err(DataError::Schema { column: (*name).to_owned(), problem: "is duplicated".into() }),
            None => Ok(Self { fields }),
        }
    }

    /// A schema of columns whose names are known to differ.
    pub(crate) fn of_fields(fields: Vec<Field>) -> Self {
        Self { fields }
    }

    /// The schema with the categories of a categorical column.
    ///
    /// # Errors
    /// If the column does not exist.
    pub fn with_categories(mut self, name: &str, categories: Vec<String>) -> Result<Self> {
        self.field(name)?;
        let mut found = self.fields.iter_mut().filter(|field| field.name == name && field.kind == Kind::Categorical);
        if let Some(field) = found.next() {
            field.categories = Some(categories);
        }
        Ok(self)
    }

    /// The schema with how the numbers of a column are written in text files.
    ///
    /// # Errors
    /// If the column does not exist.
    pub fn with_format(mut self, name: &str, format: NumberFormat) -> Result<Self> {
        self.field(name)?;
        self.fields.iter_mut().filter(|field| field.name == name).for_each(|field| field.format = Some(format));
        Ok(self)
    }

    pub(super) fn fields_mut(&mut self) -> &mut [Field] {
        &mut self.fields
    }

    /// The columns, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// A column by its name.
    ///
    /// # Errors
    /// If there is none of this name; the error names the nearest.
    pub fn field(&self, name: &str) -> Result<&Field> {
        let names = || self.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| super::no_column(name, &names()))
    }

    /// The schema with another role for a column. There is one target at most, and one weight.
    ///
    /// # Errors
    /// If the column does not exist, or the role is taken.
    pub fn with_role(mut self, name: &str, role: Role) -> Result<Self> {
        self.field(name)?;
        let taken = self.fields.iter().find(|field| field.role == role && field.name != name);
        if let (Role::Target | Role::Weight, Some(other)) = (role, taken) {
            let problem = format!("cannot be the {role:?} column too: {:?} is", other.name).to_lowercase();
            return Err(DataError::Schema { column: name.to_owned(), problem: problem.into() });
        }
        self.fields.iter_mut().filter(|field| field.name == name).for_each(|field| field.role = role);
        Ok(self)
    }

    /// The schema with a further column at the end.
    ///
    /// # Errors
    /// If there is a column of this name.
    pub fn with_field(self, field: Field) -> Result<Self> {
        let mut fields = self.fields;
        fields.push(field);
        Self::new(fields)
    }

    /// Names of the columns that have a role, in order.
    pub fn with(&self, role: Role) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |field| field.role == role).map(|field| field.name.as_str())
    }

    /// The schema as JSON.
    ///
    /// # Errors
    /// Never for a schema in order.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| DataError::parameter("Schema", error.to_string()))
    }

    /// The schema from JSON.
    ///
    /// # Errors
    /// If the text is not the JSON of a schema.
    pub fn from_json(json: &str) -> Result<Self> {
        let read: Schema = serde_json::from_str(json)
            .map_err(|error| DataError::parameter("Schema", format!("not the JSON of a schema: {error}")))?;
        Self::new(read.fields)
    }

    /// The columns of `table` that this schema knows, in its order and of its kinds. Features and groups must be there; the
    /// other roles may be absent. Kinds are converted where nothing is lost: a small file often looks narrower than the one
    /// that was fitted on. A column of integers may hold other numbers now; it is then float.
    ///
    /// # Errors
    /// If a feature is missing, or a column's values cannot be of the kind asked for; the error names both.
    pub fn conform(&self, table: &Table) -> Result<(Table, Conformed)> {
        let mut about = Conformed::default();
        let known = |name: &String| self.fields.iter().any(|field| field.name == *name);
        about.extra = table.names().iter().filter(|name| !known(name)).cloned().collect();
        let mut columns = Vec::new();
        for field in &self.fields {
            if !table.has(&field.name) {
                if field.role.is_needed() {
                    return Err(self.absent(field, &about.extra));
                }
                continue;
            }
            let column = table.column(&field.name)?;
            let fitting = convert(column, field)?;
            if column.kind() != fitting.kind() {
                about.converted.push((field.name.clone(), column.kind(), field.kind));
            }
            about.unseen.extend(unseen(&fitting, field));
            columns.push((field.name.clone(), fitting));
        }
        Ok((Table::new(columns)?, about))
    }

    #[cold]
    fn absent(&self, field: &Field, extra: &[String]) -> DataError {
        let nearest = spelling::nearest(&field.name, extra.iter().map(String::as_str));
        let hint = nearest.map_or_else(String::new, |name| format!("; did you mean your column {name:?}? rename it"));
        let why =
            if field.role == Role::Group { "the model decides by groups of it" } else { "the model was fitted on it" };
        let problem = format!("is missing from the table: {why} ({}){hint}", field.kind);
        DataError::Schema { column: field.name.clone(), problem: problem.into() }
    }
}

fn unseen(column: &Column, field: &Field) -> Vec<Unseen> {
    let (Column::Categorical(values), Some(known)) = (column, &field.categories) else { return Vec::new() };
    let known: HashMap<&str, ()> = known.iter().map(|name| (name.as_str(), ())).collect();
    let counted = values.categories().iter().zip(values.counts());
    let new = counted.filter(|(name, rows)| *rows > 0 && !known.contains_key(name.as_str()));
    new.map(|(value, rows)| Unseen { column: field.name.clone(), value: value.clone(), rows }).collect()
}

/// The column in the kind of the field.
fn convert(column: &Column, field: &Field) -> Result<Column> {
    let rows = column.len();
    if let (Column::Date(dates), Some(unit)) = (column, field.unit) {
        return dates_in(dates, unit).ok_or_else(|| refuse(column, field, 0));
    }
    if column.kind() == field.kind {
        return Ok(column.clone());
    }
    if column.missing() == rows {
        return Ok(Column::blank(field.kind, rows));
    }
    let whole = |value: f64| (value.fract() == 0.0 && value.abs() < 9e15).then_some(value as i64);
    // Integers are numbers: a column that held whole ones takes others too.
    let widened = field.kind == Kind::Integer && column.kind() == Kind::Float;
    if widened && (0..rows).any(|row| column.number(row).is_some_and(|value| whole(value).is_none())) {
        return Ok(column.clone());
    }
    let bad = (0..rows).find(|&row| {
        let number = if column.kind().is_numeric() { column.number(row) } else { None };
        !column.is_missing(row)
            && match field.kind {
                Kind::Float => number.is_none(),
                Kind::Integer => number.and_then(whole).is_none(),
                Kind::Boolean => !matches!(number, Some(0.0 | 1.0)),
                Kind::Date => true,
                Kind::Categorical | Kind::Text => false,
            }
    });
    if let Some(row) = bad {
        return Err(refuse(column, field, row));
    }
    let number = |row: usize| column.number(row);
    // Whole numbers were written without a point when they were names.
    let all_whole = column.kind() == Kind::Float && (0..rows).all(|row| number(row).is_none_or(|v| whole(v).is_some()));
    let name = |row: usize| match number(row).and_then(whole) {
        Some(value) if all_whole => Some(value.to_string()),
        _ => column.text(row).map(|text| text.into_owned()),
    };
    Ok(match field.kind {
        Kind::Float => Column::Float((0..rows).map(number).collect()),
        Kind::Integer => Column::Integer((0..rows).map(|row| number(row).and_then(whole)).collect()),
        Kind::Boolean => Column::Boolean((0..rows).map(|row| number(row).map(|value| value == 1.0)).collect()),
        Kind::Categorical => Column::Categorical((0..rows).map(name).collect()),
        Kind::Text => Column::Text((0..rows).map(name).collect()),
        Kind::Date => column.clone(),
    })
}

/// The same instants in another unit; `None` if they do not fit it.
fn dates_in(dates: &Dates, unit: Unit) -> Option<Column> {
    let (from, to) = (dates.unit().per_day(), unit.per_day());
    let convert =
        |value: i64| if to >= from { value.checked_mul(to / from) } else { Some(value.div_euclid(from / to)) };
    let all = dates.values().iter().map(|value| value.map_or(Some(None), |value| convert(value).map(Some)));
    Some(Column::Date(Dates::new(all.collect::<Option<Values<i64>>>()?, unit)))
}

#[cold]
fn refuse(column: &Column, field: &Field, row: usize) -> DataError {
    let value = column.text(row).unwrap_or_default();
    let (has, wants) = (column.kind(), field.kind);
    let problem =
        format!("is {has} where the model was fitted on {wants}: row {} has {}", row + 1, crate::error::shown(&value));
    let remedy = Remedy::ColumnKind { column: field.name.clone(), kind: wants, coerce: false };
    let problem = Problem::new(problem).advice("fix the value").remedy(remedy);
    DataError::Schema { column: field.name.clone(), problem }
}
