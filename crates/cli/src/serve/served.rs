//! What is served: a model of tables, of images, of texts, of items or of words, behind one set of addresses.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Uri;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::batches::Batches;
use super::counters::Counters;
use super::images::{ImageServer, Picture};
use super::lists::{ListServer, Lists, Question};
use super::predictor::{Answer, Predictor};
use super::refusal::{Refusal, guarded};
use super::room::Body;
use super::rows::{self, Format};
use super::texts::{Prompt, TextServer};
use super::{openapi, page};
use crate::arguments::Serve;
use crate::models::AnyModel;

/// The model that answers.
#[derive(Clone)]
pub enum Served {
    Table(Arc<Predictor>),
    Image(Arc<ImageServer>),
    Text(Arc<TextServer>),
    Lists(Arc<ListServer>),
}

/// What a body is, by its content type.
pub enum Content {
    Rows(Format),
    /// Rows whose so many nearest training rows are asked for.
    Neighbors(Format, usize),
    Picture(Picture),
    Prompt(Prompt),
    Question(Question),
}

/// What the other addresses give.
pub struct Documents {
    pub schema: Bytes,
    pub page: Bytes,
    pub openapi: Bytes,
    pub about: Bytes,
}

impl Served {
    pub fn new(model: AnyModel, serve: &Serve, counters: Arc<Counters>) -> (Served, Documents) {
        let about = |name: &str, target: &str, task: &str| json!({"status": "ok", "model": name, "target": target, "task": task, "tove": env!("CARGO_PKG_VERSION")});
        match model {
            AnyModel::Table(model) => {
                let (model, schema) = (Arc::new(*model), rows::schema);
                let wait = Duration::from_secs_f64(serve.batch_wait / 1000.0);
                let batches = Batches::new(Arc::clone(&model), counters, serve.batch_rows, wait);
                let schema = schema(&model);
                let about = about(model.model().name(), model.target(), &model.task().to_string());
                let documents = documents(&schema, page::html(&model, &schema), &openapi::document(&model), &about);
                (Served::Table(Arc::new(Predictor::new(model, serve.max_rows, batches))), documents)
            }
            AnyModel::Image(model) => {
                let server = ImageServer::new(*model, serve.max_rows);
                let about = about(server.model.config().name(), "class", "classification of images");
                let documents = documents(&server.schema(), page::image(&server), &openapi::image(&server), &about);
                (Served::Image(Arc::new(server)), documents)
            }
            AnyModel::Text(model) => {
                let server = TextServer::new(*model, serve.max_tokens);
                let about = about("gpt", "next token", "language model");
                let documents = documents(&server.schema(), page::text(&server), &openapi::text(&server), &about);
                (Served::Text(Arc::new(server)), documents)
            }
            AnyModel::Items(model) => Served::lists(Lists::Items(model), serve, about),
            AnyModel::Words(model) => Served::lists(Lists::Words(model), serve, about),
        }
    }

    fn lists(model: Lists, serve: &Serve, about: impl Fn(&str, &str, &str) -> Value) -> (Served, Documents) {
        let server = ListServer::new(model, serve.max_rows);
        let (name, target, task) = server.about();
        let about = about(name, target, task);
        let documents = documents(&server.schema(), page::lists(&server), &openapi::lists(&server), &about);
        (Served::Lists(Arc::new(server)), documents)
    }

    /// The addresses of the answers.
    pub fn paths(&self) -> &'static [&'static str] {
        match self {
            Served::Table(predictor) if predictor.has_neighbors() => &["/predict", "/neighbors"],
            Served::Table(_) | Served::Image(_) => &["/predict"],
            Served::Text(_) => &["/generate"],
            Served::Lists(server) => server.paths(),
        }
    }

    pub fn content(&self, uri: &Uri, content_type: &str) -> Result<Content, Refusal> {
        let path = uri.path();
        match self {
            Served::Table(predictor) if path == "/neighbors" => {
                let k = predictor.neighbors_of(uri.query().unwrap_or_default())?;
                Ok(Content::Neighbors(Format::of(content_type)?, k))
            }
            Served::Table(_) => Format::of(content_type).map(Content::Rows),
            Served::Image(_) => Picture::of(content_type).map(Content::Picture),
            Served::Text(_) => Prompt::of(content_type).map(Content::Prompt),
            Served::Lists(_) => match Prompt::of(content_type) {
                Ok(Prompt::Json) => Ok(Content::Question(Question::of(path))),
                _ => Err(Refusal::new(415, "unsupported content type; send application/json")),
            },
        }
    }

    pub async fn answer(&self, content: Content, body: Body) -> Result<Answer, Refusal> {
        match (self, content) {
            (Served::Table(predictor), Content::Rows(format)) => Arc::clone(predictor).answer(format, body).await,
            (Served::Table(predictor), Content::Neighbors(format, k)) => {
                Arc::clone(predictor).nearest(format, k, body).await
            }
            (Served::Image(server), Content::Picture(kind)) => {
                let work = Arc::clone(server);
                server.workers.run(move || work.answer(kind, &body.bytes)).await
            }
            (Served::Text(server), Content::Prompt(kind)) => {
                let work = Arc::clone(server);
                server.workers.run(move || work.answer(kind, &body.bytes)).await
            }
            (Served::Lists(server), Content::Question(question)) => {
                let work = Arc::clone(server);
                server.workers.run(move || work.answer(question, &body.bytes)).await
            }
            _ => Err(Refusal::fault("the body was taken for something else")),
        }
    }
}

fn documents(schema: &Value, page: String, openapi: &Value, about: &Value) -> Documents {
    let text = |document: &Value| Bytes::from(document.to_string());
    Documents { schema: text(schema), page: page.into(), openapi: text(openapi), about: text(about) }
}

/// Threads that compute answers, one per core: those that receive requests must not wait for a net.
pub struct Workers(Arc<Semaphore>);

impl Workers {
    pub fn new() -> Workers {
        Workers(Arc::new(Semaphore::new(tove::tensor::num_threads())))
    }

    /// Does some work when there is a place for it. Who gives up while waiting leaves the queue.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let ended = || Refusal::fault("a worker thread of the server ended");
        let place = Arc::clone(&self.0).acquire_owned().await.map_err(|_| ended())?;
        let done = tokio::task::spawn_blocking(move || {
            let done = guarded(work);
            drop(place);
            done
        });
        done.await.unwrap_or_else(|_| Err(ended()))
    }
}
