//! `tove cluster`: the clusters of a table's rows and what distinguishes them.

mod page;
mod summary;

use std::path::Path;

use serde_json::{Value, json};
use tove::data::table::{Role, Table, Wanted};
use tove::learn::{Predictions, registry};
use tove::nn::interrupt_flag;
use tove::tabular::{Candidate, ClusterCount, ClusterOutcome, ClusterPlan, ClusterProfile, ClusterTrait, TabularError};
use tove::tensor::io::WriteOptions;

use crate::arguments::Cluster;
use crate::commands::fit::{Progress, heard};
use crate::failure::Failure;
use crate::files;
use crate::model_text;
use crate::output::{Output, counted};
use crate::tables;

/// Starts of k-means and of mixtures, of which the best is kept.
const STARTS: usize = 10;

pub fn run(cluster: &Cluster, output: &Output) -> Result<(), Failure> {
    let candidate = candidate(cluster)?;
    let count = count(cluster, &candidate)?;
    files::differ(&[cluster.output.as_ref(), cluster.columns.report.as_ref()])?;
    cluster.output.as_deref().map_or(Ok(()), files::model_name)?;
    for path in [&cluster.output, &cluster.columns.report].into_iter().flatten() {
        files::may_write(path, cluster.columns.overwrite, &[&cluster.file])?;
    }
    let wanted = Wanted { only: None, unneeded: cluster.columns.drop.clone() };
    let (data, read) = tables::read_opened(tables::open(&cluster.file)?, &cluster.columns.reading, &wanted)?;
    tables::remark(&cluster.file, &read, output);
    let flag = interrupt_flag()?;
    tove::optim::interrupt_on(flag.clone());
    let mut plan = ClusterPlan::new(candidate).count(count).stop(flag);
    for (columns, role) in [(&cluster.columns.drop, Role::Dropped), (&cluster.columns.id, Role::Id)] {
        for column in columns {
            data.column(column).map_err(|error| tables::wrong_call(data.names(), error))?;
            plan = plan.role(column.as_str(), role);
        }
    }
    let formats = read.columns.iter().filter_map(|column| Some((column.name.as_str(), column.format?)));
    let plan = formats.fold(plan, |plan, (name, format)| plan.number_format(name, format));
    let progress = Progress::new(output);
    // Of the fits that choose the number of clusters, the warnings of the last count.
    let (found, _) = heard(|| plan.fit(&data, &mut |event| progress.watch(event)));
    progress.end();
    let found = found.map_err(|error| failed(cluster, &data, error))?;
    if let ClusterCount::Fixed(k) = count
        && found.n_clusters() < k
    {
        let (found, equal) = (found.n_clusters(), "no row is left for the others, as some rows are equal or nearly so");
        output.remark(format!("warning: {k} clusters were asked for and {found} have rows: {equal}"));
    }
    finish(cluster, &found, output)
}

fn failed(cluster: &Cluster, data: &Table, error: TabularError) -> Failure {
    match error {
        TabularError::Interrupted => Failure::interrupted(error),
        other => tables::failed(&cluster.file, data.names(), other),
    }
}

/// The number of clusters that is asked for.
fn count(cluster: &Cluster, candidate: &Candidate) -> Result<ClusterCount, Failure> {
    let set = |name: &str| cluster.columns.settings.iter().any(|(known, _)| known == name);
    let own = ["n_clusters", "n_components"].iter().all(|name| candidate.estimator.value(name).is_none());
    if cluster.k == "auto" {
        // What was set by hand stays.
        let known = ["n_clusters", "n_components", "k", "distance_threshold", "eps", "initial_centers", "means_init"];
        return Ok(if known.iter().any(|name| set(name)) { ClusterCount::AsSet } else { ClusterCount::Auto });
    }
    let wrong = |problem: &str| Err(Failure::usage(format!("--k {}: {problem}", cluster.k)));
    if let Some(name) = ["n_clusters", "n_components", "k"].into_iter().find(|name| set(name)) {
        return wrong(&format!("--set {name} says it too; give one of them"));
    }
    match cluster.k.parse::<usize>() {
        _ if own => wrong("this method finds the number of clusters itself; leave it out"),
        Ok(k) if k > 0 => Ok(ClusterCount::Fixed(k)),
        _ => wrong("give a whole number from 1, or auto"),
    }
}

