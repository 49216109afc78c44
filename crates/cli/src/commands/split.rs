//! `tove split`: the training and the test rows of a table as two files.

use serde_json::json;
use tove::data::Key;
use tove::data::table::{Role, TaskKind};
use tove::tabular::{Division, Plan};

use super::convert::read;
use super::training::share;
use crate::arguments::Split;
use crate::failure::Failure;
use crate::files::{self, Rows};
use crate::output::{Output, entries, paragraph};
use crate::tables;

pub fn run(split: &Split, output: &Output) -> Result<(), Failure> {
    share("test-size", split.test_size)?;
    files::differ(&[Some(&split.train), Some(&split.test)])?;
    for path in [&split.train, &split.test] {
        Rows::of(path)?;
        files::may_write(path, split.overwrite, &[&split.file])?;
    }
    let table = read(&split.file, &split.reading, &split.drop, output)?;
    let (train, test) = match &split.target {
        None => table.split(1.0 - split.test_size, Key::new(split.seed))?,
        Some(target) => {
            let mut plan = Plan::new(target.as_str()).test_size(split.test_size).seed(split.seed);
            if let Some(kind) = &split.task {
                let kind = kind.parse::<TaskKind>().map_err(|error| Failure::usage(format!("--task: {error}")))?;
                plan = plan.task(kind);
            }
            plan = plan.division(match &split.group {
                Some(column) => Division::Groups(column.clone()),
                None if split.in_order => Division::InOrder,
                None => Division::Random,
            });
            let schema = plan.schema(&table).map_err(|error| tables::wrong_call(table.names(), error))?;
            debug_assert_eq!(schema.with(Role::Target).next(), Some(target.as_str()));
            plan.parts(&table).map_err(|error| tables::failed(&split.file, table.names(), error))?
        }
    };
    files::save(&train, &split.train, split.overwrite)?;
    files::save(&test, &split.test, split.overwrite)?;
    let left_out = table.n_rows() - train.n_rows() - test.n_rows();
    if files::is_stdout(&split.train) || files::is_stdout(&split.test) {
        output.remark(format!("{} training rows, {} test rows", train.n_rows(), test.n_rows()));
        return Ok(());
    }
    output.result(
        || {
            let how = match &split.target {
                None => "at random".to_owned(),
                Some(target) => format!("as `tove fit --target {target}` does"),
            };
            let lost =
                if left_out > 0 { format!("; {left_out} without a target were left out") } else { String::new() };
            let total = table.n_rows();
            let verdict = format!("{total} rows were split {how}{lost}.");
            let files = [("training", &train, &split.train), ("test", &test, &split.test)];
            let files = files.map(|(part, rows, path)| (part, format!("{} rows: {}", rows.n_rows(), path.display())));
            format!("{}\n{}", paragraph(&verdict), entries(&files))
        },
        || {
            json!({
                "train": {"rows": train.n_rows(), "file": split.train.display().to_string()},
                "test": {"rows": test.n_rows(), "file": split.test.display().to_string()},
                "left_out": left_out, "seed": split.seed,
            })
        },
    )
}
