//! Columns by which a model must not discriminate.

use tove_data::table::Column;
use tove_tensor::Tensor;

use crate::tabular::{Grouping, Result};

/// A sensitive column: its groups, and the group of each audited row.
#[derive(Clone, Debug)]
pub struct SensitiveColumn {
    name: String,
    names: Vec<String>,
    /// The group of each row (i64); rows without one have the number of groups.
    pub codes: Tensor,
    /// Rows without a group.
    pub missing: usize,
}

impl SensitiveColumn {
    /// The groups of a column; rows without a value are one more group, named `missing`, or `no value` if a
    /// group has that name.
    pub fn new(column: &str, values: &Column) -> Result<SensitiveColumn> {
        let grouping = Grouping::new(column, values)?;
        let groups = grouping.names().len();
        let codes: Vec<i64> = grouping.codes(values).into_iter().map(|code| code.unwrap_or(groups) as i64).collect();
        let missing = codes.iter().filter(|code| **code == groups as i64).count();
        let mut names = grouping.names().to_vec();
        if missing > 0 {
            // A category may have that name already.
            let taken = names.iter().any(|name| name == "missing");
            names.push(if taken { "no value" } else { "missing" }.into());
        }
        Ok(SensitiveColumn { name: column.to_owned(), names, codes: Tensor::from(codes), missing })
    }

    /// The name of the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the groups, `missing` last if rows have no value.
    pub fn groups(&self) -> &[String] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_a_group_of_their_own() {
        let column: Column = Column::Categorical([Some("a"), None, Some("b")].into_iter().collect());
        let groups = SensitiveColumn::new("g", &column).expect("groups");
        assert_eq!((groups.groups().len(), groups.missing, groups.codes.to_vec::<i64>()), (3, 1, vec![0, 2, 1]));
    }
}
