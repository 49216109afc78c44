//! Clustering the rows of a table.
//!
//! The table is encoded as for a fit (standardized numbers, one-hot encoded categories) and clustered. Where the number of clusters is
//! not given, it is the one from 2 to 10 with the largest silhouette; of DBSCAN, the radius is chosen by the distances to neighbors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;
use tove_data::Problem;
use tove_data::table::{NumberFormat, Role, Schema, Table, TargetLabels, Task};
use tove_learn::{Fit, LearnError, Model, NearestNeighbors, Predict, Samples};
use tove_metrics::silhouette_samples;
use tove_optim::settings::Hyperparameters;
use tove_tensor::{Key, Tensor};

use super::cluster_profile::{ClusterProfile, profiles};
use super::reduce::{Plane, plane};
use super::split::taken;
use super::unlabeled::{Columns, LeftOut};
use super::{Candidate, ColumnCounts, Event, Result, Safeguards, TabularError, TabularModel};

/// The largest number of clusters that is tried.
const MOST: usize = 10;
/// Rows that silhouettes and neighbor distances are computed from, at most: the cost grows with their square.
const SAMPLE: usize = 2000;
/// The share of rows that are to have enough neighbors within the radius of DBSCAN.
const DENSE: f64 = 0.9;

/// How many clusters there are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterCount {
    /// By the silhouette; methods that find the number themselves do so.
    #[default]
    Auto,
    /// So many.
    Fixed(usize),
    /// By the hyperparameters of the estimator.
    AsSet,
}

/// How to cluster a table.
#[derive(Clone)]
pub struct ClusterPlan {
    candidate: Candidate,
    count: ClusterCount,
    columns: Columns,
    stop: Option<Arc<AtomicBool>>,
}

/// What clustering found.
pub struct ClusterOutcome {
    /// The model, which gives the cluster of any row.
    pub model: TabularModel,
    /// The cluster of each row; −1 for outliers.
    pub labels: Vec<i64>,
    /// The clusters, the largest first, then the outliers.
    pub clusters: Vec<ClusterProfile>,
    /// The mean silhouette without outliers; none for fewer than two clusters.
    pub silhouette: Option<f64>,
    /// Rows that silhouettes were computed from.
    pub silhouette_rows: usize,
    /// The numbers of clusters that were tried, each with its mean silhouette.
    pub tried: Vec<(usize, f64)>,
    /// The rows along the two directions of largest variance.
    pub plane: Plane,
    /// Columns in which missing values were filled, and how many.
    pub imputed: ColumnCounts,
    /// Columns that were left out.
    pub left_out: Vec<LeftOut>,
    /// Whether the choice of the number of clusters was interrupted.
    pub interrupted: bool,
    /// Seconds in all.
    pub seconds: f64,
}

impl ClusterOutcome {
    /// Number of clusters, without outliers.
    pub fn n_clusters(&self) -> usize {
        self.clusters.iter().filter(|cluster| cluster.label >= 0).count()
    }

    /// Number of rows in no cluster.
    pub fn outliers(&self) -> usize {
        self.labels.iter().filter(|&&label| label < 0).count()
    }
}

/// A fitted model with the labels of its samples.
struct Clustered {
    model: Box<dyn Model>,
    labels: Vec<i64>,
    k: usize,
}

