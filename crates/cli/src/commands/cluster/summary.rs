//! Clusters for people: a verdict, the clusters with what distinguishes them, the numbers of clusters that were tried.

use tove::tabular::{ClusterOutcome, ClusterProfile, ClusterTrait};

use crate::arguments::Cluster;
use crate::output::{number, paragraph, table};

/// Differences of a cluster that are shown, and that a JSON document has, at most.
const MOST_SHOWN: usize = 3;
pub const MOST_DOCUMENTED: usize = 20;
/// Clusters that are listed, at most.
const MOST_CLUSTERS: usize = 30;
/// Standard deviations below which a column does not distinguish a cluster.
const SLIGHT: f64 = 0.2;

/// What was found, in a sentence or two.
pub fn verdict(found: &ClusterOutcome) -> String {
    let (k, rows, name) = (found.n_clusters(), found.labels.len(), found.model.model().name());
    let clusters = if k == 1 { "1 cluster".to_owned() } else { format!("{k} clusters") };
    let mut text = match k {
        0 => format!("{name} finds no cluster in {rows} rows: all are outliers."),
        _ => format!("{name} finds {clusters} in {rows} rows."),
    };
    if k > 0 && found.outliers() > 0 {
        let share = 100.0 * found.outliers() as f64 / rows as f64;
        text.push_str(&format!(" {} rows ({share:.1} %) are outliers.", found.outliers()));
    }
    if let Some(value) = found.silhouette {
        // The ranges of Kaufman and Rousseeuw, "Finding groups in data" (1990).
        let words = match value {
            value if value > 0.7 => "the clusters are clearly separated",
            value if value > 0.5 => "the clusters are fairly well separated",
            value if value > 0.25 => "the clusters overlap",
            _ => "the rows hardly form clusters",
        };
        text.push_str(&format!(" The mean silhouette is {value:.3}: {words}."));
    }
    text
}

/// A difference in words: `petal_length 5.55 (3.76)`, `housing=own 92 % (71 %)`.
fn difference(one: &ClusterTrait) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let sign = if one.effect < 0.0 { "−" } else { "+" };
    let effect = format!("{sign}{:.1} SD", one.effect.abs());
    match &one.category {
        Some(category) => {
            format!("{}={category} {} (all: {}, {effect})", one.column, percent(one.value), percent(one.overall))
        }
        None => format!("{} {} (all: {}, {effect})", one.column, number(one.value), number(one.overall)),
    }
}

/// A row for each cluster.
pub fn cluster_rows(found: &ClusterOutcome) -> Vec<Vec<String>> {
    let head = ["cluster", "rows", "share", "silhouette", "what distinguishes it"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for cluster in found.clusters.iter().take(MOST_CLUSTERS) {
        rows.push(vec![
            if cluster.label < 0 { "outliers".to_owned() } else { cluster.label.to_string() },
            cluster.size.to_string(),
            format!("{:.1} %", 100.0 * cluster.share),
            cluster.silhouette.map_or(String::new(), |value| format!("{value:.3}")),
            distinguishing(cluster),
        ]);
    }
    rows
}

fn distinguishing(cluster: &ClusterProfile) -> String {
    let clear: Vec<String> =
        cluster.traits.iter().filter(|one| one.effect.abs() >= SLIGHT).take(MOST_SHOWN).map(difference).collect();
    if clear.is_empty() { "no column differs much".to_owned() } else { clear.join("; ") }
}

/// A row for each number of clusters that was tried.
pub fn tried_rows(found: &ClusterOutcome) -> Vec<Vec<String>> {
    let mut rows = vec![["k", "silhouette", ""].map(str::to_owned).to_vec()];
    let best = found.tried.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
    let mut open = true;
    for (k, value) in &found.tried {
        let chosen = open && *value == best;
        open &= !chosen;
        rows.push(vec![k.to_string(), format!("{value:.3}"), if chosen { "chosen".to_owned() } else { String::new() }]);
    }
    rows
}

/// What the columns of the tables mean.
pub fn legend(found: &ClusterOutcome) -> String {
    let mut text = String::from(
        "Means and shares in the cluster, those of all rows in brackets, with the difference in standard deviations (SD) of all rows.",
    );
    let clustered = found.labels.len() - found.outliers();
    if found.silhouette.is_some() && found.silhouette_rows < clustered {
        text.push_str(&format!(" Silhouettes are computed from {} of the rows.", found.silhouette_rows));
    }
    let more = found.clusters.len().saturating_sub(MOST_CLUSTERS);
    if more > 0 {
        text.push_str(&format!(" {more} smaller clusters are not listed; --json has all."));
    }
    text
}

pub fn text(cluster: &Cluster, found: &ClusterOutcome) -> String {
    let mut text = paragraph(&verdict(found));
    text.push_str(&format!("\n{}\n{}", table(&cluster_rows(found)), paragraph(&legend(found))));
    if found.tried.len() > 1 {
        text.push_str(&format!("\n{}", table(&tried_rows(found))));
    }
    if cluster.output.is_some() || cluster.columns.report.is_some() {
        text.push('\n');
    }
    if let Some(path) = &cluster.output {
        text.push_str(&format!("model:  {}\n", path.display()));
    }
    if let Some(path) = &cluster.columns.report {
        text.push_str(&format!("report: {}\n", path.display()));
    }
    text
}
