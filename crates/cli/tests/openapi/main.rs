//! `GET /openapi.json` against the rules of OpenAPI 3.1, and what the server takes and gives against the document.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod rules;
mod schema;

use common::Place;
use common::server::{Server, credit, credit_rows};
use schema::Validator;
use serde_json::{Value, json};

fn problems_of(document: &Value) -> Vec<String> {
    let rules = rules::openapi();
    Validator { root: &rules }.check(&rules, document, "").problems
}

/// A document of the server that follows the rules.
fn sound(server: &Server) -> Value {
    let document = server.ask("GET", "/openapi.json", "", b"").json();
    let problems = problems_of(&document);
    assert!(problems.is_empty(), "{problems:#?}");
    document
}

/// The problems of a value by a schema of the document, under a JSON pointer.
fn problems_at(document: &Value, pointer: &str, value: &Value) -> Vec<String> {
    let schema = document.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
    Validator { root: document }.check(schema, value, "").problems
}

const BODY: &str = "/paths/~1predict/post/requestBody/content/application~1json/schema";

fn answered(path: &str, method: &str, status: u16) -> String {
    format!("/paths/~1{path}/{method}/responses/{status}/content/application~1json/schema")
}

/// That a body fits the document and is answered as the document says.
#[track_caller]
fn agrees(server: &Server, document: &Value, body: &Value) {
    assert_eq!(problems_at(document, BODY, body), Vec::<String>::new(), "{body}");
    let reply = server.post("application/json", body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(
        problems_at(document, &answered("predict", "post", 200), &reply.json()),
        Vec::<String>::new(),
        "{reply:?}"
    );
}

#[test]
fn the_document_of_a_regression_is_openapi_and_true() {
    let place = Place::new("openapi-regression");
    let mut text = "id,size,count,good,color,day,note,y\n".to_owned();
    for i in 0..60 {
        let (good, color) = (i % 3 == 0, ["red", "blue", "green"][i % 3]);
        text.push_str(&format!(
            "r{i},{i}.25,{},{good},{color},2026-01-{:02},a note {i} of {} words,{i}.5\n",
            i * 7 % 11,
            1 + i % 28,
            i * i
        ));
    }
    place.write("t.csv", &text);
    place
        .run(&[
            "fit",
            "t.csv",
            "-t",
            "y",
            "-m",
            "Ridge",
            "--cv",
            "0",
            "--id",
            "id",
            "--type",
            "note=text",
            "-o",
            "t.tove",
            "-q",
        ])
        .ok();
    let server = Server::start(&place, "t.tove", &[]);
    let document = sound(&server);
    let row = json!({"id": "r1", "size": 1.5, "count": 2, "good": true, "color": "red", "day": "2026-01-05", "note": "a note"});
    agrees(&server, &document, &json!({"rows": [row.clone(), row.clone()]}));
    agrees(&server, &document, &json!([row.clone()]));
    agrees(&server, &document, &row);
    let mut other = row.clone();
    (other["size"], other["color"], other["day"]) = (Value::Null, json!("violet"), Value::Null);
    agrees(&server, &document, &json!({"rows": [other]}));
    // The document's own examples are accepted, in all three forms.
    let examples = &document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["examples"];
    assert_eq!(examples.as_object().unwrap().len(), 3);
    examples.as_object().unwrap().values().for_each(|example| agrees(&server, &document, &example["value"]));
    // What the server refuses, the document refuses; and errors are as it says.
    let mut lacking = row.clone();
    lacking.as_object_mut().unwrap().remove("color");
    let mut wrong = row;
    wrong["size"] = json!("big");
    for body in [json!(3), json!([]), json!({"rows": []}), json!({"rows": [3]}), lacking, wrong] {
        assert!(!problems_at(&document, BODY, &body).is_empty(), "{body}");
        let reply = server.post("application/json", body.to_string());
        assert_eq!(reply.status, 400, "{body}");
        assert!(problems_at(&document, &answered("predict", "post", 400), &reply.json()).is_empty(), "{reply:?}");
    }
    for path in ["schema", "health"] {
        let reply = server.ask("GET", &format!("/{path}"), "", b"").json();
        assert_eq!(problems_at(&document, &answered(path, "get", 200), &reply), Vec::<String>::new());
    }
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Row"]["required"], json!(["size", "count", "good", "color", "day", "note"]));
    assert_eq!(schemas["Row"]["properties"]["color"]["examples"], json!(["blue", "green", "red"]));
    assert_eq!(schemas["Prediction"]["required"], json!(["predicted y"]));
}

#[test]
fn the_document_of_a_classification_names_classes_and_probabilities() {
    let place = Place::new("openapi-classes");
    credit(&place, "LogisticRegression");
    let server = Server::start(&place, "credit.tove", &[]);
    let document = sound(&server);
    agrees(&server, &document, &json!({"rows": credit_rows()[..50]}));
    let prediction = &document["components"]["schemas"]["Prediction"];
    let required: Vec<&str> =
        prediction["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(required.len() == 3 && required[1].starts_with("P("), "{required:?}");
    assert_eq!(prediction["properties"][required[0]]["enum"].as_array().unwrap().len(), 2);
    assert_eq!(prediction["properties"][required[1]]["maximum"], 1);
}

/// What a server takes and gives at one address, against its document.
#[track_caller]
fn agrees_at(server: &Server, document: &Value, path: &str, body: &Value) {
    let schema = format!("/paths/~1{path}/post/requestBody/content/application~1json/schema");
    let reply = server.ask("POST", &format!("/{path}"), "application/json", body.to_string().as_bytes());
    let sound = problems_at(document, &schema, body).is_empty();
    assert_eq!(reply.status, if sound { 200 } else { 400 }, "{body}: {reply:?}");
    let answer = answered(path, "post", reply.status);
    assert_eq!(problems_at(document, &answer, &reply.json()), Vec::<String>::new(), "{reply:?}");
}

#[test]
fn the_documents_of_image_and_text_models_are_openapi_and_true() {
    let place = Place::new("openapi-nets");
    let fit = ["images", "fit", "digits", "--epochs", "1", "--hidden", "8", "-o", "digits.tove", "-q"];
    place.run(&fit).ok();
    let server = Server::start(&place, "digits.tove", &[]);
    let document = sound(&server);
    let mut file = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_luma8(9, 9).write_to(&mut file, image::ImageFormat::Png).unwrap();
    let encoded = base64::encode(file.into_inner());
    for body in [json!({"image": encoded}), json!({"images": [encoded, encoded]}), json!({"images": []}), json!(3)] {
        agrees_at(&server, &document, "predict", &body);
    }
    let required = document["components"]["schemas"]["Prediction"]["required"].as_array().unwrap().len();
    assert_eq!(required, 11, "a class and ten probabilities");
    for path in ["schema", "health"] {
        let reply = server.ask("GET", &format!("/{path}"), "", b"").json();
        assert_eq!(problems_at(&document, &answered(path, "get", 200), &reply), Vec::<String>::new());
    }

    place.write("t.txt", &"one two three ".repeat(60));
    let fit = ["text", "fit", "t.txt", "--steps", "5", "--context", "8", "--width", "16", "--layers", "1"];
    place.run(&[&fit[..], &["-o", "t.tove", "-q"]].concat()).ok();
    let server = Server::start(&place, "t.tove", &[]);
    let document = sound(&server);
    let example = &document["paths"]["/generate"]["post"]["requestBody"]["content"]["application/json"]["examples"];
    let settings = json!({"prompt": "one", "length": 3, "temperature": 0.5, "top_k": 2, "top_p": 0.5, "seed": 7});
    for body in [example["prompt"]["value"].clone(), settings, json!({"length": 3}), json!({"prompt": ""}), json!([])] {
        agrees_at(&server, &document, "generate", &body);
    }
    for path in ["schema", "health"] {
        let reply = server.ask("GET", &format!("/{path}"), "", b"").json();
        assert_eq!(problems_at(&document, &answered(path, "get", 200), &reply), Vec::<String>::new());
    }
}

#[test]
fn the_documents_of_lists_are_openapi_and_true() {
    let place = Place::new("openapi-lists");
    place.write("t.txt", &"one two three\n".repeat(20));
    place.run(&["words", "fit", "t.txt", "--set", "dimension=4", "-o", "w.tove", "-q"]).ok();
    let choices: String = (0..20).map(|i| format!("u{},i{}\n", i % 5, i * 3 % 7)).collect();
    place.write("c.csv", &format!("u,i\n{choices}"));
    place.run(&["recommend", "fit", "c.csv", "--user", "u", "--item", "i", "-o", "r.tove", "-q"]).ok();
    let bodies = |path: &str| match path {
        "nearest" => {
            vec![json!({"word": "two", "k": 2}), json!({"word": 2}), json!({"word": "two", "j": 1}), json!({})]
        }
        "analogy" => vec![json!({"a": "one", "b": "two", "c": "three"}), json!({"a": "one"}), json!([])],
        _ => vec![json!({"user": "u1", "k": 2}), json!({"user": [1]}), json!({"user": "u1", "k": 0}), json!("u1")],
    };
    for (model, paths) in [("w.tove", &["nearest", "analogy"][..]), ("r.tove", &["recommend"])] {
        let server = Server::start(&place, model, &[]);
        let document = sound(&server);
        for path in paths {
            let content = &document["paths"][format!("/{path}")]["post"]["requestBody"]["content"]["application/json"];
            agrees_at(&server, &document, path, &content["examples"]["question"]["value"]);
            bodies(path).iter().for_each(|body| agrees_at(&server, &document, path, body));
        }
        for path in ["schema", "health"] {
            let reply = server.ask("GET", &format!("/{path}"), "", b"").json();
            assert_eq!(problems_at(&document, &answered(path, "get", 200), &reply), Vec::<String>::new());
        }
    }
}

/// The validator finds what is wrong.
#[test]
fn documents_that_are_not_openapi_are_found() {
    let good = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": {"responses": {"200": {"description": "d"}}}}},
    });
    assert_eq!(problems_of(&good), Vec::<String>::new());
    let with = |pointer: &str, value: Value| {
        let mut other = good.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        other
    };
    for wrong in [
        json!(3),
        json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}}),
        with("/openapi", json!("3.0.0")),
        with("/openapi", json!("3.1.x")),
        with("/info", json!({"title": "t"})),
        with("/info", json!({"title": "t", "version": 1})),
        with("/info", json!({"title": "t", "version": "1", "nonsense": 1})),
        with("/paths", json!({"a": {}})),
        with("/paths/~1a", json!({"fetch": {}})),
        with("/paths/~1a/get", json!({"responses": {"200": {}}})),
        with("/paths/~1a/get", json!({"responses": {"2": {"description": "d"}}})),
        with("/paths/~1a/get", json!({"responses": {"200": {"description": "d", "content": {"a/b": {"schema": 3}}}}})),
        with("/paths/~1a/get", json!({"requestBody": {}})),
        with("/paths/~1a/get", json!({"requestBody": {"content": {}, "required": "yes"}})),
        with("/paths/~1a/get", json!({"operationId": 3})),
        with("/paths/~1a/get", json!({"parameters": [{"name": "n", "in": "body", "schema": {}}]})),
    ] {
        assert!(!problems_of(&wrong).is_empty(), "{wrong}");
    }
    let mut components = good;
    components["components"] = json!({"schemas": {"a b": {}}});
    assert!(!problems_of(&components).is_empty());
}

