//! W33: from a CSV file to a fitted and evaluated logistic regression. W34: the start of the program. W43: a Parquet file of mixed
//! columns to cross-validated scores.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tove::tabular::{Candidate, Plan};
use tove_data::table::encode::ManyCategories;
use tove_data::table::{Column, CsvOptions, Encoding, TableFile, TaskKind, Wanted};

use crate::data;
use crate::workload::{Workload, number};

/// Columns of numbers.
const NUMBERS: usize = 8;

/// The table of both sides: numbers, a column with gaps, three columns of categories, and a class that depends on them.
fn csv(rows: usize) -> String {
    let x = data::fill_f64(1, rows * NUMBERS, 1.0);
    let noise = data::fill_f64(2, rows, 1.0);
    let codes: [Vec<i64>; 3] = [(3, 5), (4, 12), (5, 40)].map(|(stream, count)| data::labels(stream, rows, count));
    let mut text = String::with_capacity(rows * 110);
    for column in 0..NUMBERS {
        let _ = write!(text, "x{column},"); // writing to a string cannot fail
    }
    text.push_str("gap,colour,shop,city,y\n");
    for row in 0..rows {
        let numbers = &x[row * NUMBERS..(row + 1) * NUMBERS];
        for value in numbers {
            let _ = write!(text, "{value:.6},");
        }
        if row % 9 != 0 {
            let _ = write!(text, "{:.6}", numbers[0] * numbers[1]);
        }
        let [colour, shop, city] = [0, 1, 2].map(|column| codes[column][row]);
        let score =
            numbers[0] - 0.5 * numbers[2] + 0.2 * (colour as f64 - 2.0) + 0.05 * (shop as f64 - 6.0) + noise[row];
        let class = if score > 0.0 { "yes" } else { "no" };
        let _ = writeln!(text, ",colour{colour},shop{shop},city{city},{class}");
    }
    text
}

struct Pipeline {
    path: PathBuf,
    task: String,
}

impl Pipeline {
    /// Mean log loss on the last quarter of the rows.
    fn run(&self) -> Result<f64, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let (table, _) = CsvOptions::new().read(&self.path).map_err(|error| told(&error))?;
        let rows = table.n_rows();
        if self.task.starts_with("read") {
            return Ok((rows * table.n_columns()) as f64);
        }
        let (train, test) = (table.slice(0..rows * 3 / 4), table.slice(rows * 3 / 4..rows));
        drop(table);
        let candidate = Candidate::named("LogisticRegression").map_err(|error| told(&error))?;
        let outcome = Plan::new("y").folds(0).fit_and_test(&train, Some(&test), &[candidate], &mut |_| {});
        let outcome = outcome.map_err(|error| told(&error))?;
        let loss = outcome.test.iter().find(|named| named.key() == "log_loss");
        loss.map(|named| named.score.value).ok_or_else(|| "no log loss".to_owned())
    }
}

impl Workload for Pipeline {
    fn step(&mut self) {
        black_box(self.run().expect("the table is sound"));
    }

    fn quality(&mut self) -> f64 {
        self.run().expect("the table is sound")
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // a file in the folder for temporary ones does no harm
    }
}

/// W33.
pub fn make_pipeline(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let rows = number(parameters, "rows")?;
    let path = std::env::temp_dir().join(format!("tove-bench-{}-{rows}.csv", std::process::id()));
    std::fs::write(&path, csv(rows)).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Box::new(Pipeline { path, task: parameters["task"].as_str().unwrap_or_default().to_owned() }))
}

/// The shared flight records, from their file to the scores of five folds and of the held-out rows.
struct Flights {
    path: PathBuf,
    classifies: bool,
}

impl Flights {
    /// The mean score of the folds.
    fn run(&self) -> Result<f64, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        let file = TableFile::open(&self.path).map_err(|error| told(&error))?;
        let (mut table, _) = file.read(&CsvOptions::new(), &Wanted::default()).map_err(|error| told(&error))?;
        // One number per airport on both sides; the usual encoding hashes more than 100 categories.
        let encoding = Encoding { many: ManyCategories::OneHot, ..Plan::usual_encoding() };
        let mut plan = Plan::new("delay").folds(5).task(TaskKind::Regression).encoding(encoding);
        let mut model = "Ridge";
        if self.classifies {
            let delay = table.column("delay").map_err(|error| told(&error))?;
            let late = (0..delay.len()).map(|row| delay.number(row).is_some_and(|delay| delay >= 15.0)).collect();
            table = table.with_column("delay", Column::booleans(late)).map_err(|error| told(&error))?;
            (plan, model) = (plan.task(TaskKind::Classification), "LogisticRegression");
        }
        let candidate = Candidate::named(model).map_err(|error| told(&error))?;
        let outcome = plan.fit(&table, &[candidate], &mut |_| {}).map_err(|error| told(&error))?;
        outcome.candidates.first().and_then(|tried| tried.mean()).ok_or_else(|| "no folds".to_owned())
    }
}

impl Workload for Flights {
    fn step(&mut self) {
        black_box(self.run().expect("the table is sound"));
    }

    fn quality(&mut self) -> f64 {
        self.run().expect("the table is sound")
    }
}

/// W43.
pub fn make_flights(parameters: &Value) -> Result<Box<dyn Workload>, String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("TOVE_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join("flights-1m/flights-1m.parquet");
    if !path.exists() {
        return Err(format!("{} is absent; set TOVE_DATA to the folder of the shared data sets", path.display()));
    }
    Ok(Box::new(Flights { path, classifies: parameters["task"] == "logistic" }))
}

struct Start {
    program: PathBuf,
}

impl Start {
    fn run(&self) -> bool {
        let call = Command::new(&self.program).arg("--version").stdout(Stdio::null()).status();
        call.is_ok_and(|status| status.success())
    }
}

impl Workload for Start {
    fn step(&mut self) {
        black_box(self.run());
    }

    fn quality(&mut self) -> f64 {
        f64::from(u8::from(self.run()))
    }
}

/// W34: the program beside this one.
pub fn make_start(_: &Value) -> Result<Box<dyn Workload>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name("tove");
    if !program.exists() {
        return Err(format!("{} is not there; build it first", program.display()));
    }
    Ok(Box::new(Start { program }))
}
