//! The OpenAPI description, made from the model's schema.

use serde_json::{Map, Value, json};
use tove::tabular::TabularModel;

pub fn document(model: &TabularModel, schema: &Value) -> Value {
    let mut properties = Map::new();
    for column in schema["columns"].as_array().into_iter().flatten() {
        let kind = match column["kind"].as_str() {
            Some("float") => json!({"type": "number", "nullable": true}),
            Some("integer") => json!({"type": "integer", "nullable": true}),
            Some("boolean") => json!({"type": "boolean", "nullable": true}),
            _ => json!({"type": "string", "nullable": true, "examples": column["categories"]}),
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
