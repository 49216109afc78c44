//! The search over candidates on growing samples, with and without a time budget.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tove::data::Remedy;
use tove::data::table::{Column, Dates, Role, Table, TaskKind, Unit};
use tove::learn::linear::Ridge;
use tove::learn::{Capabilities, Estimator, LearnError, Model, Predictions, Samples};
use tove::metrics::hoeffding_union;
use tove::optim::settings::Hyperparameters;
use tove::tabular::{Candidate, ClassWeights, Event, Outcome, Plan, usual_candidates};
use tove::tensor::{DType, Key};

/// Rows of numbers and a category; the target needs a product, which no linear model has.
fn table(rows: usize) -> Table {
    let draw = |stream: u64| Key::new(9).fold(stream).normal([rows], DType::F64).to_vec::<f64>();
    let (a, b, noise) = (draw(1), draw(2), draw(3));
    let kind: Vec<&str> = a.iter().map(|a| if *a > 0.3 { "high" } else { "low" }).collect();
    let y: Vec<f64> = (0..rows).map(|i| 3.0 * a[i] * b[i] + b[i] + 0.3 * noise[i]).collect();
    let class: Vec<&str> = y.iter().map(|y| if *y > 0.5 { "up" } else { "down" }).collect();
    let columns = [
        ("a", Column::floats(a)),
        ("b", Column::floats(b)),
        ("kind", Column::categories(kind)),
        ("y", Column::floats(y)),
        ("class", Column::categories(class)),
    ];
    Table::new(columns).unwrap()
}

fn regressors() -> Vec<Candidate> {
    let named = |name: &str| Candidate::named(name).unwrap();
    vec![
        named("LinearRegression"),
        named("Ridge").set("alpha", 100.0).unwrap(),
        named("Lasso").set("alpha", 0.1).unwrap(),
        named("MlpRegressor")
            .set("epochs", 6)
            .unwrap()
            .set("hidden", [16])
            .unwrap()
            .set("learning_rate", 0.01)
            .unwrap(),
    ]
}

fn regression() -> Plan {
    Plan::new("y").role("class", tove::data::table::Role::Dropped)
}

/// What was fitted to how many rows, in order.
fn watched(plan: &Plan, table: &Table, candidates: &[Candidate]) -> (Outcome, Vec<(String, usize)>) {
    let mut fits = Vec::new();
    let outcome = plan.fit(table, candidates, &mut |event| {
        if let Event::Fitting { candidate, rows, .. } = event {
            fits.push((candidate.clone(), *rows));
        }
    });
    (outcome.unwrap(), fits)
}

