//! News items grouped by topic, and the ones nearest to a query.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::cluster::KMeans;
use tove_learn::neighbors::cosine_top_k;
use tove_learn::{Fit, Predict};
use tove_metrics::{adjusted_rand_score, silhouette_samples, silhouette_score};
use tove_tensor::Tensor;

/// Counts of words times ln(n / items with the word), each row of length 1. Words in one item only say nothing of others.
fn weighted_words(texts: &[&str]) -> (Vec<String>, Vec<Vec<f64>>) {
    let words = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut items: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        let mut own = words(text);
        own.sort();
        own.dedup();
        own.into_iter().for_each(|word| *items.entry(word).or_default() += 1);
    }
    items.retain(|_, count| *count > 1);
    let n = texts.len() as f64;
    let row = |text: &&str| {
        let own = words(text);
        let weight = |(word, count): (&String, &usize)| {
            own.iter().filter(|other| *other == word).count() as f64 * (n / *count as f64).ln()
        };
        let row: Vec<f64> = items.iter().map(weight).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.into_iter().map(|x| x / norm).collect()
    };
    (items.keys().cloned().collect(), texts.iter().map(row).collect())
}

/// Silhouettes are scikit-learn's, news cluster by topic, and retrieval is that of plain loops.
#[test]
fn l5_clusters_are_near_within_and_far_between() {
    let all = fixture("clusters.json");
    for case in all["scores"].as_array().unwrap() {
        let groups = Tensor::from_slice(&numbers(&case["labels"]).iter().map(|&x| x as i64).collect::<Vec<_>>());
        let found = silhouette_samples(&matrix(&all["x"]), &groups).unwrap().to_f64_vec();
        assert_close(&found, &numbers(&case["silhouettes"]), 1e-10);
    }
    let news = tove_data::sets::news();
    let topics: Vec<i64> = news
        .iter()
        .map(|(topic, _)| {
            ["sports", "weather", "economy", "science"].iter().position(|name| name == topic).unwrap() as i64
        })
        .collect();
    let (_, rows) = weighted_words(&news.iter().map(|item| item.1).collect::<Vec<_>>());
    let d = rows[0].len();
    let x = Tensor::from_vec(rows.concat(), [48, d]);
    let model = KMeans::default().n_clusters(4).n_init(50).fit(&x, None).unwrap();
    let (truth, found) = (Tensor::from_slice(&topics), Tensor::from_slice(model.labels()));
    let agreement = adjusted_rand_score(&truth, &found).unwrap().value;
    assert!(agreement > 0.8, "{agreement} {:?}", model.labels());
    // Near within, far between: the topics score higher than groups that cut across them.
    let across = Tensor::from_slice(&(0..48).map(|i| i / 12).collect::<Vec<i64>>());
    let (by_topic, by_place) =
        (silhouette_score(&x, &truth).unwrap().value, silhouette_score(&x, &across).unwrap().value);
    assert!(by_topic > 0.0 && by_place < 0.0, "{by_topic} {by_place}");
    // The nearest items of each item, itself left out, are mostly of its topic, and exactly those of plain loops.
    let nearest = cosine_top_k(&x, &x, 6).unwrap();
    let indices = nearest.indices.to_vec::<i64>();
    let mut same = 0;
    for (item, found) in indices.chunks(6).enumerate() {
        let similarity = |other: usize| rows[item].iter().zip(&rows[other]).map(|(a, b)| a * b).sum::<f64>();
        let mut order: Vec<usize> = (0..48).collect();
        order.sort_by(|&a, &b| similarity(b).total_cmp(&similarity(a)).then(a.cmp(&b)));
        let given: Vec<usize> = found.iter().map(|&i| i as usize).collect();
        // Equal similarities are ordered by number in exact arithmetic; sums round, so sets are compared where they tie.
        for (a, b) in given.iter().zip(&order) {
            assert!(a == b || (similarity(*a) - similarity(*b)).abs() < 1e-12, "{item}: {given:?} {:?}", &order[..6]);
        }
        assert_eq!(given[0], item);
        same += given[1..].iter().filter(|&&other| topics[other] == topics[item]).count();
    }
    assert!(same > 48 * 5 * 8 / 10, "{same} of 240");
    let predicted = model.predict(&x).unwrap().to_vec::<i64>();
    assert_eq!(predicted, model.labels());
}
