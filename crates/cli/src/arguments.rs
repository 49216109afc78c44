//! The command line.

mod nets;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use nets::*;

/// tove trains, checks and ships models with one native engine.
#[derive(Parser)]
#[command(name = "tove", version, about, max_term_width = 110)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Args)]
pub struct Common {
    /// Print the result as one JSON document
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// Print no progress and no remarks
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Number of threads; all cores otherwise. Results do not depend on it
    #[arg(long, global = true, value_name = "N", help_heading = "Everywhere")]
    pub threads: Option<usize>,
}

/// The commands. There is one of them in a process, so that its size does not matter.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Fit a model to a table, judge it on rows set aside, save it with a report
    Fit(Fit),
    /// Predict the rows of a table with a saved model
    Predict(Predict),
    /// Judge a saved model on a table that has the target
    Evaluate(Evaluate),
    /// Show what a model looks at: coefficients, importance and dependence of columns
    Explain(Explain),
    /// List the models there are, or describe one with its hyperparameters
    Models(Models),
    /// Show what is inside a model file
    Inspect(Inspect),
    /// Answer predictions over HTTP, with a page to try them
    Serve(Serve),
    /// List past fits, show one, or compare several
    Runs(Runs),
    /// Train a net on images, use it, or carry it over to other classes
    Images(Images),
    /// Train a small language model on a text, and let it write
    Text(Text),
    /// Differentiate an expression in four ways, side by side
    Diff(Diff),
    /// Show one of the ideas behind it all at work
    Demo(Demo),
    /// Print completions for a shell
    Completions(Completions),
}

