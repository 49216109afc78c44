//! `tove serve`: a saved model behind HTTP, on loopback unless another address is given.
//!
//! | request | response |
//! |---|---|
//! | `GET /` | a page with a form |
//! | `POST /predict` | predictions for rows as JSON or CSV, or for PNG and JPEG images |
//! | `POST /neighbors?k=N` | the nearest training rows, by models that keep them |
//! | `POST /generate` | the continuation of a prompt, by a text model |
//! | `POST /recommend` | the best items for a user, by a recommender |
//! | `POST /nearest`, `POST /analogy` | similar words, answers to analogies, by word vectors |
//! | `GET /schema` | the columns of a row, or what else the model takes |
//! | `GET /health` | the model that is served |
//! | `GET /metrics` | counters in the text format of Prometheus |
//! | `GET /openapi.json` | the OpenAPI 3.1 description |
//!
//! Errors are `{"error": "message"}`: 400 for invalid rows, images and prompts, 404, 405, 408 if the body does not arrive in time, 413, 415, 421 for a
//! host name that is not allowed, and 503 if the prediction takes too long or too many large bodies arrive at once. Connections
//! whose request head does not arrive in time are closed without a response.

mod batches;
mod columns;
mod connections;
mod counters;
mod hosts;
mod images;
mod json;
mod lists;
mod openapi;
mod page;
mod predictor;
mod refusal;
mod room;
mod rows;
mod served;
mod texts;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use tokio::time::timeout_at;

use crate::arguments::Serve;
use crate::failure::Failure;
use crate::models::AnyModel;
use crate::output::Output;
use connections::Connections;
use counters::Counters;
use hosts::Hosts;
use predictor::Answer;
use refusal::Refusal;
use room::{Body, Room};
use served::{Documents, Served};

/// What all requests share.
struct Shared {
    served: Served,
    counters: Arc<Counters>,
    documents: Documents,
    timeout: Duration,
    max_body: usize,
    room: Room,
}

pub fn run(serve: &Serve, output: &Output) -> Result<(), Failure> {
    let address: IpAddr = serve
        .host
        .parse()
        .map_err(|_| Failure::usage(format!("--host {}: give an address such as 127.0.0.1", serve.host)))?;
    let counts = [serve.max_body, serve.max_rows, serve.max_tokens, serve.max_connections, serve.batch_rows];
    if !(serve.timeout > 0.0 && serve.timeout <= 86_400.0) || counts.contains(&0) {
        let text =
            "--timeout, --max-body, --max-rows, --max-tokens, --max-connections and --batch-rows must be positive";
        return Err(Failure::usage(text));
    }
    if !(serve.batch_wait >= 0.0 && serve.batch_wait <= 1000.0 * serve.timeout) {
        return Err(Failure::usage("--batch-wait must not be negative, nor longer than --timeout"));
    }
    let counters = Arc::new(Counters::default());
    let (served, documents) = Served::new(AnyModel::load(&serve.model)?, serve, Arc::clone(&counters));
    let shared = Arc::new(Shared {
        served,
        documents,
        counters,
        timeout: Duration::from_secs_f64(serve.timeout),
        max_body: serve.max_body.saturating_mul(1 << 20),
        room: Room::new(serve.max_body.saturating_mul(1 << 20)),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let hosts = Hosts::new(address, &serve.allow_host);
    let place = SocketAddr::new(address, serve.port);
    let ended = runtime.block_on(listen(place, shared, (serve.max_connections, hosts), output));
    // Work that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    ended
}

fn router(shared: Arc<Shared>) -> Router {
    let paths = shared.served.paths().iter();
    paths
        .fold(Router::new(), |router, path| router.route(path, post(predict)))
        .route("/", get(front))
        .route("/schema", get(async |State(shared): State<Arc<Shared>>| document(&shared.documents.schema)))
        .route("/health", get(async |State(shared): State<Arc<Shared>>| document(&shared.documents.about)))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(async |State(shared): State<Arc<Shared>>| document(&shared.documents.openapi)))
        .fallback(missing)
        .method_not_allowed_fallback(other_method)
        .with_state(shared)
}

async fn listen(
    address: SocketAddr,
    shared: Arc<Shared>,
    (most, hosts): (usize, Hosts),
    output: &Output,
) -> Result<(), Failure> {
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            Failure::work(format!("port {} is in use; choose another with --port, or 0 for any", address.port()))
        }
        std::io::ErrorKind::PermissionDenied => {
            Failure::work(format!("port {} is not allowed here; choose one above 1023 with --port", address.port()))
        }
        std::io::ErrorKind::AddrNotAvailable => {
            Failure::work(format!("--host {}: this machine has no such address; try 127.0.0.1", address.ip()))
        }
        _ => {
            Failure::stopped(format!("cannot listen on {address}"), &error).but("choose others with --host and --port")
        }
    })?;
    let bound = listener.local_addr()?;
    if !bound.ip().is_loopback() {
        output.remark("warning: anyone who can reach this address can use the model; there is no authentication");
    }
    if output.is_json() || !output.is_quiet() {
        let text = || format!("serving on http://{bound} (Ctrl-C stops)\n");
        output.result(text, || json!({"address": bound.to_string()}))?;
    }
    let patience = shared.timeout;
    let connections = Connections::new(router(shared), patience, most, hosts);
    tokio::select! {
        () = connections.accept(&listener) => {}
        () = stopped() => {}
    }
    drop(listener);
    output.remark("finishing pending requests (press Ctrl-C again to stop immediately)");
    tokio::select! {
        () = connections.finish() => {}
        () = tokio::time::sleep(patience) => output.remark("requests that did not finish in time were aborted"),
        () = stopped() => {}
    }
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
    // The page holds its own style and script and needs nothing from elsewhere.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                  img-src data:; form-action 'none'; base-uri 'none'";
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, shared.documents.page.clone()).into_response()
}

