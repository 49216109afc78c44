//! Arguments of the commands about trust in models.

use std::path::PathBuf;

use clap::Args;

use super::Reading;

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove audit credit.tove held-out.csv
  tove audit credit.tove held-out.csv --sensitive sex,age --report audit.html
  tove audit credit.tove held-out.csv --cost costs.json --alpha 0.05
  tove audit --predictions scored.csv --target credit_risk
  tove audit credit.tove new-customers.csv
  tove audit digits.tove photos --report audit.html

Audit a model on rows that were not used for fitting. Without the target in the table, the new rows are compared with the training rows (drift).

Predictions of another system are read from a table with the truth (--target), the column `predicted TARGET` (or --prediction COLUMN), and probabilities: one column P(class) per class, or --probability COLUMN with that of the second of two classes.

A file of costs holds a JSON matrix [[0, 5], [1, 0]]: row i, column j is the cost of predicting class i when class j is true, with the classes in the order in which `tove inspect` lists them.")]
pub struct Audit {
    /// The model file
    #[arg(required_unless_present = "predictions")]
    pub model: Option<PathBuf>,
    /// A table that was not used for fitting, with the target, or without it to look for drift only; for an image model labeled
    /// images, as for `tove images fit`
    #[arg(required_unless_present = "predictions")]
    pub file: Option<PathBuf>,
    /// Audit the predictions of another system in this table, instead of a model
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "file"], requires = "target")]
    pub predictions: Option<PathBuf>,
    /// The column with the truth, of --predictions
    #[arg(long, short, value_name = "COLUMN", requires = "predictions")]
    pub target: Option<String>,
    /// The column with the predictions, of --predictions
    #[arg(long, value_name = "COLUMN", requires = "predictions")]
    pub prediction: Option<String>,
    /// The column with the probability of the second of two classes, of --predictions
    #[arg(long, value_name = "COLUMN", requires = "predictions")]
    pub probability: Option<String>,
    /// Columns by which the model must not discriminate; they need not be features of the model
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub sensitive: Vec<String>,
    /// A JSON file with the cost of predicting class i (rows) when class j (columns) is true
    #[arg(long, value_name = "FILE.json")]
    pub cost: Option<PathBuf>,
    /// Share of prediction sets or intervals that may miss the truth
    #[arg(long, default_value_t = 0.1, value_name = "ALPHA")]
    pub alpha: f64,
    /// Sizes of attacks, in standard deviations of the columns, or of pixels between 0 and 1; 0.05,0.1,0.2,0.5 or 0.01,0.03,0.1 by
    /// default
    #[arg(long, value_name = "EPS,...", value_delimiter = ',')]
    pub eps: Option<Vec<f64>>,
    /// Seed of everything random
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Write an HTML report with charts
    #[arg(long, value_name = "FILE.html")]
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
  tove calibrate credit.tove held-out.csv -o calibrated.tove
  tove calibrate credit.tove held-out.csv --method isotonic -o calibrated.tove

Fit a map from the model's scores to probabilities on rows that were not used for fitting. A random half of the rows fits the map, the other half checks it: the new file records the calibration error before and after, and whether the check was passed.")]
pub struct Calibrate {
    /// The model file of a classifier
    pub model: PathBuf,
    /// A table with the target that was not used for fitting
    pub file: PathBuf,
    /// How: temperature, sigmoid, isotonic, beta, vector or venn-abers; auto takes isotonic for two classes and
    /// at least 2000 rows, of which half fit the map, and temperature otherwise
    #[arg(long, short, default_value = "auto", value_name = "METHOD")]
    pub method: String,
    /// The new model file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Seed of the split into halves
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove conformal credit.tove held-out.csv --alpha 0.1 -o credit-sets.tove
  tove conformal credit.tove held-out.csv --by region -o credit-sets.tove
  tove conformal prices.tove held-out.csv -o price-intervals.tove

Add prediction sets (classification) or intervals (regression) to a model: they hold the truth for at least 1 - ALPHA of new rows on average, whatever the model, provided that the rows of FILE and new rows are exchangeable, such as independent rows of one distribution. With --by, this holds in every group of a column.")]
pub struct Conformal {
    /// The model file
    pub model: PathBuf,
    /// A table with the target that was not used for fitting
    pub file: PathBuf,
    /// Share of sets or intervals that may miss the truth
    #[arg(long, default_value_t = 0.1, value_name = "ALPHA")]
    pub alpha: f64,
    /// Score of a classification: lac for the smallest sets, aps or raps for sets that adapt to how hard a row is
    #[arg(long, default_value = "lac", value_name = "SCORE")]
    pub score: String,
    /// Guarantee the coverage in each group of this column, or in each class with --by-class
    #[arg(long, value_name = "COLUMN", conflicts_with = "by_class")]
    pub by: Option<String>,
    /// Guarantee the coverage for each true class
    #[arg(long)]
    pub by_class: bool,
    /// The new model file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove fair credit.tove held-out.csv --sensitive sex -o fair.tove
  tove fair credit.tove held-out.csv --sensitive sex --criterion equalized-odds -o fair.tove

Choose a decision threshold for each group of a column, so that a gap between the groups closes at the least loss of accuracy. Some criteria need randomized decisions near a threshold: the same row is always decided in the same way. The new model needs the sensitive column to predict.")]
pub struct Fair {
    /// The model file of a classifier of two classes with probabilities
    pub model: PathBuf,
    /// A table with the target and the sensitive column that was not used for fitting
    pub file: PathBuf,
    /// The column whose groups are to be treated alike
    #[arg(long, value_name = "COLUMN")]
    pub sensitive: String,
    /// The gap to close: demographic-parity (equal acceptance), equal-opportunity (equal true positive rates),
    /// false-positive-rate-parity, or equalized-odds (equal true and false positive rates)
    #[arg(long, default_value = "demographic-parity", value_name = "CRITERION")]
    pub criterion: String,
    /// The new model file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}
