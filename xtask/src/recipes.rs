//! Long trainings, kept as examples whose name begins with `recipe_`.
//!
//! A recipe asserts the score it reaches and ends with an error if it misses it. One that lacks its data set prints
//! `SKIPPED: reason`; it counts as skipped, and as a failure if the reason is not an accepted one.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::command::{cargo, output, root, stream, succeeds};
use crate::skips;

/// How a recipe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Reached,
    Skipped,
    Missed,
}

/// Runs all recipes one after the other; true if every one reached its score.
pub fn run() -> Result<bool, String> {
    let metadata = output(cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let recipes = find(&metadata);
    if recipes.is_empty() {
        println!("there are no recipes yet (examples named recipe_*)");
    }
    // With the features of the test run, so that nothing is built twice.
    if !succeeds(cargo("build --release --workspace --all-features --examples"))? {
        return Ok(false);
    }
    let folder = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
    let folder = Path::new(folder).join("release/examples");
    let mut outcomes = Vec::new();
    for (package, example) in &recipes {
        println!("\n== {example} ({package})");
        let start = Instant::now();
        let mut recipe = Command::new(folder.join(example));
        recipe.current_dir(root());
        let mut reason = None;
        let succeeded = stream(recipe, |line| {
            reason = skips::reason(line).map(str::to_owned).or(reason.take());
            true
        })?;
        let outcome = outcome(succeeded, reason.as_deref());
        println!("   {} in {:.1} s", word(outcome), start.elapsed().as_secs_f64());
        outcomes.push(outcome);
    }
    println!("recipes: {}", summary(&outcomes));
    Ok(!outcomes.contains(&Outcome::Missed))
}

/// A recipe that was skipped for a reason that is not accepted has missed its score.
fn outcome(succeeded: bool, reason: Option<&str>) -> Outcome {
    match reason {
        _ if !succeeded => Outcome::Missed,
        None => Outcome::Reached,
        Some(reason) if skips::is_accepted(reason) => Outcome::Skipped,
        Some(_) => Outcome::Missed,
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reached => "reached",
        Outcome::Skipped => "skipped",
        Outcome::Missed => "MISSED",
    }
}

fn summary(outcomes: &[Outcome]) -> String {
    let count = |outcome| outcomes.iter().filter(|other| **other == outcome).count();
    let [reached, skipped, missed] = [Outcome::Reached, Outcome::Skipped, Outcome::Missed].map(count);
    format!("{reached} reached, {missed} missed, {skipped} skipped")
}

/// Package and example name of every recipe in the answer of `cargo metadata`.
fn find(metadata: &Value) -> Vec<(String, String)> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut recipes = Vec::new();
    for package in list(metadata, "packages") {
        for target in list(&package, "targets") {
            let is_example = list(&target, "kind").iter().any(|kind| kind == "example");
            if let (true, Some(package), Some(name)) = (is_example, package["name"].as_str(), target["name"].as_str())
                && name.starts_with("recipe_")
            {
                recipes.push((package.to_string(), name.to_string()));
            }
        }
    }
    recipes.sort();
    recipes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_recipe_is_not_a_reached_one() {
        let outcomes = [
            outcome(true, None),
            outcome(true, Some("data set absent: cifar10-subset")),
            outcome(true, Some("it took too long")),
            outcome(false, Some("data set absent: cifar10-subset")),
        ];
        assert_eq!(outcomes, [Outcome::Reached, Outcome::Skipped, Outcome::Missed, Outcome::Missed]);
        assert_eq!(summary(&outcomes), "1 reached, 2 missed, 1 skipped");
    }

    #[test]
    fn only_examples_named_recipe_are_recipes() {
        let metadata = serde_json::json!({ "packages": [{ "name": "tove", "targets": [
            { "name": "recipe_xor", "kind": ["example"] },
            { "name": "recipe_helper", "kind": ["test"] },
            { "name": "tour", "kind": ["example"] },
        ] }] });
        assert_eq!(find(&metadata), [("tove".to_string(), "recipe_xor".to_string())]);
    }
}
