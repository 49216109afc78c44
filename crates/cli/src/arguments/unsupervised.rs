//! Arguments of the commands for tables without a target.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Reading, pair, written};

/// What the commands for tables without a target share.
#[derive(Args)]
pub struct Unlabeled {
    /// A hyperparameter of the method, as `tove models NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub drop: Vec<String>,
    /// Columns that identify rows: not used, copied to the output and to predictions
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub id: Vec<String>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// HTML report to write
    #[arg(long, value_parser = written(), value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: Reading,
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
    /// The method: kmeans (round clusters of similar size around their means), gaussian_mixture (elliptical clusters, with
    /// probabilities), dbscan (dense regions at one scale, and outliers), hdbscan (at all scales), agglomerative (nearest clusters
    /// joined step by step), or any model that finds clusters, as `tove models` lists them
    #[arg(long, short, default_value = "kmeans", value_name = "METHOD")]
    pub method: String,
    #[command(flatten)]
    pub columns: Unlabeled,
    /// Model file to write, for `tove predict` and `tove serve`
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove recommend fit data/movie-ratings.csv --user user --item movie --rating rating -o movies.tove
  tove recommend top movies.tove --user 1
  tove recommend fit purchases.csv --user customer --item article -o shop.tove
  tove recommend top shop.tove --user C-17 --k 5 --json")]
pub struct Recommend {
    #[command(subcommand)]
    pub action: RecommendAction,
}

#[derive(Subcommand)]
pub enum RecommendAction {
    /// Fit a recommender to ratings or choices, score it on held-out ones, save it
    ///
    /// With --rating a matrix factorization predicts ratings; a fifth of them is held out, and the error is compared with that of user
    /// mean + item mean - mean. Without it a row says that the user chose the item (implicit feedback); a fifth of each user's items is
    /// held out, and lists of 10 items are compared with the 10 most popular ones. Unless --set gives hyperparameters, regularization and
    /// confidence are chosen on another fifth of the rest. The saved model is fitted to all rows.
    Fit(RecommendFit),
    /// List the best items for a user, without those that the user has already
    Top(RecommendTop),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove recommend fit data/movie-ratings.csv --user user --item movie --rating rating -o movies.tove
  tove recommend fit data/movie-ratings.csv --user user --item movie --set n_components=8 -o seen.tove")]
pub struct RecommendFit {
    /// The table, a row for each rating or choice: CSV or JSON (also gzipped), Parquet, a pipe, or - for standard input
    pub file: PathBuf,
    /// The column of users
    #[arg(long, value_name = "COLUMN")]
    pub user: String,
    /// The column of items
    #[arg(long, value_name = "COLUMN")]
    pub item: String,
    /// The column of ratings; without it rows are choices (implicit feedback)
    #[arg(long, value_name = "COLUMN")]
    pub rating: Option<String>,
    /// A hyperparameter of MatrixFactorization, or of ImplicitFactorization without ratings, as `tove models NAME` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub settings: Vec<(String, String)>,
    /// Seed of the factors and of what is held out
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Model file to write
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
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
  tove recommend top movies.tove --user 1
  tove recommend top movies.tove --user 1 --k 3 --json")]
pub struct RecommendTop {
    /// The model file
    pub model: PathBuf,
    /// The user, as the table of the fit names users
    #[arg(long, value_name = "ID")]
    pub user: String,
    /// How many items
    #[arg(long, short, default_value_t = 10, value_name = "N")]
    pub k: usize,
}

/// The methods of dimensionality reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ReduceMethod {
    /// Directions of largest variance, of standardized numbers
    Pca,
    /// Directions of the largest singular values, of numbers as they are
    TruncatedSvd,
    /// Parts without negative weights, of numbers that are not negative
    Nmf,
    /// A layout that keeps neighbors together, for pictures, of standardized numbers
    Umap,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove reduce data/wine.csv --drop cultivar
  tove reduce data/wine.csv --drop cultivar --components 5 -o wine-pca.csv --report wine-pca.html
  tove reduce data/wine.csv --id cultivar --components 0.9 -o wine-pca.csv
  tove reduce counts.csv --method nmf --components 4 -o parts.parquet
  tove reduce data/wine.csv --id cultivar --method umap --set n_neighbors=10 --report wine-umap.html
  tove reduce data/wine.csv --drop cultivar --components 5 -o wine.tove
  tove reduce digits --components 20 -o digits.tove --report digits.html
  tove rebuild digits.tove -o rebuilt

Categories are one-hot encoded and missing numbers imputed by the mean; for pca and umap numbers are standardized. Text, constant columns and columns with more than 100 categories are left out. With pca, --components takes a number, all, or a share of the variance to explain.

A file ending in .tove holds the components with what `tove rebuild` needs to give the table back; umap has no way back. Images (a folder of PNG or JPEG files, IDX files, or the word digits for the built-in ones) are compressed by pca to --components numbers of 16 bits each.")]
pub struct Reduce {
    /// The table: CSV or JSON (also gzipped), Parquet, a pipe, or - for standard input; or images
    pub file: PathBuf,
    /// Number of components; 2 of a table and 50 of images by default, or as many as there are
    #[arg(long, short, value_name = "N")]
    pub components: Option<String>,
    /// The method
    #[arg(long, short, default_value = "pca", value_name = "METHOD")]
    pub method: ReduceMethod,
    #[command(flatten)]
    pub columns: Unlabeled,
    /// Leave numbers as they are instead of standardizing them, so that columns of large numbers count more
    #[arg(long)]
    pub no_scale: bool,
    /// File for the components: .csv, .parquet, .json or .jsonl; .tove for one that can be rebuilt
    #[arg(long, short, value_parser = written(), value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  tove reduce digits --components 20 -o digits.tove
  tove rebuild digits.tove -o rebuilt
  tove reduce data/wine.csv --components 5 -o wine.tove
  tove rebuild wine.tove -o wine-rebuilt.csv")]
pub struct Rebuild {
    /// The file that `tove reduce` wrote
    pub file: PathBuf,
    /// Where to write: a table as .csv, .parquet, .json or .jsonl; images as PNG files in a new folder, or as one .idx file
    #[arg(long, short, value_parser = written(), value_name = "FILE|FOLDER")]
    pub output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
}
