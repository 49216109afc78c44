//! Fitting a recommender to a table, with its scores on held-out ratings.
//!
//! Of ratings a fifth is held out, and the error is compared with that of user and item means. Of implicit feedback a fifth of the items
//! of each user is held out, and lists of ten items are compared with the ten most popular ones. Hyperparameters are chosen before, on
//! another fifth of what is left. The model that is kept is then fitted to all rows.

use std::time::Instant;

use serde_json::json;
use tove_data::Problem;
use tove_data::table::Table;
use tove_learn::factorization::recommend;
use tove_learn::{Csr, Fit, LearnError, Model, Predictions, Samples, Transform};
use tove_metrics::{average_precision_at_k, ndcg_at_k, precision_at_k, recall_at_k};
use tove_tensor::{Key, Tensor, TryOps};

use super::ratings::{Entry, Ratings};
use super::recommender::{RatingColumns, Recommender};
use super::{Candidate, Event, Result, TabularError};

/// One entry of so many is held out.
const PARTS: usize = 5;
/// Length of the lists that are evaluated.
pub const LISTED: usize = 10;
/// Users whose ratings of all items are in memory at once.
const BLOCK: usize = 256;

/// Regularization strengths that are tried, and for choices confidences: powers of ten on both sides of 1. No scores had a part in
/// their choice.
const ALPHAS: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
const CONFIDENCES: [f64; 3] = [1.0, 10.0, 100.0];
/// Factors of choices.
const FACTORS: usize = 32;

/// How to fit a recommender.
#[derive(Clone)]
pub struct RecommendPlan {
    columns: RatingColumns,
    candidate: Candidate,
    tune: bool,
    seed: u64,
}

/// Hyperparameters that were tried.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedSettings {
    /// What was set: `alpha=10, confidence=1`.
    pub settings: String,
    /// RMSE, or NDCG@10, on ratings or choices that were held out of the training part.
    pub score: f64,
    /// Whether they were chosen.
    pub chosen: bool,
}

/// A score on held-out ratings beside that of a baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct BesideBaseline {
    /// The metric: `rmse`, `mae`, `precision_at_10`, `recall_at_10`, `map_at_10`, `ndcg_at_10`.
    pub metric: &'static str,
    /// Of the model.
    pub model: f64,
    /// Of user and item means, or of the most popular items.
    pub baseline: f64,
}

/// A fitted recommender with what is known of it.
pub struct RecommendOutcome {
    /// The model, fitted to all rows.
    pub model: Recommender,
    /// Its scores on what was held out; empty if nothing could be.
    pub scores: Vec<BesideBaseline>,
    /// Hyperparameters that were tried; empty if they were given, or nothing could be held out.
    pub tried: Vec<TriedSettings>,
    /// Ratings or items that were held out.
    pub held_out: usize,
    /// Pairs of a user and an item.
    pub entries: usize,
    /// Rows in which a value is missing.
    pub dropped: usize,
    /// Rows that repeat a user and an item: ratings were averaged, choices counted.
    pub repeated: usize,
    /// Seconds in all.
    pub seconds: f64,
}

