//! The OpenAPI 3.1 description, generated from the model.

use serde_json::{Map, Value, json};
use tove::data::table::{Field, Kind, Role, Task};
use tove::language::Generation;
use tove::tabular::TabularModel;

use super::images::ImageServer;
use super::lists::{ListServer, Lists, USUAL};
use super::predictor::NEIGHBORS;
use super::rows::needed;
use super::texts::TextServer;

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
    let required: Vec<&str> = fields().filter(|field| field.role.is_needed()).map(|field| &*field.name).collect();
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
        let kind = match field.kind {
            Kind::Boolean => "boolean",
            kind if kind.is_numeric() => "number",
            _ => "string",
        };
        properties.insert(field.name.clone(), json!({"type": [kind, "null"], "description": "The id of the row"}));
    }
    let predicted = model.predicted();
    let mut required = vec![predicted.clone()];
    let kind = match model.task() {
        Task::Regression => json!({"type": "number"}),
        Task::Clustering(_) => {
            json!({"type": "integer", "description": "The number of the cluster; -1 for an outlier"})
        }
        _ => json!({"type": "string", "enum": model.classes()}),
    };
    properties.insert(predicted, kind);
    for name in model.probability_names().iter().map(|name| format!("P({name})")) {
        required.push(name.clone());
        properties.insert(name, json!({"type": "number", "minimum": 0, "maximum": 1}));
    }
    for (name, kind) in regions(model) {
        required.push(name.clone());
        properties.insert(name, kind);
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// The members of prediction sets or intervals, if the model makes them.
fn regions(model: &TabularModel) -> Vec<(String, Value)> {
    let Some(rule) = &model.safeguards().coverage else { return Vec::new() };
    let claim = rule.claim().to_string();
    if model.classes().is_empty() {
        let text = format!("An end of the prediction interval, null if it is unbounded: {claim}");
        let end = |name: &str| {
            (format!("{name} {}", model.target()), json!({"type": ["number", "null"], "description": text}))
        };
        return vec![end("lower"), end("upper")];
    }
    let text = format!("Whether the class is in the prediction set: {claim}");
    let member = |class: &String| (format!("set({class})"), json!({"type": "boolean", "description": text}));
    model.classes().iter().map(member).collect()
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
            ("role", json!({"type": "string", "enum": ["feature", "id", "group"]})),
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
            ("task", string),
            ("classes", strings),
            ("facts", json!({"type": "object"})),
        ], "The columns of the model"),
    })
}

/// The answers that every request can get, beside the good one.
fn responses(good: &str, text: &str) -> Value {
    let mut all = json!({"200": {"description": text, "content": json_content(good)}});
    for (status, text) in [
        ("400", "The request is invalid; the message says where"),
        ("408", "The request body did not arrive in time"),
        ("413", "More rows, images, tokens or bytes than allowed"),
        ("415", "Unsupported content type"),
        ("421", "The host name is not allowed"),
        ("500", "The model failed"),
        ("503", "The server is busy, or the prediction took too long"),
    ] {
        all[status] = json!({"description": text, "content": json_content("Error")});
    }
    all
}

fn json_content(name: &str) -> Value {
    json!({"application/json": {"schema": reference(name)}})
}