/// Models that keep their samples answer which of them are nearest.
#[test]
fn the_neighbors_of_rows_are_served_as_the_document_says() {
    let place = Place::new("openapi-neighbors");
    let row = |i: usize| (i % 8) as f64 + 0.01 * (i / 8) as f64;
    let lines =
        |rows: std::ops::Range<usize>| rows.map(|i| format!("{},{},{}\n", row(i), -row(i), i % 8)).collect::<String>();
    place.write("train.csv", &format!("a,b,y\n{}", lines(0..80)));
    place.write("test.csv", &format!("a,b,y\n{}", lines(80..100)));
    let fit =
        ["fit", "train.csv", "--test", "test.csv", "-t", "y", "--task", "regression", "-m", "KNeighborsRegressor"];
    place.run(&[&fit[..], &["--cv", "0", "-o", "m.tove", "-q"]].concat()).ok();
    let server = Server::start(&place, "m.tove", &["--max-rows", "90"]);
    let document = sound(&server);
    let ask = |path: &str, body: &Value| server.ask("POST", path, "application/json", body.to_string().as_bytes());
    // Rows of the fit are their own nearest neighbors; those of the same group come next.
    let body = json!({"rows": [{"a": row(13), "b": -row(13)}, {"a": row(40), "b": -row(40)}]});
    let reply = ask("/neighbors?k=3", &body);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(problems_at(&document, &answered("neighbors", "post", 200), &reply.json()), Vec::<String>::new());
    let found = reply.json();
    for (place, own) in [13i64, 40].into_iter().enumerate() {
        let numbers: Vec<i64> =
            found["neighbors"][place]["rows"].as_array().unwrap().iter().map(|row| row.as_i64().unwrap()).collect();
        let distances = found["neighbors"][place]["distances"].as_array().unwrap();
        assert!(numbers.len() == 3 && numbers[0] == own && numbers.iter().all(|other| other % 8 == own % 8), "{found}");
        assert!(distances[0].as_f64().unwrap() < 1e-12 && distances[1].as_f64() <= distances[2].as_f64(), "{found}");
    }
    let five = ask("/neighbors", &json!({"a": 1, "b": -1})).json();
    assert_eq!(five["neighbors"][0]["rows"].as_array().unwrap().len(), 5);
    ask("/neighbors?k=0", &body).refused(400, &["whole number from 1"]);
    ask("/neighbors?k=x", &body).refused(400, &["whole number from 1"]);
    ask("/neighbors?n=3", &body).refused(400, &["only k"]);
    ask("/neighbors?k=91", &body).refused(413, &["at most 90", "--max-rows"]);
    ask("/neighbors?k=81", &body).refused(400, &["81 neighbors of 80 samples"]);
    ask("/neighbors", &json!({"a": 1})).refused(400, &["b"]);
    server.ask("GET", "/neighbors", "", b"").refused(405, &["POST"]);
}

