//! Scores of ranked lists: recommendations, search results.
//!
//! With a list of items, the best first, the relevant items R, and rel(i) = 1 where place i has a relevant item:
//!
//! | score | formula |
//! |---|---|
//! | precision@k | Σ rel(i) / k over the first k places |
//! | recall@k | Σ rel(i) / \|R\| |
//! | NDCG@k | Σ rel(i) / log₂(i + 1), divided by its largest value, that of a list that begins with relevant items |
//! | average precision@k | Σ rel(i) precision@i / min(k, \|R\|); its mean over users is MAP@k |
//!
//! A list may be shorter than k; places that are missing count as not relevant. Without relevant items all scores are 0.
//!
//! ```
//! use tove_metrics::recommendation::{average_precision_at_k, ndcg_at_k, precision_at_k, recall_at_k};
//! let (list, relevant) = ([7, 1, 8, 2], [7, 8, 9]);
//! assert_eq!(precision_at_k(&list, &relevant, 4), 0.5);
//! assert_eq!(recall_at_k(&list, &relevant, 1), 1.0 / 3.0);
//! assert_eq!(average_precision_at_k(&list, &relevant, 3), (1.0 + 2.0 / 3.0) / 3.0);
//! assert!(ndcg_at_k(&list, &relevant, 2) < 1.0 && ndcg_at_k(&[8, 7], &relevant, 2) == 1.0);
//! ```

/// Whether each of the first k places has a relevant item that no place before it has.
fn hits<'a>(list: &'a [usize], relevant: &'a [usize], k: usize) -> impl Iterator<Item = bool> + 'a {
    let first = list.get(..k).unwrap_or(list);
    first.iter().enumerate().map(|(place, item)| relevant.contains(item) && !first[..place].contains(item))
}

/// Number of different relevant items.
fn count(relevant: &[usize]) -> usize {
    relevant.iter().enumerate().filter(|(place, item)| !relevant[..*place].contains(item)).count()
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The share of the first k places with relevant items.
pub fn precision_at_k(list: &[usize], relevant: &[usize], k: usize) -> f64 {
    ratio(hits(list, relevant, k).filter(|&hit| hit).count() as f64, k as f64)
}

/// The share of the relevant items that are in the first k places.
pub fn recall_at_k(list: &[usize], relevant: &[usize], k: usize) -> f64 {
    ratio(hits(list, relevant, k).filter(|&hit| hit).count() as f64, count(relevant) as f64)
}

/// Normalized discounted cumulative gain of the first k places.
pub fn ndcg_at_k(list: &[usize], relevant: &[usize], k: usize) -> f64 {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let reached: f64 = hits(list, relevant, k).enumerate().filter(|(_, hit)| *hit).map(|(place, _)| gain(place)).sum();
    ratio(reached, (0..count(relevant).min(k)).map(gain).sum())
}

/// Mean of the precisions at the places of relevant items among the first k; its mean over users is MAP@k.
pub fn average_precision_at_k(list: &[usize], relevant: &[usize], k: usize) -> f64 {
    let (mut found, mut sum) = (0.0, 0.0);
    for (place, _) in hits(list, relevant, k).enumerate().filter(|(_, hit)| *hit) {
        found += 1.0;
        sum += found / (place as f64 + 1.0);
    }
    ratio(sum, count(relevant).min(k) as f64)
}
