//! Arguments of the commands for tables without a target.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Reading, pair};

/// The clustering methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ClusterMethod {
    /// Round clusters of similar size around their means
    Kmeans,
    /// Elliptical clusters, with probabilities
    GaussianMixture,
    /// Dense regions at one scale, and outliers
    Dbscan,
    /// Dense regions at all scales, and outliers
    Hdbscan,
    /// Nearest clusters joined step by step
    Agglomerative,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove cluster data/iris.csv --drop species
  tove cluster data/wine.csv --drop cultivar --k 3 -o wine.tove --report wine.html
  tove cluster customers.csv --id customer --method gaussian_mixture --set covariance_type=diag
  tove cluster data/iris.csv --drop species --method dbscan --set eps=0.6 --set min_samples=4
  tove predict wine.tove new-wines.csv

Numbers are standardized, with missing ones imputed by the mean; categories are one-hot encoded. Text, constant columns and columns with more than 100 categories are left out. --k auto tries 2 to 10 clusters and takes the number with the largest mean silhouette, computed from at most 2000 rows. The radius eps of dbscan, unless it is set, is one within which 90 % of the rows have min_samples neighbors.")]
pub struct Cluster {
    /// The table: CSV or JSON (also gzipped), Parquet, a pipe, or - for standard input
    pub file: PathBuf,
    /// Number of clusters, or auto; dbscan and hdbscan find it themselves
    #[arg(long, short, default_value = "auto", value_name = "N")]
    pub k: String,
    /// The method
    #[arg(long, short, default_value = "kmeans", value_name = "METHOD")]
    pub method: ClusterMethod,
    /// A hyperparameter of the method, as `tove models NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Columns that identify rows: not used by the model, copied to the predictions
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub id: Vec<String>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Model file to write, for `tove predict` and `tove serve`
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// HTML report to write
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
}