/// The estimator with the seed and the settings of the command line.
fn candidate(cluster: &Cluster) -> Result<Candidate, Failure> {
    let name = match cluster.method.as_str() {
        "kmeans" => "KMeans",
        "gaussian_mixture" => "GaussianMixture",
        "dbscan" => "DBSCAN",
        "hdbscan" => "HDBSCAN",
        "agglomerative" => "AgglomerativeClustering",
        other => other,
    };
    let wrong = |problem: String| Failure::usage(format!("--method {}: {problem}", cluster.method));
    let known = || {
        let all = registry::all();
        let models =
            all.iter().filter(|entry| !entry.composite && entry.capabilities.clusters()).map(|entry| entry.name);
        models.collect::<Vec<_>>().join(", ")
    };
    let take = "take kmeans, gaussian_mixture, dbscan, hdbscan or agglomerative";
    let named = Candidate::named(name);
    let mut candidate =
        named.map_err(|_| wrong(format!("there is no such method; {take}, or one of the models {}", known())))?;
    if !candidate.predicts(Predictions::Clusters) {
        return Err(wrong(format!("it finds no clusters; {take}")));
    }
    if candidate.estimator.value("seed").is_some() {
        candidate = candidate.set("seed", cluster.columns.seed)?;
    }
    if candidate.estimator.value("n_init").is_some() {
        candidate = candidate.set("n_init", STARTS)?;
    }
    for (name, value) in &cluster.columns.settings {
        model_text::set(&mut *candidate.estimator, name, value)?;
    }
    candidate.estimator.validate().map_err(Failure::usage)?;
    Ok(candidate)
}

/// Saves the model and the report, prints the result.
fn finish(cluster: &Cluster, found: &ClusterOutcome, output: &Output) -> Result<(), Failure> {
    for one in &found.left_out {
        output.remark(format!("column {} is left out: it {}", one.column, one.reason));
    }
    for (column, rows) in &found.imputed {
        output.remark(format!("column {column}: {} imputed", counted(*rows, "missing value")));
    }
    for warning in &found.model.model().summary().warnings {
        output.remark(format!("warning: {warning}"));
    }
    let options = WriteOptions { overwrite: cluster.columns.overwrite, ..WriteOptions::default() };
    if let Some(path) = &cluster.output {
        found.model.save(path, options)?;
    }
    if let Some(path) = &cluster.columns.report {
        page::report(cluster, found)?.save(path, options)?;
    }
    let written: Vec<&Path> =
        [&cluster.output, &cluster.columns.report].into_iter().flatten().map(AsRef::as_ref).collect();
    if written.iter().any(|path| files::is_stdout(path)) {
        // The words must not come between the bytes of the file.
        output.remark(summary::text(cluster, found));
    } else {
        output.result(|| summary::text(cluster, found), || document(cluster, found))?;
    }
    match found.interrupted {
        true => Err(Failure::interrupted("interrupted; the best number of clusters so far was kept")),
        false => Ok(()),
    }
}

fn document(cluster: &Cluster, found: &ClusterOutcome) -> Value {
    let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let difference = |one: &ClusterTrait| {
        json!({
            "column": one.column, "category": one.category, "value": one.value, "overall": one.overall,
            "standard_deviations": one.effect,
        })
    };
    let entry = |one: &ClusterProfile| {
        let traits: Vec<Value> = one.traits.iter().take(summary::MOST_DOCUMENTED).map(difference).collect();
        json!({
            "cluster": one.label, "size": one.size, "share": one.share, "silhouette": one.silhouette, "differences": traits,
        })
    };
    let tried: Vec<Value> = found.tried.iter().map(|(k, value)| json!({"k": k, "silhouette": value})).collect();
    let left_out: Vec<Value> =
        found.left_out.iter().map(|one| json!({"column": one.column, "reason": one.reason})).collect();
    json!({
        "file": cluster.file.display().to_string(), "model": found.model.model().name(),
        "settings": found.model.model().settings(), "rows": found.labels.len(), "k": found.n_clusters(),
        "outliers": found.outliers(), "silhouette": found.silhouette, "silhouette_rows": found.silhouette_rows,
        "tried": tried, "verdict": summary::verdict(found),
        "clusters": found.clusters.iter().map(entry).collect::<Vec<_>>(), "labels": found.labels, "left_out": left_out,
        "imputed": found.imputed.iter().map(|(name, rows)| (name.clone(), json!(rows))).collect::<serde_json::Map<_, _>>(),
        "warnings": found.model.model().summary().warnings, "interrupted": found.interrupted, "seed": cluster.columns.seed,
        "seconds": found.seconds, "model_file": shown(&cluster.output), "report": shown(&cluster.columns.report),
    })
}