/// The document, with what differs between kinds of models.
fn whole((title, description): (String, String), operations: &[(&str, Value)], mut schemas: Value) -> Value {
    let string = || json!({"type": "string"});
    let ok = |name: &str, text: &str| json!({"200": {"description": text, "content": json_content(name)}});
    schemas["Health"] = object(
        &[
            ("status", json!({"const": "ok"})),
            ("model", string()),
            ("target", string()),
            ("task", string()),
            ("tove", string()),
        ],
        "The model that is served",
    );
    schemas["Error"] = object(&[("error", string())], "What is wrong, and what to do");
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": title, "description": description, "version": env!("CARGO_PKG_VERSION")},
        "paths": {
            "/schema": {"get": {
                "operationId": "schema",
                "summary": "What the model takes",
                "responses": ok("Schema", "What the model takes and how it was fitted"),
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
    });
    for (path, operation) in operations {
        document["paths"][*path] = json!({"post": operation});
    }
    document
}

/// The document of a model of tables.
pub fn document(model: &TabularModel) -> Value {
    let schemas = schemas(model);
    let example = example(&schemas["Row"]);
    let operation = json!({
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
        "responses": responses("Predictions", "The predictions"),
    });
    let mut operations = vec![("/predict", operation.clone())];
    let mut schemas = schemas;
    if model.model().capabilities().neighbors {
        let (numbers, distances) = (json!({"type": "integer", "minimum": 0}), json!({"type": "number", "minimum": 0}));
        let neighbors = object(
            &[("rows", array(numbers)), ("distances", array(distances))],
            "Numbers of the training rows, from 0, the nearest first, and their distances",
        );
        schemas["Neighbors"] = object(
            &[("neighbors", array(neighbors)), ("ignored_columns", array(json!({"type": "string"})))],
            "The nearest training rows of each row",
        );
        let mut nearest = operation;
        nearest["operationId"] = "neighbors".into();
        nearest["summary"] = "Nearest training rows".into();
        nearest["description"] = "The training rows that are nearest to each row.".into();
        nearest["parameters"] = json!([{
            "name": "k", "in": "query", "required": false, "description": "How many",
            "schema": {"type": "integer", "minimum": 1, "default": NEIGHBORS},
        }]);
        nearest["responses"] = responses("Neighbors", "The nearest training rows");
        operations.push(("/neighbors", nearest));
    }
    let title = match model.task() {
        Task::Clustering(_) => model.task().to_string(),
        task => format!("{task} of {}", model.target()),
    };
    let description = format!("Predictions of a {} model", model.model().name());
    whole((title, description), &operations, schemas)
}

/// The document of an image model.
pub fn image(server: &ImageServer) -> Value {
    let (string, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 1}));
    let classes = server.model.classes();
    let mut members = vec![("predicted class".to_owned(), json!({"type": "string", "enum": classes}))];
    members.extend(classes.iter().map(|c| (format!("P({c})"), json!({"type": "number", "minimum": 0, "maximum": 1}))));
    let members: Vec<(&str, Value)> = members.iter().map(|(name, schema)| (name.as_str(), schema.clone())).collect();
    let encoded = json!({"type": "string", "contentEncoding": "base64", "description": "A PNG or JPEG file"});
    let input = [("channels", count.clone()), ("height", count.clone()), ("width", count)];
    let schemas = json!({
        "Image": object(&[("image", encoded.clone())], "An image"),
        "Images": object(&[("images", json!({"type": "array", "items": encoded, "minItems": 1}))], "Images"),
        "Prediction": object(&members, "The most probable class of an image, and the probabilities of all"),
        "Predictions": object(&[("predictions", array(reference("Prediction")))], "One prediction per image, in their order"),
        "Schema": object(&[
            ("input", object(&input, "The size that images are scaled and center-cropped to")),
            ("classes", array(string)),
            ("facts", json!({"type": "object"})),
        ], "What the model takes"),
    });
    let operation = json!({
        "operationId": "predict",
        "summary": "Classify images",
        "description": "An image of another size is scaled until it covers that of the model, and center-cropped.",
        "requestBody": {"required": true, "content": {
            "image/png": {}, "image/jpeg": {},
            "application/json": {"schema": {"anyOf": [reference("Image"), reference("Images")]}},
        }},
        "responses": responses("Predictions", "The predictions"),
    });
    let description = format!("Predictions of a {} model", server.model.config().name());
    whole(("classification of images".to_owned(), description), &[("/predict", operation)], schemas)
}

