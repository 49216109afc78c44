//! The rules of the OpenAPI Specification 3.1 for every object that a document of the server has, as a JSON Schema: required and
//! allowed members, their types, and the forms of their names.

use serde_json::{Value, json};

/// A schema that is found below `$defs`.
fn named(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// An object with these members and no others, but for extensions.
fn object(required: &[&str], members: Value) -> Value {
    json!({
        "type": "object", "required": required, "properties": members,
        "patternProperties": {"^x-": true}, "additionalProperties": false,
    })
}

/// An object whose members all follow one rule.
fn members_of(rule: Value) -> Value {
    json!({"type": "object", "additionalProperties": rule})
}

/// Either an object, or a reference to one.
fn or_reference(name: &str) -> Value {
    json!({
        "if": {"type": "object", "required": ["$ref"]},
        "then": object(&["$ref"], json!({"$ref": {"type": "string"}, "summary": {"type": "string"}, "description": {"type": "string"}})),
        "else": named(name),
    })
}

/// The rules of a whole document.
pub fn openapi() -> Value {
    let text = || json!({"type": "string"});
    let mut document = object(
        &["openapi", "info"],
        json!({
            "openapi": {"type": "string", "pattern": "^3\\.1\\.\\d+(-.+)?$"},
            "info": named("info"),
            "jsonSchemaDialect": text(),
            "servers": {"type": "array", "items": named("server")},
            "paths": named("paths"),
            "webhooks": members_of(or_reference("path")),
            "components": named("components"),
            "tags": {"type": "array", "items": named("tag")},
        }),
    );
    document["anyOf"] = json!([{"required": ["paths"]}, {"required": ["components"]}, {"required": ["webhooks"]}]);
    document["$defs"] = json!({
        "info": object(&["title", "version"], json!({
            "title": text(), "summary": text(), "description": text(), "version": text(),
            "license": object(&["name"], json!({"name": text(), "identifier": text(), "url": text()})),
        })),
        "server": object(&["url"], json!({"url": text(), "description": text()})),
        "tag": object(&["name"], json!({"name": text(), "description": text()})),
        "paths": {
            "type": "object", "patternProperties": {"^/": named("path"), "^x-": true}, "additionalProperties": false,
        },
        "path": object(&[], json!({
            "summary": text(), "description": text(), "servers": {"type": "array", "items": named("server")},
            "parameters": {"type": "array", "items": or_reference("parameter")},
            "get": named("operation"), "put": named("operation"), "post": named("operation"),
            "delete": named("operation"), "options": named("operation"), "head": named("operation"),
            "patch": named("operation"), "trace": named("operation"),
        })),
        "operation": object(&[], json!({
            "tags": {"type": "array", "items": text()},
            "summary": text(), "description": text(), "operationId": text(), "deprecated": {"type": "boolean"},
            "parameters": {"type": "array", "items": or_reference("parameter")},
            "requestBody": or_reference("body"),
            "responses": named("responses"),
        })),
        "parameter": object(&["name", "in"], json!({
            "name": text(), "in": {"enum": ["query", "header", "path", "cookie"]}, "description": text(),
            "required": {"type": "boolean"}, "schema": named("schema"),
        })),
        "body": object(&["content"], json!({
            "description": text(), "required": {"type": "boolean"}, "content": named("content"),
        })),
        "responses": {
            "type": "object", "minProperties": 1,
            "properties": {"default": or_reference("response")},
            "patternProperties": {"^[1-5](?:[0-9]{2}|XX)$": or_reference("response"), "^x-": true},
            "additionalProperties": false,
        },
        "response": object(&["description"], json!({
            "description": text(), "content": named("content"), "headers": members_of(or_reference("header")),
        })),
        "header": object(&[], json!({
            "description": text(), "required": {"type": "boolean"}, "schema": named("schema"),
        })),
        "content": members_of(named("media")),
        "media": object(&[], json!({
            "schema": named("schema"), "example": true,
            "examples": members_of(or_reference("example")),
        })),
        "example": object(&[], json!({
            "summary": text(), "description": text(), "value": true, "externalValue": text(),
        })),
        "components": object(&[], json!({
            "schemas": {
                "type": "object", "propertyNames": {"pattern": "^[a-zA-Z0-9._-]+$"}, "additionalProperties": named("schema"),
            },
            "responses": members_of(or_reference("response")),
            "parameters": members_of(or_reference("parameter")),
            "requestBodies": members_of(or_reference("body")),
            "examples": members_of(or_reference("example")),
            "headers": members_of(or_reference("header")),
        })),
        "schema": {"type": ["object", "boolean"]},
    });
    document
}
