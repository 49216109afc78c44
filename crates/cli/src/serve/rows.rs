//! Rows of a request: CSV as it is, JSON as CSV.

use serde_json::{Value, json};
use tove::data::table::Role;
use tove::tabular::TabularModel;

/// The columns that a row needs, and what comes back.
pub fn schema(model: &TabularModel) -> Value {
    let columns: Vec<Value> = model
        .schema()
        .fields()
        .iter()
        .filter(|field| matches!(field.role, Role::Feature | Role::Id))
        .map(|field| {
            json!({
                "name": field.name, "kind": field.kind.name(), "categories": field.categories,
                "role": if field.role == Role::Id { "id" } else { "feature" },
            })
        })
        .collect();
    json!({
        "columns": columns, "target": model.target(), "task": model.task().to_string(), "classes": model.classes(),
        "facts": model.facts(),
    })
}

/// The body as CSV: as it is for `text/csv`, from JSON objects otherwise.
pub fn csv(content_type: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    if content_type.starts_with("text/csv") {
        return Ok(body.to_vec());
    }
    let document: Value = serde_json::from_slice(body).map_err(|error| {
        format!("the body is no JSON ({error}); send {{\"rows\": [{{...}}]}}, or CSV with content type text/csv")
    })?;
    let rows = match &document {
        Value::Array(rows) => rows.as_slice(),
        Value::Object(object) => match object.get("rows") {
            Some(Value::Array(rows)) => rows.as_slice(),
            Some(_) => return Err("`rows` must be a list of objects".into()),
            None => std::slice::from_ref(&document),
        },
        _ => return Err("send a row as an object, or several as a list".into()),
    };
    let mut names: Vec<&String> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let object = row.as_object().ok_or_else(|| format!("row {number} is no object of columns and values"))?;
        for name in object.keys() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() {
        return Err("no rows; send at least one".into());
    }
    let mut text = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
    for (number, row) in rows.iter().enumerate() {
        text.push('\n');
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            match row.get(name.as_str()) {
                None | Some(Value::Null) => {}
                Some(Value::String(value)) => text.push_str(&quoted(value)),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => text.push_str(&value.to_string()),
                Some(_) => {
                    return Err(format!("row {number}, column {name}: give a number, a text, true, false or null"));
                }
            }
        }
        // A row whose only column is empty would be a blank line.
        if names.len() == 1 && text.ends_with('\n') {
            text.push_str("\"\"");
        }
    }
    text.push('\n');
    Ok(text.into_bytes())
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_csv() {
        let text = |body: &str| String::from_utf8(csv("application/json", body.as_bytes()).unwrap()).unwrap();
        assert_eq!(text("{\"a\": 1, \"b\": \"x, \\\"y\\\"\"}"), "\"a\",\"b\"\n1,\"x, \"\"y\"\"\"\n");
        assert_eq!(text("[{\"a\": null}, {\"a\": true}]"), "\"a\"\n\"\"\ntrue\n");
        assert_eq!(text("{\"rows\": [{\"a\": 1}, {\"b\": 2.5}]}"), "\"a\",\"b\"\n1,\n,2.5\n");
        for bad in ["", "3", "[3]", "{\"rows\": 1}", "[{\"a\": [1]}]", "[]", "[{}]"] {
            assert!(csv("application/json", bad.as_bytes()).is_err(), "{bad}");
        }
        assert_eq!(csv("text/csv; charset=utf-8", b"a\n1\n").unwrap(), b"a\n1\n");
    }
}