/// The document of a text model.
pub fn text(server: &TextServer) -> Value {
    let (string, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 0}));
    let usual = Generation::default();
    let number = |schema: Value, default: Value| {
        let mut schema = schema;
        schema["default"] = default;
        schema
    };
    let length =
        json!({"type": "integer", "minimum": 0, "maximum": server.max_tokens, "description": "Tokens to generate"});
    let mut request = object(&[("prompt", json!({"type": "string", "minLength": 1}))], "A prompt");
    for (name, schema) in [
        ("length", number(length, json!(usual.length.min(server.max_tokens)))),
        ("temperature", number(json!({"type": "number", "minimum": 0}), json!(usual.temperature))),
        ("top_k", json!({"type": ["integer", "null"], "minimum": 1})),
        ("top_p", json!({"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1})),
        ("seed", number(count.clone(), json!(usual.seed))),
    ] {
        request["properties"][name] = schema;
    }
    request["additionalProperties"] = json!(false);
    let schemas = json!({
        "Prompt": request,
        "Continuation": object(&[
            ("prompt", string.clone()),
            ("continuation", string.clone()),
            ("tokens", count.clone()),
            ("seed", count.clone()),
        ], "The text that follows the prompt"),
        "Schema": object(&[
            ("tokens", string),
            ("vocabulary", count.clone()),
            ("context", count.clone()),
            ("max_tokens", count),
            ("facts", json!({"type": "object"})),
        ], "What the model takes"),
    });
    let prompt = server.model.tokens().beginning();
    let operation = json!({
        "operationId": "generate",
        "summary": "Generate text from a prompt",
        "description": "The same request has the same answer.",
        "requestBody": {"required": true, "content": {
            "application/json": {
                "schema": reference("Prompt"),
                "examples": {"prompt": {"summary": "A prompt", "value": {"prompt": prompt, "length": 20}}},
            },
            "text/plain": {"schema": {"type": "string", "description": "The prompt, with the usual settings"}},
        }},
        "responses": responses("Continuation", "The continuation"),
    });
    let description = "Continuations by a GPT".to_owned();
    whole(("language model".to_owned(), description), &[("/generate", operation)], schemas)
}

/// The document of a recommender or of word vectors.
pub fn lists(server: &ListServer) -> Value {
    let (string, count) = (json!({"type": "string"}), json!({"type": "integer", "minimum": 0}));
    let k = json!({"type": "integer", "minimum": 1, "maximum": server.most, "default": USUAL.min(server.most)});
    let question = |members: &[(&str, Value)], description: &str| {
        let mut schema = object(members, description);
        schema["properties"]["k"] = k.clone();
        schema["additionalProperties"] = json!(false);
        schema
    };
    let operation = |id: &str, summary: &str, asked: &str, given: &str, example: Value| {
        json!({
            "operationId": id,
            "summary": summary,
            "requestBody": {"required": true, "content": {"application/json": {
                "schema": reference(asked),
                "examples": {"question": {"summary": "A question", "value": example}},
            }}},
            "responses": responses(given, "The list, the best first"),
        })
    };
    let facts = ("facts", json!({"type": "object"}));
    let (name, _, task) = server.about();
    let title = (task.to_owned(), format!("Lists by a {name} model"));
    match &server.model {
        Lists::Items(model) => {
            let item =
                object(&[("item", string.clone()), ("score", json!({"type": "number"}))], "An item and its score");
            let schemas = json!({
                "Recommend": question(&[("user", json!({"type": ["string", "integer"]}))], "A user, and how many items"),
                "Items": object(&[("user", string.clone()), ("items", array(item))], "Items that the user has not had"),
                "Schema": object(&[
                    ("user", string.clone()),
                    ("item", string.clone()),
                    ("rating", json!({"type": ["string", "null"]})),
                    ("users", count.clone()),
                    ("items", count.clone()),
                    ("max_k", count),
                    facts,
                ], "The columns of the model"),
            });
            let example = json!({"user": model.users().first(), "k": 3.min(server.most)});
            let recommend = operation("recommend", "The best items for a user", "Recommend", "Items", example);
            whole(title, &[("/recommend", recommend)], schemas)
        }
        Lists::Words(model) => {
            let neighbor =
                object(&[("word", string.clone()), ("similarity", json!({"type": "number"}))], "A word and its cosine");
            let word = || string.clone();
            let schemas = json!({
                "Word": question(&[("word", word())], "A word, and how many neighbors"),
                "Nearest": object(&[("word", word()), ("nearest", array(neighbor.clone()))], "The most similar words"),
                "Analogy": question(&[("a", word()), ("b", word()), ("c", word())], "a is to b as c is to ?"),
                "Answers": object(
                    &[("a", word()), ("b", word()), ("c", word()), ("answers", array(neighbor))],
                    "The words most similar to b - a + c"
                ),
                "Schema": object(&[
                    ("vocabulary", count.clone()),
                    ("dimension", count.clone()),
                    ("unseen_words", json!({"type": "boolean"})),
                    ("max_k", count),
                    facts,
                ], "What the model takes"),
            });
            let words = model.vectors().words();
            let some = |at: usize| words[at % words.len()].clone();
            let nearest =
                operation("nearest", "The words most similar to a word", "Word", "Nearest", json!({"word": some(0)}));
            let example = json!({"a": some(0), "b": some(1), "c": some(2), "k": 1});
            let analogy = operation("analogy", "a is to b as c is to ?", "Analogy", "Answers", example);
            whole(title, &[("/nearest", nearest), ("/analogy", analogy)], schemas)
        }
    }
}