impl ClusterPlan {
    /// Clusters with this estimator: KMeans, GaussianMixture, AgglomerativeClustering, DBSCAN, HDBSCAN, …
    ///
    /// ```
    /// use tove::tabular::{Candidate, ClusterPlan};
    /// let text = "size,color\n1,red\n1.2,red\n0.9,red\n8,blue\n8.1,blue\n7.8,blue\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let found = ClusterPlan::new(Candidate::named("KMeans")?).fit(&table, &mut |_| {})?;
    /// assert_eq!((found.n_clusters(), found.clusters[0].size), (2, 3));
    /// let later = found.model.predict(&table)?.column;
    /// assert_eq!(later.number(0), Some(found.labels[0] as f64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(candidate: Candidate) -> ClusterPlan {
        ClusterPlan { candidate, count: ClusterCount::Auto, columns: Columns::default(), stop: None }
    }

    /// How many clusters there are to be.
    #[must_use]
    pub fn count(self, count: ClusterCount) -> ClusterPlan {
        ClusterPlan { count, ..self }
    }

    /// Gives a column another role than that of a feature.
    #[must_use]
    pub fn role(mut self, column: impl Into<String>, role: Role) -> ClusterPlan {
        self.columns.roles.push((column.into(), role));
        self
    }

    /// How the numbers of a column are written in text files, which the model then reads in the same way.
    #[must_use]
    pub fn number_format(mut self, column: impl Into<String>, format: NumberFormat) -> ClusterPlan {
        self.columns.formats.push((column.into(), format));
        self
    }

    /// A flag that ends the choice of the number of clusters; the best one so far is kept.
    #[must_use]
    pub fn stop(self, flag: Arc<AtomicBool>) -> ClusterPlan {
        ClusterPlan { stop: Some(flag), ..self }
    }

    fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The hyperparameter with the number of clusters, if there is one.
    fn count_name(&self) -> Option<&'static str> {
        ["n_clusters", "n_components"].into_iter().find(|name| self.candidate.estimator.value(name).is_some())
    }

    /// Clusters the rows of a table; `watch` is called with what happens.
    ///
    /// # Errors
    /// If there are too few rows, no columns, or more clusters than rows are asked for; if the estimator does not cluster.
    pub fn fit(&self, table: &Table, watch: &mut dyn FnMut(&Event)) -> Result<ClusterOutcome> {
        let start = Instant::now();
        let name = self.candidate.name.as_str();
        if !self.candidate.predicts(tove_learn::Predictions::Clusters) {
            return Err(TabularError::plan(format!("{name} does not find clusters; choose a model that does")));
        }
        let data = self.columns.prepare(table)?;
        let samples = Samples::unlabeled(data.x.clone())?;
        let mut tried = Vec::new();
        let found = match (self.count, self.count_name()) {
            (ClusterCount::Fixed(_), None) => {
                let problem = format!("{name} finds the number of clusters itself; leave it out");
                return Err(TabularError::plan(problem));
            }
            (ClusterCount::Fixed(k), Some(setting)) => self.fit_count(&samples, setting, k)?,
            (ClusterCount::Auto, Some(setting)) => self.best(&samples, setting, &mut tried, watch)?,
            (ClusterCount::Auto, None) => {
                let candidate = match self.candidate.estimator.value("eps") {
                    Some(_) => self.candidate.clone().set("eps", self.radius(&samples)?)?,
                    None => self.candidate.clone(),
                };
                clustered(&candidate, &samples)?
            }
            (ClusterCount::AsSet, _) => clustered(&self.candidate, &samples)?,
        };
        let silhouettes = silhouettes(&data.x, &found.labels)?;
        let facts = json!({
            "train_rows": table.n_rows(), "model": name, "clusters": found.k,
            "silhouette": silhouettes.as_ref().map(|known| known.mean()),
        });
        Ok(ClusterOutcome {
            clusters: profiles(table, &data.schema, &found.labels, silhouettes.as_ref())?,
            silhouette: silhouettes.as_ref().map(Silhouettes::mean),
            silhouette_rows: silhouettes.as_ref().map_or(0, |known| known.rows.len()),
            tried,
            plane: plane(&data.x)?,
            imputed: data.imputed,
            left_out: data.left_out,
            interrupted: self.stopped(),
            labels: found.labels,
            model: cluster_model(data.schema, data.encoder, found.model, found.k, facts),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn fit_count(&self, samples: &Samples, setting: &str, k: usize) -> Result<Clustered> {
        let n = samples.len();
        if k == 0 || k > n {
            let problem = format!("{k} clusters of {n} rows");
            return Err(TabularError::plan(format!("{problem}; give a number from 1 to {n}")));
        }
        clustered(&self.candidate.clone().set(setting, k)?, samples)
    }

    /// The number of clusters with the largest silhouette; ties go to the smallest.
    fn best(
        &self,
        samples: &Samples,
        setting: &str,
        tried: &mut Vec<(usize, f64)>,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Clustered> {
        let (n, x) = (samples.len(), samples.x().to_dense()?);
        let most = MOST.min(n.saturating_sub(1));
        if most < 2 {
            let problem = Problem::new(format!("{n} rows are too few to choose the number of clusters"));
            return Err(TabularError::plan(problem.advice("give at least three rows, or the number of clusters")));
        }
        let mut best: Option<(f64, Clustered)> = None;
        for k in 2..=most {
            let candidate = format!("{}, {k} clusters", self.candidate.name);
            watch(&Event::Fitting { candidate, rows: n, done: k - 2, total: most - 1 });
            let found = match self.fit_count(samples, setting, k) {
                Err(TabularError::Interrupted) if best.is_some() => {
                    watch(&Event::Interrupted);
                    break;
                }
                other => other?,
            };
            // Equal rows may leave fewer clusters than asked for.
            let Some(silhouettes) = silhouettes(&x, &found.labels)? else { continue };
            let value = silhouettes.mean();
            tried.push((k, value));
            if best.as_ref().is_none_or(|(largest, _)| value > *largest) {
                best = Some((value, found));
            }
        }
        let problem = "the rows do not form at least two clusters: all of them are equal or nearly so";
        let none = || TabularError::plan(Problem::new(problem).advice("give columns that distinguish rows"));
        best.map(|(_, found)| found).ok_or_else(none)
    }

    /// A radius within which most rows have as many neighbors as a core sample needs.
    fn radius(&self, samples: &Samples) -> Result<f64> {
        let wanted = self.candidate.estimator.value("min_samples").and_then(|value| value.to_string().parse().ok());
        let k = wanted.unwrap_or(5usize).clamp(1, samples.len());
        let some = samples.take(&sample(samples.len()))?;
        let index = NearestNeighbors::default().fit_samples(samples)?;
        // The sample itself is its nearest neighbor.
        let found = index.kneighbors(some.x().clone(), k)?.distances.to_f64_vec();
        let mut last: Vec<f64> = found.chunks_exact(k).map(|row| row[k - 1]).collect();
        last.sort_by(f64::total_cmp);
        let radius = last[((last.len() - 1) as f64 * DENSE) as usize];
        // Rows that are nearly all equal have no distance between them.
        Ok(if radius > 0.0 { radius } else { 0.5 })
    }
}

/// A model of clusters for tables.
fn cluster_model(
    schema: Schema,
    encoder: tove_data::table::TableEncoder,
    model: Box<dyn Model>,
    k: usize,
    facts: serde_json::Value,
) -> TabularModel {
    TabularModel {
        schema,
        encoder,
        labels: TargetLabels { task: Task::Clustering(k), classes: Vec::new() },
        target: "cluster".to_owned(),
        model: TabularModel::batch_invariant(model),
        safeguards: Safeguards::default(),
        profile: None,
        facts,
    }
}

fn clustered(candidate: &Candidate, samples: &Samples) -> Result<Clustered> {
    let model = candidate.estimator.fit_samples(samples).map_err(|error| match error {
        LearnError::Interrupted { .. } => TabularError::Interrupted,
        other => other.into(),
    })?;
    let own = model.attributes().into_iter().find(|(name, _)| *name == "labels").map(|(_, labels)| labels);
    let labels: Vec<i64> = match own {
        Some(labels) => labels.try_to_vec::<i64>()?,
        None => model.predict(samples.x().clone())?.try_to_vec::<i64>()?,
    };
    // A component of a mixture may be the most probable one for no row.
    let k = match model.capabilities().probabilities {
        true => model.predict_proba(samples.x().take(&[0])?)?.dims()[1],
        false => labels.iter().max().map_or(0, |&last| usize::try_from(last + 1).unwrap_or(0)),
    };
    Ok(Clustered { model, labels, k })
}

/// Places of at most [`SAMPLE`] rows, drawn at random: a table may repeat itself every so many rows.
fn sample(n: usize) -> Vec<usize> {
    drawn_rows(n, SAMPLE)
}

/// Places of at most `most` of `n` rows, drawn at random and always the same, in order.
///
/// ```
/// use tove::tabular::drawn_rows;
/// assert_eq!(drawn_rows(3, 5), [0, 1, 2]);
/// assert_eq!(drawn_rows(1000, 10).len(), 10);
/// ```
pub fn drawn_rows(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let order = Key::new(0).permutation(n).to_vec::<i64>();
    let mut rows: Vec<usize> = order.into_iter().take(most).map(|row| row as usize).collect();
    rows.sort_unstable();
    rows
}

/// Silhouettes of some rows.
pub(super) struct Silhouettes {
    /// The rows.
    pub rows: Vec<usize>,
    /// A silhouette each.
    pub values: Vec<f64>,
}

impl Silhouettes {
    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len().max(1) as f64
    }
}

/// Silhouettes of the rows that are in a cluster; none if there are fewer than two clusters, or as many as rows.
fn silhouettes(x: &Tensor, labels: &[i64]) -> Result<Option<Silhouettes>> {
    let mut rows = sample(labels.len());
    rows.retain(|&row| labels[row] >= 0);
    let own: Vec<i64> = rows.iter().map(|&row| labels[row]).collect();
    let mut different = own.clone();
    different.sort_unstable();
    different.dedup();
    if different.len() < 2 || different.len() >= own.len() {
        return Ok(None);
    }
    let values = silhouette_samples(&taken(x, &rows)?, &Tensor::from_slice(&own))?.to_f64_vec();
    Ok(Some(Silhouettes { rows, values }))
}
