//! The observed entries of a matrix.

use crate::{LearnError, Real, Result, Rows, with_real};

/// Observed entries, row after row.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    width: usize,
}

impl Observed {
    /// The stored entries of sparse rows, or the entries of dense rows that are not NaN.
    ///
    /// # Errors
    /// If an entry is infinite, NaN among stored ones, or so large or small that its square is not a number.
    pub fn of(who: &'static str, x: &Rows) -> Result<Observed> {
        let observed = Observed::read(x)?;
        let wrong = |value: f64| !(value == 0.0 || (1e-150..=1e150).contains(&value.abs()));
        let found = observed.entries().find(|&(.., value)| wrong(value));
        match found {
            None => Ok(observed),
            Some((row, column, value)) => {
                let problem = format!("the entry in row {row}, column {column} is {value:e}");
                Err(LearnError::data(who, problem, "give finite entries of moderate size, or leave the entry out"))
            }
        }
    }

    fn read(x: &Rows) -> Result<Observed> {
        let width = x.width();
        match x {
            Rows::Sparse(x) => {
                let values = with_real!(x.dtype(), T => x.values().as_slice::<T>()?.iter().map(|x| x.f64()).collect());
                Ok(Observed { starts: x.indptr().to_vec(), columns: x.indices().to_vec(), values, width })
            }
            Rows::Dense(x) => with_real!(x.dtype(), T => {
                let x = x.try_contiguous()?;
                let mut observed = Observed { starts: vec![0], columns: Vec::new(), values: Vec::new(), width };
                for row in x.as_slice::<T>()?.chunks(width.max(1)) {
                    for (column, value) in row.iter().enumerate().filter(|(_, value)| !value.f64().is_nan()) {
                        observed.columns.push(column as u32);
                        observed.values.push(value.f64());
                    }
                    observed.starts.push(observed.columns.len());
                }
                Ok(observed)
            }),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// All observed values, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Columns and values of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Row, column and value of every entry.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.len()).flat_map(|row| {
            let (columns, values) = self.row(row);
            columns.iter().zip(values).map(move |(&column, &value)| (row, column as usize, value))
        })
    }

    /// Columns as rows.
    pub fn transposed(&self) -> Observed {
        let mut starts = vec![0usize; self.width + 1];
        self.columns.iter().for_each(|&column| starts[column as usize + 1] += 1);
        (0..self.width).for_each(|column| starts[column + 1] += starts[column]);
        let mut next = starts.clone();
        let (mut columns, mut values) = (vec![0u32; self.columns.len()], vec![0.0; self.values.len()]);
        for (row, column, value) in self.entries() {
            let at = next[column];
            (columns[at], values[at]) = (row as u32, value);
            next[column] += 1;
        }
        Observed { starts, columns, values, width: self.len() }
    }
}