#[test]
fn prediction_sets_intervals_and_groups_are_part_of_the_document() {
    let place = Place::new("openapi-regions");
    let mut text = "size,region,kind,y\n".to_owned();
    for i in 0..120 {
        let (region, kind) = (["north", "south"][i % 2], ["a", "b"][usize::from(i * 37 % 120 > 60)]);
        text.push_str(&format!("{},{region},{kind},{}.5\n", i * 37 % 120, i * 37 % 120 + i % 5));
    }
    place.write("t.csv", &text);
    let fits = [("y", "Ridge", "kind"), ("kind", "LogisticRegression", "y")];
    for (target, model, unused) in fits {
        let fit = [
            "fit",
            "t.csv",
            "-t",
            target,
            "-m",
            model,
            "--cv",
            "0",
            "--drop",
            "region",
            "--drop",
            unused,
            "-o",
            "m.tove",
            "-q",
            "--overwrite",
        ];
        place.run(&fit).ok();
        place.run(&["conformal", "m.tove", "t.csv", "--by", "region", "-o", "c.tove", "-q", "--overwrite"]).ok();
        let server = Server::start(&place, "c.tove", &[]);
        let document = sound(&server);
        let members = document["components"]["schemas"]["Prediction"]["properties"].as_object().unwrap();
        let wanted: &[&str] = if target == "y" { &["lower y", "upper y"] } else { &["set(a)", "set(b)"] };
        assert!(wanted.iter().all(|name| members.contains_key(*name)), "{members:?}");
        agrees(&server, &document, &json!({"size": 50, "region": "north"}));
        // Of a group that was not seen nothing is known: all classes, or no bounds.
        agrees(&server, &document, &json!({"size": 50, "region": "west"}));
        let body = json!({"size": 50, "region": null}).to_string();
        let answer = server.post("application/json", body).json()["predictions"][0].clone();
        let nothing = if target == "y" { Value::Null } else { Value::Bool(true) };
        assert!(wanted.iter().all(|name| answer[*name] == nothing), "{answer}");
    }
}