impl RecommendPlan {
    /// Fits to these columns: a `MatrixFactorization` of ratings, an `ImplicitFactorization` without them.
    ///
    /// ```
    /// use tove::tabular::{RatingColumns, RecommendPlan};
    /// let text = "who,what\na,x\na,y\nb,x\nb,y\nb,z\nc,p\nc,q\nd,p\nd,q\nd,r\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let columns = RatingColumns { user: "who".into(), item: "what".into(), rating: None };
    /// let model = RecommendPlan::new(columns)?.fit(&table, &mut |_| {})?.model;
    /// assert_eq!(model.top("a", 1)?[0].item, "z");
    /// assert!(model.top("nobody", 1).unwrap_err().to_string().contains("knows no user"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(columns: RatingColumns) -> Result<RecommendPlan> {
        let name = if columns.rating.is_some() { "MatrixFactorization" } else { "ImplicitFactorization" };
        Ok(RecommendPlan { columns, candidate: Candidate::named(name)?, tune: true, seed: 0 })
    }

    /// The estimator, to set hyperparameters by hand; none is then chosen.
    pub fn candidate(&mut self) -> &mut Candidate {
        self.tune = false;
        &mut self.candidate
    }

    /// The seed of the estimator and of what is held out.
    pub fn seed(self, seed: u64) -> Result<RecommendPlan> {
        Ok(RecommendPlan { candidate: self.candidate.set("seed", seed)?, seed, ..self })
    }

    /// Fits to a table; `watch` is called with what happens.
    ///
    /// # Errors
    /// If a column does not exist or does not suit, or there are too few users, items or rows.
    pub fn fit(&self, table: &Table, watch: &mut dyn FnMut(&Event)) -> Result<RecommendOutcome> {
        let start = Instant::now();
        let ratings = Ratings::read(table, &self.columns)?;
        let (train, test) = self.split(&ratings.entries, 1);
        let candidates = if self.tune { self.variants()? } else { Vec::new() };
        let total = candidates.len() + 2;
        let rows = ratings.entries.len();
        let fitting = |done: usize| Event::Fitting { candidate: self.candidate.name.clone(), rows, done, total };
        let (mut scores, mut tried) = (Vec::new(), Vec::new());
        let mut candidate = self.candidate.clone();
        if !test.is_empty() && !train.is_empty() {
            let parts = self.split(&train, 2);
            for (done, (settings, variant)) in candidates.into_iter().enumerate() {
                if parts.0.is_empty() || parts.1.is_empty() {
                    break;
                }
                watch(&fitting(done));
                let score = self.judge(&variant, &ratings, &parts)?;
                // The last score decides: RMSE, or NDCG@10.
                let score = score.last().map_or(f64::NAN, |score| score.model);
                tried.push((TriedSettings { settings, score, chosen: false }, variant));
            }
            let sign = if self.columns.rating.is_some() { -1.0 } else { 1.0 };
            let best =
                tried.iter_mut().reduce(|best, one| if sign * one.0.score > sign * best.0.score { one } else { best });
            if let Some((about, variant)) = best {
                about.chosen = true;
                candidate = variant.clone();
            }
            watch(&fitting(total - 2));
            scores = self.judge(&candidate, &ratings, &(train, test.clone()))?;
        }
        watch(&fitting(total - 1));
        let known = ratings.matrix(&ratings.entries)?;
        let model = factorize(&candidate, &known)?;
        let listed: serde_json::Map<String, serde_json::Value> = scores
            .iter()
            .map(|score| (score.metric.to_owned(), json!({"value": score.model, "baseline": score.baseline})))
            .collect();
        let facts = json!({
            "seed": self.seed, "ratings": ratings.entries.len(), "held_out": test.len(), "scores": listed,
        });
        let (entries, dropped, repeated) = (ratings.entries.len(), ratings.dropped, ratings.repeated);
        let columns = self.columns.clone();
        let (users, items) = (ratings.users, ratings.items);
        Ok(RecommendOutcome {
            model: Recommender { columns, users, items, known, model, facts },
            scores,
            tried: tried.into_iter().map(|(about, _)| about).collect(),
            held_out: test.len(),
            entries,
            dropped,
            repeated,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// The estimator with the hyperparameters that are tried.
    fn variants(&self) -> Result<Vec<(String, Candidate)>> {
        let mut list = Vec::new();
        if self.columns.rating.is_some() {
            for alpha in ALPHAS {
                list.push((format!("alpha={alpha}"), self.candidate.clone().set("alpha", alpha)?));
            }
            return Ok(list);
        }
        for (confidence, alpha) in CONFIDENCES.iter().flat_map(|c| ALPHAS.iter().map(move |a| (*c, *a))) {
            let candidate = self.candidate.clone().set("n_components", FACTORS)?;
            let candidate = candidate.set("alpha", alpha)?.set("confidence", confidence)?;
            list.push((format!("n_components={FACTORS}, alpha={alpha}, confidence={confidence}"), candidate));
        }
        Ok(list)
    }

    /// The scores on the second part of an estimator that is fitted to the first.
    fn judge(
        &self,
        candidate: &Candidate,
        ratings: &Ratings,
        (train, test): &(Vec<Entry>, Vec<Entry>),
    ) -> Result<Vec<BesideBaseline>> {
        let known = ratings.matrix(train)?;
        let model = factorize(candidate, &known)?;
        match self.columns.rating {
            Some(_) => errors(&*model, ratings, (train, test), &known),
            None => list_scores(&*model, ratings, (train, test), &known),
        }
    }

    /// Entries to fit to and entries that are held out, both in order.
    fn split(&self, entries: &[Entry], stage: u64) -> (Vec<Entry>, Vec<Entry>) {
        let key = Key::new(self.seed).fold(stage);
        let mut held = vec![false; entries.len()];
        let mut hold = |first: usize, count: usize, of: usize, key: Key| {
            let order = key.permutation(of).to_vec::<i64>();
            order.iter().take(count).for_each(|&place| held[first + place as usize] = true);
        };
        if self.columns.rating.is_some() {
            hold(0, entries.len() / PARTS, entries.len(), key);
        } else {
            let mut first = 0;
            for own in entries.chunk_by(|a, b| a.user == b.user) {
                let count = if own.len() > 1 { (own.len() / PARTS).max(1) } else { 0 };
                hold(first, count, own.len(), key.fold(own[0].user as u64));
                first += own.len();
            }
        }
        let part =
            |wanted: bool| entries.iter().zip(&held).filter(move |(_, is)| **is == wanted).map(|(entry, _)| *entry);
        (part(false).collect(), part(true).collect())
    }
}

/// Fits an estimator to ratings or counts.
fn factorize(candidate: &Candidate, known: &Csr) -> Result<Box<dyn Model>> {
    let capabilities = candidate.estimator.capabilities();
    if capabilities.predictions != Predictions::None || !capabilities.inverse_transform {
        let problem = Problem::new(format!("{} does not factorize ratings", candidate.name));
        return Err(TabularError::plan(problem.advice("choose a factorization")));
    }
    let samples = Samples::from_parts(known.clone().into(), None, true)?;
    candidate.estimator.fit_samples(&samples).map_err(|error| match error {
        LearnError::Interrupted { .. } => TabularError::Interrupted,
        other => other.into(),
    })
}

/// Means of groups of entries, by number; none where a group is empty.
fn means(count: usize, entries: &[Entry], group: impl Fn(&Entry) -> usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0usize); count];
    for entry in entries {
        let sum = &mut sums[group(entry)];
        *sum = (sum.0 + entry.value, sum.1 + 1);
    }
    sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / count as f64)).collect()
}

