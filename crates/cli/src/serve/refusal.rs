//! Errors of requests: an HTTP status and a message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tove::data::{DataError, Remedy};
use tove::tabular::TabularError;

/// Why a request got no predictions.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub text: String,
}

impl Refusal {
    #[cold]
    pub fn new(status: u16, text: impl Into<String>) -> Refusal {
        Refusal { status, text: text.into() }
    }

    /// The rows are at fault.
    #[cold]
    pub fn bad(text: impl Into<String>) -> Refusal {
        Refusal::new(400, text)
    }

    /// The server is at fault.
    #[cold]
    pub fn fault(text: impl Into<String>) -> Refusal {
        Refusal::new(500, text)
    }
}

/// The rows are at fault. Who sends them has none of the settings that a remedy may name, but knows what is meant.
impl From<DataError> for Refusal {
    #[cold]
    fn from(error: DataError) -> Refusal {
        Refusal::bad(error.reworded(Remedy::action).to_string())
    }
}

impl From<TabularError> for Refusal {
    #[cold]
    fn from(error: TabularError) -> Refusal {
        Refusal::bad(error.reworded(Remedy::action).to_string())
    }
}

/// Does some work; a panic becomes a refusal.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Refusal::fault("the model failed on these rows")))
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (code, axum::Json(json!({"error": self.text}))).into_response();
        // What is left of a body that was not read would be taken for the next request.
        if matches!(self.status, 408 | 413 | 415 | 421 | 503) {
            response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
        }
        response
    }
}
