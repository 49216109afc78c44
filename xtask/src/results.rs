//! The results of the last test run, kept in `target/tove-tests.json`.

use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::command::root;
use crate::test_output::{Status, Test};

/// Where the results lie.
pub fn path() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("tove-tests.json")
}

/// Writes the results of a run.
pub fn store(tests: &[Test]) -> Result<(), String> {
    let path = path();
    let text = serde_json::to_string_pretty(&to_json(tests)).map_err(|error| error.to_string())?;
    std::fs::write(&path, text + "\n").map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Forgets the last run, so that a run which breaks off leaves no old results behind.
pub fn forget() {
    let _ = std::fs::remove_file(path());
}

/// The results of the last run and when it ended; nothing if there is none.
pub fn load() -> Result<Option<(Vec<Test>, SystemTime)>, String> {
    let path = path();
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
    let time = std::fs::metadata(&path).and_then(|data| data.modified()).map_err(|error| error.to_string())?;
    let tests = serde_json::from_str(&text).ok().as_ref().and_then(from_json);
    let broken = || format!("{} cannot be read; remove it and run the tests again", path.display());
    Ok(Some((tests.ok_or_else(broken)?, time)))
}

fn to_json(tests: &[Test]) -> Value {
    let entry = |test: &Test| {
        let (status, reason) = match &test.status {
            Status::Passed => ("passed", None),
            Status::Failed => ("failed", None),
            Status::Ignored => ("ignored", None),
            Status::Skipped(reason) => ("skipped", Some(reason)),
        };
        let mut value = json!({ "program": test.program, "name": test.name, "status": status });
        if let Some(reason) = reason {
            value["reason"] = json!(reason);
        }
        value
    };
    Value::Array(tests.iter().map(entry).collect())
}

fn from_json(value: &Value) -> Option<Vec<Test>> {
    let entry = |value: &Value| {
        let text = |key: &str| value.get(key)?.as_str().map(str::to_string);
        let status = match text("status")?.as_str() {
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            "ignored" => Status::Ignored,
            "skipped" => Status::Skipped(text("reason")?),
            _ => return None,
        };
        Some(Test { program: text("program")?, name: text("name")?, status })
    };
    value.as_array()?.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_back() {
        let test = |name: &str, status| Test { program: "p".into(), name: name.into(), status };
        let tests = vec![
            test("a", Status::Passed),
            test("b", Status::Failed),
            test("c", Status::Ignored),
            test("d", Status::Skipped("no \"data\"".into())),
        ];
        assert_eq!(from_json(&to_json(&tests)), Some(tests));
    }

    #[test]
    fn unknown_statuses_and_missing_fields_are_refused() {
        assert_eq!(from_json(&json!([{ "program": "p", "name": "a", "status": "fine" }])), None);
        assert_eq!(from_json(&json!([{ "program": "p", "status": "passed" }])), None);
        assert_eq!(from_json(&json!({})), None);
    }
}