/// Mean absolute and root mean squared error on held-out ratings, beside those of user mean + item mean − mean.
fn errors(
    model: &dyn Model,
    ratings: &Ratings,
    (train, test): (&[Entry], &[Entry]),
    known: &Csr,
) -> Result<Vec<BesideBaseline>> {
    let users = model.transform(known.clone())?;
    let width = ratings.items.len();
    let (mut absolute, mut squared) = (0.0, 0.0);
    let mut rest = test.iter().peekable();
    for start in (0..ratings.users.len()).step_by(BLOCK) {
        let count = BLOCK.min(ratings.users.len() - start);
        let predicted: Tensor = model.inverse_transform(users.try_narrow(0, start, count)?)?;
        let predicted = predicted.to_f64_vec();
        while let Some(entry) = rest.next_if(|entry| entry.user < start + count) {
            let error = predicted[(entry.user - start) * width + entry.item] - entry.value;
            absolute += error.abs();
            squared += error * error;
        }
    }
    let mean = train.iter().map(|entry| entry.value).sum::<f64>() / train.len() as f64;
    let of_user = means(ratings.users.len(), train, |entry| entry.user);
    let of_item = means(width, train, |entry| entry.item);
    let guess = |entry: &Entry| of_user[entry.user].unwrap_or(mean) + of_item[entry.item].unwrap_or(mean) - mean;
    let gaps = || test.iter().map(|entry| guess(entry) - entry.value);
    let mean = |sum: f64| sum / test.len() as f64;
    let (simple, root) = (mean(gaps().map(|gap| gap * gap).sum()).sqrt(), mean(squared).sqrt());
    let baseline = mean(gaps().map(f64::abs).sum());
    // The last one decides.
    Ok(vec![
        BesideBaseline { metric: "mae", model: mean(absolute), baseline },
        BesideBaseline { metric: "rmse", model: root, baseline: simple },
    ])
}

/// A score of the first places of a list: the list, the relevant items, and the number of places.
type ListScore = fn(&[usize], &[usize], usize) -> f64;

/// Scores of lists, by name. The last one decides.
const LIST_SCORES: [(&str, ListScore); 4] = [
    ("precision_at_10", precision_at_k),
    ("recall_at_10", recall_at_k),
    ("map_at_10", average_precision_at_k),
    ("ndcg_at_10", ndcg_at_k),
];

/// Scores of lists of ten, beside those of the most popular items.
fn list_scores(
    model: &dyn Model,
    ratings: &Ratings,
    (train, test): (&[Entry], &[Entry]),
    known: &Csr,
) -> Result<Vec<BesideBaseline>> {
    let mut popularity = vec![0usize; ratings.items.len()];
    train.iter().for_each(|entry| popularity[entry.item] += 1);
    let mut popular: Vec<usize> = (0..popularity.len()).collect();
    popular.sort_by_key(|&item| (std::cmp::Reverse(popularity[item]), item));
    let wanted: Vec<&[Entry]> = test.chunk_by(|a, b| a.user == b.user).collect();
    let judged: Vec<usize> = wanted.iter().map(|own| own[0].user).collect();
    let lists = recommend(model, known.take(&judged)?, LISTED, true)?;
    let mut sums = [[0.0; 4]; 2];
    for ((own, list), &user) in wanted.iter().zip(lists).zip(&judged) {
        let right: Vec<usize> = own.iter().map(|entry| entry.item).collect();
        let had = &known.indices()[known.indptr()[user]..known.indptr()[user + 1]];
        let simple = popular.iter().copied().filter(|&item| had.binary_search(&(item as u32)).is_err());
        let lists = [list.iter().map(|one| one.item).collect::<Vec<_>>(), simple.take(LISTED).collect()];
        for (sums, list) in sums.iter_mut().zip(lists) {
            for (sum, of) in sums.iter_mut().zip(LIST_SCORES.map(|score| score.1)) {
                *sum += of(&list, &right, LISTED);
            }
        }
    }
    let n = wanted.len().max(1) as f64;
    let score = |metric: &'static str, place: usize| BesideBaseline {
        metric,
        model: sums[0][place] / n,
        baseline: sums[1][place] / n,
    };
    Ok(LIST_SCORES.iter().enumerate().map(|(place, own)| score(own.0, place)).collect())
}
