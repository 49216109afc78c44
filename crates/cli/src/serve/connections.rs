//! Connections: their maximum number, and timeouts of idle ones.
//!
//! A connection is closed if its request head does not arrive in time, or if it is idle as long. At the maximum number of
//! connections, a new one replaces the one that has been idle (or sending its head) longest; if none is idle, it waits. So idle
//! connections cannot block other clients.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::hosts::Hosts;

/// The shortest time that a head is waited for, however little requests may take.
const LEAST: Duration = Duration::from_secs(1);
/// How long a new connection waits before it looks again for one to take the place of.
const AGAIN: Duration = Duration::from_millis(50);
/// How long nothing is accepted after the system could not: files may be free again then.
const BREATH: Duration = Duration::from_millis(100);

/// What is known of a connection.
struct Client {
    /// Since when it has asked for nothing; none while a request is under way.
    idle: Mutex<Option<Instant>>,
    /// Told when another takes its place.
    leave: Notify,
}

impl Client {
    fn idle(&self) -> MutexGuard<'_, Option<Instant>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that all connections share.
pub struct Connections {
    answers: TowerToHyperService<Router>,
    /// How long a head may take, and a connection may be idle.
    patience: Duration,
    most: usize,
    hosts: Hosts,
    places: Arc<Semaphore>,
    clients: Mutex<Vec<Arc<Client>>>,
    ending: watch::Sender<bool>,
}

impl Connections {
    pub fn new(router: Router, patience: Duration, most: usize, hosts: Hosts) -> Arc<Connections> {
        // The semaphore has a limit of its own, beyond what a system can have.
        let most = most.clamp(1, u32::MAX as usize).min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(most));
        let (ending, _) = watch::channel(false);
        let patience = patience.max(LEAST);
        Arc::new(Connections {
            answers: TowerToHyperService::new(router),
            patience,
            most,
            hosts,
            places,
            clients: Mutex::default(),
            ending,
        })
    }

    /// Takes connections for ever.
    pub async fn accept(self: &Arc<Connections>, listener: &TcpListener) {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                // A client that has gone already is no reason to pause.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {
                    continue;
                }
                Err(_) => {
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            };
            let place = self.place().await;
            tokio::spawn(Arc::clone(self).serve(stream, place));
        }
    }

    /// Lets the requests under way finish and closes what is idle.
    pub async fn finish(&self) {
        self.ending.send_replace(true);
        // All places are free when all connections have ended; this one is never closed.
        let _ = self.places.acquire_many(self.most as u32).await;
    }

    /// A place for a connection, for which an idle one may have to go.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(place);
            }
            self.dismiss_idle();
            let freed = tokio::time::timeout(AGAIN, Arc::clone(&self.places).acquire_owned()).await;
            if let Ok(place) = freed {
                return place.ok();
            }
        }
    }

    /// Closes the connection that has been idle longest.
    fn dismiss_idle(&self) {
        let clients = self.clients();
        let idle = clients.iter().filter_map(|client| Some(((*client.idle())?, client)));
        if let Some((_, client)) = idle.min_by_key(|(since, _)| *since) {
            client.leave.notify_one();
        }
    }

    async fn serve(self: Arc<Connections>, stream: TcpStream, _place: Option<OwnedSemaphorePermit>) {
        let _ = stream.set_nodelay(true); // slower without, nothing worse
        let client = Arc::new(Client { idle: Mutex::new(Some(Instant::now())), leave: Notify::new() });
        self.clients().push(Arc::clone(&client));
        let mut ending = self.ending.subscribe();
        let answers = service_fn(|request| self.answer(&client, request));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.patience);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answers));
        // What goes wrong with a connection concerns the client alone, who sees it.
        tokio::select! {
            _ = connection.as_mut() => {}
            () = client.leave.notified() => {}
            () = told(&mut ending) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
        self.clients().retain(|other| !Arc::ptr_eq(other, &client));
    }

    async fn answer(&self, client: &Client, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        *client.idle() = None;
        let response = match self.hosts.check(request.headers()) {
            Ok(()) => self.answers.call(request).await,
            Err(refusal) => Ok(refusal.into_response()),
        };
        *client.idle() = Some(Instant::now());
        response
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Arc<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves when the server ends.
async fn told(ending: &mut watch::Receiver<bool>) {
    let _ = ending.wait_for(|ending| *ending).await; // without a sender it has ended
}
