//! The OpenAPI 3.1 description, generated from the model's schema.

use serde_json::{Map, Value, json};
use tove::data::table::{Field, Kind, Role};
use tove::tabular::TabularModel;

use super::rows::needed;

/// How many categories are listed as examples.
const EXAMPLES: usize = 20;

/// The JSON Schema of a column in a request. A column of integers accepts other numbers, and categories that were not in the
/// training data are accepted and reported, so known categories are examples and not an `enum`.
fn property(field: &Field) -> Value {
    let mut schema = match field.kind {
        Kind::Float | Kind::Integer => json!({"type": ["number", "null"]}),
        Kind::Boolean => json!({"type": ["boolean", "null"], "examples": [true, false]}),
        Kind::Date => json!({
            "type": ["string", "null"], "description": "ISO 8601 date or date and time", "examples": ["2026-01-31"],
        }),
        Kind::Categorical | Kind::Text => json!({"type": ["string", "null"]}),
    };
    let mut examples: Vec<Value> = field.typical.iter().map(|typical| typical.value.clone()).collect();
    for known in field.categories.iter().flatten().take(EXAMPLES) {
        if !examples.contains(&json!(known)) {
            examples.push(json!(known));
        }
    }
    if !examples.is_empty() {
        schema["examples"] = examples.into();
    }
    if let Some([least, largest]) = field.typical.as_ref().and_then(|typical| typical.range.as_ref()) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let range = format!("From {} to {} in the training data", text(least), text(largest));
        schema["description"] = match schema["description"].as_str() {
            Some(format) => format!("{format}. {range}"),
            None => range,
        }
        .into();
    }
    schema
}

/// The JSON Schema of a row in a request. Columns of features must be present, though they may be null.
fn row(model: &TabularModel) -> Value {
    let fields = || needed(model.schema());
    let required: Vec<&str> = fields().filter(|field| field.role == Role::Feature).map(|field| &*field.name).collect();
    let properties: Map<String, Value> = fields().map(|field| (field.name.clone(), property(field))).collect();
    json!({
        "type": "object", "properties": properties, "required": required,
        "description": "A row: one member per column. null is a missing value; members that are not columns are ignored.",
    })
}

/// A row with a value wherever one is known, and null elsewhere.
fn example(row: &Value) -> Value {
    let known = |(name, schema): (&String, &Value)| (name.clone(), schema["examples"][0].clone());
    row["properties"].as_object().into_iter().flatten().map(known).collect::<Map<String, Value>>().into()
}