#[test]
fn everybody_has_a_first_score_before_anybody_has_a_second() {
    let (table, candidates) = (table(40_000), regressors());
    let (outcome, fits) = watched(&regression(), &table, &candidates);
    let first: Vec<&str> = fits[..4].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(first, candidates.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
    assert!(
        fits[..4].iter().all(|(_, rows)| *rows == 2048) && fits[4..].iter().all(|(_, rows)| *rows > 2048),
        "{fits:?}"
    );
    assert!(fits.windows(2).all(|two| two[0].1 <= two[1].1), "{fits:?}");
    assert_eq!(outcome.chosen, "MlpRegressor");
    assert!(outcome.test[0].score.value > 0.9, "{:?}", outcome.test[0]);
    // Who could not catch up was dropped, with the rows at which that was seen, and the winner was fitted to all rows.
    assert!(outcome.candidates[..3].iter().all(|tried| tried.dropped == Some(8192) && tried.scores.len() == 1));
    assert_eq!((outcome.n_train, outcome.cut), (30_000, None));
    assert_eq!(outcome.candidates[0].rungs.iter().map(|rung| rung.rows).collect::<Vec<_>>(), [2048, 8192]);
}

#[test]
fn a_small_table_is_compared_fold_by_fold() {
    let (outcome, fits) = watched(&regression().folds(3), &table(600), &regressors()[..3]);
    let rounds: Vec<&str> = fits.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(rounds[..3], rounds[3..6]);
    assert_eq!(rounds.len(), 9);
    assert!(outcome.candidates.iter().all(|tried| tried.scores.len() == 3 && tried.rungs.is_empty()));
}

#[test]
fn the_choice_has_the_same_bits_for_any_number_of_threads() {
    let (table, candidates) = (table(30_000), regressors());
    let run = |threads: usize| {
        tove::tensor::set_num_threads(threads);
        let plan = regression().budget(Duration::from_secs(100_000));
        let (outcome, fits) = watched(&plan, &table, &candidates);
        let scores: Vec<Vec<u64>> =
            outcome.candidates.iter().map(|tried| tried.scores.iter().map(|score| score.to_bits()).collect()).collect();
        let predicted = outcome.model.predict(&table).unwrap().column;
        let bits: Vec<u64> = (0..100).map(|row| predicted.number(row).unwrap().to_bits()).collect();
        (outcome.chosen, fits, scores, bits)
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

/// An estimator whose fit lasts until it is told to end.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
struct Endless {
    /// Whether what is there at the end counts.
    #[hyper(default = false)]
    anytime: bool,
}

impl Estimator for Endless {
    fn capabilities(&self) -> Capabilities {
        Capabilities { anytime: self.anytime, ..Ridge::default().capabilities() }
    }
    fn fit_boxed(&self, samples: &Samples) -> tove::learn::Result<Box<dyn Model>> {
        while !tove::optim::interrupted() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.anytime { Ridge::default().fit_boxed(samples) } else { Err(LearnError::Interrupted { who: "Endless" }) }
    }
    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

fn endless(anytime: bool) -> Candidate {
    Candidate { name: "Endless".into(), estimator: Box::new(Endless { anytime }) }
}

/// Without limits on single fits none of these would come to an end.
#[test]
fn a_fit_without_end_starves_nobody() {
    for rows in [300, 40_000] {
        let table = table(rows);
        let plan = regression().folds(2).budget(Duration::from_secs(2));
        let candidates = [endless(false), Candidate::named("Ridge").unwrap()];
        let outcome = plan.fit(&table, &candidates, &mut |_| {}).unwrap();
        assert_eq!(outcome.chosen, "Ridge");
        assert_eq!(outcome.candidates[0].problem.as_deref(), Some("time budget exhausted"));
        assert!(outcome.candidates[1].mean().is_some());
        // What counts although it was cut short is compared like everything else.
        let candidates = [endless(true), Candidate::named("Ridge").unwrap().set("alpha", 1e6).unwrap()];
        let outcome = plan.fit(&table, &candidates, &mut |_| {}).unwrap();
        assert_eq!(outcome.chosen, "Endless", "{:?}", outcome.candidates);
        // Alone it has no one to take its place.
        let alone = plan.clone().folds(0).fit(&table, &[endless(false)], &mut |_| {});
        assert!(alone.is_err());
        let alone = plan.clone().folds(0).fit(&table, &[endless(true)], &mut |_| {}).unwrap();
        assert_eq!(alone.chosen, "Endless");
    }
}

#[test]
fn no_time_at_all_still_gives_a_model() {
    for rows in [300, 40_000] {
        let plan = regression().folds(2).budget(Duration::ZERO);
        let outcome = plan.fit(&table(rows), &regressors(), &mut |_| {}).unwrap();
        assert_eq!(outcome.chosen, "LinearRegression");
        assert!(outcome.candidates[1..].iter().all(|tried| tried.problem.as_deref() == Some("time budget exhausted")));
        assert!(outcome.cut.is_none_or(|cut| cut.rows <= cut.of), "{:?}", outcome.cut);
    }
}

/// The time is over at most a second after the budget: with the candidates of `auto`, with many classes, with long rows, where a
/// closed form cannot be ended once it has begun.
#[test]
fn the_budget_holds_to_within_a_second() {
    let held = |plan: Plan, table: &Table, candidates: &[Candidate], budget: f64| {
        let outcome = plan.budget(Duration::from_secs_f64(budget)).fit(table, candidates, &mut |_| {}).unwrap();
        let scored = outcome.candidates.iter().filter(|tried| tried.mean().is_some()).count();
        assert!(outcome.seconds <= budget + 1.0, "{} of {budget} seconds: {:?}", outcome.seconds, outcome.candidates);
        assert!(scored >= 1, "{:?}", outcome.candidates);
    };
    for (rows, budget) in [(900, 0.5), (12_000, 1.0), (60_000, 0.5), (60_000, 2.0)] {
        let table = table(rows);
        held(regression().folds(3), &table, &usual_candidates(Predictions::Numbers, rows), budget);
        held(regression().folds(3), &table, &[endless(true), Candidate::named("SVR").unwrap()], budget);
        let y = (0..rows).map(|row| table.column("y").unwrap().number(row).unwrap());
        let level: Vec<String> = y.map(|y| format!("level {}", (2.0 * y).floor().clamp(-3.0, 3.0))).collect();
        let names = ["a", "b", "kind"].map(|name| (name, table.column(name).unwrap().clone()));
        let levels = Table::new(names.into_iter().chain([("level", Column::categories(level))])).unwrap();
        let mut candidates = usual_candidates(Predictions::Classes, rows);
        candidates.push(Candidate::named("SVC").unwrap().set("c", 1e6).unwrap());
        held(Plan::new("level").folds(3), &levels, &candidates, budget);
    }
    let (rows, columns) = (1800, 4000);
    let x = Key::new(4).normal([columns, rows], DType::F64).to_vec::<f64>();
    let wide = x.chunks(rows).enumerate().map(|(i, x)| (format!("x{i}"), Column::floats(x.to_vec())));
    let wide = Table::new(wide).unwrap();
    held(Plan::new("x0").folds(3), &wide, &usual_candidates(Predictions::Numbers, rows), 2.0);
}

#[test]
fn an_interrupted_search_keeps_the_best_so_far() {
    let flag = Arc::new(AtomicBool::new(false));
    let plan = regression().stop(flag.clone());
    let outcome = plan.fit(&table(40_000), &regressors(), &mut |event| {
        if matches!(event, Event::Fitting { rows: 8192, .. }) {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let outcome = outcome.unwrap();
    assert!(outcome.interrupted);
    assert_eq!(outcome.chosen, "MlpRegressor");
    // As it was fitted in the first round.
    assert_eq!(outcome.n_train, 2048);
    assert!(outcome.candidates.iter().any(|tried| tried.problem.as_deref() == Some("interrupted")));
}

#[test]
fn the_union_bound_covers_every_model_that_could_be_compared() {
    let table = table(40_000);
    let plan = Plan::new("class").task(TaskKind::Classification).role("y", tove::data::table::Role::Dropped);
    let candidates = [Candidate::named("LogisticRegression").unwrap(), Candidate::named("DummyClassifier").unwrap()];
    let outcome = plan.fit(&table, &candidates, &mut |_| {}).unwrap();
    // Two candidates at 2,048 and 8,192 rows and on folds, judged by the 6,000 rows of a fold.
    assert_eq!(outcome.models, 6);
    let guarantee = outcome.guarantee.unwrap();
    assert!((guarantee.epsilon - hoeffding_union(6000.0, 1.0, 0.05, 6)).abs() < 1e-12, "{guarantee:?}");
    assert!((guarantee.excess - 2.0 * guarantee.epsilon).abs() < 1e-15);
}

/// A model without probabilities is chosen only if it is clearly better.
#[test]
fn probabilities_decide_between_equals() {
    let plan = Plan::new("class").role("y", tove::data::table::Role::Dropped).folds(5);
    let chosen = |table: &Table, names: [&str; 2]| {
        let candidates = names.map(|name| Candidate::named(name).unwrap());
        plan.fit(table, &candidates, &mut |_| {}).unwrap().chosen
    };
    // Lines are equally bad at a product, in either order of the candidates; a kernel machine is far ahead of them.
    let some = table(600);
    assert_eq!(chosen(&some, ["LinearSVC", "LogisticRegression"]), "LogisticRegression");
    assert_eq!(chosen(&some, ["LogisticRegression", "LinearSVC"]), "LogisticRegression");
    assert_eq!(chosen(&some, ["LogisticRegression", "SVC"]), "SVC");
}

/// An estimator that learns nothing from few rows, and all there is from many, as nets do on noisy tables.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
struct SlowStarter {
    /// Rows that it needs.
    #[hyper(default = 20_000)]
    rows: usize,
}

impl Estimator for SlowStarter {
    fn capabilities(&self) -> Capabilities {
        Capabilities { anytime: true, ..Ridge::default().capabilities() }
    }
    fn fit_boxed(&self, samples: &Samples) -> tove::learn::Result<Box<dyn Model>> {
        let alpha = if samples.len() < self.rows { 1e9 } else { 1.0 };
        Ridge::default().alpha(alpha).fit_boxed(samples)
    }
    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

#[test]
fn a_slow_starter_is_tried_again_on_many_rows() {
    let table = table(130_000);
    let slow = || Candidate { name: "SlowStarter".into(), estimator: Box::new(SlowStarter { rows: 20_000 }) };
    let candidates = [Candidate::named("Ridge").unwrap().set("alpha", 20_000.0).unwrap(), slow()];
    for plan in [regression(), regression().budget(Duration::from_secs(30))] {
        let outcome = plan.fit(&table, &candidates, &mut |_| {}).unwrap();
        assert_eq!(outcome.chosen, "SlowStarter", "{:?}", outcome.candidates);
        // It was dropped, and then was not.
        let rows: Vec<usize> = outcome.candidates[1].rungs.iter().map(|rung| rung.rows).collect();
        assert_eq!((rows, outcome.candidates[1].dropped), (vec![2048, 8192, 32_768], None), "{:?}", outcome.candidates);
        assert!(
            outcome.candidates[1].rungs[1].score < outcome.candidates[0].rungs[1].score,
            "{:?}",
            outcome.candidates
        );
    }
}

/// Errors of plans carry the setting that avoids them.
#[test]
fn plans_that_fail_have_remedies() {
    let (table, ridge) = (table(40), Candidate::named("Ridge").unwrap());
    let fit = |plan: Plan, candidates: &[Candidate]| {
        plan.fit_and_test(&table, None, candidates, &mut |_| {}).map(|_| ()).unwrap_err()
    };
    let error = fit(Plan::new("class"), std::slice::from_ref(&ridge));
    assert_eq!(error.remedies(), [Remedy::Model]);
    assert!(error.to_string().ends_with("choose another model (`Candidate::named`)"), "{error}");
    let error = fit(Plan::new("y").class_weights(ClassWeights::Balanced), std::slice::from_ref(&ridge));
    assert_eq!(error.remedies(), [Remedy::ClassWeight]);
    let plan = ["a", "b", "kind", "class"].iter().fold(Plan::new("y"), |plan, name| plan.role(*name, Role::Dropped));
    let error = fit(plan, &[ridge]);
    assert_eq!(error.remedies(), [Remedy::DropFewer]);
    assert!(error.reworded(|_| "drop nothing".to_owned()).to_string().ends_with("; drop nothing"));
}

/// Mixed columns with gaps, rare categories and dates, some of which only one fold has.
fn mixed(rows: usize) -> Table {
    let noise = Key::new(8).normal([rows, 4], DType::F64).to_vec::<f64>();
    let at = |row: usize, column: usize| noise[row * 4 + column];
    let gaps = (0..rows).map(|row| if row % 7 == 0 { f64::NAN } else { 100.0 + at(row, 1) }).collect();
    let rare = (0..rows)
        .map(|row| if row == 17 { None } else { Some(format!("r{}", (row * 13) % if row < 40 { 9 } else { 5 })) });
    let days = (0..rows).map(|row| Some(10_000 + 3 * row as i64)).collect();
    let y = (0..rows).map(|row| at(row, 0) + at(row, 1) + (row % 5) as f64 + 0.5 * at(row, 3)).collect();
    let columns = [
        ("a", Column::floats((0..rows).map(|row| at(row, 0)).collect())),
        ("gaps", Column::floats(gaps)),
        ("late", Column::floats((0..rows).map(|row| if row == 3 { f64::NAN } else { at(row, 2) }).collect())),
        ("rare", Column::Categorical(rare.collect())),
        ("day", Column::Date(Dates::new(days, Unit::Days))),
        ("y", Column::floats(y)),
    ];
    Table::new(columns).unwrap()
}

#[test]
fn folds_that_share_statistics_have_the_scores_of_refitted_encoders() {
    let table = mixed(600);
    for (name, alpha) in [("Ridge", Some(3.0)), ("LinearRegression", None), ("Lasso", Some(0.01))] {
        let candidate = Candidate::named(name).unwrap();
        let candidate = alpha.map_or(Ok(candidate.clone()), |alpha| candidate.set("alpha", alpha)).unwrap();
        let scores = |plan: Plan| {
            let outcome = plan.fit(&table, std::slice::from_ref(&candidate), &mut |_| {}).unwrap();
            outcome.candidates[0].scores.clone()
        };
        let plan = || Plan::new("y").folds(5).task(TaskKind::Regression);
        // A budget measures each fit by itself.
        let (shared, refitted) = (scores(plan()), scores(plan().budget(Duration::from_secs(3600))));
        assert_eq!(shared.len(), 5);
        assert!(shared.iter().zip(&refitted).all(|(a, b)| (a - b).abs() < 1e-7), "{name}: {shared:?} {refitted:?}");
        let bits = |threads: usize| {
            tove::tensor::pool::set_num_threads(threads);
            scores(plan()).into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        };
        let before = tove::tensor::pool::num_threads();
        let all: Vec<Vec<u64>> = [1, 2, 3, 8].into_iter().map(bits).collect();
        tove::tensor::pool::set_num_threads(before);
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{name}");
    }
}
