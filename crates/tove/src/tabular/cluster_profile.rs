//! What distinguishes clusters: their columns against those of all rows.

use std::collections::HashMap;

use tove_data::table::{Column, Role, Schema, Table};

use super::Result;
use super::cluster::Silhouettes;

/// A cluster, or the outliers.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterProfile {
    /// Its number; −1 for the outliers.
    pub label: i64,
    /// Rows in it.
    pub size: usize,
    /// The fraction of all rows.
    pub share: f64,
    /// The mean silhouette of its rows.
    pub silhouette: Option<f64>,
    /// How its columns differ from those of all rows, the largest differences first.
    pub traits: Vec<ClusterTrait>,
}

/// How a column of a cluster differs from that of all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterTrait {
    /// The column.
    pub column: String,
    /// The category whose share is compared; none for a column of numbers, whose mean is.
    pub category: Option<String>,
    /// The mean or the share in the cluster.
    pub value: f64,
    /// The mean or the share in all rows.
    pub overall: f64,
    /// The difference in standard deviations of all rows; √(p(1 − p)) for a share p.
    pub effect: f64,
}

/// The profiles of all clusters, the largest first, then the outliers.
pub(super) fn profiles(
    table: &Table,
    schema: &Schema,
    labels: &[i64],
    silhouettes: Option<&Silhouettes>,
) -> Result<Vec<ClusterProfile>> {
    let mut rows: HashMap<i64, Vec<usize>> = HashMap::new();
    for (row, &label) in labels.iter().enumerate() {
        rows.entry(label).or_default().push(row);
    }
    let mut clusters: Vec<(i64, Vec<usize>)> = rows.into_iter().collect();
    clusters.sort_by_key(|(label, rows)| (*label < 0, std::cmp::Reverse(rows.len()), *label));
    let mut profiles = Vec::new();
    for (label, rows) in clusters {
        let mut traits = Vec::new();
        for name in schema.with(Role::Feature) {
            traits.extend(column_traits(name, table.column(name)?, &rows));
        }
        traits.sort_by(|a: &ClusterTrait, b| b.effect.abs().total_cmp(&a.effect.abs()));
        let own: Vec<f64> = silhouettes
            .map(|known| known.rows.iter().zip(&known.values).filter(|(row, _)| labels[**row] == label))
            .map(|own| own.map(|(_, value)| *value).collect())
            .unwrap_or_default();
        let silhouette = (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64);
        let (size, share) = (rows.len(), rows.len() as f64 / labels.len() as f64);
        profiles.push(ClusterProfile { label, size, share, silhouette, traits });
    }
    Ok(profiles)
}

fn column_traits(name: &str, column: &Column, rows: &[usize]) -> Vec<ClusterTrait> {
    let named = |category: Option<String>, value: f64, overall: f64, deviation: f64| {
        let effect = (value - overall) / deviation;
        let one = ClusterTrait { column: name.to_owned(), category, value, overall, effect };
        effect.is_finite().then_some(one)
    };
    if let Column::Categorical(values) = column {
        let mut inside = vec![0usize; values.categories().len()];
        rows.iter().filter_map(|&row| values.code(row)).for_each(|code| inside[code as usize] += 1);
        let (n, all) = (rows.len().max(1) as f64, column.len().max(1) as f64);
        let counted = values.categories().iter().zip(inside).zip(values.counts());
        return counted
            .filter_map(|((category, own), whole)| {
                let share = whole as f64 / all;
                named(Some(category.clone()), own as f64 / n, share, (share * (1.0 - share)).sqrt())
            })
            .collect();
    }
    if !column.kind().is_numeric() {
        return Vec::new();
    }
    let known: Vec<f64> = (0..column.len()).filter_map(|row| column.number(row)).collect();
    let own: Vec<f64> = rows.iter().filter_map(|&row| column.number(row)).collect();
    if known.is_empty() || own.is_empty() {
        return Vec::new();
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let overall = mean(&known);
    let deviation = (known.iter().map(|x| (x - overall).powi(2)).sum::<f64>() / known.len() as f64).sqrt();
    named(None, mean(&own), overall, deviation).into_iter().collect()
}