/// The JSON Schema of the prediction for a row, as `commands::predict::answer` names its members.
fn prediction(model: &TabularModel) -> Value {
    let mut properties = Map::new();
    for field in needed(model.schema()).filter(|field| field.role == Role::Id) {
        let kind = if field.kind.is_numeric() && field.kind != Kind::Boolean { "number" } else { "string" };
        properties.insert(field.name.clone(), json!({"type": [kind, "null"], "description": "The id of the row"}));
    }
    let predicted = format!("predicted {}", model.target());
    let mut required = vec![predicted.clone()];
    if model.classes().is_empty() {
        properties.insert(predicted, json!({"type": "number"}));
    } else {
        properties.insert(predicted, json!({"type": "string", "enum": model.classes()}));
        let probabilities = model.model().capabilities().probabilities;
        for &class in model.model().classes().iter().filter(|_| probabilities) {
            let name = format!("P({})", model.classes().get(class as usize).map_or("", String::as_str));
            required.push(name.clone());
            properties.insert(name, json!({"type": "number", "minimum": 0, "maximum": 1}));
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn object(members: &[(&str, Value)], description: &str) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "description": description})
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn schemas(model: &TabularModel) -> Value {
    let (string, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 1}));
    let strings = array(string.clone());
    let unseen = object(
        &[("column", string.clone()), ("value", string.clone()), ("rows", count.clone())],
        "A category that was not in the training data",
    );
    let filled =
        object(&[("column", string.clone()), ("rows", count)], "A column with missing values, which were imputed");
    let column = object(
        &[
            ("name", string.clone()),
            ("kind", json!({"type": "string", "enum": Kind::ALL.map(Kind::name)})),
            ("categories", json!({"type": ["array", "null"], "items": {"type": "string"}})),
            ("typical", json!({"description": "The median of numbers and dates, the most frequent category, or null"})),
            (
                "range",
                json!({"type": ["array", "null"], "description": "Smallest and largest value in the training data"}),
            ),
            ("role", json!({"type": "string", "enum": ["feature", "id"]})),
        ],
        "A column that a row has",
    );
    let rows = json!({"type": "array", "items": reference("Row"), "minItems": 1});
    json!({
        "Row": row(model),
        "Rows": object(&[("rows", rows)], "Rows to predict"),
        "Prediction": prediction(model),
        "Predictions": object(&[
            ("predictions", array(reference("Prediction"))),
            ("ignored_columns", strings.clone()),
            ("unseen", array(unseen)),
            ("filled", array(filled)),
        ], "One prediction per row, in their order, and what was done to the rows"),
        "Schema": object(&[
            ("columns", array(column)),
            ("target", string.clone()),
            ("task", string.clone()),
            ("classes", strings),
            ("facts", json!({"type": "object"})),
        ], "The columns of the model"),
        "Health": object(&[
            ("status", json!({"const": "ok"})),
            ("model", string.clone()),
            ("target", string.clone()),
            ("task", string.clone()),
            ("tove", string.clone()),
        ], "The model that is served"),
        "Error": object(&[("error", string)], "What is wrong, and what to do"),
    })
}

pub fn document(model: &TabularModel) -> Value {
    let schemas = schemas(model);
    let json_content = |name: &str| json!({"application/json": {"schema": reference(name)}});
    let ok = |name: &str, text: &str| json!({"200": {"description": text, "content": json_content(name)}});
    let mut predict = ok("Predictions", "The predictions");
    for (status, text) in [
        ("400", "A row, a column or a value is invalid"),
        ("408", "The request body did not arrive in time"),
        ("413", "Too many rows or bytes"),
        ("415", "Unsupported content type"),
        ("421", "The host name is not allowed"),
        ("500", "The model failed"),
        ("503", "The server is busy, or the prediction took too long"),
    ] {
        predict[status] = json!({"description": text, "content": json_content("Error")});
    }
    let example = example(&schemas["Row"]);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": format!("{} of {}", model.task(), model.target()),
            "description": format!("Predictions of a {} model", model.model().name()),
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": {
            "/predict": {"post": {
                "operationId": "predict",
                "summary": "Predict rows",
                "description": "Concurrent requests are predicted in batches; predictions do not depend on the batch.",
                "requestBody": {"required": true, "content": {
                    "application/json": {
                        "schema": {"anyOf": [reference("Rows"), {"type": "array", "items": reference("Row"), "minItems": 1},
                                             reference("Row")]},
                        "examples": {
                            "rows": {"summary": "Rows", "value": {"rows": [example.clone()]}},
                            "array": {"summary": "Rows as an array", "value": [example.clone()]},
                            "row": {"summary": "A single row", "value": example},
                        },
                    },
                    "text/csv": {"schema": {"type": "string", "description": "CSV with a header line"}},
                }},
                "responses": predict,
            }},
            "/schema": {"get": {
                "operationId": "schema",
                "summary": "The columns of a row",
                "responses": ok("Schema", "The columns, the target and how the model was fitted"),
            }},
            "/health": {"get": {
                "operationId": "health",
                "summary": "Check that the server is running",
                "responses": ok("Health", "The server is running"),
            }},
            "/metrics": {"get": {
                "operationId": "metrics",
                "summary": "Prometheus counters: requests, rows, latency and batches",
                "responses": {"200": {
                    "description": "Counters in the Prometheus text format",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                }},
            }},
        },
        "components": {"schemas": schemas},
    })
}
