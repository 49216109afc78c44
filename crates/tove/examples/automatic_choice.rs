//! What the automatic choice reaches within a time budget, beside each of its candidates alone within the same time.
//!
//! ```text
//! cargo run --release -p tove --example automatic_choice -- [SECONDS] [ROWS]
//! cargo run --release -p tove --example automatic_choice -- SECONDS ROWS FILE.csv TARGET
//! ```
//!
//! Without a file the table is made here: numbers, categories (one with 300 values), whole numbers, dates and missing values, and
//! targets to which all of them contribute, with products and steps that no line follows.

use std::time::Duration;

use tove::data::table::{Column, CsvOptions, Role, Table, Task as Kind};
use tove::learn::Predictions;
use tove::tabular::{Candidate, Outcome, Plan, usual_candidates};
use tove::tensor::{DType, Key};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |place: usize| arguments.get(place).map(String::as_str);
    let seconds: f64 = argument(0).unwrap_or("20").parse()?;
    let rows: usize = argument(1).unwrap_or("330000").parse()?;
    if let (Some(file), Some(target)) = (argument(2), argument(3)) {
        let (table, _) = CsvOptions::new().read(file)?;
        let first: Vec<usize> = (0..table.n_rows().min(rows)).collect();
        return compare(&table.take(&first)?, &Plan::new(target), seconds);
    }
    let table = mixed(rows)?;
    compare(&table, &Plan::new("price").role("bought", Role::Dropped), seconds)?;
    compare(&table, &Plan::new("bought").role("price", Role::Dropped), seconds)
}

/// Each candidate alone, then all of them.
fn compare(table: &Table, plan: &Plan, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let plan = plan.clone().budget(Duration::from_secs_f64(seconds));
    let fit = |candidates: &[Candidate]| plan.fit(table, candidates, &mut |_| {});
    // Whichever kind the target is, candidates of the other kind fail at once.
    let numbers = fit(&[Candidate::named("Ridge")?]);
    let predictions = match &numbers {
        Ok(outcome) if outcome.model.task() == Kind::Regression => Predictions::Numbers,
        _ => Predictions::Classes,
    };
    let candidates = usual_candidates(predictions, table.n_rows());
    println!(
        "| {} rows, {seconds} s | score on test rows | fitted rows | seconds |\n|---|---|---|---|",
        table.n_rows()
    );
    let line = |name: &str, outcome: &Outcome| {
        let score = &outcome.test[0];
        println!("| {name} | {} {:.4} | {} | {:.1} |", score.name, score.score.value, outcome.n_train, outcome.seconds);
        score.score.value
    };
    let mut best = f64::NEG_INFINITY;
    for candidate in &candidates {
        match fit(std::slice::from_ref(candidate)) {
            Ok(outcome) => best = best.max(line(&candidate.name, &outcome)),
            Err(error) => println!("| {} | {error} | | |", candidate.name),
        }
    }
    let outcome = fit(&candidates)?;
    let found = line(&format!("automatic choice: {}", outcome.chosen), &outcome);
    println!("\nautomatic choice minus best alone: {:+.4}\n", found - best);
    Ok(())
}

/// A table of mixed columns.
fn mixed(rows: usize) -> Result<Table, Box<dyn std::error::Error>> {
    let normal = |stream: u64| Key::new(12).fold(stream).normal([rows], DType::F64).to_vec::<f64>();
    let uniform = |stream: u64| Key::new(12).fold(stream).uniform([rows], DType::F64).to_vec::<f64>();
    let below = |stream: u64, many: f64| uniform(stream).iter().map(|u| (u * many) as usize).collect::<Vec<_>>();
    let (a, b, c, noise, coin) = (normal(1), normal(2), normal(3), normal(4), uniform(5));
    let (colour, shop, day, age) = (below(6, 5.0), below(7, 300.0), below(8, 1461.0), below(9, 80.0));
    let of_shop = Key::new(12).fold(10).normal([300], DType::F64).to_vec::<f64>();
    let season = |day: usize| (std::f64::consts::TAU * day as f64 / 365.25).sin();
    let price: Vec<f64> = (0..rows)
        .map(|i| {
            let steps = if age[i] > 40 && colour[i] == 2 { 1.5 } else { 0.0 };
            2.0 * a[i] * b[i] + c[i] + of_shop[shop[i]] + steps + 0.5 * season(day[i]) + 0.5 * noise[i]
        })
        .collect();
    let bought = price
        .iter()
        .zip(&coin)
        .map(|(price, coin)| if price / 2.0 > (coin / (1.0 - coin)).ln() { "yes" } else { "no" });
    let bought: Vec<&str> = bought.collect();
    let missing = |values: Vec<f64>| {
        Column::floats(values.iter().enumerate().map(|(i, x)| if i % 23 == 5 { f64::NAN } else { *x }).collect())
    };
    let names = ["red", "green", "blue", "white", "black"];
    Ok(Table::new([
        ("a", Column::floats(a)),
        ("b", Column::floats(b)),
        ("c", missing(c)),
        ("colour", Column::categories(colour.iter().map(|&i| names[i]))),
        ("shop", Column::categories(shop.iter().map(|i| format!("shop {i}")))),
        ("age", Column::integers(age.iter().map(|&i| i as i64).collect())),
        ("day", dates(&day)?),
        ("price", Column::floats(price)),
        ("bought", Column::categories(bought)),
    ])?)
}

/// Days from 2020 on.
fn dates(days: &[usize]) -> Result<Column, Box<dyn std::error::Error>> {
    let mut text = String::from("day\n");
    for day in days {
        let (year, rest) = (2020 + day / 366, day % 366);
        text.push_str(&format!("{year}-{:02}-{:02}\n", 1 + rest / 31, 1 + rest % 28));
    }
    Ok(CsvOptions::new().read_bytes(text.as_bytes())?.0.column("day")?.clone())
}
