//! The OpenAPI description, made from the model's schema.

use serde_json::{Map, Value, json};
use tove::tabular::TabularModel;

pub fn document(model: &TabularModel, schema: &Value) -> Value {
    let mut properties = Map::new();
    for column in schema["columns"].as_array().into_iter().flatten() {
        let kind = match column["kind"].as_str() {
            // A column that held integers takes other numbers too.
            Some("float" | "integer") => json!({"type": ["number", "null"]}),
            Some("boolean") => json!({"type": ["boolean", "null"]}),
            _ => match column["categories"].as_array() {
                Some(known) => json!({"type": ["string", "null"], "examples": known}),
                None => json!({"type": ["string", "null"]}),
            },
        };
        if let Some(name) = column["name"].as_str() {
            properties.insert(name.to_owned(), kind);
        }
    }
    let answer =
        |text: &str| json!({"description": text, "content": {"application/json": {"schema": {"type": "object"}}}});
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": format!("{} of {}", model.task(), model.target()),
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": {
            "/predict": {"post": {
                "summary": "Predictions for rows",
                "description": "Requests that wait are predicted together; the predictions for a row do not depend on it.",
                "requestBody": {"required": true, "content": {
                    "application/json": {"schema": {"type": "object", "properties": {
                        "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                    }}},
                    "text/csv": {"schema": {"type": "string"}},
                }},
                "responses": {
                    "200": answer(
                        "One object per row with the prediction and, for classes, their probabilities; what was ignored, \
                         not seen at fitting, or filled",
                    ),
                    "400": answer("What is wrong with the rows"),
                    "408": answer("The body did not arrive in time"),
                    "413": answer("Too many rows or bytes"),
                    "415": answer("Neither JSON nor CSV"),
                    "421": answer("Asked under a name that is not allowed"),
                    "503": answer("It took too long"),
                },
            }},
            "/schema": {"get": {"summary": "The columns that are needed", "responses": {"200": answer("The schema")}}},
            "/health": {"get": {"summary": "Whether the model answers", "responses": {"200": answer("It does")}}},
            "/metrics": {"get": {
                "summary": "Counters for Prometheus: requests, rows, latency, batches and their rows",
                "responses": {"200": {"description": "Text"}},
            }},
        },
        "components": {"schemas": {"Row": {"type": "object", "properties": properties}}},
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tove::tabular::{Candidate, Plan};

    /// What OpenAPI 3.1 and JSON Schema 2020-12 ask of a schema, as far as it is used here.
    fn check_schema(schema: &Value, document: &Value) {
        let object = schema.as_object().unwrap();
        for word in object.keys() {
            assert!(["type", "properties", "items", "examples", "$ref"].contains(&word.as_str()), "{word}");
        }
        if let Some(reference) = object.get("$ref") {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        let types: Vec<&str> = match object.get("type") {
            Some(Value::Array(list)) => list.iter().map(|one| one.as_str().unwrap()).collect(),
            Some(one) => vec![one.as_str().unwrap()],
            None => Vec::new(),
        };
        let known = ["null", "boolean", "object", "array", "number", "integer", "string"];
        assert!(types.iter().all(|one| known.contains(one)), "{types:?}");
        if let Some(examples) = object.get("examples") {
            assert!(examples.is_array(), "{examples}");
        }
        if let Some(properties) = object.get("properties") {
            properties.as_object().unwrap().values().for_each(|inner| check_schema(inner, document));
        }
        if let Some(items) = object.get("items") {
            check_schema(items, document);
        }
    }

    fn check_content(part: &Value, document: &Value) {
        for (kind, media) in part["content"].as_object().into_iter().flatten() {
            assert!(kind.contains('/'), "{kind}");
            check_schema(&media["schema"], document);
        }
    }

    #[test]
    fn the_description_is_openapi_3_1() {
        let text = "size,count,good,colour,day,note,y\n".to_owned()
            + &(0..40)
                .map(|i| {
                    format!(
                        "{i}.5,{i},{},{},2026-01-{:02},a note {i} of words,{i}.5\n",
                        i % 2 == 0,
                        ["r", "g"][i % 2],
                        i % 28 + 1
                    )
                })
                .collect::<String>();
        let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes()).unwrap();
        let candidate = Candidate::named("Ridge").unwrap();
        let model = Plan::new("y").folds(0).fit(&table, &[candidate], &mut |_| {}).unwrap().model;
        let document = document(&model, &crate::serve::rows::schema(&model));
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
        assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
        assert!(!document.to_string().contains("nullable"));
        for (path, item) in document["paths"].as_object().unwrap() {
            assert!(path.starts_with('/'));
            for (method, operation) in item.as_object().unwrap() {
                assert!(["get", "post"].contains(&method.as_str()));
                if let Some(body) = operation.get("requestBody") {
                    assert!(body["content"].is_object());
                    check_content(body, &document);
                }
                let responses = operation["responses"].as_object().unwrap();
                assert!(!responses.is_empty());
                for (status, response) in responses {
                    assert!(status.len() == 3 && status.parse::<u16>().is_ok() && response["description"].is_string());
                    check_content(response, &document);
                }
            }
        }
        for schema in document["components"]["schemas"].as_object().unwrap().values() {
            check_schema(schema, &document);
        }
        let row = &document["components"]["schemas"]["Row"]["properties"];
        assert_eq!(row["size"], json!({"type": ["number", "null"]}));
        assert_eq!(row["colour"], json!({"type": ["string", "null"], "examples": ["g", "r"]}));
    }
}