/// How a table is read.
#[derive(Args, Clone)]
pub struct Reading {
    /// The character between fields of a CSV file; found by looking otherwise
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub delimiter: Option<char>,
    /// What a column holds: float, integer, boolean, categorical, text, date; inferred otherwise
    #[arg(long = "type", alias = "as", value_name = "COLUMN=KIND", value_parser = pair, help_heading = "Reading")]
    pub types: Vec<(String, String)>,
    /// Values that do not fit a column's given kind become missing, and are counted, instead of being errors
    #[arg(long, help_heading = "Reading")]
    pub coerce: bool,
    /// utf-8 or latin-1; found by looking otherwise
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub charset: Option<String>,
    /// The file has no header; columns are called column_1, column_2 ...
    #[arg(long, help_heading = "Reading")]
    pub no_header: bool,
    /// Drop rows with another number of fields than the header, and count them
    #[arg(long, help_heading = "Reading")]
    pub drop_ragged: bool,
    /// Numbers are written 3,14
    #[arg(long, help_heading = "Reading")]
    pub decimal_comma: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove fit data/german-credit.csv --target credit_risk
  tove fit data/diabetes.csv --target progression --model Ridge --set alpha=0.5
  tove fit data/iris.csv --target species --model SVC --cv 10 -o iris.tove --report iris.html
  cat data/wine.csv | tove fit - --target cultivar --model auto --budget 20
  tove fit train.csv --target income --test test.csv --class-weight balanced --encode city=target
  tove fit huge.csv --target price --model Ridge --stream

Columns become numbers by what the training rows show, in every fold anew: numbers are scaled and gaps filled by the
mean, categories become one number each (those with more than 100 are hashed), dates year, month, weekday and time, texts
hashed words. --encode COLUMN=target gives a category its mean target, (sum + 10 mean) / (count + 10), which a
training row gets from the other folds' rows only, so that it never sees its own target.")]
pub struct Fit {
    /// The table: CSV (also packed with gzip), Parquet, or - for standard input
    pub file: PathBuf,
    /// The column to predict; without it the columns are listed
    #[arg(long, short, value_name = "COLUMN", default_value = "", hide_default_value = true)]
    pub target: String,
    /// The model, as `tove models` lists them; auto compares several
    #[arg(long, short, default_value = "auto", value_name = "NAME")]
    pub model: String,
    /// A hyperparameter of the model, as `tove models NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// Folds of the cross-validation; 0 for none, where there is nothing to choose
    #[arg(long, default_value_t = 5, value_name = "K")]
    pub cv: usize,
    /// Share of the rows set aside to judge the model
    #[arg(long, default_value_t = 0.25, value_name = "SHARE")]
    pub test_size: f64,
    /// Another table with the target to judge the model on; no rows are set aside then
    #[arg(long, value_name = "FILE", conflicts_with = "test_size")]
    pub test: Option<PathBuf>,
    /// Judge by the last rows instead of rows drawn at random, and in every fold by later ones: for tables in the order of time
    #[arg(long, conflicts_with_all = ["group", "stream"])]
    pub in_order: bool,
    /// Keep rows with the same value of this column together when rows are divided: visits of one patient, say
    #[arg(long, value_name = "COLUMN", conflicts_with = "stream")]
    pub group: Option<String>,
    /// regression or classification, when the target's values propose the wrong one
    #[arg(long, value_name = "KIND")]
    pub task: Option<String>,
    /// A column that says how much a row counts
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    /// A column that the model must not see
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// A column that names the rows; it goes through to the predictions
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub id: Vec<String>,
    /// How much the classes count at fitting: balanced for all alike, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "HOW")]
    pub class_weight: Option<String>,
    /// How a column becomes numbers: onehot, target (its mean target), ordinal, hash; tfidf or hash for texts
    #[arg(long, value_name = "COLUMN=HOW", value_parser = pair)]
    pub encode: Vec<(String, String)>,
    /// How texts become numbers: hash, tfidf or drop
    #[arg(long, value_name = "HOW")]
    pub text: Option<String>,
    /// Read the file in pieces, several times, in memory that does not grow with it; for models that can
    #[arg(long)]
    pub stream: bool,
    /// Megabytes of memory to count on, instead of what is free: a file that would need more is read in pieces
    #[arg(long, env = "TOVE_MEMORY", value_name = "MB")]
    pub memory: Option<u64>,
    /// Seconds for the comparison of models; those that would begin later are left out
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub budget: f64,
    /// Seed of the split, the folds and the models' random numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Where the model goes; into the folder of the run otherwise
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the report goes; into the folder of the run otherwise
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    /// The folder of runs
    #[arg(long, default_value = "tove-runs", env = "TOVE_RUNS", value_name = "FOLDER")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove predict credit.tove new-customers.csv
  tove predict credit.tove new-customers.csv --proba -o scored.parquet
  tove predict credit.tove new-customers.csv --keep customer,name")]
pub struct Predict {
    /// The model file
    pub model: PathBuf,
    /// The table; the target is not needed
    pub file: PathBuf,
    /// Where the predictions go, as CSV or Parquet by the name's ending; to standard output otherwise
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Add a column with the probability of each class
    #[arg(long)]
    pub proba: bool,
    /// A column of the table that goes through to the predictions; those named with --id at fitting always do
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
pub struct Evaluate {
    /// The model file
    pub model: PathBuf,
    /// A table with the target
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove explain credit.tove
  tove explain credit.tove data/german-credit.csv --report why.html")]
pub struct Explain {
    /// The model file
    pub model: PathBuf,
    /// A table with the target, for importance and dependence
    pub file: Option<PathBuf>,
    /// How many columns to show
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub top: usize,
    /// How often each column is shuffled
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub repeats: usize,
    /// Seed of the shuffling
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Write the pictures into this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace the report if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  tove models\n  tove models Ridge\n  tove models --json | jq '.[].name'")]
pub struct Models {
    /// The model to describe
    pub name: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove serve credit.tove
  tove serve credit.tove --port 0 --json
  curl localhost:8080/predict -H 'content-type: text/csv' --data-binary @new-customers.csv")]
pub struct Serve {
    /// The model file
    pub model: PathBuf,
    /// The port; 0 takes a free one and tells it
    #[arg(long, default_value_t = 8080, value_name = "N")]
    pub port: u16,
    /// The address to listen on; this machine only by default
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub host: String,
    /// Megabytes that a request may have
    #[arg(long, default_value_t = 10, value_name = "MB")]
    pub max_body: usize,
    /// Rows that a request may have
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub max_rows: usize,
    /// Seconds that a request may take, that its head may take to arrive, and that a connection may be idle
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    pub timeout: f64,
    /// Connections at a time; beyond, the one that has been idle longest is closed for a new one
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub max_connections: usize,
    /// Rows of requests that are predicted together; 1 predicts each request by itself. Answers do not depend on it
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub batch_rows: usize,
    /// Milliseconds that a request waits for others to be predicted with; 0 takes those that are there
    #[arg(long, default_value_t = 0.0, value_name = "MS")]
    pub batch_wait: f64,
}

#[derive(Args)]
pub struct Inspect {
    /// The model file
    pub model: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  tove runs\n  tove runs show 3\n  tove runs compare 1 3 --report both.html")]
pub struct Runs {
    /// list, show or compare
    #[command(subcommand)]
    pub action: Option<RunsAction>,
    /// The folder of runs
    #[arg(long, default_value = "tove-runs", env = "TOVE_RUNS", value_name = "FOLDER", global = true)]
    pub runs: PathBuf,
}

#[derive(Subcommand)]
pub enum RunsAction {
    /// All runs, the newest last
    List,
    /// What is known of one run: settings, scores, curves
    Show {
        /// Its number
        number: u64,
        #[command(flatten)]
        page: Page,
    },
    /// Several runs side by side
    Compare {
        /// Their numbers
        #[arg(required = true, num_args = 2..)]
        numbers: Vec<u64>,
        #[command(flatten)]
        page: Page,
    },
}

/// Where the pictures of runs go.
#[derive(Args)]
pub struct Page {
    /// Write the same as pictures into this HTML file
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove diff 'x^2 - 1.5*x' --at x=0.5
  tove diff 'a*sin(x) + b*x*sin(x)' --wrt x --at a=2 --at b=3 --at x=1
  tove diff 'ln(1 + exp(w*x))' --wrt w --wrt x --at w=1 --at x=-2 --check")]
pub struct Diff {
    /// The expression: + - * / ^, sin, cos, tan, exp, ln, sqrt, sigmoid, tanh, abs ...
    pub expression: String,
    /// A variable to differentiate by; all without it
    #[arg(long, value_name = "VARIABLE")]
    pub wrt: Vec<String>,
    /// The value of a variable
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub at: Vec<(String, f64)>,
    /// Compare the automatic gradient with differences and say what differences cost
    #[arg(long)]
    pub check: bool,
    /// Print the recorded program
    #[arg(long)]
    pub trace: bool,
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = pair(text).map_err(|_| "write NAME=VALUE, such as x=0.5")?;
    let value = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name, value))
}
