//! Long trainings, kept as examples whose name begins with `recipe_`.
//!
//! A recipe asserts the score it reaches and ends with an error if it misses it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::command::{cargo, output, root, succeeds};

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
    let mut failed = 0;
    for (package, example) in &recipes {
        println!("\n== {example} ({package})");
        let start = Instant::now();
        let mut recipe = Command::new(folder.join(example));
        recipe.current_dir(root());
        let good = succeeds(recipe)?;
        println!("   {} in {:.1} s", if good { "reached" } else { "MISSED" }, start.elapsed().as_secs_f64());
        failed += usize::from(!good);
    }
    println!("recipes: {} reached, {failed} missed", recipes.len() - failed);
    Ok(failed == 0)
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
    fn only_examples_named_recipe_are_recipes() {
        let metadata = serde_json::json!({ "packages": [{ "name": "tove", "targets": [
            { "name": "recipe_xor", "kind": ["example"] },
            { "name": "recipe_helper", "kind": ["test"] },
            { "name": "tour", "kind": ["example"] },
        ] }] });
        assert_eq!(find(&metadata), [("tove".to_string(), "recipe_xor".to_string())]);
    }
}
