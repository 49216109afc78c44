//! The command line.

mod nets;
mod reading;
mod trust;
mod unsupervised;
mod words;

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

pub use nets::*;
pub use reading::*;
pub use trust::*;
pub use unsupervised::*;
pub use words::*;

/// tove trains, checks and ships models with one native engine.
#[derive(Parser)]
#[command(name = "tove", version, about, max_term_width = 100)]
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
    #[arg(long, short, global = true, help_heading = "Everywhere", conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print details: all columns, bounds, and what the intervals mean
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub verbose: bool,
    /// Number of threads; all cores otherwise. Results do not depend on it
    #[arg(long, global = true, value_name = "N", help_heading = "Everywhere")]
    pub threads: Option<usize>,
}

/// The commands. There is one of them in a process, so that its size does not matter.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)]
pub enum Command {
    /// Fit a model to a table, evaluate it on held-out rows, save it with a report
    Fit(Fit),
    /// Predict the rows of a table with a saved model
    Predict(Predict),
    /// Evaluate a saved model on a table with the target
    Evaluate(Evaluate),
    /// Explain a model: coefficients, permutation importance, partial dependence
    Explain(Explain),
    /// Audit a model, or the predictions of any system: calibration, coverage, costs, robustness, fairness, drift
    Audit(Audit),
    /// Calibrate the probabilities of a classifier on held-out rows
    Calibrate(Calibrate),
    /// Add prediction sets or intervals with guaranteed coverage to a model
    Conformal(Conformal),
    /// Choose decision thresholds by group, so that groups are treated alike
    Fair(Fair),
    /// Cluster the rows of a table, and describe the clusters
    Cluster(Cluster),
    /// Reduce the columns of a table, or images, to a few components
    Reduce(Reduce),
    /// Rebuild a table or images from the components that `tove reduce` wrote
    Rebuild(Rebuild),
    /// Recommend items to users, from ratings or from choices
    Recommend(Recommend),
    /// Learn word vectors from texts; nearest words and analogies
    Words(Words),
    /// List the available models, or describe one with its hyperparameters
    Models(Models),
    /// Show the contents of a model file
    Inspect(Inspect),
    /// Serve predictions over HTTP, with a page to try them
    Serve(Serve),
    /// Write a table in another format: CSV, JSON or Parquet
    Convert(Convert),
    /// Split a table into a training file and a test file
    Split(Split),
    /// List past fits, show one, or compare several
    Runs(Runs),
    /// Train a neural network on images, predict, or fine-tune it for other classes
    Images(Images),
    /// Train a small language model on a text and generate from it
    Text(Text),
    /// Differentiate an expression in four ways, side by side
    Diff(Diff),
    /// Demonstrate one of the ideas behind machine learning
    Demo(Demo),
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove fit data/german-credit.csv --target credit_risk
  tove fit data/diabetes.csv --target progression --model Ridge --set alpha=0.5
  tove fit data/diabetes.csv --target progression --model Ridge --search alpha=0.1,1,10 --search solver=svd,cholesky
  tove fit data/diabetes.csv --target progression --model 'Pipeline(PolynomialFeatures, scale=StandardScaler(), Lasso)' --set lasso.alpha=0.1
  tove fit data/iris.csv --target species --model SVC --cv 10 -o iris.tove --report iris.html
  cat data/wine.csv | tove fit - --target cultivar --model auto --budget 20
  tove fit train.csv --target income --test test.csv --class-weight balanced --encode city=target
  tove fit huge.csv --target price --model Ridge --stream

Models made of others: Name(value, name=value). Estimators without a name are steps or members, under their own names in small letters; scale=StandardScaler() names one; values are numbers, words, lists [0.1, 1] and values by name {alpha: [0.1, 1]}. JSON is read too: {\"type\": \"Ridge\", \"params\": {\"alpha\": 0.5}}. Every hyperparameter inside is reached by --set and --search with a dotted name, such as estimator.ridge.alpha.

Columns are encoded from the training rows alone, anew in every fold: numbers are standardized and missing values imputed by the mean, categories are one-hot encoded (feature-hashed above 100 distinct values), dates become year, month, weekday and time, text is feature-hashed. --encode COLUMN=target replaces a category by its target mean, (sum + 10 mean) / (count + 10), computed for each training row from the other folds, so that a row never sees its own target.")]
pub struct Fit {
    /// The table: CSV or JSON (also gzipped), Parquet, a pipe, or - for standard input
    pub file: PathBuf,
    /// The column to predict; without it the columns are listed
    #[arg(long, short, value_name = "COLUMN", default_value = "", hide_default_value = true)]
    pub target: String,
    /// The model, as `tove models` lists them, or made of several: 'Pipeline(StandardScaler, Ridge(alpha=0.5))'; auto compares
    /// several
    #[arg(long, short, default_value = "auto", value_name = "MODEL")]
    pub model: String,
    /// A hyperparameter of the model, as `tove models NAME` lists them; of a step, STEP.NAME=VALUE
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// Choose a hyperparameter by cross-validation: alpha=0.1,1,10 tries these values, alpha=1e-3..1e3 draws from a range; several
    /// flags try all combinations
    #[arg(long, value_name = "NAME=VALUES", value_parser = pair, conflicts_with = "stream")]
    pub search: Vec<(String, String)>,
    /// Try so many random draws instead of all combinations; 20 where there is a range
    #[arg(long, value_name = "N", requires = "search")]
    pub search_iterations: Option<usize>,
    /// Metric that decides between models and comes first: an id such as roc_auc, log_loss or mean_absolute_error; accuracy or
    /// r2 by default
    #[arg(long, value_name = "ID")]
    pub metric: Option<String>,
    /// Folds of the cross-validation; 0 skips it for a single model
    #[arg(long, default_value_t = 5, value_name = "K")]
    pub cv: usize,
    /// Fraction of the rows held out for the final scores
    #[arg(long, default_value_t = 0.25, value_name = "FRACTION")]
    pub test_size: f64,
    /// A table with the target to evaluate on, instead of held-out rows
    #[arg(long, value_name = "FILE", conflicts_with = "test_size")]
    pub test: Option<PathBuf>,
    /// Hold out the last rows instead of random ones, and later rows in every fold: for time series
    #[arg(long, conflicts_with_all = ["group", "stream"])]
    pub in_order: bool,
    /// Group column: rows with the same value stay together in every split, such as the visits of a patient
    #[arg(long, value_name = "COLUMN", conflicts_with = "stream")]
    pub group: Option<String>,
    /// regression or classification, if the wrong one is inferred from the target
    #[arg(long, value_name = "KIND")]
    pub task: Option<String>,
    /// Sample-weight column
    #[arg(long, value_name = "COLUMN")]
    pub weights: Option<String>,
    /// Columns to leave out of the model
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Columns that identify rows: not used by the model, copied to the predictions
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub id: Vec<String>,
    /// Class weights: balanced, or CLASS=WEIGHT,CLASS=WEIGHT
    #[arg(long, value_name = "HOW")]
    pub class_weight: Option<String>,
    /// Encoding of a column: onehot, target (target mean), ordinal or hash; tfidf or hash for text
    #[arg(long, value_name = "COLUMN=HOW,...", value_parser = reading::pairs)]
    pub encode: Vec<Pairs>,
    /// Value for missing numbers: mean, median or a number, for all columns or as COLUMN=HOW for one; mean by default
    #[arg(long, value_name = "HOW,COLUMN=HOW,...", value_delimiter = ',')]
    pub impute: Vec<String>,
    /// Encoding of text columns: hash, tfidf or drop
    #[arg(long, value_name = "HOW")]
    pub text: Option<String>,
    /// Read the file in chunks, in constant memory; for models with partial fit
    #[arg(long)]
    pub stream: bool,
    /// Memory limit in megabytes, instead of the free memory: a file that needs more is read in chunks
    #[arg(long, env = "TOVE_MEMORY", value_name = "MB")]
    pub memory: Option<u64>,
    /// Time budget in seconds for comparing models and fitting the best, after the file is read; 60 for auto, none for a named
    /// model. Large tables are compared on growing samples, and fits end when their time is up
    #[arg(long, value_name = "SECONDS", conflicts_with = "stream")]
    pub budget: Option<f64>,
    /// Seed of the split, the folds and the models' random numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Model file to write; in the folder of the run by default
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// HTML report to write; in the folder of the run by default
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
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
    /// File for the predictions: .csv, .parquet, .json or .jsonl; standard output by default
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Add a column with the probability of each class
    #[arg(long)]
    pub proba: bool,
    /// Predict the second of two classes where its probability is at least this, instead of 0.5
    #[arg(long, value_name = "P")]
    pub threshold: Option<f64>,
    /// Columns to copy to the predictions; those given as --id when fitting are always copied
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove evaluate credit.tove new-customers.csv
  tove evaluate credit.tove new-customers.csv --metric roc_auc --report new-customers.html
  tove evaluate digits.tove photos
  tove evaluate bard.tove sonnets.txt --metric perplexity")]
pub struct Evaluate {
    /// The model file
    pub model: PathBuf,
    /// A table with the target; for an image model labeled images, as for `tove images fit`; for a text model a text file
    pub file: PathBuf,
    /// Metric to show first: an id such as roc_auc, log_loss, mean_absolute_error or, for a text model, perplexity; by default
    /// accuracy, r2 or log_loss
    #[arg(long, value_name = "ID")]
    pub metric: Option<String>,
    /// Write an HTML report with charts
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace the report if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove explain credit.tove
  tove explain credit.tove data/german-credit.csv --report why.html
  tove explain credit.tove data/german-credit.csv --row 7")]
pub struct Explain {
    /// The model file
    pub model: PathBuf,
    /// A table with the target, for permutation importance and partial dependence
    pub file: Option<PathBuf>,
    /// Explain the prediction for one row of the table, 1 for the first: the contribution of each column (Shapley values), relative
    /// to the other rows
    #[arg(long, value_name = "N", conflicts_with_all = ["metric", "repeats"])]
    pub row: Option<usize>,
    /// How many columns to show
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub top: usize,
    /// Rows of the table to use, sampled at random; 0 for all
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub sample: usize,
    /// Metric of permutation importance: an id such as roc_auc, log_loss or mean_absolute_error; accuracy or r2 by default
    #[arg(long, value_name = "ID")]
    pub metric: Option<String>,
    /// How often each column is shuffled
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub repeats: usize,
    /// Seed of the shuffling
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Write an HTML report with charts
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
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
  curl localhost:8080/predict -H 'content-type: text/csv' --data-binary @new-customers.csv
  tove serve digits.tove
  curl localhost:8080/predict -H 'content-type: image/png' --data-binary @seven.png
  tove serve speeches.tove
  curl localhost:8080/nearest -d '{\"word\": \"peace\"}' -H 'content-type: application/json'
  tove serve bard.tove
  curl localhost:8080/generate -d '{\"prompt\": \"ROMEO:\", \"length\": 100}' -H 'content-type: application/json'")]
pub struct Serve {
    /// The model file
    pub model: PathBuf,
    /// The port; 0 picks a free one and prints it
    #[arg(long, default_value_t = 8080, value_name = "N")]
    pub port: u16,
    /// The address to listen on; only this machine by default
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub host: String,
    /// Host names to accept besides those of this machine (the Host header); * for any. By default a server on a loopback
    /// address accepts loopback names only
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Maximum request body in megabytes
    #[arg(long, default_value_t = 10, value_name = "MB")]
    pub max_body: usize,
    /// Maximum number of rows or images per request, and entries of a list
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    pub max_rows: usize,
    /// Maximum number of tokens to generate per request
    #[arg(long, default_value_t = 2048, value_name = "N")]
    pub max_tokens: usize,
    /// Time limit in seconds for a request, for its headers to arrive, and for an idle connection
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    pub timeout: f64,
    /// Maximum number of connections; beyond it the one idle longest is closed
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub max_connections: usize,
    /// Maximum number of rows per batch of concurrent requests; 1 turns batching off. Predictions do not depend on it
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub batch_rows: usize,
    /// Milliseconds a request waits to be batched with others; 0 does not wait
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
    /// One run: hyperparameters, scores, curves
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
    /// Write an HTML report with charts
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
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
    /// Variables to differentiate with respect to; all by default
    #[arg(long, value_name = "VARIABLE")]
    pub wrt: Vec<String>,
    /// The value of a variable
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub at: Vec<(String, f64)>,
    /// Compare the automatic gradient with finite differences; a mismatch is an error
    #[arg(long)]
    pub check: bool,
    /// Print the recorded program and its reverse
    #[arg(long)]
    pub trace: bool,
}

#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// A name and its value.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// An output file; `-` is standard output.
fn written() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path == Path::new("-") && Path::new("/dev/stdout").exists() {
        true => PathBuf::from("/dev/stdout"),
        false => path,
    })
}

fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = pair(text).map_err(|_| "write NAME=VALUE, such as x=0.5")?;
    let value = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((name, value))
}
