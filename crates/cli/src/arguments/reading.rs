//! How tables are read, and the commands that only read and write them.

use std::path::PathBuf;

use clap::Args;

use super::{pair, written};

/// How a table is read.
#[derive(Args, Clone, Default, PartialEq)]
pub struct Reading {
    /// Field delimiter of a CSV file; detected by default
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<char>,
    /// Types of columns: float, integer, boolean, categorical, text, date; inferred by default
    #[arg(long = "type", alias = "as", value_name = "COLUMN=KIND,...", value_parser = pairs, help_heading = "Reading")]
    pub types: Vec<Pairs>,
    /// Turn values that do not fit the type of their column into missing values, and count them
    #[arg(long, help_heading = "Reading")]
    pub coerce: bool,
    /// utf-8 or latin-1; detected by default
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub charset: Option<String>,
    /// The file has no header; columns are named column_1, column_2 ...
    #[arg(long, help_heading = "Reading")]
    pub no_header: bool,
    /// Drop rows whose number of fields differs from the header, and count them
    #[arg(long, help_heading = "Reading")]
    pub drop_ragged: bool,
    /// Decimal comma: numbers are written 3,14
    #[arg(long, help_heading = "Reading")]
    pub decimal_comma: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove convert data.parquet -o data.csv
  tove convert data.csv --type zip=text,day=date --drop notes -o data.jsonl")]
pub struct Convert {
    /// The table
    pub file: PathBuf,
    /// Output file: .csv, .parquet, .json or .jsonl; CSV to standard output by default
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A column to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove split data/iris.csv --target species --train train.csv --test test.csv
  tove fit train.csv --test test.csv --target species

With --target the split is that of `tove fit` with the same --target, --test-size, --seed, --in-order and --group: stratified by class, without the rows that have no target.")]
pub struct Split {
    /// The table
    pub file: PathBuf,
    /// File for the training rows: .csv, .parquet, .json or .jsonl
    #[arg(long, value_parser = written(), value_name = "FILE")]
    pub train: PathBuf,
    /// File for the test rows
    #[arg(long, value_parser = written(), value_name = "FILE")]
    pub test: PathBuf,
    /// The column to predict: split as `tove fit` does; a random split without it
    #[arg(long, short, value_name = "COLUMN")]
    pub target: Option<String>,
    /// Fraction of test rows
    #[arg(long, default_value_t = 0.25, value_name = "FRACTION")]
    pub test_size: f64,
    /// The last rows are the test rows
    #[arg(long, conflicts_with = "group", requires = "target")]
    pub in_order: bool,
    /// Keep rows with the same value of this column together
    #[arg(long, value_name = "COLUMN", requires = "target")]
    pub group: Option<String>,
    /// regression or classification, if the wrong one is inferred from the target
    #[arg(long, value_name = "KIND", requires = "target")]
    pub task: Option<String>,
    /// A column to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Seed of the split
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

/// Names with a value each, as `a=x,b=y`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs(Vec<(String, String)>);

impl<'a> IntoIterator for &'a Pairs {
    type Item = &'a (String, String);
    type IntoIter = std::slice::Iter<'a, (String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// A list of pairs. A part without `=` belongs to the name behind it, which then has a comma.
pub(super) fn pairs(text: &str) -> Result<Pairs, String> {
    let (mut list, mut name) = (Vec::new(), String::new());
    for part in text.split(',') {
        name.push_str(part);
        if part.contains('=') {
            list.push(pair(&std::mem::take(&mut name))?);
        } else {
            name.push(',');
        }
    }
    if name.is_empty() { Ok(Pairs(list)) } else { Err("write COLUMN=VALUE, or COLUMN=VALUE,COLUMN=VALUE".to_owned()) }
}
