//! The HTML report of a clustering.

use tove::plot::{LineChart, Report, ScatterChart};
use tove::tabular::{ClusterOutcome, drawn_rows};

use super::summary;
use crate::arguments::Cluster;
use crate::failure::Failure;
use crate::report::{file_name, table};

/// Points of the scatter plot, at most.
const POINTS: usize = 3000;
/// Clusters with a color of their own, at most.
const COLORS: usize = 12;

pub fn report(cluster: &Cluster, found: &ClusterOutcome) -> Result<Report, Failure> {
    let name = found.model.model().name();
    let mut report = Report::new(format!("Clusters of {}", file_name(&cluster.file)))
        .subtitle(format!("{} by {name}, tove {}", found.model.task(), env!("CARGO_PKG_VERSION")))
        .card("Clusters", found.n_clusters().to_string())
        .card("Rows", found.labels.len().to_string());
    if let Some(value) = found.silhouette {
        report = report.card_with_note("Silhouette", format!("{value:.3}"), "from −1 to 1, the larger the better");
    }
    if found.outliers() > 0 {
        report = report.card("Outliers", found.outliers().to_string());
    }
    report = report.text(summary::verdict(found));
    report = report.section("Clusters").table(&table(&summary::cluster_rows(found))).text(summary::legend(found));
    report =
        report.section("Rows in the plane of the first two principal components").picture_or_reason(&scatter(found));
    if found.tried.len() > 1 {
        let (k, values): (Vec<f64>, Vec<f64>) = found.tried.iter().map(|(k, value)| (*k as f64, *value)).unzip();
        let chart =
            LineChart::new().wide().series("mean silhouette", &k, &values).x_label("clusters").y_label("silhouette");
        report = report.section("Number of clusters").picture_or_reason(&chart);
    }
    report = report.section("Details").text(format!(
        "From {}, seed {}, {:.1} seconds.",
        cluster.file.display(),
        cluster.columns.seed,
        found.seconds
    ));
    for one in &found.left_out {
        report = report.text(format!("Column {} is left out: it {}.", one.column, one.reason));
    }
    let settings = format!("{:#}", found.model.model().settings());
    report = report.details("Hyperparameters", |body| Ok(body.preformatted(&settings)))?;
    for warning in &found.model.model().summary().warnings {
        report = report.text(format!("Warning: {warning}"));
    }
    Ok(report)
}

/// The rows, or some of them, colored by cluster.
fn scatter(found: &ClusterOutcome) -> ScatterChart {
    let plane = &found.plane;
    let drawn = drawn_rows(found.labels.len(), POINTS);
    let axis =
        |place: usize| format!("component {} ({:.1} % of the variance)", place + 1, 100.0 * plane.explained[place]);
    let mut chart = ScatterChart::new().wide().x_label(axis(0)).y_label(axis(1));
    let mut group = |name: String, labels: &[i64]| {
        let rows = drawn.iter().copied().filter(|&row| labels.contains(&found.labels[row]));
        let (x, y): (Vec<f64>, Vec<f64>) = rows.map(|row| (plane.x[row], plane.y[row])).unzip();
        if !x.is_empty() {
            chart = std::mem::take(&mut chart).group(name, &x, &y);
        }
    };
    let (shown, rest) = found.clusters.split_at(found.clusters.len().min(COLORS));
    for cluster in shown {
        let name = if cluster.label < 0 { "outliers".to_owned() } else { format!("cluster {}", cluster.label) };
        group(name, &[cluster.label]);
    }
    let others: Vec<i64> = rest.iter().map(|cluster| cluster.label).collect();
    group("other clusters".to_owned(), &others);
    chart
}
