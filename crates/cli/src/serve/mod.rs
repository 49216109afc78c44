//! `tove serve`: a saved model behind HTTP, on loopback unless another address is given.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | a page with a form made from the schema |
//! | `POST /predict` | predictions for rows as JSON or CSV |
//! | `GET /schema` | the columns that are needed |
//! | `GET /health` | whether the model answers |
//! | `GET /metrics` | counters in the text format of Prometheus |
//! | `GET /openapi.json` | a description of all this |
//!
//! Predictions are made on one thread of their own, which takes all rows that wait at once.

mod batch;
mod counters;
mod openapi;
mod page;
mod rows;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tove::tabular::TabularModel;

use crate::arguments::Serve;
use crate::failure::Failure;
use crate::output::Output;
use batch::{Batcher, Refusal};
use counters::Counters;

/// What all requests share.
struct Shared {
    batcher: Batcher,
    counters: Counters,
    schema: Value,
    page: String,
    openapi: Value,
    about: Value,
    timeout: Duration,
}

pub fn run(serve: &Serve, output: &Output) -> Result<(), Failure> {
    let model = TabularModel::load(&serve.model)?;
    let address: IpAddr = serve
        .host
        .parse()
        .map_err(|_| Failure::usage(format!("--host {}: give an address such as 127.0.0.1", serve.host)))?;
    if !(serve.timeout > 0.0 && serve.timeout <= 86_400.0) || serve.max_body == 0 || serve.max_rows == 0 {
        return Err(Failure::usage("--timeout, --max-body and --max-rows must be positive"));
    }
    let schema = rows::schema(&model);
    let shared = Arc::new(Shared {
        page: page::html(&model, &schema)?,
        openapi: openapi::document(&model, &schema),
        about: json!({
            "status": "ok", "model": model.model().name(), "target": model.target(),
            "task": model.task().to_string(), "tove": env!("CARGO_PKG_VERSION"),
        }),
        schema,
        counters: Counters::default(),
        timeout: Duration::from_secs_f64(serve.timeout),
        batcher: Batcher::start(model, serve.max_rows),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(listen(SocketAddr::new(address, serve.port), shared, serve.max_body, output))
}

async fn listen(address: SocketAddr, shared: Arc<Shared>, max_body: usize, output: &Output) -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            Failure::work(format!("port {} is in use; choose another with --port, or 0 for any", address.port()))
        }
        _ => Failure::work(format!("{address}: {error}")),
    })?;
    let bound = listener.local_addr()?;
    if !bound.ip().is_loopback() {
        output.remark("warning: everybody who reaches this address can use the model; there is no password");
    }
    output
        .result(|| format!("serving on http://{bound} (Ctrl-C stops)\n"), || json!({"address": bound.to_string()}))?;
    let limit = max_body.saturating_mul(1 << 20);
    let router = Router::new()
        .route("/", get(front))
        .route("/predict", post(predict))
        .route("/schema", get(schema))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi_document))
        .layer(DefaultBodyLimit::max(limit))
        .with_state(shared);
    axum::serve(listener, router).with_graceful_shutdown(stopped()).await?;
    output.remark("stopped");
    Ok(())
}

/// Resolves when the program is asked to end.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut end) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = end.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await; // where signals cannot be heard, only killing ends the program
}

async fn front(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], shared.page.clone()).into_response()
}

async fn schema(State(shared): State<Arc<Shared>>) -> Response {
    axum::Json(shared.schema.clone()).into_response()
}

async fn health(State(shared): State<Arc<Shared>>) -> Response {
    axum::Json(shared.about.clone()).into_response()
}

async fn openapi_document(State(shared): State<Arc<Shared>>) -> Response {
    axum::Json(shared.openapi.clone()).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.counters.text()).into_response()
}

async fn predict(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let start = Instant::now();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
    let outcome = match rows::csv(&kind, &body) {
        Ok(csv) => match tokio::time::timeout(shared.timeout, shared.batcher.predict(csv)).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(Refusal { status: 503, text: "it took too long; send fewer rows, or raise --timeout".into() })
            }
        },
        Err(text) => Err(Refusal { status: 400, text }),
    };
    let (status, document, rows) = match outcome {
        Ok(answer) => (200, answer.document, answer.rows),
        Err(refusal) => (refusal.status, json!({"error": refusal.text}), 0),
    };
    shared.counters.count(status, rows, start.elapsed());
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, axum::Json(document)).into_response()
}