fn document(text: &Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.clone()).into_response()
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shared.counters.text()).into_response()
}

async fn missing(uri: Uri) -> Refusal {
    let path: String = uri.path().chars().take(80).collect();
    Refusal::new(404, format!("{path} not found; /openapi.json lists the paths"))
}

async fn other_method(State(shared): State<Arc<Shared>>, method: Method, uri: Uri) -> Refusal {
    let wanted = if shared.served.paths().contains(&uri.path()) { "POST" } else { "GET" };
    Refusal::new(405, format!("{} does not support {method}; use {wanted}", uri.path()))
}

async fn predict(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let start = Instant::now();
    let outcome = answer(&shared, request).await;
    let (status, rows) = outcome.as_ref().map_or_else(|refusal| (refusal.status, 0), |answer| (200, answer.rows));
    shared.counters.count(status, rows, start.elapsed());
    match outcome {
        Ok(answer) => ([(header::CONTENT_TYPE, "application/json")], answer.document).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn answer(shared: &Shared, request: Request) -> Result<Answer, Refusal> {
    let begun = tokio::time::Instant::now();
    let deadline = begun + shared.timeout;
    let seconds = shared.timeout.as_secs_f64();
    let (head, body) = request.into_parts();
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let content = shared.served.content(&head.uri, text(header::CONTENT_TYPE))?;
    let most = shared.max_body;
    let large = || {
        let megabytes = most >> 20;
        Refusal::new(
            413,
            format!("the request body is larger than {megabytes} MB; split the request, or raise --max-body"),
        )
    };
    let length = text(header::CONTENT_LENGTH).parse::<usize>().ok();
    if length.is_some_and(|length| length > most) {
        return Err(large());
    }
    // Half of the time: who finds room late would have none left to send in.
    let place = timeout_at(begun + shared.timeout / 2, shared.room.place(length)).await.map_err(|_| {
        let waited = seconds / 2.0;
        Refusal::new(503, format!("server busy, retry later: no memory for another large body within {waited} seconds"))
    })?;
    let body = timeout_at(deadline, to_bytes(body, most)).await;
    let body =
        body.map_err(|_| Refusal::new(408, format!("the request body did not arrive within {seconds} seconds")))?;
    let body = body.map_err(|error| match std::error::Error::source(&error) {
        Some(source) if source.to_string().contains("length limit") => large(),
        _ => Refusal::bad(format!("the request body could not be read: {error}")),
    })?;
    let body = Body { bytes: body, _place: place };
    let answer = timeout_at(deadline, shared.served.answer(content, body)).await;
    answer.unwrap_or_else(|_| {
        Err(Refusal::new(
            503,
            format!("the prediction took more than {seconds} seconds; ask for less at once, or raise --timeout"),
        ))
    })
}
